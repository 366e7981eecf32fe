//! `mcp-web-stdio`: an MCP server over stdin and stdout for AI clients that cannot speak HTTP.
//! It carries every message to the bridge and back unchanged, and lives as long as its client.
//!
//! How a message flows:
//! 1. A line on stdin is read by `input` and reaches the loop in `pump` as a `message`: its text
//!    is kept, so that what is passed on is what came.
//! 2. A request is noted in `in_flight` and waits until a bridge is there.
//! 3. `bridge` looks for one, again and again. `upstream` connects: it greets each new bridge the way
//!    the client began (`opening`: its own `initialize`, or `server/discover` in the stateless era), asks it
//!    for what lasts (`standing`), and carries each request in an `exchange` of its own.
//! 4. `bridge_http` speaks HTTP, with `tls` to bridges behind a proxy that speaks it; `sse` takes
//!    its streams apart and `events` resumes them; `headers` and `param_headers` repeat what 2026-07-28 wants in
//!    headers.
//! 5. What the bridge sends goes to stdout (`output`), each answer once. What is too large to be kept
//!    in memory fails its request, and nothing else (`oversized`).
//! 6. While no bridge answers, `offline` does: `initialize`, the bridge's own tools, and what to do
//!    (`absence`).

mod bridge_http;
mod bridge_session;
mod config;
mod connect_error;
mod connection;
mod exchange;
mod handshake;
mod headers;
mod in_flight;
mod input;
mod message;
mod offline;
mod output;
mod oversized;
mod param_headers;
mod progress_gap;
mod proxy;
mod resumable_stream;
mod session_state;
mod shared_text;
mod sse;
mod tls;
mod www_authenticate;

pub use config::{Config, ConfigError, Token};
pub use proxy::run;
