//! Keys in rising order, alone or with a number each, by vectors: a quicksort that divides by storing the lanes of a vector that
//! belong to each side at that side's end, and a network of exchanges for as many keys as sixteen vectors hold. For AVX-512;
//! [`crate::ranking`] and [`crate::words`] say what other CPUs do.
#![allow(unsafe_code)] // loads and stores at places that are shown to be in range, in functions for a detected CPU

use std::arch::x86_64::*;

use super::key_lanes::Key;
use super::{Level, level};

/// Vectors that are read before any is written.
const AHEAD: usize = 4;
/// Vectors of keys that the network takes.
const FEW: usize = 16;

/// Compiles functions for CPUs for which [`is_possible`] holds.
macro_rules! vector {
    ($($(#[$doc:meta])* fn $name:ident <$key:ident $(, const $c:ident: $of:ty)*> ($($arg:tt)*) $(-> $out:ty)? $body:block)+) => {$(
        $(#[$doc])*
        #[target_feature(enable = "avx512f,avx512vl,avx512dq,avx512bw,avx2,fma,popcnt")]
        fn $name <$key: Key $(, const $c: $of)*> ($($arg)*) $(-> $out)? $body
    )+};
}

/// Whether the level in use has what this file needs.
pub(crate) fn is_possible() -> bool {
    level() == Level::Avx512 && is_x86_feature_detected!("popcnt")
}

/// Sorts keys; and moves their numbers with them, if there are as many (else there are none). Numbers of equal keys come in
/// rising order. Does nothing and gives `false` where [`is_possible`] does not hold.
pub(crate) fn sort<K: Key>(keys: &mut [K], numbers: &mut [K]) -> bool {
    if !is_possible() {
        return false;
    }
    // SAFETY: the CPU has the features.
    unsafe { if numbers.is_empty() { sort_all::<K, false>(keys, numbers) } else { sort_all::<K, true>(keys, numbers) } }
    true
}

/// Divides keys, and their numbers as [`sort`] does: what is before the first place given is less than what is between
/// both, which are equal keys, and that is less than what is from the second on. `None` where [`is_possible`] does not hold.
pub(crate) fn divide<K: Key>(keys: &mut [K], numbers: &mut [K]) -> Option<(usize, usize)> {
    if !is_possible() || keys.len() < 2 * FEW * K::LANES || (!numbers.is_empty() && numbers.len() != keys.len()) {
        return None;
    }
    // SAFETY: the CPU has the features.
    unsafe {
        Some(if numbers.is_empty() { halves::<K, false>(keys, numbers) } else { halves::<K, true>(keys, numbers) })
    }
}

/// The lanes below the `n`-th.
#[inline(always)]
fn lanes<K: Key>(n: usize) -> __mmask16 {
    ((1u32 << n.min(K::LANES)) - 1) as __mmask16
}

/// One exchange after the other, written out: a loop would keep the vectors in memory.
macro_rules! exchanges {
    ($b:expr, $($i:literal - $j:literal)+) => {{
        $(exchange::<K, NUMBERED, V>($b, $i, $j);)+
    }};
}

/// Of three the exclusive or: which of two is not the third, which is one of them.
const OTHER: i32 = 0x96;

/// A few vectors of keys, and of numbers.
struct Block<const V: usize> {
    keys: [__m512i; V],
    numbers: [__m512i; V],
}

/// The middle one of three.
#[inline(always)]
fn middle_of<K: Key>([a, b, c]: [K; 3]) -> K {
    a.max(b).min(c).max(a.min(b))
}

vector! {
    fn sort_all<K, const NUMBERED: bool>(keys: &mut [K], numbers: &mut [K]) {
        if NUMBERED && numbers.len() != keys.len() {
            return;
        }
        let mut n = keys.len();
        if NUMBERED && keys.contains(&K::GREATEST) {
            // The network fills up with these: none that has a number may be among them.
            n = partition::<K, true, true>(keys, numbers, K::GREATEST);
        }
        sort_some::<K, NUMBERED>(&mut keys[..n], if NUMBERED { &mut numbers[..n] } else { numbers }, 2 * n.max(1).ilog2() + 8);
        if NUMBERED {
            let mut from = 0;
            while from < keys.len() {
                let mut to = from + 1;
                while to < keys.len() && keys[to] == keys[from] {
                    to += 1;
                }
                if to - from > 1 {
                    sort_all::<K, false>(&mut numbers[from..to], &mut []);
                }
                from = to;
            }
        }
    }

    fn sort_some<K, const NUMBERED: bool>(mut keys: &mut [K], mut numbers: &mut [K], mut depth: u32) {
        while keys.len() > FEW * K::LANES {
            if depth == 0 {
                return slowly::<K, NUMBERED>(keys, numbers);
            }
            depth -= 1;
            let (below, above) = halves::<K, NUMBERED>(keys, numbers);
            let (first, rest) = keys.split_at_mut(above);
            let (first_numbers, rest_numbers) = numbers.split_at_mut(if NUMBERED { above } else { 0 });
            let own = if NUMBERED { below } else { 0 };
            sort_some::<K, NUMBERED>(&mut first[..below], &mut first_numbers[..own], depth);
            (keys, numbers) = (rest, rest_numbers);
        }
        if keys.len() > 1 {
            few::<K, NUMBERED>(keys, numbers);
        }
    }

    fn halves<K, const NUMBERED: bool>(keys: &mut [K], numbers: &mut [K]) -> (usize, usize) {
        let pivot = middle(keys);
        let n = partition::<K, NUMBERED, false>(keys, numbers, pivot);
        if n < keys.len() {
            return (n, n);
        }
        // It is the greatest: what equals it is in its place.
        (partition::<K, NUMBERED, true>(keys, numbers, pivot), n)
    }

    /// A key that is about in the middle of many.
    fn middle<K>(keys: &[K]) -> K {
        const SAMPLES: usize = 63;
        if keys.len() < 2048 {
            let step = keys.len() / 9;
            let of_three = |i: usize| middle_of([0, 3, 6].map(|j| keys[(i + j) * step + step / 2]));
            return middle_of([0, 1, 2].map(of_three));
        }
        let (mut samples, step) = ([K::GREATEST; SAMPLES], keys.len() / SAMPLES);
        for (i, sample) in samples.iter_mut().enumerate() {
            *sample = keys[i * step + step / 2];
        }
        few::<K, false>(&mut samples, &mut []);
        samples[SAMPLES / 2]
    }

    /// Brings the keys that are not above the pivot, or those that are below it, to the front, and gives their number.
    fn partition<K, const NUMBERED: bool, const BELOW: bool>(keys: &mut [K], numbers: &mut [K], pivot: K) -> usize {
        let n = keys.len();
        if NUMBERED && numbers.len() != n {
            return 0;
        }
        // More than a first-level cache holds beside others.
        let is_far = size_of_val(keys) > 1 << 15;
        let (keys, numbers) = (keys.as_mut_ptr(), numbers.as_mut_ptr());
        // SAFETY: the CPU has the features.
        let by = unsafe { pivot.everywhere() };
        // Not read yet: left..right. Written: ..front and back.. . What is held was read: as much room as that is between
        // what is not read and what is written. Whole vectors are stored where at least one has room, so that every place
        // that is read or written is below `n`, and what is written beyond a side is written over later.
        let (mut left, mut right, mut front, mut back) = (0, n - n % K::LANES, 0, n);
        let zero = _mm512_setzero_si512();
        let mut held = ([zero; 3 * AHEAD], [zero; 3 * AHEAD], 0);
        macro_rules! load {
            ($at:expr, $mask:expr) => {{
                let (at, mask) = ($at, $mask);
                // SAFETY: the lanes of the mask are below `n`, see above.
                unsafe {
                    let numbers = if NUMBERED { K::load(zero, mask, numbers.add(at)) } else { zero };
                    (K::load(zero, mask, keys.add(at)), numbers)
                }
            }};
        }
        macro_rules! first {
            ($vectors:expr) => {
                // SAFETY: the CPU has the features.
                match BELOW {
                    true => unsafe { K::less($vectors.0, by) },
                    false => !unsafe { K::less(by, $vectors.0) } & lanes::<K>(K::LANES),
                }
            };
        }
        // Those of the front in order, then the others: both sides get all, since no lane matters that is not of that side.
        macro_rules! put {
            ($vectors:expr) => {{
                let vectors = $vectors;
                let first = first!(vectors);
                let to_front = first.count_ones() as usize;
                // SAFETY: there is room for a vector between front and back, on either side of what is not read.
                unsafe {
                    let moved = K::sides(first, vectors.0);
                    _mm512_storeu_si512(keys.add(front).cast(), moved);
                    _mm512_storeu_si512(keys.add(back - K::LANES).cast(), moved);
                    if NUMBERED {
                        let moved = K::sides(first, vectors.1);
                        _mm512_storeu_si512(numbers.add(front).cast(), moved);
                        _mm512_storeu_si512(numbers.add(back - K::LANES).cast(), moved);
                    }
                }
                front += to_front;
                back -= K::LANES - to_front;
            }};
        }
        macro_rules! store {
            ($at:expr, $of:expr, $vectors:expr) => {{
                let (at, of, vectors) = ($at, $of, $vectors);
                let lanes = lanes::<K>(of.count_ones() as usize);
                // SAFETY: the lanes that are stored are below `n`, see above.
                unsafe {
                    K::store(keys.add(at), lanes, K::compressed(of, vectors.0));
                    if NUMBERED {
                        K::store(numbers.add(at), lanes, K::compressed(of, vectors.1));
                    }
                }
            }};
        }
        macro_rules! hold {
            ($at:expr) => {{
                let vectors = load!($at, lanes::<K>(K::LANES));
                (held.0[held.2], held.1[held.2]) = vectors;
                held.2 += 1;
            }};
        }
        let tail = load!(right, lanes::<K>(n - right));
        for _ in 0..right / K::LANES % AHEAD {
            hold!(left);
            left += K::LANES;
        }
        if right - left < 2 * K::LANES * AHEAD {
            while left < right {
                hold!(left);
                left += K::LANES;
            }
        } else {
            for _ in 0..AHEAD {
                hold!(left);
                left += K::LANES;
                right -= K::LANES;
                hold!(right);
            }
        }
        while left < right {
            // From the side with less room, so that both have enough.
            let at = if left - front < back - right {
                left += K::LANES * AHEAD;
                left - K::LANES * AHEAD
            } else {
                right -= K::LANES * AHEAD;
                right
            };
            if is_far {
                let further = 2048 / size_of::<K>();
                for i in 0..AHEAD {
                    for ahead in [left + K::LANES * i + further, right.wrapping_sub(K::LANES * i + further)] {
                        _mm_prefetch::<_MM_HINT_T0>(keys.wrapping_add(ahead).cast());
                        if NUMBERED {
                            _mm_prefetch::<_MM_HINT_T0>(numbers.wrapping_add(ahead).cast());
                        }
                    }
                }
            }
            // The side with less room has that of four vectors more now, the other had so much: each has room for one
            // before every one of these is put.
            let all = lanes::<K>(K::LANES);
            let read = [load!(at, all), load!(at + K::LANES, all), load!(at + 2 * K::LANES, all), load!(at + 3 * K::LANES, all)];
            for vectors in read {
                put!(vectors);
            }
        }
        // These first, and what is left is whole vectors.
        let (valid, of_tail) = (lanes::<K>(n % K::LANES), first!(tail));
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

    /// Sorts the keys of up to [`FEW`] vectors, in as many as they need.
    fn few<K, const NUMBERED: bool>(keys: &mut [K], numbers: &mut [K]) {
        match keys.len().div_ceil(K::LANES) {
            0..=2 => network::<K, NUMBERED, 2>(keys, numbers),
            3..=4 => network::<K, NUMBERED, 4>(keys, numbers),
            5..=8 => network::<K, NUMBERED, 8>(keys, numbers),
            _ => network::<K, NUMBERED, 16>(keys, numbers),
        }
    }

    /// Sorts the keys of up to `V` vectors: each lane of as many by a network, then lanes with lanes.
    fn network<K, const NUMBERED: bool, const V: usize>(keys: &mut [K], numbers: &mut [K]) {
        let n = keys.len();
        if n > K::LANES * V || (NUMBERED && numbers.len() != n) {
            return;
        }
        let (at_keys, at_numbers) = (keys.as_mut_ptr(), numbers.as_mut_ptr());
        let greatest = _mm512_set1_epi64(-1);
        let mut b = Block::<V> { keys: [greatest; V], numbers: [greatest; V] };
        for v in 0..V {
            let at = (v * K::LANES).min(n);
            // SAFETY: the lanes of the mask are below `n`.
            unsafe {
                b.keys[v] = K::load(greatest, lanes::<K>(n - at), at_keys.add(at));
                if NUMBERED {
                    b.numbers[v] = K::load(greatest, lanes::<K>(n - at), at_numbers.add(at));
                }
            }
        }
        columns::<K, NUMBERED, V>(&mut b);
        mirrored::<K, NUMBERED, V>(&mut b, 1);
        bitonic::<K, NUMBERED, V>(&mut b);
        mirrored::<K, NUMBERED, V>(&mut b, 3);
        across::<K, NUMBERED, V>(&mut b, 1);
        bitonic::<K, NUMBERED, V>(&mut b);
        mirrored::<K, NUMBERED, V>(&mut b, 7);
        across::<K, NUMBERED, V>(&mut b, 2);
        across::<K, NUMBERED, V>(&mut b, 1);
        bitonic::<K, NUMBERED, V>(&mut b);
        if K::LANES > 8 {
            mirrored::<K, NUMBERED, V>(&mut b, 15);
            across::<K, NUMBERED, V>(&mut b, 4);
            across::<K, NUMBERED, V>(&mut b, 2);
            across::<K, NUMBERED, V>(&mut b, 1);
            bitonic::<K, NUMBERED, V>(&mut b);
        }
        let write = |vectors: &[__m512i; V], to: *mut K| {
            for h in 0..V.div_ceil(K::LANES) {
                // SAFETY: the CPU has the features.
                let rows = unsafe { K::transposed(std::array::from_fn(|i| vectors[(h * K::LANES + i).min(V - 1)]), V) };
                for (lane, own) in rows.into_iter().take(K::LANES).enumerate() {
                    let at = (lane * V + h * K::LANES).min(n);
                    // SAFETY: the lanes that are stored are below `n`.
                    unsafe { K::store(to.add(at), lanes::<K>((n - at).min(V)), own) };
                }
            }
        };
        write(&b.keys, at_keys);
        if NUMBERED {
            write(&b.numbers, at_numbers);
        }
    }

    /// Puts the lesser of two keys, lane by lane, into the first of two vectors.
    #[inline]
    fn exchange<K, const NUMBERED: bool, const V: usize>(b: &mut Block<V>, i: usize, j: usize) {
        let (x, y) = (b.keys[i], b.keys[j]);
        // SAFETY: the CPU has the features.
        unsafe {
            b.keys[i] = K::lesser(x, y);
            b.keys[j] = _mm512_ternarylogic_epi64::<OTHER>(x, y, b.keys[i]);
            if NUMBERED {
                let (p, q, swap) = (b.numbers[i], b.numbers[j], K::less(y, x));
                b.numbers[i] = K::chosen(p, swap, q);
                b.numbers[j] = K::chosen(q, swap, p);
            }
        }
    }

    /// The lesser of `x` and `y`, but the greater in the lanes whose number has the bit; and numbers with them.
    #[inline]
    fn chosen<K, const NUMBERED: bool>(x: (__m512i, __m512i), y: (__m512i, __m512i), bit: usize) -> (__m512i, __m512i) {
        let greater = match bit {
            1 => 0xaaaa,
            2 => 0xcccc,
            4 => 0xf0f0,
            _ => 0xff00,
        } & lanes::<K>(K::LANES);
        // SAFETY: the CPU has the features.
        unsafe {
            let least = K::lesser(x.0, y.0);
            let keys = K::chosen(least, greater, _mm512_ternarylogic_epi64::<OTHER>(x.0, y.0, least));
            if !NUMBERED {
                return (keys, x.1);
            }
            // Of equal ones each lane keeps its own, or both would have the same.
            let (below, above) = (K::less(y.0, x.0), K::less(x.0, y.0));
            (keys, K::chosen(x.1, (below & !greater) | (above & greater), y.1))
        }
    }

    /// Compares each lane with that of the same vector whose number differs by a bit.
    #[inline]
    fn across<K, const NUMBERED: bool, const V: usize>(b: &mut Block<V>, bit: usize) {
        for i in 0..V {
            let own = (b.keys[i], b.numbers[i]);
            let moved = moved::<K, NUMBERED>(own, bit);
            (b.keys[i], b.numbers[i]) = chosen::<K, NUMBERED>(own, moved, bit);
        }
    }

    /// Compares each lane with that whose number differs by all of these lower bits, of the vector that is as far from the end.
    #[inline]
    fn mirrored<K, const NUMBERED: bool, const V: usize>(b: &mut Block<V>, bits: usize) {
        let highest = bits.div_ceil(2);
        for i in 0..V / 2 {
            let (first, last) = ((b.keys[i], b.numbers[i]), (b.keys[V - 1 - i], b.numbers[V - 1 - i]));
            let (of_first, of_last) = (moved::<K, NUMBERED>(first, bits), moved::<K, NUMBERED>(last, bits));
            (b.keys[i], b.numbers[i]) = chosen::<K, NUMBERED>(first, of_last, highest);
            (b.keys[V - 1 - i], b.numbers[V - 1 - i]) = chosen::<K, NUMBERED>(last, of_first, highest);
        }
    }

    #[inline]
    fn moved<K, const NUMBERED: bool>(x: (__m512i, __m512i), bits: usize) -> (__m512i, __m512i) {
        // SAFETY: the CPU has the features.
        unsafe { (K::moved(x.0, bits), if NUMBERED { K::moved(x.1, bits) } else { x.1 }) }
    }

    /// Sorts each lane: Batcher's networks, of 63 exchanges for sixteen vectors.
    #[inline]
    fn columns<K, const NUMBERED: bool, const V: usize>(b: &mut Block<V>) {
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
    fn bitonic<K, const NUMBERED: bool, const V: usize>(b: &mut Block<V>) {
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
fn slowly<K: Key, const NUMBERED: bool>(keys: &mut [K], numbers: &mut [K]) {
    if !NUMBERED {
        return keys.sort_unstable();
    }
    let mut pairs: Vec<(K, K)> = keys.iter().copied().zip(numbers.iter().copied()).collect();
    pairs.sort_unstable();
    for ((key, number), pair) in keys.iter_mut().zip(numbers).zip(pairs) {
        (*key, *number) = pair;
    }
}
