//! A query's events as an event stream (WHATWG HTML, "Server-sent events").

use std::convert::Infallible;
use std::time::Duration;

use axum::response::sse::{Event, KeepAlive};
use axum::response::{IntoResponse, Response, Sse};
use bridge_protocol::{BridgeToPage, ErrorCode};
use futures_util::stream;
use http::header::ACCEPT;
use http::{HeaderMap, HeaderName};
use tokio::sync::mpsc;

use super::Problem;

const EVENT_STREAM: &str = "text/event-stream";

/// A stream that has nothing to say shows so often that it is alive.
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(15);

/// Whether who asks reads events.
pub(super) fn accepts_event_stream(headers: &HeaderMap) -> bool {
    let accepted = headers.get_all(ACCEPT).iter();
    accepted
        .filter_map(|value| value.to_str().ok())
        .any(|value| value.contains(EVENT_STREAM))
}

pub(super) fn event_stream_required() -> Problem {
    Problem::new(
        ErrorCode::ProtocolViolation,
        "the answer comes as a stream of events: send `Accept: text/event-stream`",
    )
}

/// Each message as it comes, to the last.
pub(super) fn response(told: mpsc::Receiver<BridgeToPage>) -> Response {
    let events = stream::unfold(told, |mut told| async {
        let message = told.recv().await?;
        Some((Ok::<_, Infallible>(event(&message)), told))
    });
    let keep_alive = KeepAlive::new()
        .interval(KEEPALIVE_INTERVAL)
        .text("keepalive");
    let response = Sse::new(events).keep_alive(keep_alive);
    // What proxies look for that would hold events back.
    let unbuffered = [(HeaderName::from_static("x-accel-buffering"), "no")];
    (unbuffered, response).into_response()
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
    // In JSON a line ends between tokens only: results of pages can have such.
    let line = message.encode().replace(['\n', '\r'], " ");
    Event::default().event(name).data(line)
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
        let (say, told) = mpsc::channel(1);
        let mut pieces = response(told).into_body().into_data_stream();
        let begun = Instant::now();
        assert_eq!(pieces.next().await.unwrap().unwrap(), ": keepalive\n\n");
        assert_eq!(begun.elapsed(), KEEPALIVE_INTERVAL);
        let uuid = QueryId::from("a");
        say.send(BridgeToPage::QueryAccepted(QueryAccepted { uuid }))
            .await
            .unwrap();
        let event = pieces.next().await.unwrap().unwrap();
        let expected =
            "event: query_accepted\ndata: {\"type\":\"query_accepted\",\"uuid\":\"a\"}\n\n";
        assert_eq!(event, expected);
        drop(say);
        assert!(pieces.next().await.is_none());
    }

    #[tokio::test]
    async fn line_breaks_in_page_json_become_spaces() {
        let (say, told) = mpsc::channel(1);
        let lines = RawValue::from_string("{\n  \"a\": \"b\\nc\"\r\n}".to_owned()).unwrap();
        say.send(BridgeToPage::QueryComplete(QueryComplete {
            uuid: QueryId::from("a"),
            result: None,
            tool_calls: vec![QueryToolCall {
                tool: "t".to_owned(),
                arguments: lines.clone(),
                result: Some(lines),
            }],
        }))
        .await
        .unwrap();
        let mut pieces = response(told).into_body().into_data_stream();
        let event = pieces.next().await.unwrap().unwrap();
        let event = std::str::from_utf8(&event).unwrap();
        assert_eq!(event.trim_end().lines().count(), 2, "{event}");
        assert!(event.contains(r"b\nc"), "{event}");
    }
}
