//! A workload of generated market jobs.

use super::super::fields::{Field, Fields};
use super::{CORES_MAX, Context, REFUSE, TASKS_MAX, TOO_LONG_A_JOB};
use crate::catalog;
use crate::grid::{Kind, LONGEST};
use crate::workload::market::{Generator, LoadBasis};

const LOAD_MAX: f64 = 10.0;
const JOBS_MAX: u32 = 10_000_000;
const DEGREE_MAX: f64 = 50.0;

pub(super) fn check_generator(fields: &Fields<'_>, context: &Context<'_>) -> Generator {
    let seed = fields.get("seed").and_then(|field| field.whole(0..=u64::MAX)).unwrap_or(context.seed);
    let jobs = fields.need("jobs", "how many jobs to generate").and_then(|field| field.whole(1..=JOBS_MAX));
    let above_zero = format!("a number above 0, up to {LOAD_MAX}");
    let load = fields.get("load").and_then(|field| field.number(&above_zero, |load| 0.0 < load && load <= LOAD_MAX));
    let load_basis = fields.get("load_basis").and_then(|field| field.word(catalog::LOAD_BASES));
    let tasks = fields.get("tasks").and_then(|field| check_tasks_range(&field)).unwrap_or((5, 20));
    let total_runtime = check_total_runtime(fields, tasks.1, context).unwrap_or(USUAL_RUNTIME);
    let kinds = match fields.get("kinds") {
        Some(field) => check_two_kinds(&field, context),
        None => usual_kinds(fields, context),
    };
    let share = |share: f64| (0.0..=1.0).contains(&share);
    let kind_share = fields.get("kind_share").and_then(|field| field.number("a number from 0 to 1", share));
    let degree_range = format!("a number from 0 to {DEGREE_MAX}");
    let fits = |degree: f64| (0.0..=DEGREE_MAX).contains(&degree);
    let degree = fields.get("degree").and_then(|field| field.number(&degree_range, fits));
    let output = fields.get("output").and_then(|field| match context.linked {
        true => field.capacity(),
        false => {
            field.complain("data needs links to go over, and this topology has none: leave this out, or add [[link]]s");
            None
        }
    });
    let generator = Generator {
        seed,
        jobs: jobs.unwrap_or(1),
        load: load.unwrap_or(1.0),
        load_basis: load_basis.unwrap_or(LoadBasis::Total),
        tasks,
        total_runtime,
        cores_max: fields.get("cores_max").and_then(|field| field.whole(1..=CORES_MAX)).unwrap_or(100),
        kinds: kinds.unwrap_or([Kind(0); 2]),
        kind_share: kind_share.unwrap_or(0.8),
        degree: degree.unwrap_or(1.0),
        output: output.unwrap_or(0),
    };
    if kinds.is_some() {
        check_widest(fields, &generator, context);
    }
    generator
}

fn check_tasks_range(field: &Field<'_>) -> Option<(u32, u32)> {
    let pair = field.pair("the fewest and the most tasks of a job, such as [5, 20]")?;
    let [Some(fewest), Some(most)] = pair.each_ref().map(|field| field.whole(1..=TASKS_MAX)) else { return None };
    if fewest > most {
        return field.wrong("the smaller number first");
    }
    Some((fewest, most))
}

/// In ticks, as in the paper.
const USUAL_RUNTIME: (u64, u64) = (10, 200_000);

fn check_total_runtime(fields: &Fields<'_>, most_tasks: u32, context: &Context<'_>) -> Option<(u64, u64)> {
    let tick = context.system.tick();
    let ticks = |field: &Field<'_>| {
        let span = field.positive_span()?;
        if !span.micros().is_multiple_of(tick.micros()) {
            return field.wrong(format_args!("whole ticks of the market, which are {tick} long"));
        }
        Some(span.micros() / tick.micros())
    };
    // Each task may be rounded up to a tick.
    let too_long = |longest: u64| {
        u128::from(longest + u64::from(most_tasks)) * u128::from(tick.micros()) > u128::from(LONGEST.micros())
    };

    let expected = "the shortest and the longest total run time of a job, such as [\"10 min\", \"2 d\"]";
    let Some(field) = fields.get("total_runtime") else {
        if too_long(USUAL_RUNTIME.1) {
            fields.missing("total_runtime", &format!("{expected}, as the usual 200000 ticks would take 285 years"));
        }
        return None;
    };
    let pair = field.pair(expected)?;
    let [Some(shortest), Some(longest)] = pair.each_ref().map(ticks) else { return None };
    if shortest > longest {
        return field.wrong("the shorter time first");
    }
    if too_long(longest) {
        return pair[1].wrong(TOO_LONG_A_JOB);
    }
    Some((shortest, longest))
}

fn check_two_kinds(field: &Field<'_>, context: &Context<'_>) -> Option<[Kind; 2]> {
    let [usual, other] = field.pair("the usual kind of core and the other one")?;
    Some([context.grid.kind(&usual)?, context.grid.kind(&other)?])
}

fn usual_kinds(fields: &Fields<'_>, context: &Context<'_>) -> Option<[Kind; 2]> {
    match context.grid.names.len() {
        0 => None,
        1 => Some([Kind(0), Kind(0)]),
        2 => Some([Kind(0), Kind(1)]),
        more => {
            fields.missing("kinds", &format!("which two of the {more} kinds of core the tasks use"));
            None
        }
    }
}

/// If jobs that fit nowhere are errors, no task may come out too wide.
fn check_widest(fields: &Fields<'_>, generator: &Generator, context: &Context<'_>) {
    if !context.system.must_place() {
        return;
    }
    let share = generator.kind_share;
    for (kind, used) in generator.kinds.into_iter().zip([share > 0.0, share < 1.0]) {
        let Some((name, largest)) = context.grid.largest(kind).filter(|_| used) else { continue };
        let widest = generator.cores_max;
        if widest > largest {
            let message = format!("tasks may want {widest} cores, and the largest site of kind {name} has {largest}");
            match fields.get("cores_max") {
                Some(field) => fields.findings().add(field.complaint(message).hint(REFUSE)),
                None => fields.findings().add(fields.complaint("cores_max", message).hint(REFUSE)),
            }
            return;
        }
    }
}
