//! Calls that wait for the approval of a person, or for a result that the client must send.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

/// The calls of one query that wait for the same kind of reply.
#[derive(Debug)]
pub(crate) struct OpenCalls<T> {
    /// By the id of the call.
    waiting: Mutex<HashMap<String, oneshot::Sender<T>>>,
}

impl<T> Default for OpenCalls<T> {
    fn default() -> Self {
        Self {
            waiting: Mutex::default(),
        }
    }
}

impl<T> OpenCalls<T> {
    /// Opens a call. It is closed when the returned value is dropped.
    pub(crate) fn open(&self, id: &str) -> OpenCall<'_, T> {
        let (sender, reply) = oneshot::channel();
        self.waiting().insert(id.to_owned(), sender);
        OpenCall {
            calls: self,
            id: id.to_owned(),
            reply,
        }
    }

    /// Returns whether a call with this id waits.
    pub(crate) fn is_open(&self, id: &str) -> bool {
        self.waiting().contains_key(id)
    }

    /// Closes a call with its reply. Returns whether it was open.
    pub(crate) fn reply(&self, id: &str, reply: T) -> bool {
        let sender = self.waiting().remove(id);
        sender.is_some_and(|sender| sender.send(reply).is_ok())
    }

    /// Locks the table. A poisoned lock is used anyway, because no code panics while it holds the
    /// lock.
    fn waiting(&self) -> MutexGuard<'_, HashMap<String, oneshot::Sender<T>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A call that waits for its reply.
#[derive(Debug)]
pub(crate) struct OpenCall<'a, T> {
    calls: &'a OpenCalls<T>,
    id: String,
    reply: oneshot::Receiver<T>,
}

impl<T> OpenCall<'_, T> {
    /// Waits for the reply. Returns `None` if another call with the same id was opened.
    pub(super) async fn wait(mut self) -> Option<T> {
        (&mut self.reply).await.ok()
    }
}

impl<T> Drop for OpenCall<'_, T> {
    fn drop(&mut self) {
        self.calls.waiting().remove(&self.id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_call_has_one_reply_and_is_closed_when_it_is_dropped() {
        let calls = OpenCalls::default();
        let open = calls.open("1");
        assert!(calls.is_open("1") && !calls.is_open("2"));
        assert!(!calls.reply("2", "another call"));
        assert!(calls.reply("1", "red"));
        assert!(!calls.is_open("1") && !calls.reply("1", "it is closed"));
        assert_eq!(open.wait().await, Some("red"));
        drop(calls.open("3"));
        assert!(!calls.reply("3", "the query was cancelled"));
    }
}
