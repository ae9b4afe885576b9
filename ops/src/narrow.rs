//! The order of elements of up to 32 bits: as [`crate::order`], by keys that have as many bits as the elements. Of two bytes, or one,
//! keys leave the number of each room in the same word.

use half::{bf16, f16};

use crate::dtype::DType;
use crate::groups::Store;
use crate::order;
use crate::simd::{Loop, vectorised};

/// Of a dtype of at most 32 bits: keys of as many bits as its elements have.
trait Narrow: Store {
    fn narrow(self) -> u32;
    fn of_narrow(key: u32) -> Self;
}

macro_rules! narrow {
    ($($ty:ty: |$v:ident| $key:expr, |$k:ident| $value:expr;)+) => {$(
        impl Narrow for $ty {
            #[inline(always)]
            fn narrow(self) -> u32 {
                let $v = self;
                $key
            }
            #[inline(always)]
            fn of_narrow($k: u32) -> $ty {
                $value
            }
        }
    )+};
}
narrow! {
    bool: |v| v.into(), |k| k != 0;
    i8: |v| (v as u8 ^ 1 << 7).into(), |k| (k as u8 ^ 1 << 7) as i8;
    i16: |v| (v as u16 ^ 1 << 15).into(), |k| (k as u16 ^ 1 << 15) as i16;
    i32: |v| v as u32 ^ 1 << 31, |k| (k ^ 1 << 31) as i32;
    u8: |v| v.into(), |k| k as u8;
    u16: |v| v.into(), |k| k as u16;
    u32: |v| v, |k| k;
    f16: |v| of_bits(v.to_bits().into(), 1 << 15, f16::INFINITY.to_bits().into()),
        |k| f16::from_bits(to_bits(k, 1 << 15, f16::NAN.to_bits().into()) as u16);
    bf16: |v| of_bits(v.to_bits().into(), 1 << 15, bf16::INFINITY.to_bits().into()),
        |k| bf16::from_bits(to_bits(k, 1 << 15, bf16::NAN.to_bits().into()) as u16);
    f32: |v| of_bits(v.to_bits(), 1 << 31, f32::INFINITY.to_bits()),
        |k| f32::from_bits(to_bits(k, 1 << 31, f32::NAN.to_bits()));
}

/// The key of a float with these bits, of which `sign` is the highest: as [`order::of_float`].
#[inline(always)]
fn of_bits(bits: u32, sign: u32, infinity: u32) -> u32 {
    let all = sign | (sign - 1);
    if bits & !sign > infinity {
        all
    } else if bits & sign == 0 || bits == sign {
        bits | sign
    } else {
        !bits & all
    }
}

/// The bits of the float of a key.
#[inline(always)]
fn to_bits(key: u32, sign: u32, nan: u32) -> u32 {
    let all = sign | (sign - 1);
    if key == all {
        nan
    } else if key & sign == 0 {
        !key & all
    } else {
        key & !sign
    }
}

/// Calls a function of each dtype that has narrow keys.
macro_rules! narrow_dtype {
    ($dtype:expr, $f:ident ( $($arg:expr),* )) => {
        match $dtype {
            DType::Bool => $f::<bool>($($arg),*),
            DType::I8 => $f::<i8>($($arg),*),
            DType::I16 => $f::<i16>($($arg),*),
            DType::I32 => $f::<i32>($($arg),*),
            DType::U8 => $f::<u8>($($arg),*),
            DType::U16 => $f::<u16>($($arg),*),
            DType::U32 => $f::<u32>($($arg),*),
            DType::F16 => $f::<f16>($($arg),*),
            DType::BF16 => $f::<bf16>($($arg),*),
            DType::F32 => $f::<f32>($($arg),*),
            _ => debug_assert!(false, "keys of this dtype do not fit 32 bits"),
        }
    };
}

/// How many bits the narrow keys of a dtype have, if it has such.
pub fn bits(dtype: DType) -> Option<u32> {
    (order::is_ordered(dtype) && dtype.size() <= 4).then_some(8 * dtype.size() as u32)
}

/// A block of elements whose narrow keys are wanted, with some bits changed.
struct Keys<'a, T> {
    values: &'a [T],
    flip: u32,
    out: &'a mut [u32],
}

impl<T: Narrow> Loop for Keys<'_, T> {
    type Output = ();
    #[inline(always)]
    fn run(self) {
        for (o, &v) in self.out.iter_mut().zip(self.values) {
            *o = v.narrow() ^ self.flip;
        }
    }
}

/// Narrow keys, with some bits changed, whose elements are wanted.
struct Elements<'a, T> {
    keys: &'a [u32],
    flip: u32,
    out: &'a mut [T],
}

impl<T: Narrow> Loop for Elements<'_, T> {
    type Output = ();
    #[inline(always)]
    fn run(self) {
        for (o, &key) in self.out.iter_mut().zip(self.keys) {
            *o = T::of_narrow(key ^ self.flip);
        }
    }
}

/// The keys of a block of elements, as [`order::keys`], of a dtype that has narrow ones, with the bits of `flip` changed.
pub fn keys(dtype: DType, values: &[u8], flip: u32, out: &mut [u32]) {
    fn run<T: Narrow>(values: &[u8], flip: u32, out: &mut [u32]) {
        vectorised(Keys { values: T::from_bytes(values), flip, out });
    }
    narrow_dtype!(dtype, run(values, flip, out));
}

/// The elements of narrow keys whose bits of `flip` were changed.
pub fn values(dtype: DType, keys: &[u32], flip: u32, out: &mut [u8]) {
    fn run<T: Narrow>(keys: &[u32], flip: u32, out: &mut [u8]) {
        vectorised(Elements { keys, flip, out: T::from_bytes_mut(out) });
    }
    narrow_dtype!(dtype, run(keys, flip, out));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dtype::Element;

    /// Keys of elements that rise, of which neighbours may be alike, beside keys of 64 bits, and back.
    fn check<T: Element>(rising: &[T]) {
        let bits = bits(T::DTYPE).unwrap();
        let mut wide = vec![0; rising.len()];
        order::keys(T::DTYPE, T::as_bytes(rising), &mut wide);
        let mut elements = vec![0u64; rising.len()];
        let elements = &mut bytemuck::cast_slice_mut(&mut elements)[..size_of_val(rising)];
        order::values(T::DTYPE, &wide, elements);
        let wanted: Vec<T> = T::from_bytes(elements).to_vec();
        for flip in [0, u32::MAX >> (32 - bits)] {
            let mut own = vec![0; rising.len()];
            keys(T::DTYPE, T::as_bytes(rising), flip, &mut own);
            assert!(own.iter().all(|&key| u64::from(key) < 1 << bits));
            for (own, wide) in own.windows(2).zip(wide.windows(2)) {
                let order = own[0].cmp(&own[1]);
                assert_eq!(if flip == 0 { order } else { order.reverse() }, wide[0].cmp(&wide[1]), "{}", T::DTYPE);
            }
            elements.fill(0);
            values(T::DTYPE, &own, flip, elements);
            assert_eq!(elements, T::as_bytes(&wanted), "{}", T::DTYPE);
        }
    }

    #[test]
    fn keys_beside_wide_ones() {
        check(&[false, true]);
        check(&[i8::MIN, -1, 0, 1, i8::MAX]);
        check(&[i16::MIN, -1, 0, 1, i16::MAX]);
        check(&[i32::MIN, -1, 0, 1, i32::MAX]);
        check(&[0, 1, u8::MAX]);
        check(&[0, 1, u16::MAX]);
        check(&[0, 1, u32::MAX]);
        let floats = [f32::NEG_INFINITY, f32::MIN, -1.0, -1e-7, -1e-45, -0.0, 0.0, 1e-45, 1e-7, 1.0, f32::MAX];
        let floats = [&floats[..], &[f32::INFINITY, f32::NAN, -f32::NAN, f32::from_bits(0x7f80_0001)]].concat();
        check(&floats);
        let halves = floats.iter().map(|&v| f16::from_f32(v));
        check(&halves.chain([f16::from_bits(0x7c01), f16::from_bits(0xffff)]).collect::<Vec<_>>());
        let halves = floats.iter().map(|&v| bf16::from_f32(v));
        check(&halves.chain([bf16::from_bits(0x7f81), bf16::from_bits(0xffff)]).collect::<Vec<_>>());
        assert_eq!((bits(DType::F64), bits(DType::Complex64)), (None, None));
    }
}
