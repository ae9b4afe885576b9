//! What a lenient reader let pass.

use std::fmt;

/// A deviation from the rules of a format that a lenient reader understood.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Warning {
    /// The descriptor's keys stand at the top level, not inside `binsparse`.
    FlatDescriptor,
    /// A required key is missing, and what it would say was found out otherwise.
    MissingKey(&'static str),
    /// Some other version of the 0.1 line.
    Version(String),
    /// A key, format or element type is spelled as in an older draft.
    OldSpelling {
        /// As the file has it.
        found: String,
        /// As it is called today.
        meaning: String,
    },
    /// `swizzle` counts axes from 1.
    Swizzle,
    /// A level says that its coordinates are not sorted, as a draft of the text allows.
    UnsortedLevel,
    /// `data_types` leaves out an array; the type is the container's.
    MissingType(String),
    /// `data_types` names an array that the format does not have.
    UnusedType(String),
    /// An array's element type is not the declared one; the values were kept.
    StoredType {
        /// The array.
        array: String,
        /// As the descriptor has it.
        declared: String,
        /// As the container has it.
        stored: String,
    },
    /// Truth values other than 0 and 1, read as true.
    TruthValues(usize),
    /// An array is declared iso and has every value.
    NotIso,
    /// Coordinates repeat or are out of order. Repeated ones mean their sum.
    Unordered,
    /// A doubly compressed format has rows (columns) that store nothing.
    EmptySegments,
    /// A skew-symmetric matrix has a diagonal that is not zero.
    SkewDiagonal,
    /// What is said about the structure of a matrix is malformed or false.
    Facts(String),
    /// The container holds the descriptor in an unusual form.
    DescriptorForm(&'static str),
    /// So many entries stand above the diagonal of a Matrix Market file with a symmetry. They are mirrored like those
    /// below it; where a file lists both of a pair, the two are repeated coordinates.
    UpperEntries(u64),
    /// The banner of a Matrix Market file begins with one percent sign instead of two.
    ShortBanner,
    /// A Matrix Market file is `hermitian` and has no complex values: it is read as `symmetric`.
    RealHermitian,
    /// A value does not fit the dtype that a comment of a Matrix Market or TensorMarket file names: the comment is
    /// passed over.
    TypeComment(String),
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Warning::FlatDescriptor => f.write_str("the descriptor's keys are not inside `binsparse`"),
            Warning::MissingKey(key) => write!(f, "the key `{key}` is missing"),
            Warning::Version(version) => write!(f, "version {version:?} is read as 0.1.0"),
            Warning::OldSpelling { found, meaning } => write!(f, "`{found}` is read as `{meaning}`"),
            Warning::Swizzle => f.write_str("`swizzle` counts axes from 1"),
            Warning::UnsortedLevel => f.write_str("a level says that it is not sorted"),
            Warning::MissingType(array) => write!(f, "`data_types` does not name {array:?}"),
            Warning::UnusedType(array) => write!(f, "`data_types` names {array:?}, which the format does not have"),
            Warning::StoredType { array, declared, stored } => {
                write!(f, "{array:?} is declared {declared} and stored as {stored}")
            }
            Warning::TruthValues(n) => write!(f, "{n} truth values other than 0 and 1 are read as true"),
            Warning::NotIso => f.write_str("the values are declared iso, but all are stored"),
            Warning::Unordered => f.write_str("coordinates repeat or are out of order"),
            Warning::EmptySegments => f.write_str("a doubly compressed format has empty segments"),
            Warning::SkewDiagonal => f.write_str("a skew-symmetric matrix has a diagonal that is not zero"),
            Warning::Facts(why) => f.write_str(why),
            Warning::UpperEntries(n) => write!(f, "{n} entries above the diagonal are mirrored like those below it"),
            Warning::ShortBanner => {
                f.write_str("the file begins with `%MatrixMarket`, which has one percent sign of two")
            }
            Warning::RealHermitian => {
                f.write_str("the banner says `hermitian` of values that are not complex, which is read as `symmetric`")
            }
            Warning::TypeComment(name) => write!(f, "not all values fit the type {name:?} that a comment names"),
            Warning::DescriptorForm(form) => write!(f, "the descriptor is stored as {form}"),
        }
    }
}
