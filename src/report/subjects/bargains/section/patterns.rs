//! Colours with a pattern each, so that areas can be told apart without colours too.

/// What processors can be for; the number is that of the class `q0` and so on, in the style sheet too.
pub const BEST_EFFORT: usize = 0;
pub const USED: usize = 1;
pub const IDLE: usize = 2;
pub const HELD: usize = 3;
pub const FREE: usize = 4;

pub const WORDS: [&str; 5] = ["best effort", "booked and used", "booked and idle", "held, and never booked", "free"];

/// Size of a tile, and what is drawn in it over the colour; [`BEST_EFFORT`] is plain.
const TILES: [(usize, &str, &str); 4] = [
    (USED, "7", "M-1 8L8 -1M-1 1L1 -1M6 8L8 6"),
    (IDLE, "6", "M1.5 3h3"),
    (HELD, "7", "M0 0L7 7M7 0L0 7"),
    (FREE, "6", "M3 0V6"),
];

/// For all figures of the page, which draw nothing themselves.
pub fn definitions() -> String {
    let tile = |(number, size, path): &(usize, &str, &str)| {
        format!(
            "<pattern id=\"q{number}\" width=\"{size}\" height=\"{size}\" patternUnits=\"userSpaceOnUse\">\
             <rect width=\"{size}\" height=\"{size}\" class=\"f{number}\"/><path class=\"over\" d=\"{path}\"/></pattern>"
        )
    };
    let tiles: String = TILES.iter().map(tile).collect();
    format!("<svg class=\"tiles\" aria-hidden=\"true\"><defs>{tiles}</defs></svg>\n")
}

/// A legend of some of them.
pub fn legend(of: &[usize]) -> Vec<(String, String)> {
    of.iter().map(|number| (format!("q{number}"), WORDS[*number].to_owned())).collect()
}
