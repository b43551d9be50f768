//! The examples shown after the flags of each command.

use clap::Command;

/// Examples by command. A test parses all of them.
pub(super) const EXAMPLES: &[(&str, &[&str])] = &[
    (
        "run",
        &[
            "hansa run topologies/quickstart.toml",
            "hansa run topologies/quickstart.toml --inline --out out/inline --seed 7",
            "hansa run topologies/market-paper.toml --inline --set market.policy=pvr --json",
            "hansa run topologies/live.toml --live 1",
        ],
    ),
    (
        "sweep",
        &[
            "hansa sweep experiments/policies-40.toml",
            "hansa sweep experiments/policies-40.toml --threads 2 --fresh",
            "hansa sweep experiments/policies-40.toml --part 2/4",
            "hansa sweep experiments/policies-40.toml --gather",
        ],
    ),
    (
        "tournament",
        &[
            "hansa tournament experiments/tournament.toml",
            "hansa tournament experiments/tournament.toml --against dfrs",
        ],
    ),
    (
        "whatif",
        &[
            "hansa whatif topologies/textbook.toml --change topologies/changes/shortest.toml",
            "hansa whatif topologies/textbook.toml --set site.york.scheduler=slurm --change topologies/slurm/often.conf --change topologies/slurm/few.conf",
            "hansa whatif topologies/textbook.toml --change topologies/changes/shortest.toml --dry-run",
        ],
    ),
    ("reproduce", &["hansa reproduce market", "hansa reproduce heft --full"]),
    ("reproduce market", &["hansa reproduce market", "hansa reproduce market --full --threads 4"]),
    ("reproduce heft", &["hansa reproduce heft --out out/heft"]),
    ("reproduce reservation", &["hansa reproduce reservation --requests 1000 --workloads 3"]),
    ("reproduce dfrs", &["hansa reproduce dfrs", "hansa reproduce dfrs --full --threads 2"]),
    (
        "reproduce provisioning",
        &[
            "hansa reproduce provisioning",
            "hansa reproduce provisioning --choice queue=three-means,widths=3-to-30",
            "hansa reproduce provisioning --full --threads 2",
            "hansa reproduce provisioning --calibrate --out out/queues",
        ],
    ),
    ("verify", &["hansa verify out/quickstart out/inline", "hansa verify --json out/quickstart out/inline"]),
    (
        "compare",
        &[
            "hansa compare out/easy out/conservative",
            "hansa compare out/easy out/conservative out/fcfs --page out/queues.html",
            "hansa compare --json out/easy out/conservative",
        ],
    ),
    ("report", &["hansa report out/quickstart"]),
    (
        "when",
        &[
            "hansa when out/batch --at 12h --cores 64 --walltime 4h",
            "hansa when out/batch --calibrate",
            "hansa when --log queue.json --site-nodes 120 --nodes 4 --walltime 2h --policy easy",
        ],
    ),
    ("why", &["hansa why out/batch 886", "hansa why out/workflow 0", "hansa why out/batch 17 --json"]),
    (
        "plan",
        &[
            "hansa plan --workflow topologies/ten-tasks.json topologies/three-sites.toml",
            "hansa plan --policy heft --workflow topologies/mosaic.json topologies/workflow.toml --svg out/mosaic.svg",
            "hansa plan --policy moga --alpha 0.3 --at 10h --set workload.0.arrival_factor=4 --workflow topologies/layers.json topologies/provisioning.toml",
            "hansa plan --policy moga --deadline 4h --budget \"300 core h\" --workflow topologies/layers.json topologies/provisioning.toml",
        ],
    ),
    (
        "clock",
        &[
            "hansa clock -- sleep 86400",
            "hansa clock --start 2026-03-01T08:00 --until 7d -- python3 service.py",
            "hansa --quiet clock --wait -- bash -c 'sleep 60 & date'",
        ],
    ),
    (
        "generate",
        &["hansa generate lublin --jobs 1000 --nodes 128 --out jobs.swf", "hansa generate dag -n 60 --out dag.json"],
    ),
    (
        "generate lublin",
        &[
            "hansa generate lublin --jobs 1000 --nodes 128 --seed 7 --out jobs.swf",
            "hansa generate lublin --jobs 500 --to requests --ahead 2 --slack 4 --out jobs.toml",
        ],
    ),
    (
        "generate dag",
        &["hansa generate dag -n 60 --fat 0.6 --density 0.3 --regularity 0.8 --jump 2 --ccr 0.5 --seed 3"],
    ),
    (
        "convert",
        &[
            "hansa convert jobs.swf --out jobs.json",
            "hansa convert jobs.swf --to requests --strict --out jobs.toml",
            "hansa convert jobs.swf --to requests --ahead 2 --slack 4 --out jobs.toml",
            "hansa convert sacct.txt --out jobs.swf",
            "hansa convert platform.xml --out grid.toml",
        ],
    ),
    ("bound", &["hansa bound jobs.swf --nodes 128", "hansa bound topologies/dfrs.toml --nodes 16"]),
    (
        "validate",
        &[
            "hansa validate topologies/quickstart.toml",
            "hansa validate --strict mine.toml",
            "hansa validate experiments/policies-40.toml",
            "hansa show mine.toml | hansa validate -",
        ],
    ),
    (
        "show",
        &[
            "hansa show",
            "hansa show topologies/quickstart.toml --set site.york.cores=500",
            "hansa show --keys",
            "hansa show --columns",
        ],
    ),
    ("schema", &["hansa schema", "hansa schema --experiment"]),
    ("compose", &["hansa compose topologies/quickstart.toml --out docker-compose.yml"]),
    (
        "cluster",
        &[
            "hansa cluster slurm experiments/policies-40.toml --parts 20 --cpus 4 --out sweep.sh",
            "hansa cluster kubernetes experiments/policies-40.toml --image registry.example/hansa --out sweep.yaml",
            "hansa cluster slurm topologies/quickstart.toml --nodes 3 --out run.sh",
        ],
    ),
    (
        "certs",
        &[
            "hansa certs topologies/quickstart.toml --out identities",
            "hansa certs topologies/quickstart.toml --out identities --group york,durham",
        ],
    ),
    ("bench", &["hansa bench --tasks 50000"]),
    ("completions", &["hansa completions bash"]),
    ("man", &["hansa man", "hansa man reproduce market", "hansa man --out man1"]),
    (
        "router",
        &["hansa router --topology topologies/quickstart.toml --identity identities/router --bind 0.0.0.0:4433"],
    ),
    (
        "site",
        &[
            "hansa site --topology topologies/quickstart.toml --identity identities/york.site --name york --router localhost:4433",
        ],
    ),
    (
        "user",
        &[
            "hansa user --topology topologies/quickstart.toml --identity identities/alice.user --name alice --router localhost:4433",
        ],
    ),
];

/// Puts examples, and the exit codes, below the help of every command.
pub(super) fn with_examples(command: Command, path: &str) -> Command {
    let names: Vec<String> = command.get_subcommands().map(|inner| inner.get_name().to_owned()).collect();
    let command = names.into_iter().fold(command, |command, name| {
        let path = if path.is_empty() { name.clone() } else { format!("{path} {name}") };
        command.mut_subcommand(name, |inner| with_examples(inner, &path))
    });
    let Some((_, lines)) = EXAMPLES.iter().find(|(of, _)| *of == path) else { return command };
    let mut text = command.get_after_help().map_or(String::new(), |before| format!("{before}\n\n"));
    text.push_str("Examples:\n");
    text.push_str(&lines.iter().map(|line| format!("  {line}")).collect::<Vec<_>>().join("\n"));
    command.after_help(text)
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory, Parser};

    use super::super::args::Hansa;
    use super::*;

    fn shown(command: &Command, path: &str, paths: &mut Vec<String>) {
        for inner in command.get_subcommands().filter(|inner| !inner.is_hide_set() && inner.get_name() != "help") {
            let path = format!("{path} {}", inner.get_name()).trim().to_owned();
            let help = inner.clone().render_help().to_string();
            assert!(help.contains("Examples:\n  hansa "), "{path}: {help}");
            shown(inner, &path, paths);
            paths.push(path);
        }
    }

    /// The words of a line as a shell splits it, if double quotes surround whole words.
    fn words(line: &str) -> Vec<&str> {
        let pieces = line.split('"').enumerate();
        pieces
            .flat_map(|(at, piece)| if at % 2 == 1 { vec![piece] } else { piece.split_whitespace().collect() })
            .collect()
    }

    #[test]
    fn every_command_shows_examples_that_can_be_typed() {
        let mut paths = Vec::new();
        shown(&with_examples(Hansa::command(), ""), "", &mut paths);
        for (path, lines) in EXAMPLES {
            assert!(paths.iter().any(|shown| shown == path), "there is no hansa {path}");
            for line in lines.iter().flat_map(|line| line.split(" | ")) {
                assert!(line.contains(path.split(' ').next().unwrap()) || line.contains("show"), "{line}");
                if let Err(error) = Hansa::try_parse_from(words(line)) {
                    panic!("{line}: {error}");
                }
            }
        }
    }
}
