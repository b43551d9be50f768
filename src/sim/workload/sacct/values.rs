//! Values of `sacct`: times, durations, amounts, states.

const SECONDS_PER_DAY: i64 = 86_400;

fn is_digits(text: &[u8]) -> bool {
    !text.is_empty() && text.iter().all(u8::is_ascii_digit)
}

/// A whole number of at most 18 digits.
pub fn number(text: &[u8]) -> Option<u64> {
    (is_digits(text) && text.len() <= 18).then(|| text.iter().fold(0, |sum, digit| 10 * sum + u64::from(digit - b'0')))
}

/// True for ids of jobs, of elements and ranges of arrays, of parts of heterogeneous jobs, and of their steps:
/// `12`, `12_3`, `12_[4-9%2]`, `12+1`, `12.batch`.
pub fn is_id(text: &[u8]) -> bool {
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    digits > 0
        && text[digits..].first().is_none_or(|byte| b"_+.".contains(byte))
        && text[digits..].iter().all(|byte| byte.is_ascii_alphanumeric() || b"_+.[]-,%".contains(byte))
}

/// True for the id of a step.
pub fn is_step(id: &[u8]) -> bool {
    id.contains(&b'.')
}

/// True for an amount (`2.53M`, `2800Mc`), or for nothing.
pub fn is_count(text: &[u8]) -> bool {
    let text = text.strip_prefix(b"-").unwrap_or(text);
    let number = text.iter().take_while(|byte| byte.is_ascii_digit() || **byte == b'.').count();
    let unit = &text[number..];
    text == b"?" || unit.len() <= 2 && unit.iter().all(u8::is_ascii_alphabetic) && (number > 0 || unit.is_empty())
}

/// An amount in thousandths of its unit, with the letters after it: `2800Mc` is 2800 and `Mc`. None for nothing.
fn amount(text: &[u8]) -> Option<(u128, &[u8])> {
    let end = text.iter().position(|byte| !byte.is_ascii_digit() && *byte != b'.').unwrap_or(text.len());
    let (digits, unit) = text.split_at(end);
    let point = digits.iter().position(|byte| *byte == b'.').unwrap_or(digits.len());
    let mut thousandths = u128::from(number(&digits[..point])?) * 1_000;
    let decimals = digits[point..].iter().skip(1).zip([100, 10, 1]);
    for (digit, worth) in decimals {
        thousandths += worth * u128::from(digit.checked_sub(b'0').filter(|digit| *digit < 10)?);
    }
    Some((thousandths, unit))
}

/// Power of two that a letter stands for.
fn scale_bits(letter: u8) -> Option<u32> {
    Some(
        10 * match letter {
            b'K' => 1,
            b'M' => 2,
            b'G' => 3,
            b'T' => 4,
            b'P' => 5,
            _ => return None,
        },
    )
}

/// A number of nodes or cores, which `sacct` shortens to `1.50K` without `--noconvert`.
pub fn count(text: &[u8]) -> Option<u32> {
    if let Some(number) = number(text) {
        return u32::try_from(number).ok();
    }
    let (thousandths, unit) = amount(text)?;
    let [letter] = unit else { return None };
    u32::try_from((thousandths << scale_bits(*letter)?) / 1_000).ok()
}

/// Owner of an amount of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemoryOf {
    Job,
    Node,
    Core,
}

/// Memory in KiB: `2800Mc` for each core, `4Gn` for each node, `4000M` for the job.
pub fn memory(text: &[u8]) -> Option<(u64, MemoryOf)> {
    let (thousandths, unit) = amount(text)?;
    let (letter, of) = match unit {
        [] => (b'M', MemoryOf::Job),
        [letter] => (*letter, MemoryOf::Job),
        [letter, b'c'] => (*letter, MemoryOf::Core),
        [letter, b'n'] => (*letter, MemoryOf::Node),
        _ => return None,
    };
    let kilobytes = (thousandths << (scale_bits(letter)? - 10)) / 1_000;
    u64::try_from(kilobytes).ok().map(|kilobytes| (kilobytes, of))
}

/// The value of a name in a list such as `cpu=12,mem=33600M,node=1`.
pub fn resource<'t>(text: &'t [u8], name: &[u8]) -> Option<&'t [u8]> {
    text.split(|byte| *byte == b',').find_map(|part| part.strip_prefix(name)?.strip_prefix(b"="))
}

/// Words for a time that is not known.
fn is_unknown(text: &[u8]) -> bool {
    [&b"Unknown"[..], b"None", b"N/A"].iter().any(|word| text.eq_ignore_ascii_case(word))
}

pub fn is_moment(text: &[u8]) -> bool {
    is_unknown(text) || moment(text).is_some()
}

/// Seconds since 1970 of a time such as `2021-12-10T14:23:28`, or of a count of them; None if it is not known.
pub fn moment(text: &[u8]) -> Option<i64> {
    if let Some(seconds) = number(text) {
        return (9..=11).contains(&text.len()).then_some(seconds.cast_signed());
    }
    let &[y1, y2, y3, y4, b'-', m1, m2, b'-', d1, d2, b'T' | b' ', h1, h2, b':', n1, n2, b':', s1, s2] = text else {
        return None;
    };
    let year = two_digits(y1, y2)? * 100 + two_digits(y3, y4)?;
    let month = two_digits(m1, m2)?;
    let day = two_digits(d1, d2)?;
    let hour = two_digits(h1, h2)?;
    let minute = two_digits(n1, n2)?;
    let second = two_digits(s1, s2)?;
    let is_time = (1..=12).contains(&month) && (1..=31).contains(&day) && hour < 24 && minute < 60 && second < 61;
    is_time.then(|| days_since_1970(year, month, day) * SECONDS_PER_DAY + hour * 3_600 + minute * 60 + second)
}

fn two_digits(tens: u8, ones: u8) -> Option<i64> {
    number(&[tens, ones]).map(u64::cast_signed)
}

/// Days from 1970-01-01 to a date, for years from 0 on.
pub fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    // Years begin with March here, so that the leap day is the last one.
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

/// A time as [`moment`] reads it.
pub fn shown_moment(seconds: i64) -> String {
    let days = seconds.div_euclid(SECONDS_PER_DAY);
    let of_day = seconds.rem_euclid(SECONDS_PER_DAY);
    // The inverse of `days_since_1970`.
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = (shifted_month + 2) % 12 + 1;
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    let hour = of_day / 3_600;
    let minute = of_day / 60 % 60;
    let second = of_day % 60;
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}")
}

/// Words that stand for a duration.
const NO_DURATIONS: [&[u8]; 4] = [b"UNLIMITED", b"Partition_Limit", b"INVALID", b"Unknown"];

pub fn is_duration(text: &[u8]) -> bool {
    text.is_empty() || NO_DURATIONS.contains(&text) || number(text).is_some() || duration(text).is_some()
}

/// Microseconds of a duration such as `64-00:00:00`, `01:02:03` or `00:04.836`; None for words.
pub fn duration(text: &[u8]) -> Option<u64> {
    let (days, clock) = match text.iter().position(|byte| *byte == b'-') {
        Some(at) => (number(&text[..at])?, &text[at + 1..]),
        None => (0, text),
    };
    let point = clock.iter().position(|byte| *byte == b'.').unwrap_or(clock.len());
    let mut seconds = 0_u64;
    let mut parts = 0;
    for part in clock[..point].split(|byte| *byte == b':') {
        seconds = seconds.checked_mul(60)?.checked_add(number(part)?)?;
        parts += 1;
    }
    let fraction = clock[point..].get(1..).unwrap_or_default();
    if !(2..=3).contains(&parts) || fraction.len() > 6 {
        return None;
    }
    let micros = if fraction.is_empty() { 0 } else { number(fraction)? * 10_u64.pow(6 - fraction.len() as u32) };
    let seconds = days.checked_mul(SECONDS_PER_DAY.cast_unsigned())?.checked_add(seconds)?;
    seconds.checked_mul(1_000_000)?.checked_add(micros)
}

/// Letters of the shortest state, `FAILED`.
const STATE_LETTERS: usize = 6;

/// The state without what follows it: `CANCELLED by 75200` is `CANCELLED`. None for any other text.
pub fn state(text: &[u8]) -> Option<&[u8]> {
    let (word, rest) = text.split_at(text.iter().position(|byte| *byte == b' ').unwrap_or(text.len()));
    let is_word = word.len() >= STATE_LETTERS && word.iter().all(|byte| byte.is_ascii_uppercase() || *byte == b'_');
    let is_author =
        rest.is_empty() || rest.strip_prefix(b" by ").is_some_and(|author| !author.iter().any(u8::is_ascii_whitespace));
    (is_word && is_author).then_some(word)
}

pub fn is_state(text: &[u8]) -> bool {
    state(text).is_some()
}
