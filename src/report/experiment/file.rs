//! The file of an experiment: a topology, what varies in it, and the numbers to record.
//!
//! ```toml
//! name = "policies"
//! topology = "market-paper.toml"      # beside this file
//! metrics = ["value", "starved"]      # all, if nothing is said
//!
//! [set]                               # the same in every run
//! workload.0.jobs = 1000
//!
//! [vary]                              # every combination is a run; the first axis changes slowest
//! seed = [1, 2, 3]
//! market.policy = ["fifo", "srtf"]
//!
//! workload.0.repeat = { windows = 12, of = "14 d", warm_up = "2 d" }  # windows of a log (windows.rs)
//!
//! [repeat]                            # like [vary], but runs that differ in nothing else are repetitions
//! site.york.failures.seed = [1, 2]
//!
//! [[entrant]]                         # what is compared under a name, where one key cannot say it
//! name = "patient"
//! set = { market.policy = "fifo", defaults.site.report_every = "1 min" }
//!
//! [[choice]]                          # a point that its source leaves open, with its options (choice.rs)
//! name = "ties"
//! about = "the order of equal bids"
//! option = [{ name = "arrival" }, { name = "size", set = { market.ties = "size" } }]
//!
//! [[claim]]                           # what the results are judged by (claims/written.rs)
//! text = "SRTF starves fewer jobs than FIFO"
//! compare = ["starved(srtf) < starved(fifo)"]
//! ```

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::choice::{Choices, Selection, VARIANT};
use super::claims::{self, Cells, WrittenClaim};
use super::metrics::{self, Metric};
use super::windows::{self, LogWindow};
use hansa_sim::settings::{
    Diagnostic, Field, Fields, FilePath, Form, InvalidInput, Layout, Listed, Location, Maybe, NAME, Name, Reader,
    Shape, Table, Text, Value, Walk, Word, WrittenNode, key, list_keys, quote_text, version,
};
use hansa_sim::topology::{Library, Override, OverrideFile, Read, path_beside};

#[derive(Clone, Debug)]
pub struct Experiment {
    pub name: String,
    pub about: Option<String>,
    /// Path of the topology's file.
    pub topology: String,
    pub axes: Vec<Axis>,
    /// Entrants; they are the values of the first axis, if there are any.
    pub entrants: Vec<Entrant>,
    pub metrics: Vec<Metric>,
    /// True if the file chooses no metrics.
    pub keeps_all_metrics: bool,
    /// Statements that the results are judged by.
    pub claims: Vec<WrittenClaim>,
    pub choices: Choices,
    /// Sentences on what limits its results.
    pub remarks: Vec<String>,
    fixed: Vec<Override>,
    /// Settings of each option of each choice.
    optional: Vec<Vec<Vec<Override>>>,
    /// Option of each choice that runs take, unless variants are an axis.
    selection: Selection,
}

/// A key of the topology with several values; or the entrants, by name.
#[derive(Clone, Debug)]
pub struct Axis {
    pub key: String,
    /// Values as tables show them.
    pub values: Vec<String>,
    /// Settings of each value.
    settings: Vec<Vec<Override>>,
    /// True if the file declares its values as repetitions.
    repeats: bool,
}

impl Axis {
    fn new(key: &str) -> Axis {
        Axis { key: key.to_owned(), values: Vec::new(), settings: Vec::new(), repeats: false }
    }

    /// True if runs that differ in nothing else are repetitions: it is a seed, windows of a log, or declared as such.
    pub fn is_repetition(&self) -> bool {
        self.repeats || is_repetition(&self.key)
    }
}

/// True if the values of a key are repetitions wherever it varies: a seed, or windows of a log.
pub(super) fn is_repetition(key: &str) -> bool {
    key.rsplit('.').next() == Some("seed") || windows::is_windows(key)
}

/// Keys of the windows of a log.
pub fn window_keys() -> Vec<Listed> {
    windows::window_keys()
}

/// Key of the axis of the entrants.
pub const ENTRANT: &str = "entrant";

/// Key of the axis of the phases, in which the same jobs are submitted a little later.
pub const PHASE: &str = "phase";

/// Settings under a name.
pub type NamedSettings = (String, Vec<Override>);

/// Settings that are compared under one name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Entrant {
    pub name: String,
    pub about: Option<String>,
}

/// One combination of values.
#[derive(Clone, Debug)]
pub struct Run {
    /// Number of the run, from 1.
    pub number: usize,
    /// Values of the axes, one per axis.
    pub values: Vec<String>,
    pub overrides: Vec<Override>,
}

/// Most runs of an experiment.
pub const RUNS_MAX: usize = 100_000;

/// Reads the experiment at `path`. Its topology is only checked to be readable; its content is checked when it is run.
pub fn read_experiment(path: &str, read: &mut Read<'_>) -> Result<Experiment, InvalidInput> {
    let mut library = Library::new(read);
    let Some(root) = library.open(path, None) else { return library.diagnostics.verdict(None) };
    if !version::check_version(&root, &library.diagnostics) {
        return library.diagnostics.verdict(None);
    }
    let experiment = check_experiment(&root, path, &library);
    // The caller reads the topology again, but does not know the location of its name.
    if let Some(WrittenNode { location, value: Value::Text(_) }) = root.get("topology")
        && let Err(reason) = (library.read)(&experiment.topology)
    {
        let message = format!("cannot read {}: {reason}", experiment.topology);
        library.diagnostics.add(Diagnostic::new(*location, "topology", message));
    }
    library.diagnostics.verdict(Some(experiment))
}

impl Experiment {
    /// An experiment without a file: each variant of a topology in each phase, which are repetitions.
    pub fn of_variants(
        name: &str,
        topology: &str,
        fixed: Vec<Override>,
        variants: Vec<NamedSettings>,
        phases: Vec<NamedSettings>,
    ) -> Experiment {
        let entrants = variants.iter().map(|(name, _)| Entrant { name: name.clone(), about: None }).collect();
        let axis = |key: &str, values: Vec<NamedSettings>, repeats| {
            let (values, settings) = values.into_iter().unzip();
            Axis { key: key.to_owned(), values, settings, repeats }
        };
        Experiment {
            name: name.to_owned(),
            about: None,
            topology: topology.to_owned(),
            axes: vec![axis(ENTRANT, variants, false), axis(PHASE, phases, true)],
            entrants,
            metrics: metrics::all_metrics().collect(),
            keeps_all_metrics: true,
            claims: Vec::new(),
            choices: Choices::default(),
            remarks: Vec::new(),
            fixed,
            optional: Vec::new(),
            selection: Selection::default(),
        }
    }

    /// All runs; the first axis changes slowest.
    pub fn runs(&self) -> impl Iterator<Item = Run> + '_ {
        (1..=self.count()).map(|number| self.run(number))
    }

    /// The run of this number, counted from 1.
    pub fn run(&self, number: usize) -> Run {
        let mut rest = number - 1;
        let mut picks: Vec<usize> =
            self.axes.iter().rev().map(|axis| take_digit(&mut rest, axis.values.len())).collect();
        picks.reverse();
        let picked = || self.axes.iter().zip(&picks);
        let settings = picked().flat_map(|(axis, &pick)| axis.settings[pick].iter().cloned());
        let selected = self.settings_of(&self.selection);
        Run {
            number,
            values: picked().map(|(axis, &pick)| axis.values[pick].clone()).collect(),
            overrides: self.fixed.iter().cloned().chain(selected).chain(settings).collect(),
        }
    }

    /// The experiment with these options.
    pub fn with_selection(self, selection: Selection) -> Experiment {
        Experiment { selection, ..self }
    }

    /// The experiment under all variants of its choices, which become its first axis. None if there are no choices, or
    /// too many runs.
    pub fn with_variants(mut self) -> Option<Experiment> {
        let variants = self.choices.variants();
        let runs = self.count().checked_mul(variants.len()).filter(|runs| *runs <= RUNS_MAX);
        if self.choices.all.is_empty() || runs.is_none() {
            return None;
        }
        let mut axis = Axis { key: VARIANT.to_owned(), values: Vec::new(), settings: Vec::new(), repeats: false };
        for variant in variants {
            axis.settings.push(self.settings_of(&variant.selection).collect());
            axis.values.push(variant.name);
        }
        self.axes.insert(0, axis);
        self.selection = Selection::default();
        Some(self)
    }

    /// The experiment of one variant, without the axis of variants. None if variants are not an axis.
    pub fn without_variants(&self) -> Option<Experiment> {
        let mut one = self.clone();
        let has_variants = one.axes.first().is_some_and(|axis| axis.key == VARIANT);
        has_variants.then(|| {
            one.axes.remove(0);
            one
        })
    }

    /// Settings of the selected options, in the order of the choices.
    fn settings_of(&self, selection: &Selection) -> impl Iterator<Item = Override> + '_ {
        let options = self.optional.iter().zip(selection.0.clone());
        options.flat_map(|(options, at)| options[at].iter().cloned())
    }

    /// Keys of the axes with the values of a run.
    pub fn settings(&self, values: &[String]) -> BTreeMap<String, String> {
        self.axes.iter().map(|axis| axis.key.clone()).zip(values.iter().cloned()).collect()
    }

    /// True if windows of a log are repetitions.
    pub fn has_windows(&self) -> bool {
        self.axes.iter().any(|axis| windows::is_windows(&axis.key))
    }

    /// Keys that the file declares as repetitions.
    pub fn repeated_keys(&self) -> Vec<String> {
        self.axes.iter().filter(|axis| axis.repeats).map(|axis| axis.key.clone()).collect()
    }

    pub fn count(&self) -> usize {
        self.axes.iter().map(|axis| axis.values.len()).product()
    }

    /// An empty table of means for the claims: its axes, without repetitions, and its metrics.
    pub(super) fn cells(&self) -> Cells<'_> {
        let axes = self.axes.iter().filter(|axis| !axis.is_repetition());
        let axes = axes.map(|axis| (axis.key.as_str(), &axis.values[..])).collect();
        Cells::new(axes, self.metrics.iter().map(|metric| metric.name).collect())
    }
}

/// Removes the last digit of a number in this base, and returns it.
fn take_digit(number: &mut usize, base: usize) -> usize {
    let digit = *number % base;
    *number /= base;
    digit
}

/// The keys of an experiment's file, without `vary` and `set`.
struct FileKeys {
    name: String,
    about: Option<String>,
    topology: String,
    metrics: Vec<Metric>,
    entrants: Vec<Entrant>,
    choices: Choices,
    claims: Vec<WrittenClaim>,
    /// True if it has a `[repeat]` table.
    repeats: bool,
}

impl FileKeys {
    fn usual_keys() -> FileKeys {
        let metrics = metrics::all_metrics().collect();
        let name = String::new();
        let topology = String::new();
        let choices = Choices::default();
        let entrants = Vec::new();
        let claims = Vec::new();
        FileKeys { name, about: None, topology, metrics, entrants, choices, claims, repeats: false }
    }

    fn walk(&mut self, w: &mut dyn Walk) {
        version::walk_version(w);
        w.set(key("name", "").means("results go to `out/NAME`").need(NAME), &mut self.name, Name);
        w.set(key("about", "").means("a one-line description"), &mut self.about, Maybe(Text("a text")));
        let topology = key("topology", "").means("the topology of every run").need(TOPOLOGY);
        w.set(topology, &mut self.topology, FilePath(TOPOLOGY));
        let metrics = key("metrics", "").means("the numbers to record of every run").usual("all of them");
        w.set(metrics, &mut self.metrics, Metrics);
        let entrants = key(ENTRANT, "")
            .means("the settings that are compared under a name; entrants change more slowly than all that varies");
        let entrants = entrants.each("a table with a name and what it sets");
        w.rows(entrants, Layout::Sections(ENTRANT), &mut self.entrants, Entrant::default, |entrant, w| {
            w.set(key("name", "").means("its name in tables").need(NAME), &mut entrant.name, Name);
            w.set(key("about", "").means("a one-line description"), &mut entrant.about, Maybe(Text("a text")));
            let set = key("set", "").means("the keys that it sets, overriding the topology and [set]");
            let example = "{ defaults.site.system = \"batch\", defaults.site.scheduler = \"easy\" }";
            w.key_read_elsewhere(
                &set.usual("nothing"),
                Shape::Free { what: SETTINGS, example, json: r#"{ "type": "object" }"# },
            );
        });
        let vary = key("vary", "").means(
            "the keys that vary, with their values; every combination is a run, and the first key changes slowest; \
             `workload.N.repeat` makes windows of a log repetitions",
        );
        w.key_read_elsewhere(
            &vary.need_unless(!self.entrants.is_empty() || self.repeats, VARY),
            Shape::Free {
                what: "a table of topology keys as for `--set`, each with a list of values",
                example: "{ seed = [1, 2], market.policy = [\"fifo\", \"srtf\"] }",
                json: r#"{ "type": "object", "minProperties": 1 }"#,
            },
        );
        let repeat = key("repeat", "").means(
            "keys that vary as in `vary`, but whose values are repetitions, as those of seeds are: means are over them",
        );
        w.key_read_elsewhere(
            &repeat.usual("nothing"),
            Shape::Free {
                what: "a table of topology keys as for `--set`, each with a list of values",
                example: "{ site.york.failures.seed = [1, 2] }",
                json: r#"{ "type": "object" }"#,
            },
        );
        let set = key("set", "").means("settings of every run that replace those of the topology");
        w.key_read_elsewhere(
            &set.usual("nothing"),
            Shape::Free { what: SETTINGS, example: "{ workload.0.jobs = 1000 }", json: r#"{ "type": "object" }"# },
        );
        self.choices.walk(w);
        claims::walk_claims(&mut self.claims, w);
    }
}

const TOPOLOGY: &str = "the path of a topology file, relative to this one";
pub(super) const SETTINGS: &str = "a table of topology keys as for `--set`, each with a value";
const REPEAT: &str = "a [repeat] table with keys of the topology that take several values";
const VARY: &str = "a [vary] table with the keys of the topology that take several values";

/// Keys of an experiment.
pub fn experiment_keys() -> Vec<Listed> {
    list_keys(|w| FileKeys::usual_keys().walk(w))
}

fn check_experiment(root: &Table, path: &str, library: &Library<'_, '_>) -> Experiment {
    let diagnostics = &library.diagnostics;
    let fields = Fields::at_root(root, diagnostics);
    let mut written = FileKeys { repeats: root.get("repeat").is_some(), ..FileKeys::usual_keys() };
    written.walk(&mut Reader::new(&fields));
    let origin = Arc::new(OverrideFile { path: path.to_owned(), text: diagnostics.source(0).text.clone() });
    let settings = Settings { library, origin, remarks: RefCell::default() };

    let vary =
        if written.entrants.is_empty() && !written.repeats { fields.need("vary", VARY) } else { fields.get("vary") };
    let vary = vary.and_then(|field| field.table(VARY)).and_then(|_| root.get("vary"));
    let repeat = fields.get("repeat").and_then(|field| field.table(REPEAT)).and_then(|_| root.get("repeat"));
    let mut varying = vary.map_or_else(Vec::new, |node| settings.vary_axes(node, &[]));
    let repeating = repeat.map_or_else(Vec::new, |node| settings.vary_axes(node, &varying));
    varying.extend(repeating.into_iter().map(|axis| Axis { repeats: true, ..axis }));
    let entering = root.get(ENTRANT).and_then(|node| settings.entrants_axis(node, &written.entrants, &varying));
    let axes: Vec<Axis> = entering.into_iter().chain(varying).collect();
    let set = fields.get("set").and_then(|field| field.table("a [set] table")).and_then(|_| root.get("set"));
    let fixed = set.map_or_else(Vec::new, |node| settings.fixed_settings(node, &axes));
    let optional = list_under(root, "choice").iter().map(|choice| settings.option_settings(choice, &axes)).collect();
    fields.finish();

    if let Some(vary) = vary {
        let runs = axes.iter().try_fold(1usize, |runs, axis| runs.checked_mul(axis.values.len()));
        if axes.is_empty() && list_leaves(vary).is_empty() {
            diagnostics.add(Diagnostic::new(vary.location, "vary", "expected at least one key with a list of values"));
        } else if runs.is_none_or(|runs| runs > RUNS_MAX) {
            let found = runs.map_or("far more".to_owned(), |runs| runs.to_string());
            let message = format!("expected at most {RUNS_MAX} runs in all, found {found}");
            diagnostics.add(Diagnostic::new(vary.location, "vary", message));
        }
    }
    written.choices.check(&item_locations("choice", root), &item_locations("combination", root), diagnostics);
    let FileKeys { name, about, topology, metrics, entrants, choices, claims, .. } = written;
    let topology = path_beside(path, &topology);
    let remarks = settings.remarks.take();
    let keeps_all_metrics = root.get("metrics").is_none();
    let selection = choices.usual_selection();
    let experiment = Experiment {
        name,
        about,
        topology,
        axes,
        entrants,
        metrics,
        keeps_all_metrics,
        claims,
        choices,
        remarks,
        fixed,
        optional,
        selection,
    };
    // Axes that could not be read would be missing in every claim.
    if diagnostics.is_empty() {
        claims::check_claims(
            &experiment.claims,
            item_locations("claim", root).into_iter(),
            &experiment.cells(),
            diagnostics,
        );
    }
    experiment
}

fn item_locations(key: &str, root: &Table) -> Vec<Location> {
    list_under(root, key).iter().map(|item| item.location).collect::<Vec<_>>()
}

/// Settings in the table `set` of an item.
fn settings_under(item: &WrittenNode) -> Vec<Leaf<'_>> {
    match &item.value {
        Value::Table(table) => table.get("set").map_or_else(Vec::new, list_leaves),
        _ => Vec::new(),
    }
}

/// Items of the list under a key; none if there is no list.
fn list_under<'t>(table: &'t Table, key: &str) -> &'t [WrittenNode] {
    match table.get(key).map(|node| &node.value) {
        Some(Value::List(items)) => items,
        _ => &[],
    }
}

/// Form of a list of metrics, each once.
struct Metrics;

impl Form<Vec<Metric>> for Metrics {
    fn read_value(&self, field: &Field<'_>) -> Option<Vec<Metric>> {
        let list = field.list("a list of metrics")?;
        if list.is_empty() {
            field.complain("expected at least one metric, found none: leave the key out to keep all");
        }
        let mut metrics: Vec<Metric> = Vec::with_capacity(list.len());
        for field in &list {
            let names = metrics::all_metrics().map(|metric| metric.name);
            let Some(metric) = field.choice("a metric (hansa show --keys lists all)", names, metrics::find_metric)
            else {
                continue;
            };
            match metrics.iter().any(|other| other.name == metric.name) {
                true => field.complain("this metric is in the list twice"),
                false => metrics.push(metric),
            }
        }
        Some(metrics)
    }

    fn toml_text(&self, value: &Vec<Metric>) -> Option<String> {
        let names: Vec<String> = value.iter().map(|metric| quote_text(metric.name)).collect();
        Some(format!("[{}]", names.join(", ")))
    }

    fn value_shape(&self) -> Shape {
        let words: Vec<Word> = metrics::all_metrics().map(|metric| Word::new(metric.name, metric.about)).collect();
        Shape::List { least: 1, most: words.len(), of: Box::new(Shape::Words(words)) }
    }
}

/// Turns written settings into overrides with their locations.
pub(super) struct Settings<'a, 'r, 'x> {
    pub library: &'a Library<'r, 'x>,
    pub origin: Arc<OverrideFile>,
    /// Sentences on what limits the results.
    pub remarks: RefCell<Vec<String>>,
}

/// A value with its key.
pub(super) struct Leaf<'n> {
    key: String,
    /// Location of each step of the key.
    steps: Vec<Location>,
    pub node: &'n WrittenNode,
}

impl Leaf<'_> {
    fn location(&self) -> Location {
        *self.steps.last().expect("a key has a step")
    }
}

impl Settings<'_, '_, '_> {
    /// The axes of a table, which may have no key of `others`.
    fn vary_axes(&self, vary: &WrittenNode, others: &[Axis]) -> Vec<Axis> {
        let mut axes: Vec<Axis> = Vec::new();
        for leaf in list_leaves(vary) {
            if windows::is_windows(&leaf.key) {
                axes.extend(self.windows_axis(&leaf));
                continue;
            }
            let Value::List(items) = &leaf.node.value else {
                let message = "expected a list of values; a single value for all runs goes under [set]";
                self.report_leaf(leaf.node.location, &leaf, message);
                continue;
            };
            if items.is_empty() {
                self.report_leaf(leaf.node.location, &leaf, "expected at least one value, found none");
            }
            if axes.iter().chain(others).any(|axis| axis.key == leaf.key) {
                self.report_leaf(leaf.location(), &leaf, "this key is given twice");
            }
            if leaf.key == ENTRANT {
                self.report_leaf(
                    leaf.location(),
                    &leaf,
                    "entrants are written as [[entrant]], each with a name and what it sets",
                );
            }
            let mut axis = Axis::new(&leaf.key);
            let mut known = BTreeSet::new();
            for item in items {
                let shown = self.value_line(item);
                if !known.insert(shown.clone()) {
                    self.report_leaf(item.location, &leaf, "this value is in the list twice");
                }
                let Some(setting) = self.leaf_setting(&leaf, item) else { continue };
                axis.values.push(shown);
                axis.settings.push(vec![setting]);
            }
            axes.push(axis);
        }
        axes
    }

    /// Axis of the windows of a log.
    fn windows_axis(&self, leaf: &Leaf<'_>) -> Option<Axis> {
        let read = windows::read_windows(leaf.node, &leaf.key, &self.library.diagnostics);
        let workload = leaf.key.strip_suffix("repeat")?;
        let mut axis = Axis { repeats: true, ..Axis::new(&leaf.key) };
        let mut all: Vec<LogWindow> = Vec::new();
        for (location, window) in read {
            if all.iter().any(|other| other.label() == window.label()) {
                self.report_leaf(location, leaf, "this window is in the list twice");
            }
            axis.values.push(window.label());
            axis.settings.push(
                window
                    .settings()
                    .into_iter()
                    .filter_map(|(key, value)| {
                        let steps = leaf.steps.iter().map(|step| step.span()).collect();
                        Override::implied_by_file(
                            &self.origin,
                            &format!("{workload}{key}"),
                            steps,
                            location.span(),
                            &value,
                        )
                        .ok()
                    })
                    .collect(),
            );
            all.push(window);
        }
        self.remarks.borrow_mut().extend(windows::overlap_note(&all));
        (!all.is_empty()).then_some(axis)
    }

    /// Axis of the written entrants, in the order of `all`.
    fn entrants_axis(&self, node: &WrittenNode, all: &[Entrant], varying: &[Axis]) -> Option<Axis> {
        let Value::List(items) = &node.value else { return None };
        let mut axis = Axis::new(ENTRANT);
        let mut known = BTreeSet::new();
        for (item, Entrant { name, .. }) in items.iter().zip(all) {
            if !matches!(item.value, Value::Table(_)) {
                continue;
            }
            if !known.insert(name) {
                self.library.diagnostics.add(Diagnostic::new(
                    item.location,
                    "name",
                    format!("two entrants are called {name}"),
                ));
            }
            axis.values.push(name.clone());
            axis.settings.push(self.fixed_leaves(settings_under(item), varying));
        }
        Some(axis)
    }

    /// Settings of each option of a written choice.
    fn option_settings(&self, choice: &WrittenNode, axes: &[Axis]) -> Vec<Vec<Override>> {
        let Value::Table(choice) = &choice.value else { return Vec::new() };
        let options = list_under(choice, "option").iter();
        options.map(|option| self.fixed_leaves(settings_under(option), axes)).collect()
    }

    fn fixed_settings(&self, set: &WrittenNode, axes: &[Axis]) -> Vec<Override> {
        self.fixed_leaves(list_leaves(set), axes)
    }

    fn fixed_leaves(&self, set: Vec<Leaf<'_>>, axes: &[Axis]) -> Vec<Override> {
        let settings = set.into_iter().filter_map(|leaf| {
            if axes.iter().any(|axis| axis.key == leaf.key) {
                self.report_leaf(leaf.location(), &leaf, "this key varies, so it cannot also be set");
            }
            self.leaf_setting(&leaf, leaf.node)
        });
        settings.collect()
    }

    /// The setting of a leaf with this value. None if its key is none of a topology, which is reported.
    pub fn leaf_setting(&self, leaf: &Leaf<'_>, value: &WrittenNode) -> Option<Override> {
        let spans = leaf.steps.iter().map(|step| step.span()).collect();
        let made = Override::in_file(&self.origin, &leaf.key, spans, value.location.span());
        if made.is_err() {
            self.report_leaf(
                leaf.location(),
                leaf,
                "expected a key of the topology, such as market.policy or site.york.cores",
            );
        }
        made.ok()
    }

    /// A value in one line.
    fn value_line(&self, value: &WrittenNode) -> String {
        match &value.value {
            Value::Text(text) => text.split_whitespace().collect::<Vec<_>>().join(" "),
            _ => self.library.diagnostics.text_at(value.location).split_whitespace().collect::<Vec<_>>().join(" "),
        }
    }

    fn report_leaf(&self, location: Location, leaf: &Leaf<'_>, message: &str) {
        self.library.diagnostics.add(Diagnostic::new(location, &leaf.key, message));
    }
}

/// All values in a table that are not tables themselves, in the order in which they are written.
pub(super) fn list_leaves(node: &WrittenNode) -> Vec<Leaf<'_>> {
    let mut leaves = Vec::new();
    if let Value::Table(table) = &node.value {
        gather_leaves(table, "", &[], &mut leaves);
    }
    leaves.sort_by_key(|leaf: &Leaf<'_>| leaf.location());
    leaves
}

fn gather_leaves<'n>(table: &'n Table, above: &str, steps: &[Location], leaves: &mut Vec<Leaf<'n>>) {
    for keyed in &table.entries {
        let steps = [steps, &[keyed.key_location]].concat();
        let key = if above.is_empty() { keyed.key.clone() } else { format!("{above}.{}", keyed.key) };
        match &keyed.node.value {
            Value::Table(inner) if !windows::is_windows(&key) => gather_leaves(inner, &key, &steps, leaves),
            _ => leaves.push(Leaf { key, steps, node: &keyed.node }),
        }
    }
}
