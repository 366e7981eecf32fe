//! The loop: the model says its turn, its calls are made, it is told how they went, and again.

use bridge_protocol::{ErrorCode, Query, QueryContent, QueryToolCall};
use tokio::sync::mpsc;

use crate::bridge::BridgeTools;
use crate::config::Limits;
use crate::failure::Failure;
use crate::model::Model;

/// How a query is answered.
#[derive(Debug)]
pub(crate) struct Answer {
    /// Absent when the response tool has been called: that is the answer.
    pub(crate) result: Option<String>,
    pub(crate) tool_calls: Vec<QueryToolCall>,
}

/// Answers a query. Whoever drops it cancels: the provider's connection and the calls in flight.
pub(crate) async fn answer(
    _asked: Query,
    _tools: &BridgeTools,
    _model: &dyn Model,
    _limits: &Limits,
    _say: &mpsc::Sender<QueryContent>,
) -> Result<Answer, Failure> {
    Err(Failure::new(ErrorCode::AgentFailed, "there is no loop yet"))
}
