//! Tables `[[failure]]` and `[recovery]`: failures of the grid, and recovery from them.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::grid::{
    Bookings, Checkpoint, Distribution, Drawn, Every, Failure, FailurePattern, FailureTarget, Interrupted, Killed, Law,
    NodeSet, Per, Recovery, Traced,
};
use crate::settings::units::{MILLION, parse_exact, parse_span};
use crate::settings::{
    Attached, Field, Fields, FilePath, Flag, Form, FormExt, Layout, Maybe, Millionths, Moment, NameIndex, Number,
    OneOf, POSITIVE_SPAN, Purpose, SPAN, Shape, Walk, key, quote_text,
};
use crate::systems::SystemRow;
use crate::systems::managers::{self, ProgramProtocol};
use crate::time::{Span, Time};
use crate::topology::Site;
use crate::topology::trace;

/// Scope of the names in failures.
pub struct FailureScope<'a> {
    pub sites: &'a [Site],
    pub names: &'a NameIndex<'a>,
    pub links: &'a NameIndex<'a>,
    pub systems: &'a [&'static SystemRow],
    pub attached: &'a Attached,
}

/// A failure as written in its table.
#[derive(Clone, Debug)]
struct WrittenFailure {
    site: Option<usize>,
    nodes: Option<NodeSet>,
    link: Option<usize>,
    at: Option<Time>,
    lasts: Option<Span>,
    mtbf: Option<Span>,
    between: Law,
    mttr: Option<Span>,
    repair: Law,
    per: Per,
    share_millionths: u64,
    outages: Vec<Traced>,
    announced: bool,
}

/// Walks all tables about failures.
pub fn walk_failures(failures: &mut Vec<Failure>, recovery: &mut Recovery, known: &FailureScope<'_>, w: &mut dyn Walk) {
    let mut written: Vec<WrittenFailure> = failures.iter().map(WrittenFailure::of_failure).collect();
    let failure = key("failure", "").means("something that fails: nodes of a site, or a link").usual("nothing fails");
    w.rows(failure, Layout::Sections("failure"), &mut written, WrittenFailure::default, |failure, w| {
        failure.walk(known, w);
    });
    *failures = written.into_iter().filter_map(WrittenFailure::into_failure).collect();

    let fails = !failures.is_empty() || w.walk_purpose() == Purpose::List;
    let mut written = fails.then(|| recovery.clone());
    let why = "expected at least one [[failure]]: as long as nothing fails, there is nothing to recover from";
    let table = key("recovery", "")
        .means("the treatment of tasks whose nodes fail, and of data on links that fail")
        .usual("as its keys say");
    // An unreadable [[failure]] has already been reported.
    let is_lost = w.written_fields().is_some_and(|fields| fields.has("failure"));
    let table = table.only_if(fails || is_lost, why);
    let rules = failures.clone();
    w.maybe(table, Layout::Section("recovery"), &mut written, Recovery::default, |recovery, w| {
        walk_recovery(recovery, &rules, known, w);
    });
    *recovery = written.unwrap_or_default();
}

fn walk_recovery(recovery: &mut Recovery, failures: &[Failure], known: &FailureScope<'_>, w: &mut dyn Walk) {
    // If no failure could be read, all keys are allowed.
    let all = w.walk_purpose() == Purpose::List || failures.is_empty();
    let nodes = all || !failures.iter().all(is_of_link);
    let links = all || failures.iter().any(is_of_link);
    let why = "expected a [[failure]] of a `site`: it is about tasks whose nodes fail";
    let killed = key("killed", "the destination of a task whose node fails").only_if(nodes, why);
    w.set(killed, &mut recovery.killed, Killed::ALL);
    let attempts = key("attempts", "a task is given up after this many failures").only_if(nodes, why);
    w.set(attempts, &mut recovery.attempts, 1..=ATTEMPTS_MAX);
    let books = all || failures.iter().any(|failure| books_nodes(failure, known));
    let others = "expected a [[failure]] of a site whose system books nodes for a later time, as [reservation] and [provisioning] do: \
                  others break no promises";
    let why_bookings = if nodes { others } else { why };
    let bookings = key("bookings", "the treatment of a booking whose nodes fail");
    w.set(bookings.only_if(books && nodes, why_bookings), &mut recovery.bookings, Bookings::ALL);
    let compensation =
        key("compensation", "the compensation of its user for a broken booking, as a multiple of what was booked");
    let part = Millionths::to(COMPENSATION_MAX);
    w.set(compensation.only_if(books && nodes, why_bookings), &mut recovery.compensation_millionths, part);
    let data = key("data", "the treatment of data on a link that fails");
    let why_links = "expected a [[failure]] of a `link`: it is about data on links that fail";
    w.set(data.only_if(links, why_links), &mut recovery.data, Interrupted::ALL);
    let checkpoint = key("checkpoint", "").means("tasks save their work, and resume from there").usual("none");
    let checkpoint = checkpoint.only_if(nodes, why);
    w.maybe(
        checkpoint,
        Layout::Inline,
        &mut recovery.checkpoint,
        || Checkpoint { every: Every::Young(MILLION), cost: Span::ZERO },
        |checkpoint, w| {
            let every = key("every", "").need(EVERY).means(
                "the work between two checkpoints: a time, or `young` for the root of twice the cost times the mean \
             time between failures of the task's nodes, or a multiple of that such as `0.5 young`",
            );
            w.set(every, &mut checkpoint.every, Interval);
            let cost = key("cost", "")
                .means("the time for which a task stands still to save its work")
                .need("a time, such as \"20 s\"");
            w.set(cost, &mut checkpoint.cost, SPAN);
            let Some(fields) = w.written_fields() else { return };
            let is_drawn = failures
                .iter()
                .any(|failure| !is_of_link(failure) && matches!(failure.pattern, FailurePattern::Drawn(_)));
            if let (Every::Young(_), Some(field)) = (checkpoint.every, fields.get("every")) {
                if checkpoint.cost.is_zero() && fields.has("cost") {
                    field.complain("expected a time: Young's interval is zero where checkpoints cost nothing");
                } else if !is_drawn && !failures.is_empty() {
                    field.complain("expected a time: Young's interval needs failures that are drawn, with an `mtbf`");
                }
            }
        },
    );
}

fn is_of_link(failure: &Failure) -> bool {
    matches!(failure.what, FailureTarget::Link(_))
}

const ATTEMPTS_MAX: u32 = 1_000_000;
const COMPENSATION_MAX: u64 = 100;
const EVERY: &str = "a time such as \"10 min\", \"young\", or \"never\"";
const NEVER: &str = "never";

struct Interval;

impl Form<Every> for Interval {
    fn read_value(&self, field: &Field<'_>) -> Option<Every> {
        let text = field.text(EVERY)?;
        if text.trim() == NEVER {
            return Some(Every::Never);
        }
        if let Some(factor) = text.trim().strip_suffix("young") {
            let factor = if factor.trim().is_empty() { Ok(MILLION) } else { parse_exact(factor.trim(), MILLION) };
            return factor
                .ok()
                .filter(|factor| (1..=1_000 * MILLION).contains(factor))
                .map(Every::Young)
                .or_else(|| field.report_wrong(EVERY));
        }
        match parse_span(text) {
            Ok(every) if !every.is_zero() => Some(Every::Span(every)),
            _ => field.report_wrong(EVERY),
        }
    }

    fn toml_text(&self, value: &Every) -> Option<String> {
        Some(match value {
            Every::Never => quote_text(NEVER),
            Every::Span(every) => quote_text(&every.to_string()),
            Every::Young(MILLION) => quote_text("young"),
            Every::Young(factor) => quote_text(&format!("{} young", Millionths::to(1_000).toml_text(factor)?)),
        })
    }

    fn value_shape(&self) -> Shape {
        Shape::Free {
            what: "a time, `young` with a factor or without, or `never`",
            example: "\"0.5 young\"",
            json: r#"{ "type": "string" }"#,
        }
    }
}

impl Default for WrittenFailure {
    fn default() -> WrittenFailure {
        let law = Law { kind: Distribution::Exponential, shape: 1.0 };
        WrittenFailure {
            site: None,
            nodes: None,
            link: None,
            at: None,
            lasts: None,
            mtbf: None,
            between: law,
            mttr: None,
            repair: law,
            per: Per::Node,
            share_millionths: MILLION,
            outages: Vec::new(),
            announced: true,
        }
    }
}

impl WrittenFailure {
    fn of_failure(failure: &Failure) -> WrittenFailure {
        let mut written = WrittenFailure { announced: failure.announced, ..WrittenFailure::default() };
        match &failure.what {
            FailureTarget::Nodes { site, nodes } => (written.site, written.nodes) = (Some(*site), Some(nodes.clone())),
            FailureTarget::Link(link) => written.link = Some(*link),
        }
        match &failure.pattern {
            FailurePattern::Once { at, lasts } => (written.at, written.lasts) = (Some(*at), Some(*lasts)),
            FailurePattern::Drawn(Drawn { mtbf, between, mttr, repair, per, share_millionths }) => {
                (written.mtbf, written.between) = (Some(*mtbf), *between);
                (written.mttr, written.repair) = (Some(*mttr), *repair);
                (written.per, written.share_millionths) = (*per, *share_millionths);
            }
            FailurePattern::Traced(all) => written.outages = all.to_vec(),
        }
        written
    }

    /// The failure; None if it has errors.
    fn into_failure(self) -> Option<Failure> {
        let WrittenFailure { between, repair, per, share_millionths, announced, .. } = self;
        let what = match (self.site, self.link) {
            (Some(site), None) => FailureTarget::Nodes { site, nodes: self.nodes? },
            (None, Some(link)) => FailureTarget::Link(link),
            _ => return None,
        };
        let pattern = match (self.at, self.mtbf) {
            (Some(at), None) => FailurePattern::Once { at, lasts: self.lasts? },
            (None, Some(mtbf)) => {
                FailurePattern::Drawn(Drawn { mtbf, between, mttr: self.mttr?, repair, per, share_millionths })
            }
            (None, None) if !self.outages.is_empty() => FailurePattern::Traced(Arc::new(self.outages)),
            _ => return None,
        };
        Some(Failure { what, pattern, announced })
    }

    fn walk(&mut self, known: &FailureScope<'_>, w: &mut dyn Walk) {
        let lists = w.walk_purpose() == Purpose::List;
        let site = key("site", "").means("the site whose nodes fail").usual("none: then there is a `link`");
        w.set(site, &mut self.site, Maybe(OneOf { what: "a site", names: known.names }));
        let of = self.site.and_then(|site| known.sites.get(site));
        let why = "expected a `site` beside it, of which these are nodes";
        let nodes = key("nodes", "")
            .means("those of its nodes that fail: their numbers, or the number of the first ones")
            .usual("all");
        let there = of.map_or(u32::MAX, |site| site.cores);
        w.set(nodes.only_if(lists || self.site.is_some(), why), &mut self.nodes, Maybe(FailingNodesForm { there }));
        let link = key("link", "").means("the link that fails").usual("none: then there is a `site`");
        let why = "expected no link beside a `site`: each has a table of its own";
        let link = link.only_if(lists || self.site.is_none(), why);
        w.set(link, &mut self.link, Maybe(OneOf { what: "a link", names: known.links }));

        let at = key("at", "").means("it goes down once, then").usual("it is drawn, or in a trace");
        w.set(at, &mut self.at, Maybe(Moment));
        let why = "expected a time `at` which it goes down";
        let lasts = key("for", "").means("for so long").only_if(lists || self.at.is_some(), why);
        let lasts = if self.at.is_some() { lasts.need("the duration of the outage") } else { lasts };
        w.set(lasts, &mut self.lasts, Maybe(POSITIVE_SPAN));

        let mtbf = key("mtbf", "").means("the mean time from a repair to the next failure");
        let why = "expected no `mtbf` beside a time `at` which it goes down";
        w.set(mtbf.only_if(lists || self.at.is_none(), why).usual("it is not drawn"), &mut self.mtbf, Maybe(LONG));
        self.walk_drawn(w);

        let lines = key("trace", "").means(
            "a file of outages: lines of component, down and up, or a table of events of the Failure Trace Archive; those of one \
             component that overlap count as one",
        );
        w.key_read_elsewhere(&lines.usual("none"), FilePath("the path of a trace").value_shape());
        let why = "expected no outages beside those that are drawn or happen once";
        let outages = key("outages", "").means("a trace in the topology itself").usual("none");
        let outages = outages.only_if(lists || self.at.is_none() && self.mtbf.is_none(), why);
        let outages = outages.expects(OUTAGES).each(OUTAGES);
        w.rows(
            outages,
            Layout::Lines,
            &mut self.outages,
            || Traced { down: Time::ZERO, up: Time::ZERO, component: 0 },
            walk_outage,
        );
        let announced = key("announced", "true if planners learn when it will be back");
        let why = "expected a `site` beside it: no system plans around links that are down";
        w.set(announced.only_if(lists || self.link.is_none(), why), &mut self.announced, Flag);
        if let Some(fields) = w.written_fields() {
            self.read_trace(fields, known);
            self.check(fields, known);
        }
    }

    /// Walks the keys of random failures: distributions, and the nodes that fail.
    fn walk_drawn(&mut self, w: &mut dyn Walk) {
        let lists = w.walk_purpose() == Purpose::List;
        // An unreadable `mtbf` has already been reported.
        let drawn = lists || self.mtbf.is_some() || w.written_fields().is_some_and(|fields| fields.has("mtbf"));
        let why = "expected an `mtbf` beside it: it is about failures that are drawn";
        let mttr = key("mttr", "").means("the mean time to repair").only_if(drawn, why);
        let mttr = if self.mtbf.is_some() { mttr.need("the mean time to repair") } else { mttr };
        w.set(mttr, &mut self.mttr, Maybe(LONG));
        let about = key("distribution", "of the times between failures").only_if(drawn, why);
        w.set(about, &mut self.between.kind, Distribution::ALL);
        let about = key("shape", "of that distribution");
        walk_shape(&mut self.between, about, drawn, w);
        let about = key("repair_distribution", "of the times of repairs").only_if(drawn, why);
        w.set(about, &mut self.repair.kind, Distribution::ALL);
        let about = key("repair_shape", "of that distribution");
        walk_shape(&mut self.repair, about, drawn, w);
        let fails_alone = drawn && (lists || self.site.is_some());
        let alone = if self.link.is_some() { "expected a `site` beside it: a link fails as one" } else { why };
        let about = key("per", "the unit that fails independently").only_if(fails_alone, alone);
        w.set(about, &mut self.per, Per::ALL);
        let about = key("share", "the share of the nodes that go down together");
        let why = "expected per = \"site\" beside it, as nodes then go down together";
        let about = about.only_if(lists || fails_alone && self.per == Per::Site, why);
        let some =
            Millionths::above_zero(1).with_condition("a share above zero, and at most 1", |share: &u64| *share > 0);
        w.set(about, &mut self.share_millionths, some);
    }

    fn read_trace(&mut self, fields: &Fields<'_>, known: &FailureScope<'_>) {
        let Some(field) = fields.get("trace") else { return };
        if self.at.is_some() || self.mtbf.is_some() || !self.outages.is_empty() {
            return field.complain("expected no trace beside other outages");
        }
        match known.attached.files.get(&field.location()) {
            None => field.report_wrong::<()>("the path of a trace").unwrap_or_default(),
            Some((path, Err(reason))) => field.complain(format!("cannot read {path}: {reason}")),
            Some((path, Ok(bytes))) => match trace::parse_trace(bytes) {
                Ok(trace) => {
                    trace.note().into_iter().for_each(|note| field.diagnostics().note(format!("{path}: {note}")));
                    self.outages = trace.outages;
                }
                Err(wrong) => field.complain(format!("{path}: {wrong}")),
            },
        }
    }

    fn check(&mut self, fields: &Fields<'_>, known: &FailureScope<'_>) {
        if self.site.is_none() && self.link.is_none() && !fields.has("site") && !fields.has("link") {
            fields.missing("site", "what fails: a `site`, or a `link`");
        }
        let has_times = ["at", "mtbf", "trace", "outages"].iter().any(|key| fields.has(key));
        if !has_times {
            fields.missing("mtbf", "when it fails: `at` and `for`, `mtbf` and `mttr`, or a `trace`");
        }
        self.outages.sort_unstable();
        if let Some(field) = fields.get("outages")
            && let Some(component) = find_overlap(&self.outages)
        {
            field.complain(format!("component {component} goes down while it is down already"));
        }
        if let Some(site) = self.site.and_then(|site| known.sites.get(site)) {
            self.nodes.get_or_insert_with(|| NodeSet::all(site.cores));
            if let Some(why) = failure_obstacle(site)
                && let Some(field) = fields.get("site")
            {
                field.complain(why);
            }
        }
    }
}

/// True if the failing nodes are of a site at which nodes are booked for a later time.
fn books_nodes(failure: &Failure, known: &FailureScope<'_>) -> bool {
    let FailureTarget::Nodes { site, .. } = failure.what else { return false };
    let systems = known.sites.get(site).map_or(&[][..], |site| &site.systems);
    systems.iter().any(|system| known.systems[*system].traits.books_nodes)
}

/// Reason why the nodes of a site must not fail.
fn failure_obstacle(site: &Site) -> Option<String> {
    let why = match managers::program_protocol(&site.scheduler)? {
        ProgramProtocol::Batsim => "Batsim's protocol has no message for a job that is lost with them",
        ProgramProtocol::Slurm if !site.program.slurm.site.is_empty() => {
            "they are those of a site's own slurm.conf; a Slurm with one core a node can lose nodes"
        }
        ProgramProtocol::Slurm if site.program.slurm.node_count(site.cores) < site.cores => {
            "they are the cores of larger nodes of Slurm; a Slurm with one core a node can lose nodes"
        }
        ProgramProtocol::Slurm | ProgramProtocol::Lines => return None,
    };
    Some(format!("the nodes of {} cannot fail: {why}", site.name))
}

fn walk_shape(law: &mut Law, about: crate::settings::Key, drawn: bool, w: &mut dyn Walk) {
    let lists = w.walk_purpose() == Purpose::List;
    let why = "expected a distribution with a shape beside it: weibull or lognormal";
    let fits = drawn && (lists || law.kind != Distribution::Exponential);
    w.set(about.only_if(fits, why), &mut law.shape, Number::above(0.0, 10.0, "a shape above zero, and at most 10"));
}

const OUTAGES: &str = "a list such as [{ component = 3, at = \"1 h\", for = \"10 min\" }]";

/// A component with two outages that overlap; outages are sorted by time.
fn find_overlap(outages: &[Traced]) -> Option<u32> {
    let mut back: BTreeMap<u32, Time> = BTreeMap::new();
    outages
        .iter()
        .find(|one| back.insert(one.component, one.up).is_some_and(|before| one.down < before))
        .map(|one| one.component)
}

fn walk_outage(outage: &mut Traced, w: &mut dyn Walk) {
    let Traced { down, up, component } = outage;
    let mut lasts = up.since(*down);
    let about =
        key("component", "").means("the index of the component among those that fail; outages of one must not overlap");
    w.set(about.need("the place of a node among those that fail"), component, 0..=u32::MAX);
    w.set(key("at", "").need("the start of the outage"), down, Moment);
    w.set(key("for", "").need("the duration of the outage"), &mut lasts, POSITIVE_SPAN);
    *up = *down + lasts;
}

/// Form of a time of at least a second: shorter ones are a mistake, as no work would ever complete.
const LONG: LongSpan = LongSpan;

#[derive(Clone, Copy)]
struct LongSpan;

impl Form<Span> for LongSpan {
    fn read_value(&self, field: &Field<'_>) -> Option<Span> {
        let span = POSITIVE_SPAN.read_value(field)?;
        if span >= Span::from_secs(1) { Some(span) } else { field.report_wrong("at least a second") }
    }

    fn toml_text(&self, value: &Span) -> Option<String> {
        POSITIVE_SPAN.toml_text(value)
    }

    fn value_shape(&self) -> Shape {
        POSITIVE_SPAN.value_shape()
    }
}

/// Form of nodes: their numbers, or the number of the first ones.
struct FailingNodesForm {
    there: u32,
}

const NODES: &str = "numbers of nodes in order, neighbours as a range, such as \"0-3 7\", or how many";

impl Form<NodeSet> for FailingNodesForm {
    fn read_value(&self, field: &Field<'_>) -> Option<NodeSet> {
        let nodes = if field.is_text() {
            let nodes = NodeSet::parse(field.text(NODES)?).filter(|nodes| !nodes.is_empty());
            nodes.or_else(|| field.report_wrong(NODES))?
        } else {
            NodeSet::all(field.whole_of(NODES, 1..=self.there)?)
        };
        if nodes.runs().last().is_some_and(|run| run.1 >= self.there) {
            return field.report_wrong(format_args!("nodes of the site, which has {}", self.there));
        }
        Some(nodes)
    }

    fn toml_text(&self, value: &NodeSet) -> Option<String> {
        Some(format!("\"{value}\""))
    }

    fn value_shape(&self) -> Shape {
        Shape::Free {
            what: "numbers of nodes in order, or how many",
            example: "\"0-3 7\"",
            json: r#"{ "anyOf": [
                { "type": "integer", "minimum": 1 },
                { "type": "string", "pattern": "^[0-9]+(-[0-9]+)?( [0-9]+(-[0-9]+)?)*$" }
            ] }"#,
        }
    }
}
