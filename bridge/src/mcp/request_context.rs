//! What the handler reads from the context of a request: who sends it, and which page it selects.

use std::sync::Arc;

use bridge_auth::{Principal, RealmId};
use bridge_protocol::SessionId;
use bridge_service::ClientAddress;
use http::request::Parts;
use rmcp::model::Extensions;
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};

use super::session::McpSession;
use super::session_choice::{
    BARE_SESSION_KEY, SESSION_KEY, SESSION_NOT_STRING_MESSAGE, SESSION_PIN_HEADER, SessionChoice,
};
use crate::hub::Hub;

/// The key of a request's `_meta` with the client's capabilities (MCP 2026-07-28, "Lifecycle").
const CLIENT_CAPABILITIES_KEY: &str = "io.modelcontextprotocol/clientCapabilities";

/// Returns the head of the HTTP request.
pub(super) fn http_parts(extensions: &Extensions) -> Result<&Parts, ErrorData> {
    let parts = extensions.get::<Parts>();
    parts.ok_or_else(|| ErrorData::internal_error("the request came without its HTTP head", None))
}

/// Returns who sends the request.
pub(super) fn principal_of(context: &RequestContext<RoleServer>) -> Result<&Principal, ErrorData> {
    let principal = http_parts(&context.extensions)?
        .extensions
        .get::<Principal>();
    principal.ok_or_else(|| ErrorData::internal_error("the request came without its token", None))
}

/// Returns the realm of the client.
pub(super) fn realm_of(context: &RequestContext<RoleServer>) -> Result<RealmId, ErrorData> {
    Ok(principal_of(context)?.realm)
}

/// Returns the address of the client, which the endpoint puts into the request.
pub(super) fn address_of(context: &RequestContext<RoleServer>) -> Result<ClientAddress, ErrorData> {
    let address = http_parts(&context.extensions)?.extensions.get();
    let missing = || ErrorData::internal_error("the request came without its address", None);
    address.copied().ok_or_else(missing)
}

/// Returns the MCP session that the request opens.
pub(super) fn opening_session(context: &RequestContext<RoleServer>) -> Option<Arc<McpSession>> {
    let parts = context.extensions.get::<Parts>()?;
    parts.extensions.get::<Arc<McpSession>>().cloned()
}

/// Returns the page that a request selects.
pub(super) fn chosen_session(
    hub: &Hub,
    realm: RealmId,
    context: &RequestContext<RoleServer>,
) -> Result<Option<SessionId>, ErrorData> {
    let meta = &context.meta.0;
    let prefixed = match meta.get(SESSION_KEY) {
        Some(prefixed) => {
            let not_string = || ErrorData::invalid_params(SESSION_NOT_STRING_MESSAGE, None);
            Some(prefixed.as_str().ok_or_else(not_string)?)
        }
        None => None,
    };
    let headers = &http_parts(&context.extensions)?.headers;
    let choice = SessionChoice {
        prefixed,
        bare: meta.get(BARE_SESSION_KEY).and_then(Value::as_str),
        pinned: headers
            .get(SESSION_PIN_HEADER)
            .and_then(|pin| pin.to_str().ok()),
    };
    Ok(choice.resolve(hub, realm))
}

/// Returns the capabilities of the client as it has declared them, in the request or for the session.
pub(super) fn client_capabilities(context: &RequestContext<RoleServer>) -> Option<Box<RawValue>> {
    match context.meta.0.get(CLIENT_CAPABILITIES_KEY) {
        Some(capabilities) => to_raw_value(capabilities).ok(),
        None => to_raw_value(&context.client_capabilities()?).ok(),
    }
}
