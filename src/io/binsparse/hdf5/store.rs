//! What a reader asks of an HDF5 file, whoever reads it.

use crate::base::named::Named;
use crate::io::fault::Res;
use crate::io::progress::Tell;
use openwork_ops::DType;

/// Element types as far as a reader cares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ElementKind {
    /// A number in either byte order, or a pair of floats named `r` and `i`.
    Number(DType),
    /// Bytes that are an enumeration of `FALSE` and `TRUE`, or bit fields, as Julia has them.
    Truth,
    Text,
    Other(&'static str),
}

/// What a name in a group leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Link {
    /// An object of this file.
    Hard,
    /// A path.
    Soft,
    /// Another file, or whatever a plug-in makes of it.
    External,
}

/// The names in a group, and what kind of link each is.
pub(super) type Links = Named<Link>;

/// What a hard link leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Object {
    Group,
    Dataset,
    Other,
}

/// What an attribute holds. Text and bytes are `None` where there are more than was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Attribute {
    /// Not even a shape.
    Null,
    /// One text, alone or as the only one of a list.
    Text {
        list: bool,
        text: Option<Vec<u8>>,
    },
    /// 8-bit integers along one axis.
    Bytes(Option<Vec<u8>>),
    /// A few larger integers along one axis, none of them negative.
    Integers(Vec<u64>),
    Other,
}

/// What a dataset says about itself.
#[derive(Clone, Debug)]
pub(super) struct Facts {
    pub(super) kind: ElementKind,
    /// Bytes of an element.
    pub(super) item: u64,
    /// `None` where it has no elements at all, not even a length.
    pub(super) shape: Option<Vec<u64>>,
    pub(super) layout: DataLayout,
    /// Whether elements are stored in other files.
    pub(super) external: bool,
    /// Numbers of the filters that elements went through.
    pub(super) filters: Vec<i64>,
    /// Bytes that the file has of it.
    pub(super) stored: u64,
}

/// How elements are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DataLayout {
    Compact,
    /// In one place of the file, if anywhere.
    Contiguous(Option<u64>),
    /// In pieces of so many bytes.
    Chunked(u64),
    /// In other datasets.
    Virtual,
}

/// An open file, and the group that was entered last.
pub(super) trait Store: Send {
    /// Goes to a group, by names between slashes, from the root on.
    fn enter(&mut self, name: &str) -> Res<()>;
    /// What tells the group from others.
    fn identity(&self) -> Res<String>;
    fn links(&self) -> Res<Links>;
    /// What a name in the group leads to, if there is one. A soft link that is known to end in this file is a hard one.
    fn link(&mut self, name: &str) -> Res<Option<Link>>;
    /// What a hard link of the group leads to.
    fn object(&mut self, name: &str) -> Res<Object>;
    fn attributes(&mut self) -> Res<Vec<String>>;
    /// An attribute of the group, if it has one of that name.
    fn attribute(&mut self, name: &str, most: usize) -> Res<Option<Attribute>>;
    /// An attribute of an object of the group, which a hard link leads to.
    fn attribute_of(&mut self, object: &str, name: &str, most: usize) -> Res<Option<Attribute>>;
    /// A dataset of the group, which a hard link leads to.
    fn facts(&mut self, name: &str) -> Res<Facts>;
    /// Reads numbers of a dataset in C order, from `start` on, in this machine's byte order.
    fn read(&mut self, name: &str, start: u64, out: &mut [u8], tell: &Tell<'_>) -> Res<()>;
    /// The one text of a dataset; `None` if it is longer than `most`.
    fn text(&mut self, name: &str, most: usize) -> Res<Option<Vec<u8>>>;
}

/// A text of fixed size without its padding.
pub(super) fn unpadded(mut text: Vec<u8>, padding: Padding) -> Vec<u8> {
    let end = match padding {
        Padding::Terminated => text.iter().position(|&b| b == 0),
        Padding::Spaces => Some(text.iter().rposition(|&b| b != b' ').map_or(0, |last| last + 1)),
        Padding::Zeros => Some(text.iter().rposition(|&b| b != 0).map_or(0, |last| last + 1)),
    };
    text.truncate(end.unwrap_or(text.len()));
    text
}

/// What stands behind a text of fixed size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Padding {
    /// A zero, and then anything.
    Terminated,
    Zeros,
    Spaces,
}
