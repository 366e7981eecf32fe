//! One request to the bridge, from its POST to its answer.

use std::sync::Arc;
use std::time::Duration;

use bridge_protocol::RECONNECTED_HEADER;
use http::{HeaderMap, HeaderName, HeaderValue};
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::sync::{mpsc, watch};

use crate::bridge_http::{BridgeHttp, PROTOCOL_VERSION, PostResponse};
use crate::connect_error::BridgeError;
use crate::headers::{ToolHeaders, method_header};
use crate::message::{self, JsonRpcMessage, JsonRpcRequest, ParseError, response_with_id};
use crate::oversized::OversizedMessage;
use crate::protocol_version::stateless_version;
use crate::request_id::RequestId;
use crate::resumable_stream::{ResumableStream, StreamItem};

/// How long the bridge may take to accept a notification or a reply. Later messages wait during
/// this time.
const POST_TIMEOUT: Duration = Duration::from_secs(10);

/// The maximum number of pages of a list of tools that are requested to learn their headers.
const MAX_LIST_PAGES: usize = 100;

/// The id of our own requests for the list of tools.
const TOOL_LIST_ID: &str = "mcp-web-stdio/tools";

/// The header of a request that waits for its page.
const RECONNECTED: HeaderName = HeaderName::from_static(RECONNECTED_HEADER);

/// A longer text is parsed on another thread, because all tasks share this one.
const INLINE_PARSE_BYTES: usize = 256 * 1024;

/// An event that a [`BridgeSession`](crate::bridge_session::BridgeSession) receives.
#[derive(Debug)]
pub(crate) enum BridgeMessage {
    Message(JsonRpcMessage),
    /// A request failed and will not be answered.
    Failed {
        id: RequestId,
        error: BridgeError,
    },
    /// The session cannot be used any more.
    Lost(BridgeError),
}

/// The state that all requests of one session share.
pub(crate) struct RequestContext {
    pub(crate) http: BridgeHttp,
    pub(crate) tool_headers: ToolHeaders,
    /// The protocol version of requests that do not name one. `None` for an MCP session, which
    /// negotiates its version and has no headers of single requests.
    pub(crate) default_version: Option<String>,
    /// Whether the client was connected to this bridge, or to another one, before a restart.
    pub(crate) is_reconnected: bool,
}

impl RequestContext {
    fn headers(&self, request: &JsonRpcRequest) -> HeaderMap {
        let mut headers = match &self.default_version {
            Some(version) => {
                let requested = stateless_version(request);
                let version = requested.as_deref().unwrap_or(version);
                with_version(self.tool_headers.request_headers(request), version)
            }
            None => HeaderMap::new(),
        };
        // Whether the pages are back is seen in a list, so the bridge must answer it at once.
        if self.is_reconnected && !request.is_list() {
            headers.insert(RECONNECTED, HeaderValue::from_static("1"));
        }
        headers
    }

    /// Returns whether the bridge did not execute a call because headers for its arguments are
    /// missing. This happens to a client that has the list of tools from an earlier run: the
    /// annotations that require the headers are in that list.
    fn lacks_headers(&self, request: &JsonRpcRequest, response: &PostResponse) -> bool {
        let PostResponse::Json(text) = response else {
            return false;
        };
        let is_call = self.default_version.is_some() && &*request.method == "tools/call";
        is_call && message::error_code(text) == Some(message::HEADER_MISMATCH)
    }

    /// Sends a notification or a reply.
    pub(crate) async fn send(&self, message: &JsonRpcMessage) -> Result<(), BridgeError> {
        let headers = match (message, &self.default_version) {
            (JsonRpcMessage::Notification { method, .. }, Some(version)) => {
                with_version(method_header(method), version)
            }
            (_, Some(version)) => with_version(HeaderMap::new(), version),
            (_, None) => HeaderMap::new(),
        };
        let posting = self.http.post(message.text(), headers);
        match tokio::time::timeout(POST_TIMEOUT, posting).await {
            Ok(response) => response.map(drop),
            Err(_) => Err(BridgeError::ConnectionLost),
        }
    }
}

fn with_version(mut headers: HeaderMap, version: &str) -> HeaderMap {
    if let Ok(version) = HeaderValue::from_str(version) {
        headers.insert(PROTOCOL_VERSION, version);
    }
    headers
}

/// Runs one request and sends all resulting messages to `sender`. `delivered` becomes true once the
/// bridge has certainly read the request.
pub(crate) async fn run(
    context: Arc<RequestContext>,
    request: JsonRpcRequest,
    delivered: watch::Sender<bool>,
    sender: mpsc::Sender<BridgeMessage>,
) {
    let result = send_request(&context, &request, &sender, || {
        delivered.send_replace(true);
    })
    .await;
    let Err(error) = result else { return };
    let outcome = if *delivered.borrow() && error.is_safe_to_retry() {
        // The error occurred while the stream was resumed, and the request may have been executed.
        BridgeMessage::Lost(error)
    } else {
        let id = request.id;
        BridgeMessage::Failed { id, error }
    };
    // A closed session does not receive any more messages.
    let _ = sender.send(outcome).await;
}

/// Sends a request and forwards all messages up to its answer to `sender`. Calls `on_delivered`
/// once the bridge has certainly read the request.
pub(crate) async fn send_request(
    context: &RequestContext,
    request: &JsonRpcRequest,
    sender: &mpsc::Sender<BridgeMessage>,
    on_delivered: impl FnOnce(),
) -> Result<(), BridgeError> {
    let mut response = context
        .http
        .post(&request.text, context.headers(request))
        .await?;
    on_delivered();
    if context.lacks_headers(request, &response) {
        refresh_tool_headers(context, request).await?;
        response = context
            .http
            .post(&request.text, context.headers(request))
            .await?;
    }
    match response {
        PostResponse::Json(text) => {
            let answer = parse_response(text, &request.id).await?;
            forward(context, request, answer, sender).await;
            Ok(())
        }
        PostResponse::Events(events) => {
            let mut messages = ResumableStream::for_request(&context.http, *events);
            loop {
                let message = match messages.next().await? {
                    StreamItem::Text(text) => parse_message(text).await?,
                    StreamItem::TooLong(oversized) if oversized.method.is_none() => {
                        return Err(too_large(&oversized));
                    }
                    StreamItem::TooLong(oversized) => {
                        reject_oversized(context, &oversized).await;
                        continue;
                    }
                };
                let is_last = is_response_to(&message, &request.id);
                forward(context, request, message, sender).await;
                if is_last {
                    return Ok(());
                }
            }
        }
        PostResponse::Accepted => Err(BridgeError::InvalidResponse(
            "it did not answer a request".to_owned(),
        )),
    }
}

/// Requests the list of tools, with the `_meta` of a call that lacked headers, to learn which
/// arguments are repeated in headers.
async fn refresh_tool_headers(
    context: &RequestContext,
    request: &JsonRpcRequest,
) -> Result<(), BridgeError> {
    #[derive(Deserialize)]
    struct Params {
        #[serde(rename = "_meta")]
        meta: Box<RawValue>,
    }
    #[derive(Deserialize)]
    struct ListPage {
        #[serde(rename = "nextCursor")]
        next: Option<String>,
    }
    let Some(Params { meta }) = request.params() else {
        return Ok(());
    };
    let mut cursor = String::new();
    for _ in 0..MAX_LIST_PAGES {
        let params = format!(r#"{{"_meta":{meta}{cursor}}}"#);
        let list = JsonRpcRequest::new(TOOL_LIST_ID, "tools/list", &params);
        let (sender, mut receiver) = mpsc::channel(1);
        let answer = async {
            loop {
                match receiver.recv().await {
                    Some(BridgeMessage::Message(message)) if is_response_to(&message, &list.id) => {
                        break Some(message);
                    }
                    Some(_) => {}
                    None => break None,
                }
            }
        };
        let sending = async {
            // The channel must close when the request ends.
            let sender = sender;
            Box::pin(send_request(context, &list, &sender, || ())).await
        };
        let (result, answer) = tokio::join!(sending, answer);
        result?;
        let result = answer.and_then(|answer| message::parse_result(answer.text()));
        let page = result.and_then(|result| serde_json::from_str::<ListPage>(result.get()).ok());
        let Some(next) = page.and_then(|page| page.next) else {
            return Ok(());
        };
        cursor = format!(r#","cursor":{}"#, serde_json::Value::from(next));
    }
    Ok(())
}

/// Forwards the event stream of the MCP session to `sender` until it ends. If the bridge refuses the
/// token, it is opened again with the next one.
pub(crate) async fn run_session_stream(
    context: Arc<RequestContext>,
    sender: mpsc::Sender<BridgeMessage>,
) {
    let tokens = context.http.tokens();
    loop {
        // The next token may be printed while the answer to this one arrives.
        let former = tokens.latest();
        let error = match context.http.get(None, false).await {
            Ok(events) => {
                let messages = ResumableStream::for_session(&context.http, events);
                forward_all(&context, messages, &sender).await
            }
            Err(BridgeError::Refused { status, .. }) if (400..500).contains(&status) => {
                tracing::debug!("the bridge has no event stream of the MCP session: HTTP {status}");
                return;
            }
            Err(error) => error,
        };
        if !error.is_auth_error() {
            let _ = sender.send(BridgeMessage::Lost(error)).await;
            return;
        }
        // Requests that the bridge accepted earlier with the same token are still answered.
        tracing::warn!("the bridge refuses the token and sends no more notifications");
        if !tokens.renewed(former.as_ref()).await {
            return;
        }
    }
}

async fn forward_all(
    context: &RequestContext,
    mut messages: ResumableStream<'_>,
    sender: &mpsc::Sender<BridgeMessage>,
) -> BridgeError {
    loop {
        let received = match messages.next().await {
            Ok(StreamItem::Text(text)) => parse_message(text).await.map(BridgeMessage::Message),
            Ok(StreamItem::TooLong(oversized)) => match (&oversized.id, &oversized.method) {
                (Some(id), None) => Ok(BridgeMessage::Failed {
                    id: id.clone(),
                    error: too_large(&oversized),
                }),
                _ => {
                    reject_oversized(context, &oversized).await;
                    continue;
                }
            },
            Err(error) => Err(error),
        };
        match received {
            Ok(message) => _ = sender.send(message).await,
            Err(error) => return error,
        }
    }
}

fn too_large(oversized: &OversizedMessage) -> BridgeError {
    BridgeError::TooLarge {
        bytes: oversized.bytes,
        limit: oversized.limit,
    }
}

/// Answers an oversized request of the bridge with an error. An oversized notification is dropped.
async fn reject_oversized(context: &RequestContext, oversized: &OversizedMessage) {
    let error = ParseError::TooLong(oversized.clone());
    tracing::warn!("dropped a message of the bridge: {error}");
    if oversized.id.is_some()
        && let Err(error) = context.send(&error.to_response()).await
    {
        tracing::debug!("an error response did not arrive: {error:?}");
    }
}

/// Forwards a message. The answer to `tools/list` is first read for annotations of headers.
async fn forward(
    context: &RequestContext,
    request: &JsonRpcRequest,
    message: JsonRpcMessage,
    sender: &mpsc::Sender<BridgeMessage>,
) {
    let lists_tools = context.default_version.is_some() && &*request.method == "tools/list";
    let message = if lists_tools && is_response_to(&message, &request.id) {
        context.tool_headers.apply_tool_list(message)
    } else {
        message
    };
    let _ = sender.send(BridgeMessage::Message(message)).await;
}

/// Parses the body of an HTTP response. An error without an id answers the request of that HTTP
/// exchange.
async fn parse_response(text: String, request: &RequestId) -> Result<JsonRpcMessage, BridgeError> {
    match parse_message(text).await? {
        JsonRpcMessage::Response { id: None, text, .. } => Ok(response_with_id(text, request)),
        message => Ok(message),
    }
}

fn is_response_to(message: &JsonRpcMessage, request: &RequestId) -> bool {
    matches!(message, JsonRpcMessage::Response { id: Some(id), .. } if id == request)
}

async fn parse_message(text: String) -> Result<JsonRpcMessage, BridgeError> {
    let parsed = if text.len() > INLINE_PARSE_BYTES {
        let parsing = tokio::task::spawn_blocking(|| JsonRpcMessage::parse(text));
        // This fails only while the process ends.
        parsing.await.map_err(|_| BridgeError::ConnectionLost)?
    } else {
        JsonRpcMessage::parse(text)
    };
    parsed.map_err(|_| BridgeError::not_mcp())
}
