//! Facts about matrices: symmetry, triangles, diagonals. Of what the tensor means, whatever stores it.
//!
//! Elements are stored or they are the fill, and a fill is looked at as what it is, one value or few: how many
//! elements of a triangle it stands for is counted, less those that are stored there. Nothing becomes dense.

use std::borrow::Cow;
use std::cmp::Ordering;

use openwork_ops::{DType, ReduceOp, Scalar, Wide};

use crate::base::error::{self, Result};
use crate::base::strided::Strided;
use crate::engine::blocks::{self, Source};
use crate::engine::convert;
use crate::tensor::fill::Fill;
use crate::tensor::trace;
use crate::tensor::{Sparse, Storage, Tensor};

/// Facts about the structure of a matrix; `None` where nothing is said.
///
/// [`MatrixFacts::of`] finds them all out, [`MatrixFacts::check`] compares what is claimed with what is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MatrixFacts {
    /// [`Tensor::is_symmetric`].
    pub is_symmetric: Option<bool>,
    /// [`Tensor::is_structure_symmetric`].
    pub is_structure_symmetric: Option<bool>,
    /// [`Tensor::is_upper_triangular`].
    pub is_upper_triangular: Option<bool>,
    /// [`Tensor::is_lower_triangular`].
    pub is_lower_triangular: Option<bool>,
    /// [`Tensor::ndiag`].
    pub ndiag: Option<u128>,
}

impl trace::Outcome for MatrixFacts {
    fn is_dense(&self) -> bool {
        true
    }

    fn in_words(&self) -> String {
        format!("{self:?}")
    }
}

impl MatrixFacts {
    /// Every fact about a matrix, or about a stack of them together.
    ///
    /// # Errors
    /// As [`Tensor::is_symmetric`] and [`Tensor::ndiag`].
    pub fn of(x: &Tensor) -> Result<MatrixFacts> {
        let call = trace::call("MatrixFacts::of", &[x]);
        Ok(call.done(MatrixFacts {
            is_symmetric: Some(x.is_symmetric()?),
            is_structure_symmetric: Some(x.is_structure_symmetric()?),
            is_upper_triangular: Some(x.is_upper_triangular()?),
            is_lower_triangular: Some(x.is_lower_triangular()?),
            ndiag: Some(x.ndiag()?),
        }))
    }

    /// Checks the facts that are given; the cost is that of finding those out.
    ///
    /// # Errors
    /// If one is false: which, and what is true. Or as [`MatrixFacts::of`].
    pub fn check(&self, x: &Tensor) -> Result<()> {
        let call = trace::call("MatrixFacts::check", &[x]);
        let differs = |name: &str, said: &dyn std::fmt::Display, is: &dyn std::fmt::Display| {
            let why = format!("{said} is said, {is} is true of the tensor");
            Err(error::invalid(name, why))
        };
        type Find = fn(&Tensor) -> Result<bool>;
        let claims: [(&str, Option<bool>, Find); 4] = [
            ("is_symmetric", self.is_symmetric, Tensor::is_symmetric),
            ("is_structure_symmetric", self.is_structure_symmetric, Tensor::is_structure_symmetric),
            ("is_upper_triangular", self.is_upper_triangular, Tensor::is_upper_triangular),
            ("is_lower_triangular", self.is_lower_triangular, Tensor::is_lower_triangular),
        ];
        for (name, said, find) in claims {
            if let Some(said) = said {
                let is = find(x)?;
                if is != said {
                    return call.end(differs(name, &said, &is));
                }
            }
        }
        let out = match self.ndiag {
            Some(said) if said != x.ndiag()? => differs("ndiag", &said, &x.ndiag()?),
            _ => Ok(()),
        };
        call.end(out)
    }
}

/// Where an element stands to the diagonal of its matrix.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Region {
    Below,
    Diagonal,
    Above,
}

impl Region {
    /// Whether an element at row i and column i + d is there.
    fn holds(self, d: i64) -> bool {
        match self {
            Region::Below => d < 0,
            Region::Diagonal => d == 0,
            Region::Above => d > 0,
        }
    }

    /// How many columns of `n` are there in row `i`.
    fn in_row(self, i: usize, n: usize) -> u128 {
        (match self {
            Region::Below => i.min(n),
            Region::Diagonal => usize::from(i < n),
            Region::Above => n - n.min(i.saturating_add(1)),
        }) as u128
    }

    /// How many elements of an m × n matrix are there.
    fn size(self, m: usize, n: usize) -> u128 {
        let below = |m: u128, n: u128| match m.cmp(&n) {
            Ordering::Greater => n * n.saturating_sub(1) / 2 + (m - n) * n,
            _ => m * m.saturating_sub(1) / 2,
        };
        match self {
            Region::Below => below(m as u128, n as u128),
            Region::Diagonal => m.min(n) as u128,
            Region::Above => below(n as u128, m as u128),
        }
    }

    fn mirrored(self) -> Region {
        match self {
            Region::Below => Region::Above,
            Region::Diagonal => Region::Diagonal,
            Region::Above => Region::Below,
        }
    }
}

/// # Looking into: facts about matrices
///
/// Over the last two axes: true of a stack of matrices if true of each.
///
/// The *structure* of a matrix is where its elements are other than 0; with an undefined fill, where they are present.
/// [`Tensor::stored`] turns each fact into one about what is stored.
impl Tensor {
    /// Whether each element is the same as its mirror image: equal, or both NaN, or both absent. A matrix that is not
    /// square is not symmetric.
    ///
    /// Cost: O(nse log nse + size of the fill); O(size) strided.
    ///
    /// # Errors
    /// If there are fewer than 2 axes.
    pub fn is_symmetric(&self) -> Result<bool> {
        let call = trace::call("is_symmetric", &[self]);
        let (m, n) = self.matrix()?;
        if m != n {
            return Ok(call.done(false));
        }
        let s = match &self.storage {
            Storage::Strided(s) => return Ok(asymmetric(s)? == 0),
            Storage::Sparse(s) => unique(s)?,
        };
        if let Some(answer) = super::mirrored::is_symmetric(&s)? {
            return Ok(call.done(answer));
        }
        let x = Tensor::from(s.clone().into_owned());
        let mirror = x.matrix_transpose()?;
        // With undefined fill, `x.stored()` meets its mirror where both are; else everywhere.
        let met = same(&x.stored(), &mirror)?;
        if met.nse() != x.nse() || count_true(&met) != met.nse() as u128 {
            return Ok(call.done(false));
        }
        let Some(fill) = s.fill_values() else { return Ok(call.done(true)) };
        let differing = asymmetric(&fill)?;
        if differing == 0 || differing > 2 * s.nse() as u128 {
            return Ok(call.done(differing == 0));
        }
        Ok(call.done(covered(&s, &fill, &mirror)? == differing))
    }

    /// Whether the structure is symmetric: an element is other than 0 (with an undefined fill: present) exactly if its
    /// mirror image is. A matrix that is not square is not.
    ///
    /// Cost and errors: as [`Tensor::is_symmetric`].
    ///
    /// # Errors
    /// As [`Tensor::is_symmetric`].
    pub fn is_structure_symmetric(&self) -> Result<bool> {
        let call = trace::call("is_structure_symmetric", &[self]);
        self.matrix()?;
        call.end(self.structure()?.is_symmetric())
    }

    /// Whether every element below the diagonal is 0 (with an undefined fill: absent). Of any shape.
    ///
    /// Cost: O(nse + size of the fill); O(size) strided.
    ///
    /// # Errors
    /// If there are fewer than 2 axes.
    pub fn is_upper_triangular(&self) -> Result<bool> {
        let call = trace::call("is_upper_triangular", &[self]);
        self.matrix()?;
        Ok(call.done(count(&self.structure()?, Region::Below)? == 0))
    }

    /// Whether every element above the diagonal is 0 (with an undefined fill: absent). Of any shape.
    ///
    /// Cost: O(nse + size of the fill); O(size) strided.
    ///
    /// # Errors
    /// If there are fewer than 2 axes.
    pub fn is_lower_triangular(&self) -> Result<bool> {
        let call = trace::call("is_lower_triangular", &[self]);
        self.matrix()?;
        Ok(call.done(count(&self.structure()?, Region::Above)? == 0))
    }

    /// How many elements on the diagonal are other than 0 (with an undefined fill: present): loops of a graph.
    /// Of a stack of matrices, their sum.
    ///
    /// Cost: O(nse + size of the fill); O(size) strided.
    ///
    /// # Errors
    /// If there are fewer than 2 axes, or 2^128 - 1 such elements or more.
    pub fn ndiag(&self) -> Result<u128> {
        let call = trace::call("ndiag", &[self]);
        self.matrix()?;
        let out = match count(&self.structure()?, Region::Diagonal)? {
            u128::MAX => Err(error::shape(&[self.shape()], "2^128 - 1 elements or more on the diagonals")),
            n => Ok(n),
        };
        call.end(out)
    }

    fn matrix(&self) -> Result<(usize, usize)> {
        match self.shape() {
            [.., m, n] => Ok((*m, *n)),
            shape => Err(error::shape(&[shape], "a matrix has at least 2 axes")),
        }
    }

    /// Where elements are other than 0, or present if the fill is undefined: bool with a defined fill.
    fn structure(&self) -> Result<Tensor> {
        if self.fill().is_some_and(Fill::is_undefined) { self.is_stored() } else { self.cast(DType::Bool) }
    }
}

fn unique<'a>(s: &'a Sparse) -> Result<Cow<'a, Sparse>> {
    if s.pattern.is_unique() {
        return Ok(Cow::Borrowed(s));
    }
    convert::coalesce(s, ReduceOp::Sum).map(Cow::Owned)
}

/// Whether elements are the same: equal or both NaN, part by part where complex. Absent where either is.
pub(super) fn same(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    if a.dtype().is_complex() {
        let real = same(&a.real()?, &b.real()?)?;
        return real.logical_and(&same(&a.imag()?, &b.imag()?)?);
    }
    let equal = a.eq(b)?;
    if !a.dtype().is_float() {
        return Ok(equal);
    }
    equal.logical_or(&a.isnan()?.logical_and(&b.isnan()?)?)
}

/// How many of the stored elements of a bool tensor are true.
pub(super) fn count_true(x: &Tensor) -> u128 {
    let values = x.stored_values();
    let Some(values) = values.strided() else { return 0 };
    let core = values.core();
    let all = core.contiguous_bytes().unwrap_or_default().iter().filter(|&&b| b != 0).count() as u128;
    all * (values.len() / core.len().max(1)) as u128
}

/// How many elements of a bool tensor are true in a region of its matrices, saturating.
fn count(x: &Tensor, region: Region) -> Result<u128> {
    let s = match &x.storage {
        Storage::Strided(values) => return Ok(count_dense(values, region)),
        Storage::Sparse(s) => unique(s)?,
    };
    let Some(fill) = s.fill_values() else {
        return Err(error::absent("a mask with an undefined fill"));
    };
    // Column less row of every stored element.
    let mut weights = vec![0u64; s.ndim()];
    weights[s.ndim() - 1] = 1;
    weights[s.ndim() - 2] = u64::MAX;
    let of_positions = s.pattern.linearize_all(&s.pattern.level_weights(&weights));
    let within = s.pattern.row_form(&weights);
    let values = s.values.dense_bytes()?;
    let under = blocks::collect(s.nse(), Source::at(&fill, &s.pattern), DType::Bool)?;
    let under = under.dense_bytes()?;
    let (mut stored, mut beneath, mut at) = (0u128, 0u128, 0);
    for &position in &of_positions {
        for i in 0..within.len() {
            if region.holds(position.wrapping_add(within.at(i)) as i64) {
                stored += u128::from(values[at] != 0);
                beneath += u128::from(under[at] != 0);
            }
            at += 1;
        }
    }
    Ok(count_dense(&fill, region).saturating_sub(beneath).saturating_add(stored))
}

/// The same of a strided array: each of its own elements stands for those along the axes on which it is constant.
fn count_dense(values: &Strided, region: Region) -> u128 {
    let (core, times) = of_matrices(values);
    let [.., m, n] = values.shape[..] else { return 0 };
    let [.., rows, cols] = core.shape[..] else { return 0 };
    let core = core.core();
    let bytes = core.contiguous_bytes().unwrap_or_default();
    let stands_for = |i: usize, j: usize| match (rows < m, cols < n) {
        (false, false) => u128::from(region.holds(j as i64 - i as i64)),
        (false, true) => region.in_row(i, n),
        (true, false) => region.mirrored().in_row(j, m),
        (true, true) => region.size(m, n),
    };
    let mut total = 0u128;
    for matrix in bytes.chunks(rows.saturating_mul(cols).max(1)) {
        for (i, row) in matrix.chunks(cols.max(1)).enumerate() {
            for (j, _) in row.iter().enumerate().filter(|(_, v)| **v != 0) {
                total = total.saturating_add(stands_for(i, j));
            }
        }
    }
    total.saturating_mul(times)
}

/// An array without the axes along which it is constant (they have size 1), and how many matrices each of its own
/// stands for.
fn of_matrices(values: &Strided) -> (Strided, u128) {
    let core = values.unbroadcast();
    let batch = values.shape.len().saturating_sub(2);
    let pairs = values.shape.iter().zip(&core.shape).take(batch);
    let times = pairs.filter(|(full, own)| full != own).fold(1u128, |n, (&full, _)| n.saturating_mul(full as u128));
    (core, times)
}

/// How many elements of the square matrices of an array are not the same as their mirror image, saturating.
fn asymmetric(values: &Strided) -> Result<u128> {
    let (core, times) = of_matrices(values);
    let [.., n, _] = values.shape[..] else { return Ok(0) };
    let [.., rows, cols] = core.shape[..] else { return Ok(0) };
    let differing = match (rows < n, cols < n) {
        (true, true) => 0,
        (false, false) => {
            let core = Tensor::from_strided(core);
            let same = same(&core, &core.matrix_transpose()?)?;
            same.nse() as u128 - count_true(&same)
        }
        // A vector along one axis: pairs of its elements that are not the same.
        _ => {
            let (bytes, size) = (core.dense_bytes()?, core.dtype.size());
            let mut total = 0u128;
            for vector in bytes.chunks((n * size).max(1)) {
                let mut keys: Vec<[u64; 2]> =
                    vector.chunks_exact(size).map(|e| key(Scalar::from_bytes(core.dtype, e))).collect();
                keys.sort_unstable();
                let alike = keys.chunk_by(|a, b| a == b).map(|class| (class.len() as u128).pow(2)).sum::<u128>();
                total += (keys.len() as u128).pow(2) - alike;
            }
            total
        }
    };
    Ok(differing.saturating_mul(times))
}

/// Equal for elements that are the same.
fn key(value: Scalar) -> [u64; 2] {
    let float = |x: f64| if x.is_nan() { f64::NAN.to_bits() } else { (x + 0.0).to_bits() };
    match value.widen() {
        Wide::Signed(v) => [v as u64, 0],
        Wide::Unsigned(v) => [v, 0],
        Wide::Float(x) => [float(x), 0],
        Wide::Complex(re, im) => [float(re), float(im)],
    }
}

/// How many elements whose fill is not the same as the fill of their mirror image are stored, or have a mirror image
/// that is.
fn covered(s: &Sparse, fill: &Strided, mirror: &Tensor) -> Result<u128> {
    let n = fill.ndim();
    let mut axes: Vec<usize> = (0..n).collect();
    axes.swap(n - 1, n - 2);
    let at =
        |fill: &Strided| blocks::collect(s.nse(), Source::at(fill, &s.pattern), s.dtype()).map(Tensor::from_strided);
    let differ = same(&at(fill)?, &at(&fill.permute(&axes))?)?.logical_not()?;
    let Some(values) = differ.strided() else { return Ok(0) };
    let differ: Tensor = Sparse { values: values.reshape(&s.values.shape)?, fill: Fill::Undefined, ..s.clone() }.into();
    let both = differ.logical_and(&mirror.is_stored()?)?;
    Ok(2 * count_true(&differ) - count_true(&both))
}
