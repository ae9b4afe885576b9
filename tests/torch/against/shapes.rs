//! Shape, indexing, conversions.

use openwork::{DType, Layout, Tensor, s};
use tch::{Kind, Tensor as Torch};

use super::{Op, op};

fn rows() -> Torch {
    Torch::from_slice(&[3i64, 0, 3])
}

fn places() -> Torch {
    Torch::from_slice2(&[[0i64, 2], [1, 1], [7, 0], [3, 3], [4, 5], [6, 6]])
}

fn our_places() -> openwork::Result<Tensor> {
    Tensor::from_vec([6, 2], vec![0i64, 2, 1, 1, 7, 0, 3, 3, 4, 5, 6, 6])
}

pub fn ops() -> Vec<Op> {
    vec![
        op("transpose", |x| x.a.t(), |t| t.a.f_transpose(0, 1)),
        op("permute", |x| x.a.permute_dims([1, 0]), |t| t.a.f_permute([1, 0])),
        op("movedim", |x| x.a.moveaxis(0, 1), |t| t.a.f_movedim(0, 1)),
        op("reshape", |x| x.a.reshape([4, 12]), |t| t.a.f_reshape([4, 12])),
        op("flatten", |x| x.a.flatten(), |t| t.a.f_flatten(0, -1)),
        op("unsqueeze", |x| x.a.expand_dims(0), |t| t.a.f_unsqueeze(0)),
        op("unsqueeze(-1)", |x| x.a.expand_dims(-1), |t| t.a.f_unsqueeze(-1)),
        op("expand", |x| x.a.broadcast_to([2, 6, 8]), |t| t.a.f_expand([2, 6, 8], false)),
        op("flip", |x| x.a.flip(0), |t| t.a.f_flip([0])),
        op("roll", |x| x.a.roll([2], 1), |t| t.a.f_roll(2, 1)),
        op("tile", |x| x.a.tile([2, 1]), |t| t.a.f_tile([2, 1])),
        op("tril", |x| x.a.tril(1), |t| t.a.f_tril(1)),
        op("triu", |x| x.a.triu(-1), |t| t.a.f_triu(-1)),
        op("diagonal", |x| x.a.diagonal(1, 0, 1), |t| t.a.f_diagonal(1, 0, 1)),
        op("pad", |x| x.a.pad(&[(1, 2), (0, 1)], 0), |t| t.a.f_constant_pad_nd([0, 1, 1, 2])),
        op("cat(0)", |x| Tensor::concat(&[&x.a, &x.b], 0), |t| Torch::f_cat(&[&t.a, &t.b], 0)),
        op("cat(1)", |x| Tensor::concat(&[&x.a, &x.b], 1), |t| Torch::f_cat(&[&t.a, &t.b], 1)),
        op("stack", |x| Tensor::stack(&[&x.a, &x.b], 0), |t| Torch::f_stack(&[&t.a, &t.b], 0)),
        op("block_diag", |x| Tensor::block_diag(&[&x.a, &x.c]), |t| Torch::f_block_diag(&[&t.a, &t.c])),
        op("select(0)", |x| x.a.narrow(2..3, 0)?.squeeze(0), |t| t.a.f_select(0, 2)),
        op("select(1)", |x| x.a.narrow(5..6, 1)?.squeeze(1), |t| t.a.f_select(1, 5)),
        op("narrow(0)", |x| x.a.narrow(1..4, 0), |t| t.a.f_narrow(0, 1, 3)),
        op("narrow(1)", |x| x.a.narrow(2..7, 1), |t| t.a.f_narrow(1, 2, 5)),
        op("slice(step)", |x| x.a.slice(s![.., 1..;3]), |t| t.a.f_slice(1, 1, None::<i64>, 3)),
        op("index_select(0)", |x| x.a.index_select(vec![3, 0, 3], 0), |t| t.a.f_index_select(0, &rows())),
        op("index_select(1)", |x| x.a.index_select(vec![3, 0, 3], 1), |t| t.a.f_index_select(1, &rows())),
        op("gather", |x| x.a.gather(&our_places()?, 1), |t| t.a.f_gather(1, &places(), false)),
        op("take_along_dim", |x| x.a.take_along_axis(&our_places()?, 1), |t| t.a.f_take_along_dim(&places(), 1)),
        op("masked_select", |x| x.a.index(s![x.b.ne(0)?]), |t| t.a.f_masked_select(&t.b.f_ne(0)?)),
        op("masked_fill", |x| x.b.ne(0)?.where_(1, &x.a), |t| t.a.f_masked_fill(&t.b.f_ne(0)?, 1)),
        op("nonzero", |x| x.a.argwhere(), |t| t.a.f_nonzero()),
        op(
            "to_dense",
            |x| x.a.to_dense(),
            |t| match t.a.f_as_strided([0], [1], 0) {
                Ok(_) => t.a.f_alias(),
                Err(_) => t.a.f_to_dense(None::<Kind>, false),
            },
        ),
        op("to_sparse", |x| x.a.to_layout(Layout::Coo), |t| t.a.f_to_sparse(None, None::<i64>, None)),
        op("to_sparse_csr", |x| x.a.to_layout(Layout::Csr), |t| t.a.f_to_sparse_csr(None)),
        op("to_sparse_csc", |x| x.a.to_layout(Layout::Csc), |t| t.a.f_to_sparse_csc(None)),
        op("to_sparse_bsr", |x| x.a.to_layout(Layout::Bsr { block: [3, 2] }), |t| t.a.f_to_sparse_bsr([3, 2], None)),
        op("to_sparse_bsc", |x| x.a.to_layout(Layout::Bsc { block: [3, 2] }), |t| t.a.f_to_sparse_bsc([3, 2], None)),
        op("coalesce", |x| x.a.coalesce(), |t| if t.a.is_sparse() { t.a.f_coalesce() } else { t.a.f_alias() }),
        op(
            "to(float64)",
            |x| x.a.cast(if x.a.dtype().is_complex() { x.a.dtype() } else { DType::F64 }),
            |t| {
                let complex = matches!(t.a.f_kind()?, Kind::ComplexFloat | Kind::ComplexDouble);
                if complex { t.a.f_alias() } else { t.a.f_to_kind(Kind::Double) }
            },
        ),
        op("to(bool)", |x| x.a.ne(0), |t| t.a.f_to_kind(Kind::Bool)),
        op("zeros_like", |x| x.a.mul(0), |t| t.a.f_zeros_like()),
        op("ones_like", |x| x.a.mul(0)?.add(1), |t| t.a.f_ones_like()),
    ]
}
