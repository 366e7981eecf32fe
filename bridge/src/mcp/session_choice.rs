//! The page that a request names.

use bridge_auth::RealmId;
use bridge_protocol::SessionId;

use crate::hub::Hub;

/// The key of `_meta` with the id or the name of a session.
pub(super) const SESSION_KEY: &str = "mcp-web/sessionId";

/// The key that mcp-web 0.1 had for it. MCP keeps names without a prefix for nobody, so clients put
/// ids of their own under it: Codex, for example, that of its conversation.
pub(super) const BARE_SESSION_KEY: &str = "sessionId";

/// What a client hears whose [`SESSION_KEY`] is no text.
pub(super) const SESSION_NOT_STRING_MESSAGE: &str =
    "`_meta[\"mcp-web/sessionId\"]` must be the id or the name of a session, as a string";

/// What a request says about its page.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SessionChoice<'a> {
    /// Under [`SESSION_KEY`].
    pub(super) prefixed: Option<&'a str>,
    /// Under [`BARE_SESSION_KEY`].
    pub(super) bare: Option<&'a str>,
    /// The header of a client that is pinned to a page.
    pub(super) pinned: Option<&'a str>,
}

impl SessionChoice<'_> {
    /// The session that counts: the first of the three that is there. A bare id counts only if it
    /// is or was that of a session of this realm.
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
