//! What the other systems of a grid give to a site that lets its time: jobs and tasks for its queue, and bookings of
//! certain nodes.
//!
//! Whoever queues is planned for like any user's task, but no terms apply to him: services pay nothing, and know of no
//! longest job. If he is lost on a node that fails, whoever gave him sees to it, as he would anywhere else.
//!
//! Who books names his nodes, and the desk only counts. So the desk sets as many processors aside, and which of them is
//! seen to here: whatever is about to start stays off the nodes of those whose time has come, and off those that will
//! be wanted before it ends, as far as there are others; and what runs on them when they are wanted moves. There is
//! always somewhere to go: the desk's calendar has room for what runs beside all that is set aside. Only a task that is
//! taken back in the instant in which it starts is on no calendar any more, and may be on any nodes that are free for
//! so long.
//!
//! Where nodes fail there may not be enough. Then what is set aside gives way like any other booking, and gets its
//! processors again as soon as there is room from then on to its end; until then its task is late.
//!
//! While services have bookings that are not over, each of these is looked at for each task that starts.

use std::collections::BTreeMap;

use super::{FrontDesk, Submission};
use crate::few;
use crate::grid::{BookingId, NodeSet, Part, Reserved, TaskId};
use crate::kernel::ActorId;
use crate::protocol::{Book, Booked, Enter, Message, Provided, Queue, Release, Run};
use crate::roles::site::{Booking, Bookings, Loss, On, Order, Running, Stage, State, Tasks};
use crate::systems::provisioning::desk::Joins;
use crate::time::{Span, Time};

/// The bookings of services.
#[derive(Default)]
pub(super) struct Guests {
    pub booked: Bookings,
    /// Under which numbers the desk knows them; those that wait for room are missing.
    set_aside: BTreeMap<TaskId, BookingId>,
}

/// Who has submitted a task, which says who sees to it if it is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// It comes again here.
    User,
    /// A dispatcher, to whom it goes back if the topology says so.
    Dispatcher,
    /// Somebody who gives task after task, and hears of each that is lost.
    Planner,
}

impl Guests {
    /// How many processors of what the desk knows under this number are in use, where nodes fail, if it is a guest's:
    /// all or none.
    pub fn in_use(&self, booking: BookingId) -> Option<u32> {
        let guest = self.booked.get(self.of(booking)?)?;
        Some(if guest.stage() == Stage::Begun { guest.held.nodes.len() } else { 0 })
    }

    /// Whose task the desk's booking of this number is for, if it is a guest's.
    fn of(&self, booking: BookingId) -> Option<TaskId> {
        self.set_aside.iter().find(|(_, its)| **its == booking).map(|(task, _)| *task)
    }

    /// Whether a task was lost that this giver has booked.
    fn has_lost(&self, giver: ActorId, task: TaskId) -> bool {
        self.booked.of(giver, task).is_some_and(|booking| booking.is_lost())
    }

    /// It is not on the calendar any more, if it was.
    pub fn forget(&mut self, booking: BookingId) {
        self.set_aside.retain(|_, its| *its != booking);
    }

    /// How many of them run, or are about to.
    pub fn running(&self, now: Time) -> usize {
        let runs = |(_, booking): &(TaskId, &Booking)| booking.stage() == Stage::Begun && booking.held.from <= now;
        self.booked.all().filter(runs).count()
    }

    /// What is on the calendar.
    fn held(&self) -> impl Iterator<Item = &Reserved> {
        self.set_aside.keys().filter_map(|task| self.booked.get(*task)).map(|booking| &booking.held)
    }

    /// The nodes that are kept at some time between these.
    fn kept(&self, from: Time, until: Time) -> NodeSet {
        Reserved::over(self.held(), from, until)
    }
}

impl FrontDesk {
    /// A service says something.
    pub(super) fn serve(&mut self, now: Time, giver: ActorId, message: Message, site: &Tasks, orders: &mut Vec<Order>) {
        match message {
            Message::Queue(Queue { job, nodes, walltime, runtime, losses, .. }) => {
                let task = TaskId { job, index: 0 };
                self.take_in(
                    now,
                    site,
                    submission(giver, Origin::Dispatcher, task, nodes, (walltime, runtime), losses),
                );
            }
            // Whoever gives it knows exactly how long it takes.
            Message::Run(Run { task, cores, runtime, .. }) => {
                self.take_in(now, site, submission(giver, Origin::Planner, task, cores, (runtime, runtime), 0));
            }
            Message::Book(book) => self.set_aside(now, giver, &book, site, orders),
            Message::Provided(Provided { task }) => self.provided(now, giver, task, orders),
            Message::Hold(hold) => self.guests.booked.hold(now, giver, &hold),
            Message::Release(Release { task }) if self.guests.has_lost(giver, task) => _ = self.end_guest(now, task),
            _ => {}
        }
    }

    /// They know how large a site is; what fits nowhere, and what is no task at all, is nothing to answer to.
    fn take_in(&mut self, now: Time, site: &Tasks, submission: Submission) {
        let Enter { task, procs, runtime, walltime, .. } = submission.enter;
        let fits = (1..=site.total()).contains(&procs) && !runtime.min(walltime).is_zero();
        if fits && !self.knows(task) && !self.guests.booked.has(task) {
            self.queue(now, submission, Joins::Quietly);
        }
    }

    fn set_aside(&mut self, now: Time, giver: ActorId, book: &Book, site: &Tasks, orders: &mut Vec<Order>) {
        let Book { task, runtime, awaits_input, .. } = *book;
        let wanted = self.guests.booked.wanted(now, book, site).filter(|_| !self.knows(task));
        let will_be_up = |held: &Reserved| self.remedy.as_ref().is_none_or(|remedy| remedy.will_be_up(held));
        let are_free = |held: &Reserved| will_be_up(held) && !self.guests.booked.meets(held);
        let others = wanted.as_ref().filter(|held| !are_free(held));
        let free = others.map_or_else(NodeSet::default, |held| self.free(held, site));
        let granted = wanted.filter(are_free);
        let granted = granted.and_then(|held| Some((self.desk.set_aside(now, part_of(now, &held)).ok()?, held)));
        let Some((booking, held)) = granted else {
            return orders.push(Order::Say(giver, Message::Booked(Booked::refused(task, &free))));
        };
        orders.push(Order::Say(giver, Message::Booked(Booked::granted(task))));
        self.guests.set_aside.insert(task, booking);
        let once_ready = Stage::once_ready(runtime, self.remedy.is_some());
        let stage = if awaits_input { Stage::AwaitsInput(runtime) } else { once_ready };
        let start = held.from;
        let booking = self.guests.booked.add(task, giver, held, stage);
        if stage == Stage::Begun {
            orders.push(Order::Start(booking.begin(task, start, runtime, Loss::default())));
        }
    }

    /// The nodes that no other service has booked for some of that time, and that will be up, if there are enough.
    /// Whether the site still has so many to sell it says when it is asked for them.
    fn free(&self, held: &Reserved, site: &Tasks) -> NodeSet {
        let mut free = NodeSet::all(site.total());
        free.subtract(&self.guests.booked.over(held.from, held.until));
        self.remedy.iter().for_each(|remedy| free.subtract(&remedy.down_at(held.from)));
        if free.len() < held.nodes.len() { NodeSet::default() } else { free }
    }

    /// The input of a booked task is there. If its time has begun, it has what is left of it.
    fn provided(&mut self, now: Time, giver: ActorId, task: TaskId, orders: &mut Vec<Order>) {
        if self.guests.booked.of(giver, task).is_none_or(|booking| booking.held.until <= now) {
            return;
        }
        let fails = self.remedy.is_some();
        let provided = self.guests.booked.provide(giver, task, fails);
        if let Some((booking, runtime)) = provided.filter(|_| !fails) {
            orders.push(Order::Start(booking.begin(task, booking.held.from.max(now), runtime, Loss::default())));
        }
    }

    /// Its giver takes a booked task back; says whether it was in time.
    pub(super) fn recall_booked(&mut self, now: Time, giver: ActorId, task: TaskId, orders: &mut Vec<Order>) -> bool {
        let fails = self.remedy.is_some();
        let can_go = |booking: &Booking| match booking.stage() {
            Stage::AwaitsInput(_) | Stage::Ready(_) => true,
            // Where nothing fails the site has it from the beginning, and starts it at its time.
            Stage::Begun => !fails && now < booking.held.from,
            Stage::Lost => false,
        };
        let in_time = self.guests.booked.of(giver, task).is_some_and(can_go);
        if in_time {
            self.end_guest(now, task);
            orders.push(Order::Drop { task, giver });
        }
        in_time
    }

    /// What is left of what is booked for a task is not any more. Says whether anything was.
    pub(super) fn end_guest(&mut self, now: Time, task: TaskId) -> bool {
        if let Some(booking) = self.guests.set_aside.remove(&task) {
            self.desk.give_up(now, booking);
        }
        self.guests.booked.remove(task).is_some()
    }

    /// Sets processors aside again, where nodes fail, for those who had to give way.
    pub(super) fn make_room(&mut self, now: Time) {
        if self.remedy.is_none() {
            return;
        }
        let Guests { booked, set_aside } = &mut self.guests;
        let waits = |(task, booking): &(TaskId, &Booking)| booking.held.until > now && !set_aside.contains_key(task);
        let waiting = booked.all().filter(waits).map(|(task, booking)| (booking.held.from, task, &booking.held));
        let mut waiting: Vec<(Time, TaskId, &Reserved)> = waiting.collect();
        waiting.sort_unstable_by_key(|(from, task, _)| (*from, *task));
        for (_, task, held) in waiting {
            if let Ok(booking) = self.desk.set_aside(now, part_of(now, held)) {
                set_aside.insert(task, booking);
            }
        }
    }

    /// Starts what is booked for now, or was to start before and could not; where nothing fails the site does so by
    /// itself.
    pub(super) fn start_booked(&mut self, now: Time, orders: &mut Vec<Order>) {
        let Some(remedy) = &self.remedy else { return };
        let Guests { booked, set_aside } = &mut self.guests;
        let has_room = |task, held: &Reserved| set_aside.contains_key(&task) && remedy.are_up(&held.nodes);
        for task in booked.can_start(now, has_room) {
            orders.push(Order::Start(booked.start(now, task, |nodes| remedy.starts_booked(nodes))));
        }
        booked.look_ahead(now, |_| Time::NEVER);
    }

    /// Something starts by itself now on the nodes that are booked for it: who is on them makes way.
    pub(super) fn clear_way(&self, now: Time, site: &Tasks, orders: &mut Vec<Order>) {
        let starts = |running: &Running| match &running.state {
            State::Coming(On::These(layers)) if running.started <= now => Some(layers.nodes.clone()),
            _ => None,
        };
        let mut wanted = NodeSet::default();
        site.all().filter_map(starts).for_each(|nodes| wanted.unite(&nodes));
        if !wanted.is_empty() {
            Seating::of(self, now, site).vacate(&wanted, orders);
        }
    }

    /// Says on which nodes what starts now does, where some of them are booked. Orders are carried out in their order,
    /// so what one of them frees the next may use.
    pub(super) fn assign(&self, now: Time, site: &Tasks, orders: &mut Vec<Order>) {
        if self.guests.set_aside.is_empty() {
            return;
        }
        let mut seating = Seating::of(self, now, site);
        for order in std::mem::take(orders) {
            let mut order = order;
            match &mut order {
                Order::Lose(task) | Order::Abandon(task) => seating.free(*task),
                Order::Start(start) if start.at == now => match &start.on {
                    On::These(layers) => seating.vacate(&layers.nodes, orders),
                    On::Lowest(_) | On::Planned(_) => {
                        let nodes = seating.take(start.task, start.on.count(), now + start.walltime);
                        start.on = On::These(nodes.into());
                    }
                },
                _ => {}
            }
            orders.push(order);
        }
    }
}

/// Where everybody is while orders are given.
struct Seating<'a> {
    guests: &'a Guests,
    now: Time,
    /// Those that are up and free, and not kept for a guest whose time has come; and those that are.
    free: NodeSet,
    free_but_kept: NodeSet,
    /// All that are kept for such guests.
    kept: NodeSet,
    tenants: BTreeMap<TaskId, NodeSet>,
}

impl Seating<'_> {
    fn of<'a>(front: &'a FrontDesk, now: Time, site: &Tasks) -> Seating<'a> {
        let guests = &front.guests;
        let kept = guests.kept(now, now + MOMENT);
        let (mut free, free_but_kept) = (site.free_nodes().clone(), site.free_nodes().intersection(&kept));
        free.subtract(&kept);
        let tenants = site.all().filter_map(|running| Some((running.task, running.nodes()?.clone())));
        Seating { guests, now, free, free_but_kept, kept, tenants: few::tree(tenants) }
    }

    fn free(&mut self, task: TaskId) {
        if let Some(mut nodes) = self.tenants.remove(&task) {
            self.free_but_kept.unite(&nodes.intersection(&self.kept));
            nodes.subtract(&self.kept);
            self.free.insert(&nodes);
        }
    }

    /// So many nodes for a task until then: the lowest that nobody wants before, and if there are not enough the lowest
    /// of the others, those last that are kept for somebody.
    fn take(&mut self, task: TaskId, count: u32, until: Time) -> NodeSet {
        let mut undisturbed = self.free.clone();
        undisturbed.subtract(&self.guests.kept(self.now, until));
        let mut disturbed = self.free.clone();
        disturbed.subtract(&undisturbed);
        let mut nodes = NodeSet::default();
        for mut some in [undisturbed, disturbed, self.free_but_kept.clone()] {
            let wanted = (count - nodes.len()).min(some.len());
            nodes.unite(&some.take_lowest(wanted).expect("no more than there are"));
        }
        assert!(nodes.len() == count, "{COUNTED}");
        self.free.subtract(&nodes);
        self.free_but_kept.subtract(&nodes);
        self.tenants.insert(task, nodes.clone());
        nodes
    }

    /// Whoever is on these nodes, which are kept for a guest who starts now, moves.
    fn vacate(&mut self, wanted: &NodeSet, orders: &mut Vec<Order>) {
        for (&task, nodes) in self.tenants.iter_mut().filter(|(_, nodes)| nodes.meets(wanted)) {
            let count = nodes.len();
            nodes.subtract(wanted);
            nodes.unite(&self.free.take_lowest(count - nodes.len()).expect(COUNTED));
            orders.push(Order::Move { task, nodes: nodes.clone().into(), from: self.now });
        }
    }
}

const COUNTED: &str = "as many nodes are free as the desk has counted";
const MOMENT: Span = Span::from_micros(1);

/// What is left of a booking.
fn part_of(now: Time, held: &Reserved) -> Part {
    let start = held.from.max(now);
    Part { procs: held.nodes.len(), start, span: held.until.since(start) }
}

fn submission(
    giver: ActorId,
    origin: Origin,
    task: TaskId,
    procs: u32,
    (walltime, runtime): (Span, Span),
    losses: u32,
) -> Submission {
    let enter =
        Enter { task, procs, walltime, runtime, not_before: Time::ZERO, within: Vec::new(), tells: false, losses };
    Submission { giver, origin, enter }
}
