//! Reads written values into settings. Every error is reported, and a faulty setting keeps its default, so that reading
//! can continue with the next one.

use super::fields::{Field, Fields};
use super::forms::Shape;
use super::walk::{Key, Layout, Purpose, Slot, TableRows, Walk};
use super::written::Path;

/// Fills settings from a written table.
pub struct Reader<'a> {
    fields: &'a Fields<'a>,
}

impl<'a> Reader<'a> {
    pub fn new(fields: &'a Fields<'a>) -> Reader<'a> {
        Reader { fields }
    }

    /// Value written under a key, if the key is allowed here.
    fn written(&self, key: &Key) -> Option<Field<'_>> {
        // A key that is not allowed is not suggested either.
        if key.unfit.is_some() && !self.fields.has(key.name) {
            return None;
        }
        let field = self.fields.get(key.name);
        match (&field, &key.unfit, &key.need) {
            (Some(field), Some(why), _) => {
                field.complain(why.as_ref());
                return None;
            }
            (None, None, Some(expected)) => self.fields.missing(key.name, expected),
            _ => {}
        }
        field
    }
}

impl Walk for Reader<'_> {
    fn walk_purpose(&self) -> Purpose {
        Purpose::Read
    }

    fn walk_value(&mut self, key: &Key, slot: &mut dyn Slot) {
        if let Some(field) = self.written(key) {
            slot.read_field(&field);
        }
    }

    fn walk_tables(&mut self, key: &Key, layout: Layout, rows: &mut dyn TableRows) {
        let Some(field) = self.written(key) else { return };
        match layout {
            Layout::Section(_) | Layout::Inline => {
                let Some(fields) = field.table(expected_table(key, key.expects, layout)) else { return };
                rows.clear();
                rows.add_row(&mut Reader::new(&fields));
                fields.finish();
            }
            Layout::Sections(path) => {
                let Some(list) = field.list(format_args!("[[{path}]] tables, with two brackets")) else { return };
                if list.is_empty() {
                    field.complain(format!("expected at least one [[{path}]], found none"));
                }
                let section = Path::root(path);
                let expected = expected_table(key, key.each, layout);
                rows.clear();
                for field in &list {
                    let fields = if key.by_name { field.member(&section, &expected) } else { field.table(&expected) };
                    let Some(fields) = fields else { continue };
                    rows.add_row(&mut Reader::new(&fields));
                    fields.finish();
                }
            }
            Layout::Lines => {
                let Some(list) = field.list(key.expects) else { return };
                let expected = expected_table(key, key.each, layout);
                rows.clear();
                for field in &list {
                    let Some(fields) = field.table(&expected) else {
                        rows.add_placeholder();
                        continue;
                    };
                    rows.add_row(&mut Reader::new(&fields));
                    fields.finish();
                }
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
        if let Some(chosen) = chosen {
            inner(chosen, self);
        }
    }

    fn key_read_elsewhere(&mut self, key: &Key, _: Shape) {
        self.fields.get(key.name);
    }

    fn written_fields(&self) -> Option<&Fields<'_>> {
        Some(self.fields)
    }
}

fn expected_table(key: &Key, expected: &str, layout: Layout) -> String {
    match (expected, layout) {
        ("", Layout::Section(path)) => format!("a [{path}] table"),
        ("", Layout::Sections(path)) => format!("a [[{path}]] table"),
        ("", _) => format!("a table of {}", key.name),
        (expected, _) => expected.to_owned(),
    }
}
