//! Claims in an experiment's file: the words of a source, and comparisons of the experiment's own numbers.
//!
//! ```toml
//! [[claim]]
//! text = "from load 1 on FIFO is above Random and below all others but LRTF"
//! says = [{ sense = "FIFO is above Random and below the other policies", place = "section 5" }]
//! each = ["load >= 1", "other: policy not fifo lrtf random"]
//! compare = ["value(random) < value(fifo)", "value(fifo) < value(other)"]
//! ```

use std::collections::BTreeSet;

use super::Judge;
use super::account::{JudgedClaim, quoted_source};
use super::cells::{Cells, Point};
use super::formula::{Each, Formula, Term};
use hansa_sim::settings::{
    Diagnostic, Diagnostics, Field, Form, Layout, List, Location, Maybe, Number, Shape, Text, Walk, key,
    make_printable, quote_text,
};

/// A claim as written in a file.
#[derive(Clone, Debug, Default)]
pub struct WrittenClaim {
    text: String,
    sources: Vec<WrittenSource>,
    /// The comparisons beside the text, and further groups of them.
    first: Part,
    parts: Vec<Part>,
    weaker: Option<WrittenWeaker>,
    numbers: Vec<Printed>,
    note: Option<String>,
    remark: Option<String>,
}

/// Words of a source: a quote, or their sense.
#[derive(Clone, Debug, Default)]
struct WrittenSource {
    quote: Option<String>,
    sense: Option<String>,
    place: Option<String>,
}

/// Comparisons that hold for the same values of axes.
#[derive(Clone, Debug, Default)]
struct Part {
    each: Vec<Parsed<Each>>,
    compare: Vec<Parsed<Formula>>,
    /// The reason for a bound or a tolerance that the source does not give.
    ours: Option<String>,
    slack: f64,
}

#[derive(Clone, Debug, Default)]
struct WrittenWeaker {
    text: String,
    part: Part,
}

/// A number that the source prints, or that is only shown.
#[derive(Clone, Debug, Default)]
struct Printed {
    ours: Option<Parsed<Term>>,
    paper: Option<String>,
}

/// A text with its meaning, and its location for messages.
#[derive(Clone, Debug)]
struct Parsed<T> {
    text: String,
    meaning: T,
    location: Location,
}

/// Form of a text that has a meaning.
struct Meant<T> {
    what: &'static str,
    example: &'static str,
    parse: fn(&str) -> Result<T, String>,
}

impl<T> Form<Parsed<T>> for Meant<T> {
    fn read_value(&self, field: &Field<'_>) -> Option<Parsed<T>> {
        let text = field.text(self.what)?;
        match (self.parse)(text) {
            Ok(meaning) => Some(Parsed { text: text.to_owned(), meaning, location: field.location() }),
            Err(wrong) => {
                field.complain(wrong);
                None
            }
        }
    }

    fn toml_text(&self, value: &Parsed<T>) -> Option<String> {
        Some(quote_text(&value.text))
    }

    fn value_shape(&self) -> Shape {
        Shape::Text { what: self.what, pattern: None, example: self.example }
    }
}

const EACH: Meant<Each> = Meant { what: "values of an axis", example: "load >= 1", parse: Each::parse_each };
const FORMULA: Meant<Formula> =
    Meant { what: "a comparison of metrics", example: "value(pvr) > value(fifo)", parse: Formula::parse_formula };
const TERM: Meant<Term> =
    Meant { what: "a metric with its settings", example: "value(pvr, 1.1)", parse: Term::parse_term };
const SLACK: Number = Number::from(0.0, f64::MAX, "a number of at least 0");

/// Walks the claims of a file.
pub fn walk_claims(claims: &mut Vec<WrittenClaim>, w: &mut dyn Walk) {
    let claim = key("claim", "").means("statements that the results are judged by").each("a table with a claim");
    w.rows(claim, Layout::Sections("claim"), claims, WrittenClaim::default, |claim, w| {
        let text = key("text", "").means("the statement in short").need("a text");
        w.set(text, &mut claim.text, Text("a text"));
        let sources = key("says", "").means("the source's own words").each("a table such as { quote = \"...\" }");
        w.rows(sources, Layout::Lines, &mut claim.sources, WrittenSource::default, |source, w| {
            w.set(key("quote", "").means("words of the source"), &mut source.quote, Maybe(Text("a text")));
            let sense = key("sense", "").means("what the source says, in other words");
            w.set(sense, &mut source.sense, Maybe(Text("a text")));
            let place = key("place", "").means("section, table or figure of the source");
            w.set(place, &mut source.place, Maybe(Text("a text")));
        });
        claim.first.walk(w);
        let parts = key("part", "").means("further comparisons, for other values").each("a table with comparisons");
        w.rows(parts, Layout::Sections("claim.part"), &mut claim.parts, Part::default, Part::walk);
        let weaker = key("weaker", "").means("a weaker statement of ours, which is judged beside the claim");
        w.maybe(weaker, Layout::Section("claim.weaker"), &mut claim.weaker, WrittenWeaker::default, |weaker, w| {
            let text = key("text", "").means("the weaker statement in short").need("a text");
            w.set(text, &mut weaker.text, Text("a text"));
            weaker.part.walk(w);
        });
        let numbers =
            key("numbers", "").means("numbers to show").each("a table such as { ours = \"value(pvr, 1.1)\" }");
        w.rows(numbers, Layout::Lines, &mut claim.numbers, Printed::default, |number, w| {
            let ours = key("ours", "").means("a number of the experiment").need("a metric with its settings");
            w.set(ours, &mut number.ours, Maybe(TERM));
            let paper = key("paper", "").means("the number that the source prints");
            w.set(paper, &mut number.paper, Maybe(Text("a text")));
        });
        let note = key("note", "").means(
            "the reason why it does not hold as it stands, shown if it does not hold, or only within a tolerance",
        );
        w.set(note, &mut claim.note, Maybe(Text("a text")));
        let remark = key("remark", "").means("a sentence that is always shown");
        w.set(remark, &mut claim.remark, Maybe(Text("a text")));
    });
}

impl Part {
    fn walk(&mut self, w: &mut dyn Walk) {
        let each = key("each", "").means("values of axes for which all comparisons have to hold").usual("none");
        w.set(each, &mut self.each, List(EACH, "a list of texts such as \"load >= 1\""));
        let compare = key("compare", "").means("comparisons of metrics").usual("none");
        w.set(compare, &mut self.compare, List(FORMULA, "a list of texts such as \"value(pvr) > value(fifo)\""));
        let ours = key("ours", "").means(
            "the reason for a number that is not the source's: what holds by it holds within our tolerance only",
        );
        w.set(ours, &mut self.ours, Maybe(Text("a text")));
        let slack = key("slack", "").means("the shortfall that is tolerated, for the reason under `ours`");
        w.set(slack, &mut self.slack, SLACK);
    }

    fn each_meanings(&self) -> Vec<Each> {
        self.each.iter().map(|each| each.meaning.clone()).collect()
    }

    /// Reports the settings, metrics and axes that the experiment does not have.
    fn check(&self, claim: Location, cells: &Cells<'_>, diagnostics: &Diagnostics) {
        let complain = |location, key: &str, wrong: String| diagnostics.add(Diagnostic::new(location, key, wrong));
        if self.slack > 0.0 && self.ours.is_none() {
            complain(claim, "claim.ours", "expected the reason for `slack` under `ours`".to_owned());
        }
        if self.compare.is_empty() {
            complain(claim, "claim.compare", "expected at least one comparison in each part of a claim".to_owned());
        }
        // Each line is checked by itself first, so that a fault is shown where it is.
        for one in &self.each {
            if let Err(wrong) = cells.list_points(std::slice::from_ref(&one.meaning)) {
                return complain(one.location, "claim.each", wrong);
            }
        }
        let points = match cells.list_points(&self.each_meanings()) {
            Ok(points) => points,
            Err(wrong) => return complain(self.each[0].location, "claim.each", wrong),
        };
        for formula in &self.compare {
            if let Some(wrong) = points.iter().find_map(|point| cells.formula_sides(&formula.meaning, point).err()) {
                complain(formula.location, "claim.compare", wrong);
            }
        }
    }

    fn judge(&self, judge: &mut Judge<'_, Cells<'_>>) {
        let before = (judge.comparisons.len(), judge.missing.len());
        match self.ours.clone() {
            None => self.compare_all(judge),
            Some(why) if self.slack > 0.0 => judge.with_slack(why, |judge| self.compare_all(judge)),
            Some(why) => judge.with_bound(why, |judge| self.compare_all(judge)),
        }
        // A comparison that does not depend on a name of `each` counts once.
        keep_first(&mut judge.comparisons, before.0, |one| &one.text);
        keep_first(&mut judge.missing, before.1, |text| text);
    }

    fn compare_all(&self, judge: &mut Judge<'_, Cells<'_>>) {
        // Errors were reported when the file was read.
        let points = judge.results.list_points(&self.each_meanings()).unwrap_or_default();
        for formula in &self.compare {
            judge.separate_part(|judge| compare_at(judge, &formula.meaning, &points, self.slack));
        }
    }

    /// True if nothing of it is written.
    fn is_empty(&self) -> bool {
        self.each.is_empty() && self.compare.is_empty() && self.ours.is_none() && self.slack == 0.0
    }
}

/// Makes a comparison at each of these points; it is left out beyond the last value of an axis.
fn compare_at(judge: &mut Judge<'_, Cells<'_>>, formula: &Formula, points: &[Point], slack: f64) {
    for point in points {
        if let Ok(Some((left, right))) = judge.results.formula_sides(formula, point) {
            judge.compare_numbers(&left, &right, slack, formula.is_strict);
        }
    }
}

/// Drops the items from index `from` on whose text an earlier one of them has.
fn keep_first<T>(items: &mut Vec<T>, from: usize, text: impl Fn(&T) -> &String) {
    let mut known = BTreeSet::new();
    let mut added = items.split_off(from);
    added.retain(|item| known.insert(text(item).clone()));
    items.extend(added);
}

impl WrittenClaim {
    /// All groups of comparisons; the first may be missing if there are others.
    fn all_parts(&self) -> impl Iterator<Item = &Part> {
        let first = Some(&self.first).filter(|first| self.parts.is_empty() || !first.is_empty());
        first.into_iter().chain(&self.parts)
    }

    pub fn judge(&self, number: u32, cells: &Cells<'_>) -> JudgedClaim {
        let mut judge = Judge::new(cells);
        self.all_parts().for_each(|part| part.judge(&mut judge));
        for Printed { ours, paper } in &self.numbers {
            let Some(ours) = ours else { continue };
            if let Ok(Some(number)) = cells.term_number(&ours.meaning, &Default::default()) {
                judge.show_number(&number, one_line(paper.as_deref().unwrap_or_default()));
            }
        }
        let weaker = self.weaker.as_ref().and_then(|weaker| {
            let mut judge = Judge::new(cells);
            weaker.part.judge(&mut judge);
            judge.weaker_verdict()
        });
        if let Some(remark) = &self.remark {
            judge.add_remark(one_line(remark));
        }
        let finding = judge.into_finding(weaker);
        JudgedClaim {
            number,
            text: one_line(&self.text),
            sources: self
                .sources
                .iter()
                .flat_map(|source| {
                    let place = source.place.as_deref().unwrap_or_default();
                    let sense = source.sense.as_ref().map(|sense| one_line(&quoted_source(place, sense, false)));
                    source
                        .quote
                        .as_ref()
                        .map(|quote| one_line(&quoted_source(place, quote, true)))
                        .into_iter()
                        .chain(sense)
                })
                .collect(),
            weaker: self.weaker.as_ref().map(|weaker| one_line(&weaker.text)),
            note: self.note.as_ref().filter(|_| finding.verdict.needs_a_note()).map(|note| one_line(note)),
            finding,
        }
    }
}

/// A text of a file on one line, without characters that steer a terminal or reverse the text around them.
fn one_line(text: &str) -> String {
    make_printable(&text.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// Reports what the claims at these locations lack, and what they name and the experiment does not have.
pub fn check_claims(
    claims: &[WrittenClaim],
    locations: impl Iterator<Item = Location>,
    cells: &Cells<'_>,
    diagnostics: &Diagnostics,
) {
    for (claim, location) in claims.iter().zip(locations) {
        let weaker = claim.weaker.iter().map(|weaker| &weaker.part);
        claim.all_parts().chain(weaker).for_each(|part| part.check(location, cells, diagnostics));
        if claim.sources.iter().any(|source| source.quote.is_none() && source.sense.is_none()) {
            diagnostics.add(Diagnostic::new(location, "claim.says", "expected a `quote` or a `sense` in each"));
        }
        for ours in claim.numbers.iter().filter_map(|number| number.ours.as_ref()) {
            if let Err(wrong) = cells.term_number(&ours.meaning, &Default::default()) {
                diagnostics.add(Diagnostic::new(ours.location, "claim.numbers.ours", wrong));
            }
        }
    }
}
