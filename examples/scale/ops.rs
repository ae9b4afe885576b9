//! The ops that are measured, each with what it works on.

use openwork::{DType, Layout, Result, Tensor};

/// How an op goes through memory.
#[derive(Clone, Copy, PartialEq)]
pub enum Access {
    /// From front to back.
    Streams,
    /// Where indices say.
    Gathers,
    /// Neither, as a sort: its memory alone is measured.
    Other,
}

pub type Operands = Vec<Tensor>;

pub struct Op {
    pub name: &'static str,
    pub access: Access,
    /// Of so many stored elements.
    pub operands: fn(usize) -> Result<Operands>,
    pub run: fn(&Operands) -> Result<Vec<Tensor>>,
}

use Access::{Gathers, Other, Streams};

macro_rules! op {
    ($name:literal, $access:ident, $operands:expr, |$x:ident| $run:expr) => {
        Op { name: $name, access: $access, operands: $operands, run: |$x| Ok(vec![$run]) }
    };
}

pub const OPS: &[Op] = &[
    op!("add", Streams, two, |x| x[0].add(&x[1])?),
    op!("add_same_pattern", Streams, same, |x| x[0].add(&x[1])?),
    op!("mul", Streams, two, |x| x[0].mul(&x[1])?),
    op!("mul_number", Streams, one, |x| (&x[0] * 2.0)?),
    op!("relu", Streams, one, |x| x[0].relu()?),
    op!("exp_stored", Streams, one, |x| x[0].stored().exp()?),
    op!("cast_f32", Streams, one, |x| x[0].cast(DType::F32)?),
    op!("sum_all", Streams, one, |x| x[0].sum(..)?),
    op!("max_all", Streams, one, |x| x[0].max(..)?),
    op!("sum_rows", Streams, one, |x| x[0].sum(1)?),
    op!("max_rows", Streams, one, |x| x[0].max(1)?),
    op!("var_rows", Streams, one, |x| x[0].var(0.0, 1)?),
    op!("softmax_rows", Streams, stored, |x| x[0].softmax(1)?),
    op!("csr_to_coo", Streams, one, |x| x[0].to_layout(Layout::Coo)?),
    op!("coo_to_csr", Streams, coo, |x| x[0].to_layout(Layout::Csr)?),
    op!("prune", Streams, one, |x| x[0].prune()?),
    op!("concat_rows", Streams, two, |x| Tensor::concat(&x[..], 0)?),
    op!("strided_add", Streams, dense_two, |x| x[0].add(&x[1])?),
    op!("strided_exp", Streams, dense, |x| x[0].exp()?),
    op!("strided_sum_all", Streams, dense, |x| x[0].sum(..)?),
    op!("strided_sum_columns", Streams, dense, |x| x[0].sum(0)?),
    op!("strided_softmax", Streams, dense, |x| x[0].softmax(1)?),
    op!("strided_to_csr", Streams, dense_sparse, |x| x[0].to_sparse(Layout::Csr, 0.0)?),
    op!("sum_columns", Gathers, one, |x| x[0].sum(0)?),
    op!("max_columns", Gathers, one, |x| x[0].max(0)?),
    op!("softmax_columns", Gathers, stored, |x| x[0].softmax(0)?),
    op!("csr_to_csc", Gathers, one, |x| x[0].to_layout(Layout::Csc)?),
    op!("shuffled_to_csr", Gathers, shuffled, |x| x[0].to_layout(Layout::Csr)?),
    op!("matmul_vector", Gathers, vector, |x| x[0].matmul(&x[1])?),
    op!("select_rows", Gathers, chosen, |x| x[0].index_select(&x[1], 0)?),
    op!("mul_row", Gathers, row, |x| x[0].mul(&x[1])?),
    op!("narrow_columns", Streams, one, |x| x[0].narrow(0..x[0].shape()[1] / 2, 1)?),
    op!("strided_transposed", Gathers, dense, |x| x[0].permute_dims([1, 0])?.to_contiguous()?),
    op!("matmul_itself", Other, fewer, |x| x[0].matmul(&x[0])?),
    op!("matmul_16_columns", Other, panel, |x| x[0].matmul(&x[1])?),
    op!("centred", Other, one, |x| (&x[0] - &x[0].mean(openwork::keep(0))?)?),
    op!("standardize", Other, one, |x| x[0].standardize(0.0, 0)?),
    op!("var_columns", Other, one, |x| x[0].var(0.0, 0)?),
    op!("cumsum_rows", Other, fewer, |x| x[0].stored().cumulative_sum(1)?),
    op!("median_rows", Other, one, |x| x[0].median(1)?),
    op!("median_columns", Other, one, |x| x[0].median(0)?),
    op!("argmax_rows", Other, one, |x| x[0].argmax(1)?),
    op!("sort_rows", Other, one, |x| x[0].sort(1)?),
    op!("sort_columns", Other, one, |x| x[0].sort(0)?),
    op!("argsort_rows", Other, stored, |x| x[0].argsort(1)?),
    Op {
        name: "topk_rows",
        access: Other,
        operands: one,
        run: |x| x[0].topk(4, 1).map(|(values, places)| vec![values, places]),
    },
    op!("unique_values", Other, one, |x| x[0].unique_values()?),
    op!("reshape", Other, one, |x| x[0].reshape([x[0].shape()[0] / 2, x[0].shape()[1] * 2])?),
    op!("roll_columns", Other, one, |x| x[0].roll(7, 1)?),
    op!("flip_columns", Other, one, |x| x[0].flip(1)?),
    op!("tril", Other, one, |x| x[0].tril(0)?),
    op!("concat_columns", Other, two, |x| Tensor::concat(&x[..], 1)?),
    op!("select_columns", Other, chosen, |x| x[0].index_select(&x[1], 1)?),
    op!("where", Other, condition, |x| x[0].where_(&x[1], &x[2])?),
    op!("nonzero", Other, one, |x| Tensor::stack(&x[0].nonzero()?, 0)?),
    op!("to_dense", Other, small, |x| x[0].to_dense()?),
    op!("csf_permuted", Other, three, |x| x[0].permute_dims([2, 0, 1])?.to_layout(Layout::Csf)?),
    op!("csf_sum_first", Other, three, |x| x[0].sum(0)?),
    op!("hybrid_sort", Other, hybrid, |x| x[0].sort(1)?),
    op!("hybrid_sum_rows", Other, hybrid, |x| x[0].sum(0)?),
    op!("hybrid_permuted", Other, hybrid, |x| x[0].permute_dims([1, 0])?.to_layout(Layout::Csr)?),
    op!("strided_sort", Other, dense, |x| x[0].sort(1)?),
    op!("strided_sort_columns", Other, dense, |x| x[0].sort(0)?),
    op!("strided_argsort", Other, dense, |x| x[0].argsort(1)?),
    op!("strided_sort_all", Other, flat, |x| x[0].sort(0)?),
    op!("strided_argsort_all", Other, flat, |x| x[0].argsort(0)?),
    op!("strided_unique_values", Other, flat, |x| x[0].unique_values()?),
    op!("strided_median_columns", Other, dense, |x| x[0].median(0)?),
    op!("strided_cumsum", Other, dense, |x| x[0].cumulative_sum(0)?),
    op!("bincount", Other, integers, |x| x[0].bincount(None, 0)?),
    Op {
        name: "histogram",
        access: Other,
        operands: flat,
        run: |x| x[0].histogram(100, None).map(|(counts, edges)| vec![counts, edges]),
    },
    op!("searchsorted", Other, sorted, |x| x[0].searchsorted(&x[1])?),
    op!("strided_gather", Other, gathered, |x| x[0].gather(&x[1], 1)?),
    op!("strided_mask", Other, masked, |x| x[0].mask(&x[1])?),
    op!("strided_index_select", Other, dense_chosen, |x| x[0].index_select(&x[1], 0)?),
];

/// Elements that every row stores.
const PER_ROW: usize = 16;

/// Rows, and columns, of a matrix that stores about so much: an even number.
pub fn rows(size: usize) -> usize {
    (size / PER_ROW / 2 * 2).max(PER_ROW)
}

/// A sequence that looks random (SplitMix64).
fn mixed(seed: u64, i: usize) -> u64 {
    let mut x = (i as u64).wrapping_add(seed << 40).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// The columns of the stored elements, row by row: one in each of as many equal stretches as a row stores elements.
pub fn columns(size: usize, seed: u64) -> Vec<u32> {
    let stretch = (rows(size) / PER_ROW) as u64;
    let column = |i| ((i % PER_ROW) as u64 * stretch + mixed(seed, i) % stretch) as u32;
    (0..rows(size) * PER_ROW).map(column).collect()
}

fn numbers(n: usize, seed: u64) -> Result<Tensor> {
    Tensor::from_vec([n], (0..n).map(|i| (mixed(seed + 9, i) >> 11) as f64 * 2f64.powi(-52) - 1.0).collect())
}

fn matrix(size: usize, seed: u64) -> Result<Tensor> {
    let n = rows(size);
    let pointers: Vec<u32> = (0..=n).map(|i| (i * PER_ROW) as u32).collect();
    Tensor::csr([n, n], pointers, columns(size, seed), &numbers(n * PER_ROW, seed)?, 0.0)
}

/// Numbers below a limit, as places.
fn places(n: usize, limit: usize) -> Result<Tensor> {
    Tensor::from_vec([n], (0..n).map(|i| (mixed(5, i) % limit as u64) as i64).collect())
}

fn one(size: usize) -> Result<Operands> {
    Ok(vec![matrix(size, 1)?])
}

fn stored(size: usize) -> Result<Operands> {
    Ok(vec![matrix(size, 1)?.stored()])
}

fn two(size: usize) -> Result<Operands> {
    Ok(vec![matrix(size / 2, 1)?, matrix(size / 2, 2)?])
}

fn same(size: usize) -> Result<Operands> {
    let x = matrix(size / 2, 1)?;
    Ok(vec![(&x * 3.0)?, x])
}

fn fewer(size: usize) -> Result<Operands> {
    one(size / 8)
}

fn coo(size: usize) -> Result<Operands> {
    Ok(vec![matrix(size, 1)?.to_layout(Layout::Coo)?])
}

/// The same elements in no order.
fn shuffled(size: usize) -> Result<Operands> {
    let (n, columns) = (rows(size), columns(size, 1));
    // A step that has no divisor in common with the number of elements comes to each of them once.
    let len = columns.len();
    let mut step = (len as f64 * 0.618) as usize | 1;
    while gcd(len, step) > 1 {
        step += 2;
    }
    let place = |i: usize| (i as u128 * step as u128 % len as u128) as usize;
    let of_row: Vec<u32> = (0..len).map(|i| (place(i) / PER_ROW) as u32).collect();
    let of_column: Vec<u32> = (0..len).map(|i| columns[place(i)]).collect();
    Ok(vec![Tensor::coo([n, n], vec![of_row, of_column], &numbers(len, 1)?, 0.0)?])
}

fn gcd(a: usize, b: usize) -> usize {
    if b == 0 { a } else { gcd(b, a % b) }
}

fn vector(size: usize) -> Result<Operands> {
    Ok(vec![matrix(size, 1)?, numbers(rows(size), 3)?])
}

fn row(size: usize) -> Result<Operands> {
    Ok(vec![matrix(size, 1)?, numbers(rows(size), 3)?.reshape([1, rows(size)])?])
}

fn panel(size: usize) -> Result<Operands> {
    let n = rows(size);
    Ok(vec![matrix(size, 1)?, numbers(n * 16, 3)?.reshape([n, 16])?])
}

fn chosen(size: usize) -> Result<Operands> {
    let n = rows(size);
    Ok(vec![matrix(size, 1)?, places(n / 2, n)?])
}

fn condition(size: usize) -> Result<Operands> {
    let [x, y]: [Tensor; 2] = [matrix(size / 2, 1)?, matrix(size / 2, 2)?];
    Ok(vec![x.gt(0.0)?, x, y])
}

/// A matrix that is small enough to be dense: every element in ten is stored.
fn small(size: usize) -> Result<Operands> {
    let n = (size as f64 * 10.0).sqrt() as usize;
    Ok(vec![Tensor::random([n, n], 0.1, 0.0, Layout::Csr, 1)?])
}

fn three(size: usize) -> Result<Operands> {
    let size = size.next_multiple_of(PER_ROW * PER_ROW);
    let n = rows(size);
    Ok(vec![matrix(size, 1)?.reshape([n / 16, 16, n])?.to_layout(Layout::Csf)?])
}

/// Rows of 16 values, as many as a matrix stores, at every fourth place.
fn hybrid(size: usize) -> Result<Operands> {
    let n = rows(size);
    let at: Vec<u32> = (0..n).map(|i| 4 * i as u32).collect();
    Ok(vec![Tensor::coo([4 * n, PER_ROW], vec![at], &numbers(n * PER_ROW, 1)?.reshape([n, PER_ROW])?, 0.0)?])
}

/// Columns of strided matrices.
const COLUMNS: usize = 500;

fn dense(size: usize) -> Result<Operands> {
    let n = (size / COLUMNS).max(1);
    Ok(vec![numbers(n * COLUMNS, 1)?.reshape([n, COLUMNS])?])
}

fn dense_two(size: usize) -> Result<Operands> {
    Ok(vec![dense(size / 2)?.remove(0), dense(size / 2)?.remove(0)])
}

/// A strided matrix of which every tenth element is not zero.
fn dense_sparse(size: usize) -> Result<Operands> {
    let n = (size / COLUMNS).max(1);
    let value = |i| if mixed(1, i).is_multiple_of(10) { 1.0 + i as f64 } else { 0.0 };
    Ok(vec![Tensor::from_vec([n, COLUMNS], (0..n * COLUMNS).map(value).collect())?])
}

fn flat(size: usize) -> Result<Operands> {
    Ok(vec![numbers(size, 1)?])
}

fn integers(size: usize) -> Result<Operands> {
    Ok(vec![places(size, 1000)?])
}

fn sorted(size: usize) -> Result<Operands> {
    Ok(vec![numbers(size / 2, 1)?.sort(0)?, numbers(size / 2, 2)?])
}

fn gathered(size: usize) -> Result<Operands> {
    let x = dense(size / 2)?.remove(0);
    let index = places(x.size() as usize, COLUMNS)?.reshape(x.shape())?;
    Ok(vec![x, index])
}

fn masked(size: usize) -> Result<Operands> {
    let x = dense(size)?.remove(0);
    let mask = x.gt(0.0)?;
    Ok(vec![x, mask])
}

fn dense_chosen(size: usize) -> Result<Operands> {
    let x = dense(size)?.remove(0);
    let n = x.shape()[0];
    Ok(vec![places(n, n)?, x].into_iter().rev().collect())
}
