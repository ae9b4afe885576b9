//! Sums of terms that are made of numbers, added in pairs: the error grows with the logarithm of how many they are.

use crate::simd::{Loop, vectorised};

/// Numbers whose sums are found in one loop.
pub const AT_ONCE: usize = 1 << 12;

/// Terms that are added one after the other, in each of some lanes.
const FEW: usize = 1 << 8;
/// More than one vector of them: an addition waits for the one before it in the same lane.
const LANES: usize = 16;

/// Adds the terms that `f` makes of each number. The same at every level of vector instructions.
pub fn sums<T: Copy, const N: usize>(of: &[T], f: &(impl Fn(T) -> [f64; N] + Sync)) -> [f64; N] {
    if of.len() <= FEW {
        return few(of, f);
    }
    if of.len() <= AT_ONCE {
        return vectorised(Terms { of, f });
    }
    let (a, b) = of.split_at((of.len() / 2).next_multiple_of(AT_ONCE));
    added(sums(a, f), sums(b, f))
}

/// Two sums of each of some terms.
#[inline(always)]
pub fn added<const N: usize>(a: [f64; N], b: [f64; N]) -> [f64; N] {
    std::array::from_fn(|i| a[i] + b[i])
}

struct Terms<'a, T, F> {
    of: &'a [T],
    f: &'a F,
}

/// Sums in lanes, of each of some terms.
type Lanes<const N: usize> = [[f64; LANES]; N];

impl<T: Copy, const N: usize, F: Fn(T) -> [f64; N]> Loop for Terms<'_, T, F> {
    type Output = [f64; N];

    #[inline(always)]
    fn run(self) -> [f64; N] {
        let mut parts = [[[0.0; LANES]; N]; AT_ONCE / FEW];
        let mut count = 0;
        for (part, of) in parts.iter_mut().zip(self.of.chunks(FEW)) {
            *part = in_lanes(of, self.f);
            count += 1;
        }
        while count > 1 {
            let half = count / 2;
            for i in 0..half {
                parts[i] = both(&parts[2 * i], &parts[2 * i + 1]);
            }
            if count % 2 == 1 {
                parts[half] = parts[count - 1];
            }
            count = half + count % 2;
        }
        together(parts[0])
    }
}

#[inline(always)]
fn few<T: Copy, const N: usize>(of: &[T], f: &impl Fn(T) -> [f64; N]) -> [f64; N] {
    together(in_lanes(of, f))
}

#[inline(always)]
fn in_lanes<T: Copy, const N: usize>(of: &[T], f: &impl Fn(T) -> [f64; N]) -> Lanes<N> {
    let (blocks, rest) = of.as_chunks::<LANES>();
    let mut lanes = [[0.0; LANES]; N];
    for block in blocks {
        for l in 0..LANES {
            let terms = f(block[l]);
            for i in 0..N {
                lanes[i][l] += terms[i];
            }
        }
    }
    for (l, &x) in rest.iter().enumerate() {
        let terms = f(x);
        for i in 0..N {
            lanes[i][l] += terms[i];
        }
    }
    lanes
}

#[inline(always)]
fn both<const N: usize>(a: &Lanes<N>, b: &Lanes<N>) -> Lanes<N> {
    // Plain loops: the closures of `from_fn` would be compiled for any CPU, and called.
    let mut sums = *a;
    for i in 0..N {
        for l in 0..LANES {
            sums[i][l] += b[i][l];
        }
    }
    sums
}

/// The sums of all lanes.
#[inline(always)]
fn together<const N: usize>(lanes: Lanes<N>) -> [f64; N] {
    lanes.map(|mut lanes| {
        let mut half = LANES / 2;
        while half > 0 {
            for l in 0..half {
                lanes[l] += lanes[l + half];
            }
            half /= 2;
        }
        lanes[0]
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::{Level, set_level};

    #[test]
    fn sums_are_near_and_the_same_at_every_level() {
        for n in [0, 1, 7, 8, 127, 129, 1000, AT_ONCE - 1, AT_ONCE, AT_ONCE + 1, 3 * AT_ONCE + 5] {
            let x: Vec<f64> = (0..n).map(|i| 1.0 / (1 + i) as f64).collect();
            let at = |level| {
                set_level(Some(level));
                sums(&x, &|x| [x, x * x]).map(f64::to_bits)
            };
            let [first, ..] = Level::ALL.map(at);
            assert!(Level::ALL.map(at).into_iter().all(|found| found == first));
            set_level(None);
            let [plain, squares] = first.map(f64::from_bits);
            assert!((plain - x.iter().rev().sum::<f64>()).abs() <= 1e-14 * (1.0 + plain));
            assert!((squares - x.iter().rev().map(|x| x * x).sum::<f64>()).abs() <= 1e-14);
        }
    }
}
