//! Members with valid certificates that lie, and a router that disappears before it has told the reason: each is named,
//! true results are kept, and no member reports success.

use std::path::Path;
use std::time::Duration;

use hansa_run::identity::Identity;
use hansa_run::quic::{Close, JoinTerms, Listener, QuicOptions, connect_router, encode_frame};
use hansa_sim::grid::{JobId, TaskId};
use hansa_sim::kernel::{ActorId, Down, Entry, Instruction, Leaf, Up};
use hansa_sim::protocol::handshake::{Hello, Party};
use hansa_sim::protocol::{Message, Record, codec};
use hansa_sim::time::{Span, Stamp, Time};
use hansa_sim::topology::{self, Roster, Topology};

use crate::grid::{Machines, json};
use crate::world::{site, user};

const SOON: Duration = Duration::from_secs(30);

/// Alice's jobs run at york, mallory's at hull.
const TOPOLOGY: &str = "name = \"liars\"\n[market]\npolicy = \"fifo\"\n\
    [[site]]\nname = \"york\"\ncores = 8\nkind = \"a\"\n[[site]]\nname = \"hull\"\ncores = 8\nkind = \"b\"\n\
    [[user]]\nname = \"alice\"\n[[user]]\nname = \"mallory\"\n[[workload]]\nsource = \"table\"\n\
    [[workload.job]]\narrive = \"0 s\"\ntasks = [{ runtime = \"1 min\", cores = 4, kind = \"a\" }]\n\
    [[workload.job]]\narrive = \"10 s\"\ntasks = [{ runtime = \"1 min\", cores = 4, kind = \"b\" }]\n\
    [[workload.job]]\narrive = \"3 min\"\ntasks = [{ runtime = \"1 min\", cores = 4, kind = \"a\" }]\n\
    [[workload.job]]\narrive = \"3 min\"\ntasks = [{ runtime = \"1 min\", cores = 4, kind = \"b\" }]\n";

type Lie<'a> = &'a mut dyn FnMut(&mut Up<Message, Record>);

fn load(path: &Path) -> Topology {
    let read = &mut |path: &str| std::fs::read(path).map_err(|error| error.to_string());
    topology::read_topology(path.to_str().unwrap(), &[], read).unwrap().topology
}

/// Plays the part of this member, except for the lie in its frames.
async fn pretend(machines: &Machines, party: Party, identity: &str, lie: Lie<'_>) {
    let topology = load(&machines.topology);
    let roster = Roster::of_topology(&topology);
    let actors = topology::build_actors(&topology, &[roster.find(&party).unwrap()]).unwrap();
    let mut leaf: Leaf<Message, Record> =
        Leaf::new(actors, roster.latencies.clone()).with_contract(topology::contract_of_leaves(&topology, &roster));
    let identity = Identity::load(&machines.scratch.path("identities").join(identity)).unwrap();
    let hello = Hello::new(vec![party], topology.hash());
    let mut joined = connect_router(&machines.address, &identity, &hello, &QuicOptions::default()).await.unwrap();
    let mut out = Vec::new();
    while let Ok(Some(frame)) = joined.receiver.next().await {
        leaf.receive(codec::decode_frame(frame).unwrap()).unwrap();
        while let Some(mut up) = leaf.turn().unwrap() {
            lie(&mut up);
            out.clear();
            encode_frame(&up, &mut out).unwrap();
            if joined.sender.write(&out).await.is_err() {
                return;
            }
        }
    }
}

/// A run in which one member lies; returns the router's message, and the number of jobs that have ended. The honest
/// members have to report that the run failed.
fn run_with(party: Party, identity: &str, honest: &[&str], lie: Lie<'_>) -> (Option<i32>, String, u64) {
    run_of(TOPOLOGY, party, identity, honest, lie)
}

/// Like `run_with`, of this topology.
fn run_of(topology: &str, party: Party, identity: &str, honest: &[&str], lie: Lie<'_>) -> (Option<i32>, String, u64) {
    let mut machines = Machines::router(topology, &[]);
    machines.start(honest);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(pretend(&machines, party, identity, lie));
    let (code, printed) = machines.router.end(SOON);
    for mut member in machines.members.drain(..) {
        let (code, message) = member.end(SOON);
        assert_eq!(code, Some(3), "{}: {message}", member.label);
        assert!(message.contains("the router stopped the run: "), "{}: {message}", member.label);
    }
    let manifest = json(&machines.out().join("manifest.json"));
    assert!(manifest["status"].as_str().unwrap().starts_with("partial: "), "{manifest}");
    let summary = json(&machines.out().join("summary.json"));
    (code, printed, summary["results"]["jobs"]["finished"].as_u64().unwrap())
}

fn task(job: u32) -> TaskId {
    TaskId { job: JobId(job), index: 0 }
}

#[test]
fn a_user_who_writes_the_routers_records_is_named() {
    let honest = ["york.site", "hull.site", "alice.user"];
    let (code, printed, _) = run_with(user("mallory"), "mallory.user", &honest, &mut |up| {
        if up.finished {
            let record = Record::Removed { job: JobId(77) };
            up.log.push(Entry { stamp: Stamp::ZERO, actor: ActorId(4), record });
        }
    });
    assert_eq!(code, Some(5), "{printed}");
    assert!(printed.contains("user mallory violates the protocol: a record that only the router writes"), "{printed}");
}

#[test]
fn a_site_that_reports_other_ends_than_foretold_is_named() {
    let honest = ["york.site", "alice.user", "mallory.user"];
    for lie in ["late", "never"] {
        let (code, printed, _) = run_with(site("hull"), "hull.site", &honest, &mut |up| match lie {
            "late" => up.mail.iter_mut().for_each(|mail| mail.arrival.time = mail.arrival.time + Span::from_secs(60)),
            _ => up.mail.clear(),
        });
        assert_eq!(code, Some(5), "{printed}");
        assert!(printed.contains("site hull broke its contract: hull sent "), "{printed}");
        assert!(printed.contains("but what it received before foretold Ended("), "{printed}");
    }
}

#[test]
fn a_user_who_writes_offers_of_sites_is_named() {
    let market = "[market]\npolicy = \"fifo\"\n";
    let offers = TOPOLOGY.replace(market, &format!("{market}clearing = \"messages\"\noffers_every = \"30 s\"\n"));
    let honest = ["york.site", "hull.site", "alice.user"];
    let (code, printed, _) = run_of(&offers, user("mallory"), "mallory.user", &honest, &mut |up| {
        if up.finished {
            let record = Record::Offered { idle: 8, waiting: 0, received: 0 };
            up.log.push(Entry { stamp: Stamp::ZERO, actor: ActorId(4), record });
        }
    });
    assert_eq!(code, Some(5), "{printed}");
    assert!(printed.contains("user mallory violates the protocol: a record that only sites write"), "{printed}");
}

/// A market in which sites offer their cores by messages, and one in which ends are reported late: the router foretells
/// neither, so records decide.
#[test]
fn a_site_whose_messages_are_later_than_its_records_is_named() {
    let market = "[market]\npolicy = \"fifo\"\n";
    let offers = TOPOLOGY.replace(market, &format!("{market}clearing = \"messages\"\noffers_every = \"30 s\"\n"));
    let reports = TOPOLOGY.replace("cores = 8\n", "cores = 8\nreport_every = \"7 s\"\n");
    let honest = ["york.site", "alice.user", "mallory.user"];
    for (topology, expected) in [
        (&offers, "or sends another offer, or at another time, than it records"),
        (&reports, "hull has reported the end of task 1.0 as of another time than it records"),
    ] {
        let (code, printed, _) = run_of(topology, site("hull"), "hull.site", &honest, &mut |up| {
            for mail in &mut up.mail {
                let is_late = match mail.message {
                    Message::SiteOffer(_) => mail.arrival.time > Time::ZERO + Span::from_secs(60),
                    _ => topology == &reports,
                };
                if is_late {
                    mail.arrival.time = mail.arrival.time + Span::from_secs(7);
                }
            }
        });
        assert_eq!(code, Some(5), "{printed}");
        assert!(printed.contains("site hull contradicts the records of the run at virtual time"), "{printed}");
        assert!(printed.contains(expected), "{printed}");
    }
}

#[test]
fn a_site_that_reports_another_sites_task_is_named_and_earlier_results_are_kept() {
    let honest = ["york.site", "alice.user", "mallory.user"];
    let (code, printed, finished) = run_with(site("hull"), "hull.site", &honest, &mut |up| {
        for entry in &mut up.log {
            if let Record::Started { task: started, .. } = &mut entry.record
                && started.job != JobId(1)
            {
                *started = task(2);
            }
        }
    });
    assert_eq!(code, Some(5), "{printed}");
    assert!(printed.contains("site hull contradicts the records of the run at virtual time"), "{printed}");
    assert!(printed.contains("task 2.0 is at hull, which was not given it"), "{printed}");
    assert_eq!(finished, 2, "the jobs before the lie");
}

#[test]
fn a_user_that_keeps_jobs_back_is_named() {
    let honest = ["york.site", "alice.user", "mallory.user"];
    let (code, printed, _) = run_with(site("hull"), "hull.site", &honest, &mut |up| up.mail.clear());
    assert_eq!(code, Some(5), "{printed}");
    let broken = "site hull broke its contract: hull sent nothing, but what it received before foretold Ended(";
    assert!(printed.contains(broken), "{printed}");

    let honest = ["york.site", "hull.site", "alice.user"];
    let (code, printed, finished) = run_with(user("mallory"), "mallory.user", &honest, &mut |up| up.mail.clear());
    assert_eq!(code, Some(5), "{printed}");
    assert!(printed.contains("only 2 of 4 jobs have ended: user mallory still has job 1 and 1 more"), "{printed}");
    assert_eq!(finished, 2);
}

/// Joins with hull's identity, waits for the first frame if the run is to begin, and leaves with these words.
fn leave_with(honest: &[&str], close: Close, reason: &str) -> (Option<i32>, String) {
    let mut machines = Machines::router(TOPOLOGY, &[]);
    machines.start(honest);
    let topology = load(&machines.topology);
    let identity = Identity::load(&machines.scratch.path("identities/hull.site")).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let hello = Hello::new(vec![site("hull")], topology.hash());
        let mut joined = connect_router(&machines.address, &identity, &hello, &QuicOptions::default()).await.unwrap();
        if !honest.is_empty() {
            joined.receiver.next().await.unwrap().unwrap();
        }
        joined.connection.leave(joined.sender, close, reason).await;
    });
    machines.router.end(SOON)
}

#[test]
fn what_a_member_says_of_another_is_reported_as_its_own_words() {
    let all = ["york.site", "alice.user", "mallory.user"];
    let lie = "site york violates the protocol";
    for (honest, close, expected) in [(&all[..], Close::Breach, 5), (&all, Close::Failed, 8), (&[], Close::Failed, 8)] {
        let (code, printed) = leave_with(honest, close, lie);
        assert_eq!(code, Some(expected), "{close:?}: {printed}");
        let errors: Vec<&str> = printed.lines().filter(|line| line.contains(lie)).collect();
        assert!(
            !errors.is_empty() && errors.iter().all(|line| line.contains("site hull reports: site york")),
            "{printed}"
        );
    }
}

/// A job whose second task needs data of its first over a link that takes no time.
const FAR: &str = "name = \"far\"\n[market]\npolicy = \"fifo\"\n\
    [[site]]\nname = \"york\"\ncores = 8\nkind = \"a\"\n[[site]]\nname = \"hull\"\ncores = 8\nkind = \"b\"\nreport_every = \"1 s\"\n\
    [[link]]\nname = \"cable\"\ncapacity = \"100 Mbps\"\nlatency = \"0 s\"\nbetween = [\"york\", \"hull\"]\n\
    [[user]]\nname = \"alice\"\n[[workload]]\nsource = \"table\"\n[[workload.job]]\narrive = \"0 s\"\n\
    tasks = [{ runtime = \"1 min\", cores = 4, kind = \"b\" }, { runtime = \"1 min\", cores = 4, kind = \"a\" }]\n\
    edges = [[0, 1, 10_000_000]]\n";

/// A site that stamps the end of a task at the end of time, or after it: what follows has no time left. Up to the end
/// of time the stamp itself is allowed, so the run names what has no time, or the site, whose own record is earlier; a
/// later stamp is the site's breach.
#[test]
fn a_site_that_stamps_messages_at_the_end_of_time_ends_the_run_without_a_panic() {
    let last = Time::LATEST.micros();
    let breach = "site hull violates the protocol: a message that arrives at the end of time";
    let late = "virtual time ends before";
    // The records of the site may be compared before virtual time ends.
    let untrue = "hull has reported the end of task 0.0 as of another time than it records";
    for (micros, expected) in [
        // What follows fits into the time that is left.
        (last - 1_000_000_000, untrue),
        (last - 1, late),
        (last, late),
        (last + 1, breach),
        (u64::MAX - 2, breach),
        (u64::MAX, breach),
    ] {
        let mut machines = Machines::router(FAR, &["--stall-after", "5"]);
        machines.start(&["york.site", "alice.user"]);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(pretend(&machines, site("hull"), "hull.site", &mut |up| {
            up.mail.iter_mut().for_each(|mail| mail.arrival = Stamp::at(Time::from_micros(micros)));
        }));
        let (code, printed) = machines.router.end(SOON);
        assert_eq!(code, Some(5), "{micros}: {printed}");
        let is_named = printed.contains(expected) || (expected == late && printed.contains(untrue));
        assert!(is_named && !printed.contains("panicked"), "{micros}: {printed}");
    }
}

/// Large enough for the router to request the progress of members.
const BUSY: &str = "name = \"busy\"\n[market]\npolicy = \"fifo\"\n\
    [[site]]\nname = \"york\"\ncores = 64\nreport_every = \"1 s\"\n\
    [[site]]\nname = \"hull\"\ncores = 64\nreport_every = \"1 s\"\n[[user]]\nname = \"alice\"\n\
    [[workload]]\nsource = \"market\"\njobs = 3000\ncores_max = 32\nload = 0.6\n";

/// The member keeps its promises and answers at once, but advances the end of its complete log by only a microsecond
/// per frame: the run's log never becomes complete, and all of it would have to be held.
#[test]
fn a_member_that_creeps_when_asked_for_its_progress_is_named() {
    let mut machines = Machines::router(BUSY, &["--stall-after", "3"]);
    machines.start(&["york.site", "alice.user"]);
    let topology = load(&machines.topology);
    let roster = Roster::of_topology(&topology);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let actors = topology::build_actors(&topology, &[roster.find(&site("hull")).unwrap()]).unwrap();
        let mut leaf: Leaf<Message, Record> =
            Leaf::new(actors, roster.latencies.clone()).with_contract(topology::contract_of_leaves(&topology, &roster));
        let identity = Identity::load(&machines.scratch.path("identities").join("hull.site")).unwrap();
        let hello = Hello::new(vec![site("hull")], topology.hash());
        let mut joined = connect_router(&machines.address, &identity, &hello, &QuicOptions::default()).await.unwrap();
        let mut out = Vec::new();
        let mut crept = 0;
        let mut creep = |honest: Stamp| {
            crept += 1;
            honest.min(Stamp::at(Time::from_micros(crept)))
        };
        let mut last: Option<(Up<Message, Record>, Stamp)> = None;
        loop {
            out.clear();
            match tokio::time::timeout(Duration::from_millis(1), joined.receiver.next()).await {
                Ok(Ok(Some(frame))) => {
                    let down: Down<Message> = codec::decode_frame(frame).unwrap();
                    if matches!(down.then, Instruction::Stop | Instruction::Finish) {
                        return;
                    }
                    leaf.receive(down).unwrap();
                    while let Some(mut up) = leaf.turn().unwrap() {
                        let honest = up.done;
                        up.done = creep(honest);
                        encode_frame(&up, &mut out).unwrap();
                        last = Some((Up { mail: Vec::new(), log: Vec::new(), ..up }, honest));
                    }
                }
                Ok(_) => return,
                // It is never silent.
                Err(_) => {
                    let Some((up, honest)) = &mut last else { continue };
                    up.done = creep(*honest);
                    encode_frame(&*up, &mut out).unwrap();
                }
            }
            if !out.is_empty() && joined.sender.write(&out).await.is_err() {
                return;
            }
        }
    });
    let printed = machines.router.end_with(4, SOON);
    assert!(
        printed.contains("it is waiting for site hull, which has sent its records before [00:00:00.0"),
        "{printed}"
    );
    assert!(
        !printed.contains("it is waiting for site york") && !printed.contains("it is waiting for user alice"),
        "{printed}"
    );
}

/// The router stops the run, and its close never arrives.
#[test]
fn a_member_of_a_failed_run_knows_it_without_the_close() {
    let mut machines = Machines::router(TOPOLOGY, &["--join-within", "1"]);
    machines.router.end(SOON);
    let roster = Roster::of_topology(&load(&machines.topology));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    for received_before in [Instruction::Run, Instruction::Finish] {
        let identity = Identity::load(&machines.scratch.path("identities/router")).unwrap();
        runtime.block_on(async {
            let address = ([127, 0, 0, 1], 0).into();
            let mut listener = Listener::bind(address, &identity, &QuicOptions::default()).unwrap();
            machines.address = listener.address().to_string();
            machines.start(&["alice.user"]);
            assert!(roster.find(&user("alice")).is_some());
            let terms = JoinTerms { roster: vec![user("alice")], topology: load(&machines.topology).hash() };
            let mut peer = listener.admit_all(terms).await.unwrap().remove(0);
            let mut out = Vec::new();
            for then in [received_before, Instruction::Stop] {
                let down: Down<Message> = Down { grant: Stamp::ZERO, then, mail: Vec::new() };
                encode_frame(&down, &mut out).unwrap();
            }
            peer.sender.write(&out).await.unwrap();
            while let Ok(Some(frame)) = peer.receiver.next().await {
                if codec::decode_frame::<Up<Message, Record>>(frame).unwrap().finished {
                    break;
                }
            }
            let _ = peer.sender.finish().await;
        });
        // The router is gone; its connections end without a close.
        runtime.block_on(async { tokio::time::sleep(Duration::from_millis(200)).await });
        let printed = machines.members.pop().unwrap().end_with(3, SOON);
        assert!(printed.contains("the router stopped the run; the reason has not arrived"), "{printed}");
    }
}
