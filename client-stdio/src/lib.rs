//! `mcp-web stdio`: an MCP server over stdin and stdout for AI clients that do not support HTTP. It
//! forwards every message to the bridge and back unchanged, and runs as long as its client. The program
//! `mcp-web-stdio` is this alone.
//!
//! How a message flows:
//! 1. `input` reads a line from stdin and passes it as a `message` to the loop in `proxy`. A
//!    message stores its text (`shared_text`), so that it is forwarded byte for byte.
//! 2. `in_flight` queues a request (by `request_id`) until a bridge is online.
//! 3. `connection` connects to the bridge, with retries (`reconnect_backoff`). `bridge_session`
//!    performs the handshake that the client began with (`handshake`: its `initialize`, or
//!    `server/discover` in the stateless protocol; `protocol_version` distinguishes them), replays
//!    the requests in `session_state`, and runs each request in an `exchange`.
//! 4. `bridge_http` sends HTTP requests, with `tls` if the bridge is behind an HTTPS proxy.
//!    `silence` recognizes a connection that is dead. `www_authenticate` parses a missing scope. `sse` decodes an `event_stream`, and
//!    `resumable_stream` resumes it (`reopen_backoff`). `headers` and `param_headers` add the headers that 2026-07-28
//!    requires. `token_source` has the token, which a `token_command` may print and renew
//!    (`renewal_schedule`).
//! 5. `output` writes the messages of the bridge to stdout. `progress_gap` delays an answer that
//!    follows a progress notification. A message over the size limit is not stored and fails only
//!    its request (`oversized`).
//! 6. While no bridge is online, `offline` answers `initialize` and the lists of built-in tools and
//!    resources. Other requests fail with a message that describes what to do (`connect_error`,
//!    `certificate_rejection`). When a bridge is lost or found, the client gets
//!    `change_notifications`. It notices nothing of a `bridge_restart` that takes a moment.
//!
//! Only messages of MCP are written to stdout; the log goes to stderr. Neither ever contains the
//! token: `token_redactor` replaces it in text from other sources (`log_writer` in the log).
//!
//! [`ToolRoutes`] asks a bridge by plain HTTP, for the commands `mcp-web tools` and `mcp-web call`.
//! [`AddressHolder`] finds out which program answers at an address. Before each handshake, a
//! [`LocalBridge`] may start a bridge.

mod address_holder;
mod bearer_token;
mod bridge_http;
mod bridge_restart;
mod bridge_session;
mod certificate_rejection;
mod change_notifications;
mod config;
mod connect_error;
mod connection;
mod connection_flags;
mod event_stream;
mod exchange;
#[cfg(feature = "fuzz")]
#[doc(hidden)]
pub mod fuzz;
mod handshake;
mod headers;
mod in_flight;
mod input;
mod local_bridge;
mod log_writer;
mod loopback;
mod message;
mod offline;
mod output;
mod oversized;
mod param_headers;
mod program;
mod progress_gap;
mod protocol_version;
mod proxy;
mod reconnect_backoff;
mod renewal_schedule;
mod reopen_backoff;
mod request_id;
mod resumable_stream;
mod session_state;
mod shared_text;
mod silence;
mod tls;
mod token_command;
mod token_redactor;
mod token_source;
mod tool_routes;
mod www_authenticate;

pub use address_holder::AddressHolder;
pub use bearer_token::BearerToken;
pub use config::{Config, ConfigError, Url, command};
pub use connection_flags::{ConnectionFlags, DEFAULT_URL};
pub use local_bridge::{LocalBridge, LocalBridgeError};
pub use program::{main, serve_stdio};
pub use token_command::TokenCommand;
pub use token_redactor::TokenRedactor;
pub use tool_routes::{RouteError, ToolRoutes};
