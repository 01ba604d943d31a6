//! Token figures as servers write them. A usage that cannot be read counts as not told: it never
//! costs a reply that is whole.

use serde::{Deserialize, Deserializer, de::DeserializeOwned};
use serde_json::Value;

/// Above this a float no longer names one whole number.
const FLOAT_MAX: f64 = 9_007_199_254_740_992.0;

/// Reads figures that may be in any shape; `None` if they cannot be read.
pub(super) fn told<'de, D: Deserializer<'de>, T: DeserializeOwned>(
    from: D,
) -> Result<Option<T>, D::Error> {
    let value = Value::deserialize(from)?;
    Ok(serde_json::from_value(value).ok())
}

/// Reads one number of tokens; some servers write it as a float.
pub(super) fn tokens<'de, D: Deserializer<'de>>(from: D) -> Result<Option<u64>, D::Error> {
    let value = Value::deserialize(from)?;
    let is_whole = |float: &f64| float.fract() == 0.0 && (0.0..=FLOAT_MAX).contains(float);
    match (&value, value.as_u64(), value.as_f64().filter(is_whole)) {
        (Value::Null, ..) => Ok(None),
        (_, Some(tokens), _) => Ok(Some(tokens)),
        (_, _, Some(float)) => Ok(Some(float as u64)),
        _ => Err(serde::de::Error::custom("no number of tokens")),
    }
}
