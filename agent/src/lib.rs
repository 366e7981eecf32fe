//! The agent service: answers the queries of web pages with a language model that uses the page's
//! own tools.
//!
//! How a query is processed:
//!
//! 1. [`http`] receives it from a bridge, or from a frontend directly, and authorizes it.
//! 2. [`queries`] runs the task that answers it, and makes sure that it has exactly one outcome.
//! 3. [`agent_loop`] takes turns with the [`model`], and calls the tools that the model requests.
//! 4. [`bridge`] calls those of the page, with the query's own token. The crate `agent-tools` has
//!    those that the operator has added, and the pipeline of all calls. The crate `agent-sources`
//!    has their built-in sources, and `agent-secrets` the secrets that they need.
//! 5. [`conversations`] stores messages and calls for the next query of the conversation.
//! 6. Meanwhile, the progress is sent back as a stream of events. The query is cancelled when its
//!    reader disconnects.
//!
//! To run an agent inside another process, see [`bind`].
#![warn(missing_docs)]

mod agent_loop;
mod agui;
mod bridge;
mod commands;
mod config;
mod conversations;
mod credential;
mod digest;
mod http;
mod logging;
mod model;
mod program;
mod queries;
mod service;
mod spending;

pub use agent_tools::AskFor;
pub use bridge_settings::Secret;
pub use commands::run_hidden_command;
pub use config::{
    AgentLimits, AgentTraces, BridgeEntry, BridgeUrl, BudgetSettings, Config, ConversationSettings,
    RoleBudget, SecretSettings,
};
pub use credential::CredentialError;
pub use logging::logs_content;
pub use model::{ModelSettings, OpenaiApi, Pictures, Provider, Thinking};
pub use program::{command, main};
pub use service::{BoundServer, ServerHandle, StartError, bind};
