#![allow(clippy::unwrap_used)] // a failed unwrap is a failed test

use super::*;
use crate::dtype::{Element, c64, c128};
use crate::scalar::Scalar;
use crate::testing::{all_same, binary, scalars, special};
use crate::{bf16, f16};

const NAN: f64 = f64::NAN;
const INF: f64 = f64::INFINITY;

#[track_caller]
fn check<A: Element, B: Element>(op: BinaryOp, operands: &[(A, A)], expected: &[B]) {
    let typing = op.typing(A::DTYPE).unwrap();
    assert_eq!((typing.compute, typing.out), (A::DTYPE, B::DTYPE), "{}", op.name());
    let (a, b): (Vec<A>, Vec<A>) = operands.iter().copied().unzip();
    let out = binary(op.kernel(typing.compute).unwrap(), &scalars(&a), &scalars(&b), A::DTYPE, B::DTYPE);
    assert!(all_same(&out, &scalars(expected)), "{} {operands:?} = {out:?}, not {expected:?}", op.name());
}

/// Every pair of special values of a dtype.
fn pairs(dtype: DType) -> (Vec<Scalar>, Vec<Scalar>) {
    let values = special(dtype);
    values.iter().flat_map(|&a| values.iter().map(move |&b| (a, b))).unzip()
}

fn apply(op: BinaryOp, a: &[Scalar], b: &[Scalar], typing: Typing) -> Vec<Scalar> {
    binary(op.kernel(typing.compute).unwrap(), a, b, typing.compute, typing.out)
}

#[test]
fn every_typing_has_a_total_kernel() {
    for &op in BinaryOp::ALL {
        assert!(!op.doc().is_empty() && op.doc().ends_with('.'), "{}", op.name());
        for dtype in DType::ALL {
            let Some(typing) = op.typing(dtype) else { continue };
            assert!(op.kernel(typing.compute).is_some(), "{} {dtype}", op.name());
            let (a, b) = pairs(typing.compute);
            let whole = apply(op, &a, &b, typing);
            for i in (0..a.len()).step_by(7) {
                let one = apply(op, &a[i..=i], &b[i..=i], typing)[0];
                assert!(one.same(whole[i]), "{}({}, {})", op.name(), a[i], b[i]);
            }
        }
    }
}

/// What a kernel gives for one element beside a block, on either side, is what it gives for the element over and over.
#[track_caller]
fn check_one_element(kernel: BinaryKernel, typing: Typing, name: &str) {
    let values = special(typing.compute);
    // More than kernels look at together.
    let block: Vec<Scalar> = values.iter().copied().cycle().take(600).collect();
    for &one in &values {
        let alike = vec![one; block.len()];
        let run = |a: &[Scalar], b: &[Scalar]| binary(kernel, a, b, typing.compute, typing.out);
        for n in [0, 1, 2, 7, block.len()] {
            let (block, alike) = (&block[..n], &alike[..n]);
            assert!(all_same(&run(block, &[one]), &run(block, alike)), "{name} {} of {n} and {one}", typing.compute);
            assert!(all_same(&run(&[one], block), &run(alike, block)), "{name} {} of {one} and {n}", typing.compute);
        }
    }
}

#[test]
fn one_element_stands_for_all() {
    for &op in BinaryOp::ALL {
        for typing in DType::ALL.into_iter().filter_map(|dtype| op.typing(dtype)) {
            check_one_element(op.kernel(typing.compute).unwrap(), typing, op.name());
        }
    }
    for dtype in DType::ALL {
        check_one_element(crate::identity::differs(dtype), Typing { compute: dtype, out: DType::Bool }, "differs");
        let Some(kernel) = crate::order::replace_nan(dtype) else { continue };
        check_one_element(kernel, Typing::same(dtype), "replace_nan");
    }
}

#[test]
fn half_precision_is_single_rounded() {
    // The next float is that of the dtype.
    for &op in BinaryOp::ALL.iter().filter(|&&op| op != BinaryOp::Nextafter) {
        for dtype in [DType::F16, DType::BF16] {
            let Some(typing) = op.typing(dtype) else { continue };
            let single = Typing { compute: DType::F32, out: if typing.out == dtype { DType::F32 } else { typing.out } };
            let (a, b) = pairs(dtype);
            let rounded: Vec<_> = apply(op, &a, &b, single).into_iter().map(|v| v.cast(typing.out)).collect();
            assert!(all_same(&apply(op, &a, &b, typing), &rounded), "{} {dtype}", op.name());
        }
    }
}

#[test]
fn algebra_holds_for_special_values() {
    for &op in BinaryOp::ALL {
        for dtype in DType::ALL {
            let Some(typing) = op.typing(dtype) else { continue };
            let (a, b) = pairs(typing.compute);
            let (ab, ba) = (apply(op, &a, &b, typing), apply(op, &b, &a, typing));
            if op.is_commutative() {
                assert!(all_same(&ab, &ba), "{} {dtype}", op.name());
            }
            for annihilator in op.annihilators() {
                if !annihilator.exact && typing.compute.is_inexact() {
                    continue;
                }
                let z = Scalar::I8(annihilator.element).cast(typing.compute);
                let x = special(typing.compute);
                let z = vec![z; x.len()];
                let sides = [(Side::Left, apply(op, &z, &x, typing)), (Side::Right, apply(op, &x, &z, typing))];
                for (side, results) in sides {
                    if annihilator.side == side || annihilator.side == Side::Both {
                        assert!(results.iter().all(|r| r.same(results[0])), "{} {dtype} {side:?}", op.name());
                    }
                }
            }
        }
    }
}

#[test]
fn undefined_dtypes() {
    let undefined = |op: BinaryOp| DType::ALL.into_iter().filter(|&d| op.typing(d).is_none()).collect::<Vec<_>>();
    let complex = [DType::Complex64, DType::Complex128];
    assert_eq!(undefined(BinaryOp::Sub), [DType::Bool]);
    assert_eq!(undefined(BinaryOp::Pow), [DType::Bool]);
    assert_eq!(undefined(BinaryOp::Lt), complex);
    assert_eq!(undefined(BinaryOp::Maximum), complex);
    assert_eq!(undefined(BinaryOp::Remainder), [&[DType::Bool], &complex[..]].concat());
    assert_eq!(undefined(BinaryOp::BitwiseXor).len(), 6);
    assert_eq!(undefined(BinaryOp::BitwiseLeftShift).len(), 7);
    assert_eq!(BinaryOp::Div.typing(DType::Bool), Some(Typing::same(DType::F32)));
    assert_eq!(BinaryOp::Atan2.typing(DType::U8), Some(Typing::same(DType::F32)));
    assert_eq!(BinaryOp::Atan2.typing(DType::U64), Some(Typing::same(DType::F64)));
}

#[test]
fn arithmetic() {
    check(BinaryOp::Add, &[(true, true), (false, true), (false, false)], &[true, true, false]);
    check(BinaryOp::Add, &[(i8::MAX, 1), (-1, -1)], &[i8::MIN, -2]);
    check(BinaryOp::Add, &[(INF, -INF), (1.0, 2.0)], &[NAN, 3.0]);
    check(BinaryOp::Sub, &[(0u8, 1), (5, 3)], &[255u8, 2]);
    check(BinaryOp::Sub, &[(i64::MIN, 1)], &[i64::MAX]);
    check(BinaryOp::Mul, &[(true, false), (true, true)], &[false, true]);
    check(BinaryOp::Mul, &[(i16::MIN, -1), (300, 300)], &[i16::MIN, 24464]);
    check(BinaryOp::Mul, &[(0.0, INF), (-0.5, 4.0)], &[NAN, -2.0]);
    check(BinaryOp::Mul, &[(c64::new(1.0, 2.0), c64::new(3.0, -1.0))], &[c64::new(5.0, 5.0)]);
    check(BinaryOp::Div, &[(1.0, 0.0), (-1.0, 0.0), (0.0, 0.0)], &[INF, -INF, NAN]);
    check(BinaryOp::Div, &[(c128::new(5.0, 5.0), c128::new(4.0, -4.0))], &[c128::new(0.0, 1.25)]);
    check(BinaryOp::Div, &[(c128::new(1e307, 1e307), c128::new(1e307, 1e307))], &[c128::new(1.0, 0.0)]);
    check(BinaryOp::Div, &[(c128::new(1.0, 0.0), c128::new(0.0, 0.0))], &[c128::new(INF, NAN)]);
    check(BinaryOp::Add, &[(f16::from_f32(2048.0), f16::ONE)], &[f16::from_f32(2048.0)]);
    check(BinaryOp::Mul, &[(bf16::MAX, bf16::from_f32(2.0))], &[bf16::INFINITY]);
}

#[test]
fn floored_division() {
    let ints = [(7i8, 3), (-7, 3), (7, -3), (-7, -3), (6, -3), (7, 0), (-7, 0), (i8::MIN, -1), (0, 5)];
    check(BinaryOp::FloorDivide, &ints, &[2i8, -3, -3, 2, -2, 0, 0, i8::MIN, 0]);
    check(BinaryOp::Remainder, &ints, &[1i8, 2, -2, -1, 0, 0, 0, 0, 0]);
    check(BinaryOp::FloorDivide, &[(7u64, 2), (7, 0)], &[3u64, 0]);
    check(BinaryOp::Remainder, &[(7u64, 4), (7, 0)], &[3u64, 0]);
    let floats =
        [(7.0, 3.0), (-7.0, 3.0), (7.0, -3.0), (1.0, 0.0), (0.0, 0.0), (-1.0, INF), (1.0, INF), (INF, 2.0), (NAN, 1.0)];
    check(BinaryOp::FloorDivide, &floats, &[2.0, -3.0, -3.0, INF, NAN, -1.0, 0.0, NAN, NAN]);
    check(BinaryOp::Remainder, &floats, &[1.0, 2.0, -2.0, NAN, NAN, INF, 1.0, NAN, NAN]);
    check(BinaryOp::FloorDivide, &[(1.0, 0.1), (0.3, 0.1)], &[9.0, 2.0]);
    let mut out = [0.0f64; 2];
    let kernel = BinaryOp::Remainder.kernel(DType::F64).unwrap();
    kernel(f64::as_bytes(&[6.0, -6.0]), f64::as_bytes(&[-3.0, 3.0]), bytemuck::cast_slice_mut(&mut out));
    assert!(out[0].is_sign_negative() && out[1].is_sign_positive());
}

#[test]
fn powers() {
    let ints = [(2i8, 6), (2, 7), (2, 8), (3, -1), (1, -5), (-1, -5), (-1, -4), (0, -1), (0, 0), (-3, 3), (i8::MIN, 1)];
    check(BinaryOp::Pow, &ints, &[64i8, i8::MIN, 0, 0, 1, -1, 1, 0, 1, -27, i8::MIN]);
    check(BinaryOp::Pow, &[(3u64, 41), (2, 64), (0, 0)], &[3u64.wrapping_pow(41), 0, 1]);
    check(BinaryOp::Pow, &[(2.0, -1.0), (NAN, 0.0), (1.0, NAN), (-8.0, 0.5), (0.0, -1.0)], &[0.5, 1.0, 1.0, NAN, INF]);
    let zero = c128::new(0.0, 0.0);
    let nan = c128::new(NAN, 0.0);
    check(
        BinaryOp::Pow,
        &[(zero, zero), (nan, zero), (zero, c128::new(2.0, 1.0))],
        &[c128::new(1.0, 0.0), c128::new(1.0, 0.0), zero],
    );
    let square = binary(
        BinaryOp::Pow.kernel(DType::Complex128).unwrap(),
        &[c128::new(1.0, 2.0).into()],
        &[c128::new(2.0, 0.0).into()],
        DType::Complex128,
        DType::Complex128,
    );
    assert_eq!(square[0].to::<c128>(), c128::new(-3.0, 4.0));
}

#[test]
fn extremes_and_angles() {
    check(BinaryOp::Maximum, &[(1.0, 2.0), (NAN, 1.0), (1.0, NAN), (-INF, INF)], &[2.0, NAN, NAN, INF]);
    check(BinaryOp::Minimum, &[(1.0, 2.0), (NAN, 1.0), (1.0, NAN), (-INF, INF)], &[1.0, NAN, NAN, -INF]);
    check(BinaryOp::Maximum, &[(true, false)], &[true]);
    check(BinaryOp::Minimum, &[(true, false)], &[false]);
    check(BinaryOp::Maximum, &[(i32::MIN, -1)], &[-1i32]);
    check(BinaryOp::Minimum, &[(200u8, 7)], &[7u8]);
    check(BinaryOp::Atan2, &[(0.0, 1.0), (1.0, 0.0)], &[0.0, std::f64::consts::FRAC_PI_2]);
    check(BinaryOp::Hypot, &[(3e300, 4e300), (NAN, INF)], &[5e300, INF]);
    check(BinaryOp::Copysign, &[(3.0, -0.0), (-INF, 1.0)], &[-3.0, INF]);
}

#[test]
fn numbers_win_over_nan() {
    check(BinaryOp::Fmax, &[(NAN, 1.0), (1.0, NAN), (NAN, NAN), (-INF, 2.0)], &[1.0, 1.0, NAN, 2.0]);
    check(BinaryOp::Fmin, &[(NAN, 1.0), (1.0, NAN), (NAN, NAN), (-INF, 2.0)], &[1.0, 1.0, NAN, -INF]);
    check(BinaryOp::Fmax, &[(3i8, -4)], &[3i8]);
    check(BinaryOp::Fmin, &[(true, false)], &[false]);
}

#[test]
fn divisors() {
    check(BinaryOp::Fmod, &[(7i8, 3), (-7, 3), (7, -3), (7, 0), (i8::MIN, -1)], &[1i8, -1, 1, 0, 0]);
    check(BinaryOp::Fmod, &[(7.5, 2.0), (-7.5, 2.0), (1.0, INF), (1.0, 0.0), (INF, 1.0)], &[1.5, -1.5, 1.0, NAN, NAN]);
    check(BinaryOp::Fmod, &[(9u64, 4)], &[1u64]);
    check(BinaryOp::Gcd, &[(12i8, -18), (0, -5), (0, 0), (i8::MIN, 0), (i8::MIN, -96)], &[6i8, 5, 0, i8::MIN, 32]);
    check(BinaryOp::Gcd, &[(u64::MAX, 15)], &[15u64]);
    check(BinaryOp::Lcm, &[(-4i8, 6), (0, 0), (0, 7), (127, 126), (i8::MIN, 1)], &[12i8, 0, 0, -126, i8::MIN]);
    check(BinaryOp::Lcm, &[(u64::MAX, u64::MAX - 1)], &[2u64]);
}

#[test]
fn neighbours() {
    let up = 1f64.next_up();
    check(BinaryOp::Nextafter, &[(1.0, 2.0), (up, 0.0), (0.0, 1.0), (0.0, -1.0)], &[up, 1.0, 5e-324, -5e-324]);
    check(BinaryOp::Nextafter, &[(f64::MAX, INF), (-INF, 0.0), (-5e-324, 1.0)], &[INF, f64::MIN, -0.0]);
    check(BinaryOp::Nextafter, &[(NAN, 1.0), (1.0, NAN), (3.0, 3.0), (0.0, -0.0)], &[NAN, NAN, 3.0, -0.0]);
    check(BinaryOp::Nextafter, &[(f16::ONE, f16::MAX)], &[f16::from_f32(1.000_976_6)]);
    check(BinaryOp::Nextafter, &[(bf16::ONE, bf16::ZERO)], &[bf16::from_f32(0.996_093_75)]);
    check(BinaryOp::Nextafter, &[(-1f32, f32::INFINITY)], &[(-1f32).next_up()]);
}

#[test]
fn logarithms_and_steps() {
    let ln_2 = std::f64::consts::LN_2;
    check(BinaryOp::Logaddexp, &[(1.0, 1.0), (-INF, 3.0), (-INF, -INF)], &[1.0 + ln_2, 3.0, -INF]);
    check(BinaryOp::Logaddexp, &[(INF, -INF), (NAN, INF), (1e5, 0.0)], &[INF, NAN, 1e5]);
    check(BinaryOp::Logaddexp, &[(0.0, -100.0), (-1.0, 2.0)], &[3.720_075_976_020_836e-44, 2.048_587_351_573_742]);
    check(BinaryOp::Xlogy, &[(0.0, 0.0), (0.0, -1.0), (0.0, NAN), (NAN, 1.0)], &[0.0, 0.0, NAN, NAN]);
    check(BinaryOp::Xlogy, &[(2.0, 1.0), (2.0, 0.0), (1.0, -1.0), (-1.0, 2.0)], &[0.0, -INF, NAN, -ln_2]);
    check(
        BinaryOp::Heaviside,
        &[(-1.0, 5.0), (0.0, 5.0), (-0.0, NAN), (2.0, NAN), (NAN, 5.0)],
        &[0.0, 5.0, NAN, 1.0, 0.0],
    );
    check(BinaryOp::Heaviside, &[(-1i8, 9), (0, 9), (7, 9)], &[0i8, 9, 1]);
    check(BinaryOp::Heaviside, &[(false, true), (true, false)], &[true, true]);
}

#[test]
fn comparisons() {
    let order = [BinaryOp::Eq, BinaryOp::Ne, BinaryOp::Lt, BinaryOp::Le, BinaryOp::Gt, BinaryOp::Ge];
    let results = |less: bool, equal: bool, ordered: bool| {
        [equal, !equal, less, less || equal, ordered && !(less || equal), ordered && !less]
    };
    for (op, i) in order.into_iter().zip(0..) {
        check(
            op,
            &[(false, true), (true, true), (true, false)],
            &[results(true, false, true)[i], results(false, true, true)[i], results(false, false, true)[i]],
        );
        check(op, &[(-1i8, 1), (5, 5)], &[results(true, false, true)[i], results(false, true, true)[i]]);
        check(op, &[(255u8, 1)], &[results(false, false, true)[i]]);
        check(
            op,
            &[(NAN, NAN), (0.0, -0.0), (-INF, 0.0)],
            &[results(false, false, false)[i], results(false, true, true)[i], results(true, false, true)[i]],
        );
    }
    check(
        BinaryOp::Eq,
        &[(c64::new(1.0, 2.0), c64::new(1.0, 2.0)), (c64::new(1.0, 2.0), c64::new(1.0, -2.0))],
        &[true, false],
    );
}

#[test]
fn logic_and_bits() {
    check(BinaryOp::LogicalAnd, &[(NAN, 1.0), (0.0, NAN), (-0.0, 1.0)], &[true, false, false]);
    check(BinaryOp::LogicalOr, &[(NAN, 0.0), (0.0, -0.0)], &[true, false]);
    check(BinaryOp::LogicalXor, &[(2i64, 3), (0, 3)], &[false, true]);
    check(BinaryOp::LogicalAnd, &[(2u8, 1)], &[true]);
    check(BinaryOp::LogicalOr, &[(c64::new(0.0, 1.0), c64::new(0.0, 0.0))], &[true]);
    check(BinaryOp::LogicalXor, &[(f16::ZERO, f16::NAN)], &[true]);
    check(BinaryOp::BitwiseAnd, &[(0b1100i16, -1), (12, 10)], &[12i16, 8]);
    check(BinaryOp::BitwiseOr, &[(true, false)], &[true]);
    check(BinaryOp::BitwiseOr, &[(12u32, 10)], &[14u32]);
    check(BinaryOp::BitwiseXor, &[(12u32, 10)], &[6u32]);
}

#[test]
fn shifts() {
    check(BinaryOp::BitwiseLeftShift, &[(1i8, 7), (1, 8), (1, -1), (-3, 1), (i8::MIN, 1)], &[i8::MIN, 0, 0, -6, 0]);
    check(BinaryOp::BitwiseLeftShift, &[(1u64, 63), (1, 64)], &[1u64 << 63, 0]);
    check(BinaryOp::BitwiseRightShift, &[(-8i8, 1), (-8, 100), (8, 100), (-8, -1), (8, -1)], &[-4i8, -1, 0, -1, 0]);
    check(BinaryOp::BitwiseRightShift, &[(255u8, 4), (255, 8), (255, 200)], &[15u8, 0, 0]);
}
