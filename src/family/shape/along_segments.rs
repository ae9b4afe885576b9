//! Elements chosen of the axis that the last level holds, compressed under dense ones: columns of CSR, rows of CSC.

use std::borrow::Cow;

use openwork_ops::structure::Index;
use openwork_ops::structure::choose::Places;
use openwork_ops::with_index;

use super::along::{Along, fits};
use crate::base::error::Result;
use crate::base::pages::Scratch;
use crate::base::parallel;
use crate::base::strided::Strided;
use crate::engine::convert;
use crate::levels::counted::{self, Counted};
use crate::levels::indices::{Indices, needs_64_bits};
use crate::levels::level::{Level, LevelKind};
use crate::levels::pattern::{Dim, Part, Pattern};
use crate::tensor::Sparse;

/// The chosen elements, if the axis lies so, and a table over it is not large beside what is stored. `dims` are those of
/// the result. The tensor is canonical.
///
/// Cost: O(nse + result), and a sort of each segment where the order changes.
pub(super) fn chosen(s: &Sparse, axis: usize, choice: &Along<'_>, dims: &[Dim]) -> Result<Option<(Pattern, Strided)>> {
    let p = &s.pattern;
    let Some((Level::Sparse { pointers: Some(pointers), indices, .. }, above)) = p.levels.split_last() else {
        return Ok(None);
    };
    let own = dims.get(p.level_dims - 1).is_some_and(|d| (d.axis, d.part) == (axis, Part::Whole));
    let n = s.shape[axis];
    let [indices] = &indices[..] else { return Ok(None) };
    if !own || above.iter().any(|l| l.kind() != LevelKind::Dense) || n / 4 > p.positions {
        return Ok(None);
    }
    let list = match choice {
        Along::List(list) => Cow::Borrowed(*list),
        Along::Repeat { .. } => return Ok(None), // of any length
        _ => Cow::Owned((0..choice.len()).map(|i| choice.source(i) as u64).collect()),
    };
    let sizes = || dims[..p.level_dims].iter().map(|d| d.size);
    if needs_64_bits(0, sizes()) && !p.is_wide() {
        return Ok(None); // all arrays are of one width
    }
    let found = with_index!(pointers.as_slice(), p => {
        typed(p, indices.typed(), &Places::new(n, &list), &|total| {
            fits(&s.shape, Some(total))?;
            Ok(s.pattern.is_wide() || !needs_64_bits(total, sizes()))
        })?
    });
    let Some((level, from)) = found else { return Ok(None) };
    let positions = from.len();
    let levels = above.iter().cloned().chain([level]).collect();
    let pattern = Pattern { levels, dims: dims.to_vec(), level_dims: p.level_dims, positions };
    Ok(Some((pattern, convert::gather_at(&s.values, from.as_slice())?)))
}

/// The level of what is chosen, and which stored element each of it is; `None` if `may` there not be so many.
fn typed<I: Index>(
    pointers: &[I],
    indices: &[I],
    places: &Places<I>,
    may: &dyn Fn(usize) -> Result<bool>,
) -> Result<Option<(Level, Indices)>> {
    let base = pointers[0].get();
    let cuts = counted::cuts(pointers);
    let counted = Counted::<I>::new(&cuts, &|segments, ends| {
        places.count(&pointers[segments.start..=segments.end], base, indices, ends)
    });
    let total = counted.total();
    if !may(total)? {
        return Ok(None);
    }
    let (mut to, mut from) = (Scratch::<I>::any(total), Scratch::<I>::any(total));
    let (mut rest, mut rest_from, mut items) = (&mut to[..], &mut from[..], Vec::with_capacity(cuts.len()));
    let mut first = 0;
    for (&cut, begins) in cuts.iter().zip(counted.begins.windows(2)) {
        let (own, others) = rest.split_at_mut(begins[1] - begins[0]);
        let (own_from, others_from) = rest_from.split_at_mut(own.len());
        items.push((first..cut + 1, own, own_from));
        (rest, rest_from, first) = (others, others_from, cut);
    }
    parallel::for_each(items, &|_, (range, to, from)| places.put(&pointers[range], base, indices, to, from));
    let pointers = Some(counted.pointers().into());
    let level = Level::Sparse { pointers, indices: vec![to.into()], ordered: true, unique: true };
    Ok(Some((level, from.into())))
}
