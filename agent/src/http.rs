//! The HTTP edge: the routes, the authorization of their callers, and the responses to errors. Only
//! this module uses axum.

mod agui;
mod body;
mod caller;
mod conversation_routes;
mod event_stream;
mod guard;
mod problem;
mod query_request;
mod state;

use std::sync::Arc;
use std::time::Duration;

use agent_tools::metrics;
use axum::body::Body;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::http::request::Parts;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post, put};
use axum::{Json, Router, middleware};
use bridge_edge::TrustedProxies;
use bridge_edge::connections::{
    self, ConnectionLimits, ConnectionSlots, ConnectionTimeouts, Listener, WhenFull,
};
use bridge_protocol::{ErrorCode, QueryId};
use bridge_traces::RemoteContext;
use http::header::CONTENT_TYPE;
use http::{HeaderMap, StatusCode};
use serde::Deserialize;
use serde_json::json;
use tokio_util::sync::CancellationToken;
use tower::ServiceExt;

use crate::queries::{AcceptedQuery, EventTarget, StreamWriter};
use caller::{RequestCaller, authorize_metrics};
use conversation_routes::{delete_conversation, get_conversation, list_conversations};
pub(crate) use problem::Rejection;
use query_request::QueryRequest;
pub(crate) use state::AgentState;

/// How long the head of a request may take, from the connection or from the request before it. A
/// bridge keeps idle connections for 90 s: if the agent closed them earlier, a query could already
/// be on its way.
const HEAD_TIMEOUT: Duration = Duration::from_secs(120);

/// How long the agent waits for each 64 KiB of the body of a request, and for the rest of it.
const BODY_PROGRESS_TIMEOUT: Duration = Duration::from_secs(15);

/// How long the agent waits for the whole body of a request.
const BODY_TIMEOUT: Duration = Duration::from_secs(60);

/// How long a client may take for each 64 KiB of the events that wait for it.
const RESPONSE_PROGRESS_TIMEOUT: Duration = Duration::from_secs(60);

/// Serves all routes until `stopping` is cancelled, and then until the open requests have ended. A
/// connection over `max_connections` waits until another one has ended.
pub(crate) async fn serve(
    listener: Listener,
    state: AgentState,
    max_connections: usize,
    stopping: CancellationToken,
) {
    let router = router(state);
    let limits = ConnectionLimits {
        slots: ConnectionSlots::new(max_connections, TrustedProxies::new(Vec::new())),
        timeouts: ConnectionTimeouts {
            head: HEAD_TIMEOUT,
            body_progress: BODY_PROGRESS_TIMEOUT,
            body: BODY_TIMEOUT,
            response_progress: RESPONSE_PROGRESS_TIMEOUT,
        },
        observer: None,
        traffic: Arc::default(),
        when_full: WhenFull::Wait,
    };
    let respond = move |request: http::Request<_>, _| {
        let response = router.clone().oneshot(request.map(Body::new));
        async move {
            let Ok(response) = response.await;
            response
        }
    };
    connections::serve(listener, respond, limits, stopping.into()).await;
}

fn router(state: AgentState) -> Router {
    let unknown_route = || async {
        let message = "the agent takes PUT /query, PUT /query/{uuid}, DELETE /query/{uuid}, \
                       PUT /query/{uuid}/approvals/{id} and POST /agui, of a bridge GET \
                       /conversations, and GET and DELETE /conversations/{id}, and if \
                       `metrics_token` is set, GET /metrics";
        Rejection::new(ErrorCode::UnknownMethod, message)
    };
    // The router adds the methods of the route in `allow` (RFC 9110 section 15.5.6).
    let unknown_method = move || async move {
        (StatusCode::METHOD_NOT_ALLOWED, unknown_route().await).into_response()
    };
    let mut metrics = Router::new();
    if state.bridges().has_metrics_token() {
        metrics = metrics.route("/metrics", get(get_metrics));
    }
    Router::new()
        .merge(metrics)
        .route("/query", put(put_query))
        .route("/query/{uuid}", put(put_query).delete(delete_query))
        .route("/query/{uuid}/approvals/{id}", put(put_approval))
        .route("/conversations", get(list_conversations))
        .route(
            "/conversations/{id}",
            get(get_conversation).delete(delete_conversation),
        )
        .route("/agui", post(agui::post_run))
        .route("/healthz", get(health))
        .route("/readyz", get(readiness))
        .fallback(unknown_route)
        .method_not_allowed_fallback(unknown_method)
        .layer(guard::cors(Arc::clone(&state.policy)))
        .layer(middleware::from_fn_with_state(
            Arc::clone(&state.policy),
            guard::check_host_and_origin,
        ))
        .with_state(state)
}

async fn put_query(
    State(state): State<AgentState>,
    uuid: Result<Option<Path<String>>, PathRejection>,
    parts: Parts,
    body: Body,
) -> Result<Response, Rejection> {
    let caller = RequestCaller::authorize_query(&parts.headers, state.bridges())?;
    let uuid = uuid?.map(|Path(uuid)| QueryId::from(uuid));
    let parse = |body: &[u8]| QueryRequest::parse(body, uuid);
    let (request, reservation) = body::read(body, &state, caller.body_owner(), parse).await?;
    if let RequestCaller::Frontend { .. } = caller {
        request.check_fields()?;
    }
    let QueryRequest {
        query, session_id, ..
    } = request;
    let id = query.uuid.clone();
    let permit = state.queries.acquire(&id, caller.owner())?;
    let wants_stream = event_stream::accepts_event_stream(&parts.headers);
    let is_direct = matches!(caller, RequestCaller::Frontend { .. });
    let mut query = match caller {
        RequestCaller::Bridge { token, caller, .. } => {
            AcceptedQuery::new(query, token, caller.map(|it| *it), reservation)?
        }
        RequestCaller::Frontend { .. } if !wants_stream => {
            return Err(event_stream::event_stream_required());
        }
        RequestCaller::Frontend { bearer, .. } => {
            let authorized = permit.authorize(&bearer, &query, session_id).await?;
            AcceptedQuery::of_frontend(query, authorized, reservation)?
        }
    };
    query.trace = RemoteContext::from_headers(&parts.headers);
    if wants_stream {
        let (writer, events) = StreamWriter::channel();
        permit.spawn(query, EventTarget::Stream { writer, is_direct });
        return Ok(event_stream::response(events));
    }
    permit.spawn(query, EventTarget::Reports);
    Ok(Json(json!({ "uuid": id })).into_response())
}

async fn delete_query(
    State(state): State<AgentState>,
    uuid: Result<Path<String>, PathRejection>,
    headers: HeaderMap,
) -> Result<StatusCode, Rejection> {
    let owner = RequestCaller::authorize_owner(&headers, state.bridges())?;
    let Path(uuid) = uuid?;
    state.queries.cancel(&uuid.into(), owner).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn put_approval(
    State(state): State<AgentState>,
    path: Result<Path<(String, String)>, PathRejection>,
    headers: HeaderMap,
    body: Body,
) -> Result<StatusCode, Rejection> {
    let owner = RequestCaller::authorize_owner(&headers, state.bridges())?;
    let Path((uuid, call)) = path?;
    let parse = |body: &[u8]| {
        serde_json::from_slice::<ApprovalAnswer>(body).map_err(|error| {
            let message = format!("the body must be {{\"approved\": true}} or false: {error}");
            Rejection::new(ErrorCode::ProtocolViolation, message)
        })
    };
    let (answer, _) = body::read(body, &state, owner.into(), parse).await?;
    let queries = &state.queries;
    queries.answer_approval(&uuid.into(), owner, &call, answer.approved)?;
    Ok(StatusCode::NO_CONTENT)
}

/// The body of an answer to a request for approval.
#[derive(Deserialize)]
struct ApprovalAnswer {
    approved: bool,
}

async fn get_metrics(
    State(state): State<AgentState>,
    headers: HeaderMap,
) -> Result<Response, Rejection> {
    authorize_metrics(&headers, state.bridges())?;
    let text = state.queries.metrics_text();
    Ok(([(CONTENT_TYPE, metrics::CONTENT_TYPE)], text).into_response())
}

async fn health(State(state): State<AgentState>) -> Response {
    let running = state.queries.running_count();
    Json(json!({ "status": "ok", "queries": running })).into_response()
}

/// Serves `GET /readyz`: responds with 503 while the agent shuts down. Otherwise the settings are loaded,
/// and sources start when they are needed. A model or a source that cannot be reached does not make the
/// agent unready: each of its queries says so, and another agent would not reach it either.
async fn readiness(State(state): State<AgentState>) -> Result<Response, Rejection> {
    if state.queries.is_stopping() {
        let message = "the agent is shutting down: send queries to another agent, or retry";
        return Err(Rejection::new(ErrorCode::AgentUnavailable, message));
    }
    Ok(Json(json!({ "status": "ready" })).into_response())
}
