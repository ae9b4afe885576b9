#![allow(clippy::unwrap_used)] // a failed unwrap is a failed test

use super::*;
use crate::dtype::Element;
use crate::simd::{Level, set_level};
use crate::testing::{Block, all_same, scalars, special};

fn kernels(op: ReduceOp, dtype: DType) -> (ReduceTyping, ReduceKernels) {
    let typing = op.typing(dtype).unwrap();
    (typing, op.kernels(typing).unwrap())
}

/// The fold of scalars of the input dtype.
fn fold(op: ReduceOp, dtype: DType, values: &[Scalar]) -> Scalar {
    let (typing, kernels) = kernels(op, dtype);
    let mut acc = Block::zeroed(typing.acc.size());
    kernels.fold(Block::of(values, typing.input).bytes(), acc.bytes_mut());
    acc.scalars(typing.acc)[0]
}

#[track_caller]
fn check<T: Element, A: Element>(op: ReduceOp, values: &[T], expected: A) {
    let got = fold(op, T::DTYPE, &scalars(values));
    assert!(got.same(expected.to_scalar()), "{} {values:?} = {got:?}, not {expected:?}", op.name());
}

/// Every op with every dtype it is defined for.
fn defined() -> impl Iterator<Item = (ReduceOp, DType)> {
    let all = ReduceOp::ALL.iter().flat_map(|&op| DType::ALL.map(|dtype| (op, dtype)));
    all.filter(|(op, dtype)| op.typing(*dtype).is_some())
}

/// Small values, whose folds of a few dozen are exact in every dtype.
fn small(dtype: DType, n: usize) -> Vec<Scalar> {
    (0..n).map(|i| Scalar::I64([1, 2, 0, 1, 3, 1, 1][i % 7]).cast(dtype)).collect()
}

#[test]
fn every_typing_has_kernels() {
    for (op, dtype) in defined() {
        let (typing, kernels) = kernels(op, dtype);
        assert_eq!(kernels.identity.dtype(), typing.acc, "{} {dtype}", op.name());
        assert!(fold(op, dtype, &[]).same(kernels.identity));
    }
    assert!(ReduceOp::Min.typing(DType::Complex64).is_none());
    assert!(ReduceOp::Sum.kernels(ReduceTyping { input: DType::F32, acc: DType::F32, out: DType::F32 }).is_none());
    let mean = ReduceTyping { input: DType::F64, acc: DType::F64, out: DType::F32 };
    assert_eq!(ReduceOp::Mean.typing(DType::U8), Some(mean));
    assert_eq!(ReduceOp::Sum.typing(DType::Bool).map(|t| t.out), Some(DType::I64));
    assert_eq!(ReduceOp::Sum.typing(DType::F16).map(|t| (t.acc, t.out)), Some((DType::F64, DType::F16)));
}

/// Segments of a few elements have the same bits whether all are as long as each other or one is not.
#[test]
fn even_segments_are_as_others() {
    for level in Level::ALL {
        set_level(Some(level));
        for (op, dtype) in defined() {
            let (typing, kernels) = kernels(op, dtype);
            let values = Block::of(&special(typing.input), typing.input);
            let all = values.bytes().repeat(40);
            let size = typing.input.size();
            for n in 1..=5 {
                let count = (all.len() / size - 2) / n;
                let ends: Vec<usize> = (0..=count).map(|i| 1 + i * n).collect();
                let longer: Vec<usize> = ends.iter().copied().chain([1 + count * n + 1]).collect();
                let [even, odd] = [&ends, &longer].map(|ends| {
                    let mut acc = Block::of(&vec![kernels.identity; ends.len() - 1], typing.acc);
                    let mut words = Block::zeroed(all.len());
                    words.bytes_mut().copy_from_slice(&all);
                    kernels.segments(words.bytes(), ends, acc.bytes_mut());
                    acc.scalars(typing.acc)
                });
                let same = even.iter().zip(&odd).all(|(even, odd)| even.same(*odd));
                assert!(same, "{} {dtype} {n} {level:?}", op.name());
            }
        }
    }
    set_level(None);
}

#[test]
fn columns_say_what_kernels_do() {
    let pair = [Scalar::I64(3), Scalar::I64(2)];
    for (op, dtype) in defined().filter(|(_, dtype)| *dtype != DType::Bool) {
        let (typing, _) = kernels(op, dtype);
        let values = pair.map(|v| v.cast(dtype));
        let folded = fold(op, dtype, &values);
        if let Some(twin) = op.twin() {
            let kernel = twin.kernel(dtype).unwrap();
            let [a, b] = values.map(|v| Block::of(&[v], dtype));
            let mut out = Block::zeroed(dtype.size());
            kernel(a.bytes(), b.bytes(), out.bytes_mut());
            assert!(out.scalars(dtype)[0].same(folded.cast(dtype)), "{} {dtype}", op.name());
        }
        if let Some(extreme) = op.extreme() {
            let wanted = values[usize::from(extreme == Extreme::Least)].cast(typing.acc);
            assert!(folded.same(wanted), "{} {dtype}", op.name());
        }
        // A fold of the folds of parts is the fold of all, unless it counts: that would count the counts.
        let parts = values.map(|v| fold(op, dtype, &[v]).cast(dtype));
        let again = fold(op, dtype, &parts);
        assert!(op.gives() != Gives::Total || again.same(folded), "{} {dtype}", op.name());
        assert_eq!(op.gives() == Gives::Count, typing.acc == DType::U64 && typing.out == DType::I64, "{}", op.name());
    }
    let named =
        |gives: Gives| ReduceOp::ALL.iter().filter(|op| op.gives() == gives).map(|op| op.name()).collect::<Vec<_>>();
    assert_eq!((named(Gives::Count), named(Gives::Mean)), (vec!["count_nonzero"], vec!["mean"]));
}

#[test]
fn values_by_hand() {
    let (nan, inf) = (f64::NAN, f64::INFINITY);
    check(ReduceOp::Sum, &[true, true, false], 2i64);
    check(ReduceOp::Sum, &[i8::MAX, i8::MAX], 254i64);
    check(ReduceOp::Sum, &[i64::MAX, 1], i64::MIN);
    check(ReduceOp::Sum, &[u32::MAX, 1], 1u64 << 32);
    check(ReduceOp::Sum, &[16_777_216.0f32, 1.0], 16_777_217.0f64);
    check(ReduceOp::Sum, &[inf, -inf], nan);
    check(ReduceOp::Sum, &[c64::new(1.0, 2.0), c64::new(3.0, -5.0)], c128::new(4.0, -3.0));
    check(ReduceOp::Sum, &[f16::MAX, f16::MAX], 131_008.0f64);
    check(ReduceOp::Sum, &[bf16::from_f32(0.5), bf16::from_f32(256.0)], 256.5f64);
    check(ReduceOp::Prod, &[3i16, -4, 1000], -12_000i64);
    check(ReduceOp::Prod, &[c64::new(0.0, 1.0), c64::new(0.0, 1.0)], c128::new(-1.0, 0.0));
    check(ReduceOp::Prod, &[0.0, inf], nan);
    check(ReduceOp::Min, &[3.0, nan, -inf], nan);
    check(ReduceOp::Min, &[inf, inf], inf);
    check(ReduceOp::Max, &[-inf, -inf], -inf);
    check(ReduceOp::Max, &[f16::ONE, f16::NAN, f16::INFINITY], f16::NAN);
    check(ReduceOp::Max, &[i8::MIN, -3], -3i8);
    check(ReduceOp::Min, &[true, false], false);
    check(ReduceOp::Max, &[false, false], false);
    check(ReduceOp::Any, &[0.0, -0.0], false);
    check(ReduceOp::Any, &[0.0, nan], true);
    check(ReduceOp::Any, &[bf16::NEG_ZERO], false);
    check(ReduceOp::All, &[nan, 1.0], true);
    check(ReduceOp::All, &[1i64, 0], false);
    check(ReduceOp::All, &[c64::new(0.0, 1.0)], true);
    check(ReduceOp::CountNonzero, &[nan, 0.0, -0.0, 3.0], 2u64);
    check(ReduceOp::CountNonzero, &[bf16::from_f32(1e-39), bf16::ZERO], 1u64);
    check(ReduceOp::Mean, &[1.0f32, 2.0], 3.0f64);
}

/// Counts, and sums of integers that are narrow, of the least and greatest elements.
#[test]
fn counters_are_read_before_they_are_full() {
    fn sums<T: Element>(op: ReduceOp, turns: usize, elements: [T; 2], each: impl Fn(T) -> i64) {
        let (_, kernels) = kernels(op, T::DTYPE);
        for n in [1, 511, 512, 1025, 64 * turns - 1, 64 * turns, 64 * turns + 65, 2 * 64 * turns] {
            for every in [n, 3] {
                let values: Vec<T> = (0..n).map(|i| elements[usize::from(i % every == 1)]).collect();
                let wanted = |part: &[T]| part.iter().fold(5, |sum: i64, &value| sum.wrapping_add(each(value)));
                let mut found = [5i64; 2];
                kernels.segments(T::as_bytes(&values), &[0, n / 2, n], bytemuck::cast_slice_mut(&mut found));
                assert_eq!(found, [wanted(&values[..n / 2]), wanted(&values[n / 2..])], "{} {n} {every}", T::DTYPE);
                let mut found = [0i64];
                kernels.fold(T::as_bytes(&values), bytemuck::cast_slice_mut(&mut found));
                assert_eq!(found[0], wanted(&values) - 5, "{} {n} {every}", T::DTYPE);
            }
        }
    }
    for level in Level::ALL {
        set_level(Some(level));
        sums(ReduceOp::CountNonzero, 255, [true, false], i64::from);
        sums(ReduceOp::CountNonzero, 255, [255u8, 0], |n| (n != 0).into());
        sums(ReduceOp::CountNonzero, 255, [-128i8, 0], |n| (n != 0).into());
        sums(ReduceOp::CountNonzero, 65_535, [65_535u16, 0], |n| (n != 0).into());
        sums(ReduceOp::CountNonzero, 65_535, [-1i32, 0], |n| (n != 0).into());
        sums(ReduceOp::Sum, 255, [true, false], i64::from);
        sums(ReduceOp::Sum, 256, [255u8, 254], i64::from);
        sums(ReduceOp::Sum, 255, [-128i8, 127], i64::from);
        sums(ReduceOp::Sum, 65_536, [65_535u16, 1], i64::from);
        sums(ReduceOp::Sum, 65_535, [-32_768i16, 32_767], i64::from);
    }
}

/// NaN wins wherever it stands.
#[test]
fn nan_wins_in_every_place() {
    for n in [1, 5, 16, 17, 40, 600, 1500] {
        for at in [0, n / 2, n - 1] {
            let mut values = vec![1.0f64; n];
            values[at] = f64::NAN;
            check(ReduceOp::Min, &values, f64::NAN);
            check(ReduceOp::Max, &values, f64::NAN);
        }
    }
}

#[test]
fn all_loops_agree() {
    // Elements of which some are zero, none is, and all are.
    let of = |dtype: DType| [small(dtype, 60), vec![Scalar::one(dtype); 60], vec![Scalar::zero(dtype); 60]];
    let all = defined().flat_map(|(op, dtype)| of(kernels(op, dtype).0.input).map(|values| (op, dtype, values)));
    for (op, dtype, values) in all {
        let (typing, kernels) = kernels(op, dtype);
        let block = Block::of(&values, typing.input);
        let size = typing.acc.size();
        let initial = |n: usize| Block::of(&vec![kernels.identity; n], typing.acc);
        // Segments: empty, short, long.
        let ends = [0, 0, 3, 25, 60];
        let mut by_segment = initial(4);
        kernels.segments(block.bytes(), &ends, by_segment.bytes_mut());
        let expected: Vec<_> = ends.windows(2).map(|w| fold(op, dtype, &values[w[0]..w[1]])).collect();
        assert!(all_same(&by_segment.scalars(typing.acc), &expected), "{} {dtype} segments", op.name());
        // The same segments as keys, in any order.
        let keys: Vec<u32> = (0..60).map(|i| ends[1..].iter().filter(|&&e| e <= i).count() as u32).collect();
        let mut by_key = initial(4);
        kernels.scatter(block.bytes(), &keys, by_key.bytes_mut());
        assert!(all_same(&by_key.scalars(typing.acc), &expected), "{} {dtype} scatter", op.name());
        // Six rows of 10 accumulated, more than go by at once, then halves of the row merged.
        let mut row = initial(10);
        let rows: Vec<&[u8]> = block.bytes().chunks(10 * typing.input.size()).collect();
        kernels.accumulate(&rows, row.bytes_mut());
        let (mut first, mut second) = (initial(5), initial(5));
        first.bytes_mut().copy_from_slice(&row.bytes()[..5 * size]);
        second.bytes_mut().copy_from_slice(&row.bytes()[5 * size..]);
        (kernels.merge)(first.bytes_mut(), second.bytes());
        let columns: Vec<_> =
            (0..5).map(|c| fold(op, dtype, &values.iter().skip(c).step_by(5).copied().collect::<Vec<_>>())).collect();
        assert!(all_same(&first.scalars(typing.acc), &columns), "{} {dtype} accumulate", op.name());
    }
}

/// Few accumulators, and as many as go by at once, one more and more.
#[test]
fn one_row_after_the_other() {
    for (op, dtype) in defined() {
        let (typing, kernels) = kernels(op, dtype);
        for n in [1, 8, 9, 128, 129, 300] {
            let values = small(typing.input, 2 * n);
            let block = Block::of(&values, typing.input);
            let mut row = Block::of(&vec![kernels.identity; n], typing.acc);
            let rows = block.bytes().chunks(n * typing.input.size());
            rows.for_each(|one| kernels.accumulate(&[one], row.bytes_mut()));
            let columns: Vec<_> = (0..n).map(|c| fold(op, dtype, &[values[c], values[n + c]])).collect();
            assert!(all_same(&row.scalars(typing.acc), &columns), "{} {dtype} {n}", op.name());
        }
    }
}

#[test]
fn nfold_is_the_fold_of_copies() {
    for (op, dtype) in defined() {
        let (typing, kernels) = kernels(op, dtype);
        for value in special(typing.input) {
            for n in [0usize, 1, 2, 3, 7, 64, 65] {
                let (got, expected) = ((kernels.nfold)(value, n as u128), fold(op, dtype, &vec![value; n]));
                let near = match (got.widen(), expected.widen()) {
                    (crate::Wide::Float(a), crate::Wide::Float(b)) => (a - b).abs() <= 1e-13 * b.abs(),
                    // Complex products of infinities and NaN depend on the order.
                    (crate::Wide::Complex(a, c), crate::Wide::Complex(b, d)) => {
                        !expected.is_finite() || (a - b).hypot(c - d) <= 1e-12 * b.hypot(d)
                    }
                    _ => false,
                };
                assert!(near || got.same(expected), "{} of {n} × {value:?}: {got:?}, not {expected:?}", op.name());
            }
        }
    }
    let (_, sum) = kernels(ReduceOp::Sum, DType::I64);
    assert!((sum.nfold)(Scalar::I64(3), (1 << 64) + 2).same(Scalar::I64(6)));
    let (_, product) = kernels(ReduceOp::Prod, DType::I64);
    assert!((product.nfold)(Scalar::I64(2), 1 << 64).same(Scalar::I64(0)));
    assert!((product.nfold)(Scalar::I64(-1), (1 << 64) + 1).same(Scalar::I64(-1)));
    let (_, product) = kernels(ReduceOp::Prod, DType::F64);
    assert!((product.nfold)(Scalar::F64(-1.0), (1 << 100) + 1).same(Scalar::F64(-1.0)));
}

/// Sums of many floats: against exact arithmetic in integers, the error stays near one rounding.
#[test]
fn float_sums_are_accurate() {
    for n in [511usize, 512, 513, 4097, 1_000_003] {
        let ints: Vec<i64> = (0..n as i64).map(|i| (i * 7_919 + 13) % 1_000_003).collect();
        let values: Vec<f64> = ints.iter().map(|&v| v as f64 * 0.1).collect();
        // Each term is a float; its exact value in units of 2^-60 fits i128.
        let exact: i128 = values.iter().map(|&v| (v * 2f64.powi(60)) as i128).sum();
        let exact = exact as f64 / 2f64.powi(60);
        let Scalar::F64(sum) = fold(ReduceOp::Sum, DType::F64, &scalars(&values)) else { unreachable!() };
        assert!(((sum - exact) / exact).abs() <= 4.0 * f64::EPSILON, "{n}: {sum} {exact}");
        let total: i64 = ints.iter().sum();
        check(ReduceOp::Sum, &ints, total);
    }
}

#[test]
fn runs_have_the_same_bits_at_every_level() {
    let mut state = 11u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state >> 33
    };
    // Runs of 8 elements at most, and of 16. Then empty, short, long and very long ones. In some of them what is not usual.
    for most in [8, 16, 69] {
        let length = |i: usize| if most == 69 && i.is_multiple_of(23) { 300 + 7 * i } else { i % (most + 1) };
        let mut offsets = vec![0];
        (0..200).for_each(|i| offsets.push(offsets[i] + length(i)));
        let odd = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0, 0.0, 1e300];
        let values: Vec<Scalar> = (0..offsets[200])
            .map(|i| Scalar::F64(if i % 131 == 5 { odd[i % 6] } else { next() as f64 * 1.1 - 1e9 }))
            .collect();
        for dtype in [DType::F64, DType::F32] {
            for op in [ReduceOp::Sum, ReduceOp::Min, ReduceOp::Max] {
                let (typing, kernels) = kernels(op, dtype);
                let values = Block::of(&values, dtype);
                let of_level = |level: Level| {
                    set_level(Some(level));
                    let mut acc = Block::of(&[kernels.identity; 200], typing.acc);
                    kernels.segments(values.bytes(), &offsets, acc.bytes_mut());
                    let all = acc.scalars(typing.acc);
                    for (run, &got) in offsets.windows(2).zip(&all) {
                        let mut one = Block::of(&[kernels.identity], typing.acc);
                        kernels.fold(&values.bytes()[run[0] * dtype.size()..run[1] * dtype.size()], one.bytes_mut());
                        let one = one.scalars(typing.acc)[0].to::<f64>();
                        let got = got.to::<f64>();
                        let near = (one - got).abs() <= 1e-12 * one.abs().max(1e9);
                        assert!(
                            one == got || (one.is_nan() && got.is_nan()) || (op == ReduceOp::Sum && near),
                            "{one} {got}"
                        );
                    }
                    acc.bytes().to_vec()
                };
                let [first, rest @ ..] = Level::ALL.map(of_level);
                set_level(None);
                assert!(rest.iter().all(|bits| *bits == first), "{} {dtype} {most}", op.name());
            }
        }
    }
}
