//! Answering one query: the model says its turn, the calls that it wants are made in the page, it
//! hears how they went, and so on until it has nothing more to call.
//!
//! `run` is the loop, `turn` hears one turn, `calls` makes its calls, `offer` is what can be called,
//! `prompt` is what we say ourselves, `budget` what may be used, `voice` what the page hears.

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

use bridge_protocol::{Query, QueryContent, QueryToolCall};
use tokio::sync::mpsc;

use crate::bridge::BridgeTools;
use crate::config::Limits;
use crate::failure::Failure;
use crate::model::Model;
use run::AgentLoop;

/// What has come of a query.
#[derive(Debug)]
pub(crate) struct Answer {
    /// What the model has said in its last turn; `None` if its response tool has completed the
    /// query.
    pub(crate) result: Option<String>,
    /// In the order in which they ended.
    pub(crate) tool_calls: Vec<QueryToolCall>,
}

/// Answers a query, and says meanwhile how it is getting on; a full channel holds the model up.
/// Dropped, it cancels its calls at the bridge and closes the provider's connection: nothing of it
/// runs afterwards.
pub(crate) async fn answer(
    asked: Query,
    tools: &BridgeTools,
    model: &dyn Model,
    limits: &Limits,
    say: &mpsc::Sender<QueryContent>,
) -> Result<Answer, Failure> {
    let run = AgentLoop::start(&asked, tools, model, limits, say).await?;
    run.run().await
}
