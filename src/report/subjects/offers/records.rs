//! The records of offers.

use super::tally::OfferTally;
use crate::referee::record_table::records;
use hansa_sim::settings::counted;

records! { OfferTally (book), (names)
    "offered" Offered { idle, waiting, received } => offered, {
        let waiting = if *waiting > 0 { format!(", and tasks wait for {waiting} more") } else { String::new() };
        format!("offers {} after {}{waiting}", counted((*idle).into(), "idle core"), counted(*received, "start"))
    };
}
