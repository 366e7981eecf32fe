//! JSON Schemas of Rust types.

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, generate::Contract};
use serde_json::{Value, json};

/// Returns the schema for deserializing the type.
pub(crate) fn of_input<T: JsonSchema>() -> Value {
    of_type::<T>(Contract::Deserialize)
}

/// Returns the schema of the type's values if they are objects, because MCP requires output schemas
/// of objects.
pub(crate) fn of_output<T: JsonSchema>() -> Option<Value> {
    let schema = of_type::<T>(Contract::Serialize);
    (schema["type"] == "object").then_some(schema)
}

/// Returns the schema of arguments, which must be an object: enums have no `type`, and a [`Value`]
/// accepts anything. The bridge rejects a type that does not accept an object, with an error.
pub(crate) fn of_arguments<T: JsonSchema>() -> Value {
    let mut schema = of_input::<T>();
    match schema.as_object_mut() {
        Some(object) if !object.contains_key("type") => {
            object.insert("type".to_owned(), "object".into());
            schema
        }
        Some(_) => schema,
        None => json!({ "type": "object" }),
    }
}

fn of_type<T: JsonSchema>(contract: Contract) -> Value {
    let mut settings = SchemaSettings::draft2020_12();
    settings.contract = contract;
    settings.meta_schema = None;
    let mut schema = settings.into_generator().into_root_schema_for::<T>();
    // The name of a Rust type has no meaning for a model.
    schema.remove("title");
    schema.into()
}
