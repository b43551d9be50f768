//! Parser of names such as `GreedyPM */per/opt=min/minvt=600`.
//!
//! ```text
//! name   = "FCFS" | "EASY" | [ policy [ "*" ] ] { "/" part }
//! policy = "Greedy" | "GreedyP" | "GreedyPM" | "MCB8"
//! part   = "per" | "stretch-per" | "opt=" ("min" | "avg" | "max")
//!        | ("minvt" | "minft" | "period" | "penalty") "=" seconds
//!        | "priority=" ("square" | "stretch" | "inverse") | "sort=" ("max" | "sum")
//!        | "vt=" ("progress" | "yield") | "pays=" ("moves" | "pauses" | "from-pause")
//! ```
//!
//! The policy is the action at a submission, `*` enables one at a completion, `per` one every period. `priority`,
//! `sort`, `vt`, `period`, `penalty` and `pays` are not in the paper's names.

use std::fmt;

use super::algorithm::{
    Action, Fractional, Grace, OPTIMISE, Optimise, POLICIES, PRIORITIES, Periodic, Priority, SORTS, Sort, VirtualTime,
    make_family,
};
use crate::grid::PenaltyRule;
use crate::near;
use crate::settings::units;
use crate::time::Span;

const PARTS: [&str; 11] =
    ["per", "stretch-per", "opt=", "minvt=", "minft=", "priority=", "sort=", "vt=", "period=", "penalty=", "pays="];

/// An error in a name, with its position.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{name}` names no algorithm: {problem}{}{}", NamePart(*at, .name), Meant(.meant))]
pub struct NameError {
    pub name: String,
    /// Offset in bytes.
    pub at: usize,
    pub problem: String,
    /// Suggested replacement.
    pub meant: Option<&'static str>,
}

pub(super) struct NameReader<'a> {
    name: &'a str,
    /// Number of bytes read.
    at: usize,
}

impl<'a> NameReader<'a> {
    pub fn new(name: &'a str) -> NameReader<'a> {
        NameReader { name, at: 0 }
    }

    pub fn read(mut self) -> Result<Fractional, NameError> {
        self.skip_blanks();
        let policy = self.policy()?;
        self.skip_blanks();
        let star_at = self.at;
        let star = self.take("*");
        self.skip_blanks();
        if star && policy == Action::None {
            return Err(self.fault(star_at, "`*` comes after a policy: Greedy, GreedyP, GreedyPM or MCB8", None));
        }
        let parts = self.parts()?;

        let mut rules = make_family(policy, star, parts.periodic);
        if !star && parts.periodic.is_none() {
            let problem =
                if policy == Action::None { "it has neither policy nor `/per`" } else { "` *` or `/per` is missing" };
            return Err(self.fault(self.name.len(), problem, None));
        }
        if let Some((at, optimise)) = parts.optimise {
            match (optimise, parts.periodic) {
                (Optimise::Max, Some(Periodic::Yield) | None) => {
                    return Err(self.fault(at, "`opt=max` is only for `stretch-per`; here it is `min` or `avg`", None));
                }
                (Optimise::Min, Some(Periodic::Stretch)) => {
                    return Err(self.fault(at, "`opt=min` is not for `stretch-per`; there it is `max` or `avg`", None));
                }
                _ => rules.optimise = optimise,
            }
        }
        if let Some((at, grace)) = parts.grace {
            if !rules.packs() {
                return Err(self.fault(
                    at,
                    "minvt and minft are for algorithms that use MCB8: with policy MCB8, or `/per`",
                    None,
                ));
            }
            rules.grace = Some(grace);
        }
        if let Some((_, priority)) = parts.priority {
            rules.priority = priority;
        }
        if let Some((at, sort)) = parts.sort {
            if !rules.packs() {
                return Err(self.fault(
                    at,
                    "`sort` is for algorithms that use MCB8: with policy MCB8, or `/per`",
                    None,
                ));
            }
            rules.sort = sort;
        }
        if let Some((_, virtual_time)) = parts.virtual_time {
            rules.virtual_time = virtual_time;
        }
        if let Some((at, period)) = parts.period {
            if parts.periodic.is_none() {
                return Err(self.fault(at, "`period` is only for algorithms with `/per` or `/stretch-per`", None));
            }
            rules.period = period;
        }
        if let Some((_, penalty)) = parts.penalty {
            rules.penalty = penalty;
        }
        if let Some((_, pays)) = parts.pays {
            rules.pays = pays;
        }
        Ok(rules)
    }

    fn policy(&mut self) -> Result<Action, NameError> {
        let at = self.at;
        let word = self.word(|c| c == '*' || c == '/' || c.is_whitespace());
        if word.is_empty() {
            return Ok(Action::None);
        }
        if let Some((_, policy)) = POLICIES.iter().find(|(name, _)| *name == word) {
            return Ok(*policy);
        }
        if word == "per" || word == "stretch-per" {
            return Err(self.fault(at, &format!("without a policy it begins with a slash: `/{word}`"), None));
        }
        let names = POLICIES.iter().map(|(name, _)| *name).chain(["FCFS", "EASY"]);
        let problem = "expected Greedy, GreedyP, GreedyPM, MCB8, FCFS, EASY, `/per` or `/stretch-per`";
        Err(self.fault(at, problem, near::nearest_name(word, names)))
    }

    fn parts(&mut self) -> Result<NameParts, NameError> {
        let mut parts = NameParts::default();
        let mut is_first = true;
        while self.at < self.name.len() {
            if !self.take("/") {
                return Err(self.fault(self.at, "expected `/` and a part, or the end", None));
            }
            self.part(&mut parts, is_first)?;
            is_first = false;
        }
        Ok(parts)
    }

    fn part(&mut self, parts: &mut NameParts, is_first: bool) -> Result<(), NameError> {
        let at = self.at;
        let part = self.word(|c| c == '/').trim_end();
        let (key, value) = part.split_once('=').map_or((part, None), |(key, value)| (key, Some(value)));
        let value_at = at + key.len() + 1;
        let twice = |reader: &NameReader<'_>| Err(reader.fault(at, &format!("`{key}` is given twice"), None));
        match (key, value) {
            ("per" | "stretch-per", None) => {
                if !is_first {
                    return Err(self.fault(at, &format!("`{key}` can only be the first part"), None));
                }
                if key == "stretch-per" && at > 1 && !self.name[..at - 1].trim().is_empty() {
                    return Err(self.fault(at, "`stretch-per` cannot follow a policy", None));
                }
                parts.periodic = Some(if key == "per" { Periodic::Yield } else { Periodic::Stretch });
            }
            ("opt", Some(value)) => {
                let Some((_, optimise)) = OPTIMISE.iter().find(|(name, _)| *name == value) else {
                    let meant = near::nearest_name(value, OPTIMISE.iter().map(|(name, _)| *name));
                    return Err(self.fault(value_at, "expected min, avg or max", meant));
                };
                if parts.optimise.replace((at, *optimise)).is_some() {
                    return twice(self);
                }
            }
            ("priority", Some(value)) => {
                let Some((_, priority)) = PRIORITIES.iter().find(|(name, _)| *name == value) else {
                    let meant = near::nearest_name(value, PRIORITIES.iter().map(|(name, _)| *name));
                    return Err(self.fault(value_at, "expected square, stretch or inverse", meant));
                };
                if parts.priority.replace((at, *priority)).is_some() {
                    return twice(self);
                }
            }
            ("sort", Some(value)) => {
                let Some((_, sort)) = SORTS.iter().find(|(name, _)| *name == value) else {
                    let meant = near::nearest_name(value, SORTS.iter().map(|(name, _)| *name));
                    return Err(self.fault(value_at, "expected max or sum", meant));
                };
                if parts.sort.replace((at, *sort)).is_some() {
                    return twice(self);
                }
            }
            ("vt", Some(value)) => {
                let Some((_, virtual_time, _)) = VirtualTime::ALL.iter().find(|(name, ..)| *name == value) else {
                    let meant = near::nearest_name(value, VirtualTime::ALL.iter().map(|(name, ..)| *name));
                    return Err(self.fault(value_at, "expected progress or yield", meant));
                };
                if parts.virtual_time.replace((at, *virtual_time)).is_some() {
                    return twice(self);
                }
            }
            ("pays", Some(value)) => {
                let Some((_, pays, _)) = PenaltyRule::ALL.iter().find(|(name, ..)| *name == value) else {
                    let meant = near::nearest_name(value, PenaltyRule::ALL.iter().map(|(name, ..)| *name));
                    return Err(self.fault(value_at, "expected moves, pauses or from-pause", meant));
                };
                if parts.pays.replace((at, *pays)).is_some() {
                    return twice(self);
                }
            }
            ("minvt" | "minft", Some(value)) => {
                let span = self.seconds(value_at, value)?;
                let grace = if key == "minvt" { Grace::VirtualTime(span) } else { Grace::FlowTime(span) };
                if parts.grace.replace((at, grace)).is_some() {
                    return Err(self.fault(at, "only one of minvt and minft can be given, and only once", None));
                }
            }
            ("period", Some(value)) => {
                let period = self.seconds(value_at, value)?;
                if period.is_zero() {
                    return Err(self.fault(value_at, "expected a period above 0 s", None));
                }
                if parts.period.replace((at, period)).is_some() {
                    return twice(self);
                }
            }
            ("penalty", Some(value)) => {
                let penalty = self.seconds(value_at, value)?;
                if parts.penalty.replace((at, penalty)).is_some() {
                    return twice(self);
                }
            }
            _ => {
                let typed = if value.is_some() { format!("{key}=") } else { key.to_owned() };
                let meant = near::nearest_name(&typed, PARTS);
                let problem = "expected per, stretch-per, opt=, minvt=, minft=, priority=, sort=, vt=, period=, penalty= or \
                               pays=";
                return Err(self.fault(at, problem, meant));
            }
        }
        Ok(())
    }

    fn seconds(&self, at: usize, text: &str) -> Result<Span, NameError> {
        let micros =
            units::parse_exact(text, 1_000_000).ok().map(Span::from_micros).filter(|span| *span <= units::SPAN_MAX);
        micros.ok_or_else(|| self.fault(at, "expected seconds, such as 600", None))
    }

    fn skip_blanks(&mut self) {
        let rest = &self.name[self.at..];
        self.at += rest.len() - rest.trim_start().len();
    }

    fn take(&mut self, text: &str) -> bool {
        let is_there = self.name[self.at..].starts_with(text);
        self.at += if is_there { text.len() } else { 0 };
        is_there
    }

    fn word(&mut self, ends: impl Fn(char) -> bool) -> &'a str {
        let rest = &self.name[self.at..];
        let word = &rest[..rest.find(ends).unwrap_or(rest.len())];
        self.at += word.len();
        word
    }

    fn fault(&self, at: usize, problem: &str, meant: Option<&'static str>) -> NameError {
        NameError { name: self.name.to_owned(), at, problem: problem.to_owned(), meant }
    }
}

/// The parsed parts, with their positions.
#[derive(Default)]
struct NameParts {
    periodic: Option<Periodic>,
    optimise: Option<(usize, Optimise)>,
    grace: Option<(usize, Grace)>,
    priority: Option<(usize, Priority)>,
    sort: Option<(usize, Sort)>,
    virtual_time: Option<(usize, VirtualTime)>,
    period: Option<(usize, Span)>,
    penalty: Option<(usize, Span)>,
    pays: Option<(usize, PenaltyRule)>,
}

struct NamePart<'a>(usize, &'a str);

impl fmt::Display for NamePart<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let NamePart(at, name) = *self;
        match &name[at..] {
            "" => f.write_str(" at its end"),
            rest => write!(f, " at `{rest}`"),
        }
    }
}

struct Meant<'a>(&'a Option<&'static str>);

impl fmt::Display for Meant<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.map_or(Ok(()), |meant| write!(f, "; did you mean `{meant}`?"))
    }
}
