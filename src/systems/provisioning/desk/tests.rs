use super::*;
use crate::grid::{Area, JobId, Offer};
use crate::systems::provisioning::forecast::Constant;
use crate::systems::provisioning::planner;

fn second(at: u64) -> Time {
    Time::from_micros(at * 1_000_000)
}

fn task(number: u32) -> TaskId {
    TaskId { job: JobId(number), index: 0 }
}

fn ask(number: u32, nodes: u32, length: u64) -> Ask {
    Ask { job: task(number), nodes, walltime: Span::from_secs(length) }
}

fn part(procs: u32, start: u64, length: u64) -> Part {
    Part { procs, start: second(start), span: Span::from_secs(length) }
}

fn desk(procs: u32, mode: Mode, planner: &str) -> Desk {
    Desk::new(Terms::new(procs, mode), planner::build(planner).unwrap(), Box::new(Constant(0.5)))
}

fn pass(desk: &mut Desk, now: u64) -> Vec<Deed> {
    let mut deeds = Vec::new();
    desk.pass(second(now), &mut deeds);
    deeds
}

/// The site of the thesis's Table 3: A and B run, R is reserved, C and D wait.
fn table_3(planner: &str) -> Desk {
    let mut desk = desk(5, Mode::Rebuild, planner);
    desk.submit(Time::ZERO, ask(0, 1, 3)).unwrap();
    desk.submit(Time::ZERO, ask(1, 3, 2)).unwrap();
    assert_eq!(pass(&mut desk, 0), [Deed::Start(task(0)), Deed::Start(task(1))]);
    let quote = desk.price(Time::ZERO, 1, Span::from_secs(3), Wanted::At(second(4))).unwrap();
    desk.book(Time::ZERO, quote.id, second(4)).unwrap();
    desk.submit(Time::ZERO, ask(2, 2, 4)).unwrap();
    desk.submit(Time::ZERO, ask(3, 2, 5)).unwrap();
    assert_eq!(pass(&mut desk, 0), []);
    desk
}

fn offers(desk: &mut Desk, wanted: Wanted) -> Vec<(u64, u64)> {
    let quote = desk.price(Time::ZERO, 2, Span::from_secs(3), wanted).unwrap();
    quote.offers.iter().map(|offer| (offer.start.micros() / 1_000_000, offer.fee.micros() / 1_000_000)).collect()
}

#[test]
fn prices_are_those_of_table_3() {
    let mut desk = table_3("slotlist");
    assert_eq!(desk.plan.starts, [second(2), second(3)]);
    assert_eq!(offers(&mut desk, Wanted::Any), [(2, 6), (3, 8), (4, 10), (6, 0), (7, 0), (8, 0)]);
    assert_eq!(offers(&mut desk, Wanted::From(second(5))), [(5, 10), (6, 0), (7, 0), (8, 0)]);
    assert_eq!(offers(&mut desk, Wanted::At(second(0))), []);
    assert_eq!(offers(&mut desk, Wanted::At(second(3))), [(3, 8)]);

    let mut desk = table_3("conservative-count");
    let counted: Vec<(u64, u64)> =
        [0, 2, 3, 4, 6, 7].into_iter().flat_map(|at| offers(&mut desk, Wanted::At(second(at)))).collect();
    assert_eq!(counted, [(2, 6), (3, 8), (4, 8), (6, 0), (7, 0)]);
}

#[test]
fn what_was_quoted_is_what_is_paid() {
    let mut desk = table_3("slotlist");
    let quote = desk.price(Time::ZERO, 2, Span::from_secs(3), Wanted::Any).unwrap();
    assert_eq!(quote.offers[0], Offer { start: second(2), fee: Area::of(6, Span::from_secs(1)) });
    assert_eq!(desk.book(second(1), quote.id, second(5)), Err(Denial::NotOffered));
    let receipt = desk.book(second(1), quote.id, second(2)).unwrap();
    assert_eq!((receipt.total(), receipt.part), (Area::of(12, Span::from_secs(1)), part(2, 2, 3)));
    assert_eq!(desk.book(second(60), quote.id, second(70)), Err(Denial::QuoteGone));
}
