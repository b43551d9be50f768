//! The colours of all pictures. Those of reports that tell things apart are of Okabe and Ito, made for those who see
//! some colours alike.

/// Text of pictures that stand alone.
pub const INK: &str = "#282828";
/// Secondary text and the lines of axes; legible on light and dark pages.
pub const SOFT: &str = "#707070";
/// Grid lines.
pub const GRID: &str = "#dfdfdf";
/// Ground of pictures that stand alone.
pub const GROUND: &str = "#fff";

/// Colours that tell things apart, before they repeat.
pub const COLOURS: usize = 8;

/// On a light ground; the yellow is darker than theirs, and the last one is grey.
pub const ON_LIGHT: [&str; COLOURS] =
    ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#7a6a00", "#8a8f98"];
pub const ON_DARK: [&str; COLOURS] =
    ["#3f9be0", "#f0b030", "#20b98d", "#dc92ba", "#8ccdf5", "#f07c35", "#c2b040", "#7f8792"];

/// A rule of a style sheet for each colour, given its number.
pub fn colour_rules(colours: &[&str; COLOURS], rule: impl Fn(usize, &str) -> String) -> String {
    colours.iter().enumerate().map(|(number, colour)| rule(number, colour)).collect()
}

/// Colours of the figures of papers, which have up to ten lines, so that the eight do not suffice. They remain distinct
/// for all kinds of colour vision, together with dashes and marks.
pub const OF_PAPERS: [&str; 10] =
    ["#7f7f7f", "#1f77b4", "#009e73", "#8c564b", "#e69f00", "#9467bd", "#d55e00", "#56b4e9", "#005a82", "#cc286e"];

/// Lengths of dashes and of the gaps after them; none for a solid line.
pub const DASHES: [Option<&str>; 5] = [Some("2 3"), None, Some("7 3"), None, Some("12 4")];

/// Corners of the marks; one without corners is a circle.
pub const MARKS: [&[(f64, f64)]; 5] = [
    &[],
    &[(-4.0, -4.0), (4.0, -4.0), (4.0, 4.0), (-4.0, 4.0)],
    &[(0.0, -5.0), (5.0, 4.0), (-5.0, 4.0)],
    &[(0.0, -6.0), (5.0, 0.0), (0.0, 6.0), (-5.0, 0.0)],
    &[(0.0, 5.0), (5.0, -4.0), (-5.0, -4.0)],
];
