//! The address at the other end of a request's connection, and the address of its client.

use std::net::{IpAddr, Ipv4Addr};

use bridge_service::ClientAddress;
use http::request::Parts;
use http::{Extensions, HeaderMap};

use super::AppState;

/// The address at the other end of a connection: that of a client, or of a proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PeerAddress(pub(crate) IpAddr);

impl PeerAddress {
    /// The address from the extensions of a request that passes the router, which contain it.
    pub(crate) fn from_extensions(extensions: &Extensions) -> Self {
        let unknown = Self(IpAddr::V4(Ipv4Addr::UNSPECIFIED));
        extensions.get().copied().unwrap_or(unknown)
    }
}

impl AppState {
    /// The address of the client, whose share of the limits a request counts for.
    pub(crate) fn client_address(&self, peer: PeerAddress, headers: &HeaderMap) -> ClientAddress {
        ClientAddress::from_request(peer.0, headers, &self.hub.config.trusted_proxies)
    }

    /// The address of the client that has sent a request.
    pub(crate) fn client_address_of(&self, parts: &Parts) -> ClientAddress {
        self.client_address(
            PeerAddress::from_extensions(&parts.extensions),
            &parts.headers,
        )
    }
}
