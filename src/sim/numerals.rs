//! Numbers, durations, shares and volumes in the form that people read: on terminals, on pages and in figures.
//!
//! Files for programs (CSV, JSON) have exact numbers and use none of this.

/// Most decimals of a number below 1.
const DECIMALS_MAX: i32 = 6;

/// Most decimals of a share in percent, and the least share that they can show.
const PERCENT_DECIMALS_MAX: usize = 3;
const PERCENT_LEAST: f64 = 0.001;

/// Most decimals of a number with an interval.
const INTERVAL_DECIMALS_MAX: i32 = 12;

/// A whole number with commas between thousands.
pub fn format_count(number: u64) -> String {
    group_thousands(&number.to_string())
}

/// A number with its noun: `1 job`, `2 jobs`.
pub fn format_counted(number: u64, what: &str) -> String {
    format!("{} {what}{}", format_count(number), if number == 1 { "" } else { "s" })
}

/// A number that stands alone, with three or four significant digits and its thousands apart: `0.123`, `2.08`,
/// `631.4`, `15,260`, `15.26 M`.
pub fn format_number(number: f64) -> String {
    let (scaled, suffix) = match number.abs() {
        size if size >= 1e15 || size.is_nan() => return format!("{number:.3e}"),
        size if size >= 1e12 => (number / 1e12, " T"),
        size if size >= 1e9 => (number / 1e9, " G"),
        size if size >= 1e6 => (number / 1e6, " M"),
        _ => (number, ""),
    };
    let digits = Digits { decimals: decimals_for(scaled) };
    let text = digits.show_number(scaled);
    let text = if digits.decimals > 0 { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    format!("{text}{suffix}")
}

/// The form that all numbers of one column have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Digits {
    decimals: usize,
}

impl Digits {
    /// Form for a column of these numbers. Its decimals are those that suit the largest number, more (up to two) if the
    /// smallest would read 0, and fewer if all numbers end in zeros. O(numbers).
    pub fn for_numbers(numbers: impl IntoIterator<Item = f64>) -> Digits {
        let mut largest = 0.0;
        let mut smallest = f64::INFINITY;
        let numbers: Vec<f64> = numbers.into_iter().map(f64::abs).filter(|number| number.is_finite()).collect();
        for &number in numbers.iter().filter(|number| **number > 0.0) {
            (largest, smallest) = (f64::max(largest, number), f64::min(smallest, number));
        }
        let first = if smallest < 1.0 { -decimal_exponent(smallest) as usize } else { 0 };
        let mut decimals = decimals_for(largest).max(first.min(2));
        while decimals > 0 && !numbers.iter().any(|number| needs_decimals(number, decimals)) {
            decimals -= 1;
        }
        Digits { decimals }
    }

    pub fn show_number(self, number: f64) -> String {
        let decimals = self.decimals;
        let text = format!("{number:.decimals$}");
        let is_zero = text.bytes().all(|byte| matches!(byte, b'-' | b'0' | b'.'));
        group_thousands(if is_zero { text.trim_start_matches('-') } else { &text })
    }
}

fn needs_decimals(number: &f64, decimals: usize) -> bool {
    !format!("{number:.decimals$}").ends_with('0')
}

impl Digits {
    /// A difference of two numbers of the column, with its sign unless it reads 0.
    pub fn show_signed(self, difference: f64) -> String {
        format_signed(self.show_number(difference.abs()), difference)
    }

    /// A confidence interval beside a number of the column; with digits of its own if it would read 0.
    pub fn show_interval(self, within: f64) -> String {
        let text = self.show_number(within);
        if within != 0.0 && text.bytes().all(|byte| matches!(byte, b'0' | b'.')) { format_number(within) } else { text }
    }
}

/// A share of one as `75.0 %`; with more decimals if it would read as none or all, but is not.
pub fn format_percent(share: f64) -> String {
    let is_between = share > 0.0 && share < 1.0;
    let decimals = (1..=PERCENT_DECIMALS_MAX).find(|decimals| {
        let shown: f64 = format!("{:.decimals$}", share * 100.0).parse().unwrap_or_default();
        !is_between || (shown > 0.0 && shown < 100.0)
    });
    match decimals {
        Some(decimals) => format!("{:.decimals$} %", share * 100.0),
        None if share < 0.5 => format!("< {:.PERCENT_DECIMALS_MAX$} %", PERCENT_LEAST),
        None => format!("> {:.PERCENT_DECIMALS_MAX$} %", 100.0 - PERCENT_LEAST),
    }
}

/// A number with the half width of its interval: two digits of the interval, and as many of the number as these allow.
/// Each is a text of its own, with thousands apart. Without an interval, the number stands alone.
pub fn with_interval(mean: f64, within: Option<f64>) -> (String, Option<String>) {
    let Some(within) = within.filter(|within| *within > 0.0 && within.is_finite()) else {
        return (format_number(mean), within.map(|_| "0".to_owned()));
    };
    // 99.6 rounds to three digits.
    let rounded: f64 = format!("{within:.1e}").parse().unwrap_or(within);
    let place = decimal_exponent(rounded) - 1;
    (form_at_place(mean, place), Some(form_at_place(within, place)))
}

fn form_at_place(number: f64, place: i32) -> String {
    match place {
        0.. => {
            let step: f64 = format!("1e{place}").parse().unwrap_or(1.0);
            Digits { decimals: 0 }.show_number((number / step).round() * step)
        }
        _ => Digits { decimals: (-place).min(INTERVAL_DECIMALS_MAX) as usize }.show_number(number),
    }
}

/// Seconds in the two units that say most.
pub fn format_span(seconds: f64) -> String {
    let whole = seconds.round() as u64;
    match whole {
        0..60 if seconds > 0.0 && seconds < 0.01 => format!("{} ms", format_number((seconds * 1e5).round() / 1e2)),
        0..60 => format!("{} s", (seconds * 100.0).round() / 100.0),
        60..3_600 => format!("{} min {:02} s", whole / 60, whole % 60),
        3_600..86_400 => format!("{} h {:02} min", whole / 3_600, whole / 60 % 60),
        _ => format!("{} d {:02} h", format_count(whole / 86_400), whole / 3_600 % 24),
    }
}

/// A difference of durations in seconds, with its sign.
pub fn signed_span(seconds: f64) -> String {
    format_signed(format_span(seconds.abs()), seconds)
}

/// A size with the sign of its difference; a size that reads 0 has none.
fn format_signed(size: String, difference: f64) -> String {
    let is_zero = !size.bytes().any(|byte| byte.is_ascii_digit() && byte != b'0');
    match difference {
        _ if is_zero => size,
        difference if difference < 0.0 => format!("-{size}"),
        _ => format!("+{size}"),
    }
}

/// Bytes, in the unit that leaves four digits or so.
pub fn format_volume(bytes: f64) -> String {
    const UNITS: [(&str, f64); 5] = [("PB", 1e15), ("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3)];
    let (unit, size) = UNITS.into_iter().find(|(_, size)| bytes >= *size).unwrap_or(("B", 1.0));
    format!("{} {unit}", format_number((bytes / size * 100.0).round() / 100.0))
}

/// A sentence with its first letter in upper case.
pub fn capitalize_first(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

/// A quantity and its unit with spaces at which no line breaks.
pub fn no_break_spaces(quantity: &str) -> String {
    quantity.replace(' ', "\u{a0}")
}

/// Decimals that leave a number three significant digits below 1, and four above.
fn decimals_for(number: f64) -> usize {
    let exponent = decimal_exponent(number);
    if exponent < 0 { (2 - exponent).min(DECIMALS_MAX) as usize } else { (3 - exponent).clamp(0, 2) as usize }
}

/// The power of ten that a number begins with; 0 for zero.
pub fn decimal_exponent(number: f64) -> i32 {
    format!("{number:e}").split('e').nth(1).and_then(|exponent| exponent.parse().ok()).unwrap_or(0)
}

/// Digits, perhaps with a sign and decimals, with the thousands apart.
fn group_thousands(digits: &str) -> String {
    let (whole, rest) = digits.find('.').map_or((digits, ""), |point| digits.split_at(point));
    let (sign, whole) = whole.strip_prefix('-').map_or(("", whole), |whole| ("-", whole));
    let mut text = sign.to_owned();
    for (position, digit) in whole.chars().enumerate() {
        if position > 0 && (whole.len() - position).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_alone_has_three_or_four_digits() {
        let cases = [
            (0.0, "0"),
            (-0.000_000_01, "0"),
            (0.123_46, "0.123"),
            (0.5, "0.5"),
            (1.0, "1"),
            (2.083_3, "2.08"),
            (99.999, "100"),
            (631.43, "631.4"),
            (644.0, "644"),
            (8_284.83, "8,285"),
            (-17_315.0, "-17,315"),
            (999_999.0, "999,999"),
            (15_260_000.0, "15.26 M"),
            (2e15, "2.000e15"),
        ];
        cases.into_iter().for_each(|(value, text)| assert_eq!(format_number(value), text));
    }

    #[test]
    fn numbers_of_a_column_have_one_form() {
        let column = |numbers: &[f64]| {
            let digits = Digits::for_numbers(numbers.iter().copied());
            numbers.iter().map(|number| digits.show_number(*number)).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(column(&[15_260.4, 14_170.2, 8_284.83]), "15,260 14,170 8,285");
        assert_eq!(column(&[644.0, 631.43]), "644.0 631.4");
        assert_eq!(column(&[1_120.0, 17_315.0]), "1,120 17,315");
        assert_eq!(column(&[1.0, 0.25, 0.0]), "1.00 0.25 0.00");
        assert_eq!(column(&[12_345.6, 0.31, -0.01]), "12,345.60 0.31 -0.01");
        assert_eq!(column(&[0.6, 0.65]), "0.60 0.65");
        assert_eq!(column(&[0.000_4, 3.0]), "0 3");
        assert_eq!(column(&[]), "");
    }

    #[test]
    fn differences_have_a_sign_unless_they_read_zero() {
        let digits = Digits::for_numbers([644.0, 631.43]);
        assert_eq!([12.57, -12.57, 0.01].map(|number| digits.show_signed(number)), ["+12.6", "-12.6", "0.0"]);
        assert_eq!([-61.0, 0.0, 29_700.0].map(signed_span), ["-1 min 01 s", "0 s", "+8 h 15 min"]);
    }

    #[test]
    fn a_share_reads_as_all_or_none_only_if_it_is() {
        let shares = [0.0, 1.0, 0.75, 56_883.0 / 56_892.0, 9.0 / 56_892.0, 1.0 - 1e-9, 1e-9, 0.999, 0.1];
        let texts = ["0.0 %", "100.0 %", "75.0 %", "99.98 %", "0.02 %", "> 99.999 %", "< 0.001 %", "99.9 %", "10.0 %"];
        assert_eq!(shares.map(format_percent), texts);
    }

    #[test]
    fn a_number_has_as_many_digits_as_its_interval_allows() {
        let text = |mean: f64, within: f64| match with_interval(mean, Some(within)) {
            (mean, Some(within)) => format!("{mean} ± {within}"),
            (mean, None) => mean,
        };
        assert_eq!(text(1_549.10, 742.58), "1,550 ± 740");
        assert_eq!(text(1_549.10, 99.96), "1,550 ± 100");
        assert_eq!(text(1_549.10, 9.949), "1,549.1 ± 9.9");
        assert_eq!(text(0.123_456, 0.004_56), "0.1235 ± 0.0046");
        assert_eq!(text(12.0, 300.0), "10 ± 300");
        assert_eq!(text(-1_234.0, 56.0), "-1,234 ± 56");
        assert_eq!(text(5.0, 0.0), "5 ± 0");
        assert_eq!(with_interval(631.43, None), ("631.4".to_owned(), None));
    }

    #[test]
    fn quantities_have_units_and_do_not_break() {
        assert_eq!([0.0, 0.001_5, 0.5, 59.0, 61.0].map(format_span), ["0 s", "1.5 ms", "0.5 s", "59 s", "1 min 01 s"]);
        assert_eq!([29_700.0, 90_000_000.0].map(format_span), ["8 h 15 min", "1,041 d 16 h"]);
        assert_eq!([0.0, 999.0, 1_500.0, 2.5e9].map(format_volume), ["0 B", "999 B", "1.5 kB", "2.5 GB"]);
        assert_eq!(no_break_spaces(&format_percent(0.75)), "75.0\u{a0}%");
    }
}
