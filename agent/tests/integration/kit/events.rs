//! Reads a stream of events.

use futures_util::StreamExt;
use futures_util::stream::BoxStream;
use reqwest::{RequestBuilder, Response};
use serde_json::Value;

use super::with_deadline;

/// The stream of events of a query.
pub(crate) struct EventStream {
    chunks: BoxStream<'static, reqwest::Result<bytes::Bytes>>,
    text: String,
    /// Whether each event has the type of its message as its name.
    is_named: bool,
}

impl EventStream {
    /// Sends a request whose response must be a stream of events.
    pub(crate) async fn open(request: RequestBuilder) -> Self {
        let response = with_deadline("answer", request.send()).await.unwrap();
        assert_eq!(response.status(), 200);
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        Self::from_response(response)
    }

    pub(crate) fn from_response(response: Response) -> Self {
        Self {
            chunks: response.bytes_stream().boxed(),
            text: String::new(),
            is_named: true,
        }
    }

    /// Sends a request whose response must be a stream of events without names.
    pub(crate) async fn open_unnamed(request: RequestBuilder) -> Self {
        Self::open(request).await.without_names()
    }

    /// Expects events without names.
    pub(crate) fn without_names(self) -> Self {
        Self {
            is_named: false,
            ..self
        }
    }

    /// Reads the next event, and skips comments; `None` at the end. It checks that the name of the
    /// event is the type of its message, which is one line.
    pub(crate) async fn next(&mut self) -> Option<Value> {
        loop {
            if let Some((event, rest)) = self.text.split_once("\n\n") {
                let (event, rest) = (event.to_owned(), rest.to_owned());
                self.text = rest;
                if event.starts_with(':') {
                    continue;
                }
                // Some readers also end a line at these characters.
                let separators = ['\u{85}', '\u{2028}', '\u{2029}'];
                assert!(!event.contains(separators), "{event:?}");
                let (name, data) = if self.is_named {
                    event.split_once('\n').unwrap()
                } else {
                    ("", event.as_str())
                };
                let data: Value =
                    serde_json::from_str(data.strip_prefix("data: ").unwrap()).unwrap();
                if self.is_named {
                    assert_eq!(name.strip_prefix("event: "), data["type"].as_str());
                }
                return Some(data);
            }
            let chunk = with_deadline("event", self.chunks.next()).await?.unwrap();
            self.text.push_str(std::str::from_utf8(&chunk).unwrap());
        }
    }

    /// Reads all remaining events.
    pub(crate) async fn collect(mut self) -> Vec<Value> {
        let mut events = Vec::new();
        while let Some(event) = self.next().await {
            events.push(event);
        }
        events
    }

    /// Reads all remaining events, and returns the last.
    pub(crate) async fn last(self) -> Value {
        self.collect().await.pop().unwrap()
    }
}
