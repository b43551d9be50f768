//! What crossed the links: a part of the summary, and `transfers.csv` with a row a flow, in order of release.
//!
//! | column | what |
//! | --- | --- |
//! | `job`, `edge` | whose data it was: its job, and the tasks that it went from and to, as `0-3` |
//! | `from`, `to` | the sites |
//! | `bytes` | its volume |
//! | `released`, `active`, `ended` | when it was asked for, when the latencies had elapsed, and when all of it was there, in seconds |
//! | `rate` | the effective rate in bytes a second: `bytes / (ended - released)` |
//! | `lone_rate` | the same, had it been alone on its links |
//! | `stretch` | how many times as long as alone it took |

use std::collections::BTreeMap;
use std::fmt::Write;

use serde::{Deserialize, Serialize};

use super::{Inconsistent, Tally};
use crate::grid::EdgeId;
use crate::network::{Link, LinkId, Paths};
use crate::time::Time;
use crate::topology::{Topology, paths};

/// All flows that have ended.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Carried {
    pub flows: u64,
    /// Those that were under way when the log ended.
    pub unfinished: u64,
    pub bytes: u64,
    /// Mean over flows that moved anything, in bytes a second.
    pub rate: Option<f64>,
    /// Mean over the same flows of how many times as long as alone they took.
    pub stretch: Option<f64>,
}

/// A flow that has ended, on its way over the links.
pub(super) struct Crossing<'a> {
    pub links: &'a [LinkId],
    pub bytes: u64,
    /// When all latencies had elapsed.
    pub active: Time,
    pub ended: Time,
}

/// Every flow of the run, and the network that it crossed.
#[derive(Clone, Debug)]
pub(super) struct Transfers {
    paths: Option<Paths>,
    rows: Vec<TransferRow>,
    numbers: BTreeMap<EdgeId, usize>,
}

#[derive(Clone, Debug)]
struct TransferRow {
    edge: EdgeId,
    from: u32,
    to: u32,
    bytes: u64,
    released: Time,
    active: Time,
    ended: Option<Time>,
}

impl Transfers {
    pub fn of(topology: &Topology) -> Transfers {
        let paths = topology.cables.is_some().then(|| paths(topology));
        Transfers { paths, rows: Vec::new(), numbers: BTreeMap::new() }
    }

    pub fn sent(
        &mut self,
        edge: EdgeId,
        (from, to): (u32, u32),
        bytes: u64,
        (released, active): (Time, Time),
    ) -> Result<(), Inconsistent> {
        if self.numbers.insert(edge, self.rows.len()).is_some() {
            return Err(Inconsistent::SentTwice(edge));
        }
        self.rows.push(TransferRow { edge, from, to, bytes, released, active, ended: None });
        Ok(())
    }

    pub fn delivered(&mut self, edge: EdgeId, now: Time) -> Result<(), Inconsistent> {
        let row = self.numbers.get(&edge).map(|number| &mut self.rows[*number]);
        let row = row.filter(|row| row.ended.is_none()).ok_or(Inconsistent::NotOnItsWay(edge))?;
        row.ended = Some(now);
        Ok(())
    }

    pub fn carried(&self) -> Option<Carried> {
        self.paths.as_ref()?;
        let ended = || self.rows.iter().filter(|row| row.ended.is_some());
        let mean = |what: &dyn Fn(&TransferRow) -> Option<f64>| {
            let (count, sum) = ended().filter_map(what).fold((0.0, 0.0), |(count, sum), one| (count + 1.0, sum + one));
            (count > 0.0).then_some(sum / count)
        };
        Some(Carried {
            flows: ended().count() as u64,
            unfinished: (self.rows.len() - ended().count()) as u64,
            bytes: ended().map(|row| row.bytes).sum(),
            rate: mean(&|row| row.rate()),
            stretch: mean(&|row| self.stretch(row)),
        })
    }

    /// The links, and what crossed them in order of release; nothing, if there are none.
    pub fn crossings(&self) -> Option<(&[Link], impl Iterator<Item = Crossing<'_>>)> {
        let paths = self.paths.as_ref()?;
        let crossing = move |row: &TransferRow| {
            let links = paths.route(row.from as usize, row.to as usize);
            Some(Crossing { links, bytes: row.bytes, active: row.active, ended: row.ended? })
        };
        Some((&paths.links, self.rows.iter().filter_map(crossing)))
    }

    /// What the flow would have taken alone, in seconds.
    fn alone(&self, row: &TransferRow) -> Option<f64> {
        let paths = self.paths.as_ref()?;
        let (from, to) = (row.from as usize, row.to as usize);
        let rate = paths.bandwidth(from, to, |link| link.effective(1));
        let seconds = (paths.latency(from, to) + row.bytes as f64 / rate) / 1e6;
        (row.bytes > 0 && seconds > 0.0).then_some(seconds)
    }

    fn stretch(&self, row: &TransferRow) -> Option<f64> {
        Some(row.seconds()? / self.alone(row)?)
    }
}

impl TransferRow {
    fn seconds(&self) -> Option<f64> {
        Some(self.ended?.since(self.released).micros() as f64 / 1e6)
    }

    fn rate(&self) -> Option<f64> {
        let seconds = self.seconds()?;
        (self.bytes > 0 && seconds > 0.0).then(|| self.bytes as f64 / seconds)
    }
}

/// A flow that has ended.
pub(super) struct Timed<'a> {
    pub edge: EdgeId,
    pub from: &'a str,
    pub to: &'a str,
    pub bytes: u64,
    /// Virtual seconds.
    pub released: f64,
    pub seconds: f64,
}

const HEADER: &str = "job,edge,from,to,bytes,released,active,ended,rate,lone_rate,stretch\n";

impl Tally {
    /// What the model says of all flows that have ended, in order of release.
    pub(super) fn timed(&self) -> impl Iterator<Item = Timed<'_>> {
        let name = |site: u32| self.sites[site as usize].name.as_str();
        self.transfers.rows.iter().filter_map(move |row| {
            Some(Timed {
                edge: row.edge,
                from: name(row.from),
                to: name(row.to),
                bytes: row.bytes,
                released: row.released.micros() as f64 / 1e6,
                seconds: row.seconds()?,
            })
        })
    }

    /// Writes the table in pieces of some kilobytes.
    pub fn transfers_csv<E>(&self, mut put: impl FnMut(&[u8]) -> Result<(), E>) -> Result<(), E> {
        let mut text = HEADER.to_owned();
        for row in &self.transfers.rows {
            let TransferRow { edge, bytes, released, active, ended, .. } = row;
            let [from, to] = [row.from, row.to].map(|site| &self.sites[site as usize].name);
            let ended = ended.map_or(String::new(), seconds);
            let rounded = |number: Option<f64>| number.map_or(String::new(), |number| format!("{number:.3}"));
            let lone = self.transfers.alone(row).map(|alone| *bytes as f64 / alone);
            let numbers = [row.rate(), lone, self.transfers.stretch(row)].map(rounded).join(",");
            let (released, active) = (seconds(*released), seconds(*active));
            let (job, first, last) = (edge.job, edge.from, edge.to);
            writeln!(text, "{job},{first}-{last},{from},{to},{bytes},{released},{active},{ended},{numbers}")
                .expect("a string takes all that is written");
            if text.len() > 1 << 16 {
                put(text.as_bytes())?;
                text.clear();
            }
        }
        put(text.as_bytes())
    }
}

fn seconds(time: Time) -> String {
    let (whole, micros) = (time.micros() / 1_000_000, time.micros() % 1_000_000);
    let text = format!("{whole}.{micros:06}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}
