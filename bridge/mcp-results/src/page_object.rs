//! The MCP result objects that pages answer with, other than those of tool calls.

use bridge_protocol::ErrorCode;
use bridge_realm::definition::mcp_fields::{RESULT, repair_fields};
use bridge_realm::realm::PageAnswer;
use bridge_schema::value_count::{self, MAX_VALUES};
use serde_json::{Map, Value};

use crate::content_blocks::{repair_contents, repair_messages};
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

/// The list in the answer to a request.
#[derive(Clone, Debug)]
pub enum AnswerList {
    /// The `messages` of `prompts/get`.
    Messages,
    /// The `contents` of `resources/read` for this URI.
    Contents { uri: String },
}

/// Parses the object in the answer of a page, and validates and repairs its list.
///
/// # Errors
///
/// Fails as [`parse`] does, or if the object has no such list, or one that no client can read.
pub fn parse_list(
    what: &str,
    list: AnswerList,
    answer: PageAnswer,
) -> Result<Map<String, Value>, RequestError> {
    let mut object = parse(what, answer)?;
    let invalid = |why: String| {
        let message = format!("the page's answer for {what} {why}");
        RequestError::failed(ErrorCode::InvalidResult, message)
    };
    let cannot_pass = |error: String| invalid(format!("cannot be passed on: {error}"));
    repair_fields(&mut object, RESULT).map_err(cannot_pass)?;
    let field = match list {
        AnswerList::Messages => "messages",
        AnswerList::Contents { .. } => "contents",
    };
    let Some(Value::Array(items)) = object.get_mut(field) else {
        return Err(invalid(format!("has no `{field}`")));
    };
    match list {
        AnswerList::Messages => repair_messages(items),
        AnswerList::Contents { uri } => repair_contents(items, &uri),
    }
    .map_err(cannot_pass)?;
    Ok(object)
}
