//! Claims of figures 4 to 8: advertised slots.

use super::super::Results;
use super::{ProvisioningNumbers, site_names};
use hansa_report::experiment::claims::{Claim, ClaimSource, Number};

pub const COUNT: Claim<Results> = Claim::new(
    "Figure 4: CTC advertises more slots than SDSC, 27 and 14 in the mean",
    &[ClaimSource::Quote(
        "figure 4",
        "The average number of advertised slots for the CTC cluster was 27 whereas for the SDSC cluster it was 14.",
    )],
    |judge| {
        let [ctc, sdsc] = site_names().map(|name| judge.mean("4 mean", name, 0.0));
        judge.show_numbers(&[(ctc.clone(), 27.0), (sdsc.clone(), 14.0)]);
        judge.expect_below(&sdsc, &ctc);
        judge.separate_part(|judge| {
            judge.expect_agreement(&ctc, 27.0);
            judge.expect_agreement(&sdsc, 14.0);
        });
    },
)
.with_note(
    "With the model, jobs are larger on a larger machine. So there are more of them at a time on SDSC than on \
            CTC, and as many gaps between them (figure 5), while those of CTC's log are small beside the machine.",
);

pub const COUNT_AND_JOBS: Claim<Results> = Claim::new(
    "Figure 5: the more tasks in the system, the more slots",
    &[ClaimSource::Sense("figure 5", "slots increase with the tasks that run or wait")],
    |judge| {
        judge.with_bound("a correlation of 0.3", |judge| {
            site_names().iter().for_each(|name| judge.expect_below(0.3, judge.mean("5 correlation", name, 0.0)));
        });
    },
);

pub const STARTS: Claim<Results> = Claim::new(
    "Figure 6: slots without end last until 48 hours from now; starts and durations of SDSC's slots vary more than \
     those of CTC",
    &[
        ClaimSource::Quote("figure 6", "has more variation than the slots from the CTC cluster"),
        ClaimSource::Quote("figure 6", "the sum of the start time and duration is 48 hours"),
    ],
    |judge| {
        for name in site_names() {
            judge.expect_at_most(
                judge.mean("6 horizon", name, 0.0).distance(Number::new("48".to_owned(), Some(48.0))),
                1e-6,
            );
        }
        for what in ["", " durations"] {
            let [ctc, sdsc] = site_names().map(|name| judge.mean("6 deviation", &format!("{name}{what}"), 0.0));
            judge.separate_part(|judge| judge.expect_below(&ctc, &sdsc));
        }
    },
)
.with_note("Slots begin where jobs end: with logs, jobs run for 3.1 hours in the mean on CTC, and for 2.0 on SDSC.");

pub const SIZES: Claim<Results> = Claim::new(
    "Figure 7: a large part of the slots have at most ten processors, and there are peaks at 2, 8, 16, 32 and 64",
    &[
        ClaimSource::Quote("figure 7", "percentage of slots have only few processors (1-10)"),
        ClaimSource::Quote("figure 7", "peaks at powers of 2 i.e. 2, 8, 16, 32, 64"),
    ],
    |judge| {
        judge.with_bound("\"a large percentage\" is read as half", |judge| {
            for name in site_names() {
                judge.expect_at_most(0.5, judge.mean("7 at most 10", name, 0.0));
            }
        });
        judge.separate_part(|judge| {
            for (name, power) in site_names().into_iter().flat_map(|name| PEAKS.map(|power| (name, power))) {
                let peak = judge.count("7", name, power);
                // One is a power of two as well: next to it, two need not be higher.
                for beside in [power - 1.0, power + 1.0].into_iter().filter(|beside| *beside > 1.0) {
                    judge.expect_below(judge.count("7", name, beside), &peak);
                }
            }
        });
    },
)
.with_note(
    "With the model, jobs grow with the machine, and so do the gaps that they leave. Slots are counted at each \
            look, every three hours: a gap beside long jobs that stays for days is seen dozens of times, whatever its \
            size.",
);

/// Numbers of processors at which the thesis sees peaks.
const PEAKS: [f64; 5] = [2.0, 8.0, 16.0, 32.0, 64.0];

pub const ESTIMATES: Claim<Results> = Claim::new(
    "Figure 8: with inexact estimates slots start later, and inner ones last about as long",
    &[
        ClaimSource::Quote(
            "figure 8",
            "start later as compared to the case where tasks report their accurate runtime estimates",
        ),
        ClaimSource::Quote("figure 8", "the slot runtimes are not significantly affected"),
    ],
    |judge| {
        for at in [0.0, 1.0] {
            judge.expect_below(
                judge.mean("8 mean", "mean start, exact", at),
                judge.mean("8 mean", "mean start, inexact", at),
            );
        }
        for at in [0.0, 1.0] {
            let [exact, inexact] =
                ["median duration, exact", "median duration, inexact"].map(|line| judge.mean("8 mean", line, at));
            judge.with_bound("\"not significantly affected\" is read as medians within a factor of 2", |judge| {
                judge.separate_part(|judge| judge.within_factor(&exact, &inexact, 2.0));
            });
        }
    },
)
.with_note(
    "Plans by estimates reach further than what happens, and leave longer gaps there. Slots without end are \
            left out of the medians: they last until the horizon.",
);
