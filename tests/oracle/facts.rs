//! Facts about matrices, from their definitions.

use super::{Oracle, Refused, ravel, unravel};

impl Oracle {
    /// Every index of the matrices with the index of its mirror image, or `None` where that is outside the shape.
    fn mirrored(&self) -> Result<Vec<(Vec<usize>, Option<Vec<usize>>)>, Refused> {
        let n = self.ndim();
        if n < 2 {
            return Err(Refused::Shape);
        }
        let all = (0..self.data.len()).map(|p| unravel(p, &self.shape)).map(|index| {
            let mut mirror = index.clone();
            mirror.swap(n - 1, n - 2);
            let inside = mirror.iter().zip(&self.shape).all(|(i, n)| i < n);
            (index, inside.then_some(mirror))
        });
        Ok(all.collect())
    }

    fn is_square(&self) -> bool {
        let n = self.ndim();
        self.shape[n - 1] == self.shape[n - 2]
    }

    /// Whether an element belongs to the structure.
    fn is_there(&self, index: &[usize]) -> bool {
        match self.at(index) {
            None => false,
            Some(_) if self.undefined => true,
            Some(v) => v.truth(),
        }
    }

    pub fn is_symmetric(&self) -> Result<bool, Refused> {
        let all = self.mirrored()?;
        let same = |a: &[usize], b: &[usize]| match (self.at(a), self.at(b)) {
            (Some(a), Some(b)) => a.same(b),
            (a, b) => a.is_none() && b.is_none(),
        };
        Ok(self.is_square() && all.iter().all(|(i, m)| m.as_ref().is_some_and(|m| same(i, m))))
    }

    pub fn is_structure_symmetric(&self) -> Result<bool, Refused> {
        let all = self.mirrored()?;
        let same = |a: &[usize], b: &[usize]| self.is_there(a) == self.is_there(b);
        Ok(self.is_square() && all.iter().all(|(i, m)| m.as_ref().is_some_and(|m| same(i, m))))
    }

    pub fn is_upper_triangular(&self) -> Result<bool, Refused> {
        let n = self.ndim();
        Ok(self.mirrored()?.iter().all(|(i, _)| i[n - 2] <= i[n - 1] || !self.is_there(i)))
    }

    pub fn is_lower_triangular(&self) -> Result<bool, Refused> {
        let n = self.ndim();
        Ok(self.mirrored()?.iter().all(|(i, _)| i[n - 2] >= i[n - 1] || !self.is_there(i)))
    }

    pub fn ndiag(&self) -> Result<u128, Refused> {
        let n = self.ndim();
        Ok(self.mirrored()?.iter().filter(|(i, _)| i[n - 2] == i[n - 1] && self.is_there(i)).count() as u128)
    }

    /// Made symmetric, by taking the upper triangle for both.
    pub fn symmetrised(&self) -> Result<Oracle, Refused> {
        let n = self.ndim();
        let mut out = self.clone();
        for (index, mirror) in self.mirrored()? {
            if let Some(mirror) = mirror.filter(|_| index[n - 2] > index[n - 1]) {
                out.data[ravel(&index, &self.shape)] = self.at(&mirror);
            }
        }
        Ok(out)
    }
}
