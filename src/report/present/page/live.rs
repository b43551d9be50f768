//! Measurements of a live run, compared with the model.

use super::Page;
use super::html::{unbroken_number, unbroken_percent};
use crate::markup::{Html, html};

impl Page<'_> {
    /// The section; empty, if the run was not a live one.
    pub(super) fn live_section(&self) -> Html {
        let Some((live, plot)) = self.summary.run.live.zip(self.plot) else { return Html::default() };
        let mut html = html!(
            "<p>Virtual time was paced at {} times real time, and the bytes of {} flows were really sent over links \
             that the router limited to their capacity. Such a run is not reproducible and has no digest.</p>\n",
            unbroken_number(live.speed),
            unbroken_number(live.flows as f64)
        );
        if let (Some(median), Some(p95), Some(max), Some(overall)) =
            (live.median_error, live.p95_error, live.max_error, live.overall)
        {
            html += html!(
                "<p>Measured times differ from the model by {} in the median, by no more than {} for 95 % of the \
                 flows, and by {} at most. In total the flows took {} times as long as in the model.</p>\n",
                unbroken_percent(median),
                unbroken_percent(p95),
                unbroken_percent(max),
                format_args!("{overall:.2}")
            );
        }
        if let Some(doubt) = live.doubt_warning() {
            html += html!("<p><strong>Note: {doubt}</strong></p>\n", doubt);
        }
        html += html!(
            "<figure><div class=\"scroll\">{plot}</div><figcaption>One point per flow; on the dashed line the model is \
             exact.</figcaption></figure>\n",
            plot
        );
        html
    }
}
