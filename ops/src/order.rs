//! The order of elements: each real dtype as `u64` keys that rise as the elements do, so that sorting, ranking and
//! selecting are written once.
//!
//! NaN is greater than every number and equal to itself; −0 equals 0. Booleans and integers keep their order by a shift
//! of the sign; floats by the bits of their `float64` (the usual trick: those of negative numbers inverted).
use half::{bf16, f16};

use crate::dtype::{DType, Element};
use crate::groups::Store;
use crate::simd::{Half, Loop, vectorised};

/// The key of NaN. No number has it, but the greatest `uint64` does: see [`has_nan`].
pub const NAN: u64 = u64::MAX;

const SIGN: u64 = 1 << 63;

pub(crate) trait Ordered: Store {
    fn key(self) -> u64;
    fn of_key(key: u64) -> Self;
}

impl Ordered for bool {
    #[inline(always)]
    fn key(self) -> u64 {
        u64::from(self)
    }
    fn of_key(key: u64) -> bool {
        key != 0
    }
}

macro_rules! ordered {
    ($($ty:ty: |$v:ident| $key:expr, |$k:ident| $value:expr;)+) => {$(
        impl Ordered for $ty {
            #[inline(always)]
            fn key(self) -> u64 {
                let $v = self;
                $key
            }
            #[inline(always)]
            fn of_key($k: u64) -> $ty {
                $value
            }
        }
    )+};
}
ordered! {
    i8: |v| i64::from(v) as u64 ^ SIGN, |k| (k ^ SIGN) as i8;
    i16: |v| i64::from(v) as u64 ^ SIGN, |k| (k ^ SIGN) as i16;
    i32: |v| i64::from(v) as u64 ^ SIGN, |k| (k ^ SIGN) as i32;
    i64: |v| v as u64 ^ SIGN, |k| (k ^ SIGN) as i64;
    u8: |v| v.into(), |k| k as u8;
    u16: |v| v.into(), |k| k as u16;
    u32: |v| v.into(), |k| k as u32;
    u64: |v| v, |k| k;
    f16: |v| of_float(v.widened().into()), |k| f16::rounded(to_float(k) as f32);
    bf16: |v| of_float(v.widened().into()), |k| bf16::rounded(to_float(k) as f32);
    f32: |v| of_float(v.into()), |k| to_float(k) as f32;
    f64: |v| of_float(v), |k| to_float(k);
}

/// The key of a float.
#[inline(always)]
pub fn of_float(v: f64) -> u64 {
    // Adding +0 makes +0 of −0.
    let bits = (v + 0.0).to_bits();
    if v.is_nan() {
        NAN
    } else if bits & SIGN == 0 {
        bits | SIGN
    } else {
        !bits
    }
}

/// The float of a key.
#[inline(always)]
pub fn to_float(key: u64) -> f64 {
    if key == NAN {
        f64::NAN
    } else if key & SIGN == 0 {
        f64::from_bits(!key)
    } else {
        f64::from_bits(key & !SIGN)
    }
}

/// Calls a function of each dtype that has an order.
macro_rules! real {
    ($dtype:expr, $f:ident ( $($arg:expr),* )) => {
        match $dtype {
            DType::Bool => $f::<bool>($($arg),*),
            DType::I8 => $f::<i8>($($arg),*),
            DType::I16 => $f::<i16>($($arg),*),
            DType::I32 => $f::<i32>($($arg),*),
            DType::I64 => $f::<i64>($($arg),*),
            DType::U8 => $f::<u8>($($arg),*),
            DType::U16 => $f::<u16>($($arg),*),
            DType::U32 => $f::<u32>($($arg),*),
            DType::U64 => $f::<u64>($($arg),*),
            DType::F16 => $f::<f16>($($arg),*),
            DType::BF16 => $f::<bf16>($($arg),*),
            DType::F32 => $f::<f32>($($arg),*),
            DType::F64 => $f::<f64>($($arg),*),
            DType::Complex64 | DType::Complex128 => debug_assert!(false, "complex numbers have no order"),
        }
    };
}

pub(crate) use real;

/// Whether elements of a dtype have an order: all but complex.
pub const fn is_ordered(dtype: DType) -> bool {
    !dtype.is_complex()
}

/// Whether [`NAN`] is the key of NaN in a dtype, and not of a number.
pub const fn has_nan(dtype: DType) -> bool {
    dtype.is_float()
}

/// A block of elements whose keys are wanted.
struct Keys<'a, T> {
    values: &'a [T],
    out: &'a mut [u64],
}

impl<T: Ordered> Loop for Keys<'_, T> {
    type Output = ();
    #[inline(always)]
    fn run(self) {
        for (o, &v) in self.out.iter_mut().zip(self.values) {
            *o = v.key();
        }
    }
}

/// The keys of a block of elements of a dtype that is ordered.
pub fn keys(dtype: DType, values: &[u8], out: &mut [u64]) {
    fn run<T: Ordered>(values: &[u8], out: &mut [u64]) {
        Keys { values: T::from_bytes(values), out }.run();
    }
    match dtype {
        // Others need few instructions, which every CPU has as vectors.
        DType::F64 => vectorised(Keys { values: <f64 as Element>::from_bytes(values), out }),
        DType::F32 => vectorised(Keys { values: <f32 as Element>::from_bytes(values), out }),
        DType::F16 => vectorised(Keys { values: <f16 as Element>::from_bytes(values), out }),
        DType::BF16 => vectorised(Keys { values: <bf16 as Element>::from_bytes(values), out }),
        _ => real!(dtype, run(values, out)),
    }
}

/// Keys whose greatest rank is wanted: a key with some bits changed.
struct Greatest<'a> {
    keys: &'a [u64],
    flip: u64,
}

impl Loop for Greatest<'_> {
    type Output = u64;
    #[inline(always)]
    fn run(self) -> u64 {
        self.keys.iter().fold(0, |best, key| u64::max(best, key ^ self.flip))
    }
}

/// The least rank, which is a key with the bits of `flip` changed; the greatest number of no keys.
pub(crate) fn least_rank(keys: &[u64], flip: u64) -> u64 {
    !vectorised(Greatest { keys, flip: !flip })
}

/// What [`among`] finds besides the keys.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counted {
    /// Elements whose key is below the least that is asked for.
    pub below: usize,
    /// Elements that are NaN.
    pub nans: usize,
}

/// Elements of which the keys from `low` to `high` are wanted.
struct Among<'a, T> {
    values: &'a [T],
    low: u64,
    high: u64,
    found: &'a mut Vec<u64>,
}

impl<T: Ordered> Loop for Among<'_, T> {
    type Output = Counted;
    #[inline(always)]
    fn run(self) -> Counted {
        const BLOCK: usize = 16;
        let Among { values, low, high, found } = self;
        let (width, some) = (high.wrapping_sub(low), u64::from(low <= high));
        let (mut lower, mut unordered) = ([0u64; BLOCK], [0u64; BLOCK]);
        // Found ones are written down without a branch for each.
        let (mut room, mut n) = ([0; 64 * BLOCK], 0);
        let (blocks, rest) = values.as_chunks::<BLOCK>();
        for block in blocks {
            let (mut keys, mut inside) = ([0; BLOCK], [0u64; BLOCK]);
            for i in 0..BLOCK {
                keys[i] = block[i].key();
                lower[i] += u64::from(keys[i] < low);
                unordered[i] += u64::from(keys[i] == NAN);
                // One comparison: what is below `low` wraps around.
                inside[i] = u64::from(keys[i].wrapping_sub(low) <= width) & some;
            }
            if inside.iter().fold(0, |any, &one| any | one) > 0 {
                for i in 0..BLOCK {
                    room[n] = keys[i];
                    n += inside[i] as usize;
                }
                if n >= room.len() - BLOCK {
                    found.extend_from_slice(&room[..n]);
                    n = 0;
                }
            }
        }
        found.extend_from_slice(&room[..n]);
        let sum = |lanes: [u64; BLOCK]| lanes.iter().sum::<u64>() as usize;
        let mut counted = Counted { below: sum(lower), nans: sum(unordered) };
        for &v in rest {
            let key = v.key();
            counted.below += usize::from(key < low);
            counted.nans += usize::from(key == NAN);
            if low <= key && key <= high {
                found.push(key);
            }
        }
        counted
    }
}

/// Adds the keys from `low` to `high` of elements to a list, and counts those that are below `low`, and the NaN. None is found
/// if `high` is less.
///
/// Cost: O(elements), little more than to read them where few are found.
pub fn among(dtype: DType, values: &[u8], low: u64, high: u64, found: &mut Vec<u64>) -> Counted {
    match dtype {
        DType::F64 => return vectorised(Among { values: f64::from_bytes(values), low, high, found }),
        DType::F32 => return vectorised(Among { values: f32::from_bytes(values), low, high, found }),
        _ => {}
    }
    let mut keys = [0; 512];
    let mut all = Counted::default();
    for values in values.chunks(keys.len() * dtype.size()) {
        let keys = &mut keys[..values.len() / dtype.size()];
        self::keys(dtype, values, keys);
        let own = vectorised(Among { values: &keys[..], low, high, found: &mut *found });
        all.below += own.below;
        all.nans += if has_nan(dtype) { own.nans } else { 0 };
    }
    all
}

/// Keys of which the least and the greatest are wanted.
struct Ends<'a> {
    keys: &'a [u64],
}

impl Loop for Ends<'_> {
    type Output = (u64, u64);
    #[inline(always)]
    fn run(self) -> (u64, u64) {
        const LANES: usize = 16;
        let (mut least, mut greatest) = ([u64::MAX; LANES], [0; LANES]);
        let (blocks, rest) = self.keys.as_chunks::<LANES>();
        for block in blocks {
            for i in 0..LANES {
                least[i] = u64::min(least[i], block[i]);
                greatest[i] = u64::max(greatest[i], block[i]);
            }
        }
        let least = least.iter().chain(rest).fold(u64::MAX, |a, &b| u64::min(a, b));
        (least, greatest.iter().chain(rest).fold(0, |a, &b| u64::max(a, b)))
    }
}

/// The least and the greatest of some keys; the greatest number and 0 of none.
pub fn least_and_greatest(keys: &[u64]) -> (u64, u64) {
    vectorised(Ends { keys })
}

/// Keys among which one is counted.
struct CountOf<'a> {
    keys: &'a [u64],
    key: u64,
}

impl Loop for CountOf<'_> {
    type Output = usize;
    #[inline(always)]
    fn run(self) -> usize {
        self.keys.iter().map(|&key| u64::from(key == self.key)).sum::<u64>() as usize
    }
}

/// How often there is a key.
pub fn count_of(keys: &[u64], key: u64) -> usize {
    vectorised(CountOf { keys, key })
}

/// How many searches go on at a time in [`not_above`]: each waits for memory while the others do too.
const TOGETHER: usize = 16;

/// For each key, how many of `sorted`, which rise, are not above it: `out[i]` belongs to `keys[i]`.
///
/// Binary searches, several side by side and without branches, so that their misses of the cache overlap.
pub fn not_above(sorted: &[u64], keys: &[u64], out: &mut [u64]) {
    for (keys, out) in keys.chunks(TOGETHER).zip(out.chunks_mut(TOGETHER)) {
        let mut group = [0; TOGETHER];
        group[..keys.len()].copy_from_slice(keys);
        out.copy_from_slice(&ends(sorted, &group)[..keys.len()]);
    }
}

fn ends(sorted: &[u64], keys: &[u64; TOGETHER]) -> [u64; TOGETHER] {
    // Of `len` entries from `at` on it is not known yet.
    let (mut at, mut len) = ([0usize; TOGETHER], sorted.len());
    while len > 1 {
        let half = len / 2;
        for (at, &key) in at.iter_mut().zip(keys) {
            *at += std::hint::select_unpredictable(sorted[*at + half - 1] <= key, half, 0);
        }
        len -= half;
    }
    std::array::from_fn(|i| (at[i] + usize::from(sorted.get(at[i]).is_some_and(|&k| k <= keys[i]))) as u64)
}

/// A block of keys whose elements are wanted.
struct Elements<'a, R> {
    keys: &'a [u64],
    out: &'a mut [R],
}

impl<T: Ordered> Loop for Elements<'_, T> {
    type Output = ();
    #[inline(always)]
    fn run(self) {
        for (o, &k) in self.out.iter_mut().zip(self.keys) {
            *o = T::of_key(k);
        }
    }
}

/// The elements that have these keys: NaN without payload, and no −0.
pub fn values(dtype: DType, keys: &[u64], out: &mut [u8]) {
    fn run<T: Ordered>(keys: &[u64], out: &mut [u8]) {
        for (o, &k) in bytemuck::cast_slice_mut::<u8, T::Raw>(out).iter_mut().zip(keys) {
            *o = T::of_key(k).store();
        }
    }
    match dtype {
        DType::F64 => vectorised(Elements { keys, out: bytemuck::cast_slice_mut::<u8, f64>(out) }),
        DType::F32 => vectorised(Elements { keys, out: bytemuck::cast_slice_mut::<u8, f32>(out) }),
        DType::F16 => vectorised(Elements { keys, out: bytemuck::cast_slice_mut::<u8, f16>(out) }),
        DType::BF16 => vectorised(Elements { keys, out: bytemuck::cast_slice_mut::<u8, bf16>(out) }),
        _ => real!(dtype, run(keys, out)),
    }
}

/// `out[i]` is `x[i]`, or `other[i]` where `x[i]` is NaN: for floats of either kind.
#[inline(never)] // its kernels are compiled here, not in each crate that asks
pub fn replace_nan(dtype: DType) -> Option<crate::registry::BinaryKernel> {
    fn run<T: Store>(x: &[u8], other: &[u8], out: &mut [u8], is_nan: impl Fn(T) -> bool) {
        crate::groups::zip::<T, T>(x, other, out, |x, other| if is_nan(x) { other } else { x });
    }
    match dtype {
        DType::F16 => Some(|x, other, out| run::<f16>(x, other, out, f16::is_nan)),
        DType::BF16 => Some(|x, other, out| run::<bf16>(x, other, out, bf16::is_nan)),
        DType::F32 => Some(|x, other, out| run::<f32>(x, other, out, f32::is_nan)),
        DType::F64 => Some(|x, other, out| run::<f64>(x, other, out, f64::is_nan)),
        DType::Complex64 => Some(|x, other, out| run::<crate::c64>(x, other, out, crate::c64::is_nan)),
        DType::Complex128 => Some(|x, other, out| run::<crate::c128>(x, other, out, crate::c128::is_nan)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check<T: Element>(rising: &[T]) {
        let mut got = vec![0; rising.len()];
        keys(T::DTYPE, T::as_bytes(rising), &mut got);
        assert!(got.windows(2).all(|w| w[0] < w[1]), "{}: {got:?}", T::DTYPE);
        let mut back = vec![0u64; rising.len()];
        let bytes = &mut bytemuck::cast_slice_mut(&mut back)[..size_of_val(rising)];
        values(T::DTYPE, &got, bytes);
        for (a, b) in rising.iter().zip(T::from_bytes(bytes)) {
            assert!(a.to_scalar().same(b.to_scalar()), "{a:?} {b:?}");
        }
    }

    #[test]
    fn keys_rise_with_the_elements() {
        check(&[false, true]);
        check(&[i8::MIN, -1, 0, 1, i8::MAX]);
        check(&[i16::MIN, -1, 0, 1, i16::MAX]);
        check(&[i32::MIN, -1, 0, 1, i32::MAX]);
        check(&[i64::MIN, -1, 0, 1, i64::MAX]);
        check(&[0, 1, u8::MAX]);
        check(&[0, 1, u16::MAX]);
        check(&[0, 1, u32::MAX]);
        check(&[0, 1, u64::MAX - 1, u64::MAX]);
        let floats = [f64::NEG_INFINITY, f64::MIN, -1.0, -5e-324, 0.0, 5e-324, 1.0, f64::MAX, f64::INFINITY, f64::NAN];
        check(&floats);
        check(&[f32::NEG_INFINITY, f32::MIN, -1e-45, 0.0, 1e-45, f32::MAX, f32::INFINITY, f32::NAN]);
        check(&[f16::NEG_INFINITY, f16::NEG_ONE, f16::ZERO, f16::MIN_POSITIVE_SUBNORMAL, f16::INFINITY, f16::NAN]);
        check(&[bf16::NEG_INFINITY, bf16::NEG_ONE, bf16::ZERO, bf16::ONE, bf16::INFINITY, bf16::NAN]);
    }

    #[test]
    fn halves_have_the_keys_of_the_same_floats() {
        let bits: Vec<u16> = (0..=u16::MAX).collect();
        let (f16s, bf16s): (&[f16], &[bf16]) = (bytemuck::cast_slice(&bits), bytemuck::cast_slice(&bits));
        let wanted = [f16s.iter().map(|x| x.to_f64()).collect::<Vec<_>>(), bf16s.iter().map(|x| x.to_f64()).collect()];
        for level in crate::simd::Level::ALL {
            crate::simd::set_level(Some(level));
            for (dtype, wanted) in [DType::F16, DType::BF16].into_iter().zip(&wanted) {
                let mut found = vec![0; bits.len()];
                keys(dtype, bytemuck::cast_slice(&bits), &mut found);
                assert!(found.iter().zip(wanted).all(|(&key, &x)| key == of_float(x)), "{dtype}");
                let mut back = vec![0u16; bits.len()];
                values(dtype, &found, bytemuck::cast_slice_mut(&mut back));
                for ((&back, &bits), x) in back.iter().zip(&bits).zip(wanted) {
                    let is_same = if x.is_nan() { back & 0x7c00 == 0x7c00 && back & 0x3ff != 0 } else { back == bits };
                    let is_nan = x.is_nan() && dtype == DType::BF16 && back & 0x7fff > 0x7f80;
                    assert!(is_same || is_nan || *x == 0.0 && back == 0, "{bits:x}: {back:x}");
                }
            }
        }
        crate::simd::set_level(None);
    }

    #[test]
    fn searches_side_by_side_find_what_one_finds() {
        for n in (0..40).chain([1000, 1023, 1024, 1025]) {
            let sorted: Vec<u64> = (0..n).map(|i| i / 3 * 2 + 1).chain((n > 4).then_some(u64::MAX)).collect();
            let keys: Vec<u64> = (0..n + 5).chain([u64::MAX - 1, u64::MAX]).rev().collect();
            let mut got = vec![0; keys.len()];
            not_above(&sorted, &keys, &mut got);
            let expected: Vec<u64> = keys.iter().map(|k| sorted.partition_point(|s| s <= k) as u64).collect();
            assert_eq!(got, expected, "{n}");
        }
    }

    #[test]
    fn keys_between_two_are_found_and_others_counted() {
        fn check<T: Element>(values: &[T]) {
            let mut all = vec![0; values.len()];
            keys(T::DTYPE, T::as_bytes(values), &mut all);
            let mut sorted = all.clone();
            sorted.sort_unstable();
            let at = |share: usize| sorted.get(share * sorted.len() / 100).copied().unwrap_or(7);
            for (low, high) in
                [(0, u64::MAX), (at(40), at(60)), (at(50), at(50)), (at(99), u64::MAX), (at(50), at(50) - 1)]
            {
                let mut found = vec![3];
                let counted = among(T::DTYPE, T::as_bytes(values), low, high, &mut found);
                let inside = all.iter().copied().filter(|key| (low..=high).contains(key));
                assert!(found.into_iter().eq([3].into_iter().chain(inside)), "{} {low} {high}", T::DTYPE);
                assert_eq!(counted.below, all.iter().filter(|&&key| key < low).count());
                assert_eq!(counted.nans, values.iter().filter(|v| v.to_scalar().is_nan()).count());
            }
        }
        for n in [0u64, 1, 15, 16, 17, 511, 512, 513, 5000] {
            let spread = |k: u64| (k + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            let floats: Vec<f64> =
                (0..n).map(|k| if spread(k) % 9 == 0 { f64::NAN } else { spread(k) as i64 as f64 }).collect();
            check(&floats);
            check(&floats.iter().map(|&v| v as f32).collect::<Vec<_>>());
            check(&(0..n).map(spread).chain([u64::MAX]).collect::<Vec<_>>());
            check(&(0..n).map(|k| spread(k) as i8).collect::<Vec<_>>());
            check(&floats.iter().map(|&v| f16::from_f64(v * 1e-16)).collect::<Vec<_>>());
        }
    }

    #[test]
    fn the_least_the_greatest_and_how_often() {
        for n in [0u64, 1, 15, 16, 17, 100] {
            let keys: Vec<u64> = (0..n).map(|k| (k + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 60).collect();
            let (least, greatest) = (keys.iter().min().copied(), keys.iter().max().copied());
            assert_eq!(least_and_greatest(&keys), (least.unwrap_or(u64::MAX), greatest.unwrap_or(0)));
            (0..16).for_each(|key| assert_eq!(count_of(&keys, key), keys.iter().filter(|&&k| k == key).count()));
        }
    }

    #[test]
    fn zeros_and_nans_are_each_one_key() {
        assert_eq!(of_float(-0.0), of_float(0.0));
        assert_eq!(of_float(-f64::NAN), NAN);
        assert!(has_nan(DType::F16) && !has_nan(DType::U64));
        assert!(!is_ordered(DType::Complex64));
    }
}
