//! Checks of the fields of a query that its type does not express.

use bridge_protocol::{Query, is_conversation_id};

/// Checks a query. The error is for the page.
pub(super) fn check(query: &Query) -> Result<(), &'static str> {
    let schema = query.response_schema.as_ref();
    if schema.is_some_and(|schema| !schema.get().starts_with('{')) {
        return Err("`responseSchema` must be a JSON Schema that is an object");
    }
    if schema.is_some() && query.response_tool.is_some() {
        return Err("a query has `responseSchema` or `responseTool`, not both");
    }
    if query.timeout == Some(0) {
        return Err("`timeout` must be at least 1 ms");
    }
    match &query.conversation {
        Some(id) if !is_conversation_id(id) => {
            Err("`conversation` must be 1 to 64 bytes of visible ASCII, and neither `.` nor `..`")
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use bridge_protocol::limits::MAX_CONVERSATION_ID_BYTES;

    use super::*;

    fn decode(fields: &str) -> Query {
        serde_json::from_str(&format!(r#"{{"uuid":"q","prompt":"p",{fields}}}"#)).unwrap()
    }

    #[test]
    fn fields_that_contradict_each_other_or_are_malformed_are_named() {
        let longest = "c".repeat(MAX_CONVERSATION_ID_BYTES);
        for (fields, named) in [
            (r#""responseSchema":{}"#.to_owned(), None),
            (r#""responseSchema":  {"type":"object"}"#.to_owned(), None),
            (r#""responseTool":{"name":"t"}"#.to_owned(), None),
            (format!(r#""conversation":"{longest}""#), None),
            (r#""timeout":1"#.to_owned(), None),
            (r#""timeout":0"#.to_owned(), Some("`timeout`")),
            (r#""conversation":"~!/?..""#.to_owned(), None),
            (r#""conversation":"...""#.to_owned(), None),
            (r#""conversation":".""#.to_owned(), Some("neither `.`")),
            (r#""conversation":"..""#.to_owned(), Some("neither `.`")),
            (
                r#""responseSchema":{},"responseTool":{"name":"t"}"#.to_owned(),
                Some("not both"),
            ),
            (
                r#""responseSchema":true"#.to_owned(),
                Some("`responseSchema`"),
            ),
            (
                r#""responseSchema":[]"#.to_owned(),
                Some("`responseSchema`"),
            ),
            (
                r#""responseSchema":"{""#.to_owned(),
                Some("`responseSchema`"),
            ),
            (r#""conversation":"""#.to_owned(), Some("`conversation`")),
            (r#""conversation":"a b""#.to_owned(), Some("`conversation`")),
            (r#""conversation":"é""#.to_owned(), Some("`conversation`")),
            (
                r#""conversation":"\u0000""#.to_owned(),
                Some("`conversation`"),
            ),
            (
                format!(r#""conversation":"{longest}c""#),
                Some("`conversation`"),
            ),
        ] {
            match (check(&decode(&fields)), named) {
                (Ok(()), None) => {}
                (Err(error), Some(named)) => assert!(error.contains(named), "{error}"),
                (outcome, _) => panic!("{fields}: {outcome:?}"),
            }
        }
    }
}
