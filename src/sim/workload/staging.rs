//! Data of one-task jobs: the input transferred to their site before they start, and the output transferred back.

use serde::Serialize;

use crate::grid::{DATA_MAX, Staging, Volumes};
use crate::settings::{Context, Key, Maybe, Unless, Volume, Walk, key};

/// Settings common to all jobs of a workload.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Data {
    /// Default volumes of a job.
    pub each: Volumes,
    /// Home of the data, as an index into the topology's sites.
    pub home: Option<usize>,
}

impl Data {
    pub fn walk(&mut self, w: &mut dyn Walk, context: &Context<'_>) {
        walk_volumes(&mut self.each, None, w, context);
        let home =
            key("home", "").means("the site where the data of these jobs is stored, and to which their output is sent");
        w.set(staging_key(home.usual("none"), context), &mut self.home, Maybe(context.site()));
    }

    /// Checks that data has a home, once the jobs are known.
    pub fn check(&self, jobs: impl IntoIterator<Item = Volumes>, w: &dyn Walk) {
        let mut all = jobs.into_iter().chain([self.each]);
        let Some(fields) = w.written_fields().filter(|fields| self.home.is_none() && !fields.has("home")) else {
            return;
        };
        if all.any(|volumes| volumes != Volumes::NOTHING) {
            fields.missing("home", "the site where the data of these jobs is stored");
        }
    }

    pub fn of(&self, volumes: Volumes) -> Option<Staging> {
        let home = self.home.filter(|_| volumes != Volumes::NOTHING)?;
        Some(Staging { volumes, home: home as u32 })
    }
}

/// Walks the volumes of a job, or of all jobs; `usual` are the workload's, for those of a job.
pub fn walk_volumes(volumes: &mut Volumes, usual: Option<Volumes>, w: &mut dyn Walk, context: &Context<'_>) {
    let otherwise = if usual.is_some() { "that of the workload" } else { "none" };
    let usual = usual.unwrap_or_default();
    let key = |name, about| staging_key(key(name, "").means(about).usual(otherwise), context);
    let about = "the input data of a job, which is transferred to its site before it may start";
    w.set(key("input", about), &mut volumes.input, Unless(Volume { most: DATA_MAX }, usual.input));
    let about = "the output data of a job: the job is over once that has been transferred to `home`";
    w.set(key("output", about), &mut volumes.output, Unless(Volume { most: DATA_MAX }, usual.output));
}

pub const NEEDS_LINKS: &str = "data needs links, but this topology has none: leave this out, or add [[link]]s";

fn staging_key(key: Key, context: &Context<'_>) -> Key {
    let why = match context.stages {
        true => NEEDS_LINKS,
        false => "data of whole jobs is moved only under a [batch] or a [reservation]: leave this out",
    };
    key.only_if(context.stages && context.linked, why)
}
