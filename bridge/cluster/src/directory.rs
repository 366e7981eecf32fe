//! The port to the directory that all nodes share.

use std::fmt::Debug;

use futures_util::future::BoxFuture;

use crate::names::{DenialKey, NodeId, RealmKey};

/// The directory: maps of texts with revisions. It does not know what the texts mean, and each of its
/// functions takes at most a second.
///
/// Neither [`Away`] nor [`NotWritten`] tells what is stored: a write whose answer was lost may have been
/// performed, and may even be performed later.
pub trait Directory: Debug + Send + Sync {
    /// The record of a realm. It may be older than a write that was acknowledged.
    fn find<'a>(&'a self, realm: &'a RealmKey)
    -> BoxFuture<'a, Result<Option<StoredRecord>, Away>>;

    /// Writes the record of a realm that has none.
    fn create<'a>(
        &'a self,
        realm: &'a RealmKey,
        record: String,
    ) -> BoxFuture<'a, Result<Revision, NotWritten>>;

    /// Replaces the record of a realm, if it has this revision.
    fn replace<'a>(
        &'a self,
        realm: &'a RealmKey,
        record: String,
        last: Revision,
    ) -> BoxFuture<'a, Result<Revision, NotWritten>>;

    /// Removes the record of a realm, if it has this revision.
    fn remove<'a>(
        &'a self,
        realm: &'a RealmKey,
        last: Revision,
    ) -> BoxFuture<'a, Result<(), NotWritten>>;

    /// Writes the record of this node, which is its lease: it is removed if it is not written again in
    /// time. `last` is the revision of the record if it was written before: then a write after the end of
    /// the lease fails. Without it the record is written in any case, because the answer to an earlier
    /// write may have been lost.
    fn announce<'a>(
        &'a self,
        node: &'a NodeId,
        record: String,
        last: Option<Revision>,
    ) -> BoxFuture<'a, Result<Revision, NotWritten>>;

    /// Removes the record of this node.
    fn withdraw<'a>(&'a self, node: &'a NodeId) -> BoxFuture<'a, Result<(), NotWritten>>;

    /// Writes the record of a denial, and replaces one that is there.
    fn deny<'a>(
        &'a self,
        denial: &'a DenialKey,
        record: String,
    ) -> BoxFuture<'a, Result<(), NotWritten>>;

    /// Whether a node is connected to the directory.
    fn listens<'a>(&'a self, node: &'a NodeId) -> BoxFuture<'a, Result<bool, Away>>;
}

/// Receives what happens in the directory.
pub trait DirectoryObserver: Send + Sync {
    /// Called for each event, one after another. It must not block.
    fn on_event(&self, event: DirectoryEvent);
}

/// An event of the directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DirectoryEvent {
    /// The record of a node was written. Also sent for each record that was there before. If it was replaced
    /// meanwhile, only the later record may be sent.
    NodeAnnounced(NodeId, String),
    /// The record of a node was removed by the node. The end of a lease sends no event.
    NodeWithdrawn(NodeId),
    /// The record of a denial was written. Also sent for each record that was there before, and for these
    /// before `Connected`. If it was replaced meanwhile, only the later record may be sent.
    DenialWritten(DenialKey, String),
    /// The connection to the directory was opened, or opened again.
    Connected,
    /// The connection to the directory was lost.
    Away,
    /// The directory has refused a right, with its text.
    Refused(String),
}

/// A record with its revision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredRecord {
    pub record: String,
    pub revision: Revision,
}

/// The number of a write. A later write of the same record has a greater one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Revision(pub u64);

/// The directory has not answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the directory has not answered")]
pub struct Away;

/// The directory has not confirmed a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the directory has not confirmed a write")]
pub struct NotWritten;
