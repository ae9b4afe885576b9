//! Where extremes are in hybrid tensors, and what is in the middle: rows go by in shares and in parts along axes of the levels,
//! whole along axes of the values, and the answer is that of the same elements strided, or of the other kernels.

use openwork::parallel::with_threads;
use openwork::trace::Path;
use openwork::{DType, Fill, Layout, Scalar, Tensor, s};

use crate::common::path;
use crate::common::rng::Rng;

/// A tensor whose first axes are sparse and whose last one is dense: each place of the first is stored with that chance, and
/// elements are few numbers, so that many are alike, the fill among them, and now and then NaN.
fn hybrid(shape: &[usize], chance: f64, fill: impl Into<Fill>, rng: &mut Rng) -> Tensor {
    let (row, outer) = shape.split_last().unwrap();
    let places: Vec<usize> = (0..outer.iter().product()).filter(|_| rng.chance(chance)).collect();
    let mut coordinates = vec![Vec::new(); outer.len()];
    for &place in &places {
        let mut rest = place;
        for (axis, &size) in outer.iter().enumerate().rev() {
            coordinates[axis].push((rest % size) as u64);
            rest /= size;
        }
    }
    let element = |rng: &mut Rng| if rng.one_in(10_000) { f64::NAN } else { rng.below(40) as f64 - 20.0 };
    let values: Vec<f64> = (0..places.len() * row).map(|_| element(rng)).collect();
    let values = Tensor::from_vec([places.len(), *row], values).unwrap();
    let x = Tensor::coo(shape, coordinates, &values, fill).unwrap();
    assert_eq!(x.layout(), Layout::HybridCoo { dense_dims: 1 });
    x
}

/// Both extremes along an axis, and how many distinct places they name.
fn check(x: &Tensor, axis: isize, other: &Tensor) -> usize {
    let mut distinct = 0;
    for (greatest, got) in [(true, x.argmax(axis).unwrap()), (false, x.argmin(axis).unwrap())] {
        let want = if greatest { other.argmax(axis) } else { other.argmin(axis) }.unwrap();
        assert_eq!((got.dtype(), got.shape()), (DType::I64, want.shape()));
        assert!(got.same_meaning(&want).unwrap(), "{} along {axis}: {got} is not {want}", x.layout());
        distinct += got.unique_values().unwrap().size() as usize;
    }
    distinct
}

#[test]
fn hybrid_tensors_answer_as_strided_ones() {
    let mut rng = Rng::new(11);
    // Many short rows, in shares; rows longer than is looked at together; several rows together; a few rows.
    for shape in [[40_000, 7].as_slice(), &[300, 2500], &[70, 30, 9], &[4, 5]] {
        for fill in [0.0, -20.0, 19.0, 100.0, -100.0, f64::NAN] {
            for chance in [0.6, 1.0] {
                let x = hybrid(shape, chance, fill, &mut rng);
                let dense = x.to_dense().unwrap();
                for axis in 0..shape.len() as isize {
                    check(&x, axis, &dense);
                }
            }
        }
    }
}

#[test]
fn the_answers_differ_from_column_to_column() {
    let x = hybrid(&[40_000, 7], 0.6, 0.0, &mut Rng::new(5));
    assert!(check(&x, 0, &x.to_dense().unwrap()) > 8);
    assert_eq!(path("argmax", || x.argmax(0)), Path::Engine); // places of rows are read, elements are not moved
    let one = with_threads(1, || x.argmax(0)).unwrap().unwrap();
    let two = with_threads(2, || x.argmax(0)).unwrap().unwrap();
    assert!(one.same_meaning(&two).unwrap());
}

#[test]
fn absent_rows_do_not_count() {
    let mut rng = Rng::new(7);
    for shape in [[9_000, 20].as_slice(), &[50, 40, 6]] {
        let x = hybrid(shape, 0.3, Fill::Undefined, &mut rng);
        for axis in 0..shape.len() as isize {
            check(&x, axis, &x.to_layout(Layout::Coo).unwrap());
        }
    }
}

#[test]
fn every_ordered_dtype() {
    let mut rng = Rng::new(3);
    for dtype in [DType::Bool, DType::I8, DType::U16, DType::I64, DType::F16, DType::BF16, DType::F32] {
        let x = hybrid(&[600, 50], 0.7, 3.0, &mut rng).cast(dtype).unwrap();
        assert!(!x.is_strided());
        check(&x, 0, &x.to_dense().unwrap());
    }
    let complex = hybrid(&[6, 5], 0.7, 3.0, &mut rng).cast(DType::Complex64).unwrap();
    let why = complex.argmax(0).unwrap_err().to_string();
    assert!(why.contains("argmax") && why.contains("order"), "{why}");
}

#[test]
fn the_first_gap_is_where_the_fill_wins() {
    let values = Tensor::from_vec([3, 2], vec![-1.0, 5.0, -2.0, 0.0, -3.0, 5.0]).unwrap();
    let x = Tensor::coo([6, 2], vec![vec![0u32, 1, 4]], &values, 0.0).unwrap();
    assert_eq!(x.argmax(0).unwrap().to_vec::<i64>().unwrap(), [2, 0]); // an unstored 0 at 2; the first 5
    assert_eq!(x.argmin(0).unwrap().to_vec::<i64>().unwrap(), [4, 1]); // a stored 0 at 1 comes before that at 2
    let kept = x.argmin(openwork::keep(0)).unwrap();
    assert_eq!(kept.shape(), [1, 2]);
    assert_eq!(kept.get([0, 0]).unwrap(), Some(Scalar::I64(4)));
    // Next to nothing of an axis of 2^40 is stored, and of none no more.
    let huge = Tensor::coo([1 << 40, 2], vec![vec![3u64, 1 << 39]], &values.narrow(0..2, 0).unwrap(), -7.0).unwrap();
    assert_eq!(huge.argmax(0).unwrap().to_vec::<i64>().unwrap(), [3, 3]);
    assert_eq!(huge.argmin(0).unwrap().to_vec::<i64>().unwrap(), [0, 0]);
}

#[test]
fn folds_of_slices_are_those_of_other_layouts() {
    let mut rng = Rng::new(13);
    let made = [
        hybrid(&[9_000, 20], 0.5, 3.0, &mut rng),
        hybrid(&[50, 40, 6], 0.4, Fill::Undefined, &mut rng),
        hybrid(&[30, 4, 50], 0.7, -1.0, &mut rng).permute_dims([2, 0, 1]).unwrap(),
        hybrid(&[5, 1], 0.7, 0.0, &mut rng),
    ];
    for x in &made {
        let other = x.to_layout(Layout::Coo).unwrap();
        let mut sets: Vec<Vec<isize>> = (0..x.ndim() as isize).map(|axis| vec![axis]).collect();
        sets.extend([vec![0, -1], vec![-1, 0]]);
        for axes in &sets {
            let both = |f: &dyn Fn(&Tensor) -> openwork::Result<Tensor>| {
                let (got, want) = (f(x).unwrap(), f(&other).unwrap());
                assert_eq!((got.shape(), got.is_strided()), (want.shape(), want.is_strided()));
                assert!(got.allclose_nan(&want, 1e-12, 1e-12).unwrap(), "{axes:?}: {got} is not {want}");
            };
            both(&|t| t.median(axes));
            both(&|t| t.nanquantile(0.3, axes));
            both(&|t| t.mode(axes));
            both(&|t| t.var(1.0, axes));
            // Elements come in C order of the slice.
            both(&|t| t.reduce_with(0.0, |a: f64, b| 0.5 * a + b, axes));
        }
    }
    assert_eq!(path("median", || made[0].median(0)), Path::Specialised);
}

/// Whole tensors in any layout answer as arrays do, and as lists of coordinates in C order.
#[test]
fn of_all_elements_in_any_layout() {
    let mut rng = Rng::new(17);
    let shape = [130, 420];
    let n: usize = shape.iter().product();
    for (chance, numbers) in [(0.03, 3), (0.4, 100_000), (1.0, 2)] {
        let values: Vec<f64> = (0..n)
            .map(|_| if rng.chance(chance) { rng.below(numbers) as f64 - numbers as f64 / 2.0 } else { 0.0 })
            .collect();
        let plain = Tensor::from_vec(shape, values).unwrap();
        let with_nan = plain.index_put(s![7, [3usize, 400, 9]], f64::NAN).unwrap();
        for x in [&plain, &with_nan, &plain.abs().unwrap(), &plain.abs().unwrap().neg().unwrap()] {
            for fill in [0.0, -1.0, 1.0, f64::NAN] {
                let layouts = [
                    Layout::Coo,
                    Layout::Csr,
                    Layout::Csc,
                    Layout::Dcsr,
                    Layout::Dcsc,
                    Layout::Bsr { block: [13, 2] },
                    Layout::Bsc { block: [1, 420] },
                    Layout::HybridCoo { dense_dims: 1 },
                ];
                for layout in layouts {
                    let sparse = x.to_sparse(layout, fill).unwrap();
                    let stored = sparse.stored();
                    let listed = stored.to_layout(Layout::Coo).unwrap();
                    for greatest in [true, false] {
                        let of = |x: &Tensor| if greatest { x.argmax(..) } else { x.argmin(..) }.unwrap();
                        let at = |x: &Tensor| of(x).item_as::<i64>().unwrap();
                        assert_eq!(at(&sparse), at(x), "{layout} over {fill}, {greatest}");
                        assert_eq!(of(&sparse).layout(), Layout::Strided);
                        if stored.nse() > 0 {
                            // Where what is stored has its greatest one first, by hand.
                            let best = if greatest { listed.max(..) } else { listed.min(..) }.unwrap();
                            let best = best.item_as::<f64>().unwrap();
                            let is_it = |v: &Scalar| v.to::<f64>() == best || (v.to::<f64>().is_nan() && best.is_nan());
                            let equal = listed.iter_stored().filter(|(_, v)| is_it(v));
                            let first = equal.map(|(index, _)| index[0] * shape[1] + index[1]).min().unwrap();
                            assert_eq!(at(&stored), first as i64, "{layout} with nothing beneath, {greatest}");
                        }
                    }
                }
            }
        }
    }
    // More elements than memory has; the first hundreds are stored, and less than what is not.
    let n = 1 << 30;
    let first: Vec<u64> = (0..700).collect();
    let ones = Tensor::full([700], -1.0, Layout::Strided).unwrap();
    let x = Tensor::coo([n, n], vec![vec![0; 700], first], &ones, 0.0).unwrap();
    assert_eq!(x.argmax(..).unwrap().item_as::<i64>().unwrap(), 700);
    assert_eq!(x.argmin(..).unwrap().item_as::<i64>().unwrap(), 0);
    let x = x.to_layout(Layout::Dcsc).unwrap();
    assert_eq!(x.argmax(..).unwrap().item_as::<i64>().unwrap(), 700);
    assert_eq!(x.matrix_transpose().unwrap().argmax(..).unwrap().item_as::<i64>().unwrap(), 1);
    assert_eq!(x.flip(..).unwrap().argmin(..).unwrap().item_as::<i64>().unwrap(), (n * n - 700) as i64);
    let beyond = Tensor::coo(
        [n, n, n],
        vec![vec![n as u64 - 1], vec![2], vec![3]],
        &Tensor::scalar(4.0).reshape([1]).unwrap(),
        0.0,
    );
    assert!(beyond.unwrap().argmax(..).unwrap_err().to_string().contains("does not fit int64"));
}

/// Ops that ask for no order take what is stored as it lies: in blocks and by columns as well.
#[test]
fn what_needs_no_order_is_the_same_in_any_layout() {
    let mut rng = Rng::new(19);
    let values: Vec<f64> = (0..1200).map(|_| if rng.chance(0.3) { rng.below(9) as f64 - 4.0 } else { 1.0 }).collect();
    let x = Tensor::from_vec([30, 40], values).unwrap();
    let ints = |x: &Tensor| x.cast(DType::I64).unwrap().to_vec::<i64>().unwrap();
    let row = Tensor::arange(0.0, 40.0, 1.0).unwrap().remainder(3.0).unwrap().reshape([1, 40]).unwrap();
    let fills = [Fill::from(1.0), Fill::from(0.0), Fill::from(&row), Fill::Undefined];
    for layout in [Layout::Csc, Layout::Dcsc, Layout::Bsr { block: [3, 4] }, Layout::Bsc { block: [2, 5] }, Layout::Csf]
    {
        for fill in &fills {
            let sparse = x.to_sparse(layout, fill.clone()).unwrap();
            let (found, want) = (sparse.unique_counts().unwrap(), x.unique_counts().unwrap());
            assert_eq!(
                (ints(&found.values), ints(&found.counts)),
                (ints(&want.values), ints(&want.counts)),
                "{layout}"
            );
            assert_eq!(ints(&sparse.unique_values().unwrap()), ints(&want.values));
            let (found, want) = (sparse.unique_inverse().unwrap(), x.unique_inverse().unwrap());
            assert_eq!(
                (ints(&found.values), ints(&found.inverse)),
                (ints(&want.values), ints(&want.inverse)),
                "{layout}"
            );
            let bins = sparse.abs().unwrap().cast(DType::I32).unwrap().bincount(None, 0).unwrap();
            assert_eq!(ints(&bins), ints(&x.abs().unwrap().cast(DType::I32).unwrap().bincount(None, 0).unwrap()));
            for axes in [vec![0, 1], vec![0], vec![1]] {
                let near = |f: &dyn Fn(&Tensor) -> openwork::Result<Tensor>| {
                    let (got, want) = (f(&sparse).unwrap(), f(&x).unwrap());
                    assert!(got.allclose(&want, 1e-12, 1e-12).unwrap(), "{layout}, {axes:?}: {got} is not {want}");
                };
                near(&|x| x.std(1.0, &axes));
                near(&|x| x.vector_norm(2.0, &axes));
                near(&|x| x.mul(1e200)?.vector_norm(2.0, &axes)?.div(1e200));
                near(&|x| x.mul(1e-200)?.vector_norm(2.0, &axes)?.div(1e-200));
                near(&|x| x.median(&axes));
                near(&|x| x.mode(&axes));
            }
        }
    }
}

/// One slice that needs scaling takes nothing from the others, whose powers vanish when they are scaled with it.
#[test]
fn norms_over_a_fill_that_varies() {
    let row = Tensor::from_vec([1, 4], vec![1.0, 2.0, 2.0, 4.0]).unwrap();
    for (unit, stored) in [(1e-30, 1e300), (1e30, 1e-300), (1e200, 1e-100), (1e-200, 1.0), (1.0, 3.0)] {
        let fill = row.mul(unit).unwrap();
        let x = Tensor::coo([3, 4], vec![vec![1u64], vec![2]], &Tensor::from_vec([1], vec![stored]).unwrap(), &fill)
            .unwrap();
        assert!(matches!(x.fill(), Some(Fill::Array(_))));
        for ord in [1.0, 2.0, 3.0, -1.0, -2.0] {
            let found = x.vector_norm(ord, 1).unwrap().to_vec::<f64>().unwrap();
            let of = |values: [f64; 4]| {
                let far = if ord > 0.0 {
                    values.into_iter().fold(0.0, f64::max)
                } else {
                    values.into_iter().fold(f64::MAX, f64::min)
                };
                far * values.iter().map(|x| (x / far).powf(ord)).sum::<f64>().powf(1.0 / ord)
            };
            let plain = of([1.0, 2.0, 2.0, 4.0].map(|x| x * unit));
            let other = of([unit, 2.0 * unit, stored, 4.0 * unit]);
            for (found, wanted) in found.iter().zip([plain, other, plain]) {
                assert!((found / wanted - 1.0).abs() < 1e-13, "{ord} of {unit} beside {stored}: {found}, not {wanted}");
            }
        }
    }
}
