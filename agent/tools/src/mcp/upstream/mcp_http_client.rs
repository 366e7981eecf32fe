//! The HTTP client of rmcp's transport for servers over HTTP.
//!
//! rmcp's own client ends a stream at a field without a colon, at an unknown field and at one that
//! occurs twice, all of which the standard permits, and reads no JSON with half of a surrogate
//! pair. This one decodes events as all event streams, and repairs such JSON.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bridge_edge::body::repair_surrogates;
use bridge_protocol::sse::{SseDecoder, SseEvent, SseText};
use bridge_protocol::to_well_formed;
use futures_util::{StreamExt, TryStream, stream};
use http::header::{ACCEPT, CONTENT_TYPE};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use reqwest::{RequestBuilder, Response};
use rmcp::model::{
    ClientJsonRpcMessage, ClientRequest, ErrorData, JsonRpcMessage, ServerJsonRpcMessage,
};
use rmcp::transport::common::client_side_sse::BoxedSseResponse;
use rmcp::transport::common::http_header::{
    EVENT_STREAM_MIME_TYPE, HEADER_LAST_EVENT_ID, HEADER_SESSION_ID, JSON_MIME_TYPE,
};
use rmcp::transport::streamable_http_client::{
    HttpStatusError, SseError, StreamableHttpClient, StreamableHttpError,
    StreamableHttpPostResponse,
};
use tokio_util::bytes::Bytes;

/// The maximum size of the body of an error.
const MAX_ERROR_BYTES: usize = 64 * 1024;

pub(super) type HttpError = StreamableHttpError<reqwest::Error>;

/// rmcp's type of an event, which it does not export.
type RmcpEvent = <BoxedSseResponse as TryStream>::Ok;

/// How many events that were too long are remembered. Beyond it, they are forgotten.
const MAX_LONG_EVENTS: usize = 64;

/// A client for one connection to a server. Clones share it.
#[derive(Clone, Debug)]
pub(super) struct McpHttpClient {
    http: reqwest::Client,
    /// The maximum size of a message of the server, in bytes.
    max_message_bytes: usize,
    /// The ids after which an event came that was too long; `None` is the beginning of the stream of
    /// the session. No stream is opened there again, because the server would send the event again
    /// without end.
    long_events_after: Arc<Mutex<HashSet<Option<String>>>>,
}

impl McpHttpClient {
    pub(super) fn new(http: reqwest::Client, max_message_bytes: usize) -> Self {
        Self {
            http,
            max_message_bytes,
            long_events_after: Arc::default(),
        }
    }

    fn remember_long_event(&self, last_id: Option<String>) {
        let mut ids = self.long_events_after();
        if ids.len() == MAX_LONG_EVENTS {
            ids.clear();
        }
        ids.insert(last_id);
    }

    fn long_events_after(&self) -> MutexGuard<'_, HashSet<Option<String>>> {
        let ids = self.long_events_after.lock();
        ids.unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the events of a response, which follow the event with this id. rmcp opens the stream of
    /// the session again without an id, and resumes the response to a message only after one.
    fn events(
        &self,
        response: Response,
        last_event_id: Option<String>,
        is_of_session: bool,
    ) -> BoxedSseResponse {
        let decoder = SseDecoder::<SseText>::new(self.max_message_bytes);
        let begin = (self.clone(), response, decoder, last_event_id);
        let events = stream::try_unfold(begin, move |state| {
            let (client, mut response, mut decoder, mut last_id) = state;
            async move {
                loop {
                    match decoder.next_event() {
                        Some(Ok(event)) => {
                            let event = rmcp_event(event.map_data(SseText::into_string));
                            last_id = event.id.clone().or(last_id);
                            return Ok(Some((event, (client, response, decoder, last_id))));
                        }
                        Some(Err(too_long)) => {
                            if last_id.is_some() || is_of_session {
                                client.remember_long_event(last_id);
                            }
                            let limit = too_long.limit;
                            let error = format!("an event has more than {limit} bytes");
                            return Err(SseError::Body(error.into()));
                        }
                        None => {}
                    }
                    let chunk = response.chunk().await;
                    match chunk.map_err(|error| SseError::Body(error.into()))? {
                        Some(chunk) => decoder.decode(&chunk),
                        None => return Ok(None),
                    }
                }
            }
        });
        events.boxed()
    }
}

/// Converts an event, whose data is JSON.
#[expect(
    clippy::field_reassign_with_default,
    reason = "a struct is not built by the name of an associated type"
)]
fn rmcp_event(event: SseEvent<String>) -> RmcpEvent {
    let mut converted = RmcpEvent::default();
    converted.event = Some(event.name).filter(|name| !name.is_empty());
    converted.data = event.data.map(|json| to_well_formed(&json).into_owned());
    converted.id = event.id;
    converted.retry = event.retry;
    converted
}

/// Adds the headers of every request. Those that rmcp's transport sets take precedence over the
/// operator's.
fn with_headers(
    request: RequestBuilder,
    session_id: Option<&str>,
    last_event_id: Option<&str>,
    auth_token: Option<&str>,
    custom_headers: HashMap<HeaderName, HeaderValue>,
) -> RequestBuilder {
    let mut headers: HeaderMap = custom_headers.into_iter().collect();
    headers.insert(
        ACCEPT,
        HeaderValue::from_static("text/event-stream, application/json"),
    );
    for (name, value) in [
        (HEADER_SESSION_ID, session_id),
        (HEADER_LAST_EVENT_ID, last_event_id),
    ] {
        let name = HeaderName::from_bytes(name.as_bytes()).ok();
        let value = value.and_then(|value| HeaderValue::from_str(value).ok());
        if let (Some(name), Some(value)) = (name, value) {
            headers.insert(name, value);
        }
    }
    let request = request.headers(headers);
    match auth_token {
        Some(token) => request.bearer_auth(token),
        None => request,
    }
}

fn content_type(response: &Response) -> Option<&str> {
    let value = response.headers().get(CONTENT_TYPE)?;
    value.to_str().ok()
}

/// Whether a content type is this one, whatever its parameters are.
fn is_type(content_type: Option<&str>, expected: &str) -> bool {
    let essence = content_type.and_then(|it| it.split(';').next());
    essence.is_some_and(|it| it.trim().eq_ignore_ascii_case(expected))
}

async fn read_body(mut response: Response, max_size: usize) -> Result<Bytes, HttpError> {
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await? {
        if chunk.len() > max_size - body.len() {
            return Err(HttpError::ResponseBodyTooLarge { max_size });
        }
        body.extend_from_slice(&chunk);
    }
    Ok(repair_surrogates(body.into()))
}

/// Reads a response to a message that is not a success.
async fn read_error(
    response: Response,
    message: &ClientJsonRpcMessage,
    has_session: bool,
) -> Result<StreamableHttpPostResponse, HttpError> {
    let status = response.status();
    let is_json = is_type(content_type(&response), JSON_MIME_TYPE);
    let failed = HttpError::HttpStatus(HttpStatusError::new(status.as_u16(), None));
    let is_about_credential = matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN);
    if status == StatusCode::NOT_FOUND && has_session {
        return Err(HttpError::SessionExpired);
    }
    if is_about_credential || status == StatusCode::TOO_MANY_REQUESTS {
        return Err(failed);
    }
    let error = match read_body(response, MAX_ERROR_BYTES).await {
        Ok(body) if is_json => match serde_json::from_slice::<ServerJsonRpcMessage>(&body) {
            Ok(JsonRpcMessage::Error(error)) => Some(error),
            _ => None,
        },
        _ => None,
    };
    // Servers without this method, and what is in front of them, refuse it in many ways, and often
    // without its id. rmcp tries `initialize` after a response with the id.
    if let JsonRpcMessage::Request(request) = message
        && matches!(request.request, ClientRequest::DiscoverRequest(_))
        && status.is_client_error()
    {
        let error = error.map_or_else(
            || ErrorData::invalid_request(format!("HTTP {status}"), None),
            |error| error.error,
        );
        let response = ServerJsonRpcMessage::error(error, Some(request.id.clone()));
        return Ok(StreamableHttpPostResponse::Json(response, None));
    }
    match error {
        Some(error) => {
            let message = JsonRpcMessage::Error(error);
            Ok(StreamableHttpPostResponse::Json(message, None))
        }
        None => Err(failed),
    }
}

impl StreamableHttpClient for McpHttpClient {
    type Error = reqwest::Error;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session_id: Option<Arc<str>>,
        auth_token: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<StreamableHttpPostResponse, HttpError> {
        let (session, auth) = (session_id.as_deref(), auth_token.as_deref());
        let request = self.http.post(&*uri).json(&message);
        let request = with_headers(request, session, None, auth, custom_headers);
        let response = request.send().await?;
        if !response.status().is_success() {
            return read_error(response, &message, session.is_some()).await;
        }
        // Only a request has a response. Some servers also answer other messages.
        if !matches!(message, JsonRpcMessage::Request(_))
            || matches!(
                response.status(),
                StatusCode::ACCEPTED | StatusCode::NO_CONTENT
            )
        {
            return Ok(StreamableHttpPostResponse::Accepted);
        }
        let session_id = response.headers().get(HEADER_SESSION_ID);
        let session_id = session_id.and_then(|id| id.to_str().ok().map(str::to_owned));
        let content_type = content_type(&response).map(str::to_owned);
        if is_type(content_type.as_deref(), EVENT_STREAM_MIME_TYPE) {
            let events = self.events(response, None, false);
            return Ok(StreamableHttpPostResponse::Sse(events, session_id));
        }
        if !is_type(content_type.as_deref(), JSON_MIME_TYPE) {
            return Err(HttpError::UnexpectedContentType(content_type));
        }
        let body = read_body(response, self.max_message_bytes).await?;
        let message = serde_json::from_slice(&body)?;
        Ok(StreamableHttpPostResponse::Json(message, session_id))
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session_id: Arc<str>,
        auth_token: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<(), HttpError> {
        let deleted = StreamableHttpClient::delete_session(
            &self.http,
            uri,
            session_id,
            auth_token,
            custom_headers,
        );
        deleted.await
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session_id: Option<Arc<str>>,
        last_event_id: Option<String>,
        auth_token: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<BoxedSseResponse, HttpError> {
        if self.long_events_after().contains(&last_event_id) {
            return Err(HttpError::ServerDoesNotSupportSse);
        }
        let (session, last_event) = (session_id.as_deref(), last_event_id.as_deref());
        let auth = auth_token.as_deref();
        let request = self.http.get(&*uri);
        let request = with_headers(request, session, last_event, auth, custom_headers);
        let response = request.send().await?;
        match response.status() {
            status if status.is_success() => {}
            StatusCode::METHOD_NOT_ALLOWED => return Err(HttpError::ServerDoesNotSupportSse),
            status => return Err(HttpStatusError::new(status.as_u16(), None).into()),
        }
        let content_type = content_type(&response);
        if !is_type(content_type, EVENT_STREAM_MIME_TYPE) {
            let content_type = content_type.map(str::to_owned);
            return Err(HttpError::UnexpectedContentType(content_type));
        }
        Ok(self.events(response, last_event_id, true))
    }
}
