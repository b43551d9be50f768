//! The comparison as JSON: exact numbers, and beside those of metrics their text for people.

use serde_json::{Map, Value, json};

use super::groups::Division;
use super::jobs::{Change, Changes, JobChanges, QUANTILES};
use super::text::ratio_digits;
use super::{Comparison, LogComparison, MetricRow, Side, run_letter};
use crate::Better;
use crate::experiment::answer::Answer;

impl Comparison {
    /// The whole comparison. Lists of values are in the order of `results`.
    pub fn json(&self) -> Value {
        let results: Vec<Value> = self.sides.iter().enumerate().map(|(run, side)| result_json(run, side)).collect();
        let settings: Vec<Value> =
            self.settings.iter().map(|setting| json!({ "key": setting.key, "values": setting.values })).collect();
        let verdicts: Vec<String> = (1..self.sides.len()).map(|run| self.verdict_sentence(run)).collect();
        let logs = self.sides.iter().enumerate().filter_map(|(run, side)| log_json(run, &side.log));
        json!({
            "results": results,
            "answer": self.answer.as_ref().map(Answer::json),
            "verdicts": verdicts,
            "notes": self.notes,
            "settings": settings,
            "metrics": self.metrics.iter().map(|row| self.metric_json(row)).collect::<Vec<_>>(),
            "absent": self.absent,
            "jobs": self.changes.iter().map(jobs_json).collect::<Vec<_>>(),
            "first_difference": logs.collect::<Vec<_>>(),
            "over_time": self.courses_json(),
        })
    }

    fn metric_json(&self, row: &MetricRow) -> Value {
        let runs = 0..self.sides.len();
        let others = 1..self.sides.len();
        let digits = ratio_digits(self);
        let better = match row.metric.better {
            Better::More => "more",
            Better::Less => "less",
            Better::Neither => "neither",
        };
        json!({
            "name": row.metric.name,
            "about": row.metric.about,
            "unit": row.metric.unit.name(),
            "better": better,
            "values": row.values,
            "differences": others.clone().map(|run| row.value_difference(run)).collect::<Vec<_>>(),
            "ratios": others.clone().map(|run| row.value_ratio(run)).collect::<Vec<_>>(),
            "text": {
                "values": runs.map(|run| row.value_text(run)).collect::<Vec<_>>(),
                "differences": others.clone().map(|run| row.difference_text(run)).collect::<Vec<_>>(),
                "ratios": others.map(|run| row.ratio_text(run, digits)).collect::<Vec<_>>(),
            },
        })
    }

    fn courses_json(&self) -> Value {
        let courses = self.sides.iter().enumerate().filter_map(|(run, side)| {
            let course = side.course.as_ref()?;
            Some(json!({ "result": run_letter(run), "busy": course.busy, "waiting": course.waiting }))
        });
        json!({
            "from": time_seconds(self.window.from),
            "to": time_seconds(self.window.to),
            "results": courses.collect::<Vec<_>>(),
        })
    }
}

fn time_seconds(time: hansa_sim::time::Time) -> f64 {
    time.micros() as f64 / 1e6
}

fn result_json(run: usize, side: &Side) -> Value {
    let results = &side.summary.results;
    json!({
        "result": run_letter(run),
        "folder": side.name,
        "topology": results.topology,
        "seed": results.seed,
        "status": side.manifest.status,
        "digest": results.digest,
        "jobs": results.jobs.submitted,
        "live": side.summary.run.live.is_some(),
    })
}

fn log_json(run: usize, log: &LogComparison) -> Option<Value> {
    let result = run_letter(run);
    match log {
        LogComparison::Reference => None,
        LogComparison::Same => Some(json!({ "result": result, "same": true })),
        LogComparison::Live => Some(json!({ "result": result, "same": null })),
        LogComparison::Differs(difference) => Some(json!({
            "result": result,
            "same": false,
            "line": difference.line,
            "what": difference.what,
            "first": difference.a,
            "other": difference.b,
        })),
    }
}

fn jobs_json(changes: &JobChanges) -> Value {
    json!({
        "result": run_letter(changes.run),
        "matched": changes.matched,
        "only_in_first": changes.only_first,
        "only_in_other": changes.only_here,
        "unlike": changes.unlike,
        "ended_only_in_first": changes.ended_only_first,
        "ended_only_in_other": changes.ended_only_here,
        "quantities": changes.quantities.iter().map(quantity_json).collect::<Vec<_>>(),
        "largest": changes.largest.iter().map(change_json).collect::<Vec<_>>(),
        "divisions": changes.divisions.iter().map(division_json).collect::<Vec<_>>(),
    })
}

fn quantity_json(all: &Changes) -> Value {
    let quantiles: Map<String, Value> =
        QUANTILES.iter().zip(all.quantiles).map(|(percent, number)| (percent.to_string(), json!(number))).collect();
    json!({
        "name": all.name,
        "about": all.about,
        "better": all.better,
        "worse": all.worse,
        "same": all.same,
        "mean": all.mean,
        "quantiles": quantiles,
    })
}

fn division_json(division: &Division) -> Value {
    json!({ "by": division.name, "groups": division.groups.iter().map(|group| {
        json!({
            "name": group.label,
            "jobs": group.jobs,
            "better": group.better,
            "worse": group.worse,
            "first": group.first,
            "other": group.here,
        })
    }).collect::<Vec<_>>() })
}

fn change_json(change: &Change) -> Value {
    json!({
        "job": change.label,
        "user": change.user,
        "submitted": change.submitted,
        "cores": change.cores,
        "first": change.first,
        "other": change.here,
        "difference": change.difference(),
    })
}
