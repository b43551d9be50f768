//! Claims of a paper as comparisons of numbers, and how far results bear them out.

use std::collections::BTreeMap;
use std::fmt::Write;

/// Means over workloads, by policy and load.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Results {
    pub cells: BTreeMap<(String, Load), Cell>,
}

/// A load in hundredths, so that it can be a key.
pub type Load = u32;

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cell {
    /// Value obtained, as a share of all value.
    pub value: f64,
    /// Share of the jobs that starved.
    pub starved: f64,
    /// By tenths of the jobs, from those with the least work.
    pub slr_censored: [Option<f64>; 10],
    /// Likewise, the share of them that starved.
    pub starved_by_work: [Option<f64>; 10],
}

/// Something that a paper says, in words and as comparisons.
pub struct Claim<R = Results> {
    pub number: u32,
    pub text: &'static str,
    /// What to know where it does not hold as it stands.
    pub note: &'static str,
    pub(super) compare: fn(&mut Judge<'_, R>),
    pub(super) ours: Ours<R>,
}

/// What of a claim the paper does not say. Where results need it, the claim holds within tolerance at best.
pub(super) enum Ours<R = Results> {
    Nothing,
    /// How close is close, and how much is much: the paper gives no number.
    Bounds,
    /// The comparisons are weaker than the paper's own words, which are these and are judged first.
    Slack(fn(&mut Judge<'_, R>)),
}

/// What became of a claim.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    pub verdict: Verdict,
    pub comparisons: Vec<Comparison>,
    /// The paper's own words, where they do not hold but weaker ones were judged.
    pub own_words: Vec<Comparison>,
    /// Whether the paper gives no numbers for what is compared.
    pub bounds_are_ours: bool,
    /// Comparisons whose numbers are not there.
    pub missing: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Holds,
    WithinTolerance,
    DoesNotHold,
    /// There were no numbers to judge by.
    Open,
}

/// Whether one number is below another one.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// Both sides with their numbers.
    pub text: String,
    /// How far the right side is above the left one.
    pub margin: f64,
    /// How much may be missing.
    pub tolerance: f64,
    /// Whether equal is not enough.
    pub strict: bool,
}

impl<R> Claim<R> {
    pub fn judge(&self, results: &R) -> Finding {
        let mut own_words = Vec::new();
        if let Ours::Slack(paper) = self.ours {
            let finding = Finding::of(results, paper);
            if finding.verdict == Verdict::Holds {
                return finding;
            }
            own_words = finding.comparisons;
        }
        let mut finding = Finding::of(results, self.compare);
        finding.bounds_are_ours = matches!(self.ours, Ours::Bounds);
        if finding.verdict == Verdict::Holds && (finding.bounds_are_ours || !own_words.is_empty()) {
            finding.verdict = Verdict::WithinTolerance;
        }
        Finding { own_words, ..finding }
    }
}

impl Finding {
    fn of<R>(results: &R, compare: fn(&mut Judge<'_, R>)) -> Finding {
        let mut judge = Judge { results, comparisons: Vec::new(), missing: 0 };
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
            false => Verdict::DoesNotHold,
        }
    }
}

const ROUNDING: f64 = 1e-12;

impl Verdict {
    pub fn words(self) -> &'static str {
        match self {
            Verdict::Holds => "holds",
            Verdict::WithinTolerance => "holds within tolerance",
            Verdict::DoesNotHold => "does not hold",
            Verdict::Open => "cannot be judged",
        }
    }
}

impl Finding {
    /// The comparisons that decide: all that fail, or else the closest one.
    pub fn evidence(&self) -> Vec<&Comparison> {
        let failing: Vec<_> = self.comparisons.iter().filter(|c| c.verdict() == Verdict::DoesNotHold).collect();
        if !failing.is_empty() {
            return failing;
        }
        self.comparisons.iter().min_by(|a, b| a.margin.total_cmp(&b.margin)).into_iter().collect()
    }

    /// Where the paper's own words fail.
    pub fn against_own_words(&self) -> Vec<&Comparison> {
        self.own_words.iter().filter(|comparison| comparison.verdict() != Verdict::Holds).collect()
    }
}

/// What became of all claims of a paper.
pub(super) struct Findings<R: 'static = Results>(Vec<(&'static Claim<R>, Finding)>);

impl<R> Findings<R> {
    pub(super) fn of(claims: &'static [Claim<R>], results: &R) -> Findings<R> {
        Findings(claims.iter().map(|claim| (claim, claim.judge(results))).collect())
    }

    /// `3 hold, 1 within tolerance, 0 not`.
    pub(super) fn counts(&self) -> String {
        let count = |verdict| self.0.iter().filter(|(_, finding)| finding.verdict == verdict).count();
        format!(
            "{} hold, {} within tolerance, {} not",
            count(Verdict::Holds),
            count(Verdict::WithinTolerance),
            count(Verdict::DoesNotHold)
        )
    }

    /// Each claim with its verdict, and the numbers that decided.
    pub(super) fn write(&self, text: &mut String) {
        for (claim, finding) in &self.0 {
            let head = format!("{}: {}", finding.verdict.words(), claim.text);
            let _ = write!(text, "\n{:>2}. {}\n", claim.number, wrapped(&head, 4));
            let evidence = finding.evidence();
            for comparison in evidence.iter().take(SHOWN) {
                let _ = match comparison.verdict() {
                    Verdict::Holds => writeln!(text, "      closest: {}", comparison.text),
                    Verdict::WithinTolerance => {
                        writeln!(
                            text,
                            "      {} fails by {:.4}; {} are allowed",
                            comparison.text,
                            -comparison.margin,
                            up(comparison.tolerance)
                        )
                    }
                    _ => writeln!(text, "      {} fails by {:.4}", comparison.text, -comparison.margin),
                };
            }
            if evidence.len() > SHOWN {
                let _ = writeln!(text, "      and {} more", evidence.len() - SHOWN);
            }
            let failed = finding.comparisons.iter().filter(|comparison| comparison.verdict() != Verdict::Holds).count();
            let _ = writeln!(
                text,
                "      {} of {} comparisons hold as they stand",
                finding.comparisons.len() - failed,
                finding.comparisons.len()
            );
            if finding.bounds_are_ours && finding.verdict == Verdict::WithinTolerance {
                text.push_str("      the paper gives no numbers for this: the bounds are ours\n");
            }
            let against = finding.against_own_words();
            if !against.is_empty() {
                let (held, all) = (finding.own_words.len() - against.len(), finding.own_words.len());
                let _ = writeln!(text, "      in the paper's own words {held} of {all} comparisons hold:");
                for comparison in against.iter().take(SHOWN) {
                    let _ = writeln!(text, "      {} fails by {:.4}", comparison.text, -comparison.margin);
                }
                if against.len() > SHOWN {
                    let _ = writeln!(text, "      and {} more", against.len() - SHOWN);
                }
            }
            if finding.missing > 0 {
                let _ = writeln!(text, "      {} comparisons could not be made", finding.missing);
            }
            if finding.verdict != Verdict::Holds && !claim.note.is_empty() {
                let _ = writeln!(text, "      {}", wrapped(claim.note, 6));
            }
        }
    }
}

/// To four digits, and not below.
fn up(number: f64) -> f64 {
    (number * 1e4 - 1e-9).ceil() / 1e4
}

/// Failing comparisons that are shown of a claim.
const SHOWN: usize = 6;

/// Lines of at most 100 letters, of which all but the first are indented.
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
pub(super) struct Judge<'r, R = Results> {
    pub(super) results: &'r R,
    comparisons: Vec<Comparison>,
    missing: usize,
}

/// A number with a name; `None` where the results have none.
#[derive(Clone, Debug)]
pub(super) struct Number {
    pub(super) name: String,
    pub(super) value: Option<f64>,
}

impl Number {
    pub(super) fn plus(&self, term: f64) -> Number {
        let sign = if term < 0.0 { '-' } else { '+' };
        Number { name: format!("{} {sign} {}", self.name, term.abs()), value: self.value.map(|value| value + term) }
    }

    pub(super) fn times(&self, factor: f64) -> Number {
        Number { name: format!("{factor} {}", self.name), value: self.value.map(|value| value * factor) }
    }

    pub(super) fn minus(&self, other: &Number) -> Number {
        let value = self.value.zip(other.value).map(|(a, b)| a - b);
        Number { name: format!("({} - {})", self.name, other.name), value }
    }

    pub(super) fn distance(&self, other: &Number) -> Number {
        let value = self.value.zip(other.value).map(|(a, b)| (a - b).abs());
        Number { name: format!("|{} - {}|", self.name, other.name), value }
    }
}

pub(super) fn just(value: f64) -> Number {
    Number { name: String::new(), value: Some(value) }
}

impl<R> Judge<'_, R> {
    pub(super) fn below(&mut self, low: &Number, high: &Number) {
        self.compare(low, high, 0.0, true);
    }

    pub(super) fn at_most(&mut self, low: &Number, high: &Number, tolerance: f64) {
        self.compare(low, high, tolerance, false);
    }

    fn compare(&mut self, low: &Number, high: &Number, tolerance: f64, strict: bool) {
        let (Some(left), Some(right)) = (low.value, high.value) else {
            self.missing += 1;
            return;
        };
        let shown = |number: &Number, value: f64| match number.name.is_empty() {
            true => value.to_string(),
            false => format!("{} = {value:.4}", number.name),
        };
        let sign = if strict { "<" } else { "<=" };
        let text = format!("{} {sign} {}", shown(low, left), shown(high, right));
        self.comparisons.push(Comparison { text, margin: right - left, tolerance, strict });
    }
}
