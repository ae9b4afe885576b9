//! Assigning: a new tensor with other elements at what an index names, at the cost of the change and one copy.

use std::sync::Arc;

use openwork_ops::structure::gather::{gather_offsets, scatter_offsets};
use openwork_ops::structure::keys::KeyLayout;
use openwork_ops::structure::merge::Keep;
use openwork_ops::structure::{Index as Width, IndexVec};
use openwork_ops::{BinaryOp, DType, ReduceOp, Scalar, with_index};

use super::{Index, Made, Plan, Taken};
use crate::base::buffer::Buffer;
use crate::base::error::{self, Result};
use crate::base::strided::{Strided, c_strides};
use crate::engine::blocks::{self, Source};
use crate::engine::convert;
use crate::engine::fold;
use crate::family::pointwise::Operand;
use crate::family::shape::{along, coo_dims};
use crate::levels::build::{self, SortedKeys};
use crate::levels::coiterate;
use crate::levels::level::freed;
use crate::levels::pattern::{Dim, Part};
use crate::levels::sort;
use crate::tensor::fill::Fill;
use crate::tensor::trace;
use crate::tensor::{Sparse, Storage, Tensor};

impl Tensor {
    /// A copy with other elements at what an index names, lists and masks included; where a place is named several times,
    /// the last value counts.
    ///
    /// Values broadcast to the shape that [`Tensor::index`] gives, and take this tensor's dtype, which has to hold them.
    /// An absent value makes its element absent. The layout stays; what is assigned is stored, though it be the
    /// fill. Cost: one copy and a sort of what is named, element by element; [`Tensor::slice_assign`] is cheaper for
    /// ranges.
    ///
    /// # Errors
    /// As [`Tensor::index`], or if the values do not broadcast or fit, or an absent one is assigned where the fill is
    /// defined or all is stored.
    pub fn index_put<'a>(&self, items: impl AsRef<[Index]>, values: impl Into<Operand<'a>>) -> Result<Tensor> {
        let call = trace::call("index_put", &[self]);
        call.end(index_put(self, items.as_ref(), values.into(), false))
    }

    /// A copy with values added to what an index names; where a place is named several times, all are added (bool: or).
    /// What is absent counts as nothing. Else as [`Tensor::index_put`].
    ///
    /// # Errors
    /// As [`Tensor::index_put`].
    #[doc(alias = "accumulate")]
    #[doc(alias = "add.at")]
    pub fn index_add<'a>(&self, items: impl AsRef<[Index]>, values: impl Into<Operand<'a>>) -> Result<Tensor> {
        let call = trace::call("index_add", &[self]);
        call.end(index_put(self, items.as_ref(), values.into(), true))
    }

    /// A copy in which the named elements are what unstored ones are: the fill, or absent. Nothing is stored for them
    /// (blocks and value axes that are cut are taken apart).
    ///
    /// # Errors
    /// As [`Tensor::index`], or if the tensor is strided and so has no unstored element.
    pub fn unset(&self, items: impl AsRef<[Index]>) -> Result<Tensor> {
        let call = trace::call("unset", &[self]);
        call.end(unset(self, items.as_ref()))
    }
}

/// What is assigned, in the dtype of the tensor it is assigned to.
pub(super) fn value_of(x: &Tensor, value: Operand<'_>) -> Result<Tensor> {
    match value {
        Operand::Number(number) => Ok(Tensor::scalar(number.scalar().fit(x.dtype()).map_err(error::does_not_fit)?)),
        Operand::Tensor(t) if openwork_ops::promote(x.dtype(), t.dtype()) == Some(x.dtype()) => t.cast(x.dtype()),
        Operand::Tensor(t) => {
            let why = "the tensor's dtype does not hold the values assigned; cast one of them";
            Err(error::dtype(&[x.dtype(), t.dtype()], why))
        }
    }
}

/// Broadcasts values to what an index names.
pub(super) fn spread(value: &Tensor, shape: &[usize]) -> Result<Tensor> {
    if crate::base::shape::broadcast_shapes(value.shape(), shape)? != shape {
        return Err(error::shape(&[value.shape(), shape], "the values are more than what the index names"));
    }
    value.broadcast_to(shape)
}

fn index_put(x: &Tensor, items: &[Index], values: Operand<'_>, accumulate: bool) -> Result<Tensor> {
    let plan = Plan::new(x.shape(), items)?;
    let values = value_of(x, values)?;
    let fold = accumulate.then_some(ReduceOp::Sum);
    let out = if plan.lists.is_none() && !accumulate {
        super::assign::assign(x, &plan, &values)?
    } else {
        let shape = plan.shape();
        let (n, columns) = columns(x, &plan)?;
        let given = Given::of(&spread(&values, &shape)?, n, fold)?;
        put(x, n, &columns, given)?
    };
    Ok(out)
}

fn unset(x: &Tensor, items: &[Index]) -> Result<Tensor> {
    let plan = Plan::new(x.shape(), items)?;
    let Some(s) = x.sparse() else {
        let why = "a strided tensor has no unstored element: assign a value, or convert with to_sparse first";
        return Err(error::layout(why));
    };
    let out = if plan.lists.is_none() {
        let s = crate::family::shape::triangle::in_levels(s, &plan.cut(x.shape()))?;
        super::assign::outside(&s, &plan)?.into()
    } else {
        let (n, columns) = columns(x, &plan)?;
        put(x, n, &columns, Given { values: None, absent: vec![true; n], fold: None })?
    };
    Ok(out)
}

/// The coordinates of every element that an index names, in C order of the result: a column for each axis.
fn columns(x: &Tensor, plan: &Plan) -> Result<(usize, Vec<Vec<u64>>)> {
    let shape = plan.shape();
    let n = convert::dense_len(&shape, DType::Complex128)?;
    along::fits(&shape, n.checked_mul(x.ndim().max(1)))?;
    // How many elements of the result one step along each of its parts is.
    let mut inner = 1;
    let mut steps = vec![1; plan.made.len()];
    let window = plan.window();
    for (step, made) in steps.iter_mut().zip(&plan.made).rev() {
        *step = inner;
        inner *= match *made {
            Made::Axis(a) => window[a],
            Made::New => 1,
            Made::Lists => plan.lists.iter().flatten().product(),
        };
    }
    let step_of = |wanted: Made| plan.made.iter().position(|m| *m == wanted).map_or(1, |at| steps[at]);
    let column = |(axis, taken): (usize, &Taken)| -> Vec<u64> {
        match taken {
            Taken::At(at) => vec![*at as u64; n],
            Taken::Step { start, step, len } => {
                let inner = step_of(Made::Axis(axis));
                let at = |i: usize| start.wrapping_add_signed(step * ((i / inner) % len) as isize) as u64;
                (0..n).map(at).collect()
            }
            Taken::List(list) => {
                let inner = step_of(Made::Lists);
                (0..n).map(|i| list[(i / inner) % list.len()]).collect()
            }
        }
    };
    Ok((n, plan.taken.iter().enumerate().map(column).collect()))
}

/// What is put at places: values, some of which may be absent.
pub(super) struct Given {
    /// A vector; `None`: all are absent.
    pub(super) values: Option<Strided>,
    /// Empty if none is.
    pub(super) absent: Vec<bool>,
    /// How values meet each other and what is there; `None`: the last one counts.
    pub(super) fold: Option<ReduceOp>,
}

impl Given {
    /// The `n` elements of a tensor in C order.
    pub(super) fn of(values: &Tensor, n: usize, fold: Option<ReduceOp>) -> Result<Given> {
        let (dense, absent) = match values.sparse() {
            Some(s) if s.fill.is_undefined() => {
                let stored = values.is_stored()?.to_dense()?;
                let absent = stored.strided().map(|s| s.dense_bytes().iter().map(|&b| b == 0).collect());
                let zero = Strided::constant(Scalar::zero(s.dtype()), &s.shape);
                (Tensor::from_strided(convert::to_strided(s, &zero)?), absent.unwrap_or_default())
            }
            _ => (values.to_dense()?, Vec::new()),
        };
        let flat = dense.strided().map(|s| s.reshape(&[n]));
        Ok(Given { values: flat, absent, fold })
    }

    fn is_absent(&self, i: usize) -> bool {
        self.absent.get(i).copied().unwrap_or(false)
    }
}

/// The named places, each once, in the order of their keys.
struct Unique {
    layout: KeyLayout,
    words: Vec<Vec<u64>>,
    values: Strided,
    absent: Vec<bool>,
}

impl Unique {
    fn new(dtype: DType, dims: &[Dim], n: usize, columns: &[Vec<u64>], given: &Given) -> Result<Unique> {
        // Nothing is added where a value is absent.
        let kept: Vec<usize> = (0..n).filter(|&i| given.fold.is_none() || !given.is_absent(i)).collect();
        let layout = KeyLayout::new(&dims.iter().map(|d| d.size).collect::<Vec<_>>());
        let mut words = vec![vec![0u64; kept.len()]; layout.word_bits.len()];
        for (d, field) in dims.iter().zip(&layout.fields) {
            let column = &columns[d.axis];
            for (word, &i) in words[field.word].iter_mut().zip(&kept) {
                *word = word.wrapping_add(field.weight().wrapping_mul(part(*d, column[i])));
            }
        }
        let sorted = sort::sort_keys(&layout, words);
        let order: Vec<usize> = with_index!(sorted.order.as_slice(), o => o.iter().map(|i| kept[i.get()]).collect());
        let runs = sort::runs(&sorted.words);
        let lasts: Vec<usize> = runs[1..].iter().map(|end| end - 1).collect();
        let words = sorted.words.iter().map(|w| sort::pick(w, &lasts)).collect();
        let gathered = |places: Vec<u64>| match &given.values {
            Some(values) => convert::gather_values(values, &IndexVec::U64(places)),
            None => Strided::constant(Scalar::zero(dtype), &[places.len()]),
        };
        let (values, absent) = match given.fold {
            Some(fold) => {
                let all = gathered(order.iter().map(|&i| i as u64).collect());
                (if lasts.is_empty() { all } else { fold::merge_rows(fold, &all, &runs)? }, Vec::new())
            }
            None => {
                let chosen: Vec<usize> = lasts.iter().map(|&l| order[l]).collect();
                let absent = if given.absent.is_empty() {
                    Vec::new()
                } else {
                    chosen.iter().map(|&i| given.is_absent(i)).collect()
                };
                (gathered(chosen.iter().map(|&i| i as u64).collect()), absent)
            }
        };
        Ok(Unique { layout, words, values, absent })
    }

    fn len(&self) -> usize {
        self.words[0].len()
    }

    /// A linear form of the coordinates from dimension `first` on.
    fn linear(&self, first: usize, weights: &[u64]) -> Vec<u64> {
        let mut out = vec![0u64; self.len()];
        for (field, w) in self.layout.fields[first..].iter().zip(weights) {
            for (o, &word) in out.iter_mut().zip(&self.words[field.word]) {
                *o = o.wrapping_add(w.wrapping_mul(field.of(word)));
            }
        }
        out
    }

    fn none_absent(&self) -> Result<()> {
        if self.absent.contains(&true) {
            let why = "an absent value is assigned, but only a tensor with undefined fill has absent elements";
            return Err(error::absent(why));
        }
        Ok(())
    }
}

fn part(d: Dim, coordinate: u64) -> u64 {
    match d.part {
        Part::Whole => coordinate,
        Part::Div(b) => coordinate / b as u64,
        Part::Mod(b) => coordinate % b as u64,
    }
}

/// How what is there and what is put meet.
fn meeting(fold: ReduceOp) -> Result<BinaryOp> {
    fold.twin().ok_or_else(|| {
        let allowed: Vec<&str> = ReduceOp::ALL.iter().filter(|op| op.twin().is_some()).map(|op| op.name()).collect();
        let why = format!("{} is none that values can meet by: allowed are {}", fold.name(), allowed.join(", "));
        error::invalid("reduce", why)
    })
}

/// A copy of the tensor with values at places, given by a column of coordinates for each axis.
pub(super) fn put(x: &Tensor, n: usize, columns: &[Vec<u64>], given: Given) -> Result<Tensor> {
    let meeting = given.fold.map(|fold| meeting(fold)).transpose()?;
    match &x.storage {
        Storage::Strided(s) => {
            let unique = Unique::new(s.dtype, &coo_dims(&s.shape), n, columns, &given)?;
            unique.none_absent()?;
            let strides: Vec<u64> = c_strides(&s.shape).iter().map(|&s| s as u64).collect();
            let offsets = unique.linear(0, &strides);
            let source = s.to_contiguous();
            let bytes = source.contiguous_bytes().unwrap_or_default();
            let values = met(meeting, bytes, &offsets, &unique.values, &[])?;
            let buffer = Buffer::build(bytes.len(), |out| {
                out.copy_from_slice(bytes);
                scatter_offsets(&values.dense_bytes(), s.dtype.size(), &offsets, out);
            });
            Ok(Tensor::from_strided(Strided::new(buffer, s.dtype, s.shape.clone())))
        }
        Storage::Sparse(s) => {
            let removes = given.values.is_none();
            // Rows of value axes cannot lose single elements.
            let single = (s.fill.is_undefined() || removes) && !s.pattern.value_dims().is_empty();
            let s = if single { crate::family::shape::to_coo(s)? } else { convert::coalesce(s, ReduceOp::Sum)? };
            let unique = Unique::new(s.dtype(), &s.pattern.dims, n, columns, &given)?;
            if !s.fill.is_undefined() && !removes {
                unique.none_absent()?;
            }
            Ok(overlaid(&s, &unique, meeting)?.into())
        }
    }
}

/// What values make of the elements at offsets; those marked new have nothing to meet.
fn met(op: Option<BinaryOp>, bytes: &[u8], offsets: &[u64], values: &Strided, new: &[bool]) -> Result<Strided> {
    let Some(op) = op else { return Ok(values.clone()) };
    let size = values.dtype.size();
    let there = Buffer::build(offsets.len() * size, |out| gather_offsets(bytes, size, offsets, out));
    let there = Tensor::from_strided(Strided::new(there, values.dtype, vec![offsets.len()]));
    let both = there.binary(op, Tensor::from_strided(values.clone()))?;
    let both = both.strided().map(|b| b.cast(values.dtype).to_contiguous().into_owned());
    let Some(both) = both else { return Err(error::layout("vectors are strided")) };
    if !new.contains(&true) {
        return Ok(both);
    }
    let (alone, both) = (values.dense_bytes(), both.dense_bytes());
    let buffer = Buffer::build(both.len(), |out| {
        for (i, element) in out.chunks_exact_mut(size).enumerate() {
            let from = if new[i] { &alone } else { &both };
            element.copy_from_slice(&from[i * size..(i + 1) * size]);
        }
    });
    Ok(Strided::new(buffer, values.dtype, values.shape.clone()))
}

/// The union of what is stored and what is put.
fn overlaid(s: &Sparse, unique: &Unique, meeting: Option<BinaryOp>) -> Result<Sparse> {
    let kinds = freed(s.pattern.kinds());
    let spec = crate::LevelSpec { levels: kinds.clone(), ..s.pattern.spec() };
    let s = if s.pattern.kinds() == kinds { s.clone() } else { convert::convert(s, &spec)? };
    let p = &s.pattern;
    // The rows of the places, as a pattern of the same levels.
    let rows = KeyLayout::new(&p.level_dims().iter().map(|d| d.size).collect::<Vec<_>>());
    let words: Vec<Vec<u64>> = (0..rows.word_bits.len())
        .map(|w| {
            let weights: Vec<u64> = rows.fields.iter().map(|f| if f.word == w { f.weight() } else { 0 }).collect();
            unique.linear(0, &weights)
        })
        .collect();
    let runs = sort::runs(&words);
    let heads: Vec<Vec<u64>> = words.iter().map(|w| sort::pick(w, &runs[..runs.len() - 1])).collect();
    let keys = SortedKeys { layout: &rows, words: &heads, unique: true };
    let patch = build::build(&kinds, p.dims.clone(), &keys)?;
    let merged = coiterate::merge(p, &patch, Keep::UNION);
    let pattern = Arc::new(merged.pattern);
    let background = s.fill_values();
    let fallback = match &background {
        Some(fill) => Source::at(fill, &pattern),
        None => Source::Constant(Scalar::zero(s.dtype())), // written over
    };
    // Which merged row each row of the patch is, and whether nothing was stored there.
    let mut places = vec![(0usize, false); patch.positions];
    with_index!(merged.left.as_slice(), left => with_index!(merged.right.as_slice(), right => {
        for (row, (l, r)) in left.iter().zip(right).enumerate() {
            if !is_none(*r) {
                places[r.get()] = (row, is_none(*l));
            }
        }
    }));
    let block = p.block();
    let mut shape = vec![pattern.positions];
    shape.extend(p.value_shape());
    let source = Source::select(&s.values, block, &merged.left, fallback);
    let mut values = blocks::collect(crate::base::strided::count(&shape), source, s.dtype());
    let strides: Vec<u64> = c_strides(&p.value_shape()).iter().map(|&s| s as u64).collect();
    let mut offsets = unique.linear(p.level_dims, &strides);
    let undefined = s.fill.is_undefined();
    let mut new = vec![false; offsets.len()];
    for (row, run) in runs.windows(2).enumerate() {
        let (place, fresh) = places[row];
        for i in run[0]..run[1] {
            offsets[i] += (place * block) as u64;
            new[i] = fresh && undefined;
        }
    }
    let put = met(meeting, values.buffer.bytes(), &offsets, &unique.values, &new)?;
    if let Some(bytes) = values.buffer.unique_mut() {
        scatter_offsets(&put.dense_bytes(), s.dtype().size(), &offsets, bytes);
    }
    values.strides = c_strides(&shape);
    values.shape = shape;
    let out = Sparse { shape: s.shape.clone(), pattern, values, fill: s.fill.clone() };
    if !unique.absent.contains(&true) {
        return Ok(out);
    }
    let mut gone = vec![false; out.pattern.positions];
    unique.absent.iter().zip(&offsets).filter(|(a, _)| **a).for_each(|(_, &o)| gone[o as usize] = true);
    let kept: Vec<usize> = (0..gone.len()).filter(|&p| !gone[p]).collect();
    convert::select_rows(&out, &kept)
}

fn is_none<I: Width>(i: I) -> bool {
    i == I::NONE
}

/// Whether a fill has no value for unstored elements.
pub(super) fn undefined(t: &Tensor) -> bool {
    t.fill().is_some_and(Fill::is_undefined)
}
