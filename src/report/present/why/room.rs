//! A refused request for a reservation: what was wanted, and the room that each site had for it.

use serde::Serialize;

use super::lines::{StoryLines, moment_words};
use crate::Tally;
use crate::referee::tally::{AnsweredRow, Fate, JobRow};
use crate::subjects::requests::{booked_until, request};
use hansa_sim::grid::{NodeSet, Request};
use hansa_sim::numerals::{format_counted, format_span};
use hansa_sim::protocol::ReserveAnswer;
use hansa_sim::time::{Span, Time};

/// A request that was declined or invalid. Times are in seconds from the start of the run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RefusedRequest {
    pub answered: f64,
    pub nodes: u32,
    /// Duration at speed 1, in seconds.
    pub duration: f64,
    /// Earliest start.
    pub ready: f64,
    /// Latest end.
    pub deadline: f64,
    /// Number of shapes that were tried.
    pub shapes: u64,
    /// Reason if it was invalid.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub invalid: Option<String>,
    /// The sites to which it may go. Bookings are those that had been accepted when it was answered.
    pub sites: Vec<SiteRoom>,
}

/// Room at a site for a request.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SiteRoom {
    pub site: String,
    /// Nodes of the site.
    pub of: u32,
    /// Duration there, in seconds.
    pub duration: f64,
    /// Most nodes that were free for the whole duration between ready time and deadline. None if the duration does not
    /// fit between them.
    pub most_free: Option<u32>,
    /// First start from which enough nodes are free for the whole duration, be it too late or not. None if the site is
    /// too small.
    pub fits_from: Option<f64>,
    /// Seconds by which the end of that is later than the deadline.
    pub too_late_by: Option<f64>,
}

/// A booking as it was known when a request was answered.
struct KnownBooking<'a> {
    from: Time,
    until: Time,
    nodes: &'a NodeSet,
}

impl RefusedRequest {
    /// The story of a request that was refused. None if it was accepted, or there was none. O(bookings²) a site.
    pub(super) fn of(tally: &Tally, row: &JobRow) -> Option<RefusedRequest> {
        let answered = row.answered.as_ref()?;
        let invalid = match &answered.answer {
            ReserveAnswer::Accepted { .. } => return None,
            ReserveAnswer::Declined => None,
            ReserveAnswer::Invalid(invalid) => Some(invalid.to_string()),
        };
        let task = row.job.tasks.first()?;
        let sites = match request(row, answered).filter(|_| invalid.is_none()) {
            Some(wanted) => tally
                .sites_of(&[row.system])
                .into_iter()
                .map(|site| SiteRoom::of(tally, row, answered, site, &wanted))
                .collect(),
            None => Vec::new(),
        };
        Some(RefusedRequest {
            answered: seconds(answered.at),
            nodes: task.cores,
            duration: span_seconds(task.walltime),
            ready: seconds(answered.ready),
            deadline: seconds(answered.deadline),
            shapes: row.shapes.as_ref().map_or(1, |shapes| shapes.shapes.len() as u64),
            invalid,
            sites,
        })
    }

    /// Lines of what was wanted and what was free.
    pub(super) fn add_lines(&self, lines: &mut StoryLines) {
        let nodes = format_counted(self.nodes.into(), "node");
        let shapes = if self.shapes > 1 { format!(", first of {} shapes", self.shapes) } else { String::new() };
        lines.add("wanted", format!("{nodes} for {}{shapes}", format_span(self.duration)));
        lines.add(
            "between",
            format!(
                "{} and the deadline {}, {} later",
                moment_words(self.ready),
                moment_words(self.deadline),
                format_span(self.deadline - self.ready)
            ),
        );
        if let Some(invalid) = &self.invalid {
            lines.add("refused", format!("{}: {invalid}", moment_words(self.answered)));
            return;
        }
        lines.add("declined", format!("{}, by the bookings accepted until then:", moment_words(self.answered)));
        for site in &self.sites {
            lines.add("", site.words(self.nodes));
        }
        if self.shapes > 1 {
            lines.continue_line("(its other shapes did not fit, either)");
        }
    }
}

impl SiteRoom {
    fn of(tally: &Tally, row: &JobRow, answered: &AnsweredRow, site: usize, wanted: &Request) -> SiteRoom {
        let facts = &tally.sites[site];
        let lasts = tally.failing.stretched_work(site, facts.speed.time(wanted.duration), wanted.nodes);
        let bookings = known_bookings(tally, row, answered, site);
        let earliest = wanted.ready.max(answered.at);
        let mut starts: Vec<Time> =
            bookings.iter().map(|booking| booking.until).filter(|until| *until > earliest).collect();
        starts.push(earliest);
        starts.sort_unstable();
        let mut most_free = None;
        let mut fits_from = None;
        for start in starts {
            let free = free_nodes(&bookings, facts.cores, start, start + lasts);
            if start + lasts <= wanted.deadline {
                most_free = most_free.max(Some(free));
            }
            if free >= wanted.nodes {
                fits_from = fits_from.or(Some(start));
            }
        }
        SiteRoom {
            site: facts.name.clone(),
            of: facts.cores,
            duration: span_seconds(lasts),
            most_free,
            fits_from: fits_from.map(seconds),
            too_late_by: fits_from.map(|start| span_seconds((start + lasts).since(wanted.deadline))),
        }
    }

    fn words(&self, nodes: u32) -> String {
        let SiteRoom { site, of, .. } = self;
        let free = match self.most_free {
            Some(most) if most >= nodes => format!(
                "{most} of its {of} nodes were free for that long in time, so another reason counted: the policy, failed nodes, or the way of the answer"
            ),
            Some(most) => format!("at most {most} of its {of} nodes were free for that long in time"),
            None => format!("{} do not fit there between ready time and deadline", format_span(self.duration)),
        };
        let late = match (self.fits_from, self.too_late_by) {
            (Some(from), Some(late)) if late > 0.0 => {
                format!("; room from {} on, {} too late", moment_words(from), format_span(late))
            }
            (None, _) => "; it is too small".to_owned(),
            _ => String::new(),
        };
        format!("{site}: {free}{late}")
    }
}

/// Nodes that no booking has between two times.
fn free_nodes(bookings: &[KnownBooking<'_>], of: u32, from: Time, until: Time) -> u32 {
    let mut taken = NodeSet::default();
    for booking in bookings.iter().filter(|booking| booking.from < until && booking.until > from) {
        taken.unite(booking.nodes);
    }
    of - taken.len()
}

/// Bookings of a site that had been accepted before a request was answered and had not been released by then. Of a
/// booking that was moved because nodes failed, the last place is known.
fn known_bookings<'a>(tally: &'a Tally, own: &JobRow, answer: &AnsweredRow, site: usize) -> Vec<KnownBooking<'a>> {
    let mut bookings = Vec::new();
    for row in tally.jobs.values() {
        let Some(answered) = &row.answered else { continue };
        let ReserveAnswer::Accepted { site: at, start, nodes } = &answered.answer else { continue };
        let is_before = (answered.at, row.job.id) < (answer.at, own.job.id);
        if !is_before || tally.site_index(*at) != Some(site) {
            continue;
        }
        let planned = booked_until(tally, row, answered).unwrap_or(*start);
        let released = match row.fate {
            Fate::Cancelled { at } | Fate::Removed { at } => Some(at),
            Fate::Completed { .. } => row.last_end(),
            _ => None,
        };
        let until =
            released.filter(|released| *released <= answer.at).map_or(planned, |released| released.min(planned));
        if until > answer.at {
            bookings.push(KnownBooking { from: *start, until, nodes });
        }
    }
    bookings
}

fn seconds(time: Time) -> f64 {
    time.micros() as f64 / 1e6
}

fn span_seconds(span: Span) -> f64 {
    span.micros() as f64 / 1e6
}
