//! Growth of costs: `cargo bench --bench scale`, or `cargo bench --bench scale -- JOBS` for a market, a queue and a
//! stream of workflows of this many jobs alone. In CPU seconds, as wall time depends on other load, except for figures
//! of whole processes.

#[path = "scale/growth.rs"]
mod growth;
#[path = "scale/sites.rs"]
mod sites;

fn main() {
    let jobs = std::env::args().skip(1).find_map(|argument| argument.parse().ok());
    growth::measure(jobs);
    if jobs.is_none() {
        sites::measure();
    }
}
