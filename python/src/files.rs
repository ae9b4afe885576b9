//! Files.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use openwork::io::state_dict::StateDict;
use openwork::io::{self, ReadOptions, WriteOptions};
use pyo3::exceptions::{PyKeyError, PyRuntimeError};
use pyo3::prelude::*;

use crate::context::run;
use crate::tensor::Tensor;

/// Reads a tensor from a file of any known format.
#[pyfunction]
#[pyo3(signature = (path, *, name=None, lenient=false, shape=None, max_bytes=None, progress=None))]
pub fn read(
    py: Python<'_>,
    path: PathBuf,
    name: Option<&str>,
    lenient: bool,
    shape: Option<Vec<usize>>,
    max_bytes: Option<u64>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Tensor> {
    let shown = Shown::new(progress);
    let loaded = shown.run(py, &path, |progress| {
        let options =
            ReadOptions { lenient, name, shape: shape.as_deref(), max_bytes, progress, ..ReadOptions::default() };
        io::read_with(&path, &options)
    })?;
    Ok(loaded.tensor.into())
}

/// Writes a tensor to a file whose name gives the format.
#[pyfunction]
#[pyo3(signature = (path, tensor, *, compress=false, extensions=true, progress=None))]
pub fn write(
    py: Python<'_>,
    path: PathBuf,
    tensor: &Tensor,
    compress: bool,
    extensions: bool,
    progress: Option<Py<PyAny>>,
) -> PyResult<()> {
    let shown = Shown::new(progress);
    shown.run(py, &path, |progress| {
        let options = WriteOptions { compress, extensions, progress, ..WriteOptions::default() };
        io::write_with(&path, tensor.inner(), &options)
    })
}

/// A function of Python that is told how far reading or writing has come. What it raises ends that.
struct Shown {
    function: Option<Py<PyAny>>,
    is_told: AtomicBool,
    raised: Mutex<Option<PyErr>>,
}

/// What unwinds from a function that raised, through the reader or writer that called it.
struct Ended;

impl Shown {
    fn new(function: Option<Py<PyAny>>) -> Shown {
        Shown { function, is_told: AtomicBool::new(false), raised: Mutex::new(None) }
    }

    fn tell(&self, done: u64, total: u64) -> PyResult<()> {
        self.is_told.store(true, Ordering::Relaxed);
        match &self.function {
            Some(f) => Python::attach(|py| f.call1(py, (done, total)).map(drop)),
            None => Ok(()),
        }
    }

    /// Runs a reader or writer that tells how far it is. One that told nothing is told to be done.
    fn run<R: Send>(
        &self,
        py: Python<'_>,
        path: &Path,
        f: impl FnOnce(Option<io::Progress<'_>>) -> openwork::Result<R> + Send,
    ) -> PyResult<R> {
        let show = |done, total| {
            if let Err(e) = self.tell(done, total) {
                *self.raised.lock().unwrap_or_else(PoisonError::into_inner) = Some(e);
                // Readers and writers have no way to be told, and drop what is half done when they are unwound.
                resume_unwind(Box::new(Ended));
            }
        };
        let progress = self.function.is_some().then_some(io::Progress(&show));
        let made = run(py, || match catch_unwind(AssertUnwindSafe(|| f(progress))) {
            Ok(result) => result.map(Some),
            Err(why) if why.is::<Ended>() => Ok(None),
            Err(why) => resume_unwind(why),
        })?;
        if let Some(e) = self.raised.lock().unwrap_or_else(PoisonError::into_inner).take() {
            return Err(e);
        }
        if self.function.is_some() && !self.is_told.load(Ordering::Relaxed) {
            let size = std::fs::metadata(path)?.len();
            self.tell(size, size)?;
        }
        made.ok_or_else(|| PyRuntimeError::new_err("a progress function ended what it was told of, and raised nothing"))
    }
}

/// What a file says about its tensors, as JSON texts.
#[pyfunction]
pub fn file_info(py: Python<'_>, path: PathBuf) -> PyResult<Vec<String>> {
    let all = run(py, || io::info(&path))?;
    Ok(all.iter().map(|info| info.to_json().to_string()).collect())
}

fn state_dict(py: Python<'_>, tensors: Vec<(String, Bound<'_, Tensor>)>, metadata: &str) -> PyResult<StateDict> {
    let mut all = StateDict::new();
    for (name, tensor) in tensors {
        crate::errors::checked(py, all.insert(name, tensor.get().inner().clone()))?;
    }
    let metadata =
        serde_json::from_str(metadata).map_err(|e| pyo3::exceptions::PyValueError::new_err(e.to_string()))?;
    *all.metadata_mut() = metadata;
    Ok(all)
}

/// Writes named tensors to a safetensors or HDF5 file, as its name says.
#[pyfunction]
pub fn save_state_dict(
    py: Python<'_>,
    path: PathBuf,
    tensors: Vec<(String, Bound<'_, Tensor>)>,
    metadata: &str,
) -> PyResult<()> {
    let all = state_dict(py, tensors, metadata)?;
    run(py, || all.save(&path))
}

/// Named tensors as the bytes of a safetensors file.
#[pyfunction]
pub fn dump_state_dict(py: Python<'_>, tensors: Vec<(String, Bound<'_, Tensor>)>, metadata: &str) -> PyResult<Vec<u8>> {
    let all = state_dict(py, tensors, metadata)?;
    run(py, || all.to_safetensors())
}

/// All tensors of the bytes of a safetensors file.
#[pyfunction]
pub fn load_state_dict(py: Python<'_>, bytes: &[u8]) -> PyResult<Vec<(String, Tensor)>> {
    let all = run(py, || StateDict::from_safetensors(bytes))?;
    Ok(all.iter().map(|(name, x)| (name.to_string(), x.clone().into())).collect())
}

/// An open file of named tensors, read when they are asked for.
#[pyclass(frozen, module = "openwork._core")]
pub struct Archive {
    inner: Arc<io::state_dict::Archive>,
}

#[pymethods]
impl Archive {
    #[new]
    fn new(py: Python<'_>, path: PathBuf) -> PyResult<Archive> {
        Ok(Archive { inner: Arc::new(run(py, || io::state_dict::Archive::open(&path))?) })
    }

    fn names(&self) -> Vec<String> {
        self.inner.names().map(str::to_string).collect()
    }

    fn metadata(&self) -> String {
        serde_json::Value::from(self.inner.metadata().clone()).to_string()
    }

    fn tensor(&self, py: Python<'_>, name: &str) -> PyResult<Tensor> {
        self.knows(name)?;
        Ok(run(py, || self.inner.tensor(name))?.into())
    }

    fn rows(&self, py: Python<'_>, name: &str, start: usize, stop: usize) -> PyResult<Tensor> {
        self.knows(name)?;
        Ok(run(py, || self.inner.rows(name, start..stop))?.into())
    }
}

impl Archive {
    fn knows(&self, name: &str) -> PyResult<()> {
        if self.inner.names().any(|n| n == name) { Ok(()) } else { Err(PyKeyError::new_err(name.to_string())) }
    }
}
