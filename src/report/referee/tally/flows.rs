//! The flows of a tally, and their table.

use super::JobBook;
use crate::referee::transfers::FlowRow;
use hansa_sim::grid::EdgeId;
use hansa_sim::time::Time;

/// A flow that has ended, between two sites.
pub struct FinishedFlow<'a> {
    pub edge: EdgeId,
    pub from: &'a str,
    pub to: &'a str,
    pub bytes: u64,
    pub active: Time,
    pub ended: Time,
}

/// A flow that has ended, with its modelled duration.
pub struct TimedFlow<'a> {
    pub edge: EdgeId,
    pub from: &'a str,
    pub to: &'a str,
    pub bytes: u64,
    /// Virtual seconds.
    pub released: f64,
    pub seconds: f64,
}

impl JobBook {
    /// Modelled times of all flows that have ended, in order of release.
    pub fn timed(&self) -> impl Iterator<Item = TimedFlow<'_>> {
        self.transfers.rows.iter().filter_map(move |row| {
            Some(TimedFlow {
                edge: row.edge,
                from: self.site_name(row.from),
                to: self.site_name(row.to),
                bytes: row.bytes,
                released: row.released.micros() as f64 / 1e6,
                seconds: row.duration_seconds()?,
            })
        })
    }

    /// All flows that have ended.
    pub fn flows(&self) -> impl Iterator<Item = FinishedFlow<'_>> {
        self.transfers.rows.iter().filter_map(move |row| {
            let FlowRow { edge, from, to, bytes, active, ended, .. } = *row;
            Some(FinishedFlow {
                edge,
                from: self.site_name(from),
                to: self.site_name(to),
                bytes,
                active,
                ended: ended?,
            })
        })
    }

    fn site_name(&self, site: u32) -> &str {
        self.sites[site as usize].name.as_str()
    }

    /// The rows of the table that are known so far; each is returned once, and all others at the end.
    pub fn transfers_so_far(&mut self) -> &mut Vec<u8> {
        &mut self.transfers.text
    }

    /// Writes the rest of the table, in pieces of some kilobytes.
    pub fn transfers_csv<E>(&self, mut put: impl FnMut(&[u8]) -> Result<(), E>) -> Result<(), E> {
        let mut text = self.transfers.text.clone();
        for row in &self.transfers.rows {
            self.transfers.write(row, &self.sites, &mut text);
            if text.len() > 1 << 16 {
                put(&text)?;
                text.clear();
            }
        }
        put(&text)
    }
}
