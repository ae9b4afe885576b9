//! Ops that order elements or count equal ones: the fill of a slice is one element that occurs often.
//!
//! Everywhere NaN is greater than every number and equal to itself, and −0 is 0.

mod alike;
mod few;
mod isin;
mod lying;
mod narrow;
mod sort;
mod unique;
mod count;

pub use self::unique::{Unique, UniqueCounts, UniqueInverse};

use std::sync::{Mutex, PoisonError};

use openwork_ops::Scalar;

use crate::base::error::{self, Error, Result};
use crate::base::parallel::{self, GRAIN};
use crate::base::strided::Strided;
use crate::engine::convert;
use crate::engine::slices::{Ranked, Slice, Slices};
use crate::tensor::fill::{Fill, fill_of};
use crate::tensor::{Sparse, Storage, Tensor};

/// All elements as one slice.
fn whole<'r>(ranked: &'r Ranked<'_>) -> Option<Slice<'r>> {
    if ranked.len() > 0 { Some(ranked.slice(0)) } else { ranked.empty().into_iter().next() }
}

/// All elements of a tensor, in C order.
fn all(x: &Tensor) -> Result<Slices> {
    Slices::of(x, &(0..x.ndim()).collect::<Vec<_>>())
}

/// All elements of a tensor, in no order that matters.
fn all_in_any_order(x: &Tensor) -> Result<Slices> {
    Slices::in_any_order(x, &(0..x.ndim()).collect::<Vec<_>>())
}

/// An exact count or place as `int64`.
fn int64(what: &str, n: u128) -> Result<i64> {
    i64::try_from(n).map_err(|_| error::invalid("self", format_args!("the {what} {n} does not fit int64")))
}

/// An integer for each element, given by its key: `f` puts the integers of some in the place of their keys. The pattern
/// and the fill's kind stay.
fn map_keys(
    x: &Tensor,
    keys: &dyn Fn(&Strided) -> Result<Vec<u64>>,
    f: &(dyn Fn(&mut [u64]) -> Result<()> + Sync),
) -> Result<Tensor> {
    let map = |x: &Strided| -> Result<Strided> {
        let core = x.unbroadcast();
        let mut words = keys(&core)?;
        let failed = Mutex::new(None::<(usize, Error)>);
        parallel::for_chunks_mut(&mut words, 1, GRAIN, &|start, words| {
            if let Err(e) = f(words) {
                // The first error is the one.
                let mut failed = parallel::lock(&failed);
                if failed.as_ref().is_none_or(|f| start < f.0) {
                    *failed = Some((start, e));
                }
            }
        });
        if let Some((_, e)) = failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
            return Err(e);
        }
        Ok(Strided::from_vec(bytemuck::cast_vec::<u64, i64>(words), core.shape.clone()).broadcast(&x.shape))
    };
    on_values(x, &map)
}

/// What `map` makes of what is stored, with the same pattern, and of the fill.
fn on_values(x: &Tensor, map: &dyn Fn(&Strided) -> Result<Strided>) -> Result<Tensor> {
    Ok(match &x.storage {
        Storage::Strided(s) => Tensor::from_strided(map(s)?),
        Storage::Sparse(s) => {
            let s = convert::coalesce(s, openwork_ops::ReduceOp::Sum)?;
            let fill = match s.fill_values() {
                None => Fill::Undefined,
                // Of a fill that no element has, nothing is asked.
                Some(values) if values.shape.contains(&0) => Fill::Scalar(Scalar::zero(map(&values)?.dtype)),
                Some(values) => fill_of(&map(&values)?),
            };
            Sparse { values: map(&s.values)?, fill, ..s }.into()
        }
    })
}
