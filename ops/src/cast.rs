//! Casts of whole blocks between dtypes.

use crate::dtype::{DType, Element};
use crate::scalar::Cast;
use crate::with_dtype;

/// Casts every element of `input` (of dtype `from`) into `output` (of dtype `to`), which has the same
/// number of elements. Total: see [`Cast`].
pub fn cast_block(from: DType, input: &[u8], to: DType, output: &mut [u8]) {
    debug_assert_eq!(input.len() / from.size(), output.len() / to.size());
    if from == to {
        output.copy_from_slice(input);
        return;
    }
    with_dtype!(from, A => with_dtype!(to, B => cast_typed::<A, B>(A::from_bytes(input), B::from_bytes_mut(output))));
}

fn cast_typed<A: Cast, B: Cast>(input: &[A], output: &mut [B]) {
    for (o, &i) in output.iter_mut().zip(input) {
        *o = B::narrow(i.widen());
    }
}
