//! Claims of figures 4 to 8: advertised slots.

use super::super::super::claims::{Claim, Note, Number, Ours, just};
use super::super::Results;
use super::{names, notes};

pub const COUNT: Claim<Results> = Claim {
    number: 1,
    text: "Figure 4: CTC advertises more slots than SDSC, 27 and 14 in the mean",
    note: Note::Of(notes::count),
    compare: |judge| {
        judge.below(&judge.mean("4 mean", "SDSC", 0.0), &judge.mean("4 mean", "CTC", 0.0));
        judge.within_factor(&just(27.0), &judge.mean("4 mean", "CTC", 0.0), 2.0);
        judge.within_factor(&just(14.0), &judge.mean("4 mean", "SDSC", 0.0), 2.0);
    },
    ours: Ours::Bounds,
};

pub const COUNT_AND_JOBS: Claim<Results> = Claim {
    number: 2,
    text: "Figure 5: the more tasks in the system, the more slots",
    note: Note::None,
    compare: |judge| {
        names().iter().for_each(|name| judge.below(&just(0.3), &judge.mean("5 correlation", name, 0.0)));
    },
    ours: Ours::Bounds,
};

pub const STARTS: Claim<Results> = Claim {
    number: 3,
    text: "Figure 6: slots without end last until 48 hours from now; starts of SDSC are spread wider than those of CTC",
    note: Note::Of(notes::starts),
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
    ours: Ours::Nothing,
};

pub const SIZES: Claim<Results> = Claim {
    number: 4,
    text: "Figure 7: most slots have at most ten processors, and there are peaks at powers of two",
    note: Note::Of(notes::sizes),
    compare: |judge| {
        for name in names() {
            judge.at_most(&just(0.5), &judge.mean("7 at most 10", name, 0.0), 0.0);
            for power in [2.0, 4.0, 8.0, 16.0, 32.0] {
                let peak = judge.count("7", name, power);
                // One is a power of two as well: next to it, two need not be higher.
                for beside in [power - 1.0, power + 1.0].into_iter().filter(|beside| *beside > 1.0) {
                    judge.below(&judge.count("7", name, beside), &peak);
                }
            }
        }
    },
    ours: Ours::Bounds,
};

pub const ESTIMATES: Claim<Results> = Claim {
    number: 5,
    text: "Figure 8: with inexact estimates slots start later, and last about as long",
    note: Note::Of(notes::estimates),
    compare: |judge| {
        for at in [0.0, 1.0] {
            judge.below(&judge.mean("8", "mean start, exact", at), &judge.mean("8", "mean start, inexact", at));
            let [exact, inexact] =
                ["median duration, exact", "median duration, inexact"].map(|line| judge.mean("8", line, at));
            judge.within_factor(&exact, &inexact, 2.0);
        }
    },
    ours: Ours::Bounds,
};
