//! Jobs of queues and reservations whose data crosses links: worked by hand; and errors of their keys.

use super::load_text;
use crate::play::{play, play_checked};
use crate::{Names, Tally};
use hansa_sim::protocol::{Record, ReserveAnswer};
use hansa_sim::systems::reservation::fit;
use hansa_sim::topology::{Roster, Topology};

/// One megabyte per second each way.
const WIRE: &str = r#"[[link]]
name = "wire"
capacity = "8 Mbps"
latency = "2 s"
between = ["york", "bath"]
[[user]]
name = "alice"
"#;

/// Log of a run, with seconds, and its table of transfers. All layouts have equal results if no actor breaks a promise,
/// which a judge checks.
fn play_with_transfers(topology: &Topology) -> (Vec<String>, String) {
    let roster = Roster::of_topology(topology);
    let log = play(topology);
    assert_eq!(play_checked(topology), log);

    let mut tally = Tally::new(topology, &Names::of(topology));
    log.iter().for_each(|entry| tally.add(entry).unwrap());
    assert_eq!(tally.jobs_ended(), topology.jobs());
    let mut table = String::new();
    let put = |bytes: &[u8]| {
        table.push_str(std::str::from_utf8(bytes).unwrap());
        Ok::<(), ()>(())
    };
    tally.transfers_csv(put).unwrap();
    let story = log.iter().filter_map(|entry| {
        let what = match &entry.record {
            Record::Answered { job, answer: ReserveAnswer::Accepted { start, .. }, .. } => {
                format!("{job} is to start at {}", start.seconds())
            }
            Record::Sent { edge, from, to, active, .. } => {
                format!(
                    "{edge} leaves {} for {}, active at {}",
                    roster.names[from.index()],
                    roster.names[to.index()],
                    active.seconds()
                )
            }
            Record::Delivered { edge } => format!("{edge} is there"),
            Record::Started { task, .. } => format!("{task} starts"),
            Record::Finished { task } => format!("{task} ends"),
            Record::Killed { task } => format!("{task} is killed"),
            Record::Withdrawn { task } => format!("{task} is taken back"),
            Record::Completed { job, .. } => format!("{job} is over"),
            Record::Cancelled { job } => format!("{job} is cancelled"),
            Record::Removed { job } => format!("{job} is given up"),
            _ => return None,
        };
        Some(format!("{} s: {what}", entry.stamp.time.seconds()))
    });
    (story.collect(), table)
}

fn queues() -> String {
    format!(
        r#"name = "staged"
[batch]
dispatch = "round-robin"
[[site]]
name = "york"
cores = 4
[[site]]
name = "bath"
cores = 4
{WIRE}[[workload]]
source = "table"
home = "york"
input = "6 MB"
"#
    )
}

/// Jobs go to york and to bath in turn. Inputs share the wire: each of the two takes the 2 s of its latency and 12 s
/// for 6 MB.
const QUEUED: &str = r#"
[[workload.job]]
tasks = [{ runtime = "10 s", cores = 4 }]
output = "3 MB"
[[workload.job]]
tasks = [{ runtime = "10 s", cores = 4 }]
output = "4 MB"
[[workload.job]]
tasks = [{ runtime = "5 s", cores = 1 }]
[[workload.job]]
tasks = [{ runtime = "4 s", cores = 1 }]
[[workload.job]]
arrive = "1 s"
tasks = [{ runtime = "5 s", cores = 1 }]
[[workload.job]]
arrive = "3 s"
tasks = [{ runtime = "2 s", cores = 1 }]
input = 0
"#;

#[test]
fn a_job_joins_the_queue_with_its_input_and_ends_with_its_output_at_home() {
    let topology = load_text(&(queues() + QUEUED), &[]).unwrap();
    let (story, table) = play_with_transfers(&topology);
    assert_eq!(
        story,
        [
            "0 s: 1.home-0 leaves york for bath, active at 2",
            "0 s: 3.home-0 leaves york for bath, active at 2",
            "0 s: 0.0 starts",
            // Without input it goes ahead of jobs that came before it.
            "3 s: 5.0 starts",
            "5 s: 5.0 ends",
            "5 s: 5 is over",
            "10 s: 0.0 ends",
            "10 s: 2.0 starts",
            "10 s: 4.0 starts",
            "10 s: 0 is over",
            "14 s: 1.home-0 is there",
            "14 s: 3.home-0 is there",
            "14 s: 1.0 starts",
            "15 s: 2.0 ends",
            "15 s: 4.0 ends",
            "15 s: 2 is over",
            "15 s: 4 is over",
            "24 s: 1.0 ends",
            "24 s: 3.0 starts",
            "24 s: 1.0-home leaves bath for york, active at 26",
            "28 s: 3.0 ends",
            "28 s: 3 is over",
            "30 s: 1.0-home is there",
            "30 s: 1 is over",
        ]
    );
    let row = |number| table.lines().nth(number).unwrap();
    assert_eq!(row(1), "1,home-0,york,bath,6000000,0,2,14,428571.429,750000.000,1.750");
    assert_eq!(row(3), "1,0-home,bath,york,4000000,24,26,30,666666.667,666666.667,1.000");
    assert_eq!(load_text(&topology.to_toml(), &[]).unwrap(), topology);
}

#[test]
fn without_data_links_change_nothing() {
    let plain = queues().replace("home = \"york\"\ninput = \"6 MB\"\n", "");
    let jobs = QUEUED.lines().filter(|line| !line.contains("put ="));
    let jobs: String = jobs.map(|line| format!("{line}\n")).collect();
    let wire = WIRE.split("[[user]]").next().unwrap();
    let linked = load_text(&format!("{plain}{jobs}"), &[]).unwrap();
    let alone = load_text(&format!("{plain}{jobs}").replace(wire, ""), &[]).unwrap();
    assert!(linked.cables.is_some() && alone.cables.is_none());
    assert_eq!(play(&linked), play(&alone));
}

#[test]
fn an_impatient_user_gets_a_job_back_when_its_data_has_arrived() {
    let text = queues().replace("dispatch = \"round-robin\"", "dispatch = \"first\"");
    let text = text.replace("name = \"york\"\ncores = 4", "name = \"york\"\ncores = 2");
    let text = text.replace("name = \"alice\"\n", "name = \"alice\"\nplanner = \"resubmit\"\npatience = \"5 s\"\n");
    // It is three cores wide, so that it goes to bath, and returns there as there is no other site.
    let wide = "[[workload.job]]\ntasks = [{ runtime = \"10 s\", cores = 3 }]\n";
    let (story, _) = play_with_transfers(&load_text(&format!("{text}{wide}"), &["user.alice.tries=1"]).unwrap());
    assert_eq!(
        story,
        [
            "0 s: 0.home-0 leaves york for bath, active at 2",
            "8 s: 0.home-0 is there",
            "8 s: 0.0 is taken back",
            "8 s: 0.home-0 leaves york for bath, active at 10",
            "16 s: 0.home-0 is there",
            "16 s: 0.0 starts",
            "26 s: 0.0 ends",
            "26 s: 0 is over",
        ]
    );
}

/// York is too small for any of these; a message to bath takes a second. Data that is alone on the wire arrives after 8
/// s.
fn reserved(system: &str, requests: &str) -> String {
    let site = |name: &str, rest: &str| format!("[[site]]\nname = \"{name}\"\n{rest}\n{system}");
    let york = site("york", "cores = 1");
    let bath = site("bath", "cores = 8\nlatency = \"1 s\"");
    format!(
        "name = \"staged\"\n{}[reservation]\npolicy = \"ff\"\n{york}{bath}{WIRE}[[workload]]\nsource = \"requests\"\n\
         home = \"york\"\ninput = \"6 MB\"\n{requests}",
        if system.is_empty() { "" } else { "[batch]\n" }
    )
}

/// The third job has no data, and arrives while the second one's data is still far away.
const MIXED: &str = r#"
[[workload.request]]
duration = "1000 s"
deadline = "1 h"
nodes = 8
input = 0
[[workload.request]]
arrive = "1 s"
duration = "10 s"
deadline = "1 h"
nodes = 2
input = "2 GB"
[[workload.request]]
arrive = "2 s"
duration = "10 s"
deadline = "1 h"
nodes = 2
input = 0
"#;

#[test]
fn jobs_that_wait_for_data_take_nothing_from_earlier_ones() {
    for system in ["", "system = [\"reservation\", \"batch\"]\n"] {
        for fit in fit::ALL {
            let text = reserved(system, MIXED).replace("\"ff\"", &format!("{:?}", fit.name));
            let (story, _) = play_with_transfers(&load_text(&text, &[]).unwrap());
            let start = |job: u32| {
                let words = format!("{job} is to start at ");
                let start = story.iter().find_map(|line| line.split_once(&words)).map(|(_, start)| start);
                start.unwrap_or_else(|| panic!("{}: {job} has no start: {story:?}", fit.name)).parse::<f64>().unwrap()
            };
            // After the message, 2 s of latency and 2,000 s of data.
            assert_eq!(start(0), 1.0);
            assert!(start(1) >= 2004.0 && start(2) >= 1001.0, "{}: {story:?}", fit.name);
            if fit.name == "ff" {
                assert_eq!(start(2), 1001.0);
            }
        }
    }
}

const REQUESTS: &str = r#"
[[workload.request]]
duration = "10 s"
deadline = "1 h"
nodes = 2
output = "3 MB"
[[workload.request]]
arrive = "100 s"
duration = "10 s"
deadline = "1 h"
runtime = "4 s"
nodes = 2
[[workload.request]]
arrive = "102 s"
duration = "10 s"
deadline = "1 h"
nodes = 2
[[workload.request]]
arrive = "200 s"
duration = "2 s"
deadline = "1 h"
nodes = 2
[[workload.request]]
arrive = "202 s"
duration = "10 s"
deadline = "1 h"
runtime = "1 s"
nodes = 2
[[workload.request]]
arrive = "300 s"
duration = "10 s"
deadline = "1 h"
nodes = 2
cancel = "303 s"
"#;

#[test]
fn a_reservation_begins_when_its_input_can_arrive_and_loses_the_time_by_which_it_is_late() {
    let topology = load_text(&reserved("", REQUESTS), &[]).unwrap();
    let (story, _) = play_with_transfers(&topology);
    assert_eq!(
        story,
        [
            // 8 s for the data, one for the message to bath; after the end one for the message back.
            "0 s: 0 is to start at 9",
            "0 s: 0.home-0 leaves york for bath, active at 2",
            "8 s: 0.home-0 is there",
            "9 s: 0.0 starts",
            "19 s: 0.0 ends",
            "20 s: 0.0-home leaves bath for york, active at 22",
            "25 s: 0.0-home is there",
            "25 s: 0 is over",
            // Two share the wire from 104 on, so each arrives later than it could have.
            "100 s: 1 is to start at 109",
            "100 s: 1.home-0 leaves york for bath, active at 102",
            "102 s: 2 is to start at 111",
            "102 s: 2.home-0 leaves york for bath, active at 104",
            "112 s: 1.home-0 is there",
            "113 s: 1.0 starts",
            "114 s: 2.home-0 is there",
            "115 s: 2.0 starts",
            "117 s: 1.0 ends",
            "118 s: 1 is over",
            // Its ten seconds were booked from 111 on.
            "121 s: 2.0 is killed",
            "122 s: 2 is over",
            "200 s: 3 is to start at 209",
            "200 s: 3.home-0 leaves york for bath, active at 202",
            "202 s: 4 is to start at 211",
            "202 s: 4.home-0 leaves york for bath, active at 204",
            // The message would arrive at bath two seconds after its time is over.
            "212 s: 3.home-0 is there",
            "212 s: 3.0 is taken back",
            "212 s: 3 is given up",
            "214 s: 4.home-0 is there",
            "215 s: 4.0 starts",
            "216 s: 4.0 ends",
            "217 s: 4 is over",
            // The data of a cancelled job is not stopped.
            "300 s: 5 is to start at 309",
            "300 s: 5.home-0 leaves york for bath, active at 302",
            "303 s: 5 is cancelled",
            "308 s: 5.home-0 is there",
        ]
    );
    assert_eq!(load_text(&topology.to_toml(), &[]).unwrap(), topology);
}

/// If bath has a queue too, it is asked first, and the data is sent two seconds later, after its answer.
#[test]
fn a_site_with_a_queue_keeps_nodes_for_a_job_whose_input_is_late() {
    let system = "system = [\"batch\", \"reservation\"]\n";
    let (story, _) = play_with_transfers(&load_text(&reserved(system, REQUESTS), &[]).unwrap());
    assert_eq!(
        story,
        [
            "2 s: 0 is to start at 11",
            "2 s: 0.home-0 leaves york for bath, active at 4",
            "10 s: 0.home-0 is there",
            "11 s: 0.0 starts",
            "21 s: 0.0 ends",
            "22 s: 0.0-home leaves bath for york, active at 24",
            "27 s: 0.0-home is there",
            "27 s: 0 is over",
            "102 s: 1 is to start at 111",
            "102 s: 1.home-0 leaves york for bath, active at 104",
            "104 s: 2 is to start at 113",
            "104 s: 2.home-0 leaves york for bath, active at 106",
            "114 s: 1.home-0 is there",
            "115 s: 1.0 starts",
            "116 s: 2.home-0 is there",
            "117 s: 2.0 starts",
            "119 s: 1.0 ends",
            "120 s: 1 is over",
            "123 s: 2.0 is killed",
            "124 s: 2 is over",
            "202 s: 3 is to start at 211",
            "202 s: 3.home-0 leaves york for bath, active at 204",
            "204 s: 4 is to start at 213",
            "204 s: 4.home-0 leaves york for bath, active at 206",
            "214 s: 3.home-0 is there",
            "214 s: 3.0 is taken back",
            "214 s: 3 is given up",
            "216 s: 4.home-0 is there",
            "217 s: 4.0 starts",
            "218 s: 4.0 ends",
            "219 s: 4 is over",
            "302 s: 5 is to start at 311",
            "302 s: 5.home-0 leaves york for bath, active at 304",
            "305 s: 5 is cancelled",
            "310 s: 5.home-0 is there",
        ]
    );
}

/// While the nodes of a reservation wait for its input, nothing else runs on them; the queue gets them back once it is
/// given up.
#[test]
fn the_queue_stays_off_nodes_that_wait_for_data() {
    let system = "system = [\"batch\", \"reservation\"]\n";
    let request = |arrive: u32, duration: u32| {
        format!(
            "[[workload.request]]\narrive = \"{arrive} s\"\nduration = \"{duration} s\"\ndeadline = \"1 h\"\nnodes = 8\n"
        )
    };
    // The first one is to start at 11 and gets its input at 14, so that its time is over before the message arrives.
    let queue = "[[workload]]\nsource = \"table\"\n[[workload.job]]\narrive = \"9 s\"\ntasks = [{ runtime = \"3 s\", cores = 8 }]\n";
    let small = request(2, 100).replace("nodes = 8", "nodes = 2");
    let text = reserved(system, &format!("{}{small}{queue}", request(0, 3)));
    let (story, _) = play_with_transfers(&load_text(&text, &[]).unwrap());
    let of = |job: &str| story.iter().filter(|line| line.contains(job)).cloned().collect::<Vec<_>>();
    assert_eq!(of(": 0 "), ["2 s: 0 is to start at 11", "14 s: 0 is given up"]);
    assert_eq!(of(": 1 "), ["4 s: 1 is to start at 14", "115 s: 1 is over"]);
    // It would end at 13 if it reached bath at 10, and has to avoid both.
    assert_eq!(of(": 2.0 "), ["114 s: 2.0 starts", "117 s: 2.0 ends"]);
}

/// If nodes are only counted, queued jobs may be on those of a booking until it begins, which may be when its input
/// arrives.
#[test]
fn jobs_make_way_for_a_booking_whose_input_arrives_as_it_begins() {
    for scheduler in ["fcfs", "fcfs-count", "easy-count", "conservative-count", "slotlist"] {
        for seed in 1..=12 {
            let text = format!(
                "name = \"late\"\nseed = {seed}\n[batch]\n[reservation]\n[[site]]\nname = \"york\"\ncores = 1\nsystem = \"batch\"\n\
                 [[site]]\nname = \"bath\"\ncores = 8\nlatency = \"5 ms\"\nsystem = [\"batch\", \"reservation\"]\n\
                 scheduler = \"{scheduler}\"\n{WIRE}[[workload]]\nsource = \"lublin\"\njobs = 13\nnodes = 8\n[[workload]]\n\
                 source = \"reservations\"\nrequests = 7\nnodes = 8\nhome = \"york\"\ninput = \"1 GB\"\n"
            );
            play_with_transfers(&load_text(&text, &[]).unwrap());
        }
    }
}

#[test]
fn errors_of_data_are_reported() {
    let fine = queues() + QUEUED;
    let none = fine.replace(WIRE, "[[user]]\nname = \"alice\"\n");
    let market = "name = \"m\"\n[[site]]\nname = \"york\"\ncores = 4\n[[user]]\nname = \"alice\"\n[[workload]]\n\
                  source = \"table\"\ninput = \"1 GB\"\n[[workload.job]]\ntasks = [{ runtime = \"1 min\", cores = 1 }]\n";
    for (text, expected) in [
        (none.as_str(), "data needs links, but this topology has none"),
        (market, "data of whole jobs is moved only under a [batch] or a [reservation]: leave this out"),
        (&fine.replace("home = \"york\"\n", ""), "workload.0.home: missing: expected the site where the data"),
        (&fine.replace("home = \"york\"\n", "home = \"yorc\"\n"), "did you mean `york`?"),
        (&fine.replace("\"6 MB\"", "\"6 M\""), "expected a volume such as \"2 GB\""),
        (&fine.replace("\"6 MB\"", "\"9100 TB\""), "expected a volume such as \"2 GB\", up to 9007199254740992 bytes"),
        (&fine.replace("\"4 MB\"", "-4"), "expected a number of bytes, or a text such as \"2 GB\""),
        (&fine.replace("input = 0", "inputs = 0"), "did you mean `input`"),
    ] {
        let message = load_text(text, &[]).map(drop).unwrap_err().to_string();
        assert!(message.contains(expected), "{expected}: {message}");
    }
    // More than the slowest link carries in a thousand years.
    let endless = load_text(&fine.replace("\"6 MB\"", "\"9000 TB\"").replace("8 Mbps", "1 bps"), &[]).unwrap();
    let message = hansa_sim::topology::check_jobs(&endless).unwrap_err().to_string();
    assert!(message.contains("job 0: all data up to here would take more than a thousand years"), "{message}");
}
