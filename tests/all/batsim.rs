//! Sites under schedulers that were written for Batsim: those of pybatsim where it is installed, and a few lines of
//! Python that speak ZeroMQ.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;

use crate::grid::{HANSA, Scratch, digest, hansa, shipped, text};
use crate::skip::skip;

/// A Python with pybatsim: that of `HANSA_PYBATSIM`, or the default one.
fn python(modules: &str) -> Option<String> {
    let named = std::env::var("HANSA_PYBATSIM").ok();
    let python = named.clone().unwrap_or_else(|| "python3".to_owned());
    let import = format!("import {modules}");
    let tried = Command::new(&python).args(["-c", &import]).stdout(Stdio::null()).stderr(Stdio::null()).status();
    let has = tried.is_ok_and(|status| status.success());
    assert!(has || named.is_none(), "{python}, which HANSA_PYBATSIM names, cannot {import}");
    if !has {
        skip(&format!(
            "python3 cannot {import}: pip install --no-deps pybatsim==3.2.1, pip install pyzmq procset sortedcontainers docopt, \
             and HANSA_PYBATSIM=the python that has them"
        ));
    }
    has.then_some(python)
}

/// Folder of pybatsim's schedulers.
fn schedulers(python: &str) -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let code = "import schedulers, os; print(os.path.dirname(schedulers.__file__))";
        let printed = Command::new(python).args(["-c", code]).output().unwrap();
        PathBuf::from(text(&printed.stdout).trim())
    })
}

/// Command of pybatsim, independent of the place of its script.
fn pybatsim(python: &str, scheduler: &str, scratch: &Scratch) -> String {
    let prefix = scratch.path("{site}");
    let launch = "import sys; from batsim.cmds.launcher import main; sys.exit(main())";
    format!(
        "scheduler = \"batsim\"\ncommand = [{python:?}, \"-c\", {launch:?}, {scheduler:?}, \"-s\", \"{{socket}}\", \"-o\", \
         '{{\"export-prefix\": {prefix:?}}}']\ntimeout = \"60 s\""
    )
}

/// Jobs of Lublin's model at this many sites of this many nodes, with these settings of the scheduler.
fn topology(scratch: &Scratch, name: &str, sites: u32, nodes: u32, run: &str, jobs: &str) -> PathBuf {
    let text = format!(
        "name = \"{name}\"\nseed = 1\n[batch]\ndispatch = \"least-work\"\n[[site]]\nname = \"site-{{}}\"\ncount = {sites}\n\
         cores = {nodes}\nlatency = \"5 ms\"\n{run}\n[[user]]\nname = \"alice\"\n[[workload]]\nsource = \"lublin\"\n\
         types = \"one\"\noverestimate = 2.0\n{jobs}\n"
    );
    scratch.file(&format!("{name}.toml"), &text)
}

fn run(topology: &Path, out: &Path, flags: &[&str]) -> Output {
    let mut arguments: Vec<PathBuf> = vec!["run".into(), topology.to_owned(), "--out".into(), out.to_owned()];
    arguments.extend(flags.iter().map(PathBuf::from));
    hansa(&arguments)
}

/// Digest of a run, equal in each of these layouts.
fn digest_of(scratch: &Scratch, topology: &Path, layouts: &[&[&str]]) -> String {
    let digests = layouts.iter().enumerate().map(|(number, flags)| {
        let out = scratch.path(&format!("{}-{number}", topology.file_stem().unwrap().to_str().unwrap()));
        let ran = run(topology, &out, flags);
        assert!(ran.status.success(), "{}: {}", topology.display(), text(&ran.stderr));
        digest(&out)
    });
    let digests: Vec<String> = digests.collect();
    assert!(digests.windows(2).all(|pair| pair[0] == pair[1]), "{}: {digests:?}", topology.display());
    digests[0].clone()
}

const INLINE: &[&str] = &["--inline"];
const PROCESSES: &[&str] = &[];

#[test]
fn pybatsims_schedulers_do_what_ours_do_where_the_rules_are_equal() {
    let Some(python) = python("batsim, zmq, procset, sortedcontainers, docopt, schedulers") else { return };
    let folder = schedulers(&python);
    let counting = folder.join("unMaintained/easyBackfillNotopo.py");
    let counting = counting.to_str().unwrap();
    let both = [INLINE, PROCESSES];
    // FCFS with contiguous nodes, where every job needs one node; EASY that only counts nodes, for any jobs; EASY with
    // contiguous nodes, where every job needs one: it may take other nodes than ours, at equal times.
    let cases = [
        ("schedFcfs", "fcfs", "serial = 1.0\njobs = 120", 1, 6, true),
        ("schedFcfs", "fcfs", "serial = 1.0\njobs = 200", 3, 4, true),
        (counting, "easy-count", "jobs = 200", 1, 64, true),
        (counting, "easy-count", "jobs = 200", 3, 32, true),
        ("easyBackfill", "easy", "serial = 1.0\njobs = 120", 1, 6, false),
        ("easyBackfill", "easy", "serial = 1.0\njobs = 200", 3, 4, false),
    ];
    for (number, (theirs, ours, jobs, sites, nodes, alike)) in cases.into_iter().enumerate() {
        let scratch = Scratch::new();
        let our_run = format!("scheduler = \"{ours}\"");
        let ours = topology(&scratch, "ours", sites, nodes, &our_run, jobs);
        let ours = digest_of(&scratch, &ours, &[INLINE]);
        let name = format!("theirs-{number}");
        let theirs = topology(&scratch, &name, sites, nodes, &pybatsim(&python, theirs, &scratch), jobs);
        let theirs = digest_of(&scratch, &theirs, &both);
        assert!(theirs == ours || !alike, "case {number}: {theirs}, and ours is {ours}");
        let times = |out: &str| times(&scratch.path(out));
        assert_eq!(times(&format!("{name}-0")), times("ours-0"), "case {number}");
    }
}

/// Times, site and state of each job.
fn times(out: &Path) -> Vec<Vec<String>> {
    let jobs = std::fs::read_to_string(out.join("jobs.csv")).unwrap();
    let mut lines = jobs.lines().map(|line| line.split(',').map(str::to_owned).collect::<Vec<_>>());
    let header = lines.next().unwrap();
    let columns = ["job", "site", "starting_time", "finish_time", "final_state"];
    let place = |name: &str| header.iter().position(|column| column == name).expect("a column of jobs.csv");
    let columns = columns.map(place);
    lines.map(|line| columns.iter().map(|column| line[*column].clone()).collect()).collect()
}

#[test]
fn shipped_schedulers_run_alike_in_both_layouts() {
    let Some(python) = python("batsim, zmq, procset, sortedcontainers, docopt, schedulers") else { return };
    let scratch = Scratch::new();
    let bin = Path::new(&python).parent().unwrap().to_owned();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths([bin].into_iter().chain(std::env::split_paths(&path))).unwrap();
    let digests = [INLINE, PROCESSES].map(|flags| {
        let out = scratch.path(if flags.is_empty() { "processes" } else { "inline" });
        let mut command = Command::new(HANSA);
        command.arg("run").arg(shipped("batsim.toml")).arg("--out").arg(&out).args(flags).env("PATH", &path);
        let ran = command.output().unwrap();
        assert!(ran.status.success(), "{}", text(&ran.stderr));
        digest(&out)
    });
    assert_eq!(digests[0], digests[1]);
}

/// A minimal scheduler, which answers with the result of `decide`: a list of events, or a whole message.
const SCHEDULER: &str = r#"
import json, sys, time, zmq
socket = zmq.Context().socket(getattr(zmq, KIND))
socket.bind(sys.argv[1])
asked = 0
while KIND != 'REP':
    time.sleep(1)
while True:
    said = json.loads(socket.recv())
    now = said["now"]
    def event(kind, **data):
        return {"timestamp": now, "type": kind, "data": data}
    answer = decide(asked, said, event)
    if isinstance(answer, list):
        answer = {"now": now, "events": answer}
    socket.send(answer if isinstance(answer, bytes) else json.dumps(answer).encode())
    asked += 1
    if any(event["type"] == "SIMULATION_ENDS" for event in said["events"]):
        break
"#;

/// Time that a scheduler may take to start on a busy machine.
const PATIENT: &str = "30 s";

/// A site with this `decide` in Python; jobs of one node each.
fn deciding(scratch: &Scratch, python: &str, decide: &str, kind: &str, timeout: &str) -> PathBuf {
    let program = format!("KIND = {kind:?}\ndef decide(asked, said, event):\n{decide}\n{SCHEDULER}");
    scratch.file("scheduler.py", &program);
    let run = format!(
        "scheduler = \"batsim\"\ncommand = [{python:?}, \"scheduler.py\", \"{{socket}}\"]\ntimeout = \"{timeout}\""
    );
    topology(scratch, "york", 1, 4, &run, "serial = 1.0\njobs = 20")
}

/// Runs submitted jobs, each on a free node of its own, and prints its messages.
const GREEDY: &str = "
    global free, queue, killed
    if asked == 0:
        free, queue, killed = {0, 1, 2, 3}, [], 0
        assert said['events'][0]['data']['nb_compute_resources'] == 4, said
    out = []
    for happened in said['events']:
        data = happened['data']
        if happened['type'] == 'JOB_SUBMITTED':
            job = data['job']
            assert job['res'] == 1 and job['walltime'] == 2 * data['profile']['delay'], said
            if int(data['job_id'].split('!')[1]) % 5 == 4:
                out.append(event('REJECT_JOB', job_id=data['job_id']))
            else:
                queue.append(data['job_id'])
        elif happened['type'] == 'JOB_COMPLETED':
            free.add(int(data['alloc']))
        elif happened['type'] == 'JOB_KILLED':
            killed += 1
            assert list(data['job_progress']) == data['job_ids'], said
        elif happened['type'] == 'REQUESTED_CALL':
            out.append(event('KILL_JOB', job_ids=['w0!0']))
    while free and queue:
        job, node = queue.pop(0), free.pop()
        out.append(event('EXECUTE_JOB', job_id=job, alloc=str(node)))
        if job == 'w0!0':
            out.append(event('CALL_ME_LATER', timestamp=now + 2.5))
    if said['events'][0]['type'] == 'SIMULATION_ENDS':
        assert killed == 1, killed
    return out
";

#[test]
fn jobs_are_rejected_killed_and_called_for_alike_in_both_layouts() {
    let Some(python) = python("zmq") else { return };
    let scratch = Scratch::new();
    let topology = deciding(&scratch, &python, GREEDY, "REP", PATIENT);
    let inline = digest_of(&scratch, &topology, &[INLINE, PROCESSES]);
    let schedule = crate::grid::json(&scratch.path("york-0").join("schedule.json"));
    let counted =
        ["nb_jobs", "nb_jobs_rejected", "nb_jobs_killed", "nb_jobs_success"].map(|key| schedule[key].as_u64());
    assert_eq!(counted, [20, 4, 1, 15].map(Some), "{inline}");
}

#[test]
fn a_scheduler_that_fails_ends_the_run_and_is_named() {
    let Some(python) = python("zmq") else { return };
    let order = |event: &str| format!("    return [{event}] if asked == 1 else []");
    let cases = [
        (
            "    raise SystemExit('not today')".to_owned(),
            "REP",
            "has ended before the run was over (exit status: 1); the last line that it printed: `not today`",
        ),
        (
            "    import os; print('nor tomorrow', flush=True); os._exit(1)".to_owned(),
            "REP",
            "has ended before the run was over (exit status: 1); the last line that it printed: `nor tomorrow`",
        ),
        (
            "    return []".to_owned(),
            "PUB",
            "closes the connection when it is greeted, where a REP socket of ZeroMQ 4 was expected",
        ),
        (
            "    return b'pong'".to_owned(),
            "REP",
            "answers `pong`, which is not a valid answer (expected one like {\"now\":60.0,",
        ),
        ("    return b'\\xff'".to_owned(), "REP", "sends text that is not UTF-8"),
        ("    return {'now': -1, 'events': []}".to_owned(), "REP", "says that the time is -1 s, but was asked at 0 s"),
        ("    import time; time.sleep(30)".to_owned(), "REP", "has not answered within 4 s"),
        (
            order("event('SET_RESOURCE_STATE', resources='0', state='1')"),
            "REP",
            "asks for SET_RESOURCE_STATE, which is not possible here (possible are EXECUTE_JOB, REJECT_JOB, KILL_JOB, CALL_ME_LATER), at virtual time",
        ),
        (
            order("event('EXECUTE_JOB', job_id='w0!0', alloc='0', mapping={'0': '0'})"),
            "REP",
            "asks for an EXECUTE_JOB with `mapping`, which is not possible here",
        ),
        (
            order("event('EXECUTE_JOB', job_id='w0!0', alloc='0-9')"),
            "REP",
            "starts job 0 on node 9 of a site that has 4",
        ),
        (order("event('EXECUTE_JOB', job_id='job 1', alloc='0')"), "REP", "where a job such as \"w0!12\" was expected"),
        (order("event('CALL_ME_LATER', timestamp=0)"), "REP", "asks to be called at 0 s, which is not later than"),
    ];
    for (number, (decide, kind, expected)) in cases.into_iter().enumerate() {
        // Silence takes as long as the timeout.
        let layouts: &[&[&str]] = if number % 3 == 0 { &[INLINE, PROCESSES] } else { &[INLINE] };
        for flags in layouts {
            let scratch = Scratch::new();
            let timeout = if expected.ends_with("within 4 s") { "4 s" } else { PATIENT };
            let ran = run(&deciding(&scratch, &python, &decide, kind, timeout), &scratch.path("out"), flags);
            let printed = text(&ran.stderr);
            assert_eq!(ran.status.code(), Some(8), "{decide}, {flags:?}: {printed}");
            assert!(
                printed.contains("site site-1's Batsim scheduler `") && printed.contains(expected),
                "{decide}, {flags:?}: {printed}"
            );
            let summary = std::fs::read_to_string(scratch.path("out").join("summary.json"));
            assert!(summary.is_err() || summary.is_ok_and(|text| text.contains("partial")), "{decide}");
        }
    }
}

#[test]
fn a_running_scheduler_is_connected_to_and_a_missing_one_is_reported() {
    let scratch = Scratch::new();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let socket = format!("tcp://{}", listener.local_addr().unwrap());
    let at = |timeout: &str| format!("scheduler = \"batsim\"\nsocket = \"{socket}\"\ntimeout = \"{timeout}\"");
    let jobs = "serial = 1.0\njobs = 20";
    // Another program listens there.
    let web = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        std::io::Write::write_all(&mut stream, b"HTTP/1.1 400 Bad Request\r\n\r\n").unwrap();
        // Closing a socket with unread data would discard the data that was sent.
        let _ = std::io::copy(&mut stream, &mut std::io::sink());
    });
    let web_page = topology(&scratch, "web", 1, 4, &at(PATIENT), jobs);
    let ran = run(&web_page, &scratch.path("out"), INLINE);
    web.join().unwrap();
    let printed = text(&ran.stderr);
    assert_eq!(ran.status.code(), Some(8), "{printed}");
    let expected =
        format!("site site-1's Batsim scheduler at {socket} does not speak ZeroMQ's protocol (expected a REP socket");
    assert!(printed.contains(&expected), "{printed}");
    // Now no program listens.
    let none = topology(&scratch, "nobody", 1, 4, &at("300 ms"), jobs);
    let ran = run(&none, &scratch.path("out"), INLINE);
    let printed = text(&ran.stderr);
    assert_eq!(ran.status.code(), Some(8), "{printed}");
    assert!(printed.contains(&format!("cannot be reached at {socket} in time: ")), "{printed}");

    let Some(python) = python("zmq") else { return };
    let greedy = deciding(&scratch, &python, GREEDY, "REP", PATIENT);
    let made = digest_of(&scratch, &greedy, &[INLINE]);
    let mut scheduler = Command::new(&python).arg(scratch.path("scheduler.py")).arg(&socket).spawn().unwrap();
    let called = topology(&scratch, "called", 1, 4, &at(PATIENT), jobs);
    assert_eq!(digest_of(&scratch, &called, &[INLINE]), made);
    assert!(scheduler.wait().unwrap().success(), "it has heard that the simulation is over");
}
