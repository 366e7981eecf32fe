//! The checks of a tool call: of its arguments before the page receives them, and of the page's
//! answer before the client receives it.

use bridge_protocol::{ErrorCode, Kind};
use bridge_realm::definition::SharedTool;
use bridge_realm::realm::{CallFailure, PageAnswer, RoutingError};
use bridge_schema::ValidationFailure;
use serde_json::{Map, json};

use crate::request_error::RequestError;
use crate::tool_result::{CallToolResult, parse_error_message};

/// The failure of a call whose arguments cannot be passed on.
pub fn invalid_arguments(message: String) -> CallFailure {
    CallFailure::new(ErrorCode::InvalidArguments, message)
}

/// The failure of a call whose arguments are not valid against the tool's input schema.
pub fn input_schema_violation(tool: &SharedTool, violation: &ValidationFailure) -> CallFailure {
    invalid_arguments(match violation {
        ValidationFailure::Unreadable(error) => {
            format!("the arguments must be an object that can be read: {error}")
        }
        violation => {
            let name = tool.name();
            format!("the arguments of `{name}` do not fit its input schema: {violation}")
        }
    })
}

/// The failure of a call whose result is not valid against the tool's output schema.
pub fn output_schema_violation(tool: &SharedTool, violation: &ValidationFailure) -> CallFailure {
    if let ValidationFailure::Unreadable(error) = violation {
        return unusable_result(tool, &parse_error_message(error));
    }
    let message = format!(
        "the result of `{}` does not fit its output schema: {violation}",
        tool.name()
    );
    CallFailure::new(ErrorCode::InvalidResult, message)
}

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

fn unusable_result(tool: &SharedTool, error: &str) -> CallFailure {
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
