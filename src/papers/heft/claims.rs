//! Conclusions of the paper, each under both laws of sharing.

use super::published::{BEST, ORIGINAL, PUBLISHED, STRETCHED};
use super::{Example, Group, Means, Over, Results};
use hansa_report::experiment::claims::{Claim, ClaimSource, Judge, Number};
use hansa_sim::systems::heft::Cycle;
use hansa_sim::systems::heft::paper::Law;

/// Numbers and comparisons that the claims below have in common.
trait HeftNumbers {
    fn mean_number(&self, what: &str, law: &'static str, group: Group, of: impl Fn(&Means) -> f64) -> Number;
    fn mean_over(&self, over: Over, what: &str, law: &'static str, group: Group, of: impl Fn(&Means) -> f64) -> Number;
    fn increase_number(&self, law: &'static str, group: Group) -> Number;
    fn decrease_number(&self, law: &'static str, group: Group) -> Number;
    fn iteration_number(&self, law: &'static str, group: Group) -> Number;
    fn example_number(&self, what: &str, law: &'static str, of: impl Fn(&Example) -> Option<f64>) -> Number;
    fn expect_equal(&mut self, one: &Number, other: f64);
    fn show_mean(&mut self, what: &str, group: Group, paper: f64, of: fn(&Means) -> f64);
    fn show_groups(&mut self, name: &str, all: &[MeanNumber]);
    fn expect_growth(&mut self, name: &'static str, groups: &[&'static str], all: &[MeanNumber]);
}

/// A number that is compared between groups: its name, and its value in the means of a group.
type MeanNumber = (&'static str, fn(&Means) -> f64);

const INCREASE: MeanNumber = ("increase", Means::increase);
const DECREASE: MeanNumber = ("decrease", Means::decrease);
const ITERATION: MeanNumber = ("iteration", |means| means.iteration);

impl HeftNumbers for Judge<'_, Results> {
    fn mean_number(&self, what: &str, law: &'static str, group: Group, of: impl Fn(&Means) -> f64) -> Number {
        self.mean_over(Over::All, what, law, group, of)
    }

    fn mean_over(&self, over: Over, what: &str, law: &'static str, group: Group, of: impl Fn(&Means) -> f64) -> Number {
        let value = self.results.means.get(&(law, group, over)).map(of);
        let (name, which) = group;
        let runs = if over == Over::All { "" } else { ", stretched runs" };
        let name = match which.is_empty() {
            true => format!("{what}({law}{runs})"),
            false => format!("{what}({law}, {name} {which}{runs})"),
        };
        Number::new(name, value)
    }

    fn increase_number(&self, law: &'static str, group: Group) -> Number {
        self.mean_number("increase", law, group, Means::increase)
    }

    fn decrease_number(&self, law: &'static str, group: Group) -> Number {
        self.mean_number("decrease", law, group, Means::decrease)
    }

    fn iteration_number(&self, law: &'static str, group: Group) -> Number {
        self.mean_number("iteration", law, group, |means| means.iteration)
    }

    fn example_number(&self, what: &str, law: &'static str, of: impl Fn(&Example) -> Option<f64>) -> Number {
        Number::new(format!("{what}({law}, ten tasks)"), self.results.example.get(law).and_then(of))
    }

    fn expect_equal(&mut self, one: &Number, other: f64) {
        self.expect_at_most(one, other);
        self.expect_at_most(other, one);
    }

    /// Shows both means beside the paper's number.
    fn show_mean(&mut self, what: &str, group: Group, paper: f64, of: fn(&Means) -> f64) {
        for (law, over) in law_names().into_iter().flat_map(|law| Over::ALL.map(|over| (law, over))) {
            let ours = self.mean_over(over, what, law, group, of);
            self.show_number(&ours, format!("{paper:.4}"));
        }
    }

    /// Shows the means of all runs of a group beside the paper's, of its tables 4 to 8.
    fn show_groups(&mut self, name: &str, all: &[MeanNumber]) {
        for (what, of) in all {
            for line in PUBLISHED.iter().filter(|line| line.group.0 == name) {
                let (printed, unit) = match *what {
                    "increase" => (line.increase, 100.0),
                    "decrease" => (line.decrease, 100.0),
                    _ => (line.iteration, 1.0),
                };
                let paper = printed.iter().sum::<f64>() / printed.len() as f64 / unit;
                for law in law_names() {
                    self.show_number(&self.mean_number(what, law, line.group, of), format!("{paper:.4}"));
                }
            }
        }
    }

    /// Compares: numbers grow from each group to the next.
    fn expect_growth(&mut self, name: &'static str, groups: &[&'static str], all: &[MeanNumber]) {
        for (law, pair) in law_names().into_iter().flat_map(|law| groups.windows(2).map(move |pair| (law, pair))) {
            for (what, of) in all {
                let [low, high] = [pair[0], pair[1]].map(|which| self.mean_number(what, law, (name, which), of));
                self.expect_below(low, high);
            }
        }
    }
}

const ALL: Group = ("all", "");

fn law_names() -> [&'static str; 2] {
    Law::ALL.map(|(name, _)| name)
}

/// Claims. `increase` is the excess of the first plan's realised time over its planned time, `decrease` the part of
/// that time that the best of 50 rounds saves, both of means; `iteration` is the mean number of the best round.
pub const CLAIMS: &[Claim<Results>] = &[
    Claim::new(
        "sharing stretches the plans of HEFT considerably",
        &[ClaimSource::Sense("table 3", "after stretching, plans take 29.65 % longer")],
        |judge| {
            judge.show_mean("increase", ALL, STRETCHED / ORIGINAL - 1.0, Means::increase);
            judge.with_bound("\"considerably\" is read as a fifth", |judge| {
                for law in law_names() {
                    judge.expect_at_most(0.2, judge.increase_number(law, ALL));
                }
            });
        },
    ),
    Claim::new(
        "improvement takes much of the increase back (80 % in the paper)",
        &[ClaimSource::Sense("table 3", "the best of 50 rounds takes 18.31 % less than the stretched plan")],
        |judge| {
            let recovered = (STRETCHED - BEST) / (STRETCHED - ORIGINAL);
            judge.show_mean("part of the increase taken back", ALL, recovered, Means::recovered);
            judge.show_mean("decrease", ALL, 1.0 - BEST / STRETCHED, Means::decrease);
            judge.with_bound("\"much\" is read as half", |judge| {
                for law in law_names() {
                    let recovered = judge.mean_number("part of the increase taken back", law, ALL, Means::recovered);
                    judge.expect_at_most(0.5, &recovered);
                }
            });
        },
    ),
    Claim::new(
        "the further edges jump, the larger the increase and the decrease",
        &[ClaimSource::Sense("table 8", "increase and decrease grow with jump")],
        |judge| {
            judge.show_groups("jump", &[INCREASE, DECREASE]);
            judge.expect_growth("jump", &["1", "2", "4"], &[INCREASE, DECREASE]);
        },
    ),
    Claim::new(
        "wide graphs (fat 0.8) are stretched far more than any others, and gain most from improvement",
        &[ClaimSource::Sense("table 5", "94.17 % at fat 0.8, against 23.31 % at 0.1 and 11.68 % at 0.2")],
        |judge| {
            judge.show_groups("fat", &[INCREASE, DECREASE]);
            for law in law_names() {
                for other in ["0.1", "0.2"] {
                    let twice = judge.increase_number(law, ("fat", other)).times(2.0);
                    judge.with_bound("\"far more\" is read as twice", |judge| {
                        judge.expect_at_most(&twice, judge.increase_number(law, ("fat", "0.8")));
                    });
                    judge.expect_below(
                        judge.decrease_number(law, ("fat", other)),
                        judge.decrease_number(law, ("fat", "0.8")),
                    );
                }
            }
        },
    ),
    Claim::new(
        "the more tasks, the larger the decrease, and the later the best round",
        &[ClaimSource::Sense("table 4", "decrease and iteration grow with the number of tasks")],
        |judge| {
            judge.show_groups("n", &[DECREASE, ITERATION]);
            judge.expect_growth("n", &["10", "20", "50"], &[DECREASE, ITERATION]);
        },
    ),
    Claim::new(
        "results are almost identical for both regularities",
        &[
            ClaimSource::Quote("section 6.5", "identical for both values of the regularity parameter"),
            ClaimSource::Sense("table 6", "increases of 31.04 and 28.36 %, decreases of 18.67 and 18.07 %"),
        ],
        |judge| almost_identical(judge, "regularity"),
    ),
    Claim::new(
        "results are almost identical for both densities",
        &[
            ClaimSource::Quote("section 6.5", "almost identical for both values of the density parameter"),
            ClaimSource::Sense("table 7", "increases of 29.70 and 29.71 %, decreases of 18.24 and 18.47 %"),
        ],
        |judge| almost_identical(judge, "density"),
    )
    .with_note(
        "In the documented process of the generator a denser graph has more edges, so more data moves and more of it \
         meets. The paper's equal numbers would need edges that do not depend on density. Its tables contradict each \
         other here: each graph has one of the two densities, so the increase of all lies between 29.70 and 29.71 %, \
         and table 3 makes it 29.65 %.",
    ),
    Claim::new(
        "plans are stretched by more than 23 % with every number of tasks",
        &[ClaimSource::Sense("table 4", "23.98, 32.47 and 31.19 % for 10, 20 and 50 tasks")],
        |judge| {
            judge.show_groups("n", &[INCREASE]);
            for law in law_names() {
                for tasks in ["10", "20", "50"] {
                    judge.expect_below(0.23, judge.increase_number(law, ("n", tasks)));
                }
            }
        },
    )
    .with_note(
        "Over a full grid, small graphs have few transfers that could meet. The paper's groups of sizes are not \
         equally large: equal weights of table 4 give neither the increase of table 3 nor its decrease. No choice that \
         was tried gives the numbers of table 4.",
    ),
    Claim::new(
        "the best round is the 7th of 50 on average",
        &[ClaimSource::Sense("table 3", "the mean number of the best round is 7.099679")],
        |judge| {
            judge.show_mean("iteration", ALL, super::published::ITERATION, |means| means.iteration);
            for law in law_names() {
                judge.expect_agreement(judge.iteration_number(law, ALL), super::published::ITERATION);
            }
        },
    )
    .with_note(
        "With costs that are kept from round to round most plans are best after the first or second one; with costs \
         that are reset the best round is later, and less is taken back.",
    ),
    Claim::new(
        "the further edges jump, the later the best round",
        &[ClaimSource::Sense("table 8", "iteration grows with jump")],
        |judge| {
            judge.show_groups("jump", &[ITERATION]);
            judge.expect_growth("jump", &["1", "2", "4"], &[ITERATION]);
        },
    ),
    Claim::new(
        "in every experiment plans repeat in a cycle",
        &[
            ClaimSource::Quote(
                "section 6.2",
                "a pattern of 8 results from the 16th iteration started repeating itself",
            ),
            ClaimSource::Quote("section 6.2", "This behavior was also observed in all other experiments"),
        ],
        |judge| {
            for law in law_names() {
                let cycles = judge.mean_number("cycles", law, ALL, |means| means.cycles);
                judge.show_number(&cycles, 1);
                judge.expect_at_most(1.0, &cycles);
            }
        },
    )
    .with_note(
        "Within 50 rounds, as in the paper. If costs are kept from round to round all plans come again with costs from \
         1 to 50; if they are reset some cycles are longer than 1,000 rounds.",
    ),
    Claim::new(
        "wide graphs (fat 0.8) take almost twice as long as planned",
        &[ClaimSource::Quote("table 5", "almost twice")],
        |judge| {
            judge.show_mean("increase", ("fat", "0.8"), 0.9417, Means::increase);
            for law in law_names() {
                judge.expect_almost(judge.increase_number(law, ("fat", "0.8")).plus(1.0), 2.0);
            }
        },
    )
    .with_note(
        "The paper prints neither the ranges of its costs nor how many graphs of each size it drew: with the sizes \
         that its tables 3 and 4 imply, the increase is about 94 % under equal sharing.",
    ),
    Claim::new(
        "the ten tasks of the second example, planned in 80, take 104; the 5th round is the best, and plans come again \
         from the 16th on, every 8 rounds",
        &[ClaimSource::Sense(
            "figure 11",
            "104 after stretching, 91 after the 5th round, a pattern of 8 from the 16th",
        )],
        |judge| {
            for law in law_names() {
                let stretched = judge.example_number("stretched", law, |example| Some(example.stretched));
                let shortest = judge.example_number("best makespan", law, |example| {
                    example.rounds.iter().copied().min_by(f64::total_cmp)
                });
                judge.show_number(&shortest, 91);
                let best = judge.example_number("iteration", law, |example| Some(example.best as f64));
                // No cycle within 50 rounds is as far from the paper's as possible.
                let cycle = |of: fn(&Cycle) -> usize| {
                    move |example: &Example| {
                        Some(example.cycle.as_ref().map_or(f64::INFINITY, |cycle| of(cycle) as f64))
                    }
                };
                let first = judge.example_number("first of the cycle", law, cycle(|cycle| cycle.first));
                let period = judge.example_number("rounds of the cycle", law, cycle(|cycle| cycle.period));
                for (number, paper) in [(stretched, 104.0), (best, 5.0), (first, 16.0), (period, 8.0)] {
                    judge.show_number(&number, paper);
                    judge.expect_equal(&number, paper);
                }
            }
        },
    )
    .with_note(
        "The plan of 80 is the paper's. The other numbers would need rules of sharing and of tie-breaking that the \
         paper does not give: none of 60 combinations of wiring, costs and updates gives 104, and 91 at the 5th round \
         with a period of 8.",
    ),
    Claim::new(
        "narrow graphs (fat 0.1) are stretched more than those of fat 0.2: by 23 %",
        &[ClaimSource::Sense("table 5", "an increase of 23.31 % at fat 0.1, and of 11.68 % at 0.2")],
        |judge| {
            judge.show_groups("fat", &[INCREASE]);
            judge.expect_growth("fat", &["0.2", "0.1"], &[INCREASE]);
        },
    )
    .with_note(
        "A narrow graph of this generator has about one task per level, so its transfers follow each other and hardly \
         meet. The paper, too, calls such graphs chains; no choice that was tried stretches them by 23 %.",
    ),
    Claim::new(
        "the averages over all runs: 29.65 % longer, 18.31 % saved",
        &[ClaimSource::Sense("table 3", "349.191711 planned, 452.72049 stretched, 369.807617 at best")],
        |judge| {
            let increase = STRETCHED / ORIGINAL - 1.0;
            let decrease = 1.0 - BEST / STRETCHED;
            judge.show_mean("planned", ALL, ORIGINAL, |means| means.original);
            judge.show_mean("increase", ALL, increase, Means::increase);
            judge.show_mean("decrease", ALL, decrease, Means::decrease);
            for law in law_names() {
                judge.expect_agreement(judge.increase_number(law, ALL), increase);
                judge.expect_agreement(judge.decrease_number(law, ALL), decrease);
            }
        },
    )
    .with_note(
        "7.099679 rounds times 25,920 runs is no whole number, so the paper did not average over all runs with equal \
         weight. With costs from 1 to 50 the full form has 29.75 % and 17.82 % under equal sharing.",
    ),
];

/// Compares the groups of a parameter, which are close beside the range of all groups of tables 4 to 8.
fn almost_identical(judge: &mut Judge<'_, Results>, name: &'static str) {
    judge.show_groups(name, &[INCREASE, DECREASE]);
    for law in law_names() {
        let [low, high] = ["0.2", "0.8"].map(|which| (name, which));
        let increases: Vec<Number> = PUBLISHED.iter().map(|line| judge.increase_number(law, line.group)).collect();
        let decreases: Vec<Number> = PUBLISHED.iter().map(|line| judge.decrease_number(law, line.group)).collect();
        judge.close(judge.increase_number(law, low), judge.increase_number(law, high), &increases);
        judge.close(judge.decrease_number(law, low), judge.decrease_number(law, high), &decreases);
    }
}
