//! Direct use: a frontend asks with the token of its session, and the bridge says whether it may and
//! what the query's own token is.

use std::fmt;
use std::time::Duration;

use bridge_protocol::{ErrorCode, Query, QueryTool, SessionId};
use bridge_service::Secret;
use bridge_service::values::parse_credential;
use bytes::Bytes;
use http::StatusCode;
use serde::{Deserialize, Serialize};

use super::QueryPermit;
use crate::bridge::BridgeClient;
use crate::failure::Failure;

/// The bridge must answer within this.
const AUTHORIZATION_TIMEOUT: Duration = Duration::from_secs(10);

/// The agent ends a query so long before the bridge would: then its reader hears why, and not that the
/// bridge does not know the query any more.
const EXPIRY_MARGIN: Duration = Duration::from_secs(1);

/// What the bridge opens a query with: what it must enforce, and neither prompt nor context.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct OpenQueryRequest<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    session_id: Option<SessionId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_tool: Option<&'a QueryTool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tools: Option<&'a [QueryTool]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    restrict_tools: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    timeout: Option<u64>,
}

/// What the bridge answers.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct OpenQueryResponse {
    token: String,
    /// Seconds.
    expires_in: f64,
}

/// The bridge has opened the query.
pub(crate) struct AuthorizedQuery {
    /// The query's own.
    pub(crate) token: Secret,
    /// How long the agent has for it.
    pub(crate) timeout: Duration,
}

impl fmt::Debug for AuthorizedQuery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Granted({:?})", self.timeout)
    }
}

/// Why it has not.
#[derive(Debug)]
pub(crate) enum AuthorizationError {
    /// It cannot be asked.
    Failure(Failure),
    /// It says no, in words of its own.
    FromBridge { status: StatusCode, body: Bytes },
}

impl QueryPermit {
    /// Asks the bridge with the token of the frontend, which is not kept.
    pub(crate) async fn authorize(
        &self,
        bearer: &Secret,
        query: &Query,
        session_id: Option<SessionId>,
    ) -> Result<AuthorizedQuery, AuthorizationError> {
        let opening = OpenQueryRequest {
            session_id,
            response_tool: query.response_tool.as_ref(),
            tools: query.tools.as_deref(),
            restrict_tools: query.restrict_tools,
            timeout: query
                .timeout
                .map(|it| it.saturating_add(EXPIRY_MARGIN.as_secs() * 1000)),
        };
        let opened = tokio::time::timeout(
            AUTHORIZATION_TIMEOUT,
            open_query(&self.queries.bridge, &self.id.0, bearer, &opening),
        );
        tokio::select! {
            opened = opened => opened.unwrap_or_else(|_| Err(authorization_timed_out())),
            () = self.cancelled.cancelled() => Err(AuthorizationError::Failure(Failure::new(
                ErrorCode::QueryNotActive,
                "the query was cancelled before the bridge had opened it",
            ))),
            () = self.queries.stopping.cancelled() => Err(AuthorizationError::Failure(super::shutting_down())),
        }
    }
}

async fn open_query(
    bridge: &BridgeClient,
    uuid: &str,
    bearer: &Secret,
    opening: &OpenQueryRequest<'_>,
) -> Result<AuthorizedQuery, AuthorizationError> {
    let url = bridge.route(&["query", uuid]);
    let asked = bridge.http().put(url).bearer_auth(bearer.expose());
    let response = asked.json(opening).send().await.map_err(|_| {
        bridge_unavailable("the bridge cannot be reached")
            .with_remedy("see that it runs at `bridge_url`")
    })?;
    let status = response.status();
    let body = response
        .bytes()
        .await
        .map_err(|_| bridge_unavailable("the answer of the bridge broke off"))?;
    if status.is_client_error() && serde_json::from_slice::<serde::de::IgnoredAny>(&body).is_ok() {
        return Err(AuthorizationError::FromBridge { status, body });
    }
    if !status.is_success() {
        let message = format!(
            "the bridge did not open the query: HTTP {}",
            status.as_u16()
        );
        return Err(bridge_unavailable(message).into());
    }
    let understood = serde_json::from_slice::<OpenQueryResponse>(&body)
        .ok()
        .and_then(|it| {
            let token = parse_credential(&it.token).ok()?;
            let open = Duration::try_from_secs_f64(it.expires_in).ok()?;
            let within = open.saturating_sub(EXPIRY_MARGIN);
            Some(AuthorizedQuery {
                token,
                timeout: within,
            })
        });
    understood
        .ok_or_else(|| bridge_unavailable("the bridge answers what this agent cannot read").into())
}

fn bridge_unavailable(message: impl Into<String>) -> Failure {
    Failure::new(ErrorCode::BridgeUnavailable, message)
}

fn authorization_timed_out() -> AuthorizationError {
    bridge_unavailable(format!(
        "the bridge did not answer within {AUTHORIZATION_TIMEOUT:?}"
    ))
    .into()
}

impl From<Failure> for AuthorizationError {
    fn from(failure: Failure) -> Self {
        Self::Failure(failure)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tokio::net::TcpListener;
    use tokio::time::Instant;

    use super::*;
    use crate::config::Limits;
    use crate::credential::TokenHash;
    use crate::model::{ModelSettings, Provider, from_settings};
    use crate::queries::{Queries, QueryOwner};

    #[tokio::test(start_paused = true)]
    async fn a_bridge_that_does_not_answer_is_given_up() {
        // It accepts connections and says nothing.
        let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", silent.local_addr().unwrap());
        let bridge = BridgeClient::new(url.parse().unwrap()).unwrap();
        let commands = ModelSettings {
            provider: Some(Provider::Commands),
            ..ModelSettings::default()
        };
        let model = from_settings(&commands).unwrap();
        let queries = Arc::new(Queries::new(bridge, model, Limits::default(), 1));
        let query: Query = serde_json::from_str(r#"{"uuid":"a","prompt":"p"}"#).unwrap();
        let bearer = Secret::from_trusted("token".to_owned());
        let asker = QueryOwner::Frontend(TokenHash::new(&bearer));
        let place = queries.acquire(&query.uuid, asker).unwrap();
        let begun = Instant::now();
        let refusal = place.authorize(&bearer, &query, None).await.unwrap_err();
        assert!(format!("{refusal:?}").contains("did not answer within 10s"));
        assert_eq!(begun.elapsed(), AUTHORIZATION_TIMEOUT);
        // What was refused was not asked.
        drop(place);
        assert!(queries.acquire(&query.uuid, asker).is_ok());
        assert_eq!(queries.running_count(), 0);
    }
}
