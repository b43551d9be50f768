//! Outages in the calendar, compared with a table of all nodes and seconds.

use proptest::prelude::*;
use proptest::sample::Index;

use super::*;
use crate::grid::Expected;

const NODES: u32 = 6;
const SECONDS: usize = 40;

/// The next event, this many seconds later.
#[derive(Clone, Debug)]
enum Step {
    Book(usize, usize, u8),
    /// Release of a booking, this many seconds before its end, or from now on.
    Delete(Index, usize),
    /// Expected duration of the outage of each node in seconds, if it is down; it may be late.
    Block([Option<usize>; NODES as usize]),
}

fn step() -> impl Strategy<Value = (usize, Step)> {
    let what = prop_oneof![
        3 => (0usize..12, 1usize..12, 1u8..1 << NODES).prop_map(|(after, lasts, nodes)| Step::Book(after, lasts, nodes)),
        2 => (any::<Index>(), 1usize..12).prop_map(|(which, left)| Step::Delete(which, left)),
        3 => prop::array::uniform6(prop::option::of(0usize..15)).prop_map(Step::Block),
    ];
    (0usize..4, what)
}

fn nodes_of(mask: u8) -> NodeSet {
    select_nodes(|node| mask >> node & 1 == 1)
}

fn select_nodes(is_one: impl Fn(usize) -> bool) -> NodeSet {
    let mut nodes = NodeSet::default();
    (0..NODES).filter(|node| is_one(*node as usize)).for_each(|node| nodes.push(node, node));
    nodes
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]
    #[test]
    fn nodes_that_are_down_are_not_booked_and_all_others_are_free(steps in prop::collection::vec(step(), 1..40)) {
        let mut book = ClusterBook::new(NODES, fit::find_fit("ff").unwrap(), RectEnd::Clip);
        let mut booked = [[false; NODES as usize]; SECONDS];
        let mut back = [0; NODES as usize];
        let mut bookings: Vec<(usize, usize, u8)> = Vec::new();
        let mut now = 0;
        for (later, step) in steps {
            now += later;
            let of = |mask: u8| (0..NODES as usize).filter(move |node| mask >> node & 1 == 1);
            match step {
                Step::Book(after, lasts, mask) => {
                    let start = now + after;
                    let end = now + after + lasts;
                    let mut cells = of(mask).flat_map(|node| (start..end).map(move |second| (node, second)));
                    let is_free = end < SECONDS && cells.all(|(node, second)| !booked[second][node] && second >= back[node]);
                    let accepted = end < SECONDS && book.add(at(start as u64), at(end as u64), &nodes_of(mask)).is_ok();
                    prop_assert_eq!(accepted, is_free);
                    if accepted {
                        booked[start..end].iter_mut().for_each(|second| of(mask).for_each(|node| second[node] = true));
                        bookings.push((start, end, mask));
                    }
                }
                Step::Delete(which, left) if !bookings.is_empty() => {
                    let (start, end, mask) = bookings.swap_remove(which.index(bookings.len()));
                    let from = start.max(now).max(end.saturating_sub(left));
                    if from < end {
                        book.delete(at(from as u64), at(end as u64), &nodes_of(mask)).unwrap();
                        booked[from..end].iter_mut().for_each(|second| of(mask).for_each(|node| second[node] = false));
                    }
                }
                Step::Delete(..) => {}
                Step::Block(lasts) => {
                    back = lasts.map(|lasts| lasts.map_or(0, |lasts| now + lasts));
                    let mut times: Vec<usize> = back.into_iter().filter(|time| *time > 0).collect();
                    times.sort_unstable();
                    times.dedup();
                    let expected = |time: usize| Expected { back: at(time as u64), nodes: select_nodes(|node| back[node] == time) };
                    let down: Vec<Expected> = times.into_iter().map(expected).collect();
                    book.block_down(at(now as u64), &down);
                }
            }
            for (second, booked) in booked.iter().enumerate().skip(now) {
                let free = select_nodes(|node| !booked[node] && second >= back[node]);
                let seen = book.calendar().free_over(at(second as u64), at(second as u64 + 1));
                prop_assert_eq!(seen, free, "at second {}", second);
            }
        }
    }
}
