//! The agent service: answers what a page asks, with a language model and the page's own tools.
//!
//! How a query flows:
//!
//! 1. [`http`] takes it from a bridge, or from a frontend itself, and checks who asks.
//! 2. [`queries`] holds the task that answers it, and gives it one end.
//! 3. [`answering`] asks the [`model`], calls the tools that it wants, and asks again.
//! 4. [`bridge`] is where the tools are: the page's, through the bridge, with the query's own token.
//! 5. What is said meanwhile goes back as a stream of events; a reader that goes away cancels.
//!
//! To run an agent inside another process, see [`bind`].
#![warn(missing_docs)]

mod agent_loop;
mod bridge;
mod config;
mod credential;
mod failure;
mod http;
mod model;
mod program;
mod queries;
mod service;

pub use bridge_service::Secret;
pub use config::{BridgeUrl, Config, Limits};
pub use credential::CredentialError;
pub use model::{ModelSettings, Provider, Thinking};
pub use program::run;
pub use service::{BoundServer, ServerHandle, StartError, bind};
