//! Edge cases that users of sparse libraries have met, each with its right answer here.

use super::*;
use openwork::{NanPolicy, with_nan_policy};

fn coo(shape: &[usize], places: &[&[i64]], data: &[f64], fill: impl Into<Fill>) -> Tensor {
    let columns: Vec<Vec<i64>> = (0..shape.len()).map(|a| places.iter().map(|p| p[a]).collect()).collect();
    Tensor::coo(shape, columns, &values(data), fill).unwrap()
}

fn fill(x: &Tensor) -> Scalar {
    match x.fill() {
        Some(Fill::Scalar(fill)) => *fill,
        other => panic!("{other:?}"),
    }
}

fn item(x: Result<Tensor>) -> Scalar {
    x.unwrap().item().unwrap()
}

/// 1
#[test]
fn a_fill_of_negative_zero_is_zero() {
    let x = coo(&[3], &[&[1]], &[2.0], 0.0);
    let y = x.neg().unwrap();
    assert!(fill(&y).is_zero());
    assert_eq!(elements(&x.add(&y).unwrap()), [0.0; 3]);
    assert_eq!(x.eq(y.neg().unwrap()).unwrap().all(None, false).unwrap().item().unwrap(), true.into());
    assert_eq!(x.mul(&y).unwrap().nse(), 1);
    assert_eq!(elements(&y.with_fill(0.0).unwrap()), [0.0, -2.0, 0.0]);
}

/// 2
#[test]
fn a_fill_of_nan() {
    let x = coo(&[3], &[&[1]], &[2.0], f64::NAN);
    assert!(fill(&x.mul(0.0).unwrap()).is_nan());
    assert_eq!(fill(&x.eq(&x).unwrap()), false.into());
    assert_eq!(fill(&x.isnan().unwrap()), true.into());
    assert!(item(x.max(None, false)).is_nan() && item(x.sum(None, false)).is_nan());
    let filled = coo(&[3], &[&[0], &[1], &[2]], &[1.0, 2.0, 3.0], f64::NAN);
    assert_eq!(item(filled.max(None, false)), 3.0.into());
    assert_eq!(coo(&[3], &[&[0], &[1]], &[f64::NAN, 2.0], f64::NAN).prune().unwrap().nse(), 1);
    assert_eq!(x.to_dense().unwrap().to_sparse(Layout::Coo, f64::NAN).unwrap().nse(), 1);
}

/// 3
#[test]
fn zero_times_infinity() {
    let x = coo(&[3], &[&[1]], &[f64::INFINITY], 0.0);
    let dense = values(&[f64::NAN, 0.0, f64::INFINITY]);
    let annihilated = elements(&x.mul(&dense).unwrap());
    assert!(annihilated[0] == 0.0 && annihilated[1].is_nan() && annihilated[2] == 0.0);
    let exact = elements(&with_nan_policy(NanPolicy::Exact, || x.mul(&dense)).unwrap());
    assert!(exact.iter().all(|v| v.is_nan()));
    // A fill is not an element: beside NaN as a fill nothing is annihilated.
    let nan = coo(&[3], &[&[1]], &[1.0], f64::NAN);
    assert!(fill(&x.mul(&nan).unwrap()).is_nan());
}

/// 4
#[test]
fn fills_in_sums_and_products_of_integers_wrap() {
    let n = 1u128 << 40;
    let x = Tensor::full(&[1 << 40], 1i64 << 30, Layout::Coo).unwrap();
    assert_eq!(item(x.sum(None, false)), ((n << 30) as i64).into());
    assert_eq!(item(x.prod(None, false)), 0i64.into());
    let threes = Tensor::full(&[41], 3u8, Layout::Coo).unwrap();
    assert_eq!(item(threes.prod(None, false)), 3u64.wrapping_pow(41).into());
    assert_eq!(item(Tensor::full(&[200], 100i8, Layout::Coo).unwrap().sum(None, false)), 20_000i64.into());
}

/// 6
#[test]
fn the_mean_counts_what_is_unstored() {
    let x = coo(&[2, 4], &[&[0, 1], &[1, 1], &[1, 3]], &[6.0, 2.0, 4.0], 1.0);
    assert_eq!(elements(&x.mean(Some(&[1]), false).unwrap()), [2.25, 2.0]);
    assert_eq!(elements(&x.stored().mean(Some(&[1]), false).unwrap().to_dense_with(0.0).unwrap()), [6.0, 3.0]);
}

/// 8
#[test]
fn stored_elements_equal_to_the_fill() {
    let x = coo(&[4], &[&[0], &[1], &[2]], &[0.0, 5.0, 0.0], 0.0);
    assert_eq!((x.nse(), x.prune().unwrap().nse()), (3, 1));
    assert_eq!(item(x.count_nonzero(None, false)), 1i64.into());
    assert_eq!(item(x.is_stored().unwrap().count_nonzero(None, false)), 3i64.into());
    assert_eq!(x.mul(2.0).unwrap().nse(), 3);
    // As a graph: an edge of weight 0 is an edge.
    assert_eq!(x.stored().get(&[0]).unwrap(), Some(0.0.into()));
    assert_eq!(x.stored().get(&[3]).unwrap(), None);
}

/// 9
#[test]
fn slices_that_store_nothing_or_everything() {
    let x = coo(&[3, 2], &[&[0, 0], &[0, 1], &[1, 0]], &[3.0, 4.0, -2.0], 10.0);
    assert_eq!(elements(&x.sum(Some(&[1]), false).unwrap()), [7.0, 8.0, 20.0]);
    assert_eq!(elements(&x.min(Some(&[1]), false).unwrap()), [3.0, -2.0, 10.0]);
    assert_eq!(elements(&x.prod(Some(&[1]), false).unwrap()), [12.0, -20.0, 100.0]);
    let undefined = x.stored().sum(Some(&[1]), false).unwrap();
    assert_eq!(undefined.get(&[1]).unwrap(), Some((-2.0).into()));
    assert_eq!(undefined.get(&[2]).unwrap(), None);
    assert_eq!(x.stored().count_nonzero(Some(&[1]), false).unwrap().get(&[2]).unwrap(), Some(0i64.into()));
}

/// 10
#[test]
fn the_unstored_zero_is_greater_than_what_is_stored() {
    let x = coo(&[3], &[&[0], &[2]], &[-1.0, -5.0], 0.0);
    assert_eq!(item(x.max(None, false)), 0.0.into());
    assert_eq!(item(x.min(None, false)), (-5.0).into());
    assert_eq!(item(x.neg().unwrap().min(None, false)), 0.0.into());
    let all = coo(&[2], &[&[0], &[1]], &[-1.0, -5.0], 0.0);
    assert_eq!(item(all.max(None, false)), (-1.0).into());
}

/// 11
#[test]
fn full_reductions_have_rank_zero() {
    for layout in [Layout::Coo, Layout::Csr, Layout::Csc, Layout::Dcsr, Layout::Csf, Layout::Bsr { block: [2, 2] }] {
        let x = Tensor::eye(4, DType::F64, layout).unwrap();
        let sum = x.sum(None, false).unwrap();
        assert_eq!((sum.shape(), sum.item().unwrap()), (&[][..], 4.0.into()));
        assert_eq!(x.sum(None, true).unwrap().shape(), [1, 1]);
    }
}

/// 12
#[test]
fn dividing_zeros_gives_a_fill_of_nan() {
    let (x, y) = (coo(&[3], &[&[0]], &[6.0], 0.0), coo(&[3], &[&[0], &[1]], &[2.0, 4.0], 0.0));
    let z = x.div(&y).unwrap();
    assert!(fill(&z).is_nan());
    assert_eq!(z.nse(), 2);
    assert_eq!(z.get(&[0]).unwrap(), Some(3.0.into()));
    assert_eq!(z.get(&[1]).unwrap(), Some(0.0.into()));
    let ints = Tensor::zeros(&[2], DType::I32, Layout::Coo).unwrap();
    assert_eq!(fill(&ints.floor_divide(&ints).unwrap()), 0i32.into());
    assert!(fill(&ints.div(&ints).unwrap()).is_nan());
}

/// 13
#[test]
fn comparing_with_the_fill() {
    let x = coo(&[3], &[&[1]], &[2.0], 7.0);
    let same = x.eq(7.0).unwrap();
    assert_eq!((same.dtype(), same.layout(), fill(&same)), (DType::Bool, Layout::Coo, true.into()));
    assert_eq!(item(same.count_nonzero(None, false)), 2i64.into());
}

/// 14
#[test]
fn casts_take_the_fill_along() {
    let x = coo(&[3], &[&[1]], &[2.7], -1.5);
    let y = x.cast(DType::I32).unwrap();
    assert_eq!((fill(&y), y.get(&[1]).unwrap()), ((-1i32).into(), Some(2i32.into())));
    assert_eq!(fill(&x.cast(DType::Bool).unwrap()), true.into());
    assert_eq!(fill(&coo(&[1], &[], &[], f64::NAN).cast(DType::U8).unwrap()), 0u8.into());
    assert_eq!(fill(&coo(&[1], &[], &[], 1e300).cast(DType::F32).unwrap()), f32::INFINITY.into());
}

/// 16
#[test]
fn duplicates_mean_their_sum_which_replaces_the_fill() {
    let x = coo(&[3], &[&[1], &[1]], &[2.0, 3.0], 10.0);
    assert_eq!(elements(&x), [10.0, 5.0, 10.0]);
    assert_eq!(x.get(&[1]).unwrap(), Some(5.0.into()));
    assert_eq!(elements(&x.square().unwrap()), [100.0, 25.0, 100.0]);
    assert_eq!(item(x.sum(None, false)), 25.0.into());
    assert_eq!(x.coalesce().unwrap().nse(), 1);
    let flags =
        Tensor::coo(&[2], vec![vec![0i64, 0]], &Tensor::from_vec(&[2], vec![true, true]).unwrap(), false).unwrap();
    assert_eq!(flags.get(&[0]).unwrap(), Some(true.into()));
    let most = x.coalesce_with(openwork::ReduceOp::Max).unwrap();
    assert_eq!(most.get(&[1]).unwrap(), Some(3.0.into()));
    assert!(x.coalesce_with(openwork::ReduceOp::Mean).is_err());
}

/// 18
#[test]
fn the_layout_of_a_result_does_not_depend_on_values() {
    let x = |v: f64| coo(&[2, 2], &[&[0, 0]], &[v], 0.0);
    for v in [0.0, 1.0, f64::NAN, f64::INFINITY] {
        for result in [x(v).mul(x(0.0)), x(v).add(v), x(v).exp(), x(v).div(x(v)), x(v).pow(2.0)] {
            assert_eq!(result.unwrap().layout(), Layout::Coo);
        }
    }
}

/// 20
#[test]
fn the_fill_is_shown() {
    assert!(coo(&[2], &[&[0]], &[1.0], 7.5).to_string().contains("fill=7.5"));
    assert!(coo(&[2], &[&[0]], &[1.0], Fill::Undefined).to_string().contains("fill=undefined"));
}

/// Centring, the standard case for a fill that varies: per column, then with duplicates and a wide shape.
#[test]
fn centring_keeps_the_pattern() {
    let x = coo(&[2, 3], &[&[0, 0], &[1, 2]], &[4.0, 6.0], 0.0);
    let centred = x.sub(x.mean(Some(&[0]), true).unwrap()).unwrap();
    assert_eq!(elements(&centred), [2.0, 0.0, -3.0, -2.0, 0.0, 3.0]);
    assert_eq!((centred.nse(), centred.fill().unwrap().to_string()), (2, "array[1, 3]".to_string()));
    assert_eq!(elements(&centred.sum(Some(&[0]), false).unwrap()), [0.0; 3]);
    let back = centred.with_fill(0.0).unwrap();
    assert_eq!(elements(&back), elements(&centred));
}

/// 19
#[test]
fn a_file_that_names_no_fill_has_fill_zero() {
    let text = b"%%MatrixMarket matrix coordinate real general\n2 2 1\n1 2 5.0\n";
    let x = openwork::io::matrix_market::read_bytes(text, Default::default()).unwrap();
    assert_eq!((elements(&x), fill(&x)), (vec![0.0, 5.0, 0.0, 0.0], 0.0.into()));
}

/// Operators take tensors, numbers and results on either side.
#[test]
fn operators_are_their_methods() {
    let x = coo(&[2], &[&[0]], &[3.0], 1.0);
    let y = &x * 2.0;
    assert_eq!(elements(&(1.0f64 - &x).unwrap()), [-2.0, 0.0]);
    assert_eq!(elements(&(&x + &x).unwrap()), [6.0, 2.0]);
    assert_eq!(elements(&(x.clone() - y).unwrap()), [-3.0, -1.0]);
    assert_eq!(elements(&(&x / 2.0).unwrap()), [1.5, 0.5]);
    assert_eq!(elements(&(&x % 2.0).unwrap()), [1.0, 1.0]);
    assert_eq!(elements(&(-&x).unwrap()), [-3.0, -1.0]);
    let flags = x.gt(2.0).unwrap();
    assert_eq!((!&flags).unwrap().get(&[1]).unwrap(), Some(true.into()));
    assert_eq!((&flags & true).unwrap().get(&[0]).unwrap(), Some(true.into()));
    assert!((&x & 1).is_err());
}

/// A sum under a fill that varies takes away the fill beneath what is stored: nothing of it may be left.
#[test]
fn a_large_fill_beneath_stored_elements_leaves_no_trace() {
    let rows = |data: &[f64]| Fill::array(Tensor::from_vec(&[data.len(), 1], data.to_vec()).unwrap());
    let x = coo(&[3, 2], &[&[0, 0], &[0, 1]], &[1.0, 2.0], rows(&[1e30, 0.5, 0.25]));
    assert_eq!(elements(&x.sum(Some(&[0]), false).unwrap()), [1.75, 2.75]);
    assert_eq!(item(x.sum(None, false)), 4.5.into());
    let largest = coo(&[3, 2], &[&[0, 0], &[0, 1]], &[1.0, 2.0], rows(&[f64::MAX, 0.5, 0.25]));
    assert_eq!(elements(&largest.sum(Some(&[0]), false).unwrap()), [1.75, 2.75]);
    let fill = Tensor::from_vec(&[3, 1], vec![i64::MAX, 2, 4]).unwrap();
    let stored = Tensor::from_vec(&[2], vec![3i64, 6]).unwrap();
    let x = Tensor::coo(&[3, 2], vec![vec![0i64, 0], vec![0, 1]], &stored, Fill::array(fill)).unwrap();
    let mean = x.mean(Some(&[0]), false).unwrap();
    assert_eq!((mean.get(&[0]).unwrap(), mean.get(&[1]).unwrap()), (Some(3.0f32.into()), Some(4.0f32.into())));
}

#[test]
fn a_shape_without_elements_may_be_as_long_as_it_likes() {
    let x = Tensor::zeros(&[0, 1 << 40, 1 << 40], DType::F64, Layout::Strided).unwrap();
    assert_eq!(x.nse(), 0);
    let y = Tensor::zeros(&[1 << 40, 0, 1 << 40], DType::F64, Layout::Coo).unwrap();
    assert_eq!(y.to_dense().unwrap().nse(), 0);
    assert_eq!((&y + 1.0).unwrap().sum(None, false).unwrap().item().unwrap(), 0.0.into());
}
