//! The limits of a realm and of its queries.

use std::time::Duration;

use crate::policy::{AmbiguousCalls, DuplicateNames, SessionLimitPolicy};

/// What one token may use.
#[derive(Clone, Copy, Debug)]
pub struct RealmLimits {
    pub sessions: usize,
    pub session_limit_policy: SessionLimitPolicy,
    /// Zero: no end.
    pub max_session_duration: Duration,
    pub duplicate_names: DuplicateNames,
    pub ambiguous_calls: AmbiguousCalls,
    /// Whether a tool is refused whose name another session has with another input schema.
    pub reject_conflicts: bool,
    /// Zero: nothing is remembered.
    pub catalogue_ttl: Duration,
    pub definitions_per_session: usize,
    pub definition_bytes_per_session: usize,
    pub calls: usize,
    pub clients: usize,
    pub subscriptions_per_client: usize,
    pub receipt_timeout: Duration,
    /// How long a client may take to answer what a handler asks it.
    pub input_timeout: Duration,
    pub page_grace: Duration,
    pub heartbeat_interval: Duration,
    pub queries: QueryLimits,
    /// Clients hear of each registration of tools and of each page that leaves, also where that
    /// leaves the list as it was.
    pub notify_every_change: bool,
}

/// What the queries of one token may cost.
#[derive(Clone, Copy, Debug)]
pub struct QueryLimits {
    /// Whether the bridge has an agent that answers queries of pages.
    pub has_agent: bool,
    pub max_queries: usize,
    pub timeout: Duration,
    pub attach_timeout: Duration,
    /// How long the agent may take to hear that a query has ended.
    pub cancel_timeout: Duration,
    pub max_tool_call_bytes: usize,
    /// Whoever knows a query's id is its agent.
    pub query_ids_are_credentials: bool,
}
