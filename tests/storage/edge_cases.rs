//! Input that is unusual, and edge cases on which users of sparse libraries have stumbled, each with its right answer.
use crate::common::tensors::{coo, elements, vector as values};
use openwork::{DType, Fill, Layout, NanPolicy, Result, Scalar, Tensor, keep, with_nan_policy};

fn fill(x: &Tensor) -> Scalar {
    match x.fill() {
        Some(Fill::Scalar(fill)) => *fill,
        other => panic!("{other:?}"),
    }
}

fn item(x: Result<Tensor>) -> Scalar {
    x.unwrap().item().unwrap()
}

/// Infinite is an integer too, where float16 is what both operands become.
#[test]
fn an_integer_beyond_float16_meets_a_fill_of_zero() {
    let x = Tensor::coo([2], vec![vec![1i64]], &Tensor::from_vec([1], vec![70_000u32]).unwrap(), 0u32).unwrap();
    let zeros = Tensor::zeros([2], DType::F16, Layout::Coo).unwrap();
    with_nan_policy(NanPolicy::Exact, || {
        for product in [x.outer(&zeros), x.kron(&zeros)] {
            let nan = product.unwrap().isnan().unwrap();
            assert_eq!(nan.count_nonzero(..).unwrap().item().unwrap(), 2i64.into());
        }
    });
    assert_eq!(x.outer(&zeros).unwrap().nse(), 0);
}

/// Fills of 0 and −0.
#[test]
fn a_fill_of_negative_zero_is_zero() {
    let x = coo(&[3], &[&[1]], &[2.0], 0.0);
    let y = x.neg().unwrap();
    assert!(fill(&y).is_zero());
    assert_eq!(elements(&x.add(&y).unwrap()), [0.0; 3]);
    assert_eq!(x.eq(y.neg().unwrap()).unwrap().all(..).unwrap().item().unwrap(), true.into());
    assert_eq!(x.mul(&y).unwrap().nse(), 1);
    assert_eq!(elements(&y.with_fill(0.0).unwrap()), [0.0, -2.0, 0.0]);
    // Joined after a negation: the fills are not the same bits, and nothing is lost.
    let joined = Tensor::concat(&[&x, &y], 0).unwrap();
    assert_eq!(elements(&joined), [0.0, 2.0, 0.0, 0.0, -2.0, 0.0]);
    assert!(joined.get([3]).unwrap().is_some_and(|v| v.same((-0.0).into())));
    assert_eq!(joined.nse(), 2);
}

/// A fill of NaN: products, equality, unique, sorting, argmax.
#[test]
fn a_fill_of_nan() {
    let x = coo(&[3], &[&[1]], &[2.0], f64::NAN);
    assert!(fill(&x.mul(0.0).unwrap()).is_nan());
    assert_eq!(fill(&x.eq(&x).unwrap()), false.into());
    assert_eq!(fill(&x.isnan().unwrap()), true.into());
    assert!(item(x.max(..)).is_nan() && item(x.sum(..)).is_nan());
    let filled = coo(&[3], &[&[0], &[1], &[2]], &[1.0, 2.0, 3.0], f64::NAN);
    assert_eq!(item(filled.max(..)), 3.0.into());
    assert_eq!(coo(&[3], &[&[0], &[1]], &[f64::NAN, 2.0], f64::NAN).prune().unwrap().nse(), 1);
    assert_eq!(x.to_dense().unwrap().to_sparse(Layout::Coo, f64::NAN).unwrap().nse(), 1);
    let values = x.unique_values().unwrap();
    assert_eq!(values.shape(), [2]); // 2 and one NaN, however many
    assert!(elements(&values)[0] == 2.0 && elements(&values)[1].is_nan());
    let counts = x.unique_counts().unwrap().counts;
    assert_eq!(counts.values::<i64>().unwrap(), [1, 2]);
    let sorted = elements(&x.sort(0).unwrap());
    assert!(sorted[0] == 2.0 && sorted[1].is_nan() && sorted[2].is_nan());
    assert_eq!(item(x.argmax(..)), 0i64.into()); // NaN wins, the first of them
    assert!(!x.equal(&x).unwrap() && x.equal_nan(&x).unwrap());
}

/// Infinity times 0, and NaN times 0.
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

/// A fill that the integer dtype cannot hold; sums and products of fills that overflow.
#[test]
fn fills_in_sums_and_products_of_integers_wrap() {
    let n = 1u128 << 40;
    let x = Tensor::full([1 << 40], 1i64 << 30, Layout::Coo).unwrap();
    assert_eq!(item(x.sum(..)), ((n << 30) as i64).into());
    assert_eq!(item(x.prod(..)), 0i64.into());
    let threes = Tensor::full([41], 3u8, Layout::Coo).unwrap();
    assert_eq!(item(threes.prod(..)), 3u64.wrapping_pow(41).into());
    assert_eq!(item(Tensor::full([200], 100i8, Layout::Coo).unwrap().sum(..)), 20_000i64.into());
    let columns = || vec![vec![0i64]];
    let one = Tensor::from_vec([1], vec![7u8]).unwrap();
    for fill in [0.5, f64::NAN, -1.0, 256.0] {
        let error = Tensor::coo([2], columns(), &one, fill).unwrap_err().to_string();
        assert!(error.contains("uint8"), "{error}");
    }
    assert!(Tensor::coo([2], columns(), &one, 255.0).is_ok());
}

/// Fills of 0 and NaN joined.
#[test]
fn fills_of_zero_and_nan_are_joined() {
    let (x, y) = (coo(&[2], &[&[0]], &[1.0], 0.0), coo(&[2], &[&[1]], &[2.0], f64::NAN));
    let joined = Tensor::concat(&[&x, &y], 0).unwrap();
    let got = elements(&joined);
    assert!(got[..2] == [1.0, 0.0] && got[2].is_nan() && got[3] == 2.0, "{got:?}");
    assert_eq!(joined.nse(), 2); // one fill per place: nothing more is stored
    let stacked = Tensor::stack(&[&x, &y], 0).unwrap();
    assert_eq!((stacked.shape(), stacked.nse()), (&[2, 2][..], 2));
    assert!(stacked.get([1, 0]).unwrap().is_some_and(|v| v.is_nan()));
}

/// Mean and variance count the fill as often as it occurs, whole or in parts.
#[test]
fn the_mean_counts_what_is_unstored() {
    let x = coo(&[2, 4], &[&[0, 1], &[1, 1], &[1, 3]], &[6.0, 2.0, 4.0], 1.0);
    assert_eq!(elements(&x.mean(1).unwrap()), [2.25, 2.0]);
    assert_eq!(elements(&x.stored().mean(1).unwrap().to_dense_with(0.0).unwrap()), [6.0, 3.0]);
    let row = [6.0, 1.0, 1.0, 1.0];
    let mean = row.iter().sum::<f64>() / 4.0;
    let var = row.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / 4.0;
    assert_eq!(x.var(0.0, 1).unwrap().get([0]).unwrap(), Some(var.into()));
    // In parts, each with its own count.
    let halves = [x.narrow(0..2, 1).unwrap(), x.narrow(2..4, 1).unwrap()];
    let means = halves.map(|h| elements(&h.mean(1).unwrap()));
    assert_eq!([means[0][0] + means[1][0], means[0][1] + means[1][1]], [4.5, 4.0]);
}

/// Sums without NaN, of a fill of NaN.
#[test]
fn sums_without_nan_have_fill_zero() {
    let x = coo(&[2, 3], &[&[0, 1]], &[2.0], f64::NAN);
    assert_eq!(elements(&x.nansum(1).unwrap()), [2.0, 0.0]);
    assert_eq!(item(x.nansum(..)), 2.0.into());
    let mean = elements(&x.nanmean(1).unwrap());
    assert!(mean[0] == 2.0 && mean[1].is_nan());
    assert!(item(x.sum(..)).is_nan());
}

/// Stored elements that equal the fill.
#[test]
fn stored_elements_equal_to_the_fill() {
    let x = coo(&[4], &[&[0], &[1], &[2]], &[0.0, 5.0, 0.0], 0.0);
    assert_eq!((x.nse(), x.prune().unwrap().nse()), (3, 1));
    assert_eq!(item(x.count_nonzero(..)), 1i64.into());
    assert_eq!(item(x.is_stored().unwrap().count_nonzero(..)), 3i64.into());
    assert_eq!(x.mul(2.0).unwrap().nse(), 3);
    // As a graph: an edge of weight 0 is an edge.
    assert_eq!(x.stored().get([0]).unwrap(), Some(0.0.into()));
    assert_eq!(x.stored().get([3]).unwrap(), None);
    let places = x.nonzero().unwrap();
    assert_eq!(places[0].values::<i64>().unwrap(), [1]);
}

/// Slices that store nothing, or everything, or have no elements.
#[test]
fn slices_that_store_nothing_or_everything() {
    let x = coo(&[3, 2], &[&[0, 0], &[0, 1], &[1, 0]], &[3.0, 4.0, -2.0], 10.0);
    assert_eq!(elements(&x.sum(1).unwrap()), [7.0, 8.0, 20.0]);
    assert_eq!(elements(&x.min(1).unwrap()), [3.0, -2.0, 10.0]);
    assert_eq!(elements(&x.prod(1).unwrap()), [12.0, -20.0, 100.0]);
    let undefined = x.stored().sum(1).unwrap();
    assert_eq!(undefined.get([1]).unwrap(), Some((-2.0).into()));
    assert_eq!(undefined.get([2]).unwrap(), None);
    assert_eq!(x.stored().count_nonzero(1).unwrap().get([2]).unwrap(), Some(0i64.into()));
    let none = Tensor::zeros([2, 0], DType::F64, Layout::Coo).unwrap();
    assert_eq!(elements(&none.sum(1).unwrap()), [0.0, 0.0]);
    assert!(none.max(1).is_err());
}

/// The least and the greatest beside an unstored zero.
#[test]
fn the_unstored_zero_is_greater_than_what_is_stored() {
    let x = coo(&[3], &[&[0], &[2]], &[-1.0, -5.0], 0.0);
    assert_eq!(item(x.max(..)), 0.0.into());
    assert_eq!(item(x.min(..)), (-5.0).into());
    assert_eq!(item(x.neg().unwrap().min(..)), 0.0.into());
    let all = coo(&[2], &[&[0], &[1]], &[-1.0, -5.0], 0.0);
    assert_eq!(item(all.max(..)), (-1.0).into());
}

/// Results of rank 0.
#[test]
fn full_reductions_have_rank_zero() {
    for layout in [Layout::Coo, Layout::Csr, Layout::Csc, Layout::Dcsr, Layout::Csf, Layout::Bsr { block: [2, 2] }] {
        let x = Tensor::eye(4, DType::F64, layout).unwrap();
        let sum = x.sum(..).unwrap();
        assert_eq!((sum.shape(), sum.item().unwrap()), (&[][..], 4.0.into()));
        assert_eq!(x.sum(keep(..)).unwrap().shape(), [1, 1]);
    }
}

/// Zeros divided by zeros.
#[test]
fn dividing_zeros_gives_a_fill_of_nan() {
    let (x, y) = (coo(&[3], &[&[0]], &[6.0], 0.0), coo(&[3], &[&[0], &[1]], &[2.0, 4.0], 0.0));
    let z = x.div(&y).unwrap();
    assert!(fill(&z).is_nan());
    assert_eq!(z.nse(), 2);
    assert_eq!(z.get([0]).unwrap(), Some(3.0.into()));
    assert_eq!(z.get([1]).unwrap(), Some(0.0.into()));
    let ints = Tensor::zeros([2], DType::I32, Layout::Coo).unwrap();
    assert_eq!(fill(&ints.floor_divide(&ints).unwrap()), 0i32.into());
    assert!(fill(&ints.div(&ints).unwrap()).is_nan());
}

/// Comparing with the fill.
#[test]
fn comparing_with_the_fill() {
    let x = coo(&[3], &[&[1]], &[2.0], 7.0);
    let same = x.eq(7.0).unwrap();
    assert_eq!((same.dtype(), same.layout(), fill(&same)), (DType::Bool, Layout::Coo, true.into()));
    assert_eq!(item(same.count_nonzero(..)), 2i64.into());
}

/// Casts.
#[test]
fn casts_take_the_fill_along() {
    let x = coo(&[3], &[&[1]], &[2.7], -1.5);
    let y = x.cast(DType::I32).unwrap();
    assert_eq!((fill(&y), y.get([1]).unwrap()), ((-1i32).into(), Some(2i32.into())));
    assert_eq!(fill(&x.cast(DType::Bool).unwrap()), true.into());
    assert_eq!(fill(&coo(&[1], &[], &[], f64::NAN).cast(DType::U8).unwrap()), 0u8.into());
    assert_eq!(fill(&coo(&[1], &[], &[], 1e300).cast(DType::F32).unwrap()), f32::INFINITY.into());
}

/// Shapes of more than 2^64 elements.
#[test]
fn shapes_may_pass_two_to_the_64() {
    let far = (1u64 << 40) - 1;
    let x = coo(&[1 << 40, 1 << 40], &[&[0, far], &[far, far]], &[1.0, 2.0], 0.0);
    assert_eq!(x.size(), 1 << 80);
    assert_eq!(x.get([far as usize; 2]).unwrap(), Some(2.0.into()));
    let sum = (&x + &x.matrix_transpose().unwrap()).unwrap();
    assert_eq!((sum.nse(), item(sum.sum(..))), (3, 6.0.into()));
    assert_eq!(item((&x + 1.0).unwrap().min(..)), 1.0.into());
    let ones = Tensor::full([1 << 40, 1 << 40], 1.0, Layout::Coo).unwrap();
    assert_eq!(item(ones.sum(..)), 2f64.powi(80).into());
    let flat = x.reshape([1 << 20, 1 << 30, 1 << 30]).unwrap();
    assert_eq!(flat.get([(1 << 20) - 1, (1 << 30) - 1, (1 << 30) - 1]).unwrap(), Some(2.0.into()));
    assert!(flat.reshape([1 << 40, 1 << 40]).unwrap().same_meaning(&x).unwrap());
    assert_eq!(item((&x * &x).unwrap().max(..)), 4.0.into());
    assert!(x.to_dense().is_err());
}

/// Duplicates under a fill that is not 0.
#[test]
fn duplicates_mean_their_sum_which_replaces_the_fill() {
    let x = coo(&[3], &[&[1], &[1]], &[2.0, 3.0], 10.0);
    assert_eq!(elements(&x), [10.0, 5.0, 10.0]);
    assert_eq!(x.get([1]).unwrap(), Some(5.0.into()));
    assert_eq!(elements(&x.square().unwrap()), [100.0, 25.0, 100.0]);
    assert_eq!(item(x.sum(..)), 25.0.into());
    assert_eq!(x.coalesce().unwrap().nse(), 1);
    let flags =
        Tensor::coo([2], vec![vec![0i64, 0]], &Tensor::from_vec([2], vec![true, true]).unwrap(), false).unwrap();
    assert_eq!(flags.get([0]).unwrap(), Some(true.into()));
    let most = x.coalesce_with(openwork::ReduceOp::Max).unwrap();
    assert_eq!(most.get([1]).unwrap(), Some(3.0.into()));
    assert!(x.coalesce_with(openwork::ReduceOp::Mean).is_err());
}

/// Softmax of slices in which nothing is stored.
#[test]
fn softmax_of_what_is_not_there() {
    let x = coo(&[2, 4], &[&[0, 1]], &[3.0], 0.0);
    let s = x.softmax(1).unwrap();
    assert_eq!((s.nse(), elements(&s)[4..].to_vec()), (1, vec![0.25; 4]));
    assert!((item(s.sum(..)).to::<f64>() - 2.0).abs() < 1e-15);
    // Unstored is −∞: 0 beside what is stored, and NaN where nothing is.
    let masked = elements(&x.replace_fill(f64::NEG_INFINITY).unwrap().softmax(1).unwrap());
    assert_eq!(masked[..4], [0.0, 1.0, 0.0, 0.0]);
    assert!(masked[4..].iter().all(|v| v.is_nan()));
    // Absent: nothing is there, and nothing is made.
    let absent = x.stored().softmax(1).unwrap();
    assert_eq!((absent.nse(), absent.get([0, 1]).unwrap(), absent.get([1, 0]).unwrap()), (1, Some(1.0.into()), None));
}

/// What a result's layout depends on.
#[test]
fn the_layout_of_a_result_does_not_depend_on_values() {
    let x = |v: f64| coo(&[2, 2], &[&[0, 0]], &[v], 0.0);
    for v in [0.0, 1.0, f64::NAN, f64::INFINITY] {
        for result in [x(v).mul(x(0.0)), x(v).add(v), x(v).exp(), x(v).div(x(v)), x(v).pow(2.0)] {
            assert_eq!(result.unwrap().layout(), Layout::Coo);
        }
    }
}

/// Files that say nothing of a fill.
#[test]
fn a_file_that_names_no_fill_has_fill_zero() {
    let text = b"%%MatrixMarket matrix coordinate real general\n2 2 1\n1 2 5.0\n";
    let x = openwork::io::matrix_market::read_bytes(text, &Default::default()).unwrap();
    assert_eq!((elements(&x), fill(&x)), (vec![0.0, 5.0, 0.0, 0.0], 0.0.into()));
}

/// No way out loses the fill silently.
#[test]
fn the_fill_is_shown() {
    assert!(coo(&[2], &[&[0]], &[1.0], 7.5).to_string().contains("fill=7.5"));
    assert!(coo(&[2], &[&[0]], &[1.0], Fill::Undefined).to_string().contains("fill=undefined"));
    // Other forms take the fill along, or refuse.
    let x = coo(&[2, 2], &[&[0, 0]], &[1.0], 7.5);
    assert_eq!(elements(&x.to_layout(Layout::Csr).unwrap()), [1.0, 7.5, 7.5, 7.5]);
    assert_eq!(elements(&x.reshape([4]).unwrap()), [1.0, 7.5, 7.5, 7.5]);
    let path = std::env::temp_dir().join(format!("openwork-fill-{}.mtx", std::process::id()));
    match openwork::io::matrix_market::write(&path, &x) {
        // A format without fills: what is read back means the same, or nothing was written.
        Ok(_) => {
            let back = openwork::io::matrix_market::read(&path).unwrap();
            assert!(back.equal(&x).unwrap());
            std::fs::remove_file(&path).unwrap();
        }
        Err(error) => assert!(error.to_string().contains("fill"), "{error}"),
    }
}

/// Centring, the standard case for a fill that varies: per column, then with duplicates and a wide shape.
#[test]
fn centring_keeps_the_pattern() {
    let x = coo(&[2, 3], &[&[0, 0], &[1, 2]], &[4.0, 6.0], 0.0);
    let centred = x.sub(x.mean(keep(0)).unwrap()).unwrap();
    assert_eq!(elements(&centred), [2.0, 0.0, -3.0, -2.0, 0.0, 3.0]);
    assert_eq!((centred.nse(), centred.fill().unwrap().to_string()), (2, "array[1, 3]".to_string()));
    assert_eq!(elements(&centred.sum(0).unwrap()), [0.0; 3]);
    let back = centred.with_fill(0.0).unwrap();
    assert_eq!(elements(&back), elements(&centred));
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
    assert_eq!((!&flags).unwrap().get([1]).unwrap(), Some(true.into()));
    assert_eq!((&flags & true).unwrap().get([0]).unwrap(), Some(true.into()));
    assert!((&x & 1).is_err());
}

/// A sum under a fill that varies takes away the fill beneath what is stored: nothing of it may be left.
#[test]
fn a_large_fill_beneath_stored_elements_leaves_no_trace() {
    let rows = |data: &[f64]| Fill::array(Tensor::from_vec([data.len(), 1], data.to_vec()).unwrap());
    let x = coo(&[3, 2], &[&[0, 0], &[0, 1]], &[1.0, 2.0], rows(&[1e30, 0.5, 0.25]));
    assert_eq!(elements(&x.sum(0).unwrap()), [1.75, 2.75]);
    assert_eq!(item(x.sum(..)), 4.5.into());
    let largest = coo(&[3, 2], &[&[0, 0], &[0, 1]], &[1.0, 2.0], rows(&[f64::MAX, 0.5, 0.25]));
    assert_eq!(elements(&largest.sum(0).unwrap()), [1.75, 2.75]);
    let fill = Tensor::from_vec([3, 1], vec![i64::MAX, 2, 4]).unwrap();
    let stored = Tensor::from_vec([2], vec![3i64, 6]).unwrap();
    let x = Tensor::coo([3, 2], vec![vec![0i64, 0], vec![0, 1]], &stored, Fill::array(fill)).unwrap();
    let mean = x.mean(0).unwrap();
    assert_eq!((mean.get([0]).unwrap(), mean.get([1]).unwrap()), (Some(3.0f64.into()), Some(4.0f64.into())));
}

#[test]
fn a_shape_without_elements_may_be_as_long_as_it_likes() {
    let x = Tensor::zeros([0, 1 << 40, 1 << 40], DType::F64, Layout::Strided).unwrap();
    assert_eq!(x.nse(), 0);
    let y = Tensor::zeros([1 << 40, 0, 1 << 40], DType::F64, Layout::Coo).unwrap();
    assert_eq!(y.to_dense().unwrap().nse(), 0);
    assert_eq!((&y + 1.0).unwrap().sum(..).unwrap().item().unwrap(), 0.0.into());
}
