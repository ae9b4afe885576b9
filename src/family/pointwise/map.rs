//! A user's function on typed elements.

use crate::base::mapped::Mapped;
use openwork_ops::Element;

use super::of_kernel;
use crate::base::error::{self, Result};
use crate::tensor::Tensor;
use crate::tensor::trace;

/// The operands of a typed function have its element types.
pub(super) fn typed(operands: &[(&Tensor, openwork_ops::DType)]) -> Result<()> {
    match operands.iter().position(|(x, want)| x.dtype() != *want) {
        None => Ok(()),
        Some(i) => {
            let given: Vec<_> = operands.mapped(|(x, _)| x.dtype());
            let why = format!("the function takes {} as operand {i}; cast the tensor first", operands[i].1);
            Err(error::dtype(&given, why))
        }
    }
}

/// # Computing: functions of your own
///
/// A user's function on every element. The function should depend on its arguments alone: it runs in no fixed order,
/// on several threads, and also on the fill.
///
/// **Fill:** the function of the fills. With an undefined fill an element exists where it does in all operands.
/// Layouts and fills may be mixed, shapes broadcast; the patterns are walked once and nothing is stored in between.
/// No function is known to annihilate, so that zeros of one operand do not hide another's elements.
///
/// **Cost:** O(nse of all operands + size of the result's fill).
///
/// **Errors:** an element type that is not the tensor's dtype (elements are never cast on the way), shapes that do not
/// broadcast, a result that is not sparse and exceeds the densify budget.
impl Tensor {
    /// `f(x)` on every element. See above for fill, cost and errors.
    ///
    /// ```
    /// use openwork::{Fill, Layout, Tensor};
    /// let x = Tensor::eye(3, openwork::DType::F64, Layout::Csr)?;
    /// let y = x.map(|v: f64| (v * 10.0) as i32 - 1)?;
    /// assert_eq!((y.nse(), y.fill()), (3, Some(&Fill::from(-1))));
    /// # Ok::<(), openwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the dtype is not that of `A`.
    #[doc(alias("apply", "vectorize"))]
    pub fn map<A: Element, B: Element>(&self, f: impl Fn(A) -> B + Sync) -> Result<Tensor> {
        let call = trace::call("map", &[self]);
        call.end(self.map_as(f))
    }

    fn map_as<A: Element, B: Element>(&self, f: impl Fn(A) -> B + Sync) -> Result<Tensor> {
        typed(&[(self, A::DTYPE)])?;
        let kernel = |x: &[&[u8]], out: &mut [u8]| {
            for (o, &v) in B::from_bytes_mut(out).iter_mut().zip(A::from_bytes(x[0])) {
                *o = f(v);
            }
        };
        of_kernel(&[A::DTYPE], B::DTYPE, &kernel, &[self])
    }

    /// `f(x, y)` on every pair of elements. See above for fill, cost and errors.
    ///
    /// ```
    /// use openwork::{Layout, tensor};
    /// let x = tensor![[1.0, 0.0, 5.0]; Layout::Csr, 0.0]?;
    /// let y = x.zip_with(&tensor![[1.0, 2.0, 0.0]; Layout::Csr, 0.0]?, |a: f64, b: f64| (a - b).abs())?;
    /// assert_eq!((y.nse(), y.to_vec::<f64>()?), (3, vec![0.0, 2.0, 5.0]));
    /// # Ok::<(), openwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// If a dtype is not that of the function's argument, or shapes do not broadcast.
    #[doc(alias("frompyfunc"))]
    pub fn zip_with<A: Element, B: Element, C: Element>(
        &self,
        other: &Tensor,
        f: impl Fn(A, B) -> C + Sync,
    ) -> Result<Tensor> {
        let call = trace::call("zip_with", &[self, other]);
        typed(&[(self, A::DTYPE), (other, B::DTYPE)])?;
        let kernel = |x: &[&[u8]], out: &mut [u8]| {
            let (a, b) = (A::from_bytes(x[0]), B::from_bytes(x[1]));
            for ((o, &a), &b) in C::from_bytes_mut(out).iter_mut().zip(a).zip(b) {
                *o = f(a, b);
            }
        };
        let computes = &[A::DTYPE, B::DTYPE];
        call.end(of_kernel(computes, C::DTYPE, &kernel, &[self, other]))
    }

    /// `f(x, y, z)` on every triple of elements, so that `a * b + c` makes no intermediate tensor. See above for fill,
    /// cost and errors.
    ///
    /// # Errors
    /// If a dtype is not that of the function's argument, or shapes do not broadcast.
    pub fn zip_with3<A: Element, B: Element, C: Element, D: Element>(
        &self,
        second: &Tensor,
        third: &Tensor,
        f: impl Fn(A, B, C) -> D + Sync,
    ) -> Result<Tensor> {
        let call = trace::call("zip_with3", &[self, second, third]);
        typed(&[(self, A::DTYPE), (second, B::DTYPE), (third, C::DTYPE)])?;
        let kernel = |x: &[&[u8]], out: &mut [u8]| {
            let (a, b, c) = (A::from_bytes(x[0]), B::from_bytes(x[1]), C::from_bytes(x[2]));
            for (((o, &a), &b), &c) in D::from_bytes_mut(out).iter_mut().zip(a).zip(b).zip(c) {
                *o = f(a, b, c);
            }
        };
        let computes = &[A::DTYPE, B::DTYPE, C::DTYPE];
        call.end(of_kernel(computes, D::DTYPE, &kernel, &[self, second, third]))
    }

    /// `f([x₀, x₁, …])` on the elements of any number of tensors of one dtype. See above for fill, cost and errors.
    ///
    /// ```
    /// use openwork::{Layout, Tensor};
    /// let a = Tensor::random([100, 100], 0.1, 0.0, Layout::Csr, 1)?;
    /// let b = Tensor::random([100, 100], 0.1, 0.0, Layout::Coo, 2)?;
    /// let c = Tensor::from_vec([100], vec![1.0; 100])?; // a strided row
    /// let fused = Tensor::zip_many(&[&a, &b, &c], |v: &[f64]| v[0] * v[1] + v[2])?;
    /// assert!(fused.equal(&((&a * &b)? + &c)?)?);
    /// # Ok::<(), openwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// If no tensor is given, a dtype is not that of `A`, or shapes do not broadcast.
    pub fn zip_many<A: Element, B: Element>(operands: &[&Tensor], f: impl Fn(&[A]) -> B + Sync) -> Result<Tensor> {
        let call = trace::call("zip_many", operands);
        if operands.is_empty() {
            return Err(error::invalid("operands", "none given; at least one tensor is needed"));
        }
        typed(&operands.mapped(|&x| (x, A::DTYPE)))?;
        let kernel = |x: &[&[u8]], out: &mut [u8]| {
            let columns: Vec<&[A]> = x.mapped(|b| A::from_bytes(b));
            let mut row = vec![A::default(); columns.len()];
            for (i, o) in B::from_bytes_mut(out).iter_mut().enumerate() {
                row.iter_mut().zip(&columns).for_each(|(v, column)| *v = column[i]);
                *o = f(&row);
            }
        };
        let computes = vec![A::DTYPE; operands.len()];
        call.end(of_kernel(&computes, B::DTYPE, &kernel, operands))
    }

    /// `f(x)` on the stored elements alone; the fill stays what it is. It is
    /// `self.stored().map(f).replace_fill(fill)`, so it looks at storage; on a strided tensor, all of which is
    /// stored, it is [`Tensor::map`].
    ///
    /// Cost: O(nse).
    ///
    /// ```
    /// use openwork::{Layout, tensor};
    /// let x = tensor![[1.0, 0.0, 5.0]; Layout::Csr, 0.0]?;
    /// assert_eq!(x.apply_stored(|v: f64| v + 1.0)?.to_vec::<f64>()?, [2.0, 0.0, 6.0]);
    /// assert_eq!(x.add(1.0)?.to_vec::<f64>()?, [2.0, 1.0, 6.0]); // an op computes the fill too
    /// # Ok::<(), openwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the dtype is not that of `A`.
    pub fn apply_stored<A: Element>(&self, f: impl Fn(A) -> A + Sync) -> Result<Tensor> {
        let call = trace::call("apply_stored", &[self]);
        let mapped = self.stored().map_as(f)?;
        let out = match self.fill() {
            Some(fill) => mapped.replace_fill(fill.clone()),
            None => Ok(mapped),
        };
        call.end(out)
    }
}
