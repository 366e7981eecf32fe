//! The route `PUT /query/{uuid}`: an agent that received a query directly from a frontend opens it
//! here to call a page's tools.

use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::http::request::Parts;
use axum::routing::{MethodRouter, put};
use bridge_auth::Scope;
use bridge_protocol::{ErrorCode, QueryId, QueryTool, SessionId, limits};
use bridge_realm::realm::{QueryError, QueryPolicy};
use serde::Deserialize;
use serde_json::{Value, json};

use super::parse_object;
use crate::budget::Party;
use crate::web::body::read_to_end_limited;
use crate::web::{AppState, PathSegment, Problem, client_address};

/// The fields of a query that the bridge needs. The agent does not send the others.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct OpenQueryRequest {
    #[serde(default)]
    session_id: Option<SessionId>,
    #[serde(default)]
    response_tool: Option<QueryTool>,
    #[serde(default)]
    tools: Option<Vec<QueryTool>>,
    #[serde(default)]
    restrict_tools: Option<bool>,
    #[serde(default)]
    timeout: Option<u64>,
}

impl OpenQueryRequest {
    fn policy(&self) -> QueryPolicy {
        QueryPolicy::new(
            self.response_tool.as_ref(),
            self.tools.as_deref(),
            self.restrict_tools,
            self.timeout,
        )
    }
}

/// Serves `PUT /query/{uuid}`.
pub(in crate::http) fn open() -> MethodRouter<AppState> {
    put(
        |State(state): State<AppState>,
         PathSegment(uuid): PathSegment,
         parts: Parts,
         body: Body| async move { state.open_query(&uuid, &parts, body).await },
    )
}

impl AppState {
    async fn open_query(
        &self,
        uuid: &str,
        parts: &Parts,
        body: Body,
    ) -> Result<Json<Value>, Problem> {
        let (address, rules) = (
            client_address(&parts.extensions),
            self.authenticator.generation(),
        );
        let principal = self.authorize(parts, Scope::Query).await?;
        let caller = Party::new(address, principal.realm);
        let (body, scan_turn) = read_to_end_limited(self, body, caller).await?;
        self.check_again(parts, address, rules).await?;
        let opening: OpenQueryRequest = parse_object(&body).ok_or_else(malformed_body)?;
        drop(scan_turn);
        if opening.timeout == Some(0) {
            let message = "`timeout` must be at least 1 ms: leave it out for the longest";
            return Err(Problem::new(ErrorCode::ProtocolViolation, message));
        }
        if uuid.len() > limits::MAX_QUERY_ID_BYTES {
            let message = "the uuid of the query is endless: use crypto.randomUUID()";
            return Err(Problem::new(ErrorCode::ProtocolViolation, message));
        }
        let (id, session) = (QueryId::from(uuid), opening.session_id.as_ref());
        let opened =
            self.agent_queries
                .open_query(&self.hub, &principal, &id, session, opening.policy());
        let opened = opened.map_err(Problem::from)?;
        Ok(Json(json!({
            "token": opened.token.as_str(),
            "caller": opened.caller,
            "expiresIn": opened.timeout.as_secs_f64().ceil() as u64,
        })))
    }
}

fn malformed_body() -> Problem {
    let message = "the body must be {\"sessionId\": string?, \"responseTool\": object?, \
                   \"tools\": array?, \"restrictTools\": boolean?, \"timeout\": number?}";
    Problem::new(ErrorCode::ProtocolViolation, message)
}

impl From<QueryError> for Problem {
    fn from(failed: QueryError) -> Self {
        let message = match failed.reason {
            Some(remedy) => format!("{}: {remedy}", failed.error),
            None => failed.error,
        };
        Self::new(failed.code, message)
    }
}
