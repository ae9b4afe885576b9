//! Weights as the package compressed-tensors stores them for vLLM: the values that are not zero, and a bit per element.
//!
//! The weight `X.weight` is the arrays `X.compressed`, `X.bitmask` (the lowest bit of a byte first, rows from a byte on),
//! `X.shape` and, in the form `sparse_bitmask`, `X.row_offsets`: where the values of each row begin. The form
//! `sparse_24_bitmask` has two values for every four elements of a row, and no offsets.
//! <https://github.com/vllm-project/compressed-tensors>, `compressors/sparse_compressors`.

use std::collections::BTreeMap;
use std::ops::Range;

use super::entries::{Entries, plain_type, strided_descriptor};
use crate::base::mapped::Mapped;
use crate::base::shape::fitting;
use crate::io::binsparse::descriptor::Descriptor;
use crate::io::binsparse::rows::Cut;
use crate::io::fault::{Res, bad};
use crate::io::progress::Tell;
use crate::io::safetensors::{ArrayEntry, DataPart, EntryType};
use crate::{DType, IndexArray, LevelKind, LevelSpec, Part, Scalar, Tensor};

/// The arrays of a weight.
pub(super) const PARTS: [&str; 4] = ["compressed", "bitmask", "shape", "row_offsets"];

/// A weight whose arrays are known to fit each other by their shapes.
#[derive(Clone, Debug)]
pub(super) struct Masked {
    shape: Vec<usize>,
    values: ArrayEntry,
    mask: ArrayEntry,
    /// None where two of four elements are stored.
    offsets: Option<ArrayEntry>,
}

/// Where a name ends.
fn prefix(name: &str) -> Option<&str> {
    name.strip_suffix(".bitmask")
}

/// The weights among the arrays of a file: what each is called, and what the names of its arrays begin with.
pub(super) fn found(entries: &Entries) -> Vec<(String, String)> {
    let mut out = Vec::new();
    for (name, mask) in entries {
        let Some(prefix) = prefix(name).filter(|_| mask.kind == EntryType::Known(DType::U8)) else { continue };
        if PARTS[..3].iter().all(|part| entries.contains_key(&format!("{prefix}.{part}"))) {
            out.push((format!("{prefix}.weight"), prefix.to_owned()));
        }
    }
    out.sort_unstable();
    out
}

impl Masked {
    pub(super) fn of(prefix: &str, entries: &Entries, source: &DataPart) -> Res<Masked> {
        let entry = |part: &str| entries.get(&format!("{prefix}.{part}"));
        let (Some(values), Some(mask), Some(shape)) = (entry("compressed"), entry("bitmask"), entry("shape")) else {
            return bad("its arrays are gone");
        };
        let Some(shape) = sizes(shape, source)?.and_then(|shape| fitting(&shape)) else {
            return bad(format_args!("the array \"{prefix}.shape\" is not a short list of sizes"));
        };
        let masked =
            Masked { shape, values: values.clone(), mask: mask.clone(), offsets: entry("row_offsets").cloned() };
        masked.checked()
    }

    /// Checks that the arrays are as long as the shape needs.
    fn checked(self) -> Res<Masked> {
        let Some((&last, before)) = self.shape.split_last() else { return bad("a bitmask of a tensor without axes") };
        let mut wanted = before.mapped(|&size| size as u64);
        wanted.push(last.div_ceil(8) as u64);
        if self.mask.shape != wanted {
            return bad(format_args!(
                "a bitmask of the shape {:?}; {:?} needs {wanted:?}",
                self.mask.shape, self.shape
            ));
        }
        // No byte of the file would stand for the rows.
        if last == 0 && self.shape.len() > 1 {
            return bad(format_args!("a bitmask for the shape {:?}, which has no elements", self.shape));
        }
        match (&self.offsets, &self.shape[..]) {
            (None, &[rows, cols]) if cols % 4 == 0 => {
                let wanted = [rows as u64, cols as u64 / 2];
                if self.values.shape != wanted {
                    return bad(format_args!(
                        "values of the shape {:?}; two of four need {wanted:?}",
                        self.values.shape
                    ));
                }
            }
            (None, shape) => return bad(format_args!("a bitmask without offsets of rows, for the shape {shape:?}")),
            (Some(offsets), &[rows, _]) if offsets.shape != [rows as u64] => {
                return bad(format_args!("offsets of the shape {:?} for {rows} rows", offsets.shape));
            }
            (Some(offsets), _) if offsets.kind != EntryType::Known(DType::I64) => {
                return bad(format_args!("offsets of rows of the type {:?}; they are I64", offsets.kind));
            }
            (Some(_), _) if self.values.shape.len() != 1 => {
                return bad(format_args!("values of the shape {:?}, which have one axis", self.values.shape));
            }
            _ => {}
        }
        Ok(self)
    }

    pub(super) fn shape(&self) -> Vec<u64> {
        self.shape.mapped(|&size| size as u64)
    }

    /// The arrays that it is stored as.
    pub(super) fn arrays(&self) -> Vec<(&'static str, &ArrayEntry)> {
        let mut out = vec![("values", &self.values), ("bitmask", &self.mask)];
        out.extend(self.offsets.as_ref().map(|offsets| ("row_offsets", offsets)));
        out
    }

    pub(super) fn descriptor(&self) -> Res<Descriptor> {
        let (_, dtype) = plain_type(&self.values, false)?;
        let levels = match self.shape.len() {
            2 => vec![LevelKind::Dense, LevelKind::Sparse { rank: 1 }],
            rank => vec![LevelKind::Sparse { rank }],
        };
        let form = if self.offsets.is_some() { "sparse_bitmask" } else { "sparse_24_bitmask" };
        let mut data_types = BTreeMap::new();
        data_types.insert("values".to_owned(), dtype.into());
        Ok(Descriptor {
            version: String::new(),
            format: format!("compressed-tensors {form}"),
            levels: LevelSpec { levels, dims: (0..self.shape.len()).mapped(|axis| (axis, Part::Whole)) },
            number_of_stored_values: Some(self.values.len()),
            data_types,
            ..strided_descriptor(self.shape(), dtype)
        })
    }

    /// The weight, or a part of it: CSR of a matrix, else COO.
    pub(super) fn read(&self, source: &DataPart, cut: Option<Cut>, tell: &Tell<'_>) -> Res<Tensor> {
        let (_, dtype) = plain_type(&self.values, false)?;
        match (&self.shape[..], cut) {
            (&[rows, cols], cut) => {
                let range = match cut {
                    Some(Cut::Entries(_)) => return bad("a matrix by rows lists no coordinates"),
                    Some(Cut::Rows(range)) => range,
                    None => 0..rows,
                };
                if range.start > range.end || range.end > rows {
                    let Range { start, end } = range;
                    return bad(format_args!("the range {start}..{end} does not lie in axis 0, which has size {rows}"));
                }
                self.matrix(source, range, cols, tell)
            }
            (_, None) => self.listed(source, dtype, 0..self.values.len(), tell),
            (_, Some(Cut::Entries(range))) => self.listed(source, dtype, range, tell),
            (_, Some(Cut::Rows(_))) => bad("a list of coordinates does not say where a row begins"),
        }
    }

    /// Rows of a matrix.
    fn matrix(&self, source: &DataPart, range: Range<usize>, cols: usize, tell: &Tell<'_>) -> Res<Tensor> {
        let (_, dtype) = plain_type(&self.values, false)?;
        let width = cols.div_ceil(8);
        let mask = bytes(source, &self.mask, range.start * width, range.len() * width)?;
        let offsets = self.row_offsets(source, &range, cols)?;
        let first = offsets.first().copied().unwrap_or(0);
        // Counted before lists are made, which are 64 times as long as the mask.
        let count = ones(&mask);
        let end = first.checked_add(count).filter(|&end| end <= self.values.len());
        let all_but_last = range.end < self.shape[0];
        if end.is_none_or(|end| !all_but_last && end != self.values.len()) {
            return self.miscounted(count, first);
        }
        let (mut pointers, mut columns) = (vec![0_u64], Vec::with_capacity(count as usize));
        for (at, row) in mask.chunks_exact(width).enumerate() {
            if offsets.get(at).is_some_and(|&offset| offset.checked_sub(first) != Some(columns.len() as u64)) {
                let row = range.start + at;
                return bad(format_args!("row {row} begins elsewhere than the bits of the rows before it say"));
            }
            places(row, cols, &mut |column| columns.push(column as u64))?;
            pointers.push(columns.len() as u64);
        }
        let values = source.elements(self.values.start + first * dtype.size() as u64, count, dtype, tell)?;
        let shape = [range.len(), cols];
        Ok(Tensor::csr(shape, narrow(pointers), narrow(columns), &values, Scalar::zero(dtype))?)
    }

    /// Where the values of rows begin.
    fn row_offsets(&self, source: &DataPart, range: &Range<usize>, cols: usize) -> Res<Vec<u64>> {
        let Some(offsets) = &self.offsets else { return Ok(range.clone().mapped(|row| (row * cols / 2) as u64)) };
        let stored =
            source.elements(offsets.start + 8 * range.start as u64, range.len() as u64, DType::I64, &Tell::nobody())?;
        let stored = stored.values::<i64>()?;
        stored.try_mapped(|&offset| u64::try_from(offset).or_else(|_| bad("a row begins at a negative offset")))
    }

    /// A part of all elements that are stored, by coordinates.
    fn listed(&self, source: &DataPart, dtype: DType, range: Range<u64>, tell: &Tell<'_>) -> Res<Tensor> {
        let cols = self.shape.last().copied().unwrap_or(1);
        let width = cols.div_ceil(8).max(1);
        let mask = bytes(source, &self.mask, 0, self.mask.len() as usize)?;
        let stored = ones(&mask);
        if stored != self.values.len() || range.start > range.end || range.end > stored {
            return self.miscounted(stored, 0);
        }
        let mut indices: Vec<Vec<u64>> = self.shape.mapped(|_| Vec::new());
        let mut count = 0_u64;
        for (row, bits) in mask.chunks_exact(width).enumerate() {
            places(bits, cols, &mut |column| {
                if range.contains(&count) {
                    let mut rest = row;
                    let axes = indices.iter_mut().zip(&self.shape).rev().enumerate();
                    for (axis, (list, &size)) in axes {
                        if axis == 0 {
                            list.push(column as u64);
                        } else {
                            list.push((rest % size) as u64);
                            rest /= size;
                        }
                    }
                }
                count += 1;
            })?;
        }
        let start = self.values.start + range.start * dtype.size() as u64;
        let values = source.elements(start, range.end - range.start, dtype, tell)?;
        let indices = indices.into_iter().map(narrow).collect();
        Ok(Tensor::coo(&self.shape, indices, &values, Scalar::zero(dtype))?)
    }

    /// So many bits, for the values from one on.
    fn miscounted<T>(&self, count: u64, first: u64) -> Res<T> {
        let values = self.values.len() - first.min(self.values.len());
        bad(format_args!("the bitmask has {count} bits for {values} values"))
    }
}

/// How many bits are set.
fn ones(mask: &[u8]) -> u64 {
    mask.iter().map(|byte| u64::from(byte.count_ones())).sum()
}

/// Calls with the place of each bit of a row.
fn places(row: &[u8], cols: usize, found: &mut dyn FnMut(usize)) -> Res<()> {
    for (at, &byte) in row.iter().enumerate() {
        let mut bits = byte;
        while bits != 0 {
            let column = 8 * at + bits.trailing_zeros() as usize;
            if column >= cols {
                return bad(format_args!("a bit for column {column} of {cols}"));
            }
            found(column);
            bits &= bits - 1;
        }
    }
    Ok(())
}

/// Indices in 32 bits if they fit.
fn narrow(wide: Vec<u64>) -> IndexArray {
    match wide.try_mapped(|&index| u32::try_from(index)) {
        Ok(narrow) => narrow.into(),
        Err(_) => wide.into(),
    }
}

fn bytes(source: &DataPart, entry: &ArrayEntry, start: usize, len: usize) -> Res<Vec<u8>> {
    let part = source.elements(entry.start + start as u64, len as u64, DType::U8, &Tell::nobody())?;
    Ok(part.values::<u8>()?.to_vec())
}

/// The sizes in an array of integers, in either of the two shapes that they are stored in.
fn sizes(entry: &ArrayEntry, source: &DataPart) -> Res<Option<Vec<u64>>> {
    let is_list = matches!(entry.shape[..], [1..=64] | [1..=64, 1]);
    if !is_list || entry.kind != EntryType::Known(DType::I64) {
        return Ok(None);
    }
    let stored = source.elements(entry.start, entry.len(), DType::I64, &Tell::nobody())?;
    Ok(stored.values::<i64>()?.try_mapped(|&size| u64::try_from(size)).ok())
}
