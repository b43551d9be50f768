//! Options of `sbatch` that jobs of a table or a log carry, for sites that a real Slurm manages.
//!
//! Slurm judges the options; here they are only sorted. Most are passed on. Those that Hansa states itself, such as the
//! time limit, and those that concern the output and the environment of a script are dropped from logs, and refused
//! where a user writes them. Those that would make the run another one (`--array`, `--dependency`) are refused.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::packed::Packed;
use super::rigid::LogNames;
use super::{JobSource, Workload};
use crate::grid::JobId;
use crate::settings::{Field, Form, Shape, quote_text};

/// An option of `sbatch`, as written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SbatchOption {
    /// Name of the option, such as `-q` or `--qos`.
    pub name: String,
    pub value: Option<String>,
}

/// Options of `sbatch` in their order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SbatchOptions {
    options: Vec<SbatchOption>,
}

/// Treatment of an option of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// Slurm gets the option.
    Passed,
    /// It changes no schedule, so a log may have it; the reason for which Slurm does not get it.
    Dropped(&'static str),
    /// The reason for which no job can have it.
    Refused(&'static str),
}

/// Options of one letter that have a value, which may follow without a space.
const LETTERS: &str = "ABCDFGJLMNSabcdehimnopqtwx";

/// Long names of the options of one letter.
const LONG_NAMES: [(&str, &str); 34] = [
    ("-A", "--account"),
    ("-B", "--extra-node-info"),
    ("-C", "--constraint"),
    ("-D", "--chdir"),
    ("-F", "--nodefile"),
    ("-G", "--gpus"),
    ("-H", "--hold"),
    ("-J", "--job-name"),
    ("-L", "--licenses"),
    ("-M", "--clusters"),
    ("-N", "--nodes"),
    ("-O", "--overcommit"),
    ("-Q", "--quiet"),
    ("-S", "--core-spec"),
    ("-V", "--version"),
    ("-W", "--wait"),
    ("-a", "--array"),
    ("-b", "--begin"),
    ("-c", "--cpus-per-task"),
    ("-d", "--dependency"),
    ("-e", "--error"),
    ("-h", "--help"),
    ("-i", "--input"),
    ("-k", "--no-kill"),
    ("-m", "--distribution"),
    ("-n", "--ntasks"),
    ("-o", "--output"),
    ("-p", "--partition"),
    ("-q", "--qos"),
    ("-s", "--oversubscribe"),
    ("-t", "--time"),
    ("-v", "--verbose"),
    ("-w", "--nodelist"),
    ("-x", "--exclude"),
];

const OUTPUT: &str = "a job here has no input and no output";
const ENVIRONMENT: &str = "its script is Hansa's, which needs none of its user's environment";
const MESSAGES: &str = "nobody reads what sbatch prints";
const MAIL: &str = "no mail is sent";
const STATED: &str = "Hansa states it";
const CLUSTERS: &str = "there is one cluster";
const A_FILE: &str = "the file is that of another machine";
const DATES: &str = "the dates of the run are others; `now+` with a span is possible";

/// Options that are not passed on, by their long names.
const FATES: [(&str, Fate); 37] = [
    ("--array", Fate::Refused("each task of an array is to be a job of its own")),
    ("--bb", Fate::Refused("there is no burst buffer")),
    ("--bbf", Fate::Refused("there is no burst buffer")),
    ("--chdir", Fate::Dropped(ENVIRONMENT)),
    ("--cluster-constraint", Fate::Refused(CLUSTERS)),
    ("--clusters", Fate::Refused(CLUSTERS)),
    ("--container", Fate::Refused(A_FILE)),
    ("--dependency", Fate::Refused("the numbers of jobs are given during the run")),
    ("--error", Fate::Dropped(OUTPUT)),
    ("--export", Fate::Dropped(ENVIRONMENT)),
    ("--export-file", Fate::Dropped(ENVIRONMENT)),
    ("--get-user-env", Fate::Dropped(ENVIRONMENT)),
    ("--gid", Fate::Dropped("groups have no effect")),
    ("--help", Fate::Refused("no job is submitted with it")),
    ("--hold", Fate::Refused("nobody would release the job")),
    ("--ignore-pbs", Fate::Dropped(ENVIRONMENT)),
    ("--input", Fate::Dropped(OUTPUT)),
    ("--job-name", Fate::Dropped(STATED)),
    ("--mail-type", Fate::Dropped(MAIL)),
    ("--mail-user", Fate::Dropped(MAIL)),
    ("--nodefile", Fate::Refused(A_FILE)),
    ("--open-mode", Fate::Dropped(OUTPUT)),
    ("--output", Fate::Dropped(OUTPUT)),
    ("--parsable", Fate::Dropped(MESSAGES)),
    ("--propagate", Fate::Dropped(ENVIRONMENT)),
    ("--quiet", Fate::Dropped(MESSAGES)),
    ("--reboot", Fate::Refused("nodes do not boot")),
    ("--signal", Fate::Dropped("the script takes no signal but that of its end")),
    ("--test-only", Fate::Refused("no job is submitted with it")),
    ("--time", Fate::Dropped("the time limit is the walltime of the job")),
    ("--uid", Fate::Dropped("the job belongs to the user who runs Hansa")),
    ("--umask", Fate::Dropped(OUTPUT)),
    ("--usage", Fate::Refused("no job is submitted with it")),
    ("--verbose", Fate::Dropped(MESSAGES)),
    ("--version", Fate::Refused("no job is submitted with it")),
    ("--wait", Fate::Dropped(MESSAGES)),
    ("--wrap", Fate::Refused("the script is Hansa's, which lasts as long as the job runs")),
];

/// Options that state the size of a job.
const SIZES: [&str; 4] = ["--ntasks", "--nodes", "--cpus-per-task", "--ntasks-per-node"];

impl SbatchOption {
    /// Its name in two dashes, whichever was written.
    pub fn long_name(&self) -> &str {
        LONG_NAMES.iter().find(|(short, _)| *short == self.name).map_or(&self.name, |(_, long)| long)
    }

    pub fn fate(&self) -> Fate {
        let name = self.long_name();
        let is_date = !self.value.as_deref().unwrap_or_default().starts_with("now");
        if matches!(name, "--begin" | "--deadline") && is_date {
            return Fate::Refused(DATES);
        }
        FATES.iter().find(|(other, _)| *other == name).map_or(Fate::Passed, |(_, fate)| *fate)
    }

    /// Arguments of `sbatch`.
    fn words(&self) -> Vec<String> {
        match &self.value {
            Some(value) if self.name.starts_with("--") => vec![format!("{}={value}", self.name)],
            Some(value) => vec![self.name.clone(), value.clone()],
            None => vec![self.name.clone()],
        }
    }
}

impl SbatchOptions {
    /// Reads the words of a command line behind `sbatch`. With `has_script`, the last word is the name of a script.
    pub fn of_words(words: &[String], has_script: bool) -> SbatchOptions {
        let mut options = Vec::new();
        let mut at = 0;
        while at < words.len() {
            let word = &words[at];
            at += 1;
            if !word.starts_with('-') {
                continue;
            }
            let has_letter = !word.starts_with("--")
                && word.chars().nth(1).is_some_and(|letter| LETTERS.contains(letter))
                && word != "-dt";
            let (name, value) = if let Some((name, value)) = word.split_once('=').filter(|_| word.starts_with("--")) {
                (name, Some(value))
            } else if has_letter && word.len() > 2 && !word.starts_with("-sim-") {
                (&word[..2], Some(&word[2..]))
            } else {
                // A run time may be -1.
                let is_value =
                    |next: &&String| !next.starts_with('-') || next[1..].starts_with(|c: char| c.is_ascii_digit());
                let is_script = has_script && at + 1 >= words.len();
                let value = words.get(at).filter(|next| is_value(next) && !is_script);
                at += usize::from(value.is_some());
                (word.as_str(), value.map(String::as_str))
            };
            options.push(SbatchOption { name: name.to_owned(), value: value.map(str::to_owned) });
        }
        SbatchOptions { options }
    }

    /// Reads options as a user writes them. The error names a word that is none.
    pub fn parse(text: &str) -> Result<SbatchOptions, String> {
        let words = split_words(text).ok_or("expected a quote at the end of what a quote begins")?;
        let mut had_option = false;
        for word in &words {
            let is_option = word.starts_with('-') && word.len() > 1;
            if !is_option && !had_option {
                return Err(format!("expected an option of sbatch such as --mem=4G, found {word}"));
            }
            // A value may follow an option, and one word only.
            had_option = is_option && !word.contains('=');
        }
        Ok(SbatchOptions::of_words(&words, false))
    }

    pub fn iter(&self) -> impl Iterator<Item = &SbatchOption> {
        self.options.iter()
    }

    /// Value of an option, by its long name; the last one counts.
    pub fn get(&self, long_name: &str) -> Option<&str> {
        self.options.iter().rev().find(|option| option.long_name() == long_name)?.value.as_deref()
    }

    /// A positive number; None if it is not there. A range of nodes (`2-4`) counts as its least.
    pub fn count(&self, long_name: &str) -> Result<Option<u32>, WrongCount> {
        let Some(text) = self.get(long_name) else { return Ok(None) };
        let least = text.split('-').next().unwrap_or_default();
        let count = least.parse().ok().filter(|count: &u32| *count > 0);
        count.map(Some).ok_or_else(|| WrongCount { option: long_name.to_owned(), found: text.to_owned() })
    }

    /// True if some option states the size of the job.
    pub fn has_size(&self) -> bool {
        self.options.iter().any(|option| SIZES.contains(&option.long_name()))
    }

    /// Cores that the options request; None if that is more than can be counted.
    pub fn cores(&self) -> Result<Option<u32>, WrongCount> {
        let nodes = self.count("--nodes")?;
        let per_node = self.count("--ntasks-per-node")?;
        let tasks = self.count("--ntasks")?.or_else(|| nodes?.checked_mul(per_node.unwrap_or(1))).unwrap_or(1);
        Ok(tasks.checked_mul(self.count("--cpus-per-task")?.unwrap_or(1)))
    }

    /// All options but those of these long names, as a text.
    pub fn text_without(&self, long_names: &[&str]) -> String {
        let others = self.options.iter().filter(|option| !long_names.contains(&option.long_name()));
        others.map(|option| option.words().join(" ")).collect::<Vec<_>>().join(" ")
    }

    /// All options but those of these long names, such that [`SbatchOptions::parse`] reads them.
    pub fn quoted_without(&self, long_names: &[&str]) -> String {
        let others = self.options.iter().filter(|option| !long_names.contains(&option.long_name()));
        let words = others.flat_map(SbatchOption::words);
        words.map(|word| quote_word(&word)).collect::<Vec<_>>().join(" ")
    }

    /// Arguments for `sbatch`: the options that are passed on.
    pub fn passed_words(&self) -> Vec<String> {
        let passed = self.options.iter().filter(|option| option.fate() == Fate::Passed);
        passed.flat_map(SbatchOption::words).collect()
    }
}

/// A count of an option that is no positive number.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected {option} with a number from 1 on, found {}", .found.chars().take(40).collect::<String>())]
pub struct WrongCount {
    option: String,
    found: String,
}

/// Splits a text into words as a shell does, with quotes but without any expansion. None if a quote is open.
pub fn split_words(text: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    for c in text.chars() {
        match quote {
            Some(open) if c == open => quote = None,
            Some(_) => word.get_or_insert_default().push(c),
            None if c == '"' || c == '\'' => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            None if c.is_whitespace() => words.extend(word.take()),
            None => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    quote.is_none().then_some(words)
}

/// A word such that [`split_words`] reads it.
pub fn quote_word(word: &str) -> String {
    let is_plain = !word.is_empty() && !word.contains(|c: char| c.is_whitespace() || c == '"' || c == '\'');
    match (is_plain, word.contains('\'')) {
        (true, _) => word.to_owned(),
        (false, false) => format!("'{word}'"),
        (false, true) => format!("\"{word}\""),
    }
}

/// Form of the options of a job in a table.
pub struct SbatchForm;

const EXPECTED: &str = "options of sbatch, such as \"--mem=4G -q normal\"";

impl Form<String> for SbatchForm {
    fn read_value(&self, field: &Field<'_>) -> Option<String> {
        let text = field.text(EXPECTED)?;
        let options = match SbatchOptions::parse(text) {
            Ok(options) => options,
            Err(wrong) => {
                field.complain(wrong);
                return None;
            }
        };
        for option in options.iter() {
            // A site with accounts has users.
            if option.long_name() == "--uid" {
                continue;
            }
            if let Fate::Dropped(why) | Fate::Refused(why) = option.fate() {
                field.complain(format!("leave {} out: {why}", option.name));
            }
        }
        Some(options.quoted_without(&[]))
    }

    fn toml_text(&self, value: &String) -> Option<String> {
        Some(quote_text(value))
    }

    fn value_shape(&self) -> Shape {
        Shape::Text { what: EXPECTED, pattern: None, example: "--mem=4G -q normal" }
    }
}

/// Requests of the jobs of a workload.
#[derive(Clone, Debug, Default)]
pub enum RequestList {
    #[default]
    None,
    /// Requests of a log: each job has the numbers of its options and of its user.
    Log { jobs: Arc<Packed>, requests: Arc<Vec<String>>, names: Arc<LogNames> },
    /// Options by the place of the job.
    Listed(Arc<BTreeMap<u32, String>>),
}

/// A job's own request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct JobRequest<'r> {
    /// Text of [`SbatchOptions`]; empty if it has none.
    pub options: &'r str,
    /// User of the log.
    pub user: Option<&'r str>,
}

/// User that an option `--uid=NAME` names.
fn written_user(options: &str) -> Option<&str> {
    options.split_whitespace().rev().find_map(|word| word.strip_prefix("--uid="))
}

impl RequestList {
    fn get(&self, place: u32) -> JobRequest<'_> {
        match self {
            RequestList::None => JobRequest::default(),
            RequestList::Listed(options) => {
                let text = options.get(&place).map_or("", String::as_str);
                JobRequest { options: text, user: written_user(text) }
            }
            RequestList::Log { jobs, requests, names } => {
                let Some(job) = jobs.get(place as usize) else { return JobRequest::default() };
                let request = job.request.and_then(|number| requests.get(number as usize));
                let user = job.user.and_then(|number| names.users.get(&number));
                JobRequest { options: request.map_or("", String::as_str), user: user.map(String::as_str) }
            }
        }
    }

    /// The different texts of options, each with the number of its jobs and the place of the first one.
    pub fn texts(&self) -> Vec<(&str, u64, u32)> {
        match self {
            RequestList::None => Vec::new(),
            RequestList::Listed(options) => options.iter().map(|(place, text)| (text.as_str(), 1, *place)).collect(),
            RequestList::Log { jobs, requests, .. } => {
                let mut counts = vec![(0, 0); requests.len()];
                for (job, place) in jobs.iter().zip(0..) {
                    let Some(count) = job.request.and_then(|number| counts.get_mut(number as usize)) else { continue };
                    *count = if count.0 == 0 { (1, place) } else { (count.0 + 1, count.1) };
                }
                let known = requests.iter().zip(counts).filter(|(text, (count, _))| *count > 0 && !text.is_empty());
                known.map(|(text, (count, first))| (text.as_str(), count, first)).collect()
            }
        }
    }
}

/// Requests of all jobs of a run, by number.
#[derive(Clone, Debug, Default)]
pub struct JobRequests {
    /// Number of the first job of each workload.
    lists: Vec<(u32, RequestList)>,
}

impl JobRequests {
    pub fn of(workloads: &[Workload]) -> JobRequests {
        let mut next = 0;
        let mut lists = Vec::new();
        for workload in workloads {
            let source = workload.source.job_source();
            lists.push((next, source.request_list()));
            next += source.jobs_in_all() as u32;
        }
        JobRequests { lists }
    }

    /// Costs O(log workloads).
    pub fn get(&self, job: JobId) -> JobRequest<'_> {
        let at = self.lists.partition_point(|(first, _)| *first <= job.0).checked_sub(1);
        at.map(|at| &self.lists[at]).map_or(JobRequest::default(), |(first, list)| list.get(job.0 - first))
    }

    /// The job as results name it: by its number in a log, or by that in the run. O(log workloads).
    pub fn describe_job(&self, job: JobId) -> String {
        let at = self.lists.partition_point(|(first, _)| *first <= job.0).saturating_sub(1);
        let number = match self.lists.get(at) {
            Some((first, RequestList::Log { jobs, .. })) => jobs.get((job.0 - first) as usize).map(|job| job.number),
            _ => None,
        };
        let number = number.unwrap_or(job.0.into());
        let workload = if self.lists.len() > 1 { format!(" of workload {}", at + 1) } else { String::new() };
        format!("job {number}{workload}")
    }

    /// Number of jobs of each user of a log or of an option `--uid`.
    pub fn count_users(&self) -> BTreeMap<String, u64> {
        let mut counts = BTreeMap::new();
        for (_, list) in &self.lists {
            match list {
                RequestList::None => {}
                RequestList::Listed(options) => {
                    for place in options.keys() {
                        if let Some(user) = list.get(*place).user {
                            *counts.entry(user.to_owned()).or_default() += 1;
                        }
                    }
                }
                RequestList::Log { jobs, names, .. } => {
                    let mut by_number: BTreeMap<u32, u64> = BTreeMap::new();
                    for number in jobs.iter().filter_map(|job| job.user) {
                        *by_number.entry(number).or_default() += 1;
                    }
                    for (number, jobs) in by_number {
                        if let Some(user) = names.users.get(&number) {
                            *counts.entry(user.clone()).or_default() += jobs;
                        }
                    }
                }
            }
        }
        counts
    }

    /// Options that are not passed on, by long name: the reason, the number of jobs with it, and the first one. With
    /// `has_users`, jobs may have a user of their own.
    pub fn not_passed(&self, has_users: bool) -> Vec<LeftOption> {
        let mut left: BTreeMap<String, LeftOption> = BTreeMap::new();
        for (first, list) in &self.lists {
            for (text, jobs, place) in list.texts() {
                let options = SbatchOptions::parse(text).unwrap_or_default();
                for option in options.iter().filter(|option| option.fate() != Fate::Passed) {
                    if has_users && option.long_name() == "--uid" {
                        continue;
                    }
                    let name = option.long_name().to_owned();
                    let first_job = JobId(first + place);
                    let fate = option.fate();
                    let entry = left.entry(name.clone()).or_insert(LeftOption { name, fate, jobs: 0, first_job });
                    entry.jobs += jobs;
                    entry.first_job = entry.first_job.min(first_job);
                }
            }
        }
        left.into_values().collect()
    }
}

/// An option that is not passed on to Slurm.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOption {
    pub name: String,
    pub fate: Fate,
    pub jobs: u64,
    pub first_job: JobId,
}

/// Options that decide about the priority of a job.
pub const RANKING_OPTIONS: &[&str] = &["--account", "--nice", "--partition", "--qos", "--uid"];

/// Options of a workload's jobs, in words: `--qos of 5 jobs, --mem of 3`. Sizes are left out, which every site knows,
/// and options that are `heeded`. None if there are none.
pub fn describe_options(source: &dyn JobSource, heeded: &[&str]) -> Option<String> {
    let list = source.request_list();
    let mut counts: BTreeMap<String, u64> = BTreeMap::new();
    for (text, jobs, _) in list.texts() {
        let options = SbatchOptions::parse(text).unwrap_or_default();
        let passed = options.iter().filter(|option| option.fate() == Fate::Passed);
        let names: std::collections::BTreeSet<&str> = passed
            .map(SbatchOption::long_name)
            .filter(|name| !["--ntasks", "--cpus-per-task"].contains(name) && !heeded.contains(name))
            .collect();
        for name in names {
            *counts.entry(name.to_owned()).or_default() += jobs;
        }
    }
    let mut counts: Vec<(String, u64)> = counts.into_iter().collect();
    counts.sort_by_key(|(_, jobs)| std::cmp::Reverse(*jobs));
    let parts: Vec<String> = counts.into_iter().map(|(name, jobs)| format!("{name} of {jobs}")).collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> SbatchOptions {
        SbatchOptions::parse(text).unwrap()
    }

    #[test]
    fn options_are_read_as_a_shell_and_sbatch_do() {
        let options = parse("-N2 -n 18 --mem=250G -q 'a b' --gres gpu:2 --exclusive -C \"[x|y]\"");
        let words = ["-N", "2", "-n", "18", "--mem=250G", "-q", "a b", "--gres=gpu:2", "--exclusive", "-C", "[x|y]"];
        assert_eq!(options.passed_words(), words);
        assert_eq!(
            options.quoted_without(&["--nodes", "--ntasks"]),
            "--mem=250G -q 'a b' --gres=gpu:2 --exclusive -C [x|y]"
        );
        assert_eq!(parse(&options.quoted_without(&[])), options);
        assert_eq!((options.get("--qos"), options.get("--exclusive"), options.has_size()), (Some("a b"), None, true));
        assert!(!parse("--mem=3").has_size());
        for (wrong, expected) in [
            ("job.sh", "expected an option of sbatch such as --mem=4G, found job.sh"),
            ("--mem=3 job.sh", "expected an option of sbatch such as --mem=4G, found job.sh"),
            ("-q 'normal", "expected a quote at the end of what a quote begins"),
        ] {
            assert_eq!(SbatchOptions::parse(wrong).unwrap_err(), expected);
        }
    }

    #[test]
    fn sizes_are_those_of_sbatch() {
        let cores = |text: &str| parse(text).cores();
        let found = ["-n 18 -N 2", "-N 2", "-N 2 --ntasks-per-node=3", "-n 4 -c 2", "--mem=1G"]
            .map(|text| cores(text).unwrap());
        assert_eq!(found, [Some(18), Some(2), Some(6), Some(8), Some(1)]);
        assert_eq!(cores("-n 4000000000 -c 2"), Ok(None));
        assert_eq!(cores("-n 0").unwrap_err().to_string(), "expected --ntasks with a number from 1 on, found 0");
    }

    #[test]
    fn options_that_would_change_the_run_are_refused() {
        let fate = |text: &str| parse(text).iter().next().unwrap().fate();
        for refused in
            ["--array=0-3", "-a 3", "-d afterok:3", "--wrap=x", "-H", "-M other", "-b 2026-01-01", "--test-only"]
        {
            assert!(matches!(fate(refused), Fate::Refused(_)), "{refused}");
        }
        for dropped in ["-o x", "--error=x", "-t 5", "--time=5", "-J x", "--export=NONE", "-D /x", "--mail-type=ALL"] {
            assert!(matches!(fate(dropped), Fate::Dropped(_)), "{dropped}");
        }
        for passed in ["--mem=3", "-C IB", "--begin=now+60", "--exclusive", "-w n1", "--nice", "--reservation=x"] {
            assert_eq!(fate(passed), Fate::Passed, "{passed}");
        }
        assert_eq!(parse("-o x --mem=3 -a 1").passed_words(), ["--mem=3"]);
    }
}
