//! Claims in the file of an experiment.

use crate::experiment::claims::Verdict;
use crate::experiment::{self, Experiment, Findings, RunRow, judge_experiment};
use hansa_sim::settings::is_unprintable;

const HEAD: &str = r#"
name = "try"
topology = "small.toml"
metrics = ["value", "starved", "slr_1", "slr_2", "slr_3"]
[vary]
seed = [1, 2, 3]
workload.0.load = [0.7, 1.00, 1.4]
market.policy = ["fifo", "srtf", "p-slr"]
"#;

fn read(claims: &str) -> Result<Experiment, String> {
    let text = format!("{HEAD}{claims}");
    let read = &mut |path: &str| match path {
        "try.toml" => Ok(text.clone().into()),
        "small.toml" => Ok(include_str!("../../../../topologies/market-40.toml").into()),
        _ => Err("there is no such file".to_owned()),
    };
    experiment::read_experiment("try.toml", read).map_err(|diagnostics| diagnostics.to_string())
}

/// Rows with these numbers of value and of the three `slr` for a policy, a load and a seed.
fn rows(experiment: &Experiment, number: impl Fn(&str, f64, f64) -> [Option<f64>; 4]) -> Vec<RunRow> {
    let row = |run: experiment::Run| {
        let [seed, load, policy] = &run.values[..] else { unreachable!("there are three axes") };
        let [value, slr @ ..] = number(policy, load.parse().unwrap(), seed.parse().unwrap());
        let metrics = [value, None].into_iter().chain(slr).collect();
        RunRow { run: run.number, digest: format!("{:032}", run.number), values: run.values, metrics }
    };
    experiment.runs().map(row).collect()
}

/// FIFO: 1 - load / 2, SRTF 0.1 more; the seed adds up to 0.3 to both. P-SLR has a number at the first load only.
fn usual(policy: &str, load: f64, seed: f64) -> [Option<f64>; 4] {
    let value = match policy {
        "fifo" => Some(1.0 - load / 2.0),
        "srtf" => Some(1.1 - load / 2.0),
        _ => (load < 1.0).then_some(0.5),
    };
    [value.map(|value| value + seed / 10.0), Some(1.0), Some(2.0), Some(4.0)]
}

fn judged(claims: &str) -> Findings {
    let experiment = read(claims).unwrap();
    judge_experiment(&experiment, &rows(&experiment, usual)).unwrap()
}

/// Verdict of one comparison for these values, and its text.
fn compared(each: &str, formula: &str) -> (Verdict, Vec<String>) {
    let findings = judged(&format!("[[claim]]\ntext = \"it\"\neach = {each}\ncompare = [\"{formula}\"]\n"));
    let finding = findings.numbered_finding(1);
    (finding.verdict, finding.comparisons.iter().map(|one| one.text.clone()).collect())
}

#[test]
fn means_over_seeds_are_compared_for_each_value() {
    let (verdict, texts) = compared(r#"["load >= 1"]"#, "value(fifo) < value(srtf)");
    assert_eq!(verdict, Verdict::Holds);
    let first = "value(fifo, 1.00) = 0.7000 < value(srtf, 1.00) = 0.8000";
    assert_eq!(texts, [first, "value(fifo, 1.4) = 0.5000 < value(srtf, 1.4) = 0.6000"]);
    // The number of a load may be written in another way, and an axis may be named.
    let (verdict, texts) = compared("[]", "value(market.policy = srtf, 1) <= value(load = 1.0, policy = fifo)");
    assert_eq!(verdict, Verdict::DoesNotHold);
    assert_eq!(texts, ["value(srtf, 1.00) = 0.8000 <= value(1.00, fifo) = 0.7000"]);
}

/// A policy that the seed does not change is compared with each run of one that it does.
#[test]
fn a_seed_may_matter_to_one_side_only() {
    let numbers = |policy: &str, _: f64, seed: f64| {
        let value = if policy == "fifo" { 0.45 } else { seed / 4.0 };
        [Some(value), None, None, None]
    };
    let claims = "[[claim]]\ntext = \"it\"\ncompare = [\"value(srtf, 1) < value(fifo, 1)\", \
                  \"value(srtf, 1) - value(fifo, 1) < 0\"]\n";
    let experiment = read(claims).unwrap();
    let mut rows = rows(&experiment, numbers);
    rows.iter_mut().filter(|row| row.values[2] == "fifo").for_each(|row| row.digest = "0".repeat(32));
    let finding = judge_experiment(&experiment, &rows).unwrap().numbered_finding(1).clone();
    let verdicts: Vec<Verdict> = finding.comparisons.iter().map(|one| one.verdict()).collect();
    assert_eq!(verdicts, [Verdict::Undecided; 2], "{finding:?}");
}

#[test]
fn terms_are_shown_as_they_are_computed() {
    let shown = |formula: &str| compared("[]", formula).1.remove(0);
    for (formula, text) in [
        ("2 * (value(fifo, 1) + 1) < 4", "2 (value(fifo, 1.00) + 1) = 3.4000 < 4"),
        ("(value(fifo, 1) + 1) / 2 < 4", "(value(fifo, 1.00) + 1) / 2 = 0.8500 < 4"),
        ("value(fifo, 1) - (value(srtf, 1) - 1) < 4", "(value(fifo, 1.00) - (value(srtf, 1.00) - 1)) = 0.9000 < 4"),
        ("value(fifo, 1) / (value(srtf, 1) / 2) < 4", "value(fifo, 1.00) / (value(srtf, 1.00) / 2) = 1.7500 < 4"),
        ("abs(2 - 3) < 2 * value(fifo, 1)", "1 < 2 value(fifo, 1.00) = 1.4000"),
        ("1/2 * value(market.policy = fifo, workload.0.load = 1) < 4", "0.5 value(fifo, 1.00) = 0.3500 < 4"),
    ] {
        assert_eq!(shown(formula), text);
    }
    // It does not depend on a name of `each`.
    assert_eq!(compared(r#"["load"]"#, "value(fifo, 1) < 4").1.len(), 1);
    assert_eq!(compared(r#"["workload.0.load"]"#, "value(fifo, next workload.0.load) < value(fifo)").1.len(), 2);
}

/// U+202E reverses the text after it, and U+001B begins a command to the terminal.
#[test]
fn texts_of_claims_cannot_steer_the_terminal() {
    let claims = r#"
[[claim]]
text = "fifo\u202Eofif"
says = [{ quote = "a\u001B[2Jb", sense = "c\u2066d", place = "section\u200F 5" }]
compare = ["value(fifo, 1) < 4"]
numbers = [{ ours = "value(fifo, 1)", paper = "0.7\u202E1" }]
note = "e\u202Ef"
remark = "g\u202Eh"
weaker = { text = "i\u202Ej", compare = ["value(fifo, 1) < 5"] }
"#;
    let text = judged(claims).text();
    let steering: Vec<char> = text.chars().filter(|letter| *letter != '\n' && is_unprintable(*letter)).collect();
    assert!(steering.is_empty(), "{text:?}");
    assert!(text.contains("fifo\u{fffd}ofif"), "{text}");
}

/// The seed moves both by more than they differ, but seed by seed the difference is the same.
#[test]
fn runs_with_one_seed_are_paired() {
    let noise = |policy: &str, load: f64, seed: f64| {
        let own = if policy == "fifo" { 4.0 - seed } else { seed };
        let number = usual(policy, load, own)[0];
        [number, None, None, None]
    };
    let claims = "[[claim]]\ntext = \"it\"\neach = [\"load < 1.4\"]\ncompare = [\"value(srtf) < value(fifo)\"]\n";
    let experiment = read(claims).unwrap();
    assert_eq!(
        judge_experiment(&experiment, &rows(&experiment, usual)).unwrap().numbered_finding(1).verdict,
        Verdict::DoesNotHold
    );
    // If they vary against each other, three seeds do not tell.
    assert_eq!(
        judge_experiment(&experiment, &rows(&experiment, noise)).unwrap().numbered_finding(1).verdict,
        Verdict::Undecided
    );
}

#[test]
fn neighbours_ranks_and_numbered_metrics() {
    let (verdict, texts) = compared(r#"["load"]"#, "value(fifo, next load) < value(fifo)");
    assert_eq!((verdict, texts.len()), (Verdict::Holds, 2), "there is none after the last: {texts:?}");
    assert_eq!(texts[0], "value(fifo, 1.00) = 0.7000 < value(fifo, 0.7) = 0.8500");
    let (_, texts) = compared(r#"["load = 0.7"]"#, "largest(2, value(policy)) > smallest(1, value(policy not fifo))");
    assert_eq!(texts, ["value(p-slr, 0.7) = 0.7000 < value(fifo, 0.7) = 0.8500"]);
    let (verdict, texts) = compared(r#"["n: 1 to 3", "load"]"#, "2 * slr_{n}(fifo) <= slr_{next n}(fifo)");
    assert_eq!((verdict, texts.len()), (Verdict::Holds, 6));
    let (_, texts) = compared("[]", "largest(1, slr_{1 to 3}(fifo, 1.4)) >= 4");
    assert_eq!(texts, ["4 <= slr_3(fifo, 1.4) = 4.0000"]);
    let (_, texts) = compared(r#"["load = 1.4", "one: policy is fifo srtf"]"#, "abs(value(one) - 1) / 2 < 0.3");
    assert_eq!(texts[0], "|value(fifo, 1.4) - 1| / 2 = 0.2500 < 0.3");
    assert_eq!(texts.len(), 2);
}

#[test]
fn missing_numbers_and_bounds_of_ours_decide_the_verdict() {
    let (verdict, texts) = compared(r#"["load"]"#, "value(p-slr) < 2");
    assert_eq!((verdict, texts.len()), (Verdict::Undecided, 1), "it has a number at the first load only");
    let findings = judged(
        r#"
        [[claim]]
        text = "much more"
        says = [{ quote = "much", place = "section 2" }, { sense = "more" }]
        ours = "much is 0.05"
        compare = ["value(srtf, 1) >= value(fifo, 1) + 0.05"]
        numbers = [{ ours = "value(srtf, 1)", paper = ".81" }]
        [[claim]]
        text = "less, within 0.2"
        note = "It is a little more."
        compare = ["value(fifo, 1) < 1"]
        [[claim.part]]
        ours = "noise"
        slack = 0.2
        compare = ["value(srtf, 1) <= value(fifo, 1)"]
        [[claim]]
        text = "less"
        note = "It is more."
        compare = ["value(srtf, 1) <= value(fifo, 1)"]
        [claim.weaker]
        text = "not twice as much"
        compare = ["value(srtf, 1) < 2 * value(fifo, 1)"]
        "#,
    );
    let verdict = |number| findings.numbered_finding(number).verdict;
    assert_eq!(verdict(1), Verdict::WithinTolerance);
    assert_eq!(verdict(2), Verdict::WithinTolerance);
    assert_eq!((verdict(3), findings.numbered_finding(3).weaker), (Verdict::DoesNotHold, Some(Verdict::Holds)));
    assert_eq!(findings.verdict_counts(), "2 hold only within our tolerance, 1 does not hold");
    let text = findings.text();
    for expected in [
        "the paper, section 2: \"much\"",
        "the paper (in our words): more",
        "value(srtf, 1.00)    .81   0.8",
        "our tolerance: much is 0.05",
        "fails by 0.1000; 0.2 are allowed",
        "It is more.",
        "a weaker statement, which is ours: not twice as much: holds",
    ] {
        assert!(text.contains(expected), "{expected} is not in\n{text}");
    }
    assert!(findings.html().as_str().contains("<a href=\"#claim-3\">Less</a>"));
}

#[test]
fn what_a_claim_names_has_to_exist() {
    let wrong = |lines: &str| read(&format!("[[claim]]\ntext = \"it\"\n{lines}\n")).unwrap_err();
    for (lines, expected) in [
        ("compare = [\"valu(fifo, 1) < 1\"]", "the experiment has no metric valu; did you mean value?"),
        ("compare = [\"job_wait(fifo, 1) < 1\"]", "job_wait is not among the `metrics` of this experiment"),
        ("compare = [\"value(fifi, 1) < 1\"]", "no axis has the value fifi; did you mean fifo?"),
        ("compare = [\"value(fifo) < 1\"]", "value leaves load open: expected one of its values"),
        ("compare = [\"value(fifo, srtf, 1) < 1\"]", "value has two settings of policy"),
        (
            "compare = [\"value(policy, 1) < 1\"]",
            "value: expected one value of each axis, found 3: use largest or smallest",
        ),
        (
            "compare = [\"value(fifo, lod = 1) < 1\"]",
            "there is no axis lod: expected one of load, policy; did you mean load?",
        ),
        ("compare = [\"value(fifo, next load) < 1\"]", "next load: no line of `each` is about load"),
        ("compare = [\"slr_{n}(fifo, 1) < 1\"]", "{n}: expected a line of `each` with numbers, as in `n: 1 to 10`"),
        ("compare = [\"largest(4, value(policy, 1)) < 1\"]", "largest(4, value): there are only 3"),
        ("compare = [\"value(fifo, 1) * value(fifo, 1) < 1\"]", "expected a number on one side of *"),
        ("compare = [\"value(fifo, 1)\"]", "expected <, <=, > or >=, found the end"),
        ("each = [\"load > 2\"]", "no value of load meets these conditions"),
        ("each = [\"load = 0.8\"]", "load has no value '0.8'"),
        ("each = [\"seed\"]", "seed: claims are about means over seeds"),
        ("each = [\"fifo: policy is srtf\"]", "fifo is an axis or a value of one: expected another name"),
        ("each = [\"load: policy is srtf\"]", "load is an axis or a value of one"),
        ("compare = [\"1 / 0 < value(fifo, 1)\"]", "expected a divisor other than 0"),
        ("compare = []", "expected at least one comparison in each part of a claim"),
        ("says = [{}]\ncompare = [\"value(fifo, 1) < 1\"]", "expected a `quote` or a `sense` in each"),
        ("each = [\"load\", \"load\"]", "two lines of `each` are about load"),
        ("slack = 0.1\ncompare = [\"value(fifo, 1) < 1\"]", "expected the reason for `slack` under `ours`"),
        ("numbers = [{ ours = \"value(fifo)\" }]", "value leaves load open"),
    ] {
        let message = wrong(lines);
        assert!(message.contains(expected) && message.contains("try.toml:"), "{expected} is not in\n{message}");
    }
    let many = format!("each = [{}]", (0..5).map(|n| format!("\"n{n}: 1 to 10\"")).collect::<Vec<_>>().join(", "));
    assert!(wrong(&many).contains("these are more than 10000 combinations of values"));
    assert!(read("[[claim]]\ncompare = []\n").unwrap_err().contains("text"));
}
