//! Shares of a sweep: every machine takes every n-th run, which spreads neighbours, as these take about as long.

use std::fmt;
use std::path::{Path, PathBuf};

use hansa_report::experiment::RUNS_MAX;

/// One of several shares, `2/4`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SweepPart {
    pub of: usize,
    /// Counts from 1.
    pub number: usize,
}

impl SweepPart {
    /// All runs, as one share.
    pub const WHOLE: SweepPart = SweepPart { of: 1, number: 1 };

    /// Reads `2/4`.
    pub fn parse(text: &str) -> Result<SweepPart, String> {
        SweepPart::parse_counted(text, 1)
    }

    /// Reads `1/4`, counted from 0.
    pub fn parse_from_zero(text: &str) -> Result<SweepPart, String> {
        SweepPart::parse_counted(text, 0)
    }

    fn parse_counted(text: &str, first: usize) -> Result<SweepPart, String> {
        let parts = text.split_once('/').and_then(|(number, of)| Some((number.parse().ok()?, of.parse().ok()?)));
        let Some((number, of)) = parts.filter(|(_, of)| (1..=RUNS_MAX).contains(of)) else {
            return Err(format!("expected a share such as 2/4 (the second of four), of at most {RUNS_MAX}"));
        };
        let last = of - 1 + first;
        if !(first..=last).contains(&number) {
            return Err(format!("expected a share from {first}/{of} to {last}/{of}"));
        }
        Ok(SweepPart { number: number + 1 - first, of })
    }

    pub fn all_parts(of: usize) -> impl Iterator<Item = SweepPart> {
        (1..=of).map(move |number| SweepPart { number, of })
    }

    /// The numbers of its runs, of `count` in all; both count from 1. Gathering a thousand shares must not look at
    /// every run for each.
    pub fn run_numbers(self, count: usize) -> impl ExactSizeIterator<Item = usize> {
        (self.number..count + 1).step_by(self.of)
    }

    /// Folder of the rows of this share, for a sweep whose result goes to `out`.
    pub fn rows_folder(self, out: &Path) -> PathBuf {
        folder_of_parts(out).join(format!("{}-of-{}", self.number, self.of))
    }
}

impl fmt::Display for SweepPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.number, self.of)
    }
}

/// The folder beside the place of the whole, so that neither is in the other's way.
pub fn folder_of_parts(out: &Path) -> PathBuf {
    let mut name = out.as_os_str().to_owned();
    name.push(".parts");
    PathBuf::from(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_run_is_in_one_share() {
        for (of, count) in [(1, 0), (1, 5), (3, 5), (5, 5), (8, 29), (9, 5)] {
            let mut runs: Vec<usize> = SweepPart::all_parts(of).flat_map(|part| part.run_numbers(count)).collect();
            runs.sort_unstable();
            assert_eq!(runs, (1..=count).collect::<Vec<_>>(), "{of} shares");
        }
        assert_eq!(SweepPart::parse("2/4").unwrap().run_numbers(10).collect::<Vec<_>>(), [2, 6, 10]);
        assert_eq!(SweepPart::parse("4/4").unwrap().run_numbers(10).len(), 2);
        assert_eq!(SweepPart { of: 1_000, number: 999 }.run_numbers(usize::MAX - 1).nth(1), Some(1_999));
    }

    #[test]
    fn shares_are_read_strictly() {
        assert_eq!(SweepPart::parse("2/4"), Ok(SweepPart { number: 2, of: 4 }));
        assert_eq!(SweepPart::parse_from_zero("0/4"), Ok(SweepPart { number: 1, of: 4 }));
        assert_eq!(SweepPart::parse("0/4").unwrap_err(), "expected a share from 1/4 to 4/4");
        assert_eq!(SweepPart::parse("5/4").unwrap_err(), "expected a share from 1/4 to 4/4");
        assert_eq!(SweepPart::parse_from_zero("4/4").unwrap_err(), "expected a share from 0/4 to 3/4");
        for wrong in ["", "2", "/4", "2/", "2/0", "-1/4", "2/4/8", "a/b", "1/100001"] {
            assert!(SweepPart::parse(wrong).unwrap_err().starts_with("expected a share such as 2/4"), "{wrong}");
        }
        assert_eq!(SweepPart::parse("2/4").unwrap().to_string(), "2/4");
        assert_eq!(SweepPart::parse("2/4").unwrap().rows_folder(Path::new("out/x")), Path::new("out/x.parts/2-of-4"));
    }
}
