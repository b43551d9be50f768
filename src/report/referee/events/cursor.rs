//! A place in a line, from which what comes next is read.

use std::collections::BTreeMap;
use std::str::FromStr;

use serde::de::DeserializeOwned;

use super::Unreadable;

pub struct Cursor<'a> {
    pub text: &'a str,
    pub at: usize,
}

impl<'a> Cursor<'a> {
    pub fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    pub fn expected_error(&self, expected: impl Into<String>) -> Unreadable {
        Unreadable { column: self.at + 1, expected: expected.into() }
    }

    /// The error of a text that is not there.
    #[cold]
    fn literal_error(&self, before: &str, text: &str, after: &str) -> Unreadable {
        self.expected_error(format!("{before}{text}{after}"))
    }

    #[inline]
    pub fn accept(&mut self, literal: &str) -> bool {
        let here = self.rest().starts_with(literal);
        if here {
            self.at += literal.len();
        }
        here
    }

    #[inline]
    pub fn expect(&mut self, literal: &str) -> Result<(), Unreadable> {
        if self.accept(literal) { Ok(()) } else { Err(self.literal_error("`", literal, "`")) }
    }

    #[inline]
    pub fn is_at_key(&self, key: &str) -> bool {
        let after = self.rest().strip_prefix(",\"").and_then(|rest| rest.strip_prefix(key));
        after.is_some_and(|rest| rest.starts_with("\":"))
    }

    /// A comma, and a key with its colon.
    #[inline]
    pub fn key(&mut self, key: &str) -> Result<(), Unreadable> {
        if !self.is_at_key(key) {
            return Err(self.literal_error("`,\"", key, "\":`"));
        }
        self.at += key.len() + 4;
        Ok(())
    }

    /// A string that can be read as something.
    pub fn parsed<T>(&mut self, what: &str, parse: impl Fn(&str) -> Option<T>) -> Result<T, Unreadable> {
        let column = self.at + 1;
        parse(self.unquoted()?).ok_or_else(|| Unreadable { column, expected: what.to_owned() })
    }

    /// A string as it stands there, quotes and escapes included.
    pub fn read_string(&mut self) -> Result<&'a str, Unreadable> {
        let rest = self.rest();
        let mut escaped = false;
        let close = rest.bytes().skip(1).position(|byte| {
            let closes = byte == b'"' && !escaped;
            escaped = byte == b'\\' && !escaped;
            closes
        });
        match close {
            Some(close) if rest.starts_with('"') => {
                self.at += close + 2;
                Ok(&rest[..close + 2])
            }
            _ => Err(self.expected_error("a string")),
        }
    }

    pub fn unquoted(&mut self) -> Result<&'a str, Unreadable> {
        let string = self.read_string()?;
        Ok(&string[1..string.len() - 1])
    }

    pub fn read_digits(&mut self) -> &'a str {
        let rest = self.rest();
        let end = rest.bytes().position(|byte| matches!(byte, b',' | b'}' | b']')).unwrap_or(rest.len());
        self.at += end;
        &rest[..end]
    }

    pub fn read_number<T: FromStr>(&mut self) -> Result<T, Unreadable> {
        let before = self.at;
        self.read_digits().parse().map_err(|_| Unreadable { column: before + 1, expected: "a number".to_owned() })
    }

    pub fn read_seconds(&mut self) -> Result<u64, Unreadable> {
        let before = self.at;
        parse_micros(self.read_digits())
            .ok_or_else(|| Unreadable { column: before + 1, expected: "seconds with at most six decimals".to_owned() })
    }

    pub fn name<N: FromStr + TryFrom<u32>, T>(
        &mut self,
        names: &BTreeMap<String, u32>,
        of: fn(N) -> T,
        what: &str,
    ) -> Result<T, Unreadable> {
        if !self.rest().starts_with('"') {
            return Ok(of(self.read_number()?));
        }
        let before = self.at;
        let known = names.get(self.read_string()?).and_then(|number| N::try_from(*number).ok());
        known
            .map(of)
            .ok_or_else(|| Unreadable { column: before + 1, expected: format!("{what} that the manifest lists") })
    }

    /// Reads any type that has a JSON form.
    pub fn json<T: DeserializeOwned>(&mut self, what: &str) -> Result<T, Unreadable> {
        let mut values = serde_json::Deserializer::from_str(self.rest()).into_iter();
        match values.next() {
            Some(Ok(value)) => {
                self.at += values.byte_offset();
                Ok(value)
            }
            _ => Err(self.expected_error(what)),
        }
    }

    pub fn read_list<T>(
        &mut self,
        mut item: impl FnMut(&mut Self) -> Result<T, Unreadable>,
    ) -> Result<Vec<T>, Unreadable> {
        self.expect("[")?;
        let mut items = Vec::new();
        while !self.accept("]") {
            if !items.is_empty() {
                self.expect(",")?;
            }
            items.push(item(self)?);
        }
        Ok(items)
    }
}

/// Most digits of whole seconds whose microseconds fit for certain.
const PLAIN_DIGITS: usize = 12;

fn parse_micros(digits: &str) -> Option<u64> {
    let is_plain = (1..=PLAIN_DIGITS).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit());
    if is_plain {
        return Some(digits.bytes().fold(0, |number, digit| 10 * number + u64::from(digit - b'0')) * 1_000_000);
    }
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, "0"));
    if fraction.is_empty() || fraction.len() > 6 || !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let scale = 10u64.pow(6 - fraction.len() as u32);
    let fraction = fraction.parse::<u64>().ok()? * scale;
    whole.parse::<u64>().ok()?.checked_mul(1_000_000)?.checked_add(fraction)
}
