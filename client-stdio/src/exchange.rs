//! One request at the bridge, from its POST to its answer.

use std::sync::Arc;
use std::time::Duration;

use http::{HeaderMap, HeaderValue};
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::sync::{mpsc, watch};

use crate::bridge_http::{BridgeHttp, PROTOCOL_VERSION, PostResponse};
use crate::connect_error::BridgeError;
use crate::handshake::stateless_version;
use crate::headers::{ToolHeaders, method_header};
use crate::message::{self, Message, ParseError, Request, RequestId, response_with_id};
use crate::oversized::OversizedMessage;
use crate::resumable_stream::{ResumableStream, StreamItem};

/// A request whose headers do not say what its body says. It was not executed.
const HEADER_MISMATCH: i64 = -32020;

/// For taking what has no answer. The next one waits that long for its turn.
const POST_TIMEOUT: Duration = Duration::from_secs(10);

/// The most pages of a list of tools that are read for the sake of headers.
const MAX_LIST_PAGES: usize = 100;

/// Our own id for reading it.
const TOOL_LIST_ID: &str = "mcp-web-stdio/tools";

/// A longer text is read on a thread of its own: the others have this one.
const INLINE_PARSE_BYTES: usize = 256 * 1024;

/// What comes from a bridge.
#[derive(Debug)]
pub(crate) enum BridgeMessage {
    Message(Message),
    /// A request will not be answered.
    Failed {
        id: RequestId,
        error: BridgeError,
    },
    /// The link is of no use any more.
    Lost(BridgeError),
}

/// What the requests of one link have in common.
pub(crate) struct RequestContext {
    pub(crate) http: BridgeHttp,
    pub(crate) tool_headers: ToolHeaders,
    /// The protocol version of requests that do not name theirs; `None` for MCP sessions, which
    /// settle on one and know no headers of single requests.
    pub(crate) default_version: Option<String>,
}

impl RequestContext {
    fn headers(&self, request: &Request) -> HeaderMap {
        let Some(version) = &self.default_version else {
            return HeaderMap::new();
        };
        let own = stateless_version(request);
        let version = own.as_deref().unwrap_or(version);
        with_version(self.tool_headers.request_headers(request), version)
    }

    /// Whether the bridge did not execute a call because arguments want headers that only the list
    /// of tools could have told: a client may know that list from an earlier run.
    fn lacks_headers(&self, request: &Request, response: &PostResponse) -> bool {
        #[derive(Deserialize)]
        struct ErrorBody {
            error: ErrorCodeBody,
        }
        #[derive(Deserialize)]
        struct ErrorCodeBody {
            code: i64,
        }
        let PostResponse::Json(text) = response else {
            return false;
        };
        let is_call = self.default_version.is_some() && &*request.method == "tools/call";
        is_call
            && serde_json::from_str(text)
                .is_ok_and(|ErrorBody { error }| error.code == HEADER_MISMATCH)
    }

    /// Sends what has no answer.
    pub(crate) async fn send(&self, message: &Message) -> Result<(), BridgeError> {
        let headers = match (message, &self.default_version) {
            (Message::Notification { method, .. }, Some(version)) => {
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

/// Carries out a request and tells what comes of it. `taken` becomes true when the bridge has
/// certainly read it.
pub(crate) async fn run(
    context: Arc<RequestContext>,
    request: Request,
    delivered: watch::Sender<bool>,
    sender: mpsc::Sender<BridgeMessage>,
) {
    let sent = send_request(&context, &request, &sender, || {
        _ = delivered.send_replace(true)
    })
    .await;
    let Err(error) = sent else { return };
    let outcome = if *delivered.borrow() && error.is_safe_to_retry() {
        // Found when its stream was to be resumed: it was executed all the same.
        BridgeMessage::Lost(error)
    } else {
        let id = request.id;
        BridgeMessage::Failed { id, error }
    };
    // A link that is closed does not want to know.
    let _ = sender.send(outcome).await;
}

/// Sends a request and passes on all messages up to its answer.
pub(crate) async fn send_request(
    context: &RequestContext,
    request: &Request,
    sender: &mpsc::Sender<BridgeMessage>,
    delivered: impl FnOnce(),
) -> Result<(), BridgeError> {
    let mut response = context
        .http
        .post(&request.text, context.headers(request))
        .await?;
    delivered();
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
                let ends = is_response_to(&message, &request.id);
                forward(context, request, message, sender).await;
                if ends {
                    return Ok(());
                }
            }
        }
        PostResponse::Accepted => Err(BridgeError::InvalidResponse(
            "it did not answer a request".to_owned(),
        )),
    }
}

/// Learns which arguments want headers, in the name of the request that lacked them.
async fn refresh_tool_headers(
    context: &RequestContext,
    request: &Request,
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
        let list = Request::new(TOOL_LIST_ID, "tools/list", &params);
        let (sender, mut heard) = mpsc::channel(1);
        let answer = async {
            loop {
                match heard.recv().await {
                    Some(BridgeMessage::Message(message)) if is_response_to(&message, &list.id) => {
                        break Some(message);
                    }
                    Some(_) => {}
                    None => break None,
                }
            }
        };
        let sending = async {
            let sender = sender;
            Box::pin(send_request(context, &list, &sender, || ())).await
        };
        let (sent, answer) = tokio::join!(sending, answer);
        sent?;
        let result = answer.and_then(|answer| message::parse_result(answer.text()));
        let page = result.and_then(|result| serde_json::from_str::<ListPage>(result.get()).ok());
        let Some(next) = page.and_then(|page| page.next) else {
            return Ok(());
        };
        cursor = format!(r#","cursor":{}"#, serde_json::Value::from(next));
    }
    Ok(())
}

/// The event stream of the MCP session, as long as it lasts.
pub(crate) async fn run_session_stream(
    context: Arc<RequestContext>,
    sender: mpsc::Sender<BridgeMessage>,
) {
    let error = match context.http.get(None).await {
        Ok(events) => {
            forward_all(
                &context,
                ResumableStream::for_session(&context.http, events),
                &sender,
            )
            .await
        }
        Err(BridgeError::Refused { status, .. }) if (400..500).contains(&status) => {
            tracing::debug!("the bridge has no event stream of the MCP session: HTTP {status}");
            return;
        }
        Err(error) => error,
    };
    if error.is_auth_error() {
        // What was asked with the token before it ended is answered all the same.
        tracing::warn!("the bridge refuses the token, and does not say what changes any more");
        return;
    }
    let _ = sender.send(BridgeMessage::Lost(error)).await;
}

async fn forward_all(
    context: &RequestContext,
    mut messages: ResumableStream<'_>,
    sender: &mpsc::Sender<BridgeMessage>,
) -> BridgeError {
    loop {
        let said_by_bridge = match messages.next().await {
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
        match said_by_bridge {
            Ok(from_bridge) => _ = sender.send(from_bridge).await,
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

/// Tells the bridge that the client will not hear of a question. Of a notification nobody waits to
/// hear.
async fn reject_oversized(context: &RequestContext, oversized: &OversizedMessage) {
    let malformed = ParseError::TooLong(oversized.clone());
    tracing::warn!("the bridge says what does not pass: {malformed}");
    if oversized.id.is_some()
        && let Err(error) = context.send(&malformed.to_response()).await
    {
        tracing::debug!("a refusal did not arrive: {error:?}");
    }
}

async fn forward(
    context: &RequestContext,
    request: &Request,
    message: Message,
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

/// A refusal that could not name its request still answers the one it came back on.
async fn parse_response(text: String, request: &RequestId) -> Result<Message, BridgeError> {
    match parse_message(text).await? {
        Message::Response { id: None, text, .. } => Ok(response_with_id(text, request)),
        message => Ok(message),
    }
}

fn is_response_to(message: &Message, request: &RequestId) -> bool {
    matches!(message, Message::Response { id: Some(id), .. } if id == request)
}

async fn parse_message(text: String) -> Result<Message, BridgeError> {
    let parsed = if text.len() > INLINE_PARSE_BYTES {
        let reading = tokio::task::spawn_blocking(|| Message::parse(text));
        // It can only fail while the process ends.
        reading.await.map_err(|_| BridgeError::ConnectionLost)?
    } else {
        Message::parse(text)
    };
    parsed.map_err(|_| BridgeError::InvalidResponse("its answer is not MCP".to_owned()))
}
