//! The MCP method `initialize`, which opens an MCP session (revisions before 2026-07-28), and how such a
//! session is restored.

use std::sync::Arc;

use axum::response::{IntoResponse, Response};
use bridge_auth::{Principal, RealmId};
use bridge_edge::ClientAddress;
use bridge_protocol::{ConnectedClient, ErrorCode};
use bridge_realm::realm::Refusal;
use http::{HeaderMap, HeaderValue, StatusCode};
use rmcp::ServerHandler;
use rmcp::model::{InitializeRequestParams, ProtocolVersion};
use serde_json::value::{RawValue, to_raw_value};

use super::headers::SESSION_ID;
use super::http_response::{single_event, single_response, with_guard};
use super::json_rpc_message::params_of;
use super::json_rpc_response::{EncodedResponse, encode_error, encode_result};
use super::message_reader::MessageReader;
use super::notifier::ClientNotifier;
use super::protocol_version::allow_initialize;
use super::requesting_client::RequestingClient;
use super::rmcp_handler::refusal_to_error;
use super::service::McpService;
use super::session::{ActivityGuard, McpSession};
use super::session_ids::SessionIds;
use crate::budget::{Party, PoolUse, RefusalKind};
use crate::hub::{Hub, NO_MEMORY_FOR_NEWCOMERS};
use crate::web::Problem;
use crate::web::session_pool::IDLE;

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
        return Some(no_memory().into_response());
    }
    let refuse = |error| single_response(encode_error(id, &error, false), false);
    let result = match mcp.handler.negotiate_initialize(&params) {
        Ok(result) => result,
        Err(error) => return Some(refuse(error)),
    };
    let session_id = match &principal.query {
        // Its token is not valid after a restart.
        Some(_) => SessionIds::create_unrestorable(),
        None => mcp
            .session_ids
            .create(principal.realm, &params, &result.protocol_version),
    };
    let party = Party::new(address, principal.realm);
    let (session, activity) = match open_session(mcp, &session_id, &party) {
        Ok(opened) => opened,
        Err(problem) => return Some(problem.into_response()),
    };
    if let Err(error) = connect(mcp, headers, &session, params, &result.protocol_version) {
        mcp.sessions.end(&session, "its client was refused");
        return Some(refuse(error));
    }
    session.log_opened(&mcp.state.hub.lifecycle, principal.sub.as_ref());
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
    let initialized = params_of(body).and_then(|params: InitializeRequestParams| {
        let result = mcp.handler.negotiate_initialize(&params)?;
        let version = &result.protocol_version;
        mcp.session_ids
            .client_replaced(session.realm(), session.id(), &params, version);
        connect(mcp, headers, session, params, version)?;
        Ok(result)
    });
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
    version: &ProtocolVersion,
) -> Result<(), rmcp::ErrorData> {
    let hub = &mcp.state.hub;
    let client = describe_client(hub, headers, session, params, version);
    let _activity = session.begin_activity();
    // A client that initialises again is still one client.
    session.set_notifier(None);
    let address = session.party().address;
    let connected = mcp
        .sessions
        .connect_client(hub, session.realm(), address, &client);
    session.set_notifier(connected.map_err(refusal_to_error)?);
    Ok(())
}

/// Sets the client of a session, and returns its description for pages.
fn describe_client(
    hub: &Hub,
    headers: &HeaderMap,
    session: &McpSession,
    params: InitializeRequestParams,
    version: &ProtocolVersion,
) -> ConnectedClient {
    let capabilities = to_raw_value(&params.capabilities).ok();
    let client = RequestingClient::new(
        &hub.config,
        MessageReader::from_headers(headers),
        Some(params.client_info),
        Some(version.clone()),
        capabilities,
    );
    let connected = client.connected_client();
    session.set_client(client);
    connected
}

/// Connects the client of a session to its realm if there was no place before. There is one once its
/// page is connected.
pub(super) fn connect_if_unconnected(mcp: &McpService, session: &McpSession) {
    if let Some(client) = session.unconnected_client() {
        let (hub, address) = (&mcp.state.hub, session.party().address);
        let client = client.connected_client();
        let connected = ClientNotifier::connect(hub, session.realm(), address, client);
        if let Ok(Some(notifier)) = connected {
            session.set_notifier(Some(notifier));
        }
    }
}

/// Restores the session of an id that this bridge, or one before it, has given to a client of this
/// realm. Returns `None` if the id is not such a one, or its client has ended the session.
///
/// A session that had ended because it was idle, or made room, is restored as well: its client does not
/// know that. But no other of its token makes room for it. Otherwise clients beyond a limit would evict
/// each other with every request. At `max_clients`, the client gets 404, and can open a new session,
/// which may evict an idle one.
///
/// # Errors
///
/// When the bridge is full, or its memory is used up.
pub(super) fn restore(
    mcp: &McpService,
    headers: &HeaderMap,
    principal: &Principal,
    address: ClientAddress,
    id: &str,
) -> Result<Option<Arc<McpSession>>, Problem> {
    let (hub, realm) = (&mcp.state.hub, principal.realm);
    let Some(former) = mcp.session_ids.open(realm, id) else {
        return Ok(None);
    };
    let restored = mcp.session_ids.unless_ended(&former, || {
        // Another request of the client may have restored it.
        if let Some(session) = mcp.sessions.get(realm, id) {
            return Ok(session);
        }
        if hub.budgets.memory.is_scarce() {
            return Err(no_memory());
        }
        let party = Party::new(address, realm);
        let session = McpSession::new(id.into(), party).continue_former();
        // It may have expired, and still be there.
        mcp.sessions.end(&session, IDLE);
        let version = former.params.protocol_version.clone();
        let client = describe_client(hub, headers, &session, former.params.clone(), &version);
        let notifier = ClientNotifier::connect(hub, realm, address, client);
        session.set_notifier(notifier.map_err(not_restored)?);
        let added = mcp.sessions.add_restored(session);
        added
            .inspect(|session| session.log_opened(&hub.lifecycle, principal.sub.as_ref()))
            .map_err(|used| too_many_sessions(&used, &party))
    });
    restored.transpose()
}

/// The response to a client that its realm refuses: because of `max_clients`, or because its user was
/// denied since the token was checked.
fn not_restored(refusal: Refusal) -> Problem {
    let mut problem = Problem::new(refusal.code, refusal.message);
    if problem.code == ErrorCode::SessionLimitExceeded {
        problem = problem.refusing(RefusalKind::MaxClients);
        problem.status = StatusCode::NOT_FOUND;
    }
    problem
}

fn no_memory() -> Problem {
    Problem::new(ErrorCode::MemoryLimitExceeded, NO_MEMORY_FOR_NEWCOMERS)
}

fn too_many_sessions(used: &PoolUse, party: &Party<RealmId>) -> Problem {
    let message = format!(
        "{} MCP sessions are open, which is the limit, {} of them from {} and {} with this token; \
         none of those is idle, and nobody has many more: close some clients, or raise \
         `max_mcp_sessions`",
        used.capacity, used.by_address, party.address, used.by_party
    );
    Problem::new(ErrorCode::SessionLimitExceeded, message).refusing(RefusalKind::MaxMcpSessions)
}

/// Opens the session for a request. At the limit of the token, its session that has been idle for
/// longest is evicted, and at the limit of all sessions one of the parties with the most.
fn open_session(
    mcp: &McpService,
    id: &Arc<str>,
    party: &Party<RealmId>,
) -> Result<(Arc<McpSession>, ActivityGuard), Problem> {
    let hub = &mcp.state.hub;
    let max_clients = hub.config.mcp_sessions.max_clients;
    let room = mcp
        .sessions
        .make_room_for_client(hub, party.member, max_clients);
    room.map_err(|clients| {
        let message = format!(
            "{clients} clients are connected with this token, which is the limit, and none of \
             them is idle: close some, or raise `max_clients`"
        );
        Problem::new(ErrorCode::SessionLimitExceeded, message).refusing(RefusalKind::MaxClients)
    })?;
    let opened = mcp.sessions.open(id, party);
    opened.map_err(|used| too_many_sessions(&used, party))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::budget::RefusalRecord;

    #[test]
    fn a_denied_user_is_not_refused_because_of_a_limit() {
        for (code, status, kind) in [
            (
                ErrorCode::SessionLimitExceeded,
                StatusCode::NOT_FOUND,
                RefusalKind::MaxClients,
            ),
            (
                ErrorCode::AccessDenied,
                StatusCode::FORBIDDEN,
                RefusalKind::AccessDenied,
            ),
        ] {
            let message = "why".to_owned();
            let response = not_restored(Refusal { code, message }).into_response();
            let record = response.extensions().get::<RefusalRecord>().unwrap();
            assert_eq!((response.status(), record.kind), (status, kind));
        }
    }
}
