//! Keys in rising order, alone or with a number each, by vectors of eight: a quicksort that divides by storing the lanes of a
//! vector that belong to each side at that side's end, and a network of exchanges for up to 128 keys. For AVX-512; [`crate::ranking`]
//! says what other CPUs do.
#![allow(unsafe_code)] // loads and stores at places that are shown to be in range, in functions for a detected CPU

use std::arch::x86_64::*;

use super::{Level, level};

/// Lanes of a vector.
const LANES: usize = 8;
/// Vectors that are read before any is written.
const AHEAD: usize = 4;
/// Keys that the network takes.
const FEW: usize = 128;

/// Compiles functions for CPUs for which [`is_possible`] holds.
macro_rules! vector {
    ($($(#[$doc:meta])* fn $name:ident $(<$(const $c:ident: bool),+>)? ($($arg:tt)*) $(-> $out:ty)? $body:block)+) => {$(
        $(#[$doc])*
        #[target_feature(enable = "avx512f,avx512vl,avx512dq,avx512bw,avx2,fma,popcnt")]
        fn $name $(<$(const $c: bool),+>)? ($($arg)*) $(-> $out)? $body
    )+};
}

/// Whether the level in use has what this file needs.
pub(crate) fn is_possible() -> bool {
    level() == Level::Avx512 && is_x86_feature_detected!("popcnt")
}

/// Sorts keys; and moves their numbers with them, if there are as many (else there are none). Numbers of equal keys come in
/// rising order. Does nothing and gives `false` where [`is_possible`] does not hold.
pub(crate) fn sort(keys: &mut [u64], numbers: &mut [u64]) -> bool {
    if !is_possible() {
        return false;
    }
    // SAFETY: the CPU has the features.
    unsafe { if numbers.is_empty() { sort_all::<false>(keys, numbers) } else { sort_all::<true>(keys, numbers) } }
    true
}

/// Divides keys, and their numbers as [`sort`] does: what is before the first place given is less than what is between
/// both, which are equal keys, and that is less than what is from the second on. `None` where [`is_possible`] does not hold.
pub(crate) fn divide(keys: &mut [u64], numbers: &mut [u64]) -> Option<(usize, usize)> {
    if !is_possible() || keys.len() < 2 * FEW || (!numbers.is_empty() && numbers.len() != keys.len()) {
        return None;
    }
    // SAFETY: the CPU has the features.
    unsafe { Some(if numbers.is_empty() { halves::<false>(keys, numbers) } else { halves::<true>(keys, numbers) }) }
}

/// The lanes below the `n`-th.
#[inline(always)]
fn lanes(n: usize) -> __mmask8 {
    ((1u32 << n.min(LANES)) - 1) as u8
}

/// One exchange after the other, written out: a loop would keep the vectors in memory.
macro_rules! exchanges {
    ($b:expr, $($i:literal - $j:literal)+) => {{
        $(exchange($b, $i, $j);)+
    }};
}

/// Sixteen vectors of keys, and of numbers.
struct Block<const NUMBERED: bool> {
    keys: [__m512i; 16],
    numbers: [__m512i; 16],
}

vector! {
    fn sort_all<const NUMBERED: bool>(keys: &mut [u64], numbers: &mut [u64]) {
        if NUMBERED && numbers.len() != keys.len() {
            return;
        }
        let mut n = keys.len();
        if NUMBERED && keys.contains(&u64::MAX) {
            // The network fills up with these: none that has a number may be among them.
            n = partition::<true, true>(keys, numbers, u64::MAX);
        }
        sort_some::<NUMBERED>(&mut keys[..n], if NUMBERED { &mut numbers[..n] } else { numbers }, 2 * n.max(1).ilog2() + 8);
        if NUMBERED {
            let mut from = 0;
            while from < keys.len() {
                let mut to = from + 1;
                while to < keys.len() && keys[to] == keys[from] {
                    to += 1;
                }
                if to - from > 1 {
                    sort_all::<false>(&mut numbers[from..to], &mut []);
                }
                from = to;
            }
        }
    }

    fn sort_some<const NUMBERED: bool>(mut keys: &mut [u64], mut numbers: &mut [u64], mut depth: u32) {
        while keys.len() > FEW {
            if depth == 0 {
                return slowly::<NUMBERED>(keys, numbers);
            }
            depth -= 1;
            let (below, above) = halves::<NUMBERED>(keys, numbers);
            let (first, rest) = keys.split_at_mut(above);
            let (first_numbers, rest_numbers) = numbers.split_at_mut(if NUMBERED { above } else { 0 });
            let own = if NUMBERED { below } else { 0 };
            sort_some::<NUMBERED>(&mut first[..below], &mut first_numbers[..own], depth);
            (keys, numbers) = (rest, rest_numbers);
        }
        if keys.len() > 1 {
            few::<NUMBERED>(keys, numbers);
        }
    }

    fn halves<const NUMBERED: bool>(keys: &mut [u64], numbers: &mut [u64]) -> (usize, usize) {
        let pivot = middle(keys);
        let n = partition::<NUMBERED, false>(keys, numbers, pivot);
        if n < keys.len() {
            return (n, n);
        }
        // It is the greatest: what equals it is in its place.
        (partition::<NUMBERED, true>(keys, numbers, pivot), n)
    }

    /// A key that is about in the middle of many.
    fn middle(keys: &[u64]) -> u64 {
        const SAMPLES: usize = 63;
        let mut samples = [0; SAMPLES];
        let (n, step) = if keys.len() < 1024 { (9, keys.len() / 9) } else { (SAMPLES, keys.len() / SAMPLES) };
        for (i, sample) in samples[..n].iter_mut().enumerate() {
            *sample = keys[i * step + step / 2];
        }
        few::<false>(&mut samples[..n], &mut []);
        samples[n / 2]
    }

    /// Brings the keys that are not above the pivot, or those that are below it, to the front, and gives their number.
    fn partition<const NUMBERED: bool, const BELOW: bool>(keys: &mut [u64], numbers: &mut [u64], pivot: u64) -> usize {
        let n = keys.len();
        if NUMBERED && numbers.len() != n {
            return 0;
        }
        let (keys, numbers) = (keys.as_mut_ptr().cast::<i64>(), numbers.as_mut_ptr().cast::<i64>());
        let by = _mm512_set1_epi64(pivot.cast_signed());
        // Not read yet: left..right. Written: ..front and back.. . What is held was read: as much room as that is between
        // what is not read and what is written, so that every place that is read or written is below `n`.
        let (mut left, mut right, mut front, mut back) = (0, n - n % LANES, 0, n);
        let zero = _mm512_setzero_si512();
        let mut held = ([zero; 3 * AHEAD], [zero; 3 * AHEAD], 0);
        macro_rules! load {
            ($at:expr, $mask:expr) => {{
                let (at, mask) = ($at, $mask);
                // SAFETY: the lanes of the mask are below `n`, see above.
                unsafe {
                    let numbers = if NUMBERED { _mm512_maskz_loadu_epi64(mask, numbers.add(at)) } else { zero };
                    (_mm512_maskz_loadu_epi64(mask, keys.add(at)), numbers)
                }
            }};
        }
        macro_rules! store {
            ($at:expr, $lanes:expr, $of:expr, $vectors:expr) => {{
                let (at, lanes, of, vectors) = ($at, $lanes, $of, $vectors);
                // SAFETY: the lanes that are stored are below `n`, see above.
                unsafe {
                    _mm512_mask_storeu_epi64(keys.add(at), lanes, _mm512_maskz_compress_epi64(of, vectors.0));
                    if NUMBERED {
                        _mm512_mask_storeu_epi64(numbers.add(at), lanes, _mm512_maskz_compress_epi64(of, vectors.1));
                    }
                }
            }};
        }
        macro_rules! put {
            ($vectors:expr, $valid:expr) => {{
                let (vectors, valid) = ($vectors, $valid);
                let first = match BELOW {
                    true => _mm512_mask_cmplt_epu64_mask(valid, vectors.0, by),
                    false => _mm512_mask_cmple_epu64_mask(valid, vectors.0, by),
                };
                let (to_front, to_back) = (first.count_ones() as usize, (valid & !first).count_ones() as usize);
                store!(front, lanes(to_front), first, vectors);
                front += to_front;
                back -= to_back;
                store!(back, lanes(to_back), valid & !first, vectors);
            }};
        }
        macro_rules! hold {
            ($at:expr) => {{
                let vectors = load!($at, 0xff);
                (held.0[held.2], held.1[held.2]) = vectors;
                held.2 += 1;
            }};
        }
        let tail = load!(right, lanes(n - right));
        for _ in 0..right / LANES % AHEAD {
            hold!(left);
            left += LANES;
        }
        if right - left < 2 * LANES * AHEAD {
            while left < right {
                hold!(left);
                left += LANES;
            }
        } else {
            for _ in 0..AHEAD {
                hold!(left);
                left += LANES;
                right -= LANES;
                hold!(right);
            }
        }
        while left < right {
            // From the side with less room, so that both have enough.
            let at = if left - front < back - right {
                left += LANES * AHEAD;
                left - LANES * AHEAD
            } else {
                right -= LANES * AHEAD;
                right
            };
            for i in 0..AHEAD {
                const FURTHER: usize = 256;
                for ahead in [left + LANES * i + FURTHER, right.wrapping_sub(LANES * i + FURTHER)] {
                    _mm_prefetch::<_MM_HINT_T0>(keys.wrapping_add(ahead).cast());
                    if NUMBERED {
                        _mm_prefetch::<_MM_HINT_T0>(numbers.wrapping_add(ahead).cast());
                    }
                }
            }
            let read = [load!(at, 0xff), load!(at + LANES, 0xff), load!(at + 2 * LANES, 0xff), load!(at + 3 * LANES, 0xff)];
            for vectors in read {
                put!(vectors, 0xff);
            }
        }
        for i in 0..held.2 {
            put!((held.0[i], held.1[i]), 0xff);
        }
        put!(tail, lanes(n % LANES));
        front
    }

    /// Sorts up to [`FEW`] keys: each lane of sixteen vectors by a network, then lanes with lanes.
    fn few<const NUMBERED: bool>(keys: &mut [u64], numbers: &mut [u64]) {
        let n = keys.len();
        if n > FEW || (NUMBERED && numbers.len() != n) {
            return;
        }
        let (at_keys, at_numbers) = (keys.as_mut_ptr().cast::<i64>(), numbers.as_mut_ptr().cast::<i64>());
        let greatest = _mm512_set1_epi64(-1);
        let mut b = Block::<NUMBERED> { keys: [greatest; 16], numbers: [greatest; 16] };
        for v in 0..16 {
            let at = (v * LANES).min(n);
            // SAFETY: the lanes of the mask are below `n`.
            unsafe {
                b.keys[v] = _mm512_mask_loadu_epi64(greatest, lanes(n - at), at_keys.add(at));
                if NUMBERED {
                    b.numbers[v] = _mm512_mask_loadu_epi64(greatest, lanes(n - at), at_numbers.add(at));
                }
            }
        }
        columns(&mut b);
        let pairs = _mm512_setr_epi64(1, 0, 3, 2, 5, 4, 7, 6);
        let (fours, eights) = (_mm512_setr_epi64(3, 2, 1, 0, 7, 6, 5, 4), _mm512_setr_epi64(7, 6, 5, 4, 3, 2, 1, 0));
        mirrored(&mut b, pairs, 0b1010_1010);
        bitonic(&mut b);
        mirrored(&mut b, fours, 0b1100_1100);
        across(&mut b, pairs, 0b1010_1010);
        bitonic(&mut b);
        mirrored(&mut b, eights, 0b1111_0000);
        across(&mut b, _mm512_setr_epi64(2, 3, 0, 1, 6, 7, 4, 5), 0b1100_1100);
        across(&mut b, pairs, 0b1010_1010);
        bitonic(&mut b);
        let write = |vectors: &[__m512i; 16], to: *mut i64| {
            let halves = [transposed(vectors, 0), transposed(vectors, 8)];
            for lane in 0..LANES {
                for (h, half) in halves.iter().enumerate() {
                    let at = (lane * 16 + h * LANES).min(n);
                    // SAFETY: the lanes that are stored are below `n`.
                    unsafe { _mm512_mask_storeu_epi64(to.add(at), lanes(n - at), half[lane]) };
                }
            }
        };
        write(&b.keys, at_keys);
        if NUMBERED {
            write(&b.numbers, at_numbers);
        }
    }

    /// Eight vectors from the `from`-th on, rows for columns.
    #[inline]
    fn transposed(vectors: &[__m512i; 16], from: usize) -> [__m512i; 8] {
        let mut t = [_mm512_setzero_si512(); 8];
        for i in 0..4 {
            let (a, b) = (vectors[from + 2 * i], vectors[from + 2 * i + 1]);
            (t[2 * i], t[2 * i + 1]) = (_mm512_unpacklo_epi64(a, b), _mm512_unpackhi_epi64(a, b));
        }
        let mut u = t;
        for i in [0, 4] {
            for j in 0..2 {
                let (a, b) = (t[i + j], t[i + 2 + j]);
                u[i + j] = _mm512_shuffle_i64x2::<0b10_00_10_00>(a, b);
                u[i + 2 + j] = _mm512_shuffle_i64x2::<0b11_01_11_01>(a, b);
            }
        }
        for j in 0..4 {
            let (a, b) = (u[j], u[4 + j]);
            t[j] = _mm512_shuffle_i64x2::<0b10_00_10_00>(a, b);
            t[j + 4] = _mm512_shuffle_i64x2::<0b11_01_11_01>(a, b);
        }
        t
    }

    /// Puts the lesser of two keys, lane by lane, into the first of two vectors.
    #[inline]
    fn exchange<const NUMBERED: bool>(b: &mut Block<NUMBERED>, i: usize, j: usize) {
        let (x, y) = (b.keys[i], b.keys[j]);
        b.keys[i] = _mm512_min_epu64(x, y);
        b.keys[j] = other(x, y, b.keys[i]);
        if NUMBERED {
            let (p, q, swap) = (b.numbers[i], b.numbers[j], _mm512_cmplt_epu64_mask(y, x));
            b.numbers[i] = _mm512_mask_mov_epi64(p, swap, q);
            b.numbers[j] = _mm512_mask_mov_epi64(q, swap, p);
        }
    }

    /// Which of `x` and `y` is not `one` of them.
    #[inline]
    fn other(x: __m512i, y: __m512i, one: __m512i) -> __m512i {
        _mm512_ternarylogic_epi64::<0x96>(x, y, one) // the exclusive or of all three
    }

    /// The lesser of `x` and `y`, but the greater in some lanes; and numbers with them.
    #[inline]
    fn chosen<const NUMBERED: bool>(x: (__m512i, __m512i), y: (__m512i, __m512i), greater: __mmask8) -> (__m512i, __m512i) {
        let least = _mm512_min_epu64(x.0, y.0);
        let keys = _mm512_mask_ternarylogic_epi64::<0x96>(least, greater, x.0, y.0);
        if !NUMBERED {
            return (keys, x.1);
        }
        // Of equal ones each lane keeps its own, or both would have the same.
        let (below, above) = (_mm512_cmplt_epu64_mask(y.0, x.0), _mm512_cmplt_epu64_mask(x.0, y.0));
        (keys, _mm512_mask_mov_epi64(x.1, (below & !greater) | (above & greater), y.1))
    }

    /// Compares each lane with that which a permutation puts there, of the same vector.
    #[inline]
    fn across<const NUMBERED: bool>(b: &mut Block<NUMBERED>, permutation: __m512i, greater: __mmask8) {
        for i in 0..16 {
            let own = (b.keys[i], b.numbers[i]);
            let moved = moved::<NUMBERED>(own, permutation);
            (b.keys[i], b.numbers[i]) = chosen::<NUMBERED>(own, moved, greater);
        }
    }

    /// As [`across`], of the vector that is as far from the end.
    #[inline]
    fn mirrored<const NUMBERED: bool>(b: &mut Block<NUMBERED>, permutation: __m512i, greater: __mmask8) {
        for i in 0..8 {
            let (first, last) = ((b.keys[i], b.numbers[i]), (b.keys[15 - i], b.numbers[15 - i]));
            let (of_first, of_last) = (moved::<NUMBERED>(first, permutation), moved::<NUMBERED>(last, permutation));
            (b.keys[i], b.numbers[i]) = chosen::<NUMBERED>(first, of_last, greater);
            (b.keys[15 - i], b.numbers[15 - i]) = chosen::<NUMBERED>(last, of_first, greater);
        }
    }

    #[inline]
    fn moved<const NUMBERED: bool>(x: (__m512i, __m512i), permutation: __m512i) -> (__m512i, __m512i) {
        let numbers = if NUMBERED { _mm512_permutexvar_epi64(permutation, x.1) } else { x.1 };
        (_mm512_permutexvar_epi64(permutation, x.0), numbers)
    }

    /// Sorts each lane: Batcher's network of 63 exchanges.
    #[inline]
    fn columns<const NUMBERED: bool>(b: &mut Block<NUMBERED>) {
        exchanges!(b,
        0-1 2-3 4-5 6-7 8-9 10-11 12-13 14-15 0-2 1-3 4-6 5-7 8-10 9-11 12-14 13-15 1-2 5-6 9-10 13-14 0-4 1-5 2-6 3-7
        8-12 9-13 10-14 11-15 2-4 3-5 10-12 11-13 1-2 3-4 5-6 9-10 11-12 13-14 0-8 1-9 2-10 3-11 4-12 5-13 6-14 7-15
        4-8 5-9 6-10 7-11 2-4 3-5 6-8 7-9 10-12 11-13 1-2 3-4 5-6 7-8 9-10 11-12 13-14
        );
    }

    /// Sorts each lane that rises and then falls, or falls and then rises.
    #[inline]
    fn bitonic<const NUMBERED: bool>(b: &mut Block<NUMBERED>) {
        exchanges!(b,
        0-8 1-9 2-10 3-11 4-12 5-13 6-14 7-15 0-4 1-5 2-6 3-7 8-12 9-13 10-14 11-15 0-2 1-3 4-6 5-7 8-10 9-11 12-14
        13-15 0-1 2-3 4-5 6-7 8-9 10-11 12-13 14-15
        );
    }
}

/// For keys of which samples are no guide.
#[cold]
fn slowly<const NUMBERED: bool>(keys: &mut [u64], numbers: &mut [u64]) {
    if !NUMBERED {
        return keys.sort_unstable();
    }
    let mut pairs: Vec<(u64, u64)> = keys.iter().copied().zip(numbers.iter().copied()).collect();
    pairs.sort_unstable();
    for ((key, number), pair) in keys.iter_mut().zip(numbers).zip(pairs) {
        (*key, *number) = pair;
    }
}
