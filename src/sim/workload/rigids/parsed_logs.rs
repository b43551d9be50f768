//! Parsed logs, kept while many runs read one file.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::workload::rigid::Trace;

/// Most jobs of all kept logs together. A job takes some 30 bytes.
const JOBS_MAX: usize = 4_000_000;

static KEPT: Mutex<KeptLogs> = Mutex::new(KeptLogs { holders: 0, jobs: 0, logs: BTreeMap::new() });

struct KeptLogs {
    /// Number of living [`ParsedLogs`].
    holders: usize,
    jobs: usize,
    /// Logs by format and hash of the content.
    logs: BTreeMap<String, Arc<Trace>>,
}

/// Keeps the logs that are parsed while it lives, so that each file of a sweep is parsed once. Parsing is a pure
/// function of format and content, so no run can tell.
pub struct ParsedLogs(());

impl Default for ParsedLogs {
    fn default() -> ParsedLogs {
        lock().holders += 1;
        ParsedLogs(())
    }
}

impl Drop for ParsedLogs {
    fn drop(&mut self) {
        let mut kept = lock();
        kept.holders -= 1;
        if kept.holders == 0 {
            kept.logs.clear();
            kept.jobs = 0;
        }
    }
}

/// The log of a format and content, parsed by `parse` unless it is kept.
pub(super) fn parse_once(key: String, parse: impl FnOnce() -> Result<Trace, String>) -> Result<Arc<Trace>, String> {
    if let Some(trace) = lock().logs.get(&key) {
        return Ok(Arc::clone(trace));
    }
    let trace = Arc::new(parse()?);
    let mut kept = lock();
    let jobs = kept.jobs + trace.jobs.len();
    if kept.holders > 0 && jobs <= JOBS_MAX && !kept.logs.contains_key(&key) {
        kept.jobs = jobs;
        kept.logs.insert(key, Arc::clone(&trace));
    }
    Ok(trace)
}

fn lock() -> std::sync::MutexGuard<'static, KeptLogs> {
    // No holder panics half-way through a change.
    KEPT.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_is_parsed_once_while_parsed_logs_are_kept() {
        let parsed_logs = ParsedLogs::default();
        let mut parsed = 0;
        for _ in 0..3 {
            let key = "only of this test".to_owned();
            let trace = parse_once(key, || {
                parsed += 1;
                Ok(Trace { header: vec!["Version: 2.2".to_owned()], ..Trace::default() })
            });
            assert_eq!(trace.unwrap().header, ["Version: 2.2"]);
        }
        assert_eq!(parsed, 1);
        let wrong = parse_once("a wrong one".to_owned(), || Err("no log".to_owned()));
        assert_eq!(wrong.unwrap_err(), "no log");
        drop(parsed_logs);
    }
}
