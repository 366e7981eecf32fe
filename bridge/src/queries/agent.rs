//! The agent, over HTTP.

use std::time::Duration;

use bridge_protocol::{ErrorCode, PageToBridge, Query, QueryId};
use reqwest::{Method, RequestBuilder, Response, Url};
use tokio::sync::OnceCell;

use super::token::QueryToken;
use crate::config::{self, Secret};
use crate::outgoing;
use crate::realm::QueryFailed;

/// Carries the token that the agent calls tools and reports with.
const TOKEN_HEADER: &str = "mcp-web-query-token";

/// Where queries go.
#[derive(Debug)]
pub(super) struct Agent {
    url: Url,
    credential: Option<Secret>,
    within: Duration,
    /// Made at the first query: the roots of trust are read from the system.
    http: OnceCell<reqwest::Client>,
}

impl Agent {
    /// `None` when none is configured.
    pub(super) fn of(config: &config::Agent) -> Option<Self> {
        let url = config.agent_url.as_ref()?;
        Some(Self {
            url: Url::parse(url.as_str()).ok()?,
            credential: config.agent_token.clone(),
            within: config.agent_timeout,
            http: OnceCell::new(),
        })
    }

    /// Asks. Any 2xx accepts; of the answer nothing else is read.
    pub(super) async fn ask(
        &self,
        query: Query,
        token: Option<QueryToken>,
    ) -> Result<(), QueryFailed> {
        let id = query.uuid.clone();
        let body = PageToBridge::Query(query).encode();
        let put = |request: RequestBuilder| {
            let request = request.header("content-type", "application/json");
            let request = match &token {
                Some(token) => request.header(TOKEN_HEADER, token.as_str()),
                None => request,
            };
            request.body(body)
        };
        let response = self.request(Method::PUT, &id, put).await?;
        let status = response.status();
        if status.is_success() {
            return Ok(());
        }
        let reason = status.canonical_reason().unwrap_or_default();
        let error = format!("Agent responded with {}: {reason}", status.as_u16());
        Err(unavailable(error))
    }

    /// Says that a query has ended. An agent that does not hear it finds its token void.
    pub(super) async fn stop(&self, id: &QueryId) {
        match self.request(Method::DELETE, id, |request| request).await {
            Ok(response) if response.status().is_success() => {}
            Ok(response) => {
                tracing::debug!(status = %response.status(), "the agent did not stop a query");
            }
            Err(why) => tracing::warn!(
                "the agent did not hear that a query has ended: {}",
                why.error
            ),
        }
    }

    async fn request(
        &self,
        method: Method,
        id: &QueryId,
        fill: impl FnOnce(RequestBuilder) -> RequestBuilder,
    ) -> Result<Response, QueryFailed> {
        let answered = tokio::time::timeout(self.within, async {
            let client = self.http.get_or_try_init(|| client(&self.url)).await;
            let client = client.map_err(|error| unreachable(&error))?;
            let mut request = fill(client.request(method, self.url_of(id)));
            if let Some(credential) = &self.credential {
                request = request.bearer_auth(credential.text());
            }
            let response = request.send().await;
            response.map_err(|error| unreachable(&outgoing::last_cause(&error)))
        });
        let late = |_| unavailable(format!("Agent did not answer within {:?}", self.within));
        answered.await.map_err(late)?
    }

    fn url_of(&self, id: &QueryId) -> Url {
        let mut url = self.url.clone();
        if let Ok(mut path) = url.path_segments_mut() {
            path.push(id.as_str());
        }
        url
    }
}

fn unreachable(cause: &str) -> QueryFailed {
    unavailable(format!("Agent cannot be reached: {cause}"))
}

fn unavailable(error: String) -> QueryFailed {
    let remedy = "see that the agent runs and that `agent_url` is its address";
    QueryFailed::new(ErrorCode::AgentUnavailable, error, Some(remedy))
}

async fn client(url: &Url) -> Result<reqwest::Client, String> {
    let url = url.clone();
    let made = tokio::task::spawn_blocking(move || outgoing::client(&url)).await;
    made.map_err(|error| error.to_string())?
}
