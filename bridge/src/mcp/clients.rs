//! A connected client: known to its realm as long as this lives, told when the tool list changes.

use std::future::Future;
use std::sync::{Arc, Weak};
use std::time::Duration;

use bridge_protocol::ConnectedClient;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::auth::RealmId;
use crate::hub::Hub;
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
    changes: watch::Receiver<u64>,
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
        Ok(connected.map(|(id, changes)| Self {
            hub: Arc::downgrade(hub),
            realm,
            id,
            changes,
            notifier: None,
        }))
    }

    /// Notifies from a task of its own. Changes that happen meanwhile become one notification.
    pub(super) fn notify_with<N, F>(&mut self, notify: N)
    where
        N: Fn() -> F + Send + 'static,
        F: Future<Output = bool> + Send,
    {
        let mut changes = self.changes.clone();
        self.notifier = Some(tokio::spawn(async move {
            while changes.changed().await.is_ok() {
                if let Ok(false) = tokio::time::timeout(NOTIFY_WITHIN, notify()).await {
                    return;
                }
            }
        }));
    }

    /// Waits for the next change.
    pub(super) async fn changed(&mut self) {
        if self.changes.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
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
