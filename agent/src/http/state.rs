//! The state that the routes share.

use std::sync::Arc;

use bridge_edge::HostOriginPolicy;

use crate::agui::SuspendedRuns;
use crate::bridge::Bridges;
use crate::queries::{BodyMemory, RunningQueries};

/// The state that the routes share.
#[derive(Clone, Debug)]
pub(crate) struct AgentState {
    pub(crate) queries: Arc<RunningQueries>,
    pub(crate) policy: Arc<HostOriginPolicy>,
    pub(crate) max_body_bytes: usize,
    pub(crate) body_memory: Arc<BodyMemory>,
    pub(crate) suspended_runs: Arc<SuspendedRuns>,
}

impl AgentState {
    /// Returns the bridges, one of which each request is from.
    pub(super) fn bridges(&self) -> &Bridges {
        &self.queries.bridges
    }
}
