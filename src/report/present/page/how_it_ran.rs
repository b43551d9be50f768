//! "How it ran": layout, host, wall time, and the waits of the hub by leaf.

use std::collections::BTreeSet;

use super::html::{definition_list, format_count, share_bar, table_html, unbroken_number};
use super::{Page, ROWS_MAX};
use crate::markup::{Html, cells, html};
use hansa_sim::settings::format_counted;

impl Page<'_> {
    pub(super) fn facts_section(&self) -> Html {
        let run = &self.summary.run;
        let manifest = self.manifest;
        let host = &manifest.host;
        // In one process there are no members to wait for.
        let joined = match run.hub_waits {
            Some(_) => format!("{:.2} s until all members had joined, ", run.join_seconds),
            None => String::new(),
        };
        let mut facts = vec![
            ("Layout", Html::from(&run.layout)),
            (
                "Wall time",
                html!(
                    "{:.2} s, of these {joined}{:.2} s for the run itself and {:.2} s for writing the results",
                    run.wall_seconds,
                    run.run_seconds,
                    run.write_seconds,
                    joined
                ),
            ),
            (
                "Events",
                html!(
                    "{}{}",
                    format_count(run.events),
                    run.events_per_second.map(|rate| format!(", {} a second", unbroken_number(rate)))
                ),
            ),
        ];
        if let Some(waits) = run.hub_waits {
            facts.push((
                "Waits of the hub",
                html!("{}, where it could not go on without an answer", format_count(waits)),
            ));
        }
        if let Some(messages) = run.messages {
            let packed = run.messages_per_packet.map(|many| format!(", {many:.1} a packet"));
            let frames =
                run.frames.map(|frames| format!(", in {} in both directions", format_counted(frames, "frame")));
            facts.push(("Messages", html!("{}{packed}{frames}", format_count(messages), packed, frames)));
        }
        let used = match host.cores_used {
            used if used > 0 && used < host.cores => format!("{used} of {} cores", host.cores),
            _ => format_counted(host.cores as u64, "core"),
        };
        facts.push(("Host", html!("{}: {used}, {}, {}", host.name, host.processor, host.kernel, used)));
        facts.push(("Started", Html::from(&manifest.started)));
        facts.push(("Hansa", Html::from(&manifest.version)));
        facts.push(("Command", html!("<code>{}</code>", manifest.command.join(" "))));
        let mut html = definition_list(&facts);
        html += self.blocked_section();
        html
    }

    fn blocked_section(&self) -> Html {
        let run = &self.summary.run;
        if run.waits.is_empty() && run.blocked_seconds.is_empty() {
            return html!("<p>All actors shared one process, so none had to wait for another.</p>\n");
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
        let row = |name: String, waits: u64, blocked: f64| {
            cells![
                name,
                format_count(waits),
                share_bar(if longest > 0.0 { blocked / longest } else { 0.0 }, &format!("{:.1} ms", blocked * 1e3)),
            ]
        };
        let mut rows: Vec<_> =
            leaves.iter().take(ROWS_MAX).map(|(blocked, waits, name)| row((*name).clone(), *waits, *blocked)).collect();
        if leaves.len() > ROWS_MAX {
            let rest = &leaves[ROWS_MAX..];
            let sums = rest.iter().fold((0, 0.0), |sum, leaf| (sum.0 + leaf.1, sum.1 + leaf.0));
            rows.push(row(format!("{} more together", rest.len()), sums.0, sums.1));
        }
        html!("<h3>Waits of the hub, by leaf</h3>\n{}", table_html(&["Leaf", "#Waits", "Blocked, wall time"], rows))
    }
}
