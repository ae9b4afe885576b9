//! Tensors as the arrays that other systems expect, and back.

use crate::base::mapped;
use crate::base::mapped::Mapped;
use openwork_ops::DType;

use super::{LevelStructure, System, balance, finch, mlir, rank_n, taco};
use crate::base::error::{self, ErrorKind, Result};
use crate::levels::level::LevelKind;
use crate::levels::names::{ArrayLen, ArrayName};
use crate::levels::pattern::Part;
use crate::levels::validate::Given;
use crate::tensor::Tensor;
use crate::tensor::construct;
use crate::tensor::fill::Fill;
use crate::tensor::index_array::{IndexArray, LevelData};
use crate::tensor::trace;

/// A tensor as the arrays that a system expects, under the names it has for them.
///
/// | system | pointers | indices | of |
/// |---|---|---|---|
/// | rank-N | `pointers_k` | `indices_k` | dimension k; pointers stand with the dimension they point *from*, the root has none |
/// | TACO | `pos[k]` | `crd[k]` | dimension k; the root has `pos[0]`, 0 and the count |
/// | MLIR | `positions[k]` | `coordinates[k]` | as TACO |
/// | Finch | `ptr[l]` | `idx[l]`, `tbl[l][j]` of a `SparseCOO` | level l and index j, and all entries, count from 1 |
///
/// Values are those of [`Tensor::stored_values`]: with their value axes for the rank-N proposal, in one dimension for
/// the others.
#[derive(Clone, Debug)]
pub struct SystemArrays {
    /// The system.
    pub system: System,
    /// The structure in its words.
    pub structure: String,
    /// Size of each axis of the tensor.
    pub shape: Vec<usize>,
    /// Pointers and indices by name, outermost first.
    pub arrays: Vec<(String, IndexArray)>,
    /// The stored values.
    pub values: Tensor,
    /// What unstored elements are; `None` if there are none.
    pub fill: Option<Fill>,
}

/// Arrays under our names, which [`Reading::renamed`] gives back their own.
const GIVEN: Given = Given {
    name: |name| name.to_string(),
    unordered: "where coordinates are in another order or repeat, the words for it belong in the structure",
};

/// A structure as a text says it, with what is said beyond levels.
struct Said {
    structure: LevelStructure,
    /// The levels in the system's own division, if it is another.
    native: Option<Vec<LevelKind>>,
    /// Of each level (rank-N).
    expanded: Vec<bool>,
    /// Of each dimension (MLIR).
    own_array: Vec<bool>,
}

impl Said {
    fn parse(system: System, text: &str) -> Result<Said> {
        let plain = |structure: LevelStructure| {
            let (levels, dims) = (structure.spec.levels.len(), structure.spec.dims.len());
            Said { structure, native: None, expanded: vec![false; levels], own_array: vec![true; dims] }
        };
        Ok(match system {
            System::RankN => {
                let parsed = rank_n::parse(text)?;
                Said { expanded: parsed.expanded, ..plain(parsed.structure) }
            }
            System::Taco => plain(taco::parse(text)?),
            System::Mlir => {
                let parsed = mlir::parse(text)?;
                Said { own_array: parsed.own_array, ..plain(parsed.structure) }
            }
            System::Finch => {
                let parsed = finch::parse(text)?;
                Said { native: Some(parsed.native), ..plain(parsed.structure) }
            }
        })
    }

    /// Levels in the system's own division.
    fn levels(&self) -> &[LevelKind] {
        self.native.as_deref().unwrap_or(&self.structure.spec.levels)
    }
}

/// The names of a level's arrays: pointers, then indices outermost first.
struct Names {
    pointers: Option<String>,
    indices: Vec<String>,
}

fn names(system: System, kind: LevelKind, l: usize, dim: usize) -> Names {
    let dims = dim..dim + kind.rank();
    let is_sparse = matches!(kind, LevelKind::Sparse { .. });
    let pointers = is_sparse.then_some(()).and_then(|()| match system {
        System::RankN => dim.checked_sub(1).map(|d| format!("pointers_{d}")),
        System::Taco => Some(format!("pos[{dim}]")),
        System::Mlir => Some(format!("positions[{dim}]")),
        System::Finch => Some(format!("ptr[{}]", l + 1)),
    });
    let index = |d: usize| match (system, kind) {
        (System::RankN, _) => ArrayName::Indices(d).to_string(),
        (System::Taco, _) => format!("crd[{d}]"),
        (System::Mlir, _) => format!("coordinates[{d}]"),
        // The first of a SparseCOO's indices is the innermost.
        (System::Finch, LevelKind::Sparse { rank: 2.. }) => format!("tbl[{}][{}]", l + 1, dims.end - d),
        (System::Finch, _) => format!("idx[{}]", l + 1),
    };
    let indices = if kind == LevelKind::Dense { Vec::new() } else { dims.clone().map(index).collect() };
    Names { pointers, indices }
}

/// The entries of an index array.
pub(super) fn entries(array: &IndexArray) -> Vec<u64> {
    match (array.as_u32(), array.as_u64()) {
        (Some(a), _) => a.iter().map(|&v| u64::from(v)).collect(),
        (_, Some(a)) => a.to_vec(),
        _ => Vec::new(),
    }
}

/// An array of entries.
pub(super) fn array(entries: Vec<u64>) -> IndexArray {
    entries.into()
}

fn mapped(a: &IndexArray, f: impl Fn(u64) -> u64) -> IndexArray {
    array(entries(a).into_iter().map(f).collect())
}

/// # Exchanging: the arrays of TACO, MLIR, Finch and others
impl Tensor {
    /// The tensor as the arrays that a system expects; [`SystemArrays::to_tensor`] takes them back.
    ///
    /// Arrays are shared, not copied, except where the system counts from 1 or wants pointers at the root. Cost:
    /// O(1), else O(bytes of the indices).
    ///
    /// # Errors
    /// If the system has no words for the structure, or no such fill: MLIR has 0 alone, TACO and Finch one value.
    pub fn arrays_for(&self, system: System) -> Result<SystemArrays> {
        let _call = trace::call("arrays_for", &[self]);
        let structure = self.own_structure();
        let width = self.index_width();
        let name = match system {
            System::Mlir => mlir::name(&structure, width)?,
            _ => structure.name(system)?,
        };
        self.export(system, name, structure, None)
    }

    /// As [`Tensor::arrays_for`], in the words given: they may choose among forms of one structure, as `S-C-S` and
    /// `DC-C-S` are in the rank-N proposal.
    ///
    /// # Errors
    /// As [`Tensor::arrays_for`], or if the words are of another structure than the tensor has.
    pub fn arrays_as(&self, system: System, name: &str) -> Result<SystemArrays> {
        let _call = trace::call("arrays_as", &[]);
        let said = Said::parse(system, name)?;
        let own = self.own_structure();
        if said.structure != own || said.own_array.iter().zip(own_arrays(&own)).any(|(&said, own)| own && !said) {
            let why = format!("{name:?} is not the structure of the tensor, {}", own.name(System::RankN)?);
            return Err(error::invalid("name", why));
        }
        self.export(system, name.into(), own, Some(said.expanded))
    }

    /// As [`Tensor::arrays_for`] with the last segments split into pieces of `most` entries or fewer, for which the
    /// coordinates above them are repeated: balanced CSF, whose pieces are units of work of like size.
    ///
    /// Nisa, Li, Sukumaran-Rajam, Vuduc and Sadayappan, "Load-balanced sparse MTTKRP on GPUs", 2019.
    ///
    /// # Errors
    /// As [`Tensor::arrays_for`], or if the last two levels are not sparse, or `most` is 0.
    pub fn balanced_arrays(&self, system: System, most: usize) -> Result<SystemArrays> {
        let _call = trace::call("balanced_arrays", &[self]);
        let mut structure = self.own_structure();
        let mut levels = self.levels().unwrap_or_default();
        let parent = balance::split(&mut levels, most)?;
        structure.properties[parent].unique = false;
        let name = structure.name(system)?;
        self.export_levels(system, name, &structure, None, levels)
    }

    fn own_structure(&self) -> LevelStructure {
        let strided = || crate::levels::layout::LevelSpec {
            levels: Vec::new(),
            dims: (0..self.ndim()).mapped(|a| (a, Part::Whole)),
        };
        self.level_structure().unwrap_or_else(|| strided().into())
    }

    fn index_width(&self) -> Option<usize> {
        self.sparse().map(|s| if s.pattern.is_wide() { 64 } else { 32 })
    }

    fn export(
        &self,
        system: System,
        name: String,
        structure: LevelStructure,
        expanded: Option<Vec<bool>>,
    ) -> Result<SystemArrays> {
        self.export_levels(system, name, &structure, expanded, self.levels().unwrap_or_default())
    }

    fn export_levels(
        &self,
        system: System,
        name: String,
        structure: &LevelStructure,
        expanded: Option<Vec<bool>>,
        levels: Vec<LevelData>,
    ) -> Result<SystemArrays> {
        check_fill(system, self)?;
        let sizes: Vec<usize> = match self.sparse() {
            Some(s) => s.pattern.dims.mapped(|d| d.size),
            None => self.shape().to_vec(),
        };
        let kinds = &structure.spec.levels;
        let mut arrays: Vec<(String, IndexArray)> = Vec::new();
        let mut dim = 0;
        for (l, (level, &kind)) in levels.into_iter().zip(kinds).enumerate() {
            let names = names(system, kind, l, dim);
            // With `S` before `C` each index is stored once per coordinate of the `C`.
            let times = match &expanded {
                Some(e) if e[l] => sizes[dim + kind.rank()],
                _ => 1,
            };
            if system == System::RankN && !matches!(kind, LevelKind::Dense | LevelKind::Sparse { .. }) {
                let why = format!(
                    "the rank-N proposal has no arrays for a {} level; to_levels with a sparse level has",
                    kind.word().0
                );
                return Err(error::layout(why));
            }
            let (mut pointers, indices) = level.into_parts();
            if let (LevelKind::Sparse { .. }, None, Some(first)) = (kind, &pointers, indices.first()) {
                pointers = Some(array(vec![0, first.len() as u64]));
            }
            match (names.pointers, pointers) {
                (Some(name), Some(p)) => arrays.push((name, scaled(system, p, times))),
                (None, Some(_)) if kind == (LevelKind::Sparse { rank: 0 }) => {
                    let why = "the rank-N proposal has no arrays for values without coordinates; to_dense";
                    return Err(error::layout(why));
                }
                _ => {}
            }
            for (name, index) in names.indices.into_iter().zip(indices) {
                arrays.push((name, repeated(system, index, times)));
            }
            dim += kind.rank();
        }
        let values = self.stored_values().to_contiguous()?;
        let values = if system == System::RankN { values } else { values.reshape([values.nse()])? };
        let (structure, shape) = (name, self.shape().to_vec());
        Ok(SystemArrays { system, structure, shape, arrays, values, fill: self.fill().cloned() })
    }
}

/// Of each dimension, whether it is a singleton.
fn own_arrays(structure: &LevelStructure) -> Vec<bool> {
    let flat = structure.flat().unwrap_or_default();
    flat.mapped(|f| f.is_singleton())
}

fn scaled(system: System, pointers: IndexArray, times: usize) -> IndexArray {
    match (system, times) {
        (System::Finch, _) => mapped(&pointers, |p| p + 1),
        (_, 1) => pointers,
        _ => mapped(&pointers, |p| p.saturating_mul(times as u64)),
    }
}

fn repeated(system: System, indices: IndexArray, times: usize) -> IndexArray {
    match (system, times) {
        (System::Finch, _) => mapped(&indices, |i| i + 1),
        (_, 1) => indices,
        _ => array(mapped::repeated(entries(&indices).into_iter().map(|i| (i, times)))),
    }
}

fn check_fill(system: System, x: &Tensor) -> Result<()> {
    let allowed = match (system, x.fill()) {
        (System::RankN, _) | (_, None) => return Ok(()),
        (System::Mlir, Some(Fill::Scalar(v))) if v.is_zero() => return Ok(()),
        (System::Mlir, _) => "0",
        (_, Some(Fill::Scalar(_))) => return Ok(()),
        _ => "one value",
    };
    let fill = x.fill().map(Fill::to_string).unwrap_or_default();
    let why = format!("the fill is {fill}, in {} it can be {allowed} alone; with_fill or stored()", system.title());
    Err(error::layout(why))
}

impl SystemArrays {
    /// An array by name.
    pub fn get(&self, name: &str) -> Option<&IndexArray> {
        self.arrays.iter().find(|(n, _)| n == name).map(|(_, a)| a)
    }

    /// The tensor, after checking everything: names and lengths of arrays, ranges, order and uniqueness as the
    /// structure claims.
    ///
    /// Upper levels that repeat coordinates next to each other (balanced CSF) are merged. Coordinates of a tuple may
    /// lie side by side in one array where MLIR's text does not say `soa`. Cost: O(bytes); arrays are shared where
    /// the form is ours.
    ///
    /// # Errors
    /// If the structure's words are wrong or anything does not fit together: which array, and what is needed.
    pub fn to_tensor(&self) -> Result<Tensor> {
        let _call = trace::call("SystemArrays::to_tensor", &[]);
        let said = Said::parse(self.system, &self.structure)?;
        let spec = &said.structure.spec;
        let mut reading = Reading { of: self, used: Vec::new(), given_as: Vec::new() };
        if spec.levels.is_empty() {
            reading.all_used()?;
            return self.strided(&spec.dims);
        }
        let sizes: Vec<usize> = spec.resolve(&self.shape)?.mapped(|d| d.size);
        let mut levels = reading.levels(&said, &sizes)?;
        reading.all_used()?;
        for (l, own) in said.structure.properties.iter().enumerate() {
            let claims = levels[l].claims_mut().filter(|_| spec.levels[l] != LevelKind::Sparse { rank: 0 });
            for (claim, said) in claims.into_iter().flatten().zip([own.ordered, own.unique]) {
                *claim = said;
            }
        }
        for l in 0..levels.len() - 1 {
            let repeats = !said.structure.properties[l].unique;
            if repeats {
                balance::merge(&mut levels, l)?;
            }
        }
        let values = self.rows(&sizes[spec.level_dims()..], &levels, &sizes)?;
        let fill = self.fill.clone().ok_or_else(|| {
            let why = "missing: the structure leaves elements unstored";
            error::invalid("fill", why)
        })?;
        construct::parts(GIVEN, &self.shape, levels, spec, &values, fill).map_err(|e| reading.renamed(e))
    }

    /// Values as rows of value axes.
    fn rows(&self, value_shape: &[usize], levels: &[LevelData], sizes: &[usize]) -> Result<Tensor> {
        if self.values.ndim() != 1 || value_shape.is_empty() {
            return Ok(self.values.clone());
        }
        let span = |p: &IndexArray| {
            let e = entries(p);
            e.last().copied().unwrap_or(0).saturating_sub(e.first().copied().unwrap_or(0)) as usize
        };
        let mut positions = 1usize;
        let mut dim = 0;
        for (l, level) in levels.iter().enumerate() {
            let rules = level.kind().array_rules(dim, l == 0);
            positions = match (rules.last().map(|rule| rule.len), level.arrays().last()) {
                (Some(ArrayLen::Positions), Some(indices)) => indices.len(),
                (Some(ArrayLen::ParentsAndOne), Some(pointers)) => span(pointers),
                (Some(ArrayLen::Parents), _) => positions,
                (Some(_), None) => 0,
                (None, _) => positions.saturating_mul(sizes[dim]),
            };
            dim += level.kind().rank();
        }
        let mut shape = vec![positions];
        shape.extend(value_shape);
        let wanted = shape.iter().try_fold(1u128, |n, &s| n.checked_mul(s as u128));
        if wanted != Some(self.values.size()) {
            let why = format!("{} elements, the indices and the shape need {shape:?}", self.values.size());
            return Err(error::invalid("values", why));
        }
        self.values.reshape(&shape)
    }

    fn strided(&self, dims: &[(usize, Part)]) -> Result<Tensor> {
        if dims.len() != self.shape.len() || dims.iter().any(|d| d.1 != Part::Whole) {
            let why = format!("{} is no structure of a dense tensor with {} axes", self.structure, self.shape.len());
            return Err(error::invalid("structure", why));
        }
        let shape: Vec<usize> = dims.mapped(|d| self.shape[d.0]);
        let mut back = vec![0isize; dims.len()];
        for (i, d) in dims.iter().enumerate() {
            back[d.0] = i as isize;
        }
        self.values.reshape(&shape)?.permute_dims(&back)
    }
}

/// Arrays as they are taken.
struct Reading<'a> {
    of: &'a SystemArrays,
    used: Vec<String>,
    /// Our name of an array, and the one it was given under.
    given_as: Vec<(String, String)>,
}

impl Reading<'_> {
    fn find(&mut self, name: &str) -> Result<IndexArray> {
        let mut found = self.of.arrays.iter().filter(|(n, _)| n == name);
        let (Some((_, a)), None) = (found.next(), found.next()) else {
            let twice = self.of.arrays.iter().any(|(n, _)| n == name);
            let why = if twice { "given twice" } else { "missing" };
            return Err(error::invalid(name, format_args!("{why}: {} has it once", self.of.structure)));
        };
        if a.as_indices().is_none() {
            return Err(error::invalid(name, "an entry is negative or out of range"));
        }
        self.used.push(name.into());
        if self.of.system != System::Finch {
            return Ok(a.clone());
        }
        if let Some(at) = entries(a).iter().position(|&v| v == 0) {
            return Err(error::invalid(name, format_args!("entry {} is 0, Finch counts from 1", at + 1)));
        }
        Ok(mapped(a, |v| v - 1))
    }

    fn all_used(&self) -> Result<()> {
        match self.of.arrays.iter().find(|(n, _)| !self.used.contains(n)) {
            None => Ok(()),
            Some((name, _)) => {
                let why = format!("{} has no such array", self.of.structure);
                Err(error::invalid(name.as_str(), why))
            }
        }
    }

    fn levels(&mut self, said: &Said, sizes: &[usize]) -> Result<Vec<LevelData>> {
        let mut out: Vec<LevelData> = Vec::new();
        let mut dim = 0;
        for (l, &kind) in said.levels().iter().enumerate() {
            let names = names(self.of.system, kind, l, dim);
            let rank = kind.rank();
            if kind == LevelKind::Dense {
                if dim < said.structure.spec.level_dims() {
                    out.push(LevelData::Dense);
                }
                dim += 1;
                continue;
            }
            let pointers = names.pointers.as_deref().map(|n| self.find(n)).transpose()?;
            // Without `soa` a tuple's coordinates lie side by side.
            let together = rank > 1 && said.own_array[dim + 1..dim + rank].iter().all(|own| !own);
            let mut indices = Vec::with_capacity(rank);
            if together {
                indices = self.side_by_side(&names.indices[0], rank)?;
            } else {
                for name in &names.indices {
                    indices.push(self.find(name)?);
                }
            }
            let (mut pointers, mut indices) = (pointers, indices);
            if said.expanded.get(l) == Some(&true) && said.native.is_none() {
                let times = sizes[dim + rank] as u64;
                pointers = match (pointers, &names.pointers) {
                    (Some(p), Some(name)) => Some(divided(&p, times, name)?),
                    (p, _) => p,
                };
                for (a, name) in indices.iter_mut().zip(&names.indices) {
                    *a = condensed(a, times, name)?;
                }
            }
            let first = out.iter().map(|level| level.kind().rank()).sum::<usize>();
            for (i, name) in names.indices.iter().enumerate() {
                self.given_as.push((ArrayName::Indices(first + i).to_string(), name.clone()));
            }
            if let Some(name) = names.pointers {
                self.given_as.push((ArrayName::Pointers(first).to_string(), name));
            }
            match out.last_mut() {
                Some(LevelData::Sparse { indices: tuple, .. })
                    if kind.joined(LevelKind::Sparse { rank: tuple.len() }).is_some() =>
                {
                    tuple.append(&mut indices);
                }
                _ => {
                    let arrays = pointers.into_iter().chain(indices).collect();
                    let lacking = || error::layout(format_args!("level {l}, {kind}, lacks arrays"));
                    out.push(LevelData::of_arrays(kind, [true, false], arrays).ok_or_else(lacking)?);
                }
            }
            dim += rank;
        }
        Ok(out)
    }

    fn side_by_side(&mut self, name: &str, rank: usize) -> Result<Vec<IndexArray>> {
        let all = self.find(name)?;
        let flat = entries(&all);
        if !flat.len().is_multiple_of(rank) {
            let why = format!("{} entries are no whole tuples of {rank}", flat.len());
            return Err(error::invalid(name, why));
        }
        Ok((0..rank).mapped(|d| array(flat.iter().skip(d).step_by(rank).copied().collect())))
    }

    /// An error of the constructor, with the array under the name it was given.
    fn renamed(&self, e: error::Error) -> error::Error {
        let ErrorKind::Invalid { argument, why, .. } = e.kind() else { return e };
        let given = self.given_as.iter().find(|(ours, _)| ours == argument);
        let from_one = if self.of.system == System::Finch { " (entries counted from 0)" } else { "" };
        error::invalid(given.map_or(argument.as_str(), |g| &g.1), format_args!("{why}{from_one}"))
    }
}

/// Pointers that count every coordinate of the dense dimension below, brought back to count tuples.
fn divided(pointers: &IndexArray, times: u64, name: &str) -> Result<IndexArray> {
    let all = entries(pointers);
    if let Some(at) = all.iter().position(|p| p.checked_rem(times).is_some_and(|rest| rest != 0)) {
        let why = format!("entry {at} is {}, with `S` before `C` of size {times} a multiple of {times}", all[at]);
        return Err(error::invalid(name, why));
    }
    Ok(mapped(pointers, |p| p.checked_div(times).unwrap_or(0)))
}

/// Every `times`-th index, if all between are the same.
fn condensed(indices: &IndexArray, times: u64, name: &str) -> Result<IndexArray> {
    let all = entries(indices);
    let Ok(step) = usize::try_from(times) else { return Ok(indices.clone()) };
    if step == 0 {
        return Ok(array(Vec::new()));
    }
    if !all.len().is_multiple_of(step) {
        let why = format!("{} entries, with `S` before `C` of size {step} a multiple of {step}", all.len());
        return Err(error::invalid(name, why));
    }
    for (group, same) in all.chunks_exact(step).enumerate() {
        if let Some(at) = same.iter().position(|&i| i != same[0]) {
            let why = format!(
                "entry {} is {} after {}: with `S` before `C` of size {step}, {step} entries in a row are the same",
                group * step + at,
                same[at],
                same[0]
            );
            return Err(error::invalid(name, why));
        }
    }
    Ok(array(all.into_iter().step_by(step).collect()))
}

/// Systems say nothing of the element type; it is the values' own.
impl SystemArrays {
    /// Element type of the values.
    pub fn dtype(&self) -> DType {
        self.values.dtype()
    }
}
