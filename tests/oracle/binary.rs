//! Binary ops on two elements, with promotion and broadcasting.

use super::OValue::{self, Bool, Complex, Float, Int};
use super::arithmetic::{on_bool, on_complex, on_float, on_int};
use super::complex;
use super::unary::narrow;
use super::{Expected, OType, Oracle, Refused, broadcast_shapes, is_wild, promote, ulps, ulps_at};

/// Every binary op by name.
pub const BINARY: [&str; 35] = [
    "add",
    "sub",
    "mul",
    "div",
    "floor_divide",
    "remainder",
    "pow",
    "maximum",
    "minimum",
    "atan2",
    "hypot",
    "copysign",
    "eq",
    "ne",
    "lt",
    "le",
    "gt",
    "ge",
    "logical_and",
    "logical_or",
    "logical_xor",
    "bitwise_and",
    "bitwise_or",
    "bitwise_xor",
    "bitwise_left_shift",
    "bitwise_right_shift",
    "fmod",
    "gcd",
    "lcm",
    "fmax",
    "fmin",
    "nextafter",
    "logaddexp",
    "xlogy",
    "heaviside",
];

/// The dtype of the result. Operands are promoted first, whatever the op; `div` and the float
/// functions turn bool and integers into floats; comparisons and logic give bool.
pub fn binary_dtype(op: &str, a: OType, b: OType) -> Result<OType, Refused> {
    let common = promote(a, b).ok_or(Refused::Promotion)?;
    on_common(op, common).ok_or(Refused::Dtype)
}

/// The dtype of the result on operands of one dtype; `None` where the op is not defined.
fn on_common(op: &str, dtype: OType) -> Option<OType> {
    let (is_bool, is_complex) = (dtype.is_bool(), dtype.is_complex());
    let (defined, out) = match op {
        "add" | "mul" => (true, dtype),
        "sub" | "pow" => (!is_bool, dtype),
        "div" => (true, dtype.floating()),
        "floor_divide" | "remainder" | "fmod" => (!is_bool && !is_complex, dtype),
        "maximum" | "minimum" | "fmax" | "fmin" | "heaviside" => (!is_complex, dtype),
        "atan2" | "hypot" | "copysign" | "nextafter" | "logaddexp" | "xlogy" => (!is_complex, dtype.floating()),
        "lt" | "le" | "gt" | "ge" => (!is_complex, OType::Bool),
        "eq" | "ne" | "logical_and" | "logical_or" | "logical_xor" => (true, OType::Bool),
        "bitwise_and" | "bitwise_or" | "bitwise_xor" => (is_bool || dtype.is_int(), dtype),
        "bitwise_left_shift" | "bitwise_right_shift" | "gcd" | "lcm" => (dtype.is_int(), dtype),
        _ => panic!("no binary op is called {op}"),
    };
    defined.then_some(out)
}

/// The op on every pair of elements after broadcasting; absent where either operand is.
pub fn binary(op: &str, a: &Oracle, b: &Oracle) -> Result<Expected, Refused> {
    let dtype = binary_dtype(op, a.dtype, b.dtype)?;
    let common = promote(a.dtype, b.dtype).ok_or(Refused::Promotion)?;
    let shape = broadcast_shapes(&a.shape, &b.shape)?;
    let (wide_a, wide_b) = (a.broadcast_to(&shape)?, b.broadcast_to(&shape)?);

    let mut data = Vec::new();
    let mut slack = Vec::new();
    for pair in wide_a.data.into_iter().zip(wide_b.data) {
        let (Some(a), Some(b)) = pair else {
            data.push(None);
            slack.push(0.0);
            continue;
        };
        let (a, b) = (a.cast(common), b.cast(common));
        let value = apply(op, common, a, b);
        data.push(Some(value));
        let ulps = ulps(op, common) + extra_ulps(op, a, b, value);
        slack.push(if ulps > 0.0 && dtype.is_complex() && is_wild(dtype, &[a, b, value]) {
            f64::INFINITY
        } else {
            ulps_at(ulps, dtype, value)
        });
    }
    let undefined = a.undefined || b.undefined;
    let value = Oracle { shape, dtype, data, undefined };
    Ok(Expected { slack, ..Expected::from(value) })
}

/// A complex power is exp(b log a): a relative error of b log a becomes an absolute one. logaddexp is its
/// greater operand and a logarithm, which may cancel.
fn extra_ulps(op: &str, a: OValue, b: OValue, answer: OValue) -> f64 {
    match (op, a, b) {
        ("logaddexp", Float(a), Float(b)) => {
            let ratio = a.max(b).abs() / answer.parts().0.abs();
            if ratio.is_finite() { 4.0 * ratio } else { 0.0 }
        }
        ("pow", Complex(ar, ai), Complex(br, bi)) if (ar, ai) != (0.0, 0.0) => {
            let size = complex::modulus(complex::mul((br, bi), complex::log((ar, ai))));
            if size.is_finite() { 4.0 * size } else { 0.0 }
        }
        _ => 0.0,
    }
}

/// The op on two values of one dtype that it is defined on.
fn apply(op: &str, dtype: OType, a: OValue, b: OValue) -> OValue {
    match op {
        "eq" => return Bool(a == b),
        "ne" => return Bool(a != b),
        "logical_and" => return Bool(a.truth() && b.truth()),
        "logical_or" => return Bool(a.truth() || b.truth()),
        "logical_xor" => return Bool(a.truth() != b.truth()),
        "lt" => return Bool(less(a, b)),
        "gt" => return Bool(less(b, a)),
        "le" => return Bool(less(a, b) || a == b),
        "ge" => return Bool(less(b, a) || a == b),
        _ => {}
    }
    let out = on_common(op, dtype).expect("the caller has asked");
    // A float function of bool or integers is that of their casts to a float.
    let (a, b) = if out.is_float() { (a.cast(out), b.cast(out)) } else { (a, b) };
    match (a, b) {
        (Bool(a), Bool(b)) => Bool(on_bool(op, a, b)),
        (Int(a), Int(b)) => Int(dtype.wrap(on_int(op, dtype, a, b))),
        (Float(a), Float(b)) => Float(narrow(out, on_float(op, out, a, b))),
        (Complex(a, b), Complex(c, d)) => {
            let (re, im) = on_complex(op, (a, b), (c, d));
            Complex(out.round(re), out.round(im))
        }
        _ => panic!("operands of different kinds"),
    }
}

/// false < true; nothing is less than NaN, nor NaN than anything.
fn less(a: OValue, b: OValue) -> bool {
    match (a, b) {
        (Bool(a), Bool(b)) => !a && b,
        (Int(a), Int(b)) => a < b,
        (Float(a), Float(b)) => a < b,
        _ => panic!("order of {a:?} and {b:?}"),
    }
}

#[cfg(test)]
mod tests {
    use super::OType::{BF16, Complex64, F16, F32, F64, I8, I32, I64, U8, U32, U64};
    use super::*;

    fn on(op: &str, dtype: OType, a: OValue, b: OValue) -> OValue {
        let (a, b) = (Oracle::scalar(dtype, Some(a)), Oracle::scalar(dtype, Some(b)));
        binary(op, &a, &b).unwrap().value.data[0].unwrap()
    }

    #[test]
    fn every_op_on_every_pair_gives_its_dtype_or_refuses() {
        for op in BINARY {
            for a in OType::ALL {
                for b in OType::ALL {
                    let x = Oracle::from_f64(&[2, 1], a, &[0.0, 3.0]);
                    let y = Oracle::from_f64(&[3], b, &[0.0, 1.0, 2.0]);
                    match (binary_dtype(op, a, b), binary(op, &x, &y)) {
                        (Err(e), Err(f)) => assert_eq!(e, f),
                        (Ok(out), Ok(e)) => drop(Oracle::new(&[2, 3], out, e.value.data)),
                        other => panic!("{op} {a:?} {b:?} {other:?}"),
                    }
                }
            }
        }
    }

    #[test]
    fn integers() {
        let i = |op, a, b| on(op, I8, Int(a), Int(b));
        assert_eq!(i("add", 127, 1), Int(-128));
        assert_eq!(i("mul", 16, 16), Int(0));
        assert_eq!(i("floor_divide", -7, 2), Int(-4));
        assert_eq!(i("remainder", -7, 2), Int(1));
        assert_eq!(i("remainder", 7, -2), Int(-1));
        assert_eq!(i("floor_divide", -128, -1), Int(-128));
        assert_eq!(i("remainder", -128, -1), Int(0));
        assert_eq!(i("floor_divide", 5, 0), Int(0));
        assert_eq!(i("remainder", 5, 0), Int(0));
        assert_eq!(i("pow", 3, 5), Int(-13));
        assert_eq!(i("pow", -1, -3), Int(-1));
        assert_eq!(i("pow", 2, -1), Int(0));
        assert_eq!(i("pow", 0, 0), Int(1));
        assert_eq!(i("bitwise_left_shift", 1, 7), Int(-128));
        assert_eq!(i("bitwise_left_shift", 1, 8), Int(0));
        assert_eq!(i("bitwise_left_shift", 1, -1), Int(0));
        assert_eq!(i("bitwise_right_shift", -5, 1), Int(-3));
        assert_eq!(i("bitwise_right_shift", -5, 99), Int(-1));
        assert_eq!(i("bitwise_right_shift", 5, -1), Int(0));
        assert_eq!(i("div", 1, 0), Float(f64::INFINITY));
        assert_eq!(on("pow", U64, Int(3), Int(u64::MAX as i128)), Int(12_297_829_382_473_034_411));
        assert_eq!(on("mul", U64, Int(u64::MAX as i128), Int(u64::MAX as i128)), Int(1));
        assert_eq!(on("sub", U32, Int(0), Int(1)), Int(u32::MAX as i128));
        assert_eq!(on("div", I64, Int(1), Int(3)), Float(1.0 / 3.0));
        assert_eq!(i("div", 1, 3), Float((1f32 / 3.0) as f64));
        assert_eq!(binary_dtype("atan2", I8, U8), Ok(F32));
        assert_eq!(binary_dtype("atan2", I32, U8), Ok(F64));
    }

    #[test]
    fn divisors() {
        let i = |op, a, b| on(op, I8, Int(a), Int(b));
        assert_eq!(i("gcd", 12, -18), Int(6));
        assert_eq!(i("gcd", -128, 0), Int(-128));
        assert_eq!(i("gcd", -128, -96), Int(32));
        assert_eq!(i("lcm", -4, 6), Int(12));
        assert_eq!(i("lcm", 0, 0), Int(0));
        assert_eq!(i("lcm", 127, 126), Int(-126));
        assert_eq!(i("fmod", -7, 2), Int(-1));
        assert_eq!(i("fmod", 5, 0), Int(0));
        assert_eq!(i("heaviside", 0, 9), Int(9));
        let wide = on("lcm", U64, Int(u64::MAX as i128), Int(u64::MAX as i128 - 1));
        assert_eq!(wide, Int(2));
    }

    #[test]
    fn neighbours() {
        let f = |dtype, a, b| on("nextafter", dtype, Float(a), Float(b));
        assert_eq!(f(F32, 1.0, 2.0), Float(1f32.next_up() as f64));
        assert_eq!(f(F32, 1.0, -2.0), Float(1f32.next_down() as f64));
        assert_eq!(f(F64, 1.0, 0.0), Float(1f64.next_down()));
        assert_eq!(f(F16, 0.0, -1.0), Float(-(2f64.powi(-24))));
        assert_eq!(f(F16, f64::INFINITY, 0.0), Float(65504.0));
        assert_eq!(f(F16, -65504.0, f64::NEG_INFINITY), Float(f64::NEG_INFINITY));
        assert_eq!(f(BF16, 2f64.powi(-133), 0.0), Float(0.0));
        assert_eq!(f(F16, -2f64.powi(-14), 0.0), Float(-(2f64.powi(-14) - 2f64.powi(-24))));
        assert_eq!(f(BF16, 3.0, 3.0), Float(3.0));
    }

    #[test]
    fn bools_and_complexes() {
        let t = OType::Bool;
        assert_eq!(on("add", t, Bool(true), Bool(true)), Bool(true));
        assert_eq!(on("div", t, Bool(true), Bool(true)), Float(1.0));
        assert_eq!(on("lt", t, Bool(false), Bool(true)), Bool(true));
        for op in ["sub", "pow", "floor_divide", "remainder", "bitwise_left_shift"] {
            assert_eq!(binary_dtype(op, t, t), Err(Refused::Dtype));
        }
        for op in ["lt", "maximum", "atan2", "remainder", "bitwise_and"] {
            assert_eq!(binary_dtype(op, F32, Complex64), Err(Refused::Dtype));
        }
        assert_eq!(binary_dtype("eq", U64, I8), Err(Refused::Promotion));
        assert_eq!(on("eq", Complex64, Complex(1.0, 2.0), Complex(1.0, 2.0)), Bool(true));
        assert_eq!(on("mul", Complex64, Complex(1.0, 2.0), Complex(3.0, 4.0)), Complex(-5.0, 10.0));
    }

    #[test]
    fn floats() {
        let f = |op, a, b| on(op, F64, Float(a), Float(b));
        assert_eq!(f("remainder", -7.5, 2.0), Float(0.5));
        assert_eq!(f("floor_divide", -7.5, 2.0), Float(-4.0));
        assert_eq!(f("floor_divide", 1.0, 0.1), Float(9.0));
        assert_eq!(f("floor_divide", -1.0, 0.0), Float(f64::NEG_INFINITY));
        assert!(f("remainder", 1.0, 0.0).is_nan());
        assert!(f("maximum", f64::NAN, 1.0).is_nan());
        assert!(f("minimum", 1.0, f64::NAN).is_nan());
        assert_eq!(f("ne", f64::NAN, f64::NAN), Bool(true));
        assert_eq!(f("le", f64::NAN, f64::NAN), Bool(false));
        assert_eq!(f("eq", 0.0, -0.0), Bool(true));
        assert_eq!(f("copysign", 3.0, -0.0), Float(-3.0));
        assert_eq!(f("pow", 0.0, 0.0), Float(1.0));
        assert_eq!(f("fmod", -7.5, 2.0), Float(-1.5));
        assert_eq!(f("fmax", f64::NAN, 1.0), Float(1.0));
        assert_eq!(f("fmin", 1.0, f64::NAN), Float(1.0));
        assert_eq!(f("heaviside", f64::NAN, 5.0), Float(0.0));
        assert_eq!(f("xlogy", 0.0, -1.0), Float(0.0));
        assert!(f("xlogy", 0.0, f64::NAN).is_nan());
        assert_eq!(f("logaddexp", f64::INFINITY, f64::NEG_INFINITY), Float(f64::INFINITY));
        assert_eq!(f("logical_and", f64::NAN, 1.0), Bool(true));
        let third = Float((1f32 / 3.0) as f64);
        assert_eq!(on("div", F32, Float(1.0), Float(3.0)), third);
        assert_eq!(on("div", BF16, Float(1.0), Float(3.0)), third.cast(BF16));
    }

    /// The same steps in the machine's own f32.
    #[test]
    fn f32_arithmetic_is_that_of_the_machine() {
        let mut state = 7u64;
        let mut next = || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            f32::from_bits((state >> 32) as u32 & 0x8fff_ffff | 0x3000_0000)
        };
        for _ in 0..20_000 {
            let (a, b) = (next(), next());
            let on = |op| on(op, F32, Float(a as f64), Float(b as f64));
            let mut r = a % b;
            let mut q = (a - r) / b;
            if r != 0.0 && (r < 0.0) != (b < 0.0) {
                r += b;
                q -= 1.0;
            }
            for (op, want) in [
                ("add", a + b),
                ("sub", a - b),
                ("mul", a * b),
                ("div", a / b),
                ("remainder", r),
                ("floor_divide", q.round()),
            ] {
                assert!(on(op).same(Float(want as f64)), "{op} {a} {b}: {:?} {want}", on(op));
            }
        }
    }

    #[test]
    fn broadcasting_and_absence() {
        let a = Oracle::new(&[2, 1], U8, vec![Some(Int(1)), None]);
        let b = Oracle::new(&[2], I8, vec![None, Some(Int(-1))]);
        let got = binary("mul", &a, &b).unwrap().value;
        assert_eq!(got.data, [None, Some(Int(-1)), None, None]);
        assert_eq!(got.dtype, OType::I16);
        assert!(got.undefined);
        let c = Oracle::from_f64(&[3], F16, &[1.0; 3]);
        assert_eq!(binary("add", &b, &c).unwrap_err(), Refused::Shape);
    }
}
