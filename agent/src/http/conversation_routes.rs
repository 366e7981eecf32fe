//! The routes of conversations. Only a bridge may use them, because it knows whose they are.

use axum::Json;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use bridge_protocol::{ErrorCode, QUERY_CALLER_HEADER};
use http::{HeaderMap, StatusCode};
use serde_json::{Value, json};

use super::caller::{authorize_bridge, query_caller};
use super::problem::Problem;
use super::state::AppState;
use crate::conversations::{ConversationMessages, ConversationOwner};

pub(super) async fn list_conversations(
    State(state): State<AppState>,
    headers: HeaderMap,
) -> Result<Json<Value>, Problem> {
    let owner = owner(&state, &headers)?;
    let conversations = state.queries.conversations.list(owner).await?;
    Ok(Json(json!({ "conversations": conversations })))
}

pub(super) async fn get_conversation(
    State(state): State<AppState>,
    id: Result<Path<String>, PathRejection>,
    headers: HeaderMap,
) -> Result<Json<ConversationMessages>, Problem> {
    let owner = owner(&state, &headers)?;
    let Path(id) = id?;
    let conversation = state.queries.conversations.get(owner.key(&id)?).await?;
    conversation.map(Json).ok_or_else(|| {
        let message = "there is no such conversation: it was deleted, or nothing was asked in it";
        Problem::new(ErrorCode::ConversationNotFound, message)
    })
}

pub(super) async fn delete_conversation(
    State(state): State<AppState>,
    id: Result<Path<String>, PathRejection>,
    headers: HeaderMap,
) -> Result<StatusCode, Problem> {
    let owner = owner(&state, &headers)?;
    let Path(id) = id?;
    state.queries.conversations.delete(owner.key(&id)?).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Returns whose conversations a bridge asks for.
fn owner(state: &AppState, headers: &HeaderMap) -> Result<ConversationOwner, Problem> {
    authorize_bridge(headers, state.credential)?;
    let caller = query_caller(headers)?.ok_or_else(|| {
        let message =
            format!("a bridge says in `{QUERY_CALLER_HEADER}` whose conversations it means");
        Problem::new(ErrorCode::ProtocolViolation, message)
    })?;
    Ok(ConversationOwner::new(&caller))
}
