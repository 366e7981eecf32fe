//! The result of a tool call, from the page's answer to the body that the client receives.
//!
//! [`tool_result`] is the result: either the page's JSON text, forwarded without parsing it
//! ([`passthrough`]), or values that the bridge made or parsed ([`built_result`]).
//! [`content_blocks`] validates the blocks of a page, [`truncate`] shortens a result that exceeds
//! the limits of its client, [`encoded_size`] measures encoded JSON, and [`segments`] is the body
//! that is sent. [`store`] stores results for clients that fetch them later, and [`unread`] limits
//! the bytes that wait for clients to read them.

pub(crate) mod built_result;
mod content_blocks;
pub(crate) mod encoded_size;
mod passthrough;
pub(crate) mod segments;
pub(crate) mod store;
pub(crate) mod tool_result;
pub(crate) mod truncate;
pub(crate) mod unread;
