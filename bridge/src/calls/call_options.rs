//! On whose behalf a request is made, and the limits of its client.

use std::time::Duration;

use bridge_auth::RealmId;
use bridge_protocol::{CallContext, ClientResponse, SessionId};
use bridge_realm::realm::Target;

use super::client_channel::ClientChannel;
use super::outcome::ResumeToken;
use crate::agent_queries::QueryLifetime;
use crate::config::TextLimitRule;

/// On whose behalf a request is made, and how its client is reached while it runs.
pub(crate) struct CallOptions<'a> {
    /// The lifetime of the query whose agent calls.
    pub(crate) query_lifetime: Option<QueryLifetime>,
    pub(crate) realm: RealmId,
    /// The session that the request, or the session pinned for the client, names.
    pub(crate) session: Option<SessionId>,
    /// What the page's handler may know about the caller.
    pub(crate) call_context: CallContext,
    /// The channel to the client.
    pub(crate) client: &'a dyn ClientChannel,
    pub(crate) limits: DeliveryLimits,
    /// Answers of the client to requests of the handler.
    pub(crate) client_responses: Vec<ClientResponse>,
    /// The call that these answers resume.
    pub(crate) resume_token: Option<ResumeToken>,
}

impl CallOptions<'_> {
    pub(super) fn target(&self) -> Target {
        self.session.clone().map_or(Target::Any, Target::Session)
    }
}

/// The limits of a client. `None`: the client sets no limit.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct DeliveryLimits {
    /// The largest response, in bytes as it is sent.
    pub(crate) max_bytes: Option<usize>,
    /// The largest response that is sent as an event of a stream, if that is less.
    pub(crate) max_event_bytes: Option<usize>,
    /// The length of all texts together, unless the tool sets its own.
    pub(crate) max_text_chars: Option<usize>,
    /// How the client measures texts.
    pub(crate) text_count: TextLimitRule,
    /// Whether the client knows `resource_link` blocks.
    pub(crate) resource_links: bool,
    /// How long the client waits for the result of a tool call.
    pub(crate) client_timeout: Option<Duration>,
}
