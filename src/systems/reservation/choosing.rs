//! The choice of a site and of a shape for a request.
//!
//! Each shape is searched for like a request of its own, at one site or at all of them, so the policy finds the start
//! that it prefers for each. Among these offers, a rule chooses ([`ShapeRule`]). A shape that is too wide for a site,
//! or too long for the deadline, has no offer there.

use super::book::Offer;
use super::meta::{MetaScheduler, OfferKey};
use super::rules::{Choose, ShapeRule};
use super::shapes::{RefusedShape, ShapedOffer, Wish};
use crate::grid::{Request, Staging};
use crate::time::Time;

impl MetaScheduler {
    /// An offer of a cluster for a shape that it has not refused.
    pub(super) fn find(
        &mut self,
        now: Time,
        wish: &Wish,
        staging: Option<Staging>,
        refused: &[RefusedShape],
    ) -> Option<ShapedOffer> {
        match self.choose {
            Choose::First => {
                (0..self.clusters.len()).find_map(|number| self.find_at(number, now, wish, staging, refused))
            }
            Choose::Global => self.best_shape(wish, |meta, shape, request| {
                meta.find_best(now, request, staging, |number| refused.contains(&(number, shape)))
            }),
        }
    }

    /// An offer of one cluster for a shape that it has not refused.
    pub(super) fn find_at(
        &mut self,
        number: usize,
        now: Time,
        wish: &Wish,
        staging: Option<Staging>,
        refused: &[RefusedShape],
    ) -> Option<ShapedOffer> {
        self.best_shape(wish, |meta, shape, request| {
            if refused.contains(&(number, shape)) {
                return None;
            }
            Some((number, meta.ask(number, now, staging, request)?))
        })
    }

    /// The best of the offers that `find` returns for the shapes, the earlier listed one of equals. Costs as much as
    /// these searches.
    fn best_shape(
        &mut self,
        wish: &Wish,
        mut find: impl FnMut(&mut MetaScheduler, usize, &Request) -> Option<(usize, Offer)>,
    ) -> Option<ShapedOffer> {
        let mut best: Option<([i128; 4], ShapedOffer)> = None;
        for shape in wish.open() {
            let request = wish.shaped(shape);
            let Some((cluster, offer)) = find(self, shape, &request) else { continue };
            let key =
                self.shape_rule.key(self.clusters[cluster].key(offer.rank, offer.start, &request, cluster), &request);
            if best.as_ref().is_none_or(|(least, _)| key < *least) {
                best = Some((key, ShapedOffer { cluster, shape, offer }));
            }
        }
        best.map(|(_, found)| found)
    }
}

impl ShapeRule {
    /// Order of the offers for several shapes; the smallest wins.
    fn key(self, (rank, end, start, _): OfferKey, request: &Request) -> [i128; 4] {
        let [end, start] = [end, start].map(|time| i128::from(time.micros()));
        let (nodes, area) = (i128::from(request.nodes), i128::from(request.area().micros()));
        match self {
            ShapeRule::Policy => [rank, end, 0, 0],
            ShapeRule::Listed => [0; 4],
            ShapeRule::Finish => [end, area, start, nodes],
            ShapeRule::Thrifty => [area, end, start, nodes],
        }
    }
}
