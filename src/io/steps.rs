//! Many bytes read and written in steps, between which an operation may be given up.

use std::io::{self, Read, Write};

use super::progress::Tell;
use crate::base::interrupt;

/// Bytes of a step: unpacking that many takes some milliseconds, packing them some tens.
pub(crate) const STEP: usize = 1 << 20;

/// Fills `out`, as [`Read::read_exact`] does.
pub(crate) fn read_exact(source: &mut (impl Read + ?Sized), out: &mut [u8], tell: &Tell<'_>) -> io::Result<()> {
    for part in out.chunks_mut(STEP) {
        interrupt::check();
        source.read_exact(part)?;
        tell.more(part.len());
    }
    Ok(())
}

/// Writes all of them, as [`Write::write_all`] does.
pub(crate) fn write_all(sink: &mut (impl Write + ?Sized), bytes: &[u8], tell: &Tell<'_>) -> io::Result<()> {
    for part in bytes.chunks(STEP) {
        interrupt::check();
        sink.write_all(part)?;
        tell.more(part.len());
    }
    Ok(())
}

#[cfg(test)]
#[path = "tests/steps.rs"]
mod tests;
