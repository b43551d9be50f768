use super::*;
use crate::experiment::answer::ContestRun;
use crate::{JobEnd, JobOutcome};

/// Waits in seconds of the jobs of a run.
type Waits = Vec<u64>;

/// The run of jobs that are submitted a minute apart and run for ten minutes each.
fn outcomes(waits: &Waits) -> RunOutcomes {
    let job = |(at, wait): (usize, &u64)| {
        let submitted = 60_000_000 * at as u64;
        let started = submitted + 1_000_000 * wait;
        JobOutcome {
            log: (1, at as u64 + 1),
            run: at as u64,
            user: at as u32 % 2,
            logged: (None, None),
            cores: Some(1 + at as u32 % 2),
            submitted,
            started: Some(started),
            ended: Some(started + 600_000_000),
            end: JobEnd::Finished,
            counts: true,
            backfilled: None,
        }
    };
    let users = vec!["ada".to_owned(), "ben".to_owned()];
    RunOutcomes { users, time_of_day: None, jobs: waits.iter().enumerate().map(job).collect() }
}

/// The answer about a baseline and changes in phases, each with the waits of each contender.
fn answer(phases: &[Vec<Waits>]) -> WhatIfAnswer {
    let outcomes: Vec<Vec<RunOutcomes>> = phases.iter().map(|runs| runs.iter().map(outcomes).collect()).collect();
    let run = |outcomes| Some(ContestRun { metrics: Vec::new(), work: None, outcomes: Some(outcomes) });
    let contenders = phases[0].len();
    let names = (0..contenders).map(|at| if at == 0 { "baseline".to_owned() } else { format!("change-{at}") });
    let contest = Contest {
        names: names.collect(),
        reference: 0,
        one: "variant",
        repetition: "phase",
        repetitions: outcomes.iter().map(|runs| runs.iter().map(run).collect()).collect(),
    };
    let digests = phases.iter().map(|runs| runs.iter().map(|waits| format!("{waits:?}")).collect()).collect();
    let facts = LogFacts::default();
    let what_if = WhatIf { name: "x".to_owned(), contest, digests, facts: &facts, changes: Vec::new() };
    answer_what_if(what_if).unwrap()
}

/// Waits of forty jobs: the first number for jobs at even places, the second for others.
fn waits(even: u64, odd: u64) -> Waits {
    (0..40).map(|at| if at % 2 == 0 { even } else { odd }).collect()
}

#[test]
fn differences_are_paired_phase_by_phase() {
    // Phases differ by hours, the change from the baseline by minutes: only pairs show it.
    let phases = [(9_000, 100), (100, 110), (4_000, 90)];
    let phases = phases.map(|(base, less)| vec![waits(base + 200, 300), waits(base + 200 - less, 300)]);
    let answer = answer(&phases);
    assert_eq!(answer.verdicts.len(), 1);
    // Half of the jobs wait less by 100 s on average; the interval is that of 50, 55 and 45 s.
    let row = &answer.waits.rows[1];
    assert!((row[2].number.unwrap() + 50.0).abs() < 1e-9, "{row:?}");
    assert!((row[2].within.unwrap() - 4.302_652_729_7 * 5.0 / 3f64.sqrt()).abs() < 1e-6, "{row:?}");
    assert!(answer.verdicts[0].starts_with("Under change-1, the mean wait falls from "), "{:?}", answer.verdicts);
    assert!(answer.verdicts[0].contains("By cores, jobs wait: 1 less by 100 ± 25 s."), "{:?}", answer.verdicts);
    assert!(answer.method[0].starts_with("Means over 40 jobs") && answer.method[0].contains("over 3 phases"));
    // Jobs count once, and groups without a difference are not marked.
    let groups = answer.by_group.as_ref().unwrap();
    let row = |label: &str| groups.rows.iter().find(|row| row[1].text == label).unwrap();
    assert_eq!((row("1")[2].number, row("1")[4].mark), (Some(20.0), Mark::Better));
    assert_eq!((row("ben")[2].number, row("ben")[4].mark), (Some(20.0), Mark::Plain));
    assert_eq!(row("ben")[4].number, Some(0.0));
}

#[test]
fn chance_is_no_change() {
    let phases = [(100, 300), (300, 100), (200, 210)];
    let answer = answer(&phases.map(|(base, own)| vec![waits(base, base), waits(own, own)]));
    assert!(answer.verdicts[0].contains("does not change significantly: 200 "), "{:?}", answer.verdicts);
    assert!(!answer.verdicts[0].contains("By "), "{:?}", answer.verdicts);
}

#[test]
fn equal_phases_stand_for_one() {
    let runs = vec![waits(100, 200), waits(100, 150), waits(100, 200)];
    let three = answer(&[runs.clone(), runs.clone(), runs.clone()]);
    assert!(three.method[0].contains("all 3 phases have the same waits"), "{:?}", three.method);
    assert!(three.method[0].contains("over 4 parts of the log"), "{:?}", three.method);
    assert!(three.verdicts[1].starts_with("change-2 changes nothing: "), "{:?}", three.verdicts);
    assert_eq!(three.waits.rows[1][2].number, Some(-25.0));
    let one = answer(&[runs]);
    assert!(one.method[0].contains("There is one phase"), "{:?}", one.method);
    assert_eq!((one.waits.rows[1][2].number, one.waits.rows[1][2].within), (Some(-25.0), None));
    assert!(one.verdicts[0].contains("nothing here shows whether that is more than chance"), "{:?}", one.verdicts);
    assert!(!one.text().contains('±') && !one.text().contains("comparisons"), "{}", one.text());
}

#[test]
fn percentiles_are_those_of_each_phase() {
    let rising = |from: u64| (0..40).map(|at| from + at).collect::<Waits>();
    let answer = answer(&[vec![rising(1), rising(1)], vec![rising(101), rising(101)]]);
    let numbers: Vec<f64> = answer.waits.rows[0][3..].iter().map(|cell| cell.number.unwrap()).collect();
    // Of 1 to 40: 20, 38 and 40; the means over both phases are 50 more.
    assert_eq!(numbers, [70.0, 88.0, 90.0]);
}

#[test]
fn groups_of_few_jobs_are_shown() {
    let few = |odd: u64| vec![300, odd, 300, odd];
    let phases = [vec![few(10), few(500)], vec![few(12), few(520)], vec![few(11), few(530)]];
    let answer = answer(&phases);
    let groups = answer.by_group.as_ref().unwrap();
    let row = groups.rows.iter().find(|row| row[0].text == "cores" && row[1].text.starts_with('2')).unwrap();
    assert_eq!((row[2].number, row[4].mark), (Some(2.0), Mark::Worse), "{row:?}");
    assert!(!groups.notes.iter().any(|note| note.contains("Not shown")), "{:?}", groups.notes);
    assert!(answer.method[1].starts_with("With 3 phases only"), "{:?}", answer.method);
}

#[test]
fn two_phases_that_agree_are_no_evidence() {
    let answer = answer(&[vec![waits(10, 10), waits(30, 10)], vec![waits(20, 10), waits(40, 10)]]);
    let row = &answer.waits.rows[1];
    assert_eq!((row[2].number, row[2].within, row[2].mark), (Some(10.0), None, Mark::Plain), "{row:?}");
}

#[test]
fn jobs_that_end_in_no_run_are_counted() {
    let mut with = outcomes(&waits(10, 20));
    with.jobs.truncate(30);
    for job in &mut with.jobs[..3] {
        (job.started, job.ended, job.end) = (None, None, JobEnd::Removed);
    }
    let run = || Some(ContestRun { metrics: Vec::new(), work: None, outcomes: Some(&with) });
    let contest = Contest {
        names: vec!["baseline".to_owned(), "change".to_owned()],
        reference: 0,
        one: "variant",
        repetition: "phase",
        repetitions: vec![vec![run(), run()]],
    };
    let facts = LogFacts::default();
    let digests = vec![vec!["a".to_owned(), "b".to_owned()]];
    let what_if = WhatIf { name: "x".to_owned(), contest, digests, facts: &facts, changes: Vec::new() };
    let answer = answer_what_if(what_if).unwrap();
    assert!(
        answer.warnings.iter().any(|warning| warning.starts_with("3 jobs ended in no run")),
        "{:?}",
        answer.warnings
    );
}
