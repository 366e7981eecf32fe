//! Queries outside their realm: the agent that is asked, its tokens, and which realm knows an id.
//!
//! A realm says what must happen ([`AgentEffect`]); here it happens,
//! in a task for each query, and the realm hears how it went. Only [`agent`] knows reqwest.

mod agent_client;
mod agent_event;
mod agent_process;
mod credential;
mod direct_queries;
mod query_lifetime;
mod query_task;
mod registry;
mod report;
mod sse;

pub(crate) use agent_process::find_program as agent_program;
pub(crate) use credential::fill_in_credential;
pub(crate) use query_lifetime::QueryLifetime;
pub(crate) use registry::AgentQueries;
pub(crate) use report::AgentReport;
