//! Lines over a rectangle, for what cannot be used.

use std::fmt::Write;

use super::html::format_coord;

/// Distance between the lines.
const APART: f64 = 7.0;
/// Largest number of rectangles in a chart; more are not drawn.
pub const MOST: usize = 1_000;

/// Lines from the lower left to the upper right of a rectangle.
pub fn hatch_lines((left, top): (f64, f64), (width, height): (f64, f64)) -> String {
    let mut path = String::new();
    let mut across = APART;
    while across < width + height {
        let from = across.min(height);
        let to = across.min(width);
        let x = left + across - from;
        let y = top + from;
        let _ = write!(
            path,
            "M{} {}L{} {}",
            format_coord(x),
            format_coord(y),
            format_coord(left + to),
            format_coord(top + across - to)
        );
        across += APART;
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_stay_in_their_rectangle() {
        assert_eq!(hatch_lines((10.0, 20.0), (10.0, 14.0)), "M10 27L17 20M10 34L20 24M17 34L20 31");
        assert_eq!(hatch_lines((0.0, 0.0), (3.0, 3.0)), "");
    }
}
