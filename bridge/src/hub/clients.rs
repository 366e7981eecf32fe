//! Events of MCP clients: they connect, subscribe to resources, and disconnect.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use bridge_auth::RealmId;
use bridge_edge::ClientAddress;
use bridge_protocol::ConnectedClient;
use bridge_realm::realm::{ClientId, Refusal};

use super::Hub;
use super::client_notifications::NotificationQueue;
use crate::budget::{PageParty, RealmClass};

impl Hub {
    /// Adds an MCP client with this address to a realm. The returned queue receives all changes, including those of
    /// pages that connect later.
    ///
    /// Returns `None` when the limit of tokens with waiting clients is reached.
    ///
    /// # Errors
    ///
    /// When the limit of clients of this token is reached, or when its principal is denied.
    pub(crate) fn client_connected(
        &self,
        realm: RealmId,
        address: ClientAddress,
        mut client: ConnectedClient,
    ) -> Result<Option<(ClientId, Arc<NotificationQueue>)>, Refusal> {
        let id = ClientId(self.next_id.fetch_add(1, Ordering::Relaxed));
        client.id = id.0;
        let party = PageParty::new(address, None);
        self.apply_or_create(realm, RealmClass::Clients, &party, |entry, _| {
            self.check_admission(realm)?;
            let effects = entry.realm.client_connected(id, client)?;
            let queue = Arc::new(NotificationQueue::default());
            entry.notification_queues.insert(id, Arc::clone(&queue));
            Ok(((id, queue), effects))
        })
        .transpose()
    }

    /// Removes an MCP client from its realm.
    pub(crate) fn client_disconnected(&self, realm: RealmId, client: ClientId) {
        self.apply(realm, |realm, _| ((), realm.client_disconnected(client)));
        if let Some(mut entry) = self.realms.get_mut(&realm) {
            entry.notification_queues.remove(&client);
        }
        self.remove_if_empty(realm);
    }

    /// Subscribes a client to the updates of a resource.
    pub(crate) fn subscribe(
        &self,
        realm: RealmId,
        client: ClientId,
        uri: String,
    ) -> Result<(), Refusal> {
        let subscribed = self.apply(realm, |realm, _| {
            match realm.resource_subscribed(client, uri) {
                Ok(effects) => (Ok(()), effects),
                Err(refusal) => (Err(refusal), Vec::new()),
            }
        });
        subscribed.unwrap_or(Ok(()))
    }

    /// Ends the subscription of a client to a resource, and drops an update that is pending.
    pub(crate) fn unsubscribe(&self, realm: RealmId, client: ClientId, uri: &str) {
        self.apply(realm, |realm, _| {
            ((), realm.resource_unsubscribed(client, uri))
        });
        if let Some(entry) = self.realms.get(&realm)
            && let Some(queue) = entry.notification_queues.get(&client)
        {
            queue.discard_update(uri);
        }
    }
}
