//! Claims of figures 38 to 49: reservations that jobs imitate. Costs are per node and hour of the work.

use super::super::virtuals::{AHEAD, LENGTHS, NODES, SITE, line_name};
use super::super::{Results, sample_correlation};
use super::ProvisioningNumbers;
use hansa_report::experiment::claims::{Claim, ClaimSource, Judge, Number};

fn request_shapes() -> impl Iterator<Item = (u32, u64)> {
    NODES.into_iter().flat_map(|nodes| LENGTHS.map(|length| (nodes, length)))
}

/// Mean cost of a scheme in its figure. Schemes succeed in different trials, so costs of two are not paired.
fn cost(
    judge: &Judge<'_, Results>,
    figure: &'static str,
    what: &str,
    (nodes, length): (u32, u64),
    ahead: u64,
) -> Number {
    judge.mean(figure, &line_name(what, nodes, length), ahead as f64).as_unpaired()
}

pub const COSTS: Claim<Results> = Claim::new(
    "Figures 38, 41: imitated reservations cost less than real ones in the mean, and of 32 nodes nearly as much for an \
     hour's work in eight hours; and, with every size, no more than their padding can be",
    &[
        ClaimSource::Quote(
            "figure 38",
            "the allocation cost of the VAR scheme is less than that of the adaptive pricing scheme",
        ),
        ClaimSource::Quote(
            "figure 38",
            "there is little difference between the allocation costs of the VAR and the adaptive",
        ),
        ClaimSource::Quote("figure 41", "the normalized upper bound is independent of the node count"),
    ],
    |judge| {
        for (shape, ahead) in request_shapes().flat_map(|shape| AHEAD.map(|ahead| (shape, ahead))) {
            let [imitated, real] = ["VAR", "AR"].map(|what| cost(judge, "38", what, shape, ahead));
            judge.expect_below(&imitated, &real);
        }
        let figure: Vec<Number> = ["VAR", "AR"]
            .into_iter()
            .flat_map(|what| AHEAD.map(|ahead| cost(judge, "38", what, (32, 1), ahead)))
            .collect();
        let [imitated, real] = ["VAR", "AR"].map(|what| cost(judge, "38", what, (32, 1), 8));
        judge.separate_part(|judge| judge.close(&imitated, &real, &figure));
        judge.separate_part(|judge| judge.expect_within(judge.most_number("41 excess", SITE), 0.0, 1e-9));
    },
)
.with_note(
    "A real one that displaces no job is free; a padded job idles from its start on in every trial. So it \
            depends on the length of the queue which of both is dearer in the mean. The means are over different \
            trials: those in which a real one was admitted, and those in which an imitated one started in time.",
);

pub const SUCCESS: Claim<Results> = Claim::new(
    "Figures 39, 43: real reservations succeed more often than imitated ones start in time, and if one fails the other \
     tends to fail",
    &[ClaimSource::Sense("figures 39 and 43", "real ones succeed more often; failures of both are correlated")],
    |judge| {
        for (nodes, length) in request_shapes() {
            for ahead in AHEAD {
                let [imitated, real] =
                    ["VAR", "AR"].map(|what| judge.mean("39", &line_name(what, nodes, length), ahead as f64));
                judge.expect_at_most(&imitated, &real);
            }
        }
        let [real, imitated] =
            ["39 failures AR", "39 failures VAR"].map(|figure| judge.results.samples(figure, SITE, 0.0));
        let together = Number::new(
            format!("correlation of failures({SITE})"),
            (!real.is_empty()).then(|| sample_correlation(real, imitated)),
        );
        judge.expect_below(0.0, &together);
    },
)
.with_note(
    "A real one fails if running jobs may be in its way by what they asked for, though most end earlier; an \
            imitated one starts when they do.",
);

pub const CHEAPER: Claim<Results> = Claim::new(
    "Figures 40, 44: in most trials the real one is cheaper for 32 nodes and an hour, and the imitated one for four \
     hours and for 64 nodes",
    &[
        ClaimSource::Quote("figure 40", "is cost effective than the VAR scheme in a majority of cases"),
        ClaimSource::Quote(
            "figure 40",
            "When the required reservation duration is 4 hours, the VAR scheme is cost effective",
        ),
        ClaimSource::Sense("figure 44", "with 64 nodes the imitated one is cheaper in most trials"),
    ],
    |judge| {
        for (nodes, length) in request_shapes() {
            let winner = if (nodes, length) == (32, 1) { "AR cheaper" } else { "VAR cheaper" };
            let [soon, later, late] =
                AHEAD.map(|ahead| judge.mean("40", &line_name(winner, nodes, length), ahead as f64));
            let share = soon.add(&later).add(&late).times(1.0 / 3.0);
            judge.expect_below(0.5, share.with_name(format!("40({winner}, {nodes} nodes, {length} h)")));
        }
    },
)
.with_note(
    "A real one that displaces no job costs nothing, which no padding can undercut; the others make the means \
            (figure 38). All trials count: one that succeeds alone is the cheaper of both.",
);

pub const COMBINED: Claim<Results> = Claim::new(
    "Figures 46 to 49: where there is a real reservation, both together never cost more than it, significantly less in \
     the mean, and succeed at least as often as either",
    &[
        ClaimSource::Quote("figure 46", "is significantly less than that of the adaptive pricing scheme"),
        ClaimSource::Quote("figure 45", "never pay more than the adaptive reservation pricing for the reservation"),
        ClaimSource::Quote("figure 47", "is equal to or more than the success rate of the VAR or the adaptive pricing"),
    ],
    |judge| {
        judge.expect_within(judge.most_number("46 excess", SITE), 0.0, 1e-6);
        let all: Vec<((u32, u64), u64)> =
            request_shapes().flat_map(|shape| AHEAD.map(|ahead| (shape, ahead))).collect();
        judge.separate_part(|judge| {
            for ((nodes, length), ahead) in &all {
                let both = judge.mean("48", &line_name("combined", *nodes, *length), *ahead as f64);
                for what in ["AR", "VAR"] {
                    judge.expect_at_most(judge.mean("48", &line_name(what, *nodes, *length), *ahead as f64), &both);
                }
            }
        });
        judge.compare_generally(|judge| {
            for ((nodes, length), ahead) in all {
                // Of the trials in which both had a result.
                let [combined, real] = ["combined", "AR"]
                    .map(|what| judge.mean("46 granted", &line_name(what, nodes, length), ahead as f64));
                judge.expect_below(&combined, &real);
            }
        });
    },
)
.with_note("A real reservation that displaces no job is free, so nothing can cost less.");

pub const NOTICE: Claim<Results> = Claim::new(
    "Figures 38, 41: real reservations exceed imitated ones most at one hour's notice; they are generally dearer for \
     64 than for 32 nodes, and of 64 nodes the later they start",
    &[
        ClaimSource::Quote("figure 38", "significantly pronounced in the case when the start deadline is 1 hour"),
        ClaimSource::Quote(
            "figure 41",
            "the average adaptive pricing is generally higher than that of the 32 node reservation",
        ),
        ClaimSource::Quote("figure 42", "icing scheme increases with the start time of the reservation"),
    ],
    |judge| {
        judge.separate_part(|judge| {
            for length in LENGTHS {
                let [soon, later, late] = AHEAD.map(|ahead| {
                    cost(judge, "38", "AR", (32, length), ahead).minus(&cost(judge, "38", "VAR", (32, length), ahead))
                });
                judge.expect_below(&later, &soon);
                judge.expect_below(&late, &soon);
            }
        });
        judge.compare_generally(|judge| {
            for (length, ahead) in LENGTHS.into_iter().flat_map(|length| AHEAD.map(|ahead| (length, ahead))) {
                let [few, many] = NODES.map(|nodes| cost(judge, "41", "AR", (nodes, length), ahead));
                judge.expect_below(&few, &many);
            }
        });
        judge.compare_generally(|judge| {
            for length in LENGTHS {
                let costs = AHEAD.map(|ahead| cost(judge, "41", "AR", (64, length), ahead));
                costs.windows(2).for_each(|pair| judge.expect_below(&pair[0], &pair[1]));
            }
        });
    },
)
.with_note(
    "Here a reservation is dearer the later it starts with any number of nodes, as more jobs that wait are \
            planned to run then. It costs more per node and hour with fewer nodes, as whole jobs are displaced. The \
            queue is that of a model, not NCSA's.",
);
