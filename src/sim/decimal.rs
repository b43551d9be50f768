//! Decimal digits of numbers without the formatting machinery, which costs more than all other work for a line.

use std::io::Write;

/// Digits of every number below a thousand, with leading zeros, the first one in the lowest byte.
const PADDED: [u32; 1000] = make_digit_table(true);

/// Digits of every number below a thousand without leading zeros, with their count in the highest byte.
const SHORT: [u32; 1000] = make_digit_table(false);

const fn make_digit_table(padded: bool) -> [u32; 1000] {
    let mut threes = [0; 1000];
    let mut number = 0;
    while number < 1000 {
        let [hundreds, tens, ones] = [number / 100, number / 10 % 10, number % 10];
        let digits = 0x30_3030 | ones << 16 | tens << 8 | hundreds;
        let count = 1 + (number > 9) as u32 + (number > 99) as u32;
        threes[number as usize] = if padded { digits } else { count << 24 | digits >> (24 - 8 * count) };
        number += 1;
    }
    threes
}

const THOUSAND: u64 = 1_000;
const MILLION: u64 = 1_000_000;

/// Digits of a number below a thousand, and their count.
#[inline]
fn three_digits(number: u64) -> (u64, u32) {
    let short = SHORT[number as usize];
    (u64::from(short & 0x00ff_ffff), short >> 24)
}

/// Six digits, with leading zeros.
#[inline]
fn six_digits(number: u64) -> u64 {
    let [high, low] = [number / THOUSAND, number % THOUSAND].map(|three| u64::from(PADDED[three as usize]));
    high | low << 24
}

/// Appends the first `count` of these bytes. All eight are written, as that is one move, and the rest truncated.
#[inline]
fn put_bytes(line: &mut Vec<u8>, bytes: u64, count: u32) {
    let end = line.len() + count as usize;
    line.extend_from_slice(&bytes.to_le_bytes());
    line.truncate(end);
}

#[inline]
pub fn put_number(line: &mut Vec<u8>, number: u64) {
    let (digits, count) = if number < THOUSAND { three_digits(number) } else { put_upper_digits(line, number) };
    put_bytes(line, digits, count);
}

/// Appends a number and the separator `after`.
#[inline]
pub fn put_number_and(line: &mut Vec<u8>, number: u64, after: u8) {
    let (digits, count) = if number < THOUSAND { three_digits(number) } else { put_upper_digits(line, number) };
    put_bytes(line, digits | u64::from(after) << (8 * count), count + 1);
}

/// Appends all digits of a number except the last few, which it returns with their count.
fn put_upper_digits(line: &mut Vec<u8>, number: u64) -> (u64, u32) {
    if number < MILLION {
        let (digits, count) = three_digits(number / THOUSAND);
        return (digits | u64::from(PADDED[(number % THOUSAND) as usize]) << (8 * count), count + 3);
    }
    put_number(line, number / MILLION);
    (six_digits(number % MILLION), 6)
}

/// Appends microseconds as decimal seconds (or other millionths), with as few decimals as exact.
pub fn put_seconds(line: &mut Vec<u8>, micros: u64) {
    let rest = micros % MILLION;
    match rest {
        0 => put_number(line, micros / MILLION),
        _ => put_decimals(line, micros / MILLION, rest),
    }
}

/// Like [`put_seconds`], followed by the separator `after`.
pub fn put_seconds_and(line: &mut Vec<u8>, micros: u64, after: u8) {
    let rest = micros % MILLION;
    match rest {
        0 => put_number_and(line, micros / MILLION, after),
        _ => {
            put_decimals(line, micros / MILLION, rest);
            line.push(after);
        }
    }
}

fn put_decimals(line: &mut Vec<u8>, whole: u64, rest: u64) {
    put_number_and(line, whole, b'.');
    let digits = six_digits(rest);
    // Trailing zeros are the bytes to which a digit of zero adds nothing.
    let zeros = ((digits ^ 0x3030_3030_3030) << 16).leading_zeros() / 8;
    put_bytes(line, digits, 6 - zeros);
}

/// Appends the shortest decimals that parse as an equal number, as `{:?}` writes them.
pub fn put_float(line: &mut Vec<u8>, number: f64) {
    match is_plain(number) {
        true => line.extend_from_slice(zmij::Buffer::new().format_finite(number).as_bytes()),
        false => write!(line, "{number:?}").expect("writing to memory does not fail"),
    }
}

/// Appends a finite number as serde_json writes it.
pub fn put_json_float(line: &mut Vec<u8>, number: f64) {
    line.extend_from_slice(zmij::Buffer::new().format_finite(number).as_bytes());
}

/// Appends the shortest decimals as `{}` writes them: a whole number has none.
pub fn put_shortest(line: &mut Vec<u8>, number: f64) {
    match is_plain(number) {
        true => {
            let mut buffer = zmij::Buffer::new();
            let text = buffer.format_finite(number);
            line.extend_from_slice(text.strip_suffix(".0").unwrap_or(text).as_bytes());
        }
        false => write!(line, "{number}").expect("writing to memory does not fail"),
    }
}

/// True if the number is not written with an exponent.
fn is_plain(number: f64) -> bool {
    number == 0.0 || (1e-4..1e15).contains(&number.abs())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::time::Time;

    fn put<T>(put: fn(&mut Vec<u8>, T), number: T) -> String {
        let mut line = Vec::new();
        put(&mut line, number);
        String::from_utf8(line).unwrap()
    }

    fn float() -> impl Strategy<Value = f64> {
        let decimals =
            (any::<i32>(), prop::sample::select(vec![1e1, 1e3, 1e6])).prop_map(|(number, by)| f64::from(number) / by);
        prop_oneof![any::<f64>(), -1e6..1e6, decimals, any::<i16>().prop_map(f64::from)]
    }

    // Compares with the formatting machinery.
    proptest! {
        #[test]
        fn numbers_are_as_the_machinery_writes_them(number in any::<u64>(), shift in 0u32..64) {
            let number = number >> shift;
            prop_assert_eq!(put(put_number, number), number.to_string());
            prop_assert_eq!(put(|line, number| put_number_and(line, number, b','), number), format!("{number},"));
            let seconds = Time::from_micros(number).seconds().to_string();
            prop_assert_eq!(put(put_seconds, number), &seconds[..]);
            prop_assert_eq!(put(|line, number| put_seconds_and(line, number, b','), number), format!("{seconds},"));
        }

        #[test]
        fn floats_are_as_the_machinery_writes_them(number in float()) {
            prop_assert_eq!(put(put_float, number), format!("{number:?}"));
            prop_assert_eq!(put(put_shortest, number), number.to_string());
        }
    }

    #[test]
    fn numbers_around_powers_of_ten_have_their_digits() {
        let powers = (0..20).map(|power| 10u64.pow(power));
        for number in powers.flat_map(|power| [power - 1, power, power + 1, power + power / 10]).chain(0..2_000) {
            assert_eq!(put(put_number, number), number.to_string());
            assert_eq!(put(|line, number| put_number_and(line, number, b' '), number), format!("{number} "));
            assert_eq!(put(put_seconds, number), Time::from_micros(number).seconds().to_string());
        }
        for number in [0.0, -0.0, 1e15, 1e16, 1e-4, 1e-5, f64::MAX, f64::MIN_POSITIVE, f64::INFINITY, f64::NAN] {
            assert_eq!(put(put_float, number), format!("{number:?}"));
            assert_eq!(put(put_shortest, number), number.to_string());
        }
    }
}
