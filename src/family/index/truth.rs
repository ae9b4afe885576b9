//! Where elements are true: nonzero, argwhere, and masks as lists of indices.

use openwork_ops::registry::BinaryKernel;
use openwork_ops::{BinaryOp, DType, ReduceOp};

use crate::base::buffer::Buffer;
use crate::base::context;
use crate::base::error::{self, Result};
use crate::base::mapped::Mapped;
use crate::base::parallel;
use crate::base::strided::{Strided, c_strides, dense_len};
use crate::base::trace::{Work, raise};
use crate::engine::convert;
use crate::engine::convert::cast_sparse;
use crate::engine::sparsify::Marks;
use crate::levels::layout::{Layout, LevelSpec};
use crate::tensor::trace;
use crate::tensor::{Sparse, Storage, Tensor};

/// # Indexing: where elements are true
impl Tensor {
    /// The indices of the elements that are not zero, in C order: an `int64` vector for each axis. NaN is not zero;
    /// absent elements are left out.
    ///
    /// Cost: O(nse), and a sort for other orders than C's. Where the fill is not zero nearly all indices are wanted: that
    /// is dense, within the densify budget.
    ///
    /// ```
    /// use openwork::{Layout, tensor};
    /// let x = tensor![[1.0, 0.0, 2.0], [0.0, 0.0, 3.0]; Layout::Csr, 0.0]?;
    /// let at = x.nonzero()?;
    /// assert_eq!((at[0].to_vec::<i64>()?, at[1].to_vec::<i64>()?), (vec![0, 0, 1], vec![0, 2, 2]));
    /// # Ok::<(), openwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// If there is no axis, or the densify budget is exceeded.
    pub fn nonzero(&self) -> Result<Vec<Tensor>> {
        let call = trace::call("nonzero", &[self]);
        if self.ndim() == 0 {
            return Err(error::shape(&[self.shape()], "at least one axis is needed"));
        }
        Ok(call.done(places(self)?.into_iter().map(Tensor::from_strided).collect()))
    }

    /// The indices of the elements that are not zero, in C order: an `int64` matrix with a row for each. As
    /// [`Tensor::nonzero`].
    ///
    /// ```
    /// use openwork::{Layout, tensor};
    /// let x = tensor![[1.0, 0.0, 2.0], [0.0, 0.0, 3.0]; Layout::Csr, 0.0]?;
    /// assert_eq!(x.gt(1.0)?.argwhere()?.to_vec::<i64>()?, [0, 2, 1, 2]); // (0, 2) and (1, 2)
    /// # Ok::<(), openwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the densify budget is exceeded.
    #[doc(alias("nonzero"))]
    pub fn argwhere(&self) -> Result<Tensor> {
        let call = trace::call("argwhere", &[self]);
        let out = if self.ndim() == 0 {
            let one = self.get([])?.is_some_and(|v| !v.is_zero());
            Strided::from_vec(Vec::<i64>::new(), vec![usize::from(one), 0])
        } else {
            Found::of(self)?.coordinates(&(0..self.ndim()).collect::<Vec<_>>(), self.shape())?
        };
        Ok(call.done(Tensor::from_strided(out)))
    }
}

/// The indices of the elements that are not zero, in C order: a list for each axis.
pub(super) fn places(x: &Tensor) -> Result<Vec<Strided>> {
    match Found::of(x)? {
        Found::Places(places) if x.ndim() == 1 => {
            let n = places.len();
            Ok(vec![Strided::from_vec(bytemuck::cast_vec::<u64, i64>(places), vec![n])])
        }
        found => (0..x.ndim()).try_mapped(|axis| found.coordinates(&[axis], x.shape())?.reshape(&[found.len()])),
    }
}

/// What is not zero of a tensor with axes, in C order.
enum Found {
    /// Numbers of elements.
    Places(Vec<u64>),
    /// Truth values that are stored, one at each position.
    Stored(Sparse),
}

impl Found {
    fn of(x: &Tensor) -> Result<Found> {
        let s = match &x.storage {
            Storage::Strided(s) => return Found::of_strided(s),
            Storage::Sparse(s) => &**s,
        };
        if let Some(fill) = s.fill_values()
            && of_strided_any(&fill)
            && !s.shape.contains(&0)
        {
            context::may_densify(&s.shape, s.dtype().size() + 8 * s.ndim(), || {
                format!("where nothing is stored the fill {} is not zero, so that its indices are wanted", s.fill)
            })?;
            return Found::of_strided(&convert::to_strided(s, &fill)?);
        }
        let s = convert::coalesce(s, ReduceOp::Sum)?;
        let in_order = s.pattern.is_in_c_order() && s.pattern.value_dims().is_empty();
        let s = if in_order { s } else { convert::convert(&s, &LevelSpec::of_layout(Layout::Coo, &s.shape)?)? };
        let truth = cast_sparse(&s, DType::Bool);
        let mask: Vec<bool> = truth.values.dense_bytes()?.iter().map(|&b| b != 0).collect();
        convert::retain_rows(&truth, &mask).map(Found::Stored)
    }

    fn of_strided(x: &Strided) -> Result<Found> {
        let truth = x.cast(DType::Bool);
        let mask = truth.dense_bytes()?;
        Ok(Found::Places(Marks::of_bytes(&mask).places()))
    }

    fn len(&self) -> usize {
        match self {
            Found::Places(places) => places.len(),
            Found::Stored(s) => s.pattern.positions,
        }
    }

    /// A row for each: where it is along some axes.
    fn coordinates(&self, axes: &[usize], shape: &[usize]) -> Result<Strided> {
        let places = match self {
            Found::Stored(s) => return s.pattern.coordinates(axes, shape),
            Found::Places(places) => places,
        };
        raise(Work::Engine);
        let columns = axes.len();
        let n = dense_len(&[places.len(), columns], DType::I64)?;
        let strides = c_strides(shape);
        let kernel = |op: BinaryOp| op.kernel(DType::I64).ok_or_else(|| error::dtype(&[DType::I64], op.name()));
        let divide = [kernel(BinaryOp::FloorDivide)?, kernel(BinaryOp::Remainder)?];
        let out = Buffer::filled(n * size_of::<i64>(), size_of::<i64>(), |out| {
            let rows = bytemuck::cast_slice_mut::<u8, i64>(out);
            parallel::for_chunks_mut(rows, columns, parallel::GRAIN, &|start, rows| {
                let places = bytemuck::cast_slice(&places[start..][..rows.len() / columns]);
                if let [axis] = *axes {
                    return along_axis(places, divide, (shape[axis], strides[axis]), axis, rows);
                }
                let mut own = vec![0; places.len()];
                for (column, &axis) in axes.iter().enumerate() {
                    along_axis(places, divide, (shape[axis], strides[axis]), axis, &mut own);
                    rows[column..].iter_mut().step_by(columns).zip(&own).for_each(|(at, &own)| *at = own);
                }
            });
        })?;
        Ok(Strided::new(out, DType::I64, vec![places.len(), columns]))
    }
}

/// Where elements of these numbers are along an axis of that length and stride, by the loops that divide whole numbers by one.
fn along_axis(
    places: &[i64],
    [floor_divide, remainder]: [BinaryKernel; 2],
    (length, stride): (usize, isize),
    axis: usize,
    out: &mut [i64],
) {
    const PIECE: usize = 1 << 10;
    let by = |kernel: BinaryKernel, x: &[i64], divisor: i64, out: &mut [i64]| {
        kernel(bytemuck::cast_slice(x), bytemuck::bytes_of(&divisor), bytemuck::cast_slice_mut(out));
    };
    let (stride, n) = (stride as i64, length as i64);
    let mut quotients = [0; PIECE];
    for (places, out) in places.chunks(PIECE).zip(out.chunks_mut(PIECE)) {
        let quotients = &mut quotients[..places.len()];
        match (stride, axis) {
            (1, 0) => out.copy_from_slice(places),
            (_, 0) => by(floor_divide, places, stride, out),
            (1, _) => by(remainder, places, n, out),
            _ => {
                by(floor_divide, places, stride, quotients);
                by(remainder, quotients, n, out);
            }
        }
    }
}

fn of_strided_any(fill: &Strided) -> bool {
    fill.cast(DType::Bool).core().contiguous_bytes().is_some_and(|bytes| bytes.contains(&1))
}
