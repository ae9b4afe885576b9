//! Slices along some axes: what reductions that are no folds, order and counting look at.
//!
//! The elements of a slice are those at one index of the kept axes. What a slice stores comes in C order of the reduced
//! axes; what it does not is said by its [`Rest`]. Slices in which nothing is stored are all alike where the fill does not
//! vary along the kept axes, and are computed once.

mod along;
mod cut;
mod groups;
mod leading;
mod ranked;
mod result;
mod scatter;
mod selected;
mod whole;

pub(crate) use self::cut::{Split, last_runs};
pub(crate) use self::groups::{Groups, Need, group, table};
pub(crate) use self::ranked::{Ranked, Rest, Slice, Sorted, keys_of, number_of, ordered, values_of};
pub(crate) use self::result::{is_few, reduced};
pub(crate) use self::scatter::Table;
pub(crate) use self::selected::Selected;

use crate::base::mapped::{Chosen, Mapped};
use std::sync::Arc;

use self::cut::Cut;
use openwork_ops::structure::keys::{Field, KeyLayout};
use openwork_ops::structure::{Index, IndexSlice, IndexVec};
use openwork_ops::{DType, Element, ReduceOp, with_index};

use crate::base::buffer::zeroed_vec;
use crate::base::error::{self, Result};
use crate::base::faults::{self, Fault};
use crate::base::parallel::{self, GRAIN};
use crate::base::strided::{Strided, c_strides, count};
use crate::engine::blocks::{self, Source};
use crate::engine::convert;
use crate::engine::unblock::unblocked;
use crate::levels::build::{self, SortedKeys};
use crate::levels::indices::Indices;
use crate::levels::level::LevelKind;
use crate::levels::pattern::{Dim, Pattern};
use crate::tensor::fill::{Fill, fill_of};
use crate::tensor::{Sparse, Storage, Tensor};

/// A tensor cut into slices.
pub(crate) struct Slices {
    pub(crate) kept: Vec<usize>,
    pub(crate) axes: Vec<usize>,
    /// Of the tensor.
    pub(crate) shape: Vec<usize>,
    /// Elements of a slice, stored or not.
    pub(crate) length: u128,
    /// Slice `g` stores elements `ends[g]..ends[g + 1]`.
    pub(crate) ends: Vec<usize>,
    /// The stored elements of all slices, contiguous.
    pub(crate) values: Strided,
    /// Which stored element of the tensor each of them was, if not the same.
    pub(crate) order: Option<IndexVec>,
    /// Of a sparse tensor.
    sparse: Option<Keyed>,
}

/// What slices of a sparse tensor have besides their elements.
struct Keyed {
    source: Sparse,
    /// Over the kept axes, then the reduced ones, of every element; no words where nobody asks for places, or all are stored.
    layout: KeyLayout,
    words: Vec<Vec<u64>>,
    /// Where each element is in its slice, where the tensor lists that.
    listed: Option<Indices>,
    /// Over the kept axes: which slices store anything.
    pattern: Arc<Pattern>,
    /// The fill, of the tensor's shape.
    fill: Option<Strided>,
    /// Whether slices that store anything store every element.
    is_whole: bool,
}

/// What will be asked of slices.
#[derive(Clone, Copy, PartialEq)]
enum Asked {
    /// Which elements they are, to be put elsewhere.
    Elements,
    /// Where in its slice an element is.
    Places,
    /// Elements in no order that matters, or in that of the slice.
    Values,
}

impl Slices {
    /// Slices of a tensor along `axes` (in range, each once, in the order in which positions count). Duplicates are
    /// summed.
    ///
    /// Cost: O(nse), plus a sort where storage order is another.
    pub(crate) fn of(x: &Tensor, axes: &[usize]) -> Result<Slices> {
        Slices::cut(x, axes, Asked::Elements)
    }

    /// As [`Slices::of`], to be folded with [`Slices::positions`].
    pub(crate) fn with_positions(x: &Tensor, axes: &[usize]) -> Result<Slices> {
        Slices::cut(x, axes, Asked::Places)
    }

    /// As [`Slices::of`], to be folded where nobody will ask for [`Slices::positions`]: with less memory.
    pub(crate) fn without_positions(x: &Tensor, axes: &[usize]) -> Result<Slices> {
        Slices::cut(x, axes, Asked::Values)
    }

    /// As [`Slices::without_positions`], where it does not matter in which order elements of a slice come either: without a sort where
    /// kept axes come first in storage, in whatever order the others do.
    pub(crate) fn in_any_order(x: &Tensor, axes: &[usize]) -> Result<Slices> {
        let Storage::Sparse(s) = &x.storage else { return Slices::without_positions(x, axes) };
        if axes.len() == x.ndim() && s.pattern.is_unique() && s.nse() > 0 {
            return Slices::of_all(s, axes);
        }
        let stored = || s.pattern.dims.iter().map(|d| d.axis).filter(|axis| axes.contains(axis));
        let mut places = axes.to_vec();
        places.sort_unstable();
        if stored().eq(places.iter().copied()) || stored().count() != axes.len() {
            return Slices::without_positions(x, axes);
        }
        let mut order: Vec<usize> = (0..x.ndim()).collect();
        stored().zip(&places).for_each(|(axis, &place)| order[place] = axis);
        Slices::without_positions(&s.permuted(&order).into(), &places)
    }

    fn cut(x: &Tensor, axes: &[usize], asked: Asked) -> Result<Slices> {
        let shape = x.shape().to_vec();
        let kept: Vec<usize> = (0..x.ndim()).chosen(|a| !axes.contains(a));
        let length = length(&shape, axes)?;
        let axes = axes.to_vec();
        let s = match &x.storage {
            Storage::Strided(s) => {
                let all: Vec<usize> = kept.iter().chain(&axes).copied().collect();
                let values = s.permute(&all).to_contiguous()?.into_owned();
                // Slices without elements can be more than there is memory for.
                let slices = convert::dense_len(&kept.mapped(|&a| shape[a]), DType::U64)?;
                let ends = (0..=slices).map(|g| g * length as usize).collect();
                let values = values.reshape(&[values.len()])?;
                return Ok(Slices { kept, axes, shape, length, ends, values, order: None, sparse: None });
            }
            Storage::Sparse(s) => convert::coalesce(s, ReduceOp::Sum)?,
        };
        let (positions, places) = (asked != Asked::Values, asked == Asked::Places);
        let by_rows = match asked {
            Asked::Elements => None,
            _ => convert::by_rows(&s)?.or_else(|| unblocked(&s)),
        };
        let s = by_rows.unwrap_or(s);
        if asked != Asked::Elements
            && let Some(slices) = Slices::of_rows(&s, &kept, &axes, length, places)?
        {
            return Ok(slices);
        }
        // A transpose is cheaper than a sort by columns.
        let turned = if asked == Asked::Elements || axes.len() != 1 { None } else { convert::turned(&s, axes[0])? };
        if let Some(s) = &turned
            && let Some(slices) = Slices::of_rows(s, &kept, &axes, length, places)?
        {
            return Ok(slices);
        }
        let s = turned.unwrap_or(s);
        let dim = |&a: &usize| Dim::whole(a, shape[a]);
        let dims: Vec<Dim> = kept.iter().chain(&axes).map(dim).collect();
        let cut = Cut::new(convert::element_keys(&s, &dims)?, kept.len(), false);
        let heads = cut.heads();
        let Cut { layout, mut words, order, ends } = cut;
        if !positions {
            words.iter_mut().for_each(|w| *w = Vec::new());
        }
        let values = s.values.reshape(&[s.nse()])?;
        let values = match &order {
            Some(order) => convert::gather_values(&values, order)?,
            None => values,
        };
        let values = values.to_contiguous()?.into_owned();
        let keys = SortedKeys::new(&layout, &heads);
        let own = kept.iter().enumerate().map(|(i, &a)| Dim::whole(i, shape[a])).collect();
        let pattern = Arc::new(build::build(&[LevelKind::Sparse { rank: kept.len() }], own, &keys)?);
        let fill = s.fill_values();
        let sparse = Some(Keyed { source: s, layout, words, listed: None, pattern, fill, is_whole: false });
        Ok(Slices { kept, axes, shape, length, ends, values, order, sparse })
    }

    /// All elements as one slice, in storage order.
    fn of_all(s: &Sparse, axes: &[usize]) -> Result<Slices> {
        let (values, split) =
            (s.values.reshape(&[s.nse()])?.to_contiguous()?.into_owned(), Split::new(&s.pattern, &[]));
        let runs = split.stored_runs();
        let pattern = Arc::new(split.result_pattern(&[], &runs.layout, &runs.words)?);
        let (source, fill, layout) = (s.clone(), s.fill_values(), runs.layout);
        let sparse = Keyed { source, layout, words: Vec::new(), listed: None, pattern, fill, is_whole: false };
        let (shape, ends) = (s.shape.to_vec(), vec![0, s.nse()]);
        let length = length(&shape, axes)?;
        Ok(Slices {
            kept: Vec::new(),
            axes: axes.to_vec(),
            shape,
            length,
            ends,
            values,
            order: None,
            sparse: Some(sparse),
        })
    }

    /// How many slices store anything (all of a strided tensor).
    pub(crate) fn len(&self) -> usize {
        self.ends.len() - 1
    }

    pub(crate) fn is_sparse(&self) -> bool {
        self.sparse.is_some()
    }

    pub(crate) fn is_undefined(&self) -> bool {
        self.sparse.as_ref().is_some_and(|s| s.fill.is_none())
    }

    /// The coalesced tensor, if it is sparse.
    pub(crate) fn source(&self) -> Option<&Sparse> {
        self.sparse.as_ref().map(|s| &s.source)
    }

    /// Which slices store anything, as a pattern over the kept axes; `None` for a strided tensor.
    pub(crate) fn pattern(&self) -> Option<&Arc<Pattern>> {
        self.sparse.as_ref().map(|s| &s.pattern)
    }

    /// The fill over the full shape, if it is defined.
    pub(crate) fn fill(&self) -> Option<&Strided> {
        self.sparse.as_ref().and_then(|s| s.fill.as_ref())
    }

    /// Whether the fill is not the same along all the reduced axes.
    pub(crate) fn fill_varies(&self) -> bool {
        self.length > 0 && self.fill().is_some_and(|f| self.axes.iter().any(|&a| f.strides[a] != 0 && f.shape[a] > 1))
    }

    /// The shape of the kept axes.
    pub(crate) fn kept_shape(&self) -> Vec<usize> {
        self.kept.mapped(|&a| self.shape[a])
    }

    /// Gives back memory where nobody will ask which stored element of the tensor each was.
    pub(crate) fn forget_order(&mut self) {
        if !self.fill_varies() {
            self.order = None;
        }
    }

    /// Where in its slice an element is.
    pub(crate) fn positions(&self) -> Positions<'_> {
        let mut step = 1u128;
        let mut terms = Vec::new();
        for (i, &a) in self.axes.iter().enumerate().rev() {
            if let Some(s) = self.sparse.as_ref().filter(|s| !s.words.is_empty()) {
                let field = s.layout.fields[self.kept.len() + i];
                terms.push((field, &s.words[field.word][..], step));
            }
            step = step.saturating_mul(self.shape[a] as u128);
        }
        let is_whole = self.sparse.as_ref().is_none_or(|s| s.is_whole);
        let listed = self.sparse.as_ref().and_then(|s| s.listed.as_ref()).map(Indices::as_slice);
        Positions { terms, listed, is_whole, length: self.length.max(1) as usize }
    }

    /// The fill over the kept axes, where it does not vary along the reduced ones: broadcast to their shape.
    pub(crate) fn fill_over_kept(&self) -> Option<Strided> {
        let fill = self.fill().filter(|_| !self.fill_varies())?;
        // Any index along the reduced axes will do.
        Some(Strided { shape: self.kept_shape().into(), ..fill.permute(&self.kept) })
    }

    /// Elements of an array over the kept axes at each slice that stores anything.
    pub(crate) fn at_slices(&self, array: &Strided) -> Result<Strided> {
        match &self.sparse {
            Some(s) => blocks::collect(self.len(), Source::at(array, &s.pattern), array.dtype),
            None => Ok(array.reshape(&[array.len()])?.to_contiguous()?.into_owned()),
        }
    }

    /// For each stored element, the number of what lies there in an array of that shape, which has size 1 along axes on
    /// which it does not vary.
    fn numbers(&self, shape: &[usize]) -> Vec<u64> {
        let Some(s) = &self.sparse else { return Vec::new() };
        let strides = c_strides(shape);
        let weights: Vec<u64> = (0..shape.len()).mapped(|a| if shape[a] == 1 { 0 } else { strides[a] as u64 });
        let p = &s.source.pattern;
        let (weights, row) = (p.level_weights(&weights), p.row_form(&weights));
        let mut numbers = zeroed_vec(self.values.len());
        parallel::for_chunks_mut(&mut numbers, 1, GRAIN, &|start, out| {
            p.linearize_elements(&weights, &row, start, out);
        });
        match &self.order {
            Some(order) => with_index!(order.as_slice(), o => o.iter().map(|&i| numbers[i.get()]).collect()),
            None => numbers,
        }
    }

    /// A fill that varies along the reduced axes.
    pub(crate) fn varying_fill(&self, fill: &Strided) -> Result<VaryingFill> {
        let core = fill.unbroadcast();
        let (mut step, mut times, mut axes) = (1u128, 1u128, Vec::new());
        for &a in self.axes.iter().rev() {
            let (size, varies) = (self.shape[a] as u128, core.shape[a] == self.shape[a]);
            axes.push((size, step, varies));
            step *= size;
            times *= if varies { 1 } else { size };
        }
        axes.reverse();
        let number = |core: &[usize], full: &[usize]| {
            Strided::from_vec((0..count(core) as u64).collect(), core.to_vec()).broadcast(full)
        };
        let list = |x: &Strided| Ok::<_, error::Error>(u64::from_bytes(&x.dense_bytes()?).to_vec());
        let over_kept: Vec<usize> = self.kept.mapped(|&a| core.shape[a]);
        let at = list(&self.at_slices(&number(&over_kept, &self.kept_shape()))?)?;
        let mut reduced = vec![1; self.shape.len()];
        self.axes.iter().for_each(|&a| reduced[a] = core.shape[a]);
        let beneath = self.numbers(&reduced);
        let all: Vec<usize> = self.kept.iter().chain(&self.axes).copied().collect();
        Ok(VaryingFill { core: core.permute(&all), over_kept, terms: count(&reduced), times, axes, at, beneath })
    }

    /// One result per slice: `values` where something is stored, `empty` (of the kept shape, broadcast) elsewhere, or
    /// nothing. In the layout of every reduction's result: see [`reduced`].
    pub(crate) fn folded(&self, values: Strided, empty: Option<Strided>, keepdims: bool) -> Result<Tensor> {
        let out = match &self.sparse {
            None => Tensor::from_strided(values.reshape(&self.kept_shape())?),
            Some(s) => {
                let fill = empty.as_ref().map_or(Fill::Undefined, fill_of);
                let values = values.reshape(&s.pattern.stored_shape())?;
                let out = Sparse { shape: self.kept_shape().into(), pattern: s.pattern.clone(), values, fill };
                reduced(out, self.values.len())?
            }
        };
        if keepdims {
            let mut axes = self.axes.clone();
            axes.sort_unstable();
            return out.expand_dims(&axes);
        }
        Ok(out)
    }
}

/// Elements of a slice along some axes.
fn length(shape: &[usize], axes: &[usize]) -> Result<u128> {
    let sizes = || axes.iter().map(|&a| shape[a] as u128);
    let length = if sizes().any(|n| n == 0) { Some(0) } else { sizes().try_fold(1u128, u128::checked_mul) };
    length.ok_or_else(|| error::shape(&[shape], "more than 2^128 elements in one slice; name fewer axes"))
}

/// A fill that varies along the reduced axes, and what lies where.
pub(crate) struct VaryingFill {
    /// Over the kept axes, then the reduced ones; of size 1 along those on which it does not vary.
    pub(crate) core: Strided,
    /// Sizes of the core along the kept axes.
    pub(crate) over_kept: Vec<usize>,
    /// Elements of the core in one slice.
    pub(crate) terms: usize,
    /// How often each occurs in a slice: along reduced axes on which the fill is constant.
    pub(crate) times: u128,
    /// Size and step of each reduced axis, and whether the fill varies along it.
    pub(crate) axes: Vec<(u128, u128, bool)>,
    /// For each slice that stores something, where in the core over the kept axes it is.
    pub(crate) at: Vec<u64>,
    /// For each stored element, which of the terms it stands over.
    pub(crate) beneath: Vec<u64>,
}

/// Where elements are in their slices.
pub(crate) struct Positions<'a> {
    /// Fields of the keys, and what a step of each is worth; none where slices store every element.
    terms: Vec<(Field, &'a [u64], u128)>,
    listed: Option<IndexSlice<'a>>,
    is_whole: bool,
    length: usize,
}

impl Positions<'_> {
    /// The position of element `e`, in C order of the reduced axes.
    pub(crate) fn of(&self, e: usize) -> u128 {
        if self.is_whole {
            return (e % self.length) as u128;
        }
        if let Some(listed) = self.listed {
            return listed.get(e) as u128 + u128::from(faults::is(Fault::ListedMisplaced));
        }
        self.terms.iter().map(|(field, words, step)| u128::from(field.of(words[e])) * step).sum()
    }
}
