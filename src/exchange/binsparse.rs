//! Sparse tensors handed from one library to another inside a program, without copying.
//!
//! What the array API proposes as `__binsparse__`, in Rust: a [`Binsparse`] gives a descriptor, the JSON of a
//! [binsparse file](crate::io::binsparse), and the arrays it names, as one-dimensional strided tensors that share
//! memory. Every [`Tensor`] is one, and [`Tensor::from_binsparse`] makes a tensor of any other. Arrays cross the border
//! of a language as [DLPack](crate::exchange::dlpack).
//!
//! ```
//! use openwork::exchange::binsparse::Binsparse;
//! use openwork::{Layout, Tensor};
//!
//! let x = Tensor::random([100, 80], 0.1, 0.0, Layout::Csr, 1)?;
//! let (descriptor, arrays) = (x.binsparse_descriptor()?, x.binsparse_arrays()?);
//! assert_eq!(descriptor["binsparse"]["format"], "CSR");
//! assert!(arrays.iter().map(|(name, _)| name.as_str()).eq(["pointers_to_1", "indices_1", "values"]));
//!
//! let y = Tensor::from_binsparse(&x)?; // the same memory
//! assert_eq!(y.values::<f64>()?.as_ptr(), x.values::<f64>()?.as_ptr());
//! # Ok::<(), openwork::Error>(())
//! ```
#![allow(unsafe_code)] // one function shares what it is promised nobody writes; it says why that is sound

use serde_json::{Map, Value};

use crate::base::buffer::Buffer;
use crate::base::error::{self, Result};
use crate::base::mapped::Mapped;
use crate::base::named::Named;
use crate::base::strided::Strided;
use crate::exchange::dlpack::Managed;
use crate::io::binsparse::arrays::{ArrayInfo, Arrays};
use crate::io::binsparse::descriptor::Descriptor;
use crate::io::binsparse::export::Export;
use crate::io::binsparse::map::{self, TensorReader};
use crate::io::binsparse::sizes::raw;
use crate::io::binsparse::{DataType, Loaded, Version, Warning};
use crate::io::fault::{Fault, Res, bad};
use crate::io::progress::Tell;
use crate::io::{ReadOptions, WriteOptions};
use crate::levels::names::ArrayName;
use crate::tensor::Tensor;
use crate::tensor::trace;

/// Something that can be taken apart into a descriptor and arrays.
pub trait Binsparse {
    /// What the arrays mean: `{"binsparse": {…}}`, and whatever else the producer has to say beside it. The keys of
    /// `data_types` are the names of the arrays.
    ///
    /// # Errors
    /// If there is no descriptor for it.
    fn binsparse_descriptor(&self) -> Result<Value>;

    /// The arrays by name: strided tensors, one-dimensional.
    ///
    /// # Errors
    /// If it cannot be taken apart.
    fn binsparse_arrays(&self) -> Result<Vec<(String, Tensor)>>;
}

/// A descriptor and arrays, from wherever they come.
#[derive(Clone, Debug)]
pub struct Constituents {
    /// What the arrays mean.
    pub descriptor: Value,
    /// The arrays by name.
    pub arrays: Vec<(String, Tensor)>,
}

impl Constituents {
    /// The arrays as DLPack, sharing memory, marked read-only.
    ///
    /// # Errors
    /// If an array is not strided.
    pub fn to_dlpack(&self) -> Result<Vec<(String, Managed)>> {
        self.arrays.try_mapped(|(name, array)| Ok((name.clone(), array.to_dlpack()?)))
    }
}

impl Binsparse for Constituents {
    fn binsparse_descriptor(&self) -> Result<Value> {
        Ok(self.descriptor.clone())
    }
    fn binsparse_arrays(&self) -> Result<Vec<(String, Tensor)>> {
        Ok(self.arrays.clone())
    }
}

impl Binsparse for Tensor {
    /// The descriptor in the words of binsparse 0.1, which every consumer knows.
    ///
    /// # Errors
    /// If binsparse 0.1 cannot hold the tensor; [`Tensor::to_binsparse_extended`] can.
    fn binsparse_descriptor(&self) -> Result<Value> {
        Ok(self.to_binsparse()?.descriptor)
    }
    fn binsparse_arrays(&self) -> Result<Vec<(String, Tensor)>> {
        Ok(self.to_binsparse()?.arrays)
    }
}

/// # Exchanging: the binsparse protocol
impl Tensor {
    /// The tensor as descriptor and arrays. Indices and values share memory; pointers that do not start at 0 (a window
    /// of rows) and values that do not lie in order without gaps are copied.
    ///
    /// # Errors
    /// If binsparse 0.1 cannot hold the tensor (undefined and array fills, half precision, blocks, unordered or repeated
    /// coordinates): [`Tensor::to_binsparse_extended`] can.
    pub fn to_binsparse(&self) -> Result<Constituents> {
        self.constituents(false)
    }

    /// As [`Tensor::to_binsparse`], of any tensor: what binsparse 0.1 cannot hold is in the name space `openwork`, which this
    /// library alone reads.
    ///
    /// # Errors
    /// As [`Tensor::to_binsparse`], for what no extension holds.
    pub fn to_binsparse_extended(&self) -> Result<Constituents> {
        self.constituents(true)
    }

    fn constituents(&self, extensions: bool) -> Result<Constituents> {
        let _call = trace::call("to_binsparse", &[]);
        let options = WriteOptions { extensions, version: Some(Version::V0_1), ..WriteOptions::default() };
        let export = Export::new(self, &options, &Map::new())?;
        let arrays = export.arrays.try_mapped(|a| a.tensor().map(|x| (a.name.clone(), x)))?;
        let descriptor = serde_json::from_str(&export.json);
        let descriptor = descriptor.map_err(|e| error::invalid("descriptor", e.to_string()))?;
        Ok(Constituents { descriptor, arrays })
    }

    /// A tensor of another's descriptor and arrays, checked as a file is checked, in strict mode. Values are shared,
    /// truth values checked and shared or copied; indices are shared where nobody else may write them, else copied.
    ///
    /// What published producers do otherwise is understood where it cannot mean anything else; the arrays are believed,
    /// not the strings about them: `data_types` that are wrong or swapped, or names such as `bool` and `float16`; a
    /// `format` that is the object `{"custom": …}`; coordinates as one matrix `indices_1` of shape (axes, number stored)
    /// with or without `pointers_to_1` of `[0, n]`.
    ///
    /// # Errors
    /// If the descriptor breaks a rule of binsparse 0.1, an array is missing, left over, not strided, or does not fit.
    pub fn from_binsparse(source: &dyn Binsparse) -> Result<Tensor> {
        Tensor::from_binsparse_with(source, &ReadOptions::default()).map(|r| r.tensor)
    }

    /// As [`Tensor::from_binsparse`], in the mode of the options, with what else the descriptor says. The deviations that
    /// were understood are among the warnings.
    ///
    /// # Errors
    /// As [`Tensor::from_binsparse`], of what the mode does not let pass.
    pub fn from_binsparse_with(source: &dyn Binsparse, options: &ReadOptions<'_>) -> Result<Loaded> {
        read(source, options, false).map_err(|e| e.of("binsparse interchange", None))
    }

    /// As [`Tensor::from_binsparse_with`], sharing indices too, even those that another library could write: the twin of
    /// the safe function, which copies them. They are checked once.
    ///
    /// # Errors
    /// As [`Tensor::from_binsparse_with`].
    ///
    /// # Safety
    /// Nobody may write the memory of index arrays while the tensor, or one made of it, lives: kernels rely on them.
    pub unsafe fn from_binsparse_shared(source: &dyn Binsparse, options: &ReadOptions<'_>) -> Result<Loaded> {
        read(source, options, true).map_err(|e| e.of("binsparse interchange", None))
    }
}

fn read(source: &dyn Binsparse, options: &ReadOptions<'_>, trusting: bool) -> Res<Loaded> {
    let mut arrays = Named::new();
    for (name, tensor) in source.binsparse_arrays()? {
        if !tensor.is_strided() {
            return bad(format_args!("the array `{name}` is {}, not strided", tensor.layout()));
        }
        if arrays.insert(name.clone(), tensor).is_some() {
            return bad(format_args!("the array `{name}` is given twice"));
        }
    }
    let mut descriptor = source.binsparse_descriptor()?;
    let mut warnings = Vec::new();
    let types = normalise(&mut descriptor, &mut warnings);
    let mut d = Descriptor::parse(&descriptor.to_string(), options.mode(), &mut warnings)?;
    split_coordinates(&d, &mut arrays, &mut warnings)?;
    let mut memory = Memory { arrays: Named::new(), trusting };
    let mut named = Named::new();
    for (name, tensor) in arrays.into_iter() {
        let Some(values) = tensor.strided() else { continue };
        let declared = types.get(&name).map(String::as_str);
        let iso = declared.is_some_and(|t| t.starts_with("iso["));
        let dtype = DataType { iso, dtype: values.dtype };
        if declared.is_some_and(|t| t != dtype.to_string()) {
            let (declared, stored) = (declared.unwrap_or_default().to_string(), values.dtype.to_string());
            warnings.push(Warning::StoredType { array: name.clone(), declared, stored });
        }
        d.data_types.insert(name.clone(), dtype);
        named.insert(name.clone(), ());
        memory.add(name, values)?;
    }
    if let Some(name) = types.names().find(|name| !named.contains(name) && !is_split(name, &named)) {
        return bad(format_args!("`data_types` names `{name}`, which is not among the arrays"));
    }
    let reader = TensorReader {
        descriptor: &d,
        arrays: &mut memory,
        options,
        warnings: &mut warnings,
        make: Tensor::from_parts as map::Make,
    };
    let tensor = reader.tensor(None)?;
    Ok(Loaded { tensor, descriptor: d, warnings })
}

/// Whether an array is gone because its rows have become arrays of their own.
fn is_split(name: &str, named: &Named<()>) -> bool {
    let gone = matches!(ArrayName::parse(name), Some(ArrayName::Pointers(1) | ArrayName::Indices(1)));
    gone && named.contains(&ArrayName::Indices(0).to_string())
}

/// Takes out the declared types, and puts `custom` where it belongs.
fn normalise(root: &mut Value, warnings: &mut Vec<Warning>) -> Named<String> {
    let mut types = Named::new();
    let key = if root.get("openwork").is_some() { "openwork" } else { "binsparse" };
    let Some(map) = root.get_mut(key).and_then(Value::as_object_mut) else { return types };
    if let Some(Value::Object(declared)) = map.get_mut("data_types") {
        for (name, t) in std::mem::take(declared) {
            types.insert(name, t.as_str().map_or_else(|| t.to_string(), str::to_owned));
        }
    }
    let custom = map.get("format").and_then(Value::as_object).and_then(|f| f.get("custom")).cloned();
    if let Some(custom) = custom.filter(|_| !map.contains_key("custom")) {
        map.insert("format".into(), "custom".into());
        map.insert("custom".into(), custom);
        warnings.push(Warning::OldSpelling { found: "format: {custom: …}".into(), meaning: "custom".into() });
    }
    types
}

/// Makes one array per axis of coordinates that come as one matrix.
fn split_coordinates(d: &Descriptor, arrays: &mut Named<Tensor>, warnings: &mut Vec<Warning>) -> Res<()> {
    let rank = d.shape.len();
    let [level] = d.levels.levels[..] else { return Ok(()) };
    let Some(matrix) = arrays.get("indices_1").and_then(Tensor::strided).cloned() else { return Ok(()) };
    if level.rank() != rank || matrix.ndim() != 2 || arrays.contains("indices_0") {
        return Ok(());
    }
    if matrix.shape[0] != rank {
        return bad(format_args!("`indices_1` has shape {:?}, the tensor {rank} axes", matrix.shape));
    }
    if let Some(pointers) = arrays.remove("pointers_to_1") {
        let n = matrix.shape[1] as i128;
        let found: Vec<Option<i128>> = pointers.iter_stored().map(|(_, v)| v.as_integer()).collect();
        if found != [Some(0), Some(n)] {
            return bad(format_args!("`pointers_to_1` of {n} coordinates must be [0, {n}]"));
        }
    }
    arrays.remove("indices_1");
    for axis in 0..rank {
        let row = matrix.narrow(0, axis..axis + 1).reshape(&[matrix.shape[1]])?;
        arrays.insert(ArrayName::Indices(axis).to_string(), Tensor::from_strided(row));
    }
    warnings.push(Warning::OldSpelling {
        found: "indices_1 as a matrix".into(),
        meaning: "indices_0, indices_1, …".into(),
    });
    Ok(())
}

/// Arrays in memory, as a container of binsparse has them: one-dimensional, complex numbers as pairs, truth values and
/// `bfloat16` as integers.
struct Memory {
    arrays: Named<Strided>,
    /// Whether indices are shared even where another library could write them.
    trusting: bool,
}

impl Memory {
    fn add(&mut self, name: String, values: &Strided) -> Res<()> {
        let values = values.to_contiguous()?;
        let stored = raw(values.dtype);
        let bytes = values.len() * values.dtype.size();
        let at = if bytes == 0 { 0 } else { values.offset * values.dtype.size() };
        let mut buffer = values.buffer.slice(at..at + bytes);
        let is_index = ArrayName::parse(&name).is_some();
        if self.trusting && is_index && buffer.may_change() {
            let (start, len) = (buffer.bytes().as_ptr(), buffer.len());
            // SAFETY: the old buffer, which the new one owns, keeps the bytes; the caller of `from_binsparse_shared`
            // promises that nobody writes them.
            buffer = unsafe { Buffer::foreign(start, len, Box::new(buffer), false) };
        }
        self.arrays.insert(name, Strided::new(buffer, stored, vec![bytes / stored.size()]));
        Ok(())
    }
}

impl Arrays for Memory {
    fn info(&mut self, name: &str) -> Res<Option<ArrayInfo>> {
        Ok(self.arrays.get(name).map(|a| ArrayInfo { dtype: a.dtype, len: a.len() as u64 }))
    }

    fn read(&mut self, name: &str, start: u64, out: &mut [u8], _: &Tell<'_>) -> Res<()> {
        match self.arrays.get(name) {
            Some(array) => array.read(start as usize, out),
            None => return Err(Fault::Bad(format!("the array `{name}` is missing"))),
        }
        Ok(())
    }

    fn share(&mut self, name: &str) -> Option<Strided> {
        self.arrays.get(name).cloned()
    }

    fn lends_indices(&self) -> bool {
        self.trusting
    }
}
