//! The table of operations: for each name, the workloads it is measured on and how to run it.
//!
//! Preparing a case (loading, building tensors) is not timed; the returned closure is.

use openwork::io::{self, matrix_market};
use openwork::{Layout, Product, Tensor, einsum, prepare};

use crate::Outcome;
use crate::measure::Run;
use crate::workload::Workload;

/// One row of the table.
pub struct Op {
    /// The name on the command line.
    pub name: &'static str,
    /// The standard cases, `workload:dtype`.
    pub cases: &'static [&'static str],
    /// Loads the operands and returns the work to time.
    pub prepare: fn(&Workload) -> Outcome<Run>,
}

const MATRICES: &[&str] = &["rmat20:f64", "lap100:f64", "uni3:f64", "reco:f64"];
const PAIRS: &[&str] = &["rmat20:f64", "uni3:f64"];
const RMAT: &[&str] = &["rmat20:f64"];
const REDUCED: &[&str] = &["rmat20:f64", "reco:f64"];
const WEIGHTS: &[&str] = &["nn90:f32"];
const THREE: &[&str] = &["t3:f64"];
const SQUARES: &[&str] = &["lap100:f64", "uni4:f64", "rmat16:f64"];
const DENSE: &[&str] = &["d8k:f64", "nn90:f32"];
const BATCH: &[&str] = &["batch:f64"];

/// Every operation that can be measured.
pub const OPS: &[Op] = &[
    Op { name: "coo2csr", cases: MATRICES, prepare: coo2csr },
    Op { name: "transpose", cases: MATRICES, prepare: |w| unary(w, |a| a.to_layout(Layout::Csc)) },
    Op { name: "coo_coalesce", cases: PAIRS, prepare: coo_coalesce },
    Op { name: "csr2dense", cases: DENSE, prepare: |w| unary(w, Tensor::to_dense) },
    Op { name: "dense2csr", cases: DENSE, prepare: dense2csr },
    Op {
        name: "spmv",
        cases: &["rmat20:f64", "lap100:f64", "uni3:f64", "reco:f64", "bsr:f64", "rmat20:f32", "lap100:f32"],
        prepare: spmv,
    },
    // Prepared, which is not timed. Peers' own handles are what `spmv` measures of them.
    Op {
        name: "spmv_prepared",
        cases: &["rmat20:f64", "lap100:f64", "uni3:f64", "reco:f64", "rmat20:f32", "lap100:f32"],
        prepare: spmv_prepared,
    },
    Op { name: "spmv_t", cases: REDUCED, prepare: spmv_t },
    Op { name: "spmv_t_prepared", cases: REDUCED, prepare: spmv_t_prepared },
    Op { name: "spmm32", cases: &["rmat20:f64", "lap100:f64", "uni3:f64", "bsr:f64"], prepare: |w| spmm(w, 32) },
    Op { name: "spmm128", cases: &["lap100:f64", "uni4:f64", "nn90:f32"], prepare: |w| spmm(w, 128) },
    Op { name: "spmm512", cases: &["uni4:f64"], prepare: |w| spmm(w, 512) },
    Op { name: "dspmm32", cases: &["uni3:f64"], prepare: |w| dspmm(w, 32) },
    Op { name: "dspmm128", cases: WEIGHTS, prepare: |w| dspmm(w, 128) },
    Op { name: "spgemm_aa", cases: SQUARES, prepare: |w| unary(w, |a| a.matmul(a)) },
    // Sorted, as every product here is.
    Op { name: "spgemm_aa_sorted", cases: SQUARES, prepare: |w| unary(w, |a| a.matmul(a)) },
    Op {
        name: "spgemm_aat",
        cases: &["uni4:f64", "rmat16:f64"],
        prepare: |w| unary(w, |a| a.matmul(&a.permute_dims([1, 0])?)),
    },
    Op { name: "sddmm32", cases: &["rmat20:f64", "uni3:f64"], prepare: |w| sddmm(w, 32) },
    Op { name: "sddmm128", cases: WEIGHTS, prepare: |w| sddmm(w, 128) },
    Op { name: "add", cases: PAIRS, prepare: |w| binary(w.csr()?, w.second()?.csr()?, |a, b| a.add(b)) },
    Op { name: "mul", cases: PAIRS, prepare: |w| binary(w.csr()?, w.second()?.csr()?, |a, b| a.mul(b)) },
    Op { name: "add_coo", cases: &["uni3:f64"], prepare: |w| binary(w.coo()?, w.second()?.coo()?, |a, b| a.add(b)) },
    Op { name: "mul_coo", cases: &["uni3:f64"], prepare: |w| binary(w.coo()?, w.second()?.coo()?, |a, b| a.mul(b)) },
    Op { name: "bcast_row", cases: RMAT, prepare: bcast_row },
    Op { name: "bcast_col", cases: RMAT, prepare: bcast_col },
    Op { name: "sin", cases: RMAT, prepare: |w| unary(w, Tensor::sin) },
    Op { name: "relu", cases: RMAT, prepare: |w| unary(w, Tensor::relu) },
    Op { name: "exp_fill", cases: RMAT, prepare: |w| unary(w, Tensor::exp) },
    Op { name: "sum0", cases: REDUCED, prepare: |w| unary(w, |a| a.sum(0)) },
    Op { name: "sum1", cases: REDUCED, prepare: |w| unary(w, |a| a.sum(1)) },
    Op { name: "sumall", cases: REDUCED, prepare: |w| unary(w, |a| a.sum(..)) },
    Op { name: "max0", cases: REDUCED, prepare: |w| unary(w, |a| a.max(0)) },
    Op { name: "max1", cases: REDUCED, prepare: |w| unary(w, |a| a.max(1)) },
    Op { name: "maxall", cases: REDUCED, prepare: |w| unary(w, |a| a.max(..)) },
    Op { name: "softmax", cases: &["rmat20:f64", "nn90:f32"], prepare: softmax },
    Op { name: "rowslice", cases: RMAT, prepare: |w| unary(w, |a| a.narrow(100_000..600_000, 0)) },
    Op { name: "fancyrow", cases: RMAT, prepare: |w| selected(w, "rows", 0) },
    Op { name: "colslice", cases: RMAT, prepare: |w| unary(w, |a| a.narrow(10_000..210_000, 1)) },
    Op { name: "fancycol", cases: RMAT, prepare: |w| selected(w, "columns", 1) },
    Op { name: "kron", cases: &["kron:f64"], prepare: |w| binary(w.part("a")?, w.part("b")?, Tensor::kron) },
    Op { name: "nd_coalesce", cases: THREE, prepare: nd_coalesce },
    Op {
        name: "nd_transpose",
        cases: THREE,
        prepare: |w| of_three(w, |t| t.permute_dims([2, 0, 1])?.to_layout(Layout::Coo)),
    },
    Op {
        name: "nd_reshape",
        cases: THREE,
        prepare: |w| of_three(w, |t| t.reshape([t.shape()[0], t.shape()[1] * t.shape()[2]])),
    },
    Op { name: "nd_sum0", cases: THREE, prepare: |w| of_three(w, |t| t.sum(0)) },
    Op { name: "nd_sum1", cases: THREE, prepare: |w| of_three(w, |t| t.sum(1)) },
    Op { name: "nd_sum2", cases: THREE, prepare: |w| of_three(w, |t| t.sum(2)) },
    Op { name: "nd_sin", cases: THREE, prepare: |w| of_three(w, Tensor::sin) },
    Op { name: "nd_ttv", cases: THREE, prepare: |w| factored(w, "ijk,k->ij", &[], Some(2)) },
    Op { name: "nd_ttm", cases: THREE, prepare: |w| factored(w, "ijk,kr->ijr", &[2], None) },
    Op { name: "nd_mttkrp", cases: THREE, prepare: |w| factored(w, "ijk,jr,kr->ir", &[1, 2], None) },
    Op { name: "nd_mttkrp1", cases: THREE, prepare: |w| factored(w, "ijk,ir,kr->jr", &[0, 2], None) },
    Op { name: "nd_mttkrp2", cases: THREE, prepare: |w| factored(w, "ijk,ir,jr->kr", &[0, 1], None) },
    Op { name: "mtx_read", cases: &["uni4:f64", "lap100:f64"], prepare: mtx_read },
    Op { name: "mtx_write", cases: &["uni4:f64"], prepare: |w| saved(w, "mtx") },
    Op { name: "npz_save", cases: RMAT, prepare: |w| saved(w, "npz") },
    Op { name: "npz_load", cases: RMAT, prepare: |w| loaded(w, "npz", false) },
    Op { name: "npzc_load", cases: &["uni3:f64"], prepare: |w| loaded(w, "npz", true) },
    Op { name: "h5_save", cases: RMAT, prepare: |w| saved(w, "h5") },
    Op { name: "h5_load", cases: RMAT, prepare: |w| loaded(w, "h5", false) },
    Op { name: "bspmm", cases: BATCH, prepare: |w| batched(w, false) },
    Op { name: "bspmv", cases: BATCH, prepare: |w| batched(w, true) },
];

/// The operation called `name`.
pub fn find(name: &str) -> Outcome<&'static Op> {
    let found = OPS.iter().find(|op| op.name == name);
    found.ok_or_else(|| format!("no operation '{name}'; --list names them").into())
}

fn unary(w: &Workload, op: fn(&Tensor) -> openwork::Result<Tensor>) -> Outcome<Run> {
    let a = w.csr()?;
    Ok(Box::new(move || op(&a)))
}

fn binary(a: Tensor, b: Tensor, op: fn(&Tensor, &Tensor) -> openwork::Result<Tensor>) -> Outcome<Run> {
    Ok(Box::new(move || op(&a, &b)))
}

fn coo2csr(w: &Workload) -> Outcome<Run> {
    let a = w.raw_coo()?;
    Ok(Box::new(move || a.to_layout(Layout::Csr)))
}

fn dense2csr(w: &Workload) -> Outcome<Run> {
    let (dense, zero) = (w.dense()?, w.zero());
    Ok(Box::new(move || dense.to_sparse(Layout::Csr, zero.clone())))
}

fn spmv(w: &Workload) -> Outcome<Run> {
    binary(w.csr()?, w.vector(w.shape()?[1])?, Tensor::matmul)
}

fn spmv_prepared(w: &Workload) -> Outcome<Run> {
    let (a, x) = (prepare(&w.csr()?)?, w.vector(w.shape()?[1])?);
    Ok(Box::new(move || a.matmul(&x)))
}

fn spmv_t(w: &Workload) -> Outcome<Run> {
    binary(w.csr()?.permute_dims([1, 0])?, w.vector(w.shape()?[0])?, Tensor::matmul)
}

fn spmv_t_prepared(w: &Workload) -> Outcome<Run> {
    let (a, x) = (prepare(&w.csr()?.permute_dims([1, 0])?)?, w.vector(w.shape()?[0])?);
    Ok(Box::new(move || a.matmul(&x)))
}

fn spmm(w: &Workload, columns: usize) -> Outcome<Run> {
    binary(w.csr()?, w.matrix(w.shape()?[1], columns)?, Tensor::matmul)
}

fn dspmm(w: &Workload, rows: usize) -> Outcome<Run> {
    binary(w.matrix(rows, w.shape()?[0])?, w.csr()?, Tensor::matmul)
}

/// Dot products of rows of two dense matrices, where the sparse one stores something.
fn sddmm(w: &Workload, terms: usize) -> Outcome<Run> {
    let [rows, columns] = w.shape()?;
    let (x, y) = (w.matrix(rows, terms)?, w.matrix(columns, terms)?.permute_dims([1, 0])?);
    let mask = w.csr()?.is_stored()?;
    Ok(Box::new(move || x.matmul_with(&y, Product::default().mask(&mask))))
}

fn bcast_row(w: &Workload) -> Outcome<Run> {
    let columns = w.shape()?[1];
    binary(w.csr()?, w.vector(columns)?.reshape([1, columns])?, |a, v| a.mul(v))
}

fn bcast_col(w: &Workload) -> Outcome<Run> {
    let rows = w.shape()?[0];
    binary(w.csr()?, w.vector(rows)?.reshape([rows, 1])?, |a, v| a.mul(v))
}

/// Over what each row stores, as the peers do.
fn softmax(w: &Workload) -> Outcome<Run> {
    let a = w.csr()?.stored();
    Ok(Box::new(move || a.softmax(1)))
}

fn of_three(w: &Workload, op: fn(&Tensor) -> openwork::Result<Tensor>) -> Outcome<Run> {
    let t = w.three(false)?;
    Ok(Box::new(move || op(&t)))
}

/// Columns of the factors that a tensor is multiplied with.
const COLUMNS: usize = 16;

/// The tensor times a matrix for each of some axes, or a vector for one.
fn factored(w: &Workload, equation: &'static str, matrices: &[usize], vector: Option<usize>) -> Outcome<Run> {
    let t = w.three(false)?.to_layout(Layout::Csf)?;
    let mut factors = Vec::new();
    for &axis in matrices {
        factors.push(w.matrix(t.shape()[axis], COLUMNS)?);
    }
    if let Some(axis) = vector {
        factors.push(w.vector(t.shape()[axis])?);
    }
    Ok(Box::new(move || {
        let mut operands = vec![&t];
        operands.extend(&factors);
        einsum(equation, &operands)
    }))
}

fn nd_coalesce(w: &Workload) -> Outcome<Run> {
    let t = w.three(true)?;
    Ok(Box::new(move || t.coalesce()))
}

fn coo_coalesce(w: &Workload) -> Outcome<Run> {
    let a = w.raw_coo()?;
    Ok(Box::new(move || a.coalesce()))
}

fn selected(w: &Workload, what: &str, axis: usize) -> Outcome<Run> {
    let (a, chosen) = (w.csr()?, w.chosen(what)?);
    Ok(Box::new(move || a.index_select(&chosen, axis)))
}

/// A matrix for each batch, times a dense matrix or vector of its own.
fn batched(w: &Workload, vectors: bool) -> Outcome<Run> {
    let (a, x) = w.batch()?;
    let x = if vectors { x.narrow(0..1, 2)?.to_contiguous()? } else { x };
    binary(a, x, Tensor::matmul)
}

/// Writes the matrix to a file of some kind; what is written is the result.
fn saved(w: &Workload, extension: &str) -> Outcome<Run> {
    let (a, path) = (w.csr()?, w.scratch("saved", extension));
    Ok(Box::new(move || io::write(&path, &a).map(|()| a.clone())))
}

fn loaded(w: &Workload, extension: &str, compress: bool) -> Outcome<Run> {
    let path = w.scratch(if compress { "compressed" } else { "loaded" }, extension);
    io::write_with(&path, &w.csr()?, &io::WriteOptions { compress, ..Default::default() })?;
    Ok(Box::new(move || io::read(&path)))
}

fn mtx_read(w: &Workload) -> Outcome<Run> {
    let path = w.matrix_market()?;
    std::fs::read(&path)?; // the first call should find the file in memory, too
    Ok(Box::new(move || matrix_market::read(&path)))
}
