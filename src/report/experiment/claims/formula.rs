//! Comparisons as experiment files write them, such as `value(pvr) > 1.5 * value(fifo)`.
//!
//! A term is a number, a metric with settings in parentheses, or made of these by `+`, `-`, `*`, `/`, `abs`, `largest`
//! and `smallest`. This file has the syntax; `cells.rs` gives terms their numbers.

/// A comparison: the left term is below the right one.
#[derive(Clone, Debug, PartialEq)]
pub struct Formula {
    pub left: Term,
    pub right: Term,
    /// True if equality is not enough.
    pub is_strict: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Term {
    Number(f64),
    Metric(Metric),
    Combined(Operator, Box<Term>, Box<Term>),
    Absolute(Box<Term>),
    /// The `rank`-th largest or smallest value of a metric, counted from 1.
    Ranked {
        is_largest: bool,
        rank: usize,
        of: Metric,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    Plus,
    Minus,
    Times,
    Over,
}

/// A metric, with the settings that it is of.
#[derive(Clone, Debug, PartialEq)]
pub struct Metric {
    pub name: String,
    /// Number at the end of the name, in braces: `slr_{n}`.
    pub number: Option<Numbered>,
    pub picks: Vec<Pick>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Numbered {
    /// The number that a name stands for.
    Bare(String),
    /// The number after the one that a name stands for.
    Next(String),
    /// All numbers from one to another.
    To(u32, u32),
}

/// A setting of a metric.
#[derive(Clone, Debug, PartialEq)]
pub enum Pick {
    /// A value of some axis, or a name that `each` gives to one.
    Bare(String),
    /// The value after the current one of an axis.
    Next(String),
    Chosen(Choice),
}

/// Some values of an axis: `load`, `load >= 1 and < 1.4`, `policy not fifo srtf`.
#[derive(Clone, Debug, PartialEq)]
pub struct Choice {
    pub axis: String,
    pub conditions: Vec<Condition>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Condition {
    Is(Vec<String>),
    Not(Vec<String>),
    Below(f64),
    AtMost(f64),
    Above(f64),
    AtLeast(f64),
}

/// A name for each of some values.
#[derive(Clone, Debug, PartialEq)]
pub enum Each {
    /// Values of an axis: `load >= 1`, or `other: policy not fifo`. The name is that of the axis if there is none.
    Values(Option<String>, Choice),
    /// Whole numbers: `n: 1 to 10`.
    Numbers(String, u32, u32),
}

impl Formula {
    pub fn parse_formula(text: &str) -> Result<Formula, String> {
        let mut parser = Parser::new(text);
        let first = parser.sum()?;
        let sign = ["<=", ">=", "<", ">"].into_iter().find(|sign| parser.skip_if_next(sign));
        let Some(sign) = sign else { return Err(format!("expected <, <=, > or >={}", parser.found_text())) };
        let second = parser.sum()?;
        parser.end()?;
        let (left, right) = if sign.starts_with('<') { (first, second) } else { (second, first) };
        Ok(Formula { left, right, is_strict: sign.len() == 1 })
    }
}

impl Term {
    pub fn parse_term(text: &str) -> Result<Term, String> {
        let mut parser = Parser::new(text);
        let term = parser.sum()?;
        parser.end().map(|()| term)
    }
}

impl Each {
    pub fn parse_each(text: &str) -> Result<Each, String> {
        let (name, choice) = match text.split_once(':') {
            Some((name, choice)) if !name.contains('\'') => (Some(name.trim().to_owned()), choice),
            _ => (None, text),
        };
        let mut parser = Parser::new(choice);
        let words = parser.parse_words("")?;
        parser.end()?;
        if name.as_deref().is_some_and(|name| !is_word(name) || name.starts_with(|first: char| first.is_ascii_digit()))
        {
            return Err("expected one word before the colon; values with a colon are in single quotes".to_owned());
        }
        if words.len() == 3 && words[1].is_word("to") && number_range(&words).is_none() {
            return Err(format!("expected two numbers, not the larger one first, and at most {NUMBERS_MAX} in all"));
        }
        match (name, number_range(&words)) {
            (Some(name), Some((first, last))) => Ok(Each::Numbers(name, first, last)),
            (None, Some(_)) => Err("expected a name before the numbers, as in `n: 1 to 10`".to_owned()),
            (name, None) => Choice::from_words(&words).map(|choice| Each::Values(name, choice)),
        }
    }
}

/// First and last number of `1 to 10`.
fn number_range(words: &[Token]) -> Option<(u32, u32)> {
    let [first, to, last] = words else { return None };
    let first = first.text.parse().ok()?;
    let last = last.text.parse().ok()?;
    (to.is_word("to") && first <= last && last - first < NUMBERS_MAX).then_some((first, last))
}

/// Most numbers from one to another.
const NUMBERS_MAX: u32 = 1_000;

fn is_word(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
}

/// A word of a choice; a quoted one is a value in any case.
#[derive(Clone, Debug, PartialEq)]
struct Token {
    text: String,
    is_quoted: bool,
}

impl Token {
    fn is_word(&self, word: &str) -> bool {
        !self.is_quoted && self.text == word
    }
}

const CONDITIONS: &[&str] = &["is", "not", "=", "<", "<=", ">", ">="];

impl Choice {
    /// The choice that these words make: an axis, and conditions with `and` between them.
    fn from_words(words: &[Token]) -> Result<Choice, String> {
        let [axis, conditions @ ..] = words else { return Err("expected the name of an axis".to_owned()) };
        let mut made = Vec::new();
        for condition in conditions.split(|word| word.is_word("and")).filter(|_| !conditions.is_empty()) {
            made.push(Condition::from_words(condition)?);
        }
        Ok(Choice { axis: axis.text.clone(), conditions: made })
    }
}

impl Condition {
    fn from_words(words: &[Token]) -> Result<Condition, String> {
        let sign = words.first().and_then(|word| CONDITIONS.iter().find(|sign| word.is_word(sign)));
        let (Some(&sign), [_, values @ ..]) = (sign, words) else {
            return Err(format!("expected one of {} after the name of an axis", CONDITIONS.join(" ")));
        };
        let texts: Vec<String> = values.iter().map(|value| value.text.clone()).collect();
        let make = match sign {
            _ if texts.is_empty() => return Err(format!("expected a value after {sign}")),
            "is" | "=" => return Ok(Condition::Is(texts)),
            "not" => return Ok(Condition::Not(texts)),
            "<" => Condition::Below,
            "<=" => Condition::AtMost,
            ">" => Condition::Above,
            _ => Condition::AtLeast,
        };
        match (&texts[..], texts[0].parse()) {
            ([_], Ok(number)) => Ok(make(number)),
            _ => Err(format!("expected one number after {sign}, found {}", texts.join(" "))),
        }
    }

    /// The values that it names.
    pub fn named_values(&self) -> &[String] {
        match self {
            Condition::Is(values) | Condition::Not(values) => values,
            _ => &[],
        }
    }

    /// True for values that meet it.
    pub fn admits_value(&self, value: &str) -> bool {
        let number = || value.parse().unwrap_or(f64::NAN);
        match self {
            Condition::Is(values) => values.iter().any(|one| is_equal(one, value)),
            Condition::Not(values) => !values.iter().any(|one| is_equal(one, value)),
            Condition::Below(limit) => number() < *limit,
            Condition::AtMost(limit) => number() <= *limit,
            Condition::Above(limit) => number() > *limit,
            Condition::AtLeast(limit) => number() >= *limit,
        }
    }
}

/// True if two values are the same text or the same number.
pub fn is_equal(one: &str, other: &str) -> bool {
    one == other || one.parse::<f64>().is_ok_and(|number| other.parse() == Ok(number))
}

struct Parser<'t> {
    rest: &'t str,
    /// Number of terms around the current one.
    depth: usize,
    /// Number of operators so far.
    operators: usize,
}

/// Most parentheses inside of each other, and most operators: both bound the stack.
const DEPTH_MAX: usize = 20;
const OPERATORS_MAX: usize = 100;

impl<'t> Parser<'t> {
    fn new(text: &'t str) -> Parser<'t> {
        Parser { rest: text, depth: 0, operators: 0 }
    }

    /// Skips spaces, and then this text if it comes next.
    fn skip_if_next(&mut self, text: &str) -> bool {
        self.rest = self.rest.trim_start();
        let rest = self.rest.strip_prefix(text);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn expect_text(&mut self, text: &str) -> Result<(), String> {
        if self.skip_if_next(text) { Ok(()) } else { Err(format!("expected `{text}`{}", self.found_text())) }
    }

    fn end(&mut self) -> Result<(), String> {
        if self.rest.trim().is_empty() { Ok(()) } else { Err(format!("expected nothing more{}", self.found_text())) }
    }

    /// The rest of the text, for messages.
    fn found_text(&self) -> String {
        match self.rest.trim() {
            "" => ", found the end".to_owned(),
            rest => format!(", found `{rest}`"),
        }
    }

    fn sum(&mut self) -> Result<Term, String> {
        let mut term = self.parse_product()?;
        loop {
            let operator = match (self.skip_if_next("+"), self.rest) {
                (true, _) => Operator::Plus,
                (false, rest) if rest.starts_with('-') => {
                    self.rest = &rest[1..];
                    Operator::Minus
                }
                _ => return Ok(term),
            };
            term = self.combine_next(operator, term, Self::parse_product)?;
        }
    }

    fn parse_product(&mut self) -> Result<Term, String> {
        let mut term = self.parse_factor()?;
        loop {
            let operator = match (self.skip_if_next("*"), self.skip_if_next("/")) {
                (true, _) => Operator::Times,
                (_, true) => Operator::Over,
                _ => return Ok(term),
            };
            term = self.combine_next(operator, term, Self::parse_factor)?;
        }
    }

    /// Combines a term with the next one.
    fn combine_next(
        &mut self,
        operator: Operator,
        term: Term,
        next: impl Fn(&mut Self) -> Result<Term, String>,
    ) -> Result<Term, String> {
        self.operators += 1;
        if self.operators > OPERATORS_MAX {
            return Err(format!("expected at most {OPERATORS_MAX} operators"));
        }
        Ok(Term::Combined(operator, Box::new(term), Box::new(next(self)?)))
    }

    fn parse_factor(&mut self) -> Result<Term, String> {
        if self.depth == DEPTH_MAX {
            return Err(format!("expected at most {DEPTH_MAX} parentheses inside of each other"));
        }
        self.depth += 1;
        let term = self.parse_single();
        self.depth -= 1;
        term
    }

    /// A number, a metric, or a term in parentheses.
    fn parse_single(&mut self) -> Result<Term, String> {
        if self.skip_if_next("(") {
            let term = self.sum()?;
            return self.expect_text(")").map(|()| term);
        }
        if self.skip_if_next("-") {
            return self.parse_factor().map(|term| match term {
                Term::Number(number) => Term::Number(-number),
                term => Term::Combined(Operator::Times, Box::new(Term::Number(-1.0)), Box::new(term)),
            });
        }
        let mut length = self.rest.find(|letter| !is_word_letter(letter)).unwrap_or(self.rest.len());
        if self.rest.starts_with(|first: char| first.is_ascii_digit() || first == '.') {
            // The exponent of a number may have a sign.
            let signed = self.rest[..length].ends_with(['e', 'E']) && self.rest[length..].starts_with(['-', '+']);
            if signed {
                let digits = &self.rest[length + 1..];
                length += 1 + digits.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(digits.len());
            }
            let (word, rest) = self.rest.split_at(length);
            self.rest = rest;
            let number = word.parse().ok().filter(|number: &f64| number.is_finite());
            return number.map(Term::Number).ok_or_else(|| format!("expected a number, found `{word}`"));
        }
        let (word, rest) = self.rest.split_at(length);
        if !is_word(word) {
            return Err(format!("expected a number or a metric{}", self.found_text()));
        }
        self.rest = rest;
        let number = if self.rest.starts_with('{') { Some(self.parse_numbered()?) } else { None };
        if !self.skip_if_next("(") {
            return Err(format!("expected settings in parentheses after {word}{}", self.found_text()));
        }
        match word {
            "abs" => {
                let term = self.sum()?;
                self.expect_text(")").map(|()| Term::Absolute(Box::new(term)))
            }
            "largest" | "smallest" => {
                let rank = self.parse_product()?;
                let of = self.expect_text(",").and_then(|()| self.parse_factor())?;
                self.expect_text(")")?;
                match (rank, of) {
                    (Term::Number(rank), Term::Metric(_)) if rank > f64::from(u32::MAX) => {
                        Err(format!("{word}: expected a rank of at most {}, found {rank}", u32::MAX))
                    }
                    (Term::Number(rank), Term::Metric(of)) if rank >= 1.0 && rank.fract() == 0.0 => {
                        Ok(Term::Ranked { is_largest: word == "largest", rank: rank as usize, of })
                    }
                    _ => Err(format!("expected a rank and a metric, such as {word}(2, value(policy not edf))")),
                }
            }
            metric => Ok(Term::Metric(Metric { name: metric.to_owned(), number, picks: self.parse_picks()? })),
        }
    }

    fn parse_numbered(&mut self) -> Result<Numbered, String> {
        self.expect_text("{")?;
        let words = self.parse_words("}")?;
        self.expect_text("}")?;
        match (&words[..], number_range(&words)) {
            (_, Some((first, last))) => Ok(Numbered::To(first, last)),
            ([name], _) => Ok(Numbered::Bare(name.text.clone())),
            ([next, name], _) if next.is_word("next") => Ok(Numbered::Next(name.text.clone())),
            _ => Err("expected a name or numbers in braces, such as {n}, {next n} or {1 to 10}".to_owned()),
        }
    }

    /// Settings up to the closing parenthesis.
    fn parse_picks(&mut self) -> Result<Vec<Pick>, String> {
        let mut picks = Vec::new();
        while !self.skip_if_next(")") {
            if !picks.is_empty() && !self.skip_if_next(",") {
                return Err(format!("expected , or ){}", self.found_text()));
            }
            picks.push(match &self.parse_words(",)")?[..] {
                [] => return Err(format!("expected a setting{}", self.found_text())),
                [value] => Pick::Bare(value.text.clone()),
                [next, axis] if next.is_word("next") => Pick::Next(axis.text.clone()),
                words => Pick::Chosen(Choice::from_words(words)?),
            });
        }
        Ok(picks)
    }

    /// Words up to one of these letters or the end. Words with special letters are in single quotes.
    fn parse_words(&mut self, ends: &str) -> Result<Vec<Token>, String> {
        let mut words = Vec::new();
        loop {
            self.rest = self.rest.trim_start();
            let Some(first) = self.rest.chars().next().filter(|first| !ends.contains(*first)) else { break };
            if let Some(quoted) = self.rest.strip_prefix('\'') {
                let Some((text, rest)) = quoted.split_once('\'') else {
                    return Err(format!("expected a second ' after `{quoted}`"));
                };
                words.push(Token { text: text.to_owned(), is_quoted: true });
                self.rest = rest;
                continue;
            }
            let signs = "<>=";
            let is_in = |letter: char| match signs.contains(first) {
                true => signs.contains(letter),
                false => !letter.is_whitespace() && !signs.contains(letter) && !ends.contains(letter),
            };
            let length = self.rest.find(|letter| !is_in(letter)).unwrap_or(self.rest.len());
            let (text, rest) = self.rest.split_at(length);
            words.push(Token { text: text.to_owned(), is_quoted: false });
            self.rest = rest;
        }
        Ok(words)
    }
}

fn is_word_letter(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || letter == '_' || letter == '.'
}

#[cfg(test)]
mod tests {
    use super::*;

    fn metric(name: &str, picks: Vec<Pick>) -> Metric {
        Metric { name: name.to_owned(), number: None, picks }
    }

    fn value(policy: &str) -> Term {
        Term::Metric(metric("value", vec![Pick::Bare(policy.to_owned())]))
    }

    fn combined(operator: Operator, one: Term, other: Term) -> Term {
        Term::Combined(operator, Box::new(one), Box::new(other))
    }

    #[test]
    fn the_larger_side_is_on_the_right() {
        let strict = Formula { left: value("fifo"), right: value("p-slr"), is_strict: true };
        assert_eq!(Formula::parse_formula("value(fifo) < value(p-slr)"), Ok(strict.clone()));
        assert_eq!(Formula::parse_formula("value(p-slr)>value(fifo)"), Ok(strict));
        let weak = Formula { left: Term::Number(0.5), right: value("fifo"), is_strict: false };
        assert_eq!(Formula::parse_formula("value( fifo ) >= 0.5"), Ok(weak));
    }

    #[test]
    fn products_bind_more_than_sums_and_both_from_the_left() {
        use Operator::{Minus, Over, Plus, Times};
        let sum =
            combined(Minus, combined(Plus, value("a"), combined(Times, Term::Number(2.0), value("b"))), value("c"));
        assert_eq!(Term::parse_term("value(a) + 2 * value(b) - value(c)"), Ok(sum));
        let ratio = combined(Over, combined(Minus, value("a"), value("b")), Term::Number(3.0));
        assert_eq!(Term::parse_term("(value(a) - value(b)) / 3"), Ok(ratio));
        assert_eq!(Term::parse_term("abs(value(a))"), Ok(Term::Absolute(Box::new(value("a")))));
        assert_eq!(Term::parse_term("-0.5"), Ok(Term::Number(-0.5)));
        assert_eq!(Term::parse_term("1.5e-3+2E2"), Ok(combined(Plus, Term::Number(0.0015), Term::Number(200.0))));
        assert_eq!(Term::parse_term("-value(a)"), Ok(combined(Times, Term::Number(-1.0), value("a"))));
    }

    #[test]
    fn settings_are_values_neighbours_and_choices() {
        let term = Term::parse_term("slr_1('a b', next load, policy not fifo 'x, y', load >= 1 and <1.4)");
        let not = Choice {
            axis: "policy".to_owned(),
            conditions: vec![Condition::Not(vec!["fifo".to_owned(), "x, y".to_owned()])],
        };
        let range =
            Choice { axis: "load".to_owned(), conditions: vec![Condition::AtLeast(1.0), Condition::Below(1.4)] };
        let picks = vec![
            Pick::Bare("a b".to_owned()),
            Pick::Next("load".to_owned()),
            Pick::Chosen(not.clone()),
            Pick::Chosen(range.clone()),
        ];
        assert_eq!(term, Ok(Term::Metric(metric("slr_1", picks))));
        assert_eq!(Each::parse_each("load >= 1 and < 1.4"), Ok(Each::Values(None, range)));
        let other = Each::Values(Some("other".to_owned()), not);
        assert_eq!(Each::parse_each("other: policy not fifo 'x, y'"), Ok(other));
        let ranked = metric(
            "value",
            vec![Pick::Chosen(Choice {
                axis: "policy".to_owned(),
                conditions: vec![Condition::Is(vec!["a".to_owned(), "b".to_owned()])],
            })],
        );
        let second = Term::Ranked { is_largest: true, rank: 2, of: ranked };
        assert_eq!(Term::parse_term("largest(2, value(policy is a b))"), Ok(second));
    }

    #[test]
    fn names_of_metrics_may_end_in_numbers() {
        let numbered = |number| Metric { number: Some(number), ..metric("slr_", vec![Pick::Bare("pv".to_owned())]) };
        let n = || "n".to_owned();
        assert_eq!(Term::parse_term("slr_{n}(pv)"), Ok(Term::Metric(numbered(Numbered::Bare(n())))));
        assert_eq!(Term::parse_term("slr_{ next n }(pv)"), Ok(Term::Metric(numbered(Numbered::Next(n())))));
        assert_eq!(Term::parse_term("slr_{1 to 10}(pv)"), Ok(Term::Metric(numbered(Numbered::To(1, 10)))));
        assert_eq!(Each::parse_each("n: 1 to 8"), Ok(Each::Numbers(n(), 1, 8)));
        assert!(Each::parse_each("1 to 8").is_err() && Each::parse_each("n: 8 to 1").is_err());
        assert!(Term::parse_term("slr_{n m o}(pv)").is_err() && Term::parse_term("slr_{n(pv)").is_err());
    }

    #[test]
    fn numbers_are_equal_however_they_are_written() {
        assert!(Condition::Is(vec!["1.1".to_owned()]).admits_value("1.10"));
        assert!(!Condition::Not(vec!["1.1".to_owned()]).admits_value("1.10"));
        assert!(Condition::AtMost(1.1).admits_value("1.10") && !Condition::Above(1.1).admits_value("1.10"));
        assert!(!Condition::Below(1.1).admits_value("fifo") && !Condition::AtLeast(0.0).admits_value("fifo"));
    }

    #[test]
    fn what_is_wrong_is_named() {
        let wrong = |text: &str| Formula::parse_formula(text).unwrap_err();
        assert_eq!(wrong("value(a)"), "expected <, <=, > or >=, found the end");
        assert_eq!(wrong("value(a) < "), "expected a number or a metric, found the end");
        assert_eq!(wrong("value < 3"), "expected settings in parentheses after value, found `< 3`");
        assert_eq!(wrong("value(a) < 3 4"), "expected nothing more, found `4`");
        assert_eq!(wrong("value(a < 3"), "expected , or ), found the end");
        assert_eq!(wrong("value(a, ) < 3"), "expected a setting, found `) < 3`");
        assert_eq!(wrong("value(load >= much) < 3"), "expected one number after >=, found much");
        assert_eq!(wrong("value(load about 3) < 3"), "expected one of is not = < <= > >= after the name of an axis");
        assert_eq!(wrong("value('a) < 3"), "expected a second ' after `a) < 3`");
        assert_eq!(wrong("1.2.3 < 3"), "expected a number, found `1.2.3`");
        let ranked = "expected a rank and a metric, such as largest(2, value(policy not edf))";
        assert_eq!(wrong("largest(0.5, value(a)) < 3"), ranked);
        assert_eq!(
            wrong("largest(1000000000000000000000000000, value(a)) < 3"),
            "largest: expected a rank of at most 4294967295, found 1000000000000000000000000000"
        );
        let deep = "expected at most 20 parentheses inside of each other";
        assert_eq!((wrong(&"(".repeat(100_000)).as_str(), wrong(&"-".repeat(100_000)).as_str()), (deep, deep));
        let long = format!("1{} < 2", "+1".repeat(200_000));
        assert_eq!((wrong(&long), wrong(&long.replace('+', "*"))), {
            let many = "expected at most 100 operators".to_owned();
            (many.clone(), many)
        });
        assert_eq!(wrong("1e400 < 1"), "expected a number, found `1e400`");
        assert_eq!(Each::parse_each(""), Err("expected the name of an axis".to_owned()));
        for text in ["a b: load", "1: load", "policy is a:b"] {
            assert!(Each::parse_each(text).unwrap_err().starts_with("expected one word before the colon"));
        }
    }
}
