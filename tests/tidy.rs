//! House rules of the text, checked on every source file: the wording of comments and names, their width, the order of
//! modules in a crate, circles of files, and tuples that bind several names.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// First words that no doc comment has, with a better opening.
const OPENINGS: &[(&str, &str)] = &[
    ("What", "a noun phrase: \"The jobs that ...\", or a verb"),
    ("How", "the quantity: \"Number of ...\", \"Duration of ...\""),
    ("Whether", "\"True if ...\""),
    ("Where", "the place: \"Path of ...\", \"Offset of ...\""),
    ("When", "the time: \"Start of ...\""),
    ("Which", "the thing: \"The site that ...\""),
    ("Who", "the thing: \"The sender of ...\""),
    ("Whoever", "\"Any caller that ...\""),
    ("Whose", "\"Owner of ...\""),
    ("Whom", "\"Receivers of ...\""),
    ("Those", "the noun: \"The tasks that ...\""),
    ("The same", "the noun again: \"Like `f`, for ...\""),
    ("Of", "the head of the phrase: \"The part of ...\""),
    ("For", "a verb: \"Serves ...\", \"Used by ...\""),
    ("By", "a noun: \"Index by ...\""),
    ("From", "a noun: \"Start of ...\""),
];

/// Words that no comment has, with better ones. They stand alone, in lower or upper case.
const WORDS: &[(&str, &str)] = &[
    ("whoever", "any X that"),
    ("whatever", "any, all"),
    ("whom", "that, the receiver"),
    ("somebody", "a caller, a process, a user"),
    ("nobody", "no caller, no process"),
    ("everybody", "all members"),
    ("anybody", "any caller"),
];

/// Nouns that "who" may follow: people, and programs that stand for them. A job, a site or a message is "that".
const PEOPLE: &[&str] = &["user", "users", "reader", "readers", "person", "people", "author", "operator", "those"];

/// Words of talk that no identifier has: data is read, written, sent, received, reported or logged.
const TALK: &[&str] = &[
    "hear", "heard", "hearing", "hears", "nobody", "said", "say", "saying", "says", "somebody", "talk", "talking",
    "talks", "tell", "telling", "tells", "told", "untold", "who", "whom", "whose", "wish", "wishes",
];

const WIDTH: usize = 120;

/// Most closures with a name in a function.
const NAMED_CLOSURES: usize = 2;

/// Most closures with a name per 1,000 lines of code, outside of tests.
const NAMED_CLOSURES_PER_1000: f64 = 4.0;

/// Most files of a circle. Arrows between a module and its descendants do not count.
const CIRCLE: usize = 3;

#[test]
fn comments_follow_the_rules_of_wording() {
    let mut faults = Vec::new();
    for (path, text) in sources() {
        if path == "tests/tidy.rs" {
            continue;
        }
        let mut before = "";
        for (index, line) in text.lines().enumerate() {
            if let Some(comment) = line.trim_start().strip_prefix("//") {
                let is_first = !before.trim_start().starts_with("//");
                let found = faults_of(comment, is_first).into_iter();
                faults.extend(found.map(|fault| format!("{path}:{}: {fault}", index + 1)));
            }
            before = line;
        }
    }
    assert!(faults.is_empty(), "{} comments break a rule of wording:\n{}", faults.len(), faults.join("\n"));
}

/// Faults of one line of comment, without its first two slashes. `is_first` marks the first line of a comment.
fn faults_of(comment: &str, is_first: bool) -> Vec<String> {
    let mut faults = Vec::new();
    let is_doc = comment.starts_with('/') || comment.starts_with('!');
    let text = comment.trim_start_matches(['/', '!']).trim();
    if is_doc && is_first {
        for (opening, better) in OPENINGS {
            if text.strip_prefix(opening).is_some_and(|rest| rest.starts_with([' ', ','])) {
                faults.push(format!("a doc comment opens with \"{opening}\"; better: {better}"));
            }
        }
    }
    let mut before = "";
    for word in text.split(|c: char| !c.is_alphanumeric() && c != '`' && c != '_').filter(|word| !word.is_empty()) {
        let low = word.to_lowercase();
        if let Some((_, better)) = WORDS.iter().find(|(banned, _)| *banned == low) {
            faults.push(format!("\"{word}\" in a comment; better: {better}"));
        }
        if low == "who" && !PEOPLE.contains(&before) {
            faults.push("\"who\" is for people; better: \"that\", or the noun again".to_string());
        }
        before = word;
    }
    faults
}

#[test]
fn comments_are_at_most_120_columns_wide() {
    let mut wide = Vec::new();
    for (path, text) in sources() {
        for (index, line) in text.lines().enumerate() {
            let trimmed = line.trim_start();
            let is_table = trimmed.trim_start_matches(['/', '!']).trim_start().starts_with('|');
            if trimmed.starts_with("//") && !is_table && line.chars().count() > WIDTH {
                wide.push(format!("{path}:{}", index + 1));
            }
        }
    }
    assert!(wide.is_empty(), "comments wider than {WIDTH} columns; break the line:\n{}", wide.join("\n"));
}

/// One binding a line. A `let` with a tuple on both sides is for a swap, where a bound name stands on the right, too.
#[test]
fn tuples_bind_several_names_only_where_names_are_swapped() {
    let mut found = Vec::new();
    for (path, text) in sources() {
        for (at, _) in text.match_indices("let (") {
            let before = text[..at].trim_end();
            let Some((pattern, value)) = text[at + 5..].split_once(';').and_then(|(let_, _)| let_.split_once(") = ("))
            else {
                continue;
            };
            let opens_a_statement = before.ends_with([';', '{', '}']);
            let is_one_value = !value.ends_with(')') || pattern.contains(['(', '=', '\n']);
            let mut names = pattern.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|name| *name != "mut");
            let is_swap = names.any(|name| !name.is_empty() && value.contains(name));
            if opens_a_statement && !is_one_value && !is_swap {
                found.push(format!("{path}:{}: let ({pattern}) = ...", text[..at].matches('\n').count() + 1));
            }
        }
    }
    assert!(found.is_empty(), "give each name a `let` of its own:\n{}", found.join("\n"));
}

/// Data is read, written, sent, received, reported or logged; only people talk. An identifier says which of these.
#[test]
fn identifiers_do_not_talk() {
    let mut talking = BTreeSet::new();
    for (path, text) in sources().into_iter().filter(|(path, _)| is_product(path)) {
        for name in identifiers_in(&product(&text)) {
            if words_of(&name).iter().any(|word| TALK.contains(&word.as_str())) {
                talking.insert(format!("{path}: {name}"));
            }
        }
    }
    let list: Vec<String> = talking.into_iter().collect();
    assert!(list.is_empty(), "name what is read, sent, reported or logged:\n{}", list.join("\n"));
}

/// The identifiers of a text, and those that its literals capture.
fn identifiers_in(code: &str) -> Vec<String> {
    let mut names = Vec::new();
    let mut rest = code;
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '"' => {
                let length = literal_length(rest);
                names.extend(captures_in(&rest[..length]));
                length
            }
            '\'' if rest[1..].starts_with('\\') => 4 + rest[3..].find('\'').unwrap_or(0),
            '\'' if rest.chars().nth(2) == Some('\'') => rest.char_indices().nth(3).map_or(rest.len(), |(end, _)| end),
            '/' if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            'r' if rest.starts_with("r#\"") => rest.find("\"#").map_or(rest.len(), |end| end + 2),
            c if c.is_alphabetic() || c == '_' => {
                let length = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
                names.push(rest[..length].to_owned());
                length
            }
            c => c.len_utf8(),
        };
        rest = &rest[length..];
    }
    names
}

/// Length of a literal in quotes, which the text starts with.
fn literal_length(text: &str) -> usize {
    let mut is_escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            '"' if !is_escaped => return at + 1,
            '\\' => is_escaped = !is_escaped,
            _ => is_escaped = false,
        }
    }
    text.len()
}

/// Names that a format captures, as `name` in `{name:?}`.
fn captures_in(literal: &str) -> impl Iterator<Item = String> + '_ {
    literal.split('{').skip(1).filter_map(|rest| {
        let name = rest.split(['}', ':']).next()?;
        let is_name = !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_');
        is_name.then(|| name.to_owned())
    })
}

/// The words of an identifier, in lower case: it is split at `_` and before capitals.
fn words_of(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut before = '_';
    for c in name.chars() {
        if c == '_' || c.is_uppercase() && !before.is_uppercase() {
            words.push(String::new());
        }
        if c != '_' {
            words.last_mut().expect("there is one from the start").extend(c.to_lowercase());
        }
        before = c;
    }
    words
}

#[test]
fn words_of_talk_are_found_in_identifiers() {
    let code =
        "let was_told = \"say\"; // tell\nfn f() { format!(\"{heard:?} {}\", Said::of('\\'')) } HEARS_OF foretold";
    let names = identifiers_in(code);
    let talking: Vec<&String> =
        names.iter().filter(|name| words_of(name).iter().any(|word| TALK.contains(&word.as_str()))).collect();
    assert_eq!(talking, ["was_told", "heard", "Said", "HEARS_OF"]);
}

/// Functions that still have more named closures than others may: each needs a type for what its closures share.
const CLOSURE_GROUPS: &[(&str, &str)] = &[
    ("src/report/experiment/compare/page.rs", "at_a_glance"),
    ("src/report/experiment/compare/page.rs", "differences_html"),
    ("src/sim/roles/queue/judge.rs", "judge_story"),
];

/// A closure gets a name if it is passed on twice, or captures much. A function with more of them is a group: it gets a
/// type with methods.
#[test]
fn functions_name_few_closures() {
    let mut crowded = Vec::new();
    let mut needed = vec![false; CLOSURE_GROUPS.len()];
    let mut named = 0;
    let mut lines = 0;
    for (path, text) in sources().into_iter().filter(|(path, _)| is_product(path)) {
        let code = product(&text);
        lines += code.lines().filter(|line| !line.trim().is_empty()).count();
        for (function, closures) in named_closures(&code) {
            named += closures;
            if closures <= NAMED_CLOSURES {
                continue;
            }
            match CLOSURE_GROUPS.iter().position(|group| *group == (path.as_str(), function.as_str())) {
                Some(group) => needed[group] = true,
                None => crowded.push(format!("{path}: {closures} in `{function}`")),
            }
        }
    }
    assert!(crowded.is_empty(), "more than {NAMED_CLOSURES} named closures in a function:\n{}", crowded.join("\n"));
    let mended = CLOSURE_GROUPS.iter().zip(needed).find(|(_, is_needed)| !is_needed);
    assert!(mended.is_none(), "no exception is needed any more: {mended:?}");
    let share = named as f64 * 1_000.0 / lines as f64;
    assert!(
        share <= NAMED_CLOSURES_PER_1000,
        "{named} named closures in {lines} lines, {share:.2} per 1,000: pass closures on where they are used, or make \
         them functions"
    );
}

/// The functions of a text that name closures, each with how many.
fn named_closures(code: &str) -> Vec<(String, usize)> {
    let mut functions: Vec<(String, usize)> = Vec::new();
    let mut function = String::new();
    let mut rest = code.lines().peekable();
    while let Some(line) = rest.next() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let head = words.iter().position(|word| *word == "fn").filter(|place| {
            let qualifiers = ["const", "async", "unsafe", "extern"];
            words[..*place].iter().all(|word| {
                word.starts_with("pub") || word.starts_with('"') || word.ends_with(')') || qualifiers.contains(word)
            })
        });
        if let Some(place) = head {
            let name = words.get(place + 1).copied().unwrap_or_default();
            function = name.split(['(', '<']).next().unwrap_or_default().to_owned();
        }
        let Some((_, value)) = line.trim_start().strip_prefix("let ").and_then(|binding| binding.split_once('='))
        else {
            continue;
        };
        let value = match value.trim() {
            "" => rest.peek().map_or("", |next| next.trim()),
            value => value,
        };
        let value = value.trim_start_matches("async ").trim_start_matches("move ");
        if value.starts_with('|') {
            match functions.last_mut().filter(|(last, _)| *last == function) {
                Some((_, count)) => *count += 1,
                None => functions.push((function.clone(), 1)),
            }
        }
    }
    functions
}

/// A module of a crate may use only modules to its right in the diagrams of ARCHITECTURE.md, so no circle joins two of
/// them. Cargo keeps the order of the crates. Tests may use all modules.
#[test]
fn modules_use_only_modules_to_their_right() {
    let text = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    for (folder, rest) in [("sim", None), ("report", Some("the rest")), ("preload", None)] {
        let start = format!("in {folder}: ");
        let diagram = text.lines().find_map(|line| line.trim_start().strip_prefix(&start));
        let floors = diagram.unwrap_or_else(|| panic!("ARCHITECTURE.md has no diagram of {folder}")).split("─>");
        let floors: Vec<Vec<&str>> = floors.map(|floor| floor.split(',').map(str::trim).collect()).collect();
        let floor = |name: &str| {
            let is_here = |floor: &Vec<&str>| floor.contains(&name);
            let is_rest = |floor: &Vec<&str>| rest.is_some_and(|rest| floor.contains(&rest));
            floors.iter().position(is_here).or_else(|| floors.iter().position(is_rest))
        };
        let mut broken = Vec::new();
        for (path, text) in sources().into_iter().filter(|(path, _)| is_product(path)) {
            let Some(name) = path.strip_prefix(&format!("src/{folder}/")) else { continue };
            let name = name.split('/').next().unwrap_or(name).trim_end_matches(".rs");
            if ["lib", "build"].contains(&name) {
                continue;
            }
            let here = floor(name).unwrap_or_else(|| panic!("{name} is not in the diagram of {folder}"));
            for used in rooms_named(&product(&text)) {
                if used != name && floor(&used).is_some_and(|there| there < here) {
                    broken.push(format!("{path}: {name} uses {used}, which is to its left"));
                }
            }
        }
        assert!(broken.is_empty(), "move the shared part down to the module that both may use:\n{}", broken.join("\n"));
    }
}

/// Code that is about one system on purpose: adapters of external programs to the traits of the system that they decide
/// for, and commands that measure or reproduce one system.
const ABOUT_ONE_SYSTEM: &[&str] = &[
    "src/run/outside/bidder.rs",
    "src/run/outside/allocator.rs",
    "src/run/bench/",
    "src/run/bound.rs",
    "src/run/reproduce/",
];

/// Topologies, reports, the catalogue and the edge reach systems through the registry. A subject of reports may have
/// the noun of its domain for a name, and the keys of its systems in its row, but it uses no module of a system.
#[test]
fn topologies_reports_and_the_edge_name_no_system() {
    let sources = sources();
    let folder = "src/sim/systems/";
    let folders = sources.iter().filter_map(|(path, _)| path.strip_prefix(folder)?.split_once('/'));
    let systems: BTreeSet<&str> = folders.map(|(system, _)| system).collect();
    assert!(systems.contains("market"), "systems have folders: {systems:?}");
    let rooms = ["src/sim/topology/", "src/report/", "src/run/"];
    let is_general = |path: &str| {
        let is_in = |places: &[&str]| places.iter().any(|place| path.starts_with(place));
        is_product(path) && is_in(&rooms) && !is_in(ABOUT_ONE_SYSTEM)
    };
    let mut named = Vec::new();
    for (path, text) in sources.iter().filter(|(path, _)| is_general(path)) {
        let text = product(text);
        let mut paths = paths_in(&text);
        for (_, tree) in imports_of(&text) {
            expand(tree, &[], &mut |path, _| paths.push(path));
        }
        for used in paths {
            let pair = used.windows(2).find(|pair| pair[0] == "systems" && systems.contains(&*pair[1]));
            named.extend(pair.map(|pair| format!("{path}: systems::{}", pair[1])));
        }
    }
    named.dedup();
    assert!(named.is_empty(), "ask the system's row or the trait `System` instead:\n{}", named.join("\n"));
}

/// True if code of a path is more than a test.
fn is_product(path: &str) -> bool {
    path.starts_with("src/") && !path.contains("tests")
}

/// Pages and pictures are made of `html!`, which escapes texts.
#[test]
fn markup_is_no_plain_text() {
    let makers = ["format!(", "push_str(", "String::from("];
    let is_tag = |text: &&str| {
        let begin = text.trim_start().strip_prefix("\"<");
        begin.is_some_and(|rest| rest.starts_with(|c: char| c.is_lowercase()))
    };
    let mut plain = Vec::new();
    for (path, text) in sources().into_iter().filter(|(path, _)| is_product(path)) {
        let text = product(&text);
        let texts = makers.iter().flat_map(|maker| text.split(maker).skip(1)).filter(is_tag);
        plain.extend(texts.filter_map(|text| text.lines().next()).map(|line| format!("{path}: {line}")));
    }
    assert!(plain.is_empty(), "use `html!` of report/present/markup.rs:\n{}", plain.join("\n"));
}

/// The rooms after each `crate::`, be it one or a list in braces.
fn rooms_named(text: &str) -> Vec<String> {
    let name_of = |text: &str| text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect::<String>();
    let named = text.split("crate::").skip(1).flat_map(|tail| {
        let Some(list) = tail.strip_prefix('{') else { return vec![name_of(tail)] };
        let mut depth = 1;
        let entries = list.split_inclusive(['{', '}', ',']).map_while(|piece| {
            let here = (depth, piece);
            depth += i32::from(piece.ends_with('{')) - i32::from(piece.ends_with('}'));
            (here.0 > 0).then_some(here)
        });
        entries.filter(|(depth, _)| *depth == 1).map(|(_, piece)| name_of(piece.trim_start())).collect()
    });
    named.collect()
}

/// The paths of ARCHITECTURE.md lead to files and functions that exist.
#[test]
fn the_paths_of_the_architecture_exist() {
    let text = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let paths = text.split("## Paths").nth(1).and_then(|rest| rest.split("\n## ").next()).expect("a section of paths");
    let sources: Vec<(String, String)> = sources().into_iter().filter(|(path, _)| path.starts_with("src/")).collect();
    let mut missing = Vec::new();
    for word in paths.split('`').skip(1).step_by(2) {
        let defined = |name: &str| {
            let keys = ["fn ", "struct ", "enum ", "trait ", "const ", "    ", ".", "\"", "::"];
            let is_whole = |after: &str| !after.starts_with(|c: char| c.is_alphanumeric() || c == '_');
            let defines = |text: &str| {
                let mut places = text.match_indices(name).map(|(at, _)| (&text[..at], &text[at + name.len()..]));
                places.any(|(before, after)| is_whole(after) && keys.iter().any(|key| before.ends_with(key)))
            };
            sources.iter().any(|(_, text)| defines(text))
        };
        let is_code = word.chars().all(|c| c.is_alphanumeric() || c == '_' || c == ':');
        let found = match word.ends_with(".rs") {
            true => sources.iter().any(|(path, _)| path.ends_with(&format!("/{word}"))),
            false => !is_code || word.split("::").all(defined),
        };
        if !found {
            missing.push(word);
        }
    }
    assert!(missing.is_empty(), "paths of ARCHITECTURE.md that lead nowhere: {missing:?}");
}

/// Files that use each other in a circle can only be read together.
#[test]
fn files_form_no_large_circles() {
    let house = House::of(sources());
    let mut report = String::new();
    for circle in house.circles() {
        if circle.len() <= CIRCLE && std::env::var_os("HANSA_TIDY").is_none() {
            continue;
        }
        report.push_str(&format!("{} files:\n", circle.len()));
        for file in &circle {
            for (other, names) in house.arrows[file].iter().filter(|(other, _)| circle.contains(other)) {
                report.push_str(&format!(
                    "  {file} -> {other}: {}\n",
                    names.iter().cloned().collect::<Vec<_>>().join(", ")
                ));
            }
        }
    }
    assert!(
        report.is_empty(),
        "circles of files; move what both ends use to a file of its own, further down:\n{report}"
    );
}

/// Every source file with its text, by path from the root, in order.
fn sources() -> Vec<(String, String)> {
    let mut files = vec![root().join("build.rs")];
    for folder in ["src", "bin", "benches", "tests", "fuzz/fuzz_targets"] {
        collect(&root().join(folder), &mut files);
    }
    let name = |path: &PathBuf| path.strip_prefix(root()).unwrap().to_str().unwrap().to_string();
    files.sort();
    files.iter().map(|path| (name(path), fs::read_to_string(path).unwrap())).collect()
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The files of all crates, and the names that each takes from others.
struct House {
    /// Files by the path of their module.
    files: BTreeMap<Vec<String>, String>,
    uses: BTreeMap<Vec<String>, Vec<Import>>,
    arrows: BTreeMap<String, BTreeMap<String, BTreeSet<String>>>,
}

/// An import: its local name, its full path, and true if it is handed on to others.
type Import = (String, Vec<String>, bool);

impl House {
    fn of(sources: Vec<(String, String)>) -> House {
        let sources: Vec<(String, String)> = sources
            .into_iter()
            .filter(|(path, _)| is_product(path))
            .map(|(path, text)| (path, product(&text)))
            .collect();
        let files = sources.iter().map(|(path, _)| (module_of(path), path.clone())).collect();
        let mut house = House { files, uses: BTreeMap::new(), arrows: BTreeMap::new() };
        for (path, text) in &sources {
            let module = module_of(path);
            let mut uses = Vec::new();
            for (is_public, tree) in imports_of(text) {
                expand(tree, &[], &mut |path, name| {
                    uses.extend(house.absolute(&module, &path, &[]).map(|path| (name, path, is_public)));
                });
            }
            house.uses.insert(module, uses);
        }
        for (path, text) in &sources {
            let module = module_of(path);
            let uses = house.uses[&module].clone();
            let mut arrows: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
            let taken = uses.iter().filter(|(_, _, is_public)| !is_public).map(|(_, path, _)| path.clone());
            let inline = paths_in(text).into_iter().filter_map(|path| house.absolute(&module, &path, &uses));
            for used in taken.chain(inline) {
                if let Some((file, name)) =
                    house.definition(&used, 0).filter(|(file, _)| !are_family(&module, &module_of(file)))
                {
                    arrows.entry(file).or_default().insert(name);
                }
            }
            house.arrows.insert(path.clone(), arrows);
        }
        house
    }

    /// A path from the folder `src`, crate first; None if it leads out of it.
    fn absolute(&self, module: &[String], path: &[String], uses: &[Import]) -> Option<Vec<String>> {
        let mut base = module.to_vec();
        let mut rest = path;
        match rest.first()?.as_str() {
            "crate" => (base, rest) = (base[..1].to_vec(), &rest[1..]),
            "self" => rest = &rest[1..],
            "super" => {
                while rest.first().is_some_and(|first| first == "super") {
                    base.pop();
                    rest = &rest[1..];
                }
            }
            first => {
                let member = first.strip_prefix("hansa_").map(|name| vec![name.to_owned()]);
                if let Some(member) = member.filter(|member| self.files.contains_key(member)) {
                    (base, rest) = (member, &rest[1..]);
                } else if let Some((_, path, _)) = uses.iter().find(|(name, ..)| name == first) {
                    (base, rest) = (path.clone(), &rest[1..]);
                } else if !self.files.contains_key(&[module, &[first.to_owned()]].concat()) {
                    return None;
                }
            }
        }
        Some([&base, rest].concat())
    }

    /// The file that defines what a path names, and its name there; None for modules themselves.
    fn definition(&self, path: &[String], depth: usize) -> Option<(String, String)> {
        let module = (0..path.len()).rev().map(|end| &path[..end]).find(|module| self.files.contains_key(*module))?;
        if self.files.contains_key(path) {
            return None;
        }
        let name = &path[module.len()];
        let rest = &path[module.len() + 1..];
        let on = self.uses[module].iter().find(|(local, _, is_public)| local == name && *is_public);
        match on {
            Some((_, path, _)) if depth < 8 => self.definition(&[path, rest].concat(), depth + 1),
            _ => Some((self.files[module].clone(), name.clone())),
        }
    }

    fn circles(&self) -> Vec<Vec<String>> {
        let reach: BTreeMap<&String, BTreeSet<&String>> =
            self.arrows.keys().map(|file| (file, self.reach(file))).collect();
        let mut circles: Vec<Vec<String>> = Vec::new();
        for file in self.arrows.keys().filter(|file| reach[*file].contains(*file)) {
            if !circles.iter().any(|circle| circle.contains(file)) {
                let both = |other: &&&String| reach[**other].contains(file);
                circles.push(reach[file].iter().filter(both).map(|other| (*other).clone()).collect());
            }
        }
        circles
    }

    fn reach<'h>(&'h self, file: &String) -> BTreeSet<&'h String> {
        let mut seen = BTreeSet::new();
        let mut next = vec![&self.arrows[file]];
        while let Some(arrows) = next.pop() {
            next.extend(arrows.keys().filter(|other| seen.insert(*other)).map(|other| &self.arrows[other]));
        }
        seen
    }
}

/// The path of a file's module, behind the folder of its crate.
fn module_of(path: &str) -> Vec<String> {
    let path = path.trim_start_matches("src/").trim_end_matches(".rs");
    let path = path.strip_suffix("/mod").unwrap_or(path);
    path.split('/').filter(|part| *part != "lib").map(str::to_owned).collect()
}

/// The code of a file without comments and what is only for tests.
fn product(text: &str) -> String {
    let lines = text.lines().filter(|line| !line.trim_start().starts_with("//"));
    let mut text = lines.flat_map(|line| [line, "\n"]).collect::<String>();
    while let Some(at) = text.find("#[cfg(test)]") {
        let mut depth = 0;
        let mut end = text.len();
        for (index, c) in text[at..].char_indices() {
            depth += i32::from(c == '{') - i32::from(c == '}');
            if depth == 0 && (c == ';' || c == '}') {
                end = at + index + 1;
                break;
            }
        }
        text.replace_range(at..end, "");
    }
    text
}

/// The trees of the imports of a text; true for those that are handed on to others.
fn imports_of(text: &str) -> Vec<(bool, &str)> {
    let starts = text.match_indices("use ").filter_map(|(at, _)| {
        let before = text[..at].rsplit('\n').next().unwrap_or_default().trim();
        (before.is_empty() || before.starts_with("pub")).then_some((!before.is_empty(), at + 4))
    });
    starts.map(|(is_public, at)| (is_public, text[at..].split(';').next().unwrap_or_default())).collect()
}

/// Hands over the paths of a tree of imports, each with its local name.
fn expand(tree: &str, before: &[String], take: &mut dyn FnMut(Vec<String>, String)) {
    let tree = tree.trim();
    if let Some(list) = tree.strip_prefix('{') {
        let mut depth = 0;
        let mut start = 0;
        let list = list.strip_suffix('}').unwrap_or(list);
        for (index, c) in list.char_indices().chain([(list.len(), ',')]) {
            depth += i32::from(c == '{') - i32::from(c == '}');
            if c == ',' && depth == 0 {
                expand(&list[start..index], before, take);
                start = index + 1;
            }
        }
    } else if let Some((first, rest)) = tree.split_once("::") {
        expand(rest, &[before, &[first.trim().to_owned()]].concat(), take);
    } else if !tree.is_empty() {
        let (name, local) = tree.split_once(" as ").unwrap_or((tree, tree));
        let path = if name == "self" { before.to_vec() } else { [before, &[name.to_owned()]].concat() };
        let local = if local == "self" { path.last().cloned().unwrap_or_default() } else { local.to_owned() };
        take(path, local);
    }
}

/// All paths of several names in a text.
fn paths_in(text: &str) -> Vec<Vec<String>> {
    let words = text.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == ':'));
    let paths = words.map(|word| word.trim_matches(':')).filter(|word| word.contains("::"));
    paths.map(|path| path.split("::").map(str::to_owned).collect()).collect()
}

/// True if one of two modules holds the other, or both are the same.
fn are_family(a: &[String], b: &[String]) -> bool {
    a.starts_with(b) || b.starts_with(a)
}
