//! The port for effects on the agent.

use std::fmt::Debug;

use bridge_auth::RealmId;
use bridge_realm::realm::AgentEffect;

/// Performs a realm's effects on the agent that answers queries. The hub knows no more of the
/// agent.
pub(crate) trait AgentPort: Debug + Send + Sync {
    /// Performs one effect. It is called under the lock of the realm: it must not wait, and must not
    /// call the hub.
    fn perform(&self, realm: RealmId, effect: AgentEffect);
}
