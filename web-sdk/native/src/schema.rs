//! JSON Schemas of Rust types.

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, generate::Contract};
use serde_json::{Value, json};

/// Returns the schema of what is deserialized into the type.
pub(crate) fn of_input<T: JsonSchema>() -> Value {
    of_type::<T>(Contract::Deserialize)
}

/// Returns the schema of the type's values if they are objects: MCP has no other output schemas.
pub(crate) fn of_output<T: JsonSchema>() -> Option<Value> {
    let schema = of_type::<T>(Contract::Serialize);
    (schema["type"] == "object").then_some(schema)
}

/// Returns the schema of arguments, which are an object: enums have no `type`, and a
/// [`Value`] takes anything. The bridge refuses a type that takes no object, and says so.
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
    // The name of a Rust type says nothing to a model.
    schema.remove("title");
    schema.into()
}
