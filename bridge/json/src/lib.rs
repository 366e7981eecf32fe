//! Raw JSON: text that stays as it came.
//!
//! A page's answer is parsed only where something must be looked up in it. Otherwise its text goes to
//! the client unchanged:
//!
//! 1. [`scanner`] checks in one pass that a long text is what `JSON.stringify` writes, and counts how
//!    many bytes its escapes need. [`JsonSlice`] then refers to the text where it is, in the message of
//!    the page, without a copy.
//! 2. [`inspection`] finds out whether any other text must be compacted or parsed before it is sent.
//! 3. [`escape`] writes JSON text as the content of a JSON string.
//!
//! The two scanners share their limits ([`MAX_JSON_DEPTH`]) and the rule for escapes. This crate does
//! not know what the JSON is for.

pub mod escape;
pub mod inspection;
mod raw_json;
pub mod scanner;

pub use raw_json::{JsonSlice, RawJson};
pub use scanner::MAX_JSON_DEPTH;
