//! The use of a site's processors, one shape each: tasks, bookings and outages; over them holds and advertised slots.

use std::collections::BTreeMap;

use super::patterns::{BEST_EFFORT, DOWN, FREE, HELD, IDLE, OTHERS, PADDING, USED};
use super::rows::{CalendarItem, Lies};
use crate::Tally;
use crate::present::page::html::unbroken_micros;
use crate::referee::tally::JobRow;
use crate::subjects::bargains::Strategies;
use crate::subjects::bargains::seen::{BookingSpan, HoldSpan, Idled, NegotiationData};
use crate::subjects::bargains::tally::BargainTally;
use hansa_sim::grid::{Area, JobId, Slot};
use hansa_sim::kernel::ActorId;
use hansa_sim::protocol::HoldFate;
use hansa_sim::time::{Span, Time};

pub struct CalendarShape<'a> {
    pub from: Time,
    pub until: Time,
    pub procs: u32,
    pub lies: Lies,
    /// End of its idle time, if that is known.
    idle_until: Time,
    what: ShapeKind<'a>,
}

#[derive(Clone, Copy)]
enum ShapeKind<'a> {
    /// A task, in a booking or not.
    Task(&'a JobRow, usize),
    /// A task of another system, for which no user has negotiated.
    Guest(&'a JobRow, usize),
    Idled(Idled),
    Booking(BookingSpan),
    Down,
    Hold(HoldSpan),
    Slot(&'a Slot),
}

impl<'a> CalendarShape<'a> {
    fn new((from, until): (Time, Time), procs: u32, lies: Lies, what: ShapeKind<'a>) -> CalendarShape<'a> {
        CalendarShape { from, until, procs, lies, idle_until: from, what }
    }

    /// Its intervals, each with the use of its processors.
    pub fn kind_intervals(&self) -> impl Iterator<Item = (usize, Time, Time)> {
        let idle = (PADDING, self.from, self.idle_until);
        [idle, (self.kind(), self.idle_until, self.until)].into_iter().filter(|(_, from, until)| from < until)
    }

    fn kind(&self) -> usize {
        match (self.what, self.lies) {
            (ShapeKind::Task(..), Lies::Within(_)) => USED,
            (ShapeKind::Task(..), _) => BEST_EFFORT,
            (ShapeKind::Guest(..), _) => OTHERS,
            (ShapeKind::Idled(_), _) => PADDING,
            (ShapeKind::Booking(_), _) => IDLE,
            (ShapeKind::Down, _) => DOWN,
            (ShapeKind::Hold(_), _) => HELD,
            (ShapeKind::Slot(_), _) => FREE,
        }
    }

    /// Caption for a shape with room.
    pub fn caption(&self) -> Option<&'static str> {
        match self.what {
            ShapeKind::Hold(hold) => Some(hold.fate.word()),
            ShapeKind::Booking(booking) if booking.is_revoked => Some("revoked"),
            _ => None,
        }
    }

    pub fn calendar_item(&self) -> CalendarItem {
        CalendarItem { from: self.from, until: self.until, procs: self.procs, lies: self.lies }
    }

    /// Area in processors and microseconds.
    pub fn area(&self) -> u128 {
        u128::from(self.procs) * u128::from(self.until.since(self.from).micros())
    }

    /// Words for the tooltip.
    pub fn tooltip_words(&self, tally: &Tally) -> String {
        let procs = self.procs;
        let when = format!(
            "from {} for {}",
            unbroken_micros(self.from.since(Time::ZERO).micros()),
            unbroken_micros(self.until.since(self.from).micros())
        );
        match self.what {
            ShapeKind::Task(row, index) | ShapeKind::Guest(row, index) => {
                let task = if row.tasks.len() > 1 { format!(", task {index}") } else { String::new() };
                let place = match self.kind() {
                    USED => "in a booking",
                    OTHERS => "of another system",
                    _ => "best effort",
                };
                let idle = match self.idle_until.since(self.from) {
                    Span::ZERO => String::new(),
                    idle => format!(", idle for {}", unbroken_micros(idle.micros())),
                };
                let owner = owner_words(tally, row.user, row.job.id);
                format!("{owner}{task}: {procs} processors {when}, {place}{idle}")
            }
            ShapeKind::Idled(idled) => {
                let owner = owner_words(tally, idled.user, idled.task.job);
                format!("{owner}: {procs} processors {when}, idle and then taken back")
            }
            ShapeKind::Booking(booking) => {
                let used = booking.used.map_or(", not over".to_owned(), |used| format!(", {:.0} % used", used * 100.0));
                let held = if booking.was_held { ", held before" } else { "" };
                let revoked = if booking.is_revoked { ", revoked" } else { "" };
                let owner = owner_words(tally, booking.user, booking.job);
                format!("{owner}: {procs} processors {when}{used}{held}{revoked}")
            }
            ShapeKind::Down => format!("{procs} processors down {when}"),
            ShapeKind::Hold(hold) => {
                let user = tally.names.of_actor(hold.user);
                format!("{user}: {procs} processors held {when}, {}", hold.fate.word())
            }
            ShapeKind::Slot(slot) => {
                let end = if slot.extensible { ", without end" } else { "" };
                format!("{procs} processors free {when}{end}")
            }
        }
    }
}

/// All shapes on processors of a site, in order of starts; a booking comes before the tasks that begin in it then.
pub fn solid_shapes<'a>(known: &Strategies, tally: &'a Tally, site: usize) -> Vec<CalendarShape<'a>> {
    let is_here = |place: u32| place as usize == site;
    let mut shapes = Vec::new();
    let mut bookings: BTreeMap<JobId, Vec<BookingSpan>> = BTreeMap::new();
    for booking in tally.state::<BargainTally>().bookings(tally).filter(|booking| is_here(booking.site)) {
        let BookingSpan { job, from, until, procs, .. } = booking;
        bookings.entry(job).or_default().push(booking);
        shapes.push(CalendarShape::new(
            (from, until),
            procs,
            Lies::Around(job, booking.is_revoked),
            ShapeKind::Booking(booking),
        ));
    }
    for seen in &tally.state::<BargainTally>().seen {
        if let NegotiationData::Idled(idled) = *seen
            && is_here(idled.site)
        {
            let Idled { from, until, procs, .. } = idled;
            shapes.push(CalendarShape::new((from, until), procs, Lies::Alone, ShapeKind::Idled(idled)));
        }
    }
    tally.failing.each_outage(site, tally.last, |down| {
        shapes.push(CalendarShape::new((down.from, down.to), down.nodes.len(), Lies::Alone, ShapeKind::Down));
    });
    for row in tally.jobs.values() {
        let booked = bookings.get(&row.job.id).into_iter().flatten();
        let mut rooms: Vec<BookingSpace> = booked.map(|booking| BookingSpace::of(*booking)).collect();
        let user = tally.user_index(row.user).and_then(|user| known.users.get(user));
        let ahead = user.and_then(|user| user.ahead);
        let wanted = ahead.map(|ahead| row.job.arrive + ahead);
        let mut stints = Vec::new();
        for (index, task) in row.tasks.iter().enumerate() {
            let here = task.stints(tally.last).filter(|stint| stint.site.or(task.site).is_some_and(is_here));
            stints.extend(here.map(|stint| (stint.from, stint.to, index)));
        }
        stints.sort_unstable();
        for (from, until, index) in stints {
            let procs = row.job.tasks[index].cores;
            let lies = match ran_in_booking(&mut rooms, procs, (from, until)) {
                true => Lies::Within(row.job.id),
                false => Lies::Alone,
            };
            if tally.is_central(row.system) {
                shapes.push(CalendarShape::new((from, until), procs, Lies::Alone, ShapeKind::Guest(row, index)));
                continue;
            }
            let idle_until = wanted.map_or(from, |wanted| wanted.clamp(from, until));
            shapes.push(CalendarShape {
                idle_until,
                ..CalendarShape::new((from, until), procs, lies, ShapeKind::Task(row, index))
            });
        }
    }
    shapes.retain(|shape| shape.from < shape.until);
    shapes.sort_by_key(|shape| (shape.from, shape.lies, shape.until));
    shapes
}

/// A booking, and the part of its used area that is not assigned to a task yet.
struct BookingSpace {
    booking: BookingSpan,
    left: Option<Area>,
}

impl BookingSpace {
    fn of(booking: BookingSpan) -> BookingSpace {
        BookingSpace { booking, left: booking.worked }
    }

    /// Duration for which a task from `from` to `until` was in it, if that is possible. A late task joins the queue, as
    /// it would not end in time, but a revoked booking leaves its tasks where they are.
    fn time_inside(&self, from: Time, until: Time) -> Option<Span> {
        let BookingSpan { from: begin, until: end, is_revoked, .. } = self.booking;
        let is_open = begin <= from && from < end && (is_revoked || until <= end);
        is_open.then(|| until.min(end).since(from))
    }
}

/// True if a task ran in the bookings of its job, which no record states: open bookings have to last and to have been
/// used that much, and one that fits exactly is taken. Where nodes fail it is a guess.
fn ran_in_booking(rooms: &mut [BookingSpace], procs: u32, (from, until): (Time, Time)) -> bool {
    let is_its = |room: &&mut BookingSpace| {
        room.left.is_some() && room.left == room.time_inside(from, until).map(|span| Area::of(procs, span))
    };
    if let Some(room) = rooms.iter_mut().find(is_its) {
        room.left = Some(Area::ZERO);
        return true;
    }
    let mut open: Vec<(&mut BookingSpace, Span)> =
        rooms.iter_mut().filter_map(|room| room.time_inside(from, until).map(|span| (room, span))).collect();
    open.sort_by_key(|(room, _)| room.booking.until);
    let mut missing = procs;
    let mut shares = Vec::new();
    for (room, span) in &open {
        let most = room.left.map_or(u64::MAX, |left| left.micros() / span.micros().max(1));
        let share = missing.min(room.booking.procs).min(u32::try_from(most).unwrap_or(u32::MAX));
        missing -= share;
        shares.push(share);
    }
    if missing > 0 {
        return took_of_all(rooms, procs, (from, until));
    }
    for ((room, span), share) in open.into_iter().zip(shares) {
        room.left = room.left.map(|left| left.saturating_sub(Area::of(share, span)));
    }
    true
}

/// Like `ran_in_booking`, where a plan's shares of bookings were assigned to others so far: all open bookings count as
/// one.
fn took_of_all(rooms: &mut [BookingSpace], procs: u32, (from, until): (Time, Time)) -> bool {
    let has_room: u32 =
        rooms.iter().filter(|room| room.time_inside(from, until).is_some()).map(|room| room.booking.procs).sum();
    let mut open: Vec<&mut Area> = rooms
        .iter_mut()
        .filter(|room| room.booking.from <= from && from < room.booking.until)
        .filter_map(|room| room.left.as_mut())
        .collect();
    let mut missing = Area::of(procs, until.since(from));
    if has_room < procs || open.iter().fold(Area::ZERO, |sum, left| sum + **left) < missing {
        return false;
    }
    for left in &mut open {
        let part = (**left).min(missing);
        **left = left.saturating_sub(part);
        missing = missing.saturating_sub(part);
    }
    true
}

fn owner_words(tally: &Tally, user: ActorId, job: JobId) -> String {
    format!("{}, job {}", tally.names.of_actor(user), tally.label(job))
}

/// Holds that lapsed, at the times of their parts.
pub fn lapsed_holds(tally: &Tally, site: usize) -> Vec<CalendarShape<'_>> {
    let mut shapes: Vec<CalendarShape<'_>> = Vec::new();
    for seen in &tally.state::<BargainTally>().seen {
        if let NegotiationData::Hold(hold) = *seen
            && hold.site as usize == site
            && hold.fate != HoldFate::Committed
        {
            let part = hold.part;
            shapes.push(CalendarShape::new((part.start, part.end()), part.procs, Lies::Alone, ShapeKind::Hold(hold)));
        }
    }
    shapes.sort_by_key(|shape| (shape.from, shape.until));
    shapes
}

/// The slots of the largest advertisement, with its time.
pub fn advertised_slots<'a>(tally: &'a Tally, site: usize) -> Option<(Time, Vec<CalendarShape<'a>>)> {
    let (time, slots) = tally.state::<BargainTally>().offers.get(&(site as u32))?;
    let mut shapes: Vec<CalendarShape<'a>> = slots
        .iter()
        .map(|slot| CalendarShape::new((slot.start, slot.end()), slot.procs, Lies::Alone, ShapeKind::Slot(slot)))
        .collect();
    shapes.sort_by_key(|shape| (shape.from, shape.until));
    Some((*time, shapes))
}

/// Checks the shapes of a run's calendars: no site has more on its processors than it has, and the shapes in bookings
/// add up to the use that sites recorded.
#[cfg(test)]
pub fn fit(known: &Strategies, tally: &Tally) {
    // Where nodes fail it is uncertain which task ran in which booking: users have tasks run elsewhere and at other
    // times than planned.
    if (0..tally.sites.len()).any(|site| tally.failing.can_fail(site)) {
        return;
    }
    for (site, facts) in tally.sites.iter().enumerate() {
        let shapes = solid_shapes(known, tally, site);
        let items: Vec<CalendarItem> = shapes.iter().map(CalendarShape::calendar_item).collect();
        let (_, rows) = super::rows::assign_rows(&items, facts.cores);
        assert_eq!(rows, facts.cores, "{} has fewer processors", facts.name);
        let used = shapes.iter().filter(|shape| shape.kind() == USED);
        let used = used.fold(Area::ZERO, |sum, shape| sum + Area::of(shape.procs, shape.until - shape.from));
        assert_eq!(
            used,
            tally.state::<BargainTally>().sites.get(&facts.actor).copied().unwrap_or_default().used,
            "{}",
            facts.name
        );
    }
}
