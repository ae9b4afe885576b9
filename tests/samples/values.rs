//! Which values tensors hold.

use super::oracle::{Kind, OType, OValue};
use super::rng::Rng;

/// A supply of values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Data {
    /// Small finite values of both signs, and zeros.
    Any,
    /// Finite values above zero, and few others.
    Positive,
    /// Small counts.
    Small,
    /// Those of `Any`, and NaN, infinities, -0 and the ends of the range.
    Special,
    /// As `Special`, but sums of floats do not overflow.
    Summable,
    /// Finite values of all significant bits, none of them zero, some far smaller than the rest.
    Uneven,
}

const INTS: [i128; 12] = [0, 1, -1, 2, -2, 3, -3, 5, 6, -7, 8, 10];
const COUNTS: [i128; 5] = [0, 1, 2, 3, 5];
const FLOATS: [f64; 14] = [0.0, 1.0, -1.0, 0.5, -0.5, 0.25, -0.75, 1.5, 2.0, -2.5, 3.0, 3.25, -4.0, 7.0];
const SPECIAL: [f64; 10] =
    [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0, f64::MAX, f64::MIN, 1e30, 1e-30, 5e-324, -1e-3];
const SUMMABLE: [f64; 6] = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0, 1024.0, -2048.0];

/// A value of that dtype.
pub fn value(rng: &mut Rng, dtype: OType, data: Data) -> OValue {
    match dtype.kind() {
        Kind::Bool => OValue::Bool(rng.one_in(2)),
        Kind::Signed | Kind::Unsigned => OValue::Int(integer(rng, dtype, data)),
        Kind::Float => OValue::Float(float(rng, dtype, data)),
        Kind::Complex => {
            let re = float(rng, dtype, data);
            let im = if rng.one_in(4) { 0.0 } else { float(rng, dtype, data) };
            OValue::Complex(re, im)
        }
    }
}

fn integer(rng: &mut Rng, dtype: OType, data: Data) -> i128 {
    if matches!(data, Data::Special | Data::Summable) && rng.one_in(3) {
        return *rng.pick(&[dtype.int_min(), dtype.int_max(), dtype.int_min() + 1, dtype.int_max() - 1]);
    }
    let v = *rng.pick(if data == Data::Small { &COUNTS } else { &INTS });
    // A negative value now and then shows what happens outside the domain.
    let v = if data == Data::Positive && rng.one_in(8) { v } else { signed(v, data, v.abs()) };
    if dtype.kind() == Kind::Unsigned { v.abs() } else { v }
}

fn float(rng: &mut Rng, dtype: OType, data: Data) -> f64 {
    if data == Data::Special && rng.one_in(2) {
        return dtype.real().round(*rng.pick(&SPECIAL));
    }
    if data == Data::Summable && rng.one_in(4) {
        return *rng.pick(&SUMMABLE);
    }
    if data == Data::Small {
        return *rng.pick(&COUNTS) as f64;
    }
    if data == Data::Uneven {
        let far = match dtype.real() {
            OType::F16 => 12,
            OType::F64 => 18,
            _ => 30,
        };
        let size = (1.0 + (rng.next() >> 12) as f64 / (1u64 << 52) as f64) * 2f64.powi(*rng.pick(&[0, 0, -1, -far]));
        return dtype.real().round(if rng.one_in(2) { size } else { -size });
    }
    let x = *rng.pick(&FLOATS);
    if data == Data::Positive && rng.one_in(8) { x } else { signed(x, data, x.abs()) }
}

fn signed<T>(any: T, data: Data, absolute: T) -> T {
    if data == Data::Positive { absolute } else { any }
}

/// Two values whose sum in the dtype is `v`, bit for bit (bool: whose or is `v`).
pub fn split(rng: &mut Rng, dtype: OType, v: OValue) -> [OValue; 2] {
    let wanted = match v {
        OValue::Bool(b) => return if rng.one_in(2) { [v, v] } else { [OValue::Bool(false), OValue::Bool(b)] },
        OValue::Int(v) => {
            let a = i128::from(rng.below(5) as u8);
            return [OValue::Int(a), OValue::Int(dtype.wrap(v - a))];
        }
        OValue::Float(x) => [x, 0.0],
        OValue::Complex(re, im) => [re, im],
    };
    let a = *rng.pick(&[1.0, 2.0, -0.5, -1.0]);
    let part = |x: f64| {
        let rest = dtype.round(x - a);
        // Zeros keep their sign, and NaN and infinities come from one of the two.
        if x.is_finite() && x != 0.0 && dtype.round(rest + a) == x { [a, rest] } else { [x, -0.0] }
    };
    match v {
        OValue::Float(x) => part(x).map(OValue::Float),
        _ => {
            let ([a, b], [c, d]) = (part(wanted[0]), part(wanted[1]));
            [OValue::Complex(a, c), OValue::Complex(b, d)]
        }
    }
}
