//! What an agent in the way of mcp-web 0.1 reports: for bridges that do not read a stream of
//! events, and for queries that a frontend asks directly.

use bridge_protocol::{ErrorCode, QueryId};

use super::Bridge;
use crate::config::Secret;
use crate::failure::Failure;

/// Reports on one query.
#[derive(Clone, Debug)]
pub(crate) struct Reports {
    bridge: Bridge,
    token: Secret,
    query: QueryId,
}

impl Reports {
    pub(super) fn new(bridge: Bridge, token: Secret, query: QueryId) -> Self {
        Self {
            bridge,
            token,
            query,
        }
    }

    /// How it is getting on: `POST /query/{uuid}/progress`.
    pub(crate) async fn progress(&self, message: &str) -> Result<(), Failure> {
        let _ = message;
        self.not_yet()
    }

    /// The answer: `PUT /query/{uuid}/complete`.
    pub(crate) async fn complete(&self, message: &str) -> Result<(), Failure> {
        let _ = message;
        self.not_yet()
    }

    /// Why there is none: `PUT /query/{uuid}/fail`.
    pub(crate) async fn fail(&self, error: &str) -> Result<(), Failure> {
        let _ = error;
        self.not_yet()
    }

    /// The query is given up: `PUT /query/{uuid}/cancel`.
    pub(crate) async fn cancel(&self, reason: Option<&str>) -> Result<(), Failure> {
        let _ = reason;
        self.not_yet()
    }

    fn not_yet(&self) -> Result<(), Failure> {
        let _ = (&self.bridge, &self.token, &self.query);
        Err(Failure::new(ErrorCode::AgentFailed, "not there yet"))
    }
}
