fn main() -> std::process::ExitCode {
    hansa_run::cli::hansa_main(env!("HANSA_VERSION"))
}
