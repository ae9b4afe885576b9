//! The law for reductions that are no folds: order, moments, norms, and those without NaN.

use openwork::{Interpolation, Result as Res, Tensor, with_densify_budget};

use super::bridge::{dense, dtype_of};
use super::cells::Cell;
use super::families::Family;
use super::gen_::{Sample, generate};
use super::oracle::{self, Expected, OType, OValue, Oracle, Refused, order, statistics};
use super::pointwise::{Mode, agrees, bit_for_bit, both};
use super::rng::Rng;
use super::values::Data;

pub const FAMILY: Family = Family {
    name: "statistics",
    ops: &[
        "argmin",
        "argmax",
        "aminmax",
        "median",
        "nanmedian",
        "quantile",
        "nanquantile",
        "mode",
        "var",
        "std",
        "nanvar",
        "nanstd",
        "vector_norm",
        "nansum",
        "nanprod",
        "nanmin",
        "nanmax",
        "nanmean",
        "sum_as",
        "prod_as",
        "mean_as",
    ],
    rounds: 1000,
    check,
};

/// The axes, their signed form as an argument, and whether to keep them.
pub struct Over {
    pub axes: Vec<usize>,
    pub given: Option<Vec<isize>>,
    pub keepdims: bool,
}

impl Over {
    pub fn any(ndim: usize, rng: &mut Rng) -> Over {
        let mut axes: Vec<usize> = (0..ndim).filter(|_| rng.one_in(2)).collect();
        if rng.one_in(40) {
            axes.push(rng.below(ndim + 1)); // perhaps twice or out of range
        }
        let all = axes.len() == ndim && axes.iter().copied().eq(0..ndim);
        let whole = all && rng.one_in(2);
        let signed = |&a: &usize| if a < ndim && rng.one_in(3) { a as isize - ndim as isize } else { a as isize };
        let given: Vec<isize> = axes.iter().map(signed).collect();
        let given = if whole { None } else { Some(given) };
        Over { axes, given, keepdims: rng.one_in(2) }
    }

    pub fn given(&self) -> Option<&[isize]> {
        self.given.as_deref()
    }
}

/// Compares an op with the oracle, with itself on a strided tensor, and without a budget.
pub fn compare(
    x: &Sample,
    want: Result<Expected, Refused>,
    run: &dyn Fn(&Tensor) -> Res<Tensor>,
) -> Result<(), String> {
    let got = Mode::Exact.run(|| run(&x.tensor));
    if let (Ok(_), Err(e)) = (&got, Mode::Exact.run(|| with_densify_budget(0, || run(&x.tensor))))
        && !matches!(e.kind(), openwork::ErrorKind::Densify { .. })
    {
        return Err(format!("budget 0: {e}"));
    }
    let Some((want, got)) = both(want, got)? else { return Ok(()) };
    let got_meaning = agrees("the oracle", &want, &got)?;
    if x.model.undefined {
        return Ok(());
    }
    let plain = Mode::Exact.run(|| run(&dense(&x.model))).map_err(|e| format!("strided: {e}"))?;
    let plain_meaning = agrees("strided", &want, &plain)?;
    if want.slack.iter().all(|&s| s == 0.0) {
        bit_for_bit(&got_meaning, &plain_meaning)?;
    }
    Ok(())
}

fn check(op: &str, cell: &Cell, seed: u64) -> Result<(), String> {
    let by_order =
        matches!(op, "argmin" | "argmax" | "aminmax" | "median" | "nanmedian" | "mode" | "nanmin" | "nanmax");
    let x = generate(cell, seed, if by_order { Data::Special } else { Data::Summable });
    let rng = &mut Rng::new(seed ^ 0x77);
    let over = Over::any(x.model.ndim(), rng);
    let (m, axes, given, keepdims) = (&x.model, &over.axes[..], over.given(), over.keepdims);
    let of = || super::reduce::over(given, keepdims);
    let outcome = |arguments: String, want: Result<Expected, Refused>, run: &dyn Fn(&Tensor) -> Res<Tensor>| {
        compare(&x, want, run).map_err(|e| format!("{arguments} over {given:?} keepdims {keepdims}: {e}"))
    };
    let plain = |want, run: &dyn Fn(&Tensor) -> Res<Tensor>| outcome(String::new(), want, run);
    match op {
        "argmin" | "argmax" => {
            let axis = if rng.one_in(2) { None } else { Some(rng.below(m.ndim() + 1)) };
            let axes = axis.map_or((0..m.ndim()).collect(), |a| vec![a]);
            let want = order::arg(m, &axes, keepdims, op == "argmax");
            let list = axis.map(|a| [a as isize]);
            let of = || super::reduce::over(list.as_ref().map(|l| &l[..]), keepdims);
            compare(&x, want, &|t| if op == "argmax" { t.argmax(of()) } else { t.argmin(of()) })
                .map_err(|e| format!("axis {axis:?}, keepdims {keepdims}: {e}"))
        }
        "aminmax" => {
            plain(oracle::reduce("min", m, axes, keepdims), &|t| Ok(t.aminmax(of())?.0))?;
            plain(oracle::reduce("max", m, axes, keepdims), &|t| Ok(t.aminmax(of())?.1))
        }
        "median" => plain(order::median(m, axes, keepdims, false), &|t| t.median(of())),
        "nanmedian" => plain(order::median(m, axes, keepdims, true), &|t| t.nanmedian(of())),
        "mode" => plain(order::mode(m, axes, keepdims), &|t| t.mode(of())),
        "quantile" | "nanquantile" => {
            let q = *rng.pick(&[0.0, 1.0, 0.5, 0.25, 0.3, 0.9]);
            let (name, how) = *rng.pick(&[
                ("linear", Interpolation::Linear),
                ("lower", Interpolation::Lower),
                ("higher", Interpolation::Higher),
                ("nearest", Interpolation::Nearest),
                ("midpoint", Interpolation::Midpoint),
            ]);
            let skip = op == "nanquantile";
            outcome(format!("{q} {name}"), order::quantile(m, q, axes, keepdims, name, skip), &|t| {
                if skip { t.nanquantile_with(q, how, of()) } else { t.quantile_with(q, how, of()) }
            })
        }
        "var" | "std" | "nanvar" | "nanstd" => {
            let correction = *rng.pick(&[0.0, 1.0, 0.5, 2.0]);
            let (root, skip) = (op.ends_with("std"), op.starts_with("nan"));
            let want = statistics::variance(m, axes, correction, keepdims, root, skip);
            outcome(format!("correction {correction}"), want, &|t| match op {
                "var" => t.var(correction, of()),
                "std" => t.std(correction, of()),
                "nanvar" => t.nanvar(correction, of()),
                _ => t.nanstd(correction, of()),
            })
        }
        "vector_norm" => {
            let ord = *rng.pick(&[2.0, 1.0, 0.0, f64::INFINITY, f64::NEG_INFINITY, 3.0, 0.5, -1.0, -2.5]);
            let want = statistics::norm(m, ord, axes, keepdims);
            outcome(format!("{ord}"), want, &|t| t.vector_norm(ord, of()))
        }
        "sum_as" | "prod_as" | "mean_as" => {
            let dtype = *rng.pick(&OType::ALL);
            let base = op.trim_end_matches("_as");
            let want =
                statistics::reduce_as(base, m, dtype, axes, keepdims).map(|w| tolerated(base, w, &m.cast(dtype)));
            let to = dtype_of(dtype);
            outcome(dtype.name().to_string(), want, &|t| match op {
                "sum_as" => t.sum_as(to, of()),
                "prod_as" => t.prod_as(to, of()),
                _ => t.mean_as(to, of()),
            })
        }
        _ => {
            let base = op.trim_start_matches("nan");
            let want = statistics::without_nan(base, m, axes, keepdims).map(|w| tolerated(base, w, m));
            plain(want, &|t| match op {
                "nansum" => t.nansum(of()),
                "nanprod" => t.nanprod(of()),
                "nanmin" => t.nanmin(of()),
                "nanmax" => t.nanmax(of()),
                _ => t.nanmean(of()),
            })
        }
    }
}

/// As for the plain product: nothing is expected where the order of factors decides about overflow, or complex formulas
/// about NaN.
fn tolerated(op: &str, mut want: Expected, x: &Oracle) -> Expected {
    let large = |v: &OValue| match *v {
        OValue::Float(x) => x.abs() > 1000.0,
        OValue::Complex(re, im) => !re.is_finite() || !im.is_finite() || re.abs() > 1000.0 || im.abs() > 1000.0,
        _ => false,
    };
    let doubtful = (op == "prod" && x.data.iter().flatten().any(large))
        || (op == "mean" && x.data.iter().flatten().any(|v| matches!(v, OValue::Complex(..)) && !v.is_finite()));
    if doubtful {
        want.slack.fill(f64::INFINITY);
    }
    want
}
