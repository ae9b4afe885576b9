//! Memory across the border: libtorch's kept alive by a share of its reference count, ours lent to it or copied.
#![allow(unsafe_code)] // foreign memory seen as bytes, and ours by a foreign library; each block says why it is sound

use std::cell::RefCell;
use std::sync::atomic::{AtomicUsize, Ordering};

use tch::{Device, Kind, TchError};

use crate::base::buffer::Buffer;
use crate::base::error::{self, Error, Result};
use crate::base::mapped::Mapped;
use crate::base::strided::Strided;
use crate::{DType, Tensor};

/// Shares of libtorch's memory that buffers hold.
static HELD: AtomicUsize = AtomicUsize::new(0);

/// The number of libtorch tensors whose memory is kept alive by tensors of this library: for finding leaks.
pub fn held() -> usize {
    HELD.load(Ordering::Relaxed)
}

/// A share of the reference count of a tensor of libtorch. Its memory lives until the last buffer over it is dropped.
struct Held(tch::Tensor);

// SAFETY: what is called through a shared reference (`lent_back`) asks for the address, and makes a view, of a tensor
// that nobody changes: the constant functions of libtorch's tensors, which may run on several threads at once, as its
// reference counts are atomic.
unsafe impl Sync for Held {}

impl Held {
    fn new(t: tch::Tensor) -> Held {
        HELD.fetch_add(1, Ordering::Relaxed);
        Held(t)
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        HELD.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The first line of what libtorch says; the others are its own call stack.
#[cold]
pub(super) fn of_torch(e: TchError) -> Error {
    let text = e.to_string();
    let line = text.lines().next().unwrap_or_default();
    error::invalid("torch", line.trim_start_matches("Internal torch error: ").to_string())
}

/// The element type of a kind.
///
/// # Errors
/// If tensors here have none such.
pub(super) fn dtype_of(t: &tch::Tensor) -> Result<DType> {
    let kind = t.f_kind().map_err(|_| error::invalid("torch", "an element type that the crate tch does not know"))?;
    let known = DType::ALL.into_iter().find(|&d| kind_of(d) == Some(kind));
    known.ok_or_else(|| {
        let instead = match kind {
            Kind::QInt8 | Kind::QUInt8 | Kind::QInt32 => "dequantize() gives numbers",
            Kind::ComplexHalf => "to_kind(Kind::ComplexFloat) gives one that is known",
            _ => "to_kind(Kind::Float) gives one that is known",
        };
        error::invalid("torch", format_args!("{kind:?} is no element type of tensors here; {instead}"))
    })
}

/// The kind of an element type, if libtorch has it.
pub(super) fn kind_of(dtype: DType) -> Option<Kind> {
    Some(match dtype {
        DType::Bool => Kind::Bool,
        DType::I8 => Kind::Int8,
        DType::I16 => Kind::Int16,
        DType::I32 => Kind::Int,
        DType::I64 => Kind::Int64,
        DType::U8 => Kind::Uint8,
        DType::F16 => Kind::Half,
        DType::BF16 => Kind::BFloat16,
        DType::F32 => Kind::Float,
        DType::F64 => Kind::Double,
        DType::Complex64 => Kind::ComplexFloat,
        DType::Complex128 => Kind::ComplexDouble,
        _ => return None,
    })
}

/// The kind of an element type.
///
/// # Errors
/// If libtorch has none, or none that `tch` knows.
pub(super) fn kind(dtype: DType) -> Result<Kind> {
    kind_of(dtype).ok_or_else(|| {
        let wide = if dtype == DType::U16 { DType::I32 } else { DType::I64 };
        error::dtype(&[dtype], format_args!("the crate tch has no element type for it; cast({wide}) gives one it has"))
    })
}

/// Sizes or strides as libtorch counts.
///
/// # Errors
/// If one is beyond its range.
pub(super) fn sizes(shape: &[usize]) -> Result<Vec<i64>> {
    let sizes = shape.try_mapped(|&n| i64::try_from(n));
    sizes.map_err(|_| error::shape(&[shape], "libtorch counts in 64-bit signed integers"))
}

/// A strided tensor of libtorch's over its own memory, shared. Truth values, which libtorch could make any byte, are
/// checked and copied.
///
/// # Errors
/// If the element type is unknown, or libtorch fails.
pub(super) fn shared(t: &tch::Tensor) -> Result<Strided> {
    let dtype = dtype_of(t)?;
    let mut t = t.shallow_clone();
    if dtype.is_complex() && t.f_is_conj().map_err(of_torch)? {
        t = t.f_resolve_conj().map_err(of_torch)?; // the bit stands for an op that has not run
    }
    if t.f_is_neg().map_err(of_torch)? {
        t = t.f_resolve_neg().map_err(of_torch)?;
    }
    if dtype == DType::Bool {
        t = t.f_contiguous().map_err(of_torch)?;
    }
    let wrong = |what: &str| error::invalid("torch", what.to_string());
    let shape = t.size().try_mapped(|&n| usize::try_from(n)).map_err(|_| wrong("a negative size"))?;
    let strides = t.stride().try_mapped(|&n| usize::try_from(n)).map_err(|_| wrong("a negative stride"))?;
    if crate::engine::convert::dense_len(&shape, dtype).is_err() && !strides.contains(&0) {
        return Err(wrong("more elements than memory has room for"));
    }
    if shape.contains(&0) {
        return Ok(Strided::new(Buffer::empty(), dtype, shape));
    }
    let reach = shape.iter().zip(&strides).try_fold(0usize, |all, (n, s)| (n - 1).checked_mul(*s)?.checked_add(all));
    let span = reach.and_then(|r| r.checked_add(1)?.checked_mul(dtype.size()));
    let span = span.filter(|&s| s <= isize::MAX as usize).ok_or_else(|| wrong("strides reach outside memory"))?;
    let at = t.data_ptr().cast::<u8>().cast_const();
    if at.is_null() {
        return Err(wrong("a tensor without memory (a tensor of zeros that are only noted?); copy() gives it some"));
    }
    let strides: Vec<isize> = strides.mapped(|&s| s as isize);
    let aligned = at.addr().is_multiple_of(dtype.real().size());
    let buffer = if aligned && dtype != DType::Bool {
        // SAFETY: libtorch keeps `span` bytes from the first element of a strided tensor for as long as `Held` has its
        // share of the reference count. Nobody writes them while this library reads: the rule of `from_torch`.
        unsafe { Buffer::foreign(at, span, Box::new(Held::new(t)), true) }
    } else {
        // SAFETY: as above; `t` lives to the end of this function.
        let bytes = unsafe { std::slice::from_raw_parts(at, span) };
        if dtype == DType::Bool
            && let Some(odd) = bytes.iter().find(|&&b| b > 1)
        {
            return Err(wrong(&format!("{odd} among the truth values, which are 0 and 1")));
        }
        Buffer::build(span, |out| out.copy_from_slice(bytes))?
    };
    Ok(Strided { buffer, dtype, shape: shape.into(), strides: strides.into(), offset: 0 })
}

/// How arrays cross the border to libtorch.
pub(super) enum Crossing {
    /// Copied, unless the memory is libtorch's.
    Copied,
    /// Lent where libtorch can take it as it lies. What is lent is kept here, and must outlive what results: some of it is
    /// made for the purpose, and nobody else has it.
    Lent(RefCell<Vec<Buffer>>),
}

impl Crossing {
    pub(super) fn lending() -> Crossing {
        Crossing::Lent(RefCell::default())
    }
}

/// A strided array for libtorch. Of one that lies `in_order` its kernels expect no gaps.
///
/// # Errors
/// If libtorch has no such element type, or memory is short.
pub(super) fn array(values: &Strided, crossing: &Crossing, in_order: bool) -> Result<tch::Tensor> {
    let kind = kind(values.dtype)?;
    let shape = sizes(&values.shape)?;
    if values.len() == 0 {
        return tch::Tensor::f_empty(&shape[..], (kind, Device::Cpu)).map_err(of_torch);
    }
    let takes_strides = !in_order || values.is_contiguous();
    if takes_strides && let Some(t) = lent_back(values, kind, &shape)? {
        return Ok(t);
    }
    if let Crossing::Lent(kept) = crossing
        && takes_strides
        && values.strides.iter().all(|&s| s >= 0)
    {
        kept.borrow_mut().push(values.buffer.clone());
        let strides = values.strides.mapped(|&s| s as i64);
        let first = &values.buffer.bytes()[values.offset * values.dtype.size()..];
        // SAFETY: the array spans shape and strides within its buffer, and these are not negative. The buffer is kept
        // beside what results for as long as that lives, which `with_torch` sees to; nobody writes through it and nothing of
        // it stays, which its caller promises.
        return unsafe { tch::Tensor::f_from_blob(first.as_ptr(), &shape, &strides, kind, Device::Cpu) }
            .map_err(of_torch);
    }
    tch::Tensor::f_from_data_size(&values.dense_bytes()?, &shape, kind).map_err(of_torch)
}

/// A view of libtorch's own memory, if the array lies in that.
fn lent_back(values: &Strided, kind: Kind, shape: &[i64]) -> Result<Option<tch::Tensor>> {
    let Some(Held(base)) = values.buffer.lender().and_then(|lender| lender.downcast_ref::<Held>()) else {
        return Ok(None);
    };
    if base.f_kind().ok() != Some(kind) || values.strides.iter().any(|&s| s < 0) {
        return Ok(None);
    }
    let first = values.buffer.bytes().as_ptr().addr() + values.offset * values.dtype.size();
    let Some(beyond) = first.checked_sub(base.data_ptr().addr()) else { return Ok(None) };
    let offset = base.f_storage_offset().map_err(of_torch)? + (beyond / values.dtype.size()) as i64;
    let strides = values.strides.mapped(|&s| s as i64);
    base.f_as_strided(shape, &strides[..], offset).map(Some).map_err(of_torch)
}

/// A one-dimensional integer tensor of libtorch's as an index array, sharing memory.
///
/// # Safety
/// Nobody may write the memory while the index array lives.
pub(super) unsafe fn shared_indices(values: Strided) -> crate::IndexArray {
    // SAFETY: the caller's promise.
    unsafe { crate::IndexArray::share(&Tensor::from_strided(values)) }
}
