//! Which of several bridges, the nodes, owns a realm.
//!
//! A realm lives wholly on one node. A directory, which all nodes share, holds a record of who owns which
//! realm, written by compare-and-set, a record of each node that lives, and of each denial of an operator.
//! Nothing of a request or a page passes through it.
//!
//! [`RealmClaim`] decides for one realm what a node does about it, [`Peers`] knows the other nodes,
//! [`Reachability`] which of them answer, [`Isolation`] whether this one is cut off, and
//! [`UnwrittenDenials`] what the directory still has to get. All are pure: events in, effects out.
//! [`NatsDirectory`] is the directory.

mod claims;
mod denials;
mod directory;
#[cfg(any(test, feature = "in-memory"))]
mod in_memory;
mod isolation;
mod keys;
mod names;
mod nats;
mod peer_header;
mod peers;
mod reachability;
mod record;
mod takeover;

pub use claims::{
    ClaimEffect, ClaimEvent, ClaimHolder, ClaimOrigin, NotRemoved, RealmClaim, RealmLoss, Verdict,
};
pub use denials::UnwrittenDenials;
pub use directory::{
    Away, Directory, DirectoryEvent, DirectoryObserver, NotWritten, Revision, StoredRecord,
};
#[cfg(any(test, feature = "in-memory"))]
pub use in_memory::{InMemoryConnection, InMemoryDirectory};
pub use isolation::{Isolation, IsolationCause, IsolationChange, ReturnCause, SeenPeer, Sight};
pub use keys::ClusterKeys;
pub use names::{DenialKey, NodeId, RealmKey};
pub use nats::{NatsCheck, NatsDirectory, NatsSettings};
#[cfg(all(target_os = "linux", any(test, feature = "testing")))]
pub use nats::{nats_server::NatsServer, reserved_port::ReservedPort};
pub use peer_header::{PeerHeader, PeerRefused};
pub use peers::{KnownPeer, Peer, PeerCompatibility, PeerCounts, Peers, SettingsDifference};
pub use reachability::{MAX_MISSED_PINGS, PingAnswer, ReachChange, Reachability};
pub use record::{
    ClaimRecord, DenialRecord, InvalidRecord, NodeRecord, NodeState, SettingsFingerprint,
};
pub use takeover::{Listens, OwnerAnswer, may_take};
