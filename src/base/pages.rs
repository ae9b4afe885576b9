//! Blocks of memory for arrays. Large ones are mappings of huge pages, and what is freed of them is kept for the next.
//!
//! Fresh pages are the dearest part of a large result: the system zeroes them, and on a virtual machine may first have to
//! ask its host for them. Pages that were used before cost neither.
#![allow(unsafe_code)] // memory is mapped, allocated and freed by hand; each block says why it is sound

use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use bytemuck::Pod;

use crate::base::{kept, memory, parallel};

/// Bytes that no cache is expected to keep until somebody reads them.
pub(crate) const STREAMED: usize = 32 << 20;

/// From this size on, memory is mapped, and kept for the next when it is freed: allocators give so much back to the system, which
/// zeroes it again at the next call.
pub(crate) const MAPPED: usize = 1 << 20;
/// From this size on, mappings are whole huge pages, and the kernel is asked to use them: random access costs half, and first
/// touch a fraction.
pub(crate) const HUGE: usize = 4 << 20;
/// Bytes of a huge page.
pub(crate) const PAGE: usize = 2 << 20;
/// What the sizes of smaller mappings are multiples of: a whole page more would be as much again.
pub(crate) const GRAIN: usize = 256 << 10;

/// Bytes up to which it is quicker to write zeros than to ask for memory that has them: allocators keep memory of these
/// sizes at hand, but not zeroed.
pub(crate) const AT_HAND: usize = 1 << 10;

/// Alignment of what is not mapped: that of any element.
const ALIGN: usize = 16;

/// Where more than a few bytes begin: at a line of the cache, which allocators do not see to. A vector instruction that crosses
/// the line reads two of them, and where it takes a whole line each does: rows of a matrix that lies in the cache took 1.4 times
/// as long in a product.
const LINE: usize = 64;

/// Bytes that one task zeroes.
const STRETCH: usize = 4 << 20;

/// Bytes by which the first elements of one large array lie further into their page than those of the one before, and how
/// many times that is done before it begins anew. A loop that reads one array a little ahead of where it writes another waits
/// at each element if both have the same place in a page of 4 KiB (its low address bits look like what was just written):
/// a product of a sparse matrix with a vector took three times as long.
const SHIFT: usize = 64 * 5;
const SHIFTS: usize = 12;

/// Memory of `len` initialised bytes, aligned for any element type, that its owner has alone.
pub(crate) struct Block {
    at: NonNull<u8>,
    len: usize,
    /// How far into its memory the first byte is.
    shift: usize,
    memory: Memory,
    /// Whether its pages were used before.
    is_used: bool,
}

/// What a block lies in, until it is dropped.
enum Memory {
    Mapped(Mapping),
    Piece(Piece),
    Gone,
}

// SAFETY: plain bytes, owned alone; nothing about them is tied to a thread.
unsafe impl Send for Block {}
// SAFETY: shared access only reads.
unsafe impl Sync for Block {}

impl Block {
    /// Zero bytes. `None` if memory for so many cannot be had.
    pub(crate) fn zeroed(len: usize) -> Option<Block> {
        let (mut block, is_fresh) = Block::new(len, memory::is_free)?;
        if !is_fresh {
            parallel::for_chunks_mut(block.all_mut(), 1, STRETCH, &|_, part| part.fill(0));
        }
        Some(block)
    }

    /// Bytes that hold anything, what an earlier array held among it: for those who write all of them. `None` if memory
    /// for so many cannot be had.
    pub(crate) fn any(len: usize) -> Option<Block> {
        Some(Block::new(len, memory::is_free)?.0)
    }

    /// A block, and whether its bytes are zero. Fresh memory is taken where so many bytes are free.
    fn new(len: usize, is_free: fn(usize) -> bool) -> Option<(Block, bool)> {
        if len >= MAPPED && cfg!(target_os = "linux") {
            memory::note(len);
            let size = len.checked_next_multiple_of(if len < HUGE { GRAIN } else { PAGE })?;
            let used = kept::take(size);
            let is_fresh = used.is_none();
            let mapping = match used {
                Some(mapping) => mapping,
                None if is_free(len) => Mapping::fresh(size)?,
                None => return None,
            };
            // Where it costs no page more.
            static LARGE: AtomicUsize = AtomicUsize::new(0);
            let shift = LARGE.fetch_add(1, Ordering::Relaxed) % SHIFTS * SHIFT;
            let shift = if shift <= size - len { shift } else { 0 };
            let at = NonNull::new(mapping.at.as_ptr().wrapping_add(shift))?;
            return Some((Block { at, len, shift, memory: Memory::Mapped(mapping), is_used: !is_fresh }, is_fresh));
        }
        let beside = if len > AT_HAND { LINE - ALIGN } else { 0 };
        let size = Piece::size_of(len.max(1).checked_add(beside)?)?;
        let used = kept::take_piece(size);
        let is_fresh = used.is_none();
        if !is_fresh {
            memory::note(len);
        }
        let piece = match used {
            Some(piece) => piece,
            None if is_free(len) => Piece::fresh(size)?,
            None => return None,
        };
        // At most what is allocated beside `len`: memory is asked for at a multiple of ALIGN.
        let raw = piece.at;
        let shift = if beside == 0 { 0 } else { raw.addr().get().next_multiple_of(LINE) - raw.addr().get() };
        let at = NonNull::new(raw.as_ptr().wrapping_add(shift))?;
        Some((Block { at, len, shift, memory: Memory::Piece(piece), is_used: false }, is_fresh))
    }

    /// Whether it is best written past the caches: it is large, and its pages were used before. Those that were not are had from the
    /// system when they are written, which takes twice as long that way as in any other.
    pub(crate) fn is_streamed(&self) -> bool {
        self.is_used && self.len >= STREAMED
    }

    pub(crate) fn all(&self) -> &[u8] {
        // SAFETY: `len` bytes are allocated and initialised, for as long as `self`.
        unsafe { std::slice::from_raw_parts(self.at.as_ptr(), self.len) }
    }

    pub(crate) fn all_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above, and `self` is borrowed alone.
        unsafe { std::slice::from_raw_parts_mut(self.at.as_ptr(), self.len) }
    }

    /// Only the first `len` bytes, if there are more: whole pages of the rest may serve others.
    pub(crate) fn truncate(&mut self, len: usize) {
        self.len = self.len.min(len);
        let pages = (self.shift + self.len).max(1).next_multiple_of(PAGE);
        if let Memory::Mapped(mapping) = &mut self.memory
            && mapping.size >= pages + MAPPED
        {
            mapping.split_off(pages).into_iter().for_each(kept::keep);
        }
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        match std::mem::replace(&mut self.memory, Memory::Gone) {
            Memory::Mapped(mapping) => kept::keep(mapping),
            Memory::Piece(piece) => kept::keep_piece(piece),
            Memory::Gone => {}
        }
    }
}

/// Elements in memory of their own, for a large temporary or an array in the making: what an earlier array had, where
/// there is some.
pub(crate) struct Scratch<T> {
    block: Block,
    kind: PhantomData<T>,
}

impl<T: Pod> Scratch<T> {
    /// Elements that may be anything: for those who read none that they have not written.
    ///
    /// As with a vector, to run out of memory ends the process. What is free does not bound these: they need not be filled.
    pub(crate) fn any(n: usize) -> Scratch<T> {
        fn anyway(len: usize) -> bool {
            memory::is_free(len); // where it is not, what is kept is given back if that helps
            true
        }
        let Some((block, _)) = Block::new(n.saturating_mul(size_of::<T>()), anyway) else {
            std::alloc::handle_alloc_error(std::alloc::Layout::array::<T>(n).unwrap_or(std::alloc::Layout::new::<T>()))
        };
        #[cfg(debug_assertions)]
        let block = {
            let mut block = block;
            block.all_mut().fill(0xaa); // what is read before it is written shows
            block
        };
        Scratch { block, kind: PhantomData }
    }

    /// Only the first `n`, if there are more.
    pub(crate) fn truncate(&mut self, n: usize) {
        self.block.truncate(n.saturating_mul(size_of::<T>()));
    }

    /// See [`Block::is_streamed`].
    pub(crate) fn is_streamed(&self) -> bool {
        self.block.is_streamed()
    }

    pub(crate) fn into_block(self) -> Block {
        self.block
    }
}

impl<T: Pod> Deref for Scratch<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        bytemuck::cast_slice(self.block.all())
    }
}

impl<T: Pod> DerefMut for Scratch<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        bytemuck::cast_slice_mut(self.block.all_mut())
    }
}

/// Memory of the allocator's that nobody uses, which holds anything.
pub(crate) struct Piece {
    at: NonNull<u8>,
    size: usize,
}

// SAFETY: plain bytes, owned alone; nothing about them is tied to a thread.
unsafe impl Send for Piece {}

impl Piece {
    /// How much is allocated for so many bytes: up to an eighth more where pieces are kept, so that those of like sizes serve
    /// each other.
    pub(crate) fn size_of(bytes: usize) -> Option<usize> {
        let step = if kept::PIECES.contains(&bytes) { 1 << (bytes.ilog2() - 3) } else { ALIGN };
        bytes.checked_next_multiple_of(step)
    }

    fn layout(size: usize) -> Option<std::alloc::Layout> {
        std::alloc::Layout::from_size_align(size, ALIGN).ok()
    }

    /// Zero bytes, of which there is one at least.
    pub(crate) fn fresh(size: usize) -> Option<Piece> {
        let layout = Piece::layout(size).filter(|layout| layout.size() > 0)?;
        // SAFETY: the size is not 0.
        let raw = unsafe { if size > AT_HAND { std::alloc::alloc_zeroed(layout) } else { std::alloc::alloc(layout) } };
        let at = NonNull::new(raw)?;
        if size <= AT_HAND {
            // SAFETY: so many bytes were allocated.
            unsafe { at.write_bytes(0, size) };
        }
        Some(Piece { at, size })
    }

    pub(crate) fn size(&self) -> usize {
        self.size
    }
}

impl Drop for Piece {
    fn drop(&mut self) {
        let Some(layout) = Piece::layout(self.size) else { return };
        // SAFETY: allocated in `fresh` with this layout, and nobody's any more.
        unsafe { std::alloc::dealloc(self.at.as_ptr(), layout) };
    }
}

/// Memory that is mapped, and nobody uses: a multiple of [`GRAIN`] bytes, which hold anything.
pub(crate) struct Mapping {
    at: NonNull<u8>,
    size: usize,
    /// Which mapping of the system's it is, or is a part of.
    origin: u64,
}

// SAFETY: plain bytes, owned alone; nothing about them is tied to a thread.
unsafe impl Send for Mapping {}

impl Mapping {
    /// Fresh pages, also where what is kept must go for them.
    fn fresh(size: usize) -> Option<Mapping> {
        let first = Mapping::new(size);
        if first.is_some() || kept::trim() == 0 { first } else { Mapping::new(size) }
    }

    /// Fresh pages from the kernel: zero without writing, aligned so that huge pages fit, of which `size` may hold none.
    pub(crate) fn new(size: usize) -> Option<Mapping> {
        let mapped = size.checked_add(PAGE)?;
        let raw = system::map(mapped)?;
        let skip = raw.align_offset(PAGE).min(PAGE);
        let at = NonNull::new(raw.as_ptr().wrapping_add(skip))?;
        // SAFETY: head and tail lie inside the fresh mapping and outside what is kept.
        unsafe {
            system::unmap(raw, skip);
            if let Some(tail) = NonNull::new(at.as_ptr().wrapping_add(size)) {
                system::unmap(tail, PAGE - skip);
            }
        }
        system::prefer_huge(at, size);
        static MAPPED: AtomicU64 = AtomicU64::new(0);
        Some(Mapping { at, size, origin: MAPPED.fetch_add(1, Ordering::Relaxed) })
    }

    pub(crate) fn size(&self) -> usize {
        self.size
    }

    /// Cuts off what is beyond `size` bytes, a multiple of [`GRAIN`] and less than all.
    pub(crate) fn split_off(&mut self, size: usize) -> Option<Mapping> {
        let rest = self.size.checked_sub(size).filter(|&rest| rest > 0 && size.is_multiple_of(GRAIN))?;
        let at = NonNull::new(self.at.as_ptr().wrapping_add(size))?;
        self.size = size;
        Some(Mapping { at, size: rest, origin: self.origin })
    }

    /// Whether `other` is the part of the same mapping that begins where this ends.
    pub(crate) fn is_before(&self, other: &Mapping) -> bool {
        self.origin == other.origin && self.at.as_ptr().wrapping_add(self.size) == other.at.as_ptr()
    }

    /// This with what [is after it](Mapping::is_before), as they were before they were cut.
    pub(crate) fn joined(mut self, after: Mapping) -> Mapping {
        debug_assert!(self.is_before(&after));
        self.size += after.size;
        std::mem::forget(after);
        self
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: mapped pages that belong to this value alone.
        unsafe { system::unmap(self.at, self.size) };
    }
}

/// Asks the kernel for huge pages in memory of any owner, as far as it holds whole ones: `size` bytes from `at`.
pub(crate) fn prefer_huge(at: *mut u8, size: usize) {
    let skip = at.align_offset(PAGE);
    let whole = size.saturating_sub(skip) / PAGE * PAGE;
    if let Some(at) = NonNull::new(at.wrapping_add(skip)).filter(|_| whole > 0) {
        system::prefer_huge(at, whole);
    }
}

#[cfg(target_os = "linux")]
mod system {
    use std::ptr::{NonNull, null_mut};

    /// Fresh pages, all zero.
    pub(super) fn map(size: usize) -> Option<NonNull<u8>> {
        let (access, kind) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: an anonymous private mapping touches no memory of ours.
        let raw = unsafe { libc::mmap(null_mut(), size, access, kind, -1, 0) };
        if raw == libc::MAP_FAILED { None } else { NonNull::new(raw.cast()) }
    }

    /// # Safety
    /// Whole pages that were mapped, and that nobody uses.
    pub(super) unsafe fn unmap(at: NonNull<u8>, size: usize) {
        if size > 0 {
            // SAFETY: the caller's promise. What the kernel will not unmap stays mapped.
            unsafe { libc::munmap(at.as_ptr().cast(), size) };
        }
    }

    /// Asks for huge pages; where there are none, memory lies in ordinary ones.
    pub(super) fn prefer_huge(at: NonNull<u8>, size: usize) {
        // SAFETY: the advice changes no content.
        unsafe { libc::madvise(at.as_ptr().cast(), size, libc::MADV_HUGEPAGE) };
    }
}

/// No mappings: all memory comes from the allocator.
#[cfg(not(target_os = "linux"))]
mod system {
    use std::ptr::NonNull;

    pub(super) fn map(_: usize) -> Option<NonNull<u8>> {
        None
    }

    /// # Safety
    /// Nothing was mapped.
    pub(super) unsafe fn unmap(_: NonNull<u8>, _: usize) {}

    pub(super) fn prefer_huge(_: NonNull<u8>, _: usize) {}
}

#[cfg(test)]
#[path = "tests/pages.rs"]
mod tests;
