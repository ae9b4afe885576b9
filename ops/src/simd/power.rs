//! Powers of floats: the logarithm as a sum of two floats, times the exponent, through the exponential.

use super::exponential::{exponential_narrow, reduced_exponential};
use super::logarithm::{LN_2, logarithm as plain_logarithm, split};
use super::pairs::Function2;
use super::{Float, polynomial};

/// The natural logarithm of a positive normal number, as a sum of two floats, within 2^-65 of itself.
#[inline(always)]
pub(super) fn logarithm(x: f64) -> (f64, f64) {
    /// 1/3 in two floats.
    const THIRD: [f64; 2] = [1.0 / 3.0, 1.850_371_707_708_594e-17];
    /// What follows in the series of the inverse hyperbolic tangent.
    const REST: [f64; 12] = [
        1.0 / 5.0,
        1.0 / 7.0,
        1.0 / 9.0,
        1.0 / 11.0,
        1.0 / 13.0,
        1.0 / 15.0,
        1.0 / 17.0,
        1.0 / 19.0,
        1.0 / 21.0,
        1.0 / 23.0,
        1.0 / 25.0,
        1.0 / 27.0,
    ];
    let (k, f) = split(x);
    // s = f / (2 + f), of which the logarithm is 2s + 2s · (s²/3 + s⁴/5 + …); names that end in 1 are what the other rounds away.
    let d = 2.0 + f;
    let d1 = f - (d - 2.0);
    let inverse = 1.0 / d;
    let s = f * inverse;
    let s1 = s.mul_add(-d1, s.mul_add(-d, f)) * inverse;
    let z = s * s;
    let z1 = (2.0 * s).mul_add(s1, s.mul_add(s, -z));
    let rest = polynomial(z, &REST);
    let q = z * rest;
    let u = THIRD[0] + q;
    let u1 = ((THIRD[0] - u) + q) + z1.mul_add(rest, THIRD[1]);
    let w = z * u;
    let w1 = z1.mul_add(u, z.mul_add(u1, z.mul_add(u, -w)));
    let (twice, twice1) = (2.0 * s, 2.0 * s1);
    let v = twice * w;
    let v1 = twice1.mul_add(w, twice.mul_add(w1, twice.mul_add(w, -v)));
    let l = twice + v;
    let l1 = ((twice - l) + v) + (v1 + twice1);
    // The first product is exact, and 0 or greater than the logarithm of the mantissa.
    let e = k * LN_2[0];
    let high = e + l;
    (high, ((e - high) + l) + k.mul_add(LN_2[1], l1))
}

/// What a product of a logarithm and an exponent is, and `e` to the power of it.
type Raised = (f64, f64);

/// A positive normal number to the power of `y`.
#[inline(always)]
fn raised(x: f64, y: f64) -> Raised {
    let (log, log1) = logarithm(x);
    let product = y * log;
    (product, reduced_exponential(product, y.mul_add(log1, y.mul_add(log, -product))))
}

/// The same for `f32`, of which neither logarithm nor product need a second float: where the result is one of `f32` the product is at most
/// 104, of which an error of 2^-50 of it is 2^-43 of the result.
#[inline(always)]
fn raised_narrow(x: f64, y: f64) -> Raised {
    let (k, f) = split(x);
    let product = y * plain_logarithm(k, f, 0.0);
    (product, exponential_narrow(product))
}

/// `x` to the power of `y`, and whether that holds: else the standard library is to be asked.
#[inline(always)]
fn power(x: f64, y: f64, raised: impl Fn(f64, f64) -> Raised) -> (f64, bool) {
    const SIGN: u64 = 1 << 63;
    let positive = x.abs();
    let (product, value) = raised(positive, y);
    // Of negative numbers there are powers by integers.
    let (negative, half) = (x < 0.0, 0.5 * y);
    let odd = half != half.floor();
    let value = f64::from_bits(value.to_bits() ^ if negative & odd { SIGN } else { 0 });
    let normal = (f64::MIN_POSITIVE..=f64::MAX).contains(&positive);
    let holds = normal & (product.abs() <= 708.0) & (!negative | (y == y.floor()));
    let is_square = y == 2.0;
    (if is_square { x * x } else { value }, holds | is_square)
}

/// The standard library's power; squares as all code here makes them, so that bits do not depend on what else is in a block.
fn slowly(x: f64, y: f64) -> f64 {
    if y == 2.0 { x * x } else { x.powf(y) }
}

pub(super) struct Pow;
impl Function2 for Pow {
    #[inline(always)]
    fn fast(x: f64, y: f64) -> (f64, bool) {
        power(x, y, raised)
    }
    #[inline(always)]
    fn fast_narrow(x: f64, y: f64) -> (f64, bool) {
        power(x, y, raised_narrow)
    }
    fn exact(x: f64, y: f64) -> f64 {
        slowly(x, y)
    }
    #[inline(always)]
    fn shortly<T: Float>(x: &[T], y: &[T], out: &mut [T]) -> bool {
        let are_squares = y.iter().fold(true, |all, y| all & (y.wide() == 2.0));
        if are_squares {
            out.iter_mut().zip(x).for_each(|(out, x)| *out = T::round(x.wide() * x.wide()));
        }
        are_squares
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{Random, ulps};
    use super::super::{pow_f32, pow_f64};
    use crate::dtype::Element;

    fn run64(x: &[f64], y: &[f64]) -> Vec<f64> {
        let mut out = vec![f64::NAN; x.len()];
        pow_f64(f64::as_bytes(x), f64::as_bytes(y), bytemuck::cast_slice_mut(&mut out));
        out
    }

    #[test]
    fn within_an_ulp_of_std() {
        let mut random = Random(5);
        for (base, exponent) in [(1.0, 1.0), (4.0, 10.0), (1e-3, 200.0), (1e300, 1.0), (1e-300, 2.0), (1e5, 50.0)] {
            let x: Vec<f64> = (0..200_000).map(|_| random.within(base).abs()).collect();
            let y: Vec<f64> = (0..200_000).map(|_| random.within(exponent)).collect();
            let powers = run64(&x, &y);
            let off = powers.iter().zip(x.iter().zip(&y)).map(|(&p, (x, y))| (ulps(p, x.powf(*y)), *x, *y));
            let worst = off.max_by_key(|w| w.0);
            assert!(worst.is_some_and(|w| w.0 <= 1), "{base} {exponent}: {worst:?}");
        }
        // Near one, with great exponents.
        let x: Vec<f64> = (0..400_000).map(|_| 1.0 + random.within(1e-3)).collect();
        let y: Vec<f64> = (0..400_000).map(|_| random.within(7e5)).collect();
        assert!(run64(&x, &y).iter().zip(x.iter().zip(&y)).all(|(&p, (x, y))| ulps(p, x.powf(*y)) <= 1));
    }

    /// Wherever it stands: what else is in a block changes no bit.
    #[test]
    fn squares_are_products() {
        let mut x: Vec<f64> = (0..1000).map(|i| f64::from(i - 500) * 1.000_1).collect();
        x.extend([f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0, 1e-200, 1e200, -5e-324]);
        let squares: Vec<u64> = x.iter().map(|x| (x * x).to_bits()).collect();
        let bits = |y: &[f64]| run64(&x, y).iter().map(|p| p.to_bits()).collect::<Vec<_>>();
        let same = |a: u64, b: u64| a == b || f64::from_bits(a).is_nan() && f64::from_bits(b).is_nan();
        assert!(bits(&vec![2.0; x.len()]).iter().zip(&squares).all(|(&a, &b)| same(a, b)));
        let mixed: Vec<f64> = (0..x.len()).map(|i| if i % 3 == 0 { 2.0 } else { 1.5 }).collect();
        assert!(bits(&mixed).iter().zip(&squares).step_by(3).all(|(&a, &b)| same(a, b)));
    }

    #[test]
    fn powers_of_integers_are_exact() {
        let (mut x, mut y, mut wanted) = (Vec::new(), Vec::new(), Vec::new());
        for base in -300i64..=300 {
            for exponent in 0..50u32 {
                if let Some(power) = base.checked_pow(exponent).filter(|p| p.unsigned_abs() < 1 << 53) {
                    x.push(base as f64);
                    y.push(f64::from(exponent));
                    wanted.push(power as f64);
                }
            }
        }
        assert_eq!(run64(&x, &y), wanted);
        let roots: Vec<f64> = (1..3000).map(f64::from).collect();
        let squares: Vec<f64> = roots.iter().map(|r| r * r).collect();
        assert_eq!(run64(&squares, &vec![0.5; squares.len()]), roots);
    }

    #[test]
    fn special_values() {
        let some = [
            0.0,
            -0.0,
            1.0,
            -1.0,
            0.5,
            2.0,
            -2.0,
            3.0,
            -3.0,
            2.5,
            -2.5,
            1e300,
            -1e300,
            1e-300,
            5e-324,
            -1e-310,
            f64::INFINITY,
            f64::NEG_INFINITY,
            f64::NAN,
            9_007_199_254_740_991.0,
            -9_007_199_254_740_993.0,
            1e19,
        ];
        let pairs: Vec<(f64, f64)> = some.iter().flat_map(|&x| some.iter().map(move |&y| (x, y))).collect();
        let (x, y): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
        for (p, (x, y)) in run64(&x, &y).into_iter().zip(pairs) {
            let exact = x.powf(y);
            assert!(
                ulps(p, exact) <= 1 && (p.is_nan() || p.is_sign_negative() == exact.is_sign_negative()),
                "{x}^{y}: {p}"
            );
        }
    }

    #[test]
    fn singles_are_rounded_once() {
        let mut random = Random(6);
        let x: Vec<f32> = (0..100_000).map(|_| random.within(20.0) as f32).collect();
        let y: Vec<f32> = x
            .iter()
            .enumerate()
            .map(|(i, _)| if i % 2 == 0 { (i % 19) as f32 } else { random.within(9.0) as f32 })
            .collect();
        let mut out = vec![0f32; x.len()];
        pow_f32(f32::as_bytes(&x), f32::as_bytes(&y), bytemuck::cast_slice_mut(&mut out));
        let same = |p: f32, x: f32, y: f32| {
            let exact = f64::from(x).powf(f64::from(y)) as f32;
            p == exact || (p.is_nan() && exact.is_nan())
        };
        assert!(out.iter().zip(x.iter().zip(&y)).filter(|(p, (x, y))| !same(**p, **x, **y)).count() <= 2);
    }
}
