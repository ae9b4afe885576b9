//! Every op of the catalogue that is no closure over elements, with the kinds of its parameters. Names and order of the
//! parameters are those of the catalogue, which a test compares.

use pyo3::prelude::*;

use crate::arguments::{
    Args, Background, Between, Binary, Border, Count, Element, End, Ends, Float, Floats, Fold, Items, Many, Masked,
    Maybe, Offset, One, Other, Pairs, Places, Reduced, Ring, Rows, Several, Side, Signed, Sizes, Small, Span, Stored,
    Tensors, Text, Type, Unary, Value, Widths,
};
use crate::context::run;
use crate::results::Give;

/// An op as Python calls it.
pub struct Method {
    /// Its name.
    pub name: &'static str,
    /// The names of its parameters.
    pub parameters: &'static [&'static str],
    /// Carries it out.
    pub call: fn(Python<'_>, &mut Args<'_, '_>) -> PyResult<Py<PyAny>>,
}

macro_rules! methods {
    ($($name:ident($($parameter:ident: $kind:ident),*);)+) => {
        /// Ops that are methods of a tensor.
        pub const METHODS: &[Method] = &[$(Method {
            name: stringify!($name),
            parameters: &[$(stringify!($parameter)),*],
            call: |py, args| {
                let this = Other::take(args)?;
                $(let $parameter = $kind::take(args)?;)*
                args.end()?;
                run(py, || this.pass().$name($($parameter.pass()),*))?.give(py)
            },
        }),+];
    };
}

macro_rules! functions {
    ($($name:ident($($parameter:ident: $kind:ident),*) = $body:expr;)+) => {
        /// Ops that are associated functions.
        pub const FUNCTIONS: &[Method] = &[$(Method {
            name: stringify!($name),
            parameters: &[$(stringify!($parameter)),*],
            call: |py, args| {
                $(let $parameter = $kind::take(args)?;)*
                args.end()?;
                run(py, || $body)?.give(py)
            },
        }),+];
    };
}

functions! {
    einsum(equation: Text, operands: Tensors) = openwork::Tensor::einsum(&equation.pass(), &operands.pass());
    einsum_with(equation: Text, operands: Tensors, semiring: Ring) =
        openwork::Tensor::einsum_with(&equation.pass(), &operands.pass(), semiring.pass());
    multi_dot(operands: Tensors) = openwork::Tensor::multi_dot(&operands.pass());
    block(rows: Rows) = openwork::Tensor::block(rows.pass());
    block_diag(tensors: Tensors) = openwork::Tensor::block_diag(&tensors.pass());
    concat(tensors: Tensors, axis: One) = openwork::Tensor::concat(&tensors.pass(), axis.pass());
    stack(tensors: Tensors, axis: One) = openwork::Tensor::stack(&tensors.pass(), axis.pass());
}

methods! {
    allclose(other: Other, rtol: Float, atol: Float);
    allclose_nan(other: Other, rtol: Float, atol: Float);
    equal(other: Other);
    equal_nan(other: Other);
    same_meaning(other: Other);
    is_lower_triangular();
    is_structure_symmetric();
    is_symmetric();
    is_upper_triangular();
    ndiag();
    argwhere();
    delete(indices: Places, axis: One);
    gather(index: Other, axis: One);
    index(items: Items);
    index_add(items: Items, values: Side);
    index_put(items: Items, values: Side);
    index_select(indices: Places, axis: One);
    nonzero();
    scatter(index: Other, src: Side, axis: One);
    scatter_reduce(index: Other, src: Side, reduce: Fold, axis: One);
    slice(items: Items);
    slice_assign(items: Items, value: Side);
    take(indices: Places, axis: Several);
    take_along_axis(indices: Other, axis: One);
    unset(items: Items);
    one_hot(classes: Count);
    to_bitmap();
    to_diagonals();
    to_sparse_where(mask: Other, layout: Stored, fill: Background);
    addmm(a: Other, b: Other, beta: Value, alpha: Value);
    bmm(other: Other);
    dot(other: Other);
    khatri_rao(other: Other);
    matmul(other: Other);
    matmul_reduce(other: Other, op: Fold);
    matmul_with(other: Other, product: Masked);
    matrix_power(n: Signed);
    mm(other: Other);
    mv(vector: Other);
    sampled_addmm(a: Other, b: Other, beta: Value, alpha: Value);
    tensordot(other: Other, axes: Pairs);
    vdot(other: Other);
    vecdot(other: Other, axis: One);
    argsort(axis: One);
    argsort_descending(axis: One);
    bincount(weights: Maybe, minlength: Count);
    histogram(bins: Count, range: Ends);
    isin(test_elements: Other);
    searchsorted(values: Other);
    searchsorted_right(values: Other);
    sort(axis: One);
    sort_descending(axis: One);
    topk(k: Count, axis: One);
    topk_smallest(k: Count, axis: One);
    unique_all();
    unique_counts();
    unique_inverse();
    unique_values();
    addcdiv(a: Side, b: Side, value: Value);
    addcmul(a: Side, b: Side, value: Value);
    binary(op: Binary, other: Side);
    binary_from(op: Binary, number: Value);
    clamp(low: End, high: End);
    clip(low: End, high: End);
    isclose(other: Side, rtol: Float, atol: Float);
    isclose_nan(other: Side, rtol: Float, atol: Float);
    lerp(end: Side, weight: Side);
    mask(mask: Other);
    mask_complement(mask: Other);
    mvlgamma(p: Small);
    polygamma(order: Small);
    positive();
    unary(op: Unary);
    union(op: Binary, other: Other, left_default: Value, right_default: Value);
    where_(x: Side, y: Side);
    aminmax(axes: Reduced);
    argmax(axis: Reduced);
    argmin(axis: Reduced);
    mean_as(dtype: Type, axes: Reduced);
    median(axes: Reduced);
    mode(axes: Reduced);
    nanmax(axes: Reduced);
    nanmean(axes: Reduced);
    nanmedian(axes: Reduced);
    nanmin(axes: Reduced);
    nanprod(axes: Reduced);
    nanquantile(q: Float, axes: Reduced);
    nanquantile_with(q: Float, interpolation: Between, axes: Reduced);
    nanstd(correction: Float, axes: Reduced);
    nansum(axes: Reduced);
    nanvar(correction: Float, axes: Reduced);
    prod_as(dtype: Type, axes: Reduced);
    quantile(q: Float, axes: Reduced);
    quantile_with(q: Float, interpolation: Between, axes: Reduced);
    reduce(op: Fold, axes: Reduced);
    std(correction: Float, axes: Reduced);
    sum_as(dtype: Type, axes: Reduced);
    var(correction: Float, axes: Reduced);
    vector_norm(ord: Float, axes: Reduced);
    cummax(axis: One);
    cummin(axis: One);
    cumulative_prod(axis: One);
    cumulative_prod_as(dtype: Type, axis: One);
    cumulative_prod_with_initial(axis: One);
    cumulative_sum(axis: One);
    cumulative_sum_as(dtype: Type, axis: One);
    cumulative_sum_with_initial(axis: One);
    diff(n: Count, axis: One);
    atleast_nd(ndim: Count);
    broadcast_to(shape: Sizes);
    diag(offset: Offset);
    diagonal(offset: Offset, axis1: One, axis2: One);
    expand_dims(axes: Several);
    flatten();
    flip(axes: Several);
    kron(other: Other);
    matrix_transpose();
    moveaxis(source: Several, destination: Several);
    mt();
    narrow(range: Span, axis: One);
    outer(other: Other);
    pad(widths: Widths, pad: Border);
    permute_dims(axes: Several);
    repeat(repeats: Many, axis: Several);
    reshape(shape: Sizes);
    roll(shifts: Many, axes: Several);
    split(sizes: Sizes, axis: One);
    squeeze(axes: Several);
    swapaxes(a: One, b: One);
    t();
    tensor_split(indices: Sizes, axis: One);
    tile(repeats: Sizes);
    tril(offset: Offset);
    triu(offset: Offset);
    unstack(axis: One);
    view_as_complex();
    view_as_real();
    log_softmax(axes: Several);
    logsumexp(axes: Reduced);
    normalize(p: Float, axes: Several);
    normalize_with(p: Float, eps: Float, axes: Several);
    softmax(axes: Several);
    standardize(correction: Float, axes: Several);
    cast(dtype: Type);
    coalesce();
    coalesce_with(fold: Fold);
    get(index: Sizes);
    indices();
    interp(xp: Floats, fp: Floats);
    is_stored();
    prune();
    replace_fill(fill: Background);
    to_dense();
    to_dense_with(absent: Element);
    to_layout(layout: Stored);
    to_sparse(layout: Stored, fill: Background);
    with_fill(fill: Background);
    with_stored_values(values: Other, fill: Background);
}
