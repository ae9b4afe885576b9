//! Random samples of the grid: every op, on cells drawn from all.

use openwork::{BinaryOp, ReduceOp, UnaryOp};

use super::cells::{Cell, FillKind, SHAPES, Store};
use super::oracle::OType;
use super::pointwise::{self, Mode};
use super::report::Report;
use super::rng::Rng;
use super::{big, einsum, gradients, matmul, numbers, oracle, reduce, semiring, storage};

/// A part of the law: runs that many rounds over all its ops.
pub type Part = fn(&mut Report, &mut Rng, usize);

/// Every part, with the number of rounds of the normal run.
pub const PARTS: [(&str, Part, usize); 12] = [
    ("unary", unary, 1500),
    ("binary", binary, 3500),
    ("pattern", shared_pattern, 400),
    ("numbers", numbers, 1000),
    ("reduce", reductions, 6000),
    ("matmul", products, 60_000),
    ("semirings", semirings, 60_000),
    ("einsum", einsum::sums, 60_000),
    ("gradients", gradients::sampled, 1500),
    ("differences", gradients::differences::sampled, gradients::differences::ROUNDS),
    ("storage", storages, 2000),
    ("large", large, 1),
];

/// Any cell whose parts suit each other.
pub fn any_cell(rng: &mut Rng) -> Cell {
    any_cell_of(rng, *rng.clone().pick(&OType::ALL))
}

fn any_cell_of(rng: &mut Rng, dtype: OType) -> Cell {
    loop {
        let shape = rng.pick(&SHAPES).to_vec();
        if let Some(cell) = cell_of_shape(rng, dtype, &shape) {
            return cell;
        }
    }
}

/// A cell of that shape and dtype, unless what was drawn does not suit it.
pub fn cell_of_shape(rng: &mut Rng, dtype: OType, shape: &[usize]) -> Option<Cell> {
    let cell = Cell { store: *rng.pick(&Store::ALL), fill: *rng.pick(&FillKind::ALL), dtype, shape: shape.to_vec() };
    cell.suits().then_some(cell)
}

pub fn any_mode(rng: &mut Rng) -> Mode {
    if rng.one_in(2) { Mode::Finite } else { Mode::Exact }
}

/// A dtype beside another: mostly the same.
pub fn partner(rng: &mut Rng, dtype: OType) -> OType {
    if rng.one_in(2) { dtype } else { *rng.pick(&OType::ALL) }
}

/// A shape that broadcasts with another: some axes of size 1, some left out.
pub fn broadcasting(rng: &mut Rng, shape: &[usize]) -> Vec<usize> {
    let mut out = shape.to_vec();
    if rng.one_in(2) {
        return out;
    }
    out.iter_mut().for_each(|n| *n = if rng.one_in(3) { 1 } else { *n });
    out.drain(..rng.below(out.len() + 1));
    out
}

/// Two cells whose shapes broadcast.
pub fn any_pair(rng: &mut Rng) -> [Cell; 2] {
    let a = any_cell(rng);
    let dtype = partner(rng, a.dtype);
    let shape = broadcasting(rng, &a.shape);
    loop {
        if let Some(b) = cell_of_shape(rng, dtype, &shape) {
            return if rng.one_in(2) { [a, b] } else { [b, a] };
        }
    }
}

pub fn unary(report: &mut Report, rng: &mut Rng, rounds: usize) {
    for _ in 0..rounds {
        for &op in UnaryOp::ALL {
            let (cell, mode, seed) = (any_cell(rng), any_mode(rng), rng.next());
            let what = || format!("{cell:?} {mode:?} {seed:#x}");
            report.case(op.name(), &[&cell], what, || pointwise::unary(op, &cell, seed, mode));
            if report.is_full() {
                return;
            }
        }
    }
}

pub fn binary(report: &mut Report, rng: &mut Rng, rounds: usize) {
    for _ in 0..rounds {
        for &op in BinaryOp::ALL {
            let ([a, b], mode, seed) = (any_pair(rng), any_mode(rng), rng.next());
            let what = || format!("{a:?} {b:?} {mode:?} {seed:#x}");
            report.case(op.name(), &[&a, &b], what, || pointwise::binary(op, [&a, &b], seed, mode));
            if report.is_full() {
                return;
            }
        }
    }
}

/// Two operands that share one pattern in memory.
fn shared_pattern(report: &mut Report, rng: &mut Rng, rounds: usize) {
    for _ in 0..rounds {
        for &op in BinaryOp::ALL {
            let (cell, mode, seed) = (any_cell(rng), any_mode(rng), rng.next());
            let what = || format!("{cell:?} with its square {mode:?} {seed:#x}");
            report.case(op.name(), &[&cell], what, || pointwise::with_square(op, &cell, seed, mode));
            if report.is_full() {
                return;
            }
        }
    }
}

fn numbers(report: &mut Report, rng: &mut Rng, rounds: usize) {
    for _ in 0..rounds {
        for &op in BinaryOp::ALL {
            let (cell, mode, seed) = (any_cell(rng), any_mode(rng), rng.next());
            let what = || format!("{cell:?} with a number {mode:?} {seed:#x}");
            report.case(op.name(), &[&cell], what, || numbers::check(op, &cell, seed, mode));
            if report.is_full() {
                return;
            }
        }
    }
}

pub fn reductions(report: &mut Report, rng: &mut Rng, rounds: usize) {
    for _ in 0..rounds {
        for &op in ReduceOp::ALL {
            let (cell, mode, seed) = (any_cell(rng), any_mode(rng), rng.next());
            let axes = rng.pick(&reduce::axis_sets(cell.shape.len())).clone();
            let keepdims = rng.one_in(2);
            let what = || format!("{cell:?} over {axes:?} keepdims {keepdims} {mode:?} {seed:#x}");
            report.case(op.name(), &[&cell], what, || reduce::reduce(op, &cell, &axes, keepdims, seed, mode));
            if report.is_full() {
                return;
            }
        }
    }
}

fn products(report: &mut Report, rng: &mut Rng, rounds: usize) {
    for _ in 0..rounds {
        let shapes = matmul::any_shapes(rng);
        let dtype = *rng.pick(&OType::ALL);
        let other = partner(rng, dtype);
        let (Some(a), Some(b)) = (cell_of_shape(rng, dtype, &shapes[0]), cell_of_shape(rng, other, &shapes[1])) else {
            continue;
        };
        let (mode, seed) = (any_mode(rng), rng.next());
        let what = || format!("{a:?} {b:?} {mode:?} {seed:#x}");
        report.case("matmul", &[&a, &b], what, || matmul::matmul([&a, &b], seed, mode));
        if report.is_full() {
            return;
        }
    }
}

fn semirings(report: &mut Report, rng: &mut Rng, rounds: usize) {
    for _ in 0..rounds {
        let shapes = matmul::any_shapes(rng);
        let dtype = *rng.pick(&OType::ALL);
        let other = partner(rng, dtype);
        let (Some(a), Some(b)) = (cell_of_shape(rng, dtype, &shapes[0]), cell_of_shape(rng, other, &shapes[1])) else {
            continue;
        };
        let of = oracle::matmul_shape(&shapes[0], &shapes[1]).unwrap_or_default();
        let mask = if rng.one_in(2) { cell_of_shape(rng, OType::Bool, &of) } else { None };
        let (semiring, mode, seed) = (semiring::any(rng), any_mode(rng), rng.next());
        let what = || format!("{} {a:?} {b:?} mask {mask:?} {mode:?} {seed:#x}", semiring.name());
        let run = || semiring::matmul_with([&a, &b], semiring, mask.as_ref(), seed, mode);
        report.case("matmul_with", &[&a, &b], what, run);
        if report.is_full() {
            return;
        }
    }
}

fn storages(report: &mut Report, rng: &mut Rng, rounds: usize) {
    for _ in 0..rounds {
        for (name, op) in storage::OPS {
            let (cell, seed) = (any_cell(rng), rng.next());
            report.case(name, &[&cell], || format!("{cell:?} {seed:#x}"), || storage::check(op, &cell, seed));
        }
        for to in Store::ALL {
            let (cell, seed) = (any_cell(rng), rng.next());
            if to.suits(&cell.shape) {
                let what = || format!("{cell:?} to {to:?} {seed:#x}");
                report.case("to_layout", &[&cell], what, || storage::convert(&cell, to, seed));
            }
        }
        if report.is_full() {
            return;
        }
    }
}

/// Tensors large enough to be cut into chunks, on one thread and on three.
fn large(report: &mut Report, rng: &mut Rng, rounds: usize) {
    for _ in 0..rounds {
        for (a, b) in big::cells() {
            let seed = rng.next();
            let what = || format!("{a:?} {b:?} {seed:#x}");
            let mut made = None;
            report.case("construct", &[&a, &b], what, || {
                made = Some(big::operands([&a, &b], seed));
                Ok(())
            });
            let Some(operands) = made else { continue };
            for (name, op) in big::OPS {
                report.case(name, &[&a, &b], what, || big::check(op, &operands));
                if report.is_full() {
                    return;
                }
            }
            if a.shape[0] < 1000 {
                report.case("matmul", &[&a, &b], what, || big::product(&operands));
            }
        }
    }
}
