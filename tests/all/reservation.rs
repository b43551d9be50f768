//! Advance reservations from the user's view.

use std::path::Path;

use crate::grid::{Scratch, hansa_ok, json, shipped};

/// Rows of all requests of a run, and its totals.
fn reserved(text: &str) -> (Vec<String>, serde_json::Value) {
    let scratch = Scratch::new();
    let topology = scratch.file("grid.toml", text);
    let out = scratch.path("out");
    let [run, inline, to] = ["run", "--inline", "--out"].map(Path::new);
    hansa_ok(&[run, inline, &topology, to, &out]);
    let table = std::fs::read_to_string(out.join("reservations.csv")).unwrap();
    let rows = table.lines().skip(1).map(str::to_owned).collect();
    (rows, json(&out.join("summary.json"))["results"]["reservations"].clone())
}

/// Starts in the example of the paper's figure 1, worked by hand.
#[test]
fn policies_choose_among_the_rectangles_of_the_figure() {
    let topology = std::fs::read_to_string(shipped("rectangles.toml")).unwrap();
    let chosen = [("ff", 4), ("pe_b", 15), ("du_b", 6), ("pedu_b", 15), ("pe_w", 6), ("du_w", 4), ("pedu_w", 6)];
    for (policy, start) in chosen {
        let (rows, _) = reserved(&topology.replace("policy = \"pe_w\"", &format!("policy = \"{policy}\"")));
        let expected = format!("4,alice,1,4,5,20,4,accepted,,cluster,{start},{},", start + 5);
        assert!(rows[4].starts_with(&expected), "{policy}: {}", rows[4]);
    }
}

/// A request for the nodes that another one releases in the same instant.
const AT_ONCE: &str = r#"
name = "at-once"
[batch]
[reservation]
policy = "ff"
[[site]]
name = "york"
cores = 2
system = SYSTEM
[[user]]
name = "alice"
[[workload]]
source = "requests"
[[workload.request]]
arrive = "0 s"
ready = "10 s"
duration = "5 s"
nodes = 2
cancel = "3 s"
[[workload.request]]
arrive = "3 s"
ready = "10 s"
duration = "5 s"
nodes = 2
"#;

#[test]
fn released_nodes_can_be_requested_in_the_same_instant() {
    // The meta-scheduler either knows that the site releases them, or has to ask.
    for system in [r#""reservation""#, r#"["batch", "reservation"]"#] {
        let (rows, all) = reserved(&AT_ONCE.replace("SYSTEM", system));
        assert!(rows[1].contains(",accepted,"), "{system}: {rows:?}");
        assert_eq!((&all["accepted"], &all["cancelled"]), (&2.into(), &1.into()), "{system}: {all}");
    }
}

/// Alone at its site, or as a guest of a queue, the meta-scheduler plans around the site's reserved nodes.
#[test]
fn nothing_is_booked_on_reserved_nodes_of_a_site() {
    for system in [r#""reservation""#, r#"["batch", "reservation"]"#] {
        let window = "cores = 2\nreserved = [{ from = \"8 s\", until = \"20 s\", nodes = \"1\" }]";
        let text = AT_ONCE.replace("SYSTEM", system).replace("cores = 2", window);
        let (rows, _) = reserved(&text.replace("nodes = 2\n", "nodes = 2\ndeadline = \"40 s\"\n"));
        let start = |row: &str| row.split(',').nth(10).map(str::to_owned);
        assert_eq!(
            rows.iter().map(|row| start(row)).collect::<Vec<_>>(),
            [Some("20".to_owned()), Some("20".to_owned())],
            "{rows:?}"
        );
    }
}

/// On one node of two, 40 of 100 s are saved 10 s before the node fails: 60 s are booked anew, with a checkpoint.
#[test]
fn a_slowdown_counts_to_the_end_of_the_last_booking() {
    let (rows, all) = reserved(
        r#"
name = "moved"
[reservation]
policy = "ff"
[[site]]
name = "york"
cores = 2
[[failure]]
site = "york"
nodes = "0"
at = "60 s"
for = "1000 s"
[recovery]
checkpoint = { every = "40 s", cost = "10 s" }
[[user]]
name = "ann"
[[workload]]
source = "requests"
[[workload.request]]
duration = "100 s"
deadline = "500 s"
nodes = 1
[[workload.request]]
arrive = "400 s"
duration = "100 s"
deadline = "900 s"
nodes = 1
"#,
    );
    let slowdowns: Vec<&str> = rows.iter().map(|row| row.split(',').nth(13).unwrap()).collect();
    assert_eq!((slowdowns, &all["slowdown"]), (vec!["1.3", "1.2"], &1.25.into()), "{rows:?}");
}

#[test]
fn nodes_that_waited_for_late_input_were_not_given_back_early() {
    // Both share the link, so their input arrives 20 s later than it would alone.
    let (rows, all) = reserved(
        r#"
name = "late"
[reservation]
policy = "ff"
[[site]]
name = "york"
cores = 2
[[site]]
name = "leeds"
cores = 1
[network]
[[link]]
name = "trunk"
capacity = "8 Mbps"
between = ["york", "leeds"]
[[user]]
name = "alice"
[[workload]]
source = "requests"
home = "leeds"
input = "20 MB"
[[workload.request]]
arrive = "0 s"
duration = "30 s"
deadline = "60 s"
nodes = 1
[[workload.request]]
duration = "30 s"
deadline = "60 s"
nodes = 1
"#,
    );
    assert_eq!((rows.len(), &all["accepted"], &all["released"]), (2, &2.into(), &0.0.into()), "{all}");
}
