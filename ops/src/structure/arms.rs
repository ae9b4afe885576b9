//! Each element from one of two arms, as a condition says.

use crate::simd::{Loop, vectorised};

/// `out[i] = if condition[i] { x[i] } else { y[i] }`, for elements of 1, 2, 4, 8 or 16 bytes: as many of each as bytes of the condition, which is true
/// where it is not 0. Bits are chosen, not branches: which arm is next need not be guessed.
pub fn choose(condition: &[u8], x: &[u8], y: &[u8], out: &mut [u8]) {
    let width = out.len() / condition.len().max(1);
    debug_assert!(x.len() == out.len() && y.len() == out.len() && condition.len() * width == out.len());
    vectorised(Choose { condition, x, y, width, out });
}

struct Choose<'a> {
    condition: &'a [u8],
    x: &'a [u8],
    y: &'a [u8],
    width: usize,
    out: &'a mut [u8],
}

impl Loop for Choose<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Choose { condition, x, y, width, out } = self;
        macro_rules! of {
            ($word:ty) => {{
                const W: usize = size_of::<$word>();
                let (x, y, out) = (x.as_chunks::<W>().0, y.as_chunks::<W>().0, out.as_chunks_mut::<W>().0);
                let n = condition.len().min(x.len()).min(y.len()).min(out.len());
                let (condition, x, y, out) = (&condition[..n], &x[..n], &y[..n], &mut out[..n]);
                for i in 0..n {
                    let (x, y) = (<$word>::from_ne_bytes(x[i]), <$word>::from_ne_bytes(y[i]));
                    let mask = <$word>::from(condition[i] != 0).wrapping_neg();
                    out[i] = (y ^ ((x ^ y) & mask)).to_ne_bytes();
                }
            }};
        }
        match width {
            1 => of!(u8),
            2 => of!(u16),
            4 => of!(u32),
            8 => of!(u64),
            _ => {
                // Complex numbers: two words each.
                let (x, y, out) = (x.as_chunks::<8>().0, y.as_chunks::<8>().0, out.as_chunks_mut::<8>().0);
                for (((out, &c), x), y) in out
                    .as_chunks_mut::<2>()
                    .0
                    .iter_mut()
                    .zip(condition)
                    .zip(x.as_chunks::<2>().0)
                    .zip(y.as_chunks::<2>().0)
                {
                    let mask = u64::from(c != 0).wrapping_neg();
                    for i in 0..2 {
                        let (x, y) = (u64::from_ne_bytes(x[i]), u64::from_ne_bytes(y[i]));
                        out[i] = (y ^ ((x ^ y) & mask)).to_ne_bytes();
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::{Level, set_level};

    #[test]
    fn each_element_is_of_the_arm_that_the_condition_says() {
        for width in [1, 2, 4, 8, 16] {
            for n in [0, 1, 7, 16, 33, 100, 257] {
                let condition: Vec<u8> = (0..n).map(|i: usize| [0, 1, 0, 255, 2][i * i % 5]).collect();
                let x: Vec<u8> = (0..n * width).map(|i| (i * 7 + 1) as u8).collect();
                let y: Vec<u8> = (0..n * width).map(|i| (i * 13 + 128) as u8).collect();
                let wanted: Vec<u8> =
                    (0..n * width).map(|i| if condition[i / width] != 0 { x[i] } else { y[i] }).collect();
                for level in Level::ALL {
                    set_level(Some(level));
                    let mut out = vec![77; n * width];
                    choose(&condition, &x, &y, &mut out);
                    assert_eq!(out, wanted, "{n} of {width} bytes at {level:?}");
                }
                set_level(None);
            }
        }
    }
}
