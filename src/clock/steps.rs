//! The controller's side: moves the clock once all threads block, and wakes one sleeper.

use std::sync::atomic::Ordering::SeqCst;

use super::state::{ASLEEP, AWAKE, Next, ON_DATA, PRESUMED, Page};

/// State of a thread, as the operating system reports it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    /// It blocks in the kernel, and time does not wake it.
    Blocks,
    /// It runs, or may run at any moment.
    Runs,
    /// The thread has ended.
    Gone,
}

/// Operations of a step on the processes under the clock.
pub trait World {
    /// Lets all threads run that are ready, until they block. False if the system does not offer that.
    fn settle(&mut self, page: &Page) -> bool;
    /// Looks at the thread in a slot.
    fn inspect_thread(&mut self, page: &Page, slot: usize) -> Look;
    /// Wakes the thread in a slot whose sleep has been ended.
    fn wake(&mut self, page: &Page, slot: usize);
    /// True if the process that a timer belongs to exists.
    fn is_owned(&mut self, page: &Page, timer: usize) -> bool;
    /// Counts an expiry of a timer in its eventfd, or sends its signal.
    fn expire_timer(&mut self, page: &Page, timer: usize);
    /// True if something has happened for which the clock is to stand still. All threads block then.
    fn is_to_stop(&mut self) -> bool {
        false
    }
    /// Looks at the threads without a slot. False if one of them may run.
    fn strangers_block(&mut self, page: &Page) -> bool;
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// A thread is awake.
    Busy,
    /// All are marked asleep, but one of them has been woken by data, or does not block yet.
    NotYet,
    /// All block, and nothing has a deadline.
    Idle,
    /// The next deadline is beyond the end of the clock.
    Over,
    /// All block, and something has happened for which the clock is to stand still.
    Stopped,
    /// The clock has moved to the deadline of this sleeper or timer.
    Done(Next),
}

/// Sleepers that a step has looked at before it moves the clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LookedAt {
    None,
    /// Sleepers that wait for data in the kernel.
    Data,
    All,
}

/// Moves the clock.
#[derive(Debug)]
pub struct Stepper {
    /// Virtual time at which the clock ends, in ns.
    pub until: u64,
    /// Value of `stirred` at the last step. If it differs now, sleepers on futexes may have been woken since.
    stirred: u32,
    /// True if the next step looks at all threads, as signals or ends of processes may have woken any.
    thorough: bool,
    /// Steps until all threads are looked at although they take turns.
    until_look: u32,
    /// True if each turn is checked by a look at all threads.
    pub is_judged: bool,
    /// Looks at a thread that was ready although all had had their turns.
    pub misjudged: u64,
    pub steps: u64,
}

/// Steps between two looks at all threads if they take turns: the looks find slots of threads that were killed.
const LOOK_EVERY: u32 = 1024;

impl Stepper {
    pub fn new(until: u64) -> Stepper {
        Stepper { until, stirred: 0, thorough: true, until_look: 0, is_judged: false, misjudged: 0, steps: 0 }
    }

    /// Makes the next step look at all threads.
    pub fn look_at_all(&mut self) {
        self.thorough = true;
    }

    /// Moves the clock to the next deadline, if all threads block. O(slots in use), and if threads do not take turns, a
    /// look at each thread that data may wake.
    pub fn step(&mut self, page: &Page, world: &mut impl World) -> Step {
        let activity = page.activity.load(SeqCst);
        let stirred = page.stirred.load(SeqCst);
        let are_marked = page.all_marked_asleep();
        if !are_marked && !page.all_asleep() {
            return Step::Busy;
        }
        let is_thorough = self.thorough || stirred != self.stirred;
        // A thread that data have woken has had its turn then: it has marked that it is awake, which `activity` shows
        // even if it sleeps again. Threads that are presumed to block mark nothing.
        if self.until_look > 0 && are_marked && world.settle(page) {
            if page.activity.load(SeqCst) != activity {
                return Step::NotYet;
            }
            if self.is_judged {
                self.misjudged += count_ready(page, world);
            }
            self.until_look -= 1;
            return self.advance_clock(page, world, LookedAt::None);
        }
        // A thread that runs may wake one that has been looked at, and sleep before it is looked at itself. If it marks
        // its sleeps, `activity` shows it; threads that are presumed to block do not, so they are looked at first, and
        // again.
        for looks_at in [PRESUMED, PRESUMED, ASLEEP] {
            for slot in 0..page.used_slots() {
                let is_due = match page.state(slot) {
                    AWAKE.. => return Step::Busy,
                    ASLEEP if looks_at == ASLEEP => is_thorough || page.slots[slot].kind.load(SeqCst) == ON_DATA,
                    state => state == looks_at,
                };
                match is_due.then(|| world.inspect_thread(page, slot)) {
                    None | Some(Look::Blocks) => {}
                    Some(Look::Runs) => return Step::NotYet,
                    Some(Look::Gone) => {
                        self.free_gone(page, slot);
                        return Step::NotYet;
                    }
                }
            }
        }
        if !world.strangers_block(page)
            || !page.all_asleep()
            || page.activity.load(SeqCst) != activity
            || page.stirred.load(SeqCst) != stirred
        {
            return Step::NotYet;
        }
        self.stirred = stirred;
        self.thorough = false;
        self.until_look = LOOK_EVERY;
        self.advance_clock(page, world, if is_thorough { LookedAt::All } else { LookedAt::Data })
    }

    fn advance_clock(&mut self, page: &Page, world: &mut impl World, looked: LookedAt) -> Step {
        if world.is_to_stop() {
            return Step::Stopped;
        }
        loop {
            let Some((deadline, next)) = page.earliest_deadline() else { return Step::Idle };
            if deadline > self.until {
                page.advance(self.until);
                return Step::Over;
            }
            match next {
                Next::Slot(slot) => {
                    let is_seen = match looked {
                        LookedAt::All => true,
                        LookedAt::Data => page.slots[slot].kind.load(SeqCst) == ON_DATA,
                        LookedAt::None => false,
                    };
                    let look = if is_seen { Look::Blocks } else { world.inspect_thread(page, slot) };
                    match look {
                        Look::Blocks => {}
                        // A signal has woken it, perhaps to end it.
                        Look::Runs => return Step::NotYet,
                        Look::Gone => {
                            self.free_gone(page, slot);
                            return Step::NotYet;
                        }
                    }
                    page.advance(deadline);
                    if !page.release(slot) {
                        return Step::NotYet;
                    }
                    world.wake(page, slot);
                }
                Next::Timer(timer) => {
                    if !world.is_owned(page, timer) {
                        page.free_timer(timer);
                        continue;
                    }
                    page.advance(deadline);
                    page.expire_timer(timer);
                    world.expire_timer(page, timer);
                    self.thorough = true;
                }
            }
            self.steps += 1;
            return Step::Done(next);
        }
    }

    /// Frees the slot of a thread that is gone. Its end may have woken others.
    pub fn free_gone(&mut self, page: &Page, slot: usize) {
        self.thorough = true;
        let process = page.slots[slot].process.load(SeqCst);
        page.free_slot(slot);
        page.free_timers_of(process);
    }
}

/// Sleepers that are ready, by a look at each.
fn count_ready(page: &Page, world: &mut impl World) -> u64 {
    let sleepers = (0..page.used_slots()).filter(|&slot| page.state(slot) == ASLEEP);
    sleepers.filter(|&slot| world.inspect_thread(page, slot) == Look::Runs).count() as u64
}
