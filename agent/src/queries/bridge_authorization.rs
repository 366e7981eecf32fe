//! Authorization of frontends: a frontend sends a query with the token of its session, and the
//! bridge decides whether it may, and issues the token of the query.

use std::fmt;
use std::time::Duration;

use bridge_protocol::{ErrorCode, Query, QueryCaller, QueryTool, SessionId};
use bridge_service::Secret;
use bridge_service::values::parse_credential;
use http::StatusCode;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::registry::{QueryPermit, shutting_down};
use crate::bridge::BridgeClient;
use crate::failure::Failure;

/// How long the bridge may take to open a query.
const AUTHORIZATION_TIMEOUT: Duration = Duration::from_secs(10);

/// How much earlier than the bridge the agent ends a query. The reader then receives the reason
/// instead of a failure about a query that the bridge no longer knows.
const EXPIRY_MARGIN: Duration = Duration::from_secs(1);

/// The request to open a query. It contains the fields that the bridge must enforce, but neither
/// the prompt nor the context.
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

/// The response of a bridge that has opened a query.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct OpenQueryResponse {
    token: String,
    /// In seconds.
    expires_in: f64,
    #[serde(default)]
    caller: Option<QueryCaller>,
}

impl OpenQueryResponse {
    fn into_authorized_query(self) -> Option<AuthorizedQuery> {
        let lifetime = Duration::try_from_secs_f64(self.expires_in).ok()?;
        Some(AuthorizedQuery {
            token: parse_credential(&self.token).ok()?,
            timeout: lifetime.saturating_sub(EXPIRY_MARGIN),
            caller: self.caller,
        })
    }
}

/// A query that the bridge has opened for a frontend.
pub(crate) struct AuthorizedQuery {
    /// The token of the query.
    pub(crate) token: Secret,
    /// How long the agent may take to answer it.
    pub(crate) timeout: Duration,
    /// Who asks.
    pub(crate) caller: Option<QueryCaller>,
}

impl fmt::Debug for AuthorizedQuery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AuthorizedQuery({:?})", self.timeout)
    }
}

/// Why a query was not opened.
#[derive(Debug)]
pub(crate) enum AuthorizationError {
    /// The bridge could not be reached, or its response cannot be used.
    Failure(Failure),
    /// The bridge refused the query, with a response that is forwarded.
    FromBridge {
        status: StatusCode,
        body: Map<String, Value>,
    },
}

impl QueryPermit {
    /// Asks the bridge to open the query. The token of the frontend, `bearer`, is sent once and not
    /// stored.
    pub(crate) async fn authorize(
        &self,
        bearer: &Secret,
        query: &Query,
        session_id: Option<SessionId>,
    ) -> Result<AuthorizedQuery, AuthorizationError> {
        let request = OpenQueryRequest {
            session_id,
            response_tool: query.response_tool.as_ref(),
            tools: query.tools.as_deref(),
            restrict_tools: query.restrict_tools,
            timeout: query
                .timeout
                .map(|it| it.saturating_add(EXPIRY_MARGIN.as_secs() * 1000)),
        };
        let authorized = tokio::time::timeout(
            AUTHORIZATION_TIMEOUT,
            open_query(&self.queries.bridge, &self.id.0, bearer, &request),
        );
        tokio::select! {
            authorized = authorized => {
                authorized.unwrap_or_else(|_| Err(authorization_timed_out().into()))
            }
            () = self.cancelled.cancelled() => Err(AuthorizationError::Failure(Failure::new(
                ErrorCode::QueryNotActive,
                "the query was cancelled before the bridge had opened it",
            ))),
            () = self.queries.stopping.cancelled() => Err(shutting_down().into()),
        }
    }
}

async fn open_query(
    bridge: &BridgeClient,
    uuid: &str,
    bearer: &Secret,
    request: &OpenQueryRequest<'_>,
) -> Result<AuthorizedQuery, AuthorizationError> {
    let url = bridge.route(&["query", uuid]);
    let request = bridge.http().put(url).json(request);
    let response = request.bearer_auth(bearer.expose()).send();
    let response = response.await.map_err(|_| {
        bridge_unavailable("the bridge cannot be reached")
            .with_remedy("check that it runs at `bridge_url`")
    })?;
    let status = response.status();
    let body = response
        .bytes()
        .await
        .map_err(|_| bridge_unavailable("the response of the bridge broke off"))?;
    if status.is_client_error()
        && let Ok(mut body) = serde_json::from_slice::<Map<String, Value>>(&body)
    {
        // The bridge has the code only in `error`.
        if let Some(code) = body.get("error").filter(|_| !body.contains_key("code")) {
            body.insert("code".to_owned(), code.clone());
        }
        return Err(AuthorizationError::FromBridge { status, body });
    }
    if !status.is_success() {
        let message = format!(
            "the bridge did not open the query: HTTP {}",
            status.as_u16()
        );
        return Err(bridge_unavailable(message).into());
    }
    let authorized = serde_json::from_slice::<OpenQueryResponse>(&body)
        .ok()
        .and_then(OpenQueryResponse::into_authorized_query);
    authorized
        .ok_or_else(|| bridge_unavailable("the bridge answers what this agent cannot read").into())
}

fn bridge_unavailable(message: impl Into<String>) -> Failure {
    Failure::new(ErrorCode::BridgeUnavailable, message)
}

fn authorization_timed_out() -> Failure {
    bridge_unavailable(format!(
        "the bridge did not answer within {AUTHORIZATION_TIMEOUT:?}"
    ))
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
    use crate::config::{ConversationSettings, Limits};
    use crate::conversations::Conversations;
    use crate::credential::TokenHash;
    use crate::model::{ModelSettings, Provider, from_settings};
    use crate::queries::{Queries, QueriesConfig, QueryOwner};

    #[tokio::test(start_paused = true)]
    async fn a_bridge_that_does_not_answer_is_given_up() {
        // It accepts connections and sends nothing.
        let silent_bridge = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", silent_bridge.local_addr().unwrap());
        let bridge = BridgeClient::new(url.parse().unwrap()).unwrap();
        let settings = ModelSettings {
            provider: Some(Provider::Commands),
            ..ModelSettings::default()
        };
        let model = from_settings(&settings).unwrap();
        let queries = Arc::new(Queries::new(QueriesConfig {
            bridge,
            model,
            system_prompt: String::new(),
            limits: Limits::default(),
            max_queries: 1,
            conversations: Conversations::open(&ConversationSettings::default()).unwrap(),
        }));
        let query: Query = serde_json::from_str(r#"{"uuid":"a","prompt":"p"}"#).unwrap();
        let bearer = Secret::from_trusted("token".to_owned());
        let owner = QueryOwner::Frontend(TokenHash::new(&bearer));
        let permit = queries.acquire(&query.uuid, owner).unwrap();
        let started = Instant::now();
        let error = permit.authorize(&bearer, &query, None).await.unwrap_err();
        assert!(format!("{error:?}").contains("did not answer within 10s"));
        assert_eq!(started.elapsed(), AUTHORIZATION_TIMEOUT);
        // A query that was refused may be sent again with its uuid.
        drop(permit);
        assert!(queries.acquire(&query.uuid, owner).is_ok());
        assert_eq!(queries.running_count(), 0);
    }
}
