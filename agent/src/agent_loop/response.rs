//! The tool that a query must be answered with: a tool of the page, or the synthetic one of a
//! `responseSchema`.

use agent_tools::AgentFailure;
use bridge_protocol::{ErrorCode, Query};
use serde_json::Value;

use super::answer_tool::AnswerTool;
use super::indexed_call::IndexedCall;
use super::rejection::Rejection;
use super::tool_call_log::ToolCallLog;
use super::tool_catalog::ToolCatalog;
use super::tool_runner::ToolRunner;
use crate::model::CallResult;

/// Finds the name by which the model calls the tool that it must answer with. The page may remove the
/// tool, or register one that takes its name, while the query runs.
pub(super) fn find_response_tool(
    query: &Query,
    catalog: &ToolCatalog,
) -> Result<Option<String>, AgentFailure> {
    if let Some(name) = catalog.answer_tool_name() {
        return Ok(Some(name.to_owned()));
    }
    let Some(requested) = &query.response_tool else {
        return Ok(None);
    };
    if let Some(name) = catalog.offered_name(&requested.name) {
        return Ok(Some(name.to_owned()));
    }
    let name = &requested.name;
    let message = format!("the page has no tool `{name}`, which the answer must be a call of");
    let remedy =
        "register the response tool before you send the query, and keep it until the query ends";
    Err(AgentFailure::new(ErrorCode::ToolNotFound, message).with_remedy(remedy))
}

/// Makes the call of the response tool, or reads the answer in its arguments. Returns the result of the
/// call, and the answer if it fits the schema.
pub(super) async fn respond(
    answer_tool: Option<&AnswerTool>,
    runner: &ToolRunner<'_>,
    response: IndexedCall<'_>,
    call_log: &mut ToolCallLog,
) -> Result<(CallResult, Option<Value>), AgentFailure> {
    let call = response.call;
    let rejection = match (answer_tool, &call.unreadable) {
        (Some(_), Some(reason)) => Some(Rejection::of_answer(reason.clone())),
        (Some(answer_tool), None) => match answer_tool.read(&call.arguments).await? {
            Ok(value) => {
                let result = CallResult::new(call, "Received.".to_owned(), false);
                return Ok((result, Some(value)));
            }
            Err(violations) => Some(Rejection::of_answer(violations)),
        },
        (None, _) => Rejection::of_unreadable(call),
    };
    let result = match rejection {
        Some(rejection) => runner.reject(response, rejection).await,
        None => runner.run_single(response, call_log).await?,
    };
    Ok((result, None))
}

pub(super) fn empty_answer() -> AgentFailure {
    let message = "the model has answered with neither text nor a call, twice";
    let remedy = "say more in the prompt, or use another model";
    AgentFailure::new(ErrorCode::ModelAnswerEmpty, message).with_remedy(remedy)
}

pub(super) fn response_tool_not_called(response: &str) -> AgentFailure {
    let message = format!("the model has not called `{response}`, which the answer must be");
    let remedy = "say in the prompt what the answer should be, or use another model";
    AgentFailure::new(ErrorCode::ResponseToolNotCalled, message).with_remedy(remedy)
}

pub(super) fn answer_invalid(violations: &str) -> AgentFailure {
    let message = format!("the answer of the model does not fit `responseSchema`: {violations}");
    let remedy = "describe the properties in the schema, or use another model";
    AgentFailure::new(ErrorCode::ModelAnswerInvalid, message).with_remedy(remedy)
}
