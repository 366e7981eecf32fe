//! The spans of a query: one for each turn of the model, and one for each call of a tool. They begin in
//! the scope of the task that answers the query, and contain neither prompts nor results.

use agent_tools::AgentFailure;
use bridge_protocol::TokenUsage;
use bridge_traces::attributes::{CHAT, EXECUTE_TOOL};
use bridge_traces::{SpanRole, TraceScope, TraceSpan, attributes};

use crate::model::{Model, ModelTurn};

/// Begins the span of a turn.
pub(super) fn begin_turn(model: &dyn Model, max_output_tokens: u32) -> TraceSpan {
    let scope = TraceScope::current();
    let span = scope.begin(SpanRole::Client, || format!("{CHAT} {}", model.name()));
    span.set_text(attributes::GEN_AI_OPERATION_NAME, CHAT);
    span.set_text(attributes::GEN_AI_PROVIDER_NAME, model.provider());
    span.set_text(attributes::GEN_AI_REQUEST_MODEL, model.name());
    let max_tokens = max_output_tokens.into();
    span.set_number(attributes::GEN_AI_REQUEST_MAX_TOKENS, max_tokens);
    span
}

/// Ends the span of a turn. The reason why the model has stopped follows from the turn.
pub(super) fn end_turn(
    span: &TraceSpan,
    turn: &Result<ModelTurn, AgentFailure>,
    usage: TokenUsage,
) {
    span.set_number(attributes::GEN_AI_USAGE_INPUT_TOKENS, usage.input);
    span.set_number(attributes::GEN_AI_USAGE_OUTPUT_TOKENS, usage.output);
    span.set_number(
        attributes::GEN_AI_USAGE_CACHE_READ_INPUT_TOKENS,
        usage.cached,
    );
    let reason = match turn {
        Ok(turn) if turn.calls.is_empty() => "stop",
        Ok(_) => "tool_call",
        Err(failure) => {
            span.fail(failure.code.as_str());
            "error"
        }
    };
    span.set_texts(attributes::GEN_AI_RESPONSE_FINISH_REASONS, &[reason]);
}

/// Begins the span of a call of a tool. `source` returns the source that has the tool.
pub(super) fn begin_call(tool: &str, source: impl FnOnce() -> Option<String>) -> TraceSpan {
    let scope = TraceScope::current();
    let span = scope.begin(SpanRole::Internal, || format!("{EXECUTE_TOOL} {tool}"));
    span.set_text(attributes::GEN_AI_OPERATION_NAME, EXECUTE_TOOL);
    span.set_text(attributes::GEN_AI_TOOL_NAME, tool);
    if span.is_on()
        && let Some(source) = source()
    {
        span.set_text(attributes::SOURCE, &source);
    }
    span
}
