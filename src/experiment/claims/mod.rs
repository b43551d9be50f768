//! Claims of a paper as comparisons of numbers, and their verdicts for given results.

use std::fmt::Write;

use super::statistics::{chance, ratio};
use crate::settings::counted;

/// A statement of a paper, in words and as comparisons.
pub struct Claim<R> {
    pub number: u32,
    pub text: &'static str,
    /// Explanation of why it does not hold as it stands.
    pub note: Note<R>,
    pub(super) compare: fn(&mut Judge<'_, R>),
    pub(super) ours: Ours<R>,
}

/// Explanation of why a claim does not hold as it stands.
pub enum Note<R> {
    None,
    /// One text for all results.
    Words(&'static str),
    /// Texts that depend on the results.
    Of(fn(&R, &Finding) -> Vec<String>),
}

/// Bounds and slack of a claim that are ours, not the paper's. If results need them, the claim holds within tolerance
/// at best.
pub(super) enum Ours<R> {
    Nothing,
    /// The paper gives no number for "close" or "much".
    Bounds,
    /// The comparisons are weaker than the paper's own words, which are given here and judged first.
    Slack(fn(&mut Judge<'_, R>)),
    /// Both: even judging the paper's own words takes bounds of ours.
    SlackAndBounds(fn(&mut Judge<'_, R>)),
}

/// Verdict of a claim, with its evidence.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    pub verdict: Verdict,
    pub comparisons: Vec<Comparison>,
    /// Comparisons of the paper's own words, if these fail and weaker ones were judged.
    pub own_words: Vec<Comparison>,
    /// True if the paper gives no numbers for what is compared.
    pub bounds_are_ours: bool,
    /// Comparisons that could not be made, as numbers are missing.
    pub missing: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Holds,
    WithinTolerance,
    /// The comparison fails by less than the random variation of so few samples.
    CannotBeTold,
    DoesNotHold,
    /// There are no numbers to judge by.
    Open,
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
}

impl<R> Claim<R> {
    pub fn judge(&self, results: &R) -> Finding {
        let mut own_words = Vec::new();
        let bounds_are_ours = matches!(self.ours, Ours::Bounds | Ours::SlackAndBounds(_));
        if let Ours::Slack(paper) | Ours::SlackAndBounds(paper) = self.ours {
            let finding = Finding::of(results, paper);
            if finding.verdict == Verdict::Holds {
                let verdict = if bounds_are_ours { Verdict::WithinTolerance } else { Verdict::Holds };
                return Finding { verdict, bounds_are_ours, ..finding };
            }
            own_words = finding.comparisons;
        }
        let mut finding = Finding::of(results, self.compare);
        finding.bounds_are_ours = bounds_are_ours;
        if finding.verdict == Verdict::Holds && (finding.bounds_are_ours || !own_words.is_empty()) {
            finding.verdict = Verdict::WithinTolerance;
        }
        Finding { own_words, ..finding }
    }

    fn notes(&self, results: &R, finding: &Finding) -> Vec<String> {
        match self.note {
            _ if finding.verdict == Verdict::Holds => Vec::new(),
            Note::None => Vec::new(),
            Note::Words(words) => vec![words.to_owned()],
            Note::Of(note) => note(results, finding),
        }
    }
}

impl Finding {
    fn of<R>(results: &R, compare: fn(&mut Judge<'_, R>)) -> Finding {
        let mut judge = Judge { results, comparisons: Vec::new(), missing: Vec::new() };
        compare(&mut judge);
        let Judge { comparisons, missing, .. } = judge;
        let verdict = comparisons.iter().map(Comparison::verdict).max_by_key(|verdict| *verdict as u8);
        let verdict = verdict.unwrap_or(Verdict::Open);
        Finding { verdict, comparisons, own_words: Vec::new(), bounds_are_ours: false, missing }
    }
}

impl Comparison {
    pub fn verdict(&self) -> Verdict {
        let holds = if self.strict { self.margin > 0.0 } else { self.margin >= -ROUNDING };
        match holds {
            true => Verdict::Holds,
            false if self.tolerance > 0.0 && self.margin >= -self.tolerance - ROUNDING => Verdict::WithinTolerance,
            false if self.chance.is_some_and(|chance| chance > 0.0 && self.margin + self.tolerance + chance >= 0.0) => {
                Verdict::CannotBeTold
            }
            false => Verdict::DoesNotHold,
        }
    }

    /// Amount by which it fails, with enough digits to differ from zero.
    fn shortfall(&self) -> String {
        match -self.margin {
            0.0 => "as both sides are equal".to_owned(),
            missing if missing.abs() < 0.00005 => format!("by {missing:.1e}"),
            missing => format!("by {missing:.4}"),
        }
    }
}

const ROUNDING: f64 = 1e-12;

impl Verdict {
    pub fn words(self) -> &'static str {
        match self {
            Verdict::Holds => "holds",
            Verdict::WithinTolerance => "holds within tolerance",
            Verdict::CannotBeTold => "cannot be told",
            Verdict::DoesNotHold => "does not hold",
            Verdict::Open => "cannot be judged",
        }
    }
}

impl Finding {
    /// The decisive comparisons: all that fail, else all that cannot be told, else the closest one.
    pub fn evidence(&self) -> Vec<&Comparison> {
        for verdict in [Verdict::DoesNotHold, Verdict::CannotBeTold] {
            let failing: Vec<_> = self.comparisons.iter().filter(|c| c.verdict() == verdict).collect();
            if !failing.is_empty() {
                return failing;
            }
        }
        self.comparisons.iter().min_by(|a, b| a.margin.total_cmp(&b.margin)).into_iter().collect()
    }

    /// True if a comparison that names `named` fails, by chance or not. Such a comparison must exist, even if its
    /// numbers are missing.
    pub fn fails(&self, named: &str) -> bool {
        let names = |text: &String| text.contains(named);
        let mut all = self.comparisons.iter().map(|comparison| &comparison.text).chain(&self.missing);
        let is_known = cfg!(not(test)) || all.any(names);
        assert!(is_known, "no comparison names {named}: a note that asks for it would be lost");
        let fails = |one: &Comparison| matches!(one.verdict(), Verdict::DoesNotHold | Verdict::CannotBeTold);
        self.comparisons.iter().any(|comparison| names(&comparison.text) && fails(comparison))
    }

    /// Comparisons of the paper's own words that fail.
    pub fn against_own_words(&self) -> Vec<&Comparison> {
        self.own_words.iter().filter(|comparison| comparison.verdict() != Verdict::Holds).collect()
    }

    /// Writes the verdict and the decisive numbers.
    fn write(&self, number: u32, words: &str, notes: &[String], text: &mut String) {
        let head = format!("{}: {}", self.verdict.words(), words);
        let _ = write!(text, "\n{:>2}. {}\n", number, wrapped(&head, 4));
        let evidence = self.evidence();
        for comparison in evidence.iter().take(SHOWN) {
            let _ = match comparison.verdict() {
                Verdict::Holds => writeln!(text, "      closest: {}", comparison.text),
                Verdict::WithinTolerance => {
                    writeln!(
                        text,
                        "      {} fails {}; {} are allowed",
                        comparison.text,
                        comparison.shortfall(),
                        up(comparison.tolerance)
                    )
                }
                _ => {
                    let chance = comparison.chance.map(|chance| format!(" +- {chance:.4}")).unwrap_or_default();
                    writeln!(text, "      {} fails {}{chance}", comparison.text, comparison.shortfall())
                }
            };
        }
        if evidence.len() > SHOWN {
            let _ = writeln!(text, "      and {} more", evidence.len() - SHOWN);
        }
        let failed = self.comparisons.iter().filter(|comparison| comparison.verdict() != Verdict::Holds).count();
        let _ = writeln!(
            text,
            "      {} of {} hold{} exactly",
            self.comparisons.len() - failed,
            counted(self.comparisons.len() as u64, "comparison"),
            if self.comparisons.len() == 1 { "s" } else { "" }
        );
        if self.bounds_are_ours && self.verdict == Verdict::WithinTolerance {
            text.push_str("      the paper gives no numbers for this: the bounds are ours\n");
        }
        let against = self.against_own_words();
        if !against.is_empty() {
            let held = self.own_words.len() - against.len();
            let all = counted(self.own_words.len() as u64, "comparison");
            let _ = writeln!(text, "      in the paper's own words {held} of {all} hold:");
            for comparison in against.iter().take(SHOWN) {
                let _ = writeln!(text, "      {} fails {}", comparison.text, comparison.shortfall());
            }
            if against.len() > SHOWN {
                let _ = writeln!(text, "      and {} more", against.len() - SHOWN);
            }
        }
        if !self.missing.is_empty() {
            let _ = writeln!(text, "      {} comparisons could not be made", self.missing.len());
        }
        if self.verdict == Verdict::CannotBeTold {
            text.push_str("      the failures are within the random variation of these samples (+-, 95 %)\n");
        }
        for note in notes {
            let _ = writeln!(text, "      {}", wrapped(note, 6));
        }
    }
}

/// Verdicts of all claims of a paper.
pub(super) struct Findings<R: 'static>(Vec<(&'static Claim<R>, Finding)>);

impl<R> Findings<R> {
    pub(super) fn of(claims: &'static [Claim<R>], results: &R) -> Findings<R> {
        Findings(claims.iter().map(|claim| (claim, claim.judge(results))).collect())
    }

    /// Counts such as `3 hold, 1 within tolerance, 0 not`, and the number that cannot be told, unless it is 0.
    pub(super) fn counts(&self) -> String {
        let count = |verdict| self.0.iter().filter(|(_, finding)| finding.verdict == verdict).count();
        let untold = match count(Verdict::CannotBeTold) {
            0 => String::new(),
            untold => format!(", {untold} cannot be told"),
        };
        format!(
            "{} hold, {} within tolerance, {} not{untold}",
            count(Verdict::Holds),
            count(Verdict::WithinTolerance),
            count(Verdict::DoesNotHold)
        )
    }

    /// Writes each claim with its verdict and the decisive numbers.
    pub(super) fn write(&self, results: &R, text: &mut String) {
        for (claim, finding) in &self.0 {
            finding.write(claim.number, claim.text, &claim.notes(results, finding), text);
        }
    }
}

/// Rounds up to four decimals.
fn up(number: f64) -> f64 {
    (number * 1e4 - 1e-9).ceil() / 1e4
}

/// Most failing comparisons that are shown per claim.
const SHOWN: usize = 6;

/// Wraps text at 100 columns; all lines but the first are indented.
fn wrapped(text: &str, indent: usize) -> String {
    let mut lines = String::new();
    let mut length = indent;
    for word in text.split(' ') {
        if length > indent && length + 1 + word.len() > 100 {
            lines.push_str(&format!("\n{:indent$}", ""));
            length = indent;
        } else if length > indent {
            lines.push(' ');
            length += 1;
        }
        lines.push_str(word);
        length += word.len();
    }
    lines
}

/// Collects the comparisons of a claim.
pub(super) struct Judge<'r, R> {
    pub(super) results: &'r R,
    comparisons: Vec<Comparison>,
    missing: Vec<String>,
}

/// A number with a name; the value is None if the results do not have it.
#[derive(Clone, Debug)]
pub(super) struct Number {
    pub(super) name: String,
    pub(super) value: Option<f64>,
    /// Deviation that each sample causes in the number; empty if its samples are unknown.
    pulls: Vec<f64>,
    /// True if its samples are of other occasions than those of other numbers, even if there are as many.
    alone: bool,
}

impl Number {
    pub(super) fn new(name: String, value: Option<f64>) -> Number {
        Number { name, value, pulls: Vec::new(), alone: false }
    }

    /// Marks the samples as unpaired: they have no counterparts among those of other numbers.
    pub(super) fn alone(self) -> Number {
        Number { alone: true, ..self }
    }

    /// Mean of samples.
    pub(super) fn mean(name: String, samples: &[f64]) -> Number {
        let value = (!samples.is_empty()).then(|| samples.iter().sum::<f64>() / samples.len() as f64);
        let pulls = value.map_or(Vec::new(), |mean| samples.iter().map(|sample| sample - mean).collect());
        Number { pulls, ..Number::new(name, value) }
    }

    /// Ratio of the means of paired samples.
    pub(super) fn ratio(name: String, ones: &[f64], others: &[f64]) -> Number {
        let (value, pulls) = ratio(ones, others).map_or((None, Vec::new()), |(ratio, pulls)| (Some(ratio), pulls));
        Number { pulls, ..Number::new(name, value) }
    }

    /// Sample standard deviation.
    pub(super) fn deviation(name: String, samples: &[f64]) -> Number {
        let pulls = Number::mean(String::new(), samples).pulls;
        if pulls.len() < 2 {
            return Number::new(name, None);
        }
        let variance = pulls.iter().map(|pull| pull * pull).sum::<f64>() / (pulls.len() - 1) as f64;
        let deviation = variance.sqrt();
        let pulls = pulls.iter().map(|pull| (pull * pull - variance) / (2.0 * deviation));
        let pulls = if deviation > 0.0 { pulls.collect() } else { Vec::new() };
        Number { pulls, ..Number::new(name, Some(deviation)) }
    }

    pub(super) fn plus(&self, term: f64) -> Number {
        let sign = if term < 0.0 { '-' } else { '+' };
        let name = format!("{} {sign} {}", self.name, term.abs());
        Number { name, value: self.value.map(|value| value + term), ..self.clone() }
    }

    pub(super) fn times(&self, factor: f64) -> Number {
        let name = match self.name.is_empty() {
            true => String::new(),
            false => format!("{factor} {}", self.name),
        };
        let pulls = self.pulls.iter().map(|pull| factor * pull).collect();
        Number { name, value: self.value.map(|value| value * factor), pulls, alone: self.alone }
    }

    pub(super) fn minus(&self, other: &Number) -> Number {
        let value = self.value.zip(other.value).map(|(a, b)| a - b);
        // A number without samples leaves those of the other unchanged.
        let pulls = match (self.pulls.len(), other.pulls.len()) {
            (_, 0) => self.pulls.clone(),
            (0, _) => other.pulls.iter().map(|pull| -pull).collect(),
            _ if self.goes_with(other) => apart(self, other),
            _ => Vec::new(),
        };
        let alone = self.alone || other.alone;
        Number { pulls, alone, ..Number::new(format!("({} - {})", self.name, other.told()), value) }
    }

    /// Its name, or its value if it has no name.
    fn told(&self) -> String {
        match self.value.filter(|_| self.name.is_empty()) {
            Some(value) => format!("{}", (value * 1e4).round() / 1e4),
            None => self.name.clone(),
        }
    }

    pub(super) fn distance(&self, other: &Number) -> Number {
        let apart = self.minus(other);
        let sign = if apart.value.is_some_and(|value| value < 0.0) { -1.0 } else { 1.0 };
        Number { name: format!("|{} - {}|", self.name, other.told()), ..apart.times(sign) }
    }

    /// True if the samples of both are paired.
    fn goes_with(&self, other: &Number) -> bool {
        self.pulls.len() == other.pulls.len() && !self.alone && !other.alone
    }

    /// Half width of the confidence interval of the difference; paired samples are compared pair by pair.
    fn chance(&self, other: &Number) -> Option<f64> {
        match (self.pulls.len(), other.pulls.len()) {
            (0, 0) => None,
            (0, _) => chance(&other.pulls),
            (_, 0) => chance(&self.pulls),
            _ if self.goes_with(other) => chance(&apart(self, other)),
            _ => Some(chance(&self.pulls)?.hypot(chance(&other.pulls)?)),
        }
    }
}

/// Deviation that each sample causes in the difference of two numbers.
fn apart(one: &Number, other: &Number) -> Vec<f64> {
    one.pulls.iter().zip(&other.pulls).map(|(one, other)| one - other).collect()
}

pub(super) fn just(value: f64) -> Number {
    Number::new(String::new(), Some(value))
}

impl<R> Judge<'_, R> {
    pub(super) fn below(&mut self, low: &Number, high: &Number) {
        self.compare(low, high, 0.0, true);
    }

    pub(super) fn at_most(&mut self, low: &Number, high: &Number, tolerance: f64) {
        self.compare(low, high, tolerance, false);
    }

    fn compare(&mut self, low: &Number, high: &Number, tolerance: f64, strict: bool) {
        let shown = |number: &Number| match number.value {
            Some(value) if number.name.is_empty() => value.to_string(),
            Some(value) => format!("{} = {value:.4}", number.name),
            None => number.name.clone(),
        };
        let sign = if strict { "<" } else { "<=" };
        let text = format!("{} {sign} {}", shown(low), shown(high));
        let Some((left, right)) = low.value.zip(high.value) else { return self.missing.push(text) };
        let chance = low.chance(high);
        self.comparisons.push(Comparison { text, margin: right - left, tolerance, strict, chance });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shortfall_never_reads_as_zero() {
        let of = |margin| {
            let text = String::new();
            Comparison { text, margin, tolerance: 0.0, strict: true, chance: None }.shortfall()
        };
        assert_eq!(of(0.0), "as both sides are equal");
        assert_eq!(of(-0.5), "by 0.5000");
        assert_eq!(of(-0.00001), "by 1.0e-5");
    }
}
