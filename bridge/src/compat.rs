//! The dialect of the TypeScript project mcp-web 0.1: what its pages and its clients say and hear.
//!
//! [`page`] is the socket of pages: its messages become our own, ours become its own. Its pages
//! are served whatever the configuration says; [`Compat`](crate::Compat) adds what its clients saw:
//! [`rpc`] is its JSON-RPC over the realm, [`shapes`] are its lists, [`results`] is what calls and
//! reads answer, [`js`] is JSON as JavaScript writes it, [`streams`] are its MCP sessions.
//! Nothing outside this module and its edges knows a word of it.

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
pub(crate) use sessions::{CompatSession, event_stream, refused};
