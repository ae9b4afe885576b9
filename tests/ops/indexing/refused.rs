//! Wrong arguments: each error names the op, the argument, what was given and what is allowed.

use super::*;

fn every() -> Vec<Tensor> {
    let layouts = [Layout::Coo, Layout::Csr, Layout::HybridCoo { dense_dims: 1 }, Layout::Bsr { block: [2, 2] }];
    layouts.into_iter().map(sparse).chain([iota(&[6, 8])]).collect()
}

#[test]
fn indices_out_of_bounds() {
    for x in every() {
        says(x.slice(s![6]), &["slice", "`indices`", "6 is out of bounds", "axis 0 of size 6", "-6..=5"]);
        says(x.slice(s![0, -9]), &["slice", "-9", "axis 1 of size 8"]);
        says(x.slice(s![.., 3..9]), &["slice", "3..9", "axis 1 of size 8", "0 to 8"]);
        says(x.slice(s![4..2]), &["slice", "4..2"]);
        says(x.slice(s![..;0]), &["slice", "step of 0"]);
        says(x.slice(s![0, 0, 0]), &["slice", "3 axes are indexed", "2"]);
        says(x.slice(s![Ellipsis, Ellipsis]), &["slice", "ellipsis"]);
        says(x.index(s![[0, 9]]), &["index", "9 is out of bounds", "-6..=5"]);
        says(x.index_select([8], 1), &["index_select", "8", "axis 1 of size 8"]);
        says(x.take([48], ..), &["take", "48", "size 48"]);
        says(x.delete([6], 0), &["delete", "6"]);
        let far = Tensor::from_vec([1, 1], vec![7i64]).unwrap();
        says(x.gather(&far, 0), &["gather", "7", "axis 0 of size 6"]);
        says(x.scatter(&far, 1.0, 0), &["scatter", "7"]);
        says(x.index_put(s![[9]], 1.0), &["index_put", "9"]);
    }
    let none = Tensor::zeros([0, 3], DType::F64, Layout::Coo).unwrap();
    says(none.slice(s![0]), &["size 0", "no index"]);
    // Repeated no times along an axis of size 0, an index is looked at all the same.
    let wide = Tensor::zeros([2, 0], DType::F64, Layout::Coo).unwrap();
    let far = Tensor::from_vec([1, 1], vec![2i64]).unwrap();
    says(wide.take_along_axis(&far, 0), &["take_along_axis", "2 is out of bounds", "axis 0 of size 2"]);
    let huge = Tensor::from_vec([1], vec![u64::MAX]).unwrap();
    says(iota(&[3]).index(s![huge]), &["18446744073709551615", "out of bounds"]);
}

#[test]
fn lists_and_masks_that_do_not_suit() {
    for x in every() {
        says(x.slice(s![[1, 2]]), &["slice", "list or mask", "index takes all"]);
        says(x.slice_assign(s![[1, 2]], 1.0), &["slice_assign", "list or mask"]);
        says(x.index(s![[1, 2], [0, 1, 2]]), &["index", "[2]", "[3]", "broadcast"]);
        let masks = [6, 8].map(|n| Tensor::from_vec([n], (0..n).map(|i| i < n / 2).collect::<Vec<bool>>()).unwrap());
        says(x.index(s![&masks[0], &masks[1]]), &["index", "[3]", "[4]", "broadcast", "two calls", "s![.., columns]"]);
        assert_eq!(x.index(s![&masks[0]]).unwrap().index(s![.., &masks[1]]).unwrap().shape(), [3, 4]);
        says(x.index(s![vec![0i64; 1], Tensor::from_vec([1], vec![0.5]).unwrap()]), &["index", "float64", "integers"]);
        let mask = |shape: &[usize]| Tensor::full(shape, true, Layout::Strided).unwrap();
        says(x.index(s![mask(&[5])]), &["index", "[5]", "[6]", "mask"]);
        says(x.index(s![mask(&[8, 6])]), &["index", "[8, 6]", "[6, 8]"]);
        says(x.index(s![mask(&[])]), &["index", "mask"]);
        says(x.index_select(mask(&[6]), 0), &["index_select", "integers"]);
        says(x.index_select(Tensor::from_vec([1, 1], vec![0i32]).unwrap(), 0), &["index_select", "[1, 1]", "vector"]);
    }
}

#[test]
fn axes() {
    for x in every() {
        says(x.flip(2), &["flip", "axis 2", "-2..=1"]);
        says(x.flip([0, -2]), &["flip", "twice"]);
        says(Tensor::concat(&[&x, &x], 2), &["concat", "axis 2"]);
        says(Tensor::stack(&[&x, &x], 3), &["stack", "axis 3"]);
        says(x.roll([1], 2), &["roll", "axis 2"]);
        says(x.roll([1, 2], 0), &["roll", "`shifts`", "2 are given for 1"]);
        says(x.roll([1, 2], ..), &["roll", "one is needed"]);
        says(x.diagonal(0, 1, -1), &["diagonal", "twice"]);
        says(x.diagonal(0, 0, 2), &["diagonal", "axis 2"]);
        says(x.moveaxis([0], [0, 1]), &["moveaxis", "`destination`"]);
        says(x.moveaxis([0, 0], [0, 1]), &["moveaxis", "twice"]);
        says(x.swapaxes(0, 2), &["swapaxes", "axis 2"]);
        says(x.unstack(-3), &["unstack", "axis -3"]);
        says(x.repeat([1], 2), &["repeat", "axis 2"]);
        says(x.index_select([0], 2), &["index_select", "axis 2"]);
        says(x.take_along_axis(&x, 2), &["take_along_axis", "axis 2"]);
    }
    let v = sparse(Layout::Coo).slice(s![0]).unwrap();
    says(v.tril(0), &["tril", "[8]", "two axes"]);
    says(Tensor::stack(&[&v, &v], 0).unwrap().expand_dims(0).unwrap().diag(0), &["diag", "[1, 2, 8]"]);
    says(Tensor::scalar(1.0).nonzero(), &["nonzero", "axis"]);
}

#[test]
fn shapes_and_counts() {
    let none: &[&Tensor] = &[];
    says(Tensor::concat(none, 0), &["concat", "`tensors`"]);
    says(Tensor::stack(none, 0), &["stack", "`tensors`"]);
    says(Tensor::block_diag(none), &["block_diag", "`tensors`"]);
    for x in every() {
        says(Tensor::concat(&[&x, &iota(&[5, 8])], 1), &["concat", "[6, 8]", "[5, 8]", "axis 1"]);
        says(Tensor::concat(&[&x, &iota(&[6])], 0), &["concat", "[6]"]);
        says(Tensor::stack(&[&x, &iota(&[6, 7])], 0), &["stack", "[6, 7]", "equal"]);
        let cube = x.expand_dims(0).unwrap();
        says(Tensor::block_diag(&[&cube]), &["block_diag", "[1, 6, 8]", "two axes"]);
        says(x.split([2, 3], 0), &["split", "`sizes`", "[2, 3]", "6"]);
        says(x.tensor_split([3, 2], 0), &["tensor_split", "`indices`", "[3, 2]"]);
        says(x.tensor_split([7], 0), &["tensor_split", "[7]", "6"]);
        says(x.repeat([1, 2], 0), &["repeat", "`repeats`", "2 counts", "size 6"]);
        says(x.repeat([usize::MAX], 0), &["repeat", "exceeds"]);
        says(x.pad(&[(1, 1)], 0.0), &["pad", "`widths`", "1 pairs", "2 axes"]);
        says(x.pad(&[(6, 0), (0, 0)], Pad::Reflect), &["pad", "(6, 0)", "axis 0 of size 6", "at least 7"]);
        says(x.pad(&[(0, 0), (0, 9)], Pad::Wrap), &["pad", "axis 1 of size 8", "at least 9"]);
        says(x.pad(&[(usize::MAX, 0), (0, 0)], 0.0), &["pad", "exceed"]);
        let small = Tensor::from_vec([1, 9], vec![0i64; 9]).unwrap();
        says(x.gather(&small, 0), &["gather", "[6, 8]", "[1, 9]", "axis 0"]);
        says(x.gather(&Tensor::from_vec([1], vec![0i64]).unwrap(), 0), &["gather", "as many axes"]);
        let index = Tensor::from_vec([1, 2], vec![0i64, 1]).unwrap();
        says(x.scatter(&index, iota(&[2, 2]), 0), &["scatter", "[1, 2]", "[2, 2]", "src"]);
        says(x.scatter_reduce(&index, 1.0, ReduceOp::Mean, 0), &["scatter", "`reduce`", "mean", "sum, prod, min, max"]);
        says(x.slice_assign(s![0], iota(&[7])), &["slice_assign", "[7]", "[8]", "broadcast"]);
        says(x.slice_assign(s![0], iota(&[2, 8])), &["slice_assign", "[2, 8]", "[8]"]);
        says(x.index_put(s![[0, 1]], iota(&[3, 8])), &["index_put", "[3, 8]", "[2, 8]"]);
    }
}

#[test]
fn dtypes_and_absence() {
    let ints = Tensor::zeros([4], DType::I32, Layout::Coo).unwrap();
    says(ints.slice_assign(s![1], 0.5), &["slice_assign", "0.5", "int32"]);
    says(ints.index_put(s![[1]], iota(&[1])), &["index_put", "int32", "float64", "cast"]);
    says(ints.pad(&[(1, 0)], 0.5), &["pad", "0.5", "int32"]);
    let unsigned = Tensor::zeros([4], DType::U64, Layout::Coo).unwrap();
    says(Tensor::concat(&[&ints, &unsigned], 0), &["concat", "int32", "uint64"]);
    let absent = Tensor::empty([], DType::I32, Layout::Coo, Fill::Undefined).unwrap();
    says(ints.slice_assign(s![1], &absent), &["slice_assign", "absent", "undefined"]);
    says(ints.index_put(s![[1, 2]], &absent), &["index_put", "absent"]);
    says(iota(&[3]).unset(s![0]), &["unset", "strided", "to_sparse"]);
    // Without a budget nothing becomes dense.
    with_densify_budget(0, || {
        let ones = Tensor::full([3, 3], Scalar::F64(1.0), Layout::Csr).unwrap();
        for e in [says(ones.tril(0), &["tril", "fill 1"]), says(ones.argwhere(), &["argwhere", "fill 1"])] {
            assert!(matches!(e.kind(), ErrorKind::Densify { .. }), "{e}");
        }
    });
}
