//! Random entries of logs.

use std::sync::Arc;

use proptest::prelude::*;

use hansa_sim::grid::{
    Area, BookingId, CableId, Curve, Edge, EdgeId, HoldId, Invalid, Job, JobId, JobShape, Kind, Needs, NodeSet, Offer,
    Part, Rate, Receipt, SiteTime, SiteTimes, Slot, Task, TaskId, Worth,
};
use hansa_sim::kernel::{ActorId, Entry};
use hansa_sim::protocol::{
    Bargain, BidOutcome, CoreOffer, Fault, HoldFate, LossReason, Reason, Record, Refusal, ReserveAnswer, TaskBid,
};
use hansa_sim::time::{Span, Stamp, Time};

prop_compose! {
    fn any_stamp()(micros in prop_oneof![0u64..5_000_000, any::<u64>()], step in prop_oneof![Just(0u32), any::<u32>()]) -> Stamp {
        Stamp { time: Time::from_micros(micros), step }
    }
}

prop_compose! {
    fn any_task()(micros in any::<u64>(), walltime in prop::option::of(any::<u64>()), cores in any::<u32>(), kind in prop_oneof![0u16..3, any::<u16>()]) -> Task {
        let task = Task::new(Span::from_micros(micros), cores, Kind(kind));
        Task { walltime: walltime.map_or(task.walltime, Span::from_micros), ..task }
    }
}

prop_compose! {
    fn any_worth()(max in 0.0..1e300f64, initial in 1e-6..4.0f64, width in 1e-3..9.0f64, mut points in prop::collection::vec((0.0..1.0f64, 0.0..1.0f64), 0..4)) -> Worth {
        points.sort_by(|left, right| left.0.total_cmp(&right.0));
        let mut values: Vec<f64> = points.iter().map(|point| point.1).collect();
        values.sort_by(|left, right| right.total_cmp(left));
        let points: Vec<(f64, f64)> = points.iter().zip(values).map(|(point, value)| (initial + width * point.0, value)).collect();
        Worth { max, curve: Curve::new(initial, initial + width, &points).unwrap() }
    }
}

prop_compose! {
    fn any_job()(
        numbers in any::<(u32, u64, u32)>(),
        tasks in prop::collection::vec(any_task(), 0..5),
        edges in prop::collection::vec(any::<(u32, u32, u64)>(), 0..4),
        worth in prop::option::of(any_worth()),
        rows in prop::collection::vec(prop::collection::btree_map(0u32..6, any::<u64>(), 0..3), 5),
    ) -> Job {
        let time = |(site, micros): (u32, u64)| SiteTime { site: ActorId(site), runtime: Span::from_micros(micros) };
        let rows = rows.into_iter().take(tasks.len()).map(|row| row.into_iter().map(time).collect());
        let times = SiteTimes::new(rows.collect());
        let edges = edges.into_iter().map(|(from, to, data)| Edge { from, to, data }).collect();
        Job { id: JobId(numbers.0), arrive: Time::from_micros(numbers.1), first_task: numbers.2, tasks, edges, worth, times }
    }
}

fn any_answer() -> impl Strategy<Value = ReserveAnswer> {
    let accepted = |(site, start, width): (u32, u64, u32)| ReserveAnswer::Accepted {
        site: ActorId(site),
        start: Time::from_micros(start),
        nodes: NodeSet::all(width),
    };
    prop_oneof![
        (0u32..6, any::<u64>(), 1u32..9).prop_map(accepted),
        Just(ReserveAnswer::Declined),
        (0..Invalid::ALL.len()).prop_map(|which| ReserveAnswer::Invalid(Invalid::ALL[which])),
    ]
}

fn any_record() -> impl Strategy<Value = Record> {
    let task = || any::<(u32, u32)>().prop_map(|(job, index)| TaskId { job: JobId(job), index });
    let actor = || prop_oneof![0u32..6, any::<u32>()].prop_map(ActorId);
    let cores = prop::collection::btree_set(0u32..40, 0..12).prop_map(|cores| {
        let text: Vec<String> = cores.into_iter().map(|core| (2 * core).to_string()).collect();
        NodeSet::parse(&text.join(" ")).unwrap()
    });
    let value = any::<f64>().prop_filter("a value is finite", |value| value.is_finite());
    prop_oneof![
        (any_job(), actor()).prop_map(|(job, user)| Record::Arrived { job: Arc::new(job), user }),
        (any_job(), actor()).prop_map(|(job, user)| Record::NotAdmitted { job: Arc::new(job), user }),
        (any_job(), actor(), any::<u32>()).prop_map(|(job, user, task)| Record::Refused {
            job: Arc::new(job),
            user,
            task
        }),
        (task(), actor()).prop_map(|(task, site)| Record::Assigned { task, site }),
        (task(), cores.clone()).prop_map(|(task, cores)| Record::Started { task, cores }),
        task().prop_map(|task| Record::Suspended { task }),
        (task(), cores.clone()).prop_map(|(task, cores)| Record::Resumed { task, cores }),
        (task(), cores.clone()).prop_map(|(task, cores)| Record::Moved { task, cores }),
        (task(), value.clone()).prop_map(|(task, share)| Record::Shared { task, share }),
        task().prop_map(|task| Record::Finished { task }),
        (any::<u32>(), prop::option::of(value)).prop_map(|(job, value)| Record::Completed { job: JobId(job), value }),
        any::<u32>().prop_map(|job| Record::Removed { job: JobId(job) }),
        (any::<u32>(), any::<(u32, u32)>(), any_answer()).prop_map(|(job, (ready, slack), answer)| {
            let ready = Time::from_micros(ready.into());
            let deadline = Time::from_micros(slack.into());
            Record::Answered { job: JobId(job), ready, deadline, answer }
        }),
        any::<u32>().prop_map(|job| Record::Cancelled { job: JobId(job) }),
        (any_job(), actor(), 0..Invalid::ALL.len()).prop_map(|(job, user, why)| Record::Rejected {
            job: Arc::new(job),
            user,
            why: Invalid::ALL[why]
        }),
        task().prop_map(|task| Record::Killed { task }),
        (task(), cores.clone()).prop_map(|(task, cores)| Record::Stacked { task, cores }),
        (any::<u32>(), 0.0..=1.0, 0.0..=1.0f64)
            .prop_map(|(job, cpu, memory)| { Record::Needs { job: JobId(job), needs: Needs { cpu, memory } } }),
        (any_edge(), 0u32..6, 0u32..6, any::<u64>(), any::<u32>()).prop_map(|(edge, from, to, bytes, active)| {
            let active = Time::from_micros(active.into());
            Record::Sent { edge, from: ActorId(from), to: ActorId(to), bytes, active }
        }),
        (any_edge(), any::<[u8; 3]>(), any::<u64>(), any::<u32>()).prop_map(|(edge, ends, bytes, active)| {
            let [user, from, to] = ends.map(|end| ActorId((end % 6).into()));
            let active = Time::from_micros(active.into());
            Record::Shipped { user, edge, from, to, bytes, active }
        }),
        any_edge().prop_map(|edge| Record::Delivered { edge }),
        task().prop_map(|task| Record::Withdrawn { task }),
        any_bargain(),
        any_failure(),
    ]
}

/// Records of nodes and links that fail.
fn any_failure() -> impl Strategy<Value = Record> {
    let task = || any::<(u32, u32)>().prop_map(|(job, index)| TaskId { job: JobId(job), index });
    let time = || any::<u32>().prop_map(|micros| Time::from_micros(micros.into()));
    let span = || any::<u64>().prop_map(Span::from_micros);
    let job = || any::<u32>().prop_map(JobId);
    let cores = || (1u32..9).prop_map(NodeSet::all);
    let link = || (0u32..3).prop_map(CableId);
    prop_oneof![
        (cores(), time()).prop_map(|(cores, since)| Record::Down { cores, since }),
        (cores(), time()).prop_map(|(cores, since)| Record::Up { cores, since }),
        (task(), span()).prop_map(|(task, saved)| Record::Lost { task, saved }),
        (task(), any::<u64>(), span()).prop_map(|(task, times, spent)| Record::Checkpointed { task, times, spent }),
        (job(), 0u32..6, time(), time(), cores()).prop_map(|(job, site, start, until, nodes)| {
            Record::Rebooked { job, site: ActorId(site), start, until, nodes }
        }),
        (job(), any::<u64>()).prop_map(|(job, area)| Record::Broken { job, compensation: Area::from_micros(area) }),
        (job(), prop::collection::vec((any::<u32>(), span(), span()), 0..4)).prop_map(|(job, shapes)| {
            let shape = |(nodes, duration, runtime)| JobShape { nodes, duration, runtime };
            Record::Malleable { job, shapes: shapes.into_iter().map(shape).collect() }
        }),
        (job(), any::<u32>()).prop_map(|(job, shape)| Record::Shaped { job, shape }),
        (link(), time()).prop_map(|(link, since)| Record::LinkDown { link, since }),
        (link(), time()).prop_map(|(link, since)| Record::LinkUp { link, since }),
        (any_edge(), any::<u64>()).prop_map(|(edge, left)| Record::Stalled { edge, left }),
        (any_edge(), any::<u64>(), prop::collection::vec(link(), 0..3), time())
            .prop_map(|(edge, left, via, active)| Record::Continued { edge, left, via, active }),
    ]
}

/// Records of negotiations.
fn any_bargain() -> impl Strategy<Value = Record> {
    let user = || (0u32..6).prop_map(ActorId);
    let area = || any::<u64>().prop_map(Area::from_micros);
    let time = || any::<u32>().prop_map(|micros| Time::from_micros(micros.into()));
    let span = || any::<u64>().prop_map(Span::from_micros);
    let part = || (1u32..9, time(), span()).prop_map(|(procs, start, span)| Part { procs, start, span });
    let slot =
        (part(), any::<u32>(), area(), any::<(bool, bool)>()).prop_map(|(part, rate, fee, (divisible, extensible))| {
            let Part { procs, start, span } = part;
            Slot { start, procs, span, rate: Rate(rate), fee, divisible, extensible }
        });
    let offer = (time(), area()).prop_map(|(start, fee)| Offer { start, fee });
    let hold = || any::<(u64, u32, u32)>().prop_map(|(request, attempt, leg)| HoldId { request, attempt, leg });
    let receipt = (any::<u64>(), part(), area(), area()).prop_map(|(booking, part, rent, fee)| Receipt {
        booking: BookingId(booking),
        part,
        rent,
        fee,
    });
    let job = || any::<u32>().prop_map(JobId);
    prop_oneof![
        (user(), any::<u64>(), prop::collection::vec(slot, 0..4))
            .prop_map(|(user, version, slots)| Record::Advertised { user, version, slots }),
        (user(), 1u32..9, span(), prop::collection::vec(offer, 0..4))
            .prop_map(|(user, procs, span, offers)| Record::Quoted { user, procs, span, offers }),
        (user(), job(), receipt.clone()).prop_map(|(user, job, receipt)| Record::Booked { user, job, receipt }),
        receipt.prop_map(|receipt| Record::Postponed { receipt }),
        (user(), hold(), part(), area(), time()).prop_map(|(user, hold, part, fee, expiry)| Record::Held {
            user,
            hold,
            part,
            fee,
            expiry
        }),
        (user(), job(), 0..Refusal::ALL.len()).prop_map(|(user, job, why)| Record::Denied {
            user,
            job,
            why: Refusal::ALL[why].1
        }),
        (any::<u64>(), area(), prop::option::of(area())).prop_map(|(booking, used, penalty)| Record::Returned {
            booking: BookingId(booking),
            used,
            penalty
        }),
        (any::<u64>(), area(), area(), area()).prop_map(|(booking, used, paid, compensation)| Record::Revoked {
            booking: BookingId(booking),
            used,
            paid,
            compensation
        }),
        (any::<u64>(), area(), area(), area()).prop_map(|(booking, used, refund, penalty)| Record::HandedBack {
            booking: BookingId(booking),
            used,
            refund,
            penalty
        }),
        (any::<u64>(), area()).prop_map(|(booking, used)| Record::Elapsed { booking: BookingId(booking), used }),
        any::<(u32, u32)>().prop_map(|(job, index)| Record::Dropped { task: TaskId { job: JobId(job), index } }),
        (hold(), 0..HoldFate::ALL.len()).prop_map(|(hold, fate)| Record::Settled { hold, fate: HoldFate::ALL[fate].1 }),
        (job(), 0..Bargain::ALL.len(), proptest::option::of(0..Reason::ALL.len())).prop_map(|(job, end, why)| {
            Record::Bargained { job, end: Bargain::ALL[end].1, why: why.map(|why| Reason::ALL[why].1) }
        }),
        (user(), any::<(u32, u32)>())
            .prop_map(|(user, (job, index))| Record::Entered { user, task: TaskId { job: JobId(job), index } }),
        (user(), 0..Fault::ALL.len()).prop_map(|(site, fault)| Record::Accused { site, fault: Fault::ALL[fault].1 }),
        (prop::collection::vec((user(), any::<u32>()), 0..4), prop::collection::vec(any_bid(), 0..4)).prop_map(
            |(offers, bids)| {
                let offers = offers.into_iter().map(|(site, cores)| CoreOffer { site, cores }).collect();
                Record::Auctioned { offers, bids }
            }
        ),
        any::<(u32, u32, u64)>().prop_map(|(idle, waiting, received)| Record::Offered { idle, waiting, received }),
    ]
}

prop_compose! {
    fn any_bid()(
        (job, index) in any::<(u32, u32)>(),
        bid in any::<f64>().prop_filter("a bid is a number", |bid| !bid.is_nan()),
        site in prop_oneof![0u32..6, any::<u32>()],
        lost in proptest::option::of(0..LossReason::ALL.len()),
    ) -> TaskBid {
        let outcome = match lost {
            Some(reason) => BidOutcome::Lost(LossReason::ALL[reason].1),
            None => BidOutcome::Won(ActorId(site)),
        };
        TaskBid { task: TaskId { job: JobId(job), index }, bid, outcome }
    }
}

prop_compose! {
    fn any_edge()(job in any::<u32>(), from in any::<u32>(), to in any::<u32>()) -> EdgeId {
        EdgeId { job: JobId(job), from, to }
    }
}

prop_compose! {
    pub fn any_entry()(stamp in any_stamp(), actor in prop_oneof![0u32..6, any::<u32>()], record in any_record()) -> Entry<Record> {
        Entry { stamp, actor: ActorId(actor), record }
    }
}
