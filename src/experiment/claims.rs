//! Claims of a paper as comparisons of numbers, and how far results bear them out.

use std::collections::BTreeMap;
use std::fmt::Write;

/// Means over workloads, by policy and load.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Results {
    pub cells: BTreeMap<(String, Load), Cell>,
}

/// A load in hundredths, so that it can be a key.
pub type Load = u32;

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cell {
    /// Value obtained, as a share of all there was.
    pub value: f64,
    /// Share of the jobs that starved.
    pub starved: f64,
    /// By tenths of the jobs, from those with the least work.
    pub slr_censored: [Option<f64>; 10],
}

/// Something that a paper says, in words and as comparisons.
pub struct Claim<R = Results> {
    pub number: u32,
    pub text: &'static str,
    /// What to know where it does not hold as it stands.
    pub note: &'static str,
    pub(super) compare: fn(&mut Judge<'_, R>),
}

/// What became of a claim.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    pub verdict: Verdict,
    pub comparisons: Vec<Comparison>,
    /// Comparisons whose numbers are not there.
    pub missing: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Holds,
    WithinTolerance,
    DoesNotHold,
    /// There were no numbers to judge by.
    Open,
}

/// Whether one number is below another one.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// Both sides with their numbers.
    pub text: String,
    /// How far the right side is above the left one.
    pub margin: f64,
    /// How much may be missing.
    pub tolerance: f64,
    /// Whether equal is not enough.
    pub strict: bool,
}

impl<R> Claim<R> {
    pub fn judge(&self, results: &R) -> Finding {
        let mut judge = Judge { results, comparisons: Vec::new(), missing: 0 };
        (self.compare)(&mut judge);
        let Judge { comparisons, missing, .. } = judge;
        let verdict = comparisons.iter().map(Comparison::verdict).max_by_key(|verdict| *verdict as u8);
        Finding { verdict: verdict.unwrap_or(Verdict::Open), comparisons, missing }
    }
}

impl Comparison {
    pub fn verdict(&self) -> Verdict {
        let holds = if self.strict { self.margin > 0.0 } else { self.margin >= -ROUNDING };
        match holds {
            true => Verdict::Holds,
            false if self.tolerance > 0.0 && self.margin >= -self.tolerance - ROUNDING => Verdict::WithinTolerance,
            false => Verdict::DoesNotHold,
        }
    }
}

const ROUNDING: f64 = 1e-12;

impl Verdict {
    pub fn words(self) -> &'static str {
        match self {
            Verdict::Holds => "holds",
            Verdict::WithinTolerance => "holds within tolerance",
            Verdict::DoesNotHold => "does not hold",
            Verdict::Open => "cannot be judged",
        }
    }
}

impl Finding {
    /// The comparisons that decide: all that fail, or else the closest one.
    pub fn evidence(&self) -> Vec<&Comparison> {
        let failing: Vec<_> = self.comparisons.iter().filter(|c| c.verdict() == Verdict::DoesNotHold).collect();
        if !failing.is_empty() {
            return failing;
        }
        let deciding = self.comparisons.iter().filter(|comparison| comparison.verdict() == self.verdict);
        deciding.min_by(|a, b| a.margin.total_cmp(&b.margin)).into_iter().collect()
    }
}

/// What became of all claims of a paper.
pub(super) struct Findings<R: 'static = Results>(Vec<(&'static Claim<R>, Finding)>);

impl<R> Findings<R> {
    pub(super) fn of(claims: &'static [Claim<R>], results: &R) -> Findings<R> {
        Findings(claims.iter().map(|claim| (claim, claim.judge(results))).collect())
    }

    /// `3 hold, 1 within tolerance, 0 not`.
    pub(super) fn counts(&self) -> String {
        let count = |verdict| self.0.iter().filter(|(_, finding)| finding.verdict == verdict).count();
        format!(
            "{} hold, {} within tolerance, {} not",
            count(Verdict::Holds),
            count(Verdict::WithinTolerance),
            count(Verdict::DoesNotHold)
        )
    }

    /// Each claim with its verdict, and the numbers that decided.
    pub(super) fn write(&self, text: &mut String) {
        for (claim, finding) in &self.0 {
            let head = format!("{}: {}", finding.verdict.words(), claim.text);
            let _ = write!(text, "\n{:>2}. {}\n", claim.number, wrapped(&head, 4));
            let evidence = finding.evidence();
            for comparison in evidence.iter().take(SHOWN) {
                let _ = match comparison.verdict() {
                    Verdict::Holds => writeln!(text, "      closest: {}", comparison.text),
                    Verdict::WithinTolerance => {
                        writeln!(
                            text,
                            "      {} fails by {:.4}; {} are allowed",
                            comparison.text,
                            -comparison.margin,
                            up(comparison.tolerance)
                        )
                    }
                    _ => writeln!(text, "      {} fails by {:.4}", comparison.text, -comparison.margin),
                };
            }
            if evidence.len() > SHOWN {
                let _ = writeln!(text, "      and {} more", evidence.len() - SHOWN);
            }
            let failed = finding.comparisons.iter().filter(|comparison| comparison.verdict() != Verdict::Holds).count();
            let _ = writeln!(
                text,
                "      {} of {} comparisons hold as they stand",
                finding.comparisons.len() - failed,
                finding.comparisons.len()
            );
            if finding.missing > 0 {
                let _ = writeln!(text, "      {} comparisons could not be made", finding.missing);
            }
            if finding.verdict != Verdict::Holds && !claim.note.is_empty() {
                let _ = writeln!(text, "      {}", wrapped(claim.note, 6));
            }
        }
    }
}

/// To four digits, and not below.
fn up(number: f64) -> f64 {
    (number * 1e4 - 1e-9).ceil() / 1e4
}

/// Failing comparisons that are shown of a claim.
const SHOWN: usize = 6;

/// Lines of at most 100 letters, of which all but the first are indented.
fn wrapped(text: &str, indent: usize) -> String {
    let mut lines = String::new();
    let mut length = indent;
    for word in text.split(' ') {
        if length > indent && length + 1 + word.len() > 100 {
            lines.push_str(&format!("\n{:indent$}", ""));
            length = indent;
        } else if length > indent {
            lines.push(' ');
            length += 1;
        }
        lines.push_str(word);
        length += word.len();
    }
    lines
}

/// Collects the comparisons of a claim.
pub(super) struct Judge<'r, R = Results> {
    pub(super) results: &'r R,
    comparisons: Vec<Comparison>,
    missing: usize,
}

/// A number with a name; `None` where the results have none.
#[derive(Clone, Debug)]
pub(super) struct Number {
    pub(super) name: String,
    pub(super) value: Option<f64>,
}

impl Number {
    pub(super) fn plus(&self, term: f64) -> Number {
        let sign = if term < 0.0 { '-' } else { '+' };
        Number { name: format!("{} {sign} {}", self.name, term.abs()), value: self.value.map(|value| value + term) }
    }

    pub(super) fn times(&self, factor: f64) -> Number {
        Number { name: format!("{factor} {}", self.name), value: self.value.map(|value| value * factor) }
    }

    pub(super) fn minus(&self, other: &Number) -> Number {
        let value = self.value.zip(other.value).map(|(a, b)| a - b);
        Number { name: format!("({} - {})", self.name, other.name), value }
    }

    pub(super) fn distance(&self, other: &Number) -> Number {
        let value = self.value.zip(other.value).map(|(a, b)| (a - b).abs());
        Number { name: format!("|{} - {}|", self.name, other.name), value }
    }
}

pub(super) fn just(value: f64) -> Number {
    Number { name: String::new(), value: Some(value) }
}

impl Judge<'_> {
    /// The loads of the results within a range.
    fn loads(&self, from: Load, to: Load) -> Vec<Load> {
        let mut loads: Vec<Load> = self.results.cells.keys().map(|(_, load)| *load).collect();
        loads.sort_unstable();
        loads.dedup();
        loads.retain(|load| (from..=to).contains(load));
        loads
    }

    fn policies(&self) -> Vec<String> {
        let mut policies: Vec<String> = self.results.cells.keys().map(|(policy, _)| policy.clone()).collect();
        policies.dedup();
        policies
    }

    fn others(&self, except: &[&str]) -> Vec<String> {
        self.policies().into_iter().filter(|policy| !except.contains(&policy.as_str())).collect()
    }

    fn number(&self, letter: &str, policy: &str, load: Load, of: impl Fn(&Cell) -> Option<f64>) -> Number {
        let value = self.results.cells.get(&(policy.to_owned(), load)).and_then(of);
        Number { name: format!("{letter}({policy}, {})", f64::from(load) / 100.0), value }
    }

    fn p(&self, policy: &str, load: Load) -> Number {
        self.number("p", policy, load, |cell| Some(cell.value))
    }

    fn z(&self, policy: &str, load: Load) -> Number {
        self.number("z", policy, load, |cell| Some(cell.starved))
    }

    fn slr(&self, policy: &str, load: Load, tenth: usize) -> Number {
        self.number(&format!("SLR{tenth}"), policy, load, |cell| cell.slr_censored[tenth - 1])
    }
}

impl<R> Judge<'_, R> {
    pub(super) fn below(&mut self, low: &Number, high: &Number) {
        self.compare(low, high, 0.0, true);
    }

    pub(super) fn at_most(&mut self, low: &Number, high: &Number, tolerance: f64) {
        self.compare(low, high, tolerance, false);
    }

    fn compare(&mut self, low: &Number, high: &Number, tolerance: f64, strict: bool) {
        let (Some(left), Some(right)) = (low.value, high.value) else {
            self.missing += 1;
            return;
        };
        let shown = |number: &Number, value: f64| match number.name.is_empty() {
            true => value.to_string(),
            false => format!("{} = {value:.4}", number.name),
        };
        let sign = if strict { "<" } else { "<=" };
        let text = format!("{} {sign} {}", shown(low, left), shown(high, right));
        self.comparisons.push(Comparison { text, margin: right - left, tolerance, strict });
    }
}

const LOWEST: Load = 0;
const HIGHEST: Load = Load::MAX;

/// What "Bidding policies for market-based HPC workflow scheduling" says of its policies. `p` is the value obtained as a
/// share of all there was, `z` the share of jobs that starved, `SLRn` the mean SLR of the n-th tenth of the jobs by
/// work, starved ones counted with their final deadline.
pub const CLAIMS: &[Claim] = &[
    Claim {
        number: 1,
        text: "every policy loses value even at load 0.7, and value falls as load rises",
        note: "",
        compare: |judge| {
            for policy in judge.policies() {
                judge.below(&judge.p(&policy, 70), &just(1.0));
                for pair in judge.loads(LOWEST, HIGHEST).windows(2) {
                    judge.at_most(&judge.p(&policy, pair[1]), &judge.p(&policy, pair[0]), 0.005);
                }
            }
        },
    },
    Claim {
        number: 2,
        text: "LRTF is worse than Random at every load",
        note: "",
        compare: |judge| {
            for load in judge.loads(LOWEST, HIGHEST) {
                judge.below(&judge.p("lrtf", load), &judge.p("random", load));
            }
        },
    },
    Claim {
        number: 3,
        text: "from load 1 on FIFO is better than Random; from 1.1 on it is well below SRTF, PVD, PVDSQ and PVR",
        note: "",
        compare: |judge| {
            for load in judge.loads(100, HIGHEST) {
                judge.below(&judge.p("random", load), &judge.p("fifo", load));
            }
            for load in judge.loads(110, HIGHEST) {
                for other in ["srtf", "pvd", "pvdsq", "pvr"] {
                    judge.at_most(&judge.p("fifo", load), &judge.p(other, load).plus(-0.03), 0.0);
                }
            }
        },
    },
    Claim {
        number: 4,
        text: "PV is worse than Random up to load 0.9; at 1.4 it is better, but below PVD, PVDSQ, SRTF and PVR",
        note: "",
        compare: |judge| {
            for load in judge.loads(LOWEST, 90) {
                judge.below(&judge.p("pv", load), &judge.p("random", load));
            }
            judge.below(&judge.p("random", 140), &judge.p("pv", 140));
            for other in ["pvd", "pvdsq", "srtf", "pvr"] {
                judge.below(&judge.p("pv", 140), &judge.p(other, 140));
            }
        },
    },
    Claim {
        number: 5,
        text: "after LRTF, PV starves more jobs than any other policy, at every load",
        note: "",
        compare: |judge| {
            for load in judge.loads(LOWEST, HIGHEST) {
                for other in judge.others(&["lrtf", "pv"]) {
                    judge.at_most(&judge.z(&other, load), &judge.z("pv", load), 0.01);
                }
            }
        },
    },
    Claim {
        number: 6,
        text: "from load 1.2 on P-SLR is well below PVR, and starves more jobs",
        note: "",
        compare: |judge| {
            for load in judge.loads(120, HIGHEST) {
                judge.at_most(&judge.p("p-slr", load), &judge.p("pvr", load).plus(-0.05), 0.0);
                judge.below(&judge.z("pvr", load), &judge.z("p-slr", load));
            }
        },
    },
    Claim {
        number: 7,
        text: "PVD and PVDSQ are better than PV at every load",
        note: "",
        compare: |judge| {
            for load in judge.loads(LOWEST, HIGHEST) {
                for other in ["pvd", "pvdsq"] {
                    judge.below(&judge.p("pv", load), &judge.p(other, load));
                }
            }
        },
    },
    Claim {
        number: 8,
        text: "from load 0.9 on PVDSQ is better than PVD, and at every load it starves at most half as many jobs",
        note: "Only where the resources are squared: the square of the whole density orders tasks as PVD does.",
        compare: |judge| {
            for load in judge.loads(90, HIGHEST) {
                judge.below(&judge.p("pvd", load), &judge.p("pvdsq", load));
            }
            for load in judge.loads(LOWEST, HIGHEST) {
                judge.at_most(&judge.z("pvdsq", load), &judge.z("pvd", load).times(0.5), 0.0);
            }
        },
    },
    Claim {
        number: 9,
        text: "PVDSQ is close to SRTF in value, and SRTF starves fewer jobs, at every load",
        note: "Close means by 0.03, which is our reading. The two are furthest apart just beyond saturation: at load 1.05, \
               which only the full experiment has, by a hair more than that.",
        compare: |judge| {
            for load in judge.loads(LOWEST, HIGHEST) {
                let apart = judge.p("pvdsq", load).distance(&judge.p("srtf", load));
                judge.at_most(&apart, &just(0.03), 0.0);
                judge.below(&judge.z("srtf", load), &judge.z("pvdsq", load));
            }
        },
    },
    Claim {
        number: 10,
        text: "around saturation (0.9 to 1.1) EDF is among the two best policies",
        note: "",
        compare: |judge| {
            for load in judge.loads(90, 110) {
                let mut others: Vec<Number> = judge.others(&["edf"]).iter().map(|other| judge.p(other, load)).collect();
                others.sort_by(|a, b| b.value.unwrap_or(0.0).total_cmp(&a.value.unwrap_or(0.0)));
                if let Some(second) = others.get(1) {
                    judge.at_most(second, &judge.p("edf", load), 0.0);
                }
            }
        },
    },
    Claim {
        number: 11,
        text: "beyond 1.1 EDF falls much faster than PVR, and from 1.2 on it is below PVDSQ",
        note: "",
        compare: |judge| {
            let fall = |policy| judge.p(policy, 110).minus(&judge.p(policy, 130));
            judge.at_most(&fall("pvr").times(1.3), &fall("edf"), 0.0);
            for load in judge.loads(120, HIGHEST) {
                judge.below(&judge.p("edf", load), &judge.p("pvdsq", load));
            }
        },
    },
    Claim {
        number: 12,
        text: "between 1.1 and 1.2 the jobs that EDF starves at least double",
        note: "",
        compare: |judge| judge.at_most(&judge.z("edf", 110).times(2.0), &judge.z("edf", 120), 0.0),
    },
    Claim {
        number: 13,
        text: "up to load 1.1 no policy is better than PVR",
        note: "Up to saturation EDF and P-SLR lead by a little: nearly every job can be done in time, and they go by \
               time alone, while PVR serves those with least left to lose first and makes the largest wait.",
        compare: |judge| {
            for load in judge.loads(LOWEST, 110) {
                for other in judge.others(&["pvr"]) {
                    judge.at_most(&judge.p(&other, load), &judge.p("pvr", load), 0.02);
                }
            }
        },
    },
    Claim {
        number: 14,
        text: "at load 1.4 PVR is below SRTF and PVDSQ, and close to PVD",
        note: "",
        compare: |judge| {
            judge.below(&judge.p("pvr", 140), &judge.p("srtf", 140));
            judge.below(&judge.p("pvr", 140), &judge.p("pvdsq", 140));
            let apart = judge.p("pvr", 140).distance(&judge.p("pvd", 140));
            judge.at_most(&apart, &just(0.03), 0.0);
        },
    },
    Claim {
        number: 15,
        text: "no policy starves fewer jobs than PVR, at any load",
        note: "",
        compare: |judge| {
            for load in judge.loads(LOWEST, HIGHEST) {
                for other in judge.others(&["pvr"]) {
                    judge.at_most(&judge.z("pvr", load), &judge.z(&other, load), 0.005);
                }
            }
        },
    },
    Claim {
        number: 16,
        text: "even at load 1.4 PVR starves at most one job in twenty",
        note: "",
        compare: |judge| judge.at_most(&judge.z("pvr", 140), &just(0.05), 0.0),
    },
    Claim {
        number: 17,
        text: "at load 1.2 PVR answers small and middling jobs as fast as SRTF, EDF, P-SLR and PVDSQ (tenths 1 to 8 by \
               work), and makes the largest tenth wait longer than SRTF",
        note: "",
        compare: |judge| {
            for tenth in 1..=8 {
                for other in ["srtf", "edf", "p-slr", "pvdsq"] {
                    judge.at_most(&judge.slr("pvr", 120, tenth), &judge.slr(other, 120, tenth), 0.05);
                }
            }
            judge.below(&judge.slr("srtf", 120, 10), &judge.slr("pvr", 120, 10));
        },
    },
];
