//! The page that a request selects.

use bridge_auth::RealmId;
use bridge_protocol::SessionId;

use crate::hub::Hub;

/// The key of `_meta` with the id or the name of a session.
pub(super) const SESSION_KEY: &str = "mcp-web/sessionId";

/// The key for a session in mcp-web 0.1. MCP reserves no names without a prefix, so some clients
/// use it for their own ids: Codex, for example, for the id of its conversation.
pub(super) const BARE_SESSION_KEY: &str = "sessionId";

/// The error message for a [`SESSION_KEY`] that is not a string.
pub(super) const SESSION_NOT_STRING_MESSAGE: &str =
    "`_meta[\"mcp-web/sessionId\"]` must be the id or the name of a session, as a string";

/// The header with which a client pins itself to a page.
pub(super) const SESSION_PIN_HEADER: &str = "mcp-web-session";

/// The values of a request that select its page.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SessionChoice<'a> {
    /// The value of [`SESSION_KEY`].
    pub(super) prefixed: Option<&'a str>,
    /// The value of [`BARE_SESSION_KEY`].
    pub(super) bare: Option<&'a str>,
    /// The value of [`SESSION_PIN_HEADER`].
    pub(super) pinned: Option<&'a str>,
}

impl SessionChoice<'_> {
    /// Returns the first of the three that is set. A bare id counts only if it is or was the id of
    /// a session of this realm.
    pub(super) fn resolve(self, hub: &Hub, realm: RealmId) -> Option<SessionId> {
        let is_session = |bare: &SessionId| {
            let is_known = hub.with_realm_mut(realm, |realm| realm.knows_session(bare));
            is_known.unwrap_or(false)
        };
        let bare = || self.bare.map(SessionId::from).filter(is_session);
        self.prefixed
            .map(SessionId::from)
            .or_else(bare)
            .or_else(|| self.pinned.map(SessionId::from))
    }
}
