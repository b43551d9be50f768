//! Progress of a run, and the explanation of a lost or stalled one: the lost member, or those that the run waits for.

use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::super::Failure;
use super::super::quic::{Close, WireError};
use super::super::sanitize::mark_reported;
use super::leaf_link::{LeafLink, LinkError, Unmoved};
use hansa_sim::kernel::{self, Hub};
use hansa_sim::protocol::{Message, Record};
use hansa_sim::settings::format_counted;
use hansa_sim::time::Time;

/// Bytes besides frames, beyond the overhead of packets.
const NO_FRAMES: u64 = 1 << 20;

/// A run without events counts as creeping if virtual time is this many times slower than real time.
const CREEP: u128 = 1000;

/// Progress of a run by every measure that may be waited for.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Reached {
    pub run: kernel::Progress,
    /// Bytes of loads.
    pub carried: u64,
    /// Virtual time in us that the external clocks of all leaves have passed, by their own reports.
    pub clocks: u64,
}

impl Reached {
    /// True if the run has progressed since `before`, which is this long ago. Frames without news do not count, nor
    /// does virtual time that creeps without events.
    pub fn is_beyond(&self, before: &Reached, after: Duration) -> bool {
        let run = &self.run;
        let then = &before.run;
        if run.events > then.events || run.leaves_finished > then.leaves_finished || self.carried > before.carried {
            return true;
        }
        if self.clocks > before.clocks && !is_creeping(self.clocks - before.clocks, after) {
            return true;
        }
        let gained = run.safe.time.micros().saturating_sub(then.safe.time.micros());
        run.safe > then.safe && (run.received > then.received || !is_creeping(gained, after))
    }
}

/// Virtual time in us that the external clocks of all leaves have passed.
pub(super) fn sum_clocks(clocks: &[Arc<AtomicU64>]) -> u64 {
    clocks.iter().map(|clock| clock.load(Ordering::Relaxed)).fold(0, u64::saturating_add)
}

/// True if virtual time, of which this many us have passed in real time, creeps.
pub(super) fn is_creeping(gained: u64, after: Duration) -> bool {
    u128::from(gained) * CREEP < after.as_micros()
}

/// The failure of a lost leaf: its name, virtual time and reason.
pub(super) fn lost_leaf_failure(
    hub: &Hub<Message, Record>,
    links: &[LeafLink],
    leaf: usize,
    error: LinkError,
) -> Failure {
    if let LinkError::TooMuch { .. } = error {
        // The frame that exceeds the bound may be that of an honest member.
        let most = links.iter().max_by_key(|link| link.unmoved.kept).unwrap_or(&links[leaf]);
        let label = &most.label;
        let kept = most.unmoved.kept;
        return Failure::Breach(format!(
            "{label} floods the router at virtual time {}: {error}, and it has sent {kept} of them",
            hub.now()
        ));
    }
    // A member reports a failure of its program or actors itself, with the virtual time.
    if let LinkError::Wire(WireError::Closed { close: Some(close), reason }) = &error {
        let reported = || mark_reported(&links[leaf].label, reason);
        match close {
            Close::Failed => return Failure::Program(reported()),
            Close::Breach => return Failure::Breach(reported()),
            _ => {}
        }
    }
    explain_loss(hub, links, leaf, &error.to_string())
}

/// The failure of a lost leaf, for a reason from any source.
pub(super) fn explain_loss(hub: &Hub<Message, Record>, links: &[LeafLink], leaf: usize, why: &str) -> Failure {
    let standing = &hub.leaf_statuses()[leaf];
    let mut text = format!("lost {} at virtual time {}: {why}", links[leaf].label, hub.now().time);
    if let Some((name, stamp)) = standing.last_down {
        let _ = write!(text, "\n  last message to it: {name}, due there at {stamp}");
    }
    if let Some((name, stamp)) = standing.last_up {
        let _ = write!(text, "\n  last message from it: {name}, due here at {stamp}");
    }
    Failure::LostPeer { label: links[leaf].label.clone(), text }
}

pub(super) fn place_in_time(failure: Failure, hub: &Hub<Message, Record>, links: &[LeafLink]) -> Failure {
    match failure {
        Failure::LostPeer { label, text } => {
            let Some(leaf) = links.iter().position(|link| link.label == label) else {
                return Failure::LostPeer { label, text };
            };
            let standing = &hub.leaf_statuses()[leaf];
            let last = standing.last_up.map_or_else(String::new, |(name, stamp)| {
                format!("\n  last message from it: {name}, due here at {stamp}")
            });
            let text = format!("lost {label} at virtual time {}: {text}{last}", hub.now().time);
            Failure::LostPeer { label, text }
        }
        other => other,
    }
}

/// Names the leaves that block the run, with their promises and the last messages in both directions.
pub(super) fn explain_stall(hub: &Hub<Message, Record>, links: &[LeafLink], quiet_for: Duration) -> String {
    let mut text = format!(
        "no frame has moved for {} s: the router stands at {} and may not pass {}",
        quiet_for.as_secs_f64(),
        hub.now(),
        hub.safe_before()
    );
    // If leaves were asked for their records, the hub waits for these before it waits for promises.
    let asks = !hub.asked().is_empty();
    for (link, standing) in links.iter().zip(hub.leaf_statuses()) {
        let holds_up = match hub.finishing() {
            true => !standing.finished,
            false if asks => standing.asked.is_some(),
            false => standing.blocks,
        };
        if !holds_up {
            continue;
        }
        let _ = write!(text, "\n  it is waiting for {}, ", link.label);
        let _ = match (hub.finishing(), standing.asked) {
            (true, _) => write!(text, "which has not sent its last frame"),
            (false, Some((sent, asked))) => {
                write!(text, "which has sent its records before [{sent}] and has been asked for all before [{asked}]")
            }
            (false, None) if standing.granted > standing.floor => write!(
                text,
                "which has promised nothing from [{}] on; it may run up to [{}] and has not answered",
                standing.floor, standing.granted
            ),
            (false, None) => write!(
                text,
                "which has promised nothing from [{}] on and may itself run only up to [{}]",
                standing.floor, standing.granted
            ),
        };
        if let Some((name, stamp)) = standing.last_down {
            let _ = write!(text, "\n    last message to it: {name}, due there at [{stamp}]");
        }
        match standing.last_up {
            Some((name, stamp)) => {
                let _ = write!(text, "\n    last message from it: {name}, due here at [{stamp}]");
            }
            None => text.push_str("\n    it has never sent a message"),
        }
        let passed = link.clocks.load(Ordering::Relaxed);
        if passed > 0 {
            let passed = Time::from_micros(passed);
            let _ = write!(text, "\n    the clock of its Slurm has passed {passed} in all and stands still");
        }
        let Unmoved { frames, bytes, .. } = link.unmoved;
        let _ = write!(
            text,
            "\n    since its last progress report: {}, {}",
            format_counted(frames, "frame"),
            format_counted(bytes as u64, "byte")
        );
        if let Some((come, announced)) = link.receiver.partial_frame() {
            let _ = write!(text, "\n    and {come} of the {announced} bytes of an incomplete frame");
        }
        let other = link.connection.bytes_in().saturating_sub(link.bytes_up);
        if other > NO_FRAMES + link.bytes_up / 4 {
            let _ = write!(text, "\n    and {other} bytes in total that are not frames");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use hansa_sim::time::Stamp;

    #[test]
    fn time_that_creeps_is_no_progress_unless_something_happens_in_it() {
        let window = Duration::from_secs(3);
        let at = |micros, received, events, carried| Reached {
            run: kernel::Progress { safe: Stamp::at(Time::from_micros(micros)), events, received, leaves_finished: 0 },
            carried,
            clocks: 13,
        };
        let before = at(1_000_000, 5, 7, 11);
        assert!(!before.is_beyond(&before, window));
        assert!(!at(1_000_003, 5, 7, 11).is_beyond(&before, window), "a microsecond a second");
        assert!(!at(1_000_000, 9, 7, 11).is_beyond(&before, window), "records without end of one moment");
        assert!(at(1_000_003, 6, 7, 11).is_beyond(&before, window));
        assert!(at(1_003_000, 5, 7, 11).is_beyond(&before, window));
        assert!(at(1_000_000, 5, 8, 11).is_beyond(&before, window));
        assert!(at(1_000_000, 5, 7, 12).is_beyond(&before, window), "loads move");
        let passed = |clocks| Reached { clocks, ..before };
        assert!(!passed(16).is_beyond(&before, window), "a microsecond a second");
        assert!(passed(13 + 3_000).is_beyond(&before, window), "an external clock goes on");
    }
}
