//! Table `[[user]]`: submitters of jobs, and the `[defaults]` of all users.

use super::names::{FreshName, TakenNames};
use super::programs::walk_planner;
use super::{latency_key, table_names, walk_count};
use crate::grid::Behaviour;
use crate::settings::{LATENCY, Layout, NAME, NameIndex, POSITIVE_SPAN, Walk, key};
use crate::systems::{self, SystemRow};
use crate::time::Span;
use crate::topology::User;

/// Walks `[[user]]`.
pub fn walk_users(users: &mut Vec<User>, usual: &User, known: &UserScope<'_>, w: &mut dyn Walk) {
    let user = key("user", "").means("a user, who submits jobs").by_name();
    let user = user.need_unless(known.idle, SUBMITS);
    w.rows(user, Layout::Sections("user"), users, || usual.clone(), |user, w| walk_one(user, known, w));
}

pub const SUBMITS: &str = "at least one [[user]] to submit jobs";

/// Scope of the keys of users.
pub struct UserScope<'a> {
    pub systems: &'a [&'static SystemRow],
    pub sites: &'a NameIndex<'a>,
    /// Names in use; None for the defaults of all users.
    pub names: Option<&'a TakenNames>,
    /// True if there may be no users, as long as there are no workloads.
    pub idle: bool,
}

/// Walks a user, or the defaults of all users if there are no names.
pub fn walk_one(user: &mut User, known: &UserScope<'_>, w: &mut dyn Walk) {
    if let Some(names) = known.names {
        w.set(key("name", "").need(NAME), &mut user.name, FreshName { names, what: "user" });
        walk_count(w);
    }
    w.set(latency_key(), &mut user.latency, LATENCY);
    walk_behaviour(user, known, w);
    for row in systems::ALL {
        (row.own.user)(user, known.systems.iter().any(|its| its.key == row.key), known.sites, w);
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum UserPlanning {
    Script,
    Resubmit,
    External,
}

/// Planners of users.
const PLANNERS: &[(&str, UserPlanning, &str)] = &[
    ("script", UserPlanning::Script, "submits each job at its time, and waits for it"),
    (
        "resubmit",
        UserPlanning::Resubmit,
        "takes back a job that has waited too long in a queue, and submits it again, to go elsewhere",
    ),
    ("external", UserPlanning::External, "orders of an external program, in JSON lines"),
];

const TRIES_MAX: u32 = 1_000;

fn walk_behaviour(user: &mut User, known: &UserScope<'_>, w: &mut dyn Walk) {
    let User { behaviour, program, .. } = user;
    // The default behaviour is not written.
    if w.writes() && *behaviour == Behaviour::Script {
        return;
    }
    let (mut planning, mut patience, mut most) = match *behaviour {
        Behaviour::Script => (UserPlanning::Script, Span::from_minutes(60), 3),
        Behaviour::Resubmit { patience, most } => (UserPlanning::Resubmit, patience, most),
        Behaviour::External => (UserPlanning::External, Span::from_minutes(60), 3),
    };
    w.set(key("planner", "the behaviour of the user with its jobs"), &mut planning, PLANNERS);
    let resubmits = planning == UserPlanning::Resubmit;
    let why = "expected a planner = \"resubmit\" beside it";
    let key_patience = key("patience", "after this long in a queue a job is taken back").only_if(resubmits, why);
    w.set(key_patience, &mut patience, POSITIVE_SPAN);
    let tries = key("tries", "the largest number of resubmissions of a job").only_if(resubmits, why);
    w.set(tries, &mut most, 1..=TRIES_MAX);
    let is_external = planning == UserPlanning::External;
    let could = known.systems.iter().any(|row| row.traits.has_planners);
    walk_planner(program, is_external, could, known.names.is_none(), w);
    if let Some(fields) = w.written_fields()
        && is_external
        && !could
        && let Some(field) = fields.get("planner")
    {
        field.complain(format!(
            "external needs a {} table: only its users can plan like that",
            table_names(|row| row.traits.has_planners)
        ));
    }
    *behaviour = match planning {
        UserPlanning::Script => Behaviour::Script,
        UserPlanning::Resubmit => Behaviour::Resubmit { patience, most },
        UserPlanning::External => Behaviour::External,
    };
}

pub fn default_user() -> User {
    User::named(String::new())
}
