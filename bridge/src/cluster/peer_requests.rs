//! The requests of other nodes: each proves that it comes from one, and for whom.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use bridge_auth::query_token::issuing_node;
use bridge_auth::{RealmId, unix_seconds};
use bridge_cluster::{
    ClaimHolder, NodeId, OwnerAnswer, Peer, PeerHeader, PeerRefused, RealmKey, Verdict,
};
use bridge_edge::ClientAddress;
use http::{HeaderMap, HeaderName, HeaderValue, Request};

use super::claim_table::RealmGuard;
use super::link::PEER;
use super::node::ClusterNode;

/// The route by which a node asks another one whether it owns a realm.
pub(super) const OWNS_PATH: &str = "/_cluster/owns";

/// The route by which a node finds out whether another one can be reached.
pub(crate) const PING_PATH: &str = "/_cluster/ping";

/// The header of the response to a ping: `1` if the node that has sent the ping has answered the last one of
/// this node.
pub(crate) const REACHES: HeaderName = HeaderName::from_static("mcp-web-reaches");

/// The header of the answer to a question of another node, see [`PeerHeader::ANSWER_HEADER`].
pub(crate) const PEER_ANSWER: HeaderName = HeaderName::from_static(PeerHeader::ANSWER_HEADER);

/// The address in requests of a node itself, which have no client.
pub(super) const NO_CLIENT: IpAddr = IpAddr::V4(Ipv4Addr::UNSPECIFIED);

/// Whether a path is served only for other nodes.
pub(crate) fn is_peer_route(path: &str) -> bool {
    path.starts_with("/_cluster/")
}

/// Marks a request that another node has passed on for this realm, or for a query, so that it is not
/// passed on again.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PassedOn(pub(crate) Option<RealmKey>);

/// The realm and the client of a request of another node.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PeerRequest {
    /// The node that has sent it.
    pub(crate) node: NodeId,
    /// The realm that the node takes this one for the owner of. The request of a query has none.
    pub(crate) realm: Option<RealmKey>,
    /// Whether this node may become the owner, because the other one takes no realms.
    may_claim: bool,
    /// The address of the client.
    pub(crate) client: ClientAddress,
}

/// This node does not own the realm of a request that another one has passed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NotOwner;

impl ClusterNode {
    /// Returns the header with which this node sends a request to another one, for a client with this
    /// address.
    pub(super) fn peer_header(
        &self,
        target: &Peer,
        realm: Option<RealmKey>,
        client: IpAddr,
        method: &str,
        path_and_query: &str,
    ) -> HeaderValue {
        let header = PeerHeader {
            node: self.own,
            target: target.id,
            realm,
            may_claim: self.claims.sends_newcomers_on(),
            client,
            unix: unix_seconds(),
        };
        visible(header.encode(&self.keys, method, path_and_query))
    }

    /// Checks that a request comes from another node of this cluster and is meant for this one.
    ///
    /// # Errors
    ///
    /// Why it is refused.
    pub(crate) fn verify_peer<B>(&self, request: &Request<B>) -> Result<PeerRequest, PeerRefused> {
        let header = request.headers().get(PEER).and_then(|it| it.to_str().ok());
        let uri = request.uri();
        let path = uri.path_and_query().map_or("/", |it| it.as_str());
        let verified = PeerHeader::verify(
            header.unwrap_or_default(),
            &self.keys,
            request.method().as_str(),
            path,
            self.own,
            unix_seconds(),
        )?;
        Ok(PeerRequest {
            node: verified.node,
            realm: verified.realm,
            may_claim: verified.may_claim,
            client: ClientAddress::from(verified.client),
        })
    }

    /// Returns the header of the answer to a question with these headers, which were verified.
    pub(crate) fn sign_answer(&self, question: &HeaderMap) -> HeaderValue {
        let question = question.get(PEER).and_then(|it| it.to_str().ok());
        let answer = PeerHeader::sign_answer(question.unwrap_or_default(), &self.keys);
        visible(answer)
    }

    /// Whether an answer with these headers comes from a node that was asked with this header.
    pub(super) fn is_answered_by_node(&self, question: &HeaderValue, answer: &HeaderMap) -> bool {
        let answer = answer.get(PEER_ANSWER).and_then(|it| it.to_str().ok());
        answer
            .zip(question.to_str().ok())
            .is_some_and(|(answer, question)| {
                PeerHeader::is_answered_by(question, &self.keys, answer)
            })
    }

    /// Whether this node owns a realm for which another one asks, or is about to: then no other may take
    /// it.
    pub(crate) fn answers_as_owner(&self, key: Option<RealmKey>) -> bool {
        key.is_some_and(|key| self.claims.owner_answer(&key) == OwnerAnswer::Mine)
    }

    /// Checks that a page that another node passes on for a realm may connect here. A record that names
    /// this node although it does not own the realm is a write whose answer was lost: the page claims it.
    pub(crate) async fn check_page(
        &self,
        key: RealmKey,
        peer: PeerRequest,
    ) -> Result<(), NotOwner> {
        if self.claims.owns(&key) {
            return Ok(());
        }
        let may_claim = match self.find_claim(&key).await.map_err(|_| NotOwner)? {
            Some((ClaimHolder::Own, _)) => true,
            None | Some((ClaimHolder::Moved, _)) => self.may_claim_for(peer),
            Some((ClaimHolder::Other { is_alive, .. }, _)) => !is_alive && self.may_claim_for(peer),
            Some((ClaimHolder::Invalid, _)) => false,
        };
        if !may_claim {
            return Err(NotOwner);
        }
        // Otherwise the page would be sent to another owner, which was found before.
        self.owners.remove_any(&key);
        Ok(())
    }

    /// Whether this node may claim the realm of a request that another one passes on.
    fn may_claim_for(&self, peer: PeerRequest) -> bool {
        peer.may_claim && self.claims.leaving().is_none()
    }

    /// Whether this is the realm for which another node has passed on a page.
    pub(crate) fn is_passed_on_for(&self, PassedOn(key): PassedOn, realm: RealmId) -> bool {
        key == Some(self.key_of(realm))
    }

    /// Whether this node has issued a query token.
    pub(crate) fn has_issued(&self, token: &str) -> bool {
        issuing_node(token).is_some_and(|node| node.parse() == Ok(self.own))
    }

    /// Checks that this node serves the realm of a request that another one passes on. The guard is absent
    /// if no node owns the realm, and this one may claim it. A request that cannot be sent again does not
    /// wait while the realm is about to be given away.
    pub(crate) async fn check_request(
        self: &Arc<Self>,
        key: RealmKey,
        realm: RealmId,
        peer: PeerRequest,
        can_be_repeated: bool,
    ) -> Result<Option<RealmGuard>, NotOwner> {
        if key != self.key_of(realm) {
            return Err(NotOwner);
        }
        let owned = if can_be_repeated {
            self.begin_request_of(&key).await
        } else {
            self.claims.begin_request_at_once(&key)
        };
        if owned.is_some() {
            return Ok(owned);
        }
        match self.check_misdirected(key, realm).await {
            Verdict::Owned => {
                let guard = self.claims.begin_request_at_once(&key);
                guard.map(Some).ok_or(NotOwner)
            }
            Verdict::Unowned | Verdict::OwnerDead if self.may_claim_for(peer) => {
                self.owners.remove_any(&key);
                Ok(None)
            }
            _ => Err(NotOwner),
        }
    }
}

/// Returns the value of a header that has only visible characters.
pub(super) fn visible(text: String) -> HeaderValue {
    HeaderValue::try_from(text).unwrap_or(HeaderValue::from_static("invalid"))
}
