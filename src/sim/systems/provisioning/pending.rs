//! The answers that sites owe a user. Each question, claim and order has one answer, which is sent at once.
//!
//! So the user knows when an answer has to arrive, and which answers are valid. A site that is silent, answers twice or
//! sends an invalid answer has broken its contract.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::world::Provider;
use crate::grid::{Advert, Area, BookingId, Denial, HoldId, JobId, Part, Quote, Receipt, TaskId};
use crate::protocol::{Fault, HoldStep, Informed, Query, Reply};
use crate::roles::Out;
use crate::time::{Span, Time};

/// Identity of an answer; providers are numbers of sites.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PendingKey {
    /// The answer to a question or a claim, by its number.
    Answer(usize, u64),
    Pledge(usize, HoldId, HoldStep),
    Return(usize, BookingId),
    Recall(usize, TaskId),
}

/// The subject of a request to a site.
#[derive(Clone, Debug)]
pub enum RequestKind {
    /// A query, with the time for which its user does not act on the answer.
    Query(Query, Span),
    /// A claim to these parts at these fees.
    Claim(Vec<(Part, Area)>),
    /// An order, which is only confirmed.
    Action,
}

/// Job and subject of an answer.
pub type PendingReply = (JobId, RequestKind);

#[derive(Default)]
pub struct PendingReplies {
    /// The open questions. The same question may be asked again before it is answered.
    open: BTreeMap<PendingKey, VecDeque<Since>>,
    due: BTreeSet<(Time, PendingKey)>,
    /// The next time at which overdue answers are looked for.
    watch: Option<Time>,
}

struct Since {
    asked: Time,
    by: Time,
    pending: PendingReply,
}

impl PendingReplies {
    pub fn add(&mut self, asked: Time, by: Time, key: PendingKey, pending: PendingReply, out: &mut Out) {
        self.open.entry(key).or_default().push_back(Since { asked, by, pending });
        self.due.insert((by, key));
        self.check_after(by, out);
    }

    /// Settles an answer: the time and the subject of its question. None if no question is open.
    pub fn take(&mut self, key: PendingKey) -> Option<(Time, PendingReply)> {
        let open = self.open.get_mut(&key)?;
        let Since { asked, by, pending } = open.pop_front()?;
        if open.is_empty() {
            self.open.remove(&key);
        }
        // Two questions of the same time are due at the same time.
        if self.open.get(&key).is_none_or(|open| open.iter().all(|since| since.by != by)) {
            self.due.remove(&(by, key));
        }
        Some((asked, pending))
    }

    /// A provider whose answer should have arrived before now.
    pub fn find_overdue(&mut self, now: Time, out: &mut Out) -> Option<usize> {
        if self.watch.is_none_or(|watch| watch > now) {
            return None;
        }
        self.watch = None;
        let (by, key) = *self.due.first()?;
        if by < now {
            return Some(key.provider());
        }
        self.check_after(by, out);
        None
    }

    pub fn forget(&mut self) {
        self.open.clear();
        self.due.clear();
    }

    /// An answer that is due at a time may arrive at any step of it, so the check comes later. Its timer is quiet: the
    /// user sends nothing in reaction, so the hub need not wait for it.
    fn check_after(&mut self, by: Time, out: &mut Out) {
        let at = by + Span::from_micros(1);
        if self.watch.is_none_or(|watch| watch > at) {
            self.watch = Some(at);
            out.wake_quietly_at(at, 0);
        }
    }
}

impl PendingKey {
    fn provider(&self) -> usize {
        match self {
            PendingKey::Answer(provider, _)
            | PendingKey::Pledge(provider, ..)
            | PendingKey::Return(provider, _)
            | PendingKey::Recall(provider, _) => *provider,
        }
    }
}

impl RequestKind {
    /// Checks that an answer answers this request.
    pub fn is_answered_by(&self, informed: &Informed, provider: &Provider) -> Result<(), Fault> {
        let RequestKind::Query(query, quiet_for) = self else { return Err(Fault::Senseless) };
        let makes_sense = match (query, &informed.reply) {
            (Query::Load, Reply::Load(_)) => true,
            (Query::Slots, Reply::Slots(advert)) => is_advert(advert, provider),
            (Query::Price(part), Reply::Prices(quote)) => {
                is_quote(quote, (part.procs, part.span), provider)
                    && quote.offers.iter().all(|offer| offer.start == part.start)
            }
            (Query::Prices { procs, span }, Reply::Prices(quote)) => is_quote(quote, (*procs, *span), provider),
            (Query::PricesFrom(part), Reply::Prices(quote)) => {
                is_quote(quote, (part.procs, part.span), provider)
                    && quote.offers.iter().all(|offer| offer.start >= part.start)
            }
            (Query::Price(_) | Query::Prices { .. } | Query::PricesFrom(_), Reply::Denied(_)) => true,
            (Query::Chances { .. }, Reply::Chances(chances)) => {
                chances.iter().all(|chance| (0.0..=1.0).contains(chance))
            }
            _ => false,
        };
        if makes_sense && informed.quiet_for == *quiet_for { Ok(()) } else { Err(Fault::Senseless) }
    }

    /// Checks that the result is what was claimed, or a denial.
    pub fn is_granted_by(&self, result: &Result<Vec<Receipt>, Denial>, provider: &Provider) -> Result<(), Fault> {
        let RequestKind::Claim(wanted) = self else { return Err(Fault::Senseless) };
        let Ok(receipts) = result else { return Ok(()) };
        let is_all = receipts.len() == wanted.len()
            && receipts.iter().zip(wanted).all(|(receipt, (part, fee))| {
                receipt.part == *part && receipt.fee == *fee && receipt.rent == provider.tariff.cost(part)
            });
        if is_all { Ok(()) } else { Err(Fault::Senseless) }
    }
}

fn is_advert(advert: &Advert, provider: &Provider) -> bool {
    advert.tariff == provider.tariff
        && advert.slots.iter().all(|slot| {
            slot.whole().check().is_ok()
                && slot.procs <= provider.cores
                && slot.rate == provider.tariff.at(slot.start)
                && slot.fee == provider.charge
        })
}

/// Checks that each start occurs once, in ascending order, at the known prices of the site, and that no fee is below
/// its charge.
fn is_quote(quote: &Quote, wanted: (u32, Span), provider: &Provider) -> bool {
    let Quote { procs, span, tariff, offers, .. } = quote;
    (*procs, *span) == wanted
        && *tariff == provider.tariff
        && offers.is_sorted_by(|one, other| one.start < other.start)
        && offers.iter().all(|offer| {
            Part { procs: *procs, start: offer.start, span: *span }.check().is_ok() && offer.fee >= provider.charge
        })
}
