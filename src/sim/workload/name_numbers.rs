//! Numbers for names of users, queues and partitions, which a log has by number.

use std::collections::BTreeMap;

use crate::settings::make_printable;

/// Names of one column, with a number for each in order of appearance.
#[derive(Default)]
pub(super) struct NameNumbers {
    numbers: BTreeMap<Vec<u8>, u32>,
}

impl NameNumbers {
    /// The number of a name, from 1; None for an empty one.
    pub fn number(&mut self, name: &[u8]) -> Option<u32> {
        if name.is_empty() {
            return None;
        }
        if let Some(number) = self.numbers.get(name) {
            return Some(*number);
        }
        let number = self.numbers.len() as u32 + 1;
        self.numbers.insert(name.to_owned(), number);
        Some(number)
    }

    /// Names by number, fit for a terminal.
    pub fn by_number(&self) -> BTreeMap<u32, String> {
        let shown = |name: &[u8]| make_printable(&String::from_utf8_lossy(name));
        self.numbers.iter().map(|(name, number)| (*number, shown(name))).collect()
    }

    /// Lines of a header that name them: `Queue: 1 normal`.
    pub fn lines(&self, title: &str) -> Vec<String> {
        self.by_number().into_iter().map(|(number, name)| format!("{title}: {number} {name}")).collect()
    }
}

/// Texts, with a number for each in order of appearance, from 0.
#[derive(Default)]
pub(super) struct TextNumbers {
    numbers: BTreeMap<String, u32>,
}

impl TextNumbers {
    pub fn number(&mut self, text: String) -> u32 {
        let next = self.numbers.len() as u32;
        *self.numbers.entry(text).or_insert(next)
    }

    /// All texts, in order of their numbers.
    pub fn into_texts(self) -> Vec<String> {
        let mut texts: Vec<(String, u32)> = self.numbers.into_iter().collect();
        texts.sort_unstable_by_key(|(_, number)| *number);
        texts.into_iter().map(|(text, _)| text).collect()
    }
}
