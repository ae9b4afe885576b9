//! How large and how small elements are, in one pass.

use std::cell::OnceCell;

use openwork_ops::{DType, Element, Scalar};

use crate::base::parallel;
use crate::base::strided::Strided;
use crate::tensor::{Storage, Tensor};

/// Of floats, or of the parts of complex numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Extent {
    pub(super) is_finite: bool,
    /// The smallest magnitude other than zero; infinite if there is none.
    pub(super) low: f64,
    /// The largest magnitude.
    pub(super) high: f64,
}

/// Elements of one piece of work.
const GRAIN: usize = 1 << 16;

impl Extent {
    const NOTHING: Extent = Extent { is_finite: true, low: f64::INFINITY, high: 0.0 };

    pub(super) fn of(values: &Strided) -> Extent {
        if !values.dtype.is_inexact() {
            return Extent::NOTHING;
        }
        let core = values.core();
        match core.dtype {
            DType::F64 | DType::Complex128 => {
                over(f64::from_bytes(core.contiguous_bytes().unwrap_or_default()), &Extent::of_block)
            }
            DType::F32 | DType::Complex64 => {
                over(f32::from_bytes(core.contiguous_bytes().unwrap_or_default()), &Extent::of_block)
            }
            _ => {
                let core = core.cast(DType::F32);
                over(f32::from_bytes(core.contiguous_bytes().unwrap_or_default()), &Extent::of_block)
            }
        }
    }

    /// Lanes, each with its own least and greatest, so that the loop becomes vector code.
    fn of_block<T: Copy + Into<f64>>(block: &[T]) -> Extent {
        const LANES: usize = 8;
        let (mut low, mut high, mut bad) = ([f64::INFINITY; LANES], [0f64; LANES], [0u64; LANES]);
        let mut look = |i: usize, v: T| {
            let v: f64 = v.into().abs();
            let above = if v > 0.0 { v } else { f64::INFINITY };
            low[i] = if above < low[i] { above } else { low[i] };
            high[i] = if v > high[i] { v } else { high[i] };
            bad[i] |= u64::from(!v.is_finite());
        };
        let (chunks, rest) = block.as_chunks::<LANES>();
        for chunk in chunks {
            for (i, &v) in chunk.iter().enumerate() {
                look(i, v);
            }
        }
        for (i, &v) in rest.iter().enumerate() {
            look(i, v);
        }
        Extent {
            is_finite: bad.iter().all(|&b| b == 0),
            low: low.iter().copied().fold(f64::INFINITY, f64::min),
            high: high.iter().copied().fold(0.0, f64::max),
        }
    }

    fn and(self, other: Extent) -> Extent {
        Extent {
            is_finite: self.is_finite && other.is_finite,
            low: self.low.min(other.low),
            high: self.high.max(other.high),
        }
    }
}

fn over<T: Sync>(parts: &[T], of: &(dyn Fn(&[T]) -> Extent + Sync)) -> Extent {
    let pieces = parallel::map_chunks(parts.len(), GRAIN, &|range| of(&parts[range]));
    pieces.into_iter().fold(Extent::NOTHING, Extent::and)
}

/// An operand of which each pass is made once, and only if it is asked for.
pub(super) struct Looked<'a> {
    pub(super) tensor: &'a Tensor,
    stored: OnceCell<Extent>,
    fill: OnceCell<Extent>,
}

impl<'a> Looked<'a> {
    pub(super) fn new(tensor: &'a Tensor) -> Looked<'a> {
        Looked { tensor, stored: OnceCell::new(), fill: OnceCell::new() }
    }

    /// Of the elements that are there.
    pub(super) fn stored(&self) -> Extent {
        *self.stored.get_or_init(|| match &self.tensor.storage {
            Storage::Strided(s) => Extent::of(s),
            Storage::Sparse(s) => Extent::of(&s.values),
        })
    }

    /// Of the fill, if there is one.
    pub(super) fn fill(&self) -> Extent {
        *self.fill.get_or_init(|| match self.tensor.sparse() {
            Some(s) if s.fill.as_scalar().is_some_and(Scalar::is_zero) => Extent::NOTHING,
            s => s.and_then(|s| s.fill_values()).map_or(Extent::NOTHING, |fill| Extent::of(&fill)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extents() {
        let of = |v: Vec<f64>| Extent::of(&Strided::from_vec(v.clone(), vec![v.len()]));
        let mut values = vec![0.0; 19];
        assert_eq!(of(values.clone()), Extent::NOTHING);
        (values[7], values[18]) = (-3.0, 0.5);
        assert_eq!(of(values.clone()), Extent { is_finite: true, low: 0.5, high: 3.0 });
        values[17] = f64::NAN;
        assert_eq!(of(values.clone()), Extent { is_finite: false, low: 0.5, high: 3.0 });
        (values[17], values[2]) = (1.0, f64::NEG_INFINITY);
        assert!(!of(values).is_finite);
        let half = Strided::from_vec(vec![0.25f64, -4.0], vec![2]).cast(DType::F16);
        assert_eq!(Extent::of(&half), Extent { is_finite: true, low: 0.25, high: 4.0 });
    }
}
