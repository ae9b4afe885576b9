//! Between the library's tensors and the oracle's arrays.

use openwork::{DType, Element, Fill, Layout, Scalar, Tensor, bf16, c64, c128, f16};
use openwork_ops::{Wide, with_dtype};

use super::oracle::{OType, OValue, Oracle};

/// Both list the dtypes in the same order.
pub fn dtype_of(t: OType) -> DType {
    let at = OType::ALL.iter().position(|&o| o == t).unwrap();
    DType::ALL[at]
}

pub fn otype_of(t: DType) -> OType {
    let at = DType::ALL.iter().position(|&d| d == t).unwrap();
    OType::ALL[at]
}

/// A value of that dtype.
pub fn scalar_of(dtype: OType, value: OValue) -> Scalar {
    assert!(value.belongs_to(dtype), "{value:?} is not a value of {}", dtype.name());
    match (dtype, value) {
        (OType::Bool, OValue::Bool(b)) => Scalar::Bool(b),
        (OType::I8, OValue::Int(v)) => Scalar::I8(v as i8),
        (OType::I16, OValue::Int(v)) => Scalar::I16(v as i16),
        (OType::I32, OValue::Int(v)) => Scalar::I32(v as i32),
        (OType::I64, OValue::Int(v)) => Scalar::I64(v as i64),
        (OType::U8, OValue::Int(v)) => Scalar::U8(v as u8),
        (OType::U16, OValue::Int(v)) => Scalar::U16(v as u16),
        (OType::U32, OValue::Int(v)) => Scalar::U32(v as u32),
        (OType::U64, OValue::Int(v)) => Scalar::U64(v as u64),
        (OType::F16, OValue::Float(x)) => Scalar::F16(f16::from_f64(x)),
        (OType::BF16, OValue::Float(x)) => Scalar::BF16(bf16::from_f64(x)),
        (OType::F32, OValue::Float(x)) => Scalar::F32(x as f32),
        (OType::F64, OValue::Float(x)) => Scalar::F64(x),
        (OType::Complex64, OValue::Complex(re, im)) => Scalar::Complex64(c64::new(re as f32, im as f32)),
        (OType::Complex128, OValue::Complex(re, im)) => Scalar::Complex128(c128::new(re, im)),
        other => panic!("{other:?}"),
    }
}

pub fn value_of(scalar: Scalar) -> OValue {
    match (scalar, scalar.widen()) {
        (Scalar::Bool(b), _) => OValue::Bool(b),
        (_, Wide::Signed(v)) => OValue::Int(v as i128),
        (_, Wide::Unsigned(v)) => OValue::Int(v as i128),
        (_, Wide::Float(x)) => OValue::Float(x),
        (_, Wide::Complex(re, im)) => OValue::Complex(re, im),
    }
}

/// A strided tensor of elements in C order.
pub fn strided(shape: &[usize], dtype: OType, values: &[OValue]) -> Tensor {
    with_dtype!(dtype_of(dtype), T => {
        let data: Vec<T> = values.iter().map(|&v| T::from_scalar(scalar_of(dtype, v)).unwrap()).collect();
        Tensor::from_vec(shape, data).unwrap()
    })
}

/// The strided tensor of a model; the absent become 1, which the caller must not look at.
pub fn dense(model: &Oracle) -> Tensor {
    let one = OValue::Int(1).cast(model.dtype);
    let one = if model.dtype.is_bool() { OValue::Bool(true) } else { one };
    let values: Vec<OValue> = model.data.iter().map(|v| v.unwrap_or(one)).collect();
    strided(&model.shape, model.dtype, &values)
}

/// The elements of a strided tensor in C order.
pub fn elements(x: &Tensor) -> Result<Vec<OValue>, String> {
    with_dtype!(x.dtype(), T => {
        let x = x.to_contiguous().unwrap();
        let values = x.values::<T>().map_err(|e| e.to_string())?;
        Ok(values.iter().map(|v| value_of(v.to_scalar())).collect())
    })
}

/// What a tensor means, through its dense form and, where unstored elements are absent, `is_stored`.
pub fn meaning(x: &Tensor) -> Result<Oracle, String> {
    let error = |e: openwork::Error| e.to_string();
    let undefined = x.fill().is_some_and(Fill::is_undefined);
    let dense = x.to_dense_with(Scalar::zero(x.dtype())).map_err(error)?;
    if dense.layout() != Layout::Strided || dense.shape() != x.shape() || dense.dtype() != x.dtype() {
        return Err(format!("to_dense gives {} {:?} {}", dense.layout(), dense.shape(), dense.dtype()));
    }
    let mut data: Vec<Option<OValue>> = elements(&dense)?.into_iter().map(Some).collect();
    if undefined {
        let stored = x.is_stored().and_then(|s| s.to_dense()).map_err(error)?;
        let stored = elements(&stored)?;
        data.iter_mut().zip(stored).filter(|(_, s)| !s.truth()).for_each(|(v, _)| *v = None);
    }
    let model = Oracle { shape: x.shape().to_vec(), dtype: otype_of(x.dtype()), data, undefined };
    consistent(x, &model)?;
    Ok(model)
}

/// The fill at every index of the shape; `None` for a strided tensor.
pub fn background(x: &Tensor) -> Result<Option<Oracle>, String> {
    let dtype = otype_of(x.dtype());
    match x.fill() {
        None => Ok(None),
        Some(Fill::Undefined) => Ok(Some(Oracle::full(x.shape(), dtype, None).with_undefined(true))),
        Some(_) => {
            let values = elements(&x.fill_value().map_err(|e| e.to_string())?)?;
            Ok(Some(Oracle::new(x.shape(), dtype, values.into_iter().map(Some).collect())))
        }
    }
}

/// Whether the tensor's parts agree with its dense form: counts, index ranges, and stored elements one by
/// one over the fill.
fn consistent(x: &Tensor, dense: &Oracle) -> Result<(), String> {
    let Some(fill) = background(x)? else { return Ok(()) };
    let mut data = fill.data;
    let mut seen = vec![false; data.len()];
    let (mut count, mut repeats) = (0, false);
    for (index, value) in x.iter_stored() {
        if index.len() != x.ndim() || index.iter().zip(x.shape()).any(|(&i, &n)| i >= n) {
            return Err(format!("a stored element at {index:?} outside shape {:?}", x.shape()));
        }
        let at = super::oracle::ravel(&index, x.shape());
        let value = value_of(value);
        let old = if seen[at] { data[at] } else { None };
        repeats |= seen[at];
        data[at] = Some(old.map_or(value, |old| add(dense.dtype, old, value)));
        seen[at] = true;
        count += 1;
    }
    if count != x.nse() {
        return Err(format!("{count} stored elements, but nse is {}", x.nse()));
    }
    if repeats && x.is_coalesced() {
        return Err("a coalesced tensor stores an element twice".to_string());
    }
    match (0..data.len()).find(|&i| !same(data[i], dense.data[i])) {
        None => Ok(()),
        Some(i) => Err(format!(
            "at {:?}: stored elements and fill say {:?}, the dense form {:?}",
            super::oracle::indices(x.shape())[i],
            data[i],
            dense.data[i]
        )),
    }
}

/// Duplicates mean their sum; bool: or.
pub fn add(dtype: OType, a: OValue, b: OValue) -> OValue {
    match (a, b) {
        (OValue::Bool(a), OValue::Bool(b)) => OValue::Bool(a || b),
        (OValue::Int(a), OValue::Int(b)) => OValue::Int(dtype.wrap(a + b)),
        (OValue::Float(a), OValue::Float(b)) => OValue::Float(dtype.round(a + b)),
        (OValue::Complex(a, b), OValue::Complex(c, d)) => OValue::Complex(dtype.round(a + c), dtype.round(b + d)),
        other => panic!("{other:?}"),
    }
}

fn same(a: Option<OValue>, b: Option<OValue>) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => a.same(b),
        (a, b) => a.is_none() && b.is_none(),
    }
}
