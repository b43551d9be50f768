//! `[market]`: the rules of the auction.

use super::super::fields::Fields;
use super::super::{
    Admission, AskWhen, BestBid, Blocking, EdfDeadline, Foreign, Market, Network, Pvdsq, Pvr, Removal, SuccSum,
    Unplaceable,
};
use crate::systems::market::{self, EXTERNAL};
use crate::time::Span;

const CCR_MAX: u64 = 1_000;

impl Default for Market {
    fn default() -> Market {
        Market {
            policy: "fifo".to_owned(),
            bidder: None,
            tick: Span::from_minutes(1),
            ccr_millionths: 200_000,
            network: Network::PerCluster,
            blocking: Blocking::PerKind,
            removal: Removal::Deadline,
            unplaceable: Unplaceable::Error,
            succ_sum: SuccSum::PerPath,
            edf: EdfDeadline::Initial,
            pvdsq: Pvdsq::ResourceSquared,
            pvr: Pvr::Value,
            admission: Admission::Off,
            admission_theta_millionths: 750_000,
            admission_eta_millionths: 850_000,
        }
    }
}

impl Market {
    pub(super) fn check(fields: Fields<'_>) -> Market {
        let usual = Market::default();
        let policy = fields.get("policy").and_then(|field| field.named("a bid policy", &market::policies()));
        let tick = fields.get("tick").and_then(|field| field.positive_span());
        let ccr = fields.get("ccr").and_then(|field| field.millionths(CCR_MAX));
        fn word<T: Copy>(
            fields: &Fields<'_>,
            key: &'static str,
            all: &[(&'static str, T, &'static str)],
            usual: T,
        ) -> T {
            fields.get(key).and_then(|field| field.word(all)).unwrap_or(usual)
        }
        let share = |key| fields.get(key).and_then(|field| field.millionths(1));
        let market = Market {
            bidder: check_bidder(&fields, policy),
            policy: policy.map_or(usual.policy, str::to_owned),
            tick: tick.unwrap_or(usual.tick),
            ccr_millionths: ccr.unwrap_or(usual.ccr_millionths),
            network: word(&fields, "network", Network::ALL, usual.network),
            blocking: word(&fields, "blocking", Blocking::ALL, usual.blocking),
            removal: word(&fields, "removal", Removal::ALL, usual.removal),
            unplaceable: word(&fields, "unplaceable", Unplaceable::ALL, usual.unplaceable),
            succ_sum: word(&fields, "succ_sum", SuccSum::ALL, usual.succ_sum),
            edf: word(&fields, "edf", EdfDeadline::ALL, usual.edf),
            pvdsq: word(&fields, "pvdsq", Pvdsq::ALL, usual.pvdsq),
            pvr: word(&fields, "pvr", Pvr::ALL, usual.pvr),
            admission: word(&fields, "admission", Admission::ALL, usual.admission),
            admission_theta_millionths: share("admission_theta").unwrap_or(usual.admission_theta_millionths),
            admission_eta_millionths: share("admission_eta").unwrap_or(usual.admission_eta_millionths),
        };
        fields.finish();
        market
    }
}

/// The bidder from outside. It may be described beside any policy, as experiments have many; only one bids.
fn check_bidder(fields: &Fields<'_>, policy: Option<&str>) -> Option<Foreign> {
    let outside = policy == Some(EXTERNAL);
    let Some(field) = fields.get("bidder") else {
        if outside {
            fields.missing("bidder", "a table such as { command = [\"python3\", \"bidder.py\"] }");
        }
        return None;
    };
    let fields = field.table("a table such as { command = [\"python3\", \"bidder.py\"] }")?;
    let words = "a program and its arguments, such as [\"python3\", \"bidder.py\"]";
    let command = fields.need("command", words).and_then(|field| {
        let list = field.list(words)?;
        let command: Vec<String> = list.iter().filter_map(|word| word.text("a text").map(str::to_owned)).collect();
        if command.first().is_none_or(String::is_empty) { field.wrong(words) } else { Some(command) }
    });
    let ask = fields.get("ask").and_then(|field| field.word(AskWhen::ALL));
    let winner = fields.get("winner").and_then(|field| field.word(BestBid::ALL));
    let timeout = fields.get("timeout").and_then(|field| field.positive_span());
    fields.finish();
    outside.then_some(Foreign {
        command: command?,
        ask: ask.unwrap_or(AskWhen::Once),
        winner: winner.unwrap_or(BestBid::Largest),
        timeout: timeout.unwrap_or(Span::from_secs(5)),
    })
}
