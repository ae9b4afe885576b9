//! Sparse rows times sparse rows: each row of the result is summed in a dense accumulator, whose columns are
//! remembered as bits and come out in order (Gustavson, "Two fast algorithms for sparse matrices", 1978).

use std::ops::Range;

use super::Rows;
use super::term::Term;
use super::typed::{Typed, slice_mut};
use crate::simd::prefetch;

/// Stored elements on the left whose rows on the right are asked for ahead: where they begin, and what they hold.
const AHEAD: [usize; 2] = [16, 8];

/// Sums of one row, all zero between rows, and which columns have one: a bit for each, and a bit for each word that may
/// have any.
#[derive(Debug, Default)]
pub struct Accumulator {
    /// Bytes that sums of any type can lie in.
    sums: Vec<u128>,
    words: Vec<u64>,
    tops: Vec<u64>,
    /// Words that have any, in the order in which they got one.
    touched: Vec<u32>,
    /// Columns of the product, for which there is room.
    columns: usize,
}

/// Rows that are added before it is asked whether every column has a sum.
const LOOK: usize = 16;

/// Words that have room from the start.
const FEW: usize = 32;

impl Accumulator {
    /// For rows of `n` columns, with sums of `size` bytes.
    pub fn new(n: usize, size: usize) -> Accumulator {
        Accumulator {
            sums: vec![0; (n * size).div_ceil(size_of::<u128>())],
            words: vec![0; n.div_ceil(1 << 6)],
            tops: vec![0; n.div_ceil(1 << 12)],
            touched: vec![0; FEW],
            columns: n,
        }
    }

    /// The same for rows of `n` columns, with sums of `size` bytes; `None` if there is no room for so many.
    pub fn of_columns(self, n: usize, size: usize) -> Option<Accumulator> {
        let is_fit = n.div_ceil(1 << 6) <= self.words.len() && n * size <= self.room();
        is_fit.then_some(Accumulator { columns: n, ..self })
    }

    /// The bytes of sums that there is room for.
    pub fn room(&self) -> usize {
        size_of_val(&self.sums[..])
    }
}

/// Whether each of so many columns has its bit.
fn is_all(words: &[u64], columns: usize) -> bool {
    let last = u64::MAX >> (columns.wrapping_neg() % 64);
    words.split_last().is_some_and(|(end, words)| *end == last && words.iter().all(|&word| word == u64::MAX))
}

/// Where rows of a product are written: entries in each row, and columns and elements one row after the other.
#[derive(Debug)]
pub struct Out<'a> {
    /// One for each row.
    pub counts: &'a mut [u32],
    /// Room for as many as terms meet.
    pub columns: &'a mut [u32],
    /// Elements of the terms' dtype, room for as many.
    pub values: &'a mut [u8],
}

/// Asks for the rows on the right that elements on the left after the one at `e` meet.
#[inline(always)]
fn ask_ahead<T: Term>(right: &Typed<'_, T, u32>, first: usize, ahead: &[u32], e: usize) {
    if let Some(&k) = ahead.get(e + AHEAD[0]) {
        prefetch::<u32, 1>(right.pointers, first + k as usize);
    }
    if let Some(&k) = ahead.get(e + AHEAD[1]) {
        let at = right.start(first + k as usize);
        prefetch::<u32, 16>(right.indices, at);
        prefetch::<T, 16>(right.values, at);
    }
}

/// Writes rows of the product of matrices with 32-bit indices, and says how many entries they have. Column `k` on the left
/// meets row `first + k` on the right.
pub(super) fn rows<T: Term>(
    left: Rows<'_>,
    rows: Range<usize>,
    right: Rows<'_>,
    first: usize,
    acc: &mut Accumulator,
    out: Out<'_>,
) -> usize {
    let (left, right) = (Typed::<T, u32>::new(left), Typed::<T, u32>::new(right));
    let (columns, values) = (out.columns, slice_mut::<T>(out.values));
    let Accumulator { sums, words, tops, touched, columns: width } = acc;
    let sums = slice_mut::<T::Acc>(bytemuck::cast_slice_mut(sums));
    let all = width.div_ceil(1 << 6);
    let end = left.start(rows.end);
    let mut len = 0;
    for (count, r) in out.counts.iter_mut().zip(rows) {
        let start = left.start(r);
        let ahead = &left.indices[start..end];
        let (ks, xs) = left.row(r);
        let mut found = 0;
        for first_of_block in (0..ks.len()).step_by(LOOK) {
            if first_of_block > 0 && found == all && is_all(&words[..all], *width) {
                // To remember a column takes longer than to add to it.
                let ahead = &ahead[first_of_block..];
                for (e, (&k, &x)) in ks[first_of_block..].iter().zip(&xs[first_of_block..]).enumerate() {
                    ask_ahead(&right, first, ahead, e);
                    let (js, ys) = right.row(first + k as usize);
                    for (&j, &y) in js.iter().zip(ys) {
                        sums[j as usize] = T::mul_add(sums[j as usize], x, y);
                    }
                }
                break;
            }
            let block = first_of_block..ks.len().min(first_of_block + LOOK);
            let ahead = &ahead[first_of_block..];
            for (e, (&k, &x)) in ks[block.clone()].iter().zip(&xs[block]).enumerate() {
                ask_ahead(&right, first, ahead, e);
                let (js, ys) = right.row(first + k as usize);
                if touched.len() < found + js.len() {
                    touched.resize(2 * (found + js.len()), 0);
                }
                let touched = &mut touched[..];
                for (&j, &y) in js.iter().zip(ys) {
                    let j = j as usize;
                    sums[j] = T::mul_add(sums[j], x, y);
                    let word = &mut words[j >> 6];
                    touched[found] = (j >> 6) as u32;
                    found += usize::from(*word == 0);
                    *word |= 1 << (j & 63);
                }
            }
        }
        // A bit for each word, not for each term: terms near each other would wait for the same bits.
        let (mut least, mut greatest) = (usize::MAX, 0);
        for &word in &touched[..found] {
            let top = word as usize >> 6;
            tops[top] |= 1 << (word & 63);
            (least, greatest) = (least.min(top), greatest.max(top));
        }
        let before = len;
        for top in least..(greatest + 1).min(tops.len()) {
            let mut bits = std::mem::take(&mut tops[top]);
            while bits != 0 {
                let word = top << 6 | bits.trailing_zeros() as usize;
                bits &= bits - 1;
                let mut bits = std::mem::take(&mut words[word]);
                while bits != 0 {
                    let j = word << 6 | bits.trailing_zeros() as usize;
                    bits &= bits - 1;
                    columns[len] = j as u32;
                    values[len] = T::round(std::mem::replace(&mut sums[j], T::ZERO));
                    len += 1;
                }
            }
        }
        *count = (len - before) as u32;
    }
    len
}
