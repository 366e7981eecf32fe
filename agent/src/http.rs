//! The agent's door: who may ask, and in which words it is refused. Only here and below axum is
//! known; its router goes to the connections.

mod body;
mod caller;
mod event_stream;
mod guard;
mod origin;
mod problem;
mod query_request;

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
use crate::queries::{AcceptedQuery, EventTarget, Queries, StreamWriter};
use caller::RequestCaller;
pub(crate) use origin::Policy;
pub(crate) use problem::Problem;
use query_request::QueryRequest;

/// What the routes share.
#[derive(Clone, Debug)]
pub(crate) struct AppState {
    pub(crate) queries: Arc<Queries>,
    pub(crate) credential: Hashed,
    pub(crate) policy: Arc<Policy>,
    pub(crate) max_body_bytes: usize,
}

/// All routes.
pub(crate) fn router(edge: AppState) -> Router {
    let cors = guard::cors(Arc::clone(&edge.policy));
    let no_such_method = || async {
        let message = "the agent takes PUT /query, PUT /query/{uuid} and DELETE /query/{uuid}";
        Problem::new(ErrorCode::UnknownMethod, message)
    };
    Router::new()
        .route("/query", put(put_query))
        .route("/query/{uuid}", put(put_query).delete(delete_query))
        .route("/healthz", get(health))
        .fallback(no_such_method)
        .method_not_allowed_fallback(no_such_method)
        .layer(cors)
        .layer(middleware::from_fn_with_state(
            edge.clone(),
            guard::check_host_and_origin,
        ))
        .with_state(edge)
}

async fn put_query(
    State(edge): State<AppState>,
    uuid: Option<Path<String>>,
    parts: Parts,
    body: axum::body::Body,
) -> Result<Response, Problem> {
    let who = RequestCaller::authorize_query(&edge, &parts.headers)?;
    let body = body::whole(body, edge.max_body_bytes).await?;
    let uuid = uuid.map(|Path(uuid)| QueryId::from(uuid));
    let QueryRequest { query, session_id } = QueryRequest::parse(&body, uuid)?;
    let id = query.uuid.clone();
    let place = edge.queries.acquire(&id, who.owner())?;
    let wants_stream = event_stream::accepts_event_stream(&parts.headers);
    let (token, within) = match who {
        RequestCaller::Bridge { token } => (token, None),
        RequestCaller::Frontend { .. } if !wants_stream => {
            return Err(event_stream::event_stream_required());
        }
        RequestCaller::Frontend { bearer } => {
            let granted = place.authorize(&bearer, &query, session_id).await?;
            (granted.token, Some(granted.timeout))
        }
    };
    let asked = AcceptedQuery {
        message: query,
        token,
        timeout: within,
    };
    if wants_stream {
        let (reader, told) = StreamWriter::channel();
        let is_direct = asked.timeout.is_some();
        place.spawn(
            asked,
            EventTarget::Stream {
                writer: reader,
                is_direct,
            },
        );
        return Ok(event_stream::response(told));
    }
    place.spawn(asked, EventTarget::Reports);
    Ok(Json(json!({ "uuid": id })).into_response())
}

async fn delete_query(
    State(edge): State<AppState>,
    Path(uuid): Path<String>,
    headers: HeaderMap,
) -> Result<StatusCode, Problem> {
    let who = RequestCaller::authorize_cancel(&edge, &headers)?;
    edge.queries.cancel(&uuid.into(), who).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn health(State(edge): State<AppState>) -> Response {
    let running = edge.queries.running_count();
    Json(json!({ "status": "ok", "queries": running })).into_response()
}
