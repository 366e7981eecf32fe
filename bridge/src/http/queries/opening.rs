//! `PUT /query/{uuid}`: an agent that a frontend has asked itself wants to call a page's tools.

use axum::Json;
use axum::extract::rejection::BytesRejection;
use axum::extract::{Path, State};
use axum::http::request::Parts;
use axum::routing::{MethodRouter, put};
use bridge_protocol::{ErrorCode, QueryId, QueryTool, SessionId, limits};
use bytes::Bytes;
use serde::Deserialize;
use serde_json::{Value, json};

use super::object;
use crate::auth::Scope;
use crate::http::{Edge, Problem, plain};
use crate::realm::{QueryFailed, Terms};

/// Of a query the agent keeps the rest to itself.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Opening {
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

impl Opening {
    fn terms(&self) -> Terms {
        Terms::new(
            self.response_tool.as_ref(),
            self.tools.as_deref(),
            self.restrict_tools,
            self.timeout,
        )
    }
}

pub(in crate::http) fn open() -> MethodRouter<Edge> {
    put(
        |State(edge): State<Edge>,
         Path(uuid): Path<String>,
         parts: Parts,
         body: Result<Bytes, BytesRejection>| async move {
            edge.opened(&uuid, &parts, body).await
        },
    )
}

impl Edge {
    async fn opened(
        &self,
        uuid: &str,
        parts: &Parts,
        body: Result<Bytes, BytesRejection>,
    ) -> Result<Json<Value>, Problem> {
        let principal = self.granted(parts, Scope::Query).await?;
        let body = body.map_err(|rejection| plain::rejected(self, &rejection))?;
        let opening: Opening = object(&body).ok_or_else(malformed)?;
        if uuid.len() > limits::MAX_QUERY_ID_BYTES {
            let message = "the uuid of the query is endless: use crypto.randomUUID()";
            return Err(Problem::new(ErrorCode::ProtocolViolation, message));
        }
        let (id, session) = (QueryId::from(uuid), opening.session_id.as_ref());
        let opened = self
            .hub
            .open_query(&principal, &id, session, opening.terms());
        let opened = opened.map_err(Problem::from)?;
        Ok(Json(json!({
            "token": opened.token.as_str(),
            "expiresIn": opened.time.as_secs_f64().ceil() as u64,
        })))
    }
}

fn malformed() -> Problem {
    let message = "the body must be {\"sessionId\": string?, \"responseTool\": object?, \
                   \"tools\": array?, \"restrictTools\": boolean?, \"timeout\": number?}";
    Problem::new(ErrorCode::ProtocolViolation, message)
}

impl From<QueryFailed> for Problem {
    fn from(failed: QueryFailed) -> Self {
        let message = match failed.reason {
            Some(remedy) => format!("{}: {remedy}", failed.error),
            None => failed.error,
        };
        Self::new(failed.code, message)
    }
}
