//! The words of a descriptor: element types, symmetries, versions.

use std::fmt;

use openwork_ops::DType;

/// Element type of one array of a file, as a descriptor names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DataType {
    /// One element stands for all.
    pub iso: bool,
    /// The type of an element; `bint8` is [`DType::Bool`].
    pub dtype: DType,
}

impl DataType {
    /// The type that binsparse 0.1 calls by this name; with `extended` also the half-precision ones.
    pub(crate) fn parse(text: &str, extended: bool) -> Option<DataType> {
        if let Some(inner) = text.strip_prefix("iso[").and_then(|t| t.strip_suffix(']')) {
            let inner = DataType::parse(inner, extended)?;
            return (!inner.iso).then_some(DataType { iso: true, ..inner });
        }
        let dtype = match text {
            "int8" => DType::I8,
            "int16" => DType::I16,
            "int32" => DType::I32,
            "int64" => DType::I64,
            "uint8" => DType::U8,
            "uint16" => DType::U16,
            "uint32" => DType::U32,
            "uint64" => DType::U64,
            "float32" => DType::F32,
            "float64" => DType::F64,
            "bint8" => DType::Bool,
            "complex[float32]" => DType::Complex64,
            "complex[float64]" => DType::Complex128,
            "float16" if extended => DType::F16,
            "bfloat16" if extended => DType::BF16,
            _ => return None,
        };
        Some(DataType { iso: false, dtype })
    }
}

impl From<DType> for DataType {
    fn from(dtype: DType) -> DataType {
        DataType { iso: false, dtype }
    }
}

impl fmt::Display for DataType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self.dtype {
            DType::Bool => "bint8",
            DType::Complex64 => "complex[float32]",
            DType::Complex128 => "complex[float64]",
            other => other.name(),
        };
        if self.iso { write!(f, "iso[{name}]") } else { f.write_str(name) }
    }
}

/// How the stored triangle of a square matrix stands for the other one. Readers expand it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Symmetry {
    /// The mirrored element is the same.
    Symmetric(Triangle),
    /// The mirrored element is the complex conjugate.
    Hermitian(Triangle),
    /// The mirrored element is the negative.
    SkewSymmetric(Triangle),
}

/// Which triangle is stored, the diagonal included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Triangle {
    /// Row ≥ column.
    Lower,
    /// Row ≤ column.
    Upper,
}

impl Symmetry {
    pub(crate) fn parse(text: &str) -> Option<Symmetry> {
        Some(match text {
            "symmetric_lower" => Symmetry::Symmetric(Triangle::Lower),
            "symmetric_upper" => Symmetry::Symmetric(Triangle::Upper),
            "hermitian_lower" => Symmetry::Hermitian(Triangle::Lower),
            "hermitian_upper" => Symmetry::Hermitian(Triangle::Upper),
            "skew_symmetric_lower" => Symmetry::SkewSymmetric(Triangle::Lower),
            "skew_symmetric_upper" => Symmetry::SkewSymmetric(Triangle::Upper),
            _ => return None,
        })
    }

    /// The triangle that is stored.
    pub fn triangle(self) -> Triangle {
        let (Symmetry::Symmetric(t) | Symmetry::Hermitian(t) | Symmetry::SkewSymmetric(t)) = self;
        t
    }
}

impl fmt::Display for Symmetry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self {
            Symmetry::Symmetric(_) => "symmetric",
            Symmetry::Hermitian(_) => "hermitian",
            Symmetry::SkewSymmetric(_) => "skew_symmetric",
        };
        let triangle = match self.triangle() {
            Triangle::Lower => "lower",
            Triangle::Upper => "upper",
        };
        write!(f, "{kind}_{triangle}")
    }
}

/// The version to write into a descriptor. No single one is read by everyone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Version {
    /// `0.1`, which the C and C++ reference implementations and Finch ask for.
    V0_1,
    /// `0.1.0`, which the Python reference implementation asks for.
    V0_1_0,
}

impl Version {
    pub(crate) fn text(self) -> &'static str {
        match self {
            Version::V0_1 => "0.1",
            Version::V0_1_0 => "0.1.0",
        }
    }
}

/// Whether a version is 0.1 or 0.1.0, with or without build metadata.
pub(crate) fn is_supported_version(text: &str) -> bool {
    let (core, build) = text.split_once('+').map_or((text, None), |(core, build)| (core, Some(build)));
    let identifiers =
        |b: &str| b.split('.').all(|i| !i.is_empty() && i.bytes().all(|c| c.is_ascii_alphanumeric() || c == b'-'));
    matches!(core, "0.1" | "0.1.0") && build.is_none_or(identifiers)
}

/// Whether a version is some 0.1.x or a pre-release of one: close enough for a lenient reader.
pub(crate) fn is_near_version(text: &str) -> bool {
    let core = text.split(['+', '-']).next().unwrap_or_default();
    let mut parts = core.split('.');
    let number = |p: &str| p.bytes().all(|c| c.is_ascii_digit()) && !p.is_empty() && (p == "0" || !p.starts_with('0'));
    parts.next() == Some("0") && parts.next() == Some("1") && parts.next().is_none_or(number) && parts.next().is_none()
}

#[cfg(test)]
#[path = "tests/types.rs"]
mod tests;
