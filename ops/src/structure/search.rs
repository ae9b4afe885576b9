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
        // Of `len` entries from `at` on it is not known yet.
        let (mut at, mut len, mut own) = ([0; TOGETHER], [0; TOGETHER], [0; TOGETHER]);
        for (i, (&start, (&end, &wanted))) in starts.iter().zip(ends.iter().zip(wanted)).enumerate() {
            (at[i], len[i], own[i]) = (start, end.saturating_sub(start), wanted);
        }
        let is_below = |at: usize, wanted: u64| entries.get(at).is_some_and(|entry| (entry.get() as u64) < wanted);
        let mut longest = len.iter().fold(0, |longest, &len| usize::max(longest, len));
        while longest > 1 {
            for i in 0..TOGETHER {
                let half = len[i] / 2;
                let moves = (half > 0) & is_below((at[i] + half).saturating_sub(1), own[i]);
                at[i] += select_unpredictable(moves, half, 0);
                len[i] -= half;
            }
            longest -= longest / 2;
        }
        for (i, start) in starts.iter_mut().enumerate() {
            *start = at[i] + usize::from(len[i] > 0 && is_below(at[i], own[i]));
        }
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
