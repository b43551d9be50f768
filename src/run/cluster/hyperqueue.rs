//! HyperQueue: a job file with a task a share, and one that depends on all of them.

use std::fmt::Write as _;

use super::Shares;

pub fn hyperqueue_shares(shares: &Shares) -> String {
    let Shares { name, parts, cpus, .. } = shares;
    let threads = cpus.to_string();
    let mut text = format!(
        "# Written by `hansa cluster hyperqueue`: {name} in {parts} shares, and a task that gathers them.\n\
         #   hq job submit-file THIS\n\
         # All input and output has to be on a file system that all workers share.\n\
         name = {}\n",
        quote_toml(name)
    );
    for part in 1..=*parts {
        let share = format!("{part}/{parts}");
        write_task(&mut text, part, &shares.share_command(&["--threads", &threads, "--part", &share]), *cpus, "");
    }
    let before: Vec<String> = (1..=*parts).map(|part| part.to_string()).collect();
    let deps = format!("deps = [{}]\n", before.join(", "));
    write_task(&mut text, parts + 1, &shares.share_command(&["--gather"]), 1, &deps);
    text
}

fn write_task(text: &mut String, id: usize, command: &[String], cpus: u16, deps: &str) {
    let command: Vec<String> = command.iter().map(|word| quote_toml(word)).collect();
    let _ = write!(
        text,
        "\n[[task]]\nid = {id}\ncommand = [{}]\n{deps}[[task.request]]\nresources = {{ \"cpus\" = {cpus} }}\n",
        command.join(", ")
    );
}

fn quote_toml(text: &str) -> String {
    toml::Value::from(text).to_string()
}
