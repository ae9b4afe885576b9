//! The law: a layout changes cost, never answers. See `law/mod.rs`.

#[path = "law/mod.rs"]
mod checks;

use checks::cells::{Cell, FillKind, SHAPES, Store};
use checks::oracle::OType;
use checks::pointwise::{self, Mode};
use checks::report::Report;
use checks::rng::Rng;
use openwork::{BinaryOp, UnaryOp};

fn random_cell(rng: &mut Rng) -> Cell {
    loop {
        let cell = Cell {
            store: *rng.pick(&Store::ALL),
            fill: *rng.pick(&FillKind::ALL),
            dtype: *rng.pick(&OType::ALL),
            shape: rng.pick(&SHAPES).to_vec(),
        };
        if cell.suits() {
            return cell;
        }
    }
}

#[test]
fn unary() {
    let mut report = Report::new();
    let mut rng = Rng::new(1);
    for _ in 0..1000 {
        for &op in UnaryOp::ALL {
            let mode = if rng.one_in(2) { Mode::Finite } else { Mode::Exact };
            let cell = random_cell(&mut rng);
            if mode == Mode::Finite && !cell.fill.is_finite() {
                continue;
            }
            let seed = rng.next();
            report.cell(&cell);
            report.case(
                op.name(),
                || format!("{cell:?} {seed:#x} {mode:?}"),
                || pointwise::unary(op, &cell, seed, mode),
            );
        }
    }
    report.finish("unary");
}

#[test]
fn binary() {
    let mut report = Report::new();
    let mut rng = Rng::new(2);
    for _ in 0..2000 {
        for &op in BinaryOp::ALL {
            let mode = if rng.one_in(2) { Mode::Finite } else { Mode::Exact };
            let a = random_cell(&mut rng);
            let mut b = random_cell(&mut rng);
            let shape = if rng.one_in(3) {
                a.shape.clone()
            } else {
                // Some axes broadcast, some are left out.
                let mut s = a.shape.clone();
                for n in &mut s {
                    if rng.one_in(4) {
                        *n = 1;
                    }
                }
                if !s.is_empty() && rng.one_in(4) {
                    s.remove(0);
                }
                s
            };
            b.shape = shape;
            if !b.suits() || (mode == Mode::Finite && !(a.fill.is_finite() && b.fill.is_finite())) {
                continue;
            }
            if rng.one_in(2) {
                b.dtype = a.dtype;
            }
            if !b.suits() {
                continue;
            }
            let seed = rng.next();
            report.cell(&a);
            report.case(
                op.name(),
                || format!("{a:?} {b:?} {seed:#x} {mode:?}"),
                || pointwise::binary(op, [&a, &b], seed, mode),
            );
        }
    }
    report.finish("binary");
}
