fn main() -> std::process::ExitCode {
    hansa_run::cli::user(env!("HANSA_VERSION"))
}
