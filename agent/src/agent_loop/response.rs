//! The tool that a query must be answered with: a tool of the page, or the synthetic one of a
//! `responseSchema`.

use agent_tools::AgentFailure;
use bridge_protocol::{ErrorCode, Query};

use super::history::History;
use super::tool_catalog::ToolCatalog;
use crate::model::{CallResult, ModelMessage, ModelTurn};

/// Finds the name by which the model calls the tool that it must answer with.
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
    let remedy = "register the response tool before you send the query";
    Err(AgentFailure::new(ErrorCode::ToolNotFound, message).with_remedy(remedy))
}

/// Answers the calls of a turn that should have called the response tool, and none else.
pub(super) fn reject_calls_of_turn(history: &mut History<'_>, turn: &ModelTurn, response: &str) {
    if turn.calls.is_empty() {
        return;
    }
    let text = format!("Not called: the answer must be a call of `{response}`. Call it now.");
    let calls = turn.calls.iter();
    let rejected = calls.map(|call| CallResult::new(call, text.clone(), true));
    history.push(ModelMessage::Results(rejected.collect()));
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
