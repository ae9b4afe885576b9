//! Small dense blocks in compressed rows, or columns, of blocks.

use crate::levels::indices::Indices;
use crate::levels::level::Level;
use crate::levels::pattern::{Dim, Part, Pattern};

/// Rows of blocks of one shape, one after the other; or columns of blocks, where the first axis is that of columns.
pub(crate) struct BlockRows<'a> {
    /// Blocks before each row of them.
    pub(crate) pointers: &'a Indices,
    /// Where in its row a block is, in blocks.
    pub(crate) indices: &'a Indices,
    /// The axis along which rows of blocks follow each other, and that along which blocks follow each other in these.
    pub(crate) axes: [usize; 2],
    /// Elements of a block along these axes.
    pub(crate) shape: [usize; 2],
    /// Which dimensions of the values are along these axes.
    pub(crate) dims: [usize; 2],
}

impl Pattern {
    /// The blocks of a matrix that has them; `None` of any other pattern.
    pub(crate) fn block_rows(&self) -> Option<BlockRows<'_>> {
        let [Level::Dense, Level::Sparse { pointers: Some(pointers), indices, .. }] = &self.levels[..] else {
            return None;
        };
        let ([indices], [first, second, one, other]) = (&indices[..], &self.dims[..]) else { return None };
        if self.level_dims != 2 || first.axis == second.axis || one.axis == other.axis {
            return None;
        }
        let within = [first, second].map(|d| if one.axis == d.axis { (one, 1) } else { (other, 2) });
        let are_of_a_block = |(d, (own, _)): (&Dim, (&Dim, usize))| {
            own.axis == d.axis && own.part == Part::Mod(own.size) && d.part == Part::Div(own.size)
        };
        let is_block = [first, second].into_iter().zip(within).all(are_of_a_block);
        is_block.then(|| BlockRows {
            pointers,
            indices,
            axes: [first.axis, second.axis],
            shape: within.map(|(own, _)| own.size),
            dims: within.map(|(_, place)| place),
        })
    }
}
