//! Compatibility with pages and clients of the TypeScript project mcp-web 0.1.
//!
//! [`page_codec`] translates between the messages of its pages and those of this bridge. The bridge
//! always serves these pages, but serves clients of mcp-web 0.1 only if the configuration allows it
//! ([`Compat`](crate::Compat)). For the clients, [`service`] is the endpoint, [`methods`] answers
//! the methods of their JSON-RPC ([`json_rpc`]), [`lists`] and [`results`] write lists and results,
//! [`js_json`] encodes JSON as JavaScript does, and [`sessions`] stores their MCP sessions. No code
//! outside this module and its HTTP routes depends on it.

mod arguments;
mod js_json;
mod json_rpc;
mod lists;
mod methods;
pub(crate) mod page_codec;
mod results;
mod service;
mod sessions;
mod visible_pages;

pub(crate) use json_rpc::Reply;
pub(crate) use service::{CompatRequest, CompatService};
pub(crate) use sessions::{CompatSession, error_event, event_stream};
