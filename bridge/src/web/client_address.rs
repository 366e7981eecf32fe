//! The address of the client of a request, whose share of the limits the request counts for.

use std::net::{IpAddr, Ipv4Addr};

use bridge_edge::ClientAddress;
use http::Extensions;

/// Returns the address from the extensions of a request that passes the router, which contain it.
pub(crate) fn client_address(extensions: &Extensions) -> ClientAddress {
    let unknown = || ClientAddress::from(IpAddr::V4(Ipv4Addr::UNSPECIFIED));
    extensions.get().copied().unwrap_or_else(unknown)
}
