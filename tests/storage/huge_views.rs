//! Views that repeat their elements 10^12 times take no memory; what would write them out is an error that names the op,
//! and not the end of the process.

use crate::common::tensors::says;
use openwork::{BinaryOp, DType, Error, Fill, Layout, Tensor, s};

const LONG: usize = 1_000_000;

type Op = (&'static str, fn(&Tensor) -> Result<Tensor, Error>);

/// A row and a column: of what they give together, every element is another.
fn crossing() -> (Tensor, Tensor) {
    let row = Tensor::arange(0.0, LONG as f64, 1.0).unwrap();
    let column = row.expand_dims(1).unwrap();
    (row, column)
}

#[test]
fn operands_that_meet_across() {
    let (row, column) = crossing();
    let named = |op: &'static str| [op, "a dense tensor", "8000000000000 bytes", "fit in memory", "[1000000, 1000000]"];
    says(&row + &column, &named("add"));
    says(&row * &column, &named("mul"));
    says(row.binary(BinaryOp::Hypot, &column), &named("hypot"));
    says(row.add(column.cast(DType::F32).unwrap()), &named("add"));
    says(row.cast(DType::Bool).unwrap().where_(&column, &row), &named("where"));
    says(row.zip_with(&column, |a: f64, b: f64| a - b), &named("zip_with"));
    says(row.lerp(&column, 0.5), &named("lerp"));
    says(row.clamp(&column, 5.0), &named("clamp"));
    says(row.lt(&column), &["lt", "1000000000000 bytes", "fit in memory"]);
    says(row.outer(&row), &["outer", "8000000000000 bytes", "fit in memory"]);
    says(row.kron(&column), &["kron", "8000000000000 bytes", "fit in memory"]);
}

/// Ops whose results, or what they are computed from, are as long as the view.
#[test]
fn repeated_rows_written_out() {
    let view = crossing().0.broadcast_to([LONG, LONG]).unwrap();
    let ops: &[Op] = &[
        ("to_contiguous", |x| x.to_contiguous()),
        ("reshape", |x| x.reshape([LONG * LONG])),
        ("flatten", |x| x.flatten()),
        ("reshape", |x| x.t()?.reshape([LONG / 2, 2 * LONG])),
        ("cumulative_sum", |x| x.cumulative_sum(0)),
        ("cumulative_sum", |x| x.cumulative_sum(1)),
        ("cumulative_prod", |x| x.cumulative_prod(0)),
        ("cummax", |x| x.cummax(0)),
        ("sort", |x| x.sort(1)),
        ("argsort", |x| x.argsort(0)),
        ("topk", |x| x.topk(3, 1).map(|t| t.0)),
        ("unique_values", |x| x.unique_values()),
        ("median", |x| x.median(1)),
        ("var", |x| x.var(0.0, 1)),
        ("softmax", |x| x.softmax(0)),
        ("concat", |x| Tensor::concat(&[x, x], 0)),
        ("stack", |x| Tensor::stack(&[x, x], 0)),
        ("tile", |x| x.tile([1, 2])),
        ("repeat", |x| x.repeat(2, 1)),
        ("roll", |x| x.roll(1, 1)),
        ("pad", |x| x.pad(&[(0, 1), (0, 1)], 0.0)),
        ("tril", |x| x.tril(0)),
        ("triu", |x| x.triu(1)),
        ("index_select", |x| x.index_select(vec![0u64; 2_000_000], 0)),
        ("index", |x| x.index(s![vec![0u64; LONG], ..])),
        ("index_put", |x| x.index_put(s![0..2, ..], 1.0)),
        ("slice_assign", |x| x.slice_assign(s![0..2, ..], 1.0)),
        ("index_map", |x| x.index_map(|at: &[usize], v: f64| v + at[0] as f64)),
        ("select", |x| x.select(|at: &[usize], _: f64| at[0] > 1)),
        ("to_layout", |x| x.to_layout(Layout::Coo)),
        ("to_layout", |x| x.to_layout(Layout::Csr)),
        ("to_sparse", |x| x.to_sparse(Layout::Csc, Fill::Undefined)),
        ("argwhere", |x| x.argwhere()),
    ];
    for (op, run) in ops {
        let result = run(&view);
        assert!(result.is_err(), "{op} gave {:?}", result.map(|t| t.shape().to_vec()));
        let e = says(result, &["bytes", "fit in memory"]).to_string();
        assert!(e.starts_with(&format!("{op}: shape [")), "{op}: {e}");
    }
    says(view.to_vec::<f64>(), &["to_vec", "fit in memory"]);
    says(view.matmul(&view), &["matmul", "fit in memory"]);
}

/// What need not be written out is not.
#[test]
fn repeated_rows_that_stay_repeated() {
    let view = crossing().0.broadcast_to([LONG, LONG]).unwrap();
    // Of exp(0), exp(1), …, exp(n - 1), n times each, the largest is 1 - 1/e of the sum.
    let share = view.log_softmax([0, 1]).unwrap();
    let last = share.get([7, LONG - 1]).unwrap().unwrap().to::<f64>();
    assert!((last - ((1.0 - (-1f64).exp()) / LONG as f64).ln()).abs() < 1e-9, "{last}");
    for done in [view.cast(DType::F32), view.sin(), view.mul(2.0), view.t(), view.add(&view), view.diff(0, 1)] {
        assert_eq!(done.unwrap().shape(), [LONG, LONG]);
    }
    let three = view.narrow(0..3, 0).unwrap();
    assert_eq!(three.sum(..).unwrap().item().unwrap(), (3.0 * 499_999_500_000.0).into());
}

/// Rows longer than memory, of which none is stored.
#[test]
fn rows_beyond_memory_that_are_not_stored() {
    let values = Tensor::zeros([0, 1 << 40, 1 << 40], DType::F64, Layout::Strided).unwrap();
    let x = Tensor::coo([2, 1 << 40, 1 << 40], vec![Vec::<u64>::new()], &values, 3.0).unwrap();
    assert_eq!(x.coalesce().unwrap().nse(), 0);
    assert_eq!(x.sum(0).map(|sum| sum.get([5, 7]).unwrap()).unwrap(), Some(6.0.into()));
    assert_eq!(x.max(..).unwrap().item().unwrap(), 3.0.into());
}
