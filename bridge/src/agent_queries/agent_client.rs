//! The HTTP client for the agent.

mod event_stream;

use std::time::Duration;

use bridge_protocol::{
    ErrorCode, PageToBridge, QUERY_CALLER_HEADER, Query, QueryCaller, QueryId, TraceContext,
};
use bytes::Bytes;
use reqwest::header::{ACCEPT, CONTENT_TYPE};
use reqwest::{Method, RequestBuilder, Response, StatusCode, Url};
use serde::Deserialize;
use tokio::sync::{OnceCell, watch};

use super::media_type;
use crate::config;
use bridge_auth::query_token::QueryToken;
use bridge_edge::body::{self, BodyError};
use bridge_edge::http_client;
use bridge_realm::realm::QueryError;
use bridge_settings::Secret;

pub(super) use event_stream::AgentEventStream;

/// The header with the token that the agent uses to call tools and to report.
const QUERY_TOKEN_HEADER: &str = "mcp-web-query-token";

/// The segment of the path of an agent below which the approvals of a query are.
const APPROVALS: &str = "approvals";

/// The last segment of the path of an agent's conversations, beside that for queries.
const CONVERSATIONS: &str = "conversations";

/// The largest answer to a request for conversations, in bytes.
const MAX_CONVERSATION_BYTES: usize = 8 * 1024 * 1024;

/// The largest response with an agent's reason for not accepting a query, in bytes.
const MAX_REFUSAL_BYTES: usize = 16 * 1024;

/// The maximum length of that reason, in characters.
const MAX_REFUSAL_CHARS: usize = 500;

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

/// The data that the agent receives with a query.
#[derive(Debug)]
pub(super) struct QueryCredentials {
    /// The token with which it calls tools and reports.
    pub(super) token: Option<QueryToken>,
    /// The caller of the query.
    pub(super) caller: QueryCaller,
}

/// A client for an agent that receives queries.
#[derive(Debug)]
pub(super) struct AgentClient {
    address: watch::Sender<AgentAddress>,
    /// The credential of the requests that begin from now on.
    credential: watch::Sender<Option<Secret>>,
    timeout: Duration,
    silence_timeout: Duration,
    /// Created at the first query, because loading the root certificates of the system takes time.
    http: OnceCell<reqwest::Client>,
}

impl AgentClient {
    /// Creates the client for an agent with this URL. `credential` is the one that the operator has set.
    pub(super) fn at(
        url: &config::AgentUrl,
        config: &config::Agent,
        credential: Option<Secret>,
    ) -> Option<Self> {
        let url = Url::parse(url.as_str()).ok()?;
        Some(Self::new(AgentAddress::At(url), config, credential))
    }

    /// Creates the client for an agent that the bridge runs. It reports its address when it has started,
    /// and gets a random credential.
    pub(super) fn starting(config: &config::Agent) -> Self {
        Self::new(AgentAddress::Starting, config, Some(Secret::random()))
    }

    fn new(address: AgentAddress, config: &config::Agent, credential: Option<Secret>) -> Self {
        Self {
            address: watch::Sender::new(address),
            credential: watch::Sender::new(credential),
            timeout: config.agent_timeout,
            silence_timeout: config.agent_silence,
            http: OnceCell::new(),
        }
    }

    /// Sets the address of the agent.
    pub(super) fn set_address(&self, address: AgentAddress) {
        self.address.send_replace(address);
    }

    /// Returns the credential that authenticates the bridge to the agent.
    pub(super) fn credential(&self) -> Option<Secret> {
        self.credential.borrow().clone()
    }

    /// Sets the credential of the requests that begin from now on. Queries that run are not affected:
    /// their agent has accepted the former one.
    pub(super) fn set_credential(&self, credential: Secret) {
        self.credential.send_replace(Some(credential));
    }

    /// Sends a query of a trace. Any 2xx status accepts it. A response that is an event stream is read until
    /// the end of the query. The body of any other response is ignored: such an agent reports with
    /// separate requests.
    pub(super) async fn send_query(
        &self,
        query: Query,
        credentials: QueryCredentials,
        trace: Option<TraceContext>,
    ) -> Result<AgentResponse, QueryError> {
        let id = query.uuid.clone();
        let body = PageToBridge::Query(Box::new(query)).encode();
        let build = |request: RequestBuilder| {
            let request = request.header(CONTENT_TYPE, "application/json");
            let request = request.header(ACCEPT, EVENT_STREAM);
            let request = request.header(QUERY_CALLER_HEADER, credentials.caller.to_header());
            let request = match &credentials.token {
                Some(token) => request.header(QUERY_TOKEN_HEADER, token.as_str()),
                None => request,
            };
            let trace = trace.iter().flat_map(TraceContext::headers);
            let request = trace.fold(request, |request, (name, value)| {
                request.header(name, value)
            });
            request.body(body)
        };
        let response = self
            .request(Method::PUT, |url| query_url(url, &id), build)
            .await?;
        if !response.status().is_success() {
            let status = response.status();
            return Err(rejected_query(status, self.read_refusal(response).await));
        }
        if !media_type::is(response.headers(), EVENT_STREAM) {
            return Ok(AgentResponse::Deferred);
        }
        let stream = AgentEventStream::new(response, self.silence_timeout);
        Ok(AgentResponse::Stream(Box::new(stream)))
    }

    /// Notifies the agent that a query has ended. If this fails, the agent finds its token revoked.
    pub(super) async fn cancel_query(&self, id: &QueryId) {
        let url = |url| query_url(url, id);
        match self.request(Method::DELETE, url, |request| request).await {
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

    /// Sends the answer of a person to a request for approval. An agent that does not wait for it any
    /// more (404) has received it all the same.
    pub(super) async fn send_approval(
        &self,
        id: &QueryId,
        call: &str,
        approved: bool,
    ) -> Result<(), QueryError> {
        let url = |url| append(query_url(url, id), [APPROVALS, call]);
        let body = format!(r#"{{"approved":{approved}}}"#);
        let build = |request: RequestBuilder| {
            let request = request.header(CONTENT_TYPE, "application/json");
            request.body(body)
        };
        let status = self.request(Method::PUT, url, build).await?.status();
        if status.is_success() || status == StatusCode::NOT_FOUND {
            Ok(())
        } else {
            Err(rejected_query(status, Refusal::default()))
        }
    }

    /// Reads why the agent does not accept a query. The reason is empty if it does not arrive in
    /// time, is too long, or does not have the form of `mcp-web agent`.
    async fn read_refusal(&self, response: Response) -> Refusal {
        let body = http::Response::<reqwest::Body>::from(response).into_body();
        let read = body::read_to_end_limited(body, MAX_REFUSAL_BYTES);
        let body = tokio::time::timeout(self.timeout, read).await;
        let refusal = body.ok().and_then(Result::ok).map(body::repair_surrogates);
        let refusal = refusal.and_then(|body| serde_json::from_slice(&body).ok());
        refusal.unwrap_or_default()
    }

    /// Sends a request for all conversations of the caller or for one of them, and reads the answer
    /// within the configured timeout. `has_room` receives the number of bytes that have arrived
    /// before they are stored.
    pub(super) async fn fetch_conversations(
        &self,
        method: Method,
        conversation: Option<&str>,
        caller: &QueryCaller,
        has_room: impl FnMut(usize) -> bool,
    ) -> Result<AgentAnswer, QueryError> {
        let url = |url| append(conversations_url(url), conversation);
        let build =
            |request: RequestBuilder| request.header(QUERY_CALLER_HEADER, caller.to_header());
        let exchange = async {
            let response = self.request(method, url, build).await?;
            let response = http::Response::<reqwest::Body>::from(response);
            let (parts, body) = response.into_parts();
            let read = body::read_to_end_with_room(body, MAX_CONVERSATION_BYTES, has_room);
            let body = read.await.map_err(unreadable_answer)?;
            let body = body::repair_surrogates(body);
            Ok(AgentAnswer { parts, body })
        };
        let outcome = tokio::time::timeout(self.timeout, exchange).await;
        outcome.map_err(|_| self.timed_out())?
    }

    /// Sends a request within the configured timeout. `url` builds its URL from that of the agent.
    async fn request(
        &self,
        method: Method,
        build_url: impl FnOnce(Url) -> Url,
        build: impl FnOnce(RequestBuilder) -> RequestBuilder,
    ) -> Result<Response, QueryError> {
        let outcome = tokio::time::timeout(self.timeout, async {
            let url = self.url().await?;
            let client = self.http.get_or_try_init(|| build_client(&url)).await;
            let client = client.map_err(|error| unreachable(&error))?;
            let mut request = build(client.request(method, build_url(url)));
            if let Some(credential) = &*self.credential.borrow() {
                request = request.bearer_auth(credential.expose());
            }
            let response = request.send().await;
            response.map_err(|error| unreachable(&http_client::last_cause(&error)))
        });
        outcome.await.map_err(|_| self.timed_out())?
    }

    fn timed_out(&self) -> QueryError {
        unavailable(format!("Agent did not answer within {:?}", self.timeout))
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

/// The URL of a query.
fn query_url(url: Url, id: &QueryId) -> Url {
    append(url, [id.as_str()])
}

/// The URL of the conversations, which is beside that of the agent for queries.
fn conversations_url(mut url: Url) -> Url {
    if let Ok(mut path) = url.path_segments_mut() {
        path.pop().push(CONVERSATIONS);
    }
    url
}

/// Appends segments to the path of a URL, and encodes them.
fn append<'a>(mut url: Url, segments: impl IntoIterator<Item = &'a str>) -> Url {
    if let Ok(mut path) = url.path_segments_mut() {
        path.extend(segments);
    }
    url
}

/// The answer of an agent to a request for conversations.
#[derive(Debug)]
pub(super) struct AgentAnswer {
    pub(super) parts: http::response::Parts,
    pub(super) body: Bytes,
}

fn unreadable_answer(error: BodyError) -> QueryError {
    let (error, remedy) = match error {
        BodyError::TooLarge => (
            format!("The agent's answer has more than {MAX_CONVERSATION_BYTES} bytes"),
            "delete the conversation, or ask for another",
        ),
        BodyError::NoRoom => {
            let error = "There is no memory for the agent's answer".to_owned();
            let remedy = "retry later, or raise `max_memory_bytes`";
            return QueryError::new(ErrorCode::MemoryLimitExceeded, error, Some(remedy));
        }
        BodyError::TimedOut => ("The agent's answer came too slowly".to_owned(), "retry"),
        BodyError::Unreadable(cause) => {
            return unavailable(format!("The agent's answer broke: {cause}"));
        }
    };
    QueryError::new(ErrorCode::AgentFailed, error, Some(remedy))
}

/// How an agent responds to a query that it has accepted.
#[derive(Debug)]
pub(super) enum AgentResponse {
    /// The agent reports with separate requests, as agents of mcp-web 0.1 do.
    Deferred,
    /// The response is a stream of events for the page.
    Stream(Box<AgentEventStream>),
}

/// Why an agent does not accept a query. Agents of mcp-web 0.1 do not send it in this form.
#[derive(Debug, Default, Deserialize)]
struct Refusal {
    #[serde(default)]
    code: Option<String>,
    #[serde(default)]
    message: Option<String>,
}

impl Refusal {
    fn message(&self) -> Option<String> {
        let message = self.message.as_deref().filter(|it| !it.trim().is_empty())?;
        Some(message.chars().take(MAX_REFUSAL_CHARS).collect())
    }
}

/// The error for a status other than 2xx. Where the agent knows best, its own words take the place of
/// those of the bridge.
fn rejected_query(status: StatusCode, refusal: Refusal) -> QueryError {
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
        StatusCode::BAD_REQUEST | StatusCode::UNPROCESSABLE_ENTITY => {
            let remedy = "the agent does not accept this query: see its documentation and its log";
            let reason = refusal.message().unwrap_or_else(|| remedy.to_owned());
            return QueryError::from_agent(error, Some(reason), refusal.code.as_deref());
        }
        _ => return unavailable(error),
    };
    let is_about_credential = code == ErrorCode::AgentUnavailable;
    let message = refusal.message().filter(|_| !is_about_credential);
    QueryError::new(code, error, Some(message.as_deref().unwrap_or(remedy)))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_below_and_beside_that_of_the_agent() {
        let url = |text| Url::parse(text).unwrap();
        let query = query_url(url("http://a:1/v1/ask"), &QueryId::from("q-1"));
        assert_eq!(query.as_str(), "http://a:1/v1/ask/q-1");
        let approval = append(query, [APPROVALS, "a/b ?#%2e\\é"]);
        assert_eq!(
            approval.as_str(),
            "http://a:1/v1/ask/q-1/approvals/a%2Fb%20%3F%23%252e%5C%C3%A9"
        );
        for (agent, conversations) in [
            ("http://a:1/query", "http://a:1/conversations"),
            ("http://a:1/v1/ask", "http://a:1/v1/conversations"),
        ] {
            let all = conversations_url(url(agent));
            assert_eq!(all.as_str(), conversations);
            let one = append(all, Some("c/1"));
            assert_eq!(one.as_str(), format!("{conversations}/c%2F1"));
        }
    }

    #[test]
    fn the_words_of_an_agent_that_refuses_a_query_are_passed_on() {
        let refuse = |status: u16, body: serde_json::Value| {
            let refusal = serde_json::from_value(body).unwrap();
            rejected_query(StatusCode::from_u16(status).unwrap(), refusal)
        };
        let refusal_body =
            |code: &str| serde_json::json!({ "error": code, "code": code, "message": "m" });
        for (status, code, expected) in [
            (400, "ProtocolViolation", ErrorCode::ProtocolViolation),
            (400, "OriginNotAllowed", ErrorCode::AgentFailed),
            (409, "QueryCompleted", ErrorCode::QueryCompleted),
            (413, "RequestTooLarge", ErrorCode::RequestTooLarge),
            (429, "QueryLimitExceeded", ErrorCode::QueryLimitExceeded),
        ] {
            let error = refuse(status, refusal_body(code));
            assert_eq!((error.code, error.reason.as_deref()), (expected, Some("m")));
        }
        for status in [401, 403, 500] {
            let error = refuse(status, refusal_body("ProtocolViolation"));
            assert_eq!(error.code, ErrorCode::AgentUnavailable);
            assert_ne!(error.reason.as_deref(), Some("m"));
        }
        let long = serde_json::json!({ "message": "x".repeat(MAX_REFUSAL_CHARS + 1) });
        let reason = refuse(429, long).reason.unwrap();
        assert_eq!(reason.len(), MAX_REFUSAL_CHARS);
    }
}
