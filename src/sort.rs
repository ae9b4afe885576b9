//! Sorting keys of coordinate tuples, in parallel.

use openwork_ops::structure::keys::KeyLayout;
use openwork_ops::structure::{Index, IndexSlice, IndexVec, sort};
use openwork_ops::with_index;

use crate::parallel;

/// Keys in ascending order, and where each stood before; equal keys keep their order.
pub(crate) struct Sorted {
    pub(crate) words: Vec<Vec<u64>>,
    pub(crate) order: IndexVec,
}

/// Sorts keys stably. Cost: about O(n) per eight key bits beyond the partition.
pub(crate) fn sort_keys(layout: &KeyLayout, mut words: Vec<Vec<u64>>) -> Sorted {
    if words.len() == 1 {
        let only = words.swap_remove(0);
        let (sorted, order) = sort_word(only, layout.word_bits[0]);
        return Sorted { words: vec![sorted], order };
    }
    // Least significant word first; each pass is stable.
    let n = words[0].len();
    let mut order: Vec<u64> = (0..n as u64).collect();
    for (word, &bits) in words.iter().zip(&layout.word_bits).rev() {
        let current: Vec<u64> = order.iter().map(|&i| word[i as usize]).collect();
        let (_, pass) = sort_word(current, bits);
        order = with_index!(pass.as_slice(), p => p.iter().map(|&i| order[i.get()]).collect());
    }
    let words = words.iter().map(|w| order.iter().map(|&i| w[i as usize]).collect()).collect();
    Sorted { words, order: narrowest(order) }
}

fn narrowest(order: Vec<u64>) -> IndexVec {
    if order.len() < 1 << 31 { IndexVec::U32(order.iter().map(|&i| i as u32).collect()) } else { IndexVec::U64(order) }
}

fn sort_word(keys: Vec<u64>, bits: u32) -> (Vec<u64>, IndexVec) {
    let Some(mut parts) = sort::partition(&keys, bits) else {
        let order = sort::sort_pairs(&keys);
        let sorted = order.iter().map(|&i| keys[i as usize]).collect();
        return (sorted, narrowest(order));
    };
    drop(keys);
    let (index_bits, key_bits) = (parts.index_bits, parts.key_bits);
    let ends = &parts.offsets[1..];
    let groups = group_ends(ends);
    // Several buckets make one piece of work.
    let group_start = |g: usize| if g == 0 { 0 } else { groups[g - 1].1 };
    let group_sizes: Vec<usize> = groups.iter().map(|g| g.0).collect();
    parallel::for_pieces_mut(&mut parts.packed, &group_sizes, &|g, piece| {
        let mut rest = piece;
        for b in group_start(g)..groups[g].1 {
            let (bucket, tail) = rest.split_at_mut(parts.offsets[b + 1] - parts.offsets[b]);
            sort::sort_bucket(bucket, index_bits, key_bits);
            rest = tail;
        }
    });
    let mask = (1u64 << index_bits) - 1;
    let n = parts.packed.len();
    let order = if n < 1 << 31 {
        let mut order = vec![0u32; n];
        let packed = &parts.packed;
        parallel::for_chunks_mut(&mut order, 1, parallel::GRAIN, &|start, out| {
            for (o, &v) in out.iter_mut().zip(&packed[start..]) {
                *o = (v & mask) as u32;
            }
        });
        IndexVec::U32(order)
    } else {
        IndexVec::U64(parts.packed.iter().map(|v| v & mask).collect())
    };
    let mut start = 0;
    for (b, &end) in ends.iter().enumerate() {
        let lead = if key_bits == 64 { 0 } else { (b as u64) << key_bits };
        for v in &mut parts.packed[start..end] {
            *v = lead | v.checked_shr(index_bits).unwrap_or(0);
        }
        start = end;
    }
    (parts.packed, order)
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

/// The positions at which a new key begins, in sorted keys.
pub(crate) fn heads(words: &[Vec<u64>]) -> Vec<usize> {
    let n = words.first().map_or(0, Vec::len);
    match words {
        [only] => (0..n).filter(|&i| i == 0 || only[i] != only[i - 1]).collect(),
        _ => (0..n).filter(|&i| i == 0 || words.iter().any(|w| w[i] != w[i - 1])).collect(),
    }
}

/// The entries of an array at given places.
pub(crate) fn pick(values: &[u64], places: &[usize]) -> Vec<u64> {
    places.iter().map(|&i| values[i]).collect()
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
