//! Sums in double the precision, for `float64` elements that arrive in an order that cannot be paired.
//!
//! Elements that lie together are added pairwise ([`super::ReduceKernels::fold`]); those that are scattered over many
//! accumulators come one by one, and an error of n roundings would show. Each accumulator therefore has a second word
//! that collects what the additions round away (Knuth's two-sum; the scheme is Kahan and Babuška's). Narrower
//! floats need none of this: their `float64` accumulators have bits to spare.

use std::ops::Range;

use super::ReduceOp;
use crate::dtype::{DType, Element};
use crate::simd::{self, Loop};

/// Kernels over accumulators and their corrections.
#[derive(Clone, Copy, Debug)]
pub struct Compensated {
    /// Adds `values[i]` to entry `keys[i]` of a table, for each `i` in turn: fewer than 2^32 of them.
    pub scatter: fn(values: &[u8], keys: &[u32], table: &mut Table<'_>),
    /// The sums of all `values[i]` with each key, where it is known beforehand when they have a few terms.
    pub in_turns: fn(values: &[u8], keys: &[u32], turns: &Turns, acc: &mut [u8]),
    /// Adds element `i` of each row to `acc[i]`, with the correction in `low[i]`; both are of the accumulator's dtype.
    /// [`ROWS_AT_ONCE`] rows are added in one pass, plainly, and what they come to with its correction.
    pub accumulate: fn(rows: &[&[u8]], acc: &mut [u8], low: &mut [u8]),
    /// Parts of an element: 1 for reals, 2 for complex numbers.
    pub parts: usize,
}

/// Entries of a large table whose pairs are made ready together.
const BLOCK: usize = 16;

/// Sums of elements that come in any order.
///
/// A large table is bound by the memory that it touches, so most entries of one are a single number: a few terms of each
/// are added plainly, and what they come to is added with its correction. No sum has more than a few plain roundings. In
/// a small table, every term is added with its correction.
///
/// What happens to an entry depends on its own terms alone, so a table may be cut into parts that are filled apart.
#[derive(Debug)]
pub struct Table<'a> {
    /// Sums of the last few terms, for each part of an entry; and in the end all sums.
    recent: &'a mut [f64],
    /// How many terms these have, for each entry; none in a small table.
    terms: &'a mut [u8],
    /// Sums of all terms before, each with its correction beside it. In a large table few entries may have any.
    pairs: &'a mut [f64],
    /// Of a large table, a bit for each [`BLOCK`] of entries: whether it has pairs. What the others hold is anything.
    begun: Vec<u64>,
    /// Parts of an entry.
    parts: usize,
    /// How many terms are a few.
    few: u8,
    /// Where in a block of terms an entry has got its last of a few.
    full: Vec<u32>,
}

impl<'a> Table<'a> {
    /// Parts of sums of a small table, which stays in the nearer caches with all corrections: of 20,000 sums, a term with its correction
    /// takes twice as long as one that is added plainly, once it is known when there are a few (2.1 and 1.1 ns on Zen 3).
    pub const SMALL: usize = 1 << 13;

    /// How many counts and how many numbers a table over so many accumulators needs room for. `sums` says how many the whole table
    /// has that this one may be a part of.
    pub fn room(kernels: &Compensated, accumulators: usize, sums: usize) -> (usize, usize) {
        let parts = accumulators * kernels.parts;
        (if sums > Table::SMALL { accumulators } else { 0 }, 2 * parts)
    }

    /// A table of no terms over the accumulators of a sum of at least `2^log2` elements, in [`Table::room`], which may hold
    /// anything.
    pub fn new(
        kernels: &Compensated,
        acc: &'a mut [u8],
        log2: f64,
        (terms, pairs): (&'a mut [u8], &'a mut [f64]),
    ) -> Table<'a> {
        let recent = f64::from_bytes_mut(acc);
        recent.fill(-0.0);
        terms.fill(0);
        let blocks = terms.len().div_ceil(BLOCK);
        if blocks == 0 {
            // The sum of −0 is −0.
            pairs.as_chunks_mut().0.fill([-0.0, 0.0]);
        }
        let begun = vec![0; blocks.div_ceil(64)];
        Table { recent, terms, pairs, begun, parts: kernels.parts, few: Table::few(log2), full: Vec::new() }
    }

    /// How many plain additions a sum of at least `n` terms can bear, `log2(n)` being given: the rounding errors of
    /// `few - 1` additions and two more stay below `2 log2(n + 1)` units of the precision times the sum of magnitudes.
    fn few(log2: f64) -> u8 {
        (4.0 * log2 - 8.0).clamp(12.0, 128.0) as u8
    }

    /// Writes the sums to the accumulators, after the last term.
    pub fn finish(self) {
        let (pairs, _) = self.pairs.as_chunks();
        if self.terms.is_empty() {
            self.recent.iter_mut().zip(pairs).for_each(|(sum, &[high, low])| *sum = corrected(high, low));
            return;
        }
        let size = BLOCK * self.parts;
        for (block, (sums, pairs)) in self.recent.chunks_mut(size).zip(pairs.chunks(size)).enumerate() {
            if self.begun[block / 64] >> (block % 64) & 1 == 0 {
                continue;
            }
            for (sum, &[mut high, mut low]) in sums.iter_mut().zip(pairs) {
                if high != 0.0 || low != 0.0 {
                    add(&mut high, &mut low, *sum);
                    *sum = corrected(high, low);
                }
            }
        }
    }
}

/// When the sums of terms that come in the order of some keys have a few terms, and are to be added with a correction: what a
/// [`Table`] counts at every sum, found once for all sums over one pattern.
#[derive(Debug)]
pub struct Turns {
    /// The terms that are the last of a few, and which of [`Turns::entries`] each is of.
    at: Vec<u32>,
    slots: Vec<u32>,
    /// Entries that have a few terms or more.
    entries: Vec<u32>,
}

impl Turns {
    /// Of fewer than 2^32 terms with these keys, in a table of so many entries. `log2` as for [`Table::new`]; `zeroed` gives
    /// memory.
    pub fn of(
        keys: &[u32],
        entries: usize,
        log2: f64,
        zeroed: (impl FnOnce(usize) -> Vec<u8>, impl FnOnce(usize) -> Vec<u32>),
    ) -> Turns {
        let (mut at, mut terms) = (Vec::new(), (zeroed.0)(entries));
        fill(keys, &mut terms, Table::few(log2), &mut at);
        // Slots are counted from 1 here.
        let (mut slot_of, mut of_slots) = ((zeroed.1)(entries), Vec::new());
        let slot = |&at: &u32| {
            let key = keys[at as usize];
            let slot = &mut slot_of[key as usize];
            if *slot == 0 {
                of_slots.push(key);
                *slot = of_slots.len() as u32;
            }
            *slot - 1
        };
        let slots = at.iter().map(slot).collect();
        Turns { at, slots, entries: of_slots }
    }

    /// How many terms are a few, which is all that `log2` is asked for.
    pub fn few(log2: f64) -> usize {
        Table::few(log2).into()
    }
}

impl Compensated {
    /// Terms that need no correction: the rounding errors of so many additions, less one, stay below `2 log2(n + 1)` units of the
    /// precision times the sum of magnitudes.
    pub const FEW: usize = 7;

    /// The kernels for a sum of elements of `input`, if it needs them.
    pub fn of(op: ReduceOp, input: DType) -> Option<Compensated> {
        match (op, input) {
            (ReduceOp::Sum | ReduceOp::Mean, DType::F64) => {
                Some(Compensated { scatter: scatter::<1>, in_turns: in_turns::<1>, accumulate, parts: 1 })
            }
            (ReduceOp::Sum | ReduceOp::Mean, DType::Complex128) => {
                Some(Compensated { scatter: scatter::<2>, in_turns: in_turns::<2>, accumulate, parts: 2 })
            }
            _ => None,
        }
    }

    /// Adds the corrections to the accumulators, once. A sum that is not finite has none.
    pub fn finish(acc: &mut [u8], low: &[u8]) {
        for (a, &l) in f64::from_bytes_mut(acc).iter_mut().zip(f64::from_bytes(low)) {
            *a = corrected(*a, l);
        }
    }
}

fn corrected(sum: f64, low: f64) -> f64 {
    // A correction of 0 would make 0 of −0.
    if low != 0.0 && sum.is_finite() { sum + low } else { sum }
}

/// `acc + value`, and what that rounds away.
#[inline(always)]
fn add(acc: &mut f64, low: &mut f64, value: f64) {
    let sum = *acc + value;
    let of_value = sum - *acc;
    *low += (*acc - (sum - of_value)) + (value - of_value);
    *acc = sum;
}

/// Elements of `P` parts each.
fn scatter<const P: usize>(values: &[u8], keys: &[u32], table: &mut Table<'_>) {
    let values = f64::from_bytes(values).as_chunks::<P>().0;
    debug_assert!(values.len() == keys.len() && u32::try_from(keys.len()).is_ok());
    let (recent, pairs) = (table.recent.as_chunks_mut::<P>().0, table.pairs.as_chunks_mut::<2>().0.as_chunks_mut().0);
    if table.terms.is_empty() {
        let all_over = simd::all_over(keys, pairs);
        simd::in_stream(values, keys, 0..keys.len(), (pairs, all_over), add_all::<P>);
        return;
    }
    // Counting first: its small table then has the cache to itself, and where it branches the sums are not waited for.
    fill(keys, table.terms, table.few, &mut table.full);
    let all_over = simd::all_over(keys, recent);
    let mut start = 0;
    for &at in &table.full {
        let end = at as usize + 1;
        plainly(values, keys, start..end, (recent, all_over));
        let key = keys[at as usize] as usize;
        let (block, begun) = (key / BLOCK, &mut table.begun[key / BLOCK / 64]);
        if *begun >> (block % 64) & 1 == 0 {
            *begun |= 1 << (block % 64);
            let end = pairs.len().min((block + 1) * BLOCK);
            pairs[block * BLOCK..end].fill([[0.0; 2]; P]);
        }
        add_all(&mut pairs[key], &std::mem::replace(&mut recent[key], [-0.0; P]));
        start = end;
    }
    plainly(values, keys, start..keys.len(), (recent, all_over));
}

fn in_turns<const P: usize>(values: &[u8], keys: &[u32], turns: &Turns, acc: &mut [u8]) {
    let (values, sums) = (f64::from_bytes(values).as_chunks::<P>().0, f64::from_bytes_mut(acc));
    debug_assert_eq!(values.len(), keys.len());
    // The sum of −0 is −0.
    sums.fill(-0.0);
    let sums = sums.as_chunks_mut::<P>().0;
    let mut pairs = vec![[[-0.0, 0.0]; P]; turns.entries.len()];
    let all_over = simd::all_over(keys, sums);
    let mut start = 0;
    for (&at, &slot) in turns.at.iter().zip(&turns.slots) {
        let end = at as usize + 1;
        plainly(values, keys, start..end, (sums, all_over));
        let recent = &mut sums[keys[at as usize] as usize];
        add_all(&mut pairs[slot as usize], &std::mem::replace(recent, [-0.0; P]));
        start = end;
    }
    plainly(values, keys, start..keys.len(), (sums, all_over));
    for (pairs, &entry) in pairs.iter_mut().zip(&turns.entries) {
        let sums = &mut sums[entry as usize];
        add_all(pairs, sums);
        sums.iter_mut().zip(pairs).for_each(|(sum, pair)| *sum = corrected(pair[0], pair[1]));
    }
}

/// Counts terms, and notes where an entry has got a few.
fn fill(keys: &[u32], terms: &mut [u8], few: u8, full: &mut Vec<u32>) {
    full.clear();
    let mut i = 0;
    let all_over = simd::all_over(keys, terms);
    simd::in_stream(keys, keys, 0..keys.len(), (terms, all_over), |n, _| {
        *n += 1;
        if *n >= few {
            *n = 0;
            full.push(i);
        }
        i += 1;
    });
}

#[inline(always)]
fn plainly<const P: usize>(values: &[[f64; P]], keys: &[u32], range: Range<usize>, sums: (&mut [[f64; P]], bool)) {
    simd::in_stream(values, keys, range, sums, |sums, value| sums.iter_mut().zip(value).for_each(|(sum, v)| *sum += v));
}

#[inline(always)]
fn add_all<const P: usize>(pairs: &mut [[f64; 2]; P], values: &[f64; P]) {
    for ([high, low], &value) in pairs.iter_mut().zip(values) {
        add(high, low, value);
    }
}

/// Rows that are added in one pass over the sums: three roundings and two more are fewer than the bound of eight terms allows.
pub const ROWS_AT_ONCE: usize = 4;

fn accumulate(rows: &[&[u8]], acc: &mut [u8], low: &mut [u8]) {
    struct Accumulate<'a, const N: usize>([&'a [f64]; N], &'a mut [f64], &'a mut [f64]);
    impl<const N: usize> Loop for Accumulate<'_, N> {
        type Output = ();
        #[inline(always)]
        fn run(self) {
            let Accumulate(rows, acc, low) = self;
            let n = rows.iter().map(|row| row.len()).min().unwrap_or(0).min(acc.len()).min(low.len());
            let (rows, acc, low) = (rows.map(|row| &row[..n]), &mut acc[..n], &mut low[..n]);
            for i in 0..n {
                let (mut sum, mut lost) = (acc[i], low[i]);
                // To add −0 changes nothing.
                add(&mut sum, &mut lost, rows.iter().fold(-0.0, |sum, row| sum + row[i]));
                (acc[i], low[i]) = (sum, lost);
            }
        }
    }
    let (acc, low) = (f64::from_bytes_mut(acc), f64::from_bytes_mut(low));
    let (several, rest) = rows.as_chunks::<ROWS_AT_ONCE>();
    several.iter().for_each(|rows| simd::vectorised(Accumulate(rows.map(f64::from_bytes), acc, low)));
    rest.iter().for_each(|row| simd::vectorised(Accumulate([f64::from_bytes(row)], acc, low)));
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The sums of parts of `size` entries, as part of a table of `sums`.
    fn sums(values: &[f64], keys: &[u32], parts: usize, size: usize, sums: usize, log2: f64) -> Vec<f64> {
        let dtype = if parts == 1 { DType::F64 } else { DType::Complex128 };
        let kernels = Compensated::of(ReduceOp::Sum, dtype).unwrap();
        let mut acc = vec![1.0; parts * size];
        let (counts, numbers) = Table::room(&kernels, size, sums);
        let (mut counts, mut numbers) = (vec![7; counts], vec![f64::NAN; numbers]);
        let acc_bytes = bytemuck::cast_slice_mut(&mut acc);
        let mut table = Table::new(&kernels, acc_bytes, log2, (&mut counts, &mut numbers));
        for (values, keys) in values.chunks(100 * parts).zip(keys.chunks(100)) {
            (kernels.scatter)(f64::as_bytes(values), keys, &mut table);
        }
        table.finish();
        acc
    }

    const LARGE: usize = Table::SMALL + 1;

    #[test]
    fn small_terms_survive_a_large_one() {
        let values: Vec<f64> = std::iter::once(1e16).chain(std::iter::repeat_n(1.0, 1001)).chain([-1e16]).collect();
        let sums = sums(&values, &vec![1; values.len()], 1, 2, 2, 0.0);
        assert_eq!(sums, [-0.0, 1001.0]);
        assert!(sums[0].is_sign_negative());
    }

    #[test]
    fn a_few_plain_additions_at_a_time() {
        // Plainly added to 2^53, ones would be lost.
        let n = 1u32 << 16;
        let values: Vec<f64> = std::iter::once(9007199254740992.0).chain((0..n).map(|_| 1.0)).collect();
        let sum = sums(&values, &vec![0; values.len()], 1, 1, LARGE, 16.0)[0];
        let off = (sum - 9007199254740992.0 - f64::from(n)).abs();
        assert!(off <= f64::from(Table::few(16.0)), "{off}");
    }

    #[test]
    fn complex_entries_have_a_sum_for_each_part() {
        let n = 1000;
        let values: Vec<f64> = (0..n).flat_map(|i| [f64::from(i), -0.0]).collect();
        let keys: Vec<u32> = (0..n).map(|i| (i % 5 == 0).into()).collect();
        for all in [2, LARGE] {
            let sums = sums(&values, &keys, 2, 3, all, 3.0);
            assert_eq!(sums, [400_000.0, 0.0, 99_500.0, 0.0, 0.0, 0.0]);
            assert!([1, 3, 4, 5].iter().all(|&i: &usize| sums[i].is_sign_negative()), "{sums:?}");
        }
    }

    #[test]
    fn turns_found_before_give_the_same_sums() {
        let n = 20_000u64;
        let spread = |i: u64| (i + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let keys: Vec<u32> = (0..n).map(|i| (spread(i) >> 59) as u32 * (i % 3) as u32).collect();
        let values: Vec<f64> = (0..2 * n).map(|i| spread(i * i) as i64 as f64 * 2f64.powi((i % 60) as i32)).collect();
        for (parts, log2) in [(1, 0.0), (2, 0.0), (1, 20.0)] {
            let dtype = if parts == 1 { DType::F64 } else { DType::Complex128 };
            let kernels = Compensated::of(ReduceOp::Sum, dtype).unwrap();
            let values = &values[..parts * keys.len()];
            let turns = Turns::of(&keys, 100, log2, (|n| vec![0; n], |n| vec![0; n]));
            assert!(!turns.at.is_empty() && turns.entries.len() < 100);
            let mut acc = vec![1.0; parts * 100];
            (kernels.in_turns)(f64::as_bytes(values), &keys, &turns, bytemuck::cast_slice_mut(&mut acc));
            assert_eq!(acc, sums(values, &keys, parts, 100, LARGE, log2));
            assert!(acc[parts * 99].is_sign_negative());
        }
    }

    #[test]
    fn infinity_stays() {
        let kernels = Compensated::of(ReduceOp::Sum, DType::Complex128).unwrap();
        let (mut acc, mut low) = ([0.0; 2], [0.0; 2]);
        let (a, l): (&mut [u8], &mut [u8]) = (bytemuck::cast_slice_mut(&mut acc), bytemuck::cast_slice_mut(&mut low));
        for value in [[f64::INFINITY, 1.0], [2.0, 2.0]] {
            (kernels.accumulate)(&[f64::as_bytes(&value)], a, l);
        }
        Compensated::finish(a, l);
        assert_eq!(acc, [f64::INFINITY, 3.0]);
    }
}
