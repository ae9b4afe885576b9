//! Elementwise functions of any number of operands: one pass over a common pattern, no intermediate result.

use openwork_ops::{DType, ReduceOp};

use super::join::{Role, join};
use super::plan::{Side2, core_of, core_of_all, is_dense, may_be_dense};
use crate::base::error::Result;
use crate::base::shape::broadcast_shapes;
use crate::base::strided::Strided;
use crate::base::trace::{Work, raise};
use crate::engine::blocks::{self, Kernel, ManyKernel};
use crate::levels::layout::Layout;
use crate::tensor::fill::{self, Background, Fill, fill_of};
use crate::tensor::{Sparse, Tensor};

/// A function of elements: its dtypes and its kernel.
#[derive(Clone, Copy)]
pub(crate) struct Function<'a> {
    /// What each operand is read as.
    pub(crate) computes: &'a [DType],
    pub(crate) out: DType,
    pub(crate) kernel: ManyKernel<'a>,
}

impl Function<'_> {
    /// The function on arrays of one shape.
    pub(super) fn on_arrays(&self, arrays: &[&Strided]) -> Strided {
        blocks::map_each(arrays, self.computes, self.out, Kernel::Many(self.kernel))
    }

    /// The function on every element of tensors that broadcast. An element exists where it does in all operands.
    pub(crate) fn apply(&self, operands: &[&Tensor]) -> Result<Tensor> {
        let shape = common_shape(operands)?;
        let out = match operands.iter().map(|t| t.strided()).collect::<Option<Vec<_>>>() {
            Some(arrays) => Tensor::from_strided(self.on_strided(&arrays, &shape)),
            None => {
                let sides = sides(operands, &shape)?;
                let role = |s: &Side2<'_>| if s.is_undefined() { Role::Every } else { Role::Any };
                let roles: Vec<Role> = sides.iter().map(role).collect();
                let fill = self.fill(&shape, &sides)?;
                self.on_sides(&shape, sides, &roles, fill)?
            }
        };
        Ok(out)
    }

    pub(super) fn on_strided(&self, arrays: &[&Strided], shape: &[usize]) -> Strided {
        let wide: Vec<Strided> = arrays.iter().map(|a| a.broadcast(shape)).collect();
        self.on_arrays(&wide.iter().collect::<Vec<_>>())
    }

    /// The function of the backgrounds. Fills that are small may give a large one: that is refused before it is computed.
    pub(super) fn fill(&self, shape: &[usize], sides: &[Side2<'_>]) -> Result<Background> {
        let arrays: Option<Vec<&Strided>> = sides.iter().map(|s| s.background.values()).collect();
        let Some(arrays) = arrays else { return Ok(Background::Undefined) };
        let all: Vec<&Side2<'_>> = sides.iter().collect();
        let core = core_of_all(shape, &all);
        if is_dense(shape, &core, &all) {
            may_be_dense(shape, self.out, &all, &core)?;
        }
        Ok(Background::Values(self.on_arrays(&arrays)))
    }

    /// The result with a fill that is known already, at the positions that the roles give.
    pub(super) fn on_sides(
        &self,
        shape: &[usize],
        sides: Vec<Side2<'_>>,
        roles: &[Role],
        fill: Background,
    ) -> Result<Tensor> {
        let fill = match fill {
            // What varies in name only would keep the next op from staying sparse.
            Background::Values(values) => match fill::single(&values) {
                Some(value) => Background::Values(Strided::constant(value, shape)),
                None => Background::Values(values),
            },
            undefined => undefined,
        };
        if let Background::Values(values) = &fill {
            let all: Vec<&Side2<'_>> = sides.iter().collect();
            if is_dense(shape, &core_of(values), &all) {
                may_be_dense(shape, self.out, &all, &core_of(values))?;
                let dense = all.iter().map(|s| s.dense()).collect::<Result<Vec<Strided>>>()?;
                let out = self.on_arrays(&dense.iter().collect::<Vec<_>>());
                return Ok(Tensor::from_strided(out));
            }
        }
        let n = sides.len();
        let fill = fill.values().map_or(Fill::Undefined, fill_of);
        let Some(joined) = join(shape, sides, roles, false)? else {
            return Tensor::empty(shape, self.out, Layout::Coo, fill); // nothing but fills
        };
        let sources: Vec<_> = (0..n).map(|i| joined.source(i, None)).collect();
        let values = blocks::values(&joined.pattern, &sources, self.computes, self.out, Kernel::Many(self.kernel));
        if !joined.reads_no_index() {
            raise(Work::Engine);
        }
        let out = Sparse { shape: shape.to_vec(), pattern: joined.pattern.clone(), values, fill };
        Ok(out.into())
    }
}

/// The shape to which all operands broadcast.
pub(super) fn common_shape(operands: &[&Tensor]) -> Result<Vec<usize>> {
    operands.iter().try_fold(Vec::new(), |shape, x| broadcast_shapes(&shape, x.shape()))
}

/// Operands broadcast to a shape.
pub(super) fn sides<'a>(operands: &[&'a Tensor], shape: &[usize]) -> Result<Vec<Side2<'a>>> {
    operands.iter().map(|&x| Side2::of(x, shape)).collect()
}

/// A tensor whose duplicates are summed.
pub(super) fn coalesced(x: &Tensor) -> Result<Tensor> {
    match x.sparse() {
        Some(s) if !s.pattern.is_unique() => Ok(crate::engine::convert::coalesce(s, ReduceOp::Sum)?.into()),
        _ => Ok(x.clone()),
    }
}
