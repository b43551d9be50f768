//! "Responsiveness": how long jobs took, by how much work they bring.

use super::chart::{BOTTOM, Figure, Scale, column_at, mark_line, stacked_columns};
use super::html::format_coord;
use super::sizes::{axis_of, tenths_in_words, work_tenths};
use super::{CHART, Page};
use crate::markup::{Html, html};
use hansa_sim::settings::units::MILLION;

/// Height of a numeral and the room above it.
const NUMERAL: f64 = 14.0;

impl Page<'_> {
    /// The section; empty if jobs are single tasks.
    pub(super) fn responsiveness_section(&self) -> Html {
        if self.results.has_only_single_tasks() {
            return Html::default();
        }
        let groups = &self.results.slr_by_size;
        let finite = |slr: Option<f64>| slr.filter(|slr| slr.is_finite() && *slr >= 0.0);
        let most = groups
            .iter()
            .flat_map(|group| [finite(group.slr), finite(group.slr_censored)])
            .flatten()
            .fold(0.0, f64::max);
        if most == 0.0 {
            return html!(
                "<p>No job had finished when the log ended, so nothing is known about how long jobs take.</p>\n"
            );
        }
        let scale = Scale::new((most * 1.12).max(1.2), CHART);
        let bars: Vec<_> = groups
            .iter()
            .map(|group| match finite(group.slr) {
                Some(slr) => vec![("f0", slr, format!("finished jobs took {slr:.3} times their critical path"))],
                None => Vec::new(),
            })
            .collect();
        let mut body = scale.axis("SLR") + stacked_columns(scale, axis_of(bars.len()), &bars);
        body += mark_line(scale, 1.0, "");
        let mut numbers = Html::default();
        for (column, group) in groups.iter().enumerate() {
            let (left, width) = column_at(column, groups.len());
            let middle = left + width / 2.0;
            let slr = finite(group.slr);
            let censored = finite(group.slr_censored);
            if let Some(censored) = censored {
                let y = scale.y(censored);
                body += html!(
                    "<path class=\"point\" d=\"M{} {}l6 6l-6 6l-6 -6z\">\
                     <title>with starved jobs {censored:.3}</title></path>\n",
                    format_coord(middle),
                    format_coord(y - 6.0),
                    censored
                );
            }
            if let Some(slr) = slr {
                // At the foot of its column, so that no reader takes it for the diamond's; above a column that is low.
                let foot = CHART - BOTTOM - 6.0;
                let is_inside = scale.y(slr) < foot - NUMERAL;
                let (class, y) = if is_inside { ("value on", foot) } else { ("value", scale.y(slr) - 5.0) };
                numbers += html!(
                    "<text class=\"{class}\" x=\"{}\" y=\"{}\">{slr:.2}</text>\n",
                    format_coord(middle),
                    format_coord(y),
                    class,
                    slr
                );
            }
        }
        body += numbers;
        let listed: Vec<String> =
            groups.iter().map(|group| group.slr.map_or("none".to_owned(), |slr| format!("{slr:.2}"))).collect();
        let has_deadlines = groups.iter().any(|group| finite(group.slr_censored).is_some());
        let faster = self.topology.sites.iter().any(|site| site.speed_millionths > MILLION);
        let least = if faster {
            "what a job takes alone at a speed of 1; faster sites can do with less"
        } else {
            "the minimum"
        };
        let mut note = format!(
            "SLR is the time from submission to completion as a multiple of the critical path: 1, the dashed line, is \
             {least}. The columns, with their numbers, are means over finished jobs"
        );
        let mut legend = vec![("f0".to_owned(), "finished jobs".to_owned())];
        if has_deadlines {
            note.push_str(
                "; the diamonds are means over all jobs with a deadline, where starved jobs count with their final \
                 deadline",
            );
            legend.push(("diamond".to_owned(), "all jobs with a deadline".to_owned()));
        }
        let tenths = work_tenths(self.tally.jobs.values().filter(|row| self.tally.slr_counts(row)));
        let grouped = tenths.iter().map(Vec::len).sum::<usize>() as u64;
        let jobs = if grouped < self.results.jobs.submitted { "jobs that do not only wait for nodes" } else { "jobs" };
        Figure {
            id: "slr",
            title: "SLR of jobs, by their size",
            desc: format!(
                "One column per tenth of the jobs by work: mean SLR of finished jobs, from the smallest to \
                 the largest: {}.",
                listed.join(", ")
            ),
            note: format!("{note}. {}", tenths_in_words(&tenths, jobs)),
            legend,
            height: CHART,
            body,
        }
        .html()
    }
}
