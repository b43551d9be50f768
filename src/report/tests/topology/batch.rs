//! Topologies with queues: meaning and errors.

use super::*;
use hansa_sim::grid::Needs;
use hansa_sim::systems::batch::Batch;
use hansa_sim::time::{Span, Time};
use hansa_sim::topology::{BuildError, Roster, build_actors};
use hansa_sim::workload::raise::log_utilisation;
use hansa_sim::workload::rigids::Rigids;
use hansa_sim::workload::{Numbering, Platform, Source, WorkloadError};

pub const QUEUEING: &str = r#"name = "queueing"
[batch]
dispatch = "least-work"
[[site]]
name = "york"
cores = 8
reserved = [{ from = "1 h", until = "2 h", nodes = "0-3 7" }]
[[site]]
name = "leeds"
cores = 4
scheduler = "conservative"
[[user]]
name = "alice"
[[user]]
name = "bob"
[[workload]]
source = "lublin"
jobs = 20
nodes = 4
site = "leeds"
size_med = 1.5
overestimate = 1.5
"#;

const LOGGED: &str = r#"name = "logged"
[batch]
[[site]]
name = "york"
cores = 8
[[user]]
name = "alice"
[[workload]]
source = "swf"
file = "log.swf"
"#;

const LOG: &str = "\
; a log
1 0 -1 10 1 -1 -1 1 20 -1 1 1 1 -1 -1 -1 -1 -1
2 5 -1 ten 1 -1 -1 1 20 -1 1 1 1 -1 -1 -1 -1 -1
3 9 -1 10 100 -1 -1 -1 -1 -1 1 1 1 -1 -1 -1 1 30
";

fn logged(settings: &[&str]) -> Result<Topology, InvalidInput> {
    let files: &[(&str, &[u8])] = &[("grid.toml", LOGGED.as_bytes()), ("log.swf", LOG.as_bytes())];
    load_files(files, settings).map(|loaded| loaded.topology)
}

fn rigids(topology: &Topology) -> &Rigids {
    let Source::Rigid(rigids) = &topology.workloads[0].source else { panic!("it is rigid") };
    rigids
}

#[test]
fn a_topology_with_queues_reads_back() {
    let topology = load_text(QUEUEING, &[]).unwrap();
    assert!(topology.settings::<Batch>().is_some());
    assert_eq!(topology.sites[0].scheduler, "easy");
    assert_eq!(load_text(&topology.to_toml(), &[]).unwrap(), topology);
    assert_eq!(topology.jobs(), 20);
    assert_eq!(rigids(&topology).site, Some(1));
}

#[test]
fn a_log_is_read_and_its_errors_are_kept() {
    let topology = logged(&[]).unwrap();
    let rigids = rigids(&topology);
    assert_eq!((rigids.count, rigids.content.faults.left_out), (2, 1));
    let strict = logged(&["workload.0.strict=true"]).unwrap_err().to_string();
    assert!(strict.contains("log.swf") && strict.contains("line 3: the run time is ten"), "{strict}");

    // A resolved topology describes its jobs without the log, but cannot be run without it.
    let text = topology.to_toml();
    let resolved = load_text(&text, &[]).unwrap();
    assert_eq!((resolved.jobs(), resolved.hash()), (2, topology.hash()));
    let Err(BuildError::Workload { error, .. }) = build_actors(&resolved, &Roster::of_topology(&resolved).all()) else {
        panic!("no log")
    };
    assert_eq!(error.to_string(), "its jobs are not available: cannot read log.swf: there is no such file");
    assert_eq!(build_actors(&topology, &Roster::of_topology(&topology).all()).map(|cast| cast.len()).unwrap(), 3);

    let changed: &[(&str, &[u8])] = &[("grid.toml", text.as_bytes()), ("log.swf", b"1 2 3")];
    assert!(load_files(changed, &[]).unwrap_err().to_string().contains("log.swf has changed"));
}

/// Requested times of a log without any error, as papers assume under EASY.
#[test]
fn walltimes_of_a_log_can_be_made_exact() {
    // Runs 10 of 20 s; is cut off at 20 of 30 s; requests nothing.
    let log = "1 0 -1 10 1 -1 -1 1 20 -1 1 1 1 -1 -1 -1 -1 -1\n2 5 -1 30 1 -1 -1 1 20 -1 1 1 1 -1 -1 -1 -1 -1\n\
               3 9 -1 7 1 -1 -1 1 -1 -1 1 1 1 -1 -1 -1 -1 -1\n";
    let read = |settings: &[&str]| {
        let files: &[(&str, &[u8])] = &[("grid.toml", LOGGED.as_bytes()), ("log.swf", log.as_bytes())];
        load_files(files, settings).map(|loaded| loaded.topology)
    };
    let times = |topology: &Topology| {
        let mut times = Vec::new();
        rigids(topology)
            .hand_out(&mut Numbering::default(), 1, |handed| {
                let task = handed.job.tasks[0];
                times.push((task.runtime.micros() / 1_000_000, task.walltime.micros() / 1_000_000));
                Ok::<_, WorkloadError>(())
            })
            .unwrap();
        times
    };
    let recorded = read(&["workload.0.overestimate=2.0"]).unwrap();
    assert_eq!(times(&recorded), [(10, 20), (30, 20), (7, 14)]);
    let exact = read(&["workload.0.walltimes=\"exact\""]).unwrap();
    assert_eq!(times(&exact), [(10, 10), (20, 20), (7, 7)]);
    assert_ne!(exact.hash(), read(&[]).unwrap().hash());
    assert_eq!(read(&["workload.0.walltimes=\"recorded\""]).unwrap().hash(), read(&[]).unwrap().hash());
    assert!(exact.to_toml().contains("walltimes = \"exact\"") && !recorded.to_toml().contains("walltimes"));
    let wrong = read(&["workload.0.walltimes=\"exakt\""]).unwrap_err().to_string();
    assert!(wrong.contains("did you mean `exact`?"), "{wrong}");
}

#[test]
fn the_meaning_of_a_log_is_what_is_in_it() {
    let moved = LOGGED.replace("log.swf", "elsewhere.swf");
    let files: &[(&str, &[u8])] = &[("grid.toml", moved.as_bytes()), ("elsewhere.swf", LOG.as_bytes())];
    assert_eq!(load_files(files, &[]).unwrap().topology.hash(), logged(&[]).unwrap().hash());
    assert_ne!(logged(&["workload.0.jobs=1"]).unwrap().hash(), logged(&[]).unwrap().hash());
}

#[test]
fn errors_are_reported() {
    for (setting, expected) in [
        ("workload.0.file=\"nowhere.swf\"", "cannot read nowhere.swf: there is no such file"),
        ("workload.0.file=7", "expected the path of a log of jobs, found 7"),
        ("workload.0.from=\"1 h\"", "log.swf has no job to run: 2 jobs are outside of the selected part"),
        ("workload.0.to=\"0 s\"", "expected `to` after `from`"),
        ("workload.0.source=\"batsim\"", "log.swf: line 1, column 1: expected a Batsim workload"),
        (
            "workload.0.source=\"market\"",
            "expected swf, batsim, sacct, slurm-events, lublin or table, which a [batch] accepts",
        ),
        ("workload.0.strict=1", "expected true or false, found 1"),
        ("workload.0.site=\"yrok\"", "did you mean"),
        ("workload.0.overestimate=0.5", "a factor of at least 1"),
        (
            "site.york.scheduler=\"auction\"",
            "a scheduler of a site under [batch], such as easy (auction needs a [market] table)",
        ),
        ("site.york.scheduler=\"eazy\"", "did you mean"),
        ("site.york.system=[\"batch\", \"batch\"]", "expected at least one system, each only once"),
        ("site.york.system=[]", "expected at least one system, each only once"),
        ("site.york.reserved=[{ from = \"1 h\", until = \"1 h\", nodes = \"0\" }]", "expected an end after its start"),
        (
            "site.york.reserved=[{ from = \"1 h\", until = \"2 h\", nodes = \"8\" }]",
            "site.york.reserved: expected nodes from 0 to 7, as the site has 8, found node 8",
        ),
        ("site.york.reserved=[{ from = \"1 h\", until = \"2 h\", nodes = \"3-1\" }]", "numbers of nodes in order"),
        ("batch.dispatch=\"frist\"", "did you mean"),
        ("site.york.latency=60", "= for example \"60 ms\""),
        ("site.york.report_every=60", "= for example \"60 s\""),
        ("wrokload=1", "user, workflow or workload"),
    ] {
        let diagnostics = logged(&[setting]).map(|_| ()).unwrap_err().to_string();
        assert!(diagnostics.contains(expected), "{setting}: {diagnostics}");
    }
    // An external program need not know of an empty list.
    let outside = ["site.york.scheduler=\"external\"", "site.york.command=[\"manage\"]"];
    let is_some = "site.york.reserved=[{ from = \"1 h\", until = \"2 h\", nodes = \"0\" }]";
    let diagnostics = logged(&[outside[0], outside[1], is_some]).unwrap_err().to_string();
    assert!(diagnostics.contains("site.york.reserved: expected nothing reserved"), "{diagnostics}");
    assert_eq!(logged(&[outside[0], outside[1], "site.york.reserved=[]"]).unwrap().sites[0].reserved, []);
    let twice = "site.york.reserved=[{ from = \"1 h\", until = \"2 h\", nodes = \"0\" }, { from = \"1.5 h\", until = \"3 h\", nodes = \"0-1\" }]";
    assert!(logged(&[twice]).unwrap_err().to_string().contains("already reserved"));
    let diagnostics = load_text(FINE, &["workload.0.source=\"parallel\""]).unwrap_err().to_string();
    assert!(diagnostics.contains("need a [workflow] or [provisioning] table"), "{diagnostics}");
    let diagnostics = load_text(FINE, &["site.york.scheduler=\"easy\""]).unwrap_err().to_string();
    assert!(diagnostics.contains("needs a [batch] table"), "{diagnostics}");
    let steps = "workload.0.job=[{ tasks = [{ runtime = \"1 s\", cores = 1 }, { runtime = \"1 s\", cores = 1 }] }]";
    let bare = LOGGED.replace("file = \"log.swf\"\n", "");
    let diagnostics = load_text(&bare, &["workload.0.source=\"table\"", steps]).unwrap_err().to_string();
    assert!(diagnostics.contains("jobs of one task each"), "{diagnostics}");
}

/// Needs of a workload's tasks, job by job, if specified.
fn needs(topology: &Topology) -> Vec<Option<(u32, f64, f64)>> {
    let source = &topology.workloads[0].source;
    let jobs = source.jobs(&Default::default(), Default::default(), &mut Default::default()).unwrap();
    let shape = |(place, job): (usize, &hansa_sim::grid::Job)| {
        let Needs { cpu, memory } = source.job_source().job_needs(place)?;
        Some((job.tasks[0].cores, cpu, memory))
    };
    jobs.iter().enumerate().map(shape).collect()
}

/// A job of four processors arrives each hour and runs for an hour: the two processors of each of six nodes have a load
/// of a third, and of a sixth or a half if that is asked for.
#[test]
fn a_node_of_two_processors_counts_as_two_in_a_load() {
    let line =
        |hour: u64| format!("{} {} -1 3600 4 -1 -1 4 3600 204800 1 1 1 -1 -1 -1 -1 -1\n", hour + 1, hour * 3_600);
    let log: String = (0..480).map(line).collect();
    let load = |target: &str| {
        let files: &[(&str, &[u8])] = &[("grid.toml", LOGGED.as_bytes()), ("log.swf", log.as_bytes())];
        let settings = ["site.york.cores=6", "workload.0.needs=\"dual-core\"", target];
        load_files(files, &settings).map(|loaded| loaded.topology)
    };
    for (target, share) in [("0.16667", 0.16667), ("0.33333", 0.33333), ("0.5", 0.5)] {
        let topology = load(&format!("workload.0.utilisation={target}")).unwrap();
        let used = log_utilisation(&rigids(&topology).content.weigh_jobs(u32::MAX), 12);
        assert!((used - share).abs() < 0.01 * share, "{used} for {target}");
    }
    let refused = load("workload.0.utilisation=0.9").unwrap_err().to_string();
    assert!(refused.contains("they use only 0.55") && refused.contains("of 12 processors"), "{refused}");
}

#[test]
fn jobs_have_needs_of_nodes() {
    // Two jobs of a log, one of which has its memory, as tasks of dual-core nodes.
    let log = "1 0 -1 10 6 -1 -1 6 20 409600 1 1 1 -1 -1 -1 -1 -1\n2 9 -1 10 32 -1 -1 -1 -1 -1 1 1 1 -1 -1 -1 -1 -1\n";
    let read = |settings: &[&str]| {
        let files: &[(&str, &[u8])] = &[("grid.toml", LOGGED.as_bytes()), ("log.swf", log.as_bytes())];
        load_files(files, settings).map(|loaded| loaded.topology)
    };
    let dual = read(&["workload.0.needs=\"dual-core\""]).unwrap();
    assert_eq!(needs(&dual), [Some((3, 1.0, 0.390625)), Some((16, 1.0, 0.2))]);
    let note = rigids(&dual).content.note().unwrap();
    assert!(note.contains("the memory of 1 job is unknown: assumed are 10 % of a node's for each processor"), "{note}");
    assert_eq!(needs(&read(&[]).unwrap()), [None, None]);
    let note = rigids(&read(&[]).unwrap()).content.note().unwrap();
    assert!(!note.contains("memory") && note.starts_with("1 job requesting no time"), "{note}");
    // A site of shared nodes with another memory is pointed out.
    let on = |memory: &str| {
        let shares = "site.york.scheduler=\"GreedyP */per\"";
        read(&["workload.0.needs=\"dual-core\"", shares, memory]).unwrap().warnings().join("\n")
    };
    assert!(on("site.york.memory_gb=8").contains("are off by a factor of 3.81"), "{}", on("site.york.memory_gb=8"));
    assert!(!on("site.york.memory_gb=2").contains("factor"), "{}", on("site.york.memory_gb=2"));
    let small = read(&["workload.0.needs=\"dual-core\"", "workload.0.node_kilobytes=819200"]).unwrap();
    assert_eq!(needs(&small)[0], Some((6, 0.5, 0.5)));
    let smaller = read(&["workload.0.needs=\"dual-core\"", "workload.0.node_kilobytes=409599"]).unwrap();
    assert_eq!(needs(&smaller)[0], Some((6, 0.5, 1.0)));
    let note = rigids(&smaller).content.note().unwrap();
    assert!(note.contains("the memory of 1 job is more than a node has: assumed are 100 %"), "{note}");

    let model = load_text(QUEUEING, &["workload.0.needs=\"quad-core\""]).unwrap();
    assert_eq!((load_text(&model.to_toml(), &[]).unwrap(), needs(&model).len()), (model.clone(), 20));
    assert!(needs(&model).iter().all(|shape| shape.is_some_and(|(tasks, cpu, _)| (tasks == 1) == (cpu == 0.25))));

    let bare = LOGGED.replace("file = \"log.swf\"\n", "");
    let table = |more: &str| {
        let job = format!("workload.0.job=[{{ tasks = [{{ runtime = \"1 s\", cores = 2 }}]{more} }}]");
        load_text(&bare, &["workload.0.source=\"table\"", &job]).map(|topology| {
            assert_eq!(load_text(&topology.to_toml(), &[]).unwrap(), topology);
            needs(&topology)[0]
        })
    };
    assert_eq!(table(", cpu = 0.5, memory = 0.1").unwrap(), Some((2, 0.5, 0.1)));
    assert_eq!(table(", memory = 0.1").unwrap(), Some((2, 1.0, 0.1)));
    assert_eq!(table(", cpu = 1, memory = 1.0").unwrap(), None);
    for wrong in [", cpu = 0", ", cpu = 1.5", ", memory = -1", ", memory = 0", ", memory = 1.01"] {
        let message = table(wrong).unwrap_err().to_string();
        assert!(message.contains("expected a share of a node, above 0 and at most 1"), "{wrong}: {message}");
    }
    for (setting, expected) in [
        ("workload.0.needs=\"quad-core\"", "memory is drawn only for jobs of a model"),
        ("workload.0.needs=\"dual-cor\"", "did you mean"),
        ("workload.0.node_kilobytes=5", "expected also needs = \"dual-core\""),
    ] {
        let message = read(&[setting]).unwrap_err().to_string();
        assert!(message.contains(expected), "{setting}: {message}");
    }
    let load_job = |system: &str, job: &str| {
        let job = format!("workload.0.job=[{{ {job} }}]");
        let message = load_text(&bare.replace("[batch]", system), &["workload.0.source=\"table\"", &job]);
        message.map(|_| ()).map_err(|faults| faults.to_string())
    };
    let needs = "tasks = [{ runtime = \"1 s\", cores = 1 }], cpu = 0.5";
    let asks = "tasks = [{ runtime = \"1 s\", walltime = \"2 s\", cores = 1 }]";
    for system in ["[market]", "[provisioning]"] {
        let message = load_job(system, needs).unwrap_err();
        assert!(message.contains("only sites under a [batch] table can share nodes"), "{system}: {message}");
    }
    let refused = load_job("[market]", asks).unwrap_err();
    assert!(refused.contains("only jobs of a [batch] or [provisioning] table request a time"), "{refused}");
    assert_eq!(load_job("[provisioning]", asks), Ok(()));
}

/// Jobs may go to any system once a rule gives them values and deadlines.
#[test]
fn terms_let_a_log_go_anywhere() {
    let terms = "workload.0.terms={ deadline = [3.0, 3.0], value = [2.0, 2.0], at_least = \"1 s\" }";
    let elsewhere = |key: &str, settings: &[&str]| {
        let text = LOGGED.replace("[batch]", &format!("[{key}]"));
        let files: &[(&str, &[u8])] = &[("grid.toml", text.as_bytes()), ("log.swf", LOG.as_bytes())];
        load_files(files, settings).map(|loaded| loaded.topology).map_err(|diagnostics| diagnostics.to_string())
    };
    for key in ["market", "reservation"] {
        let diagnostics = elsewhere(key, &[terms]).unwrap_err();
        assert!(diagnostics.contains("1 of these jobs follow"), "{diagnostics}");
    }
    let diagnostics = elsewhere("reservation", &["workload.0.follow=false"]).unwrap_err();
    assert!(diagnostics.contains("as a reservation has a deadline"), "{diagnostics}");
    let diagnostics = elsewhere("market", &["workload.0.follow=false", "workload.0.deal=\"user\""]).unwrap_err();
    assert!(diagnostics.contains("users take turns here"), "{diagnostics}");

    let market = elsewhere("market", &[terms, "workload.0.follow=false"]).unwrap();
    let jobs = market.workloads[0].source.jobs(&Platform::default(), Span::from_secs(1), &mut Numbering::default());
    let jobs = jobs.unwrap();
    // Job 1 requests 20 s and takes 10 s: its deadline is six times that.
    let worth = jobs[0].worth.as_ref().unwrap();
    assert_eq!((worth.curve.initial(), worth.curve.final_()), (3.0, 6.0));
    assert!((worth.max - 2.0 * 20.0 / 3600.0).abs() < 1e-12);
    let reservation = elsewhere("reservation", &[terms, "workload.0.follow=false"]).unwrap();
    let asks = reservation.workloads[0].source.requests(&mut Numbering::default()).unwrap();
    let (_, first) = &asks[0];
    assert_eq!((first.request.ready, first.request.deadline), (Time::ZERO, Time::ZERO + Span::from_secs(60)));
    assert_eq!((first.request.duration, first.runtime), (Span::from_secs(20), Span::from_secs(10)));
    // In a queue they have the same value, and wait for the jobs that they follow.
    let queue = logged(&[terms]).unwrap();
    let hand_out = |topology| {
        let mut handed = Vec::new();
        let take = |one| {
            handed.push(one);
            Ok::<_, WorkloadError>(())
        };
        rigids(topology).hand_out(&mut Numbering::default(), 1, take).unwrap();
        handed
    };
    let handed = hand_out(&queue);
    assert_eq!(handed[0].job.worth, jobs[0].worth);
    assert!(handed[1].after.is_some());
    let freed = logged(&["workload.0.follow=false"]).unwrap();
    assert!(hand_out(&freed).iter().all(|one| one.after.is_none()));
    for (setting, expected) in [
        ("workload.0.terms={ deadline = [0.5, 2.0] }", "a number of at least 1"),
        ("workload.0.terms={ deadline = [5.0, 2.0] }", "the smaller number first"),
        ("workload.0.terms={ full = 1.0 }", "below 1"),
        ("workload.0.terms={ value = [0.0, 2.0] }", "above 0"),
        ("workload.0.terms={ deadlin = [1.0, 2.0] }", "did you mean"),
    ] {
        let diagnostics = logged(&[setting]).map(|_| ()).unwrap_err().to_string();
        assert!(diagnostics.contains(expected), "{setting}: {diagnostics}");
    }
}
