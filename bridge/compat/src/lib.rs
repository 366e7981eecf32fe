//! The texts of the TypeScript project mcp-web 0.1, without I/O, tasks and clocks.
//!
//! [`page_codec`] translates between the frames of its pages and the messages of the bridge. For its
//! clients, [`json_rpc`] reads requests and writes responses, [`arguments`] are those of a call, of
//! which [`page_selector`] names the page, [`lists`], [`results`] and [`call_rejection`] are written
//! as the result of a response, and [`js_json`] encodes JSON as JavaScript does. Only the bridge's
//! module `compat`, which has the routes and sessions of these clients, and its page socket use this
//! crate.

pub mod arguments;
pub mod call_rejection;
pub mod json_rpc;
pub mod lists;
pub mod page_codec;
pub mod page_entry;
pub mod page_selector;
pub mod results;

mod js_json;
mod json_text;
