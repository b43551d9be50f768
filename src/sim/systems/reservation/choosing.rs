//! The choice of a site and of a shape for a request.
//!
//! Each shape is searched for like a request of its own, at one site or at all of them, so the policy finds the start
//! that it prefers for each. Among these offers, a rule chooses ([`ShapeRule`]). A shape that is too wide for a site,
//! or too long for the deadline, has no offer there.

use std::ops::Range;

use super::allocating::shape_offer;
use super::book::Offer;
use super::meta::{MetaScheduler, OfferKey};
use super::rules::{Choose, ShapeRule};
use super::shapes::{RefusedShape, ShapedOffer, WantedJob};
use crate::grid::{Request, Staging};
use crate::protocol::outside::allocator::{AllocationQuery, CandidateStart};
use crate::time::Time;

impl MetaScheduler {
    /// An offer of a cluster for a shape that it has not refused.
    pub(super) fn find(
        &mut self,
        now: Time,
        wanted: &WantedJob,
        staging: Option<Staging>,
        refused: &[RefusedShape],
    ) -> Option<ShapedOffer> {
        match self.choose {
            Choose::First => {
                (0..self.clusters.len()).find_map(|number| self.find_at(number, now, wanted, staging, refused))
            }
            Choose::Global => self.find_among(0..self.clusters.len(), now, wanted, staging, refused),
        }
    }

    /// An offer of one cluster for a shape that it has not refused.
    pub(super) fn find_at(
        &mut self,
        number: usize,
        now: Time,
        wanted: &WantedJob,
        staging: Option<Staging>,
        refused: &[RefusedShape],
    ) -> Option<ShapedOffer> {
        self.find_among(number..number + 1, now, wanted, staging, refused)
    }

    /// An offer of one of these clusters for a shape that it has not refused.
    fn find_among(
        &mut self,
        clusters: Range<usize>,
        now: Time,
        wanted: &WantedJob,
        staging: Option<Staging>,
        refused: &[RefusedShape],
    ) -> Option<ShapedOffer> {
        let open = |shape| clusters.clone().filter(move |number| !refused.contains(&(*number, shape)));
        if self.allocator.is_none() {
            return self.best_shape(wanted, |meta, shape| {
                let open: Vec<usize> = open(shape).collect();
                match open[..] {
                    [only] => {
                        Some((only, meta.find_offer(only, now, staging, (wanted, shape), &wanted.shaped(shape))?))
                    }
                    _ => meta.find_best(now, staging, (wanted, shape), &open),
                }
            });
        }
        let searches = |shape| open(shape).map(move |number| ((number, shape), wanted.shaped(shape)));
        if self.shape_rule == ShapeRule::Policy {
            // The program compares all shapes.
            let searches: Vec<_> = wanted.open().flat_map(searches).collect();
            return self.allocate(now, staging, wanted, &searches);
        }
        self.best_shape(wanted, |meta, shape| {
            let found = meta.allocate(now, staging, wanted, &searches(shape).collect::<Vec<_>>())?;
            Some((found.cluster, found.offer))
        })
    }

    /// The choice of the external program among all candidates of these searches, which are for one request. Costs the
    /// search for each, and O(records) per candidate for its free nodes.
    pub(super) fn allocate(
        &mut self,
        now: Time,
        staging: Option<Staging>,
        wanted: &WantedJob,
        searches: &[(RefusedShape, Request)],
    ) -> Option<ShapedOffer> {
        let (_, Request { arrive, ready, deadline, .. }) = *searches.first()?;
        let mut candidates = Vec::new();
        for &((site, shape), ref request) in searches {
            let (soonest, there) = self.at_site(site, now, staging, request);
            self.clusters[site].book.candidates(soonest, &there, |rectangle, free| {
                let start = rectangle.start;
                let free_from = rectangle.begin;
                let free_until = rectangle.end;
                let end = start + there.duration;
                candidates.push(CandidateStart { site, shape, start, end, free, free_from, free_until });
            });
        }
        let allocator = self.allocator.as_mut().filter(|allocator| !allocator.has_failed())?;
        if candidates.is_empty() {
            return None;
        }
        candidates.sort_by_key(|candidate| (candidate.shape, candidate.start, candidate.site));
        let job = wanted.job();
        let shapes = wanted.shapes().to_vec();
        let query = AllocationQuery { job, submitted: arrive, ready, deadline, shapes, candidates };
        let allocation = allocator.choose_candidate(now, &query)?;
        shape_offer(&query, &allocation).map_err(|why| allocator.refuse_answer(now, &why)).ok()
    }

    /// The best of the offers that `find` returns for the shapes, the earlier listed one of equals. Costs as much as
    /// these searches; with [`ShapeRule::Listed`], those up to the first offer.
    fn best_shape(
        &mut self,
        wanted: &WantedJob,
        mut find: impl FnMut(&mut MetaScheduler, usize) -> Option<(usize, Offer)>,
    ) -> Option<ShapedOffer> {
        let mut best: Option<([i128; 4], ShapedOffer)> = None;
        for shape in wanted.open() {
            let request = wanted.shaped(shape);
            let Some((cluster, offer)) = find(self, shape) else { continue };
            let key =
                self.shape_rule.key(self.clusters[cluster].key(offer.rank, offer.start, &request, cluster), &request);
            if best.as_ref().is_none_or(|(least, _)| key < *least) {
                best = Some((key, ShapedOffer { cluster, shape, offer }));
            }
            if self.shape_rule == ShapeRule::Listed {
                break;
            }
        }
        best.map(|(_, found)| found)
    }
}

impl ShapeRule {
    /// Order of the offers for several shapes; the smallest wins.
    fn key(self, (rank, end, start, _): OfferKey, request: &Request) -> [i128; 4] {
        let [end, start] = [end, start].map(|time| i128::from(time.micros()));
        let nodes = i128::from(request.nodes);
        let area = i128::from(request.area().micros());
        match self {
            ShapeRule::Policy => [rank, end, 0, 0],
            ShapeRule::Listed => [0; 4],
            ShapeRule::Finish => [end, area, start, nodes],
            ShapeRule::Thrifty => [area, end, start, nodes],
        }
    }
}
