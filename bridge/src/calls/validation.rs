//! Validation against JSON schemas. If it is expensive, it does not run on the threads that serve
//! sockets.

use std::sync::Arc;

use serde_json::Value;

use bridge_schema::{ValidationFailure, Validator};
use bridge_service::cpu_pool;

/// Validates a value against one of the schemas of `owner`, in the CPU pool if this is expensive,
/// and returns the value.
pub(crate) async fn validate<T: Send + Sync + 'static>(
    owner: &Arc<T>,
    schema: fn(&T) -> Option<&Validator>,
    value: Value,
) -> Result<Value, ValidationFailure> {
    let Some(validator) = schema(owner) else {
        return Ok(value);
    };
    if let Some(outcome) = validator.try_validate_inline(&value) {
        return outcome.map(|()| value);
    }
    let owner = Arc::clone(owner);
    let outcome = cpu_pool::spawn(move || {
        schema(&owner)
            .map_or(Ok(()), |validator| validator.validate(&value))
            .map(|()| value)
    });
    outcome.await.unwrap_or_else(|| {
        Err(ValidationFailure::InvalidSchema(
            "validation stopped".to_owned(),
        ))
    })
}
