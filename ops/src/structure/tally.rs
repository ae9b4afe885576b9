//! Integers counted in a table.

use crate::dtype::{DType, Element};
use crate::simd;

/// Adds one to `counts[x]` for each element `x` of an integer dtype; those that have no place there are left out.
///
/// Elements are read as they lie: to make numbers of one width of them first would write to memory, which waits for the counts
/// before.
pub fn tally(dtype: DType, values: &[u8], counts: &mut [i64]) {
    macro_rules! of {
        ($($variant:ident $ty:ty),+) => {
            match dtype {
                $(DType::$variant => typed(<$ty>::from_bytes(values), |x| x as usize, counts),)+
                _ => debug_assert!(false, "{dtype} has no integers"),
            }
        };
    }
    of!(I8 i8, I16 i16, I32 i32, I64 i64, U8 u8, U16 u16, U32 u32, U64 u64);
}

fn typed<T: Copy>(values: &[T], number: impl Fn(T) -> usize, counts: &mut [i64]) {
    const PART: usize = 16;
    const AHEAD: usize = 8 * PART;
    let part = if simd::is_far(counts) { PART } else { values.len().max(1) };
    for (i, part) in values.chunks(part).enumerate() {
        if part.len() == PART
            && let Some(later) = values.get(PART * i + AHEAD..PART * (i + 1) + AHEAD)
        {
            later.iter().for_each(|&x| simd::prefetch_far::<i64, 1>(counts, number(x)));
        }
        for &x in part {
            if let Some(count) = counts.get_mut(number(x)) {
                *count += 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_of_every_width_are_counted() {
        let numbers: Vec<i64> = (0..5000i64).map(|i| i * 40_503 % 127).collect();
        for dtype in DType::ALL.iter().copied().filter(|dtype| dtype.is_int()) {
            let mut words = vec![0u64; 5000];
            let bytes = &mut bytemuck::cast_slice_mut(&mut words)[..5000 * dtype.size()];
            crate::cast::cast_block(DType::I64, i64::as_bytes(&numbers), dtype, bytes);
            // Those beyond the table are left out.
            for bins in [127, 50] {
                let mut counts = vec![0; bins];
                tally(dtype, bytes, &mut counts);
                let wanted = |n: usize| numbers.iter().filter(|&&x| x == n as i64).count() as i64;
                assert!(counts.iter().enumerate().all(|(n, &count)| count == wanted(n)), "{dtype}");
            }
        }
    }
}
