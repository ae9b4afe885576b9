//! Zarr: stores of other writers, what we write, broken stores.

#[cfg(feature = "codecs")] // most are packed by zstd
mod forms;
mod refused;
mod round_trip;
