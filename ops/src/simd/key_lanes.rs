//! The lanes of a vector as keys of 64 or 32 bits, without a sign.
#![allow(unsafe_code)] // vectors of a detected CPU, loaded and stored at places that the caller answers for

use std::arch::x86_64::*;

/// A key, of which a vector holds several. Masks have a bit for each lane, from the lowest on.
///
/// # Safety
/// All functions are for CPUs that have AVX-512 F, VL, DQ and BW.
pub(crate) trait Key: Copy + Ord {
    /// Lanes of a vector.
    const LANES: usize;
    /// The greatest of all.
    const GREATEST: Self;

    /// A vector of this key.
    ///
    /// # Safety
    /// As of the trait.
    unsafe fn everywhere(self) -> __m512i;

    /// The keys of a mask, and other lanes as they are in `beside`.
    ///
    /// # Safety
    /// As of the trait; the lanes of the mask must be readable.
    unsafe fn load(beside: __m512i, mask: __mmask16, from: *const Self) -> __m512i;

    /// Writes the lanes of a mask.
    ///
    /// # Safety
    /// As of the trait; the lanes of the mask must be writable.
    unsafe fn store(to: *mut Self, mask: __mmask16, of: __m512i);

    /// The lanes of a mask, from the lowest on.
    ///
    /// # Safety
    /// As of the trait.
    unsafe fn compressed(mask: __mmask16, of: __m512i) -> __m512i;

    /// The lanes of a mask, and then the others.
    ///
    /// # Safety
    /// As of the trait.
    unsafe fn sides(mask: __mmask16, of: __m512i) -> __m512i;

    /// The lesser, lane by lane.
    ///
    /// # Safety
    /// As of the trait.
    unsafe fn lesser(x: __m512i, y: __m512i) -> __m512i;

    /// The lanes in which the first is less.
    ///
    /// # Safety
    /// As of the trait.
    unsafe fn less(x: __m512i, y: __m512i) -> __mmask16;

    /// `x`, and in the lanes of a mask `y`.
    ///
    /// # Safety
    /// As of the trait.
    unsafe fn chosen(x: __m512i, mask: __mmask16, y: __m512i) -> __m512i;

    /// In each lane that whose number differs by these bits.
    ///
    /// # Safety
    /// As of the trait.
    unsafe fn moved(x: __m512i, bits: usize) -> __m512i;

    /// Rows for columns, of which the first `rows` count: 2, 4, 8 or as many as there are lanes, or more. So many columns count as there
    /// are lanes.
    ///
    /// # Safety
    /// As of the trait.
    unsafe fn transposed(of: [__m512i; 16], rows: usize) -> [__m512i; 16];
}

/// For each mask, its lanes in order and then the others.
static SIDES: [[u8; 8]; 256] = {
    let mut sides = [[0; 8]; 256];
    let mut mask = 0;
    while mask < 256 {
        let (mut lane, mut front, mut back) = (0, 0, 8);
        while lane < 8 {
            if mask >> lane & 1 == 1 {
                sides[mask][front] = lane as u8;
                front += 1;
            } else {
                back -= 1;
                sides[mask][back] = lane as u8;
            }
            lane += 1;
        }
        mask += 1;
    }
    sides
};

/// The functions of a trait for a CPU with what [`Key`] needs.
macro_rules! vectors {
    ($($(#[$own:meta])* fn $name:ident($($arg:tt)*) $(-> $out:ty)? $body:block)+) => {$(
        $(#[$own])*
        #[inline]
        #[target_feature(enable = "avx512f,avx512vl,avx512dq,avx512bw,avx2,fma,popcnt")]
        unsafe fn $name($($arg)*) $(-> $out)? $body
    )+};
}

impl Key for u64 {
    const LANES: usize = 8;
    const GREATEST: u64 = u64::MAX;

    vectors! {
        fn everywhere(self) -> __m512i {
            _mm512_set1_epi64(self.cast_signed())
        }

        fn load(beside: __m512i, mask: __mmask16, from: *const u64) -> __m512i {
            // SAFETY: the caller's promise.
            unsafe { _mm512_mask_loadu_epi64(beside, mask as __mmask8, from.cast()) }
        }

        fn store(to: *mut u64, mask: __mmask16, of: __m512i) {
            // SAFETY: the caller's promise.
            unsafe { _mm512_mask_storeu_epi64(to.cast(), mask as __mmask8, of) }
        }

        fn compressed(mask: __mmask16, of: __m512i) -> __m512i {
            _mm512_maskz_compress_epi64(mask as __mmask8, of)
        }

        fn sides(mask: __mmask16, of: __m512i) -> __m512i {
            // SAFETY: eight bytes of the table.
            let sides = unsafe { _mm_loadl_epi64(SIDES[usize::from(mask as u8)].as_ptr().cast()) };
            _mm512_permutexvar_epi64(_mm512_cvtepu8_epi64(sides), of)
        }

        fn lesser(x: __m512i, y: __m512i) -> __m512i {
            _mm512_min_epu64(x, y)
        }

        fn less(x: __m512i, y: __m512i) -> __mmask16 {
            _mm512_cmplt_epu64_mask(x, y).into()
        }

        fn chosen(x: __m512i, mask: __mmask16, y: __m512i) -> __m512i {
            _mm512_mask_mov_epi64(x, mask as __mmask8, y)
        }

        fn moved(x: __m512i, bits: usize) -> __m512i {
            let numbers = _mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7);
            _mm512_permutexvar_epi64(_mm512_xor_si512(numbers, _mm512_set1_epi64(bits as i64)), x)
        }

        fn transposed(of: [__m512i; 16], rows: usize) -> [__m512i; 16] {
            let mut t = [_mm512_setzero_si512(); 16];
            for i in 0..rows.min(8) / 2 {
                let (a, b) = (of[2 * i], of[2 * i + 1]);
                (t[2 * i], t[2 * i + 1]) = (_mm512_unpacklo_epi64(a, b), _mm512_unpackhi_epi64(a, b));
            }
            let mut u = t;
            for i in [0, 4] {
                for j in 0..2 {
                    (u[i + j], u[i + 2 + j]) = shuffled(t[i + j], t[i + 2 + j]);
                }
            }
            for j in 0..4 {
                (t[j], t[j + 4]) = shuffled(u[j], u[4 + j]);
            }
            t
        }
    }
}

impl Key for u32 {
    const LANES: usize = 16;
    const GREATEST: u32 = u32::MAX;

    vectors! {
        fn everywhere(self) -> __m512i {
            _mm512_set1_epi32(self.cast_signed())
        }

        fn load(beside: __m512i, mask: __mmask16, from: *const u32) -> __m512i {
            // SAFETY: the caller's promise.
            unsafe { _mm512_mask_loadu_epi32(beside, mask, from.cast()) }
        }

        fn store(to: *mut u32, mask: __mmask16, of: __m512i) {
            // SAFETY: the caller's promise.
            unsafe { _mm512_mask_storeu_epi32(to.cast(), mask, of) }
        }

        fn compressed(mask: __mmask16, of: __m512i) -> __m512i {
            _mm512_maskz_compress_epi32(mask, of)
        }

        fn sides(mask: __mmask16, of: __m512i) -> __m512i {
            // A table would be too large.
            let others = !((1u32 << mask.count_ones()) - 1) as __mmask16;
            let first = _mm512_maskz_compress_epi32(mask, of);
            _mm512_mask_expand_epi32(first, others, _mm512_maskz_compress_epi32(!mask, of))
        }

        fn lesser(x: __m512i, y: __m512i) -> __m512i {
            _mm512_min_epu32(x, y)
        }

        fn less(x: __m512i, y: __m512i) -> __mmask16 {
            _mm512_cmplt_epu32_mask(x, y)
        }

        fn chosen(x: __m512i, mask: __mmask16, y: __m512i) -> __m512i {
            _mm512_mask_mov_epi32(x, mask, y)
        }

        fn moved(x: __m512i, bits: usize) -> __m512i {
            let numbers = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
            _mm512_permutexvar_epi32(_mm512_xor_si512(numbers, _mm512_set1_epi32(bits as i32)), x)
        }

        fn transposed(of: [__m512i; 16], rows: usize) -> [__m512i; 16] {
            let (mut t, mut u) = ([_mm512_setzero_si512(); 16], [_mm512_setzero_si512(); 16]);
            for i in 0..rows.min(16) / 2 {
                let (a, b) = (of[2 * i], of[2 * i + 1]);
                (t[2 * i], t[2 * i + 1]) = (_mm512_unpacklo_epi32(a, b), _mm512_unpackhi_epi32(a, b));
            }
            // Of each four rows, in each quarter of a vector, a column.
            for i in (0..rows.clamp(4, 16)).step_by(4) {
                for j in 0..2 {
                    let (a, b) = (t[i + j], t[i + 2 + j]);
                    (u[i + 2 * j], u[i + 2 * j + 1]) = (_mm512_unpacklo_epi64(a, b), _mm512_unpackhi_epi64(a, b));
                }
            }
            for j in 0..4 {
                let (a, b) = shuffled(u[j], u[4 + j]);
                let (c, d) = shuffled(u[8 + j], u[12 + j]);
                (t[j], t[8 + j]) = shuffled(a, c);
                (t[4 + j], t[12 + j]) = shuffled(b, d);
            }
            t
        }
    }
}

/// The first and third quarters of two vectors, and the second and fourth.
#[inline]
#[target_feature(enable = "avx512f,avx512vl,avx512dq,avx512bw,avx2,fma,popcnt")]
fn shuffled(a: __m512i, b: __m512i) -> (__m512i, __m512i) {
    (_mm512_shuffle_i64x2::<0b10_00_10_00>(a, b), _mm512_shuffle_i64x2::<0b11_01_11_01>(a, b))
}
