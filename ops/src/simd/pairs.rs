//! Functions of two floats whose common case is branch-free arithmetic.

use super::exponential::exponential;
use super::float::Float;
use super::logarithm::{Log, of_one_more};
use super::power::Pow;
use super::quotients::{FloorDivide, Fmod, Remainder};
use super::{Function, Loop, above_baseline};
use crate::dtype::{Element, c64, c128};
use crate::groups::{Parts, each};
use crate::unary::special;
use std::marker::PhantomData;

/// A function of two floats, as [`Function`] is of one.
pub(super) trait Function2 {
    /// What it is for these, and whether that holds.
    fn fast<R: Float>(x: R, y: R) -> (R, bool);
    /// What it is where its ends are, and whether these are such arguments, as many may be: zeros, infinities, and all for which it is 0, infinite
    /// or not a number.
    #[inline(always)]
    fn end<R: Float>(_x: R, _y: R) -> (R, bool) {
        (R::ZERO, false)
    }
    /// For all other arguments, and for CPUs without fused multiply-add.
    fn exact<R: Float>(x: R, y: R) -> R;
    /// Writes what it is for a whole chunk, if that is simpler: the same bits.
    #[inline(always)]
    fn shortly<R: Float>(_x: &[R], _y: &[R], _out: &mut [R]) -> bool {
        false
    }
}

/// Whether a number is positive, normal and finite.
#[inline(always)]
pub(super) fn is_normal<R: Float>(x: R) -> bool {
    (x >= R::LEAST) & (x <= R::MOST)
}

/// Elements between two looks for arguments for which [`Function2::fast`] does not hold.
const CHUNK: usize = 256;

pub(super) struct Fast2<'a, F, R> {
    pub(super) x: &'a [R],
    pub(super) y: &'a [R],
    pub(super) out: &'a mut [R],
    pub(super) function: PhantomData<F>,
}

impl<F: Function2, R: Float> Loop for Fast2<'_, F, R> {
    type Output = ();
    #[inline(always)]
    fn run(self) {
        let (all_x, all_y) = (Parts::<R, CHUNK>::of(self.x), Parts::<R, CHUNK>::of(self.y));
        for (i, out) in self.out.chunks_mut(CHUNK).enumerate() {
            let (x, y) = (all_x.part(i * CHUNK, out.len()), all_y.part(i * CHUNK, out.len()));
            if F::shortly(x, y, out) {
                continue;
            }
            let mut held = [1u8; CHUNK];
            let mut all = 1;
            for (((out, &x), &y), held) in out.iter_mut().zip(x).zip(y).zip(&mut held) {
                let (value, holds) = F::fast(x, y);
                *out = value;
                *held = u8::from(holds);
                all &= *held;
            }
            if all == 0 {
                all = 1;
                for (((out, &x), &y), held) in out.iter_mut().zip(x).zip(y).zip(&mut held) {
                    let (value, holds) = F::end(x, y);
                    *out = if (*held == 0) & holds { value } else { *out };
                    *held |= u8::from(holds);
                    all &= *held;
                }
            }
            if all == 0 {
                repair::<F, R>(x, y, out, &held);
            }
        }
    }
}

#[cold]
#[inline(never)]
fn repair<F: Function2, R: Float>(x: &[R], y: &[R], out: &mut [R], held: &[u8; CHUNK]) {
    for (((out, x), y), _) in out.iter_mut().zip(x).zip(y).zip(held).filter(|(_, held)| **held == 0) {
        *out = F::exact(*x, *y);
    }
}

pub(super) fn apply<F: Function2, R: Float>(x: &[u8], y: &[u8], out: &mut [u8]) {
    elements::<F, R>(R::from_bytes(x), R::from_bytes(y), R::from_bytes_mut(out));
}

fn elements<F: Function2, R: Float>(x: &[R], y: &[R], out: &mut [R]) {
    if let Err(work) = above_baseline(Fast2 { x, y, out, function: PhantomData::<F> }) {
        each(work.x, work.y, work.out, F::exact::<R>);
    }
}

pub(super) struct Atan2;
impl Function2 for Atan2 {
    /// From the inverse tangent of the lesser magnitude over the greater.
    #[inline(always)]
    fn fast<R: Float>(y: R, x: R) -> (R, bool) {
        let (a, b) = (y.abs(), x.abs());
        let (less, more) = (if a < b { a } else { b }, if a < b { b } else { a });
        let quotient = less / more;
        let angle = quotient.angle_of();
        let [half_pi, low] = R::HALF_PI;
        let angle = if a > b { half_pi - (angle - low) } else { angle };
        let angle = if x < R::ZERO { R::TWO * half_pi - (angle - R::TWO * low) } else { angle };
        (angle.copysign(y), is_normal(more) & ((quotient >= R::LEAST) | (less == R::ZERO)))
    }
    /// Beside what is infinite all else is 0, and two infinite numbers are as 1 and 1; of two zeros the sign of the second says which way it goes.
    #[inline(always)]
    fn end<R: Float>(y: R, x: R) -> (R, bool) {
        let (is_nan, are_zero) = (x.is_nan() | y.is_nan(), (x == R::ZERO) & (y == R::ZERO));
        let (is_up, is_along) = (y.is_infinite(), x.is_infinite());
        let [half_pi, low] = R::HALF_PI;
        let upright = if is_along { R::HALF * half_pi } else { half_pi };
        let angle = if is_up { upright } else { R::ZERO };
        let is_left = x.is_sign_negative() & (is_along | are_zero);
        let angle = if is_left { R::TWO * half_pi - (angle - R::TWO * low) } else { angle };
        (if is_nan { R::nan() } else { angle.copysign(y) }, is_nan | is_up | is_along | are_zero)
    }
    fn exact<R: Float>(y: R, x: R) -> R {
        R::of(y.wide().atan2(x.wide()))
    }
}

/// A complex type of two floats.
pub(crate) trait Complex {
    #[allow(private_bounds)] // named by no other module
    type Part: Float;
}
impl Complex for c64 {
    type Part = f32;
}
impl Complex for c128 {
    type Part = f64;
}

/// The angles of a block of complex numbers: [`atan2_f32`] or [`atan2_f64`] of their parts.
pub(crate) fn angle<C: Complex>(x: &[u8], out: &mut [u8]) {
    let (x, _) = C::Part::from_bytes(x).as_chunks::<2>();
    let [mut re, mut im] = [[C::Part::default(); CHUNK]; 2];
    for (x, out) in x.chunks(CHUNK).zip(C::Part::from_bytes_mut(out).chunks_mut(CHUNK)) {
        re.iter_mut().zip(&mut im).zip(x).for_each(|((re, im), x)| [*re, *im] = *x);
        elements::<Atan2, _>(&im[..x.len()], &re[..x.len()], out);
    }
}

struct Logaddexp;
impl Function2 for Logaddexp {
    #[inline(always)]
    fn fast<R: Float>(a: R, b: R) -> (R, bool) {
        let (less, more) = if a < b { (a, b) } else { (b, a) };
        (more + of_one_more(exponential(less - more)), less - more >= -R::LARGE)
    }
    /// Nothing is added to what is infinite or much greater, and to −∞ nothing but itself.
    #[inline(always)]
    fn end<R: Float>(a: R, b: R) -> (R, bool) {
        let (less, more) = if a < b { (a, b) } else { (b, a) };
        let is_nan = a.is_nan() | b.is_nan();
        let is_alone =
            (less == R::neg_infinity()) | (more == R::infinity()) | (less - more < -R::LARGE) & (more.abs() > R::ONE);
        (if is_nan { a + b } else { more + R::ZERO }, is_nan | is_alone)
    }
    fn exact<R: Float>(a: R, b: R) -> R {
        R::of(special::logaddexp(a.wide(), b.wide()))
    }
}

struct Xlogy;
impl Function2 for Xlogy {
    #[inline(always)]
    fn fast<R: Float>(a: R, b: R) -> (R, bool) {
        (if a == R::ZERO { R::ZERO } else { a * Log::fast(b) }, is_normal(b))
    }
    /// 0 times whatever is a number is 0, as that of a probability of 0 is.
    #[inline(always)]
    fn end<R: Float>(a: R, b: R) -> (R, bool) {
        let is_zero = (a == R::ZERO) & !b.is_nan();
        let log = if b.is_nan() { b } else { Log::end(b, R::ZERO) };
        let is_end = (b <= R::ZERO) | (b == R::infinity()) | b.is_nan();
        (if is_zero { R::ZERO } else { a * log }, is_zero | is_end)
    }
    fn exact<R: Float>(a: R, b: R) -> R {
        R::of(special::xlogy(a.wide(), b.wide()))
    }
}

struct Hypot;
impl Function2 for Hypot {
    #[inline(always)]
    fn fast<R: Float>(x: R, y: R) -> (R, bool) {
        (Hypot::exact(x, y), true)
    }
    /// All of it is arithmetic.
    #[inline(always)]
    fn exact<R: Float>(x: R, y: R) -> R {
        R::of(special::hypot(x.wide(), y.wide()))
    }
}

macro_rules! functions {
    ($($function:ident, $what:literal: $f32:ident $f64:ident;)+) => {$(
        #[doc = concat!("The ", $what, " of each of a block of `f32` and each of another.")]
        pub fn $f32(x: &[u8], y: &[u8], out: &mut [u8]) {
            apply::<$function, f32>(x, y, out);
        }
        #[doc = concat!("The ", $what, " of each of a block of `f64` and each of another.")]
        pub fn $f64(x: &[u8], y: &[u8], out: &mut [u8]) {
            apply::<$function, f64>(x, y, out);
        }
    )+};
}

functions! {
    Pow, "power": pow_f32 pow_f64;
    Atan2, "angle of the point": atan2_f32 atan2_f64;
    Hypot, "length of the hypotenuse": hypot_f32 hypot_f64;
    Logaddexp, "logarithm of the sum of the exponentials": logaddexp_f32 logaddexp_f64;
    Xlogy, "product with the logarithm": xlogy_f32 xlogy_f64;
    FloorDivide, "quotient rounded down": floor_divide_f32 floor_divide_f64;
    Remainder, "remainder of the quotient rounded down": remainder_f32 remainder_f64;
    Fmod, "remainder of the quotient cut to an integer": fmod_f32 fmod_f64;
}

#[cfg(test)]
mod tests {
    use super::super::level::{Level, run_at};
    use super::super::tests::{Random, ulps, ulps_of_single};
    use super::*;
    use crate::dtype::Element;

    type Pair = (fn(&[u8], &[u8], &mut [u8]), fn(f64, f64) -> f64, u64);

    const PAIRS: [Pair; 4] = [
        (atan2_f64, f64::atan2, 2),
        (logaddexp_f64, special::logaddexp, 2),
        (xlogy_f64, special::xlogy, 2),
        (hypot_f64, f64::hypot, 1),
    ];

    fn run64(block: fn(&[u8], &[u8], &mut [u8]), x: &[f64], y: &[f64]) -> Vec<f64> {
        let mut out = vec![f64::NAN; x.len()];
        block(f64::as_bytes(x), f64::as_bytes(y), bytemuck::cast_slice_mut(&mut out));
        out
    }

    #[test]
    fn within_ulps() {
        let mut random = Random(8);
        for (a, b) in [(1.0, 1.0), (1e-3, 1e3), (1e300, 1.0), (30.0, 30.0), (1e-300, 1e-200), (700.0, 5.0)] {
            let x: Vec<f64> = (0..100_000).map(|_| random.within(a)).collect();
            let y: Vec<f64> = (0..100_000).map(|_| random.within(b)).collect();
            for (i, (block, exact, limit)) in PAIRS.into_iter().enumerate() {
                // A sum of exponentials near one has a logarithm near zero, of which no bound holds relative to itself.
                let off = |f: f64, x: f64, y: f64| {
                    let exact = exact(x, y);
                    let near = i == 1 && (f - exact).abs() <= f64::EPSILON * x.abs().max(y.abs()).max(1.0);
                    if near { 0 } else { ulps(f, exact) }
                };
                let all = run64(block, &x, &y);
                let worst =
                    all.iter().zip(x.iter().zip(&y)).map(|(&f, (&x, &y))| (off(f, x, y), x, y)).max_by_key(|w| w.0);
                assert!(worst.is_some_and(|w| w.0 <= limit), "function {i} within {a}, {b}: {worst:?}");
            }
        }
    }

    #[test]
    fn special_values() {
        let (inf, least) = (f64::INFINITY, 5e-324);
        let some = [0.0, -0.0, 1.0, -1.0, 2.5, -2.5, 1e300, -1e300, 1e-300, least, -1e-310, inf, -inf, f64::NAN, 709.0];
        let (x, y): (Vec<f64>, Vec<f64>) = some.iter().flat_map(|&x| some.iter().map(move |&y| (x, y))).unzip();
        for (i, (block, exact, limit)) in PAIRS.into_iter().enumerate() {
            for (f, (&x, &y)) in run64(block, &x, &y).into_iter().zip(x.iter().zip(&y)) {
                let exact = exact(x, y);
                let same = f.is_nan() || f.is_sign_negative() == exact.is_sign_negative();
                assert!(ulps(f, exact) <= limit && same, "function {i} of {x} and {y}: {f}, not {exact}");
            }
        }
    }

    #[test]
    fn singles_within_ulps() {
        let mut random = Random(9);
        for (a, b) in [(9.0, 20.0), (1e-3, 1e3), (1e30, 1.0), (80.0, 80.0), (1e-30, 1e-20)] {
            let mut some = |bound: f64| (0..100_000).map(|_| random.within(bound) as f32).collect::<Vec<f32>>();
            let (x, y) = (some(a), some(b));
            for (i, (block, exact, limit)) in [
                (atan2_f32 as fn(&[u8], &[u8], &mut [u8]), f64::atan2 as fn(f64, f64) -> f64, 2.0),
                (logaddexp_f32, special::logaddexp, 1.0),
                (xlogy_f32, special::xlogy, 1.8),
                (hypot_f32, f64::hypot, 0.51),
            ]
            .into_iter()
            .enumerate()
            {
                let mut out = vec![0f32; x.len()];
                block(f32::as_bytes(&x), f32::as_bytes(&y), bytemuck::cast_slice_mut(&mut out));
                let off = |f: f32, x: f32, y: f32| {
                    let exact = exact(x.into(), y.into());
                    let near = f64::from(f32::EPSILON * x.abs().max(y.abs()).max(1.0));
                    if i == 1 && (f64::from(f) - exact).abs() <= near { 0.0 } else { ulps_of_single(f, exact) }
                };
                let worst = out
                    .iter()
                    .zip(x.iter().zip(&y))
                    .map(|(&f, (&x, &y))| (off(f, x, y), x, y))
                    .max_by(|a, b| a.0.total_cmp(&b.0));
                assert!(worst.is_some_and(|w| w.0 <= limit), "function {i} within {a}, {b}: {worst:?}");
            }
        }
    }

    /// What a function gives does not depend on whether a chunk has others for which the common way does not hold.
    #[test]
    fn no_pair_changes_what_others_give() {
        let mut random = Random(10);
        let some = [0.0, -0.0, 1.0, -1.0, 0.5, 2.0, -2.5, 3.0, 1e30, 1e-30, -1e300, f64::INFINITY, f64::NEG_INFINITY];
        let mut x: Vec<f64> = some.iter().flat_map(|&x| [x; 13]).collect();
        let mut y: Vec<f64> = some.iter().cycle().take(13 * 13).copied().collect();
        for scale in [1.0, 30.0, 800.0] {
            x.extend((0..300).map(|_| random.within(scale)));
            y.extend((0..300).map(|_| random.within(scale)));
        }
        let blocks = [pow_f64 as fn(&[u8], &[u8], &mut [u8]), atan2_f64, logaddexp_f64, xlogy_f64, hypot_f64];
        for (i, block) in blocks.into_iter().enumerate() {
            for (other_x, other_y) in [(f64::NAN, 1.0), (0.0, 0.0), (f64::INFINITY, -2.0), (-0.5, 0.25), (1e-310, 7.0)]
            {
                let beside = |v: &[f64], other| v.iter().flat_map(|&v| [v, other]).collect::<Vec<f64>>();
                let all = run64(block, &beside(&x, other_x), &beside(&y, other_y));
                for (f, (&x, &y)) in all.into_iter().step_by(2).zip(x.iter().zip(&y)) {
                    let alone = run64(block, &[x], &[y])[0];
                    assert!(alone.to_bits() == f.to_bits() || alone.is_nan() && f.is_nan(), "function {i} of {x}, {y}");
                }
            }
        }
    }

    #[test]
    fn places_and_vector_widths_agree() {
        fn check<F: Function2>(x: &[f64], y: &[f64]) {
            let at = |level, range: std::ops::Range<usize>| {
                let mut out = vec![0.0; range.len()];
                let (x, y) = (&x[range.clone()], &y[range]);
                run_at(level, Fast2 { x, y, out: &mut out, function: PhantomData::<F> });
                out.into_iter().map(f64::to_bits).collect::<Vec<u64>>()
            };
            let whole = at(Level::Avx512, 0..x.len());
            assert_eq!(at(Level::Avx2, 0..x.len()), whole);
            for start in [1, 7, 250, 990] {
                assert_eq!(at(Level::Avx512, start..start + 9), whole[start..start + 9]);
            }
        }
        let mut random = Random(7);
        let mut x: Vec<f64> = (0..1001).map(|i| if i % 97 == 0 { 0.0 } else { random.within(9.0) }).collect();
        [x[0], x[300], x[777]] = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY];
        let y: Vec<f64> = (0..1001).map(|i| if i % 3 == 0 { f64::from(i % 7) } else { random.within(90.0) }).collect();
        check::<Pow>(&x, &y);
        check::<Atan2>(&x, &y);
        check::<Logaddexp>(&x, &y);
        check::<Xlogy>(&x, &y);
        check::<Hypot>(&x, &y);
    }
}
