//! The agent loop, which answers one query: the model takes a turn, the calls of the turn are made
//! in the page, their results are sent back to the model, and so on until a turn has no calls.
//!
//! - [`run`] is the loop, [`history`] has the messages that the model reads, and [`budget`]
//!   enforces the limits of the query.
//! - [`response`] handles the tool with which a query must be answered, and [`answer_tool`] is the
//!   one of a `responseSchema`.
//! - [`prompt`], [`context`], [`attachments`] and [`local_time`] write the input of the model.
//!   [`added_prompt`] adds messages of the person meanwhile, and [`boundary`] marks the lines of
//!   the service.
//! - [`turn`] collects one turn of the model, and [`progress_sink`] sends it to the page meanwhile.
//! - [`approvals`] decides which calls wait for the approval of a person, and [`rejection`] which are
//!   not made, among them those of [`repeated_calls`]. Each is an [`indexed_call`].
//! - [`tool_catalog`] lists the tools that the model can call, [`tool_runner`] calls them, and
//!   [`tool_call_log`] records the calls. [`truncate`] shortens long results.
//! - [`shared_state`] is the state of an application that the model can change.
//! - [`open_calls`] are the calls that wait for a person, or for a [`client_result`];
//!   [`call_activity`] and [`call_results`] describe calls to the stream of a client.
//! - [`state`] is the state of a query for others while it is answered. [`usage_meter`] counts its
//!   use, with a [`turn_meter`] for each turn, and [`transcript`] has its messages for later queries of
//!   the conversation.
//! - [`trace_spans`] has the spans of turns and calls.

mod added_prompt;
mod answer_tool;
mod approvals;
mod attachments;
mod boundary;
mod budget;
mod call_activity;
mod call_results;
mod client_result;
mod context;
mod history;
mod indexed_call;
mod input;
mod local_time;
mod open_calls;
mod progress_sink;
mod prompt;
mod query_tools;
mod rejection;
mod repeated_calls;
mod response;
mod run;
mod shared_state;
mod state;
#[cfg(test)]
mod tests;
mod tool_call_log;
mod tool_catalog;
mod tool_runner;
mod trace_spans;
mod transcript;
mod truncate;
mod turn;
mod turn_meter;
mod usage_meter;

pub(crate) use added_prompt::AddedPrompt;
use agent_tools::AgentFailure;
pub(crate) use client_result::ClientResult;
pub(crate) use input::QueryInput;
pub(crate) use local_time::check as check_local_time;
pub(crate) use prompt::{MAX_SYSTEM_BYTES, SystemPrompts};
use run::AgentLoop;
pub(crate) use run::FinalAnswer;
pub(crate) use state::QueryState;
pub(crate) use transcript::FinishedTranscript;

/// Answers a query, and sends progress meanwhile.
///
/// Dropping the future cancels the calls at the bridge and closes the connection to the provider:
/// nothing of the query runs afterwards.
pub(crate) async fn answer(input: QueryInput<'_>) -> Result<FinalAnswer, AgentFailure> {
    // A query waits for its model most of the time. What it does not need then is in boxes.
    let agent_loop = Box::pin(AgentLoop::start(input)).await?;
    agent_loop.run().await
}
