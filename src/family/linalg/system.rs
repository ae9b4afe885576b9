//! What the methods that solve systems share: the operator on blocks, when to stop, and the true residual at the end.

use std::cell::Cell;
use std::ops::ControlFlow;

use openwork_ops::{DType, c128, promote};

use super::block::Block;
use super::operator::Operator;
use super::options::{Options, Progress};
use super::report::{Report, Solution, Stop};
use crate::base::error::{self, ErrorKind, Result};
use crate::tensor::Tensor;
use crate::tensor::trace;

/// The dtype in which vectors are given to operators: a float of 32 bits at least.
pub(super) fn working_dtype(dtypes: &[DType]) -> Result<DType> {
    let why = "no dtype holds the values of all; cast one of them";
    let mut all = dtypes.iter().copied();
    let first = all.next().unwrap_or(DType::F64);
    let dtype = all.try_fold(first, promote).ok_or_else(|| error::dtype(dtypes, why))?.to_inexact();
    Ok(if matches!(dtype, DType::F16 | DType::BF16) { DType::F32 } else { dtype })
}

/// An operator applied to a block, with what it gives checked.
pub(super) struct Applied<'a> {
    pub(super) operator: &'a dyn Operator,
    /// What errors call it.
    pub(super) name: &'static str,
    pub(super) dtype: DType,
    /// Whether vectors have one axis.
    pub(super) is_vector: bool,
    pub(super) count: Cell<usize>,
}

impl Applied<'_> {
    pub(super) fn apply(&self, x: &Block) -> Result<Block> {
        let rows = self.operator.shape()[0];
        self.block(x, rows, |x| self.operator.apply(x))
    }

    #[cfg(feature = "faer")]
    pub(super) fn apply_adjoint(&self, x: &Block) -> Result<Block> {
        let rows = self.operator.shape()[1];
        self.block(x, rows, |x| self.operator.apply_adjoint(x))
    }

    fn block(&self, x: &Block, rows: usize, f: impl FnOnce(&Tensor) -> Result<Tensor>) -> Result<Block> {
        self.count.set(self.count.get() + 1);
        let x_tensor = x.tensor(self.dtype, self.is_vector);
        let y = f(&x_tensor)?;
        let wanted = if self.is_vector { vec![rows] } else { vec![rows, x.k] };
        if y.shape() != wanted {
            let why =
                format!("the product of `{}` with a tensor of the first shape must have shape {wanted:?}", self.name);
            return Err(error::shape(&[x_tensor.shape(), y.shape()], why));
        }
        if y.dtype().is_complex() && !x.is_complex {
            let why = format!(
                "`{}` says that its dtype is {} and gives complex elements; let it say so",
                self.name,
                self.operator.dtype()
            );
            return Err(error::dtype(&[self.dtype, y.dtype()], why));
        }
        if y.fill().is_some_and(|f| f.is_undefined()) {
            let why = format!(
                "the product with `{}` lacks elements: its fill is undefined; choose what stands there with replace_fill",
                self.name
            );
            return Err(error::absent(why));
        }
        Block::of(&y, rows, x.k, x.is_complex)
    }
}

/// A system `a x = b` with as many right sides as `b` has columns.
pub(super) struct System<'a> {
    a: Applied<'a>,
    preconditioner: Option<Applied<'a>>,
    b: Block,
    watch: Watch<'a>,
    start: Option<Block>,
    method: &'static str,
}

/// Watches residuals.
pub(super) struct Watch<'a> {
    /// What the residual of each column must not exceed.
    thresholds: Vec<f64>,
    /// What a reported residual is divided by: the norm of the right side, or one.
    scales: Vec<f64>,
    limit: usize,
    iterations: usize,
    history: Vec<f64>,
    options: Options<'a>,
}

impl Watch<'_> {
    pub(super) fn is_small(&self, column: usize, norm: f64) -> bool {
        norm <= self.thresholds[column]
    }

    fn all_small(&self, norms: &[f64]) -> bool {
        norms.iter().enumerate().all(|(j, &n)| self.is_small(j, n))
    }

    fn relative(&self, norms: &[f64]) -> Vec<f64> {
        norms.iter().zip(&self.scales).map(|(n, s)| n / s).collect()
    }

    /// An iteration is done, with these norms of residuals: whether to stop.
    pub(super) fn step(&mut self, norms: &[f64]) -> Option<Stop> {
        self.iterations += 1;
        let relative = self.relative(norms);
        self.history.push(relative.iter().fold(0f64, |m, &r| if r > m || r.is_nan() { r } else { m }));
        let progress = Progress { iteration: self.iterations, residuals: &relative };
        let is_over = self.options.callback.as_mut().is_some_and(|call| call(&progress) == ControlFlow::Break(()));
        if norms.iter().any(|n| !n.is_finite()) {
            Some(Stop::NanResidual)
        } else if self.all_small(norms) {
            Some(Stop::Converged)
        } else if is_over {
            Some(Stop::Callback)
        } else if self.iterations >= self.limit {
            Some(Stop::MaxIterations)
        } else {
            None
        }
    }
}

/// What a run of a method from one start ended with.
pub(super) enum Ended {
    /// So the method says of itself.
    At(Stop),
    /// It is to start anew from where it is.
    Anew,
}

/// A method, run from a start `x` whose residual is given: it improves `x`.
pub(super) type Method = fn(&Tools<'_, '_>, &mut Watch<'_>, x: &mut Block, r: Block, restart: usize) -> Result<Ended>;

/// What a method works with.
pub(super) struct Tools<'t, 'a> {
    pub(super) a: &'t Applied<'a>,
    preconditioner: Option<&'t Applied<'a>>,
}

impl Tools<'_, '_> {
    /// The preconditioner times a block; the block itself if there is none.
    pub(super) fn precondition(&self, r: &Block) -> Result<Block> {
        match self.preconditioner {
            Some(p) => p.apply(r),
            None => Ok(r.clone()),
        }
    }
}

impl<'a> System<'a> {
    pub(super) fn new(
        method: &'static str,
        a: &'a dyn Operator,
        b: &Tensor,
        options: Options<'a>,
    ) -> Result<System<'a>> {
        let [m, n] = a.shape();
        let given = b.shape();
        if m != n {
            return Err(error::shape(&[&[m, n], given], "the operator must be a square matrix"));
        }
        let is_vector = b.ndim() == 1;
        if !(is_vector || b.ndim() == 2) || given[0] != n {
            let why = format!("the right side must have shape ({n}), or ({n}, k) for k of them");
            return Err(error::shape(&[&[m, n], given], why));
        }
        let mut dtypes = vec![a.dtype(), b.dtype()];
        if let Some(p) = options.preconditioner {
            if p.shape() != [m, n] {
                return Err(error::shape(
                    &[&[m, n], &p.shape()],
                    "the preconditioner must have the shape of the operator",
                ));
            }
            dtypes.push(p.dtype());
        }
        if let Some(x) = options.start {
            if x.shape() != given {
                return Err(error::shape(&[given, x.shape()], "the start must have the shape of the right side"));
            }
            dtypes.push(x.dtype());
        }
        let dtype = working_dtype(&dtypes)?;
        let k = if is_vector { 1 } else { given[1] };
        let (relative, absolute) = options.tolerances(dtype)?;
        let block = Block::of(b, n, k, dtype.is_complex())?;
        let norms = block.norms();
        let thresholds = norms.iter().map(|norm| (relative * norm).max(absolute)).collect();
        let scales = norms.iter().map(|&norm| if norm > 0.0 { norm } else { 1.0 }).collect();
        let applied = |operator, name| Applied { operator, name, dtype, is_vector, count: Cell::new(0) };
        let start = options.start.map(|x| Block::of(x, n, k, dtype.is_complex())).transpose()?;
        Ok(System {
            a: applied(a, "a"),
            preconditioner: options.preconditioner.map(|p| applied(p, "preconditioner")),
            b: block,
            start,
            method,
            watch: Watch {
                thresholds,
                scales,
                limit: options.iterations(n.saturating_mul(10).max(10)),
                iterations: 0,
                history: Vec::new(),
                options,
            },
        })
    }

    /// `b - a x`.
    fn residual(&self, x: &Block) -> Result<Block> {
        let minus = vec![c128::new(-1.0, 0.0); self.b.k];
        let mut r = self.a.apply(x)?;
        r.scale_and_add(&minus, &self.b);
        Ok(r)
    }

    /// Runs a method until it is done. What it says of its residuals is checked against those of the result: a recurrence
    /// drifts from them, and a run that ended too early is followed by one from where it ended.
    pub(super) fn solve(mut self, restart: usize, method: Method) -> Result<Solution> {
        let b = &self.b;
        let (mut x, mut r) = match self.start.take() {
            Some(x) => {
                let r = self.residual(&x)?;
                (x, r)
            }
            None => (Block::zeros(b.n, b.k, b.is_complex)?, b.clone()),
        };
        let mut norms = r.norms();
        let stop = loop {
            if norms.iter().any(|n| !n.is_finite()) {
                break Stop::NanResidual;
            }
            if self.watch.all_small(&norms) {
                break Stop::Converged;
            }
            if self.watch.iterations >= self.watch.limit {
                break Stop::MaxIterations;
            }
            let tools = Tools { a: &self.a, preconditioner: self.preconditioner.as_ref() };
            let ended = method(&tools, &mut self.watch, &mut x, r, restart)?;
            r = self.residual(&x)?;
            let before = std::mem::replace(&mut norms, r.norms());
            let is_better = norms.iter().zip(&before).any(|(now, then)| *now < 0.5 * then);
            match ended {
                Ended::At(Stop::Converged) if !self.watch.all_small(&norms) && !is_better => break Stop::Stagnation,
                Ended::At(Stop::Converged) | Ended::Anew => {}
                // The limit may have been reached with the last step that was needed.
                Ended::At(stop) if !self.watch.all_small(&norms) => break stop,
                Ended::At(_) => {}
            }
        };
        let residuals = self.watch.relative(&norms);
        let report = Report {
            method: self.method,
            stop,
            iterations: self.watch.iterations,
            products: self.a.count.get(),
            residuals,
            history: self.watch.history,
        };
        Ok(Solution { x: x.tensor(self.a.dtype, self.a.is_vector), report })
    }
}

/// Checks, runs and reports: a method as its public function is made of it.
pub(super) fn run<'a>(
    name: &'static str,
    a: &'a dyn Operator,
    b: &Tensor,
    options: Options<'a>,
    restart: usize,
    method: Method,
) -> Result<Solution> {
    let call = trace::call(name, &[b]);
    let restart = options.basis(restart)?;
    let ready = a.ready()?;
    let a = ready.as_deref().unwrap_or(a);
    call.end(System::new(name, a, b, options)?.solve(restart, method))
}

/// Whether a number is zero, or none.
pub(super) fn is_nothing(x: c128) -> bool {
    x == c128::new(0.0, 0.0) || !x.re.is_finite() || !x.im.is_finite()
}

/// The error of a singular matrix.
pub(super) fn singular(at: usize, why: String) -> error::Error {
    ErrorKind::Singular { op: crate::base::trace::op(), at, why }.into()
}
