//! The result of a tool call from its page's answer, or from the reason why it reaches no page.

use bridge_protocol::{ErrorCode, Kind};
use bridge_realm::definition::SharedTool;
use bridge_realm::realm::{CallFailure, PageAnswer, RoutingError};
use serde_json::{Map, json};

use crate::request_error::RequestError;
use crate::tool_result::CallToolResult;

/// Builds the result for the client from the page's answer. It is not validated yet.
///
/// # Errors
///
/// Fails if the answer cannot be passed on, or lacks the structured content that the tool promises.
pub fn build_result(tool: &SharedTool, answer: PageAnswer) -> Result<CallToolResult, CallFailure> {
    let result = match answer {
        PageAnswer::Value(value) => CallToolResult::from_raw_json(value),
        PageAnswer::Content {
            content,
            structured,
            meta,
        } => CallToolResult::from_raw_content(content, structured, meta),
    };
    let result = result.map_err(|error| unusable_result(tool, &error))?;
    if tool.output_validator().is_some() && result.structured().is_none() {
        let message = format!(
            "`{}` has an output schema, but its result has no structured content: return an object",
            tool.name()
        );
        return Err(CallFailure::new(ErrorCode::InvalidResult, message));
    }
    Ok(result)
}

/// The failure of a call whose result cannot be passed on.
pub(crate) fn unusable_result(tool: &SharedTool, error: &str) -> CallFailure {
    let message = format!(
        "the result of `{}` cannot be passed on: {error}",
        tool.name()
    );
    CallFailure::new(ErrorCode::InvalidResult, message)
}

/// Returns the result of a call that cannot be routed.
///
/// # Errors
///
/// Returns an error if there is no such tool.
pub fn routing_error_result(error: RoutingError) -> Result<CallToolResult, RequestError> {
    let kind = Kind::Tool;
    if let RoutingError::NotFound { .. } = error {
        return Err(RequestError::NotRouted { kind, error });
    }
    let (code, message) = (error.code(kind), error.message(kind));
    Ok(match error.available_sessions() {
        None => CallToolResult::from_failure(&CallFailure::new(code, message)),
        Some(sessions) => {
            let details = Map::from_iter([("available_sessions".to_owned(), json!(sessions))]);
            CallToolResult::error_with_details(code, &message, details)
        }
    })
}
