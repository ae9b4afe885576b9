//! The law for ops that move elements and change none.

use openwork::Tensor;

use super::bridge::background;
use super::cells::Cell;
use super::families::Family;
use super::gen_::{Sample, generate};
use super::oracle::{self, Expected, Oracle, Refused};
use super::pointwise::{Mode, agrees, both};
use super::rng::Rng;
use super::values::Data;

type Outcome = (String, Result<Oracle, Refused>, openwork::Result<Tensor>, Result<Option<Oracle>, Refused>);

pub const FAMILY: Family = Family {
    name: "shape",
    ops: &["permute_dims", "matrix_transpose", "reshape", "squeeze", "expand_dims", "broadcast_to", "narrow"],
    rounds: 6000,
    check: |op, cell, seed| {
        let (_, op) = OPS.iter().find(|(name, _)| *name == op).unwrap();
        check(*op, cell, seed)
    },
};

/// The ops of this file, each on a tensor with arguments of its own choice.
const OPS: [(&str, fn(&Sample, &mut Rng) -> Outcome); 7] = [
    ("permute_dims", permute_dims),
    ("matrix_transpose", matrix_transpose),
    ("reshape", reshape),
    ("squeeze", squeeze),
    ("expand_dims", expand_dims),
    ("broadcast_to", broadcast_to),
    ("narrow", narrow),
];

fn check(op: fn(&Sample, &mut Rng) -> Outcome, cell: &Cell, seed: u64) -> Result<(), String> {
    let x = generate(cell, seed, Data::Special);
    let (arguments, want, got, fill) = Mode::Exact.run(|| op(&x, &mut Rng::new(seed ^ 0x33)));
    let result = || {
        let Some((want, got)) = both(want.map(Expected::from), got)? else { return Ok(()) };
        agrees("the oracle", &want, &got)?;
        if got.is_strided() != x.tensor.is_strided() {
            return Err(format!("from {} to {}", x.tensor.layout(), got.layout()));
        }
        match (background(&got)?, fill) {
            (Some(got), Ok(Some(want))) => {
                oracle::compare(&Expected::from(want), &got).map_err(|e| format!("fill: {e}"))
            }
            _ => Ok(()),
        }
    };
    result().map_err(|e| format!("{arguments}: {e}"))
}

/// The same on the model and on the fill.
fn outcome(
    x: &Sample,
    arguments: String,
    f: impl Fn(&Oracle) -> Result<Oracle, Refused>,
    got: openwork::Result<Tensor>,
) -> Outcome {
    (arguments, f(&x.model), got, x.fill.as_ref().map(f).transpose())
}

fn permute_dims(x: &Sample, rng: &mut Rng) -> Outcome {
    let n = x.model.ndim();
    let mut axes: Vec<usize> = (0..n).collect();
    (1..n).rev().for_each(|i| axes.swap(i, rng.below(i + 1)));
    if n > 0 && rng.one_in(10) {
        axes[0] = rng.below(n + 1); // perhaps twice or out of range
    }
    // Negative axes count from the back.
    let signed: Vec<isize> =
        axes.iter().map(|&a| if a < n && rng.one_in(3) { a as isize - n as isize } else { a as isize }).collect();
    outcome(x, format!("{signed:?}"), |m| m.permute(&axes), x.tensor.permute_dims(&signed))
}

fn matrix_transpose(x: &Sample, _: &mut Rng) -> Outcome {
    let n = x.model.ndim();
    let swap = |m: &Oracle| {
        let mut axes: Vec<usize> = (0..n).collect();
        if n < 2 {
            return Err(Refused::Axis);
        }
        axes.swap(n - 1, n - 2);
        m.permute(&axes)
    };
    outcome(x, String::new(), swap, x.tensor.matrix_transpose())
}

fn reshape(x: &Sample, rng: &mut Rng) -> Outcome {
    let shape = if rng.one_in(12) { vec![x.model.data.len() + 1] } else { random_shape(x.model.data.len(), rng) };
    outcome(x, format!("{shape:?}"), |m| m.reshape(&shape), x.tensor.reshape(&shape))
}

/// A shape of that many elements, with sizes of 1 here and there.
fn random_shape(mut size: usize, rng: &mut Rng) -> Vec<usize> {
    let mut shape = Vec::new();
    if size == 0 {
        shape.push(0);
        (0..rng.below(3)).for_each(|_| shape.insert(0, rng.below(4)));
        return shape;
    }
    while size > 1 {
        let factors: Vec<usize> = (2..=size).filter(|f| size.is_multiple_of(*f)).collect();
        let f = *rng.pick(&factors);
        shape.push(f);
        size /= f;
    }
    while rng.one_in(3) {
        shape.insert(rng.below(shape.len() + 1), 1);
    }
    shape
}

fn squeeze(x: &Sample, rng: &mut Rng) -> Outcome {
    let ones: Vec<usize> = (0..x.model.ndim()).filter(|&a| x.model.shape[a] == 1).collect();
    if rng.one_in(3) {
        return outcome(x, "all".to_string(), |m| m.squeeze(&ones), x.tensor.squeeze(..));
    }
    let mut axes: Vec<usize> = ones.into_iter().filter(|_| rng.one_in(2)).collect();
    if rng.one_in(8) {
        axes.push(rng.below(x.model.ndim() + 1));
    }
    let signed: Vec<isize> = axes.iter().map(|&a| a as isize).collect();
    outcome(x, format!("{axes:?}"), |m| m.squeeze(&axes), x.tensor.squeeze(&signed))
}

fn expand_dims(x: &Sample, rng: &mut Rng) -> Outcome {
    let axis = rng.below(x.model.ndim() + 2);
    outcome(x, format!("{axis}"), |m| m.expand_dims(axis), x.tensor.expand_dims(axis))
}

fn broadcast_to(x: &Sample, rng: &mut Rng) -> Outcome {
    let mut shape = x.model.shape.clone();
    for n in &mut shape {
        if *n == 1 && rng.one_in(2) {
            *n = *rng.pick(&[0, 1, 2, 3]);
        } else if rng.one_in(20) {
            *n += 1;
        }
    }
    (0..rng.below(3)).for_each(|_| shape.insert(0, *rng.pick(&[1, 2, 3])));
    outcome(x, format!("{shape:?}"), |m| m.broadcast_to(&shape), x.tensor.broadcast_to(&shape))
}

fn narrow(x: &Sample, rng: &mut Rng) -> Outcome {
    let axis = rng.below(x.model.ndim() + 1);
    let n = x.model.shape.get(axis).copied().unwrap_or(1);
    let (mut start, mut end) = (rng.below(n + 1), rng.below(n + 1));
    if start > end && !rng.one_in(8) {
        (start, end) = (end, start);
    }
    end += usize::from(rng.one_in(12));
    outcome(x, format!("{axis} {start}..{end}"), |m| m.narrow(axis, start..end), x.tensor.narrow(start..end, axis))
}
