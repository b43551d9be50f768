//! Verdicts of all claims as text and as a part of a page.

use std::fmt::Write;

use super::rules::Counts;
use super::{Claim, ClaimSource, Comparison, Finding, Ours, Pair, Verdict};
use crate::html::{prose_html, table_html};
use crate::markup::{Html, cells, html};
use hansa_sim::numerals;
use hansa_sim::numerals::capitalize_first;
use hansa_sim::settings::format_counted;

/// Verdicts of some claims.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Findings {
    pub all: Vec<JudgedClaim>,
}

/// A claim with its verdict, in words.
#[derive(Clone, Debug, PartialEq)]
pub struct JudgedClaim {
    pub number: u32,
    pub text: String,
    /// Its source: the paper's words, with their places.
    pub sources: Vec<String>,
    /// The weaker statement, if there is one.
    pub weaker: Option<String>,
    /// Explanation of why it does not hold as it stands; None if it holds.
    pub note: Option<String>,
    pub finding: Finding,
}

impl Findings {
    /// Judges claims, which are numbered by their places.
    pub fn judge_claims<R>(claims: &[Claim<R>], results: &R) -> Findings {
        let judged = |(number, claim): (u32, &Claim<R>)| {
            let finding = claim.judge(results);
            JudgedClaim {
                number,
                text: claim.text.to_owned(),
                sources: claim.sources.iter().map(ClaimSource::quote_words).collect(),
                weaker: claim.weaker.as_ref().map(|weaker| weaker.text.to_owned()),
                note: claim.note.filter(|_| finding.verdict.needs_a_note()).map(str::to_owned),
                finding,
            }
        };
        Findings { all: (1..).zip(claims).map(judged).collect() }
    }

    /// The finding of the claim with this number.
    pub fn numbered_finding(&self, number: u32) -> &Finding {
        &self.all.iter().find(|claim| claim.number == number).unwrap().finding
    }

    /// Counts such as `3 hold, 1 holds only within our tolerance`; verdicts that no claim has are left out.
    pub fn verdict_counts(&self) -> String {
        let counts = Verdict::ALL.into_iter().filter_map(|verdict| {
            let count = self.all.iter().filter(|claim| claim.finding.verdict == verdict).count();
            (count > 0).then(|| format!("{count} {}", plural_verdict(verdict, count)))
        });
        counts.collect::<Vec<_>>().join(", ")
    }

    /// A line for each claim, with its verdict.
    pub fn verdict_list(&self) -> String {
        let mut text = String::new();
        let wide = Verdict::ALL.map(|verdict| verdict.verdict_words().len()).into_iter().max().unwrap_or(0);
        for claim in &self.all {
            let verdict = claim.finding.verdict.verdict_words();
            let line = format!("{:>2}. {verdict:<wide$}  {}", claim.number, claim.text);
            let _ = writeln!(text, "{}", wrap_indented(&line, wide + 6));
        }
        text
    }

    /// `verdicts.txt` below its head: a list of all verdicts, then each claim with the paper's words and the numbers.
    pub fn text(&self) -> String {
        let mut text = format!("\n{}", self.verdict_list());
        for claim in &self.all {
            let head = format!("{:>2}. {}: {}", claim.number, claim.finding.verdict.verdict_words(), claim.text);
            let _ = writeln!(text, "\n{}", wrap_indented(&head, 4));
            for source in &claim.sources {
                let _ = writeln!(text, "      {}", wrap_indented(source, 6));
            }
            text.push_str(&pairs_text(&claim.finding.pairs));
            for line in claim.claim_lines() {
                let _ = writeln!(text, "      {}", wrap_indented(&line, 6));
            }
        }
        text
    }

    /// Sections of a page: a table of all verdicts, then each claim.
    pub fn html(&self) -> Html {
        let row = |claim: &JudgedClaim| {
            let number = claim.number;
            let verdict = marked_verdict(claim.finding.verdict);
            let text = prose_html(&capitalize_first(&claim.text));
            cells![number, html!("<a href=\"#claim-{number}\">{text}</a>", number, text), verdict]
        };
        let mut html = html!(
            "<section><h2 id=\"verdicts\">Verdicts</h2>\n<p>{}.</p>\n{}",
            self.verdict_counts(),
            table_html(&["#No.", "Claim", "Verdict"], self.all.iter().map(row))
        );
        for claim in &self.all {
            let number = claim.number;
            let finding = &claim.finding;
            let verdict = marked_verdict(finding.verdict);
            let text = prose_html(&capitalize_first(&claim.text));
            html += html!("<h3 id=\"claim-{number}\">{number}. {text}: {verdict}</h3>\n", number, text, verdict);
            for source in &claim.sources {
                html += html!("<p class=\"soft\">{}</p>\n", prose_html(&capitalize_first(source)));
            }
            if !finding.pairs.is_empty() {
                let row = |pair: &Pair| cells![&pair.what, &pair.paper, pair.own_text()];
                html += table_html(&["Number", "#Paper", "#Ours"], finding.pairs.iter().map(row));
            }
            let lines: Html = claim.claim_lines().iter().map(|line| html!("<li>{}</li>\n", prose_html(line))).collect();
            html += html!("<ul>\n{lines}</ul>\n", lines);
        }
        html + html!("</section>\n")
    }
}

impl JudgedClaim {
    /// The finding's lines, the weaker statement and the note.
    fn claim_lines(&self) -> Vec<String> {
        let mut lines = self.finding.finding_lines();
        if let (Some(weaker), Some(verdict)) = (&self.weaker, self.finding.weaker)
            && self.finding.verdict != Verdict::Holds
        {
            lines.push(format!("a weaker statement, which is ours: {weaker}: {}", verdict.verdict_words()));
        }
        lines.extend(self.finding.remarks.iter().cloned());
        lines.extend(self.note.clone());
        lines
    }
}

impl Finding {
    /// The decisive comparisons, the number of comparisons of each verdict, outliers, tolerances and reasons.
    pub(super) fn finding_lines(&self) -> Vec<String> {
        let mut lines: Vec<String> = Vec::new();
        let evidence = self.decisive_comparisons();
        lines.extend(evidence.iter().take(SHOWN).map(|comparison| comparison.comparison_sentence()));
        if evidence.len() > SHOWN {
            lines.push(format!("and {} more", evidence.len() - SHOWN));
        }
        let counts = Counts::of(&self.comparisons);
        if counts.all_comparisons() > 1 {
            lines.push(counts.count_words());
        }
        lines.extend(self.vacuous_line());
        lines.extend(self.comparisons.iter().filter_map(Comparison::outlier_sentence).take(SHOWN));
        lines.extend(self.tolerance_reasons().iter().map(|why| format!("our tolerance: {why}")));
        lines.extend(self.not_judged.iter().map(|reason| format!("cannot be told: {reason}")));
        if !self.missing.is_empty() {
            let some = self.missing.iter().take(SHOWN).map(String::as_str).collect::<Vec<_>>().join("; ");
            let more = if self.missing.len() > SHOWN { ", ..." } else { "" };
            let count = format_counted(self.missing.len() as u64, "comparison");
            lines.push(format!("cannot be told: no numbers for {count}: {some}{more}"));
        } else if self.comparisons.is_empty() && self.not_judged.is_empty() {
            lines.push("cannot be told: there are no numbers for it".to_owned());
        } else if counts.not_judged > 0 && self.verdict == Verdict::Undecided {
            lines.push(
                "cannot be told: too many differences are within the random variation of these samples (±, 95 %)"
                    .to_owned(),
            );
        }
        lines
    }

    /// The comparisons in which both sides are 0. None if there are none.
    fn vacuous_line(&self) -> Option<String> {
        let all: Vec<&str> = self.comparisons.iter().filter(|one| one.is_vacuous).map(|one| &one.text[..]).collect();
        let some = all.iter().take(SHOWN).copied().collect::<Vec<_>>().join("; ");
        let more = if all.len() > SHOWN { "; ..." } else { "" };
        (!all.is_empty())
            .then(|| format!("vacuous: 0 = 0 in {}: {some}{more}", format_counted(all.len() as u64, "comparison")))
    }
}

impl Counts {
    /// A line such as `8 of 12 comparisons hold, 1 fails significantly, 3 cannot be told`.
    fn count_words(self) -> String {
        let all = self.all_comparisons();
        let hold = if self.held == 1 { "holds" } else { "hold" };
        let mut line = format!("{} of {} {hold}", self.held, format_counted(all as u64, "comparison"));
        let exactly = self.failed - self.significantly;
        for (count, one, many) in [
            (self.significantly, "fails significantly", "fail significantly"),
            (exactly, "fails", "fail"),
            (self.not_judged, "cannot be told", "cannot be told"),
            (self.vacuous, "is vacuous", "are vacuous"),
        ] {
            match count {
                0 => {}
                1 => line.push_str(&format!(", 1 {one}")),
                count => line.push_str(&format!(", {count} {many}")),
            }
        }
        line
    }
}

/// The mark of a verdict in a page, in its colour.
pub(super) fn verdict_sign(verdict: Verdict) -> Html {
    let (mark, colour) = match verdict {
        Verdict::Holds => ("✓", "--good"),
        Verdict::WithinTolerance => ("≈", "--warnline"),
        Verdict::Undecided => ("?", "--soft"),
        Verdict::DoesNotHold => ("✗", "--bad"),
    };
    html!("<strong style=\"color:var({colour})\">{mark}</strong>", colour, mark)
}

/// A verdict of a page, with its mark and colour.
fn marked_verdict(verdict: Verdict) -> Html {
    html!("{} <strong>{}</strong>", verdict_sign(verdict), verdict.verdict_words())
}

fn plural_verdict(verdict: Verdict, count: usize) -> &'static str {
    match (verdict, count) {
        (Verdict::Undecided, _) | (_, 1) => verdict.verdict_words(),
        (Verdict::Holds, _) => "hold",
        (Verdict::WithinTolerance, _) => "hold only within our tolerance",
        (Verdict::DoesNotHold, _) => "do not hold",
    }
}

impl ClaimSource {
    fn quote_words(&self) -> String {
        match self {
            ClaimSource::Quote(place, words) => quoted_source(place, words, true),
            ClaimSource::Sense(place, words) => quoted_source(place, words, false),
        }
    }
}

/// Words of a source, with their place in it if that is known.
pub fn quoted_source(place: &str, words: &str, is_quote: bool) -> String {
    let at = if place.is_empty() { "the paper".to_owned() } else { format!("the paper, {place}") };
    if is_quote { format!("{at}: \"{words}\"") } else { format!("{at} (in our words): {words}") }
}

impl Pair {
    fn own_text(&self) -> String {
        self.ours.map_or("-".to_owned(), numerals::format_number)
    }
}

impl Comparison {
    fn comparison_sentence(&self) -> String {
        let within = self.half_interval().map(|chance| format!(" ±{chance:.4}")).unwrap_or_default();
        match self.verdict() {
            Verdict::WithinTolerance if self.margin < 0.0 => {
                format!(
                    "{} fails {}{within}; {} are allowed",
                    self.text,
                    self.shortfall_text(),
                    round_up(self.tolerance)
                )
            }
            Verdict::Holds | Verdict::WithinTolerance => format!("closest: {}{within}", self.text),
            Verdict::Undecided if self.margin >= 0.0 => format!("{}{within} is within the variation", self.text),
            Verdict::Undecided | Verdict::DoesNotHold => {
                let ours = if matches!(self.ours, Ours::Bound(_)) { ", by a bound of ours" } else { "" };
                format!("{} fails {}{within}{ours}", self.text, self.shortfall_text())
            }
        }
    }

    /// The sample that decides it, with both sides without that sample. None if no single one does.
    fn outlier_sentence(&self) -> Option<String> {
        let outlier = self.outlier.as_ref()?;
        let sign = if self.strict { "<" } else { "<=" };
        let [left, right] = outlier.without.map(|side| (side * 1e4).round() / 1e4);
        let name = &outlier.name;
        let count = outlier.count;
        Some(format!("{name}, one of {count}, decides: {}; without it {left} {sign} {right}", self.text))
    }
}

/// The paper's numbers beside ours, in columns as wide as their cells.
fn pairs_text(pairs: &[Pair]) -> String {
    if pairs.is_empty() {
        return String::new();
    }
    let cells: Vec<[String; 3]> = [["".to_owned(), "paper".to_owned(), "ours".to_owned()]]
        .into_iter()
        .chain(pairs.iter().map(|pair| [pair.what.clone(), pair.paper.clone(), pair.own_text()]))
        .collect();
    let wide = |column: usize| cells.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let [what, paper, ours] = [0, 1, 2].map(wide);
    cells.iter().map(|[a, b, c]| format!("      {a:<what$}  {b:>paper$}  {c:>ours$}\n")).collect()
}

/// Rounds up to four decimals.
fn round_up(number: f64) -> f64 {
    (number * 1e4 - 1e-9).ceil() / 1e4
}

/// Most failing comparisons that are shown per claim.
const SHOWN: usize = 6;

/// Wraps text at 100 columns; all lines but the first are indented.
pub(super) fn wrap_indented(text: &str, indent: usize) -> String {
    let mut lines = String::new();
    let mut length = 0;
    for (place, word) in text.split(' ').enumerate() {
        let letters = word.chars().count();
        if length > indent && length + 1 + letters > 100 {
            lines.push_str(&format!("\n{:indent$}", ""));
            length = indent;
        } else if place > 0 {
            lines.push(' ');
            length += 1;
        }
        lines.push_str(word);
        length += letters;
    }
    lines
}
