//! Views that repeat their elements 10^12 times take no memory; what would write them out is an error that names the op,
//! and not the end of the process.

use crate::common::tensors::says;
use openwork::{Axes, DType, Error, Fill, Layout, Tensor, s};

const LONG: usize = 1_000_000;

type Op = (&'static str, fn(&Tensor) -> Result<Tensor, Error>);

/// Elements that vary along both axes of the result.
fn crossing() -> (Tensor, Tensor) {
    let row = Tensor::arange(0.0, LONG as f64, 1.0).unwrap();
    let column = row.expand_dims(1).unwrap();
    (row, column)
}

#[test]
fn operands_that_meet_across() {
    let (row, column) = crossing();
    let wanted = ["a dense tensor", "8000000000000 bytes", "fit in memory", "[1000000, 1000000]"];
    let named = |op: &'static str| [&[op][..], &wanted].concat();
    says(&row + &column, &named("add"));
    says(&row * &column, &named("mul"));
    says(row.binary(openwork::BinaryOp::Hypot, &column), &named("hypot"));
    says(row.clamp(&column, 5.0), &["clamp", "fit in memory"]);
    says(row.add(&column.cast(DType::F32).unwrap()), &named("add"));
    says(row.cast(DType::Bool).unwrap().where_(&column, &row), &["where", "fit in memory"]);
    says(row.map2(&column, |a: f64, b: f64| a - b), &["fit in memory"]);
    says(row.le(&column), &["less_equal", "1000000000000 bytes", "fit in memory"]);
    says(row.matmul(&Tensor::zeros(&[LONG, LONG], DType::F64, Layout::Strided).unwrap_or(column)), &["matmul"]);
}

/// Every op that has to write a repeated view out.
#[test]
fn repeated_rows_written_out() {
    let view = crossing().0.broadcast_to(&[LONG, LONG]).unwrap();
    let ops: &[Op] = &[
        ("to_contiguous", |x| x.to_contiguous()),
        ("reshape", |x| x.reshape(&[-1])),
        ("reshape", |x| x.reshape(&[LONG as isize / 2, 2, LONG as isize])),
        ("cumulative_sum", |x| x.cumulative_sum(0)),
        ("cumulative_sum", |x| x.cumulative_sum(1)),
        ("cumulative_prod", |x| x.cumulative_prod(0)),
        ("sort", |x| x.sort(1, true)),
        ("argsort", |x| x.argsort(0, false)),
        ("softmax", |x| x.softmax(0)),
        ("log_softmax", |x| x.log_softmax([0, 1])),
        ("concat", |x| Tensor::concat(&[x, x], 0)),
        ("stack", |x| Tensor::stack(&[x, x], 0)),
        ("tile", |x| x.tile(&[1, 2])),
        ("repeat_interleave", |x| x.repeat_interleave(2, Some(1))),
        ("roll", |x| x.roll(&[1], &[1])),
        ("pad", |x| x.pad(&[(0, 1), (0, 1)], 0.0)),
        ("tril", |x| x.tril(0)),
        ("index_select", |x| x.index_select(0, vec![0i64; 2_000_000])),
        ("to_layout", |x| x.to_layout(Layout::Csr)),
        ("to_sparse", |x| x.to_sparse(Layout::Coo, Fill::Undefined)),
        ("argwhere", |x| x.argwhere()),
        ("unique_values", |x| x.unique_values()),
        ("median", |x| x.median(1)),
        ("topk", |x| x.topk(3, 1, true).map(|t| t.0)),
        ("map", |x| x.tril(1)),
    ];
    for (op, run) in ops {
        let e = says(run(&view), &["memory"]);
        assert!(e.to_string().contains(op) || *op == "map", "{op}: {e}");
    }
    says(view.to_vec::<f64>(), &["to_vec", "fit in memory"]);
    says(view.index(s![vec![0i64; LONG], ..]), &["index", "fit in memory"]);
    // What need not be written out is not.
    for done in [view.cast(DType::F32), view.sin(), view.mul(2.0), view.transpose(), view.add(&view)] {
        assert_eq!(done.unwrap().shape(), [LONG, LONG]);
    }
    assert_eq!(
        view.narrow(0..3, 0).unwrap().sum(Axes::all()).unwrap().item().unwrap(),
        (3.0 * 499_999_500_000.0).into()
    );
}
