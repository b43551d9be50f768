//! Prices: what a reservation costs is what the queue would lose by it.

use super::Desk;
use super::bookings::Standing;
use crate::grid::{Area, Counts, Denial, Offer, Part, Quote, QuoteId, Receipt};
use crate::time::{Span, Time};

/// Which starts somebody wants prices for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// This one (Q17).
    At(Time),
    /// All at which something changes at the site (Q18).
    Any,
    /// This one, and all of those from then on (Q19).
    From(Time),
}

impl Desk {
    /// What so many processors for so long would cost, at each admissible start that is wanted.
    ///
    /// A start costs one pass of the planner, but for those where nobody of the queue would have to move; all together
    /// cost one more.
    pub fn price(&mut self, now: Time, procs: u32, span: Span, wanted: Wanted) -> Result<Quote, Denial> {
        self.reach(now);
        self.begin_reservations();
        self.check(&Part { procs, start: now, span })?;
        self.plan_afresh();

        let counts = [self.fixed_counts(), self.counts_with(&self.plan.afresh)];
        let mut offers = Vec::new();
        for start in self.starts(wanted) {
            let part = Part { procs, start, span };
            if part.check().is_ok() && counts[0].most(start, part.end()) + procs <= self.terms.procs {
                offers.push(Offer { start, fee: self.fee(&part, &counts[1]) });
            }
        }
        let id = QuoteId(self.next_quote);
        self.next_quote += 1;
        let quote = Quote { id, expiry: now + self.terms.quotes_last, procs, span, rate: self.terms.rate, offers };
        self.quotes.insert(id, quote.clone());
        Ok(quote)
    }

    /// Books one of the starts of a quote, at its fee, whatever it would cost now.
    pub fn book(&mut self, now: Time, quote: QuoteId, start: Time) -> Result<Receipt, Denial> {
        self.reach(now);
        self.begin_reservations();
        let quote = self.quotes.get(&quote).ok_or(Denial::QuoteGone)?;
        let offer = *quote.offers.iter().find(|offer| offer.start == start).ok_or(Denial::NotOffered)?;
        let part = Part { procs: quote.procs, start, span: quote.span };
        self.admit(&part).map_err(|_| Denial::QuoteOvertaken)?;
        let receipt = self.enter(part, offer.fee, Standing::Booked { since: now }, None);
        self.charge(&receipt);
        self.displaced_by(&part);
        Ok(receipt)
    }

    /// Ascending. Where the queue is planned to start or end counts too.
    fn starts(&self, wanted: Wanted) -> Vec<Time> {
        let from = match wanted {
            Wanted::At(start) => {
                let is_offered = self.now <= start && start <= Time::LATEST;
                return Some(start).filter(|_| is_offered).into_iter().collect();
            }
            Wanted::Any => self.now,
            Wanted::From(start) => start.max(self.now),
        };
        let fixed = self.plan.fixed.iter().flat_map(|fixed| [fixed.from, fixed.until]);
        let planned = self.queue.iter().zip(&self.plan.afresh);
        let planned = planned.flat_map(|(queued, start)| [*start, *start + queued.ask.walltime]);
        let mut starts: Vec<Time> = fixed.chain(planned).filter(|start| *start > from).chain([from]).collect();
        starts.retain(|start| *start <= Time::LATEST);
        starts.sort_unstable();
        starts.dedup();
        starts
    }

    /// What an admissible part costs beside the rate; `all` is what is busy with the queue as it is planned.
    fn fee(&mut self, part: &Part, all: &Counts) -> Area {
        if all.most(part.start, part.end()) + part.procs <= self.terms.procs {
            return Area::ZERO;
        }
        let mut moved = std::mem::take(&mut self.plan.moved);
        self.what_if(Some(part), &mut moved);
        let lost = self.queue.iter().zip(self.plan.afresh.iter().zip(&moved));
        let fee = lost.map(|(queued, (before, after))| Area::of(queued.ask.nodes, after.since(*before))).sum();
        self.plan.moved = moved;
        fee
    }

    /// As quoted, if there is such a quote, and else as of now.
    pub(super) fn fee_for(&mut self, part: &Part, quote: Option<QuoteId>) -> Area {
        let quote = quote.and_then(|id| self.quotes.get(&id));
        let quote = quote.filter(|quote| (quote.procs, quote.span) == (part.procs, part.span));
        if let Some(offer) = quote.and_then(|quote| quote.offers.iter().find(|offer| offer.start == part.start)) {
            return offer.fee;
        }
        self.plan_afresh();
        let all = self.counts_with(&self.plan.afresh);
        self.fee(part, &all)
    }

    /// Something has been entered: an exact plan goes on if nobody is in its way.
    pub(super) fn displaced_by(&mut self, part: &Part) {
        self.look();
        let moves_nobody = self.plan.starts.len() == self.queue.len()
            && self.all_counts().most(part.start, part.end()) <= self.terms.procs;
        if moves_nobody {
            self.plan.change(self.terms.mode);
        } else {
            self.plan.displace();
        }
    }
}
