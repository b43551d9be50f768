//! The records of a log about one job that a tally does not keep: bids, claims and bookings.

use std::io::BufRead;

use super::auctions::AuctionStory;
use super::bookings::BookingStory;
use crate::referee::events::next_line;
use crate::subjects::auctions::Auctions;
use crate::subjects::bargains::Bargaining;
use crate::{EventReader, Names, SummaryPart, Tally, Unreplayable};
use hansa_sim::grid::{JobId, Receipt};
use hansa_sim::kernel::ActorId;
use hansa_sim::protocol::{Bargain, CoreOffer, Reason, Record, Refusal, TaskBid};
use hansa_sim::time::Time;
use hansa_sim::topology::Topology;

/// The records about one job, in order. A second reading of the log collects them, so that a tally needs no memory for
/// records that only a story of one job wants.
#[derive(Clone, Debug)]
pub struct JobTrail {
    job: JobId,
    pub(super) auctions: Vec<SeenAuction>,
    pub(super) claims: Vec<Claim>,
    /// The end of its negotiation.
    pub(super) end: Option<(Time, Bargain, Option<Reason>)>,
}

/// An auction in which tasks of the job bid.
#[derive(Clone, Debug)]
pub(super) struct SeenAuction {
    pub time: Time,
    pub offers: Vec<CoreOffer>,
    /// All bids, the best first.
    pub bids: Vec<TaskBid>,
}

/// The answer of a site to a claim for the job.
#[derive(Clone, Copy, Debug)]
pub(super) struct Claim {
    pub time: Time,
    pub site: ActorId,
    pub outcome: ClaimOutcome,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum ClaimOutcome {
    Booked(Receipt),
    Denied(Refusal),
}

impl JobTrail {
    /// Reads the log from its begin to its end.
    pub fn read(names: &Names, job: JobId, mut events: impl BufRead) -> Result<JobTrail, Unreplayable> {
        let reader = EventReader::new(names);
        let mut trail = JobTrail { job, auctions: Vec::new(), claims: Vec::new(), end: None };
        let mut text = Vec::new();
        let mut line = 0;
        while next_line(&mut events, &mut text)? {
            line += 1;
            let entry = reader.read_line(&text).map_err(|wrong| Unreplayable::Unreadable { line, wrong })?;
            trail.add(entry.stamp.time, entry.actor, entry.record);
        }
        Ok(trail)
    }

    fn add(&mut self, time: Time, actor: ActorId, record: Record) {
        match record {
            Record::Auctioned { offers, bids } if bids.iter().any(|bid| bid.task.job == self.job) => {
                self.auctions.push(SeenAuction { time, offers, bids });
            }
            Record::Booked { job, receipt, .. } if job == self.job => {
                self.claims.push(Claim { time, site: actor, outcome: ClaimOutcome::Booked(receipt) });
            }
            Record::Denied { job, why, .. } if job == self.job => {
                self.claims.push(Claim { time, site: actor, outcome: ClaimOutcome::Denied(why) });
            }
            Record::Bargained { job, end, why } if job == self.job => self.end = Some((time, end, why)),
            _ => {}
        }
    }

    /// True if a run has records that only a trail keeps: auctions, or negotiations.
    pub fn is_wanted(tally: &Tally) -> bool {
        let parts = [Bargaining::NAME, Auctions::NAME];
        tally.subjects.iter().any(|present| parts.contains(&present.subject.part))
    }

    /// The auctions of one task, or of all tasks of the job. None if no system records its auctions.
    pub(super) fn auction_story(
        &self,
        tally: &Tally,
        topology: &Topology,
        task: Option<usize>,
    ) -> Option<AuctionStory> {
        let unit = topology.systems.iter().find_map(|system| system.recorded_bids())?;
        AuctionStory::of(tally, self, self.job, task, unit)
    }

    pub(super) fn booking_story(&self, tally: &Tally) -> Option<BookingStory> {
        BookingStory::of(tally, self, self.job)
    }
}
