//! A change of a topology in a file of its own: settings under a name.
//!
//! ```toml
//! about = "short jobs first"
//!
//! [set]
//! site.york.order = "shortest"
//! ```

use std::cell::RefCell;
use std::sync::Arc;

use super::file::{SETTINGS, Settings, list_leaves};
use hansa_sim::settings::{
    Diagnostic, Fields, InvalidInput, Maybe, Reader, Shape, Text, Walk, WrittenNode, key, version,
};
use hansa_sim::topology::{Library, Override, OverrideFile, Read};

/// A change as its file has it.
#[derive(Clone, Debug)]
pub struct WrittenChange {
    pub about: Option<String>,
    pub settings: Vec<Override>,
}

/// Reads the change at `path`; its keys are checked when a topology is read with them.
pub fn read_change(path: &str, read: &mut Read<'_>) -> Result<WrittenChange, InvalidInput> {
    let mut library = Library::new(read);
    let Some(root) = library.open(path, None) else { return library.diagnostics.verdict(None) };
    if !version::check_version(&root, &library.diagnostics) {
        return library.diagnostics.verdict(None);
    }
    let diagnostics = &library.diagnostics;
    let fields = Fields::at_root(&root, diagnostics);
    let mut about = None;
    walk_change(&mut about, &mut Reader::new(&fields));
    let origin = Arc::new(OverrideFile { path: path.to_owned(), text: diagnostics.source(0).text.clone() });
    let reader = Settings { library: &library, origin, remarks: RefCell::default() };
    let set = fields.need("set", NEED).and_then(|field| field.table(SETTINGS)).and_then(|_| root.get("set"));
    let leaves = set.map_or_else(Vec::new, list_leaves);
    if let Some(WrittenNode { location, .. }) = set.filter(|_| leaves.is_empty()) {
        diagnostics.add(Diagnostic::new(*location, "set", "expected at least one key of the topology"));
    }
    let settings = leaves.iter().filter_map(|leaf| reader.leaf_setting(leaf, leaf.node)).collect();
    fields.finish();
    library.diagnostics.verdict(Some(WrittenChange { about, settings }))
}

const NEED: &str = "a [set] table with the keys of the topology that change, such as site.york.order = \"shortest\"";

fn walk_change(about: &mut Option<String>, w: &mut dyn Walk) {
    version::walk_version(w);
    w.set(key("about", "").means("a one-line description"), about, Maybe(Text("a text")));
    let set = key("set", "").means("the keys that it sets, replacing those of the topology");
    let example = "{ site.york.order = \"shortest\" }";
    w.key_read_elsewhere(&set.need(NEED), Shape::Free { what: SETTINGS, example, json: r#"{ "type": "object" }"# });
}
