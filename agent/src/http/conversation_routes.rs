//! The routes of conversations. Only a bridge may use them, because it knows whose they are.

use axum::Json;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use bridge_protocol::{ErrorCode, QUERY_CALLER_HEADER};
use http::{HeaderMap, StatusCode};
use serde_json::{Value, json};

use super::caller::{authorize_bridge, query_caller};
use super::problem::Rejection;
use super::state::AgentState;
use crate::conversations::{ConversationMessages, ConversationOwner};

pub(super) async fn list_conversations(
    State(state): State<AgentState>,
    headers: HeaderMap,
) -> Result<Json<Value>, Rejection> {
    let owner = owner(&state, &headers)?;
    let conversations = state.queries.conversations.list(owner).await?;
    Ok(Json(json!({ "conversations": conversations })))
}

pub(super) async fn get_conversation(
    State(state): State<AgentState>,
    id: Result<Path<String>, PathRejection>,
    headers: HeaderMap,
) -> Result<Json<ConversationMessages>, Rejection> {
    let owner = owner(&state, &headers)?;
    let Path(id) = id?;
    let conversation = state.queries.conversations.get(owner.key(&id)?).await?;
    conversation.map(Json).ok_or_else(|| {
        let message = "there is no such conversation: it was deleted, or nothing was asked in it";
        Rejection::new(ErrorCode::ConversationNotFound, message)
    })
}

pub(super) async fn delete_conversation(
    State(state): State<AgentState>,
    id: Result<Path<String>, PathRejection>,
    headers: HeaderMap,
) -> Result<StatusCode, Rejection> {
    let owner = owner(&state, &headers)?;
    let Path(id) = id?;
    state.queries.conversations.delete(owner.key(&id)?).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Returns whose conversations a bridge asks for.
fn owner(state: &AgentState, headers: &HeaderMap) -> Result<ConversationOwner, Rejection> {
    let bridges = state.bridges();
    let bridge = authorize_bridge(headers, bridges)?;
    let caller = query_caller(headers, bridges, bridge)?.ok_or_else(|| {
        let message =
            format!("a bridge says in `{QUERY_CALLER_HEADER}` whose conversations it means");
        Rejection::new(ErrorCode::ProtocolViolation, message)
    })?;
    Ok(ConversationOwner::new(&caller))
}
