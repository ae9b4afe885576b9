use std::f64::consts::{FRAC_PI_2, PI};

use super::*;
use crate::unary::special;

/// A small generator (splitmix64): tests need spread, not quality.
pub(super) struct Random(pub(super) u64);

impl Random {
    fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
    /// Uniform within ±`bound`.
    pub(super) fn within(&mut self, bound: f64) -> f64 {
        ((self.bits() >> 11) as f64 / (1u64 << 52) as f64 - 1.0) * bound
    }
}

type Block = fn(&[u8], &mut [u8]);

fn run64(block: Block, x: &[f64]) -> Vec<f64> {
    let mut out = vec![f64::NAN; x.len()];
    block(f64::as_bytes(x), bytemuck::cast_slice_mut(&mut out));
    out
}

fn run32(block: Block, x: &[f32]) -> Vec<f32> {
    let mut out = vec![f32::NAN; x.len()];
    block(f32::as_bytes(x), bytemuck::cast_slice_mut(&mut out));
    out
}

/// Floats between the two, in steps: 0 if equal, both zero or both NaN.
pub(super) fn ulps(a: f64, b: f64) -> u64 {
    let line = |x: f64| {
        let bits = x.to_bits() as i64;
        if bits < 0 { i64::MIN.wrapping_sub(bits) } else { bits }
    };
    if a.is_nan() && b.is_nan() { 0 } else { line(a).wrapping_sub(line(b)).unsigned_abs() }
}

/// A kernel, the function it computes, and how many ulps lie between.
type Claim = (Block, fn(f64) -> f64, u64);

/// The standard library's functions where it has them; those of [`special`] are compared with values of 50 digits elsewhere.
const FUNCTIONS: [Claim; 30] = [
    (sin_f64, f64::sin, 1),
    (cos_f64, f64::cos, 1),
    (tan_f64, f64::tan, 2),
    (exp_f64, f64::exp, 1),
    (exp2_f64, f64::exp2, 1),
    (expm1_f64, f64::exp_m1, 1),
    (log_f64, f64::ln, 1),
    (log2_f64, f64::log2, 2),
    (log10_f64, f64::log10, 2),
    (log1p_f64, f64::ln_1p, 2),
    (sinh_f64, f64::sinh, 3),
    (cosh_f64, f64::cosh, 2),
    (tanh_f64, f64::tanh, 3),
    (asin_f64, f64::asin, 1),
    (acos_f64, f64::acos, 1),
    (atan_f64, f64::atan, 1),
    (asinh_f64, special::asinh, 3),
    (acosh_f64, special::acosh, 3),
    (atanh_f64, special::atanh, 3),
    (sigmoid_f64, |x| if x < -700.0 { x.exp() } else { 1.0 / (1.0 + (-x).exp()) }, 4),
    (logit_f64, special::logit, 3),
    (softplus_f64, special::softplus, 3),
    (softsign_f64, special::softsign, 0),
    (silu_f64, special::silu, 4),
    (gelu_f64, special::gelu, 6),
    (elu_f64, |x| if x < 0.0 { x.exp_m1() } else { x }, 1),
    (erf_f64, special::erf, 2),
    (erfc_f64, special::erfc, 4),
    (erfinv_f64, special::erfinv, 4),
    (lgamma_f64, special::lgamma, 4),
];

#[test]
fn within_ulps_of_std() {
    let mut random = Random(1);
    for bound in [1e-200, 1e-12, 1e-3, 1.0, 2.0, 10.0, 700.0, 1e6, 1e300] {
        let x: Vec<f64> = (0..250_000).map(|_| random.within(bound)).collect();
        for (i, &(block, exact, limit)) in FUNCTIONS.iter().enumerate() {
            let worst = run64(block, &x).iter().zip(&x).map(|(&y, &x)| (ulps(y, exact(x)), x)).max_by_key(|w| w.0);
            assert!(worst.is_some_and(|(w, _)| w <= limit), "function {i} within {bound}: {worst:?}");
        }
    }
}

#[test]
fn near_multiples_of_half_pi() {
    let x: Vec<f64> = (0..600_000i64)
        .flat_map(|n| {
            let x = n as f64 * FRAC_PI_2;
            [x, x.next_up(), -x.next_down(), (n as f64 * std::f64::consts::FRAC_PI_4)]
        })
        .collect();
    for (block, exact, limit) in [FUNCTIONS[0], FUNCTIONS[1], FUNCTIONS[2]] {
        let worst = run64(block, &x).iter().zip(&x).map(|(&y, &x)| (ulps(y, exact(x)), x)).max_by_key(|w| w.0);
        assert!(worst.is_some_and(|(w, _)| w <= limit), "{worst:?}");
    }
}

#[test]
fn special_values() {
    let inf = f64::INFINITY;
    let x = [0.0, -0.0, inf, -inf, f64::NAN, 5e-324, -1e-310, 709.0, 710.0, -740.0, -746.0, 1e22, f64::MAX, -708.5];
    for (block, exact, limit) in FUNCTIONS {
        for (y, x) in run64(block, &x).into_iter().zip(x) {
            let exact = exact(x);
            // Ends and what is beyond them exactly; in between is what the other tests are about.
            let limit = if exact.is_normal() && exact.abs() != x.abs() { limit } else { 0 };
            assert!(ulps(y, exact) <= limit, "f({x}) = {y}, not {exact}");
            assert!(y.is_nan() || y.is_sign_negative() == exact.is_sign_negative(), "f({x}) = {y}, not {exact}");
        }
    }
    for (block, exact) in [
        (sin_f64 as Block, f64::sin as fn(f64) -> f64),
        (cos_f64, f64::cos),
        (exp_f64, f64::exp),
        (log_f64, f64::ln),
        (log1p_f64, f64::ln_1p),
        (expm1_f64, f64::exp_m1),
        (tanh_f64, f64::tanh),
        (atan_f64, f64::atan),
    ] {
        for (y, x) in run64(block, &x).into_iter().zip(x) {
            assert!(ulps(y, exact(x)) == 0, "f({x}) = {y}, not {}", exact(x));
        }
    }
    for block in [
        sin_f64, tan_f64, log1p_f64, expm1_f64, sinh_f64, tanh_f64, asin_f64, atan_f64, asinh_f64, atanh_f64, erf_f64,
        silu_f64, gelu_f64, elu_f64,
    ] {
        assert!(run64(block, &[-0.0])[0].is_sign_negative());
    }
    for block in [log_f64, log2_f64, log10_f64] {
        assert_eq!(run64(block, &[1.0, 0.0, -1.0])[..2], [0.0, f64::NEG_INFINITY]);
    }
    assert_eq!(run64(asin_f64, &[1.0, -1.0]), [FRAC_PI_2, -FRAC_PI_2]);
    assert_eq!(run64(acos_f64, &[1.0, 0.0, -1.0]), [0.0, FRAC_PI_2, PI]);
    assert!(run64(asin_f64, &[1.0f64.next_up()])[0].is_nan() && run64(acos_f64, &[-1.5])[0].is_nan());
    assert_eq!(run64(acosh_f64, &[1.0]), [0.0]);
    assert_eq!(run64(atanh_f64, &[1.0, -1.0]), [inf, -inf]);
    assert_eq!(run64(erf_f64, &[inf, -inf, 7.0]), [1.0, -1.0, 1.0]);
    assert_eq!(run64(erfc_f64, &[inf, -inf, 0.0, -9.0]), [0.0, 2.0, 1.0, 2.0]);
    assert_eq!(run64(gelu_f64, &[-40.0, 40.0, 1e300]), [-0.0, 40.0, 1e300]);
    assert_eq!(run64(log1p_f64, &[-1.0, (-1.0f64).next_up()]), [f64::NEG_INFINITY, (2f64.powi(-53)).ln()]);
    assert_eq!(run64(tanh_f64, &[400.0, -30.0]), [1.0, -1.0]);
}

/// How far a single is from a double, in units in its last place, of a result that is subnormal in the least of all.
pub(super) fn ulps_of_single(single: f32, exact: f64) -> f64 {
    let nearest = exact as f32;
    if single == nearest || single.is_nan() && nearest.is_nan() {
        return 0.0;
    }
    let exponent = exact.abs().log2().floor().max(-126.0);
    (f64::from(single) - exact).abs() / (exponent - 23.0).exp2()
}

/// The same of singles, with how many ulps lie between as a fraction.
const SINGLES: [(Block, fn(f64) -> f64, f64); 30] = [
    (sin_f32, f64::sin, 0.8),
    (cos_f32, f64::cos, 0.8),
    (tan_f32, f64::tan, 2.0),
    (exp_f32, f64::exp, 0.95),
    (exp2_f32, f64::exp2, 0.95),
    (expm1_f32, f64::exp_m1, 1.4),
    (log_f32, f64::ln, 0.9),
    (log2_f32, f64::log2, 1.15),
    (log10_f32, f64::log10, 0.95),
    (log1p_f32, f64::ln_1p, 0.95),
    (sinh_f32, f64::sinh, 2.3),
    (cosh_f32, f64::cosh, 1.4),
    (tanh_f32, f64::tanh, 2.6),
    (asin_f32, f64::asin, 1.4),
    (acos_f32, f64::acos, 1.4),
    (atan_f32, f64::atan, 1.5),
    (asinh_f32, special::asinh, 1.8),
    (acosh_f32, special::acosh, 2.3),
    (atanh_f32, special::atanh, 2.2),
    (sigmoid_f32, |x| if x < -700.0 { x.exp() } else { 1.0 / (1.0 + (-x).exp()) }, 2.5),
    (logit_f32, special::logit, 3.2),
    (softplus_f32, special::softplus, 1.6),
    (softsign_f32, special::softsign, 1.5),
    (silu_f32, special::silu, 3.1),
    (gelu_f32, special::gelu, 4.7),
    (elu_f32, |x| if x < 0.0 { x.exp_m1() } else { x }, 1.2),
    (erf_f32, special::erf, 2.4),
    (erfc_f32, special::erfc, 4.1),
    (erfinv_f32, special::erfinv, 2.5),
    (lgamma_f32, special::lgamma, 0.51),
];

#[test]
fn singles_within_ulps() {
    let mut random = Random(2);
    let bounds = [0.3, 1.0, 4.0, 12.0, 100.0];
    let mut x: Vec<f32> = (0..500_000).map(|i| random.within(bounds[i % bounds.len()]) as f32).collect();
    // Of all floats one in so many: with 17 the limits were found.
    const STEP: u32 = 4099;
    x.extend((0..u32::MAX / STEP).map(|i| f32::from_bits(i * STEP)));
    // About multiples of π/4, and of ln(2) / 2.
    for i in 0..30_000i16 {
        for step in [std::f64::consts::FRAC_PI_4, std::f64::consts::LN_2 / 2.0] {
            let near = (f64::from(i) * step) as f32;
            x.extend([near, -near, near.next_up(), -near.next_down()]);
        }
    }
    x.extend([
        0.0,
        f32::NAN,
        f32::INFINITY,
        f32::NEG_INFINITY,
        f32::MAX,
        -103.5,
        88.8,
        3e7,
        1e-45,
        -1e-40,
        89.4,
        -88.9,
    ]);
    for (i, (block, exact, limit)) in SINGLES.into_iter().enumerate() {
        let worst = run32(block, &x)
            .into_iter()
            .zip(&x)
            .map(|(y, &x)| (ulps_of_single(y, exact(x.into())), x, y))
            .max_by(|a, b| a.0.total_cmp(&b.0));
        assert!(worst.is_some_and(|w| w.0 <= limit), "function {i}: {worst:?}");
    }
}

/// Ends, zeros, what is near the ends and what is beyond them: the values and signs of the same functions of doubles.
#[test]
fn special_values_of_singles() {
    let inf = f32::INFINITY;
    let ends =
        [0.0, inf, f32::NAN, 1e-45, 1e-40, f32::MIN_POSITIVE, f32::MAX, 1.0, 1.0f32.next_down(), 1.0f32.next_up()];
    let near = [9.3, 26.5, 87.0, 88.7, 88.8, 89.5, 103.9, 104.0, 106.0, 127.9, 128.0, 150.5, 709.0, 1e9, 1e10, 2e5];
    let x: Vec<f32> = ends.into_iter().chain(near).flat_map(|x| [x, -x]).collect();
    for (i, (block, exact, limit)) in SINGLES.into_iter().enumerate() {
        // In blocks with others, and alone.
        let all = run32(block, &x);
        for (&x, y) in x.iter().zip(all) {
            let (exact, alone) = (exact(x.into()), run32(block, &[x])[0]);
            assert!(alone.to_bits() == y.to_bits() || alone.is_nan() && y.is_nan(), "function {i} of {x:e}");
            assert!(ulps_of_single(y, exact) <= limit, "function {i} of {x:e}: {y:e}, not {exact:e}");
            assert!(y.is_nan() || y.is_sign_negative() == exact.is_sign_negative(), "function {i} of {x:e}: {y:e}");
        }
    }
}

#[test]
fn powers_of_two_and_ten_are_exact() {
    let of_two: Vec<f64> = (-1022..=1023).map(|k| 2f64.powi(k)).collect();
    let exponents: Vec<f64> = (-1022..=1023).map(f64::from).collect();
    assert_eq!(run64(log2_f64, &of_two), exponents);
    assert_eq!(run64(exp2_f64, &exponents), of_two);
    let of_ten: Vec<f64> = (0..23).map(|k| format!("1e{k}").parse().unwrap()).collect();
    assert_eq!(run64(log10_f64, &of_ten), (0..23).map(f64::from).collect::<Vec<_>>());
    let singles: Vec<f32> = of_ten.iter().take(11).map(|&x| x as f32).collect();
    assert_eq!(run32(log10_f32, &singles), (0..11u8).map(f32::from).collect::<Vec<_>>());
}

/// Every element has the same bits whatever block it is in, and whatever its place.
#[test]
fn place_does_not_matter() {
    let mut random = Random(3);
    let x: Vec<f64> = (0..700).map(|i| if i % 97 == 0 { 1e10 } else { random.within(100.0) }).collect();
    for (block, _, _) in FUNCTIONS {
        let whole: Vec<u64> = run64(block, &x).iter().map(|y| y.to_bits()).collect();
        for start in [0, 1, 3, 250, 690] {
            for len in [1, 2, 7, 8, 9] {
                let part: Vec<u64> = run64(block, &x[start..start + len]).iter().map(|y| y.to_bits()).collect();
                assert_eq!(part, whole[start..start + len]);
            }
        }
    }
}

/// Arguments at which the way changes by which some function is found, and those beside them.
fn ends<R: Float>() -> Vec<R> {
    let ends = [
        R::ZERO,
        R::LEAST,
        R::MOST,
        R::HALF,
        R::ONE,
        R::ONE - R::epsilon(),
        R::LARGE,
        R::OVER,
        R::OVER + R::ONE,
        R::UNDER,
        R::UNDER + R::of(14.0),
        R::LARGE_POWER,
        R::UNDER_POWER,
        R::LARGE_ANGLE,
        R::LEAST_ERFC,
        R::NO_ERFC,
        R::LEAST_GELU,
        R::NO_GELU,
        R::of(1e9),
        R::infinity(),
    ];
    let near = |end: R| [-2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0].map(|n| end * (R::ONE + R::of(n) * R::epsilon()));
    ends.into_iter().flat_map(near).flat_map(|x| [x, -x]).filter(|x| !x.is_nan()).collect()
}

/// What a function gives does not depend on whether a chunk has others for which the common way does not hold.
#[test]
fn no_number_changes_what_others_give() {
    fn check<R: Float + bytemuck::Pod>(function: usize, block: Block) {
        let mut random = Random(5);
        let mut x = ends::<R>();
        for scale in [1e-30, 1e-3, 1.0, 10.0, 100.0, 900.0, 1e5, 1e20] {
            x.extend((0..200).map(|_| R::of(random.within(scale))));
        }
        let run = |x: &[R]| {
            let mut out = vec![R::ZERO; x.len()];
            block(R::as_bytes(x), bytemuck::cast_slice_mut(&mut out));
            out
        };
        for other in [R::nan(), R::infinity(), R::neg_infinity(), R::ZERO, R::LEAST / R::TWO, R::of(-0.75), R::of(1e6)]
        {
            let beside: Vec<R> = x.iter().flat_map(|&x| [x, other]).collect();
            for (&x, y) in x.iter().zip(run(&beside).into_iter().step_by(2)) {
                let alone = run(&[x])[0];
                assert!(
                    R::as_bytes(&[alone]) == R::as_bytes(&[y]) || alone.is_nan() && y.is_nan(),
                    "function {function} of {x:?}: {alone:?} alone, {y:?} beside {other:?}"
                );
            }
        }
    }
    FUNCTIONS.into_iter().enumerate().for_each(|(i, (block, _, _))| check::<f64>(i, block));
    SINGLES.into_iter().enumerate().for_each(|(i, (block, _, _))| check::<f32>(i, block));
}

/// At and beside each end the value is that of the same function by the standard library.
#[test]
fn ends_are_right() {
    for (i, (block, exact, limit)) in FUNCTIONS.into_iter().enumerate() {
        for x in ends::<f64>() {
            let (y, exact) = (run64(block, &[x, 0.25])[0], exact(x));
            // Where it is subnormal bits are lost.
            let limit = if exact == 0.0 || exact.is_infinite() { 0 } else { limit };
            assert!(ulps(y, exact) <= limit, "function {i} of {x:e}: {y:e}, not {exact:e}");
        }
    }
    for (i, (block, exact, limit)) in SINGLES.into_iter().enumerate() {
        for x in ends::<f32>() {
            let (y, exact) = (run32(block, &[x, 0.25])[0], exact(x.into()));
            assert!(ulps_of_single(y, exact) <= limit, "function {i} of {x:e}: {y:e}, not {exact:e}");
        }
    }
}

/// The functions compiled for each set of features agree bit for bit.
#[test]
fn vector_widths_agree() {
    fn agree<F: Function, R: Float>(x: &[R]) -> bool {
        let at = |level| {
            let mut out = vec![R::ZERO; x.len()];
            level::run_at(level, Fast { x, out: &mut out, function: PhantomData::<F> });
            out
        };
        R::as_bytes(&at(Level::Avx2)) == R::as_bytes(&at(Level::Avx512))
    }
    let mut random = Random(4);
    let mut x: Vec<f64> = (0..10_001).map(|_| random.within(700.0)).collect();
    x.extend(ends::<f64>());
    x.extend([f64::NAN, f64::INFINITY, f64::NEG_INFINITY]);
    for of in [1.0, 1e-2, 1e-3] {
        let x: Vec<f64> = x.iter().map(|x| x * of).collect();
        let singles: Vec<f32> = x.iter().map(|&x| x as f32).collect();
        macro_rules! check {
            ($($function:ident)+) => { $(assert!(agree::<$function, _>(&x) && agree::<$function, _>(&singles));)+ };
        }
        check!(Sin Cos Tan Asin Acos Atan Exp Exp2 Expm1 Log Log2 Log10 Log1p Sinh Cosh Tanh Asinh Acosh Atanh);
        check!(Sigmoid Logit Softplus Softsign Silu Gelu Elu Erf Erfc Erfinv);
    }
}

#[test]
fn roundings_of_halves() {
    let x = [-2.5, -1.5, -0.5, -0.0, 0.5, 1.5, 2.5, 1e300];
    assert_eq!(run64(floor_f64, &x), [-3.0, -2.0, -1.0, 0.0, 0.0, 1.0, 2.0, 1e300]);
    assert_eq!(run64(ceil_f64, &x), [-2.0, -1.0, 0.0, 0.0, 1.0, 2.0, 3.0, 1e300]);
    assert_eq!(run64(trunc_f64, &x), [-2.0, -1.0, 0.0, 0.0, 0.0, 1.0, 2.0, 1e300]);
    assert_eq!(run64(round_f64, &x), [-2.0, -2.0, 0.0, 0.0, 0.0, 2.0, 2.0, 1e300]);
    assert_eq!(run32(round_f32, &[2.5, 3.5, -0.5]), [2.0, 4.0, 0.0]);
}
