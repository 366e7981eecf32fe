//! The result of a tool call, from the answer of a page to what its client can take.
//!
//! What nobody has to look into stays the text that came ([`passthrough`]). [`tool_result`] is the result,
//! [`content_blocks`] checks the blocks of a page, [`truncate`] cuts a result that is larger than its
//! client takes, [`encoded_size`] measures, and [`segments`] is the body that is sent. [`store`] keeps
//! results for clients that fetch them later.

pub(crate) mod built_result;
mod content_blocks;
pub(crate) mod encoded_size;
mod passthrough;
pub(crate) mod segments;
pub(crate) mod store;
pub(crate) mod tool_result;
pub(crate) mod truncate;
