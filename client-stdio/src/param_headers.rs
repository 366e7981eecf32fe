//! The annotation `x-mcp-header` in the input schema of a tool (2026-07-28, server/tools). An
//! annotated argument of a call is repeated in a header.

use std::collections::HashSet;

use serde_json::{Map, Value};

const ANNOTATION: &str = "x-mcp-header";

/// An argument that is repeated in a header.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ParamHeader {
    /// The part of the header's name after `Mcp-Param-`.
    pub(crate) name: String,
    /// The keys from the arguments to the value.
    path: Vec<String>,
}

impl ParamHeader {
    /// Returns the argument as text, or `None` if it has no header, because it is absent or null.
    pub(crate) fn value_in(&self, arguments: &Value) -> Option<String> {
        let mut keys = self.path.iter();
        let value = keys.try_fold(arguments, |value, key| value.get(key))?;
        match value {
            Value::String(text) => Some(text.clone()),
            Value::Bool(_) | Value::Number(_) => Some(value.to_string()),
            _ => None,
        }
    }
}

/// Collects the headers for the arguments that a schema describes.
///
/// # Errors
/// Returns an error if an annotation breaks a rule, and names the rule. The tool must then not be
/// used.
pub(crate) fn from_schema(schema: &Value) -> Result<Vec<ParamHeader>, String> {
    let Value::Object(schema) = schema else {
        return Ok(Vec::new());
    };
    let mut headers = Vec::new();
    collect_headers(schema, Some(&mut Vec::new()), &mut headers)?;
    let mut names = HashSet::new();
    for header in &headers {
        if !names.insert(header.name.to_ascii_lowercase()) {
            return Err(format!(
                "two parameters ask for {ANNOTATION} {:?}",
                header.name
            ));
        }
    }
    Ok(headers)
}

/// Collects the headers of a schema and all schemas in it.
///
/// `path` is the path to the schema through `properties` only. If there is no such path, an
/// annotation is an error, because it does not identify an argument.
fn collect_headers(
    schema: &Map<String, Value>,
    mut path: Option<&mut Vec<String>>,
    headers: &mut Vec<ParamHeader>,
) -> Result<(), String> {
    if let Some(name) = schema.get(ANNOTATION) {
        let path = path.as_deref().filter(|path| !path.is_empty());
        headers.push(parse_annotation(name, schema, path)?);
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
                        collect_headers(property, Some(path), headers)?;
                        path.pop();
                    } else {
                        collect_headers(property, None, headers)?;
                    }
                }
            }
            // The keys of these objects are names, not keywords.
            (
                "$defs" | "definitions" | "dependentSchemas" | "patternProperties",
                Value::Object(map),
            ) => {
                map.values()
                    .try_for_each(|schema| collect_unnamed(schema, headers))?;
            }
            // The values of these keywords are data, not schemas.
            ("default" | "const" | "enum" | "examples", _) => {}
            _ => collect_unnamed(value, headers)?,
        }
    }
    Ok(())
}

/// Collects the headers of schemas that no path through `properties` leads to.
fn collect_unnamed(value: &Value, headers: &mut Vec<ParamHeader>) -> Result<(), String> {
    match value {
        Value::Object(schema) => collect_headers(schema, None, headers),
        Value::Array(items) => items
            .iter()
            .try_for_each(|item| collect_unnamed(item, headers)),
        _ => Ok(()),
    }
}

fn parse_annotation(
    name: &Value,
    schema: &Map<String, Value>,
    path: Option<&Vec<String>>,
) -> Result<ParamHeader, String> {
    let Some(path) = path else {
        return Err(format!("{ANNOTATION} belongs to no parameter"));
    };
    let name = name.as_str().unwrap_or_default();
    if name.is_empty() || !name.bytes().all(is_token) {
        return Err(format!(
            "{ANNOTATION} of {} is not a header name",
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

/// Returns whether a character may be part of the name of a header (RFC 9110, section 5.6.2).
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
        for (schema, is_valid) in [
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
            assert_eq!(from_schema(&schema).is_ok(), is_valid, "{schema}");
        }
    }
}
