//! The full grid: every op on every storage, fill and dtype.

use openwork::{BinaryOp, ReduceOp, UnaryOp};

use super::cells::{Cell, FillKind, SHAPES, Store};
use super::families::Family;
use super::oracle::OType;
use super::pointwise::{self, Mode};
use super::report::Report;
use super::rng::Rng;
use super::sample::partner;
use super::{families, matmul, reduce, storage};

/// Every storage with every fill and dtype that suit it, each with some shapes that suit both.
fn cells(rng: &mut Rng, shapes: usize) -> Vec<Cell> {
    let mut out = Vec::new();
    for store in Store::ALL {
        for fill in FillKind::ALL {
            for dtype in OType::ALL {
                let all = SHAPES.iter().map(|s| Cell { store, fill, dtype, shape: s.to_vec() });
                let mut all: Vec<Cell> = all.filter(Cell::suits).collect();
                // The first shapes are the ones with more elements: one of them always.
                let large = all.len().min(4);
                for i in 0..shapes.min(all.len()) {
                    let at = if i == 0 { rng.below(large) } else { rng.below(all.len()) };
                    out.push(all.swap_remove(at));
                }
            }
        }
    }
    out
}

const MODES: [Mode; 2] = [Mode::Finite, Mode::Exact];

pub fn unary(report: &mut Report, rng: &mut Rng) {
    for &op in UnaryOp::ALL {
        for cell in cells(rng, 8) {
            for mode in MODES {
                let seed = rng.next();
                let what = || format!("{cell:?} {mode:?} {seed:#x}");
                report.case(op.name(), &[&cell], what, || pointwise::unary(op, &cell, seed, mode));
            }
        }
    }
}

/// Every pair of storages under every op, with some fills and dtypes.
pub fn binary(report: &mut Report, rng: &mut Rng, samples: usize) {
    for &op in BinaryOp::ALL {
        for left in Store::ALL {
            for right in Store::ALL {
                for _ in 0..samples {
                    let Some([a, b]) = pair(rng, left, right) else { continue };
                    let (mode, seed) = (*rng.pick(&MODES), rng.next());
                    let what = || format!("{a:?} {b:?} {mode:?} {seed:#x}");
                    report.case(op.name(), &[&a, &b], what, || pointwise::binary(op, [&a, &b], seed, mode));
                }
            }
        }
    }
}

/// Cells of two storages whose shapes broadcast; `None` if none was found soon.
fn pair(rng: &mut Rng, left: Store, right: Store) -> Option<[Cell; 2]> {
    let dtype = *rng.pick(&OType::ALL);
    let other = partner(rng, dtype);
    (0..200).find_map(|_| {
        let (s, t) = (*rng.pick(&SHAPES), *rng.pick(&SHAPES));
        let a = Cell { store: left, fill: *rng.pick(&FillKind::ALL), dtype, shape: s.to_vec() };
        let b = Cell { store: right, fill: *rng.pick(&FillKind::ALL), dtype: other, shape: t.to_vec() };
        let fits = super::oracle::broadcast_shapes(s, t).is_ok();
        (fits && a.suits() && b.suits()).then_some([a, b])
    })
}

/// Products of every pair of storages.
pub fn products(report: &mut Report, rng: &mut Rng, samples: usize) {
    for left in Store::ALL {
        for right in Store::ALL {
            for _ in 0..samples {
                let Some([a, b]) = factors(rng, left, right) else { continue };
                let (mode, seed) = (*rng.pick(&MODES), rng.next());
                let what = || format!("{a:?} {b:?} {mode:?} {seed:#x}");
                report.case("matmul", &[&a, &b], what, || matmul::matmul([&a, &b], seed, mode));
            }
        }
    }
}

/// Cells of two storages whose shapes multiply, mostly.
fn factors(rng: &mut Rng, left: Store, right: Store) -> Option<[Cell; 2]> {
    (0..20).find_map(|_| {
        let [s, t] = matmul::any_shapes(rng);
        let dtype = *rng.pick(&OType::ALL);
        let a = Cell { store: left, fill: *rng.pick(&FillKind::ALL), dtype, shape: s };
        let b = Cell { store: right, fill: *rng.pick(&FillKind::ALL), dtype: partner(rng, dtype), shape: t };
        (a.suits() && b.suits()).then_some([a, b])
    })
}

pub fn reductions(report: &mut Report, rng: &mut Rng) {
    for &op in ReduceOp::ALL {
        for cell in cells(rng, 8) {
            for axes in reduce::axis_sets(cell.shape.len()) {
                let (keepdims, mode, seed) = (rng.one_in(2), *rng.pick(&MODES), rng.next());
                let what = || format!("{cell:?} over {axes:?} keepdims {keepdims} {mode:?} {seed:#x}");
                report.case(op.name(), &[&cell], what, || reduce::reduce(op, &cell, &axes, keepdims, seed, mode));
            }
        }
    }
}

pub fn family(family: &Family, report: &mut Report, rng: &mut Rng) {
    families::on_cells(family, report, rng, |rng| cells(rng, 10));
}

pub fn storage(report: &mut Report, rng: &mut Rng) {
    for (name, op) in storage::OPS {
        for cell in cells(rng, 10) {
            let seed = rng.next();
            report.case(name, &[&cell], || format!("{cell:?} {seed:#x}"), || storage::check(op, &cell, seed));
        }
    }
    for to in Store::ALL {
        for cell in cells(rng, 10).into_iter().filter(|c| to.suits(&c.shape)) {
            let seed = rng.next();
            let what = || format!("{cell:?} to {to:?} {seed:#x}");
            report.case("to_layout", &[&cell], what, || storage::convert(&cell, to, seed));
        }
    }
}
