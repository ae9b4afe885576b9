//! The law for sums of products over named indices: the oracle lays every operand out over all indices.

use openwork::{BinaryOp, Plus, Semiring, Tensor, Times, with_densify_budget};

use super::bridge::dense;
use super::cells::{Cell, FillKind, Store};
use super::gen_::generate;
use super::oracle::{self, Expected, OType, OValue, Oracle, Refused};
use super::pointwise::{Mode, agrees, both};
use super::report::Report;
use super::rng::Rng;
use super::sample::{any_mode, cell_of_shape, partner};
use super::values::Data;

/// Equations with ways of their own, and those that people write.
const KNOWN: [&str; 30] = [
    "ij,jk->ik",
    "ij,jk->ki",
    "ij,ik->jk",
    "ijk,jr,kr->ir",
    "ijk,kr,ir->jr",
    "ijk,ir,jr->kr",
    "ijk,ir,jr,kr->r",
    "ijk,jr,kr->ri",
    "ijk,k,j->i",
    "ijkl,jr,lr->ir",
    "ijk,kr->ijr",
    "kr,ijk->ijr",
    "ijk,k->ij",
    "ijk,jk->i",
    "ij,ik,jk->ij",
    "ik,jk,ij->ij",
    "ij,ik,jk->i",
    "ij,jk,ki->",
    "ij,jk,kl->il",
    "ij,jk,kl,lm->im",
    "bij,bjk->bik",
    "bij,bj->bi",
    "ij,ij->i",
    "ij,ij->",
    "i,j->ij",
    "i,j,k->kij",
    "ii->",
    "iij->ji",
    "...ij,...jk->...ik",
    "b...i,...i->b...",
];

/// An equation and shapes of its operands, which mostly fit.
fn any_equation(rng: &mut Rng) -> (String, Vec<Vec<usize>>) {
    let sizes: Vec<usize> = (0..26).map(|_| *rng.pick(&[1, 2, 2, 3, 3, 4])).collect();
    let equation = if rng.one_in(2) { rng.pick(&KNOWN).to_string() } else { random(rng) };
    let lists = equation.split("->").next().unwrap().split(',');
    let hidden = [*rng.pick(&[1, 2, 3]), *rng.pick(&[1, 2])];
    let mut shapes: Vec<Vec<usize>> = lists
        .map(|list| {
            let (before, after) = list.split_once("...").unwrap_or((list, ""));
            let of = |c: char| sizes[c as usize - 'a' as usize];
            let mut shape: Vec<usize> = before.chars().map(of).collect();
            if list.contains("...") {
                let taken = hidden[..rng.below(3)].iter().rev();
                shape.extend(taken.map(|&n| if rng.one_in(4) { 1 } else { n }));
            }
            shape.extend(after.chars().map(of));
            shape
        })
        .collect();
    if rng.one_in(30) {
        let shape = rng.below(shapes.len());
        if let Some(n) = shapes[shape].first_mut() {
            *n = *rng.pick(&[0, 5]); // of one size 0, or one that does not fit
        }
    } else if rng.one_in(30) {
        // An index without elements, everywhere.
        let (list, n) = (equation.clone(), sizes[8]);
        for (list, shape) in list.split("->").next().unwrap().split(',').zip(&mut shapes) {
            if !list.contains("...") {
                list.chars()
                    .zip(shape.iter_mut())
                    .filter(|(c, _)| *c == 'i')
                    .for_each(|(_, s)| *s = s.saturating_sub(n));
            }
        }
    }
    (equation, shapes)
}

fn random(rng: &mut Rng) -> String {
    let letters = ['i', 'j', 'k', 'l', 'm'];
    let operands: Vec<String> = (0..1 + rng.below(4))
        .map(|_| {
            let mut list: String = (0..rng.below(4)).map(|_| *rng.pick(&letters)).collect();
            if rng.one_in(6) && list.len() < 3 {
                list.insert_str(rng.below(list.len() + 1), "...");
            }
            list
        })
        .collect();
    let mut equation = operands.join(",");
    if rng.one_in(4) {
        return equation;
    }
    let mut result: Vec<String> = Vec::new();
    for c in letters {
        if equation.contains(c) && rng.one_in(2) {
            result.insert(rng.below(result.len() + 1), c.to_string());
        }
    }
    if equation.contains("...") && !rng.one_in(3) {
        result.insert(rng.below(result.len() + 1), "...".to_string());
    }
    equation.push_str("->");
    equation + &result.concat()
}

/// By ops on operands laid out over all indices: ⊗ from left to right, then ⊕.
fn by_ops(equation: &str, operands: &[&Oracle], semiring: Semiring) -> Result<Expected, Refused> {
    if semiring == Semiring::PLUS_TIMES {
        return oracle::einsum(equation, operands);
    }
    let dtype = operands[1..]
        .iter()
        .try_fold(operands[0].dtype, |d, x| oracle::promote(d, x.dtype))
        .ok_or(Refused::Promotion)?;
    let spread = oracle::spread(equation, operands)?;
    let mut operands = spread.operands.iter().map(|x| x.cast(dtype));
    let first = operands.next().unwrap();
    let mut product = Expected::from(first);
    for x in operands {
        let of = oracle::promote(product.value.dtype, x.dtype);
        let x = if of.is_none() { x.cast(product.value.dtype) } else { x };
        product = match semiring.times {
            Times::Op(op) => oracle::binary(op.name(), &product.value, &x)?,
            other => {
                let counts = if dtype.is_bool() { OType::I64 } else { dtype };
                let one = Oracle::from_f64(&[], counts, &[1.0]).data[0];
                let data = product.value.data.iter().zip(&x.data).map(|(&a, &b)| match other {
                    Times::First => a.filter(|_| b.is_some()),
                    Times::Second => b.filter(|_| a.is_some()),
                    _ => one.filter(|_| a.is_some() && b.is_some()),
                });
                let of = if other == Times::Pair { counts } else { dtype };
                let undefined = product.value.undefined || x.undefined;
                Oracle { shape: x.shape.clone(), dtype: of, data: data.collect(), undefined }.into()
            }
        };
    }
    let of = product.value.dtype;
    let name = match semiring.plus {
        Plus::Sum if of.is_bool() => "any",
        Plus::Prod if of.is_bool() => "all",
        Plus::Xor if !of.is_bool() => return Err(Refused::Dtype),
        Plus::Sum | Plus::Xor => "sum",
        Plus::Prod => "prod",
        Plus::Min => "min",
        Plus::Max => "max",
        Plus::Or => "any",
        _ => "all",
    };
    let axes: Vec<usize> = (spread.kept..product.value.ndim()).collect();
    let mut folded = oracle::reduce(name, &product.value, &axes, false)?;
    if semiring.plus == Plus::Xor {
        let odd = |v: &Option<OValue>| v.map(|v| OValue::Bool(matches!(v, OValue::Int(n) if n % 2 != 0)));
        folded.value.data = folded.value.data.iter().map(odd).collect();
        folded.value.dtype = OType::Bool;
    } else if matches!(semiring.plus, Plus::Sum | Plus::Prod) && !of.is_bool() {
        folded.value = folded.value.cast(of);
    }
    let exact = folded.value.dtype.is_int() || folded.value.dtype.is_bool();
    folded.slack.iter_mut().for_each(|s| *s = if exact { 0.0 } else { 3.0 * *s });
    let is_regrouped = spread.operands.len() > 2
        && semiring.times == Times::Op(BinaryOp::Add)
        && matches!(semiring.plus, Plus::Min | Plus::Max);
    if is_regrouped && !exact {
        folded.slack = of_sums(&spread, dtype)?;
    }
    Ok(folded)
}

/// Tolerances of the least or the greatest of sums of three operands or more, which are added in any order: that of the sum
/// whose terms are largest.
fn of_sums(spread: &oracle::Spread, dtype: OType) -> Result<Vec<f64>, Refused> {
    let size = |x: &Oracle| Ok(oracle::unary("abs", &x.cast(dtype).cast(OType::F64))?.value);
    let first = size(&spread.operands[0])?;
    let sizes = spread.operands[1..]
        .iter()
        .try_fold(first, |sum, x| Ok::<_, Refused>(oracle::binary("add", &sum, &size(x)?)?.value))?;
    let axes: Vec<usize> = (spread.kept..sizes.ndim()).collect();
    let largest = oracle::reduce("max", &sizes, &axes, false)?.value;
    let factor = oracle::TOLERANCE * ((spread.operands.len() + 1) as f64).log2() * dtype.eps();
    Ok(largest
        .data
        .iter()
        .map(|size| match size {
            Some(OValue::Float(size)) if size.is_finite() && *size > dtype.float_max() / 8.0 => f64::INFINITY,
            Some(OValue::Float(size)) if size.is_finite() => factor * size,
            _ => 0.0,
        })
        .collect())
}

pub fn check(equation: &str, cells: &[Cell], semiring: Semiring, seed: u64, mode: Mode) -> Result<(), String> {
    let data = if mode == Mode::Exact { Data::Summable } else { Data::Any };
    let samples: Vec<_> = cells.iter().zip(seed..).map(|(cell, seed)| generate(cell, seed, data)).collect();
    let models: Vec<&Oracle> = samples.iter().map(|s| &s.model).collect();
    let tensors: Vec<&Tensor> = samples.iter().map(|s| &s.tensor).collect();
    let plain = semiring == Semiring::PLUS_TIMES;
    let run = |tensors: &[&Tensor]| {
        if plain { Tensor::einsum(equation, tensors) } else { Tensor::einsum_with(equation, tensors, semiring) }
    };
    let want = by_ops(equation, &models, semiring);
    let empty = models.iter().any(|m| m.shape.contains(&0));
    if empty && matches!(semiring.plus, Plus::Min | Plus::Max) {
        return Ok(()); // no element is the least of none; there the identity is given
    }
    let got = mode.run(|| run(&tensors));
    let Some((want, got)) = both(want, got)? else { return Ok(()) };
    let want = super::matmul::tolerated(want, mode);
    agrees("the oracle", &want, &got)?;
    if !want.value.undefined {
        let whole: Vec<Tensor> = samples.iter().map(|s| dense(&s.model)).collect();
        // What was a fill is an element now, and only the exact policy looks at these.
        let strided =
            Mode::Exact.run(|| run(&whole.iter().collect::<Vec<_>>())).map_err(|e| format!("strided: {e}"))?;
        agrees("strided", &want, &strided)?;
    }
    match mode.run(|| with_densify_budget(0, || run(&tensors))) {
        Ok(t) => agrees("the oracle under budget 0", &want, &t).map(|_| ()),
        Err(e) if matches!(e.kind(), openwork::ErrorKind::Densify { .. }) => Ok(()),
        Err(e) => Err(format!("budget 0: {e}")),
    }
}

/// A strided tensor, or a sparse one with fill 0, of floats mostly.
fn usual(rng: &mut Rng, dtype: OType, shape: &[usize]) -> Option<Cell> {
    let dtype = if dtype.is_float() || dtype.is_int() { OType::F64 } else { dtype };
    let is_strided = shape.len() < 3 && !rng.one_in(4);
    (0..50).find_map(|_| {
        let store = *rng.pick(&Store::ALL);
        let dtype = if rng.one_in(20) { OType::F32 } else { dtype };
        let cell = Cell { store, fill: FillKind::Zero, dtype, shape: shape.to_vec() };
        (store.is_strided() == is_strided && cell.suits()).then_some(cell)
    })
}

/// A semiring that takes so many operands.
fn any_semiring(rng: &mut Rng, operands: usize) -> Semiring {
    loop {
        let semiring = if rng.one_in(2) { Semiring::PLUS_TIMES } else { super::semiring::any(rng) };
        let is_associative = match semiring.times {
            Times::Op(op) => {
                use BinaryOp::{Add, BitwiseXor, LogicalAnd, LogicalOr, Maximum, Minimum, Mul};
                matches!(op, Add | Mul | Minimum | Maximum | LogicalAnd | LogicalOr | BitwiseXor)
            }
            _ => false,
        };
        if operands < 3 || is_associative {
            return semiring;
        }
    }
}

pub fn sums(report: &mut Report, rng: &mut Rng, rounds: usize) {
    for _ in 0..rounds {
        let (equation, shapes) = any_equation(rng);
        let dtype = *rng.pick(&OType::ALL);
        // A sparse tensor beside strided ones has ways of its own.
        let is_usual = rng.one_in(3);
        let cells: Vec<Option<Cell>> = shapes
            .iter()
            .map(|shape| match is_usual {
                true => usual(rng, dtype, shape),
                false => {
                    let of = partner(rng, dtype);
                    (0..20).find_map(|_| cell_of_shape(rng, of, shape))
                }
            })
            .collect();
        let Some(cells) = cells.into_iter().collect::<Option<Vec<Cell>>>() else { continue };
        let semiring = any_semiring(rng, cells.len());
        // NaN and infinities of both signs are folded in any order only where sums wait, which plus-times looks for.
        let mode = if semiring == Semiring::PLUS_TIMES || cells.len() < 3 { any_mode(rng) } else { Mode::Finite };
        let seed = rng.next();
        let what = || format!("{equation} {} {cells:?} {mode:?} {seed:#x}", semiring.name());
        let refs: Vec<&Cell> = cells.iter().collect();
        report.case("einsum", &refs, what, || check(&equation, &cells, semiring, seed, mode));
        if report.is_full() {
            return;
        }
    }
}
