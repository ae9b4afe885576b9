//! What the crate `hdf5` has no safe form of: elements to and from bytes, text of any length, files in memory, and
//! telling element types apart exactly.
#![allow(unsafe_code)] // libhdf5 is C: ids and pointers

use crate::base::mapped::Mapped;
use std::ffi::{CStr, CString, c_char, c_void};
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};

use ::hdf5::sync::sync;
use ::hdf5::types::TypeDescriptor;
use ::hdf5::{Container, Dataset, Dataspace, Datatype, File, Result, from_id, h5check};
use hdf5_sys::h5a::H5Aread;
use hdf5_sys::h5d::{H5Dread, H5Dvlen_reclaim};
use hdf5_sys::h5f::{H5F_ACC_RDONLY, H5Fopen};
use hdf5_sys::h5i::{H5I_type_t, H5Iget_type, hid_t};
use hdf5_sys::h5p::{H5P_CLS_FILE_ACCESS, H5P_DEFAULT, H5Pclose, H5Pcreate, H5Pset_fapl_core, H5Pset_file_image};
use hdf5_sys::h5s::H5S_ALL;
use hdf5_sys::h5t::{
    H5T_class_t, H5T_order_t, H5T_sign_t, H5T_str_t, H5Tget_class, H5Tget_ebias, H5Tget_fields, H5Tget_offset,
    H5Tget_order, H5Tget_precision, H5Tget_sign, H5Tget_size, H5Tget_strpad, H5Tis_variable_str,
};

use super::super::store::{ElementKind, Padding, unpadded};
use openwork_ops::DType;

/// The element type of a dataset or an attribute.
pub(crate) fn kind(data: &Container) -> Result<ElementKind> {
    Ok(kind_of(&data.dtype()?))
}

fn kind_of(dtype: &Datatype) -> ElementKind {
    use H5T_class_t as Class;
    let id = dtype.id();
    // SAFETY: `id` is a datatype for as long as `dtype` lives; the call reads it.
    match sync(|| unsafe { H5Tget_class(id) }) {
        Class::H5T_INTEGER => {
            integer(id).map_or(ElementKind::Other("integers of an unusual form"), ElementKind::Number)
        }
        Class::H5T_FLOAT => float(id).map_or(ElementKind::Other("floats of an unusual form"), ElementKind::Number),
        Class::H5T_STRING => ElementKind::Text,
        Class::H5T_ENUM if dtype.size() == 1 => match dtype.to_descriptor() {
            Ok(TypeDescriptor::Boolean) => ElementKind::Truth,
            _ => ElementKind::Other("an enumeration"),
        },
        Class::H5T_ENUM => ElementKind::Other("an enumeration"),
        Class::H5T_COMPOUND if dtype.size() == 8 && is_complex(dtype, DType::Complex64) => {
            ElementKind::Number(DType::Complex64)
        }
        Class::H5T_COMPOUND if dtype.size() == 16 && is_complex(dtype, DType::Complex128) => {
            ElementKind::Number(DType::Complex128)
        }
        Class::H5T_COMPOUND => ElementKind::Other("records"),
        Class::H5T_OPAQUE => ElementKind::Other("opaque bytes"),
        Class::H5T_BITFIELD if dtype.size() == 1 => ElementKind::Truth,
        Class::H5T_BITFIELD => ElementKind::Other("bit fields"),
        Class::H5T_REFERENCE => ElementKind::Other("references"),
        Class::H5T_VLEN => ElementKind::Other("lists"),
        Class::H5T_ARRAY => ElementKind::Other("arrays"),
        Class::H5T_TIME => ElementKind::Other("times"),
        _ => ElementKind::Other("elements of an unknown class"),
    }
}

/// Whether a type is the pair that h5py stores, in this machine's byte order or the other.
fn is_complex(dtype: &Datatype, complex: DType) -> bool {
    let real = |t: &TypeDescriptor| matches!(t, TypeDescriptor::Float(_)) && t.size() == complex.real().size();
    match dtype.to_descriptor() {
        Ok(TypeDescriptor::Compound(t)) => {
            let names: Vec<_> = t.fields.mapped(|f| (f.name.as_str(), f.offset));
            names == [("r", 0), ("i", complex.size() / 2)] && t.fields.iter().all(|f| real(&f.ty))
        }
        _ => false,
    }
}

fn ordered(id: hid_t) -> bool {
    // SAFETY: the id is a number type of a live `Datatype`; the call reads it.
    let order = sync(|| unsafe { H5Tget_order(id) });
    matches!(order, H5T_order_t::H5T_ORDER_LE | H5T_order_t::H5T_ORDER_BE)
}

fn integer(id: hid_t) -> Option<DType> {
    // SAFETY: as above.
    let (size, precision, offset, sign) =
        sync(|| unsafe { (H5Tget_size(id), H5Tget_precision(id), H5Tget_offset(id), H5Tget_sign(id)) });
    if precision != size * 8 || offset != 0 || !ordered(id) {
        return None;
    }
    match (size, sign) {
        (1, H5T_sign_t::H5T_SGN_2) => Some(DType::I8),
        (2, H5T_sign_t::H5T_SGN_2) => Some(DType::I16),
        (4, H5T_sign_t::H5T_SGN_2) => Some(DType::I32),
        (8, H5T_sign_t::H5T_SGN_2) => Some(DType::I64),
        (1, H5T_sign_t::H5T_SGN_NONE) => Some(DType::U8),
        (2, H5T_sign_t::H5T_SGN_NONE) => Some(DType::U16),
        (4, H5T_sign_t::H5T_SGN_NONE) => Some(DType::U32),
        (8, H5T_sign_t::H5T_SGN_NONE) => Some(DType::U64),
        _ => None,
    }
}

/// IEEE 754 binary16, 32 and 64 alone.
fn float(id: hid_t) -> Option<DType> {
    let (mut sign, mut exponent, mut width, mut mantissa, mut digits) = (0, 0, 0, 0, 0);
    // SAFETY: the id is a float type of a live `Datatype`; the pointers are to locals.
    let (size, precision, offset, bias, status) = sync(|| unsafe {
        let status = H5Tget_fields(id, &mut sign, &mut exponent, &mut width, &mut mantissa, &mut digits);
        (H5Tget_size(id), H5Tget_precision(id), H5Tget_offset(id), H5Tget_ebias(id), status)
    });
    if status < 0 || precision != size * 8 || offset != 0 || !ordered(id) {
        return None;
    }
    match (size, sign, exponent, width, mantissa, digits, bias) {
        (2, 15, 10, 5, 0, 10, 15) => Some(DType::F16),
        (4, 31, 23, 8, 0, 23, 127) => Some(DType::F32),
        (8, 63, 52, 11, 0, 52, 1023) => Some(DType::F64),
        _ => None,
    }
}

/// The type of elements in memory. Truth values and `bfloat16` are integers in files.
pub(crate) fn memory(dtype: DType) -> Result<Datatype> {
    match dtype {
        DType::I8 => Datatype::from_type::<i8>(),
        DType::I16 => Datatype::from_type::<i16>(),
        DType::I32 => Datatype::from_type::<i32>(),
        DType::I64 => Datatype::from_type::<i64>(),
        DType::Bool | DType::U8 => Datatype::from_type::<u8>(),
        DType::BF16 | DType::U16 => Datatype::from_type::<u16>(),
        DType::U32 => Datatype::from_type::<u32>(),
        DType::U64 => Datatype::from_type::<u64>(),
        DType::F16 => Datatype::from_type::<half::f16>(),
        DType::F32 => Datatype::from_type::<f32>(),
        DType::F64 => Datatype::from_type::<f64>(),
        DType::Complex64 => Datatype::from_type::<num_complex::Complex<f32>>(),
        DType::Complex128 => Datatype::from_type::<num_complex::Complex<f64>>(),
        _ => Err(format!("{dtype} has no type in memory").into()),
    }
}

/// Reads elements from `start` on until `out` is full, as this machine has them.
pub(crate) fn read(data: &Dataset, kind: ElementKind, start: u64, out: &mut [u8]) -> Result<()> {
    let memory = match kind {
        ElementKind::Number(dtype) => memory(dtype)?,
        ElementKind::Truth => data.dtype()?, // bytes in the file, and kept
        ElementKind::Text | ElementKind::Other(_) => return Err("these elements are no numbers".into()),
    };
    let n = out.len() / memory.size();
    if n == 0 {
        return Ok(());
    }
    let (here, there) = selections(data, start, n)?;
    let ids = (data.id(), memory.id(), here.as_ref().map_or(H5S_ALL, |s| s.id()), there.map(|s| (s.id(), s)));
    let file = ids.3.as_ref().map_or(H5S_ALL, |s| s.0);
    // SAFETY: `memory` is a number type, so that no pointers are written; the selections have `n` elements, which
    // `out` has room for; all ids live until the end of the call.
    h5check(sync(|| unsafe { H5Dread(ids.0, ids.1, ids.2, file, H5P_DEFAULT, out.as_mut_ptr().cast()) }))?;
    Ok(())
}

/// The elements in memory and in the file, `None` for all.
fn selections(data: &Dataset, start: u64, n: usize) -> Result<(Option<Dataspace>, Option<Dataspace>)> {
    let space = data.space()?;
    let len = space.size();
    if start == 0 && len == n {
        return Ok((None, None));
    }
    let start = usize::try_from(start).unwrap_or(usize::MAX);
    match (start.checked_add(n), space.ndim()) {
        (Some(end), 1) if end <= len => Ok((Some(Dataspace::try_new(n)?), Some(space.select(start..end)?))),
        _ => Err(format!("{n} elements from {start} on are asked for, there are {len}").into()),
    }
}

/// The one text that a dataset or an attribute holds, without its padding. `None` if it is longer than `most`.
pub(crate) fn text(data: &Container, most: usize) -> Result<Option<Vec<u8>>> {
    let dtype = data.dtype()?;
    let id = dtype.id();
    if kind_of(&dtype) != ElementKind::Text || data.size() != 1 {
        return Err("not one text".into());
    }
    // SAFETY: `id` is a string type for as long as `dtype` lives.
    let (variable, padding) = sync(|| unsafe { (H5Tis_variable_str(id), H5Tget_strpad(id)) });
    if variable > 0 {
        let space = data.space()?;
        let mut at: *mut c_char = ptr::null_mut();
        // SAFETY: one element of a string type of variable length is one pointer, to a text that ends with NUL and
        // belongs to libhdf5, which takes it back after it was copied.
        let out = sync(|| unsafe {
            read_one(data, id, ptr::from_mut(&mut at).cast())?;
            let text = if at.is_null() { &[] } else { CStr::from_ptr(at).to_bytes() };
            let out = (text.len() <= most).then(|| text.to_vec());
            h5check(H5Dvlen_reclaim(id, space.id(), H5P_DEFAULT, ptr::from_mut(&mut at).cast()))?;
            Ok(out)
        });
        return out;
    }
    if dtype.size() > most {
        return Ok(None);
    }
    let mut out = vec![0u8; dtype.size()];
    // SAFETY: one element takes the bytes of its type, and `out` has them.
    sync(|| unsafe { read_one(data, id, out.as_mut_ptr().cast()) })?;
    let padding = match padding {
        H5T_str_t::H5T_STR_NULLTERM => Padding::Terminated,
        H5T_str_t::H5T_STR_SPACEPAD => Padding::Spaces,
        _ => Padding::Zeros,
    };
    Ok(Some(unpadded(out, padding)))
}

/// # Safety
/// `out` must have room for all elements of the type `memory`.
unsafe fn read_one(data: &Container, memory: hid_t, out: *mut c_void) -> Result<()> {
    // SAFETY: the container is one of the two, the caller answers for `out`.
    let status = unsafe {
        match H5Iget_type(data.id()) {
            H5I_type_t::H5I_ATTR => H5Aread(data.id(), memory, out),
            _ => H5Dread(data.id(), memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, out),
        }
    };
    h5check(status).map(|_| ())
}

/// Opens the bytes of a file.
pub(crate) fn open_bytes(bytes: &[u8]) -> Result<File> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    // Files in memory of one name are one file to libhdf5.
    let name = format!("openwork-memory-{}", NEXT.fetch_add(1, Ordering::Relaxed));
    let name = CString::new(name).map_err(|e| e.to_string())?;
    sync(|| {
        // SAFETY: the property list is ours until it is closed; libhdf5 copies the bytes and does not write through the
        // pointer; the id of the file is handed on once.
        unsafe {
            let access = h5check(H5Pcreate(*H5P_CLS_FILE_ACCESS))?;
            let opened = h5check(H5Pset_fapl_core(access, 1 << 16, 0))
                .and_then(|_| h5check(H5Pset_file_image(access, bytes.as_ptr().cast_mut().cast(), bytes.len())))
                .and_then(|_| h5check(H5Fopen(name.as_ptr(), H5F_ACC_RDONLY, access)));
            H5Pclose(access);
            from_id(opened?)
        }
    })
}
