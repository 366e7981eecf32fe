//! Which message of a child belongs to which open request, by ids of our own. Plain data.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::child::Messages;

/// The id of a request in the child, and its progress token there.
pub(super) type Key = u64;

const SUBSCRIPTION_META: &str = "io.modelcontextprotocol/subscriptionId";
const LOG_LEVEL_META: &str = "io.modelcontextprotocol/logLevel";

#[derive(Debug, Default)]
pub(super) struct Routes {
    last: Key,
    open: BTreeMap<Key, OpenRequest>,
    listener: Option<mpsc::UnboundedSender<Value>>,
    /// Came while nobody listened.
    buffered: Vec<Value>,
    ended: bool,
}

#[derive(Debug)]
struct OpenRequest {
    id: Value,
    progress: Option<Value>,
    wants_log: bool,
    is_listener: bool,
    messages: mpsc::UnboundedSender<Value>,
}

impl Routes {
    /// A request is about to be sent: gives it an id that is unique in the child.
    pub(super) fn register(&mut self, request: &mut Value) -> (Key, Messages) {
        self.last += 1;
        let key = self.last;
        let (messages, receiver) = mpsc::unbounded_channel();
        let id = std::mem::replace(&mut request["id"], json!(key));
        let listens = request["method"] == "subscriptions/listen";
        let meta = request.pointer_mut("/params/_meta");
        let wants_log = meta
            .as_ref()
            .is_some_and(|meta| meta.get(LOG_LEVEL_META).is_some());
        let progress = meta
            .and_then(|meta| meta.get_mut("progressToken"))
            .map(|token| std::mem::replace(token, json!(key)));
        if !self.ended {
            let open = OpenRequest {
                id,
                progress,
                wants_log,
                is_listener: listens,
                messages,
            };
            self.open.insert(key, open);
        }
        (key, receiver)
    }

    /// Names the request of a `notifications/cancelled` as the child knows it.
    pub(super) fn rename_cancelled(&self, message: &mut Value) {
        if message["method"] != "notifications/cancelled" {
            return;
        }
        if let Some(id) = message.pointer_mut("/params/requestId") {
            let cancelled = self.open.iter().find(|(_, open)| open.id == *id);
            if let Some((key, _)) = cancelled {
                *id = json!(key);
            }
        }
    }

    /// True if the request was still open.
    pub(super) fn close(&mut self, key: Key) -> bool {
        self.open.remove(&key).is_some()
    }

    /// Opens the stream for what belongs to no request; an older one ends.
    pub(super) fn listen(&mut self) -> Messages {
        let (listener, messages) = mpsc::unbounded_channel();
        for kept in self.buffered.drain(..) {
            let _ = listener.send(kept);
        }
        self.listener = (!self.ended).then_some(listener);
        messages
    }

    /// The child is gone: all streams end.
    pub(super) fn end(&mut self) {
        self.ended = true;
        self.open.clear();
        self.listener = None;
    }

    /// A message of the child, passed on to whom it concerns.
    pub(super) fn dispatch(&mut self, mut message: Value) {
        if message.get("method").is_none() {
            return self.route_response(message);
        }
        if let Some(key) = self.subscription_of(&mut message) {
            return self.forward(key, message);
        }
        if message["method"] == "notifications/progress" {
            return self.route_progress(message);
        }
        match self.stream_for(&message) {
            Some(key) => self.forward(key, message),
            None => self.broadcast(message),
        }
    }

    fn route_response(&mut self, mut message: Value) {
        let open = message["id"]
            .as_u64()
            .and_then(|key| self.open.remove(&key));
        if let Some(open) = open {
            message["id"] = open.id.clone();
            if let Some(id) = message.pointer_mut(&pointer("/result/_meta", SUBSCRIPTION_META)) {
                *id = open.id;
            }
            let _ = open.messages.send(message);
        }
    }

    fn subscription_of(&self, message: &mut Value) -> Option<Key> {
        let id = message.pointer_mut(&pointer("/params/_meta", SUBSCRIPTION_META))?;
        let key = id.as_u64()?;
        *id = self.open.get(&key)?.id.clone();
        Some(key)
    }

    fn route_progress(&mut self, mut message: Value) {
        let token = &mut message["params"]["progressToken"];
        let Some(key) = token.as_u64() else { return };
        let Some(progress) = self.open.get(&key).and_then(|open| open.progress.clone()) else {
            return;
        };
        *token = progress;
        self.forward(key, message);
    }

    /// The response stream for a message that does not say which.
    fn stream_for(&self, message: &Value) -> Option<Key> {
        let method = message["method"].as_str().unwrap_or_default();
        let shared =
            method.ends_with("list_changed") || method == "notifications/resources/updated";
        if shared && self.listener.is_some() {
            return None;
        }
        let log = method == "notifications/message";
        let calls = || self.open.iter().rev().filter(|(_, open)| !open.is_listener);
        let asked_for_log = calls().find(|(_, open)| log && open.wants_log);
        asked_for_log
            .or_else(|| calls().next())
            .map(|(key, _)| *key)
    }

    fn forward(&mut self, key: Key, message: Value) {
        if let Some(open) = self.open.get(&key) {
            // In an MCP session a caller that hung up did not cancel: its messages are lost.
            let _ = open.messages.send(message);
        }
    }

    fn broadcast(&mut self, message: Value) {
        match &self.listener {
            Some(listener) if !listener.is_closed() => {
                let _ = listener.send(message);
            }
            _ => self.buffered.push(message),
        }
    }
}

fn pointer(parent: &str, key: &str) -> String {
    format!("{parent}/{}", key.replace('/', "~1"))
}
