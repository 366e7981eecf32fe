//! The routes of OAuth: where clients get tokens for this bridge (RFC 9728; MCP 2025-11-25,
//! "Authorization"), and where they look for a login that the bridge does not have.

use axum::Json;
use axum::extract::State;
use axum::http::request::Parts;
use axum::response::{IntoResponse, Response};
use bridge_protocol::ErrorCode;
use http::{StatusCode, Uri};
use serde_json::{Value, json};

use super::rest;
use crate::web::{AppState, METADATA_PATH, Problem};

/// The ends of paths at which clients look for an authorization server on the host of a resource
/// (MCP 2025-03-26, "Fallbacks for Servers without Metadata Discovery", and other usual ones).
const LOGIN_ENDPOINTS: [&str; 6] = [
    "/authorize",
    "/register",
    "/token",
    "/revoke",
    "/introspect",
    "/login",
];

/// The beginnings and ends of paths of the metadata of an authorization server (RFC 8414 section 3.1,
/// OpenID Connect Discovery section 4). At 404 clients know that there is none.
const SERVER_METADATA: [&str; 2] = [
    "/.well-known/oauth-authorization-server",
    "/.well-known/openid-configuration",
];

/// Serves `GET /.well-known/oauth-protected-resource`, and the paths of resources below it.
pub(super) async fn metadata(
    State(state): State<AppState>,
    parts: Parts,
) -> Result<Json<Value>, Problem> {
    let metadata = state
        .protected_resource
        .metadata(&parts.uri, &parts.headers);
    // Clients that find no metadata here know that there is no OAuth.
    metadata.map(Json).ok_or_else(|| {
        let message = match state.protected_resource.authorization_servers() {
            [] => "this bridge has no authorization server: send a token of the page's user"
                .to_owned(),
            _ => format!("there is no such resource: the metadata is at {METADATA_PATH}/mcp"),
        };
        Problem::new(ErrorCode::UnknownMethod, message)
    })
}

/// Returns the response to a path without a route. OAuth clients show `error_description` (RFC 6749
/// section 5.2, RFC 7591 section 3.2.2).
pub(super) async fn not_found(State(state): State<AppState>, uri: Uri) -> Response {
    if !is_login_path(uri.path()) {
        return rest::not_found(&uri).into_response();
    }
    let message = match state.protected_resource.authorization_servers() {
        [] => "this server has no login: give the client a token of the page's user, so that it sends \
               `Authorization: Bearer …`"
            .to_owned(),
        servers => format!(
            "this server issues no tokens: get one from {}, as {METADATA_PATH}/mcp says",
            servers.join(" or ")
        ),
    };
    let body = json!({
        "error": ErrorCode::UnknownMethod.as_str(),
        "message": message,
        "error_description": message,
    });
    (StatusCode::NOT_FOUND, Json(body)).into_response()
}

fn is_login_path(path: &str) -> bool {
    LOGIN_ENDPOINTS.iter().any(|end| path.ends_with(end))
        || SERVER_METADATA
            .iter()
            .any(|it| path.starts_with(it) || path.ends_with(it))
}
