//! Which elements are among some others.

use openwork_ops::among::Known;
use openwork_ops::cast::cast_block;
use openwork_ops::{DType, order, promote};

use super::{on_values, unique};
use crate::base::buffer::zeroed_vec;
use crate::base::error::{self, Result};
use crate::base::faults::{self, Fault};
use crate::base::parallel::{self, GRAIN};
use crate::base::strided::{Strided, dense_len};
use crate::tensor::Tensor;
use crate::tensor::trace;

impl Tensor {
    /// Whether each element is one of `test_elements`, whatever their shape: `bool`, of this tensor's shape and pattern. NaN is
    /// among none, and absent elements stay absent. The fill of `test_elements` is one of them where an element is not stored.
    ///
    /// Cost: O(nse + m log m) for `m` stored test elements, and O(nse log m) where these are neither few nor near each other.
    ///
    /// ```
    /// use openwork::{Layout, tensor};
    /// let x = tensor![[3, 0, 0], [0, 7, 4]; Layout::Csr, 0]?;
    /// let found = x.isin(&tensor![7, 3, 5])?;
    /// assert_eq!(found.to_vec::<bool>()?, [true, false, false, false, true, false]);
    /// assert_eq!(found.nse(), 3);
    /// # Ok::<(), openwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the dtypes have no common one, or as [`Tensor::unique_values`] of `test_elements`.
    #[doc(alias("in1d"))]
    pub fn isin(&self, test_elements: &Tensor) -> Result<Tensor> {
        let call = trace::call("isin", &[self, test_elements]);
        call.end(among(self, test_elements))
    }
}

fn among(x: &Tensor, others: &Tensor) -> Result<Tensor> {
    let dtypes = [x.dtype(), others.dtype()];
    let dtype = promote(dtypes[0], dtypes[1])
        .ok_or_else(|| error::dtype(&dtypes, "no dtype holds the values of both; cast one side"))?;
    // A complex number is a pair of keys.
    let (part, parts) = match dtype {
        DType::Complex64 => (DType::F32, 2),
        DType::Complex128 => (DType::F64, 2),
        _ => (dtype, 1),
    };
    let others = unique::distinct(others)?.cast(dtype);
    let mut keys = zeroed_vec(others.len() * parts);
    order::keys(part, &others.dense_bytes()?, &mut keys);
    let is_number = |key: &u64| !order::has_nan(part) || *key != order::NAN;
    let known = if parts == 1 {
        keys.retain(is_number);
        if faults::is(Fault::LastUnknown) {
            keys.pop();
        }
        Known::of(keys)
    } else {
        Known::of_pairs(keys.as_chunks().0.iter().filter(|pair: &&[u64; 2]| pair.iter().all(is_number)))
    };
    const STRETCH: usize = 1024;
    on_values(x, &|x| {
        let core = x.unbroadcast();
        let [own, size] = [x.dtype.size(), dtype.size()];
        dense_len(&core.shape, DType::Bool)?;
        let mut found = zeroed_vec::<bool>(core.len());
        parallel::for_chunks_mut(&mut found, 1, GRAIN, &|start, found| {
            let ([mut bytes, mut cast], mut keys) = ([[0u128; STRETCH]; 2], [0; 2 * STRETCH]);
            for (i, found) in found.chunks_mut(STRETCH).enumerate() {
                let mut bytes: &mut [u8] = &mut bytemuck::cast_slice_mut(&mut bytes)[..found.len() * own];
                core.read(start + i * STRETCH, bytes);
                if x.dtype != dtype {
                    let cast: &mut [u8] = &mut bytemuck::cast_slice_mut(&mut cast)[..found.len() * size];
                    cast_block(x.dtype, bytes, dtype, cast);
                    bytes = cast;
                }
                let keys = &mut keys[..found.len() * parts];
                order::keys(part, bytes, keys);
                known.look_up(keys, found);
            }
        });
        Ok(Strided::from_vec(found, core.shape.clone()).broadcast(&x.shape))
    })
}
