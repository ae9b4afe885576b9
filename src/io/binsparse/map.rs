//! From a descriptor and arrays to a tensor. Everything is checked against what the container says about its arrays
//! before one of them is read; what they hold is checked once, by the constructor.

use super::arrays::{Arrays, FoundArray, read_index, read_values};
use super::descriptor::{Descriptor, FillKind};
use super::sizes::{product, product64, raw, repeats, shape};
use super::types::DataType;
use super::{rows, symmetry};
use crate::base::error::Result;
use crate::base::mapped::Mapped;
use crate::base::strided::Strided;
use crate::io::ReadOptions;
use crate::io::fault::{Fault, Res, bad};
use crate::io::progress::Tell;
use crate::io::warning::Warning;
use crate::levels::names::{ArrayLen, ArrayRule};
use crate::tensor::fill::Fill;
use crate::tensor::index_array::{IndexArray, LevelData};
use crate::tensor::trace;
use crate::{DType, LevelKind, LevelSpec, Scalar, Tensor};

/// Makes a tensor of its parts: `Tensor::from_parts` or its unchecked twin.
pub(crate) type Make = fn(&[usize], Vec<LevelData>, &LevelSpec, &Tensor, Fill) -> Result<Tensor>;

pub(crate) struct TensorReader<'a> {
    pub(crate) descriptor: &'a Descriptor,
    pub(crate) arrays: &'a mut dyn Arrays,
    pub(crate) options: &'a ReadOptions<'a>,
    pub(crate) warnings: &'a mut Vec<Warning>,
    pub(crate) make: Make,
}

/// The lengths that follow from the descriptor and the index arrays.
pub(super) struct Lengths {
    /// Sizes of all dimensions.
    pub(super) sizes: Vec<usize>,
    pub(super) level_dims: usize,
    pub(super) positions: u64,
    pub(super) elements: u64,
}

impl<'a> TensorReader<'a> {
    /// The tensor, or a part of it.
    pub(crate) fn tensor(mut self, cut: Option<rows::Cut>) -> Res<Tensor> {
        let d = self.descriptor;
        let mut shape = shape(d)?;
        // Nothing is read before all of it is known to fit.
        let (mut indices, mut lengths) = self.index_arrays(&shape)?;
        let mut values = self.value_array(&lengths)?;
        let fill = self.fill_array()?;
        self.unused_types(&indices)?;
        if let Some(rows::Cut::Entries(range)) = cut {
            rows::entries(d, range, &mut lengths, &mut indices, &mut values)?;
            let tell = self.within_limit(&indices, &values.0, fill.as_ref())?;
            let levels = self.levels(indices, Vec::new(), &tell)?;
            let values = self.values(values, &lengths, &tell)?;
            let fill = self.fill(fill, values.dtype, &tell)?;
            return self.build(&shape, levels, values, fill, &lengths);
        }
        if let Some(rows::Cut::Rows(range)) = cut {
            let window = rows::Window::new(d, &shape, range)?;
            let pointers = window.narrow(self.arrays, d, &mut lengths, &mut indices, &mut values)?;
            let tell = self.within_limit(&indices, &values.0, fill.as_ref())?;
            let levels = self.levels(indices, pointers, &tell)?;
            let values = self.values(values, &lengths, &tell)?;
            let fill = window.fill(self.fill(fill, values.dtype, &tell)?, &shape)?;
            window.apply(&mut shape);
            return self.build(&shape, levels, values, fill, &lengths);
        }
        let tell = self.within_limit(&indices, &values.0, fill.as_ref())?;
        let levels = self.levels(indices, Vec::new(), &tell)?;
        let values = self.values(values, &lengths, &tell)?;
        let fill = self.fill(fill, values.dtype, &tell)?;
        let tensor = self.build(&shape, levels, values, fill, &lengths)?;
        tell.end();
        Ok(tensor)
    }

    /// Refuses arrays of too many bytes; gives whom to tell how many of them are read.
    fn within_limit(
        &self,
        indices: &[Vec<FoundArray>],
        values: &FoundArray,
        fill: Option<&FoundArray>,
    ) -> Res<Tell<'a>> {
        let mut bytes = values.info.bytes() + fill.map_or(0, |f| f.info.bytes());
        for level in indices {
            bytes += level.iter().map(|f| f.info.bytes()).sum::<u128>();
        }
        match self.options.max_bytes {
            Some(limit) if bytes > u128::from(limit) => {
                Err(Fault::Large(format!("the arrays take {bytes} bytes, {limit} are allowed")))
            }
            _ => Ok(Tell::new(self.options.progress, u64::try_from(bytes).unwrap_or(u64::MAX))),
        }
    }

    fn lenient(&self) -> bool {
        self.options.lenient
    }

    fn find(&mut self, name: &str) -> Res<FoundArray> {
        let older = self.descriptor.stored_names.get(name).map(String::as_str);
        for stored in older.into_iter().chain([name]) {
            if let Some(info) = self.arrays.info(stored)? {
                return Ok(FoundArray { name: stored.to_owned(), start: 0, info });
            }
        }
        bad(format_args!("the array `{}` is missing", older.unwrap_or(name)))
    }

    /// An index array, of some length or of any.
    fn find_index(&mut self, name: String, wanted: Option<u128>, why: &str) -> Res<FoundArray> {
        let mut found = self.find(&name)?;
        let mut declared = self.declared(&name)?;
        // NumPy's arrays of nothing have elements of another type.
        if !found.info.dtype.is_int() && self.lenient() && found.info.len == 0 {
            let (array, declared_as, stored) = (name.clone(), "integers".to_owned(), found.info.dtype.to_string());
            self.warnings.push(Warning::StoredType { array, declared: declared_as, stored });
            found.info.dtype = DType::U64;
            declared = None;
        }
        if !found.info.dtype.is_int() {
            return bad(format_args!("`{name}` holds {}, not integers", found.info.dtype));
        }
        if let Some(t) = declared
            && t != found.info.dtype.into()
        {
            self.mismatch(&name, t, found.info.dtype)?;
        }
        if wanted.is_some_and(|w| w != u128::from(found.info.len)) {
            let wanted = wanted.unwrap_or_default();
            return bad(format_args!("`{name}` has {} entries, {wanted} are needed ({why})", found.info.len));
        }
        Ok(found)
    }

    /// The last of the pointers that were found.
    fn last_pointer(&mut self, found: Option<&FoundArray>) -> Res<u128> {
        let Some(FoundArray { name, start, info }) = found.filter(|f| f.info.len > 0) else { return Ok(0) };
        let mut out = [0; 16];
        let out = &mut out[..info.dtype.size()];
        self.arrays.read(name, start + info.len - 1, out, &Tell::nobody())?;
        match Scalar::from_bytes(info.dtype, out).as_integer().map(u128::try_from) {
            Some(Ok(last)) => Ok(last),
            _ => bad(format_args!("`{name}` ends with a negative entry")),
        }
    }

    fn declared(&mut self, name: &str) -> Res<Option<DataType>> {
        let types = &self.descriptor.data_types;
        let declared = types.get(name).copied();
        if declared.is_none() && !self.lenient() {
            return bad(format_args!("`data_types` does not name `{name}`"));
        }
        // Where there are no types at all, that is said once.
        if declared.is_none() && !types.is_empty() {
            self.warnings.push(Warning::MissingType(name.to_owned()));
        }
        Ok(declared)
    }

    fn mismatch(&mut self, array: &str, declared: DataType, stored: DType) -> Res<()> {
        if !self.lenient() {
            return bad(format_args!("`{array}` is declared {declared} and stored as {stored}"));
        }
        let (declared, stored) = (declared.to_string(), stored.to_string());
        self.warnings.push(Warning::StoredType { array: array.to_owned(), declared, stored });
        Ok(())
    }

    /// Finds the index arrays of each level, and what lengths follow from them.
    fn index_arrays(&mut self, shape: &[usize]) -> Res<(Vec<Vec<FoundArray>>, Lengths)> {
        let _call = trace::call("binsparse", &[]);
        let d = self.descriptor;
        let level_dims = d.levels.levels.iter().map(|l| l.rank()).sum();
        let sizes: Vec<usize> = if d.levels.levels.is_empty() {
            d.levels.dims.mapped(|&(a, _)| shape[a])
        } else {
            d.levels.resolve(shape)?.mapped(|d| d.size)
        };
        let block = product(&sizes[level_dims..])?;
        let mut parents = 1u128;
        let mut dim = 0;
        let mut out = Vec::new();
        for (l, level) in d.levels.levels.iter().enumerate() {
            let mut found = Vec::new();
            if *level == LevelKind::Dense {
                parents = product64(parents, sizes[dim] as u128)?;
            }
            let mut count = None;
            for rule in level.array_rules(dim, l == 0).into_iter().filter(|rule| !rule.optional) {
                let (wanted, why) = match rule.len {
                    ArrayLen::Parents => (Some(parents), "one per parent"),
                    ArrayLen::ParentsAndOne => (Some(parents + 1), "one more than parents"),
                    ArrayLen::Positions => (count, "as its level's others have"),
                };
                let array = self.find_index(rule.name.to_string(), wanted, why)?;
                if rule.len != ArrayLen::ParentsAndOne {
                    count = Some(u128::from(array.info.len));
                }
                found.push(array);
            }
            if *level == (LevelKind::Sparse { rank: 0 }) {
                let stored = u128::from(d.number_of_stored_values.unwrap_or_default());
                // Rows without elements are not counted by their elements.
                let rows = stored.checked_div(block);
                count = Some(rows.map_or_else(|| self.last_pointer(found.last()), Ok)?);
            }
            parents = count.unwrap_or(parents);
            dim += level.rank();
            out.push(found);
        }
        let elements = product64(parents, block)?;
        if let Some(declared) = d.number_of_stored_values
            && u128::from(declared) != elements
        {
            return bad(format_args!("`number_of_stored_values` is {declared}, the arrays hold {elements}"));
        }
        let size = shape.iter().fold(1u128, |n, &s| n.saturating_mul(s as u128));
        if elements > size && !self.lenient() && !d.unordered {
            return bad(format_args!("{elements} stored values in a tensor of {size} elements"));
        }
        Ok((out, Lengths { sizes, level_dims, positions: parents as u64, elements: elements as u64 }))
    }

    /// Finds the values: the array, its element type in memory, and whether one stands for all.
    fn value_array(&mut self, lengths: &Lengths) -> Res<(FoundArray, DType, bool)> {
        let found = self.find("values")?;
        let declared = self.declared("values")?;
        let stored = found.info.dtype;
        let mut wanted = declared.unwrap_or(DataType { iso: false, dtype: stored });
        wanted.iso |= self.descriptor.iso;
        let raw = raw(wanted.dtype);
        // A container's own truth values and complex numbers are not what the text says.
        if stored != raw && (stored != wanted.dtype || declared.is_some() || stored == DType::Bool) {
            self.mismatch("values", wanted, stored)?;
        }
        let per_element = if wanted.dtype.is_complex() && !stored.is_complex() { 2 } else { 1 };
        let n = u128::from(lengths.elements) * per_element;
        let len = u128::from(found.info.len);
        let mut iso = wanted.iso;
        if iso && len != per_element && !(lengths.elements == 0 && len == 0) {
            if !(self.lenient() && len == n) {
                return bad(format_args!("`values` is {wanted} and has {len} entries, not {per_element}"));
            }
            self.warnings.push(Warning::NotIso);
            iso = false;
        } else if !iso && len != n {
            return bad(format_args!(
                "`values` has {len} entries, {n} are needed for {} of {wanted}",
                lengths.elements
            ));
        }
        Ok((found, wanted.dtype, iso))
    }

    fn fill_array(&mut self) -> Res<Option<FoundArray>> {
        let shape = match &self.descriptor.fill {
            FillKind::Unspecified | FillKind::Undefined => return Ok(None),
            FillKind::Value => Vec::new(),
            FillKind::Array(shape) => shape.mapped(|&s| s as usize),
        };
        let n = product(&shape)?;
        let found = self.find("fill_value")?;
        let values = self.descriptor.data_types.get("values").copied();
        let declared = self.descriptor.data_types.get("fill_value").copied().or(values);
        let stored = found.info.dtype;
        if let (Some(fill), Some(values)) = (declared, values)
            && (fill.dtype != values.dtype || raw(fill.dtype) != stored)
        {
            self.mismatch("fill_value", DataType { iso: false, ..values }, stored)?;
        }
        let complex = values.or(declared).is_some_and(|t| t.dtype.is_complex()) && !stored.is_complex();
        let n = if complex { n * 2 } else { n };
        if u128::from(found.info.len) != n {
            return bad(format_args!("`fill_value` has {} entries, {n} are needed", found.info.len));
        }
        Ok(Some(found))
    }

    /// The one value of unstored elements, where the descriptor says that there is one; no other array is read.
    pub(crate) fn fill_value(mut self) -> Res<Option<Scalar>> {
        let (FillKind::Value, Some(dtype)) = (&self.descriptor.fill, self.descriptor.dtype()) else { return Ok(None) };
        let found = self.fill_array()?;
        Ok(self.fill(found, dtype, &Tell::nobody())?.as_scalar())
    }

    fn unused_types(&mut self, indices: &[Vec<FoundArray>]) -> Res<()> {
        let d = self.descriptor;
        for name in d.data_types.keys() {
            let stored = d.stored_names.get(name).unwrap_or(name);
            let used = name == "values"
                || name == "fill_value"
                || indices.iter().any(|level| level.iter().any(|f| f.name == *stored));
            if !used && !self.lenient() {
                return bad(format_args!("`data_types` names {name:?}, which the format does not have"));
            }
            if !used {
                self.warnings.push(Warning::UnusedType(name.clone()));
            }
        }
        Ok(())
    }

    /// Reads the index arrays; `pointers` were read before, level by level.
    fn levels(
        &mut self,
        found: Vec<Vec<FoundArray>>,
        pointers: Vec<Option<IndexArray>>,
        tell: &Tell<'_>,
    ) -> Res<Vec<LevelData>> {
        let d = self.descriptor;
        let loose = self.lenient() || d.unordered;
        let mut out = Vec::new();
        let mut known = pointers.into_iter();
        let mut dim = 0;
        for (l, (&kind, arrays)) in d.levels.levels.iter().zip(found).enumerate() {
            let names: Vec<String> = arrays.mapped(|f| f.name.clone());
            let mut read: Vec<IndexArray> = known.next().flatten().into_iter().collect();
            for f in &arrays[read.len()..] {
                read.push(read_index(self.arrays, f, tell)?);
            }
            let rules: Vec<ArrayRule> = kind.array_rules(dim, l == 0).into_iter().filter(|r| !r.optional).collect();
            for ((rule, name), array) in rules.iter().zip(&names).zip(&read) {
                if rule.len == ArrayLen::ParentsAndOne {
                    self.check_pointers(name, array, l)?;
                }
            }
            match LevelData::of_arrays(kind, [!loose; 2], read) {
                Some(level) => out.push(level),
                None => return bad(format_args!("level {l}, {kind}, lacks arrays")),
            }
            dim += kind.rank();
        }
        Ok(out)
    }

    /// Rules for pointers that the constructor does not have: from 0, and no repeats in doubly compressed formats.
    fn check_pointers(&mut self, name: &str, pointers: &IndexArray, level: usize) -> Res<()> {
        let first = match (pointers.as_u32(), pointers.as_u64()) {
            (Some(p), _) => p.first().map(|&p| u64::from(p)),
            (_, Some(p)) => p.first().copied(),
            _ => Some(0), // an entry is out of range: the constructor says which
        };
        if first != Some(0) {
            return bad(format_args!("`{name}` starts with {first:?}, not 0"));
        }
        let doubly = level == 1 && matches!(self.descriptor.format.as_str(), "DCSR" | "DCSC");
        if doubly && repeats(pointers) {
            if !self.lenient() {
                return bad(format_args!(
                    "`{name}` repeats an entry: a doubly compressed format has no empty rows (columns)"
                ));
            }
            self.warnings.push(Warning::EmptySegments);
        }
        Ok(())
    }

    /// The values, one per element or, where one stands for all, a single one.
    fn values(
        &mut self,
        (found, dtype, iso): (FoundArray, DType, bool),
        lengths: &Lengths,
        tell: &Tell<'_>,
    ) -> Res<Strided> {
        let values = self.elements(&found, dtype, tell)?;
        let shape: Vec<usize> = if self.descriptor.levels.levels.is_empty() {
            lengths.sizes.clone()
        } else {
            let rows = [lengths.positions as usize];
            rows.into_iter().chain(lengths.sizes[lengths.level_dims..].iter().copied()).collect()
        };
        if !iso {
            return Ok(values.reshape(&shape)?);
        }
        let value = if values.len() == 0 { Scalar::zero(dtype) } else { values.get(&[0]) };
        Ok(Strided::constant(value, &shape))
    }

    /// Reads values and gives them the wanted type, which they must fit exactly.
    fn elements(&mut self, found: &FoundArray, dtype: DType, tell: &Tell<'_>) -> Res<Strided> {
        let lenient = self.lenient();
        let as_bool = dtype == DType::Bool && found.info.dtype.size() == 1;
        let (values, odd) = read_values(self.arrays, found, as_bool, lenient, tell)?;
        if odd > 0 {
            self.warnings.push(Warning::TruthValues(odd));
        }
        if values.dtype == dtype {
            return Ok(values);
        }
        // Interleaved complex numbers and bit patterns are their bytes.
        let n = values.len();
        if values.dtype == raw(dtype) {
            let n = n * values.dtype.size() / dtype.size();
            return Ok(Strided::new(values.buffer, dtype, vec![n]));
        }
        if dtype.is_complex() && values.dtype.is_int() && found.info.len.is_multiple_of(2) {
            // Pairs of integers, of a draft.
            let floats = exactly(&values, dtype.real());
            let Some(floats) = floats else {
                return bad(format_args!("`{}` holds {} values that {dtype} does not", found.name, values.dtype));
            };
            return Ok(Strided::new(floats.buffer, dtype, vec![n / 2]));
        }
        if dtype.is_complex() && !values.dtype.is_complex() {
            return bad(format_args!("`{}` holds {}, complex numbers are needed", found.name, values.dtype));
        }
        match exactly(&values, dtype) {
            Some(cast) => Ok(cast),
            None => bad(format_args!("`{}` holds {} values that {dtype} does not", found.name, values.dtype)),
        }
    }

    fn fill(&mut self, found: Option<FoundArray>, dtype: DType, tell: &Tell<'_>) -> Res<Fill> {
        let shape: Vec<usize> = match &self.descriptor.fill {
            FillKind::Unspecified => return Ok(Fill::Scalar(Scalar::zero(dtype))),
            FillKind::Undefined => return Ok(Fill::Undefined),
            FillKind::Value => Vec::new(),
            FillKind::Array(shape) => shape.mapped(|&s| s as usize),
        };
        let Some(found) = found else { return bad("the array `fill_value` is missing") };
        let values = self.elements(&found, dtype, tell)?;
        Ok(if shape.is_empty() {
            Fill::Scalar(values.get(&[0]))
        } else {
            Fill::array(Tensor::from_strided(values.reshape(&shape)?))
        })
    }

    fn build(
        &mut self,
        shape: &[usize],
        levels: Vec<LevelData>,
        values: Strided,
        fill: Fill,
        lengths: &Lengths,
    ) -> Res<Tensor> {
        let d = self.descriptor;
        if d.levels.levels.is_empty() {
            if d.symmetry.is_some() {
                return bad("a `structure` on a dense format, which holds both triangles");
            }
            let mut axes = vec![0; lengths.sizes.len()];
            d.levels.dims.iter().enumerate().for_each(|(k, &(a, _))| axes[a] = k);
            return Ok(Tensor::from_strided(values.permute(&axes)));
        }
        let tensor = (self.make)(shape, levels, &d.levels, &Tensor::from_strided(values), fill)?;
        if !tensor.is_coalesced() && !d.unordered {
            self.warnings.push(Warning::Unordered);
        }
        match d.symmetry {
            Some(s) => symmetry::expand(&tensor, s, self.lenient(), self.warnings),
            None => Ok(tensor),
        }
    }
}

/// The arrays that a descriptor names: those of the levels from the outermost on, then the values, then the fill.
pub(crate) fn array_names(d: &Descriptor) -> Vec<String> {
    let place = |name: &str| match (name, name.rsplit_once('_')) {
        ("values", _) => (usize::MAX - 1, 0),
        (_, Some(("pointers_to", dim))) => (dim.parse().unwrap_or(0), 0),
        (_, Some(("indices", dim))) => (dim.parse().unwrap_or(0), 1),
        _ => (usize::MAX, 0),
    };
    let mut names: Vec<String> = d.data_types.keys().cloned().collect();
    names.sort_by_key(|name| place(name));
    names
}

/// A cast that keeps every value, or nothing.
fn exactly(values: &Strided, dtype: DType) -> Option<Strided> {
    // The largest integer becomes the power of two above it, which becomes the largest integer again.
    let digits = match dtype {
        DType::F16 => 11,
        DType::BF16 => 8,
        DType::F32 => 24,
        DType::F64 => 53,
        _ => u32::MAX as usize,
    };
    let (from, size) = (values.dtype, values.dtype.size());
    if from.is_int() && size * 8 - usize::from(!from.is_unsigned()) > digits {
        let mut largest = vec![0xff; size];
        if !from.is_unsigned() {
            largest[if cfg!(target_endian = "big") { 0 } else { size - 1 }] = 0x7f;
        }
        if values.core().contiguous_bytes().unwrap_or_default().chunks_exact(size).any(|v| v == largest) {
            return None;
        }
    }
    let cast = values.cast(dtype);
    let back = cast.cast(values.dtype).core();
    (back.contiguous_bytes() == values.core().contiguous_bytes()).then_some(cast)
}
