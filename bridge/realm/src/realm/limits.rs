//! The limits of a realm and of its queries.

use std::time::Duration;

use crate::policy::{AmbiguousCalls, DuplicateNames, SessionLimitPolicy};

/// The limits of one realm.
#[derive(Clone, Copy, Debug)]
pub struct RealmLimits {
    /// The maximum number of sessions.
    pub sessions: usize,
    /// The policy for a page that exceeds `sessions`.
    pub session_limit_policy: SessionLimitPolicy,
    /// The maximum duration of a session; zero means no limit.
    pub max_session_duration: Duration,
    /// The policy for a page whose session name is taken.
    pub duplicate_names: DuplicateNames,
    /// Which page receives a call that several pages could answer.
    pub ambiguous_calls: AmbiguousCalls,
    /// Whether to refuse a tool when another session has a tool of the same name with a different
    /// input schema.
    pub reject_conflicts: bool,
    /// How long the definitions of an app stay listed after its last page has left; zero disables
    /// this.
    pub catalogue_ttl: Duration,
    /// The maximum size of the definitions of all such apps, in bytes.
    pub catalogue_bytes: usize,
    /// The maximum number of definitions of one session.
    pub definitions_per_session: usize,
    /// The maximum size of all definitions of one session, in bytes.
    pub definition_bytes_per_session: usize,
    /// The maximum number of calls in flight.
    pub calls: usize,
    /// The maximum number of connected MCP clients.
    pub clients: usize,
    /// The maximum number of resources to which one client may subscribe.
    pub subscriptions_per_client: usize,
    /// The maximum time in which a page must acknowledge a call.
    pub receipt_timeout: Duration,
    /// The maximum time in which a client must answer the requests of a handler.
    pub input_timeout: Duration,
    /// How long a session waits for its page to reconnect.
    pub page_grace: Duration,
    /// How long a session waits for its next document while calls are handed over; zero disables
    /// hand-overs.
    pub page_return: Duration,
    /// The interval between heartbeats.
    pub heartbeat_interval: Duration,
    /// The limits of queries.
    pub queries: QueryLimits,
    /// Whether clients are notified of each registration of tools and of each page that leaves,
    /// even when the list stays the same.
    pub notify_every_change: bool,
}

/// The limits of the queries of one realm.
#[derive(Clone, Copy, Debug)]
pub struct QueryLimits {
    /// Whether the bridge has an agent that answers queries of pages.
    pub has_agent: bool,
    /// The maximum number of running queries.
    pub max_queries: usize,
    /// The maximum duration of a query.
    pub timeout: Duration,
    /// How long a query waits for another document to attach.
    pub attach_timeout: Duration,
    /// How long the bridge tries to cancel an ended query at the agent.
    pub cancel_timeout: Duration,
    /// The maximum size of the tool calls in the final message of a query, in bytes.
    pub max_tool_call_bytes: usize,
    /// Whether knowing the id of a query is enough to act as its agent.
    pub query_ids_are_credentials: bool,
}
