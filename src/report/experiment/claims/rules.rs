//! Rules by which comparisons become a verdict, and words of sources become numbers. All bounds here are ours.
//!
//! A claim says one thing or several; each is a part, and each part is about several settings. A part fails if one of
//! its comparisons does: by exact numbers, or by more than the random variation. It holds if no comparison fails and
//! more than half of them are sure to hold; a comparison within its interval counts neither way, whichever way it
//! falls. So one near-tie among many settings does not make a claim undecidable, and a claim whose comparisons are
//! mostly ties does not hold. Vacuous comparisons are not counted.
//!
//! No correction is made for many comparisons: of forty that are ties in truth, one fails by chance.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::{Comparison, Judge, Number, Part, Verdict};

/// "About", "around", "roughly" before a printed number: within a fifth of it.
const ABOUT: f64 = 0.2;
/// A number that the source prints of draws that it does not give: within a tenth of it.
const AGREES: f64 = 0.1;
/// "Almost" before a number: at most it, and at least nine tenths of it.
const ALMOST: f64 = 0.1;
/// "Close", "almost identical", "similar", of lines in one figure: apart by at most a twentieth of the range of all
/// numbers in the figure.
const CLOSE: f64 = 0.05;
/// "Generally", "in general", "usually", or a trend that the source reads from a figure: at most a quarter of the
/// comparisons fail.
const EXCEPTIONS_MAX: f64 = 0.25;
/// Part of the comparisons that has to be exceeded by those that are sure to hold.
const MAJORITY: f64 = 0.5;
/// Part of a margin's variance that one sample makes if it is an outlier.
const OUTLIER_SHARE: f64 = 0.5;
/// Samples from which on one of them can be an outlier: among fewer, one often makes half of the variance.
const OUTLIER_AMONG_MIN: usize = 10;

/// Number of comparisons of each kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    pub held: usize,
    /// Number of those that hold by a bound or a tolerance of ours.
    pub by_ours: usize,
    pub failed: usize,
    /// Number of those that fail by more than a known random variation.
    pub significantly: usize,
    pub not_judged: usize,
    pub vacuous: usize,
}

impl Counts {
    pub fn of<'c>(comparisons: impl IntoIterator<Item = &'c Comparison>) -> Counts {
        let mut counts = Counts::default();
        for one in comparisons {
            match one.verdict() {
                _ if one.is_vacuous => counts.vacuous += 1,
                Verdict::Holds => counts.held += 1,
                Verdict::WithinTolerance => {
                    counts.held += 1;
                    counts.by_ours += 1;
                }
                Verdict::Undecided => counts.not_judged += 1,
                Verdict::DoesNotHold => {
                    counts.failed += 1;
                    counts.significantly += usize::from(one.half_interval().is_some());
                }
            }
        }
        counts
    }

    pub fn all_comparisons(self) -> usize {
        self.held + self.failed + self.not_judged + self.vacuous
    }

    /// Verdict of a part with these comparisons. None if all are vacuous.
    fn part_verdict(self, is_general: bool) -> Option<Verdict> {
        let counted = self.held + self.failed + self.not_judged;
        let allowed = if is_general { EXCEPTIONS_MAX * counted as f64 } else { 0.0 };
        let is_most = self.held as f64 > MAJORITY * counted as f64;
        let is_ours = self.by_ours > 0 || (is_general && self.failed > 0);
        (counted > 0).then_some(match (self.failed as f64 <= allowed, is_most, is_ours) {
            (false, ..) => Verdict::DoesNotHold,
            (true, false, _) => Verdict::Undecided,
            (true, true, true) => Verdict::WithinTolerance,
            (true, true, false) => Verdict::Holds,
        })
    }
}

/// Verdict of the weakest part; None without comparisons. A claim that is vacuous as a whole cannot be told.
pub(super) fn verdict_of(comparisons: &[Comparison]) -> Option<Verdict> {
    let mut parts: BTreeMap<Part, Vec<&Comparison>> = BTreeMap::new();
    comparisons.iter().for_each(|one| parts.entry(one.part).or_default().push(one));
    let verdicts = parts.iter().filter_map(|(part, all)| Counts::of(all.iter().copied()).part_verdict(part.is_general));
    verdicts.max().or((!comparisons.is_empty()).then_some(Verdict::Undecided))
}

/// Index of the sample that makes most of a margin's variance, if the margin has the other sign without it. `pulls` are
/// the deviations that the samples cause in the margin.
pub(super) fn decisive_sample(margin: f64, pulls: &[f64]) -> Option<usize> {
    let squares: f64 = pulls.iter().map(|pull| pull * pull).sum();
    let at = pulls
        .iter()
        .position(|pull| pull * pull > OUTLIER_SHARE * squares)
        .filter(|_| pulls.len() >= OUTLIER_AMONG_MIN)?;
    let without = margin - pulls[at] / (pulls.len() - 1) as f64;
    ((margin < 0.0) != (without < 0.0)).then_some(at)
}

impl<R> Judge<'_, R> {
    /// Compares: a number is about the one that the source prints.
    pub fn expect_about(&mut self, number: impl Into<Number>, printed: f64) {
        self.with_bound(ABOUT_WORDS, |judge| judge.expect_at_most(number.into().distance(printed), ABOUT * printed));
    }

    /// Compares: a number agrees with the one that the source prints of other draws.
    pub fn expect_agreement(&mut self, number: impl Into<Number>, printed: f64) {
        let apart = number.into().distance(printed);
        self.with_bound(AGREES_WORDS, |judge| judge.expect_at_most(apart, AGREES * printed));
    }

    /// Compares: a number is almost the one that the source names.
    pub fn expect_almost(&mut self, number: impl Into<Number>, named: f64) {
        let number = number.into();
        self.with_bound(ALMOST_WORDS, |judge| {
            judge.expect_at_most((1.0 - ALMOST) * named, &number);
            judge.expect_at_most(number, named);
        });
    }

    /// Compares: two numbers of a figure are close, beside the range of all its numbers.
    pub fn close(&mut self, one: impl Into<Number>, other: impl Into<Number>, figure: &[Number]) {
        let most = close_limit(figure);
        self.with_bound(CLOSE_WORDS, |judge| judge.expect_at_most(one.into().distance(other), most));
    }

    /// Compares: a number of a figure is not above another one, or close to it.
    pub fn expect_not_above(&mut self, one: impl Into<Number>, other: impl Into<Number>, figure: &[Number]) {
        let limit = close_limit(figure).value.unwrap_or(0.0);
        self.with_slack(CLOSE_WORDS, |judge| judge.expect_within(one, other, limit));
    }

    /// Compares: two numbers of a figure are not close.
    pub fn expect_apart(&mut self, one: impl Into<Number>, other: impl Into<Number>, figure: &[Number]) {
        let least = close_limit(figure);
        self.with_bound(CLOSE_WORDS, |judge| judge.expect_below(least, one.into().distance(other)));
    }

    /// Compares for settings in general: some may fail.
    pub fn compare_generally(&mut self, compare: impl FnOnce(&mut Self)) {
        self.general_part(|judge| judge.with_slack(GENERALLY_WORDS, compare));
    }
}

/// Largest distance of two numbers that are close.
fn close_limit(figure: &[Number]) -> Number {
    Number::new(format!("{CLOSE} of the range"), range_of(figure).map(|range| CLOSE * range))
}

/// Largest minus smallest number of a figure; None if one is missing.
fn range_of(figure: &[Number]) -> Option<f64> {
    let values: Vec<f64> = figure.iter().map(|number| number.value).collect::<Option<_>>()?;
    let least = values.iter().copied().min_by(f64::total_cmp)?;
    let most = values.iter().copied().max_by(f64::total_cmp)?;
    Some(most - least)
}

const ABOUT_WORDS: Cow<'static, str> = Cow::Borrowed("\"about\" is read as within a fifth of the printed number");
const AGREES_WORDS: Cow<'static, str> =
    Cow::Borrowed("a number of other draws agrees if it is within a tenth of the printed one");
const ALMOST_WORDS: Cow<'static, str> = Cow::Borrowed("\"almost\" is read as from nine tenths of the number up to it");
const CLOSE_WORDS: Cow<'static, str> =
    Cow::Borrowed("\"close\" is read as apart by at most a twentieth of the range of all numbers of the figure");
/// Reason for the exceptions that a general part allows.
pub(super) const GENERALLY_WORDS: &str = "\"generally\" is read as with at most a quarter of exceptions";

#[cfg(test)]
mod tests {
    use super::super::{Claim, Finding, exact_number};
    use super::*;

    fn judged(compare: fn(&mut Judge<'_, ()>)) -> Finding {
        Claim::new("", &[], compare).judge(&())
    }

    /// A number whose samples are this far from each other: with four samples, the interval is 3.18 * spread / 1.73.
    fn noisy(mean: f64, spread: f64) -> Number {
        Number::mean("noisy".to_owned(), &[mean - spread, mean + spread, mean - spread, mean + spread])
    }

    fn verdict_against_one(number: &Number, tolerance: f64) -> Verdict {
        let mut judge = Judge::new(&());
        judge.expect_within(number, 1.0, tolerance);
        judge.comparisons[0].verdict()
    }

    #[test]
    fn a_comparison_within_its_interval_cannot_be_told_whichever_way_it_falls() {
        for (mean, verdict) in
            [(0.5, Verdict::Holds), (0.95, Verdict::Undecided), (1.05, Verdict::Undecided), (1.5, Verdict::DoesNotHold)]
        {
            assert_eq!(verdict_against_one(&noisy(mean, 0.1), 0.0), verdict, "{mean}");
        }
        // Without variation, numbers are exact.
        assert_eq!(verdict_against_one(&noisy(1.0, 0.0), 0.0), Verdict::Holds);
        assert_eq!(verdict_against_one(&noisy(1.000_1, 0.0), 0.0), Verdict::DoesNotHold);
    }

    #[test]
    fn a_tolerance_moves_the_bound_and_not_the_interval() {
        for (mean, verdict) in [
            (0.5, Verdict::Holds),
            (1.05, Verdict::WithinTolerance),
            (1.25, Verdict::Undecided),
            (1.35, Verdict::Undecided),
            (1.6, Verdict::DoesNotHold),
        ] {
            assert_eq!(verdict_against_one(&noisy(mean, 0.1), 0.3), verdict, "{mean}");
        }
        // Equality of exact numbers stays exact, with and without a tolerance.
        assert_eq!(verdict_against_one(&exact_number(1.0), 0.0), Verdict::Holds);
        assert_eq!(verdict_against_one(&exact_number(1.25), 0.25), Verdict::WithinTolerance);
        assert_eq!(verdict_against_one(&exact_number(1.26), 0.25), Verdict::DoesNotHold);
    }

    #[test]
    fn nothing_compared_with_nothing_is_vacuous() {
        let none = || Number::mean("none".to_owned(), &[0.0, 0.0, 0.0]);
        let mut judge = Judge::new(&());
        judge.expect_below(none(), none().times(2.0));
        judge.expect_at_most(none(), 0.0);
        let vacuous: Vec<bool> = judge.comparisons.iter().map(|one| one.is_vacuous).collect();
        assert_eq!(vacuous, [true, false], "that a number is 0 says something");
        assert_eq!(judge.into_finding(None).verdict, Verdict::Holds);
        let mut judge = Judge::new(&());
        judge.expect_below(none(), none());
        let finding = judge.into_finding(None);
        assert_eq!(finding.verdict, Verdict::Undecided);
        assert!(
            finding.finding_lines().iter().any(|line| line.starts_with("vacuous: 0 = 0")),
            "{:?}",
            finding.finding_lines()
        );
    }

    #[test]
    fn one_near_tie_does_not_make_a_claim_undecidable() {
        let with_ties = |ties: usize| {
            let mut judge = Judge::new(&());
            (0..2).for_each(|_| judge.expect_below(noisy(0.5, 0.1), 1.0));
            (0..ties).for_each(|_| judge.expect_below(noisy(1.01, 0.1), 1.0));
            judge.into_finding(None)
        };
        assert_eq!(with_ties(1).verdict, Verdict::Holds);
        assert_eq!(with_ties(1).finding_lines()[1], "2 of 3 comparisons hold, 1 cannot be told");
        assert_eq!(with_ties(2).verdict, Verdict::Undecided, "half is no majority");
        let failing = judged(|judge| {
            (0..9).for_each(|_| judge.expect_below(0.5, 1.0));
            judge.expect_below(noisy(1.5, 0.1), 1.0);
        });
        assert_eq!(failing.verdict, Verdict::DoesNotHold);
        assert_eq!(failing.finding_lines()[1], "9 of 10 comparisons hold, 1 fails significantly");
    }

    #[test]
    fn each_part_needs_a_majority_of_its_own() {
        let finding = judged(|judge| {
            (0..9).for_each(|_| judge.expect_below(0.5, 1.0));
            judge.separate_part(|judge| judge.expect_below(noisy(1.01, 0.1), 1.0));
        });
        assert_eq!(finding.verdict, Verdict::Undecided);
    }

    #[test]
    fn generally_allows_a_quarter_of_exceptions() {
        let with_exceptions = |exceptions: usize| {
            let mut judge = Judge::new(&());
            judge.compare_generally(|judge| {
                (0..8 - exceptions).for_each(|_| judge.expect_below(0.5, 1.0));
                (0..exceptions).for_each(|_| judge.expect_below(1.5, 1.0));
            });
            judge.into_finding(None)
        };
        assert_eq!(with_exceptions(0).verdict, Verdict::Holds);
        let two = with_exceptions(2);
        assert_eq!(two.verdict, Verdict::WithinTolerance);
        assert!(
            two.finding_lines().contains(&format!("our tolerance: {GENERALLY_WORDS}")),
            "{:?}",
            two.finding_lines()
        );
        assert_eq!(with_exceptions(3).verdict, Verdict::DoesNotHold);
    }

    #[test]
    fn words_of_sources_have_one_rule_each() {
        let about = |value: f64| {
            let mut judge = Judge::new(&());
            judge.expect_about(Number::new("n".to_owned(), Some(value)), 5.0);
            judge.into_finding(None).verdict
        };
        assert_eq!([4.0, 6.0].map(about), [Verdict::WithinTolerance; 2]);
        assert_eq!([3.9, 6.1].map(about), [Verdict::DoesNotHold; 2]);
        let agrees = |value: f64| {
            let mut judge = Judge::new(&());
            judge.expect_agreement(Number::new("n".to_owned(), Some(value)), 5.0);
            judge.into_finding(None).verdict
        };
        assert_eq!([4.5, 5.5].map(agrees), [Verdict::WithinTolerance; 2]);
        assert_eq!([4.4, 5.6].map(agrees), [Verdict::DoesNotHold; 2]);
        let almost = |value: f64| {
            let mut judge = Judge::new(&());
            judge.expect_almost(Number::new("n".to_owned(), Some(value)), 2.0);
            judge.into_finding(None).verdict
        };
        assert_eq!([1.8, 2.0].map(almost), [Verdict::WithinTolerance; 2]);
        assert_eq!([1.79, 2.01].map(almost), [Verdict::DoesNotHold; 2]);
        let close = |apart: f64| {
            let number = |value: f64| Number::new("n".to_owned(), Some(value));
            let mut judge = Judge::new(&());
            judge.close(number(1.0), number(1.0 + apart), &[number(0.0), number(2.0)]);
            judge.into_finding(None).verdict
        };
        assert_eq!(close(0.1), Verdict::WithinTolerance);
        assert_eq!(close(0.11), Verdict::DoesNotHold);
        let mut judge = Judge::new(&());
        judge.expect_apart(1.0, 1.11, &[exact_number(0.0), exact_number(2.0)]);
        judge.expect_apart(1.0, 1.09, &[exact_number(0.0), exact_number(2.0)]);
        let verdicts: Vec<Verdict> = judge.comparisons.iter().map(Comparison::verdict).collect();
        assert_eq!(verdicts, [Verdict::WithinTolerance, Verdict::DoesNotHold]);
        let mut judge = Judge::new(&());
        for one in [0.9, 1.09, 1.11] {
            judge.expect_not_above(one, 1.0, &[exact_number(0.0), exact_number(2.0)]);
        }
        let verdicts: Vec<Verdict> = judge.comparisons.iter().map(Comparison::verdict).collect();
        assert_eq!(verdicts, [Verdict::Holds, Verdict::WithinTolerance, Verdict::DoesNotHold]);
    }

    #[test]
    fn one_sample_that_decides_a_mean_is_named_with_the_result_without_it() {
        let mut samples = vec![1.0, 1.2, 0.8, 1.1, 0.9, 1.0, 1.2, 0.8, 1.1, 0.9];
        let finding = |samples: &[f64]| {
            let names = (1..=samples.len()).map(|number| format!("trace {number}")).collect();
            let number = Number::mean("D".to_owned(), samples).with_names(names);
            let mut judge = Judge::new(&());
            judge.expect_below(&number, 2.0);
            judge.into_finding(None)
        };
        assert_eq!(finding(&samples).comparisons[0].outlier, None);
        samples[7] = 40.0;
        let outlier = finding(&samples);
        assert_eq!(outlier.verdict, Verdict::Undecided);
        let line = "trace 8, one of 10, decides: D = 4.9200 < 2; without it 1.0222 < 2";
        assert!(outlier.finding_lines().contains(&line.to_owned()), "{:?}", outlier.finding_lines());
        // Two of them, or a large one that changes nothing, are no such case.
        samples[3] = 40.0;
        assert_eq!(finding(&samples).comparisons[0].outlier, None);
        assert_eq!(decisive_sample(-0.5, &[0.0; 20]), None);
    }
}
