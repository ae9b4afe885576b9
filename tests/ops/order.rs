//! Reductions by order, moments, scans, sorting and counting: values by hand, huge shapes, wrong input, and paths.
use crate::common::tensors::{says, vector};
use openwork::trace::Path;
use openwork::{
    Axes, DType, ErrorKind, Fill, Interpolation, Layout, Result, Scalar, Tensor, c128, explain, keep, tensor,
    with_densify_budget,
};

/// A vector of that length with some elements stored.
fn sparse(length: usize, at: &[u64], data: &[f64], fill: impl Into<Fill>) -> Tensor {
    Tensor::coo([length], vec![at.to_vec()], &vector(data), fill).unwrap()
}

fn floats(x: &Tensor) -> Vec<f64> {
    x.cast(DType::F64).unwrap().to_dense().unwrap().to_contiguous().unwrap().values::<f64>().unwrap().to_vec()
}

fn ints(x: &Tensor) -> Vec<i64> {
    x.to_dense().unwrap().to_contiguous().unwrap().values::<i64>().unwrap().to_vec()
}

fn item(x: Result<Tensor>) -> f64 {
    x.unwrap().item().unwrap().to()
}

mod values {
    use super::*;

    #[test]
    fn order_counts_the_fill() {
        let x = sparse(6, &[1, 4], &[-2.0, 5.0], 0.0);
        assert_eq!(item(x.argmin(..)), 1.0);
        assert_eq!(item(x.argmax(..)), 4.0);
        assert_eq!(item(x.median(..)), 0.0);
        assert_eq!(item(x.mode(..)), 0.0);
        assert_eq!(item(x.quantile(1.0, ..)), 5.0);
        assert_eq!(item(x.quantile(0.1, ..)), -1.0);
        assert_eq!(item(x.quantile_with(0.1, Interpolation::Nearest, ..)), -2.0);
        // Only what is stored.
        assert_eq!(item(x.stored().median(..)), -2.0);
        assert_eq!(item(x.stored().quantile_with(0.5, Interpolation::Midpoint, ..)), 1.5);
        assert_eq!(item(x.stored().argmax(..)), 4.0);
    }

    #[test]
    fn the_first_of_equals_is_stored_or_not() {
        // The fill is the least, and comes first at 2.
        assert_eq!(item(sparse(5, &[0, 1, 3], &[1.0, 2.0, 0.0], 0.0).argmin(..)), 2.0);
        // The same, but a stored one comes first.
        assert_eq!(item(sparse(5, &[0, 1], &[0.0, 2.0], 0.0).argmin(..)), 0.0);
        assert_eq!(item(sparse(3, &[0, 2], &[0.0, f64::NAN], 0.0).argmin(..)), 2.0);
        assert_eq!(item(sparse(3, &[0, 2], &[0.0, 1.0], f64::NAN).argmax(..)), 1.0);
    }

    #[test]
    fn moments_are_those_of_all_elements() {
        let x = sparse(4, &[0, 2], &[4.0, 2.0], 1.0); // 4 1 2 1
        assert_eq!(item(x.var(0.0, ..)), 1.5);
        assert_eq!(item(x.var(1.0, ..)), 2.0);
        assert_eq!(item(x.std(1.0, ..)), 2.0f64.sqrt());
        assert!(item(x.stored().var(2.0, ..)).is_nan());
        assert_eq!(item(x.stored().var(1.0, ..)), 2.0);
        assert_eq!(item(x.vector_norm(2.0, ..)), 22.0f64.sqrt());
        assert_eq!(item(x.vector_norm(f64::NEG_INFINITY, ..)), 1.0);
        assert_eq!(item(x.vector_norm(0.0, ..)), 4.0);
        let z = Tensor::from_vec([2], vec![c128::new(3.0, 4.0), c128::new(-3.0, -4.0)]).unwrap();
        assert_eq!(item(z.var(0.0, ..)), 25.0);
        assert_eq!(item(z.vector_norm(2.0, ..)), 50.0f64.sqrt());
    }

    #[test]
    fn moments_survive_a_large_mean() {
        // Squares less the square of the mean would give 0, or less.
        let x = sparse(4, &[0, 1, 2], &[1e9 + 1.0, 1e9 + 2.0, 1e9 + 3.0], 1e9);
        assert_eq!(item(x.var(0.0, ..)), 1.25);
        let tiny = vector(&[3e-200, 4e-200]);
        let near = |x: f64, y: f64| assert!((x / y - 1.0).abs() < 1e-15, "{x} {y}");
        near(item(tiny.vector_norm(2.0, ..)), 5e-200);
        near(item(vector(&[3e200, 4e200]).vector_norm(2.0, ..)), 5e200);
        let floats = Tensor::from_vec([2], vec![3e30f32, 4e30]).unwrap();
        assert_eq!(item(floats.vector_norm(2.0, ..)), 5e30f32 as f64);
    }

    #[test]
    fn without_nan() {
        let x = sparse(5, &[0, 3], &[2.0, f64::NAN], f64::NAN);
        assert_eq!(item(x.nansum(..)), 2.0);
        assert_eq!(item(x.nanprod(..)), 2.0);
        assert_eq!(item(x.nanmean(..)), 2.0);
        assert_eq!(item(x.nanmedian(..)), 2.0);
        assert_eq!(item(x.nanvar(0.0, ..)), 0.0);
        let none = sparse(5, &[], &[], f64::NAN);
        assert_eq!(item(none.nansum(..)), 0.0);
        assert!(item(none.nanmax(..)).is_nan() && item(none.nanmean(..)).is_nan());
        let least = vector(&[f64::INFINITY, f64::NAN]);
        assert_eq!(item(least.nanmin(..)), f64::INFINITY);
    }

    #[test]
    fn scans_make_rows_dense_that_store_something() {
        let x = Tensor::csr([3, 4], vec![0i64, 2, 2, 3], vec![1i64, 3, 0], &vector(&[1.0, 2.0, 5.0]), 0.0).unwrap();
        let sums = x.cumulative_sum(1).unwrap();
        assert_eq!(floats(&sums), [0.0, 1.0, 1.0, 3.0, 0.0, 0.0, 0.0, 0.0, 5.0, 5.0, 5.0, 5.0]);
        assert_eq!((sums.nse(), sums.positions()), (8, 2));
        assert_eq!(sums.fill().unwrap().to_string(), "0");
        let ones = x.replace_fill(1.0).unwrap().cumulative_sum_with_initial(1).unwrap();
        assert_eq!(ones.shape(), [3, 5]);
        assert_eq!(floats(&ones)[5..10], [0.0, 1.0, 2.0, 3.0, 4.0]);
        assert_eq!(ones.fill().unwrap().to_string(), "array[1, 5]");
        let stored = x.stored().cumulative_prod(1).unwrap();
        assert_eq!(stored.values::<f64>().unwrap(), [1.0, 2.0, 5.0]);
        assert_eq!(floats(&x.diff(1, 1).unwrap()), [1.0, -1.0, 2.0, 0.0, 0.0, 0.0, -5.0, 0.0, 0.0]);
        assert_eq!(x.diff(9, 1).unwrap().shape(), [3, 0]);
    }

    #[test]
    fn sorting_moves_the_fill_as_a_block() {
        let x = sparse(1_000_000, &[5, 6, 999_999], &[3.0, -1.0, f64::NAN], 0.0);
        let sorted = x.sort(0).unwrap();
        assert_eq!(sorted.nse(), 3);
        assert_eq!(sorted.coordinates(), [(0, vec![0, 999_998, 999_999])]);
        assert_eq!(sorted.values::<f64>().unwrap()[..2], [-1.0, 3.0]);
        let (values, at) = x.topk(3, 0).unwrap();
        assert!(floats(&values)[0].is_nan());
        assert_eq!(floats(&values)[1..], [3.0, 0.0]);
        assert_eq!(ints(&at), [999_999, 5, 0]);
        assert_eq!(ints(&x.topk_smallest(4, 0).unwrap().1), [6, 0, 1, 2]);
        let short = sparse(4, &[1, 2], &[0.0, -1.0], 0.0);
        assert_eq!(ints(&short.argsort(0).unwrap()), [2, 0, 1, 3]);
        assert_eq!(ints(&short.argsort_descending(0).unwrap()), [0, 1, 3, 2]);
        let absent = short.stored().argsort(0).unwrap();
        assert_eq!(absent.get([0]).unwrap(), Some(Scalar::I64(2)));
        assert_eq!(absent.get([2]).unwrap(), None);
    }

    #[test]
    fn one_nan_fill_is_one_value() {
        let x = sparse(10, &[2, 3], &[1.0, f64::NAN], f64::NAN);
        let unique = x.unique_all().unwrap();
        assert_eq!(unique.values.shape(), [2]);
        assert_eq!(ints(&unique.counts), [1, 9]);
        assert_eq!(ints(&unique.indices), [2, 0]);
        assert_eq!(unique.inverse.nse(), 2);
        assert_eq!(ints(&unique.inverse), [1, 1, 0, 1, 1, 1, 1, 1, 1, 1]);
    }

    #[test]
    fn places_and_bins() {
        let sorted = sparse(10, &[0, 9], &[-1.0, 4.0], 0.0);
        let places = sorted.searchsorted(&vector(&[-2.0, -1.0, 0.0, 1.0, 4.0, f64::NAN])).unwrap();
        assert_eq!(ints(&places), [0, 0, 1, 9, 9, 10]);
        assert_eq!(ints(&sorted.searchsorted_right(&vector(&[-1.0, 0.0, 4.0])).unwrap()), [1, 9, 10]);
        let counted = sorted.abs().unwrap().cast(DType::I32).unwrap();
        assert_eq!(ints(&counted.bincount(None, 7).unwrap()), [8, 1, 0, 0, 1, 0, 0]);
        let weights = sparse(10, &[0, 5], &[0.5, 2.0], 1.0);
        assert_eq!(floats(&counted.bincount(Some(&weights), 0).unwrap()), [9.0, 0.5, 0.0, 0.0, 1.0]);
        let (counts, edges) = sorted.histogram(5, None).unwrap();
        assert_eq!(ints(&counts), [1, 8, 0, 0, 1]);
        assert_eq!(floats(&edges), [-1.0, 0.0, 1.0, 2.0, 3.0, 4.0]);
    }
}

mod huge {
    use super::*;

    const N: usize = 1 << 40;

    fn huge(fill: impl Into<Fill>) -> Tensor {
        let indices = vec![vec![3u64, 3, N as u64 - 1], vec![7u64, N as u64 - 1, 0]];
        Tensor::coo([N, N], indices, &vector(&[2.0, -1.0, 5.0]), fill).unwrap()
    }

    #[test]
    fn reductions() {
        with_densify_budget(0, || {
            let x = huge(0.0);
            let row = |t: &Tensor, i: usize| t.get([i]).unwrap().unwrap().to::<f64>();
            let rows = x.argmax(1).unwrap();
            assert_eq!((row(&rows, 3), row(&rows, 4), rows.nse()), (7.0, 0.0, 2));
            assert_eq!(row(&x.argmin(1).unwrap(), 3), (N - 1) as f64);
            assert_eq!(item(x.argmin(..)), (3 * N + N - 1) as f64);
            assert_eq!(item(x.median(..)), 0.0);
            assert_eq!(item(x.mode(..)), 0.0);
            assert_eq!(item(x.vector_norm(2.0, ..)), 30.0f64.sqrt());
            assert!(item(x.var(0.0, ..)) < 1e-20);
            assert_eq!(row(&x.quantile(1.0, 0).unwrap(), 7), 2.0);
            assert_eq!(item(x.nansum(..)), 6.0);
        });
    }

    #[test]
    fn order() {
        let x = huge(0.0);
        let sorted = x.sort_descending(1).unwrap();
        assert_eq!(sorted.get([3, 0]).unwrap(), Some(Scalar::F64(2.0)));
        assert_eq!(sorted.get([3, N - 1]).unwrap(), Some(Scalar::F64(-1.0)));
        let (values, indices) = x.topk(2, 1).unwrap();
        assert_eq!(values.get([3, 0]).unwrap(), Some(Scalar::F64(2.0)));
        assert_eq!(indices.get([3, 0]).unwrap(), Some(Scalar::I64(7)));
        assert_eq!(indices.get([3, 1]).unwrap(), Some(Scalar::I64(0)));
        assert_eq!(indices.get([9, 1]).unwrap(), Some(Scalar::I64(1)));
        assert_eq!(floats(&x.unique_values().unwrap()), [-1.0, 0.0, 2.0, 5.0]);
        assert_eq!(x.unique_inverse().unwrap().inverse.nse(), 3);
        // A count of 2^80 − 3 fits no integer.
        says(x.unique_counts(), &["unique_counts", "does not fit int64"]);
        says(x.histogram(2, None), &["histogram", "does not fit int64"]);
        assert_eq!(ints(&x.histogram(2, Some((1.0, 5.0))).unwrap().0), [1, 1]);
        let diff = x.diff(1, 0).unwrap();
        assert_eq!(diff.get([2, 7]).unwrap(), Some(Scalar::F64(2.0)));
        // Summing along an axis of 2^40 would fill it.
        let error = says(x.cumulative_sum(1), &["cumulative_sum", "becomes dense", "budget"]);
        assert!(matches!(error.kind(), ErrorKind::Densify { .. }));
        let deep = x.stored().cumulative_sum(1).unwrap();
        assert_eq!(deep.get([3, N - 1]).unwrap(), Some(Scalar::F64(1.0)));
    }

    #[test]
    fn an_index_beyond_int64() {
        let x = Tensor::coo([N, N], vec![vec![N as u64 - 1], vec![0u64]], &vector(&[1.0]), 0.0).unwrap();
        says(x.argmax(..), &["argmax", "index", "does not fit int64"]);
    }
}

mod wrong {
    use super::*;

    fn x() -> Tensor {
        sparse(4, &[1], &[1.0], 0.0)
    }

    #[test]
    fn axes() {
        for error in [
            says(x().argmin(1), &["argmin", "axis 1", "-1..=0"]),
            says(x().median([0, -1]), &["median", "twice"]),
            says(x().var(0.0, -2), &["var", "axis -2", "-1..=0"]),
            says(x().vector_norm(2.0, 3), &["vector_norm", "axis 3", "-1..=0"]),
            says(x().nansum(3), &["sum", "axis 3", "-1..=0"]),
            says(x().cumulative_sum(1), &["cumulative_sum", "axis 1", "-1..=0"]),
            says(x().diff(1, 2), &["diff", "axis 2", "-1..=0"]),
            says(x().sort(1), &["sort", "axis 1", "-1..=0"]),
            says(x().argsort(-3), &["argsort", "axis -3", "-1..=0"]),
            says(x().topk(1, 1), &["topk", "axis 1", "-1..=0"]),
        ] {
            assert!(matches!(error.kind(), ErrorKind::Axis { .. }), "{error}");
        }
    }

    #[test]
    fn nothing_to_choose_from() {
        let empty = sparse(0, &[], &[], 0.0);
        for error in [
            says(empty.argmax(..), &["argmax", "no elements", "[0]"]),
            says(empty.median(..), &["median", "no elements"]),
            says(empty.mode(..), &["mode", "no elements"]),
            says(empty.quantile_with(0.5, Interpolation::Lower, ..), &["quantile", "no elements"]),
            says(empty.vector_norm(f64::INFINITY, ..), &["vector_norm", "no elements"]),
            says(empty.aminmax(..), &["min", "no elements"]),
        ] {
            assert!(matches!(error.kind(), ErrorKind::Shape { .. }), "{error}");
        }
        assert!(item(empty.var(0.0, ..)).is_nan());
        assert_eq!(item(empty.vector_norm(2.0, ..)), 0.0);
        assert_eq!(empty.unique_values().unwrap().shape(), [0]);
        assert_eq!(ints(&empty.cast(DType::I8).unwrap().bincount(None, 2).unwrap()), [0, 0]);
        // Nothing there is absence, where that can be said.
        assert_eq!(empty.stored().argmax(..).unwrap().get([]).unwrap(), None);
    }

    #[test]
    fn dtypes_without_an_order() {
        let z = x().cast(DType::Complex64).unwrap();
        for error in [
            says(z.argmax(..), &["argmax", "complex64", "abs()"]),
            says(z.median(..), &["median", "complex64"]),
            says(z.sort(0), &["sort", "complex64"]),
            says(z.cummax(0), &["cummax", "complex64"]),
            says(z.histogram(3, None), &["histogram", "complex64"]),
            says(x().searchsorted(&z), &["searchsorted", "complex"]),
            says(x().bincount(None, 0), &["bincount", "float64", "integers"]),
            says(x().cast(DType::Bool).unwrap().diff(1, 0), &["diff", "bool"]),
            says(x().mean_as(DType::I32, ..), &["mean_as", "int32"]),
        ] {
            assert!(matches!(error.kind(), ErrorKind::DType { .. }), "{error}");
        }
    }

    #[test]
    fn arguments() {
        for error in [
            says(x().topk(5, 0), &["topk", "`k`", "5 is given", "size 4"]),
            says(x().quantile(1.5, ..), &["quantile", "`q`", "1.5", "0 to 1"]),
            says(x().quantile(f64::NAN, ..), &["quantile", "NaN"]),
            says(x().var(f64::NAN, ..), &["var", "`correction`", "NaN"]),
            says(x().std(-1.0, ..), &["std", "`correction`", "-1"]),
            says(x().vector_norm(f64::NAN, ..), &["vector_norm", "`ord`", "NaN"]),
            says(x().histogram(0, None), &["histogram", "`bins`", "0 is given"]),
            says(x().histogram(2, Some((2.0, 1.0))), &["histogram", "`range`", "2 to 1"]),
            says(sparse(3, &[0], &[f64::NAN], 0.0).histogram(2, None), &["histogram", "NaN"]),
            says(x().stored().cumulative_sum_with_initial(0), &["cumulative_sum", "`include_initial`", "undefined"]),
            says(vector(&[-1.0]).cast(DType::I8).unwrap().bincount(None, 0), &["bincount", "element -1", "0 and more"]),
        ] {
            assert!(matches!(error.kind(), ErrorKind::Invalid { .. }), "{error}");
        }
        let counts = x().cast(DType::I8).unwrap();
        says(counts.bincount(Some(&vector(&[1.0])), 0), &["bincount", "[4], [1]", "weights"]);
        says(Tensor::eye(2, DType::F64, Layout::Coo).unwrap().searchsorted(&x()), &["searchsorted", "one axis"]);
        let unsigned = x().cast(DType::U64).unwrap();
        says(unsigned.searchsorted(&x().cast(DType::I8).unwrap()), &["searchsorted", "uint64", "int8"]);
        says(unsigned.isin(&x().cast(DType::I8).unwrap()), &["isin", "uint64", "int8"]);
    }
}

mod paths {
    use super::*;

    /// The path of the last step.
    #[track_caller]
    fn path<T>(f: impl FnOnce() -> Result<T>) -> Path {
        let (result, steps) = explain(f);
        result.unwrap();
        steps.last().expect("no step").path
    }

    #[test]
    fn a_fill_that_varies_is_sorted_once_and_not_made_dense() {
        let x = Tensor::random([50, 40], 0.1, 0.0, Layout::Csr, 1).unwrap();
        let x = x.sub(x.mean(keep(0)).unwrap()).unwrap(); // a fill per column
        with_densify_budget(0, || {
            for over in [&Axes::from(1), &Axes::from(..)] {
                assert_eq!(path(|| x.min(over)), Path::Specialised);
                assert_eq!(path(|| x.max(over)), Path::Specialised);
                // Means are not zero: a fill of truth values is one value.
                assert_eq!(path(|| x.any(over)), Path::Specialised);
                assert_eq!(path(|| x.all(over)), Path::Specialised);
                assert_eq!(path(|| x.median(over)), Path::Specialised);
                assert_eq!(path(|| x.quantile(0.3, over)), Path::Specialised);
                assert_eq!(path(|| x.var(0.0, over)), Path::Specialised);
            }
            assert_eq!(path(|| x.argmax(1)), Path::Specialised);
            assert_eq!(path(|| x.argmin(..)), Path::Engine);
            assert_eq!(path(|| x.unique_all()), Path::Engine);
        });
        let dense = x.to_dense().unwrap();
        assert_eq!(ints(&x.argmax(1).unwrap()), ints(&dense.argmax(1).unwrap()));
        assert_eq!(floats(&x.min(..).unwrap()), floats(&dense.min(..).unwrap()));
    }

    #[test]
    fn results_are_sparse_where_axes_are() {
        let x = Tensor::random([500_000, 400_000], 1e-9, 0.0, Layout::Coo, 1).unwrap();
        with_densify_budget(0, || {
            for out in [
                x.argmax(1).unwrap(),
                x.var(0.0, 1).unwrap(),
                x.median(keep(0)).unwrap(),
                x.vector_norm(2.0, 0).unwrap(),
                x.nanmean(0).unwrap(),
                x.sort(1).unwrap(),
                x.diff(1, 0).unwrap(),
            ] {
                assert!(!out.is_strided() && out.nse() <= 2 * x.nse(), "{:?}", out.shape());
            }
            assert_eq!(path(|| x.sort_descending(1)), Path::Specialised);
            assert_eq!(path(|| x.sort_descending(0)), Path::Engine);
            // Few results are strided, whatever the layout.
            let few = Tensor::random([500, 400], 0.001, 0.0, Layout::Coo, 1).unwrap();
            for layout in [Layout::Coo, Layout::Csr, Layout::Csc] {
                assert!(few.to_layout(layout).unwrap().var(0.0, 1).unwrap().is_strided());
            }
        });
        let dense = Tensor::random([50, 40], 0.1, 0.0, Layout::Strided, 1).unwrap();
        assert_eq!(path(|| dense.sort(0)), Path::Strided);
    }

    #[test]
    fn threads_change_nothing() {
        let x = Tensor::random([3000, 100], 0.3, 0.5, Layout::Csr, 3).unwrap();
        let all = || -> Result<Vec<Tensor>> {
            Ok(vec![
                x.var(1.0, 0)?,
                x.std(0.0, ..)?,
                x.quantile(0.4, 1)?,
                x.cumulative_sum(1)?,
                x.argsort_descending(1)?.cast(DType::F64)?,
                x.sort(0)?,
            ])
        };
        let one = openwork::parallel::with_threads(1, all).unwrap().unwrap();
        let three = openwork::parallel::with_threads(3, all).unwrap().unwrap();
        for (a, b) in one.iter().zip(&three) {
            let bits = |t: &Tensor| floats(t).iter().map(|v| v.to_bits()).collect::<Vec<_>>();
            assert_eq!(bits(a), bits(b));
        }
    }
}

/// Long vectors, which are searched in pieces and sorted in parallel.
mod long {
    use super::*;
    use crate::common::rng::Rng;

    const N: usize = 70_000;

    fn random(n: usize, different: usize, seed: u64) -> Vec<f64> {
        let mut rng = Rng::new(seed);
        (0..n).map(|_| rng.below(different) as f64 - 20.0).collect()
    }

    #[test]
    fn places_among_sorted_elements() {
        let queries = [random(N, 60, 1), vec![f64::NAN, -f64::NAN, f64::INFINITY, -0.0, f64::NEG_INFINITY]].concat();
        for (n, different) in [(0, 1), (1, 50), (1000, 50), (N, 50), (N, 1 << 20)] {
            let mut sorted = random(n, different, 2);
            sorted.sort_by(f64::total_cmp);
            let x = vector(&sorted);
            let before = |q: f64, right: bool| {
                let less = |s: &f64| if right { *s <= q || q.is_nan() } else { *s < q || q.is_nan() };
                sorted.partition_point(less) as i64
            };
            let expected = |right| queries.iter().map(|&q| before(q, right)).collect::<Vec<_>>();
            assert_eq!(ints(&x.searchsorted(&vector(&queries)).unwrap()), expected(false), "{n} {different}");
            assert_eq!(ints(&x.searchsorted_right(&vector(&queries)).unwrap()), expected(true), "{n} {different}");
        }
    }

    #[test]
    fn distinct_complex_elements() {
        let (re, im) = (random(N, 50, 3), random(N, 40, 4));
        let special =
            [c128::new(-0.0, 1.0), c128::new(f64::NAN, 0.0), c128::new(0.0, f64::NAN), c128::new(f64::INFINITY, -0.0)];
        let z: Vec<c128> = re.iter().zip(&im).map(|(&a, &b)| c128::new(a, b)).chain(special).collect();
        let mut counts = std::collections::BTreeMap::<(u64, u64), i64>::new();
        let key = |v: f64| openwork_ops::order::of_float(v);
        for z in &z {
            let nan = z.re.is_nan() || z.im.is_nan();
            *counts.entry(if nan { (u64::MAX, u64::MAX) } else { (key(z.re), key(z.im)) }).or_default() += 1;
        }
        let all = Tensor::from_vec([z.len()], z.clone()).unwrap().unique_all().unwrap();
        let distinct = all.values.to_vec::<c128>().unwrap();
        assert_eq!(all.counts.to_vec::<i64>().unwrap(), counts.values().copied().collect::<Vec<_>>());
        for (got, &(re, im)) in distinct.iter().zip(counts.keys()) {
            let nan = got.re.is_nan() && got.im.is_nan();
            assert!(if nan { re == u64::MAX } else { (key(got.re), key(got.im)) == (re, im) }, "{got}");
        }
        for (z, &at) in z.iter().zip(&all.inverse.to_vec::<i64>().unwrap()) {
            let own = distinct[at as usize];
            assert!(*z == own || (own.re.is_nan() && (z.re.is_nan() || z.im.is_nan())), "{z} is not {own}");
        }
    }

    #[test]
    fn a_fill_that_no_element_has_is_no_distinct_one() {
        let at: Vec<u64> = (0..4).collect();
        let x = sparse(4, &at, &[3.0, 1.0, 3.0, 2.0], 2.5);
        let found = x.unique_inverse().unwrap();
        assert_eq!(floats(&found.values), [1.0, 2.0, 3.0]);
        assert_eq!(ints(&found.inverse), [2, 0, 2, 1]);
        for (fill, number) in [(2.5, 2), (0.0, 0), (9.0, 3), (2.0, 1)] {
            let inverse = sparse(4, &at, &[3.0, 1.0, 3.0, 2.0], fill).unique_inverse().unwrap().inverse;
            assert_eq!(inverse.fill().unwrap().as_scalar().unwrap().to::<f64>(), f64::from(number));
        }
    }
}

mod narrow {
    use openwork::{Element, bf16, f16};

    use super::*;

    /// Rows of arrays in order beside the standard library's stable sort, bit for bit: of equal elements, among them zeros of either
    /// sign and NaN of any kind, the first comes first.
    fn check<T: Element>(make: fn(u64) -> T, order: fn(&T, &T) -> std::cmp::Ordering, bits: fn(&T) -> u64) {
        let lengths = [1, 2, 3, 10, 17, 100, 511, 512, 513, 1000, 1025, 4096, 4097].map(|n| (3, n));
        for (rows, n) in lengths.into_iter().chain([(1, 5), (1, 5000), (1, 140_000)]) {
            for kind in 0..4 {
                let word = |i: usize| match kind {
                    0 => (i as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15),
                    1 => (i as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 61 << 61,
                    2 => (i as u64) << 44,
                    _ => (rows * n - i) as u64 * (u64::MAX / (rows * n) as u64),
                };
                let own: Vec<T> = (0..rows * n).map(|i| make(word(i))).collect();
                let x = Tensor::from_vec([rows, n], own.clone()).unwrap();
                let y = x.t().unwrap().to_contiguous().unwrap();
                for descending in [false, true] {
                    let mut wanted = Vec::new();
                    for row in own.chunks(n) {
                        let mut places: Vec<i64> = (0..n as i64).collect();
                        places.sort_by(|&i, &j| {
                            let order = order(&row[i as usize], &row[j as usize]);
                            if descending { order.reverse() } else { order }
                        });
                        wanted.extend(places);
                    }
                    let sort = |x: &Tensor, axis: usize| match descending {
                        false => (x.sort(axis).unwrap(), x.argsort(axis).unwrap()),
                        true => (x.sort_descending(axis).unwrap(), x.argsort_descending(axis).unwrap()),
                    };
                    let (values, places) = sort(&x, 1);
                    let (other_values, other_places) = sort(&y, 0);
                    for (values, places) in
                        [(&values, &places), (&other_values.t().unwrap(), &other_places.t().unwrap())]
                    {
                        assert_eq!(
                            places.to_vec::<i64>().unwrap(),
                            wanted,
                            "{rows} {n} {kind} {descending} {}",
                            T::DTYPE
                        );
                        let from = wanted.iter().enumerate().map(|(i, &at)| bits(&own[i / n * n + at as usize]));
                        let found = values.to_vec::<T>().unwrap();
                        assert!(found.iter().map(bits).eq(from), "{rows} {n} {kind} {descending} {}", T::DTYPE);
                    }
                }
                let mut distinct = own.clone();
                distinct.sort_by(order);
                distinct.dedup_by(|a, b| order(a, b).is_eq());
                let found = x.unique_values().unwrap().to_vec::<T>().unwrap();
                assert!(found.len() == distinct.len() && found.iter().zip(&distinct).all(|(a, b)| order(a, b).is_eq()));
                // Zero and NaN are those of the dtype.
                assert!(found.iter().all(|v| order(v, &make(ZERO)).is_ne() || bits(v) == 0));
            }
        }
    }

    /// So many elements that they are looked at in parts, beside each other or in long runs, by one thread and by several.
    fn check_many<T: Element>(make: impl Fn(u64) -> T, order: impl Fn(&T, &T) -> std::cmp::Ordering + Copy) {
        for n in [140_000, 300_001] {
            for run in [1, 50_000] {
                let word = |i: usize| (i as u64 / run + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
                let own: Vec<T> = (0..n).map(|i| make(word(i))).collect();
                let x = Tensor::from_vec([n], own.clone()).unwrap();
                let mut distinct = own;
                distinct.sort_by(order);
                distinct.dedup_by(|a, b| order(a, b).is_eq());
                for threads in [1, 2, 3] {
                    let found: Vec<T> =
                        openwork::parallel::with_threads(threads, || x.unique_values().unwrap().to_vec::<T>().unwrap())
                            .unwrap();
                    let is_same = found.iter().zip(&distinct).all(|(a, b)| order(a, b).is_eq());
                    assert!(found.len() == distinct.len() && is_same, "{n} in runs of {run} of {}", T::DTYPE);
                }
            }
        }
    }

    #[test]
    fn the_distinct_of_many() {
        check_many(|w| (w >> 56) as u8, Ord::cmp);
        check_many(|w| (w >> 48) as i16, Ord::cmp);
        check_many(|w| (w >> 32) as i32, Ord::cmp);
        // As many as there are, and some that are not; NaN is one, above all.
        let order =
            |a: f32, b: f32| a.is_nan().cmp(&b.is_nan()).then(a.partial_cmp(&b).unwrap_or(std::cmp::Ordering::Equal));
        check_many(|w| f32::from_bits((w >> 32) as u32), |&a, &b| order(a, b));
        check_many(|w| f16::from_bits((w >> 48) as u16), |a, b| order(a.to_f32(), b.to_f32()));
    }

    /// Of which every dtype makes zero.
    const ZERO: u64 = 0;

    /// Words that are made to elements: some become zeros, infinities and NaN.
    fn special(word: u64) -> Option<f32> {
        match word >> 40 & 31 {
            1 => Some(0.0),
            2 => Some(-0.0),
            3 => Some(f32::INFINITY),
            4 => Some(f32::NEG_INFINITY),
            _ => None,
        }
    }

    #[test]
    fn integers() {
        check(|w| w >> 63 == 1, Ord::cmp, |&v| v.into());
        check(|w| (w >> 56) as u8, Ord::cmp, |&v| v.into());
        check(|w| (w >> 56) as i8, Ord::cmp, |&v| v as u64);
        check(|w| (w >> 48) as u16, Ord::cmp, |&v| v.into());
        check(|w| (w >> 48) as i16, Ord::cmp, |&v| v as u64);
        check(|w| (w >> 32) as u32, Ord::cmp, |&v| v.into());
        check(|w| (w >> 32) as i32, Ord::cmp, |&v| v as u64);
    }

    #[test]
    fn floats() {
        fn order(a: f32, b: f32) -> std::cmp::Ordering {
            a.is_nan().cmp(&b.is_nan()).then(a.partial_cmp(&b).unwrap_or(std::cmp::Ordering::Equal))
        }
        // Bits as they come are NaN at times.
        let f32s = |w: u64| special(w).unwrap_or(f32::from_bits((w >> 32) as u32));
        check(f32s, |&a, &b| order(a, b), |v| v.to_bits().into());
        // Without any that keys do not tell from others.
        check(|w| (w >> 40) as f32, |&a, &b| order(a, b), |v| v.to_bits().into());
        let f16s = |w: u64| special(w).map_or(f16::from_bits((w >> 48) as u16), f16::from_f32);
        check(f16s, |a, b| order(a.to_f32(), b.to_f32()), |v| v.to_bits().into());
        let bf16s = |w: u64| special(w).map_or(bf16::from_bits((w >> 48) as u16), bf16::from_f32);
        check(bf16s, |a, b| order(a.to_f32(), b.to_f32()), |v| v.to_bits().into());
    }
}

#[test]
fn elements_among_others_keep_the_pattern() {
    // An axis of a trillion, and more test elements than are compared one by one.
    let n = 1u64 << 40;
    let stored = [5.0, -0.0, f64::NAN, 1e300, 7.0];
    let at = [[3, 4, 5, n - 1, n - 1], [3, 9, 5, 0, n - 1]].map(|at: [u64; 5]| at.to_vec());
    let x = Tensor::coo([n as usize; 2], at.to_vec(), &vector(&stored), 2.0).unwrap();
    let far: Vec<f64> = (0..100).map(|i| 1e3 * f64::from(i)).chain([1e300, f64::NAN, 0.0]).collect();
    for (fill, among) in [(false, vec![7.0]), (true, vec![2.0, 7.0])] {
        let found = x.isin(&vector(&[&among[..], &far].concat())).unwrap();
        assert_eq!((found.dtype(), found.nse(), found.layout()), (DType::Bool, 5, x.layout()));
        assert_eq!(found.values::<bool>().unwrap(), [false, true, false, true, true]);
        assert_eq!(found.fill().unwrap().as_scalar().unwrap(), fill.into());
        // The fill of the test elements counts where they do not store all.
        let some = sparse(1000, &[5, 6], &[5.0, 7.0], among[0]);
        let found = x.isin(&some).unwrap();
        assert_eq!(found.values::<bool>().unwrap(), [true, false, false, false, true]);
        assert_eq!(found.fill().unwrap().as_scalar().unwrap(), fill.into());
    }
    // Nothing is among nothing; what promotion rounds is found as it is compared.
    assert_eq!(tensor![1, 2].isin(&vector(&[])).unwrap().to_vec::<bool>().unwrap(), [false, false]);
    let large = (1i64 << 53) + 1;
    assert_eq!(tensor![large, 3].isin(&vector(&[2f64.powi(53)])).unwrap().to_vec::<bool>().unwrap(), [true, false]);
    let z = [(1.0, -0.0), (1.0, 2.0), (f64::NAN, 0.0), (2.0, 1.0)].map(|(re, im)| c128::new(re, im));
    let known = Tensor::from_vec([2], vec![c128::new(1.0, 0.0), c128::new(f64::NAN, 0.0)]).unwrap();
    let found = Tensor::from_vec([4], z.to_vec()).unwrap().isin(&known).unwrap();
    assert_eq!(found.to_vec::<bool>().unwrap(), [true, false, false, false]);
}
