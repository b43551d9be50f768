//! Statements of "Bidding policies for market-based HPC workflow scheduling", as comparisons of numbers.

use super::{Cell, Load, Results};
use crate::experiment::claims::{Claim, Judge, Note, Number, Says, Weaker, just};
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

    /// SLR of the smallest and of the largest tenth, and the shares of them that starved.
    fn show_ends(&mut self, policy: &str, load: Load) {
        let ends = [1, 10].map(|tenth| (self.z_of(policy, load, tenth), self.slr(policy, load, tenth)));
        for number in ends.into_iter().flat_map(|(starved, slr)| [starved, slr]) {
            self.beside(number.name.clone(), "", &number);
        }
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
        says: &[Says::Quote("", "below 1.0 even at 70 %")],
        note: Note::None,
        compare: |judge| {
            let losses: Vec<f64> =
                judge.policies().iter().filter_map(|policy| Some(1.0 - judge.p(policy, 70).value?)).collect();
            if let Some(least) = losses.iter().copied().min_by(f64::total_cmp) {
                judge.remark(format!(
                    "The least loss at 0.7 is {least:.6} of all value: the words hold, but say next to nothing here."
                ));
            }
            for policy in judge.policies() {
                judge.below(&judge.p(&policy, 70), &just(1.0));
                judge.slack("0.005 between neighbouring loads, for the variation between workloads", |judge| {
                    for pair in judge.loads(LOWEST, HIGHEST).windows(2) {
                        judge.at_most(&judge.p(&policy, pair[1]), &judge.p(&policy, pair[0]), 0.005);
                    }
                });
            }
        },
        weaker: None,
    },
    Claim {
        number: 2,
        text: "LRTF is worse than Random at every load",
        says: &[Says::Sense("", "LRTF is worse than Random")],
        note: Note::None,
        compare: |judge| {
            for load in judge.loads(LOWEST, HIGHEST) {
                judge.below(&judge.p("lrtf", load), &judge.p("random", load));
            }
        },
        weaker: None,
    },
    Claim {
        number: 3,
        text: "from load 1 on FIFO is better than Random and worse than all others, but for LRTF (claim 2)",
        says: &[Says::Sense("", "FIFO is above Random and below the other policies")],
        note: Note::None,
        compare: |judge| {
            for load in judge.loads(100, HIGHEST) {
                judge.below(&judge.p("random", load), &judge.p("fifo", load));
                for other in judge.others(&["fifo", "lrtf", "random"]) {
                    judge.below(&judge.p("fifo", load), &judge.p(&other, load));
                }
            }
        },
        weaker: Some(Weaker {
            text: "from 1.1 on worse by 0.03 than SRTF, PVD, PVDSQ and PVR",
            compare: |judge| {
                for load in judge.loads(110, HIGHEST) {
                    for other in ["srtf", "pvd", "pvdsq", "pvr"] {
                        judge.at_most(&judge.p("fifo", load), &judge.p(other, load).plus(-0.03), 0.0);
                    }
                }
            },
        }),
    },
    Claim {
        number: 4,
        text: "PV is worse than Random up to load 0.9; at 1.4 it is better, but below PVD, PVDSQ, SRTF and PVR",
        says: &[Says::Sense("", "PV is below Random at low load and above it at high load")],
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
        weaker: None,
    },
    Claim {
        number: 5,
        text: "after LRTF, PV starves more jobs than any other policy, at every load",
        says: &[Says::Sense("", "PV starves most jobs after LRTF")],
        note: Note::None,
        compare: |judge| {
            judge.slack("0.01 of all jobs", |judge| {
                for load in judge.loads(LOWEST, HIGHEST) {
                    for other in judge.others(&["lrtf", "pv"]) {
                        judge.at_most(&judge.z(&other, load), &judge.z("pv", load), 0.01);
                    }
                }
            });
        },
        weaker: None,
    },
    Claim {
        number: 6,
        text: "from load 1.2 on P-SLR is well below PVR, and starves more jobs",
        says: &[Says::Sense("", "P-SLR is well below PVR at high load, and starves more")],
        note: Note::None,
        compare: |judge| {
            for load in judge.loads(120, HIGHEST) {
                judge.bound("\"well below\" is read as 0.05 of all value", |judge| {
                    judge.at_most(&judge.p("p-slr", load), &judge.p("pvr", load).plus(-0.05), 0.0);
                });
                judge.below(&judge.z("pvr", load), &judge.z("p-slr", load));
            }
        },
        weaker: None,
    },
    Claim {
        number: 7,
        text: "PVD and PVDSQ are better than PV at every load",
        says: &[Says::Sense("", "PVD and PVDSQ are better than PV")],
        note: Note::None,
        compare: |judge| {
            for load in judge.loads(LOWEST, HIGHEST) {
                for other in ["pvd", "pvdsq"] {
                    judge.below(&judge.p("pv", load), &judge.p(other, load));
                }
            }
        },
        weaker: None,
    },
    Claim {
        number: 8,
        text: "from load 0.9 on PVDSQ is better than PVD, and at every load it starves far fewer jobs",
        says: &[Says::Sense("", "PVDSQ improves on PVD and starves far fewer jobs")],
        note: Note::Words(
            "Only if the resources are squared: the square of the whole density, as printed, orders tasks like PVD.",
        ),
        compare: |judge| {
            for load in judge.loads(90, HIGHEST) {
                judge.below(&judge.p("pvd", load), &judge.p("pvdsq", load));
            }
            judge.bound("\"far fewer\" is read as half", |judge| {
                for load in judge.loads(LOWEST, HIGHEST) {
                    judge.at_most(&judge.z("pvdsq", load), &judge.z("pvd", load).times(0.5), 0.0);
                }
            });
        },
        weaker: None,
    },
    Claim {
        number: 9,
        text: "PVDSQ is close to SRTF in value, and SRTF starves fewer jobs, at every load",
        says: &[Says::Sense("", "PVDSQ is close to SRTF in value")],
        note: Note::Words(
            "The two are furthest apart just beyond saturation: at load 1.05, which only the full experiment has, by a \
             hair more than 0.03.",
        ),
        compare: |judge| {
            for load in judge.loads(LOWEST, HIGHEST) {
                judge.bound("\"close\" is read as 0.03 of all value", |judge| {
                    let apart = judge.p("pvdsq", load).distance(&judge.p("srtf", load));
                    judge.at_most(&apart, &just(0.03), 0.0);
                });
                judge.below(&judge.z("srtf", load), &judge.z("pvdsq", load));
            }
        },
        weaker: None,
    },
    Claim {
        number: 10,
        text: "below load 1.1 EDF is the second-best",
        says: &[Says::Quote("", "second-highest below 110 %")],
        note: Note::Words(
            "Up to saturation EDF is first here: nearly every job can be done in time, and it considers only time.",
        ),
        compare: |judge| {
            for load in judge.loads(LOWEST, 109) {
                let others = judge.best_first(&judge.others(&["edf"]), load);
                if let [first, second, ..] = &others[..] {
                    judge.at_most(&judge.p("edf", load), first, 0.0);
                    judge.at_most(second, &judge.p("edf", load), 0.0);
                }
            }
        },
        weaker: Some(Weaker {
            text: "up to 1.1 EDF is among the two best",
            compare: |judge| judge.among_the_best_two("edf", LOWEST, 110),
        }),
    },
    Claim {
        number: 11,
        text: "beyond 1.1 EDF falls much faster than PVR, and from 1.2 on it is below PVDSQ",
        says: &[Says::Sense("", "beyond 110 % EDF falls much faster than PVR")],
        note: Note::None,
        compare: |judge| {
            let fall = |policy| judge.p(policy, 110).minus(&judge.p(policy, 130));
            let (pvr, edf) = (fall("pvr"), fall("edf"));
            judge.bound("\"much faster\" is read as 1.3 times", |judge| judge.at_most(&pvr.times(1.3), &edf, 0.0));
            for load in judge.loads(120, HIGHEST) {
                judge.below(&judge.p("edf", load), &judge.p("pvdsq", load));
            }
        },
        weaker: None,
    },
    Claim {
        number: 12,
        text: "the jobs that EDF starves increase rapidly after load 1.2",
        says: &[Says::Quote("", "increases rapidly after 120 %")],
        note: Note::Words("Here the rapid increase is between 1.1 and 1.2."),
        compare: |judge| {
            for load in judge.loads(110, HIGHEST) {
                let z = judge.z("edf", load);
                judge.beside(z.name.clone(), "", &z);
            }
            let step = |from, to| judge.z("edf", to).minus(&judge.z("edf", from));
            let (before, after) = (step(110, 120), step(120, 130));
            judge.below(&before, &after);
        },
        weaker: Some(Weaker {
            text: "from 1.1 to 1.2 they double, and at 1.4 they are 1.3 times as many again",
            compare: |judge| {
                judge.at_most(&judge.z("edf", 110).times(2.0), &judge.z("edf", 120), 0.0);
                judge.at_most(&judge.z("edf", 120).times(1.3), &judge.z("edf", 140), 0.0);
            },
        }),
    },
    Claim {
        number: 13,
        text: "up to load 1.1 PVR attains the highest value of all policies",
        says: &[Says::Quote("", "attains the highest value of all")],
        note: Note::Words(
            "Up to saturation EDF and P-SLR lead by a little: nearly every job can be done in time, and these policies \
             consider only time, while PVR first serves jobs with the least value left to lose and makes the largest \
             jobs wait.",
        ),
        compare: |judge| {
            for load in judge.loads(LOWEST, 110) {
                for other in judge.others(&["pvr"]) {
                    judge.at_most(&judge.p(&other, load), &judge.p("pvr", load), 0.0);
                }
            }
        },
        weaker: Some(Weaker {
            text: "no other policy is better by more than 0.02 of all value",
            compare: |judge| {
                for load in judge.loads(LOWEST, 110) {
                    for other in judge.others(&["pvr"]) {
                        judge.at_most(&judge.p(&other, load), &judge.p("pvr", load).plus(0.02), 0.0);
                    }
                }
            },
        }),
    },
    Claim {
        number: 14,
        text: "at load 1.4 PVR is below SRTF and PVDSQ, and close to PVD",
        says: &[Says::Sense("", "at the highest loads SRTF and PVDSQ overtake PVR, which is close to PVD")],
        note: Note::None,
        compare: |judge| {
            judge.below(&judge.p("pvr", 140), &judge.p("srtf", 140));
            judge.below(&judge.p("pvr", 140), &judge.p("pvdsq", 140));
            judge.bound("\"close\" is read as 0.03 of all value", |judge| {
                let apart = judge.p("pvr", 140).distance(&judge.p("pvd", 140));
                judge.at_most(&apart, &just(0.03), 0.0);
            });
        },
        weaker: None,
    },
    Claim {
        number: 15,
        text: "no policy starves fewer jobs than PVR, at any load",
        says: &[Says::Sense("", "PVR starves the fewest jobs at every load")],
        note: Note::None,
        compare: |judge| {
            judge.slack("0.005 of all jobs: few jobs starve at low load", |judge| {
                for load in judge.loads(LOWEST, HIGHEST) {
                    for other in judge.others(&["pvr"]) {
                        judge.at_most(&judge.z("pvr", load), &judge.z(&other, load), 0.005);
                    }
                }
            });
        },
        weaker: None,
    },
    Claim {
        number: 16,
        text: "even at load 1.4 PVR starves at most one job in twenty",
        says: &[Says::Sense("", "PVR starves hardly any job, even at the highest load")],
        note: Note::None,
        compare: |judge| {
            judge.bound("\"hardly any\" is read as 5 %", |judge| judge.at_most(&judge.z("pvr", 140), &just(0.05), 0.0));
        },
        weaker: None,
    },
    Claim {
        number: 17,
        text: "at load 1.2 PVR answers small and middling jobs as fast as any (tenths 1 to 8 by work), and makes the \
               largest tenth wait longer than SRTF",
        says: &[Says::Quote("figure 7", "only letting the largest jobs have their SLR increase")],
        note: Note::Words("Tenths are by work here. The paper's figure is over execution times of jobs."),
        compare: |judge| {
            for tenth in 1..=8 {
                for other in judge.others(&["pvr"]) {
                    judge.at_most(&judge.slr("pvr", 120, tenth), &judge.slr(&other, 120, tenth), 0.0);
                }
            }
            judge.below(&judge.slr("srtf", 120, 10), &judge.slr("pvr", 120, 10));
        },
        weaker: Some(Weaker {
            text: "within 0.05 of SRTF, EDF, P-SLR and PVDSQ in tenths 1 to 8",
            compare: |judge| {
                for tenth in 1..=8 {
                    for other in ["srtf", "edf", "p-slr", "pvdsq"] {
                        judge.at_most(&judge.slr("pvr", 120, tenth), &judge.slr(other, 120, tenth).plus(0.05), 0.0);
                    }
                }
            },
        }),
    },
    Claim {
        number: 18,
        text: "at load 1.4 the policies that obtain slightly more value than PVR (SRTF, PVDSQ) starve hugely more jobs",
        says: &[
            Says::Quote("", "hugely higher number of starved workflows"),
            Says::Quote("", "with slightly higher value"),
        ],
        note: Note::None,
        compare: |judge| {
            judge.bound("\"hugely\" is read as twice", |judge| {
                for other in ["srtf", "pvdsq"] {
                    judge.at_most(&judge.z("pvr", 140).times(2.0), &judge.z(other, 140), 0.0);
                }
            });
        },
        weaker: None,
    },
    Claim {
        number: 19,
        text: "from load 1 to 1.4 PV loses less value than EDF, P-SLR and LRTF",
        says: &[Says::Sense("", "PV falls less than EDF, P-SLR and LRTF")],
        note: Note::None,
        compare: |judge| {
            let fall = |policy| judge.p(policy, 100).minus(&judge.p(policy, 140));
            let falls = ["edf", "p-slr", "lrtf"].map(fall);
            let pv = fall("pv");
            falls.iter().for_each(|other| judge.below(&pv, other));
        },
        weaker: None,
    },
    Claim {
        number: 20,
        text: "up to load 1 the five best policies lie close together",
        says: &[Says::Sense("", "below saturation the best policies are close together")],
        note: Note::None,
        compare: |judge| {
            judge.bound("\"close together\" is read as 0.05 of all value", |judge| {
                for load in judge.loads(LOWEST, 100) {
                    let best = judge.best_first(&judge.policies(), load);
                    if let (Some(first), Some(fifth)) = (best.first(), best.get(4)) {
                        judge.at_most(&first.plus(-0.05), fifth, 0.0);
                    }
                }
            });
        },
        weaker: None,
    },
    Claim {
        number: 21,
        text: "at load 1.2 PVDSQ starves a larger share of the largest tenth by work than PVD",
        says: &[Says::Sense("figure 7", "PVDSQ makes the largest jobs starve more than PVD does")],
        note: Note::None,
        compare: |judge| judge.below(&judge.z_of("pvd", 120, 10), &judge.z_of("pvdsq", 120, 10)),
        weaker: None,
    },
    Claim {
        number: 22,
        text: "at load 1.2 PV starves fewer of the jobs the more work they have, from each tenth to the next",
        says: &[Says::Sense("figure 7", "PV favours the largest jobs")],
        note: Note::None,
        compare: |judge| {
            for tenth in 1..10 {
                judge.below(&judge.z_of("pv", 120, tenth + 1), &judge.z_of("pv", 120, tenth));
            }
        },
        weaker: Some(Weaker {
            text: "a smaller share of the largest tenth than of the smallest",
            compare: |judge| judge.below(&judge.z_of("pv", 120, 10), &judge.z_of("pv", 120, 1)),
        }),
    },
    Claim {
        number: 23,
        text: "at load 1.4 the jobs that PVR starves are the largest ones",
        says: &[Says::Quote("", "by starving the largest ones")],
        note: Note::Words(
            "Here the smallest starve: jobs of ten minutes in total have deadlines after minutes, and one long task \
             that holds its cores makes them miss these. The ranges of run times are ours (docs/market.md).",
        ),
        compare: |judge| {
            judge.show_ends("pvr", 140);
            for tenth in 1..10 {
                judge.at_most(&judge.z_of("pvr", 140, tenth), &judge.z_of("pvr", 140, 10), 0.0);
            }
            let starved = judge.z_of("pvr", 140, 10);
            judge.below(&just(0.0), &starved);
        },
        weaker: None,
    },
    Claim {
        number: 24,
        text: "at load 1.4 the jobs that SRTF starves are a few of the largest, those that PV starves the smallest",
        says: &[Says::Quote("", "a few of the largest")],
        note: Note::None,
        compare: |judge| {
            judge.show_ends("srtf", 140);
            for tenth in 1..10 {
                judge.at_most(&judge.z_of("srtf", 140, tenth), &judge.z_of("srtf", 140, 10), 0.0);
            }
            judge.below(&judge.z_of("pv", 140, 10), &judge.z_of("pv", 140, 1));
        },
        weaker: None,
    },
    Claim {
        number: 25,
        text: "P-SLR gives jobs of all sizes an equal SLR",
        says: &[Says::Quote("figure 7", "across the spectrum")],
        note: Note::None,
        compare: |judge| {
            judge.bound("\"equal\" is read as within a factor of 1.5 between any two tenths, at load 1.2", |judge| {
                let mut tenths: Vec<Number> = (1..=10).map(|tenth| judge.slr("p-slr", 120, tenth)).collect();
                few::sort_by(&mut tenths, |a, b| a.value.unwrap_or(0.0).total_cmp(&b.value.unwrap_or(0.0)));
                if let [least, .., most] = &tenths[..] {
                    judge.at_most(most, &least.times(1.5), 0.0);
                }
            });
        },
        weaker: None,
    },
];
