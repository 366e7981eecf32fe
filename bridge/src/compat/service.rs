//! The state behind the endpoint for clients of mcp-web 0.1.

use std::sync::Arc;

use crate::agent_queries::AgentQueries;
use crate::compat::sessions::CompatSessions;
use crate::hub::{ClientSessions, Hub};
use bridge_auth::{Authenticator, Principal, RealmId};
use bridge_edge::ClientAddress;
use bridge_protocol::ErrorCode;

/// Serves MCP clients that were built for mcp-web 0.1.
#[derive(Debug)]
pub(crate) struct CompatService {
    pub(super) hub: Arc<Hub>,
    pub(super) agent_queries: Arc<AgentQueries>,
    pub(super) authenticator: Arc<Authenticator>,
    pub(crate) sessions: CompatSessions,
}

/// The principal of a request's token, or why it has none. Some requests need none.
pub(crate) type TokenCheck = Result<Principal, ErrorCode>;

/// A JSON-RPC request as it arrived over HTTP.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CompatRequest<'a> {
    pub(crate) body: &'a [u8],
    pub(crate) caller: &'a TokenCheck,
    pub(crate) mcp_session: Option<&'a str>,
    pub(crate) address: ClientAddress,
}

impl ClientSessions for CompatService {
    fn realms(&self) -> Vec<RealmId> {
        self.sessions.realms()
    }

    fn end_of_realm(&self, realm: RealmId) {
        self.sessions.end_of_realm(realm);
    }
}

impl CompatService {
    pub(crate) fn new(
        hub: &Arc<Hub>,
        agent_queries: &Arc<AgentQueries>,
        authenticator: &Arc<Authenticator>,
    ) -> Self {
        Self {
            hub: Arc::clone(hub),
            agent_queries: Arc::clone(agent_queries),
            authenticator: Arc::clone(authenticator),
            sessions: CompatSessions::new(hub),
        }
    }
}
