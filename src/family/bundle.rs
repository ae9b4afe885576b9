//! Sums of parts: disjoint tensors, each in the structure that suits it, that together are one tensor.

use crate::base::mapped::{Chosen, Mapped};
use openwork_ops::{DType, ReduceOp};

use crate::base::buffer::Buffer;
use crate::base::error::{self, Result};
use crate::base::strided::Strided;
use crate::engine::convert;
use crate::levels::layout::{Layout, LevelSpec};
use crate::levels::level::LevelKind;
use crate::levels::pattern::Part;
use crate::tensor::fill::Fill;
use crate::tensor::trace;
use crate::tensor::{Sparse, Tensor};

/// Sparse tensors of one shape, dtype and fill, no two of which store an element at one index: together they are the
/// tensor that stores what any of them stores.
///
/// Where the fill is 0 that is their sum; with another fill `f` it is `f + Σ (part - f)`. Some formats split a tensor so,
/// to store dense regions and lone elements each in its own way: HB-CSF, MM-CSF.
///
/// ```
/// use openwork::{Bundle, Layout, Tensor};
/// let x = Tensor::random([200, 5, 40], 0.01, 0.0, Layout::Coo, 1)?;
/// let bundle = Bundle::hb_csf(&x)?;
/// let names: Vec<String> = bundle.parts().iter().map(|p| p.level_spec().unwrap().to_string()).collect();
/// assert_eq!(names, ["S-S-S-R", "DC-S-S-R", "DC-DC-S-R"]);
/// assert_eq!(bundle.join()?.to_string(), x.to_string());
/// # Ok::<(), openwork::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Bundle {
    parts: Vec<Tensor>,
}

impl Bundle {
    /// A bundle of parts.
    ///
    /// Cost: O(nse log nse), to see that they are disjoint.
    ///
    /// # Errors
    /// If there are none, or they differ in shape, dtype or fill, or one is strided, or two store an element at the
    /// same index.
    pub fn new(parts: Vec<Tensor>) -> Result<Bundle> {
        let _call = trace::call("Bundle::new", &[]);
        let bad = |i: usize, why: std::fmt::Arguments<'_>| Err(error::invalid(format_args!("parts[{i}]"), why));
        let Some(first) = parts.first() else {
            return Err(error::invalid("parts", "none; at least one says shape, dtype and fill"));
        };
        for (i, part) in parts.iter().enumerate() {
            if part.is_strided() {
                return bad(i, format_args!("is strided: it stores every element, parts store some; to_sparse"));
            }
            if part.shape() != first.shape() {
                return bad(i, format_args!("has shape {:?}, parts[0] has {:?}", part.shape(), first.shape()));
            }
            if part.dtype() != first.dtype() {
                return bad(i, format_args!("is {}, parts[0] is {}", part.dtype(), first.dtype()));
            }
            if !same_fill(part, first) {
                let fill = |x: &Tensor| x.fill().map(Fill::to_string).unwrap_or_default();
                return bad(i, format_args!("has fill {}, parts[0] has {}", fill(part), fill(first)));
            }
        }
        let bundle = Bundle { parts };
        let all = bundle.concatenated()?;
        let joined = all.coalesce()?;
        if joined.nse() != all.nse() {
            let why = format!("{} elements are stored by more than one part", all.nse() - joined.nse());
            return Err(error::invalid("parts", why));
        }
        Ok(bundle)
    }

    /// The parts.
    pub fn parts(&self) -> &[Tensor] {
        &self.parts
    }

    /// Element type.
    pub fn dtype(&self) -> DType {
        self.parts[0].dtype()
    }

    /// Size of each axis.
    pub fn shape(&self) -> &[usize] {
        self.parts[0].shape()
    }

    /// Stored elements of all parts.
    pub fn nse(&self) -> usize {
        self.parts.iter().map(Tensor::nse).sum()
    }

    /// The tensor that the parts are together, as COO.
    ///
    /// Cost: O(nse log nse).
    ///
    /// # Errors
    /// No argument makes it fail; it returns `Result` as every op does.
    pub fn join(&self) -> Result<Tensor> {
        let _call = trace::call("Bundle::join", &[]);
        self.concatenated()?.coalesce()
    }

    /// A tensor split into parts: `assign` says for each stored element, given its index, which of `specs` stores it.
    /// Parts that would store nothing are left out, but for the first if all would.
    ///
    /// Cost: O(nse log nse).
    ///
    /// # Errors
    /// If the tensor is strided, `assign` gives a number that is none of `specs`, or a specification does not suit the
    /// shape.
    pub fn split(x: &Tensor, specs: &[LevelSpec], assign: impl Fn(&[u64]) -> usize) -> Result<Bundle> {
        let _call = trace::call("Bundle::split", &[]);
        let coo = elements(x)?;
        let columns = columns(&coo);
        let mut index = vec![0; columns.len()];
        let of = (0..coo.pattern.positions).map(|p| {
            index.iter_mut().zip(&columns).for_each(|(i, c)| *i = c[p]);
            assign(&index)
        });
        let of: Vec<usize> = of.collect();
        split_by(&coo, specs, &of)
    }

    /// HB-CSF: slices of the first axis with one element as COO, those whose fibres along the last axis have one element
    /// each as CSL (`DC-S-…-S`), all others as CSF.
    ///
    /// Nisa, Li, Sukumaran-Rajam, Vuduc and Sadayappan, "Load-balanced sparse MTTKRP on GPUs", 2019.
    ///
    /// Cost: O(nse log nse).
    ///
    /// # Errors
    /// If the tensor is strided or has fewer than 2 axes.
    pub fn hb_csf(x: &Tensor) -> Result<Bundle> {
        let _call = trace::call("Bundle::hb_csf", &[]);
        let n = axes(x)?;
        let coo = elements(x)?;
        let columns = columns(&coo);
        let positions = coo.pattern.positions;
        let starts_fibre = |p: usize| columns[..n - 1].iter().any(|c| c[p] != c[p - 1]);
        let mut of = vec![0; positions];
        let mut start = 0;
        for end in 1..=positions {
            if end < positions && columns[0][end] == columns[0][start] {
                continue;
            }
            let lone_fibres = (start + 1..end).all(starts_fibre);
            let class = if end - start == 1 { 0 } else { 2 - usize::from(lone_fibres) };
            of[start..end].fill(class);
            start = end;
        }
        let sparse = |rank| LevelKind::Sparse { rank };
        let spec = |levels| LevelSpec { levels, dims: whole(0..n) };
        let specs = [spec(vec![sparse(n)]), spec(vec![sparse(1), sparse(n - 1)]), spec(vec![sparse(1); n])];
        split_by(&coo, &specs, &of)
    }

    /// MM-CSF: each element in a CSF whose innermost axis is the one along which its fibre is longest; the last such axis
    /// of several.
    ///
    /// Nisa, Li, Sukumaran-Rajam, Rawat, Krishnamoorthy and Sadayappan, "An efficient mixed-mode representation of
    /// sparse tensors", 2019.
    ///
    /// Cost: O(axes · nse log nse).
    ///
    /// # Errors
    /// If the tensor is strided or has fewer than 2 axes.
    pub fn mm_csf(x: &Tensor) -> Result<Bundle> {
        let _call = trace::call("Bundle::mm_csf", &[]);
        let n = axes(x)?;
        let coo = elements(x)?;
        let positions = coo.pattern.positions;
        let orders: Vec<Vec<usize>> = (0..n).mapped(|last| [(0..n).chosen(|&a| a != last), vec![last]].concat());
        let ids = Strided::from_vec((0..positions as u64).collect(), vec![positions]);
        let ids = Sparse { values: ids, fill: Fill::Undefined, ..coo.clone() };
        let mut longest = vec![0usize; positions];
        let mut of = vec![n - 1; positions];
        for (axis, order) in orders.iter().enumerate() {
            let spec = LevelSpec { levels: vec![LevelKind::Sparse { rank: n }], dims: whole(order.iter().copied()) };
            let sorted = convert::convert(&ids, &spec)?;
            let bytes = sorted.values.to_contiguous()?;
            let ids: &[u64] = bytes.typed().unwrap_or_default();
            let columns = columns(&sorted);
            let mut start = 0;
            for end in 1..=ids.len() {
                let of_fibre = |p: usize| order[..n - 1].iter().all(|&a| columns[a][p] == columns[a][start]);
                if end < ids.len() && of_fibre(end) {
                    continue;
                }
                for &id in &ids[start..end] {
                    let id = id as usize;
                    if end - start >= longest[id] {
                        (longest[id], of[id]) = (end - start, axis);
                    }
                }
                start = end;
            }
        }
        let csf = |order: Vec<usize>| LevelSpec { levels: vec![LevelKind::Sparse { rank: 1 }; n], dims: whole(order) };
        let specs: Vec<LevelSpec> = orders.into_iter().map(csf).collect();
        split_by(&coo, &specs, &of)
    }

    /// All elements of all parts, one part after the other; those that a part repeats are summed.
    fn concatenated(&self) -> Result<Tensor> {
        let all = self.parts.try_mapped(elements)?;
        let mut columns: Vec<Vec<u64>> = vec![Vec::new(); self.shape().len()];
        for part in &all {
            for (column, own) in columns.iter_mut().zip(self::columns(part)) {
                column.extend(own);
            }
        }
        let (n, dtype) = (all.iter().map(Sparse::nse).sum::<usize>(), self.dtype());
        let bytes = all.try_mapped(|part| part.values.dense_bytes())?;
        let buffer = Buffer::build(n * dtype.size(), |mut out| {
            for bytes in &bytes {
                let (own, rest) = std::mem::take(&mut out).split_at_mut(bytes.len());
                own.copy_from_slice(bytes);
                out = rest;
            }
        })?;
        let values = Tensor::from_strided(Strided::new(buffer, dtype, vec![n]));
        let fill = self.parts[0].fill().cloned().unwrap_or(Fill::Undefined);
        Tensor::coo(self.shape(), columns, &values, fill)
    }
}

fn whole(axes: impl IntoIterator<Item = usize>) -> Vec<(usize, Part)> {
    axes.into_iter().map(|a| (a, Part::Whole)).collect()
}

fn axes(x: &Tensor) -> Result<usize> {
    match x.ndim() {
        0 | 1 => Err(error::shape(&[x.shape()], "fibres need at least 2 axes")),
        n => Ok(n),
    }
}

/// A sparse tensor as sorted COO without repeats.
fn elements(x: &Tensor) -> Result<Sparse> {
    let Some(s) = x.sparse() else {
        return Err(error::layout("a strided tensor stores every element; convert with to_sparse first"));
    };
    let s = convert::coalesce(s, ReduceOp::Sum)?;
    convert::convert(&s, &LevelSpec::of_layout(Layout::Coo, x.shape())?)
}

/// Coordinates by axis.
fn columns(coo: &Sparse) -> Vec<Vec<u64>> {
    (0..coo.ndim()).mapped(|a| coo.pattern.axis_coordinates(a, coo.ndim()))
}

fn split_by(coo: &Sparse, specs: &[LevelSpec], of: &[usize]) -> Result<Bundle> {
    if let Some(at) = of.iter().position(|&part| part >= specs.len()) {
        let why = format!("stored element {at} is given to part {}, there are {} specs", of[at], specs.len());
        return Err(error::invalid("assign", why));
    }
    let mut parts = Vec::new();
    for (part, spec) in specs.iter().enumerate() {
        let keep: Vec<usize> = (0..of.len()).chosen(|&p| of[p] == part);
        if !keep.is_empty() || (of.is_empty() && part == 0) {
            let own = convert::select_rows(coo, &keep)?;
            parts.push(convert::convert(&own, spec)?.into());
        }
    }
    if parts.is_empty() {
        return Err(error::invalid("specs", "none; at least one"));
    }
    Ok(Bundle { parts })
}

fn same_fill(a: &Tensor, b: &Tensor) -> bool {
    let (Some(a), Some(b)) = (a.sparse(), b.sparse()) else { return false };
    match (a.fill_values(), b.fill_values()) {
        (None, None) => true,
        (Some(a), Some(b)) => {
            let (a, b) = (a.core(), b.core());
            a.shape == b.shape && a.contiguous_bytes() == b.contiguous_bytes()
        }
        _ => false,
    }
}
