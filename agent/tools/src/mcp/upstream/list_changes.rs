//! Finds out that a server's list of tools has changed: by notifications, or since MCP 2026-07-28 by a
//! subscription.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rmcp::RoleClient;
use rmcp::model::{ProtocolVersion, SubscriptionFilter};
use rmcp::service::{Peer, Subscription};
use tokio::sync::Notify;
use tokio::time::{sleep, timeout};

use crate::timeouts::{SUBSCRIBE_INTERVAL, SUBSCRIBE_TIMEOUT};

/// Notifies that a list has changed. At most one notification is pending, however often it changes.
#[derive(Debug, Default)]
pub(super) struct ListChangeSignal {
    is_pending: AtomicBool,
    notify: Notify,
}

impl ListChangeSignal {
    /// Begins a notification. Returns whether none is pending yet.
    pub(super) fn begin(&self) -> bool {
        !self.is_pending.swap(true, Ordering::SeqCst)
    }

    pub(super) fn notify(&self) {
        self.notify.notify_one();
    }

    /// Waits for a notification. From then on, the next one can begin.
    async fn changed(&self) {
        self.notify.notified().await;
        self.is_pending.store(false, Ordering::SeqCst);
    }
}

/// The changes of a server's list of tools.
pub(super) enum ListChanges {
    /// The server sends notifications without being asked.
    Notified(Arc<ListChangeSignal>),
    /// The server sends them within a subscription, which is `None` when it has ended. They are
    /// received like others: see `message_limit`.
    Subscribed {
        peer: Peer<RoleClient>,
        notified: Arc<ListChangeSignal>,
        subscription: Option<Box<Subscription>>,
    },
    /// The server has declared that its list does not change.
    None,
}

impl ListChanges {
    pub(super) fn new(peer: &Peer<RoleClient>, notified: &Arc<ListChangeSignal>) -> Self {
        let Some(server) = peer.peer_info() else {
            return Self::None;
        };
        if server.protocol_version < ProtocolVersion::V_2026_07_28 {
            return Self::Notified(Arc::clone(notified));
        }
        let tools = server.capabilities.tools.as_ref();
        if tools.and_then(|tools| tools.list_changed) != Some(true) {
            return Self::None;
        }
        Self::Subscribed {
            peer: peer.clone(),
            notified: Arc::clone(notified),
            subscription: None,
        }
    }

    /// Waits until the list may have changed. It may also have changed when a subscription begins,
    /// which does not report earlier changes.
    pub(super) async fn next(&mut self) {
        match self {
            Self::Notified(notified) => notified.changed().await,
            Self::Subscribed {
                peer,
                notified,
                subscription,
            } => {
                if let Some(open) = subscription {
                    tokio::select! {
                        () = notified.changed() => return,
                        () = end(open) => {}
                    }
                    *subscription = None;
                    sleep(SUBSCRIBE_INTERVAL).await;
                }
                *subscription = subscribe(peer).await;
            }
            Self::None => std::future::pending().await,
        }
    }
}

/// Waits for the end of a subscription.
async fn end(subscription: &mut Subscription) {
    while matches!(subscription.next().await, Ok(Some(_))) {}
}

/// Subscribes to the changes of the list. Waits for ever if the server does not offer that.
async fn subscribe(peer: &Peer<RoleClient>) -> Option<Box<Subscription>> {
    let mut filter = SubscriptionFilter::new();
    filter.tools_list_changed = Some(true);
    match timeout(SUBSCRIBE_TIMEOUT, peer.listen(filter)).await {
        Ok(Ok(subscription)) => Some(Box::new(subscription)),
        Ok(Err(_)) | Err(_) => {
            tracing::debug!("a server does not tell changes of its list of tools");
            std::future::pending().await
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use rmcp::service::{ClientServiceExt, RunningService};
    use serde_json::{Value, json};
    use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream};
    use tokio::time::Instant;

    use super::super::connection::{NotificationHandler, lifecycle};
    use super::*;

    /// A server of MCP 2026-07-28 that acknowledges subscriptions, or not, and ends them at once.
    async fn serve(stream: DuplexStream, acknowledges: bool, methods: Arc<Methods>) {
        let (read, mut write) = tokio::io::split(stream);
        let mut lines = BufReader::new(read).lines();
        while let Some(line) = lines.next_line().await.unwrap() {
            let request: Value = serde_json::from_str(&line).unwrap();
            let (id, method) = (&request["id"], request["method"].as_str().unwrap());
            methods.lock().unwrap().push(method.to_owned());
            let meta = json!({ "io.modelcontextprotocol/subscriptionId": id });
            let messages = match method {
                "server/discover" => vec![json!({ "id": id, "result": { "resultType": "complete",
                    "supportedVersions": ["2026-07-28"], "ttlMs": 0, "cacheScope": "private",
                    "capabilities": { "tools": { "listChanged": true } } } })],
                "subscriptions/listen" if acknowledges => vec![
                    json!({ "method": "notifications/subscriptions/acknowledged", "params": {
                        "_meta": meta, "notifications": request["params"]["notifications"] } }),
                    json!({ "id": id, "result": { "resultType": "complete", "_meta": meta } }),
                ],
                _ => Vec::new(),
            };
            for mut message in messages {
                message["jsonrpc"] = "2.0".into();
                let line = format!("{message}\n");
                write.write_all(line.as_bytes()).await.unwrap();
            }
        }
    }

    type Methods = std::sync::Mutex<Vec<String>>;

    async fn connect(
        acknowledges: bool,
    ) -> (
        RunningService<RoleClient, NotificationHandler>,
        Arc<Methods>,
    ) {
        let (client, server) = tokio::io::duplex(4096);
        let methods = Arc::<Methods>::default();
        tokio::spawn(serve(server, acknowledges, Arc::clone(&methods)));
        let handler = NotificationHandler::default();
        let service = handler.serve_with_lifecycle(client, lifecycle()).await;
        (service.unwrap(), methods)
    }

    fn changes(service: &RunningService<RoleClient, NotificationHandler>) -> ListChanges {
        ListChanges::new(service.peer(), &Arc::default())
    }

    fn count(methods: &Methods, name: &str) -> usize {
        let methods = methods.lock().unwrap();
        methods.iter().filter(|method| *method == name).count()
    }

    #[tokio::test(start_paused = true)]
    async fn a_subscription_that_ends_is_repeated_later() {
        let (service, methods) = connect(true).await;
        let mut changes = changes(&service);
        let started = Instant::now();
        for subscriptions in 1..=3_u32 {
            changes.next().await;
            assert_eq!(started.elapsed(), SUBSCRIBE_INTERVAL * (subscriptions - 1));
            let count = count(&methods, "subscriptions/listen");
            assert_eq!(count, subscriptions as usize);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_subscription_that_is_not_acknowledged_is_cancelled() {
        let (service, methods) = connect(false).await;
        let mut changes = changes(&service);
        let late = SUBSCRIBE_TIMEOUT + Duration::from_millis(1);
        assert!(timeout(late, changes.next()).await.is_err());
        tokio::task::yield_now().await;
        assert_eq!(count(&methods, "subscriptions/listen"), 1);
        assert_eq!(count(&methods, "notifications/cancelled"), 1);
    }
}
