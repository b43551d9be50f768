//! Conclusions of the paper, as comparisons of numbers.

use super::published::{LIMITS, TABLE_2, TABLE_5};
use super::traces::worst_case;
use super::{BEST, Group, Metric, Outcome, PERIODS, TWIN, with_period};
use crate::experiment::claims::{Claim, Finding, Judge, Note, Number, Ours, just};
use crate::systems::dfrs::{Algorithm, bound, bounded_stretch, run};

impl Judge<'_, Outcome> {
    fn mean(&self, letter: &str, group: Group, algorithm: &str, metric: Metric) -> Number {
        let samples = self.results.samples(group, algorithm, metric);
        Number::mean(format!("{letter}({algorithm}, {})", group.words()), &samples)
    }

    fn d(&self, group: Group, algorithm: &str) -> Number {
        self.mean("D", group, algorithm, Metric::Degradation)
    }

    fn u(&self, group: Group, algorithm: &str) -> Number {
        self.mean("U", group, algorithm, Metric::Underutilisation)
    }

    fn worst(&self, group: Group, algorithm: &str) -> Number {
        let value = self.results.spread(group, algorithm, Metric::Degradation).map(|spread| spread.max);
        Number::new(format!("max D({algorithm}, {})", group.words()), value)
    }

    /// Compares: `a` is at most `b`, or above it by no more than this fraction of it.
    fn at_most_nearly(&mut self, a: &Number, b: &Number, part: f64) {
        self.at_most(a, b, b.value.map_or(0.0, |b| part * b));
    }

    fn within(&mut self, low: f64, number: &Number, high: f64) {
        self.at_most(&just(low), number, 0.0);
        self.at_most(number, &just(high), 0.0);
    }

    /// Compares underutilisation: at the usual period it exceeds that of EASY, and it falls up to 3,000 s.
    fn falls_with_the_period(&mut self, group: Group) {
        self.below(&self.u(group, "EASY"), &self.u(group, BEST));
        let falling: Vec<Number> = PERIODS[..4].iter().map(|period| self.u(group, &with_period(*period))).collect();
        falling.windows(2).for_each(|pair| self.below(&pair[1], &pair[0]));
    }

    fn apart_by_at_most(&mut self, a: &Number, b: &Number, part: f64) {
        self.at_most(&a.distance(b), &b.times(part), 0.0);
    }
}

/// Composition of the mean of `GreedyP *` where it does not gain enough.
fn tails(results: &Outcome, finding: &Finding) -> Vec<String> {
    let tail = |group: Group| {
        let [queue, forced] =
            ["Greedy */opt=min", "GreedyP */opt=min"].map(|name| results.samples(group, name, Metric::Degradation));
        let worst = forced.iter().copied().max_by(f64::total_cmp)?;
        let share = 100.0 * worst / forced.iter().sum::<f64>();
        let mut gains: Vec<f64> = queue.iter().zip(&forced).map(|(queue, forced)| queue / forced).collect();
        gains.sort_unstable_by(f64::total_cmp);
        let enough = gains.iter().filter(|gain| **gain >= 20.0).count();
        Some(format!(
            "On {} traces, one of {} makes {share:.0} % of the mean of GreedyP *: a job as wide as the cluster that \
             nearly fills its memory starves until all others are gone. On {enough} of the traces the gain is at least \
             20 times, and {:.0} times on the median one.",
            group.words(),
            forced.len(),
            gains[gains.len() / 2]
        ))
    };
    let failing = |group: &Group| finding.fails(&format!("D(Greedy */opt=min, {})", group.words()));
    Group::ALL.into_iter().filter(failing).filter_map(tail).collect()
}

/// `D` is the mean degradation from bound, `U` the mean normalised underutilisation.
pub(super) const CLAIMS: &[Claim<Outcome>] = &[
    Claim {
        number: 1,
        text: "no run comes below the bound, and EASY degrades no more than FCFS",
        note: Note::None,
        compare: |judge| {
            let below = judge.results.all().filter(|row| row.stretch < row.bound.lo).count();
            let runs = Number::new("runs below the bound".to_owned(), Some(below as f64));
            judge.at_most(&runs, &just(0.0), 0.0);
            for group in Group::ALL {
                judge.at_most(&judge.d(group, "EASY"), &judge.d(group, "FCFS"), 0.0);
            }
        },
        ours: Ours::Nothing,
    },
    Claim {
        number: 2,
        text: "queues are at least two orders of magnitude worse than the best algorithm",
        note: Note::None,
        compare: |judge| {
            for group in Group::ALL {
                for queue in ["EASY", "FCFS"] {
                    judge.at_most(&judge.d(group, BEST).times(100.0), &judge.d(group, queue), 0.0);
                }
            }
        },
        ours: Ours::Nothing,
    },
    Claim {
        number: 3,
        text: "the best algorithm stays within 2.5 to 12 times the bound: 2 to 5 at load 0.1, 4 to 12 at load 0.9; \
               whether it moves jobs for newcomers hardly matters (10 %)",
        note: Note::None,
        compare: |judge| {
            for group in Group::ALL {
                judge.within(2.5, &judge.d(group, BEST), 12.0);
                judge.apart_by_at_most(&judge.d(group, TWIN), &judge.d(group, BEST), 0.1);
            }
            judge.within(2.0, &judge.d(Group::Load(1), BEST), 5.0);
            judge.within(4.0, &judge.d(Group::Load(9), BEST), 12.0);
        },
        ours: Ours::Bounds,
    },
    Claim {
        number: 4,
        text: "no other algorithm of table 2 degrades less than the best on generated traces (5 % are allowed)",
        note: Note::None,
        compare: |judge| {
            for group in Group::SYNTHETIC {
                for (other, _) in TABLE_2.into_iter().filter(|row| row.0 != BEST) {
                    judge.at_most_nearly(&judge.d(group, BEST), &judge.d(group, other), 0.05);
                }
            }
        },
        ours: Ours::Nothing,
    },
    Claim {
        number: 5,
        text: "admitting every arriving job pays off: Greedy * is at least 20 times worse than GreedyP *, Greedy/per a \
               tenth worse than GreedyP/per; moving instead of pausing adds little (10 %)",
        note: Note::Of(tails),
        compare: |judge| {
            for group in Group::ALL {
                let forced = judge.d(group, "GreedyP */opt=min");
                judge.at_most(&forced.times(20.0), &judge.d(group, "Greedy */opt=min"), 0.0);
                let forced = judge.d(group, "GreedyP/per/opt=min");
                judge.at_most(&forced.times(1.1), &judge.d(group, "Greedy/per/opt=min"), 0.0);
                judge.apart_by_at_most(&judge.d(group, "GreedyPM/per/opt=min"), &forced, 0.1);
            }
        },
        ours: Ours::Bounds,
    },
    Claim {
        number: 6,
        text: "a grace period pays off: GreedyPM */per is at least 1.8 times worse without one, MCB8 * 4 times",
        note: Note::None,
        compare: |judge| {
            for group in Group::ALL {
                judge.at_most(&judge.d(group, BEST).times(1.8), &judge.d(group, "GreedyPM */per/opt=min"), 0.0);
                let with = judge.d(group, "MCB8 */opt=min/minvt=600");
                judge.at_most(&with.times(4.0), &judge.d(group, "MCB8 */opt=min"), 0.0);
            }
        },
        ours: Ours::Bounds,
    },
    Claim {
        number: 7,
        text: "repacking all jobs every period tames the worst traces: that of GreedyPM * is at least 3 times as bad \
               as that of GreedyPM */per, on generated traces",
        note: Note::None,
        compare: |judge| {
            for group in Group::SYNTHETIC {
                let tamed = judge.worst(group, "GreedyPM */per/opt=min");
                judge.at_most(&tamed.times(3.0), &judge.worst(group, "GreedyPM */opt=min"), 0.0);
            }
        },
        ours: Ours::Bounds,
    },
    Claim {
        number: 8,
        text: "acting at ticks only is not enough: /per is at least 3 times worse than the best; optimising stretch \
               instead of yield, and a grace period, change it by less than 3 %",
        note: Note::None,
        compare: |judge| {
            for group in Group::ALL {
                let graced = judge.d(group, "/per/opt=min/minvt=600");
                let per = judge.d(group, "/per/opt=min");
                judge.at_most(&judge.d(group, BEST).times(3.0), &graced, 0.0);
                judge.apart_by_at_most(&judge.d(group, "/stretch-per/opt=max"), &per, 0.03);
                judge.apart_by_at_most(&graced, &per, 0.03);
            }
        },
        ours: Ours::Bounds,
    },
    Claim {
        number: 9,
        text: "opt=min is never worse than opt=avg, and minvt beats minft (7 % are allowed)",
        note: Note::Words(
            "The paper's own table 5 has 25.1 against 23.6 for MCB8 */per/minft=600, so \"never\" is too strong.",
        ),
        compare: |judge| {
            let group = judge.results.of_table_5();
            let mut compare = |better: &str, worse: &str| {
                let number = |name: &str, other: &str| {
                    let samples = judge.results.beside(group, name, other);
                    Number::mean(format!("D({name}, {})", group.words()), &samples)
                };
                let (better, worse) = (number(better, worse), number(worse, better));
                judge.at_most_nearly(&better, &worse, 0.07);
            };
            for (family, _, published) in TABLE_5.iter().filter(|row| row.1 == "min") {
                let limits = || LIMITS.iter().zip(published).filter(|limit| limit.1.is_some()).map(|limit| limit.0);
                for limit in limits() {
                    compare(&format!("{family}/opt=min{limit}"), &format!("{family}/opt=avg{limit}"));
                }
                for seconds in limits().filter_map(|limit| limit.strip_prefix("/minvt=")) {
                    compare(&format!("{family}/opt=min/minvt={seconds}"), &format!("{family}/opt=min/minft={seconds}"));
                }
            }
        },
        ours: Ours::Nothing,
    },
    Claim {
        number: 10,
        text: "the price is small: at high load the best algorithm and its twin move below 0.8 GB/s (at most 3), with \
               fewer than 40 pauses and 65 moves an hour, 6 and 7.5 a job; MCB8 * makes over 100 moves an hour; queues \
               and Greedy * never pause or move, GreedyP * never moves",
        note: Note::None,
        compare: |judge| {
            for name in [BEST, TWIN] {
                let both = |of: fn(super::Spread) -> f64| {
                    let bandwidths = [Metric::PauseBandwidth, Metric::MoveBandwidth];
                    let [paused, moved] =
                        bandwidths.map(|metric| judge.results.spread(Group::High, name, metric).map(of));
                    Some(paused? + moved?)
                };
                let (mean, max) = (both(|spread| spread.mean), both(|spread| spread.max));
                judge.below(&Number::new(format!("mean GB/s of {name}"), mean), &just(0.8));
                judge.below(&Number::new(format!("highest GB/s of {name}"), max), &just(3.0));
                let limits = [("pauses/h", 40.0), ("moves/h", 65.0), ("pauses/job", 6.0), ("moves/job", 7.5)];
                for (metric, (letter, most)) in Metric::MOVES.into_iter().skip(2).zip(limits) {
                    judge.below(&judge.mean(letter, Group::High, name, metric), &just(most));
                }
            }
            judge.below(&just(100.0), &judge.mean("moves/h", Group::High, "MCB8 */opt=min", Metric::MovesAnHour));
            for (names, metric) in [
                (&["FCFS", "EASY", "Greedy */opt=min"][..], Metric::PausesAJob),
                (&["FCFS", "EASY", "Greedy */opt=min", "GreedyP */opt=min"][..], Metric::MovesAJob),
            ] {
                for name in names {
                    for group in Group::ALL {
                        judge.at_most(&judge.mean("moved", group, name, metric), &just(0.0), 0.0);
                    }
                }
            }
        },
        ours: Ours::Bounds,
    },
    Claim {
        number: 11,
        text: "with the default period more stays unused than under EASY; the longer the period the less, and on \
               generated traces from 900 s on less than under EASY (1.3 times as much is allowed, from 3,000 s on); on \
               HPC2N 0.08 to 0.16 at 6,000 s",
        note: Note::None,
        compare: |judge| {
            for group in Group::ALL {
                judge.falls_with_the_period(group);
            }
            for group in Group::SYNTHETIC {
                for period in &PERIODS[3..] {
                    judge.below(&judge.u(group, &with_period(*period)), &judge.u(group, "EASY").times(1.3));
                }
            }
            judge.within(0.08, &judge.u(Group::Weeks, &with_period(6_000)), 0.16);
        },
        ours: Ours::Slack(|judge| {
            Group::ALL.into_iter().for_each(|group| judge.falls_with_the_period(group));
            for group in Group::SYNTHETIC {
                for period in &PERIODS[1..] {
                    judge.below(&judge.u(group, &with_period(*period)), &judge.u(group, "EASY"));
                }
            }
            judge.within(0.08, &judge.u(Group::Weeks, &with_period(6_000)), 0.16);
        }),
    },
    Claim {
        number: 12,
        text: "a period 20 times as long degrades less than 1.5 times as much on unscaled traces, twice on HPC2N, 3 \
               times on scaled ones (3 times is allowed for all)",
        note: Note::None,
        compare: |judge| {
            for group in Group::ALL {
                judge.below(&judge.d(group, &with_period(12_000)), &judge.d(group, BEST).times(3.0));
            }
        },
        ours: Ours::Slack(|judge| {
            for (group, times) in Group::ALL.into_iter().zip([2.0, 1.5, 3.0]) {
                judge.below(&judge.d(group, &with_period(12_000)), &judge.d(group, BEST).times(times));
            }
        }),
    },
    Claim {
        number: 13,
        text: "sharing a node equally stretches nobody further than there are jobs, and there are jobs of which the \
               last is, while the bound is 2 + 1/2 + ... + 1/(k-1)",
        note: Note::None,
        compare: |judge| {
            let greedy = Algorithm::parse("Greedy */opt=min").expect("a name of the paper's");
            for k in [4, 6, 9] {
                let jobs = worst_case(k);
                let ends =
                    greedy.fractional().map(|rules| run(*rules, 1, &jobs, |_, _, _| {}).ends).unwrap_or_default();
                let stretches = jobs
                    .iter()
                    .zip(ends)
                    .filter_map(|(job, end)| Some(bounded_stretch(end? - job.submit, job.runtime)));
                let worst = Number::new(format!("worst stretch of {k}"), stretches.max_by(f64::total_cmp));
                let expected = 2.0 + (2..k).map(|i| 1.0 / f64::from(i)).sum::<f64>();
                let found = Number::new(format!("bound of {k}"), Some(bound(1, &jobs).hi));
                // Ends are whole microseconds, and the bound is known to a thousandth.
                judge.at_most(&worst.distance(&just(f64::from(k))), &just(1e-6), 0.0);
                judge.at_most(&found.distance(&just(expected)), &just(1e-3 * expected), 0.0);
            }
        },
        ours: Ours::Nothing,
    },
    Claim {
        number: 14,
        text: "it is fast: 1,000 jobs on 128 nodes take well under 0.2 s, their bound too, one MCB8 call for 100 jobs \
               under 5 ms",
        note: Note::None,
        compare: |judge| {
            let speed = judge.results.speed;
            let seconds = |name: &str, of: fn(super::Speed) -> f64| Number::new(name.to_owned(), speed.map(of));
            judge.below(&seconds("seconds of a run", |speed| speed.run), &just(0.2));
            judge.below(&seconds("seconds of its bound", |speed| speed.bound), &just(0.2));
            judge.below(&seconds("seconds of an MCB8 call", |speed| speed.mcb8), &just(0.005));
        },
        ours: Ours::Bounds,
    },
];
