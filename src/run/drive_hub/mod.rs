//! Drives the hub of a distributed run: advances while promises allow, writes to all leaves before it waits for any,
//! and waits only for leaves that block it. Explains a run in which nothing moves.

mod leaf_link;
mod progress;
mod returns;

use std::collections::BTreeMap;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::Poll;
use std::time::{Duration, Instant};

use tokio::sync::mpsc;
use tokio::time::Sleep;

use super::Failure;
use super::keeper::WatchedRuntime;
use super::outside::ProgramFault;
use super::quic::{self, Close};
use hansa_sim::kernel::{Breach, Contact, Down, Entry, Hub, LogMerger, Up};
use hansa_sim::protocol::{Message, Record};
use hansa_sim::recovery::journal::Turn;
use hansa_sim::time::{Stamp, Time};

use leaf_link::LinkError;
pub use leaf_link::{LeafLink, call_off};
use progress::{Reached, explain_loss, explain_stall, place_in_time};
use returns::{LeafProcess, Losses};
pub use returns::{LostProcess, Returns};

/// Result of a run, complete or not.
pub struct RunOutcome {
    /// Virtual time up to which the log goes.
    pub reached: Time,
    pub events: u64,
    /// Number of times that the hub had to wait for leaves.
    pub waits: u64,
    pub leaves: Vec<LeafFacts>,
    /// Real time from the first event to the last.
    pub wall: Duration,
    pub end: Result<(), Failure>,
}

/// Costs of one leaf.
#[derive(Clone, Debug, Default)]
pub struct LeafFacts {
    pub label: String,
    pub waits: u64,
    pub blocked: Duration,
    pub frames_down: u64,
    pub frames_up: u64,
    pub messages_down: u64,
    pub messages_up: u64,
    pub packets_down: u64,
    pub packets_up: u64,
}

/// Takes the next entries of the run's log, maybe none. An error in them, or in earlier ones, ends the run.
pub type Taking<'a> = dyn FnMut(Vec<Entry<Record>>) -> Result<(), Failure> + 'a;

/// Receives the progress of a run.
pub type OnProgress<'a> = dyn FnMut(Time, u64, &[Entry<Record>]) + 'a;

/// Inputs and outputs of a run besides its leaves.
pub struct Watch<'a> {
    /// After this long without a frame, the run is taken for stalled.
    pub stall_after: Duration,
    /// Called now and then with (virtual time, events so far, records that have arrived at the hub).
    pub progress: &'a mut OnProgress<'a>,
    /// Called with the log of the run, in order, as soon as it is complete up to some moment.
    pub record: &'a mut Taking<'a>,
    pub contact: Contact,
    /// True if all processes share one core: then the hub gains nothing by going on while a leaf computes.
    pub shares_core: bool,
    /// Virtual seconds per second of real time. None if the run is not tied to real time.
    pub speed: Option<f64>,
    /// Names of all actors, by number.
    pub names: &'a [String],
    /// Bytes of loads that have passed: they count as progress of the run.
    pub carried: Arc<AtomicU64>,
    /// Failures from outside that end the run.
    pub interruptions: &'a mut mpsc::UnboundedReceiver<Failure>,
    /// Fault of an external program that decides for an actor of the hub.
    pub fault: &'a ProgramFault,
    /// Return of lost processes. None if a lost process ends the run.
    pub returns: Option<Returns<'a>>,
}

/// Time that leaves have to send their last frames after an early end.
const WIND_UP_WITHIN: Duration = Duration::from_secs(2);

/// Batches between two reads of the clock, if they are quick, and the period of checks for outside events.
const BATCHES_PER_LOOK: usize = 128;
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Records that may wait for leaves that have not reported their progress, and the time that they may wait; then those
/// leaves are asked.
const LOG_KEPT: usize = 1 << 16;
const LOG_KEPT_FOR: Duration = Duration::from_millis(500);

/// Time to read the frames that a leaf has sent already.
const HERE_WITHIN: Duration = Duration::from_millis(50);

/// Number of records that are worth a pass over the log.
const LOG_WORTH: usize = 1 << 12;

/// Bytes of one leaf's frames that are read before other leaves get their turn.
const BYTES_AT_ONCE: u64 = 4 << 20;

/// Drives a run to its end. Actors compute in this thread, and the runtime is entered to write and to wait.
pub fn drive_hub(
    kept: &WatchedRuntime,
    hub: Hub<Message, Record>,
    links: &mut [LeafLink],
    watch: Watch<'_>,
) -> RunOutcome {
    let processes = links.iter().map(LeafProcess::of_link).collect();
    drive(kept, hub, links, processes, watch)
}

/// Repeats a run from a journal that holds all of it: its leaves have left and are not needed.
pub fn conclude_run(
    kept: &WatchedRuntime,
    hub: Hub<Message, Record>,
    labels: Vec<String>,
    watch: Watch<'_>,
) -> RunOutcome {
    let processes = labels.into_iter().map(|label| LeafProcess { label, process: 0 }).collect();
    drive(kept, hub, &mut [], processes, watch)
}

fn drive(
    kept: &WatchedRuntime,
    mut hub: Hub<Message, Record>,
    links: &mut [LeafLink],
    processes: Vec<LeafProcess>,
    watch: Watch<'_>,
) -> RunOutcome {
    let _within = kept.enter();
    let stall = pin!(tokio::time::sleep(watch.stall_after));
    let began = Instant::now();
    let mut driver = HubDriver {
        kept,
        stall,
        reached: Reached::default(),
        began,
        log: LogMerger::new(processes.len() + 2),
        settled: began,
        worth: LOG_WORTH,
        waits: 0,
        losses: Losses::new(),
        missing: Vec::new(),
        processes,
        clocks: links.iter().map(|link| link.clocks.clone()).collect(),
        watch,
    };
    let mut end = driver.run(&mut hub, links);
    let wall = began.elapsed();
    if let Err(Failure::LostPeer { label, .. }) = &end {
        // The run does not wait for this leaf's last frames, nor for it to read ours.
        links.iter().filter(|link| link.label == *label).for_each(|link| link.connection.close(Close::Dropped, ""));
    }
    if end.is_err() && !links.is_empty() {
        kept.block_on(driver.wind_up(&mut hub, links));
    }
    if let Some(returns) = &mut driver.watch.returns {
        // A journal that cannot be saved is reported where results cannot be written either.
        let _ = if end.is_ok() { returns.journal.flush() } else { returns.journal.save() };
    }
    driver.report_progress(&mut hub);
    // Records that leaves have not reported yet cannot be shown, and so neither can their consequences.
    let (settled, reached) = match end.is_ok() {
        true => (Stamp::NEVER, hub.now().time),
        false => (hub.settled(), hub.settled().time.min(hub.now().time)),
    };
    end = end.and(driver.pass_on_before(settled));
    let waits = driver.waits;
    let standings = hub.leaf_statuses();
    let facts = driver.processes.into_iter().zip(standings).enumerate().map(|(leaf, (process, standing))| {
        let facts = LeafFacts {
            label: process.label,
            messages_down: standing.messages_down,
            messages_up: standing.messages_up,
            ..LeafFacts::default()
        };
        let Some(link) = links.get(leaf) else { return facts };
        let (packets_down, packets_up) = link.connection.packet_counts();
        LeafFacts {
            waits: link.waits,
            blocked: link.blocked,
            frames_down: link.frames_down,
            frames_up: link.frames_up,
            packets_down,
            packets_up,
            ..facts
        }
    });
    RunOutcome { reached, events: hub.events(), waits, leaves: facts.collect(), wall, end }
}

struct HubDriver<'k, 'w, 's> {
    kept: &'k WatchedRuntime,
    watch: Watch<'w>,
    stall: Pin<&'s mut Sleep>,
    /// Progress of the run when the stall timer was last reset.
    reached: Reached,
    began: Instant,
    log: LogMerger<Record>,
    /// Time of the last flush of the log that was due.
    settled: Instant,
    /// Number of waiting records at which the next flush is tried.
    worth: usize,
    waits: u64,
    losses: Losses,
    /// Lost processes whose loss has not been handled yet.
    missing: Vec<LostProcess>,
    /// Processes of all leaves.
    processes: Vec<LeafProcess>,
    /// Progress of the external clocks of all leaves.
    clocks: Vec<Arc<AtomicU64>>,
}

/// Reason for which the run cannot continue as it is.
enum Halt {
    Failure(Failure),
    /// This leaf is lost, but may return.
    Lost(usize, Failure),
}

impl From<Failure> for Halt {
    fn from(failure: Failure) -> Halt {
        Halt::Failure(failure)
    }
}

impl HubDriver<'_, '_, '_> {
    fn run(&mut self, hub: &mut Hub<Message, Record>, links: &mut [LeafLink]) -> Result<(), Failure> {
        self.go_on_from_before(hub, links)?;
        loop {
            match self.drive_until_halt(hub, links) {
                Ok(()) => return Ok(()),
                Err(Halt::Failure(failure)) => return Err(failure),
                Err(Halt::Lost(leaf, failure)) => {
                    self.recover_lost(hub, links, BTreeMap::from_iter([(leaf, failure)]))?
                }
            }
        }
    }

    fn drive_until_halt(&mut self, hub: &mut Hub<Message, Record>, links: &mut [LeafLink]) -> Result<(), Halt> {
        let kept = self.kept;
        loop {
            self.handle_reported_losses(hub, links)?;
            self.keep_pace(hub, links)?;
            let mut looked = Instant::now();
            let mut batches = BATCHES_PER_LOOK;
            while self.advance(hub, links, batches)? {
                if looked.elapsed() < LOOK_EVERY {
                    continue;
                }
                // Actors that compute for long are interrupted more often.
                batches = (batches / 2).max(1);
                looked = Instant::now();
                self.report_progress(hub);
                self.pass_on(hub, links)?;
                // Lets the runtime keep connections alive and receive what ends the run from outside.
                kept.run_ready_tasks();
                if let Ok(failure) = self.watch.interruptions.try_recv() {
                    return Err(place_in_time(failure, hub, links).into());
                }
                self.handle_reported_losses(hub, links)?;
            }
            if hub.finished() {
                return Ok(());
            }
            self.report_progress(hub);
            // A leaf that was asked may have sent something to run before the hub waits.
            if !self.pass_on(hub, links)? {
                kept.block_on(self.exchange_frames(hub, links))?;
            }
        }
    }

    /// Runs some batches of the hub. Returns true if there may be more. Fails if an external program gave no answer in
    /// one of them: all that its actor did then is neither sent nor in the journal, so a resumed run asks again.
    fn advance(&mut self, hub: &mut Hub<Message, Record>, links: &[LeafLink], batches: usize) -> Result<bool, Failure> {
        let advanced = hub.advance(batches);
        if let Some(failure) = self.watch.fault.find_end(self.watch.interruptions) {
            return Err(place_in_time(failure, hub, links));
        }
        advanced.map_err(|breach| self.breach_failure(&breach, links))
    }

    /// Writes to all leaves that need a frame, and reads from those that block the hub.
    async fn exchange_frames(&mut self, hub: &mut Hub<Message, Record>, links: &mut [LeafLink]) -> Result<(), Halt> {
        self.flush(hub, links).await?;
        let mut waited = false;
        let awaited = if self.watch.shares_core { hub.answering() } else { hub.blockers() };
        for leaf in awaited {
            waited |= self.read_frames(hub, links, leaf).await?;
        }
        self.waits += u64::from(waited);
        Ok(())
    }

    /// In a live run: lets no event happen before its real time.
    fn keep_pace(&mut self, hub: &mut Hub<Message, Record>, links: &mut [LeafLink]) -> Result<(), Halt> {
        let Some(speed) = self.watch.speed else { return Ok(()) };
        while let Some(due) = hub.next_due() {
            let wall = Duration::from_secs_f64(due.time.micros() as f64 / 1e6 / speed);
            if wall > self.began.elapsed() {
                let until = tokio::time::Instant::from_std(self.began + wall);
                let interruptions = &mut self.watch.interruptions;
                let interrupted = self.kept.block_on(async {
                    tokio::select! {
                        () = tokio::time::sleep_until(until) => None,
                        Some(failure) = interruptions.recv() => Some(failure),
                    }
                });
                if let Some(failure) = interrupted {
                    return Err(place_in_time(failure, hub, links).into());
                }
                // Waiting for the clock is no stall.
                self.stall.as_mut().reset(tokio::time::Instant::now() + self.watch.stall_after);
            }
            self.advance(hub, links, 1)?;
            self.report_progress(hub);
            self.pass_on(hub, links)?;
        }
        Ok(())
    }

    /// Passes on the complete part of the log if it is large or old. If too much is incomplete, asks leaves for their
    /// records; from then on each call reads some, until all have reported. Returns true if it has read.
    fn pass_on(&mut self, hub: &mut Hub<Message, Record>, links: &mut [LeafLink]) -> Result<bool, Halt> {
        let is_late = self.log.waiting() > 0 && self.settled.elapsed() >= LOG_KEPT_FOR;
        let has_asked = hub.least_reported().is_some();
        if self.log.waiting() < self.worth && !is_late && !has_asked {
            // Entries passed on earlier may have turned out to be wrong.
            (self.watch.record)(Vec::new())?;
            return Ok(false);
        }
        self.pass_on_before(hub.settled())?;
        let asks = self.log.waiting() >= LOG_KEPT || (is_late && self.log.waiting() > 0);
        if asks {
            self.kept.block_on(self.request_reports(hub, links))?;
        }
        if asks || has_asked {
            self.kept.block_on(self.read_reports(hub, links))?;
            self.report_progress(hub);
            self.pass_on_before(hub.settled())?;
        }
        if is_late {
            self.settled = Instant::now();
        }
        self.worth = self.log.waiting() + LOG_WORTH;
        Ok(asks || has_asked)
    }

    fn pass_on_before(&mut self, before: Stamp) -> Result<(), Failure> {
        (self.watch.record)(self.log.take_before(before))
    }

    /// Asks leaves to report all that they may have run.
    async fn request_reports(&mut self, hub: &mut Hub<Message, Record>, links: &mut [LeafLink]) -> Result<(), Halt> {
        // A leaf that has reached its grant may go on meanwhile.
        self.flush(hub, links).await?;
        self.send(hub, links, Turn::Ask).await
    }

    /// Reads a part of the reports: first from the leaf that has reported least, as all later entries wait for it.
    ///
    /// All of them may be most of the run, and the log is complete only up to what the hub has run, too. So the hub
    /// proceeds after each part.
    async fn read_reports(&mut self, hub: &mut Hub<Message, Record>, links: &mut [LeafLink]) -> Result<(), Halt> {
        let enough = hub.received() + LOG_WORTH as u64;
        while hub.received() < enough
            && let Some(leaf) = hub.least_reported()
        {
            match self.read_frames(hub, links, leaf).await {
                Ok(_) => {}
                Err(Halt::Failure(failure)) => return Err(self.recheck_stall(failure, hub, links).await.into()),
                Err(lost) => return Err(lost),
            }
        }
        Ok(())
    }

    /// Leaves are read in turn; a leaf that answered meanwhile does not count as stalled.
    async fn recheck_stall(&self, failure: Failure, hub: &mut Hub<Message, Record>, links: &mut [LeafLink]) -> Failure {
        let Failure::Stalled(_) = failure else { return failure };
        for leaf in hub.asked() {
            let receive = async {
                while hub.awaits_records(leaf)
                    && let Ok(up) = links[leaf].read_frame().await
                    && hub.receive(leaf, up).is_ok()
                {}
            };
            // Its answer has arrived already.
            let _ = tokio::time::timeout(HERE_WITHIN, receive).await;
        }
        if hub.asked().is_empty() {
            failure
        } else {
            Failure::Stalled(explain_stall(hub, links, self.watch.stall_after))
        }
    }

    /// Writes to all leaves that need a frame, before the hub waits for any.
    async fn flush(&mut self, hub: &mut Hub<Message, Record>, links: &mut [LeafLink]) -> Result<(), Halt> {
        self.send(hub, links, Turn::Flush(self.watch.contact)).await
    }

    /// Writes the frames of the hub.
    async fn send(&mut self, hub: &mut Hub<Message, Record>, links: &mut [LeafLink], turn: Turn) -> Result<(), Halt> {
        let mut problem = None;
        let mut silent = true;
        let batches = hub.batches();
        let mut journal = self.watch.returns.as_mut().map(|returns| &mut returns.journal);
        let mut send = |leaf: usize, down: Down<Message>| {
            if let Some(journal) = journal.as_mut().filter(|_| silent) {
                journal.append_turn(batches, turn);
            }
            silent = false;
            let link = &mut links[leaf];
            let begin = link.outgoing.len();
            match quic::encode_in_pieces(down, Down::cut, &mut link.outgoing) {
                Ok(frames) => {
                    link.frames_down += frames;
                    if let Some(journal) = &mut journal {
                        quic::frame_contents(&link.outgoing[begin..])
                            .for_each(|frame| journal.append_down(leaf, frame));
                    }
                }
                Err(error) => problem = Some((leaf, error)),
            }
        };
        match turn {
            Turn::Flush(contact) => hub.flush(contact, &mut send),
            Turn::Ask => hub.request_progress(&mut send),
        }
        if let Some((leaf, error)) = problem {
            links[leaf].is_torn = true;
            let text = format!("a frame for {} cannot be written: {error}", links[leaf].label);
            return Err(Failure::Internal(text).into());
        }
        if let Some(journal) = journal {
            journal.flush_if_due()?;
        }
        for leaf in 0..links.len() {
            if !links[leaf].outgoing.is_empty() {
                match self.guard_leaf(hub, leaf, links[leaf].write()).await.0 {
                    Ok(Ok(())) => {}
                    Ok(Err(error)) => return Err(self.handle_lost(hub, links, leaf, error)),
                    Err(end) => return Err(self.halt_for(end, hub, links)),
                }
            }
        }
        Ok(())
    }

    /// Reads the frames of this leaf, at least one. Returns true if it had to wait.
    async fn read_frames(
        &mut self,
        hub: &mut Hub<Message, Record>,
        links: &mut [LeafLink],
        leaf: usize,
    ) -> Result<bool, Halt> {
        let waits = links[leaf].waits;
        let first = match self.wait_for_frame(hub, links, leaf).await? {
            Ok(up) => up,
            Err(error) => return Err(self.handle_lost(hub, links, leaf, error)),
        };
        let mut next = Some(first);
        let before = links[leaf].bytes_up;
        while let Some(up) = next {
            let journal = self.watch.returns.as_mut().map(|returns| &mut returns.journal);
            let journaled = journal.map(|journal| journal.append_up(hub.batches(), leaf, &links[leaf].last));
            // Even if the disk is full: the leaf's last frames continue this one.
            hub.receive(leaf, up).map_err(|breach| self.breach_failure(&breach, links))?;
            journaled.transpose()?;
            // A leaf that never stops sending must not keep the log from being passed on.
            if links[leaf].bytes_up - before >= BYTES_AT_ONCE {
                break;
            }
            next = match links[leaf].ready_frame() {
                Ok(up) => up,
                Err(error) => return Err(self.handle_lost(hub, links, leaf, error)),
            };
        }
        Ok(links[leaf].waits > waits)
    }

    /// Waits for a frame of this leaf, unless an outside event ends the run.
    async fn wait_for_frame(
        &mut self,
        hub: &Hub<Message, Record>,
        links: &mut [LeafLink],
        leaf: usize,
    ) -> Result<Result<Up<Message, Record>, LinkError>, Halt> {
        if let Some(up) = links[leaf].pop_backlog() {
            return Ok(Ok(up));
        }
        let (end, waited) = self.guard_leaf(hub, leaf, links[leaf].read_frame()).await;
        if let Some(waited) = waited {
            links[leaf].waits += 1;
            links[leaf].blocked += waited;
            // Traces each wait with its cause, to find waits that no message requires.
            tracing::trace!(leaf = links[leaf].label, cause = hub.wait_cause(leaf), "wait");
        }
        end.map_err(|end| self.halt_for(end, hub, links))
    }

    /// Runs a future that needs this leaf until it is done, the run is ended from outside, or nothing moves any more.
    /// Returns the waiting time. None if it was done at once.
    async fn guard_leaf<T>(
        &mut self,
        hub: &Hub<Message, Record>,
        leaf: usize,
        doing: impl Future<Output = T>,
    ) -> (Result<T, OutsideEnd>, Option<Duration>) {
        // Its loss may have been reported during a wait for another leaf.
        if let Some(at) = self.missing.iter().position(|gone| self.processes[leaf].is_gone(gone))
            && !hub.has_finished(leaf)
        {
            return (Err(OutsideEnd::Gone(leaf, self.missing.swap_remove(at).why)), None);
        }
        let mut doing = pin!(doing);
        let mut since = None;
        let end = loop {
            let event = std::future::poll_fn(|context| {
                if let Poll::Ready(done) = doing.as_mut().poll(context) {
                    return Poll::Ready(HubEvent::Done(done));
                }
                since.get_or_insert_with(Instant::now);
                if let Poll::Ready(Some(failure)) = self.watch.interruptions.poll_recv(context) {
                    return Poll::Ready(HubEvent::Interruption(failure));
                }
                if let Some(returns) = &mut self.watch.returns
                    && let Poll::Ready(Some(gone)) = returns.gone.poll_recv(context)
                {
                    return Poll::Ready(HubEvent::Gone(gone));
                }
                self.stall.as_mut().poll(context).map(|()| HubEvent::Alarm)
            });
            match event.await {
                HubEvent::Done(done) => break Ok(done),
                HubEvent::Interruption(failure) => break Err(OutsideEnd::Interruption(failure)),
                HubEvent::Gone(gone) if self.processes[leaf].is_gone(&gone) && !hub.has_finished(leaf) => {
                    break Err(OutsideEnd::Gone(leaf, gone.why));
                }
                // An abandoned write would leave an incomplete frame on another leaf's stream.
                HubEvent::Gone(gone) => self.missing.push(gone),
                HubEvent::Alarm => {
                    let carried = self.watch.carried.load(Ordering::Relaxed);
                    let reached = Reached { run: hub.progress(), carried, clocks: progress::sum_clocks(&self.clocks) };
                    let before = std::mem::replace(&mut self.reached, reached);
                    if !reached.is_beyond(&before, self.watch.stall_after) {
                        break Err(OutsideEnd::Stall);
                    }
                    self.stall.as_mut().reset(tokio::time::Instant::now() + self.watch.stall_after);
                }
            }
        };
        (end, since.map(|since| since.elapsed()))
    }

    fn halt_for(&self, end: OutsideEnd, hub: &Hub<Message, Record>, links: &[LeafLink]) -> Halt {
        match end {
            OutsideEnd::Interruption(failure) => place_in_time(failure, hub, links).into(),
            OutsideEnd::Gone(leaf, why) => Halt::Lost(leaf, explain_loss(hub, links, leaf, &why)),
            OutsideEnd::Stall => Failure::Stalled(explain_stall(hub, links, self.watch.stall_after)).into(),
        }
    }

    /// After an early end: lets leaves that still answer send their last frames.
    async fn wind_up(&mut self, hub: &mut Hub<Message, Record>, links: &mut [LeafLink]) {
        hub.stop(&mut |leaf, down: Down<Message>| {
            // It follows the frames that are not written yet: without their messages the leaf would act wrongly.
            let link = &mut links[leaf];
            link.is_torn |= quic::encode_in_pieces(down, Down::cut, &mut link.outgoing).is_err();
        });
        let last_words = async {
            for link in links.iter_mut().filter(|link| !link.is_torn) {
                // A leaf that does not read must not delay the others.
                let _ = tokio::time::timeout(WIND_UP_WITHIN / 8, link.write()).await;
            }
            for leaf in hub.blockers() {
                while hub.is_blocker(leaf) && !links[leaf].is_torn {
                    let Ok(up) = links[leaf].read_frame().await else { break };
                    if hub.receive(leaf, up).is_err() {
                        break;
                    }
                }
            }
        };
        let _ = tokio::time::timeout(WIND_UP_WITHIN, last_words).await;
    }

    /// Reports the progress, and takes the records of the hub into the log.
    fn report_progress(&mut self, hub: &mut Hub<Message, Record>) {
        let [records, ahead] = hub.take_logs();
        (self.watch.progress)(hub.done().time.min(hub.now().time), hub.events(), &records);
        self.log.add(0, records);
        self.log.add(1, ahead);
        (2..).zip(hub.take_leaf_logs()).for_each(|(place, log)| self.log.add(place, log));
    }

    fn breach_failure(&self, breach: &Breach, links: &[LeafLink]) -> Failure {
        Failure::of_breach(breach, self.watch.names, |leaf| {
            links.get(leaf).map_or_else(|| format!("leaf {leaf}"), |link| link.label.clone())
        })
    }
}

enum HubEvent<T> {
    Done(T),
    Interruption(Failure),
    Gone(LostProcess),
    Alarm,
}

/// Outside events that end a wait.
enum OutsideEnd {
    Interruption(Failure),
    /// This leaf is lost, with the reason.
    Gone(usize, String),
    Stall,
}
