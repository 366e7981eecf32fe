//! Where the requests of a realm are served, and why they are not.

use bridge_cluster::{Peer, RealmKey, Revision};

/// Where a request is served.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Route {
    /// Here: this node owns the realm.
    Here,
    /// Here, because no node owns the realm, and there is nothing of it.
    Unowned,
    /// At another node.
    Node(RealmKey, Peer),
}

/// Why the owner of a realm cannot serve a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OwnerAway {
    /// It is gone or has given the realm away, and no other node has taken the realm over yet.
    Gone,
    /// Neither the directory nor another node can say who it is, or its settings differ.
    Unknown,
}

impl OwnerAway {
    pub(crate) const MESSAGE: &str =
        "the bridge that serves this token cannot be reached now: retry";
}

/// The owner of a realm, as its record shows it.
#[derive(Debug)]
pub(super) enum RecordedOwner {
    /// Requests are served like this.
    At(Route),
    Gone(AbandonedRecord),
    /// Its settings differ.
    Incompatible,
    /// The directory has not answered, or not in time for a claim of this node.
    Away,
}

/// The record of a realm whose owner is gone, or cannot be reached.
#[derive(Debug)]
pub(super) struct AbandonedRecord {
    pub(super) revision: Revision,
    /// The owner, unless it has given the realm away.
    pub(super) owner: Option<Peer>,
}
