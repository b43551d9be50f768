use super::*;
use crate::grid::{Area, Counts, EdgeSlots, JobId, Offer};
use crate::play::second;
use crate::systems::provisioning::forecast::Constant;
use crate::systems::provisioning::planner;

fn task(number: u32) -> TaskId {
    TaskId { job: JobId(number), index: 0 }
}

fn request(number: u32, nodes: u32, length: u64) -> NodeRequest {
    NodeRequest { job: task(number), nodes, walltime: Span::from_secs(length) }
}

fn part(procs: u32, start: u64, length: u64) -> Part {
    Part { procs, start: second(start), span: Span::from_secs(length) }
}

fn desk(procs: u32, mode: PlanningMode, planner: &str) -> Desk {
    Desk::new(DeskTerms::new(procs, mode), planner::build_planner(planner).unwrap(), Box::new(Constant(0.5)))
}

fn pass(desk: &mut Desk, now: u64) -> Vec<DeskAction> {
    let mut actions = Vec::new();
    desk.run_pass(second(now), &mut actions);
    actions
}

#[test]
fn no_desk_minds_the_end_of_time() {
    let modes = [PlanningMode::Exact, PlanningMode::Rebuild];
    let all = planner::planner_names().into_iter().flat_map(|planner| modes.map(|mode| (planner.name, mode)));
    for (name, mode) in all {
        let mut stream = crate::random::SplitMix64::new(1);
        let mut desk = desk(5, mode, name);
        let mut now = Time::from_micros(Time::LATEST.micros() - (2 << 56));
        let mut running = Vec::<(Time, TaskId)>::new();
        let mut waiting = Vec::<NodeRequest>::new();
        for number in 0..120 {
            let span = Span::from_micros(stream.int(1, WALLTIME_MAX.micros()));
            let procs = stream.int(1, 5) as u32;
            match stream.int(0, 9) {
                0..=3 => {
                    let request = NodeRequest { job: task(number), nodes: procs, walltime: span };
                    desk.submit(now, request).unwrap();
                    waiting.push(request);
                }
                4 if !waiting.is_empty() => {
                    let request = waiting.swap_remove(stream.int(0, waiting.len() as u64 - 1) as usize);
                    assert!(desk.withdraw(now, request.job));
                }
                5 if !running.is_empty() => {
                    let (_, job) = running.swap_remove(stream.int(0, running.len() as u64 - 1) as usize);
                    desk.end_job(now, job);
                }
                6 => {
                    let quote = desk.price(now, procs, span, WantedStarts::Any).unwrap();
                    if let Some(offer) = quote.offers.last() {
                        desk.book(now, quote.id, offer.start).unwrap();
                    }
                }
                7 => {
                    let advert = desk.advertise(now);
                    if let Some(slot) = advert.slots.last().filter(|slot| slot.whole().check().is_ok()) {
                        desk.take(now, advert.version, &[(advert.slots.len() as u32 - 1, slot.whole())]).unwrap();
                    }
                }
                8 => drop(desk.book_free_of_charge(now, Part { procs, start: now, span })),
                _ => {
                    let ends = running.iter().map(|(end, _)| *end);
                    let next = ends.chain(desk.wake()).filter(|next| *next > now).min();
                    now = next.unwrap_or(now).min(Time::LATEST).min(now + span).max(now);
                }
            }
            running.retain(|(end, job)| {
                let over = *end <= now;
                if over {
                    desk.end_job(now, *job);
                }
                !over
            });
            let mut actions = Vec::new();
            desk.run_pass(now, &mut actions);
            for action in actions {
                let DeskAction::Start(job) = action else { continue };
                let place = waiting.iter().position(|request| request.job == job).unwrap();
                running.push((now + waiting.swap_remove(place).walltime, job));
            }
            assert!(desk.wake().is_none_or(|wake| wake < Time::NEVER), "{name}");
        }
    }
}

/// The site of the thesis's Table 3: A and B run, R is reserved, C and D wait.
fn table_3(planner: &str) -> Desk {
    let mut desk = desk(5, PlanningMode::Rebuild, planner);
    desk.submit(Time::ZERO, request(0, 1, 3)).unwrap();
    desk.submit(Time::ZERO, request(1, 3, 2)).unwrap();
    assert_eq!(pass(&mut desk, 0), [DeskAction::Start(task(0)), DeskAction::Start(task(1))]);
    let quote = desk.price(Time::ZERO, 1, Span::from_secs(3), WantedStarts::At(second(4))).unwrap();
    desk.book(Time::ZERO, quote.id, second(4)).unwrap();
    desk.submit(Time::ZERO, request(2, 2, 4)).unwrap();
    desk.submit(Time::ZERO, request(3, 2, 5)).unwrap();
    assert_eq!(pass(&mut desk, 0), []);
    desk
}

fn offers(desk: &mut Desk, wanted: WantedStarts) -> Vec<(u64, u64)> {
    let quote = desk.price(Time::ZERO, 2, Span::from_secs(3), wanted).unwrap();
    quote.offers.iter().map(|offer| (offer.start.micros() / 1_000_000, offer.fee.micros() / 1_000_000)).collect()
}

#[test]
fn prices_are_those_of_table_3() {
    let mut desk = table_3("slotlist");
    assert_eq!(desk.plan.starts, [second(2), second(3)]);
    assert_eq!(offers(&mut desk, WantedStarts::Any), [(2, 6), (3, 8), (4, 10), (6, 0), (7, 0), (8, 0)]);
    assert_eq!(offers(&mut desk, WantedStarts::From(second(5))), [(5, 10), (6, 0), (7, 0), (8, 0)]);
    assert_eq!(offers(&mut desk, WantedStarts::At(second(0))), []);
    assert_eq!(offers(&mut desk, WantedStarts::At(second(3))), [(3, 8)]);

    let mut desk = table_3("conservative-count");
    let counted: Vec<(u64, u64)> =
        [0, 2, 3, 4, 6, 7].into_iter().flat_map(|at| offers(&mut desk, WantedStarts::At(second(at)))).collect();
    assert_eq!(counted, [(2, 6), (3, 8), (4, 8), (6, 0), (7, 0)]);
}

#[test]
fn what_was_quoted_is_what_is_paid() {
    let mut desk = table_3("slotlist");
    let quote = desk.price(Time::ZERO, 2, Span::from_secs(3), WantedStarts::Any).unwrap();
    assert_eq!(quote.offers[0], Offer { start: second(2), fee: Area::of(6, Span::from_secs(1)) });
    assert_eq!(desk.book(second(1), quote.id, second(5)), Err(Denial::NotOffered));
    let receipt = desk.book(second(1), quote.id, second(2)).unwrap();
    assert_eq!((receipt.total(), receipt.part), (Area::of(12, Span::from_secs(1)), part(2, 2, 3)));
    assert_eq!(desk.book(second(60), quote.id, second(70)), Err(Denial::QuoteGone));
}

fn area(seconds: u64) -> Area {
    Area::of(1, Span::from_secs(seconds))
}

#[test]
fn cancelling_costs_a_part_of_the_fee_before_the_start_and_gives_nothing_back_after_it() {
    let mut desk = table_3("slotlist");
    let fees = |desk: &Desk| (desk.account().fees, desk.account().penalties, desk.account().booked);
    let quote = desk.price(Time::ZERO, 2, Span::from_secs(3), WantedStarts::Any).unwrap();
    let receipt = desk.book(Time::ZERO, quote.id, second(3)).unwrap();
    assert_eq!(fees(&desk), (area(8), Area::ZERO, 2));
    assert_eq!(desk.cancel(second(1), receipt.booking), Ok(Area::from_micros(800_000)));
    assert_eq!(fees(&desk), (Area::ZERO, Area::from_micros(800_000), 2));
    assert_eq!(desk.cancel(second(1), receipt.booking), Err(Denial::NotBooked));

    // In the instant of the begin, cancellations come first.
    let receipt = desk.book(second(1), quote.id, second(3)).unwrap();
    desk.end_job(second(2), task(1));
    pass(&mut desk, 2);
    let mut late = table_3("slotlist");
    let quote = late.price(Time::ZERO, 2, Span::from_secs(3), WantedStarts::Any).unwrap();
    let same = late.book(Time::ZERO, quote.id, second(3)).unwrap();
    late.end_job(second(2), task(1));
    pass(&mut late, 2);
    desk.end_job(second(3), task(0));
    assert_eq!(desk.cancel(second(3), receipt.booking), Ok(Area::from_micros(800_000)));
    late.end_job(second(3), task(0));
    assert!(pass(&mut late, 3).contains(&DeskAction::Begin(same.booking)));
    let before = late.account().revenue();
    assert_eq!(late.cancel(second(4), same.booking), Ok(Area::ZERO));
    assert_eq!(late.account().revenue(), before);
    // The processors are free at once.
    assert!(late.price(second(4), 2, Span::from_secs(1), WantedStarts::At(second(4))).unwrap().offers.len() == 1);
}

#[test]
fn holds_are_answered_alike_however_often_they_come() {
    let mut desk = desk(4, PlanningMode::Rebuild, "slotlist");
    let id = |leg| HoldId { request: 1, attempt: 1, leg };
    let hold = |desk: &mut Desk, now, id, part| desk.hold(second(now), id, part, None);
    let grant = hold(&mut desk, 0, id(0), part(3, 100, 50)).unwrap();
    assert_eq!((grant.expiry, grant.fee), (second(60), Area::ZERO));
    assert_eq!(hold(&mut desk, 5, id(0), part(3, 100, 50)), Ok(grant));
    assert_eq!(hold(&mut desk, 5, id(1), part(2, 100, 50)), Err(Denial::NoRoom));
    assert_eq!(hold(&mut desk, 5, id(1), part(5, 100, 50)), Err(Denial::TooLarge(4)));
    assert_eq!(hold(&mut desk, 5, id(1), part(1, 5, 50)), Err(Denial::InPast));
    // It is held until its lease ends.
    assert_eq!(desk.wake(), Some(second(60)));
    assert!(desk.price(second(59), 2, Span::from_secs(9), WantedStarts::At(second(100))).unwrap().offers.is_empty());
    assert_eq!(desk.price(second(60), 2, Span::from_secs(9), WantedStarts::At(second(100))).unwrap().offers.len(), 1);
    assert_eq!(pass(&mut desk, 60), [DeskAction::Lapse(id(0))]);
    assert_eq!(desk.commit(second(60), id(0)), Err(Denial::HoldOver));
    assert_eq!(hold(&mut desk, 61, id(0), part(3, 100, 50)), Err(Denial::HoldOver));

    // A lease ends no later than the held part begins.
    assert_eq!(hold(&mut desk, 61, id(2), part(3, 100, 50)).unwrap().expiry, second(100));
    let receipt = desk.commit(second(99), id(2)).unwrap();
    assert_eq!(desk.commit(second(99), id(2)), Ok(receipt));
    assert_eq!(desk.cancel(second(99), receipt.booking), Err(Denial::NotBooked));
    assert_eq!(desk.abort(second(99), id(2)), HoldState::Committed);
    assert_eq!(desk.cancel_hold(second(99), id(2)), (HoldState::Cancelled, Area::ZERO));
    assert_eq!(desk.commit(second(99), id(2)), Err(Denial::HoldOver));
    assert_eq!(desk.account().revenue(), Area::ZERO);

    // A hold that is aborted before its request arrives is refused when it does.
    assert_eq!(desk.abort(second(99), id(7)), HoldState::Released);
    assert_eq!(hold(&mut desk, 99, id(7), part(1, 200, 5)), Err(Denial::HoldOver));
    let receipt = hold(&mut desk, 99, id(8), part(1, 200, 5)).and_then(|_| desk.commit(second(99), id(8))).unwrap();
    assert_eq!(pass(&mut desk, 200), [DeskAction::Begin(receipt.booking)]);
    assert_eq!(pass(&mut desk, 205), [DeskAction::Over(receipt.booking)]);
    assert_eq!((desk.fate(id(8)), desk.commit(second(206), id(8))), (Some(HoldState::Done), Ok(receipt)));
}

#[test]
fn slots_are_taken_as_advertised_or_not_at_all() {
    let mut desk = desk(5, PlanningMode::Exact, "slotlist");
    for (number, nodes, length) in [(0, 2, 3), (1, 4, 1), (2, 1, 2), (3, 3, 2)] {
        desk.submit(Time::ZERO, request(number, nodes, length)).unwrap();
    }
    // The thesis's Figure 1, in seconds.
    let advert = desk.advertise(Time::ZERO);
    let day = 48 * 3_600;
    let shown: Vec<_> = advert
        .slots
        .iter()
        .map(|slot| {
            (
                slot.start.micros() / 1_000_000,
                slot.procs,
                slot.span.micros() / 1_000_000,
                slot.divisible && slot.extensible,
            )
        })
        .collect();
    let expected =
        [(0, 1, 3, false), (0, 1, day, true), (2, 1, 1, false), (4, 1, day - 4, true), (6, 3, day - 6, true)];
    assert_eq!(shown, expected);
    assert_eq!(pass(&mut desk, 0), [DeskAction::Start(task(0)), DeskAction::Start(task(2))]);

    let refused = |desk: &mut Desk, index, part| desk.take(Time::ZERO, advert.version, &[(index, part)]).unwrap_err();
    assert_eq!(
        refused(&mut desk, 0, part(1, 0, 2)),
        Denial::BadPart(crate::grid::BadPart::NotWhole(Span::from_secs(3)))
    );
    assert_eq!(refused(&mut desk, 9, part(1, 0, 2)), Denial::NoSuchSlot);
    let receipts = desk.take(Time::ZERO, advert.version, &[(2, part(1, 2, 1)), (4, part(2, 7, 4))]).unwrap();
    assert_eq!(receipts.iter().map(|receipt| receipt.rent).collect::<Vec<_>>(), [area(1), area(8)]);
    // The list has changed: slots that still exist may be claimed, and others are stale.
    assert_eq!(refused(&mut desk, 2, part(3, 2, 1)), Denial::SlotGone);
    assert_eq!(refused(&mut desk, 4, part(2, 7, 4)), Denial::SlotGone);
    assert!(desk.take(Time::ZERO, advert.version, &[(0, part(1, 0, 3))]).is_ok());
    // None of this has moved a job.
    let mut actions = Vec::new();
    for (at, ends) in [(2, vec![2]), (3, vec![0]), (4, vec![1]), (6, vec![3])] {
        ends.iter().for_each(|job| desk.end_job(second(at), task(*job)));
        actions.extend(
            pass(&mut desk, at)
                .into_iter()
                .filter(|action| matches!(action, DeskAction::Start(_)))
                .map(|action| (at, action)),
        );
    }
    assert_eq!(actions, [(3, DeskAction::Start(task(1))), (4, DeskAction::Start(task(3)))]);
}

/// In the meantime two of the slots have become one.
#[test]
fn what_is_claimed_late_is_what_was_advertised() {
    let mut desk = desk(5, PlanningMode::Exact, "slotlist");
    for (number, nodes, length) in [(0, 2, 3), (1, 4, 1), (2, 1, 2), (3, 3, 2)] {
        desk.submit(Time::ZERO, request(number, nodes, length)).unwrap();
    }
    let advert = desk.advertise(Time::ZERO);
    assert_eq!(pass(&mut desk, 0).len(), 2);
    let wanted = part(1, 4, 2);
    assert_eq!((advert.slots[3].start, advert.slots[3].check(&wanted)), (second(4), Ok(())));
    let receipts = desk.take(second(2), advert.version, &[(3, wanted)]).unwrap();
    assert_eq!(receipts[0].part, wanted);
}

/// Two seconds later the horizon would be two seconds later, too; the slot that was advertised is still sold.
#[test]
fn an_edge_slot_sold_whole_outlasts_a_message() {
    for edge_slots in [EdgeSlots::Whole, EdgeSlots::Extensible] {
        let terms = DeskTerms { edge_slots, ..DeskTerms::new(4, PlanningMode::Rebuild) };
        let mut desk = Desk::new(terms, planner::build_planner("slotlist").unwrap(), Box::new(Constant(0.5)));
        desk.submit(Time::ZERO, request(0, 4, 30)).unwrap();
        assert_eq!(pass(&mut desk, 0).len(), 1);
        let advert = desk.advertise(second(1));
        let [slot] = &advert.slots[..] else { panic!("{advert:?}") };
        let whole = Part { start: slot.start, procs: slot.procs, span: slot.span };
        assert_eq!(slot.start, second(30));
        assert_eq!(desk.advertise(second(2)).slots, advert.slots);
        let receipts = desk.take(second(3), advert.version, &[(0, whole)]).unwrap();
        assert_eq!(receipts[0].part, whole);
    }
}

/// 2 x 3 from 0 is free between others, 1 without end from 0, and 4 from 4.
#[test]
fn a_part_is_cut_from_the_slot_that_it_is_a_part_of() {
    let slots = |desk: &mut Desk| -> Vec<(u64, u32, bool)> {
        let advert = desk.advertise(Time::ZERO);
        advert.slots.iter().map(|slot| (slot.start.micros() / 1_000_000, slot.procs, slot.extensible)).collect()
    };
    let between_others = (0, 2, false);
    let mut desk = desk(5, PlanningMode::Exact, "slotlist");
    desk.submit(Time::ZERO, request(0, 2, 3)).unwrap();
    desk.submit(Time::ZERO, request(1, 4, 1)).unwrap();
    let version = desk.advertise(Time::ZERO).version;
    assert_eq!(slots(&mut desk), [between_others, (0, 1, true), (4, 4, true)]);
    // Both are parts of the second slot, though the first one has room for either.
    desk.take(Time::ZERO, version, &[(1, part(1, 0, 2)), (1, part(1, 2, 1))]).unwrap();
    let left = slots(&mut desk);
    assert_eq!((left[0], left[1]), (between_others, (3, 1, true)));
}

/// Random actions of users at a desk; the reference is a table with a cell per second.
#[test]
fn a_desk_never_promises_more_than_there_is() {
    use crate::random::SplitMix64;
    let seeds = if cfg!(unoptimised) { 15 } else { 60 };
    for (seed, mode) in (0..seeds).flat_map(|seed| [(seed, PlanningMode::Exact), (seed, PlanningMode::Rebuild)]) {
        let names = planner::planner_names();
        let planner = if mode == PlanningMode::Exact { "slotlist" } else { names[seed as usize % names.len()].name };
        let mut desk = desk(6, mode, planner);
        let mut draw = SplitMix64::new(seed);
        let mut ends: Vec<(Time, TaskId)> = Vec::new();
        let mut lengths = BTreeMap::new();
        let mut booked: Vec<BookingId> = Vec::new();
        // Jobs and bookings as they actually occupied the processors.
        let mut busy: BTreeMap<u64, (Time, Time, u32)> = BTreeMap::new();
        let mut begun: BTreeMap<BookingId, Part> = BTreeMap::new();
        for at in 0..150u64 {
            let now = second(at);
            ends.retain(|(end, job)| {
                if *end <= now {
                    desk.end_job(now, *job);
                }
                *end > now
            });
            if draw.int(0, 6) == 0 && !booked.is_empty() {
                let id = booked.swap_remove(draw.int(0, booked.len() as u64 - 1) as usize);
                if desk.cancel(now, id).is_ok()
                    && let Some(part) = begun.remove(&id)
                {
                    busy.insert(1_000_000 + id.0, (part.start, now, part.procs));
                }
            }
            if draw.int(0, 2) == 0 && at < 100 {
                let walltime = draw.int(1, 12);
                let runtime = draw.int(1, 12);
                let runtime = if mode == PlanningMode::Exact { walltime } else { runtime.min(walltime) };
                lengths.insert(task(at as u32), (runtime, draw.int(1, 6) as u32, walltime));
                let (_, nodes, walltime) = lengths[&task(at as u32)];
                desk.submit(now, request(at as u32, nodes, walltime)).unwrap();
            }
            match draw.int(0, 5) {
                0 => {
                    let quote = desk
                        .price(now, draw.int(1, 5) as u32, Span::from_secs(draw.int(1, 9)), WantedStarts::Any)
                        .unwrap();
                    assert!(quote.offers.last().is_some_and(|offer| offer.fee.is_zero()));
                    let offer = quote.offers[draw.int(0, quote.offers.len() as u64 - 1) as usize];
                    booked.push(desk.book(now, quote.id, offer.start).unwrap().booking);
                }
                1 => {
                    let advert = desk.advertise(now);
                    let free: u32 = advert.slots.iter().filter(|slot| slot.divisible).map(|slot| slot.procs).sum();
                    assert_eq!(free, 6, "in the end all is free");
                    let index = draw.int(0, advert.slots.len() as u64 - 1) as usize;
                    let slot = advert.slots[index];
                    let wanted =
                        if slot.divisible { part(1, slot.start.micros() / 1_000_000, 4) } else { slot.whole() };
                    booked.push(desk.take(now, advert.version, &[(index as u32, wanted)]).unwrap()[0].booking);
                }
                _ => {}
            }
            let mut actions = Vec::new();
            desk.run_pass(now, &mut actions);
            for action in actions {
                match action {
                    DeskAction::Start(job) => {
                        let (runtime, nodes, _) = lengths[&job];
                        ends.push((now + Span::from_secs(runtime), job));
                        busy.insert(u64::from(job.job.0), (now, now + Span::from_secs(runtime), nodes));
                    }
                    DeskAction::Begin(id) => {
                        let part = desk.bookings[&id].receipt.part;
                        assert_eq!(part.start, now);
                        begun.insert(id, part);
                    }
                    DeskAction::Over(id) => {
                        let part = begun.remove(&id).unwrap();
                        assert_eq!(part.end(), now);
                        busy.insert(1_000_000 + id.0, (part.start, now, part.procs));
                    }
                    DeskAction::Lapse(_) => unreachable!("nothing is held"),
                }
            }
            assert!(desk.wake().is_none_or(|wake| wake > now));
        }
        let counts = Counts::from_bookings(busy.into_values().filter(|(from, until, _)| from < until));
        assert!(counts.most(Time::ZERO, second(1_000)) <= 6, "seed {seed}, {planner}");
    }
}
