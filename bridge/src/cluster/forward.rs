//! Passes a request on to the owner of its realm, and its response back.

use std::net::IpAddr;
use std::sync::Arc;

use bridge_auth::RealmId;
use bridge_cluster::{Peer, RealmKey};
use bridge_edge::peer_client::{PeerError, PeerResponse};
use bytes::Bytes;
use http::header::{
    CONNECTION, CONTENT_TYPE, FORWARDED, PROXY_AUTHENTICATE, PROXY_AUTHORIZATION, TE, TRAILER,
    TRANSFER_ENCODING, UPGRADE,
};
use http::request::Parts;
use http::uri::PathAndQuery;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Response, StatusCode};
use http_body::Body;
use http_body_util::Full;

use super::cluster_counters::Forward;
use super::forwarded_body::ForwardedBody;
use super::link::{self, LinkBody, PEER};
use super::node::ClusterNode;

/// A body of at most this size is kept until the response begins, so that the request can be sent to
/// another node.
pub(crate) const MAX_KEPT_BYTES: u64 = 64 * 1024;

/// How often a request is sent: to another owner, or again to one that has not run it.
pub(crate) const MAX_ATTEMPTS: usize = 3;

/// The header of a response that says that a node does not own the realm.
pub(crate) const NOT_OWNER: HeaderName = HeaderName::from_static("mcp-web-not-owner");

/// The header of a response that says that a node has not accepted a request as one of another node.
pub(crate) const NODE_REFUSED: HeaderName = HeaderName::from_static("mcp-web-node-refused");

/// The id of a request, which the owner uses too.
const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

const KEEP_ALIVE: HeaderName = HeaderName::from_static("keep-alive");
const PROXY_CONNECTION: HeaderName = HeaderName::from_static("proxy-connection");

/// The headers that concern one connection (RFC 9110 section 7.6.1).
const HOP_BY_HOP: [HeaderName; 9] = [
    CONNECTION,
    KEEP_ALIVE,
    PROXY_CONNECTION,
    PROXY_AUTHENTICATE,
    PROXY_AUTHORIZATION,
    TE,
    TRAILER,
    TRANSFER_ENCODING,
    UPGRADE,
];

/// The response of another node.
pub(crate) type ForwardedResponse = Response<ForwardedBody>;

/// Why a request was not passed on.
#[derive(Debug)]
pub(crate) enum NotForwarded {
    /// It has not run: the node could not be reached, or does not own the realm.
    NotRun,
    /// The connection was lost after the request was sent.
    MayHaveRun,
    /// The node has become unreachable after the request was sent.
    Unanswered,
}

impl NotForwarded {
    /// Describes the failure, with the remedy.
    pub(crate) fn message(&self) -> &'static str {
        match self {
            Self::NotRun => {
                "the bridge that serves this token has changed, and the request has not run: retry"
            }
            Self::MayHaveRun => {
                "the connection to the bridge that serves this token was lost, and the request may have \
                 run: look before you send it again"
            }
            Self::Unanswered => {
                "the bridge that serves this token does not answer any more, and the request may have run: \
                 look before you send it again"
            }
        }
    }
}

impl ClusterNode {
    /// Sends a request to the owner of its realm, or without a realm to the node of its query, for a client
    /// with this address. The headers are those of the client, with the id of the request.
    ///
    /// # Errors
    ///
    /// When the node has not responded. It is not known as the owner any more then.
    pub(crate) async fn forward(
        self: &Arc<Self>,
        (realm, owner): (Option<RealmKey>, &Peer),
        head: &Parts,
        body: LinkBody,
        client: IpAddr,
        request_id: &HeaderValue,
    ) -> Result<ForwardedResponse, NotForwarded> {
        let forget_owner = || {
            if let Some(realm) = &realm {
                self.forget_owner(realm, owner);
            }
        };
        let Some(lost) = self.reach.wait_for(&owner.id) else {
            forget_owner();
            self.counters.count_forward(Forward::Unreachable);
            return Err(NotForwarded::NotRun);
        };
        let passing = self.counters.count_request();
        let sent = self.send(owner, realm, head, body, client, request_id);
        let sent = match lost.run_until_cancelled(sent).await {
            Some(sent) => sent,
            None if self.stopping.is_cancelled() => Err(PeerError::Lost),
            None => {
                forget_owner();
                self.counters.count_forward(Forward::Lost);
                return Err(NotForwarded::Unanswered);
            }
        };
        match sent {
            Ok(response) if is_misdirected(&response) => {
                forget_owner();
                self.counters.count_forward(Forward::Misdirected);
                Err(NotForwarded::NotRun)
            }
            Ok(response) if is_refused(&response) => {
                forget_owner();
                self.log_limits.log_refusal(&owner.address);
                self.counters.count_forward(Forward::Unreachable);
                Err(NotForwarded::NotRun)
            }
            Ok(mut response) => {
                self.counters.count_forward(Forward::Ok);
                remove_hop_by_hop(response.headers_mut());
                let is_stream = is_event_stream(&response);
                // The stream of a session lasts, and that of a call is awaited as the call is.
                let passing = (is_stream && head.method == Method::POST).then_some(passing);
                let stopping = self.stopping.clone();
                Ok(response
                    .map(|body| ForwardedBody::new(body, is_stream, lost, stopping, passing)))
            }
            Err(PeerError::NotConnected) => {
                forget_owner();
                self.connection_failed(&owner.id);
                self.counters.count_forward(Forward::Unreachable);
                Err(NotForwarded::NotRun)
            }
            Err(PeerError::Lost) => {
                forget_owner();
                self.counters.count_forward(Forward::Lost);
                Err(NotForwarded::MayHaveRun)
            }
        }
    }

    /// Sends a request to the node that has claimed its realm, see [`Self::forward`].
    pub(crate) async fn forward_claimed(
        self: &Arc<Self>,
        realm: RealmId,
        owner: &Peer,
        head: &Parts,
        body: Bytes,
        client: IpAddr,
        request_id: &HeaderValue,
    ) -> Result<ForwardedResponse, NotForwarded> {
        let body = LinkBody::Left(Full::new(body));
        let realm = Some(self.key_of(realm));
        self.forward((realm, owner), head, body, client, request_id)
            .await
    }

    async fn send(
        &self,
        owner: &Peer,
        realm: Option<RealmKey>,
        head: &Parts,
        body: LinkBody,
        client: IpAddr,
        request_id: &HeaderValue,
    ) -> Result<PeerResponse, PeerError> {
        let link = self.links.get(owner)?;
        let path = head.uri.path_and_query().cloned();
        let path = path.unwrap_or_else(|| PathAndQuery::from_static("/"));
        let method = head.method.clone();
        let header = self.peer_header(owner, realm, client, method.as_str(), path.as_str());
        let headers = forwarded_headers(&head.headers, header, request_id);
        link.send(link::request(method, path, headers, body)).await
    }
}

/// The headers of a client as the owner gets them.
pub(super) fn forwarded_headers(
    client: &HeaderMap,
    peer: HeaderValue,
    request_id: &HeaderValue,
) -> HeaderMap {
    let mut headers = client.clone();
    remove_hop_by_hop(&mut headers);
    // The owner gets the address of the client from the node that knows it.
    headers.remove(FORWARDED);
    let outside: Vec<_> = headers
        .keys()
        .filter(|name| name.as_str().starts_with("x-forwarded-"))
        .cloned()
        .collect();
    for name in outside {
        headers.remove(name);
    }
    headers.insert(PEER, peer);
    headers.insert(REQUEST_ID, request_id.clone());
    headers
}

fn remove_hop_by_hop(headers: &mut HeaderMap) {
    let named: Vec<HeaderName> = headers
        .get_all(CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|name| name.trim().parse().ok())
        .collect();
    for name in named.iter().chain(&HOP_BY_HOP) {
        headers.remove(name);
    }
}

/// Whether a node has answered that it does not own the realm.
pub(super) fn is_misdirected(response: &PeerResponse) -> bool {
    response.status() == StatusCode::MISDIRECTED_REQUEST
        && response.headers().contains_key(NOT_OWNER)
}

/// Whether the response is about this node: it says nothing of the client's token.
pub(super) fn is_refused(response: &PeerResponse) -> bool {
    response.status() == StatusCode::UNAUTHORIZED && response.headers().contains_key(NODE_REFUSED)
}

fn is_event_stream(response: &PeerResponse) -> bool {
    let kind = response.headers().get(CONTENT_TYPE);
    kind.is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream"))
}

/// Whether a body is so small that it is kept.
pub(crate) fn is_kept<B: Body<Data = Bytes>>(body: &B) -> bool {
    let size = body.size_hint().exact();
    size.is_some_and(|bytes| bytes <= MAX_KEPT_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_of_one_connection_and_of_proxies_are_not_passed_on() {
        let mut client = HeaderMap::new();
        for (name, value) in [
            ("host", "bridge.example"),
            ("origin", "https://app.example"),
            ("authorization", "Bearer t"),
            ("mcp-session-id", "s"),
            ("connection", "keep-alive, x-hop"),
            ("keep-alive", "timeout=5"),
            ("x-hop", "1"),
            ("te", "trailers"),
            ("transfer-encoding", "chunked"),
            ("forwarded", "for=192.0.2.9"),
            ("x-forwarded-for", "192.0.2.9"),
            ("x-forwarded-proto", "https"),
            ("mcp-web-peer", "v1 forged"),
            ("x-request-id", "of the client"),
        ] {
            let name: HeaderName = name.parse().unwrap();
            client.insert(name, HeaderValue::from_static(value));
        }
        let id = HeaderValue::from_static("id");
        let headers = forwarded_headers(&client, HeaderValue::from_static("v1 real"), &id);
        let mut names: Vec<_> = headers.keys().map(HeaderName::as_str).collect();
        names.sort_unstable();
        let expected = [
            "authorization",
            "host",
            "mcp-session-id",
            "mcp-web-peer",
            "origin",
            "x-request-id",
        ];
        assert_eq!(names, expected);
        assert_eq!(
            (&headers[PEER], &headers[REQUEST_ID]),
            (&HeaderValue::from_static("v1 real"), &id)
        );
    }
}
