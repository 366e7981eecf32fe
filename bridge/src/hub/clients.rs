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
use super::places::Occupancy;
use crate::auth::RealmId;
use crate::realm::{ClientId, Refusal};

/// So many changes of the list of tools are counted for a client that does not read: more than one
/// is only news to clients of mcp-web 0.1.
const WAITING_CHANGES: usize = 1024;

/// What a client has not been told yet.
#[derive(Debug, Default)]
pub(crate) struct News {
    /// `tools/list` answers differently.
    pub(crate) tools: bool,
    /// How often that changed, for clients that hear of each change. At most
    /// [`WAITING_CHANGES`].
    pub(crate) tool_changes: usize,
    /// `prompts/list` answers differently.
    pub(crate) prompts: bool,
    /// `resources/list` or `resources/templates/list` answers differently.
    pub(crate) resources: bool,
    /// Subscribed resources that changed.
    pub(crate) updated: IndexSet<String>,
}

impl News {
    fn is_empty(&self) -> bool {
        !self.tools && !self.prompts && !self.resources && self.updated.is_empty()
    }
}

/// Where the news of one client wait.
#[derive(Debug, Default)]
pub(crate) struct NewsLine {
    news: Mutex<News>,
    ready: Notify,
}

impl NewsLine {
    /// Waits until there are news.
    pub(crate) async fn next(&self) -> News {
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
                news.tool_changes = (news.tool_changes + 1).min(WAITING_CHANGES);
            }
            Kind::Prompt => news.prompts = true,
            Kind::Resource | Kind::ResourceTemplate => news.resources = true,
        }
        self.ready.notify_one();
    }

    pub(super) fn resource_updated(&self, uri: String) {
        self.lock().updated.insert(uri);
        self.ready.notify_one();
    }

    fn unsubscribed(&self, uri: &str) {
        self.lock().updated.shift_remove(uri);
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, News> {
        self.news.lock().unwrap_or_else(PoisonError::into_inner)
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
    ) -> Result<Option<(ClientId, Arc<NewsLine>)>, Refusal> {
        let id = ClientId(self.next_id.fetch_add(1, Ordering::Relaxed));
        client.id = id.0;
        self.open(realm, Occupancy::Clients, |entry, _| {
            let effects = entry.realm.client_connected(id, client)?;
            let line = Arc::new(NewsLine::default());
            entry.clients.insert(id, Arc::clone(&line));
            Ok(((id, line), effects))
        })
        .transpose()
    }

    /// An MCP client left.
    pub(crate) fn client_left(&self, realm: RealmId, client: ClientId) {
        self.change(realm, |realm, _| ((), realm.client_left(client)));
        if let Some(mut entry) = self.realms.get_mut(&realm) {
            entry.clients.remove(&client);
        }
        self.forget_if_empty(realm);
    }

    /// A client wants to hear when a resource changes.
    pub(crate) fn subscribe(
        &self,
        realm: RealmId,
        client: ClientId,
        uri: String,
    ) -> Result<(), Refusal> {
        let subscribed = self.change(realm, |realm, _| match realm.subscribed(client, uri) {
            Ok(effects) => (Ok(()), effects),
            Err(refusal) => (Err(refusal), Vec::new()),
        });
        subscribed.unwrap_or(Ok(()))
    }

    /// A client no longer wants to hear of a resource.
    pub(crate) fn unsubscribe(&self, realm: RealmId, client: ClientId, uri: &str) {
        self.change(realm, |realm, _| ((), realm.unsubscribed(client, uri)));
        if let Some(entry) = self.realms.get(&realm)
            && let Some(line) = entry.clients.get(&client)
        {
            line.unsubscribed(uri);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn news_of_what_a_client_gave_up_do_not_wait_for_it() {
        let line = NewsLine::default();
        for n in 0..100 {
            let uri = format!("a:{n}");
            line.resource_updated(uri.clone());
            line.unsubscribed(&uri);
        }
        line.resource_updated("a:last".to_owned());
        assert_eq!(line.next().await.updated.len(), 1);
    }

    #[tokio::test]
    async fn changes_are_counted_up_to_a_bound() {
        let line = NewsLine::default();
        for _ in 0..3 {
            line.list_changed(Kind::Tool);
        }
        line.list_changed(Kind::Prompt);
        assert_eq!(line.next().await.tool_changes, 3);
        for _ in 0..2 * WAITING_CHANGES {
            line.list_changed(Kind::Tool);
        }
        assert_eq!(line.next().await.tool_changes, WAITING_CHANGES);
    }
}
