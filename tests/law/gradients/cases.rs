//! Ops with operands and arguments, and the gradients by these.

use openwork::vjp::{self, Gradient};
use openwork::{BinaryOp, DType, Index, ReduceOp, Result, Tensor, UnaryOp};
use openwork_ops::Domain;
use openwork_ops::derivative::Derivative;

use crate::cells::Cell;
use crate::matmul;
use crate::oracle::OType;
use crate::reduce::{axis_sets, over};
use crate::rng::Rng;
use crate::sample::{any_cell, any_pair, broadcasting, cell_of_shape};
use crate::values::Data;

pub const KINDS: [&str; 19] = [
    "unary",
    "binary",
    "where_",
    "reduce",
    "var",
    "std",
    "vector_norm",
    "logsumexp",
    "softmax",
    "log_softmax",
    "matmul",
    "sampled_addmm",
    "permute_dims",
    "reshape",
    "broadcast_to",
    "index",
    "index_select",
    "concat",
    "cast",
];

type Op = Box<dyn Fn(&[&Tensor]) -> Result<Tensor>>;
type Vjp = Box<dyn Fn(&[&Tensor], &Tensor) -> Result<Vec<Gradient>>>;

/// An op and its gradients.
pub struct Case {
    pub name: String,
    pub cells: Vec<Cell>,
    pub data: Vec<Data>,
    /// The operands by which there are gradients, in the order of these.
    pub operands: Vec<usize>,
    pub differentiable: bool,
    /// Whether it looks at what is stored.
    pub of_storage: bool,
    pub op: Op,
    pub vjp: Vjp,
}

impl Case {
    fn new(name: &str, cells: Vec<Cell>, op: Op, vjp: Vjp) -> Case {
        let operands = (0..cells.len()).collect();
        let data = vec![Data::Any; cells.len()];
        let name = format!("vjp of {name}");
        Case { name, cells, data, operands, differentiable: true, of_storage: false, op, vjp }
    }
}

/// Mostly a dtype that has gradients.
fn float(rng: &mut Rng) -> OType {
    if rng.one_in(12) {
        OType::I32
    } else {
        *rng.pick(&[OType::F32, OType::F64, OType::F64, OType::F16, OType::BF16, OType::Complex64, OType::Complex128])
    }
}

fn cell(rng: &mut Rng) -> Cell {
    loop {
        let cell = Cell { dtype: float(rng), ..any_cell(rng) };
        if cell.suits() {
            return cell;
        }
    }
}

fn shaped(rng: &mut Rng, dtype: OType, shape: &[usize]) -> Cell {
    loop {
        if let Some(cell) = cell_of_shape(rng, dtype, shape) {
            return cell;
        }
    }
}

fn domain(domain: Domain) -> [Data; 2] {
    match domain {
        Domain::Any => [Data::Any; 2],
        Domain::Positive => [Data::Positive, Data::Any],
        Domain::SmallRight => [Data::Any, Data::Small],
    }
}

fn one(
    kind: &str,
    cell: Cell,
    op: impl Fn(&Tensor) -> Result<Tensor> + 'static,
    vjp: impl Fn(&Tensor, &Tensor) -> Result<Gradient> + 'static,
) -> Case {
    Case::new(kind, vec![cell], Box::new(move |t| op(t[0])), Box::new(move |t, g| Ok(vec![vjp(t[0], g)?])))
}

/// A case of a kind; `None` if what was drawn does not suit it.
pub fn any_case(kind: &'static str, rng: &mut Rng) -> Option<Case> {
    let x = cell(rng);
    let n = x.shape.len();
    let axes = rng.pick(&axis_sets(n)).clone();
    let keeps = rng.one_in(2);
    let axes: Vec<isize> = axes.into_iter().map(|a| a as isize).collect();
    let along = move |axes: &Vec<isize>| over(Some(axes), keeps);
    Some(match kind {
        "unary" => {
            let op = *rng.pick(UnaryOp::ALL);
            let data = domain(op.domain())[0];
            let case = one(op.name(), x, move |x| x.unary(op), move |x, g| vjp::unary(op, x, g));
            Case { data: vec![data], differentiable: op.derivative() != Derivative::None, ..case }
        }
        "binary" => {
            let op = *rng.pick(BinaryOp::ALL);
            let [mut a, mut b] = any_pair(rng);
            (a.dtype, b.dtype) = (float(rng), a.dtype);
            b.dtype = if rng.one_in(3) { float(rng) } else { a.dtype };
            if !a.suits() || !b.suits() {
                return None;
            }
            let by: Vjp = Box::new(move |t, g| vjp::binary(op, t[0], t[1], g)?.all());
            let case = Case::new(op.name(), vec![a, b], Box::new(move |t| t[0].binary(op, t[1])), by);
            let differentiable = !op.derivatives().contains(&Derivative::None);
            Case { data: domain(op.domain()).to_vec(), differentiable, ..case }
        }
        "where_" => {
            let shapes = [0, 1, 2].map(|_| broadcasting(rng, &x.shape));
            let other = partner_of(rng, x.dtype);
            let cells = vec![
                shaped(rng, OType::Bool, &shapes[0]),
                shaped(rng, x.dtype, &shapes[1]),
                shaped(rng, other, &shapes[2]),
            ];
            let by: Vjp = Box::new(|t, g| vjp::where_(t[0], t[1], t[2], g)?.all());
            let case = Case::new(kind, cells, Box::new(|t| t[0].where_(t[1], t[2])), by);
            Case { operands: vec![1, 2], ..case }
        }
        "reduce" => {
            let op = *rng.pick(ReduceOp::ALL);
            let again = axes.clone();
            let case = one(
                op.name(),
                x,
                move |x| x.reduce(op, along(&axes)),
                move |x, g| vjp::reduce(op, x, along(&again), g),
            );
            let differentiable = !matches!(op, ReduceOp::Any | ReduceOp::All | ReduceOp::CountNonzero);
            Case { differentiable, ..case }
        }
        "var" | "std" => {
            let (again, correction) = (axes.clone(), *rng.pick(&[0.0, 1.0, 0.5]));
            if kind == "var" {
                one(
                    kind,
                    x,
                    move |x| x.var(correction, along(&axes)),
                    move |x, g| vjp::var(x, correction, along(&again), g),
                )
            } else {
                one(
                    kind,
                    x,
                    move |x| x.std(correction, along(&axes)),
                    move |x, g| vjp::std(x, correction, along(&again), g),
                )
            }
        }
        "vector_norm" => {
            let again = axes.clone();
            let mut ord = *rng.pick(&[2.0, 1.0, 0.0, 3.0, 1.5, f64::INFINITY, f64::NEG_INFINITY]);
            if x.dtype.is_complex() && f64::is_infinite(ord) {
                ord = 2.0; // which moduli are equal depends on rounding
            }
            one(
                kind,
                x,
                move |x| x.vector_norm(ord, along(&axes)),
                move |x, g| vjp::vector_norm(x, ord, along(&again), g),
            )
        }
        "logsumexp" => {
            let again = axes.clone();
            one(kind, x, move |x| x.logsumexp(along(&axes)), move |x, g| vjp::logsumexp(x, along(&again), g))
        }
        "softmax" | "log_softmax" => {
            let along = move |axes: &Vec<isize>| over(Some(axes), false);
            let again = axes.clone();
            if kind == "softmax" {
                one(kind, x, move |x| x.softmax(along(&axes)), move |x, g| vjp::softmax(x, along(&again), g))
            } else {
                one(kind, x, move |x| x.log_softmax(along(&axes)), move |x, g| vjp::log_softmax(x, along(&again), g))
            }
        }
        "matmul" => {
            let shapes = matmul::any_shapes(rng);
            let other = partner_of(rng, x.dtype);
            let (a, b) = (cell_of_shape(rng, x.dtype, &shapes[0])?, cell_of_shape(rng, other, &shapes[1])?);
            let by: Vjp = Box::new(|t, g| vjp::matmul(t[0], t[1], g)?.all());
            Case::new(kind, vec![a, b], Box::new(|t| t[0].matmul(t[1])), by)
        }
        "sampled_addmm" => {
            let [m, k, n] = [0; 3].map(|_| rng.below(4) + 1);
            let other = partner_of(rng, x.dtype);
            let cells = vec![shaped(rng, x.dtype, &[m, n]), shaped(rng, other, &[m, k]), shaped(rng, other, &[k, n])];
            if cells[0].store.is_strided() || cells[1..].iter().any(|c| c.fill == crate::cells::FillKind::Undefined) {
                return None;
            }
            let (beta, alpha) = (*rng.pick(&[1.0, 0.5, 0.0]), *rng.pick(&[1.0, -2.0]));
            let by: Vjp = Box::new(move |t, g| vjp::sampled_addmm(t[0], t[1], t[2], beta, alpha, g)?.all());
            let op: Op = Box::new(move |t| t[0].sampled_addmm(t[1], t[2], beta, alpha));
            Case { of_storage: true, ..Case::new(kind, cells, op, by) }
        }
        "permute_dims" => {
            let mut order: Vec<isize> = (0..n as isize).collect();
            (0..n).for_each(|i| order.swap(i, rng.below(n)));
            let again = order.clone();
            one(kind, x, move |x| x.permute_dims(&order), move |x, g| vjp::permute_dims(x, &again, g))
        }
        "reshape" => {
            let size = x.shape.iter().product::<usize>();
            let mut shape = x.shape.clone();
            if rng.one_in(2) && !shape.contains(&0) {
                shape = vec![size];
            } else {
                shape.insert(rng.below(n + 1), 1);
            }
            one(kind, x, move |x| x.reshape(&shape), vjp::reshape)
        }
        "broadcast_to" => {
            let shape = broadcasting(rng, &x.shape);
            let x = shaped(rng, x.dtype, &shape);
            let mut shape: Vec<usize> = x.shape.iter().map(|&n| if n == 1 { 3 } else { n }).collect();
            shape.insert(0, 2);
            one(kind, x, move |x| x.broadcast_to(&shape), vjp::broadcast_to)
        }
        "index" | "index_select" => {
            let &last = x.shape.last()?;
            if last == 0 {
                return None;
            }
            let list: Vec<i64> = (0..rng.below(5)).map(|_| rng.below(last) as i64).collect();
            if kind == "index_select" {
                let again = list.clone();
                return Some(one(
                    kind,
                    x,
                    move |x| x.index_select(list.clone(), -1),
                    move |x, g| vjp::index_select(x, again.clone(), -1, g),
                ));
            }
            let item = match rng.below(4) {
                0 => Index::from(0),
                1 => Index::from(1..),
                2 => Index::stepped(.., -1),
                _ => Index::from(list),
            };
            let items = vec![Index::Ellipsis, item];
            let again = items.clone();
            one(kind, x, move |x| x.index(&items), move |x, g| vjp::index(x, &again, g))
        }
        "concat" => {
            let axis = if n == 0 { return None } else { rng.below(n) };
            let mut shape = x.shape.clone();
            shape[axis] = rng.below(4);
            let other = partner_of(rng, x.dtype);
            let cells = vec![shaped(rng, other, &shape), x.clone(), shaped(rng, x.dtype, &x.shape)];
            let by: Vjp = Box::new(move |t, g| vjp::concat(t, axis, g)?.all());
            Case::new(kind, cells, Box::new(move |t| Tensor::concat(t, axis)), by)
        }
        _ => {
            let to = *rng.pick(&[DType::F16, DType::F32, DType::F64, DType::Complex64]);
            one(kind, x, move |x| x.cast(to), vjp::cast)
        }
    })
}

fn partner_of(rng: &mut Rng, dtype: OType) -> OType {
    if rng.one_in(3) { float(rng) } else { dtype }
}
