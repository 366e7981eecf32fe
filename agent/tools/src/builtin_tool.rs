//! The definitions of the tools of built-in sources, and their arguments.

use std::sync::Arc;

use bridge_schema::Validator;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use crate::class::ToolClass;
use crate::source::SourceTool;

/// Creates a tool of a built-in source, with the schemas of its arguments.
pub fn builtin_tool(
    name: &str,
    description: &str,
    properties: Value,
    required: &[&str],
    class: ToolClass,
) -> Result<SourceTool, String> {
    let schema = json!({ "type": "object", "properties": properties, "required": required,
        "additionalProperties": false });
    Ok(SourceTool {
        name: name.to_owned(),
        description: Some(description.to_owned()),
        arguments: Arc::new(Validator::new(schema)?),
        class,
        timeout: None,
    })
}

/// Parses arguments, which fit the schema.
pub fn parse_arguments<T: DeserializeOwned>(arguments: Map<String, Value>) -> Result<T, String> {
    let parsed = serde_json::from_value(Value::Object(arguments));
    parsed.map_err(|error| format!("the arguments are wrong: {error}"))
}
