//! Upper levels that repeat coordinates: long segments split, and put together again.

use super::arrays::{array, entries};
use crate::base::error::{self, Result};
use crate::base::mapped::{Chosen, Mapped, repeated};
use crate::tensor::index_array::{IndexArray, LevelData};
use crate::tensor::trace;

/// Splits the segments of the last level into pieces of at most `most` entries, repeating the coordinates above.
/// Gives the level that now repeats.
pub(super) fn split(levels: &mut [LevelData], most: usize) -> Result<usize> {
    let _call = trace::call("balanced_arrays", &[]);
    if most == 0 {
        return Err(error::invalid("most", "0 entries per piece; at least 1"));
    }
    let n = levels.len();
    let [
        ..,
        LevelData::Sparse { pointers: above, indices: upper, unique, .. },
        LevelData::Sparse { pointers: Some(p), indices, .. },
    ] = levels
    else {
        return Err(error::layout("the last two levels must be sparse (CSF, DCSR); to_layout makes them"));
    };
    if indices.is_empty() {
        return Err(error::layout("several values per coordinate have no segments of coordinates to split"));
    }
    let ends = entries(p);
    let mut pieces: Vec<u64> = vec![0];
    let mut times: Vec<usize> = Vec::with_capacity(ends.len());
    for w in ends.windows(2) {
        let before = pieces.len();
        let mut at = w[0];
        while w[1] - at > most as u64 {
            at += most as u64;
            pieces.push(at);
        }
        pieces.push(w[1]);
        times.push(pieces.len() - before);
    }
    for index in upper.iter_mut() {
        let all = entries(index);
        *index = array(repeated(all.iter().copied().zip(times.iter().copied())));
    }
    if let Some(above) = above {
        let mut sums: Vec<u64> = vec![0];
        for &n in &times {
            sums.push(sums[sums.len() - 1] + n as u64);
        }
        *above = array(entries(above).into_iter().map(|i| sums[i as usize]).collect());
    }
    *p = array(pieces);
    *unique = false;
    Ok(n - 2)
}

/// Merges coordinates of level `l` that repeat next to each other: their segments below become one.
pub(super) fn merge(levels: &mut [LevelData], l: usize) -> Result<()> {
    let [.., LevelData::Sparse { pointers: above, indices, unique, .. }, below] = &mut levels[..l + 2] else {
        return Ok(());
    };
    let LevelData::Sparse { pointers: Some(below), .. } = below else {
        let why = format!(
            "level {l} may repeat coordinates above a level that is not sparse, whose parts cannot be put together"
        );
        return Err(error::invalid("structure", why));
    };
    let tuples: Vec<Vec<u64>> = indices.mapped(entries);
    let n = tuples.first().map_or(0, Vec::len);
    let starts = segments(l, above.as_ref(), n)?;
    let ends = entries(below);
    if tuples.iter().any(|t| t.len() != n) || ends.len() != n + 1 {
        let why =
            format!("level {l} has index arrays of {n} entries, and {} pointers below, not {}", ends.len(), n + 1);
        return Err(error::invalid("arrays", why));
    }
    let mut is_start = vec![false; n + 1];
    starts.iter().for_each(|&s| is_start[s] = true);
    let heads: Vec<usize> = (0..n).chosen(|&i| is_start[i] || tuples.iter().any(|t| t[i] != t[i - 1]));
    for (index, tuple) in indices.iter_mut().zip(&tuples) {
        *index = array(heads.iter().map(|&h| tuple[h]).collect());
    }
    if let Some(above) = above {
        let counts = starts.iter().map(|&s| heads.partition_point(|&h| h < s) as u64).collect();
        *above = array(counts);
    }
    *below = array(heads.iter().map(|&h| ends[h]).chain(ends.last().copied()).collect());
    *unique = true;
    Ok(())
}

/// Where segments start and the last one ends, from 0.
fn segments(l: usize, pointers: Option<&IndexArray>, n: usize) -> Result<Vec<usize>> {
    let Some(pointers) = pointers else { return Ok(vec![0, n]) };
    let all = entries(pointers);
    let base = all.first().copied().unwrap_or(0);
    let rises = all.windows(2).all(|w| w[0] <= w[1]);
    if !rises || all.last().is_none_or(|&last| last - base != n as u64) {
        let why = format!("the pointers of level {l} must not fall, and span its {n} indices");
        return Err(error::invalid("arrays", why));
    }
    Ok(all.iter().map(|p| (p - base) as usize).collect())
}
