//! Arguments: each kind of the catalogue, made of Python objects. `take` reads as many objects as the kind needs, `pass`
//! gives what the library's method takes.

use std::borrow::Cow;

use openwork::{
    Axes, Axis, BinaryOp, Contracted, DType, Fill, Index, Integers, Interpolation, Layout, Limit, Number, Operand, Pad,
    Plus, Product, ReduceOp, Scalar, Semiring, Times, UnaryOp, keep,
};
use pyo3::exceptions::{PyOverflowError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyComplex, PyFloat, PyInt, PyList, PyString, PyTuple};

use crate::errors::checked;
use crate::tensor::{self, Tensor};
use crate::{dtypes, index};

/// The objects of a call that are still to be read.
pub struct Args<'a, 'py> {
    all: &'a [Bound<'py, PyAny>],
    at: usize,
}

impl<'a, 'py> Args<'a, 'py> {
    /// All of them.
    pub fn new(all: &'a [Bound<'py, PyAny>]) -> Args<'a, 'py> {
        Args { all, at: 0 }
    }

    /// The next one.
    pub fn next(&mut self) -> PyResult<&'a Bound<'py, PyAny>> {
        self.at += 1;
        self.all.get(self.at - 1).ok_or_else(|| PyTypeError::new_err(format!("argument {} is missing", self.at)))
    }

    /// That there are no more.
    pub fn end(&self) -> PyResult<()> {
        if self.at == self.all.len() {
            return Ok(());
        }
        Err(PyTypeError::new_err(format!("{} arguments are taken, {} are given", self.at, self.all.len())))
    }
}

/// A tensor, or what can be made one.
pub struct Other<'a>(Cow<'a, openwork::Tensor>);

/// The tensor that an object is, or that is made of it.
pub fn tensor<'a>(object: &'a Bound<'_, PyAny>) -> PyResult<Cow<'a, openwork::Tensor>> {
    match object.cast::<Tensor>() {
        Ok(x) => Ok(Cow::Borrowed(x.get().inner())),
        Err(_) => Ok(Cow::Owned(tensor::convert(object)?.get().inner().clone())),
    }
}

impl<'a> Other<'a> {
    /// Reads it.
    pub fn take(args: &mut Args<'a, '_>) -> PyResult<Self> {
        tensor(args.next()?).map(Other)
    }
    /// As the library takes it.
    pub fn pass(&self) -> &openwork::Tensor {
        &self.0
    }
}

/// A tensor or nothing.
pub struct Maybe<'a>(Option<Cow<'a, openwork::Tensor>>);

impl<'a> Maybe<'a> {
    /// Reads it.
    pub fn take(args: &mut Args<'a, '_>) -> PyResult<Self> {
        let object = args.next()?;
        Ok(Maybe(if object.is_none() { None } else { Some(tensor(object)?) }))
    }
    /// As the library takes it.
    pub fn pass(&self) -> Option<&openwork::Tensor> {
        self.0.as_deref()
    }
}

/// Several tensors.
pub struct Tensors<'a>(Vec<Cow<'a, openwork::Tensor>>, std::marker::PhantomData<&'a ()>);

impl<'a> Tensors<'a> {
    /// Reads them.
    pub fn take(args: &mut Args<'a, '_>) -> PyResult<Self> {
        list(args.next()?)
    }
    /// As the library takes them.
    pub fn pass(&self) -> Vec<&openwork::Tensor> {
        self.0.iter().map(AsRef::as_ref).collect()
    }
}

fn list<'a>(object: &Bound<'_, PyAny>) -> PyResult<Tensors<'a>> {
    let mut all = Vec::new();
    for item in object.try_iter()? {
        all.push(Cow::Owned(tensor(&item?)?.into_owned()));
    }
    Ok(Tensors(all, std::marker::PhantomData))
}

/// Rows of tensors.
pub struct Rows(Vec<Vec<openwork::Tensor>>);

impl Rows {
    /// Reads them.
    pub fn take(args: &mut Args<'_, '_>) -> PyResult<Self> {
        let mut rows = Vec::new();
        for row in args.next()?.try_iter()? {
            rows.push(list(&row?)?.0.into_iter().map(Cow::into_owned).collect());
        }
        Ok(Rows(rows))
    }
    /// As the library takes them.
    pub fn pass(&self) -> &[Vec<openwork::Tensor>] {
        &self.0
    }
}

/// A Python number without a dtype: exactly Python's own classes, for NumPy's scalars have a dtype.
pub fn number(object: &Bound<'_, PyAny>) -> PyResult<Option<Scalar>> {
    if let Ok(v) = object.cast_exact::<PyFloat>() {
        return Ok(Some(Scalar::F64(v.value())));
    }
    if let Ok(v) = object.cast_exact::<PyBool>() {
        return Ok(Some(Scalar::Bool(v.is_true())));
    }
    if let Ok(v) = object.cast_exact::<PyInt>() {
        let small = v.extract::<i64>().map(Scalar::I64);
        let any = small.or_else(|_| v.extract::<u64>().map(Scalar::U64));
        return any.map(Some).map_err(|_| PyOverflowError::new_err(format!("{v} does not fit in 64 bits")));
    }
    if let Ok(v) = object.cast_exact::<PyComplex>() {
        return Ok(Some(Scalar::Complex128(openwork::c128::new(v.real(), v.imag()))));
    }
    Ok(None)
}

/// One value: a Python number, NumPy's scalars, a tensor with one element.
pub fn scalar(object: &Bound<'_, PyAny>) -> PyResult<Scalar> {
    match number(object)? {
        Some(value) => Ok(value),
        None => checked(object.py(), tensor(object)?.item()),
    }
}

/// A tensor or a number.
pub enum Side<'a> {
    /// A tensor, with its dtype.
    Tensor(Cow<'a, openwork::Tensor>),
    /// A number, which has none.
    Number(Number),
}

impl<'a> Side<'a> {
    /// Reads it.
    pub fn take(args: &mut Args<'a, '_>) -> PyResult<Self> {
        Side::of(args.next()?)
    }
    /// Of an object.
    pub fn of(object: &'a Bound<'_, PyAny>) -> PyResult<Self> {
        if let Ok(x) = object.cast::<Tensor>() {
            return Ok(Side::Tensor(Cow::Borrowed(x.get().inner())));
        }
        Ok(match number(object)? {
            Some(value) => Side::Number(value.into()),
            None => Side::Tensor(tensor(object)?),
        })
    }
    /// As the library takes it.
    pub fn pass(&self) -> Operand<'_> {
        match self {
            Side::Tensor(x) => Operand::Tensor(Cow::Borrowed(x.as_ref())),
            Side::Number(v) => Operand::Number(*v),
        }
    }
}

/// One end of a range of values, or none.
pub struct End<'a>(Option<Side<'a>>);

impl<'a> End<'a> {
    /// Reads it.
    pub fn take(args: &mut Args<'a, '_>) -> PyResult<Self> {
        let object = args.next()?;
        Ok(End(if object.is_none() { None } else { Some(Side::of(object)?) }))
    }
    /// As the library takes it.
    pub fn pass(&self) -> Limit<'_> {
        match &self.0 {
            None => None::<Operand<'_>>.into(),
            Some(side) => match side {
                Side::Tensor(x) => x.as_ref().into(),
                Side::Number(v) => Operand::Number(*v).into(),
            },
        }
    }
}

/// Axes: `None` for all, an integer, or several.
pub fn axes(object: &Bound<'_, PyAny>) -> PyResult<Axes> {
    if object.is_none() {
        return Ok((..).into());
    }
    match one_or_several::<isize>(object) {
        Ok(several) => Ok(several.into()),
        Err(_) => Err(PyTypeError::new_err(format!("axes are None, an integer or several integers, not {object}"))),
    }
}

/// An integer, or several. What holds several is not asked for its value: that it has none is a text that nobody reads.
fn one_or_several<'py, T>(object: &Bound<'py, PyAny>) -> PyResult<Vec<T>>
where
    T: for<'a> FromPyObject<'a, 'py>,
{
    let holds_several = object.is_instance_of::<PyTuple>() || object.is_instance_of::<PyList>();
    let one = if holds_several { None } else { object.extract().ok() };
    one.map_or_else(|| object.extract(), |one| Ok(vec![one]))
}

macro_rules! kinds {
    ($($(#[doc = $doc:literal])+ $name:ident($held:ty): $args:ident => $read:expr, $pass:expr => $passed:ty;)+) => {$(
        $(#[doc = $doc])+
        pub struct $name($held);
        impl $name {
            /// Reads it.
            pub fn take($args: &mut Args<'_, '_>) -> PyResult<Self> {
                Ok($name($read))
            }
            /// As the library takes it.
            pub fn pass(&self) -> $passed {
                let pass: fn(&$held) -> $passed = $pass;
                pass(&self.0)
            }
        }
    )+};
}

fn named<T: Copy>(object: &Bound<'_, PyAny>, all: &[T], name: impl Fn(T) -> String) -> PyResult<T> {
    let given: String = object.extract()?;
    let found = all.iter().copied().find(|&v| name(v) == given);
    found.ok_or_else(|| {
        let names: Vec<String> = all.iter().map(|&v| name(v)).collect();
        PyValueError::new_err(format!("{given:?} is unknown; known are {}", names.join(", ")))
    })
}

/// A fill: `None` is undefined, a number a value, a tensor of no axes the same with its dtype, another an array.
pub fn fill(object: &Bound<'_, PyAny>) -> PyResult<Fill> {
    if object.is_none() {
        return Ok(Fill::Undefined);
    }
    if let Some(value) = number(object)? {
        return Ok(value.into());
    }
    let x = tensor(object)?;
    if x.ndim() == 0 { Ok(checked(object.py(), x.item())?.into()) } else { Ok(Fill::array(x.into_owned())) }
}

/// A layout by name.
pub fn layout(object: &Bound<'_, PyAny>) -> PyResult<Layout> {
    let name: String = match object.cast::<PyString>() {
        Ok(name) => name.to_string(),
        Err(_) => object.str()?.to_string(),
    };
    // PyTorch's layouts print as `torch.sparse_csr`.
    let name = name.trim_start_matches("torch.").trim_start_matches("sparse_");
    checked(object.py(), name.parse())
}

fn shape(object: &Bound<'_, PyAny>) -> PyResult<Vec<usize>> {
    let sizes = one_or_several::<isize>(object)?;
    let sizes: Result<Vec<usize>, _> = sizes.iter().map(|&n| usize::try_from(n)).collect();
    sizes.map_err(|_| PyValueError::new_err(format!("sizes are 0 or more, not {object}")))
}

fn semiring(object: &Bound<'_, PyAny>) -> PyResult<Semiring> {
    let given: String = object.extract()?;
    if let Some(semiring) = Semiring::ALL.iter().find(|s| s.name() == given) {
        return Ok(*semiring);
    }
    let own = given.split_once('_').and_then(|(plus, times)| {
        let plus = Plus::ALL.into_iter().find(|p| p.name() == plus)?;
        let ops = BinaryOp::ALL.iter().map(|&op| Times::Op(op));
        let all = [Times::First, Times::Second, Times::Pair].into_iter().chain(ops);
        let times = all.into_iter().find(|t| t.name() == times || matches!(t, Times::Op(op) if op.name() == times))?;
        Some(Semiring::new(plus, times))
    });
    own.ok_or_else(|| {
        let known: Vec<String> = Semiring::ALL.iter().map(|s| s.name()).collect();
        let sums: Vec<&str> = Plus::ALL.iter().map(|p| p.name()).collect();
        PyValueError::new_err(format!(
            "{given:?} is no semiring; known are {}, and {} with any op of two operands, as in \"max_hypot\"",
            known.join(", "),
            sums.join(", ")
        ))
    })
}

fn contracted(object: &Bound<'_, PyAny>) -> PyResult<Contracted> {
    if let Ok(count) = object.extract::<i64>() {
        return Ok(count.into());
    }
    let (left, right): (Bound<'_, PyAny>, Bound<'_, PyAny>) = object.extract()?;
    Ok(Contracted::Pairs(axes(&left)?, axes(&right)?))
}

fn pad(object: &Bound<'_, PyAny>) -> PyResult<Pad> {
    if object.is_none() {
        return Ok(Pad::Blank);
    }
    if object.cast::<PyString>().is_err() {
        return Ok(Pad::Value(scalar(object)?));
    }
    let modes = [Pad::Edge, Pad::Reflect, Pad::Wrap];
    let name: String = object.extract()?;
    let found = modes.into_iter().find(|m| format!("{m:?}").eq_ignore_ascii_case(&name));
    found.ok_or_else(|| {
        PyValueError::new_err(format!("{name:?} is unknown; known are edge, reflect, wrap, a value, None"))
    })
}

/// One axis, which has to be an integer.
fn axis(object: &Bound<'_, PyAny>) -> PyResult<isize> {
    let index: isize =
        object.extract().map_err(|_| PyTypeError::new_err(format!("an axis is an integer, not {object}")))?;
    Ok(index)
}

kinds! {
    /// Axes.
    Several(Axes): args => axes(args.next()?)?, |v| v.clone() => Axes;
    /// Axes, and whether they are kept with size 1: two objects.
    Reduced(Axes): args => {
        let axes = axes(args.next()?)?;
        if args.next()?.is_truthy()? { keep(axes) } else { axes }
    }, |v| v.clone() => Axes;
    /// One axis.
    One(isize): args => axis(args.next()?)?, |&v| v.into() => Axis;
    /// A number without a dtype, or a scalar.
    Value(Number): args => scalar(args.next()?)?.into(), |&v| v => Number;
    /// A scalar.
    Element(Scalar): args => scalar(args.next()?)?, |&v| v => Scalar;
    /// A float.
    Float(f64): args => args.next()?.extract()?, |&v| v => f64;
    /// A count.
    Count(usize): args => args.next()?.extract()?, |&v| v => usize;
    /// A small count.
    Small(u32): args => args.next()?.extract()?, |&v| v => u32;
    /// An integer.
    Signed(i64): args => args.next()?.extract()?, |&v| v => i64;
    /// An offset.
    Offset(isize): args => args.next()?.extract()?, |&v| v => isize;
    /// Integers.
    Many(Vec<i64>): args => one_or_several(args.next()?)?, |v| v.into() => Integers;
    /// Sizes.
    Sizes(Vec<usize>): args => shape(args.next()?)?, |v| v.clone() => Vec<usize>;
    /// A dtype.
    Type(DType): args => dtypes::dtype(args.next()?)?, |&v| v => DType;
    /// A layout.
    Stored(Layout): args => layout(args.next()?)?, |&v| v => Layout;
    /// A fill.
    Background(Fill): args => fill(args.next()?)?, |v| v.clone() => Fill;
    /// An op of one operand.
    Unary(UnaryOp): args => named(args.next()?, UnaryOp::ALL, |op| op.name().into())?, |&v| v => UnaryOp;
    /// An op of two operands.
    Binary(BinaryOp): args => named(args.next()?, BinaryOp::ALL, |op| op.name().into())?, |&v| v => BinaryOp;
    /// A fold.
    Fold(ReduceOp): args => named(args.next()?, ReduceOp::ALL, |op| op.name().into())?, |&v| v => ReduceOp;
    /// A semiring.
    Ring(Semiring): args => semiring(args.next()?)?, |&v| v => Semiring;
    /// What a contraction contracts.
    Pairs(Contracted): args => contracted(args.next()?)?, |v| v.clone() => Contracted;
    /// Widths of a border, a pair for each axis.
    Widths(Vec<(usize, usize)>): args => args.next()?.extract()?, |v| v => &[(usize, usize)];
    /// What is in a border.
    Border(Pad): args => pad(args.next()?)?, |&v| v => Pad;
    /// Floats.
    Floats(Vec<f64>): args => args.next()?.extract()?, |v| v => &[f64];
    /// Both ends of a range, or none.
    Ends(Option<(f64, f64)>): args => args.next()?.extract()?, |&v| v => Option<(f64, f64)>;
    /// A range of indices.
    Span(std::ops::Range<usize>): args => {
        let (start, stop): (usize, usize) = args.next()?.extract()?;
        start..stop
    }, |v| v.clone() => std::ops::Range<usize>;
    /// A rule for quantiles between two elements.
    Between(Interpolation): args => {
        use Interpolation::{Higher, Linear, Lower, Midpoint, Nearest};
        named(args.next()?, &[Linear, Lower, Higher, Nearest, Midpoint], |v| format!("{v:?}").to_lowercase())?
    }, |&v| v => Interpolation;
    /// A list of places along an axis, or a mask.
    Places(Index): args => index::list(args.next()?)?, |v| v.clone() => Index;
    /// A text.
    Text(String): args => args.next()?.extract()?, |v| v.clone() => String;
}

/// The items of an index, which need the shape that they index.
pub struct Items(Vec<Index>);

impl Items {
    /// Reads them.
    pub fn take(args: &mut Args<'_, '_>) -> PyResult<Self> {
        let shape = args.all.first().ok_or_else(|| PyTypeError::new_err("a tensor is missing"))?;
        let shape = tensor(shape)?.shape().to_vec();
        index::items(args.next()?, &shape).map(Items)
    }
    /// As the library takes them.
    pub fn pass(&self) -> &[Index] {
        &self.0
    }
}

/// A semiring, a mask or none, what is accumulated to or nothing and how, whether what is outside the mask is dropped, the
/// layout or none.
pub struct Masked<'a> {
    semiring: Semiring,
    mask: Option<Cow<'a, openwork::Tensor>>,
    to: Option<(Cow<'a, openwork::Tensor>, BinaryOp)>,
    is_replaced: bool,
    layout: Option<Layout>,
}

impl<'a> Masked<'a> {
    /// Reads it.
    pub fn take(args: &mut Args<'a, '_>) -> PyResult<Self> {
        let semiring = semiring(args.next()?)?;
        let mask = Maybe::take(args)?.0;
        let to = Maybe::take(args)?.0;
        let op = args.next()?;
        let to = match to {
            Some(to) => Some((to, named(op, BinaryOp::ALL, |op| op.name().into())?)),
            None => None,
        };
        let is_replaced = args.next()?.is_truthy()?;
        let given = args.next()?;
        let layout = if given.is_none() { None } else { Some(layout(given)?) };
        Ok(Masked { semiring, mask, to, is_replaced, layout })
    }
    /// As the library takes it.
    pub fn pass(&self) -> Product<'_> {
        let mut product = Product::from(self.semiring);
        if let Some(mask) = &self.mask {
            product = product.mask(mask);
        }
        if let Some((to, op)) = &self.to {
            product = product.accumulate(to, *op);
        }
        if let Some(layout) = self.layout {
            product = product.layout(layout);
        }
        if self.is_replaced { product.replace() } else { product }
    }
}

/// The objects of a call.
pub fn objects<'py>(args: &Bound<'py, PyTuple>) -> Vec<Bound<'py, PyAny>> {
    args.iter().collect()
}
