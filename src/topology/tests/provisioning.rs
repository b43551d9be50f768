//! What topologies may say of users who bargain, and what is wrong with some.

use super::*;
use crate::topology::{Plan, check_jobs};

pub const BARGAINING: &str = r#"name = "bargaining"
[provisioning]
[[site]]
name = "york"
cores = 8
latency = "2 s"
[[site]]
name = "leeds"
cores = 4
[[user]]
name = "alice"
[[user]]
name = "bob"
[[workload]]
source = "lublin"
jobs = 3
nodes = 4
users = ["alice"]
"#;

const PAIR: &str = r#"name = "pair"
[provisioning]
[[site]]
name = "york"
cores = 8
latency = "2 s"
[[site]]
name = "leeds"
cores = 4
[[user]]
name = "alice"
strategy = "coallocate"
legs = ["york", "leeds"]
[[workload]]
source = "table"
[[workload.job]]
tasks = [{ runtime = "1 min", cores = 6 }, { runtime = "1 min", cores = 4 }]
"#;

#[test]
fn a_topology_of_users_who_bargain_means_what_it_says() {
    for text in [BARGAINING, PAIR] {
        let topology = load_text(text, &[]).unwrap();
        assert_eq!(load_text(&topology.to_toml(), &[]).unwrap(), topology);
        check_jobs(&topology).unwrap();
        assert!(Plan::of(&topology).at_hub().is_empty(), "nobody at the hub decides");
    }
    let approach = &load_text(PAIR, &[]).unwrap().users[0].approach;
    assert_eq!((approach.strategy.as_str(), &approach.legs[..], approach.alpha), ("coallocate", &[0, 1][..], 0.5));
}

#[test]
fn what_is_wrong_with_a_strategy_is_told() {
    for (text, settings, expected) in [
        (BARGAINING, &["user.alice.strategy=\"mogga\""][..], "expected a strategy: best-effort, moga, greedy"),
        (BARGAINING, &["user.alice.alpha=0.5"], "this strategy has nothing to weigh"),
        (BARGAINING, &["user.alice.strategy=\"moga\"", "user.alice.alpha=1.5"], "a number from 0 to 1"),
        (BARGAINING, &["user.alice.strategy=\"var\"", "user.alice.ahead=\"31 d\""], "at most 30 days ahead"),
        (BARGAINING, &["user.alice.strategy=\"var\"", "user.alice.ahead=\"-1 h\""], "a time"),
        (BARGAINING, &["user.alice.ahead=\"1 h\""], "only var and var-and-reserve want their jobs at a time"),
        (BARGAINING, &["user.alice.strategy=\"coallocate\""], "the sites of a job's tasks"),
        (BARGAINING, &["user.alice.legs=[\"york\"]"], "only coallocate runs the parts of a job at several sites"),
        (
            BARGAINING,
            &["workload.0.users=[\"alice\", \"bob\"]", "user.bob.strategy=\"moga\""],
            "one strategy for the jobs of a workload",
        ),
        (BARGAINING, &["provisioning.delta=\"31 s\""], "a lease of at least twice delta"),
        (BARGAINING, &["site.york.price=-1"], "a number"),
        (BARGAINING, &["provisioning.bandwidth=\"fast\""], "expected"),
        (PAIR, &["user.alice.legs=[\"york\", \"leads\"]"], "leads"),
        (PAIR, &["user.alice.legs=[\"york\", \"york\"]"], "expected each site once"),
    ] {
        let complaints = load_text(text, settings).map(|_| ()).unwrap_err().to_string();
        assert!(complaints.contains(expected), "{settings:?}: {complaints}");
    }
    let elsewhere = BARGAINING.replace("[provisioning]", "[batch]");
    for (setting, expected) in [
        ("user.alice.strategy=\"moga\"", "only users under a [provisioning] bargain for time"),
        ("site.york.mode=\"exact\"", "only sites under a [provisioning] have terms"),
    ] {
        let complaints = load_text(&elsewhere, &[setting]).map(|_| ()).unwrap_err().to_string();
        assert!(complaints.contains(expected), "{setting}: {complaints}");
    }
}

#[test]
fn who_bargains_does_nothing_else() {
    let text = BARGAINING
        .replace("[provisioning]", "[batch]\n[provisioning]")
        .replace("cores = 8", "cores = 8\nsystem = \"batch\"");
    let text = text.replace("cores = 4\n", "cores = 4\nsystem = \"provisioning\"\n");
    let text = text.replace("users = ", "system = \"batch\"\nusers = ");
    let more =
        "[[workload]]\nsource = \"lublin\"\njobs = 2\nnodes = 2\nsystem = \"provisioning\"\nusers = [\"alice\"]\n";
    let complaints = load_text(&format!("{text}{more}"), &[]).map(|_| ()).unwrap_err().to_string();
    assert!(complaints.contains("alice hands in jobs to [batch] and to [provisioning]"), "{complaints}");
    let apart = more.replace("alice", "bob");
    assert!(load_text(&format!("{text}{apart}"), &[]).is_ok());
}

#[test]
fn jobs_that_cannot_be_bargained_for_are_told_of_before_the_run() {
    for (settings, expected) in [
        (&["user.alice.legs=[\"leeds\", \"york\"]"][..], "task 0 needs 6 cores, and its leg is at leeds, which has 4"),
        (&["user.alice.legs=[\"york\"]"], "it has 2 tasks, and its user 1 legs"),
        (&["provisioning.delta=\"2 s\""], "a message between alice and york takes 2 s: expected a delta above that"),
        (&["workload.0.job.0.edges=[[0, 1]]"], "its tasks wait for each other"),
    ] {
        let error = check_jobs(&load_text(PAIR, settings).unwrap()).unwrap_err().to_string();
        assert!(error.contains(expected), "{settings:?}: {error}");
    }
    let pair = load_text(&PAIR.replace("coallocate\"\nlegs = [\"york\", \"leeds\"]", "reserve\""), &[]).unwrap();
    let error = check_jobs(&pair).unwrap_err().to_string();
    assert!(error.contains("strategy reserve gets time for jobs of one task, and it has 2"), "{error}");
}
