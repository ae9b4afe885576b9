//! Quotients of floats that are rounded down or cut to integers, and what these leave.
//!
//! The quotient as it is rounded, cut to an integer `n`, is the right one or one more, since rounding keeps order. What `n` leaves is a multiple of
//! the last bit of the divisor and not greater than that, so a fused multiply-add gives it exactly; below 0 the divisor is to be added,
//! which is exact as well. Results are those of [`FloorDiv`](crate::binary::element::FloorDiv) and `%`, bit by bit.

use super::float::Float;
use super::pairs::Function2;

/// The remainder that has the sign of `a`, the magnitude of the quotient cut to an integer, and whether both hold: the quotient must count its
/// ones, and beyond be rounded to them after a division more.
#[inline(always)]
fn cut<R: Float>(a: R, b: R) -> (R, R, bool) {
    let (x, y) = (a.abs(), b.abs());
    let quotient = x / y;
    let n = quotient.trunc();
    let rest = n.mul_add(-y, x);
    let (is_over, is_under) = (rest < R::ZERO, quotient < R::ONE);
    let rest = if is_over { rest + y } else { rest };
    let n = if is_over { n - R::ONE } else { n };
    // What is less than the divisor stays, beside an infinite one too.
    let rest = if is_under { x } else { rest };
    // 0 as a divisor and an infinite dividend leave NaN, as what is NaN does.
    (rest.copysign(a), n, (quotient <= R::COUNTED) | quotient.is_nan() | (y == R::ZERO) | (x == R::infinity()))
}

pub(super) struct Fmod;
impl Function2 for Fmod {
    #[inline(always)]
    fn fast<R: Float>(a: R, b: R) -> (R, bool) {
        let (rest, _, holds) = cut(a, b);
        (rest, holds)
    }
    fn exact<R: Float>(a: R, b: R) -> R {
        a % b
    }
}

pub(super) struct Remainder;
impl Function2 for Remainder {
    #[inline(always)]
    fn fast<R: Float>(a: R, b: R) -> (R, bool) {
        let (rest, _, holds) = cut(a, b);
        let other = if (rest < R::ZERO) == (b < R::ZERO) { rest } else { rest + b };
        (if rest == R::ZERO { rest.copysign(b) } else { other }, holds)
    }
    fn exact<R: Float>(a: R, b: R) -> R {
        a.floor_rem(b)
    }
}

pub(super) struct FloorDivide;
impl Function2 for FloorDivide {
    #[inline(always)]
    fn fast<R: Float>(a: R, b: R) -> (R, bool) {
        let (rest, n, holds) = cut(a, b);
        let quotient = a / b;
        let cut = n.copysign(quotient);
        let floor = if (rest != R::ZERO) & ((rest < R::ZERO) != (b < R::ZERO)) { cut - R::ONE } else { cut };
        let floor = if rest.is_nan() { rest } else { floor };
        (if b == R::ZERO { quotient } else { floor }, holds)
    }
    fn exact<R: Float>(a: R, b: R) -> R {
        a.floor_div(b)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::Random;
    use super::super::{Level, set_level};
    use super::super::{floor_divide_f32, floor_divide_f64, fmod_f32, fmod_f64, remainder_f32, remainder_f64};
    use super::*;

    type Kernel = fn(&[u8], &[u8], &mut [u8]);

    fn agree<R: Float + bytemuck::Pod>(kernels: [Kernel; 3], some: &[R], whole: impl Fn(f64) -> R) {
        let (mut a, mut b): (Vec<R>, Vec<R>) = some.iter().flat_map(|&a| some.iter().map(move |&b| (a, b))).unzip();
        let mut random = Random(11);
        for scale in [1.0, 30.0, 1e4, 1e9, 1e18] {
            for i in 0..3000 {
                let by = random.within(9.0);
                a.push(R::of(random.within(scale)));
                // Multiples and what is beside them, where quotients are rounded to integers.
                b.push(R::of(if i % 3 == 0 { 3.0 } else { by }));
                let many = whole(random.within(scale).trunc());
                let multiple = many * R::of(by);
                for near in [multiple, multiple * (R::ONE + R::epsilon()), multiple * (R::ONE - R::epsilon())] {
                    a.push(near);
                    b.push(R::of(by));
                }
            }
        }
        let exact: [fn(R, R) -> R; 3] = [R::floor_div, R::floor_rem, |a, b| a % b];
        for level in Level::ALL {
            set_level(Some(level));
            for (which, (kernel, exact)) in kernels.into_iter().zip(exact).enumerate() {
                let mut out = vec![R::ONE; a.len()];
                kernel(R::as_bytes(&a), R::as_bytes(&b), bytemuck::cast_slice_mut(&mut out));
                for ((&a, &b), found) in a.iter().zip(&b).zip(out) {
                    let wanted = exact(a, b);
                    assert!(
                        R::as_bytes(&[found]) == R::as_bytes(&[wanted]) || found.is_nan() && wanted.is_nan(),
                        "{which} of {a:?} and {b:?} at {level:?}: {found:?}, not {wanted:?}"
                    );
                }
            }
            set_level(None);
        }
    }

    #[test]
    fn bits_are_those_of_one_by_one() {
        let some = [
            0.0,
            1.0,
            0.1,
            0.3,
            2.5,
            3.0,
            7.0,
            1e-3,
            1e10,
            4_194_304.0,
            8_388_609.0,
            2_251_799_813_685_248.0,
            1e30,
            1e-30,
        ];
        let doubles: Vec<f64> = some.into_iter().chain([5e-324, 1e-310, f64::MAX, f64::INFINITY, f64::NAN]).collect();
        let doubles: Vec<f64> = doubles.into_iter().flat_map(|x| [x, -x]).collect();
        let singles: Vec<f32> = doubles.iter().map(|&x| x as f32).chain([1e-45, -1e-40, f32::MAX]).collect();
        agree([floor_divide_f64, remainder_f64, fmod_f64], &doubles, |x| x);
        agree([floor_divide_f32, remainder_f32, fmod_f32], &singles, |x| x as f32);
    }
}
