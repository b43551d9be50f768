//! Numbers with units, read exactly, without rounding. Also counts with thousands separators.

use crate::time::Span;

/// Longest span that a topology may contain: a thousand years, far below the range in which sums of spans overflow.
pub const SPAN_MAX: Span = Span::from_secs(365_250 * 86_400);

/// Unit of fractions.
pub const MILLION: u64 = 1_000_000;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SpanError {
    #[error("a time such as \"5 ms\", \"90 s\" or \"2 h\"")]
    Malformed,
    #[error("a time with its unit: us, ms, s, min, h or d")]
    UnitMissing,
    #[error("a time in us, ms, s, min, h or d")]
    UnitUnknown { meant: Option<&'static str> },
    #[error("a plain decimal number and one unit, such as \"1000 s\" or \"1.5 h\"")]
    NotPlain,
    #[error("a time that is not negative")]
    Negative,
    #[error("a time of whole microseconds")]
    TooFine,
    #[error("a time of at most 365250 d, which is a thousand years")]
    TooLong,
}

/// Parses a duration such as `5 ms`, `1.5h` or `0`.
pub fn parse_span(text: &str) -> Result<Span, SpanError> {
    let (number, unit) = number_and_unit(text);
    let size = match Span::UNITS.iter().find(|(name, _)| *name == unit) {
        Some((_, size)) => *size,
        None if !number.contains(|c: char| c.is_ascii_digit()) => return Err(SpanError::Malformed),
        None if unit.is_empty() => match parse_exact(number, 1) {
            Ok(0) => return Ok(Span::ZERO),
            Err(Inexact::Malformed) => return Err(SpanError::Malformed),
            _ => return Err(SpanError::UnitMissing),
        },
        // `1e3 s`, `1_000 s`, `1 h 30 min`: the part after the digits ends with a unit.
        None if after_a_number(unit).is_some_and(|last| Span::UNITS.iter().any(|(name, _)| *name == last)) => {
            return Err(SpanError::NotPlain);
        }
        None => return Err(SpanError::UnitUnknown { meant: unit_meant_by(unit) }),
    };
    match parse_exact(number, size) {
        Ok(micros) if micros > SPAN_MAX.micros() => Err(SpanError::TooLong),
        Ok(micros) => Ok(Span::from_micros(micros)),
        Err(Inexact::Malformed) => Err(SpanError::Malformed),
        Err(Inexact::Negative) => Err(SpanError::Negative),
        Err(Inexact::TooFine) => Err(SpanError::TooFine),
        Err(Inexact::TooLarge) => Err(SpanError::TooLong),
    }
}

/// Most core time in core microseconds: a hundred million core hours. Sums saturate at fifty times as much.
const CORE_TIME_MAX: u64 = 100_000_000 * 3_600_000_000;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CoreTimeError {
    #[error("core time such as \"90 core s\" or \"2.5 core h\"")]
    Malformed,
    #[error("core time with its unit, such as \"90 core s\" or \"2.5 core h\"")]
    UnitMissing,
    #[error("core time in core us, core ms, core s, core min, core h or core d")]
    UnitUnknown,
    #[error("core time that is not negative")]
    Negative,
    #[error("core time of whole core microseconds")]
    TooFine,
    #[error("core time of at most 100000000 core h")]
    TooLarge,
}

/// Parses core time such as `2.5 core h`, in core microseconds.
pub fn core_time(text: &str) -> Result<u64, CoreTimeError> {
    let (number, unit) = number_and_unit(text);
    if !number.contains(|c: char| c.is_ascii_digit()) {
        return Err(CoreTimeError::Malformed);
    }
    let of_time = unit.strip_prefix("core").filter(|rest| rest.starts_with(' ')).map(str::trim_start);
    let size = of_time.and_then(|of_time| Span::UNITS.iter().find(|(name, _)| *name == of_time));
    let size = match size {
        Some((_, size)) => *size,
        None if unit.is_empty() => return Err(CoreTimeError::UnitMissing),
        None => return Err(CoreTimeError::UnitUnknown),
    };
    match parse_exact(number, size) {
        Ok(micros) if micros > CORE_TIME_MAX => Err(CoreTimeError::TooLarge),
        Ok(micros) => Ok(micros),
        Err(Inexact::Malformed) => Err(CoreTimeError::Malformed),
        Err(Inexact::Negative) => Err(CoreTimeError::Negative),
        Err(Inexact::TooFine) => Err(CoreTimeError::TooFine),
        Err(Inexact::TooLarge) => Err(CoreTimeError::TooLarge),
    }
}

/// Core time in the largest unit of which it is a whole number, or else in core seconds.
pub fn core_time_text(micros: u64) -> String {
    let span = Span::from_micros(micros);
    if micros.is_multiple_of(1_000_000) {
        span.to_string().replacen(' ', " core ", 1)
    } else {
        format!("{} core s", span.seconds())
    }
}

fn number_and_unit(text: &str) -> (&str, &str) {
    let text = text.trim();
    let split = text.find(|c: char| !c.is_ascii_digit() && !matches!(c, '.' | '+' | '-')).unwrap_or(text.len());
    (&text[..split], text[split..].trim_start())
}

/// The part after the last digit; None if there is no digit.
fn after_a_number(text: &str) -> Option<&str> {
    Some(text[text.rfind(|c: char| c.is_ascii_digit())? + 1..].trim_start())
}

/// Our unit for one of another notation. `m` is left out, for it may be minutes, months or metres.
fn unit_meant_by(unit: &str) -> Option<&'static str> {
    Some(match unit.to_lowercase().trim_end_matches('s') {
        "µ" | "μ" | "u" | "micro" | "microsecond" | "usec" => "us",
        "m" if unit.len() > 1 => "ms",
        "milli" | "millisecond" | "msec" => "ms",
        "" | "sec" | "second" => "s",
        "min" | "minute" => "min",
        "h" | "hr" | "hour" => "h",
        "d" | "day" => "d",
        _ => return None,
    })
}

/// Capacity of the fastest link in bits per second: a million terabits per second.
const CAPACITY_MAX: u64 = 1_000_000_000_000_000_000;

/// In bits per second, the largest first within bits and within bytes.
const CAPACITIES: [(&str, u64); 10] = [
    ("Tbps", 1_000_000_000_000),
    ("Gbps", 1_000_000_000),
    ("Mbps", 1_000_000),
    ("kbps", 1_000),
    ("bps", 1),
    ("TB/s", 8_000_000_000_000),
    ("GB/s", 8_000_000_000),
    ("MB/s", 8_000_000),
    ("kB/s", 8_000),
    ("B/s", 8),
];

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CapacityError {
    #[error("a capacity such as \"1 Gbps\" or \"125 MB/s\"")]
    Malformed,
    #[error("a capacity with its unit: bps, kbps, Mbps, Gbps, Tbps, B/s, kB/s, MB/s, GB/s or TB/s")]
    UnitMissing,
    #[error("a capacity in bps, kbps, Mbps, Gbps, Tbps, B/s, kB/s, MB/s, GB/s or TB/s")]
    UnitUnknown { meant: Option<&'static str> },
    #[error("a capacity above zero")]
    NotPositive,
    #[error("a capacity of whole bits per second")]
    TooFine,
    #[error("a capacity of at most 1000000 Tbps")]
    TooLarge,
}

/// Reads `1.5 Gbps` or `125 MB/s` in bits per second.
pub fn parse_capacity(text: &str) -> Result<u64, CapacityError> {
    let (number, unit) = number_and_unit(text);
    if !number.contains(|c: char| c.is_ascii_digit()) {
        return Err(CapacityError::Malformed);
    }
    let size = match CAPACITIES.iter().find(|(name, _)| *name == unit) {
        Some((_, size)) => *size,
        None if unit.is_empty() => return Err(CapacityError::UnitMissing),
        None => return Err(CapacityError::UnitUnknown { meant: capacity_meant_by(unit) }),
    };
    match parse_exact(number, size) {
        Ok(0) | Err(Inexact::Negative) => Err(CapacityError::NotPositive),
        Ok(bits) if bits > CAPACITY_MAX => Err(CapacityError::TooLarge),
        Ok(bits) => Ok(bits),
        Err(Inexact::Malformed) => Err(CapacityError::Malformed),
        Err(Inexact::TooFine) => Err(CapacityError::TooFine),
        Err(Inexact::TooLarge) => Err(CapacityError::TooLarge),
    }
}

/// Our unit for one of another notation. `B` is a byte and `b` a bit; words are clear in upper or lower case.
fn capacity_meant_by(unit: &str) -> Option<&'static str> {
    let (prefix, rest) = match unit.as_bytes().first()? {
        b'k' | b'K' => (1, &unit[1..]),
        b'M' | b'm' => (2, &unit[1..]),
        b'G' | b'g' => (3, &unit[1..]),
        b'T' | b't' => (4, &unit[1..]),
        _ => (0, unit),
    };
    let bits = ["bps", "kbps", "Mbps", "Gbps", "Tbps"];
    let bytes = ["B/s", "kB/s", "MB/s", "GB/s", "TB/s"];
    Some(match rest {
        "bps" | "b/s" | "bit/s" | "bits/s" | "bit" | "bits" | "b" => bits[prefix],
        "Bps" | "B/s" | "byte/s" | "bytes/s" | "B" => bytes[prefix],
        _ => return None,
    })
}

/// A capacity in the largest unit of which it is a whole number.
pub fn capacity_text(bits: u64) -> String {
    let (unit, size) = CAPACITIES.iter().find(|(_, size)| bits.is_multiple_of(*size)).expect("a bit is the least");
    format!("{} {unit}", bits / size)
}

const BYTES: [(&str, u64); 5] =
    [("TB", 1_000_000_000_000), ("GB", 1_000_000_000), ("MB", 1_000_000), ("kB", 1_000), ("B", 1)];

/// Parses a volume such as `1.5 kB` as a whole number of bytes.
pub fn parse_bytes(text: &str) -> Option<u64> {
    let split = text.find(|c: char| !c.is_ascii_digit() && c != '.')?;
    let number = &text[..split];
    let unit = text[split..].trim_start();
    let (_, size) = BYTES.iter().find(|(name, _)| *name == unit)?;
    parse_exact(number, *size).ok()
}

/// Bytes in the largest unit of which they are a whole number.
pub fn bytes_text(bytes: u64) -> String {
    let (unit, size) = BYTES.iter().find(|(_, size)| bytes.is_multiple_of(*size)).expect("a byte is the least");
    format!("{} {unit}", bytes / size)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inexact {
    Malformed,
    Negative,
    /// It is not a whole number of units.
    TooFine,
    TooLarge,
}

/// A decimal number times `unit`; an error unless the product is whole.
pub fn parse_exact(text: &str, unit: u64) -> Result<u64, Inexact> {
    let (negative, text) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        // An exponent beyond this range is as good as its sign.
        Some((mantissa, exponent)) if is_signed_whole(exponent) => {
            (mantissa, exponent.parse::<i64>().unwrap_or(if exponent.starts_with('-') { -FAR } else { FAR }))
        }
        Some(_) => return Err(Inexact::Malformed),
        None => (text, 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{whole}{fraction}");
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return Err(Inexact::Malformed);
    }

    let significant = digits.trim_start_matches('0').trim_end_matches('0');
    if significant.is_empty() {
        return Ok(0);
    }
    if negative {
        return Err(Inexact::Negative);
    }
    let trailing = digits.len() - digits.trim_end_matches('0').len();
    let power = exponent.clamp(-FAR, FAR) - fraction.len() as i64 + trailing as i64;
    // A number with more digits is out of range or finer than any unit.
    let scaled = significant.parse::<u64>().ok().map(|number| u128::from(number) * u128::from(unit));
    match (scaled, u32::try_from(power.unsigned_abs()).ok().and_then(|p| 10u128.checked_pow(p))) {
        (Some(scaled), Some(ten)) if power >= 0 => {
            scaled.checked_mul(ten).and_then(|n| u64::try_from(n).ok()).ok_or(Inexact::TooLarge)
        }
        (Some(scaled), Some(ten)) if scaled.is_multiple_of(ten) => {
            u64::try_from(scaled / ten).map_err(|_| Inexact::TooLarge)
        }
        _ if power < 0 => Err(Inexact::TooFine),
        _ => Err(Inexact::TooLarge),
    }
}

const FAR: i64 = 1 << 40;

fn is_signed_whole(text: &str) -> bool {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_read_exactly() {
        let micros = |text| parse_span(text).map(Span::micros);
        assert_eq!(micros("5 ms"), Ok(5_000));
        assert_eq!(micros("5ms"), Ok(5_000));
        assert_eq!(micros(" 1 min "), Ok(60_000_000));
        assert_eq!(micros("2 h"), Ok(7_200_000_000));
        assert_eq!(micros("3 d"), Ok(259_200_000_000));
        assert_eq!(micros("250 us"), Ok(250));
        assert_eq!(micros("1.5 ms"), Ok(1_500));
        assert_eq!(micros("0.000001 s"), Ok(1));
        assert_eq!(micros("0"), Ok(0));
        assert_eq!(micros("-0 s"), Ok(0));
        assert_eq!(micros("365250 d"), Ok(SPAN_MAX.micros()));
    }

    #[test]
    fn errors_of_spans_name_their_reason() {
        for (text, error) in [
            ("", SpanError::Malformed),
            ("soon", SpanError::Malformed),
            ("1.2.3 s", SpanError::Malformed),
            ("+-1 s", SpanError::Malformed),
            ("5", SpanError::UnitMissing),
            ("5 sec", SpanError::UnitUnknown { meant: Some("s") }),
            ("5 S", SpanError::UnitUnknown { meant: Some("s") }),
            ("5 minutes", SpanError::UnitUnknown { meant: Some("min") }),
            ("5 µs", SpanError::UnitUnknown { meant: Some("us") }),
            ("5 m", SpanError::UnitUnknown { meant: None }),
            ("5 parsecs", SpanError::UnitUnknown { meant: None }),
            ("1e3 s", SpanError::NotPlain),
            ("1 h 30 min", SpanError::NotPlain),
            ("-5 ms", SpanError::Negative),
            ("0.5 us", SpanError::TooFine),
            ("365251 d", SpanError::TooLong),
            ("99999999999999999999999999999999 d", SpanError::TooLong),
        ] {
            assert_eq!(parse_span(text), Err(error), "{text}");
        }
    }

    #[test]
    fn core_time_is_read_exactly_and_written_back() {
        for (text, micros, written) in [
            ("90 core s", 90_000_000, "90 core s"),
            ("0.025 core h", 90_000_000, "90 core s"),
            ("2core  h", 7_200_000_000, "2 core h"),
            ("48 core h", 172_800_000_000, "2 core d"),
            ("0 core h", 0, "0 core s"),
            ("1500 core ms", 1_500_000, "1.5 core s"),
            ("1 core us", 1, "0.000001 core s"),
            ("100000000 core h", CORE_TIME_MAX, "100000000 core h"),
        ] {
            assert_eq!((core_time(text), core_time_text(micros).as_str()), (Ok(micros), written), "{text}");
            assert_eq!(core_time(written), Ok(micros));
        }
        for (text, error) in [
            ("much", CoreTimeError::Malformed),
            ("1.2.3 core h", CoreTimeError::Malformed),
            ("5", CoreTimeError::UnitMissing),
            ("5 h", CoreTimeError::UnitUnknown),
            ("5 coreh", CoreTimeError::UnitUnknown),
            ("5 core hours", CoreTimeError::UnitUnknown),
            ("-5 core h", CoreTimeError::Negative),
            ("0.5 core us", CoreTimeError::TooFine),
            ("100000001 core h", CoreTimeError::TooLarge),
            ("99999999999999999999 core h", CoreTimeError::TooLarge),
        ] {
            assert_eq!(core_time(text), Err(error), "{text}");
        }
    }

    #[test]
    fn capacities_are_read_exactly_and_written_back() {
        assert_eq!(parse_capacity("1 Gbps"), Ok(1_000_000_000));
        assert_eq!(parse_capacity("1.5Mbps"), Ok(1_500_000));
        assert_eq!(parse_capacity("125 MB/s"), Ok(1_000_000_000));
        assert_eq!(parse_capacity("0.125 B/s"), Ok(1));
        assert_eq!(parse_capacity("1000000 Tbps"), Ok(CAPACITY_MAX));
        for (bits, text) in
            [(1, "1 bps"), (1_500_000, "1500 kbps"), (1_000_000_000, "1 Gbps"), (CAPACITY_MAX, "1000000 Tbps")]
        {
            assert_eq!(capacity_text(bits), text);
            assert_eq!(parse_capacity(text), Ok(bits));
        }
        for (text, error) in [
            ("", CapacityError::Malformed),
            ("fast", CapacityError::Malformed),
            ("1..2 Gbps", CapacityError::Malformed),
            ("100", CapacityError::UnitMissing),
            ("1 Mb/s", CapacityError::UnitUnknown { meant: Some("Mbps") }),
            ("1 MBps", CapacityError::UnitUnknown { meant: Some("MB/s") }),
            ("1 gbps", CapacityError::UnitUnknown { meant: Some("Gbps") }),
            ("1 parsec", CapacityError::UnitUnknown { meant: None }),
            ("0 Gbps", CapacityError::NotPositive),
            ("-1 Gbps", CapacityError::NotPositive),
            ("0.5 bps", CapacityError::TooFine),
            ("1000001 Tbps", CapacityError::TooLarge),
            ("99999999999999999999999999 Tbps", CapacityError::TooLarge),
        ] {
            assert_eq!(parse_capacity(text), Err(error), "{text}");
        }
    }

    #[test]
    fn fractions_are_read_exactly() {
        let millionths = |text| parse_exact(text, MILLION);
        assert_eq!(millionths("0.2"), Ok(200_000));
        assert_eq!(millionths("2e-1"), Ok(200_000));
        assert_eq!(millionths("20.0E-2"), Ok(200_000));
        assert_eq!(millionths("1"), Ok(1_000_000));
        assert_eq!(millionths("+1.000000000"), Ok(1_000_000));
        assert_eq!(millionths("0e99999999999999999999"), Ok(0));
        assert_eq!(millionths("0.0000001"), Err(Inexact::TooFine));
        assert_eq!(millionths("1e-99999999999999999999"), Err(Inexact::TooFine));
        assert_eq!(millionths("1e40"), Err(Inexact::TooLarge));
        assert_eq!(millionths("1e99999999999999999999"), Err(Inexact::TooLarge));
        assert_eq!(millionths("-0.1"), Err(Inexact::Negative));
        assert_eq!(millionths("nan"), Err(Inexact::Malformed));
        assert_eq!(millionths("inf"), Err(Inexact::Malformed));
        assert_eq!(millionths("1e"), Err(Inexact::Malformed));
    }
}
