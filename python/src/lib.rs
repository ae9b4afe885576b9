//! The compiled half of the Python package `openwork`: it converts arguments, calls the library with the interpreter's lock
//! released, and converts results. What an op means is the library's business alone.

mod arguments;
mod capsule;
mod context;
mod dtypes;
mod errors;
mod factors;
mod files;
mod gradients;
mod index;
mod make;
mod operators;
mod ops;
mod results;
mod solvers;
mod table;
mod tensor;

use pyo3::prelude::*;

/// The compiled half of the package `openwork`.
#[pymodule]
mod _core {
    #[pymodule_export]
    use crate::context::{after_fork, config, densify_budget, explain_start, explain_stop, forked_threads, set_config};
    #[pymodule_export]
    use crate::dtypes::{promote, set_dtypes};
    #[pymodule_export]
    use crate::errors::set_exceptions;
    #[pymodule_export]
    use crate::factors::{Factored, eigh, eigsh, factorize, qr, solve, svd, svds};
    #[pymodule_export]
    use crate::files::{Archive, dump_state_dict, file_info, load_state_dict, read, save_state_dict, write};
    #[pymodule_export]
    use crate::gradients::{Gradient, vjp_of};
    #[pymodule_export]
    use crate::make::{
        arange, compressed, coo, empty, eye, from_constituents, from_diagonals, from_dlpack, full, linspace, rand,
        randn, random, scalar,
    };
    #[pymodule_export]
    use crate::ops::{Op, catalogue, einsum_path, op};
    #[pymodule_export]
    use crate::solvers::{solve_iteratively, solve_triangular};
    #[pymodule_export]
    use crate::tensor::{Tensor, set_converters};
}
