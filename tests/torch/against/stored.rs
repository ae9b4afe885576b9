//! Functions of libtorch's over what is stored alone: what is not stored counts as −∞ to its softmax of sparse tensors,
//! and as nothing to its sampled products. Ours: tensors with undefined fill, and masks.

use openwork::{DType, Fill, Layout, ReduceOp, Tensor};
use tch::Tensor as Torch;

use super::{AS_IS, beside, numbers, same};

/// The layouts, and the tensors of ours.
fn operands(dtype: DType) -> (Vec<Tensor>, Tensor, Tensor) {
    let x = numbers([6, 8], dtype, 21).prune().unwrap();
    let layouts = [Layout::Coo, Layout::Csr, Layout::Csc, Layout::HybridCoo { dense_dims: 0 }];
    let all = layouts.map(|layout| x.to_layout(layout).unwrap()).to_vec();
    (all, numbers([6, 5], dtype, 22).to_dense().unwrap(), numbers([5, 8], dtype, 23).to_dense().unwrap())
}

fn zeroed(x: &Tensor) -> Tensor {
    x.replace_fill(openwork::Scalar::zero(x.dtype())).unwrap().to_dense().unwrap()
}

#[test]
fn softmax_over_what_is_stored() {
    let _beside = beside();
    let mut compared = 0;
    for dtype in [DType::F32, DType::F64] {
        let (all, ..) = operands(dtype);
        // libtorch has it for COO alone; ours on every layout gives the same.
        let t = all[0].to_torch().unwrap();
        for axis in [0, 1] {
            let softmax = t.internal_sparse_softmax_int(axis, AS_IS);
            let log_softmax = t.internal_sparse_log_softmax_int(axis, AS_IS);
            let axis = isize::try_from(axis).unwrap();
            for x in &all {
                for (ours, theirs) in [
                    (x.stored().softmax(axis).unwrap(), &softmax),
                    (x.stored().log_softmax(axis).unwrap(), &log_softmax),
                ] {
                    let theirs = Tensor::from_torch(theirs, Fill::Undefined).unwrap();
                    assert_eq!(ours.nse(), theirs.nse());
                    same(&zeroed(&ours), &zeroed(&theirs)).unwrap();
                    compared += 1;
                }
            }
        }
    }
    assert_eq!(compared, 32);
}

#[test]
fn products_sampled_where_something_is_stored() {
    let _beside = beside();
    for dtype in [DType::F32, DType::F64, DType::Complex64, DType::Complex128] {
        let (all, p, q) = operands(dtype);
        let (tp, tq) = (p.to_torch().unwrap(), q.to_torch().unwrap());
        let theirs = all[1].to_torch().unwrap().f_sparse_sampled_addmm(&tp, &tq);
        let theirs = theirs.map_or_else(
            // This build has no MKL, which the function needs: the same by strided products.
            |_| {
                let t = all[0].to_dense().unwrap().to_torch().unwrap();
                let sum = t.f_add(&tp.matmul(&tq)).unwrap();
                Tensor::from_torch(&sum.where_self(&t.ne(0), &t), 0.0).unwrap()
            },
            |t| Tensor::from_torch(&t, openwork::Scalar::zero(dtype)).unwrap().to_dense().unwrap(),
        );
        for x in &all {
            let ours = x.sampled_addmm(&p, &q, 1, 1).unwrap();
            assert_eq!(ours.nse(), x.nse());
            same(&zeroed(&ours), &theirs).unwrap();
        }
    }
}

#[test]
fn products_reduced_over_what_is_stored() {
    let _beside = beside();
    let mut compared = 0;
    for dtype in [DType::F32, DType::F64] {
        let (all, ..) = operands(dtype);
        let d = numbers([8, 4], dtype, 24).to_dense().unwrap();
        let t = all[1].to_torch().unwrap();
        for (name, op) in
            [("sum", ReduceOp::Sum), ("mean", ReduceOp::Mean), ("amax", ReduceOp::Max), ("amin", ReduceOp::Min)]
        {
            let Ok(theirs) = Torch::f_internal_sparse_mm_reduce(&t, &d.to_torch().unwrap(), name) else { continue };
            let theirs = Tensor::from_torch(&theirs, 0.0).unwrap();
            for x in &all {
                let ours = x.stored().matmul_reduce(&d, op).unwrap();
                // A row that stores nothing is absent here, and 0 there.
                let ours = if ours.is_strided() { ours } else { zeroed(&ours) };
                same(&ours, &theirs).unwrap_or_else(|e| panic!("{name} of {dtype}: {e}"));
                compared += 1;
            }
        }
    }
    assert!(compared >= 8, "{compared}");
}
