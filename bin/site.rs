fn main() -> std::process::ExitCode {
    hansa_run::cli::site(env!("HANSA_VERSION"))
}
