//! What lies beneath hard elements, times the rows of a dense matrix that these meet, in sums of two floats.

use super::columns::{Columns, Panelled};
use super::double::Double;
use super::over_fill::{Along, OverFill};
use super::typed::slice_mut;
use crate::simd::prefetch;

/// Elements whose rows of the dense matrix are asked for ahead.
const AHEAD: usize = 8;

/// A hard element that was met: its place in the result, and which row of the dense matrix it meets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Met {
    /// The row of the result.
    pub row: u32,
    /// The row of the dense matrix.
    pub with: u32,
}

impl OverFill {
    /// Sums of fills, with their sign changed, times a panel of the dense matrix: of those beneath elements `met[ends[i]..ends[i + 1]]`,
    /// which are in one row of the result, to row `i` of accumulators of [`Carrier::Double`](super::Carrier::Double). A row of
    /// them has `n`, of which those from `first` on are the panel's.
    pub fn beneath(&self, met: &[Met], ends: &[usize], panel: Columns<'_>, (n, first): (usize, usize), out: &mut [u8]) {
        Work { over: self, met, ends, panel, n, first, out: slice_mut(out) }.of_width(panel.width);
    }

    fn fill_at(&self, met: Met) -> f64 {
        let fills = self.fills();
        match self.along() {
            Along::Columns => fills[met.row as usize],
            Along::Rows => fills[met.with as usize],
            Along::Nothing => fills[0],
        }
    }
}

struct Work<'a> {
    over: &'a OverFill,
    met: &'a [Met],
    ends: &'a [usize],
    panel: Columns<'a>,
    n: usize,
    first: usize,
    out: &'a mut [Double],
}

impl Panelled for Work<'_> {
    #[inline(always)]
    fn run<const N: usize>(self) {
        let Work { over, met, ends, panel, n, first, out } = self;
        for (ends, out) in ends.windows(2).zip(out.chunks_exact_mut(n)) {
            let (mut high, mut low) = ([0.0; N], [0.0; N]);
            for e in ends[0]..ends[1] {
                if let Some(next) = met.get(e + AHEAD) {
                    prefetch::<f64, N>(panel.values, next.with as usize * panel.stride);
                }
                let (fill, y) = (-over.fill_at(met[e]), panel.row::<N>(met[e].with as usize));
                for j in 0..N {
                    let sum = Double { hi: high[j], lo: low[j] }.mul_add(fill, y[j]);
                    (high[j], low[j]) = (sum.hi, sum.lo);
                }
            }
            for (j, out) in out[first..].iter_mut().take(N).enumerate() {
                *out = Double { hi: high[j], lo: low[j] };
            }
        }
    }
}
