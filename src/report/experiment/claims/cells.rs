//! Numbers of the terms of written claims: means over seeds for each combination of settings.

use std::collections::BTreeMap;

use super::formula::{Choice, Each, Formula, Metric, Numbered, Operator, Pick, Term, is_equal};
use super::judge::{Number, exact_number};
use crate::experiment::metrics::find_metric;
use hansa_sim::near::nearest_name;

/// Samples of all metrics, by the values of the axes that are no seeds.
pub struct Cells<'e> {
    /// Keys with their values.
    axes: Vec<(&'e str, &'e [String])>,
    metrics: Vec<&'static str>,
    /// Numbers of the metrics for each combination, in order of the seeds; None where a run has no such number.
    samples: BTreeMap<Vec<usize>, Vec<Vec<Option<f64>>>>,
}

/// Most combinations of values for which one comparison is made.
const POINTS_MAX: usize = 10_000;

/// The value that a name in a formula stands for.
#[derive(Clone, Debug)]
struct Bound {
    name: String,
    /// The axis of the value; None if it is a number.
    axis: Option<usize>,
    /// Index of the value on the axis, or the number itself.
    value: usize,
    /// Index of the last value of the axis, or the last number.
    last: usize,
}

/// The values that all names stand for.
#[derive(Clone, Debug, Default)]
pub struct Point(Vec<Bound>);

impl<'e> Cells<'e> {
    /// Cells without samples.
    pub fn new(axes: Vec<(&'e str, &'e [String])>, metrics: Vec<&'static str>) -> Cells<'e> {
        Cells { axes, metrics, samples: BTreeMap::new() }
    }

    /// Adds the numbers of a run with these values of the axes. O(axes * their values).
    pub fn add(&mut self, values: &[&str], numbers: &[Option<f64>]) {
        let Some(places) =
            self.axes.iter().zip(values).map(|((_, all), value)| all.iter().position(|one| one == value)).collect()
        else {
            return;
        };
        let of = self.samples.entry(places).or_insert_with(|| vec![Vec::new(); self.metrics.len()]);
        of.iter_mut().zip(numbers).for_each(|(of, number)| of.push(*number));
    }

    /// All combinations of the values that names stand for, in order; the first name changes slowest.
    pub fn list_points(&self, each: &[Each]) -> Result<Vec<Point>, String> {
        let mut points = vec![Point::default()];
        for each in each {
            let (name, axis, values, last) = match each {
                Each::Values(name, choice) => {
                    let (axis, values) = self.chosen_values(choice)?;
                    let name = name.clone().unwrap_or_else(|| self.label(axis).to_owned());
                    (name, Some(axis), values, self.axes[axis].1.len() - 1)
                }
                Each::Numbers(name, first, last) => {
                    let first = *first as usize;
                    let last = *last as usize;
                    (name.clone(), None, (first..=last).collect(), last)
                }
            };
            let is_own = axis.is_some_and(|axis| self.label(axis) == name);
            let is_value = self.axes.iter().any(|(_, values)| values.iter().any(|value| is_equal(value, &name)));
            if !is_own && (self.axis(&name).is_some() || is_value) {
                return Err(format!("{name} is an axis or a value of one: expected another name"));
            }
            if points[0].find(&name).is_some() {
                return Err(format!(
                    "two lines of `each` are about {name}: expected another name, as in `other: {name}`"
                ));
            }
            if points.len() * values.len() > POINTS_MAX {
                return Err(format!("these are more than {POINTS_MAX} combinations of values"));
            }
            points = points
                .iter()
                .flat_map(|point| values.iter().map(|value| bind_value(point, *value, axis, last, &name)))
                .collect();
        }
        Ok(points)
    }

    /// Both sides of a comparison; None if one of them is beyond the last value of an axis.
    pub fn formula_sides(&self, formula: &Formula, point: &Point) -> Result<Option<(Number, Number)>, String> {
        let left = self.term_number(&formula.left, point)?;
        let right = self.term_number(&formula.right, point)?;
        Ok(left.zip(right))
    }

    /// The number of a term; None if it is beyond the last value of an axis.
    pub fn term_number(&self, term: &Term, point: &Point) -> Result<Option<Number>, String> {
        match term {
            Term::Number(number) => Ok(Some(exact_number(*number))),
            Term::Metric(metric) => match &self.metric_numbers(metric, point)?[..] {
                [] => Ok(None),
                [one] => Ok(Some(one.clone())),
                many => {
                    let count = many.len();
                    let name = &metric.name;
                    Err(format!("{name}: expected one value of each axis, found {count}: use largest or smallest"))
                }
            },
            Term::Absolute(term) => Ok(self.term_number(term, point)?.map(|number| match number.constant() {
                Some(constant) => exact_number(constant.abs()),
                None => number.absolute(),
            })),
            Term::Combined(operator, one, other) => {
                let Some((one, other)) = self.term_number(one, point)?.zip(self.term_number(other, point)?) else {
                    return Ok(None);
                };
                combine_numbers(*operator, &one, &other).map(Some)
            }
            Term::Ranked { is_largest, rank, of } => {
                let mut numbers = self.metric_numbers(of, point)?;
                let word = if *is_largest { "largest" } else { "smallest" };
                if *rank > numbers.len() {
                    let count = numbers.len();
                    return Err(format!("{word}({rank}, {}): there are only {count}", of.name));
                }
                if let Some(missing) = numbers.iter().find(|number| number.value.is_none()) {
                    return Ok(Some(missing.clone()));
                }
                numbers.sort_by(|one, other| {
                    let order = one.value.unwrap_or(0.0).total_cmp(&other.value.unwrap_or(0.0));
                    if *is_largest { order.reverse() } else { order }
                });
                Ok(Some(numbers.swap_remove(rank - 1)))
            }
        }
    }

    /// The numbers of a metric for all values that its settings admit; none if a setting is beyond the last value.
    fn metric_numbers(&self, metric: &Metric, point: &Point) -> Result<Vec<Number>, String> {
        let numbers = match &metric.number {
            None => return self.numbers_of(&metric.name, &metric.picks, point),
            Some(Numbered::To(first, last)) => (*first as usize..=*last as usize).collect(),
            Some(Numbered::Bare(name)) => vec![point.bound_number(name)?.value],
            Some(Numbered::Next(name)) => {
                let bound = point.bound_number(name)?;
                (bound.value + 1..=bound.last).take(1).collect()
            }
        };
        let mut all = Vec::new();
        for number in numbers {
            all.extend(self.numbers_of(&format!("{}{number}", metric.name), &metric.picks, point)?);
        }
        Ok(all)
    }

    fn numbers_of(&self, metric: &str, picks: &[Pick], point: &Point) -> Result<Vec<Number>, String> {
        let Some(column) = self.metrics.iter().position(|name| *name == metric) else {
            if find_metric(metric).is_some() {
                return Err(format!("{metric} is not among the `metrics` of this experiment"));
            }
            let meant = did_you_mean(nearest_name(metric, self.metrics.iter().copied()));
            return Err(format!("the experiment has no metric {metric}{meant}"));
        };
        // Values of the axes, and the axes in the order in which they are named.
        let mut chosen: Vec<Option<Vec<usize>>> = vec![None; self.axes.len()];
        let mut order = Vec::new();
        for pick in picks {
            let (axis, values) = match pick {
                Pick::Bare(text) => self.bare_values(text, point)?,
                Pick::Next(text) => {
                    let name = self.axis(text).map_or(text.as_str(), |axis| self.label(axis));
                    let bound = point.find(name).and_then(|bound| Some((bound.axis?, bound)));
                    let (axis, bound) =
                        bound.ok_or_else(|| format!("next {text}: no line of `each` is about {text}"))?;
                    (axis, (bound.value + 1..=bound.last).take(1).collect())
                }
                Pick::Chosen(choice) => self.chosen_values(choice)?,
            };
            if chosen[axis].replace(values).is_some() {
                return Err(format!("{metric} has two settings of {}", self.label(axis)));
            }
            order.push(axis);
        }
        for (axis, chosen) in chosen.iter_mut().enumerate().filter(|(_, chosen)| chosen.is_none()) {
            let label = self.label(axis);
            *chosen = Some(match point.find(label).filter(|bound| bound.axis == Some(axis)) {
                Some(bound) => {
                    order.push(axis);
                    vec![bound.value]
                }
                None if self.axes[axis].1.len() == 1 => vec![0],
                None => return Err(format!("{metric} leaves {label} open: expected one of its values")),
            });
        }
        let mut places: Vec<Vec<usize>> = vec![Vec::new()];
        for values in chosen.into_iter().flatten() {
            places =
                places.iter().flat_map(|place| values.iter().map(|value| [&place[..], &[*value]].concat())).collect();
        }
        Ok(places.iter().map(|place| self.mean(metric, column, place, &order)).collect())
    }

    /// Mean of a metric over seeds for one value of each axis. None if a run has no such number.
    fn mean(&self, metric: &str, column: usize, place: &[usize], order: &[usize]) -> Number {
        let settings: Vec<&str> = order.iter().map(|axis| self.axes[*axis].1[place[*axis]].as_str()).collect();
        let name = format!("{metric}({})", settings.join(", "));
        let samples = self.samples.get(place).map_or(&[][..], |of| &of[column]);
        let known: Vec<f64> = samples.iter().copied().flatten().collect();
        let number = Number::mean(name, &known);
        if known.len() == samples.len() { number } else { Number::new(number.name, None) }
    }

    /// The values that a name, an axis or a value alone stands for.
    fn bare_values(&self, text: &str, point: &Point) -> Result<(usize, Vec<usize>), String> {
        if let Some((axis, bound)) = point.find(text).and_then(|bound| Some((bound.axis?, bound))) {
            return Ok((axis, vec![bound.value]));
        }
        if let Some(axis) = self.axis(text) {
            return Ok((axis, (0..self.axes[axis].1.len()).collect()));
        }
        let found =
            self.axes.iter().enumerate().filter_map(|(axis, (_, values))| Some((axis, find_value(values, text)?)));
        match found.collect::<Vec<_>>()[..] {
            [(axis, value)] => Ok((axis, vec![value])),
            [] => {
                let names = point.0.iter().map(|bound| bound.name.as_str());
                let values = self.axes.iter().flat_map(|(_, values)| values.iter().map(String::as_str));
                let meant = nearest_name(text, names.chain(values));
                Err(format!("no axis has the value {text}{}", did_you_mean(meant)))
            }
            [(one, _), (other, _), ..] => {
                let [one, other] = [one, other].map(|axis| self.label(axis));
                Err(format!(
                    "{text} is a value of {one} and of {other}: expected `{one} = {text}` or `{other} = {text}`"
                ))
            }
        }
    }

    /// An axis, and the indices of the values that meet all conditions.
    fn chosen_values(&self, choice: &Choice) -> Result<(usize, Vec<usize>), String> {
        let labels = || (0..self.axes.len()).map(|axis| self.label(axis));
        let Some(axis) = self.axis(&choice.axis) else {
            let all = labels().collect::<Vec<_>>().join(", ");
            let name = &choice.axis;
            let meant = did_you_mean(nearest_name(name, labels()));
            return Err(match (name.ends_with("seed"), all.is_empty()) {
                (true, _) => format!("{name}: claims are about means over seeds"),
                (false, true) => format!("there is no axis {name}, as only seeds vary"),
                (false, false) => format!("there is no axis {name}: expected one of {all}{meant}"),
            });
        };
        let all = self.axes[axis].1;
        for value in choice.conditions.iter().flat_map(|condition| condition.named_values()) {
            if !all.iter().any(|one| is_equal(one, value)) {
                let meant = did_you_mean(nearest_name(value, all.iter().map(String::as_str)));
                let axis = &choice.axis;
                let rule = "values are separated by spaces, and quoted by ' if they have any";
                return Err(format!("{axis} has no value '{value}'{meant}; {rule}"));
            }
        }
        let values: Vec<usize> = (0..all.len())
            .filter(|value| choice.conditions.iter().all(|condition| condition.admits_value(&all[*value])))
            .collect();
        if values.is_empty() {
            return Err(format!("no value of {} meets these conditions", choice.axis));
        }
        Ok((axis, values))
    }

    /// The axis of this label or key.
    fn axis(&self, name: &str) -> Option<usize> {
        (0..self.axes.len()).find(|axis| self.label(*axis) == name || self.axes[*axis].0 == name)
    }

    /// The last step of an axis's key, if that is enough to tell it from the others; else the key.
    fn label(&self, axis: usize) -> &'e str {
        fn last(key: &str) -> &str {
            key.rsplit('.').next().unwrap_or(key)
        }
        let key = self.axes[axis].0;
        let is_shared = self.axes.iter().filter(|(other, _)| last(other) == last(key)).count() > 1;
        if is_shared { key } else { last(key) }
    }
}

fn bind_value(point: &Point, value: usize, axis: Option<usize>, last: usize, name: &str) -> Point {
    Point(point.0.iter().cloned().chain([Bound { name: name.to_owned(), axis, value, last }]).collect())
}

fn find_value(values: &[String], text: &str) -> Option<usize> {
    values.iter().position(|value| is_equal(value, text))
}

impl Point {
    fn find(&self, name: &str) -> Option<&Bound> {
        self.0.iter().find(|bound| bound.name == name)
    }

    fn bound_number(&self, name: &str) -> Result<&Bound, String> {
        let bound = self.find(name).filter(|bound| bound.axis.is_none());
        bound.ok_or_else(|| format!("{{{name}}}: expected a line of `each` with numbers, as in `{name}: 1 to 10`"))
    }
}

fn combine_numbers(operator: Operator, one: &Number, other: &Number) -> Result<Number, String> {
    let constants = one.constant().zip(other.constant());
    Ok(match (operator, one.constant(), other.constant()) {
        (Operator::Plus, ..) if let Some((one, other)) = constants => exact_number(one + other),
        (Operator::Minus, ..) if let Some((one, other)) = constants => exact_number(one - other),
        (Operator::Plus, _, Some(term)) => one.plus(term),
        (Operator::Plus, Some(term), _) => other.plus(term),
        (Operator::Plus, ..) => one.add(other),
        (Operator::Minus, _, Some(term)) => one.plus(-term),
        (Operator::Minus, ..) => one.minus(other),
        (Operator::Times, Some(factor), _) => other.times(factor),
        (Operator::Times, _, Some(factor)) => one.times(factor),
        (Operator::Times, ..) => return Err("expected a number on one side of *".to_owned()),
        (Operator::Over, ..) if let Some((one, other)) = constants => match one / other {
            ratio if ratio.is_finite() => exact_number(ratio),
            _ => return Err("expected a divisor other than 0".to_owned()),
        },
        (Operator::Over, ..) => one.divided_by(other),
    })
}

fn did_you_mean(name: Option<&str>) -> String {
    name.map_or(String::new(), |name| format!("; did you mean {name}?"))
}
