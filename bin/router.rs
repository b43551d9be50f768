fn main() -> std::process::ExitCode {
    hansa_run::cli::router(env!("HANSA_VERSION"))
}
