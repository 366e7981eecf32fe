//! The agent service: answers what a page asks, with a language model and the page's own tools.
//!
//! How a query flows:
//!
//! 1. [`http`] takes it from a bridge, or from a frontend itself, and checks who asks.
//! 2. [`queries`] holds the task that answers it, and gives it one end.
//! 3. [`answering`] asks the [`model`], calls the tools that it wants, and asks again.
//! 4. [`bridge`] is where the tools are: the page's, through the bridge, with the query's own token.
//! 5. What is said meanwhile goes back as a stream of events; a reader that goes away cancels.
#![warn(missing_docs)]

mod answering;
mod bridge;
mod config;
mod failure;
mod model;
mod outgoing;

pub use config::Limits;
pub use model::{ModelSettings, Provider, Thinking};

/// What the program says until there is a service behind it.
pub const NOT_THERE_YET: &str = "mcp-web-agent does not answer queries yet: AI clients can already \
    call a page's tools through mcp-web-bridge, but a page cannot ask questions itself";
