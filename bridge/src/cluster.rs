//! Several bridges that serve as one: each realm lives wholly on one of them, its owner, and every other
//! one passes on the requests and the page sockets that belong to it.
//!
//! | file | what |
//! |---|---|
//! | `node.rs`, `start.rs` | the state of this node, and how it begins |
//! | `lease.rs`, `directory_events.rs` | keeps the record of this node, and knows the others |
//! | `peer_watch.rs`, `peer_reach.rs` | pings the others, and finds out whether this node is cut off |
//! | `claims.rs` | claims realms, and gives them up |
//! | `router.rs`, `route.rs` | finds the owner of a realm |
//! | `hold.rs`, `held_realms.rs` | holds requests whose owner is gone, until there is another one |
//! | `failed_connections.rs` | remembers which nodes could not be reached |
//! | `denials.rs`, `denial_exchange.rs` | exchanges the denials of the operator |
//! | `link.rs` | the connections to other nodes |
//! | `forward.rs`, `forwarded_body.rs` | passes a request on, and its response back |
//! | `tunnel.rs` | passes a page socket on |
//! | `peer_requests.rs` | checks what other nodes pass on |
//! | `drain.rs`, `pause.rs` | gives all realms away, before this node stops |
//! | `catalogue_hand_over.rs` | passes the closed apps of a realm that leaves to another node |
//! | `cluster_check.rs` | checks for `--check-config` whether this machine could be a node |
//!
//! Nothing is parsed twice: a request that was passed on runs at the owner as one of the clients
//! there would. Without `cluster` none of this exists.

mod catalogue_hand_over;
mod claim_table;
mod claims;
mod cluster_check;
mod cluster_counters;
mod denial_exchange;
mod denials;
mod directory_events;
mod drain;
mod failed_connections;
mod forward;
mod forwarded_body;
mod held_realms;
mod hold;
mod lease;
mod link;
mod log_limits;
mod membership;
mod node;
mod owner_cache;
mod pause;
mod peer_reach;
mod peer_requests;
mod peer_watch;
mod route;
mod router;
mod start;
mod tunnel;

pub(crate) use catalogue_hand_over::{CatalogueHandOver, HAND_OVER_PATH};
pub(crate) use claim_table::RealmGuard;
pub(crate) use cluster_check::ClusterCheck;
pub(crate) use cluster_counters::{Claim, Forward, Held, Lookup, LossReason, TunnelSide};
pub(crate) use forward::{
    ForwardedResponse, MAX_ATTEMPTS, NODE_REFUSED, NOT_OWNER, NotForwarded, is_kept,
};
pub(crate) use hold::HoldEnd;
pub(crate) use link::LinkBody;
pub(crate) use node::ClusterNode;
pub(crate) use peer_requests::{
    NotOwner, PEER_ANSWER, PING_PATH, PassedOn, PeerRequest, REACHES, is_peer_route,
};
pub(crate) use route::{OwnerAway, Route};
pub(crate) use router::belongs_to_realm;
pub(crate) use start::NodeSettings;
pub(crate) use tunnel::{PassedPage, Tunnel};

#[cfg(test)]
mod tests;
