use super::load::utilisation;
use super::*;

const TINY: Extent = Extent { moments: 1, moments_of_several: 1, days: 2, virtual_days: 2, histories: 1 };

#[test]
fn backgrounds_have_the_load_that_is_wanted() {
    for site in Site::ALL {
        for load in site.loads().iter().chain(&site.priced_loads()) {
            let jobs = Logs::default().background(site, *load, 20, Estimates::Inexact, 3);
            let used = utilisation(&jobs, site.procs().into());
            assert!((used - f64::from(*load) / 1_000.0).abs() < 0.12, "{} {load}: {used}", site.name());
            assert!(jobs.iter().all(|job| job.nodes <= site.procs() && job.runtime <= job.walltime));
            assert!(jobs.is_sorted_by_key(|job| job.submit));
        }
    }
    // A log is thinned out, or has a part of itself come again.
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
        |piece: &Piece| matches!(piece, Piece::Prices(setting) if setting.alpha == Some(0.0) && setting.site == Site::Sdsc),
        |piece: &Piece| matches!(piece, Piece::Virtuals(Site::Sdsc)),
    ];
    let mut rows = Vec::new();
    for is_kind in kinds {
        let piece = *pieces.iter().find(|piece| is_kind(piece)).unwrap();
        let one = TINY.run(&logs, piece);
        assert_eq!(one, TINY.run(&logs, piece), "the same each time");
        rows.extend(one);
    }
    let outcome = Outcome::of(TINY, &rows);
    for figure in ["4", "5", "6", "7", "8", "23", "24", "25", "26", "27 fee", "31", "38", "39", "48"] {
        assert!(rows.iter().any(|row| row.figure == figure && row.value.is_finite()), "figure {figure}");
    }
    // What no trial can contradict.
    let excess = |figure| outcome.results.samples(figure, "SDSC", 0.0).iter().copied().fold(f64::MIN, f64::max);
    assert!(excess("46 excess") <= 1e-6 && excess("41 excess") <= 1e-9);
    assert!(outcome.verdicts().lines().count() > CLAIMS.len());
    assert!(outcome.summary_csv().lines().count() > 50);
}
