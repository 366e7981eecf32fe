//! The annotation `x-mcp-header` in a tool's input schema (2026-07-28, server/tools): which
//! arguments of a call are repeated in headers of their own.

use std::collections::HashSet;

use serde_json::{Map, Value};

const ANNOTATION: &str = "x-mcp-header";

/// An argument that is repeated in a header.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ParamHeader {
    /// What follows `Mcp-Param-`.
    pub(crate) name: String,
    /// The keys that lead to the argument.
    path: Vec<String>,
}

impl ParamHeader {
    /// The argument as text; `None` if it is absent or null, for then there is no header.
    pub(crate) fn value_in(&self, arguments: &Value) -> Option<String> {
        let start = Some(arguments);
        let value = self.path.iter().fold(start, |value, key| value?.get(key))?;
        match value {
            Value::String(text) => Some(text.clone()),
            Value::Bool(_) | Value::Number(_) => Some(value.to_string()),
            _ => None,
        }
    }
}

/// The headers that a schema asks for.
///
/// # Errors
/// The first rule that an annotation breaks: the tool must not be used then.
pub(crate) fn from_schema(schema: &Value) -> Result<Vec<ParamHeader>, String> {
    let Value::Object(schema) = schema else {
        return Ok(Vec::new());
    };
    let mut found = Vec::new();
    collect_headers(schema, Some(&mut Vec::new()), &mut found)?;
    let mut names = HashSet::new();
    for header in &found {
        if !names.insert(header.name.to_ascii_lowercase()) {
            return Err(format!(
                "two parameters ask for {ANNOTATION} {:?}",
                header.name
            ));
        }
    }
    Ok(found)
}

/// Walks a schema. `path` leads to it through `properties` alone; without one no annotation is
/// allowed, since it would be open which argument it means.
fn collect_headers(
    schema: &Map<String, Value>,
    mut path: Option<&mut Vec<String>>,
    found: &mut Vec<ParamHeader>,
) -> Result<(), String> {
    if let Some(name) = schema.get(ANNOTATION) {
        let path = path.as_deref().filter(|path| !path.is_empty());
        found.push(parse_annotation(name, schema, path)?);
    }
    for (key, value) in schema {
        match (key.as_str(), value) {
            ("properties", Value::Object(properties)) => {
                for (name, property) in properties {
                    let Value::Object(property) = property else {
                        continue;
                    };
                    if let Some(path) = path.as_deref_mut() {
                        path.push(name.clone());
                        collect_headers(property, Some(path), found)?;
                        path.pop();
                    } else {
                        collect_headers(property, None, found)?;
                    }
                }
            }
            // Names of schemas, not keywords.
            (
                "$defs" | "definitions" | "dependentSchemas" | "patternProperties",
                Value::Object(map),
            ) => {
                map.values()
                    .try_for_each(|schema| collect_unnamed(schema, found))?;
            }
            // Data, not schemas.
            ("default" | "const" | "enum" | "examples", _) => {}
            _ => collect_unnamed(value, found)?,
        }
    }
    Ok(())
}

fn collect_unnamed(value: &Value, found: &mut Vec<ParamHeader>) -> Result<(), String> {
    match value {
        Value::Object(schema) => collect_headers(schema, None, found),
        Value::Array(items) => items
            .iter()
            .try_for_each(|item| collect_unnamed(item, found)),
        _ => Ok(()),
    }
}

fn parse_annotation(
    name: &Value,
    schema: &Map<String, Value>,
    path: Option<&Vec<String>>,
) -> Result<ParamHeader, String> {
    let Some(path) = path else {
        return Err(format!("{ANNOTATION} stands where it names no parameter"));
    };
    let name = name.as_str().unwrap_or_default();
    if name.is_empty() || !name.bytes().all(is_token) {
        return Err(format!(
            "{ANNOTATION} of {} is no header name",
            path.join(".")
        ));
    }
    match schema.get("type").and_then(Value::as_str) {
        Some("string" | "integer" | "boolean") => Ok(ParamHeader {
            name: name.to_owned(),
            path: path.clone(),
        }),
        _ => Err(format!(
            "{ANNOTATION} of {} needs the type string, integer or boolean",
            path.join(".")
        )),
    }
}

/// A character of a header name (RFC 9110, 5.6.2).
fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn annotation_rules_are_enforced() {
        let string = |name: &str| json!({ "type": "string", "x-mcp-header": name });
        for (schema, valid) in [
            (json!({ "properties": { "a": string("A") } }), true),
            (
                json!({ "properties": { "x-mcp-header": { "type": "string" } } }),
                true,
            ),
            (
                json!({ "properties": { "a": { "default": { "x-mcp-header": 7 } } } }),
                true,
            ),
            (json!({ "x-mcp-header": "A", "type": "string" }), false),
            (json!({ "properties": { "a": string("") } }), false),
            (json!({ "properties": { "a": string("A B") } }), false),
            (json!({ "properties": { "a": string("A:B") } }), false),
            (json!({ "properties": { "a": string("Ä") } }), false),
            (
                json!({ "properties": { "a": string("A"), "b": string("a") } }),
                false,
            ),
            (
                json!({ "properties": { "a": { "type": "number", "x-mcp-header": "A" } } }),
                false,
            ),
            (
                json!({ "properties": { "a": { "type": "array", "items": string("A") } } }),
                false,
            ),
            (json!({ "$defs": { "a": string("A") } }), false),
        ] {
            assert_eq!(from_schema(&schema).is_ok(), valid, "{schema}");
        }
    }
}
