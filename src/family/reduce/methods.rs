//! One method per registered fold.

use openwork_ops::{ReduceOp, for_each_reduce};

use crate::base::axes::Axes;
use crate::base::error::Result;
use crate::tensor::Tensor;

macro_rules! reduce_methods {
    ($(($op:ident, $name:ident, $doc:literal),)*) => {
        /// # Reducing: sums, products, extremes, counts
        ///
        /// Over some [`Axes`]: see [`Tensor::reduce`] for fill, cost and errors.
        impl Tensor {
            $(
                #[doc = $doc]
                #[doc = example!($name)]
                ///
                /// # Errors
                /// As [`Tensor::reduce`].
                pub fn $name(&self, axes: impl Into<Axes>) -> Result<Tensor> {
                    self.reduce(ReduceOp::$op, axes)
                }
            )*
        }
    };
}
for_each_reduce!(reduce_methods);
