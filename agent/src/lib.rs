//! The agent service: answers the questions that a page itself asks.
//!
//! Not there yet. It will take `PUT /query`, run a tool loop over a language model, call the
//! page's tools through the bridge, and stream its progress; see the status table in the README.
#![warn(missing_docs)]

/// What the program says until there is a service behind it.
pub const NOT_THERE_YET: &str = "mcp-web-agent does not answer queries yet: AI clients can already \
    call a page's tools through mcp-web-bridge, but a page cannot ask questions itself";
