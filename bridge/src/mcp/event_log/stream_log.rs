//! The events of one stream that a client can still receive.
//!
//! A notification that something has changed is stored once for each thing: a newer one replaces
//! it, because a client that resumes its stream fetches what has changed, however often it did.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use bridge_auth::RealmId;
use rmcp::model::{ServerJsonRpcMessage, ServerNotification};
use rmcp::transport::streamable_http_server::session::SessionId;
use tokio::sync::Notify;

use crate::mcp::raw_event::StoredEvent;
use crate::shares::Party;

/// The events of one stream.
pub(super) struct StreamLog {
    pub(super) first_number: u64,
    pub(super) events: VecDeque<LogEntry>,
    /// The newest notification of each change.
    changes: HashMap<Change, u64>,
    pub(super) bytes: usize,
    pub(super) session: Option<SessionId>,
    pub(super) party: Option<Party<RealmId>>,
    pub(super) changed: Arc<Notify>,
}

/// An event, its number, and the memory for which it counts.
pub(super) struct LogEntry {
    pub(super) number: u64,
    pub(super) bytes: usize,
    pub(super) event: StoredEvent,
}

/// What a notification says has changed.
#[derive(PartialEq, Eq, Hash)]
enum Change {
    Tools,
    Prompts,
    Resources,
    Resource(String),
}

impl Change {
    /// Returns `None` if the event is not a notification of a change.
    fn of(event: &StoredEvent) -> Option<Self> {
        let StoredEvent::Model(event) = event else {
            return None;
        };
        let ServerJsonRpcMessage::Notification(message) = event.message.as_deref()? else {
            return None;
        };
        match &message.notification {
            ServerNotification::ToolListChangedNotification(_) => Some(Self::Tools),
            ServerNotification::PromptListChangedNotification(_) => Some(Self::Prompts),
            ServerNotification::ResourceListChangedNotification(_) => Some(Self::Resources),
            ServerNotification::ResourceUpdatedNotification(update) => {
                Some(Self::Resource(update.params.uri.clone()))
            }
            _ => None,
        }
    }
}

impl StreamLog {
    pub(super) fn new(first_number: u64) -> Self {
        Self {
            first_number,
            events: VecDeque::new(),
            changes: HashMap::new(),
            bytes: 0,
            session: None,
            party: None,
            changed: Arc::default(),
        }
    }

    /// Appends an event, and drops the one that it replaces and the oldest ones above the maximum
    /// size. Returns the bytes of those that were dropped.
    pub(super) fn append(&mut self, entry: LogEntry, max_bytes: usize) -> usize {
        let bytes = self.bytes + entry.bytes;
        let change = Change::of(&entry.event);
        let replaced = change.and_then(|change| self.changes.insert(change, entry.number));
        let replaced = replaced.and_then(|number| {
            let position = self
                .events
                .binary_search_by_key(&number, |held| held.number);
            self.events.remove(position.ok()?)
        });
        self.events.push_back(entry);
        let mut dropped = replaced.map_or(0, |replaced| replaced.bytes);
        while bytes - dropped > max_bytes && self.events.len() > 1 {
            dropped += self.drop_oldest();
        }
        self.bytes = bytes - dropped;
        self.changed.notify_waiters();
        dropped
    }

    /// Drops the oldest event, and returns its bytes.
    fn drop_oldest(&mut self) -> usize {
        let Some(oldest) = self.events.pop_front() else {
            return 0;
        };
        if let Some(change) = Change::of(&oldest.event) {
            self.changes.remove(&change);
        }
        oldest.bytes
    }
}
