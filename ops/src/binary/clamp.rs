//! Elements put between two limits, as [`BinaryOp::Maximum`](super::BinaryOp) and `Minimum` do one after the other.

use crate::dtype::DType;
use crate::groups::{Store, map, map_at_level};
use crate::scalar::Scalar;
use crate::simd::Half;
use crate::{bf16, f16};

/// Half-precision elements that are wide at a time.
const AT_ONCE: usize = 512;

#[inline(always)]
fn between<T: PartialOrd + Copy>(x: T, low: T, high: T) -> T {
    #[allow(clippy::eq_op)] // what is not equal to itself is no number
    let above = if (x > low) | (x != x) { x } else { low };
    #[allow(clippy::eq_op)]
    if (above < high) | (above != above) { above } else { high }
}

/// `min(max(x, low), high)` of a block; both limits are of its dtype. NaN stays, also that of a limit.
pub fn clamp(dtype: DType, x: &[u8], limits: [Scalar; 2], out: &mut [u8]) {
    fn run<T: Store + PartialOrd>(x: &[u8], low: T, high: T, out: &mut [u8]) {
        let f = |x: T| between(x, low, high);
        if const { size_of::<T>() >= 4 } { map_at_level(x, out, f) } else { map(x, out, f) }
    }
    fn halves<H: Half>(x: &[u8], low: f32, high: f32, out: &mut [u8]) {
        let (mut wide, mut found) = ([0f32; AT_ONCE], [0f32; AT_ONCE]);
        for (x, out) in H::from_bytes(x).chunks(AT_ONCE).zip(H::from_bytes_mut(out).chunks_mut(AT_ONCE)) {
            let (wide, found) = (&mut wide[..x.len()], &mut found[..x.len()]);
            H::widen_all(x, wide);
            found.iter_mut().zip(wide).for_each(|(o, &mut x)| *o = between(x, low, high));
            H::round_all(found, out);
        }
    }
    match limits {
        [Scalar::Bool(low), Scalar::Bool(high)] => run(x, low, high, out),
        [Scalar::I8(low), Scalar::I8(high)] => run(x, low, high, out),
        [Scalar::I16(low), Scalar::I16(high)] => run(x, low, high, out),
        [Scalar::I32(low), Scalar::I32(high)] => run(x, low, high, out),
        [Scalar::I64(low), Scalar::I64(high)] => run(x, low, high, out),
        [Scalar::U8(low), Scalar::U8(high)] => run(x, low, high, out),
        [Scalar::U16(low), Scalar::U16(high)] => run(x, low, high, out),
        [Scalar::U32(low), Scalar::U32(high)] => run(x, low, high, out),
        [Scalar::U64(low), Scalar::U64(high)] => run(x, low, high, out),
        [Scalar::F16(low), Scalar::F16(high)] => halves::<f16>(x, low.into(), high.into(), out),
        [Scalar::BF16(low), Scalar::BF16(high)] => halves::<bf16>(x, low.into(), high.into(), out),
        [Scalar::F32(low), Scalar::F32(high)] => run(x, low, high, out),
        [Scalar::F64(low), Scalar::F64(high)] => run(x, low, high, out),
        _ => debug_assert!(false, "limits of {dtype}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::BinaryOp;

    #[test]
    fn clamped_elements_are_those_of_two_ops() {
        let numbers = [f64::NAN, -0.0, 0.0, 1.0, 2.5, -3.0, 100.0, f64::INFINITY, f64::NEG_INFINITY];
        for &dtype in DType::ALL.iter().filter(|d| BinaryOp::Maximum.kernel(**d).is_some()) {
            let block = |numbers: &[f64]| {
                let mut words = vec![0u128; (numbers.len() * dtype.size()).div_ceil(16)];
                let bytes = &mut bytemuck::cast_slice_mut(&mut words)[..numbers.len() * dtype.size()];
                for (&x, out) in numbers.iter().zip(bytes.chunks_exact_mut(dtype.size())) {
                    out.copy_from_slice(&Scalar::F64(x).cast(dtype).to_bytes().0[..dtype.size()]);
                }
                words
            };
            let len = numbers.len() * dtype.size();
            let x = block(&numbers);
            for low in numbers {
                for high in numbers {
                    let apply = |op: BinaryOp, a: &[u128], b: &[u128]| {
                        let mut out = vec![0u128; a.len()];
                        let kernel = op.kernel(dtype).unwrap();
                        let (a, b) = (bytemuck::cast_slice(a), bytemuck::cast_slice(b));
                        kernel(&a[..len], &b[..len], &mut bytemuck::cast_slice_mut(&mut out)[..len]);
                        out
                    };
                    let all = |limit: f64| block(&[limit; 9]);
                    let wanted = apply(BinaryOp::Minimum, &apply(BinaryOp::Maximum, &x, &all(low)), &all(high));
                    let mut found = vec![0u128; x.len()];
                    let limits = [low, high].map(|limit| Scalar::F64(limit).cast(dtype));
                    let bytes = bytemuck::cast_slice_mut(&mut found);
                    clamp(dtype, &bytemuck::cast_slice(&x)[..len], limits, &mut bytes[..len]);
                    assert_eq!(found, wanted, "{dtype} between {low} and {high}");
                }
            }
        }
    }
}
