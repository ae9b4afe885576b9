//! Where the greatest or the least element of a block is first: by the keys of [`crate::order`].

use std::marker::PhantomData;
use std::ops::Add;

use half::{bf16, f16};

use crate::dtype::{DType, Element};
use crate::order::{NAN, Ordered, has_nan, keys, of_float, real};
use crate::reduce::ReduceOp;
use crate::simd::{Loop, vectorised};
use crate::structure::Index;

/// The first of the greatest elements of a block, or of the least: which it is, and its key. NaN is beyond all others on
/// either side. `None` of no elements, and of dtypes without an order.
///
/// A few floats go by once, in lanes with their places; of others the best is found by the loops of the greatest and the least, and
/// then where it is.
pub fn first(dtype: DType, values: &[u8], greatest: bool) -> Option<(usize, u64)> {
    match dtype {
        DType::F64 => outermost_float::<f64, u64>(<f64 as Element>::from_bytes(values), greatest),
        DType::F32 => outermost_float::<f32, u32>(<f32 as Element>::from_bytes(values), greatest),
        DType::Bool => outermost_bool(<bool as Element>::from_bytes(values), greatest),
        _ => outermost_by_fold(dtype, values, greatest),
    }
}

/// Of truth values those after the first one wanted are not looked at.
fn outermost_bool(values: &[bool], greatest: bool) -> Option<(usize, u64)> {
    const FEW: usize = 64;
    let (few, many) = values.split_at(values.len().min(FEW));
    let found = few.iter().position(|&v| v == greatest);
    let found = found.or_else(|| vectorised(Same(many, greatest)).map(|at| few.len() + at));
    let at = found.map_or((0, u64::from(!greatest)), |at| (at, u64::from(greatest)));
    (!values.is_empty()).then_some(at)
}

fn outermost_by_fold(dtype: DType, values: &[u8], greatest: bool) -> Option<(usize, u64)> {
    const STRETCH: usize = 512;
    // As long as these take by one's key after the other, to begin and to end a fold takes.
    const FEW: usize = 32;
    let op = if greatest { ReduceOp::Max } else { ReduceOp::Min };
    let typing = op.typing(dtype)?;
    // Among the least, one more than each key makes NaN the least.
    let (add, flip) = if greatest { (0, 0) } else { (u64::from(has_nan(dtype)), u64::MAX) };
    let size = dtype.size();
    if values.len() <= FEW * size {
        let mut found = None;
        real!(dtype, outermost_of_few(values, add, flip, &mut found));
        return found;
    }
    let kernels = op.kernels(typing)?;
    let mut found: Option<(usize, u64, [u64; 1])> = None;
    for (i, stretch) in values.chunks(STRETCH * size).enumerate() {
        let (mut word, mut key) = ([0u64], [0]);
        let best: &mut [u8] = &mut bytemuck::cast_slice_mut(&mut word)[..size];
        kernels.fold(stretch, best);
        keys(dtype, best, &mut key);
        let rank = key[0].wrapping_add(add) ^ flip;
        if found.is_none_or(|(_, most, _)| rank > most) {
            found = Some((i, rank, word));
        }
        if has_nan(dtype) && key[0] == NAN {
            break;
        }
    }
    let (i, rank, word) = found?;
    let key = (rank ^ flip).wrapping_sub(add);
    let start = i * STRETCH;
    let stretch = &values[start * size..values.len().min((start + STRETCH) * size)];
    let best = &bytemuck::cast_slice(&word)[..size];
    let at = match size {
        _ if !dtype.is_int() => place_of(dtype, stretch, key),
        1 => same::<u8>(stretch, best),
        2 => same::<u16>(stretch, best),
        4 => same::<u32>(stretch, best),
        _ => same::<u64>(stretch, best),
    };
    at.map(|at| (start + at, key))
}

/// Where the bits of an element come first.
fn same<T: Element + PartialEq>(values: &[u8], element: &[u8]) -> Option<usize> {
    vectorised(Same(T::from_bytes(values), T::read(element)))
}

/// The first of the elements whose key, with a number added and bits changed, is the greatest.
fn outermost_of_few<T: Ordered>(values: &[u8], add: u64, flip: u64, found: &mut Option<(usize, u64)>) {
    let rank = |v: &T| v.key().wrapping_add(add) ^ flip;
    let [first, rest @ ..] = T::from_bytes(values) else { return };
    let (mut at, mut most) = (0, rank(first));
    for (i, v) in rest.iter().enumerate() {
        // Without a branch, which would be a guess.
        let own = rank(v);
        (at, most) = if own > most { (i + 1, own) } else { (at, most) };
    }
    *found = Some((at, (most ^ flip).wrapping_sub(add)));
}

/// Where the element with this key comes first.
fn place_of(dtype: DType, values: &[u8], key: u64) -> Option<usize> {
    const FEW: usize = 64;
    let mut buffer = [0; FEW];
    values.chunks(FEW * dtype.size()).enumerate().find_map(|(i, values)| {
        let own = &mut buffer[..values.len() / dtype.size()];
        keys(dtype, values, own);
        // Without a way out on the first: the compiler makes vectors of it.
        if !own.iter().fold(false, |found, &own| found | (own == key)) {
            return None;
        }
        own.iter().position(|&own| own == key).map(|at| i * FEW + at)
    })
}

/// Elements from which on the best is found first, and then where it is: to keep the place of each lane's takes longer than a guess of
/// where it is that is wrong.
const MANY: usize = 512;

/// Where a float is among others that hold it.
struct Same<'a, T>(&'a [T], T);

impl<T: Copy + PartialEq> Loop for Same<'_, T> {
    type Output = Option<usize>;
    #[inline(always)]
    fn run(self) -> Option<usize> {
        const FEW: usize = 64;
        let Same(values, wanted) = self;
        let has = |values: &[T]| values.iter().fold(false, |found, &v| found | (v == wanted));
        let start = values.chunks(FEW).position(has)? * FEW;
        values[start..].iter().position(|&v| v == wanted).map(|at| start + at)
    }
}

/// [`first`] of floats; places of a few fit `P`, which is as wide as they are.
fn outermost_float<T, P: Index>(values: &[T], greatest: bool) -> Option<(usize, u64)>
where
    T: Element + PartialOrd + Add<Output = T> + Into<f64>,
{
    if values.len() >= MANY {
        let op = if greatest { ReduceOp::Max } else { ReduceOp::Min };
        let kernels = op.kernels(op.typing(T::DTYPE)?)?;
        let mut word = [0u64];
        let best = &mut bytemuck::cast_slice_mut::<u64, u8>(&mut word)[..size_of::<T>()];
        kernels.fold(T::as_bytes(values), best);
        let best = T::read(best);
        let own: f64 = best.into();
        if own.is_nan() {
            return values.iter().position(|&v| v.into().is_nan()).map(|at| (at, NAN));
        }
        return vectorised(Same(values, best)).map(|at| (at, of_float(own)));
    }
    if values.is_empty() {
        return None;
    }
    let (at, is_suspect) = match greatest {
        true => vectorised(Beyond::<T, P, true> { values, places: PhantomData }),
        false => vectorised(Beyond::<T, P, false> { values, places: PhantomData }),
    };
    let nan = if is_suspect { values.iter().position(|&v| v.into().is_nan()) } else { None };
    Some(nan.map_or_else(|| (at, of_float(values[at].into())), |at| (at, NAN)))
}

/// Floats, at least one, among which the first of the greatest is wanted, or of the least.
struct Beyond<'a, T, P, const GREATEST: bool> {
    values: &'a [T],
    places: PhantomData<P>,
}

impl<T: Copy + PartialOrd + Add<Output = T>, P: Index, const GREATEST: bool> Loop for Beyond<'_, T, P, GREATEST> {
    /// Where it is, and whether that is only so if no element is NaN, which one then may be.
    type Output = (usize, bool);
    #[inline(always)]
    #[allow(clippy::eq_op)]
    fn run(self) -> (usize, bool) {
        const LANES: usize = 16;
        let beyond = |a: T, b: T| if GREATEST { a > b } else { a < b };
        let values = self.values;
        let Some(first) = values.first_chunk::<LANES>() else {
            let (mut at, mut best, mut sum) = (0, values[0], values[0]);
            for (i, &v) in values.iter().enumerate().skip(1) {
                // Without a branch, which would be a guess.
                (at, best) = if beyond(v, best) { (i, v) } else { (at, best) };
                sum = sum + v;
            }
            return (at, sum != sum);
        };
        // Of each lane the best, where the group begins that has it, and the sum, which is NaN if an element is.
        let (mut best, mut at, mut sum) = (*first, [P::new(0); LANES], *first);
        let last = values.len() - LANES;
        let mut start = 0;
        while start < last {
            // The last ones of all, some of them again at the place that they have.
            start = (start + LANES).min(last);
            let Some(own) = values[start..].first_chunk::<LANES>() else { break };
            let begins = P::new(start);
            for lane in 0..LANES {
                let v = own[lane];
                at[lane] = if beyond(v, best[lane]) { begins } else { at[lane] };
                best[lane] = if beyond(v, best[lane]) { v } else { best[lane] };
                sum[lane] = sum[lane] + v;
            }
        }
        let mut places: [P; LANES] = std::array::from_fn(|lane| P::new(at[lane].get() + lane));
        for half in [8, 4, 2, 1] {
            for lane in 0..half {
                let (v, place) = (best[lane + half], places[lane + half]);
                let wins = beyond(v, best[lane]) | ((v == best[lane]) & (place < places[lane]));
                places[lane] = if wins { place } else { places[lane] };
                best[lane] = if wins { v } else { best[lane] };
                sum[lane] = sum[lane] + sum[lane + half];
            }
        }
        (places[0].get(), sum[0] != sum[0])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_outermost_of_a_block() {
        let plain = |x: &[f64], greatest: bool| {
            let nan = x.iter().position(|v| v.is_nan());
            let best = x.iter().copied().fold(x[0], |a, b| if greatest { a.max(b) } else { a.min(b) });
            nan.or_else(|| x.iter().position(|&v| v == best))
        };
        for n in [1, 2, 15, 16, 17, 31, 32, 33, 511, 512, 513, 1023, 1024, 1025, 5000, 140_000] {
            for round in 0..8u64 {
                let mut x: Vec<f64> = (0..n as u64)
                    .map(|i| ((i + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15 + 2 * round) >> 58) as f64 - 32.0)
                    .collect();
                if round == 7 {
                    // Zeros of both signs are alike.
                    x.iter_mut().for_each(|v| *v *= 0.0);
                }
                if round == 6 {
                    (x[0], x[n - 1]) = (f64::NEG_INFINITY, f64::INFINITY);
                }
                if round == 4 || round == 5 {
                    x[n / 2] = if round == 4 { -f64::NAN } else { f64::INFINITY };
                    x[n - 1] = f64::NAN;
                }
                if round == 3 {
                    x.sort_by(f64::total_cmp);
                }
                for greatest in [true, false] {
                    let found = first(DType::F64, f64::as_bytes(&x), greatest);
                    assert_eq!(found.map(|f| f.0), plain(&x, greatest), "{n} {round} {greatest}");
                    assert_eq!(found.map(|f| f.1), plain(&x, greatest).map(|at| of_float(x[at])));
                    for dtype in [DType::F32, DType::F16] {
                        let mut narrow = vec![0u64; n];
                        let narrow: &mut [u8] = &mut bytemuck::cast_slice_mut(&mut narrow)[..n * dtype.size()];
                        crate::cast::cast_block(DType::F64, f64::as_bytes(&x), dtype, narrow);
                        assert_eq!(first(dtype, narrow, greatest), found, "{n} {round} {greatest} {dtype}");
                    }
                    let ints: Vec<u64> = x.iter().map(|&v| v as i64 as u64).collect();
                    let best = if greatest { ints.iter().max() } else { ints.iter().min() };
                    let wanted = ints.iter().position(|v| Some(v) == best);
                    assert_eq!(first(DType::U64, u64::as_bytes(&ints), greatest).map(|f| f.0), wanted);
                    // None, few in the middle, all but few.
                    let truths: Vec<bool> = x.iter().map(|&v| (v == 3.0) == (round % 2 == 0)).collect();
                    let wanted = truths.iter().position(|&v| v == greatest);
                    let wanted = wanted.map_or((0, !greatest), |at| (at, greatest));
                    let found = first(DType::Bool, bool::as_bytes(&truths), greatest);
                    assert_eq!(found, Some((wanted.0, u64::from(wanted.1))));
                }
            }
        }
        assert_eq!(first(DType::I8, &[], true), None);
        assert_eq!(first(DType::Bool, &[], true), None);
        assert_eq!(first(DType::U64, u64::as_bytes(&[0, 0]), true), Some((0, 0)));
        assert_eq!(first(DType::U64, u64::as_bytes(&[u64::MAX; 2]), false), Some((0, u64::MAX)));
    }
}
