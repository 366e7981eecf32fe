//! The HTTP response to a request: a JSON body, or an event stream.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use futures_util::future::BoxFuture;
use futures_util::stream::{self, Stream, StreamExt};
use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use http::{HeaderName, HeaderValue, StatusCode};
use tokio::sync::mpsc;
use tokio::time::{Instant, Sleep};
use tokio_util::sync::CancellationToken;

use super::call_client;
use super::call_stream::{CallStream, CallStreamItem, DetachOnDrop};
use super::event_json::EventJson;
use super::event_log::{EventLog, StoredEvent};
use super::json_rpc_response::EncodedResponse;
use super::session::{CallGuard, McpSession};
use crate::budget::{AnswerBody, AnswerLease, Delivery};
use crate::calls::CallRecord;
use crate::hub::Hub;

/// rmcp's clients read no longer body. The longest event that they read is configurable, so longer
/// responses are events.
const MAX_BODY_BYTES: usize = 16 * 1024 * 1024;

/// The maximum number of events that wait for a client that reads slowly.
const EVENT_BUFFER: usize = 16;

/// How long a client waits before it resumes a lost stream.
const RETRY_DELAY: Duration = Duration::from_secs(3);

/// The interval of keepalives in an event stream without events. Some clients have a read timeout
/// of five seconds: it is the default of httpx, where an application creates its own client.
pub(super) const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(4);

/// A client that does not take a message within this time does not read its stream: it receives only
/// the response to this call, and no further messages.
const SEND_TIMEOUT: Duration = Duration::from_secs(5);

/// An encoded event, in chunks that are not copied.
pub(super) type EncodedEvent = [Bytes; 3];

/// Encodes an event without data. From its id on, a client can resume the stream.
pub(super) fn encode_priming_event(id: &str) -> EncodedEvent {
    let head = format!("id: {id}\nretry: {}\ndata: ", RETRY_DELAY.as_millis());
    [head.into(), Bytes::new(), Bytes::from_static(b"\n\n")]
}

/// Encodes an event. `lease` is the lease on the bytes of its JSON.
pub(super) fn encode_event(
    id: Option<&str>,
    json: EventJson,
    lease: Option<&AnswerLease>,
) -> EncodedEvent {
    let head = match id {
        Some(id) => Bytes::from(format!("id: {id}\ndata: ")),
        None => Bytes::from_static(b"data: "),
    };
    let json = match lease {
        Some(lease) => lease.attach_to(json.into_bytes()),
        None => json.into_bytes(),
    };
    [head, json, Bytes::from_static(b"\n\n")]
}

/// Returns the response as a JSON body, or as a stream with one event if the client needs that.
pub(super) fn single_response(response: EncodedResponse, events_only: bool) -> Response {
    let as_events = events_only || response.json.encoded_len() > MAX_BODY_BYTES;
    if as_events && response.status == StatusCode::OK {
        return single_event(response);
    }
    let EncodedResponse {
        status,
        json,
        lease,
        record,
        ..
    } = response;
    let mut response = Response::new(Body::new(AnswerBody::new(json, lease, record)));
    *response.status_mut() = status;
    let json = HeaderValue::from_static("application/json");
    response.headers_mut().insert(CONTENT_TYPE, json);
    response
}

/// Returns the response of a call that has ended already, as a stream with one event.
pub(super) fn single_event(response: EncodedResponse) -> Response {
    let EncodedResponse {
        json,
        lease,
        record,
        ..
    } = response;
    let json = EventJson::new(json.into_vec());
    let [head, json, end] = encode_event(None, json, lease.as_ref());
    let end = async move {
        deliver(record);
        end
    };
    let chunks = stream::iter([head, json]).chain(stream::once(end));
    event_stream_response(Body::from_stream(chunks.map(Ok::<_, Infallible>)))
}

/// Ends the record of a call whose response the connection has taken.
fn deliver(record: Option<CallRecord>) {
    if let Some(record) = record {
        record.delivered();
    }
}

/// Returns a stream without events, for a call that the client has cancelled.
pub(super) fn empty() -> Response {
    event_stream_response(Body::empty())
}

/// Returns the stream of a request without a session. Dropping it cancels the call.
pub(super) fn ephemeral(first: Option<Vec<u8>>, call: CallStream) -> Response {
    let first = first.map(|first| encode_event(None, EventJson::new(first), None));
    let first = stream::iter(first);
    // After the response, the record of the call is left until the connection asks for more.
    let rest = stream::unfold((Some(call), None), |(call, record)| async move {
        deliver(record);
        let mut call = call?;
        let (json, lease, rest) = match call.next().await {
            CallStreamItem::Message(json) => (json, None, (Some(call), None)),
            CallStreamItem::Response(answer) => {
                (answer.json.into_vec(), answer.lease, (None, answer.record))
            }
            CallStreamItem::Cancelled => return None,
        };
        let event = encode_event(None, EventJson::new(json), lease.as_ref());
        Some((event, rest))
    });
    sse_response(first.chain(rest))
}

/// Returns the stream of a call in an MCP session. The call continues when the stream is lost, and
/// the client can resume the stream.
///
/// `sends_priming_event`: whether the client accepts events without data.
pub(super) fn resumable(
    first: Option<Vec<u8>>,
    call: DetachOnDrop,
    events: &EventLog,
    hub: &Hub,
    sends_priming_event: bool,
) -> Response {
    let (sender, mut receiver) = mpsc::channel(EVENT_BUFFER);
    if let Some(call) = call.into_inner() {
        let forwarder = SseForwarder {
            event_log: events.clone(),
            stream_id: uuid::Uuid::new_v4().to_string(),
            sender: Some(sender),
            sends_priming_event,
            is_stalled: false,
        };
        hub.result_store.spawn(forwarder.run(first, call));
    }
    sse_response(stream::poll_fn(move |context| receiver.poll_recv(context)))
}

/// Forwards the items of a call to the client and to the event log.
struct SseForwarder {
    event_log: EventLog,
    stream_id: String,
    /// `None` when the client has disconnected.
    sender: Option<mpsc::Sender<EncodedEvent>>,
    /// Whether the stream begins with an event without data.
    sends_priming_event: bool,
    /// Whether the client has stopped reading.
    is_stalled: bool,
}

impl SseForwarder {
    async fn run(mut self, first: Option<Vec<u8>>, mut call: CallStream) {
        if self.sends_priming_event
            && let Some(id) = self.store(&call, StoredEvent::Priming)
        {
            self.send(encode_priming_event(&id)).await;
        }
        let mut next = first.map(CallStreamItem::Message);
        loop {
            match next.take() {
                Some(CallStreamItem::Message(json)) => {
                    let is_request = call_client::is_request(&json);
                    let json = EventJson::new(json);
                    let id = self.store(&call, StoredEvent::Message(json.clone()));
                    let event = encode_event(id.as_deref(), json, None);
                    self.send_message(event).await;
                    if is_request && self.is_stalled {
                        // The client must fetch it: the end of the stream makes it resume.
                        self.sender = None;
                    }
                }
                Some(CallStreamItem::Response(answer)) => {
                    let EncodedResponse {
                        json,
                        lease,
                        record,
                        ..
                    } = answer;
                    let json = EventJson::new(json.into_vec());
                    let id = self.store(&call, StoredEvent::Response(json.clone()));
                    // A client that reads its response is not idle.
                    let session = call.guard().map(CallGuard::session);
                    let _activity = session.map(McpSession::begin_activity);
                    drop(call);
                    let event = encode_event(id.as_deref(), json, lease.as_ref());
                    // A client whose connection is lost can resume a stream that is stored.
                    let (stored, unstored) = match id {
                        Some(_) => (record, None),
                        None => (None, record),
                    };
                    deliver(stored);
                    self.send(event).await;
                    if self.sender.is_some() {
                        deliver(unstored);
                    }
                    return;
                }
                Some(CallStreamItem::Cancelled) => {
                    // A cancelled call has no stream to resume.
                    self.event_log.remove_stream(&self.stream_id);
                    return;
                }
                None => {}
            }
            next = Some(call.next().await);
        }
    }

    async fn send_message(&mut self, event: EncodedEvent) {
        if !self.is_stalled {
            let sent = tokio::time::timeout(SEND_TIMEOUT, self.send(event)).await;
            self.is_stalled = sent.is_err();
        }
    }

    /// Stores an event and returns its id, or `None` when the stream cannot be resumed.
    fn store(&self, call: &CallStream, event: StoredEvent) -> Option<String> {
        let session = call.guard()?.session();
        let id = self.event_log.append(session, &self.stream_id, event);
        // The session may have ended before the event was stored.
        if call.is_cancelled() {
            self.event_log.remove_stream(&self.stream_id);
            return None;
        }
        Some(id)
    }

    async fn send(&mut self, event: EncodedEvent) {
        if let Some(sender) = &self.sender
            && sender.send(event).await.is_err()
        {
            self.sender = None;
        }
    }
}

/// Makes a response keep a guard to its end.
pub(super) fn with_guard(response: Response, guard: impl Send + 'static) -> Response {
    let keep = move |_: &_| {
        let _ = &guard;
    };
    response.map(|body| Body::from_stream(body.into_data_stream().inspect(keep)))
}

/// Ends a stream when the token that opened it ends.
pub(super) fn until_token_end(
    response: Response,
    token_end: Option<BoxFuture<'static, ()>>,
) -> Response {
    match token_end {
        Some(end) => {
            response.map(|body| Body::from_stream(body.into_data_stream().take_until(end)))
        }
        None => response,
    }
}

/// Ends a stream when the bridge stops.
pub(super) fn until_stopped(response: Response, stopping: &CancellationToken) -> Response {
    let stopped = stopping.clone().cancelled_owned();
    response.map(|body| Body::from_stream(body.into_data_stream().take_until(stopped)))
}

/// Returns the rest of a stream of a call, after this event. `lease` is the lease on its bytes.
pub(super) fn resumed(
    events: &EventLog,
    last_event_id: &str,
    lease: Option<AnswerLease>,
) -> Response {
    sse_response(
        events
            .replay(last_event_id)
            .map(move |(id, event)| match event {
                StoredEvent::Priming => encode_priming_event(&id),
                StoredEvent::Message(json) | StoredEvent::Response(json) => {
                    encode_event(Some(&id), json, lease.as_ref())
                }
            }),
    )
}

/// Returns a stream of these events, with comments while there are none.
pub(super) fn sse_response(events: impl Stream<Item = EncodedEvent> + Send + 'static) -> Response {
    let chunks = events.flat_map(|event| stream::iter(event.map(Ok)));
    let chunks = KeepAlive {
        chunks: Box::pin(chunks),
        timer: Box::pin(tokio::time::sleep(KEEP_ALIVE_INTERVAL)),
    };
    event_stream_response(Body::from_stream(chunks))
}

fn event_stream_response(body: Body) -> Response {
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    let value = HeaderValue::from_static;
    headers.insert(CONTENT_TYPE, value("text/event-stream"));
    headers.insert(CACHE_CONTROL, value("no-cache"));
    let buffering = HeaderName::from_static("x-accel-buffering");
    headers.insert(buffering, value("no"));
    response
}

/// A stream that sends comments while it has no events.
struct KeepAlive<S> {
    chunks: S,
    timer: Pin<Box<Sleep>>,
}

impl<S: Stream<Item = Result<Bytes, Infallible>> + Unpin> Stream for KeepAlive<S> {
    type Item = Result<Bytes, Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let polled = self.chunks.poll_next_unpin(context);
        if polled.is_pending() && self.timer.as_mut().poll(context).is_pending() {
            return Poll::Pending;
        }
        let next = Instant::now() + KEEP_ALIVE_INTERVAL;
        self.timer.as_mut().reset(next);
        match polled {
            Poll::Pending => Poll::Ready(Some(Ok(Bytes::from_static(b":\n\n")))),
            item => item,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::mcp::call_client::MessageBuffer;

    fn content_type_of(bytes: usize, events_only: bool) -> String {
        let answer = EncodedResponse::new(StatusCode::OK, vec![b'1'; bytes]);
        let response = single_response(answer, events_only);
        let kind = &response.headers()[CONTENT_TYPE];
        kind.to_str().unwrap().to_owned()
    }

    #[test]
    fn responses_over_the_body_limit_are_sent_as_events() {
        assert_eq!(content_type_of(MAX_BODY_BYTES, false), "application/json");
        assert_eq!(
            content_type_of(MAX_BODY_BYTES + 1, false),
            "text/event-stream"
        );
        assert_eq!(content_type_of(1, true), "text/event-stream");
    }

    #[tokio::test(start_paused = true)]
    async fn a_stalled_client_gets_the_buffered_events_and_the_response() {
        let messages = Arc::new(MessageBuffer::default());
        for n in 0..2 * EVENT_BUFFER {
            messages.push(&n);
        }
        let answer = EncodedResponse::new(StatusCode::OK, b"{\n}".to_vec());
        let running = CallStream::new(Box::pin(std::future::ready(answer)), messages);
        let (sender, mut receiver) = mpsc::channel(EVENT_BUFFER);
        let forwarder = SseForwarder {
            event_log: EventLog::new(1_000),
            stream_id: "s".to_owned(),
            sender: Some(sender),
            sends_priming_event: true,
            is_stalled: false,
        };
        let task = tokio::spawn(forwarder.run(None, running));
        // The paused clock advances only while no task can run.
        tokio::time::sleep(2 * SEND_TIMEOUT).await;
        let mut received = Vec::new();
        while let Some([_, json, _]) = receiver.recv().await {
            received.push(String::from_utf8(json.to_vec()).unwrap());
        }
        task.await.unwrap();
        let mut expected: Vec<_> = (0..EVENT_BUFFER).map(|n| n.to_string()).collect();
        expected.push("{ }".to_owned());
        assert_eq!(received, expected);
    }

    #[tokio::test(start_paused = true)]
    async fn a_silent_stream_sends_keep_alive_comments() {
        use http_body_util::BodyExt;
        let mut body = sse_response(stream::pending()).into_body();
        for _ in 0..2 {
            let started = Instant::now();
            let frame = body.frame().await.unwrap().unwrap();
            assert_eq!(frame.into_data().unwrap(), ":\n\n");
            assert_eq!(started.elapsed(), KEEP_ALIVE_INTERVAL);
        }
    }
}
