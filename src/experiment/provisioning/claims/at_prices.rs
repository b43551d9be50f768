//! Claims of figures 52 to 56: workflows bought at prices.

use super::super::super::claims::{Claim, Judge, Note, Ours, just};
use super::super::plans::widths;
use super::super::{Results, Site};
use super::{ALPHAS, SITES, TASKS, all_widths, loads, names, notes};
use crate::few;

pub const MAKESPAN: Claim<Results> = Claim {
    number: 25,
    text: "Figure 52: at prices, too, a workflow takes less time than by best effort whatever cost weighs; at weight 1 \
           it pays no fee and exactly what best effort costs",
    note: Note::Of(notes::bought_makespan),
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
};

pub const AGAINST_SLOTS: Claim<Results> = Claim {
    number: 26,
    text: "Figures 52, 13: buying at prices takes no longer than slots that displace no job, and costs no less",
    note: Note::Of(notes::against_slots),
    compare: |judge| {
        for (name, alpha) in names().into_iter().flat_map(|name| ALPHAS.map(|alpha| (name, alpha))) {
            let line = format!("{name} provisioned");
            judge.at_most(&judge.mean("52 makespan", &line, alpha), &judge.mean("13 makespan", &line, alpha), 0.0);
            judge.at_most(&judge.mean("13 cost", &line, alpha), &judge.mean("52 cost", &line, alpha), 0.0);
        }
    },
    ours: Ours::Nothing,
};

pub const BY_TASKS: Claim<Results> = Claim {
    number: 27,
    text: "Figure 53: bought workflows take less time than by best effort whatever their size; on SDSC the more so the \
           larger they are; what cost weighs matters little for time and much for cost",
    note: Note::Of(notes::bought_by_tasks),
    compare: |judge| {
        for name in names() {
            for tasks in TASKS {
                let [quick, cheap] =
                    [0, 1].map(|alpha| judge.ratio("53 makespan", &format!("{name} alpha {alpha}"), tasks));
                judge.below(&quick, &just(1.0));
                judge.below(&cheap, &just(1.0));
                judge.at_most(&cheap, &quick.times(1.3), 0.0);
                let [dear, free] = [0, 1].map(|alpha| judge.ratio("53 cost", &format!("{name} alpha {alpha}"), tasks));
                judge.below(&free.times(1.3), &dear);
            }
        }
        for alpha in [0, 1] {
            judge.ratio_falls("53 makespan", &format!("SDSC alpha {alpha}"), &TASKS);
        }
    },
    ours: Ours::Bounds,
};

pub const BY_WIDTH_AND_LOAD: Claim<Results> = Claim {
    number: 28,
    text: "Figures 54, 55: the larger the tasks, the less is paid relative to best effort; the larger tasks and the \
           fuller the site, the larger is the gain in time",
    note: Note::Of(notes::at_prices_by_load),
    compare: |judge| {
        for site in Site::ALL {
            let widths = widths(site);
            judge.ratio_falls("54 cost", &format!("{} alpha 0", site.name()), &all_widths(site));
            for alpha in [0, 1] {
                judge.ratio_falls("54 makespan", &format!("{} alpha {alpha}", site.name()), &all_widths(site));
            }
            for procs in widths {
                let line = format!("{} {procs} procs", site.name());
                judge.ratio_falls("55 makespan", &line, &loads(site));
                for load in loads(site) {
                    judge.below(&just(1.0), &judge.ratio("55 cost", &line, load));
                }
            }
            for load in loads(site) {
                let line = |procs: u32| format!("{} {procs} procs", site.name());
                let by_width = widths.map(|procs| judge.ratio("55 makespan", &line(procs), load));
                judge.one_below_the_other(&by_width);
            }
        }
    },
    ours: Ours::Nothing,
};

pub const SEVERAL_SITES: Claim<Results> = Claim {
    number: 29,
    text: "Figure 56: the number of sites hardly matters for time at prices, which is less than over slots; cost is \
           1.43 of best effort's on two sites, and falls as sites are added",
    note: Note::Of(notes::bought_on_several),
    compare: on_several_sites,
    ours: Ours::SlackAndBounds(|judge| {
        on_several_sites(judge);
        let apart = judge.ratio("56 cost", "", 2.0).distance(&just(1.43));
        judge.at_most(&apart, &just(0.005), 0.0);
    }),
};

fn on_several_sites(judge: &mut Judge<'_, Results>) {
    let mut makespans = SITES.map(|sites| judge.mean("56 makespan", "provisioned", sites));
    few::sort_by(&mut makespans, |one, other| {
        one.value.unwrap_or(f64::NAN).total_cmp(&other.value.unwrap_or(f64::NAN))
    });
    let [least, .., most] = makespans;
    judge.at_most(&most, &least.times(1.3), 0.0);
    for sites in SITES {
        judge.below(&judge.mean("56 makespan", "provisioned", sites), &judge.mean("19 makespan", "provisioned", sites));
    }
    judge.ratio_falls("56 cost", "", &SITES);
}
