//! A connected client: known to its realm as long as this lives, told when something changes.

use std::sync::{Arc, Weak};
use std::time::Duration;

use bridge_protocol::ConnectedClient;
use rmcp::RoleServer;
use rmcp::model::{ResourceUpdatedNotificationParam, SubscriptionFilter};
use rmcp::service::{Peer, SubscriptionContext};
use tokio::task::JoinHandle;

use crate::auth::RealmId;
use crate::hub::{Hub, News, NewsLine};
use crate::realm::{ClientId, Refusal};

/// A client that does not take a notification within this does not read its stream. The next
/// change is offered to it again; nobody else waits for it.
const NOTIFY_WITHIN: Duration = Duration::from_secs(5);

/// The client's place in the realm. It leaves when this is dropped.
#[derive(Debug)]
pub(super) struct Client {
    hub: Weak<Hub>,
    realm: RealmId,
    id: ClientId,
    line: Arc<NewsLine>,
    notifier: Option<JoinHandle<()>>,
}

impl Client {
    /// `None` when as many tokens wait as may: the client is served, but hears of no changes. An
    /// error when the token has as many clients as it may have.
    pub(super) fn connect(
        hub: &Arc<Hub>,
        realm: RealmId,
        client: ConnectedClient,
    ) -> Result<Option<Self>, Refusal> {
        let connected = hub.client_connected(realm, client)?;
        Ok(connected.map(|(id, line)| Self {
            hub: Arc::downgrade(hub),
            realm,
            id,
            line,
            notifier: None,
        }))
    }

    /// Notifies from a task of its own, in the revisions before 2026-07-28. What happens meanwhile
    /// becomes one notification of each kind.
    pub(super) fn notify(&mut self, peer: Peer<RoleServer>) {
        let line = Arc::clone(&self.line);
        let notifier = tokio::spawn(async move {
            loop {
                let news = line.next().await;
                if let Ok(false) = tokio::time::timeout(NOTIFY_WITHIN, tell(&peer, news)).await {
                    return;
                }
            }
        });
        if let Some(former) = self.notifier.replace(notifier) {
            former.abort();
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
                news = self.line.next() => {
                    if !tell_subscription(&subscription, &filter, news).await {
                        return Ok(());
                    }
                }
            }
        }
    }
}

/// False when the client is gone.
async fn tell(peer: &Peer<RoleServer>, news: News) -> bool {
    let mut told = true;
    if news.tools {
        told &= peer.notify_tool_list_changed().await.is_ok();
    }
    if news.prompts {
        told &= peer.notify_prompt_list_changed().await.is_ok();
    }
    if news.resources {
        told &= peer.notify_resource_list_changed().await.is_ok();
    }
    for uri in news.updated {
        let updated = ResourceUpdatedNotificationParam::new(uri);
        told &= peer.notify_resource_updated(updated).await.is_ok();
    }
    told
}

/// False when the client is gone. It hears only what it asked for.
async fn tell_subscription(
    subscription: &SubscriptionContext,
    filter: &SubscriptionFilter,
    news: News,
) -> bool {
    let sink = subscription.sink();
    let mut told = true;
    if news.tools && filter.tools_list_changed == Some(true) {
        told &= sink.notify_tool_list_changed().await.is_ok();
    }
    if news.prompts && filter.prompts_list_changed == Some(true) {
        told &= sink.notify_prompt_list_changed().await.is_ok();
    }
    if news.resources && filter.resources_list_changed == Some(true) {
        told &= sink.notify_resource_list_changed().await.is_ok();
    }
    for uri in news.updated {
        told &= sink.notify_resource_updated(uri).await.is_ok();
    }
    told
}

impl Drop for Client {
    fn drop(&mut self) {
        if let Some(notifier) = self.notifier.take() {
            notifier.abort();
        }
        if let Some(hub) = self.hub.upgrade() {
            hub.client_left(self.realm, self.id);
        }
    }
}
