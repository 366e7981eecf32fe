//! The checks of a request before it is served: those that rmcp makes in
//! `streamable_http_server/tower.rs` and `mcp_headers.rs`. rmcp rejects a request that fails one of
//! them, and describes the error.

use std::borrow::Cow;
use std::sync::Arc;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use bridge_auth::Principal;
use bridge_edge::ClientAddress;
use bridge_protocol::{LogLevel, SessionId};
use bridge_traces::RemoteContext;
use http::HeaderMap;
use rmcp::ErrorData;
use rmcp::model::{ClientCapabilities, Implementation, LoggingLevel, ProtocolVersion};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use tokio::time::Instant;

use super::accept_header::accepts_only_events;
use super::headers::{METHOD, NAME, RECONNECTED, session_id_header, single_header};
use super::initialize;
use super::json_rpc_message::{Params, json_string};
use super::message_reader::MessageReader;
use super::protocol_version::{MODERN_VERSION, has_sessions, known_version, protocol_version};
use super::requesting_client::{RequestOptions, RequestingClient};
use super::rmcp_conversions;
use super::service::McpService;
use super::session::McpSession;
use super::session_choice::{SESSION_NOT_STRING_MESSAGE, SESSION_PIN_HEADER, SessionChoice};
use crate::calls::{self, RequestTrace};
use crate::web::Problem;

/// The maximum size of the JSON of each member of `_meta` that describes a trace. The longest valid one
/// is a baggage of 8,192 bytes.
const MAX_TRACE_JSON_BYTES: usize = 16 * 1024;

/// A request that has passed the checks.
pub(super) struct CheckedRequest<'a> {
    pub(super) mcp: &'a McpService,
    pub(super) principal: &'a Principal,
    /// The address of the client.
    pub(super) address: ClientAddress,
    pub(super) headers: &'a HeaderMap,
    pub(super) id: &'a RawValue,
    pub(super) params: &'a Params<'a>,
    pub(super) client: Arc<RequestingClient>,
    /// The MCP session, if the client uses one.
    pub(super) session: Option<Arc<McpSession>>,
    /// Whether the request is of MCP 2026-07-28 or later.
    pub(super) is_modern: bool,
    /// Whether the headers were of an older revision, which has none for arguments.
    pub(super) has_older_headers: bool,
    /// Whether the client accepts only an event stream.
    pub(super) events_only: bool,
    log_level: Option<LogLevel>,
    /// Until when the request waits for pages that were there before, if at all.
    pub(super) pages_awaited_until: Option<Instant>,
}

impl<'a> CheckedRequest<'a> {
    /// Checks a request with this id and method, whose message is well-formed.
    pub(super) fn try_new(
        mcp: &'a McpService,
        headers: &'a HeaderMap,
        (id, method): (&'a RawValue, &str),
        params: &'a Params<'a>,
        principal: &'a Principal,
        address: ClientAddress,
        has_older_headers: bool,
    ) -> Result<Self, Refused> {
        let events_only = accepts_only_events(headers).ok_or(Refused::ByRmcp)?;
        let version = params.meta.protocol_version.and_then(json_string);
        let client = stateless_client(mcp, headers, method, params, version.as_deref())?;
        let (client, session, log_level) = match client {
            Some(client) => {
                let level = params.meta.log_level.and_then(parse_log_level);
                (client, None, level)
            }
            None => {
                let session = find_session(mcp, headers, principal, address)?;
                let (client, level) = session.client().ok_or(Refused::SessionNotFound)?;
                (client, Some(session), Some(level))
            }
        };
        let hub = &mcp.state.hub;
        let is_from_before = headers.contains_key(RECONNECTED)
            || session.as_ref().is_some_and(|it| it.is_restored());
        let pages_awaited_until = calls::pages_awaited_until(hub, principal.realm, is_from_before);
        Ok(Self {
            mcp,
            principal,
            pages_awaited_until,
            address,
            headers,
            id,
            params,
            client,
            session,
            is_modern: version.is_some_and(|version| version == MODERN_VERSION.as_str()),
            has_older_headers,
            events_only,
            log_level,
        })
    }

    /// Waits for the page with the bare id that a call or a read selects, if pages are awaited. Before
    /// it has registered, its id looks like that of a conversation, and the call would go to any page.
    pub(super) async fn wait_for_bare_session(&self, method: &str) {
        const METHODS: [&str; 4] = [
            "completion/complete",
            "prompts/get",
            "resources/read",
            "tools/call",
        ];
        if !METHODS.contains(&method) {
            return;
        }
        let meta = &self.params.meta;
        let bare = meta.bare_session.filter(|_| meta.session.is_none());
        if let Some(until) = self.pages_awaited_until
            && let Some(bare) = bare.and_then(json_string)
        {
            let (hub, realm) = (&self.mcp.state.hub, self.principal.realm);
            calls::wait_for_bare_session(hub, realm, Some(until), &(&*bare).into()).await;
        }
    }

    /// Returns the options for a call. The error is of a page that is not selected as it should be.
    pub(super) fn options(&self) -> Result<RequestOptions, ErrorData> {
        Ok(RequestOptions {
            address: self.address,
            query_lifetime: self.mcp.state.agent_queries.lifetime_for(self.principal),
            session: self.page_session()?,
            wants_progress: self.progress_token().is_some(),
            log_level: self.log_level,
            pages_awaited_until: self.pages_awaited_until,
            max_event_bytes: self.reader().max_event_bytes(),
            trace: RequestTrace::new(
                self.mcp.state.hub.traces(),
                || self.remote_context(),
                Some(self.id),
            ),
        })
    }

    /// Returns the trace of the client: that of the request, or of its transport.
    fn remote_context(&self) -> Option<RemoteContext> {
        let meta = &self.params.meta;
        let [traceparent, tracestate, baggage] =
            [meta.traceparent, meta.tracestate, meta.baggage].map(trace_text);
        let context = RemoteContext::parse(
            traceparent.as_deref(),
            tracestate.as_deref(),
            baggage.as_deref(),
        );
        context.or_else(|| RemoteContext::from_headers(self.headers))
    }

    /// Returns the reader of the response.
    pub(super) fn reader(&self) -> MessageReader {
        MessageReader::from_headers(self.headers)
    }

    /// Returns the arguments, if there are any.
    pub(super) fn arguments(&self) -> Option<&'a RawValue> {
        let arguments = self.params.arguments;
        arguments.filter(|arguments| arguments.get() != "null")
    }

    /// Returns the progress token, if it is valid in MCP: a string or an integer.
    pub(super) fn progress_token(&self) -> Option<&'a RawValue> {
        let token = self.params.meta.progress_token?;
        let text = token.get();
        (text.starts_with('"') || text.parse::<i64>().is_ok()).then_some(token)
    }

    /// Returns the page that the request selects.
    fn page_session(&self) -> Result<Option<SessionId>, ErrorData> {
        let meta = &self.params.meta;
        let not_string = || ErrorData::invalid_params(SESSION_NOT_STRING_MESSAGE, None);
        let prefixed = meta
            .session
            .map(|it| json_string(it).ok_or_else(not_string));
        let (prefixed, bare) = (
            prefixed.transpose()?,
            meta.bare_session.and_then(json_string),
        );
        let pinned = self.headers.get(SESSION_PIN_HEADER);
        let choice = SessionChoice {
            prefixed: prefixed.as_deref(),
            bare: bare.as_deref(),
            pinned: pinned.and_then(|pin| pin.to_str().ok()),
        };
        Ok(choice.resolve(&self.mcp.state.hub, self.principal.realm))
    }
}

/// How a request is refused.
#[derive(Debug)]
pub(super) enum Refused {
    /// rmcp rejects it and describes the error.
    ByRmcp,
    /// The MCP session has ended, or belongs to another token.
    SessionNotFound,
    /// The MCP session cannot be restored now.
    NotRestored(Box<Problem>),
}

/// Returns the session to which a message belongs, and restores it if it was open before a restart.
pub(super) fn find_session(
    mcp: &McpService,
    headers: &HeaderMap,
    principal: &Principal,
    address: ClientAddress,
) -> Result<Arc<McpSession>, Refused> {
    let id = session_id(headers)?;
    if let Some(session) = mcp.sessions.get(principal.realm, id) {
        initialize::connect_if_unconnected(mcp, &session);
        return Ok(session);
    }
    let restored = initialize::restore(mcp, headers, principal, address, id);
    let restored = restored.map_err(|problem| Refused::NotRestored(Box::new(problem)))?;
    restored.ok_or(Refused::SessionNotFound)
}

/// Returns the id of the session to which a message belongs.
pub(super) fn session_id(headers: &HeaderMap) -> Result<&str, Refused> {
    let names_known_version = protocol_version(headers).is_none_or(has_sessions);
    let id = session_id_header(headers).filter(|_| names_known_version);
    id.ok_or(Refused::ByRmcp)
}

/// Returns the client of a request that contains all that is needed: each of MCP 2026-07-28, and one of
/// an older revision that describes its client in the same way. Returns `None` for a request to a
/// session.
fn stateless_client(
    mcp: &McpService,
    headers: &HeaderMap,
    method: &str,
    params: &Params<'_>,
    version: Option<&str>,
) -> Result<Option<Arc<RequestingClient>>, Refused> {
    let Some(version) = version else {
        return Ok(None);
    };
    let known = known_version(version).filter(|_| protocol_version(headers) == Some(version));
    let known = known.ok_or(Refused::ByRmcp)?;
    let reader = MessageReader::from_headers(headers);
    if *known != MODERN_VERSION {
        return Ok(parse_client(mcp, reader, params, known.clone()).map(Arc::new));
    }
    let is_named =
        single_header(headers, METHOD) == Some(method) && is_named(headers, method, params);
    let capabilities = params.meta.client_capabilities.map_or("", RawValue::get);
    let info = params.meta.client_info.map_or("", RawValue::get);
    let parse = || parse_client(mcp, reader, params, MODERN_VERSION);
    let cache = &mcp.client_cache;
    let client = cache.get_or_parse(reader, info, capabilities, parse);
    match client.filter(|_| is_named) {
        Some(client) => Ok(Some(client)),
        None => Err(Refused::ByRmcp),
    }
}

/// Parses the description of a client in `_meta`. Returns `None` if its capabilities are missing or
/// malformed.
fn parse_client(
    mcp: &McpService,
    reader: MessageReader,
    params: &Params<'_>,
    version: ProtocolVersion,
) -> Option<RequestingClient> {
    let capabilities = params.meta.client_capabilities?;
    let parsed: Value = serde_json::from_str(capabilities.get()).ok()?;
    ClientCapabilities::deserialize(&parsed).ok()?;
    let info = params.meta.client_info;
    let info = info.and_then(|info| serde_json::from_str::<Implementation>(info.get()).ok());
    let config = &mcp.state.hub.config;
    let (version, capabilities) = (Some(version), Some(capabilities.to_owned()));
    let client = RequestingClient::new(config, reader, info, version, capabilities);
    Some(client)
}

/// Whether `Mcp-Name` is the name of what the request calls (SEP-2243).
fn is_named(headers: &HeaderMap, method: &str, params: &Params<'_>) -> bool {
    let Some(name) = params.target(method).and_then(json_string) else {
        return true;
    };
    let header = single_header(headers, NAME);
    header.and_then(decode_header).is_some_and(|it| it == name)
}

/// Returns the text of a header's value, which may be in Base64 (SEP-2243).
pub(super) fn decode_header(value: &str) -> Option<Cow<'_, str>> {
    let encoded = value
        .strip_prefix("=?base64?")
        .and_then(|value| value.strip_suffix("?="));
    let Some(encoded) = encoded else {
        return Some(value.into());
    };
    let bytes = BASE64_STANDARD.decode(encoded).ok()?;
    Some(String::from_utf8(bytes).ok()?.into())
}

/// Returns a text of a trace. One that is too long is ignored, like one of another form.
fn trace_text(raw: Option<&RawValue>) -> Option<Cow<'_, str>> {
    let short = raw.filter(|raw| raw.get().len() <= MAX_TRACE_JSON_BYTES);
    short.and_then(json_string)
}

fn parse_log_level(raw: &RawValue) -> Option<LogLevel> {
    let level: LoggingLevel = serde_json::from_str(raw.get()).ok()?;
    Some(rmcp_conversions::log_level(level))
}
