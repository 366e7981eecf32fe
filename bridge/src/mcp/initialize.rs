//! The MCP method `initialize`, which opens an MCP session (revisions before 2026-07-28).

use std::sync::Arc;

use axum::response::{IntoResponse, Response};
use bridge_auth::{Principal, RealmId};
use bridge_edge::ClientAddress;
use bridge_protocol::ErrorCode;
use http::{HeaderMap, HeaderValue};
use rmcp::ServerHandler;
use rmcp::model::{InitializeRequestParams, InitializeResult};
use serde_json::value::{RawValue, to_raw_value};

use super::headers::SESSION_ID;
use super::http_response::{single_event, single_response, with_guard};
use super::json_rpc_message::params_of;
use super::json_rpc_response::{EncodedResponse, encode_error, encode_result};
use super::message_reader::MessageReader;
use super::protocol_version::allow_initialize;
use super::requesting_client::RequestingClient;
use super::rmcp_conversions;
use super::rmcp_handler::refusal_to_error;
use super::service::McpService;
use super::session::{ActivityGuard, McpSession};
use crate::budget::{Party, RefusalKind};
use crate::hub::NO_MEMORY_FOR_NEWCOMERS;
use crate::web::Problem;

/// Opens a session. Returns `None` for a request that rmcp must refuse.
pub(super) fn serve(
    mcp: &McpService,
    headers: &HeaderMap,
    id: &RawValue,
    body: &[u8],
    principal: &Principal,
    address: ClientAddress,
) -> Option<Response> {
    let params: InitializeRequestParams = params_of(body).ok()?;
    if !allow_initialize(headers) {
        return None;
    }
    if mcp.state.hub.budgets.memory.is_scarce() {
        let code = ErrorCode::MemoryLimitExceeded;
        return Some(Problem::new(code, NO_MEMORY_FOR_NEWCOMERS).into_response());
    }
    let party = Party::new(address, principal.realm);
    let (session, activity) = match open_session(mcp, &party) {
        Ok(opened) => opened,
        Err(problem) => return Some(problem.into_response()),
    };
    let result = match connect(mcp, headers, &session, params) {
        Ok(result) => result,
        Err(error) => {
            mcp.sessions.end(&session);
            let response = encode_error(id, &error, false);
            return Some(single_response(response, false));
        }
    };
    let query = principal.query.as_ref();
    let lifetime = query.and_then(|query| mcp.state.agent_queries.lifetime_of(query));
    if let Some(lifetime) = lifetime {
        mcp.end_session_with_query(lifetime, &session);
    }
    // A session is not idle before the client has read its first response.
    let mut response = with_guard(single_event(encode_result(id, &result)), activity);
    let value = HeaderValue::from_str(session.id()).ok()?;
    response.headers_mut().insert(SESSION_ID, value);
    Some(response)
}

/// Serves the request in a session that is open: its client is replaced.
pub(super) fn serve_again(
    mcp: &McpService,
    headers: &HeaderMap,
    session: &Arc<McpSession>,
    id: &RawValue,
    body: &[u8],
) -> EncodedResponse {
    let initialized = params_of(body).and_then(|params| connect(mcp, headers, session, params));
    match initialized {
        Ok(result) => encode_result(id, &result),
        Err(error) => encode_error(id, &error, false),
    }
}

/// Connects the client of a session to its realm.
fn connect(
    mcp: &McpService,
    headers: &HeaderMap,
    session: &Arc<McpSession>,
    params: InitializeRequestParams,
) -> Result<InitializeResult, rmcp::ErrorData> {
    let hub = &mcp.state.hub;
    let result = mcp.handler.negotiate_initialize(&params)?;
    let version = Some(result.protocol_version.clone());
    let capabilities = to_raw_value(&params.capabilities).ok();
    let info = Some(params.client_info);
    let client = RequestingClient::new(
        &hub.config,
        MessageReader::from_headers(headers),
        info.clone(),
        version.clone(),
        capabilities,
    );
    session.set_client(client);
    let _activity = session.begin_activity();
    // A client that initialises again is still one client.
    session.set_notifier(None);
    let client = rmcp_conversions::connected_client(info, version);
    let address = session.party().address;
    let connected = mcp
        .sessions
        .connect_client(hub, session.realm(), address, &client);
    session.set_notifier(connected.map_err(refusal_to_error)?);
    Ok(result)
}

/// Opens the session for a request. At the limit of the token, its session that has been idle for
/// longest is evicted, and at the limit of all sessions one of the parties with the most.
fn open_session(
    mcp: &McpService,
    party: &Party<RealmId>,
) -> Result<(Arc<McpSession>, ActivityGuard), Problem> {
    let hub = &mcp.state.hub;
    let too_many =
        |kind, message| Problem::new(ErrorCode::SessionLimitExceeded, message).refusing(kind);
    let max_clients = hub.config.mcp_sessions.max_clients;
    let room = mcp
        .sessions
        .make_room_for_client(hub, party.member, max_clients);
    room.map_err(|clients| {
        let message = format!(
            "{clients} clients are connected with this token, which is the limit, and none of \
             them is idle: close some, or raise `max_clients`"
        );
        too_many(RefusalKind::MaxClients, message)
    })?;
    mcp.sessions.open(party).map_err(|used| {
        let message = format!(
            "{} MCP sessions are open, which is the limit, {} of them from {} and {} with this \
             token; none of those is idle, and nobody has many more: close some clients, or raise \
             `max_mcp_sessions`",
            used.capacity, used.by_address, party.address, used.by_party
        );
        too_many(RefusalKind::MaxMcpSessions, message)
    })
}
