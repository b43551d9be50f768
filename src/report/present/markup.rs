//! Markup as a type. Text becomes markup only by being escaped, so no name of a user can act in a page or a picture.
//!
//! `html!` takes a literal, which is markup, and arguments, which are escaped unless they are markup. An identifier, or
//! each of several in brackets, is an argument of that name (`{name}`); any other expression is a nameless one (`{}`).
//! Literals are checked when they are compiled: a name in braces has to be an argument, as `format_args!` would take it
//! from the scope otherwise, and not escape it.

use std::fmt::{self, Display, Formatter, Write};
use std::ops::{Add, AddAssign};

use hansa_sim::grid::{EdgeId, JobId, NodeSet};
use hansa_sim::settings::is_unprintable;
use hansa_sim::time::Time;

/// Markup that is safe to put into a page or a picture.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Html(String);

#[macro_export]
macro_rules! html {
    (@ $literal:literal [$($value:expr,)*] [$($name:ident = $named:expr,)*]) => {{
        const _: () = assert!(
            $crate::markup::has_all($literal, &[$(stringify!($value)),*], &[$(stringify!($name)),*]),
            "a name or a place in braces has no argument"
        );
        $crate::markup::Html::from_macro(format_args!(
            $literal
            $(, $crate::markup::Escaped(&$value))*
            $(, $name = $crate::markup::Escaped(&$named))*
        ))
    }};
    (@ $literal:literal $values:tt [$($named:tt)*] $name:ident $(, $($rest:tt)*)?) => {
        $crate::markup::html!(@ $literal $values [$($named)* $name = $name,] $($($rest)*)?)
    };
    (@ $literal:literal $values:tt [$($named:tt)*] [$($name:ident),+ $(,)?] $(, $($rest:tt)*)?) => {
        $crate::markup::html!(@ $literal $values [$($named)* $($name = $name,)+] $($($rest)*)?)
    };
    (@ $literal:literal $values:tt [$($named:tt)*] $name:ident = $value:expr $(, $($rest:tt)*)?) => {
        $crate::markup::html!(@ $literal $values [$($named)* $name = $value,] $($($rest)*)?)
    };
    (@ $literal:literal [$($values:tt)*] $named:tt $value:expr $(, $($rest:tt)*)?) => {
        $crate::markup::html!(@ $literal [$($values)* $value,] $named $($($rest)*)?)
    };
    ($literal:literal $(, $($arguments:tt)*)?) => {
        $crate::markup::html!(@ $literal [] [] $($($arguments)*)?)
    };
}
pub use html;

/// A list of pieces of markup, for rows of tables.
#[macro_export]
macro_rules! cells {
    ($($cell:expr),* $(,)?) => { vec![$($crate::markup::Html::from($cell)),*] };
}
pub use cells;

impl Html {
    /// Result of `html!`, which wraps all arguments.
    pub fn from_macro(markup: fmt::Arguments<'_>) -> Html {
        Html(markup.to_string())
    }

    /// Markup that is part of the program, such as a style sheet.
    pub fn from_constant(markup: &'static str) -> Html {
        Html(markup.to_owned())
    }

    /// A picture that this program has written to a file; None if it has more in it than shapes and texts.
    pub fn from_picture(svg: &str) -> Option<Html> {
        let tree = roxmltree::Document::parse(svg).ok()?;
        // Readers of HTML understand comments and the like differently from those of XML.
        let has_others = svg.contains("<!") || svg.contains("<?");
        (!has_others
            && tree.descendants().all(|node| {
                let is_shape = ["", "svg", "g", "title", "path", "text", "circle"].contains(&node.tag_name().name());
                is_shape && node.attributes().all(|attribute| !attribute.name().starts_with("on"))
            }))
        .then(|| Html(svg.to_owned()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn join_pieces(pieces: impl IntoIterator<Item = Html>, between: impl Into<Html>) -> Html {
        let pieces: Vec<String> = pieces.into_iter().map(|piece| piece.0).collect();
        Html(pieces.join(&between.into().0))
    }
}

impl Add for Html {
    type Output = Html;

    fn add(mut self, more: Html) -> Html {
        self += more;
        self
    }
}

impl AddAssign for Html {
    fn add_assign(&mut self, more: Html) {
        self.0.push_str(&more.0);
    }
}

impl FromIterator<Html> for Html {
    fn from_iter<I: IntoIterator<Item = Html>>(pieces: I) -> Html {
        Html(pieces.into_iter().map(|piece| piece.0).collect())
    }
}

impl AsRef<[u8]> for Html {
    fn as_ref(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

impl From<Html> for String {
    fn from(html: Html) -> String {
        html.0
    }
}

/// An argument of `html!`: it writes itself as markup, numbers in the form that the placeholder demands.
pub trait Content {
    fn write_markup(&self, f: &mut Formatter<'_>) -> fmt::Result;
}

/// Wrapper of an argument of `html!`.
pub struct Escaped<'a, T: ?Sized>(pub &'a T);

impl<T: Content + ?Sized> Display for Escaped<'_, T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.0.write_markup(f)
    }
}

impl Content for Html {
    fn write_markup(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Writes text without markup, for content and for quoted attributes. Characters that a page cannot show are marked.
impl Content for str {
    fn write_markup(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let mut rest = self;
        while let Some(place) = rest.find(|letter| !is_plain(letter)) {
            let (before, special) = rest.split_at(place);
            let letter = special.chars().next().expect("something was found");
            f.write_str(before)?;
            match letter {
                '&' => f.write_str("&amp;")?,
                '<' => f.write_str("&lt;")?,
                '>' => f.write_str("&gt;")?,
                '"' => f.write_str("&quot;")?,
                '\'' => f.write_str("&#39;")?,
                '\n' | '\t' => f.write_char(letter)?,
                _ => f.write_char('\u{fffd}')?,
            }
            rest = &special[letter.len_utf8()..];
        }
        f.write_str(rest)
    }
}

fn is_plain(letter: char) -> bool {
    !is_unprintable(letter) && !matches!(letter, '&' | '<' | '>' | '"' | '\'')
}

impl Content for String {
    fn write_markup(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.as_str().write_markup(f)
    }
}

impl<T: Content + ?Sized> Content for &T {
    fn write_markup(&self, f: &mut Formatter<'_>) -> fmt::Result {
        (**self).write_markup(f)
    }
}

/// Nothing for None.
impl<T: Content> Content for Option<T> {
    fn write_markup(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.iter().try_for_each(|content| content.write_markup(f))
    }
}

macro_rules! numbers {
    ($($number:ty)*) => { $(
        impl Content for $number {
            fn write_markup(&self, f: &mut Formatter<'_>) -> fmt::Result {
                Display::fmt(self, f)
            }
        }
    )* };
}
numbers!(u32 u64 usize i32 f64);

macro_rules! displayed {
    ($($kind:ty)*) => { $(
        impl Content for $kind {
            fn write_markup(&self, f: &mut Formatter<'_>) -> fmt::Result {
                self.to_string().write_markup(f)
            }
        }
    )* };
}
displayed!(fmt::Arguments<'_> char EdgeId JobId NodeSet Time);

macro_rules! texts {
    ($($text:ty)*) => { $(
        impl From<$text> for Html {
            fn from(text: $text) -> Html {
                html!("{text}", text)
            }
        }
    )* };
}
texts!(&str String &String u32 u64 usize);

impl<T: Content> From<Option<T>> for Html {
    fn from(content: Option<T>) -> Html {
        html!("{content}", content)
    }
}

/// True if a literal of `html!` has no `{}` beyond the nameless arguments, and no name in braces that is not one of
/// `names`.
pub const fn has_all(literal: &str, nameless: &[&str], names: &[&str]) -> bool {
    let text = literal.as_bytes();
    let mut place = 0;
    let mut used = 0;
    while place < text.len() {
        if text[place] != b'{' {
            place += 1;
            continue;
        }
        if text[place + 1] == b'{' {
            place += 2;
            continue;
        }
        let begin = place + 1;
        place = begin;
        while text[place] != b':' && text[place] != b'}' {
            place += 1;
        }
        let (_, from) = text.split_at(begin);
        let (name, _) = from.split_at(place - begin);
        if name.is_empty() {
            used += 1;
        } else if name[0].is_ascii_digit() {
            // `format_args!` itself refuses a place that no argument has, unless it is that of a named one.
            if name.len() > 1 || (name[0] - b'0') as usize >= nameless.len() {
                return false;
            }
        } else if !is_among(name, names) {
            return false;
        }
        // A width or a precision may be a name, too.
        while text[place] != b'}' {
            if text[place] == b'$' {
                return false;
            }
            place += 1;
        }
    }
    used <= nameless.len()
}

const fn is_among(name: &[u8], names: &[&str]) -> bool {
    let mut place = 0;
    while place < names.len() {
        let other = names[place].as_bytes();
        let mut same = 0;
        while same < name.len() && same < other.len() && name[same] == other[same] {
            same += 1;
        }
        if same == name.len() && same == other.len() {
            return true;
        }
        place += 1;
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    const EVIL: &str = "</style><script>alert('1')</script>\"><img src=x onerror=\"y\">&\u{0}\u{202e}";
    const TAME: &str = "&lt;/style&gt;&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt;&quot;&gt;&lt;img src=x \
                        onerror=&quot;y&quot;&gt;&amp;\u{fffd}\u{fffd}";

    #[test]
    fn text_is_escaped_on_every_way_into_markup() {
        let name = EVIL;
        let owned = EVIL.to_owned();
        let ways = [
            Html::from(EVIL),
            Html::from(&owned),
            Html::from(owned.clone()),
            html!("{EVIL}", EVIL),
            html!("{0}", &owned),
            html!("{name}", name),
            html!("{name:>3}", name = &&owned),
            html!("{}", Some(owned.clone())),
            html!("{}{name}", None::<&str>, name),
            html!("{}", html!("{name}", name)),
            Html::join_pieces([Html::from(name)], EVIL),
            cells![name].into_iter().collect(),
        ];
        for way in ways {
            assert_eq!(way.as_str(), TAME);
        }
        let between = Html::join_pieces([html!("<b>"), html!("</b>")], EVIL);
        assert_eq!(between.as_str(), format!("<b>{TAME}</b>"));
        assert_eq!(html!("<i class=\"{name}\">", name).as_str(), format!("<i class=\"{TAME}\">"));
    }

    #[test]
    fn markup_and_numbers_stay_as_they_are() {
        let bold = html!("<b>{}</b>", 1u64);
        let number = 2.25;
        assert_eq!(html!("{bold} {number:.1} {{}} {}", -3, bold, number).as_str(), "<b>1</b> 2.2 {} -3");
        assert_eq!((Html::from("a\n\tb") + Html::from(7u32)).as_str(), "a\n\tb7");
        assert_eq!(Html::from("ä<ö").as_str(), "ä&lt;ö");
    }

    #[test]
    fn a_picture_of_a_file_has_nothing_that_acts() {
        let picture =
            |inside: &str| Html::from_picture(&format!("<svg xmlns=\"http://www.w3.org/2000/svg\">{inside}</svg>\n"));
        let good = "<title>a &lt; b</title><g><path d=\"M0 0\"/></g><circle r=\"4\"><title>c</title></circle>";
        assert!(picture(good).is_some_and(|html| html.as_str().contains(good)));
        for evil in [
            "<script>x</script>",
            "<path onclick=\"x\"/>",
            "<!-- --!><script>x</script> -->",
            "<title><![CDATA[<script>x</script>]]></title>",
            "<?x?>",
            "<foreignObject/>",
            "</svg><script>x</script><svg>",
            "<path>",
        ] {
            assert_eq!(picture(evil), None, "{evil}");
        }
    }

    #[test]
    fn literals_with_other_names_than_those_of_arguments_are_refused() {
        let accepted = |literal: &str| has_all(literal, &["1 + 1"], &["name"]);
        assert!(["<td>{name}</td>{:.1}{{other}}", "{0}{0}", "{name:.2}", ""].into_iter().all(accepted));
        for literal in ["{other}", "{nam}", "{names}", "{other:.1}", "{}{}", "{1}", "{:other$}", "{name:.other$}"] {
            assert!(!accepted(literal), "{literal}");
        }
    }
}
