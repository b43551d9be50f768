//! Text from a peer, made fit to be shown and stored. It may be anything: characters that move the cursor, reverse the
//! line, imitate messages of Hansa, or never end.

use hansa_sim::settings::is_unprintable;

/// Limit in characters; more than the longest reason that a router or member gives.
const LINE_MAX: usize = 400;

/// The reason that a peer gave for its end, marked as the peer's own words: the router accuses no member because of it.
pub fn mark_reported(peer: &str, reason: &str) -> String {
    format!("{peer} reports: {reason}")
}

/// One line of at most `LINE_MAX` characters, all of them visible.
pub fn sanitize_line(text: &[u8]) -> String {
    sanitize_line_up_to(&String::from_utf8_lossy(&text[..text.len().min(4 * LINE_MAX)]), LINE_MAX)
}

/// Like `sanitize_line`, with a limit of its own, for names for example.
pub fn sanitize_line_up_to(text: &str, max: usize) -> String {
    let mut sanitize_text = String::new();
    for (at, letter) in text.chars().enumerate() {
        if at == max {
            sanitize_text.push_str("...");
            break;
        }
        match is_seen(letter) {
            true => sanitize_text.push(letter),
            false => sanitize_text.extend(letter.escape_default()),
        }
    }
    sanitize_text
}

/// Like `sanitize_line`, for a text of ours that quotes what was typed: keeps all of its lines and has no limit.
pub fn sanitize_text(text: &str) -> String {
    let mut sanitize_text = String::with_capacity(text.len());
    for letter in text.chars() {
        match is_seen(letter) || letter == '\n' {
            true => sanitize_text.push(letter),
            false => sanitize_text.extend(letter.escape_default()),
        }
    }
    sanitize_text
}

/// True for a character that neither steers the terminal nor is invisible.
fn is_seen(letter: char) -> bool {
    !is_unprintable(letter)
        && !matches!(letter, '\u{ad}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2060}'..='\u{206f}'
            | '\u{fe00}'..='\u{fe0f}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_heard_is_one_line_that_can_be_seen() {
        assert_eq!(
            sanitize_line(b"lost site york at virtual time 1.5: \"gone\""),
            "lost site york at virtual time 1.5: \"gone\""
        );
        assert_eq!(sanitize_line("Zürich ist müde".as_bytes()), "Zürich ist müde");
        assert_eq!(
            sanitize_line(b"\x1b[2J\x1b]0;title\x07\nresults in /etc"),
            "\\u{1b}[2J\\u{1b}]0;title\\u{7}\\nresults in /etc"
        );
        assert_eq!(sanitize_line("a\u{202e}b\u{9b}31m\u{2028}c".as_bytes()), "a\\u{202e}b\\u{9b}31m\\u{2028}c");
        assert_eq!(sanitize_line(b"\xff\xfe"), "\u{fffd}\u{fffd}");
        assert_eq!(sanitize_line(&[b'x'; 100_000]), "x".repeat(LINE_MAX) + "...");
        assert_eq!(sanitize_line_up_to("four", 4), "four");
        assert_eq!(sanitize_text("no folder \x1b[2Jd\n --> here\r"), "no folder \\u{1b}[2Jd\n --> here\\r");
    }
}
