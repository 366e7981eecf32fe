//! Calls that the client makes itself, with tools that it has brought along.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::Value;
use tokio::sync::oneshot;

use crate::model::Media;

/// A tool of the client that asks, which it executes itself.
#[derive(Clone, Debug)]
pub(crate) struct ClientTool {
    pub(crate) name: String,
    pub(crate) description: Option<String>,
    /// A JSON Schema whose root is an object.
    pub(crate) input_schema: Value,
}

/// The result of a call that the client has made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ClientResult {
    pub(crate) text: String,
    pub(crate) is_error: bool,
    /// The pictures in the result, which `text` describes.
    pub(crate) pictures: Vec<Media>,
}

/// The calls of one query that wait for their results from the client.
#[derive(Debug, Default)]
pub(crate) struct ClientCalls {
    /// By the id of the call.
    waiting: Mutex<HashMap<String, oneshot::Sender<ClientResult>>>,
}

impl ClientCalls {
    /// Opens a call. It is closed when the returned value is dropped.
    pub(super) fn open(&self, id: &str) -> OpenClientCall<'_> {
        let (sender, result) = oneshot::channel();
        self.waiting().insert(id.to_owned(), sender);
        OpenClientCall {
            calls: self,
            id: id.to_owned(),
            result,
        }
    }

    /// Returns whether a call with this id waits for the client.
    pub(crate) fn is_open(&self, id: &str) -> bool {
        self.waiting().contains_key(id)
    }

    /// Ends a call with its result. Returns whether it was open.
    pub(crate) fn finish(&self, id: &str, result: ClientResult) -> bool {
        let sender = self.waiting().remove(id);
        sender.is_some_and(|sender| sender.send(result).is_ok())
    }

    /// Locks the table. A poisoned lock is used anyway, because no code panics while it holds the
    /// lock.
    fn waiting(&self) -> MutexGuard<'_, HashMap<String, oneshot::Sender<ClientResult>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A call that waits for its result.
#[derive(Debug)]
pub(super) struct OpenClientCall<'a> {
    calls: &'a ClientCalls,
    id: String,
    result: oneshot::Receiver<ClientResult>,
}

impl OpenClientCall<'_> {
    /// Waits for the result. The timeout is that of the query.
    pub(super) async fn wait(mut self) -> ClientResult {
        let result = (&mut self.result).await;
        result.unwrap_or_else(|_| ClientResult {
            text: "The app has not made this call.".to_owned(),
            is_error: true,
            pictures: Vec::new(),
        })
    }
}

impl Drop for OpenClientCall<'_> {
    fn drop(&mut self) {
        self.calls.waiting().remove(&self.id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_call_is_finished_once_and_closed_when_it_is_dropped() {
        let calls = ClientCalls::default();
        let result = |text: &str| ClientResult {
            text: text.to_owned(),
            is_error: false,
            pictures: Vec::new(),
        };
        let open = calls.open("1");
        assert!(calls.is_open("1") && !calls.is_open("2"));
        assert!(!calls.finish("2", result("another call")));
        assert!(calls.finish("1", result("red")));
        assert!(!calls.finish("1", result("it is finished")));
        assert_eq!(open.wait().await, result("red"));
        drop(calls.open("3"));
        assert!(!calls.finish("3", result("the query was cancelled")));
    }
}
