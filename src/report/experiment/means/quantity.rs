//! Values of a key as numbers, for positions on an axis.

use std::mem::{Discriminant, discriminant};

use hansa_sim::settings::units;

enum Quantity {
    Number(f64),
    /// In microseconds.
    Time(f64),
    /// In bits per second.
    Capacity(f64),
    Bytes(f64),
}

/// All values as numbers; None unless they are distinct numbers of one kind.
pub(super) fn distinct_numbers(values: &[String]) -> Option<Vec<f64>> {
    let read: Vec<(Discriminant<Quantity>, f64)> =
        values.iter().map(|text| read_quantity(text)).collect::<Option<_>>()?;
    // A zero needs no unit.
    let kind = read.iter().find(|(_, number)| *number != 0.0).or(read.first())?.0;
    let are_alike = read.iter().all(|(its, number)| *its == kind || *number == 0.0);
    let numbers: Vec<f64> = read.into_iter().map(|(_, number)| number).collect();
    let mut sorted = numbers.clone();
    sorted.sort_by(f64::total_cmp);
    // `60 s` and `1 min` would be at one position.
    let differ = sorted.windows(2).all(|pair| pair[0] < pair[1]);
    (are_alike && differ).then_some(numbers)
}

fn read_quantity(text: &str) -> Option<(Discriminant<Quantity>, f64)> {
    let quantity = None
        .or_else(|| text.replace('_', "").parse().ok().filter(|number: &f64| number.is_finite()).map(Quantity::Number))
        .or_else(|| Some(Quantity::Time(units::parse_span(text).ok()?.micros() as f64)))
        .or_else(|| Some(Quantity::Capacity(units::parse_capacity(text).ok()? as f64)))
        .or_else(|| Some(Quantity::Bytes(units::parse_bytes(text)? as f64)))?;
    let (Quantity::Number(number) | Quantity::Time(number) | Quantity::Capacity(number) | Quantity::Bytes(number)) =
        quantity;
    Some((discriminant(&quantity), number))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_all(values: &[&str]) -> Option<Vec<f64>> {
        distinct_numbers(&values.iter().map(|value| (*value).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn values_are_numbers_if_all_are_of_one_kind() {
        assert_eq!(read_all(&["0.7", "1", "1_000"]), Some(vec![0.7, 1.0, 1_000.0]));
        assert_eq!(read_all(&["0", "1 min", "1 s"]), Some(vec![0.0, 60e6, 1e6]));
        assert_eq!(read_all(&["1 Gbps", "250 MB/s"]), Some(vec![1e9, 2e9]));
        assert_eq!(read_all(&["1.5 kB", "2 MB"]), Some(vec![1_500.0, 2e6]));
        for mixed in
            [&["1", "1 s"][..], &["young", "2 young"], &["fifo"], &["nan"], &["true", "false"], &["60 s", "1 min"], &[]]
        {
            assert_eq!(read_all(mixed), None, "{mixed:?}");
        }
    }
}
