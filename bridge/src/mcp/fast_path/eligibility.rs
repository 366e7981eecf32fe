//! Whether the fast path takes a request: the checks that rmcp makes in
//! `streamable_http_server/tower.rs` and `mcp_headers.rs`. rmcp serves a request that fails one of
//! them, and reports the error.

use std::borrow::Cow;
use std::sync::Arc;

use bridge_auth::{Principal, Scope};
use bridge_protocol::{LogLevel, SessionId};
use bridge_service::ClientAddress;
use http::header::{ACCEPT, AsHeaderName};
use http::request::Parts;
use http::{HeaderMap, HeaderName};
use rmcp::model::{ClientCapabilities, Implementation, LoggingLevel, ProtocolVersion};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::message::{Message, Meta, Params};
use crate::mcp::convert;
use crate::mcp::headers::session_id_header;
use crate::mcp::requesting_client::{RequestOptions, RequestingClient, max_event_bytes};
use crate::mcp::service::McpService;
use crate::mcp::session::McpSession;
use crate::mcp::session_choice::{SESSION_PIN_HEADER, SessionChoice};

const PROTOCOL_VERSION_HEADER: HeaderName = HeaderName::from_static("mcp-protocol-version");
const METHOD_HEADER: HeaderName = HeaderName::from_static("mcp-method");
const NAME_HEADER: HeaderName = HeaderName::from_static("mcp-name");

const MODERN_VERSION: ProtocolVersion = ProtocolVersion::V_2026_07_28;

/// A request that has passed the checks.
pub(super) struct FastPathRequest<'a> {
    pub(super) mcp: &'a McpService,
    pub(super) principal: &'a Principal,
    /// The address of the client.
    address: ClientAddress,
    pub(super) id: &'a RawValue,
    pub(super) params: &'a Params<'a>,
    pub(super) client: Arc<RequestingClient>,
    /// The MCP session; MCP 2026-07-28 has none.
    pub(super) session: Option<Arc<McpSession>>,
    /// Whether the client accepts only an event stream.
    pub(super) events_only: bool,
    log_level: Option<LogLevel>,
    /// The page that the request selects.
    page_session: Option<SessionId>,
    max_event_bytes: Option<usize>,
}

impl<'a> FastPathRequest<'a> {
    /// Checks a request. Returns `None` for one that rmcp must serve.
    pub(super) fn try_new(
        mcp: &'a McpService,
        parts: &'a Parts,
        message: &'a Message<'a>,
        principal: &'a Principal,
        address: ClientAddress,
    ) -> Option<Self> {
        let (id, method) = (message.id?, message.method.as_deref()?);
        let (params, headers) = (&message.params, &parts.headers);
        let scope = match method {
            "tools/call" => Scope::ToolsCall,
            _ => Scope::ToolsRead,
        };
        // rmcp rejects a value that is not a string.
        let session = match params.meta.session {
            Some(session) => Some(json_string(session)?),
            None => None,
        };
        let is_id = matches!(id.get().as_bytes(), [b'"' | b'-' | b'0'..=b'9', ..]);
        // Requests with the token of a query have limits of their own, and end with the query.
        let is_agent = principal.query.is_some();
        if message.is_unsupported() || !is_id || is_agent || principal.require_scope(scope).is_err()
        {
            return None;
        }
        let bare_session = params.meta.bare_session.and_then(json_string);
        let page_session = SessionChoice {
            prefixed: session.as_deref(),
            bare: bare_session.as_deref(),
            pinned: headers
                .get(SESSION_PIN_HEADER)
                .and_then(|pin| pin.to_str().ok()),
        };
        let page_session = page_session.resolve(&mcp.state.hub, principal.realm);
        let (client, session, log_level) = match params.meta.protocol_version {
            Some(version) => {
                let client = modern_client(mcp, headers, method, params, version)?;
                let level = params.meta.log_level.and_then(parse_log_level);
                (client, None, level)
            }
            None => {
                check_legacy_version(headers)?;
                let session_id = session_id_header(headers)?;
                let session = mcp.sessions.get(principal.realm, session_id)?;
                let (client, level) = session.ready_client()?;
                (client, Some(session), Some(level))
            }
        };
        Some(Self {
            mcp,
            principal,
            id,
            params,
            client,
            session,
            events_only: accepts_only_events(headers)?,
            log_level,
            page_session,
            max_event_bytes: max_event_bytes(headers),
            address,
        })
    }

    /// Whether the request is of MCP 2026-07-28, which has no sessions.
    pub(super) fn is_modern(&self) -> bool {
        self.session.is_none()
    }

    pub(super) fn options(&self) -> RequestOptions {
        RequestOptions {
            address: self.address,
            query_lifetime: self.mcp.state.agent_queries.lifetime_for(self.principal),
            session: self.page_session.clone(),
            wants_progress: self.params.meta.progress_token.is_some(),
            log_level: self.log_level,
            max_event_bytes: self.max_event_bytes,
        }
    }
}

/// Returns the client of a request of MCP 2026-07-28, which contains all that is needed.
fn modern_client(
    mcp: &McpService,
    headers: &HeaderMap,
    method: &str,
    params: &Params<'_>,
    version: &RawValue,
) -> Option<Arc<RequestingClient>> {
    let is_named = || {
        Some(
            method == "tools/list"
                || single_header(headers, NAME_HEADER)? == expected_name_header(params)?,
        )
    };
    let headers_match = json_string(version)? == MODERN_VERSION.as_str()
        && headers.get(PROTOCOL_VERSION_HEADER)?.to_str().ok()? == MODERN_VERSION.as_str()
        && single_header(headers, METHOD_HEADER)? == method
        && is_named()?;
    if !headers_match {
        return None;
    }
    let Meta {
        client_info: info,
        client_capabilities: capabilities,
        ..
    } = &params.meta;
    let capabilities = (*capabilities)?;
    let parse = || {
        let parsed: ClientCapabilities = serde_json::from_str(capabilities.get()).ok()?;
        let info = info.and_then(|info| serde_json::from_str::<Implementation>(info.get()).ok());
        let config = &mcp.state.hub.config;
        let client = RequestingClient::new(
            config,
            info,
            Some(MODERN_VERSION),
            Some(capabilities.to_owned()),
        );
        Some(client.with_capabilities(&parsed))
    };
    let info = info.map_or("", RawValue::get);
    mcp.client_cache
        .get_or_parse(info, capabilities.get(), parse)
}

/// Checks that a request in an MCP session names a revision that has sessions, or none.
fn check_legacy_version(headers: &HeaderMap) -> Option<()> {
    let Some(version) = headers.get(PROTOCOL_VERSION_HEADER) else {
        return Some(());
    };
    let version = version.to_str().ok()?;
    let mut versions = ProtocolVersion::KNOWN_VERSIONS.iter();
    let versions = versions.find(|versions| versions.as_str() == version)?;
    versions.has_initialize().then_some(())
}

/// Returns the value that `Mcp-Name` must have, if it needs no decoding.
fn expected_name_header<'a>(params: &Params<'a>) -> Option<Cow<'a, str>> {
    let name = json_string(params.name?)?;
    (!name.starts_with("=?base64?")).then_some(name)
}

/// Returns the value of a header that occurs once.
fn single_header(headers: &HeaderMap, name: impl AsHeaderName) -> Option<&str> {
    let mut values = headers.get_all(name).iter();
    let only = values.next()?;
    values.next().is_none().then(|| only.to_str().ok())?
}

/// Whether the client accepts an event stream but no JSON body. `None` if `Accept` has another
/// form, such as one with quality values, which rmcp must evaluate.
fn accepts_only_events(headers: &HeaderMap) -> Option<bool> {
    if !headers.contains_key(ACCEPT) {
        return Some(false);
    }
    let accept = single_header(headers, ACCEPT)?;
    if accept.contains([';', '"']) {
        return None;
    }
    let mut types = accept.split(',').map(str::trim);
    if types
        .clone()
        .any(|it| matches!(it, "application/json" | "*/*"))
    {
        return Some(false);
    }
    types.any(|it| it == "text/event-stream").then_some(true)
}

/// Returns the text of a JSON string.
pub(super) fn json_string(raw: &RawValue) -> Option<Cow<'_, str>> {
    #[derive(Deserialize)]
    struct Text<'a>(#[serde(borrow)] Cow<'a, str>);
    serde_json::from_str(raw.get()).ok().map(|Text(text)| text)
}

fn parse_log_level(raw: &RawValue) -> Option<LogLevel> {
    let level: LoggingLevel = serde_json::from_str(raw.get()).ok()?;
    Some(convert::log_level(level))
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[test]
    fn accept_header_is_judged_only_in_plain_forms() {
        let accepts = |values: &[&'static str]| {
            let mut headers = HeaderMap::new();
            for value in values {
                headers.append(ACCEPT, HeaderValue::from_static(value));
            }
            accepts_only_events(&headers)
        };
        assert_eq!(accepts(&[]), Some(false));
        for both in [
            "*/*",
            "application/json",
            "application/json, text/event-stream",
            "text/event-stream,application/json",
            "text/html, */*",
        ] {
            assert_eq!(accepts(&[both]), Some(false), "{both}");
        }
        assert_eq!(accepts(&["text/event-stream"]), Some(true));
        for rmcp in [
            "text/html",
            "",
            "application/json;q=0, text/event-stream",
            "Application/JSON",
        ] {
            assert_eq!(accepts(&[rmcp]), None, "{rmcp}");
        }
        assert_eq!(accepts(&["application/json", "text/event-stream"]), None);
    }
}
