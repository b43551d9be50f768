//! Claims of figures 23 to 31: reservations among jobs of a queue.

use super::super::prices::{ALPHAS, SHARES};
use super::super::{Results, Site};
use super::{ProvisioningNumbers, priced_percents, site_names};
use hansa_report::experiment::claims::{Claim, ClaimSource, Judge, Number};

pub const FEES: Claim<Results> = Claim::new(
    "Figure 23: the more cost weighs, the lower are fees, to none at all; SDSC is more expensive than CTC",
    &[ClaimSource::Sense("figure 23", "fees fall with alpha to zero; SDSC is dearer than CTC")],
    |judge| {
        for name in site_names() {
            judge.expect_falling("23", &format!("{name} fee"), &ALPHAS);
            judge.expect_at_most(judge.mean("23", &format!("{name} fee"), 1.0), 0.0);
        }
        for alpha in PAYING {
            judge.expect_below(judge.mean("23", "CTC fee", alpha), judge.mean("23", "SDSC fee", alpha));
        }
    },
)
.with_note(
    "A fee counts processor-hours that others lose. With the model, jobs grow with the machine, so those that a \
            reservation delays on CTC are about three times as wide as on SDSC.",
);

pub const WAITS: Claim<Results> = Claim::new(
    "Figure 24: reservations at any cost wait less than half as long as the queue, those without fees about as long",
    &[ClaimSource::Sense("figure 24", "at alpha 0 less than half of best effort's wait, at alpha 1 about equal")],
    |judge| {
        for name in site_names() {
            judge.expect_below(
                mean_wait(judge, "reserved", 0.0, name),
                mean_wait(judge, "queued", 0.0, name).times(0.5),
            );
            judge.with_bound("\"about equal\" is read as a factor of 1.3", |judge| {
                judge.within_factor(
                    mean_wait(judge, "reserved", 1.0, name),
                    mean_wait(judge, "queued", 1.0, name),
                    1.3,
                );
            });
        }
    },
);

pub const BY_LOAD: Claim<Results> = Claim::new(
    "Figures 25, 26: as load rises so do fees, and reservations that may have fees wait less relative to the queue",
    &[
        ClaimSource::Quote("figure 25", "price increases with increasing utilization"),
        ClaimSource::Quote("figure 26", "the reservation wait times becomes less as compared to the best effort"),
    ],
    |judge| {
        for (site, alpha) in Site::ALL.into_iter().flat_map(|site| PAYING.map(|alpha| (site, alpha))) {
            judge.expect_rising("25", &format!("{} alpha {alpha}", site.name()), &priced_percents(site));
        }
        judge.compare_generally(|judge| {
            for (site, alpha) in Site::ALL.into_iter().flat_map(|site| PAYING.map(|alpha| (site, alpha))) {
                judge.ratio_falls("26", &format!("{} alpha {alpha}", site.name()), &priced_percents(site));
            }
        });
    },
)
.with_note(
    "The more cost weighs, the more of the reservations start behind the queue, where their wait grows as its \
            does.",
);

/// Weights of cost under which reservations may have fees.
const PAYING: [f64; 4] = [0.0, 0.25, 0.5, 0.75];

pub const BY_SHARE: Claim<Results> = Claim::new(
    "Figure 27: the more jobs reserve, the less it costs, until there is no queue to displace, and the longer they \
     wait",
    &[ClaimSource::Sense("figure 27", "fees fall with the share of reservations, to zero at 100 %; waits rise")],
    |judge| {
        let shares = SHARES.map(f64::from);
        for name in site_names() {
            for pair in shares.windows(2) {
                judge.expect_below(judge.mean("27 fee", name, pair[1]), judge.mean("27 fee", name, pair[0]));
            }
            judge.expect_at_most(judge.mean("27 fee", name, 100.0), 0.0);
            judge.expect_rising("27 wait", name, &shares);
        }
    },
)
.with_note("Why single steps go the other way is not known.");

pub const HALF: Claim<Results> = Claim::new(
    "Figure 28: if half of all jobs reserve, the queue waits less the more cost weighs for them",
    &[ClaimSource::Quote("figure 28", "the reservations go nearer to the end of the schedule")],
    |judge| {
        judge.compare_generally(|judge| {
            for name in site_names() {
                judge.expect_falling("28", &format!("{name} queued"), &ALPHAS);
            }
        });
    },
)
.with_note("Why single steps go the other way is not known.");

/// Compares: a number is higher with inexact estimates.
fn inexact_is_more(judge: &mut Judge<'_, Results>, figure: &'static str, what: &str, alphas: &[f64]) {
    for (name, alpha) in site_names().into_iter().flat_map(|name| alphas.iter().map(move |alpha| (name, *alpha))) {
        let exact = judge.mean(figure, &format!("{name} {what}"), alpha);
        let inexact = judge.mean(figure, &format!("{name} {what}, inexact"), alpha);
        judge.expect_below(&exact, &inexact);
    }
}

pub const PLANNERS: Claim<Results> = Claim::new(
    "Figure 29: under EASY fees are generally higher than under conservative backfilling, the more so the fuller the \
     site; CTC at 78.8 % is more expensive than SDSC at 77.8 %",
    &[
        ClaimSource::Quote("figure 29", "is generally more than that of conservative backfilling"),
        ClaimSource::Quote("figure 29", "gets accentuated as the resource utilization increases"),
        ClaimSource::Quote(
            "figure 29",
            "is more than the average price at the SDSC cluster when the resource utilization is the same",
        ),
    ],
    |judge| {
        judge.compare_generally(|judge| {
            for (site, load) in Site::ALL.into_iter().flat_map(|site| priced_percents(site).map(|load| (site, load))) {
                let [conservative, easy] =
                    ["conservative-count", "easy-count"].map(|planner| fee(judge, site, planner, load));
                judge.expect_below(&conservative, &easy);
            }
        });
        judge.compare_generally(|judge| {
            for site in Site::ALL {
                let gaps = priced_percents(site).map(|load| {
                    fee(judge, site, "easy-count", load).minus(&fee(judge, site, "conservative-count", load))
                });
                gaps.windows(2).for_each(|pair| judge.expect_below(&pair[0], &pair[1]));
            }
        });
        judge.separate_part(|judge| {
            for planner in ["easy-count", "conservative-count"] {
                judge.expect_below(fee(judge, Site::Sdsc, planner, 77.8), fee(judge, Site::Ctc, planner, 78.8));
            }
        });
    },
)
.with_note(
    "A fee counts what delayed jobs lose and nothing of what others gain. EASY plans no start but the first of \
            the queue, so a reservation may set off any order behind it: the difference is small beside how fees \
            differ between histories.",
);

/// Mean fee under a planner in figure 29.
fn fee(judge: &Judge<'_, Results>, site: Site, planner: &str, load: f64) -> Number {
    judge.mean("29", &format!("{} {planner}", site.name()), load)
}

pub const ESTIMATES: Claim<Results> = Claim::new(
    "Figures 30, 31: with inexact estimates fees are generally higher, and all jobs wait longer; reservations that pay \
     nothing wait longer than the queue",
    &[
        ClaimSource::Quote("figure 30", "the prices are generally higher with inaccurate estimates"),
        ClaimSource::Quote(
            "figure 31",
            "both the slot and best effort wait times are increased with inaccurate estimates",
        ),
        ClaimSource::Quote("figure 31", "slots is more than the average wait time of best effort traffic"),
    ],
    |judge| {
        // Without fees there is nothing to compare.
        judge.compare_generally(|judge| inexact_is_more(judge, "30", "fee", &PAYING));
        for what in ["reserved", "queued"] {
            judge.separate_part(|judge| inexact_is_more(judge, "31", what, &ALPHAS));
        }
        for name in site_names() {
            let [queued, reserved] =
                ["queued", "reserved"].map(|way| judge.mean("31", &format!("{name} {way}, inexact"), 1.0));
            judge.separate_part(|judge| judge.expect_below(&queued, &reserved));
        }
    },
);

fn mean_wait(judge: &Judge<'_, Results>, way: &str, alpha: f64, name: &str) -> Number {
    judge.mean("24", &format!("{name} {way}"), alpha)
}
