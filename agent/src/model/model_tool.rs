//! A tool as models get it.

use serde_json::Value;

/// A tool that the model may call.
#[derive(Clone, Debug)]
pub(crate) struct ModelTool {
    pub(crate) name: String,
    pub(crate) description: Option<String>,
    /// A JSON Schema whose root is an object.
    pub(crate) input_schema: Value,
}
