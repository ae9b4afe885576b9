//! What slices of many rows give in every layout beside what the dense array gives, and ops on arrays beside plain loops: whole
//! numbers, truth values, lists of indices, limits; on one and on three threads.

use openwork::parallel::with_threads;
use openwork::{BinaryOp, DType, Layout, Tensor, keep, s};

use crate::common::rng::Rng;

type Op<'a> = (&'a str, Box<dyn Fn(&Tensor) -> openwork::Result<Tensor> + Sync + 'a>);

fn both(f: impl Fn() -> openwork::Result<Tensor> + Sync) -> [Tensor; 2] {
    [1, 3].map(|threads| with_threads(threads, &f).unwrap().unwrap())
}

fn floats(x: &Tensor) -> Vec<f64> {
    x.cast(DType::F64).unwrap().to_vec::<f64>().unwrap()
}

/// Rows without an element, rows with one, rows with many; numbers of either sign that repeat, and stored zeros.
#[test]
fn slices_of_every_layout_are_those_of_the_array() {
    let shape = [3000, 90];
    let mut random = Rng::new(17);
    let mut places: Vec<[usize; 2]> = (0..30_000)
        .map(|i| [if i % 3 == 0 { random.below(20) } else { random.below(3000) }, random.below(90)])
        .filter(|p| p[0] % 7 != 3)
        .collect();
    places.sort_unstable();
    places.dedup();
    let of = |axis: usize| places.iter().map(|p| p[axis] as i64).collect::<Vec<_>>();
    let values: Vec<f64> = (0..places.len()).map(|i| ((i * 7919) % 41) as f64 / 4.0 - 5.0).collect();
    let values = Tensor::from_vec([places.len()], values).unwrap();
    let zeros = Tensor::coo(shape, vec![of(0), of(1)], &values, 0.0).unwrap().to_layout(Layout::Csr).unwrap();
    let by_column = zeros.sub(zeros.mean(keep(0)).unwrap()).unwrap();
    let by_row = zeros.sub(zeros.mean(keep(1)).unwrap()).unwrap();
    let ops: Vec<Op<'_>> = vec![
        ("sum 1", Box::new(|x| x.sum(1))),
        ("max 1", Box::new(|x| x.max(1))),
        ("argmax 1", Box::new(|x| x.argmax(1))),
        ("argmin 1", Box::new(|x| x.argmin(1))),
        ("argmax 0", Box::new(|x| x.argmax(0))),
        ("argmin 0", Box::new(|x| x.argmin(0))),
        ("var 0", Box::new(|x| x.var(0.0, 0))),
        ("var 1", Box::new(|x| x.var(0.0, 1))),
        ("norm 1", Box::new(|x| x.vector_norm(2.0, 1))),
        ("norm 0", Box::new(|x| x.vector_norm(1.0, 0))),
        ("median 1", Box::new(|x| x.median(1))),
        ("quantile 0", Box::new(|x| x.quantile(0.3, 0))),
        ("mode 1", Box::new(|x| x.mode(1))),
        ("any 1", Box::new(|x| x.any(1))),
        ("all 0", Box::new(|x| x.all(0))),
        ("count 1", Box::new(|x| x.count_nonzero(1))),
        ("count 0", Box::new(|x| x.count_nonzero(0))),
        ("greatest", Box::new(|x| Ok(x.topk(3, 1)?.0))),
        ("where the greatest are", Box::new(|x| Ok(x.topk(3, 1)?.1))),
        ("least of columns", Box::new(|x| Ok(x.topk_smallest(40, 0)?.0))),
        ("where the least are", Box::new(|x| Ok(x.topk_smallest(40, 0)?.1))),
        ("sorted", Box::new(|x| x.sort(1))),
        ("diagonal", Box::new(|x| x.diagonal(-5, 0, 1))),
        ("diagonal from the other side", Box::new(|x| x.diagonal(7, 0, 1))),
        ("diagonal turned", Box::new(|x| x.diagonal(-1000, 0, 1))),
        ("stacked", Box::new(|x| Tensor::stack(&[x, x], 0))),
        ("stacked within", Box::new(|x| Tensor::stack(&[x, x], 1))),
        ("rolled", Box::new(|x| x.roll(13, 1))),
        ("rolled rows", Box::new(|x| x.roll(-13, 0))),
        ("clipped", Box::new(|x| x.clip(-1.5, 2.0))),
    ];
    let layouts = [Layout::Csr, Layout::Coo, Layout::Dcsr, Layout::Csf, Layout::Csc, Layout::Dcsc];
    let fills = [
        ("zeros", zeros.clone()),
        ("three", zeros.replace_fill(3.0).unwrap()),
        ("columns", by_column),
        ("rows", by_row),
    ];
    for (fill, x) in fills {
        let dense = x.to_dense().unwrap();
        for (what, op) in &ops {
            let wanted = floats(&op(&dense).unwrap());
            for layout in layouts {
                let x = x.to_layout(layout).unwrap();
                let [one, three] = both(|| op(&x));
                let (one, three) = (floats(&one), floats(&three));
                let bits = |x: &[f64]| x.iter().map(|v| v.to_bits()).collect::<Vec<_>>();
                assert!(bits(&one) == bits(&three), "{what} of {layout} over {fill}: threads");
                let close = |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-12 * b.abs().max(1.0);
                assert_eq!(one.len(), wanted.len(), "{what} of {layout} over {fill}");
                let at = one.iter().zip(&wanted).position(|pair| !close(pair));
                assert_eq!(at.map(|at| (at, one[at], wanted[at])), None, "{what} of {layout} over {fill}");
            }
        }
    }
    // Where nothing is stored nothing counts.
    let stored = zeros.stored();
    for (what, op) in ops.iter().filter(|op| !matches!(op.0, "clipped")) {
        let wanted = op(&stored).unwrap();
        for layout in layouts {
            let x = stored.to_layout(layout).unwrap();
            for found in both(|| op(&x)) {
                assert!(found.allclose(&wanted, 1e-12, 1e-12).unwrap(), "{what} of {layout}");
            }
        }
    }
}

#[test]
fn what_is_not_zero_is_found_in_c_order() {
    let mut random = Rng::new(5);
    let numbers: Vec<f64> =
        (0..90_000).map(|_| if random.below(4) == 0 { random.below(3) as f64 - 1.0 } else { 0.0 }).collect();
    for shape in [vec![90_000], vec![300, 300], vec![9, 100, 100]] {
        let mut wanted = Vec::new();
        for (i, _) in numbers.iter().enumerate().filter(|(_, v)| **v != 0.0) {
            let mut rest = i;
            let mut at = Vec::new();
            for &n in shape.iter().rev() {
                at.push((rest % n) as i64);
                rest /= n;
            }
            at.reverse();
            wanted.push(at);
        }
        assert!(wanted.len() > 10_000);
        let x = Tensor::from_vec(&shape[..], numbers.clone()).unwrap();
        let sparse = [Layout::Coo, Layout::Csf].map(|layout| x.to_sparse(layout, 0.0).unwrap());
        // Stored zeros are no less zero.
        let all = x.to_sparse(Layout::Coo, f64::NAN).unwrap().replace_fill(0.0).unwrap();
        for x in [x.clone()].iter().chain(&sparse).chain([&all]) {
            for found in both(|| x.argwhere()) {
                assert_eq!(found.shape(), [wanted.len(), shape.len()]);
                assert!(found.to_vec::<i64>().unwrap() == wanted.concat(), "{} {shape:?}", x.layout());
            }
            for (axis, found) in x.nonzero().unwrap().into_iter().enumerate() {
                let wanted: Vec<i64> = wanted.iter().map(|at| at[axis]).collect();
                assert!(found.to_vec::<i64>().unwrap() == wanted, "{} {shape:?} {axis}", x.layout());
            }
        }
    }
}

#[test]
fn whole_numbers_and_truth_values_fold_as_in_a_loop() {
    const ROWS: usize = 130;
    const COLUMNS: usize = 1003;
    let dtypes =
        [DType::Bool, DType::I8, DType::U8, DType::I16, DType::U16, DType::I32, DType::U32, DType::I64, DType::U64];
    for dtype in dtypes {
        // Of all sizes that the dtype has.
        let number = |i: usize| ((i as i64).wrapping_mul(0x9e37_79b9_7f4a_7c15u64 as i64)) >> (i % 64);
        let x = Tensor::from_vec([ROWS, COLUMNS], (0..ROWS * COLUMNS).map(number).collect::<Vec<i64>>()).unwrap();
        let x = x.cast(dtype).unwrap();
        let own: Vec<i128> = match dtype {
            DType::U64 => x.to_vec::<u64>().unwrap().into_iter().map(i128::from).collect(),
            DType::Bool => x.to_vec::<bool>().unwrap().into_iter().map(i128::from).collect(),
            _ => x.cast(DType::I64).unwrap().to_vec::<i64>().unwrap().into_iter().map(i128::from).collect(),
        };
        let of = |t: &Tensor| -> Vec<i128> {
            match t.dtype() {
                DType::U64 => t.to_vec::<u64>().unwrap().into_iter().map(i128::from).collect(),
                DType::Bool => t.to_vec::<bool>().unwrap().into_iter().map(i128::from).collect(),
                _ => t.cast(DType::I64).unwrap().to_vec::<i64>().unwrap().into_iter().map(i128::from).collect(),
            }
        };
        let wrapped = |sum: i128| if dtype.is_unsigned() { i128::from(sum as u64) } else { i128::from(sum as i64) };
        let rows: Vec<Vec<i128>> = own.chunks(COLUMNS).map(<[i128]>::to_vec).collect();
        let columns: Vec<Vec<i128>> = (0..COLUMNS).map(|c| rows.iter().map(|row| row[c]).collect()).collect();
        for (axis, slices) in [(1, &rows), (0, &columns)] {
            let per = |f: &dyn Fn(&[i128]) -> i128| slices.iter().map(|slice| f(slice)).collect::<Vec<_>>();
            let check = |what: &str, found: [Tensor; 2], wanted: Vec<i128>| {
                for found in found {
                    assert!(of(&found) == wanted, "{what} of {dtype} along {axis}");
                }
            };
            check("sum", both(|| x.sum(axis)), per(&|s| wrapped(s.iter().sum())));
            check("count", both(|| x.count_nonzero(axis)), per(&|s| s.iter().filter(|v| **v != 0).count() as i128));
            check("any", both(|| x.any(axis)), per(&|s| s.iter().any(|v| *v != 0).into()));
            check("all", both(|| x.all(axis)), per(&|s| s.iter().all(|v| *v != 0).into()));
            check("max", both(|| x.max(axis)), per(&|s| *s.iter().max().unwrap()));
            check("min", both(|| x.min(axis)), per(&|s| *s.iter().min().unwrap()));
            check(
                "argmax",
                both(|| x.argmax(axis)),
                per(&|s| s.iter().position(|v| v == s.iter().max().unwrap()).unwrap() as i128),
            );
        }
        assert_eq!(of(&x.sum(..).unwrap()), [wrapped(own.iter().sum())]);
        assert_eq!(of(&x.max(..).unwrap()), [*own.iter().max().unwrap()]);
        // The only one that is not zero, wherever it is.
        for at in [0, 700, 1023, 1024, 50_000, ROWS * COLUMNS - 1] {
            let one = Tensor::zeros([ROWS * COLUMNS], dtype, Layout::Strided).unwrap();
            let one = one.index_put(s![at], 1).unwrap();
            for found in both(|| one.any(..)) {
                assert_eq!(of(&found), [1]);
            }
            for found in both(|| one.eq(0)?.all(..)) {
                assert_eq!(of(&found), [0]);
            }
        }
    }
}

#[test]
fn limits_are_those_of_the_greater_and_the_lesser() {
    let special = [0.0, -0.0, 1.5, -1.5, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e-320, 3.0];
    let values: Vec<f64> =
        (0..5000).map(|i| special[i * 7 % special.len()] * if i % 5 == 0 { 2.0 } else { 1.0 }).collect();
    let dtypes = [DType::F64, DType::F32, DType::F16, DType::BF16, DType::I32, DType::U8, DType::Bool];
    for dtype in dtypes {
        let x = Tensor::from_vec([50, 100], values.clone()).unwrap().cast(dtype).unwrap();
        let sparse = x.to_sparse(Layout::Csr, openwork::Scalar::from(0.0).cast(dtype)).unwrap();
        for x in [x.clone(), sparse.clone(), sparse.stored()] {
            let same = |found: openwork::Result<Tensor>, wanted: openwork::Result<Tensor>, what: String| match wanted {
                Ok(wanted) => {
                    let found = found.unwrap();
                    assert_eq!((found.dtype(), found.layout()), (wanted.dtype(), wanted.layout()), "{what}");
                    assert!(found.same_meaning(&wanted).unwrap(), "{what}");
                }
                Err(_) => assert!(found.is_err(), "{what}"),
            };
            for low in [-1.0, 0.0, -0.0, 2.5, f64::NAN, f64::NEG_INFINITY] {
                for high in [0.0, -0.0, 1.0, f64::NAN, f64::INFINITY] {
                    let wanted = x.binary(BinaryOp::Maximum, low).and_then(|y| y.binary(BinaryOp::Minimum, high));
                    same(x.clip(low, high), wanted, format!("{dtype} {low} {high}"));
                }
            }
            for (low, high) in [(-1, 1), (0, 300), (1, 0)] {
                let wanted = x.binary(BinaryOp::Maximum, low).and_then(|y| y.binary(BinaryOp::Minimum, high));
                same(x.clip(low, high), wanted, format!("{dtype} {low} {high}"));
                let high = f64::from(high) / 8.0;
                let wanted = x.binary(BinaryOp::Maximum, low).and_then(|y| y.binary(BinaryOp::Minimum, high));
                same(x.clip(low, high), wanted, format!("{dtype} {low} {high}"));
                let wanted = x.binary(BinaryOp::Maximum, high).and_then(|y| y.binary(BinaryOp::Minimum, low));
                same(x.clip(high, low), wanted, format!("{dtype} {high} {low}"));
            }
        }
    }
}

#[test]
fn norms_of_numbers_of_any_size() {
    let norm = |values: &[f64], ord: f64| -> f64 {
        let x = Tensor::from_vec([values.len()], values.to_vec()).unwrap();
        let found = both(|| x.vector_norm(ord, 0)).map(|n| n.item().unwrap().to::<f64>());
        assert_eq!(found[0].to_bits(), found[1].to_bits());
        found[0]
    };
    let close = |found: f64, wanted: f64| assert!((found - wanted).abs() <= 1e-12 * wanted, "{found}, not {wanted}");
    for scale in [1.0, 1e200, 1e-200, 1e300, 1e-300, 1e-308] {
        close(norm(&[3.0 * scale, -4.0 * scale], 2.0), 5.0 * scale);
        close(norm(&[3.0 * scale, -4.0 * scale], 1.0), 7.0 * scale);
    }
    // One that counts among many that do not.
    close(norm(&[1e-130, 1e-300, -1e-300], 2.0), 1e-130);
    let many: Vec<f64> = (0..100_000).map(|i| f64::from(i % 10) - 4.5).collect();
    close(norm(&many, 2.0), 825_000f64.sqrt());
    close(norm(&many, 1.0), 250_000.0);
    assert_eq!(norm(&[0.0, -0.0], 2.0).to_bits(), 0);
    assert_eq!(norm(&[f64::NEG_INFINITY, 1.0], 2.0), f64::INFINITY);
    assert!(norm(&[f64::NAN, 1.0], 2.0).is_nan() && norm(&[f64::NAN, f64::INFINITY], 1.0).is_nan());
    // Variances of numbers far from zero, of more than one thread's part.
    let far: Vec<f64> = (0..100_000).map(|i| 1e9 + f64::from(i % 4)).collect();
    let x = Tensor::from_vec([far.len()], far).unwrap();
    let found = both(|| x.var(0.0, 0)).map(|v| v.item().unwrap().to::<f64>());
    assert!(found[0] == found[1] && (found[0] - 1.25).abs() < 1e-9, "{found:?}");
}

/// Elements of arrays at listed places of any axis, and in the other order, of every width.
#[test]
fn places_of_arrays_and_what_is_turned_round() {
    let shape = [37, 41, 29];
    let list: Vec<i64> = (0..3001).map(|i| (i * 17 % 29) - if i % 3 == 0 { 29 } else { 0 }).collect();
    for dtype in [DType::Bool, DType::I8, DType::I16, DType::F32, DType::F64, DType::Complex128] {
        let x = Tensor::arange(0.0, (37 * 41 * 29) as f64, 1.0).unwrap().reshape(shape).unwrap().cast(dtype).unwrap();
        let at = |x: &Tensor, i: [usize; 3]| x.get(i).unwrap().unwrap();
        for axis in 0..3 {
            let found = both(|| x.index_select(list.clone(), axis));
            let flipped = both(|| x.flip(axis)?.to_contiguous());
            let mut random = Rng::new(axis as u64);
            for _ in 0..400 {
                let mut from = [random.below(37), random.below(41), random.below(29)];
                let mut to = from;
                let i = random.below(list.len());
                (to[axis], from[axis]) = (i, list[i].rem_euclid(shape[axis] as i64) as usize);
                if list[i] < 0 {
                    from[axis] = (list[i] + shape[axis] as i64) as usize;
                }
                found.iter().for_each(|found| assert_eq!(at(found, to), at(&x, from), "{dtype} {axis}"));
                let mut other = from;
                other[axis] = shape[axis] - 1 - from[axis];
                flipped.iter().for_each(|flipped| assert_eq!(at(flipped, other), at(&x, from), "{dtype} {axis}"));
            }
        }
        assert_eq!(x.index_select(Vec::<i64>::new(), 1).unwrap().shape(), [37, 0, 29]);
    }
}

/// Each element so many times, of every width, from pieces that begin anywhere; and squares, of integers too.
#[test]
fn repeated_and_squared() {
    let n = 40_003;
    for dtype in [DType::F64, DType::F32, DType::I8, DType::I16, DType::Complex128] {
        let x = Tensor::from_vec([n], (0..n as i64).map(|i| i % 100).collect::<Vec<_>>()).unwrap().cast(dtype).unwrap();
        for times in [1, 2, 3, 5] {
            let on = |threads| with_threads(threads, || x.repeat(times, 0).unwrap()).unwrap();
            let want = x.reshape([n, 1]).unwrap().broadcast_to([n, times]).unwrap().reshape([n * times]).unwrap();
            assert!(on(1).equal(&want).unwrap() && on(3).equal(&want).unwrap(), "{dtype} {times}");
        }
        let square = (&x * &x).unwrap();
        assert!(x.pow(2).unwrap().allclose(&square, 1e-15, 0.0).unwrap(), "{dtype}");
    }
    let rows = Tensor::rand([301, 77], 3).unwrap();
    let want = rows.reshape([301, 1, 77]).unwrap().broadcast_to([301, 4, 77]).unwrap().reshape([1204, 77]).unwrap();
    assert!(rows.repeat(4, 0).unwrap().equal(&want).unwrap());
    let want = rows.reshape([301, 77, 1]).unwrap().broadcast_to([301, 77, 4]).unwrap().reshape([301, 308]).unwrap();
    assert!(rows.repeat(4, 1).unwrap().equal(&want).unwrap());
    assert_eq!(rows.repeat(0, 1).unwrap().shape(), [301, 0]);
}
