//! The law for sorting, distinct elements, and counts in bins.

use openwork::{Fill, Result as Res, Tensor};

use super::cells::{Cell, Store};
use super::families::Family;
use super::gen_::{Sample, generate};
use super::oracle::{Expected, OType, OValue, Refused, order};
use super::rng::Rng;
use super::sample::any_cell;
use super::statistics::compare;
use super::values::Data;

pub const FAMILY: Family = Family {
    name: "order",
    ops: &[
        "sort",
        "argsort",
        "topk",
        "unique_values",
        "unique_counts",
        "unique_inverse",
        "unique_all",
        "searchsorted",
        "isin",
        "bincount",
        "histogram",
    ],
    rounds: 1500,
    check,
};

fn check(op: &str, cell: &Cell, seed: u64) -> Result<(), String> {
    let rng = &mut Rng::new(seed ^ 0xbb);
    match op {
        "sort" | "argsort" | "topk" => along(op, cell, seed, rng),
        "searchsorted" => search(cell, seed, rng),
        "isin" => among(cell, seed, rng),
        "bincount" => bins(cell, seed, rng),
        "histogram" => {
            // Its edges are exact for small numbers only.
            let x = generate(cell, seed, if rng.one_in(3) { Data::Summable } else { Data::Any });
            let n = rng.below(6);
            let range =
                rng.one_in(2).then(|| *rng.pick(&[(0.0, 4.0), (-3.0, 2.0), (1.0, 1.0), (2.0, 1.0), (0.0, f64::NAN)]));
            let want = order::histogram(&x.model, n, range);
            let (counts, edges) = (want.clone().map(|w| w.0.into()), want.map(|w| w.1));
            compare(&x, counts, &|t| Ok(t.histogram(n, range)?.0))
                .and_then(|()| compare(&x, edges, &|t| Ok(t.histogram(n, range)?.1)))
                .map_err(|e| format!("{n} {range:?}: {e}"))
        }
        _ => distinct(op, &generate(cell, seed, Data::Special)),
    }
}

fn along(op: &str, cell: &Cell, seed: u64, rng: &mut Rng) -> Result<(), String> {
    let x = generate(cell, seed, Data::Special);
    let (m, ndim) = (&x.model, x.model.ndim());
    let axis = if ndim > 0 && !rng.one_in(30) { rng.below(ndim) } else { ndim };
    let signed = if axis < ndim && rng.one_in(3) { axis as isize - ndim as isize } else { axis as isize };
    let descending = rng.one_in(2);
    let size = m.shape.get(axis).copied().unwrap_or(0);
    let k = if op == "topk" { rng.below(size + 2) } else { size };
    let want = order::sorted_along(m, axis, descending, k);
    let values = want.clone().map(|w| Expected::from(w.0));
    let places = want.map(|w| Expected::from(w.1));
    let check = |want, run: &dyn Fn(&Tensor) -> Res<Tensor>| {
        compare(&x, want, run).map_err(|e| format!("axis {signed} descending {descending} k {k}: {e}"))
    };
    match op {
        "sort" => {
            check(values, &|t| sort(t, signed, descending))?;
            stays_sparse(&x, signed, descending)
        }
        "argsort" => check(places, &|t| if descending { t.argsort_descending(signed) } else { t.argsort(signed) }),
        _ => {
            let top = |t: &Tensor| if descending { t.topk(k, signed) } else { t.topk_smallest(k, signed) };
            check(values, &|t| Ok(top(t)?.0))?;
            check(places, &|t| Ok(top(t)?.1))
        }
    }
}

fn sort(x: &Tensor, axis: isize, descending: bool) -> Res<Tensor> {
    if descending { x.sort_descending(axis) } else { x.sort(axis) }
}

/// Sorting with one fill stores as many elements as before, and in the layout there was.
fn stays_sparse(x: &Sample, axis: isize, descending: bool) -> Result<(), String> {
    let Ok(sorted) = openwork::with_densify_budget(0, || sort(&x.tensor, axis, descending)) else { return Ok(()) };
    let before = x.tensor.coalesce().map_err(|e| e.to_string())?;
    let Some(spec) = x.tensor.level_spec().filter(|_| !matches!(x.tensor.fill(), Some(Fill::Array(_)))) else {
        return Ok(());
    };
    if sorted.nse() != before.nse() {
        return Err(format!("{} stored elements become {}", before.nse(), sorted.nse()));
    }
    // Rows of value axes would be filled up, and singletons are no longer alone with their parents.
    let whole = spec.dims.iter().all(|d| d.1 == openwork::Part::Whole);
    let rows = spec.dims.len() != spec.levels.iter().map(|l| l.rank()).sum::<usize>();
    let singleton = spec.levels.contains(&openwork::LevelKind::Singleton);
    if whole && !rows && !singleton && sorted.level_spec() != Some(spec) {
        return Err(format!("from {} to {}", x.tensor.layout(), sorted.layout()));
    }
    Ok(())
}

fn distinct(op: &str, x: &Sample) -> Result<(), String> {
    let want = order::unique(&x.model);
    let part = |i: usize| want.clone().map(|w| Expected::from(w[i].clone()));
    // The results are no longer than what there is: comparing strided ones is enough where they are.
    match op {
        "unique_values" => compare(x, part(0), &|t| t.unique_values()),
        "unique_counts" => {
            compare(x, part(0), &|t| Ok(t.unique_counts()?.values))?;
            compare(x, part(3), &|t| Ok(t.unique_counts()?.counts))
        }
        "unique_inverse" => {
            compare(x, part(0), &|t| Ok(t.unique_inverse()?.values))?;
            compare(x, part(2), &|t| Ok(t.unique_inverse()?.inverse))
        }
        _ => {
            compare(x, part(0), &|t| Ok(t.unique_all()?.values))?;
            compare(x, part(1), &|t| Ok(t.unique_all()?.indices))?;
            compare(x, part(2), &|t| Ok(t.unique_all()?.inverse))?;
            compare(x, part(3), &|t| Ok(t.unique_all()?.counts))
        }
    }
}

/// A cell of a vector, or now and then of anything.
fn vector(rng: &mut Rng) -> Cell {
    loop {
        let cell = any_cell(rng);
        if cell.shape.len() == 1 || rng.one_in(500) {
            return cell;
        }
    }
}

/// A sample of a cell and one of another, mostly of its dtype; `None` where there is none of the other.
fn with_other(cell: &Cell, mut of: Cell, seed: u64, rng: &mut Rng) -> Option<[Sample; 2]> {
    if rng.one_in(2) {
        of.dtype = cell.dtype;
    }
    let of = if of.suits() { of } else { Cell { store: Store::Coo, ..of } };
    let two = || [generate(cell, seed, Data::Special), generate(&of, seed ^ 0x5a5a, Data::Special)];
    of.suits().then(two)
}

fn search(cell: &Cell, seed: u64, rng: &mut Rng) -> Result<(), String> {
    let of = vector(rng);
    let Some([x, sorted]) = with_other(cell, of, seed, rng) else { return Ok(()) };
    let right = rng.one_in(2);
    let want = order::searchsorted(&sorted.model, &x.model, right).map(Expected::from);
    let found = |t: &Tensor| match right {
        true => sorted.tensor.searchsorted_right(t),
        false => sorted.tensor.searchsorted(t),
    };
    compare(&x, want, &found).map_err(|e| format!("in {:?} right {right}: {e}", sorted.model))
}

fn among(cell: &Cell, seed: u64, rng: &mut Rng) -> Result<(), String> {
    let of = any_cell(rng);
    let Some([x, others]) = with_other(cell, of, seed, rng) else { return Ok(()) };
    let want = order::isin(&x.model, &others.model).map(Expected::from);
    compare(&x, want, &|t| t.isin(&others.tensor)).map_err(|e| format!("of {:?}: {e}", others.model))
}

fn bins(cell: &Cell, seed: u64, rng: &mut Rng) -> Result<(), String> {
    // Mostly integers that have bins.
    let mut cell = cell.clone();
    let ints: Vec<OType> = OType::ALL.into_iter().filter(|d| d.is_int()).collect();
    if !rng.one_in(10) {
        cell.dtype = *rng.pick(&ints);
    }
    if !cell.suits() {
        return Ok(());
    }
    let x = generate(&cell, seed, if rng.one_in(10) { Data::Any } else { Data::Small });
    if x.model.data.iter().flatten().any(|v| matches!(v, OValue::Int(v) if *v > 1000)) {
        return Ok(()); // more bins than the oracle has memory for
    }
    let n = rng.below(8);
    if rng.one_in(2) {
        return compare(&x, order::bincount(&x.model, n).map(Expected::from), &|t| t.bincount(None, n));
    }
    let other = (0..50).map(|_| any_cell(rng)).find(|c| c.shape == cell.shape);
    let Some(other) = other else { return Ok(()) };
    let w = generate(&other, seed ^ 0x3c3c, Data::Any);
    let want: Result<Expected, Refused> = order::weighted(&x.model, &w.model, n);
    // The strided operand has no absent elements to skip: it is compared only where the weights have none either.
    let got = |t: &Tensor| t.bincount(Some(&w.tensor), n);
    compare(&x, want, &got).map_err(|e| format!("weights {other:?} {n}: {e}"))
}
