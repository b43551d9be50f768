//! Tables, summaries and sections of recorded auctions.

use super::*;
use crate::play::{play, read_text};
use crate::{Inconsistent, Names, RecordError, Status};
use hansa_sim::kernel::{ActorId, Entry};
use hansa_sim::protocol::{BidOutcome, CoreOffer, Record, TaskBid};
use hansa_sim::time::Time;

/// One site of 4 cores under PVR. At 0, the smallest of 12, 15 and 30 go first, and 3 cores for the last are missing.
const TOPOLOGY: &str = r#"
name = "by-hand"
[market]
policy = "pvr"
bids = "log"
[[site]]
name = "york"
kind = "plain"
cores = 4
[[user]]
name = "ada"
[[workload]]
source = "table"
job = [
    { tasks = [{ runtime = "10 min", cores = 3 }], worth = { max = 10.0, initial = 2.0, final = 6.0 } },
    { tasks = [{ runtime = "5 min", cores = 2 }], worth = { max = 4.0, initial = 2.0, final = 6.0 } },
    { tasks = [{ runtime = "20 min", cores = 2 }], worth = { max = 5.0, initial = 2.0, final = 6.0 } },
    { arrive = "1 min", tasks = [{ runtime = "30 min", cores = 1 }] },
]
"#;

pub fn played(toml: &str) -> (Topology, Vec<Entry<Record>>) {
    let topology = read_text(toml);
    let log = play(&topology);
    (topology, log)
}

pub fn tallied(topology: &Topology, log: &[Entry<Record>]) -> Tally {
    let mut tally = Tally::new(topology, &Names::of(topology)).with_tables(topology);
    log.iter().for_each(|entry| tally.add(entry).unwrap());
    tally
}

#[test]
fn rows_list_offers_and_bids_in_order() {
    let (topology, log) = played(TOPOLOGY);
    let mut tally = tallied(&topology, &log);
    let rows = String::from_utf8(std::mem::take(tally.tables_so_far().next().unwrap().1)).unwrap();
    let expected = "\
auction,time,bidder,kind,site,job,task,cores,bid,place,outcome
1,0,site,plain,york,,,4,,,
1,0,task,plain,york,1,0,2,12,1,won
1,0,task,plain,york,2,0,2,15,2,won
1,0,task,plain,,0,0,3,30,3,no_room
2,300,site,plain,york,,,2,,,
2,300,task,plain,,0,0,3,25,1,no_room
2,300,task,plain,,3,0,1,inf,2,behind
3,1200,site,plain,york,,,4,,,
3,1200,task,plain,york,0,0,3,11.25,1,won
3,1200,task,plain,york,3,0,1,inf,2,won
";
    assert_eq!(rows, expected);

    let summary = tally.summary(0, Status::Complete, String::new());
    let auctions = Auctions { auctions: 3, bids: 7, won: 4, no_room: 2, no_data: 0, behind: 1 };
    assert_eq!(summary.read_part::<Auctions>(), Some(auctions));
    let lines: Vec<String> = lines(&summary).into_iter().map(|(_, text)| text).collect();
    assert_eq!(lines, ["3 with 7 bids, of which 4 won; bids.csv lists them"]);
}

#[test]
fn the_auction_with_most_bidders_is_shown() {
    let (topology, log) = played(TOPOLOGY);
    let tally = tallied(&topology, &log);
    let shown = tally.state::<AuctionTally>().shown.as_ref().unwrap();
    assert_eq!((shown.number, shown.time, shown.bids.len()), (1, Time::ZERO, 3));
    let market = RecordedMarket { policy: "pvr".to_owned(), about: "the least", unit: BidUnit::Number };
    let page = section::explain_auction(&market, shown)
        + section::offers_table(&tally, shown)
        + section::bids_table(&market, &tally, shown);
    for part in [
        "2 of 3 bids won",
        "<td>york</td><td>plain</td><td class=\"n\">4</td><td class=\"n\">2</td><td class=\"n\">0</td>",
        "<td class=\"n\">12</td><td>plain</td><td class=\"n\">2</td><td>won: goes to york</td>",
        "does not fit: no site has as many cores left",
    ] {
        assert!(page.as_str().contains(part), "{part} is missing in {page:?}");
    }
}

#[test]
fn a_market_without_records_has_no_part() {
    let (topology, log) = played(&TOPOLOGY.replace("bids = \"log\"", ""));
    let mut tally = tallied(&topology, &log);
    assert!(tally.tables_so_far().next().is_none());
    assert_eq!(tally.summary(0, Status::Complete, String::new()).read_part::<Auctions>(), None);
}

#[test]
fn auctions_that_contradict_the_log_are_refused() {
    let (topology, log) = played(TOPOLOGY);
    let first = log.iter().position(|entry| matches!(entry.record, Record::Auctioned { .. })).unwrap();
    let Record::Auctioned { offers, bids } = &log[first].record else { panic!("it is one") };
    let refusal = |offers: &[CoreOffer], bids: &[TaskBid]| {
        let mut tally = tallied(&topology, &log[..first]);
        let record = Record::Auctioned { offers: offers.to_vec(), bids: bids.to_vec() };
        match tally.add(&Entry { record, ..log[first].clone() }) {
            Err(RecordError::Inconsistent(wrong)) => Some(wrong),
            added => added.map(|()| None).unwrap(),
        }
    };
    let york = offers[0].site;
    assert_eq!(refusal(offers, bids), None);
    let more = [CoreOffer { site: york, cores: 5 }];
    assert_eq!(refusal(&more, bids), Some(Inconsistent::NotOffered("york".to_owned())));
    let less = [CoreOffer { site: york, cores: 1 }];
    assert_eq!(refusal(&less, bids), Some(Inconsistent::NotOffered("york".to_owned())));
    let user = ActorId(york.0 + 1);
    assert_eq!(refusal(&[CoreOffer { site: user, cores: 1 }], &[]), Some(Inconsistent::NotASite("ada".to_owned())));
    let no_number = [TaskBid { bid: f64::NAN, ..bids[0] }];
    assert_eq!(refusal(offers, &no_number), Some(Inconsistent::NotBidding(bids[0].task)));

    // What has been assigned does not bid.
    let mut tally = tallied(&topology, &log);
    let wrong = tally.add(&log[first]).unwrap_err();
    assert!(wrong.to_string().contains("does not wait"), "{wrong}");
    let elsewhere = BidOutcome::Won(user);
    let lost = [TaskBid { outcome: elsewhere, ..bids[0] }];
    assert_eq!(refusal(offers, &lost), Some(Inconsistent::NotOffered("ada".to_owned())));
}
