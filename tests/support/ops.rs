//! Every op, with arguments, for the support table.

use openwork::{BinaryOp, DType, Layout, ReduceOp, Result, Tensor, UnaryOp};

use super::order;

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Group {
    Unary,
    Binary,
    Reduction,
    Order,
    Shape,
    Product,
}

impl Group {
    pub const ALL: [Group; 6] =
        [Group::Unary, Group::Binary, Group::Reduction, Group::Order, Group::Shape, Group::Product];

    pub fn name(self) -> &'static str {
        match self {
            Group::Unary => "Functions of one operand",
            Group::Binary => "Functions of two operands",
            Group::Reduction => "Reductions",
            Group::Order => "Scans, order and counts",
            Group::Shape => "Shape",
            Group::Product => "Products",
        }
    }
}

/// An op with its arguments, on a square matrix.
pub struct Op {
    pub name: &'static str,
    /// How the table calls it: the name, with arguments that matter.
    pub label: &'static str,
    /// What `explain` calls it.
    pub step: &'static str,
    pub group: Group,
    pub dtype: DType,
    pub run: Box<dyn Fn(&Tensor) -> Result<Tensor>>,
}

/// Ops that some defined fill leaves without an answer, whatever the layout: none.
pub const NO_ANSWER: &[&str] = &[];

/// Rows of the table with an operand that is as large as a dense result.
pub const DENSE_OPERAND: &[&str] = &["matmul(strided)"];

/// Where an op has several floats, integers and truth values to choose from, the first that it takes.
const DTYPES: [DType; 4] = [DType::F64, DType::I64, DType::Bool, DType::Complex128];

/// Another pattern in the same layout with the same fill.
fn partner(x: &Tensor) -> Result<Tensor> {
    let turned = x.permute_dims(&[1, 0])?;
    if x.is_strided() { Ok(turned) } else { turned.to_layout(x.layout()).or(Ok(x.clone())) }
}

pub fn all() -> Vec<Op> {
    let mut out = Vec::new();
    for &op in UnaryOp::ALL {
        let dtype = DTYPES.into_iter().find(|&d| op.typing(d).is_some()).unwrap();
        out.push(Op { dtype, ..plain(Group::Unary, op.name(), move |x| x.unary(op)) });
    }
    for &op in BinaryOp::ALL {
        let dtype = DTYPES.into_iter().find(|&d| op.typing(d).is_some()).unwrap();
        out.push(Op { dtype, ..plain(Group::Binary, op.name(), move |x| x.binary(op, partner(x)?)) });
    }
    for &op in ReduceOp::ALL {
        let dtype = DTYPES.into_iter().find(|&d| op.typing(d).is_some()).unwrap();
        for (suffix, axes) in [("(0)", Some(0)), ("(1)", Some(1)), ("()", None)] {
            let label: &'static str = format!("{}{suffix}", op.name()).leak();
            let run = move |x: &Tensor| x.reduce(op, axes.as_ref().map(std::slice::from_ref), false);
            out.push(Op { dtype, label, ..plain(Group::Reduction, op.name(), run) });
        }
    }
    let larger = |x: &Tensor| x.reduce_with(Some(&[1]), false, f64::NEG_INFINITY, f64::max);
    out.push(Op { label: "reduce_with(1)", ..plain(Group::Reduction, "reduce_with", larger) });
    out.extend(order::reductions());
    out.extend(order::order());
    out.extend(shapes());
    out.push(plain(Group::Product, "matmul", |x| x.matmul(&partner(x)?)));
    out.push(Op {
        label: "matmul(strided)",
        ..plain(Group::Product, "matmul", |x| x.matmul(&Tensor::ones(&[6, 3], DType::F64, Layout::Strided)?))
    });
    out
}

pub fn plain(group: Group, name: &'static str, run: impl Fn(&Tensor) -> Result<Tensor> + 'static) -> Op {
    Op { name, label: name, step: name, group, dtype: DType::F64, run: Box::new(run) }
}

fn shapes() -> Vec<Op> {
    let op = |name, run: fn(&Tensor) -> Result<Tensor>| plain(Group::Shape, name, run);
    let of = |dtype, op| Op { dtype, ..op };
    vec![
        op("permute_dims", |x| x.permute_dims(&[1, 0])),
        Op { step: "permute_dims", ..op("matrix_transpose", |x| x.matrix_transpose()) },
        op("reshape", |x| x.reshape(&[2, x.shape()[0] / 2, x.shape()[1]])),
        op("expand_dims", |x| x.expand_dims(0)),
        op("squeeze", |x| x.expand_dims(0)?.squeeze(Some(&[0]))),
        op("broadcast_to", |x| x.broadcast_to(&[&[2], x.shape()].concat())),
        Op { label: "narrow(0)", ..op("narrow", |x| x.narrow(0, 1..4)) },
        Op { label: "narrow(1)", ..op("narrow", |x| x.narrow(1, 1..4)) },
        of(DType::Complex128, op("view_as_real", |x| x.view_as_real())),
        of(DType::Complex128, op("view_as_complex", |x| x.view_as_real()?.view_as_complex())),
    ]
}
