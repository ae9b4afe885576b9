//! Memory: what of it is kept from large arrays for the next, and how much there is.
//!
//! Memory of arrays of 1 MiB and more that are no longer needed is not given back to the system at once: the next array of
//! about that size takes it, and so need not wait for fresh pages, which can take longer than to compute the array. What
//! is kept is bounded ([`set_limit`]): a quarter of the memory of the machine, or of what its control groups and limits let
//! the process take, if no other limit is set, and never more than what is free beside it. It is given back where an
//! operation or a reader would otherwise have too little, and when [`trim`] asks for it. Only on Linux is any kept.
//!
//! Sizes that an argument or broadcasting decides are compared with what is free before memory is used, so that a shape
//! too large is an error and not the end of the process. An allocation is refused if its bytes exceed what is free (what
//! the machine says is available, swap included, or what the control groups of the process still let it take, whichever is
//! less, and what is kept), or if the kernel refuses the address space. A kernel that overcommits grants what nobody has,
//! and ends the process when it is written to: asking the allocator alone is not enough.
//!
//! # Examples
//! ```
//! use openwork::{Tensor, memory};
//!
//! let x = Tensor::arange(0.0, 1048576.0, 1.0)?;
//! let before = memory::stats();
//! for _ in 0..10 {
//!     drop(x.add(1.0)?); // 8 MiB each
//! }
//! let after = memory::stats();
//! assert!(after.hits + after.misses >= before.hits + before.misses + 10 || cfg!(not(target_os = "linux")));
//! println!("{} bytes are kept, {} at most", after.held, after.limit);
//! memory::trim();
//! # Ok::<(), openwork::Error>(())
//! ```

use std::sync::OnceLock;

use openwork_ops::DType;

use crate::base::error::{self, Error, Result};
use crate::base::kept;

pub use crate::base::kept::{Stats, set_limit, stats, trim};

/// Smaller sizes are not compared with what is free: to ask costs as much as to fill a good part of them.
const LARGE: usize = 64 << 20;

/// Who is told of large blocks.
static WATCHER: OnceLock<fn(usize)> = OnceLock::new();

/// Has `watcher` told the bytes of each array that the allocator does not see, by the thread that asks for it: for tests of what
/// is allocated. The first watcher stays.
#[doc(hidden)]
pub fn watch(watcher: fn(usize)) {
    WATCHER.get_or_init(|| watcher);
}

/// Tells the watcher, if there is one, of an array that takes a mapping, or memory that was kept.
pub(crate) fn note(bytes: usize) {
    if let Some(watcher) = WATCHER.get() {
        watcher(bytes);
    }
}

/// Whether so many bytes can be had: nothing is allocated for good.
pub(crate) fn is_possible(bytes: usize) -> bool {
    if bytes < 4 << 20 {
        return true;
    }
    if !is_free(bytes) {
        return false;
    }
    let mut probe: Vec<u8> = Vec::new();
    probe.try_reserve_exact(bytes).is_ok() || (trim() > 0 && probe.try_reserve_exact(bytes).is_ok())
}

/// Whether so many bytes are free, as far as anybody can tell. What is kept of earlier arrays is given back if that makes
/// them so.
pub(crate) fn is_free(bytes: usize) -> bool {
    if bytes < LARGE {
        return true;
    }
    let Some(free) = free() else { return true };
    let (bytes, held) = (bytes as u64, kept::held() as u64);
    bytes <= free || (bytes - free <= held && trim() > 0 && self::free().is_none_or(|free| bytes <= free))
}

/// Bytes of freed arrays to keep at most where nobody says how many: a quarter of what the process may take at all.
pub(crate) fn to_keep() -> usize {
    total().map_or(0, |total| usize::try_from(total / 4).unwrap_or(usize::MAX))
}

/// Whether `count` entries of `width` bytes each can be had.
pub(crate) fn has_room(count: usize, width: usize) -> bool {
    count.checked_mul(width).is_some_and(is_possible)
}

/// The error that memory has no room for `what`, `count` entries of `width` bytes, of a tensor of this shape; `instead`
/// is what to do.
#[cold]
pub(crate) fn refused(shape: &[usize], what: &str, count: u128, width: usize, instead: &str) -> Error {
    let bytes = count.saturating_mul(width as u128);
    let free = free().map_or(isize::MAX as u64, |free| free.saturating_add(kept::held() as u64));
    error::memory(shape, what, bytes, free, instead)
}

/// Checks that there is memory for the product of `counts` entries of `width` bytes each, and gives their number.
///
/// # Errors
/// See [`refused`].
pub(crate) fn room(shape: &[usize], what: &str, counts: &[usize], width: usize, instead: &str) -> Result<usize> {
    product(counts).filter(|&n| has_room(n, width)).ok_or_else(|| {
        let count = counts.iter().fold(1u128, |n, &c| n.saturating_mul(c as u128));
        refused(shape, what, count, width, instead)
    })
}

/// The product of sizes, if it has one.
fn product(counts: &[usize]) -> Option<usize> {
    if counts.contains(&0) { Some(0) } else { counts.iter().try_fold(1usize, |n, &c| n.checked_mul(c)) }
}

/// The number of elements of a dense array, if memory could hold it.
///
/// # Errors
/// See [`refused`].
pub(crate) fn dense_len(shape: &[usize], dtype: DType) -> Result<usize> {
    match product(shape) {
        Some(n) if has_room(n, dtype.size()) => Ok(n),
        _ => room(shape, &format!("a dense tensor of {dtype}"), shape, dtype.size(), "choose a sparse layout"),
    }
}

/// Bytes that can still be had; `None` where the system does not say.
#[cfg(not(target_os = "linux"))]
pub(crate) fn free() -> Option<u64> {
    None
}

/// Bytes that this process could have if nobody else had any; `None` where the system does not say.
#[cfg(not(target_os = "linux"))]
fn total() -> Option<u64> {
    None
}

#[cfg(target_os = "linux")]
pub(crate) use linux::free;
#[cfg(target_os = "linux")]
use linux::total;

#[cfg(target_os = "linux")]
mod linux {
    use std::fs::read_to_string;
    use std::path::{Path, PathBuf};
    use std::sync::OnceLock;

    pub(crate) fn free() -> Option<u64> {
        let machine = read_to_string("/proc/meminfo").ok()?;
        let swap = field(&machine, "SwapFree:").unwrap_or(0).saturating_mul(1024);
        let available = field(&machine, "MemAvailable:")?.saturating_mul(1024).saturating_add(swap);
        Some(groups().iter().filter_map(|group| group.free(swap)).fold(available, u64::min))
    }

    pub(super) fn total() -> Option<u64> {
        let machine = field(&read_to_string("/proc/meminfo").ok()?, "MemTotal:")?.saturating_mul(1024);
        let limits = read_to_string("/proc/self/limits").unwrap_or_default();
        let all = groups().iter().filter_map(Group::limit).chain(address_space(&limits));
        Some(all.fold(machine, u64::min))
    }

    /// The limit of the address space, if there is one.
    fn address_space(limits: &str) -> Option<u64> {
        let line = limits.lines().find_map(|line| line.strip_prefix("Max address space"))?;
        line.split_ascii_whitespace().next()?.parse().ok()
    }

    /// The number after a name, in text of names and numbers.
    fn field(text: &str, name: &str) -> Option<u64> {
        let mut words = text.split_ascii_whitespace();
        words.find(|&word| word == name)?;
        words.next()?.parse().ok()
    }

    /// A control group that this process belongs to.
    struct Group {
        folder: PathBuf,
        /// Of version 1, where memory and swap may be limited together.
        old: bool,
    }

    impl Group {
        fn number(&self, file: &str) -> Option<u64> {
            read_to_string(self.folder.join(file)).ok()?.trim().parse().ok()
        }

        /// What the group may take in all. `None` without a limit.
        fn limit(&self) -> Option<u64> {
            self.number(if self.old { "memory.limit_in_bytes" } else { "memory.max" })
        }

        /// What the group may take beyond what it has, files in memory that can be dropped not counted. `None` without a
        /// limit.
        fn free(&self, swap: u64) -> Option<u64> {
            let (left, swap) = if self.old {
                let left = |limit: &str, usage: &str| Some(self.number(limit)?.saturating_sub(self.number(usage)?));
                let both = left("memory.memsw.limit_in_bytes", "memory.memsw.usage_in_bytes");
                match (left("memory.limit_in_bytes", "memory.usage_in_bytes")?, both) {
                    (_, Some(both)) => (both, 0),
                    (memory, None) => (memory, swap),
                }
            } else {
                let left = |limit: &str, usage: &str| Some(self.number(limit)?.saturating_sub(self.number(usage)?));
                let memory = left("memory.max", "memory.current")?;
                (memory, left("memory.swap.max", "memory.swap.current").map_or(swap, |s| s.min(swap)))
            };
            let stat = read_to_string(self.folder.join("memory.stat")).unwrap_or_default();
            let names =
                if self.old { ["total_inactive_file", "total_active_file"] } else { ["inactive_file", "active_file"] };
            let files = names.iter().filter_map(|name| field(&stat, name)).fold(0, u64::saturating_add);
            Some(left.saturating_add(files).saturating_add(swap))
        }
    }

    /// The groups whose limits hold for this process: its own and those above it.
    fn groups() -> &'static [Group] {
        static GROUPS: OnceLock<Vec<Group>> = OnceLock::new();
        GROUPS.get_or_init(|| {
            let named = read_to_string("/proc/self/cgroup").unwrap_or_default();
            let mut groups = Vec::new();
            for line in named.lines() {
                let mut parts = line.splitn(3, ':').skip(1);
                let (Some(controllers), Some(path)) = (parts.next(), parts.next()) else { continue };
                let (root, old) = match controllers {
                    "" => ("/sys/fs/cgroup", false),
                    names if names.split(',').any(|name| name == "memory") => ("/sys/fs/cgroup/memory", true),
                    _ => continue,
                };
                let limit = if old { "memory.limit_in_bytes" } else { "memory.max" };
                // Seen from inside a container, the path may begin above the root that is mounted.
                for above in Path::new(path.trim_start_matches('/')).ancestors() {
                    let folder = Path::new(root).join(above);
                    if folder.join(limit).is_file() {
                        groups.push(Group { folder, old });
                    }
                }
            }
            groups
        })
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn numbers_are_found_by_name() {
            let text = "MemTotal:  24682416 kB\nMemAvailable:   23247232 kB\nSwapFree: 0 kB\n";
            assert_eq!(field(text, "MemAvailable:"), Some(23_247_232));
            assert_eq!(field(text, "SwapFree:"), Some(0));
            assert_eq!(field(text, "Mem"), None);
        }

        #[test]
        fn the_whole_is_the_least_of_all_limits() {
            let limits = "Max open files  20000 20000 files\nMax address space   1048576    unlimited   bytes\n";
            assert_eq!(address_space(limits), Some(1 << 20));
            assert_eq!(address_space(&limits.replace("1048576", "unlimited")), None);
            let (total, free) = (total().unwrap(), free().unwrap());
            assert!(0 < total && total <= isize::MAX as u64, "{total} in all, {free} free");
        }

        #[test]
        fn limits_of_control_groups_count() {
            let folder = std::env::temp_dir().join(format!("openwork-group-{}", std::process::id()));
            std::fs::create_dir_all(&folder).unwrap();
            let write = |file: &str, text: &str| std::fs::write(folder.join(file), text).unwrap();
            let group = |old| Group { folder: folder.clone(), old };
            assert_eq!(group(false).free(7), None);
            write("memory.max", "max\n");
            write("memory.current", "600\n");
            assert_eq!(group(false).free(7), None);
            write("memory.max", "1000\n");
            write("memory.stat", "anon 300\ninactive_file 20\nactive_file 30\n");
            assert_eq!(group(false).free(7), Some(400 + 50 + 7));
            assert_eq!((group(false).limit(), group(true).limit()), (Some(1000), None));
            write("memory.swap.max", "5\n");
            write("memory.swap.current", "1\n");
            assert_eq!(group(false).free(7), Some(400 + 50 + 4));
            write("memory.limit_in_bytes", "2000\n");
            write("memory.usage_in_bytes", "500\n");
            write("memory.stat", "cache 3\ntotal_inactive_file 100\ntotal_active_file 1\n");
            assert_eq!(group(true).free(7), Some(1500 + 101 + 7));
            assert_eq!(group(true).limit(), Some(2000));
            write("memory.memsw.limit_in_bytes", "2500\n");
            write("memory.memsw.usage_in_bytes", "600\n");
            assert_eq!(group(true).free(7), Some(1900 + 101));
            std::fs::remove_dir_all(&folder).unwrap();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_machine_has_is_refused() {
        assert!(is_possible(1 << 20) && is_possible(100 << 20));
        assert!(!is_possible(1 << 46) && !is_possible(usize::MAX));
        let vector = |counts: &[usize]| room(counts, "a vector", counts, 8, "take a part of it");
        let e = vector(&[1 << 25, 1 << 25]).unwrap_err().to_string();
        assert!(e.contains("a vector takes 9007199254740992 bytes and does not fit in memory"), "{e}");
        assert!(e.contains("shape [33554432, 33554432]") && e.ends_with("take a part of it"), "{e}");
        assert_eq!(vector(&[5, 2]).unwrap(), 10);
        assert_eq!(vector(&[1 << 60, 0, 1 << 60]).unwrap(), 0);
        assert!(vector(&[1 << 60; 3]).is_err());
    }
}
