//! Values that are typed: times and speeds.

use std::time::Duration;

use crate::settings::units;

pub fn speed(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(speed) if (1e-3..=1e6).contains(&speed) => Ok(speed),
        _ => Err("expected a number of virtual seconds per second, from 0.001 to 1000000".to_owned()),
    }
}

/// A time with its unit, or a number of seconds.
pub fn time(text: &str) -> Result<Duration, String> {
    let span = match units::span(text) {
        Err(units::SpanError::UnitMissing) => units::span(&format!("{text}s")),
        read => read,
    };
    let span = span.map_err(|error| format!("expected {error}, or a number of seconds"))?;
    Ok(Duration::from_micros(span.micros()))
}

/// The same for what must last: at most some months.
pub fn some_time(text: &str) -> Result<Duration, String> {
    const MOST: Duration = Duration::from_secs(10_000_000);
    let lasts = |time: &Duration| !time.is_zero() && *time <= MOST;
    time(text).ok().filter(lasts).ok_or_else(|| {
        "expected a time above 0, such as 30s or 2min, or a number of seconds, of at most 10000000 s".to_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_a_unit_or_are_seconds() {
        let seconds = |read: Result<Duration, String>| read.map(|time| time.as_secs_f64());
        for read in [time, some_time] {
            for (text, expected) in
                [("4s", 4.0), ("4", 4.0), ("60", 60.0), ("1.5", 1.5), ("2 min", 120.0), ("250ms", 0.25)]
            {
                assert_eq!(seconds(read(text)), Ok(expected), "{text}");
            }
            for wrong in ["", "s", "-1", "4 fortnights", "soon"] {
                assert!(read(wrong).is_err_and(|error| error.contains("or a number of seconds")), "{wrong}");
            }
        }
        assert_eq!(time("0"), Ok(Duration::ZERO));
        assert!(some_time("0").is_err() && some_time("200 d").is_err());
    }
}
