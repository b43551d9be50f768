//! Sentences of the answer: the verdict on each change, and the basis of the numbers.

use super::super::by_group::SortedGroups;
use super::super::common::CommonJobs;
use super::super::list_names;
use super::super::shown::{show_difference, show_estimate};
use super::{Phases, WaitSums};
use crate::experiment::statistics::Estimate;
use hansa_sim::numerals::format_count;

/// Most groups of a sentence.
const GROUPS_MAX: usize = 4;

/// Verdict on a change; `is_idle` if all of its digests are the baseline's.
pub(super) fn verdict_sentence(name: &str, is_idle: bool, sums: &WaitSums, contender: usize) -> String {
    if is_idle {
        return format!("{name} changes nothing: in each phase, its run has the digest of the baseline's.");
    }
    let (Some(base), Some(own)) = (sums.mean(0), sums.mean(contender)) else {
        return format!("Under {name}, no job waits that also waits in the baseline.");
    };
    let apart = sums.difference(contender);
    let before = show_estimate(&base, true).text;
    let after = show_estimate(&own, true).text;
    let difference = apart.map_or_else(String::new, |apart| show_difference(&apart).text);
    match apart {
        Some(Estimate { within: None, .. }) | None => format!(
            "Under {name}, the mean wait is {after} s instead of {before} s ({difference} s); nothing here shows \
             whether that is more than chance."
        ),
        Some(apart) if apart.is_significant() => {
            let moves = if apart.mean < 0.0 { "falls" } else { "rises" };
            format!("Under {name}, the mean wait {moves} from {before} s to {after} s ({difference} s).")
        }
        Some(_) => format!(
            "Under {name}, the mean wait does not change significantly: {before} s in the baseline, {after} s with the \
             change ({difference} s)."
        ),
    }
}

/// Groups whose waits change significantly under a contender, by the first property that has such groups. None if
/// there are none.
pub(super) fn group_sentence(groups: &[SortedGroups], contender: usize) -> Option<String> {
    let changed = |sorted: &SortedGroups| {
        let mut changed: Vec<(f64, String)> = Vec::new();
        for group in &sorted.groups {
            let Some(apart) = group.difference(contender).filter(Estimate::is_significant) else { continue };
            let direction = if apart.mean < 0.0 { "less" } else { "longer" };
            let size = Estimate { mean: apart.mean.abs(), ..apart };
            let weight = size.mean * group.jobs as f64;
            changed.push((weight, format!("{} {direction} by {} s", group.label, show_estimate(&size, true).text)));
        }
        changed.sort_by(|one, other| other.0.total_cmp(&one.0));
        (!changed.is_empty()).then_some((sorted.name, changed))
    };
    let (name, changed) = groups.iter().find_map(changed)?;
    let more = changed.len().saturating_sub(GROUPS_MAX);
    let mut listed: Vec<String> = changed.into_iter().take(GROUPS_MAX).map(|(_, text)| text).collect();
    if more > 0 {
        listed.push(format!("{more} more as in the table"));
    }
    let listed: Vec<&str> = listed.iter().map(String::as_str).collect();
    Some(format!("By {name}, jobs wait: {}.", list_names(&listed)))
}

/// Number of phases below which intervals are called rough.
const PHASES_ENOUGH: usize = 5;

/// Basis of the numbers: jobs, phases and intervals.
pub(super) fn method_sentences(phases: Phases, common: &CommonJobs<'_>) -> Vec<String> {
    let jobs = format_count(common.count() / phases.repeats() as u64);
    let basis = match phases {
        Phases::Differ(count) => format!(
            "Means over {jobs} jobs, which are the same in all runs. ±: 95 % confidence interval over {count} phases, in \
             which all jobs are submitted a little later and meet the scheduler at another moment of its cycles; \
             differences are paired phase by phase. It does not say what another week of jobs would show."
        ),
        Phases::Agree(count) if common.clusters.len() == 1 => format!(
            "Means over {jobs} jobs, which are the same in all runs. All {count} phases have the same waits, and so few jobs \
             have no intervals."
        ),
        Phases::Agree(count) => format!(
            "Means over {jobs} jobs, which are the same in all runs. The phase of the submissions does not matter here: all \
             {count} phases have the same waits, so one would do (--phases 1 has no intervals, though). ±: 95 % confidence \
             interval over {} parts of the log in order of submission.",
            common.clusters.len()
        ),
        Phases::Single => format!(
            "Means over {jobs} jobs, which are the same in all runs. There is one phase, so there are no intervals, and no \
             difference is known to be more than chance."
        ),
    };
    let mut sentences = vec![basis];
    if let Phases::Differ(count) = phases
        && count < PHASES_ENOUGH
    {
        sentences.push(format!(
            "With {count} phases only, means and intervals are rough: more (--phases 10) may show others. The runs that are \
             there stay."
        ));
    }
    sentences
}
