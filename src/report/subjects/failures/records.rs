//! The records of failures.

use super::tally::FailureTally;
use crate::referee::record_table::records;
use hansa_sim::settings::format_counted;

records! { FailureTally (book), (names)
    "down" Down { cores, since } => are_down, format!("finds cores {cores} down, since {since}");
    "up" Up { cores, since } => are_up, format!("finds cores {cores} up again, since {since}");
    "lost" Lost { task, saved } => lost, format!("loses task {task} to a failure; {saved} of its work is saved");
    "checkpointed" Checkpointed { task, times, spent } => checkpointed,
        format!("has saved the work of task {task} {}, which took {spent}", format_counted(*times, "time"));
    "link_down" LinkDown { link, since } => link_is_down,
        format!("finds link {} down, since {since}", names.of_link(*link));
    "link_up" LinkUp { link, since } => link_is_up,
        format!("finds link {} up again, since {since}", names.of_link(*link));
    "stalled" Stalled { edge, left } => stalled,
        format!("sees the data of {edge} held up by a link that is down, with {left} bytes left");
    "continued" Continued { edge, left, via, active } => continued, {
        let names: Vec<String> = via.iter().map(|link| names.of_link(*link)).collect();
        let via = if names.is_empty() { String::new() } else { format!(" over {}", names.join(", ")) };
        format!("lets the data of {edge} go on{via}, with {left} bytes left")
    };
}
