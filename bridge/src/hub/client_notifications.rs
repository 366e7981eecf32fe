//! MCP clients and the news that wait for them.
//!
//! News are facts, not messages: however often a list changes while a client is busy, it is told
//! once. So no client can pile anything up, and a stuck one harms nobody.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};

use bridge_protocol::{ConnectedClient, Kind};
use indexmap::IndexSet;
use tokio::sync::Notify;

use super::Hub;
use crate::hub::realm_slots::RealmClass;
use bridge_auth::RealmId;
use bridge_realm::realm::{ClientId, Refusal};

/// So many changes of the list of tools are counted for a client that does not read: more than one
/// is only news to clients of mcp-web 0.1.
const MAX_TOOL_CHANGES: usize = 1024;

/// What a client has not been told yet.
#[derive(Debug, Default)]
pub(crate) struct PendingNotifications {
    /// `tools/list` answers differently.
    pub(crate) tools: bool,
    /// How often that changed, for clients that hear of each change. At most
    /// [`MAX_TOOL_CHANGES`].
    pub(crate) tool_change_count: usize,
    /// `prompts/list` answers differently.
    pub(crate) prompts_changed: bool,
    /// `resources/list` or `resources/templates/list` answers differently.
    pub(crate) resources_changed: bool,
    /// Subscribed resources that changed.
    pub(crate) updated_uris: IndexSet<String>,
}

impl PendingNotifications {
    fn is_empty(&self) -> bool {
        !self.tools
            && !self.prompts_changed
            && !self.resources_changed
            && self.updated_uris.is_empty()
    }
}

/// Where the news of one client wait.
#[derive(Debug, Default)]
pub(crate) struct NotificationQueue {
    pending: Mutex<PendingNotifications>,
    ready: Notify,
}

impl NotificationQueue {
    /// Waits until there are news.
    pub(crate) async fn recv(&self) -> PendingNotifications {
        loop {
            let ready = self.ready.notified();
            let news = std::mem::take(&mut *self.lock());
            if !news.is_empty() {
                return news;
            }
            ready.await;
        }
    }

    pub(super) fn list_changed(&self, kind: Kind) {
        let mut news = self.lock();
        match kind {
            Kind::Tool => {
                news.tools = true;
                news.tool_change_count = (news.tool_change_count + 1).min(MAX_TOOL_CHANGES);
            }
            Kind::Prompt => news.prompts_changed = true,
            Kind::Resource | Kind::ResourceTemplate => news.resources_changed = true,
        }
        self.ready.notify_one();
    }

    pub(super) fn resource_updated(&self, uri: String) {
        self.lock().updated_uris.insert(uri);
        self.ready.notify_one();
    }

    fn discard_update(&self, uri: &str) {
        self.lock().updated_uris.shift_remove(uri);
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, PendingNotifications> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Hub {
    /// An MCP client connected. It hears of changes through the line, and of the page it waits
    /// for; `None` when as many tokens wait as may, an error when as many clients of this token are
    /// connected as may.
    pub(crate) fn client_connected(
        &self,
        realm: RealmId,
        mut client: ConnectedClient,
    ) -> Result<Option<(ClientId, Arc<NotificationQueue>)>, Refusal> {
        let id = ClientId(self.next_id.fetch_add(1, Ordering::Relaxed));
        client.id = id.0;
        self.apply_or_create(realm, RealmClass::Clients, |entry, _| {
            let effects = entry.realm.client_connected(id, client)?;
            let line = Arc::new(NotificationQueue::default());
            entry.notification_queues.insert(id, Arc::clone(&line));
            Ok(((id, line), effects))
        })
        .transpose()
    }

    /// An MCP client left.
    pub(crate) fn client_disconnected(&self, realm: RealmId, client: ClientId) {
        self.apply(realm, |realm, _| ((), realm.client_disconnected(client)));
        if let Some(mut entry) = self.realms.get_mut(&realm) {
            entry.notification_queues.remove(&client);
        }
        self.remove_if_empty(realm);
    }

    /// A client wants to hear when a resource changes.
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

    /// A client no longer wants to hear of a resource.
    pub(crate) fn unsubscribe(&self, realm: RealmId, client: ClientId, uri: &str) {
        self.apply(realm, |realm, _| {
            ((), realm.resource_unsubscribed(client, uri))
        });
        if let Some(entry) = self.realms.get(&realm)
            && let Some(line) = entry.notification_queues.get(&client)
        {
            line.discard_update(uri);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn unsubscribing_discards_pending_updates() {
        let line = NotificationQueue::default();
        for n in 0..100 {
            let uri = format!("a:{n}");
            line.resource_updated(uri.clone());
            line.discard_update(&uri);
        }
        line.resource_updated("a:last".to_owned());
        assert_eq!(line.recv().await.updated_uris.len(), 1);
    }

    #[tokio::test]
    async fn tool_changes_are_counted_up_to_the_maximum() {
        let line = NotificationQueue::default();
        for _ in 0..3 {
            line.list_changed(Kind::Tool);
        }
        line.list_changed(Kind::Prompt);
        assert_eq!(line.recv().await.tool_change_count, 3);
        for _ in 0..2 * MAX_TOOL_CHANGES {
            line.list_changed(Kind::Tool);
        }
        assert_eq!(line.recv().await.tool_change_count, MAX_TOOL_CHANGES);
    }
}
