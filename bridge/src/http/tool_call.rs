//! `POST /tool-call`: calls a tool without MCP. The response is the result as JSON or, for a client
//! that accepts only that, an event stream, which proxies do not end while a call is silent.

mod events;
mod outcome;

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::request::Parts;
use axum::response::{IntoResponse, Response};
use bridge_auth::Scope;
use bridge_edge::ClientAddress;
use bridge_protocol::{
    CallContext, CallerTransport, CallingClient, ClientInfo, ErrorCode, SessionId,
};
use bridge_traces::RemoteContext;
use bytes::Bytes;
use http::header::USER_AGENT;
use http_body::Body;
use serde::Deserialize;
use serde_json::value::RawValue;

use self::outcome::{complete, encode};
use super::rest::json_body;
use crate::budget::{Delivery, Party};
use crate::calls::{self, Arguments, CallRequest, Recorded, RequestTrace};
use crate::mcp::{EncodedResponse, accepts_only_events};
use crate::web::body::read_to_end_limited;
use crate::web::{AppState, Problem, client_address};

/// The body of `POST /tool-call`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ToolCallBody {
    tool_name: String,
    #[serde(default)]
    tool_input: Option<Box<RawValue>>,
    #[serde(default)]
    session_id: Option<SessionId>,
}

/// A call that a client has requested.
struct RequestedCall {
    request: CallRequest<'static>,
    /// The body of the request, which counts for the memory of the caller while the call runs.
    body: Bytes,
}

/// Serves `POST /tool-call` behind the router.
pub(super) async fn route(State(state): State<AppState>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let address = client_address(&parts.extensions);
    serve(&state, &parts, body, address).await
}

/// Serves `POST /tool-call` with or without the router.
pub(super) async fn serve<B>(
    state: &AppState,
    parts: &Parts,
    body: B,
    address: ClientAddress,
) -> Response
where
    B: Body<Data = Bytes>,
    B::Error: Into<axum::BoxError>,
{
    let call = match read_request(state, parts, body, address).await {
        Ok(call) => call,
        Err(problem) => return problem.into_response(),
    };
    let RequestedCall { request, body } = call;
    if accepts_only_events(&parts.headers) == Some(true) {
        return events::serve(&state.hub, request, body).await;
    }
    let party = (request.caller.realm, address);
    // Boxed, because otherwise the future of every request would be as large as that of a call.
    let call = Box::pin(calls::call_tool(&state.hub, request));
    let Recorded { outcome, record } = call.await;
    let response = match complete(outcome) {
        Ok(result) => {
            let response = encode(&state.hub, party, result, [b"{", b"}"]).await;
            let EncodedResponse {
                json,
                lease,
                record,
                ..
            } = response.recorded(record);
            json_body(json, lease, record)
        }
        Err(problem) => {
            record.delivered();
            problem.into_response()
        }
    };
    drop(body);
    response
}

async fn read_request<B>(
    state: &AppState,
    parts: &Parts,
    body: B,
    address: ClientAddress,
) -> Result<RequestedCall, Problem>
where
    B: Body<Data = Bytes>,
    B::Error: Into<axum::BoxError>,
{
    let rules = state.authenticator.generation();
    let principal = state.authenticate(parts, address).await?;
    principal.require_scope(Scope::ToolsCall)?;
    let caller = Party::new(address, principal.realm);
    let (body, scan_turn) = read_to_end_limited(state, body, caller).await?;
    state.check_again(parts, address, rules).await?;
    // serde would read the fields of an array by their order.
    if body.trim_ascii_start().first() == Some(&b'[') {
        return Err(malformed_call("it is an array"));
    }
    let parsed: ToolCallBody =
        serde_json::from_slice(&body).map_err(|error| malformed_call(&error.to_string()))?;
    drop(scan_turn);
    let arguments = match parsed.tool_input {
        None => Arguments::default(),
        Some(input) if input.get().starts_with('{') => Arguments::from_raw(input),
        Some(_) => return Err(malformed_call("`toolInput` is not an object")),
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
        caller: calls::CallOptions {
            query_lifetime: state.agent_queries.lifetime_for(&principal),
            session: parsed.session_id,
            trace: RequestTrace::new(
                state.hub.traces(),
                || RemoteContext::from_headers(&parts.headers),
                None,
            ),
            call_context: CallContext {
                client: client.map(Arc::new),
                caller: Some(principal.caller(CallerTransport::Http)),
                query_id: principal.query.clone(),
                ..CallContext::default()
            },
            pages_awaited_until: calls::pages_awaited_until(&state.hub, principal.realm, false),
            ..calls::CallOptions::new(principal.realm, address, &events::SILENT_CLIENT)
        },
        tool: parsed.tool_name,
        arguments,
    };
    Ok(RequestedCall { request, body })
}

fn malformed_call(reason: &str) -> Problem {
    let message = format!(
        "the body must be {{\"toolName\": string, \"toolInput\": object, \"sessionId\": string?}}: \
         {reason}"
    );
    Problem::new(ErrorCode::ProtocolViolation, message)
}
