//! Reductions of sparse tensors.

use std::borrow::Cow;
use std::sync::Arc;

use openwork_ops::reduce::Compensated;
use openwork_ops::structure::keys::{Order, order_of};
use openwork_ops::{BinaryOp, DType, ReduceOp, Scalar, identity};

use super::Fold;
use crate::blocks::{self, Kernel, Source};
use crate::buffer::{Buffer, zeroed_vec};
use crate::build::{self, SortedKeys};
use crate::context::{self, Path};
use crate::convert;
use crate::error::{self, Result};
use crate::faults::{self, Fault};
use crate::fill::{Background, Fill, fill_of};
use crate::level::{Level, LevelKind};
use crate::pattern::{Dim, Pattern};
use crate::strided::{Strided, count};
use crate::tensor::{Sparse, Tensor};
use crate::{parallel, sort};

/// Stored elements folded by kept coordinates.
struct Groups {
    /// Kept coordinates of each group: over the pattern's kept level dimensions, sorted.
    pattern: Pattern,
    /// Shape (groups, kept value axes…).
    acc: Strided,
    /// Stored elements in each group, per kept value element.
    counts: Vec<u64>,
}

/// Reduces over `axes` (with `k` elements together), keeping `kept`.
pub(super) fn reduce(fold: &Fold, s: &Sparse, kept: &[usize], axes: &[usize], k: u128) -> Result<(Tensor, Path)> {
    let op = fold.op.name();
    let s = if s.pattern.is_unique() { Cow::Borrowed(s) } else { Cow::Owned(convert::coalesce(op, s, ReduceOp::Sum)?) };
    let fill = match s.background() {
        Background::Undefined if faults::is(Fault::AbsentAsZero) => {
            Strided::constant(Scalar::zero(s.dtype()), &s.shape)
        }
        Background::Undefined => return undefined(fold, &s, kept, axes).map(|t| (t, Path::Engine)),
        Background::Values(fill) => fill,
    };
    let varies = axes.iter().any(|&a| fill.strides[a] != 0 && fill.shape[a] > 1);
    if !varies {
        return constant(fold, &s, &fill, kept, axes, k).map(|t| (t, Path::Engine));
    }
    let finite = || !fill.dtype.is_inexact() || identity::all_finite(fill.dtype, &fill.unbroadcast().dense_bytes());
    if fold.op.is_sum_like() && finite() {
        return varying(fold, &s, &fill, kept, axes, k).map(|t| (t, Path::Engine));
    }
    context::may_densify(op, &s.shape, s.dtype().size(), || {
        format!("the fill varies along a reduced axis, and {op} cannot take elements away")
    })?;
    let dense = convert::to_strided(op, &s, &fill)?;
    Ok((Tensor::from_strided(fold.strided(&dense, kept, axes)), Path::Densified))
}

/// Folds values over the reduced value axes, then positions by their kept coordinates.
fn group(fold: &Fold, s: &Sparse, values: &Strided, kept: &[usize]) -> Result<Groups> {
    let pattern = &s.pattern;
    let is_kept = |d: &Dim| kept.contains(&d.axis);
    let (of_values, level_dims) = (pattern.value_dims(), pattern.level_dims());
    let kept_values: Vec<usize> = (0..of_values.len()).filter(|&i| is_kept(&of_values[i])).collect();
    let reduced_values: Vec<usize> = (0..of_values.len()).filter(|&i| !is_kept(&of_values[i])).collect();
    let per_row: usize = reduced_values.iter().map(|&i| of_values[i].size).product();
    // Rows of kept value elements; each row's reduced value axes are folded with the rest below.
    let order: Vec<usize> =
        [0].into_iter().chain(reduced_values.iter().map(|i| i + 1)).chain(kept_values.iter().map(|i| i + 1)).collect();
    let values = values.cast(fold.typing.input).permute(&order);
    let dims: Vec<Dim> = level_dims.iter().copied().filter(is_kept).collect();
    let block: usize = kept_values.iter().map(|&i| of_values[i].size).product();
    // Kept dimensions that come first in storage order need no sorting.
    let in_order = dims.is_empty() || (pattern.is_canonical() && dims[..] == level_dims[..dims.len()]);
    let dense = dims
        .iter()
        .try_fold(1usize, |n, d| n.checked_mul(d.size))
        .filter(|&n| n <= (4 * pattern.positions).max(1 << 16));
    if let (Some(size), false, 1, 1) = (dense, in_order, block, per_row) {
        return scatter(fold, pattern, &values, &dims, size);
    }
    let mut values = values;
    let sizes: Vec<usize> = dims.iter().map(|d| d.size).collect();
    let (layout, words, runs) = match row_runs(pattern, &dims) {
        Some(runs) => {
            let rows: Vec<u64> = (0..runs.len() as u64 - 1).collect();
            let (layout, words) = convert::unravel(&rows, &sizes);
            (layout, words, runs)
        }
        None => {
            let (layout, mut words) = convert::keys(pattern, &dims, false);
            if !in_order && order_of(&words) == Order::Unsorted {
                let sorted = sort::sort_keys(&layout, words);
                words = sorted.words;
                values = convert::gather_values(&values, &sorted.order);
            }
            let runs = sort::runs(&words);
            let words = words.iter().map(|w| sort::pick(w, &runs[..runs.len() - 1])).collect();
            (layout, words, runs)
        }
    };
    let bytes = values.dense_bytes();
    let acc = if block == 1 {
        if dims.is_empty() && runs.len() == 2 {
            fold.all(&bytes)
        } else if per_row == 1 {
            fold.segments(&bytes, &runs)
        } else {
            fold.segments(&bytes, &runs.iter().map(|r| r * per_row).collect::<Vec<_>>())
        }
    } else {
        rows(fold, &bytes, &runs, per_row, block)
    };
    let counts = runs.windows(2).map(|run| ((run[1] - run[0]) * per_row) as u64).collect();
    let mut shape = vec![runs.len() - 1];
    shape.extend(kept_values.iter().map(|&i| of_values[i].size));
    let dims = dims.into_iter().chain(kept_values.iter().map(|&i| of_values[i])).collect::<Vec<_>>();
    let rank = layout.fields.len();
    let keys = SortedKeys { layout: &layout, words: &words, unique: true };
    let pattern = build::build(fold.op.name(), &[LevelKind::Sparse { rank }], dims, &keys)?;
    Ok(Groups { pattern, acc: Strided::new(acc, fold.typing.acc, shape), counts })
}

/// Where the segments under the dense levels begin and end, if exactly these are kept and one sparse level follows:
/// the pointers, with the empty segments. All positions together, if nothing is kept.
fn row_runs(pattern: &Pattern, dims: &[Dim]) -> Option<Vec<usize>> {
    if dims.is_empty() {
        return Some(if pattern.positions == 0 { vec![0] } else { vec![0, pattern.positions] });
    }
    let (last, above) = pattern.levels.split_last()?;
    let Level::Sparse { pointers: Some(pointers), .. } = last else { return None };
    let dense = above.iter().all(|l| l.kind() == LevelKind::Dense) && above.len() == dims.len();
    if !dense || dims != &pattern.level_dims()[..dims.len()] {
        return None;
    }
    let mut runs = zeroed_vec::<usize>(pointers.len());
    openwork_ops::with_index!(pointers.as_slice(), p => {
        use openwork_ops::structure::Index;
        let base = p[0].get();
        runs.iter_mut().zip(p).for_each(|(r, p)| *r = p.get() - base);
    });
    Some(runs)
}

/// Folds runs of rows of `block` elements, `per_row` of them per position.
fn rows(fold: &Fold, bytes: &[u8], runs: &[usize], per_row: usize, block: usize) -> Buffer {
    let (from, to) = (block * fold.typing.input.size(), block * fold.typing.acc.size());
    Buffer::build((runs.len() - 1) * to, |acc| {
        parallel::for_chunks_mut(acc, to, 256, &|first, acc| {
            for (i, row) in acc.chunks_exact_mut(to).enumerate() {
                let own = runs[first + i] * per_row..runs[first + i + 1] * per_row;
                fold.accumulate_rows(own.map(|r| &bytes[r * from..(r + 1) * from]), row);
            }
        });
    })
}

/// Folds into an accumulator per kept coordinate, where these are few.
fn scatter(fold: &Fold, pattern: &Pattern, values: &Strided, dims: &[Dim], size: usize) -> Result<Groups> {
    let mut weights = vec![0u64; pattern.level_dims];
    let mut step = 1u64;
    for (d, w) in pattern.level_dims().iter().zip(&mut weights).rev() {
        if dims.contains(d) {
            *w = step;
            step = step.wrapping_mul(d.size as u64);
        }
    }
    let mut counts = vec![0u64; size];
    let width = fold.typing.input.size();
    let bytes = values.dense_bytes();
    let acc = Buffer::build(size * fold.typing.acc.size(), |acc| {
        fold.fill_identity(acc);
        let compensated = Compensated::of(fold.op, fold.typing.input);
        let mut low = Vec::<u128>::new();
        if compensated.is_some() {
            low = zeroed_vec(acc.len().div_ceil(16));
        }
        let low = &mut bytemuck::cast_slice_mut::<u128, u8>(&mut low);
        let mut offsets = vec![0u64; parallel::GRAIN];
        let mut narrow = vec![0u32; parallel::GRAIN];
        for start in (0..pattern.positions).step_by(parallel::GRAIN) {
            let end = (start + parallel::GRAIN).min(pattern.positions);
            let (offsets, narrow) = (&mut offsets[..end - start], &mut narrow[..end - start]);
            pattern.linearize(&weights, start..end, offsets);
            for (k, &o) in narrow.iter_mut().zip(&*offsets) {
                *k = o as u32;
                counts[o as usize] += 1;
            }
            let values = &bytes[start * width..end * width];
            match compensated {
                Some(kernels) => (kernels.scatter)(values, narrow, acc, low),
                None => (fold.kernels.scatter)(values, narrow, acc),
            }
        }
        if compensated.is_some() {
            let n = acc.len();
            Compensated::finish(acc, &low[..n]);
        }
    });
    let touched: Vec<usize> = (0..size).filter(|&i| counts[i] > 0).collect();
    let order = openwork_ops::structure::IndexVec::U64(touched.iter().map(|&i| i as u64).collect());
    let acc = convert::gather_values(&Strided::new(acc, fold.typing.acc, vec![size]), &order);
    let places: Vec<u64> = touched.iter().map(|&i| i as u64).collect();
    let (layout, words) = convert::unravel(&places, &dims.iter().map(|d| d.size).collect::<Vec<_>>());
    let keys = SortedKeys { layout: &layout, words: &words, unique: true };
    let pattern = build::build(fold.op.name(), &[LevelKind::Sparse { rank: dims.len() }], dims.to_vec(), &keys)?;
    Ok(Groups { pattern, acc, counts: sort::pick(&counts, &touched) })
}

/// The new number of each kept axis, and the kept shape.
fn renumber(groups: &mut Groups, kept: &[usize]) {
    for d in &mut groups.pattern.dims {
        d.axis = kept.iter().position(|&a| a == d.axis).unwrap_or(d.axis);
    }
}

/// A fill that is one value along every reduced axis.
fn constant(fold: &Fold, s: &Sparse, fill: &Strided, kept: &[usize], axes: &[usize], k: u128) -> Result<Tensor> {
    let shape: Vec<usize> = kept.iter().map(|&a| s.shape[a]).collect();
    // The fill over the kept axes: any index along the reduced ones will do.
    let mut over_kept = fill.permute(kept);
    over_kept.shape = shape.clone();
    let core = over_kept.unbroadcast();
    check_count(fold, &core, k)?;
    let empty = map_scalars(&core, fold.typing.acc, |v| (fold.kernels.nfold)(v.cast(fold.typing.input), k));
    let empty = Strided { shape: core.shape.clone(), ..empty }.broadcast(&shape);
    let mut groups = group(fold, s, &s.values, kept)?;
    renumber(&mut groups, kept);
    let pattern = Arc::new(std::mem::replace(
        &mut groups.pattern,
        Pattern { levels: vec![], dims: vec![], level_dims: 0, positions: 0 },
    ));
    // What the unstored elements of each group add.
    let n = groups.acc.len();
    let block = pattern.block().max(1);
    let fills = blocks::collect(n, Source::at(&over_kept, &pattern), s.dtype());
    let mut added = vec![0u128; (n * fold.typing.acc.size()).div_ceil(16)];
    let added = &mut bytemuck::cast_slice_mut::<u128, u8>(&mut added)[..n * fold.typing.acc.size()];
    let neutral = constant_scalar(&core).is_some_and(|v| {
        (fold.kernels.nfold)(v.cast(fold.typing.input), 1).same((fold.kernels.nfold)(v.cast(fold.typing.input), 0))
    });
    if !neutral {
        for (i, out) in added.chunks_exact_mut(fold.typing.acc.size()).enumerate() {
            let value = fills.at_offset(i).cast(fold.typing.input);
            let unstored =
                k - u128::from(groups.counts[i / block]) + u128::from(faults::is(Fault::UnstoredCountedOnceMore));
            let (bytes, size) = (fold.kernels.nfold)(value, unstored).to_bytes();
            out.copy_from_slice(&bytes[..size]);
        }
        groups.acc = merged(fold, &groups.acc, added);
    }
    let values = fold.finish(&groups.acc, k);
    let fill = fill_of(&fold.finish(&empty, k));
    let out = Sparse { shape, pattern, values, fill };
    if out.pattern.level_dims == 0 || axes_are_inner(s, kept, axes) {
        let Background::Values(fill) = out.background() else { return Ok(out.into()) };
        return Ok(Tensor::from_strided(convert::to_strided(fold.op.name(), &out, &fill)?));
    }
    Ok(out.into())
}

/// Whether exactly the dense levels of a pattern are kept: then the result is as long as its pointers.
fn axes_are_inner(s: &Sparse, kept: &[usize], axes: &[usize]) -> bool {
    let p = &s.pattern;
    let dense = p.levels.iter().take_while(|l| l.kind() == LevelKind::Dense).count();
    dense > 0
        && p.level_dims()[..dense].iter().all(|d| kept.contains(&d.axis))
        && p.level_dims()[dense..].iter().all(|d| axes.contains(&d.axis))
}

fn constant_scalar(core: &Strided) -> Option<Scalar> {
    (core.len() == 1).then(|| core.at_offset(core.offset))
}

fn merged(fold: &Fold, acc: &Strided, other: &[u8]) -> Strided {
    let bytes = acc.dense_bytes();
    let buffer = Buffer::build(bytes.len(), |out| {
        out.copy_from_slice(&bytes);
        (fold.kernels.merge)(out, other);
    });
    Strided::new(buffer, acc.dtype, acc.shape.clone())
}

fn map_scalars(values: &Strided, dtype: DType, f: impl Fn(Scalar) -> Scalar) -> Strided {
    let dense = values.to_contiguous();
    let size = dtype.size();
    let buffer = Buffer::build(dense.len() * size, |out| {
        for (i, o) in out.chunks_exact_mut(size).enumerate() {
            o.copy_from_slice(&f(dense.at_offset(dense.offset + i)).to_bytes().0[..size]);
        }
    });
    Strided::new(buffer, dtype, values.shape.clone())
}

/// Counts are exact: a number of elements beyond what the result holds is an error.
fn check_count(fold: &Fold, fill: &Strided, k: u128) -> Result<()> {
    if fold.op != ReduceOp::CountNonzero || k <= i64::MAX as u128 {
        return Ok(());
    }
    let dense = fill.to_contiguous();
    if (0..dense.len()).all(|i| dense.at_offset(dense.offset + i).is_zero()) {
        return Ok(());
    }
    Err(error::invalid(
        "count_nonzero",
        "self",
        format!("{k} elements with a fill that is not zero: the count does not fit int64"),
    ))
}

/// A finite fill that varies along a reduced axis, under a sum: stored less fill there, plus all fill.
fn varying(fold: &Fold, s: &Sparse, fill: &Strided, kept: &[usize], axes: &[usize], k: u128) -> Result<Tensor> {
    let shape: Vec<usize> = kept.iter().map(|&a| s.shape[a]).collect();
    let total = total(fold, fill, kept, axes)?.broadcast(&shape);
    let groups_of = |values: &Strided| group(fold, s, values, kept);
    let mut groups = groups_of(&s.values)?;
    let beneath = blocks::collect(s.nse(), Source::at(fill, &s.pattern), s.dtype());
    let beneath = groups_of(&Strided {
        shape: s.values.shape.clone(),
        strides: crate::strided::c_strides(&s.values.shape),
        ..beneath
    })?;
    renumber(&mut groups, kept);
    let pattern = Arc::new(groups.pattern);
    let n = groups.acc.len();
    let totals = blocks::collect(n, Source::at(&total, &pattern), fold.typing.acc);
    let (add, sub) = match (BinaryOp::Add.kernel(fold.typing.acc), BinaryOp::Sub.kernel(fold.typing.acc)) {
        (Some(add), Some(sub)) => (Kernel::Binary(add), Kernel::Binary(sub)),
        _ => return Err(error::dtype(fold.op.name(), &[fold.typing.acc], "accumulators do not add")),
    };
    let acc = fold.typing.acc;
    let flat = |x: &Strided| Strided { shape: vec![n], strides: vec![1], ..x.clone() };
    let rest = blocks::map_strided(&[&totals, &flat(&beneath.acc)], acc, acc, sub);
    let sums = blocks::map_strided(&[&rest, &flat(&groups.acc)], acc, acc, add);
    let sums =
        Strided { shape: groups.acc.shape.clone(), strides: crate::strided::c_strides(&groups.acc.shape), ..sums };
    let out = Sparse { shape, values: fold.finish(&sums, k), fill: fill_of(&fold.finish(&total, k)), pattern };
    if out.pattern.level_dims == 0 || axes_are_inner(s, kept, axes) {
        let Background::Values(fill) = out.background() else { return Ok(out.into()) };
        return Ok(Tensor::from_strided(convert::to_strided(fold.op.name(), &out, &fill)?));
    }
    Ok(out.into())
}

/// The sum of a fill over the reduced axes: over those along which it varies by adding, times the rest.
fn total(fold: &Fold, fill: &Strided, kept: &[usize], axes: &[usize]) -> Result<Strided> {
    let core = fill.unbroadcast();
    let times = axes
        .iter()
        .filter(|&&a| core.shape[a] != fill.shape[a])
        .fold(1u128, |n, &a| n.saturating_mul(fill.shape[a] as u128));
    check_count(fold, &core, times)?;
    let acc = fold.strided_acc(&core, kept, axes);
    // In the accumulator's own arithmetic, integers wrapping.
    let times = |v: Scalar| match ReduceOp::Sum.typing(v.dtype()).and_then(|t| ReduceOp::Sum.kernels(t)) {
        Some(sum) => (sum.nfold)(v, times),
        None => v,
    };
    Ok(map_scalars(&acc, fold.typing.acc, times))
}

/// An undefined fill: only what is stored counts.
fn undefined(fold: &Fold, s: &Sparse, kept: &[usize], axes: &[usize]) -> Result<Tensor> {
    let mut groups = group(fold, s, &s.values, kept)?;
    renumber(&mut groups, kept);
    let shape: Vec<usize> = kept.iter().map(|&a| s.shape[a]).collect();
    let pattern = Arc::new(groups.pattern);
    if fold.op == ReduceOp::CountNonzero {
        let values = groups.acc.cast(fold.typing.out);
        let out = Sparse { shape, pattern, values, fill: Fill::Scalar(Scalar::zero(fold.typing.out)) };
        if out.pattern.level_dims == 0 || axes_are_inner(s, kept, axes) {
            let Background::Values(fill) = out.background() else { return Ok(out.into()) };
            return Ok(Tensor::from_strided(convert::to_strided(fold.op.name(), &out, &fill)?));
        }
        return Ok(out.into());
    }
    // A group of positions without elements (a value axis of size 0) has nothing in it either.
    let keep: Vec<usize> = (0..pattern.positions).filter(|&p| groups.counts[p] > 0).collect();
    let values = if fold.op == ReduceOp::Mean {
        let block = count(&groups.acc.shape[1..]);
        let counts: Vec<f64> = groups.counts.iter().flat_map(|&c| std::iter::repeat_n(c as f64, block)).collect();
        fold.divide(&groups.acc, &Strided::from_vec(counts, groups.acc.shape.clone()).cast(fold.typing.acc))
    } else {
        groups.acc.cast(fold.typing.out)
    };
    let out = Sparse { shape, pattern, values, fill: Fill::Undefined };
    convert::select_rows(fold.op.name(), &out, &keep).map(Into::into)
}
