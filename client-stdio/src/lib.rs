//! `mcp-web-stdio`: an MCP server over stdin and stdout for AI clients that cannot speak HTTP.
//! It carries every message to the bridge and back unchanged, and lives as long as its client.
//!
//! How a message flows:
//! 1. A line on stdin is read by rmcp's stdio transport and reaches the loop in `pump`.
//! 2. A request is noted in `in_flight` and waits until a bridge is there.
//! 3. `bridge` looks for one, again and again. `upstream` connects: it greets each new bridge the way
//!    the client began (its own `initialize`, or `server/discover` in the stateless era), then
//!    carries requests over rmcp's Streamable HTTP transport, watched by `bridge_http`, with `tls`
//!    to bridges behind a proxy that speaks it.
//! 4. What the bridge sends goes to stdout, each answer once.
//! 5. While no bridge answers, `offline` does: `initialize`, the bridge's own tools, and what to do.

mod bridge;
mod bridge_http;
mod config;
mod in_flight;
mod offline;
mod pump;
mod tls;
mod upstream;

pub use config::{Config, ConfigError, Token};
pub use pump::run;

/// The longest line on stdin and the longest event of the bridge that is read. A result of 10 MiB
/// (the bridge's default limit) is about 25 MiB once it stands in a text block as well.
pub const MAX_MESSAGE_BYTES: usize = 64 * 1024 * 1024;
