//! DLPack: strided tensors given to other libraries, and taken from them, without copying.
//!
//! The structures are those of DLPack 1.1 (<https://github.com/dmlc/dlpack>). [`Tensor::to_dlpack`] shares memory and
//! says that it is read-only, for tensors never change; [`Tensor::to_dlpack_copy`] gives a copy that the other library
//! may write; [`Tensor::to_dlpack_legacy`] does so in the form before version 1, which cannot say "read-only".
//! [`Tensor::from_dlpack`] shares what another library made, on the CPU. The constituent arrays of a sparse tensor are
//! strided tensors themselves: [`Tensor::stored_values`], [`IndexArray::to_tensor`](crate::IndexArray::to_tensor),
//! [`interchange`](crate::exchange::binsparse).
//!
//! ```
//! use openwork::Tensor;
//! let x = Tensor::from_vec([2, 3], vec![1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0])?.permute_dims(&[1, 0])?;
//! let managed = x.to_dlpack()?; // into_raw() gives the pointer for a capsule
//! let y = Tensor::from_dlpack(managed)?;
//! assert_eq!((y.shape(), y.view::<f32>()?[[2, 1]]), (&[3, 2][..], 6.0));
//! # Ok::<(), openwork::Error>(())
//! ```
#![allow(unsafe_code)] // raw structures of a C interface; each block says why it is sound

use crate::base::mapped::Mapped;
use std::ffi::c_void;
use std::ptr::{self, NonNull};

use crate::base::buffer::Buffer;
use crate::base::error::{self, Result};
use crate::base::strided::Strided;
use crate::tensor::trace;
use crate::{DType, Tensor};

/// The version of the structures.
pub const VERSION: DLPackVersion = DLPackVersion { major: 1, minor: 1 };
/// Flag: the memory must not be written.
pub const FLAG_READ_ONLY: u64 = 1;
/// Flag: the memory is a copy made for this export.
pub const FLAG_IS_COPIED: u64 = 2;
/// Device type of main memory.
pub const CPU: i32 = 1;

/// Version of the structures: readers of another major version must not look further than the deleter.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DLPackVersion {
    /// Changes when old readers fail.
    pub major: u32,
    /// Changes when something is added.
    pub minor: u32,
}

/// Where memory is.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DLDevice {
    /// 1: main memory.
    pub device_type: i32,
    /// Which device of that type.
    pub device_id: i32,
}

/// An element type: 0 signed, 1 unsigned integer, 2 float, 4 bfloat, 5 complex, 6 bool; bits; lanes.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DLDataType {
    /// The kind.
    pub code: u8,
    /// Bits of an element; of both parts where it is complex.
    pub bits: u8,
    /// Elements of a vector; 1.
    pub lanes: u16,
}

/// An array.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct DLTensor {
    /// The memory; may be null where there is no element.
    pub data: *mut c_void,
    /// Where it is.
    pub device: DLDevice,
    /// Number of axes.
    pub ndim: i32,
    /// Element type.
    pub dtype: DLDataType,
    /// Size of each axis.
    pub shape: *mut i64,
    /// Strides in elements; null means C order.
    pub strides: *mut i64,
    /// Bytes from `data` to the first element.
    pub byte_offset: u64,
}

/// An array and its owner.
#[repr(C)]
#[derive(Debug)]
pub struct DLManagedTensorVersioned {
    /// Version of this structure.
    pub version: DLPackVersion,
    /// The owner's.
    pub manager_ctx: *mut c_void,
    /// Ends the life of the array; called once, with the structure itself.
    pub deleter: Option<unsafe extern "C" fn(*mut DLManagedTensorVersioned)>,
    /// What may be done with the memory.
    pub flags: u64,
    /// The array.
    pub dl_tensor: DLTensor,
}

/// An array and its owner, as before version 1.
#[repr(C)]
#[derive(Debug)]
pub struct DLManagedTensor {
    /// The array.
    pub dl_tensor: DLTensor,
    /// The owner's.
    pub manager_ctx: *mut c_void,
    /// Ends the life of the array; called once, with the structure itself.
    pub deleter: Option<unsafe extern "C" fn(*mut DLManagedTensor)>,
}

/// What the two structures have in common.
trait ManagedStruct: Sized {
    fn array(&self) -> &DLTensor;
    /// Calls the deleter.
    ///
    /// # Safety
    /// `at` must come from the structure's owner, and not have been deleted.
    unsafe fn delete(at: NonNull<Self>);
}

impl ManagedStruct for DLManagedTensorVersioned {
    fn array(&self) -> &DLTensor {
        &self.dl_tensor
    }
    unsafe fn delete(at: NonNull<Self>) {
        // SAFETY: the caller's promise.
        unsafe {
            if let Some(deleter) = (*at.as_ptr()).deleter {
                deleter(at.as_ptr());
            }
        }
    }
}

impl ManagedStruct for DLManagedTensor {
    fn array(&self) -> &DLTensor {
        &self.dl_tensor
    }
    unsafe fn delete(at: NonNull<Self>) {
        // SAFETY: the caller's promise.
        unsafe {
            if let Some(deleter) = (*at.as_ptr()).deleter {
                deleter(at.as_ptr());
            }
        }
    }
}

/// Owns a structure; its deleter is called when this is dropped.
#[derive(Debug)]
struct Owned<S: ManagedStruct>(NonNull<S>);

// SAFETY: whoever made it promised that the array may be used and deleted on any thread.
unsafe impl<S: ManagedStruct> Send for Owned<S> {}
// SAFETY: shared access only reads.
unsafe impl<S: ManagedStruct> Sync for Owned<S> {}

impl<S: ManagedStruct> Drop for Owned<S> {
    fn drop(&mut self) {
        // SAFETY: it is owned, so it has not been deleted.
        unsafe { S::delete(self.0) }
    }
}

impl<S: ManagedStruct> Owned<S> {
    fn get(&self) -> &S {
        // SAFETY: an owned structure lives until it is deleted.
        unsafe { self.0.as_ref() }
    }

    fn into_raw(self) -> *mut S {
        let _call = trace::call("from_dlpack", &[]);
        let at = self.0.as_ptr();
        std::mem::forget(self);
        at
    }
}

macro_rules! managed {
    ($name:ident, $structure:ident, $what:literal) => {
        #[doc = $what]
        /// Dropping it gives the memory back to its owner.
        #[derive(Debug)]
        pub struct $name(Owned<$structure>);

        impl $name {
            /// Takes over a structure from its producer.
            ///
            /// # Errors
            /// If the pointer is null.
            ///
            /// # Safety
            /// `at` must be null or point to a structure as DLPack describes it, of which the caller gives up ownership:
            /// shape and strides have `ndim` entries, the memory they span can be read until the deleter is called, on
            /// any thread, and nobody writes it while this library reads it, or while a slice or view of it is
            /// borrowed (between calls it may change).
            pub unsafe fn from_raw(at: *mut $structure) -> Result<$name> {
                let owned = NonNull::new(at).map(|at| $name(Owned(at)));
                owned.ok_or_else(|| error::invalid("at", "the pointer is null"))
            }

            /// Gives up ownership: the consumer calls the deleter.
            pub fn into_raw(self) -> *mut $structure {
                self.0.into_raw()
            }

            /// The structure.
            pub fn as_ptr(&self) -> *const $structure {
                self.0.0.as_ptr()
            }
        }
    };
}
managed!(Managed, DLManagedTensorVersioned, "An array and its owner.");
managed!(LegacyManaged, DLManagedTensor, "An array and its owner, in the form before version 1.");

fn code(dtype: DType) -> DLDataType {
    let code = match dtype {
        DType::Bool => 6,
        DType::BF16 => 4,
        d if d.is_complex() => 5,
        d if d.is_float() => 2,
        d if d.is_unsigned() => 1,
        _ => 0,
    };
    DLDataType { code, bits: dtype.size() as u8 * 8, lanes: 1 }
}

/// What an exported array needs to live.
struct Context<S> {
    structure: S,
    _shape: Vec<i64>,
    _strides: Vec<i64>,
    _owner: Buffer,
}

/// A structure that owns a share of the tensor's memory, on the heap.
fn export<S>(
    values: &Strided,
    make: impl FnOnce(DLTensor) -> S,
    context: fn(&mut S) -> &mut *mut c_void,
) -> NonNull<S> {
    let none = DLTensor {
        data: ptr::null_mut(),
        device: DLDevice { device_type: CPU, device_id: 0 },
        ndim: values.ndim() as i32,
        dtype: code(values.dtype),
        shape: ptr::null_mut(),
        strides: ptr::null_mut(),
        byte_offset: 0,
    };
    let mut shape: Vec<i64> = values.shape.mapped(|&n| n as i64);
    let mut strides: Vec<i64> = values.strides.mapped(|&n| n as i64);
    let bytes = values.buffer.bytes();
    // The first element, so that consumers that overlook the offset are right too.
    let first = if values.len() == 0 { bytes } else { &bytes[values.offset * values.dtype.size()..] };
    let data = first.as_ptr().cast_mut().cast();
    let array = DLTensor { data, shape: shape.as_mut_ptr(), strides: strides.as_mut_ptr(), ..none };
    let whole = Context { structure: make(array), _shape: shape, _strides: strides, _owner: values.buffer.clone() };
    let whole = Box::leak(Box::new(whole));
    let at: *mut Context<S> = whole;
    // SAFETY: `at` is the box just leaked, and nothing else refers to it.
    unsafe {
        *context(&mut (*at).structure) = at.cast();
        NonNull::new_unchecked(&raw mut (*at).structure)
    }
}

unsafe extern "C" fn delete_versioned(at: *mut DLManagedTensorVersioned) {
    // SAFETY: DLPack has the deleter called once with a structure that `export` made, whose context is its box.
    unsafe { drop(Box::from_raw((*at).manager_ctx.cast::<Context<DLManagedTensorVersioned>>())) }
}

unsafe extern "C" fn delete_legacy(at: *mut DLManagedTensor) {
    // SAFETY: as in `delete_versioned`.
    unsafe { drop(Box::from_raw((*at).manager_ctx.cast::<Context<DLManagedTensor>>())) }
}

fn versioned(values: &Strided, flags: u64) -> Managed {
    let make = |dl_tensor| DLManagedTensorVersioned {
        version: VERSION,
        manager_ctx: ptr::null_mut(),
        deleter: Some(delete_versioned),
        flags,
        dl_tensor,
    };
    Managed(Owned(export(values, make, |s| &mut s.manager_ctx)))
}

/// # Exchanging: DLPack
impl Tensor {
    fn for_dlpack(&self) -> Result<&Strided> {
        let Some(values) = self.strided() else {
            let why = format!(
                "DLPack holds strided tensors, this one is {}; export its arrays one by one (interchange, stored_values), \
                 or use to_dense() first",
                self.layout()
            );
            return Err(error::layout(why));
        };
        if i32::try_from(values.ndim()).is_err() || values.shape.iter().any(|&n| i64::try_from(n).is_err()) {
            return Err(error::shape(&[&values.shape], "DLPack counts in 64-bit signed integers"));
        }
        Ok(values)
    }

    /// The tensor as DLPack, sharing its memory, which is marked read-only. Strides are as they are, 0 and negative ones
    /// among them.
    ///
    /// # Errors
    /// If the tensor is not strided.
    pub fn to_dlpack(&self) -> Result<Managed> {
        let _call = trace::call("to_dlpack", &[]);
        Ok(versioned(self.for_dlpack()?, FLAG_READ_ONLY))
    }

    /// A copy of the tensor in C order as DLPack, which its consumer may write.
    ///
    /// # Errors
    /// If the tensor is not strided.
    pub fn to_dlpack_copy(&self) -> Result<Managed> {
        let _call = trace::call("to_dlpack_copy", &[]);
        Ok(versioned(&own_copy(self.for_dlpack()?)?, FLAG_IS_COPIED))
    }

    /// A copy of the tensor in C order as DLPack before version 1, which has no word for read-only memory.
    ///
    /// # Errors
    /// If the tensor is not strided.
    pub fn to_dlpack_legacy(&self) -> Result<LegacyManaged> {
        let _call = trace::call("to_dlpack_legacy", &[]);
        let values = own_copy(self.for_dlpack()?)?;
        let make =
            |dl_tensor| DLManagedTensor { dl_tensor, manager_ctx: ptr::null_mut(), deleter: Some(delete_legacy) };
        Ok(LegacyManaged(Owned(export(&values, make, |s| &mut s.manager_ctx))))
    }

    /// A strided tensor over the memory of another library, which keeps it until the last tensor over it is gone.
    /// Truth values, and memory that is not aligned for its elements, are copied. As an index array such a tensor is copied by the safe
    /// functions ([`IndexArray::share`](crate::IndexArray::share)).
    ///
    /// # Errors
    /// If the structure is of another major version, the memory is not on the CPU, the element type is one that tensors
    /// do not have, shape or strides are out of range, or a truth value is not 0 or 1. The array is given back then.
    pub fn from_dlpack(managed: Managed) -> Result<Tensor> {
        let _call = trace::call("from_dlpack", &[]);
        let version = managed.0.get().version;
        if version.major != VERSION.major {
            let why = format!("version {}.{} is not known, 1.x are", version.major, version.minor);
            return Err(error::invalid("managed", why));
        }
        import(managed.0)
    }

    /// As [`Tensor::from_dlpack`], of a structure before version 1.
    ///
    /// # Errors
    /// As [`Tensor::from_dlpack`].
    pub fn from_dlpack_legacy(managed: LegacyManaged) -> Result<Tensor> {
        import(managed.0)
    }
}

/// Memory that no tensor shares.
fn own_copy(values: &Strided) -> Result<Strided> {
    let len = values.len() * values.dtype.size();
    let buffer = Buffer::build(len, |out| values.read(0, out))?;
    Ok(Strided::new(buffer, values.dtype, values.shape.clone()))
}

fn bad<T>(argument: &str, why: impl std::fmt::Display) -> Result<T> {
    Err(error::invalid(argument, why))
}

fn import<S: ManagedStruct + 'static>(owned: Owned<S>) -> Result<Tensor> {
    let _call = trace::call("from_dlpack", &[]);
    let array = *owned.get().array();
    if array.device.device_type != CPU {
        let device = array.device;
        return bad(
            "device",
            format_args!("memory on device {}:{}, only 1 (CPU) is read", device.device_type, device.device_id),
        );
    }
    let Some(dtype) = DType::ALL.into_iter().find(|&d| code(d) == array.dtype) else {
        let DLDataType { code, bits, lanes } = array.dtype;
        return bad(
            "dtype",
            format_args!("code {code} of {bits} bits and {lanes} lanes is no element type of tensors"),
        );
    };
    let Some(ndim) = usize::try_from(array.ndim).ok().filter(|&n| n <= 1024) else {
        return bad("ndim", format_args!("{} axes, 0 to 1024 are allowed", array.ndim));
    };
    if ndim > 0 && array.shape.is_null() {
        return bad("shape", format_args!("null for {ndim} axes"));
    }
    // SAFETY: `from_raw` was promised `ndim` entries of shape, and of strides where these are given.
    let read = |at: *mut i64| (0..ndim).mapped(|d| unsafe { at.add(d).read() });
    let sizes = read(array.shape);
    let Ok(shape) = sizes.try_mapped(|&n| usize::try_from(n)) else {
        return bad("shape", format_args!("{sizes:?} has a negative size"));
    };
    let strides = if array.strides.is_null() { None } else { Some(read(array.strides)) };
    let size = dtype.size();
    // Nothing is made here, so no memory has to be free; but what no memory could hold is a mistake.
    let bytes = shape.iter().try_fold(size, |bytes, &n| bytes.checked_mul(n)).filter(|&b| isize::try_from(b).is_ok());
    if bytes.is_none() && !shape.contains(&0) {
        crate::engine::convert::dense_len(&shape, dtype)?;
    }
    if shape.contains(&0) {
        return Ok(Tensor::from_strided(Strided::new(Buffer::empty(), dtype, shape)));
    }
    let strides: Vec<isize> = match strides {
        Some(given) => given.mapped(|&s| s as isize),
        None => crate::base::strided::c_strides(&shape),
    };
    // The elements that the array spans, counted from its first.
    let (mut low, mut high) = (0i128, 0i128);
    for (&n, &s) in shape.iter().zip(&strides) {
        let reach = (n as i128 - 1) * s as i128;
        if reach < 0 { low += reach } else { high += reach }
    }
    let span = (high - low + 1) * size as i128;
    let start = (array.data as i128) + i128::from(array.byte_offset) + low * size as i128;
    if array.data.is_null() || start <= 0 || span > isize::MAX as i128 || start + span > usize::MAX as i128 {
        return bad("strides", format_args!("{strides:?} over shape {shape:?} reach outside memory"));
    }
    let (start, offset) = (start as usize, (-low) as usize);
    let span = span as usize;
    let at = array.data.cast::<u8>().cast_const().with_addr(start);
    let buffer = if start.is_multiple_of(dtype.real().size()) {
        // SAFETY: as above, until the owner is dropped with the last buffer.
        unsafe { Buffer::foreign(at, span, Box::new(owned), true) }
    } else {
        // SAFETY: as above.
        let bytes = unsafe { std::slice::from_raw_parts(at, span) };
        Buffer::build(span, |out| out.copy_from_slice(bytes))?
    };
    let (shape, strides) = (shape.into(), strides.into());
    if dtype != DType::Bool {
        return Ok(Tensor::from_strided(Strided { buffer, dtype, shape, strides, offset }));
    }
    // Truth values are copied: what lies between them may be anything, and what changes later could be.
    let copy = own_copy(&Strided { buffer, dtype: DType::U8, shape, strides, offset })?;
    match copy.buffer.bytes().iter().find(|&&b| b > 1) {
        Some(odd) => bad("data", format_args!("{odd} among the truth values, which are 0 and 1")),
        None => Ok(Tensor::from_strided(Strided { dtype, ..copy })),
    }
}
