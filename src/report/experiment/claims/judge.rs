//! Numbers with names, and the comparisons of a claim.

use std::borrow::Cow;

use super::super::statistics::{half_interval, paired_ratio};
use super::rules::{decisive_sample, verdict_of};
use super::{Comparison, Finding, Ours, Outlier, Pair, Part, Verdict};

/// Collects the comparisons of a claim.
pub struct Judge<'r, R> {
    pub results: &'r R,
    pub comparisons: Vec<Comparison>,
    pub pairs: Vec<Pair>,
    /// Comparisons that lack numbers.
    pub missing: Vec<String>,
    /// Reasons why a part of the claim cannot be told.
    pub not_judged: Vec<String>,
    pub remarks: Vec<String>,
    ours: Ours,
    part: Part,
    parts: usize,
}

/// A number with a name; the value is None if the results do not have it.
#[derive(Clone, Debug)]
pub struct Number {
    pub name: String,
    pub value: Option<f64>,
    /// Deviation that each sample causes in the number; empty if its samples are unknown.
    pulls: Vec<f64>,
    /// Square of the half width of the confidence interval that samples without counterparts add.
    unpaired: f64,
    /// True if its samples are of other occasions than those of other numbers, even if there are as many.
    alone: bool,
    /// Names of its samples; empty if they have none.
    names: Vec<String>,
}

impl Number {
    pub fn new(name: String, value: Option<f64>) -> Number {
        Number { name, value, pulls: Vec::new(), unpaired: 0.0, alone: false, names: Vec::new() }
    }

    /// Marks the samples as unpaired: they have no counterparts among those of other numbers.
    pub fn as_unpaired(self) -> Number {
        Number { alone: true, ..self }
    }

    /// Mean of samples.
    pub fn mean(name: String, samples: &[f64]) -> Number {
        let value = (!samples.is_empty()).then(|| samples.iter().sum::<f64>() / samples.len() as f64);
        let pulls = value.map_or(Vec::new(), |mean| samples.iter().map(|sample| sample - mean).collect());
        Number { pulls, ..Number::new(name, value) }
    }

    /// Gives it another name.
    pub fn with_name(self, name: String) -> Number {
        Number { name, ..self }
    }

    /// Names its samples, for sentences on one of them.
    pub fn with_names(self, names: Vec<String>) -> Number {
        Number { names, ..self }
    }

    /// Ratio of the means of paired samples.
    pub fn ratio(name: String, ones: &[f64], others: &[f64]) -> Number {
        let (value, pulls) =
            paired_ratio(ones, others).map_or((None, Vec::new()), |(ratio, pulls)| (Some(ratio), pulls));
        Number { pulls, ..Number::new(name, value) }
    }

    /// Sample standard deviation.
    pub fn deviation(name: String, samples: &[f64]) -> Number {
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

    pub fn plus(&self, term: f64) -> Number {
        let sign = if term < 0.0 { '-' } else { '+' };
        let name = format!("{} {sign} {}", self.name, term.abs());
        Number { name, value: self.value.map(|value| value + term), ..self.clone() }
    }

    pub fn times(&self, factor: f64) -> Number {
        let name = match self.name.is_empty() {
            true => String::new(),
            false => format!("{factor} {}", group_operand(&self.name)),
        };
        let pulls = self.pulls.iter().map(|pull| factor * pull).collect();
        let unpaired = self.unpaired * factor * factor;
        let value = self.value.map(|value| value * factor);
        Number { name, value, pulls, unpaired, alone: self.alone, names: self.names.clone() }
    }

    pub fn minus(&self, other: &Number) -> Number {
        let name = format!("({} - {})", self.name_or_value(), group_operand(&other.name_or_value()));
        Number { name, ..self.combine_with(other, |a, b| a - b, -1.0) }
    }

    pub fn add(&self, other: &Number) -> Number {
        let name = format!("({} + {})", self.name_or_value(), other.name_or_value());
        Number { name, ..self.combine_with(other, |a, b| a + b, 1.0) }
    }

    /// Quotient of two numbers. To first order, a sample moves it as it moves the difference to this multiple of the
    /// divisor.
    pub fn divided_by(&self, other: &Number) -> Number {
        let ratio = self.value.zip(other.value).map(|(a, b)| a / b).filter(|ratio| ratio.is_finite());
        let divisor = other.value.filter(|_| ratio.is_some()).unwrap_or(1.0);
        let apart = self.combine_with(&other.times(ratio.unwrap_or(0.0)), |a, b| a - b, -1.0).times(1.0 / divisor);
        Number {
            name: format!("{} / {}", group_operand(&self.name_or_value()), group_operand(&other.name_or_value())),
            value: ratio,
            ..apart
        }
    }

    /// A number without a name that `value` makes of two, with the samples of the second counted `sign` times.
    fn combine_with(&self, other: &Number, value: impl Fn(f64, f64) -> f64, sign: f64) -> Number {
        let (pulls, unpaired) = match (self.pulls.len(), other.pulls.len()) {
            // A number without samples leaves those of the other unchanged.
            (_, 0) => (self.pulls.clone(), 0.0),
            (0, _) => (other.pulls.iter().map(|pull| sign * pull).collect(), 0.0),
            _ if self.goes_with(other) => {
                (self.pulls.iter().zip(&other.pulls).map(|(one, other)| one + sign * other).collect(), 0.0)
            }
            _ => (
                Vec::new(),
                [self, other].iter().filter_map(|one| half_interval(&one.pulls)).map(|one| one * one).sum(),
            ),
        };
        let value = self.value.zip(other.value).map(|(a, b)| value(a, b));
        let unpaired = unpaired + self.unpaired + other.unpaired;
        let names = if self.names.is_empty() { &other.names } else { &self.names };
        Number { name: String::new(), value, pulls, unpaired, alone: self.alone || other.alone, names: names.clone() }
    }

    /// Name of the number, or its value if it has no name.
    fn name_or_value(&self) -> String {
        match self.value.filter(|_| self.name.is_empty()) {
            Some(value) => format!("{}", (value * 1e4).round() / 1e4),
            None => self.name.clone(),
        }
    }

    pub fn absolute(&self) -> Number {
        let sign = if self.value.is_some_and(|value| value < 0.0) { -1.0 } else { 1.0 };
        let inner = strip_parentheses(&self.name).unwrap_or(&self.name);
        Number { name: format!("|{inner}|"), ..self.times(sign) }
    }

    pub fn distance(&self, other: impl Into<Number>) -> Number {
        self.minus(&other.into()).absolute()
    }

    /// The value of a number without a name.
    pub fn constant(&self) -> Option<f64> {
        self.value.filter(|_| self.name.is_empty())
    }

    /// True if the samples of both are paired.
    fn goes_with(&self, other: &Number) -> bool {
        self.pulls.len() == other.pulls.len() && !self.alone && !other.alone
    }

    /// The sample that decides which of both is larger, if there is one.
    fn decisive_outlier(&self, other: &Number) -> Option<Outlier> {
        let apart = other.combine_with(self, |a, b| a - b, -1.0);
        let at = decisive_sample(apart.value?, &apart.pulls)?;
        let count = apart.pulls.len();
        // To first order, a mean without a sample is lower by its pull over the number of the other samples.
        let name = apart.names.get(at).cloned().unwrap_or_else(|| format!("sample {}", at + 1));
        Some(Outlier { name, count, without: [value_without(self, at, count)?, value_without(other, at, count)?] })
    }

    /// Half width of the confidence interval of the difference; paired samples are compared pair by pair. None if it is
    /// unknown.
    pub fn half_interval(&self, other: &Number) -> Option<f64> {
        let apart = self.combine_with(other, |a, b| a - b, -1.0);
        let paired = half_interval(&apart.pulls);
        let is_known = apart.pulls.len() > 1 || apart.unpaired > 0.0;
        (is_known && has_known_spread(self) && has_known_spread(other))
            .then(|| paired.unwrap_or(0.0).hypot(apart.unpaired.sqrt()))
    }
}

fn value_without(side: &Number, at: usize, count: usize) -> Option<f64> {
    Some(side.value? - side.pulls.get(at).copied().unwrap_or(0.0) / (count - 1) as f64)
}

fn has_known_spread(one: &Number) -> bool {
    one.pulls.len() != 1
}

/// A name as an operand: in parentheses if it is made of several.
fn group_operand(name: &str) -> String {
    let mut depth = 0;
    let mut is_in_bars = false;
    let is_made = name.char_indices().any(|(at, letter)| {
        match letter {
            '(' => depth += 1,
            ')' => depth -= 1,
            '|' => is_in_bars = !is_in_bars,
            _ => {}
        }
        depth == 0 && !is_in_bars && [" + ", " - ", " / "].iter().any(|sign| name[at..].starts_with(sign))
    });
    if is_made { format!("({name})") } else { name.to_owned() }
}

/// The name without the parentheses around all of it. None if there are none.
fn strip_parentheses(name: &str) -> Option<&str> {
    let inner = name.strip_prefix('(')?.strip_suffix(')')?;
    let mut depth = 0;
    let is_around = inner.chars().all(|letter| {
        match letter {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        depth >= 0
    });
    is_around.then_some(inner)
}

pub fn exact_number(value: f64) -> Number {
    Number::new(String::new(), Some(value))
}

impl From<f64> for Number {
    fn from(value: f64) -> Number {
        exact_number(value)
    }
}

impl From<&Number> for Number {
    fn from(number: &Number) -> Number {
        number.clone()
    }
}

impl<'r, R> Judge<'r, R> {
    pub fn new(results: &'r R) -> Judge<'r, R> {
        let (comparisons, pairs) = Default::default();
        let (missing, not_judged, remarks) = Default::default();
        let ours = Ours::Nothing;
        let part = Part::default();
        let parts = 0;
        Judge { results, comparisons, pairs, missing, not_judged, remarks, ours, part, parts }
    }

    /// Verdict of a weaker statement; None if it compares nothing.
    pub fn weaker_verdict(self) -> Option<Verdict> {
        let has_any = !self.comparisons.is_empty() || !self.missing.is_empty();
        has_any.then(|| self.into_finding(None).verdict)
    }

    /// The finding, with the verdict of a weaker statement.
    pub fn into_finding(self, weaker: Option<Verdict>) -> Finding {
        let Judge { comparisons, pairs, missing, not_judged, remarks, .. } = self;
        let is_whole = !comparisons.is_empty() && missing.is_empty() && not_judged.is_empty();
        let least = if is_whole { Verdict::Holds } else { Verdict::Undecided };
        let verdict = verdict_of(&comparisons).unwrap_or(least).max(least);
        Finding { verdict, comparisons, pairs, missing, not_judged, remarks, weaker }
    }

    /// Compares against bounds of ours, because the paper gives none: what holds is within our tolerance at best.
    pub fn with_bound(&mut self, why: impl Into<Cow<'static, str>>, compare: impl FnOnce(&mut Self)) {
        self.with_tolerance(Ours::Bound(why.into()), compare);
    }

    /// Compares with tolerances of ours, which count only where a comparison needs them.
    pub fn with_slack(&mut self, why: impl Into<Cow<'static, str>>, compare: impl FnOnce(&mut Self)) {
        self.with_tolerance(Ours::Slack(why.into()), compare);
    }

    fn with_tolerance(&mut self, ours: Ours, compare: impl FnOnce(&mut Self)) {
        let before = std::mem::replace(&mut self.ours, ours);
        compare(self);
        self.ours = before;
    }

    /// Compares for another part of the claim, which has to hold by itself.
    pub fn separate_part(&mut self, compare: impl FnOnce(&mut Self)) {
        self.begin_part(false, compare);
    }

    /// Compares for a part of the claim that the source says of settings in general.
    pub fn general_part(&mut self, compare: impl FnOnce(&mut Self)) {
        self.begin_part(true, compare);
    }

    fn begin_part(&mut self, is_general: bool, compare: impl FnOnce(&mut Self)) {
        self.parts += 1;
        let part = Part { number: self.parts, is_general };
        let before = std::mem::replace(&mut self.part, part);
        compare(self);
        self.part = before;
    }

    /// Shows a number that the paper prints beside ours, without judging it.
    pub fn show_beside(&mut self, what: impl Into<String>, paper: impl ToString, ours: &Number) {
        self.pairs.push(Pair { what: what.into(), paper: paper.to_string(), ours: ours.value });
    }

    /// Adds a sentence that is shown with every verdict.
    pub fn add_remark(&mut self, remark: impl Into<String>) {
        self.remarks.push(remark.into());
    }

    /// States that a part of the claim cannot be told.
    pub fn not_judged(&mut self, reason: impl Into<String>) {
        self.not_judged.push(reason.into());
    }

    /// Shows a number by its name beside the paper's.
    pub fn show_number(&mut self, ours: &Number, paper: impl ToString) {
        self.show_beside(ours.name.clone(), paper, ours);
    }

    pub fn expect_below(&mut self, low: impl Into<Number>, high: impl Into<Number>) {
        self.compare_numbers(&low.into(), &high.into(), 0.0, true);
    }

    pub fn expect_at_most(&mut self, low: impl Into<Number>, high: impl Into<Number>) {
        self.expect_within(low, high, 0.0);
    }

    /// Compares: a number is at most this much above another one.
    pub fn expect_within(&mut self, low: impl Into<Number>, high: impl Into<Number>, tolerance: f64) {
        self.compare_numbers(&low.into(), &high.into(), tolerance, false);
    }

    pub fn compare_numbers(&mut self, low: &Number, high: &Number, tolerance: f64, strict: bool) {
        let sign = if strict { "<" } else { "<=" };
        let text = format!("{} {sign} {}", number_in_words(low), number_in_words(high));
        let Some((left, right)) = low.value.zip(high.value) else { return self.missing.push(text) };
        self.comparisons.push(Comparison {
            text,
            margin: right - left,
            tolerance,
            strict,
            chance: low.half_interval(high),
            ours: self.ours.clone(),
            part: self.part,
            is_vacuous: [low, high].iter().all(|side| side.value == Some(0.0) && side.constant().is_none()),
            outlier: low.decisive_outlier(high),
        });
    }
}

fn number_in_words(number: &Number) -> String {
    match number.value {
        // A bound that was computed has more digits than say anything.
        Some(value) if number.name.is_empty() && value.abs() >= 1e-3 => number.name_or_value(),
        Some(value) if number.name.is_empty() => value.to_string(),
        Some(value) => format!("{} = {value:.4}", number.name),
        None => number.name.clone(),
    }
}
