//! Upper limits of sizes in settings.

use crate::grid::SITE_TIMES_MAX;
use crate::protocol::codec::MESSAGE_MAX;

/// Most cores of a site, and of a task.
pub const CORES_MAX: u32 = 1 << 31;
/// Most tasks of a job: it travels as one message, so it cannot be of any size.
pub const TASKS_MAX: u32 = 100_000;
/// Most edges of a job.
pub const EDGES_MAX: usize = 1_000_000;
/// Most points of a curve.
pub const POINTS_MAX: usize = 10_000;
/// Size of the longest job in bytes: its tasks, edges and points of its curve, its run times by site, and the rest of
/// the job and its message.
const JOB_BYTES_MAX: usize = 26 * TASKS_MAX as usize + 19 * EDGES_MAX + 16 * POINTS_MAX + TIMES_BYTES_MAX + 256;
/// Size of the run times by site: the length of a row takes two more bytes from 251 times on.
const TIMES_BYTES_MAX: usize = 14 * SITE_TIMES_MAX + TASKS_MAX as usize + 2 * (SITE_TIMES_MAX / 251);
const _: () = assert!(JOB_BYTES_MAX <= MESSAGE_MAX);

/// Expectation for tasks that take more than [`crate::grid::LONGEST`].
pub const TOO_LONG_A_JOB: &str = "tasks that take less than 285 years together";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grid::{Curve, Edge, Job, JobId, Kind, Needs, SiteTime, SiteTimes, Staging, Task, Volumes, Worth};
    use crate::kernel::{ActorId, Down, Envelope, Instruction};
    use crate::protocol::{Enqueue, Message, codec};
    use crate::time::{Span, Stamp, Time};

    #[test]
    fn the_longest_job_fits_into_a_frame() {
        let task = Task::new(Span::MAX, u32::MAX, Kind(u16::MAX));
        let edge = Edge { from: u32::MAX, to: u32::MAX, data: u64::MAX };
        let curve = Curve::new(1.0, 2.0, &vec![(1.5, 0.5); POINTS_MAX]).unwrap();
        let time = SiteTime { site: ActorId(u32::MAX), runtime: Span::MAX };
        let row = |task: usize| vec![time; 251.min(SITE_TIMES_MAX.saturating_sub(251 * task))];
        let job = Job {
            id: JobId(u32::MAX),
            arrive: Time::NEVER,
            first_task: u32::MAX,
            tasks: vec![task; TASKS_MAX as usize],
            edges: vec![edge; EDGES_MAX],
            worth: Some(Worth { max: 1e300, curve }),
            times: SiteTimes::new((0..TASKS_MAX as usize).map(row).collect()),
        };
        let actor = ActorId(u32::MAX);
        let site = Some(actor);
        let kind = Some(Kind(u16::MAX));
        let think = Some(Span::MAX);
        let needs = Some(Needs::NODE);
        let volumes = Volumes { input: u64::MAX, output: u64::MAX };
        let staging = Some(Staging { volumes, home: u32::MAX });
        let message = Message::Enqueue(Enqueue { job: job.into(), site, kind, think, needs, staging });
        let length = codec::encoded_length(&message).unwrap();
        assert!(length <= JOB_BYTES_MAX && length > JOB_BYTES_MAX - 256, "{length}");
        let envelope = Envelope { arrival: Stamp::NEVER, from: actor, to: actor, number: u64::MAX, message };
        let down = Down { grant: Stamp::NEVER, then: Instruction::Run, mail: vec![envelope] };
        assert!(codec::encoded_length(&down).unwrap() < length + 100);
    }
}
