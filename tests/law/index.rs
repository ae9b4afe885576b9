//! The law for indexing: reading, and assigning.

use openwork::{Index, ReduceOp, Tensor};

use super::bridge::strided;
use super::cells::Cell;
use super::families::Family;
use super::gen_::{Sample, generate};
use super::oracle::{self, Expected, OIndex, OType, OValue, Oracle};
use super::pointwise::Mode;
use super::rearrange::{Case, beside, check, on_one};
use super::rng::Rng;
use super::values::Data;

type Make = fn(Sample, &Cell, &mut Rng) -> Case;

pub const FAMILY: Family = Family {
    name: "index",
    ops: &[
        "slice",
        "index",
        "index_select",
        "take",
        "delete",
        "argwhere",
        "nonzero",
        "masked",
        "take_along_axis",
        "gather",
        "slice_assign",
        "index_put",
        "index_add",
        "unset",
        "scatter",
        "scatter_reduce",
    ],
    rounds: 2500,
    check: |op, cell, seed| {
        let (op, make) = OPS.iter().find(|(name, _)| *name == op).unwrap();
        let sums = matches!(*op, "index_add" | "scatter_reduce");
        let data = if sums { Data::Any } else { Data::Special };
        let case = make(generate(cell, seed, data), cell, &mut Rng::new(seed ^ 0x33));
        check(&case, Mode::Exact).map_err(|e| format!("{}: {e}", case.arguments))
    },
};

const OPS: [(&str, Make); 16] = [
    ("slice", slice),
    ("index", index),
    ("index_select", index_select),
    ("take", take),
    ("delete", delete),
    ("argwhere", argwhere),
    ("nonzero", nonzero),
    ("masked", masked),
    ("take_along_axis", take_along_axis),
    ("gather", gather),
    ("slice_assign", slice_assign),
    ("index_put", |x, cell, rng| index_put(x, cell, rng, false)),
    ("index_add", |x, cell, rng| index_put(x, cell, rng, true)),
    ("unset", unset),
    ("scatter", |x, cell, rng| scatter(x, cell, rng, false)),
    ("scatter_reduce", |x, cell, rng| scatter(x, cell, rng, true)),
];

/// An index of an axis, now and then out of bounds.
fn at(rng: &mut Rng, n: usize) -> isize {
    let i = if rng.one_in(40) || n == 0 { n } else { rng.below(n) } as isize;
    if rng.one_in(3) { i - n as isize } else { i }
}

fn range(rng: &mut Rng, n: usize) -> OIndex {
    let step = *rng.pick(&[1, 1, 1, 2, 3, -1, -1, -2]);
    if rng.one_in(3) {
        return OIndex::Range(0, None, step);
    }
    let (a, b) = (rng.below(n + 1), rng.below(n + 1));
    let (a, b) = (a.min(b) as isize, a.max(b) as isize + isize::from(rng.one_in(40)));
    let back = |i: isize, rng: &mut Rng| if i < n as isize && rng.one_in(3) { i - n as isize } else { i };
    OIndex::Range(back(a, rng), if rng.one_in(5) { None } else { Some(back(b, rng)) }, step)
}

fn basic(rng: &mut Rng, n: usize) -> OIndex {
    if rng.one_in(3) { OIndex::At(at(rng, n)) } else { range(rng, n) }
}

/// Basic items for some axes, with new ones and an ellipsis between.
pub fn basic_items(rng: &mut Rng, shape: &[usize]) -> Vec<OIndex> {
    let mut items = Vec::new();
    let (front, back) = (rng.below(shape.len() + 1), rng.below(shape.len() + 1));
    for (axis, &n) in shape.iter().enumerate() {
        if axis == front && rng.one_in(3) {
            items.push(OIndex::Ellipsis);
            if back > front {
                shape[back..].iter().for_each(|&n| items.push(basic(rng, n)));
                return items;
            }
        }
        if rng.one_in(6) {
            items.push(OIndex::New);
        }
        items.push(basic(rng, n));
    }
    if rng.one_in(40) {
        items.push(OIndex::At(0));
    }
    items
}

/// Items of every sort.
pub fn any_items(rng: &mut Rng, shape: &[usize]) -> Vec<OIndex> {
    let mut items = Vec::new();
    // Lists of one shape, or of shapes that broadcast.
    let common = rng.pick(&[&[3][..], &[1], &[2, 2], &[0], &[]]).to_vec();
    let mut axis = 0;
    while axis < shape.len() {
        let n = shape[axis];
        match rng.below(8) {
            0 => items.push(OIndex::At(at(rng, n))),
            1 if rng.one_in(3) => items.push(OIndex::New),
            2 if !items.iter().any(|i| matches!(i, OIndex::Ellipsis)) && rng.one_in(3) => {
                items.push(OIndex::Ellipsis);
                let skipped = rng.below(shape.len() - axis + 1);
                axis += skipped;
                continue;
            }
            3 => {
                let axes = 1 + rng.below(shape.len() - axis);
                let own = shape[axis..axis + axes].to_vec();
                let mask = (0..own.iter().product()).map(|_| rng.one_in(3)).collect();
                items.push(OIndex::Mask(own, mask));
                axis += axes;
                continue;
            }
            4..=6 if n > 0 || common.contains(&0) => {
                let own = if rng.one_in(3) {
                    common.iter().map(|&c| if rng.one_in(3) { 1 } else { c }).collect()
                } else {
                    common.clone()
                };
                let list = (0..own.iter().product()).map(|_| at(rng, n)).collect();
                items.push(OIndex::List(own, list));
            }
            _ => items.push(range(rng, n)),
        }
        axis += usize::from(!matches!(items.last(), Some(OIndex::New)));
    }
    items
}

/// The library's item; lists and masks in any storage.
pub fn item(rng: &mut Rng, item: &OIndex) -> Index {
    match item {
        OIndex::At(i) => (*i).into(),
        OIndex::Range(start, None, step) => Index::stepped(*start.., *step),
        OIndex::Range(start, Some(end), step) => Index::stepped(*start..*end, *step),
        OIndex::New => Index::NewAxis,
        OIndex::Ellipsis => Index::Ellipsis,
        OIndex::List(shape, list) => {
            let dtype = *rng.pick(&[OType::I64, OType::I32, OType::I8]);
            let values: Vec<OValue> = list.iter().map(|&i| OValue::Int(i as i128)).collect();
            Index::from(strided(shape, dtype, &values))
        }
        OIndex::Mask(shape, mask) => {
            let mask = Tensor::from_vec(shape, mask.clone()).unwrap();
            let undefined = rng.one_in(3);
            match rng.below(3) {
                0 => Index::from(mask),
                _ if undefined => {
                    let mask = mask.to_sparse(openwork::Layout::Coo, false).unwrap();
                    Index::from(mask.replace_fill(openwork::Fill::Undefined).unwrap())
                }
                _ => Index::from(&mask.to_sparse(openwork::Layout::Coo, rng.one_in(2)).unwrap()),
            }
        }
    }
}

pub fn given(rng: &mut Rng, items: &[OIndex]) -> Vec<Index> {
    items.iter().map(|i| item(rng, i)).collect()
}

fn slice(x: Sample, cell: &Cell, rng: &mut Rng) -> Case {
    let items = basic_items(rng, &cell.shape);
    let given = given(rng, &items);
    on_one(x, format!("{items:?}"), |m| m.index(&items), move |t| t.slice(&given))
}

fn index(x: Sample, cell: &Cell, rng: &mut Rng) -> Case {
    let items = any_items(rng, &cell.shape);
    let given = given(rng, &items);
    let mut case = on_one(x, format!("{items:?}"), |m| m.index(&items), move |t| t.index(&given));
    // A list of several axes reshapes, and that may make a fill dense that varies along others too.
    if items.iter().any(|i| matches!(i, OIndex::List(shape, _) if shape.len() != 1)) {
        case.fill = None;
    }
    case
}

/// An axis, now and then out of range.
fn any_axis(rng: &mut Rng, cell: &Cell) -> usize {
    let beyond = usize::from(rng.one_in(15) || cell.shape.is_empty());
    rng.below(cell.shape.len() + beyond)
}

fn index_select(x: Sample, cell: &Cell, rng: &mut Rng) -> Case {
    let axis = any_axis(rng, cell);
    let n = cell.shape.get(axis).copied().unwrap_or(1);
    let list: Vec<isize> = (0..if n == 0 { 0 } else { rng.below(6) }).map(|_| at(rng, n)).collect();
    let mut items = vec![OIndex::Range(0, None, 1); axis];
    items.push(OIndex::List(vec![list.len()], list.clone()));
    on_one(x, format!("{axis} {list:?}"), |m| m.index(&items), move |t| t.index_select(list.clone(), axis))
}

fn take(x: Sample, cell: &Cell, rng: &mut Rng) -> Case {
    let n = cell.shape.iter().product();
    let list: Vec<isize> = (0..if n == 0 { 0 } else { rng.below(6) }).map(|_| at(rng, n)).collect();
    let items = [OIndex::List(vec![list.len()], list.clone())];
    let f = |m: &Oracle| m.reshape(&[n])?.index(&items);
    let mut case = on_one(x, format!("{list:?}"), f, move |t| t.take(list.clone(), ..));
    case.fill = None;
    case
}

fn delete(x: Sample, cell: &Cell, rng: &mut Rng) -> Case {
    let axis = any_axis(rng, cell);
    let n = cell.shape.get(axis).copied().unwrap_or(1);
    let gone: Vec<usize> = (0..if n == 0 { 0 } else { rng.below(4) }).map(|_| rng.below(n)).collect();
    let list = gone.clone();
    on_one(x, format!("{axis} {gone:?}"), |m| m.delete(&gone, axis), move |t| t.delete(list.clone(), axis as isize))
}

/// The indices at which a model is not zero.
fn places(m: &Oracle) -> Vec<Vec<usize>> {
    let all = oracle::indices(&m.shape).into_iter().zip(&m.data);
    all.filter(|(_, v)| v.is_some_and(|v| v.truth())).map(|(i, _)| i).collect()
}

fn argwhere(x: Sample, cell: &Cell, _: &mut Rng) -> Case {
    let places = places(&x.model);
    let data = places.iter().flatten().map(|&i| Some(OValue::Int(i as i128))).collect();
    let want = Oracle::new(&[places.len(), cell.shape.len()], OType::I64, data);
    // Absent elements are no zeros: strided operands have them elsewhere.
    let operands = vec![x];
    let run = strided_only_if_defined(&operands[0], |t| t.argwhere());
    Case { arguments: String::new(), want: Ok(want.into()), fill: None, operands, run }
}

type Run = Box<dyn Fn(&[&Tensor]) -> openwork::Result<Tensor>>;

/// The op on the tensor itself: dense operands stand in only where nothing is absent. The result is dense by nature.
fn strided_only_if_defined(x: &Sample, f: fn(&Tensor) -> openwork::Result<Tensor>) -> Run {
    let own = x.model.undefined.then(|| x.tensor.clone());
    Box::new(move |t| f(own.as_ref().unwrap_or(t[0]))?.to_sparse(openwork::Layout::Coo, 0i64))
}

fn nonzero(x: Sample, cell: &Cell, rng: &mut Rng) -> Case {
    let axis = rng.below(cell.shape.len().max(1));
    let want = if cell.shape.is_empty() {
        Err(oracle::Refused::Shape)
    } else {
        let column: Vec<_> = places(&x.model).iter().map(|p| Some(OValue::Int(p[axis] as i128))).collect();
        Ok(Expected::from(Oracle::new(&[column.len()], OType::I64, column)))
    };
    let own = x.model.undefined.then(|| x.tensor.clone());
    let run: Run = Box::new(move |t| {
        let columns = own.as_ref().unwrap_or(t[0]).nonzero()?;
        columns[axis].to_sparse(openwork::Layout::Coo, 0i64)
    });
    Case { arguments: format!("{axis}"), want, fill: None, operands: vec![x], run }
}

/// A mask that is a tensor of any storage itself.
fn masked(x: Sample, cell: &Cell, rng: &mut Rng) -> Case {
    let mask = beside(rng, OType::Bool, &cell.shape, Data::Any);
    let truth: Vec<bool> = mask.model.data.iter().map(|v| v.is_some_and(|v| v.truth())).collect();
    let items = [OIndex::Mask(cell.shape.clone(), truth.clone())];
    let given = mask.tensor.clone();
    let plain = Tensor::from_vec(&cell.shape, truth).unwrap();
    let strided = x.fill.is_none();
    let mut case = on_one(
        x,
        format!("{given:?}"),
        |m| m.index(&items),
        move |t| t.index([Index::from(if t.is_strided() && !strided { &plain } else { &given })]),
    );
    case.fill = None;
    case
}

/// An index for each element along an axis, of a shape that mostly suits.
fn along_axis(rng: &mut Rng, cell: &Cell, axis: usize) -> (Vec<usize>, Vec<isize>) {
    let n = cell.shape.get(axis).copied().unwrap_or(1);
    let mut shape = cell.shape.clone();
    if let Some(len) = shape.get_mut(axis) {
        *len = if n == 0 { 0 } else { rng.below(4) };
    }
    for (d, len) in shape.iter_mut().enumerate() {
        if d != axis && rng.one_in(4) {
            *len = if rng.one_in(6) { *len + 1 } else { 1.min(*len) };
        }
    }
    let list = (0..shape.iter().product()).map(|_| at(rng, n)).collect();
    (shape, list)
}

fn integers(rng: &mut Rng, shape: &[usize], list: &[isize]) -> Tensor {
    let dtype = *rng.pick(&[OType::I64, OType::I32, OType::I16]);
    strided(shape, dtype, &list.iter().map(|&i| OValue::Int(i as i128)).collect::<Vec<_>>())
}

fn take_along_axis(x: Sample, cell: &Cell, rng: &mut Rng) -> Case {
    let axis = any_axis(rng, cell);
    let (shape, list) = along_axis(rng, cell, axis);
    let given = integers(rng, &shape, &list);
    let f = |m: &Oracle| m.along_axis(axis, &shape, &list, true);
    let mut case = on_one(x, format!("{axis} {shape:?} {list:?}"), f, move |t| t.take_along_axis(&given, axis));
    case.fill = None;
    case
}

fn gather(x: Sample, cell: &Cell, rng: &mut Rng) -> Case {
    let axis = any_axis(rng, cell);
    let (shape, list) = along_axis(rng, cell, axis);
    let given = integers(rng, &shape, &list);
    let f = |m: &Oracle| m.along_axis(axis, &shape, &list, false);
    let mut case = on_one(x, format!("{axis} {shape:?} {list:?}"), f, move |t| t.gather(&given, axis));
    case.fill = None;
    case
}

/// An op on a tensor and values for it. Where something is absent only the tensors themselves will do.
fn assigned(
    x: Sample,
    values: Sample,
    arguments: String,
    want: Result<Expected, oracle::Refused>,
    run: impl Fn(&Tensor, &Tensor) -> openwork::Result<Tensor> + 'static,
) -> Case {
    let fits = oracle::promote(x.model.dtype, values.model.dtype) == Some(x.model.dtype);
    let want = if fits { want } else { Err(oracle::Refused::Dtype) };
    let arguments = format!("{arguments}; {:?}", values.tensor);
    let own = (x.model.undefined || values.model.undefined).then(|| (x.tensor.clone(), values.tensor.clone()));
    let run: Run = Box::new(move |t| match &own {
        Some((x, values)) => run(x, values),
        None => run(t[0], t[1]),
    });
    Case { arguments, want, fill: None, operands: vec![x, values], run }
}

/// Values for what an index names, of a shape that broadcasts to it.
fn values_for(rng: &mut Rng, cell: &Cell, items: &[OIndex], data: Data) -> Sample {
    let mut shape = oracle::named(&cell.shape, items).map_or(vec![1], |named| named.shape);
    if rng.one_in(2) {
        shape.iter_mut().for_each(|n| *n = if rng.one_in(3) { 1 } else { *n });
        shape.drain(..rng.below(shape.len() + 1));
    }
    if rng.one_in(30) {
        shape.insert(0, 2);
    }
    let dtype = if rng.one_in(6) { *rng.pick(&OType::ALL) } else { cell.dtype };
    let mut values = beside(rng, dtype, &shape, data);
    // Mostly something that can be assigned.
    while values.model.data.contains(&None) && cell.fill != super::cells::FillKind::Undefined && !rng.one_in(8) {
        values = beside(rng, dtype, &shape, data);
    }
    values
}

fn slice_assign(x: Sample, cell: &Cell, rng: &mut Rng) -> Case {
    let items = basic_items(rng, &cell.shape);
    let values = values_for(rng, cell, &items, Data::Special);
    let want = x.model.put(&items, &values.model.cast(cell.dtype), None).map(Expected::from);
    let given = given(rng, &items);
    assigned(x, values, format!("{items:?}"), want, move |t, v| t.slice_assign(&given, v))
}

fn index_put(x: Sample, cell: &Cell, rng: &mut Rng, accumulate: bool) -> Case {
    let items = any_items(rng, &cell.shape);
    let values = values_for(rng, cell, &items, if accumulate { Data::Any } else { Data::Special });
    let model = values.model.cast(cell.dtype);
    let want = match accumulate {
        true => x.model.put_sum(&items, &model),
        false => x.model.put(&items, &model, None).map(Expected::from),
    };
    let given = given(rng, &items);
    assigned(x, values, format!("{items:?}"), want, move |t, v| {
        if accumulate { t.index_add(&given, v) } else { t.index_put(&given, v) }
    })
}

fn unset(x: Sample, cell: &Cell, rng: &mut Rng) -> Case {
    let items = any_items(rng, &cell.shape);
    let given = given(rng, &items);
    let want = match &x.fill {
        None => Err(oracle::Refused::Shape),
        Some(fill) => fill.index(&items).and_then(|values| x.model.put(&items, &values, None)).map(Expected::from),
    };
    let (fill, own) = (x.fill.clone(), x.tensor.clone());
    let run: Run = Box::new(move |_| own.unset(&given));
    Case { arguments: format!("{items:?}"), want, fill, operands: vec![x], run }
}

fn scatter(x: Sample, cell: &Cell, rng: &mut Rng, reduces: bool) -> Case {
    let axis = any_axis(rng, cell);
    let (shape, list) = along_axis(rng, cell, axis);
    let data = if reduces { Data::Any } else { Data::Special };
    let undefined = cell.fill == super::cells::FillKind::Undefined;
    let src = loop {
        let src = beside(rng, cell.dtype, &shape, data);
        if undefined || !src.model.data.contains(&None) || rng.one_in(8) {
            break src;
        }
    };
    let op = match rng.below(if cell.dtype.is_complex() { 1 } else { 3 }) {
        0 => ReduceOp::Sum,
        1 => ReduceOp::Max,
        _ => ReduceOp::Min,
    };
    // The same by listing an index for every axis.
    let places = oracle::indices(&shape);
    let items: Vec<OIndex> = (0..shape.len())
        .map(|d| {
            let own = places.iter().zip(&list).map(|(p, &i)| if d == axis { i } else { p[d] as isize });
            OIndex::List(shape.clone(), own.collect())
        })
        .collect();
    let larger = axis >= shape.len() || (0..shape.len()).any(|d| d != axis && shape[d] > cell.shape[d]);
    let greater = |a, b| if at_least(a, b, true) { a } else { b };
    let less = |a, b| if at_least(a, b, false) { b } else { a };
    let want = match op {
        _ if larger => Err(oracle::Refused::Shape),
        _ if !reduces => x.model.put(&items, &src.model, None).map(Expected::from),
        ReduceOp::Sum => x.model.put_sum(&items, &src.model),
        ReduceOp::Max => x.model.put(&items, &src.model, Some(&greater)).map(Expected::from),
        _ => x.model.put(&items, &src.model, Some(&less)).map(Expected::from),
    };
    let given = integers(rng, &shape, &list);
    let reduce = reduces.then_some(op);
    assigned(x, src, format!("{axis} {shape:?} {list:?} {reduce:?}"), want, move |t, v| match reduce {
        Some(op) => t.scatter_reduce(&given, v, op, axis),
        None => t.scatter(&given, v, axis),
    })
}

/// NaN is above all and below all.
fn at_least(a: OValue, b: OValue, wins: bool) -> bool {
    match (a, b) {
        (OValue::Bool(a), OValue::Bool(b)) => a >= b,
        (OValue::Int(a), OValue::Int(b)) => a >= b,
        (OValue::Float(a), OValue::Float(b)) => {
            if a.is_nan() || b.is_nan() {
                a.is_nan() == wins
            } else {
                a >= b
            }
        }
        other => panic!("{other:?}"),
    }
}
