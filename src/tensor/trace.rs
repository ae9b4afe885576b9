//! The scope of a public op: see [`crate::base::trace`].

use crate::base::error::Result;
use crate::base::mapped::Mapped;
use crate::base::shape;
use crate::base::trace::{Operands, Scope, Told};
use crate::tensor::Tensor;

/// An op that runs: `let call = trace::call("sort", &[self]); …; Ok(call.done(out))`.
pub(crate) struct Call(Scope);

/// Opens the scope of an op over its operands.
pub(crate) fn call(op: &'static str, operands: &[&Tensor]) -> Call {
    Call(Scope::open(op, || Operands {
        sparse: operands.iter().filter(|t| !t.is_strided()).map(|t| shape::elements(t.shape())).min(),
        in_words: operands.mapped(|t| t.summary()),
    }))
}

impl Call {
    /// The op is done and this is its result.
    pub(crate) fn done<T: Outcome>(self, out: T) -> T {
        self.ends(&out);
        out
    }

    /// What was asked for is made or found. Constructors and accessors are no steps of a computation.
    pub(crate) fn given<T>(self, out: T) -> T {
        self.0.forget();
        out
    }

    /// As [`Call::given`], if the last part did not fail.
    pub(crate) fn gives<T>(self, out: Result<T>) -> Result<T> {
        out.map(|out| self.given(out))
    }

    /// The op is done if its last part did not fail.
    pub(crate) fn end<T: Outcome>(self, out: Result<T>) -> Result<T> {
        if let Ok(out) = &out {
            self.ends(out);
        }
        out
    }

    fn ends<T: Outcome>(self, out: &T) {
        self.0.end(|| Told { is_strided: out.is_dense(), elements: out.elements(), in_words: out.in_words() });
    }
}

/// What an op may result in.
pub(crate) trait Outcome {
    /// Whether nothing of it is sparse.
    fn is_dense(&self) -> bool;

    /// How many elements it has, stored or not.
    fn elements(&self) -> u64 {
        u64::MAX
    }

    fn in_words(&self) -> String;
}

impl Outcome for Tensor {
    fn is_dense(&self) -> bool {
        self.is_strided()
    }

    fn elements(&self) -> u64 {
        shape::elements(self.shape())
    }

    fn in_words(&self) -> String {
        self.summary()
    }
}

/// No tensor: a number, an answer, a count.
macro_rules! plain {
    ($($ty:ty),* $(,)?) => {$(
        impl Outcome for $ty {
            fn is_dense(&self) -> bool {
                true
            }

            fn in_words(&self) -> String {
                format!("{self:?}")
            }
        }
    )*};
}
plain!((), bool, usize, isize, u64, u128, i64, f64, openwork_ops::Scalar, openwork_ops::DType);

impl<T: Outcome> Outcome for Vec<T> {
    fn is_dense(&self) -> bool {
        self.iter().all(T::is_dense)
    }

    fn in_words(&self) -> String {
        format!("[{}]", self.mapped(T::in_words).join("; "))
    }
}

impl<T: Outcome> Outcome for Option<T> {
    fn is_dense(&self) -> bool {
        self.as_ref().is_none_or(T::is_dense)
    }

    fn in_words(&self) -> String {
        self.as_ref().map_or_else(|| "none".into(), T::in_words)
    }
}

impl<T: Outcome, const N: usize> Outcome for [T; N] {
    fn is_dense(&self) -> bool {
        self.iter().all(T::is_dense)
    }

    fn in_words(&self) -> String {
        format!("[{}]", self.mapped(T::in_words).join("; "))
    }
}

impl<A: Outcome, B: Outcome> Outcome for (A, B) {
    fn is_dense(&self) -> bool {
        self.0.is_dense() && self.1.is_dense()
    }

    fn in_words(&self) -> String {
        format!("({}; {})", self.0.in_words(), self.1.in_words())
    }
}

impl<T> Outcome for &[T] {
    fn is_dense(&self) -> bool {
        true
    }

    fn in_words(&self) -> String {
        format!("{} elements", self.len())
    }
}

impl<A: Outcome, B: Outcome, C: Outcome> Outcome for (A, B, C) {
    fn is_dense(&self) -> bool {
        self.0.is_dense() && self.1.is_dense() && self.2.is_dense()
    }

    fn in_words(&self) -> String {
        format!("({}; {}; {})", self.0.in_words(), self.1.in_words(), self.2.in_words())
    }
}
