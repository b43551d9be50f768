//! Claims of a paper: its words, comparisons of numbers, and verdicts for given results.
//!
//! The paper's own words and numbers are the claim. Where it gives no number for "close" or "much", a bound of ours is
//! marked as such, and what holds by it holds only within our tolerance.
//!
//! Claims of experiments that need a program are compared by functions; those of experiment files are written as
//! formulas (`written.rs`).

mod account;
mod cells;
mod formula;
mod judge;
mod matrix;
mod rules;
mod verdicts;
mod written;

use std::borrow::Cow;

pub use account::Findings;
pub use cells::Cells;
pub use judge::{Judge, Number, exact_number};
pub use matrix::{ChoiceMatrix, choices_html};
pub use verdicts::judge_experiment;
pub use written::{WrittenClaim, check_claims, walk_claims};

/// A statement of a paper, in words and as comparisons.
pub struct Claim<R> {
    /// The statement in short, in words of ours.
    pub text: &'static str,
    pub sources: &'static [ClaimSource],
    /// Explanation of why it does not hold as it stands.
    note: Option<&'static str>,
    compare: fn(&mut Judge<'_, R>),
    weaker: Option<WeakerClaim<R>>,
}

/// Source of a claim in its paper.
#[derive(Clone, Copy, Debug)]
pub enum ClaimSource {
    /// Place (section, table or figure; empty if it is not known) and the paper's own words.
    Quote(&'static str, &'static str),
    /// Place and statement, where only its sense is at hand, not its wording.
    Sense(&'static str, &'static str),
}

/// A statement of ours that is weaker than the paper's. It is judged beside the claim, and does not affect its verdict.
struct WeakerClaim<R> {
    text: &'static str,
    compare: fn(&mut Judge<'_, R>),
}

/// Verdict of a claim, with its evidence.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// Verdict of the weakest part (`rules.rs`).
    pub verdict: Verdict,
    pub comparisons: Vec<Comparison>,
    /// Numbers of the paper beside ours.
    pub pairs: Vec<Pair>,
    /// Comparisons that could not be made, as numbers are missing.
    pub missing: Vec<String>,
    /// Reasons why parts of the claim cannot be told.
    pub not_judged: Vec<String>,
    /// Sentences that are shown with every verdict.
    pub remarks: Vec<String>,
    /// Verdict of the weaker statement; None if there is none, or no number for it.
    pub weaker: Option<Verdict>,
}

/// A number that the paper prints, and ours; None if the results lack it.
#[derive(Clone, Debug, PartialEq)]
pub struct Pair {
    pub what: String,
    pub paper: String,
    pub ours: Option<f64>,
}

/// Verdicts, from the strongest to the weakest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    Holds,
    /// Holds by a bound or a tolerance that is ours, not the paper's.
    WithinTolerance,
    /// Numbers are missing, or differ by less than the random variation of so few samples.
    Undecided,
    DoesNotHold,
}

/// The part of a comparison that is ours, not the paper's, and the reason for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ours {
    Nothing,
    Bound(Cow<'static, str>),
    Slack(Cow<'static, str>),
}

/// A comparison: one number is below another one.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// Both sides with their numbers.
    pub text: String,
    /// Right side minus left side.
    pub margin: f64,
    /// Shortfall that is tolerated.
    pub tolerance: f64,
    /// True if equality is not enough.
    pub strict: bool,
    /// Half width of the 95 % confidence interval of the margin; None if it is unknown.
    pub chance: Option<f64>,
    pub ours: Ours,
    /// The part of the claim that it belongs to.
    pub part: Part,
    /// True if both sides are measured and exactly 0, so that nothing is compared.
    pub is_vacuous: bool,
    /// The sample that decides the direction by itself, if there is one.
    pub outlier: Option<Outlier>,
}

/// A part of a claim: comparisons that state one thing for several settings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Part {
    pub number: usize,
    /// True if the source says "generally", so that a share of the comparisons may fail.
    pub is_general: bool,
}

/// A sample that makes most of a margin's variance, and without which the comparison goes the other way.
#[derive(Clone, Debug, PartialEq)]
pub struct Outlier {
    /// Its name, such as `trace 8`.
    pub name: String,
    /// Number of all samples.
    pub count: usize,
    /// Both sides of the comparison without this sample.
    pub without: [f64; 2],
}

impl<R> Claim<R> {
    /// A claim that its comparisons decide.
    pub const fn new(text: &'static str, sources: &'static [ClaimSource], compare: fn(&mut Judge<'_, R>)) -> Claim<R> {
        Claim { text, sources, note: None, compare, weaker: None }
    }

    /// Explains why it does not hold as it stands.
    pub const fn with_note(self, note: &'static str) -> Claim<R> {
        Claim { note: Some(note), ..self }
    }

    /// Adds a weaker statement, which is judged beside it.
    pub const fn with_weaker(self, text: &'static str, compare: fn(&mut Judge<'_, R>)) -> Claim<R> {
        Claim { weaker: Some(WeakerClaim { text, compare }), ..self }
    }

    pub fn judge(&self, results: &R) -> Finding {
        let mut judge = Judge::new(results);
        (self.compare)(&mut judge);
        let weaker = self.weaker.as_ref().and_then(|weaker| {
            let mut judge = Judge::new(results);
            (weaker.compare)(&mut judge);
            judge.weaker_verdict()
        });
        judge.into_finding(weaker)
    }
}

impl Comparison {
    /// Its own verdict; a vacuous comparison cannot be told.
    ///
    /// Numbers without random variation are compared exactly. Others have to differ by more than the half width of the
    /// confidence interval, whichever way they fall; a tolerance moves the bound, not the interval.
    pub fn verdict(&self) -> Verdict {
        if self.is_vacuous {
            return Verdict::Undecided;
        }
        let tolerated = self.margin + self.tolerance;
        let (holds, is_tolerated, fails) = match self.half_interval() {
            Some(within) => (self.margin > within, tolerated > within, tolerated < -within),
            None => {
                let holds = if self.strict { self.margin > 0.0 } else { self.margin >= -ROUNDING };
                let is_tolerated = self.tolerance > 0.0 && tolerated >= -ROUNDING;
                (holds, is_tolerated, !holds && !is_tolerated)
            }
        };
        match self.ours {
            Ours::Bound(_) if holds => Verdict::WithinTolerance,
            _ if holds => Verdict::Holds,
            _ if is_tolerated => Verdict::WithinTolerance,
            _ if fails => Verdict::DoesNotHold,
            _ => Verdict::Undecided,
        }
    }

    fn falls_the_wrong_way(&self) -> bool {
        let tolerated = self.margin + self.tolerance;
        if self.strict { tolerated <= 0.0 } else { tolerated < -ROUNDING }
    }

    /// Half width of the confidence interval; None if the numbers have no random variation, or it is unknown.
    fn half_interval(&self) -> Option<f64> {
        self.chance.filter(|chance| *chance > ROUNDING)
    }

    /// Amount by which it fails, with enough digits to differ from zero.
    fn shortfall_text(&self) -> String {
        match -self.margin {
            0.0 => "as both sides are equal".to_owned(),
            missing if missing.abs() < 0.00005 => format!("by {missing:.1e}"),
            missing => format!("by {missing:.4}"),
        }
    }
}

const ROUNDING: f64 = 1e-12;

impl Verdict {
    pub const ALL: [Verdict; 4] = [Verdict::Holds, Verdict::WithinTolerance, Verdict::DoesNotHold, Verdict::Undecided];

    /// True if the note of a claim explains this verdict.
    pub fn needs_a_note(self) -> bool {
        matches!(self, Verdict::WithinTolerance | Verdict::DoesNotHold)
    }

    pub fn verdict_words(self) -> &'static str {
        match self {
            Verdict::Holds => "holds",
            Verdict::WithinTolerance => "holds only within our tolerance",
            Verdict::Undecided => "cannot be told",
            Verdict::DoesNotHold => "does not hold",
        }
    }
}

impl Finding {
    /// The decisive comparisons: all that fail, else all that cannot be told, else the one that
    /// needs most of its tolerance, else the closest one.
    pub fn decisive_comparisons(&self) -> Vec<&Comparison> {
        for verdict in [Verdict::DoesNotHold, Verdict::Undecided] {
            let failing: Vec<_> = self.measured_comparisons().filter(|one| one.verdict() == verdict).collect();
            if !failing.is_empty() {
                return failing;
            }
        }
        self.measured_comparisons().min_by(|a, b| a.margin.total_cmp(&b.margin)).into_iter().collect()
    }

    /// Comparisons that are not vacuous.
    fn measured_comparisons(&self) -> impl Iterator<Item = &Comparison> {
        self.comparisons.iter().filter(|one| !one.is_vacuous)
    }

    /// True if a comparison that names `named` falls the wrong way, by chance or not. Such a comparison must exist,
    /// even if its numbers are missing.
    pub fn fails_named(&self, named: &str) -> bool {
        let mut all = self.comparisons.iter().map(|comparison| &comparison.text).chain(&self.missing);
        assert!(all.any(|text| names_it(text, named)), "no comparison names {named}");
        self.comparisons.iter().any(|comparison| names_it(&comparison.text, named) && comparison.falls_the_wrong_way())
    }

    /// Reasons for our bounds, and for those of our tolerances on which a comparison depends, each once.
    fn tolerance_reasons(&self) -> Vec<&str> {
        let mut reasons: Vec<&str> = Vec::new();
        for comparison in &self.comparisons {
            let why = match &comparison.ours {
                Ours::Bound(why) => why,
                Ours::Slack(why) if comparison.verdict() == Verdict::WithinTolerance => why,
                // An exception that a general part allows.
                Ours::Slack(why) if comparison.part.is_general && comparison.verdict() == Verdict::DoesNotHold => why,
                Ours::Slack(_) | Ours::Nothing => continue,
            };
            if !reasons.contains(&&**why) {
                reasons.push(why);
            }
        }
        reasons
    }
}

fn names_it(text: &str, named: &str) -> bool {
    text.contains(named)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn comparison(margin: f64, ours: Ours) -> Comparison {
        let part = Part::default();
        let text = String::new();
        let tolerance = 0.0;
        let is_vacuous = false;
        Comparison { text, margin, tolerance, strict: true, chance: None, ours, part, is_vacuous, outlier: None }
    }

    #[test]
    fn a_shortfall_never_reads_as_zero() {
        let of = |margin| comparison(margin, Ours::Nothing).shortfall_text();
        assert_eq!(of(0.0), "as both sides are equal");
        assert_eq!(of(-0.5), "by 0.5000");
        assert_eq!(of(-0.00001), "by 1.0e-5");
    }

    /// A claim that compares fixed numbers.
    fn judged(compare: fn(&mut Judge<'_, ()>)) -> Finding {
        Claim::new("", &[], compare).judge(&())
    }

    #[test]
    fn a_claim_is_as_strong_as_its_weakest_part() {
        let holds: fn(&mut Judge<'_, ()>) = |judge| judge.expect_below(1.0, 2.0);
        assert_eq!(judged(holds).verdict, Verdict::Holds);
        let bound = judged(|judge| {
            judge.expect_below(1.0, 2.0);
            judge.with_bound("close is 1 here", |judge| judge.expect_below(1.0, 2.0));
        });
        assert_eq!((bound.verdict, bound.tolerance_reasons()), (Verdict::WithinTolerance, vec!["close is 1 here"]));
        let unused = judged(|judge| judge.with_slack("noise", |judge| judge.expect_within(1.0, 2.0, 1.0)));
        assert_eq!((unused.verdict, unused.tolerance_reasons().len()), (Verdict::Holds, 0));
        let used = judged(|judge| judge.with_slack("noise", |judge| judge.expect_within(2.5, 2.0, 1.0)));
        assert_eq!((used.verdict, used.tolerance_reasons()), (Verdict::WithinTolerance, vec!["noise"]));
        // A bound that fails is named, too.
        let failing = judged(|judge| judge.with_bound("much is 2", |judge| judge.expect_below(2.0, 1.0)));
        assert_eq!((failing.verdict, failing.tolerance_reasons()), (Verdict::DoesNotHold, vec!["much is 2"]));
        let missing = judged(|judge| {
            judge.expect_below(1.0, 2.0);
            judge.expect_below(Number::new("lost".to_owned(), None), 2.0);
        });
        assert_eq!(missing.verdict, Verdict::Undecided);
        let fails = judged(|judge| {
            judge.not_judged("no log");
            judge.expect_below(3.0, 2.0);
        });
        assert_eq!(fails.verdict, Verdict::DoesNotHold);
        assert_eq!(judged(|_| {}).verdict, Verdict::Undecided);
    }

    /// A weaker statement of ours holds, and the paper's still does not.
    #[test]
    fn a_weaker_statement_never_replaces_the_papers() {
        let claim = Claim::<f64>::new("a is above 2", &[], |judge| judge.expect_below(2.0, *judge.results))
            .with_weaker("a is above 1", |judge| judge.expect_below(1.0, *judge.results));
        let finding = claim.judge(&1.5);
        assert_eq!((finding.verdict, finding.weaker), (Verdict::DoesNotHold, Some(Verdict::Holds)));
    }
}
