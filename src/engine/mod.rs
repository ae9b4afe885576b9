//! Machines that several op families share: kernels on blocks of values, any layout to any, a tensor cut into slices.

mod across;
pub(crate) mod blocks;
pub(crate) mod convert;
pub(crate) mod distribute;
pub(crate) mod fold;
pub(crate) mod join;
pub(crate) mod sides;
pub(crate) mod recompress;
pub(crate) mod slices;
pub(crate) mod sparsify;
pub(crate) mod splice;
pub(crate) mod transpose;
pub(crate) mod unblock;
pub(crate) mod value_rows;
