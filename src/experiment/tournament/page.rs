//! Standings as a page to read: a table of means with their intervals, differences from whom all are compared with, and
//! a picture of each metric.

use std::fmt::Write;

use super::text::{NONE, exponent, settings, shown};
use super::{Cell, Column, Entrant, Panel, Standings};
use crate::math;
use crate::report::Better;
use crate::report::html::{at, counted, document, escape, step, table};

/// The page; `facts` say which file and which grid it is of.
pub fn page(standings: &Standings, facts: &[String]) -> String {
    let name = escape(&standings.name);
    let mut body = format!("<header><p class=\"kicker\">A tournament of Hansa</p><h1>{name}</h1>\n");
    let about = standings.about.as_ref().map_or(String::new(), |about| format!("{} ", escape(about.trim())));
    let _ = writeln!(
        body,
        "<p class=\"lead\">{about}{} on the same grid with the same jobs, {} each.</p></header>",
        counted(standings.entrants.len() as u64, "entrant"),
        counted(standings.repetitions as u64, "run"),
    );
    let against = escape(&standings.entrants[standings.against].name);
    let _ = writeln!(
        body,
        "<section><h2>How to read it</h2><p>A number is the mean over the seeds, and ± how far the true mean may be \
         from it, with a confidence of 95 %. Below it stands the mean difference from {against}, seed by seed, where \
         that can be told from zero. Bold is best: nobody's mean is better, or it cannot be told apart from the best \
         one. A dash says that this system has no such number.</p></section>",
    );
    let scales: Vec<Scale> = (0..standings.metrics.len()).map(|metric| Scale::of(standings, metric)).collect();
    for panel in &standings.panels {
        let title = if panel.settings.is_empty() { "Standings".to_owned() } else { escape(&settings(panel)) };
        let _ = write!(body, "<section><h2>{title}</h2>\n{}", numbers(standings, panel));
        for (metric, column) in standings.metrics.iter().enumerate() {
            body.push_str(&picture(standings, panel, metric, column, scales[metric]));
        }
        body.push_str("</section>\n");
    }
    body.push_str(&legend(standings));
    let _ =
        writeln!(body, "<footer>{}</footer>", facts.iter().map(|fact| escape(fact)).collect::<Vec<_>>().join("<br>"));
    document(&format!("{name}: a tournament of Hansa"), &body)
}

/// Columns of a table, before the others come below.
const COLUMNS: usize = 6;

fn numbers(standings: &Standings, panel: &Panel) -> String {
    let mut html = String::new();
    let metrics: Vec<usize> = (0..standings.metrics.len()).collect();
    // Tables of about the same width read best.
    let tables = metrics.len().div_ceil(COLUMNS).max(1);
    for block in metrics.chunks(metrics.len().div_ceil(tables).max(1)) {
        let heads = block.iter().map(|metric| format!("#{}", escape(standings.metrics[*metric].name)));
        let columns: Vec<String> = ["Entrant".to_owned()].into_iter().chain(heads).collect();
        let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
        let row = |(entrant, row): (&Entrant, &Vec<Cell>)| {
            let name = format!("<span class=\"whole\">{}</span>", escape(&entrant.name));
            [name].into_iter().chain(block.iter().map(|metric| cell(&row[*metric]))).collect::<Vec<String>>()
        };
        html.push_str(&table(&columns, standings.entrants.iter().zip(&panel.rows).map(row)));
    }
    html
}

fn cell(cell: &Cell) -> String {
    let Some(estimate) = &cell.estimate else { return NONE.to_owned() };
    let within =
        estimate.within.map_or(String::new(), |within| format!("<span class=\"soft\"> ± {}</span>", shown(within)));
    let mean = shown(estimate.mean);
    let mean = if cell.is_best { format!("<strong>{mean}</strong>") } else { mean };
    let apart = cell.difference.filter(|apart| apart.tells()).map_or(String::new(), |apart| {
        let sign = if apart.mean > 0.0 { "+" } else { "−" };
        format!("<br><span class=\"soft\">{sign}{}</span>", shown(apart.mean.abs()))
    });
    format!("{mean}{within}{apart}")
}

fn legend(standings: &Standings) -> String {
    let mut html = String::from("<section><h2>What is compared</h2>\n<p>Times are in seconds.</p>\n");
    let words = |column: &Column| match column.better {
        Better::More => "; more is better",
        Better::Less => "; less is better",
        Better::Neither => "",
    };
    let metrics = standings.metrics.iter().map(|metric| {
        vec![format!("<code>{}</code>", metric.name), format!("{}{}", escape(metric.about), words(metric))]
    });
    html.push_str(&table(&["Metric", "What it is"], metrics));
    let entrants = standings
        .entrants
        .iter()
        .map(|entrant| vec![escape(&entrant.name), escape(entrant.about.as_deref().unwrap_or_default())]);
    html.push_str(&table(&["Entrant", "What it is"], entrants));
    html.push_str("</section>\n");
    html
}

const WIDTH: f64 = 960.0;
const LEFT: f64 = 190.0;
const RIGHT: f64 = 90.0;
const ROW: f64 = 22.0;
const TOP: f64 = 8.0;
const BOTTOM: f64 = 26.0;

/// From which ratio on numbers are easier to read on a logarithmic axis.
const LOGARITHMIC: f64 = 30.0;

/// Numbers that are so much closer to each other than to zero hide their differences on an axis that starts there.
const FAR_FROM_ZERO: f64 = 3.0;

/// And of those that are so much closer nothing can be seen, whatever the axis.
const ROUNDING: f64 = 1e-6;

/// How the pictures of a metric are scaled, in all panels alike.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Scale {
    Linear,
    Logarithmic,
}

impl Scale {
    fn of(standings: &Standings, metric: usize) -> Scale {
        let means = |panel: &Panel| -> Vec<f64> {
            known(panel, metric).filter_map(|(_, cell)| Some(cell.estimate.as_ref()?.mean)).collect()
        };
        let ratio = |panel: &Panel| {
            let (least, most) = means(panel)
                .into_iter()
                .fold((f64::INFINITY, 0.0), |(least, most), mean| (f64::min(least, mean), f64::max(most, mean)));
            if least.is_finite() { most / least } else { 1.0 }
        };
        let is_positive = standings.panels.iter().flat_map(means).all(|mean| mean > 0.0);
        match is_positive && standings.panels.iter().any(|panel| ratio(panel) > LOGARITHMIC) {
            true => Scale::Logarithmic,
            false => Scale::Linear,
        }
    }
}

/// Who has a number for this metric.
fn known(panel: &Panel, metric: usize) -> impl Iterator<Item = (usize, &Cell)> {
    let cells = panel.rows.iter().enumerate().map(move |(entrant, row)| (entrant, &row[metric]));
    cells.filter(|(_, cell)| cell.estimate.is_some())
}

/// A dot an entrant with its interval.
fn picture(standings: &Standings, panel: &Panel, metric: usize, column: &Column, scale: Scale) -> String {
    let known: Vec<(usize, &Cell)> = known(panel, metric).collect();
    // One dot compares nothing.
    if known.len() < 2 {
        return String::new();
    }
    let numbers = known.iter().filter_map(|(_, cell)| cell.estimate).map(|it| (it.mean, it.within.unwrap_or(0.0)));
    let axis = Axis::of(numbers, scale);
    let height = TOP + BOTTOM + ROW * known.len() as f64;
    let mut svg =
        format!("<svg viewBox=\"0 0 {WIDTH} {}\" role=\"img\" aria-label=\"{}\">", at(height), escape(column.about));
    svg.push_str(&axis.svg(height));
    for (place, (entrant, cell)) in known.iter().enumerate() {
        let Some(estimate) = cell.estimate else { continue };
        let y = at(TOP + ROW * (place as f64 + 0.5));
        let name = escape(&standings.entrants[*entrant].name);
        let weight = if cell.is_best { " font-weight=\"650\"" } else { "" };
        let _ = write!(
            svg,
            "<g class=\"axis\"><text x=\"{}\" y=\"{y}\" dy=\".32em\" text-anchor=\"end\"{weight}>{name}</text></g>",
            LEFT - 12.0
        );
        if let Some(within) = estimate.within {
            let (from, to) = (axis.x(estimate.mean - within), axis.x(estimate.mean + within));
            let _ = write!(svg, "<path d=\"M{} {y}H{}\" stroke=\"var(--c0)\" stroke-width=\"2.5\"/>", at(from), at(to));
        }
        let fill = if cell.is_best { "var(--c0)" } else { "var(--card)" };
        let told = escape(&format!("{}: {}", standings.entrants[*entrant].name, shown(estimate.mean)));
        let _ = write!(
            svg,
            "<circle cx=\"{}\" cy=\"{y}\" r=\"4.5\" fill=\"{fill}\" stroke=\"var(--c0)\" \
             stroke-width=\"1.8\"><title>{told}</title></circle>",
            at(axis.x(estimate.mean))
        );
        let _ = write!(
            svg,
            "<text class=\"caption\" x=\"{}\" y=\"{y}\" dy=\".32em\">{}</text>",
            at(WIDTH - RIGHT + 14.0),
            shown(estimate.mean)
        );
    }
    svg.push_str("</svg>");
    let scale = match scale {
        Scale::Logarithmic => " On a logarithmic scale.",
        Scale::Linear if axis.from > 0.0 => " The axis does not start at 0.",
        Scale::Linear => "",
    };
    format!(
        "<figure><h3>{}</h3>\n{svg}<figcaption>{}.{scale}</figcaption></figure>\n",
        escape(column.name),
        escape(&capital(column.about))
    )
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

/// From left to right.
struct Axis {
    from: f64,
    to: f64,
    scale: Scale,
}

impl Axis {
    /// For means and what they may be off by.
    fn of(numbers: impl Iterator<Item = (f64, f64)> + Clone, scale: Scale) -> Axis {
        let least = numbers.clone().map(|(mean, _)| mean).fold(f64::INFINITY, f64::min);
        let most = numbers.clone().map(|(mean, within)| mean + within).fold(f64::NEG_INFINITY, f64::max);
        if scale == Scale::Logarithmic {
            let (from, to) = (exponent(least), -exponent(1.0 / most));
            return Axis { from: decade(from), to: decade(to.max(from + 1)), scale };
        }
        let lowest = numbers.map(|(mean, within)| mean - within).fold(f64::INFINITY, f64::min);
        let spread = most - lowest;
        let from = match lowest {
            _ if least < 0.0 => lowest,
            lowest if spread > ROUNDING * most && lowest > FAR_FROM_ZERO * spread => {
                let step = step(spread / 6.0);
                (lowest / step).floor() * step
            }
            _ => 0.0,
        };
        let to = if most > from { most } else { from + 1.0 };
        Axis { from, to, scale }
    }

    fn x(&self, number: f64) -> f64 {
        let share = match self.scale {
            Scale::Logarithmic => math::ln(number.max(self.from) / self.from) / math::ln(self.to / self.from),
            Scale::Linear => (number - self.from) / (self.to - self.from),
        };
        LEFT + share.clamp(0.0, 1.0) * (WIDTH - LEFT - RIGHT)
    }

    fn svg(&self, height: f64) -> String {
        let mut svg = String::from("<g class=\"axis\">");
        let bottom = height - BOTTOM;
        for value in self.lines() {
            let x = at(self.x(value));
            let _ = write!(
                svg,
                "<path d=\"M{x} {TOP}V{}\"/><text x=\"{x}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
                at(bottom),
                at(bottom + 17.0),
                shown(value)
            );
        }
        svg.push_str("</g>");
        svg
    }

    fn lines(&self) -> Vec<f64> {
        if self.scale == Scale::Logarithmic {
            return (exponent(self.from)..=exponent(self.to * 1.0001)).map(decade).collect();
        }
        let step = step((self.to - self.from) / 6.0);
        let first = (self.from / step).ceil() as i64;
        let end = self.to + 1e-3 * step;
        (first..).map(|count| count as f64 * step).take_while(|value| *value <= end).collect()
    }
}

fn decade(exponent: i32) -> f64 {
    format!("1e{exponent}").parse().unwrap_or(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_axis_has_a_few_lines_however_near_its_numbers_are() {
        for (one, other) in [(1e6, 1e6 + 1.0), (1e6, 1e6 + 1e-9), (1e6, 1e6), (0.0, 0.0), (3.0, 4.0), (-2.0, 5.0)] {
            let axis = Axis::of([(one, 0.0), (other, 0.0)].into_iter(), Scale::Linear);
            assert!((1..20).contains(&axis.lines().len()), "{one} and {other}: {:?}", axis.lines());
            assert!(axis.from <= one.min(other) && other.max(one) <= axis.to);
        }
    }
}
