//! The law for scans and differences.

use super::bridge::dtype_of;
use super::cells::Cell;
use super::families::Family;
use super::gen_::generate;
use super::oracle::{OType, scan};
use super::rng::Rng;
use super::statistics::compare;
use super::values::Data;

pub const FAMILY: Family = Family {
    name: "scan",
    ops: &["cumulative_sum", "cumulative_prod", "cummax", "cummin", "diff"],
    rounds: 2500,
    check,
};

fn check(op: &str, cell: &Cell, seed: u64) -> Result<(), String> {
    let x = generate(cell, seed, Data::Summable);
    let rng = &mut Rng::new(seed ^ 0x99);
    let ndim = x.model.ndim();
    // Now and then out of range.
    let axis = if ndim > 0 && !rng.one_in(30) { rng.below(ndim) } else { ndim };
    let signed = if axis < ndim && rng.one_in(3) { axis as isize - ndim as isize } else { axis as isize };
    let m = &x.model;
    let dtype = rng.one_in(4).then(|| *rng.pick(&OType::ALL));
    let initial = dtype.is_none() && rng.one_in(3);
    let to = dtype.map(dtype_of);
    let n = rng.below(4);
    let (want, what) = match op {
        "cumulative_sum" => (scan::scan("sum", m, axis, dtype, initial), format!("{to:?} initial {initial}")),
        "cumulative_prod" => (scan::scan("prod", m, axis, dtype, initial), format!("{to:?} initial {initial}")),
        "cummax" => (scan::scan("max", m, axis, None, false), String::new()),
        "cummin" => (scan::scan("min", m, axis, None, false), String::new()),
        _ => (scan::diff(m, n, axis), format!("{n}")),
    };
    compare(&x, want, &|t| match op {
        "cumulative_sum" => match to {
            Some(to) => t.cumulative_sum_as(to, signed),
            None if initial => t.cumulative_sum_with_initial(signed),
            None => t.cumulative_sum(signed),
        },
        "cumulative_prod" => match to {
            Some(to) => t.cumulative_prod_as(to, signed),
            None if initial => t.cumulative_prod_with_initial(signed),
            None => t.cumulative_prod(signed),
        },
        "cummax" => t.cummax(signed),
        "cummin" => t.cummin(signed),
        _ => t.diff(n, signed),
    })
    .map_err(|e| format!("axis {signed} {what}: {e}"))
}
