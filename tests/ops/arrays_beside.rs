//! Arrays beside each other, in frames and cut along diagonals; long rows that do not follow each other; slices of one element and of
//! a few: beside plain loops, on one, two and three threads.

use openwork::parallel::with_threads;
use openwork::{DType, ErrorKind, Layout, Pad, Scalar, Tensor};

/// The same on every number of threads.
fn on_threads<T: PartialEq + Send>(f: impl Fn() -> T + Sync + Send) -> T {
    let first = with_threads(1, &f).unwrap();
    for threads in 2..=3 {
        assert!(with_threads(threads, &f).unwrap() == first, "{threads} threads");
    }
    first
}

/// An array of small numbers, and these.
struct Array {
    shape: Vec<usize>,
    numbers: Vec<f64>,
}

impl Array {
    fn new(shape: &[usize], seed: usize) -> Array {
        let n = shape.iter().product();
        let numbers = (0..n).map(|i| ((i * 7919 + i / 97 + seed * 31) % 1009) as f64 - 500.0).collect();
        Array { shape: shape.to_vec(), numbers }
    }

    fn of(shape: &[usize], f: impl Fn(&[usize]) -> f64) -> Array {
        let n: usize = shape.iter().product();
        let mut index = vec![0; shape.len()];
        let numbers = (0..n).map(|i| {
            let mut rest = i;
            for a in (0..shape.len()).rev() {
                (index[a], rest) = (rest % shape[a], rest / shape[a]);
            }
            f(&index)
        });
        Array { shape: shape.to_vec(), numbers: numbers.collect() }
    }

    fn at(&self, index: &[usize]) -> f64 {
        self.numbers[index.iter().zip(&self.shape).fold(0, |at, (&i, &n)| at * n + i)]
    }

    fn tensor(&self, dtype: DType) -> Tensor {
        Tensor::from_vec(&self.shape[..], self.numbers.clone()).unwrap().cast(dtype).unwrap()
    }
}

/// What `f` gives, as `float64`, on every number of threads, is this.
fn same(what: &str, want: &Array, f: impl Fn() -> Tensor + Sync + Send) {
    let found = on_threads(|| {
        let found = f();
        (found.shape().to_vec(), found.cast(DType::F64).unwrap().to_vec::<f64>().unwrap())
    });
    assert_eq!(found.0, want.shape, "{what}");
    let wrong = (0..want.numbers.len()).find(|&i| found.1[i] != want.numbers[i]);
    assert_eq!(wrong.map(|i| (i, found.1[i], want.numbers[i])), None, "{what}");
}

/// Few long rows, many short ones, none; several axes.
const SHAPES: [&[usize]; 9] = [
    &[150_000, 1],
    &[1, 150_000],
    &[70_000, 3],
    &[300, 700],
    &[3, 60_000],
    &[0, 4],
    &[40, 30, 50],
    &[900, 2, 70],
    &[50_000],
];
const DTYPES: [DType; 4] = [DType::F64, DType::I16, DType::Complex128, DType::F32];

#[test]
fn joined_along_any_axis() {
    for (i, shape) in SHAPES.iter().enumerate() {
        let dtype = DTYPES[i % DTYPES.len()];
        let (a, b) = (Array::new(shape, 1), Array::new(shape, 2));
        let (x, y) = (a.tensor(dtype), b.tensor(dtype));
        for axis in 0..shape.len() {
            let n = shape[axis];
            let mut joined = shape.to_vec();
            joined[axis] = 2 * n;
            let want = Array::of(&joined, |index| {
                let mut own = index.to_vec();
                own[axis] %= n;
                if index[axis] < n { a.at(&own) } else { b.at(&own) }
            });
            same("concat", &want, || Tensor::concat(&[&x, &y], axis as i64).unwrap());
            let want = Array::of(shape, |index| {
                let mut from = index.to_vec();
                from[axis] = (from[axis] + n - 1) % n;
                a.at(&from)
            });
            same("roll", &want, || x.roll(1, axis as i64).unwrap());
            // Parts that are no rows of their own: every second column, and a turned one.
            let want = Array::of(&joined, |index| {
                let mut own = index.to_vec();
                own[axis] = if index[axis] < n { n - 1 - index[axis] } else { index[axis] - n };
                a.at(&own)
            });
            same("flipped", &want, || Tensor::concat(&[&x.flip(axis as i64).unwrap(), &x], axis as i64).unwrap());
        }
        let mut stacked = shape.to_vec();
        stacked.push(2);
        let last = shape.len();
        let want =
            Array::of(&stacked, |index| if index[last] == 0 { a.at(&index[..last]) } else { b.at(&index[..last]) });
        same("stack", &want, || Tensor::stack(&[&x, &y], -1).unwrap());
        let mut tiled = shape.to_vec();
        tiled[last - 1] *= 3;
        let want = Array::of(&tiled, |index| {
            let mut own = index.to_vec();
            own[last - 1] %= shape[last - 1];
            a.at(&own)
        });
        let mut repeats = vec![1; last];
        repeats[last - 1] = 3;
        same("tile", &want, || x.tile(&repeats).unwrap());
    }
    // Many parts, of which most are small.
    let parts: Vec<Array> = (0..300).map(|i| Array::new(&[i % 7, 5], i)).collect();
    let tensors: Vec<Tensor> = parts.iter().map(|part| part.tensor(DType::F64)).collect();
    let numbers: Vec<f64> = parts.iter().flat_map(|part| part.numbers.clone()).collect();
    let want = Array { shape: vec![numbers.len() / 5, 5], numbers };
    same("many", &want, || Tensor::concat(&tensors, 0).unwrap());
}

#[test]
fn frames_and_triangles() {
    for (i, shape) in SHAPES.iter().enumerate() {
        let dtype = DTYPES[i % DTYPES.len()];
        let a = Array::new(shape, 3);
        let x = a.tensor(dtype);
        for widths in
            [[(1, 1), (1, 1), (1, 1)], [(0, 2), (3, 0), (2, 1)], [(2, 0), (0, 0), (0, 3)], [(0, 0), (0, 0), (1, 0)]]
        {
            let widths = &widths[3 - shape.len()..];
            let framed: Vec<usize> = shape.iter().zip(widths).map(|(n, w)| n + w.0 + w.1).collect();
            let want = Array::of(&framed, |index| {
                let own: Vec<usize> = index.iter().zip(widths).map(|(&i, w)| i.wrapping_sub(w.0)).collect();
                if own.iter().zip(*shape).all(|(&i, &n)| i < n) { a.at(&own) } else { 7.0 }
            });
            same("pad", &want, || x.pad(widths, Pad::Value(Scalar::I16(7))).unwrap());
            if shape.len() > 1 {
                // Of what is no row after row.
                let turned = x.matrix_transpose().unwrap();
                let mut swapped = widths.to_vec();
                swapped.swap(shape.len() - 1, shape.len() - 2);
                same("pad of a view", &want, || {
                    turned.pad(&swapped, Pad::Value(Scalar::I16(7))).unwrap().matrix_transpose().unwrap()
                });
            }
        }
        if shape.len() < 2 {
            continue;
        }
        for offset in [0, 1, -1, 40, -40, 200_000, -200_000, isize::MIN, isize::MAX] {
            for lower in [true, false] {
                let want = Array::of(shape, |index| {
                    let [.., row, column] = index[..] else { return 0.0 };
                    let away = column as i128 - row as i128 - offset as i128;
                    if if lower { away <= 0 } else { away >= 0 } { a.at(index) } else { 0.0 }
                });
                same("triangle", &want, || if lower { x.tril(offset) } else { x.triu(offset) }.unwrap());
            }
        }
    }
}

#[test]
fn sums_and_extremes_over_the_first_axes() {
    for shape in [
        &[70_000, 3][..],
        &[9_001, 50],
        &[5_003, 600],
        &[700, 2_100],
        &[5, 30_000],
        &[1, 9_000],
        &[300, 7, 11],
        &[40_001, 1],
    ] {
        let a = Array::new(shape, 4);
        for dtype in [DType::F64, DType::I32, DType::Complex128, DType::F32] {
            let x = a.tensor(dtype);
            let folded = |f: &dyn Fn(f64, f64) -> f64, first: f64| {
                let mut numbers = vec![first; a.numbers.len() / shape[0]];
                let row = numbers.len();
                a.numbers.iter().enumerate().for_each(|(i, &v)| numbers[i % row] = f(numbers[i % row], v));
                Array { shape: shape[1..].to_vec(), numbers }
            };
            // Whole numbers: sums are exact in any order.
            same("sum", &folded(&|a, b| a + b, 0.0), || x.sum(0).unwrap());
            if !dtype.is_complex() {
                same("max", &folded(&f64::max, f64::NEG_INFINITY), || x.max(0).unwrap());
                same("any", &folded(&|a, b| f64::from(a != 0.0 || b != 0.0), 0.0), || x.any(0).unwrap());
            }
        }
    }
    // A large term does not hide small ones, and what is not finite stays so.
    let tall =
        |f: &dyn Fn(usize) -> f64| Tensor::from_vec([100_000, 3], (0..300_000).map(f).collect::<Vec<_>>()).unwrap();
    let sums = |x: &Tensor| {
        on_threads(|| x.sum(0).unwrap().to_vec::<f64>().unwrap().iter().map(|v| v.to_bits()).collect::<Vec<_>>())
    };
    let found = sums(&tall(&|i| match i {
        0..3 => 1e16,
        299_997.. => -1e16,
        _ => 1.0,
    }));
    assert!(found.iter().all(|&bits| (f64::from_bits(bits) - 99_998.0).abs() <= 64.0), "{found:?}");
    let found = sums(&tall(&|i| if i == 30_001 { f64::INFINITY } else { 1.0 }));
    assert_eq!(found.iter().map(|&b| f64::from_bits(b)).collect::<Vec<_>>(), [100_000.0, f64::INFINITY, 100_000.0]);
}

#[test]
fn long_rows_that_do_not_follow_each_other() {
    for shape in [&[40, 2_000][..], &[3, 60_000], &[7, 6, 700], &[2, 257]] {
        let a = Array::new(shape, 5);
        let last = shape.len() - 1;
        for dtype in [DType::F64, DType::I16] {
            let x = a.tensor(dtype);
            let mut less = shape.to_vec();
            less[last] -= 1;
            let want = Array::of(&less, |index| {
                let mut next = index.to_vec();
                next[last] += 1;
                a.at(&next) - a.at(index)
            });
            same("diff", &want, || x.diff(1, -1).unwrap());
            // A row for all rows, a number for each row, and both of another dtype.
            for axis in [0, last] {
                let narrow = x.narrow(0..1, axis as i64).unwrap();
                let want = Array::of(shape, |index| {
                    let mut own = index.to_vec();
                    own[axis] = 0;
                    a.at(index) + a.at(&own)
                });
                same("broadcast", &want, || x.add(&narrow).unwrap());
                same("from the left", &want, || narrow.add(&x).unwrap());
                same("cast", &want, || x.add(narrow.cast(DType::F32).unwrap()).unwrap());
                let own = |index: &[usize]| {
                    let mut own = index.to_vec();
                    own[axis] = 0;
                    a.at(&own)
                };
                let want = Array::of(shape, |index| own(index) - a.at(index));
                same("subtracted from", &want, || narrow.sub(&x).unwrap());
                let (want, wide) =
                    (Array::of(shape, |index| own(index) - own(index) * 2.0), narrow.broadcast_to(shape).unwrap());
                same("of both", &want, || wide.sub(wide.add(&wide).unwrap()).unwrap());
            }
        }
    }
}

#[test]
fn slices_of_one_element() {
    let numbers = [3.0, -0.5, f64::NAN, f64::INFINITY, 0.0, -2.0];
    for (shape, axis) in [(vec![6, 1], 1), (vec![1, 6], 0), (vec![2, 1, 3], 1)] {
        let x = Tensor::from_vec(&shape[..], numbers.to_vec()).unwrap();
        let bits = |x: Tensor| x.to_vec::<f64>().unwrap().iter().map(|v| v.to_bits()).collect::<Vec<_>>();
        let of = |f: fn(f64) -> f64| numbers.iter().map(|&v| f(v).to_bits()).collect::<Vec<_>>();
        let kept = x.squeeze(axis).unwrap().shape().to_vec();
        for found in [x.argmax(axis).unwrap(), x.argmin(axis).unwrap()] {
            assert_eq!((found.shape(), found.to_vec::<i64>().unwrap()), (&kept[..], vec![0; 6]));
        }
        let found = x.argsort(axis).unwrap();
        assert_eq!((found.shape(), found.to_vec::<i64>().unwrap()), (&shape[..], vec![0; 6]));
        assert_eq!(bits(x.sort_descending(axis).unwrap()), of(|v| v));
        for middle in [x.median(axis), x.nanmedian(axis), x.quantile(0.3, axis), x.nanquantile(0.3, axis)] {
            let middle = middle.unwrap();
            assert_eq!((middle.shape(), bits(middle.clone())), (&kept[..], of(|v| v)));
        }
        for middle in [x.median(openwork::keep(axis)), x.quantile(0.3, openwork::keep(axis))] {
            let middle = middle.unwrap();
            assert_eq!((middle.shape(), bits(middle.clone())), (&shape[..], of(|v| v)));
        }
        let whole = x.isfinite().unwrap().cast(DType::I16).unwrap();
        assert_eq!(whole.median(axis).unwrap().dtype(), DType::I16);
        assert_eq!(whole.quantile(0.3, axis).unwrap().dtype(), whole.dtype().to_inexact());
        assert_eq!(bits(x.vector_norm(2.0, axis).unwrap()), of(f64::abs));
        assert_eq!(bits(x.sum(axis).unwrap()), of(|v| v));
        let nan_or = |v: f64, out: f64| if v.is_finite() { out } else { f64::NAN };
        let var = x.var(0.0, axis).unwrap().to_vec::<f64>().unwrap();
        assert!(var.iter().zip(numbers).all(|(&var, v)| var == nan_or(v, 0.0) || (var.is_nan() && !v.is_finite())));
        assert!(x.var(1.0, axis).unwrap().to_vec::<f64>().unwrap().iter().all(|v| v.is_nan()));
    }
    let complex = Tensor::zeros([4, 1], DType::Complex64, Layout::Strided).unwrap();
    for refused in [complex.argmax(1), complex.sort(1), complex.argsort(1), complex.median(1), complex.quantile(0.5, 1)]
    {
        assert!(matches!(refused.unwrap_err().kind(), ErrorKind::DType { .. }));
    }
}

#[test]
fn medians_of_short_slices() {
    for (rows, n) in [(5_000, 3), (5_000, 16), (700, 100), (300, 129), (2, 2)] {
        let mut a = Array::new(&[rows, n], 6);
        (0..rows).step_by(17).for_each(|r| a.numbers[r * n + r % n] = f64::NAN);
        let x = a.tensor(DType::F64);
        let turned = x.t().unwrap();
        let slice = |r: usize, skip: bool| {
            let mut own = a.numbers[r * n..(r + 1) * n].to_vec();
            if skip {
                own.retain(|v| !v.is_nan());
            }
            own.sort_by(f64::total_cmp);
            own
        };
        let bits = |x: Tensor| x.to_vec::<f64>().unwrap().iter().map(|v| v.to_bits()).collect::<Vec<_>>();
        for skip in [false, true] {
            let of = |pick: &dyn Fn(&[f64]) -> f64| {
                let one = |r| {
                    let own = slice(r, skip);
                    if own.is_empty() || own.iter().any(|v| v.is_nan()) {
                        f64::NAN.to_bits()
                    } else {
                        pick(&own).to_bits()
                    }
                };
                (0..rows).map(one).collect::<Vec<u64>>()
            };
            let middle = of(&|own| own[(own.len() - 1) / 2]);
            let median = |x: &Tensor, axis: i64| if skip { x.nanmedian(axis) } else { x.median(axis) }.unwrap();
            assert_eq!(on_threads(|| bits(median(&x, 1))), middle, "{n}");
            assert_eq!(on_threads(|| bits(median(&turned, 0))), middle, "{n}");
            let kept = if skip { x.nanmedian(openwork::keep(1)) } else { x.median(openwork::keep(1)) };
            assert_eq!(kept.unwrap().shape(), [rows, 1]);
            let third = of(&|own| {
                let place = 0.3 * (own.len() - 1) as f64;
                let (low, high) = (own[place.floor() as usize], own[place.ceil() as usize]);
                let share = place - place.floor();
                if low == high || share == 0.0 { low } else { low * (1.0 - share) + high * share }
            });
            let quantile =
                |x: &Tensor, axis: i64| if skip { x.nanquantile(0.3, axis) } else { x.quantile(0.3, axis) }.unwrap();
            assert_eq!(on_threads(|| bits(quantile(&x, 1))), third, "{n}");
        }
    }
}

#[test]
fn a_few_columns_by_a_list() {
    for (rows, n) in [(40_000, 3), (3_000, 70), (9, 20_000)] {
        let a = Array::new(&[rows, n], 8);
        for dtype in DTYPES {
            let x = a.tensor(dtype);
            for list in [vec![n - 1, 0, n - 1], vec![1], (0..n.min(200)).rev().collect()] {
                let want = Array::of(&[rows, list.len()], |index| a.at(&[index[0], list[index[1]]]));
                let places: Vec<i64> = list.iter().map(|&i| i as i64).collect();
                let places = Tensor::from_vec([places.len()], places).unwrap();
                same("columns", &want, || x.index_select(&places, 1).unwrap());
            }
        }
    }
}

#[test]
fn huge_axes_of_arrays_that_hold_nothing() {
    let huge = 1usize << 40;
    let x = Tensor::zeros([0, huge, huge], DType::F64, Layout::Strided).unwrap();
    assert_eq!(Tensor::concat(&[&x, &x], 1).unwrap().shape(), [0, 2 * huge, huge]);
    assert_eq!(Tensor::stack(&[&x, &x], -1).unwrap().shape(), [0, huge, huge, 2]);
    assert_eq!(x.pad(&[(0, 0), (1, 0), (0, 2)], 7.0).unwrap().shape(), [0, huge + 1, huge + 2]);
    assert_eq!(x.tril(0).unwrap().shape(), [0, huge, huge]);
    let places = Tensor::from_vec([3], vec![1i64, 0, 1]).unwrap();
    assert_eq!(x.index_select(&places, 1).unwrap().shape(), [0, 3, huge]);
}

#[test]
fn triangles_of_rows_of_which_most_are_whole() {
    let x = Array::new(&[60_000, 5], 3).tensor(DType::F64);
    let few = x.gt(0.0).and_then(|kept| kept.where_(&x, 0.0)).unwrap();
    for layout in [Layout::Csr, Layout::Csc, Layout::Coo] {
        let sparse = few.to_sparse(layout, Scalar::F64(0.0)).unwrap();
        for offset in [0, 2, -3, -30_000, -59_999, 7] {
            let wanted = [few.tril(offset).unwrap(), few.triu(offset).unwrap()];
            let found = on_threads(|| {
                let found = [sparse.tril(offset).unwrap(), sparse.triu(offset).unwrap()];
                found.map(|t| (t.nse(), t.to_dense().unwrap().to_vec::<f64>().unwrap()))
            });
            for (wanted, (nse, found)) in wanted.iter().zip(found) {
                assert!(found == wanted.to_vec::<f64>().unwrap(), "{layout} {offset}");
                assert_eq!(nse, found.iter().filter(|&&x| x != 0.0).count(), "{layout} {offset}");
            }
        }
    }
}
