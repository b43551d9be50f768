//! Statements of the paper about its seven policies, as comparisons of numbers.

use super::{Asked, Axis, Metric, Outcome, Setting, USUAL};
use hansa_report::experiment::claims::{Claim, ClaimSource, Judge, Number};
use hansa_sim::systems::reservation::fit;

type Reservations<'r> = Judge<'r, Outcome>;

/// Numbers and comparisons that the claims below have in common.
trait ReservationNumbers {
    fn acceptance_number(&self, policy: &'static str, setting: Setting) -> Number;
    fn slowdown_number(&self, policy: &'static str, setting: Setting) -> Number;
    fn metric_number(&self, policy: &'static str, setting: Setting, metric: Metric) -> Number;
    fn requested_number(&self, what: &str, setting: Setting, of: fn(&Asked) -> f64) -> Number;
    fn expect_falling(&mut self, axis: Axis, number: impl Fn(&Self, Setting) -> Number);
    fn expect_alike(&mut self, axis: Axis, metric: Metric, pairs: &[(&'static str, &'static str)]);
    fn expect_unlike(&mut self, axis: Axis, metric: Metric, pairs: &[(&'static str, &'static str)]);
    fn figure_numbers(&self, axis: Axis, metric: Metric) -> Vec<Number>;
    fn slowdowns_rise(&mut self, axis: Axis);
    fn bend_number(&self, policy: &'static str) -> Number;
    fn expect_rising(&mut self, axis: Axis, number: impl Fn(&Self, Setting) -> Number);
}

impl ReservationNumbers for Reservations<'_> {
    fn acceptance_number(&self, policy: &'static str, setting: Setting) -> Number {
        self.metric_number(policy, setting, Metric::Acceptance)
    }

    fn slowdown_number(&self, policy: &'static str, setting: Setting) -> Number {
        self.metric_number(policy, setting, Metric::Slowdown)
    }

    fn metric_number(&self, policy: &'static str, setting: Setting, metric: Metric) -> Number {
        let samples = self.results.samples.get(&(policy, setting, metric)).map_or(&[][..], Vec::as_slice);
        let letter = metric.letter();
        Number::mean(format!("{letter}({policy}{})", setting_suffix(setting)), samples)
    }

    fn requested_number(&self, what: &str, setting: Setting, of: fn(&Asked) -> f64) -> Number {
        Number::mean(format!("{what}(asked{})", setting_suffix(setting)), &self.results.asked_samples(setting, of))
    }

    /// Compares: a number falls with each step of an axis.
    fn expect_falling(&mut self, axis: Axis, number: impl Fn(&Self, Setting) -> Number) {
        for pair in axis.settings().windows(2) {
            self.expect_below(number(self, pair[1]), number(self, pair[0]));
        }
    }

    /// Compares: the numbers of two policies are close at each value of an axis.
    fn expect_alike(&mut self, axis: Axis, metric: Metric, pairs: &[(&'static str, &'static str)]) {
        let figure = self.figure_numbers(axis, metric);
        for setting in axis.settings() {
            for (one, other) in pairs {
                let [one, other] = [*one, *other].map(|policy| self.metric_number(policy, setting, metric));
                self.close(&one, &other, &figure);
            }
        }
    }

    /// Compares: the numbers of two policies are not close at any value of an axis.
    fn expect_unlike(&mut self, axis: Axis, metric: Metric, pairs: &[(&'static str, &'static str)]) {
        let figure = self.figure_numbers(axis, metric);
        for setting in axis.settings() {
            for (one, other) in pairs {
                let [one, other] = [*one, *other].map(|policy| self.metric_number(policy, setting, metric));
                self.expect_apart(&one, &other, &figure);
            }
        }
    }

    /// All numbers of a figure.
    fn figure_numbers(&self, axis: Axis, metric: Metric) -> Vec<Number> {
        let settings = axis.settings();
        policy_labels()
            .flat_map(|policy| settings.iter().map(move |setting| self.metric_number(policy, *setting, metric)))
            .collect()
    }

    /// Compares: the slowdown of every policy rises with each step of an axis.
    fn slowdowns_rise(&mut self, axis: Axis) {
        for policy in policy_labels() {
            self.expect_rising(axis, |judge, setting| judge.slowdown_number(policy, setting));
        }
    }

    /// Distance of the acceptance at flexibility 4 from the line between 3 and 5.
    fn bend_number(&self, policy: &'static str) -> Number {
        let [_, _, three, four, five] = Axis::Flexibility.settings();
        let between = self.acceptance_number(policy, three).add(&self.acceptance_number(policy, five)).times(0.5);
        self.acceptance_number(policy, four).distance(&between).with_name(format!("bend({policy})"))
    }

    fn expect_rising(&mut self, axis: Axis, number: impl Fn(&Self, Setting) -> Number) {
        for pair in axis.settings().windows(2) {
            self.expect_below(number(self, pair[0]), number(self, pair[1]));
        }
    }
}

/// Policies with almost equal acceptance.
const ALIKE: [(&str, &str); 3] = [("PE_W", "Du_B"), ("PE_B", "Du_W"), ("PEDu_B", "PEDu_W")];

/// Policies whose acceptance increases almost linearly with flexibility.
const STABLE: [&str; 3] = ["PE_W", "Du_B", "PEDu_B"];

/// Deviation of a setting from the usual one, as text.
fn setting_suffix(setting: Setting) -> String {
    let Setting { umed, arrival, flexibility } = setting;
    let mut place = String::new();
    if arrival != USUAL.arrival {
        place.push_str(&format!(", A{}", f64::from(arrival) / 100.0));
    }
    if flexibility != USUAL.flexibility {
        place.push_str(&format!(", F{flexibility}"));
    }
    if place.is_empty() {
        place = format!(", U{umed}");
    }
    place
}

fn policy_labels() -> impl Iterator<Item = &'static str> {
    fit::ALL.iter().map(|fit| fit.label)
}

fn other_policies(but: &'static str) -> impl Iterator<Item = &'static str> {
    policy_labels().filter(move |policy| *policy != but)
}

pub(super) const CLAIMS: &[Claim<Outcome>] = &[
    Claim::new(
        "acceptance of every policy falls as requests grow (UMed 5 to 9) and as they come faster (arrival factor 0.5 \
         to 1.5)",
        &[ClaimSource::Sense("figures 2 and 4", "acceptance falls with UMed and with the arrival factor")],
        |judge| {
            for axis in [Axis::Umed, Axis::Arrival] {
                judge.separate_part(|judge| {
                    policy_labels().for_each(|policy| {
                        judge.expect_falling(axis, |judge, setting| judge.acceptance_number(policy, setting))
                    });
                });
            }
        },
    ),
    Claim::new(
        "by acceptance there are three groups of almost identical behaviour at every UMed, and likewise at every \
         arrival factor: PE_W and Du_B, PE_B and Du_W, PEDu_B and PEDu_W; PE_B and PE_W, and Du_B and Du_W, differ",
        &[
            ClaimSource::Quote("figure 2", "there are three groups of algorithm with almost identical behavior"),
            ClaimSource::Sense("figure 4", "the relative performance is similar to that of figure 2"),
        ],
        |judge| {
            for axis in [Axis::Umed, Axis::Arrival] {
                judge.separate_part(|judge| judge.expect_alike(axis, Metric::Acceptance, &ALIKE));
                judge.separate_part(|judge| {
                    judge.expect_unlike(axis, Metric::Acceptance, &[("PE_B", "PE_W"), ("Du_B", "Du_W")])
                });
            }
        },
    ),
    Claim::new(
        "at every UMed PE_W and Du_B accept more than PEDu_B and PEDu_W, these more than FF, and PE_B and Du_W do not \
         outperform FF",
        &[ClaimSource::Quote("figure 2", "all other four strategies outperform FF")],
        |judge| {
            for setting in Axis::Umed.settings() {
                for middle in ["PEDu_B", "PEDu_W"] {
                    for best in ["PE_W", "Du_B"] {
                        judge.expect_below(
                            judge.acceptance_number(middle, setting),
                            judge.acceptance_number(best, setting),
                        );
                    }
                    judge
                        .expect_below(judge.acceptance_number("FF", setting), judge.acceptance_number(middle, setting));
                }
            }
            let figure = judge.figure_numbers(Axis::Umed, Metric::Acceptance);
            judge.separate_part(|judge| {
                for (setting, last) in Axis::Umed.settings().into_iter().flat_map(|at| [(at, "PE_B"), (at, "Du_W")]) {
                    judge.expect_not_above(
                        judge.acceptance_number(last, setting),
                        judge.acceptance_number("FF", setting),
                        &figure,
                    );
                }
            });
        },
    ),
    Claim::new(
        "PE_W accepts most at every UMed, arrival factor and flexibility; by UMed and arrival factor Du_B is almost \
         identical (claim 2)",
        &[
            ClaimSource::Quote("figure 2", "clearly become the best strategies for all UMed values"),
            ClaimSource::Quote("figure 6", "become the best algorithm again with the highest acceptance rate"),
        ],
        |judge| {
            for axis in Axis::ALL {
                judge.separate_part(|judge| {
                    for other in other_policies("PE_W").filter(|other| *other != "Du_B" || axis == Axis::Flexibility) {
                        for setting in axis.settings() {
                            judge.expect_below(
                                judge.acceptance_number(other, setting),
                                judge.acceptance_number("PE_W", setting),
                            );
                        }
                    }
                });
            }
        },
    ),
    Claim::new(
        "the slowdown of FF is the lowest everywhere; that of every policy rises with arrival factor and flexibility, \
         and in general with UMed",
        &[
            ClaimSource::Quote("figure 3", "the average slowdown of all strategies increase in general"),
            ClaimSource::Sense(
                "figures 5 and 7",
                "slowdowns rise along each axis, and that of FF is always the smallest",
            ),
        ],
        |judge| {
            for setting in super::all_settings() {
                for other in other_policies("FF") {
                    judge.expect_below(judge.slowdown_number("FF", setting), judge.slowdown_number(other, setting));
                }
            }
            for axis in [Axis::Arrival, Axis::Flexibility] {
                judge.separate_part(|judge| judge.slowdowns_rise(axis));
            }
            judge.compare_generally(|judge| judge.slowdowns_rise(Axis::Umed));
        },
    ),
    Claim::new(
        "at every UMed, and likewise at every arrival factor, the slowdown of PE_W is similar to that of Du_B, and \
         that of PE_B to that of Du_W, but those of PEDu_B and PEDu_W differ",
        &[ClaimSource::Quote("figure 3", "are surprisingly different")],
        |judge| {
            for axis in [Axis::Umed, Axis::Arrival] {
                judge.separate_part(|judge| judge.expect_alike(axis, Metric::Slowdown, &ALIKE[..2]));
                judge.separate_part(|judge| judge.expect_unlike(axis, Metric::Slowdown, &ALIKE[2..]));
            }
        },
    )
    .with_note(
        "Decided by the end of a rectangle of free nodes that has none: PEDu_B and PEDu_W differ if all rectangles end \
         at the deadline at the latest.",
    ),
    Claim::new(
        "with more flexibility PE_W, Du_B and PEDu_B accept more almost linearly, so at every step; FF, PE_B, Du_W and \
         PEDu_W are not stable at {4,4}: there they are further off the line between their neighbours",
        &[
            ClaimSource::Quote("figure 6", "increase almost linearly"),
            ClaimSource::Quote("figure 6", "other four strategies are not stable"),
        ],
        |judge| {
            for policy in STABLE {
                judge.expect_rising(Axis::Flexibility, |judge, setting| judge.acceptance_number(policy, setting));
            }
            judge.separate_part(|judge| {
                for policy in ["FF", "PE_B", "Du_W", "PEDu_W"] {
                    for stable in STABLE {
                        judge.expect_below(judge.bend_number(stable), judge.bend_number(policy));
                    }
                }
            });
        },
    )
    .with_note(
        "Decided by the run times, whose constants the paper takes from an article: with those of the general model 41 \
         % of the requests last 60 s and 33 % 10,800 s, the ends of the paper's classes, and nothing between. With run \
         times of all classes the three policies accept more at every step.",
    ),
    Claim::new(
        "neither nodes nor duration, neither best nor worst fit is better as such: PE_W accepts more than PE_B, but \
         Du_B more than Du_W",
        &[ClaimSource::Sense("", "one cannot rank node-based against duration-based, or best against worst fit")],
        |judge| {
            for setting in Axis::Umed.settings() {
                judge.expect_below(judge.acceptance_number("PE_B", setting), judge.acceptance_number("PE_W", setting));
                judge.expect_below(judge.acceptance_number("Du_W", setting), judge.acceptance_number("Du_B", setting));
            }
        },
    ),
    Claim::new(
        "requests grow with UMed, both in nodes and in duration",
        &[ClaimSource::Sense("", "mean size and duration of the requests grow with UMed")],
        |judge| {
            judge.expect_rising(Axis::Umed, |judge, setting| {
                judge.requested_number("nodes", setting, |asked| asked.nodes)
            });
            judge.expect_rising(Axis::Umed, |judge, setting| {
                judge.requested_number("seconds", setting, |asked| asked.seconds)
            });
        },
    ),
];
