//! DLPack: arrays given to Python as capsules, and taken from those that others give.
#![allow(unsafe_code)] // capsules are C pointers with a name; each block says why it is sound

use std::ffi::{CStr, c_void};

use openwork::Tensor;
use openwork::exchange::dlpack::{DLManagedTensor, DLManagedTensorVersioned, LegacyManaged, Managed};
use pyo3::exceptions::{PyBufferError, PyTypeError, PyValueError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict};

use crate::errors::checked;

const VERSIONED: &CStr = c"dltensor_versioned";
const LEGACY: &CStr = c"dltensor";

/// Deletes what a capsule holds that nobody took.
unsafe extern "C" fn drop_versioned(capsule: *mut ffi::PyObject) {
    // SAFETY: Python calls this once, with the capsule that `give` made; whoever takes its pointer renames it.
    unsafe {
        if ffi::PyCapsule_IsValid(capsule, VERSIONED.as_ptr()) == 1 {
            let at = ffi::PyCapsule_GetPointer(capsule, VERSIONED.as_ptr());
            drop(Managed::from_raw(at.cast::<DLManagedTensorVersioned>()));
        }
    }
}

/// As `drop_versioned`, of the form before version 1.
unsafe extern "C" fn drop_legacy(capsule: *mut ffi::PyObject) {
    // SAFETY: as above.
    unsafe {
        if ffi::PyCapsule_IsValid(capsule, LEGACY.as_ptr()) == 1 {
            let at = ffi::PyCapsule_GetPointer(capsule, LEGACY.as_ptr());
            drop(LegacyManaged::from_raw(at.cast::<DLManagedTensor>()));
        }
    }
}

/// A capsule over a strided tensor: shared and read-only, or a copy that may be written. A consumer that knows no
/// version gets a copy, for it could not be told not to write.
pub fn give<'py>(py: Python<'py>, x: &Tensor, is_versioned: bool, is_copy: bool) -> PyResult<Bound<'py, PyAny>> {
    let capsule = if is_versioned {
        let managed = checked(py, if is_copy { x.to_dlpack_copy() } else { x.to_dlpack() })?;
        let at: *mut c_void = managed.into_raw().cast();
        // SAFETY: the pointer is not null, the name is static, and `drop_versioned` takes what the capsule holds.
        let capsule = unsafe { ffi::PyCapsule_New(at, VERSIONED.as_ptr(), Some(drop_versioned)) };
        if capsule.is_null() {
            // SAFETY: no capsule took the pointer, which `into_raw` gave.
            drop(unsafe { Managed::from_raw(at.cast()) });
        }
        capsule
    } else {
        let at: *mut c_void = checked(py, x.to_dlpack_legacy())?.into_raw().cast();
        // SAFETY: as above.
        let capsule = unsafe { ffi::PyCapsule_New(at, LEGACY.as_ptr(), Some(drop_legacy)) };
        if capsule.is_null() {
            // SAFETY: as above.
            drop(unsafe { LegacyManaged::from_raw(at.cast()) });
        }
        capsule
    };
    // SAFETY: a new reference, or null with an exception set.
    unsafe { Bound::from_owned_ptr_or_err(py, capsule) }
}

/// The strided tensor over an array that has `__dlpack__`, sharing its memory.
pub fn take(object: &Bound<'_, PyAny>) -> PyResult<Tensor> {
    let py = object.py();
    let options = PyDict::new(py);
    options.set_item("max_version", (1, 1))?;
    let capsule = match object.call_method("__dlpack__", (), Some(&options)) {
        // Producers before version 1 know no `max_version`.
        Err(e) if e.is_instance_of::<PyTypeError>(py) => object.call_method0("__dlpack__")?,
        other => other?,
    };
    of_capsule(&capsule)
}

/// The tensor in a capsule, which is marked as used.
pub fn of_capsule(capsule: &Bound<'_, PyAny>) -> PyResult<Tensor> {
    let py = capsule.py();
    let capsule = capsule.cast::<PyCapsule>().map_err(|_| PyTypeError::new_err("__dlpack__ gave no capsule"))?;
    let at = capsule.as_ptr();
    // SAFETY: `at` is a capsule, which lives while `capsule` does; its pointer is asked for by the name that it has, and the
    // name that says "used" is static. From then on the structure is ours: the capsule's destructor leaves it alone.
    unsafe {
        if ffi::PyCapsule_IsValid(at, VERSIONED.as_ptr()) == 1 {
            let structure = ffi::PyCapsule_GetPointer(at, VERSIONED.as_ptr());
            if ffi::PyCapsule_SetName(at, c"used_dltensor_versioned".as_ptr()) != 0 {
                return Err(PyErr::fetch(py));
            }
            let managed = checked(py, Managed::from_raw(structure.cast()))?;
            return Tensor::from_dlpack(managed).map_err(|e| PyBufferError::new_err(e.to_string()));
        }
        if ffi::PyCapsule_IsValid(at, LEGACY.as_ptr()) == 1 {
            let structure = ffi::PyCapsule_GetPointer(at, LEGACY.as_ptr());
            if ffi::PyCapsule_SetName(at, c"used_dltensor".as_ptr()) != 0 {
                return Err(PyErr::fetch(py));
            }
            let managed = checked(py, LegacyManaged::from_raw(structure.cast()))?;
            return Tensor::from_dlpack_legacy(managed).map_err(|e| PyBufferError::new_err(e.to_string()));
        }
    }
    Err(PyValueError::new_err("the capsule is no DLPack array, or was used before: each can be taken once"))
}
