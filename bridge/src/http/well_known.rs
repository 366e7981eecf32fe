//! The route `/.well-known/oauth-protected-resource`: where clients get tokens for this bridge (RFC
//! 9728; MCP 2025-11-25, "Authorization").

use axum::Json;
use axum::extract::State;
use axum::http::request::Parts;
use bridge_protocol::ErrorCode;
use serde_json::Value;

use crate::web::{AppState, Problem};

/// Serves `GET /.well-known/oauth-protected-resource` and `…/mcp`.
pub(super) async fn metadata(
    State(state): State<AppState>,
    parts: Parts,
) -> Result<Json<Value>, Problem> {
    let Some(resource) = &state.protected_resource else {
        // Clients that find no metadata here know that there is no OAuth.
        let message = "this bridge has no authorization server: send the token of the page";
        return Err(Problem::new(ErrorCode::UnknownMethod, message));
    };
    let base = resource.base_url(&parts.uri, &parts.headers);
    Ok(Json(resource.metadata(&base)))
}
