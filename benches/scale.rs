//! What grows with what: `cargo bench --bench scale`, or `cargo bench --bench scale -- JOBS` for a market, a queue and
//! a stream of workflows of so many jobs alone. CPU seconds, as the wall clock depends on what else is going on, but
//! for what is told of whole processes.

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
