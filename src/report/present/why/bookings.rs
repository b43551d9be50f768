//! The negotiation for a job: claims that sites denied, bookings that start late, and the end of it.

use serde::Serialize;

use super::lines::{StoryLines, moment_words};
use super::trail::{ClaimOutcome, JobTrail};
use crate::Tally;
use hansa_sim::grid::JobId;
use hansa_sim::numerals::{format_count, format_counted, format_span};
use hansa_sim::protocol::{Bargain, Refusal};

/// Claims that are printed: the last ones.
const SHOWN: usize = 8;

/// Times are in seconds from the start of the run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BookingStory {
    pub submitted: f64,
    pub claims: Vec<ClaimStory>,
    /// End of the negotiation: `booked`, `refused`, `stale` or `given_up`. None if it is not over.
    pub end: Option<&'static str>,
    pub ended: Option<f64>,
    /// Reason if nothing was booked, as far as the user knows.
    pub reason: Option<&'static str>,
}

/// A claim of processors, and the answer of the site.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ClaimStory {
    pub answered: f64,
    pub site: String,
    /// Reason if it was denied: `stale`, `no_room`, `bad_subslot` or `unfit`.
    pub denied: Option<&'static str>,
    /// Booked processors, start and duration; None if the claim was denied.
    pub processors: Option<u32>,
    pub start: Option<f64>,
    pub seconds: Option<f64>,
    /// Seconds from the submission of the job to the booked start.
    pub after: Option<f64>,
}

impl BookingStory {
    /// None if no site has answered a claim, and the user has reported no end.
    pub(super) fn of(tally: &Tally, trail: &JobTrail, job: JobId) -> Option<BookingStory> {
        let row = tally.jobs.get(&job)?;
        let submitted = row.job.arrive;
        let mut claims = Vec::new();
        for claim in &trail.claims {
            let mut story = ClaimStory {
                answered: claim.time.micros() as f64 / 1e6,
                site: tally.names.of_actor(claim.site),
                denied: None,
                processors: None,
                start: None,
                seconds: None,
                after: None,
            };
            match claim.outcome {
                ClaimOutcome::Denied(why) => story.denied = Some(why.word()),
                ClaimOutcome::Booked(receipt) => {
                    let part = receipt.part;
                    story.processors = Some(part.procs);
                    story.start = Some(part.start.micros() as f64 / 1e6);
                    story.seconds = Some(part.span.micros() as f64 / 1e6);
                    story.after = Some(part.start.since(submitted).micros() as f64 / 1e6);
                }
            }
            claims.push(story);
        }
        (!claims.is_empty() || trail.end.is_some()).then(|| BookingStory {
            submitted: submitted.micros() as f64 / 1e6,
            claims,
            end: trail.end.map(|(_, end, _)| end.word()),
            ended: trail.end.map(|(time, ..)| time.micros() as f64 / 1e6),
            reason: trail.end.and_then(|(_, _, why)| why).map(|why| why.word()),
        })
    }

    pub(super) fn add_lines(&self, lines: &mut StoryLines) {
        let denied = self.claims.iter().filter(|claim| claim.denied.is_some()).count() as u64;
        let booked = self.claims.len() as u64 - denied;
        lines.add("claims", format!("{} booked, {denied} denied", format_count(booked)));
        let shown = self.claims.len().min(SHOWN);
        for claim in &self.claims[self.claims.len() - shown..] {
            lines.continue_line(claim.words());
        }
        match (self.end, self.ended) {
            (Some(end), Some(ended)) => {
                let after = format_span(ended - self.submitted);
                let reason = self.reason.map_or(String::new(), |why| format!(": {why}"));
                lines.add(
                    "negotiation",
                    format!("{} at {}, after {after}{reason}", end_words(end), moment_words(ended)),
                );
            }
            _ => lines.add("negotiation", "not over when the log ended"),
        }
    }
}

impl ClaimStory {
    fn words(&self) -> String {
        let ClaimStory { site, .. } = self;
        let answered = moment_words(self.answered);
        match (self.processors, self.start, self.seconds, self.after) {
            (Some(processors), Some(start), Some(seconds), Some(after)) => format!(
                "{answered}: {site} booked {} from {} on for {}, {} after the submission",
                format_counted(processors.into(), "processor"),
                moment_words(start),
                format_span(seconds),
                format_span(after)
            ),
            _ => format!("{answered}: {site} denied a claim: {}", denial_words(self.denied.unwrap_or_default())),
        }
    }
}

fn denial_words(word: &str) -> &'static str {
    match Refusal::ALL.iter().find(|(name, ..)| *name == word).map(|(_, refusal, _)| *refusal) {
        Some(Refusal::Stale) => "it had been valid a little earlier",
        Some(Refusal::NoRoom) => "the processors are taken",
        Some(Refusal::BadSubslot) => "it was not part of a slot that may be taken",
        Some(Refusal::Unfit) | None => "it was invalid, or the site is too small",
    }
}

fn end_words(word: &str) -> &'static str {
    match Bargain::ALL.iter().find(|(name, ..)| *name == word).map(|(_, end, _)| *end) {
        Some(Bargain::Booked) => "all booked",
        Some(Bargain::Refused) => "refused by all sites",
        Some(Bargain::Stale) => "in vain, as every attempt was outdated",
        Some(Bargain::GivenUp) | None => "given up",
    }
}
