//! Log fields without a counterpart in Batsim: written as an additional key, and restored by our reader.

use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};

use super::loose::{Loose, seconds_span};
use crate::time::Span;
use crate::workload::rigid::{Kilobytes, Rigid, SHORTEST};

/// The key may have another meaning in files of others.
#[derive(Default, Deserialize)]
#[serde(untagged)]
pub enum MaybeLogged {
    Ours(Box<Logged>),
    #[default]
    Missing,
    Other(IgnoredAny),
}

/// Log fields of a job without a counterpart in Batsim, which ignores them.
#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Logged {
    #[serde(skip_serializing_if = "Option::is_none")]
    wait_time: Option<f64>,
    /// The next three are present where Batsim gets a different value: a time above zero, the number of nodes that the
    /// job got, or nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    run_time: Option<f64>,
    /// Requested number of processors; -1 if it is unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    requested: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    requested_time: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    allocated: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cpu_time: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    memory_used: Option<Amount>,
    #[serde(skip_serializing_if = "Option::is_none")]
    memory_requested: Option<Amount>,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    user: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    group: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    executable: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    queue: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    partition: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    preceding: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    think_time: Option<f64>,
}

impl Logged {
    pub fn of_job(job: &Rigid) -> Logged {
        Logged {
            wait_time: span_seconds(job.wait),
            run_time: span_seconds(job.runtime.filter(|runtime| runtime.is_zero())),
            requested: match job.requested {
                None => Some(-1),
                Some(0) => Some(0),
                Some(_) => None,
            },
            requested_time: span_seconds(job.requested_time.filter(|time| time.is_zero())),
            allocated: job.allocated,
            cpu_time: span_seconds(job.cpu_time),
            memory_used: job.memory_used.map(Amount::of_memory),
            memory_requested: job.memory_requested.map(Amount::of_memory),
            status: job.status,
            user: job.user,
            group: job.group,
            executable: job.executable,
            queue: job.queue,
            partition: job.partition,
            preceding: job.preceding,
            think_time: span_seconds(job.think),
        }
    }

    /// The job as its log has it. Batsim's own fields count where they have been changed since.
    pub fn complete(&self, job: Rigid) -> Rigid {
        let ran_for_none = self.run_time == Some(0.0) && job.runtime == Some(SHORTEST);
        let asked_for_none = self.requested_time == Some(0.0) && job.requested_time.is_none();
        Rigid {
            runtime: if ran_for_none { Some(Span::ZERO) } else { job.runtime },
            requested: match self.requested {
                Some(-1) if self.allocated == job.requested => None,
                Some(0) if self.allocated == job.requested => Some(0),
                _ => job.requested,
            },
            requested_time: if asked_for_none { Some(Span::ZERO) } else { job.requested_time },
            wait: optional_span(self.wait_time),
            allocated: self.allocated,
            cpu_time: optional_span(self.cpu_time),
            memory_used: self.memory_used.and_then(Amount::kilobytes),
            memory_requested: self.memory_requested.and_then(Amount::kilobytes),
            status: self.status,
            user: self.user,
            group: self.group,
            executable: self.executable,
            queue: self.queue,
            partition: self.partition,
            preceding: self.preceding,
            think: optional_span(self.think_time),
            ..job
        }
    }
}

fn span_seconds(span: Option<Span>) -> Option<f64> {
    span.map(|span| span.micros() as f64 / 1e6)
}

fn optional_span(seconds: Option<f64>) -> Option<Span> {
    seconds_span(&Loose::Number(seconds?))
}

/// An amount of memory in kilobytes.
#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(untagged)]
enum Amount {
    Whole(u64),
    Part(f64),
}

impl Amount {
    fn of_memory(memory: Kilobytes) -> Amount {
        match memory.millionths() {
            whole if whole.is_multiple_of(1_000_000) => Amount::Whole(memory.whole_kilobytes()),
            part => Amount::Part(part as f64 / 1e6),
        }
    }

    /// The amount; None for values that no log can contain.
    fn kilobytes(self) -> Option<Kilobytes> {
        let millionths = match self {
            Amount::Whole(whole) => whole.checked_mul(1_000_000)?,
            Amount::Part(part) => Some((part * 1e6).round()).filter(|part| (0.0..1e18).contains(part))? as u64,
        };
        Some(Kilobytes::from_millionths(millionths))
    }
}
