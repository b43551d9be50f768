//! Failures in topologies.

use super::meeting::run;
use super::*;
use hansa_sim::grid::{Every, FailurePattern, FailureTarget, Interrupted, Killed, NodeSet, Per};
use hansa_sim::kernel::Entry;
use hansa_sim::protocol::Record;
use hansa_sim::time::{Span, Time};

const GRID: &str = r#"name = "fragile"
[batch]
[[site]]
name = "york"
cores = 8
[[site]]
name = "leeds"
cores = 4
scheduler = "fcfs"
#
[[user]]
name = "alice"
[[workload]]
source = "lublin"
jobs = 3
nodes = 4
"#;

fn with(failures: &str) -> Result<Topology, String> {
    let text = GRID.replace('#', failures);
    let trace: &[u8] = b"component,down,up\na,10,20\nb,5,30\na,40,41.5\n";
    let files = [("grid.toml", text.as_bytes()), ("trace.csv", trace), ("bad.csv", b"a,1\n")];
    load_files(&files, &[]).map(|loaded| loaded.topology).map_err(|diagnostics| diagnostics.to_string())
}

/// A trace may be long, and many failures may name it.
#[test]
fn a_trace_with_many_names_is_read_once() {
    let text = GRID.replace('#', &"[[failure]]\nsite = \"york\"\ntrace = \"trace.csv\"\n".repeat(3));
    let mut read = Vec::new();
    let Loaded { topology, inputs, .. } = read_topology("grid.toml", &[], &mut |path| {
        read.push(path.to_owned());
        Ok(if path == "grid.toml" { text.clone().into_bytes() } else { b"component,down,up\na,10,20\n".to_vec() })
    })
    .unwrap();
    assert_eq!(topology.failures.len(), 3);
    assert_eq!(read, ["grid.toml", "trace.csv"]);
    assert_eq!(inputs.iter().map(|input| &input.path).collect::<Vec<_>>(), ["grid.toml", "trace.csv"]);
}

#[test]
fn failures_have_their_settings() {
    let topology = with(
        "[[failure]]\nsite = \"york\"\nnodes = 3\nmtbf = \"2 d\"\nmttr = \"1 h\"\ndistribution = \"weibull\"\nshape = 0.7\n\
         [[failure]]\nsite = \"leeds\"\nat = \"1 h\"\nfor = \"5 min\"\nannounced = false\n\
         [[failure]]\nsite = \"york\"\nnodes = \"1 4-5\"\nmtbf = \"9 h\"\nmttr = \"1 s\"\nper = \"site\"\nshare = 0.5\n\
         [[failure]]\nsite = \"york\"\ntrace = \"trace.csv\"\n\
         [recovery]\nkilled = \"tail\"\nattempts = 3\ncheckpoint = { every = \"0.5 young\", cost = \"20 s\" }\n",
    )
    .unwrap();
    let nodes = |number: usize| match &topology.failures[number].what {
        FailureTarget::Nodes { site, nodes } => (*site, nodes.to_string()),
        FailureTarget::Link(_) => panic!("no link fails"),
    };
    assert_eq!(
        [0, 1, 2, 3].map(nodes),
        [(0, "0-2"), (1, "0-3"), (0, "1 4-5"), (0, "0-7")].map(|(site, nodes)| (site, nodes.to_owned()))
    );
    let hour = Time::ZERO + Span::from_secs(3600);
    assert_eq!(topology.failures[1].pattern, FailurePattern::Once { at: hour, lasts: Span::from_minutes(5) });
    assert_eq!([0, 1].map(|number| topology.failures[number].announced), [true, false]);
    let FailurePattern::Drawn(drawn) = topology.failures[2].pattern else { panic!("it is drawn") };
    assert_eq!((drawn.per, drawn.share_millionths, drawn.mttr), (Per::Site, 500_000, Span::from_secs(1)));
    let FailurePattern::Traced(trace) = &topology.failures[3].pattern else { panic!("it is in a trace") };
    let outages: Vec<String> =
        trace.iter().map(|one| format!("{} {}-{}", one.component, one.down.seconds(), one.up.seconds())).collect();
    assert_eq!(outages, ["1 5-30", "0 10-20", "0 40-41.5"]);
    assert_eq!((topology.recovery.killed, topology.recovery.attempts), (Killed::Tail, 3));
    assert_eq!(topology.recovery.checkpoint.unwrap().every, Every::Young(500_000));

    // The resolved topology contains the trace, so that it is complete.
    let text = topology.to_toml();
    let again = load_text(&text, &[]).unwrap_or_else(|diagnostics| panic!("{diagnostics}\n{text}"));
    assert_eq!((&again, again.hash()), (&topology, topology.hash()), "{text}");
}

#[test]
fn each_table_and_node_fails_independently() {
    let drawn = "[[failure]]\nsite = \"york\"\nmtbf = \"1 h\"\nmttr = \"1 min\"\n";
    let outages = |text: &str| {
        let topology = with(text).unwrap();
        topology.failing().site(0).unwrap().outages.advance(Time::ZERO + Span::from_secs(100_000))
    };
    let alone = outages(drawn);
    let of = |changes: &[hansa_sim::grid::Change], node: u32| -> Vec<(Time, bool)> {
        let its = changes.iter().filter(|change| change.nodes.contains(&NodeSet::from_run(node, node)));
        its.map(|change| (change.at, change.is_up)).collect()
    };
    assert_ne!(of(&alone, 0), of(&alone, 1));
    // Fewer nodes leave the failures of the others unchanged, and so do further tables.
    let fewer = outages(&drawn.replace("\nmtbf", "\nnodes = \"1-2\"\nmtbf"));
    assert_eq!(of(&alone, 1), of(&fewer, 1));
    let beside =
        outages(&format!("{drawn}[[failure]]\nsite = \"york\"\nnodes = \"5\"\nmtbf = \"1 h\"\nmttr = \"1 min\"\n"));
    assert_eq!(of(&alone, 1), of(&beside, 1));
    assert_ne!(of(&alone, 5), of(&beside, 5));
}

#[test]
fn sites_without_checkpoints_by_youngs_interval_are_named() {
    let fail = |site: &str, how: &str| format!("[[failure]]\nsite = \"{site}\"\n{how}\n");
    let drawn = fail("york", "mtbf = \"1 h\"\nmttr = \"1 min\"");
    let checkpoint = |every: &str| format!("[recovery]\ncheckpoint = {{ every = \"{every}\", cost = \"9 s\" }}\n");
    let warnings = |text: String| with(&text).unwrap().warnings();
    for how in ["at = \"1 h\"\nfor = \"1 h\"", "trace = \"trace.csv\""] {
        let printed = warnings(format!("{drawn}{}{}", fail("leeds", how), checkpoint("0.5 young")));
        assert!(
            printed.len() == 1 && printed[0].starts_with("site leeds: tasks make no checkpoints there"),
            "{printed:?}"
        );
        assert_eq!(warnings(format!("{drawn}{}{}", fail("leeds", how), checkpoint("9 min"))), [""; 0]);
        assert_eq!(warnings(format!("{drawn}{}{}", fail("york", how), checkpoint("young"))), [""; 0]);
    }
}

#[test]
fn nonsense_is_reported_with_its_place() {
    let mut text = String::new();
    let faults = [
        "[[failure]]\nsite = \"yrok\"\nat = \"1 h\"\nfor = \"1 h\"",
        "[[failure]]\nat = \"1 h\"\nfor = \"1 h\"",
        "[[failure]]\nsite = \"york\"",
        "[[failure]]\nsite = \"york\"\nat = \"1 h\"",
        "[[failure]]\nsite = \"york\"\nat = \"1 h\"\nfor = \"1 h\"\nmtbf = \"1 h\"",
        "[[failure]]\nsite = \"york\"\nmtbf = \"1 ms\"\nmttr = \"1 h\"",
        "[[failure]]\nsite = \"york\"\nmtbf = \"1 h\"",
        "[[failure]]\nsite = \"york\"\nmtbf = \"1 h\"\nmttr = \"1 h\"\nshape = 2.0",
        "[[failure]]\nsite = \"york\"\nmtbf = \"1 h\"\nmttr = \"1 h\"\nshare = 0.5",
        "[[failure]]\nsite = \"york\"\nmtbf = \"1 h\"\nmttr = \"1 h\"\ndistribution = \"wiebull\"",
        "[[failure]]\nsite = \"leeds\"\nnodes = \"2-4\"\nat = \"1 h\"\nfor = \"1 h\"",
        "[[failure]]\nsite = \"leeds\"\nnodes = 5\nat = \"1 h\"\nfor = \"1 h\"",
        "[[failure]]\nsite = \"york\"\ntrace = \"none.csv\"",
        "[[failure]]\nsite = \"york\"\ntrace = \"bad.csv\"",
        "[[failure]]\nsite = \"york\"\ntrace = \"trace.csv\"\nat = \"1 h\"\nfor = \"1 h\"",
        "[recovery]\nkilled = \"tail\"",
        "[[failure]]\nsite = \"york\"\nat = \"1 h\"\nfor = \"1 h\"\n[recovery]\ncheckpoint = { every = \"young\", cost = \"9 s\" }",
        "[[failure]]\nsite = \"york\"\nmtbf = \"1 h\"\nmttr = \"1 h\"\n[recovery]\ncheckpoint = { every = \"old\", cost = \"9 s\" }",
        "[[failure]]\nsite = \"york\"\nmtbf = \"1 h\"\nmttr = \"1 h\"\n[recovery]\ncheckpoint = { every = \"young\", cost = 0 }",
        "[[failure]]\nlink = \"trnk\"\nat = \"1 h\"\nfor = \"1 h\"",
        "[[failure]]\nlink = \"trunk\"\nat = \"1 h\"\nfor = \"1 h\"\nannounced = false",
        "[[failure]]\nlink = \"trunk\"\nmtbf = \"1 h\"\nmttr = \"1 h\"\nper = \"site\"",
        "[[failure]]\nlink = \"trunk\"\nat = \"1 h\"\nfor = \"1 h\"\n[recovery]\nkilled = \"tail\"\nattempts = 2",
        "[[failure]]\nlink = \"trunk\"\nat = \"1 h\"\nfor = \"1 h\"\n[recovery]\ndata = \"re-route\"",
        "[[failure]]\nsite = \"york\"\nat = \"1 h\"\nfor = \"1 h\"\n[recovery]\ndata = \"wait\"",
    ];
    for fault in faults {
        let links = if fault.contains("link =") { LINKS } else { "" };
        let diagnostic = with(&format!("{links}{fault}\n")).unwrap_err();
        text.push_str(&format!("{fault}\n\n{diagnostic}\n\n----\n\n"));
    }
    golden("failures.txt", &text);
}

const LINKS: &str = "[[link]]\nname = \"trunk\"\ncapacity = \"1 Gbps\"\nbetween = [\"york\", \"leeds\"]\n\
                     [[link]]\nname = \"tail\"\ncapacity = \"1 Gbps\"\nbetween = [\"york\", \"leeds\"]\n";

#[test]
fn outages_of_a_trace_that_overlap_are_noted() {
    let text = format!("{FINE}[[failure]]\nsite = \"york\"\ntrace = \"trace.csv\"\n");
    let note = |trace: &str| {
        let files = [("grid.toml", text.as_bytes()), ("trace.csv", trace.as_bytes())];
        load_files(&files, &[]).unwrap().notes
    };
    let notes = note("a,10,50\na,40,60\n");
    assert!(notes.len() == 1 && notes[0].starts_with("trace.csv: 1 outage begins while"), "{notes:?}");
    assert!(note("a,10,50\na,50,60\n").is_empty());
}

#[test]
fn a_link_fails_and_its_data_follows_the_rule() {
    let text = "[[failure]]\nlink = \"tail\"\ntrace = \"trace.csv\"\n[[failure]]\nlink = \"trunk\"\nmtbf = \"1 h\"\n\
                mttr = \"9 s\"\nrepair_distribution = \"lognormal\"\n[recovery]\ndata = \"reroute\"\n";
    let topology = with(&format!("{LINKS}{text}")).unwrap();
    assert_eq!(topology.failing_links().into_iter().collect::<Vec<_>>(), [0, 1]);
    assert_eq!(topology.recovery.data, Interrupted::Reroute);
    assert_eq!(topology.warnings(), Vec::<String>::new());
    let text = topology.to_toml();
    assert!(!text.contains("killed"), "nothing is said of tasks:\n{text}");
    let again = load_text(&text, &[]).unwrap_or_else(|diagnostics| panic!("{diagnostics}\n{text}"));
    assert_eq!((&again, again.hash()), (&topology, topology.hash()), "{text}");

    // All directions of a link fail together, and other links do not.
    let links = hansa_sim::topology::link_names(&topology);
    assert_eq!(topology.cables.as_ref().unwrap().by_link().len(), links.len());
    assert_ne!(topology.failing().link(0).unwrap().next(), topology.failing().link(1).unwrap().next());
}

#[test]
fn rerouting_without_a_detour_is_warned_of() {
    let text = "[[failure]]\nlink = \"trunk\"\nat = \"1 h\"\nfor = \"9 s\"\n[recovery]\ndata = \"reroute\"\n";
    let (one, _) = LINKS.split_at(LINKS.rfind("[[link]]").unwrap());
    let warnings = |links: &str| with(&format!("{links}{text}")).unwrap().warnings();
    assert_eq!(warnings(LINKS), Vec::<String>::new());
    assert_eq!(
        warnings(one),
        ["recovery.data = \"reroute\": there is no way around any of the links that fail, so data waits"]
    );
    // An explicit route may have a detour.
    let named = "[[link]]\nname = \"aside\"\ncapacity = \"1 Gbps\"\n\
                 [[route]]\nfrom = \"york\"\nto = \"leeds\"\nlinks = [\"aside\"]\n";
    let aside = text.replace("trunk", "aside");
    let load = |links: &str| with(&format!("{links}{named}{aside}")).unwrap().warnings();
    assert_eq!(load(one), Vec::<String>::new());
}

#[test]
fn systems_without_support_for_failures_refuse_them() {
    let failure = "[[failure]]\nsite = \"york\"\nat = \"1 h\"\nfor = \"1 h\"\n";
    let refused = |text: String, why: &str| {
        let diagnostics = load_text(&text, &[]).map(|_| ()).unwrap_err().to_string();
        assert!(diagnostics.contains(why), "{diagnostics}");
    };
    let grid = |system: &str, source: &str| {
        GRID.replace("[batch]", system)
            .replace("scheduler = \"fcfs\"", "")
            .replace('#', failure)
            .replace("source = \"lublin\"\njobs = 3\nnodes = 4", source)
    };
    let lublin = "source = \"lublin\"\njobs = 3\nnodes = 4";
    let both =
        grid("[batch]\n[reservation]", lublin).replace("cores = 8", "cores = 8\nsystem = [\"batch\", \"reservation\"]");
    let both = both.replace("cores = 4", "cores = 4\nsystem = \"batch\"");
    let theirs = load_text(&format!("{both}[recovery]\nbookings = \"break\"\n"), &[]);
    assert!(theirs.is_ok_and(|topology| topology.failing().site(0).is_some()));
    let books = GRID.replace('#', &format!("{failure}[recovery]\nbookings = \"break\"\ncompensation = 0.5"));
    let none_books = "expected a [[failure]] of a site whose system books nodes for a later time";
    refused(books, none_books);
    // There is one, but the failing nodes are of other sites.
    let promises = "[recovery]\nbookings = \"break\"\ncompensation = 0.5\n";
    let beside = grid("[batch]\n[reservation]", lublin)
        .replace("cores = 8", "cores = 8\nsystem = \"batch\"")
        .replace("cores = 4", "cores = 4\nsystem = \"reservation\"")
        .replace("[[failure]]", &format!("{promises}[[failure]]"));
    for key in ["bookings", "compensation"] {
        refused(beside.clone(), &format!("recovery.{key}: {none_books}"));
    }
    let theirs = load_text(&beside.replace("[[failure]]\nsite = \"york\"", "[[failure]]\nsite = \"leeds\""), &[]);
    assert!(theirs.is_ok(), "{:?}", theirs.err().map(|faults| faults.to_string()));
    let bargains = load_text(&grid("[provisioning]", lublin), &[]);
    assert!(bargains.is_ok_and(|topology| topology.failing().site(0).is_some()));
    let shared = grid("[batch]", lublin).replace("cores = 8", "cores = 8\nscheduler = \"/per\"");
    assert!(load_text(&shared, &[]).is_ok_and(|topology| topology.failing().site(0).is_some()));
    let outside = "cores = 8\nscheduler = \"batsim\"\ncommand = [\"batsched\"]";
    let why = "the nodes of york cannot fail: Batsim's protocol has no message for a job that is lost";
    refused(grid("[batch]", lublin).replace("cores = 8", outside), why);
    let external = grid("[batch]", lublin).replace("cores = 8", &outside.replace("\"batsim\"", "\"external\""));
    let external = load_text(&external, &[]);
    assert!(external.is_ok_and(|topology| topology.failing().site(0).is_some()));
    let reserved = "cores = 8\nreserved = [{ from = \"1 h\", until = \"2 h\", nodes = \"0\" }]";
    let kept = load_text(&grid("[batch]", lublin).replace("cores = 8", reserved), &[]);
    assert!(kept.is_ok_and(|topology| topology.failing().site(0).is_some() && !topology.sites[0].reserved.is_empty()));
}

/// Events of the jobs of a topology, with times in seconds.
fn story(text: &str, settings: &[&str]) -> Vec<String> {
    let topology = load_text(text, settings).unwrap();
    let event_words = |entry: Entry<Record>| {
        let what = match entry.record {
            Record::Started { task, .. } => format!("{task} starts"),
            Record::Lost { task, .. } => format!("{task} is lost"),
            Record::Completed { job, .. } => format!("{job} is over"),
            _ => return None,
        };
        Some(format!("{} s: {what}", entry.stamp.time.seconds()))
    };
    run(&topology).into_iter().filter_map(event_words).collect()
}

/// If messages take no time, a job is back at its site before the site has handled its loss.
#[test]
fn a_job_that_comes_back_at_once_to_shared_nodes_is_not_dropped() {
    let text = "name = \"back\"\n[batch]\n[[site]]\nname = \"york\"\ncores = 4\n[[failure]]\nsite = \"york\"\nnodes = \"0\"\n\
                at = \"10 min\"\nfor = \"10 min\"\n[recovery]\nkilled = \"back\"\n[[user]]\nname = \"alice\"\n[[workload]]\n\
                source = \"table\"\n[[workload.job]]\ntasks = [{ runtime = \"1 h\", cores = 1 }]\n";
    // Repacking schedulers move it back once node 0 is up, which takes 300 s.
    let stays = [("Greedy *", 4200), ("GreedyP *", 4200), ("easy", 4200)];
    let moves = [("GreedyPM */per", 4500), ("MCB8 *", 4500), ("MCB8 */per", 4500)];
    for (scheduler, end) in stays.into_iter().chain(moves) {
        let story = story(text, &[&format!("site.york.scheduler={scheduler:?}")]);
        assert_eq!(story[..3], ["0 s: 0.0 starts", "600 s: 0.0 is lost", "600 s: 0.0 starts"], "{scheduler}");
        assert_eq!(story[3..], [format!("{end} s: 0 is over")], "{scheduler}");
    }
}

/// Job 1 is submitted and starts before job 0.
#[test]
fn tasks_lost_together_resume_by_number() {
    let text = "name = \"together\"\n[batch]\n[[site]]\nname = \"york\"\ncores = 2\n[[site]]\nname = \"leeds\"\n\
                cores = 1\n[[failure]]\nsite = \"york\"\nat = \"10 s\"\nfor = \"100 s\"\n[recovery]\nkilled = \"back\"\n\
                [[user]]\nname = \"alice\"\n[[workload]]\nsource = \"table\"\n[[workload.job]]\narrive = \"5 s\"\n\
                tasks = [{ runtime = \"20 s\", cores = 1 }]\n[[workload]]\nsource = \"table\"\n[[workload.job]]\n\
                tasks = [{ runtime = \"20 s\", cores = 1 }]\n";
    for scheduler in ["fcfs", "easy", "easy-count", "conservative", "conservative-count", "slotlist"] {
        let story = story(text, &[&format!("site.york.scheduler={scheduler:?}")]);
        assert_eq!(story[..2], ["0 s: 1.0 starts", "5 s: 0.0 starts"], "{scheduler}");
        let again = ["10 s: 0.0 starts", "30 s: 1.0 starts", "30 s: 0 is over", "50 s: 1 is over"];
        assert_eq!(story[4..], again, "{scheduler}");
    }
}

/// The output leaves from bath, 1 MB per second after 2 s.
#[test]
fn a_job_that_has_brought_no_data_is_not_bound_to_its_site() {
    let text = "name = \"unbound\"\n[batch]\n[[site]]\nname = \"york\"\ncores = 1\n[[site]]\nname = \"bath\"\ncores = 1\n\
                [[link]]\nname = \"wire\"\ncapacity = \"1 MB/s\"\nlatency = \"2 s\"\nbetween = [\"york\", \"bath\"]\n\
                [[failure]]\nsite = \"york\"\nat = \"5 s\"\nfor = \"100 s\"\n[recovery]\nkilled = \"back\"\n\
                [[user]]\nname = \"alice\"\n[[workload]]\nsource = \"table\"\nhome = \"york\"\n#\n\
                [[workload.job]]\ntasks = [{ runtime = \"10 s\", cores = 1 }]\n";
    let lost = ["0 s: 0.0 starts", "5 s: 0.0 is lost"];
    let elsewhere = story(&text.replace('#', "output = \"1 MB\""), &[]);
    assert_eq!(elsewhere, [&lost[..], &["5 s: 0.0 starts", "18 s: 0 is over"]].concat());
    let stays = story(&text.replace('#', "input = \"1 MB\""), &[]);
    assert_eq!(stays, [&lost[..], &["105 s: 0.0 starts", "115 s: 0 is over"]].concat());
}

/// Node 2 is expected back at 20 s; from 15 s on the known time is 100 s, so jobs no longer wait for it.
#[test]
fn an_outage_that_begins_under_another_one_is_known_when_it_begins() {
    let text = "name = \"under\"\n[batch]\n[[site]]\nname = \"york\"\ncores = 3\n[[failure]]\nsite = \"york\"\nnodes = \"2\"\n\
                at = \"10 s\"\nfor = \"10 s\"\n[[failure]]\nsite = \"york\"\nnodes = \"2\"\nat = \"15 s\"\nfor = \"85 s\"\n\
                [[user]]\nname = \"alice\"\n[[workload]]\nsource = \"table\"\n\
                [[workload.job]]\narrive = \"11 s\"\ntasks = [{ runtime = \"10 s\", walltime = \"10 s\", cores = 3 }]\n\
                [[workload.job]]\narrive = \"12 s\"\ntasks = [{ runtime = \"30 s\", walltime = \"30 s\", cores = 2 }]\n";
    for scheduler in ["easy", "easy-count", "conservative", "conservative-count", "slotlist"] {
        let story = story(text, &[&format!("site.york.scheduler={scheduler:?}")]);
        assert_eq!(
            story,
            ["15 s: 1.0 starts", "45 s: 1 is over", "100 s: 0.0 starts", "110 s: 0 is over"],
            "{scheduler}"
        );
    }
}

/// Its only other site has no room for it.
#[test]
fn a_reservation_that_is_broken_was_where_it_ran() {
    let text = r#"name = "broken"
[batch]
[reservation]
[[site]]
name = "york"
cores = 3
system = ["batch", "reservation"]
[[site]]
name = "bath"
cores = 2
system = ["batch", "reservation"]
[[failure]]
site = "bath"
at = "5 s"
for = "100 s"
[[user]]
name = "alice"
[[workload]]
source = "table"
system = "batch"
[[workload.job]]
tasks = [{ runtime = "100 s", cores = 3 }]
[[workload]]
source = "requests"
[[workload.request]]
arrive = "1 s"
duration = "10 s"
deadline = "30 s"
nodes = 2
"#;
    let topology = load_text(text, &[]).unwrap();
    let log = run(&topology);
    let of_request = log.iter().filter_map(|entry| match &entry.record {
        Record::Assigned { task, site } if task.job.0 == 1 => {
            Some(hansa_sim::topology::Roster::of_topology(&topology).names[site.index()].clone())
        }
        Record::Broken { job, .. } if job.0 == 1 => Some("broken".to_owned()),
        _ => None,
    });
    assert_eq!(of_request.collect::<Vec<_>>(), ["york", "york", "bath", "york", "york", "bath", "broken"]);
}

/// The second job has the place from 10 to 16 s, the third one from 16 to 20 s; the outage overlaps neither.
#[test]
fn an_outage_does_not_delay_places_that_it_does_not_overlap() {
    for (scheduler, killed, starts) in [
        ("conservative", "lost", [7, 13]),
        ("conservative", "tail", [7, 13]),
        ("conservative-count", "lost", [7, 13]),
        ("conservative-rebuild", "lost", [7, 13]),
    ] {
        let text = format!(
            r#"name = "struck"
[batch]
[[site]]
name = "york"
cores = 2
scheduler = "{scheduler}"
[[failure]]
site = "york"
outages = [{{ component = 0, at = "5 s", for = "2 s" }}]
[recovery]
killed = "{killed}"
[[user]]
name = "alice"
[[workload]]
source = "table"
[[workload.job]]
tasks = [{{ runtime = "10 s", cores = 2 }}]
[[workload.job]]
tasks = [{{ runtime = "6 s", cores = 2 }}]
[[workload.job]]
tasks = [{{ runtime = "4 s", cores = 2 }}]
"#
        );
        let log = run(&load_text(&text, &[]).unwrap());
        let start = |job| {
            let is_start =
                |entry: &&Entry<Record>| matches!(&entry.record, Record::Started { task, .. } if task.job.0 == job);
            log.iter().find(is_start).map(|entry| entry.stamp.time.micros() / 1_000_000)
        };
        assert_eq!([1, 2].map(start), starts.map(Some), "{scheduler}, {killed}");
    }
}

/// Maintenance divides an outage in two. The first part takes the place of the last job, from 8 to 18 s, and the second
/// that of the job before it, from 40 to 55 s; both are replanned in order of the queue.
#[test]
fn jobs_that_give_way_to_an_outage_in_parts_get_places_in_order_of_the_queue() {
    for scheduler in ["conservative", "conservative-rebuild", "conservative-count"] {
        let text = format!(
            r#"name = "parts"
[batch]
[[site]]
name = "york"
cores = 2
scheduler = "{scheduler}"
reserved = [{{ from = "20 s", until = "40 s", nodes = "1" }}]
[[failure]]
site = "york"
nodes = "1"
at = "5 s"
for = "45 s"
[recovery]
killed = "lost"
[[user]]
name = "alice"
[[workload]]
source = "table"
[[workload.job]]
tasks = [{{ runtime = "60 s", cores = 1 }}]
[[workload.job]]
tasks = [{{ runtime = "8 s", cores = 1 }}]
[[workload.job]]
arrive = "1 s"
tasks = [{{ runtime = "15 s", cores = 1 }}]
[[workload.job]]
arrive = "2 s"
tasks = [{{ runtime = "10 s", cores = 1 }}]
"#
        );
        let log = run(&load_text(&text, &[]).unwrap());
        let start = |job| {
            let is_start =
                |entry: &&Entry<Record>| matches!(&entry.record, Record::Started { task, .. } if task.job.0 == job);
            log.iter().find(is_start).map(|entry| entry.stamp.time.micros() / 1_000_000)
        };
        assert_eq!([2, 3].map(start), [50, 60].map(Some), "{scheduler}");
    }
}
