//! Extracts the parts of a request: the address of its client, and with axum's extractors the parts of
//! its URL. These reject a request as the other routes do: with a [`Problem`] and not in plain text.

use std::net::{IpAddr, Ipv4Addr};

use axum::extract::{FromRequestParts, Path, Query};
use bridge_edge::ClientAddress;
use bridge_protocol::ErrorCode;
use http::Extensions;
use http::request::Parts;
use serde::de::DeserializeOwned;

use super::Problem;

/// The variable part of a route's path, decoded.
pub(crate) struct PathSegment(pub(crate) String);

impl<S: Send + Sync> FromRequestParts<S> for PathSegment {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let path = Path::from_request_parts(parts, state).await;
        path.map(|Path(segment)| Self(segment))
            .map_err(|rejection| invalid_url(rejection.body_text()))
    }
}

/// The parameters in the query of a URL.
pub(crate) struct Parameters<T>(pub(crate) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for Parameters<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let query = Query::from_request_parts(parts, state).await;
        query
            .map(|Query(parameters)| Self(parameters))
            .map_err(|rejection| invalid_url(rejection.body_text()))
    }
}

fn invalid_url(reason: String) -> Problem {
    Problem::new(ErrorCode::ProtocolViolation, reason)
}

/// Returns the address of the client, whose share of the limits the request counts for. It is in the
/// extensions of every request that passes the router.
pub(crate) fn client_address(extensions: &Extensions) -> ClientAddress {
    let unknown = || ClientAddress::from(IpAddr::V4(Ipv4Addr::UNSPECIFIED));
    extensions.get().copied().unwrap_or_else(unknown)
}
