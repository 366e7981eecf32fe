//! The HTTP client for the agent.

use std::collections::VecDeque;
use std::time::Duration;

use bridge_protocol::{ErrorCode, PageToBridge, Query, QueryId};
use reqwest::header::{ACCEPT, CONTENT_TYPE};
use reqwest::{Method, RequestBuilder, Response, StatusCode, Url};
use tokio::sync::{OnceCell, watch};

use super::agent_event;
use crate::agent_queries::agent_event::AgentEvent;
use crate::agent_queries::sse::{Event, SseDecoder};
use crate::config;
use bridge_auth::query_token::QueryToken;
use bridge_realm::realm::QueryError;
use bridge_service::{Secret, http_client};

/// The header with the token that the agent uses to call tools and to report.
const QUERY_TOKEN_HEADER: &str = "mcp-web-query-token";

const EVENT_STREAM: &str = "text/event-stream";

/// The address of an agent.
#[derive(Debug)]
pub(super) enum AgentAddress {
    At(Url),
    /// The agent is being started.
    Starting,
    /// The agent cannot be started.
    Failed,
}

/// A client for the agent that receives the queries.
#[derive(Debug)]
pub(super) struct AgentClient {
    address: watch::Sender<AgentAddress>,
    credential: Option<Secret>,
    timeout: Duration,
    silence_timeout: Duration,
    /// Created at the first query, because loading the root certificates of the system takes time.
    http: OnceCell<reqwest::Client>,
}

impl AgentClient {
    /// Creates the client for the configured agent, or returns `None` if none is configured. An
    /// agent that the bridge runs reports its address when it has started, and gets a random
    /// credential.
    pub(super) fn from_config(config: &config::Agent) -> Option<Self> {
        let (address, credential) = match &config.agent_url {
            _ if config.run_agent => (AgentAddress::Starting, Some(Secret::random())),
            Some(url) => {
                let url = Url::parse(url.as_str()).ok()?;
                (AgentAddress::At(url), config.agent_token.clone())
            }
            None => return None,
        };
        Some(Self {
            address: watch::Sender::new(address),
            credential,
            timeout: config.agent_timeout,
            silence_timeout: config.agent_silence,
            http: OnceCell::new(),
        })
    }

    /// Sets the address of the agent.
    pub(super) fn set_address(&self, address: AgentAddress) {
        self.address.send_replace(address);
    }

    /// Returns the credential that authenticates the bridge to the agent.
    pub(super) fn credential(&self) -> Option<&Secret> {
        self.credential.as_ref()
    }

    /// Sends a query. Any 2xx status accepts it. A response that is an event stream is read until
    /// the end of the query. The body of any other response is ignored: such an agent reports with
    /// requests of its own.
    pub(super) async fn send_query(
        &self,
        query: Query,
        token: Option<QueryToken>,
    ) -> Result<AgentResponse, QueryError> {
        let id = query.uuid.clone();
        let body = PageToBridge::Query(Box::new(query)).encode();
        let build = |request: RequestBuilder| {
            let request = request.header(CONTENT_TYPE, "application/json");
            let request = request.header(ACCEPT, EVENT_STREAM);
            let request = match &token {
                Some(token) => request.header(QUERY_TOKEN_HEADER, token.as_str()),
                None => request,
            };
            request.body(body)
        };
        let response = self.request(Method::PUT, &id, build).await?;
        if !response.status().is_success() {
            return Err(rejected_query(response.status()));
        }
        let media_type = response.headers().get(CONTENT_TYPE);
        let is_event_stream =
            media_type.is_some_and(|it| it.as_bytes().starts_with(EVENT_STREAM.as_bytes()));
        if !is_event_stream {
            return Ok(AgentResponse::Deferred);
        }
        let stream = AgentEventStream::new(response, self.silence_timeout);
        Ok(AgentResponse::Stream(Box::new(stream)))
    }

    /// Notifies the agent that a query has ended. If this fails, the agent finds its token revoked.
    pub(super) async fn cancel_query(&self, id: &QueryId) {
        match self.request(Method::DELETE, id, |request| request).await {
            Ok(response) if response.status().is_success() => {}
            Ok(response) => {
                tracing::debug!(status = %response.status(), "the agent did not stop a query");
            }
            Err(error) => tracing::warn!(
                "the agent could not be notified of the end of a query: {}",
                error.error
            ),
        }
    }

    /// Sends a request about a query, within the configured timeout.
    async fn request(
        &self,
        method: Method,
        id: &QueryId,
        build: impl FnOnce(RequestBuilder) -> RequestBuilder,
    ) -> Result<Response, QueryError> {
        let outcome = tokio::time::timeout(self.timeout, async {
            let url = self.url().await?;
            let client = self.http.get_or_try_init(|| build_client(&url)).await;
            let client = client.map_err(|error| unreachable(&error))?;
            let mut request = build(client.request(method, query_url(url, id)));
            if let Some(credential) = &self.credential {
                request = request.bearer_auth(credential.expose());
            }
            let response = request.send().await;
            response.map_err(|error| unreachable(&http_client::last_cause(&error)))
        });
        let timed_out = |_| unavailable(format!("Agent did not answer within {:?}", self.timeout));
        outcome.await.map_err(timed_out)?
    }

    /// Returns the address of the agent. Waits while the agent is being started.
    async fn url(&self) -> Result<Url, QueryError> {
        let mut address = self.address.subscribe();
        let known = address.wait_for(|address| !matches!(address, AgentAddress::Starting));
        match known.await.as_deref() {
            Ok(AgentAddress::At(url)) => Ok(url.clone()),
            _ => {
                let error = "The agent that the bridge runs cannot start";
                let remedy = "see what it says in the bridge's log";
                let code = ErrorCode::AgentUnavailable;
                Err(QueryError::new(code, error, Some(remedy)))
            }
        }
    }
}

fn query_url(mut url: Url, id: &QueryId) -> Url {
    if let Ok(mut path) = url.path_segments_mut() {
        path.push(id.as_str());
    }
    url
}

/// How an agent responds to a query that it has accepted.
#[derive(Debug)]
pub(super) enum AgentResponse {
    /// The agent reports with requests of its own, as agents of mcp-web 0.1 do.
    Deferred,
    /// The response is a stream of events for the page.
    Stream(Box<AgentEventStream>),
}

/// The event stream of an agent. Dropping it closes the connection.
#[derive(Debug)]
pub(super) struct AgentEventStream {
    response: Response,
    silence_timeout: Duration,
    decoder: SseDecoder,
    events: VecDeque<Event>,
}

impl AgentEventStream {
    fn new(response: Response, silence_timeout: Duration) -> Self {
        Self {
            response,
            silence_timeout,
            decoder: SseDecoder::default(),
            events: VecDeque::new(),
        }
    }

    /// Returns the next event of this query. A stream that ends before its query is an error.
    pub(super) async fn next(&mut self, id: &QueryId) -> Result<AgentEvent, QueryError> {
        loop {
            if let Some(event) = self.events.pop_front() {
                return agent_event::parse(&event, id);
            }
            let chunk = tokio::time::timeout(self.silence_timeout, self.response.chunk()).await;
            let bytes = match chunk {
                Ok(Ok(Some(bytes))) => bytes,
                Ok(Ok(None)) => {
                    return Err(stream_lost("The agent ended its stream before the query"));
                }
                Ok(Err(error)) => {
                    let cause = http_client::last_cause(&error);
                    return Err(stream_lost(&format!(
                        "The stream of the agent broke: {cause}"
                    )));
                }
                Err(_) => {
                    let timeout = self.silence_timeout;
                    return Err(stream_lost(&format!(
                        "The agent said nothing for {timeout:?}"
                    )));
                }
            };
            let decoded = self
                .decoder
                .decode(&bytes, |event| self.events.push_back(event));
            decoded.map_err(|too_long| {
                QueryError::new(ErrorCode::AgentFailed, too_long.message(), None)
            })?;
        }
    }

    /// Reads and discards the rest of the stream, until the agent ends it.
    pub(super) async fn drain(&mut self) {
        while let Ok(Some(_)) = self.response.chunk().await {}
    }
}

fn stream_lost(error: &str) -> QueryError {
    let remedy = "ask again, and see the agent's log";
    QueryError::new(ErrorCode::AgentUnavailable, error, Some(remedy))
}

/// The error for a status other than 2xx.
fn rejected_query(status: StatusCode) -> QueryError {
    let reason = status.canonical_reason().unwrap_or_default();
    let error = format!("Agent responded with {}: {reason}", status.as_u16());
    let (code, remedy) = match status {
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => (
            ErrorCode::AgentUnavailable,
            "the agent refuses the bridge's credential: give both the same (`agent_token`)",
        ),
        StatusCode::CONFLICT => (
            ErrorCode::QueryCompleted,
            "the agent knows this uuid: ask with a new one",
        ),
        StatusCode::TOO_MANY_REQUESTS => (
            ErrorCode::QueryLimitExceeded,
            "the agent has as many queries as it may have: ask again later",
        ),
        StatusCode::PAYLOAD_TOO_LARGE => (
            ErrorCode::RequestTooLarge,
            "ask with less context, or raise `max_body_bytes` of the agent",
        ),
        StatusCode::BAD_REQUEST | StatusCode::UNPROCESSABLE_ENTITY => (
            ErrorCode::AgentFailed,
            "the agent does not accept this query: see its documentation and its log",
        ),
        _ => return unavailable(error),
    };
    QueryError::new(code, error, Some(remedy))
}

fn unreachable(cause: &str) -> QueryError {
    unavailable(format!("Agent cannot be reached: {cause}"))
}

fn unavailable(error: String) -> QueryError {
    let remedy = "see that the agent runs and that `agent_url` is its address";
    QueryError::new(ErrorCode::AgentUnavailable, error, Some(remedy))
}

async fn build_client(url: &Url) -> Result<reqwest::Client, String> {
    let url = url.clone();
    let built = tokio::task::spawn_blocking(move || http_client::build(&url)).await;
    built.map_err(|error| error.to_string())?
}
