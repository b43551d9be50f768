mod grid;

use super::load::utilisation;
use super::*;
use hansa_report::experiment::claims::{Finding, Verdict};

const TINY: Extent =
    Extent { moments: 1, moments_of_several: 1, days: 2, virtual_days: 2, virtual_histories: 1, histories: 1 };

#[test]
fn backgrounds_have_the_requested_load() {
    for site in Site::ALL {
        for load in site.loads().iter().chain(&site.priced_loads()) {
            let jobs = Logs::default().background(site, *load, 20, Estimates::Inexact, 3);
            let used = utilisation(&jobs, site.procs().into());
            assert!((used - f64::from(*load) / 1_000.0).abs() < 0.12, "{} {load}: {used}", site.name());
            assert!(jobs.iter().all(|job| job.nodes <= site.procs() && job.runtime <= job.walltime));
            assert!(jobs.is_sorted_by_key(|job| job.submit));
        }
    }
    // A log is thinned out, or a part of it is repeated.
    let log = Logs::default().background(Site::Sdsc, 600, 60, Estimates::Exact, 3);
    let logs = Logs { ctc: None, sdsc: Some(log) };
    for load in [400, 800] {
        let jobs = logs.background(Site::Sdsc, load, 50, Estimates::Exact, 5);
        assert!((utilisation(&jobs, 128) - f64::from(load) / 1_000.0).abs() < 0.02);
    }
}

#[test]
fn every_kind_of_piece_has_numbers_for_its_figures() {
    let logs = Logs::default();
    let pieces = TINY.pieces();
    let kinds = [
        |piece: &Piece| matches!(piece, Piece::Slots(Site::Sdsc)),
        |piece: &Piece| matches!(piece, Piece::Prices(setting) if (setting.alpha, setting.site, setting.estimates) == (Some(0.0), Site::Sdsc, Estimates::Exact)),
        |piece: &Piece| matches!(piece, Piece::Virtuals { .. }),
    ];
    let mut rows = Vec::new();
    for is_kind in kinds {
        let piece = *pieces.iter().find(|piece| is_kind(piece)).unwrap();
        let one = TINY.run(&logs, piece);
        assert_eq!(one, TINY.run(&logs, piece), "the same each time");
        rows.extend(one);
    }
    let outcome = Outcome::of(TINY, false, &rows);
    for figure in ["4", "5", "6", "7", "8", "23", "24", "25", "26", "27 fee", "31", "38", "39", "48"] {
        assert!(rows.iter().any(|row| row.figure == figure && row.value.is_finite()), "figure {figure}");
    }
    // Bounds that no trial can contradict.
    let excess = |figure| outcome.results.samples(figure, "NCSA", 0.0).iter().copied().fold(f64::MIN, f64::max);
    assert!(excess("46 excess") <= 1e-6 && excess("41 excess") <= 1e-9);
    assert!(outcome.verdicts().lines().count() > CLAIMS.len());
    assert!(outcome.summary_csv().lines().count() > 50);
}

/// Best effort pays the same at every load, as the applications are equal.
#[test]
fn the_cost_of_best_effort_does_not_depend_on_the_load() {
    let logs = Logs::default();
    let costs = |place: usize| -> Vec<FigurePoint> {
        let load = Site::Sdsc.loads()[place];
        let is_setting = |piece: &&Piece| matches!(piece, Piece::Plans(setting) if (setting.site, setting.load) == (Site::Sdsc, load));
        let piece = *TINY.pieces().iter().find(is_setting).expect("each load has a piece");
        let is_cost = |row: &FigurePoint| row.figure == "16 cost" && row.line.ends_with("best effort");
        TINY.run(&logs, piece).into_iter().filter(is_cost).map(|row| FigurePoint { at: 0, ..row }).collect()
    };
    let usual = costs(0);
    assert_eq!(usual.len(), 4);
    assert_eq!(usual, costs(1));
}

/// Fees are for run times: estimates are those of the queue.
#[test]
fn reservations_last_their_run_times() {
    let logs = Logs::default();
    let fee = |estimates| {
        let is_setting = |piece: &&Piece| matches!(piece, Piece::Prices(one) if (one.site, one.alpha, one.share, one.estimates) == (Site::Sdsc, Some(0.0), 10, estimates));
        let piece = *TINY.pieces().iter().find(is_setting).expect("there is one");
        let rows = TINY.run(&logs, piece);
        rows.iter().find(|row| row.figure == "30").expect("it has a fee").value
    };
    let exact = fee(Estimates::Exact);
    let inexact = fee(Estimates::Inexact);
    assert!(inexact < 3.0 * exact, "{inexact} is far beyond {exact}");
}

fn row(figure: Name, line: &str, at: i64, value: f64) -> FigurePoint {
    FigurePoint { figure, line: line.to_owned(), at: 1_000 * at, value }
}

fn finding(rows: &[FigurePoint], number: u32) -> Finding {
    let outcome = Outcome::of(TINY, false, rows);
    CLAIMS.iter().find(|claim| claim.number == number).expect("there are 30").judge(&outcome.results)
}

#[test]
fn tables_quote_names_with_commas() {
    let rows = [row("30", "CTC fee, inexact", 0, 2.5), row("30", "CTC fee, inexact", 0, 3.5)];
    assert_eq!(runs_csv(&rows).lines().nth(1), Some("30,\"CTC fee, inexact\",0,2.5"));
    let summary = Outcome::of(TINY, false, &rows).summary_csv();
    assert!(summary.contains("\n30,\"CTC fee, inexact\",0,3,"), "{summary}");
}

/// A case that takes long has more weight than one that does not.
#[test]
fn relative_numbers_are_ratios_of_means() {
    let both = |at, [[a, b], [c, d]]: [[f64; 2]; 2]| {
        let [one, other] = ["provisioned", "best effort"];
        [(one, a), (other, b), (one, c), (other, d)].map(|(line, value)| row("19 makespan", line, at, value))
    };
    // Means of ratios would be 0.65 and 0.55.
    let rows: Vec<FigurePoint> = [both(2, [[3.0, 3.0], [30.0, 100.0]]), both(6, [[3.0, 30.0], [10.0, 10.0]])].concat();
    let outcome = Outcome::of(TINY, false, &rows);
    assert_eq!(outcome.results.ratio("19 makespan", "", 2.0), Some(33.0 / 103.0));
    assert_eq!(outcome.results.ratio("19 makespan", "", 6.0), Some(13.0 / 40.0));
    assert!(!finding(&rows, 13).fails("19 makespan ratio(2) = 0.3204 < 19 makespan ratio(6) = 0.3250"));
    assert!(outcome.summary_text().contains("ratio of means"));
    let shown = outcome.summary_text();
    assert!(shown.lines().any(|line| line.contains("on 2 sites") && line.contains("0.300") && line.contains("0.320")));
}

/// Next to one, which is a power of two as well, two need not be a peak.
#[test]
fn two_is_a_peak_if_three_is_rarer() {
    let slots = |counts: [usize; 3]| -> Vec<FigurePoint> {
        let sites = ["CTC", "SDSC"].into_iter();
        let each = |site: &'static str| {
            (1..4).zip(counts).flat_map(move |(procs, count)| vec![row("7", site, procs, 1.0); count])
        };
        sites.flat_map(each).collect()
    };
    let fails = |counts, what: &str| finding(&slots(counts), 4).fails(what);
    assert!(!fails([900, 20, 10], "number 7(CTC, 2)"));
    assert!(fails([900, 20, 30], "number 7(CTC, 3) = 30.0000 < number 7(CTC, 2)"));
}

#[test]
fn random_variation_does_not_refute_a_claim() {
    // Of all lines, only that of SDSC's queue is in doubt, from the fourth weight to the last.
    let waits = |at_1: [f64; 4]| -> Vec<FigurePoint> {
        let at = |line: &str, at: f64, values: [f64; 4]| {
            values.map(|value| FigurePoint { at: (at * 1e3) as i64, ..row("28", line, 0, value) })
        };
        let steady = |line: &'static str, steps: [f64; 5]| {
            let all = [0.0, 0.25, 0.5, 0.75, 1.0].into_iter().zip(steps);
            all.flat_map(move |(alpha, mean)| at(line, alpha, [mean - 1.5, mean - 0.5, mean + 0.5, mean + 1.5]))
        };
        let rising = [3.0, 4.0, 5.0, 6.0, 7.0];
        let falling = [9.0, 8.0, 7.0, 6.0, 5.0];
        let mut rows: Vec<FigurePoint> =
            steady("CTC reserved", rising).chain(steady("SDSC reserved", rising)).collect();
        rows.extend(steady("CTC queued", falling));
        rows.extend(steady("SDSC queued", [7.5, 6.5, 5.5, 4.5, 0.0]).filter(|row| row.at < 1_000));
        rows.extend(at("SDSC queued", 1.0, at_1));
        rows
    };
    // More in some histories, less in others: one step of eight does not decide. Then always more.
    assert_eq!(finding(&waits([5.0, 3.0, 7.0, 5.0]), 18).verdict, Verdict::Holds);
    assert_eq!(finding(&waits([4.0, 5.0, 6.0, 7.1]), 18).verdict, Verdict::DoesNotHold);
    assert_eq!(finding(&waits([2.0, 3.0, 4.0, 5.1]), 18).verdict, Verdict::Holds);
    let outcome = Outcome::of(TINY, false, &waits([5.0, 3.0, 7.0, 5.0]));
    let verdicts = outcome.verdicts();
    assert!(verdicts.contains("7 of 8 comparisons hold, 1 cannot be told"), "{verdicts}");
}

/// All numbers of sites count, not only neighbours.
#[test]
fn flat_means_no_two_numbers_of_sites_are_far_apart() {
    let rows: Vec<FigurePoint> = [(2, 5.0), (3, 6.2), (4, 4.0), (5, 5.0), (6, 5.0)]
        .map(|(sites, value)| row("56 makespan", "provisioned", sites, value))
        .to_vec();
    assert!(finding(&rows, 29).fails("<= 1.3 56 makespan(provisioned, 4)"));
}

/// Without any numbers no claim can be told, and counts of 0 are vacuous.
#[test]
fn no_numbers_tell_nothing() {
    for has_logs in [false, true] {
        let verdicts = Outcome::of(TINY, has_logs, &[]).verdicts();
        let untold = CLAIMS.iter().map(|claim| format!("\n{:>2}. cannot be told: ", claim.number));
        assert_eq!(untold.filter(|head| verdicts.contains(head)).count(), CLAIMS.len(), "{verdicts}");
    }
}

/// No note is shown where a claim holds.
#[test]
fn notes_explain_claims_that_do_not_hold() {
    let fees = |ctc: f64, sdsc: f64| -> Vec<FigurePoint> {
        let fees = [("CTC fee", ctc), ("SDSC fee", sdsc)];
        (0..4)
            .flat_map(|quarter| fees.map(|(line, fee)| FigurePoint { at: 250 * quarter, ..row("23", line, 0, fee) }))
            .collect()
    };
    let verdicts = |rows: &[FigurePoint]| Outcome::of(TINY, false, rows).verdicts().replace("\n      ", " ");
    let note = "about three times as wide as on SDSC";
    assert!(verdicts(&fees(20.0, 10.0)).contains(note));
    assert!(!verdicts(&fees(10.0, 20.0)).contains(note));
}

/// The queue of virtual reservations is one that the search tries, and its text shows it, however badly it fits.
#[test]
fn the_search_tries_the_queue_that_is_used() {
    use super::calibration::{Fit, NCSA, PRINTED, Queue, csv, text};

    let all = Queue::all();
    assert_eq!(all.iter().filter(|queue| **queue == NCSA).count(), 1);
    let printed = PRINTED.map(|printed| printed.value);
    let fit = |queue: &Queue| {
        let apart = if *queue == NCSA { 0.3 } else { 0.1 };
        Fit { queue: *queue, chances: printed.map(|chance| chance - apart), deviations: [0.0; 3] }
    };
    let fits: Vec<Fit> = all.iter().map(fit).collect();
    assert!((fits[0].misfit() - 0.1).abs() < 1e-12);
    let shown = text(&TINY, &fits);
    let used: Vec<&str> = shown.lines().filter(|line| line.contains(", used")).collect();
    assert!(used.len() == 1 && used[0].ends_with("0.080     0.472     0.447     0.300"), "{shown}");
    assert_eq!(csv(&fits).lines().count(), 1 + all.len());

    // Chances at a queue are those of its trials.
    let small = Queue { procs: 64, load: 700, long: 15 };
    let found = Fit::of(&TINY, small);
    assert_eq!(found, Fit::of(&TINY, small));
    assert!(found.chances.iter().all(|chance| (0.0..=1.0).contains(chance)) && found.chances[1] > 0.0, "{found:?}");
}
