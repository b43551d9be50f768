//! Traffic of the links: one lane per link, filled in proportion to its use.

use std::fmt::Write;

use super::chart::{BOTTOM, Figure, LEFT, Levels, RIGHT, TOP, WIDTH, area_path, time_axis, values_attribute};
use super::hatching::{MOST, hatch_lines};
use super::html::{format_coord, format_counted, shorten_text, unbroken_number, unbroken_percent, unbroken_volume};
use super::{PARTS, Page};
use crate::markup::{Html, html};
use crate::referee::transfers::Crossing;
use hansa_sim::grid::CableId;
use hansa_sim::network::{Link, LinkId, Mode};
use hansa_sim::time::Time;
use hansa_sim::topology::{Cables, link_names};

/// Largest number of lanes: the links with the least traffic have none.
const LANES_MAX: usize = 24;
const CAPTION: f64 = 17.0;
const LANE: f64 = 30.0;
const GAP: f64 = 9.0;

/// Traffic of a link.
#[derive(Clone)]
struct LinkTraffic {
    flows: u64,
    bytes: u64,
    /// Duration of its use.
    busy: u64,
    until: Time,
}

impl LinkTraffic {
    fn is_any(&self) -> bool {
        self.bytes > 0 || self.flows > 0
    }

    /// Adds a flow; flows come in order of their begin.
    fn add(&mut self, flow: &Crossing<'_>, link: LinkId) {
        self.flows += u64::from(flow.leaves_link(link));
        self.bytes += flow.bytes;
        self.busy += flow.ended.since(flow.active.max(self.until)).micros();
        self.until = self.until.max(flow.ended);
    }
}

impl Page<'_> {
    /// The section; empty, if no data crossed any link.
    pub(super) fn links_section(&self) -> Html {
        let Some((links, crossings)) = self.tally.transfers.link_crossings() else { return Html::default() };
        let mut flows: Vec<Crossing<'_>> = crossings.filter(|flow| !flow.links.is_empty()).collect();
        flows.sort_by_key(|flow| flow.active);
        let loads = link_loads(links.len(), &flows);
        let all = loads.iter().filter(|load| load.is_any()).count();
        if all == 0 {
            return Html::default();
        }
        let lanes = busiest_links(&loads);
        let levels = self.link_levels(&lanes, &flows);
        let names = link_names(self.topology);
        let cables = self.topology.cables.iter().flat_map(Cables::by_link).collect::<Vec<_>>();
        let mut body = Html::default();
        let mut sentences = Vec::new();
        let mut top = TOP;
        let mut legend = Vec::new();
        for (link, levels) in lanes.iter().zip(levels) {
            let name = &names[*link];
            let words = self.traffic_words(&loads[*link], links[*link].capacity);
            let full = full_rate(&links[*link], &levels);
            body += draw_lane(&shorten_text(name, 60), &words, &levels, full, top);
            let down =
                cables.get(*link).map_or_else(Html::default, |cable| self.outage_areas(*cable, name, top, lanes.len()));
            if !down.is_empty() && legend.is_empty() {
                legend.push(("hatched-down".to_owned(), "down".to_owned()));
            }
            body += down;
            sentences.push(format!("{name}: {words}."));
            top += CAPTION + LANE + GAP;
        }
        Figure {
            id: "lanes",
            title: "Use of the links, over time",
            desc: format!("One lane per link over time, filled in proportion to its use. {}", sentences.join(" ")),
            note: format!(
                "One lane per link and direction. Its height is the capacity, or, if flows do not compete for it, the \
                 most that they used together. A flow counts with its mean rate from when all latencies had elapsed \
                 until its end; transfers.csv has each of the {}.{}",
                format_counted(self.results.transfers.map_or(0, |carried| carried.flows), "flow"),
                self.left_out(all - lanes.len())
            ),
            legend,
            height: top + BOTTOM,
            body: body + time_axis(self.window, top),
        }
        .html()
    }

    /// The bytes that crossed each of these links over time.
    fn link_levels(&self, links: &[usize], flows: &[Crossing<'_>]) -> Vec<Vec<f64>> {
        let mut levels = vec![Levels::new(self.window, PARTS); links.len()];
        for flow in flows {
            let rate = flow.bytes as f64 / flow.ended.since(flow.active).micros().max(1) as f64;
            for lane in flow.links.iter().filter_map(|link| links.binary_search(&link.index()).ok()) {
                levels[lane].add(flow.active, flow.ended, rate);
            }
        }
        levels.iter().map(Levels::part_means).collect()
    }

    /// Links without a lane, and flows that no lane shows, as sentences after a note.
    fn left_out(&self, links: usize) -> String {
        let mut text = match links {
            0 => String::new(),
            more => format!(" {} that carried less are not shown.", format_counted(more as u64, "link")),
        };
        if let Some(carried) = self.results.transfers.filter(|carried| carried.unfinished > 0) {
            let flows = format_counted(carried.unfinished, "flow");
            let _ = write!(text, " {flows} still under way when the log ended are left out.");
        }
        text
    }

    /// Outages of a link as hatched areas in one of `lanes` lanes; only the longest outages, if there are too many.
    fn outage_areas(&self, cable: CableId, name: &str, top: f64, lanes: usize) -> Html {
        let window = self.window;
        let mut all: Vec<(Time, Time)> = Vec::new();
        self.tally.failing.each_of_link(cable, window.to, |from, to| {
            if window.from < to {
                all.push((from, to));
            }
        });
        all.sort_by_key(|(from, to)| (std::cmp::Reverse(to.since(*from)), *from));
        all.truncate(MOST / lanes);
        let mut svg = Html::default();
        let upper = top + CAPTION;
        for (from, to) in all {
            let left = window.x(from.max(window.from));
            let right = window.x(to);
            let width = (right - left).max(0.6);
            svg += html!(
                "<g class=\"down\"><title>{name}: down from {from} until {to}</title><rect x=\"{}\" y=\"{}\" width=\"{}\" \
                 height=\"{LANE}\"/><path d=\"{}\"/></g>\n",
                format_coord(left),
                format_coord(upper),
                format_coord(width),
                hatch_lines((left, upper), (width, LANE)),
                [name, from, to, LANE]
            );
        }
        svg
    }

    fn traffic_words(&self, load: &LinkTraffic, capacity: f64) -> String {
        let of = if capacity.is_finite() { format!("of {} ", unbroken_number(capacity)) } else { String::new() };
        let rate = match load.busy {
            0 => String::new(),
            busy => format!(", with {} {of}MB/s on average", unbroken_number(load.bytes as f64 / busy as f64)),
        };
        format!(
            "{}, {}; in use {} of the time{rate}",
            format_counted(load.flows, "flow"),
            unbroken_volume(load.bytes as f64),
            unbroken_percent(load.busy as f64 / self.window.length_micros() as f64)
        )
    }
}

/// Traffic of each link, from flows in order of their begin.
fn link_loads(links: usize, flows: &[Crossing<'_>]) -> Vec<LinkTraffic> {
    let mut loads = vec![LinkTraffic { flows: 0, bytes: 0, busy: 0, until: Time::ZERO }; links];
    for flow in flows {
        flow.links.iter().for_each(|link| loads[link.index()].add(flow, *link));
    }
    loads
}

/// The links that have a lane, in their order.
fn busiest_links(loads: &[LinkTraffic]) -> Vec<usize> {
    let mut links: Vec<usize> = (0..loads.len()).filter(|link| loads[*link].is_any()).collect();
    links.sort_by_key(|link| (std::cmp::Reverse(loads[*link].bytes), *link));
    links.truncate(LANES_MAX);
    links.sort_unstable();
    links
}

/// The rate that fills the lane of a link. Where flows do not compete, their sum may exceed the capacity of one.
fn full_rate(link: &Link, levels: &[f64]) -> f64 {
    let most = levels.iter().copied().fold(0.0, f64::max);
    if link.mode == Mode::PerFlow || most > 0.0 && !link.capacity.is_finite() { most } else { link.capacity }
}

fn draw_lane(name: &str, words: &str, levels: &[f64], full: f64, top: f64) -> Html {
    let upper = top + CAPTION;
    let bottom = top + CAPTION + LANE;
    let y = |level: f64| bottom - if full > 0.0 { (level / full).clamp(0.0, 1.0) * LANE } else { 0.0 };
    let mut svg = Html::default();
    svg += html!(
        "<g><title>{name}: {words}</title>\
         <text class=\"caption\" x=\"{LEFT}\" y=\"{}\"><tspan class=\"over\">{name}</tspan> {words}</text>\
         <rect class=\"band\" x=\"{LEFT}\" y=\"{}\" width=\"{}\" height=\"{LANE}\"/>\
         <path class=\"f0\"{} d=\"{}\"/></g>\n",
        format_coord(upper - 5.0),
        format_coord(upper),
        WIDTH - LEFT - RIGHT,
        values_attribute(levels),
        area_path(levels, bottom, y),
        [name, words, LEFT, LANE]
    );
    svg
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use crate::present::page::tests::{section, shown};
    use crate::tests::{ANN, BATH, ROUTER, YORK, manifest, topology};
    use crate::{Names, Tally};
    use hansa_sim::grid::{Edge, EdgeId, Job, JobId, Kind, Task};
    use hansa_sim::kernel::{ActorId, Entry};
    use hansa_sim::network::{Duplex, Efficiency, Mode, Model};
    use hansa_sim::protocol::Record;
    use hansa_sim::time::{Span, Stamp, Time};
    use hansa_sim::topology::{Cable, Cables, End, Topology};

    /// A cable of 8 Mbps between york and bath.
    fn cabled() -> Topology {
        let cable = Cable {
            name: "M<1>".to_owned(),
            capacity: 8_000_000,
            latency: Span::ZERO,
            mode: Mode::Shared,
            efficiency: Efficiency::None,
            duplex: Duplex::Full,
            between: Some([End::Site(0), End::Site(1)]),
        };
        let cables = Cables {
            model: Model::Ideal,
            sockets: 1,
            payload: None,
            switches: Vec::new(),
            links: vec![cable],
            routes: Vec::new(),
        };
        Topology { cables: Some(cables), ..topology() }
    }

    /// A job whose first task sends this many bytes to each other one, with begins and ends in seconds.
    fn sending(flows: &[(u64, u64, u64)]) -> Tally {
        let topology = cabled();
        let mut tally = Tally::new(&topology, &Names::of(&topology));
        let mut add = |seconds, actor: ActorId, record| {
            let stamp = Stamp::at(Time::ZERO + Span::from_secs(seconds));
            tally.add(&Entry { stamp, actor, record }).unwrap();
        };
        let tasks = vec![Task::new(Span::from_secs(1), 1, Kind(0)); flows.len() + 1];
        let edges = (1u32..).zip(flows).map(|(to, (bytes, ..))| Edge { from: 0, to, data: *bytes }).collect();
        let job = Job { id: JobId(0), arrive: Time::ZERO, first_task: 0, tasks, edges, worth: None, times: None };
        add(0, ROUTER, Record::Arrived { job: Arc::new(job), user: ANN });
        for (to, (bytes, from, until)) in (1u32..).zip(flows) {
            let edge = EdgeId { job: JobId(0), from: 0, to };
            let active = Time::ZERO + Span::from_secs(*from);
            add(*from, ROUTER, Record::Sent { edge, from: YORK, to: BATH, bytes: *bytes, active });
            add(*until, ROUTER, Record::Delivered { edge });
        }
        add(10, ROUTER, Record::Removed { job: JobId(0) });
        tally
    }

    #[test]
    fn a_lane_tells_how_much_of_a_link_was_in_use() {
        let page = shown(&manifest(), &cabled(), &sending(&[(1_000_000, 2, 4), (1_000_000, 3, 5)]));
        let links = section(&page, "links");
        let words = "2 flows, 2\u{a0}MB; in use 30.0\u{a0}% of the time, with 0.667 of 1 MB/s on average";
        assert_eq!(links.matches(&format!("M&lt;1&gt; york → bath: {words}")).count(), 2, "pointed at, and described");
        assert!(!links.contains("bath → york"), "nothing went back");
        // Half of the lane, all of it, half of it.
        assert!(links.contains("d=\"M78 61H315.6V46H434.4V31H553.2V46H672V61H1266V61H78z\""), "{links}");
    }

    #[test]
    fn ten_thousand_flows_make_a_lane_of_a_bounded_size() {
        let flows: Vec<_> = (0..10_000).map(|flow| (1_000, flow % 7, flow % 7 + flow % 3)).collect();
        let page = shown(&manifest(), &cabled(), &sending(&flows));
        assert!(section(&page, "links").len() < 20_000);
    }

    #[test]
    fn without_transfers_there_is_nothing_to_show() {
        assert!(!shown(&manifest(), &cabled(), &sending(&[])).contains("id=\"links\""));
    }
}
