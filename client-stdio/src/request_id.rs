//! The ids of JSON-RPC requests.

use std::fmt;
use std::sync::Arc;

use serde_json::Value;

/// The id of a JSON-RPC request, a string or a number.
///
/// It is stored as compact JSON. Two ids with the same value are equal even if their senders wrote
/// them differently, for example with and without escape sequences.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct RequestId(Arc<str>);

impl RequestId {
    pub(crate) fn from_json(value: &Value) -> Self {
        Self(value.to_string().into())
    }

    pub(crate) fn to_json(&self) -> Value {
        serde_json::from_str(&self.0).unwrap_or_default()
    }
}

/// Writes the id as JSON, with the quotes of a string.
impl fmt::Display for RequestId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_with_the_same_value_are_equal() {
        let id = |json: &str| RequestId::from_json(&serde_json::from_str(json).unwrap());
        assert_eq!(id(r#""ä""#), id(r#" "\u00e4" "#));
        assert_ne!(id(r#""1""#), id("1"));
        assert_eq!(id("7").to_json(), 7);
    }
}
