//! Numbers with SimGrid's units.

/// A number and its unit, such as `41.279125MBps`.
pub fn parse_quantity(text: &str, units: &Units) -> Option<f64> {
    let text = text.trim();
    let end = text.char_indices().find(|&(at, letter)| match letter {
        '0'..='9' | '.' | '-' | '+' => false,
        'e' | 'E' => !is_exponent(at, text),
        _ => true,
    });
    let (number, unit) = text.split_at(end.map_or(text.len(), |(at, _)| at));
    let (_, size) = units.iter().find(|(name, _)| *name == unit.trim())?;
    number.parse::<f64>().ok().map(|number| number * size)
}

fn is_exponent(at: usize, text: &str) -> bool {
    let rest = text[at + 1..].trim_start_matches(['+', '-']);
    rest.starts_with(|letter: char| letter.is_ascii_digit())
}

pub type Units = [(&'static str, f64)];

pub const RATES: [(&str, f64); 17] = [
    ("Bps", 1.0),
    ("kBps", 1e3),
    ("MBps", 1e6),
    ("GBps", 1e9),
    ("TBps", 1e12),
    ("KiBps", 1024.0),
    ("MiBps", 1_048_576.0),
    ("GiBps", 1_073_741_824.0),
    ("bps", 0.125),
    ("kbps", 125.0),
    ("Mbps", 125e3),
    ("Gbps", 125e6),
    ("Tbps", 125e9),
    ("Kibps", 128.0),
    ("Mibps", 131_072.0),
    ("Gibps", 134_217_728.0),
    ("", 1.0),
];

pub const TIMES: [(&str, f64); 10] = [
    ("ns", 1e-9),
    ("us", 1e-6),
    ("ms", 1e-3),
    ("s", 1.0),
    ("m", 60.0),
    ("h", 3600.0),
    ("d", 86_400.0),
    ("w", 604_800.0),
    ("ps", 1e-12),
    ("", 1.0),
];

pub const SPEEDS: [(&str, f64); 12] = [
    ("f", 1.0),
    ("kf", 1e3),
    ("Mf", 1e6),
    ("Gf", 1e9),
    ("Tf", 1e12),
    ("Pf", 1e15),
    ("flops", 1.0),
    ("kiloflops", 1e3),
    ("megaflops", 1e6),
    ("gigaflops", 1e9),
    ("teraflops", 1e12),
    ("", 1.0),
];
