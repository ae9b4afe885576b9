//! Statistics, scans and order, for the support table.

use openwork::{DType, Interpolation, Result, Tensor};

use super::ops::{Group, Op, plain};

/// Ops that count elements or places exactly: of 2^80 there are more than `int64` holds.
pub const EXACT_COUNTS: [&str; 6] = ["count_nonzero", "unique_counts", "unique_all", "bincount", "argmin", "argmax"];

/// Reductions that are no folds, over rows, columns and everything.
pub fn reductions() -> Vec<Op> {
    type Run = fn(&Tensor, Option<&[isize]>) -> Result<Tensor>;
    let over: [(&str, Run); 20] = [
        ("argmin", |x, over| x.argmin(over.map(|a| a[0]), false)),
        ("argmax", |x, over| x.argmax(over.map(|a| a[0]), false)),
        ("median", |x, over| x.median(over, false)),
        ("nanmedian", |x, over| x.nanmedian(over, false)),
        ("quantile", |x, over| x.quantile(0.3, over, false, Interpolation::Linear)),
        ("nanquantile", |x, over| x.nanquantile(0.3, over, false, Interpolation::Linear)),
        ("mode", |x, over| x.mode(over, false)),
        ("var", |x, over| x.var(over, 1.0, false)),
        ("std", |x, over| x.std(over, 1.0, false)),
        ("nanvar", |x, over| x.nanvar(over, 1.0, false)),
        ("nanstd", |x, over| x.nanstd(over, 1.0, false)),
        ("vector_norm", |x, over| x.vector_norm(2.0, over, false)),
        ("nansum", |x, over| x.nansum(over, false)),
        ("nanprod", |x, over| x.nanprod(over, false)),
        ("nanmin", |x, over| x.nanmin(over, false)),
        ("nanmax", |x, over| x.nanmax(over, false)),
        ("nanmean", |x, over| x.nanmean(over, false)),
        ("sum_as", |x, over| x.sum_as(DType::F32, over, false)),
        ("prod_as", |x, over| x.prod_as(DType::F32, over, false)),
        ("mean_as", |x, over| x.mean_as(DType::F32, over, false)),
    ];
    let mut out = Vec::new();
    for (name, run) in over {
        for (suffix, axis) in [("(0)", Some(0)), ("(1)", Some(1)), ("()", None)] {
            let label: &'static str = format!("{name}{suffix}").leak();
            let step = vec![name.trim_end_matches("_as")];
            let run = move |x: &Tensor| run(x, axis.as_ref().map(std::slice::from_ref));
            out.push(Op { label, step, ..plain(Group::Reduction, name, run) });
        }
    }
    let min = |x: &Tensor| Ok(x.aminmax(Some(&[1]), false)?.0);
    out.push(Op { label: "aminmax(1)", step: vec!["min"], ..plain(Group::Reduction, "aminmax", min) });
    out
}

/// Scans, order and counts.
pub fn order() -> Vec<Op> {
    let op = |name, label, run: fn(&Tensor) -> Result<Tensor>| Op { label, ..plain(Group::Order, name, run) };
    let whole = |name, run: fn(&Tensor) -> Result<Tensor>| plain(Group::Order, name, run);
    vec![
        op("cumulative_sum", "cumulative_sum(0)", |x| x.cumulative_sum(0, None, false)),
        op("cumulative_sum", "cumulative_sum(1)", |x| x.cumulative_sum(1, None, false)),
        op("cumulative_prod", "cumulative_prod(1)", |x| x.cumulative_prod(1, None, false)),
        op("cummax", "cummax(1)", |x| x.cummax(1)),
        op("cummin", "cummin(1)", |x| x.cummin(1)),
        op("diff", "diff(0)", |x| x.diff(1, 0)),
        op("diff", "diff(1)", |x| x.diff(1, 1)),
        op("sort", "sort(0)", |x| x.sort(0, false)),
        op("sort", "sort(1)", |x| x.sort(1, false)),
        op("argsort", "argsort(1)", |x| x.argsort(1, false)),
        op("topk", "topk(1) values", |x| Ok(x.topk(2, 1, true)?.0)),
        op("topk", "topk(1) indices", |x| Ok(x.topk(2, 1, true)?.1)),
        whole("unique_values", |x| x.unique_values()),
        whole("unique_counts", |x| Ok(x.unique_counts()?.counts)),
        whole("unique_inverse", |x| Ok(x.unique_inverse()?.inverse)),
        whole("unique_all", |x| Ok(x.unique_all()?.inverse)),
        whole("searchsorted", |x| Tensor::from_vec(&[4], vec![-1, 0, 1, 5])?.cast(DType::F64)?.searchsorted(x, false)),
        Op { dtype: DType::I64, ..whole("bincount", |x| x.abs()?.bincount(None, 3)) },
        whole("histogram", |x| Ok(x.histogram(4, Some((2.5, 9.0)))?.0)),
    ]
}
