//! The family of matrix products.

use openwork::{ReduceOp, Tensor};

use super::{Op, op};

pub fn ops() -> Vec<Op> {
    let mut out = vec![
        op("matmul", |x| x.a.matmul(&x.c), |t| t.a.f_matmul(&t.c)),
        op("matmul(strided)", |x| x.a.matmul(&x.d), |t| t.a.f_matmul(&t.d)),
        op("strided.matmul", |x| x.d.matmul(&x.a), |t| t.d.f_matmul(&t.a)),
        op("mm", |x| x.a.mm(&x.c), |t| t.a.f_mm(&t.c)),
        op("mv", |x| x.a.mv(&x.v), |t| t.a.f_mv(&t.v)),
        op("matmul(transposed)", |x| x.a.matmul(&x.b.t()?), |t| t.a.f_matmul(&t.b.f_transpose(0, 1)?)),
        op(
            "bmm",
            |x| x.a.expand_dims(0)?.bmm(&x.c.expand_dims(0)?),
            |t| t.a.f_unsqueeze(0)?.f_bmm(&t.c.f_unsqueeze(0)?),
        ),
        op(
            "bmm(strided)",
            |x| x.a.expand_dims(0)?.bmm(&x.d.expand_dims(0)?),
            |t| t.a.f_unsqueeze(0)?.f_bmm(&t.d.f_unsqueeze(0)?),
        ),
        op("addmm", |x| x.a.addmm(&x.b, &x.c.matmul(&x.a)?, 1, 1), |t| t.a.f_addmm(&t.b, &t.c.f_matmul(&t.a)?)),
        op(
            "addmm(strided)",
            |x| x.d.addmm(&x.c, &x.d.matmul(&x.a)?.narrow(0..6, 0)?.narrow(0..6, 1)?, 1, 1),
            |t| t.d.f_addmm(&t.c, &t.d.f_matmul(&t.a)?.f_narrow(0, 0, 6)?.f_narrow(1, 0, 6)?),
        ),
        op("kron", |x| x.a.kron(&x.c), |t| t.a.f_kron(&t.c)),
        op("tensordot", |x| x.a.tensordot(&x.c, 1), |t| t.a.f_tensordot(&t.c, 1, 0)),
        op(
            "einsum",
            |x| openwork::einsum("ij,jk->ki", &[&x.a, &x.c]),
            |t| tch::Tensor::f_einsum("ij,jk->ki", &[&t.a, &t.c], None::<i64>),
        ),
        op("matrix_power(2)", |x| x.a.matmul(&x.c)?.matrix_power(2), |t| t.a.f_matmul(&t.c)?.f_matrix_power(2)),
        op("outer", |x| first(&x.a)?.outer(&first(&x.b)?), |t| t.a.f_select(0, 0)?.f_outer(&t.b.f_select(0, 0)?)),
        op(
            "dot",
            |x| first(&x.a)?.dot(&first(&x.b)?).map(Tensor::scalar),
            |t| t.a.f_select(0, 0)?.f_dot(&t.b.f_select(0, 0)?),
        ),
        op(
            "vdot",
            |x| first(&x.a)?.vdot(&first(&x.b)?).map(Tensor::scalar),
            |t| t.a.f_select(0, 0)?.f_vdot(&t.b.f_select(0, 0)?),
        ),
    ];
    // torch.sparse.mm(a, d, reduce): over what is stored alone.
    out.push(Op {
        theirs_sparse: Some(|t| tch::Tensor::f_internal_sparse_mm_reduce(&t.a, &t.d, "sum")),
        ..op("sparse.mm(reduce = sum)", |x| x.a.matmul_reduce(&x.d, ReduceOp::Sum), |t| t.a.f_matmul(&t.d))
    });
    out
}

fn first(x: &Tensor) -> openwork::Result<Tensor> {
    x.narrow(0..1, 0)?.squeeze(0)
}
