//! Growth of costs: `cargo bench -- scale`, or `cargo bench -- scale JOBS` for a market, a queue and a
//! stream of workflows of this many jobs alone. In CPU seconds, as wall time depends on other load, except for figures
//! of whole processes.

#[path = "scale/growth.rs"]
mod growth;
#[path = "scale/sites.rs"]
mod sites;

pub fn main(arguments: &[String]) {
    let jobs = arguments.iter().find_map(|argument| argument.parse().ok());
    growth::measure(jobs);
    if jobs.is_none() {
        sites::measure();
    }
}
