//! Error messages for users, word for word.

use super::*;

/// A fault in [`FINE`]: text to replace, and its replacement.
type Fault = (&'static str, &'static str);

const NAMES: &[Fault] = &[
    ("name = \"fine\"\n", ""),
    ("name = \"fine\"", "name = \"Fine Grid\""),
    ("name = \"fine\"", "name = 7"),
    ("name = \"york\"", ""),
    ("name = \"york\"", "name = \"\""),
    ("name = \"york\"", "name = \"-york\""),
    ("name = \"york\"", "name = \"york/../leeds\""),
    ("name = \"york\"", "name = \"york-{}\""),
    ("name = \"york\"", "name = \"router\""),
    ("name = \"alice\"", "name = \"auctioneer\""),
    ("name = \"alice\"", "name = \"york\""),
    ("[[user]]", "[[site]]\nname = \"york\"\ncores = 1\n[[user]]"),
    ("name = \"york\"", "name = \"york\"\ncount = 3"),
    ("name = \"york\"", "name = \"york-{}\"\ncount = 0"),
    ("name = \"york\"", "name = \"york-{}\"\ncount = 1000000"),
    ("name = \"york\"", "name = \"york-{}\"\ncount = 60000\n[[site]]\nname = \"leeds-{}\"\ncount = 60000"),
];

const KEYS: &[Fault] = &[
    ("[[site]]", "[markt]\npolicy = \"fifo\"\n[[site]]"),
    ("[[site]]", "[market]\npolcy = \"fifo\"\n[[site]]"),
    ("[[site]]", "[defaults.sites]\ncores = 1\n[[site]]"),
    ("cores = 8", "cores = 8\ncolour = \"blue\""),
    ("jobs = 3", "jobs = 3\ntaks = [1, 2]"),
    ("[[site]]", "[site]"),
    ("[[site]]", "market = 3\n[[site]]"),
    ("[[user]]\nname = \"alice\"", "user = []"),
    ("[[site]]\nname = \"york\"\ncores = 8\n", ""),
    ("[[user]]\nname = \"alice\"\n", ""),
    ("[[workload]]\nsource = \"market\"\njobs = 3\ncores_max = 8\n", ""),
    ("cores = 8", "cores = 8\nkind = \"GPU\"\n[[site]]\nname = \"leeds\"\ncores = 8"),
    ("cores = 8", "coers = 8"),
];

const VALUES: &[Fault] = &[
    ("name = \"fine\"", "hansa = \"99.1\"\nname = \"Fine Grid\""),
    ("name = \"fine\"", "name = \"fine\"\nhansa = 1"),
    ("[[site]]", "seed = -1\n[[site]]"),
    ("[[site]]", "about = true\n[[site]]"),
    ("[[site]]", "[market]\npolicy = \"fifoo\"\n[[site]]"),
    ("[[site]]", "[market]\npolicy = \"\"\n[[site]]"),
    ("[[site]]", "[market]\ntick = 60\n[[site]]"),
    ("[[site]]", "[market]\ntick = \"0 s\"\n[[site]]"),
    ("[[site]]", "[market]\nccr = 0.1234567\n[[site]]"),
    ("[[site]]", "[market]\nccr = nan\n[[site]]"),
    ("[[site]]", "[market]\nblocking = \"perkind\"\n[[site]]"),
    ("[[site]]", "[market]\nclearing = \"message\"\n[[site]]"),
    ("[[site]]", "[market]\noffers_every = \"5 min\"\n[[site]]"),
    ("[[site]]", "[market]\nclearing = \"messages\"\noffer_every = \"5 min\"\n[[site]]"),
    ("[[site]]", "[market]\nclearing = \"messages\"\noffers_every = 5\n[[site]]"),
    ("cores = 8", ""),
    ("cores = 8", "cores = 0"),
    ("cores = 8", "cores = 2147483649"),
    ("cores = 8", "cores = \"many\""),
    ("cores = 8", "cores = 8\nscheduler = \"easy\""),
    ("cores = 8", "cores = 8\nkind = \"big iron\""),
    ("cores = 8", "cores = 8\nlatency = 5"),
    ("cores = 8", "cores = 8\nlatency = \"5\""),
    ("cores = 8", "cores = 8\nlatency = \"5 sec\""),
    ("cores = 8", "cores = 8\nlatency = \"5 m\""),
    ("cores = 8", "cores = 8\nlatency = \"soon\""),
    ("cores = 8", "cores = 8\nlatency = \"1e3 s\""),
    ("cores = 8", "cores = 8\nlatency = \"1 h 30 min\""),
    ("cores = 8", "cores = 8\nlatency = \"-5 ms\""),
    ("cores = 8", "cores = 8\nlatency = \"0.5 us\""),
    ("cores = 8", "cores = 8\nlatency = \"400000 d\""),
    ("cores = 8", "cores = 8\nlatency = [1]"),
];

const WORKLOADS: &[Fault] = &[
    ("source = \"market\"", "source = \"markt\""),
    ("source = \"market\"\n", ""),
    ("source = \"market\"", "sorce = \"market\""),
    ("source = \"market\"", "source = \"market\"\nusers = [\"alcie\", \"alice\", \"alice\"]"),
    ("source = \"market\"", "source = \"market\"\nusers = []"),
    ("source = \"market\"", "source = \"market\"\nusers = \"alice\""),
    ("[[site]]", "[market]\n[batch]\n[[site]]\nsystem = \"batch\""),
    ("[[site]]", "[market]\n[batch]\n[[site]]\nsystem = \"bacht\""),
    ("[[site]]", "[market]\nclearing = \"messages\"\n[batch]\n[[site]]\nsystem = [\"market\", \"batch\"]"),
    ("jobs = 3\n", ""),
    ("jobs = 3", "jobs = 0"),
    ("jobs = 3", "jobs = 3\nload = 0"),
    ("jobs = 3", "jobs = 3\nload = 50"),
    ("jobs = 3", "jobs = 3\nload = inf"),
    ("jobs = 3", "jobs = 3\nload = \"full\""),
    ("jobs = 3", "jobs = 3\nload_basis = \"all\""),
    ("jobs = 3", "jobs = 3\ntasks = [20, 5]"),
    ("jobs = 3", "jobs = 3\ntasks = [5]"),
    ("jobs = 3", "jobs = 3\ntotal_runtime = [\"90 s\", \"1 h\"]"),
    ("jobs = 3", "jobs = 3\ntotal_runtime = [\"2 h\", \"1 h\"]"),
    ("jobs = 3", "jobs = 3\ntotal_runtime = [\"2 h\", \"200000 d\"]"),
    ("[[site]]", "[market]\ntick = \"1 d\"\n[[site]]"),
    ("jobs = 3", "jobs = 3\nkinds = [\"any\", \"gpu\"]"),
    ("jobs = 3", "jobs = 3\nkind_share = 1.1"),
    ("jobs = 3", "jobs = 3\ndegree = -1"),
    ("cores_max = 8", "cores_max = 9"),
    ("cores_max = 8", ""),
    ("jobs = 3", "jobs = 10_000_000\ntasks = [1, 1_000]"),
    ("source = \"market\"", "include = 7"),
];

#[test]
fn of_names() {
    check_faults("names.txt", NAMES);
}

#[test]
fn of_keys() {
    check_faults("keys.txt", KEYS);
}

#[test]
fn of_values() {
    check_faults("values.txt", VALUES);
}

#[test]
fn of_workloads() {
    check_faults("workloads.txt", WORKLOADS);
}

/// Each of these replaces the job below.
#[test]
fn of_jobs() {
    let text = r#"name = "jobs"
site = [{ name = "york", cores = 8, kind = "a" }, { name = "leeds", cores = 4, kind = "b" }]
user = [{ name = "alice" }]
[[workload]]
source = "table"
[[workload.job]]
"#;
    let task = "{ runtime = \"1 min\", cores = 1, kind = \"a\" }";
    let tasks = format!("tasks = [{task}, {task}, {task}]");
    let with = |more: &str| format!("{tasks}\n{more}");
    let jobs = [
        String::new(),
        "tasks = []".to_owned(),
        "tasks = [1]".to_owned(),
        "tasks = [{ cores = 1, kind = \"a\" }]".to_owned(),
        "tasks = [{ runtime = \"1 min\", kind = \"a\" }]".to_owned(),
        "tasks = [{ runtime = \"1 min\", cores = 1 }]".to_owned(),
        "tasks = [{ runtime = \"1 min\", cores = 1, kind = \"c\", color = 1 }]".to_owned(),
        "tasks = [{ runtime = \"0 min\", cores = 0, kind = \"a\" }]".to_owned(),
        "tasks = [{ runtime = \"1 min\", cores = 8, kind = \"b\" }]".to_owned(),
        "tasks = [{ runtime = \"200000 d\", cores = 1, kind = \"b\" }]".to_owned(),
        with("edges = [[0, 3]]"),
        with("edges = [[0, 1], [0, 1]]"),
        with("edges = [[0, 1, 2, 3]]"),
        with("edges = [[1, 1]]"),
        with("edges = [[0, 1], [1, 2], [2, 0]]"),
        with("edges = [[0, 1], [2, 1]]"),
        with("edges = \"0-1\""),
        with("worth = 100"),
        with("worth = { max = -1, initial = 2, final = nan }"),
        with("worth = { max = 1, initial = 6, final = 2 }"),
        with("worth = { initial = 2, final = 6, points = [[3, 0.5], [4, 0.8]] }"),
        with("worth = { max = 1, initial = 2, final = 6, points = [3, 0.5] }"),
        with("worth = { max = 1, initial = 2, final = 6, points = [[4, 0.5], [3, 0.5]] }"),
        with("worth = { max = 1, initial = 2, final = 6, points = [[4, 1.5]] }"),
        with(&format!("arrive = \"2 min\"\n[[workload.job]]\narrive = \"1 min\"\n{tasks}")),
    ];
    let mut page = String::new();
    for job in jobs {
        let diagnostics = load_text(&format!("{text}{job}\n"), &[]).expect_err(&job);
        add_message(&mut page, &job, &diagnostics);
    }
    let none = text.replace("[[workload.job]]\n", "");
    add_message(&mut page, "no job", &load_text(&none, &[]).unwrap_err());
    golden("jobs.txt", &page);
}

#[test]
fn of_settings() {
    let settings: &[&[&str]] = &[
        &["market.polcy=fifo"],
        &["markt.policy=fifo"],
        &["cores=5"],
        &["latency=5 ms"],
        &["market.policy=fifoo", "market.tick=60"],
        &["site.yrok.cores=5"],
        &["site.york.cores=none"],
        &["site.7.cores=5"],
        &["workload.1.load=1"],
        &["workload.0.load=50"],
        &["workload.0.jobs.x=50"],
        &["workload.0.job.0.arrive=1 s"],
        &["defaults.site.latency=5"],
        &["reservation.policy=ff"],
        &["batch.dispatch=first", "link.0.latency=5 ms"],
        &["name"],
    ];
    let mut page = String::new();
    for settings in settings {
        if let Some(error) = settings.iter().find_map(|text| Override::parse(text).err()) {
            page.push_str(&format!("#### {settings:?}\n\n{error}\n\n"));
            continue;
        }
        add_message(&mut page, &format!("{settings:?}"), &load_text(FINE, settings).unwrap_err());
    }
    golden("settings.txt", &page);
}

#[test]
fn of_files() {
    let including = |name: &str| FINE.replace("source = \"market\"", &format!("include = \"{name}\""));
    let twice = including("bad.toml");
    let missing = including("none.toml");
    let circle = including("x/a.toml");
    let self_ = including("./grid.toml");
    let long = format!("name = \"{}\" \"\n", "long".repeat(100));
    let grids: [(&str, &[u8]); 23] = [
        ("not TOML", b"name = \"grid\nseed = = 1\n[site\n"),
        ("a key that is there twice", b"name = \"a\"\nname = \"b\"\n"),
        (
            "one bracket for tables of which there are several",
            b"[site]\nname = \"a\"\n[site]\nname = \"b\"\ncores = 1\n",
        ),
        ("one bracket, then two", b"[site]\nname = \"a\"\n[[site]]\nname = \"b\"\n"),
        (
            "two brackets, then one",
            b"[[site]]\nname = \"a\"\n[site]\nname = \"b\"\n[user]\nname = \"c\"\nname = \"d\"\n",
        ),
        ("JSON", b"{\n  \"site\": [\n    { \"name\": \"york\" }\n  ]\n}\n"),
        ("no UTF-8", b"name = \"grid\"\nabout = \"\xff\"\n"),
        ("no UTF-8 after a byte order mark", b"\xef\xbb\xbfname = \"\xe4\"\n"),
        ("nothing", b""),
        ("control characters", b"name = \"\\u001b[31m\"\r\n[[site]]\tcores = 0 # \x1b[31m \r\n"),
        ("letters of many bytes", "name = \"größe\" # naïve\n".as_bytes()),
        ("a long line", long.as_bytes()),
        ("a log", b"; MaxProcs: 64 = all\n1 0 0 9 1 -1 -1 1 9 -1 1 1 1 1 1 -1 -1 -1\n"),
        ("a log without a header", b"\n  1 0 0 9 1 -1 -1 1 9 -1 1 1 1 1 1 -1 -1 -1\n"),
        ("a graph", b"digraph G {\n  a [size = 1]\n}\n"),
        ("XML", b"<?xml version=\"1.0\"?>\n<adag/>\n"),
        ("what sacct writes", b"JobID|User|Submit|Start\n1|ann|2026-01-01T00:00:00|Unknown\n"),
        ("a table", b"# jobs\njob,submit,runtime\n1,0,9\n"),
        ("neither", b"jobs 12\n[[site]]\n"),
        ("an include with faults", twice.as_bytes()),
        ("an include that is not there", missing.as_bytes()),
        ("includes that go round", circle.as_bytes()),
        ("an include of itself", self_.as_bytes()),
    ];
    let mut page = String::new();
    for (title, grid) in grids {
        let files: [(&str, &[u8]); 4] = [
            ("grid.toml", grid),
            ("bad.toml", b"jobs = 0\nload = 3\nsource = \"market\"\nlod = 1\n"),
            ("x/a.toml", b"include = \"../y/b.toml\"\n"),
            ("y/b.toml", b"\n include = \"../x/a.toml\"\n"),
        ];
        add_message(&mut page, title, &load_files(&files, &[]).expect_err(title));
    }
    let reasons =
        read_topology("there/is/none.toml", &[], &mut |_| Err("there is no such file".to_owned())).unwrap_err();
    add_message(&mut page, "no file", &reasons);
    let large = read_topology("large.toml", &[], &mut |_| Ok(vec![b'#'; (64 << 20) + 1])).unwrap_err();
    add_message(&mut page, "a file that is too large", &large);
    let mut log = b";\n1 0 0 9 1 -1 -1 1 9 -1 1 1 1 1 1 -1 -1 -1\n".repeat(1 << 21);
    log.truncate((64 << 20) + 7);
    let large = read_topology("large.txt", &[], &mut |_| Ok(log.clone())).unwrap_err();
    add_message(&mut page, "a log that is too large", &large);
    golden("files.txt", &page);
}

#[test]
fn all_at_once_and_each_once() {
    let text = r#"nam = "grid"
defaults.site.latency = 5
[market]
policy = "fastest"
[[site]]
name = "site-{}"
count = 1000
cores = 0
[[user]]
name = "Alice"
[[workload]]
source = "market"
users = ["bob"]
jobs = 0
"#;
    let mut page = String::new();
    add_message(&mut page, "all at once", &load_text(text, &["market.tik=1 s"]).unwrap_err());
    golden("all.txt", &page);
}

#[test]
fn thousands_of_errors_are_cut() {
    let keys = |count| (0..count).map(|n| format!("key-{n} = 1\n")).collect::<String>();
    let end = |text: &str| load_text(text, &[]).unwrap_err().to_string().lines().last().unwrap().to_owned();
    assert_eq!(end(&keys(100)), "... and 54 more");
    assert_eq!(end(&keys(100_000)), "... and at least 950 more");
}

#[test]
fn colour_is_optional() {
    let diagnostics = load_text(FINE, &["site.york.cores=0"]).unwrap_err();
    assert_eq!(
        diagnostics.render(true),
        "\x1b[1;31merror\x1b[0m\x1b[1m: site.york.cores: expected a whole number from 1 to 2147483648, found 0\x1b[0m\n \
         \x1b[1;34m-->\x1b[0m the command line\n  \
         \x1b[1;34m|\x1b[0m\n\
         \x1b[1;34m  |\x1b[0m --set site.york.cores=0\n  \
         \x1b[1;34m|\x1b[0m                       \x1b[1;31m^\x1b[0m\n\n"
    );
}

fn check_faults(name: &str, faults: &[Fault]) {
    let mut page = String::new();
    for (fine, fault) in faults {
        assert!(FINE.contains(fine), "{fine}");
        let title = if fault.is_empty() { format!("without {fine}") } else { (*fault).to_owned() };
        let diagnostics = load_text(&FINE.replacen(fine, fault, 1), &[]).expect_err(fault);
        check_message(&diagnostics);
        add_message(&mut page, &title, &diagnostics);
    }
    golden(name, &page);
}

/// Checks that programs get the same errors as people.
fn check_message(diagnostics: &InvalidInput) {
    let read = diagnostics.to_string();
    let mut headings = Vec::new();
    let mut places = Vec::new();
    for line in read.lines() {
        headings.extend(line.strip_prefix("error: "));
        places.extend(line.trim_start().strip_prefix("--> "));
    }
    let all = diagnostics.rendered();
    assert!(all.len() >= headings.len() && headings.len() == places.len(), "{read}");
    for ((message, heading), place) in all.iter().zip(headings).zip(places) {
        let Rendered { file, line, column, key, message, hint } = message;
        let key = key.as_ref().map_or(String::new(), |key| format!("{key}: "));
        assert_eq!(format!("{key}{message}"), heading);
        assert_eq!(hint.is_some(), hint.as_ref().is_some_and(|hint| read.contains(hint.split("; ").next().unwrap())));
        let found = match (file, line, column) {
            (Some(file), Some(line), Some(column)) => format!("{file}:{line}:{column}"),
            (Some(file), ..) => file.clone(),
            (None, ..) => "the command line".to_owned(),
        };
        assert_eq!(found, place, "{read}");
    }
}

#[test]
fn programs_get_every_error_of_several_files_and_lines() {
    let text = "name = \"Ünfein é\"\n[market]\npolicy = \"fifoo\"\nccr = nan\n[[workload]]\ninclude = \"more.toml\"\n";
    let more = "# é\nsource = \"market\"\n\n\n   jobs = 0\nloaad = 2\n";
    let files: [(&str, &[u8]); 2] = [("grid.toml", text.as_bytes()), ("more.toml", more.as_bytes())];
    let diagnostics = load_files(&files, &["seed=x", "site.york.latency=5"]).unwrap_err();
    check_message(&diagnostics);
    let all = diagnostics.rendered();
    assert!(all.len() >= 5, "{diagnostics}");
    assert!(
        all.iter().any(|message| message.file.is_none()) && all.iter().any(|message| message.hint.is_some()),
        "{diagnostics}"
    );
    assert!(
        all.iter().any(|message| message.file.as_deref() == Some("more.toml") && message.line == Some(5)),
        "{diagnostics}"
    );
}

fn add_message(page: &mut String, title: &str, diagnostics: &InvalidInput) {
    page.push_str(&format!("#### {}\n\n{diagnostics}\n\n", title.trim().replace('\n', "; ")));
}

/// Errors of a log in a topology, one after the other.
fn of_log(log: &str, keys: &str) -> Vec<String> {
    let text = format!(
        "name = \"logs\"\n[batch]\n[[site]]\nname = \"york\"\ncores = 8\n[[user]]\nname = \"ann\"\n[[workload]]\n{keys}\n"
    );
    let mut read = |path: &str| match path {
        "grid.toml" => Ok(text.clone().into_bytes()),
        _ => Ok(log.as_bytes().to_vec()),
    };
    let diagnostics = read_topology("grid.toml", &[], &mut read).map(|_| ()).unwrap_err();
    diagnostics.to_string().split("\n\n").map(str::to_owned).collect()
}

#[test]
fn a_log_without_jobs_is_called_what_it_is() {
    let log = "source = \"swf\"\nfile = \"log.swf\"";
    for (bytes, why) in
        [("", "it is empty"), (" \n\n", "it is empty"), ("; UnixStartTime: 0\n", "it has only comments")]
    {
        let errors = of_log(bytes, log);
        assert_eq!(errors.len(), 1, "{errors:?}");
        assert!(errors[0].contains(&format!("log.swf has no job to run: {why}\n")), "{errors:?}");
    }
    let dump = "source = \"sacct\"\nfile = \"sacct.txt\"";
    let errors = of_log("JobIDRaw|Submit|Start|ElapsedRaw|NCPUS\n", dump);
    assert!(errors[0].contains("sacct.txt has no job to run: it has only a header\n"), "{errors:?}");
    let errors = of_log("", dump);
    assert!(errors[0].contains("sacct.txt: it is empty\n"), "{errors:?}");
}

#[test]
fn a_part_of_a_log_that_ends_before_it_begins_is_one_error() {
    let job = "1 0 -1 10 1 -1 -1 1 10 -1 1 1 1 -1 -1 -1 -1 -1\n";
    for (from, to) in [("2 d", "1 d"), ("1 d", "1 d")] {
        let keys = format!("source = \"swf\"\nfile = \"log.swf\"\nfrom = \"{from}\"\nto = \"{to}\"");
        let errors = of_log(job, &keys);
        assert_eq!(errors.len(), 1, "{errors:?}");
        assert!(errors[0].contains("expected `to` after `from`"), "{errors:?}");
    }
}

/// Batch systems are no sources, but their logs can be read; the hint is for workloads alone.
#[test]
fn a_batch_system_as_a_source_gets_a_hint() {
    let hints = |keys: &str, hint: &str| {
        let errors = of_log("", keys);
        assert_eq!(errors.len(), 1, "{errors:?}");
        errors[0].contains(hint)
    };
    let hint = "logs of batch systems are read in the Standard Workload Format: source = \"swf\"";
    assert!(hints("source = \"pbs\"", hint) && !hints("source = \"lubln\"", hint));
    assert!(hints("source = \"slurm\"", "source = \"sacct\""));
}
