//! Tensors with a known meaning: the model is written down beside the tensor, never read back from it.

use openwork::{Fill, LevelSpec, Part, Tensor};
use openwork_ops::with_dtype;

use super::bridge::{add, dtype_of, scalar_of, strided};
use super::cells::{Cell, FillKind, Store};
use super::levels;
use super::oracle::{OType, OValue, Oracle, indices, ravel};
use super::rng::Rng;
use super::values::{Data, split, value};

/// A tensor, what it means, and its fill at every index (`None` if strided).
#[derive(Clone)]
pub struct Sample {
    pub tensor: Tensor,
    pub model: Oracle,
    pub fill: Option<Oracle>,
}

/// A tensor of a cell. The same seed gives the same tensor.
pub fn generate(cell: &Cell, seed: u64, data: Data) -> Sample {
    let mut rng = Rng::new(seed);
    assert!(cell.suits(), "no tensor of {cell:?}");
    if let Some((store, axis)) = cell.store.window_of(cell.shape.len()) {
        return window(cell, store, axis, seed, data);
    }
    if cell.store.is_strided() { view(cell, &mut rng, data) } else { sparse(cell, &mut rng, data) }
}

/// The middle of a tensor that is longer by one on either side.
fn window(cell: &Cell, store: Store, axis: usize, seed: u64, data: Data) -> Sample {
    let mut whole = Cell { store, ..cell.clone() };
    whole.shape[axis] += 2;
    let range = 1..cell.shape[axis] + 1;
    let Sample { tensor, model, fill } = generate(&whole, seed, data);
    let narrow = |m: Oracle| m.narrow(axis, range.clone()).unwrap().with_undefined(model.undefined);
    let tensor = tensor.narrow(range.clone(), axis).unwrap();
    Sample { tensor, model: narrow(model.clone()), fill: fill.map(narrow) }
}

fn random(rng: &mut Rng, shape: &[usize], dtype: OType, data: Data) -> Oracle {
    let n: usize = shape.iter().product();
    Oracle::new(shape, dtype, (0..n).map(|_| Some(value(rng, dtype, data))).collect())
}

/// The tensor of a model without absent elements, in C order.
fn plain(model: &Oracle) -> Tensor {
    let values: Vec<OValue> = model.data.iter().flatten().copied().collect();
    strided(&model.shape, model.dtype, &values)
}

fn view(cell: &Cell, rng: &mut Rng, data: Data) -> Sample {
    let shape = &cell.shape;
    let (tensor, model) = match cell.store {
        Store::StridedTransposed => {
            let back: Vec<usize> = (0..shape.len()).rev().collect();
            let mirrored = random(rng, &back.iter().map(|&a| shape[a]).collect::<Vec<_>>(), cell.dtype, data);
            let axes: Vec<isize> = back.iter().map(|&a| a as isize).collect();
            (plain(&mirrored).permute_dims(&axes).unwrap(), mirrored.permute(&back).unwrap())
        }
        Store::StridedReversed => {
            let model = random(rng, shape, cell.dtype, data);
            (reversed(&model), model)
        }
        Store::StridedBroadcast => {
            let mut small = shape.clone();
            let axis = rng.below(shape.len());
            small[axis] = 1;
            let small = random(rng, &small, cell.dtype, data);
            (plain(&small).broadcast_to(shape).unwrap(), small.broadcast_to(shape).unwrap())
        }
        _ => {
            let model = random(rng, shape, cell.dtype, data);
            (plain(&model), model)
        }
    };
    Sample { tensor, model, fill: None }
}

/// A tensor over memory that runs backwards along every axis.
fn reversed(model: &Oracle) -> Tensor {
    let n = model.ndim();
    let mirrored = indices(&model.shape).into_iter().map(|index| {
        let index: Vec<usize> = index.iter().zip(&model.shape).map(|(&i, &n)| n - 1 - i).collect();
        model.at(&index).unwrap()
    });
    let mirrored: Vec<OValue> = mirrored.collect();
    with_dtype!(dtype_of(model.dtype), T => {
        let data: Vec<T> = mirrored.iter().map(|&v| openwork::Element::from_scalar(scalar_of(model.dtype, v)).unwrap()).collect();
        let mut array = ndarray::Array::from_shape_vec(model.shape.clone(), data).unwrap();
        (0..n).for_each(|axis| array.invert_axis(ndarray::Axis(axis)));
        Tensor::from_ndarray(array)
    })
}

/// The fill as an argument, and at every index.
fn fill(cell: &Cell, rng: &mut Rng, data: Data, spec: &LevelSpec) -> (Fill, Oracle) {
    let (shape, dtype) = (&cell.shape, cell.dtype);
    let n = shape.len();
    let cast = |x: f64| OValue::Float(x).cast(dtype);
    let finite = if matches!(data, Data::Special | Data::Summable) { Data::Any } else { data };
    let special = if data == Data::Special { data } else { Data::Summable };
    let array = |rng: &mut Rng, axes: &[usize]| {
        let small: Vec<usize> = (0..n).map(|a| if axes.contains(&a) { shape[a] } else { 1 }).collect();
        let values = random(rng, &small, dtype, data);
        // Leading axes of size 1 may be left out.
        let lead = if rng.one_in(2) { small.iter().take_while(|&&s| s == 1).count() } else { 0 };
        let given = plain(&values.reshape(&small[lead..]).unwrap());
        (Fill::array(given), values.broadcast_to(shape).unwrap())
    };
    let scalar = match cell.fill {
        FillKind::Undefined => return (Fill::Undefined, Oracle::full(shape, dtype, None).with_undefined(true)),
        FillKind::Rows => return array(rng, &[0]),
        FillKind::Columns => return array(rng, &[n - 1]),
        FillKind::Middle => return array(rng, &[1]),
        FillKind::Dense => {
            let level_dims: usize = spec.levels.iter().map(|l| l.rank()).sum();
            let axes: Vec<usize> = spec.dims[level_dims..].iter().map(|d| d.0).collect();
            return array(rng, &axes);
        }
        FillKind::Zero => cast(0.0),
        FillKind::NegativeZero => cast(-0.0),
        FillKind::Nan => cast(f64::NAN),
        FillKind::Infinity => cast(f64::INFINITY),
        FillKind::Special => value(rng, dtype, special),
        FillKind::Value => loop {
            let v = value(rng, dtype, finite);
            if v.truth() {
                break v;
            }
        },
    };
    (Fill::Scalar(scalar_of(dtype, scalar)), Oracle::full(shape, dtype, Some(scalar)))
}

fn part_size(shape: &[usize], (axis, part): (usize, Part)) -> usize {
    match part {
        Part::Whole => shape[axis],
        Part::Div(b) => shape[axis] / b,
        Part::Mod(b) => b,
        other => panic!("{other:?}"),
    }
}

/// The tensor index of coordinates along the dimensions of a specification.
fn index_of(ndim: usize, dims: &[(usize, Part)], coordinates: &[usize]) -> Vec<usize> {
    let mut index = vec![0; ndim];
    for (&(axis, part), &c) in dims.iter().zip(coordinates) {
        index[axis] += if let Part::Div(b) = part { c * b } else { c };
    }
    index
}

fn sparse(cell: &Cell, rng: &mut Rng, data: Data) -> Sample {
    let (shape, dtype) = (&cell.shape, cell.dtype);
    let spec = cell.store.spec(shape).unwrap();
    let (fill, background) = fill(cell, rng, data, &spec);
    let level_dims: usize = spec.levels.iter().map(|l| l.rank()).sum();
    let sizes: Vec<usize> = spec.dims.iter().map(|&d| part_size(shape, d)).collect();
    let rows = indices(&sizes[level_dims..]);
    let mut model = background.clone();

    // One entry per position: its coordinates, and a value for each element of its row.
    let iso = value(rng, dtype, data);
    let mut entries: Vec<(Vec<usize>, Vec<OValue>)> = Vec::new();
    for tuple in stored(cell, rng, &sizes[..level_dims]) {
        let mut parts: [Vec<OValue>; 2] = [Vec::new(), Vec::new()];
        let mut times = if cell.store.has_duplicates() && rng.one_in(2) { 2 } else { 1 };
        for within in &rows {
            let index = index_of(shape.len(), &spec.dims, &[tuple.clone(), within.clone()].concat());
            let at = ravel(&index, shape);
            let v = match background.data[at] {
                _ if cell.store.is_iso() => iso,
                // An element that is stored though it is the fill; finite data stay finite.
                Some(fill) if rng.one_in(6) && (fill.is_finite() || matches!(data, Data::Special | Data::Summable)) => {
                    fill
                }
                _ => value(rng, dtype, data),
            };
            let [a, b] = split(rng, dtype, v);
            parts[0].push(if times == 1 { v } else { a });
            parts[1].push(b);
            model.data[at] = Some(if times == 1 { v } else { add(dtype, a, b) });
        }
        for part in parts {
            if times > 0 {
                entries.push((tuple.clone(), part));
                times -= 1;
            }
        }
    }
    if cell.store.has_duplicates() && cell.store != Store::Multigraph {
        for i in (1..entries.len()).rev() {
            entries.swap(i, rng.below(i + 1));
        }
    }
    let tensor = assemble(cell, rng, &spec, &sizes, &entries, iso, fill);
    Sample { tensor, model, fill: Some(background) }
}

/// Which coordinates of the levels are stored, sorted.
fn stored(cell: &Cell, rng: &mut Rng, sizes: &[usize]) -> Vec<Vec<usize>> {
    if cell.store == Store::RowSingleton {
        return (0..sizes[0]).map(|row| vec![row, rng.below(sizes[1])]).collect();
    }
    let density = *rng.pick(&[0.0, 0.3, 0.3, 0.6, 0.6, 1.0]);
    indices(sizes).into_iter().filter(|_| rng.chance(density)).collect()
}

/// The tensor, through one of the constructors that make its storage.
fn assemble(
    cell: &Cell,
    rng: &mut Rng,
    spec: &LevelSpec,
    sizes: &[usize],
    entries: &[(Vec<usize>, Vec<OValue>)],
    iso: OValue,
    fill: Fill,
) -> Tensor {
    let level_dims: usize = spec.levels.iter().map(|l| l.rank()).sum();
    let value_shape: Vec<usize> = [&[entries.len()], &sizes[level_dims..]].concat();
    let values = if cell.store.is_iso() {
        Tensor::full(&value_shape, scalar_of(cell.dtype, iso), openwork::Layout::Strided).unwrap()
    } else {
        let all: Vec<OValue> = entries.iter().flat_map(|(_, row)| row.iter().copied()).collect();
        let model = Oracle::new(&value_shape, cell.dtype, all.into_iter().map(Some).collect());
        // Values may lie in any order of their own.
        if rng.one_in(3) { reversed(&model) } else { plain(&model) }
    };
    let tuples: Vec<Vec<usize>> = entries.iter().map(|(t, _)| t.clone()).collect();
    let column = |d: usize| tuples.iter().map(|t| t[d]).collect::<Vec<_>>();
    let made = match cell.store {
        Store::Coo | Store::CooDuplicates | Store::CooIso | Store::Hybrid | Store::HybridDuplicates
            if !cell.shape.is_empty() && rng.one_in(2) =>
        {
            let width = rng.below(5);
            let columns: Vec<_> = (0..level_dims).map(|d| levels::array(column(d), width)).collect();
            Tensor::coo(&cell.shape, columns, &values, fill)
        }
        Store::CooDuplicates | Store::HybridDuplicates => {
            let level = openwork::LevelData::Sparse {
                pointers: (level_dims == 0).then(|| vec![0, tuples.len()].into()),
                indices: (0..level_dims).map(|d| column(d).into()).collect(),
                ordered: false,
                unique: false,
            };
            Tensor::from_parts(&cell.shape, vec![level], spec, &values, fill)
        }
        store => {
            let base = if store == Store::CsrWindow { 3 } else { 0 };
            let arrays = levels::levels(&spec.levels, &sizes[..level_dims], &tuples, base, rng);
            named(cell, rng, arrays, spec, &values, fill)
        }
    };
    made.unwrap_or_else(|e| panic!("constructing {cell:?}: {e}"))
}

/// Compressed layouts also through the constructor of their name.
fn named(
    cell: &Cell,
    rng: &mut Rng,
    arrays: Vec<openwork::LevelData>,
    spec: &LevelSpec,
    values: &Tensor,
    fill: Fill,
) -> openwork::Result<Tensor> {
    if let (Some(openwork::LevelData::Sparse { pointers: Some(pointers), indices, .. }), true) =
        (arrays.last(), rng.one_in(2))
    {
        let (p, i) = (pointers.clone(), indices.first().cloned());
        match (cell.store, i) {
            (Store::Csr | Store::CsrIso, Some(i)) => return Tensor::csr(&cell.shape, p, i, values, fill),
            (Store::Csc, Some(i)) => return Tensor::csc(&cell.shape, p, i, values, fill),
            (Store::Bsr, Some(i)) if cell.shape.len() == 2 => return Tensor::bsr(&cell.shape, p, i, values, fill),
            _ => {}
        }
    }
    Tensor::from_parts(&cell.shape, arrays, spec, values, fill)
}
