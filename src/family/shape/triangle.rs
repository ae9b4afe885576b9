//! Triangles and diagonals of matrices.

use crate::base::mapped::{Chosen, Mapped};
use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use openwork_ops::Scalar;
use openwork_ops::structure::keys::KeyLayout;
use openwork_ops::structure::{Index, IndexSlice};
use openwork_ops::with_index;

use super::runs::Runs;
use super::{along, arrays, coo_dims, join};
use crate::base::axes::{Axes, Axis};
use crate::base::buffer::Buffer;
use crate::base::context;
use crate::base::error::{self, Result};
use crate::base::memory;
use crate::base::pages::Scratch;
use crate::base::parallel;
use crate::base::strided::Strided;
use crate::base::trace::{Work, raise};
use crate::base::turns::{cut, in_turns};
use crate::engine::convert;
use crate::levels::indices::{Indices, needs_64_bits};
use crate::levels::layout::{Layout, LevelSpec};
use crate::levels::level::{Level, LevelKind};
use crate::levels::pattern::{Dim, Part, Pattern};
use crate::tensor::fill::Fill;
use crate::tensor::trace;
use crate::tensor::{Sparse, Storage, Tensor};

/// # Triangles and diagonals
impl Tensor {
    /// The elements on and below a diagonal of the last two axes (`offset` above the main one); zero elsewhere, absent
    /// with an undefined fill.
    ///
    /// Sparse with fill 0 or undefined: stored elements are dropped and the layout stays (blocks are taken apart). With
    /// another fill the result is not sparse: dense, within the densify budget. Cost: O(nse).
    ///
    /// ```
    /// use openwork::tensor;
    /// let x = tensor![[1, 2, 3], [4, 5, 6], [7, 8, 9]];
    /// assert_eq!(x.tril(0)?.to_vec::<i32>()?, [1, 0, 0, 4, 5, 0, 7, 8, 9]);
    /// assert_eq!(x.tril(-1)?.to_vec::<i32>()?, [0, 0, 0, 4, 0, 0, 7, 8, 0]);
    /// # Ok::<(), openwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// If there are fewer than two axes, or the densify budget is exceeded.
    pub fn tril(&self, offset: isize) -> Result<Tensor> {
        let call = trace::call("tril", &[self]);
        call.end(triangle(self, offset, true))
    }

    /// The elements on and above a diagonal; else as [`Tensor::tril`].
    ///
    /// ```
    /// use openwork::tensor;
    /// let x = tensor![[1, 2, 3], [4, 5, 6], [7, 8, 9]];
    /// assert_eq!(x.triu(1)?.to_vec::<i32>()?, [0, 2, 3, 0, 0, 6, 0, 0, 0]);
    /// # Ok::<(), openwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::tril`].
    pub fn triu(&self, offset: isize) -> Result<Tensor> {
        let call = trace::call("triu", &[self]);
        call.end(triangle(self, offset, false))
    }

    /// The elements at equal indices of two axes (`offset` added to the first is the second), as the last axis of the
    /// result; the two axes are removed.
    ///
    /// Strided: a view. Sparse: coordinates that are left, value axes kept; the fill's diagonal is the fill. Cost:
    /// O(nse).
    ///
    /// ```
    /// use openwork::tensor;
    /// let x = tensor![[1, 2, 3], [4, 5, 6], [7, 8, 9]];
    /// assert_eq!(x.diagonal(0, 0, 1)?.to_vec::<i32>()?, [1, 5, 9]);
    /// assert_eq!(x.diagonal(1, 0, 1)?.to_vec::<i32>()?, [2, 6]);
    /// # Ok::<(), openwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// If an axis is out of range, or both are the same.
    pub fn diagonal(&self, offset: isize, axis1: impl Into<Axis>, axis2: impl Into<Axis>) -> Result<Tensor> {
        let call = trace::call("diagonal", &[self]);
        let (first, second) = (axis1.into(), axis2.into());
        let (a, b) = (first.of(self.ndim())?, second.of(self.ndim())?);
        Axes::from_iter([first, second]).of(self.ndim())?;
        let out = match &self.storage {
            Storage::Strided(s) => Tensor::from_strided(diagonal_of(s, offset, a, b)),
            Storage::Sparse(s) => sparse_diagonal(s, offset, a, b)?.into(),
        };
        Ok(call.done(out))
    }

    /// A matrix with this vector on a diagonal (`offset` above the main one), zero elsewhere, absent with an
    /// undefined fill; or of a matrix, its diagonal.
    ///
    /// Sparse: the result is COO with fill 0 or undefined; another fill's elements on the diagonal are stored, within the
    /// densify budget.
    ///
    /// ```
    /// use openwork::tensor;
    /// assert_eq!(tensor![[1, 2], [3, 4]].diag(0)?.to_vec::<i32>()?, [1, 4]);
    /// assert_eq!(tensor![5, 6].diag(1)?.to_vec::<i32>()?, [0, 5, 0, 0, 0, 6, 0, 0, 0]);
    /// # Ok::<(), openwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// If there are neither one nor two axes, or the densify budget is exceeded.
    #[doc(alias("diagflat", "setdiag"))]
    pub fn diag(&self, offset: isize) -> Result<Tensor> {
        let call = trace::call("diag", &[self]);
        let &[n] = self.shape() else {
            if self.ndim() != 2 {
                return Err(error::shape(&[self.shape()], "a vector or a matrix is needed"));
            }
            return call.end(self.diagonal(offset, 0, 1));
        };
        let size = n.checked_add(offset.unsigned_abs());
        let size = size.ok_or_else(|| error::invalid("offset", format_args!("{offset} makes the matrix too large")))?;
        let out = match &self.storage {
            Storage::Strided(s) => Tensor::from_strided(on_diagonal(s, offset, size)?),
            Storage::Sparse(s) => {
                let fill = if s.fill.is_undefined() { Fill::Undefined } else { Fill::Scalar(Scalar::zero(s.dtype())) };
                let spec = LevelSpec::of_layout(Layout::Coo, &s.shape)?;
                let s = join::refilled(self, fill.clone(), &spec)?;
                let row = s.pattern.axis_coordinates(0, 1);
                let shape = [size, size];
                let layout = KeyLayout::new(&shape);
                let mut words = vec![vec![0u64; row.len()]; layout.word_bits.len()];
                let starts = starts(offset).map(|start| start as u64);
                for (field, start) in layout.fields.iter().zip(starts) {
                    for (word, r) in words[field.word].iter_mut().zip(&row) {
                        *word |= (r + start).wrapping_mul(field.weight());
                    }
                }
                let from = (0..row.len() as u64).collect();
                let (kinds, dims) = (vec![LevelKind::Sparse { rank: 2 }], coo_dims(&shape));
                let (pattern, _) = along::rebuild(kinds, dims, &layout, words, from)?;
                Sparse { shape: shape[..].into(), pattern: Arc::new(pattern), values: s.values.clone(), fill }.into()
            }
        };
        Ok(call.done(out))
    }
}

fn triangle(x: &Tensor, offset: isize, lower: bool) -> Result<Tensor> {
    let n = x.ndim();
    if n < 2 {
        return Err(error::shape(&[x.shape()], "at least two axes are needed"));
    }
    let keep = |row: u64, column: u64| {
        let away = column as i128 - row as i128 - offset as i128;
        if lower { away <= 0 } else { away >= 0 }
    };
    let out: Tensor = match &x.storage {
        Storage::Strided(s) => Tensor::from_strided(arrays::triangle(s, offset, lower)?),
        Storage::Sparse(s) => {
            let blank = match &s.fill {
                Fill::Undefined => true,
                Fill::Scalar(value) => value.is_zero(),
                Fill::Array(_) => s.shape.contains(&0),
            };
            match s.fill_values() {
                Some(fill) if !blank => {
                    context::may_densify(&s.shape, s.dtype().size(), || {
                        format!("outside the triangle is zero, the fill {} varies then along two axes", s.fill)
                    })?;
                    let dense = convert::to_strided(s, &fill)?;
                    Tensor::from_strided(arrays::triangle(&dense, offset, lower)?)
                }
                _ => {
                    let s = in_levels(s, &[n - 2, n - 1])?;
                    match of_rows(&s, offset, lower)? {
                        Some(out) => out.into(),
                        None => {
                            let rows = s.pattern.axis_coordinates(n - 2, n);
                            let columns = s.pattern.axis_coordinates(n - 1, n);
                            let kept: Vec<bool> = rows.iter().zip(&columns).map(|(&r, &c)| keep(r, c)).collect();
                            convert::retain_rows(&s, &kept)?.into()
                        }
                    }
                }
            }
        }
    };
    Ok(out)
}

/// The triangle of compressed rows whose columns rise: of each a run is kept, before the diagonal or behind it. `None` of others.
fn of_rows(s: &Sparse, offset: isize, lower: bool) -> Result<Option<Sparse>> {
    let Some(Level::Sparse { pointers: Some(pointers), indices, .. }) = s.pattern.levels.last() else {
        return Ok(None);
    };
    let ([columns], Layout::Csr, [.., height, _]) = (&indices[..], s.pattern.layout(&s.shape), &s.shape[..]) else {
        return Ok(None);
    };
    if !s.pattern.is_canonical() {
        return Ok(None);
    }
    with_index!(pointers.as_slice(), p => cut_rows(s, p, columns.typed(), |row, columns| {
        // The first column on the other side.
        let beyond = (row % height) as i128 + offset as i128 + i128::from(lower);
        let cut = columns.partition_point(|c| (c.get() as i128) < beyond);
        if lower { 0..cut } else { cut..columns.len() }
    }))
}

/// A stretch of the columns of each row.
fn cut_rows<I: Index>(
    s: &Sparse,
    pointers: &[I],
    columns: &[I],
    kept: impl Fn(usize, &[I]) -> Range<usize> + Sync,
) -> Result<Option<Sparse>> {
    let base = pointers[0].get();
    let runs = Runs::<I>::new(pointers.len() - 1, &|rows, stretches| {
        for (stretch, row) in stretches.iter_mut().zip(rows) {
            let (start, end) = (pointers[row].get() - base, pointers[row + 1].get() - base);
            let kept = if start < end { kept(row, &columns[start..end]) } else { 0..0 };
            *stretch = [start + kept.start, start + kept.end];
        }
    });
    match runs {
        Ok(runs) if runs.total() == s.pattern.positions => Ok(Some(s.clone())),
        Ok(runs) => {
            raise(Work::Engine);
            let cut = runs.cut(s, &s.pattern.dims)?;
            Ok(cut.map(|(pattern, values)| Sparse { pattern: Arc::new(pattern), values, ..s.clone() }))
        }
        Err(_) => Ok(None),
    }
}

/// The same tensor, canonical, with these axes whole in its levels.
pub(crate) fn in_levels<'a>(s: &'a Sparse, axes: &[usize]) -> Result<Cow<'a, Sparse>> {
    let s = along::whole(s, axes)?;
    if s.pattern.value_dims().iter().any(|d| axes.contains(&d.axis)) {
        return convert::convert(&s, &LevelSpec::of_layout(Layout::Coo, &s.shape)?).map(Cow::Owned);
    }
    Ok(s)
}

/// Where the diagonal `offset` above the main one begins: the row and the column.
fn starts(offset: isize) -> [usize; 2] {
    if offset < 0 { [offset.unsigned_abs(), 0] } else { [0, offset.unsigned_abs()] }
}

fn diagonal_len(shape: &[usize], offset: isize, a: usize, b: usize) -> usize {
    let [row, column] = starts(offset);
    shape[a].saturating_sub(row).min(shape[b].saturating_sub(column))
}

/// The shape without two axes, with one for their diagonal.
fn diagonal_shape(shape: &[usize], offset: isize, a: usize, b: usize) -> Vec<usize> {
    let mut out = (0..shape.len()).chosen(|&d| d != a && d != b).mapped(|&d| shape[d]);
    out.push(diagonal_len(shape, offset, a, b));
    out
}

fn diagonal_of(x: &Strided, offset: isize, a: usize, b: usize) -> Strided {
    let shape = diagonal_shape(&x.shape, offset, a, b);
    let rest = (0..x.ndim()).filter(|&d| d != a && d != b).map(|d| x.strides[d]);
    let strides = rest.chain([x.strides[a].wrapping_add(x.strides[b])]).collect();
    let first =
        if offset < 0 { offset.wrapping_neg().wrapping_mul(x.strides[a]) } else { offset.wrapping_mul(x.strides[b]) };
    let start = if shape.contains(&0) { 0 } else { first };
    Strided { shape: shape.into(), strides, offset: x.offset.wrapping_add_signed(start), ..x.clone() }
}

fn sparse_diagonal(s: &Sparse, offset: isize, a: usize, b: usize) -> Result<Sparse> {
    let n = s.ndim();
    let s = in_levels(s, &[a, b])?;
    let shape = diagonal_shape(&s.shape, offset, a, b);
    let fill = along::map_fill(&s, &shape, |values| Ok(diagonal_of(values, offset, a, b)))?;
    if let Some((from, places)) = in_rows(&s, offset, a) {
        let wide = needs_64_bits(places.len(), shape.iter().copied());
        let places = if wide { places.widened(true) } else { places.narrowed().unwrap_or(places) };
        return along_diagonal(&s, shape, fill, places, from.as_slice());
    }
    let (from, places) = match &s.pattern.levels[..] {
        // Coordinates as they are listed.
        [Level::Sparse { pointers: None, indices, .. }] if s.pattern.level_dims == n => {
            let of =
                |axis: usize| s.pattern.dims.iter().position(|d| d.axis == axis).map_or(&indices[0], |i| &indices[i]);
            with_index!(of(a).as_slice(), first => on_coordinates(first, of(b).typed(), offset))
        }
        _ => {
            let (first, second) = (s.pattern.axis_coordinates(a, n), s.pattern.axis_coordinates(b, n));
            on_coordinates(&first, &second, offset)
        }
    };
    if n == 2 {
        let wide = needs_64_bits(places.len(), shape.iter().copied());
        return along_diagonal(&s, shape, fill, Indices::of_width(places, wide), IndexSlice::U64(&from));
    }
    // The axes that are left keep their order; blocks of them are taken apart with these two, or stay whole.
    let to = |axis: usize| axis - usize::from(axis > a) - usize::from(axis > b);
    let left = |d: &&Dim| d.axis != a && d.axis != b;
    let own: Vec<Dim> = s.pattern.level_dims().iter().filter(left).copied().collect();
    let mut dims: Vec<Dim> = own.mapped(|d| Dim { axis: to(d.axis), ..*d });
    dims.push(Dim::whole(n - 2, shape[n - 2]));
    let level_dims = dims.len();
    let layout = KeyLayout::new(&dims.mapped(|d| d.size));
    let diagonal = layout.fields[level_dims - 1];
    let word = |w: usize| -> Vec<u64> {
        let weight = |d: &Dim| match own.iter().position(|o| o == d) {
            Some(i) if layout.fields[i].word == w => layout.fields[i].weight(),
            _ => 0,
        };
        let along = if diagonal.word == w { diagonal.weight() } else { 0 };
        let weights: Vec<u64> = s.pattern.level_dims().mapped(weight);
        let all = s.pattern.linearize_all(&weights);
        let at = |(&p, &place): (&u64, &u64)| all[p as usize].wrapping_add(along.wrapping_mul(place));
        from.iter().zip(&places).map(at).collect()
    };
    let words = (0..layout.word_bits.len()).mapped(word);
    dims.extend(s.pattern.value_dims().iter().map(|d| Dim { axis: to(d.axis), ..*d }));
    let kinds = vec![LevelKind::Sparse { rank: level_dims }];
    let (pattern, order) = along::rebuild(kinds, dims, &layout, words, from)?;
    let values = convert::gather_values(&s.values, &order)?;
    Ok(Sparse { shape: shape.into(), pattern: Arc::new(pattern), values, fill })
}

/// The positions of which the second coordinate is so far beyond the first, and the lesser of both.
fn on_coordinates<I: Index>(first: &[I], second: &[I], offset: isize) -> (Vec<u64>, Vec<u64>) {
    let found = parallel::map_chunks(first.len(), parallel::GRAIN, &|range| {
        let pairs = first[range.clone()].iter().zip(&second[range.clone()]);
        // Each is written, and the next one over it if it is not on the diagonal.
        let (mut on, mut n) = (vec![0u64; range.len()], 0);
        for (p, (first, second)) in range.zip(pairs) {
            on[n] = p as u64;
            n += usize::from((second.get() as u64).wrapping_sub(first.get() as u64) == offset as u64);
        }
        on.truncate(n);
        on
    });
    let from = found.concat();
    let places = from.mapped(|&p| first[p as usize].min(second[p as usize]).get() as u64);
    (from, places)
}

/// The diagonal of a matrix: what it has at some positions, at these places.
fn along_diagonal(s: &Sparse, shape: Vec<usize>, fill: Fill, places: Indices, from: IndexSlice<'_>) -> Result<Sparse> {
    raise(Work::Specialised);
    // Along the diagonal both coordinates rise: places are in order.
    let level = Level::Sparse { pointers: None, indices: vec![places], ordered: true, unique: true };
    let pattern = Pattern { levels: vec![level], dims: coo_dims(&shape), level_dims: 1, positions: from.len() };
    let values = convert::gather_at(&s.values, from)?;
    Ok(Sparse { shape: shape.into(), pattern: Arc::new(pattern), values, fill })
}

/// What a canonical matrix of compressed rows, or columns, stores on a diagonal along axis `a` and the other one: the position of
/// each, and its place along the diagonal.
///
/// Cost: O(rows · log of what they store).
fn in_rows(s: &Sparse, offset: isize, a: usize) -> Option<(Indices, Indices)> {
    let p = &s.pattern;
    let [Level::Dense, Level::Sparse { pointers: Some(pointers), indices, .. }] = &p.levels[..] else { return None };
    let is_matrix = s.ndim() == 2 && p.dims.iter().all(|d| d.part == Part::Whole);
    let ([columns], true) = (&indices[..], is_matrix && p.is_canonical()) else { return None };
    // Of columns, from the other side.
    let offset = if p.dims[0].axis == a { offset } else { offset.checked_neg()? };
    let first = offset.min(0).unsigned_abs();
    let rows = first..p.dims[0].size.min(p.dims[1].size.saturating_add_signed(offset.saturating_neg()));
    Some(with_index!(pointers.as_slice(), pointers => {
        with_index!(columns.as_slice(), columns => on_rows(pointers, columns, rows, offset))
    }))
}

/// What some compressed rows store so far beside their own number: the position of each, and the lesser of row and column.
fn on_rows<P: Index, C: Index>(pointers: &[P], columns: &[C], rows: Range<usize>, offset: isize) -> (Indices, Indices) {
    const PIECE: usize = parallel::GRAIN / 8;
    let base = pointers[0].get();
    // No row has two, and none is of an element that is not stored.
    let most = rows.len().min(columns.len());
    let (mut from, mut places) = (Scratch::<P>::any(most), Scratch::<C>::any(most));
    let make = |piece: usize, (from, places): &mut (Vec<P>, Vec<C>)| {
        from.clear();
        places.clear();
        let (start, mut guess) = (rows.start + piece * PIECE, 0);
        for r in start..rows.end.min(start + PIECE) {
            let (start, end) = (pointers[r].get() - base, pointers[r + 1].get() - base);
            let (own, wanted) = (&columns[start..end], r.wrapping_add_signed(offset));
            let is_at = |at: usize| own.get(at).is_some_and(|column| column.get() == wanted);
            let at = match own.len() {
                // Where the row before has it.
                _ if is_at(guess) => guess,
                // In a short row, to look at all of it takes less than a guess that is wrong.
                0..=SHORT => own.iter().map(|column| usize::from(column.get() < wanted)).sum(),
                _ => own.partition_point(|column| column.get() < wanted),
            };
            if is_at(at) {
                guess = at;
                from.push(P::new(start + at));
                places.push(C::new(r.min(wanted)));
            }
        }
    };
    let place = |room: &mut (_, _), piece: &(Vec<P>, Vec<C>)| {
        (cut(&mut room.0, piece.0.len()), cut(&mut room.1, piece.0.len()))
    };
    let copy = |piece: &(Vec<P>, Vec<C>), (from, places): (&mut [P], &mut [C])| {
        from.copy_from_slice(&piece.0);
        places.copy_from_slice(&piece.1);
    };
    let room = (&mut from[..], &mut places[..]);
    let found = most - in_turns(rows.len().div_ceil(PIECE), room, &make, &place, &copy).0.len();
    from.truncate(found);
    places.truncate(found);
    (from.into(), places.into())
}

/// Elements of a short row.
const SHORT: usize = 32;

fn on_diagonal(x: &Strided, offset: isize, n: usize) -> Result<Strided> {
    let what = format!("a dense matrix of {}", x.dtype);
    let instead = "from_diagonals, or diag of a sparse vector, stores the diagonal alone";
    let total = memory::room(&[n, n], &what, &[n, n], x.dtype.size(), instead)?;
    let (size, source) = (x.dtype.size(), x.dense_bytes()?);
    let [row, column] = starts(offset);
    let buffer = Buffer::build(total * size, |out| {
        for (i, element) in source.chunks_exact(size).enumerate() {
            let at = ((row + i) * n + column + i) * size;
            out[at..at + size].copy_from_slice(element);
        }
    })?;
    Ok(Strided::new(buffer, x.dtype, vec![n, n]))
}
