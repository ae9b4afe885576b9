//! Files of sscdf: two formats that both call themselves 1.0. The older, which is written too, keeps format and type in
//! attributes, sizes in variables and every array under a name of its own; the newer, read leniently, has a flat descriptor
//! of binsparse in the attribute `metadata`.

use serde_json::{Map, Value, json};

use super::dataset::Axes;
use super::descriptor::{Located, attribute};
use super::{Hdf5, dataset};
use crate::LevelKind;
use crate::base::mapped::Mapped;
use crate::base::named::Named;
use crate::io::binsparse::arrays::ArrayInfo;
use crate::io::binsparse::descriptor::predefined;
use crate::io::binsparse::extension::NAMESPACE;
use crate::io::binsparse::sizes::raw;
use crate::io::binsparse::{DataType, json as text_json};
use crate::io::fault::{Res, bad};
use crate::io::progress::Tell;
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
        other => return bad(format_args!("sscdf of version {other:?}; known is \"1.0\"")),
    }
    let mut found = Located::default();
    if let Some(value) = root.remove("iso_value") {
        let types = root.get_mut("data_types").and_then(Value::as_object_mut);
        let Some(types) = types else { return bad("`iso_value` without `data_types`") };
        let name = types.get("values").and_then(Value::as_str).unwrap_or_default().to_owned();
        let given = number(&value, if name == "bool" { DType::Bool } else { stored_type(&name)? });
        let Some(given) = given else { return bad(format_args!("`iso_value` is {value}, which is no {name}")) };
        types.insert("values".into(), json!(format!("iso[{name}]")));
        found.given.insert("values", given);
    }
    found.text = Value::Object(root).to_string();
    Ok(found)
}

fn stored_type(name: &str) -> Res<DType> {
    match DataType::parse(name, false) {
        Some(t) if !t.iso && !t.dtype.is_complex() => Ok(t.dtype),
        _ => bad(format_args!("sscdf has no type {name:?}")),
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

/// A way of storing objects in the older format.
pub(crate) struct Form {
    pub(crate) name: &'static str,
    /// What binsparse calls it; of a bitmap, what it is read as.
    pub(crate) alias: &'static str,
    /// Arrays beside the values: binsparse's names, and sscdf's.
    pub(crate) arrays: &'static [(&'static str, &'static str)],
}

impl Form {
    pub(crate) fn is_bitmap(&self) -> bool {
        self.name.starts_with("bitmap")
    }
}

const POINTERS: (&str, &str) = ("pointers_to_1", "indptr");

/// All of them but scalars.
pub(crate) const FORMATS: [Form; 13] = [
    Form { name: "csr", alias: "CSR", arrays: &[POINTERS, ("indices_1", "col_indices")] },
    Form { name: "csc", alias: "CSC", arrays: &[POINTERS, ("indices_1", "row_indices")] },
    Form { name: "hypercsr", alias: "DCSR", arrays: &[("indices_0", "rows"), POINTERS, ("indices_1", "col_indices")] },
    Form { name: "hypercsc", alias: "DCSC", arrays: &[("indices_0", "cols"), POINTERS, ("indices_1", "row_indices")] },
    Form { name: "coor", alias: "COOR", arrays: &[("indices_0", "rows"), ("indices_1", "cols")] },
    Form { name: "cooc", alias: "COOC", arrays: &[("indices_0", "cols"), ("indices_1", "rows")] },
    Form { name: "fullr", alias: "DMATR", arrays: &[] },
    Form { name: "fullc", alias: "DMATC", arrays: &[] },
    Form { name: "bitmapr", alias: "CSR", arrays: &[] },
    Form { name: "bitmapc", alias: "CSC", arrays: &[] },
    Form { name: "sparse", alias: "CVEC", arrays: &[("indices_0", "indices")] },
    Form { name: "full", alias: "DVEC", arrays: &[] },
    Form { name: "bitmap", alias: "CVEC", arrays: &[] },
];

/// The older format: a descriptor made of its attributes. All that a strict reader asks for is in it, but for the
/// number of elements of a bitmap.
pub(super) fn older(file: &mut Hdf5<'_>) -> Res<Located> {
    let mut ignored = None;
    let mut text = |name| attribute(file, name, &mut ignored);
    let (format, datatype) = (text("format")?.unwrap_or_default(), text("datatype")?.unwrap_or_default());
    if let Some(version) = text("version")?.filter(|v| v != "1.0") {
        return bad(format_args!("sscdf of version {version:?}; known is \"1.0\""));
    }
    let comment = text("comment")?;
    let dtype = match datatype.as_str() {
        "bool" => DType::Bool,
        "fp32" => DType::F32,
        "fp64" => DType::F64,
        other => match stored_type(other) {
            Ok(dtype) if dtype.is_int() => dtype,
            _ => return bad(format_args!("unknown datatype {datatype:?} of sscdf")),
        },
    };
    let kind = Some(format!("sscdf {format}"));
    let mut found =
        Located { axes: Axes::OneOrNone, truths: dtype == DType::Bool, foreign: kind, ..Located::default() };
    match format.as_str() {
        "scalar" => {
            found.aliases.insert("values", "value".to_owned());
            found.text = described(&[], &(Vec::new(), Vec::new()), Some(1), &[("values", dtype.into())], comment);
            return Ok(found);
        }
        "scalar_empty" => {
            // A value that is not there: a level that says so.
            found.given.insert("pointers_to_0", Given::integers(&[0, 0]));
            found.given.insert("values", Given { dtype: raw(dtype), bytes: vec![] });
            let types = [("pointers_to_0", DType::U64.into()), ("values", dtype.into())];
            found.text = described(&[], &(vec![LevelKind::Sparse { rank: 0 }], Vec::new()), Some(0), &types, comment);
            return Ok(found);
        }
        _ => {}
    }
    let Some(form) = FORMATS.iter().find(|form| form.name == format) else {
        return bad(format_args!("unknown format {format:?} of sscdf"));
    };
    let axes: &[&str] = if matches!(form.alias, "CVEC" | "DVEC") { &["size"] } else { &["nrows", "ncols"] };
    let shape = axes.try_mapped(|name| size(file, name))?;
    let levels = predefined(form.alias, shape.len())?;
    let mut types = Vec::new();
    let mut count = shape.iter().try_fold(1_u64, |n, &size| n.checked_mul(size));
    for &(ours, theirs) in form.arrays {
        let info = array(file, theirs)?;
        found.aliases.insert(ours, theirs.to_owned());
        types.push((ours, info.dtype.into()));
        // The innermost indices are listed last.
        count = Some(info.len);
    }
    let iso = dataset::open(file, "values")?.is_some_and(|facts| facts.shape.as_deref() == Some(&[]));
    types.push(("values", DataType { iso, dtype }));
    if form.is_bitmap() {
        count = None;
        for array in if shape.len() == 1 { &["indices_0"][..] } else { &["pointers_to_1", "indices_1"] } {
            types.push((array, DType::U64.into()));
        }
        found.bitmap = Some(match (form.name, shape.as_slice()) {
            ("bitmapc", &[rows, cols]) => Bitmap { major: cols, minor: rows, vector: false },
            (_, &[rows, cols]) => Bitmap { major: rows, minor: cols, vector: false },
            (_, shape) => Bitmap { major: 1, minor: shape.iter().product(), vector: true },
        });
    }
    let dims = levels.dims.mapped(|dim| dim.0);
    found.text = described(&shape, &(levels.levels, dims), count, &types, comment);
    Ok(found)
}

/// One size.
fn size(file: &mut Hdf5<'_>, name: &str) -> Res<u64> {
    let info = array(file, name)?;
    if info.len != 1 || info.dtype != DType::U64 {
        return bad(format_args!("`{name}` is not one uint64"));
    }
    let mut out = [0; 8];
    file.ask(|store| store.read(name, 0, &mut out, &Tell::nobody()))?;
    Ok(u64::from_ne_bytes(out))
}

/// What an array says of itself that must be there.
fn array(file: &mut Hdf5<'_>, name: &str) -> Res<ArrayInfo> {
    let Some(facts) = dataset::open(file, name)? else { return bad(format_args!("`{name}` is missing")) };
    dataset::info(&facts, name, file.bytes, Axes::OneOrNone)
}

/// The text of a descriptor, in the name space that has all that sscdf has.
fn described(
    shape: &[u64],
    (levels, dims): &(Vec<LevelKind>, Vec<usize>),
    count: Option<u64>,
    types: &[(&str, DataType)],
    comment: Option<String>,
) -> String {
    let levels = levels.mapped(|kind| match kind {
        LevelKind::Sparse { rank } => json!({ "sparse": rank }),
        _ => json!("dense"),
    });
    let mut names = Map::new();
    for (name, data_type) in types {
        names.insert((*name).to_owned(), data_type.to_string().into());
    }
    let descriptor = json!({ "version": "1", "shape": shape, "levels": levels, "dims": dims.mapped(|axis| [*axis]),
        "number_of_stored_values": count, "data_types": names });
    let mut root = Map::new();
    root.insert(NAMESPACE.to_owned(), descriptor);
    root.extend(comment.map(|text| ("comment".to_owned(), text.into())));
    Value::Object(root).to_string()
}

impl Bitmap {
    /// The arrays that a bitmap stands for.
    pub(super) fn arrays(&self, file: &mut Hdf5<'_>) -> Res<Named<Given>> {
        let file_truths = file.truths;
        let Some(size) = self.major.checked_mul(self.minor) else { return bad("the bitmap has more than 2^64 bits") };
        let mut read = |name: &str| {
            let Some(facts) = dataset::open(file, name)? else { return bad(format_args!("`{name}` is missing")) };
            let info = dataset::info(&facts, name, file.bytes, Axes::OneOrNone)?;
            let mut out = vec![0; info.bytes() as usize]; // no more than a multiple of the file
            file.ask(|store| store.read(name, 0, &mut out, &Tell::nobody()))?;
            Ok((info, out))
        };
        let (info, bits) = read("bitmap")?;
        if !matches!(info.dtype, DType::I8 | DType::U8) || bits.iter().any(|&b| b > 1) {
            return bad("`bitmap` is not bytes of 0 and 1");
        }
        // The writer pads vectors to a multiple of eight.
        let padding = info.len.saturating_sub(size);
        if info.len < size || padding > 7 || bits[size as usize..].iter().any(|&b| b != 0) {
            return bad(format_args!("`bitmap` has {} entries, {size} are needed", info.len));
        }
        let (info, values) = read("values")?;
        let item = info.dtype.size();
        let iso = info.len == 1 && size != 1;
        if !iso && info.len != size {
            return bad(format_args!("`values` has {} entries, {size} are needed", info.len));
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
        let dtype = if file_truths { DType::U8 } else { info.dtype };
        let values = Given { dtype, bytes: if iso { values } else { kept } };
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
