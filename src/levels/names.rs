//! The arrays of levels: what they are called, and how many entries they have.

use std::fmt;

/// The name of an array of a level, with the dimension of the level that it belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ArrayName {
    /// Where the segments of the parents begin and end: named for the first dimension that they lead to.
    Pointers(usize),
    /// The coordinates of one dimension.
    Indices(usize),
}

const POINTERS: &str = "pointers_to_";
const INDICES: &str = "indices_";

impl fmt::Display for ArrayName {
    /// `pointers_to_1`, `indices_1`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ArrayName::Pointers(dim) => write!(f, "{POINTERS}{dim}"),
            ArrayName::Indices(dim) => write!(f, "{INDICES}{dim}"),
        }
    }
}

impl ArrayName {
    /// Reads what [`Display`](fmt::Display) writes, and nothing else: no sign, no leading zero.
    pub(crate) fn parse(text: &str) -> Option<ArrayName> {
        let number = |digits: &str| digits.parse().ok().filter(|n: &usize| n.to_string() == digits);
        match text.strip_prefix(POINTERS) {
            Some(digits) => number(digits).map(ArrayName::Pointers),
            None => text.strip_prefix(INDICES).and_then(number).map(ArrayName::Indices),
        }
    }

    /// The dimension in the name.
    pub(crate) fn dim(self) -> usize {
        match self {
            ArrayName::Pointers(dim) | ArrayName::Indices(dim) => dim,
        }
    }
}

/// How many entries an array of a level has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ArrayLen {
    /// One per parent.
    Parents,
    /// One more than there are parents.
    ParentsAndOne,
    /// As many as the level has positions, which pointers tell, or the array itself.
    Positions,
}

/// An array that a kind of level has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ArrayRule {
    pub(crate) name: ArrayName,
    pub(crate) len: ArrayLen,
    /// Whether it may be left out.
    pub(crate) optional: bool,
}

#[cfg(test)]
mod tests {
    use super::ArrayName;

    #[test]
    fn names_are_read_as_they_are_written() {
        for name in [ArrayName::Pointers(0), ArrayName::Indices(0), ArrayName::Pointers(17), ArrayName::Indices(3)] {
            assert_eq!(ArrayName::parse(&name.to_string()), Some(name));
        }
        for text in ["indices_", "indices_01", "indices_+1", "pointers_1", "pointers_to_-1", "values", "indices_1 "] {
            assert_eq!(ArrayName::parse(text), None, "{text}");
        }
    }
}
