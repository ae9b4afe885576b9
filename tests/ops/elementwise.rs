//! Elementwise ops beyond the registry: what they refuse, how they are carried out, and shapes of any size.
use crate::common::path;
use crate::common::tensors::{coo, says, vector};
use openwork::trace::Path;
use openwork::{BinaryOp, DType, ErrorKind, Fill, Layout, Result, Scalar, Tensor, with_densify_budget};

mod large;
mod paths;
mod refused;

fn at(x: &Tensor, index: &[usize]) -> Option<Scalar> {
    x.get(index).unwrap()
}

fn fill(x: &Tensor) -> String {
    x.fill().map_or("none".into(), ToString::to_string)
}

#[test]
fn a_number_comes_first_without_a_suffix() {
    let x = Tensor::random([6, 8], 0.2, 0.0, Layout::Csr, 1).unwrap();
    let check = || -> Result<()> {
        let less = (1.0 - &x)?; // no type says what the literal is
        let twice = (2 * &x)?;
        let over = (Scalar::I64(6) / (&x + 1.0)?)?;
        assert_eq!((fill(&less), fill(&twice), fill(&over)), ("1".into(), "0".into(), "6".into()));
        assert_eq!((twice.dtype(), twice.nse()), (DType::F64, x.nse()));
        Ok(())
    };
    check().unwrap();
}

#[test]
fn a_tensor_is_taken_as_a_fill() {
    let x = Tensor::random([6, 8], 0.2, 0.0, Layout::Csr, 1).unwrap();
    let means = Tensor::linspace(1.0, 8.0, 8).unwrap();
    let filled = x.replace_fill(&means).unwrap();
    assert_eq!((filled.fill(), filled.nse()), (Some(&Fill::array(means.expand_dims(0).unwrap())), x.nse()));
    assert!(filled.same_meaning(&x.replace_fill(Fill::array(means)).unwrap()).unwrap());
}

#[test]
fn a_choice_keeps_the_pattern_of_what_is_chosen() {
    let x = Tensor::random([60, 80], 0.1, 0.0, Layout::Csr, 1).unwrap();
    let capped = x.gt(0.5).unwrap().where_(0.5, &x).unwrap();
    assert_eq!((capped.layout(), capped.nse(), fill(&capped)), (Layout::Csr, x.nse(), "0".into()));
    // What the fill of the condition does not choose is merely looked up: a strided arm makes nothing dense.
    let dense = Tensor::from_vec([60, 80], vec![2.0; 4800]).unwrap();
    let marked = with_densify_budget(0, || x.gt(0.5).unwrap().where_(&dense, &x)).unwrap();
    assert_eq!((marked.layout(), marked.nse()), (Layout::Csr, x.nse()));
    // Numbers alone take the default dtypes.
    let both = x.gt(0.5).unwrap().where_(1, 0.5).unwrap();
    assert_eq!((both.dtype(), fill(&both)), (DType::F32, "0.5".into()));
    assert_eq!(x.gt(0.5).unwrap().where_(1, 0).unwrap().dtype(), DType::I64);
}

/// Operands of one pattern are brought beside one of another together, whatever comes first and whatever is looked up.
#[test]
fn some_operands_share_a_pattern() {
    let random = |seed: u64| Tensor::random([30, 40], 0.3, 0.0, Layout::Csr, seed).unwrap();
    let (x, y) = (random(1), random(2));
    let (z, dense) = (x.exp().unwrap(), |x: &Tensor| x.to_dense().unwrap());
    for [a, b, c] in [[&x, &z, &y], [&x, &y, &z], [&y, &x, &z], [&y, &z, &y]] {
        let sum = |of: [&Tensor; 3]| Tensor::zip_many(&of, |v: &[f64]| v[0] - 2.0 * v[1] + 3.0 * v[2]).unwrap();
        assert!(dense(&sum([a, b, c])).equal(&sum([&dense(a), &dense(b), &dense(c)])).unwrap());
        for condition in [a.gt(0.5).unwrap(), a.lt(0.5).unwrap(), b.ge(0.0).unwrap(), a.gt(b).unwrap()] {
            let chosen = condition.where_(b, c).unwrap();
            assert!(dense(&chosen).equal(&dense(&condition).where_(dense(b), dense(c)).unwrap()).unwrap());
            // What is absent where it is not stored.
            let [b, c] = [b.stored(), c.stored()];
            let chosen = condition.where_(&b, &c).unwrap();
            for index in (0..30).flat_map(|i| (0..40).map(move |j| [i, j])) {
                let is_first = at(&condition, &index) == Some(Scalar::Bool(true));
                assert_eq!(at(&chosen, &index), at(if is_first { &b } else { &c }, &index), "{index:?}");
            }
        }
    }
}

/// Operands with the same places in memory of their own have one pattern; one place that differs, wherever, makes another of it.
#[test]
fn the_same_places_in_other_memory() {
    let n = 1 << 20;
    for layout in [Layout::Csr, Layout::Csc, Layout::Coo, Layout::Dcsr] {
        let [x, y] = [1, 1].map(|seed| Tensor::random([300, n], 8e-4, 0.0, layout, seed).unwrap());
        let nse = x.nse();
        assert!(nse > 200_000);
        let sum = x.add(y.mul(2.0).unwrap()).unwrap();
        assert!(sum.equal(&x.mul(3.0).unwrap()).unwrap() && sum.layout() == layout);
        let coordinates = x.to_layout(Layout::Coo).unwrap();
        let [rows, columns] = [0, 1].map(|axis| coordinates.coordinates()[axis].1.clone());
        let values = coordinates.values::<f64>().unwrap();
        for moved in [0, 70_000, nse - 1] {
            let mut other = columns.clone();
            // To where nothing is stored, whatever is beside it.
            let taken: Vec<u64> = (0..nse).filter(|&p| rows[p] == rows[moved]).map(|p| columns[p]).collect();
            other[moved] = (0..).find(|c| !taken.contains(c)).unwrap();
            let z = Tensor::from_triplets([300, n], rows.clone(), other.clone(), values.to_vec(), 0.0).unwrap();
            let z = z.to_layout(layout).unwrap();
            assert_eq!(z.nse(), nse);
            let (sum, product) = (x.add(&z).unwrap(), x.mul(&z).unwrap());
            assert_eq!((sum.nse(), product.nse()), (nse + 1, nse - 1));
            assert_eq!(at(&product, &[rows[moved] as usize, columns[moved] as usize]).unwrap(), 0.0.into());
            assert_eq!(at(&sum, &[rows[moved] as usize, other[moved] as usize]).unwrap(), values[moved].into());
        }
    }
}

#[test]
fn masks_by_value_and_by_structure() {
    let x = coo(&[4], &[&[0], &[1], &[2]], &[1.0, 2.0, 3.0], 0.0);
    let m = Tensor::coo([4], vec![vec![0u64, 1, 3]], &Tensor::from_vec([3], vec![true, false, true]).unwrap(), false)
        .unwrap();
    let present = |t: &Tensor| (0..4).map(|i| at(t, &[i]).map(|v| v.to::<f64>())).collect::<Vec<_>>();
    assert_eq!(present(&x.mask(&m).unwrap()), [Some(1.0), None, None, Some(0.0)]);
    assert_eq!(present(&x.mask_complement(&m).unwrap()), [None, Some(2.0), Some(3.0), None]);
    assert_eq!(present(&x.mask(&m.is_stored().unwrap()).unwrap()), [Some(1.0), Some(2.0), None, Some(0.0)]);
    // Stored elements alone under the mask, as GraphBLAS has it.
    let masked = x.stored().mask(&m).unwrap();
    assert_eq!((present(&masked), masked.nse()), (vec![Some(1.0), None, None, None], 1));
    assert_eq!(fill(&masked), "undefined");
}

#[test]
fn comparing_whole_tensors() {
    let x = coo(&[2, 3], &[&[0, 1], &[1, 2]], &[4.0, f64::NAN], 0.0);
    assert!(x.same_meaning(&x.to_dense().unwrap()).unwrap() && x.to_dense().unwrap().same_meaning(&x).unwrap());
    assert!(x.same_meaning(&x.with_fill(7.0).unwrap().to_layout(Layout::Csc).unwrap()).unwrap());
    assert!(!x.equal(&x).unwrap() && x.equal_nan(&x).unwrap());
    assert!(!x.same_meaning(&x.stored()).unwrap());
    assert!(!x.same_meaning(&x.cast(DType::F32).unwrap()).unwrap());
    assert!(x.equal_nan(&x.cast(DType::F32).unwrap()).unwrap());
    assert!(!x.equal_nan(&x.reshape([3, 2]).unwrap()).unwrap());
    // −0 equals 0 and is not the same.
    let zeros = [coo(&[2], &[], &[], 0.0), coo(&[2], &[], &[], -0.0)];
    assert!(zeros[0].equal(&zeros[1]).unwrap() && !zeros[0].same_meaning(&zeros[1]).unwrap());
    // Everything is stored: fills do not matter, nor whether there is one.
    let all = [1.0, 5.0, 0.0].map(|f| coo(&[2], &[&[0], &[1]], &[3.0, 4.0], f));
    assert!(all[0].same_meaning(&all[1]).unwrap() && all[1].same_meaning(&all[2].stored()).unwrap());
    // Of a fill per row, all of the row that differs is stored.
    let rows = Fill::array(Tensor::from_vec([2, 1], vec![1.0, 9.0]).unwrap());
    let a = coo(&[2, 2], &[&[1, 0], &[1, 1]], &[1.0, 1.0], rows.clone());
    assert!(a.same_meaning(&coo(&[2, 2], &[], &[], 1.0)).unwrap());
    assert!(!coo(&[2, 2], &[&[1, 0]], &[1.0], rows).same_meaning(&coo(&[2, 2], &[], &[], 1.0)).unwrap());
    assert!(vector(&[1.0, 2.0]).allclose(&vector(&[1.0 + 1e-9, 2.0]), 1e-5, 1e-8).unwrap());
    assert!(vector(&[1.0, 1.0]).allclose(&Tensor::scalar(1.0), 0.0, 0.0).unwrap());
    assert!(!vector(&[1.0, 2.0]).allclose(&Tensor::scalar(1.0), 0.0, 0.5).unwrap());
}

/// A user's function sees fills, and runs on threads as on one.
#[test]
fn functions_of_the_user() {
    let x = Tensor::random([300, 400], 0.5, 0.25, Layout::Csr, 5).unwrap();
    let y = x.map(|v: f64| v > 0.3).unwrap();
    assert_eq!((y.dtype(), y.nse(), fill(&y)), (DType::Bool, x.nse(), "false".into()));
    let z = Tensor::random([300, 400], 0.5, 0.0, Layout::Coo, 6).unwrap();
    let one = || Tensor::zip_many(&[&x, &z, &x], |v: &[f64]| v[0] * v[1] + v[2]);
    let by_ops = ((&x * &z).unwrap() + &x).unwrap();
    for threads in [1, 3] {
        let fused = openwork::parallel::with_threads(threads, one).unwrap().unwrap();
        assert!(fused.same_meaning(&by_ops).unwrap());
    }
    let doubled = x.apply_stored(|v: f64| 2.0 * v).unwrap();
    assert_eq!(fill(&doubled), "0.25");
    // Duplicates mean their sum, which the function sees.
    let twice = coo(&[2], &[&[0], &[0]], &[1.0, 2.0], 0.0);
    assert_eq!(at(&twice.map(|v: f64| v * v).unwrap(), &[0]), Some(9.0.into()));
    assert_eq!(at(&twice.apply_stored(|v: f64| v * v).unwrap(), &[0]), Some(9.0.into()));
    assert_eq!(twice.select_values(|v: f64| v > 2.5).unwrap().nse(), 1);
}

#[test]
fn functions_of_the_place() {
    for layout in [Layout::Coo, Layout::Csr, Layout::Csc, Layout::Dcsr, Layout::Bsr { block: [2, 2] }] {
        let x = Tensor::random([40, 60], 0.2, 0.0, layout, 9).unwrap();
        let below = x.select(|at: &[usize], _: f64| at[0] > at[1]).unwrap();
        assert!(below.iter_stored().all(|(at, _)| at[0] > at[1]), "{layout}");
        let above = x.select(|at: &[usize], _: f64| at[0] <= at[1]).unwrap();
        assert!((&below + &above).unwrap().same_meaning(&x).unwrap(), "{layout}");
        let kept = if layout == (Layout::Bsr { block: [2, 2] }) { Layout::Coo } else { layout };
        assert_eq!(below.layout(), kept);
        let number = x.stored().index_map(|at: &[usize], _: f64| (at[0] * 60 + at[1]) as i64).unwrap();
        assert_eq!((number.layout(), number.nse()), (layout, x.nse()));
        assert!(number.iter_stored().all(|(at, v)| v == Scalar::I64((at[0] * 60 + at[1]) as i64)), "{layout}");
    }
    let strided = vector(&[3.0, -1.0, 2.0]).select_values(|v: f64| v > 0.0).unwrap();
    assert_eq!((strided.layout(), strided.nse(), fill(&strided)), (Layout::Coo, 2, "undefined".into()));
}

/// Integers of 32 bits and more become `float64`, smaller ones and bool `float32`, wherever an op leaves the integers.
#[test]
fn integers_become_floats_that_hold_them() {
    let x = Tensor::from_vec([2], vec![123_456_789i64, 123_456_790]).unwrap();
    assert_eq!(x.mean(..).unwrap().item().unwrap(), Scalar::F64(123_456_789.5));
    assert_eq!(x.var(0.0, ..).unwrap().item().unwrap(), Scalar::F64(0.25));
    assert_eq!((&x / &x).unwrap().dtype(), DType::F64);
    assert_eq!((&x / 2).unwrap().values::<f64>().unwrap(), [61_728_394.5, 61_728_395.0]);
    assert_eq!((0.5f64 * &x).unwrap().values::<f64>().unwrap(), [61_728_394.5, 61_728_395.0]);
    assert_eq!(x.sqrt().unwrap().values::<f64>().unwrap()[0], 123_456_789f64.sqrt());
    let float_of = |dtype: DType| {
        let x = Tensor::from_vec([3], vec![1u8, 0, 1]).unwrap().cast(dtype).unwrap().to_sparse(Layout::Coo, 0).unwrap();
        let results: [Result<Tensor>; 9] = [
            x.exp(),
            &x * 0.5,
            &x / &x,
            x.mean(..),
            x.std(0.0, ..),
            x.vector_norm(2.0, ..),
            x.quantile(0.5, ..),
            x.softmax(..),
            x.clamp(0.5, 1.5),
        ];
        let mut dtypes: Vec<DType> = results.map(|r| r.unwrap().dtype()).to_vec();
        dtypes.dedup();
        dtypes
    };
    for dtype in [DType::Bool, DType::I8, DType::U8, DType::I16, DType::U16] {
        assert_eq!(float_of(dtype), [DType::F32], "{dtype}");
    }
    for dtype in [DType::I32, DType::U32, DType::I64, DType::U64] {
        assert_eq!(float_of(dtype), [DType::F64], "{dtype}");
        let x = Tensor::from_vec([1], vec![2u8]).unwrap().cast(dtype).unwrap();
        assert_eq!((&x * openwork::c64::new(0.0, 1.0)).unwrap().dtype(), DType::Complex128);
    }
    // Between tensors a float decides.
    let single = Tensor::from_vec([2], vec![0.5f32, 1.5]).unwrap();
    assert_eq!((&x + &single).unwrap().dtype(), DType::F32);
}
