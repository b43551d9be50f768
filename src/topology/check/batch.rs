//! `[batch]`: the dispatcher, what sites reserve, and the sources of rigid jobs.

use xxhash_rust::xxh3::xxh3_128;

use super::super::Batch;
use super::super::fields::{Field, Fields};
use super::{CORES_MAX, Context};
use crate::grid::{Calendar, NodeSet};
use crate::systems::batch::{Dispatch, Reserved};
use crate::time::Time;
use crate::workload::lublin::{Lublin, Sizes, Stream, Types};
use crate::workload::rigids::{Content, Deal, LogFile, Origin, Rigids, Window};
use crate::workload::{Trace, batsim, swf};

const JOBS_MAX: u32 = 2_000_000;
const FACTOR_MAX: u64 = 1_000;
const ONE: u64 = 1_000_000;

impl Batch {
    pub(super) fn check(fields: Fields<'_>) -> Batch {
        let dispatch = fields.get("dispatch").and_then(|field| field.word(Dispatch::ALL));
        fields.finish();
        Batch { dispatch: dispatch.unwrap_or_default() }
    }
}

/// `reserved` of a site: when which nodes are kept from jobs.
pub(super) fn check_reserved(field: &Field<'_>) -> Option<Vec<Reserved>> {
    const EXPECTED: &str = "a list such as [{ from = \"1 h\", until = \"2 h\", nodes = \"0-3 7\" }]";
    let list = field.list(EXPECTED)?;
    let mut reserved = Vec::new();
    let mut calendar = Calendar::new(CORES_MAX);
    for field in &list {
        let Some(fields) = field.table(EXPECTED) else { continue };
        let time = |key: &'static str| fields.need(key, "a time").and_then(|field| Some(Time::ZERO + field.span()?));
        let (from, until) = (time("from"), time("until"));
        let nodes = fields.need("nodes", "numbers of nodes, such as \"0-3 7\"").and_then(|field| {
            let text = field.text("numbers of nodes, such as \"0-3 7\"")?;
            let nodes = NodeSet::parse(text).filter(|nodes| !nodes.is_empty());
            nodes.or_else(|| field.wrong("numbers of nodes in order, such as \"0-3 7\""))
        });
        fields.finish();
        let (Some(from), Some(until), Some(nodes)) = (from, until, nodes) else { continue };
        if until <= from {
            field.complain("expected an end after its start");
        } else if calendar.insert(from, until, &nodes).is_err() {
            field.complain("some of these nodes are reserved already in that time, or are beyond all numbers");
        } else {
            reserved.push(Reserved { from, until, nodes });
        }
    }
    Some(reserved)
}

#[derive(Clone, Copy)]
pub(super) enum Format {
    Swf,
    Batsim,
}

pub(super) fn check_log(fields: &Fields<'_>, context: &Context<'_>, format: Format) -> Rigids {
    let span = |key: &'static str| fields.get(key).and_then(|field| field.span());
    let jobs = fields.get("jobs").and_then(|field| field.whole(1..=u32::MAX));
    let window = Window { from: span("from").unwrap_or_default(), to: span("to"), jobs };
    if window.to.is_some_and(|to| to <= window.from) {
        fields.complain("expected `to` after `from`".to_owned());
    }
    let strict = fields.get("strict").and_then(|field| field.flag()).unwrap_or(false);
    // What a resolved topology says about a log that may be elsewhere.
    let hash = fields.get("hash").and_then(|field| field.text("the hash of the log"));
    let count = fields.get("count").and_then(|field| field.whole(1..=u32::MAX));
    let file = fields.need("file", "a log of jobs");
    let mut log = LogFile { path: String::new(), hash: String::new(), strict };
    let mut content = Content::default();
    if let Some(field) = &file
        && field.text("the path of a log of jobs").is_some()
        && let Some((path, read)) = context.attached.get(&field.place())
    {
        log.path.clone_from(path);
        match (read, hash, count) {
            (Ok(bytes), ..) => {
                log.hash = format!("{:032x}", xxh3_128(bytes));
                if hash.is_some_and(|hash| hash != log.hash) {
                    field.complain(format!("{path} is another file than it was: its hash is {}", log.hash));
                }
                content = open(field, path, bytes, format, window);
                let faults = &content.faults;
                if strict && !faults.is_empty() {
                    field.complain(format!("{path}, as it is read strictly: {faults}"));
                }
            }
            (Err(reason), Some(hash), Some(_)) => {
                hash.clone_into(&mut log.hash);
                content.missing = Some(format!("cannot read {path}: {reason}"));
            }
            (Err(reason), ..) => field.complain(format!("cannot read {path}: {reason}")),
        }
    }
    let origin = match format {
        Format::Swf => Origin::Swf(log),
        Format::Batsim => Origin::Batsim(log),
    };
    finish(fields, context, origin, window, content, count)
}

fn open(field: &Field<'_>, path: &str, bytes: &[u8], format: Format, window: Window) -> Content {
    let trace = match format {
        Format::Swf => swf::read(bytes).map_err(|error| error.to_string()),
        Format::Batsim => batsim::read(bytes).map_err(|error| error.to_string()),
    };
    let content = match trace {
        Ok(trace) => Content::of(trace, window),
        Err(what) => {
            field.complain(format!("{path}: {what}"));
            return Content::of(Trace::default(), window);
        }
    };
    if content.jobs.is_empty() {
        let faults = &content.faults;
        let outside = content.outside;
        let why = match (outside, faults.is_empty()) {
            (0, true) => String::new(),
            (0, false) => format!(": {faults}"),
            (_, true) => format!(": {outside} are not wanted here"),
            (_, false) => format!(": {outside} are not wanted here, and of the others {faults}"),
        };
        field.complain(format!("{path} has no job to run{why}"));
    }
    content
}

pub(super) fn check_lublin(fields: &Fields<'_>, context: &Context<'_>) -> Rigids {
    let largest = context.grid.largest.iter().copied().max().unwrap_or(1).max(1);
    let seed = fields.get("seed").and_then(|field| field.whole(0..=u64::MAX)).unwrap_or(context.seed);
    let jobs = fields.need("jobs", "how many jobs to generate").and_then(|field| field.whole(1..=JOBS_MAX));
    let nodes = fields.get("nodes").and_then(|field| field.whole(1..=CORES_MAX)).unwrap_or(largest);
    let share = |key: &'static str| {
        fields.get(key).and_then(|field| field.number("a share from 0 to 1", |share| (0.0..=1.0).contains(&share)))
    };
    let power = |key: &'static str| {
        let fits = |power: f64| (0.0..=31.0).contains(&power);
        fields.get(key).and_then(|field| field.number("a power of two from 0 to 31, such as 4.5", fits))
    };
    let sizes = Sizes {
        serial: share("serial"),
        pow2: share("pow2"),
        low: power("size_low"),
        med: power("size_med"),
        high: power("size_high"),
        prob: share("size_prob"),
        unit: fields.get("unit").and_then(|field| field.whole(1..=CORES_MAX)),
    };
    let rate = fields.get("arrival_factor").and_then(|field| field.millionths(FACTOR_MAX)).unwrap_or(ONE);
    if rate == 0 {
        fields.complain("expected an arrival_factor above 0".to_owned());
    }
    let lublin = Lublin {
        seed,
        jobs: jobs.unwrap_or(1),
        nodes,
        types: fields.get("types").and_then(|field| field.word(Types::ALL)).unwrap_or(Types::Two),
        stream: fields.get("stream").and_then(|field| field.word(Stream::ALL)).unwrap_or(Stream::Own),
        sizes,
        rate_millionths: rate.max(1),
    };
    let trace = Trace { jobs: lublin.generate(), ..Trace::default() };
    let window = Window::default();
    finish(fields, context, Origin::Lublin(lublin), window, Content::of(trace, window), None)
}

/// What all sources of rigid jobs have in common.
fn finish(
    fields: &Fields<'_>,
    context: &Context<'_>,
    origin: Origin,
    window: Window,
    content: Content,
    count: Option<u32>,
) -> Rigids {
    let deal = fields.get("deal").and_then(|field| field.word(Deal::ALL)).unwrap_or_default();
    let site = fields.get("site").and_then(|field| {
        let names = context.sites.iter().map(|site| site.name.as_str());
        field.choice("a site", names.clone(), |name| names.clone().position(|other| other == name))
    });
    let overestimate = fields.get("overestimate").and_then(|field| {
        let factor = field.millionths(FACTOR_MAX)?;
        if factor < ONE { field.wrong("a factor of at least 1") } else { Some(factor) }
    });
    let overestimate_millionths = overestimate.unwrap_or(ONE);
    if !content.is_bearable(overestimate_millionths) {
        fields.complain("the jobs take longer together than time can be counted".to_owned());
    }
    let here = content.jobs.len() as u32;
    let count = if content.missing.is_some() { count.unwrap_or(here) } else { here };
    Rigids { origin, deal, site, overestimate_millionths, window, count, content }
}
