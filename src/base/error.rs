//! Errors: which op, what was wrong where, what to do instead.

use crate::base::mapped::Mapped;
use std::fmt;
use std::path::PathBuf;

use openwork_ops::{DType, DoesNotFit};

use crate::base::trace;

/// What went wrong. One pointer wide; see [`ErrorKind`] for the cases.
#[derive(Debug)]
pub struct Error(Box<ErrorKind>);

/// `Result` with [`Error`].
pub type Result<T> = std::result::Result<T, Error>;

/// The cases of [`Error`], each with what a program needs to react and a person to mend.
#[derive(Debug)]
#[non_exhaustive]
pub enum ErrorKind {
    /// Shapes do not go together.
    Shape {
        /// The op.
        op: &'static str,
        /// The shapes given, in argument order.
        shapes: Vec<Vec<usize>>,
        /// What is wrong and what would be right.
        why: String,
    },
    /// An op is not defined for these dtypes.
    DType {
        /// The op.
        op: &'static str,
        /// The dtypes given, in argument order.
        dtypes: Vec<DType>,
        /// What is wrong and what would be right.
        why: String,
    },
    /// An axis is out of range or given twice.
    Axis {
        /// The op.
        op: &'static str,
        /// The axis given.
        axis: isize,
        /// The number of axes there are.
        ndim: usize,
        /// What is wrong.
        why: String,
    },
    /// A layout cannot hold the tensor, or an op cannot take it.
    Layout {
        /// The op.
        op: &'static str,
        /// What is wrong and what would be right.
        why: String,
    },
    /// An argument breaks a rule: an index out of range, arrays of unequal length, …
    Invalid {
        /// The op or constructor.
        op: &'static str,
        /// The argument.
        argument: String,
        /// What is wrong, where, and what is allowed.
        why: String,
    },
    /// A value does not fit the dtype it is meant for.
    DoesNotFit {
        /// The op or constructor.
        op: &'static str,
        /// Value and dtype.
        source: DoesNotFit,
    },
    /// The result is not sparse, and too large for the densify budget.
    Densify {
        /// The op.
        op: &'static str,
        /// Bytes the dense result would take.
        bytes: u128,
        /// The budget in force, in bytes.
        budget: u64,
        /// Why the result is not sparse.
        why: String,
    },
    /// Memory cannot hold what the arguments ask for.
    Memory {
        /// The op.
        op: &'static str,
        /// The shape that asks for so much.
        shape: Vec<usize>,
        /// What takes so much: a dense tensor of a dtype, an index of every element, …
        what: String,
        /// The bytes it would take.
        bytes: u128,
        /// The bytes that are free.
        free: u64,
        /// What to do.
        instead: String,
    },
    /// An element or a dense form was asked for where a tensor with undefined fill has none.
    Absent {
        /// The op.
        op: &'static str,
        /// What is absent and what to do.
        why: String,
    },
    /// A matrix that is to be solved with is singular.
    Singular {
        /// The op.
        op: &'static str,
        /// The first row, column or pivot found to make it so, as `why` says.
        at: usize,
        /// What was found where, and what to do.
        why: String,
    },
    /// An iterative method stopped before it reached its tolerance.
    NotConverged {
        /// The op.
        op: &'static str,
        /// Why it stopped, how far it came, and what to do.
        why: String,
    },
    /// The caller's [`Watch`](crate::interrupt::Watch) gave the operation up.
    Interrupted {
        /// The op that ran.
        op: &'static str,
    },
    /// A file could not be read or written.
    Io {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// A file breaks its format.
    Format {
        /// The file, if it is one.
        path: Option<PathBuf>,
        /// The format's name.
        format: &'static str,
        /// Where and what.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

impl Error {
    /// The case.
    pub fn kind(&self) -> &ErrorKind {
        &self.0
    }
}

impl From<ErrorKind> for Error {
    fn from(kind: ErrorKind) -> Error {
        Error(Box::new(kind))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind() {
            ErrorKind::Shape { op, shapes, why } => write!(f, "{op}: shapes {}: {why}", list(shapes)),
            ErrorKind::DType { op, dtypes, why } => {
                let names: Vec<_> = dtypes.mapped(|d| d.name());
                write!(f, "{op}: dtype {}: {why}", names.join(", "))
            }
            ErrorKind::Axis { op, axis, ndim, why } => {
                write!(f, "{op}: axis {axis} of a tensor with {ndim} axes: {why}")
            }
            ErrorKind::Layout { op, why } => write!(f, "{op}: {why}"),
            ErrorKind::Invalid { op, argument, why } => write!(f, "{op}: argument `{argument}`: {why}"),
            ErrorKind::DoesNotFit { op, source } => write!(f, "{op}: {source}; cast the value or choose another dtype"),
            ErrorKind::Densify { op, bytes, budget, why } => write!(
                f,
                "{op}: {why}; the dense result would take {bytes} bytes, over the densify budget of {budget}: convert with \
                 to_dense() first, or raise the budget with with_densify_budget"
            ),
            ErrorKind::Memory { op, shape, what, bytes, free, instead } => {
                write!(f, "{op}: shape {shape:?}: {what} takes {bytes} bytes and does not fit in memory, ")?;
                if *bytes > u128::from(*free) {
                    write!(f, "of which {free} are free: {instead}")
                } else {
                    write!(f, "of which this process is not given so much: {instead}")
                }
            }
            ErrorKind::Absent { op, why } | ErrorKind::NotConverged { op, why } => write!(f, "{op}: {why}"),
            ErrorKind::Singular { op, why, .. } => write!(f, "{op}: the matrix is singular: {why}"),
            ErrorKind::Interrupted { op } => write!(f, "{op}: interrupted before it was done"),
            ErrorKind::Io { path, source } => write!(f, "{}: {source}", path.display()),
            ErrorKind::Format { path: Some(path), format, source } => {
                write!(f, "{}: {format}: {source}", path.display())
            }
            ErrorKind::Format { path: None, format, source } => write!(f, "{format}: {source}"),
        }
    }
}

fn list(shapes: &[Vec<usize>]) -> String {
    shapes.mapped(|s| format!("{s:?}")).join(", ")
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self.kind() {
            ErrorKind::Io { source, .. } => Some(source),
            ErrorKind::Format { source, .. } => Some(source.as_ref()),
            ErrorKind::DoesNotFit { source, .. } => Some(source),
            _ => None,
        }
    }
}

// What is wrong comes as anything that can be written, mostly `format_args!`: text is made here and not by each of many
// hundred callers, of which each would have to drop it as well.

/// The shapes given to the op that runs do not go together.
#[cold]
#[inline(never)]
pub(crate) fn shape(shapes: &[&[usize]], why: impl fmt::Display) -> Error {
    ErrorKind::Shape { op: trace::op(), shapes: shapes.mapped(|s| s.to_vec()), why: text(&why) }.into()
}

#[cold]
#[inline(never)]
pub(crate) fn dtype(dtypes: &[DType], why: impl fmt::Display) -> Error {
    ErrorKind::DType { op: trace::op(), dtypes: dtypes.to_vec(), why: text(&why) }.into()
}

#[cold]
#[inline(never)]
pub(crate) fn layout(why: impl fmt::Display) -> Error {
    ErrorKind::Layout { op: trace::op(), why: text(&why) }.into()
}

#[cold]
#[inline(never)]
pub(crate) fn invalid(argument: impl fmt::Display, why: impl fmt::Display) -> Error {
    ErrorKind::Invalid { op: trace::op(), argument: text(&argument), why: text(&why) }.into()
}

#[cold]
#[inline(never)]
pub(crate) fn absent(why: impl fmt::Display) -> Error {
    ErrorKind::Absent { op: trace::op(), why: text(&why) }.into()
}

fn text(what: &dyn fmt::Display) -> String {
    what.to_string()
}

pub(crate) fn does_not_fit(source: DoesNotFit) -> Error {
    ErrorKind::DoesNotFit { op: trace::op(), source }.into()
}

pub(crate) fn memory(shape: &[usize], what: &str, bytes: u128, free: u64, instead: &str) -> Error {
    let (shape, what, instead) = (shape.to_vec(), what.to_string(), instead.to_string());
    ErrorKind::Memory { op: trace::op(), shape, what, bytes, free, instead }.into()
}

const _: () = assert!(size_of::<Error>() == size_of::<usize>());
