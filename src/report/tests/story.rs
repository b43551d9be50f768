//! A small run told by hand.

use std::sync::Arc;

use hansa_report::{EventWriter, Host, Manifest, Names, Status, Tally};
use hansa_sim::grid::{Curve, Edge, Job, JobId, Kind, NodeSet, Task, TaskId, Worth};
use hansa_sim::kernel::{ActorId, Digest, Entry};
use hansa_sim::protocol::{Record, codec};
use hansa_sim::systems::Service;
use hansa_sim::systems::market::{Market, Unplaceable};
use hansa_sim::time::{Span, Stamp, Time};
use hansa_sim::topology::{Site, Topology, User};

pub const ROUTER: ActorId = ActorId(0);
pub const YORK: ActorId = ActorId(1);
pub const BATH: ActorId = ActorId(2);
pub const ANN: ActorId = ActorId(3);
pub const BOB: ActorId = ActorId(4);

pub fn topology() -> Topology {
    let site = |name: &str, cores, kind| Site {
        name: name.to_owned(),
        cores,
        kind: Kind(kind),
        scheduler: "auction".to_owned(),
        systems: vec![0],
        ..Site::with_defaults()
    };
    let user = |name: &str| User::named(name);
    Topology {
        name: "two cities".to_owned(),
        seed: 7,
        kinds: vec!["cpu".to_owned(), "big, \"fast\"".to_owned()],
        systems: vec![Service::new(Market { unplaceable: Unplaceable::Refuse, ..Market::default() })],
        sites: vec![site("york", 4, 0), site("bath", 8, 1)],
        users: vec![user("ann"), user("bob")],
        ..Topology::default()
    }
}

pub fn names() -> Names {
    Names::of(&topology())
}

/// Jobs 0 and 1 end well, 2 ends too late, 3 fits nowhere, 4 is given up with a task running, 5 still waits.
pub fn story() -> Vec<Entry<Record>> {
    let at = |minutes: u64, actor, record| Entry { stamp: Stamp::at(minute(minutes)), actor, record };
    let task = |job, index| TaskId { job: JobId(job), index };
    let cores = |text| NodeSet::parse(text).unwrap();
    let assigned = |job, index, site| Record::Assigned { task: task(job, index), site };
    let started = |job, index, text| Record::Started { task: task(job, index), cores: cores(text) };
    let arrived = |job: Job, user| Record::Arrived { job: Arc::new(job), user };
    let finished = |job, index| Record::Finished { task: task(job, index) };
    let mut late = at(70, ROUTER, Record::Completed { job: JobId(2), value: Some(0.0) });
    late.stamp.step = 1;
    vec![
        at(0, ROUTER, arrived(job(0, 0, &[(10, 2, 0), (20, 8, 1)], &[(0, 1)], true), ANN)),
        at(0, ROUTER, assigned(0, 0, YORK)),
        at(0, YORK, started(0, 0, "0-1")),
        at(5, ROUTER, arrived(job(1, 5, &[(30, 2, 0)], &[], false), BOB)),
        at(5, ROUTER, assigned(1, 0, YORK)),
        at(5, YORK, started(1, 0, "2-3")),
        at(6, ROUTER, arrived(job(2, 6, &[(5, 1, 0)], &[], true), ANN)),
        at(10, YORK, finished(0, 0)),
        at(12, ROUTER, assigned(0, 1, BATH)),
        at(12, BATH, started(0, 1, "0-7")),
        at(20, ROUTER, Record::Refused { job: Arc::new(job(3, 20, &[(5, 9, 1)], &[], true)), user: BOB, task: 0 }),
        at(32, BATH, finished(0, 1)),
        at(32, ROUTER, Record::Completed { job: JobId(0), value: Some(840.0) }),
        at(35, YORK, finished(1, 0)),
        at(35, ROUTER, Record::Completed { job: JobId(1), value: None }),
        at(60, ROUTER, arrived(job(4, 60, &[(3, 2, 0), (3, 1, 0)], &[], true), ANN)),
        at(60, ROUTER, assigned(4, 0, YORK)),
        at(60, YORK, started(4, 0, "1 3")),
        at(65, ROUTER, assigned(2, 0, YORK)),
        at(65, YORK, started(2, 0, "0")),
        at(70, YORK, finished(2, 0)),
        late,
        at(75, ROUTER, Record::Removed { job: JobId(4) }),
        at(80, ROUTER, arrived(job(5, 80, &[(1, 1, 0)], &[], false), BOB)),
    ]
}

pub fn minute(minutes: u64) -> Time {
    Time::ZERO + Span::from_minutes(minutes)
}

pub fn job(id: u32, arrive: u64, tasks: &[(u64, u32, u16)], edges: &[(u32, u32)], worth: bool) -> Job {
    let task = |&(minutes, cores, kind): &(u64, u32, u16)| {
        let runtime = Span::from_minutes(minutes);
        Task::new(runtime, cores, Kind(kind))
    };
    let worth = worth.then(|| Worth { max: 840.0, curve: Curve::new(2.0, 6.0, &[(3.0, 0.8), (5.0, 0.4)]).unwrap() });
    Job {
        id: JobId(id),
        arrive: minute(arrive),
        first_task: id * 2,
        tasks: tasks.iter().map(task).collect(),
        edges: edges.iter().map(|&(from, to)| Edge::new(from, to)).collect(),
        worth,
        times: None,
    }
}

pub fn tally(entries: &[Entry<Record>]) -> Tally {
    let mut tally = Tally::new(&topology(), &names());
    entries.iter().for_each(|entry| tally.add(entry).unwrap());
    tally
}

/// Hands over all lines of the events and gives the digest of the entries.
pub fn write_events(entries: &[Entry<Record>], mut put: impl FnMut(&[u8])) -> String {
    let mut text = Vec::new();
    let mut digest = Digest::new();
    let mut encoded = Vec::new();
    for entry in entries {
        EventWriter::new(&names()).write(entry, &mut text);
        encoded.clear();
        codec::encode_frame(entry, &mut encoded).unwrap();
        digest.update(&encoded);
    }
    put(&text);
    digest.finish()
}

pub fn manifest() -> Manifest {
    Manifest {
        version: "0.1.0".to_owned(),
        status: Status::Complete,
        command: Vec::new(),
        layout: "inline".to_owned(),
        seed: 7,
        topology_hash: "t".to_owned(),
        topology: "seed = 7\n".to_owned(),
        inputs: Vec::new(),
        names: names(),
        started: String::new(),
        wall_seconds: 0.0,
        host: Host::default(),
        files: Vec::new(),
    }
}
