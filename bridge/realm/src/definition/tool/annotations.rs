//! The properties in a definition that affect how its tool is called.

use serde_json::{Map, Value};

/// The key in a tool's `_meta` with the maximum number of characters of its results, for clients
/// that read it, such as Claude Code.
pub const RESULT_SIZE_KEY: &str = "anthropic/maxResultSizeChars";

/// The declared maximum number of characters of a tool's results, for clients that read it. Values
/// other than whole numbers above zero are ignored, as those clients do.
pub(super) fn max_text_chars(published: &Map<String, Value>) -> Option<usize> {
    let chars = published.get("_meta")?.get(RESULT_SIZE_KEY)?.as_u64()?;
    usize::try_from(chars).ok().filter(|chars| *chars > 0)
}

/// The schema keyword for a property whose value clients repeat in a header (SEP-2243).
const HEADER_KEYWORD: &str = "x-mcp-header";

/// Whether clients may repeat arguments in headers. The keyword counts even in a place where it has
/// no meaning.
pub(super) fn has_header_arguments(published: &Map<String, Value>) -> bool {
    published.get("inputSchema").is_some_and(has_header)
}

fn has_header(schema: &Value) -> bool {
    match schema {
        Value::Object(fields) => {
            fields.contains_key(HEADER_KEYWORD) || fields.values().any(has_header)
        }
        Value::Array(items) => items.iter().any(has_header),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_argument_in_a_header_is_found_at_any_depth() {
        let deep =
            json!({ "properties": { "a": { "properties": { "b": { HEADER_KEYWORD: "B" } } } } });
        assert!(has_header(&deep));
        assert!(!has_header(&json!({ "enum": [HEADER_KEYWORD] })));
    }
}
