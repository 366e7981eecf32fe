//! The state that the routes share.

use std::sync::Arc;

use bridge_edge::HostOriginPolicy;

use crate::agui::SuspendedRuns;
use crate::queries::{BodyMemory, RunningQueries};
use bridge_edge::TokenHash;

/// The state that the routes share.
#[derive(Clone, Debug)]
pub(crate) struct AgentState {
    pub(crate) queries: Arc<RunningQueries>,
    /// The hash of the service credential.
    pub(crate) credential: TokenHash,
    pub(crate) policy: Arc<HostOriginPolicy>,
    pub(crate) max_body_bytes: usize,
    pub(crate) body_memory: Arc<BodyMemory>,
    pub(crate) suspended_runs: Arc<SuspendedRuns>,
}
