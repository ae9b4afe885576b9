//! Every op of the library by name: what a binding, a table or a tool needs to know of it.
//!
//! ```
//! use openwork::catalogue;
//!
//! let sort = catalogue::find("sort").ok_or("no such op")?;
//! assert_eq!(sort.family, "order");
//! assert_eq!(sort.parameters[0].name, "axis");
//! assert!(catalogue::all().filter(|op| op.family == "pointwise").count() > 90);
//! # Ok::<(), &str>(())
//! ```

mod table;

use crate::base::mapped::Mapped;
use std::sync::OnceLock;

use openwork_ops::{BinaryOp, ReduceOp, UnaryOp};

/// An op, as the method of [`Tensor`](crate::Tensor) that carries it out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Entry {
    /// The method's name, by which errors and [`explain`](crate::explain) call it too.
    pub name: &'static str,
    /// The family: the folder or file of `src/family/` where the method stands. Registered ops of one and two operands
    /// belong to `pointwise`, registered folds to `reduce`.
    pub family: &'static str,
    /// Whether the method is called on a tensor. If not, it is an associated function.
    pub takes_self: bool,
    /// The parameters after `self`, in order.
    pub parameters: &'static [Parameter],
    /// The Rust type of the result, without the `Result` around it.
    pub result: &'static str,
    /// The first sentence of the documentation, in Markdown.
    pub doc: &'static str,
}

/// A parameter of an op.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Parameter {
    /// Its name.
    pub name: &'static str,
    /// Its Rust type.
    pub kind: &'static str,
}

const fn parameter(name: &'static str, kind: &'static str) -> Parameter {
    Parameter { name, kind }
}

const OTHER: &[Parameter] = &[parameter("other", "impl Into<Operand>")];
const AXES: &[Parameter] = &[parameter("axes", "impl Into<Axes>")];

/// Every op, registered ones first; the others by family and name.
pub fn all() -> impl Iterator<Item = &'static Entry> {
    static REGISTERED: OnceLock<Vec<Entry>> = OnceLock::new();
    let registered = REGISTERED.get_or_init(|| {
        let entry =
            |name, family, parameters, doc| Entry { name, family, takes_self: true, parameters, result: "Tensor", doc };
        let unary = UnaryOp::ALL.mapped(|op| entry(op.name(), "pointwise", &[][..], op.doc()));
        let binary = BinaryOp::ALL.mapped(|op| entry(op.name(), "pointwise", OTHER, op.doc()));
        let folds = ReduceOp::ALL.mapped(|op| entry(op.name(), "reduce", AXES, op.doc()));
        [unary, binary, folds].concat()
    });
    registered.iter().chain(table::METHODS)
}

/// The op of that name.
pub fn find(name: &str) -> Option<&'static Entry> {
    all().find(|op| op.name == name)
}
