//! Threads of a make-believe system under the clock, one instruction at a time in an order drawn from seeds.

use std::path::PathBuf;
use std::sync::atomic::Ordering::SeqCst;

use super::processes::{Processes, UNTAKEN};
use super::state::{ASLEEP, AWAKE, BORN, FREE, MAGIC, NEVER, Next, ON_DATA, ON_FUTEX, Page, SLOTS};
use super::steps::{Look, Step, Stepper, World};
use hansa_sim::random::SplitMix64;

/// A page of zeros, as a fresh file is one.
fn page_of_zeros() -> Box<Page> {
    // SAFETY: all of a page is atomic numbers, for which zeros are valid. It is too large for the stack of a test.
    let page = unsafe { Box::<Page>::new_zeroed().assume_init() };
    page.magic.store(MAGIC, SeqCst);
    page
}

#[derive(Clone, Debug)]
enum Act {
    Sleep(u64),
    /// Waits for a message, with a time limit.
    Receive(Option<u64>),
    Send(usize),
    /// Begins another thread, which runs the script with this number.
    Begin(usize),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum At {
    Next,
    /// It has reserved a slot for another thread.
    Reserved(usize),
    /// It is marked asleep until a time and has not rung yet.
    Marked(u64),
    Rung(u64),
    Blocked(u64),
    /// It has come back from the kernel, and is not marked awake yet.
    Back(u64),
    Over,
}

#[derive(Debug)]
struct Thread {
    slot: usize,
    script: Vec<Act>,
    done: usize,
    at: At,
    before: Option<super::state::Before>,
    exists: bool,
    /// Times and outcomes, as the thread sees them.
    log: Vec<(u64, &'static str)>,
}

struct System {
    threads: Vec<Option<Thread>>,
    scripts: Vec<Vec<Act>>,
    /// Messages that no thread has taken yet, by receiver.
    messages: Vec<u32>,
    chance: SplitMix64,
    is_rung: bool,
    /// Reports that all threads block, without a look.
    is_blind: bool,
    /// Each thread runs until it blocks if the controller lets it.
    takes_turns: bool,
    looks: u32,
    /// The clock moved although a thread could run.
    overtaken: u32,
    /// The clock is to stand still.
    is_to_stop: bool,
}

impl System {
    fn new(page: &Page, scripts: Vec<Vec<Act>>, seed: u64) -> System {
        let threads = (0..scripts.len()).map(|_| None).collect();
        let chance = SplitMix64::new(seed);
        let messages = vec![0; scripts.len()];
        let mut system = System {
            threads,
            scripts,
            messages,
            chance,
            is_rung: false,
            is_blind: false,
            takes_turns: false,
            looks: 0,
            overtaken: 0,
            is_to_stop: false,
        };
        let slot = page.reserve(None, 1).unwrap();
        system.begin(page, 0, slot);
        system
    }

    fn begin(&mut self, page: &Page, number: usize, slot: usize) {
        page.adopt(slot, 1 + number as u32, 1 + number as u32);
        let script = self.scripts[number].clone();
        let log = Vec::new();
        let at = At::Next;
        self.threads[number] = Some(Thread { slot, script, done: 0, at, before: None, exists: true, log });
    }

    fn can_run(&self, number: usize) -> bool {
        let Some(thread) = &self.threads[number] else { return false };
        thread.exists && !matches!(thread.at, At::Blocked(_) | At::Over)
    }

    /// One instruction of a thread.
    fn run(&mut self, page: &Page, number: usize) {
        let mut thread = self.threads[number].take().unwrap();
        let act = thread.script.get(thread.done).cloned();
        let slot = thread.slot;
        let receives = matches!(act, Some(Act::Receive(_)));
        thread.at = match (thread.at, act) {
            (At::Next, None) => {
                page.mark_ending(slot);
                thread.exists = false;
                At::Over
            }
            (At::Next, Some(Act::Sleep(time))) => {
                let deadline = page.now() + time;
                thread.before = Some(page.sleep(slot, deadline, ON_FUTEX));
                At::Marked(deadline)
            }
            (At::Next, Some(Act::Receive(_))) if self.messages[number] > 0 => {
                self.messages[number] -= 1;
                thread.log.push((page.now(), "received"));
                thread.done += 1;
                At::Next
            }
            (At::Next, Some(Act::Receive(limit))) => {
                let deadline = limit.map_or(NEVER, |limit| page.now() + limit);
                thread.before = Some(page.sleep(slot, deadline, ON_DATA));
                At::Marked(deadline)
            }
            (At::Next, Some(Act::Send(to))) => {
                self.messages[to] += 1;
                if let Some(other) = &mut self.threads[to] {
                    let other_receives = matches!(other.script.get(other.done), Some(Act::Receive(_)));
                    if let At::Blocked(deadline) = other.at
                        && other_receives
                    {
                        other.at = At::Back(deadline);
                    }
                }
                thread.done += 1;
                At::Next
            }
            (At::Next, Some(Act::Begin(other))) => {
                let reserved = page.reserve(Some(slot), thread.slot as u32).unwrap();
                let _ = other;
                At::Reserved(reserved)
            }
            (At::Reserved(reserved), Some(Act::Begin(other))) => {
                self.begin(page, other, reserved);
                thread.done += 1;
                At::Next
            }
            (At::Marked(deadline), _) => {
                self.is_rung |= page.all_asleep();
                At::Rung(deadline)
            }
            (At::Rung(deadline), _) => {
                let is_woken = page.slots[slot].word.load(SeqCst) == 1 || receives && self.messages[number] > 0;
                if is_woken { At::Back(deadline) } else { At::Blocked(deadline) }
            }
            (At::Back(deadline), _) => {
                page.wake(slot, thread.before.take().unwrap());
                let now = page.now();
                assert!(now <= deadline, "thread {number} slept until {now} instead of {deadline}");
                if receives && self.messages[number] > 0 {
                    // It is taken by the next instruction.
                } else {
                    assert_eq!(now, deadline, "thread {number} was woken by nothing");
                    thread.log.push((now, if receives { "nothing came" } else { "slept" }));
                    thread.done += 1;
                }
                At::Next
            }
            (at, act) => panic!("{at:?} {act:?}"),
        };
        self.threads[number] = Some(thread);
    }

    fn runnable(&self) -> Vec<usize> {
        (0..self.threads.len()).filter(|&number| self.can_run(number)).collect()
    }

    fn run_any(&mut self, page: &Page) -> bool {
        let runnable = self.runnable();
        if runnable.is_empty() {
            return false;
        }
        let chosen = runnable[self.chance.int(0, runnable.len() as u64 - 1) as usize];
        self.run(page, chosen);
        true
    }

    fn in_slot(&self, page: &Page, slot: usize) -> Option<usize> {
        (page.slots[slot].process.load(SeqCst) as usize).checked_sub(1)
    }

    /// Frees the slots of threads that are gone and hold the clock, as the controller does when it has waited for a
    /// while.
    fn bury(&mut self, page: &Page, stepper: &mut Stepper) {
        for slot in (0..page.used_slots()).filter(|&slot| page.state(slot) >= AWAKE) {
            let is_gone = match self.in_slot(page, slot) {
                Some(number) => {
                    self.threads.get(number).is_some_and(|thread| thread.as_ref().is_some_and(|thread| !thread.exists))
                }
                // Reserved for the child of a thread that is gone.
                None => !self.threads.iter().flatten().any(|thread| thread.exists && thread.at == At::Reserved(slot)),
            };
            if is_gone {
                stepper.free_gone(page, slot);
            }
        }
    }
}

impl World for System {
    fn settle(&mut self, page: &Page) -> bool {
        if !self.takes_turns {
            return false;
        }
        for number in self.runnable() {
            while self.can_run(number) {
                self.run(page, number);
            }
        }
        true
    }

    fn inspect_thread(&mut self, page: &Page, slot: usize) -> Look {
        self.looks += 1;
        // Others run on while the controller looks at one after the other.
        while self.chance.int(0, 2) == 0 && self.run_any(page) {}
        if self.is_blind {
            return Look::Blocks;
        }
        let thread = self.in_slot(page, slot).and_then(|number| self.threads.get(number)?.as_ref());
        if page.slots[slot].process.load(SeqCst) >= 100 {
            return Look::Blocks;
        }
        match thread {
            Some(thread) if !thread.exists => Look::Gone,
            Some(Thread { at: At::Blocked(_), .. }) => Look::Blocks,
            _ => Look::Runs,
        }
    }

    fn wake(&mut self, page: &Page, slot: usize) {
        // A sleeper that only time can wake may still be on its way into the kernel.
        let is_settled = |thread: &Thread| {
            let is_sleep = matches!(thread.script.get(thread.done), Some(Act::Sleep(_)));
            matches!(thread.at, At::Blocked(_)) || is_sleep && matches!(thread.at, At::Marked(_) | At::Rung(_))
        };
        let running = self.threads.iter().flatten().filter(|thread| thread.exists && !is_settled(thread)).count();
        self.overtaken += running as u32;
        let number = self.in_slot(page, slot).unwrap();
        if let Some(thread) = &mut self.threads[number]
            && let At::Blocked(deadline) = thread.at
        {
            thread.at = At::Back(deadline);
        }
    }

    fn is_owned(&mut self, _: &Page, _: usize) -> bool {
        true
    }

    fn expire_timer(&mut self, _: &Page, _: usize) {}

    fn is_to_stop(&mut self) -> bool {
        self.is_to_stop
    }

    fn strangers_block(&mut self, _: &Page) -> bool {
        true
    }
}

/// Scripts of some threads, of which the first begins the others.
fn scripts(seed: u64) -> Vec<Vec<Act>> {
    let mut chance = SplitMix64::new(seed);
    let many = chance.int(2, 6) as usize;
    let mut all: Vec<Vec<Act>> = Vec::new();
    for number in 0..many {
        let mut script = Vec::new();
        if number == 0 {
            script.extend((1..many).map(Act::Begin));
        }
        for _ in 0..chance.int(1, 8) {
            script.push(match chance.int(0, 3) {
                0 | 1 => Act::Sleep(chance.int(0, 4)),
                // One receiver each, so that no two race for a message.
                2 => Act::Receive(Some(chance.int(1, 6))),
                _ => Act::Send(chance.int(0, many as u64 - 1) as usize),
            });
        }
        all.push(script);
    }
    // A message that no receiver takes, or a receiver without a sender, is part of it.
    if chance.int(0, 3) == 0 {
        all[many - 1].push(Act::Receive(None));
    }
    all
}

/// Runs until nothing can go on. `kill_at` is the instruction before which a thread is killed.
fn run(scripts: Vec<Vec<Act>>, seed: u64, kill_at: Option<u64>, is_blind: bool) -> (System, Box<Page>, u64) {
    run_under(scripts, seed, kill_at, |system| system.is_blind = is_blind)
}

/// Runs in a system that is set up in some way.
fn run_under(
    scripts: Vec<Vec<Act>>,
    seed: u64,
    kill_at: Option<u64>,
    set_up: impl Fn(&mut System),
) -> (System, Box<Page>, u64) {
    let page = page_of_zeros();
    let mut system = System::new(&page, scripts, seed);
    set_up(&mut system);
    let mut stepper = Stepper::new(NEVER - 1);
    for instruction in 0.. {
        assert!(instruction < 100_000, "no end");
        if kill_at == Some(instruction) {
            let living: Vec<usize> = (0..system.threads.len())
                .filter(|&number| system.threads[number].as_ref().is_some_and(|thread| thread.exists))
                .collect();
            if let Some(&victim) = living.get(seed as usize % living.len().max(1)) {
                system.threads[victim].as_mut().unwrap().exists = false;
            }
        }
        // The controller comes when it is rung for, and sometimes without; when nothing runs, it comes in the end.
        let is_due = std::mem::take(&mut system.is_rung) || system.chance.int(0, 9) == 0;
        if !is_due && system.run_any(&page) {
            continue;
        }
        system.bury(&page, &mut stepper);
        match stepper.step(&page, &mut system) {
            Step::Idle if system.runnable().is_empty() => break,
            Step::Over => panic!("it has no end"),
            _ => {}
        }
    }
    (system, page, stepper.steps)
}

fn logs(system: &System) -> Vec<Vec<(u64, &'static str)>> {
    system.threads.iter().map(|thread| thread.as_ref().map_or(Vec::new(), |thread| thread.log.clone())).collect()
}

const SEEDS: u64 = 400;

#[test]
fn no_order_of_instructions_changes_when_threads_wake() {
    for seed in 0..SEEDS {
        let (first, _, steps) = run(scripts(seed), seed, None, false);
        assert_eq!(first.overtaken, 0, "seed {seed}");
        for order in 1..4 {
            let (again, _, steps_again) = run(scripts(seed), seed + order * 1_000_003, None, false);
            assert_eq!(again.overtaken, 0, "seed {seed}, order {order}");
            assert_eq!((logs(&again), steps_again), (logs(&first), steps), "seed {seed}, order {order}");
        }
    }
}

#[test]
fn threads_that_take_turns_wake_as_if_each_was_looked_at() {
    let mut looks_judged = 0;
    let mut looks_in_turn = 0;
    for seed in 0..SEEDS {
        let (judged, _, steps) = run(scripts(seed), seed, None, false);
        looks_judged += judged.looks;
        for order in 0..4 {
            let (system, _, steps_in_turn) =
                run_under(scripts(seed), seed + order * 1_000_003, None, |system| system.takes_turns = true);
            assert_eq!(system.overtaken, 0, "seed {seed}, order {order}");
            assert_eq!((logs(&system), steps_in_turn), (logs(&judged), steps), "seed {seed}, order {order}");
            looks_in_turn += system.looks;
        }
    }
    assert!(looks_in_turn < looks_judged * 3, "{looks_in_turn} in four runs, {looks_judged} in one");
}

#[test]
fn a_step_looks_at_no_more_threads_if_more_wait_for_data() {
    let looks_of = |waiting: u32| {
        let page = page_of_zeros();
        let mut system = System::new(&page, vec![vec![Act::Sleep(1); 5000]], 1);
        system.takes_turns = true;
        for number in 0..waiting {
            let slot = page.reserve(None, 100 + number).unwrap();
            page.adopt(slot, 100 + number, 100 + number);
            page.sleep(slot, NEVER, ON_DATA);
        }
        let mut stepper = Stepper::new(NEVER - 1);
        while !matches!(stepper.step(&page, &mut system), Step::Idle) {
            system.run_any(&page);
            system.bury(&page, &mut stepper);
        }
        assert_eq!(stepper.steps, 5000);
        system.looks
    };
    let few = looks_of(8);
    let many = looks_of(1008);
    // Each is looked at once in a thousand steps.
    assert!(few >= 5000 && many < few + 10 * 1000, "{few} {many}");
}

#[test]
fn a_thread_that_is_killed_anywhere_holds_nothing_up() {
    for (seed, takes_turns) in (0..SEEDS).flat_map(|seed| [(seed, false), (seed, true)]) {
        let (system, page, _) =
            run_under(scripts(seed), seed, Some(seed % 97), |system| system.takes_turns = takes_turns);
        assert_eq!(system.overtaken, 0, "seed {seed}");
        for slot in 0..page.used_slots() {
            let waits_for_data = page.state(slot) == ASLEEP && page.deadline(slot) == NEVER;
            assert!(page.state(slot) == FREE || waits_for_data, "seed {seed}: slot {slot} is {}", page.state(slot));
        }
    }
}

#[test]
fn a_clock_that_does_not_look_overtakes_data() {
    // Shows that the tests above would see it.
    let overtakes =
        |seed: u64| std::panic::catch_unwind(|| run(scripts(seed), seed, None, true).0.overtaken > 0).unwrap_or(true);
    let quiet = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let overtaken = (0..SEEDS).filter(|&seed| overtakes(seed)).count();
    std::panic::set_hook(quiet);
    assert!(overtaken > 20, "{overtaken}");
}

#[test]
fn equal_deadlines_are_met_by_birth() {
    let page = page_of_zeros();
    let root = page.reserve(None, 1).unwrap();
    page.adopt(root, 1, 1);
    let child = page.reserve(Some(root), 1).unwrap();
    page.adopt(child, 2, 2);
    let other = page.reserve(Some(root), 1).unwrap();
    page.adopt(other, 3, 3);
    // Born last, but of the elder child.
    let grandchild = page.reserve(Some(child), 2).unwrap();
    page.adopt(grandchild, 4, 4);
    for slot in [other, grandchild, root, child] {
        page.sleep(slot, 7, ON_FUTEX);
    }
    for expected in [root, child, grandchild, other] {
        assert_eq!(page.earliest_deadline(), Some((7, Next::Slot(expected))));
        assert!(page.release(expected) && !page.release(expected));
    }
    assert_eq!(page.earliest_deadline(), None);
}

#[test]
fn a_new_image_keeps_the_slot_of_its_process() {
    let page = page_of_zeros();
    let root = page.reserve(None, 1).unwrap();
    page.adopt(root, 10, 10);
    let thread = page.reserve(Some(root), 10).unwrap();
    page.adopt(thread, 10, 11);
    let unborn = page.reserve(Some(root), 10).unwrap();
    assert_eq!(page.claim(10, 1), Some(root));
    assert_eq!((page.state(thread), page.state(unborn)), (FREE, BORN), "its other threads are gone");
    assert_eq!(page.claim(12, 10), Some(unborn), "reserved by its parent");
    assert_eq!(page.claim(13, 10), None);
}

#[test]
fn sleeps_in_handlers_of_signals_nest() {
    let page = page_of_zeros();
    let slot = page.reserve(None, 1).unwrap();
    page.adopt(slot, 1, 1);
    let outer = page.sleep(slot, 100, ON_DATA);
    let inner = page.sleep(slot, 5, ON_FUTEX);
    assert!(page.release(slot) && page.wake(slot, inner), "the clock has ended it");
    assert_eq!(page.earliest_deadline(), Some((100, Next::Slot(slot))));
    assert!(!page.wake(slot, outer), "something else has");
    assert_eq!((page.state(slot), page.deadline(slot)), (AWAKE, NEVER));
}

#[test]
fn timers_expire_once_or_again_and_again() {
    let page = page_of_zeros();
    let slot = page.reserve(None, 1).unwrap();
    page.adopt(slot, 1, 1);
    page.sleep(slot, NEVER, ON_DATA);
    let once = page.take_timer(slot, 1).unwrap();
    let often = page.take_timer(slot, 1).unwrap();
    page.arm_timer(once, 20, 0);
    page.arm_timer(often, 8, 8);
    let mut stepper = Stepper::new(30);
    let mut system = System::new(&page_of_zeros(), vec![Vec::new()], 1);
    system.is_blind = true;
    let mut times = Vec::new();
    let mut last = Step::Busy;
    while !matches!(last, Step::Over) {
        last = stepper.step(&page, &mut system);
        times.push((page.now(), last));
    }
    let done = |at, timer| (at, Step::Done(Next::Timer(timer)));
    let expected = [done(8, often), done(16, often), done(20, once), done(24, often), (30, Step::Over)];
    assert_eq!(times, expected);
    assert_eq!((page.time_left(once), page.time_left(often)), ((0, 0), (2, 8)));
}

#[test]
fn timers_end_with_their_process() {
    let page = page_of_zeros();
    let first = page.reserve(None, 1).unwrap();
    let second = page.reserve(None, 1).unwrap();
    page.adopt(first, 7, 7);
    page.adopt(second, 7, 8);
    let timer = page.take_timer(first, 7).unwrap();
    page.arm_timer(timer, 20, 0);
    let mut stepper = Stepper::new(30);
    stepper.free_gone(&page, first);
    assert_eq!(page.earliest_deadline(), Some((20, Next::Timer(timer))), "a thread is left");
    stepper.free_gone(&page, second);
    assert_eq!((page.earliest_deadline(), page.take_timer(first, 9)), (None, Some(timer)));
}

#[test]
fn a_thread_moves_the_clock_alone_only_if_nothing_is_due() {
    let page = page_of_zeros();
    page.end.store(50, SeqCst);
    let own = page.reserve(None, 1).unwrap();
    page.adopt(own, 1, 1);
    assert!(page.advance_alone(own, 5) && page.now() == 5);
    let other = page.reserve(Some(own), 1).unwrap();
    assert!(!page.advance_alone(own, 6), "a thread is being made");
    page.adopt(other, 1, 2);
    assert!(!page.advance_alone(own, 6), "a thread runs");
    page.sleep(other, 20, ON_FUTEX);
    let timer = page.take_timer(own, 1).unwrap();
    page.arm_timer(timer, 30, 0);
    assert!(page.advance_alone(own, 19) && !page.advance_alone(own, 20) && page.now() == 19);
    page.sleep(other, NEVER, ON_DATA);
    assert!(page.advance_alone(own, 29) && !page.advance_alone(own, 30));
    page.arm_timer(timer, NEVER, 0);
    let before = page.sleep(own, 40, ON_FUTEX);
    assert!(!page.advance_alone(own, 31), "it is in a handler of a signal that has ended its sleep");
    page.wake(own, before);
    assert!(page.advance_alone(own, 50) && !page.advance_alone(own, 51), "the clock ends");
}

#[test]
fn the_clock_stands_still_once_all_block_if_it_is_to_stop() {
    let page = page_of_zeros();
    let mut system = System::new(&page, vec![vec![Act::Sleep(7), Act::Sleep(7)]], 1);
    system.is_to_stop = true;
    let mut stepper = Stepper::new(NEVER - 1);
    assert_eq!(stepper.step(&page, &mut system), Step::Busy, "a thread runs");
    while system.run_any(&page) {}
    assert_eq!((stepper.step(&page, &mut system), page.now()), (Step::Stopped, 0));
    system.is_to_stop = false;
    assert!(matches!(stepper.step(&page, &mut system), Step::Done(_)));
    assert_eq!(page.now(), 7);
}

#[test]
fn there_are_only_so_many_slots() {
    let page = page_of_zeros();
    let taken = (0..).take_while(|_| page.reserve(None, 1).is_some()).count();
    assert_eq!(taken, SLOTS);
    page.free_slot(17);
    assert_eq!(page.reserve(None, 1), Some(17));
}

/// The thread that makes a child may wait for the processor for long before the child is there.
#[test]
fn a_slot_stays_reserved_for_a_child_until_its_parent_sleeps() {
    let page = page_of_zeros();
    let own = std::process::id();
    let thread = rustix::thread::gettid().as_raw_nonzero().get().unsigned_abs();
    let parent = page.reserve(None, own).unwrap();
    page.adopt(parent, own, thread);
    let child = page.reserve(Some(parent), own).unwrap();
    let mut processes = Processes::new(PathBuf::from("/no/such/library.so"), false, |_| ());
    let mut stepper = Stepper::new(NEVER);
    let mut look_twice = || {
        processes.examine_threads(&page, &mut stepper);
        std::thread::park_timeout(UNTAKEN * 2);
        processes.examine_threads(&page, &mut stepper);
        page.state(child)
    };
    assert_eq!(look_twice(), BORN);
    page.sleep(parent, NEVER, ON_FUTEX);
    assert_eq!(look_twice(), FREE);
}

/// A system with one sleeper, which is as it is told to be.
struct OneSleeper {
    look: Look,
}

impl World for OneSleeper {
    fn settle(&mut self, _: &Page) -> bool {
        true
    }

    fn inspect_thread(&mut self, _: &Page, _: usize) -> Look {
        self.look
    }

    fn wake(&mut self, _: &Page, _: usize) {}

    fn is_owned(&mut self, _: &Page, _: usize) -> bool {
        true
    }

    fn expire_timer(&mut self, _: &Page, _: usize) {}

    fn strangers_block(&mut self, _: &Page) -> bool {
        true
    }
}

/// A thread that is killed in its sleep runs until it is gone, and its end may wake others.
#[test]
fn a_sleeper_that_a_signal_has_woken_holds_the_clock() {
    let page = page_of_zeros();
    let mut stepper = Stepper::new(NEVER);
    let mut world = OneSleeper { look: Look::Runs };
    for thread in [2, 3] {
        let sleeper = page.reserve(None, thread).unwrap();
        page.adopt(sleeper, thread, thread);
        page.sleep(sleeper, u64::from(thread), ON_FUTEX);
        // The second one is met by turns.
        assert_eq!(stepper.step(&page, &mut world), Step::NotYet);
        world.look = Look::Gone;
        assert_eq!(stepper.step(&page, &mut world), Step::NotYet);
        assert_eq!((page.now(), stepper.step(&page, &mut world)), (0, Step::Idle));
        world.look = Look::Blocks;
        let other = page.reserve(None, 9).unwrap();
        page.adopt(other, 9, 9);
        page.sleep(other, 0, ON_FUTEX);
        assert!(matches!(stepper.step(&page, &mut world), Step::Done(_)));
        page.free_slot(other);
        world.look = Look::Runs;
    }
}
