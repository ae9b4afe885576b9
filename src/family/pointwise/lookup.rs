//! A sparse vector beside a sparse tensor over whose other axes it repeats, where only the tensor's own positions can be
//! stored in the result: the vector is looked up at these, never repeated.

use std::borrow::Cow;

use openwork_ops::registry::Side;
use openwork_ops::{DType, ReduceOp, Scalar};

use super::plan::{Plan, Side2, constant};
use crate::base::context;
use crate::base::error::Result;
use crate::base::strided::Strided;
use crate::base::trace::{Work, raise};
use crate::engine::blocks::{self, Source};
use crate::engine::convert;
use crate::levels::pattern::Dim;
use crate::tensor::fill::{Background, Fill, fill_of};
use crate::tensor::{Sparse, Tensor};

impl Plan {
    /// `x op v` (or `v op x` if `side`, where `v` stands, is left), if `v` is a sparse vector that repeats along `x` and
    /// the result stores nothing where `x` does not: `x` is undefined there, or its fill annihilates.
    pub(super) fn looked_up(&self, x: &Tensor, v: &Tensor, side: Side) -> Result<Option<Tensor>> {
        let (Some(s), Some(vector)) = (x.sparse(), v.sparse()) else { return Ok(None) };
        let lead = self.shape.len().saturating_sub(vector.ndim());
        let mut real = (0..vector.ndim()).filter(|&d| vector.shape[d] > 1);
        let (Some(d), None) = (real.next(), real.next()) else { return Ok(None) };
        // Rows of value axes cannot lose single elements: the vector's axis must be whole in a level.
        let of_levels = s.pattern.level_dims().contains(&Dim::whole(lead + d, self.shape[lead + d]));
        if s.shape != self.shape || s.shape == vector.shape || !of_levels {
            return Ok(None);
        }
        // The vector's dense form is the table that is looked up: no longer than the pattern, or within budget.
        let bytes = v.size().saturating_mul(1 + self.common.size() as u128);
        if v.size() > s.nse() as u128 && bytes > u128::from(context::densify_budget()) {
            return Ok(None);
        }
        let x_side = if side == Side::Left { Side::Right } else { Side::Left };
        let x = self.in_common(Cow::Owned(convert::coalesce(s, ReduceOp::Sum)?));
        let x = Side2 { background: x.background(), stored: Some(x) };
        let vector = self.in_common(Cow::Owned(convert::coalesce(vector, ReduceOp::Sum)?));
        let v = Side2 { background: vector.background(), stored: Some(vector) };
        let spread = Side2 { stored: v.stored.clone(), background: spread(v.background.values(), &self.shape) };
        let (left, right) = if side == Side::Left { (&spread, &x) } else { (&x, &spread) };
        if self.core_of_fill(left, right).iter().filter(|&&n| n > 1).count() > 1 {
            return Ok(None); // stored elements of both take part
        }
        let fill = self.fill(left, right);
        let x_only = match (x.background.values(), v.background.values()) {
            (None, _) => true,
            (Some(_), None) => false,
            (Some(_), Some(_)) => self.drops_stored(&fill, &x, x_side, &v),
        };
        if !x_only {
            return Ok(None);
        }
        self.at_positions(&x, &v, side, &fill).map(Some)
    }

    fn at_positions(&self, x: &Side2<'_>, v: &Side2<'_>, side: Side, fill: &Background) -> Result<Tensor> {
        let (Some(s), Some(vector)) = (&x.stored, &v.stored) else {
            return Err(crate::base::error::layout("a look-up needs two sparse operands"));
        };
        let wide = |values: &Strided| values.broadcast(&self.shape);
        let defined = v.background.values().cloned();
        let table_fill = defined.clone().unwrap_or_else(|| Strided::constant(Scalar::zero(self.common), &vector.shape));
        let table = wide(&convert::to_strided(vector, &table_fill)?);
        raise(Work::Engine);
        let drops = defined.is_none() || self.drops_stored(fill, v, side, x);
        let kept = if drops {
            let stored = Tensor::from(vector.clone().into_owned()).is_stored()?;
            let Some(stored) = stored.sparse() else {
                return Err(crate::base::error::layout("is_stored is sparse"));
            };
            let none = Strided::constant(Scalar::Bool(false), &vector.shape);
            let presence = wide(&convert::to_strided(stored, &none)?);
            let block = s.pattern.block();
            let mask = blocks::collect(s.nse(), Source::at(&presence, &s.pattern), DType::Bool);
            let mask = mask.buffer.bytes();
            let keep: Vec<usize> = (0..s.pattern.positions).filter(|&p| block > 0 && mask[p * block] != 0).collect();
            Cow::Owned(convert::select_rows(s, &keep)?)
        } else {
            Cow::Borrowed(&**s)
        };
        let (own, other) = (Source::values(&kept.values), Source::at(&table, &kept.pattern));
        let (left, right) = if side == Side::Left { (other, own) } else { (own, other) };
        let values = self.values(&kept.pattern, left, right);
        let fill = fill.values().map_or(Fill::Undefined, fill_of);
        let out = Sparse { shape: self.shape.clone(), pattern: kept.pattern.clone(), values, fill };
        Ok(out.into())
    }

    /// Whether positions beside an unstored element of `fill_side` would get what the result's fill is.
    pub(super) fn drops_stored(&self, fill: &Background, fill_side: &Side2<'_>, side: Side, other: &Side2<'_>) -> bool {
        let filled = fill.values().and_then(constant);
        let given = fill_side.constant_fill().and_then(|z| constant(&self.annihilated(z, side)));
        filled.zip(given).is_some_and(|(f, g)| f.same(g)) && self.annihilates_stored(fill_side, side, other)
    }
}

fn spread(values: Option<&Strided>, shape: &[usize]) -> Background {
    values.map_or(Background::Undefined, |v| Background::Values(v.broadcast(shape)))
}
