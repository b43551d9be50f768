fn main() -> std::process::ExitCode {
    hansa_run::cli::router_main(env!("HANSA_VERSION"))
}
