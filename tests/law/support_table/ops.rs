//! Every op, with arguments, for the support table.

use openwork::{Axes, BinaryOp, DType, Layout, ReduceOp, Result, Tensor, UnaryOp, s};

use super::order;

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Group {
    Unary,
    Binary,
    Selection,
    Reduction,
    Order,
    Softmax,
    Shape,
    Join,
    Index,
    Product,
}

impl Group {
    pub const ALL: [Group; 10] = [
        Group::Unary,
        Group::Binary,
        Group::Selection,
        Group::Reduction,
        Group::Softmax,
        Group::Order,
        Group::Shape,
        Group::Join,
        Group::Index,
        Group::Product,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Group::Unary => "Functions of one operand",
            Group::Binary => "Functions of two operands",
            Group::Selection => "Choices, masks, functions of one's own",
            Group::Reduction => "Reductions",
            Group::Order => "Scans, order and counts",
            Group::Softmax => "Softmax and its kin",
            Group::Shape => "Shape",
            Group::Join => "Tensors joined",
            Group::Index => "Indexing",
            Group::Product => "Products",
        }
    }
}

/// An op with its arguments, on a square matrix.
pub struct Op {
    pub name: &'static str,
    /// How the table calls it: the name, with arguments that matter.
    pub label: &'static str,
    pub group: Group,
    pub dtype: DType,
    pub run: Box<dyn Fn(&Tensor) -> Result<Tensor>>,
}

impl Op {
    /// What `explain` calls it: a mask is one kind of index.
    pub fn step(&self) -> &'static str {
        if self.name == "masked" { "index" } else { self.name }
    }
}

/// Ops that some defined fill leaves without an answer, whatever the layout: none.
pub const NO_ANSWER: &[&str] = &[];

/// Rows of the table with an operand or a result that is as large as a dense vector, or a result whose sizes exceed `usize`;
/// and products of batches, which list the rows of all their matrices (`vecdot` is one with a batch for each row).
pub const NOT_HUGE: &[&str] = &["matmul(strided)", "kron", "khatri_rao", "take_along_axis", "mv", "bmm", "vecdot"];

/// Ops whose result is sparse, but may need a fill or a border as long as an axis: of a huge one that is dense too.
pub const LONG_FILL: [&str; 5] = ["softmax", "log_softmax", "normalize", "standardize", "pad"];

/// Where an op has several floats, integers and truth values to choose from, the first that it takes.
const DTYPES: [DType; 4] = [DType::F64, DType::I64, DType::Bool, DType::Complex128];

/// Another pattern in the same layout with the same fill.
fn partner(x: &Tensor) -> Result<Tensor> {
    let turned = x.permute_dims([1, 0])?;
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
        for (suffix, axes) in [("(0)", Axes::from(0)), ("(1)", 1.into()), ("()", (..).into())] {
            let label: &'static str = format!("{}{suffix}", op.name()).leak();
            let run = move |x: &Tensor| x.reduce(op, &axes);
            out.push(Op { dtype, label, ..plain(Group::Reduction, op.name(), run) });
        }
    }
    let larger = |x: &Tensor| x.reduce_with(f64::NEG_INFINITY, f64::max, 1);
    out.push(Op { label: "reduce_with(1)", ..plain(Group::Reduction, "reduce_with", larger) });
    out.extend(order::reductions());
    out.extend(order::order());
    out.extend(selections());
    out.extend(kin());
    out.extend(shapes());
    out.extend(joined());
    out.extend(indexed());
    out.push(plain(Group::Product, "matmul", |x| x.matmul(&partner(x)?)));
    out.push(plain(Group::Product, "outer", |x| x.narrow(0..1, 0)?.squeeze(0)?.outer(&x.narrow(0..1, 0)?.squeeze(0)?)));
    out.push(plain(Group::Product, "kron", |x| x.kron(&partner(x)?)));
    out.push(plain(Group::Product, "khatri_rao", |x| x.khatri_rao(&partner(x)?)));
    out.push(plain(Group::Product, "mm", |x| x.mm(&partner(x)?)));
    out.push(plain(Group::Product, "mv", |x| x.mv(&partner(x)?.narrow(0..1, 1)?.squeeze(1)?)));
    out.push(plain(Group::Product, "bmm", |x| x.expand_dims(0)?.bmm(&partner(x)?.expand_dims(0)?)));
    out.push(plain(Group::Product, "addmm", |x| x.addmm(x, &partner(x)?, 1.0, 2.0)));
    out.push(plain(Group::Product, "sampled_addmm", |x| {
        // At the same elements whatever `x` stores: they are part of what the op means.
        let at = Tensor::from_entries(x.shape(), [([0, 0], 1.0), ([2, 1], 2.0)], 0.0)?;
        at.sampled_addmm(x, &partner(x)?, 1.0, 2.0)
    }));
    out.push(plain(Group::Product, "vecdot", |x| x.vecdot(&partner(x)?, -1)));
    out.push(plain(Group::Product, "tensordot", |x| x.tensordot(&partner(x)?, 1)));
    out.push(plain(Group::Product, "matrix_power", |x| x.matrix_power(2)));
    out.push(plain(Group::Product, "multi_dot", |x| Tensor::multi_dot(&[x, &partner(x)?])));
    out.push(plain(Group::Product, "matmul_reduce", |x| x.matmul_reduce(&partner(x)?, ReduceOp::Max)));
    out.push(plain(Group::Product, "einsum", |x| Tensor::einsum("ij,jk->ik", &[x, &partner(x)?])));
    out.push(Op {
        label: "matmul(strided)",
        ..plain(Group::Product, "matmul", |x| x.matmul(&Tensor::ones([6, 3], DType::F64, Layout::Strided)?))
    });
    out
}

pub fn plain(group: Group, name: &'static str, run: impl Fn(&Tensor) -> Result<Tensor> + 'static) -> Op {
    Op { name, label: name, group, dtype: DType::F64, run: Box::new(run) }
}

fn selections() -> Vec<Op> {
    let op = |name, run: fn(&Tensor) -> Result<Tensor>| plain(Group::Selection, name, run);
    vec![
        op("where_", |x| x.gt(0.0)?.where_(x, &partner(x)?)),
        Op { label: "where_(number)", ..op("where_", |x| x.gt(0.0)?.where_(x, 1.0)) },
        op("clamp", |x| x.clamp(-1.0, 1.0)),
        op("lerp", |x| x.lerp(&partner(x)?, 0.25)),
        op("addcmul", |x| x.addcmul(&partner(x)?, x, 2.0)),
        op("addcdiv", |x| x.addcdiv(&partner(x)?, x, 2.0)),
        op("isclose", |x| x.isclose(&partner(x)?, 1e-5, 1e-8)),
        op("positive", |x| x.positive()),
        op("polygamma", |x| x.polygamma(1)),
        op("mvlgamma", |x| x.add(9.0)?.mvlgamma(2)),
        op("interp", |x| x.interp(&[0.0, 1.0], &[2.0, 3.0])),
        op("mask", |x| x.mask(&partner(x)?.gt(0.0)?)),
        op("mask_complement", |x| x.mask_complement(&partner(x)?.gt(0.0)?)),
        op("union", |x| x.union(BinaryOp::Add, &partner(x)?, 0.0, 0.0)),
        op("map", |x| x.map(|v: f64| v + 1.0)),
        op("zip_with", |x| x.zip_with(&partner(x)?, |a: f64, b: f64| a + b)),
        op("zip_with3", |x| x.zip_with3(&partner(x)?, x, |a: f64, b: f64, c: f64| a * b + c)),
        op("zip_many", |x| Tensor::zip_many(&[x, &partner(x)?, x], |v: &[f64]| v[0] * v[1] + v[2])),
        op("apply_stored", |x| x.apply_stored(|v: f64| v + 1.0)),
        op("index_map", |x| x.index_map(|at, v: f64| v + at[0] as f64)),
        op("select", |x| x.select(|at, v: f64| at[0] > 1 && v > 0.0)),
        op("select_values", |x| x.select_values(|v: f64| v > 0.0)),
    ]
}

fn kin() -> Vec<Op> {
    let mut out = Vec::new();
    for (suffix, axes) in [("(0)", Axes::from(0)), ("(1)", 1.into()), ("()", (..).into())] {
        let mut add = |name: &'static str, run: fn(&Tensor, &Axes) -> Result<Tensor>| {
            let label: &'static str = format!("{name}{suffix}").leak();
            let axes = axes.clone();
            out.push(Op { label, ..plain(Group::Softmax, name, move |x| run(x, &axes)) });
        };
        add("softmax", |x, axes| x.softmax(axes));
        add("log_softmax", |x, axes| x.log_softmax(axes));
        add("logsumexp", |x, axes| x.logsumexp(axes));
        add("normalize", |x, axes| x.normalize(2.0, axes));
        add("standardize", |x, axes| x.standardize(0.0, axes));
    }
    out
}

fn joined() -> Vec<Op> {
    let op = |name, run: fn(&Tensor) -> Result<Tensor>| plain(Group::Join, name, run);
    vec![
        Op { label: "concat(0)", ..op("concat", |x| Tensor::concat(&[x, &partner(x)?], 0)) },
        Op { label: "concat(1)", ..op("concat", |x| Tensor::concat(&[x, &partner(x)?], 1)) },
        op("stack", |x| Tensor::stack(&[x, &partner(x)?], 0)),
        op("block_diag", |x| Tensor::block_diag(&[x, &partner(x)?])),
        op("block", |x| Tensor::block(&[vec![x, x], vec![x, x]])),
    ]
}

/// An index array for one row.
fn places() -> Tensor {
    Tensor::from_vec([1, 2], vec![0i64, 1]).unwrap()
}

fn indexed() -> Vec<Op> {
    let op = |name, run: fn(&Tensor) -> Result<Tensor>| plain(Group::Index, name, run);
    vec![
        Op { label: "slice(rows)", ..op("slice", |x| x.slice(s![1..4])) },
        Op { label: "slice(columns)", ..op("slice", |x| x.slice(s![.., 1..4])) },
        Op { label: "slice(steps)", ..op("slice", |x| x.slice(s![..;-2, ..;2])) },
        op("index", |x| x.index(s![vec![2, 0], vec![1, 1]])),
        op("index_select", |x| x.index_select(vec![3, 0, 3], 0)),
        op("take", |x| x.take(vec![3, 0, 3], 1)),
        op("delete", |x| x.delete(vec![1], 0)),
        op("masked", |x| x.index(s![x.gt(0.0)?])),
        op("argwhere", |x| x.argwhere()),
        op("take_along_axis", |x| x.take_along_axis(&places(), 1)),
        op("gather", |x| x.gather(&places(), 1)),
        op("slice_assign", |x| x.slice_assign(s![1..3, 1], 2.0)),
        op("index_put", |x| x.index_put(s![vec![2, 0], vec![1, 1]], 2.0)),
        op("index_add", |x| x.index_add(s![vec![2, 0], vec![1, 1]], 2.0)),
        op("scatter", |x| x.scatter(&places(), 2.0, 1)),
        Op { dtype: DType::I64, ..op("one_hot", |x| x.abs()?.one_hot(12)) },
        op("scatter_reduce", |x| x.scatter_reduce(&places(), 2.0, ReduceOp::Max, 1)),
    ]
}

fn shapes() -> Vec<Op> {
    let op = |name, run: fn(&Tensor) -> Result<Tensor>| plain(Group::Shape, name, run);
    let of = |dtype, op| Op { dtype, ..op };
    vec![
        op("permute_dims", |x| x.permute_dims([1, 0])),
        op("matrix_transpose", |x| x.matrix_transpose()),
        op("t", |x| x.t()),
        op("mt", |x| x.mt()),
        op("reshape", |x| x.reshape([2, x.shape()[0] / 2, x.shape()[1]])),
        op("expand_dims", |x| x.expand_dims(0)),
        op("squeeze", |x| x.expand_dims(0)?.squeeze(0)),
        op("broadcast_to", |x| x.broadcast_to([&[2], x.shape()].concat())),
        Op { label: "narrow(0)", ..op("narrow", |x| x.narrow(1..4, 0)) },
        Op { label: "narrow(1)", ..op("narrow", |x| x.narrow(1..4, 1)) },
        op("flip", |x| x.flip(..)),
        op("roll", |x| x.roll([1], 0)),
        op("repeat", |x| x.repeat([2], 0)),
        op("tile", |x| x.tile([2, 1])),
        op("pad", |x| x.pad(&[(1, 1), (0, 0)], 0.0)),
        op("tril", |x| x.tril(0)),
        op("triu", |x| x.triu(0)),
        op("diagonal", |x| x.diagonal(0, 0, 1)),
        op("diag", |x| x.diag(0)),
        op("moveaxis", |x| x.moveaxis([0], [1])),
        op("split", |x| Ok(x.split([2, x.shape()[0].saturating_sub(2)], 0)?.swap_remove(1))),
        op("unstack", |x| Ok(x.narrow(0..4, 0)?.unstack(0)?.swap_remove(1))),
        of(DType::Complex128, op("view_as_real", |x| x.view_as_real())),
        of(DType::Complex128, op("view_as_complex", |x| x.view_as_real()?.view_as_complex())),
    ]
}
