//! Values of flags: numbers, addresses, folders, times and speeds.

use std::fmt::Display;
use std::net::{Ipv6Addr, SocketAddr};
use std::num::NonZeroU16;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use clap::builder::{PathBufValueParser, TypedValueParser};

use hansa_sim::settings::units;
use hansa_sim::time::Span;

/// A whole number within these bounds.
pub fn parse_count<T: FromStr + PartialOrd + Display + Clone>(
    range: RangeInclusive<T>,
) -> impl Fn(&str) -> Result<T, String> + Clone {
    move |text| {
        let number = text.parse().ok().filter(|number| range.contains(number));
        number.ok_or_else(|| format!("expected a whole number from {} to {}", range.start(), range.end()))
    }
}

/// The address of a listening process: `HOST:PORT`. The name is resolved when it is needed.
pub fn host_and_port(text: &str) -> Result<String, String> {
    let parts = text.rsplit_once(':').filter(|(host, _)| is_host(host));
    let port = parts.and_then(|(_, port)| port.parse::<NonZeroU16>().ok());
    port.map(|_| text.to_owned()).ok_or_else(|| "expected HOST:PORT, such as localhost:4433".to_owned())
}

fn is_host(host: &str) -> bool {
    match host.strip_prefix('[') {
        Some(rest) => rest.ends_with(']'),
        None if host.contains(':') => host.split('%').next().is_some_and(|address| address.parse::<Ipv6Addr>().is_ok()),
        None => !host.is_empty() && !host.contains(['/', ']', ' ']),
    }
}

/// An address to listen on: one of this machine, and a port.
pub fn parse_address(text: &str) -> Result<SocketAddr, String> {
    text.parse().map_err(|_| "expected ADDRESS:PORT, such as 0.0.0.0:4433 or [::]:4433".to_owned())
}

/// A folder. A name that begins with a dash gets `./` before it, so that neither another process nor a command copied
/// from a message takes it for a flag.
pub fn folder_parser() -> impl TypedValueParser<Value = PathBuf> {
    PathBufValueParser::new().map(|path| match path.as_os_str().as_encoded_bytes() {
        [b'-', ..] => Path::new(".").join(path),
        _ => path,
    })
}

pub fn parse_speed(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(speed) if (1e-3..=1e6).contains(&speed) => Ok(speed),
        _ => Err("expected a number of virtual seconds per second, from 0.001 to 1000000".to_owned()),
    }
}

/// A time with its unit, or a number of seconds.
pub fn parse_time(text: &str) -> Result<Duration, String> {
    let span = match units::parse_span(text) {
        Err(units::SpanError::UnitMissing) => units::parse_span(&format!("{text}s")),
        read => read,
    };
    let span = span.map_err(|error| format!("expected {error}, or a number of seconds"))?;
    Ok(Duration::from_micros(span.micros()))
}

/// Like `parse_time`, for times that must be above 0 and at most some months.
pub fn some_time(text: &str) -> Result<Duration, String> {
    const MOST: Duration = Duration::from_secs(10_000_000);
    parse_time(text).ok().filter(|time| !time.is_zero() && *time <= MOST).ok_or_else(|| {
        "expected a time above 0, such as 30s or 2min, or a number of seconds, of at most 10000000 s".to_owned()
    })
}

/// A moment or a time limit: with units (`4h`), as Hansa prints moments (`4d 15:58:15`), or as Slurm writes limits with
/// hours (`04:00:00`, `1-12:00:00`, `2-0`).
pub fn parse_clock_span(text: &str) -> Result<Span, String> {
    match clock_parts(text.trim()) {
        Some(span) => Ok(span),
        None if text.contains(':') => {
            Err("expected a time such as 4h, 04:00:00 (hours, minutes, seconds), 1-12:00:00 or \"4d 15:58:15\""
                .to_owned())
        }
        None => units::parse_span(text).map_err(|error| format!("expected {error}, or a time such as 04:00:00")),
    }
}

/// Days, hours, minutes and seconds in the form of Hansa or Slurm. None for all other texts. Two fields without days
/// are none of these, as they could be hours or minutes.
fn clock_parts(text: &str) -> Option<Span> {
    let (days, clock, fields_least) = match text.split_once("d ").or_else(|| text.split_once('-')) {
        Some((days, clock)) => (days.parse::<u64>().ok()?, clock.trim(), 1),
        None => (0, text, 3),
    };
    let fields: Vec<&str> = clock.split(':').collect();
    if !(fields_least..=3).contains(&fields.len()) {
        return None;
    }
    let is_number = |field: &&str| !field.is_empty() && field.bytes().all(|byte| byte.is_ascii_digit());
    let (seconds, fraction) = fields.get(2).map_or(("0", ""), |field| field.split_once('.').unwrap_or((field, "")));
    let whole = [fields[0], fields.get(1).copied().unwrap_or("0"), seconds];
    if !whole.iter().all(is_number) || fraction.len() > 6 || !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let [hours, minutes, seconds] = whole.map(|field| field.parse::<u64>().ok());
    let micros: u64 = format!("{fraction:0<6}").parse().ok()?;
    let minutes = minutes.filter(|minutes| *minutes < 60)?;
    let seconds = seconds.filter(|seconds| *seconds < 60)?;
    let hours = days.checked_mul(24)?.checked_add(hours?)?;
    let seconds = hours.checked_mul(3_600)?.checked_add(minutes * 60 + seconds)?;
    Some(Span::from_micros(seconds.checked_mul(1_000_000)?.checked_add(micros)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_addresses_say_what_is_expected() {
        assert_eq!(parse_count::<u16>(1..=1024)("8"), Ok(8));
        for wrong in ["abc", "", "0", "1025", "-1", "1.5", "70000"] {
            assert_eq!(
                parse_count::<u16>(1..=1024)(wrong).unwrap_err(),
                "expected a whole number from 1 to 1024",
                "{wrong}"
            );
        }
        for right in ["localhost:4433", "10.0.0.1:1", "[::1]:65535", "::1:4433"] {
            assert_eq!(host_and_port(right).as_deref(), Ok(right));
        }
        for wrong in ["localhost", "localhost:", "localhost:0", ":4433", "localhost:http", "localhost:65536"]
            .into_iter()
            .chain(["udp://localhost:4433", "[::1:4433", "a:b:4433", "a b:4433"])
        {
            assert!(host_and_port(wrong).is_err_and(|error| error.contains("HOST:PORT")), "{wrong}");
        }
    }

    #[test]
    fn times_have_a_unit_or_are_seconds() {
        let seconds = |read: Result<Duration, String>| read.map(|time| time.as_secs_f64());
        for read in [parse_time, some_time] {
            for (text, expected) in
                [("4s", 4.0), ("4", 4.0), ("60", 60.0), ("1.5", 1.5), ("2 min", 120.0), ("250ms", 0.25)]
            {
                assert_eq!(seconds(read(text)), Ok(expected), "{text}");
            }
            for wrong in ["", "s", "-1", "4 fortnights", "soon"] {
                assert!(read(wrong).is_err_and(|error| error.contains("or a number of seconds")), "{wrong}");
            }
        }
        assert_eq!(parse_time("0"), Ok(Duration::ZERO));
        assert!(some_time("0").is_err() && some_time("200 d").is_err());
    }

    #[test]
    fn times_are_read_as_hansa_prints_them_and_as_slurm_writes_them() {
        let hours = |hours: u64| Span::from_secs(hours * 3_600);
        for (text, expected) in [
            ("4h", hours(4)),
            ("04:00:00", hours(4)),
            ("100:00:00", hours(100)),
            ("1-12:00:00", hours(36)),
            ("1-12:00", hours(36)),
            ("2-0", hours(48)),
            ("4d 15:58:15", Span::from_secs(4 * 86_400 + 15 * 3_600 + 58 * 60 + 15)),
            ("00:00:01.25", Span::from_micros(1_250_000)),
        ] {
            assert_eq!(parse_clock_span(text), Ok(expected), "{text}");
        }
        // What is printed is what is read.
        for micros in [0, 1, 59_999_999, 86_400_000_000, 399_495_000_250] {
            let printed = hansa_sim::time::Time::from_micros(micros).to_string();
            assert_eq!(parse_clock_span(&printed), Ok(Span::from_micros(micros)), "{printed}");
        }
        for wrong in
            ["4:00", "00:60:00", "1-", "-1:00:00", "x-1:00:00", "00:00:00:00", "4", "00:00:1e3", "1-1:1:1.1234567"]
        {
            assert!(parse_clock_span(wrong).is_err_and(|error| error.starts_with("expected")), "{wrong}");
        }
        assert!(parse_clock_span("4:00").unwrap_err().contains("04:00:00"));
    }
}
