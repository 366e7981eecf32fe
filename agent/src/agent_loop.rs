//! The agent loop, which answers one query: the model takes a turn, the calls of the turn are made
//! in the page, their results are sent back to the model, and so on until a turn has no calls.
//!
//! - [`run`] is the loop, and [`budget`] enforces the limits of the query.
//! - [`prompt`] and [`context`] write the input of the model; [`boundary`] marks the service's own
//!   lines in it.
//! - [`turn`] collects one turn of the model, and [`progress_sink`] sends it to the page meanwhile.
//! - [`tool_catalog`] lists the tools that the model can call, [`tool_runner`] calls them, and
//!   [`tool_call_log`] records the calls. [`truncate`] shortens long results.

mod boundary;
mod budget;
mod context;
mod progress_sink;
mod prompt;
mod run;
#[cfg(test)]
mod tests;
mod tool_call_log;
mod tool_catalog;
mod tool_runner;
mod truncate;
mod turn;

use bridge_protocol::{Query, QueryContent};
use tokio::sync::mpsc;

use crate::bridge::BridgeTools;
use crate::config::Limits;
use crate::failure::Failure;
use crate::model::Model;
pub(crate) use prompt::system_prompt;
use run::AgentLoop;
pub(crate) use run::Answer;

/// Answers a query with this system prompt, and sends progress meanwhile; a full channel makes the model wait.
///
/// Dropping the future cancels the calls at the bridge and closes the connection to the provider:
/// nothing of the query runs afterwards.
pub(crate) async fn answer(
    query: Query,
    tools: &BridgeTools,
    model: &dyn Model,
    system: &str,
    limits: &Limits,
    progress: &mpsc::Sender<QueryContent>,
) -> Result<Answer, Failure> {
    let agent_loop = AgentLoop::start(&query, tools, model, system, limits, progress).await?;
    agent_loop.run().await
}
