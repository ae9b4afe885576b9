//! A pattern without some of its positions: every array is copied once, no key is made and nothing is sorted.

use crate::base::mapped::{Mapped, repeated};
use openwork_ops::structure::{Index, IndexVec, gather};
use openwork_ops::with_index;

use crate::base::pages::Scratch;
use crate::base::parallel::{self, GRAIN};
use crate::levels::level::{Indices, Level, LevelKind};
use crate::levels::pattern::Pattern;

/// Which nodes of a level are left.
#[derive(Clone)]
enum Left {
    /// All: dense levels from the root on.
    All,
    Marked(Vec<bool>),
}

/// Which rows are kept, and where those of each chunk go.
pub(crate) struct Kept<'a> {
    keep: &'a [bool],
    /// How many are kept up to the end of each chunk.
    ends: Vec<usize>,
}

impl<'a> Kept<'a> {
    pub(crate) fn new(keep: &'a [bool]) -> Kept<'a> {
        let mut ends = parallel::map_chunks(keep.len(), GRAIN, &|range| count(&keep[range]));
        let mut total = 0;
        for end in &mut ends {
            total += *end;
            *end = total;
        }
        Kept { keep, ends }
    }

    pub(crate) fn len(&self) -> usize {
        self.ends.last().copied().unwrap_or(0)
    }

    /// The kept rows of `row` bytes; `out` has just room for them.
    pub(crate) fn copy(&self, source: &[u8], row: usize, out: &mut [u8]) {
        let ends: Vec<usize> = self.ends.iter().map(|e| e * row).collect();
        parallel::for_pieces_mut(out, &ends, &|chunk, out| {
            let range = chunk * GRAIN..((chunk + 1) * GRAIN).min(self.keep.len());
            gather::keep_rows(&self.keep[range.clone()], &source[range.start * row..range.end * row], row, out);
        });
    }

    /// Those of the kept rows.
    pub(crate) fn indices(&self, of: &Indices) -> Indices {
        fn typed<I: Index>(kept: &Kept<'_>, source: &[I]) -> Indices {
            let mut out = Scratch::<I>::any(kept.len());
            kept.copy(bytemuck::cast_slice(source), size_of::<I>(), bytemuck::cast_slice_mut(&mut out));
            out.into()
        }
        with_index!(of.as_slice(), s => typed(self, s))
    }
}

fn count(keep: &[bool]) -> usize {
    // By bytes in short runs, which vectorises.
    keep.chunks(255).map(|run| usize::from(run.iter().map(|&k| u8::from(k)).sum::<u8>())).sum()
}

/// The pattern with the positions that `kept` marks, in the same order and the same kinds of levels; nodes under which
/// nothing is left go, but under dense levels. `None` if it has a level of exactly one coordinate per parent.
///
/// Cost: O(positions + pointers).
pub(crate) fn retain(p: &Pattern, kept: &Kept<'_>) -> Option<Pattern> {
    debug_assert_eq!(p.positions, kept.keep.len());
    if p.levels.iter().any(|l| l.kind().freed() != l.kind()) {
        return None;
    }
    let left = nodes_left(p, kept.keep)?;
    let mut levels = Vec::with_capacity(p.levels.len());
    for (l, level) in p.levels.iter().enumerate() {
        let Level::Sparse { pointers, indices, ordered, unique } = level else {
            levels.push(level.clone());
            continue;
        };
        let own: &[bool] = if l + 1 == p.levels.len() {
            kept.keep
        } else {
            let Left::Marked(own) = &left[l + 1] else { return None };
            own
        };
        let chosen = if l + 1 == p.levels.len() { None } else { Some(Kept::new(own)) };
        let chosen = chosen.as_ref().unwrap_or(kept);
        let pointers = pointers
            .as_ref()
            .map(|pointers| with_index!(pointers.as_slice(), p => pointers_left(p, own, &left[l])).into());
        let indices = indices.mapped(|i| chosen.indices(i));
        levels.push(Level::Sparse { pointers, indices, ordered: *ordered, unique: *unique });
    }
    Some(Pattern { levels, dims: p.dims.clone(), level_dims: p.level_dims, positions: kept.len() })
}

/// For the root and the nodes of every level: which are left.
fn nodes_left(p: &Pattern, keep: &[bool]) -> Option<Vec<Left>> {
    let n = p.levels.len();
    let dense_to = p.levels.iter().take_while(|l| l.kind() == LevelKind::Dense).count();
    let mut left = vec![Left::All; n + 1];
    // From below: a node is left if anything under it is.
    let mut own = keep.to_vec();
    for l in (dense_to + 1..n).rev() {
        let above = match &p.levels[l] {
            Level::Dense => {
                let size = p.dims[p.first_dims()[l]].size;
                own.chunks(size.max(1)).map(|under| under.contains(&true)).collect()
            }
            Level::Sparse { pointers, .. } => {
                with_index!(pointers.as_ref()?.as_slice(), p => {
                    let base = p[0].get();
                    p.windows(2).map(|s| own[s[0].get() - base..s[1].get() - base].contains(&true)).collect()
                })
            }
            _ => return None,
        };
        left[l + 1] = Left::Marked(std::mem::replace(&mut own, above));
    }
    if dense_to < n {
        left[dense_to + 1] = Left::Marked(own);
    }
    // From above: under a node that is left, a dense level is whole.
    for l in dense_to..n {
        if let (Level::Dense, Left::Marked(above)) = (&p.levels[l], &left[l]) {
            let size = p.dims[p.first_dims()[l]].size;
            left[l + 1] = Left::Marked(repeated(above.iter().map(|&a| (a, size))));
        }
    }
    Some(left)
}

/// Pointers to what is left under the parents that are.
fn pointers_left<I: Index>(pointers: &[I], own: &[bool], parents: &Left) -> IndexVec {
    let base = pointers[0].get();
    let segments = pointers.len() - 1;
    let mut counts = Scratch::<I>::any(segments);
    parallel::for_chunks_mut(&mut counts, 1, GRAIN / 8, &|first, out| {
        for (i, count_of) in out.iter_mut().enumerate() {
            let segment = pointers[first + i].get() - base..pointers[first + i + 1].get() - base;
            *count_of = I::new(count(&own[segment]));
        }
    });
    let mut out = Vec::with_capacity(segments + 1);
    let mut total = 0;
    out.push(I::default());
    for (parent, count) in counts.iter().enumerate() {
        if let Left::Marked(parents) = parents
            && !parents[parent]
        {
            continue;
        }
        total += count.get();
        out.push(I::new(total));
    }
    I::vec(out)
}
