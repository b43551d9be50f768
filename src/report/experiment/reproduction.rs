//! Page of a reproduction: figures, tables beside the paper's numbers, verdicts with the paper's words, and the set-up.

use super::claims::Findings;
use super::plot::Figure;
use crate::html::{document_html, prose_html};
use crate::markup::{Html, html};

/// A paper, and facts about its experiment here.
pub struct Paper {
    pub title: &'static str,
    pub authors: &'static str,
    /// Name of the file with the tables.
    pub tables_file: &'static str,
    /// True if a terminal shows the tables, too.
    pub shows_tables: bool,
    /// Choices of the set-up that are not the paper's, and known differences.
    pub ours: &'static [&'static str],
    /// Command of the full form.
    pub full: &'static str,
    /// Page of the documentation with a section on the experiment.
    pub docs: &'static str,
}

/// The outcome of a paper's experiment: what its files and its page are made of. Texts are plain.
pub trait Reproduction {
    const PAPER: Paper;

    /// Verdicts of all claims.
    fn findings(&self) -> Findings;

    /// A line with the size of this reproduction and its counts of verdicts, then lines on the names of its numbers.
    fn head(&self, counts: &str) -> String;

    fn draw_figures(&self) -> Vec<Figure>;

    /// The main numbers, beside those of the paper if it prints any.
    fn tables_text(&self) -> String;

    /// Names and contents of the files with all numbers.
    fn csv_files(&self) -> Vec<(&'static str, String)>;

    /// `verdicts.txt`: the verdict of each claim.
    fn verdicts_text(&self) -> String {
        let findings = self.findings();
        format!("{}{}", self.head(&findings.verdict_counts()), findings.text())
    }

    /// The page, with a section on the choices that the paper leaves open, which may be empty.
    fn page(&self, choices: &Html) -> String {
        let paper = Self::PAPER;
        let title = paper.title;
        let findings = self.findings();
        let head = self.head(&findings.verdict_counts());
        let (counts, names) = head.split_once('\n').unwrap_or((head.as_str(), ""));
        let mut body = html!(
            "<header><p class=\"kicker\">A reproduction by Hansa</p><h1>{title}</h1>\n<p class=\"lead\">{}</p>\n<p>{counts}</p>\n<p>{}</p>\n\
             <nav>{}<a href=\"#verdicts\">Verdicts</a><a href=\"#figures\">Figures</a><a href=\"#tables\">Tables</a>\
             <a href=\"#ours\">Set-up</a><a href=\"#full\">Full form</a></nav></header>\n",
            paper.authors,
            // Broken into lines for a terminal.
            prose_html(names),
            if choices.is_empty() { Html::default() } else { html!("<a href=\"#choices\">Choices</a>") },
            counts = prose_html(counts),
            title = title
        );
        body += choices.clone();
        body += findings.html();
        body += html!("<section><h2 id=\"figures\">Figures</h2>\n");
        for figure in self.draw_figures() {
            body += html!(
                "<figure data-name=\"{}\" aria-label=\"{}\"><div class=\"scroll\">{}</div><figcaption><code>{}</code></figcaption>\
                 </figure>\n",
                figure.file.trim_end_matches(".svg"),
                &figure.title,
                figure.svg,
                figure.file
            );
        }
        body += html!(
            "</section>\n<section><h2 id=\"tables\">Tables</h2>\n<pre>{}</pre></section>\n\
             <section><h2 id=\"ours\">What is ours in the set-up</h2>\n<ul>\n",
            self.tables_text().trim()
        );
        paper.ours.iter().for_each(|choice| body += html!("<li>{}</li>\n", prose_html(choice)));
        body += html!(
            "</ul></section>\n<section><h2 id=\"full\">The full form</h2>\n<pre>{}</pre>\n\
             <p>The section \"The paper's experiment\" of <code>{}</code> has more on both.</p></section>\n",
            paper.full,
            paper.docs
        );
        document_html(&format!("{title}: a reproduction by Hansa"), body)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Tried;

    impl Reproduction for Tried {
        const PAPER: Paper = Paper {
            title: "On a & b",
            authors: "A, B",
            tables_file: "tables.txt",
            shows_tables: true,
            ours: &["the seeds"],
            full: "hansa reproduce x --full",
            docs: "docs/x.md",
        };

        fn findings(&self) -> Findings {
            Findings::default()
        }

        fn head(&self, _: &str) -> String {
            "3 hold.\nNames of numbers: a is the first,\nb the second.\n".to_owned()
        }

        fn draw_figures(&self) -> Vec<Figure> {
            vec![Figure { file: "1-a.svg", title: "Figure 1: a < b".to_owned(), svg: html!("<svg></svg>") }]
        }

        fn tables_text(&self) -> String {
            "a < b".to_owned()
        }

        fn csv_files(&self) -> Vec<(&'static str, String)> {
            Vec::new()
        }
    }

    #[test]
    fn a_page_has_all_parts_and_escapes_texts() {
        let html = Tried.page(&html!("<section id=\"choices\">edf</section>"));
        for part in [
            "<h1>On a &amp; b</h1>",
            "<p>3 hold.</p>",
            "<p>Names of numbers: a is the first, b the second.</p>",
            "<h2 id=\"verdicts\">Verdicts</h2>",
            "<a href=\"#choices\">Choices</a>",
            "<section id=\"choices\">edf</section>",
            "<svg></svg>",
            "aria-label=\"Figure 1: a &lt; b\"",
            "<figcaption><code>1-a.svg</code></figcaption>",
            "<pre>a &lt; b</pre>",
            "<li>the seeds</li>",
            "hansa reproduce x --full",
        ] {
            assert!(html.contains(part), "{part} is not in {html}");
        }
    }
}
