//! The law for softmax and its kin.

use openwork::{ErrorKind, Tensor, with_densify_budget};

use super::bridge::dense;
use super::cells::Cell;
use super::families::Family;
use super::gen_::generate;
use super::oracle::{self, Kin};
use super::pointwise::{Mode, agrees, both, full_fill};
use super::reduce::over;
use super::rng::Rng;
use super::values::Data;

pub const FAMILY: Family = Family {
    name: "softmax",
    ops: &["softmax", "log_softmax", "logsumexp", "normalize", "standardize"],
    rounds: 1500,
    check,
};

const ORDERS: [f64; 8] = [2.0, 1.0, 0.0, f64::INFINITY, f64::NEG_INFINITY, 3.0, 0.5, -1.0];

fn check(op: &str, cell: &Cell, seed: u64) -> Result<(), String> {
    let rng = &mut Rng::new(seed ^ 0x50f7);
    let mode = if rng.one_in(2) { Mode::Finite } else { Mode::Exact };
    let x = generate(cell, seed, if mode == Mode::Exact { Data::Summable } else { Data::Any });
    let n = x.model.ndim();
    let mut axes: Vec<usize> = (0..n).filter(|_| rng.one_in(2)).collect();
    if axes.is_empty() && n > 0 && !rng.one_in(8) {
        axes.push(rng.below(n));
    }
    if rng.one_in(20) {
        axes.push(rng.below(n + 1)); // perhaps twice or out of range
    }
    let signed: Vec<isize> =
        axes.iter().map(|&a| if a < n && rng.one_in(3) { a as isize - n as isize } else { a as isize }).collect();
    let given =
        if axes.len() == n && rng.one_in(2) && (0..n).all(|a| axes.contains(&a)) { None } else { Some(&signed[..]) };
    let keepdims = rng.one_in(2);
    let (p, eps) = (*rng.pick(&ORDERS), *rng.pick(&[1e-12, 0.0, 2.5]));
    let correction = *rng.pick(&[0.0, 1.0, 0.5]);
    let kin = match op {
        "softmax" => Kin::Softmax,
        "log_softmax" => Kin::LogSoftmax,
        "logsumexp" => Kin::LogSumExp,
        "normalize" => Kin::Normalize(p, eps),
        _ => Kin::Standardize(correction),
    };
    let apply = |x: &Tensor| match kin {
        Kin::Softmax => x.softmax(over(given, false)),
        Kin::LogSoftmax => x.log_softmax(over(given, false)),
        Kin::LogSumExp => x.logsumexp(over(given, keepdims)),
        Kin::Normalize(p, eps) => x.normalize_with(p, eps, over(given, false)),
        Kin::Standardize(correction) => x.standardize(correction, over(given, false)),
    };
    let result = || {
        let want = oracle::softmax_kin(kin, &x.model, &axes, keepdims);
        let Some((want, got)) = both(want, mode.run(|| apply(&x.tensor)))? else { return Ok(()) };
        agrees("the oracle", &want, &got)?;
        nothing_dense_unasked(
            &x.tensor,
            kin,
            full_fill(&x.tensor),
            &got,
            mode.run(|| with_densify_budget(0, || apply(&x.tensor))),
        )?;
        if x.model.undefined {
            return Ok(());
        }
        let plain = mode.run(|| apply(&dense(&x.model))).map_err(|e| format!("strided: {e}"))?;
        agrees("strided", &want, &plain).map(|_| ())
    };
    result().map_err(|e| format!("{kin:?} {given:?} {keepdims} {mode:?}: {e}"))
}

/// With a budget of 0 the result is sparse and the same, or the error says what would be dense.
fn nothing_dense_unasked(
    x: &Tensor,
    kin: Kin,
    full: bool,
    got: &Tensor,
    poor: openwork::Result<Tensor>,
) -> Result<(), String> {
    match poor {
        Err(e) if matches!(e.kind(), ErrorKind::Densify { .. }) => Ok(()),
        Err(e) => Err(format!("budget 0: {e}")),
        Ok(t) if kin != Kin::LogSumExp && t.is_strided() != x.is_strided() && !full && t.size() > 0 => {
            Err(format!("budget 0: from {} to {}", x.layout(), t.layout()))
        }
        Ok(t) if kin != Kin::LogSumExp && t.nse() != got.nse() => {
            Err(format!("budget 0: {} stored, not {}", t.nse(), got.nse()))
        }
        Ok(_) => Ok(()),
    }
}
