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

mod call;
mod hearer;
mod list;
mod message;
mod recent;
mod request;
mod running;
mod stream;

use axum::response::Response;
use http::request::Parts;

use crate::http::AppState;
use bridge_auth::Principal;
use request::FastPathRequest;

pub(super) use message::Message;
pub(super) use recent::ClientCache;

/// The answer to a request that is the lane's; `None` when it is rmcp's.
pub(super) async fn serve(
    edge: &AppState,
    parts: &Parts,
    message: &Message<'_>,
    principal: &Principal,
) -> Option<Response> {
    match message.method.as_deref()? {
        "tools/call" => {
            call::serve(FastPathRequest::try_new(edge, parts, message, principal)?).await
        }
        "tools/list" => list::serve(&FastPathRequest::try_new(edge, parts, message, principal)?),
        _ => None,
    }
}
