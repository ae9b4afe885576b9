//! The binary ops on plain numbers of one kind, before the result is rounded or wrapped.

use super::OType;
use super::complex::{self, C};
use super::special;

/// Addition and maximum are or; multiplication and minimum are and.
pub fn on_bool(op: &str, a: bool, b: bool) -> bool {
    match op {
        "add" | "maximum" | "fmax" | "heaviside" | "bitwise_or" => a || b,
        "mul" | "minimum" | "fmin" | "bitwise_and" => a && b,
        "bitwise_xor" => a != b,
        _ => panic!("{op} of bool"),
    }
}

/// Before wrapping. Division rounds down and the remainder has the divisor's sign; both are 0 where
/// the divisor is 0.
pub fn on_int(op: &str, dtype: OType, a: i128, b: i128) -> i128 {
    match op {
        "add" => a + b,
        "sub" => a - b,
        "mul" => a.wrapping_mul(b),
        "floor_divide" | "remainder" | "fmod" if b == 0 => 0,
        "fmod" => a - b * (a / b),
        "gcd" => common_divisor(a, b),
        "lcm" if a == 0 || b == 0 => 0,
        "lcm" => (a.abs() / common_divisor(a, b)).wrapping_mul(b.abs()),
        "heaviside" if a == 0 => b,
        "heaviside" => (a > 0) as i128,
        "floor_divide" => floor_division(a, b),
        "remainder" => a - b * floor_division(a, b),
        "pow" => int_pow(dtype, a, b),
        "maximum" | "fmax" => a.max(b),
        "minimum" | "fmin" => a.min(b),
        "bitwise_and" => a & b,
        "bitwise_or" => a | b,
        "bitwise_xor" => a ^ b,
        // A count below 0 or past the last bit shifts every bit out.
        "bitwise_left_shift" if b < 0 || b >= dtype.bits() as i128 => 0,
        "bitwise_left_shift" => a << b,
        "bitwise_right_shift" if b < 0 || b >= dtype.bits() as i128 => {
            if a < 0 {
                -1
            } else {
                0
            }
        }
        "bitwise_right_shift" => a >> b,
        _ => panic!("{op} of integers"),
    }
}

/// The greatest number that divides both; that of a number and 0 is its magnitude.
fn common_divisor(a: i128, b: i128) -> i128 {
    if b == 0 { a.abs() } else { common_divisor(b, a % b) }
}

fn floor_division(a: i128, b: i128) -> i128 {
    let quotient = a / b;
    if a % b != 0 && (a < 0) != (b < 0) { quotient - 1 } else { quotient }
}

/// Wrapping; to a negative power the integer part of the true value: 0, except for bases 1 and -1
/// (and 0, which also gives 0).
fn int_pow(dtype: OType, base: i128, exponent: i128) -> i128 {
    if exponent < 0 {
        return match base {
            1 => 1,
            -1 => {
                if exponent % 2 == 0 {
                    1
                } else {
                    -1
                }
            }
            _ => 0,
        };
    }
    let (mut result, mut square, mut left) = (1, base, exponent);
    while left > 0 {
        if left % 2 == 1 {
            result = dtype.wrap(i128::wrapping_mul(result, square));
        }
        square = dtype.wrap(square.wrapping_mul(square));
        left /= 2;
    }
    result
}

/// Each step rounded to the dtype of computation: in f64 for f64, else in f32.
pub fn on_float(op: &str, dtype: OType, a: f64, b: f64) -> f64 {
    let step = |x: f64| dtype.compute().round(x);
    match op {
        "add" => a + b,
        "sub" => a - b,
        "mul" => a * b,
        "div" => a / b,
        "remainder" => remainder(a, b, step),
        "floor_divide" if b == 0.0 => a / b,
        "floor_divide" => floor_divide(a, b, step),
        "pow" => a.powf(b),
        "maximum" | "minimum" if a.is_nan() || b.is_nan() => f64::NAN,
        "maximum" => {
            if a >= b {
                a
            } else {
                b
            }
        }
        "minimum" => {
            if a <= b {
                a
            } else {
                b
            }
        }
        "atan2" => a.atan2(b),
        "hypot" => a.hypot(b),
        "copysign" => a.copysign(b),
        "fmod" => a % b,
        "fmax" | "fmin" if a.is_nan() => b,
        "fmax" | "fmin" if b.is_nan() => a,
        "fmax" => a.max(b),
        "fmin" => a.min(b),
        "heaviside" if a == 0.0 => b,
        "heaviside" => (a > 0.0) as u8 as f64,
        "logaddexp" => special::logaddexp(a, b),
        "xlogy" => special::xlogy(a, b),
        "nextafter" if a.is_nan() || b.is_nan() => f64::NAN,
        "nextafter" if a == b => b,
        "nextafter" if a < b => step_up(dtype, a),
        "nextafter" => -step_up(dtype, -a),
        _ => panic!("{op} of floats"),
    }
}

/// The least value of the dtype that is greater than x.
fn step_up(dtype: OType, x: f64) -> f64 {
    if x == f64::NEG_INFINITY {
        return -dtype.float_max();
    }
    if dtype == OType::F64 {
        return x.next_up();
    }
    // Between x and the next value lies the half of a gap, which is a value itself only below a power of two.
    let half = x + dtype.ulp(x) / 2.0;
    if x < 0.0 && dtype.round(half) == half { half } else { dtype.round(x + dtype.ulp(x)) }
}

/// As Python defines it for floats: the truncated quotient, one less where the remainder has not the
/// divisor's sign, to the nearest integer. So `-1 // inf` is -1.
fn floor_divide(a: f64, b: f64, step: impl Fn(f64) -> f64) -> f64 {
    let r = a % b;
    let truncated = step(step(a - r) / b);
    if r != 0.0 && (r < 0.0) != (b < 0.0) { step(truncated - 1.0).round() } else { truncated.round() }
}

/// The truncated remainder, which is exact, moved to the divisor's sign.
fn remainder(a: f64, b: f64, step: impl Fn(f64) -> f64) -> f64 {
    let r = a % b;
    if r == 0.0 {
        r.copysign(b)
    } else if (r < 0.0) != (b < 0.0) {
        step(r + b)
    } else {
        r
    }
}

pub fn on_complex(op: &str, a: C, b: C) -> C {
    match op {
        "add" => complex::add(a, b),
        "sub" => complex::sub(a, b),
        "mul" => complex::mul(a, b),
        "div" => complex::div(a, b),
        "pow" => complex::pow(a, b),
        _ => panic!("{op} of complex"),
    }
}
