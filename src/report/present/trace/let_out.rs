//! Bookings and holds of users at a site, in lanes after those of its tasks.

use super::lanes::Lanes;
use super::{TraceWriter, json};
use crate::Tally;
use crate::subjects::bargains::{BargainTally, BookingSpan, HoldSpan, NegotiationData};
use hansa_sim::time::Time;

#[derive(Clone, Default)]
pub(super) struct LetOut {
    bookings: Vec<BookingSpan>,
    holds: Vec<HoldSpan>,
}

impl Tally {
    pub(super) fn let_out_by_site(&self) -> Vec<LetOut> {
        let mut sites = vec![LetOut::default(); self.sites.len()];
        self.state::<BargainTally>()
            .bookings(self)
            .for_each(|booking| sites[booking.site as usize].bookings.push(booking));
        for seen in &self.state::<BargainTally>().seen {
            if let NegotiationData::Hold(hold) = seen {
                sites[hold.site as usize].holds.push(*hold);
            }
        }
        sites
    }

    pub(super) fn let_out_track<E, P: FnMut(&[u8]) -> Result<(), E>>(
        &self,
        pid: usize,
        lanes: u32,
        LetOut { bookings, holds }: LetOut,
        trace: &mut TraceWriter<P>,
    ) -> Result<(), E> {
        let bookings = bookings.iter().map(|booking| self.booking_slice(booking)).collect();
        let lanes = trace.put_slices(pid, lanes, "bookings", bookings)?;
        trace.put_slices(pid, lanes, "holds", holds.iter().map(|hold| self.hold_slice(hold)).collect())?;
        Ok(())
    }

    /// A slice for the time of a booking, or for its time so far.
    fn booking_slice(&self, booking: &BookingSpan) -> Slice {
        let BookingSpan { user, job, from, until, procs, used, was_held, is_revoked, .. } = *booking;
        let used = used.map_or(r#","open":"when the log ended""#.to_owned(), |used| format!(r#","used":{used}"#));
        let held = if was_held { r#","held":"before""# } else { "" };
        let revoked = if is_revoked { r#","revoked":"as nodes failed""# } else { "" };
        let user = json(&self.names.of_actor(user));
        Slice {
            from,
            to: until,
            name: format!("booked for job {}", self.job_in_trace(job)),
            category: "booking",
            args: format!(r#""user":{user},"processors":{procs}{used}{held}{revoked}"#),
        }
    }

    /// A slice for the time in which it was held, which ends before the held part.
    fn hold_slice(&self, hold: &HoldSpan) -> Slice {
        let HoldSpan { user, hold, part, since, over, fate, .. } = *hold;
        let user = json(&self.names.of_actor(user));
        let start = part.start.micros();
        let lasts = part.span.micros();
        Slice {
            from: since,
            to: over,
            name: format!("hold {hold}"),
            category: "hold",
            args: format!(
                r#""user":{user},"processors":{},"start":{start},"lasts":{lasts},"fate":"{}""#,
                part.procs,
                fate.word()
            ),
        }
    }
}

/// Something with a beginning and an end; names and arguments as they stand in JSON.
pub(super) struct Slice {
    from: Time,
    to: Time,
    name: String,
    category: &'static str,
    args: String,
}

impl<P> TraceWriter<P> {
    /// Puts slices into lanes after these many; says how many there are then.
    fn put_slices<E>(&mut self, pid: usize, before: u32, what: &str, mut slices: Vec<Slice>) -> Result<u32, E>
    where
        P: FnMut(&[u8]) -> Result<(), E>,
    {
        slices.sort_by_key(|slice| (slice.from, slice.to));
        let mut lanes = Lanes::default();
        for Slice { from, to, name, category, args } in slices {
            let (lane, is_new) = lanes.take_lane(from, to);
            let tid = before + lane;
            if is_new {
                self.thread(pid, tid, &format!("{what}, lane {lane}"))?;
            }
            let ts = from.micros();
            let dur = to.since(from).micros();
            self.event(format_args!(
                r#"{{"ph":"X","pid":{pid},"tid":{tid},"ts":{ts},"dur":{dur},"name":"{name}","cat":"{category}","args":{{{args}}}}}"#
            ))?;
        }
        Ok(before + lanes.count())
    }
}
