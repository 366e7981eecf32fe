//! axum's extractors for the URL of a request, which reject it as the other routes do: with a
//! [`Problem`] and not in plain text.

use axum::extract::{FromRequestParts, Path, Query};
use bridge_protocol::ErrorCode;
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
