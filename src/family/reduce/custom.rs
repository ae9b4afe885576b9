//! Reductions with a function of the caller's.

use openwork_ops::Element;

use crate::base::axes::Axes;
use crate::base::context;
use crate::base::error::{self, Result};
use crate::base::parallel;
use crate::base::strided::Strided;
use crate::engine::convert;
use crate::engine::slices::Slices;
use crate::tensor::Tensor;
use crate::tensor::trace;

/// # Reducing: by a function of your own
impl Tensor {
    /// Folds over some axes with a function, which must be associative and commutative, with `identity` as
    /// its neutral element: `x.reduce_with(0u64, |a, b| a ^ b, ..)`. `T` is the element type.
    ///
    /// Unstored elements count: a fill that is constant along the reduced axes is folded with itself by doubling; one that
    /// varies densifies within budget. Absent elements are skipped, and a slice with nothing in it is absent in the result.
    ///
    /// Cost: a sort where storage order is not that of the slices, then O(nse + slices that store something ·
    /// log(elements per slice)) calls. Slices are folded in parallel, each in C order. The layout of the result is that of
    /// [`Tensor::reduce`].
    ///
    /// ```
    /// use openwork::{Layout, Tensor};
    /// let x = Tensor::full([1 << 20, 3], 2i64, Layout::Coo)?; // nothing stored, fill 2
    /// let mods = x.reduce_with(1i64, |a, b| a * b % 1_000_003, 0)?;
    /// assert_eq!(mods.get([2])?, Some(512_410i64.into()));
    /// # Ok::<(), openwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// If `T` is not the element type, an axis is out of range or given twice, or the densify budget is exceeded.
    #[doc(alias("fold", "reduceat"))]
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
        call.end(reduce(self, &axes, given.keeps(), &Function { identity, f: &f }))
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
    fn results(&self, n: usize, one: &(dyn Fn(usize) -> T + Sync)) -> Strided {
        let mut out = vec![self.identity; n];
        parallel::for_chunks_mut(&mut out, 1, 1 << 10, &|first, part| {
            part.iter_mut().enumerate().for_each(|(i, o)| *o = one(first + i));
        });
        Strided::from_vec(out, vec![n])
    }
}

fn reduce<T: Element>(x: &Tensor, axes: &[usize], keepdims: bool, f: &Function<'_, T>) -> Result<Tensor> {
    let slices = Slices::without_positions(x, axes)?;
    if let (Some(s), Some(fill)) = (slices.source(), slices.fill().filter(|_| slices.fill_varies())) {
        context::may_densify(&s.shape, s.dtype().size(), || "the fill varies along a reduced axis".to_string())?;
        let dense = Tensor::from_strided(convert::to_strided(s, fill)?);
        return reduce(&dense, axes, keepdims, f);
    }
    let values = slices.values.typed::<T>().unwrap_or_default();
    let stored = |g: usize| &values[slices.ends[g]..slices.ends[g + 1]];
    let Some(fill) = slices.fill_over_kept() else {
        return slices.folded(f.results(slices.len(), &|g| f.fold(stored(g))), None, keepdims);
    };
    let fills = slices.at_slices(&fill)?;
    let fills = fills.typed::<T>().unwrap_or_default();
    let one = |g: usize| {
        let own = stored(g);
        (f.f)(f.fold(own), f.repeated(fills[g], slices.length - own.len() as u128))
    };
    let core = fill.unbroadcast();
    let dense = core.to_contiguous()?;
    let alone = dense.typed::<T>().unwrap_or_default().iter().map(|&v| f.repeated(v, slices.length)).collect();
    let alone = Strided::from_vec(alone, core.shape.clone()).broadcast(&fill.shape);
    slices.folded(f.results(slices.len(), &one), Some(alone), keepdims)
}
