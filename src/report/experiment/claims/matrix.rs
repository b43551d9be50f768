//! Verdicts of an experiment's claims under each variant of its choices.

use std::fmt::Write;

use super::super::choice::{Choice, Choices, Selection, USUAL, Variant};
use super::super::rows;
use super::Verdict;
use super::account::{Findings, verdict_sign, wrap_indented};
use crate::html::table_html;
use crate::markup::{Html, html};

/// Verdicts of all claims under all variants. The usual variant is the first one.
///
/// A claim whose verdict differs between two options of a choice is decided by that choice, as far as the experiment
/// can tell: all other choices are as usual then.
pub struct ChoiceMatrix<'e> {
    choices: &'e Choices,
    /// Variants with their verdicts.
    judged: Vec<(Variant, Findings)>,
}

impl<'e> ChoiceMatrix<'e> {
    /// A matrix of the findings of all variants, in their order. None if there is another number of them.
    pub fn of(choices: &'e Choices, findings: Vec<Findings>) -> Option<ChoiceMatrix<'e>> {
        let is_whole = variants_match(choices, &findings);
        let judged = choices.variants().into_iter().zip(findings).collect();
        is_whole.then_some(ChoiceMatrix { choices, judged })
    }

    /// Findings of the usual variant.
    pub fn usual_findings(&self) -> &Findings {
        &self.judged[0].1
    }

    /// `choices.txt`: the choices with their options, the matrix, and the claims that a choice decides.
    pub fn text(&self) -> String {
        let mut text = format!("{TITLE}:\n");
        for choice in &self.choices.all {
            let _ = writeln!(text, "\n{}", wrap_indented(&choice_heading(choice), 4));
            for (at, option) in choice.options.iter().enumerate() {
                let usual = if at == 0 { " (usual)" } else { "" };
                let about = option.about.as_ref().map_or(String::new(), |about| format!(": {about}"));
                let _ = writeln!(text, "    {}", wrap_indented(&format!("{}{usual}{about}", option.name), 6));
            }
        }
        text.push_str("\nVariants, with the number of claims of each verdict:\n\n");
        for (number, (variant, findings)) in (1..).zip(&self.judged) {
            let _ = writeln!(text, "{number:>4}  {:<32} {}", variant.name, findings.verdict_counts());
        }
        text.push_str(
            "\nVerdicts of each claim under each variant: + holds, ~ holds only within our tolerance, - does not hold,\n\
             ? cannot be told; in brackets where it differs from the usual one.\n\n",
        );
        let heads = (1..=self.judged.len()).map(|number| format!("{number:>4}")).collect::<String>();
        let _ = writeln!(text, "    {heads}");
        for (index, claim) in self.usual_findings().all.iter().enumerate() {
            let marks = self.variant_verdicts(index).map(|verdict| match verdict == claim.finding.verdict {
                true => format!("  {} ", verdict_mark(verdict)),
                false => format!(" [{}]", verdict_mark(verdict)),
            });
            let marks: String = marks.collect();
            let indent = 6 + 4 * self.judged.len();
            let _ = writeln!(text, "{:>3}. {marks} {}", claim.number, wrapped_beside(&claim.text, indent));
        }
        let decided = self.deciding_choices();
        if !decided.is_empty() {
            text.push_str("\nClaims that a choice decides:\n");
            for (number, sentence) in decided {
                let _ = writeln!(text, "{}", wrap_indented(&format!("{number:>3}. {sentence}"), 5));
            }
        }
        text
    }

    /// `choices.csv`: one verdict per line.
    pub fn csv(&self) -> String {
        let mut text = "claim,variant,verdict,is_usual_verdict,text\n".to_owned();
        for (index, claim) in self.usual_findings().all.iter().enumerate() {
            for ((variant, _), verdict) in self.judged.iter().zip(self.variant_verdicts(index)) {
                let number = claim.number.to_string();
                let is_usual = (verdict == claim.finding.verdict).to_string();
                let cells = [number.as_str(), &variant.name, verdict.verdict_words(), &is_usual, &claim.text];
                text.push_str(&rows::join_cells(cells.into_iter()));
            }
        }
        text
    }

    /// Section of a page: choices, matrix, and the claims that a choice decides.
    pub fn html(&self) -> Html {
        let mut body = html!("<section><h2 id=\"choices\">{TITLE}</h2>\n", TITLE);
        body += options_html(self.choices, &self.choices.usual_selection());
        body += html!("<h3>Verdicts under each variant</h3>\n<ol>\n");
        for (variant, findings) in &self.judged {
            body += html!("<li><code>{}</code>: {}</li>\n", &variant.name, findings.verdict_counts());
        }
        let legend = Verdict::ALL.map(|verdict| html!("{} {}", verdict_sign(verdict), verdict.verdict_words()));
        let legend = Html::join_pieces(legend, html!(", "));
        body += html!("</ol>\n<p>{legend}; a box marks a verdict that differs from the usual one.</p>\n", legend);
        let numbers: Vec<String> = (1..=self.judged.len()).map(|number| number.to_string()).collect();
        let columns: Vec<&str> = ["#No.", "Claim"].into_iter().chain(numbers.iter().map(String::as_str)).collect();
        let rows = self.usual_findings().all.iter().enumerate().map(|(index, claim)| {
            let number = claim.number;
            let mut row = vec![Html::from(number), html!("<a href=\"#claim-{number}\">{}</a>", &claim.text, number)];
            row.extend(
                self.variant_verdicts(index).map(|verdict| boxed_sign(verdict, verdict != claim.finding.verdict)),
            );
            row
        });
        body += table_html(&columns, rows);
        let decided = self.deciding_choices();
        if !decided.is_empty() {
            body += html!("<h3>Claims that a choice decides</h3>\n<ul>\n");
            for (number, sentence) in decided {
                body += html!("<li><a href=\"#claim-{number}\">{number}</a>: {sentence}</li>\n", number, sentence);
            }
            body += html!("</ul>\n");
        }
        body + html!("</section>\n")
    }

    /// A sentence for each claim and choice whose options have different verdicts, with the number of the claim.
    pub fn deciding_choices(&self) -> Vec<(u32, String)> {
        let mut sentences = Vec::new();
        for (index, claim) in self.usual_findings().all.iter().enumerate() {
            for choice in &self.choices.all {
                let verdicts = self.verdicts_of(index, choice);
                if verdicts.windows(2).any(|pair| pair[0].1 != pair[1].1) {
                    sentences.push((claim.number, decision_sentence(choice, &verdicts)));
                }
            }
        }
        sentences
    }

    /// Verdicts of a claim under each variant.
    fn variant_verdicts(&self, claim: usize) -> impl Iterator<Item = Verdict> + '_ {
        self.judged.iter().map(move |(_, findings)| findings.all[claim].finding.verdict)
    }

    /// Verdicts of a claim under each option of a choice, with all other choices as usual.
    fn verdicts_of<'c>(&self, claim: usize, choice: &'c Choice) -> Vec<(&'c str, Verdict)> {
        let under = |option: &'c str, at: usize| {
            let name = if at == 0 { USUAL.to_owned() } else { format!("{}={option}", choice.name) };
            let (_, findings) = self.judged.iter().find(|(variant, _)| variant.name == name)?;
            Some((option, findings.all[claim].finding.verdict))
        };
        choice.options.iter().enumerate().filter_map(|(at, option)| under(&option.name, at)).collect()
    }
}

const TITLE: &str = "Choices that the source leaves open";

/// Section of a page on the choices of an experiment, with the options that are taken. Empty if there are no choices.
pub fn choices_html(choices: &Choices, taken: &Selection) -> Html {
    if choices.all.is_empty() {
        return Html::default();
    }
    let options = options_html(choices, taken);
    html!("<section><h2 id=\"choices\">{TITLE}</h2>\n{options}</section>\n", TITLE, options)
}

/// A list of all choices with their options; those that are taken are bold.
fn options_html(choices: &Choices, taken: &Selection) -> Html {
    let mut list = html!("<dl>\n");
    for (choice, taken) in choices.all.iter().zip(&taken.0) {
        list += html!("<dt>{}</dt>\n", choice_heading(choice));
        for (at, option) in choice.options.iter().enumerate() {
            let name = match at == *taken {
                true => html!("<strong><code>{}</code></strong>", &option.name),
                false => html!("<code>{}</code>", &option.name),
            };
            let about = option.about.as_ref().map_or(String::new(), |about| format!(": {about}"));
            list += html!("<dd>{name}{about}</dd>\n", name, about);
        }
    }
    list + html!("</dl>\n")
}

/// True if there are findings of the same claims for each variant.
fn variants_match(choices: &Choices, findings: &[Findings]) -> bool {
    findings.len() == choices.variants().len() && findings.windows(2).all(|pair| pair[0].all.len() == pair[1].all.len())
}

/// A choice in one line: its name, its subject, and the source's words.
fn choice_heading(choice: &Choice) -> String {
    let source = match &choice.quote {
        Some(quote) => format!("The source: \"{quote}\"."),
        None => "The source is silent.".to_owned(),
    };
    let reason = choice.reason.as_ref().map_or(String::new(), |reason| format!(" Usual: {reason}."));
    let line = format!("{}: {}. {source}{reason}", choice.name, choice.about.trim_end_matches('.'));
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A sentence such as `decided by edf: holds under final; does not hold under initial`.
fn decision_sentence(choice: &Choice, verdicts: &[(&str, Verdict)]) -> String {
    let mut parts = Vec::new();
    for verdict in Verdict::ALL {
        let options: Vec<&str> = verdicts.iter().filter(|one| one.1 == verdict).map(|one| one.0).collect();
        if !options.is_empty() {
            parts.push(format!("{} under {}", verdict.verdict_words(), options.join(", ")));
        }
    }
    format!("decided by {}: {}", choice.name, parts.join("; "))
}

/// The sign of a verdict, in its colour, with its words as a tooltip.
fn boxed_sign(verdict: Verdict, differs: bool) -> Html {
    let words = verdict.verdict_words();
    let border = if differs { "border:1px solid;border-radius:3px;padding:0 .35em" } else { "padding:0 .35em" };
    html!("<span style=\"{border}\" title=\"{words}\">{}</span>", verdict_sign(verdict), border, words)
}

fn verdict_mark(verdict: Verdict) -> char {
    match verdict {
        Verdict::Holds => '+',
        Verdict::WithinTolerance => '~',
        Verdict::Undecided => '?',
        Verdict::DoesNotHold => '-',
    }
}

/// Text beside a column of this width: wrapped, and indented from the second line on.
fn wrapped_beside(text: &str, indent: usize) -> String {
    let width = 60;
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let line = lines.last_mut().expect("there is a line");
        if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > width {
            lines.push(word.to_owned());
        } else {
            let space = if line.is_empty() { "" } else { " " };
            line.push_str(space);
            line.push_str(word);
        }
    }
    lines.join(&format!("\n{:indent$}", ""))
}

#[cfg(test)]
mod tests {
    use super::super::super::choice::ChoiceOption;
    use super::super::Finding;
    use super::super::account::JudgedClaim;
    use super::*;

    fn findings(verdicts: &[Verdict]) -> Findings {
        let claim = |(number, verdict): (u32, &Verdict)| JudgedClaim {
            number,
            text: format!("claim {number}"),
            sources: Vec::new(),
            weaker: None,
            note: None,
            finding: Finding {
                verdict: *verdict,
                comparisons: Vec::new(),
                pairs: Vec::new(),
                missing: Vec::new(),
                not_judged: Vec::new(),
                remarks: Vec::new(),
                weaker: None,
            },
        };
        Findings { all: (1..).zip(verdicts).map(claim).collect() }
    }

    fn choices() -> Choices {
        let option = |name: &str| ChoiceOption { name: name.to_owned(), about: Some(format!("as {name}")) };
        let edf = Choice {
            name: "edf".to_owned(),
            about: "the deadline that EDF orders by".to_owned(),
            quote: Some("earliest deadline".to_owned()),
            reason: None,
            options: vec![option("initial"), option("final")],
        };
        Choices { all: vec![edf], combinations: Vec::new() }
    }

    #[test]
    fn a_choice_that_flips_a_verdict_decides_the_claim() {
        let choices = choices();
        let usual = findings(&[Verdict::Holds, Verdict::DoesNotHold]);
        let last = findings(&[Verdict::Holds, Verdict::WithinTolerance]);
        let matrix = ChoiceMatrix::of(&choices, vec![usual.clone(), last]).unwrap();
        let decided = "decided by edf: holds only within our tolerance under final; does not hold under initial";
        assert_eq!(matrix.deciding_choices(), [(2, decided.to_owned())]);
        let text = matrix.text();
        assert!(text.contains("\n  1.   +   +  claim 1\n"), "{text}");
        assert!(text.contains("\n  2.   -  [~] claim 2\n"), "{text}");
        assert!(text.contains("edf: the deadline that EDF orders by. The source: \"earliest deadline\"."), "{text}");
        assert!(matrix.csv().contains("2,edf=final,holds only within our tolerance,false,claim 2\n"));
        assert!(matrix.html().as_str().contains("padding:0 .35em\" title=\"holds only within our tolerance\""));
        assert!(ChoiceMatrix::of(&choices, vec![usual]).is_none(), "a variant is missing");
    }
}
