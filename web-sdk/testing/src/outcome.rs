//! Builds the result or error of a request from the answer of its page.

use std::sync::Arc;

use bridge_mcp_results::completion_values::CompletionValues;
use bridge_mcp_results::page_object::{self, AnswerList};
use bridge_mcp_results::request_error::RequestError;
use bridge_mcp_results::schema_violation::{
    input_schema_violation, invalid_arguments, output_schema_violation,
};
use bridge_mcp_results::tool_call::build_result;
use bridge_mcp_results::tool_result::{CallToolResult, StructuredContent};
use bridge_protocol::ErrorCode;
use bridge_realm::definition::tool::SharedTool;
use bridge_realm::realm::{CallFailure, CallOutcome, PageAnswer};
use bridge_schema::{Effort, ValidationFailure};
use serde::Serialize;
use serde_json::json;
use serde_json::value::{RawValue, to_raw_value};

/// The item that a request is for.
#[derive(Debug)]
pub(crate) enum RequestTarget {
    Tool(Arc<SharedTool>),
    /// The description for messages.
    Prompt(String),
    Resource(String),
    Completion,
}

/// Returns the result of a request from the outcome of its call.
pub(crate) fn finish(
    target: &RequestTarget,
    outcome: CallOutcome,
) -> Result<Box<RawValue>, RequestError> {
    let answer = match (outcome, target) {
        (outcome, RequestTarget::Tool(tool)) => {
            let result = match outcome {
                CallOutcome::Failed(failure) => Err(failure),
                CallOutcome::Answered(answer) => validated_result(tool, answer),
            };
            let result = result.unwrap_or_else(|failure| CallToolResult::from_failure(&failure));
            return Ok(to_raw(&result));
        }
        (CallOutcome::Answered(answer), _) => answer,
        (CallOutcome::Failed(failure), RequestTarget::Resource(uri))
            if failure.code == ErrorCode::ResourceNotFound =>
        {
            let (uri, why) = (uri.clone(), failure.message);
            return Err(RequestError::ResourceNotFound { uri, why });
        }
        (CallOutcome::Failed(failure), _) => return Err(RequestError::Failed(failure)),
    };
    match target {
        RequestTarget::Prompt(what) => Ok(to_raw(&page_object::parse_list(
            what,
            AnswerList::Messages,
            answer,
        )?)),
        RequestTarget::Resource(uri) => {
            let what = format!("resource `{uri}`");
            let contents = AnswerList::Contents { uri: uri.clone() };
            Ok(to_raw(&page_object::parse_list(&what, contents, answer)?))
        }
        RequestTarget::Completion | RequestTarget::Tool(_) => {
            let values = page_object::parse("a completion", answer)?;
            let completion = CompletionValues::from_page(values)?;
            Ok(to_raw(&json!({ "completion": completion })))
        }
    }
}

/// Validates arguments as the bridge does.
pub(crate) fn validate_input(
    tool: &SharedTool,
    input: Box<RawValue>,
) -> Result<Box<RawValue>, CallFailure> {
    if !input.get().starts_with('{') {
        return Err(invalid_arguments(
            "the arguments must be an object".to_owned(),
        ));
    }
    let validator = tool.input_validator();
    if validator.accepts_any_object() {
        return Ok(input);
    }
    match validator.try_validate_text(input.get(), Effort::Full) {
        Some(Ok(())) => Ok(input),
        Some(Err(violation)) => Err(input_schema_violation(tool, &violation)),
        None => Err(input_schema_violation(tool, &ValidationFailure::TooCostly)),
    }
}

/// Builds the result of a tool, and validates it against the output schema as the bridge does.
fn validated_result(tool: &SharedTool, answer: PageAnswer) -> Result<CallToolResult, CallFailure> {
    let result = build_result(tool, answer)?;
    let validated = match (tool.output_validator(), result.structured()) {
        (None, _) | (_, None) => return Ok(result),
        (Some(validator), Some(StructuredContent::Text(json))) => {
            validator.try_validate_text(json, Effort::Full)
        }
        (Some(validator), Some(StructuredContent::Value(value))) => {
            validator.try_validate(value, Effort::Full)
        }
    };
    match validated.unwrap_or(Err(ValidationFailure::TooCostly)) {
        Ok(()) => Ok(result),
        Err(violation) => Err(output_schema_violation(tool, &violation)),
    }
}

/// Encodes a value with string keys, which cannot fail.
pub(crate) fn to_raw(value: &impl Serialize) -> Box<RawValue> {
    to_raw_value(value).unwrap_or_default()
}
