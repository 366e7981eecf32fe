//! The results and errors of client requests as MCP has them, without I/O and tasks.
//!
//! [`tool_result`] is the result of a tool call: either the page's JSON text, forwarded without
//! parsing it ([`passthrough`]), or values that the bridge made or parsed ([`built_result`]).
//! [`arguments`] are those of a tool call, and [`tool_call`] builds its result. [`schema_violation`]
//! has the failures of arguments and results that do not fit a schema. [`content_blocks`] validates
//! the content of a page ([`base64_text`] its binary data), [`repeated_media`] shortens the text of
//! an object, [`encoded_size`] measures encoded JSON, and [`segments`] is the body that is sent.
//! [`prompt_arguments`], [`page_object`] and [`completion_values`] are for the other requests.
//! [`request_error`] is why a request has no result, with the one table of JSON-RPC errors.

pub mod arguments;
mod base64_text;
pub mod built_result;
pub mod completion_values;
pub mod content_blocks;
pub mod encoded_size;
pub mod page_object;
pub mod passthrough;
pub mod prompt_arguments;
pub mod repeated_media;
pub mod request_error;
pub mod schema_violation;
pub mod segments;
pub mod tool_call;
pub mod tool_result;
