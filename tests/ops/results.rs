//! The layout of what reductions and products give: it depends on the shape of the result, on how much is stored and on whether
//! the fill is defined, never on the layout of the operand or on the axes.

use openwork::{DType, Fill, Layout, ReduceOp, Result, Tensor, with_densify_budget};

const LAYOUTS: [Layout; 7] = [
    Layout::Coo,
    Layout::HybridCoo { dense_dims: 1 },
    Layout::Csr,
    Layout::Csc,
    Layout::Dcsr,
    Layout::Dcsc,
    Layout::Bsr { block: [2, 3] },
];

/// Every reduction of a tensor over an axis.
fn reductions(x: &Tensor, axis: isize) -> Result<Vec<(&'static str, Tensor)>> {
    let mut all = vec![
        ("argmax", x.argmax(axis)?),
        ("median", x.median(axis)?),
        ("quantile", x.quantile(0.25, axis)?),
        ("mode", x.mode(axis)?),
        ("var", x.var(0.0, axis)?),
        ("vector_norm", x.vector_norm(2.0, axis)?),
        ("nansum", x.nansum(axis)?),
        ("nanmean", x.nanmean(axis)?),
        ("logsumexp", x.logsumexp(axis)?),
        ("reduce_with", x.reduce_with(0.0, |a: f64, b| a + b, axis)?),
    ];
    for &op in ReduceOp::ALL {
        all.push((op.name(), x.reduce(op, axis)?));
    }
    Ok(all)
}

#[test]
fn few_results_are_strided_in_every_layout_and_along_every_axis() {
    let x = Tensor::random([6, 12], 0.3, 0.0, Layout::Csr, 3).unwrap();
    for axis in [0, 1] {
        let want = reductions(&x.to_dense().unwrap(), axis).unwrap();
        for layout in LAYOUTS {
            let x = x.to_layout(layout).unwrap();
            // Nothing that needs a budget.
            let got = with_densify_budget(0, || reductions(&x, axis)).unwrap();
            for ((name, got), (_, want)) in got.iter().zip(&want) {
                assert!(got.is_strided(), "{name} of {layout} along {axis}: {}", got.layout());
                let near = got.allclose(want, 1e-12, 1e-12).unwrap();
                assert!(near, "{name} of {layout} along {axis}: {got} is not {want}");
            }
        }
    }
}

#[test]
fn zeros_of_both_signs_sum_to_the_same_in_every_layout() {
    let values = Tensor::from_vec([3], vec![-0.0, 1.5, -1.5]).unwrap();
    let x = Tensor::coo([4, 4], vec![vec![0u64, 1, 2], vec![1u64, 2, 2]], &values, 0.0).unwrap();
    for layout in [Layout::Coo, Layout::Csr, Layout::Csc, Layout::Dcsr] {
        let x = x.to_layout(layout).unwrap();
        for axis in [0, 1] {
            let bits: Vec<u64> = x.sum(axis).unwrap().values::<f64>().unwrap().iter().map(|v| v.to_bits()).collect();
            let want: Vec<f64> = if axis == 0 { vec![0.0; 4] } else { vec![0.0, 1.5, -1.5, 0.0] };
            assert_eq!(bits, want.iter().map(|v| v.to_bits()).collect::<Vec<_>>(), "{layout} along {axis}");
        }
    }
}

#[test]
fn many_results_over_little_that_is_stored_are_sparse() {
    let values = Tensor::from_vec([3], vec![2.0, -1.0, 4.0]).unwrap();
    let column = |n: usize| Tensor::coo([n, 3], vec![vec![0u64, 7, 7], vec![1u64, 0, 2]], &values, 0.0).unwrap();
    for (n, strided) in [(1 << 16, true), ((1 << 16) + 1, false)] {
        for layout in [Layout::Coo, Layout::Csr, Layout::Csc, Layout::Dcsr] {
            let x = column(n).to_layout(layout).unwrap();
            for (name, out) in reductions(&x, 1).unwrap() {
                assert_eq!(out.is_strided(), strided, "{name} of {n} rows in {layout}");
                assert!(strided || out.nse() == 2, "{name} in {layout} stores {}", out.nse());
            }
            assert_eq!(x.sum(1).unwrap().get([7]).unwrap(), Some(3.0.into()));
            assert!(x.sum(0).unwrap().is_strided() && x.sum(..).unwrap().is_strided());
        }
    }
    // Four for each stored element.
    let n = 1 << 17;
    for (stored, strided) in [(n / 4, true), (n / 4 - 1, false)] {
        let rows: Vec<u64> = (0..stored as u64).collect();
        let ones = Tensor::full([stored], 1.0, Layout::Strided).unwrap();
        let x = Tensor::coo([n, 2], vec![rows, vec![1; stored]], &ones, 0.0).unwrap();
        for layout in [Layout::Coo, Layout::Csr, Layout::Csc] {
            let x = x.to_layout(layout).unwrap();
            assert_eq!(x.sum(1).unwrap().is_strided(), strided, "{stored} in {layout}");
            assert_eq!(x.max(1).unwrap().sum(..).unwrap().item().unwrap(), (stored as f64).into());
        }
    }
    // An axis that no memory holds.
    let long = column(1 << 40);
    for (name, out) in reductions(&long, 1).unwrap() {
        assert_eq!((out.shape(), out.layout(), out.nse()), (&[1 << 40][..], Layout::Coo, 2), "{name}");
    }
}

#[test]
fn products_along_an_axis_that_no_memory_holds_are_lists() {
    const N: usize = 1 << 40;
    let long = |at: Vec<u64>, columns: Vec<u64>| {
        let values = Tensor::from_vec([at.len()], (1..=at.len()).map(|i| i as f64).collect()).unwrap();
        Tensor::coo([N, 3], vec![at, columns], &values, 0.0).unwrap()
    };
    let last = N as u64 - 1;
    let (x, y) = (long(vec![0, 7, last], vec![1, 2, 0]), long(vec![0, 7], vec![1, 0]));
    let (v, w) = (x.sum(1).unwrap(), long(vec![5], vec![2]).sum(1).unwrap());
    let few = Tensor::coo([4, 3], vec![vec![1u64], vec![2]], &Tensor::from(vec![5.0]), 0.0).unwrap();
    let cases = [
        ("vecdot", x.vecdot(&y, -1), vec![N], 1, 1.0),
        ("outer tensordot", v.tensordot(&w, 0), vec![N, N], 3, 6.0),
        ("outer einsum", openwork::einsum("i,j->ij", &[&v, &w]), vec![N, N], 3, 6.0),
        ("khatri_rao", x.khatri_rao(&few), vec![4 * N, 3], 1, 10.0),
        ("matmul", x.expand_dims(1).unwrap().matmul(&y.expand_dims(2).unwrap()), vec![N, 1, 1], 1, 1.0),
    ];
    for (name, out, shape, stored, sum) in cases {
        let out = out.unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!((out.shape(), out.nse()), (&shape[..], stored), "{name}");
        assert_eq!(out.sum(..).unwrap().item().unwrap(), sum.into(), "{name}");
    }
}

#[test]
fn a_fill_that_varies_follows_the_rule() {
    let x = Tensor::random([6, 12], 0.3, 0.0, Layout::Coo, 3).unwrap();
    let fill = Fill::array(Tensor::arange(0.0, 12.0, 1.0).unwrap());
    for layout in LAYOUTS {
        let x = x.to_layout(layout).unwrap().replace_fill(fill.clone()).unwrap();
        let dense = x.to_dense().unwrap();
        for axis in [0, 1] {
            for op in [ReduceOp::Sum, ReduceOp::Mean, ReduceOp::Max, ReduceOp::Any, ReduceOp::CountNonzero] {
                let out = with_densify_budget(0, || x.reduce(op, axis)).unwrap();
                assert!(out.is_strided(), "{} of {layout} along {axis}", op.name());
                assert!(out.allclose(&dense.reduce(op, axis).unwrap(), 1e-12, 1e-12).unwrap());
            }
        }
    }
}

#[test]
fn an_undefined_fill_stays_one_and_is_dense_when_asked_if_nothing_is_absent() {
    let values = Tensor::from_vec([3], vec![2.0, -1.0, 4.0]).unwrap();
    let x = Tensor::coo([2, 3], vec![vec![0u64, 1, 1], vec![1u64, 0, 1]], &values, Fill::Undefined).unwrap();
    for layout in [Layout::Coo, Layout::Csr, Layout::Csc] {
        let x = x.to_layout(layout).unwrap();
        let (rows, columns) = (x.sum(1).unwrap(), x.sum(0).unwrap());
        assert!(rows.fill().unwrap().is_undefined() && columns.fill().unwrap().is_undefined());
        assert_eq!(rows.to_dense().unwrap().values::<f64>().unwrap(), [2.0, 3.0]);
        let e = columns.to_dense().unwrap_err().to_string();
        assert!(e.contains("to_dense_with") && e.contains("1 of 3 are absent"), "{e}");
        assert_eq!(x.count_nonzero(0).unwrap().values::<i64>().unwrap(), [1, 2, 0]);
    }
    // Duplicates are one element.
    let twice = Tensor::coo([2], vec![vec![1u64, 1]], &values.narrow(0..2, 0).unwrap(), Fill::Undefined).unwrap();
    assert!(twice.to_dense().is_err());
}

#[test]
fn a_product_that_misses_no_row_is_strided() {
    let values = Tensor::from_vec([2], vec![2.0, -1.0]).unwrap();
    let whole = Tensor::coo([2, 3], vec![vec![0u64, 1], vec![1u64, 0]], &values, Fill::Undefined).unwrap();
    let y = Tensor::from_vec([3, 2], (0..6).map(f64::from).collect()).unwrap();
    for layout in [Layout::Coo, Layout::Csr, Layout::Csc] {
        let x = whole.to_layout(layout).unwrap();
        let out = x.matmul(&y).unwrap();
        assert!(out.is_strided(), "{layout}: {}", out.layout());
        assert_eq!(out.values::<f64>().unwrap(), [4.0, 6.0, -0.0, -1.0]);
        let mirrored = y.matrix_transpose().unwrap().matmul(&x.matrix_transpose().unwrap()).unwrap();
        assert!(mirrored.is_strided(), "{layout}: {}", mirrored.layout());
    }
    // A row without elements has no product.
    let one = values.narrow(0..1, 0).unwrap();
    let x = Tensor::coo([2, 3], vec![vec![1u64], vec![2u64]], &one, Fill::Undefined).unwrap();
    let out = x.matmul(&y).unwrap();
    assert!(out.fill().is_some_and(|f| f.is_undefined()) && out.get([0, 0]).unwrap().is_none());
    assert_eq!(out.get([1, 1]).unwrap(), Some(10.0.into()));
}

#[test]
fn means_of_products_are_there_where_neither_sums_nor_counts_are() {
    // A sum of 280000 and a count of 70000, which float16 does not hold.
    let two = Tensor::full([1, 70_000], 2.0, Layout::Strided).unwrap().cast(DType::F16).unwrap();
    let out = two.matmul_reduce(&two.t().unwrap(), ReduceOp::Mean).unwrap();
    assert_eq!((out.dtype(), out.item_as::<f64>().unwrap()), (DType::F16, 4.0));
    // A count of 300, which int8 does not hold.
    let ones = Tensor::full([1, 300], 1i8, Layout::Strided).unwrap();
    let ways = ones.to_sparse(Layout::Csr, 0i8).unwrap().stored();
    let out = ways.matmul_reduce(&ones.t().unwrap(), ReduceOp::Mean).unwrap();
    assert_eq!((out.dtype(), out.get([0, 0]).unwrap()), (DType::F32, Some(1f32.into())));
}
