//! A connected client. It belongs to its realm while its notifier exists, and receives
//! notifications of changes.

use std::sync::{Arc, Weak};

use bridge_auth::RealmId;
use bridge_edge::ClientAddress;
use bridge_protocol::ConnectedClient;
use bridge_realm::realm::{ClientId, Refusal};
use rmcp::model::SubscriptionFilter;
use rmcp::service::SubscriptionContext;

use crate::hub::{Hub, NotificationQueue, PendingNotifications};

/// The connection of a client to its realm. Dropping it disconnects the client.
#[derive(Debug)]
pub(crate) struct ClientNotifier {
    hub: Weak<Hub>,
    realm: RealmId,
    id: ClientId,
    queue: Arc<NotificationQueue>,
}

impl ClientNotifier {
    /// Connects a client to its realm. Returns `None` when the limit of tokens with waiting clients is
    /// reached: the client is served, but receives no notifications.
    ///
    /// # Errors
    ///
    /// When the limit of clients of the token is reached.
    pub(crate) fn connect(
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
        }))
    }

    /// The changes that the client has not been notified of.
    pub(crate) fn queue(&self) -> Arc<NotificationQueue> {
        Arc::clone(&self.queue)
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

    /// Serves a `subscriptions/listen` (2026-07-28) until the client ends it, or its realm is closed.
    pub(super) async fn listen(self, subscription: SubscriptionContext) -> Result<(), Refusal> {
        let filter = subscription.accepted().clone();
        for uri in filter.resource_subscriptions.iter().flatten() {
            self.subscribe(uri.clone())?;
        }
        loop {
            tokio::select! {
                () = subscription.cancelled() => return Ok(()),
                () = self.queue.closed() => return Ok(()),
                pending = self.queue.recv() => {
                    if !send_to_subscription(&subscription, &filter, pending).await {
                        return Ok(());
                    }
                }
            }
        }
    }
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
        if let Some(hub) = self.hub.upgrade() {
            hub.client_disconnected(self.realm, self.id);
        }
    }
}
