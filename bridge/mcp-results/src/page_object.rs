//! The MCP result objects that pages answer with, other than those of tool calls.

use bridge_protocol::ErrorCode;
use bridge_realm::realm::PageAnswer;
use bridge_schema::value_count::{self, MAX_VALUES};
use serde_json::{Map, Value};

use crate::request_error::RequestError;

/// Parses the object in the answer of a page. `what` names the request in errors.
///
/// # Errors
///
/// Fails if the answer is not an object, or has more than [`MAX_VALUES`] values.
pub fn parse(what: &str, answer: PageAnswer) -> Result<Map<String, Value>, RequestError> {
    let invalid = |why: &str| {
        let message = format!("the page's answer for {what} {why}");
        RequestError::failed(ErrorCode::InvalidResult, message)
    };
    let PageAnswer::Value(Some(raw)) = answer else {
        return Err(invalid("is not an object"));
    };
    if value_count::exceeds(raw.get(), MAX_VALUES) {
        return Err(invalid(&format!("has more than {MAX_VALUES} values in it")));
    }
    serde_json::from_str(raw.get())
        .map_err(|error| invalid(&format!("cannot be passed on: {error}")))
}

/// Checks that an object has an array in `field`.
///
/// # Errors
///
/// Fails if it has none.
pub fn require_array(
    what: &str,
    field: &str,
    object: Map<String, Value>,
) -> Result<Map<String, Value>, RequestError> {
    if object.get(field).is_some_and(Value::is_array) {
        return Ok(object);
    }
    let message = format!("the page's answer for {what} has no `{field}`");
    Err(RequestError::failed(ErrorCode::InvalidResult, message))
}
