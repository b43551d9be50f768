//! Claims of figures 38 to 49: reservations that jobs imitate.

use super::super::super::claims::{Claim, Note, Number, Ours, just};
use super::super::virtuals::{AHEAD, LENGTHS, NODES, line};
use super::super::{Results, Site, correlation};
use super::notes;

pub const COSTS: Claim<Results> = Claim {
    number: 21,
    text: "Figures 38, 41: imitated reservations cost no more than real ones in the mean, and nearly as much for an \
           hour's work in eight hours; and, whatever their size, no more than their padding can be",
    note: Note::Of(notes::imitated_costs),
    compare: |judge| {
        for name in Site::ALL {
            for (nodes, length) in NODES.into_iter().flat_map(|nodes| LENGTHS.map(|length| (nodes, length))) {
                for ahead in AHEAD {
                    let [imitated, real] = ["VAR", "AR"]
                        .map(|what| judge.mean("38", &line(name, what, nodes, length), ahead as f64).alone());
                    judge.at_most(&imitated, &real, 0.0);
                    if (length, ahead) == (1, 8) {
                        judge.within_factor(&imitated, &real, 1.3);
                    }
                }
            }
            judge.at_most(&judge.most("41 excess", name.name()), &just(0.0), 1e-9);
        }
    },
    ours: Ours::Bounds,
};

pub const SUCCESS: Claim<Results> = Claim {
    number: 22,
    text: "Figures 39, 43: real reservations succeed more often than imitated ones start in time, and if one fails the \
           other tends to fail",
    note: Note::Of(notes::imitated_success),
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
            let together =
                Number::new(format!("correlation of failures({})", site.name()), Some(correlation(real, imitated)));
            judge.below(&just(0.0), &together);
        }
    },
    ours: Ours::Nothing,
};

pub const CHEAPER: Claim<Results> = Claim {
    number: 23,
    text: "Figures 40, 44: in most trials the real one is cheaper for 32 nodes and an hour, and the imitated one for \
           four hours and for 64 nodes",
    note: Note::Of(notes::cheaper),
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
    ours: Ours::Nothing,
};

pub const COMBINED: Claim<Results> = Claim {
    number: 24,
    text: "Figures 46 to 49: both together never cost more than the real reservation if there is one, and succeed at \
           least as often as either",
    note: Note::None,
    compare: |judge| {
        for site in Site::ALL {
            judge.at_most(&judge.most("46 excess", site.name()), &just(0.0), 1e-6);
            for (nodes, length) in NODES.into_iter().flat_map(|nodes| LENGTHS.map(|length| (nodes, length))) {
                for ahead in AHEAD {
                    let both = judge.mean("48", &line(site, "combined", nodes, length), ahead as f64);
                    for what in ["AR", "VAR"] {
                        judge.at_most(&judge.mean("39", &line(site, what, nodes, length), ahead as f64), &both, 0.0);
                    }
                }
            }
        }
    },
    ours: Ours::Nothing,
};
