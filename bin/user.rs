fn main() -> std::process::ExitCode {
    hansa_run::cli::user_main(env!("HANSA_VERSION"))
}
