#![allow(clippy::unwrap_used)] // a failed unwrap is a failed test

mod accuracy;
mod complex;

use super::*;
use crate::dtype::{Element, c64, c128};
use crate::testing::{all_same, scalars, special, unary};
use crate::{bf16, f16};

const NAN: f64 = f64::NAN;
const INF: f64 = f64::INFINITY;

/// The op on elements of one dtype, where no cast stands between.
fn apply<A: Element, B: Element>(op: UnaryOp, x: &[A]) -> Vec<B> {
    let typing = op.typing(A::DTYPE).unwrap();
    assert_eq!((typing.compute, typing.out), (A::DTYPE, B::DTYPE), "{}", op.name());
    let kernel = op.kernel(typing.compute).unwrap();
    let out = unary(kernel, &scalars(x), A::DTYPE, B::DTYPE);
    out.into_iter().map(|v| B::from_scalar(v).unwrap()).collect()
}

#[track_caller]
fn check<A: Element, B: Element>(op: UnaryOp, x: &[A], expected: &[B]) {
    let out = apply::<A, B>(op, x);
    assert!(all_same(&scalars(&out), &scalars(expected)), "{}({x:?}) = {out:?}, not {expected:?}", op.name());
}

#[track_caller]
fn close(op: UnaryOp, x: &[f64], expected: &[f64]) {
    for (y, e) in apply::<f64, f64>(op, x).into_iter().zip(expected) {
        let equal = y == *e || (y.is_nan() && e.is_nan());
        assert!(equal || ((y - e) / e).abs() < 1e-15, "{}({x:?}): {y}, not {e}", op.name());
    }
}

#[test]
fn every_typing_has_a_kernel() {
    for &op in UnaryOp::ALL {
        assert!(!op.doc().is_empty() && op.doc().ends_with('.'), "{}", op.name());
        for dtype in DType::ALL {
            let Some(typing) = op.typing(dtype) else { continue };
            let kernel = op.kernel(typing.compute);
            assert!(kernel.is_some(), "{} {dtype}", op.name());
            // A block gives what its elements give one by one; long blocks cross the kernels' chunks.
            let x: Vec<_> = special(typing.compute).into_iter().cycle().take(1300).collect();
            let whole = unary(kernel.unwrap(), &x, typing.compute, typing.out);
            for (x, y) in x.iter().zip(&whole).take(100) {
                assert!(unary(kernel.unwrap(), &[*x], typing.compute, typing.out)[0].same(*y), "{}({x})", op.name());
            }
            let period = special(typing.compute).len();
            assert!(all_same(&whole[period..], &whole[..whole.len() - period]), "{} {dtype}", op.name());
        }
    }
}

#[test]
fn half_precision_is_single_rounded() {
    // The ends of the range are those of the dtype.
    for &op in UnaryOp::ALL.iter().filter(|&&op| op != UnaryOp::NanToNum) {
        for dtype in [DType::F16, DType::BF16] {
            let Some(typing) = op.typing(dtype) else { continue };
            let out = if typing.out == dtype { DType::F32 } else { typing.out };
            let x = special(dtype);
            let half = unary(op.kernel(dtype).unwrap(), &x, dtype, typing.out);
            let single = unary(op.kernel(DType::F32).unwrap(), &x, DType::F32, out);
            let rounded: Vec<_> = single.into_iter().map(|v| v.cast(typing.out)).collect();
            assert!(all_same(&half, &rounded), "{} {dtype}: {half:?} {rounded:?}", op.name());
        }
    }
}

#[test]
fn undefined_dtypes() {
    let undefined = |op: UnaryOp| DType::ALL.into_iter().filter(|&d| op.typing(d).is_none()).collect::<Vec<_>>();
    let complex = [DType::Complex64, DType::Complex128];
    for op in [UnaryOp::Neg, UnaryOp::Sign] {
        assert_eq!(undefined(op), [DType::Bool]);
    }
    for op in [UnaryOp::Relu, UnaryOp::Erf, UnaryOp::Signbit, UnaryOp::Isposinf, UnaryOp::Sigmoid] {
        assert_eq!(undefined(op), complex);
    }
    for op in [UnaryOp::Floor, UnaryOp::Ceil, UnaryOp::Trunc, UnaryOp::Round] {
        assert_eq!(undefined(op), [&[DType::Bool], &complex[..]].concat());
    }
    assert_eq!(undefined(UnaryOp::BitwiseNot).len(), 6);
    assert_eq!(UnaryOp::Sin.typing(DType::I16), Some(Typing::same(DType::F32)));
    assert_eq!(UnaryOp::Sin.typing(DType::U32), Some(Typing::same(DType::F64)));
    assert_eq!(UnaryOp::Abs.typing(DType::Complex64), Some(Typing { compute: DType::Complex64, out: DType::F32 }));
}

#[test]
fn sign_ops() {
    check(UnaryOp::Neg, &[i8::MIN, -1, 0, 7], &[i8::MIN, 1, 0, -7]);
    check(UnaryOp::Neg, &[0u16, 1, 65535], &[0u16, 65535, 1]);
    check(UnaryOp::Neg, &[1.5, -INF, NAN], &[-1.5, INF, NAN]);
    check(UnaryOp::Neg, &[c64::new(1.0, -2.0)], &[c64::new(-1.0, 2.0)]);
    check(UnaryOp::Abs, &[i32::MIN, -5, 5], &[i32::MIN, 5, 5]);
    check(UnaryOp::Abs, &[u8::MAX], &[u8::MAX]);
    check(UnaryOp::Abs, &[true, false], &[true, false]);
    check(UnaryOp::Abs, &[-0.5, -INF, NAN], &[0.5, INF, NAN]);
    check(UnaryOp::Abs, &[c128::new(3e300, -4e300), c128::new(NAN, -INF)], &[5e300, INF]);
    check(UnaryOp::Sign, &[i64::MIN, 0, 9], &[-1i64, 0, 1]);
    check(UnaryOp::Sign, &[0u32, 9], &[0u32, 1]);
    check(UnaryOp::Sign, &[-0.1f32, 0.0, -0.0, f32::INFINITY, f32::NAN], &[-1.0f32, 0.0, 0.0, 1.0, f32::NAN]);
    check(UnaryOp::Sign, &[c128::new(0.0, -2.0), c128::new(0.0, 0.0)], &[c128::new(0.0, -1.0), c128::new(0.0, 0.0)]);
    check(UnaryOp::Relu, &[-1.0, -0.0, 2.0, -INF, INF, NAN], &[0.0, 0.0, 2.0, 0.0, INF, NAN]);
    assert!(apply::<f64, f64>(UnaryOp::Relu, &[-0.0])[0].is_sign_positive());
    check(UnaryOp::Relu, &[i16::MIN, 3], &[0i16, 3]);
    check(UnaryOp::Relu, &[false, true], &[false, true]);
    check(UnaryOp::Square, &[-12i8, 11], &[-112i8, 121]);
    check(UnaryOp::Square, &[true, false], &[true, false]);
    check(UnaryOp::Square, &[c64::new(0.0, 2.0)], &[c64::new(-4.0, 0.0)]);
}

#[test]
fn functions() {
    close(UnaryOp::Sqrt, &[4.0, 0.0, -1.0, INF], &[2.0, 0.0, NAN, INF]);
    close(UnaryOp::Reciprocal, &[4.0, 0.0, -0.0, INF], &[0.25, INF, -INF, 0.0]);
    close(UnaryOp::Exp, &[0.0, 1.0, -INF, INF, 710.0, NAN], &[1.0, std::f64::consts::E, 0.0, INF, INF, NAN]);
    close(UnaryOp::Expm1, &[1e-20, 0.0, -INF], &[1e-20, 0.0, -1.0]);
    close(UnaryOp::Log, &[1.0, 0.0, -1.0, std::f64::consts::E], &[0.0, -INF, NAN, 1.0]);
    close(UnaryOp::Log1p, &[1e-20, 0.0, -1.0, -2.0], &[1e-20, 0.0, -INF, NAN]);
    close(UnaryOp::Sin, &[0.0, 0.5, INF, NAN], &[0.0, 0.5f64.sin(), NAN, NAN]);
    close(UnaryOp::Cos, &[0.0, 0.5, -INF, NAN], &[1.0, 0.5f64.cos(), NAN, NAN]);
    close(UnaryOp::Tan, &[0.0, 0.5, INF], &[0.0, 0.5f64.tan(), NAN]);
    close(UnaryOp::Sinh, &[0.0, 0.5, -1000.0], &[0.0, 0.521_095_305_493_747_4, -INF]);
    close(UnaryOp::Cosh, &[0.0, 0.5, -1000.0], &[1.0, 1.127_625_965_206_380_7, INF]);
    close(UnaryOp::Tanh, &[0.0, 0.5, -1000.0, INF], &[0.0, 0.462_117_157_260_009_75, -1.0, 1.0]);
    close(UnaryOp::Sigmoid, &[0.0, 1000.0, -1000.0, NAN, 1.0], &[0.5, 1.0, 0.0, NAN, 0.731_058_578_630_004_9]);
    check(UnaryOp::Sigmoid, &[-740.0, -708.5], &[(-740f64).exp(), (-708.5f64).exp()]);
    check(UnaryOp::Floor, &[-1.5, 1.5, -INF, NAN], &[-2.0, 1.0, -INF, NAN]);
    check(UnaryOp::Ceil, &[-1.5f32, 1.5], &[-1.0f32, 2.0]);
    check(UnaryOp::Trunc, &[-1.5, 1.5, 1e300], &[-1.0, 1.0, 1e300]);
    check(UnaryOp::Round, &[0.5, 1.5, 2.5, -0.5], &[0.0, 2.0, 2.0, 0.0]);
    check(UnaryOp::Round, &[f16::from_f32(2.5)], &[f16::from_f32(2.0)]);
    check(UnaryOp::Floor, &[i64::MIN, 3], &[i64::MIN, 3]);
    check(UnaryOp::Exp, &[bf16::from_f32(0.0)], &[bf16::from_f32(1.0)]);
}

#[test]
fn inverse_functions() {
    use std::f64::consts::{FRAC_PI_2, PI};
    close(UnaryOp::Rsqrt, &[4.0, 0.0, -0.0, INF, -1.0], &[0.5, INF, -INF, 0.0, NAN]);
    close(UnaryOp::Exp2, &[3.0, -1074.0, 1024.0, -INF, NAN], &[8.0, 5e-324, INF, 0.0, NAN]);
    close(UnaryOp::Log2, &[8.0, 5e-324, 0.0, -1.0, INF], &[3.0, -1074.0, -INF, NAN, INF]);
    close(UnaryOp::Log10, &[1000.0, 1e-30, 0.0, -1.0, INF], &[3.0, -30.0, -INF, NAN, INF]);
    close(UnaryOp::Asin, &[0.0, -1.0, 1.5, INF], &[0.0, -FRAC_PI_2, NAN, NAN]);
    close(UnaryOp::Acos, &[1.0, -1.0, 0.0, NAN], &[0.0, PI, FRAC_PI_2, NAN]);
    close(UnaryOp::Atan, &[0.0, INF, -INF, NAN], &[0.0, FRAC_PI_2, -FRAC_PI_2, NAN]);
    close(UnaryOp::Asinh, &[0.0, INF, -INF, f64::MAX, NAN], &[0.0, INF, -INF, 710.475_860_073_943_9, NAN]);
    close(UnaryOp::Acosh, &[1.0, 0.5, -1e8, f64::MAX, INF], &[0.0, NAN, NAN, 710.475_860_073_943_9, INF]);
    close(UnaryOp::Atanh, &[0.0, 1.0, -1.0, 1.5, INF, -1e300], &[0.0, INF, -INF, NAN, NAN, NAN]);
    close(UnaryOp::Logit, &[0.5, 0.0, 1.0, -0.1, 1.1, NAN], &[0.0, -INF, INF, NAN, NAN, NAN]);
    close(UnaryOp::Deg2rad, &[180.0, -INF, NAN], &[PI, -INF, NAN]);
    close(UnaryOp::Rad2deg, &[PI, INF, NAN], &[180.0, INF, NAN]);
    for op in [UnaryOp::Asinh, UnaryOp::Atanh, UnaryOp::Asin, UnaryOp::Erf, UnaryOp::Silu, UnaryOp::Gelu] {
        assert!(apply::<f64, f64>(op, &[-0.0])[0].is_sign_negative(), "{}", op.name());
    }
}

#[test]
fn special_functions() {
    close(UnaryOp::Erf, &[0.0, INF, -INF, 7.0, 5e-324, NAN], &[0.0, 1.0, -1.0, 1.0, 5e-324, NAN]);
    close(UnaryOp::Erfc, &[0.0, INF, -INF, 30.0, -7.0, NAN], &[1.0, 0.0, 2.0, 0.0, 2.0, NAN]);
    close(UnaryOp::Lgamma, &[1.0, 2.0, 0.0, -0.0, -1.0, -3.0], &[0.0, 0.0, INF, INF, INF, INF]);
    close(UnaryOp::Lgamma, &[INF, -INF, NAN, f64::MAX, 5e-324], &[INF, INF, NAN, INF, 744.440_071_921_381_2]);
    close(UnaryOp::Lgamma, &[11.0, 3.0], &[15.104_412_573_075_516, std::f64::consts::LN_2]);
    close(UnaryOp::Digamma, &[0.0, -0.0, -1.0, -1e300, -INF, INF, NAN], &[-INF, INF, NAN, NAN, NAN, INF, NAN]);
    close(UnaryOp::Digamma, &[1.0, 1e-300, -1e-300], &[-0.577_215_664_901_532_9, -1e300, 1e300]);
    close(UnaryOp::Erfinv, &[0.0, 1.0, -1.0, 1.5, NAN], &[0.0, INF, -INF, NAN, NAN]);
    close(UnaryOp::Softsign, &[-INF, INF, 1.0, -3.0, NAN], &[-1.0, 1.0, 0.5, -0.75, NAN]);
    close(UnaryOp::Hardsigmoid, &[-INF, INF, -3.0, 0.0, 1.5, NAN], &[0.0, 1.0, 0.0, 0.5, 0.75, NAN]);
    close(UnaryOp::Softplus, &[-INF, INF, -1e4, 1e4, NAN], &[0.0, INF, 0.0, 1e4, NAN]);
    close(UnaryOp::Silu, &[-INF, INF, -1e4, 1e4, 0.0, NAN], &[0.0, INF, 0.0, 1e4, 0.0, NAN]);
    close(UnaryOp::Gelu, &[-INF, INF, f64::MIN, 1e4, 0.0, NAN], &[0.0, INF, 0.0, 1e4, 0.0, NAN]);
    close(UnaryOp::LeakyRelu, &[-INF, INF, -100.0, 3.0, NAN], &[-INF, INF, -1.0, 3.0, NAN]);
    close(UnaryOp::Elu, &[-INF, INF, -1e-20, 3.0, NAN], &[-1.0, INF, -1e-20, 3.0, NAN]);
    check(UnaryOp::Erf, &[f16::ONE], &[f16::from_f32(0.842_700_8)]);
    check(UnaryOp::Lgamma, &[bf16::from_f32(3.0)], &[bf16::from_f32(std::f32::consts::LN_2)]);
}

/// The sides of the branch cuts, and the points where they end.
#[test]
fn branch_cuts() {
    use std::f64::consts::{FRAC_PI_2, PI};
    let r = 1.316_957_896_924_816_8; // acosh(2)
    let check = |op: UnaryOp, z: (f64, f64), want: (f64, f64)| {
        let got = apply::<c128, c128>(op, &[c128::new(z.0, z.1)])[0];
        let off = (got - c128::new(want.0, want.1)).norm();
        assert!(off <= 1e-15, "{}({z:?}) = {got}, not {want:?}", op.name());
    };
    for zero in [0.0f64, -0.0] {
        let side = 1f64.copysign(zero);
        check(UnaryOp::Asin, (2.0, zero), (FRAC_PI_2, side * r));
        check(UnaryOp::Asin, (-2.0, zero), (-FRAC_PI_2, side * r));
        check(UnaryOp::Acos, (2.0, zero), (0.0, -side * r));
        check(UnaryOp::Acos, (-2.0, zero), (PI, -side * r));
        check(UnaryOp::Acosh, (-2.0, zero), (r, side * PI));
        check(UnaryOp::Acosh, (0.0, zero), (0.0, side * FRAC_PI_2));
        check(UnaryOp::Asinh, (zero, 2.0), (side * r, FRAC_PI_2));
        check(UnaryOp::Asinh, (zero, -2.0), (side * r, -FRAC_PI_2));
        check(UnaryOp::Atan, (zero, 2.0), (side * FRAC_PI_2, 0.549_306_144_334_054_8));
        check(UnaryOp::Atanh, (2.0, zero), (0.549_306_144_334_054_8, side * FRAC_PI_2));
        check(UnaryOp::Log1p, (-2.0, zero), (0.0, side * PI));
        check(UnaryOp::Rsqrt, (-4.0, zero), (0.0, -side * 0.5));
        check(UnaryOp::Expm1, (0.0, zero), (0.0, zero));
        check(UnaryOp::Exp2, (3.0, zero), (8.0, zero));
    }
    check(UnaryOp::Acos, (1.0, 0.0), (0.0, 0.0));
    check(UnaryOp::Asin, (1.0, 0.0), (FRAC_PI_2, 0.0));
    check(UnaryOp::Log2, (-8.0, 0.0), (3.0, PI / std::f64::consts::LN_2));
    let pole = apply::<c128, c128>(UnaryOp::Atanh, &[c128::new(-1.0, 0.0)])[0];
    assert_eq!(pole.re, -INF);
    let large = apply::<c128, c128>(UnaryOp::Asinh, &[c128::new(1e300, 1e300)])[0];
    assert!((large - c128::new(691.815_248_669_053_6, std::f64::consts::FRAC_PI_4)).norm() < 1e-12, "{large}");
}

#[test]
fn predicates() {
    check(UnaryOp::Isposinf, &[NAN, INF, -INF, 1.0], &[false, true, false, false]);
    check(UnaryOp::Isneginf, &[NAN, INF, -INF, 1.0], &[false, false, true, false]);
    check(UnaryOp::Isneginf, &[f16::NEG_INFINITY], &[true]);
    check(UnaryOp::Isposinf, &[3u8, 255], &[false, false]);
    check(UnaryOp::Signbit, &[0.0, -0.0, -NAN, NAN, -INF, 2.0], &[false, true, true, false, true, false]);
    check(UnaryOp::Signbit, &[i8::MIN, 0, 7], &[true, false, false]);
    check(UnaryOp::Signbit, &[u8::MAX], &[false]);
    check(UnaryOp::Signbit, &[true], &[false]);
    check(UnaryOp::Signbit, &[bf16::NEG_ZERO], &[true]);
    check(UnaryOp::NanToNum, &[NAN, INF, -INF, -2.5], &[0.0, f64::MAX, f64::MIN, -2.5]);
    check(UnaryOp::NanToNum, &[f16::NAN, f16::INFINITY, f16::NEG_INFINITY], &[f16::ZERO, f16::MAX, f16::MIN]);
    check(UnaryOp::NanToNum, &[bf16::INFINITY, bf16::ONE], &[bf16::MAX, bf16::ONE]);
    check(UnaryOp::NanToNum, &[c64::new(f32::NAN, f32::NEG_INFINITY)], &[c64::new(0.0, f32::MIN)]);
    check(UnaryOp::NanToNum, &[i64::MIN, 4], &[i64::MIN, 4]);
    check(UnaryOp::NanToNum, &[true, false], &[true, false]);
    check(UnaryOp::Isnan, &[NAN, INF, 1.0], &[true, false, false]);
    check(UnaryOp::Isnan, &[c64::new(0.0, f32::NAN), c64::new(f32::INFINITY, 0.0)], &[true, false]);
    check(UnaryOp::Isinf, &[NAN, -INF, 1.0], &[false, true, false]);
    check(UnaryOp::Isinf, &[c64::new(f32::NAN, f32::INFINITY)], &[true]);
    check(UnaryOp::Isfinite, &[NAN, -INF, 1.0], &[false, false, true]);
    check(UnaryOp::Isfinite, &[f16::INFINITY, f16::MAX], &[false, true]);
    check(UnaryOp::Isfinite, &[0i32, 1], &[true, true]);
    check(UnaryOp::Isnan, &[false, true], &[false, false]);
    check(UnaryOp::LogicalNot, &[0.0, -0.0, NAN, 2.0], &[true, true, false, false]);
    check(UnaryOp::LogicalNot, &[bf16::NEG_ZERO, bf16::NAN], &[true, false]);
    check(UnaryOp::LogicalNot, &[0i64, -1], &[true, false]);
    check(UnaryOp::LogicalNot, &[true, false], &[false, true]);
    check(UnaryOp::LogicalNot, &[c128::new(0.0, -0.0), c128::new(0.0, 1.0)], &[true, false]);
}

#[test]
fn bits_and_parts() {
    check(UnaryOp::BitwiseNot, &[true, false], &[false, true]);
    check(UnaryOp::BitwiseNot, &[0i16, i16::MIN], &[-1i16, i16::MAX]);
    check(UnaryOp::BitwiseNot, &[1u8], &[254u8]);
    let z = [c64::new(1.0, -2.0)];
    check(UnaryOp::Conj, &z, &[c64::new(1.0, 2.0)]);
    check(UnaryOp::Real, &z, &[1.0f32]);
    check(UnaryOp::Imag, &z, &[-2.0f32]);
    check(UnaryOp::Angle, &[c64::new(0.0, -2.0)], &[-std::f32::consts::FRAC_PI_2]);
    check(UnaryOp::Angle, &[-3.0, 0.0, -0.0, INF, NAN], &[std::f64::consts::PI, 0.0, 0.0, 0.0, NAN]);
    check(UnaryOp::Conj, &[true], &[true]);
    check(UnaryOp::Real, &[-3i32], &[-3i32]);
    check(UnaryOp::Imag, &[f64::NAN, 3.0], &[0.0, 0.0]);
}

/// Identities in place of a table: they hold to a few roundings.
#[test]
fn complex_functions() {
    let near = |a: c128, b: c128| (a - b).norm() <= 1e-14 * (1.0 + b.norm());
    let get = |op: UnaryOp, z: c128| apply::<c128, c128>(op, &[z])[0];
    let one = c128::new(1.0, 0.0);
    for z in [c128::new(0.3, -1.2), c128::new(-2.0, 0.7), c128::new(1.5, 3.0)] {
        assert!(near(get(UnaryOp::Sqrt, z) * get(UnaryOp::Sqrt, z), z));
        assert!(near(get(UnaryOp::Exp, get(UnaryOp::Log, z)), z));
        assert!(near(get(UnaryOp::Reciprocal, z) * z, one));
        let (sin, cos) = (get(UnaryOp::Sin, z), get(UnaryOp::Cos, z));
        assert!((sin * sin + cos * cos - one).norm() < 1e-12);
        assert!(near(get(UnaryOp::Tan, z) * cos, sin));
        assert!(near(get(UnaryOp::Tanh, z) * get(UnaryOp::Cosh, z), get(UnaryOp::Sinh, z)));
        assert!(near(get(UnaryOp::Sign, z) * z.norm(), z));
    }
    assert_eq!(get(UnaryOp::Tanh, c128::new(-900.0, 1.0)), c128::new(-1.0, 0.0));
    assert_eq!(get(UnaryOp::Tan, c128::new(1.0, 900.0)), c128::new(0.0, 1.0));
    let saturated = get(UnaryOp::Tanh, c128::new(20.5, 1.0));
    assert!(((saturated.im - c128::new(20.5, 1.0).tanh().im) / saturated.im).abs() < 1e-12);
    assert!(near(get(UnaryOp::Reciprocal, c128::new(1e300, 1e300)) * 1e300, c128::new(0.5, -0.5)));
}

#[test]
fn absolute_values_of_complex_numbers() {
    let parts = [
        0.0,
        -0.0,
        1.0,
        -3.5,
        1e-45,
        -1e-38,
        7e-20,
        2.5e19,
        -1e38,
        f32::MAX,
        f32::INFINITY,
        f32::NEG_INFINITY,
        f32::NAN,
    ];
    let all: Vec<c64> = parts.iter().flat_map(|&re| parts.map(|im| c64::new(re, im))).collect();
    let found = apply::<c64, f32>(UnaryOp::Abs, &all);
    for (x, found) in all.iter().zip(found) {
        let wanted = f64::from(x.re).hypot(f64::from(x.im)) as f32;
        let is_near = found == wanted || found.to_bits().abs_diff(wanted.to_bits()) <= 1;
        assert!(is_near || found.is_nan() && wanted.is_nan(), "{x}: {found}, {wanted}");
    }
}
