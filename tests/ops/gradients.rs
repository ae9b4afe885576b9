//! Gradients beyond the law: what is refused and in which words, shapes that no dense tensor has, memory that is shared,
//! steps one after the other.

use openwork::{
    BinaryOp, Fill, Layout, ReduceOp, Result, Scalar, Tensor, UnaryOp, s, tensor, vjp, with_densify_budget,
};

fn says<T: std::fmt::Debug>(result: Result<T>, what: &str) {
    let told = result.unwrap_err().to_string();
    assert!(told.contains(what), "{told}");
}

#[test]
fn what_is_refused_says_why() -> Result<()> {
    let x = tensor![[1.0, 0.0], [0.0, 2.0]; Layout::Csr, 0.0]?;
    let whole = tensor![[1, 0], [0, 2]; Layout::Csr, 0]?;
    let g = tensor![[1.0, 2.0], [3.0, 4.0]];
    says(vjp::relu(&x, &tensor![1.0]), "shapes [1], [2, 2]: the cotangent needs the shape of the op's result");
    says(vjp::relu(&x, &tensor![[1.0f32, 1.0], [1.0, 1.0]]), "dtype float32, float64: the cotangent needs the dtype");
    says(vjp::square(&whole, &whole), "have no gradient; cast the operand to a float");
    says(vjp::unary(UnaryOp::Isnan, &x, &g), "isnan has no derivative");
    says(vjp::binary(BinaryOp::Lt, &x, &x, &g), "lt has no derivative");
    says(vjp::reduce(ReduceOp::Any, &x, 0, &g), "any has no derivative");
    says(vjp::sum(&x, 2, &g), "axis 2 of a tensor with 2 axes");
    says(vjp::matmul(&x, &tensor![1.0], &g), "the lengths of the sums differ");
    says(vjp::matmul(&x, &g, &g)?.by(2), "argument `operand`: is 2");
    says(vjp::sampled_addmm(&g, &g, &g, 1, 1, &g), "the first operand is strided");
    says(vjp::reshape(&x, &tensor![1.0]), "another number of elements");
    says(vjp::broadcast_to(&x, &tensor![1.0]), "does not broadcast");
    says(vjp::concat(&[], 0, &g), "there are none");
    says(vjp::index(&x, s![5], &g), "5");
    // Each gradient stands for itself: the integers of a product have none, the floats beside them do.
    let by = vjp::matmul(&whole, &g, &g)?;
    says(by.left(), "have no gradient");
    assert_eq!(by.right()?.stored.to_vec::<f64>()?, [1.0, 2.0, 6.0, 8.0]);
    let by = vjp::mul(&g, &whole, &g)?;
    assert_eq!(by.left()?.stored.to_vec::<f64>()?, [1.0, 0.0, 0.0, 8.0]);
    says(by.right(), "have no gradient");
    // A number on the right has one, too.
    assert_eq!(vjp::mul(&x, 3, &g)?.right()?.stored.item()?, 9.0.into());
    Ok(())
}

/// A pattern of 2⁸⁰ elements, with a budget of nothing.
#[test]
fn huge_shapes_stay_sparse() -> Result<()> {
    let n = 1usize << 40;
    let at = || vec![vec![1u64, 5, 5], vec![7, 7, 1 << 39]];
    let of = |fill: Fill| Tensor::coo([n, n], at(), &tensor![1.0, 2.0, 3.0], fill);
    let (x, half, graph) = (of(0.0.into())?, of(0.5.into())?, of(Fill::Undefined)?);
    let cube = Tensor::coo([n, n, n], [at(), vec![vec![0u64, 1, 2]]].concat(), &tensor![1.0, 2.0, 3.0], 0.0)?;
    with_densify_budget(0, || {
        let kept = |by: vjp::Gradient| assert_eq!((by.stored.nse(), by.stored.layout()), (3, Layout::Coo));
        kept(vjp::exp(&half, &half)?);
        kept(vjp::sqrt(&half, &x)?);
        vjp::mul(&half, &x, &x)?.all()?.into_iter().for_each(kept);
        vjp::where_(&x.gt(1.0)?, &x, &half, &half)?.all()?.into_iter().for_each(kept);
        for x in [&x, &graph] {
            for op in [ReduceOp::Sum, ReduceOp::Mean, ReduceOp::Max, ReduceOp::Min, ReduceOp::Prod] {
                kept(vjp::reduce(op, x, 1, &x.reduce(op, 1)?)?);
            }
            kept(vjp::var(x, 1.0, 0, &x.var(1.0, 0)?)?);
            kept(vjp::vector_norm(x, 2.0, 1, &x.vector_norm(2.0, 1)?)?);
        }
        for axes in [vec![2], vec![0, 1], vec![0, 2]] {
            kept(vjp::sum(&cube, &axes, &cube.sum(&axes)?)?);
            kept(vjp::max(&cube, &axes, &cube.max(&axes)?)?);
        }
        kept(vjp::softmax(&graph, 1, &graph)?);
        kept(vjp::log_softmax(&graph, 0, &graph)?);
        kept(vjp::logsumexp(&graph, 1, &graph.logsumexp(1)?)?);
        let product = x.matmul(&x)?;
        vjp::matmul(&x, &x, &product)?.all()?.into_iter().for_each(kept);
        kept(vjp::permute_dims(&x, [1, 0], &x.t()?)?);
        kept(vjp::index(&x, s![1..10], &x.index(s![1..10])?)?);
        let rows = s![[5, 1, 5]];
        kept(vjp::index(&x, rows.clone(), &x.index(rows)?)?);
        vjp::concat(&[&x, &half], 1, &Tensor::concat(&[&x, &x], 1)?)?.all()?.into_iter().for_each(kept);
        Ok::<(), openwork::Error>(())
    })?;
    // By the fill: 2⁸⁰ − 3 elements.
    let by = vjp::sum(&half, .., &Tensor::scalar(2.0))?;
    assert_eq!(by.fill, Some((2.0 * (2f64.powi(80) - 3.0)).into()));
    Ok(())
}

/// A step reads no index: the gradient has the operand's own pattern.
#[test]
fn patterns_are_shared() -> Result<()> {
    for layout in [Layout::Coo, Layout::Csr, Layout::Csc, Layout::Bsr { block: [2, 2] }, Layout::Dcsr] {
        let w = Tensor::random([40, 30], 0.2, 0.0, layout, 1)?;
        let (x, g) = (Tensor::rand([8, 40], 2)?, Tensor::rand([8, 30], 3)?);
        let sparse = Tensor::random([8, 30], 0.5, 0.0, Layout::Csr, 4)?;
        for g in [&g, &sparse] {
            let by = vjp::matmul(&x, &w, g)?.right()?;
            let buffers = |t: &Tensor| -> Vec<_> {
                t.buffers().into_iter().filter(|b| b.name != "values").map(|b| format!("{b:?}")).collect()
            };
            assert_eq!(buffers(&by.stored), buffers(&w), "{layout}");
            let (_, steps) = openwork::explain(|| &w - &by.stored);
            assert!(steps.iter().all(|s| s.path == openwork::trace::Path::Values), "{layout}: {steps:?}");
        }
    }
    Ok(())
}

/// Two steps, the fill's gradient handed on: as of the dense tensor.
#[test]
fn fills_are_handed_on() -> Result<()> {
    let x = Tensor::random([6, 5], 0.4, 0.25, Layout::Csr, 1)?;
    let dense = x.to_dense()?;
    let g = Tensor::rand([6], 5)?;
    let gradient = |x: &Tensor| -> Result<vjp::Gradient> {
        let y = x.exp()?;
        let by = vjp::mean(&y.square()?, 1, &g)?.cotangent()?;
        vjp::exp(x, &vjp::square(&y, &by)?.cotangent()?)
    };
    let (by, whole) = (gradient(&x)?, gradient(&dense)?.stored);
    let stored = x.is_stored()?;
    assert!(by.stored.allclose(&stored.where_(&whole, 0.0)?, 1e-12, 1e-12)?);
    let rest = stored.where_(0.0, &whole)?.sum(..)?.item()?.to::<f64>();
    let fill = by.fill.as_ref().and_then(Fill::as_scalar).map_or(f64::NAN, Scalar::to::<f64>);
    assert!((fill - rest).abs() < 1e-12 * rest.abs(), "{fill} {rest}");
    // Twice the same operand: gradients add.
    let twice = by.plus(&by)?;
    assert!(twice.stored.equal(&by.stored.mul(2.0)?)?);
    assert_eq!(twice.fill, Some((2.0 * fill).into()));
    assert_eq!(twice.with_fill()?.fill(), Some(&Fill::from(2.0 * fill)));
    Ok(())
}

/// A batch over which a weight is repeated is part of the sums.
#[test]
fn repeated_weights() -> Result<()> {
    let w = Tensor::random([7, 5], 0.3, 0.0, Layout::Csr, 1)?;
    let (x, g) = (Tensor::rand([3, 4, 7], 2)?, Tensor::rand([3, 4, 5], 3)?);
    let by = vjp::matmul(&x, &w, &g)?.right()?;
    let whole = x.reshape([12, 7])?.t()?.matmul(&g.reshape([12, 5])?)?;
    assert!(by.stored.allclose(&w.is_stored()?.where_(&whole, 0.0)?, 1e-12, 1e-12)?);
    assert_eq!(by.stored.layout(), Layout::Csr);
    let by = vjp::index_select(&w, vec![2], 0, &Tensor::ones([1, 5], w.dtype(), Layout::Strided)?)?;
    assert_eq!(by.stored.sum(..)?.item()?.to::<f64>(), w.narrow(2..3, 0)?.nse() as f64);
    Ok(())
}
