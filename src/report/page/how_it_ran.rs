//! "How it ran": layout, host, wall time, and the waits of the hub by leaf.

use std::collections::BTreeSet;

use super::html::{bar, count, definitions, escape, number, table};
use super::{Page, ROWS_MAX};
use crate::settings::counted;

impl Page<'_> {
    pub(super) fn facts(&self) -> String {
        let (run, manifest) = (&self.summary.run, self.manifest);
        let host = &manifest.host;
        // In one process there are no members to wait for.
        let joined = match run.hub_waits {
            Some(_) => format!("{:.2} s until all members had joined, ", run.join_seconds),
            None => String::new(),
        };
        let mut facts = vec![
            ("Layout", escape(&run.layout)),
            (
                "Wall time",
                format!(
                    "{:.2} s, of these {joined}{:.2} s for the run itself and {:.2} s for writing the results",
                    run.wall_seconds, run.run_seconds, run.write_seconds
                ),
            ),
            (
                "Events",
                format!(
                    "{}{}",
                    count(run.events),
                    run.events_per_second.map_or(String::new(), |rate| format!(", {} a second", number(rate)))
                ),
            ),
        ];
        if let Some(waits) = run.hub_waits {
            facts.push(("Waits of the hub", format!("{}, where it could not go on without an answer", count(waits))));
        }
        if let Some(messages) = run.messages {
            let packed = run.messages_per_packet.map_or(String::new(), |many| format!(", {many:.1} a packet"));
            let frames = run
                .frames
                .map_or(String::new(), |frames| format!(", in {} in both directions", counted(frames, "frame")));
            facts.push(("Messages", format!("{}{packed}{frames}", count(messages))));
        }
        let used = match host.cores_used {
            used if used > 0 && used < host.cores => format!("{used} of {} cores", host.cores),
            _ => counted(host.cores as u64, "core"),
        };
        facts.push(("Host", escape(&format!("{}: {used}, {}, {}", host.name, host.processor, host.kernel))));
        facts.push(("Started", escape(&manifest.started)));
        facts.push(("Hansa", escape(&manifest.version)));
        facts.push(("Command", format!("<code>{}</code>", escape(&manifest.command.join(" ")))));
        let mut html = definitions(&facts);
        html.push_str(&self.blocked());
        html
    }

    fn blocked(&self) -> String {
        let run = &self.summary.run;
        if run.waits.is_empty() && run.blocked_seconds.is_empty() {
            return "<p>All actors shared one process, so none had to wait for another.</p>\n".to_owned();
        }
        let names = run.waits.keys().chain(run.blocked_seconds.keys()).collect::<BTreeSet<_>>();
        let mut leaves: Vec<(f64, u64, &String)> = names
            .into_iter()
            .map(|name| {
                (run.blocked_seconds.get(name).copied().unwrap_or(0.0), run.waits.get(name).copied().unwrap_or(0), name)
            })
            .collect();
        leaves.sort_by(|left, right| right.0.total_cmp(&left.0).then(left.2.cmp(right.2)));
        let longest = leaves.first().map_or(0.0, |leaf| leaf.0);
        let cells = |name: String, waits: u64, blocked: f64| {
            vec![
                name,
                count(waits),
                bar(if longest > 0.0 { blocked / longest } else { 0.0 }, &format!("{:.1} ms", blocked * 1e3)),
            ]
        };
        let mut rows: Vec<_> =
            leaves.iter().take(ROWS_MAX).map(|(blocked, waits, name)| cells(escape(name), *waits, *blocked)).collect();
        if leaves.len() > ROWS_MAX {
            let rest = &leaves[ROWS_MAX..];
            let sums = rest.iter().fold((0, 0.0), |sum, leaf| (sum.0 + leaf.1, sum.1 + leaf.0));
            rows.push(cells(format!("{} more together", rest.len()), sums.0, sums.1));
        }
        format!("<h3>Waits of the hub, by leaf</h3>\n{}", table(&["Leaf", "#Waits", "Blocked, wall time"], rows))
    }
}
