//! Everything that has a name which a topology may use, with a line about it.

use crate::grid::Named;
use crate::network::{Duplex, EFFICIENCIES, MODES, Model};
use crate::systems::batch::Dispatch;
use crate::systems::market::{
    Admission, AskWhen, BestBid, Blocking, EdfDeadline, Network, Pvdsq, Pvr, Removal, SuccSum, Unplaceable,
};
use crate::systems::reservation::{Choose, RectEnd};
use crate::systems::{self, heft, market, reservation};
use crate::workload::lublin::{Stream, Types};
use crate::workload::market::LoadBasis;
use crate::workload::rigids::Deal;

/// Something with a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub name: &'static str,
    pub about: String,
}

impl From<Named> for Entry {
    fn from(Named { name, about }: Named) -> Entry {
        entry((name, about))
    }
}

/// The entries that one key of a topology chooses from.
#[derive(Clone, Debug)]
pub struct Section {
    /// The key, such as `market.policy`.
    pub key: &'static str,
    pub about: &'static str,
    pub entries: Vec<Entry>,
}

pub fn bid_policies() -> Vec<Entry> {
    market::policies().into_iter().map(Entry::from).collect()
}

pub fn fit_policies() -> Vec<Entry> {
    reservation::policies().into_iter().map(Entry::from).collect()
}

pub fn plan_policies() -> Vec<Entry> {
    words(heft::Policy::ALL)
}

pub fn dispatch_rules() -> Vec<Entry> {
    words(Dispatch::ALL)
}

/// What sites may run, whichever system uses them.
pub fn schedulers() -> Vec<Entry> {
    let mut all: Vec<Entry> = Vec::new();
    for named in systems::ALL.iter().flat_map(|row| (row.schedulers)()).map(Entry::from) {
        if !all.contains(&named) {
            all.push(named);
        }
    }
    all
}

pub fn sources() -> Vec<Entry> {
    let all = [
        ("market", "the market paper's generator: random jobs at a given load"),
        ("table", "jobs that are written out one by one"),
        ("reservations", "the reservation paper's generator: requests with ready times and deadlines"),
        ("requests", "requests for reservations that are written out one by one"),
        ("workflow", "a workflow from a file: WfFormat, DAX or DOT"),
        ("swf", "rigid jobs of a log in the Standard Workload Format"),
        ("batsim", "rigid jobs of a Batsim workload, those with delays"),
        ("lublin", "rigid jobs of the model of Lublin and Feitelson"),
        ("layered", "random layered workflows with the parameters of daggen"),
    ];
    all.map(entry).into()
}

/// What the load of a generated workload is measured against.
pub const LOAD_BASES: &[(&str, LoadBasis, &str)] = &[
    ("total", LoadBasis::Total, "all cores of the grid"),
    ("bottleneck", LoadBasis::Bottleneck, "the cores of the kind that is asked for most"),
];

/// All sections, in the order in which a topology names them.
pub fn sections() -> Vec<Section> {
    vec![
        section("market.policy", "who bids best", bid_policies()),
        section("market.network", "where the output of a finished task is, and when", words(Network::ALL)),
        section("market.blocking", "whom the best bidder stops when it fits nowhere", words(Blocking::ALL)),
        section("market.removal", "when a job is given up", words(Removal::ALL)),
        section("market.unplaceable", "what becomes of a job with a task that fits no site", words(Unplaceable::ALL)),
        section("market.succ_sum", "how the work behind a task adds up where branches join", words(SuccSum::ALL)),
        section("market.edf", "which deadline edf means", words(EdfDeadline::ALL)),
        section("market.pvdsq", "what pvdsq squares", words(Pvdsq::ALL)),
        section("market.pvr", "the units of pvr", words(Pvr::ALL)),
        section("market.bidder.ask", "when a program outside is asked for a bid", words(AskWhen::ALL)),
        section("market.bidder.winner", "which of its bids is the best", words(BestBid::ALL)),
        section("market.admission", "whether jobs are turned away that would come too late", words(Admission::ALL)),
        section("reservation.policy", "which of the possible starts a reservation gets", fit_policies()),
        section("reservation.rect_end", "how long a free rectangle without end counts", words(RectEnd::ALL)),
        section("reservation.choose", "which of several sites gets a request", words(Choose::ALL)),
        section("workflow.policy", "who decides where and when a task runs", plan_policies()),
        section("workflow.stop", "when network-heft has planned enough", words(heft::StopRule::ALL)),
        section(
            "workflow.update",
            "what a transfer costs that the last plan did not need",
            words(heft::UpdateRule::ALL),
        ),
        section("batch.dispatch", "which of several sites gets a job", dispatch_rules()),
        section("site.scheduler", "how a site runs what it is given", schedulers()),
        section("network.model", "how links share out what they have", words(Model::ALL)),
        section("link.mode", "whether flows compete for a link", words(MODES)),
        section("link.efficiency", "how much of a link its flows can use", words(EFFICIENCIES)),
        section("link.duplex", "which ways data goes over a link", words(Duplex::ALL)),
        section("workload.source", "where jobs come from", sources()),
        section("workload.deal", "which user submits a rigid job", words(Deal::ALL)),
        section("workload.types", "which kinds of job the lublin model has", words(Types::ALL)),
        section("workload.stream", "what the lublin model draws from", words(Stream::ALL)),
        section("workload.load_basis", "what a load is measured against", words(LOAD_BASES)),
    ]
}

/// The whole catalogue as text.
pub fn listing() -> String {
    let sections = sections();
    let widest = sections.iter().flat_map(|section| &section.entries).map(|entry| entry.name.len()).max().unwrap_or(0);
    let mut text = String::new();
    for Section { key, about, entries } in &sections {
        text.push_str(&format!("{key}: {about}\n"));
        for Entry { name, about } in entries {
            text.push_str(&format!("    {name:widest$}  {about}\n"));
        }
        text.push('\n');
    }
    text.truncate(text.trim_end().len());
    text.push('\n');
    text
}

fn section(key: &'static str, about: &'static str, entries: Vec<Entry>) -> Section {
    Section { key, about, entries }
}

fn entry((name, about): (&'static str, &str)) -> Entry {
    Entry { name, about: about.to_owned() }
}

/// The words of an enum: their lines are doc comments, which are whole sentences.
fn words<T>(all: &[(&'static str, T, &'static str)]) -> Vec<Entry> {
    all.iter().map(|(name, _, about)| Entry { name, about: remark(about) }).collect()
}

/// What a doc comment says, as part of another sentence.
pub fn remark(sentence: &str) -> String {
    without_capital(sentence.trim().trim_end_matches('.'))
}

/// Abbreviations keep theirs.
fn without_capital(sentence: &str) -> String {
    let mut letters = sentence.chars();
    match (letters.next(), letters.clone().next()) {
        (Some(first), Some(second)) if !second.is_uppercase() => first.to_lowercase().chain(letters).collect(),
        _ => sentence.to_owned(),
    }
}
