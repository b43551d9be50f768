use proptest::prelude::*;

use super::*;
use crate::{CountedSummary, Counts, JobEnd, JobOutcome};

/// A job of a random repetition: what is common to all contenders, and its outcome under each.
#[derive(Clone, Debug)]
struct RandomJob {
    cores: u32,
    submitted: u64,
    counts: bool,
    /// Wait and execution in seconds, and the end, by contender.
    fates: Vec<(u64, u64, JobEnd)>,
}

const ENDS: [JobEnd; 5] = [JobEnd::Finished, JobEnd::Finished, JobEnd::Finished, JobEnd::Killed, JobEnd::Refused];

fn random_job(contenders: usize) -> impl Strategy<Value = RandomJob> {
    let fate = (0u64..5_000, 1u64..9_000, prop::sample::select(&ENDS[..]));
    let fates = prop::collection::vec(fate, contenders);
    (1u32..40, 0u64..100_000, prop::bool::weighted(0.8), fates)
        .prop_map(|(cores, submitted, counts, fates)| RandomJob { cores, submitted, counts, fates })
}

fn random_repetitions() -> impl Strategy<Value = (usize, Vec<Vec<RandomJob>>)> {
    (2usize..5, 1usize..5).prop_flat_map(|(contenders, repetitions)| {
        let jobs = prop::collection::vec(random_job(contenders), 1..60);
        (Just(contenders), prop::collection::vec(jobs, repetitions))
    })
}

fn has_ended(end: JobEnd) -> bool {
    matches!(end, JobEnd::Finished | JobEnd::Killed)
}

fn outcomes_of(jobs: &[RandomJob], contender: usize) -> RunOutcomes {
    let outcome = |(number, job): (usize, &RandomJob)| {
        let (wait, execution, end) = job.fates[contender];
        let started = (end != JobEnd::Refused).then_some((job.submitted + wait) * 1_000_000);
        JobOutcome {
            log: (1, 7 * number as u64 + 1),
            run: number as u64,
            user: 0,
            logged: (Some(number as u32 % 3), None),
            cores: Some(job.cores),
            submitted: job.submitted * 1_000_000,
            started,
            ended: started.filter(|_| has_ended(end)).map(|started| started + execution * 1_000_000),
            end,
            counts: job.counts,
            backfilled: None,
        }
    };
    RunOutcomes {
        users: vec!["ada".to_owned()],
        time_of_day: Some(0),
        jobs: jobs.iter().enumerate().map(outcome).collect(),
    }
}

/// Turnaround in seconds of a job that ended.
fn turnaround(job: &RandomJob, contender: usize) -> Option<f64> {
    let (wait, execution, end) = job.fates[contender];
    has_ended(end).then_some((wait + execution) as f64)
}

fn work(jobs: &[RandomJob], contender: usize) -> WorkDone {
    let mut counted = CountedSummary::default();
    for job in jobs {
        let jobs = &mut counted.jobs;
        match job.fates[contender].2 {
            _ if !job.counts => counted.warm_up += 1,
            end => {
                jobs.submitted += 1;
                match end {
                    JobEnd::Finished => jobs.finished += 1,
                    JobEnd::Killed => jobs.killed += 1,
                    _ => jobs.refused += 1,
                }
            }
        }
    }
    WorkDone { counted, idle_users: Vec::new() }
}

/// Metrics of a run of which only the mean turnaround is known.
fn metrics_with(turnaround: Option<f64>) -> Vec<Option<f64>> {
    metrics::all_metrics().map(|metric| turnaround.filter(|_| metric.name == "turnaround")).collect()
}

fn contest<'a>(repetitions: &[Vec<RandomJob>], outcomes: &'a [Vec<RunOutcomes>]) -> Contest<'a> {
    let contenders = outcomes[0].len();
    let own = |jobs: &[RandomJob], contender: usize| {
        let all: Vec<f64> = jobs.iter().filter(|job| job.counts).filter_map(|job| turnaround(job, contender)).collect();
        (!all.is_empty()).then(|| all.iter().sum::<f64>() / all.len() as f64)
    };
    let run = |jobs: &[RandomJob], contender: usize, outcomes: &'a RunOutcomes| {
        let metrics = metrics_with(own(jobs, contender));
        Some(ContestRun { metrics, work: Some(work(jobs, contender)), outcomes: Some(outcomes) })
    };
    let runs = repetitions.iter().zip(outcomes).map(|(jobs, outcomes)| {
        outcomes.iter().enumerate().map(|(contender, outcomes)| run(jobs, contender, outcomes)).collect()
    });
    Contest {
        names: (0..contenders).map(|contender| format!("c{contender}")).collect(),
        reference: 0,
        one: "entrant",
        repetition: "window",
        repetitions: runs.collect(),
    }
}

/// The 97.5 % quantile of Student's distribution for few degrees of freedom.
const STUDENT: [f64; 4] = [12.706, 4.303, 3.182, 2.776];

/// Mean of a number over the common jobs, with its interval over repetitions, from the definitions.
fn judged(
    contenders: usize,
    repetitions: &[Vec<RandomJob>],
    number: impl Fn(&RandomJob) -> Option<f64>,
) -> Option<(f64, Option<f64>)> {
    let mut sums = Vec::new();
    for jobs in repetitions {
        let is_common = |job: &&RandomJob| {
            let end = job.fates[0].2;
            job.counts && has_ended(end) && (0..contenders).all(|contender| job.fates[contender].2 == end)
        };
        let numbers: Vec<f64> = jobs.iter().filter(is_common).filter_map(&number).collect();
        if !numbers.is_empty() {
            sums.push((numbers.iter().sum::<f64>(), numbers.len() as f64));
        }
    }
    let count: f64 = sums.iter().map(|sum| sum.1).sum();
    if count == 0.0 {
        return None;
    }
    let mean = sums.iter().map(|sum| sum.0).sum::<f64>() / count;
    let clusters = sums.len() as f64;
    let squares: f64 = sums.iter().map(|(sum, count)| (sum - mean * count) * (sum - mean * count)).sum();
    let size = count / clusters;
    let within =
        (sums.len() > 1).then(|| STUDENT[sums.len() - 2] * (squares / (clusters * (clusters - 1.0))).sqrt() / size);
    Some((mean, within))
}

fn is_near(one: f64, other: f64) -> bool {
    (one - other).abs() <= 1e-3 * one.abs().max(other.abs()).max(1e-6)
}

proptest! {
    /// Means over common jobs, and their intervals, are those of a direct computation; so are the groups.
    #[test]
    fn means_are_those_of_the_jobs((contenders, repetitions) in random_repetitions()) {
        let outcomes: Vec<Vec<RunOutcomes>> = repetitions
            .iter()
            .map(|jobs| (0..contenders).map(|contender| outcomes_of(jobs, contender)).collect())
            .collect();
        let contest = contest(&repetitions, &outcomes);
        let all = contest.run_outcomes().unwrap();
        let common = CommonJobs::of(&all);
        for contender in 0..contenders {
            let sums = common.as_ref().map(|common| common.quantity_sums(JobQuantity::Turnaround, contenders));
            let found = sums.and_then(|sums| mean_of_clusters(&sums[contender]));
            let expected = judged(contenders, &repetitions, |job| turnaround(job, contender));
            prop_assert_eq!(found.is_some(), expected.is_some());
            if let Some((found, (mean, within))) = found.zip(expected) {
                prop_assert!(is_near(found.mean, mean), "{found:?} {mean}");
                if let Some((found, within)) = found.within.zip(within).filter(|_| repetitions.len() > 1) {
                    prop_assert!(is_near(found, within), "{found} {within}");
                }
            }
        }
        // A group of a table is the mean over its jobs.
        let Some(common) = common else { return Ok(()) };
        let names = &contest.names;
        let numbers = quantity_numbers(JobQuantity::Turnaround, contenders);
        let facts = &LogFacts::default();
        let groups =
            GroupTable { names, reference: 0, jobs: &common, facts, numbers: &numbers, repeats: 1, is_complete: false };
        let Some(table) = groups.table(JobQuantity::Turnaround) else { return Ok(()) };
        for row in table.rows.iter().filter(|row| row[0].text == "cores" && row[1].text == "17 to 64") {
            for contender in 0..contenders {
                let of_group =
                    |job: &RandomJob| turnaround(job, contender).filter(|_| (17..=64).contains(&job.cores));
                let (mean, _) = judged(contenders, &repetitions, of_group).unwrap();
                prop_assert!(is_near(row[3 + contender].number.unwrap(), mean));
            }
        }
    }

    /// The numbers of the jobs by their ends add up, and are those of the runs.
    #[test]
    fn work_is_counted_by_end((contenders, repetitions) in random_repetitions()) {
        let outcomes: Vec<Vec<RunOutcomes>> = repetitions
            .iter()
            .map(|jobs| (0..contenders).map(|contender| outcomes_of(jobs, contender)).collect())
            .collect();
        let contest = contest(&repetitions, &outcomes);
        let sums = work::work_of(&contest).unwrap();
        for (contender, sum) in sums.iter().enumerate() {
            let counts = |end: JobEnd| {
                let jobs = repetitions.iter().flatten().filter(|job| job.counts && job.fates[contender].2 == end);
                jobs.count() as u64
            };
            let finished = counts(JobEnd::Finished);
            let killed = counts(JobEnd::Killed);
            let refused = counts(JobEnd::Refused);
            let submitted = finished + killed + refused;
            let expected = Counts { submitted, finished, killed, refused, ..Counts::default() };
            prop_assert_eq!(sum.jobs, expected);
        }
    }
}

/// A repetition of jobs that all finish at once under each contender, after these seconds.
fn repetition(turnarounds: &[u64], end: JobEnd) -> Vec<RandomJob> {
    let job = |number: u64| RandomJob {
        cores: 1,
        submitted: number,
        counts: true,
        fates: turnarounds.iter().map(|seconds| (0, *seconds + number % 2, end)).collect(),
    };
    (0..20).map(job).collect()
}

fn answered(repetitions: &[Vec<RandomJob>], by: Option<&str>) -> Result<Answer, NoAnswer> {
    let contenders = repetitions[0][0].fates.len();
    let outcomes: Vec<Vec<RunOutcomes>> = repetitions
        .iter()
        .map(|jobs| (0..contenders).map(|contender| outcomes_of(jobs, contender)).collect())
        .collect();
    make_answer(&contest(repetitions, &outcomes), by)
}

#[test]
fn the_answer_names_who_wins_significantly() {
    let repetitions = [[100, 200, 300], [110, 215, 290], [105, 190, 310]].map(|own| repetition(&own, JobEnd::Finished));
    let all = answered(&repetitions, None).unwrap();
    assert!(all.verdict.starts_with("c0 has the best mean turnaround, 106 ± 12 s"), "{}", all.verdict);
    assert!(all.verdict.ends_with("over 3 windows: significantly better than c1 and c2."), "{}", all.verdict);
    assert!(all.warnings.is_empty(), "{:?}", all.warnings);
    assert!(all.remarks.iter().any(|remark| remark.contains("2 comparisons")), "{:?}", all.remarks);
    // The better mean alone decides nothing.
    let noisy = [[100, 200], [300, 110], [105, 190]].map(|own| repetition(&own, JobEnd::Finished));
    let all = answered(&noisy, None).unwrap();
    assert!(all.verdict.ends_with("but it does not differ significantly from c0."), "{}", all.verdict);
    // One row per contender, marked, in the text, the page and the JSON.
    let text = all.text(true);
    let page = String::from(all.head_html());
    let json = all.json().to_string();
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    assert!(page.contains("<strong>") && json.contains("\"mark\":\"best\""), "{page} {json}");
}

#[test]
fn runs_that_did_different_work_are_compared_by_common_jobs() {
    let mut repetitions = [[100, 200], [110, 215], [105, 190]].map(|own| repetition(&own, JobEnd::Finished));
    // Under c0 two jobs of each repetition are killed early, which makes its own mean look better.
    for job in repetitions.iter_mut().flat_map(|jobs| &mut jobs[..2]) {
        job.fates[0] = (0, 1, JobEnd::Killed);
    }
    let all = answered(&repetitions, None).unwrap();
    let warning = &all.warnings[0];
    let expected = "The runs did not do the same work: 90.0 % of the jobs finished under c0 (10.0 % killed at their \
                    walltime); 100.0 % of the jobs finished under c1.";
    assert!(warning.starts_with(expected) && warning.contains("54 jobs"), "{warning}");
    assert!(all.verdict.contains("over the 54 common jobs"), "{}", all.verdict);
    let heads: Vec<&str> = all.standings.heads.iter().map(|head| head.text.as_str()).collect();
    assert_eq!(heads[..3], ["entrant", "turnaround, s", "common jobs"]);
    let work = all.work.unwrap();
    assert!(work.heads.iter().any(|head| head.text == "turnaround, s, own"));
}

#[test]
fn questions_without_an_answer_have_a_reason() {
    let repetitions = [[100, 200], [110, 215]].map(|own| repetition(&own, JobEnd::Finished));
    let message = |by: &str| match answered(&repetitions, Some(by)) {
        Err(error) => error.to_string(),
        Ok(_) => panic!("{by} has an answer"),
    };
    assert_eq!(
        message("turnarond"),
        "--by turnarond: there is no such metric; did you mean turnaround (family turnaround)?; `hansa show --keys` lists all"
    );
    assert_eq!(
        message("value"),
        "--by value: no run has this number and none of the family value; they have turnaround"
    );
    let equal = [[100, 100], [110, 110]].map(|own| repetition(&own, JobEnd::Finished));
    let all = answered(&equal, None).unwrap();
    assert!(all.warnings[0].contains("what is compared changes nothing"), "{:?}", all.warnings);
}
