//! Statements of "Bidding policies for market-based HPC workflow scheduling", as comparisons of numbers.

use super::{Cell, Load, Results};
use crate::experiment::claims::{Claim, Judge, Note, Number, Ours, just};
use crate::few;

impl Judge<'_, Results> {
    /// Loads of the results within a range.
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
        Number::new(format!("{letter}({policy}, {})", f64::from(load) / 100.0), value)
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

    /// Share of starved jobs in one tenth of the jobs.
    fn z_of(&self, policy: &str, load: Load, tenth: usize) -> Number {
        self.number(&format!("z{tenth}"), policy, load, |cell| cell.starved_by_work[tenth - 1])
    }

    /// Values of these policies, descending.
    fn best_first(&self, policies: &[String], load: Load) -> Vec<Number> {
        let mut values: Vec<Number> = policies.iter().map(|policy| self.p(policy, load)).collect();
        few::sort_by(&mut values, |a, b| b.value.unwrap_or(0.0).total_cmp(&a.value.unwrap_or(0.0)));
        values
    }

    fn among_the_best_two(&mut self, policy: &str, from: Load, to: Load) {
        for load in self.loads(from, to) {
            let others = self.best_first(&self.others(&[policy]), load);
            if let Some(second) = others.get(1) {
                self.at_most(second, &self.p(policy, load), 0.0);
            }
        }
    }
}

const LOWEST: Load = 0;
const HIGHEST: Load = Load::MAX;

/// Claims of "Bidding policies for market-based HPC workflow scheduling" about its policies. `p` is the obtained share
/// of all value, `z` the share of starved jobs, `SLRn` the mean SLR of the n-th tenth of the jobs by work, where
/// starved jobs count with their final deadline, `zn` the share of starved jobs in it.
pub const CLAIMS: &[Claim<Results>] = &[
    Claim {
        number: 1,
        text: "every policy loses value even at load 0.7, and value falls as load rises",
        note: Note::None,
        compare: |judge| {
            for policy in judge.policies() {
                judge.below(&judge.p(&policy, 70), &just(1.0));
                for pair in judge.loads(LOWEST, HIGHEST).windows(2) {
                    judge.at_most(&judge.p(&policy, pair[1]), &judge.p(&policy, pair[0]), 0.005);
                }
            }
        },
        ours: Ours::Nothing,
    },
    Claim {
        number: 2,
        text: "LRTF is worse than Random at every load",
        note: Note::None,
        compare: |judge| {
            for load in judge.loads(LOWEST, HIGHEST) {
                judge.below(&judge.p("lrtf", load), &judge.p("random", load));
            }
        },
        ours: Ours::Nothing,
    },
    Claim {
        number: 3,
        text: "from load 1 on FIFO is better than Random and worse than all others, but for LRTF (claim 2); at least, \
               from 1.1 on, by 0.03 than SRTF, PVD, PVDSQ and PVR",
        note: Note::None,
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
        ours: Ours::Slack(|judge| {
            for load in judge.loads(100, HIGHEST) {
                judge.below(&judge.p("random", load), &judge.p("fifo", load));
                for other in judge.others(&["fifo", "lrtf", "random"]) {
                    judge.below(&judge.p("fifo", load), &judge.p(&other, load));
                }
            }
        }),
    },
    Claim {
        number: 4,
        text: "PV is worse than Random up to load 0.9; at 1.4 it is better, but below PVD, PVDSQ, SRTF and PVR",
        note: Note::None,
        compare: |judge| {
            for load in judge.loads(LOWEST, 90) {
                judge.below(&judge.p("pv", load), &judge.p("random", load));
            }
            judge.below(&judge.p("random", 140), &judge.p("pv", 140));
            for other in ["pvd", "pvdsq", "srtf", "pvr"] {
                judge.below(&judge.p("pv", 140), &judge.p(other, 140));
            }
        },
        ours: Ours::Nothing,
    },
    Claim {
        number: 5,
        text: "after LRTF, PV starves more jobs than any other policy, at every load",
        note: Note::None,
        compare: |judge| {
            for load in judge.loads(LOWEST, HIGHEST) {
                for other in judge.others(&["lrtf", "pv"]) {
                    judge.at_most(&judge.z(&other, load), &judge.z("pv", load), 0.01);
                }
            }
        },
        ours: Ours::Nothing,
    },
    Claim {
        number: 6,
        text: "from load 1.2 on P-SLR is well below PVR, and starves more jobs",
        note: Note::None,
        compare: |judge| {
            for load in judge.loads(120, HIGHEST) {
                judge.at_most(&judge.p("p-slr", load), &judge.p("pvr", load).plus(-0.05), 0.0);
                judge.below(&judge.z("pvr", load), &judge.z("p-slr", load));
            }
        },
        ours: Ours::Bounds,
    },
    Claim {
        number: 7,
        text: "PVD and PVDSQ are better than PV at every load",
        note: Note::None,
        compare: |judge| {
            for load in judge.loads(LOWEST, HIGHEST) {
                for other in ["pvd", "pvdsq"] {
                    judge.below(&judge.p("pv", load), &judge.p(other, load));
                }
            }
        },
        ours: Ours::Nothing,
    },
    Claim {
        number: 8,
        text: "from load 0.9 on PVDSQ is better than PVD, and at every load it starves at most half as many jobs",
        note: Note::Words("Only if the resources are squared: the square of the whole density orders tasks like PVD."),
        compare: |judge| {
            for load in judge.loads(90, HIGHEST) {
                judge.below(&judge.p("pvd", load), &judge.p("pvdsq", load));
            }
            for load in judge.loads(LOWEST, HIGHEST) {
                judge.at_most(&judge.z("pvdsq", load), &judge.z("pvd", load).times(0.5), 0.0);
            }
        },
        ours: Ours::Bounds,
    },
    Claim {
        number: 9,
        text: "PVDSQ is close to SRTF in value, and SRTF starves fewer jobs, at every load",
        note: Note::Words(
            "Close means by 0.03, which is our reading. The two are furthest apart just beyond saturation: at load \
             1.05, which only the full experiment has, by a hair more than that.",
        ),
        compare: |judge| {
            for load in judge.loads(LOWEST, HIGHEST) {
                let apart = judge.p("pvdsq", load).distance(&judge.p("srtf", load));
                judge.at_most(&apart, &just(0.03), 0.0);
                judge.below(&judge.z("srtf", load), &judge.z("pvdsq", load));
            }
        },
        ours: Ours::Bounds,
    },
    Claim {
        number: 10,
        text: "up to load 1.1 EDF is among the two best policies; at least around saturation (0.9 to 1.1)",
        note: Note::None,
        compare: |judge| judge.among_the_best_two("edf", 90, 110),
        ours: Ours::Slack(|judge| judge.among_the_best_two("edf", LOWEST, 110)),
    },
    Claim {
        number: 11,
        text: "beyond 1.1 EDF falls much faster than PVR, and from 1.2 on it is below PVDSQ",
        note: Note::None,
        compare: |judge| {
            let fall = |policy| judge.p(policy, 110).minus(&judge.p(policy, 130));
            judge.at_most(&fall("pvr").times(1.3), &fall("edf"), 0.0);
            for load in judge.loads(120, HIGHEST) {
                judge.below(&judge.p("edf", load), &judge.p("pvdsq", load));
            }
        },
        ours: Ours::Bounds,
    },
    Claim {
        number: 12,
        text: "between 1.1 and 1.2 the jobs that EDF starves at least double, and at 1.4 they are 1.3 times as many again",
        note: Note::None,
        compare: |judge| judge.at_most(&judge.z("edf", 110).times(2.0), &judge.z("edf", 120), 0.0),
        ours: Ours::Slack(|judge| {
            judge.at_most(&judge.z("edf", 110).times(2.0), &judge.z("edf", 120), 0.0);
            judge.at_most(&judge.z("edf", 120).times(1.3), &judge.z("edf", 140), 0.0);
        }),
    },
    Claim {
        number: 13,
        text: "up to load 1.1 no policy is better than PVR",
        note: Note::Words(
            "Up to saturation EDF and P-SLR lead by a little: nearly every job can be done in time, and these policies \
             consider only time, while PVR first serves jobs with the least value left to lose and makes the largest \
             jobs wait.",
        ),
        compare: |judge| {
            for load in judge.loads(LOWEST, 110) {
                for other in judge.others(&["pvr"]) {
                    judge.at_most(&judge.p(&other, load), &judge.p("pvr", load), 0.02);
                }
            }
        },
        ours: Ours::Nothing,
    },
    Claim {
        number: 14,
        text: "at load 1.4 PVR is below SRTF and PVDSQ, and close to PVD",
        note: Note::None,
        compare: |judge| {
            judge.below(&judge.p("pvr", 140), &judge.p("srtf", 140));
            judge.below(&judge.p("pvr", 140), &judge.p("pvdsq", 140));
            let apart = judge.p("pvr", 140).distance(&judge.p("pvd", 140));
            judge.at_most(&apart, &just(0.03), 0.0);
        },
        ours: Ours::Bounds,
    },
    Claim {
        number: 15,
        text: "no policy starves fewer jobs than PVR, at any load",
        note: Note::None,
        compare: |judge| {
            for load in judge.loads(LOWEST, HIGHEST) {
                for other in judge.others(&["pvr"]) {
                    judge.at_most(&judge.z("pvr", load), &judge.z(&other, load), 0.005);
                }
            }
        },
        ours: Ours::Nothing,
    },
    Claim {
        number: 16,
        text: "even at load 1.4 PVR starves at most one job in twenty",
        note: Note::None,
        compare: |judge| judge.at_most(&judge.z("pvr", 140), &just(0.05), 0.0),
        ours: Ours::Nothing,
    },
    Claim {
        number: 17,
        text: "at load 1.2 PVR answers small and middling jobs as fast as any (tenths 1 to 8 by work), at least within \
               0.05 of SRTF, EDF, P-SLR and PVDSQ, and makes the largest tenth wait longer than SRTF",
        note: Note::None,
        compare: |judge| {
            for tenth in 1..=8 {
                for other in ["srtf", "edf", "p-slr", "pvdsq"] {
                    judge.at_most(&judge.slr("pvr", 120, tenth), &judge.slr(other, 120, tenth), 0.05);
                }
            }
            judge.below(&judge.slr("srtf", 120, 10), &judge.slr("pvr", 120, 10));
        },
        ours: Ours::Slack(|judge| {
            for tenth in 1..=8 {
                for other in judge.others(&["pvr"]) {
                    judge.at_most(&judge.slr("pvr", 120, tenth), &judge.slr(&other, 120, tenth), 0.0);
                }
            }
            judge.below(&judge.slr("srtf", 120, 10), &judge.slr("pvr", 120, 10));
        }),
    },
    Claim {
        number: 18,
        text: "at load 1.4 every other policy starves hugely more jobs than PVR: at least twice as many",
        note: Note::None,
        compare: |judge| {
            for other in judge.others(&["pvr"]) {
                judge.at_most(&judge.z("pvr", 140).times(2.0), &judge.z(&other, 140), 0.0);
            }
        },
        ours: Ours::Bounds,
    },
    Claim {
        number: 19,
        text: "from load 1 to 1.4 PV loses less value than EDF, P-SLR and LRTF",
        note: Note::None,
        compare: |judge| {
            let fall = |policy| judge.p(policy, 100).minus(&judge.p(policy, 140));
            let falls = ["edf", "p-slr", "lrtf"].map(fall);
            let pv = fall("pv");
            falls.iter().for_each(|other| judge.below(&pv, other));
        },
        ours: Ours::Nothing,
    },
    Claim {
        number: 20,
        text: "up to load 1 the five best policies lie close together, within 0.05 of each other",
        note: Note::None,
        compare: |judge| {
            for load in judge.loads(LOWEST, 100) {
                let best = judge.best_first(&judge.policies(), load);
                if let (Some(first), Some(fifth)) = (best.first(), best.get(4)) {
                    judge.at_most(&first.plus(-0.05), fifth, 0.0);
                }
            }
        },
        ours: Ours::Bounds,
    },
    Claim {
        number: 21,
        text: "at load 1.2 PVDSQ starves a larger share of the largest tenth by work than PVR, SRTF and EDF",
        note: Note::None,
        compare: |judge| {
            for other in ["pvr", "srtf", "edf"] {
                judge.below(&judge.z_of(other, 120, 10), &judge.z_of("pvdsq", 120, 10));
            }
        },
        ours: Ours::Nothing,
    },
    Claim {
        number: 22,
        text: "at load 1.2 PV starves fewer of the jobs the more work they have, from each tenth to the next; at \
               least from the first to the last",
        note: Note::None,
        compare: |judge| judge.below(&judge.z_of("pv", 120, 10), &judge.z_of("pv", 120, 1)),
        ours: Ours::Slack(|judge| {
            for tenth in 1..10 {
                judge.below(&judge.z_of("pv", 120, tenth + 1), &judge.z_of("pv", 120, tenth));
            }
        }),
    },
];
