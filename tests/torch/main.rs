//! libtorch: tensors that cross the border, and every op that both libraries have, ours against theirs.
//!
//! Needs the feature `torch`, and libtorch, which `tests/torch/setup.sh` sets up.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod against;
mod bad_input;
mod border;
mod gradients;
mod memory;
mod specimens;
