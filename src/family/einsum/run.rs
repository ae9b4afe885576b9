//! Equations carried out, step by step.

use openwork_ops::matmul::{Carrier, Plus, Semiring, Times};
use openwork_ops::{BinaryOp, DType, ReduceOp, Scalar, promote};

use super::factors;
use super::parse::{Equation, Network};
use super::plan::{Action, EinsumKernel, EinsumPath, EinsumStep, Node, Plan, Set, Step, members, set};
use crate::base::axes::Axes;
use crate::base::context::{self, NanPolicy};
use crate::base::error::{self, Result};
use crate::base::faults::{self, Fault};
use crate::base::mapped::{Chosen, Mapped};
use crate::engine::sides::all_finite;
use crate::family::matmul::chain::Estimate;
use crate::family::matmul::contract::{self, Joined};
use crate::levels::layout::Layout;
use crate::tensor::fill::Fill;
use crate::tensor::{Storage, Tensor};

/// A tensor with an index of its own for each axis.
#[derive(Clone)]
pub(super) struct Operand {
    pub(super) tensor: Tensor,
    pub(super) indices: Vec<usize>,
}

impl Operand {
    fn set(&self) -> Set {
        set(&self.indices)
    }

    fn axis(&self, index: usize) -> usize {
        self.indices.iter().position(|&own| own == index).unwrap_or_default()
    }

    fn axes(&self, set: Set) -> Vec<usize> {
        (0..self.indices.len()).chosen(|&axis| set >> self.indices[axis] & 1 == 1)
    }

    /// With its axes in the order of these indices, which are its own.
    fn in_order(&self, indices: &[usize]) -> Result<Tensor> {
        if self.indices == indices {
            return Ok(self.tensor.clone());
        }
        self.tensor.permute_dims(indices.mapped(|&index| self.axis(index)))
    }

    /// With an axis for each of these indices: of size 1 for those that are not its own.
    fn spread(&self, indices: &[usize]) -> Result<Tensor> {
        let own: Vec<usize> = indices.iter().copied().filter(|index| self.indices.contains(index)).collect();
        let new = (0..indices.len()).chosen(|&at| !self.indices.contains(&indices[at]));
        let tensor = self.in_order(&own)?;
        if new.is_empty() { Ok(tensor) } else { tensor.expand_dims(new) }
    }

    /// Summed over all indices but these.
    fn summed(self, keep: Set, plus: Plus) -> Result<Operand> {
        let axes = self.axes(!keep);
        if axes.is_empty() {
            return Ok(self);
        }
        let indices = self.indices.iter().copied().filter(|&index| keep >> index & 1 == 1).collect();
        Ok(Operand { tensor: folded(&self.tensor, axes, plus)?, indices })
    }
}

/// An equation with its operands, ready to be multiplied.
struct Prepared {
    network: Network,
    operands: Vec<Operand>,
    semiring: Semiring,
    /// Whether sums may be taken before all factors are there.
    is_early: bool,
    /// The dtype of the result.
    output: DType,
}

fn prepared(equation: &str, operands: &[&Tensor], semiring: Semiring) -> Result<Prepared> {
    let equation = Equation::parse(equation)?;
    let network = equation.resolve(&operands.mapped(|x| x.shape()))?;
    let dtypes = operands.mapped(|x| x.dtype());
    let mut dtype = dtypes[0];
    for &other in &dtypes {
        let why = "no dtype holds the values of all; cast some";
        dtype = promote(dtype, other).ok_or_else(|| error::dtype(&dtypes, why))?;
    }
    // The product of one operand is that operand.
    let of = if operands.len() == 1 { Semiring { times: Times::First, ..semiring } } else { semiring };
    let carrier = Carrier::of_semiring(of, dtype).ok_or_else(|| {
        let why = format!("{} is not defined for {dtype}; cast the operands, or choose other ops", semiring.name());
        error::dtype(&dtypes, why)
    })?;
    if operands.len() > 2 && !is_associative(semiring.times) {
        let why = format!("⊗ of {} is not associative: it takes at most two operands", semiring.name());
        return Err(error::invalid("semiring", why));
    }
    let is_half = matches!(dtype, DType::F16 | DType::BF16);
    let compute = match semiring.times {
        Times::Op(BinaryOp::LogicalAnd | BinaryOp::LogicalOr) => DType::Bool,
        Times::Op(BinaryOp::Mul) if semiring.plus == Plus::Sum && is_half => DType::F32,
        _ => dtype,
    };
    let compute = if operands.len() == 1 && compute == DType::Bool { dtype } else { compute };
    let mut ready = Vec::with_capacity(operands.len());
    for (x, own) in operands.iter().zip(&network.operands) {
        ready.push(with_own_indices(&x.cast(dtype)?.cast(compute)?, own, &network.sizes)?);
    }
    let is_early = is_distributive(semiring, dtype) && ready.iter().all(|x| is_tame(&x.tensor, semiring));
    let is_early = is_early || faults::is(Fault::SumTooEarly);
    Ok(Prepared { network, operands: ready, semiring, is_early, output: carrier.output(dtype) })
}

/// Whether ⊗ of several elements may be made in any grouping.
fn is_associative(times: Times) -> bool {
    use BinaryOp::{Add, BitwiseAnd, BitwiseOr, BitwiseXor, LogicalAnd, LogicalOr, Maximum, Minimum, Mul};
    match times {
        Times::Op(op) => {
            matches!(op, Add | Mul | Minimum | Maximum | LogicalAnd | LogicalOr | BitwiseAnd | BitwiseOr | BitwiseXor)
        }
        _ => false,
    }
}

/// Whether ⊗ distributes over ⊕, so that sums may be taken early.
fn is_distributive(semiring: Semiring, dtype: DType) -> bool {
    let Times::Op(op) = semiring.times else { return false };
    match (semiring.plus, op) {
        // Of integers that wrap, the least is not where it was before.
        (Plus::Min | Plus::Max, BinaryOp::Add) => dtype.is_inexact(),
        (Plus::Sum, BinaryOp::Mul)
        | (Plus::Min | Plus::Max, BinaryOp::Minimum | BinaryOp::Maximum)
        | (Plus::Or | Plus::Xor, BinaryOp::LogicalAnd)
        | (Plus::And, BinaryOp::LogicalOr) => true,
        _ => false,
    }
}

/// Whether a tensor has no NaN and no infinity that could cancel or be made zero by sums that are taken early: looked for in
/// fills, and everywhere under the exact policy.
fn is_tame(x: &Tensor, semiring: Semiring) -> bool {
    if !x.dtype().is_inexact() {
        return true;
    }
    let scalar = |value: Scalar| match (semiring.plus, semiring.times) {
        // What absorbs all others does so at any time.
        (Plus::Min | Plus::Max, Times::Op(BinaryOp::Minimum | BinaryOp::Maximum)) => !value.is_nan(),
        (Plus::Min | Plus::Max, Times::Op(BinaryOp::Add)) => {
            let value: f64 = value.to();
            value.is_finite() || (!value.is_nan() && (value > 0.0) == (semiring.plus == Plus::Min))
        }
        _ => value.is_finite(),
    };
    let fill = match x.fill() {
        None | Some(Fill::Undefined) => true,
        Some(Fill::Scalar(value)) => scalar(*value),
        Some(Fill::Array(values)) => values.strided().is_some_and(all_finite),
    };
    let values = match &x.storage {
        Storage::Strided(s) => s,
        Storage::Sparse(s) => &s.values,
    };
    fill && (context::nan_policy() != NanPolicy::Exact || all_finite(values))
}

/// A tensor without axes that are repeated by broadcasting, and with the diagonal of those that have one index.
fn with_own_indices(x: &Tensor, own: &[usize], sizes: &[usize]) -> Result<Operand> {
    let repeated = (0..own.len()).chosen(|&axis| x.shape()[axis] != sizes[own[axis]]);
    let mut indices: Vec<usize> = Vec::with_capacity(own.len());
    indices.extend((0..own.len()).filter(|axis| !repeated.contains(axis)).map(|axis| own[axis]));
    let mut tensor = if repeated.is_empty() { x.clone() } else { x.squeeze(repeated)? };
    while let Some((a, b)) = twice(&indices) {
        tensor = tensor.diagonal(0, a, b)?;
        let index = indices.remove(b);
        indices.remove(a);
        indices.push(index);
    }
    Ok(Operand { tensor, indices })
}

fn twice(indices: &[usize]) -> Option<(usize, usize)> {
    (0..indices.len()).find_map(|a| (a + 1..indices.len()).find(|&b| indices[a] == indices[b]).map(|b| (a, b)))
}

/// The fold ⊕ over axes; also over none, where it makes something else of an element.
fn folded(x: &Tensor, axes: Vec<usize>, plus: Plus) -> Result<Tensor> {
    let dtype = x.dtype();
    let op = match (plus, dtype) {
        (Plus::Sum, DType::Bool) | (Plus::Or, _) => ReduceOp::Any,
        (Plus::Prod, DType::Bool) | (Plus::And, _) => ReduceOp::All,
        (Plus::Xor, _) => {
            let odd = x.sum(axes)?.binary(BinaryOp::BitwiseAnd, 1i64)?;
            return odd.cast(DType::Bool);
        }
        (Plus::Prod, _) => ReduceOp::Prod,
        (Plus::Min, _) => ReduceOp::Min,
        (Plus::Max, _) => ReduceOp::Max,
        _ => ReduceOp::Sum,
    };
    let is_itself = axes.is_empty() && (dtype == DType::Bool || !matches!(op, ReduceOp::Any | ReduceOp::All));
    if is_itself {
        Ok(x.clone())
    } else {
        x.reduce(op, Axes::from(axes))?.cast(if matches!(op, ReduceOp::Any | ReduceOp::All) {
            DType::Bool
        } else {
            dtype
        })
    }
}

pub(super) fn einsum(equation: &str, operands: &[&Tensor], semiring: Semiring) -> Result<Tensor> {
    let prepared = prepared(equation, operands, semiring)?;
    if prepared.is_early || operands.len() < 3 {
        return multiplied(operands, prepared);
    }
    // What a fill makes NaN or infinite is stored after the first product, and zeros must not make it zero again.
    context::with_nan_policy(NanPolicy::Exact, || multiplied(operands, prepared))
}

fn multiplied(operands: &[&Tensor], mut prepared: Prepared) -> Result<Tensor> {
    let semiring = prepared.semiring;
    let network = &prepared.network;
    if network.sizes.contains(&0) {
        return nothing(operands, &prepared);
    }
    let result = set(&network.result);
    let made = if prepared.is_early
        && semiring == Semiring::PLUS_TIMES
        && let Some(out) = factors::product(&prepared.operands, &network.result, &network.sizes)?
    {
        out
    } else {
        let plan = Plan::new(network, nodes(&prepared), prepared.is_early);
        let mut held: Vec<Option<Operand>> = Vec::with_capacity(plan.operands.len() + plan.steps.len());
        held.extend(prepared.operands.drain(..).map(Some));
        for step in &plan.steps {
            let mut take = |number: usize| {
                held.get_mut(number)
                    .and_then(Option::take)
                    .ok_or_else(|| error::invalid("equation", "an operand is used twice"))
            };
            let made = match step.action {
                Action::Pair { left, right } => pair(take(left)?, take(right)?, step, semiring, prepared.is_early)?,
                Action::Masked { mask, left, right } => {
                    masked(take(mask)?, take(left)?, take(right)?, step.keep, semiring)?
                }
            };
            held.push(Some(made));
        }
        held.pop().flatten().ok_or_else(|| error::invalid("operands", "there are none"))?
    };
    let mut out = made.summed(result, semiring.plus)?;
    if matches!(semiring.plus, Plus::Or | Plus::And) {
        out.tensor = folded(&out.tensor, Vec::new(), semiring.plus)?;
    }
    out.in_order(&prepared.network.result)?.cast(prepared.output)
}

/// The result where an index has no elements: it has none, or sums of nothing.
fn nothing(operands: &[&Tensor], prepared: &Prepared) -> Result<Tensor> {
    let network = &prepared.network;
    let shape = network.result.mapped(|&index| network.sizes[index]);
    let of = if operands.len() == 1 { Times::First } else { prepared.semiring.times };
    let dtype = prepared.operands[0].tensor.dtype();
    let of = Semiring { times: of, ..prepared.semiring };
    let zero = Carrier::of_semiring(of, dtype).map_or(Scalar::zero(prepared.output), |carrier| carrier.zero(dtype));
    let zero = zero.cast(prepared.output);
    let is_absent = |x: &&Tensor| x.fill().is_some_and(Fill::is_undefined);
    let is_sparse = operands.iter().all(|x| !x.is_strided());
    if operands.iter().any(is_absent) {
        return Ok(Tensor::full(&shape, zero, Layout::Coo)?.stored());
    }
    Tensor::full(&shape, zero, if is_sparse { Layout::Coo } else { Layout::Strided })
}

fn nodes(prepared: &Prepared) -> Vec<Node> {
    let is_product = prepared.semiring == Semiring::PLUS_TIMES;
    let can_be_masked = contract::is_commutative(prepared.semiring) && matches!(prepared.semiring.times, Times::Op(_));
    prepared.operands.mapped(|x| {
        let fill = x.tensor.fill();
        let is_absent = fill.is_some_and(Fill::is_undefined);
        let is_zero = is_product && fill.and_then(Fill::as_scalar).is_some_and(|fill| fill.is_zero());
        Node {
            indices: x.set(),
            estimate: Estimate::of(&x.tensor),
            is_mask: (is_absent || is_zero) && can_be_masked,
            is_absent,
        }
    })
}

/// The axes that two operands share: those of `keep` stay, the others are summed over.
fn joined(x: &Operand, y: &Operand, keep: Set) -> Joined {
    let mut joined = Joined::default();
    for (axis, &index) in x.indices.iter().enumerate() {
        if y.indices.contains(&index) {
            let pairs = if keep >> index & 1 == 1 { &mut joined.batch } else { &mut joined.inner };
            pairs.push([axis, y.axis(index)]);
        }
    }
    joined
}

/// Of two operands: indices that both have and the product keeps, those that it sums over, those of one alone.
struct Parts {
    inner: Set,
    left: Set,
    right: Set,
}

impl Parts {
    fn new(x: Set, y: Set, keep: Set) -> Parts {
        Parts { inner: x & y & !keep, left: x & !y, right: y & !x }
    }

    /// Whether the product is elementwise, and then summed over what is summed.
    fn is_elementwise(&self, both_strided: bool) -> bool {
        self.inner == 0 || (self.left == 0 && self.right == 0 && !both_strided)
    }
}

fn pair(x: Operand, y: Operand, step: &Step, semiring: Semiring, is_early: bool) -> Result<Operand> {
    let (of_x, of_y, keep) = (x.set(), y.set(), step.keep);
    let (x, y) = (x.summed(keep | of_y, semiring.plus)?, y.summed(keep | of_x, semiring.plus)?);
    let parts = Parts::new(x.set(), y.set(), keep);
    let both_strided = x.tensor.is_strided() && y.tensor.is_strided();
    let blank =
        |x: &Operand| x.tensor.fill().is_some_and(|f| f.is_undefined() || f.as_scalar().is_some_and(|f| f.is_zero()));
    let is_absent = |x: &Operand| x.tensor.fill().is_some_and(Fill::is_undefined);
    // What both store meets, without either being repeated.
    let is_joined = is_early
        && semiring == Semiring::PLUS_TIMES
        && parts.left != 0
        && parts.right != 0
        && blank(&x)
        && blank(&y)
        && is_absent(&x) == is_absent(&y);
    if let Times::Op(op) = semiring.times
        && parts.is_elementwise(both_strided)
        && !is_joined
    {
        let indices = order_of(&x, &y);
        let tensor = x.spread(&indices)?.binary(op, &y.spread(&indices)?)?;
        return Operand { tensor, indices }.summed(keep, semiring.plus);
    }
    let joined = joined(&x, &y, keep);
    let indices = indices_of(&x, &y, &joined);
    let tensor = contract::contract(&x.tensor, &y.tensor, &joined, semiring, None)?;
    Ok(Operand { tensor, indices })
}

/// Indices of an elementwise product: a sparse operand stays in its order.
fn order_of(x: &Operand, y: &Operand) -> Vec<usize> {
    let (first, second) = if x.tensor.is_strided() && !y.tensor.is_strided() { (y, x) } else { (x, y) };
    let mut indices = first.indices.clone();
    indices.extend(second.indices.iter().filter(|index| !first.indices.contains(index)));
    indices
}

/// Indices of the result of [`contract::contract`].
fn indices_of(x: &Operand, y: &Operand, joined: &Joined) -> Vec<usize> {
    let mut indices = joined.batch.mapped(|&[axis, _]| x.indices[axis]);
    indices.extend(x.indices.iter().filter(|index| !y.indices.contains(index)));
    indices.extend(y.indices.iter().filter(|index| !x.indices.contains(index)));
    indices
}

/// The product of two where a third one stores something, times that one.
fn masked(mask: Operand, x: Operand, y: Operand, needed: Set, semiring: Semiring) -> Result<Operand> {
    let Times::Op(op) = semiring.times else {
        return Err(error::invalid("semiring", "a masked product needs an op"));
    };
    let keep = needed | mask.set();
    let (of_x, of_y) = (x.set(), y.set());
    let (x, y) = (x.summed(keep | of_y, semiring.plus)?, y.summed(keep | of_x, semiring.plus)?);
    // The operand that has the first index of the mask gives its rows.
    let is_first = |x: &Operand| mask.indices.first().is_none_or(|index| x.indices.contains(index));
    let (x, y) = if is_first(&x) { (x, y) } else { (y, x) };
    let joined = joined(&x, &y, keep);
    let indices = indices_of(&x, &y, &joined);
    let own = mask.in_order(&indices)?.coalesce()?;
    let product = contract::contract(&x.tensor, &y.tensor, &joined, semiring, Some(&own.is_stored()?))?;
    let out = own.stored().binary(op, &product)?;
    let out =
        if own.fill().is_some_and(Fill::is_undefined) { out } else { out.replace_fill(Scalar::zero(out.dtype()))? };
    Operand { tensor: out, indices }.summed(needed, semiring.plus)
}

/// What [`einsum`] does, in words.
pub(super) fn path(equation: &str, operands: &[&Tensor]) -> Result<EinsumPath> {
    let prepared = prepared(equation, operands, Semiring::PLUS_TIMES)?;
    let network = &prepared.network;
    let lists = network.operands.mapped(|own| network.word(own));
    let result = network.word(&network.result);
    let whole = format!("{}->{result}", lists.join(","));
    let plan = Plan::new(network, nodes(&prepared), prepared.is_early);
    let last = set(&network.result);
    let size = |set: Set| members(set).iter().map(|&i| network.sizes[i] as f64).product::<f64>();
    let whole_step = |kernel, terms, elements| EinsumStep {
        equation: whole.clone(),
        operands: (0..operands.len()).collect(),
        kernel,
        terms,
        elements,
    };
    let steps = if let Some(terms) = factors::terms(&prepared.operands, &network.result, &network.sizes)
        && prepared.is_early
    {
        vec![whole_step(EinsumKernel::Factors, terms, size(last))]
    } else if plan.steps.is_empty() {
        let stored = plan.operands[0].estimate.stored;
        vec![whole_step(EinsumKernel::Sum, stored, stored.min(size(last)))]
    } else {
        plan.steps.mapped(|step| {
            let word = |node: Node| network.word(&members(node.indices));
            let (numbers, kernel) = match step.action {
                Action::Pair { left, right } => {
                    let (x, y) = (plan.node(left), plan.node(right));
                    let keep = [step.keep | y.indices, step.keep | x.indices];
                    let parts = Parts::new(x.indices & keep[0], y.indices & keep[1], step.keep);
                    let is_full = |node: Node| node.estimate.stored >= node.estimate.size;
                    let is_elementwise = parts.is_elementwise(is_full(x) && is_full(y));
                    (vec![left, right], if is_elementwise { EinsumKernel::Elementwise } else { EinsumKernel::Matmul })
                }
                Action::Masked { mask, left, right } => (vec![mask, left, right], EinsumKernel::Masked),
            };
            let lists = numbers.mapped(|&number| word(plan.node(number)));
            EinsumStep {
                equation: format!("{}->{}", lists.join(","), word(step.result)),
                operands: numbers,
                kernel,
                terms: step.terms,
                elements: step.result.estimate.stored,
            }
        })
    };
    Ok(EinsumPath { equation: whole, steps })
}
