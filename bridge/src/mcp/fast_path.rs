//! The fast lane: `tools/call` and `tools/list` on raw JSON, in front of rmcp's service.
//!
//! [`serve`] decides before anything is done. What it takes it serves whole: `message` reads the
//! request, `request` makes every check that rmcp would make and declines where rmcp has another
//! answer than the result, `call` and `list` answer, `hearer` is the client of a running call,
//! `running` that call with what it has told meanwhile, `stream` its events. A request that is
//! declined has changed nothing: rmcp serves it, and says what is wrong with it.
//!
//! The lane takes calls whose client can be asked nothing (it declared no sampling, elicitation or
//! roots), or whose tool says that it never asks: nothing goes from the page to the client but
//! progress and logs. It takes no second rounds, and nothing with fields that it does not know.

mod call_stream;
mod client_cache;
mod eligibility;
mod message;
mod notification_sink;
mod sse_response;
mod tools_call;
mod tools_list;

use axum::response::Response;
use http::request::Parts;

use super::service::McpService;
use bridge_auth::Principal;
use eligibility::FastPathRequest;

pub(super) use client_cache::ClientCache;
pub(super) use message::Message;

/// The answer to a request that is the lane's; `None` when it is rmcp's.
pub(super) async fn serve(
    mcp: &McpService,
    parts: &Parts,
    message: &Message<'_>,
    principal: &Principal,
) -> Option<Response> {
    match message.method.as_deref()? {
        "tools/call" => {
            tools_call::serve(FastPathRequest::try_new(mcp, parts, message, principal)?).await
        }
        "tools/list" => {
            tools_list::serve(&FastPathRequest::try_new(mcp, parts, message, principal)?)
        }
        _ => None,
    }
}
