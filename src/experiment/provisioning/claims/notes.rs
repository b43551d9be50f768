//! Explanations of why claims do not hold as they stand, for the results at hand only.

use super::super::plans::widths;
use super::super::virtuals::{AHEAD, LENGTHS, NODES, line};
use super::super::{Results, Site, short};
use super::{SITES, loads, priced};
use crate::experiment::claims::{Finding, Verdict};

/// The notes that apply.
fn those<const N: usize>(notes: [Option<String>; N]) -> Vec<String> {
    notes.into_iter().flatten().collect()
}

fn when(applies: bool, note: &str) -> Option<String> {
    applies.then(|| note.to_owned())
}

fn percent(share: f64) -> String {
    format!("{:.0} %", 100.0 * share)
}

/// Mean number of running and waiting jobs.
fn jobs(results: &Results, site: &str) -> f64 {
    let points = || results.line("5", site).map(|((.., at), samples)| (*at as f64 / 1_000.0, samples.len() as f64));
    points().map(|(jobs, looks)| jobs * looks).sum::<f64>() / points().map(|point| point.1).sum::<f64>()
}

fn slots(results: &Results, site: &str) -> f64 {
    results.samples("7 at most 10", site, 0.0).len() as f64
}

pub(super) fn count(results: &Results, finding: &Finding) -> Vec<String> {
    let [ctc, sdsc] = ["CTC", "SDSC"].map(|site| short(jobs(results, site)));
    let fails = finding.fails("CTC") && !results.has_logs;
    those([fails.then(|| {
        format!(
            "There are as many slots as there are jobs to leave gaps (figure 5). The model makes jobs larger on a \
             larger machine, so CTC has {ctc} of them at a time and SDSC {sdsc}; those of CTC's log are small beside \
             the machine."
        )
    })])
}

pub(super) fn starts(results: &Results, finding: &Finding) -> Vec<String> {
    those([when(
        finding.fails("deviation") && results.has_logs,
        "Slots begin where jobs end. In the rebuilt log of CTC jobs run for 3.1 hours in the mean, and 10 % of them \
         for more than 12; in that of SDSC for 2.0 hours, and 6 %.",
    )])
}

pub(super) fn sizes(results: &Results, finding: &Finding) -> Vec<String> {
    let wide =
        |site| 1.0 - results.line("7", site).map(|(_, seen)| seen.len() as f64).sum::<f64>() / slots(results, site);
    those([
        (finding.fails("at most 10") && !results.has_logs).then(|| {
            let [ctc, sdsc] = ["CTC", "SDSC"].map(|site| percent(wide(site)));
            format!(
                "The model's jobs grow with the machine, and so do the gaps that they leave: {ctc} of CTC's slots have \
                 more than 65 processors, {sdsc} of SDSC's."
            )
        }),
        when(
            finding.fails("number 7"),
            "Slots are counted at each look, every three hours: a gap beside long jobs that stays for days is seen \
             dozens of times, whatever its size.",
        ),
    ])
}

pub(super) fn estimates(results: &Results, finding: &Finding) -> Vec<String> {
    let shorter = |(at, site): (f64, &str)| {
        let [exact, inexact] = ["median duration, exact", "median duration, inexact"]
            .map(|line| results.mean("8 mean", line, at).unwrap_or(0.0));
        let without_end = results.mean("6 without end", site, 0.0).unwrap_or_default();
        (exact > 2.0 * inexact).then(|| {
            format!(
                "With exact run times {} of {site}'s slots have no end, so the median one lasts until 48 hours from \
                 now; with inexact ones plans are fuller, and it ends where a job is planned.",
                percent(without_end)
            )
        })
    };
    let longer = [0.0, 1.0].iter().any(|at| {
        let [exact, inexact] = ["median duration, exact", "median duration, inexact"]
            .map(|line| results.mean("8 mean", line, *at).unwrap_or(0.0));
        inexact > 2.0 * exact
    });
    those([
        when(
            finding.fails("median") && longer && !results.has_logs,
            "Half of the jobs have synthetic estimates of five times their run time and more, so plans reach much \
             further than what happens, and leave long gaps there.",
        ),
        shorter((0.0, "CTC")),
        shorter((1.0, "SDSC")),
    ])
}

/// Explanation of plans over slots that are slower than best effort, or vary more.
const BEHIND_ALL: &str = "Only slots without end cost no more than is used of them, and they begin behind all planned \
                          jobs, where other slots are paid as a whole: a plan that must be cheap waits for them, while \
                          by best effort a task starts in any gap.";

pub(super) fn makespan(results: &Results, finding: &Finding) -> Vec<String> {
    let sites = ["CTC", "SDSC"];
    let [ctc, sdsc] =
        sites.map(|site| short(results.mean("13 makespan", &format!("{site} best effort"), 0.0).unwrap_or_default()));
    those([
        when(finding.fails("< 13 makespan(CTC best") || finding.fails("< 13 makespan(SDSC best"), BEHIND_ALL),
        (finding.fails("< 13 makespan(SDSC provisioned") && !results.has_logs).then(|| {
            format!(
                "By best effort, too, a workflow takes {ctc} hours on CTC and {sdsc} on SDSC: beside the model's jobs, \
                 which grow with the machine, its tasks are no smaller on CTC."
            )
        }),
    ])
}

pub(super) fn variation(_: &Results, finding: &Finding) -> Vec<String> {
    those([when(finding.fails("sd"), BEHIND_ALL)])
}

pub(super) fn by_tasks(_: &Results, finding: &Finding) -> Vec<String> {
    those([when(finding.fails("14 makespan"), BEHIND_ALL)])
}

pub(super) fn by_width(_: &Results, finding: &Finding) -> Vec<String> {
    those([when(finding.fails("15 makespan"), BEHIND_ALL)])
}

/// Number of lines that fall from the lowest load to the highest, as text.
fn by_load(results: &Results, figure: &'static str) -> String {
    let of = |site: Site| {
        let loads = loads(site);
        let widths = widths(site);
        let ratio = |procs: u32, at| results.ratio(figure, &format!("{} {procs} procs", site.name()), at);
        let falls = |procs: &&u32| ratio(**procs, loads[loads.len() - 1]) < ratio(**procs, loads[0]);
        format!("for {} of {} sizes of tasks on {}", widths.iter().filter(falls).count(), widths.len(), site.name())
    };
    let [ctc, sdsc] = Site::ALL.map(of);
    format!(
        "From the lowest load to the highest it falls {ctc} and {sdsc}. Single steps depend on how long the queue \
         happens to be at the moments."
    )
}

pub(super) fn over_slots_by_load(results: &Results, finding: &Finding) -> Vec<String> {
    those([
        finding.fails("16 makespan").then(|| by_load(results, "16 makespan")),
        when(
            finding.fails("16 cost"),
            "An inner slot is paid as a whole, and at weight 0.5 some plans take one that is many times as large as a \
             narrow task: a few moments make the mean.",
        ),
    ])
}

pub(super) fn at_prices_by_load(results: &Results, finding: &Finding) -> Vec<String> {
    those([
        finding.fails("55 makespan").then(|| by_load(results, "55 makespan")),
        when(
            finding.fails("55 cost"),
            "Where no task displaces a job, no fee is paid, and cost is exactly best effort's.",
        ),
        when(
            finding.fails("54 cost"),
            "At weight 0 a workflow takes the earliest start at any fee. A fee is what all jobs behind lose, so a few \
             long queues make the mean.",
        ),
    ])
}

pub(super) fn cybershake(results: &Results, finding: &Finding) -> Vec<String> {
    // Two tasks of a day need 288 of 430 processors each.
    const LEAST: f64 = (1.0 + 2_100.0 + 2.0 * 86_400.0 + 519.0 + 1.0) / 3_600.0;
    let best_effort = |load| results.mean("18 makespan", "best effort", load).unwrap_or_default();
    those([
        finding.fails("<= 0.5 18 makespan").then(|| {
            format!(
                "Two of its tasks need 288 of 430 processors for a day, one after the other, so it takes at least \
                 {LEAST:.1} hours. Best effort takes {} hours at 88 %, and {} at 63 %, where the thesis has 132: \
                 waits, which are all that can be saved, are shorter here.",
                short(best_effort(88.0)),
                short(best_effort(63.0))
            )
        }),
        when(
            finding.fails("18 cost"),
            "A plan that takes an inner slot pays for all of it; at some moments one is chosen that is much larger \
             than its tasks.",
        ),
        finding.fails("sd 18").then(|| {
            format!(
                "Many runs of both kinds take hardly more than the least time, {LEAST:.1} hours: a single long one \
                 makes the deviation."
            )
        }),
    ])
}

pub(super) fn several_sites(results: &Results, finding: &Finding) -> Vec<String> {
    let best_effort = |sites: f64| results.mean("19 makespan", "best effort", sites).unwrap_or_default();
    let provisioned = |sites: f64| results.mean("19 makespan", "provisioned", sites).unwrap_or_default();
    those([
        when(
            finding.fails("19 makespan(best effort"),
            "Best effort sends a task where the fewest jobs run or wait, however large the site: a site of SDSC that \
             is added attracts tasks with its shorter queue, and has fewer processors to work it off with.",
        ),
        finding.fails("19 makespan ratio(2)").then(|| {
            format!(
                "From two sites to six slots save {} of their time, and best effort {}: it cannot see on which site a \
                 task would start first.",
                percent(1.0 - provisioned(6.0) / provisioned(2.0)),
                percent(1.0 - best_effort(6.0) / best_effort(2.0))
            )
        }),
        when(
            finding.fails("19 makespan(provisioned"),
            "A plan is chosen by its cost as much as by its time, so with an additional site a cheaper and longer one \
             may win.",
        ),
    ])
}

pub(super) fn fees(results: &Results, finding: &Finding) -> Vec<String> {
    those([when(
        finding.fails("< 23(SDSC fee") && !results.has_logs,
        "A fee counts processor-hours that others lose. The model's jobs grow with the machine, so those that a \
         reservation delays on CTC are about three times as wide as on SDSC.",
    )])
}

pub(super) fn fees_by_load(results: &Results, finding: &Finding) -> Vec<String> {
    let stays = |site: Site| {
        let line = format!("{} alpha 1", site.name());
        let ratios = priced(site).map(|load| short(results.ratio("26", &line, load).unwrap_or_default())).join(", ");
        finding.fails(&format!("26 ratio({line}")).then(|| {
            format!(
                "On {}, a reservation that pays nothing starts behind the queue, so its wait grows as the queue's \
                 does: relative to it {ratios}.",
                site.name()
            )
        })
    };
    let some = ["0.25", "0.5", "0.75"].iter().any(|alpha| finding.fails(&format!("alpha {alpha},")));
    those([
        stays(Site::Ctc),
        stays(Site::Sdsc),
        when(
            finding.fails("26 ratio") && some,
            "The more cost weighs, the more of the reservations start behind the queue, where their wait grows as its \
             does.",
        ),
    ])
}

pub(super) fn fees_by_share(results: &Results, finding: &Finding) -> Vec<String> {
    let mean = |site: &str, share| short(results.mean("27 fee", site, share).unwrap_or_default());
    let site = |site: &str| {
        format!(
            "{} with 10 %, {} with 20 %, {} with 90 % on {site}",
            mean(site, 10.0),
            mean(site, 20.0),
            mean(site, 90.0)
        )
    };
    those([(finding.verdict == Verdict::DoesNotHold).then(|| {
        format!("Mean fees are {}, and {}. Why single steps go the other way is not known.", site("CTC"), site("SDSC"))
    })])
}

pub(super) fn half(results: &Results, finding: &Finding) -> Vec<String> {
    let wait = |site: &str, alpha| short(results.mean("28", &format!("{site} queued"), alpha).unwrap_or_default());
    let site = |site: &str| format!("{} and {} hours on {site}", wait(site, 0.0), wait(site, 1.0));
    those([(finding.verdict == Verdict::DoesNotHold).then(|| {
        format!(
            "At weights 0 and 1 the queue waits {}, and {}. Why single steps go the other way is not known.",
            site("CTC"),
            site("SDSC")
        )
    })])
}

pub(super) fn planners(_: &Results, finding: &Finding) -> Vec<String> {
    those([when(
        finding.fails("29("),
        "A fee counts what delayed jobs lose and nothing of what others gain. EASY plans no start but the first of the \
         queue, so a reservation may set off any order behind it: the difference is small beside how fees differ \
         between histories.",
    )])
}

/// All trials of a kind of reservation.
fn trials(results: &Results, figure: &'static str, what: &str) -> Vec<f64> {
    let sizes = || NODES.into_iter().flat_map(|nodes| LENGTHS.map(|length| (nodes, length)));
    let lines = sizes().map(|(nodes, length)| line(what, nodes, length));
    let all = lines.flat_map(|line| AHEAD.map(|ahead| results.samples(figure, &line, ahead as f64)));
    all.flatten().copied().collect()
}

fn free(results: &Results) -> f64 {
    let fees = trials(results, "38", "AR");
    fees.iter().filter(|fee| **fee == 0.0).count() as f64 / fees.len() as f64
}

pub(super) fn imitated_costs(results: &Results, finding: &Finding) -> Vec<String> {
    let [real, imitated] = ["AR", "VAR"].map(|what| trials(results, "38", what).len());
    let all = trials(results, "39", "AR").len();
    those([
        finding.fails("38(").then(|| {
            format!(
                "{} of the real ones displace no job and are free, and a few displace many; a padded job idles from \
                 its start on in every trial. So it depends on the length of the queue which of both is dearer in the \
                 mean.",
                percent(free(results))
            )
        }),
        finding.fails("38(").then(|| {
            format!(
                "The means are over different trials: of {all}, {real} in which a real one was admitted, and \
                 {imitated} in which an imitated one started in time."
            )
        }),
    ])
}

pub(super) fn imitated_success(results: &Results, finding: &Finding) -> Vec<String> {
    let [real, imitated] = ["AR", "VAR"].map(|what| trials(results, "39", what));
    let only = |one: &[f64], other: &[f64]| one.iter().zip(other).filter(|(one, other)| *one > *other).count();
    those([finding.fails("39(").then(|| {
        format!(
            "A real one fails if running jobs may be in its way by what they asked for, though most end earlier; an \
             imitated one starts when they do. Both are asked for in the same {} trials: {} times only the real one \
             succeeds, {} times only the imitated one.",
            real.len(),
            only(&real, &imitated),
            only(&imitated, &real)
        )
    })])
}

pub(super) fn combined(results: &Results, finding: &Finding) -> Vec<String> {
    those([finding.fails("46(").then(|| {
        format!(
            "{} of the real ones displace no job and are free, so that nothing can cost half of them.",
            percent(free(results))
        )
    })])
}

pub(super) fn notice(results: &Results, finding: &Finding) -> Vec<String> {
    those([(finding.fails("38(") || finding.fails("41(")).then(|| {
        format!(
            "{} of the real ones displace no job and are free at any notice. The queue here is that of a model whose \
             chances of a start are near those that the thesis prints of NCSA's TeraGrid cluster, not its log.",
            percent(free(results))
        )
    })])
}

pub(super) fn cheaper(results: &Results, finding: &Finding) -> Vec<String> {
    those([finding.fails("VAR cheaper").then(|| {
        format!(
            "{} of the real ones displace no job and cost nothing, which no padding can undercut. Means are as they \
             are because of the others (figure 38). All trials count: one that succeeds alone is the cheaper of both.",
            percent(free(results))
        )
    })])
}

pub(super) fn bought_makespan(_: &Results, finding: &Finding) -> Vec<String> {
    those([when(
        finding.fails("52 makespan"),
        "A plan without fees takes what the queue leaves, task by task, like best effort; it may be slower if jobs in \
         the queue leave gaps that only an unplanned task fits.",
    )])
}

pub(super) fn against_slots(_: &Results, finding: &Finding) -> Vec<String> {
    those([
        when(
            finding.fails("<= 52 cost"),
            "A plan over slots pays for an inner slot as a whole, while one that is bought pays for its tasks and \
             their fees: if cost counts, it waits until these have fallen.",
        ),
        when(
            finding.fails("<= 13 makespan"),
            "If cost counts, buying waits for fees to fall, and may then take longer than a plan that pays for larger \
             slots.",
        ),
    ])
}

pub(super) fn bought_by_tasks(results: &Results, finding: &Finding) -> Vec<String> {
    let longer = |site: &str| {
        let [quick, cheap] = [0, 1]
            .map(|alpha| results.ratio("53 makespan", &format!("{site} alpha {alpha}"), 100.0).unwrap_or_default());
        format!("{} longer on {site}", percent(cheap / quick - 1.0))
    };
    those([
        finding.fails("<= 1.3 53 makespan").then(|| {
            format!(
                "At weight 1 a workflow displaces no job and waits behind the whole queue: 100 tasks take {} and {}. \
                 The factor of 1.3 for \"close\" is ours.",
                longer("CTC"),
                longer("SDSC")
            )
        }),
        when(
            finding.fails("< 53 cost"),
            "Where the queue is short a workflow displaces hardly any job, so fees are low at any weight.",
        ),
    ])
}

pub(super) fn bought_on_several(results: &Results, finding: &Finding) -> Vec<String> {
    let all = SITES.map(|sites| short(results.mean("56 makespan", "provisioned", sites).unwrap_or_default()));
    those([
        finding.fails("<= 1.3 56 makespan").then(|| {
            format!(
                "Sites are added from the fullest to the emptiest. On the two fullest a workflow that weighs cost \
                 waits for fees to fall; each further site lets it start sooner without: {} hours on 2 to 6.",
                all.join(", ")
            )
        }),
        when(finding.fails("56 cost"), "With less loaded sites hardly any fee is paid, so little is left to fall."),
        when(
            finding.fails("< 19 makespan"),
            "At weight 0.5 buying waits for fees to fall where a plan over slots pays for larger slots.",
        ),
    ])
}
