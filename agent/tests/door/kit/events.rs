//! A stream of events, read one by one.

use futures_util::StreamExt;
use futures_util::stream::BoxStream;
use reqwest::{RequestBuilder, Response};
use serde_json::Value;

use super::soon;

/// The events of a query.
pub(crate) struct Events {
    pieces: BoxStream<'static, reqwest::Result<bytes::Bytes>>,
    text: String,
}

impl Events {
    /// Asks, and expects to be answered with a stream.
    pub(crate) async fn of(request: RequestBuilder) -> Self {
        let response = soon("answer", request.send()).await.unwrap();
        assert_eq!(response.status(), 200);
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        Self::in_response(response)
    }

    pub(crate) fn in_response(response: Response) -> Self {
        Self {
            pieces: response.bytes_stream().boxed(),
            text: String::new(),
        }
    }

    /// The next event that is no comment; `None` at the end. Its name is the type of its message, which
    /// is one line.
    pub(crate) async fn next(&mut self) -> Option<Value> {
        loop {
            if let Some((event, rest)) = self.text.split_once("\n\n") {
                let (event, rest) = (event.to_owned(), rest.to_owned());
                self.text = rest;
                if event.starts_with(':') {
                    continue;
                }
                let (name, data) = event.split_once('\n').unwrap();
                let data: Value =
                    serde_json::from_str(data.strip_prefix("data: ").unwrap()).unwrap();
                assert_eq!(name.strip_prefix("event: "), data["type"].as_str());
                return Some(data);
            }
            let piece = soon("event", self.pieces.next()).await?.unwrap();
            self.text.push_str(std::str::from_utf8(&piece).unwrap());
        }
    }

    /// All that are left.
    pub(crate) async fn rest(mut self) -> Vec<Value> {
        let mut events = Vec::new();
        while let Some(event) = self.next().await {
            events.push(event);
        }
        events
    }

    /// The last one.
    pub(crate) async fn last(self) -> Value {
        self.rest().await.pop().unwrap()
    }
}
