//! HTTP to one bridge: POST, GET and DELETE of its MCP endpoint, and the meaning of its answers.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::OnceLock;
use std::time::Duration;

use futures_util::StreamExt;
use http::header::{ACCEPT, CONTENT_TYPE, USER_AGENT};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use reqwest::{RequestBuilder, Response, Url};
use serde::Deserialize;
use tokio::time::Instant;

use crate::bearer_token::BearerToken;
use crate::config::Config;
use crate::connect_error::BridgeError;
use crate::event_stream::SseResponse;
use crate::loopback::is_loopback_host;
use crate::message::{self, JsonRpcMessage};
use crate::oversized::BoundedBuffer;
use crate::shared_text::SharedText;
use crate::silence::SilenceLimit;
use crate::tls;
use crate::token_source::TokenSource;
use crate::www_authenticate::WwwAuthenticate;

/// The timeout of a connection attempt. A bridge on this machine accepts within milliseconds; a
/// host that drops packets never does.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);

/// The maximum size of the body of an HTTP error that is read. It may be a JSON-RPC error for the
/// client.
const MAX_REFUSAL_BYTES: usize = 1024 * 1024;

/// How long a bridge may take to resume the stream of a request after a silence, until something
/// arrives on it: the interval of its comments twice, and some time for the network.
const AFTER_SILENCE_TIMEOUT: Duration = Duration::from_secs(10);

/// The slowest upload of a message that is waited for. The bridge is silent meanwhile.
const MIN_UPLOAD_BYTES_PER_SECOND: usize = 16 * 1024;

const MCP_SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");
const PAGE_SESSION: HeaderName = HeaderName::from_static("mcp-web-session");
const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");
/// The header with the protocol version of a request.
pub(crate) const PROTOCOL_VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");

/// By this header the bridge knows that messages become lines on stdout, which clients read only up
/// to some length.
const STDIO_USER_AGENT: &str = concat!("mcp-web-stdio/", env!("CARGO_PKG_VERSION"));

/// The name of commands, which is the name of the client in the page.
pub(crate) const COMMAND_USER_AGENT: &str = concat!("mcp-web/", env!("CARGO_PKG_VERSION"));

/// The HTTP client of one MCP session, or of stateless requests, at one bridge.
pub(crate) struct BridgeHttp {
    http: reqwest::Client,
    url: Url,
    tokens: TokenSource,
    page_session: Option<HeaderValue>,
    max_message_bytes: usize,
    silence: SilenceLimit,
    /// Whether the id of an MCP session is stored. The stateless protocol has no MCP sessions.
    uses_sessions: bool,
    mcp_session: OnceLock<HeaderValue>,
    version: OnceLock<HeaderValue>,
}

/// The answer of the bridge to a message that was posted.
pub(crate) enum PostResponse {
    /// The bridge accepted the message and does not answer it.
    Accepted,
    /// The text of one message.
    Json(String),
    /// A stream of messages.
    Events(Box<SseResponse>),
}

impl BridgeHttp {
    /// Creates a client without connecting.
    pub(crate) fn new(
        config: &Config,
        tokens: TokenSource,
        silence: SilenceLimit,
        uses_sessions: bool,
    ) -> Result<Self, BridgeError> {
        Ok(Self {
            http: http_client(&config.url)?,
            url: config.url.clone(),
            tokens,
            page_session: config.session.clone(),
            max_message_bytes: config.max_message_bytes,
            silence,
            uses_sessions,
            mcp_session: OnceLock::new(),
            version: OnceLock::new(),
        })
    }

    /// Sets the protocol version that `initialize` negotiated. All later requests carry it.
    pub(crate) fn set_version(&self, version: &str) {
        if let Ok(version) = HeaderValue::from_str(version) {
            self.version.get_or_init(|| version);
        }
    }

    /// Returns whether the bridge assigned an MCP session.
    pub(crate) fn has_session(&self) -> bool {
        self.mcp_session.get().is_some()
    }

    /// Posts a message. `headers` are added to those that every request has.
    pub(crate) async fn post(
        &self,
        text: &SharedText,
        headers: HeaderMap,
    ) -> Result<PostResponse, BridgeError> {
        let request = self
            .with_headers(self.http.post(self.url.clone()))
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, "application/json, text/event-stream")
            .headers(headers)
            .body(text.to_bytes());
        let upload_seconds = text.len() / MIN_UPLOAD_BYTES_PER_SECOND;
        let limit = self.silence.limit() + Duration::from_secs(upload_seconds as u64);
        let response = self.send(request, limit).await?;
        if let Some(session) = response.headers().get(MCP_SESSION_ID)
            && self.uses_sessions
        {
            // The answer to `initialize` assigns the id; later answers repeat it.
            self.mcp_session.get_or_init(|| session.clone());
        }
        if !response.status().is_success() {
            return self.read_refusal(response).await;
        }
        match content_type(&response) {
            "application/json" => {
                let body = read_body(response, self.max_message_bytes, &self.silence).await;
                body.map(PostResponse::Json)
            }
            "text/event-stream" => {
                let events = self.sse_response(response, self.silence.limit());
                Ok(PostResponse::Events(Box::new(events)))
            }
            _ if has_no_body(&response) => Ok(PostResponse::Accepted),
            _ => Err(BridgeError::not_mcp()),
        }
    }

    /// Opens the event stream of the MCP session, or resumes any stream after an event. A short wait
    /// is for a stream that fell silent, and includes the wait for the first bytes of its body.
    pub(crate) async fn get(
        &self,
        last_event_id: Option<&str>,
        is_short: bool,
    ) -> Result<SseResponse, BridgeError> {
        let begun = Instant::now();
        let mut max_silence = if is_short {
            AFTER_SILENCE_TIMEOUT
        } else {
            self.silence.limit()
        };
        let mut request = self
            .with_headers(self.http.get(self.url.clone()))
            .header(ACCEPT, "text/event-stream");
        if let Some(id) = last_event_id {
            request = request.header(LAST_EVENT_ID, id);
        }
        let response = self.send(request, max_silence).await?;
        match response.status() {
            StatusCode::NOT_FOUND if self.has_session() => Err(BridgeError::SessionExpired),
            status if !status.is_success() => {
                let (error, _) = read_error(response, &self.silence).await;
                Err(self.tokens.explain(error))
            }
            _ if content_type(&response) == "text/event-stream" => {
                if is_short {
                    max_silence = max_silence.saturating_sub(begun.elapsed());
                }
                Ok(self.sse_response(response, max_silence))
            }
            _ => Err(BridgeError::Refused {
                status: StatusCode::METHOD_NOT_ALLOWED.as_u16(),
                message: None,
            }),
        }
    }

    /// Requests a route beside the MCP endpoint, or the endpoint itself, which has an empty name. It is a POST
    /// if there is a body. `headers` are added to those that every such request has. Returns the JSON of the
    /// response.
    pub(crate) async fn request_route(
        &self,
        route: &str,
        body: Option<String>,
        headers: HeaderMap,
    ) -> Result<String, BridgeError> {
        let url = self.url.join(route);
        let url = url.map_err(|error| BridgeError::InvalidResponse(error.to_string()))?;
        let request = match body {
            None => self.http.get(url),
            Some(body) => {
                let request = self.http.post(url).body(body);
                request.header(CONTENT_TYPE, "application/json")
            }
        };
        let request = request
            .header(ACCEPT, "application/json")
            .header(USER_AGENT, COMMAND_USER_AGENT)
            .headers(headers);
        let response = self.send(request, self.silence.limit()).await?;
        if !response.status().is_success() {
            let (error, _) = read_error(response, &self.silence).await;
            return Err(self.tokens.explain(error));
        }
        match content_type(&response) {
            "application/json" => read_body(response, self.max_message_bytes, &self.silence).await,
            _ => Err(BridgeError::InvalidResponse(
                "its answer is not JSON".to_owned(),
            )),
        }
    }

    fn sse_response(&self, response: Response, max_silence: Duration) -> SseResponse {
        let silence = self.silence.clone();
        SseResponse::new(response, self.max_message_bytes, silence, max_silence)
    }

    /// Sends a request and returns the head of its response. If the bridge refuses a token that a
    /// command prints, and there is another one, the request is sent once more: the bridge has not
    /// executed it.
    async fn send(
        &self,
        request: RequestBuilder,
        max_silence: Duration,
    ) -> Result<Response, BridgeError> {
        let token = self.tokens.token().await?;
        let is_renewed = self.tokens.is_renewed();
        let again = is_renewed.then(|| request.try_clone()).flatten();
        let response = self.send_with(request, &token, max_silence).await?;
        if response.status() == StatusCode::UNAUTHORIZED
            && let Some(again) = again
            && let Some(token) = self.tokens.after_refusal(&token).await
        {
            return self.send_with(again, &token, max_silence).await;
        }
        Ok(response)
    }

    /// Fails after a silence of this length, if the bridge shows life.
    async fn send_with(
        &self,
        request: RequestBuilder,
        token: &BearerToken,
        max_silence: Duration,
    ) -> Result<Response, BridgeError> {
        let request = request.bearer_auth(token.expose());
        match self.silence.within(max_silence, request.send()).await {
            Some(response) => response.map_err(|error| bridge_error(&error)),
            None => Err(BridgeError::ConnectionLost),
        }
    }

    /// Returns the source of the tokens of requests.
    pub(crate) fn tokens(&self) -> &TokenSource {
        &self.tokens
    }

    /// Deletes the MCP session.
    pub(crate) async fn delete(&self) -> Result<(), BridgeError> {
        let request = self.with_headers(self.http.delete(self.url.clone()));
        let token = self.tokens.token().await?;
        let response = request.bearer_auth(token.expose()).send().await;
        response.map_err(|error| bridge_error(&error))?;
        Ok(())
    }

    fn with_headers(&self, request: RequestBuilder) -> RequestBuilder {
        let optional = [
            (PAGE_SESSION, self.page_session.as_ref()),
            (MCP_SESSION_ID, self.mcp_session.get()),
            (PROTOCOL_VERSION, self.version.get()),
        ];
        let mut headers = HeaderMap::new();
        for (name, value) in optional {
            if let Some(value) = value {
                headers.insert(name, value.clone());
            }
        }
        request.headers(headers)
    }

    /// Reads an HTTP error. A body that is a JSON-RPC error is the answer to the message. All other
    /// errors become a [`BridgeError`].
    async fn read_refusal(&self, response: Response) -> Result<PostResponse, BridgeError> {
        let status = response.status();
        if status == StatusCode::NOT_FOUND && self.has_session() {
            return Err(BridgeError::SessionExpired);
        }
        let (error, body) = read_error(response, &self.silence).await;
        if status != StatusCode::UNAUTHORIZED && is_json_rpc_error(&body) {
            return Ok(PostResponse::Json(body));
        }
        Err(self.tokens.explain(error))
    }
}

/// Reads an HTTP error. Returns its meaning and its body.
async fn read_error(response: Response, silence: &SilenceLimit) -> (BridgeError, String) {
    let status = response.status();
    let challenge = WwwAuthenticate::from_headers(response.headers());
    let body = read_body(response, MAX_REFUSAL_BYTES, silence)
        .await
        .unwrap_or_default();
    let error = error_for_status(status, &challenge, &body);
    (error, body)
}

/// Returns whether a body is a JSON-RPC error. The bridge's other errors have a field `error` as
/// well, which is a string.
fn is_json_rpc_error(body: &str) -> bool {
    matches!(
        JsonRpcMessage::parse(body),
        Ok(JsonRpcMessage::Response { is_error: true, .. })
    ) && message::error_code(body).is_some_and(|code| code != 0)
}

/// Translates an HTTP error with the challenge in its header and the bridge's JSON in its body.
fn error_for_status(status: StatusCode, challenge: &WwwAuthenticate, body: &str) -> BridgeError {
    #[derive(Deserialize)]
    struct HttpErrorBody {
        #[serde(default)]
        error: String,
        message: String,
    }
    let body: Option<HttpErrorBody> = serde_json::from_str(body).ok();
    let has_code = |code: &str| body.as_ref().is_some_and(|body| body.error == code);
    match status {
        StatusCode::UNAUTHORIZED if has_code("TokenExpired") => BridgeError::TokenExpired,
        StatusCode::UNAUTHORIZED => BridgeError::TokenRefused,
        StatusCode::FORBIDDEN
            if challenge.is_insufficient_scope || has_code("InsufficientScope") =>
        {
            BridgeError::ScopeMissing(challenge.scope.clone())
        }
        status => BridgeError::Refused {
            status: status.as_u16(),
            message: body.map(|body| body.message),
        },
    }
}

fn content_type(response: &Response) -> &str {
    let header = response.headers().get(CONTENT_TYPE);
    let text = header
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default();
    text.split(';').next().unwrap_or_default().trim()
}

fn has_no_body(response: &Response) -> bool {
    let statuses = [StatusCode::ACCEPTED, StatusCode::NO_CONTENT];
    response.content_length() == Some(0) || statuses.contains(&response.status())
}

async fn read_body(
    response: Response,
    limit: usize,
    silence: &SilenceLimit,
) -> Result<String, BridgeError> {
    let too_large = |bytes| BridgeError::TooLarge { bytes, limit };
    let length = response.content_length().unwrap_or_default();
    if length > limit as u64 {
        return Err(too_large(length));
    }
    let mut body = BoundedBuffer::default();
    let mut chunks = response.bytes_stream();
    loop {
        let chunk = silence.within(silence.limit(), chunks.next()).await;
        let Some(chunk) = chunk.ok_or(BridgeError::ConnectionLost)? else {
            break;
        };
        body.push(&chunk.map_err(|error| bridge_error(&error))?, limit);
    }
    let body = body.finish(limit);
    let body = body.map_err(|oversized| too_large(oversized.bytes))?;
    String::from_utf8(body).map_err(|_| BridgeError::not_mcp())
}

/// Creates an HTTP client for a bridge at this URL.
pub(crate) fn http_client(url: &Url) -> Result<reqwest::Client, BridgeError> {
    let mut builder = reqwest::Client::builder()
        .user_agent(STDIO_USER_AGENT)
        .connect_timeout(CONNECT_TIMEOUT)
        .tcp_keepalive(Duration::from_secs(30))
        .tls_backend_preconfigured(tls::client_config(url.scheme() == "https")?)
        .redirect(reqwest::redirect::Policy::none())
        // Each request has its own connection. If a pooled connection broke because the bridge
        // stopped, it would be unknown whether the bridge executed the call.
        .pool_max_idle_per_host(0);
    if is_loopback_host(url.host_str()) {
        // The proxy in `HTTP_PROXY` is meant for other machines.
        builder = builder.no_proxy();
    }
    if url.host_str() == Some("localhost") {
        // The name may stand for one of the two, while the bridge listens on the other. The port is
        // that of the URL.
        let addresses: [IpAddr; 2] = [Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()];
        let addresses = addresses.map(|address| SocketAddr::new(address, 0));
        builder = builder.resolve_to_addrs("localhost", &addresses);
    }
    builder
        .build()
        .map_err(|error| BridgeError::InvalidResponse(error.to_string()))
}

/// Translates an error below HTTP.
fn bridge_error(error: &reqwest::Error) -> BridgeError {
    if error.is_connect() || error.is_builder() {
        tls::bridge_error(error).unwrap_or(BridgeError::Unreachable)
    } else {
        BridgeError::ConnectionLost
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn http_errors_keep_the_message_of_the_bridge() {
        let error = |status, message: Option<&str>| BridgeError::Refused {
            status,
            message: message.map(str::to_owned),
        };
        let too_large = r#"{"error":"X","message":"too large"}"#;
        for (status, body, expected) in [
            (413, too_large, error(413, Some("too large"))),
            (404, "<html>", error(404, None)),
            (401, "", BridgeError::TokenRefused),
            (
                401,
                r#"{"error":"TokenExpired","message":"x"}"#,
                BridgeError::TokenExpired,
            ),
            (403, r#"{"message":"x"}"#, error(403, Some("x"))),
            (
                403,
                r#"{"error":"InsufficientScope","message":"x"}"#,
                BridgeError::ScopeMissing(None),
            ),
        ] {
            let status = StatusCode::from_u16(status).unwrap();
            assert_eq!(
                error_for_status(status, &WwwAuthenticate::default(), body),
                expected
            );
        }
        assert!(!is_json_rpc_error(too_large));
        assert!(is_json_rpc_error(
            r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700}}"#
        ));
    }
}
