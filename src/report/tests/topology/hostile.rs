//! Any bytes are a topology or have errors.

use proptest::prelude::*;

use super::*;
use hansa_sim::topology::KEYS_MAX;

/// True if the text is valid; errors must be renderable.
fn survives(bytes: &[u8], settings: &[&str]) -> bool {
    match load_files(&[("grid.toml", bytes), ("more.toml", bytes)], settings) {
        Ok(Loaded { topology, .. }) => {
            let text = topology.to_toml();
            assert_eq!(load_text(&text, &[]).unwrap(), topology, "{text}");
            true
        }
        Err(diagnostics) => {
            let plain = diagnostics.to_string();
            assert!(plain.starts_with("error: "), "{plain}");
            assert!(plain.chars().all(|c| c == '\n' || !c.is_control()), "{plain:?}");
            assert!(diagnostics.render(true).contains("\x1b[1;31merror\x1b[0m"));
            false
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn random_bytes(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        survives(&bytes, &[]);
    }

    #[test]
    fn random_letters_of_the_trade(
        parts in prop::collection::vec(prop::sample::select(PARTS), 0..60),
    ) {
        survives(parts.concat().as_bytes(), &[]);
    }

    #[test]
    fn broken_topologies(
        which in 0usize..4,
        at in any::<prop::sample::Index>(),
        cut in 0usize..30,
        put in prop::sample::select(PARTS),
        noise in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
    ) {
        let mut bytes = shipped()[which].1.as_bytes().to_vec();
        let at = at.index(bytes.len());
        let end = (at + cut).min(bytes.len());
        bytes.splice(at..end, put.bytes());
        for (at, byte) in noise {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        survives(&bytes, &[]);
    }

    #[test]
    fn random_settings(path in "[a-z0-9.]{0,12}", value in any::<String>(), known in prop::sample::select(PATHS)) {
        for path in [path.as_str(), known] {
            if let Ok(setting) = Override::parse(&format!("{path}={value}")) {
                let read = &mut |path: &str| match path {
                    "grid.toml" => Ok(FINE.into()),
                    _ => Err("there is no such file".to_owned()),
                };
                if let Err(diagnostics) = read_topology("grid.toml", &[setting], read) {
                    prop_assert!(diagnostics.to_string().starts_with("error: "));
                }
            }
        }
    }
}

#[test]
fn values_at_the_edge_of_everything() {
    let values = [
        "-1",
        "0",
        "1",
        "4294967296",
        "99999999999999999999999999999999999999999999",
        "-99999999999999999999999999999999999999999999",
        "0xffffffffffffffffffff",
        "1e400",
        "-1e400",
        "nan",
        "-nan",
        "inf",
        "-inf",
        "-0.0",
        "0.0",
        "1e-400",
        "\"\"",
        "\"\\u0000\"",
        "\"1 d\"",
        "\"99999999999999999999 d\"",
        "[]",
        "[[]]",
        "[1]",
        "[1, 2]",
        "[2, 1]",
        "[\"1 s\", \"1 s\"]",
        "{}",
        "{ a = 1 }",
        "true",
        "1979-05-27",
        "07:32:00",
        "[[0, 1], [1, 0]]",
        "[[0, 0]]",
        "[{}]",
        "\"grid.toml\"",
        "\"/\"",
        "\"..\"",
    ];
    let (_, trace) = shipped()[1];
    // Builds that are not optimised set every key to a third of the values, and each value at a third of the keys.
    let step = if cfg!(unoptimised) { 3 } else { 1 };
    for (at, value) in values.into_iter().enumerate() {
        for path in PATHS.iter().skip(at % step).step_by(step) {
            let setting = format!("{path}={value}");
            for text in [FINE, trace] {
                survives(text.as_bytes(), &[&setting]);
            }
        }
    }
}

#[test]
fn great_depth_and_width_end_in_an_error() {
    let deep = format!("{}a = {}1{}", "[x]\n", "[".repeat(100_000), "]".repeat(100_000));
    assert!(!survives(deep.as_bytes(), &[]));
    assert!(!survives(format!("{} = 1", vec!["a"; 50_000].join(".")).as_bytes(), &[]));
    let wide: String = (0..100_000).map(|n| format!("key-{n} = 1\n")).collect();
    assert!(!survives(wide.as_bytes(), &[]));
    assert!(!survives(format!("a = \"{}\" 1", "x".repeat(1_000_000)).as_bytes(), &[]));
    assert!(Override::parse(&format!("{}=1", vec!["a"; 100_000].join("."))).is_err());
    let many = FINE.replace("name = \"york\"", "name = \"york-{}\"\ncount = 100000").replace("cores = 8", "cores = 0");
    assert!(!survives(many.as_bytes(), &[]));
}

const PATHS: &[&str] = &[
    "name",
    "about",
    "seed",
    "market",
    "market.policy",
    "market.tick",
    "market.ccr",
    "market.network",
    "defaults",
    "defaults.site",
    "defaults.site.cores",
    "defaults.user.latency",
    "site",
    "site.0",
    "site.0.name",
    "site.0.count",
    "site.0.cores",
    "site.0.kind",
    "site.0.latency",
    "site.0.scheduler",
    "user",
    "user.0",
    "user.0.name",
    "user.0.count",
    "user.0.latency",
    "workload",
    "workload.0",
    "workload.0.source",
    "workload.0.include",
    "workload.0.users",
    "workload.0.seed",
    "workload.0.jobs",
    "workload.0.load",
    "workload.0.load_basis",
    "workload.0.tasks",
    "workload.0.total_runtime",
    "workload.0.cores_max",
    "workload.0.kinds",
    "workload.0.kind_share",
    "workload.0.degree",
    "workload.0.job",
    "workload.0.job.0",
    "workload.0.job.0.arrive",
    "workload.0.job.0.tasks",
    "workload.0.job.0.tasks.0",
    "workload.0.job.0.tasks.0.runtime",
    "workload.0.job.0.tasks.0.cores",
    "workload.0.job.0.edges",
    "workload.0.job.0.edges.0",
    "workload.0.job.0.worth",
    "workload.0.job.0.worth.max",
    "workload.0.job.0.worth.initial",
    "workload.0.job.0.worth.final",
    "workload.0.job.0.worth.points",
];

const PARTS: &[&str] = &[
    "",
    " ",
    "\n",
    "=",
    ".",
    ",",
    "[",
    "]",
    "[[",
    "]]",
    "{",
    "}",
    "\"",
    "'",
    "\"\"\"",
    "#",
    "\\",
    "\r",
    "\r\n",
    "\t",
    "\u{feff}",
    "\u{0}",
    "name",
    "site",
    "user",
    "workload",
    "market",
    "defaults",
    "count",
    "cores",
    "job",
    "tasks",
    "edges",
    "include",
    "source",
    "[[site]]\n",
    "[[user]]\n",
    "[[workload]]\n",
    "[[workload.job]]\n",
    "[market]\n",
    "[site]\n",
    "name = \"york\"\n",
    "name = \"x-{}\"\n",
    "count = 3\n",
    "cores = 0\n",
    "source = \"table\"\n",
    "source = \"market\"\n",
    "include = \"more.toml\"\n",
    "jobs = 1\n",
    "tasks = [{ runtime = \"1 s\", cores = 1 }]\n",
    "edges = [[0, 1]]\n",
    "1",
    "-1",
    "0.5",
    "1e9",
    "inf",
    "nan",
    "\"5 ms\"",
    "true",
    "ä",
    "🦀",
];

/// A parsed key takes much more memory than its text.
#[test]
fn a_file_of_a_million_keys_is_refused_before_it_is_parsed() {
    let mut text = String::from("name = \"x\"\n[market]\n");
    for number in 0..KEYS_MAX {
        text.push_str(&format!("k{number}=1\n"));
    }
    let refused = hansa_sim::topology::read_topology("many.toml", &[], &mut |_| Ok(text.clone().into_bytes()));
    let message = refused.err().unwrap().to_string();
    assert!(message.contains("expected at most 1,000,000 keys, found 1,000,001"), "{message}");
    assert!(message.len() < 1_000 && message.contains("a [[workload]] names"), "{message}");
}

/// A long list of tables is parsed in pieces.
#[test]
fn an_error_in_a_long_list_is_where_it_is() {
    let grid = "name = \"x\"\n[market]\n[[site]]\nname = \"york\"\ncores = 8\n[[user]]\nname = \"alice\"\n\
                [[workload]]\nsource = \"table\"\n";
    let job = "[[workload.job]]\ntasks = [{ runtime = \"1 min\", cores = 1 }]\n";
    let jobs = job.repeat(20_000);
    let read = |last: &str| {
        let text = format!("{grid}{jobs}{last}");
        hansa_sim::topology::read_topology("many.toml", &[], &mut |_| Ok(text.clone().into_bytes()))
    };
    assert!(read(job).is_ok());
    let wrong = read(&job.replace("1 min", "a while")).err().unwrap().to_string();
    assert!(wrong.contains("many.toml:40011:") && wrong.contains("\"a while\""), "{wrong}");
    let no_toml = read(&job.replace("}]", "]")).err().unwrap().to_string();
    assert!(no_toml.contains("many.toml:40011:") && no_toml.contains("this is not TOML"), "{no_toml}");
}
