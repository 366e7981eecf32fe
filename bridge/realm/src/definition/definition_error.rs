//! The error of a definition that cannot be published, and the name of the definition in it.

use std::fmt;

use bridge_protocol::{Definition as Sent, ErrorCode, Kind};
use serde::Deserializer;
use serde::de::{IgnoredAny, MapAccess, Visitor};

/// Why a definition is refused: the code and the message for the page.
pub type DefinitionError = (ErrorCode, String);

/// The number of characters of a definition's name in an error; the index identifies the
/// definition.
pub(super) const MAX_ERROR_NAME_CHARS: usize = 256;

/// In a definition that is too large to be parsed, the name is searched for in this many bytes.
pub(super) const MAX_NAME_BYTES: usize = 4096;

/// The name, URI or URI template of a refused definition, if it is in the first `max_bytes` bytes.
/// Fields before it are skipped, and what is after it is not read.
pub(super) fn definition_name(sent: &Sent, max_bytes: usize) -> Option<String> {
    let key = match sent.kind {
        Kind::Tool | Kind::Prompt => "name",
        Kind::Resource => "uri",
        Kind::ResourceTemplate => "uriTemplate",
    };
    let text = sent.definition.get();
    let text = &text[..text.floor_char_boundary(max_bytes)];
    let mut name = None;
    let search = FieldSearch {
        key,
        found: &mut name,
    };
    // The search ends with an error where the text is cut off, or after the field.
    let _ = serde_json::Deserializer::from_str(text).deserialize_map(search);
    name.map(
        |name: String| match name.char_indices().nth(MAX_ERROR_NAME_CHARS) {
            Some((end, _)) => format!("{}…", &name[..end]),
            None => name,
        },
    )
}

/// Searches an object for a field that is a string.
struct FieldSearch<'a> {
    key: &'static str,
    found: &'a mut Option<String>,
}

impl<'de> Visitor<'de> for FieldSearch<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<String>()? {
            if key == self.key {
                *self.found = Some(map.next_value()?);
                break;
            }
            map.next_value::<IgnoredAny>()?;
        }
        Ok(())
    }
}
