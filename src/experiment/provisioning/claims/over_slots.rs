//! Claims of figures 13 to 19: workflows over advertised slots.

use super::super::super::claims::{Claim, Judge, Note, Number, Ours, just};
use super::super::plans::widths;
use super::super::{Results, Site};
use super::{ALPHAS, SITES, all_widths, loads, names, notes};

pub const MAKESPAN: Claim<Results> = Claim {
    number: 6,
    text: "Figure 13: over slots a workflow takes less time than by best effort, whatever cost weighs, and less on CTC \
           than on SDSC",
    note: Note::Of(notes::makespan),
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
};

pub const COST: Claim<Results> = Claim {
    number: 7,
    text: "Figure 13: it costs no less than best effort, less the more cost weighs, and at weight 1 about the same; \
           the more cost weighs, the longer it takes",
    note: Note::None,
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
};

pub const VARIATION: Claim<Results> = Claim {
    number: 8,
    text: "Figure 13: below weight 1 makespans over slots vary less than those by best effort",
    note: Note::Of(notes::variation),
    compare: |judge| {
        for (name, alpha) in names().into_iter().flat_map(|name| ALPHAS[..5].iter().map(move |alpha| (name, *alpha))) {
            let [provisioned, queued] = ["provisioned", "best effort"]
                .map(|what| judge.deviation("13 makespan", &format!("{name} {what}"), alpha));
            judge.below(&provisioned, &queued);
        }
    },
    ours: Ours::Nothing,
};

pub const BY_TASKS: Claim<Results> = Claim {
    number: 9,
    text: "Figure 14: compared with best effort, 400 tasks gain more than 100 in time, and lose less in cost",
    note: Note::None,
    compare: |judge| {
        for name in names() {
            for figure in ["14 makespan", "14 cost"] {
                judge.at_most(&judge.ratio(figure, name, 400.0), &judge.ratio(figure, name, 100.0), 0.0);
            }
        }
    },
    ours: Ours::Nothing,
};

pub const BY_WIDTH: Claim<Results> = Claim {
    number: 10,
    text: "Figure 15: the larger tasks are, the larger is the gain in time, and the smaller the loss in cost",
    note: Note::None,
    compare: |judge| {
        for site in Site::ALL {
            for alpha in [0.0, 1.0] {
                judge.ratio_falls("15 makespan", &format!("{} alpha {alpha}", site.name()), &all_widths(site));
            }
            judge.ratio_falls("15 cost", &format!("{} alpha 0", site.name()), &all_widths(site));
        }
    },
    ours: Ours::Nothing,
};

pub const BY_LOAD: Claim<Results> = Claim {
    number: 11,
    text: "Figure 16: the fuller the site, the larger is the gain in time, most of all for large tasks; cost is much \
           the same",
    note: Note::Of(notes::over_slots_by_load),
    compare: |judge| {
        for site in Site::ALL {
            let line = |procs: u32| format!("{} {procs} procs", site.name());
            let (loads, widths) = (loads(site), widths(site));
            let (least, most) = (loads[0], loads[loads.len() - 1]);
            for procs in widths {
                judge.ratio_falls("16 makespan", &line(procs), &loads);
                let costs: Vec<Number> = loads.iter().map(|load| judge.ratio("16 cost", &line(procs), *load)).collect();
                for pair in costs.windows(2) {
                    judge.within_factor(&pair[0], &pair[1], 1.3);
                }
            }
            let gain = |procs: u32| {
                judge.ratio("16 makespan", &line(procs), least).minus(&judge.ratio("16 makespan", &line(procs), most))
            };
            let (small, large) = (gain(widths[0]), gain(widths[3]));
            judge.at_most(&small, &large, 0.0);
        }
    },
    ours: Ours::Bounds,
};

pub const CYBERSHAKE: Claim<Results> = Claim {
    number: 12,
    text: "Figure 18: CyberShake takes less time over slots at every load, less than half of it at 88 %, varies less, \
           and costs the same",
    note: Note::Of(notes::cybershake),
    compare: |judge| {
        for load in loads(Site::Ctc) {
            let [provisioned, queued] =
                ["provisioned", "best effort"].map(|line| judge.mean("18 makespan", line, load));
            judge.below(&provisioned, &queued);
            let [provisioned, queued] =
                ["provisioned", "best effort"].map(|line| judge.deviation("18 makespan", line, load));
            judge.below(&provisioned, &queued);
            let [provisioned, queued] = ["provisioned", "best effort"].map(|line| judge.mean("18 cost", line, load));
            judge.within_factor(&provisioned, &queued, 1.02);
        }
        let [provisioned, queued] = ["provisioned", "best effort"].map(|line| judge.mean("18 makespan", line, 88.0));
        judge.at_most(&provisioned, &queued.times(0.5), 0.0);
    },
    ours: Ours::Bounds,
};

pub const SEVERAL_SITES: Claim<Results> = Claim {
    number: 13,
    text: "Figure 19: more sites make both faster, and best effort more so: slots take 0.30 of its time on two sites, \
           0.45 on six, at least a larger share on six than on two; and they always cost more",
    note: Note::Of(notes::several_sites),
    compare: several_sites,
    ours: Ours::Slack(|judge| {
        several_sites(judge);
        for (sites, share) in [(2.0, 0.30), (6.0, 0.45)] {
            let apart = judge.ratio("19 makespan", "", sites).distance(&just(share));
            judge.at_most(&apart, &just(0.005), 0.0);
        }
    }),
};

fn several_sites(judge: &mut Judge<'_, Results>) {
    judge.falls("19 makespan", "provisioned", &SITES);
    judge.falls("19 makespan", "best effort", &SITES);
    judge.below(&judge.ratio("19 makespan", "", 2.0), &judge.ratio("19 makespan", "", 6.0));
    for sites in SITES {
        judge.below(&judge.ratio("19 makespan", "", sites), &just(1.0));
        judge.below(&just(1.0), &judge.ratio("19 cost", "", sites));
    }
}
