//! What settings may refer to: the grid that they are written for.

use std::collections::BTreeMap;

use super::forms::{Form, FormExt, OneOf};
use super::walk::{Walk, key};
use super::{any_of, written::Attached};
use crate::few;
use crate::grid::Kind;
use crate::time::Span;

/// A grid, as those see it who describe jobs for it.
pub struct Context<'a> {
    /// The run's.
    pub seed: u64,
    /// The unit of run times, where they have one.
    pub tick: Span,
    pub kinds: NameIndex<'a>,
    /// The cores of the largest site of each kind.
    pub largest: Vec<u32>,
    pub sites: NameIndex<'a>,
    /// The cores of each site, and of those that these jobs may go to if they may go to all.
    pub cores: Vec<u32>,
    pub cores_in_all: u64,
    pub users: NameIndex<'a>,
    /// Whether data goes over links.
    pub linked: bool,
    /// Whether jobs say for how long they want their cores.
    pub walltimes: bool,
    /// Whether tasks may need less than whole nodes.
    pub shares_nodes: bool,
    /// Whether jobs must say when they are wanted at the latest.
    pub deadlines: bool,
    /// Whether jobs may wait for others to end.
    pub followers: bool,
    /// Whether the data of whole jobs is brought to their sites and back.
    pub stages: bool,
    pub fit: Fit,
    pub(crate) attached: &'a Attached,
}

/// What becomes of a task that is wider than every site.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fit {
    /// It must not be there; with a hint what could be done about it.
    Must(Option<&'static str>),
    /// The system has an answer to that.
    May,
}

/// Names in an order, to be found by either.
#[derive(Clone, Debug, Default)]
pub struct NameIndex<'a> {
    list: Vec<&'a str>,
    numbers: BTreeMap<&'a str, usize>,
}

impl<'a> FromIterator<&'a str> for NameIndex<'a> {
    fn from_iter<I: IntoIterator<Item = &'a str>>(names: I) -> NameIndex<'a> {
        let list: Vec<&str> = names.into_iter().collect();
        // Of two with one name the last counts; there are complaints about them.
        let numbers = few::tree(list.iter().enumerate().map(|(number, name)| (*name, number)));
        NameIndex { list, numbers }
    }
}

impl<'a> NameIndex<'a> {
    pub fn find(&self, name: &str) -> Option<usize> {
        self.numbers.get(name).copied()
    }

    pub fn name(&self, number: usize) -> &'a str {
        self.list[number]
    }

    pub fn iter(&self) -> impl Iterator<Item = &'a str> + Clone + '_ {
        self.list.iter().copied()
    }

    pub fn len(&self) -> usize {
        self.list.len()
    }

    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }
}

static NOTHING_ATTACHED: Attached = Attached::new();

impl Context<'_> {
    /// A grid of which nothing is known: for lists of keys.
    pub fn unknown() -> Context<'static> {
        Context {
            seed: 1,
            tick: Span::from_minutes(1),
            kinds: NameIndex::default(),
            largest: Vec::new(),
            sites: NameIndex::default(),
            cores: Vec::new(),
            cores_in_all: 0,
            users: NameIndex::default(),
            linked: true,
            walltimes: true,
            shares_nodes: true,
            deadlines: false,
            followers: true,
            stages: true,
            fit: Fit::May,
            attached: &NOTHING_ATTACHED,
        }
    }

    /// The cores of the largest site.
    pub fn widest(&self) -> u32 {
        self.largest.iter().copied().max().unwrap_or(1).max(1)
    }

    /// The name of a kind and the cores of its largest site; `None` once there are complaints about all sites.
    pub fn largest(&self, kind: Kind) -> Option<(&str, u32)> {
        let index = usize::from(kind.0);
        let largest = *self.largest.get(index)?;
        Some((self.kinds.name(index), largest))
    }

    /// The form of a kind of core.
    pub fn kind(&self) -> impl Form<Kind> + '_ {
        OneOf { what: "a kind of core that a site offers", names: &self.kinds }
            .meaning(|index: usize| Kind(index as u16), |kind: &Kind| usize::from(kind.0))
    }

    /// The form of a site.
    pub fn site(&self) -> OneOf<'_> {
        OneOf { what: "a site", names: &self.sites }
    }

    /// The key `kind`, of which `what` tells; where there is only one kind, nobody has to say which.
    pub fn walk_kind(&self, kind: &mut Kind, what: &'static str, w: &mut dyn Walk) {
        w.set(key("kind", "").means(what).usual("the only kind there is"), kind, self.kind());
        if let Some(fields) = w.fields().filter(|fields| !fields.has("kind") && self.kinds.len() > 1) {
            fields.missing("kind", &format!("{what}: {}", any_of(self.kinds.iter())));
        }
    }

    /// The key `seed`: the run's, if nothing is said.
    pub fn walk_seed(&self, seed: &mut u64, w: &mut dyn Walk) {
        let about = "the seed of all random numbers here; another seed gives other jobs";
        w.set(key("seed", "").means(about).usual("the run's seed"), seed, 0..=u64::MAX);
    }
}
