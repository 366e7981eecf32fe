//! The MCP sessions of an operator, who sees and ends them.

use std::sync::Arc;

use bridge_auth::RealmId;

use super::client_overview::ClientOverview;
use super::service::McpService;
use super::session::{LOGGED_ID_CHARS, McpSession};

impl McpService {
    /// The MCP sessions of a realm.
    pub(crate) fn client_overviews(&self, realm: RealmId) -> Vec<ClientOverview> {
        let sessions = self.sessions.of_realm(realm);
        sessions.iter().map(|session| session.overview()).collect()
    }

    /// Ends an MCP session, which its client cannot continue. Its id may be shortened to the digits of
    /// the log. Returns false if the realm has no such session.
    pub(crate) fn end_client(&self, realm: RealmId, id: &str) -> bool {
        let Some(session) = self.find_client(realm, id) else {
            return false;
        };
        self.session_ids.end(realm, session.id());
        self.sessions.end(&session, "the operator ended it");
        true
    }

    /// Whether a realm has the MCP session that [`Self::end_client`] would end.
    pub(crate) fn has_client(&self, realm: RealmId, id: &str) -> bool {
        self.find_client(realm, id).is_some()
    }

    /// Prevents that a client continues an MCP session of a realm that will be closed. Returns how many
    /// there are.
    pub(crate) fn forget_clients(&self, realm: RealmId) -> usize {
        let sessions = self.sessions.of_realm(realm);
        for session in &sessions {
            self.session_ids.end(realm, session.id());
        }
        sessions.len()
    }

    fn find_client(&self, realm: RealmId, id: &str) -> Option<Arc<McpSession>> {
        if id.len() < LOGGED_ID_CHARS {
            return None;
        }
        let has_id = |session: &McpSession| session.life().simple().to_string().starts_with(id);
        let mut sessions = self.sessions.of_realm(realm).into_iter();
        sessions.find(|it| has_id(it))
    }
}
