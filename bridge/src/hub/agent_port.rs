//! The port for effects on the agent.

use std::fmt::Debug;

use bridge_auth::RealmId;
use bridge_realm::realm::AgentEffect;

/// Performs a realm's effects on the agent that answers queries. The hub knows nothing else about
/// the agent.
pub(crate) trait AgentPort: Debug + Send + Sync {
    /// Performs one effect. The caller holds the lock of the realm, so an implementation must
    /// neither block nor call the hub.
    fn perform(&self, realm: RealmId, effect: AgentEffect);
}
