//! What an agent in the way of mcp-web 0.1 reports: for bridges that do not read a stream of
//! events, and for queries that a frontend asks directly.

use bridge_protocol::{ErrorCode, QueryId};
use bridge_service::Secret;
use bridge_service::http_client::last_cause;
use http::Method;
use reqwest::StatusCode;
use serde_json::{Value, json};

use super::BridgeClient;
use crate::failure::Failure;

/// Reports on one query, each to a route of the bridge.
#[derive(Clone, Debug)]
pub(crate) struct QueryReporter {
    bridge: BridgeClient,
    token: Secret,
    query: QueryId,
}

impl QueryReporter {
    pub(super) fn new(bridge: BridgeClient, token: Secret, query: QueryId) -> Self {
        Self {
            bridge,
            token,
            query,
        }
    }

    /// How it is getting on: `POST /query/{uuid}/progress`.
    pub(crate) async fn progress(&self, message: &str) -> Result<(), Failure> {
        self.send(Method::POST, "progress", json!({ "message": message }))
            .await
    }

    /// The answer: `PUT /query/{uuid}/complete`.
    pub(crate) async fn complete(&self, message: &str) -> Result<(), Failure> {
        self.send(Method::PUT, "complete", json!({ "message": message }))
            .await
    }

    /// Why there is none: `PUT /query/{uuid}/fail`. Bridges of mcp-web 0.1 read `error` alone.
    pub(crate) async fn fail(&self, failure: &Failure) -> Result<(), Failure> {
        let mut body = json!({ "error": failure.message, "code": failure.code });
        if let Some(remedy) = &failure.remedy {
            body["reason"] = json!(remedy);
        }
        self.send(Method::PUT, "fail", body).await
    }

    /// The query is given up: `PUT /query/{uuid}/cancel`.
    pub(crate) async fn cancel(&self, reason: Option<&str>) -> Result<(), Failure> {
        let body = reason.map_or_else(|| json!({}), |reason| json!({ "reason": reason }));
        self.send(Method::PUT, "cancel", body).await
    }

    /// A report that is not taken says why: `QueryNotFound` means that nobody waits for it.
    async fn send(&self, method: Method, what: &str, body: Value) -> Result<(), Failure> {
        let url = self.bridge.route(&["query", self.query.as_str(), what]);
        let request = self.bridge.http.request(method, url).json(&body);
        let answer = request.bearer_auth(self.token.expose()).send().await;
        let answer = answer.map_err(|error| self.bridge.unreachable(&last_cause(&error)))?;
        match answer.status() {
            status if status.is_success() => Ok(()),
            StatusCode::UNAUTHORIZED => Err(self.bridge.token_refused()),
            StatusCode::NOT_FOUND => Err(Failure::new(
                ErrorCode::QueryNotFound,
                "the query has ended at the bridge, or is not that of the token",
            )),
            status => Err(Failure::new(
                ErrorCode::BridgeUnavailable,
                format!("the bridge does not take `{what}` of the query: {status}"),
            )),
        }
    }
}
