use super::*;
use crate::experiment::claims::Verdict;

/// Rows as another program found them, with a little made up where it tells nothing.
fn rows() -> Vec<Row> {
    let mut rows = Vec::new();
    for seed in 1..=2 {
        for (policy, acceptance, slowdown) in REFERENCE {
            for (setting, known) in Axis::Umed.settings().into_iter().zip(acceptance) {
                let accepted = (known * 10_000.0).round() as u32;
                let more = f64::from(setting.umed) / 100.0;
                let trial = Trial { valid: 10_000, accepted, slowdown: Some(slowdown + more) };
                rows.push(Row { policy, setting, seed, trial });
            }
        }
    }
    rows
}

fn verdict(rows: &[Row], number: u32) -> Verdict {
    let outcome = Outcome::of(FULL, rows);
    let claim = claims::CLAIMS.iter().find(|claim| claim.number == number).unwrap();
    claim.judge(&outcome).verdict
}

#[test]
fn the_reference_results_bear_out_what_they_can() {
    for number in [1, 2, 3, 4, 5, 6, 8] {
        assert_eq!(verdict(&rows(), number), Verdict::Holds, "claim {number}");
    }
    let outcome = Outcome::of(FULL, &rows());
    assert!(outcome.summary_text().contains("another program (0.05 is expected): 0.0"), "{}", outcome.summary_text());
    assert!(runs_csv(&rows()).contains("\nPE_W,7,1,3,1,10000,8320,0.832,1.472\n"), "{}", runs_csv(&rows()));
}

#[test]
fn results_that_say_the_opposite_refute() {
    let mut rows = rows();
    for row in &mut rows {
        row.trial.accepted = 10_000 - row.trial.accepted;
        row.trial.slowdown = row.trial.slowdown.map(|slowdown| 3.0 - slowdown);
    }
    for number in [1, 3, 4, 5, 8] {
        assert_eq!(verdict(&rows, number), Verdict::DoesNotHold, "claim {number}");
    }
}

#[test]
fn there_are_thirteen_settings_and_a_small_extent_runs() {
    assert_eq!(settings().len(), 13);
    assert!(Axis::ALL.iter().all(|axis| axis.settings().contains(&USUAL)));
    let extent = Extent { workloads: 1, requests: 200 };
    let piece = extent.pieces()[0];
    let rows = extent.run(piece);
    assert_eq!(rows, extent.run(piece));
    assert_eq!(rows.len(), 7);
    assert!(rows.iter().all(|row| row.trial.valid == 200 && row.trial.accepted > 100));
}
