mod grid;

use super::load::log_utilisation;
use super::settings::{Loads, Ratios, Reserved, SlotsOf};
use super::*;
use hansa_report::experiment::claims::{Finding, Verdict};

const TINY: Extent =
    Extent { moments: 1, moments_of_several: 1, days: 2, virtual_days: 2, virtual_histories: 1, histories: 1 };

fn run_piece(logs: &Logs, piece: Piece) -> Vec<FigurePoint> {
    TINY.run(&Settings::default(), logs, piece)
}

fn outcome(has_logs: bool, rows: &[FigurePoint]) -> Outcome {
    Outcome::of(TINY, Settings::default(), has_logs, rows.to_vec())
}

/// The piece of this kind that comes first.
fn first_piece(is_kind: impl Fn(&Piece) -> bool) -> Piece {
    TINY.pieces().into_iter().find(is_kind).expect("there is a piece of each kind")
}

/// The piece of figure 23 and others of SDSC at any fee.
fn priced_piece(estimates: Estimates) -> Piece {
    first_piece(|piece| {
        matches!(piece, Piece::Prices(one)
            if (one.site, one.alpha, one.share, one.estimates) == (Site::Sdsc, Some(0.0), 10, estimates))
    })
}

/// A log of SDSC's model beside one of CTC's.
fn modelled_logs(days: u64) -> Logs {
    let log = |site: Site| {
        let settings = Settings::default();
        Logs::default().background_jobs(&settings, (site, 600), days, Estimates::Inexact, 3)
    };
    Logs { ctc: Some(log(Site::Ctc)), sdsc: Some(log(Site::Sdsc)) }
}

#[test]
fn backgrounds_have_the_requested_load() {
    for site in Site::ALL {
        for load in site.plan_loads().iter().chain(&site.priced_loads()) {
            let settings = Settings::default();
            let jobs = Logs::default().background_jobs(&settings, (site, *load), 20, Estimates::Inexact, 3);
            let used = log_utilisation(&jobs, site.procs().into());
            assert!((used - f64::from(*load) / 1_000.0).abs() < 0.12, "{} {load}: {used}", site.name());
            assert!(jobs.iter().all(|job| job.nodes <= site.procs() && job.runtime <= job.walltime));
            assert!(jobs.is_sorted_by_key(|job| job.submit));
        }
    }
    // A log is thinned out, or a part of it is repeated.
    let logs = modelled_logs(60);
    for load in [400, 800] {
        let jobs = logs.background_jobs(&Settings::default(), (Site::Sdsc, load), 50, Estimates::Exact, 5);
        assert!((log_utilisation(&jobs, 128) - f64::from(load) / 1_000.0).abs() < 0.02);
    }
}

/// At the least load of a figure, a log is as it is, unless it is tuned.
#[test]
fn a_log_is_unmodified_at_the_least_load() {
    let logs = modelled_logs(40);
    let jobs = |loads, load| {
        let settings = Settings { loads, ..Settings::default() };
        logs.background_jobs(&settings, (Site::Sdsc, load), 30, Estimates::Inexact, 5).to_vec()
    };
    let end = Time::ZERO + Span::from_minutes(30 * 24 * 60);
    let log: Vec<Rigid> = logs.sdsc.iter().flat_map(|log| log.iter().copied()).filter(|job| job.submit < end).collect();
    for least in [Site::Sdsc.plan_loads()[0], Site::Sdsc.priced_loads()[0]] {
        assert_eq!(jobs(Loads::Unmodified, least), log);
        assert_ne!(jobs(Loads::Tuned, least), log);
    }
    assert_ne!(jobs(Loads::Unmodified, Site::Sdsc.plan_loads()[1]), log);
}

/// Requests in the proportions of logs: half of the jobs use less than a fifth, and all requests together are two to
/// three times the run times, as short jobs have the largest ratios.
#[test]
fn estimates_have_the_ratios_of_logs() {
    let jobs = |ratios| {
        let settings = Settings { ratios, ..Settings::default() };
        Logs::default().background_jobs(&settings, (Site::Sdsc, 700), 60, Estimates::Inexact, 7)
    };
    let by_work = |jobs: &[Rigid]| {
        let area = |of: fn(&Rigid) -> Span| -> f64 {
            jobs.iter().map(|job| f64::from(job.nodes) * of(job).micros() as f64).sum()
        };
        area(|job| job.walltime) / area(|job| job.runtime)
    };
    let logs = jobs(Ratios::Logs);
    assert!((1.8..3.0).contains(&by_work(&logs)), "{}", by_work(&logs));
    let below_a_fifth = logs.iter().filter(|job| job.runtime.micros() * 5 < job.walltime.micros()).count();
    assert!((0.35..0.65).contains(&(below_a_fifth as f64 / logs.len() as f64)), "{below_a_fifth} of {}", logs.len());
    for ratios in [Ratios::Logs, Ratios::Bounded] {
        let limit = Span::from_minutes(18 * 60);
        assert!(jobs(ratios).iter().all(|job| job.walltime <= limit.max(job.runtime)));
    }
    assert!(by_work(&jobs(Ratios::Bounded)) < by_work(&jobs(Ratios::Uniform)));
}

/// The options of the file, each with settings of its own.
#[test]
fn every_option_changes_a_setting() {
    let file = choices();
    let usual = file.settings(&file.choices.usual_selection());
    assert_eq!(usual.slots, SlotsOf::Whole);
    for variant in file.choices.variants().iter().skip(1) {
        assert_ne!(file.settings(&variant.selection), usual, "{}", variant.name);
    }
}

/// A piece whose settings are said to be equal under two variants has equal results under both.
#[test]
fn variants_share_the_results_of_equal_pieces() {
    let file = choices();
    let pieces = [
        first_piece(|piece| matches!(piece, Piece::Slots(Site::Sdsc))),
        first_piece(|piece| matches!(piece, Piece::Widths { site: Site::Ctc, .. })),
        priced_piece(Estimates::Exact),
        priced_piece(Estimates::Inexact),
        first_piece(|piece| matches!(piece, Piece::Virtuals { .. })),
    ];
    for (logs, piece) in [Logs::default(), modelled_logs(8)].iter().flat_map(|logs| pieces.map(|piece| (logs, piece))) {
        let mut known: Vec<(Settings, Vec<FigurePoint>)> = Vec::new();
        for variant in file.choices.variants() {
            let settings = file.settings(&variant.selection);
            let relevant = piece.relevant(&settings, logs);
            let rows = TINY.run(&settings, logs, piece);
            match known.iter().find(|(settings, _)| *settings == relevant) {
                Some((_, equal)) => assert_eq!(*equal, rows, "{piece:?} under {}", variant.name),
                None => known.push((relevant, rows)),
            }
        }
        assert!(known.len() < file.choices.variants().len());
    }
}

#[test]
fn every_kind_of_piece_has_numbers_for_its_figures() {
    let logs = Logs::default();
    let pieces = [
        first_piece(|piece| matches!(piece, Piece::Slots(Site::Sdsc))),
        priced_piece(Estimates::Exact),
        first_piece(|piece| matches!(piece, Piece::Widths { site: Site::Sdsc, .. })),
        first_piece(|piece| matches!(piece, Piece::Virtuals { .. })),
    ];
    let mut rows = Vec::new();
    for piece in pieces {
        let one = run_piece(&logs, piece);
        assert_eq!(one, run_piece(&logs, piece), "the same each time");
        rows.extend(one);
    }
    let outcome = outcome(false, &rows);
    for figure in ["4", "5", "6", "7", "8", "23", "24", "25", "26", "27 fee", "31", "38", "39", "48", "54 cost"] {
        assert!(rows.iter().any(|row| row.figure == figure && row.value.is_finite()), "figure {figure}");
    }
    // Bounds that no trial can contradict.
    let excess = |figure| outcome.results.samples(figure, "NCSA", 0.0).iter().copied().fold(f64::MIN, f64::max);
    assert!(excess("46 excess") <= 1e-6 && excess("41 excess") <= 1e-9);
    assert!(outcome.verdicts_text().lines().count() > CLAIMS.len());
    assert!(outcome.summary_csv().lines().count() > 50);
}

/// Best effort pays the same at every load, as the applications are equal.
#[test]
fn the_cost_of_best_effort_does_not_depend_on_the_load() {
    let logs = Logs::default();
    let costs = |place: usize| -> Vec<FigurePoint> {
        let load = Site::Sdsc.plan_loads()[place];
        let piece = first_piece(
            |piece| matches!(piece, Piece::Plans(setting) if (setting.site, setting.load) == (Site::Sdsc, load)),
        );
        let is_cost = |row: &FigurePoint| row.figure == "16 cost" && row.line.ends_with("best effort");
        run_piece(&logs, piece).into_iter().filter(is_cost).map(|row| FigurePoint { at: 0, ..row }).collect()
    };
    let usual = costs(0);
    assert_eq!(usual.len(), 4);
    assert_eq!(usual, costs(1));
}

/// Fees are for run times: estimates are those of the queue.
#[test]
fn reservations_last_their_run_times() {
    let logs = Logs::default();
    let fee = |reserved, estimates| {
        let settings = Settings { reserved, ratios: Ratios::Uniform, ..Settings::default() };
        let rows = TINY.run(&settings, &logs, priced_piece(estimates));
        rows.iter().find(|row| row.figure == "30").expect("it has a fee").value
    };
    let exact = fee(Reserved::RunTime, Estimates::Exact);
    let inexact = fee(Reserved::RunTime, Estimates::Inexact);
    assert!(inexact < 3.0 * exact, "{inexact} is far beyond {exact}");
    assert!(fee(Reserved::Request, Estimates::Inexact) > inexact);
}

fn row(figure: Name, line: &str, at: i64, value: f64) -> FigurePoint {
    FigurePoint { figure, line: line.to_owned(), at: 1_000 * at, value }
}

fn finding(rows: &[FigurePoint], number: u32) -> Finding {
    let outcome = outcome(false, rows);
    CLAIMS[number as usize - 1].judge(&outcome.results)
}

#[test]
fn tables_quote_names_with_commas() {
    let rows = [row("30", "CTC fee, inexact", 0, 2.5), row("30", "CTC fee, inexact", 0, 3.5)];
    assert_eq!(outcome(false, &rows).runs_csv().lines().nth(1), Some("30,\"CTC fee, inexact\",0,2.5"));
    let summary = outcome(false, &rows).summary_csv();
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
    let outcome = outcome(false, &rows);
    assert_eq!(outcome.results.pair_ratio("19 makespan", "", 2.0), Some(33.0 / 103.0));
    assert_eq!(outcome.results.pair_ratio("19 makespan", "", 6.0), Some(13.0 / 40.0));
    assert!(!finding(&rows, 13).fails_named("19 makespan ratio(2) = 0.3204 < 19 makespan ratio(6) = 0.3250"));
    assert!(outcome.tables_text().contains("ratio of means"));
    let shown = outcome.tables_text();
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
    let fails = |counts, what: &str| finding(&slots(counts), 4).fails_named(what);
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
    // One significant exception among eight steps, of which the thesis speaks in general.
    assert_eq!(finding(&waits([4.0, 5.0, 6.0, 7.1]), 18).verdict, Verdict::WithinTolerance);
    assert_eq!(finding(&waits([2.0, 3.0, 4.0, 5.1]), 18).verdict, Verdict::Holds);
    let outcome = outcome(false, &waits([5.0, 3.0, 7.0, 5.0]));
    let verdicts = outcome.verdicts_text();
    assert!(verdicts.contains("7 of 8 comparisons hold, 1 cannot be told"), "{verdicts}");
}

/// All numbers of sites count, not only neighbours.
#[test]
fn flat_means_no_two_numbers_of_sites_are_far_apart() {
    let rows: Vec<FigurePoint> = [(2, 5.0), (3, 6.2), (4, 4.0), (5, 5.0), (6, 5.0)]
        .map(|(sites, value)| row("56 makespan", "provisioned", sites, value))
        .to_vec();
    assert!(finding(&rows, 29).fails_named("<= 1.3 56 makespan(provisioned, 4)"));
}

/// Without any numbers no claim can be told, and counts of 0 are vacuous.
#[test]
fn no_numbers_tell_nothing() {
    for has_logs in [false, true] {
        let verdicts = outcome(has_logs, &[]).verdicts_text();
        let not_judged = (1..=CLAIMS.len()).map(|number| format!("\n{number:>2}. cannot be told: "));
        assert_eq!(not_judged.filter(|head| verdicts.contains(head)).count(), CLAIMS.len(), "{verdicts}");
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
    let verdicts = |rows: &[FigurePoint]| outcome(false, rows).verdicts_text().replace("\n      ", " ");
    let note = "about three times as wide as on SDSC";
    assert!(verdicts(&fees(20.0, 10.0)).contains(note));
    assert!(!verdicts(&fees(10.0, 20.0)).contains(note));
}

/// Figures 35 and 36 count by the nearest moment of each, which may be two.
#[test]
fn a_fit_is_by_the_nearest_moments() {
    use super::calibration::{Fit, Moment, Queue, THREE_MEANS, TWO_MOMENTS, calibration_csv, calibration_text};

    let moment = |chances, waiting| Moment { chances, waiting };
    let moments = [moment([0.40, 0.90, 0.90], 3), moment([0.90, 0.78, 0.74], 0), moment([0.10, 0.78, 0.10], 5)];
    let fit = Fit::of_moments(TWO_MOMENTS, &moments);
    assert_eq!((fit.figure_35, fit.figure_36), (0.40, [0.78, 0.74]));
    let squares: f64 = [0.02_f64, 0.008, 0.007].iter().map(|apart| apart * apart).sum();
    assert!((fit.misfit() - (squares / 3.0).sqrt()).abs() < 1e-12);
    assert!((fit.backlog - 2.0 / 3.0).abs() < 1e-12 && fit.misfit_of_means() > fit.misfit());

    // The queues that the experiment may use are among those of the search, and its text shows them however they fit.
    let all = Queue::all_queues();
    let used = [TWO_MOMENTS, THREE_MEANS];
    assert!(used.iter().all(|queue| all.contains(queue)));
    let far = [moment([0.0; 3], 0)];
    let fits: Vec<Fit> = all
        .iter()
        .map(|queue| if used.contains(queue) { Fit::of_moments(*queue, &far) } else { Fit { queue: *queue, ..fit } })
        .collect();
    let shown = calibration_text(&TINY, &fits);
    for option in [", two-moments", ", three-means"] {
        let line = shown.lines().find(|line| line.contains(option));
        assert!(line.is_some_and(|line| line.contains("0.000   0.000   0.000")), "{shown}");
    }
    assert_eq!(calibration_csv(&fits).lines().count(), 1 + all.len());

    // Moments of a queue are those of its trials.
    let small = Queue { procs: 64, load: 700, long: 15 };
    let found = Fit::fit_queue(&TINY, &Settings::default(), small);
    assert_eq!(found, Fit::fit_queue(&TINY, &Settings::default(), small));
    assert!(found.means.iter().all(|chance| (0.0..=1.0).contains(chance)) && found.means[1] > 0.0, "{found:?}");
}
