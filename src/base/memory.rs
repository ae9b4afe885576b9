//! Memory whose size an argument or broadcasting decides: asked for before it is used, so that a shape too large is an
//! error and not the end of the process.
//!
//! An allocation is refused if its bytes exceed what is free (what the machine says is available, swap included, or what
//! the control groups of the process still let it take, whichever is less), or if the kernel refuses the address space. A
//! kernel that overcommits grants what nobody has, and ends the process when it is written to: asking the allocator alone
//! is not enough.

use openwork_ops::DType;

use crate::base::error::{self, Error, Result};

/// Smaller sizes are not compared with what is free: to ask costs as much as to fill a good part of them.
const LARGE: usize = 64 << 20;

/// Whether so many bytes can be had: nothing is allocated for good.
pub(crate) fn is_possible(bytes: usize) -> bool {
    if bytes < 4 << 20 {
        return true;
    }
    if !is_free(bytes) {
        return false;
    }
    let mut probe: Vec<u8> = Vec::new();
    probe.try_reserve_exact(bytes).is_ok()
}

/// Whether so many bytes are free, as far as anybody can tell.
pub(crate) fn is_free(bytes: usize) -> bool {
    bytes < LARGE || free().is_none_or(|free| bytes as u64 <= free)
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
    error::memory(shape, what, bytes, free().unwrap_or(isize::MAX as u64), instead)
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

#[cfg(target_os = "linux")]
pub(crate) use linux::free;

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
            write("memory.swap.max", "5\n");
            write("memory.swap.current", "1\n");
            assert_eq!(group(false).free(7), Some(400 + 50 + 4));
            write("memory.limit_in_bytes", "2000\n");
            write("memory.usage_in_bytes", "500\n");
            write("memory.stat", "cache 3\ntotal_inactive_file 100\ntotal_active_file 1\n");
            assert_eq!(group(true).free(7), Some(1500 + 101 + 7));
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
