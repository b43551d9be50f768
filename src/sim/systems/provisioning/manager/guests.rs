//! The use of the site by other systems of the grid: jobs and tasks for its queue, and bookings of named nodes.
//!
//! A queued guest is planned like the task of any user, but no terms apply to it: services pay nothing, and know of no
//! longest job. If it is lost on a node that fails, its sender handles the loss, as at any other site.
//!
//! A booking of a guest names its nodes, and the desk only counts. So the desk sets as many processors aside, and this
//! file chooses the nodes of other tasks: a task that is about to start avoids the nodes of bookings whose time has
//! come, and, as far as others are free, those that are booked before it ends. A task that occupies booked nodes when
//! their time comes moves. There are always nodes to move to: the desk's calendar has room for all running tasks beside
//! all that is set aside. Only a task taken back in the instant of its start is on no calendar any more, and may be on
//! any nodes that are free for so long.
//!
//! Where nodes fail there may be too few. Then a booking set aside gives way like any other, and gets its processors
//! again as soon as there is room from then to its end. Until then its task is late.
//!
//! While services have bookings that are not over, each start of a task costs a look at each of them.

use std::collections::BTreeMap;

use super::{NegotiatingManager, Submission};
use crate::grid::{BookingId, NodeSet, Part, Reserved, TaskId};
use crate::kernel::ActorId;
use crate::protocol::{Book, Booked, Enter, Message, Provided, Queue, Release, Run};
use crate::roles::site::{BookingStage, Bookings, Loss, On, SiteOrder, TaskState, Tasks};
use crate::systems::provisioning::desk::Joins;
use crate::time::{Span, Time};

/// The bookings of services.
#[derive(Default)]
pub(super) struct ServiceBookings {
    pub booked: Bookings,
    /// The desk's number of each booking; those that wait for room are missing.
    set_aside: BTreeMap<TaskId, BookingId>,
}

/// The kind of sender of a task, which decides how a loss is handled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SenderKind {
    /// A user that negotiates; a lost task starts again at this site.
    User,
    /// A dispatcher, which gets a lost task back if the topology says so.
    Dispatcher,
    /// A planner that sends single tasks, and is told of each loss.
    Planner,
}

impl ServiceBookings {
    /// Number of processors in use of the desk's booking, where nodes fail, if it is a guest's: all or none.
    pub fn in_use(&self, booking: BookingId) -> Option<u32> {
        let guest = self.booked.get(self.of(booking)?)?;
        Some(if guest.stage() == BookingStage::Begun { guest.held.nodes.len() } else { 0 })
    }

    /// The task of the desk's booking, if it is a guest's.
    fn of(&self, booking: BookingId) -> Option<TaskId> {
        self.set_aside.iter().find(|(_, its)| **its == booking).map(|(task, _)| *task)
    }

    /// True if this sender has a booking whose task was lost.
    fn has_lost(&self, sender: ActorId, task: TaskId) -> bool {
        self.booked.of(sender, task).is_some_and(|booking| booking.is_lost())
    }

    /// Forgets a booking that is not on the calendar any more.
    pub fn forget(&mut self, booking: BookingId) {
        self.set_aside.retain(|_, its| *its != booking);
    }

    /// Number of tasks of services that run, or are about to.
    pub fn running(&self, now: Time) -> usize {
        self.booked
            .all()
            .filter(|(_, booking)| booking.stage() == BookingStage::Begun && booking.held.from <= now)
            .count()
    }

    /// The nodes and times of all bookings on the calendar.
    fn held(&self) -> impl Iterator<Item = &Reserved> {
        self.set_aside.keys().filter_map(|task| self.booked.get(*task)).map(|booking| &booking.held)
    }

    /// The nodes booked at some time between `from` and `until`.
    fn nodes_booked(&self, from: Time, until: Time) -> NodeSet {
        Reserved::nodes_within(self.held(), from, until)
    }
}

impl NegotiatingManager {
    /// Handles a message of a service.
    pub(super) fn handle_service_message(
        &mut self,
        now: Time,
        sender: ActorId,
        message: Message,
        site: &Tasks,
        orders: &mut Vec<SiteOrder>,
    ) {
        match message {
            Message::Queue(Queue { job, nodes, walltime, runtime, losses, .. }) => {
                let task = TaskId { job, index: 0 };
                self.accept_task(
                    now,
                    site,
                    make_submission(sender, SenderKind::Dispatcher, task, nodes, (walltime, runtime), losses),
                );
            }
            // The sender knows the exact run time.
            Message::Run(Run { task, cores, runtime, .. }) => {
                self.accept_task(
                    now,
                    site,
                    make_submission(sender, SenderKind::Planner, task, cores, (runtime, runtime), 0),
                );
            }
            Message::Book(book) => self.set_aside(now, sender, &book, site, orders),
            Message::Provided(Provided { task }) => self.handle_provided(now, sender, task, orders),
            Message::Hold(hold) => self.guests.booked.hold(now, sender, &hold),
            Message::Release(Release { task }) if self.guests.has_lost(sender, task) => _ = self.end_guest(now, task),
            _ => {}
        }
    }

    /// Takes a task of a service. Services know the size of the site, so a task that fits nowhere, or is no valid task,
    /// gets no answer.
    fn accept_task(&mut self, now: Time, site: &Tasks, submission: Submission) {
        let Enter { task, procs, runtime, walltime, .. } = submission.enter;
        let fits = (1..=site.total()).contains(&procs) && !runtime.min(walltime).is_zero();
        if fits && !self.knows(task) && !self.guests.booked.has(task) {
            self.queue(now, submission, Joins::Quietly);
        }
    }

    fn set_aside(&mut self, now: Time, sender: ActorId, book: &Book, site: &Tasks, orders: &mut Vec<SiteOrder>) {
        let Book { task, runtime, awaits_input, .. } = *book;
        let wanted = self.guests.booked.wanted_reservation(now, book, site).filter(|_| !self.knows(task));
        let others = wanted.as_ref().filter(|held| !self.are_nodes_free(held));
        let free = others.map_or_else(NodeSet::default, |held| self.free(held, site));
        let granted = wanted.filter(|held| self.are_nodes_free(held));
        let granted =
            granted.and_then(|held| Some((self.desk.book_free_of_charge(now, part_of(now, &held)).ok()?, held)));
        let Some((booking, held)) = granted else {
            return orders.push(SiteOrder::Send(sender, Message::Booked(Booked::refused(task, &free))));
        };
        orders.push(SiteOrder::Send(sender, Message::Booked(Booked::granted(task))));
        self.guests.set_aside.insert(task, booking);
        let once_ready = BookingStage::once_ready(runtime, self.remedy.is_some());
        let stage = if awaits_input { BookingStage::AwaitsInput(runtime) } else { once_ready };
        let start = held.from;
        let booking = self.guests.booked.add(task, sender, held, stage);
        if stage == BookingStage::Begun {
            orders.push(SiteOrder::Start(booking.begin(task, start, runtime, Loss::default())));
        }
    }

    fn are_nodes_free(&self, held: &Reserved) -> bool {
        self.will_nodes_be_up(held) && !self.guests.booked.meets(held)
    }

    fn will_nodes_be_up(&self, held: &Reserved) -> bool {
        self.remedy.as_ref().is_none_or(|remedy| remedy.will_be_up(held))
    }

    /// The nodes that no other service has booked for some of that time and that will be up, if there are enough. The
    /// answer to a request says whether the desk still has as many processors.
    fn free(&self, held: &Reserved, site: &Tasks) -> NodeSet {
        let mut free = NodeSet::all(site.total());
        free.subtract(&self.guests.booked.nodes_booked(held.from, held.until));
        self.remedy.iter().for_each(|remedy| free.subtract(&remedy.down_at(held.from)));
        if free.len() < held.nodes.len() { NodeSet::default() } else { free }
    }

    /// The input of a booked task has arrived. If its time has begun, it has the rest of it.
    fn handle_provided(&mut self, now: Time, sender: ActorId, task: TaskId, orders: &mut Vec<SiteOrder>) {
        if self.guests.booked.of(sender, task).is_none_or(|booking| booking.held.until <= now) {
            return;
        }
        let fails = self.remedy.is_some();
        let provided = self.guests.booked.provide(sender, task, fails);
        if let Some((booking, runtime)) = provided.filter(|_| !fails) {
            orders.push(SiteOrder::Start(booking.begin(task, booking.held.from.max(now), runtime, Loss::default())));
        }
    }

    /// Takes a booked task back at its sender's request; true if in time.
    pub(super) fn recall_booked(
        &mut self,
        now: Time,
        sender: ActorId,
        task: TaskId,
        orders: &mut Vec<SiteOrder>,
    ) -> bool {
        let fails = self.remedy.is_some();
        let in_time = self.guests.booked.of(sender, task).is_some_and(|booking| match booking.stage() {
            BookingStage::AwaitsInput(_) | BookingStage::Ready(_) => true,
            // Where no nodes fail, the site has the task from the beginning, and starts it at its time.
            BookingStage::Begun => !fails && now < booking.held.from,
            BookingStage::Lost => false,
        });
        if in_time {
            self.end_guest(now, task);
            orders.push(SiteOrder::Drop { task, sender });
        }
        in_time
    }

    /// Removes the rest of a task's booking; true if there was one.
    pub(super) fn end_guest(&mut self, now: Time, task: TaskId) -> bool {
        if let Some(booking) = self.guests.set_aside.remove(&task) {
            self.desk.give_up(now, booking);
        }
        self.guests.booked.remove(task).is_some()
    }

    /// Sets processors aside again, where nodes fail, for the bookings that had to give way.
    pub(super) fn make_room(&mut self, now: Time) {
        if self.remedy.is_none() {
            return;
        }
        let ServiceBookings { booked, set_aside } = &mut self.guests;
        let waiting = booked
            .all()
            .filter(|(task, booking)| booking.held.until > now && !set_aside.contains_key(task))
            .map(|(task, booking)| (booking.held.from, task, &booking.held));
        let mut waiting: Vec<(Time, TaskId, &Reserved)> = waiting.collect();
        waiting.sort_unstable_by_key(|(from, task, _)| (*from, *task));
        for (_, task, held) in waiting {
            if let Ok(booking) = self.desk.book_free_of_charge(now, part_of(now, held)) {
                set_aside.insert(task, booking);
            }
        }
    }

    /// Starts the booked tasks whose start is now, or was before and was impossible. Where no nodes fail, the site
    /// starts them by itself.
    pub(super) fn start_booked(&mut self, now: Time, orders: &mut Vec<SiteOrder>) {
        let Some(remedy) = &self.remedy else { return };
        let ServiceBookings { booked, set_aside } = &mut self.guests;
        for task in booked.can_start(now, |task, held| set_aside.contains_key(&task) && remedy.are_up(&held.nodes)) {
            orders.push(SiteOrder::Start(booked.start(now, task, |nodes| remedy.starts_booked(nodes))));
        }
        booked.look_ahead(now, |_| Time::NEVER);
    }

    /// Moves running tasks off nodes on which a booked task starts now.
    pub(super) fn clear_way(&self, now: Time, site: &Tasks, orders: &mut Vec<SiteOrder>) {
        let mut wanted = NodeSet::default();
        site.all()
            .filter_map(|running| match &running.state {
                TaskState::Coming(On::These(layers)) if running.started <= now => Some(layers.nodes.clone()),
                _ => None,
            })
            .for_each(|nodes| wanted.unite(&nodes));
        if !wanted.is_empty() {
            Seating::of_manager(self, now, site).vacate(&wanted, orders);
        }
    }

    /// Chooses the nodes of tasks that start now, where some nodes are booked. Orders are carried out in their order,
    /// so a later one may use the nodes that an earlier one frees.
    pub(super) fn assign(&self, now: Time, site: &Tasks, orders: &mut Vec<SiteOrder>) {
        if self.guests.set_aside.is_empty() {
            return;
        }
        let mut seating = Seating::of_manager(self, now, site);
        for order in std::mem::take(orders) {
            let mut order = order;
            match &mut order {
                SiteOrder::Lose(task) | SiteOrder::Abandon(task) => seating.free(*task),
                SiteOrder::Start(start) if start.at == now => match &start.on {
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

/// The nodes of all tasks while orders are given.
struct Seating<'a> {
    guests: &'a ServiceBookings,
    now: Time,
    /// Free nodes that are up, without those of guests whose time has come; and the free ones of those.
    free: NodeSet,
    free_but_kept: NodeSet,
    /// Nodes of all bookings of services whose time has come.
    kept: NodeSet,
    tenants: BTreeMap<TaskId, NodeSet>,
}

impl Seating<'_> {
    fn of_manager<'a>(front: &'a NegotiatingManager, now: Time, site: &Tasks) -> Seating<'a> {
        let guests = &front.guests;
        let kept = guests.nodes_booked(now, now + MOMENT);
        let mut free = site.free_nodes().clone();
        let free_but_kept = site.free_nodes().intersection(&kept);
        free.subtract(&kept);
        let tenants = site.all().filter_map(|running| Some((running.task, running.nodes()?.clone())));
        Seating { guests, now, free, free_but_kept, kept, tenants: BTreeMap::from_iter(tenants) }
    }

    fn free(&mut self, task: TaskId) {
        if let Some(mut nodes) = self.tenants.remove(&task) {
            self.free_but_kept.unite(&nodes.intersection(&self.kept));
            nodes.subtract(&self.kept);
            self.free.insert(&nodes);
        }
    }

    /// Takes nodes for a task until a time: the lowest that no guest has booked before then, then the lowest of the
    /// others, and last those of guests whose time has come.
    fn take(&mut self, task: TaskId, count: u32, until: Time) -> NodeSet {
        let mut undisturbed = self.free.clone();
        undisturbed.subtract(&self.guests.nodes_booked(self.now, until));
        let mut disturbed = self.free.clone();
        disturbed.subtract(&undisturbed);
        let mut nodes = NodeSet::default();
        for mut some in [undisturbed, disturbed, self.free_but_kept.clone()] {
            let wanted = (count - nodes.len()).min(some.len());
            nodes.unite(&some.take_lowest(wanted).expect("no more are taken than there are"));
        }
        assert!(nodes.len() == count, "{COUNTED}");
        self.free.subtract(&nodes);
        self.free_but_kept.subtract(&nodes);
        self.tenants.insert(task, nodes.clone());
        nodes
    }

    /// Moves all tasks off these nodes, on which a guest starts now.
    fn vacate(&mut self, wanted: &NodeSet, orders: &mut Vec<SiteOrder>) {
        for (&task, nodes) in self.tenants.iter_mut().filter(|(_, nodes)| nodes.meets(wanted)) {
            let count = nodes.len();
            nodes.subtract(wanted);
            nodes.unite(&self.free.take_lowest(count - nodes.len()).expect(COUNTED));
            orders.push(SiteOrder::Move { task, nodes: nodes.clone().into(), from: self.now });
        }
    }
}

const COUNTED: &str = "as many nodes are free as the desk has counted";
const MOMENT: Span = Span::from_micros(1);

/// The rest of a booking as a part of the site.
fn part_of(now: Time, held: &Reserved) -> Part {
    let start = held.from.max(now);
    Part { procs: held.nodes.len(), start, span: held.until.since(start) }
}

fn make_submission(
    sender: ActorId,
    origin: SenderKind,
    task: TaskId,
    procs: u32,
    (walltime, runtime): (Span, Span),
    losses: u32,
) -> Submission {
    let enter = Enter {
        task,
        procs,
        walltime,
        runtime,
        not_before: Time::ZERO,
        within: Vec::new(),
        reports_start: false,
        losses,
        may_be_lost: true,
        ends_quietly: false,
    };
    Submission { sender, origin, enter }
}
