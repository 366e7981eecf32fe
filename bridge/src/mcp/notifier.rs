//! A connected client. It belongs to its realm while its notifier exists, and receives
//! notifications of changes.

use std::sync::{Arc, Weak};
use std::time::Duration;

use bridge_auth::RealmId;
use bridge_protocol::ConnectedClient;
use bridge_realm::realm::{ClientId, Refusal};
use bridge_service::ClientAddress;
use rmcp::RoleServer;
use rmcp::model::{ResourceUpdatedNotificationParam, SubscriptionFilter};
use rmcp::service::{Peer, SubscriptionContext};
use tokio::task::JoinHandle;

use crate::hub::{Hub, NotificationQueue, PendingNotifications};

/// A client that does not take a notification within this time does not read its stream. It is
/// notified again of the next change, and the other clients do not wait for it.
const NOTIFY_TIMEOUT: Duration = Duration::from_secs(5);

/// The connection of a client to its realm. Dropping it disconnects the client.
#[derive(Debug)]
pub(super) struct ClientNotifier {
    hub: Weak<Hub>,
    realm: RealmId,
    id: ClientId,
    queue: Arc<NotificationQueue>,
    task: Option<JoinHandle<()>>,
}

impl ClientNotifier {
    /// Connects a client to its realm. Returns `None` when the limit of tokens with waiting clients
    /// is reached: the client is served, but receives no notifications. Returns an error when the
    /// limit of clients of the token is reached.
    pub(super) fn connect(
        hub: &Arc<Hub>,
        realm: RealmId,
        address: ClientAddress,
        client: ConnectedClient,
    ) -> Result<Option<Self>, Refusal> {
        let connected = hub.client_connected(realm, address, client)?;
        Ok(connected.map(|(id, queue)| Self {
            hub: Arc::downgrade(hub),
            realm,
            id,
            queue,
            task: None,
        }))
    }

    /// Starts a task that sends notifications, for the revisions before 2026-07-28. Changes while
    /// the client is busy become one notification of each kind.
    pub(super) fn start(&mut self, peer: Peer<RoleServer>) {
        let queue = Arc::clone(&self.queue);
        let task = tokio::spawn(async move {
            loop {
                let mut pending = queue.recv().await;
                let sending = send_notifications(&peer, &mut pending);
                match tokio::time::timeout(NOTIFY_TIMEOUT, sending).await {
                    Ok(true) => {}
                    Ok(false) => return,
                    // The client does not read.
                    Err(_) => queue.restore(pending),
                }
            }
        });
        if let Some(previous) = self.task.replace(task) {
            previous.abort();
        }
    }

    pub(super) fn subscribe(&self, uri: String) -> Result<(), Refusal> {
        match self.hub.upgrade() {
            Some(hub) => hub.subscribe(self.realm, self.id, uri),
            None => Ok(()),
        }
    }

    pub(super) fn unsubscribe(&self, uri: &str) {
        if let Some(hub) = self.hub.upgrade() {
            hub.unsubscribe(self.realm, self.id, uri);
        }
    }

    /// Serves a `subscriptions/listen` (2026-07-28) until the client ends it.
    pub(super) async fn listen(self, subscription: SubscriptionContext) -> Result<(), Refusal> {
        let filter = subscription.accepted().clone();
        for uri in filter.resource_subscriptions.iter().flatten() {
            self.subscribe(uri.clone())?;
        }
        loop {
            tokio::select! {
                () = subscription.cancelled() => return Ok(()),
                pending = self.queue.recv() => {
                    if !send_to_subscription(&subscription, &filter, pending).await {
                        return Ok(());
                    }
                }
            }
        }
    }
}

/// Sends the pending notifications, and removes each that is sent. Returns false when the client has
/// disconnected.
async fn send_notifications(peer: &Peer<RoleServer>, pending: &mut PendingNotifications) -> bool {
    let mut all_sent = true;
    if pending.tools_changed {
        all_sent &= peer.notify_tool_list_changed().await.is_ok();
        pending.tools_changed = false;
    }
    if pending.prompts_changed {
        all_sent &= peer.notify_prompt_list_changed().await.is_ok();
        pending.prompts_changed = false;
    }
    if pending.resources_changed {
        all_sent &= peer.notify_resource_list_changed().await.is_ok();
        pending.resources_changed = false;
    }
    while let Some(uri) = pending.updated_uris.first() {
        let updated = ResourceUpdatedNotificationParam::new(uri.clone());
        all_sent &= peer.notify_resource_updated(updated).await.is_ok();
        pending.updated_uris.shift_remove_index(0);
    }
    all_sent
}

/// Sends only what the client has subscribed to. Returns false when the client has disconnected.
async fn send_to_subscription(
    subscription: &SubscriptionContext,
    filter: &SubscriptionFilter,
    pending: PendingNotifications,
) -> bool {
    let sink = subscription.sink();
    let mut all_sent = true;
    if pending.tools_changed && filter.tools_list_changed == Some(true) {
        all_sent &= sink.notify_tool_list_changed().await.is_ok();
    }
    if pending.prompts_changed && filter.prompts_list_changed == Some(true) {
        all_sent &= sink.notify_prompt_list_changed().await.is_ok();
    }
    if pending.resources_changed && filter.resources_list_changed == Some(true) {
        all_sent &= sink.notify_resource_list_changed().await.is_ok();
    }
    for uri in pending.updated_uris {
        all_sent &= sink.notify_resource_updated(uri).await.is_ok();
    }
    all_sent
}

impl Drop for ClientNotifier {
    fn drop(&mut self) {
        if let Some(notifier) = self.task.take() {
            notifier.abort();
        }
        if let Some(hub) = self.hub.upgrade() {
            hub.client_disconnected(self.realm, self.id);
        }
    }
}
