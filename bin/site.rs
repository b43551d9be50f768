fn main() -> std::process::ExitCode {
    hansa_run::cli::site_main(env!("HANSA_VERSION"))
}
