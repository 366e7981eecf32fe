//! The SDK of a web page: it registers the page's tools, prompts and resources with the bridge and runs
//! their functions when an AI client calls.
//!
//! How a call flows: the browser's WebSocket hands a text to [`js`], which parses it into a
//! message and tells [`core::Page`]. The page answers with effects: send the receipt, run the
//! handler, which `js/mcp-web.js` does. When it has ended, [`js`] tells the page again, and the answer
//! goes out. The same path serves every other event.
//!
//! - [`core`]: the page's side of the protocol as plain data, tested natively.
//! - [`js`]: the only place that knows JavaScript: socket, JSON, timers, listeners.
//! - `js/mcp-web.js`: the module an app imports. It has the public surface (`McpWeb`), keeps the
//!   token, and loads this crate as wasm.
#![warn(missing_docs)]

pub mod core;
pub mod js;

/// Constant time, and small: the default one would be a tenth of the wasm.
#[cfg(target_arch = "wasm32")]
#[global_allocator]
static ALLOCATOR: rlsf::SmallGlobalTlsf = rlsf::SmallGlobalTlsf::new();
