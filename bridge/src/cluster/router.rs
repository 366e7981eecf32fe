//! Finds the node that serves a realm.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bridge_auth::RealmId;
use bridge_auth::query_token::issuing_node;
use bridge_cluster::{ClaimHolder, NodeId, OwnerAnswer, Peer, RealmKey, Verdict};
use bridge_edge::peer_client::PeerError;
use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use http::uri::PathAndQuery;
use http::{Method, StatusCode};
use tokio::time::timeout;

use super::claim_table::RealmGuard;
use super::cluster_counters::Lookup;
use super::forward::{is_misdirected, is_refused};
use super::link;
use super::node::ClusterNode;
use super::peer_requests::{NO_CLIENT, OWNS_PATH};
use super::route::{AbandonedRecord, OwnerAway, RecordedOwner, Route};

/// How long other nodes may take to say whether they own a realm.
const ASK_TIMEOUT: Duration = Duration::from_secs(1);

/// Whether the requests to a path belong to the realm of their token. All others are served by any
/// node.
pub(crate) fn belongs_to_realm(path: &str) -> bool {
    let first = path.trim_start_matches('/').split('/').next();
    matches!(
        first,
        Some("" | "mcp" | "tool-call" | "query" | "conversations" | "sessions" | "tools")
    )
}

impl ClusterNode {
    /// Finds the node that serves a realm. A realm that no node owns is served here, without a claim:
    /// there is nothing of it.
    ///
    /// # Errors
    ///
    /// When the owner is gone and no other node has taken over yet, or when neither the directory nor
    /// another node can say who it is.
    pub(crate) async fn route(self: &Arc<Self>, realm: RealmId) -> Result<Route, OwnerAway> {
        if let Some(known) = self.known_route(realm) {
            return Ok(known);
        }
        let key = self.key_of(realm);
        self.membership.wait_until_joined().await;
        let begun = Instant::now();
        let route = self.find_owner(key, realm).await;
        self.counters.record_lookup_time(begun.elapsed());
        if let Ok(route) = &route {
            self.remember(route);
        }
        route
    }

    /// Remembers the owner that was found.
    pub(super) fn remember(&self, route: &Route) {
        if let Route::Node(key, owner) = route {
            self.remember_owner(*key, owner);
        }
    }

    /// Remembers the owner of a realm. That of one that drains may be another at any time.
    pub(super) fn remember_owner(&self, key: RealmKey, owner: &Peer) {
        if !self.peers().takes_no_realms(&owner.id) {
            self.owners.insert(key, owner.clone());
        }
    }

    /// Returns the node that serves a realm, if it is this one or was found before.
    pub(crate) fn known_route(&self, realm: RealmId) -> Option<Route> {
        let key = self.key_of(realm);
        if self.claims.owns(&key) {
            self.counters.count_lookup(Lookup::Own);
            return Some(Route::Here);
        }
        let owner = self.owners.get(&key)?;
        self.counters.count_lookup(Lookup::Cached);
        Some(Route::Node(key, owner))
    }

    /// Returns the node that has issued a query token, unless it is this one, or gone with its queries.
    ///
    /// # Errors
    ///
    /// When the node may live, and nothing can be passed to it.
    pub(crate) async fn issuer_of_query(&self, token: &str) -> Result<Option<Peer>, OwnerAway> {
        let id = issuing_node(token).and_then(|id| id.parse::<NodeId>().ok());
        let Some(id) = id.filter(|id| *id != self.own) else {
            return Ok(None);
        };
        self.membership.wait_until_joined().await;
        // It may be cut off from the directory only.
        let known = self.peers().peer(&id).map(Peer::from);
        let living = known.filter(|_| self.is_alive(&id));
        match living {
            Some(peer) if self.is_compatible(&id) => Ok(Some(peer)),
            None if self.is_gone(&id).await => Ok(None),
            Some(_) | None => Err(OwnerAway::Unknown),
        }
    }

    /// Whether the directory knows that a node is gone which cannot be reached. Then its queries have ended.
    /// While the directory is away, it knows of no renewal.
    pub(crate) async fn is_gone(&self, id: &NodeId) -> bool {
        let is_connected = self.membership.state().connected_since.is_some();
        is_connected && !self.is_alive(id) || self.directory.listens(id).await == Ok(false)
    }

    /// Whether the owner of a realm is this node, or another one that was found before.
    pub(crate) fn knows_owner(&self, realm: RealmId) -> bool {
        let key = self.key_of(realm);
        self.claims.owns(&key) || self.owners.get(&key).is_some()
    }

    async fn find_owner(
        self: &Arc<Self>,
        key: RealmKey,
        realm: RealmId,
    ) -> Result<Route, OwnerAway> {
        let (lookup, route) = match self.recorded_owner(key, realm).await {
            RecordedOwner::Away => match self.ask_all(&key).await {
                Some(owner) => (Lookup::Peer, Ok(Route::Node(key, owner))),
                None => (Lookup::Away, Err(OwnerAway::Unknown)),
            },
            RecordedOwner::Incompatible => (Lookup::Away, Err(OwnerAway::Unknown)),
            RecordedOwner::Gone(_) => (Lookup::Away, Err(OwnerAway::Gone)),
            RecordedOwner::At(route) => {
                let lookup = match &route {
                    Route::Here => Lookup::Own,
                    Route::Unowned => Lookup::None,
                    Route::Node(..) => Lookup::Found,
                };
                (lookup, Ok(route))
            }
        };
        self.counters.count_lookup(lookup);
        route
    }

    /// Looks up who owns a realm.
    pub(super) async fn recorded_owner(
        self: &Arc<Self>,
        key: RealmKey,
        realm: RealmId,
    ) -> RecordedOwner {
        if self.claims.owns(&key) {
            return RecordedOwner::At(Route::Here);
        }
        let mut record = self.find_claim(&key).await;
        if let Ok(Some((ClaimHolder::Own, _))) = record {
            // A write whose answer was lost: it is a claim of this node now. Or this node gives the realm away,
            // which the record shows now.
            if self.check_misdirected(key, realm).await == Verdict::Owned {
                return RecordedOwner::At(Route::Here);
            }
            record = self.find_claim(&key).await;
        }
        let Ok(record) = record else {
            return RecordedOwner::Away;
        };
        let Some((holder, revision)) = record else {
            return RecordedOwner::At(Route::Unowned);
        };
        match holder {
            ClaimHolder::Own => RecordedOwner::Away,
            ClaimHolder::Other {
                node,
                address,
                is_alive,
            } => {
                let owner = Peer { id: node, address };
                match is_alive {
                    true if self.is_compatible(&node) => RecordedOwner::At(Route::Node(key, owner)),
                    true => RecordedOwner::Incompatible,
                    false => RecordedOwner::Gone(AbandonedRecord {
                        revision,
                        owner: Some(owner),
                    }),
                }
            }
            ClaimHolder::Moved => RecordedOwner::Gone(AbandonedRecord {
                revision,
                owner: None,
            }),
            // It was not written by a node: there is nothing of the realm.
            ClaimHolder::Invalid => RecordedOwner::At(Route::Unowned),
        }
    }

    /// Begins a request of a realm here, if this node owns it. If the realm is about to be given away, the
    /// request waits at first for those that run.
    pub(crate) async fn begin_request(&self, realm: RealmId) -> Option<RealmGuard> {
        self.begin_request_of(&self.key_of(realm)).await
    }

    pub(super) async fn begin_request_of(&self, key: &RealmKey) -> Option<RealmGuard> {
        match self.claims.begin_request(key)? {
            Ok(guard) => Some(guard),
            Err(pause) => {
                self.stopping.run_until_cancelled(pause.wait()).await;
                self.claims.begin_request_at_once(key)
            }
        }
    }

    /// Begins a request of a realm that was claimed or found here just now. It does not wait.
    pub(crate) fn begin_request_at_once(&self, realm: RealmId) -> Option<RealmGuard> {
        self.claims.begin_request_at_once(&self.key_of(realm))
    }

    /// Returns the node to which the requests of a realm without an owner go, if this one drains.
    pub(crate) fn successor_of(&self, realm: RealmId) -> Option<(RealmKey, Peer)> {
        let key = self.key_of(realm);
        Some((key, self.successor(&key)?))
    }

    /// Forgets an owner that could not be reached, or is not the owner any more.
    pub(super) fn forget_owner(&self, key: &RealmKey, owner: &Peer) {
        self.owners.remove(key, owner);
    }

    /// Asks all nodes at the same time whether they own a realm.
    pub(super) async fn ask_all(&self, key: &RealmKey) -> Option<Peer> {
        let peers: Vec<_> = self.peers().known().map(Peer::from).collect();
        let mut asked: FuturesUnordered<_> = peers
            .into_iter()
            .filter(|peer| !self.reach.is_unreachable(&peer.id) && self.is_compatible(&peer.id))
            .map(|peer| async move {
                let answer = self.ask_owner(key, peer.id, &peer.address).await;
                (answer == OwnerAnswer::Mine).then_some(peer)
            })
            .collect();
        while let Some(owner) = asked.next().await {
            if owner.is_some() {
                return owner;
            }
        }
        None
    }

    /// Asks a node whether it owns a realm.
    pub(super) async fn ask_owner(
        &self,
        key: &RealmKey,
        node: NodeId,
        address: &str,
    ) -> OwnerAnswer {
        let peer = Peer {
            id: node,
            address: address.to_owned(),
        };
        if self.has_just_failed(&node) {
            return OwnerAnswer::Silent;
        }
        let question = self.peer_header(&peer, Some(*key), NO_CLIENT, "GET", OWNS_PATH);
        let asked = async {
            let link = self.links.get(&peer)?;
            let path = PathAndQuery::from_static(OWNS_PATH);
            link::send_own(&link, Method::GET, path, question.clone(), Bytes::new()).await
        };
        let response = match timeout(ASK_TIMEOUT, asked).await {
            Ok(Ok(response)) => response,
            Ok(Err(PeerError::NotConnected)) => {
                self.connection_failed(&node);
                return OwnerAnswer::Silent;
            }
            _ => return OwnerAnswer::Silent,
        };
        let answer = if is_misdirected(&response) {
            OwnerAnswer::NotMine
        } else if is_refused(&response) {
            self.log_limits.log_refusal(address);
            OwnerAnswer::Refused
        } else if response.status() == StatusCode::OK
            && self.is_answered_by_node(&question, response.headers())
        {
            OwnerAnswer::Mine
        } else {
            // Something else has got the address of the node.
            return OwnerAnswer::Silent;
        };
        self.peers().node_answered(&node);
        answer
    }

    /// Sends a request of this node itself to another one, about what counts for this address.
    pub(super) async fn send_to(
        &self,
        peer: &Peer,
        realm: RealmKey,
        client: IpAddr,
        (method, path_and_query, body): (Method, PathAndQuery, Bytes),
    ) -> Result<StatusCode, PeerError> {
        let link = self.links.get(peer)?;
        let path = path_and_query.as_str();
        let header = self.peer_header(peer, Some(realm), client, method.as_str(), path);
        let sent = link::send_own(&link, method, path_and_query, header, body);
        Ok(sent.await?.status())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_routes_with_a_token_of_pages_belong_to_a_realm() {
        for path in [
            "/",
            "/mcp",
            "/mcp/",
            "/tool-call",
            "/query/1/progress",
            "/tools",
            "/sessions",
            "/conversations/a",
        ] {
            assert!(belongs_to_realm(path), "{path}");
        }
        for path in [
            "/metrics",
            "/healthz",
            "/readyz",
            "/sdk/mcp-web.js",
            "/.well-known/x",
            "/ws",
            "/toolsmith",
            "/app",
        ] {
            assert!(!belongs_to_realm(path), "{path}");
        }
    }
}
