//! Plain HTTP: call a tool without speaking MCP, and see what the token sees.

use std::sync::Arc;

use axum::Json;
use axum::extract::rejection::BytesRejection;
use axum::extract::{Request, State};
use axum::handler::Handler;
use axum::http::request::Parts;
use axum::response::{IntoResponse, Response};
use bridge_protocol::{CallContext, CallingClient, ClientInfo, ErrorCode, Kind, SessionId, Via};
use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE, USER_AGENT};
use http::{HeaderValue, Method, StatusCode, Uri};
use http_body::Body;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tower::ServiceExt;

use super::{Edge, Problem, page_socket, whole};
use crate::auth::Scope;
use crate::calls::{self, Arguments, CallRequest, Outcome, Takes, Unreachable};
use crate::definition::Definition;
use crate::meta_tools;
use crate::off_thread::{self, LARGE_BYTES};
use crate::result::{ToolResult, size};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ToolCallBody {
    tool_name: String,
    #[serde(default)]
    tool_input: Option<Box<RawValue>>,
    #[serde(default)]
    session_id: Option<SessionId>,
}

/// A caller that hears the result and nothing else.
static UNREACHABLE: Unreachable = Unreachable("the caller speaks plain HTTP: it cannot be asked");

/// `POST /tool-call`: answers the MCP result object.
pub(super) async fn tool_call(State(edge): State<Edge>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    call_tool(&edge, &parts, body).await
}

/// The same, before the router too.
pub(super) async fn call_tool<B>(edge: &Edge, parts: &Parts, body: B) -> Response
where
    B: Body<Data = Bytes>,
    B::Error: Into<axum::BoxError>,
{
    let called = called_tool(edge, parts, body).await;
    called.unwrap_or_else(Problem::into_response)
}

async fn called_tool<B>(edge: &Edge, parts: &Parts, body: B) -> Result<Response, Problem>
where
    B: Body<Data = Bytes>,
    B::Error: Into<axum::BoxError>,
{
    let principal = edge.granted(parts, Scope::ToolsCall).await?;
    let body = whole(edge, body).await?;
    // serde would read the fields of an array by their order.
    if body.trim_ascii_start().first() == Some(&b'[') {
        return Err(not_a_call("it is an array"));
    }
    let body: ToolCallBody =
        serde_json::from_slice(&body).map_err(|error| not_a_call(&error.to_string()))?;
    let arguments = match body.tool_input {
        None => Arguments::default(),
        Some(input) if input.get().starts_with('{') => Arguments::raw(input),
        Some(_) => return Err(not_a_call("`toolInput` is no object")),
    };
    let agent = parts
        .headers
        .get(USER_AGENT)
        .and_then(|agent| agent.to_str().ok());
    let client = agent.map(|agent| ClientInfo {
        name: agent.to_owned(),
        version: None,
        title: None,
    });
    let client = client.map(|info| CallingClient {
        info,
        protocol_version: None,
        capabilities: None,
        limits: None,
    });
    let request = CallRequest {
        caller: calls::Caller {
            realm: principal.realm,
            session: body.session_id,
            context: CallContext {
                client: client.map(Arc::new),
                caller: Some(principal.caller(Via::Http)),
                query_id: principal.query.clone(),
                ..CallContext::default()
            },
            client: &UNREACHABLE,
            takes: Takes::default(),
            answers: Vec::new(),
            resumes: None,
        },
        tool: body.tool_name,
        arguments,
    };
    // What a call needs stays in one place; the rest of this is moved with each layer of the server.
    match Box::pin(calls::call(&edge.hub, request)).await {
        Ok(Outcome::Done(result)) => Ok(answer(result).await),
        // Nobody is asked who has declared no capability.
        Ok(Outcome::InputRequired { .. }) => Err(Problem::new(
            ErrorCode::ClientCapabilityMissing,
            "the tool asks its client, and plain HTTP cannot answer: use MCP".to_owned(),
        )),
        Err(error) => Err(Problem::new(ErrorCode::ToolNotFound, error.to_string())),
    }
}

fn not_a_call(why: &str) -> Problem {
    let message = format!(
        "the body must be {{\"toolName\": string, \"toolInput\": object, \"sessionId\": string?}}: \
         {why}"
    );
    Problem::new(ErrorCode::ProtocolViolation, message)
}

/// The answer with a result.
async fn answer(result: ToolResult) -> Response {
    let written = |result: &ToolResult| result.written(b"{".to_vec(), b"}");
    let body = if result.is_within() || size::is_surely_within(&result, 2 * LARGE_BYTES) {
        written(&result)
    } else {
        let writing = off_thread::run(move || written(&result)).await;
        writing.unwrap_or_else(|| Vec::new().into())
    };
    let mut response = Response::new(body.into());
    let json = HeaderValue::from_static("application/json");
    response.headers_mut().insert(CONTENT_TYPE, json);
    response
}

/// Why axum took no body.
pub(super) fn rejected(edge: &Edge, rejection: &BytesRejection) -> Problem {
    if rejection.status() == StatusCode::PAYLOAD_TOO_LARGE {
        return too_large(edge);
    }
    Problem::new(
        ErrorCode::ProtocolViolation,
        format!("the body cannot be read: {rejection}"),
    )
}

/// The refusal of a body over the limit.
pub(crate) fn too_large(edge: &Edge) -> Problem {
    let message = format!(
        "the request has more than {} bytes: send less, or raise `max_request_bytes`",
        edge.hub.config.max_request_bytes
    );
    Problem::new(ErrorCode::RequestTooLarge, message)
}

/// `GET /sessions`: the pages of the token.
pub(super) async fn sessions(
    State(edge): State<Edge>,
    parts: Parts,
) -> Result<Json<Value>, Problem> {
    let principal = edge.granted(&parts, Scope::ToolsRead).await?;
    let mut sessions = edge
        .hub
        .read(principal.realm, |realm| realm.sessions())
        .unwrap_or_default();
    if let Some(query) = &principal.query {
        let own = edge.hub.session_of_query(principal.realm, query);
        sessions.retain(|session| own.as_ref() == Some(&session.session_id));
    }
    Ok(Json(json!({ "sessions": sessions })))
}

/// `GET /tools`: what `tools/list` answers.
pub(super) async fn tools(State(edge): State<Edge>, parts: Parts) -> Result<Json<Value>, Problem> {
    let principal = edge.granted(&parts, Scope::ToolsRead).await?;
    calls::page_of_query(&edge.hub, &principal).await;
    if let Some(query) = &principal.query {
        let tools = calls::tools_of_query(&edge.hub, principal.realm, query);
        let tools: Vec<_> = tools.iter().map(Definition::published).collect();
        return Ok(Json(json!({ "tools": tools })));
    }
    let realm = principal.realm;
    let pages = edge
        .hub
        .read(realm, |realm| realm.published(Kind::Tool))
        .unwrap_or_default();
    let tools: Vec<_> = meta_tools::DEFINITIONS
        .iter()
        .chain(pages.iter().map(Definition::published))
        .collect();
    Ok(Json(json!({ "tools": tools })))
}

/// `GET /healthz`: the process runs and answers.
pub(super) async fn health() -> &'static str {
    "ok"
}

/// What is not there.
pub(super) async fn not_found(uri: Uri) -> Problem {
    Problem::new(
        ErrorCode::UnknownMethod,
        format!("there is no {}", uri.path()),
    )
}

/// `/` is the socket for pages of v1, the app's page for browsers, tells a plain GET what this is, and is MCP for the rest.
pub(super) async fn root(State(edge): State<Edge>, request: Request) -> Response {
    if page_socket::is_wanted(&request) {
        return page_socket::upgrade.call(request, edge).await;
    }
    let accept = request
        .headers()
        .get(ACCEPT)
        .and_then(|accept| accept.to_str().ok());
    let accepts = |media_type| accept.is_some_and(|accept| accept.contains(media_type));
    let reads = matches!(*request.method(), Method::GET | Method::HEAD);
    match edge.home.clone() {
        Some(home) if reads && accepts("text/html") => home.oneshot(request).await.into_response(),
        _ if reads && !accepts("text/event-stream") => about(&edge).into_response(),
        _ => crate::mcp::endpoint(State(edge), request).await,
    }
}

pub(super) fn about(edge: &Edge) -> Json<Value> {
    Json(edge.hub.config.about())
}
