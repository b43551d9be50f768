//! The choice of an external program among the candidates for a request.
//!
//! A fit policy ranks the candidates of one site and one shape. A program sees all of those that it has to choose from
//! at once: those of a site, or under [`super::Choose::Global`] of all sites, in one shape, or under
//! [`super::ShapeRule::Policy`] in all shapes.

use super::book::Offer;
use super::shapes::ShapedOffer;
use crate::protocol::outside::allocator::{Allocation, AllocationQuery, CandidateStart};
use crate::roles::outside::CheckedProgram;
use crate::settings::format_counted;
use crate::time::Time;

/// Connection to a program that chooses among candidates.
pub trait Allocates: CheckedProgram {
    /// The choice for a request; None if it is to have none of the candidates, or once the program has failed.
    fn choose_candidate(&mut self, now: Time, query: &AllocationQuery) -> Option<Allocation>;
}

/// The offer that an allocation makes of a candidate, or the reason why it is impossible.
pub(super) fn shape_offer(query: &AllocationQuery, allocation: &Allocation) -> Result<ShapedOffer, String> {
    let job = query.job.0;
    let count = query.candidates.len();
    let Allocation { candidate: number, nodes } = allocation;
    let candidate = query.candidates.get(*number).ok_or_else(|| {
        let there_are = format_counted(count as u64, "candidate");
        format!("chooses candidate {number} for job {job}, which has {there_are} (expected 0 to {} or null)", count - 1)
    })?;
    let &CandidateStart { site: cluster, shape, start, ref free, .. } = candidate;
    let width = query.shapes[shape].nodes;
    let nodes = match nodes {
        None => free.lowest(width).expect("a candidate is wide enough"),
        Some(nodes) if nodes.len() != width => {
            let given = format_counted(nodes.len().into(), "node");
            let wanted = format_counted(width.into(), "node");
            return Err(format!("gives job {job} {given} ({nodes}) at candidate {number} (expected {wanted})"));
        }
        Some(nodes) if !free.contains(nodes) => {
            let mut taken = nodes.clone();
            taken.subtract(free);
            return Err(format!(
                "gives job {job} the nodes {nodes} at candidate {number}, where {taken} are not free (expected {wanted} of \
                 {free})",
                wanted = format_counted(width.into(), "node")
            ));
        }
        Some(nodes) => nodes.clone(),
    };
    Ok(ShapedOffer { cluster, shape, offer: Offer { start, nodes, rank: 0 } })
}
