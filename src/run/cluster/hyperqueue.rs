//! HyperQueue: a job file with a task a share, and one that depends on all of them.

use std::fmt::Write as _;

use super::Shares;

pub fn shares(shares: &Shares) -> String {
    let Shares { name, parts, cpus, .. } = shares;
    let threads = cpus.to_string();
    let mut text = format!(
        "# Written by `hansa cluster hyperqueue`: {name} in {parts} shares, and a task that gathers them.\n\
         #   hq job submit-file THIS\n\
         # All input and output has to be on a file system that all workers share.\n\
         name = {}\n",
        quoted(name)
    );
    for part in 1..=*parts {
        let share = format!("{part}/{parts}");
        task(&mut text, part, &shares.call(&["--threads", &threads, "--part", &share]), *cpus, "");
    }
    let before: Vec<String> = (1..=*parts).map(|part| part.to_string()).collect();
    let deps = format!("deps = [{}]\n", before.join(", "));
    task(&mut text, parts + 1, &shares.call(&["--gather"]), 1, &deps);
    text
}

fn task(text: &mut String, id: usize, command: &[String], cpus: u16, deps: &str) {
    let command: Vec<String> = command.iter().map(|word| quoted(word)).collect();
    let _ = write!(
        text,
        "\n[[task]]\nid = {id}\ncommand = [{}]\n{deps}[[task.request]]\nresources = {{ \"cpus\" = {cpus} }}\n",
        command.join(", ")
    );
}

fn quoted(text: &str) -> String {
    toml::Value::from(text).to_string()
}
