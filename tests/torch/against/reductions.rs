//! Reductions, softmax and its kin, scans, order.

use openwork::{Tensor, keep};
use tch::Tensor as Torch;

use super::{AS_IS, Op, op};

/// Along rows, along columns, all.
macro_rules! reduced {
    ($($name:literal: |$x:ident, $axes:ident| $ours:expr, |$t:ident, $dim:ident| $theirs:expr;)*) => {
        vec![$(
            op(concat!($name, "(0)"), |x| { let ($x, $axes) = (&x.a, 0); $ours }, |t| { let ($t, $dim) = (&t.a, 0i64); $theirs }),
            op(concat!($name, "(1)"), |x| { let ($x, $axes) = (&x.a, 1); $ours }, |t| { let ($t, $dim) = (&t.a, 1i64); $theirs }),
        )*]
    };
}

pub fn ops() -> Vec<Op> {
    let mut out = reduced! {
        "sum": |x, axes| x.sum(axes), |t, dim| t.f_sum_dim_intlist(dim, false, AS_IS);
        "mean": |x, axes| x.mean(axes), |t, dim| t.f_mean_dim(dim, false, AS_IS);
        "prod": |x, axes| x.prod(axes), |t, dim| t.f_prod_dim_int(dim, false, AS_IS);
        "amax": |x, axes| x.max(axes), |t, dim| t.f_amax(dim, false);
        "amin": |x, axes| x.min(axes), |t, dim| t.f_amin(dim, false);
        "any": |x, axes| x.any(axes), |t, dim| t.f_any_dim(dim, false);
        "all": |x, axes| x.all(axes), |t, dim| t.f_all_dim(dim, false);
        "argmax": |x, axes| x.argmax(axes), |t, dim| t.f_argmax(dim, false);
        "argmin": |x, axes| x.argmin(axes), |t, dim| t.f_argmin(dim, false);
        "count_nonzero": |x, axes| x.count_nonzero(axes), |t, dim| t.f_count_nonzero(dim);
        "var": |x, axes| x.var(1.0, axes), |t, dim| t.f_var_dim(dim, true, false);
        "std": |x, axes| x.std(1.0, axes), |t, dim| t.f_std_dim(dim, true, false);
        "norm(2)": |x, axes| x.vector_norm(2.0, axes), |t, dim| t.f_norm_scalaropt_dim(2, dim, false);
        "norm(1)": |x, axes| x.vector_norm(1.0, axes), |t, dim| t.f_norm_scalaropt_dim(1, dim, false);
        "norm(inf)": |x, axes| x.vector_norm(f64::INFINITY, axes), |t, dim| t.f_norm_scalaropt_dim(f64::INFINITY, dim, false);
        "nansum": |x, axes| x.nansum(axes), |t, dim| t.f_nansum(dim, false, AS_IS);
        "nanmean": |x, axes| x.nanmean(axes), |t, dim| t.f_nanmean(dim, false, AS_IS);
        "logsumexp": |x, axes| x.logsumexp(axes), |t, dim| t.f_logsumexp(dim, false);
        "quantile": |x, axes| x.quantile(0.3, axes), |t, dim| t.f_quantile_scalar(0.3, dim, false, "linear");
        "softmax": |x, axes| x.softmax(axes), |t, dim| t.f_softmax(dim, AS_IS);
        "log_softmax": |x, axes| x.log_softmax(axes), |t, dim| t.f_log_softmax(dim, AS_IS);
        "cumsum": |x, axis| x.cumulative_sum(axis), |t, dim| t.f_cumsum(dim, AS_IS);
        "cumprod": |x, axis| x.cumulative_prod(axis), |t, dim| t.f_cumprod(dim, AS_IS);
        "cummax": |x, axis| x.cummax(axis), |t, dim| t.f_cummax(dim).map(|(values, _)| values);
        "cummin": |x, axis| x.cummin(axis), |t, dim| t.f_cummin(dim).map(|(values, _)| values);
        "diff": |x, axis| x.diff(1, axis), |t, dim| t.f_diff(1, dim, None::<Torch>, None::<Torch>);
        "sort": |x, axis| x.sort(axis), |t, dim| t.f_sort(dim, false).map(|(values, _)| values);
        "topk": |x, axis| x.topk(3, axis).map(|(values, _)| values), |t, dim| t.f_topk(3, dim, true, true).map(|(values, _)| values);
        "aminmax": |x, axis| x.aminmax(axis).map(|(least, _)| least), |t, dim| t.f_aminmax(dim, false).map(|(least, _)| least);
    };
    for found in &mut out {
        // For sparse tensors libtorch has functions of other names, which mean the same here or what is said below.
        found.theirs_sparse = match found.name {
            "sum(0)" => Some(|t| t.a.f_internal_sparse_sum_dim(0).or_else(|_| t.a.f_sum_dim_intlist(0, false, AS_IS))),
            "sum(1)" => Some(|t| t.a.f_internal_sparse_sum_dim(1).or_else(|_| t.a.f_sum_dim_intlist(1, false, AS_IS))),
            _ => None,
        };
    }
    out.extend([
        op("sum", |x| x.a.sum(..), |t| t.a.f_sum(AS_IS)),
        op("sum(1, keepdim)", |x| x.a.sum(keep(1)), |t| t.a.f_sum_dim_intlist(1, true, AS_IS)),
        op("mean", |x| x.a.mean(..), |t| t.a.f_mean(AS_IS)),
        op("mean(0, keepdim)", |x| x.a.mean(keep(0)), |t| t.a.f_mean_dim(0, true, AS_IS)),
        op("prod", |x| x.a.prod(..), |t| t.a.f_prod(AS_IS)),
        op("max", |x| x.a.max(..), |t| t.a.f_max()),
        op("min", |x| x.a.min(..), |t| t.a.f_min()),
        op("any", |x| x.a.any(..), |t| t.a.f_any()),
        op("all", |x| x.a.all(..), |t| t.a.f_all()),
        op("argmax", |x| x.a.argmax(..), |t| t.a.f_argmax(None::<i64>, false)),
        op("argmin", |x| x.a.argmin(..), |t| t.a.f_argmin(None::<i64>, false)),
        op("count_nonzero", |x| x.a.count_nonzero(..), |t| t.a.f_count_nonzero(None::<i64>)),
        op("var", |x| x.a.var(1.0, ..), |t| t.a.f_var(true)),
        op("std", |x| x.a.std(1.0, ..), |t| t.a.f_std(true)),
        op("norm", |x| x.a.vector_norm(2.0, ..), |t| t.a.f_norm()),
        op("quantile", |x| x.a.quantile(0.6, ..), |t| t.a.f_quantile_scalar(0.6, None::<i64>, false, "linear")),
        op("x - x.mean(0)", |x| x.a.sub(x.a.mean(keep(0))?), |t| t.a.f_sub(&t.a.f_mean_dim(0, true, AS_IS)?)),
        op(
            "bincount",
            |x| whole(&x.a)?.bincount(None, 0),
            |t| t.a.f_abs()?.f_flatten(0, -1)?.f_bincount(None::<Torch>, 0),
        ),
        op("unique", |x| x.a.unique_values(), |t| t.a.f_internal_unique(true, false).map(|(values, _)| values)),
    ]);
    out
}

fn whole(x: &Tensor) -> openwork::Result<Tensor> {
    x.abs()?.flatten()
}
