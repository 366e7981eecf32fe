//! A session: one tab. It outlives its connections.

use std::sync::Arc;
use std::time::Instant;

use bridge_protocol::{CallId, ErrorCode, PageState, RegistrationFailure, SessionId, Visibility};
use chrono::{DateTime, SecondsFormat};
use indexmap::{IndexMap, IndexSet};
use serde::Serialize;

use super::deadlines::Deadline;
use super::{ConnectionId, Now, RealmLimits};
use crate::tool::Tool;

/// What a page says of itself when it connects, and what its socket says of it.
#[derive(Clone, Debug)]
pub(crate) struct PageHello {
    pub(crate) session: SessionId,
    pub(crate) name: Option<String>,
    /// The `Origin` header; absent for pages outside a browser.
    pub(crate) origin: Option<String>,
    pub(crate) page_title: Option<String>,
    /// The name of the app that the page belongs to.
    pub(crate) app: Option<String>,
}

/// What a page says of itself is shown to people and models, and kept: so much of each text.
const SHOWN_CHARS: usize = 256;

impl PageHello {
    fn shortened(self) -> Self {
        Self {
            name: self.name.map(shortened),
            page_title: self.page_title.map(shortened),
            app: self.app.map(shortened),
            ..self
        }
    }
}

fn shortened(text: String) -> String {
    match text.char_indices().nth(SHOWN_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

/// Whether the page can be reached.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Phase {
    /// A socket is open.
    Connected {
        connection: ConnectionId,
        heartbeat_due: Instant,
        /// The last heartbeat sent.
        sequence: u64,
        /// The last heartbeat answered.
        answered: u64,
    },
    /// The connection broke; tools stay listed and calls wait until then.
    Away { until: Instant },
}

impl Phase {
    pub(super) fn connection(&self) -> Option<ConnectionId> {
        match self {
            Phase::Connected { connection, .. } => Some(*connection),
            Phase::Away { .. } => None,
        }
    }

    pub(super) fn deadline(&self, id: &SessionId) -> (Instant, Deadline) {
        let at = match self {
            Phase::Connected { heartbeat_due, .. } => *heartbeat_due,
            Phase::Away { until } => *until,
        };
        (at, Deadline::Session(id.clone()))
    }
}

/// A tool of this session and the number of the registration that brought it.
#[derive(Debug)]
pub(super) struct SessionTool {
    pub(super) definition: Arc<Tool>,
    pub(super) registration: u64,
}

#[derive(Debug)]
pub(crate) struct Session {
    hello: PageHello,
    pub(super) phase: Phase,
    pub(super) tools: IndexMap<String, SessionTool>,
    pub(super) calls: IndexSet<CallId>,
    /// The tools are those of a former connection; the next registration replaces them.
    tools_are_former: bool,
    visibility: Option<Visibility>,
    focused: bool,
    connected_at_ms: u64,
    pub(super) last_activity_ms: u64,
}

impl Session {
    pub(super) fn new(hello: PageHello, phase: Phase, now: Now) -> Self {
        Self {
            hello: hello.shortened(),
            phase,
            tools: IndexMap::new(),
            calls: IndexSet::new(),
            tools_are_former: false,
            visibility: None,
            focused: false,
            connected_at_ms: now.unix_ms,
            last_activity_ms: now.unix_ms,
        }
    }

    /// The page is back on a new connection.
    pub(super) fn came_back(&mut self, hello: PageHello, now: Now) {
        self.hello = hello.shortened();
        self.tools_are_former = true;
        self.last_activity_ms = now.unix_ms;
    }

    pub(super) fn state_changed(&mut self, state: PageState, now: Now) {
        self.visibility = Some(state.visibility);
        self.focused = state.focused;
        self.last_activity_ms = now.unix_ms;
        if let Some(title) = state.page_title {
            self.hello.page_title = Some(shortened(title));
        }
    }

    /// Drops the tools of a former connection, once, and says which those were.
    pub(super) fn take_former_tools(&mut self) -> Option<Vec<[u8; 32]>> {
        if !std::mem::take(&mut self.tools_are_former) {
            return None;
        }
        let former = self.tool_hashes();
        self.tools.clear();
        Some(former)
    }

    pub(super) fn tool_hashes(&self) -> Vec<[u8; 32]> {
        self.tools
            .values()
            .map(|tool| tool.definition.hash)
            .collect()
    }

    /// The size of all definitions.
    pub(super) fn tool_bytes(&self) -> usize {
        self.tools.values().map(|tool| tool.definition.bytes).sum()
    }

    /// Registers a tool, or replaces the one of that name in its place. True when that changes
    /// what clients see. `total` is [`Session::tool_bytes`], before and after: a batch adds it up
    /// once.
    pub(super) fn register(
        &mut self,
        index: usize,
        tool: Arc<Tool>,
        registration: u64,
        limits: &RealmLimits,
        total: &mut usize,
    ) -> Result<bool, RegistrationFailure> {
        let replaced = self.tools.get(&tool.name).map(|old| &old.definition);
        let bytes = *total - replaced.map_or(0, |old| old.bytes) + tool.bytes;
        let refusal = if replaced.is_none() && self.tools.len() >= limits.tools_per_session {
            Some(format!(
                "this page has {} tools, which is the limit: remove some, or raise `max_tools`",
                limits.tools_per_session
            ))
        } else if bytes > limits.tool_bytes_per_session {
            Some(format!(
                "with this tool the definitions of the page have {bytes} bytes, and {} is the \
                 limit: shorten them, or raise `max_tool_bytes`",
                limits.tool_bytes_per_session
            ))
        } else {
            None
        };
        if let Some(message) = refusal {
            let name = Some(tool.name.clone());
            let code = ErrorCode::DefinitionLimitExceeded;
            return Err(RegistrationFailure {
                index,
                name,
                code,
                message,
            });
        }
        let changed = replaced.is_none_or(|old| old.hash != tool.hash);
        *total = bytes;
        self.tools.insert(
            tool.name.clone(),
            SessionTool {
                definition: tool,
                registration,
            },
        );
        Ok(changed)
    }

    pub(super) fn unregister(&mut self, name: &str) -> bool {
        self.tools.shift_remove(name).is_some()
    }

    /// The tool that clients know under this name, or that the page registered under it.
    pub(super) fn tool(&self, name: &str) -> Option<&Arc<Tool>> {
        self.tools
            .get(name)
            .or_else(|| {
                self.tools
                    .values()
                    .find(|tool| tool.definition.published_name == name)
            })
            .map(|tool| &tool.definition)
    }

    pub(super) fn summary(&self, id: &SessionId) -> SessionSummary {
        SessionSummary {
            session_id: id.clone(),
            session_name: self.hello.name.clone(),
            app: self.hello.app.clone(),
            origin: self.hello.origin.clone(),
            page_title: self.hello.page_title.clone(),
            connected_at: iso_8601(self.connected_at_ms),
            last_activity: iso_8601(self.last_activity_ms),
            visibility: self.visibility,
            focused: self.focused,
            connected: self.phase.connection().is_some(),
            available_tools: self
                .tools
                .values()
                .map(|tool| tool.definition.published_name.clone())
                .collect(),
        }
    }
}

/// A session as people and models see it.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct SessionSummary {
    pub(crate) session_id: SessionId,
    #[serde(skip_serializing_if = "Option::is_none")]
    session_name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    app: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    origin: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    page_title: Option<String>,
    connected_at: String,
    last_activity: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    visibility: Option<Visibility>,
    focused: bool,
    /// False while the page is away and may still come back.
    connected: bool,
    available_tools: Vec<String>,
}

/// RFC 3339 with milliseconds, in UTC.
fn iso_8601(unix_ms: u64) -> String {
    i64::try_from(unix_ms)
        .ok()
        .and_then(DateTime::from_timestamp_millis)
        .map(|time| time.to_rfc3339_opts(SecondsFormat::Millis, true))
        .unwrap_or_default()
}
