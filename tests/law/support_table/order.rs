//! Statistics, scans and order, for the support table.

use openwork::{Axes, DType, Result, Tensor};

use super::ops::{Group, Op, plain};

/// Ops that count elements or places exactly: of 2^80 there are more than `int64` holds.
pub const EXACT_COUNTS: [&str; 6] = ["count_nonzero", "unique_counts", "unique_all", "bincount", "argmin", "argmax"];

/// Reductions that are no folds, over rows, columns and everything.
pub fn reductions() -> Vec<Op> {
    type Run = fn(&Tensor, &Axes) -> Result<Tensor>;
    let over: [(&str, Run); 20] = [
        ("argmin", |x, over| x.argmin(over)),
        ("argmax", |x, over| x.argmax(over)),
        ("median", |x, over| x.median(over)),
        ("nanmedian", |x, over| x.nanmedian(over)),
        ("quantile", |x, over| x.quantile(0.3, over)),
        ("nanquantile", |x, over| x.nanquantile(0.3, over)),
        ("mode", |x, over| x.mode(over)),
        ("var", |x, over| x.var(1.0, over)),
        ("std", |x, over| x.std(1.0, over)),
        ("nanvar", |x, over| x.nanvar(1.0, over)),
        ("nanstd", |x, over| x.nanstd(1.0, over)),
        ("vector_norm", |x, over| x.vector_norm(2.0, over)),
        ("nansum", |x, over| x.nansum(over)),
        ("nanprod", |x, over| x.nanprod(over)),
        ("nanmin", |x, over| x.nanmin(over)),
        ("nanmax", |x, over| x.nanmax(over)),
        ("nanmean", |x, over| x.nanmean(over)),
        ("sum_as", |x, over| x.sum_as(DType::F32, over)),
        ("prod_as", |x, over| x.prod_as(DType::F32, over)),
        ("mean_as", |x, over| x.mean_as(DType::F32, over)),
    ];
    let mut out = Vec::new();
    for (name, run) in over {
        for (suffix, axis) in [("(0)", Axes::from(0)), ("(1)", 1.into()), ("()", (..).into())] {
            let label: &'static str = format!("{name}{suffix}").leak();
            let run = move |x: &Tensor| run(x, &axis);
            out.push(Op { label, ..plain(Group::Reduction, name, run) });
        }
    }
    let min = |x: &Tensor| Ok(x.aminmax(1)?.0);
    out.push(Op { label: "aminmax(1)", ..plain(Group::Reduction, "aminmax", min) });
    out
}

/// Scans, order and counts.
pub fn order() -> Vec<Op> {
    let op = |name, label, run: fn(&Tensor) -> Result<Tensor>| Op { label, ..plain(Group::Order, name, run) };
    let whole = |name, run: fn(&Tensor) -> Result<Tensor>| plain(Group::Order, name, run);
    vec![
        op("cumulative_sum", "cumulative_sum(0)", |x| x.cumulative_sum(0)),
        op("cumulative_sum", "cumulative_sum(1)", |x| x.cumulative_sum(1)),
        op("cumulative_prod", "cumulative_prod(1)", |x| x.cumulative_prod(1)),
        op("cummax", "cummax(1)", |x| x.cummax(1)),
        op("cummin", "cummin(1)", |x| x.cummin(1)),
        op("diff", "diff(0)", |x| x.diff(1, 0)),
        op("diff", "diff(1)", |x| x.diff(1, 1)),
        op("sort", "sort(0)", |x| x.sort(0)),
        op("sort", "sort(1)", |x| x.sort(1)),
        op("argsort", "argsort(1)", |x| x.argsort(1)),
        op("topk", "topk(1) values", |x| Ok(x.topk(2, 1)?.0)),
        op("topk", "topk(1) indices", |x| Ok(x.topk(2, 1)?.1)),
        whole("unique_values", |x| x.unique_values()),
        whole("unique_counts", |x| Ok(x.unique_counts()?.counts)),
        whole("unique_inverse", |x| Ok(x.unique_inverse()?.inverse)),
        whole("unique_all", |x| Ok(x.unique_all()?.inverse)),
        whole("searchsorted", |x| Tensor::from_vec([4], vec![-1, 0, 1, 5])?.cast(DType::F64)?.searchsorted(x)),
        whole("isin", |x| x.isin(&Tensor::from_vec([3], vec![0, 1, 5])?.cast(DType::F64)?)),
        Op { dtype: DType::I64, ..whole("bincount", |x| x.abs()?.bincount(None, 3)) },
        whole("histogram", |x| Ok(x.histogram(4, Some((2.5, 9.0)))?.0)),
    ]
}
