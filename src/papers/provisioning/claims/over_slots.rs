//! Claims of figures 13 to 19: workflows over advertised slots.

use super::super::plans::workflow_widths;
use super::super::{Results, Site};
use super::{ALPHAS, ProvisioningNumbers, SITES, all_widths, lines_by_width, load_percents, site_names};
use hansa_report::experiment::claims::{Claim, ClaimSource, Judge, Number};

/// Explanation of plans over slots that are slower than best effort, or vary more.
const BEHIND_ALL: &str = "Only slots without end cost no more than is used of them, and they begin behind all planned \
                          jobs, where other slots are paid as a whole: a plan that must be cheap waits for them, while \
                          by best effort a task starts in any gap.";

pub const MAKESPAN: Claim<Results> = Claim::new(
    "Figure 13: over slots a workflow takes less time than by best effort at every weight of cost, and less on CTC \
     than on SDSC",
    &[ClaimSource::Sense("figure 13", "the makespan is below best effort's at every alpha")],
    |judge| {
        for alpha in ALPHAS {
            for name in site_names() {
                let [provisioned, queued] = ["provisioned", "best effort"]
                    .map(|what| judge.mean("13 makespan", &format!("{name} {what}"), alpha));
                judge.expect_below(&provisioned, &queued);
            }
            judge.expect_below(
                judge.mean("13 makespan", "CTC provisioned", alpha),
                judge.mean("13 makespan", "SDSC provisioned", alpha),
            );
        }
    },
)
.with_note(BEHIND_ALL);

pub const COST: Claim<Results> = Claim::new(
    "Figure 13: it costs no less than best effort, less the more cost weighs, and at weight 1 about the same; the more \
     cost weighs, the longer it takes",
    &[ClaimSource::Sense("figure 13", "cost falls and makespan rises with alpha")],
    |judge| {
        for name in site_names() {
            let line = format!("{name} provisioned");
            let queued = judge.mean("13 cost", &format!("{name} best effort"), 1.0);
            for alpha in ALPHAS {
                judge.expect_within(&queued, judge.mean("13 cost", &line, alpha), 1e-9);
            }
            judge.with_bound("\"about the same\" is read as 2 %", |judge| {
                judge.expect_at_most(judge.mean("13 cost", &line, 1.0), queued.times(1.02));
            });
            judge.expect_falling("13 cost", &line, &ALPHAS);
            judge.expect_rising("13 makespan", &line, &ALPHAS);
        }
    },
);

pub const VARIATION: Claim<Results> = Claim::new(
    "Figure 13: makespans over slots generally vary less than those by best effort, but on SDSC at weight 1; the less \
     cost weighs the more so; the variation of cost falls with its weight, and best effort's cost does not vary at all",
    &[
        ClaimSource::Quote("figure 13", "is a constant and hence its deviation is zero"),
        ClaimSource::Quote("figure 13", "is generally higher than that of the provisioned approach"),
        ClaimSource::Quote("figure 13", "the standard deviation of the provisioned makespan increases"),
        ClaimSource::Quote("figure 13", "the standard deviation of the provisioned allocation cost increases"),
    ],
    |judge| {
        judge.compare_generally(|judge| {
            let all = site_names().into_iter().flat_map(|name| ALPHAS.map(|alpha| (name, alpha)));
            for (name, alpha) in all.filter(|one| *one != ("SDSC", 1.0)) {
                let [provisioned, queued] = ["provisioned", "best effort"]
                    .map(|what| judge.deviation_number("13 makespan", &format!("{name} {what}"), alpha));
                judge.expect_below(&provisioned, &queued);
            }
        });
        let lines = site_names().map(|name| format!("{name} provisioned"));
        judge.compare_generally(|judge| {
            lines.iter().for_each(|line| judge.deviation_rises("13 makespan", line, &ALPHAS))
        });
        judge.compare_generally(|judge| lines.iter().for_each(|line| judge.deviation_falls("13 cost", line, &ALPHAS)));
        for name in site_names() {
            let constant = judge.deviation_number("13 cost", &format!("{name} best effort"), 0.0);
            judge.show_numbers(&[(constant.clone(), 0.0)]);
            judge.expect_at_most(&constant, 0.0);
        }
    },
)
.with_note(BEHIND_ALL);

pub const BY_TASKS: Claim<Results> = Claim::new(
    "Figure 14: compared with best effort, 400 tasks gain more than 100 in time, and lose less in cost, at weights 0 \
     and 1",
    &[ClaimSource::Sense("figure 14", "makespan and cost relative to best effort's fall with the number of tasks")],
    |judge| {
        for (name, alpha) in site_names().into_iter().flat_map(|name| [(name, 0), (name, 1)]) {
            let line = format!("{name} alpha {alpha}");
            for figure in ["14 makespan", "14 cost"] {
                judge
                    .expect_at_most(judge.ratio_number(figure, &line, 400.0), judge.ratio_number(figure, &line, 100.0));
            }
        }
    },
)
.with_note(BEHIND_ALL);

pub const BY_WIDTH: Claim<Results> = Claim::new(
    "Figure 15: the makespan is below best effort's at every width of tasks and weight of cost; the larger tasks are, \
     the larger is the gain in time, and the smaller the loss in cost",
    &[ClaimSource::Sense("figure 15", "lower makespan at every alpha")],
    |judge| {
        for (line, at, paper) in [
            ("CTC alpha 0", 3.0, 0.87),
            ("CTC alpha 1", 3.0, 0.92),
            ("CTC alpha 0", 30.0, 0.577),
            ("CTC alpha 1", 30.0, 0.585),
        ] {
            let ratio = judge.ratio_number("15 makespan", line, at);
            judge.show_numbers(&[(ratio, paper)]);
        }
        for (line, at, paper) in [
            ("CTC alpha 0", 3.0, 1.5),
            ("CTC alpha 1", 3.0, 1.0),
            ("CTC alpha 0", 30.0, 1.003),
            ("CTC alpha 1", 30.0, 1.0),
        ] {
            let ratio = judge.ratio_number("15 cost", line, at);
            judge.show_numbers(&[(ratio, paper)]);
        }
        for site in Site::ALL {
            for alpha in [0.0, 1.0] {
                let line = format!("{} alpha {alpha}", site.name());
                for width in all_widths(site) {
                    judge.expect_below(judge.ratio_number("15 makespan", &line, width), 1.0);
                }
                judge.ratio_falls("15 makespan", &line, &all_widths(site));
            }
            judge.ratio_falls("15 cost", &format!("{} alpha 0", site.name()), &all_widths(site));
        }
    },
)
.with_note(BEHIND_ALL)
.with_weaker("the makespan relative to best effort's falls with the width of tasks", |judge| {
    for site in Site::ALL {
        for alpha in [0.0, 1.0] {
            judge.ratio_falls("15 makespan", &format!("{} alpha {alpha}", site.name()), &all_widths(site));
        }
    }
});

pub const BY_LOAD: Claim<Results> = Claim::new(
    "Figure 16: generally, the fuller the site, the larger is the gain in time, most of all for large tasks; cost is \
     much the same",
    &[
        ClaimSource::Quote(
            "figure 16",
            "Generally, the provisioned makespan becomes smaller as compared to best effort",
        ),
        ClaimSource::Quote("figure 16", "This effect becomes more pronounced when the task sizes are large"),
        ClaimSource::Quote("figure 16", "is not significantly affected by the resource load"),
    ],
    |judge| {
        judge.compare_generally(|judge| {
            for (line, site) in lines_by_width() {
                judge.ratio_falls("16 makespan", &line, &load_percents(site));
            }
        });
        judge.with_bound("\"not significantly affected\" is read as a factor of 1.3", |judge| {
            judge.separate_part(|judge| {
                for (line, site) in lines_by_width() {
                    let costs: Vec<Number> =
                        load_percents(site).iter().map(|load| judge.ratio_number("16 cost", &line, *load)).collect();
                    costs.windows(2).for_each(|pair| judge.within_factor(&pair[0], &pair[1], 1.3));
                }
            });
        });
        for site in Site::ALL {
            let [small, .., large] = workflow_widths(site).map(|procs| gain(judge, site, procs));
            judge.separate_part(|judge| judge.expect_at_most(&small, &large));
        }
    },
)
.with_note(
    "Single steps depend on how long the queue happens to be at the moments. An inner slot is paid as a whole, \
            and at weight 0.5 some plans take one that is many times as large as a narrow task: a few moments make the \
            mean.",
);

/// Difference that the load of a site makes for the relative makespan in figure 16.
fn gain(judge: &Judge<'_, Results>, site: Site, procs: u32) -> Number {
    let line = format!("{} {procs} procs", site.name());
    let loads = load_percents(site);
    let [least, most] = [loads[0], loads[loads.len() - 1]].map(|load| judge.ratio_number("16 makespan", &line, load));
    least.minus(&most)
}

pub const CYBERSHAKE: Claim<Results> = Claim::new(
    "Figure 18: CyberShake takes less time over slots at every load, 23 % less at 63 % and half at 88 %, varies less, \
     and costs the same",
    &[ClaimSource::Sense(
        "figure 18",
        "476,811 s by best effort at 63 %; 23 % less over slots there, 50 % less at 88 %",
    )],
    |judge| {
        let best_effort = judge.mean("18 makespan", "best effort", 63.0);
        let cost = judge.mean("18 cost", "best effort", 63.0);
        let numbers = [
            (best_effort, 132.4),
            (cost, 14_572.3),
            (saved_makespan(judge, 63.0), 0.23),
            (saved_makespan(judge, 88.0), 0.5),
        ];
        judge.show_numbers(&numbers);
        for load in load_percents(Site::Ctc) {
            let [provisioned, queued] =
                ["provisioned", "best effort"].map(|line| judge.mean("18 makespan", line, load));
            judge.expect_below(&provisioned, &queued);
            let [provisioned, queued] =
                ["provisioned", "best effort"].map(|line| judge.deviation_number("18 makespan", line, load));
            judge.expect_below(&provisioned, &queued);
            let [provisioned, queued] = ["provisioned", "best effort"].map(|line| judge.mean("18 cost", line, load));
            judge.with_bound("\"the same\" cost is read as within 2 %", |judge| {
                judge.within_factor(&provisioned, &queued, 1.02);
            });
        }
        for (load, part) in [(63.0, 0.77), (88.0, 0.5)] {
            let [provisioned, queued] =
                ["provisioned", "best effort"].map(|line| judge.mean("18 makespan", line, load));
            judge.expect_at_most(&provisioned, queued.times(part));
        }
    },
)
.with_note(
    "Two of its tasks need 288 of 430 processors for a day, one after the other, so it takes at least 48.7 \
            hours. Only waits can be saved, and by best effort they are shorter here than in the thesis; a single long \
            run makes the deviation. A plan that takes an inner slot pays for all of it, however large.",
);

pub const SEVERAL_SITES: Claim<Results> = Claim::new(
    "Figure 19: more sites make both faster, and best effort more so: slots take about 0.30 of its time on two sites, \
     0.45 on six; they always cost more, slightly less with each site",
    &[
        ClaimSource::Quote("figure 19", "is about 30% of the best effort makespan when only 2 highly loaded resources"),
        ClaimSource::Quote("figure 19", "both the provisioned and best effort makespan decrease"),
        ClaimSource::Quote("figure 19", "allocation cost is more than the best effort one"),
    ],
    |judge| {
        several_sites(judge);
        judge.compare_generally(|judge| judge.ratio_falls("19 cost", "", &SITES));
        for (sites, share) in [(2.0, 0.30), (6.0, 0.45)] {
            let ratio = judge.ratio_number("19 makespan", "", sites);
            judge.show_numbers(&[(ratio.clone(), share)]);
            judge.separate_part(|judge| judge.expect_about(&ratio, share));
        }
    },
)
.with_note(
    "Best effort sends a task where the fewest jobs run or wait, however large the site: a site of SDSC that is \
            added attracts tasks with its shorter queue, and has fewer processors to work it off with. A plan is \
            chosen by its cost as much as by its time, so with an additional site a cheaper and longer one may win.",
)
.with_weaker("a larger share of best effort's time on six sites than on two", several_sites);

fn several_sites(judge: &mut Judge<'_, Results>) {
    for way in ["provisioned", "best effort"] {
        judge.compare_generally(|judge| judge.expect_falling("19 makespan", way, &SITES));
    }
    judge.separate_part(|judge| {
        judge.expect_below(judge.ratio_number("19 makespan", "", 2.0), judge.ratio_number("19 makespan", "", 6.0))
    });
    for sites in SITES {
        judge.expect_below(judge.ratio_number("19 makespan", "", sites), 1.0);
        judge.expect_below(1.0, judge.ratio_number("19 cost", "", sites));
    }
}

fn saved_makespan(judge: &Judge<'_, Results>, load: f64) -> Number {
    let ratio = judge.ratio_number("18 makespan", "", load).value;
    Number::new(format!("part of the makespan saved at {load} %"), ratio.map(|ratio| 1.0 - ratio))
}
