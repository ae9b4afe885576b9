//! Axes of 2^40: what stores little costs little, and what memory cannot hold is an error that says so.

use crate::common::tensors::says;
use openwork::{DType, Fill, Layout, LevelKind, LevelSpec, Part, Tensor, with_densify_budget};

const FAR: usize = 1 << 40;

fn matrix(rows: usize, columns: usize) -> Tensor {
    let values = Tensor::from_vec([3], vec![1.0, 2.0, 3.0]).unwrap();
    Tensor::coo([rows, columns], vec![vec![0u64, 1, 2], vec![0, 2, 1]], &values, 0.0).unwrap()
}

/// Rows of values that are not there take no memory, however long they are.
#[test]
fn a_hybrid_that_stores_nothing() {
    let x = Tensor::zeros([3, FAR], DType::F64, Layout::HybridCoo { dense_dims: 1 }).unwrap();
    let deep = Tensor::zeros([3, FAR, FAR], DType::F64, Layout::HybridCoo { dense_dims: 2 }).unwrap();
    with_densify_budget(0, || {
        for x in [&x, &deep] {
            for layout in [Layout::Coo, Layout::Csf] {
                let y = x.to_layout(layout).unwrap();
                assert_eq!((y.nse(), y.shape()), (0, x.shape()));
            }
            assert_eq!(x.prune().unwrap().nse(), 0);
            assert_eq!(x.coalesce().unwrap().nse(), 0);
            assert!(x.to_string().contains("nse=0") && x.iter_stored().next().is_none());
        }
        for layout in [Layout::Csr, Layout::Dcsr, Layout::Dcsc] {
            assert_eq!(x.to_layout(layout).unwrap().nse(), 0);
        }
        assert_eq!(x.median(..).unwrap().item().unwrap(), 0.0.into());
        assert_eq!(x.to_layout(Layout::Dcsr).unwrap().to_layout(x.layout()).unwrap().nse(), 0);
        let running = Tensor::zeros([FAR], DType::F64, Layout::Coo).unwrap().cumulative_sum(0).unwrap();
        assert_eq!(running.median(..).unwrap().item().unwrap(), 0.0.into());
    });
}

/// A pointer per column of 2^40, and what to do instead.
#[test]
fn compressed_along_a_long_axis() {
    let wanted = ["to_layout", "1099511627776", "bytes", "fit in memory", "choose coo, dcsr or csf"];
    let x = matrix(3, FAR);
    let csr = x.to_layout(Layout::Csr).unwrap();
    for from in [&x, &csr, &x.to_layout(Layout::Dcsc).unwrap()] {
        says(from.to_layout(Layout::Csc), &wanted);
    }
    let csc = matrix(FAR, 3).to_layout(Layout::Csc).unwrap();
    says(csc.to_layout(Layout::Csr), &wanted);
    assert_eq!(csr.to_layout(Layout::Dcsc).unwrap().nse(), 3);
    says(Tensor::zeros([FAR, 3], DType::F64, Layout::Csr), &["zeros", "fit in memory", "choose coo"]);
    says(Tensor::empty([FAR, FAR, 3], DType::F64, Layout::Csr, Fill::Undefined), &["fit in memory", "choose coo"]);
    says(Tensor::eye(FAR, DType::Bool, Layout::Coo), &["eye", "fit in memory"]);
}

/// Whole rows of values that do not fit.
#[test]
fn rows_of_values_along_a_long_axis() {
    let x = matrix(FAR, FAR);
    let rows = says(x.to_layout(Layout::HybridCoo { dense_dims: 1 }), &["to_layout", "fit in memory", "choose coo"]);
    assert!(rows.to_string().contains("a row of 1099511627776 values for each of 3 stored coordinates"), "{rows}");
    let spec =
        LevelSpec { levels: vec![LevelKind::Sparse { rank: 1 }], dims: vec![(1, Part::Whole), (0, Part::Whole)] };
    says(x.to_levels(&spec), &["to_levels", "fit in memory"]);
    says(x.to_layout(Layout::Bsr { block: [1 << 20, 1 << 20] }), &["fit in memory"]);
    says(x.to_dense(), &["to_dense", "fit in memory", "choose a sparse layout"]);
}

/// Values that repeat take little memory; an index for each of them would not.
#[test]
fn elements_of_an_iso_tensor_one_by_one() {
    let row = Tensor::from_vec([1, 1], vec![2.0]).unwrap().broadcast_to([1, FAR]).unwrap();
    let x = Tensor::coo([3, FAR], vec![vec![1u64]], &row, 0.0).unwrap();
    assert_eq!(x.get([1, FAR - 1]).unwrap(), Some(2.0.into()));
    says(x.to_layout(Layout::Coo), &["to_layout", "an index of every stored element", "fit in memory"]);
    says(x.to_dense(), &["to_dense", "fit in memory"]);
    let all = Tensor::scalar(1.0).broadcast_to([FAR]).unwrap();
    says(all.to_layout(Layout::Coo), &["to_layout", "fit in memory"]);
    says(all.to_sparse(Layout::Coo, Fill::Undefined), &["to_sparse", "fit in memory"]);
}

/// A tensor for each of 2^40 indices.
#[test]
fn taken_apart_along_a_long_axis() {
    let wanted = ["unstack", "fit in memory", "index_select"];
    says(matrix(3, FAR).unstack(1), &wanted);
    says(matrix(3, FAR).to_layout(Layout::Csr).unwrap().unstack(1), &wanted);
    says(matrix(FAR, 3).to_layout(Layout::Csc).unwrap().unstack(0), &wanted);
    says(Tensor::zeros([FAR, 0], DType::F64, Layout::Strided).unwrap().unstack(0), &wanted);
    assert_eq!(matrix(3, FAR).unstack(0).unwrap().len(), 3);
}

/// Numbers that are drawn are as many as the density says.
#[test]
fn drawn_at_random() {
    let wanted = ["random", "fit in memory", "density"];
    says(Tensor::random([FAR, 1 << 20], 0.5, 0.0, Layout::Coo, 1), &wanted);
    says(Tensor::random([FAR, 1 << 20], 0.1, 0.0, Layout::Coo, 1), &wanted);
    assert_eq!(Tensor::random([FAR, 1 << 20], 1e-17, 0.0, Layout::Coo, 1).unwrap().nse(), 12);
}
