//! The claims against numbers of an independent simulation of the same specification.

use std::collections::BTreeMap;

use super::super::*;
use super::experiment_of;
use hansa_report::experiment::claims::{Finding, Verdict};
use hansa_report::experiment::metrics::{Size, tenths};

/// Numbers of one policy at one load.
#[derive(Clone, Copy)]
struct Cell {
    value: f64,
    starved: f64,
    slr_censored: [Option<f64>; 10],
    starved_by_work: [Option<f64>; 10],
}

type Results = BTreeMap<(String, Load), Cell>;

const ONE: Extent = Extent { workloads: 1, jobs: 10, ..SMALL };

/// Verdicts of all claims for these numbers.
fn judged(results: &Results) -> Findings {
    let experiment = experiment_of(ONE);
    let row = |run: hansa_report::experiment::Run| {
        let load = (run.values[1].parse::<f64>().unwrap() * 100.0).round() as Load;
        let cell = results.get(&(run.values[2].clone(), load));
        let number = |name: &str| {
            let cell = cell?;
            // The simulation has tenths by work only. Here they stand for those by run time at load 1.2, which the
            // claims of figure 7 are about.
            let by = if load == 120 { Size::Runtime } else { Size::Work };
            let tenth = |of: usize| tenths(by)[of].iter().position(|one| *one == name);
            match name {
                "value" => Some(cell.value),
                "starved" => Some(cell.starved),
                _ => {
                    let slr = tenth(1).and_then(|tenth| cell.slr_censored[tenth]);
                    slr.or_else(|| tenth(2).and_then(|tenth| cell.starved_by_work[tenth]))
                }
            }
        };
        let metrics = experiment.metrics.iter().map(|metric| number(metric.name)).collect();
        RunRow { run: run.number, digest: format!("{:032}", run.number), values: run.values, metrics }
    };
    let rows: Vec<RunRow> = experiment.runs().map(row).collect();
    judge_experiment(&experiment, &rows).unwrap()
}

/// Value and starved jobs, by policy and load. A value that four digits would round to 1 is a little lower here.
const REFERENCE: [(&str, [f64; 8], [f64; 8]); 10] = [
    (
        "random",
        [0.9997, 0.9969, 0.9778, 0.8688, 0.7631, 0.6867, 0.6280, 0.5783],
        [0.025, 0.110, 0.361, 0.602, 0.673, 0.713, 0.740, 0.759],
    ),
    (
        "fifo",
        [0.9990, 0.9939, 0.9622, 0.8863, 0.8162, 0.7573, 0.7094, 0.6682],
        [0.053, 0.193, 0.517, 0.661, 0.712, 0.744, 0.764, 0.779],
    ),
    (
        "srtf",
        [ALMOST_1, 0.9999, 0.9991, 0.9578, 0.9033, 0.8597, 0.8158, 0.7775],
        [0.005, 0.017, 0.043, 0.047, 0.047, 0.049, 0.050, 0.052],
    ),
    (
        "lrtf",
        [0.9970, 0.9733, 0.8970, 0.6505, 0.4813, 0.4018, 0.3643, 0.3436],
        [0.068, 0.242, 0.546, 0.803, 0.853, 0.878, 0.886, 0.889],
    ),
    (
        "edf",
        [ALMOST_1, 0.9999, 0.9998, 0.9920, 0.9114, 0.8037, 0.7281, 0.6718],
        [0.004, 0.016, 0.042, 0.042, 0.076, 0.226, 0.292, 0.337],
    ),
    (
        "p-slr",
        [ALMOST_1, 0.9999, 0.9997, 0.9868, 0.8953, 0.7920, 0.6982, 0.6339],
        [0.005, 0.020, 0.053, 0.063, 0.073, 0.084, 0.108, 0.143],
    ),
    (
        "pv",
        [0.9976, 0.9853, 0.9470, 0.8773, 0.8080, 0.7533, 0.7078, 0.6726],
        [0.064, 0.228, 0.515, 0.732, 0.793, 0.824, 0.840, 0.850],
    ),
    (
        "pvd",
        [0.9993, 0.9956, 0.9731, 0.9104, 0.8550, 0.8067, 0.7682, 0.7335],
        [0.043, 0.156, 0.416, 0.534, 0.580, 0.609, 0.634, 0.655],
    ),
    (
        "pvdsq",
        [0.9999, 0.9994, 0.9887, 0.9327, 0.8792, 0.8350, 0.7963, 0.7628],
        [0.007, 0.028, 0.073, 0.091, 0.101, 0.111, 0.119, 0.123],
    ),
    (
        "pvr",
        [ALMOST_1, 0.9999, 0.9983, 0.9788, 0.9350, 0.8801, 0.8177, 0.7550],
        [0.005, 0.016, 0.040, 0.042, 0.041, 0.042, 0.041, 0.040],
    ),
];
const ALMOST_1: f64 = 0.99997;

/// Censored SLR at load 1.2, by tenths of the jobs.
const SLR_PVR: [f64; 10] = [3.49, 3.12, 2.26, 1.62, 1.30, 1.15, 1.09, 1.06, 1.36, 3.30];
const SLR_SRTF: [f64; 10] = [3.46, 3.18, 2.29, 1.69, 1.34, 1.21, 1.15, 1.16, 1.38, 2.73];

fn reference() -> Results {
    let mut results = Results::default();
    for (policy, values, starved) in REFERENCE {
        for ((load, value), starved) in LOADS.into_iter().zip(values).zip(starved) {
            let slr_censored = match policy {
                "pvr" if load == 120 => SLR_PVR.map(Some),
                "srtf" if load == 120 => SLR_SRTF.map(Some),
                _ => [None; 10],
            };
            results
                .insert((policy.to_owned(), load), Cell { value, starved, slr_censored, starved_by_work: [None; 10] });
        }
    }
    results
}

fn claim(number: u32, results: &Results) -> Finding {
    judged(results).numbered_finding(number).clone()
}

const NUMBERS: std::ops::RangeInclusive<u32> = 1..=24;

#[test]
fn the_reference_supports_the_claims_that_it_can() {
    let findings = judged(&reference());
    for number in NUMBERS {
        let finding = findings.numbered_finding(number);
        let expected = match number {
            1 | 2 | 4 | 7 | 16 | 19 => Verdict::Holds,
            // PVD is less than .05 above FIFO at 1.1 and 1.2; EDF is first up to saturation, and its
            // starvation rises before 1.2; SRTF is faster than PVR for the smallest tenth.
            3 | 10 | 12 | 13 | 17 => Verdict::DoesNotHold,
            // FIFO starves more than PV at .9; at .8 to 1.0 others starve fewer than PVR; SRTF starves .052 of the
            // jobs, and PVR .040; at load 1.2 the third is .0451 below PVR, and .0328 are allowed.
            5 | 15 | 18 | 20 => Verdict::DoesNotHold,
            // The reference has no starved jobs by tenth.
            21..=24 => Verdict::Undecided,
            _ => Verdict::WithinTolerance,
        };
        assert_eq!(finding.verdict, expected, "claim {number}: {:?}", finding.decisive_comparisons());
    }
}

/// The paper puts PV behind Random, so FIFO is not compared with it; all others have to be far above FIFO.
#[test]
fn the_papers_own_words_decide() {
    let finding = claim(3, &reference());
    let against: Vec<&str> = finding.decisive_comparisons().iter().map(|one| one.text.as_str()).collect();
    let near = "value(fifo, 1.20) = 0.7573 <= value(pvd, 1.20) - 0.05 = 0.7567";
    assert!(against.contains(&near), "{against:?}");
    assert!(against.iter().all(|text| !text.contains("(pv,")), "{against:?}");
    let mut results = reference();
    for ((policy, load), cell) in results.iter_mut() {
        match policy.as_str() {
            "random" => cell.value = 0.5,
            "pvd" if *load > 100 => cell.value = 0.95,
            _ => {}
        }
    }
    let finding = claim(3, &results);
    assert_eq!(finding.verdict, Verdict::WithinTolerance, "{:?}", finding.decisive_comparisons());
    // If the paper gives no number, a bound of ours cannot confirm its claim.
    let finding = claim(9, &reference());
    assert!(finding.comparisons.iter().all(|comparison| comparison.margin >= 0.0));
    assert_eq!(finding.verdict, Verdict::WithinTolerance);
}

#[test]
fn starved_jobs_by_work_are_judged() {
    let mut results = reference();
    for ((policy, load), cell) in results.iter_mut() {
        if *load == 120 {
            let rises = policy == "pvdsq";
            let share = |tenth: usize| if rises { tenth as f64 / 10.0 } else { 0.9 - tenth as f64 / 12.0 };
            cell.starved_by_work = std::array::from_fn(|tenth| Some(share(tenth)));
        }
    }
    assert_eq!([21, 22].map(|number| claim(number, &results).verdict), [Verdict::Holds; 2]);
    for cell in results.values_mut() {
        cell.starved_by_work.reverse();
    }
    assert_eq!([21, 22].map(|number| claim(number, &results).verdict), [Verdict::DoesNotHold; 2]);
}

/// PVR starves the smallest jobs here, the largest in the paper.
#[test]
fn the_largest_jobs_have_to_starve_most() {
    let mut results = reference();
    let falling = [0.202, 0.155, 0.039, 0.005, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0];
    let cell = results.get_mut(&("pvr".to_owned(), 140)).unwrap();
    cell.starved_by_work = falling.map(Some);
    assert_eq!(claim(23, &results).verdict, Verdict::DoesNotHold);
    results.get_mut(&("pvr".to_owned(), 140)).unwrap().starved_by_work.reverse();
    assert_eq!(claim(23, &results).verdict, Verdict::Holds);
}

/// Up to saturation others are a little better than PVR, so the claim as it stands does not hold; at 1.1 it does.
#[test]
fn pvr_leads_beyond_saturation_only() {
    let finding = claim(13, &reference());
    assert_eq!((finding.verdict, finding.weaker), (Verdict::DoesNotHold, Some(Verdict::Holds)));
    for comparison in &finding.comparisons {
        let beyond = comparison.text.contains("1.10)");
        assert!(!beyond || comparison.verdict() == Verdict::Holds, "{}", comparison.text);
    }
    let against = finding.decisive_comparisons();
    assert!(
        against.iter().any(|one| one.text == "value(edf, 1.00) = 0.9920 <= value(pvr, 1.00) = 0.9788"),
        "{against:?}"
    );
}

/// Claims that one policy differs from another one fail if it does not.
#[test]
fn claims_fail_of_results_that_contradict_them() {
    let swapped = |a: &str, b: &str| {
        let mut results = reference();
        for load in LOADS {
            let a = (a.to_owned(), load);
            let b = (b.to_owned(), load);
            let of_a = results[&a];
            let of_b = results[&b];
            results.extend([(a, of_b), (b, of_a)]);
        }
        results
    };
    for (number, a, b) in [
        (2, "lrtf", "random"),
        (3, "fifo", "srtf"),
        (4, "pv", "random"),
        (5, "pv", "srtf"),
        (6, "p-slr", "pvr"),
        (7, "pv", "pvd"),
        (8, "pvd", "pvdsq"),
        (9, "srtf", "pvdsq"),
        (10, "edf", "lrtf"),
        (11, "edf", "pvr"),
        (12, "edf", "srtf"),
        (13, "pvr", "srtf"),
        (14, "pvr", "srtf"),
        (15, "pvr", "pvd"),
        (16, "pvr", "p-slr"),
        (17, "pvr", "srtf"),
        (19, "pv", "lrtf"),
    ] {
        let finding = claim(number, &swapped(a, b));
        assert_eq!(finding.verdict, Verdict::DoesNotHold, "claim {number} with {a} for {b}");
        assert!(!finding.decisive_comparisons().is_empty());
    }

    let mut flat = reference();
    flat.values_mut().for_each(|cell| cell.value = 1.0);
    assert_eq!(claim(1, &flat).verdict, Verdict::DoesNotHold);
}

#[test]
fn without_numbers_no_claim_can_be_told() {
    let none = Results::default();
    let findings = judged(&none);
    assert!(NUMBERS.into_iter().all(|number| findings.numbered_finding(number).verdict == Verdict::Undecided));
    let mut some = reference();
    some = some.into_iter().filter(|((policy, _), _)| policy != "pvdsq").collect();
    let finding = claim(7, &some);
    assert_eq!((finding.verdict, finding.missing.len()), (Verdict::Undecided, LOADS.len()));
}

#[test]
fn the_reference_has_every_policy() {
    let named: Vec<&str> = REFERENCE.iter().map(|(policy, ..)| *policy).collect();
    assert_eq!(named, POLICIES.map(|(policy, _)| policy));
}
