//! The conversations of a user with the agent, which frontends read and delete through the bridge.

use bridge_auth::Principal;
use bridge_protocol::{ErrorCode, SessionId};
use bridge_realm::realm::QueryError;
use bytes::Bytes;
use http::{Method, StatusCode};
use serde::Deserialize;

use super::active_queries::AgentQueries;
use super::agent_client::AgentAnswer;
use super::direct_queries::{no_page_error, resolve_page};
use super::media_type;
use crate::hub::Hub;

/// The largest body of an error of the agent that is parsed, in bytes.
const MAX_ERROR_BYTES: usize = 64 * 1024;

/// A request of a frontend for all of its conversations, or for one of them.
pub(crate) struct ConversationRequest<'a> {
    pub(crate) method: Method,
    /// The id of the conversation; `None` means all.
    pub(crate) conversation: Option<&'a str>,
    /// The page of the frontend; `None` means the only page of the token.
    pub(crate) session: Option<&'a SessionId>,
}

/// The answer of the agent, whose body is JSON or empty.
pub(crate) struct ConversationAnswer {
    pub(crate) status: StatusCode,
    pub(crate) body: Bytes,
}

impl AgentQueries {
    /// Sends a request for conversations to the agent. `has_room` receives the number of bytes of
    /// the answer that have arrived before they are stored.
    pub(crate) async fn request_conversations(
        &self,
        hub: &Hub,
        principal: &Principal,
        request: ConversationRequest<'_>,
        has_room: impl FnMut(usize) -> bool,
    ) -> Result<ConversationAnswer, QueryError> {
        let agent = self.agents.of(principal.realm).cloned();
        let agent = agent.ok_or_else(QueryError::no_agent)?;
        if hub.is_stopping() {
            return Err(QueryError::bridge_stopping());
        }
        let page = hub.with_realm(principal.realm, |realm| {
            resolve_page(realm, request.session, principal)
        });
        let page = page.unwrap_or_else(|| Err(no_page_error()))?;
        let caller = self.caller(principal.realm, page);
        let _permit = hub.budgets.conversations.acquire(principal.realm)?;
        let (method, conversation) = (request.method, request.conversation);
        let answer = agent.fetch_conversations(method, conversation, &caller, has_room);
        check_answer(answer.await?)
    }
}

/// Checks that an answer is for the frontend: a success, or an error in the form of the bridge's
/// own errors.
fn check_answer(answer: AgentAnswer) -> Result<ConversationAnswer, QueryError> {
    let AgentAnswer { parts, body } = answer;
    let is_json = media_type::is(&parts.headers, "application/json");
    let status = parts.status;
    match status {
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => Err(agent_error(
            ErrorCode::AgentUnavailable,
            status,
            "the agent refuses the bridge's credential: give both the same (`agent_token`)",
        )),
        _ if status.is_success() && (is_json || body.is_empty()) => {
            Ok(ConversationAnswer { status, body })
        }
        _ if is_json && is_error_status(status) && is_error(&body) => {
            Ok(ConversationAnswer { status, body })
        }
        StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED => {
            let error = "The agent keeps no conversations";
            let remedy = "use an agent that does, such as `mcp-web agent` of this version";
            let code = ErrorCode::UnknownMethod;
            Err(QueryError::new(code, error, Some(remedy)))
        }
        _ => Err(agent_error(
            ErrorCode::AgentFailed,
            status,
            "its answer is not the JSON that was expected: see the agent's log",
        )),
    }
}

fn agent_error(code: ErrorCode, status: StatusCode, remedy: &str) -> QueryError {
    let reason = status.canonical_reason().unwrap_or_default();
    let error = format!("Agent responded with {}: {reason}", status.as_u16());
    QueryError::new(code, error, Some(remedy))
}

fn is_error_status(status: StatusCode) -> bool {
    status.is_client_error() || status.is_server_error()
}

/// Whether the text is `{"error": code, …}`.
fn is_error(body: &[u8]) -> bool {
    #[derive(Deserialize)]
    struct ErrorBody {
        #[serde(rename = "error")]
        _code: String,
    }
    body.len() <= MAX_ERROR_BYTES && serde_json::from_slice::<ErrorBody>(body).is_ok()
}
