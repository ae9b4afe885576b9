//! Searches in segments of coordinates that rise.

use std::hint::select_unpredictable;

use super::Index;

/// How many searches go on at a time: each waits for memory while the others do too.
const TOGETHER: usize = 16;

/// Moves each start on to the first entry from there that is not below what is wanted, or to the end that belongs to it where there is
/// none. Between both, entries rise.
///
/// Cost: O(log n) for each of n entries: binary searches, several side by side and without branches.
pub fn first_not_below<I: Index>(entries: &[I], starts: &mut [usize], ends: &[usize], wanted: &[u64]) {
    debug_assert!(starts.len() == ends.len() && starts.len() == wanted.len());
    for ((starts, ends), wanted) in starts.chunks_mut(TOGETHER).zip(ends.chunks(TOGETHER)).zip(wanted.chunks(TOGETHER))
    {
        let mut room = [0; TOGETHER];
        let (lens, mut longest) = (&mut room[..starts.len()], 0);
        for (len, (&start, &end)) in lens.iter_mut().zip(starts.iter().zip(ends)) {
            *len = end.saturating_sub(start);
            longest = longest.max(*len);
        }
        while longest > 0 {
            step(entries, starts, lens, wanted);
            longest /= 2;
        }
    }
}

/// Halves what is not known yet of each search: of `lens` entries from `starts` on. Not inlined, or all searches are written out, and nothing stays
/// in registers.
#[inline(never)]
fn step<I: Index>(entries: &[I], starts: &mut [usize], lens: &mut [usize], wanted: &[u64]) {
    for ((start, len), &wanted) in starts.iter_mut().zip(lens).zip(wanted) {
        // Of none the first entry of all is looked at, in vain.
        let (half, has) = (*len / 2, *len > 0);
        let is_below = (entries[if has { *start + half } else { 0 }].get() as u64) < wanted;
        *start += select_unpredictable(has & is_below, half + 1, 0);
        *len = select_unpredictable(is_below, len.saturating_sub(half + 1), half);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_a_search_in_each_segment() {
        // Segments of 0 to 40 entries, each over and over, asked for all that is there, between and beyond.
        let lengths: Vec<usize> = (0..120).map(|i| i * 7 % 41).collect();
        let mut entries: Vec<u32> = Vec::new();
        let (mut starts, mut ends, mut wanted) = (Vec::new(), Vec::new(), Vec::new());
        for &n in &lengths {
            let start = entries.len();
            entries.extend((0..n as u32).map(|i| 3 * i + 1 + i / 5));
            for w in 0..140u64 {
                starts.push(start);
                ends.push(entries.len());
                wanted.push(w);
            }
        }
        let expected: Vec<usize> = (starts.iter().zip(&ends).zip(&wanted))
            .map(|((&s, &e), &w)| s + entries[s..e].partition_point(|&entry| u64::from(entry) < w))
            .collect();
        assert!(expected.iter().zip(&starts).any(|(found, start)| found > start));
        for n in [starts.len(), 100, 17, 1, 0] {
            let mut found = starts[..n].to_vec();
            first_not_below(&entries, &mut found, &ends[..n], &wanted[..n]);
            assert_eq!(found, expected[..n]);
            let wide: Vec<u64> = entries.iter().map(|&e| e.into()).collect();
            let mut found = starts[..n].to_vec();
            first_not_below(&wide, &mut found, &ends[..n], &wanted[..n]);
            assert_eq!(found, expected[..n]);
        }
        // Of no entries at all.
        let mut none = [0];
        first_not_below::<u64>(&[], &mut none, &[0], &[5]);
        assert_eq!(none, [0]);
    }
}
