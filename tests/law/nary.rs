//! The law for ops that choose between operands or run a user's function.

use openwork::{BinaryOp, Element, ErrorKind, Number, Scalar, Tensor, with_densify_budget};
use openwork_ops::{Wide, with_dtype};

use super::bridge::{dense, dtype_of, meaning, scalar_of};
use super::cells::{Cell, FillKind, Store};
use super::families::Family;
use super::gen_::{Sample, generate};
use super::oracle::{self, Expected, OType, OValue, Oracle, Refused};
use super::pointwise::{Mode, agrees, bit_for_bit, both, full_fill};
use super::rng::Rng;
use super::sample::{broadcasting, cell_of_shape};
use super::values::{Data, value};

pub const FAMILY: Family = Family {
    name: "nary",
    ops: &[
        "where_",
        "where_number",
        "mask",
        "mask_complement",
        "union",
        "map",
        "zip_with",
        "zip_with3",
        "zip_many",
        "apply_stored",
        "index_map",
        "select",
        "select_values",
    ],
    rounds: 2500,
    check: |op, cell, seed| {
        let rng = &mut Rng::new(seed ^ 0x99);
        let x = generate(cell, seed, Data::Special);
        match op {
            "where_" => where_(&x, cell, rng),
            "where_number" => where_number(&x, cell, rng),
            "mask" => mask(&x, cell, rng, true),
            "mask_complement" => mask(&x, cell, rng, false),
            "union" => union(&x, cell, rng),
            "map" => map(&x),
            "zip_with" => zip_with(&x, cell, rng),
            "zip_with3" => zip_with3(&x, cell, rng),
            "zip_many" => zip_many(&x, cell, rng),
            "apply_stored" => apply_stored(&x),
            "index_map" => index_map(&x),
            _ => select(op, &x),
        }
    },
};

/// Another operand, whose shape broadcasts with the cell's.
pub fn partner(cell: &Cell, dtype: OType, rng: &mut Rng, data: Data) -> Sample {
    let shape = broadcasting(rng, &cell.shape);
    loop {
        if let Some(other) = cell_of_shape(rng, dtype, &shape) {
            return generate(&other, rng.next(), data);
        }
    }
}

/// The result against the oracle and the strided computation (`dense` operands, whose absent elements the caller's
/// `want` knows), and under a budget of 0. The result of sparse operands stays sparse or is refused.
pub fn lawful(
    operands: &[&Sample],
    want: Result<Expected, Refused>,
    f: &dyn Fn(&[&Tensor]) -> openwork::Result<Tensor>,
    plain: bool,
) -> Result<(), String> {
    lawful_within(operands, want, f, plain, &any_full_fill)
}

/// Whether an operand is as large as it would be strided.
pub fn any_full_fill(operands: &[&Sample]) -> bool {
    operands.iter().any(|s| full_fill(&s.tensor))
}

/// The same, where the caller says which operands may give a strided result under a budget of 0.
pub fn lawful_within(
    operands: &[&Sample],
    want: Result<Expected, Refused>,
    f: &dyn Fn(&[&Tensor]) -> openwork::Result<Tensor>,
    plain: bool,
    may_be_strided: &dyn Fn(&[&Sample]) -> bool,
) -> Result<(), String> {
    let tensors: Vec<&Tensor> = operands.iter().map(|s| &s.tensor).collect();
    let got = Mode::Exact.run(|| f(&tensors));
    let Some((want, got)) = both(want, got)? else { return Ok(()) };
    let got_meaning = agrees("the oracle", &want, &got)?;
    if plain {
        let dense: Vec<Tensor> = operands.iter().map(|s| dense(&s.model)).collect();
        let strided = f(&dense.iter().collect::<Vec<_>>()).map_err(|e| format!("strided: {e}"))?;
        bit_for_bit(&got_meaning, &meaning(&strided)?)?;
    }
    let sparse = operands.iter().all(|s| s.fill.is_some());
    match Mode::Exact.run(|| with_densify_budget(0, || f(&tensors))) {
        Ok(t) if t.is_strided() && sparse && t.size() > 0 && !may_be_strided(operands) => {
            Err("budget 0: strided from sparse operands".to_string())
        }
        Ok(t) => agrees("the oracle under budget 0", &want, &t).map(|_| ()),
        Err(e) if matches!(e.kind(), ErrorKind::Densify { .. }) => Ok(()),
        Err(e) => Err(format!("budget 0: {e}")),
    }
}

fn where_(x: &Sample, cell: &Cell, rng: &mut Rng) -> Result<(), String> {
    let condition = partner(cell, OType::Bool, rng, Data::Any);
    let dtype = super::sample::partner(rng, cell.dtype);
    let other = partner(cell, dtype, rng, Data::Special);
    let (a, b) = if rng.one_in(2) { (x, &other) } else { (&other, x) };
    let want = oracle::where_(&condition.model, &a.model, &b.model).map(Expected::from);
    lawful(&[&condition, a, b], want, &|t| t[0].where_(t[1], t[2]), true)
}

fn where_number(x: &Sample, cell: &Cell, rng: &mut Rng) -> Result<(), String> {
    let condition = partner(cell, OType::Bool, rng, Data::Any);
    let v = value(rng, cell.dtype, Data::Any);
    let (number, model) = (scalar_of(cell.dtype, v), Oracle::scalar(cell.dtype, Some(v)));
    if rng.one_in(2) {
        let want = oracle::where_(&condition.model, &model, &x.model).map(Expected::from);
        lawful(&[&condition, x], want, &|t| t[0].where_(number, t[1]), true)
    } else {
        let want = oracle::where_(&condition.model, &x.model, &model).map(Expected::from);
        lawful(&[&condition, x], want, &|t| t[0].where_(t[1], number), true)
    }
}

fn mask(x: &Sample, cell: &Cell, rng: &mut Rng, keep: bool) -> Result<(), String> {
    let mask = partner(cell, if rng.one_in(20) { cell.dtype } else { OType::Bool }, rng, Data::Any);
    let want = oracle::mask(&x.model, &mask.model, keep).map(Expected::from);
    let f = |t: &[&Tensor]| if keep { t[0].mask(t[1]) } else { t[0].mask_complement(t[1]) };
    lawful(&[x, &mask], want, &f, false)
}

fn union(x: &Sample, cell: &Cell, rng: &mut Rng) -> Result<(), String> {
    let dtype = super::sample::partner(rng, cell.dtype);
    let other = if rng.one_in(3) { partner(cell, dtype, rng, Data::Special) } else { undefined(cell, dtype, rng) };
    let op = *rng.pick(BinaryOp::ALL);
    let defaults = [value(rng, cell.dtype, Data::Any), value(rng, dtype, Data::Any)];
    let numbers = [Number::from(scalar_of(cell.dtype, defaults[0])), Number::from(scalar_of(dtype, defaults[1]))];
    let want = oracle::united(&x.model, &other.model, defaults).and_then(|[a, b]| oracle::binary(op.name(), &a, &b));
    lawful(&[x, &other], want, &|t| t[0].union(op, t[1], numbers[0], numbers[1]), false)
        .map_err(|e| format!("{}: {e}", op.name()))
}

/// An operand with undefined fill, whose shape broadcasts with the cell's.
fn undefined(cell: &Cell, dtype: OType, rng: &mut Rng) -> Sample {
    let shape = broadcasting(rng, &cell.shape);
    loop {
        let store = *rng.pick(&Store::ALL);
        let other = Cell { store, fill: FillKind::Undefined, dtype, shape: shape.clone() };
        if !store.is_strided() && other.suits() {
            return generate(&other, rng.next(), Data::Special);
        }
    }
}

/// The real part, as the functions of these tests see elements.
fn real<T: Element>(v: T) -> f64 {
    match v.to_scalar().widen() {
        Wide::Signed(v) => v as f64,
        Wide::Unsigned(v) => v as f64,
        Wide::Float(x) | Wide::Complex(x, _) => x,
    }
}

fn real_of(v: OValue) -> f64 {
    match v {
        OValue::Bool(b) => f64::from(u8::from(b)),
        OValue::Int(v) => v as f64,
        OValue::Float(x) | OValue::Complex(x, _) => x,
    }
}

fn map(x: &Sample) -> Result<(), String> {
    let want = oracle::mapped(&[&x.model], OType::F64, |v| OValue::Float(real_of(v[0]) * 2.0 + 1.0));
    with_dtype!(dtype_of(x.model.dtype), T => {
        lawful(&[x], want.map(Expected::from), &|t| t[0].map(|v: T| real(v) * 2.0 + 1.0), true)?;
    });
    // To bool.
    let want = oracle::mapped(&[&x.model], OType::Bool, |v| OValue::Bool(real_of(v[0]) > 0.5));
    with_dtype!(dtype_of(x.model.dtype), T => {
        lawful(&[x], want.map(Expected::from), &|t| t[0].map(|v: T| real(v) > 0.5), true)
    })
}

fn zip_with(x: &Sample, cell: &Cell, rng: &mut Rng) -> Result<(), String> {
    let other = partner(cell, OType::F64, rng, Data::Special);
    let want =
        oracle::mapped(&[&x.model, &other.model], OType::F64, |v| OValue::Float(real_of(v[0]) - 3.0 * real_of(v[1])));
    with_dtype!(dtype_of(x.model.dtype), T => {
        let f = |t: &[&Tensor]| t[0].zip_with(t[1], |a: T, b: f64| real(a) - 3.0 * b);
        lawful(&[x, &other], want.map(Expected::from), &f, true)
    })
}

fn zip_with3(x: &Sample, cell: &Cell, rng: &mut Rng) -> Result<(), String> {
    let second = partner(cell, OType::I32, rng, Data::Special);
    let third = partner(cell, OType::F64, rng, Data::Special);
    let want = oracle::mapped(&[&x.model, &second.model, &third.model], OType::F64, |v| {
        OValue::Float(real_of(v[0]) * real_of(v[1]) + real_of(v[2]))
    });
    with_dtype!(dtype_of(x.model.dtype), T => {
        let f = |t: &[&Tensor]| t[0].zip_with3(t[1], t[2], |a: T, b: i32, c: f64| real(a) * f64::from(b) + c);
        lawful(&[x, &second, &third], want.map(Expected::from), &f, true)
    })
}

fn zip_many(x: &Sample, cell: &Cell, rng: &mut Rng) -> Result<(), String> {
    let mut samples = vec![x.clone()];
    for _ in 0..rng.below(5) {
        // Now and then the same pattern in memory again.
        let again = rng.one_in(4);
        samples.push(if again { x.clone() } else { partner(cell, cell.dtype, rng, Data::Special) });
    }
    let fold = |values: &mut dyn Iterator<Item = f64>| values.fold(1.0, |sum, v| sum * 0.5 - v);
    let models: Vec<&Oracle> = samples.iter().map(|s| &s.model).collect();
    let want = oracle::mapped(&models, OType::F64, |v| OValue::Float(fold(&mut v.iter().map(|&v| real_of(v)))));
    let operands: Vec<&Sample> = samples.iter().collect();
    with_dtype!(dtype_of(x.model.dtype), T => {
        let f = |t: &[&Tensor]| Tensor::zip_many(t, |v: &[T]| fold(&mut v.iter().map(|&v| real(v))));
        lawful(&operands, want.map(Expected::from), &f, true)
    })
}

/// Which elements are stored, by asking for each.
fn stored(x: &Sample) -> Vec<bool> {
    let mut mask = vec![x.fill.is_none(); x.model.data.len()];
    x.tensor.iter_stored().for_each(|(index, _)| mask[oracle::ravel(&index, &x.model.shape)] = true);
    mask
}

fn apply_stored(x: &Sample) -> Result<(), String> {
    let mask = stored(x);
    let mut want = x.model.clone();
    let other = |v: OValue| OValue::Float(real_of(v) + 1.0).cast(x.model.dtype);
    want.data.iter_mut().zip(mask).filter(|(_, m)| *m).for_each(|(v, _)| *v = v.map(other));
    with_dtype!(dtype_of(x.model.dtype), T => {
        let f = |t: &[&Tensor]| t[0].apply_stored(|v: T| {
            T::from_scalar(Scalar::F64(real(v) + 1.0).cast(T::DTYPE)).unwrap()
        });
        lawful(&[x], Ok(want.into()), &f, false)
    })
}

fn weight(index: &[usize], v: f64) -> f64 {
    index.iter().fold(v, |sum, &i| sum * 3.0 + i as f64)
}

fn index_map(x: &Sample) -> Result<(), String> {
    let f = |index: &[usize], v: OValue| OValue::Float(weight(index, real_of(v)));
    let want = oracle::index_mapped(&x.model, OType::F64, f);
    with_dtype!(dtype_of(x.model.dtype), T => {
        lawful(&[x], Ok(want.into()), &|t| t[0].index_map(|index, v: T| weight(index, real(v))), true)
    })
}

fn select(op: &str, x: &Sample) -> Result<(), String> {
    let by_index = op == "select";
    let keeps =
        |index: &[usize], v: f64| if by_index { index.iter().sum::<usize>() % 2 == 0 || v > 1.0 } else { v > 1.0 };
    let mut want = x.model.clone();
    for ((i, index), stored) in oracle::indices(&x.model.shape).iter().enumerate().zip(stored(x)) {
        let dropped = stored && want.data[i].is_some_and(|v| !keeps(index, real_of(v)));
        if dropped {
            want.data[i] = x.fill.as_ref().and_then(|f| f.data[i]);
        }
    }
    let want = if x.fill.is_none() { want.with_undefined(true) } else { want };
    with_dtype!(dtype_of(x.model.dtype), T => {
        let f = |t: &[&Tensor]| if by_index {
            t[0].select(|index, v: T| keeps(index, real(v)))
        } else {
            t[0].select_values(|v: T| keeps(&[], real(v)))
        };
        lawful(&[x], Ok(want.into()), &f, false)
    })
}
