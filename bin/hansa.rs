fn main() -> std::process::ExitCode {
    hansa_run::cli::hansa(env!("HANSA_VERSION"))
}
