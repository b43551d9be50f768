//! Offers of sites to a market that is cleared by messages: how many, and their age when tasks are given away.

mod account;
mod figures;
mod records;
mod tally;

use self::account::OfferAccount;
pub use self::figures::Offers;
use self::figures::{METRICS, lines};
use self::tally::OfferTally;
use super::{PLAIN, Subject, SubjectReport};
use crate::markup::{Html, html};
use crate::present::page::Page;
use crate::results::account::Account;
use crate::{SummaryPart, Tally};
use hansa_sim::numerals::{format_counted, format_span};
use hansa_sim::topology::Topology;

pub const SUBJECT: Subject = Subject {
    systems: &["market"],
    part: Offers::NAME,
    section: ("offers", "Offers of sites"),
    open,
    lines,
    metrics: METRICS,
    records: Some(records::RECORDS),
    tally: Some(|_, book| Box::new(OfferTally::new(&book.sites))),
    ..PLAIN
};

#[derive(Debug)]
struct OfferReport;

fn open(topology: &Topology, systems: Vec<u32>) -> Option<Box<dyn SubjectReport>> {
    let offers = systems.iter().any(|system| topology.systems[*system as usize].offers_every().is_some());
    if offers { Some(Box::new(OfferReport)) } else { None }
}

impl SubjectReport for OfferReport {
    fn open_account<'a>(&'a self, tally: &'a Tally, _: bool) -> Box<dyn Account + 'a> {
        Box::new(OfferAccount(tally))
    }

    fn page_section(&self, page: &Page<'_>) -> Html {
        let Some(Offers { offers, given, age_mean, age_max }) = page.results.read_part() else {
            return Html::default();
        };
        html!(
            "<p>Sites sent {}. When a task was given to a site ({}), the last offer of that site was {} old on average and \
             {} at most. An offer may be old because nothing has changed.</p>\n",
            format_counted(offers, "offer"),
            format_counted(given, "time"),
            format_span(age_mean),
            format_span(age_max)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::super::auctions::tests::{played, tallied};
    use super::*;
    use crate::{Inconsistent, RecordError, Status, Witness};
    use hansa_sim::kernel::{ActorId, Entry, Envelope};
    use hansa_sim::protocol::{Message, Record, SiteOffer};
    use hansa_sim::time::{Span, Stamp};
    use hansa_sim::topology::Roster;

    /// One site of 4 cores. The first job takes all of them for 7 min, which are offered at 10 min.
    const TOPOLOGY: &str = r#"
name = "by-hand"
[market]
clearing = "messages"
offers_every = "5 min"
[[site]]
name = "york"
cores = 4
[[user]]
name = "ada"
[[workload]]
source = "table"
job = [
    { tasks = [{ runtime = "7 min", cores = 4 }] },
    { arrive = "1 min", tasks = [{ runtime = "2 min", cores = 1 }] },
]
"#;

    #[test]
    fn a_summary_has_the_age_of_offers() {
        let (topology, log) = played(TOPOLOGY);
        let summary = tallied(&topology, &log).summary(0, Status::Complete, String::new());
        let offers = Offers { offers: 3, given: 2, age_mean: 0.0, age_max: 0.0 };
        assert_eq!(summary.read_part::<Offers>(), Some(offers));
        let view = summary.view.unwrap();
        // Three minutes on 4 cores, and then on 1 core, as the second job ends at 12 min.
        assert_eq!((view.lag_mean, view.unseen), (180.0, 5.0 * 180.0));
        let (direct, log) = played(&TOPOLOGY.replace("messages", "direct").replace("offers_every = \"5 min\"", ""));
        assert_eq!(tallied(&direct, &log).summary(0, Status::Complete, String::new()).read_part::<Offers>(), None);
    }

    /// Refusal of an entry with another record.
    fn refusal(topology: &Topology, log: &[Entry<Record>], at: usize, record: Record) -> Option<Inconsistent> {
        match tallied(topology, &log[..at]).add(&Entry { record, ..log[at].clone() }) {
            Err(RecordError::Inconsistent(wrong)) => Some(wrong),
            added => added.map(|()| None).unwrap(),
        }
    }

    #[test]
    fn offers_that_contradict_the_log_are_refused() {
        let (topology, log) = played(TOPOLOGY);
        let at = log.iter().rposition(|entry| matches!(entry.record, Record::Offered { .. })).unwrap();
        assert_eq!(log[at].record, Record::Offered { idle: 4, waiting: 0, received: 2 });
        let accused =
            |idle, waiting, received| refusal(&topology, &log, at, Record::Offered { idle, waiting, received });
        let york = Some(Inconsistent::FalseOffer("york".to_owned()));
        assert_eq!(accused(4, 0, 2), None);
        for (idle, waiting, received) in [(5, 0, 2), (3, 0, 2), (4, 0, 1), (4, 0, 3), (4, 1, 2), (u32::MAX, 0, 2)] {
            assert_eq!(accused(idle, waiting, received), york, "{idle}, {waiting}, {received}");
        }
        // A site of a market without offers sends none.
        let (direct, log) = played(&TOPOLOGY.replace("messages", "direct").replace("offers_every = \"5 min\"", ""));
        let at = log.iter().position(|entry| matches!(entry.record, Record::Started { .. })).unwrap();
        assert_eq!(refusal(&direct, &log, at, Record::Offered { idle: 4, waiting: 0, received: 0 }), york);
    }

    #[test]
    fn an_offer_that_the_router_has_not_received_at_that_time_is_refused() {
        let (topology, log) = played(TOPOLOGY);
        let first = log.iter().find(|entry| matches!(entry.record, Record::Offered { .. })).unwrap();
        let roster = Roster::of_topology(&topology);
        let sent = |offer: Option<SiteOffer>, micros: u64| {
            let witness = Witness::new(roster.latencies.clone(), &[vec![first.actor]]);
            if let Some(offer) = offer {
                let message = Message::SiteOffer(offer);
                let latency = roster.latencies[first.actor.index()];
                let arrival = Stamp::at(first.stamp.time + latency + Span::from_micros(micros));
                witness.record_message(&Envelope { arrival, from: first.actor, to: ActorId(0), number: 1, message });
            }
            let mut tally = tallied(&topology, &[]);
            tally.witnessed_by(witness);
            tally.add(first).is_ok()
        };
        assert!(sent(Some(SiteOffer { idle: 4, waiting: 0, received: 0 }), 0));
        assert!(!sent(Some(SiteOffer { idle: 4, waiting: 0, received: 0 }), 1));
        assert!(!sent(Some(SiteOffer { idle: 3, waiting: 0, received: 0 }), 0));
        assert!(!sent(None, 0));
    }
}
