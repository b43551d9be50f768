//! Claims of figures 52 to 56: workflows bought at prices.

use super::super::plans::workflow_widths;
use super::super::{Results, Site};
use super::{ALPHAS, ProvisioningNumbers, SITES, TASKS, lines_by_width, load_percents, priced_widths, site_names};
use hansa_report::experiment::claims::{Claim, ClaimSource, Judge, Number};

pub const MAKESPAN: Claim<Results> = Claim::new(
    "Figure 52: at prices, too, a workflow takes less time than by best effort at every weight of cost, and its time \
     varies much less; at weight 1 it pays no fee and exactly what best effort costs; SDSC is dearer than CTC",
    &[ClaimSource::Sense(
        "figure 52",
        "the makespan and its deviation are below best effort's at every alpha; no fee at alpha 1; SDSC is dearer",
    )],
    |judge| {
        for name in site_names() {
            for alpha in ALPHAS {
                let [provisioned, queued] = provisioned_and_not(judge, "52 makespan", alpha, name);
                judge.expect_below(&provisioned, &queued);
                let [provisioned, queued] = ["provisioned", "best effort"]
                    .map(|what| judge.deviation_number("52 makespan", &format!("{name} {what}"), alpha));
                judge.with_bound("a deviation \"much below\" is read as half", |judge| {
                    judge.expect_at_most(&provisioned, queued.times(0.5));
                });
            }
            judge.expect_at_most(judge.mean("52 fees", name, 1.0), 0.0);
            let [provisioned, queued] = provisioned_and_not(judge, "52 cost", 1.0, name);
            judge.expect_at_most(provisioned.distance(&queued), 1e-6);
        }
        for alpha in &ALPHAS[..5] {
            let [ctc, sdsc] = site_names().map(|name| judge.ratio_number("52 cost", name, *alpha));
            judge.expect_below(&ctc, &sdsc);
        }
    },
)
.with_note(
    "A plan without fees takes what the queue leaves, task by task, like best effort; it may be slower if jobs \
            in the queue leave gaps that only an unplanned task fits.",
);

pub const AGAINST_SLOTS: Claim<Results> = Claim::new(
    "Figures 52, 13: buying at prices generally takes no longer than slots that displace no job, and costs no less",
    &[
        ClaimSource::Quote("figure 52", "is generally less than the provisioned makespan in Figure 13"),
        ClaimSource::Sense("figure 52", "costs are higher than those of figure 13"),
    ],
    |judge| {
        for [lower, higher] in [["52 makespan", "13 makespan"], ["13 cost", "52 cost"]] {
            judge.compare_generally(|judge| {
                for (name, alpha) in site_names().into_iter().flat_map(|name| ALPHAS.map(|alpha| (name, alpha))) {
                    let line = format!("{name} provisioned");
                    judge.expect_at_most(judge.mean(lower, &line, alpha), judge.mean(higher, &line, alpha));
                }
            });
        }
    },
)
.with_note(
    "A plan over slots pays for an inner slot as a whole, while one that is bought pays for its tasks and their \
            fees: if cost counts, it waits until these have fallen, and may take longer.",
);

pub const BY_TASKS: Claim<Results> = Claim::new(
    "Figure 53: bought workflows take less time than by best effort with every number of tasks; on SDSC the more so \
     the larger they are; what cost weighs matters little for time and much for cost",
    &[
        ClaimSource::Quote("figure 53", "makespan is better than best effort for all workflow sizes"),
        ClaimSource::Quote("figure 53", "no significant difference in the makespan between doing provisioning"),
        ClaimSource::Quote("figure 53", "the allocation cost between the two differs significantly"),
    ],
    |judge| {
        for (name, tasks) in site_names().into_iter().flat_map(|name| TASKS.map(|tasks| (name, tasks))) {
            for alpha in [0, 1] {
                judge.expect_below(judge.ratio_number("53 makespan", &format!("{name} alpha {alpha}"), tasks), 1.0);
            }
        }
        judge.separate_part(|judge| {
            for (quick, cheap, panel) in weights(judge, "53 makespan") {
                judge.close(&quick, &cheap, &panel);
            }
        });
        judge.separate_part(|judge| {
            for (dear, free, panel) in weights(judge, "53 cost") {
                judge.expect_apart(&dear, &free, &panel);
            }
        });
        judge.compare_generally(|judge| {
            for alpha in [0, 1] {
                judge.ratio_falls("53 makespan", &format!("SDSC alpha {alpha}"), &TASKS);
            }
        });
    },
)
.with_note(
    "At weight 1 a workflow displaces no job and waits behind the whole queue. Where the queue is short a \
            workflow displaces hardly any job, so fees are low at any weight.",
);

/// Numbers at weights 0 and 1, each with all numbers of its site's panel in figure 53.
fn weights(judge: &Judge<'_, Results>, figure: &'static str) -> Vec<(Number, Number, Vec<Number>)> {
    let mut pairs = Vec::new();
    for name in site_names() {
        let [quick, cheap, queued] = ["alpha 0 provisioned", "alpha 1 provisioned", "alpha 0 best effort"]
            .map(|line| TASKS.map(|tasks| judge.mean(figure, &format!("{name} {line}"), tasks)));
        let panel = [&quick[..], &cheap, &queued].concat();
        pairs.extend(quick.into_iter().zip(cheap).map(|(quick, cheap)| (quick, cheap, panel.clone())));
    }
    pairs
}

pub const BY_WIDTH_AND_LOAD: Claim<Results> = Claim::new(
    "Figures 54, 55: a workflow always takes less time than by best effort; in general, the larger the tasks, the less \
     is paid relative to best effort, and the larger tasks and the fuller the site, the larger is the gain in time; \
     the smallest tasks cost about 2 times as much on CTC, about 6 times as much on SDSC",
    &[
        ClaimSource::Quote("figure 54", "about 6 times the cost in the SDSC cluster"),
        ClaimSource::Quote(
            "figure 54",
            "both the provisioned makespan and allocation cost improve as compared to best effort",
        ),
        ClaimSource::Quote("figure 55", "as the resource utilization increases and/or the task sizes increase"),
        ClaimSource::Quote(
            "figure 55",
            "The allocation cost of the provisioned approach is higher than the best effort",
        ),
    ],
    |judge| {
        let smallest = Site::ALL.map(|site| priced_widths(judge, site)[0]);
        for (figure, line, at, paper) in [
            ("54 makespan", "CTC alpha 0", smallest[0], 0.85),
            ("54 makespan", "CTC alpha 1", smallest[0], 0.89),
            ("54 cost", "CTC alpha 0", smallest[0], 2.2),
            ("54 cost", "CTC alpha 1", smallest[0], 1.0),
            ("54 cost", "SDSC alpha 0", smallest[1], 6.0),
        ] {
            let ratio = judge.ratio_number(figure, line, at);
            judge.show_numbers(&[(ratio, paper)]);
        }
        for (name, at, printed) in [("CTC", smallest[0], 2.0), ("SDSC", smallest[1], 6.0)] {
            let dear = judge.ratio_number("54 cost", &format!("{name} alpha 0"), at);
            judge.separate_part(|judge| judge.expect_about(&dear, printed));
        }
        for (line, widths) in priced_lines(judge) {
            widths.iter().for_each(|width| judge.expect_below(judge.ratio_number("54 makespan", &line, *width), 1.0));
        }
        judge.compare_generally(|judge| {
            for (line, widths) in priced_lines(judge) {
                judge.ratio_falls("54 makespan", &line, &widths);
            }
        });
        judge.compare_generally(|judge| {
            for site in Site::ALL {
                judge.ratio_falls("54 cost", &format!("{} alpha 0", site.name()), &priced_widths(judge, site));
            }
        });
        judge.compare_generally(by_load_and_width);
        judge.compare_generally(|judge| {
            for (line, site) in lines_by_width() {
                load_percents(site)
                    .iter()
                    .for_each(|load| judge.expect_below(1.0, judge.ratio_number("55 cost", &line, *load)));
            }
        });
    },
)
.with_note(
    "Single steps depend on how long the queue happens to be at the moments. Where no task displaces a job, no \
            fee is paid, and cost is exactly best effort's. At weight 0 a workflow takes the earliest start at any \
            fee, so a few long queues make the mean. The factor of 6 on SDSC is not found with any width.",
);

/// Lines of figure 54, with the widths of their points.
fn priced_lines(judge: &Judge<'_, Results>) -> Vec<(String, [f64; 4])> {
    let lines = Site::ALL.into_iter().flat_map(|site| {
        let widths = priced_widths(judge, site);
        [0, 1].map(|alpha| (format!("{} alpha {alpha}", site.name()), widths))
    });
    lines.collect()
}

/// Compares: the relative makespan in figure 55 falls with the load and with the width of tasks.
fn by_load_and_width(judge: &mut Judge<'_, Results>) {
    for (line, site) in lines_by_width() {
        judge.ratio_falls("55 makespan", &line, &load_percents(site));
    }
    for (site, load) in
        Site::ALL.into_iter().flat_map(|site| load_percents(site).into_iter().map(move |load| (site, load)))
    {
        let by_width = workflow_widths(site)
            .map(|procs| judge.ratio_number("55 makespan", &format!("{} {procs} procs", site.name()), load));
        judge.one_below_the_other(&by_width);
    }
}

pub const SEVERAL_SITES: Claim<Results> = Claim::new(
    "Figure 56: the number of sites hardly matters for time at prices, which is less than over slots; cost is about 43 \
     % more than best effort's on two sites, more than over slots, and falls as sites are added",
    &[
        ClaimSource::Quote("figure 56", "is about 43% more than that of the best effort allocation cost"),
        ClaimSource::Quote("figure 56", "The provisioned makespan is also lower than that of Figure 19"),
        ClaimSource::Quote("figure 56", "(Figure 56) is higher than that of the fixed price model (Figure 19)"),
    ],
    |judge| {
        on_several_sites(judge);
        let ratio = judge.ratio_number("56 cost", "", 2.0);
        judge.show_numbers(&[(ratio.clone(), 1.43)]);
        judge.separate_part(|judge| judge.expect_about(ratio.plus(-1.0), 0.43));
        judge.separate_part(|judge| {
            for sites in SITES {
                let [slots, prices] = ["19 cost", "56 cost"].map(|figure| judge.mean(figure, "provisioned", sites));
                judge.expect_below(&slots, &prices);
            }
        });
    },
)
.with_note(
    "Sites are added from the fullest to the emptiest: on the two fullest a workflow that weighs cost waits for \
            fees to fall, and each further site lets it start sooner without. With less loaded sites hardly any fee is \
            paid, so little is left to fall. A plan over slots pays for larger slots instead.",
)
.with_weaker("flat in time, below figure 19, and falling in cost", on_several_sites);

fn on_several_sites(judge: &mut Judge<'_, Results>) {
    let mut makespans = SITES.map(|sites| judge.mean("56 makespan", "provisioned", sites));
    makespans.sort_by(|one, other| one.value.unwrap_or(f64::NAN).total_cmp(&other.value.unwrap_or(f64::NAN)));
    let [least, .., most] = makespans;
    judge.with_bound("\"hardly matters\" is read as a factor of 1.3", |judge| {
        judge.separate_part(|judge| judge.expect_at_most(&most, least.times(1.3)));
    });
    for sites in SITES {
        judge.expect_below(
            judge.mean("56 makespan", "provisioned", sites),
            judge.mean("19 makespan", "provisioned", sites),
        );
    }
    judge.compare_generally(|judge| judge.ratio_falls("56 cost", "", &SITES));
}

fn provisioned_and_not(judge: &Judge<'_, Results>, figure: &'static str, alpha: f64, name: &str) -> [Number; 2] {
    ["provisioned", "best effort"].map(|what| judge.mean(figure, &format!("{name} {what}"), alpha))
}
