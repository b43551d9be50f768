//! Writes a platform as the text of a topology.

use std::collections::BTreeSet;
use std::fmt::Write;

use super::platform::{PathFinder, SimgridPlatform};
use crate::topology::tables::names::is_taken_at_hub;

impl SimgridPlatform {
    /// Text of a topology of this name; remarks are added to the warnings.
    pub fn toml(&self, name: &str, warnings: &mut Vec<String>) -> Result<String, String> {
        let mut names = FreshNames::default();
        let sites: Vec<String> = self.hosts.iter().map(|host| names.new_name(&host.name)).collect();
        let mut names = FreshNames::default();
        let links: Vec<String> = self.links.iter().map(|link| names.new_name(&link.name)).collect();

        let mut text = format!(
            "# Converted from a SimGrid platform. A speed of 1 is 1 Gf.\n\nname = {:?}\n\n[workflow]\n",
            FreshNames::default().new_name(name)
        );
        for (host, site) in self.hosts.iter().zip(&sites) {
            let _ = writeln!(text, "\n[[site]]\nname = {site:?}{}", former_name(&host.name, site));
            let _ = writeln!(text, "cores = {}\nspeed = {}", host.cores, (host.speed * 1e6).round() / 1e6);
        }
        for (link, name) in self.links.iter().zip(&links) {
            let _ = writeln!(text, "\n[[link]]\nname = {name:?}{}", former_name(&link.name, name));
            let _ = writeln!(text, "capacity = \"{} bps\"\nlatency = \"{} us\"", link.bits, link.micros);
            if link.per_flow {
                text.push_str("mode = \"per-flow\"\n");
            }
        }
        let mut ways = PathFinder::new(self);
        for (from, site_from) in self.hosts.iter().zip(&sites) {
            for (to, site_to) in self.hosts.iter().zip(&sites) {
                if from.name == to.name {
                    continue;
                }
                let mut way = ways.find_links(&from.name, &to.name, 0)?;
                if way.is_empty() {
                    return Err(format!("the route from `{}` to `{}` crosses no link", from.name, to.name));
                }
                let all = way.len();
                let mut crossed = BTreeSet::new();
                way.retain(|link| crossed.insert(*link));
                if way.len() < all {
                    warnings.push(format!(
                        "the route from {} to {} crosses a link twice: it counts once",
                        from.name, to.name
                    ));
                }
                let way: Vec<String> = way.into_iter().map(|link| format!("{:?}", links[link])).collect();
                let _ =
                    writeln!(text, "\n[[route]]\nfrom = {site_from:?}\nto = {site_to:?}\nlinks = [{}]", way.join(", "));
            }
        }
        let _ = write!(
            text,
            "\n# Platforms have no workload: put yours here.\n\n[[user]]\nname = {USER:?}\n\n[[workload]]\nsource = \"table\"\n\
             [[workload.job]]\ntasks = [{{ runtime = \"1 min\", cores = 1 }}]\n",
        );
        Ok(text)
    }
}

/// Name of the only user of a converted platform.
const USER: &str = "user";

/// Valid and unique names of a topology.
#[derive(Default)]
struct FreshNames(BTreeSet<String>);

impl FreshNames {
    fn new_name(&mut self, name: &str) -> String {
        let letters = name.chars().map(|letter| match letter.to_ascii_lowercase() {
            letter if letter.is_ascii_alphanumeric() => letter,
            _ => '-',
        });
        let plain: String = letters.collect::<String>().trim_matches('-').chars().take(50).collect();
        let plain = if plain.is_empty() { "x".to_owned() } else { plain };
        let mut name = plain.clone();
        let mut number = 2;
        while is_taken_at_hub(&name) || name == USER || !self.0.insert(name.clone()) {
            name = format!("{plain}-{number}");
            number += 1;
        }
        name
    }
}

fn former_name(before: &str, now: &str) -> String {
    let plain: String = before.chars().filter(|letter| !letter.is_control()).take(80).collect();
    if before == now { String::new() } else { format!("    # {plain}") }
}
