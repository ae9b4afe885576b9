//! The inverses of sine, cosine and tangent.

use super::float::Float;
use super::{Function, polynomial};

/// What inverses of a type are made of.
pub(super) trait Arcs: Sized + 'static {
    /// π/2 in two floats.
    const HALF_PI: [Self; 2];
    /// The angle of a number that is not negative.
    fn angle_of(self) -> Self;
    /// `(asin(x) - x) / x` for an `x²` of at most a quarter.
    fn beyond_sine(square: Self) -> Self;
    /// What the root of a number lost to rounding.
    fn lost_of(root: Self, square: Self) -> Self;
}

impl Arcs for f64 {
    const HALF_PI: [f64; 2] = [std::f64::consts::FRAC_PI_2, 6.123_233_995_736_766e-17];
    /// fdlibm's `atan`: the angle less that of 0, ½, 1, 3/2 or ∞, whichever is near, by a polynomial.
    #[inline(always)]
    fn angle_of(self) -> f64 {
        const COEFFICIENTS: [f64; 11] = [
            3.333_333_333_333_293e-1,
            -1.999_999_999_987_648_3e-1,
            1.428_571_427_250_346_6e-1,
            -1.111_111_040_546_235_6e-1,
            9.090_887_133_436_507e-2,
            -7.691_876_205_044_83e-2,
            6.661_073_137_387_531e-2,
            -5.833_570_133_790_573_5e-2,
            4.976_877_994_615_932e-2,
            -3.653_157_274_421_691_6e-2,
            1.628_582_011_536_578_2e-2,
        ];
        // The angle in two floats, and numerator and denominator of the tangent of what is left.
        const NEAR: [[f64; 2]; 4] = [
            [4.636_476_090_008_061e-1, 2.269_877_745_296_168_7e-17],
            [std::f64::consts::FRAC_PI_4, 3.061_616_997_868_383e-17],
            [9.827_937_232_473_29e-1, 1.390_331_103_123_099_8e-17],
            f64::HALF_PI,
        ];
        let a = self;
        let (mut angle, mut above, mut below) = ([0.0; 2], a, 1.0);
        let mut take = |from: f64, of: [f64; 2], n: f64, d: f64| {
            let is = a >= from;
            angle = [if is { of[0] } else { angle[0] }, if is { of[1] } else { angle[1] }];
            (above, below) = (if is { n } else { above }, if is { d } else { below });
        };
        take(0.4375, NEAR[0], 2.0f64.mul_add(a, -1.0), 2.0 + a);
        take(0.6875, NEAR[1], a - 1.0, a + 1.0);
        take(1.1875, NEAR[2], a - 1.5, 1.5f64.mul_add(a, 1.0));
        take(2.4375, NEAR[3], -1.0, a);
        let t = above / below;
        let square = t * t;
        let tail = t.mul_add(square * polynomial(square, &COEFFICIENTS), -angle[1]);
        angle[0] - (tail - t)
    }
    /// The quotient of fdlibm's `__ieee754_asin`.
    #[inline(always)]
    fn beyond_sine(square: f64) -> f64 {
        const ABOVE: [f64; 6] = [
            1.666_666_666_666_666_6e-1,
            -3.255_658_186_224_009e-1,
            2.012_125_321_348_629_3e-1,
            -4.005_553_450_067_941e-2,
            7.915_349_942_898_145e-4,
            3.479_331_075_960_212e-5,
        ];
        const BELOW: [f64; 5] =
            [1.0, -2.403_394_911_734_414, 2.020_945_760_233_505_7, -6.882_839_716_054_533e-1, 7.703_815_055_590_194e-2];
        square * polynomial(square, &ABOVE) / polynomial(square, &BELOW)
    }
    /// By one of Newton's steps.
    #[inline(always)]
    fn lost_of(root: f64, square: f64) -> f64 {
        root.mul_add(-root, square) / (2.0 * root).max(f64::MIN_POSITIVE)
    }
}

impl Arcs for f32 {
    const HALF_PI: [f32; 2] = [std::f32::consts::FRAC_PI_2, -4.371_139e-8];
    /// Of more than one, what the angle of the inverse is short of π/2.
    #[inline(always)]
    fn angle_of(self) -> f32 {
        const COEFFICIENTS: [f32; 9] = [
            -0.333_333_3,
            0.199_997_4,
            -0.142_785_68,
            0.110_337_645,
            -0.086_568_8,
            0.062_501_69,
            -0.035_871_54,
            0.013_507_771,
            -0.002_386_997_2,
        ];
        let is_large = self > 1.0;
        let t = if is_large { -1.0 } else { self } / if is_large { self } else { 1.0 };
        let square = t * t;
        let tail = t * (square * polynomial(square, &COEFFICIENTS));
        let [angle, low] = if is_large { f32::HALF_PI } else { [0.0; 2] };
        angle + (t + (tail + low))
    }
    #[inline(always)]
    fn beyond_sine(square: f32) -> f32 {
        const COEFFICIENTS: [f32; 5] = [0.166_666_73, 0.074_988_55, 0.045_001_38, 0.026_554_542, 0.038_085_025];
        square * polynomial(square, &COEFFICIENTS)
    }
    /// Half a unit, which takes a division to find, is let go.
    #[inline(always)]
    fn lost_of(_: f32, _: f32) -> f32 {
        0.0
    }
}

pub(super) struct Atan;
impl Function for Atan {
    #[inline(always)]
    fn outside<R: Float>(x: R) -> R::Flag {
        x.abs().not_up_to(R::infinity())
    }
    #[inline(always)]
    fn fast<R: Float>(x: R) -> R {
        x.abs().angle_of().copysign(x)
    }
    #[inline(always)]
    fn rare<R: Float>(_: R) -> R::Flag {
        R::Flag::default()
    }
    fn exact(x: f64) -> f64 {
        x.atan()
    }
}

/// Whether the magnitude of `x` is up to a half; if so that, else the root of half its distance to 1, of which the inverse sine is half of
/// what is missing to π/2; what the root lost to rounding; and [`Arcs::beyond_sine`] of the square.
#[inline(always)]
fn reduced<R: Float>(x: R) -> (bool, R, R, R) {
    let a = x.abs();
    let is_small = a <= R::HALF;
    let half = R::HALF * (R::ONE - a);
    let root = half.sqrt();
    let (of, lost) = if is_small { (a, R::ZERO) } else { (root, R::lost_of(root, half)) };
    (is_small, of, lost, R::beyond_sine(if is_small { a * a } else { half }))
}

pub(super) struct Asin;
impl Function for Asin {
    #[inline(always)]
    fn outside<R: Float>(x: R) -> R::Flag {
        x.abs().not_up_to(R::ONE)
    }
    #[inline(always)]
    fn fast<R: Float>(x: R) -> R {
        let (is_small, of, lost, beyond) = reduced(x);
        // The greater of the two terms first; what both lost, and the series, last.
        let [half_pi, low] = R::HALF_PI;
        let high = of.mul_add(-R::TWO, half_pi);
        let rounded = (half_pi - high) - R::TWO * of;
        let missing = high + (rounded + (low - R::TWO * of.mul_add(beyond, lost)));
        (if is_small { of.mul_add(beyond, of) } else { missing }).copysign(x)
    }
    #[inline(always)]
    fn end<R: Float>(x: R, fast: R) -> R {
        if x.abs() > R::ONE { R::nan() } else { fast }
    }
    #[inline(always)]
    fn rare<R: Float>(_: R) -> R::Flag {
        R::Flag::default()
    }
    fn exact(x: f64) -> f64 {
        x.asin()
    }
}

pub(super) struct Acos;
impl Function for Acos {
    #[inline(always)]
    fn outside<R: Float>(x: R) -> R::Flag {
        x.abs().not_up_to(R::ONE)
    }
    #[inline(always)]
    fn fast<R: Float>(x: R) -> R {
        let (is_small, of, lost, beyond) = reduced(x);
        let rest = of.mul_add(beyond, lost);
        // Of a small one π/2 less the inverse sine, of one near 1 twice that of the root, of one near −1 π less that.
        let [half_pi, low] = R::HALF_PI;
        let near_zero = half_pi - (of.copysign(x) - (low - rest.copysign(x)));
        let near_one = R::TWO * (of + rest);
        let near_minus_one = R::TWO * (half_pi - (of - (low - rest)));
        let large = if x < R::ZERO { near_minus_one } else { near_one };
        if is_small { near_zero } else { large }
    }
    #[inline(always)]
    fn end<R: Float>(x: R, fast: R) -> R {
        if x.abs() > R::ONE { R::nan() } else { fast }
    }
    #[inline(always)]
    fn rare<R: Float>(_: R) -> R::Flag {
        R::Flag::default()
    }
    fn exact(x: f64) -> f64 {
        x.acos()
    }
}
