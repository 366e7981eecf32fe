//! The dialect that clients and the validator agree on: JSON Schema 2020-12. Schemas of older
//! drafts are upgraded to it.

mod upgrade_draft;

use serde_json::{Map, Value, json};

/// Converts a schema to 2020-12, with an object at its root.
pub fn to_2020_12(schema: Option<&Value>) -> Result<Value, String> {
    let mut schema = match schema {
        None | Some(Value::Null) => Map::new(),
        Some(Value::Object(root)) => root.clone(),
        Some(_) => return Err(ROOT_NOT_OBJECT.to_owned()),
    };
    match schema.get("type") {
        None => {
            schema.shift_insert(0, "type".to_owned(), json!("object"));
        }
        Some(Value::String(kind)) if kind == "object" => {}
        Some(_) => return Err(ROOT_NOT_OBJECT.to_owned()),
    }
    // Neither arguments nor structured content can be null.
    schema.shift_remove("nullable");
    let mut schema = Value::Object(schema);
    upgrade_draft::upgrade(&mut schema)?;
    match jsonschema::draft202012::meta::validate(&schema) {
        Ok(()) => Ok(schema),
        Err(error) => Err(format!(
            "at {}: {} (JSON Schema 2020-12)",
            match error.instance_path().to_string() {
                path if path.is_empty() => "/".to_owned(),
                path => path,
            },
            error.masked_with("the keyword's value")
        )),
    }
}

const ROOT_NOT_OBJECT: &str = "its root must be an object schema (`\"type\": \"object\"`)";
