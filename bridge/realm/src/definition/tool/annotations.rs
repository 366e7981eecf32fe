//! The properties in a definition that affect how its tool is called.

use serde_json::{Map, Value};

use super::keys::RESULT_SIZE_KEY;

/// The key in a tool's `_meta` that declares whether its handler may send requests to the client.
const ASKS_CLIENT_KEY: &str = "mcp-web/asksClient";

/// The declared maximum number of characters of a tool's results, for clients that read it. Values
/// other than whole numbers above zero are ignored, as those clients do.
pub(super) fn max_text_chars(published: &Map<String, Value>) -> Option<usize> {
    let chars = published.get("_meta")?.get(RESULT_SIZE_KEY)?.as_u64()?;
    usize::try_from(chars).ok().filter(|chars| *chars > 0)
}

/// The schema keyword for a property whose value clients repeat in a header (SEP-2243).
const HEADER_KEYWORD: &str = "x-mcp-header";

/// Whether the tool's handler may send requests to the client: elicitation, sampling, roots.
pub(super) fn asks_client(published: &Map<String, Value>) -> Result<bool, String> {
    let value = published
        .get("_meta")
        .and_then(|meta| meta.get(ASKS_CLIENT_KEY));
    match value {
        None => Ok(true),
        Some(Value::Bool(asks_client)) => Ok(*asks_client),
        Some(other) => Err(format!(
            "`_meta[\"{ASKS_CLIENT_KEY}\"]` must be true or false: it is {other}"
        )),
    }
}

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
    fn a_tool_asks_unless_it_says_that_it_does_not() {
        let asks = |meta: Value| {
            let tool = json!({ "name": "t", "_meta": meta });
            asks_client(tool.as_object().unwrap())
        };
        assert_eq!(asks(json!({})), Ok(true));
        assert_eq!(asks(json!({ ASKS_CLIENT_KEY: true })), Ok(true));
        assert_eq!(asks(json!({ ASKS_CLIENT_KEY: false })), Ok(false));
        let error = asks(json!({ ASKS_CLIENT_KEY: "no" })).unwrap_err();
        assert!(error.contains("mcp-web/asksClient"), "{error}");
    }

    #[test]
    fn an_argument_in_a_header_is_found_at_any_depth() {
        let deep =
            json!({ "properties": { "a": { "properties": { "b": { HEADER_KEYWORD: "B" } } } } });
        assert!(has_header(&deep));
        assert!(!has_header(&json!({ "enum": [HEADER_KEYWORD] })));
    }
}
