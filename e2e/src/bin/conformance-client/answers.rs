//! The answers of this client and its user to requests: always yes, with the proposed values.

use serde_json::{Map, Value, json};

/// Returns the result for a request of the server, or `None` for an unknown method.
pub(crate) fn respond_to(request: &Value) -> Option<Value> {
    match request["method"].as_str()? {
        "elicitation/create" => Some(elicitation_result(&request["params"])),
        "ping" => Some(json!({})),
        "roots/list" => Some(json!({ "roots": [{ "uri": "file:///project", "name": "project" }] })),
        "sampling/createMessage" => Some(json!({
            "role": "assistant",
            "content": { "type": "text", "text": "sampled" },
            "model": "a-model",
            "stopReason": "endTurn",
        })),
        _ => None,
    }
}

fn elicitation_result(params: &Value) -> Value {
    let schema = &params["requestedSchema"];
    let required = schema["required"].as_array();
    let is_required = |name: &str| required.is_some_and(|names| names.iter().any(|it| it == name));
    let mut content = Map::new();
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        let value = match property.get("default") {
            Some(default) => default.clone(),
            None if is_required(name) || property["type"] == "boolean" => example(property),
            None => continue,
        };
        content.insert(name.clone(), value);
    }
    json!({ "action": "accept", "content": content })
}

/// Returns arguments for all required properties of a tool's schema.
pub(crate) fn arguments_for(schema: &Value) -> Value {
    let required = schema["required"].as_array().into_iter().flatten();
    let names = required.filter_map(Value::as_str);
    let pairs = names.map(|name| (name.to_owned(), example(&schema["properties"][name])));
    Value::Object(pairs.collect())
}

fn example(schema: &Value) -> Value {
    if let Some(first) = schema.pointer("/enum/0") {
        return first.clone();
    }
    match schema["type"].as_str() {
        Some("number" | "integer") => json!(5),
        Some("boolean") => json!(true),
        Some("array") => json!([]),
        Some("object") => json!({}),
        Some("null") => Value::Null,
        _ => json!("text"),
    }
}
