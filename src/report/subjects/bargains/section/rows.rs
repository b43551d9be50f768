//! Rows of a calendar for each item: simultaneous items have different rows, and a task in a booking has rows of it.
//!
//! Sites count processors, so rows have a meaning only in number. Items come in order of their starts; the rows of an
//! item are adjacent where there is room.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

use hansa_sim::grid::{JobId, NodeSet};
use hansa_sim::time::Time;

#[derive(Clone, Copy, Debug)]
pub struct CalendarItem {
    pub from: Time,
    pub until: Time,
    pub procs: u32,
    pub lies: Lies,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Lies {
    /// A booking for this job. Items in it end with it, or outlast it if it was revoked.
    Around(JobId, IsRevoked),
    /// In rows that belong to no booking.
    Alone,
    /// In a booking of its job, or in rows of its own if that has no room.
    Within(JobId),
}

/// True if a booking was revoked.
pub type IsRevoked = bool;

/// The rows of each item, in the same order, and the number of rows: as given, or more if more are occupied at once.
pub fn assign_rows(items: &[CalendarItem], rows: u32) -> (Vec<NodeSet>, u32) {
    let mut calendar = Calendar { free: NodeSet::all(rows), rows, ..Calendar::default() };
    let rows_of = items.iter().enumerate().map(|(number, item)| calendar.take_rows(number, item)).collect();
    (rows_of, calendar.rows)
}

#[derive(Default)]
struct Calendar {
    free: NodeSet,
    rows: u32,
    /// Open bookings, by job, the first to end first, each with the time until which it takes items in.
    open: BTreeMap<JobId, BTreeSet<(Time, usize)>>,
    /// Unoccupied rows of each open booking.
    left: BTreeMap<usize, NodeSet>,
    held: BTreeMap<usize, FreedRows>,
    ends: BinaryHeap<Reverse<(Time, usize)>>,
}

/// The rows that an end frees.
enum FreedRows {
    Own(NodeSet),
    Booking(JobId, (Time, usize)),
    In(Vec<(usize, NodeSet)>),
}

impl Calendar {
    fn take_rows(&mut self, number: usize, item: &CalendarItem) -> NodeSet {
        self.advance_to(item.from);
        let within = match item.lies {
            Lies::Within(job) => self.take_within(job, item),
            _ => None,
        };
        let (rows, held) = match (within, item.lies) {
            (Some(parts), _) => {
                let mut rows = NodeSet::default();
                parts.iter().for_each(|(_, part)| rows.unite(part));
                (rows, FreedRows::In(parts))
            }
            (None, Lies::Around(job, is_lost)) => {
                let rows = self.take_free(item.procs);
                let key = (if is_lost { Time::NEVER } else { item.until }, number);
                self.open.entry(job).or_default().insert(key);
                self.left.insert(number, rows.clone());
                (rows, FreedRows::Booking(job, key))
            }
            (None, _) => {
                let rows = self.take_free(item.procs);
                (rows.clone(), FreedRows::Own(rows))
            }
        };
        self.held.insert(number, held);
        self.ends.push(Reverse((item.until, number)));
        rows
    }

    /// Frees the rows of items that are over by then.
    fn advance_to(&mut self, now: Time) {
        while let Some(&Reverse((_, number))) = self.ends.peek().filter(|Reverse((until, _))| *until <= now) {
            self.ends.pop();
            match self.held.remove(&number) {
                None => {}
                Some(FreedRows::Own(rows)) => self.free.insert(&rows),
                Some(FreedRows::Booking(job, key)) => {
                    self.open.entry(job).or_default().remove(&key);
                    // A task that still runs in it keeps its rows.
                    self.left.remove(&number).iter().for_each(|rows| self.free.insert(rows));
                }
                Some(FreedRows::In(parts)) => {
                    for (booking, rows) in parts {
                        self.left.get_mut(&booking).unwrap_or(&mut self.free).insert(&rows);
                    }
                }
            }
        }
    }

    fn take_within(&mut self, job: JobId, item: &CalendarItem) -> Option<Vec<(usize, NodeSet)>> {
        let lasting = self.open.get(&job)?.range((item.until, 0)..);
        let mut missing = item.procs;
        let mut parts = Vec::new();
        for (_, booking) in lasting {
            let here = self.left[booking].len().min(missing);
            if here > 0 {
                parts.push((*booking, here));
                missing -= here;
            }
        }
        let mut take = |(booking, here): (usize, u32)| {
            let left = self.left.get_mut(&booking).expect("what is open has rows");
            (booking, side_by_side(left, here))
        };
        (missing == 0).then(|| parts.into_iter().map(&mut take).collect())
    }

    fn take_free(&mut self, procs: u32) -> NodeSet {
        let missing = procs.saturating_sub(self.free.len());
        if missing > 0 {
            self.free.insert(&NodeSet::from_run(self.rows, self.rows + missing - 1));
            self.rows += missing;
        }
        side_by_side(&mut self.free, procs)
    }
}

/// Takes `count` rows of at least as many: the lowest adjacent ones, if there are any.
fn side_by_side(free: &mut NodeSet, count: u32) -> NodeSet {
    let long = free.runs().iter().find(|(first, last)| last - first + 1 >= count).copied();
    let taken = match long.filter(|_| count > 0) {
        Some((first, _)) => NodeSet::from_run(first, first + count - 1),
        None => free.lowest(count).expect("there are enough"),
    };
    free.subtract(&taken);
    taken
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item((from, until, procs): (u64, u64, u32), lies: Lies) -> CalendarItem {
        let second = |at: u64| Time::from_micros(at * 1_000_000);
        CalendarItem { from: second(from), until: second(until), procs, lies }
    }

    fn shown(items: &[CalendarItem], rows: u32) -> (Vec<String>, u32) {
        let (sets, rows) = assign_rows(items, rows);
        (sets.iter().map(NodeSet::to_string).collect(), rows)
    }

    #[test]
    fn rows_lie_side_by_side_where_there_is_room_and_are_as_many_as_are_needed() {
        let alone = [(0, 10, 4), (0, 5, 2), (2, 9, 3), (5, 8, 2), (6, 7, 1), (9, 11, 3), (10, 11, 8)];
        let items = alone.map(|all| item(all, Lies::Alone));
        assert_eq!(shown(&items, 9).0[..6], ["0-3", "4-5", "6-8", "4-5", "9", "4-6"]);
        assert_eq!(shown(&items, 9).1, 11, "11 are busy at the end");
        let gaps = [(0, 9, 2), (0, 2, 1), (0, 9, 2), (0, 2, 1), (3, 4, 2)].map(|all| item(all, Lies::Alone));
        assert_eq!(shown(&gaps, 6).0[4], "2 5", "in two pieces rather than in a seventh row");
        assert_eq!(shown(&[item((0, 0, 0), Lies::Alone)], 1), (vec![String::new()], 1));
    }

    #[test]
    fn what_runs_in_a_booking_lies_in_it_and_keeps_its_rows_when_the_booking_is_over() {
        let job = JobId(7);
        let other = JobId(8);
        let items = [
            item((0, 20, 3), Lies::Around(job, false)),
            item((0, 10, 1), Lies::Alone),
            item((0, 10, 4), Lies::Around(job, true)),
            item((1, 12, 5), Lies::Within(job)),
            item((2, 3, 2), Lies::Within(other)),
            item((10, 11, 2), Lies::Alone),
            item((12, 13, 4), Lies::Alone),
        ];
        let lost = ["0-2", "3", "4-7", "0-2 4-5", "8-9", "6-7", "3-6"].map(str::to_owned);
        assert_eq!(shown(&items, 10), (lost.into(), 10));
        // A booking that ends on time has no room for a longer task.
        let whole = [items[0], item((0, 10, 4), Lies::Around(job, false)), item((1, 12, 3), Lies::Within(job))];
        assert_eq!(shown(&whole, 7).0[2], "0-2");
        let soon = [items[0], whole[1], item((1, 9, 3), Lies::Within(job))];
        assert_eq!(shown(&soon, 7).0[2], "3-5", "the first to end");
        let late = [whole[1], item((11, 12, 2), Lies::Within(job))];
        assert_eq!(shown(&late, 4).0[1], "0-1", "its booking is over");
        let large = [whole[1], item((1, 2, 5), Lies::Within(job))];
        assert_eq!(shown(&large, 4), (["0-3", "4-8"].map(str::to_owned).into(), 9), "its booking has no room");
    }

    proptest::proptest! {
        #[test]
        fn nothing_lies_where_another_thing_lies_and_rows_are_those_of_the_busiest_moment(
            mut all in proptest::collection::vec((0u64..40, 1u64..20, 1u32..6), 1..40),
        ) {
            all.sort_unstable();
            let items: Vec<CalendarItem> =
                all.iter().map(|(from, lasts, procs)| item((*from, from + lasts, *procs), Lies::Alone)).collect();
            let (sets, rows) = assign_rows(&items, 0);
            let mut most = 0;
            for (now, set) in items.iter().zip(&sets) {
                let there: Vec<usize> =
                    (0..items.len()).filter(|at| items[*at].from <= now.from && now.from < items[*at].until).collect();
                most = most.max(there.iter().map(|at| items[*at].procs).sum());
                let before = there.iter().filter(|at| items[**at].from < now.from);
                for other in before {
                    proptest::prop_assert!(!sets[*other].meets(set), "{:?} and {set:?}", sets[*other]);
                }
                proptest::prop_assert_eq!(set.len(), now.procs);
            }
            proptest::prop_assert_eq!(rows, most);
        }
    }
}
