//! Input and output of commands: JSON for programs, standard input, quiet mode, manual pages, omissions of logs, names.

use std::ffi::OsStr;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::Value;

use crate::grid::{HANSA, ROUTER, SITE, Scratch, digest, expect_error, hansa, hansa_ok, shipped, text};
use crate::skip::skip;

const GRID: &str = "name = \"grid\"\n[batch]\n[[site]]\nname = \"york\"\ncores = 8\nscheduler = \"fcfs\"\n[[user]]\nname = \"ann\"\n\
                    [[workload]]\nsource = \"swf\"\nfile = \"log.swf\"\n";
/// A job without nodes, one without run time, and one without a requested time.
const LOG: &str = "1 0 -1 60 -1 -1 -1 -1 60 -1 1 1 1 -1 -1 -1 -1 -1\n2 1 -1 0 1 -1 -1 1 60 -1 1 1 1 -1 -1 -1 -1 -1\n\
                   3 2 -1 60 1 -1 -1 1 -1 -1 1 7 1 -1 -1 -1 2 5\n";

fn with_input(arguments: &[&str], input: &str) -> Output {
    let mut command = Command::new(HANSA);
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    child.wait_with_output().unwrap()
}

fn parsed(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {}", text(&output.stdout)))
}

#[test]
fn validate_reports_what_a_run_would_leave_out() {
    let scratch = Scratch::new();
    let topology = scratch.file("grid.toml", GRID);
    scratch.file("log.swf", LOG);
    let output = hansa_ok(&[Path::new("validate"), &topology]);
    let printed = text(&output.stderr);
    for words in [
        "1 left out",
        "job 1: its number of processors is unknown",
        "1 job without run time",
        "1 job requesting no time",
    ] {
        assert!(printed.contains(words), "{words}: {printed}");
    }
    let strict = hansa(&[Path::new("validate"), Path::new("--strict"), &topology]);
    assert_eq!((strict.status.code(), text(&strict.stdout)), (Some(2), String::new()));
    let json = parsed(&hansa_ok(&[Path::new("validate"), Path::new("--json"), &topology]));
    assert!(json["fine"] == true && json["left_out"][0].as_str().unwrap().contains("1 left out"), "{json}");

    let wrong = scratch.file("wrong.toml", "name = 1\n");
    let output = hansa(&[Path::new("validate"), Path::new("--json"), &wrong]);
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(2), String::new()));
    let json = parsed(&output);
    assert!(json["wrong"].as_str().unwrap().contains("wrong.toml:1:8"), "{json}");
    let all = json["complaints"].as_array().unwrap();
    let first = all.iter().find(|message| message["key"] == "name").unwrap();
    assert!(first["file"].as_str().unwrap().ends_with("wrong.toml"), "{json}");
    assert_eq!((&first["line"], &first["column"]), (&1.into(), &8.into()), "{json}");
    assert!(first["message"].as_str().unwrap().starts_with("expected"), "{json}");
    let json = parsed(&hansa(&[Path::new("validate"), Path::new("--strict"), Path::new("--json"), &topology]));
    assert_eq!((&json["complaints"][0]["message"], &json["complaints"][0]["line"]), (&json["wrong"], &Value::Null));
    let quiet = hansa_ok(&[Path::new("validate"), Path::new("-q"), &topology]);
    assert_eq!(
        (text(&quiet.stdout), text(&quiet.stderr)),
        (String::new(), printed.clone()),
        "no more than warnings, and all of them"
    );
    let out = scratch.path("out");
    let run =
        hansa_ok(&[Path::new("run"), Path::new("-q"), Path::new("--inline"), &topology, Path::new("--out"), &out]);
    assert_eq!((text(&run.stdout), text(&run.stderr)), (String::new(), printed), "where no summary tells of them");
}

#[test]
fn convert_reports_what_it_ignores() {
    let scratch = Scratch::new();
    let log = scratch.file("log.swf", LOG);
    let convert = |flags: &[&str]| {
        let mut arguments = vec!["convert".into(), log.clone()];
        arguments.extend(flags.iter().map(Into::into));
        hansa(&arguments)
    };
    let printed = text(&convert(&[]).stderr);
    assert!(printed.contains("1 follow another job") && printed.contains("1 left out"), "{printed}");
    assert_eq!(text(&convert(&["-q"]).stderr), printed);
    let strict = convert(&["--strict"]);
    assert_eq!(strict.status.code(), Some(2));
    let printed = text(&convert(&["--to", "requests"]).stderr);
    assert!(printed.contains("2 have a user or a group") && printed.contains("1 job without run time"), "{printed}");

    assert!(printed.contains("1 job requests no time, and the run time is taken instead"), "{printed}");
    let strict_with = |to: &str, line: &str| {
        let log = scratch.file("one.swf", line);
        hansa(&["convert".into(), log, "--strict".into(), "--to".into(), to.into()])
    };
    let unasked = strict_with("requests", "1 0 -1 60 1 -1 -1 1 -1 -1 1 -1 -1 -1 -1 -1 -1 -1\n");
    assert_eq!((unasked.status.code(), unasked.stdout.is_empty()), (Some(2), true), "{}", text(&unasked.stderr));
    let asked = strict_with("requests", "1 0 -1 60 1 -1 -1 1 90 -1 1 -1 -1 -1 -1 -1 -1 -1\n");
    assert!(asked.status.success() && asked.stderr.is_empty(), "{}", text(&asked.stderr));

    // Fields that Batsim represents differently, and decimals.
    let odd = "1 0 2.5 0 3 1.5 1024.5 -1 0 0.25 1 7 -1 -1 2 -1 -1 -1\n";
    let there = strict_with("batsim", odd);
    assert!(there.status.success(), "{}", text(&there.stderr));
    let there = scratch.file("odd.json", &text(&there.stdout));
    let back = hansa_ok(&[Path::new("convert"), Path::new("--strict"), &there]);
    assert!(text(&back.stdout).ends_with(&format!("\n{odd}")), "{}", text(&back.stdout));

    // A round trip restores all fields of a job.
    let batsim = scratch.file("log.json", &text(&convert(&[]).stdout));
    let back = text(&hansa_ok(&[Path::new("convert"), &batsim]).stdout);
    assert!(back.contains("\n3 2 -1 60 1 -1 -1 1 -1 -1 1 7 1 -1 -1 -1 2 5\n"), "{back}");
}

#[test]
fn a_file_is_not_written_under_the_name_of_another_format() {
    let scratch = Scratch::new();
    let log = scratch.path("jobs.swf");
    hansa_ok(&["generate", "lublin", "--jobs", "3", "--out", log.to_str().unwrap()]);
    let refused: [(&[&str], &str, &str); 4] = [
        (&["generate", "lublin", "--jobs", "3"], "jobs.json", "ends in .swf"),
        (&["generate", "lublin", "--jobs", "3"], "jobs.swf.gz", "ends in .swf"),
        (&["convert", log.to_str().unwrap()], "jobs.toml", "ends in .json"),
        (&["convert", log.to_str().unwrap(), "--to", "requests"], "jobs.json", "ends in .toml"),
    ];
    for (arguments, name, expected) in refused {
        let out = scratch.path(name);
        let output = hansa(&[arguments, &["--out", out.to_str().unwrap()]].concat());
        let printed = text(&output.stderr);
        assert!(output.status.code() == Some(2) && printed.contains(expected) && printed.contains("--to"), "{printed}");
        assert!(!out.exists(), "{name}");
    }
}

#[test]
fn json_is_the_same_in_both_layouts_and_verify_speaks_it() {
    let scratch = Scratch::new();
    let run = |out: &str, flags: &[&str]| {
        let topology = shipped("three-sites.toml");
        let out = scratch.path(out);
        let mut arguments = vec!["run".into(), topology, "--json".into(), "--out".into(), out];
        arguments.extend(flags.iter().map(Into::into));
        parsed(&hansa_ok(&arguments))
    };
    let inline = run("inline", &["--inline"]);
    let processes = run("processes", &[]);
    assert_eq!(inline["results"], processes["results"]);
    assert_eq!(inline["results"]["digest"], digest(&scratch.path("inline")));
    assert_eq!(processes["out"], scratch.path("processes").to_str().unwrap());

    let verify = |a: &str, b: &str| hansa(&["verify".into(), "--json".into(), scratch.path(a), scratch.path(b)]);
    assert_eq!(parsed(&verify("inline", "processes"))["same"], true);
    run("other", &["--inline", "--seed", "5", "--set", "name=other"]);
    let differ = verify("inline", "other");
    assert_eq!(differ.status.code(), Some(1));
    let json = parsed(&differ);
    assert!(json["same"] == false && !json["causes"].as_array().unwrap().is_empty(), "{json}");

    let out = scratch.path("quiet");
    let quiet = hansa_ok(&["run".into(), shipped("three-sites.toml"), "-q".into(), "--out".into(), out.clone()]);
    assert_eq!((text(&quiet.stdout), text(&quiet.stderr)), Default::default());
    assert_eq!(digest(&out), digest(&scratch.path("inline")));
    let verbose = hansa_ok(&["run".into(), shipped("three-sites.toml"), "-v".into(), "--out".into(), out]);
    let printed = text(&verbose.stderr);
    let members = printed.lines().filter(|line| line.contains(" joined router=")).count();
    assert!(members > 1 && printed.contains("all members have joined"), "every process tells what it does: {printed}");
}

#[test]
fn a_topology_may_come_through_standard_input() {
    let scratch = Scratch::new();
    let shown = text(&hansa_ok(&[Path::new("show"), &shipped("three-sites.toml")]).stdout);
    let fine = with_input(&["validate", "-"], &shown);
    assert!(fine.status.success() && text(&fine.stdout).starts_with("-: fine\n"), "{}", text(&fine.stderr));
    let a = scratch.path("a");
    let b = scratch.path("b");
    for (out, flags) in [(&a, &["--inline"][..]), (&b, &[])] {
        let mut arguments = vec!["run", "-", "--out", out.to_str().unwrap()];
        arguments.extend(flags);
        let output = with_input(&arguments, &shown);
        assert!(output.status.success(), "{}", text(&output.stderr));
    }
    assert_eq!(digest(&a), digest(&b));
    let wrong = with_input(&["validate", "-"], "name = 1\n");
    expect_error(&wrong, 2, "-:1:8");
}

#[test]
fn workflows_keep_their_names_and_need_no_work_to_be_planned() {
    let scratch = Scratch::new();
    let out = scratch.path("out");
    hansa_ok(&["run".into(), shipped("workflow.toml"), "--inline".into(), "--out".into(), out.clone()]);
    let names = |file: &str| {
        let table = std::fs::read_to_string(out.join(file)).unwrap();
        assert!(table.lines().next().unwrap().ends_with(",name"));
        table.lines().skip(1).map(|line| line.rsplit(',').next().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert!(names("jobs.csv").contains(&"mosaic".to_owned()), "{:?}", names("jobs.csv"));
    let tasks = names("tasks.csv");
    assert!(tasks.iter().any(|name| name.starts_with("project")), "{tasks:?}");
    hansa_ok(&["report".into(), "--trace".into(), out.clone()]);
    for file in ["report.html", "trace.json"] {
        let text = std::fs::read_to_string(out.join(file)).unwrap();
        assert!(text.contains("mosaic") && tasks.iter().all(|name| text.contains(name.as_str())), "{file}");
    }

    let bare = "name = \"bare\"\n[[site]]\nname = \"york\"\ncores = 4\n[[user]]\nname = \"ann\"\n";
    let bare = scratch.file("bare.toml", bare);
    let arguments = ["plan".into(), "--workflow".into(), shipped("mosaic.json"), bare.clone()];
    let table = text(&hansa_ok(&arguments).stdout);
    assert!(table.contains("planned (s)") && table.contains("ends (s)"), "{table}");
    assert_eq!(hansa(&["run".into(), bare]).status.code(), Some(2));
}

#[test]
fn the_page_shows_users_and_many_sites() {
    let scratch = Scratch::new();
    let topology = scratch.file(
        "many.toml",
        "name = \"many\"\nseed = 3\n[market]\n[[site]]\nname = \"s-{}\"\ncount = 44\ncores = 16\n[[user]]\nname = \"u-{}\"\ncount = 3\n\
         [[workload]]\nsource = \"market\"\njobs = 60\ncores_max = 8\nload = 0.8\n",
    );
    let out = scratch.path("out");
    hansa_ok(&["run".into(), topology, "--inline".into(), "--out".into(), out.clone()]);
    hansa_ok(&["report".into(), out.clone()]);
    let page = std::fs::read_to_string(out.join("report.html")).unwrap();
    for words in [
        "id=\"busy-sites\"",
        "<title>s-44, 16 cores</title>",
        "Core hours by user and site",
        "34 other sites",
        "Mean SLR",
    ] {
        assert!(page.contains(words), "{words}");
    }

    // A workflow that is submitted at once says nothing about the load of the grid meanwhile.
    let flow = scratch.path("flow");
    let printed =
        text(&hansa_ok(&["run".into(), shipped("workflow.toml"), "--inline".into(), "--out".into(), flow]).stdout);
    assert!(printed.contains("utilisation over the makespan") && !printed.contains("while jobs arrived"), "{printed}");
}

#[test]
fn edges_may_say_units_and_bidders_lie_beside_their_topology() {
    let scratch = Scratch::new();
    let grid = |data: &str| {
        let text = format!(
            "name = \"units\"\n[market]\n[[site]]\nname = \"s-{{}}\"\ncount = 2\ncores = 4\n[[link]]\nname = \"l\"\nbetween = [\"s-1\", \"s-2\"]\n\
             capacity = \"1 Gbps\"\n[[user]]\nname = \"ann\"\n[[workload]]\nsource = \"table\"\n[[workload.job]]\n\
             tasks = [{{ runtime = \"1 min\", cores = 1 }}, {{ runtime = \"1 min\", cores = 1 }}]\nedges = [[0, 1, {data}]]\n"
        );
        hansa(&[Path::new("show"), &scratch.file("grid.toml", &text)])
    };
    assert_eq!(text(&grid("\"2 GB\"").stdout), text(&grid("2000000000").stdout));
    assert!(text(&grid("\"2 GB\"").stdout).contains("2000000000"));
    assert!(
        text(&grid("\"2 Gold\"").stderr).contains("expected a volume such as"),
        "{}",
        text(&grid("\"2 Gold\"").stderr)
    );

    // From any current directory.
    let mut command = Command::new(HANSA);
    command.args(["run", "--inline", "--out"]).arg(scratch.path("out")).arg(shipped("foreign-bidder.toml"));
    let output = command.current_dir(scratch.path("")).output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
}

#[test]
fn every_command_has_a_manual_page_and_the_version_a_commit() {
    let scratch = Scratch::new();
    let pages = scratch.path("pages");
    hansa_ok(&["man".into(), "--out".into(), pages.clone()]);
    for page in ["hansa.1", "hansa-run.1", "hansa-reproduce-market.1", "hansa-generate-dag.1"] {
        let page = std::fs::read_to_string(pages.join(page)).unwrap();
        assert!(page.contains("Examples") || page.contains("Exit codes"), "{page}");
    }
    let run = text(&hansa_ok(&["man", "run"]).stdout);
    assert!(run.contains("--per") && !run.contains(".TH") && !run.contains("\\-"), "{run}");
    let page = std::fs::read_to_string(pages.join("hansa-run.1")).unwrap();
    assert!(page.contains(&format!("\n.TH hansa-run 1  \"hansa {}", env!("CARGO_PKG_VERSION"))), "{page}");
    let help = text(&hansa_ok(&["plan", "--help"]).stdout);
    let (own, common) = help.split_once("\nCommon options:\n").unwrap();
    assert!(!own.contains("--quiet") && common.contains("--quiet") && common.contains("--verbose"), "{help}");
    assert!(help.contains("\n  network-heft  HEFT ") && help.contains("\n  heft          HEFT "), "{help}");
    let missing = hansa(&["man", "reproduce", "nothing"]);
    expect_error(&missing, 2, "no command hansa reproduce nothing");
    let near = text(&hansa(&["man", "reproduce", "hetf"]).stderr);
    assert!(near.contains("no command hansa reproduce hetf; did you mean heft?"), "{near}");
    let version = text(&hansa_ok(&["--version"]).stdout);
    assert!(version.starts_with(concat!("hansa ", env!("CARGO_PKG_VERSION"))), "{version}");
}

#[test]
fn mistyped_commands_and_values_are_reported_with_the_expected_ones() {
    let wrong: [(&[&str], &str); 8] = [
        (&["rnu"], "a similar subcommand exists: 'run'"),
        (&["-q", "generate", "dga"], "a similar subcommand exists: 'dag'"),
        (&["run", "topologies/quickstart.toml", "--seed", "5", "--set", "seed=6"], "--seed 5 and --set seed=6"),
        (&["router", "--topology", "x.toml", "--identity", "x", "--bind", "4433"], "such as 0.0.0.0:4433"),
        (&["run", "x.toml", "--seed", "abc"], "expected a whole number from 0 to 18446744073709551615"),
        (&["run", "x.toml", "--stall-after", "-5s"], "expected a time above 0, such as 30s"),
        (&["sweep", "x.toml", "--threads", "0"], "expected a whole number from 1 to 1024"),
        (&["site", "--topology", "x.toml", "--identity", "x", "--name", "york", "--router", "localhost"], "HOST:PORT"),
    ];
    for (arguments, expected) in wrong {
        let output = hansa(arguments);
        expect_error(&output, 2, expected);
    }
}

/// On a terminal a manual page is shown by `man`, if it is installed.
#[test]
fn a_manual_page_is_read_on_a_terminal() {
    use std::os::unix::fs::PermissionsExt;

    let scratch = Scratch::new();
    let man = scratch.file("man", "#!/bin/sh\n/bin/sed -n 's/^.TH \\([^ ]*\\).*/shown by man '\"$*\"' \\1/p'\n");
    std::fs::set_permissions(&man, std::fs::Permissions::from_mode(0o755)).unwrap();
    let on_a_terminal = |path: &Path| {
        let mut script = Command::new("/usr/bin/script");
        script.args(["-qec", &format!("{HANSA} man run"), "/dev/null"]).env("PATH", path).env("SHELL", "/bin/sh");
        script.stdin(Stdio::null()).output()
    };
    let Ok(shown) = on_a_terminal(man.parent().unwrap()) else { return skip("there is no program `script` here") };
    assert!(text(&shown.stdout).contains("shown by man -l - hansa-run"), "{}", text(&shown.stdout));
    let plain = on_a_terminal(Path::new("/nowhere")).unwrap();
    let printed = text(&plain.stdout);
    assert!(printed.contains("`man` is not installed here") && printed.contains("Usage: hansa run"), "{printed}");
}

#[test]
fn an_identity_of_another_party_is_refused_before_any_connection() {
    let scratch = Scratch::new();
    let topology = shipped("quickstart.toml");
    let identities = scratch.path("identities");
    hansa_ok(&["certs".into(), topology.clone(), "--out".into(), identities.clone()]);
    let start = |program: &str, identity: &str, more: &[&str]| {
        let mut command = Command::new(program);
        command.arg("--topology").arg(&topology).arg("--identity").arg(identities.join(identity)).args(more);
        let output = command.stdin(Stdio::null()).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
        text(&output.stderr)
    };
    let printed = start(ROUTER, "york.site", &["--bind", "127.0.0.1:0"]);
    assert!(printed.contains("is not valid for the router, only for york.site.hansa"), "{printed}");
    let printed = start(SITE, "york.site", &["--name", "leeds", "--router", "127.0.0.1:9"]);
    assert!(printed.contains("is not valid for site leeds, only for york.site.hansa"), "{printed}");
}

#[test]
fn arguments_that_are_not_text_are_no_panic() {
    let scratch = Scratch::new();
    let odd = OsStr::from_bytes(b"\xff");
    let mistyped = Command::new(HANSA).arg(odd).output().unwrap();
    assert_eq!(mistyped.status.code(), Some(2), "{}", text(&mistyped.stderr));

    std::fs::create_dir_all(scratch.path("home")).unwrap();
    let out = scratch.path("home").join(odd);
    let ran =
        Command::new(HANSA).args(["run", "--inline"]).arg(shipped("quickstart.toml")).arg("--out").arg(&out).output();
    let ran = ran.unwrap();
    assert!(ran.status.success(), "{}", text(&ran.stderr));
    assert!(out.join("manifest.json").is_file());
}

/// Wrong input of each command, and a part of its message.
#[test]
fn messages_say_what_is_expected() {
    let scratch = Scratch::new();
    let quickstart = shipped("quickstart.toml");
    let quickstart = quickstart.to_str().unwrap();
    let file = |name: &str, text: &str| scratch.file(name, text).to_str().unwrap().to_owned();
    let hello = file("hello.txt", "\nhello world\n");
    let empty = file("empty.swf", "");
    let log = file("jobs.swf", "1 0 -1 60 9 -1 -1 9 60 -1 1 1 1 -1 -1 -1 -1 -1\n");
    let profile = "\"profiles\": {\"ten\": {\"type\": \"delay\", \"delay\": 10}}";
    let unknown_profile =
        format!("{{\"jobs\": [{{\"id\": 1, \"subtime\": 0, \"res\": 2, \"profile\": \"tne\"}}], {profile}}}");
    let unknown_profile = file("profile.json", &unknown_profile);
    let early = format!("{{\"jobs\": [{{\"id\": 1, \"subtime\": -5, \"res\": 2, \"profile\": \"ten\"}}], {profile}}}");
    let early = file("early.json", &early);
    let binary = scratch.path("binary");
    std::fs::write(&binary, b"abc\n\xf0\x00").unwrap();
    let binary = binary.to_str().unwrap();
    let script = file("script", "#!/nowhere/python\n");
    let folder = scratch.path("folder").to_str().unwrap().to_owned();
    std::fs::create_dir(&folder).unwrap();
    let typo = scratch.path("job.swf").to_str().unwrap().to_owned();
    let identities = scratch.path("identities").to_str().unwrap().to_owned();
    hansa_ok(&["certs", quickstart, "--out", &identities]);
    let york = format!("{identities}/york.site");
    let site = |name: &'static str, identity: &str| {
        let flags =
            ["site", "--topology", quickstart, "--router", "localhost:4433", "--identity", identity, "--name", name];
        flags.map(str::to_owned).to_vec()
    };
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    let kinds = "expected a log of jobs (SWF), a Batsim workload (JSON), a dump of sacct with a header or events of \
                 Slurm's simulator";

    let wrong = [
        (
            words(&["certs", quickstart, "--out", &folder, "--group", "york,durahm"]),
            "no site or user durahm; did you mean durham?".into(),
        ),
        (
            words(&["certs", quickstart, "--out", &folder, "--group", "york,"]),
            "--group \"york,\": expected names with commas between them: york,durham".into(),
        ),
        (
            site("york", &identities),
            format!(
                "no identity in {identities}: expected a folder with ca.pem, cert.pem and key.pem, as `hansa certs` makes them; one process needs one of {identities}/alice.user"
            ),
        ),
        (site("york", &folder), "as `hansa certs` makes them\n".into()),
        (site("hull", &york), "the topology has no site hull: expected york, durham, leeds\n".into()),
        (site("", &york), "the topology has no site : expected --name NAME\n".into()),
        (
            words(&["bound", "--nodes", "8", &hello]),
            format!("hello.txt:2: {kinds}, or a topology (TOML) in a file that ends in .toml, found `hello world`\n"),
        ),
        (words(&["bound", "--nodes", "8", &empty]), format!("the file is empty: {kinds}\n")),
        (words(&["bound", "--nodes", "8", &log]), "no job fits on 8 nodes: the smallest needs 9\n".into()),
        (
            words(&["bound", "--nodes", "9", &log, "--from", "1h"]),
            "no job is submitted after --from: the last one is at 0 s\n".into(),
        ),
        (
            words(&["bound", "--nodes", "9", &log, "--from", "2h", "--to", "1h"]),
            "expected --to to be later than --from\n".into(),
        ),
        (
            words(&["bound", "--nodes", "9", &log, "--needs", "dual"]),
            "expected whole or dual-core; did you mean dual-core?".into(),
        ),
        (words(&["convert", &typo]), format!("there is no such file or folder; did you mean {log}?\n")),
        (
            words(&["convert", &hello]),
            format!("hello.txt:2: {kinds}, or a SimGrid platform (XML), found `hello world`\n"),
        ),
        (words(&["convert", binary]), "binary:2: expected text in UTF-8, found the byte 0xf0\n".into()),
        (words(&["convert", &unknown_profile]), "job 1: there is no profile tne; did you mean ten?\n".into()),
        (words(&["convert", &early]), "job 1: its subtime -5 is not a number of seconds from 0 on\n".into()),
        (
            words(&["clock", "--", "no-such-program"]),
            "cannot run no-such-program: no folder of $PATH has such a program\n".into(),
        ),
        (
            words(&["clock", "--strat", "now", "true"]),
            "expected one of --start, --until, --charge, --wait, --all-cores, --in-turn, or a command; did you mean --start?\n"
                .into(),
        ),
        (
            words(&["clock", "--", &hello]),
            format!("the file is not executable: chmod +x {hello}, or name its interpreter first\n"),
        ),
        (words(&["clock", "--", &folder]), "this is a folder\n".into()),
        (words(&["clock", "--", ""]), "expected a command, such as `hansa clock -- sleep 60`\n".into()),
    ];
    for (arguments, expected) in wrong {
        let output = hansa(&arguments);
        let message = text(&output.stderr);
        assert!(
            !output.status.success() && message.contains(&expected),
            "{arguments:?}: expected {expected:?}:\n{message}"
        );
    }
    let executable = std::os::unix::fs::PermissionsExt::from_mode(0o700);
    std::fs::set_permissions(&script, executable).unwrap();
    let output = hansa(&["clock", "--", &script]);
    assert!(text(&output.stderr).contains("its interpreter (the first line of a script"), "{}", text(&output.stderr));
}

/// README.md runs it to show failures.
#[test]
fn the_topology_of_failures_runs_without_a_warning() {
    let scratch = Scratch::new();
    let out = scratch.path("out");
    let run = hansa_ok(&["run".into(), "--inline".into(), shipped("failures.toml"), "--out".into(), out]);
    assert_eq!(text(&run.stderr), "");
    let summary = text(&run.stdout);
    for words in ["% of the time, goodput ", "% of that\n", "% of what ran became results; "] {
        assert!(summary.contains(words), "{words}: {summary}");
    }
}

#[test]
fn a_market_on_small_sites_is_given_the_size_that_fits() {
    let scratch = Scratch::new();
    let sites = "[[site]]\nname = \"york\"\ncores = 32\n[[site]]\nname = \"leeds\"\ncores = 16\n";
    let jobs = "[[user]]\nname = \"ann\"\n[[workload]]\nsource = \"market\"\njobs = 5\n";
    let of_one_kind = scratch.file("one.toml", &format!("name = \"one\"\n[market]\n{sites}{jobs}"));
    let output = hansa(&[Path::new("validate"), &of_one_kind]);
    let message = text(&output.stderr);
    assert!(message.contains("(`cores_max` is 100 by default)"), "{message}");
    assert!(message.contains("`cores_max = 32` is the most that fits"), "{message}");
    let kinds =
        sites.replace("cores = 32", "cores = 32\nkind = \"one\"").replace("cores = 16", "cores = 16\nkind = \"other\"");
    let of_two_kinds = scratch.file("two.toml", &format!("name = \"two\"\n[market]\n{kinds}{jobs}"));
    let message = text(&hansa(&[Path::new("validate"), &of_two_kinds]).stderr);
    assert!(
        message.contains("the largest site of kind other has 16") && message.contains("`cores_max = 16`"),
        "{message}"
    );
    let fits = format!("name = \"two\"\n[market]\n{kinds}{jobs}cores_max = 16\n");
    hansa_ok(&[Path::new("validate"), &scratch.file("two.toml", &fits)]);
}
