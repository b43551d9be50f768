//! Page of a reproduction: figures, tables beside the paper's numbers, verdicts with the paper's words, and the set-up.

use super::plot::Figure;
use crate::html::{document_html, prose_html};
use crate::markup::{Html, html};

/// Contents of a page; texts are plain, `verdicts` is HTML.
pub struct Page<'a> {
    pub paper: &'static str,
    pub authors: &'static str,
    /// A line with the size of this reproduction and its counts of verdicts, then lines on the names of its numbers.
    pub head: &'a str,
    pub verdicts: &'a Html,
    /// Section on the choices that the paper leaves open; empty if there are none.
    pub choices: &'a Html,
    pub figures: &'a [Figure],
    pub tables: &'a str,
    /// Choices of the set-up that are not the paper's, and known differences.
    pub ours: &'a [&'a str],
    /// Command of the full form.
    pub full: &'static str,
    /// Page of the documentation with a section on the experiment.
    pub docs: &'static str,
}

impl Page<'_> {
    pub fn html(&self) -> String {
        let title = self.paper;
        let (counts, names) = self.head.split_once('\n').unwrap_or((self.head, ""));
        let mut body = html!(
            "<header><p class=\"kicker\">A reproduction by Hansa</p><h1>{title}</h1>\n<p class=\"lead\">{}</p>\n<p>{counts}</p>\n<p>{}</p>\n\
             <nav>{}<a href=\"#verdicts\">Verdicts</a><a href=\"#figures\">Figures</a><a href=\"#tables\">Tables</a>\
             <a href=\"#ours\">Set-up</a><a href=\"#full\">Full form</a></nav></header>\n",
            self.authors,
            // Broken into lines for a terminal.
            prose_html(names),
            if self.choices.is_empty() { Html::default() } else { html!("<a href=\"#choices\">Choices</a>") },
            counts = prose_html(counts),
            title = title
        );
        body += self.choices.clone();
        body += self.verdicts.clone();
        body += html!("<section><h2 id=\"figures\">Figures</h2>\n");
        for figure in self.figures {
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
            self.tables.trim()
        );
        self.ours.iter().for_each(|choice| body += html!("<li>{}</li>\n", prose_html(choice)));
        body += html!(
            "</ul></section>\n<section><h2 id=\"full\">The full form</h2>\n<pre>{}</pre>\n\
             <p>The section \"The paper's experiment\" of <code>{}</code> has more on both.</p></section>\n",
            self.full,
            self.docs
        );
        document_html(&format!("{title}: a reproduction by Hansa"), body)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_has_all_parts_and_escapes_texts() {
        let figures = [Figure { file: "1-a.svg", title: "Figure 1: a < b".to_owned(), svg: html!("<svg></svg>") }];
        let page = Page {
            paper: "On a & b",
            authors: "A, B",
            head: "3 hold.\nNames of numbers: a is the first,\nb the second.\n",
            verdicts: &html!("<section>verdicts</section>"),
            choices: &html!("<section id=\"choices\">edf</section>"),
            figures: &figures,
            tables: "a < b",
            ours: &["the seeds"],
            full: "hansa reproduce x --full",
            docs: "docs/x.md",
        };
        let html = page.html();
        for part in [
            "<h1>On a &amp; b</h1>",
            "<p>3 hold.</p>",
            "<p>Names of numbers: a is the first, b the second.</p>",
            "<section>verdicts</section>",
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
