//! DAX, the workflows of Pegasus (schema 2 and 3): run times in seconds, sizes of files in bytes.

use std::collections::BTreeMap;

use roxmltree::{Document, Node, ParsingOptions};

use super::files::Files;
use super::{Unreadable, file_stem, seconds_span, whole_bytes};
use crate::grid::{Step, Workflow};
use crate::near::nearest_name;

/// Most elements and attributes of a workflow.
const NODES_MAX: u32 = 4_000_000;

pub fn read_dax(path: &str, text: &str) -> Result<Workflow, Unreadable> {
    let options = ParsingOptions { allow_dtd: true, nodes_limit: NODES_MAX, ..ParsingOptions::default() };
    let document = Document::parse_with_options(text, options).map_err(|error| {
        let at = error.pos();
        Unreadable::on_line(at.row as usize, at.col as usize, plain_message(&error.to_string()))
    })?;
    let dax = Dax { document: &document };
    let root = document.root_element();
    if root.tag_name().name() != "adag" {
        return Err(dax.unreadable(root, format!("expected <adag>, found <{}>", root.tag_name().name())));
    }

    let mut steps = Vec::new();
    let mut files = Files::default();
    let mut reads = Vec::new();
    let mut numbers = BTreeMap::<&str, u32>::new();
    let mut jobs = Vec::new();
    for job in root.children().filter(|node| node.has_tag_name_of(&["job", "dax", "dag"])) {
        let id = dax.attribute(job, "id")?;
        let number = steps.len() as u32;
        if numbers.insert(id, number).is_some() {
            return Err(dax.unreadable(job, format!("two jobs have the id `{id}`")));
        }
        let name = job.attribute("name").filter(|name| *name != id);
        let name = name.map_or(id.to_owned(), |name| format!("{name}_{id}"));
        jobs.push(job);
        steps.push(Step { name, work: dax.runtime(job)?, cores: dax.cores(job)? });
        reads.push(dax.uses(job, number, &mut files)?);
    }

    let mut waits = Vec::new();
    for child in root.children().filter(|node| node.has_tag_name_of(&["child"])) {
        let to = find_job(child, &dax, &numbers)?;
        for parent in child.children().filter(|node| node.has_tag_name_of(&["parent"])) {
            waits.push((find_job(parent, &dax, &numbers)?, to));
        }
    }
    let edges = files.edges(&reads, waits);
    let name = root.attribute("name").filter(|name| *name != "test").map_or_else(|| file_stem(path), str::to_owned);
    Workflow::new(name, steps, edges).map_err(|error| {
        let at = error.on_cycle().map_or(root, |first| jobs[first]);
        dax.unreadable(at, error.to_string())
    })
}

fn find_job(node: Node<'_, '_>, dax: &Dax<'_, '_>, numbers: &BTreeMap<&str, u32>) -> Result<u32, Unreadable> {
    let id = dax.attribute(node, "ref")?;
    numbers.get(id).copied().ok_or_else(|| {
        let near = nearest_name(id, numbers.keys().copied());
        let near = near.map_or(String::new(), |near| format!("; did you mean `{near}`?"));
        dax.unreadable(node, format!("no job has the id `{id}`{near}"))
    })
}

struct Dax<'d, 't> {
    document: &'d Document<'t>,
}

impl<'d> Dax<'d, '_> {
    fn unreadable(&self, node: Node<'_, '_>, message: impl Into<String>) -> Unreadable {
        let at = self.document.text_pos_at(node.range().start);
        Unreadable::on_line(at.row as usize, at.col as usize, message)
    }

    fn attribute(&self, node: Node<'d, '_>, name: &str) -> Result<&'d str, Unreadable> {
        let tag = node.tag_name().name();
        node.attribute(name).ok_or_else(|| self.unreadable(node, format!("expected an attribute `{name}` of <{tag}>")))
    }

    fn number(&self, node: Node<'_, '_>, name: &str, text: &str) -> Result<f64, Unreadable> {
        text.trim()
            .parse()
            .map_err(|_| self.unreadable(node, format!("{name}: expected a number, found `{}`", cut_text(text))))
    }

    /// Run time: an attribute of the job, or a profile in newer versions.
    fn runtime(&self, job: Node<'d, '_>) -> Result<crate::time::Span, Unreadable> {
        let text = job.attribute("runtime").or_else(|| job_profile(job, "runtime"));
        let text = text.ok_or_else(|| self.unreadable(job, "expected an attribute `runtime` of <job>, in seconds"))?;
        let seconds = self.number(job, "runtime", text)?;
        seconds_span(seconds).map_err(|message| self.unreadable(job, format!("runtime: {message}")))
    }

    fn cores(&self, job: Node<'d, '_>) -> Result<u32, Unreadable> {
        let count = job_profile(job, "cores").map(|text| self.number(job, "cores", text)).transpose()?;
        super::whole_cores(count).map_err(|message| self.unreadable(job, message))
    }

    /// Files that a job reads; files that it writes are recorded in `files`.
    fn uses(&self, job: Node<'d, '_>, number: u32, files: &mut Files<'d>) -> Result<Vec<usize>, Unreadable> {
        let mut read = Vec::new();
        for used in job.children().filter(|node| node.has_tag_name_of(&["uses"])) {
            let name = match used.attribute("file").or_else(|| used.attribute("name")) {
                Some(name) => name,
                None => return Err(self.unreadable(used, "expected an attribute `file` (or `name`) of <uses>")),
            };
            let size = self.number(used, "size", self.attribute(used, "size")?)?;
            let size = whole_bytes(size).map_err(|message| self.unreadable(used, format!("size: {message}")))?;
            let known = files.number(name, size);
            let link = self.attribute(used, "link")?;
            if !["input", "output", "inout", "none"].contains(&link) {
                return Err(
                    self.unreadable(used, format!("expected link `input`, `output` or `inout`, found `{link}`"))
                );
            }
            if link == "input" || link == "inout" {
                read.push(known);
            }
            if link == "output" || link == "inout" {
                files.write(known, number, Some(size));
            }
        }
        Ok(read)
    }
}

fn job_profile<'d>(job: Node<'d, '_>, key: &str) -> Option<&'d str> {
    let mut profiles = job.children().filter(|node| node.has_tag_name_of(&["profile"]));
    profiles.find(|node| node.attribute("key") == Some(key)).and_then(|node| node.text())
}

trait NamedElement {
    fn has_tag_name_of(&self, names: &[&str]) -> bool;
}

impl NamedElement for Node<'_, '_> {
    /// Ignores the namespace, which differs between versions.
    fn has_tag_name_of(&self, names: &[&str]) -> bool {
        self.is_element() && names.contains(&self.tag_name().name())
    }
}

/// The message without its position, which is reported separately.
fn plain_message(message: &str) -> String {
    message.rsplit_once(" at ").map_or(message, |(plain, _)| plain).to_owned()
}

fn cut_text(text: &str) -> String {
    text.chars().take(40).collect()
}
