use std::sync::Arc;

use super::chart::Levels;
use super::html::SCRIPT;
use super::*;
use crate::palette::COLOURS;
use crate::subjects::requesting as reservations;
use crate::tests::{ANN, BOB, ROUTER, YORK, golden, manifest, story, table, tally, topology};
use crate::{LiveFacts, Names, RunFacts};
use hansa_sim::grid::{
    Area, BookingId, HoldId, Job, JobId, Kind, Needs, NodeSet, Offer, Part, Rate, Receipt, Reserved, Slot, Task, TaskId,
};
use hansa_sim::kernel::{ActorId, Entry};
use hansa_sim::protocol::{HoldFate, Record, Refusal};
use hansa_sim::systems::Service;
use hansa_sim::systems::batch::Batch;
use hansa_sim::systems::heft::Planning;
use hansa_sim::time::{Span, Stamp, Time};
use hansa_sim::topology::{Site, User, Workload};
use hansa_sim::workload::rigids::{Content, LogFile, Origin, Rigids};
use hansa_sim::workload::{Rigid, Source};

pub fn shown(manifest: &Manifest, topology: &Topology, tally: &Tally) -> String {
    let results = tally.summary(manifest.seed, manifest.status.clone(), "0123456789abcdef".to_owned());
    let run = RunFacts {
        layout: "processes".to_owned(),
        hub_waits: Some(12),
        waits: [("site york".to_owned(), 12)].into(),
        blocked_seconds: [("site york".to_owned(), 0.25), ("user <i>".to_owned(), 0.1)].into(),
        ..RunFacts::default()
    };
    let page =
        String::from_utf8(run_page(manifest, &SummaryFile { results, run }, topology, tally, None, None)).unwrap();
    well_formed(&page);
    page
}

/// Every tag that opens closes, in order; nothing is loaded from anywhere and nothing is run.
fn well_formed(page: &str) {
    let mut open = Vec::new();
    let page = &page.replacen(SCRIPT, "", 1);
    for piece in page.split('<').skip(1) {
        let (tag, _) = piece.split_once('>').expect("a tag ends");
        let name: String = tag.trim_start_matches('/').chars().take_while(|letter| letter.is_alphanumeric()).collect();
        if tag.starts_with('/') {
            assert_eq!(open.pop(), Some(name), "at <{tag}>");
        } else if !tag.starts_with('!') && !tag.ends_with('/') && name != "meta" {
            open.push(name);
        }
    }
    assert!(open.is_empty(), "{open:?}");
    // Patterns are of the page itself.
    let loads = page.replacen("<script>\n</script>", "", 1).replace("url(#", "");
    for never in ["<script", "<img", "<link", "<iframe", "src=", "url(", "http:", "https:", "NaN", "inf\""] {
        assert!(!loads.contains(never), "{never}");
    }
}

/// A class that means something inside of another one means nothing elsewhere.
#[test]
fn no_class_is_styled_both_anywhere_and_inside_of_another_one() {
    let rules = STYLE.split(['{', '}']).flat_map(|rule| rule.split(',')).map(str::trim);
    let (inside, anywhere): (Vec<&str>, Vec<&str>) =
        rules.filter(|rule| rule.starts_with('.')).partition(|rule| rule.contains(' '));
    let inner = inside.iter().filter_map(|rule| rule.rsplit(' ').next()).filter(|name| name.starts_with('.'));
    let twice: Vec<&str> = inner.filter(|name| anywhere.contains(name)).collect();
    assert!(!inside.is_empty() && twice.is_empty(), "{twice:?}");
}

#[test]
fn the_story_as_a_page() {
    let mut manifest = manifest();
    manifest.status = Status::Partial("interrupted at virtual time 01:20:00".to_owned());
    let page = shown(&manifest, &topology(), &tally(&story()));
    let (head, rest) = page.split_once("<style>").unwrap();
    let body = rest.split_once("</style>").unwrap().1.replacen(SCRIPT, "", 1);
    golden("report.html", format!("{head}<style></style>{body}").as_bytes());
    assert!(page.contains("This run is partial:"));
}

#[test]
fn every_beginning_of_the_story_makes_a_page() {
    for end in 0..story().len() {
        shown(&manifest(), &topology(), &tally(&story()[..end]));
    }
}

#[test]
fn whatever_users_name_is_shown_and_never_taken_for_markup() {
    let evil = "</style><script>alert('1')</script>\"><img src=x onerror=\"y\">&\u{0}";
    let mut topology = topology();
    (topology.name, topology.about) = (evil.to_owned(), Some(evil.to_owned()));
    let market = topology.systems[0].settings_mut::<hansa_sim::systems::market::Market>().unwrap();
    market.policy = evil.to_owned();
    let site = &mut topology.sites[0];
    for name in [&mut site.name, &mut site.scheduler, &mut topology.users[0].name] {
        *name = evil.to_owned();
    }
    topology.kinds[1] = evil.to_owned();
    let mut manifest = manifest();
    manifest.status = Status::Partial(evil.to_owned());
    manifest.command = vec![evil.to_owned()];
    for text in [&mut manifest.layout, &mut manifest.version, &mut manifest.topology, &mut manifest.started] {
        *text = evil.to_owned();
    }
    manifest.host.name = evil.to_owned();
    let mut tally = Tally::new(&topology, &Names::of(&topology));
    story().iter().for_each(|entry| tally.add(entry).unwrap());
    let results = tally.summary(7, manifest.status.clone(), evil.to_owned());
    let run = RunFacts { layout: evil.to_owned(), waits: [(evil.to_owned(), 1)].into(), ..RunFacts::default() };
    let page =
        String::from_utf8(run_page(&manifest, &SummaryFile { results, run }, &topology, &tally, None, None)).unwrap();
    assert_eq!(page.matches("</style>").count(), 1);
    let body = page.replacen(&format!("<script>\n{SCRIPT}</script>"), "", 1);
    for never in ["<script", "<img", "\"><img", "\u{0}"] {
        assert!(!body.contains(never), "{never}");
    }
    assert!(page.matches("&lt;script&gt;alert(&#39;1&#39;)").count() > 10);
}

#[test]
fn an_about_without_a_full_stop_is_a_sentence_of_its_own() {
    for (about, expected) in
        [("Three sites", "Three sites. 2 users"), ("Really? ", "Really? 2 users"), ("It is.", "It is. 2 users")]
    {
        let mut topology = topology();
        topology.about = Some(about.to_owned());
        let page = shown(&manifest(), &topology, &tally(&story()));
        let (_, lead) = page.split_once("<p class=\"lead\">").unwrap();
        let users = format!("{} user", topology.users.len());
        assert!(lead.starts_with(&expected.replace("2 user", &users)), "{expected}: {}", &lead[..60]);
    }
}

/// A section of a page.
pub fn section<'p>(page: &'p str, id: &str) -> &'p str {
    let (_, rest) = page.split_once(&format!("<section id=\"{id}\">")).unwrap_or_else(|| panic!("no section {id}"));
    rest.split_once("</section>").unwrap().0
}

/// Cells in the rows of the tables of a piece of a page.
fn cells(html: &str) -> Vec<Vec<&str>> {
    let rows = html.split("<tr>").filter(|row| row.contains("<td"));
    rows.map(|row| {
        let cells = row.split("<td").skip(1);
        cells.map(|cell| cell.split_once('>').unwrap().1.split_once("</td>").unwrap().0).collect()
    })
    .collect()
}

/// The text of a cell that may be a link.
fn link_text(cell: &str) -> &str {
    cell.strip_suffix("</a>").and_then(|link| link.split_once('>')).map_or(cell, |(_, text)| text)
}

#[test]
fn a_reservation_waits_from_its_ready_time_until_it_starts_or_is_taken_back() {
    let page = shown(&manifest(), &reservations::reserving(), &reservations::tally());
    let rows = cells(section(&page, "waits"));
    let waits: Vec<(&str, &str, &str)> =
        rows.iter().map(|row| (link_text(row[0]), row[3], row[row.len() - 1])).collect();
    let expected = [
        ("1", "4\u{a0}min\u{a0}00\u{a0}s", "not started yet"),
        ("2", "1\u{a0}min\u{a0}00\u{a0}s", "never started, taken back"),
        ("0", "0\u{a0}s", "finished"),
    ];
    assert_eq!(waits, expected);
    assert!(!page.contains("SLR"));
    // A job that waited leads to its story.
    assert_eq!((rows[0][0], rows[2][0]), ("<a href=\"#job-1\">1</a>", "0"));
    let story = section(&page, "why");
    assert!(story.contains("<div id=\"job-1\">") && !story.contains("id=\"job-0\""), "{story}");
    assert!(story.contains("booked from 00:20:00 on, and not started"), "{story}");
}

#[test]
fn a_page_tells_whose_requests_were_accepted_and_why_others_were_not() {
    let page = shown(&manifest(), &reservations::reserving(), &reservations::tally());
    let rows = cells(section(&page, "reservations"));
    let refused = [["declined: no site has room in time", "1"], ["invalid: it requests no node", "1"]];
    assert_eq!([&rows[0][..2], &rows[1][..2]], refused);
    // Waits of nothing, ten and twenty minutes for two nodes that are booked for ten.
    assert_eq!(rows[2][..4], ["york", "3", "1", "10\u{a0}min\u{a0}00\u{a0}s"]);
    assert_eq!(rows[3][..4], ["bath", "0", "0", "–"]);
    // There is one user, so the next table is of the possible starts of the third request.
    let starts = rows[4..].iter().map(|row| row[0]);
    assert_eq!(starts.filter(|start| start.contains("(booked)")).count(), 1);
    assert_eq!(rows.len(), 8);
}

#[test]
fn what_a_run_does_not_have_its_page_does_not_name() {
    let reservations = shown(&manifest(), &reservations::reserving(), &reservations::tally());
    let workflow = Topology { systems: vec![Service::new(Planning::default())], ..topology() };
    let plain = |job: &Job| Arc::new(Job { worth: None, ..job.clone() });
    let entries = story().into_iter().filter_map(|entry| match &entry.record {
        Record::Arrived { job, user } => {
            Some(Entry { record: Record::Arrived { job: plain(job), user: *user }, ..entry })
        }
        Record::Refused { .. } => None,
        _ => Some(entry),
    });
    let mut tally = Tally::new(&workflow, &Names::of(&workflow));
    entries.for_each(|entry| tally.add(&entry).unwrap());
    let workflow = shown(&manifest(), &workflow, &tally);
    for page in [&reservations, &workflow] {
        // The script is the same on all pages.
        let page = page.split("<script>").next().unwrap();
        for word in ["Value", "none available", "deadline</li>", "with a deadline", "id=\"value\""] {
            assert!(!page.contains(word), "{word}");
        }
    }
    assert!(workflow.contains("finished jobs took") && workflow.contains("Scheduler"));
    assert!(!reservations.contains("Scheduler") && !reservations.contains("auction"));
}

fn queueing() -> Topology {
    Topology { systems: vec![Service::new(Batch::default())], ..topology() }
}

/// Jobs that come at once to a queue at york and start so many minutes later, for one minute each.
fn queued(topology: &Topology, waits: &[u64]) -> Tally {
    let mut tally = Tally::new(topology, &Names::of(topology));
    let minute = |minutes| Time::ZERO + Span::from_minutes(minutes);
    let mut add = |at, actor, record| tally.add(&Entry { stamp: Stamp::at(minute(at)), actor, record }).unwrap();
    for (id, wait) in (0..).zip(waits) {
        let job = JobId(id);
        let cores = NodeSet::parse("1").unwrap();
        let tasks = vec![Task::new(Span::from_minutes(1), 1, Kind(0))];
        let asked =
            Job { id: job, arrive: Time::ZERO, first_task: id, tasks, edges: Vec::new(), worth: None, times: None };
        let task = TaskId { job, index: 0 };
        add(0, ROUTER, Record::Arrived { job: Arc::new(asked), user: ANN });
        add(*wait, YORK, Record::Started { task, cores });
        add(*wait + 1, YORK, Record::Finished { task });
        add(*wait + 1, ROUTER, Record::Completed { job, value: None });
    }
    tally
}

/// A log whose jobs have these numbers.
fn numbered(numbers: &[u64]) -> Workload {
    let jobs = numbers.iter().map(|number| Rigid { number: *number, ..Rigid::default() });
    let content = Box::new(Content { jobs: Arc::new(jobs.collect()), ..Content::default() });
    let log = LogFile { path: "log.swf".to_owned(), hash: String::new(), strict: false };
    let rigids = Rigids { count: numbers.len() as u32, content, ..Rigids::with_defaults(Origin::Swf(log)) };
    Workload { users: vec![0], shares: Vec::new(), system: 0, source: Source::Rigid(rigids) }
}

/// A terminal says of jobs of one task each what became of them, and how long they waited, once.
#[test]
fn tasks_that_are_jobs_are_not_listed_twice() {
    let results = queued(&queueing(), &[0, 5, 9]).summary(1, Status::Complete, String::new());
    let text = crate::summary_table(&results, None);
    assert!(
        text.contains("\njobs          3 submitted: 3 finished\n") && text.contains("\nwait          jobs "),
        "{text}"
    );
    assert!(!text.contains("\ntasks") && !text.contains("  tasks  mean"), "{text}");
    let text = crate::summary_table(&tally(&story()).summary(1, Status::Complete, String::new()), None);
    assert!(text.contains("\ntasks") && text.contains("  tasks  mean"), "{text}");
}

/// The story, as planned workflows.
fn workflows() -> (Topology, Tally) {
    let workflow = Topology { systems: vec![Service::new(Planning::default())], ..topology() };
    let mut tally = Tally::new(&workflow, &Names::of(&workflow));
    for entry in story() {
        let record = match &entry.record {
            Record::Arrived { job, user } => {
                Record::Arrived { job: Arc::new(Job { worth: None, ..(**job).clone() }), user: *user }
            }
            Record::Refused { .. } => continue,
            record => record.clone(),
        };
        tally.add(&Entry { record, ..entry }).unwrap();
    }
    (workflow, tally)
}

/// The table of users has the measure that the rest of the page has: SLR for workflows, else the bounded stretch.
#[test]
fn a_page_measures_all_jobs_in_one_way() {
    let (workflow, tally) = workflows();
    let page = shown(&manifest(), &workflow, &tally);
    assert!(page.contains(">Mean SLR</th>") && !page.contains("Mean stretch"), "{page}");
    let page = shown(&manifest(), &queueing(), &queued(&queueing(), &[0, 5]));
    assert!(page.contains(">Mean stretch</th>") && !page.contains("SLR"), "{page}");
}

#[test]
fn columns_of_few_jobs_are_not_called_tenths() {
    let (workflow, tally) = workflows();
    let page = shown(&manifest(), &workflow, &tally);
    assert!(page.contains(">job, by work</text>") && !page.contains("tenth of the jobs, by work"), "{page}");
}

#[test]
fn a_live_run_has_no_digest_and_one_process_waits_for_no_member() {
    let manifest = manifest();
    let topology = topology();
    let tally = tally(&story());
    let page_of = |run: RunFacts| {
        let results = tally.summary(1, Status::Complete, "0123456789abcdef".to_owned());
        String::from_utf8(run_page(&manifest, &SummaryFile { results, run }, &topology, &tally, None, None)).unwrap()
    };
    let live = LiveFacts { speed: 60.0, flows: 1, median_error: None, p95_error: None, max_error: None, overall: None };
    let live = page_of(RunFacts { live: Some(live), hub_waits: Some(1), ..RunFacts::default() });
    assert!(
        live.contains("A live run is not reproducible and has no digest.</footer>")
            && !live.contains("<code>0123456789abcdef")
    );
    assert!(live.contains("until all members had joined"));
    let inline = page_of(RunFacts::default());
    assert!(inline.contains("<code>0123456789abcdef</code></footer>") && !inline.contains("had joined"));
}

/// Work of less than an hour is not rounded away, and sites of one size are not called the largest.
#[test]
fn few_numbers_and_equal_sites_are_told_as_they_are() {
    let mut topology = queueing();
    let page = shown(&manifest(), &topology, &queued(&topology, &[0, 1]));
    assert!(section(&page, "what").contains("; 120 core seconds of work arrived"));

    let more = (0..COLOURS + 2).map(|number| Site { name: format!("site-{number}"), ..topology.sites[0].clone() });
    topology.sites = more.collect();
    topology.sites[0].name = "york".to_owned();
    let page = shown(&manifest(), &topology, &queued(&topology, &[0, 1]));
    let time = section(&page, "time");
    assert!(time.contains(&format!("Each of the first {} sites has an area of its own", COLOURS - 1)), "{time}");
    assert_eq!(time.matches(" %</li>").count(), 10, "the map of busy sites names each shade: {time}");
    topology.sites[3].cores += 1;
    let page = shown(&manifest(), &topology, &queued(&topology, &[0, 1]));
    assert!(page.contains(&format!("Each of the {} largest sites has an area of its own", COLOURS - 1)));
}

#[test]
fn jobs_have_the_numbers_that_jobs_csv_gives_them() {
    let mut topology = queueing();
    topology.workloads = vec![numbered(&[7, 31, 4])];
    let tally = queued(&topology, &[0, 3, 9]);
    let csv = table(&tally, "jobs.csv");
    let numbers: Vec<&str> = csv.lines().skip(1).map(|line| line.split_once(',').unwrap().0).collect();
    assert_eq!(numbers, ["7", "31", "4"]);
    let page = shown(&manifest(), &topology, &tally);
    let waits: Vec<&str> = cells(section(&page, "waits")).iter().map(|row| link_text(row[0])).collect();
    assert_eq!(waits, ["4", "31", "7"]);
    assert!(
        numbers.iter().all(|number| section(&page, "cores").contains(&format!("<title>job {number} of ann: cores")))
    );

    topology.workloads.push(numbered(&[7, 31, 4]));
    let page = shown(&manifest(), &topology, &queued(&topology, &[0, 0, 0, 0, 5]));
    assert_eq!(link_text(cells(section(&page, "waits"))[0][0]), "31 of workload 2");
}

#[test]
fn who_shares_nodes_had_no_more_of_them_than_its_share() {
    let mut topology = queueing();
    topology.sites[0].scheduler = "Greedy *".to_owned();
    let mut tally = Tally::new(&topology, &Names::of(&topology));
    let hour = |hours: u64| Stamp::at(Time::ZERO + Span::from_minutes(60 * hours));
    let mut add = |at, actor, record| tally.add(&Entry { stamp: hour(at), actor, record }).unwrap();
    let needs = Needs { cpu: 0.5, memory: 0.25 };
    for (id, user) in [(0, ANN), (1, BOB)] {
        let job = JobId(id);
        let cores = NodeSet::parse("0-1").unwrap();
        let tasks = vec![Task::new(Span::from_minutes(60), 2, Kind(0))];
        let asked =
            Job { id: job, arrive: Time::ZERO, first_task: id, tasks, edges: Vec::new(), worth: None, times: None };
        let task = TaskId { job, index: 0 };
        add(0, ROUTER, Record::Arrived { job: Arc::new(asked), user });
        add(0, ROUTER, Record::Needs { job, needs });
        add(0, YORK, Record::Started { task, cores });
        // Half of what they could use: a quarter of two nodes.
        add(0, YORK, Record::Shared { task, share: 0.5 });
    }
    for id in [0, 1] {
        let task = TaskId { job: JobId(id), index: 0 };
        add(2, YORK, Record::Finished { task });
        add(2, ROUTER, Record::Completed { job: JobId(id), value: None });
    }
    let page = shown(&manifest(), &topology, &tally);
    let had = |heading: &str, column: usize| -> Vec<&str> {
        let (_, after) = page.split_once(&format!("<h3>{heading}</h3>")).unwrap();
        cells(after.split_once("</table>").unwrap().0).iter().map(|row| row[column]).collect()
    };
    assert_eq!(had("Sites", 6)[0], "2", "one core hour of two nodes for each");
    assert_eq!(had("Users", 4), ["1", "1"]);
    assert_eq!(had("Core hours by user and site", 1), ["1", "1"]);
    assert!(page.contains("2 core hours of work arrived"), "an hour of half of two nodes each");
}

#[test]
fn many_jobs_that_share_nodes_have_a_dot_for_several() {
    let mut topology = queueing();
    topology.sites[0].scheduler = "Greedy *".to_owned();
    let page = shown(&manifest(), &topology, &queued(&topology, &[0; 4_001]));
    let sharing = section(&page, "sharing");
    assert!(sharing.contains("One dot per 2 jobs. Both axes"));
    assert_eq!(sharing.matches("<circle").count(), 2_001);
}

#[test]
fn a_site_of_many_is_no_darker_than_the_shares_of_its_jobs() {
    let mut topology = queueing();
    topology.sites[0].scheduler = "Greedy *".to_owned();
    let more = (0..COLOURS).map(|number| Site { name: format!("site-{number}"), ..topology.sites[1].clone() });
    topology.sites.extend(more.collect::<Vec<_>>());
    let mut tally = Tally::new(&topology, &Names::of(&topology));
    let task = TaskId { job: JobId(0), index: 0 };
    let tasks = vec![Task::new(Span::from_minutes(60), 4, Kind(0))];
    let asked =
        Job { id: task.job, arrive: Time::ZERO, first_task: 0, tasks, edges: Vec::new(), worth: None, times: None };
    let user = tally.names.find_actor("ann").unwrap();
    let happened = [
        (0, ROUTER, Record::Arrived { job: Arc::new(asked), user }),
        (0, YORK, Record::Started { task, cores: NodeSet::parse("0-3").unwrap() }),
        (0, YORK, Record::Shared { task, share: 0.25 }),
        (240, YORK, Record::Finished { task }),
    ];
    for (minutes, actor, record) in happened {
        let stamp = Stamp::at(Time::ZERO + Span::from_minutes(minutes));
        tally.add(&Entry { stamp, actor, record }).unwrap();
    }
    let page = shown(&manifest(), &topology, &tally);
    let (_, row) = page.split_once("<g><title>york, 4 cores</title>").unwrap();
    let row = row.split_once("</g>").unwrap().0;
    assert_eq!((row.matches("<rect class=\"h2\"").count(), row.matches("<rect").count()), (1, 1), "{row}");
}

#[test]
fn a_percentile_is_the_same_wherever_it_stands() {
    let waits: Vec<u64> = (0..20).collect();
    let page = shown(&manifest(), &queueing(), &queued(&queueing(), &waits));
    let queues = cells(section(&page, "queues"));
    assert_eq!(
        queues[0][3..7],
        [
            "9\u{a0}min\u{a0}30\u{a0}s",
            "9\u{a0}min\u{a0}30\u{a0}s",
            "18\u{a0}min\u{a0}00\u{a0}s",
            "19\u{a0}min\u{a0}00\u{a0}s"
        ]
    );
    assert!(
        section(&page, "numbers").contains("median 9\u{a0}min\u{a0}30\u{a0}s, 95 % within 18\u{a0}min\u{a0}00\u{a0}s")
    );
}

#[test]
fn what_a_site_has_reserved_is_hatched_while_the_run_lasts() {
    let mut topology = queueing();
    let at = |minutes| Time::ZERO + Span::from_minutes(minutes);
    let reserve =
        |from, until, nodes| Reserved { from: at(from), until: at(until), nodes: NodeSet::parse(nodes).unwrap() };
    topology.sites[0].reserved = vec![reserve(2, 4, "0 2-3"), reserve(500, 600, "0-3")];
    let page = shown(&manifest(), &topology, &queued(&topology, &[0, 4, 9]));
    let gantt = section(&page, "cores");
    let words = "nodes 0 2-3 of york: reserved from 00:02:00 until 00:04:00";
    assert_eq!((gantt.matches("class=\"reserved\"").count(), gantt.matches(words).count()), (2, 2));
    assert!(gantt.contains("<i class=\"hatched\"></i>reserved"));
    assert!(!shown(&manifest(), &queueing(), &queued(&queueing(), &[0])).contains("<i class=\"hatched\">"));
}

/// Jobs of five tasks on random cores at random times.
fn large(sites: u32, cores: u32, jobs: u32, cores_of_task: u32) -> (Topology, Tally) {
    let mut topology = topology();
    let site = topology.sites[0].clone();
    topology.sites = (0..sites).map(|number| Site { name: format!("site-{number}"), cores, ..site.clone() }).collect();
    topology.users = (0..100).map(|number| User::named(format!("user-{number}"))).collect();
    let mut tally = Tally::new(&topology, &Names::of(&topology));
    let mut seed = 1u64;
    let mut draw = move |below: u32| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) as u32 % below
    };
    for id in 0..jobs {
        let submitted = Time::from_micros(u64::from(draw(1_000_000_000)) * 1000);
        let task = Task::new(Span::from_secs(u64::from(draw(50_000))), cores_of_task, Kind(0));
        let id = JobId(id);
        let tasks = vec![task; 5];
        let job =
            Job { id, arrive: submitted, first_task: id.0 * 5, tasks, edges: Vec::new(), worth: None, times: None };
        let mut add = |time, actor, record| tally.add(&Entry { stamp: Stamp::at(time), actor, record }).unwrap();
        add(submitted, ActorId(0), Record::Arrived { job: Arc::new(job), user: ActorId(1 + sites + draw(100)) });
        for index in 0..5 {
            let task = TaskId { job: id, index };
            let start = submitted + Span::from_secs(u64::from(draw(90_000)));
            let first = draw(cores - 2 * cores_of_task);
            let cores: Vec<String> = (0..cores_of_task).map(|core| (first + 2 * core).to_string()).collect();
            let site = ActorId(1 + draw(sites));
            add(start, site, Record::Started { task, cores: NodeSet::parse(&cores.join(" ")).unwrap() });
            add(start + Span::from_secs(40_000), site, Record::Finished { task });
        }
    }
    (topology, tally)
}

#[test]
fn a_large_run_makes_a_page_of_a_bounded_size_that_says_what_it_put_together() {
    let three_megabytes = 3 << 20;
    let size = |(topology, tally): &(Topology, Tally)| {
        let mut manifest = manifest();
        manifest.topology = "# äöü\n".repeat(1_000_000);
        let page = shown(&manifest, topology, tally);
        assert!(page.len() < three_megabytes, "{}", page.len());
        page
    };
    let each = size(&large(4, 1000, 1_000, 3));
    assert!(each.contains("One block per task") && each.contains("more users together"), "{}", each.len());
    let map = size(&large(4, 1000, 8_000, 20));
    assert!(map.contains("40,000 tasks are too many to draw individually"));
    let many = size(&large(700, 40, 8_000, 1));
    assert!(many.contains("cores of all 700 sites") && many.contains("660 more sites together"));
    assert!(many.contains("the other 693 share one"));
}

/// Users that negotiate at many sites: each job has a quote, a booking, a hold that expires, and a claim that is stale.
pub fn bargaining(jobs: u32) -> (Topology, Tally) {
    let text = "name = \"bargains\"\n[provisioning]\n[[site]]\nname = \"site-{}\"\ncores = 64\ncount = 9\n\
                [[user]]\nname = \"user-{}\"\nstrategy = \"var\"\nahead = \"2 h\"\ncount = 100\n\
                [[workload]]\nsource = \"lublin\"\njobs = 2\nnodes = 4\n";
    let topology = crate::play::read_text(text);
    let mut tally = Tally::new(&topology, &Names::of(&topology));
    let second = |at: u32| Time::ZERO + Span::from_secs(u64::from(at));
    let hour = Span::from_minutes(60);
    for number in 0..jobs {
        let id = JobId(number);
        let now = 100 * number;
        let site = ActorId(number % 9);
        let user = ActorId(9 + number % 100);
        let task = Task::new(hour, 1 + number % 7, Kind(0));
        let job = Job { id, arrive: second(now), first_task: number, tasks: vec![task], ..Job::default() };
        let part = Part { procs: 1 + number % 7, start: second(now + 60), span: hour };
        let rate = Rate::ONE;
        let fee = Area::of(number % 3, hour);
        let slot = Slot {
            start: second(now),
            procs: 3,
            span: hour,
            rate,
            fee: Area::ZERO,
            divisible: false,
            extensible: false,
        };
        let hold = HoldId { request: number.into(), attempt: 0, leg: 0 };
        let booking = BookingId(number.into());
        let receipt = Receipt { booking, part, rent: part.area(), fee };
        let mut add = |at, actor, record| {
            tally.add(&Entry { stamp: Stamp::at(second(at)), actor, record }).unwrap();
        };
        add(now, user, Record::Arrived { job: Arc::new(job), user });
        add(now + 1, site, Record::Advertised { user, version: 1, slots: vec![slot; 1_000] });
        let offers = vec![Offer { start: part.start, fee }];
        add(now + 1, site, Record::Quoted { user, procs: part.procs, span: hour, offers });
        add(now + 2, site, Record::Denied { user, job: id, why: Refusal::Stale });
        add(now + 3, site, Record::Booked { user, job: id, receipt });
        add(now + 4, site, Record::Held { user, hold, part, fee, expiry: second(now + 64) });
        let task = TaskId { job: id, index: 0 };
        add(now + 5, user, Record::Assigned { task, site });
        add(now + 6, site, Record::Entered { user, task });
        add(now + 64, site, Record::Settled { hold, fate: HoldFate::Expired });
        add(now + 65, site, Record::Elapsed { booking, used: part.area().part(500 * (number % 2)) });
    }
    (topology, tally)
}

#[test]
fn what_users_bargained_for_is_drawn_within_bounds_and_told_apart_by_patterns() {
    let few = {
        let (topology, tally) = bargaining(90);
        shown(&manifest(), &topology, &tally)
    };
    let bargains = section(&few, "bargains");
    let calendar = bargains.split("id=\"calendar-site-1\"").nth(1).unwrap().split("</figure>").next().unwrap();
    for what in ["q2", "q3", "q5"] {
        assert!(calendar.contains(&format!("<path class=\"{what}")), "{what}");
        assert!(calendar.contains(&format!("<li><i class=\"{what}\"")), "{what}");
        assert!(what == "q5" || bargains.contains(&format!("<pattern id=\"{what}\"")), "{what}");
    }
    // A claim that was stale is a cross, and a quote a point: ten of each at this site.
    let quotes = bargains.split("id=\"prices-site-1\"").nth(1).unwrap().split("</figure>").next().unwrap();
    assert_eq!((quotes.matches("<circle").count(), quotes.matches("class=\"line l3\"").count()), (10, 10));
    assert!(bargains.contains("0 lost to stale claims, 0 given up, 90 still open; 90 of 180 claims denied as stale."));
    assert!(
        bargains.contains("10 in total")
            && calendar.contains("Holds of the whole run: 10 expired.")
            && calendar.contains(">expired</text>")
    );
    assert!(!calendar.contains("a part of the run") && !bargains.contains("means-site-1"));
    assert!(bargains.contains("3 more sites are not shown here") && bargains.contains("45 of 45 had not started"));
    assert!(bargains.contains("120 largest of 1,000 slots are drawn") && bargains.contains("30 more users"));

    let (topology, tally) = bargaining(20_000);
    let many = shown(&manifest(), &topology, &tally);
    assert!(many.len() < 3 << 20, "{}", many.len());
    let bargains = section(&many, "bargains");
    assert!(bargains.contains("This is a part of the run, from") && bargains.contains("means-site-1"));
    assert!(section(&many, "bargains").contains("One in 3 of them is drawn"));
}

#[test]
fn levels_add_up_to_what_was_put_in() {
    let second = |seconds: u64| Time::from_micros(seconds * 1_000_000);
    let mut levels = Levels::new(Window::new(second(10), second(20)), 5);
    levels.add(second(0), second(13), 2.0);
    levels.add(second(13), second(19), 4.0);
    levels.add(second(30), second(40), 9.0);
    assert_eq!(levels.part_means(), [2.0, 3.0, 4.0, 4.0, 2.0]);
}
