//! Growth of costs: `cargo bench -- scale`; `cargo bench -- scale growth` for time and memory of whole runs by each
//! quantity, or `cargo bench -- scale growth QUANTITY` for one of them; `cargo bench -- scale JOBS` for grids with this
//! many jobs alone.

#[path = "scale/growth.rs"]
mod growth;
#[path = "scale/sites.rs"]
mod sites;

pub fn main(arguments: &[String]) {
    let jobs = arguments.iter().find_map(|argument| argument.parse().ok());
    let is_growth = arguments.first().is_some_and(|argument| argument == "growth");
    match jobs {
        Some(_) => growth::measure(Some("jobs"), jobs),
        None if is_growth => growth::measure(arguments.get(1).map(String::as_str), None),
        None => {
            growth::measure(None, None);
            sites::measure();
        }
    }
}
