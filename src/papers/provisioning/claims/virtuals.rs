//! Claims of figures 38 to 49: reservations that jobs imitate. Costs are per node and hour of the work.

use super::super::virtuals::{AHEAD, LENGTHS, NODES, SITE, line};
use super::super::{Results, correlation};
use super::ProvisioningNumbers;
use hansa_report::experiment::claims::{Claim, Number, Says, just};

fn shapes() -> impl Iterator<Item = (u32, u64)> {
    NODES.into_iter().flat_map(|nodes| LENGTHS.map(|length| (nodes, length)))
}

pub const COSTS: Claim<Results> = Claim {
    number: 21,
    text: "Figures 38, 41: imitated reservations cost no more than real ones in the mean, and nearly as much for an \
           hour's work in eight hours; and, with every size, no more than their padding can be",
    says: &[Says::Sense("figures 38 and 41", "imitated ones are cheaper; nearly equal for 1 h in 8 h; at most S/D")],
    note: Some(
        "Many real ones displace no job and are free, and a few displace many; a padded job idles from its start on in \
         every trial. So it depends on the length of the queue which of both is dearer in the mean. The means are over \
         different trials: those in which a real one was admitted, and those in which an imitated one started in time.",
    ),
    compare: |judge| {
        for (nodes, length) in shapes() {
            for ahead in AHEAD {
                let [imitated, real] =
                    ["VAR", "AR"].map(|what| judge.mean("38", &line(what, nodes, length), ahead as f64).alone());
                judge.at_most(&imitated, &real, 0.0);
            }
        }
        for nodes in NODES {
            let line_of = |what, ahead: u64| judge.mean("38", &line(what, nodes, 1), ahead as f64).alone();
            let figure: Vec<Number> =
                ["VAR", "AR"].into_iter().flat_map(|what| AHEAD.map(|ahead| line_of(what, ahead))).collect();
            let [imitated, real] = ["VAR", "AR"].map(|what| line_of(what, 8));
            judge.part(|judge| judge.close(&imitated, &real, &figure));
        }
        judge.at_most(&judge.most("41 excess", SITE), &just(0.0), 1e-9);
    },
    weaker: None,
};

pub const SUCCESS: Claim<Results> = Claim {
    number: 22,
    text: "Figures 39, 43: real reservations succeed more often than imitated ones start in time, and if one fails the \
           other tends to fail",
    says: &[Says::Sense("figures 39 and 43", "real ones succeed more often; failures of both are correlated")],
    note: Some(
        "A real one fails if running jobs may be in its way by what they asked for, though most end earlier; an \
         imitated one starts when they do.",
    ),
    compare: |judge| {
        for (nodes, length) in shapes() {
            for ahead in AHEAD {
                let [imitated, real] =
                    ["VAR", "AR"].map(|what| judge.mean("39", &line(what, nodes, length), ahead as f64));
                judge.at_most(&imitated, &real, 0.0);
            }
        }
        let [real, imitated] =
            ["39 failures AR", "39 failures VAR"].map(|figure| judge.results.samples(figure, SITE, 0.0));
        let together = Number::new(
            format!("correlation of failures({SITE})"),
            (!real.is_empty()).then(|| correlation(real, imitated)),
        );
        judge.below(&just(0.0), &together);
    },
    weaker: None,
};

pub const CHEAPER: Claim<Results> = Claim {
    number: 23,
    text: "Figures 40, 44: in most trials the real one is cheaper for 32 nodes and an hour, and the imitated one for \
           four hours and for 64 nodes",
    says: &[
        Says::Quote("figure 40", "is cost effective than the VAR scheme in a majority of cases"),
        Says::Sense("figures 40 and 44", "real ones are cheaper in most trials for 32 nodes and 1 h only"),
    ],
    note: Some(
        "Many real ones displace no job and cost nothing, which no padding can undercut; the others make the means \
         (figure 38). All trials count: one that succeeds alone is the cheaper of both.",
    ),
    compare: |judge| {
        for (nodes, length) in shapes() {
            let winner = if (nodes, length) == (32, 1) { "AR cheaper" } else { "VAR cheaper" };
            let [soon, later, late] = AHEAD.map(|ahead| judge.mean("40", &line(winner, nodes, length), ahead as f64));
            let share = soon.add(&later).add(&late).times(1.0 / 3.0);
            judge.below(&just(0.5), &share.named(format!("40({winner}, {nodes} nodes, {length} h)")));
        }
    },
    weaker: None,
};

pub const COMBINED: Claim<Results> = Claim {
    number: 24,
    text: "Figures 46 to 49: both together never cost more than the real reservation if there is one, significantly \
           less in the mean, and succeed at least as often as either",
    says: &[Says::Quote("figure 46", "is significantly less than that of the adaptive pricing scheme")],
    note: Some("Many real ones displace no job and are free, so nothing can cost less."),
    compare: |judge| {
        judge.at_most(&judge.most("46 excess", SITE), &just(0.0), 1e-6);
        for (nodes, length) in shapes() {
            for ahead in AHEAD {
                let both = judge.mean("48", &line("combined", nodes, length), ahead as f64);
                for what in ["AR", "VAR"] {
                    judge.at_most(&judge.mean("48", &line(what, nodes, length), ahead as f64), &both, 0.0);
                }
                let [combined, real] =
                    ["combined", "AR"].map(|what| judge.mean("46", &line(what, nodes, length), ahead as f64).alone());
                judge.part(|judge| judge.below(&combined, &real));
            }
        }
    },
    weaker: None,
};

pub const NOTICE: Claim<Results> = Claim {
    number: 30,
    text: "Figures 38, 41: real reservations are much dearer at one hour's notice, and dearer for 64 than for 32 nodes",
    says: &[Says::Sense("figures 38 and 41", "real ones are much dearer at an hour's notice, and for more nodes")],
    note: Some(
        "Many real ones displace no job and are free at any notice. The queue is that of a model whose chances of a \
         start are near those that the thesis prints of NCSA's TeraGrid cluster, not its log.",
    ),
    compare: |judge| {
        for (nodes, length) in shapes() {
            let fee = |ahead: u64| judge.mean("38", &line("AR", nodes, length), ahead as f64).alone();
            let soon = fee(AHEAD[0]);
            let late = fee(AHEAD[2]);
            judge.bound("\"much dearer\" is read as twice the fee at eight hours' notice", |judge| {
                judge.at_most(&late.times(2.0), &soon, 0.0);
            });
        }
        for (length, ahead) in LENGTHS.into_iter().flat_map(|length| AHEAD.map(|ahead| (length, ahead))) {
            let [few, many] = NODES.map(|nodes| judge.mean("41", &line("AR", nodes, length), ahead as f64).alone());
            judge.generally(|judge| judge.at_most(&few, &many, 0.0));
        }
    },
    weaker: None,
};
