//! "Why jobs waited": the stories of `hansa why` for the jobs that the page names.

use super::Page;
use super::html::{definition_list, format_counted};
use crate::markup::{Html, html};
use crate::present::why::{JobStory, SiteStays, StoryLine, StoryLines, story_anchor};
use crate::referee::tally::JobRow;

impl Page<'_> {
    /// The section; empty if no job waited.
    pub(super) fn stories_section(&self) -> Html {
        let jobs = self.tally.storied_jobs();
        if jobs.is_empty() {
            return Html::default();
        }
        let mut stories = Html::default();
        let stays = SiteStays::of(self.tally);
        for job in &jobs {
            let row = &self.tally.jobs[job];
            let task = (row.tasks.len() == 1).then_some(0);
            let story = JobStory::of(&stays, self.topology, row, task);
            stories += draw_story(&story_anchor(*job), &story.story_lines());
        }
        let all = self.results.jobs.submitted;
        let rest = match all.saturating_sub(jobs.len() as u64) {
            0 => Html::default(),
            _ => html!(" <code>hansa why DIR JOB</code> explains any of the {}.", format_counted(all, "job")),
        };
        html!(
            "<p>The longest waits, and the workflows that took longest, one story each.{rest}</p>\n{stories}",
            rest,
            stories
        )
    }

    /// The label of a job in the table of waits, as a link to its story if it waited.
    pub(super) fn story_link(&self, row: &JobRow, wait_micros: u64) -> Html {
        if wait_micros == 0 {
            return html!("{}", self.tally.label(row.job.id));
        }
        html!("<a href=\"#{}\">{}</a>", story_anchor(row.job.id), self.tally.label(row.job.id))
    }
}

/// A story that opens at its title. A link to its lines opens it, too.
fn draw_story(anchor: &str, story: &StoryLines) -> Html {
    let mut facts: Vec<(&str, Html)> = Vec::new();
    for StoryLine { label, text } in &story.lines {
        match facts.last_mut().filter(|_| label.is_empty()) {
            Some((_, before)) => *before += html!("<br/>{text}", text),
            None => facts.push((label, html!("{text}", text))),
        }
    }
    html!(
        "<details class=\"story\"><summary>{}</summary>\n<div id=\"{anchor}\">{}</div></details>\n",
        &story.title,
        definition_list(&facts),
        anchor
    )
}
