//! Powers of floats: the logarithm as a sum of two floats, times the exponent, through the exponential.

use super::exponential::reduced_exponential;
use super::float::Float;
use super::pairs::{Function2, is_normal};
use super::polynomial;

/// The natural logarithm of a positive normal number, as a sum of two floats, within 2^-65 of itself (of `f32`, within 2^-33).
#[inline(always)]
pub(super) fn logarithm<R: Float>(x: R) -> (R, R) {
    let third = R::of(1.0 / 3.0);
    let (k, f) = x.split();
    // s = f / (2 + f), of which the logarithm is 2s + 2s · (s²/3 + s⁴/5 + …); names that end in 1 are what the other rounds away.
    let d = R::TWO + f;
    let d1 = f - (d - R::TWO);
    let inverse = R::ONE / d;
    let s = f * inverse;
    let s1 = s.mul_add(-d1, s.mul_add(-d, f)) * inverse;
    let z = s * s;
    let z1 = (R::TWO * s).mul_add(s1, s.mul_add(s, -z));
    let rest = polynomial(z, R::REST);
    let q = z * rest;
    let u = third + q;
    let u1 = ((third - u) + q) + z1.mul_add(rest, R::THIRD_LOW);
    let w = z * u;
    let w1 = z1.mul_add(u, z.mul_add(u1, z.mul_add(u, -w)));
    let (twice, twice1) = (R::TWO * s, R::TWO * s1);
    let v = twice * w;
    let v1 = twice1.mul_add(w, twice.mul_add(w1, twice.mul_add(w, -v)));
    let l = twice + v;
    let l1 = ((twice - l) + v) + (v1 + twice1);
    // The first product is exact, and 0 or greater than the logarithm of the mantissa.
    let e = k * R::SHORT_LN_2[0];
    let high = e + l;
    (high, ((e - high) + l) + k.mul_add(R::SHORT_LN_2[1], l1))
}

/// `x` to the power of `y`, and whether that holds: else [`Pow::exact`] is to be asked.
#[inline(always)]
fn power<R: Float>(x: R, y: R) -> (R, bool) {
    let positive = x.abs();
    let (log, log1) = logarithm(positive);
    let product = y * log;
    let value = reduced_exponential(product, y.mul_add(log1, y.mul_add(log, -product)));
    // Of negative numbers there are powers by integers.
    let (negative, half) = (x < R::ZERO, R::HALF * y);
    let odd = half != half.floor();
    let value = value.negated_if(negative & odd);
    let holds = is_normal(positive) & (product.abs() <= R::LARGE) & (!negative | (y == y.floor()));
    // Those that are made at once: squares and cubes here, the others elsewhere.
    let (is_square, is_cube) = (y == R::TWO, y == R::of(3.0));
    let whole = if is_cube { Short::Cube.raised(x) } else { Short::Square.raised(x) };
    let is_other = (y == R::HALF) | (y == -R::ONE);
    (if is_square | is_cube { whole } else { value }, (holds & !is_other) | is_square | is_cube)
}

/// Powers that are made by an operation or two: square, cube, inverse and root.
#[derive(Clone, Copy)]
enum Short {
    Square,
    Cube,
    Inverse,
    Root,
}

impl Short {
    #[inline(always)]
    fn of<R: Float>(y: R) -> Option<Short> {
        [(R::TWO, Short::Square), (R::of(3.0), Short::Cube), (-R::ONE, Short::Inverse), (R::HALF, Short::Root)]
            .into_iter()
            .find_map(|(is, short)| (y == is).then_some(short))
    }

    #[inline(always)]
    fn raised<R: Float>(self, x: R) -> R {
        match self {
            Short::Square => x * x,
            Short::Cube => x * x * x,
            Short::Inverse => R::ONE / x,
            // Of negative zero it is zero, and of negative infinity infinity (C's Annex F).
            Short::Root => (if x == R::neg_infinity() { R::infinity() } else { x }).sqrt() + R::ZERO,
        }
    }
}

pub(super) struct Pow;
impl Function2 for Pow {
    #[inline(always)]
    fn fast<R: Float>(x: R, y: R) -> (R, bool) {
        power(x, y)
    }
    /// Roots and inverses; C's Annex F; and where the exponential of the product is 0 or infinite for sure. What is near that is left to [`Pow::exact`].
    #[inline(always)]
    fn end<R: Float>(x: R, y: R) -> (R, bool) {
        let positive = x.abs();
        let is_one = (x == R::ONE) | (y == R::ZERO);
        let is_nan = x.is_nan() | y.is_nan() | (x < R::ZERO) & (x > R::neg_infinity()) & (y != y.floor());
        let (is_zero, is_infinite) = (positive == R::ZERO, positive == R::infinity());
        // The logarithm but for a fiftieth of it, by three terms of its series.
        let (k, f) = positive.split();
        let log =
            k.mul_add(R::of(std::f64::consts::LN_2), f * f.mul_add(f.mul_add(R::of(1.0 / 3.0), -R::HALF), R::ONE));
        let (product, more) = (y * log, R::of(1.03));
        let is_above =
            is_zero & (y < R::ZERO) | is_infinite & (y > R::ZERO) | is_normal(positive) & (product >= more * R::OVER);
        let is_nothing =
            is_zero & (y > R::ZERO) | is_infinite & (y < R::ZERO) | is_normal(positive) & (product <= -more * R::UNDER);
        let half = R::HALF * y;
        let is_odd = (half != half.floor()) & (y == y.floor());
        let value = if is_above { R::infinity() } else { R::ZERO };
        let value = value.negated_if(x.is_sign_negative() & is_odd);
        let value = if is_nan { R::nan() } else { value };
        let value = if is_one { R::ONE } else { value };
        let (is_root, is_inverse) = (y == R::HALF, y == -R::ONE);
        let short = if is_root { Short::Root.raised(x) } else { Short::Inverse.raised(x) };
        (
            if is_root | is_inverse { short } else { value },
            is_root | is_inverse | is_one | is_nan | is_above | is_nothing,
        )
    }
    /// Short ones as everywhere, so that bits do not depend on what else is in a block.
    fn exact<R: Float>(x: R, y: R) -> R {
        Short::of(y).map_or_else(|| R::of(x.wide().powf(y.wide())), |short| short.raised(x))
    }
    #[inline(always)]
    fn shortly<R: Float>(x: &[R], y: &[R], out: &mut [R]) -> bool {
        let Some(&first) = y.first() else { return true };
        let are_alike = y.iter().fold(true, |all, &y| all & (y == first));
        let Some(short) = Short::of(first).filter(|_| are_alike) else { return false };
        // Each a loop of its own.
        let pairs = out.iter_mut().zip(x);
        match short {
            Short::Square => pairs.for_each(|(out, &x)| *out = Short::Square.raised(x)),
            Short::Cube => pairs.for_each(|(out, &x)| *out = Short::Cube.raised(x)),
            Short::Inverse => pairs.for_each(|(out, &x)| *out = Short::Inverse.raised(x)),
            Short::Root => pairs.for_each(|(out, &x)| *out = Short::Root.raised(x)),
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::super::pairs::apply;
    use super::super::tests::{Random, ulps, ulps_of_single};
    use super::super::{Level, pow_f32, pow_f64, set_level};
    use super::*;
    use crate::dtype::Element;

    fn run64(x: &[f64], y: &[f64]) -> Vec<f64> {
        let mut out = vec![f64::NAN; x.len()];
        pow_f64(f64::as_bytes(x), f64::as_bytes(y), bytemuck::cast_slice_mut(&mut out));
        out
    }

    fn run32(x: &[f32], y: &[f32]) -> Vec<f32> {
        let mut out = vec![f32::NAN; x.len()];
        pow_f32(f32::as_bytes(x), f32::as_bytes(y), bytemuck::cast_slice_mut(&mut out));
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

    /// Wherever they stand, and at each level: what else is in a block changes no bit.
    #[test]
    fn short_powers_are_made_at_once() {
        fn bits<R: Float + bytemuck::Pod>(x: &[R], y: &[R]) -> Vec<f64> {
            let mut out = vec![R::ZERO; x.len()];
            apply::<Pow, R>(R::as_bytes(x), R::as_bytes(y), bytemuck::cast_slice_mut(&mut out));
            out.into_iter().map(R::wide).collect()
        }
        fn check<R: Float + bytemuck::Pod>(mut x: Vec<R>) {
            x.extend([R::nan(), R::infinity(), R::neg_infinity(), -R::ZERO, R::LEAST / R::TWO, R::MOST, -R::LEAST]);
            let same = |a: f64, b: R| a.to_bits() == b.wide().to_bits() || a.is_nan() && b.is_nan();
            let powers: [(f64, fn(R) -> R); 4] =
                [(2.0, |x| x * x), (3.0, |x| x * x * x), (-1.0, |x| R::ONE / x), (0.5, |x| x.sqrt() + R::ZERO)];
            for level in Level::ALL {
                set_level(Some(level));
                for (y, wanted) in powers {
                    let wanted = |x: R| if y == 0.5 && x == R::neg_infinity() { R::infinity() } else { wanted(x) };
                    let alone = bits(&x, &vec![R::of(y); x.len()]);
                    assert!(alone.iter().zip(&x).all(|(&found, &x)| same(found, wanted(x))), "{y} at {level:?}");
                    let of_one = bits(&x, &[R::of(y)]);
                    assert!(of_one.iter().zip(&x).all(|(&found, &x)| same(found, wanted(x))), "{y} at {level:?}");
                    let mixed: Vec<R> = (0..x.len()).map(|i| R::of(if i % 3 == 0 { y } else { 1.5 })).collect();
                    let mixed = bits(&x, &mixed);
                    assert!(
                        mixed.iter().zip(&x).step_by(3).all(|(&found, &x)| same(found, wanted(x))),
                        "{y} at {level:?}"
                    );
                }
            }
            set_level(None);
        }
        check::<f64>((0..1000).map(|i| f64::from(i - 500) * 1.000_1).collect());
        check::<f32>((0..1000).map(|i| (i - 500) as f32 * 1.000_1).collect());
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
    fn singles_within_an_ulp() {
        let mut random = Random(6);
        for (base, exponent) in [(20.0, 9.0), (1.0, 80.0), (1e30, 1.0), (1e-30, 2.0), (1e4, 9.0)] {
            let x: Vec<f32> = (0..100_000).map(|_| random.within(base) as f32).collect();
            let mut some =
                |i: usize| if i.is_multiple_of(2) { (i % 19) as f32 } else { random.within(exponent) as f32 };
            let y: Vec<f32> = (0..x.len()).map(&mut some).collect();
            let off = run32(&x, &y).into_iter().zip(x.iter().zip(&y));
            // Of cubes both products are rounded.
            let limit = |y: f32| if y == 3.0 { 1.3 } else { 1.0 };
            let off = off.map(|(p, (&x, &y))| (ulps_of_single(p, f64::from(x).powf(y.into())) / limit(y), x, y));
            let worst = off.max_by(|a, b| a.0.total_cmp(&b.0));
            assert!(worst.is_some_and(|w| w.0 <= 1.0), "{base} {exponent}: {worst:?}");
        }
        // Near one, with great exponents.
        let x: Vec<f32> = (0..100_000).map(|_| (1.0 + random.within(1e-3)) as f32).collect();
        let y: Vec<f32> = (0..100_000).map(|_| random.within(8e4) as f32).collect();
        let all = run32(&x, &y).into_iter().zip(x.iter().zip(&y));
        let worst = all.map(|(p, (&x, &y))| ulps_of_single(p, f64::from(x).powf(y.into()))).max_by(f64::total_cmp);
        assert!(worst.is_some_and(|w| w <= 1.0), "{worst:?}");
    }

    #[test]
    fn powers_of_integers_are_exact_singles() {
        let (mut x, mut y, mut wanted) = (Vec::new(), Vec::new(), Vec::new());
        for base in -300i16..=300 {
            for exponent in 0..25u8 {
                let power = i64::from(base).checked_pow(exponent.into()).filter(|p| p.unsigned_abs() <= 1 << 24);
                if let Some(power) = power {
                    x.push(f32::from(base));
                    y.push(f32::from(exponent));
                    wanted.push(power as f32);
                }
            }
        }
        assert_eq!(run32(&x, &y), wanted);
        let roots: Vec<f32> = (1..3000u16).map(f32::from).collect();
        let squares: Vec<f32> = roots.iter().map(|r| r * r).collect();
        assert_eq!(run32(&squares, &vec![0.5; squares.len()]), roots);
    }
}
