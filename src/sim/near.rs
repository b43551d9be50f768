//! Suggestions for mistyped names.

/// The name that was most likely meant; `None` if none is near enough.
pub fn nearest_name<'a>(typed: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // Each caller has its own iterator type; the body is compiled once.
    find_nearest(typed, &mut names.into_iter())
}

fn find_nearest<'a>(typed: &str, names: &mut dyn Iterator<Item = &'a str>) -> Option<&'a str> {
    let typed: Vec<char> = typed.chars().take(LONGEST + 1).flat_map(char::to_lowercase).collect();
    if typed.is_empty() || typed.len() > LONGEST {
        return None;
    }
    names
        .take(CONSIDERED)
        .filter_map(|name| {
            let letters: Vec<char> = name.chars().take(LONGEST).flat_map(char::to_lowercase).collect();
            // One slip in up to four letters, two in up to seven, three in longer words: beyond that it is a different
            // word. A truncated name is still recognised.
            let allowed = ((typed.len().max(letters.len()) + 1) / 3).clamp(1, 3);
            let away = edit_distance(&typed, &letters);
            let begun = typed.len() >= 2 && letters.starts_with(&typed);
            let is_part =
                typed.len() >= 4 && letters.split(|letter| matches!(letter, '_' | '-')).any(|part| part == typed);
            (away <= allowed && away < letters.len() || begun || is_part).then_some((away, name))
        })
        .min_by_key(|(away, _)| *away)
        .map(|(_, name)| name)
}

const LONGEST: usize = 64;
const CONSIDERED: usize = 1_000;

/// Number of letters omitted, added, changed or swapped with their neighbour.
fn edit_distance(a: &[char], b: &[char]) -> usize {
    let mut before_last = vec![0; b.len() + 1];
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i; b.len() + 1];
        for j in 1..=b.len() {
            let changed = last[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            row[j] = changed.min(last[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                row[j] = row[j].min(before_last[j - 2] + 1);
            }
        }
        before_last = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn typos_are_recognised_and_other_words_are_not() {
        let names = ["policy", "tick", "ccr", "p-slr", "pvd", "pvdsq"];
        let nearest = |typed| nearest_name(typed, names);
        assert_eq!(nearest("polcy"), Some("policy"));
        assert_eq!(nearest("Policy"), Some("policy"));
        assert_eq!(nearest("tikc"), Some("tick"));
        assert_eq!(nearest("pslr"), Some("p-slr"));
        assert_eq!(nearest("pvd2"), Some("pvd"));
        assert_eq!(nearest("pol"), Some("policy"));
        assert_eq!(nearest("latency"), None);
        assert_eq!(super::nearest_name("wait", ["task_wait", "job_wait", "job_wait_p95"]), Some("job_wait"));
        assert_eq!(super::nearest_name("path", ["hash"]), None);
        assert_eq!(nearest(""), None);
        assert_eq!(nearest(&"x".repeat(10_000)), None);
    }
}
