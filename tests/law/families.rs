//! Families of ops beyond the registry: scans, order, indexing, … Each has a file of its own that says what the ops
//! mean to the oracle; this one runs them all, in samples and in the full grid.

use super::cells::Cell;
use super::report::Report;
use super::rng::Rng;
use super::sample::any_cell;
use super::{
    compare, composed, custom, facts, forms, index, nary, order, parts, products, rearrange, scan, shape, short,
    softmax, statistics,
};

/// Ops that are checked in one way.
pub struct Family {
    pub name: &'static str,
    pub ops: &'static [&'static str],
    /// Rounds over all ops in the normal run.
    pub rounds: usize,
    /// Checks one op on tensors made of a cell and a seed; arguments come of the seed too.
    pub check: fn(&str, &Cell, u64) -> Result<(), String>,
}

#[rustfmt::skip] // one to a line
pub const FAMILIES: &[Family] = &[
    compare::FAMILY,
    composed::FAMILY,
    custom::FAMILY,
    facts::FAMILY,
    forms::FAMILY,
    index::FAMILY,
    nary::FAMILY,
    order::FAMILY,
    parts::FAMILY,
    products::FAMILY,
    rearrange::FAMILY,
    scan::FAMILY,
    shape::FAMILY,
    short::FAMILY,
    softmax::FAMILY,
    statistics::FAMILY,
];

/// Every op of a family on random cells.
pub fn sampled(family: &Family, report: &mut Report, rng: &mut Rng, rounds: usize) {
    for _ in 0..rounds {
        for op in family.ops {
            let (cell, seed) = (any_cell(rng), rng.next());
            report.case(op, &[&cell], || format!("{cell:?} {seed:#x}"), || (family.check)(op, &cell, seed));
            if report.is_full() {
                return;
            }
        }
    }
}

/// Every op of a family on given cells.
pub fn on_cells(family: &Family, report: &mut Report, rng: &mut Rng, mut cells: impl FnMut(&mut Rng) -> Vec<Cell>) {
    for op in family.ops {
        for cell in cells(rng) {
            let seed = rng.next();
            report.case(op, &[&cell], || format!("{cell:?} {seed:#x}"), || (family.check)(op, &cell, seed));
        }
    }
}
