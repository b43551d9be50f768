//! Groups of jobs by user, size and wait, by which the blocks of the chart are coloured.
//!
//! A block has a class for its group in each grouping, and radio buttons choose the grouping: the style sheet does the
//! rest, so the choice also works without scripts.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use crate::Tally;
use crate::markup::{Html, html};
use crate::palette::COLOURS;
use crate::referee::tally::JobRow;
use crate::results::summary::work_micros;
use hansa_sim::grid::JobId;
use hansa_sim::kernel::ActorId;
use hansa_sim::time::Time;

/// Most users whose jobs are coloured by user unless the reader chooses otherwise.
const FEW_USERS: usize = 8;
/// Number of colours from light to dark.
const SHADES: usize = 10;

/// Upper limits of the classes of sizes, in cores.
const SIZES: [(&str, u64); SHADES] = [
    ("1 core", 1),
    ("2", 2),
    ("3 to 4", 4),
    ("5 to 8", 8),
    ("9 to 16", 16),
    ("17 to 32", 32),
    ("33 to 64", 64),
    ("65 to 128", 128),
    ("129 to 512", 512),
    ("more", u64::MAX),
];

/// Upper limits of the classes of waits, in microseconds.
const WAITS: [(&str, u64); 8] = [
    ("no wait (1 s or less)", 1_000_000),
    ("up to 1 min", 60_000_000),
    ("10 min", 600_000_000),
    ("1 h", 3_600_000_000),
    ("4 h", 14_400_000_000),
    ("12 h", 43_200_000_000),
    ("1 day", 86_400_000_000),
    ("more", u64::MAX),
];

/// A way to group jobs.
struct Grouping {
    /// Name of the choice.
    name: &'static str,
    /// Class of blocks and legend, before the number of the colour.
    letter: char,
    group_of: BTreeMap<JobId, usize>,
    /// Colour and name of each group that has jobs, in order.
    legend: Vec<(usize, String)>,
}

/// The groupings that tell jobs apart; the first is the one of a page that is not touched.
pub struct Colouring {
    groupings: Vec<Grouping>,
}

impl Colouring {
    /// Groupings of these jobs, except those with a single group.
    pub fn of(tally: &Tally, jobs: &[&JobRow]) -> Colouring {
        let user = by_user(tally, jobs);
        let size = by_limit("size", 'z', jobs, &SIZES, width);
        let wait = by_limit("wait", 'w', jobs, &WAITS, |row| wait_micros(row, tally.last));
        let has_few_users = user.legend.len() <= FEW_USERS;
        let in_order = if has_few_users { [user, size, wait] } else { [size, user, wait] };
        Colouring { groupings: in_order.into_iter().filter(|grouping| grouping.legend.len() > 1).collect() }
    }

    /// Classes of the blocks of a job: one a grouping.
    pub fn classes(&self, job: JobId) -> String {
        if self.groupings.is_empty() {
            return "f0".to_owned();
        }
        let class = |grouping: &Grouping| Some(format!("{}{}", grouping.letter, grouping.group_of.get(&job)?));
        self.groupings.iter().filter_map(class).collect::<Vec<_>>().join(" ")
    }

    /// The buttons of the choice, and the legend of each grouping.
    pub fn controls(&self) -> Html {
        let mut buttons = Html::default();
        let mut legends = Html::default();
        for (place, Grouping { name, letter, legend, .. }) in self.groupings.iter().enumerate() {
            let checked = (place == 0).then(|| html!(" checked=\"checked\""));
            buttons += html!(
                "<label><input type=\"radio\" name=\"colours\" class=\"by-{name}\"{checked}/> {name}</label>",
                name,
                checked
            );
            legends += html!("<ul class=\"legend by-{name}\">", name);
            for (colour, group) in legend {
                legends += html!("<li><i class=\"{letter}{colour}\"></i>{group}</li>", letter, colour, group);
            }
            legends += html!("</ul>\n");
        }
        match self.groupings.len() {
            0 => Html::default(),
            _ => html!("<p class=\"choice\">Colours by {buttons}</p>\n{legends}", buttons, legends),
        }
    }
}

/// Jobs by user: those with most work have colours of their own.
fn by_user(tally: &Tally, jobs: &[&JobRow]) -> Grouping {
    let mut work: BTreeMap<ActorId, u128> = BTreeMap::new();
    jobs.iter().for_each(|row| *work.entry(row.user).or_default() += work_micros(row));
    let mut users: Vec<ActorId> = work.keys().copied().collect();
    users.sort_by_key(|user| (Reverse(work[user]), *user));
    let own = if users.len() > COLOURS { COLOURS - 1 } else { users.len() };
    let colours: BTreeMap<ActorId, usize> =
        users.iter().enumerate().map(|(place, user)| (*user, place.min(own))).collect();
    let mut legend: Vec<(usize, String)> = users
        .iter()
        .take(own)
        .enumerate()
        .map(|(place, user)| (place, tally.names.of_actor(*user).to_owned()))
        .collect();
    if users.len() > own {
        legend.push((own, format!("{} other users", users.len() - own)));
    }
    let group_of = jobs.iter().map(|row| (row.job.id, colours[&row.user])).collect();
    Grouping { name: "user", letter: 'u', group_of, legend }
}

/// Jobs by the class of a measure; the classes that have jobs are spread over all shades.
fn by_limit(
    name: &'static str,
    letter: char,
    jobs: &[&JobRow],
    classes: &[(&str, u64)],
    measure: impl Fn(&JobRow) -> u64,
) -> Grouping {
    let mut class_by_job: BTreeMap<JobId, usize> = BTreeMap::new();
    for row in jobs {
        class_by_job.insert(row.job.id, classes.partition_point(|(_, limit)| *limit < measure(row)));
    }
    let mut present: Vec<usize> = class_by_job.values().copied().collect();
    present.sort_unstable();
    present.dedup();
    let steps = present.len().saturating_sub(1).max(1);
    let shade = |class: &usize| present.partition_point(|other| other < class) * (SHADES - 1) / steps;
    let legend = present.iter().map(|class| (shade(class), classes[*class].0.to_owned())).collect();
    let group_of = class_by_job.iter().map(|(job, class)| (*job, shade(class))).collect();
    Grouping { name, letter, group_of, legend }
}

/// Cores of all tasks of a job together.
fn width(row: &JobRow) -> u64 {
    row.job.tasks.iter().map(|task| u64::from(task.cores)).sum()
}

/// Wait for the start of the first task, so far if there is none.
fn wait_micros(row: &JobRow, now: Time) -> u64 {
    row.start().or(row.given_up()).unwrap_or(now).since(row.earliest_start()).micros()
}
