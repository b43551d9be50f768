//! The answer to the first question about several runs: the best one by one metric, its price in others, and the groups
//! of jobs for which each is better.
//!
//! A [`Contest`] is what a comparison, a tournament and a sweep have in common: contenders, each with a run per
//! repetition. [`make_answer`] makes an [`Answer`] of it: sentences and tables as values (`table.rs`), which are
//! written as text, as a page and as JSON. It first checks that the runs did the same work (`work.rs`); where they did
//! not, means over the jobs that ended in the same way in all runs (`common.rs`) decide.

mod by_group;
mod common;
mod log_facts;
mod panels;
mod shown;
mod table;
#[cfg(test)]
mod tests;
mod what_if;
mod work;

use serde_json::{Value, json};

use self::by_group::{GroupTable, quantity_numbers};
use self::common::{ClusterSum, CommonJobs, JobQuantity, mean_of_clusters};
pub use self::log_facts::LogFacts;
pub use self::panels::{Answers, answer_panels};
use self::shown::{head_of, in_words, scale_estimate, show_difference, show_estimate};
pub use self::table::fold_columns;
use self::table::{Mark, NamedTable, TableCell, TableHead};
pub use self::what_if::{ChangeFacts, Phases, WhatIf, WhatIfAnswer, answer_what_if};
use super::figures::wrap_lines;
use super::metrics::{self, Metric};
use super::statistics::Estimate;
use crate::markup::{Html, html};
use crate::{Better, Family, RunOutcomes, WorkDone};
use hansa_sim::near::nearest_name;
use hansa_sim::numerals::{format_count, format_counted, format_number};

/// Runs of several contenders. Runs of one repetition are paired: they differ in the contender only.
pub struct Contest<'a> {
    /// Names of the contenders.
    pub names: Vec<String>,
    /// Index of the contender that groups of jobs are compared with.
    pub reference: usize,
    /// Noun for a contender, and for a repetition.
    pub one: &'static str,
    pub repetition: &'static str,
    /// Runs of each repetition, by contender.
    pub repetitions: Vec<Vec<Option<ContestRun<'a>>>>,
}

/// A run of a contest.
pub struct ContestRun<'a> {
    /// All metrics, in the order of [`metrics::all_metrics`].
    pub metrics: Vec<Option<f64>>,
    /// None if the run is of a version that did not record it.
    pub work: Option<WorkDone>,
    /// None if the run's jobs are not kept.
    pub outcomes: Option<&'a RunOutcomes>,
}

/// The answer: sentences, warnings and tables.
pub struct Answer {
    by: Metric,
    /// The answer in a sentence.
    verdict: String,
    /// Prices in other families, and the basis of significance.
    remarks: Vec<String>,
    warnings: Vec<String>,
    standings: NamedTable,
    work: Option<NamedTable>,
    groups: Option<NamedTable>,
}

/// Reason why a question has no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoAnswer {
    #[error("--by {0}: there is no such metric{1}; `hansa show --keys` lists all")]
    Unknown(String, String),
    #[error("--by {0}: no run has this number{1}")]
    Absent(String, String),
    #[error("no run has a number to compare")]
    Nothing,
}

/// Default metrics, the first that a run has.
const USUAL: [&str; 4] = ["turnaround", "slr", "job_wait", "makespan"];

/// The metric of this name, or an error with the nearest name.
pub fn find_metric(name: &str) -> Result<Metric, NoAnswer> {
    metrics::find_metric(name).ok_or_else(|| {
        let near = nearest_name(name, metrics::all_metrics().map(|metric| metric.name));
        let near = near.map(|name| {
            let family = metrics::find_metric(name).map_or("", |metric| metric.family.word());
            format!("; did you mean {name} (family {family})?")
        });
        NoAnswer::Unknown(name.to_owned(), near.unwrap_or_default())
    })
}

impl Contest<'_> {
    /// Number of a metric in each repetition.
    fn metric_numbers(&self, contender: usize, metric: &str) -> Vec<Option<f64>> {
        let place = metrics::all_metrics().position(|other| other.name == metric);
        self.repetitions
            .iter()
            .map(|runs| {
                let number = *runs[contender].as_ref()?.metrics.get(place?)?;
                number.filter(|number| number.is_finite())
            })
            .collect()
    }

    /// Number of repetitions in words: `12 windows`.
    fn repeated_words(&self) -> String {
        format_counted(self.repetitions.len() as u64, self.repetition)
    }

    fn has_metric(&self, metric: &str) -> bool {
        (0..self.names.len()).any(|contender| self.metric_numbers(contender, metric).iter().any(Option::is_some))
    }

    /// The metric of the question.
    fn choose_metric(&self, by: Option<&str>) -> Result<Metric, NoAnswer> {
        let Some(name) = by else {
            let usual = USUAL.into_iter().find(|name| self.has_metric(name)).and_then(metrics::find_metric);
            return usual
                .or_else(|| {
                    metrics::all_metrics()
                        .find(|metric| metric.better != Better::Neither && self.has_metric(metric.name))
                })
                .ok_or(NoAnswer::Nothing);
        };
        let metric = find_metric(name)?;
        if self.has_metric(name) {
            return Ok(metric);
        }
        let family = self.metrics_present(Some(metric.family));
        let others = match (family.is_empty(), self.metrics_present(None)) {
            (false, _) => format!("; of the family {} they have {}", metric.family.word(), family.join(", ")),
            (true, all) => format!(" and none of the family {}; they have {}", metric.family.word(), all.join(", ")),
        };
        Err(NoAnswer::Absent(name.to_owned(), others))
    }

    fn metrics_present(&self, family: Option<Family>) -> Vec<&'static str> {
        metrics::all_metrics()
            .filter(|metric| family.is_none_or(|family| metric.family == family) && self.has_metric(metric.name))
            .map(|metric| metric.name)
            .collect()
    }

    /// Outcomes of all runs, by repetition; None if some are not kept, or a contender lacks a run.
    fn run_outcomes(&self) -> Option<Vec<Vec<&RunOutcomes>>> {
        self.repetitions.iter().map(|runs| runs.iter().map(|run| run.as_ref()?.outcomes).collect()).collect()
    }
}

/// Numbers of a metric for all contenders, and the basis on which they are compared.
struct Scores<'c, 'a> {
    contest: &'c Contest<'a>,
    metric: Metric,
    /// Numbers of runs, by contender and repetition.
    numbers: Vec<Vec<Option<f64>>>,
    /// Common jobs that decide, if the metric is a mean of theirs.
    deciding: Option<DecidingJobs<'c, 'a>>,
}

/// Common jobs, with the sums of the quantity that a metric is a mean of, by contender and cluster.
struct DecidingJobs<'c, 'a> {
    common: &'c CommonJobs<'a>,
    sums: Vec<Vec<ClusterSum>>,
}

impl DecidingJobs<'_, '_> {
    fn paired_difference(&self, contender: usize, other: usize) -> Option<Estimate> {
        let pairs = self.sums[contender].iter().zip(&self.sums[other]);
        mean_of_clusters(&pairs.map(|(own, other)| (own.0 - other.0, own.1)).collect::<Vec<ClusterSum>>())
    }
}

impl<'c, 'a> Scores<'c, 'a> {
    /// Scores by common jobs if runs did different work, or if there is one repetition only.
    fn of(
        contest: &'c Contest<'a>,
        metric: Metric,
        common: Option<&'c CommonJobs<'a>>,
        work_differs: bool,
    ) -> Scores<'c, 'a> {
        let numbers =
            (0..contest.names.len()).map(|contender| contest.metric_numbers(contender, metric.name)).collect();
        let quantity = JobQuantity::of_metric(metric.name);
        let by_jobs = common.zip(quantity).filter(|_| work_differs || contest.repetitions.len() == 1);
        let deciding = by_jobs.map(|(common, quantity)| DecidingJobs {
            common,
            sums: common.quantity_sums(quantity, contest.names.len()),
        });
        Scores { contest, metric, numbers, deciding }
    }

    /// Mean over runs of their own numbers.
    fn own_mean(&self, contender: usize) -> Option<Estimate> {
        let numbers: Vec<f64> = self.numbers[contender].iter().copied().flatten().collect();
        let own = Estimate::of(&numbers)?;
        match &self.deciding {
            // The interval of a single run is that of its parts.
            Some(_) if numbers.len() == 1 => Some(Estimate { within: self.deciding_mean(contender)?.within, ..own }),
            _ => Some(own),
        }
    }

    fn deciding_mean(&self, contender: usize) -> Option<Estimate> {
        match &self.deciding {
            Some(deciding) => mean_of_clusters(&deciding.sums[contender]),
            None => self.own_mean(contender),
        }
    }

    /// Mean of the paired differences from another contender.
    fn paired_difference(&self, contender: usize, other: usize) -> Option<Estimate> {
        if let Some(deciding) = &self.deciding {
            return deciding.paired_difference(contender, other);
        }
        let pairs = self.numbers[contender].iter().zip(&self.numbers[other]);
        let differences: Vec<f64> = pairs.filter_map(|(one, other)| Some((*one)? - (*other)?)).collect();
        Estimate::of(&differences)
    }

    /// Contender with the best mean; None if no direction is better.
    fn best_contender(&self) -> Option<usize> {
        let better = self.metric.better;
        let known = (0..self.numbers.len()).filter_map(|one| Some((one, self.deciding_mean(one)?.mean)));
        let best = known.reduce(|best, next| if better.is_better(next.1, best.1) { next } else { best });
        best.filter(|_| better != Better::Neither).map(|(contender, _)| contender)
    }

    /// True if differences have intervals.
    fn has_intervals(&self) -> bool {
        let others = 1..self.numbers.len();
        others.into_iter().any(|other| self.paired_difference(other, 0).is_some_and(|apart| apart.within.is_some()))
    }

    /// True if a contender is significantly better than another one.
    fn beats(&self, contender: usize, other: usize) -> bool {
        let apart = self.paired_difference(contender, other).filter(Estimate::is_significant);
        apart.is_some_and(|apart| self.metric.better.is_better(apart.mean, 0.0))
    }

    /// Best for the best contender and for all that it does not beat.
    fn contender_mark(&self, contender: usize) -> Mark {
        let Some(best) = self.best_contender().filter(|_| self.has_intervals()) else { return Mark::Plain };
        let is_best = contender == best || !self.beats(best, contender);
        if is_best && self.deciding_mean(contender).is_some() { Mark::Best } else { Mark::Plain }
    }

    fn name(&self, contender: usize) -> &str {
        &self.contest.names[contender]
    }

    fn in_words(&self, contender: usize) -> String {
        self.deciding_mean(contender).map_or_else(String::new, |mean| in_words(&self.metric, &mean))
    }
}

/// Makes the answer; `by` is the metric of the question. O(jobs log jobs + contenders * jobs * groups).
pub fn make_answer(contest: &Contest<'_>, by: Option<&str>) -> Result<Answer, NoAnswer> {
    let by = contest.choose_metric(by)?;
    let outcomes = contest.run_outcomes();
    let common = outcomes.as_deref().and_then(CommonJobs::of);
    let sums = work::work_of(contest);
    let work_differs = sums.as_deref().is_some_and(work::work_differs);
    let common = common.as_ref();
    let scores = Scores::of(contest, by, common, work_differs);
    let families: Vec<Scores<'_, '_>> = family_metrics(contest, by)
        .into_iter()
        .map(|metric| Scores::of(contest, metric, common, work_differs))
        .collect();
    let mut remarks = Vec::new();
    remarks.extend(price_in_words(&scores, &families));
    remarks.extend(basis_in_words(&scores, &families));
    let mut warnings = sums.as_deref().map_or_else(Vec::new, |sums| work::work_warnings(contest, sums, common));
    warnings.extend(equal_runs(contest));
    let quantity = JobQuantity::of_metric(by.name).unwrap_or(JobQuantity::Turnaround);
    Ok(Answer {
        by,
        verdict: verdict_in_words(&scores),
        remarks,
        warnings,
        standings: standings_table(&scores, &families),
        work: sums.as_deref().map(|sums| work::work_table(contest, sums, common)),
        groups: common.and_then(|jobs| {
            let numbers = quantity_numbers(quantity, contest.names.len());
            let facts = &LogFacts::default();
            let names = &contest.names;
            let reference = contest.reference;
            GroupTable { names, reference, jobs, facts, numbers: &numbers, repeats: 1, is_complete: false }
                .table(quantity)
        }),
    })
}

/// One metric of each family besides that of the question: its first with a direction that most contenders have.
fn family_metrics(contest: &Contest<'_>, by: Metric) -> Vec<Metric> {
    let mut chosen = Vec::new();
    for (_, family, _) in Family::ALL.iter().filter(|(_, family, _)| *family != by.family) {
        let of_family =
            metrics::all_metrics().filter(|metric| metric.family == *family && metric.better != Better::Neither);
        let most = of_family.fold(None::<(usize, Metric)>, |best, metric| {
            let number = count_having(&metric, contest);
            if number > best.map_or(0, |(most, _)| most) { Some((number, metric)) } else { best }
        });
        // What is the same in all runs is no price.
        chosen.extend(most.map(|(_, metric)| metric).filter(|metric| !is_constant(contest, metric)));
    }
    chosen
}

fn count_having(metric: &Metric, contest: &Contest<'_>) -> usize {
    (0..contest.names.len())
        .filter(|contender| contest.metric_numbers(*contender, metric.name).iter().any(Option::is_some))
        .count()
}

fn is_constant(contest: &Contest<'_>, metric: &Metric) -> bool {
    let numbers: Vec<Vec<Option<f64>>> =
        (0..contest.names.len()).map(|contender| contest.metric_numbers(contender, metric.name)).collect();
    numbers.len() > 1 && numbers.iter().all(|own| *own == numbers[0])
}

/// Names in a sentence: `a, b and c`.
fn list_names(names: &[&str]) -> String {
    match names {
        [most @ .., last] if !most.is_empty() => format!("{} and {last}", most.join(", ")),
        _ => names.concat(),
    }
}

fn verdict_in_words(scores: &Scores<'_, '_>) -> String {
    let contest = scores.contest;
    let metric = format!("mean {}", metric_words(&scores.metric));
    let over = match &scores.deciding {
        Some(DecidingJobs { common, .. }) if contest.repetitions.len() > 1 || common.others > 0 => {
            format!(" over the {} common jobs", format_count(common.count()))
        }
        _ if contest.repetitions.len() > 1 => format!(" over {}", contest.repeated_words()),
        _ => String::new(),
    };
    if contest.names.len() == 1 {
        return format!("The {metric} is {}{over}.", scores.in_words(0));
    }
    let Some(best) = scores.best_contender() else {
        return format!("No direction of {} is better, so no {} wins.", scores.metric.name, contest.one);
    };
    let head = format!("{} has the best {metric}, {}{over}", scores.name(best), scores.in_words(best));
    if !scores.has_intervals() {
        return format!("{head}; one run of each does not show whether that is significant.");
    }
    let rivals: Vec<usize> =
        (0..contest.names.len()).filter(|one| *one != best && scores.deciding_mean(*one).is_some()).collect();
    let (beaten, equal): (Vec<usize>, Vec<usize>) = rivals.into_iter().partition(|one| scores.beats(best, *one));
    let named = |contenders: &[usize]| -> Vec<&str> { contenders.iter().map(|one| scores.name(*one)).collect() };
    match (&beaten[..], &equal[..]) {
        ([], []) => format!("{head}; no other {} has this number.", contest.one),
        ([], equal) => format!("{head}, but it does not differ significantly from {}.", list_names(&named(equal))),
        ([one], []) => {
            let apart = scores.paired_difference(*one, best).map(|apart| scale_estimate(&scores.metric, &apart));
            let apart = apart.map_or_else(String::new, |apart| show_difference(&apart).text);
            let unit = shown::unit_of(&scores.metric);
            format!("{head}: significantly better than {} ({}).", scores.name(*one), format!("{apart} {unit}").trim())
        }
        (beaten, []) if beaten.len() > NAMED_MAX => format!("{head}: significantly better than all others."),
        (beaten, []) => format!("{head}: significantly better than {}.", list_names(&named(beaten))),
        (beaten, equal) => format!(
            "{head}: significantly better than {}, but not than {}.",
            list_names(&named(beaten)),
            list_names(&named(equal))
        ),
    }
}

/// Most contenders that are named if one beats all.
const NAMED_MAX: usize = 4;

/// Words for a metric: its name without underscores.
fn metric_words(metric: &Metric) -> String {
    metric.name.replace('_', " ")
}

/// Families in which another contender is significantly better than the best one.
fn price_in_words(scores: &Scores<'_, '_>, families: &[Scores<'_, '_>]) -> Option<String> {
    let best = scores.best_contender().filter(|_| scores.contest.names.len() > 1)?;
    let tested: Vec<&Scores<'_, '_>> =
        families.iter().filter(|family| family.has_intervals() && family.deciding_mean(best).is_some()).collect();
    if tested.is_empty() {
        return None;
    }
    let mut prices = Vec::new();
    let mut free = Vec::new();
    for family in &tested {
        let rivals = (0..scores.contest.names.len()).filter(|rival| family.beats(*rival, best));
        let rival = rivals.reduce(|one, next| if family.beats(next, one) { next } else { one });
        let word = family.metric.family.word();
        match rival {
            Some(rival) => prices.push(format!(
                "{word} ({}: {} for {}, {} for {})",
                family.metric.name,
                family.in_words(best),
                family.name(best),
                family.in_words(rival),
                family.name(rival)
            )),
            None => free.push(word),
        }
    }
    let name = scores.name(best);
    Some(match (prices.is_empty(), free.is_empty()) {
        (true, _) => {
            format!("By one metric of each other family ({}), {name} is significantly worse in none.", free.join(", "))
        }
        (false, true) => format!("The price of {name}: another is significantly better in {}.", prices.join("; ")),
        (false, false) => format!(
            "The price of {name}: another is significantly better in {}. In {} none is.",
            prices.join("; "),
            list_names(&free)
        ),
    })
}

/// Basis of significance, and the number of comparisons.
fn basis_in_words(scores: &Scores<'_, '_>, families: &[Scores<'_, '_>]) -> Option<String> {
    let contest = scores.contest;
    let tests = std::iter::once(scores).chain(families).filter(|scores| scores.has_intervals()).count();
    let tests = (tests * (contest.names.len() - 1)) as u64;
    if contest.names.len() < 2 || tests == 0 {
        return None;
    }
    let basis = match &scores.deciding {
        Some(DecidingJobs { common, .. }) if common.are_parts => format!(
            "{} parts of one run in order of submission, job by job (repetitions, such as windows of a log, say more)",
            common.clusters.len()
        ),
        Some(_) => format!("the common jobs of {}, job by job", contest.repeated_words()),
        None => format!("{}, paired", contest.repeated_words()),
    };
    Some(format!(
        "Significant: at 95 %, by Student's t over {basis}. Of {} here, about {} would be significant by chance; a family \
         of metrics counts once.",
        format_counted(tests, "comparison"),
        format_number((tests as f64 * 0.5).round() / 10.0)
    ))
}

/// Warning if all runs of all contenders are equal in all metrics.
fn equal_runs(contest: &Contest<'_>) -> Option<String> {
    let are_equal = contest.repetitions.iter().all(|runs| {
        let mut numbers = runs.iter().flatten().map(|run| &run.metrics);
        numbers.next().is_some_and(|first| numbers.all(|other| other == first))
    });
    (contest.names.len() > 1 && are_equal)
        .then(|| format!("All {}s have the same numbers: what is compared changes nothing.", contest.one))
}

/// The small table: means by the question's metric, differences from the best, and one metric of each other family.
fn standings_table(scores: &Scores<'_, '_>, families: &[Scores<'_, '_>]) -> NamedTable {
    let contest = scores.contest;
    let best = scores.best_contender().filter(|_| contest.names.len() > 1);
    let is_common = scores.deciding.as_ref().is_some_and(|deciding| deciding.common.others > 0);
    let mut heads = vec![TableHead::label(contest.one)];
    heads.push(TableHead::number(head_of(&scores.metric)));
    if is_common {
        heads.push(TableHead::number("common jobs"));
    }
    heads.extend(best.map(|best| TableHead::number(format!("against {}", contest.names[best]))));
    heads.extend(families.iter().map(|family| TableHead::number(head_of(&family.metric))));
    let row = |contender: usize| {
        let cell = |scores: &Scores<'_, '_>, mean: Option<Estimate>, with_within: bool| match mean {
            Some(mean) => show_estimate(&scale_estimate(&scores.metric, &mean), with_within)
                .with_mark(scores.contender_mark(contender)),
            None => TableCell::none(),
        };
        let mut cells = vec![TableCell::text(contest.names[contender].as_str())];
        let own = cell(scores, scores.own_mean(contender), true);
        cells.push(if is_common { own.with_mark(Mark::Plain) } else { own });
        if is_common {
            cells.push(cell(scores, scores.deciding_mean(contender), true));
        }
        cells.extend(best.map(|best| match scores.paired_difference(contender, best).filter(|_| contender != best) {
            Some(apart) => show_difference(&scale_estimate(&scores.metric, &apart)),
            None => TableCell::none(),
        }));
        cells.extend(families.iter().map(|family| cell(family, family.own_mean(contender), false)));
        cells
    };
    let mut notes = Vec::new();
    let by_family = families.iter().map(|family| format!("{} ({})", family.metric.name, family.metric.family.word()));
    let by_family: Vec<String> = by_family.collect();
    if !by_family.is_empty() {
        notes.push(format!("One metric of each other family: {}.", by_family.join(", ")));
    }
    if scores.own_mean(0).is_some_and(|own| own.within.is_some()) {
        let over = if contest.repetitions.len() > 1 { contest.repeated_words() } else { "parts of the run".to_owned() };
        notes.push(format!("±: 95 % confidence interval over {over}."));
    }
    NamedTable { name: "answer", title: "Answer", heads, rows: (0..contest.names.len()).map(row).collect(), notes }
}

/// Most columns of a table by group on a terminal.
const COLUMNS_MAX: usize = 10;

impl Answer {
    /// The answer for a terminal; `is_full` adds the work done and the groups of jobs.
    pub fn text(&self, is_full: bool) -> String {
        let mut text = String::new();
        let sentences = self.warnings.iter().map(|warning| format!("Warning: {warning}"));
        for sentence in std::iter::once(self.verdict.clone()).chain(self.remarks.iter().cloned()).chain(sentences) {
            text.push_str(&format!("{}\n", wrap_lines(&sentence)));
        }
        text.push_str(&format!("\n{}", self.standings.text()));
        // A table of work is short, and matters most where the work differs.
        if let Some(work) = self.work.as_ref().filter(|_| is_full) {
            text.push_str(&format!("\n{}\n{}", work.title, work.text()));
        }
        if let Some(groups) = self.groups.as_ref().filter(|_| is_full) {
            match groups.heads.len() {
                0..=COLUMNS_MAX => text.push_str(&format!("\n{}\n{}", groups.title, groups.text())),
                _ => {
                    text.push_str(&format!("\n{}: too wide for a terminal; the page and JSON have it.\n", groups.title))
                }
            }
        }
        text
    }

    /// Head of a page: sentences, warnings and the small table.
    pub fn head_html(&self) -> Html {
        let mut html = html!("<p class=\"lead\"><strong>{}</strong></p>\n", &self.verdict);
        for warning in &self.warnings {
            html += html!("<p class=\"partial\" role=\"note\">{warning}</p>\n", warning);
        }
        html += self.standings.html();
        html += self.remarks.iter().map(|remark| html!("<p>{remark}</p>\n", remark)).collect();
        html
    }

    /// Sections of a page after the head: id, title and body.
    pub fn page_sections(&self) -> Vec<(&'static str, &'static str, Html)> {
        let tables = [&self.work, &self.groups].into_iter().flatten();
        tables.map(|table| (table.name, table.title, table.html())).collect()
    }

    pub fn json(&self) -> Value {
        let tables = std::iter::once(&self.standings).chain(&self.work).chain(&self.groups);
        json!({
            "by": self.by.name,
            "unit": self.by.unit.name(),
            "verdict": self.verdict,
            "remarks": self.remarks,
            "warnings": self.warnings,
            "tables": tables.map(NamedTable::json).collect::<Vec<_>>(),
        })
    }
}
