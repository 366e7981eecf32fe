//! The records of a directory in memory, and the connections to it.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::sync::Arc;

use crate::directory::{DirectoryEvent, DirectoryObserver, NotWritten, Revision, StoredRecord};
use crate::names::{DenialKey, NodeId, RealmKey};

#[derive(Debug, Default)]
pub(super) struct Contents {
    last: u64,
    pub(super) finds: usize,
    pub(super) realms: BTreeMap<RealmKey, StoredRecord>,
    pub(super) nodes: BTreeMap<NodeId, StoredRecord>,
    pub(super) denials: BTreeMap<DenialKey, String>,
    pub(super) connections: BTreeMap<NodeId, Connection>,
    pub(super) delayed: VecDeque<Write>,
}

pub(super) struct Connection {
    pub(super) observer: Arc<dyn DirectoryObserver>,
    pub(super) is_cut: bool,
    pub(super) lost_answers: usize,
    pub(super) delayed_writes: usize,
}

#[derive(Clone, Debug)]
pub(super) enum Write {
    Claim {
        realm: RealmKey,
        /// The new record, or none to remove it.
        record: Option<String>,
        last: Option<Revision>,
    },
    Announce {
        node: NodeId,
        record: String,
        last: Option<Revision>,
    },
    Withdraw(NodeId),
    Deny {
        denial: DenialKey,
        record: String,
    },
}

impl Contents {
    /// Sends a node all denials and all records of nodes, if it is not cut off.
    pub(super) fn send_all(&self, node: NodeId) {
        let connections = self.connections.get(&node);
        let Some(connection) = connections.filter(|connection| !connection.is_cut) else {
            return;
        };
        for (denial, record) in &self.denials {
            let event = DirectoryEvent::DenialWritten(*denial, record.clone());
            connection.observer.on_event(event);
        }
        connection.observer.on_event(DirectoryEvent::Connected);
        for (id, stored) in &self.nodes {
            let event = DirectoryEvent::NodeAnnounced(*id, stored.record.clone());
            connection.observer.on_event(event);
        }
    }

    fn send(&self, event: &DirectoryEvent) {
        for connection in self
            .connections
            .values()
            .filter(|connection| !connection.is_cut)
        {
            connection.observer.on_event(event.clone());
        }
    }

    pub(super) fn is_connected(&self, node: NodeId) -> bool {
        (self.connections.get(&node)).is_some_and(|connection| !connection.is_cut)
    }

    /// Performs a write of a node, as far as the switches of its connection allow.
    pub(super) fn write_from(
        &mut self,
        node: NodeId,
        write: Write,
    ) -> Result<Revision, NotWritten> {
        let connections = self.connections.get_mut(&node);
        let connection = connections
            .filter(|connection| !connection.is_cut)
            .ok_or(NotWritten)?;
        if connection.delayed_writes > 0 {
            connection.delayed_writes -= 1;
            self.delayed.push_back(write);
            return Err(NotWritten);
        }
        let is_answer_lost = connection.lost_answers > 0;
        connection.lost_answers = connection.lost_answers.saturating_sub(1);
        let written = self.write(write);
        if is_answer_lost {
            Err(NotWritten)
        } else {
            written
        }
    }

    pub(super) fn write(&mut self, write: Write) -> Result<Revision, NotWritten> {
        let revision = Revision(self.last + 1);
        let stored = |record| StoredRecord { record, revision };
        match write {
            Write::Claim {
                realm,
                record,
                last,
            } => {
                if self.realms.get(&realm).map(|stored| stored.revision) != last {
                    return Err(NotWritten);
                }
                match record {
                    Some(record) => self.realms.insert(realm, stored(record)),
                    None => self.realms.remove(&realm),
                };
            }
            Write::Announce { node, record, last } => {
                let stored_at = self.nodes.get(&node).map(|stored| stored.revision);
                if last.is_some() && stored_at != last {
                    return Err(NotWritten);
                }
                self.nodes.insert(node, stored(record.clone()));
                self.send(&DirectoryEvent::NodeAnnounced(node, record));
            }
            Write::Deny { denial, record } => {
                self.denials.insert(denial, record.clone());
                self.send(&DirectoryEvent::DenialWritten(denial, record));
            }
            Write::Withdraw(node) => {
                if self.nodes.remove(&node).is_some() {
                    self.send(&DirectoryEvent::NodeWithdrawn(node));
                }
            }
        }
        self.last = revision.0;
        Ok(revision)
    }
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (f.debug_struct("Connection"))
            .field("is_cut", &self.is_cut)
            .field("lost_answers", &self.lost_answers)
            .field("delayed_writes", &self.delayed_writes)
            .finish_non_exhaustive()
    }
}
