//! The settings of sessions: their number and names, and the session to which a call is routed.

use std::time::Duration;

use bridge_realm::policy::{AmbiguousCalls, DuplicateNames, SessionLimitPolicy};
use bridge_service::values;
use clap::Args;

/// Settings of sessions.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Tabs")]
pub struct Tabs {
    /// What happens to a page when its token has `max_sessions` already.
    #[arg(
        long,
        env = "MCP_WEB_SESSION_LIMIT_POLICY",
        value_enum,
        default_value = "reject"
    )]
    pub session_limit_policy: SessionLimitPolicy,

    /// A session ends after this, whatever happens in it. 0s: never.
    #[arg(long, env = "MCP_WEB_MAX_SESSION_DURATION", value_name = "TIME", default_value = "0s", value_parser = values::parse_duration_or_zero)]
    pub max_session_duration: Duration,

    /// What happens to a page whose session name another one of its token has.
    #[arg(
        long,
        env = "MCP_WEB_DUPLICATE_NAMES",
        value_enum,
        default_value = "number"
    )]
    pub duplicate_names: DuplicateNames,

    /// Where a call goes that names no session, when several pages have the tool.
    #[arg(
        long,
        env = "MCP_WEB_AMBIGUOUS_CALLS",
        value_enum,
        default_value = "ask"
    )]
    pub ambiguous_calls: AmbiguousCalls,

    /// How long the tools of an app stay listed after its last page has left. 0s: not at all.
    #[arg(long, env = "MCP_WEB_CATALOGUE_TTL", value_name = "TIME", default_value = "24h", value_parser = values::parse_duration_or_zero)]
    pub catalogue_ttl: Duration,

    /// Tokens without any page whose apps' tools stay listed.
    #[arg(long, env = "MCP_WEB_MAX_CATALOGUES", value_name = "N", default_value_t = 1_000, value_parser = values::parse_count)]
    pub max_catalogues: usize,

    /// Bytes of the definitions of closed apps that stay listed, of all tokens together; one token
    /// has a sixteenth of it.
    #[arg(long, env = "MCP_WEB_MAX_CATALOGUE_BYTES", value_name = "BYTES",
        default_value_t = 32 * 1024 * 1024, value_parser = values::parse_count)]
    pub max_catalogue_bytes: usize,

    /// Page sockets that have not authenticated yet. Over it a page is told to come back later.
    #[arg(long, env = "MCP_WEB_MAX_PENDING_PAGES", value_name = "N", default_value_t = 512, value_parser = values::parse_count)]
    pub max_pending_pages: usize,

    /// Frames per second that one page may send. Above it the bridge reads them later. A page that
    /// reports progress of 256 calls 60 times per second sends 15,360.
    #[arg(long, env = "MCP_WEB_MAX_FRAMES_PER_SECOND", value_name = "N", default_value_t = 20_000, value_parser = values::parse_count)]
    pub max_frames_per_second: usize,
}

impl Default for Tabs {
    fn default() -> Self {
        Self {
            session_limit_policy: SessionLimitPolicy::Reject,
            max_session_duration: Duration::ZERO,
            duplicate_names: DuplicateNames::Number,
            ambiguous_calls: AmbiguousCalls::Ask,
            catalogue_ttl: Duration::from_secs(24 * 60 * 60),
            max_catalogues: 1_000,
            max_catalogue_bytes: 32 * 1024 * 1024,
            max_pending_pages: 512,
            max_frames_per_second: 20_000,
        }
    }
}
