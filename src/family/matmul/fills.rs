//! Products beside a fill other than zero: what is stored goes through the kernels of products without fills, and
//! the backgrounds join as few rows, columns and products of these, each computed once.
//!
//! A background that does not vary along an output axis makes one row (or column) of the product. One that does not
//! vary along the contracted axis makes the product of itself with one row, the sums of the other operand's
//! columns. Only a fill that varies along both axes of its matrix is multiplied out.

use crate::base::mapped::Mapped;
use std::borrow::Cow;

use openwork_ops::matmul::{Carrier, Finish, Grid, Product};
use openwork_ops::{DType, Scalar};

use super::columns::{self, Hard};
use super::merged::merged;
use super::operand::{Field, Stored, offset};
use super::over_fill::{AtHand, InKernel, OverFill, Terms};
use super::plan::{Plan, Side, same_width};
use super::rows::{BLOCK, Parts, Pass, WIDEST, WORK};
use super::split::Split;
use crate::base::buffer::Buffer;
use crate::base::error::Result;
use crate::base::parallel;
use crate::base::strided::count;
use crate::levels::layout::Layout;
use crate::tensor::{Sparse, Tensor};

/// How the background of an operand takes part.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Presence {
    /// The same for every row (on the right: column) of the product.
    Once,
    /// The same along the contracted axis.
    Summed,
    /// Varying along both, or a strided operand.
    Full,
}

/// Rows of one operand against those of the other, as a pass takes them.
struct Joined {
    left: Option<Stored>,
    against: Option<Stored>,
    right: Option<Stored>,
    parts: Parts,
}

/// Columns times rows, of accumulators: `(…, m, 1)` and `(…, 1, n)`.
type Outer = (Field, Field);

/// What is added to the product of what is stored, in a carrier that loses nothing.
struct Added<'a> {
    carrier: Carrier,
    fields: Vec<Field>,
    outers: Vec<Outer>,
    passes: Vec<Pass<'a>>,
    /// What comes to some rows of the one matrix.
    hard: Option<Hard>,
}

/// Sums of easy elements, and what is to be added to them exactly: hard elements, or what these come to.
struct Easy {
    sums: Buffer,
    entries: Option<Stored>,
    hard: Option<Hard>,
}

impl Plan<'_> {
    /// Dense rows of all parts in a core shape, where a fill takes part; `finish` takes accumulators of the doubled
    /// carrier.
    pub(super) fn beside_fills(
        &self,
        x: &Side<'_>,
        y: &Side<'_>,
        parts: Parts,
        core: &[usize],
        finish: Finish<'_>,
        width: usize,
    ) -> Result<Buffer> {
        if let Some(out) = self.at_once(x, y, parts, core, width)? {
            return Ok(out);
        }
        let easy = match self.by_columns(x, y, core)? {
            None => self.by_rows(x, y, parts, core)?,
            found => found,
        };
        if let Some(Easy { sums, entries, hard }) = easy {
            let rows = Parts { rows: true, ..Parts::default() };
            let exact = self.joined(entries, None, rows)?;
            let exact = (exact.as_slice(), hard);
            return self.with_backgrounds(x, y, parts, [None, None], Some(sums), exact, core, finish, width);
        }
        // Listed rows meet one matrix on the left each.
        let all_right = parts.stored && x.batch() != self.batch;
        let (left, right) = (self.split(x, true)?, self.split(y, all_right)?);
        let easy = |s: &Option<Split>| s.as_ref().and_then(|s| s.easy.clone());
        let plain = Parts {
            stored: parts.stored,
            rows: parts.rows && y.is_strided,
            columns: parts.columns && x.is_strided,
            backgrounds: false,
        };
        let plain = self.joined(easy(&left), easy(&right), plain)?;
        let size = self.carrier.acc_size();
        let copy = |acc: &[u8], out: &mut [u8]| out.copy_from_slice(acc);
        let sums = match &plain {
            Some(joined) => Some(self.pass_of(joined, core).all_rows(&copy, size)?),
            None => None,
        };
        let exact = self.exactly(x, y, parts, left.as_ref(), right.as_ref())?;
        let exact = (&exact[..], None);
        self.with_backgrounds(x, y, parts, [left.as_ref(), right.as_ref()], sums, exact, core, finish, width)
    }

    /// The sums of easy elements, to which what is multiplied out and the backgrounds are added.
    #[allow(clippy::too_many_arguments)]
    fn with_backgrounds(
        &self,
        x: &Side<'_>,
        y: &Side<'_>,
        parts: Parts,
        sides: [Option<&Split>; 2],
        sums: Option<Buffer>,
        (exact, hard): (&[Joined], Option<Hard>),
        core: &[usize],
        finish: Finish<'_>,
        width: usize,
    ) -> Result<Buffer> {
        let carrier = self.carrier.doubled();
        let passes = exact.mapped(|j| Pass { carrier, ..self.pass_of(j, core) });
        let mut added = Added { carrier, fields: Vec::new(), outers: Vec::new(), passes, hard };
        self.backgrounds(x, y, parts, sides, core, &mut added)?;
        self.together(sums, &added, core, finish, width)
    }

    /// The sums of easy elements of a matrix that is stored by columns times a strided one, and what hard elements come to, or these
    /// by rows: only they are converted.
    fn by_columns(&self, x: &Side<'_>, y: &Side<'_>, core: &[usize]) -> Result<Option<Easy>> {
        let (Some(s), Some(dense)) = (self.over_fill(x, y), &y.background) else { return Ok(None) };
        if !self.batch.is_empty() || core != [self.m, self.n] || s.pattern.layout(&s.shape) != Layout::Csc {
            return Ok(None);
        }
        let turned = Tensor::from(s.clone()).matrix_transpose()?;
        let Some((turned, fill)) = turned.sparse().and_then(|s| Some((s, s.fill_values()?))) else { return Ok(None) };
        let over = OverFill::new(turned, fill, self.carrier, true, self.limit)?;
        if let Some(terms) = InKernel::new(&over, &[]) {
            let sums = columns::sums(self.carrier, Terms::InKernel(&terms), dense, self.m)?;
            return Ok(sums.map(|(sums, hard)| Easy { sums, entries: None, hard }));
        }
        let Some(terms) = AtHand::new(&over) else { return Ok(None) };
        let Some((sums, _)) = columns::sums(self.carrier, Terms::AtHand(&terms), dense, self.m)? else {
            return Ok(None);
        };
        let Some(entries) = terms.hard() else { return Ok(None) };
        let entries = entries.map(|hard| hard.transposed(self.m, self.carrier.term_size()));
        Ok(Some(Easy { sums, entries, hard: None }))
    }

    /// The same of compressed rows, whose terms are made as the kernel comes to them.
    fn by_rows(&self, x: &Side<'_>, y: &Side<'_>, parts: Parts, core: &[usize]) -> Result<Option<Easy>> {
        let Some((s, fill)) = self.over_fill(x, y).and_then(|s| Some((s, s.fill_values()?))) else { return Ok(None) };
        let plain = parts.rows && !parts.stored && !parts.columns;
        // Of rows that meet several matrices, hard elements would be met as often.
        let plain = plain && x.batch() == self.batch;
        if !plain || core[core.len() - 2..] != [self.m, self.n] || s.pattern.layout(&s.shape) != Layout::Csr {
            return Ok(None);
        }
        let over = OverFill::new(s, fill, self.carrier, true, self.limit)?;
        let Some(at_hand) = AtHand::new(&over) else { return Ok(None) };
        let terms = Terms::AtHand(&at_hand);
        let rows = Parts { rows: true, ..Parts::default() };
        let pass = Pass { left: Some(terms.rows()), left_terms: Some(terms), ..self.pass(rows, core) };
        let copy = |acc: &[u8], out: &mut [u8]| out.copy_from_slice(acc);
        let sums = pass.all_rows(&copy, self.carrier.acc_size())?;
        Ok(at_hand.hard().map(|entries| Easy { sums, entries, hard: None }))
    }

    /// Rows of a matrix of `float64` beside a strided one, the background with them; `None` for any other operands.
    fn at_once(
        &self,
        x: &Side<'_>,
        y: &Side<'_>,
        parts: Parts,
        core: &[usize],
        width: usize,
    ) -> Result<Option<Buffer>> {
        let Some((s, fill)) = self.over_fill(x, y).and_then(|s| Some((s, s.fill_values()?))) else { return Ok(None) };
        let is_plain = parts.rows && parts.backgrounds && !parts.stored && !parts.columns && self.batch.is_empty();
        let is_f64 = self.dtype == DType::F64 && width == self.dtype.size() && self.n <= WIDEST;
        let is_side_by_side = self.n == 1 || self.right_field.as_ref().is_some_and(|f| f.strides.last() == Some(&1));
        if !(is_plain && is_f64 && is_side_by_side)
            || core != [self.m, self.n]
            || s.pattern.layout(&s.shape) != Layout::Csr
        {
            return Ok(None);
        }
        let over = OverFill::new(s, fill, self.carrier, true, self.limit)?;
        let carrier = self.carrier.doubled();
        let mut added = Added { carrier, fields: Vec::new(), outers: Vec::new(), passes: Vec::new(), hard: None };
        self.backgrounds(x, y, parts, [None, None], core, &mut added)?;
        let (row, by_rows) = match (&added.fields[..], &added.outers[..]) {
            ([row], []) => (row, false),
            ([], [(_, row)]) => (row, true),
            _ => return Ok(None),
        };
        let Some(row) = row.values.bytes().get(..self.n * row.size) else { return Ok(None) };
        let Some(terms) = InKernel::with_background(&over, row, by_rows) else { return Ok(None) };
        let terms = Terms::InKernel(&terms);
        let rows = Parts { rows: true, ..Parts::default() };
        let pass = Pass { left: Some(terms.rows()), left_terms: Some(terms), ..self.pass(rows, core) };
        pass.all_rows(&|_, _| {}, width).map(Some)
    }

    /// What a left operand of floats stores, where it has a fill and meets a strided operand, and the background need not be
    /// multiplied out.
    fn over_fill<'s>(&self, x: &Side<'s>, y: &Side<'_>) -> Option<&'s Sparse> {
        let is_float = self.carrier == Carrier::Float && x.fills() && y.is_strided;
        x.stored.filter(|_| is_float && self.kinds(x, y)[0] != Presence::Full)
    }

    pub(super) fn split(&self, side: &Side<'_>, all_rows: bool) -> Result<Option<Split>> {
        side.stored.map(|s| Split::new(s, self.carrier, side.fills(), all_rows, self.limit)).transpose()
    }

    /// Rows that meet, or `None` if there are none.
    fn joined(&self, left: Option<Stored>, right: Option<Stored>, parts: Parts) -> Result<Option<Joined>> {
        let parts = Parts {
            stored: parts.stored && left.is_some() && right.is_some(),
            rows: parts.rows && left.is_some(),
            columns: parts.columns && right.is_some(),
            backgrounds: parts.backgrounds,
        };
        if !(parts.stored || parts.rows || parts.columns || parts.backgrounds) {
            return Ok(None);
        }
        let (left, right) = same_width(left, right);
        let against = self.against(left.as_ref(), right.as_ref(), parts.stored)?;
        Ok(Some(Joined { left, against, right, parts }))
    }

    fn pass_of<'p>(&'p self, joined: &'p Joined, core: &[usize]) -> Pass<'p> {
        Pass {
            left: joined.left.as_ref(),
            left_against: joined.against.as_ref(),
            right: joined.right.as_ref(),
            ..self.pass(joined.parts, core)
        }
    }

    fn kinds(&self, x: &Side<'_>, y: &Side<'_>) -> [Presence; 2] {
        let of = |side: &Side<'_>, field: &Option<Field>, own: usize, contracted: usize| match field {
            Some(f) if side.is_strided || (f.varies(own) && f.varies(contracted)) => Presence::Full,
            Some(f) if f.varies(own) => Presence::Summed,
            _ => Presence::Once,
        };
        [of(x, &self.left_field, 2, 1), of(y, &self.right_field, 1, 2)]
    }

    /// What has to be multiplied out in the doubled carrier: hard elements, and fills that vary along both axes.
    fn exactly(
        &self,
        x: &Side<'_>,
        y: &Side<'_>,
        parts: Parts,
        left: Option<&Split>,
        right: Option<&Split>,
    ) -> Result<Vec<Joined>> {
        let [of_left, of_right] = self.kinds(x, y);
        let hard = |s: Option<&Split>| s.and_then(|s| s.hard.clone());
        let mut out = Vec::new();
        let stored = Parts { stored: parts.stored, ..Parts::default() };
        if parts.stored && hard(left).is_some() {
            out.extend(self.joined(hard(left), all(right)?, stored)?);
        }
        if parts.stored && hard(right).is_some() {
            let easy = left.map(Split::all_easy).transpose()?.flatten().map(Cow::into_owned);
            out.extend(self.joined(easy, hard(right), stored)?);
        }
        if parts.rows && of_right == Presence::Full {
            let left = if y.is_strided { hard(left) } else { all(left)? };
            out.extend(self.joined(left, None, Parts { rows: true, ..Parts::default() })?);
        }
        if parts.columns && of_left == Presence::Full {
            let right = if x.is_strided { hard(right) } else { all(right)? };
            out.extend(self.joined(None, right, Parts { columns: true, ..Parts::default() })?);
        }
        let backgrounds = parts.backgrounds && of_left == Presence::Full && of_right == Presence::Full;
        out.extend(self.joined(None, None, Parts { backgrounds, ..Parts::default() })?);
        Ok(out)
    }

    /// A sparse product of what is stored, where some of it is hard, over a background that varies along one axis at
    /// most.
    pub(super) fn easy_and_hard(
        &self,
        x: &Side<'_>,
        y: &Side<'_>,
        parts: Parts,
        [left, right]: [&Split; 2],
        background: Option<&Field>,
    ) -> Result<Vec<Product>> {
        let copy = |acc: &[u8], out: &mut [u8]| out.copy_from_slice(acc);
        let carrier = self.carrier.doubled();
        let Some(easy) = self.joined(left.easy.clone(), right.easy.clone(), parts)? else { return Ok(Vec::new()) };
        let plain = self.pass_of(&easy, &self.shape).sparse_rows(&copy, self.carrier.acc_size());
        let mut exact = Vec::new();
        for joined in self.exactly(x, y, parts, Some(left), Some(right))? {
            let pass = Pass { carrier, ..self.pass_of(&joined, &self.shape) };
            exact.push(pass.sparse_rows(&copy, carrier.acc_size()));
        }
        let ids = easy.left.as_ref().and_then(|l| l.ids.as_deref());
        let row = |r: usize| {
            let (b, i) = match ids {
                Some(ids) => (ids[r] as usize / self.m, 0),
                None => (r / self.m, r % self.m),
            };
            // Listed rows are not at their places in a field, which then does not vary along them.
            background.map(|field| field.rows(offset(self.batch, &field.strides[..field.strides.len() - 2], b), i))
        };
        Ok(merged(plain, self.carrier, &exact, &row, &self.finish(carrier), self.dtype.size()))
    }

    /// The parts of backgrounds that are computed once, or are products of a column and a row.
    fn backgrounds(
        &self,
        x: &Side<'_>,
        y: &Side<'_>,
        parts: Parts,
        sides: [Option<&Split>; 2],
        core: &[usize],
        added: &mut Added<'_>,
    ) -> Result<()> {
        let [of_left, of_right] = self.kinds(x, y);
        let n = core.len();
        let (mut row, mut column) = (core.to_vec(), core.to_vec());
        (row[n - 2], column[n - 1]) = (core[n - 2].min(1), core[n - 1].min(1));
        let one = Field::constant(Scalar::one(self.carrier.input(self.dtype)), n);
        let carrier = self.carrier.doubled();
        let size = carrier.acc_size();
        let copy = |acc: &[u8], out: &mut [u8]| out.copy_from_slice(acc);
        let sums = |pass: Pass<'_>, core: &[usize]| -> Result<Field> {
            let pass = Pass { carrier, ..pass };
            let values = match pass.long_row() {
                Some(row) => row,
                None => pass.all_rows(&copy, size)?,
            };
            Ok(Field::of(values, core, size))
        };
        let lifted = Parts { backgrounds: true, ..Parts::default() };
        let left_sums = Parts {
            columns: parts.columns && of_left != Presence::Full,
            backgrounds: parts.backgrounds && of_left != Presence::Full,
            ..Parts::default()
        };
        if left_sums.columns || left_sums.backgrounds {
            let right = if left_sums.columns { all(sides[1])? } else { None };
            let pass = Pass { right: right.as_ref(), ..self.pass(left_sums, &row) };
            if of_left == Presence::Once {
                added.fields.push(sums(pass, &row)?);
            } else {
                let total = sums(Pass { left_field: Some(&one), ..pass }, &row)?;
                let own = Pass { right_field: Some(&one), k: 1, ..self.pass(lifted, &column) };
                added.outers.push((sums(own, &column)?, total));
            }
        }
        let right_sums = Parts {
            rows: parts.rows && of_right != Presence::Full,
            backgrounds: parts.backgrounds && of_left == Presence::Full && of_right != Presence::Full,
            ..Parts::default()
        };
        if right_sums.rows || right_sums.backgrounds {
            let left = if right_sums.rows { all(sides[0])? } else { None };
            let pass = Pass { left: left.as_ref(), ..self.pass(right_sums, &column) };
            if of_right == Presence::Once {
                added.fields.push(sums(pass, &column)?);
            } else {
                let total = sums(Pass { right_field: Some(&one), ..pass }, &column)?;
                let own = Pass { left_field: Some(&one), k: 1, ..self.pass(lifted, &row) };
                added.outers.push((total, sums(own, &row)?));
            }
        }
        Ok(())
    }

    /// Adds to sums of the plain carrier, if there are any, what is to be added to them, and finishes.
    fn together(
        &self,
        mut sums: Option<Buffer>,
        added: &Added<'_>,
        core: &[usize],
        finish: Finish<'_>,
        width: usize,
    ) -> Result<Buffer> {
        let (batch, [m, n]) = (&core[..core.len() - 2], [core[core.len() - 2], core[core.len() - 1]]);
        let work = added.passes.iter().fold(n, |work, pass| work.saturating_add(pass.work_per_row()));
        let grain = (WORK / work.max(1)).max(1);
        let size = self.carrier.acc_size();
        // Sums as wide as elements become these where they lie.
        if let Some(bytes) = sums.as_mut().filter(|_| size == width).and_then(Buffer::unique_mut) {
            let row = added.row(n).filter(|_| self.carrier == Carrier::Float && batch.is_empty());
            parallel::for_chunks_mut(bytes, n * width, grain, &|first, out| {
                let all = |first: usize, out: &mut [u8]| {
                    added.rows(batch, [m, n], first, out, width, &|_, part, acc| {
                        added.carrier.add_plain(part, acc);
                        finish(acc, part);
                    });
                };
                let Some(row) = row else { return all(first, out) };
                // Few rows may have more to be added than one row that joins them all.
                let (mut first, mut rest) = (first, out);
                while !rest.is_empty() {
                    let (count, more) = added.alike(first, rest.len() / (n * width));
                    let (part, tail) = rest.split_at_mut(count * n * width);
                    if more {
                        all(first, part)
                    } else {
                        Carrier::add_row(row, part)
                    }
                    (first, rest) = (first + count, tail);
                }
            });
            return Ok(sums.unwrap_or_else(Buffer::empty));
        }
        let rows = count(batch).saturating_mul(m);
        Buffer::overwritten(rows * n * width, width, |out| {
            parallel::for_chunks_mut(out, n * width, grain, &|first, out| {
                added.rows(batch, [m, n], first, out, width, &|at, part, acc| {
                    if let Some(sums) = &sums {
                        let end = at + part.len() / (n * width);
                        added.carrier.add_plain(&sums.bytes()[at * n * size..end * n * size], acc);
                    }
                    finish(acc, part);
                });
            });
        })
    }
}

impl Added<'_> {
    /// The accumulators of a row of `n` that joins every row, if nothing joins them but that, what [`Added::passes`] add
    /// to rows that store something, and what is hard.
    fn row(&self, n: usize) -> Option<&[u8]> {
        let ([field], []) = (&self.fields[..], &self.outers[..]) else { return None };
        let (last, rest) = field.strides.split_last()?;
        let is_row = self.carrier == Carrier::Double && *last == 1 && rest.iter().all(|&stride| stride == 0);
        let by_rows = |p: &Pass<'_>| {
            let Parts { stored, rows, columns, backgrounds } = p.parts;
            rows && !(stored || columns || backgrounds) && p.left.is_some_and(|left| left.ids.is_none())
        };
        field.values.bytes().get(..n * field.size).filter(|_| is_row && self.passes.iter().all(by_rows))
    }

    /// How many rows of the one matrix from `first` on, `most` at most, are alike in that passes add to them, and whether
    /// they do.
    fn alike(&self, first: usize, most: usize) -> (usize, bool) {
        let by_passes =
            |r: usize| self.passes.iter().any(|p| p.left.is_some_and(|left| left.start(r) < left.start(r + 1)));
        let has_more = |r: usize| by_passes(r) || self.hard.as_ref().is_some_and(|hard| hard.row(r).is_some());
        let more = has_more(first);
        (1 + (first + 1..first + most).take_while(|&r| has_more(r) == more).count(), more)
    }

    /// Accumulates the rows of `out`, from row `first` of all matrices on, a few at a time; `end` takes the number of the
    /// first of them, their place and their accumulators.
    fn rows(
        &self,
        batch: &[usize],
        [m, n]: [usize; 2],
        first: usize,
        out: &mut [u8],
        width: usize,
        end: &dyn Fn(usize, &mut [u8], &mut [u8]),
    ) {
        let (kernels, row) = (self.carrier.kernels(), n * self.carrier.acc_size());
        let mut scratch: Vec<u128> = Vec::new();
        let (mut at, last) = (first, first + out.len() / (n * width));
        let mut rest = out;
        while at < last {
            let (b, i) = (at / m, at % m);
            let count = (m - i).min(last - at).min((BLOCK / row).max(1));
            let (part, tail) = rest.split_at_mut(count * n * width);
            scratch.clear();
            scratch.resize((count * row).div_ceil(16), 0);
            let acc = &mut bytemuck::cast_slice_mut::<u128, u8>(&mut scratch)[..count * row];
            let of = |field: &Field| offset(batch, &field.strides[..field.strides.len() - 2], b);
            for field in &self.fields {
                kernels.add(field.rows(of(field), i), n, acc);
            }
            for (left, right) in &self.outers {
                kernels.outer(left.rows(of(left), i), right.rows(of(right), 0), n, acc);
            }
            for pass in &self.passes {
                let left = pass.left_matrix(b) * m + i;
                pass.accumulate(b, i..i + count, left..left + count, acc);
            }
            if let Some(hard) = &self.hard {
                for (r, acc) in (i..).zip(acc.chunks_exact_mut(row)) {
                    if let Some(sums) = hard.row(r) {
                        kernels.add(Grid { values: sums, row: 0, col: 1 }, n, acc);
                    }
                }
            }
            end(at, part, acc);
            (rest, at) = (tail, at + count);
        }
    }
}

fn all(side: Option<&Split>) -> Result<Option<Stored>> {
    Ok(side.map(Split::all).transpose()?.flatten().map(Cow::into_owned))
}
