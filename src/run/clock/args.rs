//! The command line of `hansa clock`.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::Path;
use std::time::Duration;

use clap::Args;
use time::{Date, Month, PrimitiveDateTime, Time};

use crate::disk::io_reason;
use crate::flag_values::some_time;
use hansa_sim::near::nearest_name;
use hansa_sim::settings::units::{SpanError, parse_span};
use hansa_sim::time::Span;

#[derive(Args, Debug)]
pub struct ClockArgs {
    /// Virtual date and time of the start, in UTC: 2026-01-31, 2026-01-31T08:00 or 2026-01-31T08:00:00; or now
    #[arg(long, value_name = "DATE", default_value = "2026-01-01", value_parser = parse_date)]
    pub start: StartTime,
    /// End the run when this much virtual time has passed, with exit code 124, for example 7d
    #[arg(long, value_name = "TIME", value_parser = some_time)]
    pub until: Option<Duration>,
    /// Virtual time that passes at each reading of a clock if none has passed since the thread's last reading, such as
    /// 20us; computing takes none otherwise
    #[arg(long, value_name = "TIME", default_value = "0", hide_default_value = true, value_parser = parse_charge)]
    pub charge: Span,
    /// Wait for processes that the command leaves behind, instead of ending them when it has ended
    #[arg(long)]
    pub wait: bool,
    /// Let the programs use all cores; they share one otherwise, which makes steps faster and runs repeat better
    #[arg(long)]
    pub all_cores: bool,
    /// Fail if the system does not let threads take turns, each until it blocks, so that runs repeat; it needs root or
    /// a limit for real-time priorities
    #[arg(long, conflicts_with = "all_cores")]
    pub in_turn: bool,
    /// Check each step by a look at all threads, and fail if one could run
    #[arg(long, hide = true)]
    pub judge: bool,
    /// Process that this one keeps the clock for
    #[arg(long, hide = true)]
    pub keeper_of: Option<u32>,
    /// Take orders from standard input: what to run, and up to when
    #[arg(long, hide = true, conflicts_with = "command")]
    pub driven: bool,
    /// The command to run, and its arguments
    #[arg(
        required_unless_present = "driven",
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "COMMAND"
    )]
    pub command: Vec<OsString>,
}

impl ClockArgs {
    /// The command line of the keeper.
    pub fn for_keeper(&self, parent: u32) -> Vec<OsString> {
        let mut words: Vec<OsString> =
            super::super::current_verbosity().verbosity_flags().iter().map(OsString::from).collect();
        words.extend(["clock".into(), format!("--keeper-of={parent}").into()]);
        words.push(format!("--start=@{}", self.start.0).into());
        words.extend(self.until.map(|until| format!("--until={}", until.as_secs_f64()).into()));
        words.push(charge_flag(self.charge).into());
        words.extend(self.wait.then(|| "--wait".into()));
        words.extend(self.all_cores.then(|| "--all-cores".into()));
        words.extend(self.in_turn.then(|| "--in-turn".into()));
        words.extend(self.judge.then(|| "--judge".into()));
        words.extend(self.driven.then(|| "--driven".into()));
        words.extend((!self.driven).then(|| "--".into()));
        words.extend(self.command.iter().cloned());
        words
    }
}

/// Largest virtual time that may be charged for each reading of the clock. With more, hardly any program meets a time
/// limit of its own.
const CHARGE_MAX: Span = Span::from_secs(1);

fn parse_charge(text: &str) -> Result<Span, String> {
    match parse_span(text) {
        Ok(charge) if charge <= CHARGE_MAX => Ok(charge),
        Ok(_) => Err(format!(
            "expected at most {CHARGE_MAX} a reading: programs read clocks to meet time limits, and would miss all of them"
        )),
        Err(SpanError::UnitMissing) => Err(format!("expected a time with its unit, such as {}us", text.trim())),
        Err(error @ SpanError::UnitUnknown { meant: Some(unit) }) => {
            Err(format!("expected {error}; did you mean {unit}?"))
        }
        Err(error) => Err(format!("expected {error}")),
    }
}

/// The flag by which a keeper gets its charge.
pub fn charge_flag(charge: Span) -> String {
    format!("--charge={}us", charge.micros())
}

/// The reason why a program cannot be run, and what to do about it.
pub fn not_run(program: &OsStr, error: &io::Error) -> String {
    let path = Path::new(program);
    let text = program.to_string_lossy();
    match error.kind() {
        _ if program.is_empty() => "expected a command, such as `hansa clock -- sleep 60`".to_owned(),
        io::ErrorKind::NotFound if text.starts_with('-') => {
            let command = ClockArgs::augment_args(clap::Command::new("clock"));
            let flags = command.get_arguments().filter(|flag| !flag.is_hide_set()).filter_map(|flag| flag.get_long());
            let flags: Vec<String> = flags.map(|flag| format!("--{flag}")).collect();
            let typed = text.split('=').next().unwrap_or_default();
            let near = nearest_name(typed, flags.iter().map(String::as_str));
            let near = near.map_or(String::new(), |near| format!("; did you mean {near}?"));
            format!("there is no such option: expected one of {}, or a command{near}", flags.join(", "))
        }
        io::ErrorKind::NotFound if path.exists() => {
            "its interpreter (the first line of a script, or the loader of a program) is not on this machine".to_owned()
        }
        io::ErrorKind::NotFound if text.contains('/') => io_reason(error),
        io::ErrorKind::NotFound => "no folder of $PATH has such a program".to_owned(),
        io::ErrorKind::PermissionDenied if path.is_dir() => "this is a folder".to_owned(),
        io::ErrorKind::PermissionDenied if path.is_file() => {
            format!("the file is not executable: chmod +x {}, or name its interpreter first", path.display())
        }
        _ => io_reason(error),
    }
}

/// Seconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StartTime(pub u64);

fn parse_date(text: &str) -> Result<StartTime, String> {
    let now = || std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let read = match text.strip_prefix('@') {
        Some(seconds) => seconds.parse().ok(),
        None if text == "now" => now().ok().map(|now| now.as_secs()),
        None => date_in_utc(text),
    };
    let read = read.filter(|seconds| (SECONDS_MIN..=SECONDS_MAX).contains(seconds));
    read.map(StartTime).ok_or_else(|| {
        "expected a date in UTC from 1971 to 2200, such as 2026-01-31 or 2026-01-31T08:00:00, or now".to_owned()
    })
}

const SECONDS_MIN: u64 = 365 * 86400;
/// Some programs count seconds in 64 bits of nanoseconds, which end in 2262.
const SECONDS_MAX: u64 = 7_258_118_400;

fn date_in_utc(text: &str) -> Option<u64> {
    let (day, hour) = text.trim_end_matches('Z').split_once(['T', ' ']).unwrap_or((text.trim_end_matches('Z'), "0:0"));
    let numbers = |text: &str, between: char| -> Option<Vec<u16>> {
        text.split(between).map(|number| number.parse().ok()).collect()
    };
    let [year, month, day] = numbers(day, '-')?[..] else { return None };
    let date =
        Date::from_calendar_date(year.into(), Month::try_from(small_number(month)?).ok()?, small_number(day)?).ok()?;
    let (hour, minute, second) = match numbers(hour, ':')?[..] {
        [hour, minute] => (hour, minute, 0),
        [hour, minute, second] => (hour, minute, second),
        _ => return None,
    };
    let time = Time::from_hms(small_number(hour)?, small_number(minute)?, small_number(second)?).ok()?;
    u64::try_from(PrimitiveDateTime::new(date, time).assume_utc().unix_timestamp()).ok()
}

fn small_number(number: u16) -> Option<u8> {
    u8::try_from(number).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn charges_have_a_unit_and_a_bound() {
        let micros = |text: &str| parse_charge(text).map(Span::micros);
        assert_eq!((micros("20us"), micros("1.5 ms"), micros("1s")), (Ok(20), Ok(1500), Ok(1_000_000)));
        assert_eq!((micros("0"), micros("0s")), (Ok(0), Ok(0)));
        assert_eq!(
            parse_charge(charge_flag(Span::from_micros(20)).split_once('=').unwrap().1),
            micros("20us").map(Span::from_micros)
        );
        for (wrong, expected) in [
            ("20", "expected a time with its unit, such as 20us"),
            ("20 usec", "expected a time in us, ms, s, min, h or d; did you mean us?"),
            ("20 µs", "expected a time in us, ms, s, min, h or d; did you mean us?"),
            ("20 ns", "expected a time in us, ms, s, min, h or d"),
            ("-1us", "expected a time that is not negative"),
            ("0.5us", "expected a time of whole microseconds"),
            (
                "2s",
                "expected at most 1 s a reading: programs read clocks to meet time limits, and would miss all of them",
            ),
            ("much", "expected a time such as \"5 ms\", \"90 s\" or \"2 h\""),
        ] {
            assert_eq!(parse_charge(wrong).unwrap_err(), expected, "{wrong}");
        }
    }

    #[test]
    fn dates_are_read_in_utc() {
        assert_eq!(parse_date("2026-01-01"), Ok(StartTime(1_767_225_600)));
        assert_eq!(parse_date("2026-01-01T00:00:01Z"), Ok(StartTime(1_767_225_601)));
        assert_eq!(parse_date("2026-01-01 01:00"), Ok(StartTime(1_767_229_200)));
        assert_eq!(parse_date("@1767225600"), Ok(StartTime(1_767_225_600)));
        assert!(parse_date("now").is_ok());
        for wrong in ["", "soon", "2026-13-01", "2026-02-30", "2026-01-01T25:00", "1969-01-01", "@1", "9999-01-01"] {
            assert!(parse_date(wrong).is_err(), "{wrong}");
        }
    }
}
