//! Who calls, and what its client can take.

use std::time::Duration;

use bridge_auth::RealmId;
use bridge_protocol::{CallContext, ClientResponse, SessionId};
use bridge_realm::realm::Target;

use super::client_channel::ClientChannel;
use super::outcome::ResumeToken;
use crate::agent_queries::QueryLifetime;
use crate::config::TextLimitRule;

/// Who asks, and how it can be reached meanwhile.
pub(crate) struct CallOptions<'a> {
    /// The lifetime of the query whose agent calls.
    pub(crate) query_lifetime: Option<QueryLifetime>,
    pub(crate) realm: RealmId,
    /// The session that the request or the client's pin names.
    pub(crate) session: Option<SessionId>,
    /// What the page's handler may know.
    pub(crate) call_context: CallContext,
    /// The client itself.
    pub(crate) client: &'a dyn ClientChannel,
    pub(crate) limits: DeliveryLimits,
    /// Answers to what the handler asks the client.
    pub(crate) client_responses: Vec<ClientResponse>,
    /// The call that these answers go on with.
    pub(crate) resume_token: Option<ResumeToken>,
}

impl CallOptions<'_> {
    pub(super) fn target(&self) -> Target {
        self.session.clone().map_or(Target::Any, Target::Session)
    }
}

/// What a client can take.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct DeliveryLimits {
    /// The largest answer, in bytes as it is sent.
    pub(crate) max_bytes: Option<usize>,
    /// The largest answer that goes out as an event of a stream, where that may be less.
    pub(crate) max_event_bytes: Option<usize>,
    /// The characters of all texts together, where the tool says nothing else.
    pub(crate) max_text_chars: Option<usize>,
    pub(crate) text_count: TextLimitRule,
    /// Whether it knows `resource_link` blocks.
    pub(crate) resource_links: bool,
    /// How long it waits for the answer to a tool call.
    pub(crate) client_timeout: Option<Duration>,
}
