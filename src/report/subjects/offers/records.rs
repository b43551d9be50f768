//! The records of offers.

use super::tally::OfferTally;
use crate::referee::record_table::records;
use hansa_sim::settings::format_counted;

records! { OfferTally (book), (names)
    "offered" Offered { idle, waiting, received } => offered, {
        let waiting = if *waiting > 0 { format!(", and tasks wait for {waiting} more") } else { String::new() };
        format!("offers {} after {}{waiting}", format_counted((*idle).into(), "idle core"), format_counted(*received, "start"))
    };
}
