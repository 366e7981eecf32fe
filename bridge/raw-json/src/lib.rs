//! Raw JSON: text that is passed on without being parsed.
//!
//! The result of a page is parsed only if the bridge needs a value in it. Otherwise its text is
//! sent to the client unchanged:
//!
//! 1. [`scanner`] checks in one pass that a text is what `JSON.stringify` writes, and counts
//!    the bytes that its escapes need. A [`JsonSlice`] then refers to the text in the message of
//!    the page, or to a copy if the text is short.
//! 2. [`inspection`] finds out whether any other text must be compacted or parsed before it is
//!    sent.
//! 3. [`escape`] writes JSON text as the content of a JSON string.
//!
//! The two scanners share their limit ([`MAX_JSON_DEPTH`]) and the rule for escapes. This crate
//! does not depend on pages, calls or clients.

pub mod escape;
pub mod inspection;
mod raw_json;
pub mod scanner;

pub use raw_json::{JsonSlice, RawJson};
pub use scanner::MAX_JSON_DEPTH;
