fn main() -> std::process::ExitCode {
    hansa::edge::cli::user()
}
