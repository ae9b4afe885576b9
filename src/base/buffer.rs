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
    /// The memory itself, if it can be had apart from its owner, who is left with none.
    fn memory(&mut self) -> Option<&mut Zeroed> {
        None
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
        // SAFETY: the size is not 0.
        let at = unsafe { std::alloc::alloc_zeroed(layout) };
        Some(Zeroed { at: std::ptr::NonNull::new(at)?, layout, len })
    }

    /// No bytes, for which nothing is allocated.
    fn none() -> Zeroed {
        Zeroed { at: std::ptr::NonNull::<u128>::dangling().cast(), layout: std::alloc::Layout::new::<()>(), len: 0 }
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
        if self.layout.size() == 0 {
            return; // nothing was allocated
        }
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
    fn memory(&mut self) -> Option<&mut Zeroed> {
        Some(self)
    }
}

thread_local! {
    /// Memory that a result may be written to: see [`Buffer::lent`].
    static LENT: RefCell<Option<Zeroed>> = const { RefCell::new(None) };
}

/// A zeroed vector whose pages, if it is large, the kernel is asked to make huge: for large temporaries.
pub(crate) fn zeroed_vec<T: bytemuck::Zeroable + Clone>(n: usize) -> Vec<T> {
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
        Buffer::owned(Zeroed::none())
    }

    /// The bytes of one element.
    pub(crate) fn of_element(bytes: [u8; 16], size: usize) -> Buffer {
        Buffer::from_vec(vec![bytemuck::cast::<[u8; 16], openwork_ops::c128>(bytes)]).slice(0..size)
    }

    /// `len` zero bytes, handed to `fill` before they are shared.
    ///
    /// # Errors
    /// If memory cannot hold them.
    pub(crate) fn build(len: usize, fill: impl FnOnce(&mut [u8])) -> Result<Buffer> {
        let mut owner = Buffer::fresh(len)?;
        fill(owner.all_mut());
        Ok(Buffer::owned(owner))
    }

    /// As [`Buffer::build`], of a length that what the operands hold in memory bounds: to run out of memory then ends the
    /// process, as it does in Rust's collections.
    pub(crate) fn of_held(len: usize, fill: impl FnOnce(&mut [u8])) -> Buffer {
        let Some(mut owner) = Zeroed::new(len) else {
            std::alloc::handle_alloc_error(
                std::alloc::Layout::array::<u8>(len).unwrap_or(std::alloc::Layout::new::<u8>()),
            );
        };
        fill(owner.all_mut());
        Buffer::owned(owner)
    }

    /// Not part of [`Buffer::build`], which is compiled for every closure.
    #[inline(never)]
    fn fresh(len: usize) -> Result<Zeroed> {
        Zeroed::new(len)
            .ok_or_else(|| memory::refused(&[len], "a dense array of bytes", len as u128, 1, "choose a sparse layout"))
    }

    #[inline(never)]
    fn owned(owner: Zeroed) -> Buffer {
        let range = 0..owner.len;
        Buffer { owner: Arc::new(owner), range }
    }

    /// Memory of `len` bytes, elements of `width` bytes each, all of which `fill` writes: memory that is lent, where it
    /// has that size, else new. Of one byte each there may be truth values, which may not hold any bits even before they
    /// are written.
    ///
    /// # Errors
    /// If memory cannot hold them.
    pub(crate) fn overwritten(len: usize, width: usize, fill: impl FnOnce(&mut [u8])) -> Result<Buffer> {
        let lent = if width > 1 { LENT.with_borrow_mut(|lent| lent.take_if(|m| m.len == len)) } else { None };
        let mut owner = match lent {
            Some(lent) => lent,
            None => Buffer::fresh(len)?,
        };
        #[cfg(debug_assertions)]
        owner.all_mut().fill(if width > 1 { 0xaa } else { 0 }); // what is not written shows
        fill(owner.all_mut());
        Ok(Buffer::owned(owner))
    }

    /// Runs `f`, in which a result of this size may take this buffer's memory, if nobody else shares it, and says whether
    /// one did: then the buffer is left with no bytes at all. Else it is as it was.
    pub(crate) fn lent<R>(&mut self, f: impl FnOnce() -> R) -> (R, bool) {
        /// Puts back what was lent around it, also by a panic.
        struct Outer(Option<Zeroed>);
        impl Drop for Outer {
            fn drop(&mut self) {
                LENT.replace(self.0.take());
            }
        }
        let whole = self.range.clone();
        let own = Arc::get_mut(&mut self.owner).and_then(|owner| owner.memory()).filter(|m| whole == (0..m.len));
        let Some(own) = own else { return (f(), false) };
        let outer = Outer(LENT.replace(Some(std::mem::replace(own, Zeroed::none()))));
        let result = f();
        let left = LENT.take();
        drop(outer);
        let is_taken = left.is_none();
        match left {
            Some(memory) => *own = memory,
            None => self.range = 0..0,
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
