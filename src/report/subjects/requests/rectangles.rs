//! Possible starts of one request, each with its largest rectangle of free nodes, as the fit policy compared them.
//!
//! The book of each site is made again from the answers and ends of the log. A request is shown only if its policy,
//! asked again, chooses what the log says.

use std::collections::BTreeMap;

use super::account::{request, until};
use crate::Tally;
use crate::markup::{Html, cells, html};
use crate::present::page::chart::{Figure, LEFT, RIGHT, TOP, WIDTH, Window};
use crate::present::page::html::{format_coord, format_count, format_counted, table_html, unbroken_span};
use crate::referee::tally::{Fate, JobRow};
use hansa_sim::grid::{JobId, NodeSet, Rectangle, Request};
use hansa_sim::protocol::ReserveAnswer;
use hansa_sim::systems::starts::{StartBook, StartRule};
use hansa_sim::time::{Span, Time};

/// Most answers that are read to find a request.
const ANSWERS_MAX: usize = 2_000;
/// Most starts that a request may have to be shown.
const STARTS_MAX: usize = 8;
/// Panels of a row, and the sizes of each.
const COLUMNS: usize = 2;
const GAP: f64 = 26.0;
const PANEL_HEIGHT: f64 = 130.0;
const PANEL_HEAD: f64 = 20.0;
const PANEL_FOOT: f64 = 30.0;
/// Least width of a booking that has room for its number.
const NUMBERED: f64 = 26.0;

/// A start that a request may have, with the nodes that are free for all of its duration.
#[derive(Debug, PartialEq)]
struct PossibleStart {
    rectangle: Rectangle,
    free: NodeSet,
}

/// A reservation in the book of a site.
#[derive(Clone, Debug, PartialEq)]
struct Booking {
    job: JobId,
    site: usize,
    start: Time,
    end: Time,
    nodes: NodeSet,
}

/// A request, and what its policy chose from.
#[derive(Debug)]
struct Comparison {
    booking: Booking,
    /// The request, with its duration at the speed of the site.
    request: Request,
    at: Time,
    starts: Vec<PossibleStart>,
    /// Other reservations of the site then.
    others: Vec<Booking>,
}

/// A change of the books, in the order of the log.
enum Change<'a> {
    /// The end of a booking, or of the rest of it.
    Freed(JobId),
    Answered(&'a JobRow),
}

/// The section; empty if no request has several possible starts, or the books cannot be made again: where nodes fail,
/// and where other systems book nodes, too.
pub fn rectangles_section(tally: &Tally, rule: &dyn StartRule) -> Html {
    let Some(shown) = find_comparison(tally, rule) else { return Html::default() };
    starts_table(tally, &shown, rule) + starts_chart(tally, &shown)
}

/// The first request with the most possible starts that can be shown.
fn find_comparison(tally: &Tally, rule: &dyn StartRule) -> Option<Comparison> {
    if (0..tally.sites.len()).any(|site| tally.failing.can_fail(site)) {
        return None;
    }
    let mut books: Vec<Box<dyn StartBook>> = tally.sites.iter().map(|site| rule.open_book(site.cores)).collect();
    let mut open: BTreeMap<JobId, Booking> = BTreeMap::new();
    let mut best: Option<Comparison> = None;
    for (at, change) in read_changes(tally) {
        match change {
            Change::Freed(job) => {
                let Some(over) = open.remove(&job) else { continue };
                let from = at.max(over.start);
                if from < over.end && books[over.site].free(from, over.end, &over.nodes).is_err() {
                    return best;
                }
            }
            Change::Answered(row) => {
                let Some(booking) = booking_of(tally, row) else { continue };
                let book = books[booking.site].as_mut();
                let found = compare_starts(tally, book, row, &booking, at);
                let least = best.as_ref().map_or(1, |best| best.starts.len());
                if let Some((request, starts)) = found.filter(|(_, starts)| starts.len() > least) {
                    let here = |other: &&Booking| other.site == booking.site && other.end > at;
                    let others = open.values().filter(here).cloned().collect();
                    best = Some(Comparison { booking: booking.clone(), request, at, starts, others });
                }
                if book.book(booking.start, booking.end, &booking.nodes).is_err() {
                    return best;
                }
                open.insert(booking.job, booking);
            }
        }
    }
    best
}

/// Answers and ends, those of one time in the order of ends, then answers.
fn read_changes(tally: &Tally) -> Vec<(Time, Change<'_>)> {
    let mut changes = Vec::new();
    let answered = tally.jobs.values().filter_map(|row| Some((row, row.answered.as_ref()?)));
    for (row, answered) in answered.take(ANSWERS_MAX) {
        changes.push((answered.at, Change::Answered(row)));
        if let Fate::Completed { at, .. } | Fate::Removed { at } | Fate::Cancelled { at } = row.fate {
            changes.push((at, Change::Freed(row.job.id)));
        }
    }
    changes.sort_by_key(|(at, change)| match change {
        Change::Freed(job) => (*at, 0, *job),
        Change::Answered(row) => (*at, 1, row.job.id),
    });
    changes
}

fn booking_of(tally: &Tally, row: &JobRow) -> Option<Booking> {
    let answered = row.answered.as_ref()?;
    let ReserveAnswer::Accepted { site, start, nodes } = &answered.answer else { return None };
    let end = until(tally, row, answered)?;
    Some(Booking { job: row.job.id, site: tally.site_index(*site)?, start: *start, end, nodes: nodes.clone() })
}

/// The possible starts of a request; None if there are too many, or if the policy would not choose what was booked.
fn compare_starts(
    tally: &Tally,
    book: &mut dyn StartBook,
    row: &JobRow,
    booking: &Booking,
    at: Time,
) -> Option<(Request, Vec<PossibleStart>)> {
    if row.shapes.is_some() {
        return None;
    }
    let asked = request(row, row.answered.as_ref()?)?;
    let request = Request { duration: tally.sites[booking.site].speed.time(asked.duration), ..asked };
    let (start, nodes) = book.find(at, &request)?;
    if start != booking.start || nodes != booking.nodes {
        return None;
    }
    let starts = book.starts(at, &request);
    let possible = |(rectangle, free)| PossibleStart { rectangle, free };
    (starts.len() <= STARTS_MAX).then(|| (request, starts.into_iter().map(possible).collect()))
}

fn starts_table(tally: &Tally, shown: &Comparison, rule: &dyn StartRule) -> Html {
    let Comparison { booking, request, at, starts, .. } = shown;
    let rectangles: Vec<Rectangle> = starts.iter().map(|possible| possible.rectangle).collect();
    let takers = rule.starts_by_rule(&rectangles);
    let row = |possible: &PossibleStart| {
        let PossibleStart { rectangle, .. } = possible;
        let by: Vec<&str> =
            takers.iter().filter(|(_, start)| *start == Some(rectangle.start)).map(|(name, _)| *name).collect();
        let length = (rectangle.end != Time::NEVER).then(|| rectangle.end.since(rectangle.begin));
        let seconds = length.map(|length| length.micros() as f64 / 1e6);
        let end = if rectangle.end == Time::NEVER { "no end".to_owned() } else { rectangle.end.to_string() };
        let is_booked = rectangle.start == booking.start;
        cells![
            if is_booked { format!("{} (booked)", rectangle.start) } else { rectangle.start.to_string() },
            format!("{} to {end}", rectangle.begin),
            format_count(rectangle.width.into()),
            seconds.map_or("–".to_owned(), unbroken_span),
            seconds.map_or("–".to_owned(), |seconds| unbroken_span(seconds * f64::from(rectangle.width))),
            by.join(", "),
        ]
    };
    let user = tally.jobs.get(&booking.job).map(|row| tally.names.of_actor(row.user)).unwrap_or_default();
    let asked = format!(
        "Request {} of {user}, made at {at}: {} for {} between {} and {}, at {}. The policy {} takes {}.",
        booking.job.0,
        format_counted(request.nodes.into(), "node"),
        unbroken_span(request.duration.micros() as f64 / 1e6),
        request.ready,
        request.deadline,
        tally.sites[booking.site].name,
        rule.name(),
        rule.about(),
    );
    let columns = ["Possible start", "Largest free rectangle", "#Nodes", "#Length", "#Node time", "Taken by"];
    html!(
        "<h3>Possible starts of a request</h3>\n<p>{asked}</p>\n{}",
        table_html(&columns, starts.iter().map(row)),
        asked
    )
}

/// A panel for each possible start, in rows.
fn starts_chart(tally: &Tally, shown: &Comparison) -> Html {
    let width = (WIDTH - LEFT - RIGHT - GAP) / COLUMNS as f64;
    let pitch = PANEL_HEAD + PANEL_HEIGHT + PANEL_FOOT;
    let window = comparison_window(shown);
    let mut body = Html::default();
    for (number, possible) in shown.starts.iter().enumerate() {
        let left = LEFT + (number % COLUMNS) as f64 * (width + GAP);
        let top = TOP + (number / COLUMNS) as f64 * pitch + PANEL_HEAD;
        let panel = StartPanel { shown, window, cores: tally.sites[shown.booking.site].cores, left, top, width };
        body += panel.html(possible);
    }
    let rows = shown.starts.len().div_ceil(COLUMNS);
    let figure = Figure {
        id: "rectangles",
        title: "Free rectangles around the possible starts",
        desc: format!(
            "One panel per possible start of request {}, with the nodes that were reserved, the largest free rectangle \
             around the start, and the nodes that it would get.",
            shown.booking.job.0
        ),
        note: "One panel per possible start; time runs to the right, node 0 is on top. A rectangle has the nodes that \
               are free from the start for the whole duration, for as long as all of them are free. Dashed lines are \
               the ready time and the deadline."
            .to_owned(),
        legend: [
            ("s2", "reserved for others"),
            ("f0 dashed", "largest free rectangle"),
            ("f1", "nodes of the request"),
        ]
        .map(|(class, name)| (class.to_owned(), name.to_owned()))
        .to_vec(),
        height: TOP + rows as f64 * pitch,
        body,
    };
    figure.html()
}

/// Time from the request, or the first free node, to the last thing drawn.
/// Rectangles without end reach a little beyond.
fn comparison_window(shown: &Comparison) -> Window {
    let begins = shown.starts.iter().map(|possible| possible.rectangle.begin);
    let from = begins.fold(shown.at, Time::min);
    let ends = shown.starts.iter().map(|possible| possible.rectangle.end).filter(|end| *end != Time::NEVER);
    let booked = shown.others.iter().map(|other| other.end);
    let last = ends.chain(booked.filter(|end| *end <= shown.request.deadline)).fold(shown.request.deadline, Time::max);
    let margin = Span::from_micros(last.since(from).micros() / 12);
    Window::new(from, last + margin)
}

struct StartPanel<'a> {
    shown: &'a Comparison,
    window: Window,
    cores: u32,
    left: f64,
    top: f64,
    width: f64,
}

impl StartPanel<'_> {
    fn html(&self, possible: &PossibleStart) -> Html {
        let Comparison { booking, request, others, .. } = self.shown;
        let rectangle = &possible.rectangle;
        let is_booked = rectangle.start == booking.start;
        let title = format!("Start {}{}", rectangle.start, if is_booked { ", booked" } else { "" });
        let mut svg = html!(
            "<g><rect class=\"band\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{PANEL_HEIGHT}\"/>\
             <g class=\"caption\"><text class=\"{}\" x=\"{}\" y=\"{}\">{title}</text></g>",
            format_coord(self.left),
            format_coord(self.top),
            format_coord(self.width),
            if is_booked { "over" } else { "begin" },
            format_coord(self.left),
            format_coord(self.top - 6.0),
            [PANEL_HEIGHT, title]
        );
        for other in others {
            let words = format!("job {}, {} to {}, nodes {}", other.job.0, other.start, other.end, other.nodes);
            svg += self.blocks("h2", &other.nodes, other.start, other.end, &words);
            svg += self.number(other);
        }
        let words = format!("{} free nodes, {} to {}", rectangle.width, rectangle.begin, rectangle.end);
        svg += self.blocks("f0 o0", &possible.free, rectangle.begin, rectangle.end, &words);
        let end = rectangle.start + request.duration;
        if let Some(nodes) = possible.free.lowest(request.nodes) {
            let words = format!("the request, {} to {end}, nodes {nodes}", rectangle.start);
            svg += self.blocks(if is_booked { "f1" } else { "f1 o1" }, &nodes, rectangle.start, end, &words);
        }
        for limit in [request.ready, request.deadline] {
            let x = format_coord(self.x(limit));
            svg +=
                html!("<path class=\"mark\" d=\"M{x} {}v{PANEL_HEIGHT}\"/>", format_coord(self.top), [x, PANEL_HEIGHT]);
        }
        svg + self.times() + html!("</g>\n")
    }

    fn x(&self, time: Time) -> f64 {
        let share = time.since(self.window.from).micros() as f64 / self.window.length_micros() as f64;
        self.left + self.width * share.clamp(0.0, 1.0)
    }

    fn y(&self, node: u32) -> f64 {
        self.top + PANEL_HEIGHT * f64::from(node) / f64::from(self.cores.max(1))
    }

    /// Blocks of nodes for a time, with words for readers.
    fn blocks(&self, class: &str, nodes: &NodeSet, from: Time, to: Time, words: &str) -> Html {
        let left = self.x(from.max(self.window.from));
        let right = self.x(to.min(self.window.to));
        let mut svg = html!("<g><title>{words}</title>", words);
        if left < right {
            for &(first, last) in nodes.runs() {
                svg += html!(
                    "<rect class=\"{class}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/>",
                    format_coord(left),
                    format_coord(self.y(first)),
                    format_coord(right - left),
                    format_coord(self.y(last + 1) - self.y(first)),
                    class
                );
            }
        }
        svg + html!("</g>")
    }

    /// The number of a booking, in its first block, if there is room.
    fn number(&self, booking: &Booking) -> Html {
        let left = self.x(booking.start.max(self.window.from));
        let right = self.x(booking.end.min(self.window.to));
        let Some(&(first, last)) = booking.nodes.runs().first() else { return Html::default() };
        let height = self.y(last + 1) - self.y(first);
        if right - left < NUMBERED || height < NUMBERED / 2.0 {
            return Html::default();
        }
        html!(
            "<g class=\"sheet\"><text class=\"beside\" x=\"{}\" y=\"{}\" dy=\".34em\">{}</text></g>",
            format_coord((left + right) / 2.0),
            format_coord(self.y(first) + height / 2.0),
            booking.job.0
        )
    }

    /// Times below the panel: ready time and deadline.
    fn times(&self) -> Html {
        let y = format_coord(self.top + PANEL_HEIGHT + 15.0);
        let mut svg = html!("<g class=\"axis\">");
        for limit in [self.shown.request.ready, self.shown.request.deadline] {
            let x = format_coord(self.x(limit));
            let words = limit.to_string();
            svg += html!("<text class=\"middle\" x=\"{x}\" y=\"{y}\">{words}</text>", [x, y, words]);
        }
        svg + html!("</g>")
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::play::second;
    use crate::subjects::requests::tests::reserving;
    use crate::tests::{BOB, ROUTER, YORK, names};
    use hansa_sim::grid::{Job, Kind, Task};
    use hansa_sim::kernel::Entry;
    use hansa_sim::protocol::Record;
    use hansa_sim::systems::Service;
    use hansa_sim::systems::reservation::Reservation;
    use hansa_sim::time::Stamp;

    /// Arrival, ready time, duration, deadline, nodes; start and nodes of the booking.
    type Asked = ([u64; 4], u32, u64, &'static str);

    /// Figure 1 of the paper: two jobs run, one is reserved, and a request for four nodes may start at four times.
    const FIGURE: [Asked; 5] = [
        ([0, 0, 6, 6], 4, 0, "0-3"),
        ([0, 0, 2, 2], 3, 0, "4-6"),
        // It keeps the next one off the nodes of the first, and is cancelled.
        ([0, 18, 6, 24], 4, 18, "0-3"),
        ([0, 18, 6, 24], 6, 18, "4-9"),
        ([2, 4, 5, 20], 4, 6, "0-3"),
    ];

    fn tally_of(asked: &[Asked], cores: u32) -> Tally {
        let mut topology = reserving();
        topology.sites[0].cores = cores;
        let mut tally = Tally::new(&topology, &names());
        let mut add = |at: u64, record: Record| {
            tally.add(&Entry { stamp: Stamp::at(second(at)), actor: ROUTER, record }).unwrap();
        };
        for (number, &([arrive, ready, duration, deadline], nodes, start, booked)) in (0..).zip(asked) {
            let id = JobId(number);
            let walltime = Span::from_secs(duration);
            let task = Task { walltime, ..Task::new(walltime, nodes, Kind(0)) };
            let tasks = vec![task];
            let arrival = second(arrive);
            let job =
                Job { id, arrive: arrival, first_task: number, tasks, edges: Vec::new(), worth: None, times: None };
            if number == 4 {
                add(1, Record::Cancelled { job: JobId(2) });
            }
            add(arrive, Record::Arrived { job: Arc::new(job), user: BOB });
            let nodes = NodeSet::parse(booked).unwrap();
            let answer = ReserveAnswer::Accepted { site: YORK, start: second(start), nodes };
            let ready = second(ready);
            add(arrive, Record::Answered { job: id, ready, deadline: second(deadline), answer });
        }
        tally
    }

    fn rule(policy: &str) -> Box<dyn StartRule> {
        let rules = Reservation { policy: policy.to_owned(), ..Reservation::default() };
        Service::new(rules).start_rule().expect("the policy is one of its own")
    }

    #[test]
    fn the_papers_figure_has_four_starts() {
        let tally = tally_of(&FIGURE, 10);
        let rule = rule("pe_w");
        let shown = find_comparison(&tally, rule.as_ref()).unwrap();
        let rectangles: Vec<_> = shown
            .starts
            .iter()
            .map(|possible| {
                let Rectangle { start, width, begin, end } = possible.rectangle;
                (start, width, begin, end)
            })
            .collect();
        let s = second;
        let expected =
            [(s(4), 6, s(2), s(18)), (s(6), 10, s(6), s(18)), (s(13), 10, s(6), s(18)), (s(15), 4, s(6), s(20))];
        assert_eq!(rectangles, expected);
        let takers = rule.starts_by_rule(&shown.starts.iter().map(|possible| possible.rectangle).collect::<Vec<_>>());
        let expected = [("ff", 4), ("pe_b", 15), ("du_b", 6), ("pedu_b", 15), ("pe_w", 6), ("du_w", 4), ("pedu_w", 6)];
        assert_eq!(takers, expected.map(|(name, start)| (name, Some(second(start)))));
        let page = rectangles_section(&tally, rule.as_ref());
        let text = page.as_str();
        assert!(text.contains("00:00:06 (booked)") && text.contains("00:00:06 to 00:00:18"), "{text}");
        assert!(
            text.contains("du_b, pe_w, pedu_w") && text.contains("ff, du_w") && text.contains("pe_b, pedu_b"),
            "{text}"
        );
        assert_eq!(text.matches("<text class=\"over\"").count(), 1, "{text}");
        assert_eq!(text.matches("class=\"band\"").count(), 4);
    }

    #[test]
    fn a_request_is_shown_only_if_its_policy_would_book_it() {
        let tally = tally_of(&FIGURE, 10);
        // The last request, which has four starts, is not what this policy would book; the others have one each.
        assert_eq!(rectangles_section(&tally, rule("ff").as_ref()).as_str(), "");
        // A book that contradicts itself ends the search.
        let twice = [FIGURE[0], FIGURE[0]];
        assert_eq!(rectangles_section(&tally_of(&twice, 10), rule("pe_w").as_ref()).as_str(), "");
        // A program chooses by rules of its own.
        let external = Reservation { policy: "external".to_owned(), ..Reservation::default() };
        assert!(Service::new(external).start_rule().is_none());
    }
}
