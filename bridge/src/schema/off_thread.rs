//! Validation that takes longer than a socket can wait.

use std::sync::Arc;

use serde_json::Value;

use super::{Misfit, Validator};
use crate::off_thread;

/// Checks a value against one of the schemas of `owner`, on a thread of its own if it is much work,
/// and gives the value back.
pub(crate) async fn check<T: Send + Sync + 'static>(
    owner: &Arc<T>,
    schema: fn(&T) -> Option<&Validator>,
    value: Value,
) -> Result<Value, Misfit> {
    let Some(validator) = schema(owner) else {
        return Ok(value);
    };
    if validator.is_quick(&value) {
        return validator.check(&value).map(|()| value);
    }
    let owner = Arc::clone(owner);
    let checked = off_thread::run(move || {
        schema(&owner)
            .map_or(Ok(()), |validator| validator.check(&value))
            .map(|()| value)
    });
    checked
        .await
        .unwrap_or_else(|| Err(Misfit::BadSchema("validation stopped".to_owned())))
}
