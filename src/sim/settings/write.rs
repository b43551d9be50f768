//! Settings as text, with all defaults written out.

use std::collections::BTreeSet;

use super::forms::Shape;
use super::walk::{Key, Layout, Purpose, Slot, TableRows, Walk};

/// A page of TOML under construction.
pub struct TomlPage {
    text: String,
    /// Explanations written so far: each is written once, even for a thousand sites. None if there are no explanations.
    explained: Option<BTreeSet<String>>,
}

impl TomlPage {
    /// Creates a page with a line of explanation for every setting that has one.
    pub fn explained() -> TomlPage {
        TomlPage { text: String::new(), explained: Some(BTreeSet::new()) }
    }

    /// Creates a page of only the settings that affect a run.
    pub fn without_comments() -> TomlPage {
        TomlPage { text: String::new(), explained: None }
    }

    pub fn into_text(self) -> String {
        self.text
    }

    fn line(&mut self, key: &Key, value: &str, remark: Option<String>) {
        let setting = format!("{} = {value}", key.name);
        let about = match remark {
            Some(remark) => format!("{}: {remark}", key.about),
            None => key.about.to_owned(),
        };
        let is_new =
            !about.is_empty() && self.explained.as_mut().is_some_and(|explained| explained.insert(about.clone()));
        match is_new {
            true => self.text.push_str(&format!("{setting:32} # {about}\n")),
            false => self.text.push_str(&format!("{setting}\n")),
        }
    }

    fn leaves_out(&self, key: &Key) -> bool {
        key.unfit.is_some() || key.aside && self.explained.is_none()
    }
}

impl Walk for TomlPage {
    fn walk_purpose(&self) -> Purpose {
        Purpose::Write
    }

    fn walk_value(&mut self, key: &Key, slot: &mut dyn Slot) {
        if let Some(text) = slot.slot_text().filter(|_| !self.leaves_out(key)) {
            self.line(key, &text, slot.slot_remark());
        }
    }

    fn walk_tables(&mut self, key: &Key, layout: Layout, rows: &mut dyn TableRows) {
        if self.leaves_out(key) || rows.row_count() == 0 && key.need.is_none() {
            return;
        }
        match layout {
            Layout::Section(path) => {
                for index in 0..rows.row_count() {
                    self.text.push_str(&format!("\n[{path}]\n"));
                    rows.walk_row(index, self);
                }
            }
            Layout::Sections(path) => {
                for index in 0..rows.row_count() {
                    self.text.push_str(&format!("\n[[{path}]]\n"));
                    rows.walk_row(index, self);
                }
            }
            Layout::Inline => {
                let text = in_line(rows, 0);
                self.line(key, &text, None);
            }
            Layout::Lines => {
                self.text.push_str(&format!("{} = [\n", key.name));
                for index in 0..rows.row_count() {
                    self.text.push_str(&format!("    {},\n", in_line(rows, index)));
                }
                self.text.push_str("]\n");
            }
        }
    }

    fn walk_variants(
        &mut self,
        _: &'static str,
        _: &[&'static str],
        chosen: Option<usize>,
        inner: &mut dyn FnMut(usize, &mut dyn Walk),
    ) {
        inner(chosen.expect("a written variant has been chosen"), self);
    }

    fn key_read_elsewhere(&mut self, _: &Key, _: Shape) {}

    fn write_remark(&mut self, text: &str) {
        if self.explained.is_some() {
            self.text.push_str(&format!("# {text}\n"));
        }
    }
}

fn in_line(rows: &mut dyn TableRows, index: usize) -> String {
    let mut line = InlineTable { parts: Vec::new() };
    rows.walk_row(index, &mut line);
    format!("{{ {} }}", line.parts.join(", "))
}

/// A table in one line.
struct InlineTable {
    parts: Vec<String>,
}

impl Walk for InlineTable {
    fn walk_purpose(&self) -> Purpose {
        Purpose::Write
    }

    fn walk_value(&mut self, key: &Key, slot: &mut dyn Slot) {
        if let Some(text) = slot.slot_text().filter(|_| key.unfit.is_none()) {
            self.parts.push(format!("{} = {text}", key.name));
        }
    }

    fn walk_tables(&mut self, key: &Key, layout: Layout, rows: &mut dyn TableRows) {
        if layout == Layout::Lines && rows.row_count() > 0 {
            let tables: Vec<String> = (0..rows.row_count()).map(|index| in_line(rows, index)).collect();
            self.parts.push(format!("{} = [{}]", key.name, tables.join(", ")));
            return;
        }
        for index in 0..rows.row_count() {
            let text = in_line(rows, index);
            self.parts.push(format!("{} = {text}", key.name));
        }
    }

    fn walk_variants(
        &mut self,
        _: &'static str,
        _: &[&'static str],
        chosen: Option<usize>,
        inner: &mut dyn FnMut(usize, &mut dyn Walk),
    ) {
        inner(chosen.expect("a written variant has been chosen"), self);
    }

    fn key_read_elsewhere(&mut self, _: &Key, _: Shape) {}
}
