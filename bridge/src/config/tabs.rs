//! The settings of several sessions of a token: their names, and the session to which a call is routed.

use bridge_realm::policy::{AmbiguousCalls, DuplicateNames, SessionLimitPolicy};
use clap::Args;

/// Settings of sessions.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Tabs")]
pub struct Tabs {
    /// Policy for a page whose token already has `max_sessions`.
    #[arg(
        long,
        env = "MCP_WEB_SESSION_LIMIT_POLICY",
        value_enum,
        default_value = "reject"
    )]
    pub session_limit_policy: SessionLimitPolicy,

    /// Policy for a page whose session name is used by another page of its token.
    #[arg(
        long,
        env = "MCP_WEB_DUPLICATE_NAMES",
        value_enum,
        default_value = "number"
    )]
    pub duplicate_names: DuplicateNames,

    /// Target of a call that names no session, when several pages have the tool.
    #[arg(
        long,
        env = "MCP_WEB_AMBIGUOUS_CALLS",
        value_enum,
        default_value = "ask"
    )]
    pub ambiguous_calls: AmbiguousCalls,
}

impl Default for Tabs {
    fn default() -> Self {
        Self {
            session_limit_policy: SessionLimitPolicy::Reject,
            duplicate_names: DuplicateNames::Number,
            ambiguous_calls: AmbiguousCalls::Ask,
        }
    }
}
