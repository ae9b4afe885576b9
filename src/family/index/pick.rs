//! Elements at listed places of several axes at once.

use crate::base::mapped::{Chosen, Mapped, sort_short, sums};
use std::borrow::Cow;
use std::sync::Arc;

use openwork_ops::structure::keys::KeyLayout;
use openwork_ops::structure::{Index, gather};
use openwork_ops::with_index;

use super::prefix::Prefix;
use crate::base::buffer::Buffer;
use crate::base::error::Result;
use crate::base::parallel::{self, GRAIN};
use crate::base::strided::{Strided, dense_len};
use crate::engine::convert;
use crate::family::shape::along::{self, Places};
use crate::family::shape::triangle::in_levels;
use crate::levels::level::{Level, LevelKind};
use crate::levels::pattern::{Dim, Part, Pattern};
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
    let mut places = vec![core.offset as u64; if varies { n } else { 1 }];
    parallel::for_chunks_mut(&mut places, 1, GRAIN, &|start, places| {
        for (&a, list) in axes.iter().zip(lists).filter(|(a, _)| core.shape[**a] > 1) {
            let step = core.strides[a] as u64;
            let add = |(place, &c): (&mut u64, &u64)| *place = place.wrapping_add(step.wrapping_mul(c));
            places.iter_mut().zip(&list[start..]).for_each(add);
        }
    });
    let (before, after) = (offsets(&rest[..at]), offsets(&rest[at..]));
    let mut shape: Vec<usize> = rest.mapped(|&a| core.shape[a]);
    shape.insert(at, places.len());
    let (n, size) = (dense_len(&shape, x.dtype)?, x.dtype.size());
    let source = core.buffer.bytes();
    let width = after.len() * size;
    let lie_together = after.iter().zip(0..).all(|(&offset, i)| offset == i);
    let buffer = Buffer::filled(n * size, size, |out| {
        parallel::for_chunks_mut(out, width, (GRAIN / after.len()).max(1), &|first, mut out| {
            let (mut at, mut own) = (first, Vec::new());
            while !out.is_empty() {
                // Up to the end of the places, of one of the parts that lie before each other.
                let (part, i) = (at / places.len(), at % places.len());
                let here = &places[i..places.len().min(i + out.len() / width)];
                let rows;
                (rows, out) = std::mem::take(&mut out).split_at_mut(here.len() * width);
                at += here.len();
                let begins = here.iter().map(|place| place.wrapping_add(before[part]));
                if let (1, 0) = (after.len(), before[part]) {
                    gather::gather_offsets(source, size, here, rows);
                } else if after.len() == 1 {
                    own.clear();
                    own.extend(begins);
                    gather::gather_offsets(source, size, &own, rows);
                } else if lie_together {
                    for (row, start) in rows.chunks_exact_mut(width).zip(begins) {
                        row.copy_from_slice(&source[start as usize * size..][..width]);
                    }
                } else {
                    for (row, start) in rows.chunks_exact_mut(width).zip(begins) {
                        own.clear();
                        own.extend(after.iter().map(|offset| offset.wrapping_add(start)));
                        gather::gather_offsets(source, size, &own, row);
                    }
                }
            }
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
    let (from, to) = match Prefix::new(&s, axes, lists) {
        Some(prefix) => prefix.matches(&shape, n)?,
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
        let stored = forms(&s.pattern, &weights, &from);
        stored.iter().zip(&to).map(|(form, &i)| form.wrapping_add(step.wrapping_mul(i))).collect()
    });
    let words: Vec<Vec<u64>> = words.collect();
    dims.extend(s.pattern.value_dims().iter().map(renamed));
    let kinds = vec![LevelKind::Sparse { rank: level_dims }];
    let (pattern, order) = along::rebuild(kinds, dims, &layout, words, from)?;
    let values = convert::gather_values(&s.values, &order)?;
    Ok(Sparse { shape: shape.into(), pattern: Arc::new(pattern), values, fill })
}

/// A linear form of the coordinates of some positions; the weights are those of the levels' dimensions.
fn forms(p: &Pattern, weights: &[u64], from: &[u64]) -> Vec<u64> {
    let [Level::Sparse { pointers: None, indices, .. }] = &p.levels[..] else {
        let all = p.linearize_all(weights);
        return from.mapped(|&p| all[p as usize]);
    };
    let mut out = vec![0u64; from.len()];
    for (column, &weight) in indices.iter().zip(weights).filter(|(_, weight)| **weight != 0) {
        with_index!(column.as_slice(), column => {
            let add = |(o, &p): (&mut u64, &u64)| *o = o.wrapping_add(weight.wrapping_mul(column[p as usize].get() as u64));
            out.iter_mut().zip(from).for_each(add);
        });
    }
    out
}

/// Whether rows of coordinates are so few that each is looked up.
pub(super) fn is_few(x: &Tensor, axis: usize, n: usize) -> bool {
    let Some(s) = x.sparse() else { return false };
    let is_plain = matches!(&s.pattern.levels[..], [Level::Sparse { pointers: None, .. }]);
    let is_first = s.pattern.dims.first().is_some_and(|d| (d.axis, d.part) == (axis, Part::Whole));
    is_plain && is_first && s.pattern.is_canonical() && (1..s.pattern.positions / MANY).contains(&n)
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
