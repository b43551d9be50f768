use super::*;
use crate::experiment::{self, Experiment, Run};

const FILE: &str = r#"
name = "try"
topology = "grid.toml"
metrics = ["value", "job_wait", "jobs", "paid"]

[vary]
market.policy = ["fifo", "a <quick> one"]
seed = [1, 2]
workload.0.load = [1.4, 0.7, 1.0]
"#;

fn experiment(text: &str) -> Experiment {
    experiment::read_experiment("try.toml", &mut |_| Ok(text.into())).unwrap()
}

/// Rows with values of a function; no user pays, and there are forty jobs.
fn rows(experiment: &Experiment, value: impl Fn(&Run) -> f64) -> Vec<RunRow> {
    let row = |run: Run| {
        let waits = (run.values[0] == "fifo").then_some(60.0 * run.number as f64);
        let metrics = vec![Some(value(&run)), waits, Some(40.0), None];
        RunRow { run: run.number, values: run.values, metrics, digest: format!("{:032}", run.number) }
    };
    experiment.runs().map(row).collect()
}

/// 100 for the second policy, 10 for each load after the first, and the seed.
fn made_value(run: &Run) -> f64 {
    let [policy, seed, load] = &run.values[..] else { panic!("three axes") };
    let place = |values: &[&str], value: &str| values.iter().position(|other| *other == value).unwrap() as f64;
    100.0 * place(&["fifo", "a <quick> one"], policy)
        + 10.0 * place(&["1.4", "0.7", "1.0"], load)
        + seed.parse::<f64>().unwrap()
}

#[test]
fn means_are_over_seeds_wherever_these_are_written() {
    let experiment = experiment(FILE);
    let means = compute_means(&experiment, &rows(&experiment, made_value));
    assert_eq!(means.repetitions, 2);
    let keys: Vec<&str> = means.axes.iter().map(|axis| axis.key.as_str()).collect();
    assert_eq!(keys, ["market.policy", "workload.0.load"]);
    for (picks, cells) in means.combinations() {
        let value = cells[0].unwrap();
        assert_eq!((value.mean, value.count), (100.0 * picks[0] as f64 + 10.0 * picks[1] as f64 + 1.5, 2));
        assert!((value.within.unwrap() - 12.706_204_736_174_7 * 0.5).abs() < 1e-9);
        assert_eq!((means.cell_mean(&picks, 0), means.cell_mean(&picks, 1)), (cells[0], cells[1]));
        assert_eq!(cells[1].is_some(), picks[0] == 0);
        assert_eq!(cells[3], None);
    }
}

#[test]
fn the_file_has_a_row_for_each_mean() {
    let experiment = experiment(FILE);
    let text = means_csv(&compute_means(&experiment, &rows(&experiment, made_value)));
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 1 + 2 * 3 * 4);
    assert_eq!(lines[0], "market.policy,workload.0.load,metric,runs,mean,within");
    assert!(lines[1].starts_with("fifo,1.4,value,2,1.5,6.353102368087"), "{}", lines[1]);
    assert_eq!(lines[3], "fifo,1.4,jobs,2,40,0");
    assert_eq!(lines[4], "fifo,1.4,paid,0,,");
    assert!(lines[17].starts_with("a <quick> one,0.7,value,2,111.5,6.353102368087"), "{}", lines[17]);
}

#[test]
fn numbers_are_across_and_the_rest_is_in_lines() {
    let experiment = experiment(FILE);
    let page =
        means_page(&compute_means(&experiment, &rows(&experiment, made_value)), None, None, &["Of a file.".to_owned()]);
    assert!(page.contains("a &lt;quick&gt; one") && !page.contains("<quick>") && page.contains("Of a file."));
    // Two charts: of two lines, and of the one with numbers; the rest is stated in words.
    assert_eq!(page.matches("<svg").count(), 2);
    assert!(page.contains("<code>jobs</code> = 40") && page.contains("No run has a number for <code>paid</code>"));
    let tips: Vec<&str> = page.split("<title>").skip(2).map(|rest| rest.split("</title>").next().unwrap()).collect();
    // In the order in which a line meets them.
    assert_eq!(tips[..2], ["fifo, workload.0.load = 0.7: 11.5 ± 6.35", "fifo, workload.0.load = 1.0: 21.5 ± 6.35"]);
    assert_eq!(tips[5], "a &lt;quick&gt; one, workload.0.load = 1.4: 101.5 ± 6.35");
    assert_eq!(tips.len(), 6 + 3);
}

#[test]
fn words_are_rows_of_dots_and_seeds_alone_a_table() {
    let words = experiment(&FILE.replace("workload.0.load = [1.4, 0.7, 1.0]", "market.edf = [\"a\", \"b\", \"c\"]"));
    let run_number = |run: &Run| run.number as f64;
    let dots = means_page(&compute_means(&words, &rows(&words, run_number)), None, None, &[]);
    assert_eq!((dots.matches("<svg").count(), dots.matches("<circle").count()), (2, 6 + 3));
    assert!(dots.contains("<title>fifo, c: 4.5 ± "), "{dots}");

    let seeds = experiment(&FILE.split("market.policy").next().unwrap().replace("[vary]", "[vary]\nseed = [1, 2, 3]"));
    let rows: Vec<RunRow> = rows(&seeds, |run| run.number as f64);
    let table = means_page(&compute_means(&seeds, &rows), None, None, &[]);
    assert!(!table.contains("<svg") && table.contains("<td class=\"n\">2 ± 2.48</td>"), "{table}");
    assert!(table.contains("3 runs that differ in nothing but seeds") && !table.contains("Charts"), "{table}");
}

#[test]
fn charts_of_a_metric_share_an_axis_and_are_not_too_many() {
    let panels = |seeds: &str, pages: usize| {
        let names: Vec<String> = (0..pages).map(|name| format!("\"{name}-th\"")).collect();
        let more = format!("seed = {seeds}\nmarket.edf = [{}]", names.join(", "));
        experiment(&FILE.replace("seed = [1, 2]", &more))
    };
    // This many words cannot be told apart as lines.
    let experiment = panels("[1]", 20);
    let drawn = means_page(&compute_means(&experiment, &rows(&experiment, |run| run.number as f64)), None, None, &[]);
    assert_eq!(drawn.matches("<svg").count(), 2 * 20);
    assert_eq!(drawn.matches("On a logarithmic scale.").count(), 20);
    assert_eq!(drawn.matches("The axis does not start at 0.").count(), 0);
    assert!(drawn.contains("<h3>market.edf = 19-th</h3>") && drawn.contains("Each number is of a single run"));

    let experiment = panels("[1]", 200);
    let drawn = means_page(&compute_means(&experiment, &rows(&experiment, |run| run.number as f64)), None, None, &[]);
    assert_eq!(drawn.matches("<svg").count(), 300);
    let notes = drawn.matches("These are the first 150 of 200 charts; means.csv has all.").count();
    assert_eq!(notes, 2, "all metrics have as many");
}

#[test]
fn an_excess_for_a_page_is_only_in_the_file() {
    let across = |values: Vec<String>| {
        let text = FILE.replace("[1.4, 0.7, 1.0]", &format!("[{}]", values.join(", "))).replace("seed = [1, 2]", "");
        let experiment = experiment(&text);
        let means = compute_means(&experiment, &rows(&experiment, |run| run.number as f64));
        (means_page(&means, None, None, &[]), means_csv(&means).lines().count())
    };
    let (numbers, lines) = across((0..40_000).map(|number| number.to_string()).collect());
    assert_eq!((numbers.matches("<svg").count(), numbers.matches("<circle").count(), lines), (2, 0, 1 + 40_000 * 8));
    assert!(numbers.contains("These are too many to show each number; means.csv has all."));
    let (words, _) = across((0..201).map(|number| format!("\"{number}-th\"")).collect());
    assert!(!words.contains("<svg") && words.contains("These are too many for a chart; means.csv has all."));
}

#[test]
fn a_number_that_only_some_runs_have_is_not_constant() {
    let experiment = experiment(FILE);
    let mut rows = rows(&experiment, made_value);
    let fees = |rows: &[RunRow]| {
        means_page(&compute_means(&experiment, rows), None, None, &[]).contains("<code>paid</code> = 0.1")
    };
    rows.iter_mut().for_each(|row| row.metrics[3] = Some(0.1));
    assert!(fees(&rows), "three times a tenth is no other number");
    rows[0].metrics[3] = None;
    assert!(!fees(&rows));
}

#[test]
fn a_repeated_run_counts_once_and_is_named() {
    let experiment = experiment(FILE);
    let mut rows = rows(&experiment, made_value);
    assert_eq!(compute_means(&experiment, &rows).repeats_note(), None);
    for row in &mut rows {
        row.digest = format!("{} {}", row.values[0], row.values[2]);
    }
    let means = compute_means(&experiment, &rows);
    assert!(means.cells.iter().all(|cells| cells[0].is_some_and(|one| one.count == 1 && one.within.is_none())));
    let note = means.repeats_note().unwrap();
    assert!(note.starts_with("6 of 12 runs only repeat another run"), "{note}");
    let html = means_page(&means, None, None, &[]);
    assert!(html.contains(&note) && html.contains("Each number is of a single run") && !html.contains('±'), "{html}");
    assert!(html.contains("The same in all runs: <code>jobs</code> = 40"), "{html}");
}
