//! What is reserved in advance, as users see it.

use std::path::Path;

use crate::grid::{Scratch, hansa_ok, json};

/// What a run says of each request, and of all.
fn reserved(text: &str) -> (Vec<String>, serde_json::Value) {
    let scratch = Scratch::new();
    let (topology, out) = (scratch.file("grid.toml", text), scratch.path("out"));
    let [run, inline, to] = ["run", "--inline", "--out"].map(Path::new);
    hansa_ok(&[run, inline, &topology, to, &out]);
    let table = std::fs::read_to_string(out.join("reservations.csv")).unwrap();
    let rows = table.lines().skip(1).map(str::to_owned).collect();
    (rows, json(&out.join("summary.json"))["results"]["reservations"].clone())
}

/// A request for the nodes that another one gives back in the same instant.
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
fn what_is_taken_back_makes_room_for_what_is_asked_in_the_same_instant() {
    // Whether the meta-scheduler knows that the site lets go of it, or has to ask.
    for system in [r#""reservation""#, r#"["batch", "reservation"]"#] {
        let (rows, all) = reserved(&AT_ONCE.replace("SYSTEM", system));
        assert!(rows[1].contains(",accepted,"), "{system}: {rows:?}");
        assert_eq!((&all["accepted"], &all["cancelled"]), (&2.into(), &1.into()), "{system}: {all}");
    }
}

#[test]
fn nodes_that_waited_for_late_input_were_not_given_back_early() {
    // Both share the link, so their input comes 20 s later than it would alone.
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
