//! `hansa report`: its additions to a result folder, and its messages about incomplete results.

use std::path::Path;

use crate::grid::{Scratch, hansa, hansa_ok, shipped, text};

#[test]
fn a_report_is_added_to_a_result_that_stays_the_same() {
    let scratch = Scratch::new();
    let out = scratch.path("out");
    let run = |out: &std::path::Path| {
        hansa_ok(&[
            "run".as_ref(),
            shipped("market-trace.toml").as_os_str(),
            "--inline".as_ref(),
            "--out".as_ref(),
            out.as_os_str(),
        ]);
    };
    run(&out);
    run(&scratch.path("other"));
    let mut pages = Vec::new();
    for _ in 0..2 {
        hansa_ok(&["report".as_ref(), "--trace".as_ref(), out.as_os_str()]);
        pages.push((std::fs::read(out.join("report.html")).unwrap(), std::fs::read(out.join("trace.json")).unwrap()));
    }
    assert_eq!(pages[0], pages[1]);
    let mut names: Vec<_> =
        std::fs::read_dir(&out).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    let expected =
        ["events.jsonl", "jobs.csv", "manifest.json", "report.html", "summary.json", "tasks.csv", "trace.json"];
    assert_eq!(names, expected);
    let verify = hansa(&["verify".into(), out, scratch.path("other")]);
    assert!(verify.status.success(), "{}", text(&verify.stderr));
}

#[test]
fn a_run_adds_its_page_if_asked_to() {
    let scratch = Scratch::new();
    let topology = shipped("one-site.toml").to_string_lossy().into_owned();
    for (flags, page) in [(&["--inline"][..], true), (&["--processes", "2"], true), (&["--inline", "--json"], false)] {
        let out = scratch.path(&flags.concat()).to_string_lossy().into_owned();
        let printed = hansa_ok(&[&["run", &topology, "--report", "--out", &out], flags].concat());
        assert!(Path::new(&out).join("report.html").exists(), "{flags:?}");
        assert_eq!(text(&printed.stdout).contains("\npage  "), page, "{}", text(&printed.stdout));
    }
}

/// Ids of a Batsim workload may be any text, so a row of a table may span several lines.
#[test]
fn names_with_line_ends_are_read_back_from_tables() {
    let scratch = Scratch::new();
    let job = |id: &str| format!("{{ \"id\": {id}, \"subtime\": 0, \"res\": 1, \"profile\": \"p\" }}");
    let jobs = [r#""w0!a\nb, \"c\"""#, r#""w0!\r\n\n""#, r#""=1+1""#].map(job).join(", ");
    scratch.file(
        "w.json",
        &format!(
            "{{ \"nb_res\": 4, \"jobs\": [{jobs}], \"profiles\": {{ \"p\": {{ \"type\": \"delay\", \"delay\": 9 }} }} }}"
        ),
    );
    let grid = "name = \"g\"\n[batch]\n[[site]]\nname = \"york\"\ncores = 4\n[[user]]\nname = \"ann\"\n\
                [[workload]]\nsource = \"batsim\"\nfile = \"w.json\"\n";
    let grid = scratch.file("g.toml", grid);
    let out = scratch.path("out");
    hansa_ok(&[
        "run".into(),
        grid,
        "--inline".into(),
        "--format".into(),
        "parquet".into(),
        "--out".into(),
        out.clone(),
    ]);
    // Names are exact, even if a spreadsheet takes them for formulas.
    let table = std::fs::read_to_string(out.join("jobs.csv")).unwrap();
    for name in [",\"w0!a\nb, \"\"c\"\"\"\n", ",\"w0!\r\n\n\"\n", ",=1+1\n"] {
        assert!(table.contains(name), "{name:?}: {table}");
    }
    let report = hansa(&["report".into(), out.clone()]);
    assert!(report.status.success() && report.stderr.is_empty(), "{}", text(&report.stderr));
    let page = std::fs::read_to_string(out.join("report.html")).unwrap();
    assert!(page.contains("=1+1"), "{page}");
}

#[test]
fn an_incomplete_result_is_refused_with_its_place() {
    let scratch = Scratch::new();
    let out = scratch.path("out");
    hansa_ok(&[
        "run".as_ref(),
        shipped("market-trace.toml").as_os_str(),
        "--inline".as_ref(),
        "--out".as_ref(),
        out.as_os_str(),
    ]);
    let refused = |folder: &std::path::Path, expected: &str| {
        let report = hansa(&["report".into(), folder.to_owned()]);
        assert_eq!(report.status.code(), Some(2), "{}", text(&report.stderr));
        assert!(text(&report.stderr).contains(expected), "{}", text(&report.stderr));
        assert!(!folder.join("report.html").exists() && !folder.join("trace.json").exists());
    };
    refused(&scratch.path("nowhere"), "there is no folder");
    std::fs::create_dir(scratch.path("empty")).unwrap();
    refused(&scratch.path("empty"), "not a result folder");

    let events = std::fs::read_to_string(out.join("events.jsonl")).unwrap();
    let change = |text: String| std::fs::write(out.join("events.jsonl"), text).unwrap();
    let third = events.lines().nth(2).unwrap();
    change(events.replacen(third, "{\"t\":0,nonsense", 1));
    refused(&out, "events.jsonl is damaged: line 3, column 7: expected");
    change(format!("{third}\n{events}"));
    refused(&out, "events.jsonl is damaged: line ");
    change(events[..events.len() - 9].to_owned());
    refused(&out, "the file is truncated");
    change(events.lines().take(1).map(|line| format!("{line}\n")).collect());
    refused(&out, "events.jsonl is damaged: its events have digest");
}

/// The comparison with current information needs a simulation for the page, so the log is read again.
#[test]
fn a_log_with_old_news_is_read_again_or_not_compared() {
    let scratch = Scratch::new();
    let jobs: Vec<String> =
        (1..=30).map(|job| format!("{job} {} -1 60 2 -1 -1 2 90 -1 1 1 1 -1 1 -1 -1 -1\n", 20 * job)).collect();
    let log = scratch.file("log.swf", &jobs.concat());
    let site = |name: &str| format!("[[site]]\nname = \"{name}\"\ncores = 4\nlatency = \"2 s\"\n");
    let topology = scratch.file(
        "old.toml",
        &format!(
            "name = \"old\"\n[batch]\ndispatch = \"least-work\"\n{}{}[[user]]\nname = \"a\"\n[[workload]]\nsource = \"swf\"\nfile = \"log.swf\"\n",
            site("york"),
            site("leeds")
        ),
    );
    let out = scratch.path("out");
    hansa_ok(&["run".into(), topology, "--inline".into(), "--out".into(), out.clone()]);
    let report = || {
        let report = hansa(&["report".into(), out.clone()]);
        assert!(report.status.success(), "{}", text(&report.stderr));
        text(&report.stderr)
    };
    assert_eq!(report(), "");
    std::fs::remove_file(log).unwrap();
    let message = report();
    assert!(message.contains("no comparison") && message.contains("log.swf"), "{message}");
}
