//! Errors of a topology, with location, expected and found value, so that the user can correct them.

use std::cell::{OnceCell, RefCell};
use std::collections::BTreeMap;
use std::fmt::{self, Display, Write};

use serde::Serialize;

/// All errors of a topology, in the order of its files.
pub struct InvalidInput(Diagnostics);

/// Collects errors while a topology is read. An error of one location is reported once, however many sites or users are
/// made from it.
#[derive(Default)]
pub struct Diagnostics {
    sources: Vec<SourceText>,
    list: RefCell<BTreeMap<(Location, String), Diagnostic>>,
    /// Notes for the user that are not errors.
    notes: RefCell<Vec<String>>,
}

/// A text that contains settings.
pub struct SourceText {
    /// Path of a file; None for a flag of the command line.
    pub path: Option<String>,
    pub text: String,
    /// Offsets of its lines, computed at the first use.
    lines: OnceCell<Vec<usize>>,
}

impl SourceText {
    /// Line that contains an offset, counted from 1.
    fn line(&self, at: usize) -> usize {
        self.lines
            .get_or_init(|| [0].into_iter().chain(self.text.match_indices('\n').map(|(end, _)| end + 1)).collect())
            .partition_point(|begin| *begin <= at)
    }
}

/// Position in a source. A source as a whole sorts before all positions in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Location {
    source: u32,
    span: Option<(u32, u32)>,
}

/// One error.
pub struct Diagnostic {
    location: Location,
    /// Path of keys to the setting, such as `site.york.cores`.
    key: String,
    message: String,
    hints: Vec<String>,
    related: Option<(&'static str, Location)>,
}

/// One error, for programs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Rendered {
    /// Path of the file; None for the command line.
    pub file: Option<String>,
    /// Line and column, counted from 1; None if the error is about a file as a whole.
    pub line: Option<usize>,
    pub column: Option<usize>,
    pub key: Option<String>,
    pub message: String,
    pub hint: Option<String>,
}

/// Errors kept and shown at most: more are not readable, and a hostile file could cause millions.
const KEPT: usize = 1_000;
const SHOWN: usize = 50;

impl Location {
    pub fn whole_source(source: usize) -> Location {
        Location { source: source as u32, span: None }
    }

    pub fn of_span(source: usize, span: std::ops::Range<usize>) -> Location {
        Location { source: source as u32, span: Some((span.start as u32, span.end as u32)) }
    }

    pub fn source(self) -> usize {
        self.source as usize
    }

    /// Range in the source; empty for a source as a whole.
    pub fn span(self) -> std::ops::Range<usize> {
        self.span.map_or(0..0, |(start, end)| start as usize..end as usize)
    }
}

impl Diagnostics {
    pub fn add_source(&mut self, path: Option<String>, text: String) -> usize {
        self.sources.push(SourceText { path, text, lines: OnceCell::new() });
        self.sources.len() - 1
    }

    pub fn source(&self, index: usize) -> &SourceText {
        &self.sources[index]
    }

    /// Text at a location.
    pub fn text_at(&self, location: Location) -> &str {
        let text = &self.sources[location.source()].text;
        location.span.and_then(|(start, end)| text.get(start as usize..end as usize)).unwrap_or_default()
    }

    pub fn add(&self, diagnostic: Diagnostic) {
        let mut list = self.list.borrow_mut();
        if list.len() < KEPT {
            list.entry((diagnostic.location, diagnostic.message.clone())).or_insert(diagnostic);
        }
    }

    /// Withdraws the errors of a key at this location.
    pub fn withdraw(&self, location: Location, key: &str) {
        self.list.borrow_mut().retain(|(at, _), diagnostic| *at != location || diagnostic.key != key);
    }

    /// Adds a note that is not an error.
    pub fn note(&self, note: String) {
        self.notes.borrow_mut().push(make_printable(&note));
    }

    pub fn notes(&self) -> Vec<String> {
        self.notes.borrow().clone()
    }

    pub fn is_empty(&self) -> bool {
        self.list.borrow().is_empty()
    }

    /// True if further errors would be dropped.
    pub fn is_full(&self) -> bool {
        self.list.borrow().len() >= KEPT
    }

    /// Returns the value if there are no errors, and the errors otherwise.
    pub fn verdict<T>(self, value: Option<T>) -> Result<T, InvalidInput> {
        match value {
            Some(value) if self.list.borrow().is_empty() => Ok(value),
            _ => Err(InvalidInput(self)),
        }
    }
}

impl Diagnostic {
    pub fn new(location: Location, key: impl Display, message: impl Into<String>) -> Diagnostic {
        // The first line is the message; further lines are hints.
        let message = message.into();
        let mut lines = message.lines().map(|line| line.trim_start().to_owned());
        let message = lines.next().unwrap_or_default();
        Diagnostic { location, key: key.to_string(), message, hints: lines.collect(), related: None }
    }

    pub fn hint(mut self, hint: impl Into<String>) -> Diagnostic {
        self.hints.push(hint.into());
        self
    }

    /// Adds a hint, if there is one.
    pub fn hints(self, hint: Option<&'static str>) -> Diagnostic {
        match hint {
            Some(hint) => self.hint(hint),
            None => self,
        }
    }

    /// Suggests the name that was probably meant, if there is one.
    pub fn suggesting(self, name: Option<&str>) -> Diagnostic {
        match name {
            Some(name) => self.hint(format!("did you mean `{name}`?")),
            None => self,
        }
    }

    /// Adds another location that belongs to the error.
    pub fn with_related(mut self, what: &'static str, location: Location) -> Diagnostic {
        self.related = Some((what, location));
        self
    }
}

impl InvalidInput {
    /// All errors, for a program.
    pub fn rendered(&self) -> Vec<Rendered> {
        let list = self.0.list.borrow();
        // Errors are sorted by location, so each text is scanned only once.
        let mut source = usize::MAX;
        let mut at = 0;
        let mut line = 1;
        let mut column = 1;
        let render = |Diagnostic { location, key, message, hints, .. }: &Diagnostic| {
            let SourceText { path, text, .. } = &self.0.sources[location.source()];
            if location.source() != source {
                (source, at, line, column) = (location.source(), 0, 1, 1);
            }
            let start = text.floor_char_boundary(location.span().start).max(at);
            let passed = &text[at..start];
            line += passed.bytes().filter(|byte| *byte == b'\n').count();
            column = match passed.rfind('\n') {
                Some(end) => passed[end + 1..].chars().count() + 1,
                None => column + passed.chars().count(),
            };
            at = start;
            let is_somewhere = path.is_some() && location.span.is_some();
            Rendered {
                file: path.as_deref().map(make_printable),
                line: is_somewhere.then_some(line),
                column: is_somewhere.then_some(column),
                key: (!key.is_empty()).then(|| make_printable(key)),
                message: make_printable(message),
                hint: (!hints.is_empty()).then(|| make_printable(&hints.join("; "))),
            }
        };
        list.values().map(render).collect()
    }

    /// All errors, for a terminal: each with its line and a caret under the faulty part.
    pub fn render(&self, colour: bool) -> String {
        let paint = if colour {
            Paint { red: "\x1b[1;31m", blue: "\x1b[1;34m", bold: "\x1b[1m", off: "\x1b[0m" }
        } else {
            Paint::default()
        };
        let mut out = String::new();
        let list = self.0.list.borrow();
        for diagnostic in list.values().take(SHOWN) {
            self.0.write(&mut out, diagnostic, &paint).expect("a string takes all that is written");
        }
        if list.len() > SHOWN {
            let more = list.len() - SHOWN;
            let or_so = if list.len() == KEPT { "at least " } else { "" };
            out.push_str(&format!("... and {or_so}{more} more\n"));
        }
        out
    }
}

#[derive(Default)]
struct Paint {
    red: &'static str,
    blue: &'static str,
    bold: &'static str,
    off: &'static str,
}

impl Diagnostics {
    fn write(&self, out: &mut String, diagnostic: &Diagnostic, paint: &Paint) -> fmt::Result {
        let Paint { red, blue, bold, off } = paint;
        let Diagnostic { location, key, message, hints, related } = diagnostic;
        let colon = if key.is_empty() { "" } else { ": " };
        writeln!(out, "{red}error{off}{bold}: {}{colon}{}{off}", make_printable(key), make_printable(message))?;

        let spot = self.find_spot(*location);
        let number = match &spot {
            Some(spot) if self.sources[location.source()].path.is_some() => spot.line.to_string(),
            _ => " ".to_owned(),
        };
        let margin = " ".repeat(number.len());
        writeln!(out, "{margin}{blue}-->{off} {}", self.locate(*location))?;
        if let Some(Spot { shown, indent, width, .. }) = &spot {
            let before = " ".repeat(*indent);
            let carets = "^".repeat(*width);
            writeln!(out, "{margin} {blue}|{off}")?;
            writeln!(out, "{blue}{number} |{off} {shown}")?;
            writeln!(out, "{margin} {blue}|{off} {before}{red}{carets}{off}")?;
        }
        if let Some((what, location)) = related {
            writeln!(out, "{margin} {blue}={off} {what} at {}", self.locate(*location))?;
        }
        for hint in hints {
            writeln!(out, "{margin} {blue}={off} {}", make_printable(hint))?;
        }
        writeln!(out)
    }

    pub fn locate(&self, location: Location) -> String {
        match (&self.sources[location.source()].path, self.find_spot(location)) {
            (Some(path), Some(spot)) => format!("{}:{}:{}", make_printable(path), spot.line, spot.column),
            (Some(path), None) => make_printable(path),
            (None, _) => "the command line".to_owned(),
        }
    }

    /// Line, column and excerpt of a location. O(text) for the first location of a source, so this is called only for
    /// errors that are shown.
    fn find_spot(&self, location: Location) -> Option<Spot> {
        let text = &self.sources[location.source()].text;
        let (start, end) = location.span?;
        let start = text.floor_char_boundary(start as usize);
        let end = text.ceil_char_boundary(end as usize).max(start);

        let line_start = text[..start].rfind('\n').map_or(0, |at| at + 1);
        let line_end = text[start..].find('\n').map_or(text.len(), |at| start + at);
        let line = text[line_start..line_end].trim_end_matches('\r');
        let before = text[line_start..start].chars().count();
        let width = text[start..end.min(line_end)].trim_end_matches(['\r', '\n']).chars().count().max(1);

        // Of a very long line only the part around the caret is shown.
        let skipped = if before + width > WIDEST { before.saturating_sub(WIDEST / 3) } else { 0 };
        let mut shown: String = if skipped > 0 { "...".to_owned() } else { String::new() };
        let indent = before - skipped + shown.len();
        let mut rest = line.chars().skip(skipped);
        shown.extend(rest.by_ref().take(WIDEST));
        if rest.next().is_some() {
            shown.push_str("...");
        }
        Some(Spot {
            line: self.sources[location.source()].line(line_start),
            column: before + 1,
            shown: make_printable(&shown),
            indent,
            width: width.min(WIDEST - (before - skipped).min(WIDEST - 1)),
        })
    }
}

const WIDEST: usize = 120;

/// Excerpt of a line, with the range to mark.
struct Spot {
    line: usize,
    column: usize,
    shown: String,
    indent: usize,
    width: usize,
}

/// Replaces characters that would move the caret or control the terminal. Also used for text from other files, such as
/// traces.
pub fn make_printable(text: &str) -> String {
    text.chars()
        .map(|c| match c {
            '\t' => ' ',
            c if is_unprintable(c) => char::REPLACEMENT_CHARACTER,
            c => c,
        })
        .collect()
}

/// True if a character moves the cursor, changes the direction of text or breaks a line, so that the text around it
/// would be displayed wrongly.
pub fn is_unprintable(letter: char) -> bool {
    letter.is_control()
        || matches!(letter, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
            | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
}

impl Display for InvalidInput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.render(false).trim_end())
    }
}

impl fmt::Debug for InvalidInput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Display::fmt(self, f)
    }
}

impl std::error::Error for InvalidInput {}
