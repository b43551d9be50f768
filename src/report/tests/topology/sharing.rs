//! Sites whose jobs share nodes: meaning of their names, and errors.

use super::meeting::run;
use super::*;
use hansa_sim::grid::Invalid;
use hansa_sim::protocol::Record;
use hansa_sim::topology::{Roster, build_actors};

const SHARING: &str = r#"name = "sharing"
[batch]
[[site]]
name = "york"
cores = 8
scheduler = "GreedyPM*/per/minvt=600"
memory_gb = 2.5
[[site]]
name = "leeds"
cores = 8
[[user]]
name = "alice"
[[workload]]
source = "lublin"
jobs = 20
needs = "quad-core"
"#;

fn message(text: &str, setting: &str) -> String {
    match load_text(text, &[setting]) {
        Err(diagnostics) => diagnostics.to_string(),
        Ok(topology) => panic!("{setting}: {}", topology.sites[0].scheduler),
    }
}

#[test]
fn a_scheduler_may_be_named_by_its_grammar() {
    let topology = load_text(SHARING, &[]).unwrap();
    let [york, leeds] = &topology.sites[..] else { panic!("two sites") };
    assert_eq!((&*york.scheduler, &*leeds.scheduler), ("GreedyPM */per/opt=min/minvt=600", "easy"));
    assert_eq!((york.memory_kb, leeds.memory_kb), (2_500_000, 8_000_000));
    assert_eq!(load_text(&topology.to_toml(), &[]).unwrap(), topology);
    assert_eq!(build_actors(&topology, &Roster::of_topology(&topology).all()).map(|cast| cast.len()).unwrap(), 4);
    assert_eq!(topology.warnings(), Vec::<String>::new());
    // Another spelling of a name is the same topology.
    let again = load_text(SHARING, &["site.york.scheduler=\"GreedyPM  */per/opt=min/minvt=600/period=600\""]).unwrap();
    assert_eq!(again.hash(), topology.hash());
    assert_ne!(load_text(SHARING, &["site.york.memory_gb=3"]).unwrap().hash(), topology.hash());
}

#[test]
fn images_move_at_a_rate_if_their_size_is_known() {
    let bare = load_text(SHARING, &[]).unwrap();
    let rate = "site.york.image_bandwidth=\"125 MB/s\"";
    let topology = load_text(SHARING, &[rate]).unwrap();
    assert_eq!((bare.sites[0].image_bandwidth, topology.sites[0].image_bandwidth), (None, Some(1_000_000_000)));
    assert_ne!(topology.hash(), bare.hash());
    assert!(topology.to_toml().contains("image_bandwidth = \"1 Gbps\"") && !bare.to_toml().contains("image_band"));
    assert_eq!(load_text(&topology.to_toml(), &[]).unwrap(), topology);
    assert_eq!(topology.warnings(), Vec::<String>::new());
    // A node of 2.5 GB takes 400 s at 50 Mbps.
    let slow = load_text(SHARING, &["site.york.image_bandwidth=\"50 Mbps\""]).unwrap().warnings();
    assert!(slow.len() == 1 && slow[0].contains("the penalty of 5 min and the 400 s in which"), "{slow:?}");

    let unknown = SHARING.replace("memory_gb = 2.5\n", "image_bandwidth = \"1 Gbps\"\n");
    let printed = message(&unknown, "seed=1");
    assert!(printed.contains("grid.toml:3") && printed.contains("site.york.memory_gb"), "{printed}");
    assert!(printed.contains("missing: expected how much memory a node has"), "{printed}");
    assert!(message(SHARING, "site.york.image_bandwidth=\"0 bps\"").contains("expected a capacity above zero"));

    // Defaults of all sites may contain either half.
    let all = |key: &str, text: &str| text.replacen("[batch]", &format!("[defaults.site]\n{key}\n[batch]"), 1);
    let halves = load_text(&all("memory_gb = 2.5", &unknown), &[]).unwrap();
    assert_eq!(halves.hash(), topology.hash());
    let halves = load_text(&all("image_bandwidth = \"1 Gbps\"", SHARING), &[]).unwrap();
    assert_eq!(halves.hash(), topology.hash());
    let both = unknown.replace("image_bandwidth = \"1 Gbps\"\n", "");
    let both = load_text(&all("memory_gb = 2.5\nimage_bandwidth = \"1 Gbps\"", &both), &[]).unwrap();
    assert_eq!(both.hash(), topology.hash());
}

#[test]
fn a_queue_that_moves_nothing_is_noted() {
    let notes = |text: &str, settings: &[&str]| {
        let loaded = load_files(&[("grid.toml", text.as_bytes())], settings).unwrap();
        (loaded.topology.hash(), loaded.notes)
    };
    let queue = "site.york.scheduler=\"easy\"";
    let (unsaid, none) = notes(&SHARING.replace("memory_gb = 2.5\n", ""), &[queue]);
    assert_eq!(none, [""; 0]);
    let (printed, message) = notes(SHARING, &[queue]);
    assert_eq!(printed, unsaid);
    let no_effect = "memory_gb and image_bandwidth have no effect at";
    assert_eq!(message, [format!("{no_effect} york: jobs share no nodes there, and are not moved")]);
    let (printed, message) = notes(SHARING, &[queue, "site.york.image_bandwidth=\"1 Gbps\"", "site.leeds.memory_gb=8"]);
    assert_eq!(printed, unsaid);
    assert_eq!(message, [format!("{no_effect} york and leeds: jobs share no nodes there, and are not moved")]);
    // Defaults apply to the sites at which they have an effect.
    let all = SHARING.replacen("[batch]", "[defaults.site]\nimage_bandwidth = \"1 Gbps\"\n[batch]", 1);
    assert_eq!(notes(&all, &[]).1, [""; 0]);
}

#[test]
fn defaults_without_effect_are_noted() {
    let notes = |setting: &str| load_files(&[("grid.toml", SHARING.as_bytes())], &[setting]).unwrap().notes;
    let message = "--set defaults.site.cores=3 changes nothing: every site has its own `cores`";
    assert_eq!(notes("defaults.site.cores=3"), [message]);
    // One site has none of its own.
    assert_eq!(notes("defaults.site.memory_gb=3"), [""; 0]);
}

#[test]
fn a_period_that_does_not_exceed_the_penalty_is_warned_of() {
    let slow = load_text(SHARING, &["site.york.scheduler=\"/per/period=300\""]).unwrap();
    let warnings = slow.warnings();
    assert_eq!(warnings.len(), 1);
    assert!(warnings[0].starts_with("site york, /per/opt=min/period=300: the period of"), "{warnings:?}");
    assert!(warnings[0].contains("may never make progress"), "{warnings:?}");
}

#[test]
fn errors_of_the_grammar_name_the_expectation_and_its_place() {
    for (name, expected) in [
        ("*/per", "`*` comes after a policy"),
        ("Greedy", "` *` or `/per` is missing at its end"),
        ("stretch-per/opt=max", "it begins with a slash"),
        ("Greedy */opt=min/minvt=600", "minvt and minft are for algorithms that use MCB8"),
        ("/per/opt=max", "`opt=max` is only for `stretch-per`"),
        ("EASY", "expected `easy`, or `easy-count`"),
        ("GreedyM *", "did you mean `Greedy"),
        ("MCB8/stretch-per", "`stretch-per` cannot follow a policy"),
        ("/per/penalty=-1", "expected seconds, such as 600"),
        ("/per/period=0", "expected a period above 0 s"),
        ("/per/opt=mix", "did you mean `m"),
        ("/per/minvt=1/minft=2", "only one of minvt and minft"),
        ("eazy", "did you mean `easy`"),
    ] {
        let printed = message(SHARING, &format!("site.york.scheduler={name:?}"));
        assert!(printed.contains(expected) && printed.contains("scheduler"), "{name}: {printed}");
    }
}

#[test]
fn nodes_are_shared_where_that_makes_sense() {
    let printed = message(SHARING, "site.york.reserved=[{ from = \"1 h\", until = \"2 h\", nodes = \"0\" }]");
    assert!(printed.contains("schedulers of shared nodes do not plan around it"), "{printed}");
    for key in ["memory_gb=2", "image_bandwidth=\"1 Gbps\""] {
        let printed = message(FINE, &format!("site.york.{key}"));
        assert!(printed.contains("expected also a scheduler under which jobs share nodes"), "{printed}");
    }
    let printed = message(SHARING, "site.york.memory_gb=0");
    assert!(printed.contains("expected a number of GB above zero"), "{printed}");
    let printed = message(SHARING, "site.york.cores=0");
    assert!(printed.contains("expected a whole number from 1"), "{printed}");
    let printed = message(FINE, "site.york.scheduler=\"GreedyP *\"");
    assert!(printed.contains("GreedyP */opt=min needs a [batch] table"), "{printed}");
    let both = SHARING.replace("[batch]", "[market]\n[batch]").replace("jobs = 20", "jobs = 20\nsystem = \"batch\"");
    let both = both.replace("cores = 8", "cores = 8\nsystem = [\"market\", \"batch\"]");
    let printed = message(&both, "seed=1");
    assert!(printed.contains("no other system can use this site"), "{printed}");
    let printed = message(&both, "site.york.scheduler=\"auction\"");
    let expected = "expected a scheduler of [batch], which runs what [market] and [batch] share, such as";
    assert!(printed.contains(expected) && printed.contains("(auction is for sites of [market] alone)"), "{printed}");
    let printed = message(&both, "site.york.system=[\"batch\", \"markte\"]");
    assert!(printed.contains("did you mean `market`?") && !printed.contains("at least one system"), "{printed}");
    // Defaults apply to sites of another system if they are valid there.
    let others = SHARING.replacen("[batch]", "[defaults.site]\nscheduler = \"/per\"\n[market]\n[batch]", 1);
    let others = others.replacen("cores = 8\nscheduler", "cores = 8\nsystem = \"batch\"\nscheduler", 1);
    let others = others.replace("name = \"leeds\"\ncores = 8", "name = \"leeds\"\ncores = 8\nsystem = \"market\"");
    let topology = load_text(&others.replace("jobs = 20", "jobs = 20\nsystem = \"batch\""), &[]).unwrap();
    assert_eq!(topology.sites[1].scheduler, "auction");
}

/// 101 tasks of a processor each, which leaves each less than a hundredth of it.
#[test]
fn jobs_that_cannot_be_packed_at_the_lowest_yield_are_refused_where_jobs_are_packed() {
    let text = |scheduler: &str, tasks: u32| {
        format!(
            "name = \"thin\"\n[batch]\n[[site]]\nname = \"york\"\ncores = 1\nscheduler = \"{scheduler}\"\n[[user]]\n\
             name = \"alice\"\n[[workload]]\nsource = \"table\"\n[[workload.job]]\n\
             tasks = [{{ runtime = \"10 s\", cores = {tasks} }}]\ncpu = 1.0\nmemory = 0.001\n"
        )
    };
    let ends = |scheduler: &str, tasks: u32| {
        let log = run(&load_text(&text(scheduler, tasks), &[]).unwrap());
        let refused = |why: &Record| matches!(why, Record::Rejected { why: Invalid::TooMuchCpu, .. });
        let finished = |what: &Record| matches!(what, Record::Completed { .. });
        let count = |what: &dyn Fn(&Record) -> bool| log.iter().filter(|entry| what(&entry.record)).count();
        (count(&finished), count(&refused))
    };
    for scheduler in ["MCB8 *", "/per", "GreedyPM */per/minvt=600"] {
        assert_eq!((ends(scheduler, 100), ends(scheduler, 101)), ((1, 0), (0, 1)), "{scheduler}");
    }
    for scheduler in ["Greedy *", "/stretch-per"] {
        assert_eq!(ends(scheduler, 101), (1, 0), "{scheduler}");
    }
}
