//! `report.html`: a run as one page that reads well on a screen, in the dark and on paper, with nothing to load.
//!
//! All is drawn here, as HTML with inline SVG and no script. Whatever a user may have named is escaped. Where a run is
//! too large to show each thing, things are put together, and the page says so beside them.

mod calendar;
mod chart;
mod gantt;
pub(super) mod html;
mod live;
mod old_view;
mod queues;

use std::collections::BTreeMap;
use std::fmt::Write;

use self::chart::{BOTTOM, COLOURS, Figure, Levels, Scale, Window, areas, column_at, columns, mark, plain};
use self::html::{at, bar, count, counted, escape, micros, number, percent, short, span, table};
use super::summary::work;
use super::tally::{Fate, JobRow, Standing};
use super::{Manifest, Status, Summary, SummaryFile, Tally};
use crate::catalog;
use crate::grid::JobId;
use crate::time::Time;
use crate::topology::{System, Topology, Workload};
use crate::workload::Source;
use crate::workload::rigids::Origin;

const STYLE: &str = include_str!("style.css");

/// Points of a chart over time.
const PARTS: usize = 320;
/// Rows of a table, before the rest is added up.
const ROWS_MAX: usize = 40;
const LONGEST: usize = 12;
const TOPOLOGY_MAX: usize = 40_000;
const CHART: f64 = 300.0;

/// The page of a run: its manifest and summary, the topology that the manifest holds, and the log's tally.
///
/// `fresh` is what the same run gives with a router that knows everything at once, where this one did not; `plot` is the
/// SVG of what a live run measured.
pub fn page(
    manifest: &Manifest,
    summary: &SummaryFile,
    topology: &Topology,
    tally: &Tally,
    fresh: Option<&Summary>,
    plot: Option<&str>,
) -> Vec<u8> {
    let page = Page {
        fresh,
        plot,
        manifest,
        results: &summary.results,
        summary,
        topology,
        tally,
        window: window(tally),
        tenths: tenths(tally),
    };
    page.html().into_bytes()
}

struct Page<'a> {
    manifest: &'a Manifest,
    results: &'a Summary,
    summary: &'a SummaryFile,
    topology: &'a Topology,
    tally: &'a Tally,
    fresh: Option<&'a Summary>,
    /// Of a live run: what it measured, drawn.
    plot: Option<&'a str>,
    window: Window,
    tenths: Vec<Vec<&'a JobRow>>,
}

/// From the first job's submission to the last thing that happened.
fn window(tally: &Tally) -> Window {
    let from = tally.jobs.values().map(|row| row.job.arrive).min().unwrap_or(Time::ZERO);
    Window { from, to: tally.last.max(from) }
}

/// Ten equal groups of jobs by (work, id), as the summary has them.
fn tenths(tally: &Tally) -> Vec<Vec<&JobRow>> {
    let mut rows: Vec<&JobRow> = tally.jobs.values().collect();
    rows.sort_by_key(|row| (work(row), row.job.id));
    let tenth = |tenth: usize| rows[tenth * rows.len() / 10..(tenth + 1) * rows.len() / 10].to_vec();
    (0..10).map(tenth).filter(|tenth| !tenth.is_empty()).collect()
}

/// What became of a job's value, from best to worst.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Outcome {
    InTime,
    Late,
    TooLate,
    GivenUp,
    Refused,
    Unfinished,
}

impl Outcome {
    /// Each with its colour and its words.
    const ALL: [(Outcome, &'static str, &'static str); 6] = [
        (Outcome::InTime, "f0", "in time"),
        (Outcome::Late, "f4", "late, worth less"),
        (Outcome::TooLate, "f5", "too late, worth nothing"),
        (Outcome::GivenUp, "f1", "given up after the final deadline"),
        (Outcome::Refused, "f3", "refused on arrival"),
        (Outcome::Unfinished, "f7", "unfinished when the log ended"),
    ];

    fn of(row: &JobRow) -> Option<Outcome> {
        let starved = row.starved()?;
        Some(match row.standing() {
            Standing::Removed | Standing::Killed => Outcome::GivenUp,
            Standing::Refused => Outcome::Refused,
            Standing::Unfinished => Outcome::Unfinished,
            Standing::Finished if starved => Outcome::TooLate,
            Standing::Finished if lost(row) > 0.0 => Outcome::Late,
            Standing::Finished => Outcome::InTime,
        })
    }
}

fn worth(row: &JobRow) -> f64 {
    row.job.worth.as_ref().map_or(0.0, |worth| worth.max)
}

fn lost(row: &JobRow) -> f64 {
    (worth(row) - row.value().unwrap_or(0.0)).max(0.0)
}

impl Page<'_> {
    fn html(&self) -> String {
        let name = escape(&self.topology.name);
        let mut html = format!(
            "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
             <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\
             <meta name=\"color-scheme\" content=\"light dark\"><title>{name}: a run of Hansa</title>\n\
             <style>\n{STYLE}</style></head>\n<body><main>\n<header>\n"
        );
        if let Status::Partial(why) = &self.manifest.status {
            let _ = writeln!(
                html,
                "<p class=\"partial\" role=\"note\"><strong>This run is partial:</strong> {}. What follows is what had \
                 happened until then; numbers and charts would look different at the end.</p>",
                escape(why)
            );
        }
        let _ = write!(
            html,
            "<p class=\"kicker\">A run of Hansa</p><h1>{name}</h1>\n<p class=\"lead\">{}</p>\n",
            self.lead()
        );
        let sections = [
            ("numbers", "In numbers", self.numbers()),
            ("what", "What ran", self.what_ran()),
            ("value", "Value", self.value()),
            ("reservations", "Reservations", calendar::calendars(self.tally)),
            ("queues", "Queues", queues::queues(self.tally, self.results, self.window)),
            ("view", "The price of old news", self.old_view()),
            ("live", "Real bytes beside the model", self.live()),
            ("responsiveness", "Responsiveness", self.responsiveness()),
            ("time", "Over time", self.over_time()),
            ("cores", "Sites and tasks", gantt::gantt(self.tally, self.window, &self.parts_of_work())),
            ("waits", "The longest waits", self.longest_waits()),
            ("facts", "How it was run", self.facts()),
        ];
        let sections: Vec<_> = sections.into_iter().filter(|(_, _, body)| !body.is_empty()).collect();
        html.push_str("<nav aria-label=\"Sections\">");
        for (id, title, _) in &sections {
            let _ = write!(html, "<a href=\"#{id}\">{title}</a>");
        }
        html.push_str("</nav>\n</header>\n");
        for (id, title, body) in &sections {
            let _ = write!(html, "<section id=\"{id}\"><h2>{title}</h2>\n{body}</section>\n");
        }
        let _ = write!(
            html,
            "<footer>Made from summary.json, manifest.json and events.jsonl of this folder. All times are virtual unless \
             they are called wall time. The same topology and seed give the same digest wherever a run's parts live: \
             <code>{}</code></footer>\n</main></body></html>\n",
            escape(&self.results.digest)
        );
        html
    }

    fn lead(&self) -> String {
        let about = self.topology.about.as_ref().map_or(String::new(), |about| format!("{} ", escape(about.trim())));
        let cores: u64 = self.tally.sites.iter().map(|site| u64::from(site.cores)).sum();
        format!(
            "{about}Here {} of {} from {} met {} on {}{}.",
            counted(self.results.tasks.submitted, "task"),
            counted(self.results.jobs.submitted, "job"),
            counted(self.topology.users.len() as u64, "user"),
            counted(cores, "core"),
            counted(self.tally.sites.len() as u64, "site"),
            self.results.makespan.map_or(String::new(), |makespan| format!(" for {} of virtual time", span(makespan)))
        )
    }

    fn numbers(&self) -> String {
        let results = self.results;
        let mut cards: Vec<(&str, String, String)> = Vec::new();
        if let Some(value) = &results.value {
            let share = value.proportion.map_or("–".to_owned(), percent);
            cards.push(("Value obtained", share, format!("{} of {}", number(value.obtained), number(value.max))));
        }
        let jobs = &results.jobs;
        let others = [
            (jobs.killed, "killed at their walltime"),
            (jobs.removed, "given up"),
            (jobs.refused, "refused"),
            (jobs.unfinished, "unfinished"),
        ];
        let others: Vec<String> = others
            .iter()
            .filter(|(number, _)| *number > 0)
            .map(|(number, what)| format!("{} {what}", count(*number)))
            .collect();
        let others = if others.is_empty() { "none was left over".to_owned() } else { others.join(", ") };
        cards.push(("Jobs finished", count(jobs.finished), format!("of {}; {others}", count(jobs.submitted))));
        if let Some(starved) = results.starved {
            let worthy = self.tally.jobs.values().filter(|row| row.job.worth.is_some()).count();
            let share = if worthy > 0 { percent(starved as f64 / worthy as f64) } else { "–".to_owned() };
            cards.push((
                "Jobs starved",
                count(starved),
                format!("{share} of those with a deadline got nothing for it"),
            ));
        }
        if let Some(all) = &results.reservations {
            let share = all.acceptance.map_or("–".to_owned(), percent);
            let (accepted, valid) = (count(all.accepted), count(all.accepted + all.declined));
            cards.push(("Requests accepted", share, format!("{accepted} of {valid} that make sense")));
            let mean = all.slowdown.map_or("–".to_owned(), |mean| format!("{mean:.3}"));
            let small = format!("mean; {} node hours were given back early", number(all.released / 3600.0));
            cards.push(("Slowdown", mean, small));
        }
        if let Some(schedule) = &results.schedule {
            let mean = schedule.mean_bounded_slowdown.map_or("–".to_owned(), |mean| format!("{mean:.2}"));
            let most =
                schedule.max_bounded_slowdown.map_or(String::new(), |most| format!(", at most {}", number(most)));
            cards.push(("Bounded slowdown", mean, format!("mean of jobs that ran{most}")));
        }
        if let Some(slr) = results.slr.filter(|_| results.reservations.is_none() && results.schedule.is_none()) {
            cards.push(("Mean SLR", format!("{slr:.2}"), "times its critical path a finished job took".to_owned()));
        }
        if let Some(wait) = &results.job_wait {
            let small = format!("median {}, 95 % within {}", span(wait.median), span(wait.p95));
            cards.push(("Mean wait of a job", span(wait.mean), small));
        }
        let all = &results.utilisation.all;
        if let Some(used) = all.arrivals.or(all.makespan) {
            let when = if all.arrivals.is_some() { "of core time while jobs arrived" } else { "of core time" };
            cards.push(("Utilisation", percent(used), when.to_owned()));
        }
        if let Some(makespan) = results.makespan {
            let end = results.end.map_or(String::new(), |end| format!("until {} after the start", span(end)));
            cards.push(("Makespan", span(makespan), end));
        }
        if let Some(useful) = results.useful {
            cards.push(("Useful work", percent(useful), "of the work went into jobs that paid".to_owned()));
        }
        let cards: Vec<String> = cards
            .iter()
            .map(|(what, big, small)| {
                format!("<div><dt>{what}</dt><dd class=\"big\">{big}</dd><dd class=\"small\">{small}</dd></div>\n")
            })
            .collect();
        format!("<dl class=\"cards\">{}</dl>\n", cards.concat())
    }

    fn what_ran(&self) -> String {
        let (what, policy, known) = match &self.topology.system {
            System::Market(market) => ("Bid policy", market.policy.as_str(), catalog::bid_policies()),
            System::Reservation(reservation) => ("Fit policy", reservation.policy.as_str(), catalog::fit_policies()),
            System::Batch(batch) => ("Dispatch", batch.dispatch.name(), catalog::dispatch_rules()),
            System::Workflow(planning) => ("Planner", planning.name(), catalog::plan_policies()),
        };
        let about = known.into_iter().find(|entry| entry.name == policy);
        let about = about.map_or(String::new(), |entry| format!(": {}", escape(&entry.about)));
        let facts = [
            (what, format!("<code>{}</code>{about}", escape(policy))),
            ("Load", self.load()),
            ("Layout", escape(&self.manifest.layout)),
            ("Seed", self.manifest.seed.to_string()),
            ("Digest", format!("<code>{}</code>", escape(&self.results.digest))),
            (
                "Log",
                format!(
                    "{}, status {}",
                    counted(self.results.entries, "entry").replace("entrys", "entries"),
                    escape(&self.manifest.status.to_string())
                ),
            ),
        ];
        let mut html = definitions(&facts);
        html.push_str(&self.sites());
        html.push_str(&self.users());
        let text = &self.manifest.topology;
        let cut = (0..=text.len().min(TOPOLOGY_MAX)).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
        let rest = match text.len() - cut {
            0 => String::new(),
            left => format!("\n… {} more characters: manifest.json has them.", count(left as u64)),
        };
        let _ = writeln!(
            html,
            "<details><summary>The topology, with every default filled in</summary><pre>{}{rest}</pre></details>",
            escape(&text[..cut])
        );
        html
    }

    /// What was asked for and what came.
    fn load(&self) -> String {
        let mut words: Vec<String> = self.topology.workloads.iter().take(6).map(workload).collect();
        if self.topology.workloads.len() > 6 {
            words.push(format!("{} more workloads", self.topology.workloads.len() - 6));
        }
        let mut text = words.join("; ");
        let all: u128 = self.tally.jobs.values().map(work).sum();
        let arrivals = self.results.first_arrival.zip(self.results.last_arrival).map(|(first, last)| last - first);
        let _ = write!(text, "; {} core hours of work arrived", number(all as f64 / 3.6e9));
        if let Some(during) = arrivals.filter(|during| *during > 0.0) {
            let offered = all as f64 / 1e6 / (during * self.results.utilisation.all.cores as f64);
            let _ =
                write!(text, " within {}, {} of what all cores can do in that time", span(during), percent(offered));
        }
        text
    }

    fn sites(&self) -> String {
        let sites = self.topology.sites.iter().zip(&self.results.utilisation.sites);
        let row = |(site, used): (&crate::topology::Site, &super::Use)| {
            let share = used.arrivals.or(used.makespan);
            vec![
                escape(&site.name),
                count(site.cores.into()),
                escape(self.topology.kinds.get(usize::from(site.kind.0)).map_or("", String::as_str)),
                escape(&site.scheduler),
                escape(&site.latency.to_string()),
                count(used.tasks),
                number(used.busy / 3600.0),
                share.map_or(String::new(), |share| bar(share, &percent(share))),
            ]
        };
        let mut rows: Vec<Vec<String>> = sites.clone().take(ROWS_MAX).map(row).collect();
        let rest: Vec<_> = sites.skip(ROWS_MAX).map(|(_, used)| used).collect();
        if !rest.is_empty() {
            let sum = |what: fn(&super::Use) -> u64| count(rest.iter().map(|used| what(used)).sum());
            let busy: f64 = rest.iter().map(|used| used.busy).sum();
            let name = format!("{} more sites together", rest.len());
            let none = String::new;
            rows.push(vec![
                name,
                sum(|used| used.cores),
                none(),
                none(),
                none(),
                sum(|used| used.tasks),
                number(busy / 3600.0),
                none(),
            ]);
        }
        let when = if self.results.utilisation.all.arrivals.is_some() { "Used while jobs arrived" } else { "Used" };
        let columns = ["Site", "#Cores", "Kind", "Scheduler", "#To the router", "#Tasks", "#Core hours", when];
        format!("<h3>Sites</h3>\n{}", table(&columns, rows))
    }

    fn users(&self) -> String {
        let mut by_user: BTreeMap<String, (u64, u64, f64, f64)> = BTreeMap::new();
        for row in self.tally.jobs.values() {
            let sums = by_user.entry(self.tally.names.of_actor(row.user)).or_default();
            sums.0 += 1;
            sums.1 += row.tasks.len() as u64;
            sums.2 += row.value().unwrap_or(0.0);
            sums.3 += worth(row);
        }
        let cells = |name: String, latency: String, (jobs, tasks, value, max): (u64, u64, f64, f64)| {
            let share = if max > 0.0 { bar(value / max, &percent(value / max)) } else { "none to be had".to_owned() };
            vec![name, latency, count(jobs), count(tasks), number(max), share]
        };
        let users = self.topology.users.iter();
        let mut rows: Vec<Vec<String>> = users
            .clone()
            .take(ROWS_MAX)
            .map(|user| {
                cells(
                    escape(&user.name),
                    escape(&user.latency.to_string()),
                    by_user.get(&user.name).copied().unwrap_or_default(),
                )
            })
            .collect();
        if self.topology.users.len() > ROWS_MAX {
            let rest = users.skip(ROWS_MAX).filter_map(|user| by_user.get(&user.name));
            let sum =
                rest.fold((0, 0, 0.0, 0.0), |sum, one| (sum.0 + one.0, sum.1 + one.1, sum.2 + one.2, sum.3 + one.3));
            rows.push(cells(
                format!("{} more users together", self.topology.users.len() - ROWS_MAX),
                String::new(),
                sum,
            ));
        }
        let columns = ["User", "#To the router", "#Jobs", "#Tasks", "#Value at best", "Value obtained"];
        format!("<h3>Users</h3>\n{}", table(&columns, rows))
    }

    fn value(&self) -> String {
        let Some(value) = &self.results.value else {
            return "<p>No job of this run has a value curve, so there is no value to obtain and nobody can starve.</p>\n".to_owned();
        };
        let mut sums = [(0u64, 0.0, 0.0); 6];
        for row in self.tally.jobs.values() {
            if let Some(outcome) = Outcome::of(row) {
                let sum = &mut sums[outcome as usize];
                (sum.0, sum.1, sum.2) = (sum.0 + 1, sum.1 + row.value().unwrap_or(0.0), sum.2 + lost(row));
            }
        }
        let jobs: u64 = sums.iter().map(|sum| sum.0).sum();
        let there = |outcome: Outcome| sums[outcome as usize].0 > 0;
        let share = |part: f64| if value.max > 0.0 { percent(part / value.max) } else { "–".to_owned() };
        let rows = Outcome::ALL.iter().filter(|(outcome, ..)| there(*outcome)).map(|(outcome, _, words)| {
            let (number_of, obtained, lost) = sums[*outcome as usize];
            let part = number_of as f64 / jobs.max(1) as f64;
            vec![
                (*words).to_owned(),
                bar(part, &count(number_of)),
                number(obtained),
                share(obtained),
                number(lost),
                share(lost),
            ]
        });
        let mut html = format!(
            "<p>A job is worth its full value until its initial deadline and nothing from its final one on. Its age is \
             counted from submission, in multiples of its critical path (SLR). Of {} to be had, users got {}.</p>\n",
            number(value.max),
            number(value.obtained)
        );
        html.push_str(&table(
            &["Jobs that were …", "Jobs", "#Obtained", "#of all value", "#Lost", "#of all value"],
            rows,
        ));

        let legend = |first: &str| {
            let rest = Outcome::ALL.iter().skip(1).filter(|(outcome, ..)| there(*outcome));
            let rest = rest.map(|(_, class, words)| ((*class).to_owned(), format!("lost: {words}")));
            [("f0".to_owned(), first.to_owned())].into_iter().chain(rest).collect::<Vec<_>>()
        };
        let by_value: Vec<_> = self.tenths.iter().map(|tenth| value_column(tenth)).collect();
        let scale = Scale::new(100.0, CHART);
        html.push_str(
            &Figure {
                id: "value-by-size",
                title: "Where value went, by size of job",
                desc: format!("Stacked columns, one a tenth of the jobs by work: the share of the value that was obtained or lost, and why. {}", listed(&by_value)),
                note: format!("{} {}", self.tenths_in_words(), "Shares of the value that the jobs of a tenth could have brought."),
                legend: legend("obtained"),
                height: CHART,
                body: scale.axis("share of value, %", plain) + &columns(scale, "tenth of the jobs, by work", &by_value),
            }
            .html(),
        );
        let starving: Vec<_> = self.tenths.iter().map(|tenth| starved_column(tenth)).collect();
        let most = starving.iter().map(|parts| parts.iter().map(|part| part.1).sum::<f64>()).fold(0.0, f64::max);
        if most == 0.0 {
            html.push_str(
                "<p>Nobody starved: every job with a deadline finished before it had lost all of its value.</p>\n",
            );
            return html;
        }
        let scale = Scale::new(most, CHART - 40.0);
        let rest = Outcome::ALL.iter().skip(2).filter(|(outcome, ..)| there(*outcome));
        html.push_str(
            &Figure {
                id: "starvation",
                title: "Who starved, by size of job",
                desc: format!("Stacked columns, one a tenth of the jobs by work: the share of its jobs that starved. {}", listed(&starving)),
                note: "A job has starved if it never finished, or not before its final deadline. Shares of the jobs with a deadline in each tenth.".to_owned(),
                legend: rest.map(|(_, class, words)| ((*class).to_owned(), (*words).to_owned())).collect(),
                height: CHART - 40.0,
                body: scale.axis("starved jobs, %", plain) + &columns(scale, "tenth of the jobs, by work", &starving),
            }
            .html(),
        );
        html
    }

    fn tenths_in_words(&self) -> String {
        let (Some(first), Some(last)) = (self.tenths.first(), self.tenths.last()) else { return String::new() };
        let hours = |row: Option<&&JobRow>| number(row.map_or(0, |row| work(row)) as f64 / 3.6e9);
        let groups = match self.tenths.len() {
            10 => "The jobs in ten equal groups by the work they bring".to_owned(),
            few => format!("With {}, each is a group of its own, by the work it brings", counted(few as u64, "job")),
        };
        format!(
            "{groups}: from {} core hours in the first to {} in the last.",
            hours(first.first()),
            hours(last.last())
        )
    }

    fn responsiveness(&self) -> String {
        let groups = &self.results.slr_by_size;
        let finite = |slr: Option<f64>| slr.filter(|slr| slr.is_finite() && *slr >= 0.0);
        let most = groups
            .iter()
            .flat_map(|group| [finite(group.slr), finite(group.slr_censored)])
            .flatten()
            .fold(0.0, f64::max);
        if most == 0.0 {
            return "<p>No job had finished when the log ended, so there is nothing to tell of how long jobs took.</p>\n".to_owned();
        }
        let scale = Scale::new((most * 1.12).max(1.2), CHART);
        let bars: Vec<_> = groups
            .iter()
            .map(|group| match finite(group.slr) {
                Some(slr) => vec![("f0", slr, format!("finished jobs took {slr:.3} times their critical path"))],
                None => Vec::new(),
            })
            .collect();
        let mut body = scale.axis("SLR", plain) + &columns(scale, "tenth of the jobs, by work", &bars);
        for (column, group) in groups.iter().enumerate() {
            let (left, width) = column_at(column, groups.len());
            let middle = left + width / 2.0;
            let (slr, censored) = (finite(group.slr), finite(group.slr_censored));
            if let Some(censored) = censored {
                let y = scale.y(censored);
                let _ = writeln!(
                    body,
                    "<path class=\"point\" d=\"M{} {}l6 6l-6 6l-6 -6z\"><title>with starved jobs {censored:.3}</title></path>",
                    at(middle),
                    at(y - 6.0)
                );
            }
            if let Some(slr) = slr {
                // Within its column, so that nobody takes it for the diamond's.
                let y = (scale.y(slr) + 16.0).min(CHART - BOTTOM - 6.0);
                let _ = writeln!(body, "<text class=\"value\" x=\"{}\" y=\"{}\">{slr:.2}</text>", at(middle), at(y));
            }
        }
        body.push_str(&mark(scale, 1.0, ""));
        let listed: Vec<String> =
            groups.iter().map(|group| group.slr.map_or("none".to_owned(), |slr| format!("{slr:.2}"))).collect();
        Figure {
            id: "slr",
            title: "How long jobs took, by their size",
            desc: format!("Columns, one a tenth of the jobs by work: mean SLR of finished jobs, from the smallest to the largest: {}.", listed.join(", ")),
            note: format!(
                "SLR is the time from submission to completion as a multiple of the critical path: 1, the dashed line, is as fast as the job can be. The columns, with their numbers, are means over finished jobs; the diamonds are means over all jobs with a deadline, where a \
                 starved one counts with its final deadline. {}",
                self.tenths_in_words()
            ),
            legend: vec![("f0".to_owned(), "finished jobs".to_owned()), ("diamond".to_owned(), "all jobs with a deadline".to_owned())],
            height: CHART,
            body,
        }
        .html()
    }

    fn over_time(&self) -> String {
        let queue = if self.tally.is_queueing() { String::new() } else { self.queue() };
        queue + &self.utilisation()
    }

    fn queue(&self) -> String {
        let kinds = self.tally.names.kinds.len().max(1);
        let groups = kinds.min(COLOURS);
        let mut levels = vec![Levels::new(self.window, PARTS); groups];
        let mut steps: BTreeMap<Time, i64> = BTreeMap::new();
        for (kind, from, to) in self.tally.waiting() {
            levels[usize::from(kind.0).min(groups - 1)].add(from, to, 1.0);
            *steps.entry(from).or_default() += 1;
            *steps.entry(to).or_default() -= 1;
        }
        let mut level = 0;
        let peak = steps.iter().fold((0, Time::ZERO), |peak, (time, change)| {
            level += change;
            if level > peak.0 { (level, *time) } else { peak }
        });
        if peak.0 == 0 {
            return "<p>No task ever had to wait.</p>\n".to_owned();
        }
        let series: Vec<(String, Vec<f64>)> =
            levels.iter().enumerate().map(|(kind, levels)| (format!("f{kind}"), levels.means())).collect();
        let scale = Scale::new(top(&series), CHART);
        let name = |kind: usize| match kind + 1 == groups && kinds > groups {
            true => format!("{} other kinds", kinds - groups + 1),
            false => short(self.tally.names.kinds.get(kind).map_or("cores", String::as_str), 40),
        };
        let most = format!("The most was {} at {}.", counted(peak.0 as u64, "task"), peak.1);
        Figure {
            id: "queue",
            title: "Tasks that waited, by the kind of core they need",
            desc: format!("A stacked area over time of the number of tasks that were ready but had not started. {most}"),
            note: format!("Waiting is a task whose job is submitted and whose predecessors are done, until it starts or its job is given up; a result on its way counts as waiting too. {} {most}", self.parts_in_words()),
            legend: (0..groups).map(|kind| (format!("f{kind}"), name(kind))).collect(),
            height: CHART,
            body: scale.axis("waiting tasks", plain) + &areas(self.window, scale, &series),
        }
        .html()
    }

    fn utilisation(&self) -> String {
        let sites = &self.tally.sites;
        let groups = sites.len().min(COLOURS);
        // The largest have an area of their own.
        let mut by_size: Vec<usize> = (0..sites.len()).collect();
        by_size.sort_by_key(|site| (std::cmp::Reverse(sites[*site].cores), *site));
        let mut own: Vec<usize> =
            by_size.into_iter().take(if sites.len() > groups { groups - 1 } else { groups }).collect();
        own.sort_unstable();
        let group: Vec<usize> =
            (0..sites.len()).map(|site| own.iter().position(|other| *other == site).unwrap_or(own.len())).collect();
        let mut levels = vec![Levels::new(self.window, PARTS); groups];
        for row in self.tally.jobs.values() {
            for (task, held) in row.job.tasks.iter().zip(&row.tasks) {
                if let (Some(site), Some(start)) = (held.site, held.start) {
                    levels[group[site as usize]].add(start, held.end.unwrap_or(self.tally.last), f64::from(task.cores));
                }
            }
        }
        let series: Vec<(String, Vec<f64>)> =
            levels.iter().enumerate().map(|(group, levels)| (format!("f{group}"), levels.means())).collect();
        let cores: u64 = sites.iter().map(|site| u64::from(site.cores)).sum();
        let scale = Scale::new(cores as f64 * 1.12, CHART);
        let rest = sites.len() - own.len();
        let mut legend: Vec<(String, String)> = own
            .iter()
            .enumerate()
            .map(|(group, site)| {
                (
                    format!("f{group}"),
                    format!("{} ({})", short(&sites[*site].name, 40), counted(sites[*site].cores.into(), "core")),
                )
            })
            .collect();
        let mut put_together = String::new();
        if rest > 0 {
            legend.push((format!("f{}", own.len()), format!("{rest} other sites")));
            put_together =
                format!("The {} largest sites have an area of their own; the other {rest} share one. ", own.len());
        }
        let used = self.results.utilisation.all.makespan.map_or(String::new(), |used| {
            format!("Over the whole makespan, {} of the core time was used.", percent(used))
        });
        Figure {
            id: "utilisation",
            title: "Busy cores, by site",
            desc: format!(
                "A stacked area over time of the cores in use at each site, out of {} in all. {used}",
                count(cores)
            ),
            note: format!("{put_together}{} {used}", self.parts_in_words()),
            legend,
            height: CHART,
            body: scale.axis("busy cores", plain)
                + &areas(self.window, scale, &series)
                + &mark(scale, cores as f64, &format!("all {}", counted(cores, "core"))),
        }
        .html()
    }

    fn parts_in_words(&self) -> String {
        format!("Each of the {PARTS} steps is the mean over {}.", micros(self.window.micros() / PARTS as u64))
    }

    /// Ten groups of jobs from those with the least work to those with the most, which bring equal work.
    fn parts_of_work(&self) -> BTreeMap<JobId, usize> {
        let all: u128 = self.tenths.iter().flatten().map(|row| work(row)).sum();
        let mut before = 0;
        let jobs = self.tenths.iter().flatten().map(|row| {
            let middle = before + work(row) / 2;
            before += work(row);
            (row.job.id, (middle.saturating_mul(10) / all.max(1)).min(9) as usize)
        });
        jobs.collect()
    }

    fn longest_waits(&self) -> String {
        let mut waits: Vec<(u64, &JobRow)> = self
            .tally
            .jobs
            .values()
            .filter(|row| row.standing() != Standing::Refused)
            .map(|row| {
                let until = row.start().unwrap_or(match row.fate {
                    Fate::Removed { at } => at,
                    _ => self.tally.last,
                });
                (until.since(row.job.arrive).micros(), row)
            })
            .collect();
        waits.sort_by_key(|(wait, row)| (std::cmp::Reverse(*wait), row.job.id));
        if waits.first().is_none_or(|(wait, _)| *wait == 0) {
            return "<p>No job had to wait for its first task to start.</p>\n".to_owned();
        }
        let what = |row: &JobRow| match (row.start(), row.standing(), row.slr()) {
            (_, Standing::Finished, Some(slr)) => format!("finished, SLR {slr:.2}"),
            (_, Standing::Finished, None) => "finished".to_owned(),
            (_, Standing::Killed, _) => "killed at its walltime".to_owned(),
            (None, Standing::Removed, _) => "never started, given up".to_owned(),
            (Some(_), Standing::Removed, _) => "started, then given up".to_owned(),
            (None, ..) => "not started yet".to_owned(),
            (Some(_), ..) => "not finished yet".to_owned(),
        };
        let all = waits.len();
        let rows = waits.iter().take(LONGEST).map(|(wait, row)| {
            vec![
                row.job.id.to_string(),
                escape(&self.tally.names.of_actor(row.user)),
                row.job.arrive.to_string(),
                micros(*wait),
                count(row.tasks.len() as u64),
                number(work(row) as f64 / 3.6e9),
                match row.value() {
                    Some(value) => format!("{} of {}", number(value), number(worth(row))),
                    None => "–".to_owned(),
                },
                what(row),
            ]
        });
        let columns = ["#Job", "User", "#Submitted", "#Waited", "#Tasks", "#Core hours", "#Value", "Outcome"];
        let rows = table(&columns, rows);
        format!(
            "<p>From submission until the first task of the job started: the {} longest of {}.</p>\n{rows}",
            LONGEST.min(all),
            counted(all as u64, "job")
        )
    }

    fn facts(&self) -> String {
        let (run, manifest) = (&self.summary.run, self.manifest);
        let host = &manifest.host;
        let mut facts = vec![
            ("Layout", escape(&run.layout)),
            (
                "Wall time",
                format!(
                    "{:.2} s, of these {:.2} s until everybody had joined and {:.2} s for the run itself",
                    run.wall_seconds, run.join_seconds, run.run_seconds
                ),
            ),
            (
                "Events",
                format!(
                    "{}{}",
                    count(run.events),
                    run.events_per_second.map_or(String::new(), |rate| format!(", {} a second", number(rate)))
                ),
            ),
        ];
        if let Some(waits) = run.hub_waits {
            facts.push(("Waits of the hub", format!("{}, where it could not go on without an answer", count(waits))));
        }
        if let Some(messages) = run.messages {
            let packed = run.messages_per_packet.map_or(String::new(), |many| format!(", {many:.1} a packet"));
            let frames = run.frames.map_or(String::new(), |frames| format!(", in {} frames both ways", count(frames)));
            facts.push(("Messages", format!("{}{packed}{frames}", count(messages))));
        }
        facts.push((
            "Host",
            escape(&format!("{}: {} cores, {}, {}", host.name, host.cores, host.processor, host.kernel)),
        ));
        facts.push(("Started", escape(&manifest.started)));
        facts.push(("Hansa", escape(&manifest.version)));
        facts.push(("Command", format!("<code>{}</code>", escape(&manifest.command.join(" ")))));
        let mut html = definitions(&facts);
        html.push_str(&self.blocked());
        html
    }

    fn blocked(&self) -> String {
        let run = &self.summary.run;
        if run.waits.is_empty() && run.blocked_seconds.is_empty() {
            return "<p>All actors shared one process, so nobody had to wait for anybody.</p>\n".to_owned();
        }
        let names = run.waits.keys().chain(run.blocked_seconds.keys()).collect::<std::collections::BTreeSet<_>>();
        let mut leaves: Vec<(f64, u64, &String)> = names
            .into_iter()
            .map(|name| {
                (run.blocked_seconds.get(name).copied().unwrap_or(0.0), run.waits.get(name).copied().unwrap_or(0), name)
            })
            .collect();
        leaves.sort_by(|left, right| right.0.total_cmp(&left.0).then(left.2.cmp(right.2)));
        let longest = leaves.first().map_or(0.0, |leaf| leaf.0);
        let cells = |name: String, waits: u64, blocked: f64| {
            vec![
                name,
                count(waits),
                bar(if longest > 0.0 { blocked / longest } else { 0.0 }, &format!("{:.1} ms", blocked * 1e3)),
            ]
        };
        let mut rows: Vec<_> =
            leaves.iter().take(ROWS_MAX).map(|(blocked, waits, name)| cells(escape(name), *waits, *blocked)).collect();
        if leaves.len() > ROWS_MAX {
            let rest = &leaves[ROWS_MAX..];
            let sums = rest.iter().fold((0, 0.0), |sum, leaf| (sum.0 + leaf.1, sum.1 + leaf.0));
            rows.push(cells(format!("{} more together", rest.len()), sums.0, sums.1));
        }
        format!("<h3>Whom the hub waited for</h3>\n{}", table(&["Leaf", "#Waits", "Blocked, wall time"], rows))
    }
}

fn definitions(facts: &[(&str, String)]) -> String {
    let facts: Vec<String> = facts.iter().map(|(what, words)| format!("<dt>{what}</dt><dd>{words}</dd>\n")).collect();
    format!("<dl class=\"facts\">{}</dl>\n", facts.concat())
}

fn workload(workload: &Workload) -> String {
    match &workload.source {
        Source::Market(market) => {
            let basis = catalog::LOAD_BASES
                .iter()
                .find(|(_, basis, _)| *basis == market.load_basis)
                .map_or("the cores", |basis| basis.2);
            format!(
                "{} generated for a load of {} of {basis}",
                counted(market.jobs.into(), "job"),
                percent(market.load)
            )
        }
        Source::Table(table) => format!("{} written out in the topology", counted(table.jobs.len() as u64, "job")),
        Source::Layered(generator) => format!(
            "{} generated, layered, of {}",
            counted(generator.workflows.into(), "workflow"),
            counted(generator.shape.tasks.into(), "task")
        ),
        Source::Reservations(demand) => format!("{} generated", counted(demand.requests.into(), "request")),
        Source::Rigid(rigids) => match &rigids.origin {
            Origin::Swf(log) | Origin::Batsim(log) => {
                format!("{} of {}", counted(rigids.count.into(), "job"), escape(&log.path))
            }
            Origin::Lublin(_) => {
                format!("{} of the model of Lublin and Feitelson", counted(rigids.count.into(), "job"))
            }
        },
        Source::Requests(table) => {
            format!("{} written out in the topology", counted(table.asks.len() as u64, "request"))
        }
    }
}

fn top(series: &[(String, Vec<f64>)]) -> f64 {
    let sum = |part: usize| series.iter().map(|(_, levels)| levels[part]).sum::<f64>();
    (0..PARTS).map(sum).fold(0.0, f64::max)
}

/// Shares of a tenth's value in percent.
fn value_column(tenth: &[&JobRow]) -> Vec<(&'static str, f64, String)> {
    let max: f64 = tenth.iter().map(|row| worth(row)).sum();
    if max <= 0.0 {
        return Vec::new();
    }
    let mut parts: Vec<(&'static str, f64, String)> = Vec::new();
    let mut push = |class, value: f64, words: &str| {
        let share = value / max * 100.0;
        parts.push((class, share, format!("{words}: {share:.1} % ({})", number(value))));
    };
    push("f0", tenth.iter().filter_map(|row| row.value()).sum(), "obtained");
    for (outcome, class, words) in Outcome::ALL.iter().skip(1) {
        push(class, tenth.iter().filter(|row| Outcome::of(row) == Some(*outcome)).map(|row| lost(row)).sum(), words);
    }
    parts
}

/// Shares of a tenth's jobs in percent.
fn starved_column(tenth: &[&JobRow]) -> Vec<(&'static str, f64, String)> {
    let jobs = tenth.iter().filter(|row| row.job.worth.is_some()).count().max(1) as f64;
    let share = |&(outcome, class, words): &(Outcome, &'static str, &str)| {
        let starved = |row: &&&JobRow| row.starved() == Some(true) && Outcome::of(row) == Some(outcome);
        let those = tenth.iter().filter(starved).count();
        let share = those as f64 / jobs * 100.0;
        (class, share, format!("{words}: {share:.1} % ({})", counted(those as u64, "job")))
    };
    Outcome::ALL.iter().skip(2).map(share).collect()
}

/// Columns in words, for who cannot see them.
fn listed(columns: &[Vec<(&str, f64, String)>]) -> String {
    let column = |(number, parts): (usize, &Vec<(&str, f64, String)>)| {
        let parts: Vec<&str> = parts.iter().filter(|part| part.1 > 0.0).map(|part| part.2.as_str()).collect();
        format!("Tenth {}: {}.", number + 1, if parts.is_empty() { "nothing".to_owned() } else { parts.join(", ") })
    };
    columns.iter().enumerate().map(column).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests;
