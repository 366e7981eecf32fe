//! MCP clients, and the server of a source. Only this module uses rmcp.
//!
//! - [`allowed_tools`] are the tools of the page that sent a query, which its bridge offers.
//! - [`upstream`] are MCP servers that are sources.
//! - [`servers`] creates them from the file of `tools_file`.
//! - [`plugin_server`] serves a built-in source to another program.
//! - [`message_lines`] reads what the other end of a connection over stdio sends.
//! - [`call_result`] and [`annotations`] convert what servers say.

mod allowed_tools;
mod annotations;
mod call_result;
mod errors;
mod message_lines;
mod plugin_server;
mod servers;
mod upstream;

pub(crate) use allowed_tools::{AllowedTool, AllowedTools};
pub(crate) use plugin_server::serve_plugin;
pub(crate) use servers::{LoadedServers, create_server, load_servers};
pub(crate) use upstream::{GUARD_ARGUMENT, Listed, ProcessSlots, Upstream};
