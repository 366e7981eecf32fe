//! The agent's door: who may ask, and in which words it is refused. Only here and below axum is
//! known; its router goes to the connections.

mod asked;
mod body;
mod guard;
mod origin;
mod problem;
mod stream;
mod who;

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::request::Parts;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, put};
use axum::{Json, Router, middleware};
use bridge_protocol::{ErrorCode, QueryId};
use http::{HeaderMap, StatusCode};
use serde_json::json;

use crate::credential::Hashed;
use crate::queries::{Queries, Query, Reader, Teller};
use asked::Body;
pub(crate) use origin::Policy;
pub(crate) use problem::Problem;
use who::Who;

/// What the routes share.
#[derive(Clone, Debug)]
pub(crate) struct Edge {
    pub(crate) queries: Arc<Queries>,
    pub(crate) credential: Hashed,
    pub(crate) policy: Arc<Policy>,
    pub(crate) max_body_bytes: usize,
}

/// All routes.
pub(crate) fn router(edge: Edge) -> Router {
    let cors = guard::cors(Arc::clone(&edge.policy));
    let no_such_method = || async {
        let message = "the agent takes PUT /query, PUT /query/{uuid} and DELETE /query/{uuid}";
        Problem::new(ErrorCode::UnknownMethod, message)
    };
    Router::new()
        .route("/query", put(ask))
        .route("/query/{uuid}", put(ask).delete(cancel))
        .route("/healthz", get(health))
        .fallback(no_such_method)
        .method_not_allowed_fallback(no_such_method)
        .layer(cors)
        .layer(middleware::from_fn_with_state(edge.clone(), guard::check))
        .with_state(edge)
}

async fn ask(
    State(edge): State<Edge>,
    uuid: Option<Path<String>>,
    parts: Parts,
    body: axum::body::Body,
) -> Result<Response, Problem> {
    let who = Who::asks(&edge, &parts.headers)?;
    let body = body::whole(body, edge.max_body_bytes).await?;
    let uuid = uuid.map(|Path(uuid)| QueryId::from(uuid));
    let Body { query, session_id } = Body::read(&body, uuid)?;
    let id = query.uuid.clone();
    let place = edge.queries.take_place(&id, who.asker())?;
    let wants_stream = stream::is_wanted(&parts.headers);
    let (token, within) = match who {
        Who::Bridge { token } => (token, None),
        Who::Frontend { .. } if !wants_stream => return Err(stream::is_needed()),
        Who::Frontend { bearer } => {
            let granted = place.granted(&bearer, &query, session_id).await?;
            (granted.token, Some(granted.within))
        }
    };
    let asked = Query {
        asked: query,
        token,
        within,
    };
    if wants_stream {
        let (reader, told) = Reader::new();
        let is_direct = asked.within.is_some();
        place.answer(asked, Teller::Reader { reader, is_direct });
        return Ok(stream::response(told));
    }
    place.answer(asked, Teller::Reports);
    Ok(Json(json!({ "uuid": id })).into_response())
}

async fn cancel(
    State(edge): State<Edge>,
    Path(uuid): Path<String>,
    headers: HeaderMap,
) -> Result<StatusCode, Problem> {
    let who = Who::cancels(&edge, &headers)?;
    edge.queries.cancel(&uuid.into(), who).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn health(State(edge): State<Edge>) -> Response {
    let running = edge.queries.running();
    Json(json!({ "status": "ok", "queries": running })).into_response()
}
