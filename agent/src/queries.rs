//! The queries that are being answered. Each is a task that has a permit, and it ends with exactly
//! one outcome.
//!
//! - [`running_queries`] grants permits and cancels queries; [`recent_queries`] stores the ids of
//!   those that have ended.
//! - [`bridge_authorization`] asks the bridge whether a frontend may send a query.
//! - [`query_setup`] has the sources, profiles and prompts, which a reload replaces.
//! - [`body_memory`] bounds the memory of the bodies of all queries.
//! - [`run`] answers a query up to its [`outcome`], and [`event_sink`] reports its progress.

mod body_memory;
mod bridge_authorization;
mod event_sink;
mod outcome;
mod query_setup;
mod recent_queries;
mod run;
mod running_queries;
#[cfg(test)]
mod tests;

pub(crate) use body_memory::{BodyMemory, BodyOwner, BodyReservation};
pub(crate) use bridge_authorization::AuthorizationError;
pub(crate) use event_sink::{EventTarget, StreamWriter};
pub(crate) use query_setup::{QuerySetup, SetupSource};
pub(crate) use run::{AGENT_NAME, AcceptedQuery, check_timeout};
pub(crate) use running_queries::{QueriesConfig, QueryOwner, QueryPermit, RunningQueries};
