//! Reductions with a function of the caller's.

use std::ops::Range;
use std::sync::Arc;

use openwork_ops::{Element, Scalar};

use crate::base::axes::Axes;
use crate::base::context;
use crate::base::error::{self, Result};
use crate::base::parallel;
use crate::base::strided::Strided;
use crate::engine::blocks::{self, Source};
use crate::engine::convert;
use crate::levels::layout::{Layout, LevelSpec};
use crate::levels::level::{Level, LevelKind};
use crate::levels::pattern::{Dim, Part, Pattern};
use crate::tensor::fill::{Fill, fill_of};
use crate::tensor::trace;
use crate::tensor::{Sparse, Storage, Tensor};

impl Tensor {
    /// Folds over some axes with a function, which must be associative and commutative, with `identity` as
    /// its neutral element: `x.reduce_with(0u64, |a, b| a ^ b, ..)`. `T` is the element type.
    ///
    /// Unstored elements count: a fill that is constant along the reduced axes is folded with itself by doubling; one that
    /// varies densifies within budget. Absent elements are skipped, and a slice with nothing in it is absent in the result.
    ///
    /// Cost: a conversion that brings the reduced axes last, then O(nse + results · log(elements per slice)) calls. Slices
    /// are folded in parallel, each in order.
    ///
    /// ```
    /// use openwork::{Layout, Tensor};
    /// let x = Tensor::full(&[1 << 20, 3], 2i64, Layout::Coo)?; // nothing stored, fill 2
    /// let mods = x.reduce_with(1i64, |a, b| a * b % 1_000_003, 0)?;
    /// assert_eq!(mods.get(&[2])?, Some(512_410i64.into()));
    /// # Ok::<(), openwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// If `T` is not the element type, an axis is out of range or given twice, or the densify budget is exceeded.
    pub fn reduce_with<T: Element>(
        &self,
        identity: T,
        f: impl Fn(T, T) -> T + Sync,
        axes: impl Into<Axes>,
    ) -> Result<Tensor> {
        let call = trace::call("reduce_with", &[self]);
        if T::DTYPE != self.dtype() {
            let why = "the function takes another element type than the tensor's; cast first";
            return Err(error::dtype(&[self.dtype(), T::DTYPE], why));
        }
        let given = axes.into();
        let axes = given.of(self.ndim())?;
        let kept: Vec<usize> = (0..self.ndim()).filter(|a| !axes.contains(a)).collect();
        let out = reduce(self, &kept, &axes, &Function { identity, f: &f })?;
        let out = if given.keeps() { out.expand_dims(&axes)? } else { out };
        Ok(call.done(out))
    }
}

struct Function<'a, T> {
    identity: T,
    f: &'a (dyn Fn(T, T) -> T + Sync),
}

impl<T: Element> Function<'_, T> {
    fn fold(&self, values: &[T]) -> T {
        values.iter().fold(self.identity, |acc, &v| (self.f)(acc, v))
    }

    /// `n` times the same value, by doubling.
    fn repeated(&self, value: T, mut n: u128) -> T {
        let (mut acc, mut power) = (self.identity, value);
        while n > 0 {
            if n % 2 == 1 {
                acc = (self.f)(acc, power);
            }
            n /= 2;
            if n > 0 {
                power = (self.f)(power, power);
            }
        }
        acc
    }

    /// `one(i)` for every result.
    fn results(&self, n: usize, one: &(dyn Fn(usize) -> T + Sync)) -> Vec<T> {
        let mut out = vec![self.identity; n];
        parallel::for_chunks_mut(&mut out, 1, 1 << 10, &|first, part| {
            part.iter_mut().enumerate().for_each(|(i, o)| *o = one(first + i));
        });
        out
    }

    fn strided(&self, s: &Strided, kept: &[usize], axes: &[usize]) -> Tensor {
        let order: Vec<usize> = kept.iter().chain(axes).copied().collect();
        let shape: Vec<usize> = kept.iter().map(|&a| s.shape[a]).collect();
        let k: usize = axes.iter().map(|&a| s.shape[a]).product();
        let rows = s.permute(&order);
        let rows = rows.to_contiguous();
        let values = rows.typed::<T>().unwrap_or_default();
        let out = self.results(crate::base::strided::count(&shape), &|i| self.fold(&values[i * k..(i + 1) * k]));
        Tensor::from_strided(Strided::from_vec(out, shape))
    }
}

fn reduce<T: Element>(x: &Tensor, kept: &[usize], axes: &[usize], f: &Function<'_, T>) -> Result<Tensor> {
    let s = match &x.storage {
        Storage::Strided(s) => return Ok(f.strided(s, kept, axes)),
        Storage::Sparse(s) => s,
    };
    let background = s.fill_values();
    if let Some(fill) = &background
        && axes.iter().any(|&a| fill.strides[a] != 0 && fill.shape[a] > 1)
    {
        context::may_densify(&s.shape, s.dtype().size(), || "the fill varies along a reduced axis".to_string())?;
        let dense = convert::to_strided(s, fill)?;
        return Ok(f.strided(&dense, kept, axes));
    }
    let k = axes.iter().try_fold(1u128, |n, &a| n.checked_mul(s.shape[a] as u128));
    let k = k.ok_or_else(|| error::shape(&[&s.shape], "more than 2^128 elements fold into one"))?;
    let (pattern, segments, values) = segments(s, kept, axes)?;
    let pattern = Arc::new(pattern);
    let values = values.to_contiguous();
    let values = values.typed::<T>().unwrap_or_default();
    let stored = |i: usize| f.fold(&values[segments(i)]);
    let shape: Vec<usize> = kept.iter().map(|&a| s.shape[a]).collect();
    let n = pattern.positions;
    let (values, fill) = match &background {
        None => (f.results(n, &stored), Fill::Undefined),
        Some(fill) => {
            let mut over_kept = fill.permute(kept);
            over_kept.shape = shape.clone();
            let fills = blocks::collect(n, Source::at(&over_kept, &pattern), s.dtype());
            let fills = fills.to_contiguous();
            let fills = fills.typed::<T>().unwrap_or_default();
            let one = |i: usize| (f.f)(stored(i), f.repeated(fills[i], k - segments(i).len() as u128));
            let core = over_kept.unbroadcast();
            let dense = core.to_contiguous();
            let all: Vec<T> = dense.typed::<T>().unwrap_or_default().iter().map(|&v| f.repeated(v, k)).collect();
            (f.results(n, &one), fill_of(&Strided::from_vec(all, core.shape.clone()).broadcast(&shape)))
        }
    };
    let values = Strided::from_vec(values, vec![n]);
    let out = Sparse { shape, pattern, values, fill };
    let out = match out.fill_values() {
        Some(fill) if kept.is_empty() => Tensor::from_strided(convert::to_strided(&out, &fill)?),
        _ => out.into(),
    };
    Ok(out)
}

/// The pattern over the kept axes of what is stored, the values under each of its positions, and all values in order.
type Segments = (Pattern, Box<dyn Fn(usize) -> Range<usize> + Sync>, Strided);

fn segments(s: &Sparse, kept: &[usize], axes: &[usize]) -> Result<Segments> {
    let rank = |axes: &[usize]| LevelKind::Sparse { rank: axes.len() };
    // Without axes on either side, one level holds the others.
    let levels = match (kept, axes) {
        ([], _) => vec![rank(axes)],
        (_, []) => vec![rank(kept)],
        _ => vec![rank(kept), rank(axes)],
    };
    let dims = kept.iter().chain(axes).map(|&a| (a, Part::Whole)).collect();
    let s = convert::convert(s, &LevelSpec { levels, dims })?;
    let dims: Vec<Dim> = kept.iter().enumerate().map(|(i, &a)| Dim::whole(i, s.shape[a])).collect();
    let positions = s.pattern.positions;
    if kept.is_empty() {
        // One result if anything is stored, or else none: a level of rank 0.
        let some = usize::from(positions > 0);
        let one = Tensor::coo(
            &[],
            Vec::<Vec<u64>>::new(),
            &Tensor::full(&[some], Scalar::I8(0), Layout::Strided)?,
            Fill::Undefined,
        )?;
        let pattern = one.sparse().map(|s| (*s.pattern).clone());
        let pattern = pattern.ok_or_else(|| error::layout("no pattern"))?;
        return Ok((pattern, Box::new(move |_| 0..positions), s.values.clone()));
    }
    let first = s.pattern.levels[0].clone();
    match s.pattern.levels.get(1) {
        Some(Level::Sparse { pointers: Some(pointers), .. }) => {
            let pointers = pointers.clone();
            let n = pointers.len() - 1;
            let pattern = Pattern { levels: vec![first], level_dims: dims.len(), dims, positions: n };
            let base = pointers.get(0);
            Ok((pattern, Box::new(move |i| pointers.get(i) - base..pointers.get(i + 1) - base), s.values.clone()))
        }
        _ => {
            let pattern = Pattern { levels: vec![first], level_dims: dims.len(), dims, positions };
            Ok((pattern, Box::new(|i| i..i + 1), s.values.clone()))
        }
    }
}
