//! The file of an experiment that a program makes, as plans and traces need no grid: its choices, with the settings of
//! their options.
//!
//! ```toml
//! name = "reproduce-heft"
//! program = "heft"
//!
//! [[choice]]                          # choice.rs
//! name = "bottleneck"
//! about = "the cables of P2 that transfers share"
//! option = [
//!     { name = "into-p2", set = { wiring = "into-p2" } },
//!     { name = "both-ways", set = { wiring = "both-ways" } },
//! ]
//! ```

use super::choice::{Choices, Selection};
use hansa_sim::settings::{Diagnostics, Fields, Location, NAME, Name, Reader, Table, Text, Value, Walk, key};
use hansa_sim::settings::{InvalidInput, Maybe};
use hansa_sim::topology::Library;

/// Choices of an experiment whose program has settings of type `S`.
pub struct ProgramFile<S> {
    pub choices: Choices,
    /// Settings without any option.
    usual: S,
    /// The written settings of each option of each choice.
    optional: Vec<Vec<Table>>,
    walk: fn(&mut S, &mut dyn Walk),
}

/// The keys of a program's file.
#[derive(Default)]
struct ProgramKeys {
    name: String,
    about: Option<String>,
    program: String,
    choices: Choices,
}

impl ProgramKeys {
    fn walk(&mut self, w: &mut dyn Walk) {
        w.set(key("name", "").means("results go to `out/NAME`").need(NAME), &mut self.name, Name);
        w.set(key("about", "").means("a one-line description"), &mut self.about, Maybe(Text("a text")));
        let program = key("program", "").means("the paper whose program makes the runs").need(NAME);
        w.set(program, &mut self.program, Name);
        self.choices.walk(w);
    }
}

impl<S: Clone> ProgramFile<S> {
    /// Reads the text of the file at `path`. The settings of every option are checked.
    pub fn read_text(
        path: &str,
        text: &str,
        usual: S,
        walk: fn(&mut S, &mut dyn Walk),
    ) -> Result<ProgramFile<S>, InvalidInput> {
        let mut read = |_: &str| Ok(text.as_bytes().to_vec());
        let mut library = Library::new(&mut read);
        let Some(root) = library.open(path, None) else { return library.diagnostics.verdict(None) };
        let diagnostics = library.diagnostics;
        let fields = Fields::at_root(&root, &diagnostics);
        let mut written = ProgramKeys::default();
        written.walk(&mut Reader::new(&fields));
        fields.finish();

        let choices = tables_under(&root, "choice");
        let combinations = table_locations(&tables_under(&root, "combination"));
        written.choices.check(&table_locations(&choices), &combinations, &diagnostics);
        let optional: Vec<Vec<Table>> = choices.iter().map(|(_, choice)| settings_of_options(choice)).collect();
        for table in optional.iter().flatten() {
            let fields = Fields::at_root(table, &diagnostics);
            walk(&mut usual.clone(), &mut Reader::new(&fields));
            fields.finish();
        }
        diagnostics.verdict(Some(ProgramFile { choices: written.choices, usual, optional, walk }))
    }

    /// Settings under these options.
    pub fn settings(&self, selection: &Selection) -> S {
        let mut settings = self.usual.clone();
        // The settings were checked when the file was read.
        let diagnostics = Diagnostics::default();
        for (options, at) in self.optional.iter().zip(&selection.0) {
            let fields = Fields::at_root(&options[*at], &diagnostics);
            (self.walk)(&mut settings, &mut Reader::new(&fields));
        }
        settings
    }
}

fn table_locations(tables: &[(Location, Table)]) -> Vec<Location> {
    tables.iter().map(|(location, _)| *location).collect::<Vec<_>>()
}

/// The tables in the list under a key, with their locations.
fn tables_under(root: &Table, key: &str) -> Vec<(Location, Table)> {
    let Some(Value::List(items)) = root.get(key).map(|node| &node.value) else { return Vec::new() };
    let tables = items.iter().filter_map(|item| match &item.value {
        Value::Table(table) => Some((item.location, table.clone())),
        _ => None,
    });
    tables.collect()
}

/// The table `set` of each option of a choice; empty where there is none.
fn settings_of_options(choice: &Table) -> Vec<Table> {
    let options = tables_under(choice, "option").into_iter();
    let settings = options.map(|(_, option)| match option.get("set").map(|node| &node.value) {
        Some(Value::Table(settings)) => settings.clone(),
        _ => Table::default(),
    });
    settings.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use hansa_sim::settings::Flag;

    #[derive(Clone, Debug, Default, PartialEq)]
    struct Two {
        one: bool,
        other: bool,
    }

    fn walk(two: &mut Two, w: &mut dyn Walk) {
        w.set(key("one", "the first"), &mut two.one, Flag);
        w.set(key("other", "the second"), &mut two.other, Flag);
    }

    fn read(options: &str) -> Result<ProgramFile<Two>, String> {
        let text = format!(
            "name = \"try\"\nprogram = \"two\"\n[[choice]]\nname = \"first\"\nabout = \"a point\"\noption = {options}\n"
        );
        ProgramFile::read_text("try.toml", &text, Two::default(), walk).map_err(|diagnostics| diagnostics.to_string())
    }

    #[test]
    fn options_replace_the_settings_that_they_name() {
        let file = read("[{ name = \"no\" }, { name = \"yes\", set = { one = true } }]").unwrap();
        assert_eq!(file.settings(&file.choices.usual_selection()), Two::default());
        let yes = file.choices.select(&["first=yes"]).unwrap();
        assert_eq!(file.settings(&yes), Two { one: true, other: false });
    }

    #[test]
    fn a_setting_that_the_program_lacks_is_shown_where_it_stands() {
        let wrong = read("[{ name = \"no\" }, { name = \"yes\", set = { onee = true } }]").err().unwrap();
        assert!(wrong.contains("try.toml:6") && wrong.contains("onee") && wrong.contains("`one`"), "{wrong}");
        let wrong = read("[{ name = \"no\", set = { one = 3 } }]").err().unwrap();
        assert!(wrong.contains("expected at least two options of first, found 1"), "{wrong}");
        assert!(wrong.contains("true or false"), "{wrong}");
    }
}
