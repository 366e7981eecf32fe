//! A request to call a tool, its caller, and the limits of its client.

use std::sync::Arc;
use std::time::Duration;

use bridge_auth::RealmId;
use bridge_edge::ClientAddress;
use bridge_mcp_results::arguments::Arguments;
use bridge_protocol::{CallContext, ClientResponse, SessionId};
use bridge_realm::realm::SessionTarget;
use tokio::time::Instant;

use super::audit::AuditEntry;
use super::call_trace::RequestTrace;
use super::client_channel::ClientChannel;
use super::media_budget::MediaBudget;
use super::round_outcome::ResumeToken;
use crate::agent_queries::QueryLifetime;
use crate::config::TextLimitRule;

/// A call of a tool, with its arguments and its caller. An argument `session_id` takes precedence
/// over the caller's session.
pub(crate) struct CallRequest<'a> {
    pub(crate) caller: CallOptions<'a>,
    pub(crate) tool: String,
    pub(crate) arguments: Arguments,
}

/// The caller of a request, and how its client is reached while the request runs.
pub(crate) struct CallOptions<'a> {
    /// The lifetime of the query whose agent sends the request.
    pub(crate) query_lifetime: Option<QueryLifetime>,
    pub(crate) realm: RealmId,
    /// The address of the client.
    pub(crate) address: ClientAddress,
    /// The session that the request names, or else the one that its client is pinned to.
    pub(crate) session: Option<SessionId>,
    /// The information about the caller that the page's handler receives.
    pub(crate) call_context: CallContext,
    /// The channel to the client.
    pub(crate) client: &'a dyn ClientChannel,
    pub(crate) limits: DeliveryLimits,
    /// How much media the client may still receive. `None` allows any amount.
    pub(crate) media: Option<MediaBudget>,
    /// The client's responses to earlier requests of the handler.
    pub(crate) client_responses: Vec<ClientResponse>,
    /// The call that these responses resume.
    pub(crate) resume_token: Option<ResumeToken>,
    /// Until when the request waits for a page that has not registered, if at all.
    pub(crate) pages_awaited_until: Option<Instant>,
    /// The entry of the call in the audit log. It is created when the call begins.
    pub(crate) audit: Option<Arc<AuditEntry>>,
    /// The trace that the call belongs to.
    pub(crate) trace: RequestTrace,
}

impl<'a> CallOptions<'a> {
    /// Creates the options of a caller without limits, for any session.
    pub(crate) fn new(
        realm: RealmId,
        address: ClientAddress,
        client: &'a dyn ClientChannel,
    ) -> Self {
        Self {
            query_lifetime: None,
            realm,
            address,
            session: None,
            call_context: CallContext::default(),
            client,
            limits: DeliveryLimits::default(),
            media: None,
            client_responses: Vec::new(),
            resume_token: None,
            pages_awaited_until: None,
            audit: None,
            trace: RequestTrace::default(),
        }
    }

    /// Returns the target for routing: the selected session, or any.
    pub(super) fn target(&self) -> SessionTarget {
        self.session
            .clone()
            .map_or(SessionTarget::Any, SessionTarget::Session)
    }
}

/// The limits of a client. `None` means that the client sets no limit.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct DeliveryLimits {
    /// The maximum size of a response on the wire, in bytes.
    pub(crate) max_bytes: Option<usize>,
    /// The maximum size of a response that is sent as an event of a stream, if that is lower.
    pub(crate) max_event_bytes: Option<usize>,
    /// The maximum length of all texts together, unless the tool sets its own.
    pub(crate) max_text_chars: Option<usize>,
    /// How the client measures texts.
    pub(crate) text_count: TextLimitRule,
    /// Whether the client supports `resource_link` blocks.
    pub(crate) resource_links: bool,
    /// How long the client waits for the result of a tool call.
    pub(crate) client_timeout: Option<ClientTimeout>,
}

/// How long a client waits for the result of a tool call, before it gets a handle.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ClientTimeout {
    /// The client is known to abort the call after this time, whatever happens meanwhile.
    Known(Duration),
    /// Most clients abort the call after this time. One that is being asked for input may wait
    /// longer, and a handle would end the question.
    Assumed(Duration),
}

impl ClientTimeout {
    pub(super) fn duration(self) -> Duration {
        match self {
            Self::Known(time) | Self::Assumed(time) => time,
        }
    }
}
