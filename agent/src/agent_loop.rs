//! The agent loop, which answers one query: the model takes a turn, the calls of the turn are made
//! in the page, their results are sent back to the model, and so on until a turn has no calls.
//!
//! - [`run`] is the loop, and [`budget`] enforces the limits of the query.
//! - [`prompt`] and [`context`] write the input of the model; [`boundary`] marks the service's own
//!   lines in it.
//! - [`turn`] collects one turn of the model, and [`progress_sink`] sends it to the page meanwhile.
//! - [`tool_catalog`] lists the tools that the model can call, [`tool_runner`] calls them, and
//!   [`tool_call_log`] records the calls. [`truncate`] shortens long results.
//! - [`state`] is what others see of a query while it is answered; [`usage_meter`] counts what it uses.

mod boundary;
mod budget;
mod context;
mod progress_sink;
mod prompt;
mod run;
mod state;
#[cfg(test)]
mod tests;
mod tool_call_log;
mod tool_catalog;
mod tool_runner;
mod truncate;
mod turn;
mod usage_meter;

use bridge_protocol::{Query, QueryContent};
use tokio::sync::mpsc;

use crate::bridge::BridgeTools;
use crate::config::Limits;
use crate::failure::Failure;
use crate::model::Model;
pub(crate) use prompt::system_prompt;
use run::AgentLoop;
pub(crate) use run::Answer;
pub(crate) use state::QueryState;

/// What a query is answered with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct QueryInput<'a> {
    pub(crate) query: &'a Query,
    pub(crate) tools: &'a BridgeTools,
    pub(crate) model: &'a dyn Model,
    pub(crate) system: &'a str,
    pub(crate) limits: &'a Limits,
    /// Receives the progress. A full channel makes the model wait.
    pub(crate) progress: &'a mpsc::Sender<QueryContent>,
    pub(crate) state: &'a QueryState,
}

/// Answers a query, and sends progress meanwhile.
///
/// Dropping the future cancels the calls at the bridge and closes the connection to the provider:
/// nothing of the query runs afterwards.
pub(crate) async fn answer(input: QueryInput<'_>) -> Result<Answer, Failure> {
    AgentLoop::start(input).await?.run().await
}
