//! `where_` and masks: each element from one of two tensors, or from none.

use openwork_ops::structure::arms;
use openwork_ops::{DType, Element, Scalar, promote};

use super::Operand;
use super::plan::{Function, common_shape};
use crate::base::buffer::{Buffer, zeroed_vec};
use crate::base::context;
use crate::base::error::{self, Result};
use crate::base::mapped::Mapped;
use crate::base::parallel;
use crate::base::strided::{Shape, Strided};
use crate::engine::blocks::{self, Kernel, Pass, Source};
use crate::engine::convert;
use crate::engine::join::{Role, join};
use crate::engine::sides::Side;
use crate::levels::layout::{Layout, LevelSpec};
use crate::levels::retain::Kept;
use crate::tensor::fill::Fill;
use crate::tensor::trace;
use crate::tensor::{Sparse, Tensor};

/// Two arms and a condition; an arm that is not there is absent everywhere.
struct Choice<'a> {
    condition: &'a Tensor,
    arms: [Option<&'a Tensor>; 2],
    dtype: DType,
}

fn choose_block(blocks: &[&[u8]], out: &mut [u8]) {
    let [condition, x, y] = blocks else { return };
    arms::choose(condition, x, y, out);
}

/// # Choosing elementwise: `where_`, masks, selection by value
impl Tensor {
    /// Each element from `x` where this bool tensor is true, from `y` where it is false: the array API's `where`,
    /// which is a word of Rust's. All three broadcast; `x` and `y` are promoted to one dtype, and a number takes that
    /// of the other.
    ///
    /// **Fill:** the choice of the fills. An element is absent where the condition is, or where the chosen one is;
    /// what is not chosen does not matter. With an undefined fill among the operands the result's is undefined.
    ///
    /// **Cost:** O(nse of all three + size of the result's fill). Where the condition's fill is one value, an arm that
    /// only its stored elements can choose is merely looked up there. With an undefined fill beside a defined one that
    /// fills choose, every element has to be stored, within the densify budget.
    ///
    /// ```
    /// use openwork::{Layout, Tensor};
    /// let x = Tensor::random([50, 50], 0.1, 0.0, Layout::Csr, 3)?;
    /// let capped = x.gt(0.5)?.where_(0.5, &x)?;
    /// assert_eq!((capped.layout(), capped.nse()), (Layout::Csr, x.nse()));
    /// # Ok::<(), openwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the condition is not bool, shapes do not broadcast, dtypes do not promote, a number does not fit the dtype,
    /// or the result is not sparse and exceeds the densify budget.
    #[doc(alias("where"))]
    pub fn where_<'a>(&self, x: impl Into<Operand<'a>>, y: impl Into<Operand<'a>>) -> Result<Tensor> {
        self.one_or_other(x.into(), y.into())
    }

    fn one_or_other<'a>(&self, x: Operand<'a>, y: Operand<'a>) -> Result<Tensor> {
        let call = trace::call("where_", &[self]);
        let dtype = match (&x, &y) {
            (Operand::Tensor(x), Operand::Tensor(y)) => promote(x.dtype(), y.dtype()),
            (Operand::Tensor(x), Operand::Number(n)) | (Operand::Number(n), Operand::Tensor(x)) => {
                Some(n.meets(x.dtype()))
            }
            // Both of the default dtype of their kind.
            (Operand::Number(a), Operand::Number(b)) => promote(a.meets(DType::Bool), b.meets(DType::Bool)),
        };
        let given = |o: &Operand<'_>| match o {
            Operand::Tensor(t) => t.dtype(),
            Operand::Number(n) => n.scalar().dtype(),
        };
        let dtype = dtype.ok_or_else(|| {
            error::dtype(&[self.dtype(), given(&x), given(&y)], "no dtype holds the values of both; cast one side")
        })?;
        let tensor = |o: Operand<'a>| -> Result<Tensor> {
            match o {
                Operand::Tensor(t) => Ok(t.into_owned()),
                Operand::Number(n) => {
                    let value = n.scalar().fit(dtype).map_err(error::does_not_fit)?;
                    Ok(Tensor::from_strided(Strided::constant(value, &[])))
                }
            }
        };
        let (x, y) = (tensor(x)?, tensor(y)?);
        call.end(Choice { condition: self, arms: [Some(&x), Some(&y)], dtype }.run())
    }

    /// The elements where a bool mask is true; all others are absent, so that the result's fill is undefined. Where the
    /// mask itself is absent, so is the result. Shapes broadcast.
    ///
    /// The mask counts by value. GraphBLAS's structural mask, which counts what is stored, is `x.mask(&m.is_stored()?)`;
    /// to have the fill where the mask is not, take [`Tensor::where_`] or [`Tensor::replace_fill`] afterwards.
    ///
    /// **Cost:** O(nse of both) if the mask's fill is false or undefined, or this fill is undefined; else every element that
    /// the fills keep has to be stored, within the densify budget.
    ///
    /// ```
    /// use openwork::{Layout, tensor};
    /// let x = tensor![[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]];
    /// let mask = tensor![[true, false, true], [false, false, true]; Layout::Csr, false]?;
    /// let kept = x.mask(&mask)?; // elements that are not kept are absent
    /// assert_eq!((kept.nse(), kept.get([0, 1])?), (3, None));
    /// assert_eq!(kept.max(1)?.to_vec::<f64>()?, [3.0, 6.0]);
    /// # Ok::<(), openwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the mask is not bool, shapes do not broadcast, or the densify budget is exceeded.
    #[doc(alias("sparse_mask", "masked_select"))]
    pub fn mask(&self, mask: &Tensor) -> Result<Tensor> {
        let call = trace::call("mask", &[self, mask]);
        call.end(Choice { condition: mask, arms: [Some(self), None], dtype: self.dtype() }.run())
    }

    /// The elements where a bool mask is false: otherwise as [`Tensor::mask`].
    ///
    /// # Errors
    /// As [`Tensor::mask`].
    pub fn mask_complement(&self, mask: &Tensor) -> Result<Tensor> {
        let call = trace::call("mask_complement", &[self, mask]);
        call.end(Choice { condition: mask, arms: [None, Some(self)], dtype: self.dtype() }.run())
    }
}

impl Choice<'_> {
    fn run(&self) -> Result<Tensor> {
        let given = || [Some(self.condition)].into_iter().chain(self.arms).flatten();
        if self.condition.dtype() != DType::Bool {
            let why = "the condition must be bool; compare, or cast(DType::Bool) for `!= 0`";
            return Err(error::dtype(&given().map(Tensor::dtype).collect::<Vec<_>>(), why));
        }
        let computes = [DType::Bool, self.dtype, self.dtype];
        let function =
            Function::new(Pass { computes: &computes, out: self.dtype, kernel: Kernel::Many(&choose_block) });
        if let [Some(x), Some(y)] = self.arms
            && given().all(Tensor::is_strided)
        {
            return function.apply(&[self.condition, x, y]);
        }
        let shape = common_shape(&given().collect::<Vec<_>>())?;
        if let Some(out) = self.of_arrays(&shape)? {
            return Ok(out);
        }
        let nowhere = Tensor::empty(&shape, self.dtype, Layout::Coo, Fill::Undefined)?;
        let operands = [self.condition, self.arms[0].unwrap_or(&nowhere), self.arms[1].unwrap_or(&nowhere)];
        let side = |x| Side::spread_over(x, &shape);
        let mut sides = [side(operands[0])?, side(operands[1])?, side(operands[2])?];
        if sides.iter().any(Side::is_undefined) {
            self.of_present(function, &mut sides, shape)
        } else {
            self.of_all(function, &mut sides, shape)
        }
    }

    /// What a mask keeps of an array: the pattern of the mask, and the elements that it names.
    fn of_arrays(&self, shape: &Shape) -> Result<Option<Tensor>> {
        let (x, kept) = match self.arms {
            [Some(x), None] => (x, true),
            [None, Some(x)] => (x, false),
            _ => return Ok(None),
        };
        let (Some(mask), Some(x)) = (self.condition.strided(), x.strided()) else { return Ok(None) };
        if shape.is_empty() || shape.contains(&0) {
            return Ok(None);
        }
        let (mut mask, x) = (mask.broadcast(shape), x.broadcast(shape));
        if !kept {
            let inverse: Vec<bool> = mask.dense_bytes()?.iter().map(|&b| b == 0).collect();
            mask = Strided::from_vec(inverse, shape.to_vec());
        }
        let spec = LevelSpec::of_layout(Layout::Coo, shape)?;
        let pattern = convert::from_strided(&mask, &spec, Scalar::Bool(false).into())?.pattern;
        let (bytes, source, size) = (mask.dense_bytes()?, x.dense_bytes()?, self.dtype.size());
        let kept = Kept::new(bool::from_bytes(&bytes));
        let buffer = Buffer::filled(kept.len() * size, size, |out| kept.copy(&source, size, out))?;
        let values = Strided::new(buffer, self.dtype, vec![kept.len()]);
        Ok(Some(Sparse { shape: shape.clone(), pattern, values, fill: Fill::Undefined }.into()))
    }

    /// Every element is there.
    fn of_all(&self, function: Function<'_>, sides: &mut [Side<'_>; 3], shape: Shape) -> Result<Tensor> {
        // Where the condition stores nothing, one arm is chosen: the other matters only where it stores something.
        let fill = match sides[0].constant_fill() {
            Some(Scalar::Bool(chosen)) => {
                let (arm, other) = if chosen { (1, 2) } else { (2, 1) };
                sides[other].role = Role::Look;
                sides[arm].rest.clone().cast(self.dtype).settled()
            }
            _ => function.fill(&shape, sides)?,
        };
        function.by_engine(sides, fill, shape)
    }

    /// Some fill is undefined, and so is the result's: what is there is found among stored elements, or, if fills
    /// choose from a defined one, among all.
    fn of_present(&self, function: Function<'_>, sides: &mut [Side<'_>; 3], shape: Shape) -> Result<Tensor> {
        let absent = |i: usize| sides[i].is_undefined();
        let roles = match sides[0].constant_fill() {
            _ if absent(0) => [Role::Every, Role::Look, Role::Look],
            Some(Scalar::Bool(true)) if absent(1) => [Role::Any, Role::Any, Role::Look],
            Some(Scalar::Bool(false)) if absent(2) => [Role::Any, Role::Look, Role::Any],
            _ if absent(1) && absent(2) => [Role::Look, Role::Any, Role::Any],
            _ => return self.of_every(function, &shape, sides),
        };
        for (side, role) in sides.iter_mut().zip(roles) {
            side.role = role;
        }
        let Some(pattern) = join(&shape, sides, true)? else {
            return Tensor::empty(&shape, self.dtype, Layout::Coo, Fill::Undefined);
        };
        let source = |i: usize| sides[i].source(&pattern, None);
        let sources = [source(0)?, source(1)?, source(2)?];
        let values = function.pass.values(&pattern, &sources)?;
        let [condition, ..] = sources;
        let presence = [0, 1, 2].map(|i| sides[i].presence());
        let keep = present(pattern.positions, condition, &presence)?;
        let all = Sparse { shape, pattern: pattern.clone(), values, fill: Fill::Undefined };
        let Some(keep) = keep else { return Ok(all.into()) };
        Ok(convert::retain_rows(&all, &keep)?.into())
    }

    /// Every element of the shape is looked at, within budget.
    fn of_every(&self, function: Function<'_>, shape: &[usize], sides: &[Side<'_>; 3]) -> Result<Tensor> {
        if !sides.iter().any(|s| s.is_full(shape)) {
            context::may_densify(shape, self.dtype.size(), || {
                "one arm is absent where it is not stored, and the fills choose the other, so that every element has to be \
                 stored"
                    .into()
            })?;
        }
        let n = convert::dense_len(shape, self.dtype)?;
        let dense = |s: &Side<'_>| match (&s.stored, s.is_undefined()) {
            (Some(x), true) => convert::to_strided(x, &Strided::constant(Scalar::zero(x.dtype()), shape)),
            _ => s.dense(shape),
        };
        let arrays = sides.try_mapped(dense)?;
        let presence = |s: &Side<'_>| -> Result<Option<Vec<bool>>> {
            match (&s.stored, s.is_undefined()) {
                (Some(x), true) => {
                    let values = Strided::constant(Scalar::Bool(true), &x.values.shape);
                    let stored = Sparse { values, fill: Scalar::Bool(false).into(), ..(**x).clone() };
                    let nothing = Strided::constant(Scalar::Bool(false), shape);
                    let dense = convert::to_strided(&stored, &nothing)?;
                    Ok(Some(dense.dense_bytes()?.iter().map(|&b| b != 0).collect()))
                }
                _ => Ok(None),
            }
        };
        let presence = [presence(&sides[0])?, presence(&sides[1])?, presence(&sides[2])?];
        let keep = present(n, Source::values(&arrays[0]), &presence)?;
        let values = function.pass.on_arrays(&arrays.iter().collect::<Vec<_>>())?;
        let spec = LevelSpec::of_layout(Layout::Coo, shape)?;
        let all = convert::from_strided(&values, &spec, Fill::Undefined)?;
        Ok(if let Some(keep) = keep { convert::retain_rows(&all, &keep)? } else { all }.into())
    }
}

/// At which positions the condition and the arm it chooses are there; `None` if they are everywhere.
fn present(n: usize, condition: Source<'_>, presence: &[Option<Vec<bool>>; 3]) -> Result<Option<Vec<bool>>> {
    if presence.iter().all(Option::is_none) {
        return Ok(None);
    }
    let condition = blocks::collect(n, condition, DType::Bool)?;
    let chosen = condition.buffer.bytes();
    let [of_condition, of_x, of_y] = presence.each_ref().map(|there| there.as_deref());
    let mut present = zeroed_vec::<bool>(n);
    parallel::for_chunks_mut(&mut present, 1, parallel::GRAIN, &|start, present| {
        let is = |there: Option<&[bool]>, p: usize| there.is_none_or(|there| there[p]);
        for (present, p) in present.iter_mut().zip(start..) {
            // Both arms are asked, without a branch that is a guess.
            let (x, y) = (is(of_x, p), is(of_y, p));
            *present = is(of_condition, p) & if chosen[p] != 0 { x } else { y };
        }
    });
    Ok(Some(present))
}
