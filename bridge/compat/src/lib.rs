//! The texts of the TypeScript project mcp-web 0.1, without I/O, tasks and clocks.
//!
//! [`page_codec`] translates between the frames of its pages and the messages of the bridge. For its
//! clients, [`json_rpc`] parses requests and encodes responses. [`arguments`] and [`page_selector`]
//! are what a call asks for; [`lists`] (with a [`page_entry`] for each page), [`results`] and
//! [`call_rejection`] are encoded as the result of a response, with JSON as JavaScript prints it
//! (`js_json`). Routes, sessions and the pages that a request can see are in the module `compat` of
//! the crate `bridge`.

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
