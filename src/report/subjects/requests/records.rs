//! The records of requests for reservations.

use super::tally::RequestTally;
use crate::referee::record_table::records;
use hansa_sim::protocol::ReserveAnswer;
use hansa_sim::settings::format_counted;

records! { RequestTally (book), (names)
    "answered" Answered { job, ready, deadline, answer } => answered, match answer {
        ReserveAnswer::Accepted { site, start, nodes } =>
            format!("accepts request {job}: nodes {nodes} of {} from {start}", names.of_actor(*site)),
        ReserveAnswer::Declined => format!("declines request {job}"),
        ReserveAnswer::Invalid(invalid) => format!("finds request {job} invalid: {invalid}"),
    };
    "malleable" Malleable { job, shapes } => malleable, {
        let each: Vec<String> =
            shapes.iter().map(|shape| format!("{} for {}", format_counted(shape.nodes.into(), "node"), shape.duration)).collect();
        format!("may book request {job} in one of {}: {}", format_counted(shapes.len() as u64, "shape"), each.join(", "))
    };
    "shaped" Shaped { job, shape } => shaped, format!("chooses shape {shape} of request {job}, from 0");
    "rebooked" Rebooked { job, site, start, until, nodes as "cores" } => rebooked, format!(
        "rebooks the reservation of job {job}, whose nodes failed: nodes {nodes} of {} from {start} to {until}",
        names.of_actor(*site));
    "broken" Broken { job, compensation } => broken,
        format!(
            "breaks the reservation of job {job}, whose nodes failed, and compensates its user with {compensation}");
    "cancelled" Cancelled { job } => cancelled,
        format!("releases the reservation of job {job}, which its user cancels");
}
