//! The numbers of negotiations: the part of a summary, and its metrics and lines.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::super::is_zero;
use crate::results::metric::{Better, Family, Metric, Unit};
use crate::{Summary, SummaryPart};
use hansa_sim::settings::format_counted;

pub const METRICS: &[Metric] = &[
    Metric::new(
        "booked",
        "share of the negotiated jobs that were booked",
        Family::Work,
        Unit::Share,
        Better::More,
        |summary| summary.read_part::<Bargaining>()?.share_booked(),
    ),
    Metric::new(
        "stale_claims",
        "share of the claims that sites denied because others were faster, or the offer had expired",
        Family::Knowledge,
        Unit::Share,
        Better::Less,
        |summary| summary.read_part::<Bargaining>()?.share_stale(),
    ),
    Metric::new(
        "whole",
        "share of the co-allocated jobs that got all of their sites",
        Family::Work,
        Unit::Share,
        Better::More,
        |summary| summary.read_part::<Bargaining>()?.share_whole(),
    ),
    Metric::new(
        "paid",
        "payments of users, in processor hours at price 1",
        Family::Costs,
        Unit::CoreHours,
        Better::Less,
        |summary| summary.read_part::<Bargaining>()?.users.iter().map(|user| user.cost).reduce(|a, b| a + b),
    ),
    Metric::new(
        "paid_for_nothing",
        "processor hours that were paid for and not used",
        Family::Costs,
        Unit::CoreHours,
        Better::Less,
        |summary| Some(summary.read_part::<Bargaining>()?.users.iter().map(|user| user.paid_for_nothing).sum()),
    ),
    Metric::new(
        "revoked",
        "bookings that sites revoked because nodes failed",
        Family::Failures,
        Unit::Count,
        Better::Less,
        |summary| Some(summary.read_part::<Bargaining>()?.sum(|user| user.revoked) as f64),
    ),
];

/// Results of all negotiations. `requests` is the sum of `booked`, `refused`, `stale`, `given_up` and `open`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Bargaining {
    pub requests: u64,
    pub booked: u64,
    pub refused: u64,
    pub stale: u64,
    pub given_up: u64,
    /// Jobs whose negotiation was open when the log ended.
    pub open: u64,
    /// Jobs that needed several sites at once: those that have all of them, those that have none, and those that have
    /// some, of which there are none.
    pub whole: u64,
    pub empty: u64,
    pub torn: u64,
    /// Jobs that had all or some of them, and lost them because nodes failed.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub broken: u64,
    /// Holds and bookings without a recorded end.
    pub left_held: u64,
    pub left_booked: u64,
    /// Numbers of jobs without a negotiation, as they fit no site, and of failed negotiations, by reason.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub rejected: BTreeMap<String, u64>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub causes: BTreeMap<String, u64>,
    pub users: Vec<OneUser>,
    #[serde(default)]
    pub sites: Vec<Earned>,
    /// Difference between the payments reported by users and by sites: zero.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unbalanced: f64,
}

/// Income of one site, in processor hours at price 1.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Earned {
    pub site: String,
    /// Sum of `queue`, `rents`, `fees` and `penalties`.
    pub earned: f64,
    /// Income from its queue.
    pub queue: f64,
    /// Income from bookings: at its rate, for displacing the queue with the fixed charges, and from cancellations.
    pub rents: f64,
    pub fees: f64,
    /// The fixed charges, as part of the fees.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub charges: f64,
    pub penalties: f64,
    /// Compensation to users for revoked bookings.
    pub compensation: f64,
    pub bookings: u64,
}

/// Results of one user. Areas are processor hours, times are seconds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct OneUser {
    pub user: String,
    pub strategy: String,
    pub jobs: u64,
    pub finished: u64,
    /// Mean duration from the submission of a job to its end, and to the start of its first task.
    pub makespan: Option<f64>,
    pub wait: Option<f64>,
    /// Payments for bookings with their fees, for cancellations, and for queued work.
    pub cost: f64,
    pub fees: f64,
    /// The fixed charges, as part of the fees.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub charges: f64,
    pub penalties: f64,
    /// Bookings that were not used, idle time before the work was due, and penalties.
    pub paid_for_nothing: f64,
    /// Part of `paid_for_nothing` for idle time before the work was due.
    pub padding: f64,
    pub adverts: u64,
    pub quotes: u64,
    pub bookings: u64,
    pub returned: u64,
    /// Number of bookings that users handed back before their end.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub handed_back: u64,
    /// Numbers of bookings revoked and postponed because nodes failed, and the compensation.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub revoked: u64,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub postponed: u64,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub compensation: f64,
    pub denied_stale: u64,
    pub denied: u64,
    pub held: u64,
    pub committed: u64,
    pub released: u64,
    pub expired: u64,
    /// Holds that sites dropped because nodes failed.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub broken: u64,
    pub requests: u64,
    pub booked: u64,
    pub refused: u64,
    pub stale: u64,
    pub given_up: u64,
    /// Results of wanted starts and deadlines; None if its jobs have neither, or are padded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wanted: Option<WantedTimes>,
}

/// Starts and ends of a user's jobs, against those that are wanted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WantedTimes {
    /// Numbers of jobs that started before the wanted start, at it, and after it.
    pub early: u64,
    pub punctual: u64,
    pub late: u64,
    /// Mean delay of the late ones, in seconds.
    pub delay: Option<f64>,
    /// Number of jobs that ended by their deadline; None if they have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept: Option<u64>,
}

impl SummaryPart for Bargaining {
    const NAME: &'static str = "bargaining";
}

impl Bargaining {
    pub fn add_up(&self) -> bool {
        let ends = self.booked + self.refused + self.stale + self.given_up + self.open;
        self.requests == ends && self.torn == 0 && self.unbalanced == 0.0
    }

    /// True if nodes have failed that were booked or held.
    pub fn has_suffered(&self) -> bool {
        self.sum(|user| user.revoked + user.postponed + user.broken) > 0
    }

    pub fn sum(&self, of: fn(&OneUser) -> u64) -> u64 {
        self.users.iter().map(of).sum()
    }

    /// Income of all sites together.
    pub fn all_sites(&self) -> Earned {
        let sum = |of: fn(&Earned) -> f64| self.sites.iter().map(of).sum();
        Earned {
            site: String::new(),
            earned: sum(|site| site.earned),
            queue: sum(|site| site.queue),
            rents: sum(|site| site.rents),
            fees: sum(|site| site.fees),
            charges: sum(|site| site.charges),
            penalties: sum(|site| site.penalties),
            compensation: sum(|site| site.compensation),
            bookings: self.sites.iter().map(|site| site.bookings).sum(),
        }
    }

    /// The outcome of the requests in words.
    pub fn outcome(&self) -> String {
        let Bargaining { requests, booked, refused, stale, given_up, open, .. } = self;
        let open = if *open > 0 { format!(", {open} still open") } else { String::new() };
        format!(
            "{}: {booked} booked, {refused} refused, {stale} lost to stale claims, {given_up} given \
             up{open}",
            format_counted(*requests, "request")
        )
    }

    /// Number of stale claims in words; some of them were repeated in time.
    pub fn stale_claims(&self) -> Option<String> {
        let (stale, claims) = self.claims();
        (stale > 0).then(|| format!("{stale} of {claims} claims denied as stale"))
    }

    /// Claims denied as stale, and all claims.
    pub fn claims(&self) -> (u64, u64) {
        (self.sum(|user| user.denied_stale), self.sum(|user| user.bookings + user.denied))
    }

    pub fn share_booked(&self) -> Option<f64> {
        share(self.booked, self.requests)
    }

    pub fn share_stale(&self) -> Option<f64> {
        let (stale, claims) = self.claims();
        share(stale, claims)
    }

    pub fn share_whole(&self) -> Option<f64> {
        share(self.whole, self.whole + self.empty + self.broken + self.torn)
    }
}

fn share(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

pub fn lines(summary: &Summary) -> Vec<(&'static str, String)> {
    let Some(all) = summary.read_part::<Bargaining>().filter(|all| !all.users.is_empty()) else { return Vec::new() };
    let mut lines = vec![("bargains", all.outcome())];
    lines.extend(all.stale_claims().map(|text| ("", text)));
    if all.whole + all.empty + all.torn + all.broken > 0 {
        let broken = if all.broken > 0 { format!("{} broken, ", all.broken) } else { String::new() };
        let text = format!("{} whole, {broken}{} without anything, {} torn", all.whole, all.empty, all.torn);
        lines.push(("together", text));
    }
    if all.has_suffered() {
        let [revoked, postponed] =
            [|user: &OneUser| user.revoked, |user: &OneUser| user.postponed].map(|of| all.sum(of));
        let compensation: f64 = all.users.iter().map(|user| user.compensation).sum();
        let text = format!("{revoked} revoked, {postponed} postponed, {compensation:.1} core h of compensation");
        lines.push(("bookings", text));
    }
    lines.extend(
        all.rejected.iter().map(|(why, count)| ("refused", format!("{}: {why}", format_counted(*count, "job")))),
    );
    let causes = all.causes.iter().map(|(why, count)| format!("{}: {why}", format_counted(*count, "job")));
    lines.extend(label_first("not booked", causes));
    lines.extend(revenue(&all));
    if !all.add_up() {
        lines.push(("", "these do not add up: some peer has violated the protocol".to_owned()));
    }
    lines.extend(label_first("strategies", all.users.iter().take(LINES_MAX).map(OneUser::line)));
    if all.users.len() > LINES_MAX {
        lines.push(("", format!("and {} more users", all.users.len() - LINES_MAX)));
    }
    lines
}

/// Lines of which the first has a label.
fn label_first(
    label: &'static str,
    texts: impl IntoIterator<Item = String>,
) -> impl Iterator<Item = (&'static str, String)> {
    texts.into_iter().enumerate().map(move |(at, text)| (if at == 0 { label } else { "" }, text))
}

impl OneUser {
    fn line(&self) -> String {
        format!(
            "{} ({}): {} of {} finished, makespan {}, wait {}, cost {:.1} core h, {:.1} of it unused",
            self.user,
            self.strategy,
            self.finished,
            self.jobs,
            hours_text(self.makespan),
            hours_text(self.wait),
            self.cost,
            self.paid_for_nothing
        )
    }
}

fn hours_text(seconds: Option<f64>) -> String {
    seconds.map_or("–".to_owned(), |seconds| format!("{:.2} h", seconds / 3_600.0))
}

/// Income of each site and of all sites, in words.
fn revenue(all: &Bargaining) -> Vec<(&'static str, String)> {
    let each = all.sites.iter().take(LINES_MAX).map(|site| format!("{}: {}", site.site, site.words("its queue")));
    let more = all.sites.len().saturating_sub(LINES_MAX);
    let more = (more > 0).then(|| format!("and {more} more sites"));
    let total = (all.sites.len() > 1).then(|| format!("all sites: {}", all.all_sites().words("their queues")));
    label_first("revenue", each.chain(more).chain(total)).collect()
}

impl Earned {
    /// The income in words; `queue_name` is the queue or the queues that it came from.
    fn words(&self, queue_name: &str) -> String {
        let Earned { earned, queue, rents, fees, charges, penalties, compensation, .. } = self;
        let given =
            if *compensation > 0.0 { format!("; {compensation:.1} of compensation paid") } else { String::new() };
        let fixed = if *charges > 0.0 { format!(" ({charges:.1} of them charges)") } else { String::new() };
        format!(
            "{earned:.1} core h: {queue:.1} for {queue_name}, {rents:.1} rent, {fees:.1} fees{fixed}, {penalties:.1} \
             penalties{given}"
        )
    }
}

/// Largest number of users, and of sites, with a line each; summaries have all of them.
const LINES_MAX: usize = 20;
