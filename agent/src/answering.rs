//! Answering one query: the model is asked, the tools that it calls run in the page, it hears how
//! they went, and so on until it has nothing more to call.

use bridge_protocol::{ErrorCode, Query, QueryContent, QueryToolCall};
use tokio::sync::mpsc;

use crate::bridge::BridgeTools;
use crate::config::Limits;
use crate::failure::Failure;
use crate::model::Model;

/// What has come of a query.
#[derive(Debug)]
pub(crate) struct Answer {
    /// What the model has said in its last turn; `None` if its response tool has completed the
    /// query.
    pub(crate) result: Option<String>,
    /// In the order in which they ended.
    pub(crate) tool_calls: Vec<QueryToolCall>,
}

/// Answers a query, and says meanwhile how it is getting on. Dropped, it cancels its calls at the
/// bridge and closes the provider's connection: nothing of it runs afterwards.
pub(crate) async fn answer(
    asked: Query,
    tools: &BridgeTools,
    model: &dyn Model,
    limits: &Limits,
    say: &mpsc::Sender<QueryContent>,
) -> Result<Answer, Failure> {
    let _ = (asked, tools, model, limits, say);
    Err(Failure::new(ErrorCode::AgentFailed, "not there yet"))
}
