//! The routes `/conversations`, on which a frontend reads and deletes its user's conversations with
//! the agent. The bridge forwards the requests together with their caller.

use axum::body::Body;
use axum::extract::State;
use axum::http::request::Parts;
use axum::response::Response;
use axum::routing::{MethodRouter, get};
use bridge_auth::Scope;
use bridge_protocol::{ErrorCode, SessionId, is_conversation_id};
use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use http::{HeaderValue, Method};
use serde::Deserialize;

use crate::agent_queries::{ConversationAnswer, ConversationRequest};
use crate::budget::Party;
use crate::web::{AppState, Parameters, PathSegment, Problem, client_address};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ConversationParameters {
    session_id: Option<SessionId>,
}

/// Serves `GET /conversations`.
pub(super) fn all() -> MethodRouter<AppState> {
    get(
        |State(state): State<AppState>,
         Parameters(parameters): Parameters<ConversationParameters>,
         parts: Parts| async move {
            state
                .forward_conversations(&parts, parameters, Method::GET, None)
                .await
        },
    )
}

/// Serves `GET` and `DELETE /conversations/{id}`.
pub(super) fn one() -> MethodRouter<AppState> {
    let serve = |method: Method| {
        move |State(state): State<AppState>,
              PathSegment(id): PathSegment,
              Parameters(parameters): Parameters<ConversationParameters>,
              parts: Parts| async move {
            state
                .forward_conversations(&parts, parameters, method, Some(&id))
                .await
        }
    };
    get(serve(Method::GET)).delete(serve(Method::DELETE))
}

impl AppState {
    async fn forward_conversations(
        &self,
        parts: &Parts,
        parameters: ConversationParameters,
        method: Method,
        conversation: Option<&str>,
    ) -> Result<Response, Problem> {
        let principal = self.authorize(parts, Scope::Query).await?;
        if !conversation.is_none_or(is_conversation_id) {
            let message = "the id of a conversation has 1 to 64 bytes of visible ASCII, and is \
                           neither `.` nor `..`";
            return Err(Problem::new(ErrorCode::ProtocolViolation, message));
        }
        let caller = Party::new(client_address(&parts.extensions), principal.realm);
        let mut lease = self.hub.budgets.memory.lease(caller);
        let request = ConversationRequest {
            method,
            conversation,
            session: parameters.session_id.as_ref(),
        };
        let answer = self
            .agent_queries
            .request_conversations(&self.hub, &principal, request, |bytes| {
                lease.resize_counted(bytes).is_ok()
            })
            .await?;
        let ConversationAnswer { status, body } = answer;
        let is_empty = body.is_empty();
        let mut response = Response::new(Body::from(lease.attach_to(body)));
        *response.status_mut() = status;
        let headers = response.headers_mut();
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        if !is_empty {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        }
        Ok(response)
    }
}
