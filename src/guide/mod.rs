//! The guide: one page per subject. Every code block in it runs as a test.

#[doc = include_str!("fills.md")]
pub mod fills {}

#[doc = include_str!("undefined.md")]
pub mod undefined {}

#[doc = include_str!("dtypes.md")]
pub mod dtypes {}

#[doc = include_str!("reductions.md")]
pub mod reductions {}

#[doc = include_str!("softmax.md")]
pub mod softmax {}

#[doc = include_str!("indexing.md")]
pub mod indexing {}

#[doc = include_str!("levels.md")]
pub mod levels {}

#[doc = include_str!("files.md")]
pub mod files {}

#[doc = include_str!("command.md")]
pub mod command {}

#[doc = include_str!("cookbook.md")]
pub mod cookbook {}

#[doc = include_str!("glossary.md")]
pub mod glossary {}

#[doc = include_str!("support.md")]
pub mod support {}

#[doc = include_str!("from_pytorch.md")]
pub mod from_pytorch {}

#[doc = include_str!("from_scipy.md")]
pub mod from_scipy {}

#[doc = include_str!("from_pydata.md")]
pub mod from_pydata {}
