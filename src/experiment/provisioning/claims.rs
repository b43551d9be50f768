//! What the thesis concludes, figure by figure.
//!
//! Trends are of means; from one point to the next 3 % of noise are allowed. Where the thesis says "about" or
//! "most", the bounds are ours: a factor of 2 or 1.3, one half, 2 %.

use super::super::claims::{Claim, Judge, Number, Ours, just};
use super::load::Site;
use super::plans::widths;
use super::prices::{ALPHAS as PRICED_ALPHAS, SHARES};
use super::virtuals::{AHEAD, LENGTHS, NODES, line};
use super::{Results, correlation};

/// From one point to the next, as a share.
const NOISE: f64 = 0.03;
const ALPHAS: [f64; 6] = [0.0, 0.2, 0.4, 0.6, 0.8, 1.0];
const TASKS: [f64; 4] = [100.0, 200.0, 300.0, 400.0];
const SITES: [f64; 5] = [2.0, 3.0, 4.0, 5.0, 6.0];

impl Judge<'_, Results> {
    fn mean(&self, figure: &'static str, line: &str, at: f64) -> Number {
        Number { name: format!("{figure}({line}, {at})"), value: self.results.mean(figure, line, at) }
    }

    fn deviation(&self, figure: &'static str, line: &str, at: f64) -> Number {
        Number { name: format!("sd {figure}({line}, {at})"), value: self.results.deviation(figure, line, at) }
    }

    fn count(&self, figure: &'static str, line: &str, at: f64) -> Number {
        let count = self.results.samples(figure, line, at).len();
        Number { name: format!("number {figure}({line}, {at})"), value: Some(count as f64) }
    }

    /// The largest of all that was seen.
    fn most(&self, figure: &'static str, line: &str) -> Number {
        let samples = self.results.samples(figure, line, 0.0);
        Number { name: format!("most {figure}({line})"), value: samples.iter().copied().max_by(f64::total_cmp) }
    }

    fn falls(&mut self, figure: &'static str, line: &str, along: &[f64]) {
        for pair in along.windows(2) {
            let (before, after) = (self.mean(figure, line, pair[0]), self.mean(figure, line, pair[1]));
            let noise = NOISE * before.value.unwrap_or_default().abs();
            self.at_most(&after, &before, noise);
        }
    }

    fn rises(&mut self, figure: &'static str, line: &str, along: &[f64]) {
        let backwards: Vec<f64> = along.iter().rev().copied().collect();
        self.falls(figure, line, &backwards);
    }

    fn within_factor(&mut self, one: &Number, other: &Number, factor: f64) {
        self.at_most(one, &other.times(factor), 0.0);
        self.at_most(other, &one.times(factor), 0.0);
    }
}

fn names() -> [&'static str; 2] {
    Site::ALL.map(Site::name)
}

fn loads(site: Site) -> Vec<f64> {
    site.loads().iter().map(|load| f64::from(*load) / 10.0).collect()
}

fn priced(site: Site) -> [f64; 3] {
    site.priced_loads().map(|load| f64::from(load) / 10.0)
}

fn all_widths(site: Site) -> [f64; 4] {
    widths(site).map(f64::from)
}

pub const CLAIMS: &[Claim<Results>] = &[
    Claim {
        number: 4,
        text: "Figure 4: CTC advertises more slots than SDSC, 27 and 14 in the mean",
        note: "The model makes its jobs as large a part of either site, where those of CTC were small beside the machine; so CTC has few \
               jobs at a time, and few slots between them.",
        compare: |judge| {
            judge.below(&judge.mean("4 mean", "SDSC", 0.0), &judge.mean("4 mean", "CTC", 0.0));
            judge.within_factor(&just(27.0), &judge.mean("4 mean", "CTC", 0.0), 2.0);
            judge.within_factor(&just(14.0), &judge.mean("4 mean", "SDSC", 0.0), 2.0);
        },
        ours: Ours::Bounds,
    },
    Claim {
        number: 5,
        text: "Figure 5: the more tasks in the system, the more slots",
        note: "",
        compare: |judge| {
            names().iter().for_each(|name| judge.below(&just(0.3), &judge.mean("5 correlation", name, 0.0)));
        },
        ours: Ours::Bounds,
    },
    Claim {
        number: 6,
        text: "Figure 6: slots without end last until 48 hours from now; starts of SDSC are spread wider than those of CTC",
        note: "",
        compare: |judge| {
            for name in names() {
                judge.at_most(
                    &judge.mean("6 horizon", name, 0.0).distance(&Number { name: "48".to_owned(), value: Some(48.0) }),
                    &just(1e-6),
                    0.0,
                );
            }
            judge.below(&judge.mean("6 deviation", "CTC", 0.0), &judge.mean("6 deviation", "SDSC", 0.0));
        },
        ours: Ours::Nothing,
    },
    Claim {
        number: 7,
        text: "Figure 7: most slots have at most ten processors, and there are peaks at powers of two",
        note: "Most jobs of the model have one processor, and next to a peak as high as that two is none. What is left of 430 processors \
               beside powers of two is often wide.",
        compare: |judge| {
            for name in names() {
                judge.at_most(&just(0.5), &judge.mean("7 at most 10", name, 0.0), 0.0);
                for power in [2.0, 4.0, 8.0, 16.0, 32.0] {
                    let peak = judge.count("7", name, power);
                    for beside in [power - 1.0, power + 1.0] {
                        judge.below(&judge.count("7", name, beside), &peak);
                    }
                }
            }
        },
        ours: Ours::Bounds,
    },
    Claim {
        number: 8,
        text: "Figure 8: with inexact estimates slots start later, and last about as long",
        note: "The synthetic estimates are five times the run time and more for half of the jobs, so plans reach far ahead of what \
               happens, and leave long gaps there.",
        compare: |judge| {
            for at in [0.0, 1.0] {
                judge.below(&judge.mean("8", "mean start, exact", at), &judge.mean("8", "mean start, inexact", at));
                let [exact, inexact] =
                    ["median duration, exact", "median duration, inexact"].map(|line| judge.mean("8", line, at));
                judge.within_factor(&exact, &inexact, 2.0);
            }
        },
        ours: Ours::Bounds,
    },
    Claim {
        number: 13,
        text: "Figure 13: over slots a workflow takes less time than by best effort, whatever cost weighs, and less on CTC than on \
               SDSC",
        note: "As above: tasks on CTC are as large beside the model's jobs as those on SDSC, and there is no less to wait for.",
        compare: |judge| {
            for alpha in ALPHAS {
                for name in names() {
                    let [provisioned, queued] = ["provisioned", "best effort"]
                        .map(|what| judge.mean("13 makespan", &format!("{name} {what}"), alpha));
                    judge.below(&provisioned, &queued);
                }
                judge.below(
                    &judge.mean("13 makespan", "CTC provisioned", alpha),
                    &judge.mean("13 makespan", "SDSC provisioned", alpha),
                );
            }
        },
        ours: Ours::Nothing,
    },
    Claim {
        number: 14,
        text: "Figure 13: it costs no less than best effort, less the more cost weighs, and at weight 1 about the same; the more cost \
               weighs, the longer it takes",
        note: "",
        compare: |judge| {
            for name in names() {
                let line = format!("{name} provisioned");
                let queued = judge.mean("13 cost", &format!("{name} best effort"), 1.0);
                for alpha in ALPHAS {
                    judge.at_most(&queued, &judge.mean("13 cost", &line, alpha), 1e-9);
                }
                judge.at_most(&judge.mean("13 cost", &line, 1.0), &queued.times(1.02), 0.0);
                judge.falls("13 cost", &line, &ALPHAS);
                judge.rises("13 makespan", &line, &ALPHAS);
            }
        },
        ours: Ours::Bounds,
    },
    Claim {
        number: 15,
        text: "Figure 13: below weight 1 makespans over slots vary less than those by best effort",
        note: "",
        compare: |judge| {
            for (name, alpha) in
                names().into_iter().flat_map(|name| ALPHAS[..5].iter().map(move |alpha| (name, *alpha)))
            {
                let [provisioned, queued] = ["provisioned", "best effort"]
                    .map(|what| judge.deviation("13 makespan", &format!("{name} {what}"), alpha));
                judge.below(&provisioned, &queued);
            }
        },
        ours: Ours::Nothing,
    },
    Claim {
        number: 16,
        text: "Figure 14: against best effort, 400 tasks gain more than 100 in time, and lose less in cost",
        note: "",
        compare: |judge| {
            for name in names() {
                for figure in ["14 makespan", "14 cost"] {
                    judge.at_most(&judge.mean(figure, name, 400.0), &judge.mean(figure, name, 100.0), 0.0);
                }
            }
        },
        ours: Ours::Nothing,
    },
    Claim {
        number: 17,
        text: "Figure 15: the larger tasks are, the larger is the gain in time, and the smaller the loss in cost",
        note: "",
        compare: |judge| {
            for site in Site::ALL {
                for alpha in [0.0, 1.0] {
                    judge.falls("15 makespan", &format!("{} alpha {alpha}", site.name()), &all_widths(site));
                }
                judge.falls("15 cost", &format!("{} alpha 0", site.name()), &all_widths(site));
            }
        },
        ours: Ours::Bounds,
    },
    Claim {
        number: 18,
        text: "Figure 16: the fuller the site, the larger is the gain in time, most of all for large tasks; cost is much the same",
        note: "Moments of one history are not alike: a queue that happens to be short at some of them counts more than the \
               load does.",
        compare: |judge| {
            for site in Site::ALL {
                let line = |procs: u32| format!("{} {procs} procs", site.name());
                let (loads, widths) = (loads(site), widths(site));
                let (least, most) = (loads[0], loads[loads.len() - 1]);
                for procs in widths {
                    judge.falls("16 makespan", &line(procs), &loads);
                    let costs: Vec<Number> =
                        loads.iter().map(|load| judge.mean("16 cost", &line(procs), *load)).collect();
                    for pair in costs.windows(2) {
                        judge.within_factor(&pair[0], &pair[1], 1.3);
                    }
                }
                let gain = |procs: u32| {
                    judge.mean("16 makespan", &line(procs), least).minus(&judge.mean("16 makespan", &line(procs), most))
                };
                let (small, large) = (gain(widths[0]), gain(widths[3]));
                judge.at_most(&small, &large, 0.0);
            }
        },
        ours: Ours::Bounds,
    },
    Claim {
        number: 19,
        text: "Figure 18: CyberShake takes less time over slots at every load, less than half of it at 88 %, varies less, and costs the \
               same",
        note: "",
        compare: |judge| {
            for load in loads(Site::Ctc) {
                let [provisioned, queued] =
                    ["provisioned", "best effort"].map(|line| judge.mean("18 makespan", line, load));
                judge.below(&provisioned, &queued);
                let [provisioned, queued] =
                    ["provisioned", "best effort"].map(|line| judge.deviation("18 makespan", line, load));
                judge.below(&provisioned, &queued);
                let [provisioned, queued] =
                    ["provisioned", "best effort"].map(|line| judge.mean("18 cost", line, load));
                judge.within_factor(&provisioned, &queued, 1.02);
            }
            let [provisioned, queued] =
                ["provisioned", "best effort"].map(|line| judge.mean("18 makespan", line, 88.0));
            judge.at_most(&provisioned, &queued.times(0.5), 0.0);
        },
        ours: Ours::Bounds,
    },
    Claim {
        number: 20,
        text: "Figure 19: more sites make both ways quicker, and best effort more so: slots take 0.30 of its time on two sites, 0.45 \
               on six, and always cost more",
        note: "A search that finds edges enough on lightly loaded sites pays for nothing that it does not use.",
        compare: |judge| {
            judge.falls("19 makespan", "provisioned", &SITES);
            judge.falls("19 makespan", "best effort", &SITES);
            judge.below(&judge.mean("19 ratio", "provisioned", 2.0), &judge.mean("19 ratio", "provisioned", 6.0));
            for sites in SITES {
                judge.below(&judge.mean("19 ratio", "provisioned", sites), &just(1.0));
                judge.below(&just(1.0), &judge.mean("19 cost", "provisioned", sites));
            }
        },
        ours: Ours::Bounds,
    },
    Claim {
        number: 23,
        text: "Figure 23: the more cost weighs, the lower are fees, to none at all; SDSC is dearer than CTC",
        note: "The model makes its jobs as large a part of either site. A fee counts processors, so a queue of jobs three times as \
               large is three times as dear.",
        compare: |judge| {
            for name in names() {
                judge.falls("23", &format!("{name} fee"), &PRICED_ALPHAS);
                judge.at_most(&judge.mean("23", &format!("{name} fee"), 1.0), &just(0.0), 0.0);
            }
            for alpha in &PRICED_ALPHAS[..4] {
                judge.below(&judge.mean("23", "CTC fee", *alpha), &judge.mean("23", "SDSC fee", *alpha));
            }
        },
        ours: Ours::Bounds,
    },
    Claim {
        number: 24,
        text: "Figure 24: reservations for whom cost does not count wait less than half as long as the queue, those who pay nothing \
               about as long",
        note: "",
        compare: |judge| {
            for name in names() {
                let wait =
                    |judge: &Judge<'_, Results>, who: &str, alpha| judge.mean("24", &format!("{name} {who}"), alpha);
                judge.below(&wait(judge, "reserved", 0.0), &wait(judge, "queued", 0.0).times(0.5));
                judge.within_factor(&wait(judge, "reserved", 1.0), &wait(judge, "queued", 1.0), 1.3);
            }
        },
        ours: Ours::Bounds,
    },
    Claim {
        number: 25,
        text: "Figures 25, 26: as load rises so do fees, and reservations wait less against the queue",
        note: "",
        compare: |judge| {
            for site in Site::ALL {
                for alpha in &PRICED_ALPHAS[..4] {
                    judge.rises("25", &format!("{} alpha {alpha}", site.name()), &priced(site));
                }
                for alpha in PRICED_ALPHAS {
                    judge.falls("26", &format!("{} alpha {alpha}", site.name()), &priced(site));
                }
            }
        },
        ours: Ours::Bounds,
    },
    Claim {
        number: 27,
        text: "Figure 27: the more jobs reserve, the less it costs, until there is no queue to displace, and the longer they wait",
        note: "",
        compare: |judge| {
            let shares = SHARES.map(f64::from);
            for name in names() {
                judge.falls("27 fee", name, &shares);
                judge.at_most(&judge.mean("27 fee", name, 100.0), &just(0.0), 0.0);
                judge.rises("27 wait", name, &shares);
            }
        },
        ours: Ours::Bounds,
    },
    Claim {
        number: 28,
        text: "Figure 28: where half of all jobs reserve, the queue waits less the more cost weighs for them",
        note: "",
        compare: |judge| names().iter().for_each(|name| judge.falls("28", name, &PRICED_ALPHAS)),
        ours: Ours::Bounds,
    },
    Claim {
        number: 29,
        text: "Figure 29: under EASY fees are higher than under conservative backfilling, the more so the fuller the site; CTC at 78.8 % \
               is dearer than SDSC at 77.8 %",
        note: "A fee counts those who are moved back and leaves out those who are moved ahead. EASY plans nobody's start but \
               the head's, so what it would do may turn either way.",
        compare: |judge| {
            for site in Site::ALL {
                let fee = |planner: &str, load| judge.mean("29", &format!("{} {planner}", site.name()), load);
                let gaps: Vec<(Number, Number)> = priced(site)
                    .iter()
                    .map(|load| (fee("conservative-count", *load), fee("easy-count", *load)))
                    .collect();
                gaps.iter().for_each(|(conservative, easy)| judge.below(conservative, easy));
                for pair in gaps.windows(2) {
                    let [less, more] = [&pair[0], &pair[1]].map(|(conservative, easy)| easy.minus(conservative));
                    judge.below(&less, &more);
                }
            }
            for planner in ["easy-count", "conservative-count"] {
                judge.below(
                    &judge.mean("29", &format!("SDSC {planner}"), 77.8),
                    &judge.mean("29", &format!("CTC {planner}"), 78.8),
                );
            }
        },
        ours: Ours::Nothing,
    },
    Claim {
        number: 30,
        text: "Figures 30, 31: with inexact estimates fees are higher and everybody waits longer; reservations that pay nothing wait \
               longer than the queue",
        note: "",
        compare: |judge| {
            for name in names() {
                for alpha in PRICED_ALPHAS {
                    for (figure, what) in [("30", "fee"), ("31", "reserved"), ("31", "queued")] {
                        let [exact, inexact] = [format!("{name} {what}"), format!("{name} {what}, inexact")]
                            .map(|line| judge.mean(figure, &line, alpha));
                        // Where nothing is paid there is nothing to compare.
                        if figure == "31" || alpha < 1.0 {
                            judge.below(&exact, &inexact);
                        }
                    }
                }
                let [queued, reserved] =
                    ["queued", "reserved"].map(|who| judge.mean("31", &format!("{name} {who}, inexact"), 1.0));
                judge.below(&queued, &reserved);
            }
        },
        ours: Ours::Nothing,
    },
    Claim {
        number: 38,
        text: "Figures 38, 41: imitated reservations cost no more than real ones in the mean; and, whatever their size, no more than their \
               padding can be",
        note: "A padded job idles from its start on, often for most of the time ahead; for an hour's work on a site that displaces hardly \
               anybody that is more than a fee.",
        compare: |judge| {
            for name in Site::ALL {
                for (nodes, length) in NODES.into_iter().flat_map(|nodes| LENGTHS.map(|length| (nodes, length))) {
                    for ahead in AHEAD {
                        let [imitated, real] =
                            ["VAR", "AR"].map(|what| judge.mean("38", &line(name, what, nodes, length), ahead as f64));
                        judge.at_most(&imitated, &real, 0.0);
                    }
                }
                judge.at_most(&judge.most("41 excess", name.name()), &just(0.0), 1e-9);
            }
        },
        ours: Ours::Nothing,
    },
    Claim {
        number: 39,
        text: "Figures 39, 43: real reservations are had more often than imitated ones start in time, and where one fails the other tends \
               to fail",
        note: "A real one fails where running jobs are in its way now, though these may end before they have to; an imitated one \
               may start when they do.",
        compare: |judge| {
            for site in Site::ALL {
                for (nodes, length) in NODES.into_iter().flat_map(|nodes| LENGTHS.map(|length| (nodes, length))) {
                    for ahead in AHEAD {
                        let [imitated, real] =
                            ["VAR", "AR"].map(|what| judge.mean("39", &line(site, what, nodes, length), ahead as f64));
                        judge.at_most(&imitated, &real, 0.0);
                    }
                }
                let [real, imitated] =
                    ["39 failures AR", "39 failures VAR"].map(|figure| judge.results.samples(figure, site.name(), 0.0));
                let together = Number {
                    name: format!("correlation of failures({})", site.name()),
                    value: Some(correlation(real, imitated)),
                };
                judge.below(&just(0.0), &together);
            }
        },
        ours: Ours::Nothing,
    },
    Claim {
        number: 40,
        text: "Figures 40, 44: in most trials the real one is cheaper for 32 nodes and an hour, and the imitated one for four hours and for \
               64 nodes",
        note: "See Figures 38 and 41.",
        compare: |judge| {
            for site in Site::ALL {
                for (nodes, length) in NODES.into_iter().flat_map(|nodes| LENGTHS.map(|length| (nodes, length))) {
                    let winner = if (nodes, length) == (32, 1) { "AR cheaper" } else { "VAR cheaper" };
                    for ahead in AHEAD {
                        judge.below(&just(0.5), &judge.mean("40", &line(site, winner, nodes, length), ahead as f64));
                    }
                }
            }
        },
        ours: Ours::Bounds,
    },
    Claim {
        number: 46,
        text: "Figures 46 to 49: both together never cost more than the real reservation where there is one, and succeed at least as often \
               as either",
        note: "",
        compare: |judge| {
            for site in Site::ALL {
                judge.at_most(&judge.most("46 excess", site.name()), &just(0.0), 1e-6);
                for (nodes, length) in NODES.into_iter().flat_map(|nodes| LENGTHS.map(|length| (nodes, length))) {
                    for ahead in AHEAD {
                        let both = judge.mean("48", &line(site, "combined", nodes, length), ahead as f64);
                        for what in ["AR", "VAR"] {
                            judge.at_most(
                                &judge.mean("39", &line(site, what, nodes, length), ahead as f64),
                                &both,
                                0.0,
                            );
                        }
                    }
                }
            }
        },
        ours: Ours::Nothing,
    },
    Claim {
        number: 52,
        text: "Figure 52: at prices, too, a workflow takes less time than by best effort whatever cost weighs; at weight 1 it pays no fee and \
               exactly what best effort costs",
        note: "Whoever pays nothing takes what the queue leaves, task by task, as best effort does; it may be slower where jobs in \
               the queue let gaps go that only an unplanned task fits.",
        compare: |judge| {
            for name in names() {
                let both = |judge: &Judge<'_, Results>, figure, alpha| {
                    ["provisioned", "best effort"].map(|what| judge.mean(figure, &format!("{name} {what}"), alpha))
                };
                for alpha in ALPHAS {
                    let [provisioned, queued] = both(judge, "52 makespan", alpha);
                    judge.below(&provisioned, &queued);
                }
                judge.at_most(&judge.mean("52 fees", name, 1.0), &just(0.0), 0.0);
                let [provisioned, queued] = both(judge, "52 cost", 1.0);
                judge.at_most(&provisioned.distance(&queued), &just(1e-6), 0.0);
            }
        },
        ours: Ours::Nothing,
    },
    Claim {
        number: 53,
        text: "Figures 52, 13: who buys at prices takes no longer than over slots that displace nobody, and pays no less",
        note: "With cost in the balance both go their own ways: the search pays for inner slots as a whole, and who buys waits until \
               fees have fallen.",
        compare: |judge| {
            for (name, alpha) in names().into_iter().flat_map(|name| ALPHAS.map(|alpha| (name, alpha))) {
                let line = format!("{name} provisioned");
                judge.at_most(&judge.mean("52 makespan", &line, alpha), &judge.mean("13 makespan", &line, alpha), 0.0);
                judge.at_most(&judge.mean("13 cost", &line, alpha), &judge.mean("52 cost", &line, alpha), 0.0);
            }
        },
        ours: Ours::Nothing,
    },
    Claim {
        number: 54,
        text: "Figure 53: bought workflows take less time than by best effort whatever their size; on SDSC the more so the larger they are; \
               what cost weighs matters little for time and much for cost",
        note: "At weight 1 nobody is displaced, and a workflow waits behind all of a long queue; where queues are short that \
               costs little time.",
        compare: |judge| {
            for name in names() {
                for tasks in TASKS {
                    let [quick, cheap] =
                        [0, 1].map(|alpha| judge.mean("53 makespan", &format!("{name} alpha {alpha}"), tasks));
                    judge.below(&quick, &just(1.0));
                    judge.below(&cheap, &just(1.0));
                    judge.at_most(&cheap, &quick.times(1.3), 0.0);
                    let [dear, free] =
                        [0, 1].map(|alpha| judge.mean("53 cost", &format!("{name} alpha {alpha}"), tasks));
                    judge.below(&free.times(1.3), &dear);
                }
            }
            for alpha in [0, 1] {
                judge.falls("53 makespan", &format!("SDSC alpha {alpha}"), &TASKS);
            }
        },
        ours: Ours::Bounds,
    },
    Claim {
        number: 55,
        text: "Figures 54, 55: the larger tasks are, the less is paid against best effort; the larger tasks and the fuller the site, the \
               larger is the gain in time",
        note: "See Figure 16.",
        compare: |judge| {
            for site in Site::ALL {
                let widths = widths(site);
                judge.falls("54 cost", &format!("{} alpha 0", site.name()), &all_widths(site));
                for alpha in [0, 1] {
                    judge.falls("54 makespan", &format!("{} alpha {alpha}", site.name()), &all_widths(site));
                }
                for procs in widths {
                    let line = format!("{} {procs} procs", site.name());
                    judge.falls("55 makespan", &line, &loads(site));
                    for load in loads(site) {
                        judge.at_most(&just(1.0), &judge.mean("55 cost", &line, load), 1e-9);
                    }
                }
            }
        },
        ours: Ours::Bounds,
    },
    Claim {
        number: 56,
        text: "Figure 56: the number of sites hardly matters for time at prices, which is less than over slots; cost is 1.43 of best effort's on \
               two sites, and falls as sites are added",
        note: "The sites that are added last are those with the least load: where one of them is empty, so is the price.",
        compare: |judge| {
            for sites in &SITES[1..] {
                judge.within_factor(
                    &judge.mean("56 makespan", "provisioned", 2.0),
                    &judge.mean("56 makespan", "provisioned", *sites),
                    1.3,
                );
            }
            for sites in SITES {
                judge.at_most(
                    &judge.mean("56 makespan", "provisioned", sites),
                    &judge.mean("19 makespan", "provisioned", sites),
                    0.0,
                );
            }
            judge.falls("56 cost", "provisioned", &SITES);
        },
        ours: Ours::Bounds,
    },
];
