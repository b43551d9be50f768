//! Free choices of an experiment: points on which its source is silent or can be read in several ways.
//!
//! ```toml
//! [[choice]]
//! name = "edf"
//! about = "the deadline that EDF orders by"
//! reason = "a job is late from this moment on"
//! [[choice.option]]                   # the first option is the usual one
//! name = "initial"
//! about = "the deadline up to which a job is worth all of its value"
//! set = { market.edf = "initial" }
//! [[choice.option]]
//! name = "final"
//! about = "the deadline from which on it is worth nothing"
//! set = { market.edf = "final" }
//! ```

use std::collections::BTreeSet;

use hansa_sim::near::nearest_name;
use hansa_sim::settings::{
    Diagnostic, Diagnostics, Layout, List, Location, Maybe, NAME, Name, Shape, Text, Walk, any_of, key,
};

/// A point on which the source of an experiment leaves open what it did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Choice {
    pub name: String,
    pub about: String,
    /// The source's own words on this point; None if it is silent.
    pub quote: Option<String>,
    /// Reason for the usual option, which is the first one.
    pub reason: Option<String>,
    pub options: Vec<ChoiceOption>,
}

/// One way of making a choice. Its settings are kept by the reader of the file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChoiceOption {
    pub name: String,
    pub about: Option<String>,
}

/// Options that belong together, under a name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Combination {
    pub name: String,
    pub about: Option<String>,
    /// Options as `CHOICE=OPTION`; the usual ones of all other choices.
    pub take: Vec<String>,
}

/// All choices of an experiment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Choices {
    pub all: Vec<Choice>,
    pub combinations: Vec<Combination>,
}

/// One option of each choice, by its index among the options, in the order of the choices.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Selection(pub Vec<usize>);

/// A selection that is run beside others, under a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variant {
    /// `usual`, `CHOICE=OPTION`, or the name of a combination.
    pub name: String,
    pub selection: Selection,
}

/// Name of the selection that all others are compared with.
pub const USUAL: &str = "usual";

/// Key of the axis of variants.
pub const VARIANT: &str = "variant";

const SETTINGS: &str = "a table of keys, each with a value";
const TAKE: &str = "a list of texts such as \"edf=final\"";

impl Choices {
    /// Walks the choices and combinations of a file.
    pub(super) fn walk(&mut self, w: &mut dyn Walk) {
        let choices = key("choice", "")
            .means("points on which the source of the experiment is silent or can be read in several ways")
            .each("a table with a choice");
        w.rows(choices, Layout::Sections("choice"), &mut self.all, Choice::default, |choice, w| {
            w.set(key("name", "").means("its name, for `--choice`").need(NAME), &mut choice.name, Name);
            let about = key("about", "").means("the point in a few words").need("a text");
            w.set(about, &mut choice.about, Text("a text"));
            let quote = key("quote", "").means("the source's own words on it").usual("it is silent");
            w.set(quote, &mut choice.quote, Maybe(Text("a text")));
            let reason = key("reason", "").means("the reason for the usual option");
            w.set(reason, &mut choice.reason, Maybe(Text("a text")));
            let options = key("option", "")
                .means("the options; the first one is the usual one")
                .each("a table with an option")
                .need("at least two [[choice.option]] tables");
            w.rows(options, Layout::Sections("choice.option"), &mut choice.options, ChoiceOption::default, |one, w| {
                w.set(key("name", "").means("its name, for `--choice`").need(NAME), &mut one.name, Name);
                w.set(key("about", "").means("the option in a few words"), &mut one.about, Maybe(Text("a text")));
                let set = key("set", "").means("the keys that it sets").usual("nothing");
                let example = "{ market.edf = \"final\" }";
                w.key_read_elsewhere(&set, Shape::Free { what: SETTINGS, example, json: r#"{ "type": "object" }"# });
            });
        });
        let combinations = key("combination", "")
            .means("options that are taken together, beside one change at a time")
            .each("a table with a combination");
        let all = &mut self.combinations;
        w.rows(combinations, Layout::Sections("combination"), all, Combination::default, |combination, w| {
            w.set(key("name", "").means("its name in tables").need(NAME), &mut combination.name, Name);
            w.set(key("about", "").means("a one-line description"), &mut combination.about, Maybe(Text("a text")));
            let take = key("take", "").means("the options that are taken").need(TAKE);
            w.set(take, &mut combination.take, List(Text("a text such as \"edf=final\""), TAKE));
        });
    }

    /// Reports names that are given twice, and combinations of options that do not exist.
    pub(super) fn check(&self, choices: &[Location], combinations: &[Location], diagnostics: &Diagnostics) {
        let mut names = BTreeSet::new();
        for (choice, location) in self.all.iter().zip(choices) {
            if !names.insert(&choice.name) {
                let message = format!("two choices are called {}", choice.name);
                diagnostics.add(Diagnostic::new(*location, "choice.name", message));
            }
            let mut options = BTreeSet::new();
            if let Some(twice) = choice.options.iter().find(|option| !options.insert(&option.name)) {
                let message = format!("two options of {} are called {}", choice.name, twice.name);
                diagnostics.add(Diagnostic::new(*location, "choice.option.name", message));
            }
            if choice.options.len() < 2 {
                let count = choice.options.len();
                let message = format!("expected at least two options of {}, found {count}", choice.name);
                diagnostics.add(Diagnostic::new(*location, "choice.option", message));
            }
        }
        let mut names = BTreeSet::from([USUAL]);
        for (combination, location) in self.combinations.iter().zip(combinations) {
            if !names.insert(&combination.name) {
                let message = format!("expected a name that no other combination has, found {}", combination.name);
                diagnostics.add(Diagnostic::new(*location, "combination.name", message));
            }
            if let Err(message) = self.select(&combination.take) {
                diagnostics.add(Diagnostic::new(*location, "combination.take", message));
            }
        }
    }

    /// The usual option of each choice.
    pub fn usual_selection(&self) -> Selection {
        Selection(vec![0; self.all.len()])
    }

    /// The selection with these options, as `CHOICE=OPTION`, and the usual ones of all other choices.
    pub fn select<S: AsRef<str>>(&self, taken: &[S]) -> Result<Selection, String> {
        let mut selection = self.usual_selection();
        let mut named = BTreeSet::new();
        for text in taken.iter().map(AsRef::as_ref) {
            let Some((choice, option)) = text.split_once('=') else {
                return Err(format!("{text}: expected CHOICE=OPTION{}", self.example_option()));
            };
            let choice = choice.trim();
            let option = option.trim();
            let Some(index) = self.all.iter().position(|one| one.name == choice) else {
                return Err(self.no_choice(choice));
            };
            if !named.insert(index) {
                return Err(format!("{text}: another option of {choice} is taken already"));
            }
            let options = &self.all[index].options;
            let Some(at) = options.iter().position(|one| one.name == option) else {
                let names = || options.iter().map(|one| one.name.as_str());
                let meant =
                    nearest_name(option, names()).map_or(String::new(), |near| format!("; did you mean {near}?"));
                return Err(format!("{choice} has no option {option:?}: expected {}{meant}", any_of(names())));
            };
            selection.0[index] = at;
        }
        Ok(selection)
    }

    fn no_choice(&self, choice: &str) -> String {
        let names = || self.all.iter().map(|one| one.name.as_str());
        if self.all.is_empty() {
            return format!("there is no choice {choice:?}: this experiment has no [[choice]]");
        }
        let meant = nearest_name(choice, names()).map_or(String::new(), |near| format!("; did you mean {near}?"));
        format!("there is no choice {choice:?}: expected {}{meant}", any_of(names()))
    }

    fn example_option(&self) -> String {
        let option = self.all.first().and_then(|choice| Some((&choice.name, &choice.options.last()?.name)));
        option.map_or(String::new(), |(choice, option)| format!(", such as {choice}={option}"))
    }

    /// The usual selection, each other option alone, and the combinations.
    pub fn variants(&self) -> Vec<Variant> {
        let mut variants = vec![Variant { name: USUAL.to_owned(), selection: self.usual_selection() }];
        for (index, choice) in self.all.iter().enumerate() {
            for (at, option) in choice.options.iter().enumerate().skip(1) {
                let mut selection = self.usual_selection();
                selection.0[index] = at;
                variants.push(Variant { name: format!("{}={}", choice.name, option.name), selection });
            }
        }
        for combination in &self.combinations {
            // Combinations were checked when the file was read.
            if let Ok(selection) = self.select(&combination.take) {
                variants.push(Variant { name: combination.name.clone(), selection });
            }
        }
        variants
    }

    /// The options of a selection that are not the usual ones, as `CHOICE=OPTION`. None if there are none.
    pub fn selection_words(&self, selection: &Selection) -> Option<String> {
        let taken = self.all.iter().zip(&selection.0).filter(|(_, at)| **at > 0);
        let words: Vec<String> =
            taken.map(|(choice, at)| format!("{}={}", choice.name, choice.options[*at].name)).collect();
        (!words.is_empty()).then(|| words.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn choices() -> Choices {
        let option = |name: &str| ChoiceOption { name: name.to_owned(), about: None };
        let choice = |name: &str, options: &[&str]| Choice {
            name: name.to_owned(),
            options: options.iter().map(|name| option(name)).collect(),
            ..Choice::default()
        };
        let both =
            Combination { name: "both".to_owned(), about: None, take: vec!["edf=last".to_owned(), "b=q".to_owned()] };
        Choices {
            all: vec![choice("edf", &["first", "last", "middle"]), choice("b", &["p", "q"])],
            combinations: vec![both],
        }
    }

    #[test]
    fn one_option_changes_at_a_time_and_combinations_follow() {
        let variants = choices().variants();
        let shown: Vec<String> =
            variants.iter().map(|variant| format!("{} {:?}", variant.name, variant.selection.0)).collect();
        assert_eq!(shown, ["usual [0, 0]", "edf=last [1, 0]", "edf=middle [2, 0]", "b=q [0, 1]", "both [1, 1]"]);
        assert_eq!(choices().selection_words(&variants[4].selection).unwrap(), "edf=last, b=q");
        assert_eq!(choices().selection_words(&variants[0].selection), None);
    }

    #[test]
    fn wrong_options_are_named_with_near_ones() {
        let wrong = |text: &str| choices().select(&text.split(',').collect::<Vec<_>>()).unwrap_err();
        assert_eq!(wrong("edf"), "edf: expected CHOICE=OPTION, such as edf=middle");
        assert_eq!(wrong("edg=last"), "there is no choice \"edg\": expected edf or b; did you mean edf?");
        let option = "edf has no option \"lasst\": expected first, last or middle; did you mean last?";
        assert_eq!(wrong("edf=lasst"), option);
        assert_eq!(wrong("edf=last,edf=middle"), "edf=middle: another option of edf is taken already");
        assert_eq!(
            Choices::default().select(&["a=x"]).unwrap_err(),
            "there is no choice \"a\": this experiment has no [[choice]]"
        );
    }
}
