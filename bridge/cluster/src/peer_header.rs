//! The header by which a node shows that a request comes from a node.

use std::net::IpAddr;

use crate::keys::{ClusterKeys, MacUse};
use crate::names::{NodeId, RealmKey};

/// The largest difference between the clocks of two nodes, in seconds.
const MAX_AGE_SECS: u64 = 300;

/// Only the owner of the realm serves the request.
const OWN: &str = "own";
/// The target may claim the realm to serve the request.
const MAY_CLAIM: &str = "claim";

/// The header `Mcp-Web-Peer` of a request from one node to another.
///
/// Its MAC covers the request's method and path, but not its body: within 300 s a request can be repeated
/// by who has seen it. That changes nothing. The link is mutual TLS, so only nodes see requests, and a
/// request runs with the token inside it, which its reader could send as well.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeerHeader {
    /// The node that sends the request.
    pub node: NodeId,
    /// The node to which it is sent.
    pub target: NodeId,
    /// The realm whose owner the target has to be. A question of the cluster itself has none, and neither
    /// has a request with a query token, which names the target.
    pub realm: Option<RealmKey>,
    /// Whether the target may become the owner of the realm: the sender takes no realms.
    pub may_claim: bool,
    /// The address of the client whose request this is.
    pub client: IpAddr,
    /// When the header was made, in seconds since 1970.
    pub unix: u64,
}

impl PeerHeader {
    /// The header of an answer with which a node claims a realm. Without it, any server that has got the
    /// address of a dead node could keep its realms from being taken over.
    pub const ANSWER_HEADER: &str = "mcp-web-peer-answer";

    /// The value of the header, for a request with this method, path and query.
    pub fn encode(&self, keys: &ClusterKeys, method: &str, path_and_query: &str) -> String {
        let Self {
            node,
            target,
            realm,
            may_claim,
            client,
            unix,
        } = self;
        let realm = realm.map_or_else(|| "-".to_owned(), |realm| realm.to_string());
        let use_of_realm = if *may_claim { MAY_CLAIM } else { OWN };
        let value = format!("v1 {node} {target} {realm} {use_of_realm} {client} {unix}");
        let mac = keys.mac(MacUse::PeerHeader, &[&value, method, path_and_query]);
        value + " " + &mac
    }

    /// Decodes the header of a request that this node has received.
    ///
    /// # Errors
    ///
    /// See [`PeerRefused`].
    pub fn verify(
        text: &str,
        keys: &ClusterKeys,
        method: &str,
        path_and_query: &str,
        own: NodeId,
        now_unix: u64,
    ) -> Result<Self, PeerRefused> {
        let (value, mac) = text.rsplit_once(' ').ok_or(PeerRefused::Malformed)?;
        let header = Self::parse(value).ok_or(PeerRefused::Malformed)?;
        if !keys.is_mac(MacUse::PeerHeader, &[value, method, path_and_query], mac) {
            return Err(PeerRefused::WrongMac);
        }
        if header.target != own {
            return Err(PeerRefused::OtherNode);
        }
        if header.unix.abs_diff(now_unix) > MAX_AGE_SECS {
            return Err(PeerRefused::Old);
        }
        Ok(header)
    }

    /// The value of [`ANSWER_HEADER`](Self::ANSWER_HEADER) in the answer to the request with this header,
    /// which the node has verified.
    pub fn sign_answer(text: &str, keys: &ClusterKeys) -> String {
        keys.mac(MacUse::PeerAnswer, &[text])
    }

    /// Returns whether the answer to the request with this header comes from a node.
    pub fn is_answered_by(text: &str, keys: &ClusterKeys, answer: &str) -> bool {
        keys.is_mac(MacUse::PeerAnswer, &[text], answer)
    }

    fn parse(value: &str) -> Option<Self> {
        let mut fields = value.split(' ');
        let mut field = || fields.next();
        if field()? != "v1" {
            return None;
        }
        let header = Self {
            node: field()?.parse().ok()?,
            target: field()?.parse().ok()?,
            realm: match field()? {
                "-" => None,
                realm => Some(realm.parse().ok()?),
            },
            may_claim: match field()? {
                OWN => false,
                MAY_CLAIM => true,
                _ => return None,
            },
            client: field()?.parse().ok()?,
            unix: field()?.parse().ok()?,
        };
        field().is_none().then_some(header)
    }
}

/// Why a request is not accepted from a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PeerRefused {
    #[error("the header has a wrong format")]
    Malformed,
    #[error("the header is not signed with the secret of the cluster for this request")]
    WrongMac,
    /// For example, a node that had this address before.
    #[error("the request is for another node")]
    OtherNode,
    #[error("the header is older than 300 s, or the clocks of the nodes differ")]
    Old,
}

#[cfg(test)]
mod tests {
    use bridge_settings::Secret;

    use super::*;

    const SENDER: NodeId = NodeId::from_bytes([1; 16]);
    const OWN: NodeId = NodeId::from_bytes([2; 16]);
    const NOW: u64 = 1_800_000_000;

    fn keys() -> ClusterKeys {
        ClusterKeys::new(&[Secret::from_trusted("s".repeat(32))], None)
    }

    fn header() -> PeerHeader {
        PeerHeader {
            node: SENDER,
            target: OWN,
            realm: Some(RealmKey::from_bytes([3; 20])),
            may_claim: false,
            client: "2001:db8::1".parse().unwrap(),
            unix: NOW,
        }
    }

    fn verify(text: &str, path: &str) -> Result<PeerHeader, PeerRefused> {
        PeerHeader::verify(text, &keys(), "POST", path, OWN, NOW)
    }

    fn encode(header: &PeerHeader) -> String {
        header.encode(&keys(), "POST", "/mcp?a=1")
    }

    #[test]
    fn returns_the_header_that_was_sent() {
        let without_realm = PeerHeader {
            realm: None,
            ..header()
        };
        let to_successor = PeerHeader {
            may_claim: true,
            ..header()
        };
        for header in [header(), without_realm, to_successor] {
            assert_eq!(verify(&encode(&header), "/mcp?a=1"), Ok(header));
        }
    }

    #[test]
    fn only_a_node_can_answer_and_only_the_same_request() {
        let question = encode(&header());
        let answer = PeerHeader::sign_answer(&question, &keys());
        assert!(PeerHeader::is_answered_by(&question, &keys(), &answer));
        let later = encode(&PeerHeader {
            unix: NOW + 1,
            ..header()
        });
        assert!(!PeerHeader::is_answered_by(&later, &keys(), &answer));
        // A server that returns what it has received.
        let (_, mac) = question.rsplit_once(' ').unwrap();
        for forged in ["", "1", mac, &question] {
            assert!(!PeerHeader::is_answered_by(&question, &keys(), forged));
        }
    }

    #[test]
    fn rejects_another_method_path_or_query() {
        let text = encode(&header());
        assert_eq!(verify(&text, "/mcp?a=2"), Err(PeerRefused::WrongMac));
        assert_eq!(verify(&text, "/mcp"), Err(PeerRefused::WrongMac));
        let get = PeerHeader::verify(&text, &keys(), "GET", "/mcp?a=1", OWN, NOW);
        assert_eq!(get, Err(PeerRefused::WrongMac));
        // The end of one field does not become the start of the next.
        let moved = header().encode(&keys(), "POS", "T/mcp?a=1");
        assert_eq!(verify(&moved, "/mcp?a=1"), Err(PeerRefused::WrongMac));
    }

    #[test]
    fn rejects_a_changed_field() {
        let text = encode(&header());
        for (former, changed) in [("2001:db8::1", "2001:db8::2"), (" own ", " claim ")] {
            let changed = text.replacen(former, changed, 1);
            assert_eq!(verify(&changed, "/mcp?a=1"), Err(PeerRefused::WrongMac));
        }
    }

    #[test]
    fn rejects_a_header_for_another_node() {
        let text = encode(&PeerHeader {
            target: SENDER,
            ..header()
        });
        assert_eq!(verify(&text, "/mcp?a=1"), Err(PeerRefused::OtherNode));
    }

    #[test]
    fn accepts_clocks_that_differ_by_at_most_300_s() {
        for (unix, accepted) in [
            (NOW - 301, false),
            (NOW - 300, true),
            (NOW + 300, true),
            (NOW + 301, false),
        ] {
            let verified = verify(&encode(&PeerHeader { unix, ..header() }), "/mcp?a=1");
            assert_eq!(verified.is_ok(), accepted, "{unix}");
            assert!(accepted || verified == Err(PeerRefused::Old));
        }
    }

    #[test]
    fn rejects_text_that_is_not_a_header() {
        let text = encode(&header());
        let longer = text.replacen("v1 ", "v1 v1 ", 1);
        let newer = text.replacen("v1 ", "v2 ", 1);
        let other_use = text.replacen(" own ", " use ", 1);
        for text in ["", "v1", "v1 - - - - - - -", &longer, &newer, &other_use] {
            assert_eq!(
                verify(text, "/mcp?a=1"),
                Err(PeerRefused::Malformed),
                "{text}"
            );
        }
    }
}
