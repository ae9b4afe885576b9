//! Ops that change shape and move no value, or as few as the layout allows; and, in files of their own, those that
//! choose, join and move elements.

mod arrays;
mod axes;
mod beside;
mod moves;
mod pad;
pub(crate) mod window;
mod runs;
pub(crate) mod triangle;
mod complex;
mod outer;
pub(crate) mod join;
mod reshape;
pub(crate) mod along;
mod along_segments;
mod groups;
mod held;

use crate::base::mapped::{Chosen, Mapped, sort_short};
use std::sync::Arc;

use openwork_ops::structure::keys::KeyLayout;
use openwork_ops::structure::{IndexVec, keys};

use crate::base::error::{self, Result};
use crate::base::strided::Strided;
use crate::engine::convert;
use crate::levels::build::{self, SortedKeys};
use crate::levels::level::{Level, LevelKind};
use crate::levels::pattern::{Dim, Part, Pattern};
use crate::tensor::Sparse;
use crate::tensor::fill::{Fill, fill_of};

pub use pad::Pad;

/// Number of elements; `None` from 2^128 on.
fn product(shape: &[usize]) -> Option<u128> {
    if shape.contains(&0) {
        return Some(0);
    }
    shape.iter().try_fold(1u128, |n, &s| n.checked_mul(s as u128))
}

fn map_fill(fill: &Fill, f: impl Fn(&Strided) -> Strided) -> Fill {
    match fill {
        Fill::Array(values) => match values.strided() {
            Some(values) => fill_of(&f(values)),
            None => fill.clone(),
        },
        other => other.clone(),
    }
}

/// Drops axes of size 1 that no index array holds.
fn squeeze_free(s: &Sparse, kept: &[usize]) -> Option<Sparse> {
    let dropped = |d: &Dim| !kept.contains(&d.axis);
    let mut levels = Vec::new();
    let mut first = 0;
    for level in &s.pattern.levels {
        let rank = level.kind().rank();
        let any = s.pattern.dims[first..first + rank].iter().any(dropped);
        first += rank;
        match level {
            Level::Dense if any => {}
            _ if any => return None,
            level => levels.push(level.clone()),
        }
    }
    if s.pattern.dims.iter().any(|d| dropped(d) && d.part != Part::Whole) || levels.is_empty() {
        return None;
    }
    // A dense root that goes leaves pointers with one segment at the root, which may stay.
    let keep_dim: Vec<usize> = (0..s.pattern.dims.len()).chosen(|&i| !dropped(&s.pattern.dims[i]));
    let level_dims = keep_dim.iter().filter(|&&i| i < s.pattern.level_dims).count();
    let to = |axis: usize| kept.iter().position(|&a| a == axis).unwrap_or(axis);
    let dims = keep_dim.iter().map(|&i| s.pattern.dims[i]).map(|d| Dim { axis: to(d.axis), ..d }).collect();
    let axes: Vec<usize> = [0]
        .into_iter()
        .chain(keep_dim.iter().filter(|&&i| i >= s.pattern.level_dims).map(|i| i - s.pattern.level_dims + 1))
        .collect();
    Some(Sparse {
        shape: kept.iter().map(|&a| s.shape[a]).collect(),
        pattern: Arc::new(Pattern { levels, dims, level_dims, positions: s.pattern.positions }),
        values: s.values.permute(&axes),
        fill: map_fill(&s.fill, |values| values.permute(kept)),
    })
}

/// Drops axes of size 1 that index arrays hold: the other coordinates are left, in C order.
fn squeeze_levels(s: &Sparse, kept: &[usize]) -> Result<Sparse> {
    let dropped: Vec<usize> = (0..s.ndim()).chosen(|a| !kept.contains(a));
    let s = along::whole(s, &dropped)?;
    let p = &s.pattern;
    let is_kept = |d: &&Dim| kept.contains(&d.axis);
    let to = |d: &Dim| Dim { axis: kept.iter().position(|&a| a == d.axis).unwrap_or(d.axis), ..*d };
    let mut own: Vec<Dim> = p.level_dims().iter().filter(is_kept).copied().collect();
    sort_short(&mut own, |d| (d.axis, matches!(d.part, Part::Mod(_))));
    let layout = KeyLayout::new(&own.mapped(|d| d.size));
    let word = |w: usize| {
        let weight = |d: &Dim| match own.iter().position(|o| o == d) {
            Some(i) if layout.fields[i].word == w => layout.fields[i].weight(),
            _ => 0,
        };
        p.linearize_all(&p.level_dims().mapped(weight))
    };
    let words = (0..layout.word_bits.len()).mapped(word);
    let value_axes = p.value_dims().iter().enumerate().filter(|(_, d)| is_kept(d)).map(|(i, _)| i + 1);
    let values = s.values.permute(&[0].into_iter().chain(value_axes).collect::<Vec<_>>());
    let kinds = vec![LevelKind::Sparse { rank: own.len() }];
    let dims = own.iter().chain(p.value_dims().iter().filter(is_kept)).map(to).collect();
    let from = (0..p.positions as u64).collect();
    let (pattern, order) = along::rebuild(kinds, dims, &layout, words, from)?;
    Ok(Sparse {
        shape: kept.iter().map(|&a| s.shape[a]).collect(),
        pattern: Arc::new(pattern),
        values: convert::gather_values(&values, &order)?,
        fill: map_fill(&s.fill, |values| values.permute(kept)),
    })
}

pub(crate) fn coo_dims(shape: &[usize]) -> Vec<Dim> {
    shape.iter().enumerate().map(|(a, &n)| Dim::whole(a, n)).collect()
}

/// Flattens to plain coordinates, one position per element, in C order.
pub(crate) fn to_coo(s: &Sparse) -> Result<Sparse> {
    convert::convert(s, &crate::levels::layout::LevelSpec::of_layout(crate::levels::layout::Layout::Coo, &s.shape)?)
}

fn broadcast_sparse(s: &Sparse, shape: &[usize]) -> Result<Sparse> {
    let s = to_coo(s)?;
    let lead = shape.len() - s.ndim();
    let repeats = |a: usize| a < lead || (s.shape[a - lead] == 1 && shape[a] != 1);
    let background = s.fill_values();
    let fill = match &background {
        None => Fill::Undefined,
        Some(values) => fill_of(&values.broadcast(shape)),
    };
    // What stores nothing is repeated as it is, however often.
    let stores = s.pattern.positions > 0;
    let copies = (0..shape.len()).filter(|&a| stores && repeats(a)).try_fold(1usize, |n, a| n.checked_mul(shape[a]));
    let n = copies
        .and_then(|c| c.checked_mul(s.pattern.positions))
        .filter(|&n| crate::base::buffer::Buffer::is_possible(n.saturating_mul(24)));
    let (Some(copies), Some(n)) = (copies, n) else {
        let why = format!("{} stored elements repeated that often do not fit in memory", s.pattern.positions);
        return Err(error::shape(&[&s.shape, shape], why));
    };
    let layout = KeyLayout::new(shape);
    // Keys of the stored tuples, and of the copies: a sum of fields.
    let mut words = vec![Vec::with_capacity(n); layout.word_bits.len()];
    let mut order = Vec::with_capacity(n);
    let stored: Vec<Vec<u64>> = (0..words.len())
        .map(|w| {
            let weight =
                |a: usize| if layout.fields[a].word == w && !repeats(a) { layout.fields[a].weight() } else { 0 };
            s.pattern.linearize_all(&(lead..shape.len()).mapped(weight))
        })
        .collect();
    let mut index = vec![0usize; shape.len()];
    for _ in 0..copies {
        for (w, word) in words.iter_mut().enumerate() {
            let base: u64 = (0..shape.len())
                .filter(|&a| repeats(a) && layout.fields[a].word == w)
                .map(|a| index[a] as u64 * layout.fields[a].weight())
                .sum();
            word.extend(stored[w].iter().map(|k| k + base));
        }
        order.extend(0..s.pattern.positions as u64);
        for a in (0..shape.len()).rev().filter(|&a| repeats(a)) {
            index[a] += 1;
            if index[a] < shape[a] {
                break;
            }
            index[a] = 0;
        }
    }
    let mut order = IndexVec::U64(order);
    if keys::order_of(&words) == keys::Order::Unsorted {
        let sorted = crate::levels::sort::sort_keys(&layout, words);
        words = sorted.words;
        let IndexVec::U64(from) = &order else { return Err(error::layout("copies are 64-bit")) };
        let moved = (0..n).map(|i| from[sorted.order.as_slice().get(i)]).collect();
        order = IndexVec::U64(moved);
    }
    let keys = SortedKeys::new(&layout, &words);
    let pattern = build::build(&[LevelKind::Sparse { rank: shape.len() }], coo_dims(shape), &keys)?;
    let values = convert::gather_values(&s.values, &order)?;
    Ok(Sparse { shape: shape.into(), pattern: Arc::new(pattern), values, fill })
}
