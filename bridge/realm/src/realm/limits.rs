//! The limits of a realm and of its queries.

use std::time::Duration;

use crate::policy::{AmbiguousCalls, DuplicateNames, SessionLimitPolicy};

/// The limits of one realm.
#[derive(Clone, Copy, Debug)]
pub struct RealmLimits {
    pub sessions: usize,
    pub session_limit_policy: SessionLimitPolicy,
    /// The maximum duration of a session; zero means no limit.
    pub max_session_duration: Duration,
    pub duplicate_names: DuplicateNames,
    pub ambiguous_calls: AmbiguousCalls,
    /// Whether to refuse a tool when another session has a tool of the same name with a different
    /// input schema.
    pub reject_conflicts: bool,
    /// How long the definitions of an app stay listed after its last page has left; zero disables
    /// this.
    pub catalogue_ttl: Duration,
    pub definitions_per_session: usize,
    pub definition_bytes_per_session: usize,
    pub calls: usize,
    pub clients: usize,
    pub subscriptions_per_client: usize,
    pub receipt_timeout: Duration,
    /// The maximum time in which a client must answer the requests of a handler.
    pub input_timeout: Duration,
    pub page_grace: Duration,
    pub heartbeat_interval: Duration,
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
    pub max_queries: usize,
    pub timeout: Duration,
    pub attach_timeout: Duration,
    /// How long the bridge tries to cancel an ended query at the agent.
    pub cancel_timeout: Duration,
    pub max_tool_call_bytes: usize,
    /// Whether knowing the id of a query is enough to act as its agent.
    pub query_ids_are_credentials: bool,
}
