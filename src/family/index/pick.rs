//! Elements at listed places of several axes at once.

use crate::base::mapped::{Chosen, Mapped, sort_short, sums};
use std::sync::Arc;

use openwork_ops::structure::keys::KeyLayout;
use openwork_ops::structure::{Index, gather};
use openwork_ops::{DType, with_index};

use crate::base::buffer::Buffer;
use crate::base::error::Result;
use crate::base::parallel;
use crate::base::strided::{Strided, count, dense_len};
use crate::engine::convert;
use crate::family::shape::along::{self, Places};
use crate::family::shape::triangle::in_levels;
use crate::levels::level::LevelKind;
use crate::levels::pattern::Dim;
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
        parallel::for_chunks_mut(out, size, parallel::GRAIN, &|start, out| {
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
    let (from, to) = matches(&s, axes, lists)?;
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
        let stored = s.pattern.linearize_all(&own.mapped(weight));
        let step = picked.filter(|f| f.word == w).map_or(0, |f| f.weight());
        from.iter().zip(&to).map(|(&p, &i)| stored[p as usize].wrapping_add(step.wrapping_mul(i))).collect()
    });
    let words: Vec<Vec<u64>> = words.collect();
    dims.extend(s.pattern.value_dims().iter().map(renamed));
    let kinds = vec![LevelKind::Sparse { rank: level_dims }];
    let (pattern, order) = along::rebuild(kinds, dims, &layout, words, from)?;
    let values = convert::gather_values(&s.values, &order)?;
    Ok(Sparse { shape: shape.into(), pattern: Arc::new(pattern), values, fill })
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
