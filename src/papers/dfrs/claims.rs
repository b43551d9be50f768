//! Conclusions of the paper, as comparisons of numbers.

use super::published::{LIMITS, SMALL_CALLS, TABLE_2, TABLE_5, published_mean};
use super::traces::{behind_a_long_one, worst_case};
use super::{BEST, EAGER, FEW, Group, LONG_PERIODS, LONGEST, Metric, Outcome, PERIODS, TWIN, queue_ends, with_period};
use hansa_report::experiment::claims::{Claim, ClaimSource, Judge, Number};
use hansa_sim::math;
use hansa_sim::systems::dfrs::{Algorithm, bounded_stretch, compute_bound, run_alone};

/// Numbers and comparisons that the claims below have in common.
trait DfrsNumbers {
    fn mean(&self, letter: &str, group: Group, algorithm: &str, metric: Metric) -> Number;
    fn mean_degradation(&self, group: Group, algorithm: &str) -> Number;
    fn mean_underutilisation(&self, group: Group, algorithm: &str) -> Number;
    fn worst_degradation(&self, group: Group, algorithm: &str) -> Number;
    fn available_groups(&self) -> Vec<Group>;
    fn generated_groups(&self) -> Vec<Group>;
    fn need_weeks(&mut self);
    fn bandwidth_number(&self, what: &str, group: Group, name: &str, of: fn(super::Spread) -> f64) -> Number;
    fn show_mean(&mut self, group: Group, name: &str, metric: Metric);
    fn apart_by_at_most(&mut self, a: impl Into<Number>, b: &Number, part: f64);
}

impl DfrsNumbers for Judge<'_, Outcome> {
    fn mean(&self, letter: &str, group: Group, algorithm: &str, metric: Metric) -> Number {
        let samples = self.results.samples(group, algorithm, metric);
        let names = self.results.sample_names(group, algorithm);
        Number::mean(format!("{letter}({algorithm}, {})", group.words()), &samples).with_names(names)
    }

    fn mean_degradation(&self, group: Group, algorithm: &str) -> Number {
        self.mean("D", group, algorithm, Metric::Degradation)
    }

    fn mean_underutilisation(&self, group: Group, algorithm: &str) -> Number {
        self.mean("U", group, algorithm, Metric::Underutilisation)
    }

    fn worst_degradation(&self, group: Group, algorithm: &str) -> Number {
        let value = self.results.spread(group, algorithm, Metric::Degradation).map(|spread| spread.max);
        Number::new(format!("max D({algorithm}, {})", group.words()), value)
    }

    /// The sets of the paper's tables that were run: the weeks need a log.
    fn available_groups(&self) -> Vec<Group> {
        Group::ALL.into_iter().filter(|group| self.results.has(*group)).collect()
    }

    fn generated_groups(&self) -> Vec<Group> {
        self.available_groups().into_iter().filter(|group| *group != Group::Weeks).collect()
    }

    /// States that the claim needs weeks of a log, if there are none.
    fn need_weeks(&mut self) {
        if !self.results.has(Group::Weeks) {
            self.not_judged("the claim is about HPC2N, too, and there is no log of it (--logs DIR)");
        }
    }

    /// Bandwidth of pauses and moves.
    fn bandwidth_number(&self, what: &str, group: Group, name: &str, of: fn(super::Spread) -> f64) -> Number {
        let metrics = [Metric::PauseBandwidth, Metric::MoveBandwidth];
        let [paused, moved] = metrics.map(|metric| self.results.spread(group, name, metric).map(of));
        Number::new(format!("{what} GB/s({name}, {})", group.words()), paused.zip(moved).map(|(out, on)| out + on))
    }

    /// Shows the paper's mean of table 2 or 4 beside ours.
    fn show_mean(&mut self, group: Group, name: &str, metric: Metric) {
        if let Some(paper) = published_mean(group, name, metric) {
            let letter = if metric == Metric::Degradation { "D" } else { "U" };
            let ours = self.mean(letter, group, name, metric);
            self.show_number(&ours, paper);
        }
    }

    fn apart_by_at_most(&mut self, a: impl Into<Number>, b: &Number, part: f64) {
        self.expect_at_most(a.into().distance(b), b.times(part));
    }
}

type DfrsClaim = Claim<Outcome>;

const TABLES: &str = "table 2";

/// `D` is the mean degradation from bound, `U` the mean normalised underutilisation.
pub(super) const CLAIMS: &[DfrsClaim] = &[
    DfrsClaim::new(
        "no run comes below the bound, and EASY degrades no more than FCFS",
        &[
            ClaimSource::Quote("section 3.1", "is a lower bound on the actual optimal maximum stretch"),
            ClaimSource::Quote("section 6.1", "Expectedly, EASY outperforms FCFS"),
        ],
        |judge| {
            let below = judge.results.all().filter(|row| row.stretch < row.bound.lo).count();
            let runs = Number::new("runs below the bound".to_owned(), Some(below as f64));
            judge.expect_at_most(&runs, 0.0);
            for group in judge.available_groups() {
                judge.show_mean(group, "FCFS", Metric::Degradation);
                judge.show_mean(group, "EASY", Metric::Degradation);
                judge.expect_at_most(judge.mean_degradation(group, "EASY"), judge.mean_degradation(group, "FCFS"));
            }
        },
    ),
    DfrsClaim::new(
        "queues are at least two orders of magnitude worse than the best algorithm",
        &[
            ClaimSource::Quote("section 6.1", "outperformed by our proposed algorithms by several orders of magnitude"),
            ClaimSource::Sense(
                TABLES,
                "FCFS and EASY are two to three orders of magnitude further from the bound than the best",
            ),
        ],
        |judge| {
            for group in judge.available_groups() {
                for queue in ["EASY", "FCFS"] {
                    judge.show_mean(group, queue, Metric::Degradation);
                    judge.expect_at_most(
                        judge.mean_degradation(group, BEST).times(100.0),
                        judge.mean_degradation(group, queue),
                    );
                }
                judge.show_mean(group, BEST, Metric::Degradation);
            }
        },
    ),
    DfrsClaim::new(
        "the best algorithm is on average at most a factor 7 from the bound: about 3 at low load, 7.5 at high load",
        &[
            ClaimSource::Quote("section 6.1", "on average at most a factor 7 away from this loose bound"),
            ClaimSource::Quote(
                "figure 1",
                "about a factor 3 away from the bound at low loads, and a factor 7.5 away from it at high loads",
            ),
        ],
        |judge| {
            for group in judge.available_groups() {
                judge.show_mean(group, BEST, Metric::Degradation);
                judge.expect_at_most(judge.mean_degradation(group, BEST), 7.0);
            }
            let [low, high] = [1, 9].map(|tenths| judge.mean_degradation(Group::Load(tenths), BEST));
            judge.show_beside("D at load 0.1", "about 3", &low);
            judge.show_beside("D at load 0.9", 7.5, &high);
            judge.separate_part(|judge| judge.expect_about(&low, 3.0));
            // Nearer to the bound is not against it.
            judge.separate_part(|judge| judge.expect_at_most(&high, 7.5));
        },
    ),
    DfrsClaim::new(
        "the algorithm that the paper recommends degrades least of table 2 on all three sets",
        &[
            ClaimSource::Quote("section 6.1", "outperform all previously discussed algorithms on all 3 sets of traces"),
            ClaimSource::Quote("section 6.1", "These algorithms are the best overall"),
        ],
        |judge| {
            judge.need_weeks();
            for group in judge.available_groups() {
                judge.show_mean(group, BEST, Metric::Degradation);
                // In the paper's own table the twin that moves no job for a newcomer is as good.
                for (other, _) in TABLE_2.into_iter().filter(|row| row.0 != BEST && row.0 != TWIN) {
                    judge.expect_at_most(judge.mean_degradation(group, BEST), judge.mean_degradation(group, other));
                }
            }
        },
    )
    .with_note(
        "GreedyP */opt=min and its kin have heavy tails: the worst trace of a set makes most of their mean, so their \
         place changes with the set. GreedyP */per/opt=min/minvt=600, the twin that moves no job for a newcomer, is as \
         good in the paper's own table, and is not compared.",
    )
    .with_weaker("on generated traces no other algorithm is better by more than 5 %", |judge| {
        for group in judge.generated_groups() {
            for (other, _) in TABLE_2.into_iter().filter(|row| row.0 != BEST) {
                judge.expect_at_most(
                    judge.mean_degradation(group, BEST).times(0.95),
                    judge.mean_degradation(group, other),
                );
            }
        }
    }),
    DfrsClaim::new(
        "admitting every arriving job pays off, and moving jobs instead of pausing them adds little",
        &[
            ClaimSource::Quote(
                "section 6.1",
                "GreedyP is better than Greedy, demonstrating the benefits of preemption",
            ),
            ClaimSource::Quote("section 6.1", "does not lead to significant further improvement"),
        ],
        |judge| {
            for group in judge.available_groups() {
                for family in [" *", "/per"] {
                    let [waiting, forced] = ["Greedy", "GreedyP"].map(|policy| format!("{policy}{family}/opt=min"));
                    judge.show_mean(group, &waiting, Metric::Degradation);
                    judge.show_mean(group, &forced, Metric::Degradation);
                    judge.expect_below(judge.mean_degradation(group, &forced), judge.mean_degradation(group, &waiting));
                }
            }
            judge.with_bound("no \"significant further improvement\" is read as at most a tenth", |judge| {
                for group in judge.available_groups() {
                    let paused = judge.mean_degradation(group, "GreedyP/per/opt=min");
                    judge.apart_by_at_most(judge.mean_degradation(group, "GreedyPM/per/opt=min"), &paused, 0.1);
                }
            });
        },
    )
    .with_note(
        "A few traces make the mean of GreedyP *: a job as wide as the cluster that nearly fills its memory starves \
         until all others are gone.",
    ),
    DfrsClaim::new(
        "MCB8 on every arrival and end without a grace period is more than one order of magnitude further from the \
         bound than with minvt=600; a grace period helps the best algorithm, too",
        &[ClaimSource::Quote(
            "section 6.1",
            "more than one order of magnitude further away from the bound than when minvt=600 is used",
        )],
        |judge| {
            for group in judge.available_groups() {
                let with = judge.mean_degradation(group, "MCB8 */opt=min/minvt=600");
                judge.show_mean(group, "MCB8 */opt=min/minvt=600", Metric::Degradation);
                let without = judge.mean_degradation(group, EAGER);
                if group == Group::Weeks {
                    judge.show_number(&without, 345.6);
                }
                judge.expect_below(with.times(10.0), &without);
                judge.expect_below(
                    judge.mean_degradation(group, BEST),
                    judge.mean_degradation(group, "GreedyPM */per/opt=min"),
                );
            }
        },
    ),
    DfrsClaim::new(
        "repacking all jobs every period tames the worst traces of GreedyPM *, on generated traces",
        &[ClaimSource::Quote(
            "section 6.1",
            "standard deviation and maximum values that are orders of magnitude larger",
        )],
        |judge| {
            judge.with_bound(
                "\"orders of magnitude\" is read as 3 times: the paper's maxima of HPC2N differ by 4",
                |judge| {
                    for (group, place) in judge.generated_groups().into_iter().zip([1, 2]) {
                        for name in ["GreedyPM */opt=min", "GreedyPM */per/opt=min"] {
                            let paper = TABLE_2.iter().find(|row| row.0 == name).map_or(0.0, |row| row.1[place][2]);
                            let worst = judge.worst_degradation(group, name);
                            judge.show_number(&worst, paper);
                        }
                        let tamed = judge.worst_degradation(group, "GreedyPM */per/opt=min");
                        judge.expect_at_most(tamed.times(3.0), judge.worst_degradation(group, "GreedyPM */opt=min"));
                    }
                },
            );
        },
    )
    .with_note(
        "In the paper's own table 2 the maxima differ by 41 and 107 times on generated traces, and by 4 times on \
         HPC2N.",
    ),
    DfrsClaim::new(
        "alone, /per is outperformed by the best greedy algorithms by more than 6-fold",
        &[ClaimSource::Quote("section 6.1", "outperformed by the best greedy algorithm more than 6-fold")],
        |judge| {
            for group in judge.available_groups() {
                judge.show_mean(group, "/per/opt=min/minvt=600", Metric::Degradation);
                judge.show_mean(group, BEST, Metric::Degradation);
                let per = judge.mean_degradation(group, "/per/opt=min/minvt=600");
                judge.expect_below(judge.mean_degradation(group, BEST).times(6.0), &per);
            }
        },
    ),
    DfrsClaim::new(
        "opt=min is on average never worse than opt=avg, minvt always at least as good as minft, and with 600 s at \
         least as good as with 300 s",
        &[
            ClaimSource::Quote(
                "section 6, appendix A",
                "on average opt=min is never worse and often slightly better than opt=avg",
            ),
            ClaimSource::Quote(
                "section 6",
                "minvt is always better than minft, and slightly better with the larger 600s bound",
            ),
        ],
        |judge| {
            let group = judge.results.of_table_5();
            let mut by_aim = Vec::new();
            let mut by_limit = Vec::new();
            let mut by_seconds = Vec::new();
            for (family, _, published) in TABLE_5.iter().filter(|row| row.1 == "min") {
                for (limit, _) in LIMITS.iter().zip(published).filter(|limit| limit.1.is_some()) {
                    by_aim.push((format!("{family}/opt=min{limit}"), format!("{family}/opt=avg{limit}")));
                    if let Some(seconds) = limit.strip_prefix("/minvt=") {
                        let minft = format!("{family}/opt=min/minft={seconds}");
                        by_limit.push((format!("{family}/opt=min{limit}"), minft));
                    }
                    if *limit == "/minvt=600" {
                        let shorter = format!("{family}/opt=min/minvt=300");
                        by_seconds.push((format!("{family}/opt=min{limit}"), shorter));
                    }
                }
            }
            for pairs in [by_aim, by_limit, by_seconds] {
                judge.compare_generally(|judge| {
                    for (better, worse) in pairs {
                        judge.expect_at_most(
                            paired_number(&better, &worse, group, judge),
                            paired_number(&worse, &better, group, judge),
                        );
                    }
                });
            }
        },
    )
    .with_note(
        "The paper's own table 5 has exceptions, such as 25.1 against 23.6 for MCB8 */per/minft=600, so \"never\" and \
         \"always\" are read as \"generally\".",
    ),
    DfrsClaim::new(
        "the price is small: at high load the best algorithm and its twin move below 0.80 GB/s (2.0 at most), with \
         fewer than 40 preemptions and 60 migrations an hour, 6 and 7 a job",
        &[
            ClaimSource::Quote("section 6.3", "total average bandwidth consumption under 0.80 GB/sec"),
            ClaimSource::Quote("section 6.3", "bandwidth consumptions are under 2.0 GB/sec"),
            ClaimSource::Quote("section 6.3", "under 40 preemptions and under 60 migrations occur each hour"),
            ClaimSource::Quote(
                "section 6.3",
                "preempted under 6 times and migrating under 7 times during its lifetime",
            ),
        ],
        |judge| {
            for (name, paper) in
                [(BEST, [0.8, 1.96, 33.8, 56.45, 5.11, 6.84]), (TWIN, [0.8, 1.99, 37.7, 52.14, 5.56, 6.34])]
            {
                let mut numbers = vec![
                    (judge.bandwidth_number("mean", Group::High, name, |spread| spread.mean), 0.8),
                    (judge.bandwidth_number("highest", Group::High, name, |spread| spread.max), 2.0),
                ];
                let limits = [
                    ("preemptions/h", 40.0),
                    ("migrations/h", 60.0),
                    ("preemptions/job", 6.0),
                    ("migrations/job", 7.0),
                ];
                for (metric, (letter, most)) in Metric::MOVES.into_iter().skip(2).zip(limits) {
                    numbers.push((judge.mean(letter, Group::High, name, metric), most));
                }
                for ((number, most), paper) in numbers.into_iter().zip(paper) {
                    judge.show_number(&number, paper);
                    judge.expect_below(&number, most);
                }
            }
            for (names, metric) in [
                (&["FCFS", "EASY", "Greedy */opt=min"][..], Metric::PausesAJob),
                (&["FCFS", "EASY", "Greedy */opt=min", "GreedyP */opt=min"][..], Metric::MovesAJob),
            ] {
                let sets = judge.available_groups();
                for (name, group) in names.iter().flat_map(|name| sets.iter().map(move |group| (*name, *group))) {
                    judge.expect_at_most(judge.mean("moved", group, name, metric), 0.0);
                }
            }
        },
    ),
    DfrsClaim::new(
        "with the default period more stays unused than under EASY; the longer the period the less, and on generated \
         traces above 900 s less than under EASY",
        &[
            ClaimSource::Quote("figure 3", "as the period becomes larger than 900s"),
            ClaimSource::Quote(
                "figure 3",
                "our algorithm achieves better average normalized underutilization than EASY",
            ),
            ClaimSource::Sense("table 4", "at 600 s the best algorithm is more underutilised than EASY"),
        ],
        |judge| {
            for group in judge.available_groups() {
                judge.show_mean(group, "EASY", Metric::Underutilisation);
                judge.show_mean(group, BEST, Metric::Underutilisation);
                judge
                    .expect_below(judge.mean_underutilisation(group, "EASY"), judge.mean_underutilisation(group, BEST));
                let falling = PERIODS.iter().filter(|period| **period <= 3_000);
                let falling: Vec<Number> =
                    falling.map(|period| judge.mean_underutilisation(group, &with_period(*period))).collect();
                falling.windows(2).for_each(|pair| judge.expect_below(&pair[1], &pair[0]));
            }
            for group in judge.generated_groups() {
                for period in PERIODS.iter().filter(|period| **period > 900) {
                    judge.expect_below(
                        judge.mean_underutilisation(group, &with_period(*period)),
                        judge.mean_underutilisation(group, "EASY"),
                    );
                }
            }
        },
    )
    .with_note(
        "EASY leaves less unused here: with `scan=first-misfit` it leaves about as much as in the paper. The best \
         algorithm leaves more unused, about half of it under the penalty; no reading of the penalty fits all sets of \
         the paper's table 4, which goes together badly with its table 3 (docs/dfrs.md, Table 3 against table 4).",
    )
    .with_weaker("on generated traces, from 3,000 s on no more than 1.3 times what EASY leaves unused", |judge| {
        for group in judge.generated_groups() {
            for period in PERIODS.iter().filter(|period| **period >= 3_000) {
                judge.expect_below(
                    judge.mean_underutilisation(group, &with_period(*period)),
                    judge.mean_underutilisation(group, "EASY").times(1.3),
                );
            }
        }
    }),
    DfrsClaim::new(
        "a period 20 times as long (12,000 s) degrades less than 1.5 times as much on unscaled traces, twice on HPC2N, \
         3 times on scaled ones",
        &[
            ClaimSource::Quote("figure 4", "increase of the maximum stretch degradation by less than a factor 3"),
            ClaimSource::Quote("figure 4", "by less than a factor 1.5 and a factor 2, respectively"),
        ],
        |judge| {
            for (group, times) in
                Group::ALL.into_iter().zip([2.0, 1.5, 3.0]).filter(|(group, _)| judge.results.has(*group))
            {
                let [one, long] =
                    [PERIODS[0], LONGEST].map(|period| judge.mean_degradation(group, &with_period(period)));
                judge.show_beside(
                    format!("times as much, {}", group.words()),
                    format!("< {times}"),
                    &Number::new(String::new(), one.value.zip(long.value).map(|(one, long)| long / one)),
                );
                judge.separate_part(|judge| judge.expect_below(&long, one.times(times)));
            }
        },
    )
    .with_weaker("less than 3 times on every set", |judge| {
        for group in judge.available_groups() {
            judge.expect_below(
                judge.mean_degradation(group, &with_period(LONGEST)),
                judge.mean_degradation(group, BEST).times(3.0),
            );
        }
    }),
    DfrsClaim::new(
        "sharing a node equally is no better than (Delta + 1)/(2 + ln Delta)-competitive: there are k jobs, the \
         largest Delta = k-1 times the smallest, of which the last is stretched to k, while the bound is 2 + 1/2 + ... \
         + 1/(k-1)",
        &[
            ClaimSource::Quote("theorem 4", "the competitive ratio of EquiPartition is no smaller than"),
            ClaimSource::Sense("theorem 4", "k / (2 + 1/2 + ... + 1/(k-1)) >= (Delta + 1)/(2 + ln Delta)"),
        ],
        |judge| {
            let greedy = Algorithm::parse("Greedy */opt=min").expect("a name of the paper's");
            for k in [4, 6, 9] {
                let jobs = worst_case(k);
                let ends =
                    greedy.fractional().map(|rules| run_alone(*rules, 1, &jobs, |_, _, _| {}).ends).unwrap_or_default();
                let stretches = jobs
                    .iter()
                    .zip(ends)
                    .filter_map(|(job, end)| Some(bounded_stretch(end? - job.submit, job.runtime)));
                let worst = Number::new(format!("worst stretch of {k}"), stretches.max_by(f64::total_cmp));
                let expected = 2.0 + (2..k).map(|i| 1.0 / f64::from(i)).sum::<f64>();
                let found = Number::new(format!("bound of {k}"), Some(compute_bound(1, &jobs).hi));
                // Ends are whole microseconds, and the bound is known to a thousandth.
                judge.expect_at_most(worst.distance(f64::from(k)), 1e-6);
                judge.expect_at_most(found.distance(expected), 1e-3 * expected);
                let delta = f64::from(k - 1);
                let printed = (delta + 1.0) / (2.0 + math::ln(delta));
                let ratio = worst.divided_by(&found).with_name(format!("ratio of {k}"));
                judge.show_number(&ratio, format!(">= {printed:.4}"));
                judge.expect_at_most(printed, &ratio);
            }
        },
    ),
    DfrsClaim::new(
        "it is fast: most MCB8 calls take under 1 ms, the others 0.25 s in the mean",
        &[
            ClaimSource::Quote("section 6.2", "produced allocations for 10 or fewer jobs in less than 0.001 seconds"),
            ClaimSource::Quote(
                "section 6.2",
                "The average compute time was about 0.25 seconds with the maximum under 4.5 seconds",
            ),
        ],
        |judge| {
            let speed = judge.results.speed;
            let seconds = |name: &str, of: fn(super::Speed) -> f64| Number::new(name.to_owned(), speed.map(of));
            let call = seconds("seconds of an MCB8 call for 100 jobs", |speed| speed.mcb8);
            judge.show_number(&call, "0.25");
            judge.expect_below(&call, 0.25);
            judge.with_bound("1,000 jobs on 128 nodes, and their bound, in 0.2 s each", |judge| {
                judge.expect_below(seconds("seconds of a run", |speed| speed.run), 0.2);
                judge.expect_below(seconds("seconds of its bound", |speed| speed.bound), 0.2);
            });
        },
    ),
    DfrsClaim::new(
        "the recommended algorithm is the best of figure 1 at every load",
        &[ClaimSource::Quote("figure 1", "is the best algorithm across the board regardless of the load level")],
        |judge| {
            for load in (1..=9).map(Group::Load) {
                for other in TABLE_2
                    .iter()
                    .map(|row| row.0)
                    .filter(|name| *name != BEST && (!name.starts_with("GreedyP") || name.starts_with("GreedyPM")))
                {
                    judge.expect_at_most(judge.mean_degradation(load, BEST), judge.mean_degradation(load, other));
                }
            }
        },
    )
    .with_note("The figure has no GreedyP algorithms, so the twin that moves no job for a newcomer is not compared.")
    .with_weaker("it beats both queues at every load", |judge| {
        for (load, queue) in (1..=9).flat_map(|load| [(load, "EASY"), (load, "FCFS")]) {
            judge.expect_below(
                judge.mean_degradation(Group::Load(load), BEST),
                judge.mean_degradation(Group::Load(load), queue),
            );
        }
    }),
    DfrsClaim::new(
        "opportunistic scheduling, that is acting when a job ends, is always beneficial with minvt",
        &[ClaimSource::Quote("section 6.1", "the use of opportunistic scheduling is always beneficial")],
        |judge| {
            for (group, policy) in
                judge.available_groups().into_iter().flat_map(|group| [(group, "GreedyP"), (group, "GreedyPM")])
            {
                let [plain, acting] = ["", " *"].map(|star| format!("{policy}{star}/per/opt=min/minvt=600"));
                judge.show_mean(group, &plain, Metric::Degradation);
                judge.show_mean(group, &acting, Metric::Degradation);
                judge.expect_below(judge.mean_degradation(group, &acting), judge.mean_degradation(group, &plain));
            }
        },
    ),
    DfrsClaim::new(
        "with a period of up to 20 times the penalty (12,000 s by the paper's count) the best algorithm outperforms \
         EASY by at least two orders of magnitude",
        &[ClaimSource::Quote(
            "section 6.4.2",
            "still allows our algorithms to outperform EASY by at least two orders of magnitude on average",
        )],
        |judge| {
            for group in judge.available_groups() {
                let easy = judge.mean_degradation(group, "EASY");
                for period in PERIODS {
                    let long = judge.mean_degradation(group, &with_period(period));
                    judge.expect_at_most(long.times(100.0), &easy);
                    if period == LONGEST {
                        let times = easy.value.zip(long.value).map(|(easy, long)| easy / long);
                        judge.show_beside(
                            format!("times, {}", group.words()),
                            ">= 100",
                            &Number::new(String::new(), times),
                        );
                    }
                }
            }
        },
    )
    .with_note(
        "The paper calls 12,000 s 20 times the penalty of 300 s, which is 40 times: its numbers in seconds are taken.",
    ),
    DfrsClaim::new(
        "at high load and a period of one hour jobs that are paused and moved need about a quarter of the bandwidth, \
         below 0.2 GB/s",
        &[ClaimSource::Quote(
            "section 6.4.2",
            "the bandwidth consumption due to preemptions and migrations is roughly 4 times lower",
        )],
        |judge| {
            let usual = mean_bandwidth(judge, PERIODS[0]);
            let hour = mean_bandwidth(judge, 3_600);
            let times = usual.value.zip(hour.value).map(|(usual, hour)| usual / hour);
            let times = Number::new("bandwidth at 600 s / at 3600 s".to_owned(), times);
            judge.show_number(&times, "about 4");
            judge.show_number(&hour, "< 0.2");
            judge.expect_below(&hour, 0.2);
            judge.separate_part(|judge| judge.expect_about(&times, 4.0));
        },
    ),
    DfrsClaim::new(
        "with periods above 15,000 s underutilisation begins to grow on generated traces; on HPC2N it slowly starts to \
         grow again for larger periods",
        &[
            ClaimSource::Quote("section 6.4.2", "over 15,000 seconds for the synthetic traces"),
            ClaimSource::Quote("section 6.4.2", "before slowly starting to increase again for larger periods"),
        ],
        |judge| {
            let [from, _, generated, log] = LONG_PERIODS;
            for group in judge.available_groups() {
                for period in PERIODS.into_iter().skip(PERIODS.len() - 2).chain(LONG_PERIODS) {
                    let ours = judge.mean_underutilisation(group, &with_period(period));
                    judge.show_beside(format!("U(period {period} s, {})", group.words()), "", &ours);
                }
                // On the log the plateau is longer, by the paper's words, too.
                let longer = if group == Group::Weeks { log } else { generated };
                judge.expect_below(
                    judge.mean_underutilisation(group, &with_period(from)),
                    judge.mean_underutilisation(group, &with_period(longer)),
                );
            }
        },
    ),
    DfrsClaim::new(
        "on the whole log of HPC2N, not cut into weeks, underutilisation is 0.08 under EASY and 0.10 under the \
         recommended algorithm",
        &[ClaimSource::Quote(
            "section 6.4.2",
            "yields a normalized underutilization of 8% for EASY and of 10% for our algorithms",
        )],
        |judge| {
            if !judge.results.has(Group::Unsplit) {
                return judge.not_judged("there is no log of HPC2N (--logs DIR)");
            }
            let easy = judge.mean_underutilisation(Group::Unsplit, "EASY");
            judge.show_beside("U(EASY)", 0.08, &easy);
            for period in PERIODS {
                let paper = if period == PERIODS[0] { "0.10" } else { "" };
                let ours = judge.mean_underutilisation(Group::Unsplit, &with_period(period));
                judge.show_beside(format!("U(period {period} s)"), paper, &ours);
            }
            // Both as rounded to the printed decimals.
            judge.expect_below(easy.distance(0.08), 0.005);
            judge.expect_below(judge.mean_underutilisation(Group::Unsplit, BEST).distance(0.10), 0.005);
        },
    )
    .with_note(
        "A resumed job makes no progress for 300 s. At the default period of 600 s live jobs accumulate over the years \
         of the log, and the cluster loses up to half of its capacity (docs/dfrs.md, Cost). That the log is cut into \
         weeks does not explain the paper's .10 beside its .34 of the weeks: here they differ less.",
    ),
    DfrsClaim::new(
        "of the calls of MCB8 on unscaled traces, if it is called at every arrival and end, 67.25 % place at most 10 \
         jobs",
        &[
            ClaimSource::Quote("section 6.2", "For 67.25% of these observations"),
            ClaimSource::Quote("section 6.2", "produced allocations for 10 or fewer jobs"),
        ],
        |judge| {
            let traces: Vec<[f64; 2]> = judge
                .results
                .calls()
                .map(|calls| [&calls[..calls.len().min(FEW + 1)], calls].map(|some| some.iter().sum::<u32>().into()))
                .collect();
            let [few, all] = [0, 1].map(|at| traces.iter().map(|trace| trace[at]).collect::<Vec<_>>());
            let share = Number::ratio(format!("share of calls for at most {FEW} jobs"), &few, &all);
            judge.show_number(&share, SMALL_CALLS);
            judge.expect_agreement(&share, SMALL_CALLS);
        },
    )
    .with_note("The traces carry about the load of the paper's, then."),
    DfrsClaim::new(
        "FCFS is Delta-competitive and no better: a job that is Delta times as short waits for the other one",
        &[ClaimSource::Quote("section 3.2", "First Come First Served (FCFS) is exactly")],
        |judge| {
            for delta in [10, 100] {
                let jobs = behind_a_long_one(delta);
                let ends = queue_ends("fcfs-count", 1, &jobs);
                let stretches = jobs
                    .iter()
                    .zip(ends)
                    .filter_map(|(job, end)| Some(bounded_stretch(end? - job.submit, job.runtime)));
                let worst = Number::new(format!("worst stretch, Delta {delta}"), stretches.max_by(f64::total_cmp));
                let found = Number::new(format!("bound, Delta {delta}"), Some(compute_bound(1, &jobs).hi));
                let ratio = worst.divided_by(&found).with_name(format!("ratio, Delta {delta}"));
                judge.show_number(&ratio, delta);
                // The bound is known to a thousandth.
                judge.expect_at_most(ratio.distance(f64::from(delta)), 1e-3 * f64::from(delta));
            }
        },
    ),
];

fn paired_number(name: &str, other: &str, group: Group, judge: &Judge<'_, Outcome>) -> Number {
    let samples = judge.results.paired_degradations(group, name, other);
    Number::mean(format!("D({name}, {})", group.words()), &samples)
}

fn mean_bandwidth(judge: &Judge<'_, Outcome>, period: u64) -> Number {
    judge.bandwidth_number("mean", Group::High, &with_period(period), |spread| spread.mean)
}
