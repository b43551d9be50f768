//! What grows with what: `cargo bench --bench scale`. CPU seconds, as the wall clock depends on what else is going on.

#[path = "scale/sites.rs"]
mod sites;

fn main() {
    sites::measure();
}
