//! Where extremes are in hybrid tensors, and what is in the middle: rows go by in shares and in parts along axes of the levels,
//! whole along axes of the values, and the answer is that of the same elements strided, or of the other kernels.

use openwork::parallel::with_threads;
use openwork::trace::Path;
use openwork::{DType, Fill, Layout, Scalar, Tensor};

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
