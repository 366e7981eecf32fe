//! Assigns the messages of a child to open requests, whose ids are unique in the child.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use tokio::sync::mpsc;

/// Messages of the child, in order.
pub(super) type Messages = mpsc::UnboundedReceiver<Value>;

/// The id of a request in the child, which is also its progress token there.
pub(super) type RequestKey = u64;

const SUBSCRIPTION_META: &str = "io.modelcontextprotocol/subscriptionId";
const LOG_LEVEL_META: &str = "io.modelcontextprotocol/logLevel";

/// The open requests of a child, and the stream for messages that belong to no request.
#[derive(Debug, Default)]
pub(super) struct Routes {
    last: RequestKey,
    open: BTreeMap<RequestKey, OpenRequest>,
    listener: Option<mpsc::UnboundedSender<Value>>,
    /// Messages for the stream that arrived while it was not open.
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
    /// Registers a request that is about to be sent, and replaces its id by one that is unique.
    pub(super) fn register(&mut self, request: &mut Value) -> (RequestKey, Messages) {
        self.last += 1;
        let key = self.last;
        let (messages, receiver) = mpsc::unbounded_channel();
        let id = std::mem::replace(&mut request["id"], json!(key));
        let is_listener = request["method"] == "subscriptions/listen";
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
                is_listener,
                messages,
            };
            self.open.insert(key, open);
        }
        (key, receiver)
    }

    /// Replaces the request id in a `notifications/cancelled` by the one that the child knows.
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

    /// Closes a request, and returns whether it was open.
    pub(super) fn close(&mut self, key: RequestKey) -> bool {
        self.open.remove(&key).is_some()
    }

    /// Opens the stream for messages that belong to no request, and closes an older one.
    pub(super) fn listen(&mut self) -> Messages {
        let (listener, messages) = mpsc::unbounded_channel();
        for message in self.buffered.drain(..) {
            let _ = listener.send(message);
        }
        self.listener = (!self.ended).then_some(listener);
        messages
    }

    /// Ends all streams, because the child has exited.
    pub(super) fn end(&mut self) {
        self.ended = true;
        self.open.clear();
        self.listener = None;
    }

    /// Forwards a message of the child to the request that it belongs to.
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

    fn subscription_of(&self, message: &mut Value) -> Option<RequestKey> {
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

    /// Guesses the response stream for a message that does not name one.
    fn stream_for(&self, message: &Value) -> Option<RequestKey> {
        let method = message["method"].as_str().unwrap_or_default();
        let is_shared =
            method.ends_with("list_changed") || method == "notifications/resources/updated";
        if is_shared && self.listener.is_some() {
            return None;
        }
        let is_log = method == "notifications/message";
        let calls = || self.open.iter().rev().filter(|(_, open)| !open.is_listener);
        let log_call = calls().find(|(_, open)| is_log && open.wants_log);
        log_call.or_else(|| calls().next()).map(|(key, _)| *key)
    }

    fn forward(&mut self, key: RequestKey, message: Value) {
        if let Some(open) = self.open.get(&key) {
            // In an MCP session, closing the connection does not cancel; the messages are lost.
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
