//! Sorting keys of coordinate tuples, in parallel.

use crate::base::mapped::Mapped;
use openwork_ops::structure::keys::KeyLayout;
use openwork_ops::structure::merge::Numbered;
use openwork_ops::structure::{Index, IndexSlice, IndexVec, sort};
use openwork_ops::with_index;

use super::indices::Indices;
use crate::base::buffer::{Buffer, zeroed_vec};
use crate::base::pages::Scratch;
use crate::base::parallel;

/// Keys in ascending order, and where each stood before; equal keys keep their order.
pub(crate) struct Sorted {
    pub(crate) words: Vec<Vec<u64>>,
    pub(crate) order: IndexVec,
}

/// Sorts keys stably. Cost: about O(n) per eight key bits beyond the partition.
pub(crate) fn sort_keys(layout: &KeyLayout, mut words: Vec<Vec<u64>>) -> Sorted {
    if words.len() == 1 {
        let only = words.swap_remove(0);
        let (sorted, order) = sort_word(only, layout.word_bits[0], layout.settled);
        return Sorted { words: vec![sorted], order };
    }
    // Least significant word first; each pass is stable.
    let n = words[0].len();
    let mut order: Vec<u64> = (0..n as u64).collect();
    for (word, &bits) in words.iter().zip(&layout.word_bits).rev() {
        let current: Vec<u64> = order.iter().map(|&i| word[i as usize]).collect();
        let (_, pass) = sort_word(current, bits, 0);
        order = with_index!(pass.as_slice(), p => p.iter().map(|&i| order[i.get()]).collect());
    }
    let words = words.mapped(|w| order.mapped(|&i| w[i as usize]));
    Sorted { words, order: narrowest(order) }
}

/// Lists of rising keys that are merged two by two; more are sorted.
const MERGED: usize = 8;

/// The order in which keys that rise in each list rise in all: numbers of keys, counted from list to list. Equal ones keep theirs.
///
/// Cost: O(n · log(lists)), or a sort of as many keys of `bits` bits.
pub(crate) fn merged(lists: Vec<Scratch<u64>>, bits: u32) -> Indices {
    let n: usize = lists.iter().map(|list| list.len()).sum();
    if lists.len() > MERGED {
        let mut keys = Vec::with_capacity(n);
        lists.iter().for_each(|list| keys.extend_from_slice(list));
        return sort_word(keys, bits, 0).1.into();
    }
    if n < 1 << 31 { merged_in_pairs::<u32>(lists).into() } else { merged_in_pairs::<u64>(lists).into() }
}

fn merged_in_pairs<I: Index>(lists: Vec<Scratch<u64>>) -> Scratch<I> {
    let mut first = 0;
    let numbered = |keys: Scratch<u64>| {
        let mut numbers = Scratch::<I>::any(keys.len());
        numbers.iter_mut().zip(first..).for_each(|(number, i)| *number = I::new(i));
        first += keys.len();
        (keys, numbers)
    };
    let mut lists: Vec<(Scratch<u64>, Scratch<I>)> = lists.into_iter().map(numbered).collect();
    while lists.len() > 1 {
        let (mut fewer, mut rest) = (Vec::new(), lists.into_iter());
        while let Some(left) = rest.next() {
            fewer.push(match rest.next() {
                Some(right) => merged_pair(&left, &right),
                None => left,
            });
        }
        lists = fewer;
    }
    lists.pop().map_or(Scratch::any(0), |(_, numbers)| numbers)
}

type NumberedKeys<I> = (Scratch<u64>, Scratch<I>);

fn merged_pair<I: Index>(left: &NumberedKeys<I>, right: &NumberedKeys<I>) -> NumberedKeys<I> {
    let [left, right] = [left, right].map(|list| Numbered { keys: &list.0[..], numbers: &list.1[..] });
    let n = left.keys.len() + right.keys.len();
    let (mut keys, mut numbers) = (Scratch::<u64>::any(n), Scratch::<I>::any(n));
    let chunks = keys.chunks_mut(parallel::GRAIN).zip(numbers.chunks_mut(parallel::GRAIN)).collect();
    parallel::for_each(chunks, &|c, (keys, numbers): (&mut [u64], &mut [I])| {
        let (start, stop) = (c * parallel::GRAIN, c * parallel::GRAIN + keys.len());
        let (i, until) = (left.among(right, start), left.among(right, stop));
        left.part(i..until).merge(right.part(start - i..stop - until), keys, numbers);
    });
    (keys, numbers)
}

fn narrowest(order: Vec<u64>) -> IndexVec {
    if order.len() < 1 << 31 { IndexVec::U32(order.iter().map(|&i| i as u32).collect()) } else { IndexVec::U64(order) }
}

/// Sorts keys and rows of `row` bytes with them. The rows move twice, but never far from their neighbours.
pub(crate) fn sort_rows(
    layout: &KeyLayout,
    mut words: Vec<Vec<u64>>,
    rows: &[u8],
    row: usize,
) -> (Vec<Vec<u64>>, Buffer) {
    let n = words[0].len();
    let packing = if words.len() == 1 { sort::Packing::new(n, layout.word_bits[0]) } else { None };
    let (Some(packing), 1 | 2 | 4 | 8 | 16) = (packing, row) else {
        let sorted = sort_keys(layout, words);
        let rows = Buffer::filled_of_held(n * row, row, |out| gather(rows, row, sorted.order.as_slice(), out));
        return (sorted.words, rows);
    };
    let keys = words.swap_remove(0);
    let mut packed = zeroed_vec::<u64>(n);
    let mut moved = Scratch::<u8>::any(n * row);
    let (to, at) = (&mut packed[..], &mut moved[..]);
    let offsets = match row {
        1 => sort::partition_rows::<1>(&keys, rows, packing, to, at),
        2 => sort::partition_rows::<2>(&keys, rows, packing, to, at),
        4 => sort::partition_rows::<4>(&keys, rows, packing, to, at),
        8 => sort::partition_rows::<8>(&keys, rows, packing, to, at),
        _ => sort::partition_rows::<16>(&keys, rows, packing, to, at),
    };
    drop(keys);
    let (sorted, order) = sort_buckets(packed, packing, layout.settled, &offsets);
    (vec![sorted], Buffer::filled_of_held(n * row, row, |out| gather(&moved, row, order.as_slice(), out)))
}

fn sort_word(keys: Vec<u64>, bits: u32, settled: u32) -> (Vec<u64>, IndexVec) {
    let n = keys.len();
    let Some(packing) = sort::Packing::new(n, bits) else {
        let order = sort::sort_pairs(&keys);
        let sorted = order.iter().map(|&i| keys[i as usize]).collect();
        return (sorted, narrowest(order));
    };
    let mut packed = zeroed_vec::<u64>(n);
    let offsets = sort::partition(&keys, packing, &mut packed);
    drop(keys);
    sort_buckets(packed, packing, settled, &offsets)
}

/// Sorts partitioned words; gives the keys again, and the indices that rode with them.
fn sort_buckets(mut packed: Vec<u64>, packing: sort::Packing, settled: u32, offsets: &[usize]) -> (Vec<u64>, IndexVec) {
    let n = packed.len();
    let groups = group_ends(&offsets[1..]);
    // Several buckets make one piece of work.
    let first_of = |g: usize| if g == 0 { 0 } else { groups[g - 1].1 };
    let ends: Vec<usize> = groups.iter().map(|g| g.0).collect();
    let buckets = |g: usize, piece: &mut [u64], f: &mut dyn FnMut(usize, &mut [u64])| {
        let mut rest = piece;
        for b in first_of(g)..groups[g].1 {
            let (bucket, tail) = rest.split_at_mut(offsets[b + 1] - offsets[b]);
            f(b, bucket);
            rest = tail;
        }
    };
    parallel::for_pieces_mut(&mut packed, &ends, &|g, piece| {
        let mut scratch = Vec::new();
        buckets(g, piece, &mut |_, bucket| sort::sort_bucket(bucket, packing, settled, &mut scratch));
    });
    let mask = (1u64 << packing.index_bits) - 1;
    let order = if n < 1 << 31 {
        let mut order = zeroed_vec::<u32>(n);
        parallel::for_chunks_mut(&mut order, 1, parallel::GRAIN, &|start, out| {
            for (o, &v) in out.iter_mut().zip(&packed[start..]) {
                *o = (v & mask) as u32;
            }
        });
        IndexVec::U32(order)
    } else {
        IndexVec::U64(packed.iter().map(|v| v & mask).collect())
    };
    // What is left of each word, with its bucket in front, is the key again.
    parallel::for_pieces_mut(&mut packed, &ends, &|g, piece| {
        buckets(g, piece, &mut |b, bucket| {
            let lead = (b as u64).checked_shl(packing.key_bits).unwrap_or(0);
            bucket.iter_mut().for_each(|v| *v = lead | v.checked_shr(packing.index_bits).unwrap_or(0));
        });
    });
    (packed, order)
}

/// Groups consecutive buckets into pieces of a worthwhile size: (end element, end bucket) of each.
fn group_ends(ends: &[usize]) -> Vec<(usize, usize)> {
    let (mut groups, mut start) = (Vec::new(), 0);
    for (b, &end) in ends.iter().enumerate() {
        if end - start >= parallel::GRAIN || b + 1 == ends.len() {
            groups.push((end, b + 1));
            start = end;
        }
    }
    groups
}

/// Where runs of equal keys begin in sorted keys, and the end of the last: one more entry than there are runs.
pub(crate) fn runs(words: &[Vec<u64>]) -> Vec<usize> {
    let n = words.first().map_or(0, Vec::len);
    let new = |i: usize| match words {
        [only] => only[i] != only[i - 1],
        _ => words.iter().any(|w| w[i] != w[i - 1]),
    };
    let mut out = zeroed_vec::<usize>(n + 1);
    // The first key begins; after that, write always and advance where one begins.
    let mut count = usize::from(n > 0);
    for i in 1..n {
        out[count] = i;
        count += usize::from(new(i));
    }
    out[count] = n;
    out.truncate(count + 1);
    out
}

/// The entries of an array at given places.
pub(crate) fn pick(values: &[u64], places: &[usize]) -> Vec<u64> {
    let mut out = zeroed_vec::<u64>(places.len());
    for (o, &i) in out.iter_mut().zip(places) {
        *o = values[i];
    }
    out
}

/// Rows `order[i]` of a byte array, gathered in parallel.
pub(crate) fn gather(source: &[u8], row: usize, order: IndexSlice<'_>, out: &mut [u8]) {
    parallel::for_chunks_mut(out, row, parallel::GRAIN, &|start, out| {
        let n = out.len() / row.max(1);
        with_index!(order, o => openwork_ops::structure::gather::gather_rows(source, row, as_slice(&o[start..start + n]), out));
    });
}

fn as_slice<I: Index>(typed: &[I]) -> IndexSlice<'_> {
    I::slice(typed)
}
