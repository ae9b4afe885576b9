//! Sorted tuples, whose entries stand in columns: how far each agrees with the one before it, and what follows from that.

use super::index::Index;

/// Tuples that are compared column by column, while what was found of them is in the first-level cache.
const PIECE: usize = 1 << 12;

/// In how many of the columns, from the first on, each of the tuples from `start` on agrees with the one before it; the first of all
/// in none. There are fewer than 256 columns.
pub fn agreeing<I: Index>(columns: &[&[I]], start: usize, out: &mut [u8]) {
    let mut alike = [0u8; PIECE];
    for (i, out) in out.chunks_mut(PIECE).enumerate() {
        let first = start + i * PIECE;
        let skipped = usize::from(first == 0);
        let alike = &mut alike[skipped..out.len()];
        out.fill(0);
        alike.fill(1);
        let out = &mut out[skipped..];
        for column in columns {
            let (before, own) = (&column[first + skipped - 1..], &column[first + skipped..]);
            for (((out, alike), a), b) in out.iter_mut().zip(&mut *alike).zip(before).zip(own) {
                *alike &= u8::from(a == b);
                *out += *alike;
            }
        }
    }
}

/// How many of these tuples agree with the ones before them in fewer than `columns`.
pub fn opened(agreeing: &[u8], columns: u8) -> usize {
    agreeing.iter().map(|&a| usize::from(a < columns)).sum()
}

/// The entries of those. There is room for no more than they are.
pub fn entries<I: Index>(agreeing: &[u8], columns: u8, source: &[I], out: &mut [I]) {
    let mut at = 0;
    for (&a, &entry) in agreeing.iter().zip(source) {
        // Each is written, and the next one over it if it is not meant: a branch would be a guess.
        let Some(place) = out.get_mut(at) else { return };
        *place = entry;
        at += usize::from(a < columns);
    }
}

/// For each of those, how many tuples that agree in fewer than `more` columns stand before it, counted on from `first`.
pub fn counts<I: Index>(agreeing: &[u8], columns: u8, more: u8, first: usize, out: &mut [I]) {
    let (mut at, mut count) = (0, first);
    for &a in agreeing {
        let Some(place) = out.get_mut(at) else { return };
        *place = I::new(count);
        at += usize::from(a < columns);
        count += usize::from(a < more);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tuples_open_where_they_differ() {
        let n = 3 * PIECE + 5;
        let tuples: Vec<[u32; 3]> = (0..n as u32).map(|i| [i / 5000, i / 7, i]).collect();
        let column = |c: usize| tuples.iter().map(|t| t[c]).collect::<Vec<u32>>();
        let columns = [column(0), column(1), column(2)];
        let columns: Vec<&[u32]> = columns.iter().map(|c| &c[..]).collect();
        let wanted: Vec<u8> =
            (0..n).map(|i| (0..3).take_while(|&c| i > 0 && tuples[i][c] == tuples[i - 1][c]).count() as u8).collect();
        for start in [0, 1, 6, PIECE, n] {
            let mut out = vec![9; n - start];
            agreeing(&columns, start, &mut out);
            assert_eq!(out, wanted[start..], "from {start}");
        }
        for (fewer, more) in [(1, 2), (1, 3), (2, 3), (3, 3)] {
            let those: Vec<usize> = (0..n).filter(|&i| wanted[i] < fewer).collect();
            assert_eq!(opened(&wanted, fewer), those.len());
            let (mut own, mut before) = (vec![0; those.len()], vec![0u32; those.len()]);
            entries(&wanted, fewer, columns[1], &mut own);
            assert!(own.iter().zip(&those).all(|(&entry, &i)| entry == columns[1][i]));
            counts(&wanted, fewer, more, 10, &mut before);
            assert!(before.iter().zip(&those).all(|(&b, &i)| b as usize == 10 + opened(&wanted[..i], more)));
        }
    }
}
