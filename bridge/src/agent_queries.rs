//! Sends the queries of pages to agents: which agent receives a query, which token it gets, and
//! which realm a query id belongs to.
//!
//! A realm requests an [`AgentEffect`](bridge_realm::realm::AgentEffect). [`active_queries`]
//! performs it in a task for each query ([`query_task`]), which reports the outcome to the realm.
//! [`agents`] picks the agent of a user. [`agent_client`] is the HTTP client; no other module uses
//! reqwest. [`agent_process`] runs the bridge's own agent. [`direct_queries`] opens the queries that a frontend sends to its agent
//! directly, and [`conversations`] forwards its requests for conversations. [`caller`] describes
//! the caller of a query, and [`media_type`] the type of an agent's answer.

mod active_queries;
mod agent_client;
mod agent_event;
mod agent_process;
mod agents;
mod caller;
mod conversations;
mod credential;
mod direct_queries;
mod media_type;
mod query_lifetime;
mod query_task;
mod report;

pub(crate) use active_queries::AgentQueries;
pub(crate) use agent_event::foreign_calls;
pub(crate) use conversations::{ConversationAnswer, ConversationRequest};
pub(crate) use credential::{fill_in_credential, warn_of_exposed_credential};
pub(crate) use query_lifetime::QueryLifetime;
pub(crate) use report::AgentReport;
