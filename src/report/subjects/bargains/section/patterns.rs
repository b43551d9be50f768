//! Colours with a pattern each, so that areas can be distinguished without colours too.

use crate::markup::{Html, html};

/// Uses of processors; the number is that of the class `q0` and so on, also in the style sheet.
pub const BEST_EFFORT: usize = 0;
pub const USED: usize = 1;
pub const IDLE: usize = 2;
pub const HELD: usize = 3;
pub const PADDING: usize = 4;
pub const FREE: usize = 5;
pub const DOWN: usize = 6;
pub const OTHERS: usize = 7;

pub const WORDS: [&str; 8] = [
    "best effort",
    "booked and used",
    "booked and idle",
    "held, and never booked",
    "padding: idle until its work is wanted",
    "an advertised slot",
    "down",
    "of other systems",
];

/// Size of a tile, its background and its drawing; [`BEST_EFFORT`] is plain, and [`FREE`] is only an outline. A tile
/// without a background lies over others.
const TILES: [(usize, &str, Option<&str>, &str); 6] = [
    (USED, "7", Some("f1"), "M-1 8L8 -1M-1 1L1 -1M6 8L8 6"),
    (IDLE, "6", Some("f2"), "M1.5 3h3"),
    (HELD, "8", None, "M0 0L8 8M8 0L0 8"),
    (PADDING, "5", Some("f4"), "M1.6 2.5h1.8M2.5 1.6v1.8"),
    (DOWN, "5", Some("f7"), "M0 2.5H5"),
    (OTHERS, "9", Some("f6"), "M4.5 2v5"),
];

/// Definitions for all figures of the page; they draw nothing themselves.
pub fn pattern_definitions() -> Html {
    let tile = |(number, size, ground, path): &(usize, &str, Option<&str>, &str)| {
        let class = if ground.is_some() { "over" } else { "line l3" };
        let ground =
            ground.map(|class| html!("<rect width=\"{size}\" height=\"{size}\" class=\"{class}\"/>", size, class));
        html!(
            "<pattern id=\"q{number}\" width=\"{size}\" height=\"{size}\" patternUnits=\"userSpaceOnUse\">\
             {ground}<path class=\"{class}\" d=\"{path}\"/></pattern>",
            [number, size, ground, class, path]
        )
    };
    let tiles: Html = TILES.iter().map(tile).collect();
    html!("<svg class=\"tiles\" aria-hidden=\"true\"><defs>{tiles}</defs></svg>\n", tiles)
}

/// A legend of some of the uses.
pub fn uses_legend(of: impl IntoIterator<Item = usize>) -> Vec<(String, String)> {
    of.into_iter().map(|number| (format!("q{number}"), WORDS[number].to_owned())).collect()
}
