//! A client as its requests show it, whatever leg they take: who it is, what it can take, and what
//! a page's handler may know of it.

use std::sync::Arc;

use bridge_protocol::{CallContext, CallingClient, ClientLimits, LogLevel, SessionId, Via};
use rmcp::model::{ClientCapabilities, Implementation, ProtocolVersion};
use serde_json::value::RawValue;

use super::convert;
use crate::auth::Principal;
use crate::calls::{Caller, Client, Takes};
use crate::config::{Config, Profile};

/// See the module documentation.
#[derive(Debug)]
pub(super) struct Known {
    calling: Arc<CallingClient>,
    profile: Profile,
    knows_links: bool,
    can_be_asked: bool,
}

/// What one request says beside what it asks for.
pub(super) struct Wishes {
    /// `_meta.sessionId`, or the client's pin.
    pub(super) session: Option<SessionId>,
    /// The client wants to hear of progress.
    pub(super) progress: bool,
    pub(super) log_level: Option<LogLevel>,
}

impl Known {
    /// `declared`: its capabilities, as a page hears them.
    pub(super) fn new(
        config: &Config,
        info: Option<Implementation>,
        version: Option<ProtocolVersion>,
        declared: Option<Box<RawValue>>,
    ) -> Self {
        let name = info.as_ref().map(|info| info.name.as_str());
        let profile = config.profiles.of(name.unwrap_or_default());
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
            // `resource_link` blocks came with MCP 2025-06-18. Who names no revision is newer.
            knows_links: version
                .is_none_or(|version| version.as_str() >= ProtocolVersion::V_2025_06_18.as_str()),
            can_be_asked: false,
        }
    }

    /// Whether its capabilities have something that a page can ask for.
    pub(super) fn able_to(mut self, capabilities: &ClientCapabilities) -> Self {
        self.can_be_asked = capabilities.sampling.is_some()
            || capabilities.elicitation.is_some()
            || capabilities.roots.is_some();
        self
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
        let mut caller = self.caller(principal, wishes, client);
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
                bytes: self.profile.max_result_bytes,
                // The token of a query reads no resources.
                links: self.knows_links && principal.query.is_none(),
                patience: None,
            },
            answers: Vec::new(),
            resumes: None,
        }
    }
}
