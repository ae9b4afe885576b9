//! Functions of two floats whose common case is branch-free arithmetic.

use super::arc::{FRAC_PI_2, angle_of};
use super::exponential::{LARGE_EXPONENT, exponential, exponential_narrow};
use super::logarithm::{Log, of_one_more, of_one_more_narrow};
use super::power::Pow;
use super::{Float, Function, Level, Loop, level, vectorised};
use crate::dtype::{Element, c64, c128};
use crate::groups::{Parts, each};
use crate::unary::special;
use std::marker::PhantomData;

/// A function of two floats, as [`Function`] is of one.
pub(super) trait Function2 {
    /// What it is for these, and whether that holds.
    fn fast(x: f64, y: f64) -> (f64, bool);
    /// The same for arguments and a result of `f32`.
    #[inline(always)]
    fn fast_narrow(x: f64, y: f64) -> (f64, bool) {
        Self::fast(x, y)
    }
    /// For all other arguments, and for CPUs without fused multiply-add.
    fn exact(x: f64, y: f64) -> f64;
    /// Writes what it is for a whole chunk, if that is simpler: the same bits.
    #[inline(always)]
    fn shortly<T: Float>(_x: &[T], _y: &[T], _out: &mut [T]) -> bool {
        false
    }
}

/// Elements between two looks for arguments for which [`Function2::fast`] does not hold.
const CHUNK: usize = 256;

pub(super) struct Fast2<'a, F, T> {
    pub(super) x: &'a [T],
    pub(super) y: &'a [T],
    pub(super) out: &'a mut [T],
    pub(super) function: PhantomData<F>,
}

impl<F: Function2, T: Float> Loop for Fast2<'_, F, T> {
    type Output = ();
    #[inline(always)]
    fn run(self) {
        let (all_x, all_y) = (Parts::<T, CHUNK>::of(self.x), Parts::<T, CHUNK>::of(self.y));
        for (i, out) in self.out.chunks_mut(CHUNK).enumerate() {
            let (x, y) = (all_x.part(i * CHUNK, out.len()), all_y.part(i * CHUNK, out.len()));
            if F::shortly(x, y, out) {
                continue;
            }
            let mut held = [1u8; CHUNK];
            let mut all = 1;
            for (((out, x), y), held) in out.iter_mut().zip(x).zip(y).zip(&mut held) {
                let (value, holds) = if const { size_of::<T>() == 4 } {
                    F::fast_narrow(x.wide(), y.wide())
                } else {
                    F::fast(x.wide(), y.wide())
                };
                *out = T::round(value);
                *held = u8::from(holds);
                all &= *held;
            }
            if all == 0 {
                repair::<F, T>(x, y, out, &held);
            }
        }
    }
}

#[cold]
#[inline(never)]
fn repair<F: Function2, T: Float>(x: &[T], y: &[T], out: &mut [T], held: &[u8; CHUNK]) {
    for (((out, x), y), _) in out.iter_mut().zip(x).zip(y).zip(held).filter(|(_, held)| **held == 0) {
        *out = T::round(F::exact(x.wide(), y.wide()));
    }
}

fn apply<F: Function2, T: Float>(x: &[u8], y: &[u8], out: &mut [u8]) {
    elements::<F, T>(T::from_bytes(x), T::from_bytes(y), T::from_bytes_mut(out));
}

fn elements<F: Function2, T: Float>(x: &[T], y: &[T], out: &mut [T]) {
    if level() > Level::Baseline || cfg!(any(target_arch = "aarch64", target_feature = "fma")) {
        vectorised(Fast2 { x, y, out, function: PhantomData::<F> });
    } else {
        each(x, y, out, |x: T, y: T| T::round(F::exact(x.wide(), y.wide())));
    }
}

struct Atan2;
impl Function2 for Atan2 {
    /// From the inverse tangent of the lesser magnitude over the greater.
    #[inline(always)]
    fn fast(y: f64, x: f64) -> (f64, bool) {
        let (a, b) = (y.abs(), x.abs());
        let (less, more) = (if a < b { a } else { b }, if a < b { b } else { a });
        let quotient = less / more;
        let angle = angle_of(quotient);
        let angle = if a > b { FRAC_PI_2[0] - (angle - FRAC_PI_2[1]) } else { angle };
        let angle = if x < 0.0 { 2.0 * FRAC_PI_2[0] - (angle - 2.0 * FRAC_PI_2[1]) } else { angle };
        let is_normal = (f64::MIN_POSITIVE..=f64::MAX).contains(&more);
        (angle.copysign(y), is_normal & ((quotient >= f64::MIN_POSITIVE) | (less == 0.0)))
    }
    fn exact(y: f64, x: f64) -> f64 {
        y.atan2(x)
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
impl Logaddexp {
    #[inline(always)]
    fn parts(a: f64, b: f64) -> (f64, f64, bool) {
        let (less, more) = if a < b { (a, b) } else { (b, a) };
        (more, less - more, less - more >= -LARGE_EXPONENT)
    }
}
impl Function2 for Logaddexp {
    #[inline(always)]
    fn fast(a: f64, b: f64) -> (f64, bool) {
        let (more, difference, holds) = Logaddexp::parts(a, b);
        (more + of_one_more(exponential(difference)), holds)
    }
    #[inline(always)]
    fn fast_narrow(a: f64, b: f64) -> (f64, bool) {
        let (more, difference, holds) = Logaddexp::parts(a, b);
        (more + of_one_more_narrow(exponential_narrow(difference)), holds)
    }
    fn exact(a: f64, b: f64) -> f64 {
        special::logaddexp(a, b)
    }
}

struct Xlogy;
impl Function2 for Xlogy {
    #[inline(always)]
    fn fast(a: f64, b: f64) -> (f64, bool) {
        (if a == 0.0 { 0.0 } else { a * Log::fast(b) }, Log::within(b))
    }
    #[inline(always)]
    fn fast_narrow(a: f64, b: f64) -> (f64, bool) {
        (if a == 0.0 { 0.0 } else { a * Log::fast_narrow(b) }, Log::within(b))
    }
    fn exact(a: f64, b: f64) -> f64 {
        special::xlogy(a, b)
    }
}

macro_rules! functions {
    ($($function:ident, $what:literal: $f32:ident $f64:ident;)+) => {$(
        #[doc = concat!("The ", $what, " of each of a block of `f32` and each of another: computed in `f64` and rounded once.")]
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
    Logaddexp, "logarithm of the sum of the exponentials": logaddexp_f32 logaddexp_f64;
    Xlogy, "product with the logarithm": xlogy_f32 xlogy_f64;
}

#[cfg(test)]
mod tests {
    use super::super::level::run_at;
    use super::super::tests::{Random, ulps};
    use super::*;
    use crate::dtype::Element;

    type Pair = (fn(&[u8], &[u8], &mut [u8]), fn(f64, f64) -> f64, u64);

    const PAIRS: [Pair; 3] =
        [(atan2_f64, f64::atan2, 2), (logaddexp_f64, special::logaddexp, 2), (xlogy_f64, special::xlogy, 2)];

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
    fn singles_are_rounded_once() {
        let mut random = Random(9);
        let mut some = |bound: f64| (0..100_000).map(|_| random.within(bound) as f32).collect::<Vec<f32>>();
        let (x, y) = (some(9.0), some(20.0));
        for (i, (block, exact)) in [atan2_f32 as fn(&[u8], &[u8], &mut [u8]), logaddexp_f32, xlogy_f32]
            .into_iter()
            .zip(PAIRS.map(|p| p.1))
            .enumerate()
        {
            let mut out = vec![0f32; x.len()];
            block(f32::as_bytes(&x), f32::as_bytes(&y), bytemuck::cast_slice_mut(&mut out));
            let wrong = out.iter().zip(x.iter().zip(&y)).filter(|&(&f, (&x, &y))| {
                let exact = exact(x.into(), y.into()) as f32;
                !(f == exact || f.is_nan() && exact.is_nan())
            });
            assert!(wrong.count() <= 2, "function {i}");
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
        let x: Vec<f64> = (0..1001).map(|i| if i % 97 == 0 { 0.0 } else { random.within(9.0) }).collect();
        let y: Vec<f64> = (0..1001).map(|i| if i % 3 == 0 { f64::from(i % 7) } else { random.within(90.0) }).collect();
        check::<Pow>(&x, &y);
        check::<Atan2>(&x, &y);
        check::<Logaddexp>(&x, &y);
        check::<Xlogy>(&x, &y);
    }
}
