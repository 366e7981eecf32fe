//! The client of a request: its identity, its limits and capabilities, and its description for the
//! handlers of pages.

use std::sync::Arc;
use std::time::Duration;

use bridge_auth::Principal;
use bridge_edge::ClientAddress;
use bridge_protocol::{
    CallContext, CallerTransport, CallingClient, ClientLimits, ConnectedClient, LogLevel, SessionId,
};
use bridge_realm::definition::tool::SchemaSupport;
use rmcp::model::{Implementation, ProtocolVersion};
use serde_json::value::RawValue;
use tokio::time::Instant;

use super::message_reader::MessageReader;
use super::rmcp_conversions;
use crate::agent_queries::QueryLifetime;
use crate::calls::{
    CallOptions, ClientChannel, ClientTimeout, DeliveryLimits, MediaBudget, RequestTrace,
};
use crate::config::{Config, Profile, TextLimitRule};

/// The client behind a request.
#[derive(Debug)]
pub(super) struct RequestingClient {
    calling_client: Arc<CallingClient>,
    profile: Profile,
    schema_support: SchemaSupport,
    /// How long a client waits whose profile does not say so.
    assumed_patience: Duration,
    /// The media that the MCP session may still receive. A client without a session has a budget
    /// for each request.
    session_media: Option<MediaBudget>,
    text_count: TextLimitRule,
    supports_resource_links: bool,
    supports_priming_events: bool,
    /// The maximum size of any message, if the client ends at a larger one.
    max_message_bytes: Option<usize>,
}

/// The options of one request.
pub(super) struct RequestOptions {
    /// The address of the client.
    pub(super) address: ClientAddress,
    /// The query whose agent sends the request.
    pub(super) query_lifetime: Option<QueryLifetime>,
    /// The session that the request, or the client's header, selects.
    pub(super) session: Option<SessionId>,
    /// Whether the client requests progress notifications.
    pub(super) wants_progress: bool,
    pub(super) log_level: Option<LogLevel>,
    /// Until when the request waits for a page that has not registered, if at all.
    pub(super) pages_awaited_until: Option<Instant>,
    /// The maximum size of a response that is sent as an event of a stream.
    pub(super) max_event_bytes: Option<usize>,
    /// The trace that the request belongs to.
    pub(super) trace: RequestTrace,
}

impl RequestingClient {
    /// Returns the description of the client for pages. The realm sets its id.
    pub(super) fn connected_client(&self) -> ConnectedClient {
        let client = &self.calling_client;
        ConnectedClient {
            id: 0,
            info: client.info.clone(),
            protocol_version: client.protocol_version.clone().unwrap_or_default(),
        }
    }

    /// Creates a client. `capabilities` are passed to pages as the client has declared them.
    pub(super) fn new(
        config: &Config,
        reader: MessageReader,
        info: Option<Implementation>,
        version: Option<ProtocolVersion>,
        capabilities: Option<Box<RawValue>>,
    ) -> Self {
        let name = info.as_ref().map_or("", |info| info.name.as_str());
        let text_count = TextLimitRule::for_client(name);
        let profile = config.profiles.for_client(name);
        let max_message_bytes = reader.max_message_bytes(config, name);
        let bytes = config.results.max_client_result_bytes;
        let bytes = max_message_bytes.map_or(bytes, |max_bytes| max_bytes.min(bytes));
        let profile = Profile {
            max_result_bytes: profile.max_result_bytes.or(Some(bytes)),
            ..profile
        };
        let limits = ClientLimits {
            max_result_bytes: profile.max_result_bytes,
            max_image_edge: profile.max_image_edge,
        };
        let calling = CallingClient {
            info: info.map_or_else(
                rmcp_conversions::unknown_client,
                rmcp_conversions::client_info,
            ),
            protocol_version: version.as_ref().map(ToString::to_string),
            capabilities,
            limits: Some(limits),
        };
        let is_modern = version
            .as_ref()
            .is_some_and(|version| version.as_str() >= ProtocolVersion::V_2026_07_28.as_str());
        let session_media = profile.max_media_bytes.filter(|_| !is_modern);
        Self {
            calling_client: Arc::new(calling),
            profile,
            schema_support: SchemaSupport {
                root_unions: profile.root_unions,
                output_keywords: is_modern,
            },
            assumed_patience: config.calls.client_patience,
            session_media: session_media.map(MediaBudget::new),
            text_count,
            // `resource_link` blocks were added in MCP 2025-06-18. A client that names no revision
            // is newer.
            supports_resource_links: version
                .as_ref()
                .is_none_or(|version| version.as_str() >= ProtocolVersion::V_2025_06_18.as_str()),
            // Older clients parse the empty data of such an event as a message, and fail.
            supports_priming_events: version
                .is_some_and(|version| version.as_str() >= ProtocolVersion::V_2025_11_25.as_str()),
            max_message_bytes,
        }
    }

    /// Whether the client may answer the requests of a call by repeating it (MCP 2026-07-28): it has
    /// declared a capability.
    pub(super) fn has_rounds(&self) -> bool {
        let client = &self.calling_client;
        let capabilities = client.capabilities.as_deref().map(RawValue::get);
        let version = client.protocol_version.as_deref();
        version.is_some_and(|version| version >= ProtocolVersion::V_2026_07_28.as_str())
            && capabilities.is_some_and(|declared| declared != "{}")
    }

    /// Whether a stream of events may begin with one that has no data (MCP 2025-11-25, "Sending
    /// Messages to the Server").
    pub(super) fn supports_priming_events(&self) -> bool {
        self.supports_priming_events
    }

    /// The maximum size of any message to the client, if it ends at a larger one.
    pub(super) fn max_message_bytes(&self) -> Option<usize> {
        self.max_message_bytes
    }

    /// Returns the limit to publish in the `_meta` of each tool without its own, see
    /// [`TextLimitRule::published_limit`].
    pub(super) fn published_result_size(&self) -> Option<usize> {
        self.text_count.published_limit(self.profile.max_text_chars)
    }

    /// Returns the schemas that the client accepts.
    pub(super) fn schema_support(&self) -> SchemaSupport {
        self.schema_support
    }

    /// Returns how long the client waits for the result of a call.
    ///
    /// Most SDKs give up after a minute. A client that requests progress learns that its call is
    /// running, and may wait longer. The agent of a query does not list the tool `get_result`.
    fn timeout(&self, principal: &Principal, wants_progress: bool) -> Option<ClientTimeout> {
        let assumed = || ClientTimeout::Assumed(self.assumed_patience);
        let is_assumed = !wants_progress && principal.query.is_none();
        let known = self.profile.patience.map(ClientTimeout::Known);
        known.or_else(|| is_assumed.then(assumed))
    }

    /// Returns the options of a tool call, which waits as long as the client does.
    pub(super) fn tool_call_options<'a>(
        &self,
        principal: &Principal,
        options: RequestOptions,
        client: &'a dyn ClientChannel,
    ) -> CallOptions<'a> {
        let event_bytes = options.max_event_bytes;
        let timeout = self.timeout(principal, options.wants_progress);
        let mut call_options = self.call_options(principal, options, client);
        call_options.limits.max_bytes = self.profile.max_result_bytes;
        call_options.limits.max_event_bytes = event_bytes;
        call_options.limits.client_timeout = timeout;
        call_options
    }

    /// Returns the options of a request other than a tool call.
    pub(super) fn call_options<'a>(
        &self,
        principal: &Principal,
        options: RequestOptions,
        client: &'a dyn ClientChannel,
    ) -> CallOptions<'a> {
        CallOptions {
            realm: principal.realm,
            address: options.address,
            query_lifetime: options.query_lifetime,
            session: options.session,
            call_context: CallContext {
                client: Some(Arc::clone(&self.calling_client)),
                caller: Some(principal.caller(CallerTransport::Mcp)),
                log_level: options.log_level,
                progress: options.wants_progress,
                timeout_ms: None,
                query_id: principal.query.clone(),
                continuation: None,
                hand_overs: None,
                sent_ms: None,
                trace: None,
            },
            client,
            limits: DeliveryLimits {
                // Responses to requests other than tool calls may be events.
                max_bytes: match (self.profile.max_result_bytes, options.max_event_bytes) {
                    (Some(bytes), Some(event)) => Some(bytes.min(event)),
                    (bytes, event) => bytes.or(event),
                },
                max_event_bytes: None,
                max_text_chars: self.profile.max_text_chars,
                text_count: self.text_count,
                // The token of a query does not allow reading resources.
                resource_links: self.supports_resource_links && principal.query.is_none(),
                client_timeout: None,
            },
            media: self
                .session_media
                .clone()
                .or_else(|| self.profile.max_media_bytes.map(MediaBudget::new)),
            client_responses: Vec::new(),
            resume_token: None,
            pages_awaited_until: options.pages_awaited_until,
            audit: None,
            trace: options.trace,
        }
    }
}
