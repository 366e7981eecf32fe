//! A client as its requests show it, whatever leg they take: who it is, what it can take, and what
//! a page's handler may know of it.

use std::sync::Arc;

use bridge_protocol::{CallContext, CallingClient, ClientLimits, LogLevel, SessionId, Via};
use http::HeaderMap;
use http::header::USER_AGENT;
use rmcp::model::{ClientCapabilities, Implementation, ProtocolVersion};
use serde_json::value::RawValue;

use super::convert;
use crate::auth::Principal;
use crate::calls::{Caller, Client, Takes};
use crate::config::{Config, Profile, TextCount};

/// See the module documentation.
#[derive(Debug)]
pub(super) struct Known {
    calling: Arc<CallingClient>,
    profile: Profile,
    text_count: TextCount,
    knows_links: bool,
    knows_priming_events: bool,
    can_be_asked: bool,
}

/// httpx2 reads no event with more bytes than 1 MiB, its lines' ends aside (`max_sse_event_size`), and
/// the Python SDK 2 is built on it. What the event has beside the answer is [`ENVELOPE_BYTES`].
const HTTPX2_EVENT_BYTES: usize = 1024 * 1024;

/// How the product token of its `User-Agent` begins.
const HTTPX2_AGENT: &str = "python-httpx2/";

/// The longest event that the client behind a request reads, as far as is known.
pub(super) fn event_bytes(headers: &HeaderMap) -> Option<usize> {
    let agent = headers.get(USER_AGENT)?.to_str().ok()?;
    agent
        .starts_with(HTTPX2_AGENT)
        .then_some(HTTPX2_EVENT_BYTES)
}

/// What one request says beside what it asks for.
pub(super) struct Wishes {
    /// The session that the request or the client's pin names.
    pub(super) session: Option<SessionId>,
    /// The client wants to hear of progress.
    pub(super) progress: bool,
    pub(super) log_level: Option<LogLevel>,
    /// What an answer may have that goes out as an event of a stream.
    pub(super) event_bytes: Option<usize>,
}

impl Known {
    /// `declared`: its capabilities, as a page hears them.
    pub(super) fn new(
        config: &Config,
        info: Option<Implementation>,
        version: Option<ProtocolVersion>,
        declared: Option<Box<RawValue>>,
    ) -> Self {
        let name = info.as_ref().map_or("", |info| info.name.as_str());
        let text_count = TextCount::of(name);
        let profile = config.profiles.of(name);
        let bytes = config.results.max_client_result_bytes;
        let profile = Profile {
            max_result_bytes: profile.max_result_bytes.or(Some(bytes)),
            ..profile
        };
        let limits = ClientLimits {
            max_result_bytes: profile.max_result_bytes,
            max_image_edge: profile.max_image_edge,
        };
        let calling = CallingClient {
            info: info.map_or_else(convert::unknown_client, convert::client_info),
            protocol_version: version.as_ref().map(ToString::to_string),
            capabilities: declared,
            limits: Some(limits),
        };
        Self {
            calling: Arc::new(calling),
            profile,
            text_count,
            // `resource_link` blocks came with MCP 2025-06-18. Who names no revision is newer.
            knows_links: version
                .as_ref()
                .is_none_or(|version| version.as_str() >= ProtocolVersion::V_2025_06_18.as_str()),
            can_be_asked: false,
            // Older clients read the empty data of such an event as a message, and fail.
            knows_priming_events: version
                .is_some_and(|version| version.as_str() >= ProtocolVersion::V_2025_11_25.as_str()),
        }
    }

    /// Whether its capabilities have something that a page can ask for.
    pub(super) fn able_to(mut self, capabilities: &ClientCapabilities) -> Self {
        self.can_be_asked = capabilities.sampling.is_some()
            || capabilities.elicitation.is_some()
            || capabilities.roots.is_some();
        self
    }

    /// Whether a stream of events may begin with one that has no data (MCP 2025-11-25, "Sending
    /// Messages to the Server").
    pub(super) fn knows_priming_events(&self) -> bool {
        self.knows_priming_events
    }

    /// What each tool without a number of its own must say in its `_meta`, see
    /// [`TextCount::to_publish`].
    pub(super) fn result_size_to_publish(&self) -> Option<usize> {
        self.text_count.to_publish(self.profile.max_text_chars)
    }

    pub(super) fn can_be_asked(&self) -> bool {
        self.can_be_asked
    }

    /// The caller of a tool: it waits as long as the client does.
    pub(super) fn tool_caller<'a>(
        &self,
        principal: &Principal,
        wishes: Wishes,
        client: &'a dyn Client,
    ) -> Caller<'a> {
        let event_bytes = wishes.event_bytes;
        let mut caller = self.caller(principal, wishes, client);
        caller.takes.bytes = self.profile.max_result_bytes;
        caller.takes.event_bytes = event_bytes;
        caller.takes.patience = self.profile.patience;
        caller
    }

    pub(super) fn caller<'a>(
        &self,
        principal: &Principal,
        wishes: Wishes,
        client: &'a dyn Client,
    ) -> Caller<'a> {
        Caller {
            realm: principal.realm,
            session: wishes.session,
            context: CallContext {
                client: Some(Arc::clone(&self.calling)),
                caller: Some(principal.caller(Via::Mcp)),
                log_level: wishes.log_level,
                progress: wishes.progress,
                timeout_ms: None,
                query_id: principal.query.clone(),
                sent_ms: None,
            },
            client,
            takes: Takes {
                // Answers to other requests than calls are events.
                bytes: match (self.profile.max_result_bytes, wishes.event_bytes) {
                    (Some(bytes), Some(event)) => Some(bytes.min(event)),
                    (bytes, event) => bytes.or(event),
                },
                event_bytes: None,
                text_chars: self.profile.max_text_chars,
                text_count: self.text_count,
                // The token of a query reads no resources.
                links: self.knows_links && principal.query.is_none(),
                patience: None,
            },
            answers: Vec::new(),
            resumes: None,
        }
    }
}
