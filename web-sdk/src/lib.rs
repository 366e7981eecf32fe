//! The SDK of a web page. It registers the page's tools, prompts and resources with the bridge and
//! runs their handlers when an AI client calls them.
//!
//! The path of a call: [`js`] receives a text from the browser's WebSocket, decodes it and passes
//! the message to [`core::Page`]. The page returns effects: acknowledge the call, and start the
//! handler, which `js/mcp-web.js` does. When the handler has ended, [`js`] passes its outcome to
//! the page, whose effect sends the answer. Every other event takes the same path.
//!
//! - [`core`]: the page's side of the protocol as plain data, tested natively.
//! - [`js`]: the only module that uses JavaScript: socket, JSON, timers, listeners.
//! - `js/mcp-web.js`: the module that an app imports. It has the public API (`McpWeb`), stores the
//!   token, and loads this crate as wasm.
#![warn(missing_docs)]

pub mod core;
#[cfg(feature = "browser")]
pub mod js;

/// A small allocator with constant time: the default one would be a tenth of the wasm.
#[cfg(target_arch = "wasm32")]
#[global_allocator]
static ALLOCATOR: rlsf::SmallGlobalTlsf = rlsf::SmallGlobalTlsf::new();
