//! Compatibility with clients of the TypeScript project mcp-web 0.1, which are served only if the
//! configuration asks for it ([`Compat`](crate::Compat)).
//!
//! [`service`] is the endpoint, [`methods`] answers the methods of their JSON-RPC, [`visible_pages`]
//! and [`lists`] collect what a request can see, and [`sessions`] stores their MCP sessions. Their
//! texts are in the crate `bridge-compat`. Only the routes of HTTP use this module.

mod lists;
mod methods;
mod service;
mod sessions;
mod visible_pages;

pub(crate) use service::{CompatRequest, CompatService};
pub(crate) use sessions::{CompatSession, error_event, event_stream};
