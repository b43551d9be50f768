mod grid;

use super::*;
use hansa_report::experiment::claims::Verdict;

/// Rows with the numbers of another program, with invented ones where it has none: along the other axes acceptance
/// falls with arrivals and rises with flexibility by equal steps.
fn rows() -> Vec<PolicyRun> {
    let mut rows = Vec::new();
    for seed in 1..=2 {
        for (policy, acceptance, slowdown) in REFERENCE {
            for setting in all_settings() {
                let Setting { umed, arrival, flexibility } = setting;
                let known = acceptance[umed as usize - 5] - (f64::from(arrival) - 100.0) / 2_000.0
                    + (f64::from(flexibility) - 3.0) / 200.0;
                let accepted = (known * 10_000.0).round() as u32;
                let more = f64::from(umed) / 100.0
                    + (f64::from(flexibility) - 3.0) / 100.0
                    + (f64::from(arrival) - 100.0) / 1_000.0;
                let trial = Trial { valid: 10_000, accepted, slowdown: Some(slowdown + more) };
                rows.push(PolicyRun { policy, setting, seed, asked: asked(setting.umed), trial });
            }
        }
    }
    rows
}

fn asked(umed: u32) -> Asked {
    Asked { nodes: f64::from(1 << umed), seconds: 600.0 * f64::from(umed) }
}

/// The options of the file, each with settings of its own; the first ones are the model's and the system's own.
#[test]
fn every_option_changes_a_setting() {
    let file = read_choices();
    let usual = file.settings(&file.choices.usual_selection());
    assert_eq!(usual, Settings { rect_end: RectEnd::default(), run_times: RunTimes::General });
    for variant in file.choices.variants().iter().skip(1) {
        assert_ne!(file.settings(&variant.selection), usual, "{}", variant.name);
    }
}

fn verdict(rows: &[PolicyRun], number: u32) -> Verdict {
    let outcome = Outcome::of(FULL, Settings::default(), rows.to_vec());
    let claim = &claims::CLAIMS[number as usize - 1];
    claim.judge(&outcome).verdict
}

#[test]
fn the_reference_results_support_the_claims_that_they_can() {
    for number in [1, 4, 5, 8, 9] {
        assert_eq!(verdict(&rows(), number), Verdict::Holds, "claim {number}");
    }
    for number in [3, 6] {
        assert_eq!(verdict(&rows(), number), Verdict::WithinTolerance, "claim {number}");
    }
    // PEDu_B and PEDu_W are further apart than a hundredth.
    assert_eq!(verdict(&rows(), 2), Verdict::DoesNotHold);
    let outcome = Outcome::of(FULL, Settings::default(), rows());
    assert!(outcome.tables_text().contains("another program (0.05 is expected): 0.0"), "{}", outcome.tables_text());
    assert!(outcome.runs_csv().contains("\nPE_W,7,1,3,1,10000,8320,0.832,1.472\n"), "{}", outcome.runs_csv());
}

#[test]
fn contrary_results_refute_claims() {
    let mut rows = rows();
    for row in &mut rows {
        row.trial.accepted = 10_000 - row.trial.accepted;
        row.trial.slowdown = row.trial.slowdown.map(|slowdown| 3.0 - slowdown);
        row.asked.seconds = 6_000.0 - row.asked.seconds;
    }
    for number in [1, 3, 4, 5, 8, 9] {
        assert_eq!(verdict(&rows, number), Verdict::DoesNotHold, "claim {number}");
    }
}

/// Acceptance by flexibility, from 1 to 5.
fn flexible(accepted: impl Fn(&str, usize) -> f64) -> Verdict {
    let mut rows = Vec::new();
    for (policy, ..) in REFERENCE {
        for (at, setting) in Axis::Flexibility.settings().into_iter().enumerate() {
            let accepted = (accepted(policy, at) * 10_000.0) as u32;
            let trial = Trial { valid: 10_000, accepted, slowdown: Some(1.0) };
            rows.push(PolicyRun { policy, setting, seed: 1, asked: asked(setting.umed), trial });
        }
    }
    verdict(&rows, 7)
}

#[test]
fn gains_by_flexibility_are_at_every_step() {
    let gains = |policy: &str| ["PE_W", "Du_B", "PEDu_B"].contains(&policy);
    let linear = |policy: &str, at: usize| match at as f64 {
        at if policy == "PE_W" => 0.6 + at * 0.03,
        at if gains(policy) => 0.6 + at * 0.02,
        at => 0.5 + at * 0.01 - if at > 2.0 { 0.02 } else { 0.0 },
    };
    assert_eq!(flexible(linear), Verdict::Holds);
    // Du_B falls a little at last, as it does with many workloads.
    let bent = |policy: &str, at: usize| linear(policy, at) - if policy == "Du_B" && at == 4 { 0.025 } else { 0.0 };
    assert_eq!(flexible(bent), Verdict::DoesNotHold);
    assert_eq!(flexible(|policy, at| linear(policy, 4 - at)), Verdict::DoesNotHold);
}

#[test]
fn there_are_thirteen_settings_and_a_small_extent_runs() {
    assert_eq!(all_settings().len(), 13);
    assert!(Axis::ALL.iter().all(|axis| axis.settings().contains(&USUAL)));
    let extent = Extent { workloads: 1, requests: 200 };
    let piece = extent.pieces()[0];
    let rows = extent.run(Settings::default(), piece);
    assert_eq!(rows, extent.run(Settings::default(), piece));
    assert_eq!(rows.len(), 7);
    assert!(rows.iter().all(|row| row.trial.valid == 200 && row.trial.accepted > 100));
}
