//! Tensors on their way out of the program and back: formats of files, models, memory shared with other libraries, files
//! of other writers, and real data.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "../common/mod.rs"]
mod common;
#[allow(unsafe_code)] // an allocator: each of its methods passes the caller's promise on to the system's
#[path = "../common/memory.rs"]
mod memory;
#[path = "../samples/mod.rs"]
mod samples;

mod binsparse;
mod foreign;
mod models;
mod mutate;
mod others;
mod progress;
mod python;
mod real_data;
mod sscdf;
mod text_formats;
mod told;
mod zarr;

use openwork::Scalar;
use serde_json::{Value, json};

#[global_allocator]
static ALLOCATOR: memory::Watched = memory::Watched;

/// A stored element as the published decodings spell it.
fn spelled(value: Scalar) -> Value {
    let float = |v: f64| match v {
        v if v.is_nan() => json!("NaN"),
        v if v.is_infinite() => json!(if v > 0.0 { "Infinity" } else { "-Infinity" }),
        v => json!(v),
    };
    match value {
        Scalar::Bool(v) => json!(v),
        Scalar::F32(v) => float(v.into()),
        Scalar::F64(v) => float(v),
        Scalar::Complex64(v) => json!({"re": float(v.re.into()), "im": float(v.im.into())}),
        Scalar::Complex128(v) => json!({"re": float(v.re), "im": float(v.im)}),
        Scalar::U64(v) => json!(v),
        other => json!(other.to_string().parse::<i64>().unwrap()),
    }
}
