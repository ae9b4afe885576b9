//! The law for short forms: products that are one number, labels as rows, transposes, and what is handed out.

use openwork::{BinaryOp, ErrorKind, Fill, Number, Operand, Part, Scalar, Tensor, UnaryOp};
use openwork_ops::with_dtype;

use super::bridge::meaning;
use super::cells::Cell;
use super::families::Family;
use super::gen_::{Sample, generate};
use super::oracle::{self, Expected, OType, OValue, Oracle, Refused};
use super::pointwise::{Mode, agrees, both};
use super::rng::Rng;
use super::sample;
use super::values::Data;

pub const FAMILY: Family = Family {
    name: "short",
    ops: &["dot", "vdot", "one_hot", "t", "mt", "to_vec", "indices", "binary_assign", "unary_assign"],
    rounds: 2500,
    check: |op, cell, seed| {
        let rng = &mut Rng::new(seed ^ 0xd07);
        match op {
            "dot" | "vdot" => product(op, cell, seed, rng),
            "one_hot" => one_hot(cell, seed, rng),
            "t" | "mt" => turned(op, &generate(cell, seed, Data::Special)),
            "to_vec" => to_vec(&generate(cell, seed, Data::Special)),
            "indices" => indices(&generate(cell, seed, Data::Special)),
            "unary_assign" => assigned_alone(cell, seed, rng),
            _ => assigned(cell, seed, rng),
        }
    },
};

/// A product as a tensor of no axes, absent where the error says so.
fn as_tensor(got: openwork::Result<Scalar>, dtype: impl Fn() -> OType) -> openwork::Result<Tensor> {
    match got {
        Ok(scalar) => Ok(Tensor::scalar(scalar)),
        Err(e) if matches!(e.kind(), ErrorKind::Absent { .. }) => {
            Tensor::empty([], super::bridge::dtype_of(dtype()), openwork::Layout::Coo, Fill::Undefined)
        }
        Err(e) => Err(e),
    }
}

fn product(op: &str, cell: &Cell, seed: u64, rng: &mut Rng) -> Result<(), String> {
    let any_shape = op == "vdot" && rng.one_in(2) || rng.one_in(20);
    let shape = if any_shape { cell.shape.clone() } else { vec![*rng.pick(&[0, 1, 4, 6])] };
    let other = if rng.one_in(20) { vec![3] } else { shape.clone() };
    let dtype = sample::partner(rng, cell.dtype);
    let (Some(a), Some(b)) =
        (sample::cell_of_shape(rng, cell.dtype, &shape), sample::cell_of_shape(rng, dtype, &other))
    else {
        return Ok(());
    };
    let [a, b] = [generate(&a, seed, Data::Any), generate(&b, seed ^ 0x5555, Data::Any)];
    let vectors = a.model.ndim() == 1 && b.model.ndim() == 1;
    let want = if a.model.shape != b.model.shape || !(op == "vdot" || vectors) {
        Err(Refused::Shape)
    } else {
        let flat = |m: &Oracle| m.reshape(&[m.data.len()]).unwrap();
        let left = match op {
            "vdot" if a.model.dtype.is_complex() => oracle::unary("conj", &a.model).unwrap().value,
            _ => a.model.clone(),
        };
        oracle::matmul(&flat(&left), &flat(&b.model))
    };
    let got = Mode::Finite.run(|| if op == "dot" { a.tensor.dot(&b.tensor) } else { a.tensor.vdot(&b.tensor) });
    let got = as_tensor(got, || want.as_ref().map_or(OType::F64, |w| w.value.dtype));
    match both(want, got)? {
        // A tensor of no axes cannot say that its fill was undefined.
        Some((mut want, got)) => {
            want.value.undefined = want.value.data[0].is_none();
            agrees("the oracle", &want, &got).map(|_| ())
        }
        None => Ok(()),
    }
}

/// Labels that mostly are in range: the remainders of a tensor's elements.
fn one_hot(cell: &Cell, seed: u64, rng: &mut Rng) -> Result<(), String> {
    let x = generate(cell, seed, Data::Any);
    let classes = rng.below(6);
    let labels = match x.model.dtype.is_int() && classes > 0 && !rng.one_in(10) {
        true => x.tensor.remainder(classes as i32).map_err(|e| e.to_string())?,
        false => x.tensor.clone(),
    };
    let model = meaning(&labels)?;
    let label = |v: &OValue| match v {
        OValue::Int(l) => usize::try_from(*l).ok().filter(|&l| l < classes),
        _ => None,
    };
    let want = if !x.model.dtype.is_int() {
        Err(Refused::Dtype)
    } else if model.data.iter().flatten().any(|v| label(v).is_none()) {
        Err(Refused::Shape)
    } else {
        let row = |v: &Option<OValue>| -> Vec<Option<OValue>> {
            let at = v.as_ref().and_then(label);
            (0..classes).map(|c| at.map(|at| OValue::Int(i128::from(at == c)))).collect()
        };
        let shape: Vec<usize> = model.shape.iter().copied().chain([classes]).collect();
        Ok(Oracle::new(&shape, OType::I64, model.data.iter().flat_map(row).collect()).with_undefined(model.undefined))
    };
    let got = labels.one_hot(classes);
    let Some((want, got)) = both(want.map(Expected::from), got).map_err(|e| format!("{classes} classes: {e}"))? else {
        return Ok(());
    };
    agrees("the oracle", &want, &got).map_err(|e| format!("{classes} classes: {e}"))?;
    if labels.is_strided() && got.nse() != model.data.len() {
        return Err(format!("{} elements are stored for {} labels", got.nse(), model.data.len()));
    }
    Ok(())
}

fn turned(op: &str, x: &Sample) -> Result<(), String> {
    let n = x.model.ndim();
    let mut order: Vec<usize> = (0..n).collect();
    let refused = match op {
        "t" => {
            order.reverse();
            n > 2
        }
        _ => {
            if n > 1 {
                order.swap(n - 1, n - 2);
            }
            n < 2
        }
    };
    let want = if refused { Err(Refused::Shape) } else { x.model.permute(&order).map(Expected::from) };
    let got = if op == "t" { x.tensor.t() } else { x.tensor.mt() };
    let Some((want, got)) = both(want, got)? else { return Ok(()) };
    agrees("the oracle", &want, &got).map(|_| ())
}

/// Every element in order, or the error that one is absent.
fn to_vec(x: &Sample) -> Result<(), String> {
    let absent = x.model.undefined && (x.model.data.contains(&None) || x.tensor.to_dense().is_err());
    let got =
        with_dtype!(x.tensor.dtype(), T => x.tensor.to_vec::<T>().and_then(|v| Tensor::from_vec(x.tensor.shape(), v)));
    match got {
        Err(e) if absent && matches!(e.kind(), ErrorKind::Absent { .. }) => Ok(()),
        Err(e) => Err(format!("error: {e}")),
        Ok(_) if absent => Err("absent elements were given".into()),
        Ok(got) => {
            let want = Oracle { undefined: false, ..x.model.clone() };
            agrees("the oracle", &want.into(), &got).map(|_| ())
        }
    }
}

/// A row for each row of the stored values, a column for each axis that levels hold.
fn indices(x: &Sample) -> Result<(), String> {
    let blocked = x.tensor.level_spec().is_some_and(|s| s.dims.iter().any(|d| d.1 != Part::Whole));
    let got = match x.tensor.indices() {
        Err(_) if x.tensor.is_strided() || blocked => return Ok(()),
        Err(e) => return Err(format!("error: {e}")),
        Ok(_) if x.tensor.is_strided() || blocked => return Err("no error".into()),
        Ok(got) => got,
    };
    let mut axes: Vec<usize> = x.tensor.coordinates().iter().map(|c| c.0).collect();
    axes.sort_unstable();
    let (rows, columns) = (x.tensor.positions(), axes.len());
    if got.shape() != [rows, columns] {
        return Err(format!("shape {:?} for {rows} positions and axes {axes:?}", got.shape()));
    }
    let got = got.to_vec::<i64>().map_err(|e| e.to_string())?;
    let elements = x.tensor.nse() / rows.max(1);
    for (i, (index, _)) in x.tensor.iter_stored().enumerate() {
        let row = i / elements.max(1);
        let of = |c: usize| got[row * columns + c];
        if let Some(c) = (0..columns).find(|&c| of(c) != index[axes[c]] as i64) {
            return Err(format!("element {i} is at {index:?}, and {} in column {c}", of(c)));
        }
    }
    Ok(())
}

/// In place or not, an update is the op.
fn assigned(cell: &Cell, seed: u64, rng: &mut Rng) -> Result<(), String> {
    let (op, mode) = (*rng.pick(BinaryOp::ALL), sample::any_mode(rng));
    let data = mode.data(op.domain());
    let x = generate(cell, seed, data[0]);
    let dtype = sample::partner(rng, cell.dtype);
    let numbers = [Number::from(2), Number::from(0), Number::from(0.5), Number::from(f64::NAN), Number::from(true)];
    let number = *rng.pick(&numbers);
    let beside = match rng.below(4) {
        // The same pattern.
        0 => x.tensor.bitwise_not().or_else(|_| x.tensor.neg()).ok(),
        1 => {
            let shape = sample::broadcasting(rng, &cell.shape);
            sample::cell_of_shape(rng, dtype, &shape).map(|c| generate(&c, seed ^ 0x5555, data[1]).tensor)
        }
        2 => sample::cell_of_shape(rng, cell.dtype, &cell.shape).map(|c| generate(&c, seed ^ 0x5555, data[1]).tensor),
        _ => None,
    };
    let other = || beside.as_ref().map_or(Operand::Number(number), Operand::from);
    let what = || match &beside {
        Some(t) => format!("{} with {t:?}", op.name()),
        None => format!("{} with {number:?}", op.name()),
    };
    let want = mode.run(|| x.tensor.binary(op, other()));
    let mut got = x.tensor; // nobody else has it, so that it may be written over
    let result = mode.run(|| got.binary_assign(op, other()));
    became(want, result, &got).map_err(|e| format!("{}: {e}", what()))
}

/// The same of one operand.
fn assigned_alone(cell: &Cell, seed: u64, rng: &mut Rng) -> Result<(), String> {
    let (op, mode) = (*rng.pick(UnaryOp::ALL), sample::any_mode(rng));
    let x = generate(cell, seed, mode.data(op.domain())[0]);
    let want = mode.run(|| x.tensor.unary(op));
    let mut got = x.tensor;
    let shared = rng.one_in(4).then(|| (got.clone(), generate(cell, seed, mode.data(op.domain())[0]).tensor));
    let result = mode.run(|| got.unary_assign(op));
    if let Some((other, before)) = shared
        && !matches!(other.same_meaning(&before), Ok(true))
    {
        return Err(format!("{}: a tensor that shares its values changed", op.name()));
    }
    became(want, result, &got).map_err(|e| format!("{}: {e}", op.name()))
}

/// A tensor that was updated is what the op gives, or as it was where that fails.
fn became(want: openwork::Result<Tensor>, result: openwork::Result<()>, got: &Tensor) -> Result<(), String> {
    match (want, result) {
        (Err(_), Err(_)) => Ok(()),
        (Ok(want), Ok(())) => match got.same_meaning(&want) {
            Ok(true) => meaning(got).map(|_| ()),
            other => Err(format!("{other:?}: {got} and not {want}")),
        },
        (want, result) => Err(format!("{:?} and not {:?}", result.err(), want.err())),
    }
}
