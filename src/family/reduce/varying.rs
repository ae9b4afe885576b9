//! Sums over axes along which the fill varies: all of the fill, less the fill where elements are stored, plus these.
//!
//! The three may be far larger than what they come to, so nothing is rounded in between: floats are summed exactly (in twice the
//! precision where that shows what the exact sum rounds to), and integers wrap, which is exact too.

use crate::base::mapped::Mapped;
use std::ops::Range;
use std::sync::Arc;

use openwork_ops::reduce::{Compact, Exact, Gives, Quick};
use openwork_ops::structure::{IndexSlice, IndexVec};
use openwork_ops::{BinaryOp, Element, ReduceOp};

use super::sparse::check_count;
use crate::base::buffer::Buffer;
use crate::base::error::{self, Result};
use crate::base::parallel::{self, GRAIN};
use crate::base::strided::{Strided, c_strides, count};
use crate::engine::blocks::{self, Kernel, Source};
use crate::engine::convert;
use crate::engine::fold::{Fold, map_scalars};
use crate::engine::slices::{Groups, Need, Split, group, reduced};
use crate::levels::pattern::Pattern;
use crate::tensor::fill::fill_of;
use crate::tensor::{Sparse, Tensor};

/// Accumulators over the kept axes.
struct Sums {
    /// Where a group has stored elements.
    pattern: Arc<Pattern>,
    /// The sum of each group, over the pattern's positions and value axes.
    sums: Strided,
    /// The sum where nothing is stored, over the kept axes; of size 1 where it does not vary.
    total: Strided,
}

/// Sums a tensor with a fill that is defined, finite and not constant along a reduced axis.
pub(super) fn varying(
    fold: &Fold,
    s: &Sparse,
    fill: &Strided,
    kept: &[usize],
    axes: &[usize],
    k: u128,
) -> Result<Tensor> {
    let shape: Vec<usize> = kept.mapped(|&a| s.shape[a]);
    // A transpose is cheaper than a sort by columns, which counts do not need.
    let is_sorted = axes.len() == 1 && fold.typing.acc.is_inexact();
    let turned = if is_sorted { convert::turned(s, axes[0])? } else { None };
    let s = turned.as_ref().unwrap_or(s);
    let beneath = blocks::collect(s.nse(), Source::at(fill, &s.pattern), s.dtype())?;
    let beneath = Strided { shape: s.values.shape.clone(), strides: c_strides(&s.values.shape).into(), ..beneath };
    let Sums { pattern, sums, total } = if fold.typing.acc.is_inexact() {
        floats(fold, s, fill, &beneath, kept, axes)?
    } else {
        integers(fold, s, fill, &beneath, kept, axes)?
    };
    let fill = fill_of(&fold.finish(&total.broadcast(&shape), k)?);
    let out = Sparse { shape: shape.into(), values: fold.finish(&sums, k)?, fill, pattern };
    reduced(out, s.nse())
}

/// How often each element of a fill's core counts: along reduced axes on which the fill is constant.
fn repeats(fill: &Strided, core: &Strided, axes: &[usize], mul: fn(u128, u128) -> u128) -> u128 {
    let constant = axes.iter().filter(|&&a| core.shape[a] != fill.shape[a]);
    constant.fold(1, |n, &a| mul(n, fill.shape[a] as u128))
}

/// In the arithmetic of the accumulator, which wraps.
fn integers(
    fold: &Fold,
    s: &Sparse,
    fill: &Strided,
    beneath: &Strided,
    kept: &[usize],
    axes: &[usize],
) -> Result<Sums> {
    let acc = fold.typing.acc;
    let unsupported = || error::dtype(&[acc], "accumulators do not add");
    let add = BinaryOp::Add.kernel(acc).ok_or_else(unsupported)?;
    let sub = BinaryOp::Sub.kernel(acc).ok_or_else(unsupported)?;
    let total = integer_totals(fold, fill, kept, axes)?;
    let Groups { pattern, acc: stored, .. } = group(fold, s, &s.values, kept, Need::Counts)?;
    let beneath = group(fold, s, beneath, kept, Need::Counts)?.acc;
    let pattern = Arc::new(pattern);
    let shape: Vec<usize> = kept.mapped(|&a| s.shape[a]);
    let totals = blocks::collect(stored.len(), Source::at(total.broadcast(&shape), &pattern), acc)?;
    let totals = Strided { shape: stored.shape.clone(), strides: c_strides(&stored.shape).into(), ..totals };
    let rest = blocks::map_strided(&[&totals, &beneath], acc, acc, Kernel::Binary(sub))?;
    let sums = blocks::map_strided(&[&rest, &stored], acc, acc, Kernel::Binary(add))?;
    Ok(Sums { pattern, sums, total })
}

/// The sum of an array over the reduced axes in the arithmetic of the accumulator, at each element of its core over the kept
/// ones.
pub(super) fn integer_totals(fold: &Fold, x: &Strided, kept: &[usize], axes: &[usize]) -> Result<Strided> {
    let acc = fold.typing.acc;
    let sum = ReduceOp::Sum.typing(acc).and_then(|t| ReduceOp::Sum.kernels(t));
    let sum = sum.ok_or_else(|| error::dtype(&[acc], "accumulators do not add"))?;
    let core = x.unbroadcast();
    let once = fold.strided_acc(&core, kept, axes)?;
    if let (Gives::Count, Some(counts)) = (fold.op.gives(), once.typed::<u64>()) {
        let most = counts.iter().max().map_or(0, |&n| n.into());
        check_count(fold, &once, repeats(x, &core, axes, u128::saturating_mul).saturating_mul(most))?;
    }
    let times = repeats(x, &core, axes, u128::wrapping_mul);
    map_scalars(&once, acc, |v| (sum.nfold)(v, times))
}

/// The sum of an array of finite floats over the reduced axes, exactly and rounded once, at each element of its core over
/// the kept ones.
pub(super) fn float_totals(fold: &Fold, x: &Strided, kept: &[usize], axes: &[usize]) -> Result<Strided> {
    let acc = fold.typing.acc;
    let core = x.unbroadcast();
    let values = core.cast(fold.typing.input).cast(acc).to_contiguous()?.into_owned();
    let totals = totals(&values, x, kept, axes, acc.size() / size_of::<f64>())?;
    let shape: Vec<usize> = kept.mapped(|&a| core.shape[a]);
    Ok(Strided::new(Buffer::from_vec(totals.iter().map(|t| t.rounded).collect()), acc, shape))
}

/// Exactly, rounded once. Complex numbers are two floats, each summed for itself.
fn floats(fold: &Fold, s: &Sparse, fill: &Strided, beneath: &Strided, kept: &[usize], axes: &[usize]) -> Result<Sums> {
    let acc = fold.typing.acc;
    let parts = acc.size() / size_of::<f64>();
    let floats =
        |x: &Strided| -> Result<Strided> { Ok(x.cast(fold.typing.input).cast(acc).to_contiguous()?.into_owned()) };
    let totals = totals(&floats(&fill.unbroadcast())?, fill, kept, axes, parts)?;
    let core: Vec<usize> = kept.mapped(|&a| fill.unbroadcast().shape[a]);

    let split = Split::new(&s.pattern, kept);
    let runs = split.stored_runs();
    let pattern = Arc::new(split.result_pattern(kept, &runs.layout, &runs.words)?);
    let shape = split.shape(runs.ends.len() - 1);
    let (n, width) = (count(&shape) * parts, split.block * parts);
    let (stored, beneath) = (floats(&split.rows_of(&s.values))?, floats(&split.rows_of(beneath))?);
    let (stored, beneath) = (parts_of(&stored), parts_of(&beneath));
    let places = places(&core, &s.shape, kept, &pattern, count(&shape))?;
    let sum = |i: usize| {
        let (run, column) = (i / width, i % width);
        let (start, end) = (runs.ends[run], runs.ends[run + 1]);
        let total = &totals[places[i / parts] as usize * parts + i % parts];
        let terms = Terms {
            start,
            order: runs.order.as_ref().map(IndexVec::as_slice),
            per_row: split.per_row,
            step: width,
            stored: stored.get(column..).unwrap_or_default(),
            beneath: beneath.get(column..).unwrap_or_default(),
        };
        let mut all = match end - start {
            n if n <= GRAIN => terms.quick(0..n),
            n => in_one(&parallel::map_chunks(n, GRAIN, &|range| terms.quick(range))),
        };
        all.merge(&total.quick);
        all.round().unwrap_or_else(|| {
            let mut sum = exact(end - start, &|positions, sum| {
                terms.each(positions, |stored, beneath| {
                    sum.add(stored);
                    sum.sub(beneath);
                });
            });
            sum.merge(&total.exact);
            sum.round()
        })
    };
    let grain = (GRAIN * n / stored.len().max(1)).clamp(1, GRAIN);
    let sums = Buffer::build(n * size_of::<f64>(), |out| {
        parallel::for_chunks_mut(f64::from_bytes_mut(out), 1, grain, &|first, out| {
            out.iter_mut().enumerate().for_each(|(i, o)| *o = sum(first + i));
        });
    })?;
    let total = Buffer::from_vec(totals.iter().map(|t| t.rounded).collect());
    Ok(Sums { pattern, sums: Strided::new(sums, acc, shape), total: Strided::new(total, acc, core) })
}

/// The terms of a sum: what is stored, and what lies beneath.
struct Terms<'a> {
    /// The first of the positions, which come in another order where there is one.
    start: usize,
    order: Option<IndexSlice<'a>>,
    per_row: usize,
    /// From one element to the next that belongs to the same sum.
    step: usize,
    stored: &'a [f64],
    beneath: &'a [f64],
}

impl Terms<'_> {
    #[inline(always)]
    fn each(&self, positions: Range<usize>, mut f: impl FnMut(f64, f64)) {
        if self.order.is_none() && self.step == 1 {
            let all = (self.start + positions.start) * self.per_row..(self.start + positions.end) * self.per_row;
            self.stored[all.clone()].iter().zip(&self.beneath[all]).for_each(|(&stored, &beneath)| f(stored, beneath));
            return;
        }
        for p in positions {
            let p = self.order.map_or(self.start + p, |order| order.get(self.start + p));
            for row in p * self.per_row..(p + 1) * self.per_row {
                f(self.stored[row * self.step], self.beneath[row * self.step]);
            }
        }
    }

    fn quick(&self, positions: Range<usize>) -> Quick {
        let (mut more, mut less) = (Quick::default(), Quick::default());
        self.each(positions, |stored, beneath| {
            more.add(stored);
            less.add(-beneath);
        });
        more.merge(&less);
        more
    }
}

fn in_one(parts: &[Quick]) -> Quick {
    let mut sum = Quick::default();
    parts.iter().for_each(|part| sum.merge(part));
    sum
}

fn parts_of(x: &Strided) -> &[f64] {
    f64::from_bytes(x.contiguous_bytes().unwrap_or_default())
}

/// The sum of a fill.
struct Total {
    rounded: f64,
    quick: Quick,
    exact: Compact,
}

/// The sum of the fill over the reduced axes, at each element of its core over the kept ones.
fn totals(core: &Strided, fill: &Strided, kept: &[usize], axes: &[usize], parts: usize) -> Result<Vec<Total>> {
    let order: Vec<usize> = kept.iter().chain(axes).copied().collect();
    let times = repeats(fill, core, axes, u128::saturating_mul);
    let n = kept.iter().map(|&a| core.shape[a]).product::<usize>();
    let terms = axes.iter().map(|&a| core.shape[a]).product::<usize>();
    let core = core.permute(&order);
    let core = core.to_contiguous()?;
    let values = parts_of(&core);
    let total = |i: usize| {
        let (first, part) = (i / parts * terms, i % parts);
        let mut sum = exact(terms, &|range, sum| range.for_each(|t| sum.add(values[(first + t) * parts + part])));
        sum.scale(times);
        let (rounded, exact) = (sum.round(), sum.compact());
        Total { rounded, quick: exact.quick(), exact }
    };
    let grain = (GRAIN / terms.max(1)).max(1);
    let all = parallel::map_chunks(n * parts, grain, &|range| range.map(total).collect::<Vec<_>>());
    Ok(all.into_iter().flatten().collect())
}

/// For each element of a pattern over the kept axes, which of the totals over `core` is its own.
fn places(core: &[usize], shape: &[usize], kept: &[usize], pattern: &Arc<Pattern>, n: usize) -> Result<Vec<u64>> {
    let shape: Vec<usize> = kept.mapped(|&a| shape[a]);
    let numbers = Strided::from_vec((0..count(core) as u64).collect(), core.to_vec()).broadcast(&shape);
    let at = blocks::collect(n, Source::at(&numbers, pattern), u64::DTYPE)?;
    Ok(at.typed::<u64>().unwrap_or_default().to_vec())
}

/// What `add` adds for `0..n`; in parallel where that is long, and the same in any case.
fn exact(n: usize, add: &(dyn Fn(Range<usize>, &mut Exact) + Sync)) -> Exact {
    let mut sum = Exact::new();
    if n <= GRAIN {
        add(0..n, &mut sum);
        return sum;
    }
    let parts = parallel::map_chunks(n, GRAIN, &|range| {
        let mut part = Exact::new();
        add(range, &mut part);
        part.compact()
    });
    parts.iter().for_each(|part| sum.merge(part));
    sum
}
