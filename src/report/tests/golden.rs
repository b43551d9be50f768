//! Files with the expected output of tests.

use std::collections::BTreeSet;
use std::path::Path;

/// Compares with a file in `golden/` of this crate; `HANSA_GOLDEN=write` writes it anew.
pub fn golden(name: &str, found: &[u8]) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("golden").join(name);
    if std::env::var("HANSA_GOLDEN").is_ok_and(|word| word == "write") {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, found).unwrap();
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    let found = String::from_utf8_lossy(found);
    if expected == found {
        return;
    }
    let before: BTreeSet<&str> = expected.lines().collect();
    let now: BTreeSet<&str> = found.lines().collect();
    let only = |sign: &str, text: &str, other: &BTreeSet<&str>| {
        let lines = text.lines().filter(|line| !other.contains(line)).take(20);
        lines.map(|line| format!("{sign} {line}\n")).collect::<String>()
    };
    panic!(
        "{} is not as it was; its first lines that differ, before and now:\n{}{}if that is meant, \
         `HANSA_GOLDEN=write cargo test` with the name of this test renews it",
        path.display(),
        only("-", &expected, &now),
        only("+", &found, &before),
    );
}
