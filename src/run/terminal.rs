//! Progress of a run, in one line on the terminal.

use std::io::{self, IsTerminal, Write};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::{Verbosity, current_verbosity, err, spawn_thread};
use hansa_sim::settings::format_counted;
use hansa_sim::time::Time;

/// Time for which a task runs before a line is shown.
const PATIENCE: Duration = Duration::from_secs(2);
const REDRAW: Duration = Duration::from_millis(100);
/// Events between two reads of the clock.
const EVENTS_PER_LOOK: u64 = 256;
/// Length of time over which the event rate is measured.
const WINDOW: Duration = Duration::from_secs(1);

const CLEAR: &str = "\r\x1b[2K";

/// Progress of a run. Silent unless standard error is a terminal.
pub struct ProgressLine {
    total_jobs: Option<u64>,
    terminal: bool,
    began: Instant,
    drawn: Option<Instant>,
    events_looked: u64,
    /// Time of the last measurement of the rate, and the number of events until then.
    rate_taken: (Instant, u64),
    rate: f64,
}

impl ProgressLine {
    pub fn new(total_jobs: Option<u64>) -> ProgressLine {
        let now = Instant::now();
        ProgressLine {
            total_jobs,
            terminal: shows_progress(),
            began: now,
            drawn: None,
            events_looked: 0,
            rate_taken: (now, 0),
            rate: 0.0,
        }
    }

    /// Redraws the line if it is time. Cheap enough to be called every few hundred events. All arguments are totals so
    /// far; `done` counts jobs.
    pub fn update(&mut self, now: Time, done: u64, events: u64) {
        if !self.terminal || events < self.events_looked + EVENTS_PER_LOOK {
            return;
        }
        self.events_looked = events;
        let clock = Instant::now();
        let recently = self.drawn.is_some_and(|drawn| clock.duration_since(drawn) < REDRAW);
        if recently || clock.duration_since(self.began) < PATIENCE {
            return;
        }
        let since = clock.duration_since(self.rate_taken.0);
        if since >= WINDOW {
            self.rate = (events - self.rate_taken.1) as f64 / since.as_secs_f64();
            self.rate_taken = (clock, events);
        }
        self.drawn = Some(clock);
        let line = progress_text(now, done, self.total_jobs, self.rate, clock.duration_since(self.began));
        // A line that cannot be written is no error.
        let _ = write!(io::stderr(), "{CLEAR}{line}");
    }

    /// Removes the line, so that other output can follow.
    pub fn clear(&mut self) {
        if self.drawn.take().is_some() {
            let _ = write!(io::stderr(), "{CLEAR}");
        }
    }
}

fn shows_progress() -> bool {
    io::stderr().is_terminal() && current_verbosity() != Verbosity::Quiet
}

impl Drop for ProgressLine {
    fn drop(&mut self) {
        self.clear();
    }
}

/// Time after which the time left is reported where standard error is no terminal.
const NOTED_AFTER: Duration = Duration::from_secs(10);

/// A counter of finished items. Silent unless standard error is a terminal.
pub struct ItemCounter {
    /// Name of the items, which follows the numbers.
    what: &'static str,
    total: usize,
    /// Items done before this call.
    earlier: usize,
    terminal: bool,
    began: Instant,
    /// Time before the first line is shown.
    patience: Duration,
    drawn: bool,
    /// True if a line without a terminal is still to come.
    notes: bool,
}

impl ItemCounter {
    pub fn new(what: &'static str, total: usize, earlier: usize) -> ItemCounter {
        let began = Instant::now();
        ItemCounter {
            what,
            total,
            earlier,
            terminal: shows_progress(),
            began,
            patience: Duration::ZERO,
            drawn: false,
            notes: false,
        }
    }

    /// Shows nothing in the first seconds.
    pub fn with_patience(mut self) -> ItemCounter {
        self.patience = PATIENCE;
        self
    }

    /// Writes one line with the time left, once that is known, where standard error is no terminal.
    pub fn with_note_line(mut self) -> ItemCounter {
        self.notes = !self.terminal;
        self
    }

    pub fn update(&mut self, done: usize) {
        if self.notes && self.began.elapsed() >= NOTED_AFTER && done < self.total {
            self.notes = false;
            err::note(&count_line(self.what, done, self.earlier, self.total, self.began.elapsed()));
        }
        if self.terminal && self.began.elapsed() >= self.patience {
            self.drawn = true;
            let line = count_line(self.what, done, self.earlier, self.total, self.began.elapsed());
            let _ = write!(io::stderr(), "{CLEAR}{line}");
        }
    }

    pub fn clear(&mut self) {
        if std::mem::take(&mut self.drawn) {
            let _ = write!(io::stderr(), "{CLEAR}");
        }
    }
}

impl Drop for ItemCounter {
    fn drop(&mut self) {
        self.clear();
    }
}

/// A line with the time that a task has taken so far, from two seconds on, for tasks that are not counted. Silent
/// unless standard error is a terminal.
pub struct Activity {
    /// Set at the end.
    over: Arc<(Mutex<bool>, Condvar)>,
    drawing: Option<JoinHandle<()>>,
}

impl Activity {
    pub fn new(what: String) -> Activity {
        if shows_progress() { Activity::on_screen(io::stderr(), what, PATIENCE) } else { Activity::hidden() }
    }

    fn hidden() -> Activity {
        Activity { over: Arc::default(), drawing: None }
    }

    fn on_screen(mut screen: impl Write + Send + 'static, what: String, patience: Duration) -> Activity {
        let over: Arc<(Mutex<bool>, Condvar)> = Arc::default();
        let shared = over.clone();
        let drawing = spawn_thread("activity", move || {
            let began = Instant::now();
            let (lock, changed) = &*shared;
            let mut is_over = await_change(patience, changed, lock);
            if is_over {
                return;
            }
            while !is_over {
                let _ = write!(screen, "{CLEAR}{what}  {}", clock_text(began.elapsed().as_secs_f64()))
                    .and_then(|()| screen.flush());
                is_over = await_change(REDRAW, changed, lock);
            }
            let _ = write!(screen, "{CLEAR}").and_then(|()| screen.flush());
        });
        // Without a thread there is no line, but the task goes on.
        Activity { over, drawing: drawing.ok() }
    }
}

fn await_change(for_long: Duration, changed: &Condvar, lock: &Mutex<bool>) -> bool {
    let over = lock.lock().unwrap_or_else(PoisonError::into_inner);
    let waited = changed.wait_timeout_while(over, for_long, |over| !*over);
    *waited.unwrap_or_else(PoisonError::into_inner).0
}

impl Drop for Activity {
    fn drop(&mut self) {
        let (lock, changed) = &*self.over;
        *lock.lock().unwrap_or_else(PoisonError::into_inner) = true;
        changed.notify_all();
        if let Some(drawing) = self.drawing.take() {
            let _ = drawing.join();
        }
    }
}

/// A line on finished items. Only those done by this call count for the estimated time.
fn count_line(what: &str, done: usize, earlier: usize, total: usize, elapsed: Duration) -> String {
    let now = done.saturating_sub(earlier);
    let eta = if now > 0 {
        let left = elapsed.as_secs_f64() / now as f64 * (total - done) as f64;
        format!("  ETA {}", clock_text(left))
    } else {
        String::new()
    };
    format!("{done}/{total} {what} ({} %)  {}{eta}", done * 100 / total.max(1), clock_text(elapsed.as_secs_f64()))
}

fn progress_text(now: Time, done: u64, total: Option<u64>, rate: f64, elapsed: Duration) -> String {
    // Fractions of seconds would flicker.
    let now = Time::from_micros(now.micros() / 1_000_000 * 1_000_000);
    let total = total.filter(|total| *total > 0);
    let jobs = total
        .map_or_else(|| format_counted(done, "job"), |total| format!("{done}/{total} jobs ({} %)", done * 100 / total));
    let left = total.filter(|_| done > 0).map(|total| {
        let left = elapsed.as_secs_f64() / done as f64 * total.saturating_sub(done) as f64;
        format!("  ETA {}", clock_text(left))
    });
    let rate = if rate >= 1e4 { format!("{:.0} k", rate / 1e3) } else { format!("{rate:.0}") };
    format!("virtual {now}  {jobs}  {rate} events/s{}", left.unwrap_or_default())
}

fn clock_text(seconds: f64) -> String {
    let seconds = seconds.round() as u64;
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3600 => format!("{}:{:02} min", seconds / 60, seconds % 60),
        _ => format!("{}:{:02} h", seconds / 3600, seconds / 60 % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_reads_well() {
        let now = Time::from_micros(90_061_512_345);
        let shared = |done, total, rate, elapsed| progress_text(now, done, total, rate, Duration::from_secs(elapsed));
        assert_eq!(
            shared(2_500, Some(10_000), 812_345.6, 20),
            "virtual 1d 01:01:01  2500/10000 jobs (25 %)  812 k events/s  ETA 1:00 min"
        );
        assert_eq!(shared(0, Some(10), 7.0, 3), "virtual 1d 01:01:01  0/10 jobs (0 %)  7 events/s");
        assert_eq!(shared(5, None, 9_999.0, 3), "virtual 1d 01:01:01  5 jobs  9999 events/s");
    }

    #[test]
    fn the_count_reads_well() {
        assert_eq!(count_line("runs", 30, 10, 110, Duration::from_secs(20)), "30/110 runs (27 %)  20 s  ETA 1:20 min");
        assert_eq!(count_line("runs", 10, 10, 110, Duration::from_secs(3)), "10/110 runs (9 %)  3 s");
    }

    /// A screen that stores its content.
    #[derive(Clone, Default)]
    struct Screen(Arc<Mutex<Vec<u8>>>);

    impl Write for Screen {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl Screen {
        fn text(&self) -> String {
            String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
        }
    }

    #[test]
    fn a_task_is_told_once_it_takes_long_and_leaves_no_line() {
        let screen = Screen::default();
        let activity = Activity::on_screen(screen.clone(), "writing x.swf".to_owned(), Duration::ZERO);
        while screen.text().is_empty() {
            std::thread::yield_now();
        }
        drop(activity);
        let text = screen.text();
        assert!(text.starts_with(&format!("{CLEAR}writing x.swf  0 s")) && text.ends_with(CLEAR), "{text:?}");

        let screen = Screen::default();
        drop(Activity::on_screen(screen.clone(), "writing x.swf".to_owned(), PATIENCE));
        assert_eq!(screen.text(), "");
    }

    #[test]
    fn silent_where_nobody_watches() {
        let mut progress = ProgressLine { terminal: false, ..ProgressLine::new(Some(1)) };
        progress.update(Time::ZERO, 1, 1_000_000);
        assert!(progress.drawn.is_none());
    }
}
