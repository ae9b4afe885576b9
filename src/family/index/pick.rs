//! Elements at listed places of several axes at once.

use crate::base::mapped::{Chosen, Mapped, sort_short, sums};
use std::borrow::Cow;
use std::sync::Arc;

use openwork_ops::structure::keys::KeyLayout;
use openwork_ops::structure::{Index, gather, search};
use openwork_ops::{DType, with_index};

use crate::base::buffer::Buffer;
use crate::base::error::Result;
use crate::base::faults::{self, Fault};
use crate::base::parallel::{self, GRAIN};
use crate::base::strided::{Strided, count, dense_len};
use crate::base::trace::{Work, raise};
use crate::engine::convert;
use crate::family::shape::along::{self, Places};
use crate::family::shape::triangle::in_levels;
use crate::levels::level::{Level, LevelKind};
use crate::levels::pattern::{Dim, Part};
use crate::levels::sort;
use crate::tensor::{Sparse, Storage, Tensor};

/// The tensor without `axes`, and with a new axis before the axis `at` of those that are left: its element `i` is what
/// stands at `lists[..][i]` along `axes`.
pub(super) fn pick(x: &Tensor, axes: &[usize], lists: &[&[u64]], at: usize) -> Result<Tensor> {
    match &x.storage {
        Storage::Strided(s) => {
            let shape = picked_shape(&s.shape, axes, lists[0].len(), at);
            dense_len(&shape, s.dtype)?;
            Ok(Tensor::from_strided(strided(s, axes, lists, at)?))
        }
        Storage::Sparse(s) => Ok(sparse(s, axes, lists, at)?.into()),
    }
}

fn picked_shape(shape: &[usize], axes: &[usize], n: usize, at: usize) -> Vec<usize> {
    let mut out: Vec<usize> = (0..shape.len()).filter(|a| !axes.contains(a)).map(|a| shape[a]).collect();
    out.insert(at, n);
    out
}

/// Axes along which the array does not vary stay so.
fn strided(x: &Strided, axes: &[usize], lists: &[&[u64]], at: usize) -> Result<Strided> {
    let n = lists[0].len();
    let full = picked_shape(&x.shape, axes, n, at);
    if full.contains(&0) {
        return Ok(Strided::new(Buffer::empty(), x.dtype, full));
    }
    let core = x.unbroadcast();
    let varies = axes.iter().any(|&a| core.shape[a] > 1);
    let rest: Vec<usize> = (0..x.ndim()).chosen(|a| !axes.contains(a));
    // Offsets of all elements along some axes.
    let offsets = |axes: &[usize]| {
        axes.iter().fold(vec![0u64], |all, &a| {
            let step = |i: usize| (core.strides[a] as u64).wrapping_mul(i as u64);
            sums(&all, &(0..core.shape[a]).mapped(step))
        })
    };
    let place = |i: usize| {
        let along = |(&a, list): (&usize, &&[u64])| {
            if core.shape[a] == 1 { 0 } else { (core.strides[a] as u64).wrapping_mul(list[i]) }
        };
        axes.iter().zip(lists).map(along).fold(core.offset as u64, u64::wrapping_add)
    };
    let places: Vec<u64> = (0..if varies { n } else { 1 }).map(place).collect();
    let (before, after) = (offsets(&rest[..at]), offsets(&rest[at..]));
    let n = dense_len(&[before.len(), places.len(), after.len()], DType::U64)?;
    let mut all = Vec::with_capacity(n);
    for b in &before {
        for p in &places {
            all.extend(after.iter().map(|a| a.wrapping_add(*p).wrapping_add(*b)));
        }
    }
    let mut shape: Vec<usize> = rest.mapped(|&a| core.shape[a]);
    shape.insert(at, places.len());
    let size = x.dtype.size();
    let source = core.buffer.bytes();
    let buffer = Buffer::filled(count(&shape) * size, size, |out| {
        parallel::for_chunks_mut(out, size, GRAIN, &|start, out| {
            gather::gather_offsets(source, size, &all[start..start + out.len() / size], out);
        });
    })?;
    Ok(Strided::new(buffer, x.dtype, shape).broadcast(&full))
}

fn sparse(s: &Sparse, axes: &[usize], lists: &[&[u64]], at: usize) -> Result<Sparse> {
    let n = lists[0].len();
    let shape = picked_shape(&s.shape, axes, n, at);
    let fill = along::map_fill(s, &shape, |values| strided(values, axes, lists, at))?;
    let s = in_levels(s, axes)?;
    let s = in_rows(s, axes, n)?;
    let (from, to) = match found(&s, axes, lists)? {
        Some(found) => found,
        None => matches(&s, axes, lists)?,
    };
    // Axes that are left, numbered as in the result; coordinates in C order.
    let rest: Vec<usize> = (0..s.ndim()).chosen(|a| !axes.contains(a));
    let number = |axis: usize| {
        let i = rest.iter().position(|&r| r == axis).unwrap_or(0);
        i + usize::from(i >= at)
    };
    let renamed = |d: &Dim| Dim { axis: number(d.axis), ..*d };
    let own: Vec<Option<Dim>> = s.pattern.level_dims().mapped(|d| (!axes.contains(&d.axis)).then(|| renamed(d)));
    let mut dims: Vec<Dim> = own.iter().flatten().copied().collect();
    dims.push(Dim::whole(at, n));
    sort_short(&mut dims, |d| d.axis);
    let level_dims = dims.len();
    let layout = KeyLayout::new(&dims.mapped(|d| d.size));
    let field = |d: &Dim| dims.iter().position(|o| o == d).map(|i| layout.fields[i]);
    let picked = field(&Dim::whole(at, n));
    let words = (0..layout.word_bits.len()).map(|w| {
        let weight = |d: &Option<Dim>| match d.as_ref().and_then(field) {
            Some(f) if f.word == w => f.weight(),
            _ => 0,
        };
        let weights = own.mapped(weight);
        let step = picked.filter(|f| f.word == w).map_or(0, |f| f.weight());
        if weights.iter().all(|&weight| weight == 0) {
            return to.iter().map(|&i| step.wrapping_mul(i)).collect();
        }
        let stored = s.pattern.linearize_all(&weights);
        from.iter().zip(&to).map(|(&p, &i)| stored[p as usize].wrapping_add(step.wrapping_mul(i))).collect()
    });
    let words: Vec<Vec<u64>> = words.collect();
    dims.extend(s.pattern.value_dims().iter().map(renamed));
    let kinds = vec![LevelKind::Sparse { rank: level_dims }];
    let (pattern, order) = along::rebuild(kinds, dims, &layout, words, from)?;
    let values = convert::gather_values(&s.values, &order)?;
    Ok(Sparse { shape: shape.into(), pattern: Arc::new(pattern), values, fill })
}

/// Stored elements for each listed tuple, up to which pointers over rows, which take a pass over all of them, make up for what is saved
/// in searches.
const MANY: usize = 32;

/// Coordinates by compressed rows, where many of them are looked up.
fn in_rows<'a>(s: Cow<'a, Sparse>, axes: &[usize], n: usize) -> Result<Cow<'a, Sparse>> {
    let is_listed = s.pattern.level_dims().iter().all(|d| axes.contains(&d.axis));
    match is_listed && s.pattern.positions / MANY <= n {
        true => Ok(convert::by_rows(&s)?.map_or(s, Cow::Owned)),
        false => Ok(s),
    }
}

/// What [`matches`] finds, by searches: of tuples over the axes that come first in storage, above a last level that lists coordinates in
/// order. By places, and for each of them by positions. `None` of others.
fn found(s: &Sparse, axes: &[usize], lists: &[&[u64]]) -> Result<Option<(Vec<u64>, Vec<u64>)>> {
    let p = &*s.pattern;
    let Some((Level::Sparse { pointers, indices, .. }, above)) = p.levels.split_last() else { return Ok(None) };
    let (dense, listed) = p.level_dims().split_at(above.len());
    let is_plain = above.iter().all(|level| matches!(level, Level::Dense)) && p.is_canonical();
    let are_first = p.level_dims().iter().take(axes.len()).all(|d| axes.contains(&d.axis) && d.part == Part::Whole);
    if !is_plain || !are_first || axes.len() > p.level_dims || listed.len() != indices.len() {
        return Ok(None);
    }
    raise(Work::Specialised);
    let list = |d: &Dim| axes.iter().position(|&a| a == d.axis).map(|i| lists[i]);
    // Segments of a place, of which there are several where dense axes are left: so many beneath each prefix.
    let of_prefix: Vec<(&[u64], usize)> = dense.iter().filter_map(|d| Some((list(d)?, d.size))).collect();
    let beneath = count(&dense[of_prefix.len()..].mapped(|d| d.size));
    let pieces = parallel::map_chunks(lists[0].len(), GRAIN / 8, &|places| {
        let mut starts: Vec<usize> = vec![0; places.len()];
        for (list, size) in &of_prefix {
            starts.iter_mut().zip(&list[places.clone()]).for_each(|(start, &c)| *start = *start * size + c as usize);
        }
        let mut ends: Vec<usize> = starts.mapped(|&start| (start + 1) * beneath);
        starts.iter_mut().for_each(|start| *start *= beneath);
        if let Some(pointers) = pointers {
            with_index!(pointers.as_slice(), pointers => {
                let base = pointers[0].get();
                starts.iter_mut().chain(&mut ends).for_each(|end| *end = pointers[*end].get() - base);
            });
        } else {
            ends.fill(p.positions);
        }
        for (column, d) in indices.iter().zip(listed) {
            let Some(list) = list(d) else { break };
            let own = &list[places.clone()];
            with_index!(column.as_slice(), column => {
                search::first_not_below(column, &mut starts, &ends, own);
                let mut after = starts.clone();
                let is_there = |at: usize, c: u64| column[at].get() as u64 == c || faults::is(Fault::SearchedBeside);
                if d == &p.level_dims()[p.level_dims - 1] {
                    // No tuple is there twice.
                    after.iter_mut().zip(&ends).zip(own).for_each(|((at, &end), &c)| *at += usize::from(*at < end && is_there(*at, c)));
                } else {
                    let next: Vec<u64> = own.iter().map(|c| c + 1).collect();
                    search::first_not_below(column, &mut after, &ends, &next);
                }
                ends = after;
            });
        }
        (places, starts, ends)
    });
    let all = || pieces.iter().flat_map(|(places, starts, ends)| places.clone().zip(starts.iter().zip(ends)));
    let total = all().try_fold(0usize, |n, (_, (start, end))| n.checked_add(end - start));
    let total = along::fits(&s.shape, total)?;
    let (mut from, mut to) = (Vec::with_capacity(total), Vec::with_capacity(total));
    for (place, (&start, &end)) in all() {
        from.extend(start as u64..end as u64);
        to.extend(std::iter::repeat_n(place as u64, end - start));
    }
    Ok(Some((from, to)))
}

/// Stored positions and the places of the lists that name their coordinates: (position, place).
fn matches(s: &Sparse, axes: &[usize], lists: &[&[u64]]) -> Result<(Vec<u64>, Vec<u64>)> {
    let form = |weights: &[u64]| s.pattern.linearize_all(&s.pattern.level_weights(weights));
    let tuples = Tuples::new(&s.shape, axes, lists, s.pattern.positions, &form);
    let (mut from, mut to) = (Vec::new(), Vec::new());
    for p in 0..s.pattern.positions {
        let places = tuples.places(p);
        from.extend(std::iter::repeat_n(p as u64, places.len()));
        to.extend_from_slice(places);
        along::fits(&s.shape, Some(from.len()))?;
    }
    Ok((from, to))
}

/// Listed tuples of coordinates, to be looked up by those of what is stored.
pub(super) struct Tuples {
    /// Keys over the listed axes of what is stored.
    stored: Vec<Vec<u64>>,
    lookup: Lookup,
}

enum Lookup {
    /// Keys of one word.
    Word(Places),
    /// Keys of several words, sorted, and the places they had.
    Words { words: Vec<Vec<u64>>, places: Vec<u64> },
}

impl Tuples {
    /// The tuples that stand side by side in the lists, one list for each of the axes, and the `n` elements of which
    /// `form` gives linear forms over the axes of `shape`.
    pub(super) fn new(
        shape: &[usize],
        axes: &[usize],
        lists: &[&[u64]],
        n: usize,
        form: &dyn Fn(&[u64]) -> Vec<u64>,
    ) -> Tuples {
        let layout = KeyLayout::new(&axes.mapped(|&a| shape[a]));
        let words = layout.word_bits.len();
        let (mut stored, mut listed) = (Vec::with_capacity(words), Vec::with_capacity(words));
        for w in 0..words {
            let mut weights = vec![0u64; shape.len()];
            let mut own = vec![0u64; lists[0].len()];
            for ((&a, f), list) in axes.iter().zip(&layout.fields).zip(lists).filter(|((_, f), _)| f.word == w) {
                weights[a] = f.weight();
                own.iter_mut().zip(*list).for_each(|(o, &c)| *o = o.wrapping_add(f.weight().wrapping_mul(c)));
            }
            stored.push(form(&weights));
            listed.push(own);
        }
        let lookup = if let [listed] = &listed[..] {
            let bits = layout.word_bits[0];
            let below = if bits >= usize::BITS { usize::MAX } else { 1 << bits };
            Lookup::Word(Places::new(below, listed, n))
        } else {
            let sorted = sort::sort_keys(&layout, listed);
            let places = with_index!(sorted.order.as_slice(), o => o.iter().map(|i| i.get() as u64).collect());
            Lookup::Words { words: sorted.words, places }
        };
        Tuples { stored, lookup }
    }

    /// The places at which the lists name what is stored at `p`.
    pub(super) fn places(&self, p: usize) -> &[u64] {
        match &self.lookup {
            Lookup::Word(places) => places.of(self.stored[0][p]),
            Lookup::Words { words, places } => {
                let key = || self.stored.iter().map(|w| w[p]);
                let compare = |i: usize| words.iter().map(|w| w[i]).cmp(key());
                let first = |from: usize, before: &dyn Fn(std::cmp::Ordering) -> bool| {
                    let (mut low, mut high) = (from, places.len());
                    while low < high {
                        let middle = low.midpoint(high);
                        if before(compare(middle)) { low = middle + 1 } else { high = middle }
                    }
                    low
                };
                let start = first(0, &|o| o.is_lt());
                &places[start..first(start, &|o| o.is_eq())]
            }
        }
    }
}
