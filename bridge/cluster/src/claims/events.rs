//! The events and effects of a claim.

use std::time::Instant;

use crate::directory::{Away, NotWritten, Revision};
use crate::names::NodeId;
use crate::peers::Peer;

/// An event of a claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClaimEvent {
    /// A page, an MCP session or a listening client of the realm arrives, and waits for a verdict.
    Wanted,
    /// Another node has sent a request for the realm, which this node does not own. The request waits for
    /// a verdict.
    Misdirected,
    /// The answer to [`ClaimEffect::Find`].
    Found(Result<Option<(ClaimHolder, Revision)>, Away>),
    /// The answer to [`ClaimEffect::Create`] and [`ClaimEffect::Replace`].
    Written(Result<Revision, NotWritten>),
    /// The answer to [`ClaimEffect::Remove`].
    Removed(Result<(), NotRemoved>),
    /// The answer to [`ClaimEffect::AskOwner`]: whether this node [may take](crate::may_take) the realm.
    OwnerAsked(bool),
    /// The realm was closed, as [`ClaimEffect::CloseRealm`] asks for.
    RealmClosed,
    /// The record has to be compared with the claim: every ten minutes, and after each time in which
    /// another node may have replaced it.
    CheckDue,
    /// Nothing of the realm is on this node.
    Vacant,
    /// Something of the realm is on this node.
    Occupied,
    /// This node gives all its realms away for this reason, or without one claims realms as before.
    Leaving(Option<RealmLoss>),
    /// The time of [`ClaimEffect::WakeAt`] has come.
    Tick,
}

/// The record of a realm, from the view of one node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClaimHolder {
    /// It names this node.
    Own,
    /// It names another node.
    Other {
        node: NodeId,
        address: String,
        is_alive: bool,
    },
    /// The last owner has given the realm away.
    Moved,
    /// It was not written by a node, or by one of a newer version. It is left alone.
    Invalid,
}

/// Why a record was not removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotRemoved {
    /// Something of the realm is on this node, so that it was not tried.
    Occupied,
    /// The directory has not confirmed it.
    NotWritten,
}

impl From<NotWritten> for NotRemoved {
    fn from(_: NotWritten) -> Self {
        Self::NotWritten
    }
}

/// An effect of a claim, for the node to perform. Of the operations on the directory and the question to
/// the owner, at most one is under way at any time, and each is answered by exactly one event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClaimEffect {
    /// Read the record.
    Find,
    /// Write a record that names this node, where none is.
    Create,
    /// Replace the record of this revision by one that names this node, or by `moved`.
    Replace { moved: bool, last: Revision },
    /// Remove the record of this revision, unless something of the realm is on this node: it may have
    /// connected just before this effect. From now on nothing can connect.
    Remove { last: Revision },
    /// Find out whether the other node is gone, by both witnesses.
    AskOwner { node: NodeId, address: String },
    /// Report that this node has become the owner, and from whom it has the realm.
    Claimed(ClaimOrigin),
    /// Give the verdict to all that wait for one.
    Answer(Verdict),
    /// Close everything of the realm.
    CloseRealm(RealmLoss),
    /// Send [`ClaimEvent::Tick`] at this time. It replaces an earlier time.
    WakeAt(Instant),
    /// The claim has returned to its first state, and can be dropped.
    Forget,
}

/// Where a realm is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// This node owns it.
    Owned,
    /// Another node owns it.
    Elsewhere(Peer),
    /// Another node owns it, is dead as far as the directory knows, and this node takes no realms or was
    /// only asked by a peer.
    OwnerDead,
    /// No node owns it, and this node takes no realms or was only asked by a peer.
    Unowned,
    /// The directory does not answer, or holds a record that this node cannot use.
    Away,
}

/// From whom a node has a realm.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ClaimOrigin {
    /// No node owned it.
    #[default]
    Unowned,
    /// Its last owner is gone.
    Dead(NodeId),
    /// Its last owner has given it away.
    Moved,
}

/// Why a node closes a realm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RealmLoss {
    /// The record names another node, or none if another node has given the realm away since.
    Record(Option<NodeId>),
    /// The node is about to stop.
    Drained,
    /// Other nodes do not reach this one.
    Isolated,
}
