//! A topology as text: the whole meaning in one file, with nothing left to defaults, includes or counts.

use std::collections::BTreeSet;
use std::fmt::{self, Write};

use xxhash_rust::xxh3::xxh3_128;

use super::units::{bytes_text, capacity_text};
use super::{
    Admission, AskWhen, Batch, BestBid, Blocking, Cable, Cables, Dispatch, EdfDeadline, End, Foreign, Market, Network,
    Payload, PlanPolicy, Planning, Pvdsq, Pvr, Removal, Reservation, Site, StopRule, SuccSum, Topology, Unplaceable,
    UpdateRule, User, Way, Workload,
};
use crate::catalog;
use crate::grid::Reserved;
use crate::grid::{Edge, Kind, Task, Worth};
use crate::network::{Duplex, EFFICIENCIES, MODES, Model};
use crate::protocol::handshake::TopologyHash;
use crate::systems::reservation::{Choose, RectEnd};
use crate::systems::{Row, Service};
use crate::time::{Span, Time};
use crate::workload::lublin::{Lublin, Stream, Types};
use crate::workload::market::Generator;
use crate::workload::reservations::{self, Demand};
use crate::workload::rigids::{Deal, LogFile, Origin, Rigids};
use crate::workload::{Source, layered, table};

impl Topology {
    /// A topology file that means exactly this, with a line about everything that has one.
    pub fn to_toml(&self) -> String {
        self.write(true)
    }

    /// Fingerprint of the meaning: equal for everything that leads to the same run, however it is written.
    pub fn hash(&self) -> TopologyHash {
        let bare = Topology { about: None, ..self.clone() };
        TopologyHash(xxh3_128(bare.write(false).as_bytes()).to_be_bytes())
    }

    /// A line about the size of the grid and its work.
    pub fn in_short(&self) -> String {
        let Topology { name, kinds, sites, users, .. } = self;
        let mut cores = vec![0; kinds.len()];
        sites.iter().for_each(|site| cores[usize::from(site.kind.0)] += u64::from(site.cores));
        let cores: Vec<String> = cores.iter().zip(kinds).map(|(cores, kind)| format!("{cores} {kind}")).collect();
        let counts = [(sites.len() as u64, "site"), (users.len() as u64, "user"), (self.jobs(), "job")];
        let [sites, users, jobs] =
            counts.map(|(count, what)| format!("{count} {what}{}", if count == 1 { "" } else { "s" }));
        format!("{name}: {sites} ({}), {users}, {jobs}\n", cores.join(", "))
    }

    /// How many jobs are submitted in all.
    pub fn jobs(&self) -> u64 {
        self.workloads.iter().map(|workload| u64::from(workload.source.count())).sum()
    }

    fn write(&self, comments: bool) -> String {
        let sections = if comments { catalog::sections() } else { Vec::new() };
        let mut page = Page { text: String::new(), comments, sections, said: BTreeSet::new() };
        page.topology(self).expect("a string takes all that is written");
        page.text
    }
}

struct Page {
    text: String,
    comments: bool,
    sections: Vec<catalog::Section>,
    /// What has been explained: once is enough, also for a thousand sites.
    said: BTreeSet<String>,
}

impl Page {
    fn topology(&mut self, topology: &Topology) -> fmt::Result {
        let Topology { name, about, seed, systems, sites, cables, users, workloads, .. } = topology;
        self.remark(
            "A resolved topology: every default is written out, and what was included or counted stands here itself.",
        )?;
        self.remark(topology.in_short().trim_end())?;
        self.line("name", quoted(name), "")?;
        if let Some(about) = about {
            self.line("about", quoted(about), "")?;
        }
        self.line("seed", seed, "of all that is random")?;
        for system in systems {
            self.system(system, cables.is_some())?;
        }
        sites.iter().try_for_each(|site| self.site(site, topology))?;
        if let Some(cables) = cables {
            self.cables(cables, topology)?;
        }
        users.iter().try_for_each(|user| self.user(user))?;
        workloads.iter().try_for_each(|workload| self.workload(workload, topology))
    }

    fn system(&mut self, system: &Service, linked: bool) -> fmt::Result {
        if let Some(market) = system.settings() {
            return self.market(market, linked);
        }
        if let Some(reservation) = system.settings() {
            return self.reservation(reservation);
        }
        if let Some(planning) = system.settings() {
            return self.planning(planning);
        }
        let batch = system.settings().expect("there are no other systems");
        self.batch(batch)
    }

    fn market(&mut self, market: &Market, linked: bool) -> fmt::Result {
        self.text.push_str("\n[market]\n");
        self.entry("market.policy", &market.policy)?;
        self.span("tick", market.tick, "the unit of run times and ages")?;
        if !linked {
            self.line("ccr", Millionths(market.ccr_millionths), "communication to computation ratio")?;
            self.word("market.network", market.network, Network::ALL)?;
        }
        self.word("market.blocking", market.blocking, Blocking::ALL)?;
        self.word("market.removal", market.removal, Removal::ALL)?;
        self.word("market.unplaceable", market.unplaceable, Unplaceable::ALL)?;
        self.word("market.succ_sum", market.succ_sum, SuccSum::ALL)?;
        self.word("market.edf", market.edf, EdfDeadline::ALL)?;
        self.word("market.pvdsq", market.pvdsq, Pvdsq::ALL)?;
        self.word("market.pvr", market.pvr, Pvr::ALL)?;
        self.word("market.admission", market.admission, Admission::ALL)?;
        let theta = Millionths(market.admission_theta_millionths);
        self.line("admission_theta", theta, "a job is due when it is worth this share of its value")?;
        let eta = Millionths(market.admission_eta_millionths);
        self.line("admission_eta", eta, "the share of the cores' time that admission gives out")?;
        if let Some(Foreign { command, ask, winner, timeout }) = &market.bidder {
            self.text.push_str("\n[market.bidder]\n");
            self.line("command", list(command.iter().map(|word| quoted(word))), "the program that bids")?;
            self.word("market.bidder.ask", *ask, AskWhen::ALL)?;
            self.word("market.bidder.winner", *winner, BestBid::ALL)?;
            self.span("timeout", *timeout, "how long it may take to answer, on the clock of the wall")?;
        }
        Ok(())
    }

    fn reservation(&mut self, reservation: &Reservation) -> fmt::Result {
        self.text.push_str("\n[reservation]\n");
        self.entry("reservation.policy", &reservation.policy)?;
        self.word("reservation.rect_end", reservation.rect_end, RectEnd::ALL)?;
        self.word("reservation.choose", reservation.choose, Choose::ALL)
    }

    fn planning(&mut self, planning: &Planning) -> fmt::Result {
        self.text.push_str("\n[workflow]\n");
        self.word("workflow.policy", planning.policy, PlanPolicy::ALL)?;
        self.line("iterations", planning.iterations, "plans of network-heft after the first")?;
        self.word("workflow.stop", planning.stop, StopRule::ALL)?;
        self.word("workflow.update", planning.update, UpdateRule::ALL)
    }

    fn site(&mut self, site: &Site, topology: &Topology) -> fmt::Result {
        self.text.push_str("\n[[site]]\n");
        self.line("name", quoted(&site.name), "")?;
        self.line("cores", site.cores, "")?;
        self.line("kind", kind_name(&topology.kinds, site.kind), "")?;
        let rows: Vec<&Row> = site.systems.iter().map(|system| topology.systems[*system].row()).collect();
        if topology.systems.len() > 1 {
            let keys = rows.iter().map(|row| quoted(row.key));
            self.line("system", list(keys), "who uses it")?;
        }
        if rows.iter().any(|row| row.has_speeds) {
            let speed = Millionths(site.speed_millionths);
            self.line("speed", speed, "tasks take their run time divided by this")?;
        }
        if rows.iter().any(|row| !(row.schedulers)().is_empty()) {
            self.entry("site.scheduler", &site.scheduler)?;
        }
        self.span("latency", site.latency, "to the router, one way")?;
        self.span("report_every", site.report_every, "ends are told at multiples of this; 0 s is at once")?;
        if site.reserved.is_empty() {
            return Ok(());
        }
        self.text.push_str("reserved = [\n");
        for Reserved { from, until, nodes } in &site.reserved {
            let [from, until] = [from, until].map(|time| quoted(&time.since(Time::ZERO).to_string()));
            writeln!(self.text, "    {{ from = {from}, until = {until}, nodes = \"{nodes}\" }},")?;
        }
        self.text.push_str("]\n");
        Ok(())
    }

    fn cables(&mut self, cables: &Cables, topology: &Topology) -> fmt::Result {
        let Cables { model, payload, switches, links, routes } = cables;
        let end = |end: &End| match end {
            End::Site(site) => quoted(&topology.sites[*site].name),
            End::Switch(switch) => quoted(&switches[*switch]),
        };
        self.text.push_str("\n[network]\n");
        self.word("network.model", *model, Model::ALL)?;
        if let Some(Payload { real, of }) = payload {
            let text = quoted(&format!("{} per {}", bytes_text(*real), bytes_text(*of)));
            self.line("payload", text, "what processes really move")?;
        }
        if !switches.is_empty() {
            self.line("switches", list(switches.iter().map(|name| quoted(name))), "where links meet that is no site")?;
        }
        for Cable { name, capacity, latency, mode, efficiency, duplex, between } in links {
            self.text.push_str("\n[[link]]\n");
            self.line("name", quoted(name), "")?;
            self.line("capacity", quoted(&capacity_text(*capacity)), "")?;
            self.span("latency", *latency, "of the link, one way")?;
            self.word("link.mode", *mode, MODES)?;
            self.word("link.efficiency", *efficiency, EFFICIENCIES)?;
            self.word("link.duplex", *duplex, Duplex::ALL)?;
            if let Some(between) = between {
                self.line("between", list(between.iter().map(end)), "its two ends")?;
            }
        }
        for Way { from, to, links: way } in routes {
            self.text.push_str("\n[[route]]\n");
            self.line("from", quoted(&topology.sites[*from].name), "")?;
            self.line("to", quoted(&topology.sites[*to].name), "")?;
            self.line("links", list(way.iter().map(|(link, _)| quoted(&links[*link].name))), "")?;
        }
        Ok(())
    }

    fn user(&mut self, user: &User) -> fmt::Result {
        self.text.push_str("\n[[user]]\n");
        self.line("name", quoted(&user.name), "")?;
        self.span("latency", user.latency, "to the router, one way")
    }

    fn workload(&mut self, workload: &Workload, topology: &Topology) -> fmt::Result {
        let Workload { users, system, source } = workload;
        self.text.push_str("\n[[workload]]\n");
        self.entry("workload.source", source.name())?;
        if topology.systems.len() > 1 {
            self.line("system", quoted(topology.systems[*system].row().key), "where its jobs go")?;
        }
        // A list of all users, of whom there may be thousands, says nothing; it is the default.
        if users.iter().copied().eq(0..topology.users.len()) {
            self.remark("users: all")?;
        } else {
            let names = users.iter().map(|user| quoted(&topology.users[*user].name));
            self.line("users", list(names), "")?;
        }
        match source {
            Source::Market(generator) => self.generator(generator, topology.system_of(workload).tick(), topology),
            Source::Table(table) => table.jobs.iter().try_for_each(|job| self.job(job, &topology.kinds)),
            Source::Layered(generator) => self.layered(generator, topology),
            Source::Reservations(demand) => self.demand(demand),
            Source::Requests(table) => table.asks.iter().try_for_each(|ask| self.ask(ask)),
            Source::Rigid(rigids) => self.rigids(rigids, topology),
        }
    }

    fn generator(&mut self, generator: &Generator, tick: Span, topology: &Topology) -> fmt::Result {
        let kinds = generator.kinds.map(|kind| kind_name(&topology.kinds, kind));
        let (shortest, longest) = generator.total_runtime;
        let ticks = |ticks| quoted(&Span::from_micros(tick.micros() * ticks).to_string());
        self.line("seed", generator.seed, "")?;
        self.line("jobs", generator.jobs, "")?;
        self.line("load", format_args!("{:?}", generator.load), "work offered, as a share of what the cores can do")?;
        self.word("workload.load_basis", generator.load_basis, catalog::LOAD_BASES)?;
        self.line("tasks", format_args!("[{}, {}]", generator.tasks.0, generator.tasks.1), "fewest and most of a job")?;
        self.line("total_runtime", list([ticks(shortest), ticks(longest)]), "of all tasks of a job together")?;
        self.line("cores_max", generator.cores_max, "of a task")?;
        self.line("kinds", list(kinds), "the usual kind of core and the other one")?;
        self.line("kind_share", format_args!("{:?}", generator.kind_share), "of the usual kind")?;
        self.line("degree", format_args!("{:?}", generator.degree), "how many inputs tasks tend to have")?;
        if generator.output > 0 {
            let about = "what tasks write while they run, over each of their edges";
            self.line("output", quoted(&capacity_text(generator.output)), about)?;
        }
        Ok(())
    }

    fn layered(&mut self, generator: &layered::Generator, topology: &Topology) -> fmt::Result {
        let layered::Generator { seed, workflows, arrive, every, shape, costs, kind } = generator;
        let (shortest, longest) = costs.runtime;
        self.line("seed", seed, "")?;
        self.line("workflows", workflows, "")?;
        self.span("arrive", arrive.since(Time::ZERO), "the first")?;
        self.span("every", *every, "from one to the next")?;
        self.line("tasks", shape.tasks, "of a workflow")?;
        self.line("fat", format_args!("{:?}", shape.fat), "a level has about tasks to the power of this")?;
        self.line("density", format_args!("{:?}", shape.density), "how much of the level before a task waits for")?;
        self.line("regularity", format_args!("{:?}", shape.regularity), "1: all levels have the same size")?;
        self.line("jump", shape.jump, "how many levels an edge may go back")?;
        self.line("runtime", list([shortest, longest].map(|span| quoted(&span.to_string()))), "of a task at speed 1")?;
        self.line("ccr", Millionths(costs.ccr_millionths), "what data weighs beside run times")?;
        self.line("bandwidth", quoted(&capacity_text(costs.bandwidth)), "at which it does")?;
        self.line("kind", kind_name(&topology.kinds, *kind), "")
    }

    fn job(&mut self, job: &table::Entry, kinds: &[String]) -> fmt::Result {
        let table::Entry { arrive, tasks, edges, worth } = job;
        self.text.push_str("\n[[workload.job]]\n");
        self.span("arrive", arrive.since(Time::ZERO), "")?;
        self.text.push_str("tasks = [\n");
        for Task { runtime, cores, kind, walltime } in tasks {
            let asked = if walltime == runtime { String::new() } else { format!(", walltime = \"{walltime}\"") };
            let (runtime, kind) = (quoted(&runtime.to_string()), kind_name(kinds, *kind));
            writeln!(self.text, "    {{ runtime = {runtime}, cores = {cores}, kind = {kind}{asked} }},")?;
        }
        self.text.push_str("]\n");
        if !edges.is_empty() {
            let edge = |Edge { from, to, data }: &Edge| match data {
                0 => format!("[{from}, {to}]"),
                data => format!("[{from}, {to}, {data}]"),
            };
            self.line("edges", list(edges.iter().map(edge)), "")?;
        }
        if let Some(Worth { max, curve }) = worth {
            // As the curve itself says it is to be written down.
            let curve = toml::Table::try_from(curve).expect("a curve is made of numbers");
            let [initial, last, points] = ["initial", "final", "points"].map(|key| &curve[key]);
            let worth = format_args!("{{ max = {max:?}, initial = {initial}, final = {last}, points = {points} }}");
            self.line("worth", worth, "")?;
        }
        Ok(())
    }

    fn demand(&mut self, demand: &Demand) -> fmt::Result {
        self.line("seed", demand.seed, "")?;
        self.line("requests", demand.requests, "")?;
        self.line("nodes", demand.nodes, "no request is larger")?;
        self.line("size", format_args!("{:?}", demand.size), "the middle size, as a power of two")?;
        self.line("size_max", format_args!("{:?}", demand.size_max), "the largest size, as a power of two")?;
        self.line("arrival_factor", Millionths(demand.rate_millionths), "how much faster than usual requests come")?;
        self.line("ahead", Millionths(demand.ahead_millionths), "ready up to so many durations after arrival")?;
        self.line("slack", Millionths(demand.slack_millionths), "up to so many durations between end and deadline")?;
        self.line("used", Millionths(demand.used_millionths), "the least share of its time that a job really runs")
    }

    fn ask(&mut self, ask: &reservations::Ask) -> fmt::Result {
        let reservations::Ask { request, runtime, cancel } = ask;
        self.text.push_str("\n[[workload.request]]\n");
        self.span("arrive", request.arrive.since(Time::ZERO), "")?;
        self.span("ready", request.ready.since(Time::ZERO), "the earliest start")?;
        self.span("duration", request.duration, "")?;
        self.span("deadline", request.deadline.since(Time::ZERO), "the latest end")?;
        self.line("nodes", request.nodes, "")?;
        if !runtime.is_zero() {
            self.span("runtime", *runtime, "how long the job really runs")?;
        }
        if let Some(cancel) = cancel {
            self.span("cancel", cancel.since(Time::ZERO), "when its user takes it back")?;
        }
        Ok(())
    }

    fn batch(&mut self, batch: &Batch) -> fmt::Result {
        self.text.push_str("\n[batch]\n");
        self.word("batch.dispatch", batch.dispatch, Dispatch::ALL)
    }

    fn rigids(&mut self, rigids: &Rigids, topology: &Topology) -> fmt::Result {
        let Rigids { origin, deal, site, overestimate_millionths, window, count, .. } = rigids;
        match origin {
            Origin::Swf(log) | Origin::Batsim(log) => {
                let LogFile { path, hash, strict } = log;
                // The same log is the same meaning, wherever it lies.
                if self.comments {
                    self.line("file", quoted(path), "")?;
                }
                self.line("hash", quoted(hash), "of what is in the file, uncompressed")?;
                self.line("count", count, "jobs of it that run")?;
                self.line("strict", strict, "whether anything wrong in it is an error")?;
                self.span("from", window.from, "jobs are left out that were submitted before; time counts from here")?;
                if let Some(to) = window.to {
                    self.span("to", to, "jobs are left out that were submitted then or later")?;
                }
                if let Some(jobs) = window.jobs {
                    self.line("jobs", jobs, "at most, the first ones")?;
                }
            }
            Origin::Lublin(lublin) => self.lublin(lublin)?,
        }
        self.word("workload.deal", *deal, Deal::ALL)?;
        if let Some(site) = site {
            self.line("site", quoted(&topology.sites[*site].name), "the only one that these jobs go to")?;
        }
        let factor = Millionths(*overestimate_millionths);
        self.line("overestimate", factor, "jobs that ask for no time ask for so many times their run time")
    }

    fn lublin(&mut self, lublin: &Lublin) -> fmt::Result {
        self.line("seed", lublin.seed, "")?;
        self.line("jobs", lublin.jobs, "")?;
        self.line("nodes", lublin.nodes, "no job is larger")?;
        self.word("workload.types", lublin.types, Types::ALL)?;
        self.word("workload.stream", lublin.stream, Stream::ALL)?;
        self.line("arrival_factor", Millionths(lublin.rate_millionths), "how much faster than in the model jobs come")?;
        let sizes = &lublin.sizes;
        let given = [
            ("serial", sizes.serial, "the share of jobs with one node"),
            ("pow2", sizes.pow2, "the share of jobs whose size is a power of two above one"),
            ("size_low", sizes.low, "the least size above one, as a power of two"),
            ("size_med", sizes.med, "the middle size, as a power of two"),
            ("size_high", sizes.high, "the largest size, as a power of two"),
            ("size_prob", sizes.prob, "the share of sizes between the least and the middle one"),
        ];
        for (key, value, about) in given {
            if let Some(value) = value {
                self.line(key, format_args!("{value:?}"), about)?;
            }
        }
        match sizes.unit {
            Some(unit) => self.line("unit", unit, "how many nodes count as one where run times go with sizes"),
            None => Ok(()),
        }
    }

    fn word<T: PartialEq>(&mut self, key: &str, value: T, all: &[(&'static str, T, &'static str)]) -> fmt::Result {
        let (word, ..) = all.iter().find(|(_, variant, _)| *variant == value).expect("every variant has a word");
        self.entry(key, word)
    }

    /// A setting that the catalogue has a line about.
    fn entry(&mut self, key: &str, name: &str) -> fmt::Result {
        let section = self.sections.iter().find(|section| section.key == key);
        let entry = section.and_then(|section| section.entries.iter().find(|entry| entry.name == name));
        let about = section.zip(entry).map(|(section, entry)| format!("{}: {}", section.about, entry.about));
        let (_, key) = key.rsplit_once('.').expect("catalogued keys are in a table");
        self.line(key, quoted(name), &about.unwrap_or_default())
    }

    fn span(&mut self, key: &str, span: Span, about: &str) -> fmt::Result {
        self.line(key, quoted(&span.to_string()), about)
    }

    fn line(&mut self, key: &str, value: impl fmt::Display, about: &str) -> fmt::Result {
        let setting = format!("{key} = {value}");
        if self.comments && !about.is_empty() && self.said.insert(about.to_owned()) {
            writeln!(self.text, "{setting:32} # {about}")
        } else {
            writeln!(self.text, "{setting}")
        }
    }

    fn remark(&mut self, text: &str) -> fmt::Result {
        if self.comments { writeln!(self.text, "# {text}") } else { Ok(()) }
    }
}

fn kind_name(kinds: &[String], kind: Kind) -> String {
    quoted(&kinds[usize::from(kind.0)])
}

fn list(items: impl IntoIterator<Item = String>) -> String {
    let items: Vec<String> = items.into_iter().collect();
    format!("[{}]", items.join(", "))
}

fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            c if c.is_control() => quoted.push_str(&format!("\\u{:04X}", u32::from(c))),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

/// Prints millionths as a decimal fraction that reads back to the same.
struct Millionths(u64);

impl fmt::Display for Millionths {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = format!("{:06}", self.0 % 1_000_000);
        let fraction = digits.trim_end_matches('0');
        write!(f, "{}.{}", self.0 / 1_000_000, if fraction.is_empty() { "0" } else { fraction })
    }
}
