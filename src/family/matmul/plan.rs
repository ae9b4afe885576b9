//! Products in which an operand is sparse: the plan.

use std::borrow::Cow;

use openwork_ops::DType;
use openwork_ops::matmul::{Carrier, Finish};

use super::mask::Wanted;
use super::operand::{Field, Stored, batch_strides, offset};
use super::rows::{Parts, Pass};
use super::split::{self, Split};
use super::{Way, assemble, is_over_zeros, sparse};
use crate::base::buffer::Buffer;
use crate::base::context;
use crate::base::error::Result;
use crate::base::mapped::Mapped;
use crate::base::pages::Scratch;
use crate::base::shape;
use crate::base::strided::{Shape, Strided, count};
use crate::engine::convert;
use crate::levels::layout::Layout;
use crate::tensor::fill::{Fill, fill_of};
use crate::tensor::{Sparse, Storage, Tensor};

/// An operand in parts.
pub(super) struct Side<'a> {
    shape: &'a [usize],
    /// What is stored, if anything is.
    pub(super) stored: Option<&'a Sparse>,
    /// What is not, over the tensor's shape, unless it is zero (or absent).
    pub(super) background: Option<Strided>,
    pub(super) is_strided: bool,
    is_undefined: bool,
}

impl<'a> Side<'a> {
    /// `takes_part` says whether a fill other than zero is a background; else its terms add nothing.
    fn new(x: &'a Tensor, takes_part: bool) -> Side<'a> {
        let shape = x.shape();
        let is_empty = shape.contains(&0);
        match &x.storage {
            Storage::Strided(s) => Side {
                shape,
                stored: None,
                background: (!is_empty).then(|| s.clone()),
                is_strided: true,
                is_undefined: false,
            },
            Storage::Sparse(s) => {
                let has_background = takes_part && !is_empty && !is_over_zeros(s);
                let background = if has_background { s.fill_values() } else { None };
                let stored = Some(&**s).filter(|s| s.nse() > 0);
                Side { shape, stored, background, is_strided: false, is_undefined: s.fill.is_undefined() }
            }
        }
    }

    pub(super) fn fills(&self) -> bool {
        self.background.is_some() && !self.is_strided
    }

    fn field(&self, batch: &[usize], carrier: Carrier, dtype: DType) -> Option<Field> {
        let x = self.background.as_ref()?;
        let full: Shape = batch.iter().chain(&self.shape[self.shape.len() - 2..]).copied().collect();
        Some(Field::new(&x.broadcast(&full), carrier, dtype))
    }

    pub(super) fn batch(&self) -> &[usize] {
        &self.shape[..self.shape.len() - 2]
    }
}

/// The product of tensors of one dtype, at least one of them sparse. The left operand is walked by rows; if
/// one operand is undefined, it is the left one. Of a semiring other than sums of products, fills are such that they add
/// nothing. `mask`: of two undefined operands, or two whose fills add nothing.
pub(super) fn product(a: &Tensor, b: &Tensor, way: Way, batch: &[usize], mask: Option<&Wanted>) -> Result<Tensor> {
    let Way { dtype, carrier, .. } = way;
    let is_sum = way.is_sum();
    let (reads_left, reads_right) = carrier.reads();
    let (bare_a, bare_b) =
        (if reads_left { None } else { bare(a, way) }, if reads_right { None } else { bare(b, way) });
    let (a, b) = (bare_a.as_ref().unwrap_or(a), bare_b.as_ref().unwrap_or(b));
    let (x, y) = (Side::new(a, is_sum), Side::new(b, is_sum));
    let (m, k, n) = (x.shape[x.shape.len() - 2], x.shape[x.shape.len() - 1], y.shape[y.shape.len() - 1]);
    let shape: Shape = batch.iter().copied().chain([m, n]).collect();
    let fills = [x.fills(), y.fills()];
    let carrier = if is_sum { Carrier::new(dtype, fills.contains(&true)) } else { carrier };
    let plan = Plan {
        carrier,
        fills: fills.contains(&true),
        limit: split::limit(dtype, k, fills == [true; 2]),
        dtype: way.output(),
        batch,
        m,
        k,
        n,
        shape,
        left_field: x.field(batch, carrier, dtype),
        right_field: y.field(batch, carrier, dtype),
        mask,
    };
    let zero = Fill::Scalar(way.zero());
    if x.is_undefined && y.is_undefined {
        return plan.meeting(&x, &y, Parts { stored: true, ..Parts::default() }, Fill::Undefined);
    }
    if x.is_undefined {
        return plan.rows_of_left(&x, &y, Fill::Undefined);
    }
    let (stored, background) =
        ([x.stored.is_some(), y.stored.is_some()], [x.background.is_some(), y.background.is_some()]);
    let parts = Parts {
        stored: stored[0] && stored[1],
        rows: stored[0] && background[1],
        columns: background[0] && stored[1],
        backgrounds: background[0] && background[1],
    };
    let (by_row, by_column) = plan.varies(parts);
    if x.is_strided || y.is_strided {
        let core = plan.core(parts, by_row, by_column);
        if convert::dense_len(&core, dtype).is_err() && x.background.is_none() {
            return plan.rows_of_left(&x, &y, zero);
        }
        return plan.dense(&x, &y, parts, &core);
    }
    if way.is_dense && mask.is_none() {
        return plan.dense(&x, &y, parts, &plan.shape);
    }
    if by_row && by_column {
        context::may_densify(&plan.shape, dtype.size(), || {
            let of =
                |s: &Side<'_>| s.background.as_ref().map_or("zero".into(), |v| format!("{:?}", v.unbroadcast().shape));
            format!(
                "fills of shape {} and {} make the background of the product vary along both of its axes",
                of(&x),
                of(&y)
            )
        })?;
        let core = plan.shape.clone();
        return plan.dense(&x, &y, parts, &core);
    }
    plan.meeting(&x, &y, parts, if mask.is_some() { Fill::Undefined } else { zero })
}

/// Rows of one element repeated, of which products read no term: with memory for the terms, into which nothing is written.
fn bare(x: &Tensor, way: Way) -> Option<Tensor> {
    let is_plain = |s: &&Sparse| {
        s.values.strides[0] == 0 && s.values.ndim() == 1 && s.pattern.is_canonical() && x.layout() == Layout::Csr
    };
    // A byte is as quickly written; and of a bool not any will do.
    let s = x.sparse().filter(is_plain).filter(|s| s.nse() > 1 && s.dtype() != DType::Bool)?;
    let (n, dtype) = (s.nse(), way.carrier.input(s.dtype()));
    let terms = Buffer::from_block(Scratch::<u8>::any(n.checked_mul(dtype.size())?).into_block());
    Some(Sparse { values: Strided::new(terms, dtype, &[n][..]), ..s.clone() }.into())
}

pub(super) struct Plan<'a> {
    /// Of what is stored. Backgrounds beside a fill are added in its [`Carrier::doubled`].
    pub(super) carrier: Carrier,
    /// Whether a fill other than zero takes part.
    fills: bool,
    /// What makes a stored element beside a fill easy (see [`split`]).
    pub(super) limit: f64,
    pub(super) dtype: DType,
    pub(super) batch: &'a [usize],
    pub(super) m: usize,
    k: usize,
    pub(super) n: usize,
    /// Of the result.
    pub(super) shape: Shape,
    pub(super) left_field: Option<Field>,
    pub(super) right_field: Option<Field>,
    mask: Option<&'a Wanted>,
}

impl Plan<'_> {
    /// Whether the background of the product varies along its rows, and along its columns.
    fn varies(&self, parts: Parts) -> (bool, bool) {
        let left = self.left_field.as_ref().is_some_and(|f| f.varies(2));
        let right = self.right_field.as_ref().is_some_and(|f| f.varies(1));
        let by_row = parts.rows || ((parts.columns || parts.backgrounds) && left);
        let by_column = parts.columns || ((parts.rows || parts.backgrounds) && right);
        (by_row && self.m > 1, by_column && self.n > 1)
    }

    /// The shape in which a background is computed: 1 where it does not vary.
    fn core(&self, parts: Parts, by_row: bool, by_column: bool) -> Shape {
        let field = |f: &Option<Field>, d: usize| f.as_ref().is_some_and(|f| f.strides[d] != 0);
        // Stored elements may differ from matrix to matrix.
        let stored = parts.rows || parts.columns;
        let batch = self.batch.iter().enumerate().map(|(d, &size)| {
            if stored || field(&self.left_field, d) || field(&self.right_field, d) { size } else { size.min(1) }
        });
        let axis = |on: bool, size: usize| if on { size } else { size.min(1) };
        batch.chain([axis(by_row, self.m), axis(by_column, self.n)]).collect()
    }

    pub(super) fn pass<'p>(&'p self, parts: Parts, core: &[usize]) -> Pass<'p> {
        let lead = core.len() - 2;
        Pass {
            carrier: self.carrier,
            parts,
            batch: core[..lead].to_vec(),
            m: core[lead],
            k: self.k,
            n: core[lead + 1],
            left: None,
            left_against: None,
            left_terms: None,
            right: None,
            left_field: self.left_field.as_ref(),
            right_field: self.right_field.as_ref(),
            init: None,
            mask: None,
        }
    }

    /// What turns accumulators of a carrier into elements.
    pub(super) fn finish(&self, carrier: Carrier) -> impl Fn(&[u8], &mut [u8]) + Sync {
        let dtype = self.dtype;
        move |acc: &[u8], out: &mut [u8]| carrier.finish(acc, dtype, out)
    }

    /// Rows of what a side stores; every one of them where the result has every one.
    fn stored(&self, side: &Side<'_>, all_rows: bool) -> Result<Option<Stored>> {
        side.stored.map(|s| Stored::new(s, self.carrier, side.fills(), all_rows)).transpose()
    }

    /// A dense result in a core shape, seen in the whole shape.
    fn dense(&self, x: &Side<'_>, y: &Side<'_>, parts: Parts, core: &[usize]) -> Result<Tensor> {
        convert::dense_len(core, self.dtype)?;
        let size = self.dtype.size();
        let out = if self.fills {
            self.beside_fills(x, y, parts, core, &self.finish(self.carrier.doubled()), size)?
        } else {
            self.accumulated(x, y, parts, core, &self.finish(self.carrier), size)?
        };
        Ok(Tensor::from_strided(Strided::new(out, self.dtype, core).broadcast(&self.shape)))
    }

    /// Dense rows of all parts, where no fill takes part. What is the same for every row is computed once.
    fn accumulated(
        &self,
        x: &Side<'_>,
        y: &Side<'_>,
        parts: Parts,
        core: &[usize],
        finish: Finish<'_>,
        width: usize,
    ) -> Result<Buffer> {
        // Listed rows meet one matrix on the left each.
        let all_right = parts.stored && x.batch() != self.batch;
        let (left, right) = same_width(self.stored(x, true)?, self.stored(y, all_right)?);
        let left_varies = self.left_field.as_ref().is_some_and(|f| f.varies(2));
        let m = core[core.len() - 2];
        let once = Parts { stored: false, rows: false, ..parts };
        let (common, rest) = if m > 1 && !left_varies && (parts.columns || parts.backgrounds) {
            (Some(once), Parts { columns: false, backgrounds: false, ..parts })
        } else {
            (None, parts)
        };
        let init = match common {
            None => None,
            Some(once) => {
                let mut one_row = Shape::from(core);
                one_row[core.len() - 2] = 1;
                let size = self.carrier.acc_size();
                let pass = Pass { right: right.as_ref(), ..self.pass(once, &one_row) };
                let copy = |acc: &[u8], out: &mut [u8]| out.copy_from_slice(acc);
                Some(Field::of(pass.all_rows(&copy, size)?, &one_row, size))
            }
        };
        let against = self.against(left.as_ref(), right.as_ref(), parts.stored)?;
        let pass = Pass {
            left: left.as_ref(),
            left_against: against.as_ref(),
            right: right.as_ref(),
            init: init.as_ref(),
            ..self.pass(rest, core)
        };
        pass.all_rows(finish, width)
    }

    /// The left operand with columns that are places in the rows which the right one lists, if it does.
    pub(super) fn against(
        &self,
        left: Option<&Stored>,
        right: Option<&Stored>,
        wanted: bool,
    ) -> Result<Option<Stored>> {
        let (Some(left), Some(right), true) = (left, right, wanted) else { return Ok(None) };
        let Some(ids) = &right.ids else { return Ok(None) };
        let strides = batch_strides(&right.batch);
        let matrices = |b: usize| offset(&left.batch, &strides, b);
        Ok(Some(left.against(right, ids, self.carrier.term_size(), &matrices)))
    }

    /// Whole rows of the product wherever the left operand, which has no background, stores something; strided if that is
    /// everywhere.
    fn rows_of_left(&self, x: &Side<'_>, y: &Side<'_>, fill: Fill) -> Result<Tensor> {
        let wide = self.spread(x, y)?;
        let spread = wide.as_ref().map(|wide| Side::new(wide, false));
        let x = spread.as_ref().unwrap_or(x);
        // The right operand alone may have a fill.
        let carrier = if self.fills { self.carrier.doubled() } else { self.carrier };
        let right = match y.stored {
            Some(s) => Split::new(s, self.carrier, y.fills(), false, self.limit)?.all()?.map(Cow::into_owned),
            None => None,
        };
        let (left, right) = same_width(self.stored(x, false)?, right);
        let mut rows = Vec::new();
        if let Some(left) = &left {
            let own = batch_strides(&left.batch);
            if left.ids.is_some() || left.batch == self.batch {
                rows.extend((0..left.len()).map(|r| (left.ids.as_ref().map_or(r, |ids| ids[r] as usize) / self.m, r)));
            } else {
                for b in 0..self.batch.iter().product() {
                    let first = offset(self.batch, &own, b) * self.m;
                    rows.extend((first..first + self.m).map(|r| (b, r)));
                }
            }
            rows.retain(|&(_, r)| left.start(r) < left.start(r + 1));
        }
        let ids: Vec<u64> = match &left {
            None => Vec::new(),
            Some(left) => {
                let row = |r: usize| left.ids.as_ref().map_or(r, |ids| ids[r] as usize) % self.m;
                rows.iter().map(|&(b, r)| (b * self.m + row(r)) as u64).collect()
            }
        };
        if !y.is_strided {
            context::may_densify(&[ids.len(), self.n], self.dtype.size(), || {
                "rows of the left operand, whose fill is undefined, meet a defined fill, so every element of those rows is defined and the result is dense"
                    .into()
            })?;
        }
        convert::dense_len(&[ids.len(), self.n], self.dtype)?;
        let parts = Parts { stored: y.stored.is_some(), rows: y.background.is_some(), ..Parts::default() };
        let against = self.against(left.as_ref(), right.as_ref(), parts.stored)?;
        let pass = Pass {
            left: left.as_ref(),
            left_against: against.as_ref(),
            right: right.as_ref(),
            carrier,
            ..self.pass(parts, &self.shape)
        };
        let values = pass.listed_rows(&rows, &self.finish(carrier), self.dtype.size())?;
        if ids.len() as u128 * self.n as u128 == shape::elements(&self.shape).into() {
            return Ok(Tensor::from_strided(Strided::new(values, self.dtype, self.shape.clone())));
        }
        Ok(assemble::whole_rows(&self.shape, self.dtype, fill, values, &ids).into())
    }

    /// The left operand repeated along the batch axes of the result, where rows that are listed are to meet
    /// other matrices in each.
    fn spread(&self, x: &Side<'_>, y: &Side<'_>) -> Result<Option<Tensor>> {
        let listed = |s: &Side<'_>| s.stored.is_some_and(super::operand::is_hyper_sparse);
        if x.batch() == self.batch || x.stored.is_none() || !(listed(x) || listed(y)) {
            return Ok(None);
        }
        let Some(s) = x.stored else { return Ok(None) };
        let full: Vec<usize> = self.batch.iter().copied().chain([self.m, self.k]).collect();
        Tensor::from(s.clone()).broadcast_to(&full).map(Some)
    }

    /// A sparse result: what meets, over a background that varies along one axis at most.
    fn meeting(&self, x: &Side<'_>, y: &Side<'_>, parts: Parts, zero: Fill) -> Result<Tensor> {
        let background = Parts { stored: false, ..parts };
        let mut fill = zero;
        let mut init = None;
        if parts.rows || parts.columns || parts.backgrounds {
            let (by_row, by_column) = self.varies(background);
            let core = self.core(background, by_row, by_column);
            convert::dense_len(&core, self.dtype)?;
            let carrier = self.carrier.doubled();
            let size = carrier.acc_size();
            let copy = |acc: &[u8], out: &mut [u8]| out.copy_from_slice(acc);
            let acc = self.beside_fills(x, y, background, &core, &copy, size)?;
            let n = count(&core);
            let values = Buffer::build(n * self.dtype.size(), |out| carrier.finish(acc.bytes(), self.dtype, out))?;
            fill = if n == 0 { fill } else { fill_of(&Strided::new(values, self.dtype, core.clone()).unbroadcast()) };
            init = Some((acc, core));
        }
        if !parts.stored || x.stored.is_none() || y.stored.is_none() {
            return Ok(assemble::compressed(&self.shape, self.dtype, fill, Vec::new(), Some(&[]), None)?.into());
        }
        if let (None, Some(rows)) = (&init, self.compressed(x, y)?) {
            return Ok(assemble::matrix(&self.shape, self.dtype, fill, rows).into());
        }
        let along = |d: usize| init.as_ref().is_some_and(|(_, core): &(Buffer, Shape)| core[core.len() - d] > 1);
        let (by_row, by_column) = (along(2), along(1));
        let wide = self.spread(x, y)?;
        let takes_part = x.fills();
        let spread = wide.as_ref().map(|wide| Side::new(wide, takes_part));
        let (left, right) = (self.split(spread.as_ref().unwrap_or(x), by_row)?, self.split(y, false)?);
        let hard = |s: &Option<Split>| s.as_ref().is_some_and(|s| s.hard.is_some());
        let exact = hard(&left) || hard(&right);
        // With columns beyond memory those that occur are numbered, by each operand in its own way.
        let few_columns = self.n <= MANY_COLUMNS;
        if let (Some(l), Some(r), true) = (&left, &right, exact && self.fills && few_columns)
            && let (Some(easy), Some(_)) = (&l.easy, &r.easy)
        {
            let stored = Parts { stored: true, ..Parts::default() };
            let init = init.map(|(acc, core)| Field::of(acc, &core, self.carrier.doubled().acc_size()));
            let products = self.easy_and_hard(x, y, stored, [l, r], init.as_ref())?;
            let ids = easy.ids.as_deref();
            return Ok(assemble::compressed(&self.shape, self.dtype, fill, products, ids, None)?.into());
        }
        let entries = |s: Option<Split>| match s {
            Some(s) if exact => s.all().map(|all| all.map(Cow::into_owned)),
            s => Ok(s.and_then(|s| s.easy)),
        };
        let (left, right) = same_width(entries(left)?, entries(right)?);
        // Where every element is easy, so is the background: nothing of it cancels but with what is as large.
        let carrier = if exact { self.carrier.doubled() } else { self.carrier };
        let init = match init {
            None => None,
            Some((acc, core)) => {
                let acc = if carrier == self.carrier.doubled() {
                    acc
                } else {
                    let dtype = carrier.input(self.dtype);
                    Buffer::build(count(&core) * carrier.acc_size(), |out| {
                        self.carrier.doubled().finish(acc.bytes(), dtype, out)
                    })?
                };
                Some(Field::of(acc, &core, carrier.acc_size()))
            }
        };
        let against = self.against(left.as_ref(), right.as_ref(), true)?;
        let left = match (left, &right) {
            (Some(left), Some(right)) => Some(left.meeting_some(right, carrier.term_size()).unwrap_or(left)),
            (left, _) => left,
        };
        let (right, columns) = match right {
            Some(right) if !by_column && self.n > MANY_COLUMNS && self.n / 8 > right.nse() => {
                let (right, columns) = right.with_dense_columns();
                (Some(right), Some(columns))
            }
            right => (right, None),
        };
        if let (Some(left), Some(right), None, None) = (&left, &right, &init, &columns) {
            // All rows of every matrix are there: as many as there is memory for.
            let is_whole = left.batch == self.batch && left.ids.is_none();
            let only = is_whole && against.is_none() && self.mask.is_none();
            let strides = batch_strides(&right.batch);
            let firsts = || (0..count(self.batch)).mapped(|b| offset(self.batch, &strides, b) * right.rows);
            let rows = only.then(|| sparse::product(left, right, &firsts(), self.n, self.carrier, self.dtype));
            if let Some(rows) = rows.flatten() {
                return Ok(assemble::matrix(&self.shape, self.dtype, fill, rows).into());
            }
        }
        let mut pass = Pass {
            left: left.as_ref(),
            left_against: against.as_ref(),
            right: right.as_ref(),
            init: init.as_ref(),
            carrier,
            ..self.pass(parts, &self.shape)
        };
        let renumbered = match (self.mask, &columns) {
            (Some(mask), Some(columns)) => Some(mask.renumbered(columns)),
            _ => None,
        };
        pass.mask = renumbered.as_ref().or(self.mask);
        if let Some(columns) = &columns {
            pass.n = columns.len();
        }
        let finish = self.finish(carrier);
        let masked = if columns.is_none() { pass.masked_rows(&finish, self.dtype.size()) } else { None };
        if let Some(rows) = masked {
            return Ok(assemble::matrix(&self.shape, self.dtype, fill, rows).into());
        }
        let products = pass.sparse_rows(&finish, self.dtype.size());
        let ids = left.as_ref().and_then(|l| l.ids.as_deref());
        Ok(assemble::compressed(&self.shape, self.dtype, fill, products, ids, columns.as_deref())?.into())
    }
}

impl Plan<'_> {
    /// The product of two matrices over zeros that are CSR as they stand, where the kernel of these takes them: what a general
    /// product makes ready costs more than a small one takes.
    fn compressed(&self, x: &Side<'_>, y: &Side<'_>) -> Result<Option<sparse::Product>> {
        let (Some(a), Some(b)) = (x.stored, y.stored) else { return Ok(None) };
        let is_plain = !self.fills && self.batch.is_empty() && self.mask.is_none() && self.n <= MANY_COLUMNS;
        let is_csr = |s: &Sparse| s.pattern.layout(&s.shape) == Layout::Csr;
        if !is_plain || !sparse::is_own(self.carrier, self.dtype) || !is_csr(a) || !is_csr(b) {
            return Ok(None);
        }
        let stored = |s: &Sparse| Stored::new(s, self.carrier, false, false);
        let (left, right) = (stored(a)?, stored(b)?);
        let some = left.meeting_some(&right, self.dtype.size());
        Ok(sparse::product(some.as_ref().unwrap_or(&left), &right, &[0], self.n, self.carrier, self.dtype))
    }
}

/// Columns beyond which accumulators for each are too many.
const MANY_COLUMNS: usize = 1 << 22;

/// Indices of one width.
pub(super) fn same_width(left: Option<Stored>, right: Option<Stored>) -> (Option<Stored>, Option<Stored>) {
    let wide = left.as_ref().is_some_and(Stored::is_wide) || right.as_ref().is_some_and(Stored::is_wide);
    if !wide {
        return (left, right);
    }
    (left.map(|s| s.widened(wide)), right.map(|s| s.widened(wide)))
}
