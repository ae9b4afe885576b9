//! Files.

pub mod matrix_market;
