//! Tensors on their way out of the program and back: formats of files, models, memory shared with other libraries, files
//! of other writers, and real data.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "../common/mod.rs"]
mod common;
#[path = "../samples/mod.rs"]
mod samples;

mod binsparse;
mod models;
mod python;
mod real_data;
mod text_formats;
