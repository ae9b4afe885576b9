//! Values put at places of a sparse tensor, each named on its own.

use crate::base::mapped::{Chosen, Mapped};
use std::sync::Arc;

use openwork_ops::structure::gather::{gather_offsets, scatter_offsets};
use openwork_ops::structure::keys::KeyLayout;
use openwork_ops::structure::merge::Keep;
use openwork_ops::structure::{Index as Width, IndexVec};
use openwork_ops::{BinaryOp, DType, ReduceOp, Scalar, identity, with_index};

use super::put::Given;
use crate::base::buffer::Buffer;
use crate::base::error::{self, Result};
use crate::base::strided::{Strided, c_strides};
use crate::engine::blocks::{self, Source};
use crate::engine::convert;
use crate::engine::fold;
use crate::engine::splice::{Coming, Edit, Spliced};
use crate::levels::build::{self, SortedKeys};
use crate::levels::coiterate;
use crate::levels::level::freed;
use crate::levels::pattern::{Dim, Part};
use crate::levels::sort;
use crate::tensor::fill::single;
use crate::tensor::{Sparse, Tensor};

/// The named places, each once, in the order of their keys.
pub(super) struct Unique {
    layout: KeyLayout,
    words: Vec<Vec<u64>>,
    pub(super) values: Strided,
    /// Empty if none is.
    absent: Vec<bool>,
}

impl Unique {
    /// Of places given by the words of their keys.
    pub(super) fn new(dtype: DType, layout: KeyLayout, mut words: Vec<Vec<u64>>, given: &Given) -> Result<Unique> {
        // Nothing is added where a value is absent.
        let kept: Option<Vec<usize>> = (given.fold.is_some() && given.absent.contains(&true))
            .then(|| (0..words[0].len()).chosen(|&i| !given.is_absent(i)));
        if let Some(kept) = &kept {
            words = words.mapped(|w| sort::pick(w, kept));
        }
        let sorted = sort::sort_keys(&layout, words);
        let place = |i: usize| kept.as_ref().map_or(i, |kept| kept[i]) as u64;
        let order: Vec<u64> = with_index!(sorted.order.as_slice(), o => o.iter().map(|i| place(i.get())).collect());
        let runs = sort::runs(&sorted.words);
        let lasts: Vec<usize> = runs[1..].iter().map(|end| end - 1).collect();
        let words = sorted.words.mapped(|w| sort::pick(w, &lasts));
        let gathered = |places: Vec<u64>| match &given.values {
            Some(values) => convert::gather_values(values, &IndexVec::U64(places)),
            None => Ok(Strided::constant(Scalar::zero(dtype), &[places.len()])),
        };
        let (values, absent) = match given.fold {
            Some(fold) => {
                let all = gathered(order)?;
                (if lasts.is_empty() { all } else { fold::merge_rows(fold, &all, &runs)? }, Vec::new())
            }
            None => {
                let chosen: Vec<u64> = lasts.iter().map(|&l| order[l]).collect();
                let absent = if given.absent.is_empty() {
                    Vec::new()
                } else {
                    chosen.iter().map(|&i| given.is_absent(i as usize)).collect()
                };
                (gathered(chosen)?, absent)
            }
        };
        Ok(Unique { layout, words, values, absent })
    }

    fn len(&self) -> usize {
        self.words[0].len()
    }

    /// A linear form of the coordinates from dimension `first` on.
    pub(super) fn linear(&self, first: usize, weights: &[u64]) -> Vec<u64> {
        let mut out = vec![0u64; self.len()];
        for (field, w) in self.layout.fields[first..].iter().zip(weights) {
            for (o, &word) in out.iter_mut().zip(&self.words[field.word]) {
                *o = o.wrapping_add(w.wrapping_mul(field.of(word)));
            }
        }
        out
    }

    pub(super) fn none_absent(&self) -> Result<()> {
        if self.absent.contains(&true) {
            let why = "an absent value is assigned, but only a tensor with undefined fill has absent elements";
            return Err(error::absent(why));
        }
        Ok(())
    }

    /// The fill at the places. The dimensions are those of the keys.
    fn fills(&self, fill: &Strided, dims: &[Dim]) -> Vec<u8> {
        let (n, size) = (self.len(), fill.dtype.size());
        match single(fill) {
            Some(one) => one.to_bytes().0[..size].repeat(n),
            None => {
                let weights: Vec<u64> = dims.mapped(|d| (fill.strides[d.axis] * d.step() as isize) as u64);
                let mut at = self.linear(0, &weights);
                at.iter_mut().for_each(|a| *a = a.wrapping_add(fill.offset as u64));
                let mut out = vec![0; n * size];
                gather_offsets(fill.buffer.bytes(), size, &at, &mut out);
                out
            }
        }
    }

    /// Which values are the same as the fill at their places. The dimensions are those of the keys.
    fn are_fill(&self, fill: &Strided, dims: &[Dim]) -> Result<Vec<bool>> {
        let mut differ = vec![0; self.len()];
        identity::differs(fill.dtype)(&self.values.dense_bytes()?, &self.fills(fill, dims), &mut differ);
        Ok(differ.iter().map(|&d| d == 0).collect())
    }
}

fn part(d: Dim, coordinate: u64) -> u64 {
    match d.part {
        Part::Whole => coordinate,
        Part::Div(b) => coordinate / b as u64,
        Part::Mod(b) => coordinate % b as u64,
    }
}

/// How what is there and what is put meet.
pub(super) fn meeting(fold: ReduceOp) -> Result<BinaryOp> {
    fold.twin().ok_or_else(|| {
        let allowed: Vec<&str> = ReduceOp::ALL.iter().filter(|op| op.twin().is_some()).map(|op| op.name()).collect();
        let why = format!("{} is none that values can meet by: allowed are {}", fold.name(), allowed.join(", "));
        error::invalid("reduce", why)
    })
}

/// A copy of the tensor with what is given at places, given by a column of coordinates for each axis.
///
/// What is the fill is not stored, but as a part of a stored row of value axes.
pub(super) fn put(s: &Sparse, columns: &[Vec<u64>], given: &Given) -> Result<Sparse> {
    let meeting = given.fold.map(meeting).transpose()?;
    // Rows of value axes cannot lose single elements.
    let single = s.fill.is_undefined() && !s.pattern.value_dims().is_empty();
    let s = if single { crate::family::shape::to_coo(s)? } else { convert::coalesce(s, ReduceOp::Sum)? };
    let unique = unique(&s, columns, given)?;
    let blank = match s.fill_values() {
        None => unique.absent.clone(),
        Some(fill) => {
            unique.none_absent()?;
            if meeting.is_none() { unique.are_fill(&fill, &s.pattern.dims)? } else { Vec::new() }
        }
    };
    overlaid(&s, &unique, &blank, meeting)
}

/// A copy of the tensor with these values at places, the fill among them.
pub(super) fn laid(s: &Sparse, columns: &[Vec<u64>], given: &Given) -> Result<Sparse> {
    overlaid(s, &unique(s, columns, given)?, &[], None)
}

/// The places, by the tensor's own keys.
fn unique(s: &Sparse, columns: &[Vec<u64>], given: &Given) -> Result<Unique> {
    let dims = &s.pattern.dims;
    let layout = KeyLayout::new(&dims.mapped(|d| d.size));
    let n = given.values.as_ref().map_or(given.absent.len(), Strided::len);
    let mut words = vec![vec![0u64; n]; layout.word_bits.len()];
    for (d, field) in dims.iter().zip(&layout.fields) {
        for (word, &c) in words[field.word].iter_mut().zip(&columns[d.axis]) {
            *word = word.wrapping_add(field.weight().wrapping_mul(part(*d, c)));
        }
    }
    Unique::new(s.dtype(), layout, words, given)
}

/// What values make of the elements at offsets; those marked new have nothing to meet.
pub(super) fn met(
    op: Option<BinaryOp>,
    bytes: &[u8],
    offsets: &[u64],
    values: &Strided,
    new: &[bool],
) -> Result<Strided> {
    let Some(op) = op else { return Ok(values.clone()) };
    let size = values.dtype.size();
    let there = Buffer::filled(offsets.len() * size, size, |out| gather_offsets(bytes, size, offsets, out))?;
    let there = Tensor::from_strided(Strided::new(there, values.dtype, vec![offsets.len()]));
    let both = there.binary(op, Tensor::from_strided(values.clone()))?;
    let Some(both) = both.strided() else { return Err(error::layout("vectors are strided")) };
    let both = both.cast(values.dtype).to_contiguous()?.into_owned();
    if !new.contains(&true) {
        return Ok(both);
    }
    let (alone, both) = (values.dense_bytes()?, both.dense_bytes()?);
    let buffer = Buffer::build(both.len(), |out| {
        for (i, element) in out.chunks_exact_mut(size).enumerate() {
            let from = if new[i] { &alone } else { &both };
            element.copy_from_slice(&from[i * size..(i + 1) * size]);
        }
    })?;
    Ok(Strided::new(buffer, values.dtype, values.shape.clone()))
}

/// As [`overlaid`], where places are few: each is looked up. `None` elsewhere.
fn spliced(s: &Sparse, unique: &Unique, blank: &[bool], meeting: Option<BinaryOp>) -> Result<Option<Sparse>> {
    let Some(all) = Spliced::new(s, unique.len()) else { return Ok(None) };
    let (outer, inner) = all.dims();
    let coordinates = |dim: usize| {
        let weights: Vec<u64> = (0..s.pattern.level_dims).mapped(|d| u64::from(d == dim));
        unique.linear(0, &weights)
    };
    let mut segments = vec![0; unique.len()];
    for (dim, d) in outer.iter().enumerate() {
        segments.iter_mut().zip(coordinates(dim)).for_each(|(s, c)| *s = *s * d.size + c as usize);
    }
    let columns: Vec<Vec<u64>> = (0..inner.len()).mapped(|dim| coordinates(outer.len() + dim));
    let (mut edits, mut chosen, mut tuple) = (Vec::with_capacity(unique.len()), Vec::new(), vec![0; inner.len()]);
    for (i, &segment) in segments.iter().enumerate() {
        tuple.iter_mut().zip(&columns).for_each(|(t, column)| *t = column[i]);
        let (at, is_there) = all.find(all.segment(segment), &tuple);
        let is_blank = blank.get(i).copied().unwrap_or(false);
        if is_there || !is_blank {
            edits.push(Edit { segment, at, goes: usize::from(is_there), comes: usize::from(!is_blank) });
        }
        if !is_blank {
            chosen.push(i);
        }
    }
    // What is there, or the fill, meets what is put.
    let (size, values) = (s.dtype().size(), s.values.dense_bytes()?);
    let mut there = match (meeting, s.fill_values()) {
        (Some(_), Some(fill)) => unique.fills(&fill, &s.pattern.dims),
        _ => vec![0; if meeting.is_some() { unique.len() * size } else { 0 }],
    };
    let mut new = vec![false; unique.len()];
    if meeting.is_some() {
        debug_assert_eq!(edits.len(), unique.len());
        for (i, edit) in edits.iter().enumerate() {
            new[i] = edit.goes == 0 && s.fill.is_undefined();
            if edit.goes == 1 {
                there[i * size..(i + 1) * size].copy_from_slice(&values[edit.at * size..(edit.at + 1) * size]);
            }
        }
    }
    let offsets: Vec<u64> = (0..unique.len() as u64).collect();
    let put = met(meeting, &there, &offsets, &unique.values, &new)?;
    let places: Vec<u64> = chosen.iter().map(|&i| i as u64).collect();
    let put = convert::gather_values(&put, &IndexVec::U64(places))?;
    let columns: Vec<Vec<u64>> = columns.mapped(|column| chosen.iter().map(|&i| column[i]).collect());
    let is_elsewhere = edits.iter().any(|edit| edit.goes != edit.comes);
    let coming = Coming { columns: is_elsewhere.then_some(&columns[..]), values: &put.dense_bytes()? };
    all.with(&edits, coming)
}

/// The union of what is stored and what is put, without positions at which nothing but blank elements is put: those that
/// are absent, or the fill.
fn overlaid(s: &Sparse, unique: &Unique, blank: &[bool], meeting: Option<BinaryOp>) -> Result<Sparse> {
    if let Some(out) = spliced(s, unique, blank, meeting)? {
        return Ok(out);
    }
    let kinds = freed(s.pattern.kinds());
    let spec = crate::levels::layout::LevelSpec { levels: kinds.clone(), ..s.pattern.spec() };
    let s = if s.pattern.kinds() == kinds { s.clone() } else { convert::convert(s, &spec)? };
    let p = &s.pattern;
    // The rows of the places, as a pattern of the same levels.
    let rows = KeyLayout::new(&p.level_dims().mapped(|d| d.size));
    let words: Vec<Vec<u64>> = (0..rows.word_bits.len())
        .map(|w| {
            let weights: Vec<u64> = rows.fields.mapped(|f| if f.word == w { f.weight() } else { 0 });
            unique.linear(0, &weights)
        })
        .collect();
    let runs = sort::runs(&words);
    let heads: Vec<Vec<u64>> = words.mapped(|w| sort::pick(w, &runs[..runs.len() - 1]));
    let keys = SortedKeys::new(&rows, &heads);
    let patch = build::build(&kinds, p.dims.clone(), &keys)?;
    let merged = coiterate::merge(p, &patch, Keep::UNION);
    let pattern = Arc::new(merged.pattern);
    let background = s.fill_values();
    let fallback = match &background {
        Some(fill) => Source::at(fill, &pattern),
        None => Source::Constant(Scalar::zero(s.dtype())), // written over
    };
    // Which merged row each row of the patch is, and whether nothing was stored there.
    let mut places = vec![(0usize, false); patch.positions];
    with_index!(merged.left.as_slice(), left => with_index!(merged.right.as_slice(), right => {
        for (row, (l, r)) in left.iter().zip(right).enumerate() {
            if !r.is_none() {
                places[r.get()] = (row, l.is_none());
            }
        }
    }));
    let block = p.block();
    let mut shape = vec![pattern.positions];
    shape.extend(p.value_shape());
    let source = Source::select(&s.values, block, &merged.left, fallback)?;
    let mut values = blocks::collect(crate::base::strided::count(&shape), source, s.dtype())?;
    let strides: Vec<u64> = c_strides(&p.value_shape()).mapped(|&s| s as u64);
    let mut offsets = unique.linear(p.level_dims, &strides);
    let undefined = s.fill.is_undefined();
    let mut new = vec![false; offsets.len()];
    let mut keep = Vec::new();
    if blank.contains(&true) {
        keep.resize(pattern.positions, true);
    }
    for (row, run) in runs.windows(2).enumerate() {
        let (place, fresh) = places[row];
        for i in run[0]..run[1] {
            offsets[i] += (place * block) as u64;
            new[i] = fresh && undefined;
        }
        // Of what was there a row of value axes may keep other elements.
        if !keep.is_empty() && (block == 1 || fresh) && !blank[run[0]..run[1]].contains(&false) {
            keep[place] = false;
        }
    }
    let put = met(meeting, values.buffer.bytes(), &offsets, &unique.values, &new)?;
    let put = put.dense_bytes()?;
    if let Some(bytes) = values.buffer.unique_mut() {
        scatter_offsets(&put, s.dtype().size(), &offsets, bytes);
    }
    values.strides = c_strides(&shape).into();
    values.shape = shape.into();
    let out = Sparse { shape: s.shape.clone(), pattern, values, fill: s.fill.clone() };
    if keep.is_empty() { Ok(out) } else { convert::retain_rows(&out, &keep) }
}
