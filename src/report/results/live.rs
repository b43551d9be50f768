//! A live run: the actual durations of transfers, compared with the model.

use std::collections::{BTreeMap, VecDeque};
use std::fmt::Write;

use crate::Tally;
use crate::axes::{Axis, PlotArea};
use crate::markup::{Html, html};
use crate::palette::{ON_LIGHT, SOFT};
use crate::results::summary::LiveFacts;
use crate::tables::columns::{TableForm, number, seconds, text, whole_number};
use crate::tables::csv::put_ends;
use hansa_sim::grid::EdgeId;

/// The flows of a live run, in order of release.
pub struct LiveFlows {
    speed: f64,
    rows: Vec<MeasuredTransfer>,
}

struct MeasuredTransfer {
    edge: EdgeId,
    from: String,
    to: String,
    bytes: u64,
    released: f64,
    model: f64,
    measured: f64,
}

pub const LIVE: TableForm = TableForm {
    file: "live.csv",
    about: "One row per flow of a live run, whose bytes were really sent.",
    columns: &[
        whole_number("job", "number of the job whose data it is"),
        text("edge", "the tasks between which it goes, as in transfers.csv"),
        text("from", "the site that sends"),
        text("to", "the site that receives"),
        whole_number("bytes", "volume"),
        seconds("released", "when it was sent"),
        seconds("model", "time that it takes in the model"),
        seconds("measured", "time that it took, in virtual time"),
        number("error", "", "measured less model, in model times"),
    ],
};

impl LiveFlows {
    /// The flows of a tally. `times` are seconds of real time, in order of release: the input of a job that is
    /// submitted again is sent again.
    pub fn of(tally: &Tally, speed: f64, times: &[(EdgeId, f64)]) -> LiveFlows {
        let mut of_edge: BTreeMap<EdgeId, VecDeque<f64>> = BTreeMap::new();
        for (edge, time) in times {
            of_edge.entry(*edge).or_default().push_back(*time);
        }
        LiveFlows {
            speed,
            rows: tally
                .timed()
                .filter_map(|row| {
                    Some(MeasuredTransfer {
                        edge: row.edge,
                        from: row.from.to_owned(),
                        to: row.to.to_owned(),
                        bytes: row.bytes,
                        released: row.released,
                        model: row.seconds,
                        measured: of_edge.get_mut(&row.edge)?.pop_front()? * speed,
                    })
                })
                .collect(),
        }
    }

    pub fn summary_facts(&self) -> LiveFacts {
        let mut errors: Vec<f64> =
            self.rows.iter().filter_map(MeasuredTransfer::relative_error).map(f64::abs).collect();
        errors.sort_by(f64::total_cmp);
        let count = errors.len();
        let model = self.sum_of(|row| row.model);
        let measured = self.sum_of(|row| row.measured);
        LiveFacts {
            speed: self.speed,
            flows: self.rows.len() as u64,
            median_error: (count > 0).then(|| (errors[(count - 1) / 2] + errors[count / 2]) / 2.0),
            p95_error: (count > 0).then(|| errors[(count * 95).div_ceil(100) - 1]),
            max_error: errors.last().copied(),
            overall: (model > 0.0).then(|| measured / model),
        }
    }

    fn sum_of(&self, what: fn(&MeasuredTransfer) -> f64) -> f64 {
        self.rows.iter().map(what).sum::<f64>()
    }

    /// `live.csv`: one row per flow; seconds of virtual time.
    pub fn csv(&self) -> String {
        let mut text = String::from_utf8(LIVE.header_line(&[])).expect("names are text");
        for row in &self.rows {
            let MeasuredTransfer { edge, from, to, bytes, released, model, measured } = row;
            let error = row.relative_error().map_or(String::new(), |error| format!("{error:.6}"));
            let mut ends = Vec::new();
            put_ends(&mut ends, edge);
            let job = edge.job;
            let ends = String::from_utf8_lossy(&ends);
            writeln!(text, "{job},{ends},{from},{to},{bytes},{released},{model:.6},{measured:.6},{error}")
                .expect("a string takes all that is written");
        }
        text
    }

    /// `live.svg`: one point per flow, the model's time to the right and the measured one upwards.
    pub fn to_svg(&self) -> Html {
        let most = self.rows.iter().map(|row| row.model.max(row.measured)).fold(0.0, f64::max).max(1e-3);
        let axis = Axis::covering(0.0, most, 5.0);
        let ticks = axis.tick_labels(format_seconds);
        let PlotArea { left, right, top, bottom } = SQUARE;
        let mut svg = html!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\" \
             role=\"img\" font-family=\"sans-serif\" font-size=\"12\" fill=\"{SOFT}\">\n\
             <title>Measured times of transfers beside those of the model</title>\n\
             <g class=\"axis\">{2}{3}{4}{5}</g>\n\
             <path d=\"M{left} {bottom}L{right} {top}\" stroke=\"{SOFT}\" stroke-dasharray=\"4 4\"/>\n",
            right + 24.0,
            bottom + 48.0,
            SQUARE.lines_down(&ticks),
            SQUARE.lines_across(&ticks),
            SQUARE.name_below("model, seconds"),
            SQUARE.name_beside("measured, seconds"),
            [SOFT, left, right, top, bottom]
        );
        for row in &self.rows {
            svg += html!(
                "<circle cx=\"{:.1}\" cy=\"{:.1}\" r=\"4\" fill=\"{}\" fill-opacity=\"0.6\">\
                 <title>{} from {} to {}: model {:.3} s, measured {:.3} s</title></circle>\n",
                SQUARE.x(axis.share(row.model)),
                SQUARE.y(axis.share(row.measured)),
                ON_LIGHT[0],
                row.edge,
                row.from,
                row.to,
                row.model,
                row.measured
            );
        }
        svg + html!("</svg>\n")
    }
}

/// Plot area of `live.svg`; both axes have the same seconds.
const SQUARE: PlotArea = PlotArea { left: 64.0, right: 484.0, top: 16.0, bottom: 436.0 };

impl MeasuredTransfer {
    fn relative_error(&self) -> Option<f64> {
        (self.model > 0.0).then(|| self.measured / self.model - 1.0)
    }
}

fn format_seconds(seconds: f64) -> String {
    let text = format!("{seconds:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{BATH, ROUTER, YORK, names, story, topology};
    use hansa_sim::grid::JobId;
    use hansa_sim::kernel::Entry;
    use hansa_sim::protocol::Record;
    use hansa_sim::time::{Span, Stamp, Time};

    #[test]
    fn input_that_is_brought_twice_is_measured_twice_and_comes_from_home() {
        let mut tally = Tally::new(&topology(), &names());
        tally.add(&story()[0]).unwrap();
        let edge = EdgeId { job: JobId(0), from: EdgeId::HOME, to: 0 };
        let mut add = |second: u64, record| {
            let stamp = Stamp::at(Time::ZERO + Span::from_secs(second));
            tally.add(&Entry { stamp, actor: ROUTER, record }).unwrap();
        };
        for (began, ended, to) in [(10, 20, BATH), (30, 50, YORK)] {
            let active = Time::ZERO + Span::from_secs(began);
            add(began, Record::Sent { edge, from: YORK, to, bytes: 7, active });
            add(ended, Record::Delivered { edge });
        }
        let live = LiveFlows::of(&tally, 2.0, &[(edge, 5.5), (edge, 11.0)]);
        let rows = "0,home-0,york,bath,7,10,10.000000,11.000000,0.100000\n0,home-0,york,york,7,30,20.000000,22.000000,0.100000\n";
        assert_eq!(live.csv(), format!("job,edge,from,to,bytes,released,model,measured,error\n{rows}"));
    }
}
