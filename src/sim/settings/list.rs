//! List of all keys, with their meanings.

use super::forms::Shape;
use super::walk::{Key, Layout, Purpose, Slot, TableRows, Walk};

/// A key of a table.
#[derive(Clone, Debug)]
pub struct Listed {
    pub key: Key,
    pub what: What,
    /// Default; None if the key is required, or if the default is to have none.
    pub usual: Option<String>,
}

#[derive(Clone, Debug)]
pub enum What {
    Value(Shape),
    Table(Layout, Vec<Listed>),
    /// Keys that are allowed only if the key of this name has the value `word`.
    Variant {
        word: &'static str,
        keys: Vec<Listed>,
    },
}

/// All keys of a table; `walk` walks one with default values.
pub fn list_keys(walk: impl FnOnce(&mut dyn Walk)) -> Vec<Listed> {
    let mut lister = Lister { listed: Vec::new() };
    walk(&mut lister);
    lister.listed
}

struct Lister {
    listed: Vec<Listed>,
}

impl Walk for Lister {
    fn walk_purpose(&self) -> Purpose {
        Purpose::List
    }

    fn walk_value(&mut self, key: &Key, slot: &mut dyn Slot) {
        let usual = match (&key.need, key.usual) {
            (Some(_), _) => None,
            (None, Some(usual)) => Some(usual.to_owned()),
            (None, None) => slot.slot_text().map(|text| format!("`{text}`")),
        };
        self.listed.push(Listed { key: key.clone(), what: What::Value(slot.slot_shape()), usual });
    }

    fn walk_tables(&mut self, key: &Key, layout: Layout, rows: &mut dyn TableRows) {
        let listed = list_keys(|w| rows.add_row(w));
        let usual = key.usual.filter(|_| key.need.is_none()).map(str::to_owned);
        self.listed.push(Listed { key: key.clone(), what: What::Table(layout, listed), usual });
    }

    fn walk_variants(
        &mut self,
        key: &'static str,
        words: &[&'static str],
        _: Option<usize>,
        inner: &mut dyn FnMut(usize, &mut dyn Walk),
    ) {
        for (number, word) in words.iter().enumerate() {
            let keys = list_keys(|w| inner(number, w));
            let what = What::Variant { word, keys };
            self.listed.push(Listed { key: super::walk::key(key, ""), what, usual: None });
        }
    }

    fn key_read_elsewhere(&mut self, key: &Key, shape: Shape) {
        let usual = key.usual.map(str::to_owned);
        self.listed.push(Listed { key: key.clone(), what: What::Value(shape), usual });
    }
}
