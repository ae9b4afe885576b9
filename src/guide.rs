//! The guide: one page per subject. Every code block in it runs as a test.

#[doc = include_str!("guide/fills.md")]
pub mod fills {}

#[doc = include_str!("guide/undefined.md")]
pub mod undefined {}

#[doc = include_str!("guide/reductions.md")]
pub mod reductions {}

#[doc = include_str!("guide/softmax.md")]
pub mod softmax {}

#[doc = include_str!("guide/indexing.md")]
pub mod indexing {}

#[doc = include_str!("guide/levels.md")]
pub mod levels {}

#[doc = include_str!("guide/files.md")]
pub mod files {}

#[doc = include_str!("guide/command.md")]
pub mod command {}

#[doc = include_str!("guide/support.md")]
pub mod support {}

#[doc = include_str!("guide/from_pytorch.md")]
pub mod from_pytorch {}

#[doc = include_str!("guide/from_scipy.md")]
pub mod from_scipy {}

#[doc = include_str!("guide/from_pydata.md")]
pub mod from_pydata {}
