//! The digest of a request: its method, its name or URI, and its arguments.
//!
//! The order of keys, white space and the spelling of escapes do not matter, because a client may
//! encode the same arguments differently when it retries a request.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

/// The SHA-256 of a request, without what may differ between the rounds of a call: `requestState`,
/// `inputResponses`, `_meta` and the request's id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RequestDigest([u8; 32]);

impl RequestDigest {
    /// Computes the digest of a request to one tool, prompt or resource. Missing arguments count
    /// as an empty object.
    pub(super) fn new(method: &str, name: &str, arguments: Option<&Map<String, Value>>) -> Self {
        let mut writer = HashWriter(Sha256::new());
        // JSON strings end with a quotation mark, so that no two requests have the same text.
        let written = writer
            .write_json(method)
            .and_then(|()| writer.write_json(name))
            .and_then(|()| match arguments {
                Some(arguments) => writer.write_object(arguments),
                None => writer.write_object(&Map::new()),
            });
        debug_assert!(written.is_ok(), "neither JSON values nor the hash can fail");
        Self(writer.0.finalize().into())
    }

    /// Computes the digest of a request whose arguments are this JSON object, or empty for none.
    pub(super) fn of_json(
        method: &str,
        name: &str,
        arguments: &[u8],
    ) -> Result<Self, serde_json::Error> {
        if arguments.is_empty() {
            return Ok(Self::new(method, name, None));
        }
        let arguments = serde_json::from_slice(arguments)?;
        Ok(Self::new(method, name, Some(&arguments)))
    }

    /// Returns the digest as bytes.
    pub(super) fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

/// Hashes JSON with the keys of objects in their order as text.
struct HashWriter(Sha256);

impl HashWriter {
    fn write_value(&mut self, value: &Value) -> io::Result<()> {
        match value {
            Value::Object(members) => self.write_object(members),
            Value::Array(items) => {
                self.write_all(b"[")?;
                for item in items {
                    self.write_value(item)?;
                    self.write_all(b",")?;
                }
                self.write_all(b"]")
            }
            scalar => self.write_json(scalar),
        }
    }

    fn write_object(&mut self, members: &Map<String, Value>) -> io::Result<()> {
        let mut members: Vec<_> = members.iter().collect();
        members.sort_unstable_by_key(|(key, _)| *key);
        self.write_all(b"{")?;
        for (key, value) in members {
            self.write_json(key)?;
            self.write_all(b":")?;
            self.write_value(value)?;
            self.write_all(b",")?;
        }
        self.write_all(b"}")
    }

    fn write_json(&mut self, value: &(impl Serialize + ?Sized)) -> io::Result<()> {
        serde_json::to_writer(self, value).map_err(io::Error::from)
    }
}

impl Write for HashWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn digest(name: &str, arguments: &Value) -> RequestDigest {
        RequestDigest::new("tools/call", name, arguments.as_object())
    }

    #[test]
    fn the_order_of_keys_does_not_change_the_digest_and_every_value_does() {
        let base = digest("t", &json!({ "a": 1, "b": { "c": [1, 2], "d": null } }));
        let reordered: Value =
            serde_json::from_str(r#"{ "b": { "d": null, "c": [1, 2] }, "a": 1 }"#).unwrap();
        assert_eq!(digest("t", &reordered), base);
        let others = [
            json!({ "a": 1 }),
            json!({ "a": "1", "b": { "c": [1, 2], "d": null } }),
            json!({ "a": 1, "b": { "c": [2, 1], "d": null } }),
            json!({ "a": 1, "b": { "c": [1, 2] }, "d": null }),
            json!({ "a": 1, "b": { "c": [[1], 2], "d": null } }),
        ];
        for other in others {
            assert_ne!(digest("t", &other), base, "{other}");
        }
        assert_ne!(
            digest("u", &json!({ "a": 1, "b": { "c": [1, 2], "d": null } })),
            base
        );
        assert_eq!(digest("t", &json!({})), digest("t", &Value::Null));
    }
}
