//! Malleable requests: further shapes of a request, from a model of its speed-up.

use serde::Serialize;

use crate::grid::{JobShape, Request, SHAPES_MAX};
use crate::settings::units::MILLION;
use crate::settings::{Millionths, Unless, Walk, key};
use crate::time::Span;

/// Further shapes of requests. By Amdahl's law, a job with serial fraction `s` takes `s + (1 - s) / n` of its serial
/// time on `n` nodes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Malleability {
    /// Number of times that the nodes of a request may be halved, or doubled.
    pub steps: u32,
    /// Serial fraction of a job's work, in millionths.
    pub serial_millionths: u64,
}

/// Largest number of halvings: with as many doublings, and the shape of the request, the shapes are at most
/// [`SHAPES_MAX`].
pub const STEPS_MAX: u32 = (SHAPES_MAX as u32 - 1) / 2;

const MICROS_PER_SECOND: u64 = 1_000_000;

impl Malleability {
    pub fn is_none(&self) -> bool {
        *self == Malleability::default()
    }

    pub fn walk(&mut self, w: &mut dyn Walk) {
        let about = "how often the nodes of a request may be halved, or doubled up to `nodes`, each a further shape";
        w.set(key("malleable", about).usual("`0`"), &mut self.steps, Unless(0..=STEPS_MAX, 0));
        let about = "the fraction of the work of malleable jobs that more nodes do not speed up";
        let serial = Millionths::to(1);
        w.set(key("serial_fraction", about).usual("`0.0`"), &mut self.serial_millionths, Unless(serial, 0));
        let is_alone = w.lacks("malleable");
        if let Some(field) = w.written_fields().and_then(|fields| fields.get("serial_fraction")).filter(|_| is_alone) {
            field.complain("leave serial_fraction out: without malleable, requests have one shape");
        }
        // A sweep may set the one and vary the other.
        if w.reads() && self.steps == 0 {
            self.serial_millionths = 0;
        }
    }

    /// The shapes of a request with this run time: its own, and alternately half and twice its nodes, a quarter and
    /// four times, and so on, up to `widest` nodes. Halves are rounded up. The duration follows from the law, and the
    /// run time is the same share of it, both rounded up to whole seconds. Further shapes that another one beats, with
    /// fewer nodes and no longer duration, are left out. Empty if the request has one shape.
    pub fn shapes(&self, request: &Request, runtime: Span, widest: u32) -> Vec<JobShape> {
        let own = JobShape { nodes: request.nodes, duration: request.duration, runtime };
        if self.steps == 0 || own.nodes == 0 {
            return Vec::new();
        }
        let mut shapes = vec![own];
        for step in 1..=self.steps {
            let half = u64::from(own.nodes).div_ceil(1 << step) as u32;
            let wide = u32::try_from(u64::from(own.nodes) << step).ok().filter(|nodes| *nodes <= widest);
            for nodes in [Some(half), wide].into_iter().flatten() {
                if shapes.iter().all(|shape| shape.nodes != nodes) {
                    shapes.push(self.shape(&own, nodes));
                }
            }
        }
        let all = shapes.clone();
        shapes.retain(|shape| *shape == own || !all.iter().any(|by| is_beaten(by, shape)));
        if shapes.len() > 1 { shapes } else { Vec::new() }
    }

    fn shape(&self, own: &JobShape, nodes: u32) -> JobShape {
        // The time on n nodes is in proportion to (s n + 1 - s) / n.
        let over = self.serial_weight(nodes) * u128::from(own.nodes);
        let under = self.serial_weight(own.nodes) * u128::from(nodes);
        let duration = scale_span(own.duration, over, under);
        JobShape { nodes, duration, runtime: scale_span(own.runtime, over, under).min(duration) }
    }

    fn serial_weight(&self, nodes: u32) -> u128 {
        let serial = u128::from(self.serial_millionths);
        let million = u128::from(MILLION);
        serial * u128::from(nodes) + (million - serial)
    }
}

fn is_beaten(by: &JobShape, shape: &JobShape) -> bool {
    by.nodes < shape.nodes && by.duration <= shape.duration
}

fn scale_span(span: Span, over: u128, under: u128) -> Span {
    // What exceeds 128 bits is too long for any deadline.
    let seconds = u128::from(span.micros()).saturating_mul(over).div_ceil(under * u128::from(MICROS_PER_SECOND));
    Span::from_micros(u64::try_from(seconds.saturating_mul(MICROS_PER_SECOND.into())).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::Time;

    fn shapes(steps: u32, serial_millionths: u64, nodes: u32, widest: u32) -> Vec<(u32, u64, u64)> {
        let arrive = Time::ZERO;
        let duration = Span::from_secs(1_200);
        let request = Request { arrive, ready: arrive, duration, deadline: arrive + duration, nodes };
        let shapes = Malleability { steps, serial_millionths }.shapes(&request, Span::from_secs(600), widest);
        let seconds = |span: Span| span.micros() / MICROS_PER_SECOND;
        shapes.iter().map(|shape| (shape.nodes, seconds(shape.duration), seconds(shape.runtime))).collect()
    }

    #[test]
    fn shapes_follow_from_the_speed_up() {
        // Perfect: the node time stays.
        let perfect = [(8, 1_200, 600), (4, 2_400, 1_200), (16, 600, 300), (2, 4_800, 2_400)];
        assert_eq!(shapes(2, 0, 8, 16), perfect);
        // A fifth is serial: on 8, 4 and 16 nodes it takes .3, .4 and .25 of the serial time.
        assert_eq!(shapes(1, 200_000, 8, 16), [(8, 1_200, 600), (4, 1_600, 800), (16, 1_000, 500)]);
        // All of it is serial: more nodes are of no use, and the least are the best.
        assert_eq!(shapes(1, 1_000_000, 8, 16), [(8, 1_200, 600), (4, 1_200, 600)]);
        assert_eq!(shapes(2, 1_000_000, 8, 32), [(8, 1_200, 600), (2, 1_200, 600)]);
        assert_eq!(shapes(2, 1_000_000, 1, 32), []);
        // Halves are rounded up, and one node cannot be halved.
        assert_eq!(shapes(2, 0, 3, 3), [(3, 1_200, 600), (2, 1_800, 900), (1, 3_600, 1_800)]);
        assert_eq!(shapes(3, 0, 1, 1), []);
        assert_eq!(shapes(0, 0, 8, 16), []);
        assert_eq!(shapes(STEPS_MAX, 0, 1 << 10, 1 << 20).len(), SHAPES_MAX - 1);
    }
}
