//! Complex functions where a careless formula cancels or overflows: beside poles, zeros and cuts, and near the ends of
//! the range. Values are those of 240 digits, rounded.
#![allow(clippy::approx_constant)] // some values happen to be famous
#![allow(clippy::unreadable_literal, clippy::inconsistent_digit_grouping)]

use std::f64::consts::{FRAC_PI_2, FRAC_PI_4, PI};

use super::{INF, NAN, apply};
use crate::binary::BinaryOp;
use crate::testing::{binary, scalars};
use crate::{DType, Element, UnaryOp, c64, c128};

/// Each part within 8 ulps.
#[track_caller]
fn parts(op: UnaryOp, values: &[((f64, f64), (f64, f64))]) {
    for &(z, want) in values {
        let got = apply::<c128, c128>(op, &[c128::new(z.0, z.1)])[0];
        for (got, want) in [(got.re, want.0), (got.im, want.1)] {
            let ulp = want.abs().next_up() - want.abs();
            assert!(got == want || (got - want).abs() <= 8.0 * ulp, "{}({z:?}): {got:e}, not {want:e}", op.name());
        }
    }
}

#[test]
fn tangents_beside_their_poles() {
    let values = [
        ((1.5807963267948966, 0.0), (-99.99666664444476, 0.0)),
        ((1.5807963267948966, 3e-07), (-99.99666655444476, 0.003000099999300063)),
        ((-4.70238898038469, -0.01), (-49.996666711111956, -50.003333377777075)),
        ((1.5708963267948965, 3e-07), (-9999.909967483884, 29.999730102473325)),
        ((1.5707973267948965, 3e-07), (-917431.1927701271, 275229.35787073325)),
        ((-4.7123879803846895, -1e-06), (-499999.9999996667, -499999.99983859586)),
        ((1.5707963367948965, 0.0), (-100000001.22007051, 0.0)),
        ((1.5707963367948965, 3e-07), (-110987.78999182548, 3329633.7403788436)),
        ((-4.71238897038469, -1e-08), (-49999999.99999999, -49999999.38538846)),
        ((1.5707963257948965, 3e-07), (11110.989255335848, 3333296.29669725)),
        ((-4.71238898138469, 1e-09), (499999999.99999744, 500000050.478327)),
        ((1.5707963267948966, 0.0), (1.633123935319537e16, 0.0)),
        ((1.5707963267948966, 3e-07), (0.0006803593328596204, 3333333.3333334336)),
        ((-4.71238898038469, -0.0), (-5443746451065123.0, 0.0)),
    ];
    parts(UnaryOp::Tan, &values);
    // tanh(z) = -i tan(i z), and so tanh(y - i x) is Im tan(x + i y) less i times its real part.
    parts(UnaryOp::Tanh, &values.map(|((x, y), (re, im))| ((y, -x), (im, -re))));
    // Along the real axis they are the functions of real numbers.
    for k in -40..40 {
        let x = FRAC_PI_2 + 10f64.powi(k / 2) * if k % 2 == 0 { 1.0 } else { -1.0 };
        let tan = apply::<f64, f64>(UnaryOp::Tan, &[x])[0];
        assert_eq!(apply::<c128, c128>(UnaryOp::Tan, &[c128::new(x, 0.0)]), [c128::new(tan, 0.0)]);
        parts(UnaryOp::Tanh, &[((x, 0.0), (x.tanh(), 0.0))]);
    }
    let single = apply::<c64, c64>(UnaryOp::Tan, &[c64::new(1.5707963, 0.0)]);
    assert_eq!(single, [c64::new(f64::from(1.5707963f32).tan() as f32, 0.0)]);
}

#[test]
fn beside_other_poles_zeros_and_cuts() {
    parts(
        UnaryOp::Atanh,
        &[
            ((1.000000000001, 0.0), (14.162039699929037, FRAC_PI_2)),
            ((1.0, 1e-160), (184.55338102980363, 0.7853981633974483)),
            ((-1.0, -1e-12), (-14.162084148244247, -0.7853981633976983)),
            ((1e170, 1e170), (5e-171, FRAC_PI_2)),
            ((1.7e308, -1.7e308), (2.941176470588236e-309, -FRAC_PI_2)),
        ],
    );
    parts(UnaryOp::Atan, &[((5e-161, 1.0), (0.7853981633974483, 184.8999546200836))]);
    parts(
        UnaryOp::Sqrt,
        &[
            ((-745.0, 1e-300), (1.8318582636182793e-302, 27.294688127912362)),
            ((-4.0, -1e-10), (2.5e-11, -2.0)),
            ((1.7e308, 1.7e308), (1.4325088230154573e154, 5.933645827121221e153)),
            ((1e-310, -1e-310), (1.0986841134678082e-155, -4.5508986056222663e-156)),
        ],
    );
    // The modulus of 1 + z is almost 1.
    parts(UnaryOp::Log1p, &[((-0.02, 0.199), (4.999997500017913e-7, 0.20033730464899093))]);
    parts(UnaryOp::Exp2, &[((-0.25, 1000000.5), (0.5163727995765237, -0.6636760603216383))]);
    let unit = apply::<c128, c128>(UnaryOp::Exp2, &[c128::new(0.0, 1e300)])[0];
    assert!((unit.norm() - 1.0).abs() < 1e-15, "{unit}");
}

#[test]
fn beside_the_ends_of_the_range() {
    let (cos, sin) = (1.4180085113617112e308, 1.4600362375236074e308);
    parts(UnaryOp::Sinh, &[((710.6, 0.8), (cos, sin)), ((-710.6, 0.8), (-cos, sin)), ((1e5, 0.0), (INF, 0.0))]);
    parts(UnaryOp::Cosh, &[((710.6, 0.8), (cos, sin)), ((-710.6, 0.8), (cos, -sin)), ((-1e5, 0.0), (INF, -0.0))]);
    parts(UnaryOp::Sin, &[((0.8, 710.6), (sin, cos)), ((0.0, -1e5), (0.0, -INF))]);
    parts(UnaryOp::Cos, &[((0.8, 710.6), (cos, -sin)), ((0.0, 1e5), (INF, 0.0))]);
    let exp = [
        ((709.9, 0.5), (1.7739471950198739e308, 9.691117694907653e307)),
        ((720.0, FRAC_PI_2), (3.0130603219044925e296, INF)),
        ((1000.0, 1e-150), (INF, 1.970071114017047e284)),
        ((-740.0, 1.0), (2.27e-322, 3.5e-322)),
        ((1e5, 0.0), (INF, 0.0)),
        ((3000.0, 1.0), (INF, INF)),
    ];
    parts(UnaryOp::Exp, &exp);
    parts(UnaryOp::Expm1, &exp[..3]);
    parts(UnaryOp::Log, &[((1.7e308, 1.7e308), (710.0734104835082, FRAC_PI_4))]);
    parts(UnaryOp::Sign, &[((1.7e308, -1.7e308), (0.5f64.sqrt(), -(0.5f64.sqrt())))]);
    parts(UnaryOp::Reciprocal, &[((1.7e308, 1.7e308), (2.941176470588236e-309, -2.941176470588236e-309))]);
}

/// Annex G of C99.
#[test]
fn parts_that_are_not_finite() {
    let check = |op: UnaryOp, values: &[((f64, f64), (f64, f64))]| {
        for &(z, want) in values {
            let got = apply::<c128, c128>(op, &[c128::new(z.0, z.1)])[0];
            let same = |a: f64, b: f64| (a - b).abs() < 1e-15 || a == b || (a.is_nan() && b.is_nan());
            assert!(same(got.re, want.0) && same(got.im, want.1), "{}({z:?}) = {got}, not {want:?}", op.name());
        }
    };
    check(UnaryOp::Exp, &[((1.0, INF), (NAN, NAN)), ((-INF, INF), (0.0, 0.0)), ((INF, NAN), (INF, NAN))]);
    check(UnaryOp::Exp, &[((INF, 2.0), (-INF, INF)), ((-INF, 2.0), (0.0, 0.0)), ((NAN, 0.0), (NAN, 0.0))]);
    check(UnaryOp::Sinh, &[((0.0, INF), (0.0, NAN)), ((INF, 1.0), (INF, INF)), ((INF, INF), (INF, NAN))]);
    check(UnaryOp::Cosh, &[((0.0, INF), (NAN, 0.0)), ((-INF, 1.0), (INF, -INF)), ((NAN, 0.0), (NAN, 0.0))]);
    check(UnaryOp::Tanh, &[((INF, 1.0), (1.0, 0.0)), ((-INF, INF), (-1.0, 0.0)), ((1.0, INF), (NAN, NAN))]);
    check(UnaryOp::Tanh, &[((0.0, INF), (0.0, NAN)), ((NAN, 0.0), (NAN, 0.0)), ((INF, NAN), (1.0, 0.0))]);
    check(UnaryOp::Sqrt, &[((1.0, INF), (INF, INF)), ((-INF, 1.0), (0.0, INF)), ((NAN, -INF), (INF, -INF))]);
    check(UnaryOp::Log, &[((1.0, NAN), (NAN, NAN)), ((0.8, NAN), (NAN, NAN)), ((NAN, INF), (INF, NAN))]);
    check(UnaryOp::Log, &[((-INF, INF), (INF, 0.75 * PI)), ((-0.0, 0.0), (-INF, PI))]);
    check(UnaryOp::Atanh, &[((1.0, INF), (0.0, FRAC_PI_2)), ((-INF, 1.0), (0.0, FRAC_PI_2)), ((1.0, 0.0), (INF, 0.0))]);
    check(
        UnaryOp::Asinh,
        &[((1.0, INF), (INF, FRAC_PI_2)), ((-INF, 1.0), (-INF, 0.0)), ((INF, INF), (INF, FRAC_PI_4))],
    );
    check(UnaryOp::Acosh, &[((1.0, INF), (INF, FRAC_PI_2)), ((-INF, 1.0), (INF, PI)), ((-INF, INF), (INF, 0.75 * PI))]);
    check(
        UnaryOp::Acos,
        &[((1.0, INF), (FRAC_PI_2, -INF)), ((-INF, 1.0), (PI, -INF)), ((INF, INF), (FRAC_PI_4, -INF))],
    );
}

#[test]
fn powers() {
    let pow = |a: (f64, f64), b: (f64, f64)| {
        let [a, b] = [a, b].map(|z| scalars(&[c128::new(z.0, z.1)]));
        let kernel = BinaryOp::Pow.kernel(DType::Complex128).unwrap();
        c128::from_scalar(binary(kernel, &a, &b, DType::Complex128, DType::Complex128)[0]).unwrap()
    };
    let (zero, one) = (c128::new(0.0, 0.0), c128::new(1.0, 0.0));
    for b in [(2.0, 0.0), (0.5, -3.0), (INF, 0.0)] {
        assert_eq!(pow((0.0, -0.0), b), zero, "0 ** {b:?}");
    }
    assert_eq!(pow((0.0, 0.0), (0.0, 0.0)), one);
    assert_eq!(pow((NAN, 1.0), (0.0, 0.0)), one);
    for b in [(-1.0, 0.0), (-0.5, 2.0), (-INF, 0.0)] {
        let got = pow((0.0, 0.0), b);
        assert!(got.re == INF && got.im.is_nan(), "0 ** {b:?} = {got}");
    }
    for b in [(0.0, 1.0), (NAN, 0.0), (2.0, NAN), (0.0, INF)] {
        let got = pow((0.0, 0.0), b);
        assert!(got.re.is_nan() && got.im.is_nan(), "0 ** {b:?} = {got}");
    }
    // Whole powers of whole numbers are exact, also those of several squares and products.
    let whole = |re: i64, im: i64| c128::new(re as f64, im as f64);
    assert_eq!(pow((1.0, 2.0), (2.0, 0.0)), whole(-3, 4));
    assert_eq!(pow((3.0, -1.0), (7.0, 0.0)), whole(-1992, -2456));
    assert_eq!(pow((-2.0, 1.0), (20.0, 0.0)), whole(-9_653_287, -1_476_984));
    assert_eq!(pow((0.0, 2.0), (-3.0, 0.0)), c128::new(0.0, 0.125));
    assert_eq!(pow((-3.0, 4.0), (0.5, 0.0)), whole(1, 2));
    // A block of squares is that of each alone, to the sign of zeros, also where one of them leaves the range.
    let mut many: Vec<c128> = (0..50).map(|i| whole(i % 7 - 3, i % 5 - 2)).collect();
    many.retain(|&z| z != zero);
    for last in [whole(1, 1), zero, c128::new(1e200, 1.0), c128::new(f64::NAN, 1.0)] {
        many.push(last);
        let two = scalars(&[whole(2, 0)]);
        for dtype in [DType::Complex128, DType::Complex64] {
            let squares = binary(BinaryOp::Pow.kernel(dtype).unwrap(), &scalars(&many), &two, dtype, dtype);
            for (z, square) in many.iter().zip(squares) {
                let alone =
                    binary(BinaryOp::Pow.kernel(dtype).unwrap(), &scalars(&[*z; 2]), &[two[0]; 2], dtype, dtype);
                let bits = |z: c128| [z.re, z.im].map(|part| if part.is_nan() { 0 } else { part.to_bits() });
                let [square, alone] = [square, alone[0]].map(|z| bits(z.to::<c128>()));
                assert_eq!(square, alone, "{z} of {dtype}");
            }
        }
        many.pop();
    }
    // Squares that leave the range on the way, and powers that do not come out whole.
    for (a, b) in [((3e160, 1e150), 2.0), ((2e-170, 1e-170), 2.0), ((1e-3, 2e-3), 64.0), ((-3e-6, 1e-7), -50.0)] {
        let (got, logarithm) = (pow(a, (b, 0.0)), c128::new(a.0, a.1).ln() * b);
        let wanted = logarithm.exp();
        let is_near = (got - wanted).norm() <= 1e-12 * wanted.norm() + f64::from_bits(1);
        assert!(is_near || !wanted.is_finite() && !got.is_finite(), "{a:?} ** {b}: {got} and not {wanted}");
    }
    // Of real numbers, a real power to the last bit.
    assert_eq!(pow((2.0, 0.0), (1000.0, 0.0)), c128::new(2f64.powi(1000), 0.0));
    assert_eq!(pow((1.1, 0.0), (0.3, 0.0)), c128::new(1.1f64.powf(0.3), 0.0));
    assert!((pow((0.0, 1.0), (0.0, 1.0)) - c128::new((-FRAC_PI_2).exp(), 0.0)).norm() < 1e-16);
}
