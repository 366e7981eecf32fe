//! Reports on a query, as agents of mcp-web 0.1 send them. They are sent to bridges that do not
//! read an event stream, and for queries that a frontend sends directly.

use agent_tools::AgentFailure;
use bridge_edge::http_client::last_cause;
use bridge_protocol::{ErrorCode, QueryId};
use bridge_settings::Secret;
use http::{Method, StatusCode};
use serde_json::{Value, json};

use super::AgentBridge;

/// Sends reports on one query, each to a route of the bridge.
#[derive(Clone, Debug)]
pub(crate) struct QueryReporter {
    bridge: AgentBridge,
    token: Secret,
    query: QueryId,
}

impl QueryReporter {
    /// Creates a reporter for a query, with the query's token.
    pub(crate) fn new(bridge: &AgentBridge, token: &Secret, query: &QueryId) -> Self {
        Self {
            bridge: bridge.clone(),
            token: token.clone(),
            query: query.clone(),
        }
    }

    /// Reports progress: `POST /query/{uuid}/progress`.
    pub(crate) async fn progress(&self, message: &str) -> Result<(), AgentFailure> {
        self.send(Method::POST, "progress", json!({ "message": message }))
            .await
    }

    /// Reports the answer: `PUT /query/{uuid}/complete`.
    pub(crate) async fn complete(&self, message: &str) -> Result<(), AgentFailure> {
        self.send(Method::PUT, "complete", json!({ "message": message }))
            .await
    }

    /// Reports a failure: `PUT /query/{uuid}/fail`. Bridges of mcp-web 0.1 read only `error`.
    pub(crate) async fn fail(&self, failure: &AgentFailure) -> Result<(), AgentFailure> {
        let mut body = json!({ "error": failure.message, "code": failure.code });
        if let Some(remedy) = &failure.remedy {
            body["reason"] = json!(remedy);
        }
        self.send(Method::PUT, "fail", body).await
    }

    /// Reports that the query was cancelled: `PUT /query/{uuid}/cancel`.
    pub(crate) async fn cancel(&self, reason: Option<&str>) -> Result<(), AgentFailure> {
        let body = reason.map_or_else(|| json!({}), |reason| json!({ "reason": reason }));
        self.send(Method::PUT, "cancel", body).await
    }

    /// Sends one report. It fails with `QueryNotFound` when the query has ended at the bridge.
    async fn send(&self, method: Method, report: &str, body: Value) -> Result<(), AgentFailure> {
        let url = self.bridge.route(&["query", self.query.as_str(), report]);
        let request = self.bridge.http().request(method, url).json(&body);
        let response = request.bearer_auth(self.token.expose()).send().await;
        let response = response.map_err(|error| self.bridge.unreachable(&last_cause(&error)))?;
        match response.status() {
            status if status.is_success() => Ok(()),
            StatusCode::UNAUTHORIZED => Err(self.bridge.token_refused()),
            StatusCode::NOT_FOUND => Err(AgentFailure::new(
                ErrorCode::QueryNotFound,
                "the query has ended at the bridge, or does not belong to the token",
            )),
            status => Err(AgentFailure::new(
                ErrorCode::BridgeUnavailable,
                format!("the bridge does not accept `{report}` of the query: {status}"),
            )),
        }
    }
}
