//! Parsing of JSON in which no object has two values of one key.
//!
//! The parser of `serde_json` keeps the last of them, so that one of two servers with the same name
//! would disappear when the file is saved.

use std::collections::HashSet;
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::Value;
use serde_json::error::Category;

use super::names::excerpt;

/// Parses JSON. The error has the line and the column, and quotes no values.
pub(super) fn parse_json(text: &str) -> Result<Value, String> {
    let unique = serde_json::from_str::<UniqueKeys>(text);
    let parsed = unique.and_then(|_| serde_json::from_str(text));
    parsed.map_err(|error| {
        let (line, column) = (error.line(), error.column());
        let message = error.to_string();
        let message = message.replace(&format!(" at line {line} column {column}"), "");
        let problem = match error.classify() {
            Category::Data => message,
            _ if has_foreign_syntax(text, line, column) => format!(
                "this is not JSON: {message}. Comments and trailing commas are not allowed: remove \
                 them"
            ),
            _ => format!("this is not JSON: {message}"),
        };
        format!("line {line}, column {column}: {problem}")
    })
}

/// Returns whether there is a comment or a trailing comma at this position, as editors allow them in
/// their own files. Both numbers begin at 1, and columns are bytes.
fn has_foreign_syntax(text: &str, line: usize, column: usize) -> bool {
    let lines = text.split_inclusive('\n').take(line.saturating_sub(1));
    let offset = lines.map(str::len).sum::<usize>() + column.saturating_sub(1);
    let Some((before, after)) = text.split_at_checked(offset) else {
        return false;
    };
    let is_comment = ["//", "/*"].iter().any(|start| after.starts_with(start));
    let is_comma = before.trim_end().ends_with(',') && after.starts_with(['}', ']']);
    is_comment || is_comma
}

/// A JSON value in which no object has two values of one key. The value itself is not kept.
struct UniqueKeys;

impl<'de> Deserialize<'de> for UniqueKeys {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(UniqueKeysVisitor)
    }
}

struct UniqueKeysVisitor;

impl<'de> Visitor<'de> for UniqueKeysVisitor {
    type Value = UniqueKeys;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_bool<E>(self, _: bool) -> Result<UniqueKeys, E> {
        Ok(UniqueKeys)
    }

    fn visit_i64<E>(self, _: i64) -> Result<UniqueKeys, E> {
        Ok(UniqueKeys)
    }

    fn visit_u64<E>(self, _: u64) -> Result<UniqueKeys, E> {
        Ok(UniqueKeys)
    }

    fn visit_f64<E>(self, _: f64) -> Result<UniqueKeys, E> {
        Ok(UniqueKeys)
    }

    fn visit_str<E>(self, _: &str) -> Result<UniqueKeys, E> {
        Ok(UniqueKeys)
    }

    fn visit_unit<E>(self) -> Result<UniqueKeys, E> {
        Ok(UniqueKeys)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<UniqueKeys, A::Error> {
        while items.next_element::<UniqueKeys>()?.is_some() {}
        Ok(UniqueKeys)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<UniqueKeys, A::Error> {
        let mut keys = HashSet::new();
        while let Some(key) = entries.next_key::<String>()? {
            if keys.contains(&key) {
                let key = excerpt(&key);
                return Err(A::Error::custom(format_args!(
                    "the key `{key}` is there twice: rename or remove one of them"
                )));
            }
            entries.next_value::<UniqueKeys>()?;
            keys.insert(key);
        }
        Ok(UniqueKeys)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_that_an_object_has_twice_is_an_error_with_its_line() {
        let error = parse_json("{\"a\": {\"b\": [1, -1, 0.5, true, null, \"hush\"],\n \"b\": 2}}");
        let error = error.unwrap_err();
        assert!(
            error.starts_with("line 2, column 4: the key `b` is there twice"),
            "{error}"
        );
        assert!(parse_json(r#"{"a": {"b": 1}, "c": {"b": 1}}"#).is_ok());
    }

    #[test]
    fn comments_and_trailing_commas_are_errors_with_line_and_column() {
        for (text, position) in [
            ("{\n  // hush\n}", "line 2, column 3: this"),
            ("{\"a\": [1,\n]}", "line 2, column 1: this"),
            ("{\"a\": 1,}", "line 1, column 9: this"),
            ("{\"a\": 1 /* hush */}", "line 1, column 9: this"),
            ("{\"ä\": 1, // hush\n}", "line 1, column 11: this"),
        ] {
            let error = parse_json(text).unwrap_err();
            assert!(error.starts_with(position), "{error}");
            assert!(
                error.ends_with("commas are not allowed: remove them"),
                "{error}"
            );
            assert!(
                !error.contains("hush") && !error.contains(" at line"),
                "{error}"
            );
        }
    }

    #[test]
    fn other_errors_do_not_blame_comments_and_commas() {
        for text in [
            "",
            "{\"a\": 1 \"b\": 2}",
            "{\"a\": \"//\"",
            "{a: 1}",
            "{\"a\": [1, 2}",
            "{\"ä\": ü}",
        ] {
            let error = parse_json(text).unwrap_err();
            assert!(error.contains("this is not JSON: "), "{error}");
            assert!(!error.contains("ommas are not allowed"), "{error}");
        }
    }
}
