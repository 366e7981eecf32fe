//! Lets AI clients use a native program through the tools, prompts and resources that it registers,
//! like a page in a tab.
//!
//! ```no_run
//! use std::sync::Arc;
//! use std::sync::atomic::{AtomicU64, Ordering};
//!
//! use mcp_web_sdk::{Call, McpWeb, Token, Tool};
//! use schemars::JsonSchema;
//! use serde::{Deserialize, Serialize};
//!
//! #[derive(Deserialize, JsonSchema)]
//! struct By {
//!     by: u64,
//! }
//!
//! #[derive(Serialize, JsonSchema)]
//! struct Count {
//!     now: u64,
//! }
//!
//! # async fn run() -> Result<(), Box<dyn std::error::Error>> {
//! let app = McpWeb::builder("Counter").token(Token::kept("counter")?).build()?;
//! let counter = Arc::new(AtomicU64::new(0));
//! app.add_tool(Tool::new("increment").describe("Counts up"), move |by: By, _call: Call| {
//!     let counter = counter.clone();
//!     async move { Ok(Count { now: counter.fetch_add(by.by, Ordering::Relaxed) + by.by }) }
//! });
//! app.connect().await?; // or app.spawn(), in a separate thread, for programs without tokio
//! # Ok(())
//! # }
//! ```
//!
//! The bridge is `mcp-web bridge`: AI clients connect to its MCP server at [`McpWeb::mcp_url`] with
//! the token. With the feature `page-tools`, a program also offers its window: the module `page`.
//! The connection is restored automatically, with increasing delays, and each call runs at most
//! once: `web_sdk_core` ensures this, as in a page.
#![warn(missing_docs)]

mod app;
mod builder;
mod call;
mod completion;
mod connection;
mod content;
mod definition;
mod error;
mod events;
#[doc(hidden)]
pub mod frames;
mod handle;
mod json;
#[cfg(feature = "page-tools")]
pub mod page;
mod program_info;
mod prompt;
mod report_queue;
mod resource;
mod schema;
mod socket;
mod status;
mod token;
mod tool;

pub use app::McpWeb;
pub use builder::{BuildError, Builder};
pub use call::{Call, Caller, CallingClient, Elicited, LogLevel, Root};
pub use content::{Content, ToolResult};
pub use error::CallError;
#[cfg(feature = "faults")]
pub use events::Fault;
pub use handle::Handle;
pub use prompt::{Message, Prompt};
pub use resource::{ReadRequest, Resource, ResourceContent, ResourceTemplate};
pub use status::{ConnectError, Status};
pub use token::Token;
pub use tool::{NoArguments, Tool, ToolOutput};
