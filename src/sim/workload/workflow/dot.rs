//! DOT as daggen writes it: nodes with a `size` in operations, edges with one in bytes, statements in lines of their
//! own or ended by semicolons.
//!
//! ```text
//! digraph G {
//!   1 [size="1413309989", alpha="0.07"]
//!   1 -> 2 [size ="33554432"]
//!   2 [size="9057173848", alpha="0.15"]
//! }
//! ```
//!
//! Other attributes are ignored: daggen's `alpha` is the scaling of a task to several cores, and a task here
//! has one. Subgraphs, ports and HTML labels are not read.

use std::collections::BTreeMap;

use super::{FLOPS, Unreadable, file_stem, seconds_span, whole_bytes};
use crate::grid::{Edge, Step, Workflow};

pub fn read_dot(path: &str, text: &str) -> Result<Workflow, Unreadable> {
    let mut tokens = Tokens { text, at: 0, peeked: None };
    let mut drawing = Drawing::default();
    if tokens.peek()?.what == TokenKind::Word("strict") {
        tokens.next()?;
    }
    tokens.expect("digraph")?;
    let name = match tokens.next()? {
        DotToken { what: TokenKind::Word(name), .. } => {
            tokens.expect("{")?;
            Some(name)
        }
        DotToken { what: TokenKind::Sign("{"), .. } => None,
        other => return Err(tokens.unexpected_token(&other, "expected a name or `{`")),
    };
    while read_statement(&mut tokens, &mut drawing)? {}
    let end = tokens.next()?;
    if end.what != TokenKind::End {
        return Err(tokens.unexpected_token(&end, "expected nothing after the `}` that ends the graph"));
    }
    let name = name.filter(|name| *name != "G").map_or_else(|| file_stem(path), str::to_owned);
    drawing.workflow(&tokens, name)
}

/// Nodes and edges of the graph.
#[derive(Default)]
struct Drawing<'t> {
    numbers: BTreeMap<&'t str, u32>,
    /// Name, offset of its first appearance, and operations.
    nodes: Vec<(&'t str, usize, Option<f64>)>,
    edges: BTreeMap<(u32, u32), u64>,
}

impl<'t> Drawing<'t> {
    fn node(&mut self, name: &'t str, at: usize) -> u32 {
        let next = self.nodes.len() as u32;
        let number = *self.numbers.entry(name).or_insert(next);
        if number == next {
            self.nodes.push((name, at, None));
        }
        number
    }

    fn workflow(self, tokens: &Tokens<'_>, name: String) -> Result<Workflow, Unreadable> {
        let mut steps = Vec::with_capacity(self.nodes.len());
        let places: Vec<usize> = self.nodes.iter().map(|(_, at, _)| *at).collect();
        for (node, at, size) in self.nodes {
            let size =
                size.ok_or_else(|| tokens.at(at, format!("node `{node}` has no size, its number of operations")))?;
            let work = seconds_span(size / FLOPS).map_err(|_| {
                tokens.at(
                    at,
                    format!("node `{node}`: expected a finite size that is not negative, below 9e24 operations"),
                )
            })?;
            steps.push(Step { name: node.to_owned(), work, cores: 1 });
        }
        let edges = self.edges.into_iter().map(|((from, to), data)| Edge { from, to, data }).collect();
        Workflow::new(name, steps, edges).map_err(|error| match error.on_cycle() {
            Some(first) => tokens.at(places[first], error.to_string()),
            None => Unreadable::at_key("", error.to_string()),
        })
    }
}

/// Reads one statement; `false` at the end of the graph.
fn read_statement<'t>(tokens: &mut Tokens<'t>, drawing: &mut Drawing<'t>) -> Result<bool, Unreadable> {
    let first = tokens.next()?;
    let name = match first.what {
        TokenKind::Sign("}") => return Ok(false),
        TokenKind::Sign(";") => return Ok(true),
        TokenKind::Word(name) => name,
        _ => return Err(tokens.unexpected_token(&first, "expected a node, an edge or `}`")),
    };
    match tokens.peek()?.what {
        TokenKind::Sign("->") => {
            let mut before = drawing.node(name, first.at);
            let mut drawn = Vec::new();
            while tokens.peek()?.what == TokenKind::Sign("->") {
                tokens.next()?;
                let to = tokens.next()?;
                let TokenKind::Word(name) = to.what else {
                    return Err(tokens.unexpected_token(&to, "expected a node"));
                };
                let next = drawing.node(name, to.at);
                drawn.push((before, next));
                before = next;
            }
            let size = tokens.size()?.ok_or_else(|| tokens.at(first.at, "this edge has no size, in bytes"))?;
            let data = whole_bytes(size).map_err(|message| tokens.at(first.at, message))?;
            for edge in drawn {
                // daggen itself writes some edges twice; they are one transfer.
                if drawing.edges.insert(edge, data).is_some_and(|before| before != data) {
                    return Err(tokens.at(first.at, "this edge is given twice, with different sizes"));
                }
            }
        }
        // Defaults for all nodes or edges, and attributes of the graph, do not matter here.
        _ if tokens.is_keyword(&first, &["graph", "node", "edge"]) => drop(tokens.size()?),
        TokenKind::Sign("=") => {
            tokens.next()?;
            tokens.next()?;
        }
        _ if tokens.is_keyword(&first, &["subgraph"]) => {
            return Err(tokens.unexpected_token(&first, "subgraphs are not supported"));
        }
        _ => {
            let number = drawing.node(name, first.at) as usize;
            if let Some(size) = tokens.size()?
                && drawing.nodes[number].2.replace(size).is_some()
            {
                return Err(tokens.at(first.at, format!("node `{name}` has two sizes")));
            }
        }
    }
    Ok(true)
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct DotToken<'t> {
    at: usize,
    what: TokenKind<'t>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum TokenKind<'t> {
    /// A name or a number, with or without quotes.
    Word(&'t str),
    Sign(&'static str),
    End,
}

struct Tokens<'t> {
    text: &'t str,
    at: usize,
    peeked: Option<DotToken<'t>>,
}

impl<'t> Tokens<'t> {
    fn peek(&mut self) -> Result<DotToken<'t>, Unreadable> {
        let token = self.next()?;
        self.peeked = Some(token);
        Ok(token)
    }

    fn next(&mut self) -> Result<DotToken<'t>, Unreadable> {
        if let Some(token) = self.peeked.take() {
            return Ok(token);
        }
        self.skip()?;
        let at = self.at;
        let rest = &self.text[self.at..];
        let what = match rest.chars().next() {
            None => TokenKind::End,
            Some('"') => {
                let end = rest[1..].find('"').ok_or_else(|| self.at(at, "this quote is never closed"))?;
                self.at += end + 2;
                return Ok(DotToken { at, what: TokenKind::Word(&rest[1..=end]) });
            }
            Some(letter) if is_word_letter(letter) || starts_number(rest) => {
                // A minus may belong to a number instead of an arrow.
                let end = rest.char_indices().skip(1).find(|(at, letter)| {
                    !is_word_letter(*letter) && !((*letter == '-' || *letter == '+') && ends_in_exponent(&rest[..*at]))
                });
                let end = end.map_or(rest.len(), |(end, _)| end);
                self.at += end;
                return Ok(DotToken { at, what: TokenKind::Word(&rest[..end]) });
            }
            _ => {
                let sign = SIGNS.iter().find(|sign| rest.starts_with(**sign));
                TokenKind::Sign(sign.ok_or_else(|| self.at(at, "expected a node, an edge or `}`"))?)
            }
        };
        if let TokenKind::Sign(sign) = what {
            self.at += sign.len();
        }
        Ok(DotToken { at, what })
    }

    /// Skips blanks, comments and the lines of a C preprocessor.
    fn skip(&mut self) -> Result<(), Unreadable> {
        loop {
            let rest = &self.text[self.at..];
            let blank = rest.len() - rest.trim_start().len();
            self.at += blank;
            let rest = &self.text[self.at..];
            if rest.starts_with("//") || rest.starts_with('#') {
                self.at += rest.find('\n').unwrap_or(rest.len());
            } else if let Some(comment) = rest.strip_prefix("/*") {
                let end = comment.find("*/").ok_or_else(|| self.at(self.at, "this comment is never closed"))?;
                self.at += end + 4;
            } else {
                return Ok(());
            }
        }
    }

    fn expect(&mut self, wanted: &str) -> Result<(), Unreadable> {
        let token = self.next()?;
        match token.what {
            TokenKind::Word(found) if found == wanted => Ok(()),
            TokenKind::Sign(found) if found == wanted => Ok(()),
            _ => Err(self.unexpected_token(&token, &format!("expected `{wanted}`"))),
        }
    }

    /// True if it is one of these words; a quoted one is a name.
    fn is_keyword(&self, token: &DotToken<'_>, keywords: &[&str]) -> bool {
        !self.text[token.at..].starts_with('"') && keywords.iter().any(|keyword| token.what == TokenKind::Word(keyword))
    }

    /// The `size` of an attribute list; `None` if there is no list or no size.
    fn size(&mut self) -> Result<Option<f64>, Unreadable> {
        let mut size = None;
        while self.peek()?.what == TokenKind::Sign("[") {
            self.next()?;
            loop {
                let key = self.next()?;
                match key.what {
                    TokenKind::Sign("]") => break,
                    TokenKind::Sign("," | ";") => continue,
                    TokenKind::Word(_) => {}
                    _ => return Err(self.unexpected_token(&key, "expected an attribute or `]`")),
                }
                self.expect("=")?;
                let value = self.next()?;
                let TokenKind::Word(text) = value.what else {
                    return Err(self.unexpected_token(&value, "expected a value"));
                };
                if key.what == TokenKind::Word("size") {
                    let number = text.trim().parse();
                    size = Some(number.map_err(|_| self.unexpected_token(&value, "expected a number"))?);
                }
            }
        }
        Ok(size)
    }

    fn unexpected_token(&self, found: &DotToken<'_>, expected: &str) -> Unreadable {
        let shown: String = match found.what {
            TokenKind::Word(word) => word.chars().take(40).collect(),
            TokenKind::Sign(sign) => sign.to_owned(),
            TokenKind::End => return self.at(found.at, format!("{expected}, found the end of the file")),
        };
        self.at(found.at, format!("{expected}, found `{shown}`"))
    }

    fn at(&self, at: usize, message: impl Into<String>) -> Unreadable {
        let before = &self.text[..at];
        let line = before.bytes().filter(|byte| *byte == b'\n').count() + 1;
        let start = before.rfind('\n').map_or(0, |end| end + 1);
        Unreadable::on_line(line, before[start..].chars().count() + 1, message)
    }
}

const SIGNS: [&str; 8] = ["->", "{", "}", "[", "]", "=", ",", ";"];

fn is_word_letter(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_' || letter == '.'
}

fn starts_number(text: &str) -> bool {
    text.strip_prefix('-').is_some_and(|rest| rest.starts_with(|letter: char| letter.is_ascii_digit() || letter == '.'))
}

/// True if a sign may follow: after the `e` of a number.
fn ends_in_exponent(text: &str) -> bool {
    text.ends_with(['e', 'E'])
        && text.starts_with(|letter: char| letter.is_ascii_digit() || letter == '-' || letter == '.')
}
