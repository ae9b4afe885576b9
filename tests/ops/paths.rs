//! The path that an op takes, as `explain` reports it, and the settings that decide about it: densify budget and NaN
//! policy.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::common::path;
use openwork::context::{DEFAULT_DENSIFY_BUDGET, NanPolicy, densify_budget, nan_policy};
use openwork::trace::{Path, Step};
use openwork::{
    DType, ErrorKind, Fill, Layout, Result, Tensor, UnaryOp, explain, parallel, with_densify_budget, with_nan_policy,
};

const SPARSE: [Layout; 7] = [
    Layout::Coo,
    Layout::HybridCoo { dense_dims: 1 },
    Layout::Csr,
    Layout::Csc,
    Layout::Dcsr,
    Layout::Bsr { block: [2, 3] },
    Layout::Bsc { block: [3, 2] },
];

/// A sparse 6 x 12 matrix with fill 0.
fn sparse(layout: Layout, seed: u64) -> Tensor {
    Tensor::random([6, 12], 0.25, 0.0, layout, seed).unwrap()
}

fn strided(shape: &[usize]) -> Tensor {
    let n = shape.iter().product::<usize>();
    Tensor::from_vec(shape, (0..n).map(|i| i as f64 * 0.5 + 1.0).collect()).unwrap()
}

/// The steps of a computation that has to succeed.
fn steps<T>(f: impl FnOnce() -> Result<T>) -> Vec<Step> {
    let (result, steps) = explain(f);
    result.unwrap();
    steps
}

#[test]
fn strided_operands_take_the_strided_path() {
    let (a, b) = (strided(&[6, 12]), strided(&[12]));
    assert_eq!(path("add", || a.add(&b)), Path::Strided);
    assert_eq!(path("mul", || a.mul(2.0)), Path::Strided);
    assert_eq!(path("sin", || a.sin()), Path::Strided);
    assert_eq!(path("sum", || a.sum(0)), Path::Strided);
    assert_eq!(path("matmul", || a.matmul(&strided(&[12, 3]))), Path::Strided);
    assert_eq!(path("narrow", || a.narrow(1..3, 0)), Path::Strided);
}

#[test]
fn unary_ops_and_numbers_read_no_index() {
    for layout in SPARSE {
        let x = sparse(layout, 1);
        assert_eq!(path("cos", || x.cos()), Path::Values, "{layout}");
        assert_eq!(path("neg", || -&x), Path::Values, "{layout}");
        assert_eq!(path("add", || &x + 1.0), Path::Values, "{layout}");
        assert_eq!(path("sub", || 1.0 - &x), Path::Values, "{layout}");
        assert_eq!(path("mul", || &x * Tensor::scalar(3.0)), Path::Values, "{layout}");
        assert_eq!(path("div", || x.div(strided(&[1, 1]))), Path::Values, "{layout}");
        assert_eq!(path("matrix_transpose", || x.matrix_transpose()), Path::Values, "{layout}");
    }
}

#[test]
fn one_pattern_reads_no_index() {
    for layout in SPARSE {
        let x = sparse(layout, 1);
        let y = x.exp().unwrap();
        assert_eq!(path("add", || &x + &y), Path::Values, "{layout}");
        assert_eq!(path("mul", || &x * &x.clone()), Path::Values, "{layout}");
        let sum = (&x + &y).unwrap();
        assert_eq!(path("sub", || &sum - &x), Path::Values, "{layout}");
        assert_eq!(path("add", || &x + &sparse(layout, 1)), Path::Values, "{layout}, in memory of its own");
        // So is that of a window, with the same window of another tensor.
        if layout == Layout::Csr {
            let of = |t: &Tensor| t.narrow(1..4, 0).unwrap();
            assert_eq!(path("add", || of(&x).add(of(&y))), Path::Values);
            assert_eq!(path("add", || of(&x).add(x.narrow(2..5, 0)?)), Path::Engine);
        }
    }
}

#[test]
fn patterns_that_differ_are_walked() {
    for layout in SPARSE {
        let x = sparse(layout, 1);
        for other in SPARSE {
            let y = sparse(other, 2);
            // Hybrid ones store all rows, both.
            let is_alike = layout == other && matches!(layout, Layout::HybridCoo { .. });
            let wanted = if is_alike { Path::Values } else { Path::Engine };
            assert_eq!(path("add", || &x + &y), wanted, "{layout} + {other}");
            assert_eq!(path("mul", || &x * &y), wanted, "{layout} * {other}");
        }
        // A vector beside a pattern is a fill that varies: its coordinates are read.
        assert_eq!(path("mul", || &x * &strided(&[12])), Path::Engine, "{layout}");
        assert_eq!(path("sub", || x.sub(strided(&[6, 1]))), Path::Engine, "{layout}");
        assert_eq!(path("prune", || x.prune()), Path::Engine, "{layout}");
        let to = if layout == Layout::Csr { Layout::Csc } else { Layout::Csr };
        assert_eq!(path("to_layout", || x.to_layout(to)), Path::Engine, "{layout}");
    }
}

#[test]
fn what_is_not_sparse_is_densified() {
    for layout in SPARSE {
        let x = sparse(layout, 1);
        // A strided operand of the size of the result.
        let steps = steps(|| &x + &strided(&[6, 12]));
        assert_eq!((steps[0].op, steps[0].path), ("add", Path::Densified), "{layout}");
        assert!(steps[0].result.contains("strided"), "{}", steps[0]);
        assert_eq!(path("to_dense", || x.to_dense()), Path::Densified, "{layout}");
    }
    // Fills along different axes.
    let x = sparse(Layout::Csr, 1);
    let once = (&x - &strided(&[12])).unwrap();
    assert_eq!(path("sub", || &once - &strided(&[6, 1])), Path::Densified);
    // A product over an axis along which the fill varies.
    assert_eq!(path("prod", || once.prod(1)), Path::Densified);
}

/// Dividing the rows and the columns of a sparse matrix leaves its zeros zero.
#[test]
fn a_fill_that_does_not_vary_is_no_array() {
    let (rows, columns) = (strided(&[6, 1]), strided(&[12]));
    for layout in SPARSE {
        let x = sparse(layout, 1);
        let y = with_densify_budget(0, || (&x / &rows)?.div(&columns)).unwrap();
        assert_eq!((y.layout(), y.nse(), y.fill().unwrap().to_string()), (layout, x.nse(), "0".into()));
    }
}

/// What the documentation shows: the op, the path, the operands, the result.
#[test]
fn a_step_in_words() {
    let x = sparse(Layout::Csr, 1);
    let step = steps(|| &x + 1.0).pop().unwrap();
    let expected =
        "add [Values] ([6, 12] float64 csr fill=0 nse=18; [] float64 strided) -> [6, 12] float64 csr fill=1 nse=18";
    assert_eq!(step.to_string(), expected);
    let step = steps(|| &x - &strided(&[12])).pop().unwrap();
    assert_eq!(step.operands, ["[6, 12] float64 csr fill=0 nse=18", "[12] float64 strided"]);
    assert_eq!(step.result, "[6, 12] float64 csr fill=array[1, 12] nse=18");
    let step = steps(|| x.stored().sin()).pop().unwrap();
    assert_eq!(step.result, "[6, 12] float64 csr fill=undefined nse=18");
}

/// A layer of a sparse network: the fill moves from 0 to the bias and back, and nothing becomes dense.
#[test]
fn fills_of_a_network_layer() {
    let y = Tensor::random([40, 64], 0.2, 0.0, Layout::Csr, 5).unwrap().cast(DType::F32).unwrap();
    let w = Tensor::random([64, 64], 0.1, 0.0, Layout::Csr, 6).unwrap().cast(DType::F32).unwrap();
    let (out, steps) = explain(|| with_densify_budget(0, || y.matmul(&w)?.add(-0.3)?.relu()?.minimum(32.0)?.prune()));
    let out = out.unwrap();
    assert_eq!((out.layout(), out.dtype()), (Layout::Csr, DType::F32));
    let fill = |text: &str| text.split_whitespace().find_map(|w| w.strip_prefix("fill=")).unwrap().to_string();
    let of = |op: &str| {
        let step = steps.iter().rfind(|s| s.op == op).unwrap_or_else(|| panic!("no {op} in {steps:?}"));
        assert_ne!(step.path, Path::Densified, "{step}");
        (step.path, fill(&step.operands[0]), fill(&step.result))
    };
    let (path, before, after) = of("matmul");
    assert!(matches!(path, Path::Specialised | Path::Engine), "{path:?}");
    assert_eq!((before, after), ("0".into(), "0".into()));
    assert_eq!(of("add"), (Path::Values, "0".into(), "-0.3".into()));
    assert_eq!(of("relu"), (Path::Values, "-0.3".into(), "0".into()));
    assert_eq!(of("minimum"), (Path::Values, "0".into(), "0".into()));
    assert_eq!(of("prune"), (Path::Engine, "0".into(), "0".into()));
    let order: Vec<_> =
        ["matmul", "add", "relu", "minimum", "prune"].map(|op| steps.iter().rposition(|s| s.op == op).unwrap()).into();
    assert!(order.is_sorted(), "{steps:?}");
}

#[test]
fn explain_within_explain() {
    let x = sparse(Layout::Csr, 1);
    let ops = |steps: &[Step]| steps.iter().map(|s| s.op).collect::<Vec<_>>();
    let (inner, outer) = explain(|| {
        x.sin().unwrap();
        let ((), inner) = explain(|| {
            x.cos().unwrap();
            x.tan().unwrap();
        });
        x.exp().unwrap();
        inner
    });
    assert_eq!(ops(&inner), ["cos", "tan"]);
    assert_eq!(ops(&outer), ["sin", "cos", "tan", "exp"]);
    // Nothing is kept between two calls, and nothing is recorded outside.
    x.sinh().unwrap();
    assert_eq!(ops(&steps(|| x.cosh())), ["cosh"]);
    assert!(explain(|| ()).1.is_empty());
}

#[test]
fn explain_after_a_panic() {
    let x = sparse(Layout::Csr, 1);
    let ((), steps) = explain(|| {
        x.sin().unwrap();
        let inner = catch_unwind(AssertUnwindSafe(|| explain(|| x.cos().map(|_| panic!("on purpose")))));
        assert!(inner.is_err());
        x.tan().unwrap();
    });
    let ops: Vec<_> = steps.iter().map(|s| s.op).collect();
    assert!(ops.starts_with(&["sin"]) && ops.ends_with(&["tan"]), "{ops:?}");
}

#[test]
fn settings_follow_onto_a_pool() {
    let x = sparse(Layout::Csr, 1);
    let inside = || (densify_budget(), nan_policy());
    let here = inside();
    assert_eq!(parallel::with_threads(2, inside).unwrap(), here);
    let set = || with_densify_budget(77, || with_nan_policy(NanPolicy::Exact, || parallel::with_threads(2, inside)));
    assert_eq!(set().unwrap(), (77, NanPolicy::Exact));
    assert_eq!(inside(), here);
    let (result, steps) = explain(|| {
        x.sin().unwrap();
        let ((), inner) = parallel::with_threads(2, || explain(|| drop(x.cos().unwrap()))).unwrap();
        assert_eq!(inner.len(), 1);
        parallel::with_threads(3, || x.tan())
    });
    result.unwrap().unwrap();
    assert_eq!(steps.iter().map(|s| s.op).collect::<Vec<_>>(), ["sin", "cos", "tan"]);
    // Where nobody asked nothing is kept.
    parallel::with_threads(2, || x.sin()).unwrap().unwrap();
    assert!(explain(|| ()).1.is_empty());
    // What is set inside stays inside.
    parallel::with_threads(2, || with_densify_budget(5, || assert_eq!(densify_budget(), 5))).unwrap();
    assert_eq!(inside(), here);
    // A thread of one's own starts with the defaults.
    let defaults = (DEFAULT_DENSIFY_BUDGET, NanPolicy::ZeroAnnihilates);
    with_densify_budget(3, || assert_eq!(std::thread::scope(|s| s.spawn(inside).join().unwrap()), defaults));
}

#[test]
fn beyond_the_budget_is_an_error_that_helps() {
    let x = Tensor::random([100, 200], 0.01, 0.0, Layout::Csr, 7).unwrap();
    let (rows, columns) = (strided(&[100, 1]), strided(&[200]));
    let bytes = 100 * 200 * 8;
    let once = (&x - &columns).unwrap();
    let refused = with_densify_budget(bytes - 1, || &once - &rows).unwrap_err();
    match refused.kind() {
        ErrorKind::Densify { op, bytes: b, budget, why } => {
            assert_eq!((*op, *b, *budget), ("sub", u128::from(bytes), bytes - 1));
            assert!(why.contains("[1, 200]") && why.contains("[100, 1]") && why.contains("[100, 200]"), "{why}");
        }
        other => panic!("{other:?}"),
    }
    let text = refused.to_string();
    for word in ["sub", "160000 bytes", "budget of 159999", "to_dense()", "with_densify_budget"] {
        assert!(text.contains(word), "no {word:?} in: {text}");
    }
    // The limit itself is allowed; so is each way out that the message names.
    let allowed = with_densify_budget(bytes, || &once - &rows).unwrap();
    assert!(allowed.is_strided());
    let dense = with_densify_budget(0, || once.to_dense()? - &rows).unwrap();
    assert_eq!(allowed.values::<f64>().unwrap(), dense.values::<f64>().unwrap());
    // Other ops that would have to become dense.
    for error in [
        with_densify_budget(0, || x.with_fill(1.0)).unwrap_err(),
        with_densify_budget(0, || once.prod(1)).unwrap_err(),
        with_densify_budget(0, || x.add(1.0)?.matmul(&once.matrix_transpose()?)).unwrap_err(),
    ] {
        assert!(matches!(error.kind(), ErrorKind::Densify { budget: 0, .. }), "{error}");
    }
}

#[test]
fn an_error_is_no_step() {
    let x = sparse(Layout::Csr, 1);
    let (result, steps) = explain(|| with_densify_budget(0, || x.with_fill(1.0)));
    assert!(result.is_err() && steps.is_empty(), "{steps:?}");
}

#[test]
fn budgets_end_with_their_scope() {
    assert_eq!(densify_budget(), DEFAULT_DENSIFY_BUDGET);
    with_densify_budget(10, || {
        assert_eq!(densify_budget(), 10);
        with_densify_budget(20, || assert_eq!(densify_budget(), 20));
        assert_eq!(densify_budget(), 10);
        let panicked = catch_unwind(|| with_densify_budget(30, || panic!("on purpose")));
        assert!(panicked.is_err());
        assert_eq!(densify_budget(), 10);
    });
    let panicked = catch_unwind(|| with_densify_budget(30, || with_densify_budget(40, || panic!("on purpose"))));
    assert!(panicked.is_err());
    assert_eq!(densify_budget(), DEFAULT_DENSIFY_BUDGET);
}

#[test]
fn nan_policies_end_with_their_scope() {
    assert_eq!(nan_policy(), NanPolicy::ZeroAnnihilates);
    with_nan_policy(NanPolicy::Exact, || {
        with_nan_policy(NanPolicy::ZeroAnnihilates, || assert_eq!(nan_policy(), NanPolicy::ZeroAnnihilates));
        assert_eq!(nan_policy(), NanPolicy::Exact);
    });
    assert!(catch_unwind(|| with_nan_policy(NanPolicy::Exact, || panic!("on purpose"))).is_err());
    assert_eq!(nan_policy(), NanPolicy::ZeroAnnihilates);
}

/// An unstored zero beside a stored NaN, an infinity, and a number.
#[test]
fn what_the_nan_policy_changes() {
    let vector = |places: Vec<u32>, data: Vec<f64>, fill: Fill| {
        Tensor::coo([5], vec![places], &Tensor::from_vec([data.len()], data).unwrap(), fill).unwrap()
    };
    let zeros = vector(vec![3], vec![2.0], 0.0.into());
    let specials = vector(vec![0, 1, 2, 3], vec![f64::NAN, f64::INFINITY, 7.0, f64::NAN], 0.0.into());
    let product = || {
        let product = (&zeros * &specials).unwrap();
        (0..5).map(|i| product.get([i]).unwrap().unwrap().to::<f64>()).collect::<Vec<_>>()
    };
    let as_usual = product();
    assert_eq!(as_usual[..3], [0.0; 3]);
    assert!(as_usual[3].is_nan(), "stored on both sides");
    let exact = with_nan_policy(NanPolicy::Exact, product);
    assert!(exact[0].is_nan() && exact[1].is_nan() && exact[3].is_nan(), "{exact:?}");
    assert_eq!((exact[2], exact[4]), (0.0, 0.0));
    // Finite numbers: both policies keep the product sparse.
    let (x, y) = (sparse(Layout::Csr, 1), sparse(Layout::Csr, 2));
    let both = |policy| with_nan_policy(policy, || &x * &y).unwrap();
    assert_eq!(both(NanPolicy::Exact).to_string(), both(NanPolicy::ZeroAnnihilates).to_string());
    assert!(both(NanPolicy::Exact).nse() < x.nse());
    // A strided operand's elements: exact, they all count.
    let row = Tensor::from_vec([5], vec![f64::NAN; 5]).unwrap();
    assert_eq!(
        (&zeros * &row).unwrap().unary(UnaryOp::Isnan).unwrap().count_nonzero(..).unwrap().item().unwrap(),
        1i64.into()
    );
    let exact = with_nan_policy(NanPolicy::Exact, || &zeros * &row).unwrap();
    assert_eq!(exact.unary(UnaryOp::Isnan).unwrap().count_nonzero(..).unwrap().item().unwrap(), 5i64.into());
}
