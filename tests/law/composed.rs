//! The law for elementwise functions with limits, weights, tolerances and orders.

use openwork::{Number, Operand, Tensor, with_densify_budget};
use openwork_ops::unary::special;

use super::bridge::{dtype_of, otype_of, scalar_of};
use super::cells::Cell;
use super::compare::close;
use super::families::Family;
use super::gen_::{Sample, generate};
use super::nary::{any_full_fill, lawful, lawful_within, partner};
use super::oracle::{self, Expected, OType, OValue, Oracle, Refused};
use super::pointwise::full_fill;
use super::rng::Rng;
use super::values::{Data, value};

pub const FAMILY: Family = Family {
    name: "composed",
    ops: &["clamp", "lerp", "addcmul", "addcdiv", "isclose", "polygamma", "mvlgamma", "positive"],
    rounds: 2000,
    check: |op, cell, seed| {
        let rng = &mut Rng::new(seed ^ 0x66);
        let x = generate(cell, seed, if matches!(op, "polygamma" | "mvlgamma") { Data::Any } else { Data::Special });
        let dtype = super::sample::partner(rng, cell.dtype);
        let y = partner(cell, dtype, rng, Data::Special);
        match op {
            "clamp" => clamp(&x, &y, cell, rng),
            "lerp" => lerp(&x, &y, cell, rng),
            "addcmul" => combined(&x, &y, cell, rng, "mul"),
            "addcdiv" => combined(&x, &y, cell, rng, "div"),
            "isclose" => isclose(&x, &y, rng),
            "positive" => {
                let want = if x.model.dtype.is_bool() { Err(Refused::Dtype) } else { Ok(x.model.clone().into()) };
                lawful(&[&x], want, &|t| t[0].positive(), true)
            }
            _ => with_order(op, &x, rng),
        }
    },
};

type Outcome = Result<Oracle, Refused>;

/// One op after the other. Complex products have a tolerance, which would add up: there the strided computation alone
/// says what is right.
fn op(name: &str, a: Outcome, b: Outcome) -> Outcome {
    Ok(oracle::binary(name, &a?, &b?)?.value)
}

fn expected(outcome: Outcome) -> Result<Expected, Refused> {
    let mut want = Expected::from(outcome?);
    if want.value.dtype.is_complex() {
        want.slack.iter_mut().for_each(|s| *s = f64::INFINITY);
    }
    Ok(want)
}

/// A number beside a dtype.
fn number(n: impl Into<Number>, beside: OType) -> Outcome {
    let n = n.into();
    let dtype = otype_of(n.meets(dtype_of(beside)));
    let value = super::bridge::value_of(n.scalar().fit(dtype_of(dtype)).map_err(|_| Refused::Dtype)?);
    Ok(Oracle::scalar(dtype, Some(value)))
}

/// A value on the way may have a fill as large as the tensor, where one varies along a value axis and another along a
/// level's; beside that, a result may be strided.
fn on_the_way(
    operands: &[&Sample],
    want: Result<Expected, Refused>,
    f: &dyn Fn(&[&Tensor]) -> openwork::Result<Tensor>,
) -> Result<(), String> {
    let varies = |s: &&Sample| matches!(s.tensor.fill(), Some(openwork::Fill::Array(_)));
    lawful_within(operands, want, f, true, &|operands| operands.iter().any(varies))
}

fn clamp(x: &Sample, low: &Sample, cell: &Cell, rng: &mut Rng) -> Result<(), String> {
    let of = |s: &Sample| Ok(s.model.clone());
    let raised = op("maximum", of(x), of(low));
    match rng.below(3) {
        0 => lawful(&[x, low], raised.map(Expected::from), &|t| t[0].clamp(t[1], None), true),
        1 => {
            let want = op("minimum", of(x), of(low));
            lawful(&[x, low], want.map(Expected::from), &|t| t[0].clip(None, t[1]), true)
        }
        _ => {
            let high = partner(cell, cell.dtype, rng, Data::Any);
            let want = op("minimum", raised, of(&high));
            // The fills of the first two may vary along an axis of a level and one of values: together as large as the result.
            let full = |s: &[&Sample]| {
                let raised = with_densify_budget(0, || s[0].tensor.maximum(&s[1].tensor));
                any_full_fill(s) || raised.is_ok_and(|t| t.is_strided() || full_fill(&t))
            };
            lawful_within(&[x, low, &high], want.map(Expected::from), &|t| t[0].clamp(t[1], t[2]), true, &full)
        }
    }
}

fn lerp(x: &Sample, end: &Sample, cell: &Cell, rng: &mut Rng) -> Result<(), String> {
    let of = |s: &Sample| Ok(s.model.clone());
    let distance = || op("sub", of(end), of(x));
    let dtype = || distance().map(|d| d.dtype);
    if rng.one_in(2) {
        let weight = *rng.pick(&[0.0, 0.25, 0.5, 0.75, 1.0, -2.0]);
        let want = dtype().and_then(|d| {
            if weight < 0.5 {
                op("add", of(x), op("mul", distance(), number(weight, d)))
            } else {
                op("sub", of(end), op("mul", distance(), number(1.0 - weight, d)))
            }
        });
        return on_the_way(&[x, end], expected(want), &|t| t[0].lerp(t[1], weight));
    }
    let w = partner(cell, if rng.one_in(2) { cell.dtype } else { OType::F32 }, rng, Data::Any);
    let near_start = number(0.5, w.model.dtype).and_then(|half| op("lt", of(&w), Ok(half)));
    let rest = number(1, w.model.dtype).and_then(|one| op("sub", Ok(one), of(&w)));
    let start = op("add", of(x), op("mul", distance(), of(&w)));
    let back = op("sub", of(end), op("mul", distance(), rest));
    let want = near_start.and_then(|c| oracle::where_(&c, &start?, &back?));
    on_the_way(&[x, end, &w], expected(want), &|t| t[0].lerp(t[1], t[2]))
}

fn combined(x: &Sample, a: &Sample, cell: &Cell, rng: &mut Rng, name: &str) -> Result<(), String> {
    let of = |s: &Sample| Ok(s.model.clone());
    let b = partner(cell, cell.dtype, rng, Data::Special);
    let value = *rng.pick(&[1, 3]);
    let product = op(name, of(a), of(&b));
    let scaled = match (&product, value) {
        (Ok(p), 3) => op("mul", Ok(p.clone()), number(value, p.dtype)),
        _ => product.clone(),
    };
    let want = expected(op("add", of(x), scaled));
    let f = |t: &[&Tensor]| {
        if name == "mul" { t[0].addcmul(t[1], t[2], value) } else { t[0].addcdiv(t[1], t[2], value) }
    };
    on_the_way(&[x, a, &b], want, &f)
}

fn isclose(x: &Sample, y: &Sample, rng: &mut Rng) -> Result<(), String> {
    let nan = rng.one_in(2);
    let close_to = |x: &Tensor, other: Operand<'_>| {
        if nan { x.isclose_nan(other, 0.5, 0.25) } else { x.isclose(other, 0.5, 0.25) }
    };
    let want = oracle::promote(x.model.dtype, y.model.dtype).ok_or(Refused::Promotion).and_then(|common| {
        oracle::mapped(&[&x.model, &y.model], OType::Bool, |v| {
            OValue::Bool(close(v[0].cast(common), v[1].cast(common), 0.5, 0.25, nan))
        })
    });
    lawful(&[x, y], want.map(Expected::from), &|t| close_to(t[0], t[1].into()), true)?;
    // Beside a number, and the tensor itself.
    let v = value(rng, x.model.dtype, Data::Any);
    let scalar = scalar_of(x.model.dtype, v);
    let want = oracle::mapped(&[&x.model], OType::Bool, |w| OValue::Bool(close(w[0], v, 0.5, 0.25, nan)));
    lawful(&[x], want.map(Expected::from), &|t| close_to(t[0], scalar.into()), true)
}

/// The values of these functions are held by tests of their own; here it is where they end up.
fn with_order(name: &str, x: &Sample, rng: &mut Rng) -> Result<(), String> {
    let (n, dtype) = (rng.below(5) as u32 + 1, x.model.dtype.floating());
    let f = |v: f64| if name == "polygamma" { special::polygamma(n, v) } else { special::mvlgamma(n, v) };
    let want = if dtype.is_complex() {
        Err(Refused::Dtype)
    } else {
        oracle::mapped(&[&x.model], dtype, |v| match v[0].cast(dtype) {
            OValue::Float(v) => {
                OValue::Float(dtype.round(if dtype == OType::F64 { f(v) } else { OType::F32.round(f(v)) }))
            }
            other => panic!("{other:?}"),
        })
    };
    let op = |t: &[&Tensor]| if name == "polygamma" { t[0].polygamma(n) } else { t[0].mvlgamma(n) };
    lawful(&[x], want.map(Expected::from), &op, true)
}
