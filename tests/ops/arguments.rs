//! How arguments may be written: axes, lists of integers, indices; and what is said of wrong ones.

use openwork::{Axes, Axis, DType, Error, Interpolation, Layout, ReduceOp, Tensor, keep, s, tensor};

fn sample() -> Tensor {
    let values = (0..24).map(f64::from).collect();
    Tensor::from_vec([2, 3, 4], values).unwrap()
}

fn shape(x: Result<Tensor, Error>) -> Vec<usize> {
    x.unwrap().shape().to_vec()
}

fn says<T>(given: Result<T, Error>, wanted: &[&str]) {
    let error = given.map(|_| "no error").unwrap_err().to_string();
    for w in wanted {
        assert!(error.contains(w), "{w:?} is not in {error:?}");
    }
}

/// What may be written where axes are wanted, literals without a suffix among them.
#[test]
fn axes_are_integers_lists_ranges() {
    for x in [sample(), sample().to_sparse(Layout::Csf, 0.0).unwrap()] {
        let (list, sizes, last) = (vec![0isize, -1], vec![0usize, 2], x.ndim() - 1);
        assert_eq!(shape(x.sum(0)), [3, 4]);
        assert_eq!(shape(x.sum(-1)), [2, 3]);
        assert_eq!(shape(x.sum(last)), [2, 3]);
        assert_eq!(shape(x.sum(last as i64)), [2, 3]);
        assert_eq!(shape(x.sum(Axis::from(1))), [2, 4]);
        assert_eq!(shape(x.sum([0, 1])), [4]);
        assert_eq!(shape(x.sum([0, 1])), [4]);
        assert_eq!(shape(x.sum([0, -1])), [3]);
        assert_eq!(shape(x.sum(&list)), [3]);
        assert_eq!(shape(x.sum(&list[..])), [3]);
        assert_eq!(shape(x.sum(list)), [3]);
        assert_eq!(shape(x.sum(&sizes)), [3]);
        assert_eq!(shape(x.sum(1..)), [2]);
        assert_eq!(shape(x.sum(..2)), [4]);
        assert_eq!(shape(x.sum(..-1)), [4]);
        assert_eq!(shape(x.sum(0..=1)), [4]);
        assert_eq!(shape(x.sum(..)), [0; 0]);
        assert_eq!(shape(x.sum(Axes::none())), [2, 3, 4]);
        assert_eq!(shape(x.sum(Axes::from(1))), [2, 4]);
        assert_eq!(
            shape(x.sum(x.shape().iter().enumerate().filter(|(_, n)| **n > 2).map(|(a, _)| a).collect::<Axes>())),
            [2]
        );
        for axis in 0..3 {
            assert_eq!(x.sum(axis).unwrap().ndim(), 2);
        }
    }
}

#[test]
fn kept_axes_have_size_one() {
    for x in [sample(), sample().to_sparse(Layout::Coo, 0.0).unwrap()] {
        assert_eq!(shape(x.mean(keep(0))), [1, 3, 4]);
        assert_eq!(shape(x.max(keep([0, 2]))), [1, 3, 1]);
        assert_eq!(shape(x.prod(keep(..))), [1, 1, 1]);
        assert_eq!(shape(x.var(0.0, keep(1..))), [2, 1, 1]);
        assert_eq!(shape(x.std(1.0, keep(-1))), [2, 3, 1]);
        assert_eq!(shape(x.argmax(keep(1))), [2, 1, 4]);
        assert_eq!(shape(x.argmin(keep(..))), [1, 1, 1]);
        assert_eq!(shape(x.logsumexp(keep(0))), [1, 3, 4]);
        assert_eq!(shape(x.median(keep(2))), [2, 3, 1]);
        assert_eq!(shape(x.quantile(0.5, keep(2))), [2, 3, 1]);
        assert_eq!(shape(x.vector_norm(2.0, keep([1]))), [2, 1, 4]);
        assert_eq!(shape(x.nanmean(keep(0))), [1, 3, 4]);
        assert_eq!(shape(x.sum_as(DType::F32, keep(0))), [1, 3, 4]);
        assert_eq!(shape(x.reduce(ReduceOp::Any, keep(0))), [1, 3, 4]);
        assert_eq!(shape(x.reduce_with(0.0, |a: f64, b| a + b, keep(0))), [1, 3, 4]);
        // Where nothing is reduced there is nothing to keep.
        for error in [
            x.softmax(keep(0)),
            x.flip(keep(0)),
            x.squeeze(keep(0)),
            x.permute_dims(keep([2, 1, 0])),
            x.roll(1, keep(0)),
        ] {
            says(error, &["`axes`", "keep", "reductions"]);
        }
        says(x.take([0], keep(0)), &["take", "keep"]);
        says(x.standardize(0.0, keep(0)), &["standardize", "keep"]);
    }
}

/// The same argument for every method that takes several axes, and one axis for those that take one.
#[test]
fn every_family_takes_them() {
    let x = sample();
    assert_eq!(shape(x.softmax(-1)), [2, 3, 4]);
    assert_eq!(shape(x.log_softmax([0, 1])), [2, 3, 4]);
    assert_eq!(shape(x.normalize(2.0, 1..)), [2, 3, 4]);
    assert_eq!(shape(x.normalize_with(1.0, 1e-6, 0)), [2, 3, 4]);
    assert_eq!(shape(x.standardize(0.0, ..)), [2, 3, 4]);
    assert_eq!(shape(x.flip([0, 2])), [2, 3, 4]);
    assert_eq!(shape(x.expand_dims(0)), [1, 2, 3, 4]);
    assert_eq!(shape(x.expand_dims([0, -1])), [1, 2, 3, 4, 1]);
    assert_eq!(shape(x.expand_dims([4, 0]).unwrap().squeeze([0, -1])), [2, 3, 4]);
    assert_eq!(shape(x.expand_dims(1).unwrap().squeeze(..)), [2, 3, 4]);
    assert_eq!(shape(x.permute_dims([2, 0, 1])), [4, 2, 3]);
    assert_eq!(shape(x.permute_dims(..)), [2, 3, 4]);
    assert_eq!(shape(x.moveaxis(0, -1)), [3, 4, 2]);
    assert_eq!(shape(x.moveaxis([0, 1], [-1, -2])), [4, 3, 2]);
    assert_eq!(shape(x.swapaxes(0, -1)), [4, 3, 2]);
    assert_eq!(shape(x.diagonal(0, 0, 1)), [4, 2]);
    assert_eq!(shape(x.sort(0)), [2, 3, 4]);
    assert_eq!(shape(x.cumulative_sum(x.ndim() - 1)), [2, 3, 4]);
    assert_eq!(shape(x.cumulative_sum_with_initial(-1)), [2, 3, 5]);
    assert_eq!(x.cumulative_sum_as(DType::F32, 0).unwrap().dtype(), DType::F32);
    assert_eq!(shape(x.diff(1, -1)), [2, 3, 3]);
    assert_eq!(shape(x.narrow(1..3, -1)), [2, 3, 2]);
    assert_eq!(shape(x.delete([0], 1)), [2, 2, 4]);
    assert_eq!(shape(Tensor::concat(&[&x, &x], 0)), [4, 3, 4]);
    assert_eq!(shape(Tensor::stack(&[&x, &x], -1)), [2, 3, 4, 2]);
    assert_eq!(x.split([1, 2], 1).unwrap().len(), 2);
    assert_eq!(x.unstack(-1).unwrap().len(), 4);
    assert_eq!(shape(Ok(x.topk(2, -1).unwrap().0)), [2, 3, 2]);
    assert_eq!(shape(x.quantile_with(0.5, Interpolation::Lower, [0, 1])), [4]);
}

/// `..` is the tensor in C order for the methods that work along one axis or none.
#[test]
fn one_axis_or_the_flattened_tensor() {
    let x = sample();
    assert_eq!(x.argmax(..).unwrap().item().unwrap(), 23i64.into());
    assert_eq!(shape(x.argmax(1)), [2, 4]);
    assert_eq!(x.take([23, 0], ..).unwrap().to_vec::<f64>().unwrap(), [23.0, 0.0]);
    assert_eq!(shape(x.repeat(2, ..)), [48]);
    assert_eq!(shape(x.repeat(2, 0)), [4, 3, 4]);
    assert_eq!(shape(x.repeat([1, 0, 2], 1)), [2, 3, 4]);
    assert_eq!(x.roll(1, ..).unwrap().get([0, 0, 0]).unwrap(), Some(23.0.into()));
    assert_eq!(x.roll([1, -1], [0, 2]).unwrap().get([0, 0, 0]).unwrap(), Some(13.0.into()));
    assert_eq!(x.roll([1, 1], [0, 0]).unwrap().to_vec::<f64>().unwrap(), x.to_vec::<f64>().unwrap());
    says(x.argmax([0, 1]), &["argmax", "`axis`", "2 axes are given, allowed is one"]);
    says(x.take([0], [0, 1]), &["take", "2 axes"]);
    says(x.repeat(-1, 0), &["repeat", "`repeats`", "-1 is given", "from 0"]);
}

#[test]
fn wrong_axes_are_named() {
    let (x, scalar) = (sample(), Tensor::scalar(1.0));
    says(x.sum(3), &["sum", "axis 3 of a tensor with 3 axes", "allowed are -3..=2"]);
    says(x.sum(-4), &["sum", "axis -4", "allowed are -3..=2"]);
    says(x.sum(usize::MAX), &["sum", "allowed are -3..=2"]);
    says(x.sum([0, -3]), &["sum", "axis -3", "given twice"]);
    says(x.sum(keep([1, 1])), &["sum", "axis 1", "given twice"]);
    says(x.sum(1..5), &["sum", "`axes`", "1..5", "ends from 0 to 3"]);
    says(scalar.sum(0), &["sum", "axis 0 of a tensor with 0 axes", "it has none"]);
    says(scalar.sum([0]), &["sum", "it has none"]);
    assert_eq!(shape(scalar.sum(..)), [0; 0]);
    says(scalar.sort(0), &["sort", "it has none"]);
    says(x.softmax(3), &["softmax", "allowed are -3..=2"]);
    says(x.flip([1, 1]), &["flip", "given twice"]);
    says(x.expand_dims(4), &["expand_dims", "axis 4 of a tensor with 4 axes", "-4..=3"]);
    says(x.expand_dims([0, 0]), &["expand_dims", "given twice"]);
    says(x.expand_dims(..), &["expand_dims", "`axes`", "list the new ones"]);
    says(x.permute_dims([0, 1]), &["permute_dims", "2 axes for a tensor with 3"]);
    says(x.permute_dims([0, 1, 1]), &["permute_dims", "given twice"]);
    says(x.moveaxis([0, 1], 0), &["moveaxis", "`destination`", "1 axes for 2"]);
    says(x.swapaxes(0, 3), &["swapaxes", "axis 3"]);
    says(x.diagonal(0, 1, -2), &["diagonal", "given twice"]);
    says(x.narrow(0..1, 3), &["narrow", "axis 3"]);
    says(x.index_select([0], 3), &["index_select", "axis 3"]);
    says(x.cumulative_prod(-4), &["cumulative_prod", "axis -4"]);
    says(Tensor::stack(&[&x], 4), &["stack", "axis 4", "-4..=3"]);
}

/// Every list of integers that an index takes, in `s!`, `take` and `index_select` alike.
#[test]
fn indices_are_lists_of_integers() {
    let x = sample();
    let want = [3, 3, 4];
    let coordinates: Vec<u64> = vec![1, 0, 1];
    assert_eq!(shape(x.index_select(coordinates.clone(), 0)), want);
    assert_eq!(shape(x.index_select(&coordinates, 0)), want);
    assert_eq!(shape(x.index_select(&coordinates[..], 0)), want);
    assert_eq!(shape(x.index(s![coordinates, ..])), want);
    assert_eq!(shape(x.take(vec![1usize, 0, 1], 0)), want);
    assert_eq!(shape(x.take(vec![1i32, 0, -1], 0)), want);
    assert_eq!(shape(x.take(vec![1isize, 0, -1], 0)), want);
    assert_eq!(shape(x.take(vec![1i64, 0, -1], 0)), want);
    assert_eq!(shape(x.take(vec![1u32, 0, 1], 0)), want);
    assert_eq!(shape(x.take([1, 0, -1], 0)), want);
    assert_eq!(shape(x.take([1, 0, -1], 0)), want);
    assert_eq!(shape(x.take(tensor![1u8, 0, 1], 0)), want);
    assert_eq!(shape(x.take(tensor![1i16, 0, -1], 0)), want);
    assert_eq!(shape(x.index_select(tensor![1u64, 0, 1], 0)), want);
    assert_eq!(shape(x.gather(&tensor![[[1i64], [0], [1]]], 0)), [1, 3, 1]);
    says(x.take(vec![u64::MAX], 0), &["take", "out of bounds"]);
}

/// Methods that were one with a flag do what each flag said.
#[test]
fn flags_are_names() {
    let x = tensor![2.0, f64::NAN, 1.0];
    assert_eq!(x.sort(0).unwrap().narrow(0..2, 0).unwrap().to_vec::<f64>().unwrap(), [1.0, 2.0]);
    assert_eq!(x.sort_descending(0).unwrap().narrow(1..3, 0).unwrap().to_vec::<f64>().unwrap(), [2.0, 1.0]);
    assert_eq!(x.argsort(0).unwrap().to_vec::<i64>().unwrap(), [2, 0, 1]);
    assert_eq!(x.argsort_descending(0).unwrap().to_vec::<i64>().unwrap(), [1, 0, 2]);
    assert_eq!(x.topk(1, 0).unwrap().1.to_vec::<i64>().unwrap(), [1]);
    assert_eq!(x.topk_smallest(1, 0).unwrap().1.to_vec::<i64>().unwrap(), [2]);
    assert!(!x.equal(&x).unwrap() && x.equal_nan(&x).unwrap());
    assert!(!x.allclose(&x, 0.0, 0.0).unwrap() && x.allclose_nan(&x, 0.0, 0.0).unwrap());
    assert_eq!(x.isclose(&x, 0.0, 0.0).unwrap().to_vec::<bool>().unwrap(), [true, false, true]);
    assert_eq!(x.isclose_nan(&x, 0.0, 0.0).unwrap().to_vec::<bool>().unwrap(), [true; 3]);
    let sorted = tensor![1, 2, 2, 3];
    assert_eq!(sorted.searchsorted(&tensor![2]).unwrap().to_vec::<i64>().unwrap(), [1]);
    assert_eq!(sorted.searchsorted_right(&tensor![2]).unwrap().to_vec::<i64>().unwrap(), [3]);
    let y = tensor![1, 2, 3];
    assert_eq!(y.index_put(s![[0, 0]], tensor![5, 7]).unwrap().to_vec::<i32>().unwrap(), [7, 2, 3]);
    assert_eq!(y.index_add(s![[0, 0]], tensor![5, 7]).unwrap().to_vec::<i32>().unwrap(), [13, 2, 3]);
    assert_eq!(y.scatter(&tensor![0, 0], tensor![5, 7], 0).unwrap().to_vec::<i32>().unwrap(), [7, 2, 3]);
    let most = y.scatter_reduce(&tensor![0, 2], tensor![5, 1], ReduceOp::Max, 0).unwrap();
    assert_eq!(most.to_vec::<i32>().unwrap(), [5, 2, 3]);
}
