//! Functions of one or two real numbers that the standard library lacks or gives with less than its last
//! bits: from series and recurrences in twice the precision.

use super::double::{Double, LN_2, PI, double};

/// The function of that name; `None` if there is no such function here.
pub fn special(op: &str, x: f64) -> Option<f64> {
    if x.is_nan() {
        return ALL.contains(&op).then_some(x);
    }
    Some(match op {
        "exp2" => (double(x.clamp(-2000.0, 2000.0)) * LN_2).exp().value(),
        "log2" | "log10" if x <= 0.0 || x.is_infinite() => x.ln(),
        "log2" => (double(x).ln() / LN_2).value(),
        "log10" => (double(x).ln() / double(10.0).ln()).value(),
        "asinh" | "acosh" if x == f64::INFINITY => x,
        "asinh" => asinh(x),
        "acosh" if x < 1.0 => f64::NAN,
        "acosh" if x > 1e100 => (double(x).ln() + LN_2).value(),
        "acosh" => (double(x) + (double(x) * double(x) - double(1.0)).sqrt()).ln().value(),
        "atanh" => atanh(x),
        "logit" if !(0.0..=1.0).contains(&x) => f64::NAN,
        "logit" if x == 0.0 || x == 1.0 => f64::INFINITY.copysign(x - 0.5),
        "logit" => (double(x).ln() - (double(1.0) - double(x)).ln()).value(),
        "softplus" => softplus(x).value(),
        "silu" if x < -2000.0 => 0.0,
        "silu" if x > 2000.0 => x,
        "silu" if x < 0.0 => (double(x) * double(x).exp() / (double(1.0) + double(x).exp())).value(),
        "silu" => (double(x) / (double(1.0) + double(-x).exp())).value(),
        "gelu" if x < -100.0 => 0.0,
        "gelu" if x > 100.0 => x,
        "gelu" => (double(0.5 * x) * erfc(double(-x) / double(2.0).sqrt())).value(),
        "erf" if x.abs() < 4.0 => erf_series(double(x)).value(),
        "erf" => (double(1.0) - erfc(double(x))).value(),
        "erfc" => erfc(double(x)).value(),
        "erfinv" => erfinv(x),
        "lgamma" => lgamma(x),
        "digamma" => digamma(x),
        _ => return None,
    })
}

const ALL: [&str; 15] = [
    "exp2", "log2", "log10", "asinh", "acosh", "atanh", "logit", "softplus", "silu", "gelu", "erf", "erfc", "erfinv",
    "lgamma", "digamma",
];

fn asinh(x: f64) -> f64 {
    let a = double(x.abs());
    let value = if x.is_infinite() {
        x.abs()
    } else if x.abs() < 1e-6 {
        (a - a * a * a / double(6.0)).value()
    } else if x.abs() > 1e100 {
        (a.ln() + LN_2).value()
    } else {
        (a + (a * a + double(1.0)).sqrt()).ln().value()
    };
    value.copysign(x)
}

fn atanh(x: f64) -> f64 {
    let d = double(x);
    if x.abs() > 1.0 {
        f64::NAN
    } else if x.abs() == 1.0 {
        f64::INFINITY.copysign(x)
    } else if x.abs() < 1e-6 {
        (d + d * d * d / double(3.0)).value()
    } else {
        (((double(1.0) + d) / (double(1.0) - d)).ln() * double(0.5)).value()
    }
}

/// log(1 + exp(x)).
fn softplus(x: f64) -> Double {
    if x > 700.0 {
        double(x)
    } else if x > 0.0 {
        double(x) + double(-x).exp().ln_1p()
    } else {
        double(x).exp().ln_1p()
    }
}

/// log(exp(a) + exp(b)).
pub fn logaddexp(a: f64, b: f64) -> f64 {
    let (less, more) = if a < b { (a, b) } else { (b, a) };
    if a.is_nan() || b.is_nan() {
        f64::NAN
    } else if more.is_infinite() || less == f64::NEG_INFINITY || more - less > 2000.0 {
        more
    } else {
        let by = double(less) - double(more);
        (double(more) + by.exp().ln_1p()).value()
    }
}

/// a log(b); 0 log(b) is 0.
pub fn xlogy(a: f64, b: f64) -> f64 {
    match (a == 0.0, b.is_nan()) {
        (true, false) => 0.0,
        _ if b <= 0.0 || !b.is_finite() || !a.is_finite() => a * b.ln(),
        _ => a * double(b).ln().value(),
    }
}

/// 2 / sqrt(π) exp(-x²) times the sum of 2^n x^(2n+1) / (1 · 3 · … · (2n+1)), whose terms have one sign.
fn erf_series(x: Double) -> Double {
    let (mut term, mut total) = (x, x);
    for n in 1..200 {
        term = term * double(2.0) * x * x / double((2 * n + 1) as f64);
        total = total + term;
    }
    total * double(2.0) * (-(x * x)).exp() / PI.sqrt()
}

/// From 4 on by the continued fraction exp(-x²) / sqrt(π) / (x + (1/2) / (x + (2/2) / (x + (3/2) / …))).
fn erfc(x: Double) -> Double {
    let size = x.value();
    if size < -30.0 {
        double(2.0)
    } else if size > 30.0 {
        double(0.0)
    } else if size < -4.0 {
        double(2.0) - erfc(-x)
    } else if size < 4.0 {
        double(1.0) - erf_series(x)
    } else {
        let mut below = x;
        for k in (1..200).rev() {
            below = x + double(k as f64 / 2.0) / below;
        }
        // The exponential may be subnormal: it comes last.
        (below * PI.sqrt()).recip() * (-(x * x)).exp()
    }
}

/// Halving the interval in which erf (erfc, in the upper half) takes the value, then Newton's step in twice the
/// precision.
fn erfinv(x: f64) -> f64 {
    let a = x.abs();
    if a >= 1.0 {
        return if a == 1.0 { f64::INFINITY.copysign(x) } else { f64::NAN };
    }
    if a < 1e-20 {
        return x * PI.sqrt().value() / 2.0;
    }
    // erf(y) - a, of which the sign is right.
    let off = |y: f64| {
        if a < 0.5 { erf_series(double(y)) - double(a) } else { double(1.0) - double(a) - erfc(double(y)) }
    };
    let (mut low, mut high) = (0.0, 6.0);
    for _ in 0..60 {
        let mid = 0.5 * (low + high);
        if off(mid).value() < 0.0 { low = mid } else { high = mid }
    }
    let y = if a < 1e-6 { a * PI.sqrt().value() / 2.0 } else { low };
    let slope = double(2.0) / PI.sqrt() * (-(double(y) * double(y))).exp();
    (double(y) - off(y) / slope).value().copysign(x)
}

/// The Bernoulli numbers B(2), B(4), … B(20), as fractions.
const BERNOULLI: [(f64, f64); 10] = [
    (1.0, 6.0),
    (-1.0, 30.0),
    (1.0, 42.0),
    (-1.0, 30.0),
    (5.0, 66.0),
    (-691.0, 2730.0),
    (7.0, 6.0),
    (-3617.0, 510.0),
    (43867.0, 798.0),
    (-174611.0, 330.0),
];

/// Where the asymptotic series is good to twice the precision.
const FAR: f64 = 60.0;

/// log |Γ(x)|, by Stirling's series far out, the product from there, and the reflection.
fn lgamma(x: f64) -> f64 {
    if x.is_infinite() || (x <= 0.0 && x == x.trunc()) {
        f64::INFINITY
    } else if x == 1.0 || x == 2.0 {
        0.0
    } else if x.abs() < 1e-20 {
        -x.abs().ln()
    } else if x > 1e250 {
        x * (x.ln() - 1.0)
    } else if x > 0.0 {
        lgamma_of_positive(x).value()
    } else {
        let (sin, _) = double(x - x.round()).sin_cos_pi();
        let product = double(x) * sin / PI;
        let product = if product.value() < 0.0 { -product } else { product };
        (-product.ln() - lgamma_of_positive(-x)).value()
    }
}

fn lgamma_of_positive(x: f64) -> Double {
    let (mut x, mut product) = (double(x), double(1.0));
    while x.value() < FAR {
        product = product * x;
        x = x + double(1.0);
    }
    let mut total = (x - double(0.5)) * x.ln() - x + (PI * double(2.0)).ln() * double(0.5);
    let mut power = x;
    for (k, (above, below)) in (1..).zip(BERNOULLI) {
        if power.value() > 1e100 {
            break;
        }
        let k = k as f64;
        total = total + double(above) / (double(below * 2.0 * k * (2.0 * k - 1.0)) * power);
        power = power * x * x;
    }
    total - product.ln()
}

/// The derivative of log Γ, as lgamma.
fn digamma(x: f64) -> f64 {
    if x == 0.0 {
        f64::INFINITY.copysign(-x)
    } else if x < 0.0 && x == x.trunc() {
        f64::NAN
    } else if x.abs() < 1e-20 {
        -1.0 / x
    } else if x > 1e50 {
        x.ln()
    } else if x > 0.0 {
        digamma_of_positive(double(x)).value()
    } else {
        let (sin, cos) = double(x - x.round()).sin_cos_pi();
        (digamma_of_positive(double(1.0) - double(x)) - PI * cos / sin).value()
    }
}

fn digamma_of_positive(x: Double) -> Double {
    let (mut x, mut total) = (x, double(0.0));
    while x.value() < FAR {
        total = total - x.recip();
        x = x + double(1.0);
    }
    total = total + x.ln() - (x * double(2.0)).recip();
    let mut power = x * x;
    for (k, (above, below)) in (1..).zip(BERNOULLI) {
        if power.value() > 1e100 {
            break;
        }
        total = total - double(above) / (double(below * 2.0 * k as f64) * power);
        power = power * x * x;
    }
    total
}

/// How many ulps the cancellation in a function of one number costs a library in f64: the reflection of lgamma and
/// digamma subtracts terms that may be larger than the result.
pub fn lost_ulps(op: &str, x: f64, answer: f64) -> f64 {
    let terms = match op {
        "lgamma" if x < 0.0 => 2.0 * special(op, -x).unwrap_or(0.0).abs() + 2.0,
        "digamma" if x < 0.0 => 2.0 * special(op, 1.0 - x).unwrap_or(0.0).abs() + 2.0,
        _ => return 0.0,
    };
    if answer != 0.0 && answer.is_finite() && terms.is_finite() { 4.0 * terms / answer.abs() } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(op: &str, x: f64) -> f64 {
        special(op, x).unwrap()
    }

    /// Values from tables (Abramowitz and Stegun) and closed forms.
    #[test]
    fn known_values() {
        assert_eq!(at("erf", 0.5), 0.520_499_877_813_046_5);
        assert_eq!(at("erfc", 5.0), 1.537_459_794_428_035e-12);
        assert_eq!(at("erfc", 3.999), 1.554_474_949_099_499e-8);
        assert_eq!(at("erfc", -40.0), 2.0);
        assert_eq!(at("erf", -1.0), -0.842_700_792_949_714_9);
        assert_eq!(at("erfinv", 0.5), 0.476_936_276_204_469_9);
        assert_eq!(at("erfinv", -0.999), -2.326_753_765_513_524_6);
        assert_eq!(at("lgamma", 0.5), 0.572_364_942_924_700_1);
        assert_eq!(at("lgamma", 11.0), 3_628_800f64.ln());
        assert_eq!(at("lgamma", -0.5), 1.265_512_123_484_645_4);
        assert_eq!(at("digamma", 1.0), -0.577_215_664_901_532_9);
        assert_eq!(at("digamma", 0.5), -1.963_510_026_021_423_5);
        assert_eq!(at("digamma", -0.5), 0.036_489_973_978_576_52);
        assert_eq!(at("exp2", -3.0), 0.125);
        assert_eq!(at("exp2", 5000.0), f64::INFINITY);
        assert_eq!(at("exp2", -1074.0), 5e-324);
        assert_eq!(at("log2", 8.0), 3.0);
        assert_eq!(at("log10", 1e30), 30.0);
        assert_eq!(at("logit", 0.5), 0.0);
        assert_eq!(at("softplus", 0.0), 2f64.ln());
        assert_eq!(at("gelu", 1.0), 0.841_344_746_068_542_9);
        assert_eq!(at("silu", -1.0), -0.268_941_421_369_995_1);
        assert_eq!(at("asinh", 1.0), 0.881_373_587_019_543);
        assert_eq!(at("acosh", 2.0), 1.316_957_896_924_816_8);
        assert_eq!(at("atanh", 0.5), 0.549_306_144_334_054_9);
        assert_eq!(logaddexp(1.0, 1.0), 1.0 + 2f64.ln());
        assert_eq!(logaddexp(0.0, -100.0), (-100f64).exp());
        assert_eq!(xlogy(0.0, 0.0), 0.0);
    }
}
