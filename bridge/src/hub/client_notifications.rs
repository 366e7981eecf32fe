//! Notifications that wait until an MCP client receives them.
//!
//! Pending notifications are stored as facts, not as messages: however often a list changes while a
//! client is busy, the client receives one notification. So a queue has a bounded size, and a
//! client that does not read costs the other clients nothing.

use std::sync::{Mutex, MutexGuard, PoisonError};

use bridge_protocol::Kind;
use indexmap::IndexSet;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

/// The maximum number of changes of the tool list that are counted for a client that does not read.
/// Only clients that receive one notification for each change need their number.
const MAX_TOOL_CHANGES: usize = 1024;

/// The changes since the client last received its notifications.
#[derive(Debug, Default)]
pub(crate) struct PendingNotifications {
    /// The result of `tools/list` has changed.
    pub(crate) tools_changed: bool,
    /// How often the result of `tools/list` has changed, for clients that receive one notification
    /// for each change. At most [`MAX_TOOL_CHANGES`].
    pub(crate) tool_change_count: usize,
    /// The result of `prompts/list` has changed.
    pub(crate) prompts_changed: bool,
    /// The result of `resources/list` or `resources/templates/list` has changed.
    pub(crate) resources_changed: bool,
    /// The subscribed resources that have changed.
    pub(crate) updated_uris: IndexSet<String>,
}

impl PendingNotifications {
    fn is_empty(&self) -> bool {
        !self.tools_changed
            && !self.prompts_changed
            && !self.resources_changed
            && self.updated_uris.is_empty()
    }
}

/// The pending notifications of one client.
#[derive(Debug, Default)]
pub(crate) struct NotificationQueue {
    pending: Mutex<PendingNotifications>,
    ready: Notify,
    closed: CancellationToken,
}

impl NotificationQueue {
    /// Waits until something has changed, and takes all pending changes.
    pub(crate) async fn recv(&self) -> PendingNotifications {
        loop {
            let ready = self.ready.notified();
            let pending = std::mem::take(&mut *self.lock());
            if !pending.is_empty() {
                return pending;
            }
            ready.await;
        }
    }

    /// Completes when the realm of the client is closed.
    pub(crate) async fn closed(&self) {
        self.closed.cancelled().await;
    }

    /// Records that the realm of the client is closed.
    pub(super) fn close(&self) {
        self.closed.cancel();
    }

    /// Records that the list of a kind has changed.
    pub(super) fn list_changed(&self, kind: Kind) {
        let mut pending = self.lock();
        match kind {
            Kind::Tool => {
                pending.tools_changed = true;
                pending.tool_change_count = (pending.tool_change_count + 1).min(MAX_TOOL_CHANGES);
            }
            Kind::Prompt => pending.prompts_changed = true,
            Kind::Resource | Kind::ResourceTemplate => pending.resources_changed = true,
        }
        self.ready.notify_one();
    }

    /// Records that a subscribed resource has changed.
    pub(super) fn resource_updated(&self, uri: String) {
        self.lock().updated_uris.insert(uri);
        self.ready.notify_one();
    }

    /// Drops the pending update of a resource.
    pub(super) fn discard_update(&self, uri: &str) {
        self.lock().updated_uris.shift_remove(uri);
    }

    fn lock(&self) -> MutexGuard<'_, PendingNotifications> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn unsubscribing_discards_pending_updates() {
        let queue = NotificationQueue::default();
        for n in 0..100 {
            let uri = format!("a:{n}");
            queue.resource_updated(uri.clone());
            queue.discard_update(&uri);
        }
        queue.resource_updated("a:last".to_owned());
        assert_eq!(queue.recv().await.updated_uris.len(), 1);
    }

    #[tokio::test]
    async fn tool_changes_are_counted_up_to_the_maximum() {
        let queue = NotificationQueue::default();
        for _ in 0..3 {
            queue.list_changed(Kind::Tool);
        }
        queue.list_changed(Kind::Prompt);
        assert_eq!(queue.recv().await.tool_change_count, 3);
        for _ in 0..2 * MAX_TOOL_CHANGES {
            queue.list_changed(Kind::Tool);
        }
        assert_eq!(queue.recv().await.tool_change_count, MAX_TOOL_CHANGES);
    }
}
