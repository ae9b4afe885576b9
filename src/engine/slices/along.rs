//! Results that have as many slices as the operand, along one axis.

use std::sync::Arc;

use openwork_ops::DType;
use openwork_ops::structure::Index;
use openwork_ops::structure::keys::Field;

use super::{Keyed, Slices};
use crate::base::buffer::zeroed_vec;
use crate::base::context;
use crate::base::error::Result;
use crate::base::parallel::{self, GRAIN};
use crate::base::strided::Strided;
use crate::engine::convert;
use crate::levels::build::{self, SortedKeys};
use crate::levels::layout::LevelSpec;
use crate::levels::level::LevelKind;
use crate::levels::pattern::{Dim, Part, Pattern};
use crate::tensor::fill::{Fill, fill_of};
use crate::tensor::{Sparse, Tensor};

impl Slices {
    /// Whether the slices that store something may have `length` elements of `dtype` each, all of them stored.
    pub(crate) fn may_fill(&self, length: usize, dtype: DType) -> Result<()> {
        let groups = self.len();
        if groups as u128 * length as u128 > self.values.len() as u128 {
            context::may_densify(&[groups, length], dtype.size(), || {
                format!("axis {} becomes dense in the {groups} slices that store something", self.axes[0])
            })?;
        }
        convert::dense_len(&[groups, length], dtype).map(|_| ())
    }

    /// An array over the kept axes and then the one of the slices, with the axes where they belong.
    pub(crate) fn placed(&self, x: &Strided) -> Strided {
        let mut back = vec![0; self.shape.len()];
        self.kept.iter().chain(&self.axes).enumerate().for_each(|(i, &a)| back[a] = i);
        x.permute(&back)
    }

    fn shape_along(&self, length: usize) -> Vec<usize> {
        let mut shape = self.shape.clone();
        shape[self.axes[0]] = length;
        shape
    }

    /// The fill, which does not vary along the axis, for another length of this.
    pub(crate) fn fill_along(&self, length: usize) -> Fill {
        match self.fill_over_kept() {
            None => Fill::Undefined,
            Some(fill) => {
                let mut fill = Strided { shape: [&fill.shape[..], &[length]].concat().into(), ..fill };
                fill.strides.push(0);
                fill_of(&self.placed(&fill))
            }
        }
    }

    /// Over the kept axes, with the one of the slices as a value axis.
    pub(crate) fn pattern_along(&self, length: usize) -> Option<Pattern> {
        let pattern = self.pattern()?;
        let number = |d: &Dim| Dim { axis: self.kept[d.axis], ..*d };
        let dims = pattern.dims.iter().map(number).chain([Dim::whole(self.axes[0], length)]).collect();
        Some(Pattern { dims, ..(**pattern).clone() })
    }

    /// A sparse tensor with a dense row for every slice that stores something, and a fill elsewhere; strided if there is
    /// no elsewhere.
    pub(crate) fn along(&self, rows: Strided, fill: Fill) -> Result<Tensor> {
        let length = rows.shape[1];
        let Some(pattern) = self.pattern_along(length) else { return Ok(Tensor::from_strided(rows)) };
        let slices = self.kept.iter().try_fold(1usize, |k, &a| k.checked_mul(self.shape[a]));
        let out = Sparse { shape: self.shape_along(length).into(), pattern: Arc::new(pattern), values: rows, fill };
        if slices == Some(self.len())
            && let Some(fill) = out.fill_values()
        {
            return Ok(Tensor::from_strided(convert::to_strided(&out, &fill)?));
        }
        Ok(out.into())
    }

    /// Stored elements of each slice (slice by slice) put at places along the axis, which rise in each slice: `moved` are
    /// pairs of both. The axis gets a length, and the elements are `values`.
    pub(crate) fn rearranged<I: Index>(
        mut self,
        moved: Vec<[I; 2]>,
        length: usize,
        values: Strided,
        fill: Fill,
    ) -> Result<Tensor> {
        let Some(s) = &mut self.sparse else {
            let shape = [&self.kept_shape()[..], &[length]].concat();
            return Ok(Tensor::from_strided(self.placed(&values.reshape(&shape)?)));
        };
        let (field, words) = (s.layout.fields[self.kept.len()], std::mem::take(&mut s.words));
        let words: Vec<Vec<u64>> = words
            .into_iter()
            .enumerate()
            .map(|(w, word)| replaced(&word, (field.word == w).then_some(field), &moved))
            .collect();
        drop(moved);
        self.built(words, length, values, fill)
    }

    /// A sparse tensor of keys that rise, in the operand's layout.
    fn built(self, words: Vec<Vec<u64>>, length: usize, values: Strided, fill: Fill) -> Result<Tensor> {
        let Some(Keyed { source, layout, .. }) = &self.sparse else { return Ok(Tensor::from_strided(values)) };
        let shape = self.shape_along(length);
        let dims = self.kept.iter().chain(&self.axes).map(|&a| Dim::whole(a, shape[a])).collect();
        let keys = SortedKeys::new(layout, &words);
        let rank = shape.len();
        // The operand's layout, or the rows of its value axes would be filled up.
        let spec = source.pattern.spec();
        let has_values = !source.pattern.value_dims().is_empty();
        let spec = if has_values || spec.dims.iter().any(|d| d.1 != Part::Whole) {
            LevelSpec { levels: vec![LevelKind::Sparse { rank }], dims: (0..rank).map(|a| (a, Part::Whole)).collect() }
        } else {
            spec.freed()
        };
        // In the order of its axes at once, if the keys have it.
        let in_order = spec.dims.iter().map(|d| d.0).eq(self.kept.iter().chain(&self.axes).copied());
        let kinds = if in_order { spec.levels.clone() } else { vec![LevelKind::Sparse { rank }] };
        let pattern = Arc::new(build::build(&kinds, dims, &keys)?);
        drop(words);
        let out = Sparse { shape: shape.into(), pattern, values, fill };
        Ok(if in_order { out } else { convert::convert(&out, &spec)? }.into())
    }
}

/// The words of the first of each pair, with the second in a field of theirs, if there is one.
fn replaced<I: Index>(word: &[u64], field: Option<Field>, moved: &[[I; 2]]) -> Vec<u64> {
    let weight = field.map_or(0, Field::weight);
    let mask = field.filter(|f| f.bits > 0).map_or(0, |f| (u64::MAX >> (64 - f.bits)) << f.shift);
    let mut out = zeroed_vec(moved.len());
    parallel::for_chunks_mut(&mut out, 1, GRAIN, &|start, out| {
        for (o, [e, p]) in out.iter_mut().zip(&moved[start..]) {
            *o = (word[e.get()] & !mask) | weight.wrapping_mul(p.get() as u64);
        }
    });
    out
}
