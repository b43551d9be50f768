//! Meaning of topologies, and its round trip.

use proptest::prelude::*;

use super::batch::QUEUEING;
use super::provisioning::BARGAINING;
use super::*;
use crate::catalog;
use hansa_sim::grid::{Curve, Edge, JobShape, Kind, Task, Worth};
use hansa_sim::roles::queue;
use hansa_sim::systems::market::{
    Admission, AskWhen, BestBid, BidRecords, Blocking, Clearing, EdfDeadline, Foreign, Market, Network, Pvdsq, Pvr,
    Removal, SuccSum, Unplaceable, bid,
};
use hansa_sim::systems::provisioning::planner;
use hansa_sim::systems::{EXTERNAL, Service, managers};
use hansa_sim::time::{Span, Time};
use hansa_sim::topology::*;
use hansa_sim::workload::market::{Generator, LoadBasis};
use hansa_sim::workload::{Numbering, Source, table};

#[test]
fn shipped_topologies_are_valid_and_named_after_their_files() {
    for (name, text) in shipped() {
        let topology = load_text(text, &[]).unwrap();
        assert_eq!(topology.name, *name);
        assert!(topology.about.is_some());
    }
}

#[test]
fn defaults_are_those_of_the_market_paper() {
    let topology = load_text(FINE, &[]).unwrap();
    let expected = Topology {
        name: "fine".into(),
        seed: 1,
        kinds: vec!["any".into()],
        systems: vec![Service::new(Market::default())],
        sites: vec![Site {
            name: "york".into(),
            cores: 8,
            scheduler: "auction".into(),
            systems: vec![0],
            ..Site::with_defaults()
        }],
        users: vec![User::named("alice")],
        workloads: vec![Workload {
            system: 0,
            users: vec![0],
            shares: Vec::new(),
            source: Source::Market(Generator {
                seed: 1,
                jobs: 3,
                load: 1.0,
                load_basis: LoadBasis::Total,
                tasks: (5, 20),
                total_runtime: (10, 200_000),
                cores_max: 8,
                ranges: Default::default(),
                week: Default::default(),
                kinds: [Kind(0), Kind(0)],
                kind_share: 0.8,
                degree: 1.0,
                output: 0,
            }),
        }],
        ..Topology::default()
    };
    assert_eq!(topology, expected);
}

#[test]
fn the_trace_is_the_one_of_the_specification() {
    let (_, text) = shipped()[1];
    let topology = load_text(text, &[]).unwrap();
    let Source::Table(table::Table { jobs, .. }) = &topology.workloads[0].source else { panic!("it is a table") };
    let tasks: Vec<(u64, u32, u16)> = jobs
        .iter()
        .flat_map(|job| &job.tasks)
        .map(|task| (task.runtime.micros() / 60_000_000, task.cores, task.kind.0))
        .collect();
    let expected =
        [(6, 3, 0), (4, 2, 1), (4, 2, 0), (5, 2, 0), (10, 4, 0), (3, 3, 1), (20, 4, 0), (21, 1, 0), (25, 1, 1)];
    assert_eq!(tasks, expected);
    assert_eq!(topology.settings::<Market>().unwrap().ccr_millionths, 200_000);
    assert_eq!(jobs.iter().map(|job| job.edges.len()).collect::<Vec<_>>(), [1, 1, 0, 0, 0, 0, 0]);
}

#[test]
fn counts_and_defaults_shorten_files() {
    let text = r#"
        name = "many"
        defaults.site = { cores = 4, latency = "1.5 ms" }
        defaults.user.latency = "2 s"
        [[site]]
        name = "site-{}"
        count = 1000
        [[site]]
        name = "big"
        cores = 64
        [[user]]
        name = "user-{}"
        count = 2
        [[workload]]
        source = "market"
        jobs = 1
        cores_max = 4
    "#;
    let Topology { sites, users, workloads, .. } =
        load_text(text, &["site.site-7.cores=5", "site.1.latency=0"]).unwrap();
    assert_eq!(sites.len(), 1001);
    assert_eq!((sites[0].name.as_str(), sites[999].name.as_str()), ("site-1", "site-1000"));
    assert_eq!((sites[5].cores, sites[6].cores, sites[1000].cores), (4, 5, 64));
    assert_eq!((sites[0].latency.micros(), sites[1000].latency.micros()), (1_500, 0));
    assert_eq!(users[1], User { latency: Span::from_secs(2), ..User::named("user-2") });
    assert_eq!(workloads[0].users, [0, 1]);
}

#[test]
fn overrides_are_stronger_than_files() {
    let (_, text) = shipped()[0];
    let settings = [
        "seed=7",
        "market.policy=srtf",
        "market.policy=pvr",
        "site.york.cores=500",
        "site.1.latency=7 ms",
        "workload.0.load=1.25",
        "workload.0.kinds=[\"Kind1\", \"Kind1\"]",
        "workload.0.kinds.1=Kind2",
        "workload.0.kinds.0=Kind2",
        "defaults.user.latency=1 s",
        "about=\"a = b\"",
    ];
    let topology = load_text(text, &settings).unwrap();
    assert_eq!(
        (topology.seed, topology.settings::<Market>().unwrap().policy.as_str(), topology.sites[0].cores),
        (7, "pvr", 500)
    );
    assert_eq!((topology.sites[1].latency, topology.users[0].latency), (Span::from_millis(7), Span::from_millis(10)));
    assert_eq!(topology.about.as_deref(), Some("a = b"));
    let Source::Market(generator) = &topology.workloads[0].source else { panic!("it is generated") };
    assert_eq!((generator.seed, generator.load, generator.kinds), (7, 1.25, [Kind(1); 2]));
}

#[test]
fn includes_are_relative_to_their_file_and_weaker_than_keys_beside_them() {
    let main = FINE.replace("source = \"market\"\njobs = 3\n", "include = \"jobs/a.toml\"\nload = 0.5\n");
    let files: [(&str, &[u8]); 3] = [
        ("grids/fine.toml", main.as_bytes()),
        ("grids/jobs/a.toml", b"include = \"../more/./b.toml\"\njobs = 4\nload = 0.7\n"),
        ("grids/more/b.toml", b"source = \"market\"\njobs = 5\ndegree = 2\n"),
    ];
    let Loaded { topology, inputs, .. } = load_files(&files, &["workload.0.degree=3"]).unwrap();
    let Source::Market(generator) = &topology.workloads[0].source else { panic!("it is generated") };
    assert_eq!((generator.jobs, generator.load, generator.degree), (4, 0.5, 3.0));
    let paths: Vec<&str> = inputs.iter().map(|input| input.path.as_str()).collect();
    assert_eq!(paths, ["grids/fine.toml", "grids/jobs/a.toml", "grids/more/b.toml"]);
    assert_eq!(inputs[2].hash, format!("{:032x}", xxhash_rust::xxh3::xxh3_128(files[2].1)));
}

#[test]
fn overrides_reach_into_includes() {
    let main = FINE.replace("source = \"market\"\njobs = 3\ncores_max = 8\n", "include = \"a.toml\"\n");
    let files: [(&str, &[u8]); 2] = [
        ("grid.toml", main.as_bytes()),
        ("a.toml", b"source = \"table\"\n[[job]]\ntasks = [{ runtime = \"1 s\", cores = 1 }]\n"),
    ];
    let topology = load_files(&files, &["workload.0.job.0.tasks.0.cores=2"]).unwrap().topology;
    let Source::Table(table) = &topology.workloads[0].source else { panic!("it is a table") };
    assert_eq!(table.jobs[0].tasks[0].cores, 2);
}

#[test]
fn byte_order_marks_and_carriage_returns_do_no_harm() {
    let text = format!("\u{feff}{}", FINE.replace('\n', "\r\n"));
    assert_eq!(load_text(&text, &[]).unwrap(), load_text(FINE, &[]).unwrap());
}

#[test]
fn large_seeds_are_kept() {
    assert_eq!(load_text(FINE, &["seed=18446744073709551615"]).unwrap().seed, u64::MAX);
}

#[test]
fn the_hash_covers_the_meaning() {
    let (_, text) = shipped()[0];
    let settings = ["market.policy=pvd", "site.york.cores=100"];
    let original = load_text(text, &settings).unwrap();
    let resolved = load_text(&original.to_toml(), &[]).unwrap();
    let not_judged = load_text(text, &[&settings[..], &["about=nothing"]].concat()).unwrap();
    assert_eq!(original.hash(), resolved.hash());
    assert_eq!(original.hash(), not_judged.hash());
    assert_ne!(original.hash(), load_text(text, &[]).unwrap().hash());
    // Equal on every machine and in every build, or processes of one run would refuse each other.
    assert_eq!(load_text(FINE, &[]).unwrap().hash().to_string(), "5ad28cb8d845c498ede5eaf97799c8e1");
}

#[test]
fn the_resolved_text_explains_itself() {
    let (_, text) = shipped()[0];
    golden("quickstart.toml", &load_text(text, &[]).unwrap().to_toml());
    golden("catalog.txt", &catalog::catalogue_text());
    let (_, text) = shipped()[1];
    let resolved = load_text(text, &[]).unwrap().to_toml();
    let job = resolved.find("[[workload.job]]").unwrap();
    let first = "\
[[workload.job]]
arrive = \"0 s\"
tasks = [
    { runtime = \"6 min\", cores = 3, kind = \"Kind1\" },
    { runtime = \"4 min\", cores = 2, kind = \"Kind2\" },
]
edges = [[0, 1]]
worth = { max = 26.0, initial = 100.0, final = 200.0, points = [] }
";
    assert_eq!(&resolved[job..job + first.len()], first);
}

#[test]
fn what_it_is_in_short() {
    let (_, text) = shipped()[0];
    assert_eq!(
        load_text(text, &[]).unwrap().in_short(),
        "quickstart: 3 sites (128 Kind1, 48 Kind2), 2 users, 100 jobs\n"
    );
}

proptest! {
    #[test]
    fn written_topologies_read_back(topology in topologies()) {
        let text = topology.to_toml();
        let again = load_text(&text, &[]).map_err(|diagnostics| TestCaseError::fail(format!("{diagnostics}\n{text}")))?;
        prop_assert_eq!(&again, &topology, "{}", text);
        prop_assert_eq!(again.hash(), topology.hash());
        prop_assert_eq!(again.to_toml(), text);
    }
}

fn topologies() -> impl Strategy<Value = Topology> {
    let kinds = prop::collection::btree_set("[A-Za-z0-9][A-Za-z0-9._-]{0,8}", 1..4);
    let names = prop::collection::btree_set("[a-qs-z0-9][a-z0-9-]{0,62}", 8);
    (kinds, names, prop::option::of(any::<String>()), any::<u64>(), markets()).prop_flat_map(
        |(kinds, names, about, seed, market)| {
            let kinds: Vec<String> = kinds.into_iter().collect();
            let names: Vec<String> = names.into_iter().collect();
            let count = kinds.len();
            let more = prop::collection::vec((1u32..1 << 31, 0..count, spans()), 0..3);
            let sites = (prop::collection::vec((20u32..1 << 31, spans()), count), more);
            let users = prop::collection::vec(spans(), 1..3);
            let tick = market.tick;
            (sites, users).prop_flat_map(move |((first, more), users)| {
                // The first sites introduce the kinds in their order.
                let first = first.into_iter().enumerate().map(|(kind, (cores, latency))| (cores, kind, latency));
                let sites: Vec<Site> = first
                    .chain(more)
                    .zip(&names)
                    .map(|((cores, kind, latency), name)| Site {
                        name: name.clone(),
                        cores,
                        kind: Kind(kind as u16),
                        scheduler: "auction".into(),
                        latency,
                        report_every: Span::from_micros(latency.micros() / 2),
                        systems: vec![0],
                        ..Site::with_defaults()
                    })
                    .collect();
                let users: Vec<User> = users
                    .into_iter()
                    .zip(names.iter().rev())
                    .map(|(latency, name)| User { latency, ..User::named(name.clone()) })
                    .collect();
                let base = Topology {
                    name: names[0].clone(),
                    about: about.clone(),
                    seed,
                    kinds: kinds.clone(),
                    systems: vec![Service::new(market.clone())],
                    sites,
                    users,
                    ..Topology::default()
                };
                prop::collection::vec(workloads(base.users.len(), count, tick), 1..4)
                    .prop_map(move |workloads| Topology { workloads, ..base.clone() })
            })
        },
    )
}

fn spans() -> impl Strategy<Value = Span> {
    let units = prop::sample::select(vec![1u64, 1_000, 1_000_000, 60_000_000, 3_600_000_000, 86_400_000_000]);
    (0u64..365_250, units).prop_map(|(count, unit)| Span::from_micros(count * unit))
}

fn markets() -> impl Strategy<Value = Market> {
    let policies: Vec<&str> = bid::ALL.iter().map(|row| row.name).chain([EXTERNAL]).collect();
    let tick = (1u64..90).prop_map(Span::from_secs);
    fn word<T: Copy + std::fmt::Debug + 'static>(
        all: &'static [(&'static str, T, &'static str)],
    ) -> impl Strategy<Value = T> {
        prop::sample::select(all).prop_map(|(_, variant, _)| variant)
    }
    let first =
        (word(Network::ALL), word(Blocking::ALL), word(Removal::ALL), word(Unplaceable::ALL), word(BidRecords::ALL));
    let second = (word(SuccSum::ALL), word(EdfDeadline::ALL), word(Pvdsq::ALL), word(Pvr::ALL), word(Admission::ALL));
    let second = (second, word(Clearing::ALL));
    (prop::sample::select(policies), tick, 0u64..=1_000_000_000, first, second).prop_map(
        |(
            policy,
            tick,
            ccr_millionths,
            (network, blocking, removal, unplaceable, bids),
            ((succ_sum, edf, pvdsq, pvr, admission), clearing),
        )| {
            let command = vec!["python3".to_owned(), "a \"bidder\".py".to_owned()];
            let program = hansa_sim::grid::Program { command, timeout: tick, ..Default::default() };
            let foreign = Foreign { program, ask: AskWhen::Always, winner: BestBid::Smallest };
            Market {
                bidder: (policy == EXTERNAL).then_some(foreign),
                policy: policy.into(),
                tick,
                ccr_millionths,
                network,
                blocking,
                removal,
                unplaceable,
                bids,
                clearing,
                offers_every: if clearing == Clearing::Messages { tick } else { Span::ZERO },
                succ_sum,
                edf,
                pvdsq,
                pvr,
                admission,
                admission_theta_millionths: ccr_millionths % 1_000_001,
                admission_eta_millionths: ccr_millionths / 1_000,
            }
        },
    )
}

fn workloads(users: usize, kinds: usize, tick: Span) -> impl Strategy<Value = Workload> {
    let submitters = prop::sample::subsequence((0..users).collect::<Vec<_>>(), 1..=users).prop_shuffle();
    let source = prop_oneof![
        generators(kinds).prop_map(Source::Market),
        prop::collection::vec(jobs(kinds, tick), 1..4).prop_map(|mut jobs| {
            jobs.sort_by_key(|job| job.arrive);
            Source::Table(table::Table::of_jobs(jobs))
        }),
    ];
    (submitters, source).prop_map(|(users, source)| Workload { users, shares: Vec::new(), system: 0, source })
}

fn generators(kinds: usize) -> impl Strategy<Value = Generator> {
    let sizes = (1u32..=100, 0u32..=100, 1u64..=100_000, 0u64..=100_000, 1u32..=20);
    let shape = (any::<u64>(), 1u32..=10_000_000, 1e-9f64..=10.0, 0.0f64..=1.0, 0.0f64..=50.0);
    let rest = (prop::bool::ANY, 0..kinds, 0..kinds);
    (sizes, shape, rest).prop_map(
        |((fewest, more, shortest, longer, cores_max), (seed, jobs, load, kind_share, degree), (total, a, b))| {
            Generator {
                seed,
                jobs,
                load,
                load_basis: if total { LoadBasis::Total } else { LoadBasis::Bottleneck },
                tasks: (fewest, fewest + more),
                total_runtime: (shortest, shortest + longer),
                cores_max,
                ranges: Default::default(),
                week: Default::default(),
                kinds: [Kind(a as u16), Kind(b as u16)],
                kind_share,
                degree,
                // These grids have no links.
                output: 0,
            }
        },
    )
}

fn jobs(kinds: usize, tick: Span) -> impl Strategy<Value = table::ListedJob> {
    let task = (1u64..1_000_000, 1u32..=20, 0..kinds).prop_map(move |(runtime, cores, kind)| {
        Task::new(Span::from_micros(runtime * tick.micros()), cores, Kind(kind as u16))
    });
    let worth =
        (0.0f64..1e12, 0.001f64..50.0, 0.001f64..50.0, prop::collection::vec((0.0f64..=1.0, 0.0f64..=1.0), 0..5))
            .prop_map(|(max, initial, longer, points)| {
                let (mut slrs, mut values): (Vec<f64>, Vec<f64>) = points.into_iter().unzip();
                slrs.sort_by(f64::total_cmp);
                values.sort_by(|a, b| b.total_cmp(a));
                let final_ = initial + longer;
                let slrs = slrs.into_iter().map(|share| (initial + share * longer).clamp(initial, final_));
                let points: Vec<(f64, f64)> = slrs.zip(values).collect();
                Worth { max, curve: Curve::new(initial, final_, &points).unwrap() }
            });
    let shape = prop::collection::btree_set((0u32..7, 1u32..8), 0..6);
    (spans(), prop::collection::vec(task, 1..8), shape, prop::option::of(worth)).prop_map(
        |(arrive, tasks, shape, worth)| {
            let last = tasks.len() as u32 - 1;
            let edges = shape.into_iter().filter(|(from, to)| from < to && *to <= last);
            let edges = edges.map(|(from, to)| Edge::new(from, to)).collect();
            table::ListedJob { arrive: Time::ZERO + arrive, tasks, edges, worth, ..table::ListedJob::default() }
        },
    )
}

#[test]
fn every_name_of_the_catalogue_is_usable() {
    for section in catalog::list_sections() {
        let (table, key) = section.key.split_once('.').unwrap();
        let path = match table {
            "site" | "user" | "workload" | "link" | "failure" => format!("{table}.0.{key}"),
            table => format!("{table}.{key}"),
        };
        // A bidder and its policy need each other, like an allocator and its.
        let bidder = ["market.bidder.command=[\"bid\"]", "market.policy=external"];
        // So do an external scheduler or planner and its program.
        let program = format!("{table}.0.command=[\"decide\", \"{{socket}}\"]");
        let read = |name: &str| {
            let setting = format!("{path}={name}");
            let settings = match table {
                "site" | "user" if [EXTERNAL, "batsim"].contains(&name) => vec![setting.as_str(), &program],
                "site" if name == "multifactor" => vec![setting.as_str(), "site.0.multifactor={ age = 1 }"],
                "reservation" if name == EXTERNAL => {
                    vec!["reservation.allocator.command=[\"choose\"]", setting.as_str()]
                }
                _ if section.key.starts_with("market.bidder") || name == EXTERNAL => {
                    vec![bidder[0], bidder[1], &setting]
                }
                _ => vec![setting.as_str()],
            };
            let files = [
                ("grid.toml", base(&section.key, name).as_bytes()),
                ("log.sacct", super::round_trip::SACCT.as_bytes()),
            ];
            load_files(&files, &settings)
        };
        for entry in &section.entries {
            assert!(catalog::catalogue_text().contains(&entry.about), "{}", entry.name);
            let outcome = read(entry.name);
            // Another source needs other keys, legs need sites, and a one-way link another one back.
            if section.key != "workload.source" && !["one-way", "coallocate"].contains(&entry.name) {
                outcome.unwrap();
            }
        }
        let diagnostics = read("x-y-z").unwrap_err().to_string();
        // Only schedulers of the topology's system are valid.
        let fits = |name: &str| section.key != "site.scheduler" || name == "auction";
        let mut fitting = section.entries.iter().filter(|entry| fits(entry.name));
        assert!(fitting.all(|entry| diagnostics.contains(entry.name)), "{diagnostics}");
    }
}

/// A topology in which a setting is valid.
fn base(key: &str, name: &str) -> &'static str {
    match key.split_once('.') {
        Some(("reservation", _)) => RESERVING,
        Some(("network" | "link" | "workflow", _)) => super::cables::STAR,
        Some(("batch", _) | ("user", "planner") | ("site", "order")) => QUEUEING,
        Some(("recovery", "bookings")) => BREAKING,
        Some(("recovery", "data")) => CUT,
        Some(("failure" | "recovery", _)) => FAILING,
        Some(("provisioning", _) | ("user", "strategy") | ("site", "mode" | "inner_slots" | "edge_slots")) => {
            BARGAINING
        }
        Some(("workload", "size")) => DUMPED,
        Some(("site", "scheduler")) if planner::ALL.iter().any(|row| row.name == name) => BARGAINING,
        Some(("workload", "deal" | "types" | "stream" | "needs" | "walltimes")) => QUEUEING,
        Some(("site", "scheduler")) if queue::find_policy(name).is_some() || managers::find_kind(name).is_some() => {
            SHARED
        }
        _ => FINE,
    }
}

const DUMPED: &str = r#"name = "dumped"
[batch]
[[site]]
name = "york"
cores = 8
[[user]]
name = "alice"
[[workload]]
source = "sacct"
file = "log.sacct"
"#;

const FAILING: &str = r#"name = "failing"
[batch]
[[site]]
name = "york"
cores = 8
[[failure]]
site = "york"
mtbf = "1 d"
mttr = "1 h"
[[user]]
name = "alice"
[[workload]]
source = "lublin"
jobs = 2
"#;

const BREAKING: &str = r#"name = "breaking"
[reservation]
[[site]]
name = "york"
cores = 8
[[failure]]
site = "york"
mtbf = "1 d"
mttr = "1 h"
[[user]]
name = "alice"
[[workload]]
source = "reservations"
requests = 2
nodes = 8
"#;

const CUT: &str = r#"name = "cut"
[market]
[[site]]
name = "york"
cores = 128
[[site]]
name = "leeds"
cores = 128
[[link]]
name = "trunk"
capacity = "1 Gbps"
between = ["york", "leeds"]
[[failure]]
link = "trunk"
mtbf = "1 d"
mttr = "1 h"
[[user]]
name = "alice"
[[workload]]
source = "market"
jobs = 2
"#;

const SHARED: &str = r#"name = "shared"
[batch]
[[site]]
name = "york"
cores = 8
[[user]]
name = "alice"
[[workload]]
source = "lublin"
jobs = 2
"#;

const RESERVING: &str = r#"name = "reserving"
[reservation]
[[site]]
name = "york"
cores = 8
[[user]]
name = "alice"
[[workload]]
source = "requests"
[[workload.request]]
arrive = "1 min"
duration = "5 min"
nodes = 3
[[workload.request]]
arrive = "2 min"
ready = "1 min"
deadline = "3 min"
duration = "5 min"
nodes = 0
runtime = "4 min"
cancel = "2 min"
"#;

#[test]
fn requests_are_read_and_only_their_errors_are_reported() {
    let topology = load_text(RESERVING, &[]).unwrap();
    assert_eq!(load_text(&topology.to_toml(), &[]).unwrap(), topology);
    assert!(!topology.to_toml().contains("scheduler ="), "sites do as the meta-scheduler tells them");
    assert_eq!(topology.jobs(), 2);
    for (setting, expected) in [
        ("workload.0.request.1.arrive=\"30 s\"", "requests in order of arrival"),
        ("workload.0.request.1.runtime=\"6 min\"", "a time within the requested duration"),
        ("workload.0.request.1.cancel=\"1 min\"", "a time that is not before the arrival"),
        ("workload.0.request.1.duration=\"-5 min\"", "expected"),
        ("workload.0.request.0.nodes=-1", "a whole number from 0"),
        ("workload.0.request.0.deadline=\"9999999999 d\"", "expected"),
        ("reservation.rect_end=\"clips\"", "clip"),
        (
            "workload.0.source=\"market\"",
            "expected reservations, requests, swf, batsim, sacct, slurm-events or lublin, which a [reservation] accepts",
        ),
    ] {
        let diagnostics = load_text(RESERVING, &[setting]).unwrap_err().to_string();
        assert!(diagnostics.contains(expected), "{setting}: {diagnostics}");
    }
    let diagnostics = load_text(FINE, &["workload.0.source=\"reservations\""]).unwrap_err().to_string();
    assert!(diagnostics.contains("need a [reservation] table"), "{diagnostics}");
}

#[test]
fn requests_may_have_several_shapes_in_place_of_one() {
    let shapes =
        "shapes = [{ nodes = 4, duration = \"5 min\" }, { nodes = 9, duration = \"2 min\", runtime = \"1 min\" }]";
    let text = RESERVING.replace("duration = \"5 min\"\nnodes = 3", shapes);
    let topology = load_text(&text, &[]).unwrap();
    assert_eq!(load_text(&topology.to_toml(), &[]).unwrap(), topology);
    let requests = topology.workloads[0].source.requests(&mut Numbering::default()).unwrap();
    let (job, ask) = &requests[0];
    let minutes = |minutes| Span::from_minutes(minutes);
    let all = [(4, minutes(5), minutes(5)), (9, minutes(2), minutes(1))];
    let all = all.map(|(nodes, duration, runtime)| JobShape { nodes, duration, runtime });
    assert_eq!((ask.shapes.as_slice(), JobShape::are_of(&ask.shapes, job)), (&all[..], true));
    // The longest can just start when it is ready, at its arrival. York has eight nodes, which the second exceeds.
    assert_eq!(ask.request.deadline, Time::ZERO + minutes(6));
    let notes = hansa_sim::topology::check_jobs(&topology).unwrap();
    assert_eq!(notes.len(), 1, "of the second request: {notes:?}");
    assert!(notes[0].contains("from job 1 on"), "{notes:?}");

    let many = format!("workload.0.request.0.shapes=[{}]", "{ nodes = 1, duration = \"1 min\" }, ".repeat(17));
    for (setting, expected) in [
        ("workload.0.request.0.nodes=3", "leave nodes out: shapes states it"),
        ("workload.0.request.0.duration=\"5 min\"", "leave duration out: shapes states it"),
        ("workload.0.request.0.runtime=\"5 min\"", "leave runtime out: shapes states it"),
        ("workload.0.request.0.shapes.0.nodes=0", "expected a whole number from 1"),
        ("workload.0.request.0.shapes.0.duration=\"0 s\"", "a time above zero"),
        ("workload.0.request.0.shapes.1.runtime=\"3 min\"", "a time within the duration of the shape"),
        ("workload.0.request.0.shapes=[{ nodes = 1, duration = \"1 min\" }]", "from 2 to 16 shapes, found 1"),
        (many.as_str(), "expected from 2 to 16 shapes, found 17"),
        ("workload.0.request.0.shapes=[{ nodes = 1 }, { nodes = 2, duration = \"1 min\" }]", "missing: expected"),
        ("workload.0.request.0.shapes=4", "expected a list of shapes"),
        (
            "workload.0.request.0.shapes=[{ nodes = 4, duration = \"5 min\" }, { nodes = 2, duration = \"5 min\" }, \
             { nodes = 4, duration = \"300 s\" }]",
            "workload.0.request.0.shapes: expected different shapes, but shapes.0 and shapes.2 are the same",
        ),
        ("reservation.shape=\"thirfty\"", "did you mean `thrifty`?"),
    ] {
        let diagnostics = load_text(&text, &[setting]).unwrap_err().to_string();
        assert!(diagnostics.contains(expected), "{setting}: {diagnostics}");
    }
    let diagnostics =
        load_text(&RESERVING.replace("duration = \"5 min\"\nnodes = 3", ""), &[]).unwrap_err().to_string();
    assert!(diagnostics.contains("missing: expected the number of nodes needed, or shapes"), "{diagnostics}");
}

#[test]
fn generated_requests_may_be_malleable() {
    let source = "source = \"reservations\"\nrequests = 50\nnodes = 8\n";
    let text = format!("{}{source}", RESERVING.split("source").next().unwrap());
    let asks = |settings: &[&str]| {
        let topology = load_text(&text, settings).unwrap();
        assert_eq!(load_text(&topology.to_toml(), &[]).unwrap(), topology);
        topology.workloads[0].source.requests(&mut Numbering::default()).unwrap()
    };
    let rigid = asks(&[]);
    let malleable = asks(&["workload.0.malleable=2", "workload.0.serial_fraction=0.1"]);
    for ((job, one), (other, several)) in rigid.iter().zip(&malleable) {
        assert_eq!((job, one.request, one.runtime), (other, several.request, several.runtime));
        assert!(one.shapes.is_empty() && JobShape::are_of(&several.shapes, other));
        assert!(several.shapes.iter().all(|shape| (1..=8).contains(&shape.nodes)));
        // No further shape needs more nodes than another one for no less time.
        let beats = |by: &JobShape, shape: &JobShape| by.nodes < shape.nodes && by.duration <= shape.duration;
        assert!(several.shapes.iter().skip(1).all(|shape| !several.shapes.iter().any(|by| beats(by, shape))));
    }
    for (settings, expected) in [
        (&["workload.0.malleable=8"][..], "a whole number from 0 to 7"),
        (&["workload.0.malleable=1", "workload.0.serial_fraction=1.1"], "a number from 0 to 1"),
        (&["workload.0.serial_fraction=0.1"], "leave serial_fraction out: without malleable, requests have one shape"),
    ] {
        let diagnostics = load_text(&text, settings).unwrap_err().to_string();
        assert!(diagnostics.contains(expected), "{settings:?}: {diagnostics}");
    }
}

#[test]
fn oversized_messages_are_reported_before_the_run() {
    let table = |tasks: &str, cores: u32| {
        let text = format!(
            "name = \"long\"\n[market]\n[[site]]\nname = \"york\"\ncores = {cores}\n[[user]]\nname = \"alice\"\n\
             [[workload]]\nsource = \"table\"\n[[workload.job]]\ntasks = [{tasks}]\n"
        );
        let topology = load_text(&text, &[]).unwrap();
        hansa_sim::topology::check_jobs(&topology).err().map(|error| error.to_string())
    };
    let task = |cores: u32| format!("{{ runtime = \"1 min\", cores = {cores} }}, ");
    assert_eq!(table(&task(3_000_000), 40_000_000), None);
    assert_eq!(table(&task(39_000_000), 40_000_000), None);
    let message = table(&task(5_000_000), 40_000_000).unwrap();
    assert!(message.contains("task 0 takes 5000000 cores of york") && message.contains("at most 3355392"), "{message}");
}
