//! A directory in memory, for tests.

mod contents;

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::future::BoxFuture;

use crate::directory::{
    Away, Directory, DirectoryEvent, DirectoryObserver, NotWritten, Revision, StoredRecord,
};
use crate::names::{DenialKey, NodeId, RealmKey};
use contents::{Connection, Contents, Write};

/// A directory that several nodes of one process share. Tests can cut nodes off, lose the answers of
/// writes, delay writes, and end leases.
#[derive(Clone, Debug, Default)]
pub struct InMemoryDirectory(Arc<Mutex<Contents>>);

/// The connection of one node to an [`InMemoryDirectory`]. Dropping it ends the connection, but not the
/// node's lease.
#[derive(Debug)]
pub struct InMemoryConnection {
    directory: InMemoryDirectory,
    node: NodeId,
}

impl InMemoryDirectory {
    /// Connects a node, which receives all denials, [`DirectoryEvent::Connected`] and the records of all
    /// nodes.
    pub fn connect(
        &self,
        node: NodeId,
        observer: Arc<dyn DirectoryObserver>,
    ) -> Arc<InMemoryConnection> {
        let connection = Connection {
            observer,
            is_cut: false,
            lost_answers: 0,
            delayed_writes: 0,
        };
        let mut contents = self.lock();
        contents.connections.insert(node, connection);
        contents.send_all(node);
        Arc::new(InMemoryConnection {
            directory: self.clone(),
            node,
        })
    }

    /// Cuts a node off: its operations fail, until it is [restored](Self::restore).
    pub fn cut(&self, node: NodeId) {
        let mut contents = self.lock();
        if let Some(connection) = contents.connections.get_mut(&node)
            && !std::mem::replace(&mut connection.is_cut, true)
        {
            connection.observer.on_event(DirectoryEvent::Away);
        }
    }

    /// Connects a node again that was cut off.
    pub fn restore(&self, node: NodeId) {
        let mut contents = self.lock();
        if let Some(connection) = contents.connections.get_mut(&node)
            && std::mem::take(&mut connection.is_cut)
        {
            contents.send_all(node);
        }
    }

    /// Performs the next writes of a node, but reports them as not written.
    pub fn lose_answers(&self, node: NodeId, writes: usize) {
        if let Some(connection) = self.lock().connections.get_mut(&node) {
            connection.lost_answers = writes;
        }
    }

    /// Reports the next writes of a node as not written, and performs them later: see
    /// [`perform_delayed_writes`](Self::perform_delayed_writes).
    pub fn delay_writes(&self, node: NodeId, writes: usize) {
        if let Some(connection) = self.lock().connections.get_mut(&node) {
            connection.delayed_writes = writes;
        }
    }

    /// Performs the delayed writes that can still be performed, in their order.
    pub fn perform_delayed_writes(&self) {
        let mut contents = self.lock();
        while let Some(write) = contents.delayed.pop_front() {
            // It was reported to its node as not written already.
            let _ = contents.write(write);
        }
    }

    /// Ends the lease of a node. As with a real lease, no event is sent.
    pub fn end_lease(&self, node: NodeId) {
        self.lock().nodes.remove(&node);
    }

    /// Loses all records, as a restart without stored data does. All nodes are connected again.
    pub fn restart_empty(&self) {
        let mut contents = self.lock();
        contents.realms.clear();
        contents.nodes.clear();
        contents.denials.clear();
        for node in contents.connections.keys().copied().collect::<Vec<_>>() {
            contents.send_all(node);
        }
    }

    /// How often a record of a realm was looked up.
    pub fn find_count(&self) -> usize {
        self.lock().finds
    }

    /// The names of all realms that have a record.
    pub fn realms(&self) -> BTreeSet<RealmKey> {
        self.lock().realms.keys().copied().collect()
    }

    fn lock(&self) -> MutexGuard<'_, Contents> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl InMemoryConnection {
    fn write(&self, write: Write) -> Result<Revision, NotWritten> {
        self.directory.lock().write_from(self.node, write)
    }

    fn read<T>(&self, read: impl FnOnce(&Contents) -> T) -> Result<T, Away> {
        let contents = self.directory.lock();
        let is_connected = contents.is_connected(self.node);
        is_connected.then(|| read(&contents)).ok_or(Away)
    }

    /// Writes the record of a realm, or removes it, if it has this revision.
    fn write_claim(
        &self,
        realm: &RealmKey,
        record: Option<String>,
        last: Option<Revision>,
    ) -> Result<Revision, NotWritten> {
        let realm = *realm;
        self.write(Write::Claim {
            realm,
            record,
            last,
        })
    }
}

impl Directory for InMemoryConnection {
    fn find<'a>(
        &'a self,
        realm: &'a RealmKey,
    ) -> BoxFuture<'a, Result<Option<StoredRecord>, Away>> {
        self.directory.lock().finds += 1;
        Box::pin(async { self.read(|contents| contents.realms.get(realm).cloned()) })
    }

    fn create<'a>(
        &'a self,
        realm: &'a RealmKey,
        record: String,
    ) -> BoxFuture<'a, Result<Revision, NotWritten>> {
        Box::pin(async { self.write_claim(realm, Some(record), None) })
    }

    fn replace<'a>(
        &'a self,
        realm: &'a RealmKey,
        record: String,
        last: Revision,
    ) -> BoxFuture<'a, Result<Revision, NotWritten>> {
        Box::pin(async move { self.write_claim(realm, Some(record), Some(last)) })
    }

    fn remove<'a>(
        &'a self,
        realm: &'a RealmKey,
        last: Revision,
    ) -> BoxFuture<'a, Result<(), NotWritten>> {
        Box::pin(async move { self.write_claim(realm, None, Some(last)).map(drop) })
    }

    fn announce<'a>(
        &'a self,
        node: &'a NodeId,
        record: String,
        last: Option<Revision>,
    ) -> BoxFuture<'a, Result<Revision, NotWritten>> {
        let node = *node;
        Box::pin(async move { self.write(Write::Announce { node, record, last }) })
    }

    fn withdraw<'a>(&'a self, node: &'a NodeId) -> BoxFuture<'a, Result<(), NotWritten>> {
        Box::pin(async { self.write(Write::Withdraw(*node)).map(drop) })
    }

    fn deny<'a>(
        &'a self,
        denial: &'a DenialKey,
        record: String,
    ) -> BoxFuture<'a, Result<(), NotWritten>> {
        let denial = *denial;
        Box::pin(async move { self.write(Write::Deny { denial, record }).map(drop) })
    }

    fn listens<'a>(&'a self, node: &'a NodeId) -> BoxFuture<'a, Result<bool, Away>> {
        Box::pin(async { self.read(|contents| contents.is_connected(*node)) })
    }
}

impl Drop for InMemoryConnection {
    fn drop(&mut self) {
        self.directory.lock().connections.remove(&self.node);
    }
}
