//! Small grids: one for each source of each system, and some that systems share.

use std::path::Path;

use hansa_report::Names;
use hansa_sim::random::mix_bits;
use hansa_sim::systems;
use hansa_sim::topology::{self, Override, Roster, Topology};

pub struct Grid {
    pub name: String,
    pub topology: Topology,
    pub plan: Roster,
    pub names: Names,
}

/// Smallest settings of each source. A system has a grid if it accepts one of them.
const SOURCES: &[(&str, &str)] = &[
    ("market", "jobs = 4\ncores_max = 8"),
    ("reservations", "requests = 8"),
    ("lublin", "jobs = 8"),
    ("layered", "tasks = 8"),
    (
        "requests",
        "[[workload.request]]\nduration = \"1 h\"\nnodes = 2\n[[workload.request]]\nduration = \"1 h\"\nnodes = 70",
    ),
];

/// Shipped topologies with features that the others lack, with less work.
const SHIPPED: &[(&str, &[&str])] = &[
    ("one-grid", &["0.jobs=4", "1.jobs=8", "2.requests=6", "3.workflows=1", "3.tasks=6"]),
    ("one-site", &["0.jobs=20", "1.requests=8", "2.jobs=4", "3.workflows=1", "4.jobs=4", "5.workflows=1", "5.tasks=6"]),
    ("impatient", &["0.jobs=12"]),
    ("old-news", &["0.jobs=4"]),
    ("live", &[]),
    // Every strategy.
    (
        "provisioning",
        &[
            "0.jobs=40",
            "1.workflows=1",
            "1.tasks=5",
            "2.workflows=1",
            "2.tasks=5",
            "3.workflows=1",
            "3.tasks=5",
            "4.workflows=1",
            "4.tasks=5",
            "5.jobs=3",
            "6.jobs=3",
            "7.jobs=3",
        ],
    ),
    (
        "far-data",
        &["0.jobs=10", "1.workflows=1", "1.tasks=8", "2.workflows=1", "2.tasks=8", "3.workflows=1", "3.tasks=8"],
    ),
    ("broken-promises", &["0.requests=12"]),
    ("malleable", &["0.requests=12"]),
    ("broken-calendar", &["0.jobs=10", "1.requests=10", "2.jobs=3"]),
    (
        "broken-bargains",
        &[
            "0.jobs=20",
            "1.workflows=1",
            "1.tasks=5",
            "2.workflows=1",
            "2.tasks=5",
            "3.workflows=1",
            "3.tasks=5",
            "4.jobs=3",
            "5.jobs=3",
            "6.jobs=3",
        ],
    ),
    ("cut-cable", &["0.tasks=10", "1.tasks=10"]),
    ("stale-quotes", &["0.jobs=20", "1.jobs=4", "2.jobs=6", "3.workflows=1", "3.tasks=5"]),
];

/// Markets whose sites offer their cores by messages: at once or seldom, with nodes that fail, and with data on links.
const OFFERING: &[(&str, &str)] = &[
    ("offers at once", "[market]\nclearing = \"messages\""),
    ("offers seldom", "[market]\nclearing = \"messages\"\noffers_every = \"20 min\"\nbids = \"log\""),
    (
        "offers where nodes fail",
        "[market]\nclearing = \"messages\"\noffers_every = \"5 min\"\n\
         [[failure]]\nsite = \"york\"\nmtbf = \"1 d\"\nmttr = \"1 h\"",
    ),
    (
        "offers and links",
        "[market]\nclearing = \"messages\"\n[[link]]\nname = \"cable\"\ncapacity = \"8 Mbps\"\n\
         between = [\"york\", \"leeds\"]",
    ),
];

pub fn all() -> Vec<Grid> {
    let mut grids = Vec::new();
    for row in systems::ALL {
        let mine: Vec<_> = SOURCES.iter().filter(|(source, _)| row.sources.contains(source)).collect();
        assert!(!mine.is_empty(), "[{}] takes no source that is here", row.key);
        for (source, keys) in mine {
            let text = format!(
                "name = \"{0}\"\nseed = 2\n[{0}]\n\
                 [[site]]\nname = \"york\"\ncores = 64\nlatency = \"5 ms\"\n[[site]]\nname = \"leeds\"\ncores = 64\n\
                 [[user]]\nname = \"alice\"\nlatency = \"1 ms\"\n[[user]]\nname = \"bob\"\n\
                 [[workload]]\nsource = \"{source}\"\n{keys}\n",
                row.key
            );
            grids.push(Grid::read(format!("{} {source}", row.key), text.into_bytes(), &[]));
        }
    }
    for (name, tables) in OFFERING {
        let output = if tables.contains("[[link]]") { "output = \"2 Mbps\"\n" } else { "" };
        let text = format!(
            "name = \"offers\"\nseed = 3\n{tables}\n\
             [[site]]\nname = \"york\"\ncores = 12\nlatency = \"5 ms\"\n[[site]]\nname = \"leeds\"\ncores = 8\n\
             [[user]]\nname = \"alice\"\nlatency = \"1 ms\"\n[[user]]\nname = \"bob\"\n\
             [[workload]]\nsource = \"market\"\njobs = 4\ncores_max = 8\nload = 2.0\n{output}"
        );
        grids.push(Grid::read((*name).to_owned(), text.into_bytes(), &[]));
    }
    for (name, settings) in SHIPPED {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("topologies").join(format!("{name}.toml"));
        grids.push(Grid::read((*name).to_owned(), std::fs::read(path).unwrap(), settings));
    }
    grids
}

/// A random grid of a system whose contract may say more than its messages: queues behind a dispatcher, or a market.
/// Some of these grids give it no reason to.
pub fn random_with_contract(seed: u64) -> Grid {
    let mut state = mix_bits(seed);
    let mut draw = |words: &[&'static str]| {
        state = mix_bits(state);
        words[(state % words.len() as u64) as usize]
    };
    let is_market = draw(&["market", "batch"]) == "market";
    let mut text = format!("name = \"random\"\nseed = {seed}\n");
    text += match is_market {
        true => {
            draw(&["[market]\npolicy = \"pvr\"\n", "[market]\npolicy = \"fifo\"\n", "[market]\npolicy = \"pvdsq\"\n"])
        }
        false => draw(&["[batch]\n", "[batch]\ndispatch = \"round-robin\"\n", "[batch]\ndispatch = \"least-work\"\n"]),
    };
    if is_market {
        text +=
            draw(&["", "", "", "clearing = \"messages\"\n", "clearing = \"messages\"\noffers_every = \"40 min\"\n"]);
    }
    let latency = |draw: &mut dyn FnMut(&[&'static str]) -> &'static str| {
        format!("latency = \"{}\"\n", draw(&["0 s", "0 s", "1 us", "5 ms", "3 s", "1 h"]))
    };
    for site in 0..draw(&["1", "2", "3", "4"]).parse().unwrap() {
        text += &format!("[[site]]\nname = \"site-{site}\"\ncores = {}\n", draw(&["64", "128", "70"]));
        text += &latency(&mut draw);
        if !is_market {
            text += draw(&[
                "",
                "scheduler = \"easy\"\n",
                "scheduler = \"fcfs\"\norder = \"shortest\"\n",
                "scheduler = \"conservative\"\n",
                "scheduler = \"GreedyPM */per/opt=min/minvt=600\"\nmemory_gb = 8\n",
            ]);
        } else if site == 0 {
            text += draw(&["", "", "report_every = \"1 h\"\n"]);
        }
    }
    for user in 0..draw(&["1", "2", "3"]).parse().unwrap() {
        text += &format!("[[user]]\nname = \"user-{user}\"\n{}", latency(&mut draw));
    }
    text += draw(&["", "", "[[failure]]\nsite = \"site-0\"\nmtbf = \"2 d\"\nmttr = \"2 h\"\n"]);
    text += match is_market {
        true => "[[workload]]\nsource = \"market\"\njobs = 6\ncores_max = 16\n",
        false => draw(&[
            "[[workload]]\nsource = \"lublin\"\njobs = 40\narrival_factor = 3.0\n",
            "[[workload]]\nsource = \"lublin\"\njobs = 12\n[[workload]]\nsource = \"lublin\"\njobs = 90\nsite = \"site-0\"\n",
        ]),
    };
    Grid::read(format!("random {seed}"), text.into_bytes(), &[])
}

impl Grid {
    fn read(name: String, text: Vec<u8>, settings: &[&str]) -> Grid {
        let settings: Vec<Override> =
            settings.iter().map(|setting| Override::parse(&format!("workload.{setting}")).unwrap()).collect();
        let loaded = topology::read_topology("grid.toml", &settings, &mut |_| Ok(text.clone()));
        let topology = loaded.unwrap_or_else(|diagnostics| panic!("{name}: {diagnostics}")).topology;
        Grid { name, plan: Roster::of_topology(&topology), names: Names::of(&topology), topology }
    }
}
