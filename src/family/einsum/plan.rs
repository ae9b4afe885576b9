//! The order in which operands are contracted, by what each step is estimated to store and to compute.

use std::fmt;

use crate::base::mapped::Mapped;
use crate::family::matmul::chain::Estimate;

use super::parse::Network;

/// A set of indices, a bit for each.
pub(super) type Set = u128;

pub(super) fn set(indices: &[usize]) -> Set {
    indices.iter().fold(0, |all, &i| all | 1 << i)
}

/// The indices of a set, rising.
pub(super) fn members(set: Set) -> Vec<usize> {
    let (mut rest, mut all) = (set, Vec::with_capacity(set.count_ones() as usize));
    while rest != 0 {
        all.push(rest.trailing_zeros() as usize);
        rest &= rest - 1;
    }
    all
}

/// An operand, or the result of a step.
#[derive(Clone, Copy, Debug)]
pub(super) struct Node {
    pub(super) indices: Set,
    pub(super) estimate: Estimate,
    /// Sparse, and what is not stored makes nothing of a product, so that it can be the mask of one.
    pub(super) is_mask: bool,
    /// Sparse, and what is not stored is absent.
    pub(super) is_absent: bool,
}

/// What a step does with operands, which are numbered: those given first, then the results of steps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Action {
    /// Two are multiplied, and summed over what nobody needs any more.
    Pair { left: usize, right: usize },
    /// The product of two where a third one stores something, times that one.
    Masked { mask: usize, left: usize, right: usize },
}

impl Action {
    fn operands(self) -> Vec<usize> {
        match self {
            Action::Pair { left, right } => vec![left, right],
            Action::Masked { mask, left, right } => vec![mask, left, right],
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    pub(super) action: Action,
    /// Indices that the result keeps.
    pub(super) keep: Set,
    pub(super) result: Node,
    /// Products of elements.
    pub(super) terms: f64,
}

/// How an equation is carried out.
pub(super) struct Plan {
    pub(super) operands: Vec<Node>,
    pub(super) steps: Vec<Step>,
}

/// What a search knows.
struct Search<'a> {
    sizes: &'a [usize],
    result: Set,
    /// Whether sums may be taken before all factors are there.
    is_early: bool,
}

/// Operands up to which all orders are tried.
const FEW: usize = 5;

impl Search<'_> {
    fn size(&self, set: Set) -> f64 {
        members(set).iter().map(|&i| self.sizes[i] as f64).product()
    }

    /// What others than these nodes need.
    fn needed(&self, live: &[(usize, Node)], without: &[usize]) -> Set {
        let others = live.iter().filter(|(number, _)| !without.contains(number));
        others.fold(self.result, |all, (_, node)| all | node.indices)
    }

    /// A node without the indices that it alone has.
    fn summed(&self, node: Node, keep: Set) -> Node {
        let indices = node.indices & keep;
        if indices == node.indices {
            return node;
        }
        let size = self.size(indices);
        Node { indices, estimate: Estimate { size, stored: node.estimate.stored.min(size) }, ..node }
    }

    fn pair(&self, live: &[(usize, Node)], [l, r]: [usize; 2]) -> Step {
        let ((left, x), (right, y)) = (live[l], live[r]);
        let needed = self.needed(live, &[left, right]);
        // Before the last step nothing is summed, if sums have to wait; in the last one what both have.
        let keep = match (self.is_early, live.len()) {
            (true, _) => needed,
            (false, 2) => needed | (x.indices ^ y.indices),
            (false, _) => Set::MAX,
        };
        let (x, y) = (self.summed(x, keep | y.indices), self.summed(y, keep | x.indices));
        let indices = (x.indices | y.indices) & keep;
        let (estimate, terms) =
            Estimate::product(x.estimate, y.estimate, self.size(x.indices & y.indices), self.size(indices));
        let result = Node { indices, estimate, is_mask: x.is_mask && y.is_mask, is_absent: x.is_absent || y.is_absent };
        Step { action: Action::Pair { left, right }, keep, result, terms }
    }

    fn masked(&self, live: &[(usize, Node)], [m, l, r]: [usize; 3]) -> Option<Step> {
        let ((mask, z), (left, x), (right, y)) = (live[m], live[l], live[r]);
        if !self.is_early || !z.is_mask || (!z.is_absent && (x.is_absent || y.is_absent)) {
            return None;
        }
        let needed = self.needed(live, &[mask, left, right]);
        let product = (x.indices | y.indices) & (needed | z.indices);
        let inner = x.indices & y.indices & !product;
        if product != z.indices || inner == 0 {
            return None;
        }
        let keep = needed | z.indices;
        let (x, y) = (self.summed(x, keep | y.indices), self.summed(y, keep | x.indices));
        let (_, all) = Estimate::product(x.estimate, y.estimate, self.size(x.indices & y.indices), 1.0);
        let is_strided = [x, y].iter().any(|node| node.estimate.stored >= node.estimate.size);
        let terms = if is_strided { z.estimate.stored * self.size(inner) } else { all };
        let indices = z.indices & needed;
        let size = self.size(indices);
        let estimate = Estimate { size, stored: z.estimate.stored.min(size) };
        let result = Node { indices, estimate, ..z };
        Some(Step {
            action: Action::Masked { mask, left, right },
            keep: needed,
            result,
            terms: terms + z.estimate.stored,
        })
    }

    /// Every step that could be next.
    fn next(&self, live: &[(usize, Node)]) -> Vec<Step> {
        let mut steps = Vec::new();
        for l in 0..live.len() {
            for r in l + 1..live.len() {
                steps.push(self.pair(live, [l, r]));
                for m in (0..live.len()).filter(|m| *m != l && *m != r) {
                    steps.extend(self.masked(live, [m, l, r]));
                }
            }
        }
        steps
    }

    /// The cheapest way to the end, whose results are numbered from `number` on, unless it costs more than `limit`.
    fn cheapest(&self, live: &[(usize, Node)], number: usize, limit: f64) -> Option<(f64, Vec<Step>)> {
        if live.len() < 2 {
            return Some((0.0, Vec::new()));
        }
        let mut best: Option<(f64, Vec<Step>)> = None;
        for step in self.next(live) {
            let least = best.as_ref().map_or(limit, |(cost, _)| *cost);
            let own = cost(&step);
            if own >= least {
                continue;
            }
            let rest = after(live, &step, number);
            if let Some((cost, mut steps)) = self.cheapest(&rest, number + 1, least - own) {
                steps.insert(0, step);
                best = Some((cost + own, steps));
            }
        }
        best
    }

    /// Always the step that costs least.
    fn greedy(&self, live: &[(usize, Node)], number: usize) -> Vec<Step> {
        let (mut live, mut steps) = (live.to_vec(), Vec::new());
        while live.len() > 1 {
            let next = self.next(&live);
            let Some(step) = next.into_iter().min_by(|a, b| cost(a).total_cmp(&cost(b))) else { break };
            live = after(&live, &step, number + steps.len());
            steps.push(step);
        }
        steps
    }
}

fn cost(step: &Step) -> f64 {
    step.terms + step.result.estimate.stored
}

/// What is left after a step, its result last.
fn after(live: &[(usize, Node)], step: &Step, number: usize) -> Vec<(usize, Node)> {
    let taken = step.action.operands();
    let mut rest: Vec<(usize, Node)> = Vec::with_capacity(live.len());
    rest.extend(live.iter().filter(|(n, _)| !taken.contains(n)));
    rest.push((number, step.result));
    rest
}

impl Plan {
    /// For operands of which these are known, each with indices of its own at most once.
    pub(super) fn new(network: &Network, operands: Vec<Node>, is_early: bool) -> Plan {
        let search = Search { sizes: &network.sizes, result: set(&network.result), is_early };
        let live: Vec<(usize, Node)> = (0..operands.len()).mapped(|i| (i, operands[i]));
        let steps = if !is_early {
            // From left to right.
            let (mut live, mut steps) = (live, Vec::new());
            while live.len() > 1 {
                let step = search.pair(&live, [0, 1]);
                let mut rest = after(&live, &step, operands.len() + steps.len());
                rest.rotate_right(1);
                live = rest;
                steps.push(step);
            }
            steps
        } else if operands.len() <= FEW {
            search
                .cheapest(&live, operands.len(), f64::INFINITY)
                .map_or_else(|| search.greedy(&live, operands.len()), |(_, steps)| steps)
        } else {
            search.greedy(&live, operands.len())
        };
        Plan { operands, steps }
    }

    /// A node by its number.
    pub(super) fn node(&self, number: usize) -> Node {
        match number.checked_sub(self.operands.len()) {
            Some(step) => self.steps[step].result,
            None => self.operands[number],
        }
    }
}

/// How [`Tensor::einsum`](crate::Tensor::einsum) carries out an equation: a step for each product of two or three operands.
/// Prints as a table.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct EinsumPath {
    /// The equation, with every index that an ellipsis stands for.
    pub equation: String,
    /// What is done, one after the other; for one operand nothing but a sum.
    pub steps: Vec<EinsumStep>,
}

/// A step of an [`EinsumPath`].
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct EinsumStep {
    /// The equation of the step alone.
    pub equation: String,
    /// Numbers of the operands: those given, then results of the steps.
    pub operands: Vec<usize>,
    /// How it is computed.
    pub kernel: EinsumKernel,
    /// Products of elements, estimated from what operands store.
    pub terms: f64,
    /// Elements that the result stores, estimated likewise.
    pub elements: f64,
}

/// How a step of [`Tensor::einsum`](crate::Tensor::einsum) is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EinsumKernel {
    /// A sum over axes, or none.
    Sum,
    /// An elementwise product with broadcasting, and a sum over axes perhaps.
    Elementwise,
    /// A matrix product over merged axes, in batches over indices that both have and the result keeps.
    Matmul,
    /// The same where a sparse operand stores something, times that operand: what it does not store is not computed.
    Masked,
    /// One pass over what a sparse operand stores, adding the products of rows of strided factors to rows of the result.
    Factors,
}

impl EinsumKernel {
    fn name(self) -> &'static str {
        match self {
            EinsumKernel::Sum => "sum",
            EinsumKernel::Elementwise => "elementwise",
            EinsumKernel::Matmul => "matmul",
            EinsumKernel::Masked => "masked matmul",
            EinsumKernel::Factors => "factors",
        }
    }
}

impl fmt::Display for EinsumKernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl fmt::Display for EinsumPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = self.steps.iter().map(|s| s.equation.chars().count()).max().unwrap_or_default().max(4);
        write!(f, "{}\n  {:width$}  {:13}  {:>10}  {:>10}", self.equation, "step", "kernel", "terms", "elements")?;
        for step in &self.steps {
            let (terms, elements) = (step.terms, step.elements);
            write!(f, "\n  {:width$}  {:13}  {terms:>10.3e}  {elements:>10.3e}", step.equation, step.kernel)?;
        }
        Ok(())
    }
}

#[cfg(test)]
#[path = "tests/plan.rs"]
mod tests;
