//! The tasks that a site has taken on: what runs, and what will.

use crate::grid::{NodeSet, TaskId};
use crate::time::Time;

#[derive(Debug)]
pub struct Bookings {
    total: u32,
    free: u32,
    waiting: usize,
    places: Vec<Option<Booking>>,
    vacant: Vec<usize>,
}

#[derive(Clone, Debug)]
pub struct Booking {
    pub task: TaskId,
    pub width: u32,
    pub start: Time,
    pub end: Time,
    /// Which cores it runs on, once it does.
    pub cores: Option<NodeSet>,
}

impl Bookings {
    pub fn new(total: u32) -> Bookings {
        Bookings { total, free: total, waiting: 0, places: Vec::new(), vacant: Vec::new() }
    }

    /// The earliest time at which so many cores are free and everything that was booked before has started.
    pub fn earliest_in_turn(&self, now: Time, cores: u32) -> Option<Time> {
        if cores > self.total {
            return None;
        }
        if self.waiting == 0 && cores <= self.free {
            return Some(now);
        }

        let last_start = self.all().map(|booking| booking.start).max().unwrap_or(now).max(now);
        let mut later: Vec<&Booking> = self.all().filter(|booking| booking.end > last_start).collect();
        later.sort_by_key(|booking| booking.end);
        let mut free = self.total - later.iter().map(|booking| booking.width).sum::<u32>();
        let mut ends = later.iter();
        let mut start = last_start;
        while free < cores {
            let next = ends.next().expect("all cores are free once everything has ended");
            free += next.width;
            start = next.end;
        }
        Some(start)
    }

    pub fn all(&self) -> impl Iterator<Item = &Booking> {
        self.places.iter().flatten()
    }

    /// Notes a task that has not started yet, and says where.
    pub(in crate::roles) fn add(&mut self, booking: Booking) -> usize {
        self.waiting += 1;
        match self.vacant.pop() {
            Some(place) => {
                self.places[place] = Some(booking);
                place
            }
            None => {
                self.places.push(Some(booking));
                self.places.len() - 1
            }
        }
    }

    pub(in crate::roles) fn get(&self, place: usize) -> &Booking {
        self.places[place].as_ref().expect("timers name bookings that stand")
    }

    pub(in crate::roles) fn start(&mut self, place: usize, cores: NodeSet) {
        let booking = self.places[place].as_mut().expect("timers name bookings that stand");
        booking.cores = Some(cores);
        self.free -= booking.width;
        self.waiting -= 1;
    }

    pub(in crate::roles) fn end(&mut self, place: usize) -> Booking {
        let booking = self.places[place].take().expect("timers name bookings that stand");
        self.free += booking.width;
        self.vacant.push(place);
        booking
    }
}
