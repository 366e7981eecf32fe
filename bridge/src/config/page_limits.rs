//! The settings of the limits of pages: sizes, numbers and rates. Limits that no setting changes are in
//! [`bridge_protocol::limits`].

use bridge_settings::values;
use clap::Args;

/// The closed apps of one token may have this fraction of the bytes of those of all tokens.
const CATALOGUE_TOKEN_DIVISOR: usize = 16;

/// Settings of the limits of pages.
#[derive(Clone, Copy, Debug, Args)]
#[command(next_help_heading = "Page limits")]
pub struct PageLimits {
    /// Pages per token.
    #[arg(long, env = "MCP_WEB_MAX_SESSIONS", value_name = "N", default_value_t = 64, value_parser = values::parse_count)]
    pub max_sessions: usize,

    /// Tools, prompts, resources and resource templates per page.
    #[arg(long, env = "MCP_WEB_MAX_DEFINITIONS", value_name = "N", default_value_t = 512, value_parser = values::parse_count)]
    pub max_definitions: usize,

    /// Bytes of all definitions per page.
    #[arg(long, env = "MCP_WEB_MAX_DEFINITION_BYTES", value_name = "BYTES",
        default_value_t = 1024 * 1024, value_parser = values::parse_count)]
    pub max_definition_bytes: usize,

    /// Page sockets that have not authenticated yet. Beyond it, a page is asked to connect again
    /// after a second. Without it, half of `max_connections`.
    #[arg(long, env = "MCP_WEB_MAX_PENDING_PAGES", value_name = "N", value_parser = values::parse_count)]
    pub max_pending_pages: Option<usize>,

    /// Frames per second that one page may send. Above it the bridge reads them later. A page that
    /// reports progress of 256 calls 60 times per second sends 15,360.
    #[arg(long, env = "MCP_WEB_MAX_FRAMES_PER_SECOND", value_name = "N", default_value_t = 20_000, value_parser = values::parse_count)]
    pub max_frames_per_second: usize,

    /// Tokens without any page whose apps' tools stay listed. Without it, as many as the memory
    /// allows.
    #[arg(long, env = "MCP_WEB_MAX_CATALOGUES", value_name = "N", value_parser = values::parse_count)]
    pub max_catalogues: Option<usize>,

    /// Bytes of the definitions of closed apps that stay listed, of all tokens together; one token
    /// has a sixteenth of it.
    #[arg(long, env = "MCP_WEB_MAX_CATALOGUE_BYTES", value_name = "BYTES",
        default_value_t = 32 * 1024 * 1024, value_parser = values::parse_count)]
    pub max_catalogue_bytes: usize,
}

impl PageLimits {
    /// Returns the part of `max_catalogue_bytes` that one token may use.
    pub(crate) fn catalogue_bytes_per_token(&self) -> usize {
        self.max_catalogue_bytes / CATALOGUE_TOKEN_DIVISOR
    }
}

impl Default for PageLimits {
    fn default() -> Self {
        Self {
            max_sessions: 64,
            max_definitions: 512,
            max_definition_bytes: 1024 * 1024,
            max_pending_pages: None,
            max_frames_per_second: 20_000,
            max_catalogues: None,
            max_catalogue_bytes: 32 * 1024 * 1024,
        }
    }
}
