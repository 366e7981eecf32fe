//! Whether a request is the lane's: the checks that rmcp makes, in the words of its sources
//! (`streamable_http_server/tower.rs`, `mcp_headers.rs`). Each failed one is rmcp's to answer.

use std::borrow::Cow;
use std::sync::Arc;

use bridge_protocol::{LogLevel, SessionId};
use http::header::{ACCEPT, AsHeaderName};
use http::request::Parts;
use http::{HeaderMap, HeaderName};
use rmcp::model::{ClientCapabilities, Implementation, LoggingLevel, ProtocolVersion};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::message::{Message, Meta, Params};
use crate::auth::{Principal, Scope};
use crate::http::Edge;
use crate::mcp::convert;
use crate::mcp::endpoint::session_of;
use crate::mcp::handler::SESSION_PIN;
use crate::mcp::known::{Known, Wishes, event_bytes};
use crate::mcp::session::Session;
use crate::mcp::session_choice::SessionChoice;

const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const NAME: HeaderName = HeaderName::from_static("mcp-name");

const MODERN: ProtocolVersion = ProtocolVersion::V_2026_07_28;

/// A request that passed the checks.
pub(super) struct Request<'a> {
    pub(super) edge: &'a Edge,
    pub(super) principal: &'a Principal,
    pub(super) id: &'a RawValue,
    pub(super) params: &'a Params<'a>,
    pub(super) known: Arc<Known>,
    /// The MCP session; MCP 2026-07-28 has none.
    pub(super) session: Option<Arc<Session>>,
    /// The client takes nothing but a stream of events.
    pub(super) events_only: bool,
    log_level: Option<LogLevel>,
    /// The page that it names.
    chosen: Option<SessionId>,
    event_bytes: Option<usize>,
}

impl<'a> Request<'a> {
    pub(super) fn of(
        edge: &'a Edge,
        parts: &'a Parts,
        message: &'a Message<'a>,
        principal: &'a Principal,
    ) -> Option<Self> {
        let (id, method) = (message.id?, message.method.as_deref()?);
        let (params, headers) = (&message.params, &parts.headers);
        let scope = match method {
            "tools/call" => Scope::ToolsCall,
            _ => Scope::ToolsRead,
        };
        // Another value than a text is rmcp's to refuse.
        let session = match params.meta.session {
            Some(session) => Some(text(session)?),
            None => None,
        };
        let is_id = matches!(id.get().as_bytes(), [b'"' | b'-' | b'0'..=b'9', ..]);
        // What an agent may see and call is decided elsewhere, and ends with its query.
        let is_agent = principal.query.is_some();
        if message.is_odd() || !is_id || is_agent || principal.needs(scope).is_err() {
            return None;
        }
        let bare = params.meta.bare_session.and_then(text);
        let chosen = SessionChoice {
            own: session.as_deref(),
            bare: bare.as_deref(),
            pin: headers.get(SESSION_PIN).and_then(|pin| pin.to_str().ok()),
        };
        let chosen = chosen.resolve(&edge.hub, principal.realm);
        let (known, session, log_level) = match params.meta.protocol_version {
            Some(version) => {
                let known = modern(edge, headers, method, params, version)?;
                let level = params.meta.log_level.and_then(log_level);
                (known, None, level)
            }
            None => {
                check_legacy_version(headers)?;
                let named = session_of(headers)?;
                let session = edge.mcp.sessions.of(principal.realm, named)?;
                let (known, level) = session.client()?;
                (known, Some(session), Some(level))
            }
        };
        Some(Self {
            edge,
            principal,
            id,
            params,
            known,
            session,
            events_only: takes_events_only(headers)?,
            log_level,
            chosen,
            event_bytes: event_bytes(headers),
        })
    }

    pub(super) fn is_modern(&self) -> bool {
        self.session.is_none()
    }

    pub(super) fn wishes(&self) -> Wishes {
        Wishes {
            session: self.chosen.clone(),
            progress: self.params.meta.progress_token.is_some(),
            log_level: self.log_level,
            event_bytes: self.event_bytes,
        }
    }
}

/// A request of MCP 2026-07-28: it says everything itself.
fn modern(
    edge: &Edge,
    headers: &HeaderMap,
    method: &str,
    params: &Params<'_>,
    version: &RawValue,
) -> Option<Arc<Known>> {
    let is_named = || Some(method == "tools/list" || only(headers, NAME)? == plain_name(params)?);
    let fits = text(version)? == MODERN.as_str()
        && headers.get(VERSION)?.to_str().ok()? == MODERN.as_str()
        && only(headers, METHOD)? == method
        && is_named()?;
    if !fits {
        return None;
    }
    let Meta {
        client_info: info,
        client_capabilities: declared,
        ..
    } = &params.meta;
    let declared = (*declared)?;
    let read = || {
        let capabilities: ClientCapabilities = serde_json::from_str(declared.get()).ok()?;
        let info = info.and_then(|info| serde_json::from_str::<Implementation>(info.get()).ok());
        let config = &edge.hub.config;
        let known = Known::new(config, info, Some(MODERN), Some(declared.to_owned()));
        Some(known.able_to(&capabilities))
    };
    let info = info.map_or("", RawValue::get);
    edge.mcp.recent.known(info, declared.get(), read)
}

/// A request in an MCP session names a revision that has sessions, or none.
fn check_legacy_version(headers: &HeaderMap) -> Option<()> {
    let Some(version) = headers.get(VERSION) else {
        return Some(());
    };
    let version = version.to_str().ok()?;
    let mut known = ProtocolVersion::KNOWN_VERSIONS.iter();
    let known = known.find(|known| known.as_str() == version)?;
    known.has_initialize().then_some(())
}

/// What `Mcp-Name` must be, where that needs no decoding.
fn plain_name<'a>(params: &Params<'a>) -> Option<Cow<'a, str>> {
    let name = text(params.name?)?;
    (!name.starts_with("=?base64?")).then_some(name)
}

/// The one value of a header.
fn only(headers: &HeaderMap, name: impl AsHeaderName) -> Option<&str> {
    let mut values = headers.get_all(name).iter();
    let only = values.next()?;
    values.next().is_none().then(|| only.to_str().ok())?
}

/// Whether it is a stream of events or nothing. Qualities are rmcp's to weigh.
fn takes_events_only(headers: &HeaderMap) -> Option<bool> {
    if !headers.contains_key(ACCEPT) {
        return Some(false);
    }
    let accept = only(headers, ACCEPT)?;
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

/// The text of a JSON string.
pub(super) fn text(raw: &RawValue) -> Option<Cow<'_, str>> {
    #[derive(Deserialize)]
    struct Text<'a>(#[serde(borrow)] Cow<'a, str>);
    serde_json::from_str(raw.get()).ok().map(|Text(text)| text)
}

fn log_level(raw: &RawValue) -> Option<LogLevel> {
    let level: LoggingLevel = serde_json::from_str(raw.get()).ok()?;
    Some(convert::log_level(level))
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[test]
    fn what_a_client_accepts_is_read_where_it_is_plain() {
        let accepts = |values: &[&'static str]| {
            let mut headers = HeaderMap::new();
            for value in values {
                headers.append(ACCEPT, HeaderValue::from_static(value));
            }
            takes_events_only(&headers)
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
