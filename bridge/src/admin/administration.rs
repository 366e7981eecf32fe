//! The parts of a bridge that an operator administers.

use std::sync::Arc;

use bridge_auth::Authenticator;

use super::denials::StoredDenials;
use crate::cluster::ClusterNode;
use crate::hub::Hub;
use crate::mcp::McpService;

/// The parts of a bridge, and the list of those who are denied.
pub(crate) struct Administration {
    pub(crate) hub: Arc<Hub>,
    pub(crate) mcp: McpService,
    pub(crate) denials: StoredDenials,
    pub(crate) authenticator: Arc<Authenticator>,
    /// The other bridges, which apply the same denials.
    pub(crate) cluster: Option<Arc<ClusterNode>>,
}
