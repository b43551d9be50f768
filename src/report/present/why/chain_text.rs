//! The chain of a job as lines of text.

use std::fmt::Write as _;

use super::chain::{Cause, Chain, ChainLink};
use super::flow::{FlowStory, SharedFlow};
use super::lines::{StoryLines, moment_words};
use hansa_sim::numerals::{format_count, format_percent, format_span, format_volume};

/// Links that are printed.
const LINKS_SHOWN: usize = 60;

impl Cause {
    /// Noun for the total time of a cause.
    fn noun(self) -> &'static str {
        match self {
            Cause::Run => "running",
            Cause::Pause => "paused",
            Cause::Failure => "lost to failures",
            Cause::Preemption => "lost to preemptions",
            Cause::Cores => "waiting for cores",
            Cause::Dispatch => "on the way to sites",
            Cause::Transfer => "transfers",
            Cause::Report => "news of ends",
            Cause::Assignment => "waiting for an assignment",
        }
    }
}

impl Chain {
    /// Lines of the chain: sums by cause, then each link, the last one first.
    pub(super) fn add_lines(&self, lines: &mut StoryLines) {
        lines.add("submitted", moment_words(self.submitted));
        let after = format!("{}, after {}", moment_words(self.ended), format_span(self.turnaround));
        match self.complete {
            true => lines.add("ended", after),
            false => lines.add("ended", format!("not; the chain is that up to {after}")),
        }
        if self.critical_path > 0.0 {
            let times = self.turnaround / self.critical_path;
            let took = if self.complete { format!("; the job took {times:.2} times as long") } else { String::new() };
            lines.add("critical path", format!("{}{took}", format_span(self.critical_path)));
        }
        let share = |seconds: f64| format_percent(seconds / self.turnaround);
        let mut totals = String::new();
        for total in &self.causes {
            let separator = if totals.is_empty() { "" } else { ", " };
            let span = format_span(total.seconds);
            let _ = write!(totals, "{separator}{} {span} ({})", total.cause.noun(), share(total.seconds));
        }
        lines.add("of this", totals);
        for (index, link) in self.links.iter().take(LINKS_SHOWN).enumerate() {
            let label = if index == 0 { "from its end" } else { "" };
            lines.add(label, link.words(self.assigned_by));
            if let Some(competition) = link.transfer.as_ref().and_then(FlowStory::competition_words) {
                lines.continue_line(format!("  {competition}"));
            }
        }
        if let Some(more) = self.links.len().checked_sub(LINKS_SHOWN).filter(|more| *more > 0) {
            lines.continue_line(format!("and {} more before; --json has all", format_count(more as u64)));
        }
    }
}

impl ChainLink {
    fn words(&self, assigned_by: &str) -> String {
        let task = match &self.name {
            Some(name) => format!("task {} ({name})", self.task),
            None => format!("task {}", self.task),
        };
        let site = self.site.as_deref().unwrap_or("its site");
        let what = match self.cause {
            Cause::Run => format!("{task} ran at {site}"),
            Cause::Pause => format!("{task} was paused at {site}"),
            Cause::Failure => format!("{task} was lost at {site} and had to run again"),
            Cause::Preemption => format!("{task} left its cores at {site} to another job and had to run again"),
            Cause::Cores => format!("{task} waited for cores at {site}"),
            Cause::Dispatch => format!("{task} was on its way to {site}"),
            Cause::Report => format!("the end of {task} was on its way from {site}"),
            Cause::Assignment => format!("{task} waited for the {assigned_by} ({site})"),
            Cause::Transfer => match &self.transfer {
                Some(flow) => flow.words(&task),
                None => format!("data for {task} was on its way"),
            },
        };
        let freed = self.freed_by.as_ref().map_or(String::new(), |job| format!("; last to leave cores there: {job}"));
        format!("{}  {:<12} {what}{freed}", moment_words(self.from), format_span(self.seconds))
    }
}

impl FlowStory {
    fn words(&self, task: &str) -> String {
        let FlowStory { from, to, .. } = self;
        let volume = format_volume(self.bytes as f64);
        let source = match self.edge.split_once('-') {
            Some(("home", _)) | None => "the job's input".to_owned(),
            Some((source, _)) => format!("output of its task {source}"),
        };
        format!("{volume}, {source}, went from {from} to {to} for {task}")
    }

    /// The bottleneck and its other flows. None if no link slowed it down.
    fn competition_words(&self) -> Option<String> {
        let link = self.bottleneck.as_ref()?;
        let mut text = format!("limited by {link}");
        if let Some(alone) = self.alone {
            let _ = write!(text, "; alone it would have taken {}", format_span(alone));
        }
        if self.held_up > 0.0 {
            let _ = write!(text, "; links that were down held it up for {}", format_span(self.held_up));
        }
        for (index, SharedFlow { job, edge, seconds }) in self.shared_with.iter().enumerate() {
            if index == 0 {
                let _ = write!(text, "; {:.1} other transfers used it on average", self.others);
            }
            let _ = write!(text, ", {edge} of job {job} for {}", format_span(*seconds));
        }
        Some(text)
    }
}
