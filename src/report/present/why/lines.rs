//! A story as labelled lines, for terminals and pages.

use std::fmt;

use hansa_sim::time::Time;

/// Columns of a label on a terminal.
const LABEL_WIDTH: usize = 14;

/// The lines of a story, under a title.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct StoryLines {
    pub title: String,
    pub lines: Vec<StoryLine>,
}

/// A line; one without a label continues the line before it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StoryLine {
    pub label: &'static str,
    pub text: String,
}

impl StoryLines {
    pub fn new(title: String) -> StoryLines {
        StoryLines { title, lines: Vec::new() }
    }

    pub fn add(&mut self, label: &'static str, text: impl Into<String>) {
        self.lines.push(StoryLine { label, text: text.into() });
    }

    /// Adds a line that continues the one before it.
    pub fn continue_line(&mut self, text: impl Into<String>) {
        self.add("", text);
    }
}

impl fmt::Display for StoryLines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.title)?;
        self.lines.iter().try_for_each(|line| writeln!(f, "{:<LABEL_WIDTH$}{}", line.label, line.text))
    }
}

/// A moment in words, in whole seconds.
pub(super) fn moment_words(seconds: f64) -> String {
    Time::from_micros((seconds * 1e6) as u64 / 1_000_000 * 1_000_000).to_string()
}
