//! Claims of figures 4 to 8: advertised slots.

use super::super::Results;
use super::{ProvisioningNumbers, names};
use hansa_report::experiment::claims::{Claim, Number, Says, just};

pub const COUNT: Claim<Results> = Claim {
    number: 1,
    text: "Figure 4: CTC advertises more slots than SDSC, 27 and 14 in the mean",
    says: &[Says::Sense("figure 4", "means of 27 slots (CTC) and 14 (SDSC)")],
    note: Some(
        "With the model, jobs are larger on a larger machine. So there are more of them at a time on SDSC than on CTC, \
         and as many gaps between them (figure 5), while those of CTC's log are small beside the machine.",
    ),
    compare: |judge| {
        let [ctc, sdsc] = names().map(|name| judge.mean("4 mean", name, 0.0));
        judge.show(&[(ctc.clone(), 27.0), (sdsc.clone(), 14.0)]);
        judge.below(&sdsc, &ctc);
        judge.part(|judge| {
            judge.agrees(&ctc, 27.0);
            judge.agrees(&sdsc, 14.0);
        });
    },
    weaker: None,
};

pub const COUNT_AND_JOBS: Claim<Results> = Claim {
    number: 2,
    text: "Figure 5: the more tasks in the system, the more slots",
    says: &[Says::Sense("figure 5", "slots increase with the tasks that run or wait")],
    note: None,
    compare: |judge| {
        judge.bound("a correlation of 0.3", |judge| {
            names().iter().for_each(|name| judge.below(&just(0.3), &judge.mean("5 correlation", name, 0.0)));
        });
    },
    weaker: None,
};

pub const STARTS: Claim<Results> = Claim {
    number: 3,
    text: "Figure 6: slots without end last until 48 hours from now; starts of SDSC are spread wider than those of CTC",
    says: &[Says::Sense("figure 6", "start and duration of slots at the edge sum to 48 hours")],
    note: Some(
        "Slots begin where jobs end: with logs, jobs run for 3.1 hours in the mean on CTC, and for 2.0 on SDSC.",
    ),
    compare: |judge| {
        for name in names() {
            judge.at_most(
                &judge.mean("6 horizon", name, 0.0).distance(&Number::new("48".to_owned(), Some(48.0))),
                &just(1e-6),
                0.0,
            );
        }
        judge.below(&judge.mean("6 deviation", "CTC", 0.0), &judge.mean("6 deviation", "SDSC", 0.0));
    },
    weaker: None,
};

pub const SIZES: Claim<Results> = Claim {
    number: 4,
    text: "Figure 7: most slots have at most ten processors, and there are peaks at 2, 8, 16, 32 and 64",
    says: &[Says::Sense("figure 7", "most slots are small; there are peaks at powers of two, to 64")],
    note: Some(
        "With the model, jobs grow with the machine, and so do the gaps that they leave. Slots are counted at each \
         look, every three hours: a gap beside long jobs that stays for days is seen dozens of times, whatever its \
         size.",
    ),
    compare: |judge| {
        for name in names() {
            judge.bound("\"most\" is read as half", |judge| {
                judge.at_most(&just(0.5), &judge.mean("7 at most 10", name, 0.0), 0.0);
            });
            for power in [2.0, 8.0, 16.0, 32.0, 64.0] {
                let peak = judge.count("7", name, power);
                // One is a power of two as well: next to it, two need not be higher.
                for beside in [power - 1.0, power + 1.0].into_iter().filter(|beside| *beside > 1.0) {
                    judge.below(&judge.count("7", name, beside), &peak);
                }
            }
        }
    },
    weaker: None,
};

pub const ESTIMATES: Claim<Results> = Claim {
    number: 5,
    text: "Figure 8: with inexact estimates slots start later, and last about as long",
    says: &[Says::Sense("figure 8", "starts are later with inexact estimates, durations similar")],
    note: Some(
        "With the model, half of the jobs have estimates of five times their run time and more, so plans reach much \
         further than what happens, and leave long gaps there. With exact run times many slots have no end, and the \
         median one lasts until 48 hours from now.",
    ),
    compare: |judge| {
        for at in [0.0, 1.0] {
            judge.below(
                &judge.mean("8 mean", "mean start, exact", at),
                &judge.mean("8 mean", "mean start, inexact", at),
            );
            let [exact, inexact] =
                ["median duration, exact", "median duration, inexact"].map(|line| judge.mean("8 mean", line, at));
            judge.bound("\"similar\" is read as medians within a factor of 2", |judge| {
                judge.within_factor(&exact, &inexact, 2.0);
            });
        }
    },
    weaker: None,
};
