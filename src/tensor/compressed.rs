//! Rows or columns compressed as PyTorch has them: pointers and indices of each batch count from 0, and all batches store
//! as many elements.

use crate::base::error::{self, Error, Result};
use crate::base::mapped::Mapped;
use crate::base::strided::Strided;
use crate::levels::names::ArrayName;
use crate::levels::validate::Given;
use crate::tensor::construct;
use crate::{Fill, IndexArray, LevelData, LevelKind, LevelSpec, Part, Tensor};

const BY_ROWS: Given = Given { name: |name| named(name, true), unordered: "" };
const BY_COLUMNS: Given = Given { name: |name| named(name, false), unordered: "" };

fn named(name: ArrayName, by_rows: bool) -> String {
    let [pointers, plain] = names(by_rows);
    match name {
        ArrayName::Pointers(_) => pointers.into(),
        ArrayName::Indices(_) => plain.into(),
    }
}

/// What PyTorch calls pointers and indices.
pub(crate) fn names(by_rows: bool) -> [&'static str; 2] {
    if by_rows { ["crow_indices", "col_indices"] } else { ["ccol_indices", "row_indices"] }
}

/// The arrays of a tensor in CSR, CSC, BSR or BSC, with batches before and dense axes after the two axes.
pub(crate) struct Compressed {
    pub(crate) by_rows: bool,
    pub(crate) shape: Vec<usize>,
    /// The shapes of pointers and indices, which are flat here.
    pub(crate) of_pointers: Vec<usize>,
    pub(crate) of_plain: Vec<usize>,
    pub(crate) pointers: IndexArray,
    pub(crate) plain: IndexArray,
    /// (batches…, stored, rows and columns of a block, dense axes…).
    pub(crate) values: Strided,
}

impl Compressed {
    #[cold]
    fn odd(&self, why: &str) -> Error {
        let [pointers, plain] = names(self.by_rows);
        let Compressed { shape, of_pointers, of_plain, values, .. } = self;
        let values = &values.shape[..];
        let why = format!(
            "{why}: {pointers} are {of_pointers:?}, {plain} {of_plain:?}, values {values:?}, the shape {shape:?}"
        );
        error::invalid("values", why)
    }

    /// The tensor. Whether coordinates are in order is looked at, not believed.
    ///
    /// # Errors
    /// If the arrays do not go together, or anything that [`Tensor::from_parts`] refuses.
    pub(crate) fn tensor(self, fill: Fill) -> Result<Tensor> {
        let Compressed { by_rows, shape, of_pointers, of_plain, values, .. } = &self;
        let batches = of_pointers.len().saturating_sub(1);
        if shape.len() < batches + 2 || of_plain.len() != batches + 1 || of_pointers.is_empty() {
            return Err(self.odd("numbers of axes do not agree"));
        }
        let dense = shape.len() - batches - 2;
        let block = match values.ndim().checked_sub(batches + 1 + dense) {
            Some(0) => None,
            Some(2) => Some([values.shape[batches + 1], values.shape[batches + 2]]),
            _ => return Err(self.odd("numbers of axes do not agree")),
        };
        let per_batch = of_plain[batches];
        let same_batches = of_pointers[..batches] == shape[..batches] && of_plain[..batches] == shape[..batches];
        if !same_batches || values.shape[..batches] != shape[..batches] || values.shape[batches] != per_batch {
            return Err(self.odd("batches and numbers of stored elements do not agree"));
        }
        let pointers = if batches == 0 {
            self.pointers.clone()
        } else {
            self.one_after_the_other(of_pointers[batches], per_batch)?
        };
        let stored = self.plain.len();
        let merged: Vec<usize> = [stored].into_iter().chain(values.shape[batches + 1..].iter().copied()).collect();
        let values = values.reshape(&merged)?;
        let (row, col) = (batches, batches + 1);
        let part = |axis: usize| match block {
            None => (axis, Part::Whole),
            Some(block) => (axis, Part::Div(block[axis - row])),
        };
        let mut dims = (0..batches).mapped(|axis| (axis, Part::Whole));
        dims.extend(if *by_rows { [part(row), part(col)] } else { [part(col), part(row)] });
        if let Some([r, c]) = block {
            dims.extend([(row, Part::Mod(r)), (col, Part::Mod(c))]);
        }
        dims.extend((col + 1..shape.len()).map(|axis| (axis, Part::Whole)));
        let mut levels = vec![LevelKind::Dense; batches + 1];
        levels.push(LevelKind::Sparse { rank: 1 });
        let mut data = vec![LevelData::Dense; batches + 1];
        let (pointers, indices) = (Some(pointers), vec![self.plain.clone()]);
        data.push(LevelData::Sparse { pointers, indices, ordered: false, unique: false });
        let given = if *by_rows { BY_ROWS } else { BY_COLUMNS };
        construct::parts(given, shape, data, &LevelSpec { levels, dims }, &Tensor::from_strided(values), fill)
    }

    /// Pointers of all batches as those of one array.
    fn one_after_the_other(&self, per_pointers: usize, per_batch: usize) -> Result<IndexArray> {
        self.pointers.checked()?;
        let entries: Vec<u64> = match (self.pointers.as_u32(), self.pointers.as_u64()) {
            (Some(narrow), _) => narrow.iter().map(|&e| e.into()).collect(),
            (_, wide) => wide.unwrap_or_default().to_vec(),
        };
        let mut all = Vec::with_capacity(entries.len());
        all.push(0);
        for (batch, own) in entries.chunks_exact(per_pointers.max(1)).enumerate() {
            if own.first() != Some(&0) || own.last() != Some(&(per_batch as u64)) {
                let why = format!("of batch {batch} do not go from 0 to {per_batch}");
                return Err(error::invalid(names(self.by_rows)[0], why));
            }
            // Within a batch they may fall, which is found later; sums stay below 2^63.
            all.extend(own[1..].iter().map(|p| p.saturating_add((batch * per_batch) as u64)));
        }
        Ok(IndexArray::from(all))
    }
}
