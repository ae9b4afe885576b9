//! Unary ops on one element.

use super::OType::{self, BF16, F16};
use super::OValue::{self, Bool, Complex, Float, Int};
use super::complex::{self, C};
use super::special;
use super::{Expected, Oracle, Refused, is_wild, ulps, ulps_at};

/// Every unary op by name.
pub const UNARY: [&str; 60] = [
    "neg",
    "abs",
    "sign",
    "square",
    "sqrt",
    "reciprocal",
    "exp",
    "expm1",
    "log",
    "log1p",
    "sin",
    "cos",
    "tan",
    "sinh",
    "cosh",
    "tanh",
    "sigmoid",
    "relu",
    "floor",
    "ceil",
    "trunc",
    "round",
    "isnan",
    "isinf",
    "isfinite",
    "logical_not",
    "bitwise_not",
    "conj",
    "real",
    "imag",
    "rsqrt",
    "exp2",
    "log2",
    "log10",
    "asin",
    "acos",
    "atan",
    "asinh",
    "acosh",
    "atanh",
    "deg2rad",
    "rad2deg",
    "logit",
    "softplus",
    "silu",
    "gelu",
    "leaky_relu",
    "elu",
    "erf",
    "erfc",
    "lgamma",
    "digamma",
    "isposinf",
    "isneginf",
    "signbit",
    "nan_to_num",
    "hardsigmoid",
    "softsign",
    "erfinv",
    "angle",
];

/// The dtype of the result; `None` where the op is not defined. Float functions turn bool and
/// integers into floats; `abs`, `real` and `imag` turn complex into its real dtype; questions give bool.
pub fn unary_dtype(op: &str, dtype: OType) -> Option<OType> {
    let keep_if = |defined: bool| defined.then_some(dtype);
    match op {
        "sqrt" | "reciprocal" | "exp" | "log" | "sin" | "cos" | "tan" | "sinh" | "cosh" | "tanh" | "expm1"
        | "log1p" | "rsqrt" | "exp2" | "log2" | "log10" | "asin" | "acos" | "atan" | "asinh" | "acosh" | "atanh" => {
            Some(dtype.floating())
        }
        "sigmoid" | "deg2rad" | "rad2deg" | "logit" | "softplus" | "silu" | "gelu" | "leaky_relu" | "elu" | "erf"
        | "erfc" | "lgamma" | "digamma" | "hardsigmoid" | "softsign" | "erfinv" => {
            (!dtype.is_complex()).then_some(dtype.floating())
        }
        "angle" => Some(dtype.floating().real()),
        "neg" | "sign" => keep_if(!dtype.is_bool()),
        "square" | "conj" | "nan_to_num" => Some(dtype),
        "abs" | "real" | "imag" => Some(dtype.real()),
        "relu" => keep_if(!dtype.is_complex()),
        "floor" | "ceil" | "trunc" | "round" => keep_if(!dtype.is_complex() && !dtype.is_bool()),
        "bitwise_not" => keep_if(dtype.is_bool() || dtype.is_int()),
        "isnan" | "isinf" | "isfinite" | "logical_not" => Some(OType::Bool),
        "isposinf" | "isneginf" | "signbit" => (!dtype.is_complex()).then_some(OType::Bool),
        _ => panic!("no unary op is called {op}"),
    }
}

/// The op on every element; the absent stay absent.
pub fn unary(op: &str, x: &Oracle) -> Result<Expected, Refused> {
    let dtype = unary_dtype(op, x.dtype).ok_or(Refused::Dtype)?;
    let mut result = Expected::from(Oracle { dtype, ..x.clone() });
    for (i, value) in x.data.iter().enumerate() {
        let Some(value) = *value else { continue };
        let answer = apply(op, x.dtype, value);
        result.value.data[i] = Some(answer);
        let ulps = ulps(op, x.dtype) + extra_ulps(op, value, answer);
        if op == "signbit" && value.is_nan() {
            result.slack[i] = f64::INFINITY; // which NaN it is may depend on the machine
            continue;
        }
        result.slack[i] = if ulps > 0.0 && dtype.is_complex() && is_wild(dtype, &[value, answer]) {
            f64::INFINITY
        } else {
            ulps_at(ulps, dtype, answer)
        };
    }
    Ok(result)
}

/// An exponential turns an error relative to z into one of |z| ulps.
fn extra_ulps(op: &str, value: OValue, answer: OValue) -> f64 {
    match (op, value, answer) {
        ("exp2", Complex(_, b), Complex(..)) if b.is_finite() => 4.0 * b.abs(),
        (_, Float(x), Float(y)) => special::lost_ulps(op, x, y),
        _ => 0.0,
    }
}

/// The op on one value of a dtype that it is defined on.
fn apply(op: &str, dtype: OType, value: OValue) -> OValue {
    match op {
        "isnan" => return Bool(value.is_nan()),
        "isinf" => return Bool(value.is_infinite()),
        "isfinite" => return Bool(value.is_finite()),
        "logical_not" => return Bool(!value.truth()),
        "real" => return value.cast(dtype.real()),
        "isposinf" => return Bool(value == Float(f64::INFINITY)),
        "isneginf" => return Bool(value == Float(f64::NEG_INFINITY)),
        "signbit" => {
            return Bool(match value {
                Int(v) => v < 0,
                Float(x) => x.is_sign_negative(),
                _ => false,
            });
        }
        "nan_to_num" => {
            let finite = |x: f64| if x.is_nan() { 0.0 } else { x.clamp(-dtype.float_max(), dtype.float_max()) };
            return match value {
                Float(x) => Float(finite(x)),
                Complex(re, im) => Complex(finite(re), finite(im)),
                exact => exact,
            };
        }
        _ => {}
    }
    let out = unary_dtype(op, dtype).expect("the caller has asked");
    // A float function of bool or an integer is that of its cast to a float.
    let value = if out.is_float() && !dtype.is_complex() { value.cast(out) } else { value };
    match value {
        Bool(b) => Bool(on_bool(op, b)),
        Int(v) => Int(dtype.wrap(on_int(op, v))),
        Float(x) => Float(narrow(out, on_float(op, x))),
        Complex(re, im) => {
            let (re, im) = on_complex(op, (re, im));
            if out.is_complex() { Complex(out.round(re), out.round(im)) } else { Float(out.round(re)) }
        }
    }
}

/// Rounded to the dtype of computation, then to the dtype: f16 and bf16 compute in f32.
pub(super) fn narrow(dtype: OType, x: f64) -> f64 {
    match dtype {
        F16 | BF16 => dtype.round(dtype.compute().round(x)),
        _ => dtype.round(x),
    }
}

/// `square` is b and b; the imaginary part is false; `abs`, `relu` and `conj` change nothing.
fn on_bool(op: &str, b: bool) -> bool {
    match op {
        "bitwise_not" => !b,
        "imag" => false,
        "abs" | "square" | "relu" | "conj" => b,
        _ => panic!("{op} of bool"),
    }
}

/// Exact, to be wrapped by the caller: -(-128), |-128| and 16 squared wrap in i8.
fn on_int(op: &str, v: i128) -> i128 {
    match op {
        "neg" => -v,
        "abs" => v.abs(),
        "sign" => v.signum(),
        "square" => v.wrapping_mul(v),
        "relu" => v.max(0),
        "bitwise_not" => !v,
        "imag" => 0,
        "floor" | "ceil" | "trunc" | "round" | "conj" => v,
        _ => panic!("{op} of an integer"),
    }
}

/// In f64; `round` goes to even at half; `sign` and `relu` of NaN are NaN.
fn on_float(op: &str, x: f64) -> f64 {
    match op {
        "neg" => -x,
        "abs" => x.abs(),
        "sign" if x > 0.0 => 1.0,
        "sign" if x < 0.0 => -1.0,
        "sign" | "conj" => x,
        "square" => x * x,
        "sqrt" => x.sqrt(),
        "reciprocal" => 1.0 / x,
        "exp" => x.exp(),
        "expm1" => x.exp_m1(),
        "log" => x.ln(),
        "log1p" => x.ln_1p(),
        "sin" => x.sin(),
        "cos" => x.cos(),
        "tan" => x.tan(),
        "sinh" => x.sinh(),
        "cosh" => x.cosh(),
        "tanh" => x.tanh(),
        "sigmoid" if x >= 0.0 => 1.0 / (1.0 + (-x).exp()),
        "sigmoid" => x.exp() / (1.0 + x.exp()),
        "relu" => {
            if x < 0.0 {
                0.0
            } else {
                x
            }
        }
        "hardsigmoid" => (x / 6.0 + 0.5).clamp(0.0, 1.0),
        "softsign" if x.is_infinite() => x.signum(),
        "softsign" => x / (1.0 + x.abs()),
        "angle" if x.is_nan() => x,
        "angle" => {
            if x < 0.0 {
                std::f64::consts::PI
            } else {
                0.0
            }
        }
        "floor" => x.floor(),
        "ceil" => x.ceil(),
        "trunc" => x.trunc(),
        "round" => x.round_ties_even(),
        "imag" => 0.0,
        "rsqrt" => 1.0 / x.sqrt(),
        "asin" => x.asin(),
        "acos" => x.acos(),
        "atan" => x.atan(),
        "deg2rad" => x * (std::f64::consts::PI / 180.0),
        "rad2deg" => x * (180.0 / std::f64::consts::PI),
        "leaky_relu" if x < 0.0 => x / 100.0,
        "elu" if x < 0.0 => x.exp_m1(),
        "leaky_relu" | "elu" => x,
        _ => special::special(op, x).unwrap_or_else(|| panic!("{op} of a float")),
    }
}

fn on_complex(op: &str, z: C) -> C {
    match op {
        "neg" => (-z.0, -z.1),
        "abs" => (complex::modulus(z), 0.0),
        "sign" => complex::sign(z),
        "square" => complex::mul(z, z),
        "sqrt" => complex::sqrt(z),
        "reciprocal" => complex::div((1.0, 0.0), z),
        "exp" => complex::exp(z),
        "expm1" => complex::expm1(z),
        "log" => complex::log(z),
        "log1p" => complex::log1p(z),
        "sin" => complex::sin(z),
        "cos" => complex::cos(z),
        "tan" => complex::tan(z),
        "sinh" => complex::sinh(z),
        "cosh" => complex::cosh(z),
        "tanh" => complex::tanh(z),
        "sigmoid" => complex::sigmoid(z),
        "conj" => (z.0, -z.1),
        "imag" => (z.1, 0.0),
        "angle" => (z.1.atan2(z.0), 0.0),
        "rsqrt" => complex::rsqrt(z),
        "exp2" => complex::exp2(z),
        "log2" => complex::log_to_base(z, 2.0),
        "log10" => complex::log_to_base(z, 10.0),
        "asin" => complex::asin(z),
        "acos" => complex::acos(z),
        "atan" => complex::atan(z),
        "asinh" => complex::asinh(z),
        "acosh" => complex::acosh(z),
        "atanh" => complex::atanh(z),
        _ => panic!("{op} of complex"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use OType::{Complex64, Complex128, F32, F64, I8, I16, I32, I64, U8, U16, U64};

    fn on(op: &str, dtype: OType, value: OValue) -> OValue {
        unary(op, &Oracle::scalar(dtype, Some(value))).unwrap().value.data[0].unwrap()
    }

    #[test]
    fn every_op_on_every_dtype_gives_its_dtype_or_refuses() {
        for op in UNARY {
            for dtype in OType::ALL {
                let x = Oracle::from_f64(&[4], dtype, &[0.0, 1.0, 0.5, 2.0]);
                match (unary_dtype(op, dtype), unary(op, &x)) {
                    (None, Err(Refused::Dtype)) => {}
                    (Some(out), Ok(e)) => {
                        assert_eq!(e.value.dtype, out);
                        Oracle::new(&[4], out, e.value.data.clone());
                        assert_eq!(e.slack.len(), 4);
                    }
                    other => panic!("{op} {dtype:?} {other:?}"),
                }
            }
        }
    }

    #[test]
    fn integers() {
        assert_eq!(on("neg", I8, Int(-128)), Int(-128));
        assert_eq!(on("neg", U8, Int(1)), Int(255));
        assert_eq!(on("abs", I8, Int(-128)), Int(-128));
        assert_eq!(on("square", I8, Int(16)), Int(0));
        assert_eq!(on("square", U64, Int(u64::MAX as i128)), Int(1));
        assert_eq!(on("bitwise_not", U16, Int(1)), Int(65534));
        assert_eq!(on("bitwise_not", I16, Int(1)), Int(-2));
        assert_eq!(on("relu", I32, Int(-5)), Int(0));
        assert_eq!(on("sqrt", I32, Int(4)), Float(2.0));
        assert_eq!(on("reciprocal", I64, Int(3)), Float(1.0 / 3.0));
        assert_eq!(on("isfinite", I64, Int(3)), Bool(true));
        assert_eq!(on("imag", I64, Int(3)), Int(0));
        assert_eq!(on("sign", U8, Int(200)), Int(1));
    }

    #[test]
    fn bools() {
        assert_eq!(unary_dtype("neg", OType::Bool), None);
        assert_eq!(unary_dtype("sign", OType::Bool), None);
        assert_eq!(on("square", OType::Bool, Bool(true)), Bool(true));
        assert_eq!(on("logical_not", OType::Bool, Bool(true)), Bool(false));
        assert_eq!(on("exp", OType::Bool, Bool(true)), Float(1f64.exp() as f32 as f64));
    }

    #[test]
    fn floats() {
        assert_eq!(on("round", F64, Float(2.5)), Float(2.0));
        assert_eq!(on("round", F16, Float(-3.5)), Float(-4.0));
        assert!(on("sign", F32, Float(f64::NAN)).is_nan());
        assert!(on("relu", F32, Float(f64::NAN)).is_nan());
        assert_eq!(on("sigmoid", F64, Float(-800.0)), Float(0.0));
        assert_eq!(on("square", F16, Float(300.0)), Float(f64::INFINITY));
        assert_eq!(on("logical_not", F64, Float(f64::NAN)), Bool(false));
        assert_eq!(unary_dtype("bitwise_not", F32), None);
        assert_eq!(on("nan_to_num", F16, Float(f64::NEG_INFINITY)), Float(-65504.0));
        assert_eq!(on("nan_to_num", F64, Float(f64::NAN)), Float(0.0));
        assert_eq!(on("signbit", F32, Float(-0.0)), Bool(true));
        assert_eq!(on("signbit", I8, Int(-1)), Bool(true));
        assert_eq!(on("isneginf", F32, Float(f64::NEG_INFINITY)), Bool(true));
        assert_eq!(on("isposinf", U8, Int(255)), Bool(false));
        assert_eq!(on("elu", F64, Float(f64::NEG_INFINITY)), Float(-1.0));
        assert_eq!(on("leaky_relu", F64, Float(-200.0)), Float(-2.0));
        assert_eq!(on("lgamma", I16, Int(3)), Float(2f64.ln() as f32 as f64));
    }

    #[test]
    fn complexes() {
        assert_eq!(on("abs", Complex64, Complex(3.0, -4.0)), Float(5.0));
        assert_eq!(on("conj", Complex64, Complex(3.0, -4.0)), Complex(3.0, 4.0));
        assert_eq!(on("imag", Complex128, Complex(3.0, -4.0)), Float(-4.0));
        assert_eq!(on("real", Complex128, Complex(3.0, -4.0)), Float(3.0));
        assert_eq!(on("isnan", Complex128, Complex(3.0, f64::NAN)), Bool(true));
        assert_eq!(unary_dtype("relu", Complex64), None);
        assert_eq!(unary_dtype("floor", Complex64), None);
    }

    #[test]
    fn absent_stays_absent() {
        let x = Oracle::new(&[2], F32, vec![None, Some(Float(0.0))]);
        assert_eq!(unary("cos", &x).unwrap().value.data, [None, Some(Float(1.0))]);
    }
}
