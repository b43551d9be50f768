//! Return of lost leaves: a leaf starts from the beginning in a new process, is sent its mail again from the journal,
//! and repeats its frames, which are only compared. Then the run continues.
//!
//! Costs: one pass over the journal for any number of returning leaves, and memory for some frames per leaf.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::task::Poll;
use std::time::{Duration, Instant};

use tokio::sync::mpsc;

use super::super::journal::{Journal, Pages};
use super::super::quic::{self, Close, Listener};
use super::super::{Failure, err};
use super::leaf_link::{LeafLink, LinkError};
use super::progress::{self, explain_loss, place_in_time};
use super::{Halt, HubDriver, LOG_WORTH};
use hansa_sim::kernel::Hub;
use hansa_sim::protocol::{Message, Record};
use hansa_sim::recovery::journal::Item;
use hansa_sim::recovery::{Divergence, Rehearsal, Repeats};
use hansa_sim::settings::format_counted;

/// All that a run needs to let lost processes return.
pub struct Returns<'w> {
    pub journal: Journal,
    pub door: &'w mut Listener,
    /// Lost processes, as a launcher reports them.
    pub gone: &'w mut mpsc::UnboundedReceiver<LostProcess>,
    /// Longest wait for a lost process.
    pub patience: Duration,
    /// True if the journal is that of an earlier router, and the run continues from it.
    pub goes_on: bool,
}

/// A lost process, and the reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LostProcess {
    pub label: String,
    /// Its number, as another process may have taken its place before its end is reported.
    pub process: u32,
    pub why: String,
}

/// The present process of a leaf.
pub(super) struct LeafProcess {
    pub label: String,
    pub process: u32,
}

impl LeafProcess {
    pub fn of_link(link: &LeafLink) -> LeafProcess {
        LeafProcess { label: link.label.clone(), process: link.process }
    }

    pub fn is_gone(&self, gone: &LostProcess) -> bool {
        (&self.label, self.process) == (&gone.label, gone.process)
    }
}

/// Items of a journal between two checks for outside events.
const ITEMS_PER_LOOK: u64 = 1024;

/// Number of losses of a leaf without progress of the run after which it is given up.
const LOSSES_MAX: u32 = 5;

/// Bytes of the journal that are sent, and compared, at a time.
const BYTES_AT_ONCE: usize = 2 << 20;

const MAY_RETURN: &str = "recovery runs only where leaves may return";

/// Number of losses of each leaf at one state of the run, given as its events and the frames of leaves.
pub(super) type Losses = BTreeMap<usize, ((u64, u64), u32)>;

impl HubDriver<'_, '_, '_> {
    /// Decides on a leaf whose connection has failed.
    pub(super) fn handle_lost(
        &mut self,
        hub: &Hub<Message, Record>,
        links: &[LeafLink],
        leaf: usize,
        error: LinkError,
    ) -> Halt {
        let may_come_back = self.watch.returns.is_some() && error.may_pass();
        // The launcher may know more about the end of the process than its connection shows.
        if may_come_back && let Some(gone) = self.reported_loss(leaf) {
            return Halt::Lost(leaf, explain_loss(hub, links, leaf, &gone.why));
        }
        let failure = progress::lost_leaf_failure(hub, links, leaf, error);
        if may_come_back { Halt::Lost(leaf, failure) } else { Halt::Failure(failure) }
    }

    /// Takes the launcher's report about the end of this leaf's process, if it has arrived.
    fn reported_loss(&mut self, leaf: usize) -> Option<LostProcess> {
        let returns = self.watch.returns.as_mut()?;
        while let Ok(gone) = returns.gone.try_recv() {
            self.missing.push(gone);
        }
        let at = self.missing.iter().position(|gone| self.processes[leaf].is_gone(gone))?;
        Some(self.missing.swap_remove(at))
    }

    /// Handles losses that the launcher has reported.
    pub(super) fn handle_reported_losses(
        &mut self,
        hub: &Hub<Message, Record>,
        links: &[LeafLink],
    ) -> Result<(), Halt> {
        let Some(returns) = &mut self.watch.returns else { return Ok(()) };
        while let Some(gone) = self.missing.pop().or_else(|| returns.gone.try_recv().ok()) {
            if let Some(leaf) = lost_leaf(hub, &self.processes, &gone) {
                return Err(Halt::Lost(leaf, explain_loss(hub, links, leaf, &gone.why)));
            }
        }
        Ok(())
    }

    /// Takes the hub to the state of an earlier router, and then all leaves.
    pub(super) fn go_on_from_before(
        &mut self,
        hub: &mut Hub<Message, Record>,
        links: &mut [LeafLink],
    ) -> Result<(), Failure> {
        let Some(returns) = self.watch.returns.as_mut().filter(|returns| returns.goes_on) else { return Ok(()) };
        let since = Instant::now();
        let mut pages = returns.journal.read_pages()?;
        let mut rehearsal = Rehearsal::default();
        let mut items = 0;
        while let Some(item) = pages.next()? {
            let played = rehearsal.play(hub, item);
            // Without an answer of its program, the router does not repeat what it did.
            if let Some(failure) = self.watch.fault.find_end(self.watch.interruptions) {
                return Err(place_in_time(failure, hub, links));
            }
            played.map_err(|departure| {
                Failure::Breach(format!(
                    "the router cannot be brought back to where it was: {departure}; is something not deterministic?"
                ))
            })?;
            items += 1;
            if items % ITEMS_PER_LOOK == 0 {
                self.report_progress(hub);
                if self.log.waiting() >= self.worth {
                    self.pass_on_before(hub.settled())?;
                    self.worth = self.log.waiting() + LOG_WORTH;
                }
                self.kept.run_ready_tasks();
                if let Ok(failure) = self.watch.interruptions.try_recv() {
                    return Err(place_in_time(failure, hub, links));
                }
            }
        }
        let journal = &mut self.watch.returns.as_mut().expect("it was there").journal;
        for (leaf, frame) in rehearsal.unwritten() {
            journal.append_down(leaf, &frame);
        }
        let here = since.elapsed();
        if links.is_empty() {
            let seconds = here.as_secs_f64();
            err::note(&format!(
                "the run was over at virtual time {}; the router took {seconds:.1} s to repeat it",
                hub.now().time
            ));
            return match hub.finished() {
                true => Ok(()),
                false => Err(Failure::Internal("the journal of a run that has ended is incomplete".to_owned())),
            };
        }
        let everybody: Vec<usize> = (0..links.len()).collect();
        let mut lost = BTreeMap::new();
        let kept = self.kept;
        let repeated = kept.block_on(self.catch_up(hub, links, &everybody, &mut lost))?;
        err::note(&format!(
            "the run goes on at virtual time {}: the router took {:.1} s to repeat its part, and its members another {:.1} s to repeat {}",
            hub.now().time,
            here.as_secs_f64(),
            since.elapsed().saturating_sub(here).as_secs_f64(),
            format_counted(repeated.values().sum::<u64>(), "frame")
        ));
        self.stall.as_mut().reset(tokio::time::Instant::now() + self.watch.stall_after);
        match lost.is_empty() {
            true => Ok(()),
            false => self.recover_lost(hub, links, lost),
        }
    }

    /// Waits until all lost leaves have returned and caught up, including those that are lost meanwhile.
    pub(super) fn recover_lost(
        &mut self,
        hub: &Hub<Message, Record>,
        links: &mut [LeafLink],
        mut lost: BTreeMap<usize, Failure>,
    ) -> Result<(), Failure> {
        let kept = self.kept;
        while !lost.is_empty() {
            let since = Instant::now();
            kept.block_on(self.wait_for(hub, links, &mut lost))?;
            let back: Vec<usize> = std::mem::take(&mut lost).into_keys().collect();
            let repeated = kept.block_on(self.catch_up(hub, links, &back, &mut lost))?;
            for leaf in back.iter().filter(|leaf| !lost.contains_key(leaf)) {
                let seconds = since.elapsed().as_secs_f64();
                let label = &links[*leaf].label;
                let frames = repeated[leaf];
                err::note(&format!(
                    "{label} is back after {seconds:.1} s: it has repeated {}",
                    format_counted(frames, "frame")
                ));
            }
        }
        self.stall.as_mut().reset(tokio::time::Instant::now() + self.watch.stall_after);
        Ok(())
    }

    /// Waits until all lost leaves have joined again.
    async fn wait_for(
        &mut self,
        hub: &Hub<Message, Record>,
        links: &mut [LeafLink],
        lost: &mut BTreeMap<usize, Failure>,
    ) -> Result<(), Failure> {
        // Losses that were reported during a wait for another leaf.
        for gone in std::mem::take(&mut self.missing) {
            if let Some(leaf) = lost_leaf(hub, &self.processes, &gone) {
                lost.entry(leaf).or_insert_with(|| explain_loss(hub, links, leaf, &gone.why));
            }
        }
        let mut deadlines = BTreeMap::new();
        for (leaf, failure) in lost.iter() {
            deadlines.insert(*leaf, self.expect_return(hub, links, *leaf, failure)?);
        }
        let mut here = BTreeMap::new();
        while here.len() < lost.len() {
            let missed = deadlines.iter().filter(|(leaf, _)| !here.contains_key(*leaf));
            let (&late, &deadline) = missed.min_by_key(|(_, deadline)| **deadline).expect("a lost leaf is missing");
            let returns = self.watch.returns.as_mut().expect(MAY_RETURN);
            tokio::select! {
                biased;
                Some(failure) = self.watch.interruptions.recv() => return Err(place_in_time(failure, hub, links)),
                Some(gone) = returns.gone.recv() => {
                    let Some(leaf) = lost_leaf(hub, &self.processes, &gone) else { continue };
                    // The loss is known already.
                    if lost.contains_key(&leaf) && !here.contains_key(&leaf) {
                        continue;
                    }
                    here.remove(&leaf);
                    let failure = explain_loss(hub, links, leaf, &gone.why);
                    deadlines.insert(leaf, self.expect_return(hub, links, leaf, &failure)?);
                    lost.insert(leaf, failure);
                }
                peer = returns.door.next_returned() => {
                    let Some(leaf) = links.iter().position(|link| link.parties == peer.parties) else { continue };
                    self.processes[leaf].process = peer.process;
                    here.insert(leaf, peer);
                    // The process may have returned before its loss was noticed.
                    let replaced = || explain_loss(hub, links, leaf, "another process has taken its place");
                    lost.entry(leaf).or_insert_with(replaced);
                }
                () = tokio::time::sleep_until(deadline) => {
                    let patience = returns.patience.as_secs_f64();
                    let text = format!("{}\n  it has not come back within {patience} s", lost[&late]);
                    return Err(Failure::LostPeer { label: links[late].label.clone(), text });
                }
            }
        }
        for (leaf, peer) in here {
            links[leaf].replace_process(peer);
        }
        Ok(())
    }

    /// Allows a lost leaf to return, unless it was lost too often. Returns the deadline.
    fn expect_return(
        &mut self,
        hub: &Hub<Message, Record>,
        links: &[LeafLink],
        leaf: usize,
        failure: &Failure,
    ) -> Result<tokio::time::Instant, Failure> {
        let link = &links[leaf];
        let returns = self.watch.returns.as_ref().expect(MAY_RETURN);
        link.connection.close(Close::Dropped, "");
        returns.door.vacate_seats(&link.parties, &link.connection);

        let place = (hub.events(), hub.progress().received);
        let (at, count) = self.losses.entry(leaf).or_insert_with(|| (place, 0));
        *count = if *at == place { *count + 1 } else { 1 };
        *at = place;
        let text = failure.to_string();
        if *count > LOSSES_MAX {
            let text = format!(
                "{text}\n  it was lost {} before the run made any progress",
                format_counted((*count).into(), "time")
            );
            return Err(Failure::LostPeer { label: link.label.clone(), text });
        }
        let first = text.lines().next().unwrap_or_default();
        err::note(&format!("{first}; waiting up to {} s for it to come back", returns.patience.as_secs_f64()));
        Ok(tokio::time::Instant::now() + returns.patience)
    }

    /// Sends returning leaves their mail again, and compares their frames. A leaf that is lost meanwhile is added to
    /// `lost`. Returns the number of repeated frames per leaf.
    async fn catch_up(
        &mut self,
        hub: &Hub<Message, Record>,
        links: &mut [LeafLink],
        back: &[usize],
        lost: &mut BTreeMap<usize, Failure>,
    ) -> Result<BTreeMap<usize, u64>, Failure> {
        let end = self.repeat_mail(hub, links, back, lost).await;
        if let Err(failure) = &end {
            // A leaf that has not caught up does not know the time at which the run ends.
            let reason = failure.to_string();
            let reason = reason.lines().next().unwrap_or_default();
            back.iter().for_each(|leaf| links[*leaf].connection.close(Close::Stopped, reason));
        }
        end
    }

    async fn repeat_mail(
        &mut self,
        hub: &Hub<Message, Record>,
        links: &mut [LeafLink],
        back: &[usize],
        lost: &mut BTreeMap<usize, Failure>,
    ) -> Result<BTreeMap<usize, u64>, Failure> {
        let mut pages = self.watch.returns.as_mut().expect(MAY_RETURN).journal.read_pages()?;
        let mut repeats: BTreeMap<usize, Repeats> = back.iter().map(|leaf| (*leaf, Repeats::default())).collect();
        let mut more = true;
        while more {
            more = read_piece(&mut pages, hub, links, &mut repeats)?;
            for (leaf, end) in self.repeat_piece(hub, links, back, &mut repeats).await? {
                match end {
                    Ok(()) => {}
                    Err(LinkError::Different(different)) => return Err(different_now(hub, links, leaf, different)),
                    Err(error) if error.may_pass() => {
                        repeats.remove(&leaf);
                        links[leaf].clear_outgoing();
                        lost.insert(leaf, progress::lost_leaf_failure(hub, links, leaf, error));
                    }
                    Err(error) => return Err(progress::lost_leaf_failure(hub, links, leaf, error)),
                }
            }
        }
        let mut repeated = BTreeMap::new();
        for (leaf, repeats) in repeats {
            repeated.insert(leaf, repeats.repeated());
            for frame in repeats.into_new_frames() {
                links[leaf].keep_frame(frame).map_err(|error| progress::lost_leaf_failure(hub, links, leaf, error))?;
            }
        }
        Ok(repeated)
    }

    /// Sends returning leaves a piece of their mail, and compares their frames up to there. Returns the outcome for
    /// each leaf.
    async fn repeat_piece(
        &mut self,
        hub: &Hub<Message, Record>,
        links: &mut [LeafLink],
        back: &[usize],
        repeats: &mut BTreeMap<usize, Repeats>,
    ) -> Result<Vec<(usize, Result<(), LinkError>)>, Failure> {
        let returns = self.watch.returns.as_mut().expect(MAY_RETURN);
        let moved = Cell::new(0);
        let mut returned = repeats.iter_mut().peekable();
        let mut under_way = Vec::new();
        for (leaf, link) in links.iter_mut().enumerate() {
            if let Some((_, repeats)) = returned.next_if(|(back, _)| **back == leaf) {
                under_way.push((leaf, Box::pin(link.compare_repeats(repeats, &moved))));
            }
        }
        let mut ends = Vec::new();
        loop {
            let before = (moved.get(), progress::sum_clocks(&self.clocks));
            let all = std::future::poll_fn(|context| {
                under_way.retain_mut(|(leaf, doing)| match doing.as_mut().poll(context) {
                    Poll::Ready(end) => {
                        ends.push((*leaf, end));
                        false
                    }
                    Poll::Pending => true,
                });
                if under_way.is_empty() { Poll::Ready(()) } else { Poll::Pending }
            });
            tokio::select! {
                biased;
                () = all => return Ok(ends),
                Some(failure) = self.watch.interruptions.recv() => {
                    drop(under_way);
                    return Err(place_in_time(failure, hub, links));
                }
                Some(gone) = returns.gone.recv() => match back.iter().find(|leaf| self.processes[**leaf].is_gone(&gone)) {
                    Some(again) => {
                        under_way.retain(|(leaf, _)| leaf != again);
                        ends.push((*again, Err(LinkError::Gone(gone.why))));
                    }
                    None => self.missing.push(gone),
                },
                () = tokio::time::sleep(self.watch.stall_after) => {
                    let passed = progress::sum_clocks(&self.clocks) - before.1;
                    if moved.get() == before.0 && progress::is_creeping(passed, self.watch.stall_after) {
                        let label = |(leaf, _): &(usize, _)| self.processes[*leaf].label.as_str();
                        let label = under_way.iter().map(label).collect::<Vec<_>>().join(", ");
                        let quiet = self.watch.stall_after.as_secs_f64();
                        return Err(Failure::Stalled(format!(
                            "no frame has moved for {quiet} s: {label} came back but does not catch up"
                        )));
                    }
                }
            }
        }
    }
}

/// The leaf of a lost process. None if no leaf has this process, or if the leaf has finished.
fn lost_leaf(hub: &Hub<Message, Record>, processes: &[LeafProcess], gone: &LostProcess) -> Option<usize> {
    processes.iter().position(|process| process.is_gone(gone)).filter(|leaf| !hub.has_finished(*leaf))
}

/// Reads the next piece of the journal for returning leaves: their mail, and the frames to compare. Returns true if
/// there is more.
fn read_piece(
    pages: &mut Pages,
    hub: &Hub<Message, Record>,
    links: &mut [LeafLink],
    repeats: &mut BTreeMap<usize, Repeats>,
) -> Result<bool, Failure> {
    let mut bytes = 0;
    while bytes < BYTES_AT_ONCE {
        match pages.next()? {
            None => return Ok(false),
            Some(Item::Down { leaf, frame }) if repeats.contains_key(&leaf) => {
                quic::append_frame(frame, &mut links[leaf].outgoing)
                    .map_err(|error| Failure::Internal(format!("a frame of the journal: {error}")))?;
                bytes += frame.len();
            }
            Some(Item::Up { leaf, frame, .. }) => {
                if let Some(repeats) = repeats.get_mut(&leaf) {
                    repeats.push_expected(frame).map_err(|different| different_now(hub, links, leaf, different))?;
                    bytes += frame.len();
                }
            }
            Some(_) => {}
        }
    }
    Ok(true)
}

/// The failure of a returned leaf that answers the same input differently.
fn different_now(hub: &Hub<Message, Record>, links: &[LeafLink], leaf: usize, different: Divergence) -> Failure {
    Failure::Breach(format!(
        "{} is not deterministic: it came back at virtual time {}, received the same input as before, and answers differently; {different}",
        links[leaf].label,
        hub.now().time
    ))
}
