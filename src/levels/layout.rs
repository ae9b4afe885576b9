//! Layouts by name, and level structures by specification.

use std::fmt;
use std::str::FromStr;

use crate::base::error::{self, Result};
use crate::levels::level::{LevelKind, freed};
use crate::levels::pattern::{Dim, Part};

/// How a tensor is stored. Every sparse layout is a list of levels with a name; the name is recognised,
/// not stored, so that a permuted CSR *is* a CSC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Layout {
    /// Every element, with strides.
    Strided,
    /// Coordinates of each stored element: one `Sparse` level over all axes. Coalesced or not
    /// ([`crate::Tensor::is_coalesced`]).
    Coo,
    /// Coordinates over the leading axes, dense rows over the trailing `dense_dims`.
    HybridCoo {
        /// Number of trailing axes that are stored densely.
        dense_dims: usize,
    },
    /// Compressed rows. With more than two axes the leading ones are batches, all in one pattern, each with
    /// as many stored elements as it likes.
    Csr,
    /// Compressed columns; batched as `Csr`.
    Csc,
    /// Doubly compressed rows: only rows that store something. Two axes.
    Dcsr,
    /// Doubly compressed columns. Two axes.
    Dcsc,
    /// Compressed fibres: one `Sparse` level per axis. With two axes this is `Dcsr`, with one `Coo`.
    Csf,
    /// Compressed rows of dense blocks, which divide the shape.
    Bsr {
        /// Rows and columns of a block.
        block: [usize; 2],
    },
    /// Compressed columns of dense blocks.
    Bsc {
        /// Rows and columns of a block.
        block: [usize; 2],
    },
    /// Any other list of levels; see [`LevelSpec`].
    Levels,
}

impl fmt::Display for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self {
            Layout::Strided => "strided",
            Layout::Coo => "coo",
            Layout::HybridCoo { dense_dims } => return f.pad(&format!("coo+{dense_dims}dense")),
            Layout::Csr => "csr",
            Layout::Csc => "csc",
            Layout::Dcsr => "dcsr",
            Layout::Dcsc => "dcsc",
            Layout::Csf => "csf",
            Layout::Bsr { block: [r, c] } => return f.pad(&format!("bsr{r}x{c}")),
            Layout::Bsc { block: [r, c] } => return f.pad(&format!("bsc{r}x{c}")),
            Layout::Levels => "levels",
        };
        f.pad(name)
    }
}

impl FromStr for Layout {
    type Err = error::Error;

    /// Reads the name that [`Display`](fmt::Display) writes, in any case: `csr`, `coo+1dense`, `bsr2x3`.
    ///
    /// ```
    /// use openwork::Layout;
    /// assert_eq!("csr".parse::<Layout>()?, Layout::Csr);
    /// let block: Layout = "bsr2x3".parse()?;
    /// assert_eq!((block, block.to_string().as_str()), (Layout::Bsr { block: [2, 3] }, "bsr2x3"));
    /// assert!("csr2".parse::<Layout>().unwrap_err().to_string().contains("dcsr"));
    /// # Ok::<(), openwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the text is no such name; the error lists them.
    fn from_str(text: &str) -> Result<Layout> {
        let name = text.to_ascii_lowercase();
        let block = |sizes: &str| {
            let (rows, cols) = sizes.split_once('x')?;
            Some([rows.parse().ok()?, cols.parse().ok()?])
        };
        let plain = [
            Layout::Strided,
            Layout::Coo,
            Layout::Csr,
            Layout::Csc,
            Layout::Dcsr,
            Layout::Dcsc,
            Layout::Csf,
            Layout::Levels,
        ];
        let found = plain.into_iter().find(|layout| layout.to_string() == name).or_else(|| {
            let dense = |count: &str| Some(Layout::HybridCoo { dense_dims: count.parse().ok()? });
            let hybrid = name.strip_prefix("coo+").and_then(|rest| rest.strip_suffix("dense")).and_then(dense);
            let bsr = || name.strip_prefix("bsr").and_then(block).map(|block| Layout::Bsr { block });
            let bsc = || name.strip_prefix("bsc").and_then(block).map(|block| Layout::Bsc { block });
            hybrid.or_else(bsr).or_else(bsc)
        });
        found.ok_or_else(|| {
            let names = "strided, coo, coo+Ndense, csr, csc, dcsr, dcsc, csf, bsrRxC, bscRxC, levels";
            error::invalid("Layout::from_str", format_args!("{text:?} names no layout; known are {names}"))
        })
    }
}

/// A level structure to convert to: the levels, and which part of which axis each dimension holds.
///
/// The first dimensions belong to the levels in order (a `Sparse` level of rank r takes r), the rest are
/// value axes, stored densely under each position.
///
/// ```
/// use openwork::{LevelKind, LevelSpec, Part};
/// // CSC of a matrix: columns outside, rows compressed inside.
/// let csc = LevelSpec { levels: vec![LevelKind::Dense, LevelKind::Sparse { rank: 1 }], dims: vec![(1, Part::Whole), (0, Part::Whole)] };
/// # let x = openwork::Tensor::eye(3, openwork::DType::F64, openwork::Layout::Csr)?;
/// assert_eq!(x.to_levels(&csc)?.layout(), openwork::Layout::Csc);
/// # Ok::<(), openwork::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LevelSpec {
    /// The levels, outermost first.
    pub levels: Vec<LevelKind>,
    /// (axis, part) of each dimension: level dimensions, then value axes.
    pub dims: Vec<(usize, Part)>,
}

/// The name of levels over dimensions, of a tensor of this shape. Every call of an op asks for some: nothing is allocated.
pub(super) fn name(
    levels: impl Iterator<Item = LevelKind> + Clone,
    dims: impl Iterator<Item = (usize, Part)> + Clone,
    shape: &[usize],
) -> Layout {
    use Part::{Div, Mod, Whole};
    const ONE: LevelKind = LevelKind::Sparse { rank: 1 };
    let (n, count) = (shape.len(), levels.clone().count());
    let Some(last) = levels.clone().last() else { return Layout::Strided };
    let all_ones = levels.clone().all(|level| level == ONE);
    let is_compressed = last == ONE && levels.take(count - 1).all(|level| level == LevelKind::Dense);
    // From the first of them on, dimensions are whole axes in order.
    let in_order = |from: usize| dims.clone().enumerate().skip(from).all(|(i, dim)| dim == (i, Whole));
    if let LevelKind::Sparse { rank } = last
        && count == 1
        && dims.clone().all(|(_, part)| part == Whole)
    {
        if rank == n {
            return Layout::Coo;
        }
        if in_order(rank) {
            return Layout::HybridCoo { dense_dims: n - rank };
        }
    }
    if n < 2 || count != n || !dims.clone().take(n - 2).eq((0..n - 2).map(|axis| (axis, Whole))) {
        return Layout::Levels;
    }
    let (row, col) = (n - 2, n - 1);
    let mut rest = dims.skip(n - 2);
    let (first, second, inner, end) = (rest.next(), rest.next(), [rest.next(), rest.next()], rest.next());
    let (Some(first), Some(second), None) = (first, second, end) else { return Layout::Levels };
    match (first, second, inner) {
        ((a, Whole), (b, Whole), [None, None]) => match [a, b] == [row, col] {
            true if is_compressed => Layout::Csr,
            true if all_ones && n == 2 => Layout::Dcsr,
            true if all_ones => Layout::Csf,
            false if [a, b] == [col, row] && is_compressed => Layout::Csc,
            false if [a, b] == [col, row] && all_ones && n == 2 => Layout::Dcsc,
            _ => Layout::Levels,
        },
        ((a, Div(p)), (b, Div(q)), [Some((i, Mod(r))), Some((j, Mod(c)))]) if is_compressed && [i, j] == [row, col] => {
            let block = [r, c];
            match ([a, b], [p, q]) {
                (axes, sizes) if axes == [row, col] && sizes == block => Layout::Bsr { block },
                (axes, sizes) if axes == [col, row] && sizes == [c, r] => Layout::Bsc { block },
                _ => Layout::Levels,
            }
        }
        _ => Layout::Levels,
    }
}

impl LevelSpec {
    /// The name of this structure for a tensor of this shape; [`Layout::Levels`] if it has none.
    pub fn layout(&self, shape: &[usize]) -> Layout {
        name(self.levels.iter().copied(), self.dims.iter().copied(), shape)
    }

    /// The same with levels that may have any number of coordinates per parent.
    pub(crate) fn freed(self) -> LevelSpec {
        LevelSpec { levels: freed(self.levels), ..self }
    }

    /// How many slices have a pointer of their own, whether they store something or not: rows of CSR, columns of CSC, 1 of COO.
    pub(crate) fn slices(&self, shape: &[usize]) -> usize {
        let size = |&(axis, part): &(usize, Part)| match part {
            Part::Whole => shape[axis],
            Part::Div(b) => shape[axis] / b,
            Part::Mod(b) => b,
        };
        let dense = self.levels.iter().take_while(|level| matches!(level, LevelKind::Dense)).count();
        self.dims[..dense].iter().map(size).fold(1, usize::saturating_mul)
    }

    /// How many dimensions the levels take.
    pub(crate) fn level_dims(&self) -> usize {
        self.levels.iter().map(|l| l.rank()).sum()
    }

    /// The specification of a layout by name, for a tensor of this shape.
    pub(crate) fn of_layout(layout: Layout, shape: &[usize]) -> Result<LevelSpec> {
        const ONE: LevelKind = LevelKind::Sparse { rank: 1 };
        let n = shape.len();
        let whole = |axes: &mut dyn Iterator<Item = usize>| axes.map(|a| (a, Part::Whole)).collect::<Vec<_>>();
        let matrix = |why: &str| {
            if n >= 2 { Ok(()) } else { Err(error::layout(format_args!("{layout} needs {why}, the tensor has {n}"))) }
        };
        let last_two = |first: (usize, Part), second: (usize, Part)| {
            let mut dims = whole(&mut (0..n - 2));
            dims.extend([first, second]);
            dims
        };
        let compressed = |dims| {
            let mut levels = vec![LevelKind::Dense; n - 1];
            levels.push(ONE);
            LevelSpec { levels, dims }
        };
        match layout {
            Layout::Coo => Ok(LevelSpec { levels: vec![LevelKind::Sparse { rank: n }], dims: whole(&mut (0..n)) }),
            Layout::HybridCoo { dense_dims } if dense_dims <= n => {
                Ok(LevelSpec { levels: vec![LevelKind::Sparse { rank: n - dense_dims }], dims: whole(&mut (0..n)) })
            }
            Layout::HybridCoo { dense_dims } => {
                Err(error::layout(format_args!("{dense_dims} dense axes of a tensor that has {n} axes")))
            }
            Layout::Csr => {
                matrix("at least 2 axes")?;
                Ok(compressed(last_two((n - 2, Part::Whole), (n - 1, Part::Whole))))
            }
            Layout::Csc => {
                matrix("at least 2 axes")?;
                Ok(compressed(last_two((n - 1, Part::Whole), (n - 2, Part::Whole))))
            }
            Layout::Dcsr | Layout::Dcsc if n != 2 => {
                Err(error::layout(format_args!("{layout} needs 2 axes, the tensor has {n}")))
            }
            Layout::Dcsr => Ok(LevelSpec { levels: vec![ONE; 2], dims: whole(&mut (0..2)) }),
            Layout::Dcsc => Ok(LevelSpec { levels: vec![ONE; 2], dims: whole(&mut (0..2).rev()) }),
            Layout::Csf if n == 0 => LevelSpec::of_layout(Layout::Coo, shape),
            Layout::Csf => Ok(LevelSpec { levels: vec![ONE; n], dims: whole(&mut (0..n)) }),
            Layout::Bsr { block } | Layout::Bsc { block } => {
                matrix("at least 2 axes")?;
                for (axis, b) in [(n - 2, block[0]), (n - 1, block[1])] {
                    if b == 0 || !shape[axis].is_multiple_of(b) {
                        return Err(error::layout(format_args!(
                            "blocks of {b} do not divide axis {axis} of size {}",
                            shape[axis]
                        )));
                    }
                }
                let (row, col) = ((n - 2, Part::Div(block[0])), (n - 1, Part::Div(block[1])));
                let dims = if matches!(layout, Layout::Bsr { .. }) { last_two(row, col) } else { last_two(col, row) };
                let mut spec = compressed(dims);
                spec.dims.extend([(n - 2, Part::Mod(block[0])), (n - 1, Part::Mod(block[1]))]);
                Ok(spec)
            }
            Layout::Strided | Layout::Levels => {
                Err(error::layout(format_args!("`{layout}` does not say which levels; name a layout or use to_levels")))
            }
        }
    }

    /// The dimensions with their sizes, after checking that every axis is held exactly once.
    pub(crate) fn resolve(&self, shape: &[usize]) -> Result<Vec<Dim>> {
        let bad = |why: fmt::Arguments<'_>| Err(error::invalid("spec", why));
        let level_dims = self.level_dims();
        if level_dims > self.dims.len() {
            return bad(format_args!("levels take {level_dims} dimensions, {} are given", self.dims.len()));
        }
        if self.levels.is_empty() {
            return bad(format_args!("no levels: that is a strided tensor, use to_dense"));
        }
        for (i, &level) in self.levels.iter().enumerate() {
            let above = i.checked_sub(1).map(|i| self.levels[i]);
            if let Err(why) = level.may_stand(above, i + 1 == self.levels.len()) {
                return bad(format_args!("level {i} {why}"));
            }
        }
        let mut dims = Vec::with_capacity(self.dims.len());
        for &(axis, part) in &self.dims {
            let Some(&size) = shape.get(axis) else {
                return bad(format_args!("axis {axis} of a tensor with {} axes", shape.len()));
            };
            let size = match part {
                Part::Whole => size,
                Part::Div(0) | Part::Mod(0) => return bad(format_args!("axis {axis} in blocks of 0")),
                Part::Div(b) | Part::Mod(b) if size % b != 0 => {
                    return bad(format_args!("blocks of {b} do not divide axis {axis} of size {size}"));
                }
                Part::Div(b) => size / b,
                Part::Mod(b) => b,
            };
            dims.push(Dim { axis, part, size });
        }
        for axis in 0..shape.len() {
            let parts: Vec<Part> = dims.iter().filter(|d| d.axis == axis).map(|d| d.part).collect();
            let once = match parts[..] {
                [Part::Whole] => true,
                [Part::Div(a), Part::Mod(b)] | [Part::Mod(b), Part::Div(a)] => a == b,
                _ => false,
            };
            if !once {
                return bad(format_args!(
                    "axis {axis} must appear once whole, or once as quotient and once as remainder of one block size"
                ));
            }
        }
        Ok(dims)
    }
}
