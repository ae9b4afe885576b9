//! A sum of floats that is better than f64.

/// The sum of finite terms as high + low, where low gathers the rounding errors of high. NaN and
/// infinite terms are kept apart: if there are any, their sum is the result.
#[derive(Clone, Copy, Debug, Default)]
pub struct Total {
    high: f64,
    low: f64,
    unusual: Option<f64>,
    abs: f64,
}

impl Total {
    pub fn add(&mut self, x: f64) {
        self.abs += x.abs();
        if !x.is_finite() {
            self.unusual = Some(self.unusual.map_or(x, |u| u + x));
            return;
        }
        let high = self.high + x;
        let (large, small) = if self.high.abs() >= x.abs() { (self.high, x) } else { (x, self.high) };
        self.low += (large - high) + small;
        self.high = high;
    }

    /// The product of two f64, its rounding error included.
    pub fn add_product(&mut self, a: f64, b: f64) {
        let product = a * b;
        self.add(product);
        if product.is_finite() {
            self.low += a.mul_add(b, -product);
        }
    }

    pub fn value(&self) -> f64 {
        match self.unusual {
            Some(u) => u,
            None if self.high.is_finite() => self.high + self.low,
            None => self.high,
        }
    }

    /// The sum of |terms|.
    pub fn abs(&self) -> f64 {
        self.abs
    }
}

/// A tolerance that came out infinite or NaN, because a term was, asks for equality instead. (For
/// complex results, where it must stay positive, for no more than "not finite".)
pub fn usable(slack: f64) -> f64 {
    if slack.is_finite() { slack } else { f64::MIN_POSITIVE }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums() {
        let mut t = Total::default();
        [1e100, 1.0, -1e100, 2.0].into_iter().for_each(|x| t.add(x));
        assert_eq!(t.value(), 3.0);
        assert_eq!(t.abs(), 2e100);
        let mut p = Total::default();
        let x = 1.0 + f64::EPSILON;
        p.add_product(x, x);
        p.add(-x * x);
        assert_eq!(p.value(), f64::EPSILON * f64::EPSILON);
        t.add(f64::INFINITY);
        t.add(1.0);
        assert_eq!(t.value(), f64::INFINITY);
        t.add(f64::NEG_INFINITY);
        assert!(t.value().is_nan());
    }
}
