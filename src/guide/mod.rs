//! The guide: one page per subject. Every code block in it runs as a test.
//!
//! | page | what it answers |
//! |---|---|
//! | [`fills`] | what is an element that is not stored, and what becomes of it in an op? |
//! | [`undefined`] | what if it has no value at all: graphs, ratings, masks? |
//! | [`dtypes`] | which dtype comes out, and what happens at the edges of a range? |
//! | [`indexing`] | how are elements chosen, assigned and joined, and what does that cost? |
//! | [`reductions`] | sums, statistics, running sums, sorting: what counts, and in which layout is the result? |
//! | [`solving`] | how are systems solved, eigenvalues and principal components found? |
//! | [`gradients`] | what is the gradient by a sparse tensor, and how is a pruned network trained? |
//! | [`softmax`] | softmax, normalising and standardising over sparse axes |
//! | [`cookbook`] | how are common tasks written so that they stay sparse? |
//! | [`levels`] | how are layouts made of levels, and what do other systems call them? |
//! | [`files`], [`command`] | which files are read and written, from Rust and from the shell? |
//! | [`from_scipy`], [`from_pytorch`], [`from_pydata`] | what is that called here? |
//! | [`torch`] | what does this library do that `torch.sparse` does not? |
//! | [`support`] | how is each op carried out on each layout and fill? |
//! | [`glossary`] | what does this word mean? |

#[doc = include_str!("fills.md")]
pub mod fills {}

#[doc = include_str!("undefined.md")]
pub mod undefined {}

#[doc = include_str!("dtypes.md")]
pub mod dtypes {}

#[doc = include_str!("reductions.md")]
pub mod reductions {}

#[doc = include_str!("solving.md")]
pub mod solving {}

#[doc = include_str!("gradients.md")]
pub mod gradients {}

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

#[doc = include_str!("torch.md")]
pub mod torch {}
