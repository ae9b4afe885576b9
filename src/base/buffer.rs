//! Shared bytes: (owner, offset, length), and memory for large results.
#![allow(unsafe_code)] // huge-page memory is allocated and freed by hand; each block says why it is sound

use std::cell::RefCell;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use openwork_ops::Element;

use crate::base::error::Result;
use crate::base::memory;

/// Memory that a buffer may share. The bytes must stay put while the owner lives, and unchanged while they are read.
trait Owner: Send + Sync {
    fn bytes(&self) -> &[u8];
    /// `None` for memory that is not ours to write.
    fn bytes_mut(&mut self) -> Option<&mut [u8]>;
    /// Whether somebody else may write the bytes between two calls into this library.
    fn may_change(&self) -> bool {
        false
    }
    /// Whether it is memory of ours that may hold elements of any kind.
    fn is_plain(&self) -> bool {
        false
    }
}

struct VecOwner<T: Element>(Vec<T>);

impl<T: Element> Owner for VecOwner<T> {
    fn bytes(&self) -> &[u8] {
        T::as_bytes(&self.0)
    }
    fn bytes_mut(&mut self) -> Option<&mut [u8]> {
        // SAFETY: any `Element` is plain old data without padding; `bool` buffers receive only 0 and 1 from
        // the kernels that write here.
        Some(unsafe { std::slice::from_raw_parts_mut(self.0.as_mut_ptr().cast(), size_of_val(self.0.as_slice())) })
    }
}

/// Memory of another library or of a mapped file, for as long as its owner lives.
struct Foreign {
    at: std::ptr::NonNull<u8>,
    len: usize,
    may_change: bool,
    _owner: Box<dyn Send + Sync>,
}

// SAFETY: the memory is only read, and its owner may be dropped on any thread.
unsafe impl Send for Foreign {}
// SAFETY: shared access only reads.
unsafe impl Sync for Foreign {}

impl Owner for Foreign {
    fn bytes(&self) -> &[u8] {
        // SAFETY: whoever made it with `Buffer::foreign` promised `len` readable bytes while the owner lives.
        unsafe { std::slice::from_raw_parts(self.at.as_ptr(), self.len) }
    }
    fn bytes_mut(&mut self) -> Option<&mut [u8]> {
        None
    }
    fn may_change(&self) -> bool {
        self.may_change
    }
}

/// From this size on, memory is aligned to huge pages and the kernel is asked to use them: random access
/// costs half, and first touch a fraction.
const HUGE: usize = 4 << 20;
const HUGE_ALIGN: usize = 2 << 20;

/// Zeroed memory, aligned for any element type.
struct Zeroed {
    at: std::ptr::NonNull<u8>,
    layout: std::alloc::Layout,
    len: usize,
}

// SAFETY: plain bytes, owned alone; nothing about them is tied to a thread.
unsafe impl Send for Zeroed {}
// SAFETY: shared access only reads.
unsafe impl Sync for Zeroed {}

impl Zeroed {
    /// `None` if memory for so many bytes cannot be had.
    fn new(len: usize) -> Option<Zeroed> {
        if !memory::is_free(len) {
            return None;
        }
        let align = if len >= HUGE { HUGE_ALIGN } else { 16 };
        let size = len.max(1).checked_next_multiple_of(align)?;
        let layout = std::alloc::Layout::from_size_align(size, align).ok()?;
        #[cfg(target_os = "linux")]
        if len >= HUGE {
            return Zeroed::map(layout, len);
        }
        if size > AT_HAND {
            // SAFETY: the size is not 0.
            let at = unsafe { std::alloc::alloc_zeroed(layout) };
            return Some(Zeroed { at: std::ptr::NonNull::new(at)?, layout, len });
        }
        // SAFETY: the size is not 0.
        let at = std::ptr::NonNull::new(unsafe { std::alloc::alloc(layout) })?;
        // SAFETY: so many bytes were allocated.
        unsafe { at.write_bytes(0, size) };
        Some(Zeroed { at, layout, len })
    }

    fn all_mut(&mut self) -> &mut [u8] {
        // SAFETY: `len` bytes are allocated and initialised (zeroed), and `self` is borrowed alone.
        unsafe { std::slice::from_raw_parts_mut(self.at.as_ptr(), self.len) }
    }

    /// Fresh pages from the kernel: zero without writing, aligned so that huge pages fit.
    #[cfg(target_os = "linux")]
    fn map(layout: std::alloc::Layout, len: usize) -> Option<Zeroed> {
        let (size, align) = (layout.size(), layout.align());
        let mapped = size.checked_add(align)?;
        // SAFETY: an anonymous private mapping touches no memory of ours.
        let raw = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                mapped,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
                -1,
                0,
            )
        };
        if raw == libc::MAP_FAILED {
            return None;
        }
        let skip = raw.align_offset(align).min(align);
        let at = raw.cast::<u8>().wrapping_add(skip);
        // SAFETY: head and tail lie inside the fresh mapping and outside what is kept; failure of
        // `madvise` leaves ordinary pages.
        unsafe {
            if skip > 0 {
                libc::munmap(raw, skip);
            }
            if align > skip {
                libc::munmap(at.wrapping_add(size).cast(), align - skip);
            }
            libc::madvise(at.cast(), size, libc::MADV_HUGEPAGE);
        }
        Some(Zeroed { at: std::ptr::NonNull::new(at)?, layout, len })
    }
}

impl Drop for Zeroed {
    fn drop(&mut self) {
        #[cfg(target_os = "linux")]
        if self.len >= HUGE {
            // SAFETY: exactly the part of the mapping that `map` kept.
            unsafe { libc::munmap(self.at.as_ptr().cast(), self.layout.size()) };
            return;
        }
        // SAFETY: allocated in `new` with this layout.
        unsafe { std::alloc::dealloc(self.at.as_ptr(), self.layout) }
    }
}

impl Owner for Zeroed {
    fn bytes(&self) -> &[u8] {
        // SAFETY: `len` bytes are allocated and initialised (zeroed), for as long as `self`.
        unsafe { std::slice::from_raw_parts(self.at.as_ptr(), self.len) }
    }
    fn bytes_mut(&mut self) -> Option<&mut [u8]> {
        Some(self.all_mut())
    }
    fn is_plain(&self) -> bool {
        true
    }
}

/// Bytes up to which memory lies beside the count of those who share it: one allocation where others take two.
const SMALL: usize = 256;

/// Memory for as many bytes, aligned for any element type.
type Few = [u128; SMALL / 16];

/// A few bytes, aligned for any element type. There may be more of them than are used.
struct Small<const N: usize>([u128; N]);

impl<const N: usize> Owner for Small<N> {
    fn bytes(&self) -> &[u8] {
        bytemuck::cast_slice(&self.0)
    }
    fn bytes_mut(&mut self) -> Option<&mut [u8]> {
        Some(bytemuck::cast_slice_mut(&mut self.0))
    }
    fn is_plain(&self) -> bool {
        true
    }
}

thread_local! {
    /// Memory that a result may be written to: see [`Buffer::lent`].
    static LENT: RefCell<Option<Buffer>> = const { RefCell::new(None) };
}

/// Bytes up to which it is quicker to write zeros than to ask for memory that has them: allocators keep memory of these
/// sizes at hand, but not zeroed.
const AT_HAND: usize = 1 << 10;

/// A zeroed vector whose pages, if it is large, the kernel is asked to make huge: for large temporaries.
pub(crate) fn zeroed_vec<T: bytemuck::Zeroable + Clone>(n: usize) -> Vec<T> {
    if n.saturating_mul(size_of::<T>()) <= AT_HAND {
        let mut out = Vec::with_capacity(n);
        out.resize(n, T::zeroed());
        return out;
    }
    let mut out: Vec<T> = bytemuck::allocation::zeroed_vec(n);
    #[cfg(target_os = "linux")]
    {
        let (start, bytes) = (out.as_mut_ptr() as usize, size_of_val(out.as_slice()));
        let first = start.next_multiple_of(HUGE_ALIGN);
        if bytes >= HUGE && first < start + bytes {
            // SAFETY: the range lies inside the vector's allocation; the advice changes no content, and its
            // failure leaves ordinary pages.
            unsafe {
                libc::madvise(first as *mut libc::c_void, start + bytes - first, libc::MADV_HUGEPAGE);
            }
        }
    }
    out
}

/// A shared, immutable run of bytes. Cloning and slicing are free.
#[derive(Clone)]
pub(crate) struct Buffer {
    owner: Arc<dyn Owner>,
    range: Range<usize>,
}

impl Buffer {
    /// Takes a vector without copying.
    pub(crate) fn from_vec<T: Element>(data: Vec<T>) -> Buffer {
        let range = 0..size_of_val(data.as_slice());
        Buffer { owner: Arc::new(VecOwner(data)), range }
    }

    /// No bytes.
    pub(crate) fn empty() -> Buffer {
        Buffer::owned(0, &[0; SMALL / 16], None)
    }

    /// A copy of a few bytes: of more than [`SMALL`], as many.
    pub(crate) fn of_few(bytes: &[u8]) -> Buffer {
        let mut few = [0; SMALL / 16];
        let len = bytes.len().min(SMALL);
        debug_assert_eq!(len, bytes.len());
        bytemuck::cast_slice_mut(&mut few)[..len].copy_from_slice(&bytes[..len]);
        Buffer::owned(len, &few, None)
    }

    /// `len` zero bytes, handed to `fill` before they are shared.
    ///
    /// # Errors
    /// If memory cannot hold them.
    pub(crate) fn build(len: usize, fill: impl FnOnce(&mut [u8])) -> Result<Buffer> {
        let (mut few, mut large) = ([0; SMALL / 16], None);
        fill(Buffer::place(len, &mut few, &mut large)?);
        Ok(Buffer::owned(len, &few, large))
    }

    /// As [`Buffer::build`], of a length that what the operands hold in memory bounds: to run out of memory then ends the
    /// process, as it does in Rust's collections.
    pub(crate) fn of_held(len: usize, fill: impl FnOnce(&mut [u8])) -> Buffer {
        let (mut few, mut large) = ([0; SMALL / 16], None);
        let Ok(place) = Buffer::place(len, &mut few, &mut large) else {
            std::alloc::handle_alloc_error(
                std::alloc::Layout::array::<u8>(len).unwrap_or(std::alloc::Layout::new::<u8>()),
            );
        };
        fill(place);
        Buffer::owned(len, &few, large)
    }

    /// Where `len` zero bytes are, if they are few, or large memory that is made for them.
    ///
    /// Not part of [`Buffer::build`], which is compiled for every closure.
    #[inline(never)]
    fn place<'a>(len: usize, few: &'a mut Few, large: &'a mut Option<Zeroed>) -> Result<&'a mut [u8]> {
        if let Some(place) = bytemuck::cast_slice_mut(few).get_mut(..len) {
            return Ok(place);
        }
        let refused = || memory::refused(&[len], "a dense array of bytes", len as u128, 1, "choose a sparse layout");
        Ok(large.insert(Zeroed::new(len).ok_or_else(refused)?).all_mut())
    }

    #[inline(never)]
    fn owned(len: usize, few: &Few, large: Option<Zeroed>) -> Buffer {
        fn first<const N: usize>(few: &Few) -> Arc<dyn Owner> {
            let mut out = Small([0; N]);
            out.0.copy_from_slice(&few[..N]);
            Arc::new(out)
        }
        let owner = match (large, len) {
            (Some(large), _) => Arc::new(large),
            (None, 0..=64) => first::<4>(few),
            (None, 65..=128) => first::<8>(few),
            (None, _) => Arc::new(Small(*few)),
        };
        Buffer { owner, range: 0..len }
    }

    /// Memory of `len` bytes, elements of `width` bytes each, all of which `fill` writes: memory that is lent, where it
    /// has that size, else new. Of one byte each there may be truth values, which may not hold any bits even before they
    /// are written.
    ///
    /// # Errors
    /// If memory cannot hold them.
    pub(crate) fn overwritten(len: usize, width: usize, fill: impl FnOnce(&mut [u8])) -> Result<Buffer> {
        let mut lent = if width > 1 { LENT.with_borrow_mut(|lent| lent.take_if(|m| m.len() == len)) } else { None };
        let (mut few, mut large) = ([0; SMALL / 16], None);
        let place = match lent.as_mut().and_then(Buffer::unique_mut) {
            Some(place) => place,
            None => Buffer::place(len, &mut few, &mut large)?,
        };
        #[cfg(debug_assertions)]
        place.fill(if width > 1 { 0xaa } else { 0 }); // what is not written shows
        fill(place);
        Ok(lent.unwrap_or_else(|| Buffer::owned(len, &few, large)))
    }

    /// Runs `f`, in which a result of this size may take this buffer's memory, if nobody else shares it, and says whether
    /// one did: then the buffer is left with no bytes at all. Else it is as it was.
    pub(crate) fn lent<R>(&mut self, f: impl FnOnce() -> R) -> (R, bool) {
        /// Puts back what was lent around it, also by a panic.
        struct Outer(Option<Buffer>);
        impl Drop for Outer {
            fn drop(&mut self) {
                LENT.replace(self.0.take());
            }
        }
        let range = self.range.clone();
        // Not a part of what is large: the rest would stay allocated with it.
        let whole = |all: usize| range.start == 0 && (range.end == all || all <= SMALL);
        if !Arc::get_mut(&mut self.owner).is_some_and(|o| o.is_plain() && whole(o.bytes().len())) {
            return (f(), false);
        }
        let own = std::mem::replace(self, Buffer::empty());
        let outer = Outer(LENT.replace(Some(own)));
        let result = f();
        let left = LENT.take();
        drop(outer);
        let is_taken = left.is_none();
        if let Some(own) = left {
            *self = own;
        }
        (result, is_taken)
    }

    /// Shares memory of another owner, without copying.
    ///
    /// # Safety
    /// `len` bytes from `at` must be readable until `owner` is dropped, and nobody may write them while this library
    /// reads them. Unless `may_change`, nobody may write them at all.
    pub(crate) unsafe fn foreign(at: *const u8, len: usize, owner: Box<dyn Send + Sync>, may_change: bool) -> Buffer {
        // Memory of no bytes may lie nowhere.
        match std::ptr::NonNull::new(at.cast_mut()).filter(|_| len > 0) {
            Some(at) => Buffer { owner: Arc::new(Foreign { at, len, may_change, _owner: owner }), range: 0..len },
            None => Buffer::empty(),
        }
    }

    /// Whether somebody else may write the bytes: indices among them must be copied before they are trusted.
    pub(crate) fn may_change(&self) -> bool {
        self.owner.may_change()
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.owner.bytes()[self.range.clone()]
    }

    /// Whether memory for `len` bytes can be had at all.
    pub(crate) fn is_possible(len: usize) -> bool {
        memory::is_possible(len)
    }

    /// The bytes, if nobody else shares them.
    pub(crate) fn unique_mut(&mut self) -> Option<&mut [u8]> {
        let range = self.range.clone();
        Arc::get_mut(&mut self.owner).and_then(|owner| owner.bytes_mut()).map(|bytes| &mut bytes[range])
    }

    pub(crate) fn len(&self) -> usize {
        self.range.len()
    }

    /// A part of the bytes.
    pub(crate) fn slice(&self, part: Range<usize>) -> Buffer {
        debug_assert!(part.end <= self.len());
        let range = self.range.start + part.start..self.range.start + part.end;
        Buffer { owner: self.owner.clone(), range }
    }

    pub(crate) fn typed<T: Element>(&self) -> &[T] {
        T::from_bytes(self.bytes())
    }

    /// Whether both are the same memory.
    pub(crate) fn is_same(&self, other: &Buffer) -> bool {
        self.range.len() == other.range.len() && std::ptr::eq(self.bytes().as_ptr(), other.bytes().as_ptr())
    }
}

impl fmt::Debug for Buffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Buffer({} bytes)", self.len())
    }
}
