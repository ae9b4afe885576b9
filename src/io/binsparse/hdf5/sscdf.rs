//! Files of sscdf, read leniently: two formats that both call themselves 1.0. The older keeps format and type in
//! attributes, sizes in variables and every array under a name of its own; the newer has a flat descriptor of binsparse
//! in the attribute `metadata`.

use serde_json::{Map, Value, json};

use super::descriptor::{Located, attribute};
use super::{Hdf5, dataset};
use crate::base::named::Named;
use crate::io::binsparse::arrays::ArrayInfo;
use crate::io::binsparse::{DataType, json as text_json};
use crate::io::fault::{Fault, Res, bad};
use openwork_ops::DType;

/// An array that the file implies, and does not hold.
#[derive(Clone, Debug)]
pub(super) struct Given {
    pub(super) dtype: DType,
    pub(super) bytes: Vec<u8>,
}

impl Given {
    fn integers(values: &[u64]) -> Given {
        Given { dtype: DType::U64, bytes: bytemuck::cast_slice(values).to_vec() }
    }

    pub(super) fn info(&self) -> ArrayInfo {
        ArrayInfo { dtype: self.dtype, len: (self.bytes.len() / self.dtype.size()) as u64 }
    }
}

/// Which elements are there, as one truth value each.
#[derive(Clone, Debug)]
pub(super) struct Bitmap {
    /// Rows of a matrix, in the order in which its elements lie.
    major: u64,
    minor: u64,
    vector: bool,
}

/// The newer format: the text of its attribute.
pub(super) fn newer(text: &str) -> Res<Located> {
    let mut root = text_json::object(text)?;
    match root.remove("version") {
        Some(Value::String(v)) if v == "1.0" => {}
        other => return bad(format!("sscdf of version {other:?}; known is \"1.0\"")),
    }
    let mut found = Located::default();
    if let Some(value) = root.remove("iso_value") {
        let types = root.get_mut("data_types").and_then(Value::as_object_mut);
        let Some(types) = types else { return bad("`iso_value` without `data_types`") };
        let name = types.get("values").and_then(Value::as_str).unwrap_or_default().to_owned();
        let given = number(&value, if name == "bool" { DType::Bool } else { stored_type(&name)? });
        let Some(given) = given else { return bad(format!("`iso_value` is {value}, which is no {name}")) };
        types.insert("values".into(), json!(format!("iso[{name}]")));
        found.given.insert("values", given);
    }
    found.text = Value::Object(root).to_string();
    Ok(found)
}

fn stored_type(name: &str) -> Res<DType> {
    match DataType::parse(name, false) {
        Some(t) if !t.iso && !t.dtype.is_complex() => Ok(t.dtype),
        _ => bad(format!("sscdf has no type {name:?}")),
    }
}

/// A number of JSON as an element, exactly.
fn number(value: &Value, dtype: DType) -> Option<Given> {
    macro_rules! integer {
        ($($name:ident $ty:ty),*) => {
            match dtype {
                DType::Bool => value.as_bool().map(u8::from).or(value.as_u64().filter(|&v| v < 2).map(|v| v as u8))
                    .map(|v| vec![v]),
                DType::F64 => value.as_f64().map(|v| v.to_ne_bytes().to_vec()),
                DType::F32 => value.as_f64().filter(|&v| f64::from(v as f32) == v).map(|v| (v as f32).to_ne_bytes().to_vec()),
                $(DType::$name => {
                    let v = value.as_i64().and_then(|v| <$ty>::try_from(v).ok());
                    v.or(value.as_u64().and_then(|v| <$ty>::try_from(v).ok())).map(|v| v.to_ne_bytes().to_vec())
                })*
                _ => None,
            }
        };
    }
    let bytes = integer!(I8 i8, I16 i16, I32 i32, I64 i64, U8 u8, U16 u16, U32 u32, U64 u64)?;
    Some(Given { dtype: if dtype == DType::Bool { DType::U8 } else { dtype }, bytes })
}

/// The older format: a descriptor made of its attributes.
pub(super) fn older(file: &mut Hdf5<'_>) -> Res<Located> {
    let mut ignored = None;
    let mut text = |name| attribute(file, name, &mut ignored);
    let (format, datatype) = (text("format")?.unwrap_or_default(), text("datatype")?.unwrap_or_default());
    if let Some(version) = text("version")?.filter(|v| v != "1.0") {
        return bad(format!("sscdf of version {version:?}; known is \"1.0\""));
    }
    fn size(file: &mut Hdf5<'_>, name: &str) -> Res<u64> {
        let Some(facts) = dataset::open(file, name)? else { return bad(format!("`{name}` is missing")) };
        let info = dataset::info(&facts, name, file.bytes, true)?;
        if info.len != 1 || info.dtype != DType::U64 {
            return bad(format!("`{name}` is not one uint64"));
        }
        let mut out = [0; 8];
        file.ask(|store| store.read(name, 0, &mut out))?;
        Ok(u64::from_ne_bytes(out))
    }
    let mut matrix = || Ok::<_, Fault>(vec![size(file, "nrows")?, size(file, "ncols")?]);
    const POINTERS: (&str, &str) = ("pointers_to_1", "indptr");
    let (name, shape, arrays): (&str, Vec<u64>, &[(&str, &str)]) = match format.as_str() {
        "csr" => ("CSR", matrix()?, &[POINTERS, ("indices_1", "col_indices")]),
        "csc" => ("CSC", matrix()?, &[POINTERS, ("indices_1", "row_indices")]),
        "hypercsr" => ("DCSR", matrix()?, &[("indices_0", "rows"), POINTERS, ("indices_1", "col_indices")]),
        "hypercsc" => ("DCSC", matrix()?, &[("indices_0", "cols"), POINTERS, ("indices_1", "row_indices")]),
        "coor" => ("COOR", matrix()?, &[("indices_0", "rows"), ("indices_1", "cols")]),
        "cooc" => ("COOC", matrix()?, &[("indices_0", "cols"), ("indices_1", "rows")]),
        "fullr" => ("DMATR", matrix()?, &[]),
        "fullc" => ("DMATC", matrix()?, &[]),
        "full" => ("DVEC", vec![size(file, "size")?], &[]),
        "sparse" => ("CVEC", vec![size(file, "size")?], &[("indices_0", "indices")]),
        "bitmapr" => ("CSR", matrix()?, &[]),
        "bitmapc" => ("CSC", matrix()?, &[]),
        "bitmap" => ("CVEC", vec![size(file, "size")?], &[]),
        "scalar" => ("custom", vec![], &[("values", "value")]),
        "scalar_empty" => ("openwork", vec![], &[]),
        _ => return bad(format!("unknown format {format:?} of sscdf")),
    };
    let dtype = match datatype.as_str() {
        "bool" => "bint8",
        "fp32" => "float32",
        "fp64" => "float64",
        other if stored_type(other).is_ok_and(DType::is_int) => other,
        _ => return bad(format!("unknown datatype {datatype:?} of sscdf")),
    };
    let mut found = Located { scalars: true, ..Located::default() };
    let mut types = Map::new();
    for &(ours, theirs) in arrays {
        found.aliases.insert(ours, theirs.to_owned());
        types.insert(ours.to_owned(), json!("uint64"));
    }
    let iso = dataset::open(file, "values")?.is_some_and(|facts| facts.shape.as_deref() == Some(&[]));
    types.insert("values".into(), json!(if iso { format!("iso[{dtype}]") } else { dtype.to_owned() }));
    if format.starts_with("bitmap") {
        for array in if shape.len() == 1 { &["indices_0"][..] } else { &["pointers_to_1", "indices_1"] } {
            types.insert((*array).into(), json!("uint64"));
        }
        found.bitmap = Some(match (format.as_str(), shape.as_slice()) {
            ("bitmapc", &[rows, cols]) => Bitmap { major: cols, minor: rows, vector: false },
            (_, &[rows, cols]) => Bitmap { major: rows, minor: cols, vector: false },
            (_, shape) => Bitmap { major: 1, minor: shape.iter().product(), vector: true },
        });
    }
    if name == "openwork" {
        // A value that is not there: a level that says so.
        found.given.insert("pointers_to_0", Given::integers(&[0, 0]));
        found.given.insert(
            "values",
            Given { dtype: stored_type(if dtype == "bint8" { "uint8" } else { dtype })?, bytes: vec![] },
        );
        types.insert("pointers_to_0".into(), json!("uint64"));
        let descriptor = json!({ "version": "1", "shape": [], "levels": [{ "sparse": 0 }], "dims": [],
            "number_of_stored_values": 0, "data_types": types });
        found.text = json!({ "openwork": descriptor }).to_string();
        return Ok(found);
    }
    let mut descriptor = json!({ "format": name, "shape": shape, "data_types": types });
    if name == "custom" {
        descriptor["custom"] = json!({ "level": { "level_desc": "element" } });
    }
    found.text = descriptor.to_string();
    Ok(found)
}

impl Bitmap {
    /// The arrays that a bitmap stands for.
    pub(super) fn arrays(&self, file: &mut Hdf5<'_>) -> Res<Named<Given>> {
        let Some(size) = self.major.checked_mul(self.minor) else { return bad("the bitmap has more than 2^64 bits") };
        let mut read = |name: &str| {
            let Some(facts) = dataset::open(file, name)? else { return bad(format!("`{name}` is missing")) };
            let info = dataset::info(&facts, name, file.bytes, true)?;
            let mut out = vec![0; info.bytes() as usize]; // no more than a multiple of the file
            file.ask(|store| store.read(name, 0, &mut out))?;
            Ok((info, out))
        };
        let (info, bits) = read("bitmap")?;
        if !matches!(info.dtype, DType::I8 | DType::U8) || bits.iter().any(|&b| b > 1) {
            return bad("`bitmap` is not bytes of 0 and 1");
        }
        // The writer pads vectors to a multiple of eight.
        let padding = info.len.saturating_sub(size);
        if info.len < size || padding > 7 || bits[size as usize..].iter().any(|&b| b != 0) {
            return bad(format!("`bitmap` has {} entries, {size} are needed", info.len));
        }
        let (info, values) = read("values")?;
        let item = info.dtype.size();
        let iso = info.len == 1 && size != 1;
        if !iso && info.len != size {
            return bad(format!("`values` has {} entries, {size} are needed", info.len));
        }
        let (mut pointers, mut indices, mut kept) = (vec![0], Vec::new(), Vec::new());
        for row in 0..self.major {
            for i in 0..self.minor {
                let at = (row * self.minor + i) as usize;
                if bits[at] == 1 {
                    indices.push(i);
                    if !iso {
                        kept.extend_from_slice(&values[at * item..(at + 1) * item]);
                    }
                }
            }
            pointers.push(indices.len() as u64);
        }
        let values = Given { dtype: info.dtype, bytes: if iso { values } else { kept } };
        let mut out = Named::new();
        out.insert("values", values);
        let name = if self.vector { "indices_0" } else { "indices_1" };
        out.insert(name, Given::integers(&indices));
        if !self.vector {
            out.insert("pointers_to_1", Given::integers(&pointers));
        }
        Ok(out)
    }
}
