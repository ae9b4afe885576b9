//! The law on tensors that are cut into chunks, and the same bits on any number of threads.

use openwork::{BinaryOp, Fill, Layout, ReduceOp, Result, Tensor, UnaryOp, keep, parallel};
use openwork_ops::{Element, with_dtype};

use super::bridge::{dense, meaning};
use super::cells::{Cell, FillKind, Store};
use super::gen_::{Sample, generate};
use super::oracle::{self, Expected, OType, Oracle, Refused};
use super::pointwise::Mode;
use super::values::Data;

type Ops = (fn(&Tensor, &Tensor) -> Result<Tensor>, fn(&Oracle, &Oracle) -> std::result::Result<Expected, Refused>);

/// An op of two tensors (or of the first alone), and the same on models.
pub const OPS: [(&str, Ops); 22] = [
    ("sin", (|a, _| a.sin(), |a, _| oracle::unary("sin", a))),
    ("isfinite", (|a, _| a.unary(UnaryOp::Isfinite), |a, _| oracle::unary("isfinite", a))),
    ("add", (|a, b| a.add(b), |a, b| oracle::binary("add", a, b))),
    ("mul", (|a, b| a.mul(b), |a, b| oracle::binary("mul", a, b))),
    ("add", (|a, b| anew(a, Layout::Csr)?.add(&anew(b, Layout::Csr)?), |a, b| oracle::binary("add", a, b))),
    ("sub", (|a, b| anew(a, Layout::Coo)?.sub(&anew(b, Layout::Coo)?), |a, b| oracle::binary("sub", a, b))),
    ("lt", (|a, b| a.binary(BinaryOp::Lt, b), |a, b| oracle::binary("lt", a, b))),
    ("sum", (|a, _| a.sum(..), |a, _| oracle::reduce("sum", a, &all(a), false))),
    ("sum", (|a, _| a.sum(0), |a, _| oracle::reduce("sum", a, &[0], false))),
    ("sum", (|a, _| a.sum(-1), |a, _| oracle::reduce("sum", a, &[a.ndim() - 1], false))),
    ("mean", (|a, _| a.mean(keep(0)), |a, _| oracle::reduce("mean", a, &[0], true))),
    ("max", (|a, _| a.reduce(ReduceOp::Max, 0), |a, _| oracle::reduce("max", a, &[0], false))),
    ("coalesce", (|a, _| a.coalesce(), |a, _| Ok(a.clone().into()))),
    ("prune", (|a, _| a.prune(), |a, _| Ok(a.clone().into()))),
    ("to_layout", (|a, _| sparse_in(a, Layout::Coo), |a, _| Ok(a.clone().into()))),
    ("to_layout", (|a, _| sparse_in(a, Layout::Csc), |a, _| Ok(a.clone().into()))),
    ("to_layout", (|a, _| sparse_in(a, Layout::Csf), |a, _| Ok(a.clone().into()))),
    ("diff", (|a, _| a.diff(1, -1), |a, _| oracle::scan::diff(a, 1, a.ndim() - 1))),
    ("reshape", (|a, _| a.reshape(by_200(a.shape())), |a, _| a.reshape(&by_200(&a.shape)).map(Expected::from))),
    (
        "add",
        (
            |a, b| in_three(&anew(a, Layout::Coo)?)?.add(&in_three(&anew(b, Layout::Coo)?)?),
            |a, b| oracle::binary("add", &a.reshape(&three(&a.shape))?, &b.reshape(&three(&b.shape))?),
        ),
    ),
    (
        "roll",
        (
            |a, _| in_three(&anew(a, Layout::Coo)?)?.roll(7, 1),
            |a, _| a.reshape(&three(&a.shape))?.roll(7, 1).map(Expected::from),
        ),
    ),
    ("permute_dims", (|a, _| a.permute_dims([1, 0]), |a, _| a.permute(&[1, 0]).map(Expected::from))),
];

fn by_200(shape: &[usize]) -> [usize; 2] {
    [shape.iter().product::<usize>() / 200, 200]
}

/// Rows in hundreds.
fn three(shape: &[usize]) -> [usize; 3] {
    [shape[0] / 100, 100, shape[1]]
}

fn in_three(x: &Tensor) -> Result<Tensor> {
    x.reshape(three(x.shape()))
}

fn all(a: &Oracle) -> Vec<usize> {
    (0..a.ndim()).collect()
}

fn sparse_in(a: &Tensor, layout: Layout) -> Result<Tensor> {
    if a.is_strided() { a.to_sparse(layout, openwork::Scalar::zero(a.dtype())) } else { a.to_layout(layout) }
}

/// Over a number, the same elements in narrow arrays and in order.
fn anew(x: &Tensor, layout: Layout) -> Result<Tensor> {
    match x.fill() {
        Some(Fill::Scalar(fill)) => x.to_dense()?.to_sparse(layout, *fill),
        _ => Ok(x.clone()),
    }
}

/// Pairs of operands of 10^5 elements; and of arrays of narrow and of long rows.
pub fn cells() -> Vec<(Cell, Cell)> {
    let cell = |store, fill, dtype| Cell { store, fill, dtype, shape: vec![300, 400] };
    let of = |store, dtype, shape: [usize; 2]| Cell { store, fill: FillKind::Zero, dtype, shape: shape.to_vec() };
    vec![
        (cell(Store::Coo, FillKind::Zero, OType::F64), cell(Store::Coo, FillKind::Value, OType::F64)),
        (cell(Store::CooDuplicates, FillKind::Rows, OType::I32), cell(Store::Csr, FillKind::Zero, OType::I16)),
        (cell(Store::Csr, FillKind::Zero, OType::F32), cell(Store::Csr, FillKind::Columns, OType::F32)),
        (cell(Store::Dcsc, FillKind::Undefined, OType::U8), cell(Store::Csc, FillKind::Undefined, OType::U8)),
        (cell(Store::Hybrid, FillKind::Dense, OType::F16), cell(Store::Coo, FillKind::Value, OType::F16)),
        (cell(Store::Bsr, FillKind::Value, OType::Complex64), cell(Store::Strided, FillKind::Zero, OType::Complex64)),
        (cell(Store::StridedTransposed, FillKind::Zero, OType::F64), cell(Store::Csf, FillKind::Zero, OType::F64)),
        (cell(Store::Multigraph, FillKind::Value, OType::I64), cell(Store::CooIso, FillKind::Zero, OType::Bool)),
        (of(Store::Strided, OType::F64, [9000, 3]), of(Store::Strided, OType::F64, [9000, 3])),
        (of(Store::Strided, OType::I16, [100, 320]), of(Store::Strided, OType::F32, [100, 320])),
    ]
}

/// Two operands with enough stored elements to be cut.
pub fn operands(cells: [&Cell; 2], seed: u64) -> [Sample; 2] {
    let large = |cell: &Cell, seed: u64| {
        let mut samples = (0..20).map(|i| generate(cell, seed.wrapping_add(i), Data::Any));
        samples.find(|s| s.tensor.nse() > 25_000).unwrap()
    };
    [large(cells[0], seed), large(cells[1], !seed)]
}

pub fn check((op, model): Ops, [a, b]: &[Sample; 2]) -> std::result::Result<(), String> {
    let run = |threads| {
        let result = parallel::with_threads(threads, || Mode::Finite.run(|| op(&a.tensor, &b.tensor)));
        result.and_then(|r| r).map_err(|e| format!("error on {threads} threads: {e}"))
    };
    let (want, one) = match (model(&a.model, &b.model), run(1)) {
        (Err(_), Err(_)) => return Ok(()),
        (want, got) => (want.map_err(|e| e.to_string())?, got?),
    };
    oracle::compare(&want, &meaning(&one)?).map_err(|e| format!("result in {}: {e}", one.layout()))?;
    for threads in [2, 3] {
        identical(&one, &run(threads)?).map_err(|e| format!("one thread and {threads}: {e}"))?;
    }
    Ok(())
}

/// The same layout, coordinates, values and fill, bit for bit.
pub fn identical(a: &Tensor, b: &Tensor) -> std::result::Result<(), String> {
    let spec = |t: &Tensor| (t.shape().to_vec(), t.dtype(), t.level_spec());
    if spec(a) != spec(b) {
        return Err(format!("{:?} and {:?}", spec(a), spec(b)));
    }
    if a.coordinates() != b.coordinates() {
        return Err("coordinates differ".to_string());
    }
    if bits(a)? != bits(b)? {
        return Err("values differ".to_string());
    }
    match (a.fill(), b.fill()) {
        (Some(Fill::Array(x)), Some(Fill::Array(y))) if bits(x)? == bits(y)? => Ok(()),
        (Some(Fill::Scalar(x)), Some(Fill::Scalar(y))) if x.to_bytes() == y.to_bytes() => Ok(()),
        (Some(Fill::Undefined), Some(Fill::Undefined)) | (None, None) => Ok(()),
        _ => Err("fills differ".to_string()),
    }
}

fn bits(x: &Tensor) -> std::result::Result<Vec<u8>, String> {
    let x = x.to_contiguous().unwrap();
    with_dtype!(x.dtype(), T => x.values::<T>().map(|v| Element::as_bytes(v).to_vec()).map_err(|e| e.to_string()))
}

/// A product with a transpose: small values, whose sums are exact, so that dense operands give the same bits.
pub fn product([a, b]: &[Sample; 2]) -> std::result::Result<(), String> {
    let run = |threads: usize, a: &Tensor, b: &Tensor| {
        let product = || Mode::Finite.run(|| a.matmul(&b.matrix_transpose()?));
        parallel::with_threads(threads, product).and_then(|r| r).map_err(|e| format!("error on {threads} threads: {e}"))
    };
    let one = run(1, &a.tensor, &b.tensor)?;
    for threads in [2, 3] {
        identical(&one, &run(threads, &a.tensor, &b.tensor)?).map_err(|e| format!("one thread and {threads}: {e}"))?;
    }
    if a.model.undefined || b.model.undefined {
        return Ok(());
    }
    let plain = meaning(&run(2, &dense(&a.model), &dense(&b.model))?)?;
    oracle::compare(&plain.into(), &meaning(&one)?).map_err(|e| format!("result in {}: {e}", one.layout()))
}
