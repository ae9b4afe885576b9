//! The law for what changes storage and not meaning, or looks at storage.

use openwork::{ErrorKind, Fill, Layout, LevelSpec, Scalar, Tensor};

use super::bridge::{background, dense, dtype_of, meaning, scalar_of, value_of};
use super::cells::{Cell, Store};
use super::gen_::{Sample, generate};
use super::oracle::{self, Expected, OType, OValue, Oracle, indices};
use super::pointwise::Mode;
use super::rng::Rng;
use super::values::{Data, value};

/// The ops of this file, each on a tensor and a seed for its arguments.
pub const OPS: [(&str, fn(&Sample, &mut Rng) -> Result<(), String>); 14] = [
    ("get", get),
    ("to_dense", to_dense),
    ("coalesce", coalesce),
    ("prune", prune),
    ("stored", stored),
    ("is_stored", is_stored),
    ("replace_fill", replace_fill),
    ("with_fill", with_fill),
    ("fill_value", fill_value),
    ("cast", cast),
    ("to_sparse", to_sparse),
    ("to_contiguous", to_contiguous),
    ("facts", facts),
    ("item", item),
];

pub fn check(op: fn(&Sample, &mut Rng) -> Result<(), String>, cell: &Cell, seed: u64) -> Result<(), String> {
    let x = generate(cell, seed, Data::Special);
    Mode::Exact.run(|| op(&x, &mut Rng::new(seed ^ 0x77)))
}

/// Conversion to the storage of another cell keeps the meaning.
pub fn convert(cell: &Cell, to: Store, seed: u64) -> Result<(), String> {
    let x = generate(cell, seed, Data::Special);
    let undefined = x.model.undefined;
    let (got, value_axes) = match to.spec(&cell.shape) {
        None if undefined => return Ok(()),
        None => (x.tensor.to_layout(Layout::Strided), false),
        Some(spec) => {
            let named = layout_of(to);
            let got = match named {
                Some(layout) if seed.is_multiple_of(2) => x.tensor.to_layout(layout),
                _ => x.tensor.to_levels(&spec),
            };
            (got, has_value_axes(&spec))
        }
    };
    let got = match got {
        // Rows cannot hold absent elements, and a singleton needs exactly one coordinate per row.
        Err(e) if undefined && value_axes && matches!(e.kind(), ErrorKind::Layout { .. }) => return Ok(()),
        Err(e) if to == Store::RowSingleton && matches!(e.kind(), ErrorKind::Layout { .. }) => return Ok(()),
        other => other.map_err(|e| format!("error: {e}"))?,
    };
    same(&x.model, &got)?;
    if let Some(spec) = to.spec(&cell.shape) {
        if got.level_spec().as_ref() != Some(&spec) {
            return Err(format!("asked for {spec:?}, got {:?}", got.level_spec()));
        }
        if !got.is_coalesced() {
            return Err("converted, but not coalesced".to_string());
        }
        in_order(&got)?;
        same_fill(x.fill.as_ref().unwrap_or(&zeros(&x.model)), &got)?;
    }
    Ok(())
}

fn layout_of(store: Store) -> Option<Layout> {
    Some(match store {
        Store::Coo | Store::CooDuplicates | Store::CooIso => Layout::Coo,
        Store::Hybrid | Store::HybridDuplicates | Store::HybridNarrowed => Layout::HybridCoo { dense_dims: 1 },
        Store::Csr | Store::CsrWindow | Store::CsrIso | Store::CsrNarrowed => Layout::Csr,
        Store::Csc => Layout::Csc,
        Store::Dcsr => Layout::Dcsr,
        Store::Dcsc => Layout::Dcsc,
        Store::Csf => Layout::Csf,
        Store::Bsr => Layout::Bsr { block: [2, 2] },
        Store::Bsc => Layout::Bsc { block: [2, 2] },
        _ => return None,
    })
}

pub fn has_value_axes(spec: &LevelSpec) -> bool {
    spec.dims.len() > spec.levels.iter().map(|l| l.rank()).sum()
}

/// Stored coordinates rise in the order of the levels.
fn in_order(x: &Tensor) -> Result<(), String> {
    let spec = x.level_spec().ok_or("a sparse tensor has levels")?;
    let level_dims: usize = spec.levels.iter().map(|l| l.rank()).sum();
    let coordinate = |index: &[usize], (axis, part): (usize, openwork::Part)| match part {
        openwork::Part::Whole => index[axis],
        openwork::Part::Div(b) => index[axis] / b,
        openwork::Part::Mod(b) => index[axis] % b,
        other => panic!("{other:?}"),
    };
    let mut last: Option<Vec<usize>> = None;
    for (index, _) in x.iter_stored() {
        let tuple: Vec<usize> = spec.dims[..level_dims].iter().map(|&d| coordinate(&index, d)).collect();
        if last.as_ref().is_some_and(|l| *l > tuple) {
            return Err(format!("stored coordinates {tuple:?} after {last:?}"));
        }
        last = Some(tuple);
    }
    Ok(())
}

fn zeros(model: &Oracle) -> Oracle {
    Oracle::full(&model.shape, model.dtype, Some(OValue::Int(0).cast(model.dtype)))
}

fn same(model: &Oracle, got: &Tensor) -> Result<(), String> {
    let got_meaning = meaning(got).map_err(|e| format!("result in {}: {e}", got.layout()))?;
    oracle::compare(&Expected::from(model.clone()), &got_meaning)
        .map_err(|e| format!("result in {}: {e}", got.layout()))
}

fn same_fill(want: &Oracle, got: &Tensor) -> Result<(), String> {
    match background(got)? {
        None => Ok(()),
        Some(fill) => oracle::compare(&Expected::from(want.clone()), &fill).map_err(|e| format!("fill: {e}")),
    }
}

fn ok(result: openwork::Result<Tensor>) -> Result<Tensor, String> {
    result.map_err(|e| format!("error: {e}"))
}

fn get(x: &Sample, _: &mut Rng) -> Result<(), String> {
    for index in indices(&x.model.shape) {
        let got = x.tensor.get(&index).map_err(|e| e.to_string())?.map(value_of);
        let want = x.model.at(&index);
        let equal = match (got, want) {
            (Some(g), Some(w)) => g.same(w),
            (g, w) => g.is_none() && w.is_none(),
        };
        if !equal {
            return Err(format!("at {index:?}: expected {want:?}, got {got:?}"));
        }
    }
    let outside: Vec<usize> = x.model.shape.clone();
    match x.tensor.get(&outside) {
        Ok(_) if !outside.is_empty() => Err(format!("get({outside:?}) is outside")),
        _ => Ok(()),
    }
}

fn to_dense(x: &Sample, _: &mut Rng) -> Result<(), String> {
    same(&x.model, &x.tensor)?;
    let absent = x.model.data.iter().any(Option::is_none);
    match x.tensor.to_dense() {
        Err(e) if absent && matches!(e.kind(), ErrorKind::Absent { .. }) => {}
        Err(e) => return Err(format!("error: {e}")),
        Ok(_) if absent => return Err("dense without a value for absent elements".to_string()),
        Ok(dense) => same(&x.model, &dense)?,
    }
    let zero = OValue::Int(1).cast(x.model.dtype);
    let filled = ok(x.tensor.to_dense_with(scalar_of(x.model.dtype, zero)))?;
    let data = x.model.data.iter().map(|v| v.or(Some(zero))).collect();
    same(&Oracle::new(&x.model.shape, x.model.dtype, data), &filled)
}

fn coalesce(x: &Sample, _: &mut Rng) -> Result<(), String> {
    let got = ok(x.tensor.coalesce())?;
    same(&x.model, &got)?;
    if !got.is_coalesced() {
        return Err("not coalesced".to_string());
    }
    match &x.fill {
        Some(fill) => {
            in_order(&got)?;
            same_fill(fill, &got)
        }
        None => Ok(()),
    }
}

/// What is left is not the fill, where rows are single elements.
fn prune(x: &Sample, _: &mut Rng) -> Result<(), String> {
    let got = ok(x.tensor.prune())?;
    same(&x.model, &got)?;
    let (Some(fill), Some(spec)) = (&x.fill, got.level_spec()) else { return Ok(()) };
    same_fill(fill, &got)?;
    if !fill.undefined && !has_value_axes(&spec) {
        let left = got.iter_stored().find(|(index, v)| identical(Some(value_of(*v)), fill.at(index)));
        if let Some((index, _)) = left {
            return Err(format!("the element at {index:?} is the fill and still stored"));
        }
        let differ = (0..x.model.data.len()).filter(|&i| !identical(x.model.data[i], fill.data[i])).count();
        if differ != got.nse() {
            return Err(format!("{differ} elements differ from the fill, {} are stored", got.nse()));
        }
    }
    Ok(())
}

/// The same bit for bit, NaN like NaN.
fn identical(a: Option<OValue>, b: Option<OValue>) -> bool {
    let bits = |a: f64, b: f64| (a.is_nan() && b.is_nan()) || a.to_bits() == b.to_bits();
    match (a, b) {
        (Some(OValue::Float(a)), Some(OValue::Float(b))) => bits(a, b),
        (Some(OValue::Complex(a, b)), Some(OValue::Complex(c, d))) => bits(a, c) && bits(b, d),
        (a, b) => a == b,
    }
}

/// Which elements are stored, by asking for each.
fn stored_mask(x: &Sample) -> Vec<bool> {
    let shape = &x.model.shape;
    let mut mask = vec![x.fill.is_none(); x.model.data.len()];
    x.tensor.iter_stored().for_each(|(index, _)| mask[oracle::ravel(&index, shape)] = true);
    mask
}

fn stored(x: &Sample, _: &mut Rng) -> Result<(), String> {
    let got = x.tensor.stored();
    let mask = stored_mask(x);
    let data = x.model.data.iter().zip(mask).map(|(v, stored)| v.filter(|_| stored)).collect();
    same(&Oracle::new(&x.model.shape, x.model.dtype, data).with_undefined(x.fill.is_some()), &got)
}

fn is_stored(x: &Sample, _: &mut Rng) -> Result<(), String> {
    let got = ok(x.tensor.is_stored())?;
    let data = stored_mask(x).into_iter().map(|s| Some(OValue::Bool(s))).collect();
    same(&Oracle::new(&x.model.shape, OType::Bool, data), &got)
}

/// Another fill for the tensor: a scalar, or an array along the first axis.
fn other_fill(x: &Sample, rng: &mut Rng) -> (Fill, Oracle) {
    let (shape, dtype) = (&x.model.shape, x.model.dtype);
    if shape.is_empty() || rng.one_in(2) {
        let v = value(rng, dtype, Data::Special);
        return (Fill::Scalar(scalar_of(dtype, v)), Oracle::full(shape, dtype, Some(v)));
    }
    let small: Vec<usize> = shape.iter().enumerate().map(|(a, &n)| if a == 0 { n } else { 1 }).collect();
    let n: usize = small.iter().product();
    let values = Oracle::new(&small, dtype, (0..n).map(|_| Some(value(rng, dtype, Data::Special))).collect());
    (Fill::array(dense(&values)), values.broadcast_to(shape).unwrap())
}

fn replace_fill(x: &Sample, rng: &mut Rng) -> Result<(), String> {
    let (fill, at) = other_fill(x, rng);
    let got = match (x.tensor.replace_fill(fill), &x.fill) {
        (Err(_), None) => return Ok(()),
        (Ok(_), None) => return Err("a strided tensor has no fill to replace".to_string()),
        (got, Some(_)) => ok(got)?,
    };
    let mask = stored_mask(x);
    let data = (0..mask.len()).map(|i| if mask[i] { x.model.data[i] } else { at.data[i] }).collect();
    same(&Oracle::new(&x.model.shape, x.model.dtype, data), &got)?;
    same_fill(&at, &got)
}

fn with_fill(x: &Sample, rng: &mut Rng) -> Result<(), String> {
    let (fill, at) = other_fill(x, rng);
    let got = match x.tensor.with_fill(fill) {
        Err(e) if x.model.undefined && matches!(e.kind(), ErrorKind::Absent { .. }) => return Ok(()),
        Ok(_) if x.model.undefined => return Err("an undefined fill has no meaning to keep".to_string()),
        got => ok(got)?,
    };
    same(&x.model, &got)?;
    same_fill(&at, &got)
}

fn fill_value(x: &Sample, _: &mut Rng) -> Result<(), String> {
    match (&x.fill, x.tensor.fill_value()) {
        (Some(fill), Ok(got)) if !fill.undefined => same(fill, &got),
        (Some(fill), Err(_)) if fill.undefined => Ok(()),
        (None, Err(_)) => Ok(()),
        (_, Ok(_)) => Err("a fill value where there is none".to_string()),
        (_, Err(e)) => Err(format!("error: {e}")),
    }
}

fn cast(x: &Sample, rng: &mut Rng) -> Result<(), String> {
    let to = *rng.pick(&OType::ALL);
    let got = ok(x.tensor.cast(dtype_of(to)))?;
    same(&x.model.cast(to), &got).map_err(|e| format!("to {}: {e}", to.name()))?;
    match &x.fill {
        Some(fill) => same_fill(&fill.cast(to), &got),
        None => Ok(()),
    }
}

fn to_sparse(x: &Sample, rng: &mut Rng) -> Result<(), String> {
    let (fill, at) = other_fill(x, rng);
    let got = match x.tensor.to_sparse(Layout::Coo, fill) {
        Err(_) if x.model.undefined => return Ok(()),
        got => ok(got)?,
    };
    same(&x.model, &got)?;
    same_fill(&at, &got)?;
    let all = match x.tensor.to_sparse(Layout::Coo, Fill::Undefined) {
        Err(_) if x.fill.is_some() => return Ok(()),
        got => ok(got)?,
    };
    same(&x.model.clone().with_undefined(true), &all)
}

fn to_contiguous(x: &Sample, _: &mut Rng) -> Result<(), String> {
    same(&x.model, &x.tensor.to_contiguous().unwrap())?;
    let (a, b) = (x.tensor.stored_values(), x.tensor.to_contiguous().unwrap().stored_values());
    if a.shape() == b.shape() { Ok(()) } else { Err(format!("{:?} {:?}", a.shape(), b.shape())) }
}

/// Numbers that the tensor tells of itself.
fn facts(x: &Sample, _: &mut Rng) -> Result<(), String> {
    let t = &x.tensor;
    let nse = t.iter_stored().count();
    let facts = [
        ("shape", t.shape() == x.model.shape),
        ("dtype", t.dtype() == dtype_of(x.model.dtype)),
        ("ndim", t.ndim() == x.model.ndim()),
        ("size", t.size() == x.model.data.len() as u128),
        ("nse", t.nse() == nse),
        ("stored_values", t.is_strided() || t.stored_values().shape().first() == Some(&t.positions())),
        ("fill", t.fill().is_none() == x.fill.is_none()),
        ("nbytes", t.nbytes() == t.buffers().iter().map(|b| b.len * b.dtype.size()).sum::<usize>()),
        ("is_strided", t.is_strided() == (t.layout() == Layout::Strided)),
        ("display", !format!("{t} {t:?}").is_empty()),
    ];
    match facts.iter().find(|(_, holds)| !holds) {
        Some((name, _)) => Err(format!("{name} is wrong")),
        None => Ok(()),
    }
}

fn item(x: &Sample, _: &mut Rng) -> Result<(), String> {
    let want = if x.model.data.len() == 1 { x.model.data[0] } else { None };
    match (x.tensor.item(), want) {
        (Ok(got), Some(want)) if value_of(got).same(want) => Ok(()),
        (Err(_), None) => Ok(()),
        (got, want) => Err(format!("expected {want:?}, got {:?}", got.map(Scalar::widen))),
    }
}
