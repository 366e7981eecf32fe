//! MCP clients, and the server of a source. Only this module uses rmcp.
//!
//! - [`upstream`] is an MCP server as a source, and [`server_guard`] ends the process of one when
//!   the agent was killed.
//! - [`servers`] creates these sources from the servers file.
//! - [`plugin_server`] serves a built-in source to another program.
//! - [`message_lines`] reads the messages of a connection over stdio.
//! - [`call_params`] are the parameters of a call. [`call_result`] and [`annotations`] convert results
//!   and annotations of servers.

mod annotations;
mod call_params;
mod call_result;
mod message_lines;
mod plugin_server;
pub mod server_guard;
mod servers;
mod upstream;

pub use annotations::hints;
pub use call_params::traced_call;
pub use call_result::page_call_output;
pub use plugin_server::serve_plugin;
pub use servers::{LoadedServers, create_server, load_servers};
pub use upstream::{GUARD_ARGUMENT, Listed, ProcessSlots, UnusableTool, Upstream};
