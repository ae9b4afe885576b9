//! Complex functions in f64 on (real, imaginary), each by its textbook formula. Where a part is NaN
//! or infinite the formula is taken as it stands, and comparisons ask no more than "not finite".

pub type C = (f64, f64);

pub fn add(a: C, b: C) -> C {
    (a.0 + b.0, a.1 + b.1)
}

pub fn sub(a: C, b: C) -> C {
    (a.0 - b.0, a.1 - b.1)
}

pub fn mul(a: C, b: C) -> C {
    (a.0 * b.0 - a.1 * b.1, a.0 * b.1 + a.1 * b.0)
}

/// a / b, dividing first by the larger part of b so that |b|^2 is never formed. Dividing by zero
/// gives NaN in both parts.
pub fn div(a: C, b: C) -> C {
    if b.0.abs() >= b.1.abs() {
        let ratio = b.1 / b.0;
        let denominator = b.0 + b.1 * ratio;
        ((a.0 + a.1 * ratio) / denominator, (a.1 - a.0 * ratio) / denominator)
    } else {
        let ratio = b.0 / b.1;
        let denominator = b.0 * ratio + b.1;
        ((a.0 * ratio + a.1) / denominator, (a.1 * ratio - a.0) / denominator)
    }
}

pub fn modulus(z: C) -> f64 {
    z.0.hypot(z.1)
}

/// z / |z|, and 0 for 0.
pub fn sign(z: C) -> C {
    if z == (0.0, 0.0) {
        return (0.0, 0.0);
    }
    let r = modulus(z);
    (z.0 / r, z.1 / r)
}

/// The root with a real part >= 0; on the negative real axis the sign of the imaginary zero decides.
pub fn sqrt(z: C) -> C {
    if z == (0.0, 0.0) {
        return (0.0, z.1);
    }
    let t = ((z.0.abs() + modulus(z)) / 2.0).sqrt();
    if z.0 >= 0.0 { (t, z.1 / (2.0 * t)) } else { (z.1.abs() / (2.0 * t), t.copysign(z.1)) }
}

pub fn exp(z: C) -> C {
    let r = z.0.exp();
    (r * z.1.cos(), r * z.1.sin())
}

/// exp(z) - 1 without cancellation near 0: cos y = 1 - 2 sin^2(y/2).
pub fn expm1(z: C) -> C {
    let half = (z.1 / 2.0).sin();
    (z.0.exp_m1() * z.1.cos() - 2.0 * half * half, z.0.exp() * z.1.sin())
}

/// log |z| + i arg z; near |z| = 1 the modulus enters as |z|^2 - 1.
pub fn log(z: C) -> C {
    let r = modulus(z);
    let log_r = if (0.5..2.0).contains(&r) {
        let (large, small) = (z.0.abs().max(z.1.abs()), z.0.abs().min(z.1.abs()));
        ((large - 1.0) * (large + 1.0) + small * small).ln_1p() / 2.0
    } else {
        r.ln()
    };
    (log_r, z.1.atan2(z.0))
}

/// log(1 + z) without cancellation near 0.
pub fn log1p(z: C) -> C {
    if modulus(z) < 0.5 {
        let square_less_one = z.0 * (2.0 + z.0) + z.1 * z.1;
        (square_less_one.ln_1p() / 2.0, z.1.atan2(1.0 + z.0))
    } else {
        log((1.0 + z.0, z.1))
    }
}

pub fn sin(z: C) -> C {
    (z.0.sin() * z.1.cosh(), z.0.cos() * z.1.sinh())
}

pub fn cos(z: C) -> C {
    (z.0.cos() * z.1.cosh(), -z.0.sin() * z.1.sinh())
}

pub fn sinh(z: C) -> C {
    (z.0.sinh() * z.1.cos(), z.0.cosh() * z.1.sin())
}

pub fn cosh(z: C) -> C {
    (z.0.cosh() * z.1.cos(), z.0.sinh() * z.1.sin())
}

/// sinh z / cosh z, multiplied through by the conjugate of cosh z: the denominator is
/// sinh^2 x + cos^2 y. Far from the imaginary axis the real part is 1 to the last bit.
pub fn tanh(z: C) -> C {
    let (x, y) = z;
    if x.abs() > 25.0 {
        return (1f64.copysign(x), 4.0 * y.sin() * y.cos() * (-2.0 * x.abs()).exp());
    }
    let denominator = x.sinh().powi(2) + y.cos().powi(2);
    (x.sinh() * x.cosh() / denominator, y.sin() * y.cos() / denominator)
}

/// tan z = -i tanh(i z).
pub fn tan(z: C) -> C {
    let (re, im) = tanh((-z.1, z.0));
    (im, -re)
}

/// 1 / (1 + exp(-z)), with the exponential that does not overflow.
pub fn sigmoid(z: C) -> C {
    if z.0 >= 0.0 { div((1.0, 0.0), add((1.0, 0.0), exp((-z.0, -z.1)))) } else { div(exp(z), add((1.0, 0.0), exp(z))) }
}

/// 1 / sqrt(z).
pub fn rsqrt(z: C) -> C {
    div((1.0, 0.0), sqrt(z))
}

/// log(z) / log(base).
pub fn log_to_base(z: C, base: f64) -> C {
    let (re, im) = log(z);
    (re / base.ln(), im / base.ln())
}

/// exp(z log 2).
pub fn exp2(z: C) -> C {
    let ln_2 = std::f64::consts::LN_2;
    let r = z.0.exp2();
    (r * (z.1 * ln_2).cos(), r * (z.1 * ln_2).sin())
}

/// log(z + sqrt(z - 1) sqrt(z + 1)), with the 1 taken out for the neighbourhood of 1. The real part is at least 0
/// and the imaginary part has the sign of that of z.
pub fn acosh(z: C) -> C {
    let less_one = (z.0 - 1.0, z.1);
    let roots = mul(sqrt(less_one), sqrt((z.0 + 1.0, z.1)));
    let w = log1p(add(less_one, roots));
    (w.0.abs(), w.1.abs().copysign(z.1))
}

/// ∓i acosh(z), of the sign that gives a real part of at least 0.
pub fn acos(z: C) -> C {
    let (re, im) = acosh(z);
    (im.abs(), -re.copysign(z.1))
}

/// log(z + sqrt(z² + 1)) on the right, from there -asinh(-z). With the root r, z + r - 1 = z + z² / (1 + r).
pub fn asinh(z: C) -> C {
    if z.0.is_sign_negative() {
        let (re, im) = asinh((-z.0, -z.1));
        return (-re, -im);
    }
    // z² + 1 = (z - i)(z + i), whose factors are exact near the branch points.
    let root = sqrt(mul((z.0, z.1 - 1.0), (z.0, z.1 + 1.0)));
    // Above i and below -i the root of the product may be the other one: its real part is at least 0.
    let root = if z.1.abs() > 1.0 { (root.0, root.1.abs().copysign(z.1)) } else { root };
    log1p(add(z, div(mul(z, z), add((1.0, 0.0), root))))
}

/// -i asinh(i z).
pub fn asin(z: C) -> C {
    let (re, im) = asinh((-z.1, z.0));
    (im, -re)
}

/// (log(1 + z) - log(1 - z)) / 2; far out, where the logarithms cancel, it is that of 1 / z, a quarter turn on.
pub fn atanh(z: C) -> C {
    if modulus(z) > 2.0 {
        let (re, im) = atanh(div((1.0, 0.0), z));
        return (re, im + std::f64::consts::FRAC_PI_2.copysign(z.1));
    }
    let (plus, minus) = (log1p(z), log1p((-z.0, -z.1)));
    ((plus.0 - minus.0) / 2.0, (plus.1 - minus.1) / 2.0)
}

/// -i atanh(i z).
pub fn atan(z: C) -> C {
    let (re, im) = atanh((-z.1, z.0));
    (im, -re)
}

/// exp(b log a). 0^0 is 1, and 0^b is 0 where b has a positive real part: its modulus is |0| to the power of that. For a
/// negative one the modulus is infinite, else there is no limit.
pub fn pow(a: C, b: C) -> C {
    let nan = f64::NAN;
    if a != (0.0, 0.0) {
        return exp(mul(b, log(a)));
    }
    match b {
        (0.0, 0.0) => (1.0, 0.0),
        (re, im) if re.is_nan() || !im.is_finite() || re == 0.0 => (nan, nan),
        (re, _) if re > 0.0 => (0.0, 0.0),
        _ => (f64::INFINITY, nan),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(a: C, b: C) {
        let distance = modulus(sub(a, b));
        assert!(distance <= 1e-13 * modulus(b).max(1e-300), "{a:?} {b:?}");
    }

    #[test]
    fn identities() {
        for re in [-2.5, -0.7, 1e-9, 0.3, 1.0, 4.0] {
            for im in [-3.0, -0.2, 1e-9, 0.9, 2.0] {
                let z = (re, im);
                close(mul(div((1.0, 2.0), z), z), (1.0, 2.0));
                close(mul(sqrt(z), sqrt(z)), z);
                close(exp(log(z)), z);
                close(exp(log1p(z)), add((1.0, 0.0), z));
                close(add(expm1(z), (1.0, 0.0)), exp(z));
                close(div(sin(z), cos(z)), tan(z));
                close(div(sinh(z), cosh(z)), tanh(z));
                close(add(mul(sin(z), sin(z)), mul(cos(z), cos(z))), (1.0, 0.0));
                close(pow(z, (2.0, 0.0)), mul(z, z));
                close(div((1.0, 0.0), sub((1.0, 0.0), sigmoid(z))), add((1.0, 0.0), exp(z)));
                close((modulus(sign(z)), 0.0), (1.0, 0.0));
                close(sin(asin(z)), z);
                close(tan(atan(z)), z);
                close(sinh(asinh(z)), z);
                close(tanh(atanh(z)), z);
                if modulus(z) > 0.1 {
                    close(cos(acos(z)), z);
                    close(cosh(acosh(z)), z);
                }
                close(mul(rsqrt(z), sqrt(z)), (1.0, 0.0));
                close(exp2(log_to_base(z, 2.0)), z);
                close(pow((10.0, 0.0), log_to_base(z, 10.0)), z);
            }
        }
        close(expm1((1e-9, 1e-9)), (1e-9, 1e-9 + 1e-18));
        close(tanh((30.0, 1.0)), div(sinh((30.0, 1.0)), cosh((30.0, 1.0))));
    }

    #[test]
    fn at_zero() {
        let (re, im) = div((0.0, 0.0), (0.0, 0.0));
        assert!(re.is_nan() && im.is_nan());
        assert_eq!(pow((0.0, 0.0), (0.0, 0.0)), (1.0, 0.0));
        assert_eq!(pow((0.0, 0.0), (2.0, 1.0)), (0.0, 0.0));
        assert_eq!(pow((0.0, 0.0), (-2.0, 1.0)).0, f64::INFINITY);
        assert!(pow((0.0, 0.0), (0.0, 1.0)).0.is_nan() && pow((0.0, 0.0), (f64::NAN, 0.0)).0.is_nan());
        assert_eq!(sqrt((-4.0, 0.0)), (0.0, 2.0));
        assert_eq!(sqrt((0.0, 0.0)), (0.0, 0.0));
        assert_eq!(log((0.0, 0.0)).0, f64::NEG_INFINITY);
        assert_eq!(log((1.0, 0.0)), (0.0, 0.0));
    }

    /// The sides of the cuts, and a branch point.
    #[test]
    fn inverses() {
        let half_pi = std::f64::consts::FRAC_PI_2;
        for zero in [0.0, -0.0f64] {
            let side = 1f64.copysign(zero);
            close(asin((2.0, zero)), (half_pi, side * 1.316_957_896_924_816_6));
            close(acos((2.0, zero)), (0.0, -side * 1.316_957_896_924_816_6));
            close(acosh((-2.0, zero)), (1.316_957_896_924_816_6, side * 2.0 * half_pi));
            close(atanh((2.0, zero)), (0.549_306_144_334_054_8, side * half_pi));
            close(asinh((zero, 2.0)), (side * 1.316_957_896_924_816_6, half_pi));
            close(asinh((zero, -2.0)), (side * 1.316_957_896_924_816_6, -half_pi));
            close(atan((zero, 2.0)), (side * half_pi, 0.549_306_144_334_054_8));
        }
        let close_by = 2f64.powi(-40);
        close(acos((1.0 + close_by, 0.0)), (0.0, -1.348_699_152_348_506_8e-6));
        close(acosh((1.0, close_by)), (9.536_743_164_063_222e-7, 9.536_743_164_061_777e-7));
    }
}
