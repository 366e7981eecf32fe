//! The response with a query's events as an event stream (WHATWG HTML, "Server-sent events").

use std::convert::Infallible;
use std::time::Duration;

use axum::response::sse::{Event, KeepAlive};
use axum::response::{IntoResponse, Response, Sse};
use bridge_protocol::{BridgeToPage, ErrorCode, event_data};
use futures_util::{Stream, stream};
use http::header::ACCEPT;
use http::{HeaderMap, HeaderName};
use tokio::sync::mpsc;

use super::Rejection;

const EVENT_STREAM: &str = "text/event-stream";

/// How often a stream without events sends a comment, so that its reader knows that it is alive.
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(15);

/// Returns whether the client accepts an event stream.
pub(super) fn accepts_event_stream(headers: &HeaderMap) -> bool {
    let accepted = headers.get_all(ACCEPT).iter();
    accepted
        .filter_map(|value| value.to_str().ok())
        .any(|value| value.contains(EVENT_STREAM))
}

/// Creates the problem for a client that does not accept an event stream.
pub(super) fn event_stream_required() -> Rejection {
    Rejection::new(
        ErrorCode::ProtocolViolation,
        "the answer comes as a stream of events: send `Accept: text/event-stream`",
    )
}

/// Responds with each message when it is received, up to the last.
pub(super) fn response(messages: mpsc::Receiver<BridgeToPage>) -> Response {
    let events = stream::unfold(messages, |mut messages| async {
        let message = messages.recv().await?;
        Some((Ok::<_, Infallible>(event(&message)), messages))
    });
    respond_with(events)
}

/// Responds with a stream of events, up to the last.
pub(super) fn respond_with(
    events: impl Stream<Item = Result<Event, Infallible>> + Send + 'static,
) -> Response {
    let keep_alive = KeepAlive::new()
        .interval(KEEPALIVE_INTERVAL)
        .text("keepalive");
    let response = Sse::new(events).keep_alive(keep_alive);
    // This header keeps proxies from buffering the events.
    let unbuffered = [(HeaderName::from_static("x-accel-buffering"), "no")];
    (unbuffered, response).into_response()
}

/// Adds JSON as the data of an event. Every event of the agent gets its data here.
pub(super) fn with_json(event: Event, json: String) -> Event {
    let data = event_data::from_json(json.into_bytes());
    event.data(String::from_utf8_lossy(&data))
}

fn event(message: &BridgeToPage) -> Event {
    let name = match message {
        BridgeToPage::QueryAccepted(_) => "query_accepted",
        BridgeToPage::QueryProgress(_) => "query_progress",
        BridgeToPage::QueryComplete(_) => "query_complete",
        BridgeToPage::QueryFailure(_) => "query_failure",
        BridgeToPage::QueryCancel(_) => "query_cancel",
        _ => "message",
    };
    with_json(Event::default().event(name), message.encode())
}

#[cfg(test)]
mod tests {
    use bridge_protocol::{QueryAccepted, QueryComplete, QueryId, QueryToolCall};
    use futures_util::StreamExt;
    use serde_json::value::RawValue;
    use tokio::time::Instant;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_silent_stream_shows_that_it_is_alive() {
        let (sender, messages) = mpsc::channel(1);
        let mut chunks = response(messages).into_body().into_data_stream();
        let started = Instant::now();
        assert_eq!(chunks.next().await.unwrap().unwrap(), ": keepalive\n\n");
        assert_eq!(started.elapsed(), KEEPALIVE_INTERVAL);
        let uuid = QueryId::from("a");
        sender
            .send(BridgeToPage::QueryAccepted(QueryAccepted { uuid }))
            .await
            .unwrap();
        let event = chunks.next().await.unwrap().unwrap();
        let expected =
            "event: query_accepted\ndata: {\"type\":\"query_accepted\",\"uuid\":\"a\"}\n\n";
        assert_eq!(event, expected);
        drop(sender);
        assert!(chunks.next().await.is_none());
    }

    #[tokio::test]
    async fn page_json_is_one_line_for_every_reader() {
        let (sender, messages) = mpsc::channel(1);
        let lines =
            RawValue::from_string("{\n  \"a\": \"b\\nc\u{2028}\u{2029}\u{85}\"\r\n}".to_owned())
                .unwrap();
        sender
            .send(BridgeToPage::QueryComplete(QueryComplete {
                uuid: QueryId::from("a"),
                result: None,
                tool_calls: vec![QueryToolCall {
                    tool: "t".to_owned(),
                    arguments: lines.clone(),
                    result: Some(lines),
                    source: None,
                }],
                usage: None,
            }))
            .await
            .unwrap();
        let mut chunks = response(messages).into_body().into_data_stream();
        let event = chunks.next().await.unwrap().unwrap();
        let event = std::str::from_utf8(&event).unwrap();
        assert_eq!(event.trim_end().lines().count(), 2, "{event}");
        assert!(event.contains(r"b\nc\u2028\u2029\u0085"), "{event}");
    }
}
