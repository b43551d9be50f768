//! Traffic of the links: a part of the summary, and `transfers.csv` with one row per flow, in order of release.

use std::collections::{BTreeMap, VecDeque};
use std::io::Write;

use crate::Inconsistent;
use crate::referee::tally::SiteFacts;
use crate::results::summary::Carried;
use crate::tables::columns::{TableForm, number, seconds, text, whole_number};
use crate::tables::csv::put_ends;
use hansa_sim::grid::{CableId, EdgeId, FailureTarget, JobId};
use hansa_sim::network::{Link, LinkId, Paths};
use hansa_sim::time::Time;
use hansa_sim::topology::{Cables, Topology, network_paths};

/// A flow over the links that has ended, or the part of it over these links until one of them failed.
pub(crate) struct Crossing<'a> {
    pub links: &'a [LinkId],
    pub bytes: u64,
    /// Time at which all latencies had elapsed.
    pub active: Time,
    pub ended: Time,
    /// The legs after this one, and the flow's own route, used by legs without links of their own.
    later: &'a [RouteLeg],
    own: &'a [LinkId],
}

impl Crossing<'_> {
    /// True if no later leg of the flow uses this link, so that the flow counts there.
    pub fn leaves_link(&self, link: LinkId) -> bool {
        self.later.iter().all(|leg| !leg.links.as_deref().unwrap_or(self.own).contains(&link))
    }
}

/// Effects of failed links on all flows.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct HeldUp {
    /// Number of flows that were held up, and number of stalls.
    pub flows: u64,
    pub times: u64,
    /// Sum of the delays until they used links again.
    pub micros: u128,
    /// Number of detours over other links.
    pub reroutes: u64,
    pub bytes_again: u64,
}

/// Every flow of the run, and its network. The flows at the front that have ended may be dropped; then only their rows
/// and sums are kept.
#[derive(Clone, Debug)]
pub(crate) struct RunFlows {
    paths: Option<Paths>,
    cables: Option<Cables>,
    /// True if tasks may be lost, and need their data once more.
    comes_again: bool,
    /// The flows in order of release, from the first one kept.
    pub rows: VecDeque<FlowRow>,
    /// Number of dropped flows.
    gone: usize,
    lets_go: bool,
    numbers: BTreeMap<EdgeId, usize>,
    /// Sums over the dropped flows.
    sums: FlowSums,
    /// Rows of the table that have not been taken.
    pub text: Vec<u8>,
}

#[derive(Clone, Debug)]
pub(crate) struct FlowRow {
    pub edge: EdgeId,
    pub from: u32,
    pub to: u32,
    pub bytes: u64,
    pub released: Time,
    pub active: Time,
    pub ended: Option<Time>,
    /// Effects of failed links on its route.
    trouble: Option<Box<LinkTrouble>>,
}

/// Effects of failed links on a flow.
#[derive(Clone, Debug)]
struct LinkTrouble {
    /// Closed legs.
    legs: Vec<RouteLeg>,
    /// The present links, if not its own, the begin of this leg, and the bytes left then.
    links: Option<Vec<LinkId>>,
    active: Time,
    left: u64,
    stalled: Option<Time>,
    done: HeldUp,
}

/// The part of a flow over some links.
#[derive(Clone, Debug)]
struct RouteLeg {
    links: Option<Vec<LinkId>>,
    active: Time,
    ended: Time,
    bytes: u64,
}

impl LinkTrouble {
    fn of(row: &FlowRow) -> LinkTrouble {
        let active = row.active;
        let left = row.bytes;
        LinkTrouble { legs: Vec::new(), links: None, active, left, stalled: None, done: HeldUp::default() }
    }

    /// A stretch of the way is over, with so much left.
    fn pause_flow(&mut self, now: Time, left: u64) {
        let links = self.links.clone();
        let active = self.active.min(now);
        let ended = now;
        self.legs.push(RouteLeg { links, active, ended, bytes: self.left - left });
        self.left = left;
    }
}

/// Sums in order of release, as sums of floats depend on it.
#[derive(Clone, Copy, Debug, Default)]
struct FlowSums {
    flows: u64,
    unfinished: u64,
    bytes: u64,
    /// Number of flows with a rate, and sum of their rates.
    rate: (f64, f64),
    stretch: (f64, f64),
    held_up: HeldUp,
}

impl RunFlows {
    pub fn of(topology: &Topology) -> RunFlows {
        RunFlows {
            paths: topology.cables.is_some().then(|| network_paths(topology)),
            cables: topology.cables.clone(),
            comes_again: topology.failures.iter().any(|failure| matches!(failure.what, FailureTarget::Nodes { .. })),
            rows: VecDeque::new(),
            gone: 0,
            lets_go: false,
            numbers: BTreeMap::new(),
            sums: FlowSums::default(),
            text: TRANSFERS.header_line(&[]),
        }
    }

    /// The links and routes; None without links.
    pub fn paths(&self) -> Option<&Paths> {
        self.paths.as_ref()
    }

    /// Drops all flows that have ended from now on.
    pub fn drop_ended(&mut self) {
        self.lets_go = true;
    }

    pub fn record_sent(
        &mut self,
        edge: EdgeId,
        (from, to): (u32, u32),
        bytes: u64,
        (released, active): (Time, Time),
    ) -> Result<(), Inconsistent> {
        // The input of a job that is submitted again elsewhere is sent there too, and so is that of a lost task.
        let may_come_again = (edge.from == EdgeId::HOME || self.comes_again) && !self.is_under_way(edge);
        if self.numbers.contains_key(&edge) && !may_come_again {
            return Err(Inconsistent::SentTwice(edge));
        }
        self.numbers.insert(edge, self.gone + self.rows.len());
        self.rows.push_back(FlowRow { edge, from, to, bytes, released, active, ended: None, trouble: None });
        Ok(())
    }

    /// Records that a link of the route is down, with the bytes left.
    pub fn record_stalled(&mut self, edge: EdgeId, left: u64, now: Time) -> Result<(), Inconsistent> {
        let row = self.under_way(edge)?;
        let mut trouble = row.trouble.take().unwrap_or_else(|| Box::new(LinkTrouble::of(row)));
        let fits = trouble.stalled.is_none() && left <= trouble.left;
        if fits {
            trouble.done.flows = 1;
            trouble.done.times += 1;
            trouble.stalled = Some(now);
            trouble.pause_flow(now, left);
        }
        row.trouble = Some(trouble);
        if fits { Ok(()) } else { Err(Inconsistent::NotHeldUp(edge)) }
    }

    /// Records that it continues, or begins over other links than its own.
    pub fn record_continued(
        &mut self,
        edge: EdgeId,
        left: u64,
        via: &[CableId],
        active: Time,
    ) -> Result<(), Inconsistent> {
        let from = self.under_way(edge)?.from as usize;
        let to = self.under_way(edge)?.to as usize;
        let links = match via {
            [] => None,
            via => Some(self.route_links((from, to), via).ok_or(Inconsistent::NotHeldUp(edge))?),
        };
        let row = self.under_way(edge)?;
        let mut trouble = row.trouble.take().unwrap_or_else(|| Box::new(LinkTrouble::of(row)));
        let sets_out = trouble.legs.is_empty() && trouble.links.is_none() && links.is_some();
        let fits = (trouble.stalled.is_some() || sets_out) && (trouble.left..=row.bytes).contains(&left);
        if fits {
            match trouble.stalled.take() {
                Some(since) => trouble.done.micros += u128::from(active.since(since).micros()),
                None => row.active = active,
            }
            trouble.done.bytes_again += left - trouble.left;
            trouble.done.reroutes += u64::from(links.is_some());
            (trouble.active, trouble.left) = (active, left);
            trouble.links = links.or(trouble.links);
        }
        row.trouble = Some(trouble);
        if fits { Ok(()) } else { Err(Inconsistent::NotHeldUp(edge)) }
    }

    /// The links of the route over some cables.
    fn route_links(&self, (from, to): (usize, usize), via: &[CableId]) -> Option<Vec<LinkId>> {
        let cables = self.cables.as_ref()?;
        let own = self.paths.as_ref()?.listed_route(from, to);
        let of = cables.by_link();
        // A route given in full may lead over links without ends.
        if own.iter().map(|link| of[link.index()]).eq(via.iter().copied()) {
            return Some(own.to_vec());
        }
        cables.path_links(from, via)
    }

    fn under_way(&mut self, edge: EdgeId) -> Result<&mut FlowRow, Inconsistent> {
        if !self.is_under_way(edge) {
            return Err(Inconsistent::NotOnItsWay(edge));
        }
        Ok(&mut self.rows[self.numbers[&edge] - self.gone])
    }

    /// Records an arrival. `known` is true if its job may still send the data again.
    pub fn record_delivered(&mut self, edge: EdgeId, now: Time, known: bool) -> Result<(), Inconsistent> {
        let row = self.under_way(edge)?;
        match &mut row.trouble {
            Some(trouble) if trouble.stalled.is_some() => return Err(Inconsistent::NotHeldUp(edge)),
            Some(trouble) => trouble.pause_flow(now, 0),
            None => {}
        }
        row.ended = Some(now);
        if !known {
            self.numbers.remove(&edge);
        }
        Ok(())
    }

    fn is_under_way(&self, edge: EdgeId) -> bool {
        let here = self.numbers.get(&edge).and_then(|number| number.checked_sub(self.gone));
        here.is_some_and(|here| self.rows[here].ended.is_none())
    }

    /// Drops the flows at the front that have ended.
    pub fn drop_front(&mut self, sites: &[SiteFacts]) {
        while self.lets_go
            && let Some(row) = self.rows.pop_front_if(|row| row.ended.is_some())
        {
            self.gone += 1;
            self.sums = self.add_flow(self.sums, &row);
            let mut text = std::mem::take(&mut self.text);
            self.write(&row, sites, &mut text);
            self.text = text;
        }
    }

    /// Forgets the edges of a finished job, except active transfers, which continue.
    pub fn forget_job(&mut self, job: JobId) {
        let all: Vec<EdgeId> =
            self.numbers.range(edge_at_end(0, job)..=edge_at_end(u32::MAX, job)).map(|(edge, _)| *edge).collect();
        for edge in all {
            if !self.is_under_way(edge) {
                self.numbers.remove(&edge);
            }
        }
    }

    pub fn carried_summary(&self) -> Option<Carried> {
        self.paths.as_ref()?;
        let FlowSums { flows, unfinished, bytes, rate, stretch, .. } =
            self.rows.iter().fold(self.sums, |sums, row| self.add_flow(sums, row));
        Some(Carried { flows, unfinished, bytes, rate: mean_of_sum(rate), stretch: mean_of_sum(stretch) })
    }

    /// Effects of failed links on flows.
    pub fn held_up(&self) -> HeldUp {
        self.rows.iter().fold(self.sums, |sums, row| self.add_flow(sums, row)).held_up
    }

    fn add_flow(&self, mut sums: FlowSums, row: &FlowRow) -> FlowSums {
        if let Some(trouble) = &row.trouble {
            let HeldUp { flows, times, micros, reroutes, bytes_again } = trouble.done;
            let all = &mut sums.held_up;
            (all.flows, all.times) = (all.flows + flows, all.times + times);
            (all.micros, all.reroutes) = (all.micros + micros, all.reroutes + reroutes);
            all.bytes_again += bytes_again;
        }
        if row.ended.is_none() {
            sums.unfinished += 1;
            return sums;
        }
        sums.flows += 1;
        sums.bytes += row.bytes;
        sums.rate = add_to_sum(sums.rate, row.mean_rate());
        sums.stretch = add_to_sum(sums.stretch, self.stretch_factor(row));
        sums
    }

    /// The links, and the crossings in order of release; none without links.
    pub fn link_crossings<'t>(&'t self) -> Option<(&'t [Link], impl Iterator<Item = Crossing<'t>>)> {
        let paths = self.paths.as_ref()?;
        let whole = move |row: &FlowRow| {
            let ended = row.ended.filter(|_| row.trouble.is_none())?;
            let own = own_links(row, paths);
            Some(Crossing { links: own, bytes: row.bytes, active: row.active, ended, later: &[], own })
        };
        let in_parts = move |row: &'t FlowRow| {
            let legs = row.trouble.as_ref().filter(|_| row.ended.is_some()).map_or(&[][..], |trouble| &trouble.legs);
            legs.iter().enumerate().map(move |(number, leg)| Crossing {
                links: leg.links.as_deref().unwrap_or(own_links(row, paths)),
                bytes: leg.bytes,
                active: leg.active,
                ended: leg.ended,
                later: &legs[number + 1..],
                own: own_links(row, paths),
            })
        };
        Some((&paths.links, self.rows.iter().flat_map(move |row| whole(row).into_iter().chain(in_parts(row)))))
    }

    /// Number of inputs sent to a site for some of the jobs, and the sum of their durations in seconds.
    pub fn input_totals(&self, which: impl Fn(JobId) -> bool) -> (u64, f64) {
        let inputs = self.rows.iter().filter(|row| row.edge.from == EdgeId::HOME && which(row.edge.job));
        inputs.filter_map(FlowRow::duration_seconds).fold((0, 0.0), |(count, sum), seconds| (count + 1, sum + seconds))
    }

    /// Duration of the flow had it been alone, in seconds.
    pub fn time_alone(&self, row: &FlowRow) -> Option<f64> {
        let paths = self.paths.as_ref()?;
        let from = row.from as usize;
        let to = row.to as usize;
        let rate = paths.bandwidth(from, to, |link| link.effective(1));
        let seconds = (paths.latency(from, to) + row.bytes as f64 / rate) / 1e6;
        (row.bytes > 0 && seconds > 0.0).then_some(seconds)
    }

    fn stretch_factor(&self, row: &FlowRow) -> Option<f64> {
        Some(row.duration_seconds()? / self.time_alone(row)?)
    }

    pub fn write(&self, row: &FlowRow, sites: &[SiteFacts], text: &mut Vec<u8>) {
        let FlowRow { edge, from, to, bytes, released, active, ended, .. } = row;
        let mut line = TRANSFERS.row(text);
        line.number(edge.job.0);
        put_ends(line.text, edge);
        line.close()
            .text(site_name(from, sites))
            .text(site_name(to, sites))
            .number(*bytes)
            .time(*released)
            .time(*active);
        line.maybe(*ended, |line, ended| line.time(ended));
        let lone = self.time_alone(row).map(|alone| *bytes as f64 / alone);
        for number in [row.mean_rate(), lone, self.stretch_factor(row)] {
            line.maybe(number, |line, number| {
                write!(line.text, "{number:.3}").expect("writing to memory does not fail");
                line.close()
            });
        }
        line.end();
    }
}

fn edge_at_end(number: u32, job: JobId) -> EdgeId {
    EdgeId { job, from: number, to: number }
}

fn mean_of_sum((count, sum): (f64, f64)) -> Option<f64> {
    (count > 0.0).then_some(sum / count)
}

fn add_to_sum((count, sum): (f64, f64), one: Option<f64>) -> (f64, f64) {
    one.map_or((count, sum), |one| (count + 1.0, sum + one))
}

fn own_links<'p>(row: &FlowRow, paths: &'p Paths) -> &'p [LinkId] {
    paths.listed_route(row.from as usize, row.to as usize)
}

fn site_name<'s>(site: &u32, sites: &'s [SiteFacts]) -> &'s str {
    sites[*site as usize].name.as_str()
}

impl FlowRow {
    /// Time for which links that were down held it up.
    pub fn held_up_micros(&self) -> u128 {
        self.trouble.as_ref().map_or(0, |trouble| trouble.done.micros)
    }

    pub fn duration_seconds(&self) -> Option<f64> {
        Some(self.ended?.since(self.released).micros() as f64 / 1e6)
    }

    fn mean_rate(&self) -> Option<f64> {
        let seconds = self.duration_seconds()?;
        (self.bytes > 0 && seconds > 0.0).then(|| self.bytes as f64 / seconds)
    }
}

pub const TRANSFERS: TableForm = TableForm {
    file: "transfers.csv",
    about: "One row per flow, only for grids with links.",
    columns: &[
        whole_number("job", "number of the job whose data it is"),
        text("edge", "the tasks between which it goes: `3-4`; `home-0` is input, `0-home` is output"),
        text("from", "the site that sends"),
        text("to", "the site that receives"),
        whole_number("bytes", "volume"),
        seconds("released", "when it was sent"),
        seconds("active", "when the latencies had elapsed"),
        seconds("ended", "when all of it had arrived"),
        number("rate", "bytes per second", "effective rate, from release to end"),
        number("lone_rate", "bytes per second", "the same, had it been alone on its links"),
        number("stretch", "", "how many times as long as alone it took"),
    ],
};
