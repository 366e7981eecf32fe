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

/// The schema of any object.
pub(crate) fn any_object() -> Value {
    json!({ "type": "object" })
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
