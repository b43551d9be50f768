//! Value curves: value of a result by its age, in multiples of the job's critical path (SLR).

use std::fmt;

use serde::{Deserialize, Serialize, Serializer};

/// A checked, non-increasing curve from 1 at the initial deadline to 0 at the final one.
///
/// It is serialised as deadlines and points, and checked again on arrival.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(try_from = "PlainCurve")]
pub struct Curve {
    vertices: Vec<Vertex>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Vertex {
    slr: f64,
    value: f64,
    /// Area under the curve from here to the final deadline.
    area: f64,
}

/// Error in a curve, with its location.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum CurveError {
    #[error("{0} is not a finite number, or too large")]
    NonFinite(CurvePart),
    #[error("the deadlines must rise from above 0: initial {initial}, final {final_}")]
    BadDeadlines { initial: f64, final_: f64 },
    #[error("point {point} ({slr}, {value}) lies outside of [{initial}, {final_}] x [0, 1]")]
    OutOfRange { point: usize, slr: f64, value: f64, initial: f64, final_: f64 },
    #[error("point {point} is at {slr}, before the previous point at {before}")]
    Unsorted { point: usize, slr: f64, before: f64 },
    #[error("point {point} has the value {value}, above the {before} of the previous point")]
    Increasing { point: usize, value: f64, before: f64 },
}

/// A part of a curve as its author wrote it; points count from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CurvePart {
    Initial,
    Final,
    Point(usize),
}

impl Curve {
    /// A curve that is 1 until `initial`, goes through the points `(slr, value)` and is 0 from `final_` on.
    pub fn new(initial: f64, final_: f64, points: &[(f64, f64)]) -> Result<Curve, CurveError> {
        check_points(initial, final_, points)?;

        // Adding a zero turns the negative one into the other.
        let inner = points.iter().map(|&(slr, value)| (slr, value + 0.0));
        let all = std::iter::once((initial, 1.0)).chain(inner).chain(std::iter::once((final_, 0.0)));
        let mut vertices: Vec<Vertex> = all.map(|(slr, value)| Vertex { slr, value, area: 0.0 }).collect();
        for left in (0..vertices.len() - 1).rev() {
            let here = vertices[left];
            let next = vertices[left + 1];
            vertices[left].area = next.area + (next.slr - here.slr) * (here.value + next.value) / 2.0;
        }
        Ok(Curve { vertices })
    }

    /// Initial deadline: the age up to which the value is full.
    pub fn initial(&self) -> f64 {
        self.vertices[0].slr
    }

    /// Final deadline: the age from which the value is zero.
    pub fn final_(&self) -> f64 {
        self.last().slr
    }

    /// Points `(slr, value)` between the two deadlines.
    pub fn points(&self) -> impl Iterator<Item = (f64, f64)> + '_ {
        self.vertices[1..self.vertices.len() - 1].iter().map(|vertex| (vertex.slr, vertex.value))
    }

    /// Fraction of the full value at an age.
    pub fn factor(&self, slr: f64) -> f64 {
        if slr <= self.initial() {
            1.0
        } else if slr >= self.final_() {
            0.0
        } else {
            self.between(slr).0
        }
    }

    /// Last age with at least this fraction of the full value.
    pub fn last_at(&self, share: f64) -> f64 {
        let ahead = self.vertices.partition_point(|vertex| vertex.value >= share);
        let Some(high) = self.vertices.get(ahead) else { return self.final_() };
        let Some(low) = ahead.checked_sub(1).map(|low| &self.vertices[low]) else { return self.initial() };
        low.slr + (low.value - share) / (low.value - high.value) * (high.slr - low.slr)
    }

    /// Area under the curve from this age on.
    pub fn remaining(&self, slr: f64) -> f64 {
        if slr >= self.final_() {
            0.0
        } else if slr <= self.initial() {
            (self.initial() - slr) + self.vertices[0].area
        } else {
            let (factor, next) = self.between(slr);
            (next.slr - slr) * (factor + next.value) / 2.0 + next.area
        }
    }

    /// Fraction strictly between the deadlines, and the vertex ahead. The last of several vertices at one age counts.
    ///
    /// Rounding must not take the line below its end, or the fraction would rise there by a tiny amount.
    fn between(&self, slr: f64) -> (f64, &Vertex) {
        let ahead = self.vertices.partition_point(|vertex| vertex.slr <= slr);
        let low = &self.vertices[ahead - 1];
        let high = &self.vertices[ahead];
        let factor = low.value + (slr - low.slr) / (high.slr - low.slr) * (high.value - low.value);
        (factor.max(high.value), high)
    }

    fn last(&self) -> &Vertex {
        self.vertices.last().expect("a curve has at least its two deadlines")
    }
}

fn check_points(initial: f64, final_: f64, points: &[(f64, f64)]) -> Result<(), CurveError> {
    for (number, part) in [(initial, CurvePart::Initial), (final_, CurvePart::Final)] {
        // Areas are sums of two heights times a width, so twice the curve's width must be a number too.
        if !(2.0 * number).is_finite() {
            return Err(CurveError::NonFinite(part));
        }
    }
    if let Some(at) = points.iter().position(|(slr, value)| !slr.is_finite() || !value.is_finite()) {
        return Err(CurveError::NonFinite(CurvePart::Point(at + 1)));
    }
    if !(0.0 < initial && initial < final_) {
        return Err(CurveError::BadDeadlines { initial, final_ });
    }

    let mut ahead = (initial, 1.0);
    for (at, &(slr, value)) in points.iter().enumerate() {
        let point = at + 1;
        if !(initial..=final_).contains(&slr) || !(0.0..=1.0).contains(&value) {
            return Err(CurveError::OutOfRange { point, slr, value, initial, final_ });
        }
        if slr < ahead.0 {
            return Err(CurveError::Unsorted { point, slr, before: ahead.0 });
        }
        if value > ahead.1 {
            return Err(CurveError::Increasing { point, value, before: ahead.1 });
        }
        ahead = (slr, value);
    }
    Ok(())
}

impl fmt::Display for CurvePart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CurvePart::Initial => f.write_str("the initial deadline"),
            CurvePart::Final => f.write_str("the final deadline"),
            CurvePart::Point(number) => write!(f, "point {number}"),
        }
    }
}

/// Serialised form of a curve.
#[derive(Serialize, Deserialize)]
#[serde(rename = "Curve")]
struct PlainCurve {
    initial: f64,
    #[serde(rename = "final")]
    final_: f64,
    points: Vec<(f64, f64)>,
}

impl TryFrom<PlainCurve> for Curve {
    type Error = CurveError;

    fn try_from(plain: PlainCurve) -> Result<Curve, CurveError> {
        Curve::new(plain.initial, plain.final_, &plain.points)
    }
}

impl Serialize for Curve {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        PlainCurve { initial: self.initial(), final_: self.final_(), points: self.points().collect() }
            .serialize(serializer)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::protocol::codec;

    #[test]
    fn curves_interpolate_on_the_segment_of_the_age() {
        let curve = Curve::new(2.0, 6.0, &[(3.0, 0.8), (5.0, 0.4)]).unwrap();
        for (slr, factor) in [(0.0, 1.0), (2.0, 1.0), (2.5, 0.9), (4.0, 0.6), (5.5, 0.2), (6.0, 0.0), (9.0, 0.0)] {
            assert!((curve.factor(slr) - factor).abs() < 1e-12, "factor({slr}) = {}", curve.factor(slr));
        }
        for (slr, area) in [(1.0, 3.3), (2.0, 2.3), (2.5, 1.825), (3.0, 1.4), (4.0, 0.7), (5.5, 0.05), (6.0, 0.0)] {
            assert!((curve.remaining(slr) - area).abs() < 1e-12, "remaining({slr}) = {}", curve.remaining(slr));
        }
    }

    #[test]
    fn steps_hold_the_lower_value() {
        let step = Curve::new(2.0, 6.0, &[(3.0, 0.8), (3.0, 0.2), (6.0, 0.1)]).unwrap();
        assert_eq!((step.factor(3.0), step.factor(6.0)), (0.2, 0.0));
        assert!(step.factor(5.999_999) > 0.1);

        let at_once = Curve::new(2.0, 6.0, &[(2.0, 0.5)]).unwrap();
        assert_eq!(at_once.factor(2.0), 1.0);
        assert!(at_once.factor(2.000_001) < 0.5);
        assert_eq!(Curve::new(1.0, 3.0, &[]).unwrap().factor(2.0), 0.5);
        assert_eq!(Curve::new(1.0, 3.0, &[(2.0, -0.0)]).unwrap().factor(2.0).to_bits(), 0.0f64.to_bits());
    }

    #[test]
    fn every_fault_is_reported_with_its_location() {
        let texts = [
            Curve::new(f64::NAN, 6.0, &[]),
            Curve::new(2.0, 6.0, &[(3.0, 1.0), (3.0, f64::INFINITY)]),
            Curve::new(1.0, 1e308, &[]),
            Curve::new(6.0, 6.0, &[]),
            Curve::new(-0.0, 6.0, &[]),
            Curve::new(2.0, 6.0, &[(3.0, 0.5), (7.0, 0.5)]),
            Curve::new(2.0, 6.0, &[(3.0, 1.5)]),
            Curve::new(2.0, 6.0, &[(4.0, 0.5), (3.0, 0.5)]),
            Curve::new(2.0, 6.0, &[(3.0, 0.5), (4.0, 0.6)]),
        ]
        .map(|result| result.unwrap_err().to_string());
        assert_eq!(
            texts,
            [
                "the initial deadline is not a finite number, or too large",
                "point 2 is not a finite number, or too large",
                "the final deadline is not a finite number, or too large",
                "the deadlines must rise from above 0: initial 6, final 6",
                "the deadlines must rise from above 0: initial -0, final 6",
                "point 2 (7, 0.5) lies outside of [2, 6] x [0, 1]",
                "point 1 (3, 1.5) lies outside of [2, 6] x [0, 1]",
                "point 2 is at 3, before the previous point at 4",
                "point 2 has the value 0.6, above the 0.5 of the previous point",
            ]
        );
    }

    #[test]
    fn deserialised_curves_are_checked() {
        let curve = Curve::new(2.0, 6.0, &[(3.0, 0.8)]).unwrap();
        let mut bytes = Vec::new();
        codec::encode_frame(&curve, &mut bytes).unwrap();
        assert_eq!(codec::decode_frame::<Curve>(&bytes).unwrap(), curve);

        let mut bytes = Vec::new();
        codec::encode_frame(&PlainCurve { initial: 6.0, final_: 2.0, points: vec![] }, &mut bytes).unwrap();
        assert!(codec::decode_frame::<Curve>(&bytes).is_err());
        assert_eq!(
            serde_json::from_str::<Curve>(r#"{"initial": 2, "final": 6, "points": [[3, 0.8]]}"#).unwrap(),
            curve
        );
    }

    proptest! {
        /// An accepted curve never rises, and its remaining area is the area below it.
        #[test]
        fn curves_never_rise(
            points in prop::collection::vec((2.0f64..6.0, 0.0f64..=1.0), 0..6),
            mut ages in prop::collection::vec(0.0f64..7.0, 1..40),
        ) {
            let mut times: Vec<f64> = points.iter().map(|point| point.0).collect();
            let mut values: Vec<f64> = points.iter().map(|point| point.1).collect();
            times.sort_by(f64::total_cmp);
            values.sort_by(|a, b| b.total_cmp(a));
            let points: Vec<(f64, f64)> = times.into_iter().zip(values).collect();
            let curve = Curve::new(2.0, 6.0, &points).unwrap();
            ages.sort_by(f64::total_cmp);
            for pair in ages.windows(2) {
                let young = pair[0];
                let old = pair[1];
                prop_assert!(curve.factor(old) <= curve.factor(young));
                let lost = curve.remaining(young) - curve.remaining(old);
                let width = old - young;
                prop_assert!(lost <= width * curve.factor(young) + 1e-12);
                prop_assert!(lost >= width * curve.factor(old) - 1e-12);
            }
        }
    }
}
