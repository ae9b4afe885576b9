//! The law for products.

use openwork::with_densify_budget;

use super::bridge::dense;
use super::cells::Cell;
use super::gen_::generate;
use super::oracle::{self, Expected};
use super::pointwise::{Mode, agrees, both};
use super::rng::Rng;
use super::values::Data;

/// Shapes of two operands, which mostly fit.
pub fn any_shapes(rng: &mut Rng) -> [Vec<usize>; 2] {
    let sizes = [0, 1, 2, 4, 4, 6];
    let [m, k, n] = [(); 3].map(|()| *rng.pick(&sizes));
    let k2 = if rng.one_in(20) { k + 1 } else { k };
    match rng.below(8) {
        0 => [vec![k], vec![k2]],
        1 => [vec![m, k], vec![k2]],
        2 => [vec![k], vec![k2, n]],
        3 => [vec![2, m, k], vec![2, k2, n]],
        4 => [vec![2, m, k], vec![k2, n]],
        5 => [vec![m, k], vec![*rng.pick(&[1, 2]), k2, n]],
        6 if rng.one_in(6) => [vec![], vec![k2, n]],
        // Wider than registers hold at a time.
        6 => {
            let [m, k] = [(); 2].map(|()| *rng.pick(&[1, 5, 21]));
            let n = *rng.pick(&[3, 8, 15, 30, 33, 67]);
            if rng.one_in(3) { [vec![n, k], vec![k, m]] } else { [vec![m, k], vec![k, n]] }
        }
        _ => [vec![m, k], vec![k2, n]],
    }
}

pub fn matmul(cells: [&Cell; 2], seed: u64, mode: Mode) -> Result<(), String> {
    let data = match mode {
        Mode::Exact => Data::Summable,
        // Stored elements far smaller than the fill beneath them.
        Mode::Finite if seed % 2 == 1 => Data::Uneven,
        Mode::Finite => Data::Any,
    };
    let [a, b] = [generate(cells[0], seed, data), generate(cells[1], seed ^ 0x5555, data)];
    let want = oracle::matmul(&a.model, &b.model);
    let got = mode.run(|| a.tensor.matmul(&b.tensor));
    let Some((want, got)) = both(want, got)? else { return Ok(()) };
    let want = tolerated(want, mode);
    agrees("the oracle", &want, &got)?;
    let plain = mode.run(|| dense(&a.model).matmul(&dense(&b.model))).map_err(|e| format!("strided: {e}"))?;
    if !want.value.undefined {
        agrees("strided", &want, &plain)?;
    }
    match mode.run(|| with_densify_budget(0, || a.tensor.matmul(&b.tensor))) {
        Err(e) if !matches!(e.kind(), openwork::ErrorKind::Densify { .. }) => Err(format!("budget 0: {e}")),
        Ok(t) if t.is_strided() && a.fill.is_some() && b.fill.is_some() && t.size() > 1 => {
            Err("budget 0: strided from sparse operands".to_string())
        }
        _ => Ok(()),
    }
}

/// Complex products of NaN and infinity differ by formula in what becomes NaN.
pub fn tolerated(mut want: Expected, mode: Mode) -> Expected {
    if mode == Mode::Exact && want.value.dtype.is_complex() {
        for (slack, value) in want.slack.iter_mut().zip(&want.value.data) {
            if value.is_some_and(|v| !v.is_finite()) {
                *slack = f64::INFINITY;
            }
        }
    }
    want
}
