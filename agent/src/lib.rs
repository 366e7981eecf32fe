//! The agent service: answers the questions that a page itself asks.
#![warn(missing_docs)]

mod failure;
mod model;

/// What the program says until there is a service behind it.
pub const NOT_THERE_YET: &str = "mcp-web-agent does not answer queries yet: AI clients can already \
    call a page's tools through mcp-web-bridge, but a page cannot ask questions itself";
