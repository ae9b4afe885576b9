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
    ($($(#[$doc:meta])* fn $name:ident $(<$(const $c:ident: $of:ty),+>)? ($($arg:tt)*) $(-> $out:ty)? $body:block)+) => {$(
        $(#[$doc])*
        #[target_feature(enable = "avx512f,avx512vl,avx512dq,avx512bw,avx2,fma,popcnt")]
        fn $name $(<$(const $c: $of),+>)? ($($arg)*) $(-> $out)? $body
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
        $(exchange::<NUMBERED, V>($b, $i, $j);)+
    }};
}

/// A few vectors of keys, and of numbers.
struct Block<const V: usize> {
    keys: [__m512i; V],
    numbers: [__m512i; V],
}

/// For each mask, its lanes in order and then the others.
static SIDES: [[u8; LANES]; 256] = {
    let mut sides = [[0; LANES]; 256];
    let mut mask = 0;
    while mask < 256 {
        let (mut lane, mut front, mut back) = (0, 0, LANES);
        while lane < LANES {
            if mask >> lane & 1 == 1 {
                sides[mask][front] = lane as u8;
                front += 1;
            } else {
                back -= 1;
                sides[mask][back] = lane as u8;
            }
            lane += 1;
        }
        mask += 1;
    }
    sides
};

/// The middle one of three.
#[inline(always)]
fn middle_of([a, b, c]: [u64; 3]) -> u64 {
    a.max(b).min(c).max(a.min(b))
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
        if keys.len() < 2048 {
            let step = keys.len() / 9;
            let of_three = |i: usize| middle_of([0, 3, 6].map(|j| keys[(i + j) * step + step / 2]));
            return middle_of([0, 1, 2].map(of_three));
        }
        let (mut samples, step) = ([0; SAMPLES], keys.len() / SAMPLES);
        for (i, sample) in samples.iter_mut().enumerate() {
            *sample = keys[i * step + step / 2];
        }
        few::<false>(&mut samples, &mut []);
        samples[SAMPLES / 2]
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
        // what is not read and what is written. Whole vectors are stored where at least one has room, so that every place
        // that is read or written is below `n`, and what is written beyond a side is written over later.
        let (mut left, mut right, mut front, mut back) = (0, n - n % LANES, 0, n);
        let zero = _mm512_setzero_si512();
        let mut held = ([zero; 3 * AHEAD], [zero; 3 * AHEAD], 0);
        // More than a second-level cache holds beside others.
        let is_far = n > 1 << 12;
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
        macro_rules! first {
            ($vectors:expr) => {
                match BELOW {
                    true => _mm512_cmplt_epu64_mask($vectors.0, by),
                    false => _mm512_cmple_epu64_mask($vectors.0, by),
                }
            };
        }
        // Those of the front in order, then the others: both sides get all, since no lane matters that is not of that side.
        macro_rules! put {
            ($vectors:expr) => {{
                let vectors = $vectors;
                let first = first!(vectors);
                let to_front = first.count_ones() as usize;
                // SAFETY: eight bytes of the table; there is room for a vector between front and back, on either side of
                // what is not read.
                unsafe {
                    let sides = _mm512_cvtepu8_epi64(_mm_loadl_epi64(SIDES[usize::from(first)].as_ptr().cast()));
                    let moved = _mm512_permutexvar_epi64(sides, vectors.0);
                    _mm512_storeu_epi64(keys.add(front), moved);
                    _mm512_storeu_epi64(keys.add(back - LANES), moved);
                    if NUMBERED {
                        let moved = _mm512_permutexvar_epi64(sides, vectors.1);
                        _mm512_storeu_epi64(numbers.add(front), moved);
                        _mm512_storeu_epi64(numbers.add(back - LANES), moved);
                    }
                }
                front += to_front;
                back -= LANES - to_front;
            }};
        }
        macro_rules! store {
            ($at:expr, $of:expr, $vectors:expr) => {{
                let (at, of, vectors) = ($at, $of, $vectors);
                let lanes = lanes(of.count_ones() as usize);
                // SAFETY: the lanes that are stored are below `n`, see above.
                unsafe {
                    _mm512_mask_storeu_epi64(keys.add(at), lanes, _mm512_maskz_compress_epi64(of, vectors.0));
                    if NUMBERED {
                        _mm512_mask_storeu_epi64(numbers.add(at), lanes, _mm512_maskz_compress_epi64(of, vectors.1));
                    }
                }
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
            if is_far {
                const FURTHER: usize = 256;
                for i in 0..AHEAD {
                    for ahead in [left + LANES * i + FURTHER, right.wrapping_sub(LANES * i + FURTHER)] {
                        _mm_prefetch::<_MM_HINT_T0>(keys.wrapping_add(ahead).cast());
                        if NUMBERED {
                            _mm_prefetch::<_MM_HINT_T0>(numbers.wrapping_add(ahead).cast());
                        }
                    }
                }
            }
            // The side with less room has that of four vectors more now, the other had so much: each has room for one
            // before every one of these is put.
            let read = [load!(at, 0xff), load!(at + LANES, 0xff), load!(at + 2 * LANES, 0xff), load!(at + 3 * LANES, 0xff)];
            for vectors in read {
                put!(vectors);
            }
        }
        // These first, and what is left is whole vectors.
        let (valid, of_tail) = (lanes(n % LANES), first!(tail));
        let (of_front, of_back) = (of_tail & valid, !of_tail & valid);
        store!(front, of_front, tail);
        front += of_front.count_ones() as usize;
        back -= of_back.count_ones() as usize;
        store!(back, of_back, tail);
        for i in 0..held.2 {
            put!((held.0[i], held.1[i]));
        }
        front
    }

    /// Sorts up to [`FEW`] keys, in as many vectors as they need.
    fn few<const NUMBERED: bool>(keys: &mut [u64], numbers: &mut [u64]) {
        match keys.len() {
            0..=16 => network::<NUMBERED, 2>(keys, numbers),
            17..=32 => network::<NUMBERED, 4>(keys, numbers),
            33..=64 => network::<NUMBERED, 8>(keys, numbers),
            _ => network::<NUMBERED, 16>(keys, numbers),
        }
    }

    /// Sorts up to 8 `V` keys: each lane of as many vectors by a network, then lanes with lanes.
    fn network<const NUMBERED: bool, const V: usize>(keys: &mut [u64], numbers: &mut [u64]) {
        let n = keys.len();
        if n > LANES * V || (NUMBERED && numbers.len() != n) {
            return;
        }
        let (at_keys, at_numbers) = (keys.as_mut_ptr().cast::<i64>(), numbers.as_mut_ptr().cast::<i64>());
        let greatest = _mm512_set1_epi64(-1);
        let mut b = Block::<V> { keys: [greatest; V], numbers: [greatest; V] };
        for v in 0..V {
            let at = (v * LANES).min(n);
            // SAFETY: the lanes of the mask are below `n`.
            unsafe {
                b.keys[v] = _mm512_mask_loadu_epi64(greatest, lanes(n - at), at_keys.add(at));
                if NUMBERED {
                    b.numbers[v] = _mm512_mask_loadu_epi64(greatest, lanes(n - at), at_numbers.add(at));
                }
            }
        }
        columns::<NUMBERED, V>(&mut b);
        let pairs = _mm512_setr_epi64(1, 0, 3, 2, 5, 4, 7, 6);
        let (fours, eights) = (_mm512_setr_epi64(3, 2, 1, 0, 7, 6, 5, 4), _mm512_setr_epi64(7, 6, 5, 4, 3, 2, 1, 0));
        mirrored::<NUMBERED, V>(&mut b, pairs, 0b1010_1010);
        bitonic::<NUMBERED, V>(&mut b);
        mirrored::<NUMBERED, V>(&mut b, fours, 0b1100_1100);
        across::<NUMBERED, V>(&mut b, pairs, 0b1010_1010);
        bitonic::<NUMBERED, V>(&mut b);
        mirrored::<NUMBERED, V>(&mut b, eights, 0b1111_0000);
        across::<NUMBERED, V>(&mut b, _mm512_setr_epi64(2, 3, 0, 1, 6, 7, 4, 5), 0b1100_1100);
        across::<NUMBERED, V>(&mut b, pairs, 0b1010_1010);
        bitonic::<NUMBERED, V>(&mut b);
        let write = |vectors: &[__m512i; V], to: *mut i64| {
            for h in 0..V.div_ceil(LANES) {
                for (lane, own) in transposed::<V>(vectors, h * LANES).into_iter().enumerate() {
                    let at = (lane * V + h * LANES).min(n);
                    // SAFETY: the lanes that are stored are below `n`.
                    unsafe { _mm512_mask_storeu_epi64(to.add(at), lanes((n - at).min(V)), own) };
                }
            }
        };
        write(&b.keys, at_keys);
        if NUMBERED {
            write(&b.numbers, at_numbers);
        }
    }

    /// Up to eight vectors from the `from`-th on, rows for columns.
    #[inline]
    fn transposed<const V: usize>(vectors: &[__m512i; V], from: usize) -> [__m512i; 8] {
        let mut t = [_mm512_setzero_si512(); 8];
        for i in 0..V.min(LANES) / 2 {
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
    fn exchange<const NUMBERED: bool, const V: usize>(b: &mut Block<V>, i: usize, j: usize) {
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
    fn across<const NUMBERED: bool, const V: usize>(b: &mut Block<V>, permutation: __m512i, greater: __mmask8) {
        for i in 0..V {
            let own = (b.keys[i], b.numbers[i]);
            let moved = moved::<NUMBERED>(own, permutation);
            (b.keys[i], b.numbers[i]) = chosen::<NUMBERED>(own, moved, greater);
        }
    }

    /// As [`across`], of the vector that is as far from the end.
    #[inline]
    fn mirrored<const NUMBERED: bool, const V: usize>(b: &mut Block<V>, permutation: __m512i, greater: __mmask8) {
        for i in 0..V / 2 {
            let (first, last) = ((b.keys[i], b.numbers[i]), (b.keys[V - 1 - i], b.numbers[V - 1 - i]));
            let (of_first, of_last) = (moved::<NUMBERED>(first, permutation), moved::<NUMBERED>(last, permutation));
            (b.keys[i], b.numbers[i]) = chosen::<NUMBERED>(first, of_last, greater);
            (b.keys[V - 1 - i], b.numbers[V - 1 - i]) = chosen::<NUMBERED>(last, of_first, greater);
        }
    }

    #[inline]
    fn moved<const NUMBERED: bool>(x: (__m512i, __m512i), permutation: __m512i) -> (__m512i, __m512i) {
        let numbers = if NUMBERED { _mm512_permutexvar_epi64(permutation, x.1) } else { x.1 };
        (_mm512_permutexvar_epi64(permutation, x.0), numbers)
    }

    /// Sorts each lane: Batcher's networks, of 63 exchanges for sixteen vectors.
    #[inline]
    fn columns<const NUMBERED: bool, const V: usize>(b: &mut Block<V>) {
        match V {
            2 => exchanges!(b, 0-1),
            4 => exchanges!(b, 0-1 2-3 0-2 1-3 1-2),
            8 => exchanges!(b, 0-1 2-3 4-5 6-7 0-2 1-3 4-6 5-7 1-2 5-6 0-4 1-5 2-6 3-7 2-4 3-5 1-2 3-4 5-6),
            _ => exchanges!(b,
            0-1 2-3 4-5 6-7 8-9 10-11 12-13 14-15 0-2 1-3 4-6 5-7 8-10 9-11 12-14 13-15 1-2 5-6 9-10 13-14 0-4 1-5 2-6 3-7
            8-12 9-13 10-14 11-15 2-4 3-5 10-12 11-13 1-2 3-4 5-6 9-10 11-12 13-14 0-8 1-9 2-10 3-11 4-12 5-13 6-14 7-15
            4-8 5-9 6-10 7-11 2-4 3-5 6-8 7-9 10-12 11-13 1-2 3-4 5-6 7-8 9-10 11-12 13-14
            ),
        }
    }

    /// Sorts each lane that rises and then falls, or falls and then rises.
    #[inline]
    fn bitonic<const NUMBERED: bool, const V: usize>(b: &mut Block<V>) {
        match V {
            2 => exchanges!(b, 0-1),
            4 => exchanges!(b, 0-2 1-3 0-1 2-3),
            8 => exchanges!(b, 0-4 1-5 2-6 3-7 0-2 1-3 4-6 5-7 0-1 2-3 4-5 6-7),
            _ => exchanges!(b,
            0-8 1-9 2-10 3-11 4-12 5-13 6-14 7-15 0-4 1-5 2-6 3-7 8-12 9-13 10-14 11-15 0-2 1-3 4-6 5-7 8-10 9-11 12-14
            13-15 0-1 2-3 4-5 6-7 8-9 10-11 12-13 14-15
            ),
        }
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
