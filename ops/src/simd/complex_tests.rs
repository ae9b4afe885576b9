//! Complex functions by vectors beside those of single numbers.

use super::*;
use crate::dtype::c64;
use crate::simd::level::{Level, run_at};
use crate::simd::tests::Random;

/// How many units of the last place of the exact one a part is off; of NaN and infinities whether they are the same.
fn units(found: f64, exact: f64) -> f64 {
    if found.to_bits() == exact.to_bits() || (found.is_nan() && exact.is_nan()) {
        return 0.0;
    }
    let unit = (exact.abs().next_up() - exact.abs()).max(f64::MIN_POSITIVE * f64::EPSILON);
    if exact == 0.0 && found == 0.0 { f64::INFINITY } else { (found - exact).abs() / unit }
}

fn block<F: Function>(x: &[c128]) -> Vec<c128> {
    let mut out = vec![c128::default(); x.len()];
    map::<c128, F>(bytemuck::cast_slice(x), bytemuck::cast_slice_mut(&mut out));
    out
}

/// Numbers of many sizes, both parts or one of them small, great or zero.
fn numbers(scales: &[f64]) -> Vec<c128> {
    let mut random = Random(5);
    let mut all = Vec::new();
    for &a in scales {
        for &b in scales {
            all.extend((0..400).map(|_| c128::new(random.within(a), random.within(b))));
        }
        for zero in [0.0, -0.0] {
            all.extend((0..20).map(|_| c128::new(zero, random.within(a))));
            all.extend((0..20).map(|_| c128::new(random.within(a), zero)));
        }
    }
    let (inf, least) = (f64::INFINITY, 5e-324);
    let ends = [0.0, 1.0, 0.5, 2.0, 1e300, 1e-300, 1e160, 1e-160, least, 1e-310, 709.0, 1e7, inf, f64::NAN];
    let signed = || ends.into_iter().flat_map(|x| [x, -x]);
    all.extend(signed().flat_map(|re| signed().map(move |im| c128::new(re, im))));
    let angles = (0..200).map(|_| std::f64::consts::PI * random.within(1.0));
    all.extend(angles.collect::<Vec<f64>>().into_iter().map(|angle| c128::from_polar(1.0, angle)));
    all
}

fn check<F: Function>(name: &str, modulus: bool, limit: f64, scales: &[f64]) {
    let x = numbers(scales);
    let mut worst = (0.0, c128::default(), c128::default());
    for (found, &x) in block::<F>(&x).into_iter().zip(&x) {
        let exact = F::exact(x);
        let off = units(found.re, exact.re).max(units(found.im, exact.im));
        let off = if modulus { (found - exact).norm() / exact.norm() / f64::EPSILON } else { off };
        if off > worst.0 {
            worst = (off, x, found);
        }
    }
    println!("{name} {worst:?}");
    assert!(worst.0 <= limit, "{name}: {worst:?}, not {}", F::exact(worst.1));
}

const ALL: [f64; 7] = [1.0, 1e-3, 30.0, 1e-9, 1e9, 1e-100, 1e100];
const SMALL: [f64; 5] = [1.0, 1e-3, 15.0, 1e-9, 1e-100];

#[test]
fn each_part_as_near_as_that_of_single_numbers() {
    check::<Reciprocal>("reciprocal", false, 0.0, &ALL);
    check::<Sqrt>("sqrt", false, 3.0, &ALL);
    check::<Rsqrt>("rsqrt", false, 6.0, &ALL);
    check::<Exp>("exp", false, 4.0, &SMALL);
    check::<Exp2>("exp2", false, 4.0, &SMALL);
    check::<Expm1>("expm1", true, 6.0, &SMALL);
    check::<Log>("log", false, 4.0, &ALL);
    check::<Log2>("log2", false, 4.0, &ALL);
    check::<Log10>("log10", false, 4.0, &ALL);
    check::<Log1p>("log1p", false, 4.0, &ALL);
    check::<Sinh>("sinh", false, 4.0, &SMALL);
    check::<Cosh>("cosh", false, 4.0, &SMALL);
    check::<Turned<Sinh>>("sin", false, 4.0, &SMALL);
    check::<Cos>("cos", false, 4.0, &SMALL);
    check::<Tanh>("tanh", false, 8.0, &SMALL);
    check::<Turned<Tanh>>("tan", false, 8.0, &SMALL);
    check::<Asin>("asin", false, 8.0, &ALL);
    check::<Acos>("acos", false, 8.0, &ALL);
    check::<Turned<Asin>>("asinh", false, 8.0, &ALL);
    check::<Acosh>("acosh", false, 8.0, &ALL);
    check::<Atanh>("atanh", false, 8.0, &ALL);
    check::<Turned<Atanh>>("atan", false, 8.0, &ALL);
}

fn powers(x: &[c128], y: &[c128]) -> Vec<c128> {
    let mut out = vec![c128::default(); x.len()];
    power::<c128>(bytemuck::cast_slice(x), bytemuck::cast_slice(y), bytemuck::cast_slice_mut(&mut out));
    out
}

#[test]
fn powers_are_those_of_single_numbers() {
    let x = numbers(&[1.0, 1e-3, 30.0, 1e100]);
    let same = |found: c128, exact: c128| units(found.re, exact.re) == 0.0 && units(found.im, exact.im) == 0.0;
    // Products and roots bit by bit.
    for n in [-2.0, 0.0, 1.0, 2.0, 3.0, 7.0, 64.0, 65.0, 2.5, f64::NAN] {
        let found = powers(&x, &[n.into()]);
        for (&x, &found) in x.iter().zip(&found) {
            let exact = complex::pow(x, n.into());
            let is_made_of_products = n.fract() == 0.0 && n.abs() <= complex::MOST;
            assert!(!is_made_of_products || same(found, exact), "{x} to {n}: {found}, not {exact}");
            near(found, exact, x, n.into());
        }
    }
    let roots = [powers(&x, &[0.5.into()]), powers(&x, &vec![0.5.into(); x.len()])];
    assert!(roots.into_iter().all(|roots| roots.into_iter().zip(block::<Sqrt>(&x)).all(|(a, b)| same(a, b))));
    // What is real of each pair, or of both, or neither.
    let mut y = numbers(&[1.0, 1e-3, 8.0, 1e3]);
    y.rotate_left(1237);
    y.iter_mut().step_by(5).for_each(|y| y.re = y.re.round());
    y.iter_mut().step_by(3).for_each(|y| y.im = 0.0);
    for ((&x, &y), found) in x.iter().zip(&y).zip(powers(&x, &y)) {
        near(found, complex::pow(x, y), x, y);
    }
}

/// As near as roundings of the product of exponent and logarithm let powers be.
#[track_caller]
fn near(found: c128, exact: c128, x: c128, y: c128) {
    if !found.is_finite() || !exact.is_finite() {
        let same = |a: f64, b: f64| a == b || a.is_nan() && b.is_nan();
        assert!(same(found.re, exact.re) && same(found.im, exact.im), "{x} to {y}: {found}, not {exact}");
        return;
    }
    let allowed = 4.0 * f64::EPSILON * (2.0 + (y * complex::ln(x)).norm()) * exact.norm();
    let off = (found - exact).norm();
    assert!(off <= allowed.max(f64::MIN_POSITIVE), "{x} to {y}: {found}, not {exact}");
}

#[test]
fn quotients_are_those_of_single_numbers() {
    let x = numbers(&[1.0, 1e-9, 1e150, 1e300]);
    let mut y = x.clone();
    y.rotate_left(1237);
    let mut out = vec![c128::default(); x.len()];
    let same = |found: c128, exact: c128| units(found.re, exact.re) == 0.0 && units(found.im, exact.im) == 0.0;
    divide::<c128>(bytemuck::cast_slice(&x), bytemuck::cast_slice(&y), bytemuck::cast_slice_mut(&mut out));
    for ((&x, &y), &found) in x.iter().zip(&y).zip(&out) {
        assert!(same(found, complex::div(x, y)), "{x} / {y}: {found}, not {}", complex::div(x, y));
    }
    for &y in y.iter().step_by(97) {
        divide::<c128>(bytemuck::cast_slice(&x), bytemuck::cast_slice(&[y]), bytemuck::cast_slice_mut(&mut out));
        assert!(x.iter().zip(&out).all(|(&x, &found)| same(found, complex::div(x, y))), "by {y}");
        divide::<c128>(bytemuck::cast_slice(&[y]), bytemuck::cast_slice(&x), bytemuck::cast_slice_mut(&mut out));
        assert!(x.iter().zip(&out).all(|(&x, &found)| same(found, complex::div(y, x))), "{y} by");
    }
}

/// Those of `complex64` are rounded once; and what is beside a number, and how wide vectors are, changes nothing.
#[test]
fn single_precision_places_and_widths() {
    fn check<F: Function>() {
        let x = numbers(&[1.0, 1e-3, 15.0]);
        let narrow: Vec<c64> = x.iter().map(|x| c64::new(x.re as f32, x.im as f32)).collect();
        let wide: Vec<c128> = narrow.iter().map(|x| c128::new(x.re.into(), x.im.into())).collect();
        let mut out = vec![c64::default(); x.len()];
        map::<c64, F>(bytemuck::cast_slice(&narrow), bytemuck::cast_slice_mut(&mut out));
        let bits = |x: f32| if x.is_nan() { 1 } else { x.to_bits() };
        for (found, wanted) in out.into_iter().zip(block::<F>(&wide)) {
            assert_eq!([found.re, found.im].map(bits), [wanted.re as f32, wanted.im as f32].map(bits));
        }
        let bits = |x: f64| if x.is_nan() { 1 } else { x.to_bits() };
        let pairs = |x: &[c128]| x.iter().map(|x| [x.re, x.im]).collect::<Vec<Pair>>();
        let all = pairs(&x);
        let mut whole = vec![[0.0; 2]; x.len()];
        run_at(Level::Avx512, Each::<F, f64>(&all, &mut whole, PhantomData));
        let mut other = vec![[0.0; 2]; x.len()];
        run_at(Level::Avx2, Each::<F, f64>(&all, &mut other, PhantomData));
        assert!(whole.iter().zip(&other).all(|(a, b)| a.map(bits) == b.map(bits)));
        for (x, wanted) in x.iter().zip(&whole).step_by(7) {
            let alone = block::<F>(&[*x])[0];
            assert_eq!([alone.re, alone.im].map(bits), wanted.map(bits), "{x}");
        }
    }
    check::<Reciprocal>();
    check::<Sqrt>();
    check::<Exp>();
    check::<Exp2>();
    check::<Expm1>();
    check::<Log>();
    check::<Log1p>();
    check::<Sinh>();
    check::<Cosh>();
    check::<Tanh>();
    check::<Asin>();
    check::<Acos>();
    check::<Acosh>();
    check::<Atanh>();
}
