//! Tensors laid side by side in a larger one: concat, stack, block_diag, and what pads.
//!
//! Stored coordinates are shifted, and put one after the other, side by side, or merged. The fills decide what else is done.

use crate::base::mapped::Mapped;
use std::borrow::{Borrow, Cow};
use std::sync::Arc;

use openwork_ops::structure::keys::KeyLayout;
use openwork_ops::structure::{Index, IndexVec};
use openwork_ops::{Scalar, promote, with_index};

use super::{along, arrays, beside};
use crate::base::axes::Axis;
use crate::base::buffer::{Buffer, zeroed_vec};
use crate::base::context;
use crate::base::error::{self, Result};
use crate::base::faults::{self, Fault};
use crate::base::pages::Scratch;
use crate::base::parallel;
use crate::base::strided::Strided;
use crate::engine::{convert, recompress};
use crate::levels::indices::{Indices, needs_64_bits};
use crate::levels::layout::{Layout, LevelSpec};
use crate::levels::level::{Level, LevelKind};
use crate::levels::names::ArrayName;
use crate::levels::pattern::{Dim, Part, Pattern};
use crate::tensor::fill::{Fill, fill_of};
use crate::tensor::trace;
use crate::tensor::{Sparse, Storage, Tensor};

/// # Joining tensors
impl Tensor {
    /// Joins tensors along an axis they have. Other axes have equal sizes; dtypes promote.
    ///
    /// Strided tensors give a strided one. With a sparse one among them the result is sparse, in the layout of the first
    /// (COO where that cannot hold it, or would have a pointer for each of more than a million rows or columns and four times as
    /// many as the parts have and store), and strided parts are stored elements.
    ///
    /// Fill: what the parts' fills agree on (−0 and 0 do); else an array fill that varies along the axis, if it
    /// varies along no other sparse axis; else the fill of the largest part, the others storing what differs, within
    /// the densify budget. One undefined fill makes the result's undefined, the others storing all their elements within
    /// the budget.
    ///
    /// Cost: O(nse + rows) and one copy; what interleaves in storage order is merged, and where blocks or more than eight parts do,
    /// sorted. Hybrid parts that store the same rows, joined along a value axis, stay hybrid.
    ///
    /// ```
    /// use openwork::{Layout, Tensor, tensor};
    /// let (a, b) = (tensor![[1, 0]; Layout::Csr, 0]?, tensor![[0, 2]; Layout::Csr, 0]?);
    /// let below = Tensor::concat(&[&a, &b], 0)?;
    /// assert_eq!((below.layout(), below.to_vec::<i32>()?), (Layout::Csr, vec![1, 0, 0, 2]));
    /// assert_eq!(Tensor::concat(&[&a, &b], 1)?.shape(), [1, 4]);
    /// # Ok::<(), openwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// If there is no tensor, the axis is out of range, other axes differ, dtypes do not promote, or the fills
    /// differ and exceed the densify budget.
    #[doc(alias("cat", "concatenate", "hstack", "vstack"))]
    pub fn concat<T: Borrow<Tensor>>(tensors: &[T], axis: impl Into<Axis>) -> Result<Tensor> {
        let tensors: Vec<&Tensor> = tensors.mapped(Borrow::borrow);
        let call = trace::call("concat", &tensors);
        call.end(concat(&tensors, axis.into()))
    }

    /// Joins tensors of one shape along a new axis. Stacked CSR matrices are batched CSR; fills as
    /// [`Tensor::concat`].
    ///
    /// ```
    /// use openwork::{Tensor, tensor};
    /// let (a, b) = (tensor![1, 2], tensor![3, 4]);
    /// assert_eq!(Tensor::stack(&[&a, &b], 0)?.to_vec::<i32>()?, [1, 2, 3, 4]);
    /// assert_eq!(Tensor::stack(&[&a, &b], 1)?.to_vec::<i32>()?, [1, 3, 2, 4]);
    /// # Ok::<(), openwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::concat`].
    #[doc(alias("column_stack", "dstack"))]
    pub fn stack<T: Borrow<Tensor>>(tensors: &[T], axis: impl Into<Axis>) -> Result<Tensor> {
        let tensors: Vec<&Tensor> = tensors.mapped(Borrow::borrow);
        let call = trace::call("stack", &tensors);
        call.end(stack(&tensors, axis.into()))
    }

    /// Matrices along the diagonal of a larger one; vectors are rows. Everywhere else is zero, or absent if one of
    /// the fills is undefined. Strided matrices give a strided one; with a sparse one among them the result is sparse,
    /// in the layout of the first, or COO as [`Tensor::concat`].
    ///
    /// ```
    /// use openwork::{Tensor, tensor};
    /// let x = Tensor::block_diag(&[tensor![[1, 2]], tensor![[3], [4]]])?;
    /// assert_eq!((x.shape(), x.to_vec::<i32>()?), (&[3, 3][..], vec![1, 2, 0, 0, 0, 3, 0, 0, 4]));
    /// # Ok::<(), openwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// If there is no tensor or one has more than two axes, dtypes do not promote, or a fill other than
    /// zero has to be stored and exceeds the densify budget.
    pub fn block_diag<T: Borrow<Tensor>>(tensors: &[T]) -> Result<Tensor> {
        let tensors: Vec<&Tensor> = tensors.mapped(Borrow::borrow);
        let call = trace::call("block_diag", &tensors);
        call.end(block_diag(&tensors))
    }

    /// A tensor of blocks, given row by row: each row is joined along the last axis, then the rows along the last but one.
    /// Layout, fill and cost as [`Tensor::concat`].
    ///
    /// ```
    /// use openwork::{DType, Layout, Tensor};
    /// let (eye, zeros) = (Tensor::eye(2, DType::F64, Layout::Csr)?, Tensor::zeros([2, 1], DType::F64, Layout::Csr)?);
    /// let x = Tensor::block(&[vec![&eye, &zeros], vec![&zeros, &eye]])?;
    /// assert_eq!((x.shape(), x.nse(), x.layout()), (&[4, 3][..], 4, Layout::Csr));
    /// # Ok::<(), openwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// If a row is empty, tensors have fewer than two axes, or as [`Tensor::concat`].
    pub fn block<T: Borrow<Tensor>>(rows: &[Vec<T>]) -> Result<Tensor> {
        let call = trace::call("block", &rows.iter().flatten().map(Borrow::borrow).collect::<Vec<_>>());
        let joined = |row: &Vec<T>| concat(&row.mapped(Borrow::borrow), -1);
        let rows = rows.try_mapped(joined)?;
        call.end(concat(&rows.iter().collect::<Vec<_>>(), -2))
    }
}

fn no_tensor() -> error::Error {
    error::invalid("tensors", "none is given, at least one is needed")
}

/// All in the dtype they promote to.
fn promoted(tensors: &[&Tensor]) -> Result<Vec<Tensor>> {
    let Some(first) = tensors.first() else { return Err(no_tensor()) };
    let mut dtype = first.dtype();
    for t in tensors {
        let why = "no dtype holds the values of both; cast one side";
        dtype = promote(dtype, t.dtype()).ok_or_else(|| error::dtype(&[dtype, t.dtype()], why))?;
    }
    tensors.iter().map(|t| t.cast(dtype)).collect()
}

fn stack(tensors: &[&Tensor], axis: Axis) -> Result<Tensor> {
    let Some(first) = tensors.first() else { return Err(no_tensor()) };
    let at = axis.of(first.ndim() + 1)?;
    if let Some(other) = tensors.iter().find(|t| t.shape() != first.shape()) {
        return Err(error::shape(&[first.shape(), other.shape()], "all shapes must be equal"));
    }
    let expanded = tensors.try_mapped(|t| lift(t, at))?;
    concat(&expanded.iter().collect::<Vec<_>>(), at)
}

pub(crate) fn concat(tensors: &[&Tensor], axis: impl Into<Axis>) -> Result<Tensor> {
    let Some(first) = tensors.first() else { return Err(no_tensor()) };
    let axis = axis.into().of(first.ndim())?;
    let out = concat_like(tensors, axis, 0)?;
    Ok(out)
}

/// Joins tensors in the layout of the one numbered `model`, or where that is strided, of the first sparse one.
pub(crate) fn concat_like(tensors: &[&Tensor], axis: usize, model: usize) -> Result<Tensor> {
    let first = tensors[0];
    let mut shape = first.shape().to_vec();
    shape[axis] = 0;
    for t in tensors {
        let fits = t.ndim() == shape.len() && (0..shape.len()).all(|a| a == axis || t.shape()[a] == shape[a]);
        if !fits {
            let why = format!("only axis {axis} may differ in size");
            return Err(error::shape(&[first.shape(), t.shape()], why));
        }
        shape[axis] = shape[axis].checked_add(t.shape()[axis]).ok_or_else(|| {
            error::shape(&[first.shape(), t.shape()], format_args!("together axis {axis} exceeds the largest size"))
        })?;
    }
    let parts = promoted(tensors)?;
    if parts.iter().all(Tensor::is_strided) {
        return Ok(Tensor::from_strided(strided(&parts, axis, &shape)?));
    }
    sparse(&parts, axis, &shape, model)
}

/// Joins arrays of one dtype.
pub(super) fn strided(parts: &[Tensor], axis: usize, shape: &[usize]) -> Result<Strided> {
    arrays::joined(&parts.iter().filter_map(Tensor::strided).collect::<Vec<_>>(), axis, shape)
}

/// One sparse part, and where its first element stands in the whole.
pub(crate) struct Piece<'a> {
    pub(crate) sparse: Cow<'a, Sparse>,
    pub(crate) offset: Vec<usize>,
    /// How far apart its elements stand along each axis; other than 1 only along axes that levels hold whole.
    pub(crate) step: Vec<isize>,
}

fn sparse(parts: &[Tensor], axis: usize, shape: &[usize], model: usize) -> Result<Tensor> {
    let Some(first) = parts[model].sparse().or_else(|| parts.iter().find_map(Tensor::sparse)) else {
        return Err(no_tensor());
    };
    // Parts without an element say nothing about the fill.
    let with_elements: Vec<&Sparse> =
        parts.iter().filter_map(Tensor::sparse).filter(|s| !s.shape.contains(&0)).collect();
    let undefined = if with_elements.is_empty() {
        first.fill.is_undefined()
    } else {
        with_elements.iter().any(|s| s.fill.is_undefined())
    };
    if let Some(out) = beside::along_values(parts, axis, shape)? {
        return Ok(out.into());
    }
    let spec = spec_of(parts, first, axis, shape, undefined)?;
    // By pointers where that is quick, and back to what lists rows or coordinates: those that are in other levels are brought to these or
    // those in any case.
    let listed = spec;
    let total = parts.iter().filter_map(Tensor::sparse).map(|s| s.pattern.positions).sum();
    let is_quick = |s: &Sparse| !s.pattern.has_spec(&listed) || recompress::by_rows(s, total).is_some();
    let rows = Some(first).filter(|s| s.pattern.has_spec(&listed)).and_then(|s| recompress::by_rows(s, total));
    let spec = match rows {
        Some(rows) if !is_outermost(&listed, axis) && parts.iter().filter_map(Tensor::sparse).all(is_quick) => rows,
        _ => listed.clone(),
    };
    let fill = if undefined {
        Fill::Undefined
    } else {
        match joined_fill(parts, &with_elements, axis, shape, &spec)? {
            Some(fill) => fill,
            None => {
                let dense = parts.try_mapped(Tensor::to_dense)?;
                return Ok(Tensor::from_strided(strided(&dense, axis, shape)?));
            }
        }
    };
    let background = fill.spread(shape);
    let (mut pieces, mut at) = (Vec::with_capacity(parts.len()), 0);
    for part in parts {
        let range = at..at + part.shape()[axis];
        let own = match (&fill, &background) {
            (Fill::Array(_), Some(values)) if !part.shape().contains(&0) => {
                fill_of(&values.narrow(axis, range.clone()))
            }
            (Fill::Array(values), _) => Fill::Scalar(Scalar::zero(values.dtype())),
            (fill, _) => fill.clone(),
        };
        let mut offset = vec![0; shape.len()];
        offset[axis] = at;
        pieces.push(Piece { sparse: refilled(part, own, &spec)?, offset, step: vec![1; shape.len()] });
        at = range.end;
    }
    let joined = match one_after_the_other(&pieces, axis, shape) {
        Some(pattern) => Some((pattern, join_values(&pieces)?)),
        None => beside::side_by_side(&pieces, axis, shape).or_else(|| beside::under_dense(&pieces, axis, shape)),
    };
    let out = match joined {
        Some((pattern, values)) => Sparse { shape: shape.into(), pattern: Arc::new(pattern), values, fill },
        None => match beside::interleaved(&pieces, axis, shape, &spec)? {
            Some(joined) => Sparse { fill, ..joined },
            None => place(shape, &spec, &pieces, fill)?,
        },
    };
    Ok(if spec == listed { out } else { convert::convert(&out, &listed)? }.into())
}

/// The level structure of the whole: that of the first sparse part, where it can hold it.
fn spec_of(parts: &[Tensor], first: &Sparse, axis: usize, shape: &[usize], undefined: bool) -> Result<LevelSpec> {
    let plain = |s: &Sparse| {
        let spec = s.pattern.spec();
        spec.freed()
    };
    let coo = || LevelSpec::of_layout(Layout::Coo, shape);
    let mut spec = plain(first);
    let held = spec.dims.iter().position(|d| d.0 == axis).map(|d| (d, spec.dims[d].1));
    match held {
        Some((_, Part::Div(b) | Part::Mod(b))) if parts.iter().all(|t| t.shape()[axis].is_multiple_of(b)) => {}
        Some((_, Part::Div(_) | Part::Mod(_))) => spec = along::unblocked(first)?,
        Some((d, Part::Whole)) if d >= spec.level_dims() => spec = coo()?,
        _ => {}
    }
    // Rows of value axes cannot hold absent elements.
    let other = |s: &Sparse| s.fill.is_undefined() && plain(s) != spec;
    if undefined && spec.level_dims() < spec.dims.len() && parts.iter().filter_map(Tensor::sparse).any(other) {
        spec = coo()?;
    }
    spared(spec, shape, parts)
}

/// Slices that have a pointer each without a question.
const FEW_SLICES: usize = 1 << 20;

/// The level structure of what holds the parts; coordinates where that would have far more slices with a pointer each than the parts
/// store elements and have pointers.
pub(super) fn spared(mut spec: LevelSpec, shape: &[usize], parts: &[Tensor]) -> Result<LevelSpec> {
    let own = |part: &Tensor| match part.sparse() {
        Some(s) => s.pattern.spec().slices(&s.shape).saturating_add(s.pattern.positions),
        None => part.strided().map_or(0, Strided::len),
    };
    let most = parts.iter().map(own).fold(0, usize::saturating_add).saturating_mul(4).saturating_add(FEW_SLICES);
    if spec.slices(shape) <= most {
        return Ok(spec);
    }
    if spec.dims.iter().any(|&(_, part)| part != Part::Whole) {
        return LevelSpec::of_layout(Layout::Coo, shape);
    }
    let rank = spec.level_dims();
    spec.dims[..rank].sort_unstable_by_key(|&(axis, _)| axis);
    Ok(LevelSpec { levels: vec![LevelKind::Sparse { rank }], ..spec })
}

/// Whether two fills of one shape are the same; zeros are, whatever their sign.
pub(super) fn agree(a: &Strided, b: &Strided) -> bool {
    let (x, y) = (a.core(), b.core());
    let zero = |s: &Strided| s.len() == 1 && s.at_offset(s.offset).is_zero();
    x.shape == y.shape && (x.contiguous_bytes() == y.contiguous_bytes() || (zero(&x) && zero(&y)))
}

/// The fill of parts whose fills are all defined; `None` if only a dense result is left, which fits the budget.
pub(super) fn joined_fill(
    parts: &[Tensor],
    with_elements: &[&Sparse],
    axis: usize,
    shape: &[usize],
    spec: &LevelSpec,
) -> Result<Option<Fill>> {
    let dtype = parts[0].dtype();
    let cores: Vec<Strided> =
        with_elements.iter().filter_map(|s| s.fill_values().map(|fill| fill.unbroadcast())).collect();
    let Some(first) = cores.first() else { return Ok(Some(Fill::Scalar(Scalar::zero(dtype)))) };
    let constant = |core: &&Strided| core.shape[axis] == 1;
    if cores.iter().all(|c| constant(&c) && agree(c, first)) {
        return Ok(Some(fill_of(&first.broadcast(shape))));
    }
    // One that varies along the axis, and along others only as the parts' fills do.
    let by_level = |d: usize| spec.dims[..spec.level_dims()].iter().any(|&(a, _)| a == d);
    let full = |core: &Strided| (0..shape.len()).filter(|&d| by_level(d) && core.shape[d] > 1).count();
    let varies: Vec<bool> = (0..shape.len()).mapped(|d| d == axis || cores.iter().any(|c| c.shape[d] > 1));
    let small: Vec<usize> = (0..shape.len()).mapped(|d| if varies[d] { shape[d] } else { 1 });
    let count = (0..shape.len()).filter(|&d| by_level(d) && varies[d]).count();
    let allowed = cores.iter().map(full).max().unwrap_or(0).max(1);
    if count <= allowed && convert::dense_len(&small, dtype).is_ok() {
        let zero = Strided::constant(Scalar::zero(dtype), &vec![1; shape.len()]);
        let beside = cores.iter().find(constant).unwrap_or(&zero);
        let fills = parts.iter().map(|part| {
            let mut own = small.clone();
            own[axis] = part.shape()[axis];
            let background = part.sparse().filter(|s| !s.shape.contains(&0)).and_then(Sparse::fill_values);
            let core = background.as_ref().map(Strided::unbroadcast);
            Tensor::from_strided(core.as_ref().unwrap_or(beside).broadcast(&own))
        });
        let joined = strided(&fills.collect::<Vec<_>>(), axis, &small)?;
        return Ok(Some(fill_of(&joined.broadcast(shape))));
    }
    let size = |core: &&Strided| {
        let at = cores.iter().position(|c| std::ptr::eq(c, *core)).map_or(0, |i| i);
        with_elements[at].shape.iter().fold(1u128, |n, &s| n.saturating_mul(s as u128))
    };
    if let Some(largest) = cores.iter().filter(constant).max_by_key(size) {
        return Ok(Some(fill_of(&largest.broadcast(shape))));
    }
    context::may_densify(shape, dtype.size(), || {
        let fills: Vec<String> = cores.mapped(|c| format!("{:?}", c.shape));
        format!("fills of shapes {} together vary along more than one sparse axis", fills.join(" and "))
    })?;
    Ok(None)
}

/// A part with the fill and in the levels of the whole.
pub(crate) fn refilled<'a>(part: &'a Tensor, fill: Fill, spec: &LevelSpec) -> Result<Cow<'a, Sparse>> {
    let s = match &part.storage {
        Storage::Strided(s) => return convert::from_strided(s, spec, fill).map(Cow::Owned),
        Storage::Sparse(s) => &**s,
    };
    match (s.fill_values(), fill.spread(&s.shape)) {
        (None, _) => {}
        (Some(old), None) => {
            context::may_densify(&s.shape, s.dtype().size(), || {
                format!("beside an undefined fill every element that the fill {} stood for has to be stored", s.fill)
            })?;
            let dense = convert::to_strided(s, &old)?;
            return convert::from_strided(&dense, spec, fill).map(Cow::Owned);
        }
        (Some(old), Some(new)) if !agree(&old, &new) && !s.shape.contains(&0) => {
            let other = part.with_fill_as(fill)?;
            let Some(other) = other.sparse() else { return Err(error::layout("a new fill keeps levels")) };
            return convert::convert(other, spec).map(Cow::Owned);
        }
        _ => {}
    }
    let plain = s.pattern.is_canonical() && s.pattern.has_spec(spec);
    if plain { Ok(Cow::Borrowed(s)) } else { convert::convert(s, spec).map(Cow::Owned) }
}

/// Rows of values one after the other; iso parts of one value stay iso.
pub(super) fn join_values(pieces: &[Piece<'_>]) -> Result<Strided> {
    let first = &pieces[0].sparse.values;
    let mut shape = first.shape.clone();
    shape[0] = pieces.iter().map(|p| p.sparse.pattern.positions).sum();
    let rows: Vec<&Strided> = pieces.iter().map(|p| &p.sparse.values).filter(|v| v.len() > 0).collect();
    if let Some(one) = iso(pieces) {
        return Ok(Strided { shape, ..one });
    }
    let n = convert::dense_len(&shape, first.dtype)?;
    let size = first.dtype.size();
    let buffer = Buffer::filled(n * size, size, |mut out| {
        for values in rows {
            let (part, rest) = out.split_at_mut(values.len() * size);
            parallel::for_chunks_mut(part, size, parallel::GRAIN, &|start, part| values.read(start, part));
            out = rest;
        }
    })?;
    Ok(Strided::new(buffer, first.dtype, shape))
}

/// The value that all rows of values are, if they are one.
pub(super) fn iso(pieces: &[Piece<'_>]) -> Option<Strided> {
    let mut rows = pieces.iter().map(|p| &p.sparse.values).filter(|v| v.len() > 0);
    let one = |v: &Strided| (v.strides[0] == 0).then(|| v.narrow(0, 0..1).core());
    let first = rows.next()?;
    let value = one(first)?;
    rows.all(|v| one(v).is_some_and(|own| agree_bitwise(&own, &value))).then(|| first.clone())
}

fn agree_bitwise(a: &Strided, b: &Strided) -> bool {
    a.shape == b.shape && a.contiguous_bytes() == b.contiguous_bytes()
}

/// Whether storage order follows an axis first of all.
fn is_outermost(spec: &LevelSpec, axis: usize) -> bool {
    spec.level_dims() > 0 && spec.dims[0] == (axis, Part::Whole)
}

/// Joined along the axis that storage order follows first of all: the arrays of every level one after the other. `None` of another
/// axis, and where the root has pointers.
fn one_after_the_other(pieces: &[Piece<'_>], axis: usize, shape: &[usize]) -> Option<Pattern> {
    let first = &pieces.first()?.sparse.pattern;
    let has_pointers = |piece: &Piece<'_>| {
        let root = piece.sparse.pattern.levels.first();
        root.is_some_and(|root| root.named_arrays(0).any(|(name, _)| matches!(name, ArrayName::Pointers(_))))
    };
    if !is_outermost(&first.spec(), axis) || pieces.iter().any(has_pointers) {
        return None;
    }
    let mut dims = first.dims.clone();
    dims[0].size = shape[axis];
    let positions = pieces.iter().map(|p| p.sparse.pattern.positions).sum();
    let arrays = |piece: &Piece<'_>, l: usize| piece.sparse.pattern.levels[l].arrays().cloned().collect::<Vec<_>>();
    let entries = |l: usize| pieces.iter().filter_map(|piece| Some(arrays(piece, l).last()?.len())).sum();
    let most = (0..first.levels.len()).map(entries).fold(positions, usize::max);
    let wide = needs_64_bits(most, dims[..first.level_dims].iter().map(|d| d.size));
    let mut levels = Vec::with_capacity(first.levels.len());
    for (l, level) in first.levels.iter().enumerate() {
        let of_parts: Vec<Vec<Indices>> = pieces.iter().map(|piece| arrays(piece, l)).collect();
        let mut i = 0;
        let joined = level.try_map(0, &mut |name, _| {
            let parts = of_parts.iter().map(|arrays| arrays.get(i)).collect::<Option<Vec<_>>>().ok_or(())?;
            i += 1;
            let mut before = 0;
            let stretches = parts.iter().zip(pieces).enumerate().map(|(p, (&array, piece))| match name {
                // These count on from what the parts before hold.
                ArrayName::Pointers(_) => {
                    let (base, own) = (array.get(0), array.get(array.len() - 1) - array.get(0));
                    let add = before as isize - base as isize;
                    before += own;
                    Stretch { array, skip: usize::from(p > 0), add }
                }
                ArrayName::Indices(dim) => {
                    let is_first = (l, dim) == (0, 0) && !faults::is(Fault::JoinedUncounted);
                    let add = if is_first { piece.offset[axis] as isize } else { 0 };
                    Stretch { array, skip: 0, add }
                }
            });
            Ok::<_, ()>(appended(&stretches.collect::<Vec<_>>(), wide))
        });
        levels.push(joined.ok()?);
    }
    Some(Pattern { levels, dims, level_dims: first.level_dims, positions })
}

/// An array but for some entries at its beginning, and what is added to the others.
pub(super) struct Stretch<'a> {
    pub(super) array: &'a Indices,
    pub(super) skip: usize,
    pub(super) add: isize,
}

/// Stretches one after the other.
pub(super) fn appended(parts: &[Stretch<'_>], wide: bool) -> Indices {
    fn typed<I: Index>(parts: &[Stretch<'_>]) -> Indices {
        let mut out = Scratch::<I>::any(parts.iter().map(|part| part.array.len() - part.skip).sum());
        let mut rest = &mut out[..];
        for &Stretch { array, skip, add } in parts {
            let (own, others) = rest.split_at_mut(array.len() - skip);
            with_index!(array.as_slice(), from => parallel::for_chunks_mut(own, 1, parallel::GRAIN, &|start, own| {
                for (to, from) in own.iter_mut().zip(&from[skip + start..]) {
                    *to = I::new(from.get().wrapping_add_signed(add));
                }
            }));
            rest = others;
        }
        out.into()
    }
    if wide { typed::<u64>(parts) } else { typed::<u32>(parts) }
}

/// Pieces that do not overlap, in a larger shape. Each is canonical and has the levels of `spec`.
pub(crate) fn place(shape: &[usize], spec: &LevelSpec, pieces: &[Piece<'_>], fill: Fill) -> Result<Sparse> {
    let dims = spec.resolve(shape)?;
    let of_levels = &dims[..spec.level_dims()];
    let layout = KeyLayout::new(&of_levels.mapped(|d| d.size));
    let total = pieces.iter().map(|p| p.sparse.pattern.positions).sum();
    let mut words: Vec<Vec<u64>> = vec![Vec::with_capacity(total); layout.word_bits.len()];
    for piece in pieces {
        for (w, all) in words.iter_mut().enumerate() {
            let weights = of_levels
                .iter()
                .zip(&layout.fields)
                .map(|(d, f)| if f.word == w { f.weight().wrapping_mul(piece.step[d.axis] as u64) } else { 0 });
            let own = piece.sparse.pattern.linearize_all(&weights.collect::<Vec<_>>());
            let shift = of_levels.iter().zip(&layout.fields).filter(|(_, f)| f.word == w).map(|(d, f)| {
                let offset = match d.part {
                    Part::Whole => piece.offset[d.axis],
                    Part::Div(b) => piece.offset[d.axis] / b,
                    Part::Mod(_) => 0,
                };
                f.weight().wrapping_mul(offset as u64)
            });
            let shift = shift.fold(0u64, u64::wrapping_add);
            all.extend(own.iter().map(|k| k.wrapping_add(shift)));
        }
    }
    let mut from = zeroed_vec::<u64>(total);
    from.iter_mut().enumerate().for_each(|(i, f)| *f = i as u64);
    let (pattern, order) = along::rebuild(spec.levels.clone(), dims.clone(), &layout, words, from)?;
    let values = join_values(pieces)?;
    // Where no sort was needed the rows are in place.
    let in_place = with_index!(order.as_slice(), o => o.iter().enumerate().all(|(i, o)| o.get() == i));
    let values = if in_place { values } else { convert::gather_values(&values, &order)? };
    Ok(Sparse { shape: shape.into(), pattern: Arc::new(pattern), values, fill })
}

/// A new axis of size 1 as a level, so that others can join it there: a coordinate of COO, else a dense level at the root.
fn lift(t: &Tensor, at: usize) -> Result<Tensor> {
    let Some(s) = t.sparse() else { return t.expand_dims(at) };
    let mut shape = s.shape.clone();
    shape.insert(at, 1);
    let p = &s.pattern;
    let mut dims: Vec<Dim> = p.dims.mapped(|d| Dim { axis: d.axis + usize::from(d.axis >= at), ..*d });
    let mut levels = p.levels.clone();
    if let [Level::Sparse { indices, .. }] = &mut levels[..] {
        let place = dims[..p.level_dims].iter().position(|d| d.axis > at).unwrap_or(p.level_dims);
        let wide = p.is_wide();
        let zeros = if wide { IndexVec::U64(zeroed_vec(p.positions)) } else { IndexVec::U32(zeroed_vec(p.positions)) };
        indices.insert(place, zeros.into());
        dims.insert(place, Dim::whole(at, 1));
    } else {
        if let Some(Level::Sparse { pointers: pointers @ None, indices, .. }) = levels.first_mut() {
            let ends = vec![0, indices.first().map_or(0, Indices::len) as u64];
            *pointers = Some(Indices::of_width(ends, p.is_wide()));
        }
        levels.insert(0, Level::Dense);
        dims.insert(0, Dim::whole(at, 1));
    }
    let pattern = Pattern { levels, dims, level_dims: p.level_dims + 1, positions: p.positions };
    let fill = super::map_fill(&s.fill, |values| insert_axis(values, at));
    Ok(Sparse { shape, pattern: Arc::new(pattern), values: s.values.clone(), fill }.into())
}

fn insert_axis(values: &Strided, at: usize) -> Strided {
    let mut out = values.clone();
    out.shape.insert(at, 1);
    out.strides.insert(at, 0);
    out
}

fn block_diag(tensors: &[&Tensor]) -> Result<Tensor> {
    let parts = promoted(tensors)?;
    let mut matrices = Vec::with_capacity(parts.len());
    for part in &parts {
        matrices.push(match part.shape() {
            [_, _] => part.clone(),
            [n] => part.reshape([1, *n])?,
            [] => part.reshape([1, 1])?,
            _ => return Err(error::shape(&[part.shape()], "matrices have two axes; vectors are taken as rows")),
        });
    }
    let mut shape = vec![0usize; 2];
    let mut offsets = Vec::with_capacity(matrices.len());
    for m in &matrices {
        offsets.push(shape.clone());
        for (total, &n) in shape.iter_mut().zip(m.shape()) {
            *total = total.checked_add(n).ok_or_else(|| error::shape(&[m.shape()], "together they are too large"))?;
        }
    }
    let dtype = parts[0].dtype();
    let out: Tensor = match matrices.iter().find_map(Tensor::sparse) {
        None => {
            let n = convert::dense_len(&shape, dtype)?;
            let size = dtype.size();
            let buffer = Buffer::build(n * size, |out| {
                for (m, offset) in
                    matrices.iter().filter_map(Tensor::strided).zip(&offsets).filter(|(m, _)| m.len() > 0)
                {
                    for i in 0..m.shape[0] {
                        let start = ((offset[0] + i) * shape[1] + offset[1]) * size;
                        m.read(i * m.shape[1], &mut out[start..start + m.shape[1] * size]);
                    }
                }
            })?;
            Tensor::from_strided(Strided::new(buffer, dtype, shape.clone()))
        }
        Some(first) => {
            let undefined = matrices.iter().filter_map(Tensor::sparse).any(|s| s.fill.is_undefined());
            let fill = if undefined { Fill::Undefined } else { Fill::Scalar(Scalar::zero(dtype)) };
            let unblocked = along::unblocked(first)?;
            let spec = if unblocked.level_dims() == 2 { unblocked } else { LevelSpec::of_layout(Layout::Coo, &shape)? };
            let spec = spared(spec.freed(), &shape, &matrices)?;
            let mut pieces = Vec::with_capacity(matrices.len());
            for (m, offset) in matrices.iter().zip(offsets) {
                pieces.push(Piece { sparse: refilled(m, fill.clone(), &spec)?, offset, step: vec![1; 2] });
            }
            place(&shape, &spec, &pieces, fill)?.into()
        }
    };
    Ok(out)
}
