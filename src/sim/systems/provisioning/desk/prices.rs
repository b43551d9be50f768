//! Prices: the fee of a reservation is the charge of the site, and the delay it would cause to the queue.

use super::Desk;
use super::bookings::BookingState;
use crate::grid::{Area, Counts, Denial, Offer, Part, Quote, QuoteId, Receipt};
use crate::time::{Span, Time};

/// The starts to be priced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WantedStarts {
    /// This start (Q17).
    At(Time),
    /// All starts at which something changes at the site (Q18).
    Any,
    /// This start, and all such starts after it (Q19).
    From(Time),
}

impl Desk {
    /// The price of `procs` processors for `span`, at each admissible start that is wanted.
    ///
    /// Each start costs one pass of the planner, except starts that move no job of the queue. All together cost one
    /// pass more.
    pub fn price(&mut self, now: Time, procs: u32, span: Span, wanted: WantedStarts) -> Result<Quote, Denial> {
        self.advance_to(now);
        self.begin_reservations();
        self.check(&Part { procs, start: now, span })?;
        self.plan_afresh();

        let counts = [self.fixed_counts(), self.counts_with(&self.plan.afresh)];
        let mut offers = Vec::new();
        for start in self.starts(wanted, span) {
            let part = Part { procs, start, span };
            if part.check().is_ok() && counts[0].most(start, part.end()) + procs <= self.terms.procs {
                offers.push(Offer { start, fee: self.fee(&part, &counts[1]) });
            }
        }
        let id = QuoteId(self.next_quote);
        self.next_quote += 1;
        let quote =
            Quote { id, expiry: now + self.terms.quotes_last, procs, span, tariff: self.terms.tariff.clone(), offers };
        self.quotes.insert(id, quote.clone());
        Ok(quote)
    }

    /// Books a start of a quote, at the quoted fee, even if the price has changed.
    pub fn book(&mut self, now: Time, quote: QuoteId, start: Time) -> Result<Receipt, Denial> {
        self.advance_to(now);
        self.begin_reservations();
        let quote = self.quotes.get(&quote).ok_or(Denial::QuoteGone)?;
        let offer = *quote.offers.iter().find(|offer| offer.start == start).ok_or(Denial::NotOffered)?;
        let part = Part { procs: quote.procs, start, span: quote.span };
        self.admit(&part).map_err(|_| Denial::QuoteOvertaken)?;
        let receipt = self.enter(part, offer.fee, BookingState::Booked { since: now }, None);
        self.charge(&receipt);
        self.outdate_plan_by(&part);
        Ok(receipt)
    }

    /// The starts to price, ascending. They include the planned starts and ends of the queue, and those at which the
    /// rent of this span may be lowest: it begins or ends when the price changes, in the day after the first start, or
    /// in that after the last change at the site.
    fn starts(&self, wanted: WantedStarts, span: Span) -> Vec<Time> {
        let from = match wanted {
            WantedStarts::At(start) => {
                let is_offered = self.now <= start && start <= Time::LATEST;
                return Some(start).filter(|_| is_offered).into_iter().collect();
            }
            WantedStarts::Any => self.now,
            WantedStarts::From(start) => start.max(self.now),
        };
        let fixed = self.plan.fixed.iter().flat_map(|fixed| [fixed.from, fixed.until]);
        let planned = self.queue.iter().zip(&self.plan.afresh);
        let planned = planned.flat_map(|(queued, start)| [*start, *start + queued.request.walltime]);
        let mut starts: Vec<Time> = fixed.chain(planned).filter(|start| *start > from).chain([from]).collect();
        let tariff = &self.terms.tariff;
        if !tariff.is_flat() {
            let last = starts.iter().copied().filter(|start| *start <= Time::LATEST).max().unwrap_or(from);
            for after in [from, last] {
                starts.extend(tariff.changes(after));
                starts.extend(tariff.changes(after + span).map(|end| Time::from_micros(end.micros() - span.micros())));
            }
        }
        starts.retain(|start| *start <= Time::LATEST);
        starts.sort_unstable();
        starts.dedup();
        starts
    }

    /// Fee of an admissible part beside the rate. `all` are the processors occupied, with the planned queue.
    fn fee(&mut self, part: &Part, all: &Counts) -> Area {
        if all.most(part.start, part.end()) + part.procs <= self.terms.procs {
            return self.terms.charge;
        }
        let mut moved = std::mem::take(&mut self.plan.moved);
        self.what_if(Some(part), &mut moved);
        let lost = self.queue.iter().zip(self.plan.afresh.iter().zip(&moved));
        let lost: Area =
            lost.map(|(queued, (before, after))| Area::of(queued.request.nodes, after.since(*before))).sum();
        self.plan.moved = moved;
        self.terms.charge + lost
    }

    /// The fee of the quote, if it is still valid, or else the present fee.
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

    /// Marks the plan as outdated after the booking of a part. An exact plan remains valid if the part moves no job.
    pub(super) fn outdate_plan_by(&mut self, part: &Part) {
        self.gather_inputs();
        let moves_no_job = self.plan.starts.len() == self.queue.len()
            && self.planned_counts().most(part.start, part.end()) <= self.terms.procs;
        if moves_no_job {
            self.plan.change(self.terms.mode);
        } else {
            self.plan.displace();
        }
    }
}
