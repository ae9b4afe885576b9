//! The tables "there → here" of the guide: every call in their right columns is compiled below, as it is written there.
//! Names without arguments are links, which the documentation build checks.

use openwork::Index::{Ellipsis, NewAxis};
use openwork::io::state_dict::StateDict;
use openwork::linalg::{self, Options, Triangular};
use openwork::{Fill, Layout, Product, ReduceOp, Result, Tensor, einsum, keep, s};

/// Expressions as they are written, in a function that is compiled and never run: whether they compute the right thing is
/// the law's question. The block before them binds the names of the tables, anew for each.
macro_rules! calls {
    ($page:ident, $given:ident, $names:tt, $($code:expr),* $(,)?) => {
        const $page: &[&str] = &[$(stringify!($code)),*];
        #[allow(unused, clippy::redundant_clone)]
        const _: fn(&Tensor) -> Result<()> = |$given| {
            $({
                calls!(@ $names $code);
            })*
            Ok(())
        };
    };
    (@ [$($name:ident: $value:expr),* $(,)?] $code:expr) => {
        $(let $name = $value;)*
        let _ = $code;
    };
}

calls!(
    CALLS,
    given,
    [
        t: given.clone(), a: given.clone(), b: given.clone(), c: given.clone(), x: given.clone(), y: given.clone(),
        m: given.clone(), mask: given.clone(), i: given.clone(), j: given.clone(), rows: given.clone(),
        columns: given.clone(), values: given.clone(), data: given.clone(),
        size: vec![2usize, 2], shape: [2usize, 2], indices: vec![vec![0u64], vec![0]], crow: vec![0u64], col: vec![0u64],
        indptr: [0u64], coords: [vec![0u64], vec![0]], block: [2usize, 2],
        tol: 1e-8,
        dim: 0isize, k: 1usize, n: 2usize, v: 0.0f32, f: Fill::Undefined, min: 0.0, max: 1.0,
    ],
    Tensor::coo(&size, indices, &values, 0.0),
    Tensor::csr(&size, crow, col, &values, 0.0),
    Layout::Bsr { block },
    t.to_sparse(Layout::Coo, 0.0),
    t.to_sparse(Layout::Coo, f),
    t.to_layout(Layout::Csr),
    t.to_dense(),
    t.to_dense_with(v),
    t.mask(&mask.is_stored()?),
    t.mask(&m)?.mean(..),
    t.nse(),
    t.indices(),
    t.levels(),
    t.stored_values(),
    t.values::<f32>(),
    t.to_vec::<f32>(),
    t.item(),
    t.item_as::<f32>(),
    (&t + 1.0)?,
    (&t / 2)?,
    (&t * 0.5)?,
    (&a + &b)?,
    (&a * &b)?,
    (&x + &y)?,
    t.gt(0.0)?,
    x.index_put(s![i, j], v),
    x.index_put(s![rows, ..], 0.0),
    x.index_add(s![i], v),
    x.gt(0.0)?,
    t.cos()?,
    x.exp()?,
    c.where_(&x, &y),
    t.clamp(min, max),
    t.sum(dim),
    t.sum(keep(dim)),
    t.sum(0),
    t.stored().sum(..),
    t.stored().softmax(dim),
    a.stored().max(0),
    t.cumulative_sum(dim),
    t.topk(k, dim),
    t.sort(dim),
    t.sort_descending(dim),
    a.dot(&b),
    a.matmul(&b),
    c.sampled_addmm(&a, &b, 0, 1),
    c.addmm(&a, &b, 1, 1),
    a.stored().matmul_reduce(&b, ReduceOp::Max),
    einsum("ij,jk", &[&a, &b]),
    einsum("ijk,jr,kr->ir", &[&x, &b, &c]),
    a.tensordot(&b, 2),
    x.tensordot(&y, ([1], [0])),
    a.vecdot(&b, dim),
    a.matrix_power(3),
    a.khatri_rao(&b),
    Tensor::multi_dot(&[&a, &b, &c]),
    a.matmul_with(&b, Product::default().mask(&m.is_stored()?)),
    t.one_hot(n),
    t.t(),
    t.mt(),
    t.slice(s![1..5]),
    t.slice(s![2..5]),
    t.slice(s![1..3, ..;-1]),
    t.slice(s![..;2]),
    t.slice(s![.., ..;2]),
    t.slice(s![Ellipsis, NewAxis]),
    t.index(s![mask]),
    t.index(s![rows]),
    t.index(s![.., columns]),
    t.index_select(i, dim),
    t.gather(&i, dim),
    linalg::cg(&a, &b, Options::default().tolerance(tol).max_iterations(n).preconditioner(&m)),
    linalg::cg(&a, &b, Options::default())?.converged(),
    linalg::bicgstab(&a, &b, Options::default()),
    linalg::gmres(&a, &b, Options::default().restart(n)),
    linalg::solve_triangular(&a, &b, Triangular::lower()),
);

// The same, where a name of the tables is another thing.
calls!(
    OTHERS,
    given,
    [
        data: given.clone(), shape: vec![2usize, 2], i: vec![0u64], j: vec![0u64], indptr: vec![0u64], indices: vec![0u64],
        coords: vec![vec![0u64], vec![0]], f: Fill::Undefined, x: ndarray::Array::<f64, ndarray::IxDyn>::zeros(vec![2]),
    ],
    Tensor::coo(&shape, vec![i, j], &data, 0.0),
    Tensor::csr(&shape, indptr, indices, &data, 0.0),
    Tensor::coo(&shape, coords, &data, f),
    Tensor::from_ndarray(x),
    StateDict::load("model.pt"),
);

/// The code spans of the right column of a page's tables that are more than a name.
fn here(page: &str) -> Vec<String> {
    let rows = page.lines().filter(|line| line.starts_with('|') && !line.starts_with("|---"));
    let cells = rows.filter_map(|row| row.trim_end_matches(" |").rsplit(" | ").next());
    let spans = cells.flat_map(|cell| cell.split('`').skip(1).step_by(2).map(str::to_string).collect::<Vec<_>>());
    spans.filter(|span| span.contains(['(', '[', '{', '!'])).collect()
}

#[test]
fn every_call_in_the_tables_compiles() {
    let squeezed = |code: &str| code.split_whitespace().collect::<String>();
    let compiled: Vec<String> = CALLS.iter().chain(OTHERS).map(|code| squeezed(code)).collect();
    for (name, page) in [
        ("from_pytorch", include_str!("../../src/guide/from_pytorch.md")),
        ("from_scipy", include_str!("../../src/guide/from_scipy.md")),
        ("from_pydata", include_str!("../../src/guide/from_pydata.md")),
    ] {
        let calls = here(page);
        assert!(calls.len() >= 10, "{name}: {} calls found", calls.len());
        for call in calls {
            let code = squeezed(&call);
            // `sum(0)` stands for `t.sum(0)`, and `s![..;2]` for an argument.
            let is_compiled = compiled.iter().any(|c| {
                *c == code
                    || c.ends_with(&format!(".{code}"))
                    || c.ends_with(&format!("::{code}"))
                    || c.ends_with(&format!("({code})"))
            });
            assert!(is_compiled, "{name}.md says `{call}`, which tests/ops/there_here.rs does not compile");
        }
    }
}
