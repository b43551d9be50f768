//! What a topology may choose where the paper leaves a choice.

use serde::Serialize;

use crate::settings::{Registered, Walk, Word, key};

/// The meta-scheduler at the router.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Reservation {
    /// Name of a fit policy in the catalogue.
    pub policy: String,
    pub rect_end: RectEnd,
    pub choose: Choose,
}

impl Reservation {
    /// The settings of `[reservation]`.
    pub(super) fn settings(&mut self, w: &mut dyn Walk) {
        let policy = Registered { what: "a fit policy", words: Word::named(&super::policies()) };
        w.set(key("policy", "which of the possible starts a reservation gets"), &mut self.policy, policy);
        let rect_end = key("rect_end", "how long a free rectangle without end counts");
        w.set(rect_end, &mut self.rect_end, RectEnd::ALL);
        w.set(key("choose", "which of several sites gets a request"), &mut self.choose, Choose::ALL);
    }
}

/// How long a free rectangle counts that goes on after everything known has ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RectEnd {
    #[default]
    Clip,
    Inf2tdl,
    Open,
}

impl RectEnd {
    pub const ALL: &[(&'static str, RectEnd, &'static str)] = &[
        ("clip", RectEnd::Clip, "no rectangle is followed beyond the request's deadline"),
        ("inf2tdl", RectEnd::Inf2tdl, "a rectangle without end ends at the request's deadline"),
        ("open", RectEnd::Open, "a rectangle without end is longer than all others"),
    ];
}

/// Which of several sites gets a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Choose {
    #[default]
    First,
    Global,
}

impl Choose {
    pub const ALL: &[(&'static str, Choose, &'static str)] = &[
        ("first", Choose::First, "the first in the topology's order that accepts"),
        ("global", Choose::Global, "the one with the start that the policy prefers of all sites' starts"),
    ];
}

impl Default for Reservation {
    fn default() -> Reservation {
        Reservation { policy: "pe_w".to_owned(), rect_end: RectEnd::default(), choose: Choose::default() }
    }
}
