//! Settings of a workload of rigid jobs, and its input file.

use std::sync::Arc;

use xxhash_rust::xxh3::xxh3_128;

use super::parsed_logs::parse_once;
use super::{Content, LogFile, Origin, Rigids, Walltimes, Window};
use crate::numerals::format_counted;
use crate::settings::units::MILLION;
use crate::settings::{
    Context, Field, Fields, FilePath, Flag, Form, FormExt, Layout, Maybe, Millionths, Purpose, SPAN, Shape, Text,
    Unless, Walk, key,
};
use crate::time::Span;
use crate::workload::needs::{self, NeedsShape};
use crate::workload::rigid::Trace;
use crate::workload::terms::JobTerms;
use crate::workload::{batsim, sacct, slurm_events, swf};

const LOG: &str = "a log of jobs";

/// Any text, with an example of its own.
#[derive(Clone, Copy, Debug)]
struct Sample {
    what: &'static str,
    example: &'static str,
}

impl Form<String> for Sample {
    fn read_value(&self, field: &Field<'_>) -> Option<String> {
        Text(self.what).read_value(field)
    }

    fn toml_text(&self, value: &String) -> Option<String> {
        Text(self.what).toml_text(value)
    }

    fn value_shape(&self) -> Shape {
        Shape::Text { what: self.what, pattern: None, example: self.example }
    }
}

fn walk_size(size: &mut sacct::SizeIn, w: &mut dyn Walk) {
    w.set(key("size", "the size of a job"), size, sacct::SizeIn::ALL);
}

/// Settings of a dump of `sacct`.
fn walk_form(form: &mut sacct::Form, w: &mut dyn Walk) {
    walk_size(&mut form.size, w);
    let about = "the text between columns, as `sacct --delimiter` has it";
    let expected = "a text of 1 to 16 bytes";
    let delimiter = Sample { what: expected, example: "|" }
        .with_condition(expected, |text: &String| (1..=sacct::DELIMITER_MAX).contains(&text.len()));
    w.set(key("delimiter", about).usual("that of the header, or `\"|\"`"), &mut form.delimiter, Maybe(delimiter));
    let about = "the columns of a file without a header, as `sacct --format` has them";
    let example = "JobIDRaw,User,Submit,Start,Elapsed,NNodes,NCPUS,Timelimit";
    let fields = Sample { what: "names of columns with commas between them", example };
    w.set(key("fields", about).usual("those of the header"), &mut form.fields, Maybe(fields));
}

impl Rigids {
    pub(super) fn walk_log(&mut self, w: &mut dyn Walk, context: &Context<'_>) {
        let about = "true if a job waits for the one that it follows in its log";
        w.set(key("follow", about), &mut self.follow, Flag);
        let Rigids { origin, window, count, rate_millionths, .. } = self;
        match origin {
            Origin::Sacct(_, form) => walk_form(form, w),
            Origin::SlurmEvents(_, size) => walk_size(size, w),
            Origin::Swf(_) | Origin::Batsim(_) | Origin::Lublin(_) => {}
        }
        let Some(log) = origin.log_mut() else { return };
        let LogFile { path, hash, strict } = log;
        // Content of a resolved topology whose log may be elsewhere.
        let (mut written_hash, mut written_count) =
            if w.writes() { (Some(hash.clone()), Some(*count)) } else { (None, None) };
        // A log has one meaning, independent of its path.
        w.set(key("file", "").need(LOG).aside(), path, FilePath("the path of a log of jobs"));
        let in_file = key("hash", "of the uncompressed content")
            .means("the hash that the uncompressed file must have")
            .usual("that of the file");
        w.set(in_file, &mut written_hash, Maybe(Text("the hash of the log")));
        let count = key("count", "the number of its jobs that run").usual("as in the file");
        w.set(count, &mut written_count, Maybe(1..=u32::MAX));
        w.set(key("strict", "true if any fault in it is an error"), strict, Flag);
        let from = key("from", "jobs submitted before this are left out; it becomes time zero");
        w.set(from, &mut window.from, SPAN);
        let to = key("to", "jobs submitted at this time or later are left out").usual("no end");
        w.set(to, &mut window.to, Maybe(SPAN));
        let jobs = key("jobs", "at most, the first ones").means("only the first ones, up to this number").usual("all");
        w.set(jobs, &mut window.jobs, Maybe(1..=u32::MAX));
        let about =
            "a time after `from`, as the log counts, whose jobs run but count in no mean: the grid fills meanwhile";
        w.set(key("warm_up", about).usual("none"), &mut window.warm_up, Unless(SPAN, Span::ZERO));
        let about = "a time before `to`, or before the last job, whose jobs run but count in no mean";
        w.set(key("cool_down", about).usual("none"), &mut window.cool_down, Unless(SPAN, Span::ZERO));
        let rate = Millionths::above_zero(1_000).with_condition("a number above 0, up to 1000", |rate: &u64| *rate > 0);
        let about = "the factor by which jobs arrive faster than in the log, whose times `from` and `to` are; run times and think times stay";
        w.set(key("arrival_factor", about).usual("`1.0`"), rate_millionths, Maybe(rate));
        let Some(fields) = w.written_fields() else { return };
        if window.to.is_some_and(|to| to <= window.from) {
            fields.complain("expected `to` after `from`".to_owned());
            // Without this, a window that holds no job would be a second fault.
            (window.from, window.to) = (Span::ZERO, None);
        }
        let aside = window.warm_up.micros().saturating_add(window.cool_down.micros());
        if window.to.is_some_and(|to| to.micros() - window.from.micros() <= aside) {
            let parts = "expected `warm_up` and `cool_down` together shorter than the part from `from` to `to`";
            fields.complain(format!("{parts}: no job would count"));
            (window.warm_up, window.cool_down) = (Span::ZERO, Span::ZERO);
        }
        self.open(fields, written_hash, written_count, context);
    }

    /// Reads the jobs from the file, or takes the resolved values if it is missing.
    fn open(&mut self, fields: &Fields<'_>, hash: Option<String>, count: Option<u32>, context: &Context<'_>) {
        let Some(log) = self.origin.log_mut() else { return };
        let Some(field) = fields.get("file") else { return };
        let Some((path, read)) = context.attached.files.get(&field.location()) else { return };
        log.path.clone_from(path);
        match (read, hash, count) {
            (Ok(bytes), hash, _) => {
                log.hash = format!("{:032x}", xxh3_128(bytes));
                if hash.is_some_and(|hash| hash != log.hash) {
                    field.complain(format!("{path} has changed: its hash is {}", log.hash));
                }
                let strict = log.strict;
                *self.content = self.jobs_of(&field, path, bytes);
                let faults = &self.content.faults;
                if strict && !faults.is_empty() {
                    field.complain(format!("{path}, as it is read strictly: {faults}"));
                }
            }
            (Err(reason), Some(hash), Some(count)) => {
                log.hash = hash;
                self.count = count;
                self.content.missing = Some(format!("cannot read {path}: {reason}"));
            }
            (Err(reason), ..) => field.complain(format!("cannot read {path}: {reason}")),
        }
    }

    fn jobs_of(&self, field: &Field<'_>, path: &str, bytes: &[u8]) -> Content {
        let format = match &self.origin {
            Origin::Batsim(_) => "batsim".to_owned(),
            Origin::Sacct(_, form) => format!("sacct {form:?}"),
            Origin::SlurmEvents(_, size) => format!("slurm-events {size:?}"),
            Origin::Swf(_) | Origin::Lublin(_) => "swf".to_owned(),
        };
        let hash = self.origin.log().map_or("", |log| &log.hash);
        let trace = parse_once(format!("{format} {hash}"), || match &self.origin {
            Origin::Batsim(_) => batsim::read_workload(bytes).map_err(|error| error.to_string()),
            Origin::Sacct(_, form) => sacct::read(bytes, form).map_err(|error| error.to_string()),
            Origin::SlurmEvents(_, size) => slurm_events::read(bytes, *size).map_err(|error| error.to_string()),
            Origin::Swf(_) | Origin::Lublin(_) => swf::read_log(bytes).map_err(|error| error.to_string()),
        });
        let content = match trace {
            Ok(trace) => Content::of_trace(Arc::unwrap_or_clone(trace), self.window),
            Err(what) => {
                field.complain(format!("{path}: {what}"));
                return Content::default();
            }
        };
        if content.jobs.is_empty() {
            let Content { faults, outside, .. } = &content;
            let are = if *outside == 1 { "is" } else { "are" };
            let Window { from, to, .. } = self.window;
            let part = match to {
                Some(to) => format!(", {from} to {to}"),
                None if from > Span::ZERO => format!(", from {from}"),
                None => String::new(),
            };
            let left_out = format!("{} {are} outside of the selected part{part}", format_counted(*outside, "job"));
            let why = match (outside, faults.is_empty()) {
                (0, true) if bytes.trim_ascii().is_empty() => ": it is empty".to_owned(),
                (0, true) if bytes.trim_ascii_start()[0].is_ascii_alphabetic() => ": it has only a header".to_owned(),
                (0, true) => ": it has only comments".to_owned(),
                (0, false) => format!(": {faults}"),
                (_, true) => format!(": {left_out}"),
                (_, false) => format!(": {left_out}, and of the others {faults}"),
            };
            field.complain(format!("{path} has no job to run{why}"));
        }
        content
    }

    /// Settings of values and predecessors.
    pub(super) fn walk_terms(&mut self, w: &mut dyn Walk, context: &Context<'_>) {
        let terms = key("terms", "")
            .means("the values of these jobs to their users, and the times at which they are wanted, drawn by a rule");
        let terms = terms.usual("nothing").expects("a table such as { deadline = [2.0, 8.0] }, or {}");
        w.maybe(
            terms,
            Layout::Inline,
            &mut self.terms,
            || JobTerms::with_defaults(context),
            |terms, w| terms.walk(w, context),
        );
        let Some(fields) = w.written_fields() else { return };
        if context.deadlines && self.terms.is_none() && !fields.has("terms") {
            fields
                .missing("terms", "when these jobs are wanted, as a reservation has a deadline: {} for the usual rule");
        }
        let followers = self.content.jobs.heads().filter(|job| job.follows).count();
        if !context.followers && self.follow && followers > 0 {
            let message = format!(
                "{followers} of these jobs follow others, but only jobs that queue wait for the job that they follow: \
                 add `follow = false`, and each is submitted at its own time"
            );
            fields.diagnostics().add(fields.diagnostic("follow", message));
        }
    }

    /// Settings of needs.
    pub(super) fn walk_needs(&mut self, w: &mut dyn Walk) {
        let Rigids { origin, needs, node_kilobytes, .. } = self;
        let draws = matches!(origin, Origin::Lublin(_)) || w.walk_purpose() == Purpose::List;
        let rule = needs::Rule::ALL
            .with_condition("whole or dual-core: memory is drawn only for jobs of a model", |rule| {
                draws || *rule != needs::Rule::QuadCore
            });
        let about = "the needs of tasks on their nodes, at sites whose nodes are shared";
        w.set(key("needs", about).usual("`\"whole\"`"), needs, Unless(rule, needs::Rule::Whole));
        // No other source has memory.
        if !matches!(origin, Origin::Swf(_) | Origin::Sacct(..)) {
            return;
        }
        let fits = w.walk_purpose() == Purpose::List || *needs == needs::Rule::DualCore;
        let node = key("node_kilobytes", "the memory of a node in the units of the log");
        let node = node.only_if(fits, "expected also needs = \"dual-core\"");
        w.set(node, node_kilobytes, 1..=u64::MAX >> 11);
    }

    /// Derives the needs of the jobs.
    pub(super) fn shape(&mut self) {
        let Content { jobs, shapes, without_memory, beyond_memory, .. } = &mut *self.content;
        let known = "jobs that cannot be run have been left out";
        match (self.needs, &self.origin) {
            (needs::Rule::QuadCore, Origin::Lublin(lublin)) => {
                let tasks: Vec<u32> = jobs.iter().map(|job| job.nodes().expect(known)).collect();
                let needs = needs::quad_core(lublin.seed, tasks.iter().copied());
                *shapes =
                    Arc::new(tasks.iter().zip(needs).map(|(&tasks, needs)| NeedsShape { tasks, needs }).collect());
            }
            (needs::Rule::DualCore, _) => {
                *shapes = Arc::new(
                    jobs.iter().map(|job| needs::dual_core(&job, self.node_kilobytes).expect(known)).collect(),
                );
                *without_memory = jobs.iter().filter(|job| needs::job_memory(job).is_none()).count() as u64;
                let node = self.node_kilobytes;
                *beyond_memory =
                    jobs.iter().filter(|job| needs::job_memory(job).is_some_and(|its| its > node)).count() as u64;
            }
            (needs::Rule::Whole | needs::Rule::QuadCore, _) => {}
        }
    }

    /// Selects the jobs, once all settings have been read.
    pub(super) fn select_jobs(&mut self, fields: &Fields<'_>, context: &Context<'_>) {
        if let Some(jobs) = context.attached.jobs.get(&fields.location()) {
            match Content::of_prepared(jobs) {
                Some(content) => *self.content = content,
                None => fields.complain("its prepared jobs are damaged".to_owned()),
            }
            self.count = self.content.jobs.len() as u32;
            return;
        }
        if let Origin::Lublin(lublin) = &self.origin {
            let trace = Trace { jobs: lublin.generate(), ..Trace::default() };
            *self.content = Content::of_trace(trace, Window::default());
        }
        if let Some(rate) = self.rate_millionths {
            self.content.accelerate(rate);
        }
        if self.walltimes == Walltimes::Exact {
            self.content.make_exact();
        }
        if let Some(share) = self.utilisation.filter(|_| !self.content.jobs.is_empty()) {
            let site = self.site.and_then(|site| context.cores.get(site));
            let target = f64::from(share.get()) / MILLION as f64;
            let cores = site.map_or(context.cores_in_all, |cores| u64::from(*cores)).max(1);
            let widest = site.copied().unwrap_or(context.widest());
            self.load(target, (cores, widest), fields, context.seed);
        }
        if !self.content.is_bearable(self.overestimate_millionths) {
            fields.complain("the total run time of the jobs is longer than time can be counted".to_owned());
        }
        if self.content.missing.is_none() {
            self.count = self.content.jobs.len() as u32;
        }
        self.content.count_part(self.window, self.rate_millionths);
        if !self.delay.is_zero() {
            self.content.postpone(self.delay);
        }
        let counts_none = self.content.counted.and_then(|part| part.places).is_some_and(|(from, to)| from >= to);
        if counts_none && !self.content.jobs.is_empty() {
            let jobs = format_counted(self.content.jobs.len() as u64, "job");
            fields.complain(format!("none of the {jobs} counts: all are in the warm-up or the cool-down"));
        }
        self.shape();
    }
}
