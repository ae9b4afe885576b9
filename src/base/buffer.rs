//! Shared bytes: (owner, offset, length), and memory for large results.
#![allow(unsafe_code)] // vectors and foreign memory are seen as bytes; each block says why that is sound

use std::any::Any;
use std::cell::RefCell;
use std::fmt;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use openwork_ops::matmul::{Extent, Stencil};
use openwork_ops::reduce::Turns;
use openwork_ops::{DType, Element};

use crate::base::error::Result;
use crate::base::memory;
use crate::base::pages::{self, AT_HAND, Block, HUGE, STREAMED};

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
    /// Who lends memory that is not ours.
    fn lender(&self) -> Option<&(dyn Any + Send + Sync)> {
        None
    }
    /// Where what was found out about the bytes is kept until they change.
    fn found(&self) -> Option<&Found> {
        None
    }
    /// Where is kept, until the bytes change, what was learned of them as indices.
    fn learned(&self) -> Option<&Learned> {
        None
    }
}

/// How large and small the elements of some of the bytes are.
type Found = OnceLock<(Range<usize>, DType, Extent)>;

/// What was learned of indices.
#[derive(Default)]
struct Learned {
    /// When sums have a few terms that they are the keys of.
    turns: Kept<[usize; 3], Turns>,
    /// Stretches of so many rows, whose columns they are, that have one stencil.
    stencils: Kept<usize, Stencil>,
}

/// What was found by a look that takes longer than its use gains once: with which of the bytes it is of, and what else it depends on.
struct Kept<K, V> {
    found: OnceLock<(Range<usize>, K, Arc<[V]>)>,
    /// Whether anybody has asked.
    asked: AtomicBool,
}

impl<K, V> Default for Kept<K, V> {
    fn default() -> Self {
        Kept { found: OnceLock::new(), asked: AtomicBool::new(false) }
    }
}

impl<K: PartialEq, V> Kept<K, V> {
    /// As `look` finds it: `None` of who asks first, and once something else is kept.
    fn get(&self, of: &Range<usize>, key: K, look: impl FnOnce() -> Arc<[V]>) -> Option<Arc<[V]>> {
        if let Some((own, known, found)) = self.found.get() {
            return (own == of && *known == key).then(|| found.clone());
        }
        if !self.asked.swap(true, Ordering::Relaxed) {
            return None;
        }
        // Others may look meanwhile: to wait for one would be to wait for work that this thread may have to do.
        let found = look();
        let _ = self.found.set((of.clone(), key, found.clone()));
        Some(found)
    }
}

struct VecOwner<T: Element>(Vec<T>, Found);

impl<T: Element> Owner for VecOwner<T> {
    fn bytes(&self) -> &[u8] {
        T::as_bytes(&self.0)
    }
    fn bytes_mut(&mut self) -> Option<&mut [u8]> {
        self.1.take();
        // SAFETY: any `Element` is plain old data without padding; `bool` buffers receive only 0 and 1 from
        // the kernels that write here.
        Some(unsafe { std::slice::from_raw_parts_mut(self.0.as_mut_ptr().cast(), size_of_val(self.0.as_slice())) })
    }
    fn found(&self) -> Option<&Found> {
        Some(&self.1)
    }
}

/// Memory of another library or of a mapped file, for as long as its owner lives.
struct Foreign {
    at: std::ptr::NonNull<u8>,
    len: usize,
    may_change: bool,
    owner: Box<dyn Any + Send + Sync>,
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
    fn lender(&self) -> Option<&(dyn Any + Send + Sync)> {
        Some(&*self.owner)
    }
}

/// Many indices.
struct Keys(VecOwner<u32>, Learned);

impl Owner for Keys {
    fn bytes(&self) -> &[u8] {
        self.0.bytes()
    }
    fn bytes_mut(&mut self) -> Option<&mut [u8]> {
        self.1 = Learned::default();
        self.0.bytes_mut()
    }
    fn found(&self) -> Option<&Found> {
        self.0.found()
    }
    fn learned(&self) -> Option<&Learned> {
        Some(&self.1)
    }
}

struct Large(Block, Found, Learned);

impl Owner for Large {
    fn bytes(&self) -> &[u8] {
        self.0.all()
    }
    fn bytes_mut(&mut self) -> Option<&mut [u8]> {
        self.1.take();
        self.2 = Learned::default();
        Some(self.0.all_mut())
    }
    fn is_plain(&self) -> bool {
        true
    }
    fn found(&self) -> Option<&Found> {
        Some(&self.1)
    }
    fn learned(&self) -> Option<&Learned> {
        Some(&self.2)
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

/// A zeroed vector whose pages, if it is large, the kernel is asked to make huge: for large temporaries.
pub(crate) fn zeroed_vec<T: bytemuck::Zeroable + Clone>(n: usize) -> Vec<T> {
    if n.saturating_mul(size_of::<T>()) <= AT_HAND {
        let mut out = Vec::with_capacity(n);
        out.resize(n, T::zeroed());
        return out;
    }
    let mut out: Vec<T> = bytemuck::allocation::zeroed_vec(n);
    if size_of_val(out.as_slice()) >= HUGE {
        pages::prefer_huge(out.as_mut_ptr().cast(), size_of_val(out.as_slice()));
    }
    out
}

#[cold]
fn out_of_memory(len: usize) -> ! {
    std::alloc::handle_alloc_error(std::alloc::Layout::array::<u8>(len).unwrap_or(std::alloc::Layout::new::<u8>()))
}

/// The width to ask for where every byte is written as such, those of truth values too: what is there before may be any bits.
pub(crate) const BYTES: usize = 2;

/// In debug builds, what is not written after this shows in results; truth values may not hold any bits.
fn show_unwritten(place: &mut [u8], width: usize) {
    #[cfg(debug_assertions)]
    place.fill(if width > 1 { 0xaa } else { 0 });
    #[cfg(not(debug_assertions))]
    let _ = (place, width);
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
        Buffer { owner: Arc::new(VecOwner(data, Found::new())), range }
    }

    /// Takes indices without copying. Beside many there is room for what is found out about sums by them.
    pub(crate) fn of_keys(keys: Vec<u32>) -> Buffer {
        const MANY: usize = 1 << 16;
        if keys.len() < MANY {
            return Buffer::from_vec(keys);
        }
        let range = 0..size_of_val(keys.as_slice());
        Buffer { owner: Arc::new(Keys(VecOwner(keys, Found::new()), Learned::default())), range }
    }

    /// Takes memory without copying.
    pub(crate) fn from_block(block: Block) -> Buffer {
        let range = 0..block.all().len();
        Buffer { owner: Arc::new(Large(block, Found::new(), Learned::default())), range }
    }

    /// No bytes.
    pub(crate) fn empty() -> Buffer {
        Buffer::owned(0, &[0; SMALL / 16], None)
    }

    /// A copy of a few bytes: of more than [`SMALL`], as many.
    pub(crate) fn of_few(bytes: &[u8]) -> Buffer {
        fn of<const N: usize>(bytes: &[u8]) -> Arc<dyn Owner> {
            let mut out = Small([0; N]);
            bytemuck::cast_slice_mut(&mut out.0)[..bytes.len()].copy_from_slice(bytes);
            Arc::new(out)
        }
        debug_assert!(bytes.len() <= SMALL);
        let bytes = &bytes[..bytes.len().min(SMALL)];
        let owner = match bytes.len() {
            0..=64 => of::<4>(bytes),
            65..=128 => of::<8>(bytes),
            _ => of::<{ SMALL / 16 }>(bytes),
        };
        Buffer { owner, range: 0..bytes.len() }
    }

    /// `len` zero bytes, handed to `fill` before they are shared.
    ///
    /// # Errors
    /// If memory cannot hold them.
    pub(crate) fn build(len: usize, fill: impl FnOnce(&mut [u8])) -> Result<Buffer> {
        let (mut few, mut large) = ([0; SMALL / 16], None);
        fill(Buffer::place(len, &mut few, &mut large, Block::zeroed)?);
        Ok(Buffer::owned(len, &few, large))
    }

    /// As [`Buffer::build`], of a length that what the operands hold in memory bounds: to run out of memory then ends the
    /// process, as it does in Rust's collections.
    pub(crate) fn of_held(len: usize, fill: impl FnOnce(&mut [u8])) -> Buffer {
        let (mut few, mut large) = ([0; SMALL / 16], None);
        fill(Buffer::place(len, &mut few, &mut large, Block::zeroed).unwrap_or_else(|_| out_of_memory(len)));
        Buffer::owned(len, &few, large)
    }

    /// As [`Buffer::build`], where `fill` writes every byte: before that they may hold what an earlier array held. Not so
    /// those of elements of one `width`, as in [`Buffer::overwritten`].
    ///
    /// # Errors
    /// If memory cannot hold them.
    pub(crate) fn filled(len: usize, width: usize, fill: impl FnOnce(&mut [u8])) -> Result<Buffer> {
        let (mut few, mut large) = ([0; SMALL / 16], None);
        fill(Buffer::unwritten(len, width, &mut few, &mut large)?);
        Ok(Buffer::owned(len, &few, large))
    }

    /// As [`Buffer::filled`], of a length that what the operands hold bounds: see [`Buffer::of_held`].
    pub(crate) fn filled_of_held(len: usize, width: usize, fill: impl FnOnce(&mut [u8])) -> Buffer {
        let (mut few, mut large) = ([0; SMALL / 16], None);
        fill(Buffer::unwritten(len, width, &mut few, &mut large).unwrap_or_else(|_| out_of_memory(len)));
        Buffer::owned(len, &few, large)
    }

    /// Where bytes are that will all be written.
    fn unwritten<'a>(len: usize, width: usize, few: &'a mut Few, large: &'a mut Option<Block>) -> Result<&'a mut [u8]> {
        let place = Buffer::place(len, few, large, if width > 1 { Block::any } else { Block::zeroed })?;
        show_unwritten(place, width);
        Ok(place)
    }

    /// Where `len` bytes are, if they are few, all zero, or large memory that `block` gives for them.
    ///
    /// Not part of [`Buffer::build`], which is compiled for every closure.
    #[inline(never)]
    fn place<'a>(
        len: usize,
        few: &'a mut Few,
        large: &'a mut Option<Block>,
        block: fn(usize) -> Option<Block>,
    ) -> Result<&'a mut [u8]> {
        if let Some(place) = bytemuck::cast_slice_mut(few).get_mut(..len) {
            return Ok(place);
        }
        let refused = || memory::refused(&[len], "a dense array of bytes", len as u128, 1, "choose a sparse layout");
        Ok(large.insert(block(len).ok_or_else(refused)?).all_mut())
    }

    #[inline(never)]
    fn owned(len: usize, few: &Few, large: Option<Block>) -> Buffer {
        fn first<const N: usize>(few: &Few) -> Arc<dyn Owner> {
            let mut out = Small([0; N]);
            out.0.copy_from_slice(&few[..N]);
            Arc::new(out)
        }
        let owner = match (large, len) {
            (Some(large), _) => Arc::new(Large(large, Found::new(), Learned::default())),
            (None, 0..=64) => first::<4>(few),
            (None, 65..=128) => first::<8>(few),
            (None, _) => Arc::new(Small(*few)),
        };
        Buffer { owner, range: 0..len }
    }

    /// Memory of `len` bytes, elements of `width` bytes each, all of which `fill` writes: memory that is lent, where it
    /// has that size, else new, which may hold what an earlier array held. Elements of one byte are zero: there may be
    /// truth values among them, which may not hold any bits even before they are written.
    ///
    /// # Errors
    /// If memory cannot hold them.
    pub(crate) fn overwritten(len: usize, width: usize, fill: impl FnOnce(&mut [u8])) -> Result<Buffer> {
        Buffer::streamed(len, width, |place, _| fill(place))
    }

    /// As [`Buffer::overwritten`], and `fill` is told whether the bytes are best written past the caches.
    ///
    /// # Errors
    /// If memory cannot hold them.
    pub(crate) fn streamed(len: usize, width: usize, fill: impl FnOnce(&mut [u8], bool)) -> Result<Buffer> {
        let mut lent = if width > 1 { LENT.with_borrow_mut(|lent| lent.take_if(|m| m.len() == len)) } else { None };
        let (mut few, mut large) = ([0; SMALL / 16], None);
        let (place, is_streamed) = match lent.as_mut().and_then(Buffer::unique_mut) {
            Some(place) => (place, len >= STREAMED),
            None => {
                Buffer::place(len, &mut few, &mut large, if width > 1 { Block::any } else { Block::zeroed })?;
                match &mut large {
                    Some(block) => {
                        let is_streamed = block.is_streamed();
                        (block.all_mut(), is_streamed)
                    }
                    None => (&mut bytemuck::cast_slice_mut(&mut few)[..len], false),
                }
            }
        };
        show_unwritten(place, width);
        fill(place, is_streamed);
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
    pub(crate) unsafe fn foreign(
        at: *const u8,
        len: usize,
        owner: Box<dyn Any + Send + Sync>,
        may_change: bool,
    ) -> Buffer {
        // Memory of no bytes may lie nowhere.
        match std::ptr::NonNull::new(at.cast_mut()).filter(|_| len > 0) {
            Some(at) => Buffer { owner: Arc::new(Foreign { at, len, may_change, owner }), range: 0..len },
            None => Buffer::empty(),
        }
    }

    /// Who lends the memory, where it is not ours: what was given to [`Buffer::foreign`].
    #[cfg_attr(not(feature = "torch"), allow(dead_code))] // other libraries take memory without asking whose it is
    pub(crate) fn lender(&self) -> Option<&(dyn Any + Send + Sync)> {
        self.owner.lender()
    }

    /// Whether somebody else may write the bytes: indices among them must be copied before they are trusted.
    pub(crate) fn may_change(&self) -> bool {
        self.owner.may_change()
    }

    /// The extent of these bytes as elements of a dtype: what `look` finds, or found before if the memory is large and has not
    /// changed since.
    pub(crate) fn extent(&self, part: Range<usize>, dtype: DType, look: impl FnOnce() -> Extent) -> Extent {
        let part = self.range.start + part.start..self.range.start + part.end;
        let Some(found) = self.owner.found().filter(|_| part.len() > SMALL) else { return look() };
        match found.get() {
            Some((of, known, extent)) if *of == part && *known == dtype => *extent,
            _ => {
                let extent = look();
                // Of two parts of one memory, that which comes first is kept.
                let _ = found.set((part, dtype, extent));
                extent
            }
        }
    }

    /// When sums have a few terms that these bytes are the keys of, as `look` finds it: kept with the `key` that it depends on until
    /// the memory changes.
    ///
    /// To look takes longer than one sum gains: `None` of who asks first, of memory with no room for it, and once something else is
    /// kept.
    pub(crate) fn turns(&self, key: [usize; 3], look: impl FnOnce() -> Arc<[Turns]>) -> Option<Arc<[Turns]>> {
        self.owner.learned()?.turns.get(&self.range, key, look)
    }

    /// Stretches of so many rows, whose columns these bytes are, that have one stencil: kept, and `None`, as of [`Buffer::turns`].
    pub(crate) fn stencils(&self, rows: usize, look: impl FnOnce() -> Arc<[Stencil]>) -> Option<Arc<[Stencil]>> {
        self.owner.learned()?.stencils.get(&self.range, rows, look)
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

#[cfg(test)]
#[path = "tests/buffer.rs"]
mod tests;
