//! Records of a dump of `sacct`, in which nothing is escaped: a text may hold delimiters and line feeds.
//!
//! A line whose pieces all have the forms of their columns is a record. Others are aligned with the columns: of all
//! ways to give each column one piece, and each text one or more, such that all other columns get pieces of their form,
//! that with the fewest delimiters within texts is taken. A line that is no record alone belongs to the record before,
//! whose text goes on, or to the one that follows: whichever can be aligned. Lines that belong to neither, such as the
//! first one of a file that was cut, are reported.
//!
//! Cost: O(bytes) for lines without surprises, O(pieces * columns) for others.

use std::ops::Range;

use super::columns::{Form, Layout};

/// Longest record, in bytes, and most pieces of a line in addition to its columns.
const RECORD_MAX: usize = 1 << 18;
const EXTRA_PIECES_MAX: usize = 1 << 12;

/// A part of a dump, with the numbers of its lines, from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Entry<'a> {
    Record {
        line: u64,
        fields: &'a [&'a [u8]],
    },
    /// Lines that belong to no record. True if the file ends where one of them may go on.
    Lost {
        lines: Range<u64>,
        is_cut: bool,
    },
}

/// Passes each record, and each range of lines that are none, to `take`, in order.
pub fn read_records<E>(
    bytes: &[u8],
    first_line: u64,
    layout: &Layout,
    take: impl FnMut(Entry<'_>) -> Result<(), E>,
) -> Result<(), E> {
    let mut reader = RecordReader {
        bytes,
        layout,
        take,
        whole: None,
        pending: None,
        extended: Alignment::default(),
        fresh: Alignment::default(),
        fields: Vec::new(),
    };
    let mut start = 0;
    let mut number = first_line;
    while start < bytes.len() {
        let end = bytes[start..].iter().position(|byte| *byte == b'\n').map_or(bytes.len(), |length| start + length);
        reader.line(Line { number, start, end })?;
        start = end + 1;
        number += 1;
    }
    reader.close(true)
}

/// Number of these lines that are records, and of those whose texts have no delimiter.
pub fn count_records<'a>(lines: impl Iterator<Item = &'a [u8]>, layout: &Layout) -> (usize, usize) {
    let mut all = 0;
    let mut plain = 0;
    let mut pieces = Vec::new();
    for line in lines {
        pieces.clear();
        split(line, 0, &layout.delimiter, &mut pieces);
        if fit(line, &pieces, layout) {
            all += 1;
            plain += 1;
        } else if pieces.len() <= layout.forms.len() + EXTRA_PIECES_MAX && align_line(line, &pieces, layout).is_some() {
            all += 1;
        }
    }
    (all, plain)
}

#[derive(Clone, Copy)]
struct Line {
    number: u64,
    start: usize,
    /// Offset of the line feed.
    end: usize,
}

/// A record, with its first line, and its fields as ranges of bytes.
#[derive(Clone, Debug, Default)]
struct Whole {
    line: u64,
    bytes: Range<usize>,
    fields: Vec<Range<usize>>,
}

impl Whole {
    /// The last column with a value that is no text: a text before it cannot go on after the record.
    fn last_certain(&self, layout: &Layout) -> usize {
        self.fields.iter().zip(&layout.forms).rposition(|one| is_certain_field(&one)).unwrap_or(0)
    }
}

fn is_certain_field((field, form): &(&Range<usize>, &Form)) -> bool {
    !form.is_text() && !field.is_empty()
}

/// Lines that do not make a record yet.
#[derive(Clone, Debug)]
struct Pending {
    lines: Range<u64>,
    bytes: Range<usize>,
}

struct RecordReader<'b, 'l, F> {
    bytes: &'b [u8],
    layout: &'l Layout,
    take: F,
    /// The record read last, which may go on in pending lines.
    whole: Option<Whole>,
    pending: Option<Pending>,
    /// The record read last with the pending lines, if there are both.
    extended: Alignment,
    /// Alignment of the pending lines alone.
    fresh: Alignment,
    /// Scratch buffer, kept to avoid reallocation.
    fields: Vec<&'b [u8]>,
}

impl<'b, E, F: FnMut(Entry<'_>) -> Result<(), E>> RecordReader<'b, '_, F> {
    fn line(&mut self, line: Line) -> Result<(), E> {
        let text = &self.bytes[line.start..line.end];
        let mut fields = Vec::with_capacity(self.layout.forms.len());
        split(text, line.start, &self.layout.delimiter, &mut fields);
        if fit(self.bytes, &fields, self.layout) {
            return self.begin(line, fields);
        }
        if fields.len() > self.layout.forms.len() + EXTRA_PIECES_MAX || text.len() > RECORD_MAX {
            self.close(false)?;
            return (self.take)(Entry::Lost { lines: line.number..line.number + 1, is_cut: false });
        }
        if let Some(fields) = align_line(self.bytes, &fields, self.layout) {
            return self.begin(line, fields);
        }
        let mut alone = Alignment::default();
        alone.extend(self.bytes, &fields, self.layout);
        let begins = begins_record(self.bytes, &fields, self.layout) || alone.is_certain_start(self.layout);
        if begins && !self.completes_pending(&fields) {
            self.close(false)?;
        }
        self.keep_partial(line, &fields, alone)
    }

    /// True if a line ends the record of the pending lines.
    fn completes_pending(&self, line: &[Range<usize>]) -> bool {
        if self.pending.is_none() || self.extended.is_complete() {
            return false;
        }
        let mut joined = self.fresh.clone();
        joined.extend(self.bytes, line, self.layout);
        joined.is_complete()
    }

    /// Takes a line that is a complete record.
    fn begin(&mut self, line: Line, fields: Vec<Range<usize>>) -> Result<(), E> {
        // A text in the first column may have begun in the lines before.
        let is_first_text = self.layout.forms[0] == Form::Text;
        if is_first_text && self.pending.is_some() && !self.extended.is_complete() {
            let mut joined = std::mem::take(&mut self.fresh);
            let mut pieces = Vec::new();
            split(&self.bytes[line.start..line.end], line.start, &self.layout.delimiter, &mut pieces);
            joined.extend(self.bytes, &pieces, self.layout);
            if joined.is_complete()
                && let Some(pending) = self.pending.take()
            {
                return self.replace_whole(Whole {
                    line: pending.lines.start,
                    bytes: pending.bytes.start..line.end,
                    fields: joined.fields(self.layout),
                });
            }
        }
        self.close(false)?;
        self.whole = Some(Whole { line: line.number, bytes: line.start..line.end, fields });
        Ok(())
    }

    /// Keeps a line that is only a part of a record.
    fn keep_partial(&mut self, line: Line, pieces: &[Range<usize>], alone: Alignment) -> Result<(), E> {
        let begin = self.pending.as_ref().map_or(line.start, |pending| pending.bytes.start);
        if line.end - begin > RECORD_MAX {
            self.close(false)?;
        }
        match &mut self.pending {
            None => {
                self.pending = Some(Pending { lines: line.number..line.number + 1, bytes: line.start..line.end });
                self.fresh = alone;
                self.extended.clear();
                if let Some(whole) = &self.whole {
                    let mut all = Vec::new();
                    split(&self.bytes[whole.bytes.clone()], whole.bytes.start, &self.layout.delimiter, &mut all);
                    self.extended.extend(self.bytes, &all, self.layout);
                    self.extended.restrict(whole.last_certain(self.layout));
                }
            }
            Some(pending) => {
                pending.lines.end = line.number + 1;
                pending.bytes.end = line.end;
                self.fresh.extend(self.bytes, pieces, self.layout);
            }
        }
        if self.whole.is_some() {
            self.extended.extend(self.bytes, pieces, self.layout);
        }
        if self.fresh.is_complete()
            && let Some(pending) = self.pending.take()
        {
            let fields = self.fresh.fields(self.layout);
            let Pending { lines, bytes } = pending;
            return self.replace_whole(Whole { line: lines.start, bytes, fields });
        }
        let is_alive = self.fresh.is_alive() || self.whole.is_some() && self.extended.is_alive();
        if is_alive { Ok(()) } else { self.close(line.end == self.bytes.len()) }
    }

    /// Passes the record read last on, and keeps another one.
    fn replace_whole(&mut self, next: Whole) -> Result<(), E> {
        if let Some(whole) = self.whole.replace(next) {
            self.pass_on(&whole)?;
        }
        Ok(())
    }

    /// Passes on what has been read so far. `at_end` is true at the end of the file.
    fn close(&mut self, at_end: bool) -> Result<(), E> {
        let whole = self.whole.take();
        let Some(pending) = self.pending.take() else {
            return whole.map_or(Ok(()), |whole| self.pass_on(&whole));
        };
        match whole {
            Some(whole) if self.extended.is_complete() => {
                let bytes = whole.bytes.start..pending.bytes.end;
                let fields = self.extended.fields(self.layout);
                return self.pass_on(&Whole { bytes, fields, ..whole });
            }
            Some(whole) => self.pass_on(&whole)?,
            None => {}
        }
        // Empty lines, as at the end of a file, are no loss.
        if self.bytes[pending.bytes.clone()].trim_ascii().is_empty() {
            return Ok(());
        }
        let is_cut = at_end && !self.bytes.ends_with(b"\n");
        (self.take)(Entry::Lost { lines: pending.lines, is_cut })
    }

    fn pass_on(&mut self, whole: &Whole) -> Result<(), E> {
        self.fields.clear();
        self.fields.extend(whole.fields.iter().map(|field| trimmed_end(&self.bytes[field.clone()])));
        (self.take)(Entry::Record { line: whole.line, fields: &self.fields })
    }
}

/// A field without the carriage return of its line.
fn trimmed_end(field: &[u8]) -> &[u8] {
    field.strip_suffix(b"\r").unwrap_or(field)
}

/// Adds the pieces of a text between delimiters, as ranges of bytes after `offset`.
fn split(text: &[u8], offset: usize, delimiter: &[u8], pieces: &mut Vec<Range<usize>>) {
    let mut start = 0;
    let mut at = 0;
    let first = delimiter[0];
    while let Some(step) = text[at..].iter().position(|byte| *byte == first) {
        at += step;
        if text[at..].starts_with(delimiter) {
            pieces.push(offset + start..offset + at);
            at += delimiter.len();
            start = at;
        } else {
            at += 1;
        }
    }
    pieces.push(offset + start..offset + text.len());
}

/// True if each column has one of the pieces, which has its form.
fn fit(bytes: &[u8], pieces: &[Range<usize>], layout: &Layout) -> bool {
    pieces.len() == layout.forms.len()
        && pieces.iter().zip(&layout.forms).all(|(piece, form)| form.accepts(trimmed_end(&bytes[piece.clone()])))
}

/// The fields of a line that is a record alone, whose texts have delimiters. O(columns * delimiters in texts).
fn align_line(bytes: &[u8], pieces: &[Range<usize>], layout: &Layout) -> Option<Vec<Range<usize>>> {
    let columns = layout.forms.len();
    let extra = pieces.len().checked_sub(columns).filter(|extra| *extra > 0)?;
    let width = extra + 1;
    // For each column and number of delimiters within texts so far: true if the columns up to there have such pieces.
    let mut reached = vec![false; columns * width];
    for (column, form) in layout.forms.iter().enumerate() {
        let mut any = false;
        for used in 0..width {
            let before = if column == 0 { used == 0 } else { reached[(column - 1) * width + used] };
            any |= before;
            reached[column * width + used] = if form.is_text() {
                any
            } else {
                before && form.accepts(trimmed_end(&bytes[pieces[column + used].clone()]))
            };
        }
    }
    if !reached[columns * width - 1] {
        return None;
    }
    let mut fields = vec![0..0; columns];
    let mut used = extra;
    for column in (0..columns).rev() {
        let last = column + used;
        // A text takes as few pieces as it can, from the last one on.
        while layout.forms[column].is_text() && column > 0 && !reached[(column - 1) * width + used] {
            used -= 1;
        }
        let first = if column == 0 { 0 } else { column + used };
        fields[column] = pieces[first].start..pieces[last].end;
    }
    Some(fields)
}

/// True if the first pieces have the forms of their columns, up to an id and a time.
fn begins_record(bytes: &[u8], pieces: &[Range<usize>], layout: &Layout) -> bool {
    let first = pieces.get(..=layout.certain).unwrap_or_default();
    !first.is_empty()
        && first.iter().zip(&layout.forms).all(|(piece, form)| form.accepts(trimmed_end(&bytes[piece.clone()])))
}

/// Assignment of a piece to a column.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Step {
    #[default]
    Impossible,
    /// It is the first piece of the column.
    Begins,
    /// It belongs to a text that has begun before.
    GoesOn,
}

const IMPOSSIBLE: u32 = u32::MAX;

/// All alignments of pieces with the columns of a layout, by dynamic programming over pieces; more pieces can be added.
#[derive(Clone, Debug, Default)]
struct Alignment {
    pieces: Vec<Range<usize>>,
    /// The cheapest step into each column, for each piece.
    steps: Vec<Step>,
    /// Delimiters within texts if the last piece is in a column, for each column; and those before that piece.
    costs: Vec<u32>,
    costs_before: Vec<u32>,
}

impl Alignment {
    fn clear(&mut self) {
        self.pieces.clear();
        self.steps.clear();
        self.costs.clear();
    }

    /// Adds the pieces of a line. The first one continues the last piece so far, after a line feed.
    fn extend(&mut self, bytes: &[u8], line: &[Range<usize>], layout: &Layout) {
        let Some((first, others)) = line.split_first() else { return };
        let begin = match self.pieces.pop() {
            Some(last) => {
                self.steps.truncate(self.steps.len() - layout.forms.len());
                std::mem::swap(&mut self.costs, &mut self.costs_before);
                last.start
            }
            None => {
                self.costs = vec![IMPOSSIBLE; layout.forms.len()];
                self.costs_before = self.costs.clone();
                first.start
            }
        };
        self.add(bytes, begin..first.end, layout);
        others.iter().for_each(|piece| self.add(bytes, piece.clone(), layout));
    }

    fn add(&mut self, bytes: &[u8], piece: Range<usize>, layout: &Layout) {
        let text = trimmed_end(&bytes[piece.clone()]);
        std::mem::swap(&mut self.costs, &mut self.costs_before);
        let is_first = self.pieces.is_empty();
        let columns = layout.forms.len();
        let row = self.steps.len();
        self.steps.resize(row + columns, Step::Impossible);
        // The piece can be in the columns that the one before was in, or in the next.
        let low = self.costs_before.iter().position(is_possible).unwrap_or(columns);
        let high = self.costs_before.iter().rposition(is_possible).map_or(0, |last| last + 2);
        let window = if is_first { 0..1 } else { low..high.min(columns) };
        self.costs.fill(IMPOSSIBLE);
        for (column, form) in layout.forms.iter().enumerate().take(window.end).skip(window.start) {
            let begun = match column.checked_sub(1) {
                None => {
                    if is_first {
                        0
                    } else {
                        IMPOSSIBLE
                    }
                }
                Some(_) if is_first => IMPOSSIBLE,
                Some(before) => self.costs_before[before],
            };
            let within = if is_first || !form.is_text() { IMPOSSIBLE } else { self.costs_before[column] };
            let goes_on = within.saturating_add(1);
            let (cost, step) = match begun.min(goes_on) {
                IMPOSSIBLE => (IMPOSSIBLE, Step::Impossible),
                _ if goes_on < begun => (goes_on, Step::GoesOn),
                _ if form.accepts(text) => (begun, Step::Begins),
                _ => (IMPOSSIBLE, Step::Impossible),
            };
            self.costs[column] = cost;
            self.steps[row + column] = step;
        }
        self.pieces.push(piece);
    }

    /// Excludes alignments whose last piece is in a column up to this one.
    fn restrict(&mut self, last: usize) {
        self.costs[..=last].fill(IMPOSSIBLE);
        self.costs_before[..last].fill(IMPOSSIBLE);
    }

    /// True if the pieces make a complete record.
    fn is_complete(&self) -> bool {
        self.costs.last().is_some_and(|cost| *cost != IMPOSSIBLE)
    }

    /// True if more pieces may make them a record.
    fn is_alive(&self) -> bool {
        self.costs.iter().any(|cost| *cost != IMPOSSIBLE)
    }

    /// True if the line ends within a text of a record whose id and time it has.
    fn is_certain_start(&self, layout: &Layout) -> bool {
        let texts = self.costs.iter().zip(&layout.forms).skip(layout.certain);
        texts.into_iter().any(|(cost, form)| *cost != IMPOSSIBLE && *form == Form::Text)
    }

    /// The fields of a complete alignment: the range of each column.
    fn fields(&self, layout: &Layout) -> Vec<Range<usize>> {
        let columns = layout.forms.len();
        let mut fields = vec![0..0; columns];
        let mut column = columns - 1;
        let mut end = None;
        for (piece, steps) in self.pieces.iter().zip(self.steps.chunks_exact(columns)).rev() {
            let end_here = *end.get_or_insert(piece.end);
            if steps[column] == Step::Begins {
                fields[column] = piece.start..end_here;
                column = column.saturating_sub(1);
                end = None;
            }
        }
        fields
    }
}

fn is_possible(cost: &u32) -> bool {
    *cost != IMPOSSIBLE
}
