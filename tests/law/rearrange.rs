//! The law for ops that choose, join and move elements along axes.

use openwork::{ErrorKind, Pad, Tensor, with_densify_budget};

use super::bridge::{background, dense, meaning, scalar_of};
use super::cells::{Cell, FillKind, Store};
use super::families::Family;
use super::gen_::{Sample, generate};
use super::oracle::{self, Expected, OPad, OType, Oracle, Refused};
use super::pointwise::{Mode, agrees, bit_for_bit, both};
use super::rng::Rng;
use super::values::{Data, value};

/// An op with its arguments, on the operands it is for.
pub struct Case {
    pub arguments: String,
    pub want: Result<Expected, Refused>,
    /// The fill of a sparse result, where the op says what it is.
    pub fill: Option<Oracle>,
    pub operands: Vec<Sample>,
    pub run: Box<dyn Fn(&[&Tensor]) -> openwork::Result<Tensor>>,
}

type Make = fn(Sample, &Cell, &mut Rng) -> Case;

pub const FAMILY: Family = Family {
    name: "rearrange",
    ops: &[
        "concat",
        "stack",
        "block_diag",
        "flip",
        "roll",
        "repeat",
        "tile",
        "pad",
        "tril",
        "triu",
        "diagonal",
        "diag",
        "outer",
        "kron",
        "moveaxis",
        "split",
        "unstack",
    ],
    rounds: 1200,
    check: |op, cell, seed| {
        let (_, make) = OPS.iter().find(|(name, _)| *name == op).unwrap();
        let mode = if seed.is_multiple_of(3) { Mode::Finite } else { Mode::Exact };
        let data = if mode == Mode::Exact { Data::Special } else { Data::Any };
        let case = make(generate(cell, seed, data), cell, &mut Rng::new(seed ^ 0x33));
        check(&case, mode).map_err(|e| format!("{}: {e}", case.arguments))
    },
};

const OPS: [(&str, Make); 17] = [
    ("concat", concat),
    ("stack", stack),
    ("block_diag", block_diag),
    ("flip", flip),
    ("roll", roll),
    ("repeat", repeat),
    ("tile", tile),
    ("pad", pad),
    ("tril", |x, _, rng| triangle(x, rng, true)),
    ("triu", |x, _, rng| triangle(x, rng, false)),
    ("diagonal", diagonal),
    ("diag", diag),
    ("outer", outer),
    ("kron", kron),
    ("moveaxis", moveaxis),
    ("split", split),
    ("unstack", unstack),
];

/// Against the oracle, against strided operands, and without a budget.
pub fn check(case: &Case, mode: Mode) -> Result<(), String> {
    let own: Vec<&Tensor> = case.operands.iter().map(|x| &x.tensor).collect();
    let got = mode.run(|| (case.run)(&own));
    let without = mode.run(|| with_densify_budget(0, || (case.run)(&own)));
    match without {
        Ok(t) if t.is_strided() && case.operands.iter().all(|x| x.fill.is_some()) && t.size() > 1 => {
            return Err("budget 0: strided from sparse operands".to_string());
        }
        Err(e) if got.is_ok() && !matches!(e.kind(), ErrorKind::Densify { .. }) => {
            return Err(format!("budget 0: {e}"));
        }
        _ => {}
    }
    let Some((want, got)) = both(case.want.clone(), got)? else { return Ok(()) };
    let got_meaning = agrees("the oracle", &want, &got)?;
    let plain: Vec<Tensor> = case.operands.iter().map(|x| dense(&x.model)).collect();
    let plain = mode.run(|| (case.run)(&plain.iter().collect::<Vec<_>>())).map_err(|e| format!("strided: {e}"))?;
    if want.slack.iter().all(|&s| s == 0.0) {
        bit_for_bit(&got_meaning, &meaning(&plain)?)?;
    }
    match (background(&got)?, &case.fill) {
        (Some(got), Some(want)) => {
            oracle::compare(&Expected::from(want.clone()), &got).map_err(|e| format!("fill: {e}"))
        }
        _ => Ok(()),
    }
}

/// An op on one tensor that does to the fill what it does to the elements.
pub fn on_one(
    x: Sample,
    arguments: String,
    f: impl Fn(&Oracle) -> Result<Oracle, Refused>,
    run: impl Fn(&Tensor) -> openwork::Result<Tensor> + 'static,
) -> Case {
    let fill = x.fill.as_ref().and_then(|fill| f(fill).ok());
    let want = f(&x.model).map(Expected::from);
    Case { arguments, want, fill, operands: vec![x], run: Box::new(move |t| run(t[0])) }
}

/// A tensor of that shape and dtype in any storage that suits it.
pub fn beside(rng: &mut Rng, dtype: OType, shape: &[usize], data: Data) -> Sample {
    loop {
        let (store, fill) = (*rng.pick(&Store::ALL), *rng.pick(&FillKind::ALL));
        let cell = Cell { store, fill, dtype, shape: shape.to_vec() };
        if cell.suits() {
            return generate(&cell, rng.next(), data);
        }
    }
}

/// The same storage and fill in another shape, where these suit it; else any.
fn like(rng: &mut Rng, cell: &Cell, shape: &[usize]) -> Sample {
    let alike = Cell { shape: shape.to_vec(), ..cell.clone() };
    if alike.suits() && rng.one_in(2) {
        return generate(&alike, rng.next(), Data::Any);
    }
    let dtype = if rng.one_in(4) { *rng.pick(&OType::ALL) } else { cell.dtype };
    beside(rng, dtype, shape, Data::Any)
}

fn concat(x: Sample, cell: &Cell, rng: &mut Rng) -> Case {
    let axis = rng.below(cell.shape.len() + 1);
    let mut operands = vec![x];
    for _ in 0..rng.below(3) {
        // What stores the same elsewhere, and at the same places something else.
        if rng.one_in(4) {
            let other = Sample::clone(&operands[0]);
            operands.push(if rng.one_in(2) { other } else { denied(&other) });
            continue;
        }
        let mut shape = cell.shape.clone();
        let at = if rng.one_in(12) && !shape.is_empty() { rng.below(shape.len()) } else { axis };
        if let Some(n) = shape.get_mut(at) {
            *n = *rng.pick(&[0, 1, 2, *n, *n]);
        }
        operands.push(like(rng, cell, &shape));
    }
    let models: Vec<&Oracle> = operands.iter().map(|x| &x.model).collect();
    let want = oracle::concat(&models, axis).map(Expected::from);
    let signed = if axis < cell.shape.len() && rng.one_in(2) {
        axis as isize - cell.shape.len() as isize
    } else {
        axis as isize
    };
    let run = Box::new(move |t: &[&Tensor]| Tensor::concat(t, signed));
    Case { arguments: described(&operands, signed), want, fill: None, operands, run }
}

/// Whether elements are zero: at the places of those that are stored, over another fill.
fn denied(x: &Sample) -> Sample {
    let not = |x: &Oracle| oracle::unary("logical_not", x).unwrap().value;
    Sample { tensor: x.tensor.logical_not().unwrap(), model: not(&x.model), fill: x.fill.as_ref().map(not) }
}

fn described(operands: &[Sample], argument: impl std::fmt::Debug) -> String {
    let all: Vec<String> = operands.iter().map(|x| format!("{:?}", x.tensor).replace('\n', " ")).collect();
    let short: Vec<String> = all.iter().map(|s| s.chars().take(90).collect()).collect();
    format!("{argument:?} of {}", short.join(" and "))
}

fn stack(x: Sample, cell: &Cell, rng: &mut Rng) -> Case {
    let axis = rng.below(cell.shape.len() + 2);
    let mut operands = vec![x];
    for _ in 0..rng.below(3) {
        let mut shape = cell.shape.clone();
        if rng.one_in(15) && !shape.is_empty() {
            shape[0] += 1;
        }
        operands.push(like(rng, cell, &shape));
    }
    let models: Vec<&Oracle> = operands.iter().map(|x| &x.model).collect();
    let want = oracle::stack(&models, axis).map(Expected::from);
    let run = Box::new(move |t: &[&Tensor]| Tensor::stack(t, axis as isize));
    Case { arguments: described(&operands, axis), want, fill: None, operands, run }
}

fn block_diag(x: Sample, cell: &Cell, rng: &mut Rng) -> Case {
    let mut operands = vec![x];
    for _ in 0..rng.below(3) {
        let shape = rng.pick(&[&[][..], &[2], &[2, 4], &[0, 2], &[3, 1]]).to_vec();
        operands.push(like(rng, cell, &shape));
    }
    let models: Vec<&Oracle> = operands.iter().map(|x| &x.model).collect();
    let want = oracle::block_diag(&models).map(Expected::from);
    let run = Box::new(|t: &[&Tensor]| Tensor::block_diag(t));
    Case { arguments: described(&operands, ()), want, fill: None, operands, run }
}

fn axis_of(x: &Sample, rng: &mut Rng) -> usize {
    if rng.one_in(15) { x.model.ndim() } else { rng.below(x.model.ndim().max(1)) }
}

fn flip(x: Sample, _: &Cell, rng: &mut Rng) -> Case {
    let mut axes: Vec<usize> = (0..x.model.ndim()).filter(|_| rng.one_in(2)).collect();
    if rng.one_in(15) {
        axes.push(0); // perhaps twice or out of range
    }
    let signed: Vec<isize> = axes.iter().map(|&a| a as isize).collect();
    let all = axes == (0..x.model.ndim()).collect::<Vec<_>>() && rng.one_in(2);
    on_one(x, format!("{axes:?}"), |m| m.flip(&axes), move |t| if all { t.flip(..) } else { t.flip(&signed) })
}

fn roll(x: Sample, _: &Cell, rng: &mut Rng) -> Case {
    let shift = rng.below(13) as isize - 6;
    if rng.one_in(4) {
        let f = |m: &Oracle| m.reshape(&[m.data.len()])?.roll(shift, 0)?.reshape(&m.shape);
        let mut case = on_one(x, format!("{shift}"), f, move |t| t.roll([shift], ..));
        case.fill = None; // one that varies may have become dense on the way
        return case;
    }
    let axis = axis_of(&x, rng);
    if rng.one_in(3) {
        let f = |m: &Oracle| m.roll(shift, axis)?.roll(1, 0);
        return on_one(x, format!("{shift} {axis}, 1 0"), f, move |t| t.roll([shift, 1], [axis, 0]));
    }
    on_one(x, format!("{shift} {axis}"), |m| m.roll(shift, axis), move |t| t.roll([shift], axis))
}

fn repeat(x: Sample, _: &Cell, rng: &mut Rng) -> Case {
    if rng.one_in(5) {
        let times = rng.below(3);
        let list = move |n: usize| (0..n).flat_map(|i| vec![i; times]).collect::<Vec<_>>();
        let f = |m: &Oracle| m.reshape(&[m.data.len()])?.listed(0, &list(m.data.len()));
        let mut case = on_one(x, format!("{times}"), f, move |t| t.repeat([times], ..));
        case.fill = None;
        return case;
    }
    let axis = axis_of(&x, rng);
    let n = x.model.shape.get(axis).copied().unwrap_or(1);
    let one = rng.one_in(2);
    let counts: Vec<usize> = (0..if one { 1 } else { n + usize::from(rng.one_in(12)) }).map(|_| rng.below(4)).collect();
    let each = if counts.len() == 1 { vec![counts[0]; n] } else { counts.clone() };
    let f = |m: &Oracle| {
        if each.len() != m.shape.get(axis).copied().unwrap_or(1) {
            return Err(Refused::Shape);
        }
        m.listed(axis, &each.iter().enumerate().flat_map(|(i, &r)| vec![i; r]).collect::<Vec<_>>())
    };
    on_one(x, format!("{counts:?} {axis}"), f, move |t| t.repeat(&counts, axis))
}

fn tile(x: Sample, _: &Cell, rng: &mut Rng) -> Case {
    let mut repeats: Vec<usize> = (0..rng.below(x.model.ndim() + 2)).map(|_| *rng.pick(&[0, 1, 1, 2, 3])).collect();
    // So many that copies are joined from copies.
    if let Some(times) = repeats.last_mut().filter(|_| rng.one_in(12)) {
        *times = 64 + rng.below(30);
    }
    let given = repeats.clone();
    on_one(x, format!("{repeats:?}"), |m| Ok(m.tile(&repeats)), move |t| t.tile(&given))
}

fn pad(x: Sample, cell: &Cell, rng: &mut Rng) -> Case {
    let width = |rng: &mut Rng| if rng.one_in(2) { 0 } else { rng.below(3) };
    let mut widths: Vec<(usize, usize)> = cell.shape.iter().map(|_| (width(rng), width(rng))).collect();
    if rng.one_in(20) {
        widths.push((0, 1));
    }
    let own = x.fill.as_ref().and_then(|f| f.data.first().copied().flatten());
    let v = if rng.one_in(2) { own } else { None }.unwrap_or_else(|| value(rng, cell.dtype, Data::Special));
    let (model, pad) = match rng.below(6) {
        0 => (OPad::Blank, Pad::Blank),
        1 => (OPad::Edge, Pad::Edge),
        2 => (OPad::Reflect, Pad::Reflect),
        3 => (OPad::Wrap, Pad::Wrap),
        _ => (OPad::Value(v), Pad::Value(scalar_of(cell.dtype, v))),
    };
    let given = widths.clone();
    let mut case = on_one(x, format!("{widths:?} {pad:?}"), |m| m.pad(&widths, model), move |t| t.pad(&given, pad));
    case.fill = None;
    case
}

fn triangle(x: Sample, rng: &mut Rng, lower: bool) -> Case {
    let offset = rng.below(7) as isize - 3;
    let run = move |t: &Tensor| if lower { t.tril(offset) } else { t.triu(offset) };
    on_one(x, format!("{offset}"), |m| m.triangle(offset, lower), run)
}

fn diagonal(x: Sample, _: &Cell, rng: &mut Rng) -> Case {
    let offset = rng.below(7) as isize - 3;
    let (a, b) = (axis_of(&x, rng), axis_of(&x, rng));
    on_one(
        x,
        format!("{offset} {a} {b}"),
        |m| m.diagonal(offset, a, b),
        move |t| t.diagonal(offset, a as isize, b as isize),
    )
}

fn diag(x: Sample, cell: &Cell, rng: &mut Rng) -> Case {
    let offset = rng.below(7) as isize - 3;
    // Most cells are neither vectors nor matrices.
    let x = if rng.one_in(3) || cell.shape.len() == 2 { x } else { like(rng, cell, &[rng.clone().below(5)]) };
    let mut case = on_one(x, format!("{offset}"), |m| m.diag(offset), move |t| t.diag(offset));
    case.fill = None;
    case
}

fn outer(x: Sample, cell: &Cell, rng: &mut Rng) -> Case {
    let shape = rng.pick(&[&[][..], &[2], &[2, 2], &[0], &[1, 3]]).to_vec();
    let operands = vec![x, like(rng, cell, &shape)];
    let want = oracle::outer(&operands[0].model, &operands[1].model);
    let run = Box::new(|t: &[&Tensor]| t[0].outer(t[1]));
    Case { arguments: described(&operands, ()), want, fill: None, operands, run }
}

fn kron(x: Sample, cell: &Cell, rng: &mut Rng) -> Case {
    let shape = rng.pick(&[&[][..], &[2], &[2, 2], &[0], &[1, 3], &[2, 1, 2]]).to_vec();
    let mut operands = vec![x, like(rng, cell, &shape)];
    if rng.one_in(2) {
        operands.swap(0, 1);
    }
    let want = oracle::kron(&operands[0].model, &operands[1].model);
    let run = Box::new(|t: &[&Tensor]| t[0].kron(t[1]));
    Case { arguments: described(&operands, ()), want, fill: None, operands, run }
}

fn moveaxis(x: Sample, _: &Cell, rng: &mut Rng) -> Case {
    let n = x.model.ndim();
    let (from, to) = (axis_of(&x, rng), axis_of(&x, rng));
    let f = |m: &Oracle| {
        if from >= n || to >= n {
            return Err(Refused::Axis);
        }
        let mut order: Vec<usize> = (0..n).filter(|&a| a != from).collect();
        order.insert(to, from);
        m.permute(&order)
    };
    on_one(x, format!("{from} {to}"), f, move |t| t.moveaxis([from as isize], [to as isize]))
}

/// One of the parts.
fn split(x: Sample, _: &Cell, rng: &mut Rng) -> Case {
    let axis = axis_of(&x, rng);
    let n = x.model.shape.get(axis).copied().unwrap_or(1);
    let (a, b) = (rng.below(n + 1), rng.below(n + 1));
    let (a, b) = (a.min(b), a.max(b));
    let which = rng.below(3);
    let range = [0..a, a..b, b..n][which].clone();
    let at = rng.one_in(2);
    on_one(
        x,
        format!("{a} {b} {axis}"),
        |m| m.narrow(axis, range.clone()),
        move |t| {
            let axis = axis as isize;
            let parts = if at { t.tensor_split([a, b], axis)? } else { t.split([a, b - a, n - b], axis)? };
            Ok(parts[which].clone())
        },
    )
}

/// One of the slices.
fn unstack(x: Sample, cell: &Cell, rng: &mut Rng) -> Case {
    let axis = axis_of(&x, rng);
    let n = x.model.shape.get(axis).copied().unwrap_or(1);
    // Without an index along the axis there is no slice to look at: another tensor then.
    let (x, n) = if n == 0 { (like(rng, cell, &vec![2; cell.shape.len()]), 2) } else { (x, n) };
    let i = rng.below(n);
    on_one(
        x,
        format!("{axis} at {i}"),
        |m| m.narrow(axis, i..i + 1)?.squeeze(&[axis]),
        move |t| {
            let parts = t.unstack(axis)?;
            assert_eq!(parts.len(), n);
            Ok(parts[i].clone())
        },
    )
}
