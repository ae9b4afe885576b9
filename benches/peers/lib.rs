//! Nothing: the benches are the crate.
