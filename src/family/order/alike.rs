//! Elements that keys do not tell from each other: zeros, which have a sign, and NaN, which have a payload.

use openwork_ops::{DType, order};

use super::sort::{Order, STRETCH};

impl Order {
    /// [`Order::as_they_were`] of each of several slices of `n` elements.
    pub(super) fn rows_as_they_were(&self, dtype: DType, n: usize, source: &[u8], out: &mut [u8]) {
        let row = n * dtype.size();
        let rows = source.chunks_exact(row).zip(out.chunks_exact_mut(row));
        rows.for_each(|(source, out)| self.as_they_were(dtype, source, out));
    }

    /// Makes those of a slice's elements in order that keys do not tell from each other what they were, in the order in which
    /// they come in `source`.
    pub(super) fn as_they_were(&self, dtype: DType, source: &[u8], out: &mut [u8]) {
        if !dtype.is_float() {
            return;
        }
        let size = dtype.size();
        let (zero, nan) = (order::of_float(0.0), order::NAN);
        let [mut zeros, mut nans] = [zero, nan].map(|key| {
            // How many elements are before the key, or before what follows it.
            let before = |with_equal: bool| {
                let (mut low, mut high) = (0, out.len() / size);
                while low < high {
                    let middle = low.midpoint(high);
                    let mut own = [0];
                    order::keys(dtype, &out[middle * size..][..size], &mut own);
                    let (own, wanted) = (self.rank(own[0]), self.rank(key));
                    if own < wanted || (with_equal && own == wanted) { low = middle + 1 } else { high = middle }
                }
                low
            };
            before(false)..before(true)
        });
        if zeros.is_empty() && nans.is_empty() {
            return;
        }
        let mut own = [0; STRETCH];
        for source in source.chunks(STRETCH * size) {
            let own = &mut own[..source.len() / size];
            order::keys(dtype, source, own);
            for (key, element) in own.iter().zip(source.chunks_exact(size)) {
                let place = if *key == zero { zeros.next() } else { (*key == nan).then(|| nans.next()).flatten() };
                if let Some(place) = place {
                    out[place * size..(place + 1) * size].copy_from_slice(element);
                }
            }
        }
    }
}
