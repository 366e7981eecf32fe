//! HTTP to one bridge: what is posted, fetched and deleted there, and what its answers mean.

use std::sync::OnceLock;
use std::time::Duration;

use futures_util::StreamExt;
use http::header::{ACCEPT, CONTENT_TYPE};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use reqwest::{RequestBuilder, Response, Url};
use serde::Deserialize;

use crate::config::{Config, Token};
use crate::connect_error::BridgeError;
use crate::message::Message;
use crate::oversized::BoundedBuffer;
use crate::resumable_stream::SseResponse;
use crate::shared_text::SharedText;
use crate::tls;
use crate::www_authenticate::WwwAuthenticate;

/// A bridge on this machine answers in milliseconds; a host that swallows packets never does.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);

/// As much of a refusal's body is read as may be a message for the client.
const MAX_REFUSAL_BYTES: usize = 1024 * 1024;

const MCP_SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");
const PAGE_SESSION: HeaderName = HeaderName::from_static("mcp-web-session");
const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");
pub(crate) const PROTOCOL_VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");

/// One bridge, as seen by one MCP session or by stateless requests.
pub(crate) struct BridgeHttp {
    http: reqwest::Client,
    url: Url,
    token: Token,
    page_session: Option<HeaderValue>,
    max_message_bytes: usize,
    /// Whether MCP sessions are known here: in the stateless era nobody wants the id of one.
    uses_sessions: bool,
    mcp_session: OnceLock<HeaderValue>,
    version: OnceLock<HeaderValue>,
}

/// What the bridge answers to a message.
pub(crate) enum PostResponse {
    Accepted,
    Json(String),
    Events(Box<SseResponse>),
}

impl BridgeHttp {
    pub(crate) fn new(config: &Config, knows_sessions: bool) -> Result<Self, BridgeError> {
        let token = config.token.clone().ok_or(BridgeError::NoToken)?;
        Ok(Self {
            http: http_client(&config.url)?,
            url: config.url.clone(),
            token,
            page_session: config.session.clone(),
            max_message_bytes: config.max_message_bytes,
            uses_sessions: knows_sessions,
            mcp_session: OnceLock::new(),
            version: OnceLock::new(),
        })
    }

    /// The version that `initialize` settled on is sent with each request from now on.
    pub(crate) fn set_version(&self, version: &str) {
        if let Ok(version) = HeaderValue::from_str(version) {
            self.version.get_or_init(|| version);
        }
    }

    pub(crate) fn has_session(&self) -> bool {
        self.mcp_session.get().is_some()
    }

    /// Sends a message. `headers` are those of its own.
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
        let response = request.send().await.map_err(|error| bridge_error(&error))?;
        if let Some(session) = response.headers().get(MCP_SESSION_ID)
            && self.uses_sessions
        {
            // Only the answer to `initialize` begins a session; later ones repeat its id.
            self.mcp_session.get_or_init(|| session.clone());
        }
        if !response.status().is_success() {
            return self.read_refusal(response).await;
        }
        match content_type(&response) {
            "application/json" => {
                let body = read_body(response, self.max_message_bytes).await;
                body.map(PostResponse::Json)
            }
            "text/event-stream" => Ok(PostResponse::Events(Box::new(self.sse_response(response)))),
            _ if has_no_body(&response) => Ok(PostResponse::Accepted),
            _ => Err(BridgeError::InvalidResponse(
                "its answer is not MCP".to_owned(),
            )),
        }
    }

    /// Opens the event stream of the MCP session, or resumes one after an event.
    pub(crate) async fn get(&self, last_event: Option<&str>) -> Result<SseResponse, BridgeError> {
        let mut request = self
            .with_headers(self.http.get(self.url.clone()))
            .header(ACCEPT, "text/event-stream");
        if let Some(id) = last_event {
            request = request.header(LAST_EVENT_ID, id);
        }
        let response = request.send().await.map_err(|error| bridge_error(&error))?;
        match response.status() {
            StatusCode::NOT_FOUND if self.has_session() => Err(BridgeError::SessionExpired),
            status if !status.is_success() => Err(read_error(response).await),
            _ if content_type(&response) == "text/event-stream" => Ok(self.sse_response(response)),
            _ => Err(BridgeError::Refused {
                status: StatusCode::METHOD_NOT_ALLOWED.as_u16(),
                message: None,
            }),
        }
    }

    fn sse_response(&self, response: Response) -> SseResponse {
        SseResponse::new(response, self.max_message_bytes)
    }

    /// Ends the MCP session.
    pub(crate) async fn delete(&self) -> Result<(), BridgeError> {
        let request = self.with_headers(self.http.delete(self.url.clone()));
        request.send().await.map_err(|error| bridge_error(&error))?;
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
        request.bearer_auth(self.token.expose()).headers(headers)
    }

    /// A refusal is an answer when it is a JSON-RPC error.
    async fn read_refusal(&self, response: Response) -> Result<PostResponse, BridgeError> {
        let status = response.status();
        if status == StatusCode::UNAUTHORIZED {
            return Err(read_error(response).await);
        }
        if status == StatusCode::NOT_FOUND && self.has_session() {
            return Err(BridgeError::SessionExpired);
        }
        let challenge = WwwAuthenticate::from_response(&response);
        let body = read_body(response, MAX_REFUSAL_BYTES)
            .await
            .unwrap_or_default();
        if let Ok(Message::Response { is_error: true, .. }) = Message::parse(body.as_str())
            && is_json_rpc(&body)
        {
            return Ok(PostResponse::Json(body));
        }
        Err(error_for_status(status, &challenge, &body))
    }
}

async fn read_error(response: Response) -> BridgeError {
    let (status, challenge) = (response.status(), WwwAuthenticate::from_response(&response));
    let body = read_body(response, MAX_REFUSAL_BYTES)
        .await
        .unwrap_or_default();
    error_for_status(status, &challenge, &body)
}

/// The bridge's other errors have a field `error` as well.
fn is_json_rpc(body: &str) -> bool {
    #[derive(Deserialize)]
    struct ErrorBody {
        error: ErrorCodeBody,
    }
    #[derive(Deserialize)]
    struct ErrorCodeBody {
        code: i64,
    }
    serde_json::from_str(body).is_ok_and(
        |ErrorBody {
             error: ErrorCodeBody { code },
         }| code != 0,
    )
}

/// What an HTTP status means, with the bridge's JSON error and its challenge.
fn error_for_status(status: StatusCode, challenge: &WwwAuthenticate, body: &str) -> BridgeError {
    #[derive(Deserialize)]
    struct HttpErrorBody {
        #[serde(default)]
        error: String,
        message: String,
    }
    let explained: Option<HttpErrorBody> = serde_json::from_str(body).ok();
    let is = |code: &str| explained.as_ref().is_some_and(|told| told.error == code);
    match status {
        StatusCode::UNAUTHORIZED if is("TokenExpired") => BridgeError::TokenExpired,
        StatusCode::UNAUTHORIZED => BridgeError::TokenRefused,
        StatusCode::FORBIDDEN if challenge.is_insufficient_scope || is("InsufficientScope") => {
            BridgeError::ScopeMissing(challenge.scope.clone())
        }
        status => BridgeError::Refused {
            status: status.as_u16(),
            message: explained.map(|told| told.message),
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
    let without = [StatusCode::ACCEPTED, StatusCode::NO_CONTENT];
    response.content_length() == Some(0) || without.contains(&response.status())
}

async fn read_body(response: Response, longest: usize) -> Result<String, BridgeError> {
    let too_large = |bytes| BridgeError::TooLarge {
        bytes,
        limit: longest,
    };
    // Of one that says its size no byte is read in vain.
    let length = response.content_length().unwrap_or_default();
    if length > longest as u64 {
        return Err(too_large(length));
    }
    let mut body = BoundedBuffer::default();
    let mut chunks = response.bytes_stream();
    while let Some(chunk) = chunks.next().await {
        body.push(&chunk.map_err(|error| bridge_error(&error))?, longest);
    }
    let body = body.finish(longest);
    let body = body.map_err(|oversized| too_large(oversized.bytes))?;
    String::from_utf8(body)
        .map_err(|_| BridgeError::InvalidResponse("its answer is not MCP".to_owned()))
}

fn http_client(url: &Url) -> Result<reqwest::Client, BridgeError> {
    let mut builder = reqwest::Client::builder()
        .connect_timeout(CONNECT_TIMEOUT)
        .tcp_keepalive(Duration::from_secs(30))
        .tls_backend_preconfigured(tls::client_config(url.scheme() == "https")?)
        .redirect(reqwest::redirect::Policy::none())
        // A connection of its own for each request: one that was kept and died with the bridge
        // would leave it open whether a call was executed.
        .pool_max_idle_per_host(0);
    if is_loopback(url.host_str()) {
        // HTTP_PROXY of the desktop is not meant for this machine.
        builder = builder.no_proxy();
    }
    builder
        .build()
        .map_err(|error| BridgeError::InvalidResponse(error.to_string()))
}

fn is_loopback(host: Option<&str>) -> bool {
    let Some(host) = host else { return false };
    let address = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost"
        || address
            .parse::<std::net::IpAddr>()
            .is_ok_and(|address| address.is_loopback())
}

/// What a failure below HTTP means.
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
    fn refusals_keep_the_message_of_the_bridge() {
        let refused = |status, message: Option<&str>| BridgeError::Refused {
            status,
            message: message.map(str::to_owned),
        };
        let too_large = r#"{"error":"X","message":"too large"}"#;
        for (status, body, expected) in [
            (413, too_large, refused(413, Some("too large"))),
            (404, "<html>", refused(404, None)),
            (401, "", BridgeError::TokenRefused),
            (
                401,
                r#"{"error":"TokenExpired","message":"x"}"#,
                BridgeError::TokenExpired,
            ),
            (403, r#"{"message":"x"}"#, refused(403, Some("x"))),
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
        assert!(!is_json_rpc(too_large));
        assert!(is_json_rpc(
            r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700}}"#
        ));
    }

    #[test]
    fn only_loopback_hosts_bypass_the_proxy() {
        for (host, loopback) in [
            ("localhost", true),
            ("127.0.0.9", true),
            ("[::1]", true),
            ("10.0.0.1", false),
            ("localhost.example.com", false),
        ] {
            assert_eq!(is_loopback(Some(host)), loopback, "{host}");
        }
    }
}
