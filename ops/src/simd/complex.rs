//! Functions of complex numbers whose common case is branch-free arithmetic. Those of `complex64` are computed in `f64` and rounded
//! once. Formulas and their sources are those of [`unary::complex`](crate::unary::complex), which takes what is left.

use std::f64::consts::{LN_2, LN_10, LOG2_E};
use std::marker::PhantomData;

use super::Function as _;
use super::angles::{Angles, reduce_angle, sin_cos};
use super::exponential::{self, Exponentials, exponential, less_one};
use super::float::Float;
use super::logarithm::{self, Logarithms};
use super::pairs::{Atan2, Complex, Function2 as _};
use super::{Loop, above_baseline, vectorised};
use crate::dtype::{Element, c128};
use crate::groups::{Parts, each};
use crate::unary::complex;

/// The parts of a number.
type Pair = [f64; 2];

/// A function of a complex number.
pub(crate) trait Function {
    /// What it is, and whether that holds: for most numbers.
    fn fast(x: Pair) -> (Pair, bool);
    /// For the others, and for CPUs without fused multiply-add.
    fn exact(x: c128) -> c128;
}

/// A function of two complex numbers.
trait Function2 {
    fn fast(x: Pair, y: Pair) -> (Pair, bool);
    fn exact(x: c128, y: c128) -> c128;
}

/// Elements that are taken apart at a time.
const CHUNK: usize = 64;

/// Parts of a chunk of numbers, each for itself.
struct Apart {
    re: [f64; CHUNK],
    im: [f64; CHUNK],
}

impl Apart {
    const ZEROS: Apart = Apart { re: [0.0; CHUNK], im: [0.0; CHUNK] };

    #[inline(always)]
    fn take<R: Float>(&mut self, x: &[[R; 2]]) {
        for ((re, im), x) in self.re.iter_mut().zip(&mut self.im).zip(x) {
            [*re, *im] = [x[0].wide(), x[1].wide()];
        }
    }

    #[inline(always)]
    fn give<R: Float>(&self, out: &mut [[R; 2]]) {
        for (out, (&re, &im)) in out.iter_mut().zip(self.re.iter().zip(&self.im)) {
            *out = [R::of(re), R::of(im)];
        }
    }
}

struct Each<'a, F, R>(&'a [[R; 2]], &'a mut [[R; 2]], PhantomData<F>);

impl<F: Function, R: Float> Loop for Each<'_, F, R> {
    type Output = ();
    #[inline(always)]
    fn run(self) {
        let (mut apart, mut results, mut held) = (Apart::ZEROS, Apart::ZEROS, [1u8; CHUNK]);
        for (x, out) in self.0.chunks(CHUNK).zip(self.1.chunks_mut(CHUNK)) {
            apart.take(x);
            let n = x.len();
            let results_of = results.re[..n].iter_mut().zip(&mut results.im[..n]).zip(&mut held[..n]);
            let mut all = 1;
            for (((re, im), held), (&x_re, &x_im)) in results_of.zip(apart.re[..n].iter().zip(&apart.im[..n])) {
                let (result, holds) = F::fast([x_re, x_im]);
                [*re, *im] = result;
                *held = u8::from(holds);
                all &= *held;
            }
            results.give(out);
            if all == 0 {
                repair::<F, R>(x, out, &held);
            }
        }
    }
}

#[cold]
#[inline(never)]
fn repair<F: Function, R: Float>(x: &[[R; 2]], out: &mut [[R; 2]], held: &[u8; CHUNK]) {
    for ((x, out), _) in x.iter().zip(out).zip(held).filter(|(_, held)| **held == 0) {
        *out = exactly::<F, R>(*x);
    }
}

#[inline(always)]
fn number<R: Float>([re, im]: [R; 2]) -> c128 {
    c128::new(re.wide(), im.wide())
}

#[inline(always)]
fn rounded<R: Float>(x: c128) -> [R; 2] {
    [R::of(x.re), R::of(x.im)]
}

#[inline(always)]
fn exactly<F: Function, R: Float>(x: [R; 2]) -> [R; 2] {
    rounded(F::exact(number(x)))
}

/// A function of a block of complex numbers.
pub(crate) fn map<C: Complex, F: Function>(x: &[u8], out: &mut [u8]) {
    let (x, _) = C::Part::from_bytes(x).as_chunks::<2>();
    let (out, _) = C::Part::from_bytes_mut(out).as_chunks_mut::<2>();
    if let Err(Each(x, out, _)) = above_baseline(Each::<F, _>(x, out, PhantomData)) {
        x.iter().zip(out).for_each(|(x, out)| *out = exactly::<F, _>(*x));
    }
}

struct Pairs<'a, F, R>(&'a [[R; 2]], &'a [[R; 2]], &'a mut [[R; 2]], PhantomData<F>);

impl<F: Function2, R: Float> Loop for Pairs<'_, F, R> {
    type Output = ();
    #[inline(always)]
    fn run(self) {
        let (all_x, all_y) = (Parts::<_, CHUNK>::of(self.0), Parts::<_, CHUNK>::of(self.1));
        let (mut of_x, mut of_y, mut results, mut held) = (Apart::ZEROS, Apart::ZEROS, Apart::ZEROS, [1u8; CHUNK]);
        for (i, out) in self.2.chunks_mut(CHUNK).enumerate() {
            let (x, y) = (all_x.part(i * CHUNK, out.len()), all_y.part(i * CHUNK, out.len()));
            of_x.take(x);
            of_y.take(y);
            let n = out.len();
            let results_of = results.re[..n].iter_mut().zip(&mut results.im[..n]).zip(&mut held[..n]);
            let of_both = of_x.re[..n].iter().zip(&of_x.im[..n]).zip(of_y.re[..n].iter().zip(&of_y.im[..n]));
            let mut all = 1;
            for (((re, im), held), ((&x_re, &x_im), (&y_re, &y_im))) in results_of.zip(of_both) {
                let (result, holds) = F::fast([x_re, x_im], [y_re, y_im]);
                [*re, *im] = result;
                *held = u8::from(holds);
                all &= *held;
            }
            results.give(out);
            if all == 0 {
                for (((x, y), out), _) in x.iter().zip(y).zip(out).zip(&held).filter(|(_, held)| **held == 0) {
                    *out = rounded(F::exact(number(*x), number(*y)));
                }
            }
        }
    }
}

fn zip<C: Complex, F: Function2>(x: &[u8], y: &[u8], out: &mut [u8]) {
    let ((x, _), (y, _)) = (C::Part::from_bytes(x).as_chunks::<2>(), C::Part::from_bytes(y).as_chunks::<2>());
    let (out, _) = C::Part::from_bytes_mut(out).as_chunks_mut::<2>();
    if let Err(Pairs(x, y, out, _)) = above_baseline(Pairs::<F, _>(x, y, out, PhantomData)) {
        each(x, y, out, |x, y| rounded(F::exact(number(x), number(y))));
    }
}

/// The quotients of a block of complex numbers and another.
pub(crate) fn divide<C: Complex>(x: &[u8], y: &[u8], out: &mut [u8]) {
    /// Quotients that are made sooner one by one, which gives the same bits.
    const FEW: usize = 16;
    if out.len() <= FEW * size_of::<[C::Part; 2]>() {
        let ((x, _), (y, _)) = (C::Part::from_bytes(x).as_chunks(), C::Part::from_bytes(y).as_chunks());
        let (out, _) = C::Part::from_bytes_mut(out).as_chunks_mut();
        return each(x, y, out, |x, y| rounded(Divide::exact(number(x), number(y))));
    }
    zip::<C, Divide>(x, y, out);
}

/// The powers of a block of complex numbers to those of another.
pub(crate) fn power<C: Complex>(x: &[u8], y: &[u8], out: &mut [u8]) {
    // One exponent for all is mostly a root or a small whole number.
    if let ([one], []) = C::Part::from_bytes(y).as_chunks::<2>()
        && let c128 { re, im: 0.0 } = number(*one)
        && x.len() == out.len()
    {
        if re == 0.5 {
            return map::<C, Sqrt>(x, out);
        }
        if (2.0..=complex::MOST).contains(&re) && re.fract() == 0.0 {
            let (x, _) = C::Part::from_bytes(x).as_chunks::<2>();
            let (out, _) = C::Part::from_bytes_mut(out).as_chunks_mut::<2>();
            if re != 2.0 || !vectorised(Squares(x, out)) {
                vectorised(Whole(x, re as u32, out));
            }
            return;
        }
    }
    zip::<C, Pow>(x, y, out);
}

/// Squares, which are asked for most: numbers need not be taken apart.
struct Squares<'a, R>(&'a [[R; 2]], &'a mut [[R; 2]]);

impl<R: Float> Loop for Squares<'_, R> {
    /// Whether none comes near the ends of the range.
    type Output = bool;
    #[inline(always)]
    fn run(self) -> bool {
        let mut others = 0;
        for (x, out) in self.0.iter().zip(self.1) {
            let x = number(*x);
            let size = size(x.re, x.im);
            others |= u64::from(!has_square(size));
            *out = rounded(complex::square(x));
        }
        others == 0
    }
}

/// Powers to one whole number, by the squares and products of [`complex::pow`].
struct Whole<'a, R>(&'a [[R; 2]], u32, &'a mut [[R; 2]]);

impl<R: Float> Loop for Whole<'_, R> {
    type Output = ();
    #[inline(always)]
    fn run(self) {
        let Whole(x, exponent, out) = self;
        let (mut factor, mut power) = (Apart::ZEROS, Apart::ZEROS);
        for (x, out) in x.chunks(CHUNK).zip(out.chunks_mut(CHUNK)) {
            factor.take(x);
            let (mut rest, mut is_first, n) = (exponent, true, x.len());
            loop {
                if rest & 1 == 1 {
                    let of_power = power.re[..n].iter_mut().zip(&mut power.im[..n]);
                    for ((re, im), (&by_re, &by_im)) in of_power.zip(factor.re[..n].iter().zip(&factor.im[..n])) {
                        let product = [*re * by_re - *im * by_im, *re * by_im + *im * by_re];
                        [*re, *im] = if is_first { [by_re, by_im] } else { product };
                    }
                    is_first = false;
                }
                rest >>= 1;
                if rest == 0 {
                    break;
                }
                for (re, im) in factor.re[..n].iter_mut().zip(&mut factor.im[..n]) {
                    let square = complex::square(c128::new(*re, *im));
                    [*re, *im] = [square.re, square.im];
                }
            }
            power.give(out);
            let mut outside = 0;
            for (re, im) in power.re[..n].iter().zip(&power.im[..n]) {
                let size = size(*re, *im);
                outside |= size.not_within(complex::RANGE[0], complex::RANGE[1]);
            }
            if outside != 0 {
                let of_power = power.re[..n].iter().zip(&power.im[..n]);
                for ((x, out), (&re, &im)) in x.iter().zip(out).zip(of_power) {
                    if !complex::is_within_range(c128::new(re, im)) {
                        *out = rounded(complex::pow(number(*x), f64::from(exponent).into()));
                    }
                }
            }
        }
    }
}

/// The greater of two parts, without signs.
#[inline(always)]
fn size(re: f64, im: f64) -> f64 {
    if re.abs() >= im.abs() { re.abs() } else { im.abs() }
}

/// Whether the magnitude of a number, which is not negative, is so far from the ends of the range that its square is too.
#[inline(always)]
fn has_square(size: f64) -> bool {
    size.not_within(1e-140, 1e140) == 0
}

#[inline(always)]
fn is_small_angle(x: f64) -> bool {
    x.abs() <= f64::LARGE_ANGLE
}

struct Divide;
impl Function2 for Divide {
    /// The bits of [`complex::div`].
    #[inline(always)]
    fn fast(a: Pair, b: Pair) -> (Pair, bool) {
        let by_re = b[0].abs() >= b[1].abs();
        let (more, less) = if by_re { (b[0], b[1]) } else { (b[1], b[0]) };
        let (first, second) = if by_re { (a[0], a[1]) } else { (a[1], a[0]) };
        let ratio = less / more;
        let scale = more + less * ratio;
        let (re, product) = (first + second * ratio, first * ratio);
        let im = if by_re { second - product } else { product - second };
        // Both parts of what is 0 are divided by it.
        let is_zero = more == 0.0;
        let (re, im, scale) = if is_zero { (a[0], a[1], b[0]) } else { (re, im, scale) };
        ([re / scale, im / scale], (scale.abs() != f64::INFINITY) | (more.abs() == f64::INFINITY))
    }
    fn exact(a: c128, b: c128) -> c128 {
        complex::div(a, b)
    }
}

struct Pow;
impl Function2 for Pow {
    #[inline(always)]
    fn fast(a: Pair, b: Pair) -> (Pair, bool) {
        let (log, holds) = Log::fast(a);
        let (power, power_holds) = Exp::fast([b[0] * log[0] - b[1] * log[1], b[0] * log[1] + b[1] * log[0]]);
        let (root, root_holds) = Sqrt::fast(a);
        // What is a product of few factors, or real, is that more exactly.
        let is_whole = (b[0].trunc() == b[0]) & (b[0].abs() <= complex::MOST);
        let is_positive = (a[1] == 0.0) & (a[0] > 0.0);
        let is_special = (b[1] == 0.0) & (is_whole | is_positive);
        let is_root = (b[0] == 0.5) & (b[1] == 0.0);
        let power = [if is_root { root[0] } else { power[0] }, if is_root { root[1] } else { power[1] }];
        (power, (is_root & root_holds) | (!is_root & holds & power_holds & !is_special))
    }
    fn exact(a: c128, b: c128) -> c128 {
        complex::pow(a, b)
    }
}

pub(crate) struct Reciprocal;
impl Function for Reciprocal {
    #[inline(always)]
    fn fast(x: Pair) -> (Pair, bool) {
        Divide::fast([1.0, 0.0], x)
    }
    fn exact(x: c128) -> c128 {
        complex::div(1.0.into(), x)
    }
}

pub(crate) struct Sqrt;
impl Function for Sqrt {
    #[inline(always)]
    fn fast([re, im]: Pair) -> (Pair, bool) {
        let size = size(re, im);
        let norm = re.mul_add(re, im * im).sqrt();
        let large = (0.5 * (re.abs() + norm)).sqrt();
        let is_zero = large == 0.0;
        let small = 0.5 * im / large;
        let small = if is_zero { im } else { small };
        let left = [small.abs(), large.copysign(im)];
        (
            [if re >= 0.0 { large } else { left[0] }, if re >= 0.0 { small } else { left[1] }],
            has_square(size) | (size == 0.0),
        )
    }
    fn exact(x: c128) -> c128 {
        complex::sqrt(x)
    }
}

pub(crate) struct Rsqrt;
impl Function for Rsqrt {
    #[inline(always)]
    fn fast(x: Pair) -> (Pair, bool) {
        let (root, holds) = Sqrt::fast(x);
        (Divide::fast([1.0, 0.0], root).0, holds)
    }
    fn exact(x: c128) -> c128 {
        complex::rsqrt(x)
    }
}

pub(crate) struct Exp;
impl Function for Exp {
    #[inline(always)]
    fn fast([re, im]: Pair) -> (Pair, bool) {
        let (power, (sin, cos)) = (exponential(re), sin_cos(im));
        ([power * cos, power * sin], (re.abs() <= f64::LARGE) & is_small_angle(im))
    }
    fn exact(x: c128) -> c128 {
        complex::exp(x)
    }
}

pub(crate) struct Exp2;
impl Function for Exp2 {
    #[inline(always)]
    fn fast([re, im]: Pair) -> (Pair, bool) {
        let (power, angle) = (exponential::Exp2::fast(re), im * LN_2);
        let ((sin, cos), low) = (sin_cos(angle), im.mul_add(LN_2, -angle) + im * f64::LN_2[1]);
        // What the angle dropped turns it on.
        let turned = if im == 0.0 { im } else { power * low.mul_add(cos, sin) };
        ([power * low.mul_add(-sin, cos), turned], (re.abs() <= f64::LARGE_POWER) & is_small_angle(angle))
    }
    fn exact(x: c128) -> c128 {
        complex::exp2(x)
    }
}

pub(crate) struct Expm1;
impl Function for Expm1 {
    #[inline(always)]
    fn fast([re, im]: Pair) -> (Pair, bool) {
        let ((sin, cos), (half, _)) = (sin_cos(im), sin_cos(0.5 * im));
        let of_re = less_one(re).copysign(re) * cos - 2.0 * half * half;
        ([of_re, exponential(re) * sin], (re.abs() <= f64::LARGE) & is_small_angle(im))
    }
    fn exact(x: c128) -> c128 {
        complex::exp_m1(x)
    }
}

/// Half the logarithm of `one + twice + re² + im²`, a sum that is formed with what its roundings drop: it may be almost 1.
#[inline(always)]
fn logarithm_of(one: f64, twice: f64, re: f64, im: f64) -> f64 {
    let (p, q) = (re * re, im * im);
    let (first, first_low) = complex::two_sum(twice, p);
    let (square, square_low) = complex::two_sum(first, q);
    let (sum, sum_low) = complex::two_sum(one, square);
    let low = sum_low + (square_low + first_low + (re.mul_add(re, -p) + im.mul_add(im, -q)));
    let (k, f) = sum.split();
    0.5 * f64::logarithm(k, f, low / sum)
}

pub(crate) struct Log;
impl Function for Log {
    #[inline(always)]
    fn fast([re, im]: Pair) -> (Pair, bool) {
        let size = size(re, im);
        let (angle, holds) = Atan2::fast(im, re);
        ([logarithm_of(0.0, 0.0, re, im), angle], holds & has_square(size))
    }
    fn exact(x: c128) -> c128 {
        complex::ln(x)
    }
}

pub(crate) struct Log2;
impl Function for Log2 {
    #[inline(always)]
    fn fast(x: Pair) -> (Pair, bool) {
        let (log, holds) = Log::fast(x);
        ([log[0] * LOG2_E, log[1] * LOG2_E], holds)
    }
    fn exact(x: c128) -> c128 {
        complex::log2(x)
    }
}

pub(crate) struct Log10;
impl Function for Log10 {
    #[inline(always)]
    fn fast(x: Pair) -> (Pair, bool) {
        let (log, holds) = Log::fast(x);
        ([log[0] / LN_10, log[1] / LN_10], holds)
    }
    fn exact(x: c128) -> c128 {
        complex::log10(x)
    }
}

pub(crate) struct Log1p;
impl Function for Log1p {
    /// Near 0 the modulus enters by `|1 + x|² - 1`.
    #[inline(always)]
    fn fast([re, im]: Pair) -> (Pair, bool) {
        let more = 1.0 + re;
        let is_near = (re.abs() < 0.5) & (im.abs() < 0.5);
        let (one, twice, of_re) = if is_near { (1.0, 2.0 * re, re) } else { (0.0, 0.0, more) };
        let size = size(more, im);
        let (angle, holds) = Atan2::fast(im, more);
        ([logarithm_of(one, twice, of_re, im), angle], holds & has_square(size))
    }
    fn exact(x: c128) -> c128 {
        complex::ln_1p(x)
    }
}

/// The hyperbolic sine and cosine of a number up to [`Exponentials::LARGE`].
#[inline(always)]
fn sinh_cosh(x: f64) -> Pair {
    let less_one = less_one(x.abs());
    let power = 1.0 + less_one;
    let inverse = 1.0 / power;
    [(0.5 * less_one.mul_add(inverse, less_one)).copysign(x), 0.5f64.mul_add(power, 0.5 * inverse)]
}

pub(crate) struct Sinh;
impl Function for Sinh {
    #[inline(always)]
    fn fast([re, im]: Pair) -> (Pair, bool) {
        let ([sinh, cosh], (sin, cos)) = (sinh_cosh(re), sin_cos(im));
        ([sinh * cos, cosh * sin], (re.abs() <= f64::LARGE) & is_small_angle(im))
    }
    fn exact(x: c128) -> c128 {
        complex::sinh(x)
    }
}

pub(crate) struct Cosh;
impl Function for Cosh {
    #[inline(always)]
    fn fast([re, im]: Pair) -> (Pair, bool) {
        let ([sinh, cosh], (sin, cos)) = (sinh_cosh(re), sin_cos(im));
        let real = if re < 0.0 { -im } else { im };
        ([cosh * cos, if im == 0.0 { real } else { sinh * sin }], (re.abs() <= f64::LARGE) & is_small_angle(im))
    }
    fn exact(x: c128) -> c128 {
        complex::cosh(x)
    }
}

pub(crate) struct Tanh;
impl Function for Tanh {
    #[inline(always)]
    fn fast([re, im]: Pair) -> (Pair, bool) {
        let (tan, [sinh, cosh]) = (f64::tangent(reduce_angle(im)), sinh_cosh(re));
        let of_cos = tan.mul_add(tan, 1.0);
        let below = (of_cos * sinh).mul_add(sinh, 1.0);
        ([of_cos * cosh * sinh / below, tan / below], (re.abs() <= 20.0) & is_small_angle(im))
    }
    fn exact(x: c128) -> c128 {
        complex::tanh(x)
    }
}

/// `-i f(i x)`: what sine is by the hyperbolic sine, and likewise the others.
pub(crate) struct Turned<F>(PhantomData<F>);
impl<F: Function> Function for Turned<F> {
    #[inline(always)]
    fn fast([re, im]: Pair) -> (Pair, bool) {
        let ([of_re, of_im], holds) = F::fast([-im, re]);
        ([of_im, -of_re], holds)
    }
    fn exact(x: c128) -> c128 {
        let of = F::exact(c128::new(-x.im, x.re));
        c128::new(of.im, -of.re)
    }
}

/// `cosh(i x)`.
pub(crate) struct Cos;
impl Function for Cos {
    #[inline(always)]
    fn fast([re, im]: Pair) -> (Pair, bool) {
        Cosh::fast([-im, re])
    }
    fn exact(x: c128) -> c128 {
        complex::cosh(c128::new(-x.im, x.re))
    }
}

/// The square roots of two numbers with the same imaginary part but for its sign.
#[inline(always)]
fn roots(minus: Pair, plus: Pair) -> (Pair, Pair, bool) {
    let ((minus, holds), (plus, both_hold)) = (Sqrt::fast(minus), Sqrt::fast(plus));
    (minus, plus, holds & both_hold)
}

/// The inverse hyperbolic sine, and whether that holds.
#[inline(always)]
fn asinh(x: f64) -> (f64, bool) {
    (logarithm::Asinh::fast(x), x.abs() <= logarithm::LARGE)
}

pub(crate) struct Asin;
impl Function for Asin {
    #[inline(always)]
    fn fast([re, im]: Pair) -> (Pair, bool) {
        let (minus, plus, holds) = roots([1.0 - re, -im], [1.0 + re, im]);
        let (of_re, re_holds) = Atan2::fast(re, minus[0] * plus[0] - minus[1] * plus[1]);
        let (of_im, im_holds) = asinh(minus[0] * plus[1] - minus[1] * plus[0]);
        ([of_re, of_im], holds & re_holds & im_holds)
    }
    fn exact(x: c128) -> c128 {
        complex::asin(x)
    }
}

pub(crate) struct Acos;
impl Function for Acos {
    #[inline(always)]
    fn fast([re, im]: Pair) -> (Pair, bool) {
        let (minus, plus, holds) = roots([1.0 - re, -im], [1.0 + re, im]);
        let (half, re_holds) = Atan2::fast(minus[0], plus[0]);
        let (of_im, im_holds) = asinh(plus[0] * minus[1] - plus[1] * minus[0]);
        ([2.0 * half, of_im], holds & re_holds & im_holds)
    }
    fn exact(x: c128) -> c128 {
        complex::acos(x)
    }
}

pub(crate) struct Acosh;
impl Function for Acosh {
    #[inline(always)]
    fn fast([re, im]: Pair) -> (Pair, bool) {
        let (minus, plus, holds) = roots([re - 1.0, im], [re + 1.0, im]);
        let (of_re, re_holds) = asinh(minus[0] * plus[0] + minus[1] * plus[1]);
        let (half, im_holds) = Atan2::fast(minus[1], plus[0]);
        ([of_re, 2.0 * half], holds & re_holds & im_holds)
    }
    fn exact(x: c128) -> c128 {
        complex::acosh(x)
    }
}

pub(crate) struct Atanh;
impl Function for Atanh {
    #[inline(always)]
    fn fast([re, im]: Pair) -> (Pair, bool) {
        let a = re.abs();
        let near = 1.0 - a;
        let distance = near * near + im * im;
        let of_re = 0.25 * logarithm::of_one_more(4.0 * a / distance);
        let (twice, holds) = Atan2::fast(2.0 * im, near * (1.0 + a) - im * im);
        // Neither beside a pole nor far out.
        let is_between = distance.not_within(f64::LEAST / f64::EPSILON, 1e280) == 0;
        ([of_re.copysign(re), 0.5 * twice], holds & is_between)
    }
    fn exact(x: c128) -> c128 {
        complex::atanh(x)
    }
}

#[cfg(test)]
#[path = "complex_tests.rs"]
mod tests;
