//! The fast path: `tools/call` and `tools/list` on raw JSON, without rmcp's service.
//!
//! [`serve`] decides before it does anything, and then serves the whole request. `message` parses
//! it. `eligibility` makes every check that rmcp would make, and declines a request for which rmcp
//! has a response other than the result. `tools_call` and `tools_list` respond. `notification_sink`
//! is the client of a call, `call_stream` the call with its notifications, and `sse_response` its
//! event stream. A declined request has changed nothing: rmcp serves it, and reports what is wrong
//! with it.
//!
//! The fast path takes calls whose client can receive no requests (it declared no sampling,
//! elicitation or roots), or whose tool declares that it sends none: then only progress and logs
//! are sent from the page to the client. It takes no second rounds, and no message with fields that
//! it does not know.

mod call_stream;
mod client_cache;
mod eligibility;
mod message;
mod notification_sink;
mod sse_response;
mod tools_call;
mod tools_list;

use axum::response::Response;
use bridge_auth::Principal;
use bridge_service::ClientAddress;
use http::request::Parts;

use super::service::McpService;
use eligibility::FastPathRequest;

pub(super) use client_cache::ClientCache;
pub(super) use message::Message;

/// Responds to a request on the fast path. Returns `None` for a request that rmcp must serve.
pub(super) async fn serve(
    mcp: &McpService,
    parts: &Parts,
    message: &Message<'_>,
    principal: &Principal,
    address: ClientAddress,
) -> Option<Response> {
    match message.method.as_deref()? {
        "tools/call" => {
            tools_call::serve(FastPathRequest::try_new(
                mcp, parts, message, principal, address,
            )?)
            .await
        }
        "tools/list" => {
            tools_list::serve(&FastPathRequest::try_new(
                mcp, parts, message, principal, address,
            )?)
            .await
        }
        _ => None,
    }
}
