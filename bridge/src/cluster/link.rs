//! The connections to other nodes.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use bridge_cluster::{NodeId, Peer};
use bridge_edge::connections::{TlsAcceptor, TlsError};
use bridge_edge::peer_client::{PeerClient, PeerError, PeerResponse};
use bridge_realm::fast_hash::FastHash;
use bytes::Bytes;
use http::header::HOST;
use http::uri::PathAndQuery;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{Either, Full};

/// The header with which a node proves what it is.
pub(super) const PEER: HeaderName = HeaderName::from_static("mcp-web-peer");

/// The value of `Host` in the requests of nodes themselves.
const PEER_HOST: &str = "localhost";

/// The body of a request to another node: one that was kept, or one that is still received.
pub(crate) type LinkBody = Either<Full<Bytes>, UnsyncBoxBody<Bytes, BoxError>>;

pub(super) type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// The connections to the other nodes, by their ids.
pub(super) struct Links {
    tls: Option<(TlsAcceptor, String)>,
    links: Mutex<LinksById>,
}

type LinksById = HashMap<NodeId, Arc<Link>, FastHash>;

/// The connections to one node.
pub(super) type Link = PeerClient<LinkBody>;

impl Links {
    pub(super) fn new(tls: Option<(TlsAcceptor, String)>) -> Self {
        Self {
            tls,
            links: Mutex::default(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, LinksById> {
        self.links.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the link to a node.
    pub(super) fn get(&self, peer: &Peer) -> Result<Arc<Link>, PeerError> {
        if let Some(link) = self.lock().get(&peer.id) {
            return Ok(Arc::clone(link));
        }
        let link = Arc::new(self.connect(peer)?);
        self.lock().insert(peer.id, Arc::clone(&link));
        Ok(link)
    }

    /// Returns another link to a node, which uses none of its open connections.
    pub(super) fn connect(&self, peer: &Peer) -> Result<Link, PeerError> {
        let address: SocketAddr = peer.address.parse().map_err(|_| PeerError::NotConnected)?;
        let tls = self.tls.as_ref().map(|(tls, name)| (tls, name.as_str()));
        Link::new(address, tls).map_err(|error| {
            tracing::error!("the other bridges cannot be reached: {error}");
            PeerError::NotConnected
        })
    }

    /// Closes the connections to a node that do not serve a request.
    pub(super) fn remove(&self, id: &NodeId) {
        self.lock().remove(id);
    }

    /// Closes those to all nodes but these. A node that is gone is asked for each of its realms.
    pub(super) fn retain(&self, is_known: impl Fn(&NodeId) -> bool) {
        self.lock().retain(|id, _| is_known(id));
    }

    /// When the certificate in use expires.
    pub(super) fn certificate_expires(&self) -> Option<SystemTime> {
        self.tls.as_ref().map(|(tls, _)| tls.expires())
    }

    /// Loads the certificate again, for the connections that begin from now on. Returns whether it is
    /// another one.
    pub(super) fn reload(&self) -> Result<bool, TlsError> {
        let Some((tls, _)) = &self.tls else {
            return Ok(false);
        };
        let has_changed = tls.reload()?;
        if has_changed {
            self.lock().clear();
        }
        Ok(has_changed)
    }
}

/// Prepares a request to another node with these headers.
pub(super) fn request(
    method: Method,
    path_and_query: PathAndQuery,
    headers: HeaderMap,
    body: LinkBody,
) -> Request<LinkBody> {
    let mut request = Request::new(body);
    *request.method_mut() = method;
    *request.uri_mut() = path_and_query.into();
    *request.headers_mut() = headers;
    request
}

/// Sends a request of this node itself.
pub(super) async fn send_own(
    link: &Link,
    method: Method,
    path_and_query: PathAndQuery,
    header: HeaderValue,
    body: Bytes,
) -> Result<PeerResponse, PeerError> {
    let mut headers = HeaderMap::new();
    headers.insert(PEER, header);
    headers.insert(HOST, HeaderValue::from_static(PEER_HOST));
    let body = LinkBody::Left(Full::new(body));
    let request = request(method, path_and_query, headers, body);
    link.send(request).await
}
