//! Sums that round as exact ones do, where twice the precision shows that they must.
//!
//! Terms are added with what each addition rounds away (Knuth's two-sum), and these rests are added plainly: "Sum2" of Ogita, Rump and
//! Oishi, "Accurate sum and dot product" (2005). The rests' own sum is off by no more than `n · u · Σ|rest|`; where the sum rounds to one
//! number at both ends of that, it is the number that [`super::Exact`] gives.

/// Half the distance from 1 to the next number, and a little for what the bound itself rounds away.
const UNIT: f64 = f64::EPSILON * 0.75;

/// A sum of terms, of fewer than 2^40 of them.
#[derive(Clone, Copy, Debug, Default)]
pub struct Quick {
    high: f64,
    /// The sum of what additions rounded away, and of its moduli.
    low: f64,
    lost: f64,
    additions: f64,
}

impl Quick {
    /// The sum of some terms.
    #[inline]
    pub fn of(terms: impl Iterator<Item = f64>) -> Quick {
        let mut sum = Quick::default();
        terms.for_each(|term| sum.add(term));
        sum
    }

    /// Adds a term.
    #[inline(always)]
    pub fn add(&mut self, term: f64) {
        let high = self.high + term;
        let part = high - self.high;
        let rest = (self.high - (high - part)) + (term - part);
        self.high = high;
        self.low += rest;
        self.lost += rest.abs();
        self.additions += 1.0;
    }

    /// Adds another sum.
    #[inline(always)]
    pub fn merge(&mut self, other: &Quick) {
        self.add(other.high);
        self.low += other.low;
        self.lost += other.lost;
        self.additions += other.additions + 1.0;
    }

    /// The nearest number to the sum, if that is certain.
    #[inline]
    pub fn round(&self) -> Option<f64> {
        // Twice what the rests' sum may be off by, and more than the two sums below round away of it. Where nothing was lost it is 0, and
        // below the normal numbers, where it may be 0 too, sums are exact.
        let off = 2.0 * (self.additions + 4.0) * UNIT * self.lost;
        let (least, most) = (self.high + (self.low - off), self.high + (self.low + off));
        // Of NaN and infinities neither.
        (least == most && least.is_finite()).then_some(least + 0.0)
    }
}

impl super::Compact {
    /// The same sum as two numbers, and what is left of it.
    pub fn quick(&self) -> Quick {
        let mut rest = super::Exact::new();
        rest.merge(self);
        let high = rest.round();
        rest.sub(high);
        let low = rest.round();
        Quick { high, low, lost: low.abs(), additions: 1.0 }
    }
}
