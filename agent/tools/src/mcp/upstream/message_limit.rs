//! A transport that ends when a server sends too many unrequested messages, and drops those that
//! the agent does not use.
//!
//! rmcp starts a task for each of them and does not wait for it: a server that sends without end
//! would fill the memory, and its answers would never be received.
//!
//! The client has no capabilities, so that there is little to request, and it asks for no progress.

use std::sync::Arc;

use rmcp::RoleClient;
use rmcp::model::{
    CancelledNotificationParam, GetMeta, JsonRpcMessage, NotificationMetaObject,
    ServerNotification, SubscriptionFilter,
};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use tokio::task::consume_budget;
use tokio::time::{Duration, Instant};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::list_changes::ListChangeSignal;

/// The number of requests of a server in [`INTERVAL`].
const MAX_REQUESTS: u32 = 100;

/// The number of notifications of a server in [`INTERVAL`], with responses to no request and lines
/// that are not messages. An honest server may log much at once.
const MAX_NOTIFICATIONS: u32 = 1000;

/// The time in which messages are counted.
const INTERVAL: Duration = Duration::from_secs(10);

/// The field of a request's metadata with which it asks for notifications of its progress.
const PROGRESS_TOKEN: &str = "progressToken";

/// A transport that ends when a server sends too many messages.
#[derive(Debug)]
pub(super) struct MessageLimit<T> {
    transport: T,
    requests: MessageCounter,
    notifications: MessageCounter,
    /// The number of requests of the agent to which no response was received.
    open_requests: u64,
    list_change: Arc<ListChangeSignal>,
    /// Cancelled when no more messages are received.
    closed: Option<DropGuard>,
}

impl<T> MessageLimit<T> {
    /// `closed` is cancelled when no more messages are received: rmcp waits for its own responses
    /// before it ends the requests of the agent.
    pub(super) fn new(
        transport: T,
        list_change: Arc<ListChangeSignal>,
        closed: CancellationToken,
    ) -> Self {
        Self {
            transport,
            requests: MessageCounter::new(MAX_REQUESTS),
            notifications: MessageCounter::new(MAX_NOTIFICATIONS),
            open_requests: 0,
            list_change,
            closed: Some(closed.drop_guard()),
        }
    }

    /// Counts a message. Returns whether it is one of those that are allowed.
    fn is_allowed(&mut self, message: &RxJsonRpcMessage<RoleClient>) -> bool {
        let now = Instant::now();
        match message {
            JsonRpcMessage::Request(_) => self.requests.is_allowed(now),
            JsonRpcMessage::Notification(_) => self.notifications.is_allowed(now),
            JsonRpcMessage::Error(error) if error.id.is_none() => {
                self.notifications.is_allowed(now)
            }
            JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) if self.open_requests > 0 => {
                self.open_requests -= 1;
                true
            }
            JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) => {
                self.notifications.is_allowed(now)
            }
        }
    }

    /// Returns whether the agent uses a notification, and removes what it does not use of it: a buffer
    /// of rmcp may hold it for some time.
    fn is_used(&self, notification: &mut ServerNotification) -> bool {
        match notification {
            ServerNotification::ToolListChangedNotification(changed) => {
                // Without the id of a subscription, its buffer cannot be filled.
                changed.extensions = Default::default();
                self.list_change.begin()
            }
            ServerNotification::SubscriptionsAcknowledgedNotification(acknowledged) => {
                let meta = acknowledged.extensions.get::<NotificationMetaObject>();
                let id = meta.and_then(NotificationMetaObject::subscription_id);
                let mut filter = SubscriptionFilter::new();
                filter.tools_list_changed = acknowledged.params.notifications.tools_list_changed;
                acknowledged.params.notifications = filter;
                acknowledged.params.meta = None;
                acknowledged.extensions = Default::default();
                if let Some(id) = id {
                    let mut meta = NotificationMetaObject::new();
                    meta.set_subscription_id(id);
                    acknowledged.extensions.insert(meta);
                }
                true
            }
            ServerNotification::CancelledNotification(cancelled) => {
                let id = cancelled.params.request_id.take();
                cancelled.params = CancelledNotificationParam::new(id, None);
                cancelled.extensions = Default::default();
                true
            }
            _ => false,
        }
    }
}

impl<T: Transport<RoleClient>> Transport<RoleClient> for MessageLimit<T> {
    type Error = T::Error;

    fn send(
        &mut self,
        mut message: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        if let JsonRpcMessage::Request(request) = &mut message {
            self.open_requests += 1;
            request.request.get_meta_mut().remove(PROGRESS_TOKEN);
        }
        self.transport.send(message)
    }

    /// Nothing is lost if the future is dropped.
    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        loop {
            // A message that is received below is returned without another wait. Other tasks must
            // also run if there is always one more message.
            consume_budget().await;
            let Some(mut message) = self.transport.receive().await else {
                self.closed = None;
                return None;
            };
            if !self.is_allowed(&message) {
                tracing::warn!("an MCP server sends too many messages: its connection is closed");
                self.closed = None;
                return None;
            }
            let is_used = match &mut message {
                JsonRpcMessage::Notification(message) => self.is_used(&mut message.notification),
                JsonRpcMessage::Error(error) => error.id.is_some(),
                JsonRpcMessage::Response(_) | JsonRpcMessage::Request(_) => true,
            };
            if is_used {
                return Some(message);
            }
        }
    }

    fn close(&mut self) -> impl Future<Output = Result<(), Self::Error>> + Send {
        self.transport.close()
    }
}

/// Counts messages in intervals.
#[derive(Debug)]
struct MessageCounter {
    limit: u32,
    interval_began_at: Instant,
    messages: u32,
}

impl MessageCounter {
    fn new(limit: u32) -> Self {
        Self {
            limit,
            interval_began_at: Instant::now(),
            messages: 0,
        }
    }

    /// Counts a message. Returns whether it is one of those that are allowed.
    fn is_allowed(&mut self, now: Instant) -> bool {
        if now.duration_since(self.interval_began_at) >= INTERVAL {
            (self.interval_began_at, self.messages) = (now, 0);
        }
        self.messages += 1;
        self.messages <= self.limit
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use rmcp::model::{ClientRequest, RequestId};
    use serde_json::{Value, json};
    use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader, duplex, sink};
    use tokio::task::yield_now;

    use super::super::process_transport::ProcessTransport;
    use super::*;

    fn limited(read: impl AsyncRead + Send + Unpin) -> impl Transport<RoleClient> {
        let transport = ProcessTransport::new(read, sink(), 4096);
        MessageLimit::new(transport, Arc::default(), CancellationToken::new())
    }

    /// Creates the output of a server, all of which can be read at once.
    fn lines(messages: impl IntoIterator<Item = Value>) -> Cursor<Vec<u8>> {
        let mut lines = Vec::new();
        for mut message in messages {
            message["jsonrpc"] = "2.0".into();
            lines.extend_from_slice(format!("{message}\n").as_bytes());
        }
        Cursor::new(lines)
    }

    async fn receive_all(mut transport: impl Transport<RoleClient>) -> Vec<Value> {
        let mut received = Vec::new();
        while let Some(message) = transport.receive().await {
            received.push(serde_json::to_value(message).unwrap());
        }
        received
    }

    fn repeat(message: Value, count: u32) -> impl Iterator<Item = Value> {
        (0..count).map(move |_| message.clone())
    }

    fn cancelled() -> Value {
        json!({ "method": "notifications/cancelled", "params": { "requestId": 1 } })
    }

    fn response() -> Value {
        json!({ "id": 7, "result": { "tools": [] } })
    }

    #[test]
    fn messages_are_counted_in_intervals() {
        let mut counter = MessageCounter::new(MAX_REQUESTS);
        let now = counter.interval_began_at;
        assert!((0..MAX_REQUESTS).all(|_| counter.is_allowed(now)));
        assert!(!counter.is_allowed(now + INTERVAL / 2));
        assert!(counter.is_allowed(now + INTERVAL));
    }

    #[tokio::test(start_paused = true)]
    async fn notifications_and_responses_to_nothing_are_limited_together() {
        let half = MAX_NOTIFICATIONS / 2;
        let messages = repeat(cancelled(), half).chain(repeat(response(), MAX_NOTIFICATIONS));
        let received = receive_all(limited(lines(messages))).await;
        assert_eq!(received.len(), MAX_NOTIFICATIONS as usize);
        assert_eq!(received.last().unwrap()["id"], 7);
    }

    #[tokio::test(start_paused = true)]
    async fn lines_that_are_not_messages_are_dropped_and_counted() {
        for (count, received) in [(MAX_NOTIFICATIONS - 1, 1), (MAX_NOTIFICATIONS, 0)] {
            let mut all = b"Listening on stdio\n".repeat(count as usize);
            all.extend(lines([cancelled()]).into_inner());
            let all = receive_all(limited(Cursor::new(all))).await;
            assert_eq!(all.len(), received);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn responses_to_requests_are_not_limited() {
        let count = 2 * MAX_NOTIFICATIONS;
        let mut transport = limited(lines(repeat(response(), count)));
        for id in 0..count {
            let request = json!({ "jsonrpc": "2.0", "id": id, "method": "tools/list" });
            let request = serde_json::from_value(request).unwrap();
            transport.send(request).await.unwrap();
        }
        assert_eq!(receive_all(transport).await.len(), count as usize);
    }

    #[tokio::test(start_paused = true)]
    async fn messages_that_the_agent_does_not_use_are_dropped() {
        let long = "x".repeat(1000);
        let meta = json!({ "io.modelcontextprotocol/subscriptionId": 5, "long": long });
        let uris = json!([long]);
        let messages = [
            json!({ "method": "notifications/progress",
                "params": { "progressToken": 1, "progress": 1, "message": long } }),
            json!({ "method": "notifications/message", "params": { "level": "info", "data": long } }),
            json!({ "method": "notifications/prompts/list_changed" }),
            json!({ "method": "notifications/other", "params": { "long": long } }),
            json!({ "method": "notifications/tools/list_changed", "params": { "_meta": meta } }),
            json!({ "method": "notifications/tools/list_changed" }),
            json!({ "method": "notifications/subscriptions/acknowledged", "params": { "_meta": meta,
                "notifications": { "toolsListChanged": true, "resourceSubscriptions": uris } } }),
            json!({ "method": "notifications/cancelled",
                "params": { "requestId": 5, "reason": long, "_meta": meta } }),
        ];
        let received = receive_all(limited(lines(messages))).await;
        let meta = json!({ "io.modelcontextprotocol/subscriptionId": 5 });
        let expected = [
            json!({ "jsonrpc": "2.0", "method": "notifications/tools/list_changed" }),
            json!({ "jsonrpc": "2.0", "method": "notifications/subscriptions/acknowledged",
                "params": { "_meta": meta, "notifications": { "toolsListChanged": true } } }),
            json!({ "jsonrpc": "2.0", "method": "notifications/cancelled",
                "params": { "requestId": 5 } }),
        ];
        assert_eq!(received, expected);
    }

    #[tokio::test]
    async fn other_tasks_run_while_there_is_always_one_more_message() {
        let unused = json!({ "method": "notifications/prompts/list_changed" });
        let receiving = receive_all(limited(lines(repeat(unused, MAX_NOTIFICATIONS))));
        let mut turns = 0;
        let other = async {
            loop {
                yield_now().await;
                turns += 1;
            }
        };
        tokio::select! {
            biased;
            received = receiving => assert!(received.is_empty()),
            () = other => {}
        }
        assert!(turns > 2, "{turns}");
    }

    #[tokio::test]
    async fn requests_do_not_ask_for_progress() {
        let (write, read) = duplex(4096);
        let transport = ProcessTransport::new(tokio::io::empty(), write, 4096);
        let closed = CancellationToken::new();
        let mut transport = MessageLimit::new(transport, Arc::default(), closed.clone());
        let request = json!({ "method": "tools/call", "params": { "name": "read",
            "_meta": { "progressToken": 3, "kept": 4 } } });
        let request: ClientRequest = serde_json::from_value(request).unwrap();
        let request = JsonRpcMessage::request(request, RequestId::Number(1));
        transport.send(request).await.unwrap();
        let line = BufReader::new(read).lines().next_line().await.unwrap();
        let request: Value = serde_json::from_str(&line.unwrap()).unwrap();
        assert_eq!(request["params"]["_meta"], json!({ "kept": 4 }));
        drop(transport);
        assert!(closed.is_cancelled());
    }

    #[tokio::test]
    async fn the_end_of_the_messages_is_signalled_before_the_transport_is_dropped() {
        let transport = ProcessTransport::new(tokio::io::empty(), sink(), 4096);
        let closed = CancellationToken::new();
        let mut transport = MessageLimit::new(transport, Arc::default(), closed.clone());
        assert!(transport.receive().await.is_none());
        assert!(closed.is_cancelled());
    }
}
