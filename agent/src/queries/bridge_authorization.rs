//! Authorization of frontends: a frontend sends a query with the token of its session, and the
//! bridge decides whether it may, and issues the token of the query.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use agent_tools::AgentFailure;
use bridge_protocol::{ErrorCode, Query, QueryCaller, QueryId, QueryTool, SessionId};
use bridge_settings::Secret;
use bridge_settings::parse_credential;
use http::StatusCode;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tokio::sync::oneshot;

use super::running_queries::{QueryPermit, RunningQueries, shutting_down};
use crate::bridge::{BridgeId, QueryReporter};

/// How long the bridge may take to open a query.
const AUTHORIZATION_TIMEOUT: Duration = Duration::from_secs(10);

/// How much earlier than the bridge the agent ends a query. The reader then receives the reason
/// instead of a failure about a query that the bridge no longer knows.
const EXPIRY_MARGIN: Duration = Duration::from_secs(1);

/// The request to open a query. It contains the fields that the bridge must enforce, but neither
/// the prompt nor the context.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct OpenQueryRequest {
    #[serde(skip_serializing_if = "Option::is_none")]
    session_id: Option<SessionId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_tool: Option<QueryTool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tools: Option<Vec<QueryTool>>,
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
    fn into_authorized_query(
        self,
        queries: &Arc<RunningQueries>,
        bridge: BridgeId,
        id: &QueryId,
    ) -> Option<AuthorizedQuery> {
        let lifetime = Duration::try_from_secs_f64(self.expires_in).ok()?;
        let token = parse_credential(&self.token).ok()?;
        Some(AuthorizedQuery {
            timeout: lifetime.saturating_sub(EXPIRY_MARGIN),
            caller: self.caller.map(|it| queries.bridges.qualify(bridge, it)),
            open_query: OpenQuery::new(queries, bridge, &token, id),
            token,
        })
    }
}

/// A query that the bridge has opened for a frontend.
pub(crate) struct AuthorizedQuery {
    /// The token of the query.
    pub(crate) token: Secret,
    /// How long the agent may take to answer it.
    pub(crate) timeout: Duration,
    /// The caller.
    pub(crate) caller: Option<QueryCaller>,
    pub(super) open_query: OpenQuery,
}

/// A query that the bridge has opened, and that is not answered yet. Dropping it cancels the query
/// at the bridge, which would otherwise count it until its timeout: a frontend can disconnect at
/// any time.
pub(super) struct OpenQuery {
    queries: Arc<RunningQueries>,
    /// `None` once the query is answered, which ends with a report to the bridge.
    reporter: Option<QueryReporter>,
}

impl OpenQuery {
    fn new(queries: &Arc<RunningQueries>, bridge: BridgeId, token: &Secret, id: &QueryId) -> Self {
        let client = &queries.bridges.get(bridge).client;
        Self {
            queries: Arc::clone(queries),
            reporter: Some(QueryReporter::new(client, token, id)),
        }
    }

    /// The query is answered from now on.
    pub(super) fn start(mut self) {
        self.reporter = None;
    }
}

impl Drop for OpenQuery {
    fn drop(&mut self) {
        // Without a runtime the agent has ended.
        if let Some(reporter) = self.reporter.take()
            && let Ok(runtime) = tokio::runtime::Handle::try_current()
        {
            let cancelling = async move {
                let reason = "nobody waits for the answer any more";
                // It fails if the query has ended at the bridge.
                let _ = reporter.cancel(Some(reason)).await;
            };
            self.queries.tasks.spawn_on(cancelling, &runtime);
        }
    }
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
    Failure(AgentFailure),
    /// The bridge refused the query, with a response that is forwarded.
    FromBridge {
        status: StatusCode,
        body: Map<String, Value>,
    },
}

impl QueryPermit {
    /// Asks the bridge to open the query. The token of the frontend, `bearer`, is sent once and not
    /// stored. If the returned future is dropped, the query that the bridge opens is cancelled.
    pub(crate) async fn authorize(
        &self,
        bearer: &Secret,
        query: &Query,
        session_id: Option<SessionId>,
    ) -> Result<AuthorizedQuery, AuthorizationError> {
        let request = OpenQueryRequest {
            session_id,
            response_tool: query.response_tool.clone(),
            tools: query.tools.clone(),
            restrict_tools: query.restrict_tools,
            timeout: query
                .timeout
                .map(|it| it.saturating_add(EXPIRY_MARGIN.as_secs() * 1000)),
        };
        let (sender, authorized) = oneshot::channel();
        let (queries, id, bearer) = (Arc::clone(&self.queries), self.id.clone(), bearer.clone());
        let bridge = self.bridge;
        // A separate task receives what the bridge has opened, even if its caller has stopped
        // waiting.
        self.queries.tasks.spawn(async move {
            let stopping = queries.stopping.clone();
            let opening = open_query(&queries, bridge, &id, &bearer, &request);
            let opened = tokio::select! {
                opened = tokio::time::timeout(AUTHORIZATION_TIMEOUT, opening) => {
                    opened.unwrap_or_else(|_| Err(authorization_timed_out().into()))
                }
                () = stopping.cancelled() => Err(shutting_down().into()),
            };
            // Without a receiver it is dropped, which cancels it.
            let _ = sender.send(opened);
        });
        tokio::select! {
            authorized = authorized => {
                authorized.unwrap_or_else(|_| Err(shutting_down().into()))
            }
            () = self.cancelled.cancelled() => Err(AuthorizationError::Failure(AgentFailure::new(
                ErrorCode::QueryNotActive,
                "the query was cancelled before the bridge had opened it",
            ))),
        }
    }
}

async fn open_query(
    queries: &Arc<RunningQueries>,
    bridge: BridgeId,
    id: &QueryId,
    bearer: &Secret,
    request: &OpenQueryRequest,
) -> Result<AuthorizedQuery, AuthorizationError> {
    let client = &queries.bridges.get(bridge).client;
    let url = client.route(&["query", id.as_str()]);
    let request = client.http().put(url).json(request);
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
        .and_then(|opened| opened.into_authorized_query(queries, bridge, id));
    authorized
        .ok_or_else(|| bridge_unavailable("the bridge answers what this agent cannot read").into())
}

fn bridge_unavailable(message: impl Into<String>) -> AgentFailure {
    AgentFailure::new(ErrorCode::BridgeUnavailable, message)
}

fn authorization_timed_out() -> AgentFailure {
    bridge_unavailable(format!(
        "the bridge did not answer within {AUTHORIZATION_TIMEOUT:?}"
    ))
}

impl From<AgentFailure> for AuthorizationError {
    fn from(failure: AgentFailure) -> Self {
        Self::Failure(failure)
    }
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;

    use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufStream};
    use tokio::net::{TcpListener, TcpStream};
    use tokio::time::Instant;

    use super::*;
    use crate::bridge::AgentBridge;
    use crate::model::{ModelSettings, Provider, from_settings};
    use crate::queries::{QueriesConfig, QueryOwner};
    use bridge_edge::TokenHash;

    /// Returns the queries of an agent whose bridge is at this address.
    fn queries(bridge: SocketAddr, max_queries: usize) -> Arc<RunningQueries> {
        let url = format!("http://{bridge}");
        let settings = ModelSettings {
            provider: Some(Provider::Commands),
            ..ModelSettings::default()
        };
        Arc::new(RunningQueries::new(QueriesConfig::for_test(
            AgentBridge::new(url.parse().unwrap()).unwrap(),
            from_settings(&settings).unwrap(),
            max_queries,
        )))
    }

    fn frontend(token: &str) -> (Secret, QueryOwner) {
        let bearer = Secret::from_trusted(token.to_owned());
        let token = TokenHash::from_token(bearer.expose());
        let owner = QueryOwner::frontend(BridgeId::default(), token);
        (bearer, owner)
    }

    /// Reads the head of a request, and returns its first line.
    async fn read_request(stream: &mut BufStream<TcpStream>) -> String {
        let mut first = String::new();
        stream.read_line(&mut first).await.unwrap();
        let (mut line, mut body_bytes) = (String::new(), 0);
        while line != "\r\n" {
            line.clear();
            stream.read_line(&mut line).await.unwrap();
            if let Some(length) = line.to_lowercase().strip_prefix("content-length:") {
                body_bytes = length.trim().parse().unwrap();
            }
        }
        let mut body = vec![0; body_bytes];
        stream.read_exact(&mut body).await.unwrap();
        first
    }

    #[tokio::test]
    async fn a_query_is_cancelled_at_the_bridge_if_its_frontend_left_while_it_was_opened() {
        let bridge = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let queries = queries(bridge.local_addr().unwrap(), 1);
        let query: Query = serde_json::from_str(r#"{"uuid":"a","prompt":"p"}"#).unwrap();
        let (bearer, owner) = frontend("token");
        let permit = queries.acquire(&query.uuid, owner).unwrap();
        let mut stream = {
            let authorizing = permit.authorize(&bearer, &query, None);
            let accepting = async {
                let (stream, _) = bridge.accept().await.unwrap();
                let mut stream = BufStream::new(stream);
                assert!(read_request(&mut stream).await.starts_with("PUT /query/a "));
                stream
            };
            tokio::select! {
                _ = authorizing => panic!("the bridge has not answered"),
                stream = accepting => stream,
            }
        };
        drop(permit);
        let body = r#"{"token":"0123456789abcdef","expiresIn":60}"#;
        let length = body.len();
        let response = format!("HTTP/1.1 200 OK\r\ncontent-length: {length}\r\n\r\n{body}");
        stream.write_all(response.as_bytes()).await.unwrap();
        stream.flush().await.unwrap();
        let next = read_request(&mut stream).await;
        assert!(next.starts_with("PUT /query/a/cancel "), "{next}");
    }

    #[tokio::test]
    async fn frontends_have_half_of_the_queries() {
        let queries = queries(([127, 0, 0, 1], 9).into(), 4);
        let acquire = |id: &str, owner| queries.acquire(&id.into(), owner);
        let (_, ada) = frontend("ada");
        let (_, bob) = frontend("bob");
        let first = acquire("1", ada).unwrap();
        let _second = acquire("2", bob).unwrap();
        let refused = acquire("3", bob).unwrap_err();
        assert_eq!(refused.code, ErrorCode::QueryLimitExceeded);
        let bridge = QueryOwner::bridge(BridgeId::default());
        let _of_pages = ["4", "5"].map(|id| acquire(id, bridge).unwrap());
        assert!(acquire("6", bridge).is_err(), "all are taken");
        drop(first);
        acquire("3", bob).unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn a_bridge_that_does_not_answer_is_given_up() {
        // It accepts connections and sends nothing.
        let silent_bridge = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let queries = queries(silent_bridge.local_addr().unwrap(), 1);
        let query: Query = serde_json::from_str(r#"{"uuid":"a","prompt":"p"}"#).unwrap();
        let (bearer, owner) = frontend("token");
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
