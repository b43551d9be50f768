//! The reasons of a wait as lines of text.

use std::fmt::{self, Write as _};

use super::lines::{StoryLines, moment_words};
use super::wait::{Amount, Before, Free, Later, SharedRun, Why};
use hansa_sim::numerals::{format_count, format_counted, format_percent, format_span};

/// Later jobs that are named.
const NAMED: usize = 8;
/// Jobs ahead and running jobs that are named, of each.
const NAMED_BEFORE: usize = 3;

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.story_lines().fmt(f)
    }
}

impl Why {
    /// Lines of the wait: what was ahead, what was free, which jobs went first, and the start.
    pub(crate) fn story_lines(&self) -> StoryLines {
        let mut lines = StoryLines::new(self.title());
        lines.add("wanted", moment_words(self.wanted));
        if self.came > self.wanted {
            let later = format_span(self.came - self.wanted);
            lines.add("at the site", format!("{}, {later} later", moment_words(self.came)));
        }
        if let Some(booked) = self.booked {
            lines.add("booked", format!("from {} on, for which it waits", moment_words(booked)));
            let started = self.started.map_or("never".to_owned(), |started| self.start_words(started));
            lines.add("started", started);
            return lines;
        }
        self.add_arrival(&mut lines);
        if self.started == Some(self.came) {
            lines.add("started", "at once");
            self.add_shared_run(&mut lines);
            return lines;
        }
        self.add_named_before(&mut lines);
        self.add_first_from(&mut lines);
        self.add_free_cores(&mut lines);
        self.add_overtakers(&mut lines);
        self.add_start(&mut lines);
        lines
    }

    fn title(&self) -> String {
        format!(
            "job {} of {}: {} of the {} of {}, requested for {}",
            self.job,
            self.user,
            format_counted(self.cores.into(), "core"),
            format_count(self.of.into()),
            self.site,
            format_span(self.requested)
        )
    }

    fn start_words(&self, started: f64) -> String {
        format!("{}, after {}", moment_words(started), format_span(started - self.came))
    }

    /// A part of the wait in percent, in brackets; empty without a wait.
    fn share_of_wait(&self, seconds: f64) -> String {
        let wait = self.until - self.came;
        if wait > 0.0 { format!(" ({} of the wait)", format_percent(seconds / wait)) } else { String::new() }
    }

    /// Unit of sizes: several tasks may be on one node that is shared.
    fn unit(&self) -> &'static str {
        if self.free.is_some() { "core" } else { "task" }
    }

    /// Words before the size of a waiting job.
    fn waits_for(&self) -> &'static str {
        if self.free.is_some() { "for" } else { "with" }
    }

    /// Words before the size of a running job.
    fn runs_on(&self) -> &'static str {
        if self.free.is_some() { "on" } else { "with" }
    }

    fn add_arrival(&self, lines: &mut StoryLines) {
        let Amount { jobs, cores } = self.ahead;
        let running = format!(
            "{} ran {} {}",
            format_counted(self.running.jobs, "job"),
            self.runs_on(),
            format_counted(self.running.cores, self.unit())
        );
        let ahead = match jobs {
            0 => "nothing waited when it came".to_owned(),
            _ => {
                let waiting = format_counted(cores, self.unit());
                format!("{} waited {} {waiting}", format_counted(jobs, "job"), self.waits_for())
            }
        };
        lines.add("ahead", format!("{ahead}; {running}"));
    }

    fn add_named_before(&self, lines: &mut StoryLines) {
        for Before { job, cores, until } in self.waited.iter().take(NAMED_BEFORE) {
            let cores = format_counted((*cores).into(), self.unit());
            lines.continue_line(format!(
                "job {job} waited {} {cores} until {}",
                self.waits_for(),
                moment_words(*until)
            ));
        }
        for Before { job, cores, until } in self.ran.iter().take(NAMED_BEFORE) {
            let cores = format_counted((*cores).into(), self.unit());
            lines.continue_line(format!("job {job} ran {} {cores} until {}", self.runs_on(), moment_words(*until)));
        }
    }

    fn add_first_from(&self, lines: &mut StoryLines) {
        match self.first_from {
            Some(from) => {
                let after = from - self.came;
                let share = self.share_of_wait(after);
                lines.add("first from", format!("{}, after {}{share}", moment_words(from), format_span(after)));
            }
            None if self.ahead.jobs > 0 => lines.add("first from", "never: some that were ahead still waited"),
            None => {}
        }
    }

    fn add_free_cores(&self, lines: &mut StoryLines) {
        let Some(Free { most, enough_for }) = self.free else { return };
        let enough = match enough_for {
            0.0 => "never enough at a time".to_owned(),
            some => format!("enough for {}{}", format_span(some), self.share_of_wait(some)),
        };
        lines.add("free cores", format!("{} at most; {enough}", format_count(most)));
        if enough_for > 0.0 && self.ahead.jobs > 0 {
            lines.continue_line("but the policy kept them for jobs ahead, or they were reserved or down");
        }
    }

    fn add_overtakers(&self, lines: &mut StoryLines) {
        let all = self.overtaken_by.len();
        match all {
            0 => lines.add("overtaken by", "no later job"),
            _ => lines.add("overtaken by", format_counted(all as u64, "later job")),
        }
        for Later { job, cores, started, held } in self.overtaken_by.iter().take(NAMED) {
            let on = format_counted((*cores).into(), "core");
            let from = moment_words(*started);
            lines.continue_line(format!("job {job} on {on} from {from}, for {} of the wait", format_span(*held)));
        }
        if all > NAMED {
            lines.continue_line(format!("and {} more, with less core time", format_count((all - NAMED) as u64)));
        }
        let Some(free) = self.free_without_later else { return };
        let sooner = self.until - free;
        if sooner == 0.0 {
            lines.continue_line("without these, enough cores would have been free no sooner");
            return;
        }
        let run = if self.started.is_some() { "for its whole run" } else { "for its requested time" };
        let from = moment_words(free);
        let while_waiting = match self.waited.iter().filter(|before| before.until > free).count() as u64 {
            0 => String::new(),
            ahead => format!(", while {} ahead of it still waited", format_counted(ahead, "job")),
        };
        lines.continue_line(format!(
            "without these, enough cores would have been free {run} from {from} on, {} sooner{while_waiting}",
            format_span(sooner)
        ));
    }

    fn add_start(&self, lines: &mut StoryLines) {
        let Some(started) = self.started else {
            let wait = format_span(self.until - self.came);
            lines.add("started", format!("never; until {} it had waited {wait}", moment_words(self.until)));
            return;
        };
        let mut start = self.start_words(started);
        if let [first, rest @ ..] = &self.freed_by[..] {
            let _ = write!(start, ", when job {first} left its cores");
            if !rest.is_empty() {
                let _ = write!(start, " (and {})", format_counted(rest.len() as u64, "other"));
            }
        }
        lines.add("started", start);
        self.add_shared_run(lines);
    }

    /// Lines on a run with breaks, moves or shares of cores.
    fn add_shared_run(&self, lines: &mut StoryLines) {
        let Some(SharedRun { pauses, moves, losses, requeues, on_cores, paused, share }) = self.shared else { return };
        let lost = match losses {
            0 => String::new(),
            1 => ", 1 loss by a failure".to_owned(),
            many => format!(", {} losses by failures", format_count(many)),
        };
        let requeued = match requeues {
            0 => String::new(),
            times => format!(", requeued {} for other jobs", format_counted(times, "time")),
        };
        let pauses = format_counted(pauses, "pause");
        let moves = format_counted(moves, "move");
        lines.add("then", format!("{pauses}, {moves}{lost}{requeued}; {} off its cores", format_span(paused)));
        lines.add(
            "on its cores",
            format!("{}, with {} of their processors in the mean", format_span(on_cores), format_percent(share)),
        );
    }
}
