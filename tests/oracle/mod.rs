//! An independent model of what every op means, for the law test: whole arrays of optional values,
//! one loop per op, no storage, nothing shared with the library. It is meant to be obviously right
//! and may be as slow as it likes.
//!
//! Floats are computed in f64 (with an error term where terms are added up) and rounded once to the
//! dtype. Every result is an [`Expected`]: the values, and for each how far a library may be off.

#![allow(dead_code, unused_imports)]
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

mod arithmetic;
mod binary;
mod compare;
mod complex;
mod double;
mod dtype;
mod einsum;
mod facts;
mod index;
mod matmul;
mod nary;
pub mod order;
mod promote;
mod rearrange;
mod reduce;
pub mod scan;
mod shape;
mod softmax;
mod special;
pub mod statistics;
mod total;
mod unary;
mod value;

pub use binary::{BINARY, binary, binary_dtype};
pub use compare::{compare, compare_data};
pub use dtype::{Kind, OType};
pub use einsum::{Spread, einsum, spread};
pub use index::{OIndex, named};
pub use matmul::{matmul, matmul_shape};
pub use nary::{agree, index_mapped, mapped, mask, united, where_};
pub use promote::promote;
pub use rearrange::{OPad, block_diag, concat, kron, outer, stack};
pub use reduce::{REDUCE, TOLERANCE, reduce, reduce_dtype};
pub use shape::{broadcast_shapes, indices, ravel, unravel};
pub use softmax::{Kin, kin_dtype, softmax_kin};
pub use unary::{UNARY, unary, unary_dtype};
pub use value::OValue;

use std::fmt;

/// A total function from index to value-or-absent.
#[derive(Clone, Debug, PartialEq)]
pub struct Oracle {
    pub shape: Vec<usize>,
    pub dtype: OType,
    /// In C order; `None` is absent.
    pub data: Vec<Option<OValue>>,
    /// Whether an unstored element is absent. It says more than `data` only where there are no
    /// elements: the sum of no elements is 0 when defined and absent when undefined.
    pub undefined: bool,
}

impl Oracle {
    /// Checks that the data fit the shape and the dtype. Undefined if some element is absent.
    pub fn new(shape: &[usize], dtype: OType, data: Vec<Option<OValue>>) -> Oracle {
        assert_eq!(shape.iter().product::<usize>(), data.len(), "data do not fill the shape {shape:?}");
        for value in data.iter().flatten() {
            assert!(value.belongs_to(dtype), "{value:?} is not a value of {}", dtype.name());
        }
        let undefined = data.contains(&None);
        Oracle { shape: shape.to_vec(), dtype, data, undefined }
    }

    /// The same values of a tensor whose fill is undefined, whether or not any is absent.
    pub fn with_undefined(mut self, undefined: bool) -> Oracle {
        assert!(undefined || !self.data.contains(&None), "an absent element in a defined tensor");
        self.undefined = undefined;
        self
    }

    /// Every element present, cast from f64 to the dtype.
    pub fn from_f64(shape: &[usize], dtype: OType, data: &[f64]) -> Oracle {
        let data = data.iter().map(|&x| Some(OValue::Float(x).cast(dtype))).collect();
        Oracle::new(shape, dtype, data)
    }

    /// Every element the same.
    pub fn full(shape: &[usize], dtype: OType, value: Option<OValue>) -> Oracle {
        Oracle::new(shape, dtype, vec![value; shape.iter().product()])
    }

    /// Of rank 0.
    pub fn scalar(dtype: OType, value: Option<OValue>) -> Oracle {
        Oracle::full(&[], dtype, value)
    }

    /// The element at an index; outside the shape is a mistake of the test.
    pub fn at(&self, index: &[usize]) -> Option<OValue> {
        self.data[ravel(index, &self.shape)]
    }

    pub fn ndim(&self) -> usize {
        self.shape.len()
    }
}

/// What a library should give, and how far from it each element may lie.
#[derive(Clone, Debug)]
pub struct Expected {
    pub value: Oracle,
    /// Greatest absolute difference for each element (for complex: of each part); 0 is exact, and with
    /// infinity any value will do.
    pub slack: Vec<f64>,
    /// Sum over |terms| for each element of a float or complex `sum`, `mean` or `matmul` (complex:
    /// of the moduli of the parts); empty for every other op.
    pub abs_sum: Vec<f64>,
    /// Number of present terms behind each element of a reduction or `matmul`; else empty.
    pub terms: Vec<usize>,
}

impl Expected {
    /// Every tolerance multiplied by a factor.
    pub fn loosened(mut self, factor: f64) -> Expected {
        self.slack.iter_mut().for_each(|s| *s *= factor);
        self
    }
}

impl From<Oracle> for Expected {
    /// To be met exactly.
    fn from(value: Oracle) -> Expected {
        let slack = vec![0.0; value.data.len()];
        Expected { value, slack, abs_sum: Vec::new(), terms: Vec::new() }
    }
}

/// Why an op has no result. A library must give an error then.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refused {
    /// The op is not defined on this dtype.
    Dtype,
    /// The dtypes have no common dtype: u64 with a signed integer.
    Promotion,
    /// The shapes do not fit each other or the op.
    Shape,
    /// An axis out of range or named twice.
    Axis,
    /// min or max of no elements in a defined tensor.
    Empty,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "refused: {self:?}")
    }
}

impl std::error::Error for Refused {}

/// Whether the op on operands of that (promoted) dtype is one correctly rounded step, or a fixed
/// chain of them, so that a library has no freedom: all but transcendental functions, and in complex
/// arithmetic only what works part by part.
pub fn is_exact(op: &str, dtype: OType) -> bool {
    match op {
        "exp" | "exp2" | "expm1" | "log" | "log2" | "log10" | "log1p" | "rsqrt" => false,
        "sin" | "cos" | "tan" | "sinh" | "cosh" | "tanh" | "atan2" | "hypot" | "deg2rad" | "rad2deg" => false,
        "asin" | "acos" | "atan" | "asinh" | "acosh" | "atanh" => false,
        "hardsigmoid" | "softsign" | "erfinv" | "angle" => false,
        "sigmoid" | "logit" | "softplus" | "silu" | "gelu" | "leaky_relu" | "elu" => false,
        "erf" | "erfc" | "lgamma" | "digamma" | "logaddexp" | "xlogy" => false,
        "pow" => dtype.is_int(),
        "mul" | "div" | "square" | "sqrt" | "reciprocal" | "abs" | "sign" => !dtype.is_complex(),
        _ => true,
    }
}

/// Tolerance of an op that is not exact, in units in the last place of the result; for complex
/// dtypes of its modulus. One for f16 and bf16, which are rounded from a result in f32.
pub fn ulps(op: &str, dtype: OType) -> f64 {
    match dtype {
        _ if is_exact(op, dtype) => 0.0,
        OType::F16 | OType::BF16 => 1.0,
        OType::Complex64 | OType::Complex128 => 16.0,
        _ => 4.0,
    }
}

/// Whether a complex op on these parts may overflow on its way, or meets NaN or infinity: formulas for
/// complex functions differ there in which part becomes what, so that nothing is expected but presence.
fn is_wild(dtype: OType, values: &[OValue]) -> bool {
    let (large, small) = (dtype.float_max().sqrt() / 4.0, dtype.float_min().sqrt() * 4.0);
    let wild = |x: f64| !x.is_finite() || x.abs() > large || (x != 0.0 && x.abs() < small);
    values.iter().any(|v| match *v {
        OValue::Complex(re, im) => wild(re) || wild(im),
        _ => false,
    })
}

/// That many ulps of a result, as an absolute difference.
fn ulps_at(ulps: f64, dtype: OType, value: OValue) -> f64 {
    if ulps == 0.0 {
        return 0.0;
    }
    match value {
        OValue::Float(x) => ulps * dtype.ulp(x),
        OValue::Complex(re, im) => ulps * dtype.ulp(complex::modulus((re, im))),
        OValue::Bool(_) | OValue::Int(_) => 0.0,
    }
}
