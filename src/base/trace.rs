//! Which op is running and how: the name that errors give, and the path that [`explain`] reports.
//!
//! Every public op opens a scope. What runs inside raises the scope's path by what it does: a conversion walks patterns,
//! a dense buffer is made. So a path is what was seen, and nobody has to say it.

use std::cell::{Cell, RefCell};
use std::fmt;

use crate::base::interrupt;

/// How an op was carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Path {
    /// Operands and result are strided: dense loops, or the dense library's kernels.
    Strided,
    /// Values only: patterns were kept or shared, no index was read.
    Values,
    /// A kernel written for this op and these layouts.
    Specialised,
    /// The level engine: patterns were walked, converted or built.
    Engine,
    /// A dense buffer as large as a sparse operand or as the result was made: the result is not sparse, or was asked for
    /// dense, or a kernel needed an operand so.
    Densified,
}

/// One step of an [`explain`]ed computation.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Step {
    /// The op's name.
    pub op: &'static str,
    /// The path taken: of what ran inside, the furthest from reading values alone.
    pub path: Path,
    /// Operands, as `shape dtype layout fill`.
    pub operands: Vec<String>,
    /// The result, likewise.
    pub result: String,
    /// The ops that this one is made of, if it is.
    pub steps: Vec<Step>,
}

impl Step {
    fn write(&self, f: &mut fmt::Formatter<'_>, depth: usize) -> fmt::Result {
        if depth > 0 {
            write!(f, "\n{:1$}", "", 2 * depth)?;
        }
        write!(f, "{} [{:?}] ({}) -> {}", self.op, self.path, self.operands.join("; "), self.result)?;
        self.steps.iter().try_for_each(|step| step.write(f, depth + 1))
    }
}

impl fmt::Display for Step {
    /// A line for the step, then one for each of those that it is made of, indented.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(f, 0)
    }
}

/// How far an op went, in the order in which paths outweigh each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Work {
    Values,
    Specialised,
    Engine,
}

/// What is known of the op that runs.
#[derive(Clone, Copy)]
struct Frame {
    /// The outermost op: the one that the caller wrote. Empty where none runs.
    op: &'static str,
    work: Work,
    /// Elements of the largest dense buffer into which a sparse tensor was written.
    dense: u64,
    /// Elements of the largest that the densify budget was asked for.
    asked: u64,
}

const IDLE: Frame = Frame { op: "", work: Work::Values, dense: 0, asked: 0 };

thread_local! {
    static FRAME: Cell<Frame> = const { Cell::new(IDLE) };
    static STEPS: RefCell<Option<Vec<Step>>> = const { RefCell::new(None) };
}

/// The op that the caller wrote, as errors name it.
pub(crate) fn op() -> &'static str {
    match FRAME.get().op {
        "" => "openwork",
        op => op,
    }
}

/// Notes that the running op did at least this much.
pub(crate) fn raise(work: Work) {
    let frame = FRAME.get();
    if frame.work < work {
        FRAME.set(Frame { work, ..frame });
    }
}

/// Notes that a sparse tensor of so many elements was written into a dense buffer.
pub(crate) fn densified(elements: u64) {
    let frame = FRAME.get();
    if frame.dense < elements {
        FRAME.set(Frame { dense: elements, ..frame });
    }
}

/// Notes that the densify budget has let so many elements be dense.
pub(crate) fn asked(elements: u64) {
    let frame = FRAME.get();
    if frame.asked < elements {
        FRAME.set(Frame { asked: elements, ..frame });
    }
}

/// Whether somebody wants to know the steps.
pub(crate) fn is_explained() -> bool {
    STEPS.with_borrow(Option::is_some)
}

/// The scope of a running op. Ends when it is dropped; a step is recorded only by [`Scope::end`].
pub(crate) struct Scope {
    name: &'static str,
    outer: Frame,
    /// Where somebody asked: the operands, and the steps around this one.
    told: Option<Box<(Operands, Vec<Step>)>>,
}

/// What [`explain`] is told of operands.
pub(crate) struct Operands {
    /// The elements of the smallest that is sparse.
    pub(crate) sparse: Option<u64>,
    pub(crate) in_words: Vec<String>,
}

/// What [`explain`] is told of a result.
pub(crate) struct Told {
    pub(crate) is_strided: bool,
    pub(crate) elements: u64,
    pub(crate) in_words: String,
}

impl Scope {
    /// What is told is found out only where somebody asked.
    pub(crate) fn open(name: &'static str, told: impl FnOnce() -> Operands) -> Scope {
        interrupt::check();
        let outer = FRAME.get();
        let op = if outer.op.is_empty() { name } else { outer.op };
        FRAME.set(Frame { op, work: Work::Values, dense: 0, asked: 0 });
        let told = is_explained().then(|| {
            let around = STEPS.replace(Some(Vec::new())).unwrap_or_default();
            Box::new((told(), around))
        });
        Scope { name, outer, told }
    }

    /// What ran is no step: a constructor, an accessor.
    pub(crate) fn forget(mut self) {
        if let Some(told) = self.told.take() {
            STEPS.replace(Some(told.1));
        }
    }

    /// The op is done, with this result.
    pub(crate) fn end(mut self, result: impl FnOnce() -> Told) {
        if let Some(told) = self.told.take() {
            Scope::record(self.name, *told, result());
        }
    }

    #[cold]
    #[inline(never)]
    fn record(name: &'static str, told: (Operands, Vec<Step>), result: Told) {
        let (Operands { sparse, in_words }, mut around) = told;
        let frame = FRAME.get();
        let path = match frame.work {
            _ if sparse.is_none() && result.is_strided => Path::Strided,
            _ if is_as_large(frame.dense, sparse) => Path::Densified,
            _ if is_as_large(frame.asked, sparse.map(|least| least.min(result.elements))) => Path::Densified,
            Work::Engine => Path::Engine,
            Work::Specialised => Path::Specialised,
            Work::Values => Path::Values,
        };
        let steps = STEPS.take().unwrap_or_default();
        around.push(Step { op: name, path, operands: in_words, result: result.in_words, steps });
        STEPS.replace(Some(around));
    }
}

/// Whether a dense buffer was made that is as large as what it stands for.
fn is_as_large(dense: u64, whole: Option<u64>) -> bool {
    dense > 0 && whole.is_none_or(|whole| dense >= whole)
}

/// Runs `f`, whose work is on something small beside the operands (a fill, a vector of results), and does not say how the
/// op went.
pub(crate) fn aside<R>(f: impl FnOnce() -> R) -> R {
    let work = FRAME.get().work;
    let result = f();
    FRAME.set(Frame { work, ..FRAME.get() });
    result
}

impl Drop for Scope {
    fn drop(&mut self) {
        let inner = FRAME.get();
        let outer = self.outer;
        FRAME.set(Frame {
            op: outer.op,
            work: outer.work.max(inner.work),
            dense: outer.dense.max(inner.dense),
            asked: outer.asked.max(inner.asked),
        });
        if let Some(told) = self.told.take() {
            // The op failed: what it ran is told all the same.
            let (_, mut around) = *told;
            around.extend(STEPS.take().unwrap_or_default());
            STEPS.replace(Some(around));
        }
    }
}

/// Runs `f` and says how each op in it was carried out: the path, and layouts and fills in and out. An op that is made of
/// others lists them as its own steps.
pub fn explain<R>(f: impl FnOnce() -> R) -> (R, Vec<Step>) {
    struct Outer(Option<Vec<Step>>);
    impl Drop for Outer {
        fn drop(&mut self) {
            STEPS.replace(self.0.take());
        }
    }
    let mut outer = Outer(STEPS.replace(Some(Vec::new())));
    let result = f();
    let steps = STEPS.take().unwrap_or_default();
    if let Some(enclosing) = &mut outer.0 {
        enclosing.extend(steps.iter().cloned());
    }
    (result, steps)
}

/// Adds steps taken elsewhere.
pub(crate) fn extend(steps: Vec<Step>) {
    STEPS.with_borrow_mut(|t| {
        if let Some(t) = t {
            t.extend(steps);
        }
    });
}
