//! The grid that settings are written for, and may refer to.

use std::collections::BTreeMap;

use super::forms::{Form, FormExt, OneOf};
use super::walk::{Walk, key};
use super::{any_of, written::Attached};
use crate::grid::Kind;
use crate::time::Span;

/// A grid from the view of descriptions of jobs.
pub struct Context<'a> {
    /// Seed of the run.
    pub seed: u64,
    /// Unit of run times in systems that have one.
    pub tick: Span,
    pub kinds: NameIndex<'a>,
    /// Cores of the largest site of each kind.
    pub largest: Vec<u32>,
    pub sites: NameIndex<'a>,
    /// Cores of each site; `cores_in_all` is their sum over the sites that these jobs may use.
    pub cores: Vec<u32>,
    pub cores_in_all: u64,
    pub users: NameIndex<'a>,
    /// True if data travels over links.
    pub linked: bool,
    /// True if jobs have walltimes.
    pub walltimes: bool,
    /// True if tasks may need less than whole nodes.
    pub shares_nodes: bool,
    /// True if tasks may have a run time per site.
    pub site_times: bool,
    /// Kind of core of each site; None for sites that these jobs may not use.
    pub site_kinds: Vec<Option<Kind>>,
    /// Mean capacity between two sites that these jobs may use, in bytes per second; None without links, and infinite
    /// if there are no two such sites.
    pub mean_capacity: Box<dyn Fn() -> Option<f64> + 'a>,
    /// True if jobs must have deadlines.
    pub deadlines: bool,
    /// True if jobs may wait for others to end.
    pub followers: bool,
    /// True if the data of whole jobs is staged to their sites and back.
    pub stages: bool,
    pub fit: Fit,
    pub(crate) attached: &'a Attached,
}

/// Treatment of a task that is wider than every site.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fit {
    /// Such a task is an error; with a hint for the user.
    Must(Option<&'static str>),
    /// The system accepts such a task.
    May,
}

/// Ordered names, with look-up by name or by number.
#[derive(Clone, Debug, Default)]
pub struct NameIndex<'a> {
    list: Vec<&'a str>,
    numbers: BTreeMap<&'a str, usize>,
}

impl<'a> FromIterator<&'a str> for NameIndex<'a> {
    fn from_iter<I: IntoIterator<Item = &'a str>>(names: I) -> NameIndex<'a> {
        let list: Vec<&str> = names.into_iter().collect();
        // Of two equal names the last counts; they are reported as an error elsewhere.
        let numbers = BTreeMap::from_iter(list.iter().enumerate().map(|(number, name)| (*name, number)));
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

static NOTHING_ATTACHED: Attached = Attached::NONE;

impl Context<'_> {
    /// An unspecified grid: for lists of keys.
    pub fn without_grid() -> Context<'static> {
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
            site_times: true,
            site_kinds: Vec::new(),
            mean_capacity: Box::new(|| None),
            deadlines: false,
            followers: true,
            stages: true,
            fit: Fit::May,
            attached: &NOTHING_ATTACHED,
        }
    }

    /// Cores of the largest site.
    pub fn widest(&self) -> u32 {
        self.largest.iter().copied().max().unwrap_or(1).max(1)
    }

    /// Name of a kind and the cores of its largest site; None if all sites have errors.
    pub fn largest(&self, kind: Kind) -> Option<(&str, u32)> {
        let index = usize::from(kind.0);
        let largest = *self.largest.get(index)?;
        Some((self.kinds.name(index), largest))
    }

    /// Form of a kind of core.
    pub fn kind(&self) -> impl Form<Kind> + '_ {
        OneOf { what: "a kind of core that a site offers", names: &self.kinds }
            .map_values(|index: usize| Kind(index as u16), |kind: &Kind| usize::from(kind.0))
    }

    /// Form of a site.
    pub fn site(&self) -> OneOf<'_> {
        OneOf { what: "a site", names: &self.sites }
    }

    /// Walks the key `kind`, which means `what`. It may be left out if there is only one kind.
    pub fn walk_kind(&self, kind: &mut Kind, what: &'static str, w: &mut dyn Walk) {
        w.set(key("kind", "").means(what).usual("the only kind there is"), kind, self.kind());
        if let Some(fields) = w.written_fields().filter(|fields| !fields.has("kind") && self.kinds.len() > 1) {
            fields.missing("kind", &format!("{what}: {}", any_of(self.kinds.iter())));
        }
    }

    /// Walks the key `seed`; the default is the run's seed.
    pub fn walk_seed(&self, seed: &mut u64, w: &mut dyn Walk) {
        let about = "the seed of all random numbers here; another seed gives other jobs";
        w.set(key("seed", "").means(about).usual("the run's seed"), seed, 0..=u64::MAX);
    }
}
