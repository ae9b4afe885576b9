//! The logarithm of the gamma function, by the expansions of `coefficients`.

use super::float::Float;
use super::logarithm::Log;
use super::{Function, polynomial};
use crate::unary::{coefficients as table, special};

pub(super) struct Lgamma;
impl Function for Lgamma {
    /// What is not positive has reflections and poles.
    #[inline(always)]
    fn outside<R: Float>(x: R) -> R::Flag {
        x.not_within(R::LEAST, R::MOST)
    }
    /// As [`special::lgamma`], all of whose cases are computed, in `f64`: near 1 and 2 it is a small difference of numbers that are not.
    #[inline(always)]
    fn fast<R: Float>(x: R) -> R {
        let x = x.wide();
        let (is_small, is_large) = (x < 0.75, x >= special::STIRLING);
        // DLMF 5.5.1 from below 0.75 up, and from below Stirling's series down to between 2 and 3.
        let (mut rest, mut product) = (if is_small { x + 1.0 } else { x }, 1.0);
        for _ in 3..special::STIRLING as u32 {
            let less = rest - 1.0;
            product *= if rest >= 3.0 { less } else { 1.0 };
            rest = if rest >= 3.0 { less } else { rest };
        }
        let below = (rest - 1.0) * (rest - 2.0) * polynomial(rest - 1.375, &table::LGAMMA_1);
        let above = (rest - 2.0) * polynomial(rest - 2.5, &table::LGAMMA_2);
        let near = if rest < 2.0 { below } else { above };
        let log = Log::fast(if is_small | is_large { x } else { product });
        let near = if is_small { near - log } else { near + log };
        let far = special::stirling(x, log);
        R::of(if is_large { far } else { near })
    }
    #[inline(always)]
    fn end<R: Float>(x: R, fast: R) -> R {
        if x.is_infinite() | (x == R::ZERO) { R::infinity() } else { fast }
    }
    #[inline(always)]
    fn rare<R: Float>(x: R) -> R::Flag {
        (-x).between(R::ZERO, R::infinity()) | x.between(R::ZERO, R::LEAST)
    }
    fn exact(x: f64) -> f64 {
        special::lgamma(x)
    }
}
