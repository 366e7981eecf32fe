//! The values that the handler reads from the context of a request: its sender and its session.

use std::sync::Arc;

use bridge_auth::{Principal, RealmId};
use bridge_edge::ClientAddress;
use http::request::Parts;
use rmcp::model::Extensions;
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};

use super::message_reader::MessageReader;
use super::session::McpSession;

/// Returns the head of the HTTP request.
fn http_parts(extensions: &Extensions) -> Result<&Parts, ErrorData> {
    let parts = extensions.get::<Parts>();
    parts.ok_or_else(|| ErrorData::internal_error("the request came without its HTTP head", None))
}

/// Returns the sender of the request.
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

/// Returns the reader of the response.
pub(super) fn reader_of(context: &RequestContext<RoleServer>) -> MessageReader {
    match http_parts(&context.extensions) {
        Ok(parts) => MessageReader::from_headers(&parts.headers),
        Err(_) => MessageReader::Other,
    }
}

/// Returns the MCP session of the request, if it has one.
pub(super) fn session_of(context: &RequestContext<RoleServer>) -> Option<&Arc<McpSession>> {
    context.extensions.get::<Parts>()?.extensions.get()
}
