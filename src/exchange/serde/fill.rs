//! Fills: `{"float64": 0.0}`, `{"array": …}` or `"undefined"`.

use std::fmt;

use openwork_ops::serialize::{Loose, Plain};
use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};
use serde::ser::{Serialize, SerializeMap, Serializer};

use crate::{DType, Fill, Scalar, Tensor};

impl Serialize for Fill {
    /// For people `{"float64": 0.0}`, `{"array": …}` (a tensor) or `"undefined"`; in binary formats an optional scalar,
    /// then an optional tensor.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if !serializer.is_human_readable() {
            let code: (Option<Scalar>, Option<&Tensor>) = match self {
                Fill::Scalar(value) => (Some(*value), None),
                Fill::Array(values) => (None, Some(values)),
                Fill::Undefined => (None, None),
            };
            return code.serialize(serializer);
        }
        match self {
            Fill::Undefined => serializer.serialize_str("undefined"),
            Fill::Scalar(value) => {
                let mut map = serializer.serialize_map(Some(1))?;
                map.serialize_entry(value.dtype().name(), &Plain(*value))?;
                map.end()
            }
            Fill::Array(values) => {
                let mut map = serializer.serialize_map(Some(1))?;
                map.serialize_entry("array", values)?;
                map.end()
            }
        }
    }
}

impl<'de> Deserialize<'de> for Fill {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Fill, D::Error> {
        if deserializer.is_human_readable() {
            return deserializer.deserialize_any(FillVisitor);
        }
        match <(Option<Scalar>, Option<Tensor>)>::deserialize(deserializer)? {
            (Some(value), None) => Ok(Fill::Scalar(value)),
            (None, Some(values)) => array(values),
            (None, None) => Ok(Fill::Undefined),
            (Some(_), Some(_)) => Err(D::Error::custom("a fill is a scalar or an array, not both")),
        }
    }
}

fn array<E: Error>(values: Tensor) -> Result<Fill, E> {
    if !values.is_strided() {
        return Err(E::custom(format_args!("an array fill must be strided, this one is {}", values.layout())));
    }
    Ok(Fill::array(values))
}

struct FillVisitor;

impl<'de> Visitor<'de> for FillVisitor {
    type Value = Fill;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a fill: {\"float64\": 0.0}, {\"array\": …} or \"undefined\"")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Fill, E> {
        match text {
            "undefined" => Ok(Fill::Undefined),
            other => Err(E::invalid_value(serde::de::Unexpected::Str(other), &self)),
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Fill, A::Error> {
        let Some(key) = map.next_key::<String>()? else { return Err(A::Error::invalid_length(0, &self)) };
        let fill = if key == "array" {
            array(map.next_value()?)?
        } else {
            let dtype: DType = key.parse().map_err(A::Error::custom)?;
            Fill::Scalar(map.next_value::<Loose>()?.element(dtype).map_err(A::Error::custom)?)
        };
        match map.next_key::<String>()? {
            None => Ok(fill),
            Some(_) => Err(A::Error::invalid_length(2, &self)),
        }
    }
}
