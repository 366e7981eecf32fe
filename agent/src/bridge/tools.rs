//! The tools of the page that asks, by MCP.

use bridge_protocol::{ErrorCode, QueryId};
use serde_json::{Map, Value};

use super::Bridge;
use crate::config::Secret;
use crate::failure::Failure;
use crate::model::Tool;

/// The tools that a query may use.
#[derive(Debug)]
pub(crate) struct BridgeTools {}

impl BridgeTools {
    pub(super) async fn connect(
        bridge: &Bridge,
        token: &Secret,
        query: &QueryId,
    ) -> Result<Self, Failure> {
        let _ = (bridge, token, query);
        Ok(Self {})
    }

    /// Those that the bridge lists for the query.
    pub(crate) async fn list(&self) -> Result<Vec<Tool>, Failure> {
        Ok(Vec::new())
    }

    /// Calls one. A refusal of the bridge and a failure of the page are results. Dropped, the call
    /// is cancelled.
    pub(crate) async fn call(
        &self,
        tool: &str,
        arguments: Map<String, Value>,
    ) -> Result<(), Failure> {
        let _ = (tool, arguments);
        Err(Failure::new(ErrorCode::AgentFailed, "not there yet"))
    }

    /// Leaves the bridge. Dropped, it is left as well, a little later.
    pub(crate) async fn close(self) {}
}
