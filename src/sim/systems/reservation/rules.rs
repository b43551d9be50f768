//! Settings of a topology where the paper leaves a choice.

use serde::Serialize;

use crate::grid::Program;
use crate::settings::{Layout, Registered, Unless, Walk, Word, key};
use crate::systems::hub_program::{keep_if_external, walk_command, walk_timeout};
use crate::words::words;

/// The meta-scheduler at the router.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Reservation {
    /// Name of a fit policy in the catalogue.
    pub policy: String,
    pub rect_end: RectEnd,
    pub choose: Choose,
    /// Choice among the shapes of a malleable request.
    #[serde(skip_serializing_if = "ShapeRule::is_usual")]
    pub shape: ShapeRule,
    /// The program that chooses, if the policy is external.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allocator: Option<Program>,
}

const ALLOCATOR: &str = "a table such as { command = [\"python3\", \"allocator.py\"] }";
const COMMAND: &str = "a program and its arguments, such as [\"python3\", \"allocator.py\"]";

impl Reservation {
    /// The settings of `[reservation]`.
    pub(super) fn settings(&mut self, w: &mut dyn Walk) {
        let policy = Registered { what: "a fit policy", words: Word::from_named(&super::fit::fit_names()) };
        w.set(key("policy", "the choice among the possible starts of a reservation"), &mut self.policy, policy);
        let rect_end = key("rect_end", "the length of an unbounded free rectangle");
        w.set(rect_end, &mut self.rect_end, RectEnd::ALL);
        w.set(key("choose", "the choice of the site for a request"), &mut self.choose, Choose::ALL);
        let shape = key("shape", "the choice among the shapes of a malleable request").usual("`\"policy\"`");
        w.set(shape, &mut self.shape, Unless(ShapeRule::ALL, ShapeRule::Policy));
        let allocator = key("allocator", "")
            .means("an external program that chooses, if the policy is `external`")
            .expects(ALLOCATOR);
        let layout = Layout::Section("reservation.allocator");
        w.maybe(allocator, layout, &mut self.allocator, Program::default, |program, w| {
            walk_command(program, "the program that chooses", COMMAND, w);
            walk_timeout(program, w);
        });
        keep_if_external(&self.policy, &mut self.allocator, "allocator", ALLOCATOR, w);
    }
}

words! {
    /// Length of a free rectangle that continues after the last booking.
    #[derive(Default)]
    RectEnd {
        /// No rectangle is followed beyond the request's deadline.
        Clip = "clip",
        /// An unbounded rectangle ends at the request's deadline.
        #[default]
        Inf2tdl = "inf2tdl",
        /// An unbounded rectangle is longer than all others.
        Open = "open",
    }
    /// Choice among several sites for a request.
    #[derive(Default)]
    Choose {
        /// The first in the topology's order that accepts.
        #[default]
        First = "first",
        /// The site with the start that the policy prefers among those of all sites.
        Global = "global",
    }
    /// Choice among the offers for the shapes of a malleable request.
    #[derive(Default)]
    ShapeRule {
        /// The one that the policy prefers, then the earliest end, then the shape listed first.
        #[default]
        Policy = "policy",
        /// The shape listed first of those with room.
        Listed = "listed",
        /// The earliest end, then the least node time, the earliest start, and the fewest nodes.
        Finish = "finish",
        /// The least node time, then the earliest end, the earliest start, and the fewest nodes.
        Thrifty = "thrifty",
    }
}

impl ShapeRule {
    fn is_usual(&self) -> bool {
        *self == ShapeRule::default()
    }
}

impl Default for Reservation {
    fn default() -> Reservation {
        Reservation {
            policy: "pe_w".to_owned(),
            rect_end: RectEnd::default(),
            choose: Choose::default(),
            shape: ShapeRule::default(),
            allocator: None,
        }
    }
}
