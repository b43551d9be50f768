//! Windows of a log as repetitions of an experiment.
//!
//! ```toml
//! [vary]
//! workload.0.repeat = { windows = 12, of = "14 d", warm_up = "2 d" }
//! # or a list: [{ from = "0 d", to = "14 d", warm_up = "2 d" }, { from = "30 d", to = "44 d" }]
//! ```
//!
//! A window sets `from`, `to`, `warm_up` and `cool_down` of its workload. Windows follow each other unless `every` says
//! otherwise.

use hansa_sim::settings::{
    Diagnostic, Diagnostics, Fields, Listed, Location, Maybe, POSITIVE_SPAN, Reader, SPAN, Table, Value, Walk,
    WrittenNode, format_counted, key, list_keys,
};
use hansa_sim::time::Span;

/// Last step of the key.
const REPEAT: &str = "repeat";

/// Most windows of a log.
const WINDOWS_MAX: u32 = 10_000;

/// True if a key of `[vary]` is the windows of a log.
pub(super) fn is_windows(key: &str) -> bool {
    let steps: Vec<&str> = key.split('.').collect();
    matches!(steps[..], ["workload", _, REPEAT])
}

/// A part of a log: the settings of one repetition.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct LogWindow {
    pub from: Span,
    pub to: Span,
    warm_up: Span,
    cool_down: Span,
}

/// Windows of equal length, one after the other.
struct WindowSeries {
    windows: u32,
    length: Span,
    from: Span,
    every: Option<Span>,
    warm_up: Span,
    cool_down: Span,
}

impl Default for WindowSeries {
    fn default() -> WindowSeries {
        let length = Span::ZERO;
        let from = Span::ZERO;
        let warm_up = Span::ZERO;
        let cool_down = Span::ZERO;
        WindowSeries { windows: 1, length, from, every: None, warm_up, cool_down }
    }
}

impl WindowSeries {
    fn walk(&mut self, w: &mut dyn Walk) {
        let windows = key("windows", "").means("the number of windows").need("the number of windows");
        w.set(windows, &mut self.windows, 1..=WINDOWS_MAX);
        let of = key("of", "").means("the length of a window").need("the length of a window, such as \"14 d\"");
        w.set(of, &mut self.length, POSITIVE_SPAN);
        let from = key("from", "").means("the start of the first window in the log").usual("the start of the log");
        w.set(from, &mut self.from, SPAN);
        let every =
            key("every", "").means("the time from the start of a window to the start of the next").usual("`of`");
        w.set(every, &mut self.every, Maybe(POSITIVE_SPAN));
        walk_margins(&mut self.warm_up, &mut self.cool_down, w);
    }

    fn log_windows(&self) -> impl Iterator<Item = LogWindow> + '_ {
        let every = self.every.unwrap_or(self.length).micros();
        (0..u64::from(self.windows)).map(move |number| {
            let from = Span::from_micros(self.from.micros().saturating_add(number.saturating_mul(every)));
            let to = Span::from_micros(from.micros().saturating_add(self.length.micros()));
            LogWindow { from, to, warm_up: self.warm_up, cool_down: self.cool_down }
        })
    }
}

fn walk_margins(warm_up: &mut Span, cool_down: &mut Span, w: &mut dyn Walk) {
    let about = "the time at the start of a window whose jobs run but count in no mean";
    w.set(key("warm_up", "").means(about).usual("none"), warm_up, SPAN);
    let about = "the time at the end of a window whose jobs run but count in no mean";
    w.set(key("cool_down", "").means(about).usual("none"), cool_down, SPAN);
}

/// Keys of windows that follow each other.
pub(super) fn window_keys() -> Vec<Listed> {
    list_keys(|w| WindowSeries::default().walk(w))
}

impl LogWindow {
    fn walk(&mut self, w: &mut dyn Walk) {
        let from = key("from", "").means("the start of the window in the log").usual("the start of the log");
        w.set(from, &mut self.from, SPAN);
        let to =
            key("to", "").means("the end of the window in the log").need("the end of the window, such as \"14 d\"");
        w.set(to, &mut self.to, POSITIVE_SPAN);
        walk_margins(&mut self.warm_up, &mut self.cool_down, w);
    }

    /// Name in tables.
    pub fn label(&self) -> String {
        let from = if self.from == Span::ZERO { "0 d".to_owned() } else { self.from.to_string() };
        format!("{from} to {}", self.to)
    }

    /// Keys of the workload, with their values as TOML.
    pub fn settings(&self) -> [(&'static str, String); 4] {
        let LogWindow { from, to, warm_up, cool_down } = self;
        let keys = [("from", from), ("to", to), ("warm_up", warm_up), ("cool_down", cool_down)];
        keys.map(|(key, span)| (key, format!("\"{span}\"")))
    }

    /// The part of the log whose jobs count, in microseconds.
    fn counted_part(&self) -> (u64, u64) {
        let from = self.from.micros().saturating_add(self.warm_up.micros());
        (from, self.to.micros().saturating_sub(self.cool_down.micros()))
    }
}

/// Reads a series of windows, or a list of windows, each with its place in the file.
pub(super) fn read_windows(node: &WrittenNode, key: &str, diagnostics: &Diagnostics) -> Vec<(Location, LogWindow)> {
    let wrong = |location: Location| {
        let message = "expected a table such as { windows = 12, of = \"14 d\", warm_up = \"2 d\" }, or a list of tables \
                       such as { from = \"0 d\", to = \"14 d\" }";
        diagnostics.add(Diagnostic::new(location, key, message));
    };
    match &node.value {
        Value::Table(table) => {
            let mut series = WindowSeries::default();
            read_table(table, diagnostics, |w| series.walk(w));
            series.log_windows().map(|window| (node.location, window)).collect()
        }
        Value::List(items) if !items.is_empty() => {
            let mut windows = Vec::new();
            for item in items {
                let Value::Table(table) = &item.value else {
                    wrong(item.location);
                    continue;
                };
                let mut window = LogWindow::default();
                read_table(table, diagnostics, |w| window.walk(w));
                windows.push((item.location, window));
            }
            windows
        }
        _ => {
            wrong(node.location);
            Vec::new()
        }
    }
}

fn read_table(table: &Table, diagnostics: &Diagnostics, walk: impl FnOnce(&mut dyn Walk)) {
    let fields = Fields::at_root(table, diagnostics);
    walk(&mut Reader::new(&fields));
    fields.finish();
}

/// Sentence about windows that share jobs which count; None if there are none. O(windows log windows).
pub(super) fn overlap_note(windows: &[LogWindow]) -> Option<String> {
    let mut sorted: Vec<&LogWindow> = windows.iter().collect();
    sorted.sort_by_key(|window| window.counted_part());
    let overlaps: Vec<(&&LogWindow, &&LogWindow)> = sorted
        .iter()
        .zip(sorted.iter().skip(1))
        .filter(|(one, next)| next.counted_part().0 < one.counted_part().1)
        .collect();
    let (one, next) = overlaps.first()?;
    let pairs = format_counted(overlaps.len() as u64, "pair");
    Some(format!(
        "{pairs} of windows overlap, first {} and {}: they share jobs that count, so they are no independent \
         repetitions, and intervals are too narrow",
        one.label(),
        next.label()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn days(number: u64) -> Span {
        Span::from_secs(number * 86_400)
    }

    #[test]
    fn windows_that_share_counted_jobs_are_reported() {
        let series = |every: u64, warm_up: u64| -> Vec<LogWindow> {
            let every = Some(days(every));
            let warm_up = days(warm_up);
            WindowSeries { windows: 3, length: days(14), every, warm_up, ..WindowSeries::default() }
                .log_windows()
                .collect()
        };
        assert_eq!(overlap_note(&series(14, 0)), None);
        // The warm-up of a window may lie in the one before.
        assert_eq!(overlap_note(&series(12, 2)), None);
        let note = overlap_note(&series(11, 2)).unwrap();
        assert!(note.starts_with("2 pairs of windows overlap, first 0 d to 14 d and 11 d to 25 d: "), "{note}");
    }
}
