//! Facts about the logs whose jobs queued.

use serde::{Deserialize, Serialize};

use crate::present::calendar::Calendar;
use hansa_sim::workload::rigids::{LogFile, Rigids};
use hansa_sim::workload::{Fault, LeftOut};

/// Counts of a log's entries, by use.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LogFacts {
    pub file: String,
    pub jobs: u64,
    /// Entries that cannot be read or run.
    pub left_out: u64,
    /// Entries that were not in order of time, and were sorted.
    pub put_in_order: u64,
    /// Jobs that follow a job which is missing, so that they do not wait for it.
    pub released: u64,
    /// Jobs outside of the topology's selection.
    pub outside: u64,
    /// Entries left out for reasons that many share.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub by_reason: Vec<LeftOut>,
    /// The first few of the other faults.
    pub faults: Vec<Fault>,
    /// A note that is no fault.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Time of day at virtual time zero in seconds, if its header says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_of_day: Option<f64>,
    /// Day of virtual time zero, counted from 1970-01-01, if its header says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_day: Option<i64>,
}

impl LogFacts {
    /// `None` for jobs that are from no log.
    pub fn of(rigids: &Rigids) -> Option<LogFacts> {
        let LogFile { path, .. } = rigids.origin.log()?;
        let faults = &rigids.content.faults;
        Some(LogFacts {
            file: path.clone(),
            jobs: rigids.count.into(),
            left_out: faults.left_out,
            put_in_order: faults.disordered,
            released: faults.released,
            outside: rigids.content.outside,
            by_reason: faults.by_reason.clone(),
            faults: faults.first.clone(),
            note: rigids.content.note(),
            time_of_day: rigids.content.time_of_day.map(|time| time.micros() as f64 / 1e6),
            start_day: rigids.content.start_day,
        })
    }

    /// Moment of virtual time zero in the log's local time, if it is known.
    pub fn start(&self) -> Option<Calendar> {
        let seconds = u64::try_from(self.start_day?).ok()?.checked_mul(86_400)? + self.time_of_day? as u64;
        Some(Calendar { start_micros: seconds.checked_mul(1_000_000)? })
    }
}

impl LogFacts {
    /// Numbers of special entries, with their kinds.
    pub fn special_counts(&self, released: &'static str) -> impl Iterator<Item = (u64, &'static str)> + use<> {
        let counts = [
            (self.left_out, "left out because they cannot be read or run"),
            (self.put_in_order, "put in order"),
            (self.released, released),
            (self.outside, "outside of the selected part of the log"),
        ];
        counts.into_iter().filter(|(count, _)| *count > 0)
    }
}
