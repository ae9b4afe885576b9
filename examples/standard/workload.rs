//! A workload: a folder of `.npy` arrays, made into tensors.

use std::fmt;
use std::path::{Path, PathBuf};

use openwork::{DType, Fill, Layout, Tensor};

use crate::Outcome;
use crate::npy::{Npy, NpyElement};

/// The value type a case runs with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Precision {
    F32,
    F64,
}

impl Precision {
    /// Reads `f32` or `f64`.
    pub fn parse(text: &str) -> Outcome<Precision> {
        match text {
            "f32" => Ok(Precision::F32),
            "f64" => Ok(Precision::F64),
            _ => Err(format!("dtype '{text}' is not one of f32, f64").into()),
        }
    }
}

impl fmt::Display for Precision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Precision::F32 => "f32",
            Precision::F64 => "f64",
        })
    }
}

/// One named workload in a data folder.
pub struct Workload {
    data: PathBuf,
    name: String,
    precision: Precision,
}

impl Workload {
    /// The workload `name` in the folder `data`, with values of `precision`.
    pub fn open(data: &Path, name: &str, precision: Precision) -> Outcome<Workload> {
        let folder = data.join(name);
        if !folder.is_dir() {
            return Err(format!("no workload folder {}", folder.display()).into());
        }
        Ok(Workload { data: data.to_owned(), name: name.to_owned(), precision })
    }

    /// The second operand that belongs to this workload: `rmat20b` for `rmat20`.
    pub fn second(&self) -> Outcome<Workload> {
        Workload::open(&self.data, &format!("{}b", self.name), self.precision)
    }

    /// Rows and columns of the matrix.
    pub fn shape(&self) -> Outcome<[usize; 2]> {
        let shape: Vec<i64> = self.vec("shape")?;
        match shape[..] {
            [rows, columns] => Ok([usize::try_from(rows)?, usize::try_from(columns)?]),
            _ => Err(format!("{} is not a matrix: shape {shape:?}", self.name).into()),
        }
    }

    /// The matrix as CSR with fill 0.
    pub fn csr(&self) -> Outcome<Tensor> {
        let shape = self.shape()?;
        let (pointers, indices) = (self.indices("indptr")?, self.indices("indices")?);
        Ok(Tensor::csr(shape, &pointers, &indices, &self.floats(&self.file("data"))?, self.zero())?)
    }

    /// The matrix as an unsorted list of coordinates, duplicates included, with fill 0.
    pub fn raw_coo(&self) -> Outcome<Tensor> {
        let shape = self.shape()?;
        let (rows, columns) = (self.indices("coo_row")?, self.indices("coo_col")?);
        Ok(Tensor::coo(shape, vec![&rows, &columns], &self.floats(&self.file("coo_val"))?, self.zero())?)
    }

    /// The matrix as sorted coordinates without duplicates.
    pub fn coo(&self) -> Outcome<Tensor> {
        Ok(self.csr()?.to_layout(Layout::Coo)?)
    }

    /// A tensor of three axes as coordinates: in C order, or shuffled.
    pub fn three(&self, shuffled: bool) -> Outcome<Tensor> {
        let shape: Vec<i64> = self.vec("shape")?;
        let shape = shape.iter().map(|&n| usize::try_from(n)).collect::<Result<Vec<_>, _>>()?;
        let mut axes: Vec<Vec<i32>> = ["i", "j", "k"].iter().map(|a| self.vec(a)).collect::<Outcome<_>>()?;
        let mut values: Vec<f64> = self.vec("data")?;
        if shuffled {
            let order: Vec<i32> = self.vec("shuffle")?;
            axes = axes.iter().map(|a| order.iter().map(|&p| a[p as usize]).collect()).collect();
            values = order.iter().map(|&p| values[p as usize]).collect();
        }
        let values = Tensor::from_vec([values.len()], values)?;
        let tensor = Tensor::coo(&shape, axes, &values, self.zero())?;
        Ok(if shuffled { tensor } else { tensor.coalesce()? })
    }

    /// One of the matrices of a workload that has several, as CSR with fill 0.
    pub fn part(&self, name: &str) -> Outcome<Tensor> {
        Workload::open(&self.data, &format!("{}/{name}", self.name), self.precision)?.csr()
    }

    /// A matrix for each batch as batched CSR, and the dense ones that they are multiplied with.
    pub fn batch(&self) -> Outcome<(Tensor, Tensor)> {
        let shape: Vec<i64> = self.vec("shape")?;
        let shape = shape.iter().map(|&n| usize::try_from(n)).collect::<Result<Vec<_>, _>>()?;
        let (pointers, columns): (Vec<i32>, Vec<i32>) = (self.vec("crow")?, self.vec("col")?);
        let [batches, rows, _] = shape[..] else { return Err(format!("{}: shape {shape:?}", self.name).into()) };
        let (mut of_batch, mut of_row) = (Vec::new(), Vec::new());
        for batch in 0..batches {
            let pointers = &pointers[batch * (rows + 1)..(batch + 1) * (rows + 1)];
            for (row, ends) in pointers.windows(2).enumerate() {
                let n = usize::try_from(ends[1] - ends[0])?;
                of_batch.extend(std::iter::repeat_n(i32::try_from(batch)?, n));
                of_row.extend(std::iter::repeat_n(i32::try_from(row)?, n));
            }
        }
        let values = self.floats(&self.file("data"))?.flatten()?;
        let matrices = Tensor::coo(&shape, vec![of_batch, of_row, columns], &values, self.zero())?;
        Ok((matrices.to_layout(Layout::Csr)?, self.floats(&self.file("X"))?))
    }

    /// The rows or columns that are chosen of the matrix.
    pub fn chosen(&self, what: &str) -> Outcome<Vec<i64>> {
        let path = self.file(&format!("chosen_{what}"));
        if path.is_file() { Ok(Npy::open(&path)?.elements()?.to_vec()) } else { Err(missing(&path).into()) }
    }

    /// A file that a case writes, `NAME-WORKLOAD.EXTENSION`.
    pub fn scratch(&self, name: &str, extension: &str) -> PathBuf {
        let folder = std::env::var_os("SPB_SCRATCH").map_or_else(|| self.data.clone(), PathBuf::from);
        folder.join(format!("{name}-{}.{extension}", self.name))
    }

    /// The matrix with every element present.
    pub fn dense(&self) -> Outcome<Tensor> {
        Ok(self.csr()?.to_dense()?)
    }

    /// The random vector that every program multiplies with.
    pub fn vector(&self, length: usize) -> Outcome<Tensor> {
        self.random(&format!("x99_{length}_{}.npy", self.precision), &[length])
    }

    /// The random matrix that every program multiplies with.
    pub fn matrix(&self, rows: usize, columns: usize) -> Outcome<Tensor> {
        self.random(&format!("x98_{rows}x{columns}_{}.npy", self.precision), &[rows, columns])
    }

    /// The workload as a Matrix Market file.
    pub fn matrix_market(&self) -> Outcome<PathBuf> {
        let folder = std::env::var_os("SPB_SCRATCH").map_or_else(|| self.data.clone(), PathBuf::from);
        let path = folder.join(format!("{}.mtx", self.name));
        if path.is_file() { Ok(path) } else { Err(missing(&path).into()) }
    }

    /// The fill of every operand: 0 in the case's dtype.
    pub fn zero(&self) -> Fill {
        match self.precision {
            Precision::F32 => 0.0_f32.into(),
            Precision::F64 => 0.0_f64.into(),
        }
    }

    fn file(&self, array: &str) -> PathBuf {
        self.data.join(&self.name).join(format!("{array}.npy"))
    }

    /// An index array where arrays of the library lie: in huge pages if it is large, as those of NumPy do.
    fn indices(&self, array: &str) -> Outcome<Tensor> {
        let file = Npy::open(&self.file(array))?;
        let entries: &[i32] = file.elements()?;
        Ok(Tensor::from_slice([entries.len()], entries)?)
    }

    fn vec<T: NpyElement>(&self, array: &str) -> Outcome<Vec<T>> {
        Ok(Npy::open(&self.file(array))?.elements()?.to_vec())
    }

    fn random(&self, file: &str, shape: &[usize]) -> Outcome<Tensor> {
        let path = self.data.join(file);
        if !path.is_file() {
            return Err(missing(&path).into());
        }
        let tensor = self.floats(&path)?;
        if tensor.shape() != shape {
            return Err(format!("{}: shape {:?}, expected {shape:?}", path.display(), tensor.shape()).into());
        }
        Ok(tensor)
    }

    /// An array of `f4` or `f8` as a strided tensor of the case's dtype, where arrays of the library lie.
    fn floats(&self, path: &Path) -> Outcome<Tensor> {
        let array = Npy::open(path)?;
        let shape = array.shape();
        Ok(match (array.descr(), self.precision) {
            (f32::DESCR, Precision::F32) => Tensor::from_slice(shape, array.elements::<f32>()?)?,
            (f32::DESCR, Precision::F64) => Tensor::from_slice(shape, array.elements::<f32>()?)?.cast(DType::F64)?,
            (_, Precision::F32) => Tensor::from_slice(shape, array.elements::<f64>()?)?.cast(DType::F32)?,
            (_, Precision::F64) => Tensor::from_slice(shape, array.elements::<f64>()?)?,
        })
    }
}

fn missing(path: &Path) -> String {
    let script = "python examples/standard/vectors.py --data DIR OPERATION:WORKLOAD:DTYPE";
    format!("{} is missing: `{script}` makes it", path.display())
}
