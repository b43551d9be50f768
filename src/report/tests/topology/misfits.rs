//! Reports before a run of the jobs that the run refuses.

use super::load_text;
use super::meeting::run;
use crate::{Names, Status, Tally};
use hansa_sim::topology::check_jobs;

const SITES: &str = r#"name = "misfits"
[[site]]
name = "york"
cores = 8
[[site]]
name = "leeds"
cores = 4
[[user]]
name = "alice"
"#;

/// Tables, and the outcome for jobs of 4, 12, 8, 9 and 6 cores.
const CASES: &[(&str, &str)] = &[
    ("[batch]", ""),
    ("[batch]\n[[workload]]\nsource = \"lublin\"\njobs = 40\nnodes = 12\n", "site = \"leeds\"\n"),
    ("[batch]\n[[workload]]\nsource = \"lublin\"\njobs = 40\nnodes = 12\n", ""),
    ("[market]\nunplaceable = \"refuse\"", ""),
    ("[reservation]", ""),
    ("[provisioning]", ""),
];

const LISTED: &str = "\n[[workload]]\nsource = \"table\"\n";

const REQUESTED: &str = "\n[[workload]]\nsource = \"requests\"\n";

fn job(cores: u32) -> String {
    format!("[[workload.job]]\ntasks = [{{ runtime = \"1 min\", cores = {cores} }}]\n")
}

fn requested(nodes: u32) -> String {
    format!("[[workload.request]]\nduration = \"1 min\"\ndeadline = \"2 h\"\nnodes = {nodes}\n")
}

#[test]
fn jobs_that_fit_no_site_are_counted_before_the_run_refuses_them() {
    let mut remarks = Vec::new();
    for (system, of_model) in CASES {
        let is_reserving = system.starts_with("[reservation]");
        let (source, one) = if is_reserving { (REQUESTED, requested as fn(u32) -> String) } else { (LISTED, job as _) };
        let jobs: String = [4, 12, 8, 9, 6].into_iter().map(one).collect();
        let text = format!("{SITES}{system}{of_model}{source}{jobs}");
        let topology = load_text(&text, &[]).unwrap_or_else(|error| panic!("{error}\n{text}"));
        let mut tally = Tally::new(&topology, &Names::of(&topology));
        run(&topology).iter().for_each(|entry| tally.add(entry).unwrap());
        let refused = tally.summary(1, Status::Complete, String::new()).jobs.refused;
        let printed = check_jobs(&topology).unwrap();
        let number = |text: &String| -> u64 {
            let (_, rest) = text.split_once(", ").unwrap();
            rest.split_once(' ').unwrap().0.parse().unwrap()
        };
        assert_eq!(printed.iter().map(number).sum::<u64>(), refused, "{text}\n{printed:?}");
        remarks.extend(printed.last().cloned());
    }
    assert_eq!(remarks[0], "workload.0: of 5 jobs, 2 can run at no site, from job 1 on; they are turned away");
    assert!(remarks[1].contains("from job 41 on"), "{remarks:?}");
    assert_eq!(remarks.len(), CASES.len());
}

/// Tasks that share nodes need fewer of them, unless their memory does not fit.
#[test]
fn on_shared_nodes_tasks_are_packed_to_decide_if_they_fit() {
    let site = "name = \"shared\"\n[batch]\n[[site]]\nname = \"york\"\ncores = 4\nscheduler = \"Greedy *\"\n[[user]]\nname = \"alice\"\n";
    let needs = "cpu = 0.25\nmemory = 0.4\n";
    let text = format!("{site}{LISTED}{}{needs}{}{needs}", job(8), job(9));
    let topology = load_text(&text, &[]).unwrap_or_else(|error| panic!("{error}"));
    let mut tally = Tally::new(&topology, &Names::of(&topology));
    run(&topology).iter().for_each(|entry| tally.add(entry).unwrap());
    assert_eq!(tally.summary(1, Status::Complete, String::new()).jobs.refused, 1);
    let printed = "workload.0: of 2 jobs, 1 can run at no site, from job 1 on; it is turned away";
    assert_eq!(check_jobs(&topology).unwrap(), [printed]);
}
