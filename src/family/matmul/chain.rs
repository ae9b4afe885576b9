//! The order in which several matrices are multiplied.

use openwork_ops::{Scalar, promote};

use crate::base::error::{self, Result};
use crate::base::mapped::Mapped;
use crate::levels::layout::Layout;
use crate::tensor::Tensor;
use crate::tensor::fill::Fill;

/// What products are estimated to store, and what they cost.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Estimate {
    /// Elements there are, stored or not.
    pub(crate) size: f64,
    /// Elements that are stored.
    pub(crate) stored: f64,
}

impl Estimate {
    pub(crate) fn of(x: &Tensor) -> Estimate {
        Estimate { size: x.size() as f64, stored: x.nse() as f64 }
    }

    /// A product with so many elements, of operands that share axes with `shared` elements, and how many terms it has: those
    /// stored are taken to be spread evenly.
    pub(crate) fn product(x: Estimate, y: Estimate, shared: f64, size: f64) -> (Estimate, f64) {
        let terms = x.stored * y.stored / shared.max(1.0);
        let stored = if terms < size * 1e-3 { terms } else { size * -(-terms / size.max(1.0)).exp_m1() };
        let is_full = x.stored >= x.size && y.stored >= y.size;
        (Estimate { size, stored: if is_full { size } else { stored.min(size) } }, terms)
    }
}

/// The product of matrices, with a vector at either end perhaps.
pub(super) fn product(operands: &[&Tensor]) -> Result<Tensor> {
    let last = operands.len().wrapping_sub(1);
    for (i, x) in operands.iter().enumerate() {
        let is_end = i == 0 || i == last;
        if x.ndim() != 2 && !(x.ndim() == 1 && is_end) {
            let why = format!("operand {i} needs two axes, or one at an end");
            return Err(error::shape(&operands.mapped(|x| x.shape()), why));
        }
    }
    let Some(first) = operands.first() else {
        return Err(error::invalid("operands", "there are none; at least one matrix is needed"));
    };
    // Rows of each, and columns of the last.
    let mut sizes = Vec::with_capacity(operands.len() + 1);
    sizes.push(if first.ndim() == 1 && last > 0 { 1 } else { first.shape()[0] });
    for (i, x) in operands.iter().enumerate() {
        let [rows, columns] = match *x.shape() {
            [n] if i == 0 && last > 0 => [1, n],
            [n] => [n, 1],
            [m, n] => [m, n],
            _ => [0, 0],
        };
        if rows != sizes[i] {
            let why = format!("operand {} has {} columns, and the next one {rows} rows", i.wrapping_sub(1), sizes[i]);
            return Err(error::shape(&operands.mapped(|x| x.shape()), why));
        }
        sizes.push(columns);
    }
    let mut dtype = first.dtype();
    for x in operands {
        let both = [dtype, x.dtype()];
        let why = "no dtype holds the values of all; cast some";
        dtype = promote(both[0], both[1]).ok_or_else(|| error::dtype(&both, why))?;
    }
    // Integers that wrap do so in one dtype, whatever the order.
    let operands = &operands.try_mapped(|x| x.cast(dtype))?[..];
    let cuts = cheapest(&operands.mapped(Estimate::of), &sizes);
    let out = of_range(operands, &cuts, 0, last)?;
    // Of terms over an axis of size 0 there are none, whatever the order.
    let is_absent = |x: &Tensor| x.fill().is_some_and(Fill::is_undefined);
    if sizes[1..=last].contains(&0) && operands.iter().any(is_absent) {
        return Ok(Tensor::full(out.shape(), Scalar::zero(dtype), Layout::Coo)?.stored());
    }
    Ok(out)
}

/// Where each range of factors, `first..=last` at `first * n + last`, is best cut in two: by the cost of all ranges within it.
fn cheapest(factors: &[Estimate], sizes: &[usize]) -> Vec<usize> {
    let n = factors.len();
    let mut best: Vec<Option<(f64, Estimate)>> = vec![None; n * n];
    let mut cuts = vec![0; n * n];
    for (i, own) in factors.iter().enumerate() {
        best[i * n + i] = Some((0.0, *own));
    }
    for length in 2..=n {
        for first in 0..=n - length {
            let last = first + length - 1;
            for cut in first..last {
                let (Some((a, x)), Some((b, y))) = (best[first * n + cut], best[(cut + 1) * n + last]) else {
                    continue;
                };
                let size = sizes[first] as f64 * sizes[last + 1] as f64;
                let (made, terms) = Estimate::product(x, y, sizes[cut + 1] as f64, size);
                let cost = a + b + terms + made.stored;
                if best[first * n + last].is_none_or(|(least, _)| cost < least) {
                    best[first * n + last] = Some((cost, made));
                    cuts[first * n + last] = cut;
                }
            }
        }
    }
    cuts
}

fn of_range(operands: &[Tensor], cuts: &[usize], first: usize, last: usize) -> Result<Tensor> {
    if first == last {
        return Ok(operands[first].clone());
    }
    let cut = cuts[first * operands.len() + last];
    of_range(operands, cuts, first, cut)?.matmul(&of_range(operands, cuts, cut + 1, last)?)
}

#[cfg(test)]
mod tests {
    use super::{Estimate, cheapest};

    /// A cut of the whole.
    fn cut(stored: &[f64], sizes: &[usize]) -> usize {
        let factors: Vec<Estimate> =
            (0..stored.len()).map(|i| Estimate { size: (sizes[i] * sizes[i + 1]) as f64, stored: stored[i] }).collect();
        cheapest(&factors, sizes)[stored.len() - 1]
    }

    #[test]
    fn orders() {
        // A dense vector at the end: from the right.
        assert_eq!(cut(&[1e6, 1e6, 1e3], &[1000, 1000, 1000, 1]), 0);
        assert_eq!(cut(&[1e3, 1e6, 1e6], &[1, 1000, 1000, 1000]), 1);
        // By sizes alone both orders cost the same; the two that store little go first.
        assert_eq!(cut(&[1e6, 1e3, 1e3], &[1000, 1000, 1000, 1000]), 0);
        assert_eq!(cut(&[1e3, 1e3, 1e6], &[1000, 1000, 1000, 1000]), 1);
    }
}
