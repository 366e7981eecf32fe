//! Builds the result of a tool call from the answer of the page.

use std::sync::Arc;

use bridge_json::RawJson;
use bridge_protocol::ErrorCode;
use bridge_realm::definition::Tool;
use bridge_realm::realm::{Answer, CallFailure, CallOutcome};
use bridge_schema::ValidationFailure;
use bridge_service::cpu_pool::{self, INLINE_LIMIT};
use serde_json::Value;

use super::delivery_limits::internal_error_result;
use super::validation;
use crate::results::tool_result::ToolResult;

/// Builds the result for the client from the outcome of a call.
pub(super) async fn finish_result(tool: &Arc<Tool>, outcome: CallOutcome) -> ToolResult {
    let answer = match outcome {
        CallOutcome::Failed(failure) => return ToolResult::from_failure(&failure),
        CallOutcome::Answered(answer) => answer,
    };
    // A slice of the page's message has been scanned already: without an output schema there is
    // nothing left to do.
    let is_ready = matches!(&answer, Answer::Value(Some(RawJson::Borrowed(_))))
        && tool.output_validator().is_none();
    let result = if is_ready || answer.bytes() < INLINE_LIMIT {
        validate_output(tool, answer).await
    } else {
        let tool = Arc::clone(tool);
        let validated = cpu_pool::spawn(move || validate_output_blocking(&tool, answer));
        validated
            .await
            .unwrap_or_else(|| Ok(internal_error_result()))
    };
    result.unwrap_or_else(|failure| ToolResult::from_failure(&failure))
}

/// Builds the result and validates it against the output schema.
async fn validate_output(tool: &Arc<Tool>, answer: Answer) -> Result<ToolResult, CallFailure> {
    let mut result = build_result(tool, answer)?;
    if tool.output_validator().is_some()
        && let Some(structured) = parse_structured(tool, &mut result)?
    {
        let validated = validation::validate(tool, Tool::output_validator, structured).await;
        result.restore_structured(
            validated.map_err(|violation| output_schema_violation(tool, &violation))?,
        );
    }
    Ok(result)
}

/// Builds and validates the result on a thread of the CPU pool.
fn validate_output_blocking(tool: &Tool, answer: Answer) -> Result<ToolResult, CallFailure> {
    let mut result = build_result(tool, answer)?;
    if let Some(output) = tool.output_validator()
        && let Some(structured) = parse_structured(tool, &mut result)?
    {
        let validated = output.validate(&structured);
        validated.map_err(|violation| output_schema_violation(tool, &violation))?;
        result.restore_structured(structured);
    }
    Ok(result)
}

fn parse_structured(tool: &Tool, result: &mut ToolResult) -> Result<Option<Value>, CallFailure> {
    let structured = result.take_structured();
    structured.map_err(|error| unusable_result(tool, &error))
}

fn output_schema_violation(tool: &Tool, violation: &ValidationFailure) -> CallFailure {
    let message = format!(
        "the result of `{}` does not fit its output schema: {violation}",
        tool.name()
    );
    CallFailure::new(ErrorCode::InvalidResult, message)
}

fn build_result(tool: &Tool, answer: Answer) -> Result<ToolResult, CallFailure> {
    let result = match answer {
        Answer::Value(value) => ToolResult::from_raw_json(value),
        Answer::Content {
            content,
            structured,
            meta,
        } => ToolResult::from_raw_content(content, structured, meta),
    };
    let result = result.map_err(|error| unusable_result(tool, &error))?;
    if tool.output_validator().is_some() && !result.has_structured() {
        let message = format!(
            "`{}` has an output schema, but its result has no structured content: return an object",
            tool.name()
        );
        return Err(CallFailure::new(ErrorCode::InvalidResult, message));
    }
    Ok(result)
}

fn unusable_result(tool: &Tool, error: &str) -> CallFailure {
    let message = format!(
        "the result of `{}` cannot be passed on: {error}",
        tool.name()
    );
    CallFailure::new(ErrorCode::InvalidResult, message)
}
