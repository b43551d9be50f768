//! Numbers as decimal digits, by hand: the formatting machinery costs more than all else that is done for a line.

use std::io::Write;

/// Eight digits, the first one in the lowest byte. Each step cuts all parts in two at once: the product of a part and a
/// rounded-up 2^20 / 100, or 2^10 / 10, has the quotient in its upper bits.
fn eight(number: u32) -> u64 {
    let fours = u64::from(number / 10_000) | u64::from(number % 10_000) << 32;
    let hundreds = (fours * 10_486) >> 20 & 0x0000_007f_0000_007f;
    let twos = hundreds | (fours - 100 * hundreds) << 16;
    let tens = (twos * 103) >> 10 & 0x000f_000f_000f_000f;
    tens | (twos - 10 * tens) << 8
}

const EIGHT: u64 = 100_000_000;
const ZEROS: u64 = u64::from_le_bytes(*b"00000000");

/// The first so many of these digits. All eight are written, as that is one move, and the rest taken back.
fn put_digits(line: &mut Vec<u8>, digits: u64, count: u32) {
    let end = line.len() + count as usize;
    line.extend_from_slice(&(digits | ZEROS).to_le_bytes());
    line.truncate(end);
}

pub fn put_number(line: &mut Vec<u8>, number: u64) {
    if number < 10 {
        return line.push(b'0' + number as u8);
    }
    if number >= EIGHT {
        put_number(line, number / EIGHT);
        return put_digits(line, eight((number % EIGHT) as u32), 8);
    }
    let digits = eight(number as u32);
    let zeros = digits.trailing_zeros() / 8;
    put_digits(line, digits >> (8 * zeros), 8 - zeros);
}

/// Whole microseconds as decimal seconds, or other millionths, with the decimals that are needed.
pub fn put_seconds(line: &mut Vec<u8>, micros: u64) {
    put_number(line, micros / 1_000_000);
    let rest = micros % 1_000_000;
    if rest > 0 {
        line.push(b'.');
        let digits = eight(rest as u32 * 100);
        put_digits(line, digits, 8 - digits.leading_zeros() / 8);
    }
}

/// The shortest decimals that read back as the same number, as `{:?}` writes them.
pub fn put_float(line: &mut Vec<u8>, number: f64) {
    match is_plain(number) {
        true => line.extend_from_slice(zmij::Buffer::new().format_finite(number).as_bytes()),
        false => write!(line, "{number:?}").expect("writing to memory does not fail"),
    }
}

/// The same as `{}` writes them: a whole number has no decimals.
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

/// Whether nobody would write it with an exponent.
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

    // The formatting machinery is the judge.
    proptest! {
        #[test]
        fn numbers_are_as_the_machinery_writes_them(number in any::<u64>(), shift in 0u32..64) {
            let number = number >> shift;
            prop_assert_eq!(put(put_number, number), number.to_string());
            let seconds = Time::from_micros(number).seconds().to_string();
            prop_assert_eq!(put(put_seconds, number), seconds);
        }

        #[test]
        fn floats_are_as_the_machinery_writes_them(number in float()) {
            prop_assert_eq!(put(put_float, number), format!("{number:?}"));
            prop_assert_eq!(put(put_shortest, number), number.to_string());
        }
    }

    #[test]
    fn all_numbers_around_a_power_of_ten_have_their_digits() {
        let powers = (0..20).map(|power| 10u64.pow(power));
        for number in powers.flat_map(|power| [power - 1, power, power + 1, power + power / 10]) {
            assert_eq!(put(put_number, number), number.to_string());
        }
        for number in [0.0, -0.0, 1e15, 1e16, 1e-4, 1e-5, f64::MAX, f64::MIN_POSITIVE, f64::INFINITY, f64::NAN] {
            assert_eq!(put(put_float, number), format!("{number:?}"));
            assert_eq!(put(put_shortest, number), number.to_string());
        }
    }
}
